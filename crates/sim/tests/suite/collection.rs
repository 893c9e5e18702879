//! Collected series add up to the counters of the run, bin by bin. [`crate::support::run_everywhere`] checks for
//! every experiment that collection changes no result and is the same on all executors.

use std::collections::BTreeMap;
use std::fs;

use des::Executor;
use experiment::Experiment;
use results::{RunPath, RunResult, Table};
use sim::{Checkpoint, Checkpoints, Error, Every, RunContext, RunControl, run_in};

use crate::support::{compute, experiment, job, jobs_on, receive, run, run_everywhere, send, sum, table};

/// Names of the columns of flows.
const FLOWS: [&str; 4] = ["bytes", "packets", "busy_ps", "buffer_full_ps"];

fn total(result: &RunResult, name: &str, column: &str) -> u64 {
    result.table(name).map_or(0, |table| sum(table, column))
}

/// Sums of a column by the number in another column, over rows that end at a time or before.
fn sums(of: &Table, by: &str, column: &str, until_ps: u64) -> BTreeMap<u32, u64> {
    let mut sums = BTreeMap::new();
    let rows = of.u32s(by).unwrap().iter().zip(of.u64s(column).unwrap());
    for ((key, value), end) in rows.zip(of.u64s("end_ps").unwrap()) {
        if *end <= until_ps {
            *sums.entry(*key).or_default() += value;
        }
    }
    sums.retain(|_, value| *value > 0);
    sums
}

/// Sums of a column of the table of links.
fn of_links(links: &Table, column: &str) -> BTreeMap<u32, u64> {
    let rows = links
        .u32s("link")
        .unwrap()
        .iter()
        .zip(links.u64s(column).unwrap());
    let rows = rows.filter(|(_, value)| **value > 0);
    rows.map(|(link, value)| (*link, *value)).collect()
}

/// Compares the series of a run with its counters.
pub fn series_add_up(experiment: &Experiment, result: &RunResult) {
    let collect = result.summary.collect.as_ref().expect("it is always there");
    let network = &result.summary.network;
    for of in &collect.tables {
        assert_eq!(of.rows, table(result, &of.table).rows() as u64);
    }
    if collect.series == "off" {
        let sampled = |of: &results::CollectedTable| of.table.ends_with("_series");
        return assert!(!collect.tables.iter().any(sampled));
    }
    let hops = total(result, "class_series", "packets");
    assert_eq!(hops, network.packet_hops, "packets of all links");
    assert_eq!(
        total(result, "job_series", "packets_delivered"),
        network.packets_delivered
    );
    let finished = |table: &Table| -> u64 {
        let ranks = table.batch().column_by_name("finished").expect("a column");
        let ranks = format!("{ranks:?}");
        ranks.matches("true").count() as u64
    };
    // The text of a long column is shortened.
    if let Some(ranks) = result.table("ranks").filter(|ranks| ranks.rows() <= 20) {
        assert_eq!(total(result, "job_series", "ranks_finished"), finished(ranks));
    }
    let warmup = experiment.run.warmup.ps();
    if warmup == 0 {
        for column in FLOWS {
            assert_eq!(
                total(result, "class_series", column),
                total(result, "links", column),
                "{column}"
            );
        }
    }
    if collect.series == "classes" {
        assert!(result.table("link_series").is_none());
        return;
    }
    if experiment.settings["collect"]["routers"] != "all" {
        return;
    }
    for column in FLOWS {
        assert_eq!(
            total(result, "class_series", column),
            total(result, "link_series", column),
            "{column}"
        );
    }
    // Those of links also count what NICs send themselves.
    let nics = experiment.network.router_models.nic_capabilities();
    let sent = total(result, "host_series", "packets_sent");
    assert!(
        sent >= network.packets_injected && (sent == network.packets_injected || !nics.sends_only_messages)
    );
    assert_eq!(
        total(result, "host_series", "packets_received"),
        network.packets_delivered
    );
    let headers = network.packets_delivered * u64::from(experiment.network.packet.header);
    assert_eq!(
        total(result, "host_series", "bytes_received"),
        network.bytes_delivered + headers
    );
    if let Some(series) = result.table("link_series") {
        let column = |name| series.u64s(name).unwrap().iter();
        let spans = column("begin_ps").zip(column("end_ps"));
        let used = column("busy_ps").zip(column("buffer_full_ps"));
        for ((start, end), (busy, full)) in spans.zip(used) {
            assert!(
                start < end && busy + full <= end - start,
                "{start} {end} {busy} {full}"
            );
        }
        if warmup == 0 {
            for column in FLOWS {
                let links = of_links(table(result, "links"), column);
                assert_eq!(sums(series, "link", column, u64::MAX), links, "{column}");
            }
        }
    }
    if let Some(series) = result.table("vc_series") {
        let peaks = series.u32s("used_bytes_max").unwrap().iter();
        let capacities = series.u32s("capacity_bytes").unwrap();
        assert!(peaks.zip(capacities).all(|(used, capacity)| used <= capacity));
        for rows in vc_levels(series).values() {
            let mut before = VcRow::default();
            for row in rows {
                assert!(row.used.max(before.used) <= row.used_max, "{before:?} {row:?}");
                assert!(
                    row.waiting.max(before.waiting) <= row.waiting_max,
                    "{before:?} {row:?}"
                );
                let constant = VcRow {
                    used_max: row.used,
                    waiting_max: row.waiting,
                    ..*row
                };
                let moved = (row.used, row.waiting) != (before.used, before.waiting);
                assert!(moved || *row != constant, "a row without a change: {row:?}");
                before = *row;
            }
        }
        vcs_add_up(result, series);
    }
}

