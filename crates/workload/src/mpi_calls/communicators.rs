//! Communicators of a trace, from the calls of all ranks.
//!
//! A call that creates communicators is collective over the parent, and all members make such calls on it in the
//! same order. Each rank advances through its calls until it needs the others; when all members of a parent
//! have arrived, the children are created and the members advance.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::TraceError;

/// A communicator of a trace, as an index into [`Communicators::members`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommunicatorRef {
    /// Its members communicate with each other.
    Group(u32),
    /// `MPI_COMM_SELF` or a copy: it has all ranks as members, and each communicates with itself only.
    SelfOnly(u32),
}

impl CommunicatorRef {
    /// Its index.
    pub fn index(self) -> u32 {
        let (CommunicatorRef::Group(id) | CommunicatorRef::SelfOnly(id)) = self;
        id
    }

    /// Whether it is a [`CommunicatorRef::Group`].
    pub fn is_shared(self) -> bool {
        matches!(self, CommunicatorRef::Group(_))
    }
}

/// All communicators of a trace.
#[derive(Debug)]
pub struct Communicators {
    /// World ranks of the members.
    pub members: Arc<[Vec<u32>]>,
    /// Number of [`CommunicatorRef::Group`], which come first.
    pub groups: usize,
    /// Children that each call gave a rank, by rank and in the order of its calls.
    pub created: Vec<Vec<Option<CommunicatorRef>>>,
}

impl Communicators {
    /// Number of ranks that communicate with each other.
    pub fn size(&self, communicator: CommunicatorRef) -> usize {
        match communicator {
            CommunicatorRef::Group(id) => self.members[id as usize].len(),
            CommunicatorRef::SelfOnly(_) => 1,
        }
    }

    /// A rank's number in a communicator, and the communicator's size.
    pub fn position(&self, communicator: CommunicatorRef, rank: u32) -> (usize, usize) {
        let CommunicatorRef::Group(id) = communicator else {
            return (0, 1);
        };
        let members = &self.members[id as usize];
        if members.get(rank as usize) == Some(&rank) {
            return (rank as usize, members.len());
        }
        let position = members.iter().position(|member| *member == rank);
        (position.unwrap_or(0), members.len())
    }

    /// Sizes of the communicators whose members communicate with each other.
    pub fn sizes(&self) -> impl Iterator<Item = u32> {
        self.members[..self.groups]
            .iter()
            .map(|members| members.len() as u32)
    }
}

/// The calls of all ranks while communicators are created.
pub trait CommunicatorAssembly {
    /// Advances a rank to its next call that creates communicators together with others; gives the parent.
    fn advance(&mut self, rank: u32) -> Result<Option<u32>, TraceError>;

    /// Members of a communicator.
    fn members(&self, communicator: u32) -> &[u32];

    /// Creates the children of a parent whose members have all arrived.
    fn create(&mut self, parent: u32) -> Result<(), TraceError>;

    /// An error at the call at which a rank has arrived.
    fn error(&self, rank: u32, message: String) -> TraceError;

    /// Creates all communicators of so many ranks.
    fn assemble(&mut self, ranks: u32) -> Result<(), TraceError> {
        let mut waiting: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut ready: VecDeque<u32> = (0..ranks).collect();
        while let Some(rank) = ready.pop_front() {
            let Some(parent) = self.advance(rank)? else {
                continue;
            };
            let arrived = waiting.entry(parent).or_default();
            arrived.push(rank);
            if arrived.len() == self.members(parent).len() {
                waiting.remove(&parent);
                self.create(parent)?;
                ready.extend(self.members(parent));
            }
        }
        let Some((parent, arrived)) = waiting.iter().next() else {
            return Ok(());
        };
        let members = self.members(*parent);
        let absent = members.iter().find(|member| !arrived.contains(member));
        let message = format!(
            "makes a communicator together with {} ranks, but rank {} makes no such call",
            members.len(),
            absent.unwrap_or(&0)
        );
        Err(self.error(arrived[0], message))
    }
}

/// The groups of `MPI_Comm_split` as positions in the parent, by the colour and key of each position.
pub fn split(colors: impl Iterator<Item = Option<(i64, i64)>>) -> impl Iterator<Item = Vec<usize>> {
    let mut by_color: BTreeMap<i64, Vec<(i64, usize)>> = BTreeMap::new();
    for (position, color) in colors.enumerate() {
        if let Some((color, key)) = color {
            by_color.entry(color).or_default().push((key, position));
        }
    }
    by_color.into_values().map(|mut group| {
        group.sort_unstable();
        group.into_iter().map(|(_, position)| position).collect()
    })
}
