//! What a recording tells beside the operations that are replayed: calls that are left out, and its times.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Facts about the recording of one rank. They are complete when its program has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// Time from the first to the last event, in picoseconds; 0 without recorded times.
    pub span_ps: u64,
    /// The longest time between two successive events.
    pub longest_gap: EventGap,
    /// Calls that are not replayed, by name, in the window that is replayed.
    pub not_replayed: BTreeMap<String, SkippedCalls>,
    /// When the window that is replayed begins, in picoseconds after the first event. `None`: with this event.
    pub window_start_ps: Option<u64>,
    /// When the window ends, in picoseconds after the first event. `None`: with the last one.
    pub window_end_ps: Option<u64>,
    /// What the window leaves out although it is inside, because a partner is outside. `None` for the default window
    /// and the whole recording, which leave out nothing.
    pub cut: Option<CutOperations>,
}

/// Operations in a window that are not replayed, because the other part of them is outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutOperations {
    /// Sends whose receive is outside.
    pub sends: u64,
    /// Receives, and probes, whose send is outside.
    pub receives: u64,
    /// Collectives and fences that a member of the communicator calls outside.
    pub collectives: u64,
    /// Puts and gets whose next fence is left out.
    pub transfers: u64,
    /// Requests that were opened before the window, or are of such operations, and are waited for inside.
    pub requests: u64,
}

/// The time between two successive events of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventGap {
    /// When it begins, in picoseconds after the rank's first event.
    pub at_ps: u64,
    /// How long it is, in picoseconds.
    pub ps: u64,
}

/// Calls of one function that are not replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedCalls {
    /// Number.
    pub count: u64,
    /// Recorded time inside them, in picoseconds.
    pub ps: u64,
}

/// Locations of a recording that are no MPI ranks. All their events are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherLocations {
    /// Number.
    pub locations: u64,
    /// Their events.
    pub events: u64,
}

impl Recording {
    /// Recorded time outside the window that is replayed, in picoseconds.
    pub fn outside_ps(&self) -> u64 {
        let end = self.window_end_ps.unwrap_or(self.span_ps).min(self.span_ps);
        let inside = end.saturating_sub(self.window_start_ps.unwrap_or(0));
        self.span_ps - inside
    }

    /// Notes an event at this time after the first one. Damaged recordings have events that are not in order.
    pub fn event(&mut self, at_ps: u64) {
        self.gap(at_ps.saturating_sub(self.span_ps));
        self.pass(at_ps);
    }

    /// Notes that time up to `at_ps` has passed without a gap, as while the recording writes its buffer.
    pub fn pass(&mut self, at_ps: u64) {
        self.span_ps = self.span_ps.max(at_ps);
    }

    /// Notes a gap that begins now.
    pub fn gap(&mut self, ps: u64) {
        if ps > self.longest_gap.ps {
            let at_ps = self.span_ps;
            self.longest_gap = EventGap { at_ps, ps };
        }
    }

    /// Notes a call that is not replayed, and the recorded time in it.
    pub fn leave_out(&mut self, name: &str, ps: u64) {
        // Most functions are there, and a name costs an allocation.
        if !self.not_replayed.contains_key(name) {
            self.not_replayed.insert(name.into(), SkippedCalls::default());
        }
        if let Some(calls) = self.not_replayed.get_mut(name) {
            calls.count += 1;
            calls.ps = calls.ps.saturating_add(ps);
        }
    }
}

/// Whether the calls of a function are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// They are replayed, or are local to the rank.
    Never,
    /// Those that make no operation are left out: the format does not record what they do, or a reader does not use it.
    WithoutOperation,
    /// All are, even if messages inside them are recorded.
    Always,
}

impl LeftOut {
    /// Whether calls of this MPI function are left out.
    pub fn of(name: &str) -> LeftOut {
        const ALWAYS: [&str; 4] = ["MPI_File_", "MPIO_", "MPI_Neighbor_", "MPI_Ineighbor_"];
        const WITHOUT_OPERATION: [&str; 21] = [
            "MPI_Put",
            "MPI_Get",
            "MPI_Accumulate",
            "MPI_Get_accumulate",
            "MPI_Rput",
            "MPI_Rget",
            "MPI_Raccumulate",
            "MPI_Rget_accumulate",
            "MPI_Fetch_and_op",
            "MPI_Compare_and_swap",
            "MPI_Comm_accept",
            "MPI_Comm_connect",
            "MPI_Comm_join",
            "MPI_Comm_spawn",
            "MPI_Comm_spawn_multiple",
            "MPI_Comm_create_from_group",
            "MPI_Comm_create_group",
            "MPI_Comm_idup",
            "MPI_Comm_idup_with_info",
            "MPI_Intercomm_create",
            "MPI_Intercomm_merge",
        ];
        if ALWAYS.iter().any(|prefix| name.starts_with(prefix)) {
            LeftOut::Always
        } else if WITHOUT_OPERATION.contains(&name) {
            LeftOut::WithoutOperation
        } else {
            LeftOut::Never
        }
    }

    /// Whether a call is left out that made operations, or made none.
    pub fn applies(self, made_operations: bool) -> bool {
        match self {
            LeftOut::Never => false,
            LeftOut::WithoutOperation => !made_operations,
            LeftOut::Always => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_is_found_in_events_of_any_order() {
        let mut recording = Recording::default();
        for at in [0, 5, 6, 1000, 20, 1100] {
            recording.event(at);
        }
        assert_eq!(recording.span_ps, 1100);
        assert_eq!(recording.longest_gap, EventGap { at_ps: 6, ps: 994 });
        recording.pass(9000);
        recording.event(9001);
        assert_eq!((recording.span_ps, recording.longest_gap.ps), (9001, 994));
    }

    #[test]
    fn functions_that_communicate_are_told_from_local_ones() {
        for (name, expected) in [
            ("MPI_File_write_all", LeftOut::Always),
            ("MPI_Ineighbor_alltoall", LeftOut::Always),
            ("MPI_Get", LeftOut::WithoutOperation),
            ("MPI_Get_count", LeftOut::Never),
            ("MPI_Comm_rank", LeftOut::Never),
            ("MPI_Allreduce", LeftOut::Never),
        ] {
            assert_eq!(LeftOut::of(name), expected, "{name}");
        }
        assert!(LeftOut::Always.applies(true) && !LeftOut::WithoutOperation.applies(true));
        assert!(LeftOut::WithoutOperation.applies(false) && !LeftOut::Never.applies(false));
    }

    #[test]
    fn calls_are_counted_by_name() {
        let mut recording = Recording::default();
        recording.leave_out("MPI_File_open", 3);
        recording.leave_out("MPI_File_open", u64::MAX);
        let SkippedCalls { count, ps } = recording.not_replayed["MPI_File_open"];
        assert_eq!((count, ps), (2, u64::MAX));
    }
}
