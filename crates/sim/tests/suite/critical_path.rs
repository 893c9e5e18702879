//! Critical paths of real runs. Arithmetic gives the expected path, and no path has a gap.

use des::Time;
use mpi::MpiSettings;
use results::rows::CriticalPathRow;
use results::{CriticalPath, CriticalPaths, JobSummary, RunResult};

use crate::mpi_semantics;
use crate::support::{compute, job, jobs_on, receive, run, send};
use crate::tracing::{ALL, with_ranks};

/// Two routers with two hosts each. A byte takes 1 ns on each link, and a packet has 1,000 bytes.
const TWO_ROUTERS: &str = r#"
[network]
topology = { kind = "mesh", sizes = [2], hosts_per_router = 2 }
routing = { algorithm = "dimension-order" }
link = { bandwidth = "8 Gbps", latency = "50 ns" }
router = { delay = "100 ns", buffer = "256 KiB" }
packet = "1000 B"
"#;

fn settings(eager_threshold: u64) -> MpiSettings {
    MpiSettings {
        eager_threshold,
        send_overhead: Time::from_ns(20),
        receive_overhead: Time::from_ns(30),
        header_bytes: 0,
        ..MpiSettings::default()
    }
}

fn explained(result: &RunResult) -> (CriticalPaths, Vec<CriticalPathRow>) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("result");
    result.write(&folder, true).unwrap();
    analysis::explain(&folder, None).unwrap_or_else(|e| panic!("{e}"))
}

/// Kind, rank and nanoseconds of each step of a job.
fn steps(rows: &[CriticalPathRow], job: &str) -> Vec<(String, u32, u64)> {
    let of_job = rows.iter().filter(|row| &*row.job == job);
    of_job
        .map(|row| {
            assert_eq!((row.end_ps - row.begin_ps) % 1000, 0);
            (row.kind.to_string(), row.rank, (row.end_ps - row.begin_ps) / 1000)
        })
        .collect()
}

/// The path has no gap, and adds up to the time of the job.
fn assert_whole(name: &str, paths: &CriticalPaths, rows: &[CriticalPathRow], result: &RunResult) {
    let jobs: Vec<_> = result.summary.jobs.iter().filter(|job| job.ranks > 0).collect();
    assert_eq!(jobs.len(), paths.jobs.len(), "{name}");
    for (job, path) in jobs.into_iter().zip(&paths.jobs) {
        assert_eq!((&job.name, job.finished), (&path.job, path.finished), "{name}");
        let rows: Vec<_> = rows.iter().filter(|row| *row.job == job.name).collect();
        let mut now = rows.first().map_or(0, |row| row.begin_ps);
        for (row, number) in rows.iter().zip(0..) {
            assert_eq!((row.step, row.begin_ps), (number, now), "{name}: {row:?}");
            assert!(row.begin_ps < row.end_ps, "{name}: {row:?}");
            assert_eq!(row.reason.is_some(), row.kind == "wait", "{name}: {row:?}");
            // A call that was cut off has no step, nor has a send whose message was not received when the run ended. No
            // message follows them; all calls before them have a step.
            let no_message_follows = rows[row.step as usize..].iter().all(|next| next.rank == row.rank);
            assert!(
                row.kind != "unknown" || no_message_follows && !job.finished,
                "{name}: {row:?}"
            );
            now = row.end_ps;
        }
        assert_eq!(rows.len() as u64, path.steps, "{name}");
        let close = |a: f64, b: f64| (a - b).abs() < 0.01;
        assert!(close(path.time_ns, job.time_ns), "{name}: {}", path.text);
        let CriticalPath {
            compute_ns,
            overhead_ns,
            transfer_ns,
            wait_ns,
            unknown_ns,
            ..
        } = *path;
        let parts = compute_ns + overhead_ns + transfer_ns + wait_ns + unknown_ns;
        assert!(close(parts, path.time_ns), "{name}: {}", path.text);
        let waits: f64 = path.waits.iter().map(|wait| wait.wait_ns).sum();
        assert!(close(waits, wait_ns), "{name}: {}", path.text);
        if path.contributions.len() < 50 {
            let sum: f64 = path.contributions.iter().map(|part| part.time_ns).sum();
            assert!(
                close(sum, path.time_ns),
                "{name}: {sum}: {:?}",
                path.contributions
            );
        }
        assert_eq!(path.bound_by.is_some(), job.bound_by.is_some(), "{name}");
        if job.finished {
            assert_eq!(unknown_ns, 0.0, "{name}: {}", path.text);
            assert_counted(name, job, path);
        }
        if let Some(bound_by) = &path.bound_by {
            let sum: f64 = bound_by.causes().iter().map(|(_, share)| share).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{name}: {bound_by}");
            assert!(
                bound_by.causes().iter().all(|(_, share)| *share >= 0.0),
                "{name}: {bound_by}"
            );
        }
    }
}

