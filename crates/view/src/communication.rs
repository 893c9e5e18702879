//! The communication matrix of a job, from the table `messages`.

use std::path::PathBuf;

use results::{BatchColumns, Communication, carries_data};

use crate::slice::{ColumnValues, RowFilter, Slice, SliceError, chosen, read};

/// Columns that are read.
const COLUMNS: [&str; 5] = ["job", "from_rank", "to_rank", "bytes", "protocol"];
/// Most rows and columns of an answer.
const MOST: u32 = 1024;

/// The cells of the matrix of `ranks` ranks in at most `most` rows and columns: a row of the answer for each cell in
/// which something was sent.
pub(crate) fn communication(
    paths: &[PathBuf],
    rows: &RowFilter,
    ranks: u32,
    most: u32,
) -> Result<Slice, SliceError> {
    let mut matrix = Communication::new(ranks, most.clamp(1, MOST));
    let mut matching = 0;
    for batch in read(paths, &COLUMNS, rows)? {
        let batch = batch?;
        let columns = BatchColumns::new(&batch);
        let [from, to] = [
            columns.short_integers("from_rank")?,
            columns.short_integers("to_rank")?,
        ];
        let (bytes, protocol) = (columns.integers("bytes")?, columns.texts("protocol")?);
        for row in chosen(&batch, rows)? {
            if carries_data(protocol.or_empty(row)) {
                matching += 1;
                matrix.add(from[row], to[row], bytes[row]);
            }
        }
    }
    let cells: Vec<_> = matrix.cells().collect();
    let of = |pick: fn(&((u32, u32), results::Sent)) -> u64| {
        ColumnValues::F64(cells.iter().map(|cell| pick(cell) as f64).collect())
    };
    let place =
        |pick: fn(&((u32, u32), results::Sent)) -> u32| ColumnValues::U32(cells.iter().map(pick).collect());
    let size = vec![matrix.ranks_per_cell(); cells.len()];
    Ok(Slice {
        rows: cells.len(),
        matching,
        columns: vec![
            ("from".into(), place(|cell| cell.0.0)),
            ("to".into(), place(|cell| cell.0.1)),
            ("messages".into(), of(|cell| cell.1.messages)),
            ("bytes".into(), of(|cell| cell.1.bytes)),
            ("ranks_per_cell".into(), ColumnValues::U32(size)),
        ],
    })
}
