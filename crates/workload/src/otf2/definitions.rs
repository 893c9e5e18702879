//! Ranks, communicators and names of MPI calls, from an archive's global definitions.

use std::collections::HashMap;
use std::sync::Arc;

use ::otf2::Definition;

use crate::recording::LeftOut;
use crate::{Call, Communicator, Region};

const PARADIGM_MPI: u32 = 4;
const GROUP_COMM_LOCATIONS: u32 = 4;
const GROUP_COMM_GROUP: u32 = 5;
const GROUP_COMM_SELF: u32 = 6;
const GROUP_FLAG_GLOBAL_MEMBERS: u32 = 1;

/// Picoseconds in a second.
const PS_PER_S: u128 = 1_000_000_000_000;

/// Definitions that all ranks share.
#[derive(Debug)]
pub struct Definitions {
    /// Clock.
    pub ticks_per_second: u64,
    /// Location of each rank.
    pub locations: Vec<u64>,
    /// Declared number of events of each rank.
    pub declared_events: Vec<u64>,
    /// Number of locations that are not MPI ranks, and of their events.
    pub other_locations: (usize, u64),
    /// World ranks of each communicator's members; the first has all ranks.
    pub communicators: Arc<[Vec<u32>]>,
    /// Communicators by OTF2 id.
    groups: CommunicatorMemberships,
    /// RMA windows by OTF2 id; those of other paradigms have no communicator.
    rma_windows: HashMap<u32, Option<CommunicatorMembership>>,
    /// MPI functions by region id.
    mpi_regions: HashMap<u32, MpiRegion>,
    /// Names of the other regions. Regions of the same name are one.
    pub regions: Arc<[String]>,
    /// Index in `regions` by region id.
    user_regions: HashMap<u32, Region>,
}

/// An MPI function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpiRegion {
    /// For example `MPI_Isend`.
    pub name: Arc<str>,
    /// Its call.
    pub call: Call,
    /// Whether its calls are left out.
    pub left_out: LeftOut,
}

/// Numbering of ranks in an OTF2 communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommunicatorMembership {
    /// That of this communicator of the workload.
    Group(Communicator),
    /// `MPI_COMM_SELF`: rank 0 is the rank itself. The communicator of the workload has all ranks.
    Own(Communicator),
    /// An inter-communicator: ranks are those of the other group. The communicator of the workload has the
    /// first group and, from this index on, the second.
    Inter(Communicator, u32),
}

/// Communicators by OTF2 id.
type CommunicatorMemberships = HashMap<u32, CommunicatorMembership>;

impl Definitions {
    /// Converts the definitions.
    ///
    /// # Errors
    /// There are no MPI ranks or no clock, or a definition refers to a missing one.
    pub fn new(definitions: Vec<Definition>) -> Result<Definitions, String> {
        let tables = DefinitionTables::new(definitions);
        let locations = tables.ranks()?;
        if tables.ticks_per_second == 0 {
            return Err("the archive defines no clock".into());
        }
        let ranks: HashMap<u64, u32> = (0..).zip(&locations).map(|(rank, l)| (*l, rank)).collect();
        let declared = |location: &u64| tables.events.get(location).copied().unwrap_or(0);
        let others = tables.events.iter().filter(|(l, _)| !ranks.contains_key(l));
        let other_locations = others.fold((0, 0), |(n, events), (_, e)| (n + 1, events + e));
        let declared_events = locations.iter().map(declared).collect();
        let (communicators, groups) = tables.communicators(&ranks)?;
        let window = |(id, communicator): &(u32, u32)| (*id, groups.get(communicator).copied());
        let rma_windows = tables.rma_windows.iter().map(window).collect();
        let (regions, user_regions) = tables.user_regions();
        Ok(Definitions {
            rma_windows,
            regions,
            user_regions,
            ticks_per_second: tables.ticks_per_second,
            mpi_regions: tables.mpi_regions(),
            locations,
            declared_events,
            other_locations,
            communicators: communicators.into(),
            groups,
        })
    }

    /// The MPI function of a region; `None` for other code.
    pub fn mpi_region(&self, region: u32) -> Option<&MpiRegion> {
        self.mpi_regions.get(&region)
    }

    /// The index in [`Definitions::regions`] of a region that is not an MPI function.
    pub fn user_region(&self, region: u32) -> Option<Region> {
        self.user_regions.get(&region).copied()
    }

    /// The name of a region, of MPI or not.
    pub fn region_name(&self, region: u32) -> Option<&str> {
        match self.mpi_region(region) {
            Some(mpi) => Some(&mpi.name),
            None => self
                .regions
                .get(self.user_region(region)? as usize)
                .map(String::as_str),
        }
    }

