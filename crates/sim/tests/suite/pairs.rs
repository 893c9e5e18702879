//! The tables `units` and `pairs` add up `links`.

use std::collections::BTreeMap;

use results::{RunResult, Table};

use crate::support::{experiment, run, table};

/// A saturated network with this topology, routing and more keys.
fn result(topology: &str, routing: &str, keys: &str) -> RunResult {
    run(&experiment(&format!(
        r#"
[network]
topology = {{ {topology} }}
routing = {{ algorithm = "{routing}" }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ delay = "100 ns", buffer = "8 KiB" }}
packet = "256 B"
{keys}
[[job]]
traffic = {{ pattern = "shift", by = 9, load = 0.9 }}
[run]
until = "12 us"
warmup = "4 us"
"#
    )))
}

/// The unit of a host or router by the tables `units` and `hosts`, without planes.
fn unit_of(units: &Table, hosts: &Table, kind: &str, id: u32) -> u32 {
    let router = match kind {
        "host" => hosts.u32s("router").unwrap()[id as usize],
        _ => id,
    };
    let first = units.u32s("first_router").unwrap();
    first.partition_point(|first| *first <= router) as u32 - 1
}

#[test]
fn pairs_are_sums_of_links() {
    let dragonfly =
        r#"kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2"#;
    let cases = [
        (dragonfly, "minimal", 9),
        (
            r#"kind = "fat-tree", levels = 3, radix = 4"#,
            "destination-mod-k",
            12,
        ),
        (r#"kind = "torus", sizes = [3, 3, 4]"#, "dimension-order", 4),
        (r#"kind = "slim-fly", q = 5"#, "minimal", 10),
    ];
    let mut marked = [0; 2];
    for (topology, routing, count) in cases {
        let result = result(topology, routing, "");
        let (units, pairs, links) = (
            table(&result, "units"),
            table(&result, "pairs"),
            table(&result, "links"),
        );
        assert_eq!(units.rows(), count, "{topology}");
        let hosts = table(&result, "hosts");
        let measured = 8_000_000;
        let mut expected: BTreeMap<(String, u32, u32), [u64; 7]> = BTreeMap::new();
        let ends = |end: &str| {
            let column = format!("{end}_kind");
            let kinds = links.texts(&column).unwrap();
            let ids = links.u32s(&format!("{end}_id")).unwrap();
            let ends = kinds.map(|kind| kind.unwrap().to_string()).zip(ids.to_vec());
            ends.collect::<Vec<_>>()
        };
        let (from, to) = (ends("from"), ends("to"));
        let classes = links.texts("class").unwrap().map(|class| class.unwrap());
        for (link, class) in classes.enumerate() {
            let unit = |end: &[(String, u32)]| unit_of(units, hosts, &end[link].0, end[link].1);
            let of = |column: &str| links.u64s(column).unwrap()[link];
            let [busy, full] = [of("busy_ps"), of("buffer_full_ps")];
            let sums = expected
                .entry((class.to_string(), unit(&from), unit(&to)))
                .or_default();
            sums[0] += 1;
            sums[1] += of("bytes");
            sums[2] += busy;
            sums[3] = sums[3].max(busy);
            sums[4] += full;
            sums[5] += u64::from(busy * 100 >= measured * 95);
            sums[6] += u64::from(full * 100 >= measured * 10);
        }
        let classes = pairs
            .texts("class")
            .unwrap()
            .map(|class| class.unwrap().to_string());
        let [from, to] = ["from_unit", "to_unit"].map(|column| pairs.u32s(column).unwrap());
        let found: BTreeMap<_, _> = classes
            .enumerate()
            .map(|(row, class)| {
                let count = |column: &str| u64::from(pairs.u32s(column).unwrap()[row]);
                let sum = |column: &str| pairs.u64s(column).unwrap()[row];
                let sums = [
                    count("links"),
                    sum("bytes"),
                    sum("busy_ps"),
                    sum("busy_ps_max"),
                    sum("buffer_full_ps"),
                    count("full_links"),
                    count("blocked_links"),
                ];
                ((class, from[row], to[row]), sums)
            })
            .collect();
        assert_eq!(found, expected, "{topology}");
        let full: u64 = found.values().map(|sums| sums[5]).sum();
        let blocked: u64 = found.values().map(|sums| sums[6]).sum();
        println!("{topology}: {full} full, {blocked} blocked links");
        marked[0] += full;
        marked[1] += blocked;
    }
    assert!(marked.iter().all(|links| *links > 0), "{marked:?}");
}

#[test]
fn planes_have_pairs_of_their_own() {
    let topology = r#"kind = "fat-tree", levels = 2, radix = 4"#;
    let result = result(topology, "destination-mod-k", "rails = 2\nplanes = 2");
    let units = table(&result, "units");
    let names: Vec<_> = units.texts("name").unwrap().map(|name| name.unwrap()).collect();
    assert_eq!(names.len(), 12);
    assert_eq!(names[6], "plane 1, level 0, pod 0");
    let pairs = table(&result, "pairs");
    let [from, to] = ["from_unit", "to_unit"].map(|column| pairs.u32s(column).unwrap());
    assert!(from.iter().zip(to).all(|(from, to)| from / 6 == to / 6));
    assert_eq!(pairs.rows(), 2 * (4 + 4 + 8 + 8));
}
