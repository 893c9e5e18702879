//! Who is in which communicator, from the calls of all ranks.
//!
//! A rank records the handle it got, and of `MPI_Comm_split` its own colour and key: the members are known
//! only when the calls of all ranks are put together. What makes communicators is collective over the
//! parent, and all members make such calls on it in the same order, so each rank goes through its calls
//! until it needs the others; when all members of a parent have come, the children are made, and they go on.
//!
//! Handles are used again after a communicator is freed. A handle means the communicator that the rank made
//! last under it.
//!
//! Only calls that concern communicators and groups are kept in memory, and only until the members are known.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::files::RankFile;
use super::record::Record;
use crate::TraceError;

/// Handle of `MPI_COMM_NULL`.
pub const NULL: u16 = 1;
/// Handle of `MPI_COMM_WORLD`.
pub const WORLD: u16 = 2;
/// Handle of `MPI_COMM_SELF`.
pub const SELF: u16 = 3;

/// `MPI_GROUP_NULL` and `MPI_GROUP_EMPTY`.
const EMPTY_GROUPS: [u16; 2] = [1, 2];

/// A communicator, as the rest of the simulator knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One with members.
    Group(u32),
    /// One that each rank has for itself alone: [`SELF`] and its copies. Here it has all ranks, and each
    /// sends to itself only.
    Own(u32),
}

/// All communicators of a trace.
#[derive(Debug)]
pub struct Communicators {
    /// World ranks of the members.
    pub members: Arc<[Vec<u32>]>,
    /// How many of them are [`Place::Group`]; those come first.
    pub groups: usize,
    /// For each rank: what each of its calls that make communicators gave it, in order.
    pub made: Vec<Vec<Option<Place>>>,
}

/// How a call makes communicators of a parent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Making {
    Dup,
    Create { group: u16 },
    Split { color: i64, key: i64 },
    Cart { sizes: Vec<i64>, reorder: bool },
    CartSub { keep: Vec<bool> },
    Graph { nodes: i64 },
}

/// A call that makes communicators.
#[derive(Clone, Debug)]
struct Creation {
    call: &'static str,
    offset: u64,
    parent: u16,
    child: u16,
    making: Making,
    /// The rank's own in the child, where a later call says.
    rank: Option<i64>,
}

/// How a call makes a group of others.
#[derive(Clone, Debug)]
enum Grouping {
    OfCommunicator(u16),
    Union(u16, u16),
    Intersection(u16, u16),
    Difference(u16, u16),
    Include(u16, Vec<i64>),
    Exclude(u16, Vec<i64>),
    IncludeRanges(u16, Vec<i64>),
    ExcludeRanges(u16, Vec<i64>),
}

#[derive(Clone, Debug)]
enum Event {
    Create(Creation),
    Free(u16),
    Group {
        call: &'static str,
        offset: u64,
        group: u16,
        grouping: Grouping,
    },
    FreeGroup(u16),
}

/// Collects the calls of one rank.
#[derive(Default)]
pub struct Calls {
    events: VecDeque<Event>,
    /// Which event made a handle last.
    latest: BTreeMap<u16, usize>,
}

impl Calls {
    /// Takes a call, and checks what it says of the rank and the number of ranks.
    ///
    /// # Errors
    /// It contradicts the trace's files, or makes an inter-communicator.
    pub fn note(&mut self, record: &Record, rank: u32, ranks: u32) -> Result<(), String> {
        let r = record;
        match r.name() {
            "MPI_Comm_rank" => return self.own_rank(r.handle(0), r.number(1), rank),
            "MPI_Comm_size" if r.handle(0) == WORLD && r.number(1) != i64::from(ranks) => {
                return Err(format!(
                    "says that there are {} ranks, but the trace has files of {ranks}",
                    r.number(1)
                ));
            }
            "MPI_Intercomm_create"
            | "MPI_Intercomm_merge"
            | "MPI_Comm_accept"
            | "MPI_Comm_connect"
            | "MPI_Comm_join"
            | "MPI_Comm_spawn"
            | "MPI_Comm_spawn_multiple"
            | "MPI_Comm_remote_group"
            | "MPI_Comm_remote_size" => {
                return Err("inter-communicators are not supported".into());
            }
            "MPI_Comm_free" | "MPI_Comm_disconnect" => {
                self.latest.remove(&r.handle(0));
                self.events.push_back(Event::Free(r.handle(0)));
            }
            "MPI_Group_free" => self.events.push_back(Event::FreeGroup(r.handle(0))),
            _ => {
                if let Some(creation) = creation(r) {
                    self.latest.insert(creation.child, self.events.len());
                    self.events.push_back(Event::Create(creation));
                } else if let Some(grouping) = grouping(r) {
                    self.events.push_back(Event::Group {
                        call: r.name(),
                        offset: r.offset,
                        group: r.last_handle(),
                        grouping,
                    });
                }
            }
        }
        Ok(())
    }

