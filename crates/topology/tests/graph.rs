//! Networks from files: one graph in every format, and errors with their location.

use std::path::Path;

use config::Section;
use fabricsim_topology::*;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphs")
}

fn built_in(folder: &Path, parameters: &str) -> Result<Box<dyn Topology>, String> {
    let text = format!("kind = \"graph\"\n{parameters}\n");
    let section = Section::from_toml_in(folder, &text, "x.toml").expect("valid TOML");
    let topology = build(&section).map_err(|e| e.to_string())?;
    section.finish().expect("every key is known");
    Ok(topology)
}

/// All ports of all routers, with their far ends.
fn wiring(topology: &dyn Topology) -> Vec<(String, Vec<Peer>)> {
    let routers = (0..topology.routers()).map(RouterId);
    let ports = |router| (0..topology.ports(router)).map(Port).collect::<Vec<_>>();
    let peers = |router| {
        ports(router)
            .into_iter()
            .map(|port| topology.peer(router, port))
            .collect()
    };
    routers
        .map(|router| (topology.coordinates(router), peers(router)))
        .collect()
}

#[test]
fn the_petersen_graph_is_the_same_from_every_format() {
    let inline = "edges = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [0, 5], [1, 6], [2, 7], [3, 8], [4, 9], \
                  [5, 7], [6, 8], [7, 9], [8, 5], [9, 6]]\nhosts_per_router = 2";
    let expected = built_in(&folder(), inline).unwrap();
    assert_eq!(
        expected.describe(),
        "graph of 10 routers with 2 hosts each, 15 cables between routers"
    );
    assert_eq!((expected.hosts(), expected.router_links()), (20, 30));
    // Every router has three neighbours and six at distance 2.
    for from in (0..10).map(RouterId) {
        let distances: u32 = (0..10).map(|to| expected.distance(from, RouterId(to))).sum();
        assert_eq!(distances, 3 + 6 * 2);
    }
    assert_eq!(expected.shape().graph().unwrap().diameter(), 2);
    for (parameters, name) in [
        ("hosts_per_router = 2\n", "petersen.txt"),
        ("", "petersen.graphml"),
        ("", "petersen.json"),
        ("", "petersen.anynet"),
    ] {
        let network = built_in(&folder(), &format!("{parameters}file = \"{name}\"")).unwrap();
        assert_eq!(wiring(&*network), wiring(&*expected), "{name}");
    }
}

#[test]
fn routers_keep_names_and_hosts_follow_the_routers() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "names.txt",
        "\u{feff}spine-1 leaf-9 2\r\nspine-1 leaf-10\r\n\r\n# end",
    );
    let network = built_in(folder.path(), "file = \"names.txt\"").unwrap();
    let names = |network: &dyn Topology| -> Vec<String> {
        (0..network.routers())
            .map(|r| network.coordinates(RouterId(r)))
            .collect()
    };
    assert_eq!(names(&*network), ["leaf-9", "leaf-10", "spine-1"]);
    assert_eq!(
        network.peer(RouterId(2), Port(3)),
        Peer::Router(RouterId(1), Port(1))
    );
    assert_eq!(
        network.peer(RouterId(2), Port(2)),
        Peer::Router(RouterId(0), Port(2))
    );
    // Numbers are sorted as numbers; hosts follow the routers, whatever their numbers.
    write(
        "any",
        "router 10 node 0 router 9\nrouter 9 node 2 node 1 router 10\nnode 7 router 10",
    );
    let network = built_in(folder.path(), "file = \"any\"\nformat = \"anynet\"").unwrap();
    assert_eq!(names(&*network), ["9", "10"]);
    assert_eq!(network.router_links(), 2);
    let routers: Vec<u32> = (0..4).map(|host| network.attachment(HostId(host)).0.0).collect();
    assert_eq!(routers, [0, 0, 1, 1]);
    // Hosts as nodes, as a number on one router, and none on another.
    write(
        "hosts.json",
        r#"{"nodes": [{"id": "x", "hosts": 2}, {"id": "y"}, {"id": "z", "type": "host"}],
        "edges": [{"source": "z", "target": "x", "packets": 3}, {"source": "y", "target": "x"}]}"#,
    );
    let network = built_in(folder.path(), "file = \"hosts.json\"").unwrap();
    assert_eq!(
        network.describe(),
        "graph of 2 routers with 3 hosts in all, 1 cable between routers"
    );
    assert_eq!((network.ports(RouterId(0)), network.ports(RouterId(1))), (4, 1));
    // A single router.
    write("one.json", r#"{"nodes": [{"id": 1}], "links": []}"#);
    let network = built_in(folder.path(), "file = \"one.json\"\nhosts_per_router = 4").unwrap();
    assert_eq!(
        (network.hosts(), network.shape().graph().unwrap().diameter()),
        (4, 0)
    );
    // Optional latencies, and keywords as in BookSim's README.
    write("slow.anynet", "Router 0 node 0 2 Router 1 15\nrouter 1 node 1");
    assert!(built_in(folder.path(), "file = \"slow.anynet\"\nignore_latencies = true").is_ok());
}

