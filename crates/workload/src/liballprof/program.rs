//! The operations of one rank, from its calls.
//!
//! The format records the arguments of a call, not its results: no statuses, no flags of tests, no completed
//! requests. `docs/formats/liballprof.md` documents the consequences.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::communicators::{CommunicatorChange, KnownHandles};
use super::record::{AllprofRecord, LineCursor};
use super::{AllprofArchive, MpiLibrary};
use crate::mpi_calls::{
    ANY, CallReplay, CommunicatorRef, Communicators, Envelope, EnvelopeOf, RecordedCalls, ReplayFailure, Side,
};
use crate::recording_window::{RecordedProgram, RecordingEdges};
use crate::{Call, Collective, Operation, Program, Recording, Reduction, TraceError};

/// `MPI_IN_PLACE` as a buffer, in Open MPI and in MPICH.
const IN_PLACE: [u64; 2] = [1, u64::MAX];

/// Handle before that of `MPI_MAX` in MPICH.
const REDUCTIONS_OF_MPICH: i64 = 0x5800_0000;

/// Handles of Open MPI's Fortran are numbers of a table, those of its C are addresses.
const FIRST_ADDRESS: u128 = 1 << 16;

/// An open request.
#[derive(Clone, Copy, Debug)]
struct AllprofRequest {
    /// Its number; `None` if no operation belongs to it.
    number: Option<u64>,
    /// Whether a call may have found it complete.
    tested: bool,
}

/// The operations of one rank.
pub struct AllprofProgram {
    archive: Arc<AllprofArchive>,
    rank: u32,
    cursor: LineCursor,
    replay: CallReplay,
    /// The first recorded time.
    first: Option<u128>,
    /// End of the last call.
    last: Option<u128>,
    handles: KnownHandles,
    /// The communicator of the current call.
    communicator: CommunicatorRef,
    /// Open requests by their address in the application.
    open: BTreeMap<u64, AllprofRequest>,
    /// Line and name of the call of the last operation.
    pub at: (u64, &'static str),
    /// Counts of unrecorded facts.
    pub unrecorded: Unrecorded,
}

/// Counts of facts that the format does not record.
#[derive(Debug, Default)]
pub struct Unrecorded {
    /// Receives from any source or with any tag.
    pub wildcards: u64,
    /// Tested requests, summed over calls.
    pub tests: u64,
    /// Requests that were waited for without a recorded start.
    pub not_made: u64,
    /// Requests that were never waited for.
    pub left: u64,
    /// Calls that start before the last call has ended.
    pub backwards: u64,
}

impl Program for AllprofProgram {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        self.next_operation()
    }

    fn recording(&self) -> Option<&Recording> {
        Some(&self.replay.recording)
    }
}

impl RecordedProgram for AllprofProgram {
    fn is_inside(&self) -> bool {
        self.replay.was_inside
    }

    fn is_past(&self) -> bool {
        self.replay.is_past()
    }

    fn calls(&self) -> (u64, u64) {
        self.replay.calls()
    }
}

impl RecordedCalls for AllprofProgram {
    type Record = AllprofRecord;

    fn replay(&mut self) -> &mut CallReplay {
        &mut self.replay
    }

    fn communicators(&self) -> &Communicators {
        &self.archive.communicators
    }

    fn read(&mut self) -> Result<bool, TraceError> {
        let Some(record) = self.cursor.next()? else {
            self.replay.end();
            self.unrecorded.wildcards = self.replay.wildcards;
            self.unrecorded.left = self.open.values().filter(|o| o.number.is_some()).count() as u64;
            return Ok(false);
        };
        self.at = (record.line, record.function.name);
        let replayed = self.replay_record(&record);
        let at = |message| self.cursor.file().error(format!("{}: {message}", record.place()));
        replayed.map_err(|failure| failure.into_error(at))?;
        Ok(true)
    }