    fn own_rank(&mut self, communicator: u16, own: i64, rank: u32) -> Result<(), String> {
        if communicator == WORLD && own != i64::from(rank) {
            return Err(format!(
                "says that this is rank {own}, but the file's name says {rank}"
            ));
        }
        let event = self.latest.get(&communicator).map(|i| &mut self.events[*i]);
        if let Some(Event::Create(creation)) = event {
            creation.rank = creation.rank.or(Some(own));
        }
        Ok(())
    }
}

/// The parent of a call that makes communicators, and the handle of the child.
pub fn parent_and_child(record: &Record) -> Option<(u16, u16)> {
    creation(record).map(|c| (c.parent, c.child))
}

fn creation(record: &Record) -> Option<Creation> {
    let r = record;
    let (parent, making) = match r.name() {
        "MPI_Comm_dup" => (0, Making::Dup),
        "MPI_Comm_create" => (0, Making::Create { group: r.handle(1) }),
        "MPI_Comm_split" => {
            let (color, key) = (r.number(1), r.number(2));
            (0, Making::Split { color, key })
        }
        "MPI_Cart_create" => {
            let (sizes, reorder) = (r.array(0).to_vec(), r.number(2) != 0);
            (0, Making::Cart { sizes, reorder })
        }
        "MPI_Cart_sub" => {
            let keep = r.array(0).iter().map(|n| *n != 0).collect();
            (1, Making::CartSub { keep })
        }
        "MPI_Graph_create" => (1, Making::Graph { nodes: r.number(2) }),
        _ => return None,
    };
    Some(Creation {
        call: r.name(),
        offset: r.offset,
        parent: r.handle(parent),
        child: r.last_handle(),
        making,
        rank: None,
    })
}

fn grouping(record: &Record) -> Option<Grouping> {
    let r = record;
    let (first, second) = (r.handle(0), r.handle(1));
    let ranks = || r.array(0).to_vec();
    Some(match r.name() {
        "MPI_Comm_group" => Grouping::OfCommunicator(first),
        "MPI_Group_union" => Grouping::Union(first, second),
        "MPI_Group_intersection" => Grouping::Intersection(first, second),
        "MPI_Group_difference" => Grouping::Difference(first, second),
        "MPI_Group_incl" => Grouping::Include(first, ranks()),
        "MPI_Group_excl" => Grouping::Exclude(first, ranks()),
        "MPI_Group_range_incl" => Grouping::IncludeRanges(first, ranks()),
        "MPI_Group_range_excl" => Grouping::ExcludeRanges(first, ranks()),
        _ => return None,
    })
}

/// World ranks, shared between all who have the same.
type Group = Arc<[u32]>;

/// A rank on its way through its calls.
struct Walker {
    events: VecDeque<Event>,
    communicators: BTreeMap<u16, Place>,
    groups: BTreeMap<u16, Group>,
    /// Copies of [`SELF`].
    copies: u32,
    made: Vec<Option<Place>>,
}

/// A communicator to be made: its grid, if it has one, and its members as positions in the parent.
type Child = (Option<Vec<i64>>, Vec<usize>);

struct Made {
    members: Vec<u32>,
    /// Of a cartesian one.
    sizes: Option<Vec<i64>>,
}

