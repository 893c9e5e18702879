//! Operations of the ranks of a real program, as a run has executed them: the recording that an online run leaves.
//!
//! A program that reacts to answers cannot be asked again. Its operations can, with what the simulation decided in
//! them, so that a replay on the same network gives the same result. `docs/formats/operations.md` has the layout.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::collective_totals::CollectiveTotals;
use crate::info::{CommunicatorInfo, MessageInfo};
use crate::trace::TraceFormat;
use crate::{MpiTimes, Operation, Program, TraceError, TraceInfo, Workload};

/// This format.
pub const FORMAT: TraceFormat = TraceFormat {
    name: "operations",
    summary: "operations of a real program, as `fabricsim mpirun` leaves them: the file NAME.operations",
    main: "*.operations",
    is_main: |name| name.ends_with(".operations"),
    recognise: |head| head.starts_with(MAGIC),
    open: |file| Ok(Arc::new(RecordedOperations::open(file)?)),
    info,
};

const MAGIC: &[u8] = b"FABRICSIM OPERATIONS 1\n";

/// A block of a rank's operations is written when it has this many bytes.
const BLOCK_BYTES: usize = 1 << 14;

/// Longest block that is read: a block, and an operation with lists for each of many ranks.
const MOST_BLOCK_BYTES: u64 = 1 << 30;

/// Where a block begins, and its bytes.
type BlockPlace = (u64, u64);

/// The end of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct OperationIndex {
    /// World ranks of each communicator's members. The first is that of all ranks.
    communicators: Vec<Vec<u32>>,
    /// Blocks of each rank, in the order of its operations.
    blocks: Vec<Vec<BlockPlace>>,
}

/// Writes the operations of all ranks, whose programs run side by side.
#[derive(Debug)]
pub struct OperationsWriter {
    file: Mutex<OperationFile>,
    /// What is not written yet, by rank.
    pending: Vec<Mutex<PendingOperations>>,
}

#[derive(Debug)]
struct OperationFile {
    file: File,
    end: u64,
    index: OperationIndex,
    /// Numbers of communicators in the file, by those of the programs.
    numbers: BTreeMap<u32, u32>,
}

#[derive(Debug, Default)]
struct PendingOperations {
    bytes: Vec<u8>,
}

impl OperationsWriter {
    /// A new file for a number of ranks.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(mut file: File, ranks: u32) -> io::Result<OperationsWriter> {
        file.write_all(MAGIC)?;
        let world = (0..ranks).collect();
        let index = OperationIndex {
            communicators: vec![world],
            blocks: vec![Vec::new(); ranks as usize],
        };
        let end = MAGIC.len() as u64;
        Ok(OperationsWriter {
            file: Mutex::new(OperationFile {
                file,
                end,
                index,
                numbers: BTreeMap::from([(0, 0)]),
            }),
            pending: (0..ranks).map(|_| Mutex::default()).collect(),
        })
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, OperationFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an operation of a rank.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&self, rank: u32, mut operation: Operation) -> io::Result<()> {
        if let Operation::NewCommunicator {
            communicator,
            members,
            ..
        } = operation
        {
            self.locked().declare(communicator, members);
            return Ok(());
        }
        if let Some(communicator) = communicator_of(&mut operation).filter(|number| **number != 0) {
            *communicator = self.locked().number(*communicator)?;
        }
        let pending = &self.pending[rank as usize];
        let mut pending = pending.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = std::mem::take(&mut pending.bytes);
        pending.bytes = postcard::to_extend(&operation, bytes).map_err(io::Error::other)?;
        if pending.bytes.len() >= BLOCK_BYTES {
            let block = std::mem::take(&mut pending.bytes);
            self.locked().write(rank, &block)?;
        }
        Ok(())
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&self) -> io::Result<()> {
        let mut file = self.locked();
        for (rank, pending) in (0..).zip(&self.pending) {
            let pending = &mut *pending.lock().unwrap_or_else(PoisonError::into_inner);
            file.write(rank, &std::mem::take(&mut pending.bytes))?;
        }
        let index = postcard::to_stdvec(&file.index).map_err(io::Error::other)?;
        let end = file.end;
        file.file.write_all(&index)?;
        file.file.write_all(&end.to_le_bytes())?;
        file.file.flush()
    }
}

