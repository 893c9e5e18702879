//! The operations of one rank, from its calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::calls::ALL_FUNCTIONS;
use super::communicators::{NULL, SELF, WORLD, parent_and_child, unknown_communicator};
use super::datatypes::Datatypes;
use super::look_ahead::{LookAhead, NULL_REQUEST, ReceiveFate, ReceiveFilter, completions};
use super::record::{DumpiRecord, Interval, RecordCursor, Status};
use super::{DumpiArchive, RecordedClock};
use crate::mpi_calls::{
    AGREE_ON_CONTEXT, ANY, CallReplay, CommunicatorRef, Communicators, EXCHANGE_RMA_WINDOWS, Envelope,
    EnvelopeOf, RecordedCalls, ReplayFailure, Side,
};
use crate::recording::LeftOut;
use crate::recording_window::{RecordedProgram, RecordingEdges};
use crate::{Call, Collective, Operation, Program, Recording, Reduction, TraceError};

/// Requests by handle.
///
/// Open MPI gives several requests that are complete at once the same handle, so a handle can be open more than
/// once.
#[derive(Default)]
struct OpenRequests {
    /// The numbers of open requests; `None` if no operation belongs to one.
    numbers: BTreeMap<u64, Vec<Option<u64>>>,
    /// Whether there are requests whose start is not recorded, as those of files.
    unrecorded: bool,
}

impl OpenRequests {
    /// Ends a request and gives its number. An inactive persistent request completes at once.
    fn complete(&mut self, handle: i64, is_persistent: bool) -> Result<Option<u64>, String> {
        if handle == NULL_REQUEST {
            return Ok(None);
        }
        if let Some(open) = self.numbers.get_mut(&(handle as u64)) {
            let number = open.pop().flatten();
            if open.is_empty() {
                self.numbers.remove(&(handle as u64));
            }
            return Ok(number);
        }
        if is_persistent || self.unrecorded {
            return Ok(None);
        }
        Err(format!(
            "request {handle} completes, but no recorded call starts it (the format has no calls of MPI-3)"
        ))
    }
}

/// The operations of one rank.
pub struct DumpiProgram {
    archive: Arc<DumpiArchive>,
    cursor: RecordCursor,
    record: DumpiRecord,
    replay: CallReplay,
    /// Times of the last call, of the CPU and the wall clock.
    last: Option<(Option<Interval>, Option<Interval>)>,
    /// Start of the last call after that of the first one, in nanoseconds.
    started_ns: i64,
    /// End of the last call, in picoseconds after the start of the first one.
    ended_ps: u64,
    datatypes: Datatypes,
    communicators: BTreeMap<u16, CommunicatorRef>,
    windows: BTreeMap<u16, CommunicatorRef>,
    requests: OpenRequests,
    look_ahead: Option<LookAhead>,
    /// Number of receives that [`LookAhead`] has followed.
    followed: u64,
    filter: ReceiveFilter,
    completed: Vec<(i64, Option<Status>)>,
    /// Receives that were left out because they never complete or were cancelled.
    pub dropped: u64,
}

impl Program for DumpiProgram {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        self.next_operation()
    }

    fn recording(&self) -> Option<&Recording> {
        Some(&self.replay.recording)
    }
}

impl RecordedProgram for DumpiProgram {
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

impl RecordedCalls for DumpiProgram {
    type Record = DumpiRecord;

    fn replay(&mut self) -> &mut CallReplay {
        &mut self.replay
    }

    fn communicators(&self) -> &Communicators {
        &self.archive.communicators
    }

    fn read(&mut self) -> Result<bool, TraceError> {
        let mut record = std::mem::take(&mut self.record);
        if !self.cursor.next(&mut record)? {
            self.replay.end();
            return Ok(false);
        }
        let replayed = self.replay_record(&record);
        replayed.map_err(|failure| failure.into_error(|message| self.cursor.error(&record, message)))?;
        self.record = record;
        Ok(true)
    }

    fn name(record: &DumpiRecord) -> &'static str {
        record.name()
    }

