//! The operations of a rank in sequence on one CPU, from its dependency graph.
//!
//! All operations that can start without waiting start: receives first, since posting takes no time, then the
//! others in file order. If none can start, the rank waits for the requests of the first operation in file
//! order that needs only requests. Operations are kept from the start of a prerequisite until their own start,
//! so memory is that of this front.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::graph::{ANY, DependencyList, GoalBlock, GoalNode, NodeKind, ScheduleGraph};
use crate::{Call, Operation, Program, TraceError, WORLD};

/// Picoseconds per unit of a calc.
const PS_PER_NS: u64 = 1000;

/// An operation with prerequisites that have not started.
#[derive(Debug)]
struct PendingNode {
    /// Number of such prerequisites.
    left: u32,
    /// Requests of started prerequisites whose end it depends on.
    requests: Vec<u32>,
}

/// The operations of one rank. A request has the number of the operation that opens it.
pub struct GoalProgram {
    file: String,
    rank: u32,
    ranks: u32,
    graph: ScheduleGraph,
    /// Roots visited in the search for receives, and in the search for others.
    roots: [u32; 2],
    /// Operations that may start: receives, and others.
    ready: [BinaryHeap<Reverse<u32>>; 2],
    partial: BTreeMap<u32, PendingNode>,
    /// Operations whose prerequisites have all started, with the requests they wait for.
    blocked: BTreeMap<u32, Vec<u32>>,
    /// Requests that were not waited for.
    open: BTreeSet<u32>,
    started: u32,
    ended: bool,
    /// CPU and NIC of the first operation, and whether others use different ones.
    first_units: Option<(u8, u8)>,
    several_units: (bool, bool),
}

impl GoalProgram {
    /// A program at the start of a rank's schedule.
    ///
    /// # Errors
    /// The schedule is damaged.
    pub fn new(file: String, rank: u32, ranks: u32, block: GoalBlock) -> Result<GoalProgram, TraceError> {
        let graph = ScheduleGraph::new(block).map_err(|e| error(&file, rank, &e))?;
        Ok(GoalProgram {
            file,
            rank,
            ranks,
            graph,
            roots: [0; 2],
            ready: Default::default(),
            partial: BTreeMap::new(),
            blocked: BTreeMap::new(),
            open: BTreeSet::new(),
            started: 0,
            ended: false,
            first_units: None,
            several_units: (false, false),
        })
    }

    /// Number of operations that have started.
    pub fn started(&self) -> u32 {
        self.started
    }

    /// Whether more than one CPU, and more than one NIC, have been used.
    pub fn several_units(&self) -> (bool, bool) {
        self.several_units
    }

    /// Number of operations and requests in memory.
    #[cfg(test)]
    pub fn front(&self) -> usize {
        self.partial.len()
            + self.blocked.len()
            + self.ready.iter().map(BinaryHeap::len).sum::<usize>()
            + self.open.len()
    }

    fn step(&mut self) -> Result<Option<Operation>, String> {
        loop {
            if let Some(number) = self.next_ready()? {
                let node = self.graph.node(number)?;
                let operation = self.operation(number, node)?;
                self.start(number, node)?;
                match operation {
                    // An operation that only orders others takes no time.
                    Operation::Compute { ps: 0, .. } => {}
                    operation => return Ok(Some(operation)),
                }
            } else if let Some((first, requests)) = self.blocked.first_key_value() {
                debug_assert!(!requests.is_empty(), "operation {first} can start");
                let requests = requests.clone();
                return self.wait(requests).map(Some);
            } else {
                return self.end();
            }
        }
    }

    fn next_ready(&mut self) -> Result<Option<u32>, String> {
        for queue in 0..2 {
            let root = self.next_root(queue)?;
            let freed = self.ready[queue].peek().map(|Reverse(number)| *number);
            let number = match (root, freed) {
                (Some(root), Some(freed)) if freed < root => Some(freed),
                (Some(root), _) => {
                    self.roots[queue] += 1;
                    return Ok(Some(root));
                }
                (None, freed) => freed,
            };
            if number.is_some() {
                self.ready[queue].pop();
                return Ok(number);
            }
        }
        Ok(None)
    }

    /// The next root of a queue.
    fn next_root(&mut self, queue: usize) -> Result<Option<u32>, String> {
        loop {
            let place = self.roots[queue];
            let Some(root) = self.graph.root(place)? else {
                return Ok(None);
            };
            let node = self.graph.peek(root)?;
            let ascends = place == 0 || self.graph.root(place - 1)? < Some(root);
            if node.prerequisites > 0 || !ascends {
                return Err(format!(
                    "operation {root} is missing in the list of operations without prerequisites: the file is damaged"
                ));
            }
            if queue_of(node) == queue {
                return Ok(Some(root));
            }
            self.roots[queue] += 1;
        }
    }

