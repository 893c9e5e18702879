//! Timelines, messages and waits add up to the counters of the run, and change no result.

use std::collections::{BTreeMap, BTreeSet};

use des::Executor;
use experiment::Experiment;
use results::{RunResult, Table};

use crate::support::{
    compute, experiment, job, jobs_on, otf2_is_available, receive, root, run, run_everywhere, send, sum,
    table,
};

pub const ALL: &str = "\n[collect]\ntimeline = true\nwaits = true\n";

/// The keys as overrides.
pub fn everything_traced() -> Vec<(String, String)> {
    let on = |key: &str| (format!("collect.{key}"), "true".to_string());
    vec![on("timeline"), on("waits")]
}

/// Experiments of the corpus with ranks, with everything collected.
pub fn with_ranks() -> Vec<(String, Experiment)> {
    let names = [
        "goal-ring.toml",
        "incast-dumpi-hyperx.toml",
        "lammps-collectives.toml",
        "lammps-one-host.toml",
        "lammps-torus.toml",
        "mappings.toml",
        "motifs-collectives-fat-tree.toml",
        "motifs-cycles-hyperx.toml",
        "motifs-halos-torus.toml",
        "motifs-pairs-dragonfly.toml",
        "rails-fat-tree-planes.toml",
    ];
    let load = |name: &str| {
        let path = root().join("tests/corpus").join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        if text.contains("otf2") && !otf2_is_available() {
            return None;
        }
        let mut experiment = Experiment::load(&path, &everything_traced()).unwrap_or_else(|e| panic!("{e}"));
        experiment.run.executor = Executor::Sequential;
        Some((name.to_string(), experiment))
    };
    names.into_iter().filter_map(load).collect()
}

fn texts(table: &Table, column: &str) -> Vec<Option<String>> {
    let texts = table
        .texts(column)
        .unwrap_or_else(|| panic!("no column {column}"));
    texts.map(|text| text.map(str::to_string)).collect()
}

/// Texts of a column without empty cells.
fn names(table: &Table, column: &str) -> Vec<String> {
    texts(table, column).into_iter().flatten().collect()
}

pub fn numbers<'a>(table: &'a Table, column: &str) -> &'a [u64] {
    table.u64s(column).unwrap_or_else(|| panic!("no column {column}"))
}

pub fn ids<'a>(table: &'a Table, column: &str) -> &'a [u32] {
    table.u32s(column).unwrap_or_else(|| panic!("no column {column}"))
}

fn is_finished(result: &RunResult, name: &str) -> bool {
    let mut jobs = result.summary.jobs.iter();
    jobs.any(|job| job.name == name && job.finished)
}

