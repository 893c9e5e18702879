//! The tables `pair_series`, `router_load_series`, `load_histogram_series` and `top_links` add up `link_series`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use experiment::Series;
use results::{RunResult, Table};

use crate::support::{experiment, run, table};

/// Bins of a period: 400 packets take 8.192 us, more than four bins.
const BINS: u64 = 8;
const BIN_PS: u64 = 2_000_000;

/// A saturated network with this topology and routing. Its run ends 1.5 us after a bin, 9.5 us after a period.
fn result(topology: &str, routing: &str) -> RunResult {
    result_until(topology, routing, "57500 ns")
}

fn result_until(topology: &str, routing: &str, until: &str) -> RunResult {
    let mut experiment = experiment(&format!(
        r#"
[network]
topology = {{ {topology} }}
routing = {{ algorithm = "{routing}" }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ delay = "100 ns", buffer = "8 KiB" }}
packet = "256 B"
[[job]]
traffic = {{ pattern = "shift", by = 9, load = 0.9 }}
[run]
until = "{until}"
[collect]
bin = "2 us"
"#
    ));
    experiment.collect.set_series(Series::Links);
    run(&experiment)
}

fn texts(table: &Table, column: &str) -> Vec<String> {
    let texts = table.texts(column).unwrap();
    texts.map(|text| text.unwrap().to_string()).collect()
}

/// What a link of a router did in a period.
struct Seen {
    begin_ps: u64,
    width_ps: u64,
    link: u32,
    class: String,
    /// Blocks at the ends.
    blocks: (u32, u32),
    /// Busy, and with full buffers.
    ps: [u64; 2],
}

/// `link_series` without injection links.
fn links_of_routers(result: &RunResult) -> Vec<Seen> {
    let [links, series, units, hosts] =
        ["links", "link_series", "units", "hosts"].map(|name| table(result, name));
    let classes = texts(links, "class");
    let first = units.u32s("first_router").unwrap();
    let blocks: Vec<u32> = ["from", "to"]
        .iter()
        .flat_map(|end| {
            let kinds = texts(links, &format!("{end}_kind"));
            let ids = links.u32s(&format!("{end}_id")).unwrap();
            let block = |(kind, id): (String, &u32)| {
                let router = match kind.as_str() {
                    "host" => hosts.u32s("router").unwrap()[*id as usize],
                    _ => *id,
                };
                let unit = first.partition_point(|first| *first <= router) - 1;
                units.u32s("block").unwrap()[unit]
            };
            kinds.into_iter().zip(ids).map(block).collect::<Vec<_>>()
        })
        .collect();
    let (from, to) = blocks.split_at(classes.len());
    let of = |column: &str, row: usize| series.u64s(column).unwrap()[row];
    let mut seen: BTreeMap<(u64, u32), Seen> = BTreeMap::new();
    for row in 0..series.rows() {
        let link = series.u32s("link").unwrap()[row];
        let begin_ps = of("begin_ps", row) / (BINS * BIN_PS) * BINS * BIN_PS;
        let seen = seen.entry((begin_ps, link)).or_insert_with(|| Seen {
            begin_ps,
            width_ps: (57_500_000 - begin_ps).min(BINS * BIN_PS),
            link,
            class: classes[link as usize].clone(),
            blocks: (from[link as usize], to[link as usize]),
            ps: [0, 0],
        });
        seen.ps[0] += of("busy_ps", row);
        seen.ps[1] += of("buffer_full_ps", row);
    }
    let of_routers = seen.into_values();
    of_routers
        .filter(|seen| seen.class != "injection" && seen.ps != [0, 0])
        .collect()
}

fn row_of(table: &Table, row: usize, columns: &[&str]) -> Vec<u64> {
    let of = |column: &&str| match table.u64s(column) {
        Some(values) => values[row],
        None => u64::from(table.u32s(column).unwrap()[row]),
    };
    columns.iter().map(of).collect()
}

