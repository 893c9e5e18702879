//! Collectives (MPI 4.1, chapter 6).
//!
//! The simulator decides when a collective ends for a member, by the algorithm that its library would choose. The data
//! does not follow that algorithm: each member brings its contribution, and at the end of the collective copies those
//! that it needs, or combines them in the order of ranks.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use operation::{Call, Collective, Counts, Operation, Reduction};
use rank_channel::{Needs, PostedData};

use crate::abi::{self, MpiStatus, class, is_in_place};
use crate::datatype::Datatype;
use crate::failure::{Failure, Outcome};
use crate::grouped_messages::MessagePlan;
use crate::member_blocks::{MemberBlocks, unpack};
use crate::message::Elements;
use crate::process::{self, Process};
use crate::reduction::Combining;
use crate::request::{ActiveRequest, ContributionPart, Delivery, Rest, parted};

/// A collective of a member.
pub(crate) struct Member {
    pub communicator: c_int,
    pub collective: Collective,
    /// Names of the blocking call and of the non-blocking one.
    pub calls: (Call, Call),
    pub root: c_int,
    pub bytes: u64,
    pub counts: Option<Counts>,
    pub reduction: Option<Reduction>,
    pub brings: Option<Vec<u8>>,
    pub needs: Needs,
    pub part: ContributionPart,
    pub delivery: Delivery,
}

impl Member {
    pub fn new(communicator: c_int, collective: Collective, calls: (Call, Call)) -> Member {
        Member {
            communicator,
            collective,
            calls,
            root: 0,
            bytes: 0,
            counts: None,
            reduction: None,
            brings: None,
            needs: Needs::Nothing,
            part: ContributionPart::Whole,
            delivery: Box::new(|_| Ok(())),
        }
    }
}

/// What a call of a collective does.
pub(crate) enum CollectiveWork {
    Member(Box<Member>),
    /// On intercommunicators and among neighbours: messages in a communicator.
    Messages(c_int, MessagePlan),
}

impl From<Member> for CollectiveWork {
    fn from(member: Member) -> CollectiveWork {
        CollectiveWork::Member(Box::new(member))
    }
}

/// What a member leaves to do: the request of a non-blocking collective, or the rest of a blocking one.
enum BegunMember {
    Pending(ActiveRequest),
    Rest(Rest),
}

fn mean(bytes: &[u64]) -> u64 {
    bytes.iter().sum::<u64>().div_ceil(bytes.len().max(1) as u64)
}

/// A reduction and the elements that it combines.
#[derive(Clone)]
pub(crate) struct Combination {
    pub combining: Combining,
    handle: c_int,
    pub datatype: Rc<Datatype>,
}

impl Combination {
    /// Combines the earlier elements into the later ones.
    pub fn combine(&self, earlier: &[u8], later: &mut [u8]) -> Outcome<()> {
        self.combining
            .apply((self.handle, &self.datatype), earlier, later)
    }

    /// All contributions in the order of ranks; nothing of none.
    pub fn of(&self, contributions: Vec<Vec<u8>>) -> Outcome<Vec<u8>> {
        let mut contributions = contributions.into_iter();
        let Some(mut all) = contributions.next() else {
            return Ok(Vec::new());
        };
        for mut next in contributions {
            if next.len() != all.len() {
                return Err(Failure::new(
                    class::COUNT,
                    "the ranks bring different numbers of elements",
                ));
            }
            self.combine(&all, &mut next)?;
            all = next;
        }
        Ok(all)
    }
}

impl Process {
    /// Rank in a communicator and its size.
    pub fn place(&self, communicator: c_int) -> Outcome<(usize, usize)> {
        let found = self.communicators.get(communicator)?;
        Ok((found.rank, found.size()))
    }

    pub fn root(&self, communicator: c_int, root: c_int) -> Outcome<(usize, usize, bool)> {
        let (rank, size) = self.place(communicator)?;
        match usize::try_from(root) {
            Ok(given) if given < size => Ok((rank, size, given == rank)),
            _ => Err(Failure::new(class::ROOT, root.to_string()).on(communicator)),
        }
    }

