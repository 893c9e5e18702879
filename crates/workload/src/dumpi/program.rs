//! From the calls of one rank to its operations.
//!
//! Time between calls is computation; time inside them is left to the simulator.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ahead::{ANY, Ahead, Fate, Filter, NULL_REQUEST, completions};
use super::calls::ALL_FUNCTIONS;
use super::communicators::{self, NULL, Place, SELF, WORLD};
use super::datatypes::Datatypes;
use super::record::{Cursor, Interval, Record, Status};
use super::{Archive, Clock};
use crate::by_call::{self, ByCall, Pending};
use crate::{Call, Collective, Counts, Operation, Program, TraceError};

/// Bytes of the mask of free context ids that MPICH's ranks agree on when a communicator is made: 64 words of
/// 32 bits (`MPIR_MAX_CONTEXT_MASK` in `src/mpi/comm/contextid.c`).
pub const CONTEXT_MASK: u64 = 256;
/// Colour and key, which all ranks of an `MPI_Comm_split` tell each other (`src/mpi/comm/comm_split.c`).
pub const COLOR_AND_KEY: u64 = 8;
/// Base, size, displacement unit and handle of a window, which all ranks tell each other: four addresses.
pub const WINDOW: u64 = 32;

/// A persistent request that can be started.
#[derive(Clone, Copy, Debug)]
enum Template {
    Send(Envelope, Call),
    Receive(Envelope),
}

/// The arguments that all sends and receives have.
#[derive(Clone, Copy, Debug)]
struct Envelope {
    count: i64,
    datatype: u16,
    peer: i64,
    tag: i64,
    communicator: u16,
}

impl Envelope {
    /// Arguments in the usual order, from the n-th number on.
    fn of(record: &Record) -> Envelope {
        Envelope {
            count: record.number(0),
            datatype: record.handle(1),
            peer: record.number(2),
            tag: record.number(3),
            communicator: record.handle(4),
        }
    }
}

/// Requests by handle.
///
/// A library may give the same handle to several requests that were complete at once (Open MPI does), so a
/// handle can be open more than once.
#[derive(Default)]
struct Requests {
    /// The numbers of those that are open; none where there is nothing to wait for.
    open: BTreeMap<i64, Vec<Option<u64>>>,
    persistent: BTreeMap<i64, Template>,
    next: u64,
    /// Whether there are requests that the format gives no start of: of files, say.
    foreign: bool,
}

impl Requests {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn open(&mut self, handle: i64, number: Option<u64>) {
        self.open.entry(handle).or_default().push(number);
    }

    /// Ends an open request, and gives its number.
    fn complete(&mut self, handle: i64) -> Result<Option<u64>, String> {
        if handle == NULL_REQUEST {
            return Ok(None);
        }
        if let Some(open) = self.open.get_mut(&handle) {
            let number = open.pop().flatten();
            if open.is_empty() {
                self.open.remove(&handle);
            }
            return Ok(number);
        }
        // One that is not active completes at once.
        if self.persistent.contains_key(&handle) || self.foreign {
            return Ok(None);
        }
        Err(format!(
            "request {handle} completes, but no recorded call starts it (the format has no calls of MPI-3)"
        ))
    }

    fn free(&mut self, handle: i64) {
        self.open.remove(&handle);
        self.persistent.remove(&handle);
    }
}

/// The operations of one rank.
pub struct RankProgram {
    archive: Arc<Archive>,
    rank: u32,
    cursor: Cursor,
    record: Record,
    pending: Pending,
    /// When the last call returned.
    last: Option<(Option<Interval>, Option<Interval>)>,
    datatypes: Datatypes,
    communicators: BTreeMap<u16, Place>,
    /// Calls that made communicators so far.
    made: usize,
    windows: BTreeMap<u16, Place>,
    requests: Requests,
    ahead: Option<Ahead>,
    /// Receives so far that [`Ahead`] follows.
    followed: u64,
    filter: Filter,
    scratch: Vec<(i64, Option<Status>)>,
    /// Receives that were left out: never complete, or cancelled.
    pub dropped: u64,
    /// Receives from any source or with any tag whose status was not recorded.
    pub wild: u64,
}

