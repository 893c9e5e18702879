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
            if lines.rank.len() >= rows.limit {
                let why = "of too many states for one answer: ask for a longer pixel_ps, or a shorter time";
                return Err(SliceError::Column(why.into()));
            }
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

/// Columns that are read for shares.
const SHARE_COLUMNS: [&str; 6] = ["job", "rank", "begin_ps", "end_ps", "state", "blocked"];

/// What a rank does: it computes, its CPU works for MPI, or it waits in a point-to-point call or in a collective.
const PARTS: [&str; 4] = ["compute", "overhead", "blocked", "blocked_collective"];

/// Words in the names of calls that all ranks of a communicator make together.
const COLLECTIVES: [&str; 10] = [
    "barrier", "bcast", "reduce", "gather", "scatter", "alltoall", "scan", "fence", "_comm_", "neighbor",
];

/// Most cells of an answer: ranks times columns.
const MOST_CELLS: usize = 1_000_000;

/// Which ranks stand for all.
#[derive(Clone, Copy)]
pub(crate) struct RankSample {
    /// Ranks with a smaller hash are in it.
    end: u64,
}

impl RankSample {
    /// About `wanted` of `all` ranks; all of them if 0 are wanted.
    ///
    /// A hash of the rank decides, so that no rank depends on the others and the choice is the same in each request.
    /// Every n-th rank would not do: in a grid of ranks they can all be corners.
    pub fn new(wanted: u32, all: u32) -> RankSample {
        let end = match wanted {
            0 => 1 << 32,
            _ => (u64::from(wanted) << 32) / u64::from(all.max(1)),
        };
        RankSample { end }
    }

    fn has(self, rank: u32) -> bool {
        u64::from(mixed(rank)) < self.end
    }
}

/// A hash of a number: the final mix of `MurmurHash3` (Appleby, `fmix32`), in which each bit of the input changes about
/// half of the bits of the output.
fn mixed(number: u32) -> u32 {
    let number = (number ^ (number >> 16)).wrapping_mul(0x85eb_ca6b);
    let number = (number ^ (number >> 13)).wrapping_mul(0xc2b2_ae35);
    number ^ (number >> 16)
}

/// Shares of time that the ranks of a sample spend in each of [`PARTS`], in so many equal parts of the time range,
/// named `columns`. A row for each rank and part of the range, in this order.
pub(crate) fn shares(
    paths: &[PathBuf],
    rows: &RowFilter,
    sample: RankSample,
    columns: u32,
) -> Result<Slice, SliceError> {
    let Some(span) = rows.span.as_ref().filter(|span| span.to_ps > span.from_ps) else {
        return Err(SliceError::Column("from_ps and to_ps are missing".into()));
    };
    let count = columns.clamp(1, 1000) as usize;
    let part_ps = (span.to_ps - span.from_ps) as f64 / count as f64;
    let mut of_rank: BTreeMap<u32, Vec<[f64; PARTS.len()]>> = BTreeMap::new();
    for batch in read(paths, &SHARE_COLUMNS, rows)? {
        let batch = batch?;
        let columns = BatchColumns::new(&batch);
        let (ranks, states) = (columns.short_integers("rank")?, columns.texts("state")?);
        let (begins, ends) = (columns.integers("begin_ps")?, columns.integers("end_ps")?);
        let blocked = columns.flags("blocked")?;
        for row in chosen(&batch, rows)? {
            let (rank, begin_ps, end_ps) = (
                ranks[row],
                begins[row].max(span.from_ps),
                ends[row].min(span.to_ps),
            );
            if !sample.has(rank) || begin_ps >= end_ps {
                continue;
            }
            let state = states.or_empty(row);
            let part = match (state, blocked.value(row)) {
                ("compute", _) => 0,
                (_, false) => 1,
                (call, true) => 2 + usize::from(is_collective(call)),
            };
            if !of_rank.contains_key(&rank) && (of_rank.len() + 1) * count > MOST_CELLS {
                return Err(SliceError::Column("of too many ranks: ask for a sample".into()));
            }
            let sums = of_rank
                .entry(rank)
                .or_insert_with(|| vec![[0.0; PARTS.len()]; count]);
            let place = |ps: u64| (ps - span.from_ps) as f64 / part_ps;
            let (begin, end) = (place(begin_ps), place(end_ps));
            // Truncation: places are at least 0 and at most `count`.
            for (column, sums) in sums
                .iter_mut()
                .enumerate()
                .take(end.ceil() as usize)
                .skip(begin as usize)
            {
                let column = column as f64;
                sums[part] += (end.min(column + 1.0) - begin.max(column)).max(0.0);
            }
        }
    }
    let ranks = of_rank
        .keys()
        .flat_map(|rank| std::iter::repeat_n(*rank, count))
        .collect();
    let part =
        |part: usize| ColumnValues::F32(of_rank.values().flatten().map(|sums| sums[part] as f32).collect());
    let rank = ("rank".to_string(), ColumnValues::U32(ranks));
    let parts = PARTS
        .iter()
        .enumerate()
        .map(|(index, name)| ((*name).into(), part(index)));
    Ok(Slice {
        rows: of_rank.len() * count,
        matching: of_rank.len() * count,
        columns: std::iter::once(rank).chain(parts).collect(),
    })
}