#[test]
fn errors_say_where_and_what() {
    let folder = tempfile::tempdir().unwrap();
    let graphml = |inside: &str| {
        format!(
            "<graphml>\n<key id=\"k\" attr.name=\"kind\"/>\n<key id=\"n\" attr.name=\"hosts\"/>\n\
             <graph edgedefault=\"undirected\">\n{inside}\n</graph></graphml>"
        )
    };
    let (host, router) = (
        "<node id=\"h\"><data key=\"k\">host</data></node>",
        "<node id=\"a\"/>",
    );
    for (ending, text, expected) in [
        ("txt", "", "file: {}: no router; expected at least one"),
        (
            "txt",
            "a b\na",
            "x.toml:2: file: {}:2: 'a' stands alone; expected two routers",
        ),
        ("txt", "a b 1.5", "{}:1: '1.5' is not a number of cables"),
        ("txt", "a b 0", "{}:1: 0 cables; expected at least 1"),
        (
            "txt",
            "a b {'weight': 2}",
            "{}:1: '{'weight':' is not a number of cables",
        ),
        ("txt", "a b 1 x", "{}:1: 'x' is too much"),
        ("txt", "a b\n# -\nb b", "{}:3: router 'b' is linked to itself"),
        (
            "txt",
            "a b\nc d",
            "{}: no path leads from router 'a' to router 'c'; expected a connected network",
        ),
        (
            "txt",
            "a b\nb c 65535",
            "{}:1: 65537 ports on router 'b' are too many; expected at most 65535",
        ),
        (
            "anynet",
            "router 0 node 0 router 1 15",
            "{}:1: the latency 15 cannot be kept",
        ),
        (
            "anynet",
            "switch 0",
            "{}:1: 'switch' is unknown here; expected 'router' or 'node'",
        ),
        (
            "anynet",
            "router 0 node 0 router",
            "{}:1: the end of the line behind 'router'",
        ),
        (
            "anynet",
            "router x",
            "{}:1: 'x' behind 'router'; expected a whole number",
        ),
        (
            "anynet",
            "router 0 router 0",
            "{}:1: router '0' is linked to itself",
        ),
        ("anynet", "router 0 router 1", ""),
        (
            "anynet",
            "router 0 node 0 router 1\nrouter 1 node 0",
            "{}:2: host 'node 0' is on router '0' and on router '1'; expected one cable",
        ),
        (
            "anynet",
            "router 0\nnode 0 node 1",
            "{}:2: 'node 0' and 'node 1' are both hosts",
        ),
        (
            "json",
            "{\n\"nodes\": [",
            "{}: not node-link JSON: EOF while parsing a list at line 2 column 10",
        ),
        (
            "json",
            "{\"nodes\": [{}], \"links\": []}",
            "missing field `id` at line 1",
        ),
        ("json", "{\"nodes\": []}", "{}: neither 'links' nor 'edges'"),
        (
            "json",
            "{\"nodes\": [], \"links\": [], \"edges\": []}",
            "{}: both 'links' and 'edges'",
        ),
        (
            "json",
            "{\"directed\": true, \"nodes\": [{\"id\": 1}, {\"id\": 2}], \"links\": [{\"source\": 1, \"target\": 2}]}",
            "{}: links[0]: the directed edge from '1' to '2' has no edge from '2' to '1' with the same class",
        ),
        (
            "json",
            "{\"nodes\": [{\"id\": 1}, {\"id\": \"1\"}], \"links\": []}",
            "{}: nodes[1]: a second node '1'; the first is nodes[0]",
        ),
        (
            "json",
            "{\"nodes\": [{\"id\": 1}], \"links\": [{\"source\": 1, \"target\": 2}]}",
            "{}: links[0]: there is no node '2'",
        ),
        (
            "json",
            "{\"nodes\": [{\"id\": 1, \"kind\": \"hosts\"}], \"links\": []}",
            "{}: nodes[0]: unknown kind of node 'hosts'; did you mean 'host'?",
        ),
        (
            "json",
            "{\"nodes\": [{\"id\": 1, \"hosts\": 0}], \"links\": []}",
            "{}: no router has a host; expected at least one host",
        ),
        ("xml", "<graphml>\n<graph></node>", "{}:2: not XML: "),
        ("xml", "<svg/>", "{}:1: <svg> is not GraphML"),
        ("xml", "<graphml/>", "{}:1: no <graph>"),
        (
            "xml",
            "<graphml><graph/>\n<graph/></graphml>",
            "{}:2: a second <graph>",
        ),
        (
            "xml",
            "<graphml><graph edgedefault=\"yes\"/></graphml>",
            "{}:1: edgedefault=\"yes\"; expected \"undirected\" or \"directed\"",
        ),
        ("xml", &graphml("<node/>"), "{}:5: <node> has no id; expected one"),
        (
            "xml",
            &graphml("<hyperedge/>"),
            "{}:5: a hyperedge cannot be a cable",
        ),
        (
            "xml",
            &graphml(&format!("{router}\n{router}")),
            "{}:6: a second node 'a'",
        ),
        (
            "xml",
            &graphml("<node id=\"a\">\n<graph/></node>"),
            "{}:6: a graph inside a node",
        ),
        (
            "xml",
            &graphml(&format!("{router}\n<edge source=\"a\" target=\"q\"/>")),
            "{}:6: there is no node 'q'",
        ),
        (
            "xml",
            &graphml(&format!("{host}\n{router}")),
            "{}:5: host 'h' is on no router",
        ),
        (
            "xml",
            &graphml("<node id=\"a\"><data key=\"n\">some</data></node>"),
            "{}:5: hosts: 'some' is not a whole number",
        ),
    ] {
        let name = format!("net.{ending}");
        std::fs::write(folder.path().join(&name), text).unwrap();
        let parameters = format!("file = \"{name}\"");
        let result = built_in(folder.path(), &parameters);
        if expected.is_empty() {
            assert!(result.is_ok(), "{text}");
            continue;
        }
        let error = result.err().unwrap_or_else(|| panic!("{text}: was built"));
        let expected = expected.replace("{}", &folder.path().join(&name).display().to_string());
        assert!(error.contains(&expected), "{text}:\n{error}\nnot\n{expected}");
    }
}