/// The path that ranks counted while they ran has the same computation and overhead.
fn assert_counted(name: &str, job: &JobSummary, path: &CriticalPath) {
    let counted = job
        .bound_by
        .as_ref()
        .unwrap_or_else(|| panic!("{name}: {}", job.name));
    let compute = counted.computation + counted.imbalance;
    // They may differ by one interval between two messages of a NIC, of 40 ns in these runs.
    let tolerance = 0.001 + 40.0 / path.time_ns;
    for (what, counted, found) in [
        ("computation", compute, path.compute_ns),
        ("overhead", counted.overhead, path.overhead_ns),
    ] {
        let found = found / path.time_ns;
        assert!(
            (counted - found).abs() < tolerance,
            "{name}, job {}: {counted} of {what} was counted, {found} found: {}",
            job.name,
            path.text
        );
    }
}

/// Job B sends a packet over the cable between the routers, and job A a little later.
#[test]
fn a_packet_of_another_job_is_in_the_way() {
    let result = run(&jobs_on(
        &format!("{TWO_ROUTERS}{ALL}"),
        vec![
            job(
                "A",
                vec![vec![compute(100), send(1, 1000)], vec![receive(0, 1000)]],
                &settings(8192),
                &[0, 2],
            ),
            job(
                "B",
                vec![vec![send(1, 1000)], vec![receive(0, 1000)]],
                &settings(8192),
                &[1, 3],
            ),
        ],
    ));
    let (paths, rows) = explained(&result);
    assert_whole("two packets", &paths, &rows, &result);
    // B reaches the cable 150 ns after its send at 20, and uses it until 1170. A reaches it at 270.
    let kinds = |kinds: &[(&str, u32, u64)]| -> Vec<(String, u32, u64)> {
        kinds
            .iter()
            .map(|(kind, rank, ns)| (kind.to_string(), *rank, *ns))
            .collect()
    };
    assert_eq!(
        steps(&rows, "A"),
        kinds(&[
            ("compute", 0, 100),
            ("overhead", 0, 20),
            ("network", 0, 150),
            ("wait", 0, 900),
            ("network", 0, 1200),
            ("overhead", 1, 30),
        ])
    );
    assert_eq!(
        steps(&rows, "B"),
        kinds(&[("overhead", 0, 20), ("network", 0, 1350), ("overhead", 1, 30)])
    );
    let a = &paths.jobs[0];
    assert_eq!(
        (a.time_ns, a.compute_ns, a.overhead_ns, a.transfer_ns, a.wait_ns),
        (2400.0, 100.0, 50.0, 1350.0, 900.0)
    );
    let [wait] = a.waits.as_slice() else {
        panic!("{:?}", a.waits)
    };
    assert_eq!((wait.holder.as_deref(), wait.wait_ns), (Some("B"), 900.0));
    assert_eq!(
        (wait.unit.as_deref(), wait.numbers.as_slice()),
        (Some("router"), &[0][..])
    );
    assert_eq!(wait.share_of_communication, 900.0 / 2300.0);
    let says = format!(
        "39.1 % of its communication time (900 ns) is spent waiting for {}, held by job B",
        wait.place
    );
    assert!(a.text.contains(&says), "{}", a.text);
    let [link] = a.links.as_slice() else {
        panic!("{:?}", a.links)
    };
    assert!(
        link.from.starts_with("router 0 ") && link.to.starts_with("router 1 "),
        "{link:?}"
    );
}