    /// The communicator of an RMA window; `None` if it is not of MPI.
    ///
    /// # Errors
    /// It is not defined.
    pub fn rma_window(&self, id: u32) -> Result<Option<CommunicatorMembership>, String> {
        let window = self.rma_windows.get(&id).copied();
        window.ok_or_else(|| format!("window {id} is used but not defined"))
    }

    /// The communicator of an OTF2 id.
    pub fn membership(&self, id: u32) -> Option<CommunicatorMembership> {
        self.groups.get(&id).copied()
    }

    /// Sizes of the archive's communicators, in no particular order.
    pub fn communicator_sizes(&self) -> impl Iterator<Item = u32> {
        self.groups.values().map(|membership| match membership {
            CommunicatorMembership::Own(_) => 1,
            CommunicatorMembership::Group(c) | CommunicatorMembership::Inter(c, _) => {
                self.communicators[*c as usize].len() as u32
            }
        })
    }

    /// A span of ticks in picoseconds, rounded down; `None` if it does not fit.
    pub fn picoseconds(&self, ticks: u64) -> Option<u64> {
        u64::try_from(u128::from(ticks) * PS_PER_S / u128::from(self.ticks_per_second)).ok()
    }
}

struct GroupDefinition {
    kind: u32,
    paradigm: u32,
    flags: u32,
    members: Vec<u64>,
}

/// The definitions by kind and id.
#[derive(Default)]
struct DefinitionTables {
    ticks_per_second: u64,
    strings: HashMap<u32, String>,
    events: HashMap<u64, u64>,
    regions: Vec<(u32, u32)>,
    groups: HashMap<u32, GroupDefinition>,
    communicators: Vec<(u32, u32, u32)>,
    inter: Vec<(u32, [u32; 2])>,
    rma_windows: Vec<(u32, u32)>,
}

impl DefinitionTables {
    fn new(definitions: Vec<Definition>) -> DefinitionTables {
        let mut t = DefinitionTables::default();
        for definition in definitions {
            match definition {
                Definition::Clock { ticks_per_second } => t.ticks_per_second = ticks_per_second,
                Definition::String { id, text } => drop(t.strings.insert(id, text)),
                Definition::Location { id, events } => drop(t.events.insert(id, events)),
                Definition::Region { id, name } => t.regions.push((id, name)),
                Definition::Group {
                    id,
                    kind,
                    paradigm,
                    flags,
                    members,
                } => {
                    let group = GroupDefinition {
                        kind,
                        paradigm,
                        flags,
                        members,
                    };
                    t.groups.insert(id, group);
                }
                Definition::Communicator { id, name, group } => t.communicators.push((id, name, group)),
                Definition::InterCommunicator { id, groups } => t.inter.push((id, groups)),
                Definition::RmaWindow { id, communicator } => t.rma_windows.push((id, communicator)),
            }
        }
        t
    }

    fn name(&self, string: u32) -> &str {
        self.strings.get(&string).map_or("", String::as_str)
    }

    /// Location of each rank: the members of MPI's group of locations, in their order.
    fn ranks(&self) -> Result<Vec<u64>, String> {
        self.groups
            .values()
            .find(|g| g.kind == GROUP_COMM_LOCATIONS && g.paradigm == PARADIGM_MPI && !g.members.is_empty())
            .map(|g| g.members.clone())
            .ok_or_else(|| {
                "the archive defines no MPI ranks (no group of locations with the paradigm MPI); \
                 was it recorded from an MPI program?"
                    .into()
            })
    }

    fn mpi_regions(&self) -> HashMap<u32, MpiRegion> {
        let named = self.regions.iter().map(|(id, string)| (*id, self.name(*string)));
        named
            .filter(|(_, name)| name.starts_with("MPI_"))
            .map(|(id, name)| {
                let call = call(name);
                (
                    id,
                    MpiRegion {
                        name: name.into(),
                        call,
                        left_out: LeftOut::of(name),
                    },
                )
            })
            .collect()
    }

    fn user_regions(&self) -> (Arc<[String]>, HashMap<u32, Region>) {
        let mut names: Vec<String> = Vec::new();
        let mut places: HashMap<&str, Region> = HashMap::new();
        let mut ids = HashMap::new();
        for (id, string) in &self.regions {
            let name = self.name(*string);
            if name.starts_with("MPI_") {
                continue;
            }
            let place = *places.entry(name).or_insert_with(|| {
                names.push(name.into());
                names.len() as Region - 1
            });
            ids.insert(*id, place);
        }
        (names.into(), ids)
    }

