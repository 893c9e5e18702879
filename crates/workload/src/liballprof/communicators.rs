//! Members of communicators.
//!
//! A call names its communicator by a handle, with its size and the caller's rank in it. The call that creates
//! a communicator records the address of the handle, not the handle. A new handle is therefore assigned to a
//! communicator without a handle that the rank has created and not freed, or to that of all ranks, if size and
//! rank agree. It is an error if no communicator agrees, or several with different members.
//!
//! Communicators with the same members in the same order are one here, since handles cannot tell them apart.
//! Colours and keys of `MPI_Comm_split` are collected from all members of the parent; members of other new
//! communicators are not recorded.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::files::AllprofFile;
use super::record::{AllprofRecord, CommArgument};
use crate::TraceError;
use crate::mpi_calls::communicators::{CommunicatorAssembly, split};
use crate::mpi_calls::{CommunicatorRef, Communicators};

/// The effect of a call on communicators.
#[derive(Clone, Debug)]
pub enum CommunicatorChange {
    /// `MPI_Comm_split`: the address of the child, colour and key.
    Split { child: u64, color: i64, key: i64 },
    /// `MPI_Comm_dup`: the address of the child.
    Dup { child: u64 },
    /// Creates a communicator whose members are not recorded.
    Unrecorded,
    /// Frees a communicator.
    Free { child: u64 },
}

impl CommunicatorChange {
    /// The effect of a call; `None` for other calls.
    pub fn of(record: &AllprofRecord) -> Option<CommunicatorChange> {
        Some(match record.function.name {
            "MPI_Comm_split" => CommunicatorChange::Split {
                child: record.last_address(),
                color: record.number(0),
                key: record.number(1),
            },
            "MPI_Comm_dup" | "MPI_Comm_dup_with_info" => CommunicatorChange::Dup {
                child: record.last_address(),
            },
            "MPI_Comm_create"
            | "MPI_Comm_split_type"
            | "MPI_Cart_create"
            | "MPI_Cart_sub"
            | "MPI_Graph_create" => CommunicatorChange::Unrecorded,
            "MPI_Comm_free" | "MPI_Comm_disconnect" => CommunicatorChange::Free {
                child: record.last_address(),
            },
            _ => return None,
        })
    }
}

/// A communicator that a rank has created and not freed.
#[derive(Debug)]
struct LiveCommunicator {
    /// Address of its handle.
    address: u64,
    group: u32,
    /// The handle assigned to it.
    handle: Option<CommArgument>,
}

/// The meaning of the handles of one rank at one point of its calls.
#[derive(Debug, Default)]
pub struct KnownHandles {
    known: BTreeMap<CommArgument, u32>,
    /// Whether the handle of the communicator of all ranks is known.
    world: bool,
    made: Vec<LiveCommunicator>,
    /// Place of the first call that created a communicator with unrecorded members.
    unrecorded: Option<String>,
    /// Whether several handles have had the same members.
    merged: bool,
}

impl KnownHandles {
    /// The communicator of a handle.
    ///
    /// # Errors
    /// It cannot be determined.
    pub fn resolve(
        &mut self,
        comm: CommArgument,
        rank: u32,
        groups: &[Vec<u32>],
    ) -> Result<CommunicatorRef, String> {
        let ranks = groups[0].len() as u32;
        if comm.size == 1 && ranks > 1 {
            return Ok(CommunicatorRef::SelfOnly(groups.len() as u32));
        }
        if let Some(group) = self.known.get(&comm) {
            return Ok(CommunicatorRef::Group(*group));
        }
        let group = self.candidate(comm, rank, groups).map_err(|message| {
            format!(
                "communicator {} of {} ranks, in which this is rank {}: {message}",
                comm.handle, comm.size, comm.rank
            )
        })?;
        let free = self
            .made
            .iter_mut()
            .find(|m| m.group == group && m.handle.is_none());
        match free {
            Some(_) if group == 0 && !self.world => self.world = true,
            Some(made) => made.handle = Some(comm),
            None => self.world |= group == 0,
        }
        self.merged |= self.known.values().any(|known| *known == group);
        self.known.insert(comm, group);
        Ok(CommunicatorRef::Group(group))
    }

