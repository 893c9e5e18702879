//! Collectives among the neighbours of a topology (MPI 4.1, section 8.6): a message to each destination and one from
//! each source, at once.

use std::ffi::c_int;

use crate::abi::class;
use crate::collective::CollectiveWork;
use crate::failure::{Failure, Outcome};
use crate::grouped_messages::MessagePlan;
use crate::member_blocks::MemberBlocks;
use crate::process::Process;
use crate::topology::NeighborLists;

impl Process {
    /// The neighbours of this rank.
    ///
    /// # Errors
    /// The communicator has no topology.
    pub fn neighbors(&self, communicator: c_int) -> Outcome<NeighborLists> {
        let own = self.communicators.get(communicator)?;
        match &own.topology {
            Some(topology) => Ok(topology.neighbors(own.rank as c_int)),
            None => Err(Failure::new(class::TOPOLOGY, "the communicator has no topology").on(communicator)),
        }
    }

    /// Numbers of sources and destinations.
    ///
    /// # Errors
    /// The communicator has no topology.
    pub fn neighbor_counts(&self, communicator: c_int) -> Outcome<(usize, usize)> {
        let NeighborLists {
            sources,
            destinations,
        } = self.neighbors(communicator)?;
        Ok((sources.len(), destinations.len()))
    }

    /// A block to each destination, and one from each source. Blocks beyond the end of a grid stay as they are.
    pub fn exchange_with_neighbors(
        &self,
        sends: MemberBlocks,
        receives: MemberBlocks,
        communicator: c_int,
    ) -> Outcome<CollectiveWork> {
        let NeighborLists {
            sources,
            destinations,
        } = self.neighbors(communicator)?;
        let places: Vec<usize> = (0..sources.len())
            .filter(|place| sources[*place].0.is_some())
            .collect();
        let mut plan = MessagePlan::new(Box::new(move |parts| {
            let mut parts = parts.iter().zip(&places);
            parts.try_for_each(|(bytes, place)| receives.unpack(*place, bytes))
        }));
        let there = |list: &[(Option<c_int>, u32)]| -> Vec<(usize, u32, u32)> {
            let found = list.iter().enumerate();
            found
                .filter_map(|(place, (rank, tag))| Some((place, (*rank)? as u32, *tag)))
                .collect()
        };
        plan.receives = there(&sources)
            .into_iter()
            .map(|(_, from, tag)| (from, tag))
            .collect();
        let sent = there(&destinations).into_iter();
        plan.sends = sent
            .map(|(place, to, tag)| (to, tag, sends.pack(place)))
            .collect();
        Ok(CollectiveWork::Messages(communicator, plan))
    }
}
