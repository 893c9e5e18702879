//! From the calls of one rank to its operations.
//!
//! Time between calls is computation; time inside them is left to the simulator. What a call was asked is
//! recorded, what it found is not: neither statuses, nor flags of tests, nor which request completed. The
//! format's page says what is made of that.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Archive;
use super::communicators::{Change, Names, Place};
use super::record::{Cursor, Record};
use crate::by_call::{self, ByCall, Pending};
use crate::dumpi::{COLOR_AND_KEY, CONTEXT_MASK};
use crate::{Call, Collective, Counts, Operation, Program, TraceError};

/// `MPI_ANY_TAG` of all libraries.
const ANY_TAG: i64 = -1;
/// `MPI_IN_PLACE` as a buffer, in Open MPI and in MPICH.
const IN_PLACE: [u64; 2] = [1, u64::MAX];

/// The arguments that all sends and receives have.
#[derive(Clone, Copy, Debug)]
struct Envelope {
    bytes: u64,
    peer: i64,
    tag: i64,
    place: Place,
}

/// A persistent request that can be started.
#[derive(Clone, Copy, Debug)]
enum Template {
    Send(Envelope, Option<Call>),
    Receive(Envelope),
}

/// A request that is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its number; none where there is nothing to wait for.
    number: Option<u64>,
    /// Whether a call may have found it complete.
    tested: bool,
}

/// The operations of one rank.
pub struct RankProgram {
    archive: Arc<Archive>,
    rank: u32,
    cursor: Cursor,
    pending: Pending,
    /// When the last call ended.
    last: Option<u128>,
    names: Names,
    /// Splits so far.
    split: usize,
    /// By the address where the application keeps them.
    open: BTreeMap<u64, Open>,
    persistent: BTreeMap<u64, Template>,
    next: u64,
    /// Line and name of the call that the last operation is of.
    pub at: (u64, &'static str),
    /// What happened that the format does not record.
    pub unknown: Unknown,
}

/// Counts of what the format does not record.
#[derive(Debug, Default)]
pub struct Unknown {
    /// Receives from any source or with any tag.
    pub wild: u64,
    /// Requests that a test may have completed, by calls.
    pub tests: u64,
    /// Requests that were waited for, but that no recorded call has made.
    pub not_made: u64,
    /// Requests that nothing has waited for.
    pub left: u64,
    /// Calls that begin before the last has ended.
    pub backwards: u64,
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
        let Some(record) = self.cursor.next()? else {
            self.unknown.left = self.open.values().filter(|o| o.number.is_some()).count() as u64;
            return Ok(false);
        };
        self.at = (record.line, record.function.name);
        match self.take(&record) {
            Ok(()) => Ok(true),
            Err(message) => {
                let file = self.cursor.file();
                Err(file.error(format!("{}: {message}", record.place())))
            }
        }
    }
}

impl RankProgram {
    /// The operations of a rank from its first call on.
    pub fn new(archive: Arc<Archive>, rank: u32) -> RankProgram {
        RankProgram {
            rank,
            cursor: Cursor::new(archive.files[rank as usize].clone()),
            archive,
            pending: Pending::default(),
            last: None,
            names: Names::default(),
            split: 0,
            open: BTreeMap::new(),
            persistent: BTreeMap::new(),
            next: 0,
            at: (0, ""),
            unknown: Unknown::default(),
        }
    }

