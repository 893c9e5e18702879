//! Communicators and groups of this rank.
//!
//! A communicator has a number for the simulator, which no other of the job has: rank r takes the numbers 1 + r,
//! 1 + r + n, 1 + r + 2n, ... of n ranks, and the first member of a new communicator gives it one. Its members learn
//! the number in the exchange that makes the communicator (MPI 4.1, section 7.4). The next number of the same rank is
//! that of messages which the library itself sends among the members, apart from those of the program.

use std::collections::HashMap;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use operation::{Call, Communicator as Number, Operation, WORLD};

use crate::abi::{self, class};
use crate::error_handlers;
use crate::failure::{Failure, Outcome, Reaction};
use crate::topology::VirtualTopology;

/// The other group of an intercommunicator.
#[derive(Clone, Debug)]
pub(crate) struct RemoteGroup {
    /// World ranks.
    pub members: Arc<[u32]>,
    /// Whether the simulator counts this rank's group first.
    pub local_first: bool,
}

/// Whose messages in a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageSpace {
    Program,
    Library,
}

/// A communicator.
#[derive(Debug)]
pub(crate) struct Communicator {
    pub number: Number,
    /// World ranks of this rank's group.
    pub members: Arc<[u32]>,
    /// This rank among them.
    pub rank: usize,
    /// Of an intercommunicator.
    pub remote: Option<RemoteGroup>,
    pub topology: Option<Rc<VirtualTopology>>,
    /// Whether the simulator knows its numbers, for the program and for the library.
    declared: [bool; 2],
    made_by: Call,
    pub error_handler: c_int,
    pub name: String,
    /// Values by key, in the order in which they were set.
    pub attributes: Vec<(c_int, usize)>,
    /// Hints, by key.
    pub hints: Vec<(String, String)>,
    /// Address and bytes of the buffer for buffered sends.
    pub send_buffer: Option<(usize, i64)>,
}

impl Communicator {
    pub fn new(number: Number, members: Arc<[u32]>, own: u32, made_by: Call) -> Communicator {
        Communicator {
            number,
            rank: members
                .iter()
                .position(|member| *member == own)
                .unwrap_or_default(),
            members,
            remote: None,
            topology: None,
            declared: [number == WORLD, false],
            made_by,
            error_handler: abi::ERRORS_ARE_FATAL,
            name: String::new(),
            attributes: Vec::new(),
            hints: Vec::new(),
            send_buffer: None,
        }
    }

    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// The number under which the simulator has messages, of `ranks` in the job.
    fn number_of(&self, space: MessageSpace, ranks: u32) -> Number {
        match (space, self.number) {
            (MessageSpace::Program, number) => number,
            (MessageSpace::Library, WORLD) => 1 + WORLD_LIBRARY * ranks,
            (MessageSpace::Library, number) => number + ranks,
        }
    }

    /// The number of the communicator, and what makes it known to the simulator the first time.
    pub fn declare(&mut self, space: MessageSpace, ranks: u32) -> (Number, Option<Operation>) {
        let number = self.number_of(space, ranks);
        let declared = std::mem::replace(&mut self.declared[space as usize], true);
        let members = || match &self.remote {
            None => self.members.to_vec(),
            Some(remote) => {
                let (first, second) = match remote.local_first {
                    true => (&self.members, &remote.members),
                    false => (&remote.members, &self.members),
                };
                first.iter().chain(second.iter()).copied().collect()
            }
        };
        let undeclared = (!declared).then(|| Operation::NewCommunicator {
            communicator: number,
            members: members(),
            call: self.made_by,
        });
        (number, undeclared)
    }

    /// World ranks of those to whom messages go.
    pub fn peers(&self) -> &Arc<[u32]> {
        self.remote
            .as_ref()
            .map_or(&self.members, |remote| &remote.members)
    }

    /// What the simulator counts before the first peer.
    pub fn peer_offset(&self) -> u32 {
        match &self.remote {
            Some(RemoteGroup {
                local_first: true, ..
            }) => self.members.len() as u32,
            _ => 0,
        }
    }