    /// Takes part in a collective, under a number if it does not block.
    fn begin_member(&mut self, member: Member, number: Option<u64>) -> Outcome<BegunMember> {
        let Member {
            communicator,
            collective,
            calls,
            root,
            bytes,
            counts,
            reduction,
            brings,
            needs,
            part,
            delivery,
        } = member;
        // A rank alone needs no other.
        if communicator == abi::COMM_SELF {
            let own = match (needs, part) {
                (Needs::Nothing | Needs::Before(0), _) => Vec::new(),
                (_, ContributionPart::Whole) => vec![brings.unwrap_or_default()],
                (_, ContributionPart::Of { .. }) => {
                    vec![brings.map(|own| own[8..].to_vec()).unwrap_or_default()]
                }
            };
            let rest: Rest = Box::new(move || delivery(own).map(|()| None));
            return Ok(match number {
                None => BegunMember::Rest(rest),
                Some(_) => BegunMember::Pending(ActiveRequest::Complete(Ok(MpiStatus::empty()), Some(rest))),
            });
        }
        let payload = match brings {
            Some(bytes) => self.store(&[&bytes])?,
            None => None,
        };
        let operation = Operation::Collective {
            collective,
            communicator: self.simulated(communicator)?,
            root: root as u32,
            bytes,
            counts: counts.map(Box::new),
            request: number,
            reduction,
            call: if number.is_none() { calls.0 } else { calls.1 },
        };
        let contribution = PostedData { payload, needs };
        if number.is_some() {
            self.post_collective(operation, contribution);
            return Ok(BegunMember::Pending(ActiveRequest::Collective(part, delivery)));
        }
        // Who needs nothing goes on. Not from a barrier: what all did before it, also outside of MPI, is done.
        if needs == Needs::Nothing && collective != Collective::Barrier {
            self.post_collective(operation, contribution);
            return Ok(BegunMember::Rest(Box::new(move || {
                delivery(Vec::new()).map(|()| None)
            })));
        }
        let reply = self.ask(operation, contribution);
        let own = reply
            .contributions
            .into_iter()
            .find(|(request, _)| request.is_none());
        let payloads = own.map(|(_, payloads)| payloads).unwrap_or_default();
        let loaded = self.load_contributions(part, payloads)?;
        Ok(BegunMember::Rest(Box::new(move || {
            delivery(loaded).map(|()| None)
        })))
    }

    /// Starts a collective that does not block, under a number.
    pub fn start_work(&mut self, work: CollectiveWork, number: u64) -> Outcome<ActiveRequest> {
        match work {
            CollectiveWork::Member(member) => match self.begin_member(*member, Some(number))? {
                BegunMember::Pending(pending) => Ok(pending),
                BegunMember::Rest(rest) => Ok(ActiveRequest::Complete(Ok(MpiStatus::empty()), Some(rest))),
            },
            CollectiveWork::Messages(communicator, plan) => self.start_messages(communicator, plan),
        }
    }

    pub fn barrier(&mut self, communicator: c_int) -> Outcome<CollectiveWork> {
        if self.is_inter(communicator)? {
            return self.inter_barrier(communicator);
        }
        let calls = (Call::Barrier, Call::Ibarrier);
        Ok(Member::new(communicator, Collective::Barrier, calls).into())
    }

    pub fn broadcast(
        &mut self,
        elements: Elements,
        root: c_int,
        communicator: c_int,
    ) -> Outcome<CollectiveWork> {
        if self.is_inter(communicator)? {
            return self.inter_broadcast(elements, root, communicator);
        }
        let (_, _, is_root) = self.root(communicator, root)?;
        let datatype = self.datatypes.get(elements.datatype)?.clone();
        let member = Member::new(communicator, Collective::Bcast, (Call::Bcast, Call::Ibcast));
        let (buffer, count) = (elements.buffer, elements.count);
        Ok(Member {
            root,
            bytes: elements.bytes(self)?,
            brings: is_root.then(|| elements.pack(self)).transpose()?,
            needs: if is_root {
                Needs::Nothing
            } else {
                Needs::Of(root as u32)
            },
            delivery: Box::new(move |contributions| {
                let bytes = contributions.first().map_or(&[][..], Vec::as_slice);
                unpack(&datatype, buffer, count, bytes)
            }),
            ..member
        }
        .into())
    }