/// Changes in one bin: packets that wait for a link, and for single VCs of it.
type WaitingInBin = (Option<u32>, Vec<(u8, u32)>);

/// A bin, used bytes and their peak, waiting packets and their peak.
type Levels = (u64, u32, u32, u32, u32);

/// One row of `vc_series`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct VcRow {
    start: u64,
    used: u32,
    used_max: u32,
    waiting: u32,
    waiting_max: u32,
}

/// The rows of `vc_series` by link and VC.
fn vc_levels(series: &Table) -> BTreeMap<(u32, u8), Vec<VcRow>> {
    let vcs = results::BatchColumns::new(series.batch()).bytes("vc").unwrap();
    let column = |name| series.u32s(name).unwrap();
    let mut rows: BTreeMap<_, Vec<VcRow>> = BTreeMap::new();
    for (row, vc) in vcs.iter().enumerate() {
        let of = rows.entry((column("link")[row], *vc)).or_default();
        of.push(VcRow {
            start: series.u64s("begin_ps").unwrap()[row],
            used: column("used_bytes")[row],
            used_max: column("used_bytes_max")[row],
            waiting: column("waiting_packets")[row],
            waiting_max: column("waiting_packets_max")[row],
        });
    }
    rows
}

/// In each bin, the packets that wait for the VCs of a link are those that wait for the link.
fn vcs_add_up(result: &RunResult, series: &Table) {
    let classes: Vec<String> = table(result, "links")
        .texts("class")
        .unwrap()
        .map(|class| class.unwrap().to_string())
        .collect();
    // By link, then start of the bin.
    let mut changes: BTreeMap<u32, BTreeMap<u64, WaitingInBin>> = BTreeMap::new();
    let links = table(result, "link_series");
    for row in 0..links.rows() {
        let link = links.u32s("link").unwrap()[row];
        if classes[link as usize] != "ejection" {
            let start = links.u64s("begin_ps").unwrap()[row];
            let waiting = links.u32s("waiting_packets").unwrap()[row];
            changes.entry(link).or_default().entry(start).or_default().0 = Some(waiting);
        }
    }
    for ((link, vc), rows) in vc_levels(series) {
        for row in rows {
            let change = changes.entry(link).or_default().entry(row.start).or_default();
            change.1.push((vc, row.waiting));
        }
    }
    for (link, changes) in changes {
        let (mut of_link, mut of_vcs) = (0, BTreeMap::new());
        for (start, (waiting, vcs)) in changes {
            of_link = waiting.unwrap_or(of_link);
            of_vcs.extend(vcs);
            let sum: u32 = of_vcs.values().sum();
            assert_eq!(sum, of_link, "link {link}, bin from {start} ps: {of_vcs:?}");
        }
    }
}

fn crowded(topology: &str, routing: &str, router: &str, pattern: &str, until_us: u32) -> Experiment {
    crowded_in_bins("1 us", (topology, routing, router, pattern), until_us)
}

