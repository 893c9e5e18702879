//! Communicators and groups of this rank.
//!
//! A communicator has a number for the simulator, which no other of the job has: rank r takes the numbers 1 + r,
//! 1 + r + n, 1 + r + 2n, ... of n ranks, and the first member of a new communicator gives it one. Its members learn the
//! number in the exchange that makes the communicator (MPI 4.1, section 7.4).

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;

use operation::{Call, Collective, Communicator as Number, Operation, Reduction, WORLD};
use rank_channel::{Contribution, Needs};

use crate::abi::{self, class};
use crate::error::{Failure, Handler, Outcome, Reaction};
use crate::process::Process;

/// Bytes of the mask in which MPICH's ranks agree on a context id, and of a colour and key, as recordings are replayed.
const CONTEXT_BYTES: u64 = 256;
const COLOR_BYTES: u64 = 8;

/// A communicator.
#[derive(Debug)]
pub(crate) struct Communicator {
    pub number: Number,
    /// World ranks.
    pub members: Arc<[u32]>,
    /// This rank among them.
    pub rank: usize,
    /// Whether the simulator knows it.
    declared: bool,
    made_by: Call,
    pub error_handler: c_int,
    pub name: String,
    /// Values by key, in the order in which they were set.
    pub attributes: Vec<(c_int, usize)>,
}

impl Communicator {
    fn new(number: Number, members: Arc<[u32]>, own: u32, made_by: Call) -> Communicator {
        Communicator {
            number,
            rank: members.iter().position(|member| *member == own).unwrap_or_default(),
            members,
            declared: number == WORLD,
            made_by,
            error_handler: abi::ERRORS_ARE_FATAL,
            name: String::new(),
            attributes: Vec::new(),
        }
    }

    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// What makes the communicator known to the simulator, the first time.
    pub fn declare(&mut self) -> Option<Operation> {
        let declared = std::mem::replace(&mut self.declared, true);
        (!declared).then(|| Operation::NewCommunicator {
            communicator: self.number,
            members: self.members.to_vec(),
            call: self.made_by,
        })
    }

    /// A peer as the simulator counts it; `None` for `MPI_PROC_NULL`.
    ///
    /// # Errors
    /// There is no such rank.
    pub fn peer(&self, rank: c_int) -> Outcome<Option<u32>> {
        match usize::try_from(rank) {
            Ok(peer) if peer < self.size() => Ok(Some(rank as u32)),
            _ if rank == abi::PROC_NULL => Ok(None),
            _ => Err(Failure::new(
                class::RANK,
                format!("{rank}; expected 0 to {} of the communicator", self.size() - 1),
            )),
        }
    }
}

/// All communicators, groups and error handlers of a process.
#[derive(Debug)]
pub(crate) struct Communicators {
    own: u32,
    ranks: u32,
    /// By index: the world, itself, and those that the program makes.
    all: Vec<Option<Communicator>>,
    /// How many numbers this rank has given.
    given: u32,
    groups: Vec<Option<Arc<[u32]>>>,
    handlers: Vec<Option<Handler>>,
}

/// The handle of the communicator at an index.
fn handle_of(index: usize) -> c_int {
    match index {
        0 => abi::COMM_WORLD,
        1 => abi::COMM_SELF,
        _ => abi::COMM | index as c_int,
    }
}

fn index_of(handle: c_int) -> Option<usize> {
    match handle {
        abi::COMM_WORLD => Some(0),
        abi::COMM_SELF => Some(1),
        _ if handle & !abi::INDEX_BITS == abi::COMM => Some((handle & abi::INDEX_BITS) as usize),
        _ => None,
    }
}

impl Communicators {
    pub fn new(own: u32, ranks: u32) -> Communicators {
        let world: Arc<[u32]> = (0..ranks).collect();
        let mut world = Communicator::new(WORLD, world, own, Call::Other);
        let mut itself = Communicator::new(1 + own, [own].into(), own, Call::Other);
        (world.name, itself.name) = ("MPI_COMM_WORLD".into(), "MPI_COMM_SELF".into());
        Communicators {
            own,
            ranks,
            all: vec![Some(world), Some(itself)],
            given: 1,
            groups: Vec::new(),
            handlers: Vec::new(),
        }
    }

    /// World rank of this process.
    pub fn own(&self) -> u32 {
        self.own
    }