    fn take(&mut self, r: &Record) -> Result<(), String> {
        self.pass_time(r)?;
        let place = r
            .comm
            .map(|comm| {
                self.names
                    .place(comm, self.rank, &self.archive.communicators.groups)
            })
            .transpose()?
            .unwrap_or(Place::Own);
        let name = r.function.name;
        match name {
            "MPI_Send" => self.send(envelope(r, place)?, None, Call::Send)?,
            "MPI_Ssend" => self.send(envelope(r, place)?, None, Call::Ssend)?,
            "MPI_Bsend" => self.send(envelope(r, place)?, None, Call::Bsend)?,
            "MPI_Rsend" => self.send(envelope(r, place)?, None, Call::Rsend)?,
            "MPI_Isend" => self.start_send(r, place, Call::Isend)?,
            "MPI_Issend" => self.start_send(r, place, Call::Issend)?,
            "MPI_Ibsend" => self.start_send(r, place, Call::Ibsend)?,
            "MPI_Irsend" => self.start_send(r, place, Call::Irsend)?,
            "MPI_Recv" => {
                if let Some(operation) = self.receiving(envelope(r, place)?, None, Call::Recv)? {
                    self.push(operation);
                }
            }
            "MPI_Irecv" => {
                self.persistent.remove(&r.address(0));
                self.post(envelope(r, place)?, r.address(0), Call::Irecv)?;
            }
            "MPI_Sendrecv" => {
                let receive = Envelope {
                    bytes: bytes(r.number(3), r.size(1))?,
                    peer: r.number(4),
                    tag: r.number(5),
                    place,
                };
                self.exchange(envelope(r, place)?, receive)?;
            }
            "MPI_Sendrecv_replace" => {
                let send = envelope(r, place)?;
                let receive = Envelope {
                    peer: r.number(3),
                    tag: r.number(4),
                    ..send
                };
                self.exchange(send, receive)?;
            }
            "MPI_Send_init" => self.prepare(r, Template::Send(envelope(r, place)?, None)),
            "MPI_Ssend_init" => self.prepare(r, Template::Send(envelope(r, place)?, Some(Call::Issend))),
            "MPI_Bsend_init" => self.prepare(r, Template::Send(envelope(r, place)?, Some(Call::Ibsend))),
            "MPI_Rsend_init" => self.prepare(r, Template::Send(envelope(r, place)?, Some(Call::Irsend))),
            "MPI_Recv_init" => self.prepare(r, Template::Receive(envelope(r, place)?)),
            "MPI_Start" => self.start(r.address(0), Call::Start)?,
            "MPI_Startall" => {
                let among = self.slots(r.number(0), r.address(0))?;
                let first: Vec<u64> = among.of(&self.persistent).collect();
                if first.len() as u64 != among.count {
                    return Err(format!(
                        "starts {} requests, but recorded calls have made {} of them",
                        among.count,
                        first.len()
                    ));
                }
                for address in first {
                    self.start(address, Call::Startall)?;
                }
            }
            "MPI_Request_free" => {
                self.open.remove(&r.address(0));
                self.persistent.remove(&r.address(0));
            }
            "MPI_Wait" => self.wait(1, r.address(0), Call::Wait)?,
            "MPI_Waitall" => self.wait(r.number(0), r.address(0), Call::Waitall)?,
            "MPI_Waitany" => self.wait_for_one(r, Call::Waitany)?,
            "MPI_Waitsome" => self.wait_for_one(r, Call::Waitsome)?,
            "MPI_Test" => self.test(1, r.address(0), Call::Test)?,
            "MPI_Testall" => self.test(r.number(0), r.address(0), Call::Testall)?,
            "MPI_Testany" => self.test(r.number(0), r.address(0), Call::Testany)?,
            "MPI_Testsome" => self.test(r.number(0), r.address(0), Call::Testsome)?,
            "MPI_Probe" => self.probe(r, place)?,
            "MPI_Finalize" => self.finish(),
            _ if Change::of(r).is_some() => self.change(r, place),
            _ => self.collective(r, place)?,
        }
        Ok(())
    }

    /// Takes the time since the last call as computation.
    fn pass_time(&mut self, record: &Record) -> Result<(), String> {
        if let (Some(last), Some(begin)) = (self.last, record.begin) {
            self.unknown.backwards += u64::from(begin < last);
            let ps = u64::try_from(begin.saturating_sub(last)).map_err(|_| {
                "begins more than 200 days after the call before; the file is damaged".to_string()
            })?;
            self.pending.compute(ps);
        }
        self.last = record.end.or(record.begin).or(self.last);
        Ok(())
    }

