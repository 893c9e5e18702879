//! The dependency graph of one rank's operations, in LogGOPSim's binary format.
//!
//! A block has, in little-endian order and without padding: the number of operations and of roots (u32 each);
//! the roots, in ascending order (u32); the operations, 39 bytes each; the appendix with lists of dependent
//! operations (u32). An operation has: its number of prerequisites (u32), kind (u8: 1 send, 2 receive, 3 calc),
//! peer (u32), bytes or nanoseconds (u64), tag (u32), CPU (u8), NIC (u8), then count and index in the appendix
//! (u32 each) of the operations that depend on its end, and of those that depend on its start. A peer or tag of
//! 2^32 - 1 is a wildcard. Source: `txt2bin` of <https://github.com/spcl/LogGOPSim> (`Parser.hpp`).
//!
//! A block is read page by page, so that memory does not grow with its length.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// Wildcard for a peer or tag.
pub const ANY: u32 = u32::MAX;

const OPERATION_BYTES: u64 = 39;
const HEAD_BYTES: u64 = 8;
/// Bytes per page. Many ranks are open at a time.
const PAGE: usize = 1024;

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends.
    Send,
    /// Receives.
    Receive,
    /// Computes.
    Calc,
}

/// A list in the appendix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DependencyList {
    /// Number of entries.
    pub count: u32,
    /// Index of the first entry.
    pub place: u32,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoalNode {
    /// Number of prerequisites.
    pub prerequisites: u32,
    /// Kind.
    pub kind: NodeKind,
    /// The other rank, or [`ANY`].
    pub peer: u32,
    /// Bytes, or nanoseconds of a calc.
    pub size: u64,
    /// Tag, or [`ANY`].
    pub tag: u32,
    /// CPU.
    pub cpu: u8,
    /// NIC.
    pub nic: u8,
    /// Operations that depend on its end.
    pub ended: DependencyList,
    /// Operations that depend on its start.
    pub started: DependencyList,
}

impl GoalNode {
    fn to_bytes(self) -> [u8; OPERATION_BYTES as usize] {
        let mut bytes = [0; OPERATION_BYTES as usize];
        let kind = match self.kind {
            NodeKind::Send => 1,
            NodeKind::Receive => 2,
            NodeKind::Calc => 3,
        };
        bytes[..4].copy_from_slice(&self.prerequisites.to_le_bytes());
        bytes[4] = kind;
        bytes[5..9].copy_from_slice(&self.peer.to_le_bytes());
        bytes[9..17].copy_from_slice(&self.size.to_le_bytes());
        bytes[17..21].copy_from_slice(&self.tag.to_le_bytes());
        bytes[21] = self.cpu;
        bytes[22] = self.nic;
        let lists = [
            self.ended.count,
            self.ended.place,
            self.started.count,
            self.started.place,
        ];
        for (i, number) in lists.iter().enumerate() {
            bytes[23 + 4 * i..27 + 4 * i].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: [u8; OPERATION_BYTES as usize]) -> Result<GoalNode, String> {
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let kind = match bytes[4] {
            1 => NodeKind::Send,
            2 => NodeKind::Receive,
            3 => NodeKind::Calc,
            other => {
                return Err(format!(
                    "is of kind {other}; expected 1 (send), 2 (recv) or 3 (calc)"
                ));
            }
        };
        let list = |at| DependencyList {
            count: u32_at(at),
            place: u32_at(at + 4),
        };
        Ok(GoalNode {
            prerequisites: u32_at(0),
            kind,
            peer: u32_at(5),
            size: u64::from(u32_at(9)) | u64::from(u32_at(13)) << 32,
            tag: u32_at(17),
            cpu: bytes[21],
            nic: bytes[22],
            ended: list(23),
            started: list(31),
        })
    }
}

/// Location of a block.
#[derive(Clone, Debug)]
pub enum GoalBlock {
    /// In a file, from the first offset up to the second.
    File(Arc<Mutex<File>>, u64, u64),
    /// In memory.
    Memory(Arc<[u8]>),
}

impl GoalBlock {
    /// Encodes operations and the edges between them: (earlier, later, whether the later one depends on the
    /// start). Counts and lists of the nodes are filled in.
    pub fn new(mut nodes: Vec<GoalNode>, mut edges: Vec<(u32, u32, bool)>) -> GoalBlock {
        edges.sort_by_key(|(earlier, _, start)| (*earlier, *start));
        for node in &mut nodes {
            (node.prerequisites, node.ended, node.started) = Default::default();
        }
        for (earlier, later, start) in &edges {
            nodes[*later as usize].prerequisites += 1;
            let node = &mut nodes[*earlier as usize];
            let list = if *start {
                &mut node.started
            } else {
                &mut node.ended
            };
            list.count += 1;
        }
        let mut place = 0;
        for list in nodes.iter_mut().flat_map(|n| [&mut n.ended, &mut n.started]) {
            list.place = place;
            place += list.count;
        }
        let roots: Vec<u32> = (0..)
            .zip(&nodes)
            .filter(|(_, n)| n.prerequisites == 0)
            .map(|(i, _)| i)
            .collect();
        let mut bytes =
            Vec::with_capacity(8 + 4 * (roots.len() + edges.len()) + OPERATION_BYTES as usize * nodes.len());
        bytes.extend((nodes.len() as u32).to_le_bytes());
        bytes.extend((roots.len() as u32).to_le_bytes());
        roots.iter().for_each(|root| bytes.extend(root.to_le_bytes()));
        nodes.iter().for_each(|node| bytes.extend(node.to_bytes()));
        edges
            .iter()
            .for_each(|(_, later, _)| bytes.extend(later.to_le_bytes()));
        GoalBlock::Memory(bytes.into())
    }