    fn communicator(&self, r: &DumpiRecord) -> Result<CommunicatorRef, String> {
        self.communicator_of(match r.name() {
            "MPI_Gatherv" => r.handle(5),
            "MPI_Gather" | "MPI_Scatter" => r.handle(4),
            "MPI_Scatterv" => r.handle(6),
            _ => parent_and_child(r).map_or_else(|| r.last_handle(), |(parent, _)| parent),
        })
    }

    fn envelope(&self, r: &DumpiRecord, of: EnvelopeOf) -> Result<Option<Envelope>, String> {
        let status = r.statuses.first();
        // Positions of count, datatype, peer, tag and communicator.
        let [count, datatype, peer, tag, communicator] = match (r.name(), of) {
            (_, EnvelopeOf::Probe) => return self.probe_envelope(r),
            ("MPI_Sendrecv", EnvelopeOf::Send) => [0, 1, 2, 3, 8],
            ("MPI_Sendrecv", _) => [4, 5, 6, 7, 8],
            ("MPI_Sendrecv_replace", EnvelopeOf::Send) => [0, 1, 2, 3, 6],
            ("MPI_Sendrecv_replace", _) => [0, 1, 4, 5, 6],
            _ => [0, 1, 2, 3, 4],
        };
        let (mut peer, mut tag) = (r.number(peer), r.number(tag));
        let mut bytes = self.datatypes.bytes(r.number(count), r.handle(datatype));
        let mut lowest = 0;
        if of == EnvelopeOf::Receive {
            lowest = ANY;
            if let Some(status) = status {
                // MPI_ANY_SOURCE of the format is MPI_PROC_NULL of some libraries.
                if peer == ANY {
                    peer = status.source.into();
                }
                if tag == ANY {
                    tag = status.tag.filter(|tag| *tag >= 0).map_or(ANY, i64::from);
                }
                bytes = bytes.or_else(|unknown| u64::try_from(status.bytes).map_err(|_| unknown));
            }
        }
        if peer < lowest {
            return Ok(None);
        }
        Ok(Some(Envelope {
            communicator: self.communicator_of(r.handle(communicator))?,
            peer,
            tag,
            bytes,
        }))
    }

    fn complete_envelope(
        &mut self,
        record: &DumpiRecord,
        mut envelope: Envelope,
    ) -> Result<Option<Envelope>, TraceError> {
        if !self.filter.follows(envelope.peer, envelope.tag) {
            return Ok(Some(envelope));
        }
        let followed = self.followed;
        let fate = self.look_ahead(record).fate(followed)?;
        self.followed += 1;
        match fate {
            ReceiveFate::Received { source, tag } => {
                if envelope.peer == ANY {
                    envelope.peer = source;
                }
                if envelope.tag == ANY {
                    envelope.tag = tag.unwrap_or(ANY);
                }
            }
            ReceiveFate::Unknown => {}
            ReceiveFate::Never => {
                self.dropped += 1;
                return Ok(None);
            }
        }
        Ok(Some(envelope))
    }

    fn request_key(&self, record: &DumpiRecord) -> u64 {
        record.last_number() as u64
    }

    fn started_keys(&self, record: &DumpiRecord) -> Result<Vec<u64>, String> {
        Ok(record.array(0).iter().map(|handle| *handle as u64).collect())
    }

    fn open_request(&mut self, key: u64, number: Option<u64>) {
        self.requests.numbers.entry(key).or_default().push(number);
    }

    fn forget_request(&mut self, key: u64) {
        self.requests.numbers.remove(&key);
    }

    fn complete_requests(&mut self, record: &DumpiRecord, call: Call) -> Result<(), String> {
        completions(record, &mut self.completed)?;
        let mut requests = Vec::new();
        for (handle, _) in &self.completed {
            let is_persistent = self.replay.is_persistent(*handle as u64);
            requests.extend(self.requests.complete(*handle, is_persistent)?);
        }
        self.replay.push_wait(requests, call);
        Ok(())
    }

    fn change_communicators(&mut self, record: &DumpiRecord, _parent: CommunicatorRef) {
        let Some((_, child)) = parent_and_child(record) else {
            self.communicators.remove(&record.handle(0));
            return;
        };
        let created = self.replay.next_created(&self.archive.communicators);
        if let Some(communicator) = created.filter(|_| child != NULL) {
            self.communicators.insert(child, communicator);
        }
    }