/// Puts the calls of all ranks together.
///
/// # Errors
/// They contradict each other.
pub fn resolve(calls: Vec<Calls>, files: &[Arc<RankFile>]) -> Result<Communicators, TraceError> {
    let ranks = files.len() as u32;
    let walker = |calls: Calls| Walker {
        events: calls.events,
        communicators: BTreeMap::from([(WORLD, Place::Group(0)), (SELF, Place::Own(0))]),
        groups: BTreeMap::new(),
        copies: 0,
        made: Vec::new(),
    };
    let mut assembly = Assembly {
        files,
        walkers: calls.into_iter().map(walker).collect(),
        made: vec![Made {
            members: (0..ranks).collect(),
            sizes: None,
        }],
        waiting: BTreeMap::new(),
        known: BTreeSet::new(),
    };
    assembly.run()?;
    let groups = assembly.made.len();
    let copies = assembly.walkers.iter().map(|w| w.copies).max().unwrap_or(0);
    let mut members: Vec<Vec<u32>> = assembly.made.into_iter().map(|m| m.members).collect();
    members.extend((0..=copies).map(|_| (0..ranks).collect()));
    let absolute = |place: Option<Place>| match place {
        Some(Place::Own(copy)) => Some(Place::Own(groups as u32 + copy)),
        other => other,
    };
    let made = assembly.walkers.into_iter();
    Ok(Communicators {
        members: members.into(),
        groups,
        made: made.map(|w| w.made.into_iter().map(absolute).collect()).collect(),
    })
}

struct Assembly<'a> {
    files: &'a [Arc<RankFile>],
    walkers: Vec<Walker>,
    made: Vec<Made>,
    /// Ranks that have come to a call on a parent.
    waiting: BTreeMap<u32, Vec<u32>>,
    known: BTreeSet<Group>,
}