fn crowded_in_bins(
    bin: &str,
    (topology, routing, router, pattern): (&str, &str, &str, &str),
    until_us: u32,
) -> Experiment {
    experiment(&format!(
        r#"
        [network]
        topology = {{ {topology} }}
        routing = {{ {routing} }}
        router = {{ model = "{router}", buffer = "8 KiB" }}
        packet = "512 B"
        [[job]]
        traffic = {{ pattern = {pattern}, load = 0.9 }}
        [run]
        until = "{until_us} us"
        [collect]
        series = "vcs"
        bin = "{bin}"
        "#
    ))
}

const DRAGONFLY: &str = r#"kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2, groups = 4"#;

/// A run that ends at the end of a bin has counted the content of all bins.
#[test]
fn every_bin_holds_what_was_counted_in_it() {
    for router in ["packet", "input-queued", "output-queued", "crossbar"] {
        let of = |until| {
            let pattern = r#""uniform""#;
            run(&crowded(
                DRAGONFLY,
                r#"algorithm = "minimal""#,
                router,
                pattern,
                until,
            ))
        };
        let whole = of(12);
        for until in [1, 2, 5, 11, 12] {
            let shorter = of(until);
            let links = table(&shorter, "links");
            let series = table(&whole, "link_series");
            for column in FLOWS {
                let sums = sums(series, "link", column, u64::from(until) * 1_000_000);
                assert_eq!(sums, of_links(links, column), "{router}, {until} us, {column}");
            }
            let network = &shorter.summary.network;
            let end = u64::from(until) * 1_000_000;
            let hosts = |column| -> u64 {
                sums(table(&whole, "host_series"), "host", column, end)
                    .values()
                    .sum()
            };
            assert_eq!(hosts("packets_sent"), network.packets_injected);
            assert_eq!(hosts("packets_received"), network.packets_delivered);
        }
    }
}

/// All hosts of one switch send to one host, whose link is never idle. Waiting packets are in the buffers and queues.
#[test]
fn an_incast_fills_buffers_and_queues() {
    let hosts = 5;
    let programs = (0..hosts).map(|rank| match rank {
        0 => (1..hosts).map(|from| receive(from, 200_000)).collect(),
        _ => vec![compute(1), send(0, 200_000)],
    });
    let network = r#"
        [network]
        topology = { kind = "mesh", sizes = [1], hosts_per_router = 5 }
        routing = { algorithm = "dimension-order" }
        router = { buffer = "10 KB" }
        packet = "500 B"
    "#;
    let settings = mpi::MpiSettings {
        eager_threshold: 1 << 30,
        ..mpi::MpiSettings::default()
    };
    let all: Vec<u32> = (0..hosts).collect();
    let job = job("incast", programs.collect(), &settings, &all);
    let mut experiment = jobs_on(network, vec![job]);
    experiment.collect.set_series(experiment::Series::Vcs);
    let result = run_everywhere(&mut experiment);
    let series = table(&result, "link_series");
    // The five injection links come first, then the ejection link to host 0: 800 kB at 12.5 GB/s take 64 us.
    let rows: Vec<usize> = (0..series.rows())
        .filter(|row| series.u32s("link").unwrap()[*row] == 5)
        .collect();
    let cell = |column: &str, row: usize| series.u64s(column).unwrap()[row];
    let width = |row| cell("end_ps", row) - cell("begin_ps", row);
    let middle = &rows[5..60];
    for row in middle {
        assert_eq!(cell("busy_ps", *row), width(*row));
        assert_eq!(cell("buffer_full_ps", *row), 0, "hosts take what comes");
        // 1 us holds 25 packets of 500 B.
        assert_eq!(cell("packets", *row), 25);
        // Four buffers of 10 kB, less the bytes and credits in flight.
        let waiting = cell("waiting_bytes", *row);
        assert!((36_000..=40_000).contains(&waiting), "{waiting}");
        let packets = series.u32s("waiting_packets").unwrap()[*row];
        assert_eq!(u64::from(packets) * 500, waiting);
    }
    // The injection link of host 1 is blocked for three quarters of the time, and its queue empties.
    let rows: Vec<usize> = (0..series.rows())
        .filter(|row| series.u32s("link").unwrap()[*row] == 1)
        .collect();
    for pair in rows[5..55].windows(2) {
        let full = cell("buffer_full_ps", pair[1]);
        assert!((700_000..=800_000).contains(&full), "{full}");
        let sent = cell("bytes", pair[1]);
        assert_eq!(
            cell("waiting_bytes", pair[0]) - cell("waiting_bytes", pair[1]),
            sent
        );
    }
    let vcs = table(&result, "vc_series");
    let used = vcs.u32s("used_bytes").unwrap().iter().max();
    assert_eq!(used, Some(&10_000), "the buffer was full");
    // Hosts that finish do so in the last bins.
    let jobs = table(&result, "job_series");
    assert_eq!(sum(jobs, "ranks_finished"), 5);
    assert_eq!(sum(jobs, "bytes_sent"), sum(jobs, "bytes_received"));
    assert_eq!(sum(jobs, "messages_received"), 4);
}

