//! The router model `analytic`: closed forms of LogGP, and what it bounds.

use des::Time;
use mpi::MpiSettings;
use proptest::prelude::*;
use workload::{Call, Operation};

use crate::support::{compute, job, jobs_on, receive, run, send, table};
use crate::tracing::{ids, numbers};

/// 72 hosts. A path has injection (20 ns and 100 ns in the router), local and global links, and ejection.
fn dragonfly(model: &str) -> String {
    format!(
        "[network]\n\
         topology = {{ kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2 }}\n\
         routing = {{ algorithm = \"minimal\" }}\n\
         router = {{ model = \"{model}\", delay = \"100 ns\", buffer = \"64 KiB\" }}\n\
         link = {{ bandwidth = \"80 Gbps\", latency = \"50 ns\" }}\n\
         links.global = {{ latency = \"300 ns\" }}\n\
         links.host = {{ bandwidth = \"80 Gbps\", latency = \"20 ns\" }}\n\
         packet = \"1 KiB\"\n\n[collect]\ntimeline = true\n"
    )
}

/// Ranks without overheads on these hosts; messages are never asked for.
fn times(
    network: &str,
    programs: Vec<Vec<Operation>>,
    hosts: &[u32],
    settings: &MpiSettings,
) -> Vec<(u32, u32, u64)> {
    let result = run(&jobs_on(network, vec![job("list", programs, settings, hosts)]));
    let rows = table(&result, "messages");
    let (from, to, arrived) = (
        ids(rows, "from_rank"),
        ids(rows, "to_rank"),
        numbers(rows, "arrived_ps"),
    );
    let mut times: Vec<_> = (0..rows.rows())
        .map(|row| (from[row], to[row], arrived[row]))
        .collect();
    times.sort_unstable();
    times
}

fn without_overheads() -> MpiSettings {
    MpiSettings {
        eager_threshold: u64::MAX,
        send_overhead: Time::ZERO,
        receive_overhead: Time::ZERO,
        header_bytes: 0,
        ..MpiSettings::default()
    }
}

/// Time of a byte on the link of a host, 8 bits at 80 Gbps, and latency of its cable with the pipeline of a router.
const BYTE: u64 = 100;
const HOST: u64 = 20_000;
const PIPELINE: u64 = 100_000;

/// L of two hosts: of one router; of one group; of two groups whose link is at neither router.
const LATENCIES: [(u32, u64); 3] = [
    (1, HOST + PIPELINE + HOST),
    (3, HOST + PIPELINE + 50_000 + PIPELINE + HOST),
    (
        47,
        HOST + PIPELINE + 50_000 + PIPELINE + 300_000 + PIPELINE + 50_000 + PIPELINE + HOST,
    ),
];

#[test]
fn a_message_takes_overhead_latency_and_its_bytes() {
    let settings = MpiSettings {
        send_overhead: Time::from_ns(700),
        ..without_overheads()
    };
    for bytes in [1, 1000, 1024, 5000] {
        for (host, latency) in LATENCIES {
            let programs = vec![vec![send(1, bytes)], vec![receive(0, bytes)]];
            let found = times(&dragonfly("analytic"), programs.clone(), &[0, host], &settings);
            assert_eq!(
                found,
                [(0, 1, 700_000 + latency + bytes * BYTE)],
                "{bytes} B to {host}"
            );
            // Alone, a message takes as long packet by packet.
            assert_eq!(
                found,
                times(&dragonfly("packet"), programs, &[0, host], &settings)
            );
        }
    }
}

