//! Members of communicators, from the calls of all ranks.
//!
//! A rank records the handle of a new communicator, and its own colour and key of `MPI_Comm_split`. The members
//! follow from the calls of all ranks ([`CommunicatorAssembly`]).
//!
//! A handle is reused after its communicator is freed. It means the communicator that the rank created last
//! with this handle.
//!
//! Only calls that concern communicators and groups are kept in memory, until the members are known.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::files::DumpiFile;
use super::record::DumpiRecord;
use crate::TraceError;
use crate::mpi_calls::communicators::{CommunicatorAssembly, split};
use crate::mpi_calls::{CommunicatorRef, Communicators};

/// Handle of `MPI_COMM_NULL`.
pub const NULL: u16 = 1;
/// Handle of `MPI_COMM_WORLD`.
pub const WORLD: u16 = 2;
/// Handle of `MPI_COMM_SELF`.
pub const SELF: u16 = 3;

/// `MPI_GROUP_NULL` and `MPI_GROUP_EMPTY`.
const EMPTY_GROUPS: [u16; 2] = [1, 2];

/// How a call creates communicators from a parent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CreationKind {
    Dup,
    Create { group: u16 },
    Split { color: i64, key: i64 },
    Cart { sizes: Vec<i64>, reorder: bool },
    CartSub { keep: Vec<bool> },
    Graph { nodes: i64 },
}

/// A call that creates communicators.
#[derive(Clone, Debug)]
struct Creation {
    call: &'static str,
    offset: u64,
    parent: u16,
    child: u16,
    kind: CreationKind,
    /// Rank in the child, if a later call records it.
    rank: Option<i64>,
}

