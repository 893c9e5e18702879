//! The place of a rank's reader in its recording, relative to the window that is replayed.
//!
//! A window begins and ends at edges. A reader passes events and calls to a [`RecordingTracker`], which says whether
//! the rank is in the window and how much of a computation is. The default window needs no second pass over a
//! recording: its edges are found while the rank is read.

use crate::Recording;

/// Where a window of a rank begins or ends. An event, call or time belongs to what follows the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingEdge {
    /// The end of `MPI_Init` or `MPI_Init_thread`, or the start of `MPI_Finalize`, where they are recorded.
    Mpi,
    /// The first or last event.
    Recording,
    /// A time in picoseconds after the first event of all ranks.
    Time(u64),
    /// The start of the rank's MPI call with this number, from 1.
    Call(u64),
    /// The rank's event with this number, from 1, in formats that record events.
    Event(u64),
}

/// The window of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingEdges {
    /// Its start.
    pub start: RecordingEdge,
    /// Its end.
    pub end: RecordingEdge,
    /// The rank's first event, in picoseconds after the first one of all ranks. Only edges by time need it.
    pub offset_ps: u64,
}

impl RecordingEdges {
    /// The default window.
    pub const MPI: RecordingEdges = RecordingEdges::new(RecordingEdge::Mpi, RecordingEdge::Mpi);

    /// A window between edges that need no offset.
    pub const fn new(start: RecordingEdge, end: RecordingEdge) -> RecordingEdges {
        RecordingEdges {
            start,
            end,
            offset_ps: 0,
        }
    }
}

/// The place of a rank's reader. Times are picoseconds after the rank's first event.
#[derive(Clone, Debug)]
pub struct RecordingTracker {
    edges: RecordingEdges,
    events: u64,
    calls: u64,
    calls_inside: u64,
    has_begun: bool,
    has_ended: bool,
    is_finalized: bool,
}

impl Default for RecordingTracker {
    fn default() -> RecordingTracker {
        RecordingTracker::new(RecordingEdges::MPI)
    }
}

impl RecordingTracker {
    /// The place before the first event.
    pub fn new(edges: RecordingEdges) -> RecordingTracker {
        RecordingTracker {
            edges,
            events: 0,
            calls: 0,
            calls_inside: 0,
            has_begun: !matches!(edges.start, RecordingEdge::Call(_) | RecordingEdge::Event(_)),
            has_ended: false,
            is_finalized: false,
        }
    }

    /// Whether the next event is an edge. The computation before it must be counted first.
    pub fn is_edge_next(&self) -> bool {
        let next = RecordingEdge::Event(self.events + 1);
        self.edges.start == next || self.edges.end == next
    }

    /// Passes an event.
    pub fn event(&mut self, now_ps: u64, recording: &mut Recording) {
        self.events += 1;
        self.pass(RecordingEdge::Event(self.events), now_ps, recording);
    }

    /// Passes the start of an MPI call. Returns whether the call is in the window.
    pub fn call(&mut self, now_ps: u64, recording: &mut Recording) -> bool {
        self.calls += 1;
        self.pass(RecordingEdge::Call(self.calls), now_ps, recording);
        let inside = self.is_inside(now_ps);
        self.calls_inside += u64::from(inside);
        inside
    }

    fn pass(&mut self, place: RecordingEdge, now_ps: u64, recording: &mut Recording) {
        if self.edges.start == place {
            self.has_begun = true;
            recording.window_start_ps = Some(now_ps);
        }
        if self.edges.end == place {
            self.has_ended = true;
            recording.window_end_ps = Some(now_ps);
        }
    }

    /// Passes the end of `MPI_Init`. Returns whether the computation so far lies outside. `is_first` says that no
    /// operation precedes it, as MPI demands; otherwise nothing may be left out.
    pub fn initialized(&mut self, now_ps: u64, is_first: bool, recording: &mut Recording) -> bool {
        let begins =
            self.edges.start == RecordingEdge::Mpi && is_first && recording.window_start_ps.is_none();
        if begins {
            recording.window_start_ps = Some(now_ps);
        }
        begins
    }

    /// Passes the start of `MPI_Finalize`. Returns whether the window ends here.
    pub fn finalizes(&mut self, now_ps: u64, recording: &mut Recording) -> bool {
        self.is_finalized = self.edges.end == RecordingEdge::Mpi;
        if self.is_finalized {
            recording.window_end_ps = Some(now_ps);
        }
        self.is_finalized
    }

    /// Whether the rank has finalized MPI and the window ends there: computation at the end of the program is outside.
    pub fn is_finalized(&self) -> bool {
        self.is_finalized
    }

    /// Whether this time is in the window.
    pub fn is_inside(&self, now_ps: u64) -> bool {
        let (start, end) = self.times();
        let now = now_ps.saturating_add(self.edges.offset_ps);
        self.has_begun && !self.has_ended && start <= now && now < end
    }

    /// Whether no later event is in the window.
    pub fn is_past(&self, now_ps: u64) -> bool {
        let (_, end) = self.times();
        self.has_ended || now_ps.saturating_add(self.edges.offset_ps) >= end
    }