    /// Members of all MPI communicators as world ranks, all ranks first, and the index of each id.
    fn communicators(
        &self,
        ranks: &HashMap<u64, u32>,
    ) -> Result<(Vec<Vec<u32>>, CommunicatorMemberships), String> {
        let all: Vec<u32> = (0..ranks.len() as u32).collect();
        let mut lists = vec![all.clone()];
        let mut index = HashMap::new();
        let mut world = None;
        for (id, name, group) in &self.communicators {
            let Some(group) = self.mpi_group(*group) else {
                continue;
            };
            if group.kind == GROUP_COMM_SELF {
                index.insert(*id, CommunicatorMembership::Own(lists.len() as u32));
                lists.push(all.clone());
                continue;
            }
            let members = members(group, ranks)
                .map_err(|e| format!("communicator {id} ({}): {e}", self.name(*name)))?;
            // A duplicate of MPI_COMM_WORLD has the same members and other messages.
            if world.is_none() && members == all && self.may_be_world(*name) {
                world = Some(*id);
                index.insert(*id, CommunicatorMembership::Group(crate::WORLD));
            } else {
                index.insert(*id, CommunicatorMembership::Group(lists.len() as u32));
                lists.push(members);
            }
        }
        for (id, [a, b]) in &self.inter {
            let (Some(a), Some(b)) = (self.mpi_group(*a), self.mpi_group(*b)) else {
                continue;
            };
            let fail = |e| format!("inter-communicator {id}: {e}");
            let mut union = members(a, ranks).map_err(fail)?;
            index.insert(
                *id,
                CommunicatorMembership::Inter(lists.len() as u32, union.len() as u32),
            );
            union.extend(members(b, ranks).map_err(fail)?);
            lists.push(union);
        }
        Ok((lists, index))
    }

    /// Whether a communicator of all ranks can be MPI_COMM_WORLD: it has this name, or none has.
    fn may_be_world(&self, name: u32) -> bool {
        const WORLD: &str = "MPI_COMM_WORLD";
        self.name(name) == WORLD || !self.communicators.iter().any(|(_, n, _)| self.name(*n) == WORLD)
    }

    fn mpi_group(&self, id: u32) -> Option<&GroupDefinition> {
        self.groups.get(&id).filter(|g| g.paradigm == PARADIGM_MPI)
    }
}

/// World ranks of a group's members.
fn members(group: &GroupDefinition, ranks: &HashMap<u64, u32>) -> Result<Vec<u32>, String> {
    let direct = group.flags & GROUP_FLAG_GLOBAL_MEMBERS != 0 || group.kind != GROUP_COMM_GROUP;
    let world_rank = |member: &u64| {
        if direct {
            ranks.get(member).copied()
        } else {
            u32::try_from(*member)
                .ok()
                .filter(|m| (*m as usize) < ranks.len())
        }
    };
    let rank =
        |m| world_rank(m).ok_or_else(|| format!("its member {m} is none of the {} ranks", ranks.len()));
    group.members.iter().map(rank).collect()
}

