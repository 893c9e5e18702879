//! Any network, from a file or a list of edges.
//!
//! The cables are stored. `distances` searches for the links on shortest paths, and `searches` keeps the last results
//! in memory that does not grow with the network. Each format is one file here that reads a text into a
//! [`NetworkPlan`]. [`GraphNetwork`] assigns numbers and ports, and checks the plan. docs/formats/graph.md describes
//! the formats.
//!
//! Routers are numbered in the order of their names, so a graph has the same numbers in every format. Hosts are
//! numbered router by router. A router's ports lead to its hosts, then to other routers in the order of their numbers.

mod adjacency;
mod anynet;
mod attributes;
mod classes;
mod distances;
mod edge_list;
mod graphml;
mod network;
mod node_link;
mod plan;
mod searches;

use std::path::Path;

use config::{Bandwidth, Error, Section, Setting, Type, Value, nearest, parameters};
use serde_json::{Map, Value as Json, json};

use crate::Kind;
use crate::size::positive;
use attributes::{Attributes, EdgeAttributes, Element};
use network::GraphNetwork;
use plan::{NetworkPlan, PlanError, Position, ROUTER};

pub(crate) const KIND: Kind = Kind {
    name: "graph",
    summary: "any network, from an edge list, GraphML, node-link JSON or a BookSim anynet file",
    parameters: parameters! {
        computed("file", Type::Path, "this or edges",
            "file that describes the network, relative to the experiment's");
        computed("edges", Type::List(&Type::List(&Type::Either(&[Type::Integer, Type::Text, Type::Table]))),
            "this or file",
            "instead of a file, its cables: pairs of router names, with a third number where they are \
             several, and a table of attributes at the end, such as { bandwidth = \"200 Gbps\" }");
        computed("format", Type::Choice(&["edge-list", "graphml", "node-link", "anynet"]), "by the ending of the file",
            "format of the file");
        integer("hosts_per_router", 1, "hosts on every router, where the file names no hosts");
        flag("ignore_latencies", false,
            "anynet only: pass over the latencies of the file instead of refusing them");
    },
    example: "edges = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2, 2], [3, \"leaf\"]]\nhosts_per_router = 2\n",
    build: |section| Ok(Box::new(read(section)?)),
    sizing: None,
};

/// A format: its name, its file endings, and its reader, which may ignore latencies.
struct GraphFormat {
    name: &'static str,
    endings: &'static [&'static str],
    read: fn(text: &str, ignore_latencies: bool) -> Result<NetworkPlan, PlanError>,
}

const FORMATS: &[GraphFormat] = &[
    GraphFormat {
        name: "anynet",
        endings: &["anynet"],
        read: anynet::read,
    },
    GraphFormat {
        name: "edge-list",
        endings: &["edges", "edgelist", "txt"],
        read: |text, _| edge_list::read(text),
    },
    GraphFormat {
        name: "graphml",
        endings: &["graphml", "xml"],
        read: |text, _| graphml::read(text),
    },
    GraphFormat {
        name: "node-link",
        endings: &["json"],
        read: |text, _| node_link::read(text),
    },
];

fn read(section: &Section) -> Result<GraphNetwork, Error> {
    let file = section.optional_path("file")?;
    let edges: Option<Vec<Edge>> = section.optional("edges")?;
    let format: Option<String> = section.optional("format")?;
    let hosts_per_router: Option<u32> = section.optional("hosts_per_router")?;
    let ignore_latencies: Option<bool> = section.optional("ignore_latencies")?;
    let (key, text, name, plan) = match (file, edges) {
        (Some(path), None) => {
            let name = path.display().to_string();
            let format = choose_format(section, &path, format)?;
            if ignore_latencies.is_some() && format.name != "anynet" {
                let message = format!("is for format anynet; this file is read as {}", format.name);
                return Err(section.error("ignore_latencies", message));
            }
            let text = config::read_text(&path, config::TEXT_BYTES)
                .map_err(|e| section.error("file", format!("{name}: cannot be read: {e}")))?;
            // A byte order mark would become part of the first name.
            let text = text.trim_start_matches('\u{feff}').to_string();
            let ignore_latencies = format.name == "anynet" && section.get("ignore_latencies")?;
            let plan = (format.read)(&text, ignore_latencies);
            ("file", text, name, plan)
        }
        (None, Some(edges)) => {
            for (key, given) in [
                ("format", format.is_some()),
                ("ignore_latencies", ignore_latencies.is_some()),
            ] {
                if given {
                    return Err(section.error(key, "is for a file; expected it without edges"));
                }
            }
            let plan = listed(&edges, attributes_of(&edges)?);
            ("edges", String::new(), String::new(), plan)
        }
        (Some(_), Some(_)) => {
            return Err(section.error("edges", "are given beside file; expected one of the two"));
        }
        (None, None) => {
            let message = "file: missing; expected the path of a file, or edges such as [[0, 1], [1, 2]]";
            return Err(section.error("", message));
        }
    };
    let fail = |fault: PlanError| {
        let message = fault.within(&text);
        section.error(key, format!("{name}{message}").trim_start_matches(": "))
    };
    let plan = plan.map_err(fail)?;
    section.set_rounded_rates(key, plan.rounded_rates());
    let hosts_per_router = match (plan.names_hosts(), hosts_per_router) {
        (true, None) => None,
        (true, Some(_)) => {
            let message = "is for files that name no hosts; this one says where they are";
            return Err(section.error("hosts_per_router", message));
        }
        (false, _) => Some(positive(section, "hosts_per_router")?),
    };
    GraphNetwork::new(plan, hosts_per_router).map_err(fail)
}