impl Program for RankProgram {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        by_call::next(self)
    }
}

impl ByCall for RankProgram {
    fn pending(&mut self) -> &mut Pending {
        &mut self.pending
    }

    fn read(&mut self) -> Result<bool, TraceError> {
        let mut record = std::mem::take(&mut self.record);
        if !self.cursor.next(&mut record)? {
            self.pending.push_computed();
            return Ok(false);
        }
        self.take(&record).map_err(|failure| match failure {
            Failure::Source(error) => error,
            Failure::Meaning(message) => {
                let (name, offset) = (record.name(), record.offset);
                let file = &self.archive.files[self.rank as usize];
                file.error(format!("{name} at byte {offset}: {message}"))
            }
        })?;
        self.record = record;
        Ok(true)
    }
}

/// Why there is no next operation.
enum Failure {
    Source(TraceError),
    Meaning(String),
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::Meaning(message)
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Failure {
        Failure::Source(error)
    }
}

impl RankProgram {
    /// The operations of a rank from its first call on.
    pub fn new(archive: Arc<Archive>, rank: u32) -> RankProgram {
        let file = archive.files[rank as usize].clone();
        let facts = &archive.ranks[rank as usize];
        let own = Place::Own(archive.communicators.groups as u32);
        RankProgram {
            rank,
            record: Record::default(),
            pending: Pending::default(),
            last: None,
            datatypes: Datatypes::new(&file.sizes, &facts.sizes),
            communicators: BTreeMap::from([(WORLD, Place::Group(0)), (SELF, own)]),
            made: 0,
            windows: BTreeMap::new(),
            requests: Requests::default(),
            ahead: None,
            followed: 0,
            filter: Filter { all: facts.cancels },
            scratch: Vec::new(),
            dropped: 0,
            wild: 0,
            cursor: Cursor::new(file),
            archive,
        }
    }

    /// Requests that are open.
    pub fn open_requests(&self) -> usize {
        self.requests.open.values().flatten().flatten().count()
    }

