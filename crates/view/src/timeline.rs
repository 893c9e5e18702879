//! States of ranks in a time range, reduced to the resolution of the picture. States shorter than a pixel are merged
//! and take the name of the longest one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use results::BatchColumns;

use crate::slice::{ColumnValues, RowFilter, Slice, SliceError, Texts, chosen, read};

/// Columns that are read.
const COLUMNS: [&str; 5] = ["job", "rank", "begin_ps", "end_ps", "state"];

/// Short states of one rank that are being merged.
#[derive(Default)]
struct MergedStates {
    begin_ps: u64,
    end_ps: u64,
    /// Time in each state.
    states: BTreeMap<u32, u64>,
}

#[derive(Default)]
struct RankLines {
    rank: Vec<u32>,
    begin: Vec<f64>,
    end: Vec<f64>,
    state: Vec<u32>,
    /// Whether the row merges several states.
    mixed: Vec<u8>,
}

impl RankLines {
    fn push(&mut self, rank: u32, begin_ps: u64, end_ps: u64, state: u32, mixed: bool) {
        self.rank.push(rank);
        self.begin.push(begin_ps as f64);
        self.end.push(end_ps as f64);
        self.state.push(state);
        self.mixed.push(u8::from(mixed));
    }

    fn flush(&mut self, rank: u32, merged: &mut MergedStates) {
        if merged.states.is_empty() {
            return;
        }
        // The first of equally long states wins.
        let most = merged.states.iter().fold(
            (0, 0),
            |best, (state, time)| {
                if *time > best.1 { (*state, *time) } else { best }
            },
        );
        let mixed = merged.states.len() > 1;
        self.push(rank, merged.begin_ps, merged.end_ps, most.0, mixed);
        merged.states.clear();
    }
}

/// Rows of the `timeline` for every `every`-th rank, with states shorter than `pixel_ps` merged.
pub(crate) fn reduced(
    paths: &[PathBuf],
    rows: &RowFilter,
    every: u32,
    pixel_ps: u64,
) -> Result<Slice, SliceError> {
    let (mut lines, mut texts) = (RankLines::default(), Texts::default());
    let mut merged_by_rank: BTreeMap<u32, MergedStates> = BTreeMap::new();
    let mut matching = 0;
    for batch in read(paths, &COLUMNS, rows)? {
        let batch = batch?;
        let columns = BatchColumns::new(&batch);
        let (ranks, states) = (columns.short_integers("rank")?, columns.texts("state")?);
        let (begins, ends) = (columns.integers("begin_ps")?, columns.integers("end_ps")?);
        for row in chosen(&batch, rows)? {
            let (rank, begin_ps, end_ps) = (ranks[row], begins[row], ends[row]);
            if !rank.is_multiple_of(every.max(1)) {
                continue;
            }
            matching += 1;
            let state = texts.number(states.or_empty(row));
            let merged = merged_by_rank.entry(rank).or_default();
            if end_ps.saturating_sub(begin_ps) >= pixel_ps {
                lines.flush(rank, merged);
                lines.push(rank, begin_ps, end_ps, state, false);
                continue;
            }
            if merged.states.is_empty() {
                merged.begin_ps = begin_ps;
            }
            merged.end_ps = end_ps;
            *merged.states.entry(state).or_default() += end_ps.saturating_sub(begin_ps);
            if end_ps.saturating_sub(merged.begin_ps) >= pixel_ps {
                lines.flush(rank, merged);
            }
        }
    }
    for (rank, merged) in &mut merged_by_rank {
        lines.flush(*rank, merged);
    }
    Ok(Slice {
        rows: lines.rank.len(),
        matching,
        columns: vec![
            ("rank".into(), ColumnValues::U32(lines.rank)),
            ("begin_ps".into(), ColumnValues::F64(lines.begin)),
            ("end_ps".into(), ColumnValues::F64(lines.end)),
            ("state".into(), ColumnValues::Text(lines.state, texts)),
            ("mixed".into(), ColumnValues::U8(lines.mixed)),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use arrow_array::{StringArray, UInt32Array, UInt64Array};

    use crate::slice::tests::written;

    /// Two ranks: one long computation, then ten short alternating calls and computations.
    fn timeline() -> (tempfile::TempDir, std::path::PathBuf) {
        let (mut ranks, mut begins, mut ends, mut states) = (vec![], vec![], vec![], vec![]);
        for (begin, end, state) in std::iter::once((0, 100, "compute")).chain((0..10).map(|i| {
            let begin = 100 + 10 * i / 2 * 2;
            match i % 2 {
                0 => (begin, begin + 3, "compute"),
                _ => (begin - 7, begin + 10, "MPI_Send"),
            }
        })) {
            for rank in 0..2u32 {
                ranks.push(rank);
                begins.push(begin);
                ends.push(end);
                states.push(state);
            }
        }
        written(vec![
            ("job", Arc::new(StringArray::from(vec!["a"; ranks.len()]))),
            ("rank", Arc::new(UInt32Array::from(ranks))),
            ("begin_ps", Arc::new(UInt64Array::from(begins))),
            ("end_ps", Arc::new(UInt64Array::from(ends))),
            ("state", Arc::new(StringArray::from(states))),
        ])
    }

    fn rows() -> RowFilter {
        RowFilter {
            limit: usize::MAX,
            ..RowFilter::default()
        }
    }

    #[test]
    fn what_is_seen_stays_and_what_is_not_is_put_together() {
        let (_folder, path) = timeline();
        let whole = reduced(std::slice::from_ref(&path), &rows(), 1, 0).unwrap();
        assert_eq!((whole.rows, whole.matching), (22, 22));
        let coarse = reduced(std::slice::from_ref(&path), &rows(), 1, 40).unwrap();
        assert!(coarse.rows < 12, "{coarse:?}");
        let (ColumnValues::F64(begins), ColumnValues::F64(ends)) =
            (&coarse.columns[1].1, &coarse.columns[2].1)
        else {
            panic!("times");
        };
        assert_eq!((begins[0], ends[0]), (0.0, 100.0), "long times are themselves");
        let ColumnValues::Text(states, texts) = &coarse.columns[3].1 else {
            panic!("states")
        };
        assert_eq!(
            texts.all[*states.last().unwrap() as usize],
            "MPI_Send",
            "most of the time"
        );
        let ColumnValues::U8(mixed) = &coarse.columns[4].1 else {
            panic!("mixed")
        };
        assert_eq!((mixed[0], *mixed.last().unwrap()), (0, 1));
    }

    #[test]
    fn some_ranks_stand_for_all() {
        let (_folder, path) = timeline();
        let some = reduced(std::slice::from_ref(&path), &rows(), 2, 0).unwrap();
        let ColumnValues::U32(ranks) = &some.columns[0].1 else {
            panic!("ranks")
        };
        assert!(ranks.len() == 11 && ranks.iter().all(|rank| *rank == 0));
    }
}