/// The requested format, or that of the file's ending.
fn choose_format(
    section: &Section,
    path: &Path,
    format: Option<String>,
) -> Result<&'static GraphFormat, Error> {
    let names = || FORMATS.iter().map(|format| format.name);
    let ending = path.extension().and_then(|ending| ending.to_str());
    let ending = ending.unwrap_or_default().to_lowercase();
    let by_ending = FORMATS
        .iter()
        .find(|format| format.endings.contains(&ending.as_str()));
    let name = match (format, by_ending) {
        (Some(name), _) => name,
        (None, Some(format)) => section.or("format", format.name.to_string())?,
        (None, None) => {
            let message = format!(
                "missing, and '{}' does not end in a way that tells{}",
                path.display(),
                nearest("", names())
            );
            return Err(section.error("format", message));
        }
    };
    let found = FORMATS.iter().find(|format| format.name == name);
    found.ok_or_else(|| section.unknown_name("format", &name, names()))
}

/// An item of `edges`: two routers, by name or number, the number of cables between them, and their attributes.
#[derive(Debug)]
struct Edge {
    routers: [String; 2],
    cables: Option<u32>,
    attributes: Option<Section>,
}

impl Setting for Edge {
    const EXPECTED: &'static str = "two names of routers and, if not 1, a number of cables, such as [0, 1] or [\"a\", \"b\", 2], with a table of \
         attributes at the end where it has some, such as [0, 1, { bandwidth = \"200 Gbps\" }]";

    fn read(value: &Value) -> Result<Self, String> {
        let name = |value: &Value| match value {
            Value::Integer(number) if *number >= 0 => Some(number.to_string()),
            Value::String(name) => Some(name.clone()),
            _ => None,
        };
        let items = match value {
            Value::List(items) => &items[..],
            _ => &[],
        };
        let (items, attributes) = match items {
            [items @ .., Value::Table(table)] => (items, Some(Section::clone(table))),
            _ => (items, None),
        };
        let edge = match items {
            [a, b] => name(a).zip(name(b)).map(|(a, b)| ([a, b], None)),
            [a, b, cables] => {
                let routers = name(a).zip(name(b));
                routers
                    .zip(u32::read(cables).ok())
                    .map(|((a, b), n)| ([a, b], Some(n)))
            }
            _ => None,
        };
        let (routers, cables) = edge.ok_or_else(|| format!("an item is not {}", Self::EXPECTED))?;
        Ok(Edge {
            routers,
            cables,
            attributes,
        })
    }

    fn show(&self) -> Json {
        let [a, b] = self.routers.each_ref().map(|name| match name.parse::<i64>() {
            Ok(number) if number.to_string() == *name => json!(number),
            _ => json!(name),
        });
        let attributes = self.attributes.iter().filter_map(|table| {
            let mut all = table.everything().ok()?;
            // As other quantities are printed: the exact rate that is used.
            if let Some(Json::String(text)) = all.get_mut("bandwidth")
                && let Ok(bandwidth) = Bandwidth::parse(text)
            {
                *text = bandwidth.to_string();
            }
            Some(Json::Object(all))
        });
        let cables = self.cables.iter().map(|cables| json!(cables));
        [a, b].into_iter().chain(cables).chain(attributes).collect()
    }
}

/// The attributes of each item of `edges`.
///
/// # Errors
/// A wrong attribute, with the line of its table.
fn attributes_of(edges: &[Edge]) -> Result<Vec<EdgeAttributes>, Error> {
    let read = |(index, edge): (usize, &Edge)| {
        let table = edge.attributes.as_ref().map(Section::everything).transpose()?;
        attributes_of_edge(index, edge.cables, table.unwrap_or_default()).map_err(|fault| {
            let message = fault.within("");
            let section = edge.attributes.as_ref();
            let section = section.expect("only a table can be wrong: the number of cables is one");
            section.error("", message.trim_start_matches(": "))
        })
    };
    edges.iter().enumerate().map(read).collect()
}

fn attributes_of_edge(
    index: usize,
    cables: Option<u32>,
    table: Map<String, Json>,
) -> Result<EdgeAttributes, PlanError> {
    let mut attributes = Attributes::new(Element::Edge, Position::Item("edges", index));
    if let Some(cables) = cables {
        attributes.add("count", Some(cables.to_string().into()))?;
    }
    for (name, value) in table {
        let value = match value {
            Json::String(text) => Some(text.into()),
            Json::Number(number) => Some(number.to_string().into()),
            _ => None,
        };
        attributes.add(&name, value)?;
    }
    attributes.edge()
}

