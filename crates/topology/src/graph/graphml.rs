//! GraphML: U. Brandes, M. Eiglsperger, I. Herman, M. Himsolt, M. S. Marshall, "GraphML progress report",
//! Graph Drawing 2001; <http://graphml.graphdrawing.org>.
//!
//! Data of nodes and edges are declared by a `key` with their `attr.name`; `attributes` has their meaning.

use std::borrow::Cow;
use std::collections::BTreeMap;

use config::nearest;
use roxmltree::{Document, Node};

use super::attributes::{Attributes, Element};
use super::plan::{NetworkPlan, PlanError, Position};

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
    only(root, None, &["desc", "graph", "key"])?;
    let keys = keys(root)?;
    let mut graphs = elements(root, "graph");
    let graph = graphs
        .next()
        .ok_or_else(|| PlanError::new(place(root), "no <graph>; expected one"))?;
    if let Some(second) = graphs.next() {
        return Err(PlanError::new(place(second), "a second <graph>; expected one"));
    }
    let attributes_of_graph = ["edgedefault", "id"];
    only(
        graph,
        Some(&attributes_of_graph),
        &["data", "desc", "edge", "hyperedge", "node"],
    )?;
    attributes(graph, Element::Graph, &keys)?;
    let directed = is_directed(graph, "edgedefault", ["undirected", "directed"])?.unwrap_or(false);
    let mut plan = NetworkPlan::default();
    for node in elements(graph, "node") {
        if let Some(inner) = elements(node, "graph").next() {
            return Err(PlanError::new(
                place(inner),
                "a graph inside a node cannot be a network",
            ));
        }
        only(node, Some(&["id"]), &["data", "desc"])?;
        let attributes = attributes(node, Element::Node, &keys)?.node()?;
        plan.declare(attribute(node, "id")?.to_string(), attributes, place(node))?;
    }
    if let Some(hyperedge) = elements(graph, "hyperedge").next() {
        let message = "a hyperedge cannot be a cable; expected edges";
        return Err(PlanError::new(place(hyperedge), message));
    }
    for edge in elements(graph, "edge") {
        only(
            edge,
            Some(&["directed", "id", "source", "target"]),
            &["data", "desc"],
        )?;
        let a = plan.find(attribute(edge, "source")?, place(edge))?;
        let b = plan.find(attribute(edge, "target")?, place(edge))?;
        let directed = is_directed(edge, "directed", ["false", "true"])?.unwrap_or(directed);
        let attributes = attributes(edge, Element::Edge, &keys)?.edge()?;
        plan.connect([a, b], directed, attributes, place(edge))?;
    }
    plan.pair_directed()?;
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

/// The value of an attribute that says whether edges are directed, with its values for no and yes.
fn is_directed(node: Node<'_, '_>, name: &str, [no, yes]: [&str; 2]) -> Result<Option<bool>, PlanError> {
    match node.attribute(name) {
        None => Ok(None),
        Some(value) if value == no => Ok(Some(false)),
        Some(value) if value == yes => Ok(Some(true)),
        Some(value) => {
            let message = format!("{name}=\"{value}\"; expected \"{no}\" or \"{yes}\"");
            Err(PlanError::new(place(node), message))
        }
    }
}

/// Refuses XML attributes and elements that are not read, such as ports or an attribute that belongs into a `data`
/// element. Those of other XML namespaces and parser hints (`parse.nodes`) are no part of the network.
fn only(node: Node<'_, '_>, attributes: Option<&[&str]>, children: &[&str]) -> Result<(), PlanError> {
    let name = node.tag_name().name();
    if let Some(known) = attributes {
        let unknown = node.attributes().find(|given| {
            given.namespace().is_none()
                && !given.name().starts_with("parse.")
                && !known.contains(&given.name())
        });
        if let Some(unknown) = unknown {
            let message = format!(
                "<{name}> has the unknown XML attribute '{}'; GraphML gives attributes of nodes and edges as \
                 <data>, declared by a <key>{}",
                unknown.name(),
                nearest(unknown.name(), known.iter().copied())
            );
            return Err(PlanError::new(place(node), message));
        }
    }
    let mut inside = node.children().filter(Node::is_element);
    if let Some(unknown) = inside.find(|child| !children.contains(&child.tag_name().name())) {
        let unknown_name = unknown.tag_name().name();
        let message = format!(
            "unknown element <{unknown_name}> in <{name}>{}",
            nearest(unknown_name, children.iter().copied())
        );
        return Err(PlanError::new(place(unknown), message));
    }
    Ok(())
}

fn text<'a>(node: Node<'a, '_>) -> &'a str {
    node.text().unwrap_or_default().trim()
}

fn keys<'a>(root: Node<'a, 'a>) -> Result<Keys<'a>, PlanError> {
    let mut keys = BTreeMap::new();
    for key in elements(root, "key") {
        let id = attribute(key, "id")?;
        let declared = KeyDeclaration {
            // Programs declare data of their own without a name.
            name: key.attribute("attr.name").unwrap_or(id),
            domain: key.attribute("for").unwrap_or("all"),
            default: elements(key, "default").next().map(text),
        };
        if keys.insert(id, declared).is_some() {
            return Err(PlanError::new(place(key), format!("a second key '{id}'")));
        }
    }
    Ok(keys)
}

/// The data of an element, and the defaults of the keys for such elements.
fn attributes<'a>(
    node: Node<'a, 'a>,
    element: Element,
    keys: &Keys<'a>,
) -> Result<Attributes<'a>, PlanError> {
    let is_for = |key: &KeyDeclaration<'_>| key.domain == "all" || key.domain == node.tag_name().name();
    let mut attributes = Attributes::new(element, place(node));
    for item in elements(node, "data") {
        let id = attribute(item, "key")?;
        let Some(key) = keys.get(id) else {
            let message = format!("no <key> declares '{id}'{}", nearest(id, keys.keys().copied()));
            return Err(PlanError::new(place(item), message));
        };
        if !is_for(key) {
            let message = format!(
                "the key '{id}' is for '{}'; expected one for '{}' or 'all'",
                key.domain,
                node.tag_name().name()
            );
            return Err(PlanError::new(place(item), message));
        }
        attributes.add(key.name, Some(Cow::Borrowed(text(item))))?;
    }
    for key in keys.values().filter(|key| is_for(key) && element.takes(key.name)) {
        if let Some(default) = key.default.filter(|_| !attributes.has(key.name)) {
            attributes.add(key.name, Some(Cow::Borrowed(default)))?;
        }
    }
    Ok(attributes)
}
