//! GOAL schedules in binary.
//!
//! Little-endian, without padding: a magic number (u64), the number of ranks (u32), the highest CPU and NIC (u8
//! each), for each rank the start and end of its block (u64 each, from the end of the magic number), and the
//! blocks, see [`super::graph`]. Source: `txt2bin` of <https://github.com/spcl/LogGOPSim>, which writes numbers
//! in the byte order of its machine.

use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::graph::GoalBlock;
use crate::TraceError;

const MAGIC: u64 = 4223;
/// Magic number that LogGOPSim writes over a used schedule.
const USED_UP: u64 = 2342;
const MAGIC_BYTES: u64 = 8;
const HEAD_BYTES: u64 = 6;

/// Whether a file with these first bytes is a binary schedule, used or not.
pub fn recognise(head: &[u8]) -> bool {
    magic(head).is_some_and(|m| [MAGIC, USED_UP, MAGIC.swap_bytes()].contains(&m))
}

fn magic(head: &[u8]) -> Option<u64> {
    head.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Opens a schedule and reads the offsets of its blocks.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn blocks(path: &Path) -> Result<Vec<GoalBlock>, TraceError> {
    let fail = |rank, message: String| TraceError {
        file: path.display().to_string(),
        rank,
        message,
    };
    let unreadable = |e: std::io::Error| fail(None, format!("cannot be read: {e}"));
    let mut file = config::open_input(path, u64::MAX).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let mut head = [0; (MAGIC_BYTES + HEAD_BYTES) as usize];
    file.read_exact(&mut head)
        .map_err(|e| fail(None, format!("is cut off: {e}")))?;
    match magic(&head) {
        Some(MAGIC) => {}
        Some(USED_UP) => {
            let message =
                "this schedule was used up by LogGOPSim with --save-mem; convert it from text again";
            return Err(fail(None, message.into()));
        }
        _ => {
            let message = "this schedule was written on a machine of the other byte order; convert it from text \
                           on one of this (little-endian)";
            return Err(fail(None, message.into()));
        }
    }
    let ranks = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if ranks == 0 {
        return Err(fail(None, "a schedule of no ranks; expected at least 1".into()));
    }
    let table = 16 * u64::from(ranks);
    let first = HEAD_BYTES + table;
    if length < MAGIC_BYTES + first {
        let message =
            format!("is cut off: the table of {ranks} ranks takes {table} bytes of the file's {length}");
        return Err(fail(None, message));
    }
    let mut table = vec![0; table as usize];
    file.read_exact(&mut table).map_err(unreadable)?;
    let file = Arc::new(Mutex::new(file));
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |n: u64, b| n << 8 | u64::from(*b));
    let mut blocks = Vec::with_capacity(ranks as usize);
    for (rank, entry) in (0..).zip(table.chunks_exact(16)) {
        let (start, end) = (number(&entry[..8]), number(&entry[8..]));
        if start < first || end < start || end > length - MAGIC_BYTES {
            let message = format!(
                "its schedule should be in the bytes {start} to {end} of {first} to {}: the file is cut off or damaged",
                length - MAGIC_BYTES
            );
            return Err(fail(Some(rank), message));
        }
        blocks.push(GoalBlock::File(
            file.clone(),
            start + MAGIC_BYTES,
            end + MAGIC_BYTES,
        ));
    }
    Ok(blocks)
}
