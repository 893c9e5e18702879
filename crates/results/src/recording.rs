//! What the recording of a job tells beside the operations that were replayed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::nanoseconds::nanoseconds;

/// The recording of a job in the summary, from the ranks that finished: a program that has not ended has not been read
/// to its end. Its calls and times are those of one repetition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordingSummary {
    /// Ranks that finished.
    pub ranks: u64,
    /// Recorded time from the first to the last event of a rank, mean over these ranks, in nanoseconds. 0 without
    /// recorded times.
    pub span_ns: f64,
    /// Median of the same times, the lower one of an even number.
    pub median_span_ns: f64,
    /// The longest time between two successive events of a rank. `None` without recorded times.
    pub longest_gap: Option<RecordedGap>,
    /// Recorded time of a rank outside the window that is replayed, mean over these ranks, in nanoseconds.
    #[serde(default)]
    pub outside_ns: f64,
    /// Operations in a selected window that are left out, summed over these ranks. `None` for the default window and
    /// the whole recording.
    #[serde(default)]
    pub cut: Option<CutSummary>,
    /// Calls that are not replayed, those with the most recorded time first.
    pub not_replayed: Vec<NotReplayed>,
    /// Locations of the recording that are no MPI ranks, such as threads.
    pub other_locations: u64,
    /// Events of these locations, all of which are left out.
    pub other_events: u64,
}

/// Operations in a window of a recording that are left out, because their partners are outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutSummary {
    /// Sends whose receive is outside.
    pub sends: u64,
    /// Receives and probes whose send is outside.
    pub receives: u64,
    /// Calls of collectives that another rank calls outside.
    pub collectives: u64,
    /// One-sided transfers whose fence is left out.
    pub transfers: u64,
    /// Requests of operations outside that calls in the window wait for.
    pub requests: u64,
}

/// Time between two successive events of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedGap {
    /// The rank.
    pub rank: u64,
    /// When it begins, in nanoseconds after the first event of the rank.
    pub at_ns: f64,
    /// How long it is, in nanoseconds.
    pub time_ns: f64,
}

/// Calls of one function that are not replayed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotReplayed {
    /// The function.
    pub call: String,
    /// Calls, summed over the ranks.
    pub count: u64,
    /// Recorded time inside them per rank, mean over the ranks, in nanoseconds.
    pub time_ns: f64,
}

/// Sums over the recordings of the ranks of a job.
#[derive(Clone, Debug, Default)]
pub struct RecordingTotals {
    spans_ps: Vec<u64>,
    outside_ps: u128,
    cut: Option<CutSummary>,
    /// Rank, start and length in picoseconds.
    longest_gap: Option<(u64, u64, u64)>,
    /// Count and picoseconds by call.
    not_replayed: BTreeMap<String, (u64, u128)>,
    other_locations: u64,
    other_events: u64,
}

impl RecordingTotals {
    /// No rank, and these locations that are no ranks, with their events.
    pub fn new(other_locations: u64, other_events: u64) -> RecordingTotals {
        RecordingTotals {
            other_locations,
            other_events,
            ..RecordingTotals::default()
        }
    }

    /// Adds a rank by the length of its recording, and start and length of its longest gap, in picoseconds.
    pub fn add_rank(&mut self, rank: u64, span_ps: u64, (at_ps, gap_ps): (u64, u64)) {
        self.spans_ps.push(span_ps);
        if gap_ps > self.longest_gap.map_or(0, |(_, _, ps)| ps) {
            self.longest_gap = Some((rank, at_ps, gap_ps));
        }
    }

    /// Adds the window of a rank: the recorded time outside in picoseconds, and what a selected window leaves out.
    pub fn add_window(&mut self, outside_ps: u64, cut: Option<CutSummary>) {
        self.outside_ps += u128::from(outside_ps);
        if let Some(own) = cut {
            let cut = self.cut.get_or_insert_default();
            cut.sends += own.sends;
            cut.receives += own.receives;
            cut.collectives += own.collectives;
            cut.transfers += own.transfers;
            cut.requests += own.requests;
        }
    }

    /// Adds calls of a rank that are not replayed, and their time in picoseconds.
    pub fn add_calls(&mut self, call: &str, count: u64, ps: u64) {
        let calls = self.not_replayed.entry(call.into()).or_default();
        calls.0 += count;
        calls.1 += u128::from(ps);
    }

    /// The summary; `None` if no rank has a recording and has finished.
    pub(crate) fn summary(&self) -> Option<RecordingSummary> {
        let ranks = self.spans_ps.len() as u64;
        if ranks == 0 {
            return None;
        }
        let mean = |sum: u128| sum as f64 / ranks as f64 / 1000.0;
        let call = |(call, (count, ps)): (&String, &(u64, u128))| NotReplayed {
            call: call.clone(),
            count: *count,
            time_ns: mean(*ps),
        };
        let mut not_replayed: Vec<NotReplayed> = self.not_replayed.iter().map(call).collect();
        not_replayed.sort_by(|a, b| {
            (b.time_ns, b.count)
                .partial_cmp(&(a.time_ns, a.count))
                .expect("finite")
        });
        let mut spans = self.spans_ps.clone();
        // Not `sort_unstable`: the executors sort their events with it, and would link the instance of this crate,
        // which development builds do not optimise.
        spans.sort();
        Some(RecordingSummary {
            ranks,
            span_ns: mean(spans.iter().map(|ps| u128::from(*ps)).sum()),
            median_span_ns: nanoseconds(spans[(spans.len() - 1) / 2]),
            longest_gap: self.longest_gap.map(|(rank, at_ps, ps)| RecordedGap {
                rank,
                at_ns: nanoseconds(at_ps),
                time_ns: nanoseconds(ps),
            }),
            outside_ns: mean(self.outside_ps),
            cut: self.cut,
            not_replayed,
            other_locations: self.other_locations,
            other_events: self.other_events,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_means_over_ranks() {
        let mut totals = RecordingTotals::new(2, 7);
        assert_eq!(totals.summary(), None);
        totals.add_rank(0, 1_000, (3, 500));
        totals.add_rank(1, 9_000, (1_000, 8_000));
        totals.add_rank(2, 2_000, (0, 8_000));
        totals.add_window(500, None);
        assert_eq!(totals.summary().expect("it has ranks").cut, None);
        for sends in [1, 2] {
            let cut = CutSummary {
                sends,
                ..CutSummary::default()
            };
            totals.add_window(500, Some(cut));
        }
        totals.add_calls("MPI_File_open", 1, 300);
        totals.add_calls("MPI_File_write", 2, 3_000);
        totals.add_calls("MPI_File_write", 1, 3_000);
        let summary = totals.summary().expect("it has ranks");
        assert_eq!(
            (summary.ranks, summary.span_ns, summary.median_span_ns),
            (3, 4.0, 2.0)
        );
        let cut = summary.cut.expect("a rank has a window");
        assert_eq!((summary.outside_ns, cut.sends, cut.receives), (0.5, 3, 0));
        let gap = summary.longest_gap.expect("times are recorded");
        assert_eq!((gap.rank, gap.at_ns, gap.time_ns), (1, 1.0, 8.0));
        let calls = summary.not_replayed.iter();
        let calls: Vec<_> = calls.map(|c| (c.call.as_str(), c.count, c.time_ns)).collect();
        assert_eq!(calls, [("MPI_File_write", 3, 2.0), ("MPI_File_open", 1, 0.1)]);
        assert_eq!((summary.other_locations, summary.other_events), (2, 7));
    }
}