impl Assembly<'_> {
    fn run(&mut self) -> Result<(), TraceError> {
        let mut ready: VecDeque<u32> = (0..self.files.len() as u32).collect();
        while let Some(rank) = ready.pop_front() {
            let Some(parent) = self.walk(rank)? else { continue };
            let arrived = self.waiting.entry(parent).or_default();
            arrived.push(rank);
            if arrived.len() == self.made[parent as usize].members.len() {
                self.waiting.remove(&parent);
                self.make(parent)?;
                ready.extend(&self.made[parent as usize].members);
            }
        }
        let Some((parent, arrived)) = self.waiting.iter().next() else {
            return Ok(());
        };
        let members = &self.made[*parent as usize].members;
        let absent = members.iter().find(|m| !arrived.contains(m)).copied();
        let message = format!(
            "makes a communicator together with {} ranks, but rank {} makes no such call",
            members.len(),
            absent.unwrap_or(0)
        );
        Err(self.error(arrived[0], message))
    }

    /// Lets a rank go on to its next call that needs others, and gives the parent it is on.
    fn walk(&mut self, rank: u32) -> Result<Option<u32>, TraceError> {
        loop {
            let Some(event) = self.walkers[rank as usize].events.front().cloned() else {
                return Ok(None);
            };
            let walker = &mut self.walkers[rank as usize];
            match event {
                Event::Create(creation) => {
                    let parent = walker.communicators.get(&creation.parent).copied();
                    match parent {
                        Some(Place::Group(parent)) => return Ok(Some(parent)),
                        Some(Place::Own(_)) => self.copy_own(rank, creation.child),
                        None => {
                            let message = unknown_communicator(creation.parent);
                            return Err(self.error(rank, message));
                        }
                    }
                    continue;
                }
                Event::Free(handle) => {
                    walker.communicators.remove(&handle);
                }
                Event::Group { group, grouping, .. } => {
                    let made = self.group(rank, &grouping).map_err(|m| self.error(rank, m))?;
                    let made = self.shared(made);
                    self.walkers[rank as usize].groups.insert(group, made);
                }
                Event::FreeGroup(group) => {
                    walker.groups.remove(&group);
                }
            }
            self.walkers[rank as usize].events.pop_front();
        }
    }

    fn copy_own(&mut self, rank: u32, child: u16) {
        let walker = &mut self.walkers[rank as usize];
        walker.events.pop_front();
        if child == NULL {
            walker.made.push(None);
            return;
        }
        walker.copies += 1;
        let place = Place::Own(walker.copies);
        walker.communicators.insert(child, place);
        walker.made.push(Some(place));
    }

    /// An error at the call that a rank has come to.
    fn error(&self, rank: u32, message: impl std::fmt::Display) -> TraceError {
        let at = match self.walkers[rank as usize].events.front() {
            Some(Event::Create(Creation { call, offset, .. }) | Event::Group { call, offset, .. }) => {
                format!("{call} at byte {offset}: ")
            }
            _ => String::new(),
        };
        self.files[rank as usize].error(format!("{at}{message}"))
    }

    fn shared(&mut self, group: Vec<u32>) -> Group {
        match self.known.get(&group[..]) {
            Some(group) => group.clone(),
            None => {
                let group: Group = group.into();
                self.known.insert(group.clone());
                group
            }
        }
    }

    fn group_of(&self, rank: u32, handle: u16) -> Result<Group, String> {
        if EMPTY_GROUPS.contains(&handle) {
            return Ok(Arc::new([]));
        }
        let groups = &self.walkers[rank as usize].groups;
        groups
            .get(&handle)
            .cloned()
            .ok_or_else(|| format!("group {handle} is used, but no recorded call makes it"))
    }

    fn group(&self, rank: u32, grouping: &Grouping) -> Result<Vec<u32>, String> {
        let group = |handle: &u16| self.group_of(rank, *handle);
        Ok(match grouping {
            Grouping::OfCommunicator(handle) => match self.walkers[rank as usize].communicators.get(handle) {
                Some(Place::Group(id)) => self.made[*id as usize].members.clone(),
                Some(Place::Own(_)) => vec![rank],
                None => return Err(unknown_communicator(*handle)),
            },
            Grouping::Union(first, second) => {
                let (first, second) = (group(first)?, group(second)?);
                let there: BTreeSet<u32> = first.iter().copied().collect();
                let more = second.iter().filter(|r| !there.contains(r));
                first.iter().chain(more).copied().collect()
            }
            Grouping::Intersection(first, second) | Grouping::Difference(first, second) => {
                let wanted = matches!(grouping, Grouping::Intersection(..));
                let (first, second) = (group(first)?, group(second)?);
                let there: BTreeSet<u32> = second.iter().copied().collect();
                let chosen = first.iter().filter(|r| there.contains(r) == wanted);
                chosen.copied().collect()
            }
            Grouping::Include(of, ranks) => include(&group(of)?, ranks)?,
            Grouping::Exclude(of, ranks) => exclude(&group(of)?, ranks)?,
            Grouping::IncludeRanges(of, ranges) => {
                let of = group(of)?;
                include(&of, &expand(ranges, of.len())?)?
            }
            Grouping::ExcludeRanges(of, ranges) => {
                let of = group(of)?;
                exclude(&of, &expand(ranges, of.len())?)?
            }
        })
    }

    /// All members of a parent have come: makes the children.
    fn make(&mut self, parent: u32) -> Result<(), TraceError> {
        let members = self.made[parent as usize].members.clone();
        let creations: Vec<Creation> = members
            .iter()
            .map(|m| match self.walkers[*m as usize].events.front() {
                Some(Event::Create(creation)) => creation.clone(),
                // A rank waits at nothing else.
                _ => unreachable!("a rank that waits is at a creation"),
            })
            .collect();
        for (member, creation) in members.iter().zip(&creations) {
            if creation.call != creations[0].call {
                let message = format!(
                    "rank {} calls {} at this point, on the same communicator",
                    members[0], creations[0].call
                );
                return Err(self.error(*member, message));
            }
            let is_the_same_for_all =
                !matches!(creation.making, Making::Split { .. } | Making::Create { .. });
            if is_the_same_for_all && creation.making != creations[0].making {
                let message = format!("other arguments than those of rank {}", members[0]);
                return Err(self.error(*member, message));
            }
        }
        let children = self.children(parent, &members, &creations)?;
        let mut places: Vec<Option<u32>> = vec![None; members.len()];
        for (sizes, chosen) in children {
            let id = self.made.len() as u32;
            for (own, position) in chosen.iter().enumerate() {
                let creation = &creations[*position];
                if creation.child == NULL || places[*position].is_some() {
                    let message = "the rank gets MPI_COMM_NULL, but the other ranks' calls make it a member";
                    return Err(self.error(members[*position], message));
                }
                if creation.rank.is_some_and(|rank| rank != own as i64) {
                    let message = format!(
                        "MPI_Comm_rank says later that the rank is {} in it, but by all ranks' calls it is {own}",
                        creation.rank.unwrap_or(0)
                    );
                    return Err(self.error(members[*position], message));
                }
                places[*position] = Some(id);
            }
            let members = chosen.iter().map(|p| members[*p]).collect();
            self.made.push(Made { members, sizes });
        }
        for ((member, creation), place) in members.iter().zip(&creations).zip(places) {
            if place.is_none() && creation.child != NULL {
                let message = "the rank gets a communicator, but by all ranks' calls it is no member of any";
                return Err(self.error(*member, message));
            }
            let walker = &mut self.walkers[*member as usize];
            let place = place.map(Place::Group);
            walker.events.pop_front();
            walker.made.push(place);
            if let Some(place) = place {
                walker.communicators.insert(creation.child, place);
            }
        }
        Ok(())
    }

    /// The communicators that a call makes.
    fn children(
        &self,
        parent: u32,
        members: &[u32],
        creations: &[Creation],
    ) -> Result<Vec<Child>, TraceError> {
        let first = members[0];
        let fail = |message: String| self.error(first, message);
        let sizes = &self.made[parent as usize].sizes;
        let takes_part = |p: &usize| creations[*p].child != NULL;
        Ok(match &creations[0].making {
            Making::Dup => vec![(sizes.clone(), (0..members.len()).collect())],
            Making::Split { .. } => {
                let mut by_color: BTreeMap<i64, Vec<(i64, usize)>> = BTreeMap::new();
                for position in (0..members.len()).filter(takes_part) {
                    if let Making::Split { color, key } = creations[position].making {
                        by_color.entry(color).or_default().push((key, position));
                    }
                }
                let sorted = by_color.into_values().map(|mut group| {
                    group.sort_unstable();
                    (None, group.into_iter().map(|(_, position)| position).collect())
                });
                sorted.collect()
            }
            Making::Create { .. } => self.created(members, creations)?,
            Making::Cart { sizes, reorder } => {
                let chosen = leading(sizes.iter().copied(), members.len()).map_err(fail)?;
                let chosen = if *reorder {
                    reordered(creations, chosen)
                } else {
                    chosen
                };
                vec![(Some(sizes.clone()), chosen)]
            }
            Making::Graph { nodes } => {
                let chosen = leading([*nodes], members.len()).map_err(fail)?;
                vec![(None, reordered(creations, chosen))]
            }
            Making::CartSub { keep } => {
                let sizes = sizes.as_ref().filter(|sizes| sizes.len() == keep.len());
                let sizes = sizes.ok_or_else(|| fail("the communicator has no such grid of ranks".into()))?;
                let kept = sizes.iter().zip(keep).filter(|(_, keep)| **keep);
                let kept: Vec<i64> = kept.map(|(size, _)| *size).collect();
                let mut slices: BTreeMap<Vec<i64>, Vec<usize>> = BTreeMap::new();
                for position in 0..members.len() {
                    let mut rest = position as i64;
                    let mut dropped = Vec::new();
                    for (size, keep) in sizes.iter().zip(keep).rev() {
                        if !keep {
                            dropped.push(rest % size);
                        }
                        rest /= size;
                    }
                    slices.entry(dropped).or_default().push(position);
                }
                slices.into_values().map(|s| (Some(kept.clone()), s)).collect()
            }
        })
    }

    fn created(&self, members: &[u32], creations: &[Creation]) -> Result<Vec<Child>, TraceError> {
        let places: BTreeMap<u32, usize> = members.iter().enumerate().map(|(p, m)| (*m, p)).collect();
        let mut groups: BTreeMap<Group, usize> = BTreeMap::new();
        for (member, creation) in members.iter().zip(creations) {
            if let (true, Making::Create { group }) = (creation.child != NULL, &creation.making) {
                let group = self
                    .group_of(*member, *group)
                    .map_err(|m| self.error(*member, m))?;
                if !group.contains(member) {
                    return Err(self.error(*member, "the rank is not in the group, but gets a communicator"));
                }
                *groups.entry(group).or_default() += 1;
            }
        }
        let mut children = Vec::new();
        for (group, callers) in groups {
            let chosen: Option<Vec<usize>> = group.iter().map(|m| places.get(m).copied()).collect();
            match chosen {
                Some(chosen) if callers == group.len() => children.push((None, chosen)),
                _ => {
                    let message = format!(
                        "{callers} of the {} ranks of the group give this group",
                        group.len()
                    );
                    return Err(self.error(group[0], message));
                }
            }
        }
        Ok(children)
    }
}

