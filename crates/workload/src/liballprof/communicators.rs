//! Who is in which communicator.
//!
//! A call names its communicator by a handle, with its size and the caller's rank in it. The call that makes a
//! communicator records the address where the handle is stored, not the handle. So a handle that is new is
//! taken for a communicator that the rank has made and not freed, or that of all ranks, that has this size and
//! this rank, and that no other handle has been taken for. If there are several with different members, or
//! none, it cannot be told.
//!
//! Communicators with the same members in the same order are one here: which of them a handle means cannot
//! be told. Of colours and keys of `MPI_Comm_split` all are put together, as all members of the parent
//! call it in the same order; members of other new communicators are not recorded.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::files::RankFile;
use super::record::{Comm, Record};
use crate::TraceError;

/// A communicator, as the rest of the simulator knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One with members.
    Group(u32),
    /// One of the rank alone.
    Own,
}

/// What becomes of communicators in one call.
#[derive(Clone, Debug)]
pub enum Change {
    /// `MPI_Comm_split`: the address of the child, colour and key.
    Split { child: u64, color: i64, key: i64 },
    /// `MPI_Comm_dup`: the address of the child.
    Dup { child: u64 },
    /// A communicator with members that are not recorded.
    Unrecorded,
    /// One is freed.
    Free { child: u64 },
}

impl Change {
    /// What a call changes.
    pub fn of(record: &Record) -> Option<Change> {
        Some(match record.function.name {
            "MPI_Comm_split" => Change::Split {
                child: record.last_address(),
                color: record.number(0),
                key: record.number(1),
            },
            "MPI_Comm_dup" | "MPI_Comm_dup_with_info" => Change::Dup {
                child: record.last_address(),
            },
            "MPI_Comm_create"
            | "MPI_Comm_split_type"
            | "MPI_Cart_create"
            | "MPI_Cart_sub"
            | "MPI_Graph_create" => Change::Unrecorded,
            "MPI_Comm_free" | "MPI_Comm_disconnect" => Change::Free {
                child: record.last_address(),
            },
            _ => return None,
        })
    }
}

/// A communicator that a rank has made and not freed.
#[derive(Debug)]
struct Made {
    /// Where its handle is stored.
    address: u64,
    group: u32,
    /// What has been taken for its handle.
    handle: Option<Comm>,
}

/// What the handles of one rank mean at one point of its calls.
#[derive(Debug, Default)]
pub struct Names {
    known: BTreeMap<Comm, u32>,
    /// Whether the handle of all ranks' own communicator is known.
    world: bool,
    made: Vec<Made>,
    /// Where the first communicator with members that are not recorded was made.
    unrecorded: Option<String>,
}