    fn root(&self, r: &DumpiRecord, _collective: Collective) -> i64 {
        match r.name() {
            "MPI_Bcast" => r.number(2),
            "MPI_Reduce" | "MPI_Gather" | "MPI_Scatter" => r.number(3),
            "MPI_Gatherv" => r.number(4),
            "MPI_Scatterv" => r.number(5),
            _ => 0,
        }
    }

    fn buffer_bytes(&self, r: &DumpiRecord, side: Side) -> Result<u64, String> {
        // Positions of count and datatype. Arguments of the root come last.
        let [count, datatype] = match (r.name(), side) {
            ("MPI_Gather", Side::Receive) | ("MPI_Scatter", Side::Send) => [5, 6],
            ("MPI_Gather", Side::Send) | ("MPI_Scatter", Side::Receive) => [1, 2],
            ("MPI_Gatherv", _) => [2, 3],
            ("MPI_Scatterv", _) => [3, 4],
            (_, Side::Receive) => [2, 3],
            (_, Side::Send) => [0, 1],
        };
        self.datatypes.bytes(r.number(count), r.handle(datatype))
    }

    fn bytes_by_rank(&self, r: &DumpiRecord, side: Side) -> Result<Vec<u64>, String> {
        let (counts, datatype) = match (r.name(), side) {
            ("MPI_Alltoallw", _) => {
                let first = if side == Side::Send { 0 } else { 3 };
                let (counts, types) = (r.array(first), r.array(first + 2));
                let pairs = counts.iter().zip(types);
                // A count without a type is an error.
                let types_missing =
                    (counts.len() > types.len()).then(|| Err("a count without a type".into()));
                return pairs
                    .map(|(count, handle)| self.datatypes.bytes(*count, *handle as u16))
                    .chain(types_missing)
                    .collect();
            }
            ("MPI_Alltoallv", Side::Receive) => (r.array(2), r.handle(2)),
            ("MPI_Gatherv", _) => (r.array(0), r.last_handle()),
            ("MPI_Scatterv", _) => (r.array(0), r.handle(2)),
            ("MPI_Allgatherv", _) => (r.array(0), r.handle(3)),
            _ => (r.array(0), r.handle(1)),
        };
        let bytes = |count: &i64| self.datatypes.bytes(*count, datatype);
        counts.iter().map(bytes).collect()
    }

    /// `MPI_IN_PLACE` is not recorded. Only the missing list of an `MPI_Alltoallv` shows it.
    fn in_place(&self, record: &DumpiRecord) -> Option<bool> {
        let is_list_missing =
            matches!(record.name(), "MPI_Alltoallv" | "MPI_Alltoallw") && record.array(0).is_empty();
        is_list_missing.then_some(true)
    }

    /// The constants are those of `dumpi/common/constants.h`. Higher numbers are operations of the application.
    fn reduction(&self, record: &DumpiRecord) -> Option<Reduction> {
        match record.name() {
            "MPI_Reduce" | "MPI_Allreduce" | "MPI_Scan" | "MPI_Exscan" | "MPI_Reduce_scatter" => {
                Reduction::numbered(record.number(2))
            }
            _ => None,
        }
    }
}

impl DumpiProgram {
    /// The operations of a rank from its first call on.
    pub fn new(archive: Arc<DumpiArchive>, rank: u32, edges: RecordingEdges) -> DumpiProgram {
        let file = archive.files[rank as usize].clone();
        let scan = &archive.ranks[rank as usize];
        let own = CommunicatorRef::SelfOnly(archive.communicators.groups as u32);
        DumpiProgram {
            record: DumpiRecord::default(),
            replay: CallReplay::new(rank, edges),
            last: None,
            started_ns: 0,
            ended_ps: 0,
            datatypes: Datatypes::new(&file.sizes, &scan.sizes),
            communicators: BTreeMap::from([(WORLD, CommunicatorRef::Group(0)), (SELF, own)]),
            windows: BTreeMap::new(),
            requests: OpenRequests::default(),
            look_ahead: None,
            followed: 0,
            filter: ReceiveFilter { all: scan.cancels },
            completed: Vec::new(),
            dropped: 0,
            cursor: RecordCursor::new(file),
            archive,
        }
    }