    fn take(&mut self, record: &Record) -> Result<(), Failure> {
        if record.function > ALL_FUNCTIONS {
            // The application's own functions.
            return Ok(());
        }
        self.pass_time(record);
        self.datatypes.note(record);
        let r = record;
        match r.name() {
            "MPI_Send" => self.send(Envelope::of(r), None, Call::Send)?,
            "MPI_Ssend" => self.send(Envelope::of(r), None, Call::Ssend)?,
            "MPI_Bsend" => self.send(Envelope::of(r), None, Call::Bsend)?,
            "MPI_Rsend" => self.send(Envelope::of(r), None, Call::Rsend)?,
            "MPI_Isend" => self.start_send(r, Call::Isend)?,
            "MPI_Issend" => self.start_send(r, Call::Issend)?,
            "MPI_Ibsend" => self.start_send(r, Call::Ibsend)?,
            "MPI_Irsend" => self.start_send(r, Call::Irsend)?,
            "MPI_Recv" => self.receive(Envelope::of(r), r)?,
            "MPI_Irecv" => {
                self.requests.persistent.remove(&r.number(5));
                self.post(Envelope::of(r), r.number(5), Call::Irecv, r)?;
            }
            "MPI_Sendrecv" => {
                let send = Envelope {
                    communicator: r.handle(8),
                    ..Envelope::of(r)
                };
                let receive = Envelope {
                    count: r.number(4),
                    datatype: r.handle(5),
                    peer: r.number(6),
                    tag: r.number(7),
                    communicator: r.handle(8),
                };
                self.exchange(send, receive, r)?;
            }
            "MPI_Sendrecv_replace" => {
                let (count, datatype, communicator) = (r.number(0), r.handle(1), r.handle(6));
                let side = |peer: usize| Envelope {
                    count,
                    datatype,
                    peer: r.number(peer),
                    tag: r.number(peer + 1),
                    communicator,
                };
                self.exchange(side(2), side(4), r)?;
            }
            "MPI_Send_init" => self.prepare(r, Template::Send(Envelope::of(r), Call::Start)),
            "MPI_Ssend_init" => self.prepare(r, Template::Send(Envelope::of(r), Call::Issend)),
            "MPI_Bsend_init" => self.prepare(r, Template::Send(Envelope::of(r), Call::Ibsend)),
            "MPI_Rsend_init" => self.prepare(r, Template::Send(Envelope::of(r), Call::Irsend)),
            "MPI_Recv_init" => {
                let envelope = Envelope::of(r);
                if self.filter.takes(envelope.peer, envelope.tag) {
                    self.look_ahead(r);
                }
                self.prepare(r, Template::Receive(envelope));
            }
            "MPI_Start" => self.start(r.number(0), Call::Start, r)?,
            "MPI_Startall" => {
                for handle in r.array(0) {
                    self.start(*handle, Call::Startall, r)?;
                }
            }
            "MPI_Request_free" => self.requests.free(r.number(0)),
            "MPI_Wait" => self.wait(r, Call::Wait)?,
            "MPI_Waitall" => self.wait(r, Call::Waitall)?,
            "MPI_Waitany" => self.wait(r, Call::Waitany)?,
            "MPI_Waitsome" => self.wait(r, Call::Waitsome)?,
            "MPI_Test" => self.wait(r, Call::Test)?,
            "MPI_Testall" => self.wait(r, Call::Testall)?,
            "MPI_Testany" => self.wait(r, Call::Testany)?,
            "MPI_Testsome" => self.wait(r, Call::Testsome)?,
            "MPI_Probe" => self.probe(r, Call::Probe)?,
            "MPI_Iprobe" if r.number(3) != 0 => self.probe(r, Call::Iprobe)?,
            "MPI_Grequest_start" => self.requests.open(r.number(0), None),
            name if name.starts_with("MPI_File_i") => self.requests.foreign = true,
            name if name.starts_with("MPI_Win_") => self.window(r)?,
            "MPI_Put" => self.one_sided(r, Call::Put)?,
            "MPI_Get" => self.one_sided(r, Call::Get)?,
            "MPI_Accumulate" => self.one_sided(r, Call::Accumulate)?,
            "MPI_Comm_free" | "MPI_Comm_disconnect" => {
                self.communicators.remove(&r.handle(0));
            }
            _ => {
                if !self.makes_communicators(r)? {
                    self.collective(r)?;
                }
            }
        }
        Ok(())
    }

    /// Takes the time since the last call as computation.
    fn pass_time(&mut self, record: &Record) {
        let now = (record.cpu, record.wall);
        if let Some((cpu, wall)) = self.last {
            let gap = |from: Option<Interval>, to: Option<Interval>| Some(to?.start.since(from?.stop));
            let nanoseconds = match self.archive.clock {
                Clock::Any => gap(cpu, record.cpu).or_else(|| gap(wall, record.wall)),
                Clock::Cpu => gap(cpu, record.cpu),
                Clock::Wall => gap(wall, record.wall),
            };
            // Calls of several threads overlap.
            let nanoseconds = u64::try_from(nanoseconds.unwrap_or(0)).unwrap_or(0);
            self.pending.compute(nanoseconds.saturating_mul(1000));
        }
        self.last = Some(now);
    }

    fn push(&mut self, operation: Operation) {
        self.pending.push(operation);
    }

    fn communicator(&self, handle: u16) -> Result<Place, String> {
        let known = self.communicators.get(&handle).copied();
        known.ok_or_else(|| communicators::unknown_communicator(handle))
    }

    fn size(&self, communicator: u32) -> usize {
        self.archive.communicators.members[communicator as usize].len()
    }

