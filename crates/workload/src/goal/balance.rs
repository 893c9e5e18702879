//! Comparison of sends to and receives at each rank.

use std::collections::BTreeMap;

use super::graph::{GoalNode, NodeKind};

/// Number of sends to and receives at each rank.
#[derive(Debug, Default)]
pub struct MessageCounts {
    ranks: BTreeMap<u32, (u64, u64)>,
}

impl MessageCounts {
    /// Counts one operation.
    pub fn count(&mut self, rank: u32, node: GoalNode) {
        match node.kind {
            NodeKind::Send => self.add(node.peer, 1, 0),
            NodeKind::Receive => self.add(rank, 0, 1),
            NodeKind::Calc => {}
        }
    }

    /// Adds sends to and receives at a rank.
    pub fn add(&mut self, rank: u32, sends: u64, receives: u64) {
        let counts = self.ranks.entry(rank).or_default();
        counts.0 += sends;
        counts.1 += receives;
    }

    /// Compares sends and receives.
    ///
    /// # Errors
    /// The first rank where they differ.
    pub fn check(&self) -> Result<(), (u32, String)> {
        let found = self.ranks.iter().find(|(_, (sends, receives))| sends != receives);
        match found {
            None => Ok(()),
            Some((rank, (sends, receives))) => {
                let what = if sends > receives {
                    "some messages would never be received"
                } else {
                    "some receives would never complete"
                };
                let message = format!("{sends} messages are sent to it, but it receives {receives}: {what}");
                Err((*rank, message))
            }
        }
    }
}
