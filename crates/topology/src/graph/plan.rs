//! The content of a file or a list of edges: routers, hosts and cables in file order, with their positions in the
//! text. Independent of ports and of the file format.

use std::collections::HashMap;
use std::fmt;

use config::nearest;

/// A position in a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Line, counted from 1.
    Line(u32),
    /// Byte offset in the text. Its line is computed only for a message.
    Offset(usize),
    /// Item of a list, counted from 0. Such files often have a single line.
    Item(&'static str, usize),
    /// The file as a whole.
    Whole,
}

/// An error in a file, and its position.
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

    /// The message with its position in `text`, to follow the file's name.
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

/// The role of a node of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A router, with its number of hosts beside those that the file names, if given.
    Router { hosts: Option<u32> },
    /// A host.
    Host,
}

/// A router without further data.
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
    /// Nodes in the order of their first occurrence.
    pub(super) nodes: Vec<Node>,
    pub(super) cables: Vec<Cables>,
    /// Index of a node by name; never iterated over.
    by_name: HashMap<String, usize>,
}

impl Plan {
    /// Adds a node that the file lists once.
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

    /// Finds or adds a node.
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

    /// Finds a node that the file must have listed.
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

    /// Indices of the routers in the order of their numbers: by name if all names are whole numbers, otherwise by
    /// file order.
    pub(super) fn routers(&self) -> Vec<usize> {
        let is_router = |index: &usize| matches!(self.nodes[*index].role, Role::Router { .. });
        let mut routers: Vec<usize> = (0..self.nodes.len()).filter(is_router).collect();
        // "01" is a name, not a number, since two names could otherwise be the same number.
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