    /// The communicator of a handle.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, handle: c_int) -> Outcome<&Communicator> {
        let found = index_of(handle).and_then(|index| self.all.get(index)?.as_ref());
        found.ok_or_else(|| no_communicator(handle))
    }

    /// As [`Communicators::get`], to change it.
    ///
    /// # Errors
    /// There is none.
    pub fn get_mut(&mut self, handle: c_int) -> Outcome<&mut Communicator> {
        let found = index_of(handle).and_then(|index| self.all.get_mut(index)?.as_mut());
        found.ok_or_else(|| no_communicator(handle))
    }

    fn add(&mut self, communicator: Communicator) -> c_int {
        let free = (2..self.all.len()).find(|index| self.all[*index].is_none());
        let index = free.unwrap_or(self.all.len());
        match free {
            Some(index) => self.all[index] = Some(communicator),
            None => self.all.push(Some(communicator)),
        }
        handle_of(index)
    }

    /// Frees a communicator.
    ///
    /// # Errors
    /// It is predefined, or there is none.
    pub fn remove(&mut self, handle: c_int) -> Outcome<()> {
        self.get(handle)?;
        match index_of(handle) {
            Some(index) if index > 1 => self.all[index] = None,
            _ => return Err(Failure::new(class::COMM, "a predefined communicator cannot be freed")),
        }
        Ok(())
    }

    /// The number of the next communicator that this rank gives one.
    fn offered(&self) -> Number {
        (1 + self.own).saturating_add(self.given.saturating_mul(self.ranks))
    }

    /// What the error handler of a communicator does.
    pub fn reaction(&self, handle: c_int) -> Reaction {
        let handler = self.get(handle).map_or(abi::ERRORS_ARE_FATAL, |c| c.error_handler);
        let made = self.handlers.get((handler & abi::INDEX_BITS) as usize);
        match (handler, made) {
            (abi::ERRORS_RETURN, _) => Reaction::Return,
            (abi::ERRORS_ARE_FATAL | abi::ERRORS_ABORT, _) => Reaction::Fatal,
            (_, Some(Some(handler))) => Reaction::Call(*handler),
            _ => Reaction::Fatal,
        }
    }

    /// A new error handler.
    pub fn add_handler(&mut self, handler: Handler) -> c_int {
        self.handlers.push(Some(handler));
        abi::ERRHANDLER | (self.handlers.len() - 1) as c_int
    }

    /// A new group of world ranks.
    pub fn add_group(&mut self, members: Arc<[u32]>) -> c_int {
        if members.is_empty() {
            return abi::GROUP_EMPTY;
        }
        let free = self.groups.iter().position(Option::is_none);
        let index = free.unwrap_or(self.groups.len());
        match free {
            Some(index) => self.groups[index] = Some(members),
            None => self.groups.push(Some(members)),
        }
        abi::GROUP | index as c_int
    }

    /// World ranks of a group.
    ///
    /// # Errors
    /// There is none.
    pub fn group(&self, handle: c_int) -> Outcome<Arc<[u32]>> {
        if handle == abi::GROUP_EMPTY {
            return Ok([].into());
        }
        let index = (handle & !abi::INDEX_BITS == abi::GROUP).then_some((handle & abi::INDEX_BITS) as usize);
        let found = index.and_then(|index| self.groups.get(index)?.clone());
        found.ok_or_else(|| Failure::new(class::GROUP, format!("there is no group {handle:#x}")))
    }

    /// Frees a group.
    ///
    /// # Errors
    /// There is none.
    pub fn remove_group(&mut self, handle: c_int) -> Outcome<()> {
        self.group(handle)?;
        if let Some(group) = self.groups.get_mut((handle & abi::INDEX_BITS) as usize)
            && handle != abi::GROUP_EMPTY
        {
            *group = None;
        }
        Ok(())
    }
}

fn no_communicator(handle: c_int) -> Failure {
    match handle {
        abi::COMM_NULL => Failure::new(class::COMM, "MPI_COMM_NULL"),
        _ => Failure::new(class::COMM, format!("there is no communicator {handle:#x}")),
    }
}

/// What a member brings to the exchange that makes communicators.
#[derive(Clone, Copy)]
struct Wish {
    color: i32,
    key: i32,
    offered: Number,
}

impl Process {
    /// Takes part in the exchange in which all members of a communicator say a wish. It takes the time of these
    /// collectives.
    fn exchange_wishes(
        &mut self,
        parent: c_int,
        wish: Wish,
        steps: &[(Collective, u64)],
        call: Call,
    ) -> Outcome<Vec<Wish>> {
        if self.communicators.get(parent)?.size() == 1 {
            return Ok(vec![wish]);
        }
        let number = self.simulated(parent)?;
        let said = [
            wish.color.to_le_bytes(),
            wish.key.to_le_bytes(),
            wish.offered.to_le_bytes(),
        ];
        let payload = self.store(&[said.as_flattened()])?;
        let mut wishes = Vec::new();
        for (step, (collective, bytes)) in steps.iter().enumerate() {
            let operation = Operation::Collective {
                collective: *collective,
                communicator: number,
                root: 0,
                bytes: *bytes,
                counts: None,
                request: None,
                reduction: (*collective == Collective::Allreduce).then_some(Reduction::Band),
                call,
            };
            let contribution = match step {
                0 => Contribution {
                    payload,
                    needs: Needs::All,
                },
                _ => Contribution::default(),
            };
            let reply = self.ask(operation, contribution);
            for payload in reply.contributions.into_iter().flat_map(|(_, all)| all) {
                let said = self.load(payload)?;
                let word = |index: usize| -> [u8; 4] {
                    let bytes = said.get(4 * index..4 * index + 4);
                    bytes.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default()
                };
                wishes.push(Wish {
                    color: i32::from_le_bytes(word(0)),
                    key: i32::from_le_bytes(word(1)),
                    offered: u32::from_le_bytes(word(2)),
                });
            }
        }
        Ok(wishes)
    }

