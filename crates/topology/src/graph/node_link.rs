//! Node-link JSON, as networkx writes it (`networkx.node_link_data`): a list of nodes and a list of links,
//! which newer versions call edges.
//!
//! Nodes may have the attributes `kind` or `type` (`"router"`, `"switch"`, `"host"`) and `hosts`, links the
//! attribute `count`. Other attributes are ignored.

use serde::Deserialize;
use serde_json::Value;

use super::plan::{NetworkPlan, NodeRole, PlanError, Position};

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    directed: bool,
    nodes: Vec<Node>,
    links: Option<Vec<NodeLink>>,
    edges: Option<Vec<NodeLink>>,
}

#[derive(Deserialize)]
struct Node {
    id: Value,
    kind: Option<String>,
    #[serde(rename = "type")]
    kind_elsewhere: Option<String>,
    hosts: Option<u32>,
}

#[derive(Deserialize)]
struct NodeLink {
    source: Value,
    target: Value,
    count: Option<u32>,
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
    if document.directed {
        let message = "the graph is directed; expected an undirected one, whose links lead both ways";
        return Err(PlanError::new(Position::Whole, message));
    }
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
        let kind = node.kind.or(node.kind_elsewhere);
        let role = NodeRole::of(kind.as_deref(), node.hosts, place)?;
        plan.declare(name(node.id), role, place)?;
    }
    for (index, link) in links.into_iter().enumerate() {
        let place = Position::Item(list, index);
        let a = plan.find(&name(link.source), place)?;
        let b = plan.find(&name(link.target), place)?;
        plan.link([a, b], link.count.unwrap_or(1), place)?;
    }
    Ok(plan)
}
