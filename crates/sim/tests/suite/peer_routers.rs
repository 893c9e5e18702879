//! The router models against those of SST/macro, on lists of messages: when each message is complete.
//!
//! `tests/references` has the cases: networks, parameters, messages, and the times of the peer in picoseconds (facts,
//! measured with SST/macro 15d5cd25). Messages reach the NIC without software, packet by packet in their order.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use mpi::MpiSettings;
use routing::{At, Congestion, Hop, Random, RouteState, Routing};
use topology::{Peer, Port, Topology};
use workload::{Call, Operation};

use crate::support::{job, jobs_on, run, table};
use crate::tracing::{ids, numbers};

/// A list of messages on a network, with the times of a peer.
struct Case {
    name: String,
    parameters: BTreeMap<String, String>,
    /// Switch of each host.
    hosts: Vec<u32>,
    /// Pairs of switches.
    links: Vec<(u32, u32)>,
    /// The next switch, by switch and destination.
    routes: BTreeMap<(u32, u32), u32>,
    messages: Vec<ListedMessage>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct ListedMessage {
    at_ps: u64,
    from: u32,
    to: u32,
    bytes: u64,
    /// Of the peer. Bandwidths that do not divide the bytes give parts of a picosecond.
    done_ps: f64,
}

fn cases(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/references")
        .join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.split("\n\n").map(case).collect()
}

fn case(text: &str) -> Case {
    let mut case = Case {
        name: String::new(),
        parameters: BTreeMap::new(),
        hosts: Vec::new(),
        links: Vec::new(),
        routes: BTreeMap::new(),
        messages: Vec::new(),
    };
    let numbers =
        |text: &str, by: char| -> Vec<u32> { text.split(by).map(|n| n.parse().expect("a number")).collect() };
    for line in text.lines() {
        let (kind, rest) = line.split_once(' ').expect("a line has a kind");
        match kind {
            "case" => case.name = rest.into(),
            "title" => {}
            "set" => {
                let (key, value) = rest.split_once(' ').expect("a value");
                case.parameters.insert(key.into(), value.into());
            }
            "hosts" => case.hosts = numbers(rest, ' '),
            "links" => {
                let pairs = rest.split(' ').map(|pair| numbers(pair, '-'));
                case.links = pairs.map(|pair| (pair[0], pair[1])).collect();
            }
            "routes" => {
                let steps = rest.split(' ').map(|step| numbers(step, '>'));
                case.routes = steps.map(|step| ((step[0], step[1]), step[2])).collect();
            }
            "message" => {
                let cells: Vec<&str> = rest.split(' ').collect();
                case.messages.push(ListedMessage {
                    at_ps: cells[0].parse().expect("a time"),
                    from: cells[1].parse().expect("a host"),
                    to: cells[2].parse().expect("a host"),
                    bytes: cells[3].parse().expect("bytes"),
                    done_ps: cells[4].parse().expect("a time"),
                });
            }
            _ => panic!("{line}"),
        }
    }
    case
}

/// Routes of a table.
struct Tables {
    topology: Arc<dyn Topology>,
    next: BTreeMap<(u32, u32), u32>,
}

impl Tables {
    fn hop(&self, at: At) -> Hop {
        let (router, own) = self.topology.attachment(at.destination);
        let leads_on = |port: &Port| match self.topology.peer(at.router, *port) {
            Peer::Router(to, _) => self.next.get(&(at.router.0, at.destination.0)) == Some(&to.0),
            _ => false,
        };
        let port = match router == at.router {
            true => own,
            false => {
                let mut ports = (0..self.topology.ports(at.router)).map(Port);
                ports.find(leads_on).expect("a route")
            }
        };
        Hop::new(port, 0)
    }
}

impl Routing for Tables {
    fn vcs(&self) -> u8 {
        1
    }

    fn route(&self, at: At, _: &mut RouteState, _: &dyn Congestion, _: &mut dyn Random) -> Hop {
        self.hop(at)
    }

    fn options(&self, at: At, state: RouteState, out: &mut Vec<(Hop, RouteState)>) {
        out.push((self.hop(at), state));
    }
}

impl Case {
    fn get(&self, key: &str) -> Option<&str> {
        self.parameters.get(key).map(String::as_str)
    }

    /// A bandwidth, which the peers call in bytes.
    fn time_ns(&self, key: &str) -> Option<u64> {
        self.get(key)?.strip_suffix("ns")?.parse().ok()
    }

    /// A file of BookSim's format.
    fn network(&self) -> String {
        let switches = self.links.iter().map(|(a, b)| *a.max(b)).max().unwrap_or(0) + 1;
        let mut text = String::new();
        for switch in 0..switches {
            write!(text, "router {switch}").unwrap();
            for (host, _) in self.hosts.iter().enumerate().filter(|(_, of)| **of == switch) {
                write!(text, " node {host}").unwrap();
            }
            for (_, to) in self.links.iter().filter(|(from, _)| *from == switch) {
                write!(text, " router {to}").unwrap();
            }
            writeln!(text).unwrap();
        }
        text
    }