    /// Gather and its variants: blocks of the root, or elements of another member. `in_place` of the root.
    pub fn gather(
        &mut self,
        sent: Elements,
        receives: Option<MemberBlocks>,
        root: c_int,
        communicator: c_int,
        varies: bool,
    ) -> Outcome<CollectiveWork> {
        if self.is_inter(communicator)? {
            return self.inter_gather(sent, receives, root, communicator);
        }
        let (rank, _, is_root) = self.root(communicator, root)?;
        let in_place = is_root && is_in_place(sent.buffer);
        let calls = match varies {
            true => (Call::Gatherv, Call::Igatherv),
            false => (Call::Gather, Call::Igather),
        };
        let at_root = receives.as_ref().map(MemberBlocks::bytes);
        let bytes = match &at_root {
            Some(bytes) => bytes[rank],
            None => sent.bytes(self)?,
        };
        let counts = varies.then(|| Counts::new(vec![bytes], at_root.clone().unwrap_or_default()));
        Ok(Member {
            root,
            bytes,
            counts,
            brings: (!in_place).then(|| sent.pack(self)).transpose()?,
            needs: if is_root { Needs::All } else { Needs::Nothing },
            delivery: Box::new(move |contributions| match receives {
                Some(receives) => receives.fill(&contributions, in_place.then_some(rank)),
                None => Ok(()),
            }),
            ..Member::new(communicator, Collective::Gather, calls)
        }
        .into())
    }

    /// Scatter and its variants: blocks of the root, and where a member receives its own.
    pub fn scatter(
        &mut self,
        sends: Option<MemberBlocks>,
        received: Elements,
        root: c_int,
        communicator: c_int,
        varies: bool,
    ) -> Outcome<CollectiveWork> {
        if self.is_inter(communicator)? {
            return self.inter_scatter(sends, received, root, communicator);
        }
        let (rank, size, is_root) = self.root(communicator, root)?;
        let calls = match varies {
            true => (Call::Scatterv, Call::Iscatterv),
            false => (Call::Scatter, Call::Iscatter),
        };
        let at_root = sends.as_ref().map(MemberBlocks::bytes);
        let bytes = match &at_root {
            Some(bytes) => bytes[rank],
            None => received.bytes(self)?,
        };
        let counts = varies.then(|| Counts::new(at_root.clone().unwrap_or_default(), vec![bytes]));
        let in_place = is_in_place(received.buffer);
        let own = sends.as_ref().filter(|_| !in_place).map(|sends| sends.pack(rank));
        let datatype = match in_place {
            true => None,
            false => Some(self.datatypes.get(received.datatype)?.clone()),
        };
        let (buffer, count) = (received.buffer, received.count);
        Ok(Member {
            root,
            bytes,
            counts,
            brings: sends.map(|sends| parted(&sends.pack_all())),
            needs: if is_root {
                Needs::Nothing
            } else {
                Needs::Of(root as u32)
            },
            part: ContributionPart::Of {
                member: rank,
                members: size,
            },
            delivery: Box::new(move |contributions| {
                let part = contributions.into_iter().next().or(own);
                match (datatype, part) {
                    (Some(datatype), Some(part)) => unpack(&datatype, buffer, count, &part),
                    _ => Ok(()),
                }
            }),
            ..Member::new(communicator, Collective::Scatter, calls)
        }
        .into())
    }

    /// Allgather and its variants.
    pub fn allgather(
        &mut self,
        sent: Elements,
        receives: MemberBlocks,
        communicator: c_int,
        varies: bool,
    ) -> Outcome<CollectiveWork> {
        if self.is_inter(communicator)? {
            return self.inter_allgather(sent, receives, communicator);
        }
        let (rank, _) = self.place(communicator)?;
        let in_place = is_in_place(sent.buffer);
        let calls = match varies {
            true => (Call::Allgatherv, Call::Iallgatherv),
            false => (Call::Allgather, Call::Iallgather),
        };
        let bytes = receives.bytes();
        let brings = match in_place {
            true => receives.pack(rank),
            false => sent.pack(self)?,
        };
        Ok(Member {
            bytes: if varies { mean(&bytes) } else { bytes[rank] },
            counts: varies.then(|| Counts::new(vec![bytes[rank]], bytes.clone())),
            brings: Some(brings),
            needs: Needs::All,
            delivery: Box::new(move |contributions| receives.fill(&contributions, in_place.then_some(rank))),
            ..Member::new(communicator, Collective::Allgather, calls)
        }
        .into())
    }