/// Timelines have no gaps and add up to the counters of ranks. Those of a cut-off rank lack the rest of one operation,
/// which the end of the run interrupts and the counters have.
pub fn assert_timelines(name: &str, experiment: &Experiment, result: &RunResult) {
    let rows = table(result, "timeline");
    let (jobs, ranks) = (names(rows, "job"), ids(rows, "rank"));
    let (starts, ends) = (numbers(rows, "begin_ps"), numbers(rows, "end_ps"));
    let states = names(rows, "state");
    let mut now: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    let mut times: BTreeMap<(&str, u32, &str), u64> = BTreeMap::new();
    let start = |name: &str| {
        let job = experiment.jobs.iter().find(|job| job.name == name);
        job.unwrap().start.ps()
    };
    for row in 0..rows.rows() {
        let (job, rank) = (jobs[row].as_str(), ranks[row]);
        let at = now.entry((job, rank)).or_insert_with(|| start(job));
        assert_eq!(starts[row], *at, "{name}, row {row}");
        assert!(starts[row] <= ends[row] && (starts[row] < ends[row] || states[row] != "compute"));
        *at = ends[row];
        *times.entry((job, rank, &states[row])).or_default() += ends[row] - starts[row];
    }
    let counted = table(result, "ranks");
    let (jobs, ranks) = (names(counted, "job"), ids(counted, "rank"));
    let (all, computes) = (numbers(counted, "time_ps"), numbers(counted, "compute_ps"));
    let mut expected = BTreeMap::new();
    for row in 0..counted.rows() {
        let (job, rank) = (jobs[row].as_str(), ranks[row]);
        if is_finished(result, job) {
            let end = now.get(&(job, rank)).copied().unwrap_or(start(job));
            assert_eq!(end - start(job), all[row], "{name}: job {job}, rank {rank}");
        }
        expected.insert((job, rank, "compute"), computes[row]);
    }
    let calls = table(result, "calls");
    let (jobs, ranks, called) = (names(calls, "job"), ids(calls, "rank"), names(calls, "call"));
    for (row, time) in numbers(calls, "time_ps").iter().enumerate() {
        expected.insert((&jobs[row], ranks[row], &called[row]), *time);
    }
    let mut interrupted = BTreeSet::new();
    for ((job, rank, state), counted) in &mut expected {
        let traced = times.get(&(*job, *rank, *state)).copied().unwrap_or(0);
        if traced < *counted && !is_finished(result, job) {
            assert!(
                interrupted.insert((*job, *rank)),
                "{name}: job {job}, rank {rank}"
            );
            *counted = traced;
        }
    }
    for sums in [&mut times, &mut expected] {
        sums.retain(|_, time| *time > 0);
    }
    assert_eq!(times, expected, "{name}");
}

#[test]
fn timelines_have_no_gaps_and_add_up_to_what_ranks_count() {
    for (name, experiment) in with_ranks() {
        assert_timelines(&name, &experiment, &run(&experiment));
    }
}

/// What the end of the run interrupts counts up to it, as `docs/formats/tables.md` says.
#[test]
fn what_a_rank_was_doing_when_the_run_ended_counts_up_to_it() {
    let network = "[network]\ntopology = { kind = \"mesh\", sizes = [2] }\nrouting = { algorithm = \
                   \"dimension-order\" }\nlink = { bandwidth = \"8 Gbps\", latency = \"1 us\" }\npacket = \"1 KiB\"\n";
    // At the cut the first rank computes, and the second waits for it.
    let programs = vec![
        vec![compute(3_000), compute(9_000), send(1, 8)],
        vec![compute(4_000), receive(0, 8)],
    ];
    let mut experiment = jobs_on(
        network,
        vec![job("cut off", programs, &mpi::MpiSettings::default(), &[0, 1])],
    );
    experiment.run.until = Some(des::Time::from_ns(10_000));
    let result = run(&experiment);
    let ranks = table(&result, "ranks");
    assert_eq!(numbers(ranks, "time_ps"), [10_000_000, 10_000_000]);
    assert_eq!(numbers(ranks, "compute_ps"), [10_000_000, 4_000_000]);
    assert_eq!(numbers(ranks, "mpi_ps"), [0, 6_000_000]);
    assert!(!result.summary.jobs[0].finished);
    crate::support::times_are_accounted_for(&result);
}