    /// A peer as the simulator counts it; `None` for `MPI_PROC_NULL`.
    ///
    /// # Errors
    /// There is no such rank.
    pub fn peer(&self, rank: c_int) -> Outcome<Option<u32>> {
        let peers = self.peers().len();
        match usize::try_from(rank) {
            Ok(peer) if peer < peers => Ok(Some(rank as u32 + self.peer_offset())),
            _ if rank == abi::PROC_NULL => Ok(None),
            _ => Err(Failure::new(
                class::RANK,
                format!("{rank}; expected 0 to {} of the communicator", peers as i64 - 1),
            )),
        }
    }
}

/// Numbers that every rank has for itself and for the world: which of its own.
const ITSELF: u32 = 0;
const WORLD_LIBRARY: u32 = 2;
const FIRST_MADE: u32 = 4;

/// All communicators and groups of a process.
#[derive(Debug)]
pub(crate) struct CommunicatorTable {
    own: u32,
    ranks: u32,
    /// By index: the world, itself, and those that the program makes.
    all: Vec<Option<Communicator>>,
    /// How many numbers this rank has given, with those that it has for itself.
    given: u32,
    groups: Vec<Option<Arc<[u32]>>>,
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

impl CommunicatorTable {
    pub fn new(own: u32, ranks: u32) -> CommunicatorTable {
        let world: Arc<[u32]> = (0..ranks).collect();
        let mut world = Communicator::new(WORLD, world, own, Call::Other);
        let mut itself = Communicator::new(1 + own + ITSELF * ranks, [own].into(), own, Call::Other);
        (world.name, itself.name) = ("MPI_COMM_WORLD".into(), "MPI_COMM_SELF".into());
        CommunicatorTable {
            own,
            ranks,
            all: vec![Some(world), Some(itself)],
            given: FIRST_MADE,
            groups: Vec::new(),
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

    /// As [`CommunicatorTable::get`], to change it.
    ///
    /// # Errors
    /// There is none.
    pub fn get_mut(&mut self, handle: c_int) -> Outcome<&mut Communicator> {
        let found = index_of(handle).and_then(|index| self.all.get_mut(index)?.as_mut());
        found.ok_or_else(|| no_communicator(handle))
    }

    /// A new communicator.
    pub fn add(&mut self, communicator: Communicator) -> c_int {
        let free = (2..self.all.len()).find(|index| self.all[*index].is_none());
        let index = free.unwrap_or(self.all.len());
        match free {
            Some(index) => self.all[index] = Some(communicator),
            None => self.all.push(Some(communicator)),
        }
        handle_of(index)
    }

    /// This rank has given a number, and the next one for the library.
    pub fn give(&mut self) {
        self.given += 2;
    }

    /// Number of ranks of the job.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Frees a communicator.
    ///
    /// # Errors
    /// It is predefined, or there is none.
    pub fn remove(&mut self, handle: c_int) -> Outcome<()> {
        self.get(handle)?;
        match index_of(handle) {
            Some(index) if index > 1 => self.all[index] = None,
            _ => {
                return Err(Failure::new(
                    class::COMM,
                    "a predefined communicator cannot be freed",
                ));
            }
        }
        Ok(())
    }

    /// The number of the next communicator that this rank gives one.
    pub fn offered(&self) -> Number {
        (1 + self.own).saturating_add(self.given.saturating_mul(self.ranks))
    }

    /// The communicator whose error handler takes what belongs to none: `MPI_COMM_SELF`, or the world where only that
    /// has another handler than the first one, as programs of MPI 3 set it for this.
    pub fn without_object(&self) -> c_int {
        match self.get(abi::COMM_SELF) {
            Ok(own) if own.error_handler != abi::ERRORS_ARE_FATAL => abi::COMM_SELF,
            _ => abi::COMM_WORLD,
        }
    }

    /// What the error handler of a communicator does.
    pub fn reaction(&self, handle: c_int) -> Reaction {
        // What happens outside of a communicator is for this rank alone.
        let own = self.get(handle).or_else(|_| self.get(abi::COMM_SELF));
        error_handlers::reaction_of(own.map_or(abi::ERRORS_ARE_FATAL, |own| own.error_handler))
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