/// What is wrong with a handle that no recorded call made.
pub fn unknown_communicator(handle: u16) -> String {
    match handle {
        NULL => "is called on MPI_COMM_NULL".into(),
        _ => format!("communicator {handle} is used, but no recorded call makes it, or it has been freed"),
    }
}

/// The first ranks of a parent, as many as a grid has.
fn leading(sizes: impl IntoIterator<Item = i64>, ranks: usize) -> Result<Vec<usize>, String> {
    let product = sizes
        .into_iter()
        .try_fold(1usize, |product, size| {
            usize::try_from(size)
                .ok()
                .filter(|s| *s > 0)?
                .checked_mul(product)
        })
        .filter(|n| *n <= ranks);
    let product = product.ok_or_else(|| format!("the grid does not fit {ranks} ranks"))?;
    Ok((0..product).collect())
}

/// The order that MPI has chosen for a grid, where all ranks say; otherwise that of the parent.
fn reordered(creations: &[Creation], chosen: Vec<usize>) -> Vec<usize> {
    let mut order = vec![None; chosen.len()];
    for (position, creation) in creations.iter().enumerate() {
        let rank = creation.rank.and_then(|rank| usize::try_from(rank).ok());
        if let Some(slot) = rank.and_then(|rank| order.get_mut(rank)) {
            *slot = Some(position);
        }
    }
    order
        .into_iter()
        .collect::<Option<Vec<usize>>>()
        .unwrap_or(chosen)
}