/// How a call creates a group from others.
#[derive(Clone, Debug)]
enum GroupExpression {
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
enum CommunicatorCall {
    Create(Creation),
    Free(u16),
    Group {
        call: &'static str,
        offset: u64,
        group: u16,
        expression: GroupExpression,
    },
    FreeGroup(u16),
}

/// Communicator calls of one rank.
#[derive(Default)]
pub struct CommunicatorCalls {
    calls: VecDeque<CommunicatorCall>,
    /// Index of the call that created a handle last.
    latest: BTreeMap<u16, usize>,
}

impl CommunicatorCalls {
    /// Adds a call, and checks the rank and number of ranks that it records.
    ///
    /// # Errors
    /// The call contradicts the trace's files, or creates an inter-communicator.
    pub fn note(&mut self, record: &DumpiRecord, rank: u32, ranks: u32) -> Result<(), String> {
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
                self.calls.push_back(CommunicatorCall::Free(r.handle(0)));
            }
            "MPI_Group_free" => self.calls.push_back(CommunicatorCall::FreeGroup(r.handle(0))),
            _ => {
                if let Some(creation) = creation(r) {
                    self.latest.insert(creation.child, self.calls.len());
                    self.calls.push_back(CommunicatorCall::Create(creation));
                } else if let Some(expression) = expression(r) {
                    self.calls.push_back(CommunicatorCall::Group {
                        call: r.name(),
                        offset: r.offset,
                        group: r.last_handle(),
                        expression,
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
        let event = self.latest.get(&communicator).map(|i| &mut self.calls[*i]);
        if let Some(CommunicatorCall::Create(creation)) = event {
            creation.rank = creation.rank.or(Some(own));
        }
        Ok(())
    }
}

/// Handles of the parent and child of a call that creates communicators.
pub fn parent_and_child(record: &DumpiRecord) -> Option<(u16, u16)> {
    creation(record).map(|c| (c.parent, c.child))
}

fn creation(record: &DumpiRecord) -> Option<Creation> {
    let r = record;
    let (parent, kind) = match r.name() {
        "MPI_Comm_dup" => (0, CreationKind::Dup),
        "MPI_Comm_create" => (0, CreationKind::Create { group: r.handle(1) }),
        "MPI_Comm_split" => {
            let (color, key) = (r.number(1), r.number(2));
            (0, CreationKind::Split { color, key })
        }
        "MPI_Cart_create" => {
            let (sizes, reorder) = (r.array(0).to_vec(), r.number(2) != 0);
            (0, CreationKind::Cart { sizes, reorder })
        }
        "MPI_Cart_sub" => {
            let keep = r.array(0).iter().map(|n| *n != 0).collect();
            (1, CreationKind::CartSub { keep })
        }
        "MPI_Graph_create" => (1, CreationKind::Graph { nodes: r.number(2) }),
        _ => return None,
    };
    Some(Creation {
        call: r.name(),
        offset: r.offset,
        parent: r.handle(parent),
        child: r.last_handle(),
        kind,
        rank: None,
    })
}

fn expression(record: &DumpiRecord) -> Option<GroupExpression> {
    let r = record;
    let (first, second) = (r.handle(0), r.handle(1));
    let ranks = || r.array(0).to_vec();
    Some(match r.name() {
        "MPI_Comm_group" => GroupExpression::OfCommunicator(first),
        "MPI_Group_union" => GroupExpression::Union(first, second),
        "MPI_Group_intersection" => GroupExpression::Intersection(first, second),
        "MPI_Group_difference" => GroupExpression::Difference(first, second),
        "MPI_Group_incl" => GroupExpression::Include(first, ranks()),
        "MPI_Group_excl" => GroupExpression::Exclude(first, ranks()),
        "MPI_Group_range_incl" => GroupExpression::IncludeRanges(first, ranks()),
        "MPI_Group_range_excl" => GroupExpression::ExcludeRanges(first, ranks()),
        _ => return None,
    })
}

/// World ranks of a group, shared between ranks.
type Group = Arc<[u32]>;

/// The remaining calls of a rank.
struct RankCalls {
    calls: VecDeque<CommunicatorCall>,
    communicators: BTreeMap<u16, CommunicatorRef>,
    groups: BTreeMap<u16, Group>,
    /// Copies of [`SELF`].
    copies: u32,
    created: Vec<Option<CommunicatorRef>>,
}

/// A communicator to be created: its grid, if any, and its members as positions in the parent.
type Child = (Option<Vec<i64>>, Vec<usize>);

struct CreatedCommunicator {
    members: Vec<u32>,
    /// Sizes of its grid, if it is cartesian.
    sizes: Option<Vec<i64>>,
}

/// Combines the calls of all ranks.
///
/// # Errors
/// They contradict each other.
pub fn resolve(calls: Vec<CommunicatorCalls>, files: &[Arc<DumpiFile>]) -> Result<Communicators, TraceError> {
    let ranks = files.len() as u32;
    let replay = |calls: CommunicatorCalls| RankCalls {
        calls: calls.calls,
        communicators: BTreeMap::from([
            (WORLD, CommunicatorRef::Group(0)),
            (SELF, CommunicatorRef::SelfOnly(0)),
        ]),
        groups: BTreeMap::new(),
        copies: 0,
        created: Vec::new(),
    };
    let mut assembly = DumpiAssembly {
        files,
        ranks: calls.into_iter().map(replay).collect(),
        created: vec![CreatedCommunicator {
            members: (0..ranks).collect(),
            sizes: None,
        }],
        known: BTreeSet::new(),
    };
    assembly.assemble(ranks)?;
    let groups = assembly.created.len();
    let copies = assembly.ranks.iter().map(|rank| rank.copies).max().unwrap_or(0);
    let mut members: Vec<Vec<u32>> = assembly.created.into_iter().map(|c| c.members).collect();
    members.extend((0..=copies).map(|_| (0..ranks).collect()));
    let absolute = |communicator| match communicator {
        Some(CommunicatorRef::SelfOnly(copy)) => Some(CommunicatorRef::SelfOnly(groups as u32 + copy)),
        other => other,
    };
    let created = assembly.ranks.into_iter();
    Ok(Communicators {
        members: members.into(),
        groups,
        created: created
            .map(|rank| rank.created.into_iter().map(absolute).collect())
            .collect(),
    })
}

struct DumpiAssembly<'a> {
    files: &'a [Arc<DumpiFile>],
    ranks: Vec<RankCalls>,
    created: Vec<CreatedCommunicator>,
    known: BTreeSet<Group>,
}

impl CommunicatorAssembly for DumpiAssembly<'_> {
    fn members(&self, communicator: u32) -> &[u32] {
        &self.created[communicator as usize].members
    }

    fn advance(&mut self, rank: u32) -> Result<Option<u32>, TraceError> {
        loop {
            let state = &mut self.ranks[rank as usize];
            let Some(call) = state.calls.front().cloned() else {
                return Ok(None);
            };
            match call {
                CommunicatorCall::Create(creation) => {
                    match state.communicators.get(&creation.parent).copied() {
                        Some(CommunicatorRef::Group(parent)) => return Ok(Some(parent)),
                        Some(CommunicatorRef::SelfOnly(_)) => self.copy_own(rank, creation.child),
                        None => return Err(self.error(rank, unknown_communicator(creation.parent))),
                    }
                    continue;
                }
                CommunicatorCall::Free(handle) => {
                    state.communicators.remove(&handle);
                }
                CommunicatorCall::Group {
                    group, expression, ..
                } => {
                    let members = self.group(rank, &expression).map_err(|m| self.error(rank, m))?;
                    let members = self.shared(members);
                    self.ranks[rank as usize].groups.insert(group, members);
                }
                CommunicatorCall::FreeGroup(group) => {
                    state.groups.remove(&group);
                }
            }
            self.ranks[rank as usize].calls.pop_front();
        }
    }

    fn error(&self, rank: u32, message: String) -> TraceError {
        let at = match self.ranks[rank as usize].calls.front() {
            Some(
                CommunicatorCall::Create(Creation { call, offset, .. })
                | CommunicatorCall::Group { call, offset, .. },
            ) => format!("{call} at byte {offset}: "),
            _ => String::new(),
        };
        self.files[rank as usize].error(format!("{at}{message}"))
    }

    fn create(&mut self, parent: u32) -> Result<(), TraceError> {
        let members = self.created[parent as usize].members.clone();
        let creation = |member: &u32| match self.ranks[*member as usize].calls.front() {
            Some(CommunicatorCall::Create(creation)) => creation.clone(),
            _ => unreachable!("a rank waits at a creation only"),
        };
        let creations: Vec<Creation> = members.iter().map(creation).collect();
        self.check_agreement(&members, &creations)?;
        let mut given: Vec<Option<u32>> = vec![None; members.len()];
        for (sizes, chosen) in self.children(parent, &members, &creations)? {
            let id = self.created.len() as u32;
            for (own, position) in chosen.iter().enumerate() {
                let creation = &creations[*position];
                if creation.child == NULL || given[*position].is_some() {
                    let message = "the rank gets MPI_COMM_NULL, but the other ranks' calls make it a member";
                    return Err(self.error(members[*position], message.into()));
                }
                if let Some(rank) = creation.rank.filter(|rank| *rank != own as i64) {
                    let message = format!(
                        "MPI_Comm_rank says later that the rank is {rank} in it, but by all ranks' calls it is {own}"
                    );
                    return Err(self.error(members[*position], message));
                }
                given[*position] = Some(id);
            }
            let members = chosen.iter().map(|position| members[*position]).collect();
            self.created.push(CreatedCommunicator { members, sizes });
        }
        for ((member, creation), id) in members.iter().zip(&creations).zip(given) {
            if id.is_none() && creation.child != NULL {
                let message = "the rank gets a communicator, but by all ranks' calls it is no member of any";
                return Err(self.error(*member, message.into()));
            }
            let rank = &mut self.ranks[*member as usize];
            let communicator = id.map(CommunicatorRef::Group);
            rank.calls.pop_front();
            rank.created.push(communicator);
            if let Some(communicator) = communicator {
                rank.communicators.insert(creation.child, communicator);
            }
        }
        Ok(())
    }
}

impl DumpiAssembly<'_> {
    /// Checks that all members of a parent make the same call.
    fn check_agreement(&self, members: &[u32], creations: &[Creation]) -> Result<(), TraceError> {
        let first = &creations[0];
        for (member, creation) in members.iter().zip(creations) {
            if creation.call != first.call {
                let message = format!(
                    "rank {} calls {} at this point, on the same communicator",
                    members[0], first.call
                );
                return Err(self.error(*member, message));
            }
            let differs = matches!(
                creation.kind,
                CreationKind::Split { .. } | CreationKind::Create { .. }
            );
            if !differs && creation.kind != first.kind {
                let message = format!("other arguments than those of rank {}", members[0]);
                return Err(self.error(*member, message));
            }
        }
        Ok(())
    }