impl OperationFile {
    fn write(&mut self, rank: u32, block: &[u8]) -> io::Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        self.file.write_all(block)?;
        self.index.blocks[rank as usize].push((self.end, block.len() as u64));
        self.end += block.len() as u64;
        Ok(())
    }

    /// All members declare a communicator; the first of them gives it its number in the file.
    fn declare(&mut self, communicator: u32, members: Vec<u32>) {
        let next = self.index.communicators.len() as u32;
        self.numbers.entry(communicator).or_insert_with(|| {
            self.index.communicators.push(members);
            next
        });
    }

    fn number(&self, communicator: u32) -> io::Result<u32> {
        let number = self.numbers.get(&communicator).copied();
        number.ok_or_else(|| io::Error::other(format!("communicator {communicator} was not made")))
    }
}

/// The communicator of an operation, if it has one.
fn communicator_of(operation: &mut Operation) -> Option<&mut u32> {
    match operation {
        Operation::Send { communicator, .. }
        | Operation::Receive { communicator, .. }
        | Operation::Probe { communicator, .. }
        | Operation::Iprobe { communicator, .. }
        | Operation::MatchedProbe { communicator, .. }
        | Operation::NewCommunicator { communicator, .. }
        | Operation::Collective { communicator, .. }
        | Operation::Put { communicator, .. }
        | Operation::Get { communicator, .. }
        | Operation::Fence { communicator, .. } => Some(communicator),
        Operation::Compute { .. }
        | Operation::Wait { .. }
        | Operation::Select { .. }
        | Operation::ReceiveMatched { .. }
        | Operation::Cancel { .. }
        | Operation::RepetitionEnd { .. } => None,
    }
}

/// A file of operations.
struct RecordedOperations {
    path: PathBuf,
    blocks: Vec<Vec<BlockPlace>>,
    communicators: Arc<[Vec<u32>]>,
}

impl RecordedOperations {
    fn open(path: &Path) -> Result<RecordedOperations, TraceError> {
        let wrong = |message: String| TraceError {
            file: path.display().to_string(),
            rank: None,
            message,
        };
        let index =
            read_index(path).map_err(|error| wrong(format!("is damaged or not complete: {error}")))?;
        let ranks = index.blocks.len() as u32;
        let all = (0..ranks).collect::<Vec<u32>>();
        if ranks == 0 || index.communicators.first() != Some(&all) {
            return Err(wrong(
                "is damaged: the first communicator has not all ranks".into(),
            ));
        }
        let beyond = |members: &Vec<u32>| members.iter().any(|member| *member >= ranks);
        if index.communicators.iter().any(beyond) {
            return Err(wrong(format!(
                "is damaged: a communicator has a member beyond its {ranks} ranks"
            )));
        }
        Ok(RecordedOperations {
            path: path.into(),
            blocks: index.blocks,
            communicators: index.communicators.into(),
        })
    }

    fn rank_program(&self, rank: u32) -> Result<OperationsProgram, TraceError> {
        let mut program = OperationsProgram {
            path: self.path.clone(),
            rank,
            file: None,
            blocks: self.blocks[rank as usize].clone(),
            communicators: self.communicators.clone(),
            next: 0,
            operations: Vec::new(),
        };
        let file =
            config::open_input(&self.path, u64::MAX).map_err(|error| program.error(error.to_string()))?;
        program.file = Some(file);
        Ok(program)
    }
}

/// Reads the end of a file.
fn read_index(path: &Path) -> io::Result<OperationIndex> {
    let mut file = config::open_input(path, u64::MAX)?;
    let length = file.metadata()?.len();
    let short = || io::Error::other("it is too short");
    let before = length.checked_sub(8).ok_or_else(short)?;
    let mut begin = [0; 8];
    file.seek(SeekFrom::Start(before))?;
    file.read_exact(&mut begin)?;
    let begin = u64::from_le_bytes(begin);
    let bytes = before
        .checked_sub(begin)
        .filter(|_| begin >= MAGIC.len() as u64)
        .ok_or_else(short)?;
    file.seek(SeekFrom::Start(begin))?;
    let mut index = Vec::new();
    file.take(bytes).read_to_end(&mut index)?;
    let index: OperationIndex = postcard::from_bytes(&index).map_err(io::Error::other)?;
    let inside = |(place, bytes): &BlockPlace| {
        *bytes <= MOST_BLOCK_BYTES && place.checked_add(*bytes).is_some_and(|end| end <= begin)
    };
    match index.blocks.iter().flatten().all(inside) {
        true => Ok(index),
        false => Err(io::Error::other("a block is outside of the file")),
    }
}