    fn name(record: &AllprofRecord) -> &'static str {
        record.function.name
    }

    fn communicator(&self, _record: &AllprofRecord) -> Result<CommunicatorRef, String> {
        Ok(self.communicator)
    }

    fn envelope(&self, r: &AllprofRecord, of: EnvelopeOf) -> Result<Option<Envelope>, String> {
        // Positions of count, datatype, peer and tag.
        let [count, datatype, peer, tag] = match (r.function.name, of) {
            ("MPI_Iprobe", _) => return Ok(None),
            (_, EnvelopeOf::Probe) => [0, 0, 0, 1],
            ("MPI_Sendrecv", EnvelopeOf::Receive) => [3, 1, 4, 5],
            ("MPI_Sendrecv_replace", EnvelopeOf::Receive) => [0, 0, 3, 4],
            _ => [0, 0, 1, 2],
        };
        let library = self.archive.library;
        let peer = match r.number(peer) {
            peer if peer == library.no_process() => return Ok(None),
            peer if peer == library.any_source() => ANY,
            peer => peer,
        };
        Ok(Some(Envelope {
            communicator: self.communicator,
            peer,
            tag: r.number(tag),
            bytes: bytes(r.number(count), r.size(datatype)),
        }))
    }

    fn request_key(&self, record: &AllprofRecord) -> u64 {
        record.last_address()
    }

    fn started_keys(&self, record: &AllprofRecord) -> Result<Vec<u64>, String> {
        let among = self.request_array(record)?;
        let keys: Vec<u64> = self
            .replay
            .persistent_in(among.range())
            .filter(|key| among.contains(*key))
            .collect();
        if keys.len() as u64 != among.count {
            return Err(format!(
                "starts {} requests, but recorded calls have made {} of them",
                among.count,
                keys.len()
            ));
        }
        Ok(keys)
    }

    fn open_request(&mut self, key: u64, number: Option<u64>) {
        let tested = false;
        let before = self.open.insert(key, AllprofRequest { number, tested });
        // The previous request of this address was complete if it was tested.
        if let Some(before) = before.filter(|before| before.tested) {
            let requests = before.number.into_iter().collect();
            self.replay.push_wait(requests, Call::Test);
        }
    }

    fn forget_request(&mut self, key: u64) {
        self.open.remove(&key);
    }

    fn complete_requests(&mut self, record: &AllprofRecord, call: Call) -> Result<(), String> {
        let among = self.request_array(record)?;
        let inside = self.open.range(among.range()).map(|(key, _)| *key);
        let open: Vec<u64> = inside.filter(|key| among.contains(*key)).collect();
        if matches!(call, Call::Waitany | Call::Waitsome) && open.len() > 1 {
            return Err(format!(
                "waits for any of {} open requests, and the format does not record which completed",
                open.len()
            ));
        }
        if (Call::Test..=Call::Testsome).contains(&call) {
            self.unrecorded.tests += open.len() as u64;
            for key in open {
                self.open.entry(key).and_modify(|request| request.tested = true);
            }
            self.replay.push_wait(Vec::new(), call);
            return Ok(());
        }
        let inactive = self
            .replay
            .persistent_in(among.range())
            .filter(|key| among.contains(*key) && !self.open.contains_key(key))
            .count();
        let absent = among.count.saturating_sub((open.len() + inactive) as u64);
        self.unrecorded.not_made = self.unrecorded.not_made.saturating_add(absent);
        let closed = open.iter().filter_map(|key| self.open.remove(key));
        let requests = closed.filter_map(|request| request.number).collect();
        self.replay.push_wait(requests, call);
        Ok(())
    }

    fn change_communicators(&mut self, r: &AllprofRecord, parent: CommunicatorRef) {
        let Some(change) = CommunicatorChange::of(r) else {
            return;
        };
        let created = match (&change, parent) {
            (
                CommunicatorChange::Split { .. } | CommunicatorChange::Dup { .. },
                CommunicatorRef::SelfOnly(_),
            ) => return,
            (CommunicatorChange::Split { .. }, _) => self.replay.next_created(&self.archive.communicators),
            (CommunicatorChange::Dup { .. }, parent) => Some(parent),
            _ => None,
        };
        self.handles
            .change(&change, created.map(CommunicatorRef::index), &r.place());
    }

    fn root(&self, r: &AllprofRecord, collective: Collective) -> i64 {
        match collective {
            Collective::Bcast | Collective::Reduce => r.number(1),
            Collective::Gather | Collective::Scatter => r.number(r.numbers() - 1),
            _ => 0,
        }
    }

    fn buffer_bytes(&self, r: &AllprofRecord, side: Side) -> Result<u64, String> {
        let [count, datatype] = match (Call::from_name(r.function.name), side) {
            (_, Side::Send) => [0, 0],
            (Some(Call::Scatterv | Call::Iscatterv), Side::Receive) => [0, 1],
            (_, Side::Receive) => [1, 1],
        };
        bytes(r.number(count), r.size(datatype))
    }

    fn bytes_by_rank(&self, r: &AllprofRecord, side: Side) -> Result<Vec<u64>, String> {
        let [array, datatype] = match (Call::from_name(r.function.name), side) {
            (Some(Call::ReduceScatter | Call::IreduceScatter), _) | (_, Side::Send) => [0, 0],
            (Some(Call::Alltoallv | Call::Ialltoallv), Side::Receive) => [2, 1],
            (_, Side::Receive) => [0, 1],
        };
        let counts = r.array(array).ok_or(
            "the counts of the ranks are not in the trace; this writer of the format records only where they lie",
        )?;
        counts
            .iter()
            .map(|count| bytes(*count, r.size(datatype)))
            .collect()
    }

    /// Fortran has an address of its own for `MPI_IN_PLACE`, which the trace does not tell.
    fn in_place(&self, record: &AllprofRecord) -> Option<bool> {
        let buffer = record.buffer?;
        match IN_PLACE.contains(&buffer) {
            true => Some(true),
            false => self.is_called_from_c(record).then_some(false),
        }
    }

    fn reduction(&self, record: &AllprofRecord) -> Option<Reduction> {
        let handle = record.reduction?;
        match self.archive.library {
            // `MPI_MAX` and so on of MPICH's `mpi.h`.
            MpiLibrary::Mpich => Reduction::numbered(handle.saturating_sub(REDUCTIONS_OF_MPICH)),
            // Addresses, which may differ between ranks.
            MpiLibrary::OpenMpi if self.is_called_from_c(record) => None,
            // The numbers of Open MPI's `mpif-constants.h`.
            MpiLibrary::OpenMpi => match handle {
                11 => Some(Reduction::Maxloc),
                12 => Some(Reduction::Minloc),
                number => Reduction::numbered(number),
            },
        }
    }
}

