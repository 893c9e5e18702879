//! Collectives (MPI 4.1, chapter 6).
//!
//! The simulator decides when a collective ends for a member, by the algorithm that its library would choose. The data
//! does not follow that algorithm: each member brings its contribution, and at the end of the collective copies those
//! that it needs, or combines them in the order of ranks.

use std::ffi::{c_int, c_void};

use operation::{Call, Collective, Counts, Operation, Reduction};
use rank_channel::{Needs, PostedData};

use crate::abi::{self, MpiStatus, class, is_in_place};
use crate::datatype::{Datatype, element};
use crate::failure::{Failure, Outcome};
use crate::point_to_point::Elements;
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
    fn new(communicator: c_int, collective: Collective, calls: (Call, Call)) -> Member {
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

/// What a collective leaves to do: the request of a non-blocking one, or the rest of a blocking one.
pub(crate) enum Begun {
    Request(c_int),
    Rest(Rest),
}

impl Begun {
    /// Does the rest; `MPI_REQUEST_NULL` for a blocking collective. Called while nothing is locked.
    pub fn finish(self) -> Outcome<c_int> {
        match self {
            Begun::Request(request) => Ok(request),
            Begun::Rest(rest) => rest().map(|()| abi::REQUEST_NULL),
        }
    }
}

/// An address that a delivery uses later.
#[derive(Clone, Copy)]
struct Address(*mut c_void);

// Safety: only the thread of the call uses it.
unsafe impl Send for Address {}

impl Address {
    fn get(self) -> *mut c_void {
        self.0
    }
}

/// Copies into a buffer what one member has brought.
fn unpack(datatype: &Datatype, buffer: *mut c_void, count: usize, bytes: &[u8]) -> Outcome<()> {
    if bytes.len() > datatype.bytes(count) {
        let text = format!(
            "{} bytes for a buffer of {} bytes",
            bytes.len(),
            datatype.bytes(count)
        );
        return Err(Failure::new(class::TRUNCATE, text));
    }
    // Safety: the program gave the buffer with this count.
    unsafe { datatype.unpack(bytes, buffer) };
    Ok(())
}

/// The blocks of a buffer that has one for each member.
#[derive(Clone)]
pub(crate) struct MemberBlocks {
    buffer: Address,
    datatype: Datatype,
    /// Elements of each block, and where it begins, in extents.
    blocks: Vec<(usize, isize)>,
}

impl MemberBlocks {
    /// Equal blocks, one after the other.
    ///
    /// # Errors
    /// There is no such datatype.
    pub fn equal(process: &Process, elements: Elements, members: usize) -> Outcome<MemberBlocks> {
        Ok(MemberBlocks {
            buffer: Address(elements.buffer),
            datatype: process.datatypes.get(elements.datatype)?.clone(),
            blocks: (0..members)
                .map(|member| (elements.count, (member * elements.count) as isize))
                .collect(),
        })
    }

    /// Blocks with counts and displacements of their own.
    ///
    /// # Errors
    /// There is no such datatype, or a count is negative.
    pub fn varying(
        process: &Process,
        (buffer, datatype): (*const c_void, c_int),
        counts: &[c_int],
        displacements: &[c_int],
    ) -> Outcome<MemberBlocks> {
        let blocks = counts.iter().zip(displacements).map(|(count, displacement)| {
            let count = usize::try_from(*count).map_err(|_| Failure::new(class::COUNT, count.to_string()))?;
            Ok((count, *displacement as isize))
        });
        Ok(MemberBlocks {
            buffer: Address(buffer.cast_mut()),
            datatype: process.datatypes.get(datatype)?.clone(),
            blocks: blocks.collect::<Outcome<_>>()?,
        })
    }

    fn pack(&self, member: usize) -> Vec<u8> {
        let (count, displacement) = self.blocks[member];
        let at = element(self.buffer.get(), self.datatype.extent, displacement);
        // Safety: the program gave the buffer with these blocks.
        unsafe { self.datatype.pack(at, count) }
    }

    fn pack_all(&self) -> Vec<Vec<u8>> {
        (0..self.blocks.len()).map(|member| self.pack(member)).collect()
    }

    fn unpack(&self, member: usize, bytes: &[u8]) -> Outcome<()> {
        let (count, displacement) = self.blocks[member];
        let at = element(self.buffer.get(), self.datatype.extent, displacement);
        unpack(&self.datatype, at, count, bytes)
    }

    /// Copies what all have brought, but for one that is in place.
    fn fill(&self, contributions: &[Vec<u8>], in_place: Option<usize>) -> Outcome<()> {
        let others = contributions
            .iter()
            .enumerate()
            .filter(|(member, _)| Some(*member) != in_place);
        others
            .into_iter()
            .try_for_each(|(member, bytes)| self.unpack(member, bytes))
    }

    fn bytes(&self) -> Vec<u64> {
        self.blocks
            .iter()
            .map(|(count, _)| self.datatype.bytes(*count) as u64)
            .collect()
    }
}

fn mean(bytes: &[u64]) -> u64 {
    bytes.iter().sum::<u64>().div_ceil(bytes.len().max(1) as u64)
}

/// A reduction and the elements that it combines.
#[derive(Clone)]
struct Combination {
    combining: Combining,
    handle: c_int,
    datatype: Datatype,
}

impl Combination {
    /// All contributions in the order of ranks; nothing of none.
    fn of(&self, contributions: Vec<Vec<u8>>) -> Outcome<Vec<u8>> {
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
            self.combining
                .apply((self.handle, &self.datatype), &all, &mut next)?;
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

    fn root(&self, communicator: c_int, root: c_int) -> Outcome<(usize, usize, bool)> {
        let (rank, size) = self.place(communicator)?;
        match usize::try_from(root) {
            Ok(given) if given < size => Ok((rank, size, given == rank)),
            _ => Err(Failure::new(class::ROOT, root.to_string()).on(communicator)),
        }
    }

    /// Takes part in a collective.
    pub fn begin(&mut self, member: Member, blocks: bool) -> Outcome<Begun> {
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
            let rest: Rest = Box::new(move || delivery(own));
            return Ok(match blocks {
                true => Begun::Rest(rest),
                false => {
                    let complete = ActiveRequest::Complete(MpiStatus::empty());
                    let request = self.requests.add(Some(complete), false);
                    self.requests.early.push((request, rest));
                    Begun::Request(request)
                }
            });
        }
        let payload = match brings {
            Some(bytes) => self.store(&[&bytes])?,
            None => None,
        };
        let number = (!blocks).then(|| self.requests.next_number());
        let operation = Operation::Collective {
            collective,
            communicator: self.simulated(communicator)?,
            root: root as u32,
            bytes,
            counts: counts.map(Box::new),
            request: number,
            reduction,
            call: if blocks { calls.0 } else { calls.1 },
        };
        let contribution = PostedData { payload, needs };
        if !blocks {
            self.post_collective(operation, contribution);
            let pending = ActiveRequest::Collective(part, delivery);
            return Ok(Begun::Request(self.requests.add(Some(pending), false)));
        }
        // Who needs nothing goes on. Not from a barrier: what all did before it, also outside of MPI, is done.
        if needs == Needs::Nothing && collective != Collective::Barrier {
            self.post_collective(operation, contribution);
            return Ok(Begun::Rest(Box::new(move || delivery(Vec::new()))));
        }
        let reply = self.ask(operation, contribution);
        let own = reply
            .contributions
            .into_iter()
            .find(|(request, _)| request.is_none());
        let payloads = own.map(|(_, payloads)| payloads).unwrap_or_default();
        let loaded = self.load_contributions(part, payloads)?;
        Ok(Begun::Rest(Box::new(move || delivery(loaded))))
    }

    pub fn barrier(&mut self, communicator: c_int) -> Outcome<Member> {
        self.place(communicator)?;
        let calls = (Call::Barrier, Call::Ibarrier);
        Ok(Member::new(communicator, Collective::Barrier, calls))
    }

    pub fn broadcast(&mut self, elements: Elements, root: c_int, communicator: c_int) -> Outcome<Member> {
        let (_, _, is_root) = self.root(communicator, root)?;
        let datatype = self.datatypes.get(elements.datatype)?.clone();
        let member = Member::new(communicator, Collective::Bcast, (Call::Bcast, Call::Ibcast));
        let (buffer, count) = (Address(elements.buffer), elements.count);
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
                unpack(&datatype, buffer.get(), count, bytes)
            }),
            ..member
        })
    }

    /// Gather and its variants: blocks of the root, or elements of another member. `in_place` of the root.
    pub fn gather(
        &mut self,
        sent: Elements,
        receives: Option<MemberBlocks>,
        root: c_int,
        communicator: c_int,
        varies: bool,
    ) -> Outcome<Member> {
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
        })
    }

    /// Scatter and its variants: blocks of the root, and where a member receives its own.
    pub fn scatter(
        &mut self,
        sends: Option<MemberBlocks>,
        received: Elements,
        root: c_int,
        communicator: c_int,
        varies: bool,
    ) -> Outcome<Member> {
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
        let (buffer, count) = (Address(received.buffer), received.count);
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
                    (Some(datatype), Some(part)) => unpack(&datatype, buffer.get(), count, &part),
                    _ => Ok(()),
                }
            }),
            ..Member::new(communicator, Collective::Scatter, calls)
        })
    }

    /// Allgather and its variants.
    pub fn allgather(
        &mut self,
        sent: Elements,
        receives: MemberBlocks,
        communicator: c_int,
        varies: bool,
    ) -> Outcome<Member> {
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
        })
    }

    /// Alltoall and its variants. Without blocks to send it is in place.
    pub fn alltoall(
        &mut self,
        sends: Option<MemberBlocks>,
        receives: MemberBlocks,
        communicator: c_int,
        varies: bool,
    ) -> Outcome<Member> {
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
        })
    }

    fn combination(&self, elements: Elements, operation: c_int) -> Outcome<Combination> {
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
    ) -> Outcome<Member> {
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
        let (buffer, count) = (Address(received.buffer), received.count);
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
                    unpack(&combination.datatype, buffer.get(), count, &all)
                }
            }),
            ..Member::new(communicator, collective, calls)
        })
    }

    /// Scan and exscan.
    pub fn scan(
        &mut self,
        sent: *const c_void,
        received: Elements,
        operation: c_int,
        communicator: c_int,
        is_exclusive: bool,
    ) -> Outcome<Member> {
        let (rank, _) = self.place(communicator)?;
        let (collective, calls) = match is_exclusive {
            true => (Collective::Exscan, (Call::Exscan, Call::Iexscan)),
            false => (Collective::Scan, (Call::Scan, Call::Iscan)),
        };
        let combination = self.combination(received, operation)?;
        let brings = brought(sent, received).pack(self)?;
        let own = brings.clone();
        let (buffer, count) = (Address(received.buffer), received.count);
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
                unpack(&combination.datatype, buffer.get(), count, &all)
            }),
            ..Member::new(communicator, collective, calls)
        })
    }

    /// Reduce-scatter, with the elements of each member's part; `equal` for the variant with one count for all.
    pub fn reduce_scatter(
        &mut self,
        sent: *const c_void,
        (received, counts): (Elements, Vec<usize>),
        operation: c_int,
        communicator: c_int,
        equal: bool,
    ) -> Outcome<Member> {
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
        let (buffer, count) = (Address(received.buffer), counts[rank]);
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
                unpack(&combination.datatype, buffer.get(), count, own)
            }),
            ..Member::new(communicator, Collective::ReduceScatter, calls)
        })
    }
}

/// What a member of a reduction brings: what it sends, or the receive buffer in place.
fn brought(sent: *const c_void, received: Elements) -> Elements {
    match is_in_place(sent) {
        true => received,
        false => Elements {
            buffer: sent.cast_mut(),
            ..received
        },
    }
}

/// Runs a blocking or non-blocking collective: the request, or `MPI_REQUEST_NULL`.
pub(crate) fn run(
    communicator: c_int,
    blocks: bool,
    prepare: impl FnOnce(&mut Process) -> Outcome<Member>,
) -> Outcome<c_int> {
    let begun = process::with(|process| {
        let member = prepare(process)?;
        process.begin(member, blocks)
    });
    begun
        .and_then(Begun::finish)
        .map_err(|failure| failure.on(communicator))
}