/// The call of an MPI function.
fn call(name: &str) -> Call {
    let by_other_name = match name {
        "MPI_Mrecv" => Call::Recv,
        "MPI_Imrecv" => Call::Irecv,
        "MPI_Sendrecv_replace" => Call::Sendrecv,
        "MPI_Mprobe" => Call::Probe,
        "MPI_Improbe" => Call::Iprobe,
        "MPI_Alltoallw" => Call::Alltoallv,
        _ => Call::Other,
    };
    Call::from_name(name).unwrap_or(by_other_name)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Strings, regions and communicators of a small archive; `ranks` ranks on locations 10, 11, ...
    pub fn archive(ranks: u32) -> Vec<Definition> {
        let string = |id, text: &str| Definition::String {
            id,
            text: text.into(),
        };
        let group = |id, kind, members: Vec<u64>| Definition::Group {
            id,
            kind,
            paradigm: PARADIGM_MPI,
            flags: 0,
            members,
        };
        let communicator = |id, name, group| Definition::Communicator { id, name, group };
        let mut all = vec![
            Definition::Clock {
                ticks_per_second: 1_000_000_000,
            },
            string(0, ""),
            string(1, "MPI_COMM_WORLD"),
            group(0, GROUP_COMM_LOCATIONS, (10..10 + u64::from(ranks)).collect()),
            group(1, GROUP_COMM_GROUP, (0..u64::from(ranks)).collect()),
            group(2, GROUP_COMM_SELF, vec![]),
            group(
                3,
                GROUP_COMM_GROUP,
                (0..u64::from(ranks)).rev().step_by(2).collect(),
            ),
            // A duplicate before the original, which the name distinguishes.
            communicator(7, 0, 1),
            communicator(0, 1, 1),
            communicator(1, 0, 2),
            communicator(2, 0, 3),
            Definition::RmaWindow {
                id: 5,
                communicator: 2,
            },
            Definition::RmaWindow {
                id: 6,
                communicator: 99,
            },
        ];
        for (id, name) in (100..).zip(REGIONS) {
            all.push(string(id, name));
            all.push(Definition::Region { id, name: id });
        }
        for id in 10..10 + u64::from(ranks) {
            all.push(Definition::Location { id, events: 0 });
        }
        all
    }

    /// Regions of [`archive`], from id 100 on.
    pub const REGIONS: [&str; 30] = [
        "main",
        "MPI_Send",
        "MPI_Isend",
        "MPI_Recv",
        "MPI_Irecv",
        "MPI_Sendrecv",
        "MPI_Wait",
        "MPI_Waitall",
        "MPI_Test",
        "MPI_Start",
        "MPI_Allreduce",
        "MPI_Comm_rank",
        "MPI_Cancel",
        "MPI_Ibcast",
        "MPI_Startall",
        "MPI_Scan",
        "solve",
        "MPI_Put",
        "MPI_Get",
        "MPI_Accumulate",
        "MPI_Win_create",
        "MPI_Win_fence",
        "MPI_Win_free",
        "MPI_Win_lock",
        "MPI_Comm_dup",
        "MPI_Comm_split",
        "MPI_File_write_all",
        "MPI_Comm_create_group",
        "MPI_Init",
        "MPI_Finalize",
    ];

    #[test]
    fn no_ranks_no_clock_and_dangling_members_are_errors() {
        let error = |definitions| Definitions::new(definitions).unwrap_err();
        assert!(error(vec![]).contains("no MPI ranks"));
        let mut all = archive(4);
        all.retain(|d| !matches!(d, Definition::Clock { .. }));
        assert!(error(all).contains("no clock"));
        let mut all = archive(4);
        all.push(Definition::Group {
            id: 3,
            kind: GROUP_COMM_GROUP,
            paradigm: PARADIGM_MPI,
            flags: 0,
            members: vec![0, 4],
        });
        let message = error(all);
        assert!(
            message.contains("communicator 2") && message.contains("member 4"),
            "{message}"
        );
    }

    #[test]
    fn communicators_are_lists_of_world_ranks() {
        let mut all = archive(4);
        all.push(Definition::Group {
            id: 4,
            kind: GROUP_COMM_GROUP,
            paradigm: PARADIGM_MPI,
            flags: GROUP_FLAG_GLOBAL_MEMBERS,
            members: vec![12, 10],
        });
        all.push(Definition::InterCommunicator {
            id: 9,
            groups: [3, 4],
        });
        all.push(Definition::Location { id: 99, events: 5 });
        let d = Definitions::new(all).unwrap();
        assert_eq!(d.locations, [10, 11, 12, 13]);
        assert_eq!(d.other_locations, (1, 5));
        assert_eq!(d.membership(0), Some(CommunicatorMembership::Group(0)));
        assert_eq!(d.membership(7), Some(CommunicatorMembership::Group(1)));
        assert_eq!(d.membership(1), Some(CommunicatorMembership::Own(2)));
        assert_eq!(d.membership(2), Some(CommunicatorMembership::Group(3)));
        assert_eq!(d.membership(9), Some(CommunicatorMembership::Inter(4, 2)));
        assert_eq!(d.membership(55), None);
        assert_eq!(d.communicators[0], [0, 1, 2, 3]);
        assert_eq!(d.communicators[3], [3, 1]);
        assert_eq!(d.communicators[4], [3, 1, 2, 0]);
    }

    #[test]
    fn regions_and_calls() {
        let mut all = archive(2);
        all.push(Definition::Region { id: 7, name: 100 });
        let d = Definitions::new(all).unwrap();
        assert_eq!(*d.regions, ["main", "solve"]);
        assert_eq!(d.user_region(7), d.user_region(100), "two regions of one name");
        assert_eq!(d.user_region(102), None);
        assert_eq!(d.rma_window(5), Ok(Some(CommunicatorMembership::Group(3))));
        assert_eq!(d.rma_window(6), Ok(None));
        assert_eq!(d.rma_window(7), Err("window 7 is used but not defined".into()));
        assert_eq!(d.mpi_region(100), None);
        assert_eq!(d.mpi_region(102).unwrap().call, Call::Isend);
        assert_eq!(call("MPI_Sendrecv_replace"), Call::Sendrecv);
        assert_eq!(call("MPI_Reduce_scatter"), Call::ReduceScatter);
        assert_eq!(call("MPI_Comm_rank"), Call::Other);
        assert_eq!(d.picoseconds(7), Some(7_000));
        assert_eq!(d.picoseconds(u64::MAX), None);
    }
}