/// GraphML with keys for every attribute of the tests.
fn graphml(directed: &str, inside: &str) -> String {
    let keys = [
        "kind",
        "hosts",
        "label",
        "x",
        "y",
        "count",
        "class",
        "bandwidth",
        "bandwidth_gbps",
        "latency",
        "latency_ns",
        "busy_ps",
        "weight",
        "bandwith",
    ];
    let keys = keys.map(|name| format!("<key id=\"{name}\" attr.name=\"{name}\" for=\"all\"/>"));
    let keys = keys.concat();
    format!("<graphml>{keys}<graph edgedefault=\"{directed}\">\n{inside}</graph></graphml>")
}

/// A node or an edge on one line, with data.
fn with_data(element: &str, data: &[(&str, &str)]) -> String {
    let data: String = data
        .iter()
        .map(|(key, value)| format!("<data key=\"{key}\">{value}</data>"))
        .collect();
    let name = element.split(' ').next().unwrap();
    format!("<{element}>{data}</{name}>\n")
}

/// Name, bandwidth in bits per second, and latency in picoseconds of every class.
fn classes(topology: &dyn Topology) -> Vec<(String, Option<u64>, Option<u64>)> {
    let names = topology.link_classes();
    let class = |(number, name): (u8, &&str)| {
        let speed = topology.link_speed(LinkClass(number));
        let (bandwidth, latency) = (speed.bandwidth, speed.latency);
        (
            name.to_string(),
            bandwidth.map(|b| b.bits_per_s),
            latency.map(|l| l.ps),
        )
    };
    (0u8..).zip(&names).map(class).collect()
}

