//! Attributes of nodes and edges of a file. The formats share their names and meanings, so each reader passes on pairs
//! of a name and a text.

use std::borrow::Cow;
use std::fmt;

use config::{Bandwidth, Duration, RoundedRate, nearest};

use super::plan::{LinkAttributes, NodeRole, PlanError, Position};
use crate::{LinkSpeed, check_bandwidth, check_latency};

/// What a file describes.
#[derive(Clone, Copy)]
pub(super) enum Element {
    Graph,
    Node,
    Edge,
}

impl Element {
    /// Names of attributes that are read.
    fn known(self) -> &'static [&'static str] {
        match self {
            Element::Graph => &[],
            Element::Node => &["hosts", "kind", "label", "name", "type", "x", "y"],
            Element::Edge => &[
                "bandwidth",
                "bandwidth_bits_per_s",
                "bandwidth_gbps",
                "class",
                "count",
                "latency",
                "latency_ns",
                "latency_ps",
            ],
        }
    }

    /// Names of attributes that have no meaning here: titles, ids of edges, and what a run measured or computed
    /// (`fabricsim export --format graphml`).
    fn ignored(self) -> &'static [&'static str] {
        match self {
            Element::Graph => &["label", "name"],
            Element::Node => &[
                "bytes_received",
                "bytes_sent",
                "group",
                "packets_received",
                "packets_sent",
            ],
            Element::Edge => &[
                "buffer_full_ps",
                "busy_fraction",
                "busy_ps",
                "bytes",
                "from_port",
                "id",
                "key",
                "packets",
                "to_port",
            ],
        }
    }
}

impl Element {
    /// Whether an attribute has a meaning here, or at no other element either. Defaults for all elements apply then.
    pub(super) fn takes(self, name: &str) -> bool {
        let is_of = |element: Element| element.known().contains(&name) || element.ignored().contains(&name);
        is_of(self)
            || ![Element::Graph, Element::Node, Element::Edge]
                .into_iter()
                .any(is_of)
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Element::Graph => "a graph",
            Element::Node => "a node",
            Element::Edge => "an edge",
        })
    }
}

/// The attributes of one element.
pub(super) struct Attributes<'a> {
    element: Element,
    place: Position,
    /// Name and value of those that are read.
    values: Vec<(&'static str, Cow<'a, str>)>,
}

/// The attributes of a node.
#[derive(Debug, PartialEq)]
pub(super) struct NodeAttributes {
    pub(super) role: NodeRole,
    /// The name that results show, if it is not the node's id.
    pub(super) label: Option<String>,
    /// x and y (upwards) in a drawing.
    pub(super) drawn_at: Option<[f64; 2]>,
}

/// The attributes of an edge.
#[derive(Debug)]
pub(super) struct EdgeAttributes {
    /// Number of cables.
    pub(super) count: u32,
    pub(super) link: LinkAttributes,
    /// The bandwidth, if it was rounded.
    pub(super) rounded: Option<RoundedRate>,
}