    /// The communicator of these members of a parent, by rank there, in this order. The first gives it its number.
    fn make(&mut self, parent: c_int, members: &[usize], wishes: &[Wish], call: Call) -> Outcome<c_int> {
        let from = self.communicators.get(parent)?;
        let error_handler = from.error_handler;
        let world: Arc<[u32]> = members.iter().map(|member| from.members[*member]).collect();
        let own = self.communicators.own;
        let number = wishes[members[0]].offered;
        if number >= 1 << 30 {
            return Err(Failure::new(class::OTHER, "too many communicators were made"));
        }
        if world[0] == own {
            self.communicators.given += 1;
        }
        let communicator = Communicator {
            error_handler,
            ..Communicator::new(number, world, own, call)
        };
        Ok(self.communicators.add(communicator))
    }

    /// `MPI_Comm_split`. No communicator for a colour that is undefined.
    pub fn split(&mut self, parent: c_int, color: Option<i32>, key: i32) -> Outcome<Option<c_int>> {
        let wish = Wish {
            color: color.unwrap_or(-1),
            key,
            offered: self.communicators.offered(),
        };
        let steps = [
            (Collective::Allgather, COLOR_BYTES),
            (Collective::Allreduce, CONTEXT_BYTES),
        ];
        let wishes = self.exchange_wishes(parent, wish, &steps, Call::CommSplit)?;
        let Some(color) = color else { return Ok(None) };
        let same = (0..wishes.len()).filter(|member| wishes[*member].color == color);
        let mut members: Vec<usize> = same.collect();
        // Equal keys keep their order.
        members.sort_by_key(|member| wishes[*member].key);
        self.make(parent, &members, &wishes, Call::CommSplit).map(Some)
    }

    /// `MPI_Comm_dup` without attributes, and what else makes communicators of the same cost: of all members, or of
    /// those of a group.
    pub fn duplicate(
        &mut self,
        parent: c_int,
        members: Option<&[usize]>,
        call: Call,
    ) -> Outcome<Option<c_int>> {
        let wish = Wish {
            color: 0,
            key: 0,
            offered: self.communicators.offered(),
        };
        let steps = [(Collective::Allreduce, CONTEXT_BYTES)];
        let wishes = self.exchange_wishes(parent, wish, &steps, call)?;
        let all: Vec<usize> = (0..wishes.len()).collect();
        let members = members.unwrap_or(&all);
        let own = self.communicators.get(parent)?.rank;
        match members.contains(&own) {
            true => self.make(parent, members, &wishes, call).map(Some),
            false => Ok(None),
        }
    }

    /// How two communicators compare.
    pub fn compare(&self, one: c_int, other: c_int) -> Outcome<c_int> {
        let (first, second) = (self.communicators.get(one)?, self.communicators.get(other)?);
        Ok(match one == other {
            true => abi::IDENT,
            false => match compare_groups(&first.members, &second.members) {
                abi::IDENT => abi::CONGRUENT,
                differ => differ,
            },
        })
    }
}

/// How two groups compare: the same, the same members in another order, or others.
pub(crate) fn compare_groups(one: &[u32], other: &[u32]) -> c_int {
    if one == other {
        return abi::IDENT;
    }
    let sorted = |group: &[u32]| {
        let mut group = group.to_vec();
        group.sort_unstable();
        group
    };
    match sorted(one) == sorted(other) {
        true => abi::SIMILAR,
        false => abi::UNEQUAL,
    }
}

/// The ranks in another group of the members of this one; `MPI_UNDEFINED` for those that it has not.
pub(crate) fn translate(ranks: &[c_int], from: &[u32], to: &[u32]) -> Outcome<Vec<c_int>> {
    let positions: HashMap<u32, c_int> = to.iter().copied().zip(0..).collect();
    let translated = ranks.iter().map(|rank| match *rank {
        abi::PROC_NULL => Ok(abi::PROC_NULL),
        rank => {
            let member = usize::try_from(rank).ok().and_then(|rank| from.get(rank));
            let member = member.ok_or_else(|| Failure::new(class::RANK, format!("{rank} of a group")))?;
            Ok(positions.get(member).copied().unwrap_or(abi::UNDEFINED))
        }
    });
    translated.collect()
}