impl Workload for RecordedOperations {
    fn ranks(&self) -> u32 {
        self.blocks.len() as u32
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        self.communicators.clone()
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        Ok(Box::new(self.rank_program(rank)?))
    }

    fn reopens(&self) -> bool {
        true
    }
}

/// The program of a rank.
struct OperationsProgram {
    path: PathBuf,
    rank: u32,
    file: Option<File>,
    blocks: Vec<BlockPlace>,
    communicators: Arc<[Vec<u32>]>,
    /// The next block.
    next: usize,
    /// Those of the block before it, the next one last.
    operations: Vec<Operation>,
}

impl OperationsProgram {
    fn error(&self, message: String) -> TraceError {
        TraceError {
            file: self.path.display().to_string(),
            rank: Some(self.rank),
            message,
        }
    }

    /// Checks what a damaged file may have and no run writes.
    fn check(&self, operation: &mut Operation) -> io::Result<()> {
        let Some(communicator) = communicator_of(operation).copied() else {
            return Ok(());
        };
        let Some(members) = self.communicators.get(communicator as usize) else {
            return Err(io::Error::other(format!(
                "there is no communicator {communicator}"
            )));
        };
        let as_long = |list: &Vec<u64>| list.len() <= 1 || list.len() == members.len();
        match operation {
            Operation::NewCommunicator { .. } => Err(io::Error::other("a communicator that is made later")),
            Operation::Collective {
                counts: Some(counts), ..
            } if !as_long(&counts.sends) || !as_long(&counts.receives) => Err(io::Error::other(format!(
                "a list of counts for other than {} ranks",
                members.len()
            ))),
            _ => Ok(()),
        }
    }

    fn read_block(&mut self, (place, bytes): BlockPlace) -> io::Result<Vec<Operation>> {
        let Some(file) = &mut self.file else {
            return Ok(Vec::new());
        };
        file.seek(SeekFrom::Start(place))?;
        let mut block = Vec::new();
        file.take(bytes).read_to_end(&mut block)?;
        let mut rest = &block[..];
        let mut operations = Vec::new();
        while !rest.is_empty() {
            let (mut operation, after) = postcard::take_from_bytes(rest).map_err(io::Error::other)?;
            self.check(&mut operation)?;
            operations.push(operation);
            rest = after;
        }
        operations.reverse();
        Ok(operations)
    }
}

impl Program for OperationsProgram {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        while self.operations.is_empty() {
            let Some(block) = self.blocks.get(self.next).copied() else {
                return Ok(None);
            };
            self.next += 1;
            let read = self.read_block(block);
            self.operations = read.map_err(|error| self.error(format!("block {}: {error}", self.next)))?;
        }
        Ok(self.operations.pop())
    }
}