#[test]
fn attributes_of_edges_become_link_classes() {
    let folder = tempfile::tempdir().unwrap();
    let (ab, ba) = ("edge source=\"a\" target=\"b\"", "edge source=\"b\" target=\"a\"");
    let bc = "edge source=\"b\" target=\"c\"";
    let ha = "edge source=\"h\" target=\"a\"";
    let nodes = [
        with_data("node id=\"a\"", &[("label", "first"), ("x", "0"), ("y", "10")]),
        with_data("node id=\"b\"", &[("hosts", "1"), ("x", "-5"), ("y", "0.5")]),
        with_data("node id=\"c\"", &[("x", "1e3"), ("y", "0")]),
        with_data("node id=\"h\"", &[("kind", "host")]),
    ]
    .concat();
    let fast: &[_] = &[("bandwidth", "400 Gbps"), ("latency", "2 us")];
    let slow: &[_] = &[("bandwidth_gbps", "12.5"), ("count", "2")];
    let optical: &[_] = &[("class", "optical"), ("latency_ns", "50"), ("busy_ps", "17")];
    let host: &[_] = &[("class", "injection"), ("bandwidth", "25 GB/s")];
    let edges = |reversed: &str| {
        let all = [(reversed, fast), (ab, slow), (bc, optical), (ha, host)];
        all.map(|(edge, data)| with_data(edge, data)).concat()
    };
    let built = |text: &str| {
        std::fs::write(folder.path().join("net.xml"), text).unwrap();
        built_in(folder.path(), "file = \"net.xml\"")
    };
    let network = built(&graphml("undirected", &(nodes.clone() + &edges(ab)))).unwrap();
    let gbps = 1_000_000_000;
    let expected = [
        ("host", Some(200 * gbps), None),
        ("optical", None, Some(50_000)),
        ("router (12500 Mbps)", Some(12 * gbps + gbps / 2), None),
        ("router (400 Gbps, 2 us)", Some(400 * gbps), Some(2_000_000)),
    ];
    let expected = expected.map(|(name, bandwidth, latency)| (name.to_string(), bandwidth, latency));
    assert_eq!(classes(&*network), expected);
    // Parallel cables are in the order of their classes, at both ends.
    let of_router = |router: u32, hosts: u16, links: u16| -> Vec<u8> {
        let ports = (hosts..hosts + links).map(Port);
        ports
            .map(|port| network.link_class(RouterId(router), port).0)
            .collect()
    };
    assert_eq!(of_router(0, 1, 3), [2, 2, 3]);
    assert_eq!(of_router(1, 1, 4), [2, 2, 3, 1]);
    assert_eq!(network.link_class(RouterId(0), Port(0)), HOST_LINK);
    assert_eq!(network.coordinates(RouterId(0)), "first");
    // A drawing keeps the given positions; the y axis of files leads upwards.
    let drawing = Drawing::of(&*network);
    let spots: Vec<(f32, f32)> = drawing.routers.iter().map(|spot| (spot.x, spot.y)).collect();
    assert!(spots[1].0 < spots[0].0 && spots[0].0 < spots[2].0, "{spots:?}");
    assert!(spots[0].1 < spots[1].1 && spots[1].1 < spots[2].1, "{spots:?}");
    // The direction of an edge in a file has no meaning, and neither has an edge for each direction.
    let turned = built(&graphml("undirected", &(nodes.clone() + &edges(ba)))).unwrap();
    assert_eq!(
        (wiring(&*turned), classes(&*turned)),
        (wiring(&*network), classes(&*network))
    );
    let back = "edge source=\"c\" target=\"b\"";
    let to_host = [("class", "ejection"), ("bandwidth_gbps", "200")];
    let both = [
        edges(ab),
        with_data(ba, fast),
        with_data(ba, slow),
        with_data(back, optical),
        with_data("edge source=\"a\" target=\"h\"", &to_host),
    ];
    let directed = built(&graphml("directed", &(nodes.clone() + &both.concat()))).unwrap();
    assert_eq!(
        (wiring(&*directed), classes(&*directed)),
        (wiring(&*network), classes(&*network))
    );
    // Two cables forth and one back are not paired.
    let fewer = edges(ab) + &with_data(ba, fast) + &with_data(ba, &[("bandwidth_gbps", "12.5")]);
    let error = built(&graphml("directed", &(nodes + &fewer))).err().unwrap();
    assert!(
        error.contains(
            "net.xml:7: the directed edge from 'a' to 'b' has no edge from 'b' to 'a' with the same"
        ),
        "{error}"
    );
}

