//! Dragonflies against latency-load curves of CODES (dragonfly-dally, `minimal` and `prog-adaptive`), which stand
//! beside the repository. Share of packets with a detour, routers and latency, below saturation.
//!
//! CODES stores and forwards each packet at every router: a router model that does so too agrees within 1 %. `packet`
//! passes heads on, so a serialization for each router is added. The NIC of CODES takes a constant time, which is added
//! in both cases. `studies/codes-curves` compares more routings and networks.

use std::collections::HashMap;
use std::path::PathBuf;

use results::RunResult;

use crate::support::{experiment, root, run, table};

/// Accepted over offered load, below which latency depends on the length of the run.
const SATURATED: f64 = 0.97;

/// The lines of a curve by load: the mean of all seeds of each column.
struct Curve {
    parameters: HashMap<String, String>,
    points: Vec<HashMap<String, f64>>,
}

impl Curve {
    fn read(path: &PathBuf) -> Curve {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let (comments, rows): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
        let parameters = comments
            .iter()
            .filter_map(|line| line[1..].split_once(" = "))
            .map(|(key, value)| (key.trim().to_string(), value.trim().to_string()))
            .collect();
        let names: Vec<&str> = rows[0].split(',').collect();
        let mut points: Vec<(f64, HashMap<String, f64>)> = Vec::new();
        for row in &rows[1..] {
            let values = row.split(',').map(|value| value.parse().unwrap_or(f64::NAN));
            let point: HashMap<String, f64> = names.iter().map(|name| name.to_string()).zip(values).collect();
            match points.last_mut() {
                Some((seeds, sums)) if sums["load"] / *seeds == point["load"] => {
                    *seeds += 1.0;
                    sums.iter_mut().for_each(|(name, sum)| *sum += point[name]);
                }
                _ => points.push((1.0, point)),
            }
        }
        let mean = |(seeds, mut sums): (f64, HashMap<String, f64>)| {
            sums.values_mut().for_each(|sum| *sum /= seeds);
            sums
        };
        Curve {
            parameters,
            points: points.into_iter().map(mean).collect(),
        }
    }

    fn text(&self, key: &str) -> &str {
        &self.parameters[key]
    }
}

fn packets(result: &RunResult, class: &str) -> f64 {
    let links = table(result, "links");
    let classes = links.texts("class").unwrap();
    let packets = classes.zip(links.u64s("packets").unwrap());
    let of_class = packets.filter(|(of, _)| *of == Some(class));
    of_class.map(|(_, packets)| *packets as f64).sum()
}

/// Time of the NIC of CODES, with the mean of what it draws, in ns.
const NIC: f64 = 11.01 + 0.5;

/// Passes packets on as CODES does, in which nothing takes time but links and delays.
const STORED: &str = r#"model = "crossbar", arbiter = "first-come", switching = "store-and-forward", crossbar_bandwidth = "1000 Tbps""#;

/// The experiment of a point of a curve, with this router model and this traffic.
fn text(curve: &Curve, load: f64, model: &str, traffic: &str) -> String {
    let weight = match curve.parameters.get("route_scoring_metric").map(String::as_str) {
        Some("alpha") => 1,
        _ => 2,
    };
    let routing = match curve.text("routing") {
        "minimal" => r#"algorithm = "minimal""#.to_string(),
        _ => format!(
            r#"algorithm = "par", intermediate = "group", paths = "adaptive", detours = "linked", bias = "0 B", weight = {weight}"#
        ),
    };
    let of = |key| curve.text(key);
    format!(
        r#"
[network]
topology = {{ kind = "dragonfly", groups = {groups}, routers_per_group = {routers}, hosts_per_router = {hosts}, global_links_per_router = {links}, arrangement = "palmtree" }}
routing = {{ {routing} }}
link = {{ bandwidth = "100 Gbps", latency = "10 ns" }}
links = {{ local = {{ latency = "{local} ns" }}, global = {{ latency = "{global} ns" }} }}
router = {{ {model}, delay = "{delay} ns", buffer = "64 KiB" }}
packet = "256 B"
[[job]]
traffic = {{ {traffic}, load = {load} }}
[run]
warmup = "{warm_up} ns"
until = "{until} ns"
drain = "1 ms"
[collect]
series = "off"
"#,
        groups = of("groups"),
        routers = of("routers_per_group"),
        hosts = of("hosts_per_router"),
        links = of("global_links_per_router"),
        local = of("local_delay"),
        global = of("global_delay"),
        delay = of("router_delay"),
        warm_up = of("warm_up_ns"),
        until = of("measured_until_ns"),
    )
}