/// Summarises a file.
fn info(path: &Path) -> Result<TraceInfo, TraceError> {
    let recorded = RecordedOperations::open(path)?;
    let (ranks, communicators) = (recorded.ranks(), recorded.communicators());
    let mut collectives = CollectiveTotals::default();
    let (mut calls, mut sizes) = (BTreeMap::<String, u64>::new(), BTreeMap::<u64, u64>::new());
    let (mut compute_ps, mut events) = (0_u64, 0);
    for rank in 0..ranks {
        let own: Vec<Option<usize>> = communicators
            .iter()
            .map(|members| members.iter().position(|member| *member == rank))
            .collect();
        let mut program = recorded.rank_program(rank)?;
        while let Some(operation) = program.next()? {
            events += 1;
            match &operation {
                Operation::Compute { ps, .. } => compute_ps = compute_ps.saturating_add(*ps),
                Operation::Send { bytes, .. } => *sizes.entry(*bytes).or_default() += 1,
                Operation::Collective { communicator, .. } => {
                    let place = *communicator as usize;
                    let members = communicators[place].len();
                    collectives.add(&operation, members, own[place].unwrap_or_default() as u64);
                }
                _ => {}
            }
            if let Some(call) = operation.call() {
                *calls.entry(call.name().into()).or_default() += 1;
            }
        }
    }
    Ok(TraceInfo {
        file: path.display().to_string(),
        format: FORMAT.name.into(),
        ranks,
        span_ps: 0,
        mpi: MpiTimes::default(),
        compute_ps,
        compute_share: 0.0,
        events,
        mpi_calls: calls.values().sum(),
        mpi_calls_by_name: calls,
        messages: MessageInfo::from_sizes(&sizes),
        collectives: collectives.into_info(),
        communicators: CommunicatorInfo::by_size(communicators.iter().map(|members| members.len() as u32)),
        bigsim: None,
        notes: vec![
            "operations have no recorded times; the span is 0".into(),
            "calls are those of operations: an MPI_Sendrecv is three".into(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Collective, Counts, Takes};

    fn written(ranks: u32, operations: impl FnOnce(&OperationsWriter)) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("x.operations");
        let writer = OperationsWriter::new(File::create(&path).unwrap(), ranks).unwrap();
        operations(&writer);
        writer.finish().unwrap();
        (folder, path)
    }

    fn send(communicator: u32, request: u64) -> Operation {
        Operation::Send {
            to: 1,
            tag: 7,
            communicator,
            bytes: 100,
            request: Some(request),
            call: Call::Isend,
        }
    }

    fn read(path: &Path, rank: u32) -> Vec<Operation> {
        let workload = crate::trace::open(path).unwrap();
        let mut program = workload.program(rank).unwrap();
        std::iter::from_fn(|| program.next().unwrap()).collect()
    }

    /// Several blocks of each rank, written alternately, and communicators with the numbers of the programs.
    #[test]
    fn operations_are_read_as_they_were_written() {
        let made = |members: &[u32]| Operation::NewCommunicator {
            communicator: 1 << 20,
            members: members.to_vec(),
            call: Call::CommSplit,
        };
        let poll = Operation::Select {
            requests: Vec::new(),
            takes: Takes::All,
            blocks: false,
            call: Call::Test,
        };
        let (_folder, path) = written(3, |writer| {
            writer.add(2, poll.clone()).unwrap();
            for rank in [2, 0] {
                writer.add(rank, made(&[2, 0])).unwrap();
            }
            for number in 0..5_000 {
                writer.add(0, send(1 << 20, number)).unwrap();
                writer.add(2, send(0, number)).unwrap();
            }
        });
        let expected: Vec<Operation> = (0..5_000).map(|number| send(1, number)).collect();
        assert_eq!(read(&path, 0), expected);
        assert_eq!(read(&path, 1), []);
        let of_2: Vec<Operation> = std::iter::once(poll)
            .chain((0..5_000).map(|number| send(0, number)))
            .collect();
        assert_eq!(read(&path, 2), of_2);
        let workload = crate::trace::open(&path).unwrap();
        assert_eq!(*workload.communicators(), [vec![0, 1, 2], vec![2, 0]]);
        assert!(workload.reopens() && !workload.reacts());
        let info = crate::trace::info(&path).unwrap();
        assert_eq!(
            (info.ranks, info.events, info.messages.count),
            (3, 10_001, 10_000)
        );
        assert_eq!(info.mpi_calls_by_name["MPI_Test"], 1);
    }

    #[test]
    fn damaged_files_are_refused() {
        let (folder, path) = written(2, |writer| {
            for rank in 0..2 {
                writer.add(rank, send(0, 1)).unwrap();
                let counts = Some(Box::new(Counts::new(vec![4], vec![4, 8])));
                let collective = Operation::Collective {
                    collective: Collective::Allgather,
                    communicator: 0,
                    root: 0,
                    bytes: 6,
                    counts,
                    request: None,
                    reduction: None,
                    call: Call::Allgatherv,
                };
                writer.add(rank, collective).unwrap();
            }
        });
        let good = std::fs::read(&path).unwrap();
        let changed = folder.path().join("changed.operations");
        let attempt = |bytes: &[u8]| {
            std::fs::write(&changed, bytes).unwrap();
            // Whatever a change makes of it, it is an error or another list.
            let _ = crate::trace::info(&changed);
            crate::trace::open(&changed).err().map(|error| error.to_string())
        };
        for length in MAGIC.len()..good.len() {
            let message = attempt(&good[..length]).unwrap();
            assert!(
                message.contains("is damaged or not complete"),
                "{length}: {message}"
            );
        }
        for place in MAGIC.len()..good.len() {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[place] ^= 1 << bit;
                attempt(&bytes);
            }
        }
        assert_eq!(attempt(&good), None);
        let message = attempt(b"FABRICSIM OPERATIONS 2\n").unwrap();
        assert!(message.contains("is no trace of a known format"), "{message}");
    }
}
