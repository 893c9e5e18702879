//! Node-link JSON, as networkx writes it (`networkx.node_link_data`): a list of nodes and a list of links,
//! which newer versions call edges.
//!
//! `attributes` has the meaning of the attributes of nodes and links.

use std::borrow::Cow;

use config::nearest;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::attributes::{Attributes, Element};
use super::plan::{NetworkPlan, PlanError, Position};

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    directed: bool,
    /// Whether links may be repeated, which is allowed without it.
    #[serde(default, rename = "multigraph")]
    _multigraph: bool,
    #[serde(default)]
    graph: Map<String, Value>,
    nodes: Vec<JsonNode>,
    links: Option<Vec<NodeLink>>,
    edges: Option<Vec<NodeLink>>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
struct JsonNode {
    id: Value,
    #[serde(flatten)]
    attributes: Map<String, Value>,
}

#[derive(Deserialize)]
struct NodeLink {
    source: Value,
    target: Value,
    #[serde(flatten)]
    attributes: Map<String, Value>,
}

/// Node ids of networkx can be numbers, text or lists.
fn name(id: Value) -> String {
    match id {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

pub(super) fn read(text: &str) -> Result<NetworkPlan, PlanError> {
    let document: Document = serde_json::from_str(text)
        .map_err(|e| PlanError::new(Position::Whole, format!("not node-link JSON: {e}")))?;
    if let Some(other) = document.others.keys().next() {
        let known = ["directed", "edges", "graph", "links", "multigraph", "nodes"];
        let message = format!("unknown key '{other}'{}", nearest(other, known));
        return Err(PlanError::new(Position::Whole, message));
    }
    attributes(Element::Graph, &document.graph, Position::Whole)?;
    let (list, links) = match (document.links, document.edges) {
        (Some(links), None) => ("links", links),
        (None, Some(edges)) => ("edges", edges),
        (None, None) => {
            return Err(PlanError::new(
                Position::Whole,
                "neither 'links' nor 'edges'; expected one of them",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(PlanError::new(
                Position::Whole,
                "both 'links' and 'edges'; expected one of them",
            ));
        }
    };
    let mut plan = NetworkPlan::default();
    for (index, node) in document.nodes.into_iter().enumerate() {
        let place = Position::Item("nodes", index);
        let attributes = attributes(Element::Node, &node.attributes, place)?.node()?;
        plan.declare(name(node.id), attributes, place)?;
    }
    for (index, link) in links.into_iter().enumerate() {
        let place = Position::Item(list, index);
        let a = plan.find(&name(link.source), place)?;
        let b = plan.find(&name(link.target), place)?;
        let attributes = attributes(Element::Edge, &link.attributes, place)?.edge()?;
        plan.connect([a, b], document.directed, attributes, place)?;
    }
    plan.pair_directed()?;
    Ok(plan)
}

/// Attributes as texts. `null` is no value.
fn attributes(
    element: Element,
    values: &Map<String, Value>,
    place: Position,
) -> Result<Attributes<'_>, PlanError> {
    let mut attributes = Attributes::new(element, place);
    for (name, value) in values {
        let value = match value {
            Value::Null => continue,
            Value::String(text) => Some(Cow::Borrowed(&**text)),
            Value::Number(number) => Some(Cow::Owned(number.to_string())),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        attributes.add(name, value)?;
    }
    Ok(attributes)
}