impl AllprofProgram {
    /// The operations of a rank from its first call.
    pub fn new(archive: Arc<AllprofArchive>, rank: u32, edges: RecordingEdges) -> AllprofProgram {
        AllprofProgram {
            rank,
            cursor: LineCursor::new(archive.files[rank as usize].clone()),
            archive,
            replay: CallReplay::new(rank, edges),
            first: None,
            last: None,
            handles: KnownHandles::default(),
            communicator: CommunicatorRef::Group(0),
            open: BTreeMap::new(),
            at: (0, ""),
            unrecorded: Unrecorded::default(),
        }
    }

    /// Whether the call certainly is one of C. Handles of MPICH are the same in C and Fortran.
    fn is_called_from_c(&self, record: &AllprofRecord) -> bool {
        let is_address = record
            .comm
            .is_some_and(|comm| comm.handle.unsigned_abs() >= FIRST_ADDRESS);
        self.archive.library == MpiLibrary::OpenMpi && is_address
    }

    fn replay_record(&mut self, r: &AllprofRecord) -> Result<(), ReplayFailure> {
        let (start_ps, end_ps) = self.add_computation(r)?;
        self.replay.begin_call(r.function.name, start_ps);
        self.communicator = match r.comm {
            Some(comm) => self.handles.resolve(comm, self.rank, self.archive.groups())?,
            None => CommunicatorRef::SelfOnly(self.archive.communicators.groups as u32),
        };
        match r.function.name {
            "MPI_Finalize" => self.finish(),
            _ => self.replay_call(r)?,
        }
        self.replay.end_call(r.function.name, end_ps);
        Ok(())
    }

    /// Adds the time since the last call as computation. Returns start and end of the call, in picoseconds after the
    /// first recorded time.
    fn add_computation(&mut self, record: &AllprofRecord) -> Result<(u64, u64), String> {
        let before = self.last;
        self.first = self.first.or(record.start).or(record.end);
        let first = self.first.unwrap_or_default();
        let since = |time: u128| u64::try_from(time.saturating_sub(first)).unwrap_or(u64::MAX);
        self.last = record.end.or(record.start).or(before);
        let end_ps = self.last.map_or(0, since);
        let start_ps = record.start.or(before).map_or(end_ps, since);
        if let (Some(last), Some(start)) = (before, record.start) {
            self.unrecorded.backwards += u64::from(start < last);
            let ps = u64::try_from(start.saturating_sub(last)).map_err(|_| {
                "begins more than 200 days after the call before; the file is damaged".to_string()
            })?;
            self.replay.compute(ps, (since(last), start_ps));
        }
        for time in [record.start, record.end].into_iter().flatten() {
            self.replay.recording.event(since(time));
        }
        Ok((start_ps, end_ps))
    }

    /// The requests of a call.
    fn request_array(&self, record: &AllprofRecord) -> Result<RequestArray, String> {
        let count = match Call::from_name(record.function.name) {
            Some(Call::Wait | Call::Test) => 1,
            _ => record.number(0),
        };
        Ok(RequestArray {
            address: record.address(0),
            count: u64::try_from(count).map_err(|_| format!("a count of {count}"))?,
            stride: self.archive.strides[self.rank as usize],
        })
    }

    /// Waits for tested requests at the end of the program.
    fn finish(&mut self) {
        let tested = self.open.values().filter(|request| request.tested);
        let requests: Vec<u64> = tested.filter_map(|request| request.number).collect();
        self.open.retain(|_, request| !request.tested);
        if requests.is_empty() {
            self.replay.push_computed();
        } else {
            self.replay.push_wait(requests, Call::Test);
        }
    }
}

/// An array of requests in the application's memory.
struct RequestArray {
    address: u64,
    count: u64,
    stride: u64,
}

impl RequestArray {
    /// The addresses that it spans.
    fn range(&self) -> Range<u64> {
        let end = self
            .address
            .saturating_add(self.count.saturating_mul(self.stride));
        self.address..end.max(self.address)
    }

    /// Whether a request lies at an address of the range.
    fn contains(&self, address: u64) -> bool {
        (address - self.address).is_multiple_of(self.stride)
    }
}

/// Bytes of `count` elements of `size` bytes.
fn bytes(count: i64, size: i64) -> Result<u64, String> {
    let product = u64::try_from(count).ok().zip(u64::try_from(size).ok());
    product
        .and_then(|(count, size)| count.checked_mul(size))
        .ok_or_else(|| format!("{count} elements of {size} bytes"))
}