/// Edges with classes, speeds and parallel cables are the same network from every format that has them.
#[test]
fn edge_lists_and_inline_edges_have_attributes_as_graphml_has() {
    let folder = tempfile::tempdir().unwrap();
    let list = "a b 2 bandwidth=\"200 Gbps\" latency=\"50 ns\" # near\n\
                b c latency_ns=25 bandwidth=4.7GiB/s\n\
                a b\n\
                c a {} class=\"far #1\" bandwidth_gbps=400# far\n\
                c b class=copper count=3\n";
    let inline = r#"edges = [
        ["a", "b", 2, { bandwidth = "200 Gbps", latency = "50 ns" }],
        ["b", "c", { latency_ns = 25, bandwidth = "4.7 GiB/s" }],
        ["a", "b"],
        ["c", "a", { class = "far #1", bandwidth_gbps = 400 }],
        ["c", "b", { class = "copper", count = 3 }],
    ]"#;
    let edge = |ends: [&str; 2], data: &[(&str, &str)]| {
        with_data(
            &format!("edge source=\"{}\" target=\"{}\"", ends[0], ends[1]),
            data,
        )
    };
    let inside = [
        "<node id=\"a\"/><node id=\"b\"/><node id=\"c\"/>\n".into(),
        edge(
            ["a", "b"],
            &[("count", "2"), ("bandwidth", "200 Gbps"), ("latency", "50 ns")],
        ),
        edge(["b", "c"], &[("latency_ns", "25"), ("bandwidth", "4.7 GiB/s")]),
        edge(["a", "b"], &[]),
        edge(["c", "a"], &[("class", "far #1"), ("bandwidth_gbps", "400")]),
        edge(["c", "b"], &[("class", "copper"), ("count", "3")]),
    ];
    std::fs::write(folder.path().join("net.txt"), list).unwrap();
    std::fs::write(
        folder.path().join("net.xml"),
        graphml("undirected", &inside.concat()),
    )
    .unwrap();
    let expected = built_in(folder.path(), "file = \"net.xml\"").unwrap();
    let names = ["host", "copper", "far #1", "router", "router (200 Gbps, 50 ns)"];
    let found: Vec<String> = classes(&*expected).into_iter().map(|(name, ..)| name).collect();
    for name in names.iter().filter(|name| **name != "router") {
        assert!(found.iter().any(|found| found == name), "{name}: {found:?}");
    }
    assert_eq!(found.len(), 6, "{found:?}");
    let speeds = |network: &dyn Topology| -> Vec<Vec<u8>> {
        let ports =
            |router| (0..network.ports(router)).map(move |port| network.link_class(router, Port(port)).0);
        (0..network.routers())
            .map(|router| ports(RouterId(router)).collect())
            .collect()
    };
    for parameters in ["file = \"net.txt\"", inline] {
        let network = built_in(folder.path(), parameters).unwrap();
        assert_eq!(wiring(&*network), wiring(&*expected), "{parameters}");
        assert_eq!(classes(&*network), classes(&*expected), "{parameters}");
        assert_eq!(speeds(&*network), speeds(&*expected), "{parameters}");
    }
    // The printed experiment has the rate that is used, and is the same network again.
    let section = Section::from_toml(&format!("kind = \"graph\"\n{inline}"), "x.toml").unwrap();
    build(&section).unwrap();
    let rounded: Vec<_> = section
        .rounded_rates()
        .into_iter()
        .map(|rate| (rate.key, rate.written))
        .collect();
    assert_eq!(rounded, [("edges".to_string(), "4.7 GiB/s".to_string())]);
    let printed = section.finish().unwrap()["edges"].to_string();
    assert!(
        printed.contains(r#"["b","c",{"bandwidth":"40372692582 bps","latency_ns":25}]"#),
        "{printed}"
    );
}