    /// The group of a new handle.
    fn candidate(&self, comm: CommArgument, rank: u32, groups: &[Vec<u32>]) -> Result<u32, String> {
        let ranks = groups[0].len() as u32;
        let fits = |group: &u32| {
            let members = &groups[*group as usize];
            members.len() == comm.size as usize && members[comm.rank as usize] == rank
        };
        let without_handle = self.made.iter().filter(|m| m.handle.is_none()).map(|m| m.group);
        let world = (!self.world).then_some(0);
        let mut candidates: BTreeSet<u32> = without_handle.chain(world).filter(fits).collect();
        if candidates.is_empty() {
            // Fortran and C may have different handles for one communicator.
            candidates.extend(self.made.iter().map(|m| m.group).chain([0]).filter(fits));
        }
        if let Some(made_by) = self.unrecorded.as_ref().filter(|_| comm.size < ranks) {
            return Err(format!(
                "it may be the one that {made_by} made, whose members the format does not record"
            ));
        }
        match Vec::from_iter(candidates)[..] {
            [group] => Ok(group),
            [] if self.made.is_empty() && self.unrecorded.is_none() && comm.size == ranks => {
                Err(format!("but the file's name says {rank}"))
            }
            [] => Err("the format does not record its members".into()),
            _ => Err(
                "the rank has made several like it, and the format does not record which handle is which"
                    .into(),
            ),
        }
    }

    /// Applies a call that creates or frees a communicator; `group` is the created one.
    pub fn change(&mut self, change: &CommunicatorChange, group: Option<u32>, place: &str) {
        match change {
            CommunicatorChange::Split { child, .. } | CommunicatorChange::Dup { child } => {
                self.made.extend(group.map(|group| LiveCommunicator {
                    address: *child,
                    group,
                    handle: None,
                }));
            }
            CommunicatorChange::Unrecorded => {
                self.unrecorded.get_or_insert_with(|| place.to_string());
            }
            CommunicatorChange::Free { child } => {
                // The handle may be reused.
                match self.made.iter().rposition(|made| made.address == *child) {
                    Some(at) => {
                        let handle = self.made.remove(at).handle;
                        self.known.retain(|comm, _| Some(*comm) != handle);
                    }
                    None => {
                        self.made.iter_mut().for_each(|made| made.handle = None);
                        self.known.retain(|_, group| *group == 0);
                    }
                }
            }
        }
    }
}

/// An event that concerns communicators, in the order of a rank's calls.
#[derive(Debug)]
enum CommunicatorUse {
    /// First use of a communicator since the last change.
    Use(CommArgument, String),
    Change(CommunicatorChange, Option<CommArgument>, String),
}

/// Communicator events of one rank.
#[derive(Default)]
pub struct CommunicatorUses {
    events: VecDeque<CommunicatorUse>,
    seen: BTreeSet<CommArgument>,
    /// Size of the largest communicator.
    pub largest: u32,
}

impl CommunicatorUses {
    /// Adds a call.
    pub fn note(&mut self, record: &AllprofRecord) {
        if let Some(comm) = record.comm {
            self.largest = self.largest.max(comm.size);
            if self.seen.insert(comm) {
                self.events.push_back(CommunicatorUse::Use(comm, record.place()));
            }
        }
        if let Some(change) = CommunicatorChange::of(record) {
            if matches!(change, CommunicatorChange::Free { .. }) {
                self.seen.clear();
            }
            let event = CommunicatorUse::Change(change, record.comm, record.place());
            self.events.push_back(event);
        }
    }
}

/// The calls of one rank while communicators are created.
struct RankUses {
    events: VecDeque<CommunicatorUse>,
    handles: KnownHandles,
    created: Vec<Option<CommunicatorRef>>,
}