/// The messages have ten packets each, which alternate on the cable.
#[test]
fn two_jobs_share_a_cable_packet_by_packet() {
    let pair = || vec![vec![send(1, 10_000)], vec![receive(0, 10_000)]];
    let mut late = pair();
    late[0].insert(0, compute(100));
    let result = run(&jobs_on(
        &format!("{TWO_ROUTERS}{ALL}"),
        vec![
            job("A", late, &settings(100_000), &[0, 2]),
            job("B", pair(), &settings(100_000), &[1, 3]),
        ],
    ));
    let (paths, rows) = explained(&result);
    assert_whole("ten packets", &paths, &rows, &result);
    let parts = |path: &CriticalPath| (path.time_ns, path.transfer_ns, path.wait_ns);
    // The last packet of A starts onto the cable at 1170 + 9 * 2000.
    assert_eq!(parts(&paths.jobs[0]), (20_400.0, 10_350.0, 9_900.0));
    assert_eq!(parts(&paths.jobs[1]), (19_400.0, 10_350.0, 9_000.0));
    for (path, holder) in paths.jobs.iter().zip(["B", "A"]) {
        let [wait] = path.waits.as_slice() else {
            panic!("{:?}", path.waits)
        };
        assert_eq!(wait.holder.as_deref(), Some(holder));
        let reasons: Vec<&str> = wait.reasons.iter().map(|reason| reason.reason.as_str()).collect();
        assert_eq!(reasons, ["wire"]);
    }
}

/// No other message interferes, so a message of many packets is in transfer all the time.
#[test]
fn a_long_message_waits_for_no_other_if_it_is_alone() {
    let programs = vec![vec![send(1, 50_000)], vec![receive(0, 50_000)]];
    let network = format!("{TWO_ROUTERS}{ALL}");
    let result = run(&jobs_on(
        &network,
        vec![job("A", programs, &settings(100_000), &[0, 2])],
    ));
    let (paths, rows) = explained(&result);
    assert_whole("alone", &paths, &rows, &result);
    let a = &paths.jobs[0];
    assert_eq!((a.transfer_ns, a.wait_ns), (50_350.0, 0.0), "{}", a.text);
}

/// The receiver of a rendezvous is busy. The actions of the sender have no effect.
#[test]
fn a_late_receiver_is_what_a_rendezvous_waits_for() {
    let programs = vec![vec![send(1, 1000)], vec![compute(50_000), receive(0, 1000)]];
    let network = format!("{TWO_ROUTERS}{ALL}");
    let result = run(&jobs_on(
        &network,
        vec![job("A", programs, &settings(0), &[0, 2])],
    ));
    let (paths, rows) = explained(&result);
    assert_whole("late receiver", &paths, &rows, &result);
    let expected = [
        ("compute", 1, 50_000),
        ("network", 1, 414),
        ("network", 0, 1350),
        ("overhead", 1, 30),
    ];
    let expected = expected.map(|(kind, rank, ns)| (kind.to_string(), rank, ns));
    assert_eq!(steps(&rows, "A"), expected);
}

/// All operations of ranks, by every protocol.
#[test]
fn paths_have_no_gap_whatever_ranks_do() {
    let network = format!(
        "[network]\ntopology = {{ kind = \"torus\", sizes = [3, 3] }}\nrouting = {{ algorithm = \"dimension-order\" }}\n{ALL}"
    );
    for eager_threshold in [0, 8 << 10, 1 << 20] {
        for gap in [0, 40] {
            for overhead in [0, 250] {
                let settings = MpiSettings {
                    eager_threshold,
                    nic_gap: Time::from_ns(gap),
                    send_overhead: Time::from_ns(overhead),
                    receive_overhead: Time::from_ns(overhead / 2),
                    matching_overhead: Time::from_ns(gap / 2),
                    ..MpiSettings::default()
                };
                let hosts = [0, 3, 4, 4, 7, 8];
                let programs = mpi_semantics::programs();
                let result = run(&jobs_on(&network, vec![job("all", programs, &settings, &hosts)]));
                let (paths, rows) = explained(&result);
                let name = format!("eager {eager_threshold}, gap {gap}, overhead {overhead}");
                assert_whole(&name, &paths, &rows, &result);
            }
        }
    }
}

#[test]
fn paths_of_applications_have_no_gap() {
    let mut messages = 0;
    for (name, experiment) in with_ranks() {
        let result = run(&experiment);
        let (paths, rows) = explained(&result);
        assert_whole(&name, &paths, &rows, &result);
        messages += paths.jobs.iter().map(|path| path.messages).sum::<u64>();
    }
    assert!(messages > 500, "{messages}");
}

