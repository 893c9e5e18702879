//! Simulations that are stepped from outside.

use std::fmt::Write as _;

use experiment::ExperimentSource;
use results::RunResult;
use sim::{DeliveredMessage, Error, Session};

use crate::support::{experiment, run, table};
use crate::tracing::{ids, numbers};

/// 16 hosts. A hop takes 100 ns in a router; links have 25 Gbps and 50 ns.
const NETWORK: &str = r#"
[network]
topology = { kind = "dragonfly", hosts_per_router = 2, routers_per_group = 2, global_links_per_router = 1 }
routing = { algorithm = "minimal" }
link = { bandwidth = "25 Gbps", latency = "50 ns" }
router = { delay = "100 ns", buffer = "8 KiB" }
packet = "1 KiB"
"#;

const HOSTS: u32 = 12;

fn open(text: &str) -> Session {
    let source = ExperimentSource::of_text(text, "session.toml", Vec::new());
    Session::open(&source, &[], None).unwrap_or_else(|error| panic!("{error}"))
}

/// Time in ns, source, destination and bytes of messages that meet each other, each with its number.
fn messages() -> Vec<(u64, u32, u32, u64)> {
    let mut state = 1u64;
    let mut below = |bound: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut messages: Vec<_> = (0..150)
        .map(|_| {
            let (from, step) = (below(HOSTS.into()), 1 + below(u64::from(HOSTS) - 1));
            let to = (from + step) % u64::from(HOSTS);
            (below(20_000), from as u32, to as u32, 1 + below(9000))
        })
        .collect();
    messages.sort_unstable();
    messages
}

/// The messages as a schedule: each host sends its own at their times, and receives from the others meanwhile.
fn schedule() -> String {
    let mut text = format!("num_ranks {HOSTS}\n");
    for host in 0..HOSTS {
        writeln!(text, "rank {host} {{").unwrap();
        let mut last = (0, None);
        for (number, (at, from, to, bytes)) in messages().into_iter().enumerate() {
            if to == host {
                writeln!(text, "r{number}: recv {bytes}b from {from} tag {number}").unwrap();
            }
            if from == host {
                writeln!(text, "c{number}: calc {}", at - last.0).unwrap();
                if let Some(before) = last.1 {
                    writeln!(text, "c{number} requires c{before}").unwrap();
                }
                writeln!(text, "s{number}: send {bytes}b to {to} tag {number}").unwrap();
                writeln!(text, "s{number} requires c{number}").unwrap();
                last = (at, Some(number));
            }
        }
        writeln!(text, "}}").unwrap();
    }
    text
}

/// Times of sending and delivery, hosts and bytes of each message between hosts.
fn times(result: &RunResult) -> Vec<(u64, u64, u32, u32, u64)> {
    let rows = table(result, "messages");
    let (sent, arrived) = (numbers(rows, "sent_ps"), numbers(rows, "arrived_ps"));
    let (from, to, bytes) = (
        ids(rows, "from_host"),
        ids(rows, "to_host"),
        numbers(rows, "bytes"),
    );
    let mut times: Vec<_> = (0..rows.rows())
        .filter(|row| from[*row] != to[*row])
        .map(|row| (sent[row], arrived[row], from[row], to[row], bytes[row]))
        .collect();
    times.sort_unstable();
    times
}

#[test]
fn messages_take_as_long_as_those_of_a_schedule() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("messages.goal");
    std::fs::write(&path, schedule()).expect("a file");
    let of_schedule = run(&experiment(&format!(
        "{NETWORK}\n[mpi]\nsend_overhead = \"0 ps\"\nreceive_overhead = \"0 ps\"\nheader_size = \"0 B\"\n\
         eager_threshold = \"1 GiB\"\n[[job]]\nworkload = {{ goal = \"{}\" }}\n[collect]\ntimeline = true\n",
        path.display()
    )));
    let mut session = open(&format!("{NETWORK}\n[collect]\ntimeline = true\n"));
    let mut deliveries = Vec::new();
    let mut left = messages().into_iter().peekable();
    // In steps of 700 ns, and each message only in the step before it is sent.
    for until_ps in (0..20_000_000).step_by(700_000) {
        while let Some((at, from, to, bytes)) = left.next_if(|message| message.0 * 1000 < until_ps + 700_000)
        {
            session.send(at * 1000, from, to, bytes).expect("it can be sent");
        }
        let new = session.advance(until_ps).expect("it goes on");
        assert!(new.iter().all(|delivery| delivery.time_ps < until_ps));
        deliveries.extend(new);
        assert_eq!(session.now_ps(), until_ps);
    }
    assert_eq!(left.next(), None);
    assert!(!deliveries.is_empty());
    let (rest, result) = session.finish().expect("it ends");
    deliveries.extend(rest);
    assert!(deliveries.is_sorted_by_key(|delivery| delivery.time_ps));
    let of_session = times(&result);
    assert_eq!(of_session.len(), messages().len());
    assert_eq!(of_session, times(&of_schedule));
    // Each delivery is told with the number of its message.
    let mut told: Vec<_> = deliveries
        .iter()
        .map(|delivery| {
            let (at, from, to, bytes) = messages()[delivery.message as usize];
            (at * 1000, delivery.time_ps, from, to, bytes)
        })
        .collect();
    told.sort_unstable();
    assert_eq!(told, of_session);
}

