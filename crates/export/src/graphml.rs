//! GraphML: the network with the traffic of its links. Nodes are routers and hosts, edges are links. A cable is two
//! edges, one per direction. Parallel cables are parallel edges with ids of their own.
//!
//! Source: U. Brandes, M. Eiglsperger, I. Herman, M. Himsolt, M. S. Marshall, "GraphML progress report", Graph
//! Drawing 2001; attributes (`attr.name`, `attr.type`) as in the GraphML primer. Gephi knows the names `x`, `y` and
//! `label`.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use crate::Error;
use crate::folder::ExportSource;
use crate::format::{ExportFormat, Made, Options};

pub(crate) const FORMAT: ExportFormat = ExportFormat {
    name: "graphml",
    summary: "the network with the loads of its links, for Gephi, networkx, igraph: a GraphML file",
    options: &[],
    made: |_| Made::File(".graphml".into()),
    write,
};

/// Side of the drawing. Gephi draws nodes some units wide, with the y axis upwards.
const SIDE: f64 = 1000.0;

/// An attribute: id in the file, element kind, name, type, meaning.
struct GraphmlKey(
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const KEYS: &[GraphmlKey] = &[
    GraphmlKey("kind", "node", "kind", "string", "router or host"),
    GraphmlKey(
        "label",
        "node",
        "label",
        "string",
        "coordinates of a router, number of a host",
    ),
    GraphmlKey(
        "group",
        "node",
        "group",
        "int",
        "group of the router, where the network has groups",
    ),
    GraphmlKey(
        "x",
        "node",
        "x",
        "double",
        "place in the drawing, from left to right",
    ),
    GraphmlKey("y", "node", "y", "double", "place in the drawing, upwards"),
    GraphmlKey(
        "node_packets_sent",
        "node",
        "packets_sent",
        "long",
        "packets on the links that begin here",
    ),
    GraphmlKey(
        "node_packets_received",
        "node",
        "packets_received",
        "long",
        "packets on the links that end here",
    ),
    GraphmlKey(
        "node_bytes_sent",
        "node",
        "bytes_sent",
        "long",
        "bytes on the links that begin here",
    ),
    GraphmlKey(
        "node_bytes_received",
        "node",
        "bytes_received",
        "long",
        "bytes on the links that end here",
    ),
    GraphmlKey("class", "edge", "class", "string", "kind of link"),
    GraphmlKey(
        "from_port",
        "edge",
        "from_port",
        "int",
        "port of the router, or rail of the host, that it begins at",
    ),
    GraphmlKey(
        "to_port",
        "edge",
        "to_port",
        "int",
        "port of the router, or rail of the host, that it ends at",
    ),
    GraphmlKey("bandwidth", "edge", "bandwidth_bits_per_s", "long", "bandwidth"),
    GraphmlKey(
        "latency",
        "edge",
        "latency_ps",
        "long",
        "propagation delay of the cable",
    ),
    GraphmlKey("bytes", "edge", "bytes", "long", "bytes carried"),
    GraphmlKey("packets", "edge", "packets", "long", "packets carried"),
    GraphmlKey(
        "busy",
        "edge",
        "busy_ps",
        "long",
        "time for which it carried packets",
    ),
    GraphmlKey(
        "busy_fraction",
        "edge",
        "busy_fraction",
        "double",
        "busy_ps over the measured time, 0 to 1",
    ),
    GraphmlKey(
        "buffer_full",
        "edge",
        "buffer_full_ps",
        "long",
        "time for which a packet was ready and the downstream buffer was full",
    ),
];

/// Traffic of the links that begin or end at a node.
#[derive(Clone, Copy, Default)]
struct ElementCounts {
    packets_sent: u64,
    packets_received: u64,
    bytes_sent: u64,
    bytes_received: u64,
}

/// Traffic of all nodes.
#[derive(Default)]
struct Nodes {
    routers: Vec<ElementCounts>,
    hosts: Vec<ElementCounts>,
}

impl Nodes {
    fn at(&mut self, kind: &str, id: u64) -> &mut ElementCounts {
        let counts = match kind {
            "host" => &mut self.hosts,
            _ => &mut self.routers,
        };
        let id = usize::try_from(id).expect("numbers of nodes are short");
        if counts.len() <= id {
            counts.resize(id + 1, ElementCounts::default());
        }
        &mut counts[id]
    }
}

fn write(folder: &ExportSource, _: &Options, out: &Path) -> Result<Vec<String>, Error> {
    if folder.summary().is_none() {
        return Err(Error::NotEnded(folder.path().into()));
    }
    for table in ["routers", "hosts", "links"] {
        folder.require(table)?;
    }
    let counts = counts(folder)?;
    let failed = |source| Error::Write {
        path: out.into(),
        source,
    };
    let file = BufWriter::new(File::create(out).map_err(failed)?);
    let mut xml = Writer::new_with_indent(file, b' ', 1);
    begin(&mut xml, folder).map_err(failed)?;
    routers(&mut xml, folder, &counts.routers, failed)?;
    hosts(&mut xml, folder, &counts.hosts, failed)?;
    links(&mut xml, folder, failed)?;
    end(&mut xml).map_err(failed)?;
    Ok(Vec::new())
}

fn counts(folder: &ExportSource) -> Result<Nodes, Error> {
    let mut nodes = Nodes::default();
    let columns = ["from_kind", "from_id", "to_kind", "to_id", "bytes", "packets"];
    folder.each("links", &columns, |rows| {
        let (from_kinds, to_kinds) = (rows.texts("from_kind")?, rows.texts("to_kind")?);
        let (from, to) = (rows.short_integers("from_id")?, rows.short_integers("to_id")?);
        let (bytes, packets) = (rows.integers("bytes")?, rows.integers("packets")?);
        for row in 0..rows.rows() {
            let sender = nodes.at(from_kinds.or_empty(row), from[row].into());
            sender.packets_sent += packets[row];
            sender.bytes_sent += bytes[row];
            let receiver = nodes.at(to_kinds.or_empty(row), to[row].into());
            receiver.packets_received += packets[row];
            receiver.bytes_received += bytes[row];
        }
        Ok(())
    })?;
    Ok(nodes)
}

fn begin<W: Write>(xml: &mut Writer<W>, folder: &ExportSource) -> io::Result<()> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let graphml = [
        ("xmlns", "http://graphml.graphdrawing.org/xmlns"),
        ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"),
        (
            "xsi:schemaLocation",
            "http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd",
        ),
    ];
    xml.write_event(Event::Start(BytesStart::new("graphml").with_attributes(graphml)))?;
    if let Some(summary) = folder.summary() {
        let message = format!(
            "{}: traffic of its links in {} ns, FabricSim {}",
            summary.network.topology, summary.network.measured_ns, summary.run.version
        );
        xml.create_element("desc")
            .write_text_content(BytesText::new(&text(&message)))?;
    }
    for GraphmlKey(id, of, name, kind, meaning) in KEYS {
        let key = [("id", *id), ("for", of), ("attr.name", name), ("attr.type", kind)];
        xml.create_element("key")
            .with_attributes(key)
            .write_inner_content(|xml| {
                xml.create_element("desc")
                    .write_text_content(BytesText::new(meaning))?;
                Ok(())
            })?;
    }
    let graph = [("id", "network"), ("edgedefault", "directed")];
    xml.write_event(Event::Start(BytesStart::new("graph").with_attributes(graph)))
}

