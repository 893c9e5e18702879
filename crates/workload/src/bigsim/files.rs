//! The files of a trace: `bgTrace` says what the machine was, `bgTrace0` and so on have the timelines.
//!
//! Node k is in file k modulo the number of files. A file has its nodes in rising order, and the threads of a node one
//! after another.

use std::path::{Path, PathBuf};

use super::cursor::BigsimCursor;
use super::log::{BigsimLog, BigsimMachine, NEWEST, least_bytes};
use crate::TraceError;

/// The name of the file that describes the machine.
pub const MAIN: &str = "bgTrace";

/// Most PEs of a trace: as many as a job has ranks.
const MOST_PES: u64 = 1 << 24;

/// Reads the file `bgTrace`.
///
/// # Errors
/// It is another file, or damaged.
pub fn machine(main: &Path) -> Result<BigsimMachine, TraceError> {
    let name = main
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    if name != MAIN {
        return Err(TraceError {
            file: main.display().to_string(),
            rank: None,
            message: format!(
                "is a file of a BigSim trace; expected the file {MAIN} beside it, or the folder"
            ),
        });
    }
    let mut cursor = BigsimCursor::open(main)?;
    let pes_at = cursor.at();
    let pes = cursor.natural("the number of PEs")?;
    let mut grid = [0; 3];
    for sides in &mut grid {
        *sides = at_least_1(&mut cursor, "the nodes of a dimension")?;
    }
    cursor.natural("the number of communication threads")?;
    let threads = at_least_1(&mut cursor, "the worker threads of a node")?;
    cursor.int("the stack size")?;
    cursor.int("the timing method")?;
    let files = at_least_1(&mut cursor, "the number of files")?;
    let version_at = cursor.at();
    let mut version = 0;
    if cursor.left() > 0 {
        version = cursor.natural("the version of the logs")?;
    }
    if version > NEWEST {
        let message = format!("expected a version of the logs from 0 to {NEWEST}, found {version}");
        return Err(cursor.error(version_at, message));
    }
    if cursor.left() > 0 {
        cursor.int("the entry point of resumed threads")?;
    }
    if cursor.left() > 0 {
        let message = format!("expected the end of the file, found {} B more", cursor.left());
        return Err(cursor.error(cursor.at(), message));
    }
    let sides = grid.iter().chain([&threads]);
    let product = sides.fold(1_u64, |product, side| product.saturating_mul(u64::from(*side)));
    if u64::from(pes) != product || product > MOST_PES {
        let [x, y, z] = grid;
        let message = format!(
            "expected as many PEs as {x}x{y}x{z} nodes with {threads} worker threads have, at most {MOST_PES}; found \
             {pes}"
        );
        return Err(cursor.error(pes_at, message));
    }
    Ok(BigsimMachine {
        pes,
        grid,
        threads,
        files,
        version,
    })
}

fn at_least_1(cursor: &mut BigsimCursor, what: &str) -> Result<u32, TraceError> {
    let at = cursor.at();
    match cursor.natural(what)? {
        0 => Err(cursor.error(at, format_args!("expected {what}, from 1 on; found 0"))),
        number => Ok(number),
    }
}

/// The file of timelines with this number.
fn timelines(main: &Path, number: u32) -> PathBuf {
    main.with_file_name(format!("{MAIN}{number}"))
}

/// Reads all timelines, and gives each log to `each`, with its PE, in the order of the files. The logs of a PE are
/// consecutive, and it is told of each PE before.
///
/// # Errors
/// A file is missing or damaged.
pub fn read(
    main: &Path,
    machine: &BigsimMachine,
    mut each: impl FnMut(u32, BigsimLog) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    for number in 0..machine.files {
        let path = timelines(main, number);
        let mut cursor = BigsimCursor::open(&path)?;
        let at = cursor.at();
        let offsets = cursor.ints("the number of timelines")?;
        let nodes = (number..machine.nodes()).step_by(machine.files as usize);
        let expected = nodes.len() * machine.threads as usize;
        if offsets.len() != expected {
            let found = offsets.len();
            return Err(cursor.error(at, format_args!("expected {expected} timelines, found {found}")));
        }
        let pes = nodes.flat_map(|node| node * machine.threads..(node + 1) * machine.threads);
        for ((pe, offset), place) in pes.zip(&offsets).zip(0..) {
            cursor.enter(pe);
            let start = cursor.at();
            if i64::from(*offset) != start.cast_signed() {
                let message = format!("expected {start} as start of the timeline, found {offset}");
                return Err(cursor.error(at + 4 + 4 * place, message));
            }
            let logs = cursor.count("the number of logs", least_bytes(machine.version))? as u32;
            for index in 0..logs {
                each(pe, BigsimLog::read(&mut cursor, machine, (index, logs))?)?;
            }
        }
        if cursor.left() > 0 {
            let message = format!("expected the end of the file, found {} B more", cursor.left());
            return Err(cursor.error(cursor.at(), message));
        }
    }
    Ok(())
}