/// In a run whose ranks have finished, the messages are those that the ranks count, and their times are in order.
pub fn assert_messages(name: &str, experiment: &Experiment, result: &RunResult) {
    let ranks = table(result, "ranks");
    let Some(rows) = result.table("messages") else {
        assert_eq!(
            sum(ranks, "messages_sent") + sum(ranks, "collective_messages_sent"),
            0
        );
        return;
    };
    let (posted, sent) = (numbers(rows, "posted_ps"), numbers(rows, "sent_ps"));
    let (arrived, matched) = (numbers(rows, "arrived_ps"), numbers(rows, "matched_ps"));
    let injected = numbers(rows, "injected_ps");
    let column = |column| rows.batch().column_by_name(column).unwrap();
    for row in 0..rows.rows() {
        let by_network = ids(rows, "from_host")[row] != ids(rows, "to_host")[row];
        for nullable in ["number", "injected_ps"] {
            let filled = column(nullable).is_valid(row);
            assert_eq!(filled, by_network, "{name}, row {row}: {nullable}");
        }
        let (left, cable) = match by_network {
            true => (injected[row], experiment.network.lookahead().ps()),
            false => (sent[row], 0),
        };
        assert!(posted[row] <= sent[row] && sent[row] <= left, "{name}, row {row}");
        assert!(left + cable <= arrived[row] && arrived[row] <= matched[row]);
        assert!(row == 0 || matched[row - 1] <= matched[row], "{name}, row {row}");
    }
    // Messages and bytes by rank: sent and received, of the program and of collectives.
    let mut counts: BTreeMap<(String, u32), [u64; 8]> = BTreeMap::new();
    let (protocols, collectives) = (names(rows, "protocol"), texts(rows, "collective"));
    let jobs = names(rows, "job");
    for row in 0..rows.rows() {
        if !["eager", "rendezvous", "put", "get-data"].contains(&protocols[row].as_str()) {
            continue;
        }
        let first = if collectives[row].is_some() { 4 } else { 0 };
        for (column, first) in [("from_rank", first), ("to_rank", first + 2)] {
            let rank = (jobs[row].clone(), ids(rows, column)[row]);
            let count = counts.entry(rank).or_default();
            count[first] += 1;
            count[first + 1] += numbers(rows, "bytes")[row];
        }
    }
    let columns = [
        "messages_sent",
        "bytes_sent",
        "messages_received",
        "bytes_received",
        "collective_messages_sent",
        "collective_bytes_sent",
        "collective_messages_received",
        "collective_bytes_received",
    ];
    for (row, job) in names(ranks, "job").into_iter().enumerate() {
        let rank = ids(ranks, "rank")[row];
        let counted = columns.map(|column| numbers(ranks, column)[row]);
        let found = counts.remove(&(job.clone(), rank)).unwrap_or_default();
        assert_eq!(found, counted, "{name}: job {job}, rank {rank}");
    }
    assert!(counts.is_empty(), "{name}");
    // Each request to send has its answer.
    let of = |protocol: &str| protocols.iter().filter(|it| *it == protocol).count();
    for (question, answer) in [
        ("request-to-send", "clear-to-send"),
        ("clear-to-send", "rendezvous"),
        ("put", "put-done"),
        ("get", "get-data"),
    ] {
        assert_eq!(of(question), of(answer), "{name}: {question}");
    }
}

#[test]
fn messages_are_those_that_ranks_count() {
    let mut compared = 0;
    for (name, experiment) in with_ranks() {
        let result = run(&experiment);
        if result.summary.jobs.iter().all(|job| job.finished) {
            assert_messages(&name, &experiment, &result);
            compared += 1;
        }
    }
    assert!(compared >= 5, "{compared}");
}

/// The spans of a message's packets' waits, by sending host and number.
fn waits(result: &RunResult) -> BTreeMap<(u32, u32), u64> {
    let mut sums = BTreeMap::new();
    if let Some(rows) = result.table("waits") {
        let (hosts, messages) = (ids(rows, "from_host"), ids(rows, "number"));
        let (starts, ends) = (numbers(rows, "begin_ps"), numbers(rows, "end_ps"));
        for row in 0..rows.rows() {
            assert!(starts[row] < ends[row]);
            *sums.entry((hosts[row], messages[row])).or_default() += ends[row] - starts[row];
        }
    }
    sums
}