/// A message of 1000 B takes 320 ns on each link, is cut through, and passes two links and a router.
#[test]
fn what_is_sent_may_depend_on_what_was_delivered() {
    let mut session = open(NETWORK);
    let (mut from, mut to, mut at) = (0, 1, 5_000_000);
    for _ in 0..4 {
        let message = session.send(at, from, to, 1000).expect("it can be sent");
        let time_ps = at + 520_000;
        assert_eq!(session.advance(time_ps).expect("it goes on"), []);
        let delivered = session.advance(time_ps + 1).expect("it goes on");
        assert_eq!(delivered, [DeliveredMessage { message, time_ps }]);
        // The answer leaves one picosecond after the delivery.
        (from, to, at) = (to, from, time_ps + 1);
    }
    session.finish().expect("it ends");
}

#[test]
fn other_jobs_run_beside_it() {
    let beside = format!(
        "{NETWORK}\n[[job]]\nname = \"noise\"\ntraffic = {{ pattern = \"uniform\", load = 0.8 }}\n\
         [[job]]\nname = \"two\"\nworkload = {{ motif = \"ping-pong\", ranks = 2, bytes = \"64 KiB\" }}\n"
    );
    // The end of the file is not that of the session, for its bins neither.
    let mut session = open(&format!(
        "{beside}[run]\nuntil = \"1 us\"\nexecutor = \"optimistic\"\n"
    ));
    assert_eq!(
        session.hosts().collect::<Vec<_>>(),
        (2..HOSTS).collect::<Vec<_>>()
    );
    let taken = session.send(0, 0, 5, 8).unwrap_err().to_string();
    assert!(taken.contains("host 0 has no part in it"), "{taken}");
    session.send(0, 2, 11, 100_000).expect("it can be sent");
    let mut delivered = Vec::new();
    while delivered.is_empty() {
        delivered = session.advance(session.now_ps() + 1_000_000).expect("it goes on");
    }
    let mut alone = open(NETWORK);
    alone.send(0, 2, 11, 100_000).expect("it can be sent");
    let (alone, _) = alone.finish().expect("it ends");
    assert!(
        delivered[0].time_ps > alone[0].time_ps,
        "{delivered:?}, alone {alone:?}"
    );
    let (_, result) = session.finish().expect("it ends");
    assert!(result.summary.run.simulated_ns > 20_000.0);
    let of_run = &result.summary.experiment["run"];
    assert!(of_run["until"].is_null(), "{of_run}");
    assert_eq!(of_run["executor"], "sequential");
    let finished: Vec<bool> = result.summary.jobs.iter().map(|job| job.finished).collect();
    assert_eq!(finished[1..], [true, true]);
}

#[test]
fn a_session_ends_at_any_time_and_refuses_what_cannot_be() {
    drop(open(NETWORK));
    let mut session = open(NETWORK);
    session.send(1000, 0, 1, 1).expect("it can be sent");
    session.advance(500).expect("it goes on");
    for (error, expected) in [
        (
            session.send(499, 0, 1, 1).err(),
            "499 ps is past, as the session is at 500 ps",
        ),
        (session.send(500, 0, 1, 0).err(), "expected at least 1 B"),
        (session.send(500, 0, HOSTS, 1).err(), "host 12 has no part in it"),
        (session.advance(499).err(), "expected this time or a later one"),
    ] {
        let error = error.expect("it is refused").to_string();
        assert!(error.contains(expected), "{error}");
    }
    let interrupted = session.advance_while(1 << 60, || false);
    assert!(matches!(interrupted, Err(Error::Interrupted)), "{interrupted:?}");
    assert!(
        session
            .advance(1 << 60)
            .unwrap_err()
            .to_string()
            .contains("it has ended")
    );
    let refused = |text: &str, hosts: &[u32]| {
        let source = ExperimentSource::of_text(text, "session.toml", Vec::new());
        match Session::open(&source, &[], Some(hosts)) {
            Ok(_) => panic!("{hosts:?} are accepted"),
            Err(error) => error.to_string(),
        }
    };
    assert!(refused(NETWORK, &[]).contains("no host is left"));
    assert!(refused(NETWORK, &[3, 3]).contains("host 3 is given twice"));
    assert!(refused(NETWORK, &[12]).contains("expected hosts from 0 to 11"));
    assert!(refused("[network]\n", &[0]).contains("topology"));
    let ring = format!("{NETWORK}\n[[job]]\nworkload = {{ motif = \"ping-pong\", ranks = 2 }}\n");
    assert!(refused(&ring, &[1, 2]).contains("host 1 has ranks of a job"));
}
