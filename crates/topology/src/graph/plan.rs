//! The content of a file or a list of edges: routers, hosts and cables in file order, with their positions in the
//! text. Independent of ports and of the file format.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use config::{RoundedRate, nearest};

use super::attributes::{EdgeAttributes, NodeAttributes};
use crate::LinkSpeed;

/// A position in a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Position {
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
pub(super) struct PlanError {
    place: Position,
    message: String,
}

impl PlanError {
    pub(super) fn new(place: Position, message: impl Into<String>) -> PlanError {
        PlanError {
            place,
            message: message.into(),
        }
    }

    /// The message with its position in `text`, to follow the file's name.
    pub(super) fn within(&self, text: &str) -> String {
        let message = &self.message;
        match self.place.with_line(text) {
            Position::Whole => format!(": {message}"),
            Position::Line(line) => format!(":{line}: {message}"),
            place => format!(": {place}: {message}"),
        }
    }
}

impl Position {
    fn with_line(self, text: &str) -> Position {
        match self {
            Position::Offset(offset) => {
                let before = text.bytes().take(offset);
                Position::Line(1 + before.filter(|byte| *byte == b'\n').count() as u32)
            }
            place => place,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Line(line) => write!(f, "line {line}"),
            Position::Offset(offset) => write!(f, "byte {offset}"),
            Position::Item(list, index) => write!(f, "{list}[{index}]"),
            Position::Whole => Ok(()),
        }
    }
}

/// The role of a node of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeRole {
    /// A router, with its number of hosts besides those that the file names, if given.
    Router { hosts: Option<u32> },
    /// A host.
    Host,
}

/// A router without further data.
pub(super) const ROUTER: NodeRole = NodeRole::Router { hosts: None };