/// The transit of a packet takes the time of an empty network plus its waits.
#[test]
fn latency_is_that_of_the_empty_network_and_the_waits() {
    let speedup = r#"input-queued", speedup = 1.5, output_buffer = "600 B"#;
    let booked = r#"crossbar", arbiter = "first-come", crossbar_bandwidth = "1 Tbps"#;
    for model in ["packet", "input-queued", speedup, "output-queued", booked] {
        let text = format!(
            r#"
[network]
topology = {{ kind = "mesh", sizes = [3, 2], hosts_per_router = 2 }}
routing = {{ algorithm = "dimension-order" }}
link = {{ bandwidth = "10 Gbps", latency = "30 ns" }}
router = {{ model = "{model}", delay = "70 ns", buffer = "1 KiB" }}
packet = "512 B"
[mpi]
nic_gap = "20 ns"
[mpi.collectives]
alltoall = "linear"
[[job]]
name = "many"
workload = {{ motif = "all-to-all", ranks = 6, bytes = "400 B", iterations = 4 }}
placement = "random"
[[job]]
name = "more"
workload = {{ motif = "all-to-all", ranks = 6, bytes = "300 B", iterations = 5 }}
{ALL}"#
        );
        let result = run(&experiment(&text));
        let waits = waits(&result);
        let rows = table(&result, "messages");
        let mut alone: BTreeMap<(u32, u32, u64), u64> = BTreeMap::new();
        let mut waited = 0;
        for row in 0..rows.rows() {
            let place = (ids(rows, "from_host")[row], ids(rows, "number")[row]);
            let wait = waits.get(&place).copied().unwrap_or(0);
            waited += u32::from(wait > 0);
            let latency = numbers(rows, "arrived_ps")[row] - numbers(rows, "sent_ps")[row];
            let key = (place.0, ids(rows, "to_host")[row], numbers(rows, "bytes")[row]);
            let rest = latency - wait;
            assert_eq!(
                *alone.entry(key).or_insert(rest),
                rest,
                "{model}: row {row}, {key:?}"
            );
        }
        assert!(waited as usize > rows.rows() / 2 && rows.rows() > 200, "{waited}");
        // Host to router, routers, router to host; all packets of a size have the same serialization.
        for ((from, to, bytes), rest) in alone {
            let place = |host: u32| ((host / 2) % 3, host / 6);
            let ((x, y), (u, v)) = (place(from), place(to));
            let hops = u64::from(x.abs_diff(u) + y.abs_diff(v));
            let expected = (bytes + 32) * 800 + (hops + 2) * 30_000 + (hops + 1) * 70_000;
            assert_eq!(rest, expected, "{model}: {from} to {to}");
        }
    }
}

/// Two routers with three hosts each. A byte takes 1 ns on the cables of hosts, and a tenth of that between routers.
fn two_routers(router: &str) -> String {
    format!(
        r#"
[network]
topology = {{ kind = "mesh", sizes = [2], hosts_per_router = 3 }}
routing = {{ algorithm = "dimension-order" }}
link = {{ bandwidth = "8 Gbps", latency = "10 ns" }}
router = {{ delay = "0 ns", {router} }}
packet = "1000 B"
{ALL}"#
    )
}

fn settings() -> mpi::MpiSettings {
    mpi::MpiSettings {
        header_bytes: 0,
        eager_threshold: 1 << 20,
        send_overhead: des::Time::ZERO,
        receive_overhead: des::Time::ZERO,
        ..mpi::MpiSettings::default()
    }
}

type WaitOf = (String, u32, u64, u64, String, Option<String>);

/// Job, link, start and end in ns, reason and holder.
fn shown(result: &RunResult) -> Vec<WaitOf> {
    let rows = table(result, "waits");
    let (jobs, reasons, holders) = (names(rows, "job"), names(rows, "reason"), texts(rows, "holder"));
    let show = |row: usize| {
        (
            jobs[row].clone(),
            ids(rows, "link")[row],
            numbers(rows, "begin_ps")[row] / 1000,
            numbers(rows, "end_ps")[row] / 1000,
            reasons[row].clone(),
            holders[row].clone(),
        )
    };
    (0..rows.rows()).map(show).collect()
}