fn end<W: Write>(xml: &mut Writer<W>) -> io::Result<()> {
    for name in ["graph", "graphml"] {
        xml.write_event(Event::End(BytesEnd::new(name)))?;
    }
    xml.get_mut().write_all(b"\n")?;
    xml.get_mut().flush()
}

fn routers<W: Write>(
    xml: &mut Writer<W>,
    folder: &ExportSource,
    counts: &[ElementCounts],
    failed: impl Fn(io::Error) -> Error,
) -> Result<(), Error> {
    folder.each("routers", &["router", "label", "group", "x", "y"], |rows| {
        let (numbers, labels) = (rows.short_integers("router")?, rows.texts("label")?);
        let groups = rows.maybe_integers("group")?;
        let (x, y) = (rows.fractions("x")?, rows.fractions("y")?);
        for (row, number) in numbers.iter().enumerate() {
            let label = match labels.or_empty(row) {
                "" => format!("router {number}"),
                label => label.into(),
            };
            let group = groups[row].map(|group| ("group", group.to_string()));
            let counted = counts.get(*number as usize).copied().unwrap_or_default();
            let data = [("kind", "router".into()), ("label", label)]
                .into_iter()
                .chain(group);
            let data = data.chain(place(x[row], y[row])).chain(counted.data());
            let node = [("id", format!("r{number}"))];
            element(xml, "node", &node, data).map_err(&failed)?;
        }
        Ok(())
    })
}