    /// Communicator and rank in it of a message's other side.
    fn place(&self, what: &str, handle: u16, peer: i64) -> Result<(u32, u32), String> {
        let place = self.communicator(handle)?;
        let (communicator, size) = match place {
            Place::Group(id) => (id, self.size(id)),
            Place::Own(id) => (id, 1),
        };
        let rank = u32::try_from(peer).ok().filter(|rank| (*rank as usize) < size);
        let rank = rank.ok_or_else(|| {
            format!("{what} rank {peer}, which communicator {handle} of {size} ranks does not have")
        })?;
        match place {
            Place::Group(_) => Ok((communicator, rank)),
            Place::Own(_) => Ok((communicator, self.rank)),
        }
    }

    /// The operation of a send; none to `MPI_PROC_NULL`.
    fn sending(
        &self,
        envelope: Envelope,
        request: Option<u64>,
        call: Call,
    ) -> Result<Option<Operation>, String> {
        if envelope.peer < 0 {
            return Ok(None);
        }
        let (communicator, to) = self.place("send to", envelope.communicator, envelope.peer)?;
        Ok(Some(Operation::Send {
            to,
            tag: tag(envelope.tag)?,
            communicator,
            bytes: self.datatypes.bytes(envelope.count, envelope.datatype)?,
            request,
            call,
        }))
    }

    fn send(&mut self, envelope: Envelope, request: Option<u64>, call: Call) -> Result<(), String> {
        if let Some(operation) = self.sending(envelope, request, call)? {
            self.push(operation);
        }
        Ok(())
    }

    fn start_send(&mut self, record: &Record, call: Call) -> Result<(), String> {
        let handle = record.number(5);
        self.requests.persistent.remove(&handle);
        self.open_send(Envelope::of(record), handle, call)
    }

    fn open_send(&mut self, envelope: Envelope, handle: i64, call: Call) -> Result<(), String> {
        let number = (envelope.peer >= 0).then(|| self.requests.number());
        self.requests.open(handle, number);
        self.send(envelope, number, call)
    }

    /// The operation of a receive with what is known of its message; none from `MPI_PROC_NULL`.
    fn receiving(
        &mut self,
        envelope: Envelope,
        status: Option<Status>,
        request: Option<u64>,
        call: Call,
    ) -> Result<Option<Operation>, String> {
        let mut envelope = envelope;
        if let Some(status) = status {
            if envelope.peer == ANY && status.source >= 0 {
                envelope.peer = status.source.into();
            } else if envelope.peer == ANY && status.source != ANY as i32 {
                // MPI_ANY_SOURCE of the format is MPI_PROC_NULL of some libraries.
                return Ok(None);
            }
            if envelope.tag == ANY {
                envelope.tag = status.tag.filter(|tag| *tag >= 0).map_or(ANY, i64::from);
            }
        }
        if envelope.peer < ANY {
            return Ok(None);
        }
        self.wild += u64::from(envelope.peer == ANY || envelope.tag == ANY);
        let (communicator, from) = if envelope.peer == ANY {
            let (Place::Group(id) | Place::Own(id)) = self.communicator(envelope.communicator)?;
            (id, None)
        } else {
            let (id, from) = self.place("receive from", envelope.communicator, envelope.peer)?;
            (id, Some(from))
        };
        let bytes = self.datatypes.bytes(envelope.count, envelope.datatype);
        let received = status.and_then(|s| u64::try_from(s.bytes).ok());
        let bytes = match (bytes, received) {
            (Err(_), Some(received)) => received,
            (bytes, _) => bytes?,
        };
        let tag = if envelope.tag == ANY {
            None
        } else {
            Some(tag(envelope.tag)?)
        };
        Ok(Some(Operation::Receive {
            from,
            tag,
            communicator,
            bytes,
            request,
            call,
        }))
    }

    fn receive(&mut self, envelope: Envelope, record: &Record) -> Result<(), String> {
        let status = record.statuses.first().copied();
        if let Some(operation) = self.receiving(envelope, status, None, Call::Recv)? {
            self.push(operation);
        }
        Ok(())
    }