/// Messages of a host follow each other on its link, and those to a host on that one: the gap of LogGP is the time of
/// the bytes.
#[test]
fn ports_of_hosts_are_servers() {
    let bytes = 1000;
    let (near, far) = (LATENCIES[0].1, LATENCIES[2].1);
    let settings = without_overheads();
    let fan_out = vec![
        vec![send(1, bytes), send(2, bytes), send(1, bytes)],
        vec![receive(0, bytes), receive(0, bytes)],
        vec![receive(0, bytes)],
    ];
    let found = times(&dragonfly("analytic"), fan_out, &[0, 1, 47], &settings);
    let sent = |number: u64| number * bytes * BYTE;
    assert_eq!(
        found,
        [
            (0, 1, near + sent(1)),
            (0, 1, near + sent(3)),
            (0, 2, far + sent(2))
        ]
    );
    // Ranks 1 to 6 are in one group and send to rank 0 in another one: over one link between the groups, which is a
    // server in `packet` only. Their messages arrive together, and are received one after the other.
    let fan_in: Vec<Vec<Operation>> = (0..7)
        .map(|rank| match rank {
            0 => (1..7).map(|from| receive(from, bytes)).collect(),
            _ => vec![compute(u64::from(rank == 1) * 10), send(0, bytes)],
        })
        .collect();
    let hosts = [0, 40, 41, 42, 43, 44, 45];
    let mut arrived: Vec<u64> = times(&dragonfly("analytic"), fan_in, &hosts, &settings)
        .into_iter()
        .map(|(.., arrived)| arrived)
        .collect();
    arrived.sort_unstable();
    let gaps: Vec<u64> = arrived.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap >= bytes * BYTE), "{gaps:?}");
    assert!(
        gaps.iter().filter(|gap| **gap == bytes * BYTE).count() >= 3,
        "{gaps:?}"
    );
}

/// A message of a host to each of some others, in the order of their numbers, and receives of all that come.
fn exchange(sends: &[(u32, u32, u64)], ranks: u32) -> Vec<Vec<Operation>> {
    let program = |rank: u32| {
        let mut operations: Vec<Operation> = sends
            .iter()
            .zip(0..)
            .filter(|((_, to, _), _)| *to == rank)
            .map(|((from, _, bytes), number)| Operation::Receive {
                from: Some(*from),
                tag: Some(number),
                communicator: 0,
                bytes: *bytes,
                request: Some(number.into()),
                call: Call::Irecv,
            })
            .collect();
        let awaited: Vec<u64> = (operations.iter())
            .filter_map(|operation| match operation {
                Operation::Receive { request, .. } => *request,
                _ => None,
            })
            .collect();
        for ((_, to, bytes), number) in sends.iter().zip(0..).filter(|((from, ..), _)| *from == rank) {
            operations.push(Operation::Send {
                to: *to,
                tag: number,
                communicator: 0,
                bytes: *bytes,
                request: None,
                call: Call::Send,
            });
        }
        operations.push(Operation::Wait {
            requests: awaited,
            call: Call::Waitall,
        });
        operations
    };
    (0..ranks).map(program).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Where each host gets messages from one other only, no message is earlier with contention in the network.
    #[test]
    fn no_message_is_earlier_where_no_ejection_port_is_shared(
        step in 1u32..72,
        sizes in prop::collection::vec((0u32..72, 1u64..9000), 1..150),
    ) {
        let sends: Vec<_> = sizes.iter().map(|(from, bytes)| (*from, (from + step) % 72, *bytes)).collect();
        let hosts: Vec<u32> = (0..72).collect();
        let of = |model| times(&dragonfly(model), exchange(&sends, 72), &hosts, &without_overheads());
        let (analytic, packet) = (of("analytic"), of("packet"));
        for (bound, found) in analytic.iter().zip(packet) {
            prop_assert_eq!((bound.0, bound.1), (found.0, found.1));
            prop_assert!(bound.2 <= found.2, "{:?} {:?}", bound, found);
        }
    }
}