fn hosts<W: Write>(
    xml: &mut Writer<W>,
    folder: &ExportSource,
    counts: &[ElementCounts],
    failed: impl Fn(io::Error) -> Error,
) -> Result<(), Error> {
    folder.each("hosts", &["host", "x", "y"], |rows| {
        let numbers = rows.short_integers("host")?;
        let (x, y) = (rows.fractions("x")?, rows.fractions("y")?);
        for (row, number) in numbers.iter().enumerate() {
            let counted = counts.get(*number as usize).copied().unwrap_or_default();
            let data = [("kind", "host".into()), ("label", format!("host {number}"))];
            let data = data
                .into_iter()
                .chain(place(x[row], y[row]))
                .chain(counted.data());
            let node = [("id", format!("h{number}"))];
            element(xml, "node", &node, data).map_err(&failed)?;
        }
        Ok(())
    })
}

fn links<W: Write>(
    xml: &mut Writer<W>,
    folder: &ExportSource,
    failed: impl Fn(io::Error) -> Error,
) -> Result<(), Error> {
    let columns = [
        "link",
        "class",
        "from_kind",
        "from_id",
        "from_port",
        "to_kind",
        "to_id",
        "to_port",
        "bandwidth_bits_per_s",
        "latency_ps",
        "bytes",
        "packets",
        "busy_ps",
        "busy_fraction",
        "buffer_full_ps",
    ];
    folder.each("links", &columns, |rows| {
        let (numbers, classes) = (rows.integers("link")?, rows.texts("class")?);
        let (from_kinds, to_kinds) = (rows.texts("from_kind")?, rows.texts("to_kind")?);
        let (from, to) = (rows.integers("from_id")?, rows.integers("to_id")?);
        let fractions = rows.fractions("busy_fraction")?;
        let whole = [
            ("from_port", "from_port"),
            ("to_port", "to_port"),
            ("bandwidth", "bandwidth_bits_per_s"),
            ("latency", "latency_ps"),
            ("bytes", "bytes"),
            ("packets", "packets"),
            ("busy", "busy_ps"),
            ("buffer_full", "buffer_full_ps"),
        ];
        let mut cells = Vec::new();
        for (key, column) in whole {
            cells.push((key, rows.integers(column)?));
        }
        for row in 0..rows.rows() {
            let edge = [
                ("id", format!("l{}", numbers[row])),
                ("source", node(from_kinds.or_empty(row), from[row])),
                ("target", node(to_kinds.or_empty(row), to[row])),
            ];
            let class = [("class", classes.or_empty(row).to_string())].into_iter();
            let data = class.chain(cells.iter().map(|(key, cells)| (*key, cells[row].to_string())));
            let data = data.chain([("busy_fraction", fractions[row].to_string())]);
            element(xml, "edge", &edge, data).map_err(&failed)?;
        }
        Ok(())
    })
}

/// Id of the node of a host or router.
fn node(kind: &str, id: u64) -> String {
    match kind {
        "host" => format!("h{id}"),
        _ => format!("r{id}"),
    }
}