    /// The cursor ahead, which begins at this record if it has not begun yet.
    fn look_ahead(&mut self, record: &Record) -> &mut Ahead {
        let begin = || {
            let file = self.cursor.file().clone();
            Ahead::new(Cursor::at(file, record.offset), self.filter)
        };
        self.ahead.get_or_insert_with(begin)
    }

    fn post(&mut self, envelope: Envelope, handle: i64, call: Call, record: &Record) -> Result<(), Failure> {
        let mut envelope = envelope;
        if self.filter.takes(envelope.peer, envelope.tag) {
            let followed = self.followed;
            let fate = self.look_ahead(record).fate(followed)?;
            self.followed += 1;
            match fate {
                Fate::Received { source, tag } => {
                    if envelope.peer == ANY {
                        envelope.peer = source;
                    }
                    if envelope.tag == ANY {
                        envelope.tag = tag.unwrap_or(ANY);
                    }
                }
                Fate::Unknown => {}
                Fate::Never => {
                    self.dropped += 1;
                    self.requests.open(handle, None);
                    return Ok(());
                }
            }
        }
        let number = (envelope.peer >= ANY).then(|| self.requests.number());
        self.requests.open(handle, number);
        if let Some(operation) = self.receiving(envelope, None, number, call)? {
            self.push(operation);
        }
        Ok(())
    }

    fn exchange(&mut self, send: Envelope, receive: Envelope, record: &Record) -> Result<(), String> {
        let call = Call::Sendrecv;
        let status = record.statuses.first().copied();
        let numbers = [self.requests.number(), self.requests.number()];
        let receive = self.receiving(receive, status, Some(numbers[0]), call)?;
        let send = self.sending(send, Some(numbers[1]), call)?;
        let mut requests = Vec::new();
        for (operation, number) in [receive, send].into_iter().zip(numbers) {
            if let Some(operation) = operation {
                self.push(operation);
                requests.push(number);
            }
        }
        if !requests.is_empty() {
            self.push(Operation::Wait { requests, call });
        }
        Ok(())
    }

    fn prepare(&mut self, record: &Record, template: Template) {
        let handle = record.number(5);
        self.requests.open.remove(&handle);
        self.requests.persistent.insert(handle, template);
    }

    fn start(&mut self, handle: i64, call: Call, record: &Record) -> Result<(), Failure> {
        let template = self.requests.persistent.get(&handle).copied();
        match template {
            Some(Template::Send(envelope, Call::Start)) => self.open_send(envelope, handle, call)?,
            Some(Template::Send(envelope, mode)) => self.open_send(envelope, handle, mode)?,
            Some(Template::Receive(envelope)) => self.post(envelope, handle, call, record)?,
            None => return Err(format!("request {handle} is started, but no recorded call makes it").into()),
        }
        Ok(())
    }

    fn wait(&mut self, record: &Record, call: Call) -> Result<(), String> {
        let mut done = std::mem::take(&mut self.scratch);
        completions(record, &mut done)?;
        let mut requests = Vec::new();
        for (handle, _) in &done {
            requests.extend(self.requests.complete(*handle)?);
        }
        self.scratch = done;
        self.push(Operation::Wait { requests, call });
        Ok(())
    }

    fn probe(&mut self, record: &Record, call: Call) -> Result<(), String> {
        let status = record.statuses.first();
        let known = |value: i64, recorded: Option<i64>| match value {
            ANY => recorded.filter(|r| *r >= 0),
            value => Some(value),
        };
        let source = known(record.number(0), status.map(|s| s.source.into()));
        if source.is_some_and(|source| source < 0) {
            return Ok(());
        }
        let handle = record.handle(2);
        let (communicator, from) = match source {
            Some(source) => {
                let (id, from) = self.place("probe of", handle, source)?;
                (id, Some(from))
            }
            None => {
                let (Place::Group(id) | Place::Own(id)) = self.communicator(handle)?;
                (id, None)
            }
        };
        let recorded = status.and_then(|s| s.tag).map(i64::from);
        let tag = known(record.number(1), recorded).map(tag).transpose()?;
        self.push(Operation::Probe {
            from,
            tag,
            communicator,
            call,
        });
        Ok(())
    }