    /// Completion of each message in a network of these settings, in ps.
    fn run(&self, settings: &str) -> Vec<u64> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("network.anynet");
        std::fs::write(&file, self.network()).expect("a file");
        let network = format!(
            "[network]\ntopology = {{ kind = \"graph\", file = \"{}\" }}\nrouting = {{ algorithm = \"minimal\" }}\n\
             packet = \"{}\"\n{settings}\n[collect]\ntimeline = true\n",
            file.display(),
            self.get("mtu").expect("a packet size").replace('B', " B"),
        );
        let mpi = MpiSettings {
            eager_threshold: u64::MAX,
            send_overhead: des::Time::ZERO,
            receive_overhead: des::Time::ZERO,
            header_bytes: 0,
            ..MpiSettings::default()
        };
        let hosts: Vec<u32> = (0..self.hosts.len() as u32).collect();
        let programs = hosts.iter().map(|host| self.program(*host)).collect();
        let mut experiment = jobs_on(&network, vec![job("list", programs, &mpi, &hosts)]);
        if !self.routes.is_empty() {
            let network = Arc::get_mut(&mut experiment.network).expect("no other owner yet");
            network.routing = Arc::new(Tables {
                topology: network.topology.clone(),
                next: self.routes.clone(),
            });
        }
        let result = run(&experiment);
        let rows = table(&result, "messages");
        let (from, to) = (ids(rows, "from_rank"), ids(rows, "to_rank"));
        let (sent, arrived) = (numbers(rows, "sent_ps"), numbers(rows, "arrived_ps"));
        // Those of one time and pair of hosts are complete in their order.
        let mut found: Vec<_> = (0..rows.rows())
            .map(|row| ((from[row], to[row], sent[row]), arrived[row]))
            .collect();
        found.sort_unstable();
        let mut order: Vec<usize> = (0..self.messages.len()).collect();
        order.sort_by_key(|number| {
            let message = &self.messages[*number];
            (message.from, message.to, message.at_ps)
        });
        let mut done = vec![0; self.messages.len()];
        for (number, ((from, to, sent), arrived)) in order.into_iter().zip(found) {
            let message = &self.messages[number];
            assert_eq!((from, to, sent), (message.from, message.to, message.at_ps));
            done[number] = arrived;
        }
        done
    }

    /// Receives of all messages to a host, and its sends at their times.
    fn program(&self, host: u32) -> Vec<Operation> {
        let messages = || self.messages.iter().zip(0u32..);
        let mut operations: Vec<Operation> = messages()
            .filter(|(message, _)| message.to == host)
            .map(|(message, number)| Operation::Receive {
                from: Some(message.from),
                tag: Some(number),
                communicator: 0,
                bytes: message.bytes,
                request: Some(number.into()),
                call: Call::Irecv,
            })
            .collect();
        let mut now = 0;
        for (message, number) in messages().filter(|(message, _)| message.from == host) {
            if message.at_ps > now {
                operations.push(Operation::Compute {
                    ps: message.at_ps - now,
                    region: None,
                });
                now = message.at_ps;
            }
            operations.push(Operation::Send {
                to: message.to,
                tag: number,
                communicator: 0,
                bytes: message.bytes,
                request: None,
                call: Call::Send,
            });
        }
        operations.push(Operation::Wait {
            requests: messages()
                .filter(|(message, _)| message.to == host)
                .map(|(_, number)| number.into())
                .collect(),
            call: Call::Waitall,
        });
        operations
    }
}

/// Largest difference in ps where the time of a byte is no whole number of picoseconds.
const ODD: f64 = 4.0;

/// SST/macro counts in units of 0.1 fs and cuts the time of a byte to it. Here each packet takes whole picoseconds,
/// rounded up, so that a packet behind others can be later by a picosecond for each of them.
fn tolerance(case: &Case) -> f64 {
    let divides = |key: &str| {
        let bandwidth = case.get(key).and_then(|text| text.strip_suffix("GB/s"));
        let bandwidth: f64 = bandwidth.expect("a bandwidth").parse().expect("a number");
        (1000.0 / bandwidth).fract() == 0.0
    };
    match ["injection_bandwidth", "link_bandwidth"]
        .iter()
        .all(|key| divides(key))
    {
        true => 0.0,
        false => ODD,
    }
}

/// Cases of SCULPIN with rules that are left out, and why.
const SCULPIN_LEFT_OUT: [(&str, &str); 2] = [
    (
        "s19_negligible",
        "SST/macro sends messages of at most 256 B beside the network by default",
    ),
    (
        "s21_tie_port_order",
        "it handles what comes in one instant by ports sorted as text, 10 before 2",
    ),
];

#[test]
fn output_queues_and_memory_are_sculpin() {
    let mut wrong = Vec::new();
    for case in cases("sculpin.txt") {
        if SCULPIN_LEFT_OUT.iter().any(|(name, _)| *name == case.name) {
            continue;
        }
        let latency = |key| case.time_ns(key).unwrap_or(0);
        let (injection, ejection) = (latency("injection_latency"), latency("ejection_latency"));
        let ejection = if ejection == 0 {
            latency("link_latency")
        } else {
            ejection
        };
        // One cable has one latency; what is more is a delay of the NIC.
        let cable = injection.min(ejection);
        let bandwidth = |key| case.get(key).expect("a bandwidth");
        let done = case.run(&format!(
            "router = {{ model = \"output-queued\", delay = \"0 ps\", buffer = \"1 GiB\" }}\n\
             link = {{ bandwidth = \"{link}\", latency = \"{latency} ns\" }}\n\
             links = {{ host = {{ latency = \"{cable} ns\" }} }}\n\
             nic_arbiter = \"in-order\"\nnic_injection_delay = \"{} ns\"\nnic_reception_delay = \"{} ns\"\n\
             nic = {{ injection_bandwidth = \"{inject}\", memory_bandwidth = \"{inject}\" }}",
            injection - cable,
            ejection - cable,
            link = bandwidth("link_bandwidth"),
            latency = latency("link_latency"),
            inject = bandwidth("injection_bandwidth"),
        ));
        for (message, done) in case.messages.iter().zip(done) {
            if (done as f64 - message.done_ps).abs() > tolerance(&case) {
                wrong.push(format!("{}: {message:?}: {done}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