#[test]
fn sums_are_those_of_link_series() {
    let cases = [
        (
            r#"kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2"#,
            "minimal",
        ),
        (r#"kind = "fat-tree", levels = 3, radix = 4"#, "destination-mod-k"),
        (r#"kind = "torus", sizes = [3, 3, 4]"#, "dimension-order"),
        (r#"kind = "slim-fly", q = 5"#, "minimal"),
    ];
    let mut marked = [0; 2];
    for (topology, routing) in cases {
        let result = result(topology, routing);
        let seen = links_of_routers(&result);
        assert!(seen.iter().any(|seen| seen.width_ps == 9_500_000), "{topology}");

        let mut pairs: BTreeMap<(u64, String, u32, u32), Vec<u64>> = BTreeMap::new();
        let mut loads: BTreeMap<(u64, String), BTreeMap<[u64; 2], u64>> = BTreeMap::new();
        for seen in &seen {
            let key = (seen.begin_ps, seen.class.clone(), seen.blocks.0, seen.blocks.1);
            let sums = pairs.entry(key).or_insert_with(|| vec![0; 5]);
            let [busy, full] = seen.ps;
            sums[0] += busy;
            sums[1] = sums[1].max(busy);
            sums[2] += full;
            sums[3] += u64::from(busy * 100 >= seen.width_ps * 95);
            sums[4] += u64::from(full * 100 >= seen.width_ps * 10);
            let steps = seen.ps.map(|ps| (ps * 20 / seen.width_ps).min(19));
            let of_class = loads.entry((seen.begin_ps, seen.class.clone())).or_default();
            *of_class.entry(steps).or_default() += 1;
        }
        let found = table(&result, "pair_series");
        let classes = texts(found, "class");
        let columns = [
            "busy_ps",
            "busy_ps_max",
            "buffer_full_ps",
            "full_links",
            "blocked_links",
        ];
        let found: BTreeMap<_, _> = (0..found.rows())
            .map(|row| {
                let key = row_of(found, row, &["begin_ps", "from_block", "to_block"]);
                let key = (key[0], classes[row].clone(), key[1] as u32, key[2] as u32);
                (key, row_of(found, row, &columns))
            })
            .collect();
        assert_eq!(found, pairs, "{topology}");
        for sums in found.values() {
            marked[0] += sums[3];
            marked[1] += sums[4];
        }

        let mut routers: BTreeMap<(u64, u32), [u64; 2]> = BTreeMap::new();
        let ids = table(&result, "links").u32s("from_id").unwrap();
        for seen in &seen {
            let greatest = routers
                .entry((seen.begin_ps, ids[seen.link as usize]))
                .or_default();
            for (greatest, ps) in greatest.iter_mut().zip(seen.ps) {
                *greatest = (*greatest).max((ps * 100).div_ceil(seen.width_ps));
            }
        }
        let found = table(&result, "router_load_series");
        let found: BTreeMap<(u64, u32), [u64; 2]> = (0..found.rows())
            .map(|row| {
                let key = row_of(found, row, &["begin_ps", "first_router", "routers"]);
                assert_eq!(key[2], 1);
                let of = |column: &str| u64::from(found.u8s(column).unwrap()[row]);
                let loads = ["busy_percent_max", "buffer_full_percent_max"].map(of);
                ((key[0], key[1] as u32), loads)
            })
            .collect();
        assert_eq!(found, routers, "{topology}");

        // Idle links are in the first step.
        let all = texts(table(&result, "links"), "class");
        for ((_, class), steps) in &mut loads {
            let links = all.iter().filter(|other| *other == class).count() as u64;
            let idle = links - steps.values().sum::<u64>();
            *steps.entry([0, 0]).or_default() += idle;
            steps.retain(|_, links| *links > 0);
        }
        let found = table(&result, "load_histogram_series");
        let classes = texts(found, "class");
        let mut found_loads: BTreeMap<(u64, String), BTreeMap<[u64; 2], u64>> = BTreeMap::new();
        for (row, class) in classes.into_iter().enumerate() {
            let key = row_of(found, row, &["begin_ps", "links"]);
            let steps =
                ["busy_step", "buffer_full_step"].map(|column| u64::from(found.u8s(column).unwrap()[row]));
            found_loads
                .entry((key[0], class))
                .or_default()
                .insert(steps, key[1]);
        }
        assert_eq!(found_loads, loads, "{topology}");

        let mut marked_in: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
        for seen in &seen {
            let of_period = marked_in.entry(seen.begin_ps).or_default();
            of_period[0] += u64::from(seen.ps[0] * 100 >= seen.width_ps * 95);
            of_period[1] += u64::from(seen.ps[1] * 100 >= seen.width_ps * 10);
        }
        let busiest = marked_in
            .iter()
            .max_by_key(|(start, marked)| (**marked, Reverse(**start)));
        let (begin_ps, [full_links, blocked_links]) = busiest.unwrap();
        let collect = result.summary.collect.as_ref().unwrap();
        let found = collect.busiest_period.unwrap();
        assert_eq!(found.begin_ps, *begin_ps, "{topology}");
        assert_eq!(
            [found.full_links, found.blocked_links],
            [*full_links, *blocked_links],
            "{topology}"
        );
        let of_routers = all.iter().filter(|class| *class != "injection").count() as u64;
        assert_eq!(found.links, of_routers, "{topology}");

        let mut top = BTreeSet::new();
        let starts: BTreeSet<u64> = seen.iter().map(|seen| seen.begin_ps).collect();
        for start in starts {
            for time in 0..2 {
                let in_bin = seen
                    .iter()
                    .filter(|seen| seen.begin_ps == start && seen.ps[time] > 0);
                let mut in_bin: Vec<&Seen> = in_bin.collect();
                in_bin.sort_by_key(|seen| (Reverse(seen.ps[time]), seen.link));
                let greatest = in_bin.into_iter().take(32);
                top.extend(greatest.map(|seen| vec![start, u64::from(seen.link), seen.ps[0], seen.ps[1]]));
            }
        }
        let found = table(&result, "top_links");
        let columns = ["begin_ps", "link", "busy_ps", "buffer_full_ps"];
        let rows: Vec<Vec<u64>> = (0..found.rows())
            .map(|row| row_of(found, row, &columns))
            .collect();
        assert_eq!(rows, top.into_iter().collect::<Vec<_>>(), "{topology}");
    }
    assert!(marked.iter().all(|links| *links > 0), "{marked:?}");
}

/// Every link that carries a packet at the end is full in a period of 40 ns.
#[test]
fn a_short_rest_is_not_the_busiest_period() {
    let result = result_until(
        r#"kind = "torus", sizes = [3, 3, 4]"#,
        "dimension-order",
        "48040 ns",
    );
    let series = table(&result, "load_histogram_series");
    let rest = (0..series.rows()).filter(|row| series.u64s("begin_ps").unwrap()[*row] == 48_000_000);
    let full = rest.filter(|row| series.u8s("busy_step").unwrap()[*row] == 19);
    let full_in_rest: u64 = full
        .map(|row| u64::from(series.u32s("links").unwrap()[row]))
        .sum();
    let busiest = result.summary.collect.as_ref().unwrap().busiest_period.unwrap();
    assert!(full_in_rest > busiest.full_links, "{full_in_rest} {busiest:?}");
    assert!(busiest.end_ps <= 48_000_000, "{busiest:?}");
}

/// A torus of 150 slices has 75 blocks of two slices.
#[test]
fn blocks_consist_of_whole_units() {
    let result = result(r#"kind = "torus", sizes = [2, 150]"#, "dimension-order");
    let units = table(&result, "units");
    let blocks = units.u32s("block").unwrap();
    assert_eq!(units.rows(), 150);
    assert_eq!(blocks, (0..150).map(|unit| unit / 2).collect::<Vec<u32>>());
    let series = table(&result, "pair_series");
    let from = series.u32s("from_block").unwrap();
    assert_eq!(from.iter().max(), Some(&74));
}

#[test]
fn a_row_of_loads_stands_for_several_routers_where_there_are_many() {
    let experiment = experiment(
        r#"
[network]
topology = { kind = "torus", sizes = [9, 911] }
routing = { algorithm = "dimension-order" }
link = { bandwidth = "100 Gbps", latency = "50 ns" }
packet = "256 B"
[[job]]
hosts = 2
traffic = { pattern = "shift", by = 1, load = 0.5 }
[run]
until = "1 us"
[collect]
series = "classes"
bin = "1 us"
"#,
    );
    let result = run(&experiment);
    let series = table(&result, "router_load_series");
    // Hosts 0 and 1 are at routers 0 and 1, which are one tile.
    assert_eq!(series.rows(), 1);
    assert_eq!(
        row_of(series, 0, &["first_router", "routers", "end_ps"]),
        [0, 2, 1_000_000]
    );
    let busy = series.u8s("busy_percent_max").unwrap()[0];
    assert!((40..=60).contains(&busy), "{busy} %");
}