/// Where an ejection port is shared it is no bound: contention elsewhere holds up the long packet of host 0, so that
/// the short one of host 5 is before it at host 4. `docs/methods/analytic.md` has this example.
#[test]
fn a_shared_ejection_port_makes_it_an_estimate() {
    let of = |model: &str| {
        let network = format!(
            "[network]\ntopology = {{ kind = \"mesh\", sizes = [3], hosts_per_router = 2 }}\n\
             routing = {{ algorithm = \"dimension-order\" }}\nlink = {{ bandwidth = \"100 Gbps\", latency = \"50 ns\" }}\n\
             router = {{ model = \"{model}\", delay = \"100 ns\", buffer = \"64 KiB\" }}\npacket = \"4 KiB\"\n\
             \n[collect]\ntimeline = true\n"
        );
        let programs = vec![
            vec![compute(1), send(4, 4096)],
            vec![send(5, 4096)],
            vec![],
            vec![],
            vec![receive(0, 4096), receive(5, 64)],
            // 300 ns for the links and routers that its packet does not cross, and 20 ns behind the long one.
            vec![compute(321), send(4, 64), receive(1, 4096)],
        ];
        let found = times(&network, programs, &[0, 1, 2, 3, 4, 5], &without_overheads());
        found
            .into_iter()
            .find(|(from, ..)| *from == 5)
            .expect("the short message")
            .2
    };
    let (analytic, packet) = (of("analytic"), of("packet"));
    assert!(packet + 200_000 < analytic, "{packet} {analytic}");
}

/// Schedules of LogGOPSim (spcl/LogGOPSim) with the end of each rank, in ns, with one CPU for each rank, L = 2,500 ns,
/// o = 1,500 ns, g = G = 8 ns, all messages eager.
const LOGGOPSIM: &str = include_str!("../references/loggopsim.txt");

/// The schedules in which ranks end at other times, and why.
const LOGGOPSIM_DIFFERS: [(&str, &str); 5] = [
    (
        "scatter_12_4000",
        "the CPU waits until the bytes of the message before are sent",
    ),
    (
        "gather_8_500_at_once",
        "the CPU of the receiver is busy while the bytes of a message come",
    ),
    (
        "tree_down_14",
        "the CPU waits until the bytes of the message before are sent",
    ),
    (
        "tree_down_16",
        "the CPU waits until the bytes of the message before are sent",
    ),
    (
        "tree_up_12",
        "a message takes the CPU when it comes, before the computation that is next",
    ),
];

#[test]
fn schedules_end_as_in_loggopsim() {
    let folder = tempfile::tempdir().expect("a folder");
    for case in LOGGOPSIM.split("case ").skip(1) {
        let (name, rest) = case.split_once('\n').expect("a name");
        let (schedule, ends) = rest.split_once("ends ").expect("ends");
        let expected: Vec<u64> = ends
            .split_whitespace()
            .map(|end| end.parse().expect("ns"))
            .collect();
        let path = folder.path().join(format!("{name}.goal"));
        std::fs::write(&path, schedule).expect("written");
        // LogGP counts all bytes of a message but the first; here L is shorter by that one.
        let text = format!(
            "[network]\n\
             topology = {{ kind = \"hyperx\", shape = [1], hosts_per_router = 16 }}\n\
             routing = {{ algorithm = \"minimal\" }}\n\
             router = {{ model = \"analytic\", delay = \"2000 ns\", buffer = \"1 MiB\" }}\n\
             link = {{ bandwidth = \"1 Gbps\", latency = \"246 ns\" }}\n\
             packet = \"128 KiB\"\n\
             [mpi]\n\
             send_overhead = \"1500 ns\"\nreceive_overhead = \"1500 ns\"\nheader_size = \"0 B\"\neager_threshold = \"1 GiB\"\n\
             [[job]]\nworkload = {{ goal = \"{}\" }}\n",
            path.display()
        );
        let result = run(&crate::support::experiment(&text));
        let ends: Vec<u64> = numbers(table(&result, "ranks"), "time_ps")
            .iter()
            .map(|ps| ps / 1000)
            .collect();
        let reason = LOGGOPSIM_DIFFERS.iter().find(|(differs, _)| *differs == name);
        println!("{name}: {ends:?}, LogGOPSim {expected:?}");
        match reason {
            None => assert_eq!(ends, expected, "{name}"),
            Some((_, why)) => assert_ne!(ends, expected, "{name} is equal; this is left out because {why}"),
        }
    }
}