#[test]
fn wrong_attributes_of_edge_lists_and_inline_edges_are_named_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    for (line, expected) in [
        (
            "a b bandwith=1Gbps",
            "net.txt:2: unknown attribute 'bandwith' of an edge; did you mean 'bandwidth'?",
        ),
        (
            "a b bandwidth=400",
            "net.txt:2: bandwidth: \"400\" has no unit; expected a data rate such as",
        ),
        (
            "a b bandwidth=",
            "net.txt:2: bandwidth: \"\" does not start with a number",
        ),
        (
            "a b latency= 1ns",
            "net.txt:2: '1ns' is too much; expected two routers",
        ),
        (
            "a b latency=\"1 ns",
            "net.txt:2: the value of latency has no closing quote; expected two routers",
        ),
        (
            "a b latency=\"1 ns\"2",
            "net.txt:2: no blank after the closing quote of latency; expected",
        ),
        ("a b =2", "net.txt:2: '=' without a name before it; expected"),
        (
            "a b 2 count=2",
            "net.txt:2: a second value of 'count'; expected one",
        ),
        (
            "a b 2 3",
            "net.txt:2: '3' is too much; expected two routers, their cables if not 1, and attributes",
        ),
        ("a b latency=1ns 2", "net.txt:2: '2' is too much; expected"),
        (
            "a b {'weight':",
            "net.txt:2: '{'weight':' is not a number of cables; expected a whole number, or",
        ),
        (
            "a b class=host",
            "net.txt:2: the class of this edge is that of links to hosts",
        ),
        ("a b count=0", "net.txt:2: 0 cables; expected at least 1"),
        ("a", "net.txt:2: 'a' stands alone; expected two routers"),
    ] {
        std::fs::write(folder.path().join("net.txt"), format!("a b\n{line}\n")).unwrap();
        let error = built_in(folder.path(), "file = \"net.txt\"").err().expect(line);
        assert!(error.contains(expected), "{line}:\n{error}\nnot\n{expected}");
    }
    for (item, expected) in [
        (
            "{ bandwith = \"1 Gbps\" }",
            "x.toml:4: edges: edges[1]: unknown attribute 'bandwith' of an edge; did you",
        ),
        (
            "{ bandwidth = 400 }",
            "x.toml:4: edges: edges[1]: bandwidth: \"400\" has no unit; expected a data rate",
        ),
        (
            "{ bandwidth = [1] }",
            "x.toml:4: edges: edges[1]: bandwidth: expected a text or a number",
        ),
        (
            "{ latency_ns = inf }",
            "x.toml:4: edges.latency_ns: inf is no finite number",
        ),
        (
            "2, { count = 2 }",
            "x.toml:4: edges: edges[1]: a second value of 'count'",
        ),
        (
            "{ count = 0 }",
            "x.toml:2: edges: edges[1]: 0 cables; expected at least 1",
        ),
        ("{ }, 2", "x.toml:2: edges: an item is not two names of routers"),
    ] {
        let edges = format!("edges = [\n[0, 1],\n[0, 1, {item}],\n]");
        let error = built_in(folder.path(), &edges).err().expect(item);
        assert!(error.contains(expected), "{item}:\n{error}\nnot\n{expected}");
    }
}

#[test]
fn rounded_rates_of_a_file_are_recorded_once() {
    let folder = tempfile::tempdir().unwrap();
    let ab = "edge source=\"a\" target=\"b\"";
    let edges = [
        ("bandwidth", "4.7 GiB/s"),
        ("bandwidth", "4.70 GiB/s"),
        ("bandwidth_gbps", "1.0000000004"),
        ("bandwidth", "8 Gbps"),
    ];
    let edges = edges.map(|edge| with_data(ab, &[edge])).concat();
    let text = graphml(
        "undirected",
        &format!("<node id=\"a\"/><node id=\"b\"/>\n{edges}"),
    );
    std::fs::write(folder.path().join("net.xml"), text).unwrap();
    let text = "[network.topology]\nkind = \"graph\"\nfile = \"net.xml\"\n";
    let file = Section::from_toml_in(folder.path(), text, "x.toml").unwrap();
    let network = file.section("network").unwrap();
    build(network.section("topology").unwrap()).unwrap();
    let found = file.rounded_rates();
    let found: Vec<_> = found
        .iter()
        .map(|rate| (rate.key.as_str(), rate.written.as_str(), rate.used_bits_per_s))
        .collect();
    assert_eq!(
        found,
        [
            ("network.topology.file", "1.0000000004 Gbps", 1_000_000_000),
            ("network.topology.file", "4.7 GiB/s", 40_372_692_582),
        ]
    );
}