    /// Alltoall and its variants. Without blocks to send it is in place.
    pub fn alltoall(
        &mut self,
        sends: Option<MemberBlocks>,
        receives: MemberBlocks,
        communicator: c_int,
        varies: bool,
    ) -> Outcome<CollectiveWork> {
        if self.is_inter(communicator)? {
            return self.inter_alltoall(sends, receives, communicator);
        }
        let (rank, size) = self.place(communicator)?;
        let calls = match varies {
            true => (Call::Alltoallv, Call::Ialltoallv),
            false => (Call::Alltoall, Call::Ialltoall),
        };
        let from = sends.as_ref().unwrap_or(&receives);
        let (sent, received) = (from.bytes(), receives.bytes());
        Ok(Member {
            bytes: if varies { mean(&sent) } else { received[rank] },
            counts: varies.then(|| Counts::new(sent, received.clone())),
            brings: Some(parted(&from.pack_all())),
            needs: Needs::All,
            part: ContributionPart::Of {
                member: rank,
                members: size,
            },
            delivery: Box::new(move |contributions| receives.fill(&contributions, None)),
            ..Member::new(communicator, Collective::Alltoall, calls)
        }
        .into())
    }

    pub fn combination(&self, elements: Elements, operation: c_int) -> Outcome<Combination> {
        let combining = self.operations.get(operation)?;
        let datatype = self.datatypes.get(elements.datatype)?.clone();
        combining.check(&datatype)?;
        Ok(Combination {
            combining,
            handle: elements.datatype,
            datatype,
        })
    }

    /// Reduce, or without a root allreduce. `sent` may be in place.
    pub fn reduce(
        &mut self,
        sent: *const c_void,
        received: Elements,
        operation: c_int,
        root: Option<c_int>,
        communicator: c_int,
    ) -> Outcome<CollectiveWork> {
        if self.is_inter(communicator)? {
            return self.inter_reduce(sent, received, operation, root, communicator);
        }
        let is_root = match root {
            Some(root) => self.root(communicator, root)?.2,
            None => true,
        };
        self.place(communicator)?;
        let (collective, calls) = match root {
            Some(_) => (Collective::Reduce, (Call::Reduce, Call::Ireduce)),
            None => (Collective::Allreduce, (Call::Allreduce, Call::Iallreduce)),
        };
        let combination = self.combination(received, operation)?;
        let brings = brought(sent, received).pack(self)?;
        let (buffer, count) = (received.buffer, received.count);
        Ok(Member {
            root: root.unwrap_or(0),
            bytes: brings.len() as u64,
            reduction: combination.combining.named(),
            brings: Some(brings),
            needs: if is_root { Needs::All } else { Needs::Nothing },
            delivery: Box::new(move |contributions| match is_root {
                false => Ok(()),
                true => {
                    let all = combination.of(contributions)?;
                    unpack(&combination.datatype, buffer, count, &all)
                }
            }),
            ..Member::new(communicator, collective, calls)
        }
        .into())
    }

    /// Scan and exscan.
    pub fn scan(
        &mut self,
        sent: *const c_void,
        received: Elements,
        operation: c_int,
        communicator: c_int,
        is_exclusive: bool,
    ) -> Outcome<CollectiveWork> {
        if self.is_inter(communicator)? {
            let text = "an intercommunicator has no scans";
            return Err(Failure::new(class::COMM, text).on(communicator));
        }
        let (rank, _) = self.place(communicator)?;
        let (collective, calls) = match is_exclusive {
            true => (Collective::Exscan, (Call::Exscan, Call::Iexscan)),
            false => (Collective::Scan, (Call::Scan, Call::Iscan)),
        };
        let combination = self.combination(received, operation)?;
        let brings = brought(sent, received).pack(self)?;
        let own = brings.clone();
        let (buffer, count) = (received.buffer, received.count);
        Ok(Member {
            bytes: brings.len() as u64,
            reduction: combination.combining.named(),
            brings: Some(brings),
            needs: match (rank, is_exclusive) {
                (0, _) => Needs::Nothing,
                _ => Needs::Before(rank as u32),
            },
            delivery: Box::new(move |mut contributions| {
                if !is_exclusive {
                    contributions.push(own);
                }
                if contributions.is_empty() {
                    return Ok(());
                }
                let all = combination.of(contributions)?;
                unpack(&combination.datatype, buffer, count, &all)
            }),
            ..Member::new(communicator, collective, calls)
        }
        .into())
    }