impl<'a> Attributes<'a> {
    pub(super) fn new(element: Element, place: Position) -> Attributes<'a> {
        Attributes {
            element,
            place,
            values: Vec::new(),
        }
    }

    /// Adds an attribute. `None` is a value that is neither a text nor a number.
    ///
    /// # Errors
    /// An unknown name, a second value.
    pub(super) fn add(&mut self, name: &str, value: Option<Cow<'a, str>>) -> Result<(), PlanError> {
        let element = self.element;
        if element.ignored().contains(&name) {
            return Ok(());
        }
        let Some(known) = element.known().iter().find(|known| **known == name) else {
            let known = element.known().iter().copied();
            let message = format!("unknown attribute '{name}' of {element}{}", nearest(name, known));
            return Err(self.fail(message));
        };
        let Some(value) = value else {
            return Err(self.fail(format!("{name}: expected a text or a number")));
        };
        if self.get(known).is_some() {
            return Err(self.fail(format!("a second value of '{name}'; expected one")));
        }
        self.values.push((known, value));
        Ok(())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The attributes of a node.
    pub(super) fn node(&self) -> Result<NodeAttributes, PlanError> {
        let kind = self.one_of(&["kind", "type"])?.map(|(_, kind)| kind);
        let role = NodeRole::of(kind, self.number("hosts")?, self.place)?;
        let label = self
            .one_of(&["label", "name"])?
            .map(|(_, label)| label.to_string());
        let drawn_at = match (self.coordinate("x")?, self.coordinate("y")?) {
            (Some(x), Some(y)) => Some([x, y]),
            (None, None) => None,
            _ => return Err(self.fail("only one of x and y; expected both or none")),
        };
        Ok(NodeAttributes {
            role,
            label,
            drawn_at,
        })
    }

    /// The attributes of an edge.
    pub(super) fn edge(&self) -> Result<EdgeAttributes, PlanError> {
        let count = self.number("count")?.unwrap_or(1);
        let bandwidth = self.one_of(&["bandwidth", "bandwidth_bits_per_s", "bandwidth_gbps"])?;
        let bandwidth = bandwidth.map(|(name, text)| (name, with_unit(name, text)));
        let rounded = bandwidth.as_ref().and_then(|(_, text)| Bandwidth::rounding(text));
        let bandwidth = bandwidth
            .map(|(name, text)| self.bandwidth(name, &text))
            .transpose()?;
        let latency = self.one_of(&["latency", "latency_ns", "latency_ps"])?;
        let latency = latency.map(|(name, text)| self.latency(name, text)).transpose()?;
        let link = LinkAttributes {
            class: self.get("class").map(|class| self.class(class)).transpose()?,
            speed: LinkSpeed { bandwidth, latency },
        };
        Ok(EdgeAttributes { count, link, rounded })
    }

    fn bandwidth(&self, name: &str, text: &str) -> Result<Bandwidth, PlanError> {
        let bandwidth = Bandwidth::parse(text);
        let checked = bandwidth.and_then(|bandwidth| check_bandwidth(bandwidth).map(|()| bandwidth));
        checked.map_err(|why| self.fail(format!("{name}: {why}")))
    }

    fn latency(&self, name: &str, text: &str) -> Result<Duration, PlanError> {
        let latency = Duration::parse(&with_unit(name, text));
        let checked = latency.and_then(|latency| check_latency(latency).map(|()| latency));
        checked.map_err(|why| self.fail(format!("{name}: {why}")))
    }

    /// A name of a link class. Results call both directions of a host's cable by names of their own.
    fn class(&self, class: &str) -> Result<String, PlanError> {
        match class {
            "injection" | "ejection" => Ok("host".into()),
            "" => Err(self.fail("class: the name is empty; expected the name of a link class")),
            _ if class.len() > 100 || class.chars().any(char::is_control) => {
                Err(self.fail("class: expected a name of at most 100 bytes without control characters"))
            }
            _ => Ok(class.into()),
        }
    }

    fn number(&self, name: &str) -> Result<Option<u32>, PlanError> {
        let number = |text: &str| {
            let message = || format!("{name}: '{text}' is not a whole number");
            text.parse().map_err(|_| self.fail(message()))
        };
        self.get(name).map(number).transpose()
    }

    fn coordinate(&self, name: &str) -> Result<Option<f64>, PlanError> {
        let coordinate = |text: &str| match text.parse::<f64>() {
            // Positions are scaled later, which overflows with the largest numbers.
            Ok(number) if number.abs() <= 1e100 => Ok(number),
            _ => Err(self.fail(format!("{name}: '{text}' is not a number from -1e100 to 1e100"))),
        };
        self.get(name).map(coordinate).transpose()
    }

    /// The one of several names that is given, and its value.
    fn one_of(&self, names: &[&'static str]) -> Result<Option<(&'static str, &str)>, PlanError> {
        let mut given = names.iter().filter_map(|name| Some((*name, self.get(name)?)));
        let first = given.next();
        match (first, given.next()) {
            (Some((first, _)), Some((second, _))) => {
                Err(self.fail(format!("both {first} and {second}; expected one of the two")))
            }
            _ => Ok(first),
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.values.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| &**value)
    }

    fn fail(&self, message: impl Into<String>) -> PlanError {
        PlanError::new(self.place, message)
    }
}

/// The value of a bandwidth or latency with the unit that its name gives.
fn with_unit(name: &str, text: &str) -> String {
    let unit = match name {
        "bandwidth_bits_per_s" => " bps",
        "bandwidth_gbps" => " Gbps",
        "latency_ns" => " ns",
        "latency_ps" => " ps",
        _ => "",
    };
    format!("{text}{unit}")
}