impl NodeRole {
    /// The role of a node with the attributes `kind` (or `type`) and `hosts`.
    pub(super) fn of(kind: Option<&str>, hosts: Option<u32>, place: Position) -> Result<NodeRole, PlanError> {
        const KINDS: [&str; 3] = ["host", "router", "switch"];
        match kind {
            None | Some("router" | "switch") => Ok(NodeRole::Router { hosts }),
            Some("host") if hosts.is_none() => Ok(NodeRole::Host),
            Some("host") => Err(PlanError::new(
                place,
                "a host has no hosts; expected them on a router",
            )),
            Some(other) => {
                let message = format!("unknown kind of node '{other}'{}", nearest(other, KINDS));
                Err(PlanError::new(place, message))
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Node {
    /// The id, which numbers the routers.
    pub(super) name: String,
    /// The name that results show, if it is not the id.
    pub(super) label: Option<String>,
    pub(super) role: NodeRole,
    /// x and y (upwards) in a drawing.
    pub(super) drawn_at: Option<[f64; 2]>,
    pub(super) place: Position,
}

/// Class and speed of a cable, as far as the file gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LinkAttributes {
    /// Name of the link class.
    pub(super) class: Option<String>,
    pub(super) speed: LinkSpeed,
}

/// Cables between two nodes, or links from the first to the second node.
#[derive(Debug)]
pub(super) struct Cables {
    /// Indices of nodes.
    pub(super) ends: [usize; 2],
    pub(super) count: u32,
    pub(super) attributes: LinkAttributes,
    pub(super) place: Position,
}

#[derive(Debug, Default)]
pub(super) struct NetworkPlan {
    /// Nodes in the order of their first occurrence.
    pub(super) nodes: Vec<Node>,
    pub(super) cables: Vec<Cables>,
    /// Directed links, until [`NetworkPlan::pair_directed`] makes cables of them.
    directed: Vec<Cables>,
    /// Index of a node by name; never iterated over.
    by_name: HashMap<String, usize>,
    /// One rounded bandwidth of edges for each that is used, by the used one. So there are no more than classes.
    rounded: BTreeMap<u64, RoundedRate>,
}

impl NetworkPlan {
    /// Adds a node that the file lists once.
    pub(super) fn declare(
        &mut self,
        name: String,
        attributes: NodeAttributes,
        place: Position,
    ) -> Result<(), PlanError> {
        if let Some(index) = self.by_name.get(&name) {
            let first = self.nodes[*index].place;
            let message = match first {
                Position::Item(..) => format!("a second node '{name}'; the first is {first}"),
                _ => format!("a second node '{name}'"),
            };
            return Err(PlanError::new(place, message));
        }
        let index = self.add(name, attributes.role, place);
        self.nodes[index].label = attributes.label;
        self.nodes[index].drawn_at = attributes.drawn_at;
        Ok(())
    }

    /// Finds or adds a node.
    pub(super) fn mention(&mut self, name: &str, role: NodeRole, place: Position) -> usize {
        match self.by_name.get(name) {
            Some(index) => *index,
            None => self.add(name.to_string(), role, place),
        }
    }

    fn add(&mut self, name: String, role: NodeRole, place: Position) -> usize {
        let index = self.nodes.len();
        self.by_name.insert(name.clone(), index);
        self.nodes.push(Node {
            name,
            label: None,
            role,
            drawn_at: None,
            place,
        });
        index
    }

    /// Finds a node that the file must have listed.
    pub(super) fn find(&self, name: &str, place: Position) -> Result<usize, PlanError> {
        let found = self.by_name.get(name).copied();
        found.ok_or_else(|| PlanError::new(place, format!("there is no node '{name}'")))
    }

    /// Adds cables between two nodes that have no attributes.
    pub(super) fn link(&mut self, ends: [usize; 2], count: u32, place: Position) -> Result<(), PlanError> {
        let attributes = EdgeAttributes {
            count,
            link: LinkAttributes::default(),
            rounded: None,
        };
        self.connect(ends, false, attributes, place)
    }

    /// Adds cables between two nodes, or, if `directed`, links from the first to the second.
    pub(super) fn connect(
        &mut self,
        ends: [usize; 2],
        directed: bool,
        EdgeAttributes { count, link, rounded }: EdgeAttributes,
        place: Position,
    ) -> Result<(), PlanError> {
        if count == 0 {
            return Err(PlanError::new(place, "0 cables; expected at least 1"));
        }
        let list = if directed {
            &mut self.directed
        } else {
            &mut self.cables
        };
        list.push(Cables {
            ends,
            count,
            attributes: link,
            place,
        });
        if let Some(rate) = rounded {
            self.rounded.entry(rate.used_bits_per_s).or_insert(rate);
        }
        Ok(())
    }

    /// Makes a cable of each two links that lead forth and back.
    ///
    /// # Errors
    /// A link without one that leads back and has the same class, bandwidth and latency.
    pub(super) fn pair_directed(&mut self) -> Result<(), PlanError> {
        let directed = std::mem::take(&mut self.directed);
        let mut counts: HashMap<([usize; 2], &LinkAttributes), u64> = HashMap::new();
        for links in &directed {
            *counts.entry((links.ends, &links.attributes)).or_default() += u64::from(links.count);
        }
        for links in &directed {
            let [from, to] = links.ends;
            let back = counts.get(&([to, from], &links.attributes)).copied().unwrap_or(0);
            if counts[&(links.ends, &links.attributes)] > back {
                let [from, to] = links.ends.map(|end| &self.nodes[end].name);
                let message = format!(
                    "the directed edge from '{from}' to '{to}' has no edge from '{to}' to '{from}' with the same \
                     class, bandwidth and latency; expected one, or an undirected edge"
                );
                return Err(PlanError::new(links.place, message));
            }
        }
        self.cables.extend(
            directed
                .into_iter()
                .filter(|links| links.ends[0] <= links.ends[1]),
        );
        Ok(())
    }

    /// Bandwidths of edges that were rounded, in ascending order.
    pub(super) fn rounded_rates(&self) -> Vec<RoundedRate> {
        self.rounded.values().cloned().collect()
    }

    /// Whether the file says where hosts are.
    pub(super) fn names_hosts(&self) -> bool {
        self.nodes.iter().any(|node| node.role != ROUTER)
    }

    /// Indices of the routers in the order of their numbers: that of their names, the same for every format.
    pub(super) fn routers(&self) -> Vec<usize> {
        let is_router = |index: &usize| matches!(self.nodes[*index].role, NodeRole::Router { .. });
        let mut routers: Vec<usize> = (0..self.nodes.len()).filter(is_router).collect();
        routers.sort_by(|a, b| by_name(&self.nodes[*a].name, &self.nodes[*b].name));
        routers
    }
}

/// The order of names: digits in them count as numbers, so `r9` is before `r10`. Names that differ in leading zeros
/// only are ordered as texts.
fn by_name(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    while let (Some(one), Some(other)) = (left.chars().next(), right.chars().next()) {
        let order = if one.is_ascii_digit() && other.is_ascii_digit() {
            let (number, rest) = split_number(left);
            let (other_number, other_rest) = split_number(right);
            (left, right) = (rest, other_rest);
            // Numbers without leading zeros: the longer one is greater.
            let by_length = number.len().cmp(&other_number.len());
            by_length.then_with(|| number.cmp(other_number))
        } else {
            (left, right) = (&left[one.len_utf8()..], &right[other.len_utf8()..]);
            one.cmp(&other)
        };
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// The leading digits of a text without leading zeros, and the rest of the text.
fn split_number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].trim_start_matches('0'), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_names_count_as_numbers() {
        let sorted = [
            "",
            "0",
            "00",
            "01",
            "1",
            "2",
            "10",
            "99999999999999999999",
            "100000000000000000000",
            "R1",
            "[0,9]",
            "[0,10]",
            "[1,0]",
            "a",
            "a b",
            "r",
            "r0",
            "r9",
            "r10",
            "r10-2",
            "r10-10",
            "spine",
            "\u{e9}",
        ];
        for (index, a) in sorted.iter().enumerate() {
            for (other, b) in sorted.iter().enumerate() {
                assert_eq!(by_name(a, b), index.cmp(&other), "'{a}' and '{b}'");
            }
        }
    }
}