    /// The part of the time between two events that is in the window.
    pub fn part(&self, from_ps: u64, to_ps: u64) -> u64 {
        if !self.has_begun || self.has_ended {
            return 0;
        }
        let (start, end) = self.times();
        let at = |ps: u64| {
            ps.saturating_add(self.edges.offset_ps)
                .clamp(start, end.max(start))
        };
        at(to_ps).saturating_sub(at(from_ps))
    }

    /// The part of a computation of `ps` between two events: the same share as of the time between them, rounded down.
    /// Its clock may be another one than theirs.
    pub fn computation(&self, ps: u64, from_ps: u64, to_ps: u64) -> u64 {
        let between = to_ps.saturating_sub(from_ps);
        let part = self.part(from_ps, to_ps);
        if between == 0 {
            return if self.is_inside(from_ps) { ps } else { 0 };
        }
        let scaled = u128::from(ps) * u128::from(part) / u128::from(between);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    fn times(&self) -> (u64, u64) {
        let start = match self.edges.start {
            RecordingEdge::Time(ps) => ps,
            _ => 0,
        };
        let end = match self.edges.end {
            RecordingEdge::Time(ps) => ps,
            _ => u64::MAX,
        };
        (start, end)
    }

    /// MPI calls so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// MPI calls in the window so far.
    pub fn calls_inside(&self) -> u64 {
        self.calls_inside
    }

    /// Notes the edges by time in the recording, whose last event has been passed.
    pub fn finish(&self, recording: &mut Recording) {
        let at = |ps: u64| ps.saturating_sub(self.edges.offset_ps).min(recording.span_ps);
        let start = match self.edges.start {
            RecordingEdge::Time(ps) => Some(at(ps)),
            _ => recording.window_start_ps,
        };
        let end = match self.edges.end {
            RecordingEdge::Time(ps) => Some(at(ps)),
            _ => recording.window_end_ps,
        };
        recording.window_start_ps = start;
        recording.window_end_ps = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_cut_where_the_rank_s_clock_says() {
        let edges = RecordingEdges {
            start: RecordingEdge::Time(100),
            end: RecordingEdge::Time(200),
            offset_ps: 30,
        };
        let tracker = RecordingTracker::new(edges);
        assert_eq!(tracker.part(0, 70), 0);
        assert_eq!(tracker.part(60, 80), 10);
        assert_eq!(tracker.part(0, 1000), 100);
        assert_eq!(tracker.part(160, 300), 10);
        // The clock of the computation runs at a tenth of the other.
        assert_eq!(tracker.computation(2, 60, 80), 1);
        assert_eq!(
            [69, 70, 169, 170].map(|now| tracker.is_inside(now)),
            [false, true, true, false]
        );
        assert!(tracker.is_past(170) && !tracker.is_past(169));
        let mut recording = Recording {
            span_ps: 120,
            ..Recording::default()
        };
        tracker.finish(&mut recording);
        assert_eq!(
            (
                recording.window_start_ps,
                recording.window_end_ps,
                recording.outside_ps()
            ),
            (Some(70), Some(120), 70)
        );
    }

    #[test]
    fn calls_and_events_are_numbered_from_one() {
        let mut recording = Recording::default();
        let mut tracker = RecordingTracker::new(RecordingEdges::new(
            RecordingEdge::Call(2),
            RecordingEdge::Call(4),
        ));
        let inside: Vec<bool> = (1..=5).map(|at| tracker.call(at, &mut recording)).collect();
        assert_eq!(inside, [false, true, true, false, false]);
        assert_eq!((tracker.calls(), tracker.calls_inside()), (5, 2));
        let mut tracker = RecordingTracker::new(RecordingEdges::new(
            RecordingEdge::Event(2),
            RecordingEdge::Event(3),
        ));
        assert!(!tracker.is_edge_next());
        let mut inside = Vec::new();
        for at in 1..=3 {
            tracker.event(at, &mut recording);
            inside.push((tracker.is_inside(at), tracker.is_edge_next()));
        }
        assert_eq!(inside, [(false, true), (true, true), (false, false)]);
        assert_eq!(
            (recording.window_start_ps, recording.window_end_ps),
            (Some(2), Some(3))
        );
    }

    /// MPI forbids operations before its initialization, so that a recording that has some is not cut there.
    #[test]
    fn the_default_window_begins_after_mpi_init() {
        let mut recording = Recording::default();
        let mut tracker = RecordingTracker::default();
        assert!(!tracker.initialized(5, false, &mut recording));
        assert!(tracker.initialized(7, true, &mut recording));
        assert!(!tracker.initialized(9, true, &mut recording));
        assert!(tracker.finalizes(20, &mut recording) && tracker.is_finalized());
        recording.span_ps = 100;
        assert_eq!(recording.outside_ps(), 87);
        let mut all = RecordingTracker::new(RecordingEdges::new(
            RecordingEdge::Recording,
            RecordingEdge::Recording,
        ));
        assert!(!all.initialized(5, true, &mut Recording::default()));
        assert!(!all.finalizes(5, &mut Recording::default()) && !all.is_finalized());
    }
}