    /// Reduce-scatter, with the elements of each member's part; `equal` for the variant with one count for all.
    pub fn reduce_scatter(
        &mut self,
        sent: *const c_void,
        (received, counts): (Elements, Vec<usize>),
        operation: c_int,
        communicator: c_int,
        equal: bool,
    ) -> Outcome<CollectiveWork> {
        if self.is_inter(communicator)? {
            return self.inter_reduce_scatter(sent, (received, counts), operation, communicator);
        }
        let (rank, _) = self.place(communicator)?;
        let total = Elements {
            count: counts.iter().sum(),
            ..received
        };
        let combination = self.combination(total, operation)?;
        let brings = brought(sent, total).pack(self)?;
        let datatype = &combination.datatype;
        let start = datatype.bytes(counts[..rank].iter().sum());
        let end = start + datatype.bytes(counts[rank]);
        let by_member: Vec<u64> = counts.iter().map(|count| datatype.bytes(*count) as u64).collect();
        let (buffer, count) = (received.buffer, counts[rank]);
        let calls = match equal {
            true => (Call::ReduceScatterBlock, Call::IreduceScatterBlock),
            false => (Call::ReduceScatter, Call::IreduceScatter),
        };
        Ok(Member {
            bytes: brings.len() as u64,
            counts: (!equal).then(|| Counts::new(Vec::new(), by_member)),
            reduction: combination.combining.named(),
            brings: Some(brings),
            needs: Needs::All,
            delivery: Box::new(move |contributions| {
                let all = combination.of(contributions)?;
                let own = all.get(start..end).unwrap_or(&[]);
                unpack(&combination.datatype, buffer, count, own)
            }),
            ..Member::new(communicator, Collective::ReduceScatter, calls)
        }
        .into())
    }
}

/// What a member of a reduction brings: what it sends, or the receive buffer in place.
pub(crate) fn brought(sent: *const c_void, received: Elements) -> Elements {
    match is_in_place(sent) {
        true => received,
        false => Elements {
            buffer: sent.cast_mut(),
            ..received
        },
    }
}

/// Whether a call of a collective waits for its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallBlocks {
    Yes,
    No,
}

/// Runs a blocking or non-blocking collective: the request, or `MPI_REQUEST_NULL`.
pub(crate) fn run<W>(
    communicator: c_int,
    blocks: CallBlocks,
    prepare: impl FnOnce(&mut Process) -> Outcome<W>,
) -> Outcome<c_int>
where
    W: Fn(&mut Process) -> Outcome<CollectiveWork>,
{
    let act = || {
        if blocks == CallBlocks::No {
            return process::with(|p| {
                let work = prepare(p)?(p)?;
                p.numbered(|p, number| p.start_work(work, number))
            });
        }
        let rest = process::with(|p| match prepare(p)?(p)? {
            CollectiveWork::Member(member) => match p.begin_member(*member, None)? {
                BegunMember::Rest(rest) => Ok(rest),
                BegunMember::Pending(_) => {
                    Err(Failure::new(class::INTERN, "a blocking collective is pending"))
                }
            },
            CollectiveWork::Messages(communicator, plan) => p.exchange_messages(communicator, plan),
        })?;
        rest().map(|_| abi::REQUEST_NULL)
    };
    act().map_err(|failure| failure.on(communicator))
}

/// Makes a persistent collective (MPI 4.1, section 6.13), which begins again at each start.
pub(crate) fn persistent<W>(
    communicator: c_int,
    prepare: impl FnOnce(&mut Process) -> Outcome<W>,
) -> Outcome<c_int>
where
    W: Fn(&mut Process) -> Outcome<CollectiveWork> + 'static,
{
    let made = process::with(|p| {
        let work = prepare(p)?;
        Ok(p.add_persistent(Box::new(move |p, number| {
            let work = work(p)?;
            p.start_work(work, number)
        })))
    });
    made.map_err(|failure| failure.on(communicator))
}