/// A position in the drawing. The tables have 0 to 1, downwards.
fn place(x: f64, y: f64) -> [(&'static str, String); 2] {
    let shown = |place: f64| format!("{:.3}", place * SIDE);
    [("x", shown(x)), ("y", shown(1.0 - y))]
}

impl ElementCounts {
    fn data(self) -> [(&'static str, String); 4] {
        [
            ("node_packets_sent", self.packets_sent.to_string()),
            ("node_packets_received", self.packets_received.to_string()),
            ("node_bytes_sent", self.bytes_sent.to_string()),
            ("node_bytes_received", self.bytes_received.to_string()),
        ]
    }
}

/// A node or an edge with its attributes.
fn element<W: Write>(
    xml: &mut Writer<W>,
    name: &str,
    attributes: &[(&str, String)],
    data: impl Iterator<Item = (&'static str, String)>,
) -> io::Result<()> {
    let attributes = attributes.iter().map(|(name, value)| (*name, value.as_str()));
    let element = xml.create_element(name).with_attributes(attributes);
    element.write_inner_content(|xml| {
        for (key, value) in data {
            let data = xml.create_element("data").with_attribute(("key", key));
            data.write_text_content(BytesText::new(&text(&value)))?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Removes characters that XML does not allow, even escaped.
fn text(text: &str) -> Cow<'_, str> {
    let held =
        |c: char| !matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}');
    match text.chars().all(held) {
        true => text.into(),
        false => text
            .chars()
            .map(|c| if held(c) { c } else { '\u{fffd}' })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::folder::tests::{f32s, finished, killed, maybe_u32s, table, texts, u32s, u64s};
    use arrow_array::Float64Array;
    use serde_json::Value;

    /// A host at one of two routers with two cables between them.
    fn small(folder: &Path) {
        let routers = vec![
            ("router", u32s(&[0, 1])),
            ("label", texts(&["(0, <&\"\u{1}>)", ""])),
            ("group", maybe_u32s(&[Some(7), None])),
            ("x", f32s(&[0.0, 1.0])),
            ("y", f32s(&[0.25, 1.0])),
        ];
        table(&folder.join("routers.parquet"), routers);
        let hosts = vec![("host", u32s(&[0])), ("x", f32s(&[0.5])), ("y", f32s(&[0.0]))];
        table(&folder.join("hosts.parquet"), hosts);
        let (host, router) = ("host", "router");
        let links = vec![
            ("link", u32s(&[0, 1, 2, 3, 4, 5])),
            (
                "class",
                texts(&["injection", "ejection", "local", "local", "local", "local"]),
            ),
            (
                "from_kind",
                texts(&[host, router, router, router, router, router]),
            ),
            ("from_id", u32s(&[0, 0, 0, 0, 1, 1])),
            ("from_port", u32s(&[0, 0, 1, 2, 0, 1])),
            ("to_kind", texts(&[router, host, router, router, router, router])),
            ("to_id", u32s(&[0, 0, 1, 1, 0, 0])),
            ("to_port", u32s(&[0, 0, 0, 1, 1, 2])),
            ("bandwidth_bits_per_s", u64s(&[100_000_000_000; 6])),
            ("latency_ps", u64s(&[50_000; 6])),
            ("bytes", u64s(&[300, 0, 100, 200, 0, 0])),
            ("packets", u64s(&[3, 0, 1, 2, 0, 0])),
            ("busy_ps", u64s(&[24, 0, 8, 16, 0, 0])),
            (
                "busy_fraction",
                Arc::new(Float64Array::from(vec![0.24, 0.0, 0.08, 0.16, 0.0, 0.0])),
            ),
            ("buffer_full_ps", u64s(&[0, 0, 5, 0, 0, 0])),
        ];
        table(&folder.join("links.parquet"), links);
    }

    #[test]
    fn nodes_and_edges_are_those_of_the_tables() {
        let here = tempfile::tempdir().unwrap();
        finished(here.path(), &Value::Null);
        small(here.path());
        let folder = ExportSource::open(here.path()).unwrap();
        let out = here.path().join("out");
        assert!(write(&folder, &Options::default(), &out).unwrap().is_empty());
        let written = fs::read_to_string(&out).unwrap();
        let expected = include_str!("graphml/small.graphml");
        assert_eq!(written, expected, "\n{written}");
    }

    #[test]
    fn what_is_missing_is_told() {
        let here = tempfile::tempdir().unwrap();
        killed(here.path(), &Value::Null);
        let out = here.path().join("out");
        let message = || {
            let folder = ExportSource::open(here.path()).unwrap();
            write(&folder, &Options::default(), &out).unwrap_err().to_string()
        };
        let why = message();
        assert!(
            why.contains("what links have carried is written at the end"),
            "{why}"
        );
        finished(here.path(), &Value::Null);
        let why = message();
        assert!(why.contains("has no table routers (routers.parquet)"), "{why}");
        small(here.path());
        let links = vec![("link", u32s(&[0])), ("from", texts(&["host 0"]))];
        table(&here.path().join("links.parquet"), links);
        assert!(message().contains("it has no column 'from_kind'; run the experiment again"));
        assert!(!out.exists());
    }
}
