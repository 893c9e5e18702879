//! Networks in files: a graph gives one result in every format, and an exported network is read again.

use std::fs;

use serde_json::Value;

use crate::bench::{Bench, root};

/// Traffic on a graph. The file gives all speeds if it gives any.
fn on_graph(topology: &str, routing: &str) -> String {
    format!(
        "[network]\ntopology = {{ kind = \"graph\", {topology} }}\nrouting = {{ {routing} }}\n\
         [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.4 }}\n[run]\nuntil = \"4 us\"\n"
    )
}

/// Runs an experiment into a folder; returns its digest.
fn digest(bench: &mut Bench, experiment: &str, out: &str) -> String {
    bench.write("next.toml", experiment);
    bench.succeeds(&["run", "next.toml", "--out", out]);
    let summary = fs::read_to_string(bench.path().join(out).join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert!(summary["network"]["packets_delivered"].as_u64().unwrap() > 100);
    summary["digest"].as_str().expect("a digest").into()
}

#[test]
fn a_graph_gives_one_result_in_every_format() {
    let mut bench = Bench::new("");
    // A ring with chords. Names begin with a letter or not; files give nodes and edges in orders of their own.
    let edges = [(10, 2), (0, 1), (2, 1), (9, 10), (3, 0), (9, 3), (1, 9), (10, 0)];
    for prefix in ["", "r"] {
        let name = |number: u32| format!("{prefix}{number}");
        let named = edges.map(|(a, b)| (name(a), name(b)));
        let nodes = [3, 10, 0, 9, 1, 2].map(name);
        let list: String = named.iter().map(|(a, b)| format!("{a} {b}\n")).collect();
        bench.write("net.txt", list);
        let inline: Vec<String> = named
            .iter()
            .rev()
            .map(|(a, b)| format!("[\"{b}\", \"{a}\"]"))
            .collect();
        let links: Vec<String> = named
            .iter()
            .map(|(a, b)| format!("{{\"source\": \"{b}\", \"target\": \"{a}\"}}"))
            .collect();
        let ids: Vec<String> = nodes
            .iter()
            .map(|id| format!("{{\"id\": \"{id}\", \"hosts\": 2}}"))
            .collect();
        bench.write(
            "net.json",
            format!(
                "{{\"nodes\": [{}], \"links\": [{}]}}",
                ids.join(", "),
                links.join(", ")
            ),
        );
        let ids: String = nodes.iter().map(|id| format!("<node id=\"{id}\"/>")).collect();
        let links: String = named
            .iter()
            .map(|(a, b)| {
                format!("<edge source=\"{a}\" target=\"{b}\"/><edge source=\"{b}\" target=\"{a}\"/>")
            })
            .collect();
        let key = "<key id=\"h\" for=\"node\" attr.name=\"hosts\"><default>2</default></key>";
        bench.write(
            "net.graphml",
            format!("<graphml>{key}<graph edgedefault=\"directed\">{links}{ids}</graph></graphml>"),
        );
        let hosts = |(index, router): (usize, &u32)| {
            format!("router {router} node {} node {}\n", 2 * index, 2 * index + 1)
        };
        let hosts: String = [9, 0, 1, 2, 3, 10].iter().enumerate().map(hosts).collect();
        let links: String = edges
            .iter()
            .map(|(a, b)| format!("router {b} router {a}\n"))
            .collect();
        bench.write("net.anynet", hosts + &links);

        let mut topologies = vec![
            "file = \"net.txt\", hosts_per_router = 2".to_string(),
            format!("edges = [{}], hosts_per_router = 2", inline.join(", ")),
            "file = \"net.json\"".into(),
            "file = \"net.graphml\"".into(),
        ];
        // Routers of anynet have numbers only.
        if prefix.is_empty() {
            topologies.push("file = \"net.anynet\"".into());
        }
        let routing = "algorithm = \"ugal\", candidates = 2";
        let digests: Vec<String> = topologies
            .iter()
            .map(|topology| digest(&mut bench, &on_graph(topology, routing), "result"))
            .collect();
        for (topology, found) in topologies.iter().zip(&digests) {
            assert_eq!(*found, digests[0], "{topology}");
        }
    }
}

/// Class, bandwidth and latency of all links, and the labels of the routers.
fn inventory(bench: &Bench, folder: &str) -> (Vec<String>, Vec<String>) {
    let csv = |table: &str| {
        let out = format!("{table}.csv");
        bench.succeeds(&[
            "export", folder, "--format", "csv", "--table", table, "--out", &out,
        ]);
        fs::read_to_string(bench.path().join(out)).unwrap()
    };
    let columns = |text: &str, wanted: &[&str]| -> Vec<String> {
        let mut reader = text.lines().map(|line| {
            // Cells with commas are in quotes.
            let mut cells = vec![String::new()];
            let mut quoted = false;
            for c in line.chars() {
                match c {
                    '"' => quoted = !quoted,
                    ',' if !quoted => cells.push(String::new()),
                    _ => cells.last_mut().unwrap().push(c),
                }
            }
            cells
        });
        let header = reader.next().unwrap();
        let at = wanted
            .iter()
            .map(|name| header.iter().position(|column| column == name));
        let at: Vec<usize> = at.map(|at| at.expect("the column")).collect();
        let mut rows: Vec<String> = reader
            .map(|cells| {
                at.iter()
                    .map(|at| cells[*at].clone())
                    .collect::<Vec<_>>()
                    .join("; ")
            })
            .collect();
        rows.sort();
        rows
    };
    let links = columns(&csv("links"), &["class", "bandwidth_bits_per_s", "latency_ps"]);
    (links, columns(&csv("routers"), &["label"]))
}

/// The exported file with one undirected edge for each cable.
fn undirected(graphml: &str) -> String {
    let (head, edges) = graphml.split_once("  <edge ").expect("an edge");
    let (edges, end) = edges.split_once(" </graph>").expect("the end");
    let end_of = |edge: &str, name: &str| {
        let (_, rest) = edge.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.to_string()
    };
    let kept = edges
        .split("  <edge ")
        .filter(|edge| end_of(edge, "source") < end_of(edge, "target"));
    let kept: String = kept.map(|edge| format!("  <edge {edge}")).collect();
    assert!(head.contains("edgedefault=\"directed\""));
    head.replace("edgedefault=\"directed\"", "edgedefault=\"undirected\"") + &kept + " </graph>" + end
}

#[test]
fn an_exported_network_is_read_again() {
    let mut bench = Bench::new("");
    bench.write(
        "net.graphml",
        fs::read(root().join("tests/corpus/graph.graphml")).unwrap(),
    );
    bench.write(
        "speeds.json",
        r#"{"nodes": [{"id": "top", "label": "spine <1>"}, {"id": "a", "hosts": 3}, {"id": "b", "hosts": 1}],
            "links": [{"source": "a", "target": "top", "bandwidth": "400 Gbps", "latency": "2 us", "count": 2},
                      {"source": "a", "target": "top", "bandwidth_gbps": 50}, {"source": "b", "target": "top"},
                      {"source": "a", "target": "b", "class": "copper", "latency_ns": 12.5}]}"#,
    );
    let links = |class: &str| {
        format!(
            "link = {{ bandwidth = \"200 Gbps\", latency = \"70 ns\" }}\n\
             links = {{ host = {{ latency = \"30 ns\" }}, {class} = {{ bandwidth = \"120 Gbps\", latency = \"1 us\" }} }}\n"
        )
    };
    let minimal = "algorithm = \"minimal\"";
    for (topology, routing, class, again) in [
        (
            "kind = \"graph\", file = \"net.graphml\"",
            minimal,
            "router",
            "algorithm = \"valiant\"",
        ),
        (
            "kind = \"graph\", file = \"speeds.json\"",
            minimal,
            "copper",
            "algorithm = \"minimal\", paths = \"adaptive\"",
        ),
        (
            "kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2",
            minimal,
            "global",
            "algorithm = \"ugal\"",
        ),
        (
            "kind = \"fat-tree\", radix = 4",
            "algorithm = \"destination-mod-k\"",
            "leaf-spine",
            minimal,
        ),
        (
            "kind = \"torus\", sizes = [3, 4], links = 2",
            "algorithm = \"dimension-order\"",
            "dimension-1",
            minimal,
        ),
        (
            "kind = \"hyperx\", shape = [3, 3], width = 2",
            minimal,
            "dimension-0",
            minimal,
        ),
        ("kind = \"slim-fly\", q = 5", minimal, "local", minimal),
    ] {
        let original = on_graph("", routing).replace("kind = \"graph\", ", topology);
        let original = original.replacen("[network]\n", &format!("[network]\n{}", links(class)), 1);
        digest(&mut bench, &original, "original");
        bench.succeeds(&[
            "export",
            "original",
            "--format",
            "graphml",
            "--out",
            "first.graphml",
        ]);
        let first = digest(&mut bench, &on_graph("file = \"first.graphml\"", again), "first");
        // Nothing but the file gives speeds and names.
        assert_eq!(
            inventory(&bench, "first"),
            inventory(&bench, "original"),
            "{topology}"
        );
        bench.succeeds(&[
            "export",
            "first",
            "--format",
            "graphml",
            "--out",
            "second.graphml",
        ]);
        let second = digest(
            &mut bench,
            &on_graph("file = \"second.graphml\"", again),
            "second",
        );
        assert_eq!(first, second, "{topology}");
        let text = fs::read_to_string(bench.path().join("second.graphml")).unwrap();
        bench.write("third.graphml", undirected(&text));
        let third = digest(&mut bench, &on_graph("file = \"third.graphml\"", again), "third");
        assert_eq!(first, third, "{topology}, undirected");
    }
}

