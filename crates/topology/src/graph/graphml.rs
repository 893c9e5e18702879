//! GraphML: U. Brandes, M. Eiglsperger, I. Herman, M. Himsolt, M. S. Marshall, "GraphML progress report",
//! Graph Drawing 2001; <http://graphml.graphdrawing.org>.
//!
//! Nodes may have the data `kind` or `type` (`router`, `switch`, `host`) and `hosts`, edges `count`, each declared
//! by a `key` with that `attr.name`. Other data are ignored.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};

use super::plan::{NetworkPlan, NodeRole, PlanError, Position};

/// Declarations of `key` elements by id.
#[derive(Clone, Copy)]
struct KeyDeclaration<'a> {
    name: &'a str,
    /// The `for` attribute: `node`, `edge`, `all`, ...
    domain: &'a str,
    default: Option<&'a str>,
}

type Keys<'a> = BTreeMap<&'a str, KeyDeclaration<'a>>;

pub(super) fn read(text: &str) -> Result<NetworkPlan, PlanError> {
    let document = Document::parse(text)
        .map_err(|e| PlanError::new(Position::Line(e.pos().row), format!("not XML: {e}")))?;
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        let message = format!("<{}> is not GraphML; expected <graphml>", root.tag_name().name());
        return Err(PlanError::new(place(root), message));
    }
    let keys = keys(root)?;
    let mut graphs = elements(root, "graph");
    let graph = graphs
        .next()
        .ok_or_else(|| PlanError::new(place(root), "no <graph>; expected one"))?;
    if let Some(second) = graphs.next() {
        return Err(PlanError::new(place(second), "a second <graph>; expected one"));
    }
    undirected(graph, "edgedefault", "directed")?;
    let mut plan = NetworkPlan::default();
    for node in elements(graph, "node") {
        if let Some(inner) = elements(node, "graph").next() {
            return Err(PlanError::new(
                place(inner),
                "a graph inside a node cannot be a network",
            ));
        }
        let kind = match data(node, &keys, "kind")? {
            Some(kind) => Some(kind),
            None => data(node, &keys, "type")?,
        };
        let hosts = number(node, &keys, "hosts")?;
        let role = NodeRole::of(kind, hosts, place(node))?;
        plan.declare(attribute(node, "id")?.to_string(), role, place(node))?;
    }
    if let Some(hyperedge) = elements(graph, "hyperedge").next() {
        let message = "a hyperedge cannot be a cable; expected edges";
        return Err(PlanError::new(place(hyperedge), message));
    }
    for edge in elements(graph, "edge") {
        undirected(edge, "directed", "true")?;
        let a = plan.find(attribute(edge, "source")?, place(edge))?;
        let b = plan.find(attribute(edge, "target")?, place(edge))?;
        plan.link([a, b], number(edge, &keys, "count")?.unwrap_or(1), place(edge))?;
    }
    Ok(plan)
}

fn place(node: Node<'_, '_>) -> Position {
    Position::Offset(node.range().start)
}

/// Children of that name in any XML namespace.
fn elements<'a, 'd: 'a>(parent: Node<'a, 'd>, name: &'a str) -> impl Iterator<Item = Node<'a, 'd>> {
    let children = parent.children().filter(Node::is_element);
    children.filter(move |child| child.tag_name().name() == name)
}

fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Result<&'a str, PlanError> {
    node.attribute(name).ok_or_else(|| {
        let message = format!("<{}> has no {name}; expected one", node.tag_name().name());
        PlanError::new(place(node), message)
    })
}

fn undirected(node: Node<'_, '_>, name: &str, directed: &str) -> Result<(), PlanError> {
    if node.attribute(name) == Some(directed) {
        let message = format!("{name}=\"{directed}\"; expected undirected edges, which lead both ways");
        return Err(PlanError::new(place(node), message));
    }
    Ok(())
}

fn text<'a>(node: Node<'a, '_>) -> &'a str {
    node.text().unwrap_or_default().trim()
}

fn keys<'a>(root: Node<'a, 'a>) -> Result<Keys<'a>, PlanError> {
    let mut keys = BTreeMap::new();
    for key in elements(root, "key") {
        let declared = KeyDeclaration {
            name: key.attribute("attr.name").unwrap_or_default(),
            domain: key.attribute("for").unwrap_or("all"),
            default: elements(key, "default").next().map(text),
        };
        let id = attribute(key, "id")?;
        if keys.insert(id, declared).is_some() {
            return Err(PlanError::new(place(key), format!("a second key '{id}'")));
        }
    }
    Ok(keys)
}

/// The value of a node or an edge under a name: its own data, or the default of the key.
fn data<'a>(node: Node<'a, 'a>, keys: &Keys<'a>, name: &str) -> Result<Option<&'a str>, PlanError> {
    let of_this = |key: &&KeyDeclaration<'a>| {
        key.name == name && (key.domain == "all" || key.domain == node.tag_name().name())
    };
    for item in elements(node, "data") {
        let id = attribute(item, "key")?;
        if keys.get(id).is_some_and(|key| of_this(&key)) {
            return Ok(Some(text(item)));
        }
    }
    let mut defaults = keys.values().filter(of_this).filter_map(|key| key.default);
    Ok(defaults.next())
}

fn number(node: Node<'_, '_>, keys: &Keys<'_>, name: &str) -> Result<Option<u32>, PlanError> {
    let Some(text) = data(node, keys, name)? else {
        return Ok(None);
    };
    let message = || format!("{name}: '{text}' is not a whole number");
    let number = text.parse().map_err(|_| PlanError::new(place(node), message()))?;
    Ok(Some(number))
}