    fn copy_own(&mut self, rank: u32, child: u16) {
        let state = &mut self.ranks[rank as usize];
        state.calls.pop_front();
        if child == NULL {
            state.created.push(None);
            return;
        }
        state.copies += 1;
        let place = CommunicatorRef::SelfOnly(state.copies);
        state.communicators.insert(child, place);
        state.created.push(Some(place));
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
        let groups = &self.ranks[rank as usize].groups;
        groups
            .get(&handle)
            .cloned()
            .ok_or_else(|| format!("group {handle} is used, but no recorded call makes it"))
    }

    fn group(&self, rank: u32, expression: &GroupExpression) -> Result<Vec<u32>, String> {
        let group = |handle: &u16| self.group_of(rank, *handle);
        Ok(match expression {
            GroupExpression::OfCommunicator(handle) => {
                match self.ranks[rank as usize].communicators.get(handle) {
                    Some(CommunicatorRef::Group(id)) => self.created[*id as usize].members.clone(),
                    Some(CommunicatorRef::SelfOnly(_)) => vec![rank],
                    None => return Err(unknown_communicator(*handle)),
                }
            }
            GroupExpression::Union(first, second) => {
                let (first, second) = (group(first)?, group(second)?);
                let there: BTreeSet<u32> = first.iter().copied().collect();
                let more = second.iter().filter(|r| !there.contains(r));
                first.iter().chain(more).copied().collect()
            }
            GroupExpression::Intersection(first, second) | GroupExpression::Difference(first, second) => {
                let wanted = matches!(expression, GroupExpression::Intersection(..));
                let (first, second) = (group(first)?, group(second)?);
                let there: BTreeSet<u32> = second.iter().copied().collect();
                let chosen = first.iter().filter(|r| there.contains(r) == wanted);
                chosen.copied().collect()
            }
            GroupExpression::Include(of, ranks) => include(&group(of)?, ranks)?,
            GroupExpression::Exclude(of, ranks) => exclude(&group(of)?, ranks)?,
            GroupExpression::IncludeRanges(of, ranges) => {
                let of = group(of)?;
                include(&of, &expand(ranges, of.len())?)?
            }
            GroupExpression::ExcludeRanges(of, ranges) => {
                let of = group(of)?;
                exclude(&of, &expand(ranges, of.len())?)?
            }
        })
    }