/// The capacity in `vc_series` is that of the buffer at the end of the link.
#[test]
fn buffers_by_class_have_their_capacities() {
    let text = r#"
        [network]
        topology = { kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2 }
        routing = { algorithm = "minimal" }
        router = { buffer = "4 KiB" }
        links = { host.buffer = "2 KiB", global.buffer = "1 KiB" }
        [[job]]
        traffic = { pattern = "uniform", load = 1.0 }
        [run]
        until = "10 us"
        [collect]
        series = "vcs"
    "#;
    let result = run_everywhere(&mut experiment(text));
    let links = table(&result, "links");
    let classes: Vec<String> = links
        .texts("class")
        .unwrap()
        .map(|c| c.unwrap().to_string())
        .collect();
    let series = table(&result, "vc_series");
    let column = |name| series.u32s(name).unwrap();
    let mut full = std::collections::BTreeSet::new();
    for ((link, used), capacity) in column("link")
        .iter()
        .zip(column("used_bytes"))
        .zip(column("capacity_bytes"))
    {
        let class = classes[*link as usize].as_str();
        let expected = match class {
            "injection" => 1024,
            "local" => 2048,
            "global" => 512,
            _ => panic!("{class} has no buffer"),
        };
        assert_eq!(*capacity, expected, "{class}");
        assert!(used <= capacity, "{class}: {used} B");
        if used == capacity {
            full.insert(class);
        }
    }
    let full: Vec<&str> = full.into_iter().collect();
    assert_eq!(
        full,
        ["global", "injection", "local"],
        "classes with full buffers"
    );
}

/// Bins of a run without a known end grow. A bin without any event still has its row.
#[test]
fn a_link_that_is_held_up_for_long_has_its_rows() {
    let programs = vec![
        vec![send(1, 4_000_000), compute(1_000_000), send(1, 100)],
        vec![receive(0, 4_000_000), receive(0, 100)],
    ];
    let network = r#"
        [network]
        topology = { kind = "mesh", sizes = [2] }
        routing = { algorithm = "dimension-order" }
        link = { bandwidth = "100 Mbps" }
        packet = "4 MiB"
        router = { buffer = "8 MiB" }
    "#;
    let settings = mpi::MpiSettings {
        eager_threshold: 1 << 30,
        ..mpi::MpiSettings::default()
    };
    let result = run_everywhere(&mut jobs_on(
        network,
        vec![job("pair", programs, &settings, &[0, 1])],
    ));
    let series = table(&result, "link_series");
    // One packet of 320 ms on each of three links, and no event meanwhile.
    for (link, busy) in sums(series, "link", "busy_ps", u64::MAX) {
        assert!(busy > 320_000_000_000, "link {link}: {busy}");
        let rows = series.u32s("link").unwrap().iter().filter(|of| **of == link);
        assert!(rows.count() > 1000, "each bin has its row");
    }
}