    fn window(&mut self, record: &Record) -> Result<(), String> {
        let r = record;
        match r.name() {
            "MPI_Win_create" => {
                let place = self.communicator(r.handle(3))?;
                self.windows.insert(r.handle(4), place);
                let steps = [
                    (Collective::Allreduce, CONTEXT_MASK),
                    (Collective::Allgather, WINDOW),
                ];
                self.housekeeping(place, &steps, Call::WinCreate);
            }
            "MPI_Win_fence" => {
                if let Place::Group(communicator) = self.window_place(r.handle(1))? {
                    let call = Call::WinFence;
                    self.push(Operation::Fence { communicator, call });
                }
            }
            "MPI_Win_free" => {
                let place = self.window_place(r.handle(0))?;
                self.windows.remove(&r.handle(0));
                self.housekeeping(place, &[(Collective::Barrier, 0)], Call::WinFree);
            }
            "MPI_Win_lock" | "MPI_Win_unlock" | "MPI_Win_post" | "MPI_Win_start" | "MPI_Win_complete"
            | "MPI_Win_wait" | "MPI_Win_test" => {
                return Err("one-sided communication other than between fences is not supported".into());
            }
            _ => {}
        }
        Ok(())
    }

    fn window_place(&self, window: u16) -> Result<Place, String> {
        let known = self.windows.get(&window).copied();
        known.ok_or_else(|| {
            format!("window {window} is used, but no recorded call makes it, or it has been freed")
        })
    }