fn listed(edges: &[Edge], attributes: Vec<EdgeAttributes>) -> Result<NetworkPlan, PlanError> {
    let mut plan = NetworkPlan::default();
    for (index, (edge, attributes)) in edges.iter().zip(attributes).enumerate() {
        let place = Position::Item("edges", index);
        let ends = edge
            .routers
            .each_ref()
            .map(|name| plan.mention(name, ROUTER, place));
        plan.connect(ends, false, attributes, place)?;
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One network in every format, with hosts, parallel cables and isolated names where the format supports them.
    const TEXTS: &[(&str, &str)] = &[
        (
            "anynet",
            "router 0 node 0 node 1 router 1 15\nrouter 1 router 2 node 2\nnode 3 router 2 1\n",
        ),
        (
            "edge-list",
            "# three\na b 2\nb c # and back\nc a {}\nb c 3 bandwidth=\"200 Gbps\" latency_ns=50 class=\"far #1\"\n",
        ),
        (
            "graphml",
            r#"<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="kind" attr.type="string"><default>router</default></key>
  <key id="d1" for="node" attr.name="hosts" attr.type="int" />
  <key id="d2" for="edge" attr.name="count" attr.type="int" />
  <graph edgedefault="undirected">
    <node id="a"><data key="d1">2</data></node>
    <node id="b" />
    <node id="h"><data key="d0">host</data></node>
    <edge source="a" target="b"><data key="d2">3</data></edge>
    <edge source="h" target="b" />
  </graph>
</graphml>
"#,
        ),
        (
            "node-link",
            r#"{"directed": false, "multigraph": false, "graph": {},
"nodes": [{"id": "a", "hosts": 2}, {"id": [1, 2], "kind": "switch"}, {"id": 7, "type": "host"}],
"links": [{"source": "a", "target": [1, 2], "count": 2}, {"source": 7, "target": "a"}]}"#,
        ),
    ];

    fn format(name: &str) -> &'static GraphFormat {
        FORMATS
            .iter()
            .find(|format| format.name == name)
            .expect("a format")
    }

    fn built(format: &GraphFormat, text: &str) -> Result<GraphNetwork, PlanError> {
        let plan = (format.read)(text, true)?;
        let hosts_per_router = (!plan.names_hosts()).then_some(1);
        GraphNetwork::new(plan, hosts_per_router)
    }

    #[test]
    fn formats_are_sorted_and_tested() {
        assert!(FORMATS.is_sorted_by_key(|format| format.name));
        let tested: Vec<&str> = TEXTS.iter().map(|(name, _)| *name).collect();
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        assert_eq!(tested, names);
    }

    /// Any truncation, replaced byte, missing or repeated line gives a network or an error, and never a panic.
    #[test]
    fn damaged_files_are_read_or_refused() {
        let (mut read, mut refused) = (0, 0);
        for (name, text) in TEXTS {
            let format = format(name);
            assert!(built(format, text).is_ok(), "{name}");
            let mut damaged: Vec<String> = Vec::new();
            for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                damaged.push(text[..cut].into());
                damaged.push(text[cut..].into());
                for byte in [
                    "0", "9", "-", " ", "\n", "\"", "<", ">", "/", "{", "]", "#", "a", "\u{e9}", "\0",
                ] {
                    damaged.push(format!("{}{byte}{}", &text[..cut], &text[cut + 1..]));
                    damaged.push(format!("{}{byte}{}", &text[..cut], &text[cut..]));
                }
            }
            let lines: Vec<&str> = text.lines().collect();
            for index in 0..lines.len() {
                let mut fewer = lines.clone();
                let line = fewer.remove(index);
                damaged.push(fewer.join("\n"));
                fewer.splice(index..index, [line, line]);
                damaged.push(fewer.join("\n"));
            }
            for text in damaged {
                match built(format, &text) {
                    Ok(_) => read += 1,
                    Err(fault) => {
                        refused += 1;
                        assert!(fault.within(&text).starts_with(':'));
                    }
                }
            }
        }
        assert!(read > 100 && refused > 1000, "{read} read, {refused} refused");
    }

    #[test]
    fn deep_and_huge_files_are_refused() {
        let deep = 100_000;
        let xml = format!(
            "<graphml><graph>{}{}</graph></graphml>",
            "<node id=\"a\">".repeat(deep),
            "</node>".repeat(deep)
        );
        let json = format!("{{\"nodes\": [{{\"id\": {}", "[".repeat(deep));
        let huge = "a b 4294967295\na b 4294967295\n";
        let cables: String = (0..600).map(|n| format!("{n} {} 30000\n", n + 1)).collect();
        for (name, text, expected) in [
            ("graphml", xml.as_str(), ""),
            ("node-link", &json, "recursion limit"),
            ("edge-list", huge, "8589934591 ports on router 'a' are too many"),
            (
                "edge-list",
                &cables,
                "18000000 cables between routers are too many; expected at most 16777216",
            ),
        ] {
            match built(format(name), text) {
                Ok(_) => assert_eq!(expected, "", "{name}"),
                Err(fault) => {
                    let message = fault.within(text);
                    assert!(message.contains(expected), "{name}: {message}");
                }
            }
        }
    }
}