#[test]
fn single_routers_can_be_chosen() {
    let text = |routers: &str| {
        format!(
            r#"
            [network]
            topology = {{ kind = "mesh", sizes = [3], hosts_per_router = 2 }}
            routing = {{ algorithm = "dimension-order" }}
            [[job]]
            traffic = {{ pattern = "uniform", load = 0.5 }}
            [run]
            until = "5 us"
            [collect]
            series = "vcs"
            routers = {routers}
            "#
        )
    };
    let all = run(&experiment(&text("\"all\"")));
    let mut of_two = experiment(&text("[2, 0, 2]"));
    let some = run_everywhere(&mut of_two);
    assert_eq!(
        sums(table(&all, "router_series"), "router", "packets_sent", u64::MAX).len(),
        3
    );
    let routers = sums(table(&some, "router_series"), "router", "packets_sent", u64::MAX);
    assert_eq!(routers.keys().collect::<Vec<_>>(), [&0, &2]);
    let hosts = sums(table(&some, "host_series"), "host", "packets_sent", u64::MAX);
    assert_eq!(hosts.keys().copied().collect::<Vec<_>>(), [0, 1, 4, 5]);
    // The sums are over all links.
    assert!(table(&all, "class_series") == table(&some, "class_series"));
    assert!(table(&all, "job_series") == table(&some, "job_series"));
}

#[test]
fn what_cannot_be_collected_is_refused() {
    let refused = |collect: &str| {
        let text = format!(
            "[network]\ntopology = {{ kind = \"mesh\", sizes = [3] }}\nrouting = {{ algorithm = \"dimension-order\" }}\n\
             [[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.5 }}\n[run]\nuntil = \"5 us\"\n[collect]\n{collect}\n"
        );
        let Err(error) = Experiment::from_toml(&text, "test.toml", &[]) else {
            panic!("{collect} is taken");
        };
        error.to_string()
    };
    for (collect, said) in [
        ("series = \"link\"", "did you mean 'links'?"),
        ("series = true", "collect.series"),
        ("bin = \"0 us\"", "0 is out of range"),
        ("bin = \"1 parsec\"", "or \"auto\""),
        ("bin = 5", "collect.bin"),
        ("bin = \"2 day\"", "collect.bin"),
        ("routers = [0, 3]", "router 3 does not exist; expected 0 to 2"),
        ("routers = \"some\"", "collect.routers"),
        ("routers = 3", "collect.routers"),
        ("timeline = 1", "collect.timeline"),
        ("wait = true", "collect.wait"),
    ] {
        let error = refused(collect);
        assert!(
            error.contains(said) && error.contains("test.toml:9"),
            "{collect}: {error}"
        );
    }
}

/// A run with a folder is interrupted after some complete parts and continues from the folder. Without the folder it
/// does not.
#[test]
fn a_run_goes_on_with_the_parts_in_its_folder() {
    let file = r#"
        [network]
        topology = { kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2 }
        routing = { algorithm = "minimal" }
        packet = "512 B"
        [[job]]
        traffic = { pattern = "uniform", load = 0.5 }
        [run]
        until = "60 us"
        [collect]
        series = "vcs"
        bin = "50 ns"
    "#;
    let mut experiment = experiment(file);
    let reference = run(&experiment);
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("running");
    fs::create_dir(&parts).unwrap();
    let followed: RunPath = parts.clone().into();
    let checkpoints = Checkpoints {
        file: folder.path().join("checkpoint.fabricsim").into(),
        every: Every::Simulated(31_000_000),
    };
    // The run reaches its end, so the folder has more rows than the checkpoint.
    let way = RunContext {
        checkpoints: Some(&checkpoints),
        parts: Some(&followed),
        ..RunContext::default()
    };
    let whole = run_in(&experiment, &RunControl::new(), &way).unwrap().unwrap();
    assert_eq!(whole.summary.collect, reference.summary.collect);
    let names = || {
        let files = fs::read_dir(&parts).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let written = names();
    assert!(
        written.iter().any(|name| name == "vc_series.00001.parquet"),
        "{written:?}"
    );
    let checkpoint = Checkpoint::load(&checkpoints.file.at_first()).unwrap();
    let go_on = |experiment: &Experiment, parts| {
        let way = RunContext {
            from: Some(&checkpoint),
            parts,
            ..RunContext::default()
        };
        run_in(experiment, &RunControl::new(), &way)
    };
    (experiment.run.executor, experiment.run.threads) = (Executor::Optimistic, 2);
    let rest = go_on(&experiment, Some(&followed)).unwrap().unwrap();
    assert_eq!(rest.summary.collect, reference.summary.collect);
    assert_eq!(rest.summary.digest, reference.summary.digest);
    assert_eq!(names(), written);
    // The result is written and read again.
    let out = folder.path().join("result");
    rest.write(&out, false).unwrap();
    let read = RunResult::load(&out).unwrap();
    assert_eq!(read.summary.collect, reference.summary.collect);
    for table in &reference.tables {
        let other = read.table(table.name()).unwrap();
        assert!(table == other, "table {}", table.name());
    }

    let error = go_on(&experiment, None).unwrap_err().to_string();
    assert!(
        error.contains("it can be resumed only with that folder"),
        "{error}"
    );
    let mut other = self::experiment(file);
    other.collect.set_series(experiment::Series::Classes);
    let error = go_on(&other, Some(&followed)).unwrap_err();
    assert!(
        matches!(&error, Error::Checkpoint { .. }) && error.to_string().contains("the same [collect] as"),
        "{error}"
    );
    let part = parts.join("vc_series.00000.parquet");
    let mut bytes = fs::read(&part).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&part, bytes).unwrap();
    let error = go_on(&experiment, Some(&followed)).unwrap_err();
    assert!(
        matches!(&error, Error::Checkpoint { .. })
            && error
                .to_string()
                .contains("vc_series.00000.parquet: the file is damaged"),
        "{error}"
    );
    fs::remove_file(part).unwrap();
    let error = go_on(&experiment, Some(&followed)).unwrap_err().to_string();
    assert!(error.contains("vc_series.00000.parquet"), "{error}");
}