    fn one_sided(&mut self, record: &Record, call: Call) -> Result<(), String> {
        let Place::Group(communicator) = self.window_place(record.last_handle())? else {
            // Into the rank's own memory.
            return Ok(());
        };
        let target = record.number(2);
        if target < 0 {
            return Ok(());
        }
        let size = self.size(communicator);
        let rank = u32::try_from(target).ok().filter(|rank| (*rank as usize) < size);
        let rank = rank.ok_or_else(|| format!("memory of rank {target} in a window of {size} ranks"))?;
        let bytes = self.datatypes.bytes(record.number(0), record.handle(1));
        let bytes = bytes.or_else(|_| self.datatypes.bytes(record.number(4), record.handle(5)))?;
        self.push(match call {
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

    /// Collectives that a call makes of its own accord.
    fn housekeeping(&mut self, place: Place, steps: &[(Collective, u64)], call: Call) {
        let Place::Group(communicator) = place else {
            return;
        };
        for (collective, bytes) in steps {
            self.push(Operation::Collective {
                collective: *collective,
                communicator,
                root: 0,
                bytes: *bytes,
                counts: None,
                request: None,
                call,
            });
        }
    }

    /// Calls that make communicators cost what they cost in MPICH, on the parent.
    fn makes_communicators(&mut self, record: &Record) -> Result<bool, String> {
        let Some((parent, child)) = communicators::parent_and_child(record) else {
            return Ok(false);
        };
        let agree = (Collective::Allreduce, CONTEXT_MASK);
        let tell = (Collective::Allgather, COLOR_AND_KEY);
        let (steps, call) = match record.name() {
            "MPI_Comm_dup" => (&[agree][..], Call::CommDup),
            "MPI_Comm_create" => (&[agree][..], Call::CommCreate),
            "MPI_Comm_split" => (&[tell, agree][..], Call::CommSplit),
            "MPI_Cart_create" => (&[agree][..], Call::CartCreate),
            "MPI_Cart_sub" => (&[tell, agree][..], Call::Other),
            _ => (&[agree][..], Call::Other),
        };
        let place = self.communicator(parent)?;
        self.housekeeping(place, steps, call);
        let made = self.archive.communicators.made[self.rank as usize].get(self.made);
        self.made += 1;
        if let Some(Some(place)) = made
            && child != NULL
        {
            self.communicators.insert(child, *place);
        }
        Ok(true)
    }

    /// What a collective's arguments say; nothing for calls that are none.
    fn collective(&mut self, record: &Record) -> Result<(), String> {
        let r = record;
        let types = &self.datatypes;
        let simple = |collective, call| -> Result<_, String> {
            // Count and type come first, the communicator last, the root before it if there is one.
            Ok((collective, call, 0, types.bytes(r.number(0), r.handle(1))?, None))
        };
        let first_known = |sides: [(i64, u16); 2]| {
            let [first, second] = sides.map(|(count, handle)| types.bytes(count, handle));
            first.or(second)
        };
        let handle = match r.name() {
            "MPI_Gatherv" => r.handle(5),
            "MPI_Gather" | "MPI_Scatter" => r.handle(4),
            "MPI_Scatterv" => r.handle(6),
            _ => r.last_handle(),
        };
        let varying = || -> Result<(u32, usize, usize), String> {
            match self.communicator(handle)? {
                Place::Group(id) => {
                    let members = &self.archive.communicators.members[id as usize];
                    let own = members.iter().position(|m| *m == self.rank);
                    Ok((id, members.len(), own.unwrap_or(0)))
                }
                Place::Own(id) => Ok((id, 1, 0)),
            }
        };
        let (collective, call, root, bytes, counts) = match r.name() {
            "MPI_Barrier" => (Collective::Barrier, Call::Barrier, 0, 0, None),
            "MPI_Bcast" => {
                let (collective, call, _, bytes, counts) = simple(Collective::Bcast, Call::Bcast)?;
                (collective, call, r.number(2), bytes, counts)
            }
            "MPI_Reduce" => {
                let (collective, call, _, bytes, counts) = simple(Collective::Reduce, Call::Reduce)?;
                (collective, call, r.number(3), bytes, counts)
            }
            "MPI_Allreduce" => simple(Collective::Allreduce, Call::Allreduce)?,
            "MPI_Scan" => simple(Collective::Scan, Call::Scan)?,
            "MPI_Exscan" => simple(Collective::Exscan, Call::Exscan)?,
            // What is sent may be MPI_IN_PLACE, what is received may not.
            "MPI_Allgather" | "MPI_Alltoall" => {
                let bytes = first_known([(r.number(2), r.handle(3)), (r.number(0), r.handle(1))])?;
                match r.name() {
                    "MPI_Allgather" => (Collective::Allgather, Call::Allgather, 0, bytes, None),
                    _ => (Collective::Alltoall, Call::Alltoall, 0, bytes, None),
                }
            }
            // At the root, the own part may be MPI_IN_PLACE.
            "MPI_Gather" | "MPI_Scatter" => {
                let own = (r.number(1), r.handle(2));
                let bytes = if r.has_number(6) {
                    first_known([(r.number(5), r.handle(6)), own])?
                } else {
                    types.bytes(own.0, own.1)?
                };
                match r.name() {
                    "MPI_Gather" => (Collective::Gather, Call::Gather, r.number(3), bytes, None),
                    _ => (Collective::Scatter, Call::Scatter, r.number(3), bytes, None),
                }
            }
            "MPI_Gatherv" => {
                let (_, size, own) = varying()?;
                let is_root = r.number(0) == r.number(4);
                let receives = if is_root {
                    sizes(types, r.array(0), r.last_handle(), size)?
                } else {
                    Vec::new()
                };
                let sent = match receives.get(own) {
                    Some(bytes) if is_root => *bytes,
                    _ => types.bytes(r.number(2), r.handle(3))?,
                };
                let sends = vec![sent];
                let counts = Counts { sends, receives };
                (Collective::Gather, Call::Gatherv, r.number(4), sent, Some(counts))
            }
            "MPI_Scatterv" => {
                let (_, size, own) = varying()?;
                let is_root = r.number(0) == r.number(5);
                let sends = if is_root {
                    sizes(types, r.array(0), r.handle(2), size)?
                } else {
                    Vec::new()
                };
                let received = match sends.get(own) {
                    Some(bytes) if is_root => *bytes,
                    _ => types.bytes(r.number(3), r.handle(4))?,
                };
                let receives = vec![received];
                let counts = Counts { sends, receives };
                (
                    Collective::Scatter,
                    Call::Scatterv,
                    r.number(5),
                    received,
                    Some(counts),
                )
            }
            "MPI_Allgatherv" => {
                let (_, size, own) = varying()?;
                let receives = sizes(types, r.array(0), r.handle(3), size)?;
                let sends = receives.get(own).copied().into_iter().collect();
                let bytes = mean(&receives);
                let counts = Counts { sends, receives };
                (Collective::Allgather, Call::Allgatherv, 0, bytes, Some(counts))
            }
            "MPI_Alltoallv" => {
                let (_, size, _) = varying()?;
                let receives = sizes(types, r.array(2), r.handle(2), size)?;
                let sends = if r.array(0).is_empty() {
                    receives.clone()
                } else {
                    sizes(types, r.array(0), r.handle(1), size)?
                };
                let bytes = mean(&sends);
                let counts = Counts { sends, receives };
                (Collective::Alltoall, Call::Alltoallv, 0, bytes, Some(counts))
            }
            "MPI_Alltoallw" => {
                let (_, size, _) = varying()?;
                let receives = sizes_of_types(types, r.array(3), r.array(5), size)?;
                let sends = if r.array(0).is_empty() {
                    receives.clone()
                } else {
                    sizes_of_types(types, r.array(0), r.array(2), size)?
                };
                let bytes = mean(&sends);
                let counts = Counts { sends, receives };
                (Collective::Alltoall, Call::Other, 0, bytes, Some(counts))
            }
            "MPI_Reduce_scatter" => {
                let (_, size, _) = varying()?;
                let receives = sizes(types, r.array(0), r.handle(1), size)?;
                let bytes = receives.iter().copied().fold(0, u64::saturating_add);
                let sends = Vec::new();
                let counts = Counts { sends, receives };
                (
                    Collective::ReduceScatter,
                    Call::ReduceScatter,
                    0,
                    bytes,
                    Some(counts),
                )
            }
            _ => return Ok(()),
        };
        let Place::Group(communicator) = self.communicator(handle)? else {
            return Ok(());
        };
        let size = self.size(communicator);
        let root = u32::try_from(root)
            .ok()
            .filter(|root| (*root as usize) < size)
            .ok_or_else(|| {
                format!("root {root}, which communicator {handle} of {size} ranks does not have")
            })?;
        self.push(Operation::Collective {
            collective,
            communicator,
            root,
            bytes,
            counts: counts.map(Box::new),
            request: None,
            call,
        });
        Ok(())
    }
}

fn tag(recorded: i64) -> Result<u32, String> {
    u32::try_from(recorded).map_err(|_| format!("tag {recorded}"))
}

/// Bytes for each rank, of one type.
fn sizes(types: &Datatypes, counts: &[i64], handle: u16, ranks: usize) -> Result<Vec<u64>, String> {
    check_length(counts, ranks)?;
    counts.iter().map(|count| types.bytes(*count, handle)).collect()
}

/// Bytes for each rank, each of its own type.
fn sizes_of_types(
    types: &Datatypes,
    counts: &[i64],
    handles: &[i64],
    ranks: usize,
) -> Result<Vec<u64>, String> {
    check_length(counts, ranks)?;
    check_length(handles, ranks)?;
    let pairs = counts.iter().zip(handles);
    pairs
        .map(|(count, handle)| types.bytes(*count, *handle as u16))
        .collect()
}

fn check_length(array: &[i64], ranks: usize) -> Result<(), String> {
    if array.len() == ranks {
        return Ok(());
    }
    Err(format!(
        "{} counts on a communicator of {ranks} ranks",
        array.len()
    ))
}

fn mean(sizes: &[u64]) -> u64 {
    let total = sizes.iter().copied().fold(0, u64::saturating_add);
    total.div_ceil(sizes.len().max(1) as u64)
}