/// Combines the calls of all ranks. Returns also whether a rank has several communicators with the same members.
///
/// # Errors
/// They contradict each other, or a communicator's members cannot be determined.
pub fn resolve(
    uses: Vec<CommunicatorUses>,
    files: &[Arc<AllprofFile>],
) -> Result<(Communicators, bool), TraceError> {
    let ranks = files.len() as u32;
    let world: Vec<u32> = (0..ranks).collect();
    let replay = |uses: CommunicatorUses| RankUses {
        events: uses.events,
        handles: KnownHandles::default(),
        created: Vec::new(),
    };
    let mut assembly = AllprofAssembly {
        files,
        ranks: uses.into_iter().map(replay).collect(),
        groups: vec![world.clone()],
        numbers: BTreeMap::from([(world.clone(), 0)]),
    };
    assembly.assemble(ranks)?;
    let groups = assembly.groups.len();
    let mut members = assembly.groups;
    // The communicator of each rank alone.
    members.push(world);
    let merged = assembly.ranks.iter().any(|rank| rank.handles.merged);
    let communicators = Communicators {
        members: members.into(),
        groups,
        created: assembly.ranks.into_iter().map(|rank| rank.created).collect(),
    };
    Ok((communicators, merged))
}

struct AllprofAssembly<'a> {
    files: &'a [Arc<AllprofFile>],
    ranks: Vec<RankUses>,
    groups: Vec<Vec<u32>>,
    /// The groups by their members.
    numbers: BTreeMap<Vec<u32>, u32>,
}

impl CommunicatorAssembly for AllprofAssembly<'_> {
    fn members(&self, communicator: u32) -> &[u32] {
        &self.groups[communicator as usize]
    }

    fn advance(&mut self, rank: u32) -> Result<Option<u32>, TraceError> {
        let advanced = self.ranks[rank as usize].advance(rank, &self.groups);
        advanced.map_err(|message| self.error(rank, message))
    }

    fn create(&mut self, parent: u32) -> Result<(), TraceError> {
        let members = self.groups[parent as usize].clone();
        let colors = members
            .iter()
            .map(|member| self.ranks[*member as usize].color_and_key());
        let mut given: Vec<Option<u32>> = vec![None; members.len()];
        for child in split(colors) {
            let world_ranks: Vec<u32> = child.iter().map(|position| members[*position]).collect();
            let groups = &mut self.groups;
            let number = *self.numbers.entry(world_ranks).or_insert_with_key(|world_ranks| {
                groups.push(world_ranks.clone());
                groups.len() as u32 - 1
            });
            child.iter().for_each(|position| given[*position] = Some(number));
        }
        for (member, group) in members.into_iter().zip(given) {
            self.ranks[member as usize].take_split(group);
        }
        Ok(())
    }

    fn error(&self, rank: u32, message: String) -> TraceError {
        let place = match self.ranks[rank as usize].events.front() {
            Some(CommunicatorUse::Use(_, place) | CommunicatorUse::Change(_, _, place)) => place,
            None => "",
        };
        self.files[rank as usize].error(format!("{place}: {message}"))
    }
}

impl RankUses {
    /// Advances to the next split with other ranks, and gives its parent.
    fn advance(&mut self, rank: u32, groups: &[Vec<u32>]) -> Result<Option<u32>, String> {
        while let Some(event) = self.events.front() {
            match event {
                CommunicatorUse::Use(comm, _) => {
                    self.handles.resolve(*comm, rank, groups)?;
                }
                CommunicatorUse::Change(
                    change @ (CommunicatorChange::Split { .. } | CommunicatorChange::Dup { .. }),
                    Some(comm),
                    place,
                ) => {
                    if let CommunicatorRef::Group(parent) = self.handles.resolve(*comm, rank, groups)? {
                        if matches!(change, CommunicatorChange::Split { .. }) {
                            return Ok(Some(parent));
                        }
                        self.handles.change(change, Some(parent), place);
                    }
                }
                CommunicatorUse::Change(change, _, place) => self.handles.change(change, None, place),
            }
            self.events.pop_front();
        }
        Ok(None)
    }

    /// Colour and key of the current split; `None` for `MPI_UNDEFINED`.
    fn color_and_key(&self) -> Option<(i64, i64)> {
        match self.events.front() {
            Some(CommunicatorUse::Change(CommunicatorChange::Split { color, key, .. }, ..))
                if *color >= 0 =>
            {
                Some((*color, *key))
            }
            _ => None,
        }
    }

    /// Completes the current split, which gave the rank this group.
    fn take_split(&mut self, group: Option<u32>) {
        self.created.push(group.map(CommunicatorRef::Group));
        if let Some(CommunicatorUse::Change(change, _, place)) = self.events.pop_front() {
            self.handles.change(&change, group, &place);
        }
    }
}