/// A folder that cannot be written ends the run with an error.
#[test]
fn parts_that_cannot_be_written_end_the_run() {
    let mut experiment = crowded(
        DRAGONFLY,
        r#"algorithm = "minimal""#,
        "packet",
        r#""uniform""#,
        60,
    );
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    for (executor, threads) in [
        (Executor::Sequential, 1),
        (Executor::Conservative, 2),
        (Executor::Optimistic, 2),
    ] {
        (experiment.run.executor, experiment.run.threads) = (executor, threads);
        let way = RunContext {
            parts: Some(&missing.clone().into()),
            ..RunContext::default()
        };
        let error = run_in(&experiment, &RunControl::new(), &way).unwrap_err();
        assert!(
            matches!(&error, Error::Collect(_)) && error.to_string().contains("missing"),
            "{error}"
        );
    }
}

/// Two hosts send ten packets each over one link, in two VCs. In a ring of five routers, packets from router 3 to
/// router 0 go to router 4 in VC 0, since they have the wrap-around link before them, and those from router 2 to
/// router 4 in VC 1.
fn two_senders(router: &str) -> RunResult {
    let network = format!(
        r#"
        [network]
        topology = {{ kind = "torus", sizes = [5] }}
        routing = {{ algorithm = "dimension-order" }}
        link = {{ bandwidth = "100 Gbps", latency = "1 us" }}
        router = {{ model = "{router}", delay = "100 ns", buffer = "100 KB" }}
        packet = "500 B"
        "#
    );
    // A packet takes 40 ns. Those from router 2 reach router 3 from a = 1 + 2 * (1000 + 100) = 2201 ns on, those of
    // host 3 10 ns later. The first bin ends at a + 205 ns. A message has an envelope of 32 bytes.
    let programs = vec![
        vec![receive(3, 4968)],
        vec![],
        vec![compute(1), send(4, 4968)],
        vec![compute(1111), send(0, 4968)],
        vec![receive(2, 4968)],
    ];
    let settings = mpi::MpiSettings {
        eager_threshold: 1 << 30,
        send_overhead: des::Time::ZERO,
        ..mpi::MpiSettings::default()
    };
    let job = job("two", programs, &settings, &[0, 1, 2, 3, 4]);
    let mut experiment = jobs_on(&network, vec![job]);
    let collecting = r#"
        [[job]]
        traffic = { pattern = "uniform", load = 0.5 }
        [run]
        until = "1 us"
        [collect]
        series = "vcs"
        bin = "2406 ns"
        "#;
    experiment.collect = self::experiment(&(network + collecting)).collect;
    run_everywhere(&mut experiment)
}

/// Rows of the link from router 3 to router 4 by VC.
fn of_shared_link(result: &RunResult) -> [Vec<Levels>; 2] {
    let links = table(result, "links");
    let link = (0..links.rows()).find(|row| {
        let kind = |name| links.texts(name).unwrap().nth(*row).flatten() == Some("router");
        let id = |name| links.u32s(name).unwrap()[*row];
        kind("from_kind") && kind("to_kind") && (id("from_id"), id("to_id")) == (3, 4)
    });
    let link = link.expect("a ring") as u32;
    let levels = vc_levels(table(result, "vc_series"));
    [0, 1].map(|vc| {
        let rows = levels[&(link, vc)].iter();
        rows.map(|row| {
            let bin = row.start / 2_406_000;
            (bin, row.used, row.used_max, row.waiting, row.waiting_max)
        })
        .collect()
    })
}