    fn operation(&self, number: u32, node: GoalNode) -> Result<Operation, String> {
        let (peer, tag, bytes) = (node.peer, node.tag, node.size);
        let any = |value| (value != ANY).then_some(value);
        check(node, self.ranks).map_err(|e| format!("operation {number}: {e}"))?;
        let request = Some(u64::from(number));
        Ok(match node.kind {
            NodeKind::Send => Operation::Send {
                to: peer,
                tag,
                communicator: WORLD,
                bytes,
                request,
                call: Call::Isend,
            },
            NodeKind::Receive => Operation::Receive {
                from: any(peer),
                tag: any(tag),
                communicator: WORLD,
                bytes,
                request,
                call: Call::Irecv,
            },
            NodeKind::Calc => Operation::Compute {
                ps: node.size * PS_PER_NS,
                region: None,
            },
        })
    }

    /// Updates the dependents of an operation that starts now. A calc has ended when the next operation starts.
    fn start(&mut self, number: u32, node: GoalNode) -> Result<(), String> {
        self.started += 1;
        if self.started > self.graph.operations {
            return Err("more operations start than the schedule has: the file is damaged".into());
        }
        let (cpu, nic) = *self.first_units.get_or_insert((node.cpu, node.nic));
        self.several_units.0 |= cpu != node.cpu;
        self.several_units.1 |= nic != node.nic;
        let request = (node.kind != NodeKind::Calc).then_some(number);
        self.open.extend(request);
        self.release(node.started, None)?;
        self.release(node.ended, request)
    }

    fn release(&mut self, list: DependencyList, request: Option<u32>) -> Result<(), String> {
        for n in 0..list.count {
            let number = self.graph.entry(list, n)?;
            let node = self.graph.peek(number)?;
            let partial = self.partial.entry(number).or_insert(PendingNode {
                left: node.prerequisites,
                requests: Vec::new(),
            });
            partial.left = partial.left.checked_sub(1).ok_or_else(|| {
                format!("operation {number} has more prerequisites than it declares: the file is damaged")
            })?;
            partial.requests.extend(request);
            if partial.left > 0 {
                continue;
            }
            let mut requests = self.partial.remove(&number).map_or(vec![], |p| p.requests);
            requests.retain(|r| self.open.contains(r));
            requests.sort_unstable();
            requests.dedup();
            if requests.is_empty() {
                self.ready[queue_of(node)].push(Reverse(number));
            } else {
                self.blocked.insert(number, requests);
            }
        }
        Ok(())
    }

    /// Waits, and updates the operations that waited for the same requests.
    fn wait(&mut self, requests: Vec<u32>) -> Result<Operation, String> {
        for request in &requests {
            self.open.remove(request);
            let list = self.graph.node(*request)?.ended;
            for n in 0..list.count {
                let number = self.graph.entry(list, n)?;
                if let Some(others) = self.blocked.get_mut(&number) {
                    others.retain(|r| r != request);
                    if others.is_empty() {
                        self.blocked.remove(&number);
                        let queue = queue_of(self.graph.peek(number)?);
                        self.ready[queue].push(Reverse(number));
                    }
                }
            }
        }
        Ok(wait_for(requests))
    }

    /// Waits for the remaining requests.
    fn end(&mut self) -> Result<Option<Operation>, String> {
        let operations = self.graph.operations;
        if self.started < operations {
            let among = self.partial.keys().next();
            return Err(format!(
                "{} of {operations} operations can never start, because they depend on each other in a cycle{}",
                operations - self.started,
                among.map_or(String::new(), |n| format!(" (operation {n} is behind it)"))
            ));
        }
        let requests: Vec<u32> = std::mem::take(&mut self.open).into_iter().collect();
        Ok((!requests.is_empty()).then(|| wait_for(requests)))
    }
}

impl Program for GoalProgram {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        if self.ended {
            return Ok(None);
        }
        let next = self.step().map_err(|e| error(&self.file, self.rank, &e));
        // The program ends after an error.
        self.ended = !matches!(next, Ok(Some(_)));
        next
    }
}

fn error(file: &str, rank: u32, message: &str) -> TraceError {
    TraceError {
        file: file.into(),
        rank: Some(rank),
        message: message.into(),
    }
}

fn wait_for(requests: Vec<u32>) -> Operation {
    Operation::Wait {
        requests: requests.into_iter().map(u64::from).collect(),
        call: Call::Waitall,
    }
}

/// Queue of an operation: 0 for receives, 1 for others.
fn queue_of(node: GoalNode) -> usize {
    usize::from(node.kind != NodeKind::Receive)
}

/// Checks an operation in a job of `ranks` ranks.
///
/// # Errors
/// The operation is invalid.
pub fn check(node: GoalNode, ranks: u32) -> Result<(), String> {
    let (name, peer) = match node.kind {
        NodeKind::Send => ("send to", node.peer),
        NodeKind::Receive if node.peer == ANY => return Ok(()),
        NodeKind::Receive => ("recv from", node.peer),
        NodeKind::Calc => {
            let fits = node.size.checked_mul(PS_PER_NS).is_some();
            let too_long = format!("calc of {} ns: longer than 2^64 ps (213 days)", node.size);
            return fits.then_some(()).ok_or(too_long);
        }
    };
    if peer >= ranks {
        return Err(format!(
            "{name} rank {peer}, but the ranks are 0 to {}",
            ranks - 1
        ));
    }
    if node.kind == NodeKind::Send && node.tag == ANY {
        return Err("a send with any tag (-1); expected a number, only a recv accepts any tag".into());
    }
    Ok(())
}