fn wait_of(job: &str, link: u32, (start, end): (u64, u64), reason: &str, holder: &str) -> WaitOf {
    (job.into(), link, start, end, reason.into(), Some(holder.into()))
}

/// The number of the link from one router to the other: it follows six injection links and the ejection links of the
/// first router, or precedes them.
fn link_between_routers(result: &RunResult) -> u32 {
    let links = table(result, "links");
    let class = names(links, "class");
    let place = class
        .iter()
        .position(|class| class != "injection" && class != "ejection");
    ids(links, "link")[place.unwrap()]
}

#[test]
fn two_jobs_through_one_link_wait_for_each_other() {
    // Both packets reach the router at 10 ns. The packet of the host with the smaller number is first.
    let jobs = [
        job(
            "a",
            vec![vec![send(1, 1000)], vec![receive(0, 1000)]],
            &settings(),
            &[0, 3],
        ),
        job(
            "b",
            vec![vec![send(1, 500)], vec![receive(0, 500)]],
            &settings(),
            &[1, 4],
        ),
        job(
            "c",
            vec![vec![compute(600), send(1, 2000)], vec![receive(0, 2000)]],
            &settings(),
            &[2, 5],
        ),
    ];
    // With a speedup packets wait for the output of the crossbar, and behind it for the link. All of them start at the
    // same times.
    let speedup = "model = \"input-queued\", speedup = 2";
    let models = [
        "model = \"packet\"",
        "model = \"input-queued\"",
        speedup,
        "model = \"output-queued\"",
    ];
    for model in models {
        let jobs = jobs.iter().map(|it| experiment::Job {
            name: it.name.clone(),
            start: it.start,
            end: None,
            traffic_class: 0,
            kind: copy(&it.kind),
        });
        let mut experiment = jobs_on(&two_routers(model), jobs.collect());
        let result = run_everywhere(&mut experiment);
        let link = link_between_routers(&result);
        let mut expected = vec![
            wait_of("b", link, (10, 1010), "wire", "a"),
            // The first packet of c arrives at 610. Job a uses the link until 1010, and b until 1510.
            wait_of("c", link, (610, 1010), "wire", "a"),
        ];
        // Its second packet reaches the router at 1610 and waits for the first, which leaves at 2510.
        expected.extend(if model == speedup {
            // The packet of b, all of which is there, crosses in 250 ns; the first of c in 500 ns.
            vec![
                wait_of("c", link, (1010, 1260), "wire", "b"),
                wait_of("c", link, (1260, 1510), "wire", "b"),
                wait_of("c", link, (1610, 1760), "queue", "c"),
                wait_of("c", link, (1760, 2510), "wire", "c"),
            ]
        } else {
            let behind = if model.contains("input-queued") {
                "queue"
            } else {
                "wire"
            };
            vec![
                wait_of("c", link, (1010, 1510), "wire", "b"),
                wait_of("c", link, (1610, 2510), behind, "c"),
            ]
        });
        assert_eq!(shown(&result), expected, "{model}");
        let messages = table(&result, "messages");
        assert_eq!(names(messages, "job"), ["a", "b", "c"]);
        assert_eq!(numbers(messages, "posted_ps"), [0, 0, 600_000]);
        assert_eq!(numbers(messages, "sent_ps"), [0, 0, 600_000]);
        assert_eq!(numbers(messages, "injected_ps"), [1_000_000, 500_000, 2_600_000]);
        assert_eq!(numbers(messages, "arrived_ps"), [1_030_000, 1_530_000, 3_530_000]);
        assert_eq!(numbers(messages, "matched_ps"), [1_030_000, 1_530_000, 3_530_000]);
    }
}

fn copy(kind: &experiment::JobKind) -> experiment::JobKind {
    match kind {
        experiment::JobKind::Ranks(ranks) => experiment::JobKind::Ranks(ranks.clone()),
        experiment::JobKind::Traffic(_) => unreachable!(),
    }
}