#[test]
fn attributes_that_are_not_read_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (a, ab) = ("node id=\"a\"", "edge source=\"a\" target=\"b\"");
    let nodes = "<node id=\"a\"/><node id=\"b\"/>\n";
    let edge = |data: &[(&str, &str)]| nodes.to_string() + &with_data(ab, data);
    let many: String = (0..260)
        .map(|n| with_data(ab, &[("latency_ns", &(n + 1).to_string())]))
        .collect();
    let hosts = |data: [&str; 2]| {
        let host = |host: &str, latency: &str| {
            let node = with_data(&format!("node id=\"{host}\""), &[("kind", "host")]);
            let ends = format!("edge source=\"{host}\" target=\"a\"");
            node + &with_data(&ends, &[("latency_ns", latency)])
        };
        nodes.to_string() + &host("h", data[0]) + &host("i", data[1]) + &with_data(ab, &[])
    };
    for (inside, expected) in [
        (
            edge(&[("bandwith", "4 Gbps")]),
            ":3: unknown attribute 'bandwith' of an edge; did you mean 'bandwidth'?",
        ),
        (
            edge(&[("weight", "1")]),
            ":3: unknown attribute 'weight' of an edge; expected one of: bandwidth, ",
        ),
        (
            edge(&[("hosts", "1")]),
            ":3: unknown attribute 'hosts' of an edge",
        ),
        (
            with_data(a, &[("latency", "1 ns")]),
            ":2: unknown attribute 'latency' of a node",
        ),
        (edge(&[("fast", "1")]), ":3: no <key> declares 'fast'"),
        (
            edge(&[("bandwidth", "400")]),
            ":3: bandwidth: \"400\" has no unit; expected a data rate such as",
        ),
        (
            edge(&[("bandwidth_gbps", "0")]),
            ":3: bandwidth_gbps: 0 bps is too slow; expected at least 1 Mbps",
        ),
        (
            edge(&[("latency", "2 s")]),
            ":3: latency: 2 s is out of range; expected at most 1 s",
        ),
        (edge(&[("latency_ns", "0")]), ":3: latency_ns: 0 is out of range"),
        (
            edge(&[("bandwidth", "1 Gbps"), ("bandwidth_gbps", "1")]),
            ":3: both bandwidth and bandwidth_gbps; expected one of the two",
        ),
        (
            edge(&[("latency", "1 ns"), ("latency", "2 ns")]),
            ":3: a second value of 'latency'",
        ),
        (
            edge(&[("class", "host")]),
            ":3: the class of this edge is that of links to hosts",
        ),
        (edge(&[("class", "")]), ":3: class: the name is empty"),
        (
            with_data(a, &[("x", "1")]),
            ":2: only one of x and y; expected both or none",
        ),
        (
            with_data(a, &[("x", "1"), ("y", "inf")]),
            ":2: y: 'inf' is not a number",
        ),
        (
            with_data(a, &[("x", "1"), ("y", "1"), ("hosts", "1")])
                + "<node id=\"b\"/>"
                + &with_data(ab, &[]),
            ":3: router 'b' has no x and y, but router 'a' has",
        ),
        (
            nodes.to_string() + "<edge source=\"a\" target=\"b\" bandwidth=\"1 Gbps\"/>",
            ":3: <edge> has the unknown XML attribute 'bandwidth'; GraphML gives attributes of nodes and edges as <data>",
        ),
        (
            "<node id=\"a\"><port name=\"p\"/></node>".into(),
            ":2: unknown element <port> in <node>",
        ),
        (
            hosts(["1", "1"]) + &many,
            ": edges of 261 different classes, bandwidths and latencies are too many; expected at most 249",
        ),
        (
            hosts(["1", "2"]),
            ":6: 'host (2 ns)' and an earlier 'host (1 ns)' differ",
        ),
    ] {
        std::fs::write(folder.path().join("net.xml"), graphml("undirected", &inside)).unwrap();
        let error = built_in(folder.path(), "file = \"net.xml\"")
            .err()
            .expect(&inside);
        assert!(error.contains(expected), "{inside}:\n{error}\nnot\n{expected}");
    }
    let node_link = |edge: &str| {
        format!(r#"{{"nodes": [{{"id": 1}}, {{"id": 2}}], "links": [{{"source": 1, "target": 2, {edge}}}]}}"#)
    };
    for (text, expected) in [
        (
            node_link(r#""latencie": "1 ns""#),
            ": links[0]: unknown attribute 'latencie' of an edge; did you mean 'latency'?",
        ),
        (
            node_link(r#""bandwidth": 400"#),
            ": links[0]: bandwidth: \"400\" has no unit",
        ),
        (
            node_link(r#""class": true"#),
            ": links[0]: class: expected a text or a number",
        ),
        (
            r#"{"nodes": [], "links": [], "node": []}"#.into(),
            ": unknown key 'node'; did you mean 'nodes'?",
        ),
        (
            r#"{"nodes": [], "links": [], "graph": {"speed": 1}}"#.into(),
            ": unknown attribute 'speed' of a graph",
        ),
    ] {
        std::fs::write(folder.path().join("net.json"), &text).unwrap();
        let error = built_in(folder.path(), "file = \"net.json\"").err().expect(&text);
        assert!(error.contains(expected), "{text}:\n{error}\nnot\n{expected}");
    }
}

#[test]
fn wrong_parameters_of_files_are_refused() {
    for (parameters, expected) in [
        ("file = \"nothing.txt\"", "graphs/nothing.txt: cannot be read: "),
        ("file = \"petersen\"", "x.toml:1: format: missing, and '"),
        (
            "file = \"petersen.txt\"\nformat = \"edgelist\"",
            "x.toml:3: format: unknown name 'edgelist'; did you mean 'edge-list'?",
        ),
        (
            "file = \"petersen.json\"\nformat = \"graphml\"",
            "petersen.json:1: not XML: ",
        ),
        (
            "file = \"petersen.json\"\nhosts_per_router = 1",
            "x.toml:3: hosts_per_router: is for files that name no hosts",
        ),
        (
            "file = \"petersen.txt\"\nignore_latencies = true",
            "x.toml:3: ignore_latencies: is for format anynet; this file is read as edge-list",
        ),
    ] {
        let error = built_in(&folder(), parameters).err().expect(parameters);
        assert!(error.contains(expected), "{parameters}: {error}");
    }
}

/// More routers than the memory limit of the searches allows.
#[test]
fn large_networks_forget_and_search_again() {
    let routers = 70_000u32;
    let folder = tempfile::tempdir().unwrap();
    let ring: String = (0..routers)
        .map(|n| format!("{n} {}\n", (n + 1) % routers))
        .collect();
    std::fs::write(folder.path().join("ring.txt"), ring).unwrap();
    let network = built_in(folder.path(), "file = \"ring.txt\"").unwrap();
    assert_eq!(network.routers(), routers);
    let distance = |from: u32, to: u32| from.abs_diff(to).min(routers - from.abs_diff(to));
    for round in 0..2 {
        // Every 20th block of 64 destinations.
        for to in (0..routers).step_by(64 * 20) {
            let from = (to + 100 * (round + 1)) % routers;
            assert_eq!(
                network.distance(RouterId(from), RouterId(to)),
                distance(from, to),
                "{from} {to}"
            );
        }
    }
}

/// Prints the time of all searches, for docs/methods/topologies/graph.md.
#[test]
#[ignore = "measures"]
fn time_of_all_distances() {
    let folder = tempfile::tempdir().unwrap();
    for (routers, rings) in [
        (1u32 << 10, 8u32),
        (1 << 12, 1),
        (1 << 12, 8),
        (1 << 12, 32),
        (1 << 14, 8),
        (1 << 16, 8),
        (1 << 18, 8),
    ] {
        // Rings with one long step each, spread over the network: all routers have two links in each.
        let step = |ring: u32| {
            if ring == 0 {
                1
            } else {
                (ring.wrapping_mul(0x9e37_79b1) % routers) | 1
            }
        };
        let edges: String = (0..rings)
            .flat_map(|ring| (0..routers).map(move |n| (n, (n + step(ring)) % routers)))
            .map(|(a, b)| format!("{a} {b}\n"))
            .collect();
        std::fs::write(folder.path().join("net.txt"), edges).unwrap();
        let start = std::time::Instant::now();
        let network = built_in(folder.path(), "file = \"net.txt\"").unwrap();
        let build = start.elapsed();
        let graph = network.shape().graph().unwrap();
        let far = RouterId(routers / 2);
        let start = std::time::Instant::now();
        network.distance(far, far);
        let search = start.elapsed();
        let start = std::time::Instant::now();
        let mut crossed = 0;
        for draw in 0..100_000u32 {
            let from = RouterId(draw % (routers / 2));
            let (_, left) = graph.shortest_path(from, far, draw.wrapping_mul(0x9e37_79b1));
            crossed += left & 1;
        }
        let each = start.elapsed() / 100_000;
        print!(
            "{routers} routers, {} links each: built in {build:.2?}, a search in {search:.2?}, \
             a step in {each:.0?} ({crossed})",
            2 * rings
        );
        // Searches from all routers of larger networks take minutes.
        if routers <= 1 << 14 {
            let start = std::time::Instant::now();
            let diameter = graph.diameter();
            print!(", diameter {diameter} in {:.2?}", start.elapsed());
        }
        println!();
    }
}