fn is_collective(call: &str) -> bool {
    let call = call.to_lowercase();
    COLLECTIVES.iter().any(|word| call.contains(word))
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
        let waits: Vec<bool> = states.iter().map(|state| *state != "compute").collect();
        written(vec![
            ("job", Arc::new(StringArray::from(vec!["a"; ranks.len()]))),
            ("rank", Arc::new(UInt32Array::from(ranks))),
            ("begin_ps", Arc::new(UInt64Array::from(begins))),
            ("end_ps", Arc::new(UInt64Array::from(ends))),
            ("state", Arc::new(StringArray::from(states))),
            ("blocked", Arc::new(arrow_array::BooleanArray::from(waits))),
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

    #[test]
    fn shares_of_a_range_add_up_to_the_time_of_its_states() {
        let (_folder, path) = timeline();
        let asked = |from_ps, to_ps| RowFilter {
            span: Some(crate::slice::TimeRange {
                from_ps,
                to_ps,
                begin: "begin_ps".into(),
                end: "end_ps".into(),
            }),
            limit: usize::MAX,
            ..RowFilter::default()
        };
        let part = |found: &Slice, index: usize| match &found.columns[index].1 {
            ColumnValues::F32(values) => values.clone(),
            _ => panic!("shares"),
        };
        let path = std::slice::from_ref(&path);
        // 100 of computation, then 5 turns of 20: 3 of computation, 17 of a call.
        let all = RankSample::new(0, 0);
        let found = shares(path, &asked(0, 150), all, 3).unwrap();
        assert_eq!(found.rows, 6, "2 ranks in 3 parts");
        let near = |found: Vec<f32>, expected: [f32; 6]| {
            assert!(
                found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6),
                "{found:?}"
            );
        };
        near(part(&found, 1), [1.0, 1.0, 0.18, 1.0, 1.0, 0.18]);
        near(part(&found, 3), [0.0, 0.0, 0.82, 0.0, 0.0, 0.82]);
        let one = RankSample::new(1, 4);
        assert_eq!([one.has(0), one.has(1)], [true, false]);
        let some = shares(path, &asked(80, 120), one, 1).unwrap();
        assert_eq!(some.rows, 1);
        assert!((part(&some, 1)[0] - 23.0 / 40.0).abs() < 1e-6);
        assert!(shares(path, &rows(), all, 3).is_err(), "without a range");
    }

    #[test]
    fn a_sample_of_ranks_has_each_place_of_a_grid_as_often_as_all_ranks() {
        // A grid of 16 x 16 x 16 ranks in blocks of 4 x 4: the first of four ranks is a corner or an edge.
        let ranks = 16 * 16 * 16;
        let is_corner = |rank: u32| rank.is_multiple_of(4) && (rank / 16).is_multiple_of(4);
        let share = |chosen: &[u32]| {
            let corners = chosen.iter().filter(|rank| is_corner(**rank)).count();
            corners as f64 / chosen.len() as f64
        };
        let of_all = share(&(0..ranks).collect::<Vec<_>>());
        let every_fourth: Vec<u32> = (0..ranks).step_by(4).collect();
        assert_eq!(
            (of_all, share(&every_fourth)),
            (1.0 / 16.0, 1.0 / 4.0),
            "this aliased"
        );
        let sample = RankSample::new(1024, ranks);
        let chosen: Vec<u32> = (0..ranks).filter(|rank| sample.has(*rank)).collect();
        assert!((900..1150).contains(&chosen.len()), "{}", chosen.len());
        assert!((share(&chosen) - of_all).abs() < 0.02, "{}", share(&chosen));
        for place in 0..16 {
            let column = chosen.iter().filter(|rank| *rank % 16 == place).count();
            assert!(
                (40..90).contains(&column),
                "{column} of column {place}, expected 64"
            );
        }
        let all = RankSample::new(1024, 1024);
        assert!((0..1024).all(|rank| all.has(rank)), "few ranks are all chosen");
    }

    #[test]
    fn collectives_are_known_by_their_calls() {
        for name in ["MPI_Allreduce", "MPI_Ibarrier", "MPI_Win_fence", "MPI_Comm_split"] {
            assert!(is_collective(name), "{name}");
        }
        for name in ["MPI_Waitall", "MPI_Send", "MPI_Recv", "MPI_Get"] {
            assert!(!is_collective(name), "{name}");
        }
    }
}