impl Names {
    /// What a call's communicator is.
    ///
    /// # Errors
    /// It cannot be told.
    pub fn place(&mut self, comm: Comm, rank: u32, groups: &[Vec<u32>]) -> Result<Place, String> {
        let ranks = groups[0].len() as u32;
        if comm.size == 1 && ranks > 1 {
            return Ok(Place::Own);
        }
        if let Some(group) = self.known.get(&comm) {
            return Ok(Place::Group(*group));
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
        self.known.insert(comm, group);
        Ok(Place::Group(group))
    }

    /// The group that a new handle may mean.
    fn candidate(&self, comm: Comm, rank: u32, groups: &[Vec<u32>]) -> Result<u32, String> {
        let ranks = groups[0].len() as u32;
        let fits = |group: &u32| {
            let members = &groups[*group as usize];
            members.len() == comm.size as usize && members[comm.rank as usize] == rank
        };
        let without_handle = self.made.iter().filter(|m| m.handle.is_none()).map(|m| m.group);
        let world = (!self.world).then_some(0);
        let mut candidates: BTreeSet<u32> = without_handle.chain(world).filter(fits).collect();
        if candidates.is_empty() {
            // A handle of Fortran and one of C may mean the same.
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

    /// Takes a call that makes or frees a communicator; `group` is what the rank was given.
    pub fn change(&mut self, change: &Change, group: Option<u32>, place: &str) {
        match change {
            Change::Split { child, .. } | Change::Dup { child } => {
                self.made.extend(group.map(|group| Made {
                    address: *child,
                    group,
                    handle: None,
                }));
            }
            Change::Unrecorded => {
                self.unrecorded.get_or_insert_with(|| place.to_string());
            }
            Change::Free { child } => {
                // The handle may be used again.
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

/// What concerns communicators, in the order of a rank's calls.
#[derive(Debug)]
enum Event {
    /// One is used that has not been since the last change.
    Use(Comm, String),
    Change(Change, Option<Comm>, String),
}

/// Collects the calls of one rank.
#[derive(Default)]
pub struct Calls {
    events: VecDeque<Event>,
    seen: BTreeSet<Comm>,
    /// The largest communicator.
    pub largest: u32,
}

impl Calls {
    /// Takes a call.
    pub fn note(&mut self, record: &Record) {
        if let Some(comm) = record.comm {
            self.largest = self.largest.max(comm.size);
            if self.seen.insert(comm) {
                self.events.push_back(Event::Use(comm, record.place()));
            }
        }
        if let Some(change) = Change::of(record) {
            if matches!(change, Change::Free { .. }) {
                self.seen.clear();
            }
            let event = Event::Change(change, record.comm, record.place());
            self.events.push_back(event);
        }
    }
}

/// All communicators of a trace.
#[derive(Debug)]
pub struct Communicators {
    /// World ranks of the members; the first is that of all ranks.
    pub groups: Vec<Vec<u32>>,
    /// For each rank: what each of its splits gave it, in order.
    pub splits: Vec<Vec<Option<u32>>>,
}

struct Walker {
    events: VecDeque<Event>,
    names: Names,
    splits: Vec<Option<u32>>,
}

/// Puts the calls of all ranks together.
///
/// # Errors
/// They contradict each other, or a communicator's members cannot be told.
pub fn resolve(calls: Vec<Calls>, files: &[Arc<RankFile>]) -> Result<Communicators, TraceError> {
    let ranks = files.len() as u32;
    let mut walkers: Vec<Walker> = calls
        .into_iter()
        .map(|calls| Walker {
            events: calls.events,
            names: Names::default(),
            splits: Vec::new(),
        })
        .collect();
    let mut groups: Vec<Vec<u32>> = vec![(0..ranks).collect()];
    let mut numbers = BTreeMap::from([(groups[0].clone(), 0u32)]);
    let mut waiting: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut ready: VecDeque<u32> = (0..ranks).collect();
    while let Some(rank) = ready.pop_front() {
        let walked = walkers[rank as usize].walk(rank, &groups);
        let Some(parent) = walked.map_err(|message| files[rank as usize].error(message))? else {
            continue;
        };
        let arrived = waiting.entry(parent).or_default();
        arrived.push(rank);
        if arrived.len() < groups[parent as usize].len() {
            continue;
        }
        waiting.remove(&parent);
        let members = groups[parent as usize].clone();
        // By colour: key, place in the parent, member.
        let mut children: BTreeMap<i64, Vec<(i64, usize, u32)>> = BTreeMap::new();
        for (position, member) in members.iter().enumerate() {
            if let Some((color, key)) = walkers[*member as usize].color_and_key() {
                let child = children.entry(color).or_default();
                child.push((key, position, *member));
            }
        }
        let mut given: BTreeMap<u32, u32> = BTreeMap::new();
        for mut child in children.into_values() {
            child.sort_unstable();
            let child: Vec<u32> = child.into_iter().map(|(_, _, member)| member).collect();
            let number = *numbers.entry(child.clone()).or_insert_with(|| {
                groups.push(child.clone());
                groups.len() as u32 - 1
            });
            given.extend(child.into_iter().map(|member| (member, number)));
        }
        for member in members {
            walkers[member as usize].split(given.get(&member).copied());
            ready.push_back(member);
        }
    }
    if let Some((parent, arrived)) = waiting.into_iter().next() {
        let members = &groups[parent as usize];
        let absent = members
            .iter()
            .find(|m| !arrived.contains(m))
            .copied()
            .unwrap_or(0);
        let rank = arrived[0] as usize;
        let place = walkers[rank].here();
        return Err(files[rank].error(format!(
            "{place}: is called together with {} ranks, but rank {absent} makes no such call",
            members.len()
        )));
    }
    let splits = walkers.into_iter().map(|w| w.splits).collect();
    Ok(Communicators { groups, splits })
}

impl Walker {
    /// Goes on to the next split that needs others, and gives its parent.
    fn walk(&mut self, rank: u32, groups: &[Vec<u32>]) -> Result<Option<u32>, String> {
        while let Some(event) = self.events.front() {
            let at = |place: &str, message: String| format!("{place}: {message}");
            match event {
                Event::Use(comm, place) => {
                    self.names.place(*comm, rank, groups).map_err(|m| at(place, m))?;
                }
                Event::Change(change, comm, place) => {
                    if let (Change::Split { .. }, Some(comm)) = (change, comm) {
                        let parent = self.names.place(*comm, rank, groups);
                        if let Place::Group(parent) = parent.map_err(|m| at(place, m))? {
                            return Ok(Some(parent));
                        }
                    } else if let (Change::Dup { .. }, Some(comm)) = (change, comm) {
                        let parent = self.names.place(*comm, rank, groups);
                        if let Place::Group(parent) = parent.map_err(|m| at(place, m))? {
                            self.names.change(change, Some(parent), place);
                        }
                    } else {
                        self.names.change(change, None, place);
                    }
                }
            }
            self.events.pop_front();
        }
        Ok(None)
    }

    /// Colour and key of the split that it is at; none for `MPI_UNDEFINED`.
    fn color_and_key(&self) -> Option<(i64, i64)> {
        match self.events.front() {
            Some(Event::Change(Change::Split { color, key, .. }, ..)) if *color >= 0 => Some((*color, *key)),
            _ => None,
        }
    }

    /// Where it is.
    fn here(&self) -> &str {
        match self.events.front() {
            Some(Event::Use(_, place) | Event::Change(_, _, place)) => place,
            None => "",
        }
    }

    /// Takes what the split that it is at gave.
    fn split(&mut self, group: Option<u32>) {
        self.splits.push(group);
        if let Some(Event::Change(change, _, place)) = self.events.pop_front() {
            self.names.change(&change, group, &place);
        }
    }
}