#[test]
fn link_settings_come_before_those_of_a_file() {
    let mut bench = Bench::new("");
    bench.write(
        "net.json",
        r#"{"nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
            "links": [{"source": "a", "target": "b", "bandwidth": "400 Gbps"},
                      {"source": "b", "target": "c", "class": "copper", "bandwidth": "50 Gbps", "latency": "5 ns"}]}"#,
    );
    let speeds = |bench: &Bench, links: &str| {
        let experiment = on_graph("file = \"net.json\"", "algorithm = \"minimal\"");
        let experiment = experiment.replacen("[network]\n", &format!("[network]\n{links}\n"), 1);
        fs::write(bench.path().join("next.toml"), experiment).unwrap();
        bench.run(&["run", "next.toml", "--out", "result"])
    };
    let settings =
        "link = { bandwidth = \"10 Gbps\", latency = \"1 us\" }\nlinks.copper.bandwidth = \"60 Gbps\"";
    assert_eq!(speeds(&bench, settings).status.code(), Some(0));
    let (mut links, _) = inventory(&bench, "result");
    links.dedup();
    assert_eq!(
        links,
        [
            "copper; 60000000000; 5000",
            "ejection; 10000000000; 1000000",
            "injection; 10000000000; 1000000",
            "router; 400000000000; 1000000",
        ]
    );
    let refused = speeds(&bench, "links.coper.bandwidth = \"60 Gbps\"");
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("did you mean 'copper'?"), "{message}");
}