    fn len(&self) -> u64 {
        match self {
            GoalBlock::File(_, start, end) => end.saturating_sub(*start),
            GoalBlock::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Reads from offset `at` until the block ends. Returns the number of bytes.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<usize, String> {
        let left = self.len().saturating_sub(at).min(into.len() as u64) as usize;
        let into = &mut into[..left];
        match self {
            GoalBlock::Memory(bytes) => into.copy_from_slice(&bytes[at as usize..][..left]),
            GoalBlock::File(file, start, _) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(start + at))
                    .and_then(|_| file.read_exact(into))
                    .map_err(|e| format!("the schedule cannot be read: {e}"))?;
            }
        }
        Ok(left)
    }
}

/// A page of a block.
#[derive(Debug, Default)]
struct BlockPage {
    at: u64,
    bytes: Vec<u8>,
}

impl BlockPage {
    fn get<const N: usize>(&mut self, block: &GoalBlock, at: u64) -> Result<[u8; N], String> {
        let within = |page: &BlockPage| {
            let offset = usize::try_from(at.checked_sub(page.at)?).ok()?;
            page.bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
        };
        if let Some(bytes) = within(self) {
            return Ok(bytes);
        }
        self.at = at;
        self.bytes.resize(PAGE, 0);
        let read = block.read(at, &mut self.bytes)?;
        self.bytes.truncate(read);
        within(self).ok_or_else(|| "the schedule is cut off".into())
    }
}

/// Reads a block. Errors describe the defect; the caller adds file and rank.
#[derive(Debug)]
pub struct ScheduleGraph {
    block: GoalBlock,
    /// Number of operations.
    pub operations: u32,
    roots: u32,
    /// Entries in the appendix.
    entries: u64,
    /// Pages for roots, for starting operations, for looked-up operations, and for the appendix.
    pages: [BlockPage; 4],
}

impl ScheduleGraph {
    /// Reads the head of a block.
    ///
    /// # Errors
    /// The block is shorter than its head says.
    pub fn new(block: GoalBlock) -> Result<ScheduleGraph, String> {
        let mut pages: [BlockPage; 4] = Default::default();
        let head: [u8; HEAD_BYTES as usize] = pages[0].get(&block, 0)?;
        let head = u64::from_le_bytes(head);
        let (operations, roots) = (head as u32, (head >> 32) as u32);
        let fixed = HEAD_BYTES + 4 * u64::from(roots) + OPERATION_BYTES * u64::from(operations);
        let left = block.len().checked_sub(fixed).ok_or_else(|| {
            format!(
                "the schedule is cut off: {operations} operations, {roots} of them without prerequisites, take {fixed} bytes, and there \
                 are {}",
                block.len()
            )
        })?;
        Ok(ScheduleGraph {
            operations,
            roots,
            entries: left / 4,
            block,
            pages,
        })
    }

    /// The n-th root, from 0; `None` beyond the last.
    ///
    /// # Errors
    /// The file cannot be read, or the operation does not exist.
    pub fn root(&mut self, n: u32) -> Result<Option<u32>, String> {
        if n >= self.roots {
            return Ok(None);
        }
        let at = HEAD_BYTES + 4 * u64::from(n);
        let root = u32::from_le_bytes(self.pages[0].get(&self.block, at)?);
        self.known(root).map(Some)
    }

    /// Reads an operation.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn node(&mut self, operation: u32) -> Result<GoalNode, String> {
        self.node_by(1, operation)
    }

    /// Reads an operation through a separate page, for access out of order.
    ///
    /// # Errors
    /// As [`ScheduleGraph::node`].
    pub fn peek(&mut self, operation: u32) -> Result<GoalNode, String> {
        self.node_by(2, operation)
    }

    fn node_by(&mut self, page: usize, operation: u32) -> Result<GoalNode, String> {
        let at = HEAD_BYTES + 4 * u64::from(self.roots) + OPERATION_BYTES * u64::from(operation);
        GoalNode::from_bytes(self.pages[page].get(&self.block, at)?)
            .map_err(|e| format!("operation {operation} {e}: the file is damaged"))
    }

    /// The n-th entry of a list.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn entry(&mut self, list: DependencyList, n: u32) -> Result<u32, String> {
        let place = u64::from(list.place) + u64::from(n);
        if place >= self.entries {
            let entries = self.entries;
            return Err(format!(
                "the schedule has a list of operations at place {place}, but only {entries} places: the file is damaged"
            ));
        }
        let fixed = HEAD_BYTES + 4 * u64::from(self.roots) + OPERATION_BYTES * u64::from(self.operations);
        let entry = u32::from_le_bytes(self.pages[3].get(&self.block, fixed + 4 * place)?);
        self.known(entry)
    }

    fn known(&self, operation: u32) -> Result<u32, String> {
        if operation < self.operations {
            return Ok(operation);
        }
        Err(format!(
            "the schedule names operation {operation} of {}: the file is damaged",
            self.operations
        ))
    }
}