/// Computation, memory and links of a path by construction.
fn shares(network: &str, programs: Vec<Vec<workload::Operation>>, hosts: &[u32]) -> CriticalPath {
    let settings = settings(1_000_000);
    let result = run(&jobs_on(
        &format!("{network}{ALL}"),
        vec![job("a", programs, &settings, hosts)],
    ));
    let (mut paths, rows) = explained(&result);
    assert_whole("a", &paths, &rows, &result);
    println!("{}", paths.jobs[0].text);
    paths.jobs.swap_remove(0)
}

fn share(path: &CriticalPath, cause: &str) -> f64 {
    let causes = path.bound_by.as_ref().expect("it finished").causes();
    let found = causes.iter().find(|(name, _)| name == cause);
    found.unwrap_or_else(|| panic!("no {cause} in {causes:?}")).1
}

/// The cable between the routers has a tenth of the bandwidth of the links of hosts: 49 of 50 packets queue for it.
#[test]
fn bytes_that_queue_for_a_narrow_link_are_of_its_class() {
    let narrow = TWO_ROUTERS.to_string() + "links = { dimension-0.bandwidth = \"0.8 Gbps\" }\n";
    let path = shares(
        &narrow,
        vec![vec![send(1, 50_000)], vec![receive(0, 50_000)]],
        &[0, 2],
    );
    let bytes = 490_000.0 / path.time_ns;
    assert!(
        (share(&path, "dimension-0 links") - bytes).abs() < 0.005,
        "{}",
        path.text
    );
    assert_eq!(path.contributions[0].cause, "dimension-0 links", "{}", path.text);
    let even = shares(
        TWO_ROUTERS,
        vec![vec![send(1, 50_000)], vec![receive(0, 50_000)]],
        &[0, 2],
    );
    assert!(share(&even, "injection links") > 0.9, "{}", even.text);
}

/// Rank 2 computes 900 us longer than the others before the same call.
#[test]
fn imbalance_names_rank_and_call() {
    let program = |rank: u32| {
        let ns = if rank == 2 { 1_300_000 } else { 100_000 };
        match rank {
            0 => vec![compute(ns), receive(1, 8), receive(2, 8), receive(3, 8)],
            _ => vec![compute(ns), send(0, 8)],
        }
    };
    let path = shares(TWO_ROUTERS, (0..4).map(program).collect(), &[0, 1, 2, 3]);
    let first = &path.contributions[0];
    assert_eq!(
        (first.cause.as_str(), first.rank),
        ("imbalance", Some(2)),
        "{}",
        path.text
    );
    assert_eq!(first.call.as_deref(), Some("MPI_Send"), "{first:?}");
    // The mean before MPI_Send is that of ranks 1 to 3, 500 us; that of a rank is 400 us.
    assert_eq!(first.time_ns, 800_000.0, "{first:?}");
    let says = "imbalance: rank 2 computes 800 µs";
    assert!(
        path.text.contains(says) && path.text.contains("before MPI_Send"),
        "{}",
        path.text
    );
    let second = &path.contributions[1];
    assert_eq!(
        (second.cause.as_str(), second.time_ns),
        ("computation", 400_000.0),
        "{second:?}"
    );
    assert!(
        !path.text.contains("\n  link "),
        "small waits have no line: {}",
        path.text
    );
}

/// Each rank computes when it has the token.
#[test]
fn a_chain_of_computations_is_imbalance_of_no_single_rank() {
    let program = |rank: u32| {
        let mut program = vec![compute(100_000)];
        if rank > 0 {
            program.insert(0, receive(rank - 1, 8));
        }
        if rank < 3 {
            program.push(send(rank + 1, 8));
        }
        program
    };
    let path = shares(TWO_ROUTERS, (0..4).map(program).collect(), &[0, 1, 2, 3]);
    let first = &path.contributions[0];
    assert_eq!(
        (first.cause.as_str(), first.rank, first.time_ns),
        ("imbalance", None, 300_000.0)
    );
    assert!(
        path.text.contains("computations beyond the mean of a rank"),
        "{}",
        path.text
    );
}

/// The ranks of one host exchange through its memory.
#[test]
fn memory_is_apart_from_links() {
    let path = shares(
        TWO_ROUTERS,
        vec![vec![send(1, 500_000)], vec![receive(0, 500_000)]],
        &[0, 0],
    );
    assert!(share(&path, "memory bandwidth") > 0.9, "{}", path.text);
    assert_eq!(share(&path, "injection links"), 0.0, "{}", path.text);
}