    /// Number of open requests.
    pub fn open_requests(&self) -> usize {
        self.requests.numbers.values().flatten().flatten().count()
    }

    /// Receives from any source or with any tag whose status was not recorded.
    pub fn wildcards(&self) -> u64 {
        self.replay.wildcards
    }

    fn replay_record(&mut self, r: &DumpiRecord) -> Result<(), ReplayFailure> {
        if r.function > ALL_FUNCTIONS {
            // The application's own functions.
            return Ok(());
        }
        let (start_ps, end_ps) = self.add_computation(r);
        self.replay.begin_call(r.name(), start_ps);
        self.replay_call_of(r)?;
        self.replay.end_call(r.name(), end_ps);
        Ok(())
    }

    fn replay_call_of(&mut self, r: &DumpiRecord) -> Result<(), ReplayFailure> {
        self.datatypes.note(r);
        let queued = self.replay.queued();
        match r.name() {
            "MPI_Grequest_start" => self.open_request(r.number(0) as u64, None),
            name if name.starts_with("MPI_File_i") => self.requests.unrecorded = true,
            name if name.starts_with("MPI_Win_") => self.window(r)?,
            "MPI_Put" => return Ok(self.one_sided(r, Call::Put)?),
            "MPI_Get" => return Ok(self.one_sided(r, Call::Get)?),
            "MPI_Accumulate" => return Ok(self.one_sided(r, Call::Accumulate)?),
            name => {
                if name == "MPI_Recv_init" && self.filter.follows(r.number(2), r.number(3)) {
                    self.look_ahead(r);
                }
                self.replay_call(r)?;
            }
        }
        self.note_left_out(r, queued);
        Ok(())
    }

    /// Adds the time since the last call as computation. Returns start and end of the call, in picoseconds after the
    /// first one.
    fn add_computation(&mut self, record: &DumpiRecord) -> (u64, u64) {
        let now = (record.cpu, record.wall);
        let before_ps = self.ended_ps;
        let (start_ps, end_ps) = self.times(record);
        if let Some((cpu, wall)) = self.last {
            let gap = |from: Option<Interval>, to: Option<Interval>| Some(to?.start.since(from?.stop));
            let nanoseconds = match self.archive.clock {
                RecordedClock::Any => gap(cpu, record.cpu).or_else(|| gap(wall, record.wall)),
                RecordedClock::Cpu => gap(cpu, record.cpu),
                RecordedClock::Wall => gap(wall, record.wall),
            };
            // Calls of several threads overlap.
            let nanoseconds = u64::try_from(nanoseconds.unwrap_or(0)).unwrap_or(0);
            let ps = nanoseconds.saturating_mul(1000);
            self.replay.compute(ps, (before_ps, start_ps));
            // The clock of the computation may be another one than that of the recording's time.
            self.replay.recording.gap(ps);
        }
        for time in [start_ps, end_ps] {
            self.replay.recording.event(time);
        }
        self.last = Some(now);
        self.ended_ps = end_ps;
        (start_ps, end_ps)
    }

    /// Start and end of a call, in picoseconds after the first one, on the wall clock if it is recorded. Clocks wrap,
    /// so that spans are sums. A call without times is where the last one ends.
    fn times(&mut self, record: &DumpiRecord) -> (u64, u64) {
        let of = |(cpu, wall): (Option<Interval>, Option<Interval>)| wall.or(cpu);
        let Some(now) = of((record.cpu, record.wall)) else {
            return (self.ended_ps, self.ended_ps);
        };
        if let Some(last) = self.last.and_then(of) {
            self.started_ns = self.started_ns.saturating_add(now.start.since(last.start));
        }
        let at = |nanoseconds: i64| {
            let since = u64::try_from(self.started_ns.saturating_add(nanoseconds)).unwrap_or(0);
            since.saturating_mul(1000)
        };
        (at(0), at(now.stop.since(now.start)))
    }