#[test]
fn a_full_buffer_is_held_by_who_fills_it() {
    // Two senders of job a fill the buffer of the second router, which leads to one host only. The packet of job b,
    // to another host, arrives when the buffer is full.
    let router = "buffer = \"2000 B\"";
    let text = two_routers(router).replace("packet =", "links.dimension-0.bandwidth = \"80 Gbps\"\npacket =");
    let a = vec![
        vec![send(2, 5000)],
        vec![send(2, 5000)],
        vec![receive(0, 5000), receive(1, 5000)],
    ];
    let b = vec![vec![compute(4000), send(1, 1000)], vec![receive(0, 1000)]];
    let jobs = vec![
        job("a", a, &settings(), &[0, 1, 3]),
        job("b", b, &settings(), &[2, 4]),
    ];
    let mut experiment = jobs_on(&text, jobs);
    let result = run_everywhere(&mut experiment);
    let link = link_between_routers(&result);
    let of_b: Vec<WaitOf> = shown(&result).into_iter().filter(|wait| wait.0 == "b").collect();
    let for_credits: u64 = of_b.iter().filter(|w| w.4 == "credits").map(|w| w.3 - w.2).sum();
    assert!(for_credits > 0, "{of_b:?}");
    for wait in &of_b {
        assert_eq!((wait.1, wait.5.as_deref()), (link, Some("a")), "{of_b:?}");
    }
    assert_eq!(sum(table(&result, "ranks"), "messages_received"), 3);
}

/// Messages of one host alternate, and wait in its NIC.
#[test]
fn messages_wait_in_the_nic() {
    let ranks = vec![
        vec![send(1, 2500), send(1, 500)],
        vec![receive(0, 2500), receive(0, 500)],
    ];
    let mut experiment = jobs_on(
        &two_routers("buffer = \"64 KiB\""),
        vec![job("a", ranks, &settings(), &[0, 3])],
    );
    let result = run_everywhere(&mut experiment);
    assert_eq!(
        shown(&result),
        [
            // The message is handed over at 0. The message before it has then sent one packet and is in the queue
            // with the rest. Its last packet comes after this message.
            wait_of("a", 0, (0, 2000), "nic", "a"),
            wait_of("a", 0, (2000, 2500), "nic", "a"),
        ]
    );
}

/// Computation of a rank has the name that the application gives it. A late receive is matched late.
#[test]
fn a_rendezvous_is_told_with_its_handshake() {
    let settings = mpi::MpiSettings {
        eager_threshold: 0,
        ..settings()
    };
    let ranks = vec![
        vec![compute(5), send(1, 100)],
        vec![compute(900), receive(0, 100)],
    ];
    let experiment = jobs_on(
        &two_routers("buffer = \"64 KiB\""),
        vec![job("a", ranks, &settings, &[0, 1])],
    );
    let result = run(&experiment);
    let rows = table(&result, "messages");
    assert_eq!(
        names(rows, "protocol"),
        ["request-to-send", "clear-to-send", "rendezvous"]
    );
    let times = |column| -> Vec<u64> { numbers(rows, column).iter().map(|ps| ps / 1000).collect() };
    // 64 B of control message, two cables of 10 ns: 84 ns.
    assert_eq!(times("posted_ps"), [5, 900, 5]);
    assert_eq!(times("sent_ps"), [5, 900, 984]);
    assert_eq!(times("arrived_ps"), [89, 984, 1104]);
    assert_eq!(times("matched_ps"), [900, 984, 1104]);
    assert_eq!(ids(rows, "from_rank"), [0, 1, 0]);
    assert_eq!(ids(rows, "sequence"), [0, 0, 0]);
    let timeline = table(&result, "timeline");
    assert_eq!(
        names(timeline, "state"),
        ["compute", "compute", "MPI_Send", "MPI_Recv"]
    );
}