    fn push(&mut self, operation: Operation) {
        self.pending.push(operation);
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// The communicator's number, and how many it has; the rank's own has all ranks, of which each talks to
    /// itself only.
    fn group(&self, place: Place) -> (u32, usize) {
        let groups = &self.archive.communicators.groups;
        match place {
            Place::Group(group) => (group, groups[group as usize].len()),
            Place::Own => (groups.len() as u32, 1),
        }
    }

    /// Communicator and rank in it of a message's other side.
    fn peer(&self, what: &str, place: Place, peer: i64) -> Result<(u32, u32), String> {
        let (group, size) = self.group(place);
        let rank = u32::try_from(peer).ok().filter(|rank| (*rank as usize) < size);
        let rank = rank.ok_or_else(|| {
            format!("{what} rank {peer}, which a communicator of {size} ranks does not have")
        })?;
        match place {
            Place::Group(_) => Ok((group, rank)),
            Place::Own => Ok((group, self.rank)),
        }
    }

    /// The operation of a send; none to `MPI_PROC_NULL`.
    fn sending(&self, e: Envelope, request: Option<u64>, call: Call) -> Result<Option<Operation>, String> {
        if e.peer == self.archive.library.no_process() {
            return Ok(None);
        }
        let (communicator, to) = self.peer("send to", e.place, e.peer)?;
        Ok(Some(Operation::Send {
            to,
            tag: tag(e.tag)?,
            communicator,
            bytes: e.bytes,
            request,
            call,
        }))
    }

    fn send(&mut self, e: Envelope, request: Option<u64>, call: Call) -> Result<(), String> {
        if let Some(operation) = self.sending(e, request, call)? {
            self.push(operation);
        }
        Ok(())
    }

    fn start_send(&mut self, r: &Record, place: Place, call: Call) -> Result<(), String> {
        self.persistent.remove(&r.address(0));
        self.open_send(envelope(r, place)?, r.address(0), call)
    }

    fn open_send(&mut self, e: Envelope, address: u64, call: Call) -> Result<(), String> {
        let number = (e.peer != self.archive.library.no_process()).then(|| self.number());
        self.open(address, number);
        self.send(e, number, call)
    }

    /// The operation of a receive; none from `MPI_PROC_NULL`.
    fn receiving(
        &mut self,
        e: Envelope,
        request: Option<u64>,
        call: Call,
    ) -> Result<Option<Operation>, String> {
        if e.peer == self.archive.library.no_process() {
            return Ok(None);
        }
        let (communicator, from) = self.source("receive from", e)?;
        let tag = (e.tag != ANY_TAG).then(|| tag(e.tag)).transpose()?;
        self.unknown.wild += u64::from(from.is_none() || tag.is_none());
        Ok(Some(Operation::Receive {
            from,
            tag,
            communicator,
            bytes: e.bytes,
            request,
            call,
        }))
    }

    /// Communicator and rank in it that something is taken from; no rank: from any.
    fn source(&self, what: &str, e: Envelope) -> Result<(u32, Option<u32>), String> {
        if e.peer == self.archive.library.any_source() {
            return Ok((self.group(e.place).0, None));
        }
        let (group, from) = self.peer(what, e.place, e.peer)?;
        Ok((group, Some(from)))
    }

    fn post(&mut self, e: Envelope, address: u64, call: Call) -> Result<(), String> {
        let number = (e.peer != self.archive.library.no_process()).then(|| self.number());
        self.open(address, number);
        if let Some(operation) = self.receiving(e, number, call)? {
            self.push(operation);
        }
        Ok(())
    }

    fn exchange(&mut self, send: Envelope, receive: Envelope) -> Result<(), String> {
        let call = Call::Sendrecv;
        let numbers = [self.number(), self.number()];
        let receive = self.receiving(receive, Some(numbers[0]), call)?;
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

    /// Opens a request. What was kept there before was complete, if there were tests of it.
    fn open(&mut self, address: u64, number: Option<u64>) {
        let before = self.open.insert(
            address,
            Open {
                number,
                tested: false,
            },
        );
        if let Some(before) = before.filter(|b| b.tested) {
            let requests = before.number.into_iter().collect();
            let call = Call::Test;
            self.push(Operation::Wait { requests, call });
        }
    }

    fn prepare(&mut self, r: &Record, template: Template) {
        self.open.remove(&r.address(0));
        self.persistent.insert(r.address(0), template);
    }

    fn start(&mut self, address: u64, call: Call) -> Result<(), String> {
        match self.persistent.get(&address).copied() {
            Some(Template::Send(e, mode)) => self.open_send(e, address, mode.unwrap_or(call)),
            Some(Template::Receive(e)) => self.post(e, address, call),
            None => Err(format!(
                "starts the request at address {address}, but no recorded call makes it"
            )),
        }
    }

    /// Where an array of requests lies.
    fn slots(&self, count: i64, address: u64) -> Result<Slots, String> {
        let count = u64::try_from(count).map_err(|_| format!("a count of {count}"))?;
        Ok(Slots {
            address,
            count,
            stride: self.archive.strides[self.rank as usize],
        })
    }

    fn wait(&mut self, count: i64, address: u64, call: Call) -> Result<(), String> {
        let among = self.slots(count, address)?;
        let found: Vec<u64> = among.of(&self.open).collect();
        let inactive = among
            .of(&self.persistent)
            .filter(|a| !self.open.contains_key(a))
            .count();
        let absent = among.count.saturating_sub((found.len() + inactive) as u64);
        self.unknown.not_made = self.unknown.not_made.saturating_add(absent);
        let requests = found
            .iter()
            .filter_map(|a| self.open.remove(a))
            .filter_map(|o| o.number);
        let requests = requests.collect();
        self.push(Operation::Wait { requests, call });
        Ok(())
    }

    /// Waits for one of several, which can be told if only one is open.
    fn wait_for_one(&mut self, r: &Record, call: Call) -> Result<(), String> {
        let among = self.slots(r.number(0), r.address(0))?;
        let open = among.of(&self.open).count();
        if open > 1 {
            return Err(format!(
                "waits for any of {open} open requests, and the format does not record which completed"
            ));
        }
        self.wait(r.number(0), r.address(0), call)
    }

    fn test(&mut self, count: i64, address: u64, call: Call) -> Result<(), String> {
        let among = self.slots(count, address)?;
        let found: Vec<u64> = among.of(&self.open).collect();
        for address in found {
            self.unknown.tests += 1;
            if let Some(open) = self.open.get_mut(&address) {
                open.tested = true;
            }
        }
        let requests = Vec::new();
        self.push(Operation::Wait { requests, call });
        Ok(())
    }

    /// Waits for what tests have completed, at the latest here.
    fn finish(&mut self) {
        let tested = self.open.values().filter(|o| o.tested);
        let requests: Vec<u64> = tested.filter_map(|o| o.number).collect();
        self.open.retain(|_, o| !o.tested);
        if !requests.is_empty() {
            let call = Call::Test;
            self.push(Operation::Wait { requests, call });
        } else {
            self.pending.push_computed();
        }
    }

    fn probe(&mut self, r: &Record, place: Place) -> Result<(), String> {
        let (peer, tag_) = (r.number(0), r.number(1));
        if peer == self.archive.library.no_process() {
            return Ok(());
        }
        let envelope = Envelope {
            bytes: 0,
            peer,
            tag: tag_,
            place,
        };
        let (communicator, from) = self.source("probe of", envelope)?;
        let tag = (tag_ != ANY_TAG).then(|| tag(tag_)).transpose()?;
        let call = Call::Probe;
        self.push(Operation::Probe {
            from,
            tag,
            communicator,
            call,
        });
        Ok(())
    }

    /// Calls that make communicators cost what they cost in MPICH, on the parent.
    fn change(&mut self, r: &Record, place: Place) {
        let agree = (Collective::Allreduce, CONTEXT_MASK);
        let tell = (Collective::Allgather, COLOR_AND_KEY);
        let (steps, call) = match r.function.name {
            "MPI_Comm_dup" | "MPI_Comm_dup_with_info" => (&[agree][..], Call::CommDup),
            "MPI_Comm_create" => (&[agree][..], Call::CommCreate),
            "MPI_Comm_split" => (&[tell, agree][..], Call::CommSplit),
            "MPI_Cart_create" => (&[agree][..], Call::CartCreate),
            "MPI_Cart_sub" | "MPI_Comm_split_type" => (&[tell, agree][..], Call::Other),
            "MPI_Graph_create" => (&[agree][..], Call::Other),
            _ => (&[][..], Call::Other),
        };
        if let Place::Group(communicator) = place {
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
        let Some(change) = Change::of(r) else { return };
        let group = match (&change, place) {
            (Change::Split { .. } | Change::Dup { .. }, Place::Own) => return,
            (Change::Split { .. }, _) => {
                let given = &self.archive.communicators.splits[self.rank as usize];
                self.split += 1;
                given.get(self.split - 1).copied().flatten()
            }
            (Change::Dup { .. }, Place::Group(parent)) => Some(parent),
            _ => None,
        };
        self.names.change(&change, group, &r.place());
    }

    /// What a collective's arguments say; nothing for calls that are none.
    fn collective(&mut self, r: &Record, place: Place) -> Result<(), String> {
        let (name, request) = match r.function.name.strip_prefix("MPI_I") {
            Some(rest) => (rest, true),
            None => (r.function.name.strip_prefix("MPI_").unwrap_or(""), false),
        };
        let Some((collective, calls)) = kind(&name.to_ascii_lowercase()) else {
            return Ok(());
        };
        let call = calls[usize::from(request)];
        let (communicator, size) = self.group(place);
        let own = match place {
            Place::Group(group) => {
                let members = &self.archive.communicators.groups[group as usize];
                members.iter().position(|m| *m == self.rank).unwrap_or(0)
            }
            Place::Own => 0,
        };
        let root = match collective {
            Collective::Bcast | Collective::Reduce => r.number(1),
            Collective::Gather | Collective::Scatter => r.number(r.numbers() - 1),
            _ => 0,
        };
        let root = u32::try_from(root).ok().filter(|root| (*root as usize) < size);
        let root = root.ok_or_else(|| format!("a root that a communicator of {size} ranks does not have"))?;
        let (bytes, counts) = amounts(r, call, own, root as usize == own, size)?;
        let number = (request && place != Place::Own).then(|| self.number());
        if request {
            self.persistent.remove(&r.last_address());
            self.open(r.last_address(), number);
        }
        if place != Place::Own {
            self.push(Operation::Collective {
                collective,
                communicator,
                root,
                bytes,
                counts: counts.map(Box::new),
                request: number,
                call,
            });
        }
        Ok(())
    }
}

/// An array of requests in memory.
struct Slots {
    address: u64,
    count: u64,
    stride: u64,
}

impl Slots {
    /// The addresses in it that something is kept at.
    fn of<'a, T>(&self, kept: &'a BTreeMap<u64, T>) -> impl Iterator<Item = u64> + use<'a, T> {
        let (address, stride) = (self.address, self.stride);
        let end = address.saturating_add(self.count.saturating_mul(stride));
        let inside = kept.range(address..end.max(address));
        inside
            .map(|(a, _)| *a)
            .filter(move |a| (a - address).is_multiple_of(stride))
    }
}

/// The arguments of a send or receive in the usual order.
fn envelope(r: &Record, place: Place) -> Result<Envelope, String> {
    Ok(Envelope {
        bytes: bytes(r.number(0), r.size(0))?,
        peer: r.number(1),
        tag: r.number(2),
        place,
    })
}

fn tag(recorded: i64) -> Result<u32, String> {
    u32::try_from(recorded).map_err(|_| format!("tag {recorded}"))
}

/// Bytes of so many of a type of this size.
fn bytes(count: i64, size: i64) -> Result<u64, String> {
    let product = u64::try_from(count).ok().zip(u64::try_from(size).ok());
    product
        .and_then(|(count, size)| count.checked_mul(size))
        .ok_or_else(|| format!("{count} elements of {size} bytes"))
}

/// Which collective a name is, without its prefix and in lower case, and its blocking and non-blocking call.
fn kind(name: &str) -> Option<(Collective, [Call; 2])> {
    Some(match name {
        "barrier" => (Collective::Barrier, [Call::Barrier, Call::Ibarrier]),
        "bcast" => (Collective::Bcast, [Call::Bcast, Call::Ibcast]),
        "reduce" => (Collective::Reduce, [Call::Reduce, Call::Ireduce]),
        "allreduce" => (Collective::Allreduce, [Call::Allreduce, Call::Iallreduce]),
        "scan" => (Collective::Scan, [Call::Scan, Call::Iscan]),
        "exscan" => (Collective::Exscan, [Call::Exscan, Call::Iexscan]),
        "allgather" => (Collective::Allgather, [Call::Allgather, Call::Iallgather]),
        "allgatherv" => (Collective::Allgather, [Call::Allgatherv, Call::Iallgatherv]),
        "alltoall" => (Collective::Alltoall, [Call::Alltoall, Call::Ialltoall]),
        "alltoallv" => (Collective::Alltoall, [Call::Alltoallv, Call::Ialltoallv]),
        "gather" => (Collective::Gather, [Call::Gather, Call::Igather]),
        "gatherv" => (Collective::Gather, [Call::Gatherv, Call::Igatherv]),
        "scatter" => (Collective::Scatter, [Call::Scatter, Call::Iscatter]),
        "scatterv" => (Collective::Scatter, [Call::Scatterv, Call::Iscatterv]),
        "reduce_scatter" => (
            Collective::ReduceScatter,
            [Call::ReduceScatter, Call::IreduceScatter],
        ),
        "reduce_scatter_block" => (
            Collective::ReduceScatter,
            [Call::ReduceScatterBlock, Call::IreduceScatterBlock],
        ),
        _ => return None,
    })
}

/// The bytes of a collective, and what each rank gives and takes where it varies.
fn amounts(
    r: &Record,
    call: Call,
    own: usize,
    is_root: bool,
    ranks: usize,
) -> Result<(u64, Option<Counts>), String> {
    let sizes = |n: usize, size: i64| -> Result<Vec<u64>, String> {
        let counts = r.array(n).ok_or(
            "the counts of the ranks are not in the trace; this writer of the format records only where they lie",
        )?;
        if counts.len() != ranks {
            return Err(format!(
                "{} counts on a communicator of {ranks} ranks",
                counts.len()
            ));
        }
        counts.iter().map(|count| bytes(*count, size)).collect()
    };
    let varying = |bytes, sends, receives| Ok((bytes, Some(Counts { sends, receives })));
    match call {
        Call::Barrier | Call::Ibarrier => Ok((0, None)),
        // What is sent may be MPI_IN_PLACE, what is received may not.
        Call::Allgather | Call::Iallgather | Call::Alltoall | Call::Ialltoall => {
            Ok((bytes(r.number(1), r.size(1))?, None))
        }
        // At the root, the own part may be MPI_IN_PLACE; elsewhere, the root's arguments mean nothing.
        Call::Gather | Call::Igather if is_root => Ok((bytes(r.number(1), r.size(1))?, None)),
        Call::Scatter | Call::Iscatter if !is_root => Ok((bytes(r.number(1), r.size(1))?, None)),
        Call::Gatherv | Call::Igatherv => {
            let receives = if is_root { sizes(0, r.size(1))? } else { Vec::new() };
            let sent = match receives.get(own) {
                Some(bytes) => *bytes,
                None => bytes(r.number(0), r.size(0))?,
            };
            varying(sent, vec![sent], receives)
        }
        Call::Scatterv | Call::Iscatterv => {
            let sends = if is_root { sizes(0, r.size(0))? } else { Vec::new() };
            let received = match sends.get(own) {
                Some(bytes) => *bytes,
                None => bytes(r.number(0), r.size(1))?,
            };
            varying(received, sends, vec![received])
        }
        Call::Allgatherv | Call::Iallgatherv => {
            let receives = sizes(0, r.size(1))?;
            let sends = receives.get(own).copied().into_iter().collect();
            varying(mean(&receives), sends, receives)
        }
        Call::Alltoallv | Call::Ialltoallv => {
            let receives = sizes(2, r.size(1))?;
            let sends = if IN_PLACE.contains(&r.address(0)) {
                receives.clone()
            } else {
                sizes(0, r.size(0))?
            };
            varying(mean(&sends), sends, receives)
        }
        Call::ReduceScatter | Call::IreduceScatter => {
            let receives = sizes(0, r.size(0))?;
            let total = receives.iter().copied().fold(0, u64::saturating_add);
            varying(total, Vec::new(), receives)
        }
        Call::ReduceScatterBlock | Call::IreduceScatterBlock => {
            let part = bytes(r.number(0), r.size(0))?;
            let total = part.checked_mul(ranks as u64);
            let total = total.ok_or_else(|| format!("{part} bytes for each of {ranks} ranks"))?;
            Ok((total, None))
        }
        _ => Ok((bytes(r.number(0), r.size(0))?, None)),
    }
}

fn mean(sizes: &[u64]) -> u64 {
    let total = sizes.iter().copied().fold(0, u64::saturating_add);
    total.div_ceil(sizes.len().max(1) as u64)
}