    /// Notes a call that is not replayed. `queued` operations were in the queue before it.
    fn note_left_out(&mut self, record: &DumpiRecord, queued: usize) {
        let made_operations = self.replay.queued() > queued;
        if LeftOut::of(record.name()).applies(made_operations) {
            let interval = record.wall.or(record.cpu);
            let nanoseconds = interval.map_or(0, |interval| interval.stop.since(interval.start));
            let ps = u64::try_from(nanoseconds).unwrap_or(0).saturating_mul(1000);
            self.replay.leave_out(record.name(), ps);
        }
    }

    fn communicator_of(&self, handle: u16) -> Result<CommunicatorRef, String> {
        let known = self.communicators.get(&handle).copied();
        known.ok_or_else(|| unknown_communicator(handle))
    }

    /// The look-ahead cursor, which is created at this record.
    fn look_ahead(&mut self, record: &DumpiRecord) -> &mut LookAhead {
        let begin = || {
            let file = self.cursor.file().clone();
            LookAhead::new(RecordCursor::at(file, record.offset), self.filter)
        };
        self.look_ahead.get_or_insert_with(begin)
    }

    fn probe_envelope(&self, r: &DumpiRecord) -> Result<Option<Envelope>, String> {
        if r.name() == "MPI_Iprobe" && r.number(3) == 0 {
            return Ok(None);
        }
        let status = r.statuses.first();
        let known = |value: i64, recorded: Option<i64>| match value {
            ANY => recorded.filter(|recorded| *recorded >= 0).unwrap_or(ANY),
            value => value,
        };
        let peer = known(r.number(0), status.map(|status| status.source.into()));
        if peer < ANY {
            return Ok(None);
        }
        let tag = status.and_then(|status| status.tag);
        Ok(Some(Envelope {
            communicator: self.communicator_of(r.handle(2))?,
            peer,
            tag: known(r.number(1), tag.map(i64::from)),
            bytes: Ok(0),
        }))
    }

    fn window(&mut self, record: &DumpiRecord) -> Result<(), String> {
        let r = record;
        match r.name() {
            "MPI_Win_create" => {
                let communicator = self.communicator_of(r.handle(3))?;
                self.windows.insert(r.handle(4), communicator);
                let steps = [AGREE_ON_CONTEXT, EXCHANGE_RMA_WINDOWS];
                self.replay.push_internal(communicator, &steps, Call::WinCreate);
            }
            "MPI_Win_fence" => {
                if let CommunicatorRef::Group(communicator) = self.window_communicator(r.handle(1))? {
                    let call = Call::WinFence;
                    self.replay.push(Operation::Fence { communicator, call });
                }
            }
            "MPI_Win_free" => {
                let communicator = self.window_communicator(r.handle(0))?;
                self.windows.remove(&r.handle(0));
                self.replay
                    .push_internal(communicator, &[(Collective::Barrier, 0)], Call::WinFree);
            }
            "MPI_Win_lock" | "MPI_Win_unlock" | "MPI_Win_post" | "MPI_Win_start" | "MPI_Win_complete"
            | "MPI_Win_wait" | "MPI_Win_test" => {
                return Err("one-sided communication other than between fences is not supported".into());
            }
            _ => {}
        }
        Ok(())
    }

    fn window_communicator(&self, window: u16) -> Result<CommunicatorRef, String> {
        let known = self.windows.get(&window).copied();
        known.ok_or_else(|| {
            format!("window {window} is used, but no recorded call makes it, or it has been freed")
        })
    }

    fn one_sided(&mut self, record: &DumpiRecord, call: Call) -> Result<(), String> {
        let CommunicatorRef::Group(communicator) = self.window_communicator(record.last_handle())? else {
            // A transfer into the rank's own memory.
            return Ok(());
        };
        let target = record.number(2);
        if target < 0 {
            return Ok(());
        }
        let window = CommunicatorRef::Group(communicator);
        let (_, rank) = self.peer("memory of rank", window, target)?;
        let bytes = self.datatypes.bytes(record.number(0), record.handle(1));
        let bytes = bytes.or_else(|_| self.datatypes.bytes(record.number(4), record.handle(5)))?;
        self.replay.push(match call {
            Call::Get => Operation::Get {
                from: rank,
                communicator,
                bytes,
                call,
            },
            _ => Operation::Put {
                to: rank,
                communicator,
                bytes,
                call,
            },
        });
        Ok(())
    }
}