fn include(group: &[u32], ranks: &[i64]) -> Result<Vec<u32>, String> {
    let member = |rank: &i64| usize::try_from(*rank).ok().and_then(|r| group.get(r)).copied();
    let chosen = ranks
        .iter()
        .map(|rank| member(rank).ok_or_else(|| format!("rank {rank} of a group of {} ranks", group.len())));
    chosen.collect()
}

fn exclude(group: &[u32], ranks: &[i64]) -> Result<Vec<u32>, String> {
    let left_out: BTreeSet<u32> = include(group, ranks)?.into_iter().collect();
    Ok(group.iter().filter(|r| !left_out.contains(r)).copied().collect())
}

/// The ranks that triples of first, last and stride name.
fn expand(ranges: &[i64], ranks: usize) -> Result<Vec<i64>, String> {
    let mut all = Vec::new();
    for range in ranges.chunks(3) {
        let [first, last, stride] = *range else {
            return Err("a range without first, last and stride".into());
        };
        if stride == 0 {
            return Err("a range with a stride of 0".into());
        }
        if (last < first) == (stride > 0) && last != first {
            continue;
        }
        let steps = (last - first) / stride;
        if steps >= ranks as i64 || all.len() > ranks {
            return Err(format!("more ranks than the group's {ranks}"));
        }
        all.extend((0..=steps).map(|i| first + i * stride));
    }
    Ok(all)
}
