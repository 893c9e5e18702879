//! What a file or a list of edges says: routers, hosts and cables in its order, and where each of them stands.
//! Knows no ports, and not which format it came from.

use std::collections::HashMap;
use std::fmt;

use config::nearest;

/// Where something stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Line, counted from 1.
    Line(u32),
    /// Byte of the text: its line is counted only for a message.
    Offset(usize),
    /// Item of a list, counted from 0: such files are often a single line.
    Item(&'static str, usize),
    /// In the file as a whole.
    Whole,
}

/// What is wrong with a file, and where.
#[derive(Debug)]
pub(super) struct Fault {
    place: Place,
    message: String,
}

impl Fault {
    pub(super) fn new(place: Place, message: impl Into<String>) -> Fault {
        Fault {
            place,
            message: message.into(),
        }
    }

    /// The message with its place in `text`, to write behind the file's name.
    pub(super) fn within(&self, text: &str) -> String {
        let message = &self.message;
        match self.place.with_line(text) {
            Place::Whole => format!(": {message}"),
            Place::Line(line) => format!(":{line}: {message}"),
            place => format!(": {place}: {message}"),
        }
    }
}

impl Place {
    fn with_line(self, text: &str) -> Place {
        match self {
            Place::Offset(offset) => {
                let before = text.bytes().take(offset);
                Place::Line(1 + before.filter(|byte| *byte == b'\n').count() as u32)
            }
            place => place,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Offset(offset) => write!(f, "byte {offset}"),
            Place::Item(list, index) => write!(f, "{list}[{index}]"),
            Place::Whole => Ok(()),
        }
    }
}

/// What a node of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A router, with this number of hosts beside those that the file names, if it says so.
    Router { hosts: Option<u32> },
    /// A host.
    Host,
}

/// A router of which the file says nothing more.
pub(super) const ROUTER: Role = Role::Router { hosts: None };

impl Role {
    /// The role of a node with the attributes `kind` (or `type`) and `hosts`.
    pub(super) fn of(kind: Option<&str>, hosts: Option<u32>, place: Place) -> Result<Role, Fault> {
        const KINDS: [&str; 3] = ["host", "router", "switch"];
        match kind {
            None | Some("router" | "switch") => Ok(Role::Router { hosts }),
            Some("host") if hosts.is_none() => Ok(Role::Host),
            Some("host") => Err(Fault::new(
                place,
                "a host has no hosts; expected them on a router",
            )),
            Some(other) => {
                let message = format!("unknown kind of node '{other}'{}", nearest(other, KINDS));
                Err(Fault::new(place, message))
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) place: Place,
}

/// Cables between two nodes.
#[derive(Debug)]
pub(super) struct Cables {
    /// Indices of nodes.
    pub(super) ends: [usize; 2],
    pub(super) count: u32,
    pub(super) place: Place,
}

#[derive(Debug, Default)]
pub(super) struct Plan {
    /// In the order in which the file names them first.
    pub(super) nodes: Vec<Node>,
    pub(super) cables: Vec<Cables>,
    /// To look names up; never iterated over.
    by_name: HashMap<String, usize>,
}

impl Plan {
    /// A node that the file lists, once.
    pub(super) fn declare(&mut self, name: String, role: Role, place: Place) -> Result<(), Fault> {
        if let Some(index) = self.by_name.get(&name) {
            let first = self.nodes[*index].place;
            let message = match first {
                Place::Item(..) => format!("a second node '{name}'; the first is {first}"),
                _ => format!("a second node '{name}'"),
            };
            return Err(Fault::new(place, message));
        }
        self.add(name, role, place);
        Ok(())
    }

    /// A node that the file may have named before.
    pub(super) fn mention(&mut self, name: &str, role: Role, place: Place) -> usize {
        match self.by_name.get(name) {
            Some(index) => *index,
            None => self.add(name.to_string(), role, place),
        }
    }

    fn add(&mut self, name: String, role: Role, place: Place) -> usize {
        let index = self.nodes.len();
        self.by_name.insert(name.clone(), index);
        self.nodes.push(Node { name, role, place });
        index
    }

    /// A node that the file must have listed.
    pub(super) fn find(&self, name: &str, place: Place) -> Result<usize, Fault> {
        let found = self.by_name.get(name).copied();
        found.ok_or_else(|| Fault::new(place, format!("there is no node '{name}'")))
    }

    pub(super) fn link(&mut self, ends: [usize; 2], count: u32, place: Place) -> Result<(), Fault> {
        if count == 0 {
            return Err(Fault::new(place, "0 cables; expected at least 1"));
        }
        self.cables.push(Cables { ends, count, place });
        Ok(())
    }

    /// Whether the file says where hosts are.
    pub(super) fn names_hosts(&self) -> bool {
        self.nodes.iter().any(|node| node.role != ROUTER)
    }

    /// The nodes that are routers in the order in which they get their numbers: that of their names if all
    /// are whole numbers, else that of the file.
    pub(super) fn routers(&self) -> Vec<usize> {
        let is_router = |index: &usize| matches!(self.nodes[*index].role, Role::Router { .. });
        let mut routers: Vec<usize> = (0..self.nodes.len()).filter(is_router).collect();
        // "01" is a name, not a number: two of them could be the same.
        let number = |index: &usize| {
            let name = &self.nodes[*index].name;
            name.parse::<u64>().ok().filter(|n| n.to_string() == *name)
        };
        if routers.iter().all(|index| number(index).is_some()) {
            routers.sort_by_key(number);
        }
        routers
    }
}