#[test]
fn waiting_packets_and_peaks_of_two_vcs() {
    // The packets of VC 1 arrive at a + 40 k and start at a + 80 k, those of VC 0 arrive at a + 10 + 40 k and start at
    // a + 40 + 80 k. At the end of the first bin, packets 3 to 5 of VC 1 and 3 to 4 of VC 0 wait; packet 2 of VC 0 has
    // waited until a + 200. Each takes its 500 B when it arrives, and its credit returns 2140 ns after its start:
    // before the end of the second bin, at 4812 ns, six credits of each VC.
    let expected = [
        vec![(0, 2500, 2500, 2, 3), (1, 2000, 5000, 0, 5), (2, 0, 2000, 0, 0)],
        vec![(0, 3000, 3000, 3, 3), (1, 2000, 5000, 0, 5), (2, 0, 2000, 0, 0)],
    ];
    assert_eq!(of_shared_link(&two_senders("packet")), expected);
    // Here only the heads of the two queues wait, and a packet takes its bytes when it starts. The first bin ends
    // while packet 2 of VC 0 leaves: it is not the head of its queue any more, and the one behind it not yet.
    let expected = [
        vec![(0, 1500, 1500, 0, 1), (1, 2000, 5000, 0, 1), (2, 0, 2000, 0, 0)],
        vec![(0, 1500, 1500, 1, 1), (1, 2000, 5000, 0, 1), (2, 0, 2000, 0, 0)],
    ];
    assert_eq!(of_shared_link(&two_senders("input-queued")), expected);
}

/// The peak in a wide bin is the highest peak in the narrow bins of the same time.
#[test]
fn peaks_do_not_depend_on_the_width_of_bins() {
    let bubbles = r#"algorithm = "dimension-order", deadlock = "bubble""#;
    let cases = [
        (DRAGONFLY, r#"algorithm = "minimal""#, "packet", r#""uniform""#),
        (DRAGONFLY, r#"algorithm = "ugal""#, "input-queued", r#""uniform""#),
        (
            r#"kind = "torus", sizes = [4, 3]"#,
            bubbles,
            "packet",
            r#""uniform""#,
        ),
        (
            r#"kind = "torus", sizes = [4, 3]"#,
            r#"algorithm = "minimal-adaptive""#,
            "packet",
            r#""uniform""#,
        ),
    ];
    for (topology, routing, router, pattern) in cases {
        let [wide, narrow] = ["1 us", "10 ns"].map(|bin| {
            let experiment = crowded_in_bins(bin, (topology, routing, router, pattern), 6);
            vc_levels(table(&run(&experiment), "vc_series"))
        });
        assert_eq!(
            wide.keys().collect::<Vec<_>>(),
            narrow.keys().collect::<Vec<_>>(),
            "{topology}"
        );
        let mut higher = 0;
        for (of, wide) in &wide {
            let mut narrow = narrow[of].iter().peekable();
            let (mut wide, mut before) = (wide.iter().peekable(), VcRow::default());
            for start in (0..6_000_000).step_by(1_000_000) {
                let mut expected = VcRow {
                    start,
                    used_max: before.used,
                    waiting_max: before.waiting,
                    ..before
                };
                let quiet = expected;
                while let Some(row) = narrow.next_if(|row| row.start < start + 1_000_000) {
                    expected.used_max = expected.used_max.max(row.used_max);
                    expected.waiting_max = expected.waiting_max.max(row.waiting_max);
                    (expected.used, expected.waiting) = (row.used, row.waiting);
                }
                let found = wide.next_if(|row| row.start == start).copied();
                assert_eq!(found.unwrap_or(quiet), expected, "{topology} {router} {of:?}");
                higher += u32::from(expected.waiting_max > expected.waiting.max(before.waiting));
                before = expected;
            }
            assert!(wide.next().is_none());
        }
        assert!(higher > 20, "{topology} {router}: {higher} peaks inside of bins");
    }
}