    /// The communicators that a call creates.
    fn children(
        &self,
        parent: u32,
        members: &[u32],
        creations: &[Creation],
    ) -> Result<Vec<Child>, TraceError> {
        let first = members[0];
        let fail = |message: String| self.error(first, message);
        let sizes = &self.created[parent as usize].sizes;
        Ok(match &creations[0].kind {
            CreationKind::Dup => vec![(sizes.clone(), (0..members.len()).collect())],
            CreationKind::Split { .. } => {
                let colors = creations.iter().map(|creation| match creation.kind {
                    CreationKind::Split { color, key } if creation.child != NULL => Some((color, key)),
                    _ => None,
                });
                split(colors).map(|group| (None, group)).collect()
            }
            CreationKind::Create { .. } => self.created(members, creations)?,
            CreationKind::Cart { sizes, reorder } => {
                let chosen = leading(sizes.iter().copied(), members.len()).map_err(fail)?;
                let chosen = if *reorder {
                    reordered(creations, chosen)
                } else {
                    chosen
                };
                vec![(Some(sizes.clone()), chosen)]
            }
            CreationKind::Graph { nodes } => {
                let chosen = leading([*nodes], members.len()).map_err(fail)?;
                vec![(None, reordered(creations, chosen))]
            }
            CreationKind::CartSub { keep } => {
                let sizes = sizes.as_ref().filter(|sizes| sizes.len() == keep.len());
                let sizes = sizes.ok_or_else(|| fail("the communicator has no such grid of ranks".into()))?;
                cartesian_slices(sizes, keep, members.len())
            }
        })
    }

    fn created(&self, members: &[u32], creations: &[Creation]) -> Result<Vec<Child>, TraceError> {
        let places: BTreeMap<u32, usize> = members.iter().enumerate().map(|(p, m)| (*m, p)).collect();
        let mut groups: BTreeMap<Group, usize> = BTreeMap::new();
        for (member, creation) in members.iter().zip(creations) {
            if let (true, CreationKind::Create { group }) = (creation.child != NULL, &creation.kind) {
                let group = self
                    .group_of(*member, *group)
                    .map_err(|m| self.error(*member, m))?;
                if !group.contains(member) {
                    let message = "the rank is not in the group, but gets a communicator";
                    return Err(self.error(*member, message.into()));
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
                        "{callers} of the {} ranks of the group name this group",
                        group.len()
                    );
                    return Err(self.error(group[0], message));
                }
            }
        }
        Ok(children)
    }
}

/// The error of an unknown handle.
pub fn unknown_communicator(handle: u16) -> String {
    match handle {
        NULL => "is called on MPI_COMM_NULL".into(),
        _ => format!("communicator {handle} is used, but no recorded call makes it, or it has been freed"),
    }
}

/// The first ranks of a parent that fill a grid.
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

/// The rank order in a grid, if all ranks record it; otherwise that of the parent.
fn reordered(creations: &[Creation], chosen: Vec<usize>) -> Vec<usize> {
    let mut order = vec![None; chosen.len()];
    for (position, creation) in creations.iter().enumerate() {
        let rank = creation.rank.and_then(|rank| usize::try_from(rank).ok());
        if let Some(entry) = rank.and_then(|rank| order.get_mut(rank)) {
            *entry = Some(position);
        }
    }
    order
        .into_iter()
        .collect::<Option<Vec<usize>>>()
        .unwrap_or(chosen)
}

/// The slices of a grid along the kept dimensions.
fn cartesian_slices(sizes: &[i64], keep: &[bool], ranks: usize) -> Vec<Child> {
    let kept = sizes.iter().zip(keep).filter(|(_, keep)| **keep);
    let kept: Vec<i64> = kept.map(|(size, _)| *size).collect();
    let mut slices: BTreeMap<Vec<i64>, Vec<usize>> = BTreeMap::new();
    for position in 0..ranks {
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
    slices
        .into_values()
        .map(|slice| (Some(kept.clone()), slice))
        .collect()
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

/// The ranks of triples of first, last and stride.
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