/// A curve beside the repository, if it is there.
fn curve(name: &str) -> Option<Curve> {
    let path = root().join(format!("../shared/routers/codes/curves/{name}.csv"));
    if !path.is_file() {
        testkit::skipped!(
            "{} is missing; clone the curves beside the repository",
            path.display()
        );
        return None;
    }
    Some(Curve::read(&path))
}

/// Compares the points of a curve up to a load that are below saturation in CODES.
fn compare(name: &str, up_to: f64) {
    let Some(curve) = curve(name) else {
        return;
    };
    let traffic = match curve.text("traffic") {
        "uniform" => r#"pattern = "uniform""#,
        "next_group_random" => r#"pattern = "shift", unit = "groups", to = "random""#,
        other => panic!("no traffic {other}"),
    };
    let links = |class: &str| -> f64 { curve.text(&format!("{class} links")).parse().expect("a number") };
    let hosts = links("eject");
    let per_group = hosts / curve.text("groups").parse::<f64>().expect("a number");
    let direct = match curve.text("traffic") {
        "uniform" => (hosts - per_group) / (hosts - 1.0),
        _ => 1.0,
    };
    let mut compared = 0;
    for point in curve.points.iter().filter(|point| point["load"] <= up_to) {
        if point["accepted"] < SATURATED * point["offered"] {
            continue;
        }
        let result = run(&experiment(&text(
            &curve,
            point["load"],
            r#"model = "packet""#,
            traffic,
        )));
        let network = &result.summary.network;
        let ours = packets(&result, "global") / packets(&result, "ejection") - direct;
        let theirs =
            point["global_bytes_mean"] * links("global") / (point["eject_bytes_mean"] * hosts) - direct;
        let routers = network.mean_hops.expect("packets arrived") - 1.0;
        let latency = network.latency_ns.mean.expect("packets arrived") + NIC + routers * 20.48;
        let line = format!(
            "{name} at {}: detours {ours:.3}, CODES {theirs:.3}; routers {routers:.3}, {:.3}; latency {latency:.1}, {:.1} ns",
            point["load"], point["hops_mean"], point["latency_mean_ns"]
        );
        println!("{line}");
        assert!((ours - theirs).abs() < 0.05, "{line}");
        assert!((latency / point["latency_mean_ns"] - 1.0).abs() < 0.05, "{line}");
        compared += 1;
    }
    assert!(compared > 0, "{name}: no load below saturation");
}

/// At 10 and 50 % of the load, on 72 hosts, and at 30 and 60 % on 1,056.
#[test]
fn routers_that_store_packets_have_the_latency_of_codes() {
    for (name, loads) in [
        ("d72_minimal_uniform", [0.1, 0.5]),
        ("d1056_minimal_uniform", [0.3, 0.6]),
    ] {
        let Some(curve) = curve(name) else {
            return;
        };
        for load in loads {
            let point = curve.points.iter().find(|point| point["load"] == load);
            let theirs = point.expect("the load is there")["latency_mean_ns"];
            let traffic = r#"pattern = "uniform""#;
            let network = run(&experiment(&text(&curve, load, STORED, traffic)))
                .summary
                .network;
            let ours = network.latency_ns.mean.expect("packets arrived") + NIC;
            println!("{name} at {load}: {ours:.1} and {theirs:.1} ns");
            assert!(
                (ours / theirs - 1.0).abs() < 0.01,
                "{name} at {load}: {ours:.1} and {theirs:.1} ns"
            );
        }
    }
}

#[test]
fn par_makes_as_many_detours_as_codes_on_small_dragonflies() {
    compare("d36_prog-adaptive_uniform", 1.0);
    compare("d72_prog-adaptive_delta_uniform", 1.0);
    compare("d72_prog-adaptive_alpha_uniform", 0.4);
}

/// At 0.4, near saturation, the share agrees (0.683 and 0.678), and packets of CODES wait longer (1,102 and 872 ns).
#[test]
fn par_makes_as_many_detours_as_codes_under_traffic_to_the_next_group() {
    compare("d72_prog-adaptive_delta_next_group_random", 0.3);
}

#[test]
fn par_makes_as_many_detours_as_codes_on_342_hosts() {
    compare("d342_prog-adaptive_delta_uniform", 0.7);
}

#[test]
fn par_makes_as_many_detours_as_codes_on_1056_hosts() {
    compare("d1056_prog-adaptive_delta_uniform", 0.6);
}
