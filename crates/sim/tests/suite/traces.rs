//! Every recording beside the repository whose format can be read replays to its end on three networks, with the
//! messages and bytes of `trace info`. On a network without costs its time follows from the recorded computation.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Instant;

use experiment::Experiment;
use results::RunResult;
use workload::{Call, Operation, Program, TraceInfo, Workload};

use crate::support::{root, run, sum, table};

/// Three networks with enough hosts for the largest recording.
const NETWORKS: [(&str, &str); 3] = [
    (
        "fat tree",
        "topology = { kind = \"fat-tree\", levels = 3, radix = 8 }\nrouting = { algorithm = \"adaptive\" }",
    ),
    (
        "dragonfly",
        "topology = { kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2 }\n\
         routing = { algorithm = \"minimal\" }",
    ),
    (
        "torus",
        "topology = { kind = \"torus\", sizes = [4, 4, 4] }\nrouting = { algorithm = \"dimension-order\" }",
    ),
];

/// A recording that can be read.
struct Recording {
    name: String,
    path: PathBuf,
    /// The key of the table `workload`.
    format: &'static str,
    info: TraceInfo,
}

/// All recordings in the order of their names.
fn recordings() -> Vec<Recording> {
    let folder = root().join("../shared/traces");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        testkit::skipped!(
            "{} is missing; clone the traces beside the repository",
            folder.display()
        );
        return vec![];
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_dir());
    paths.sort();
    paths.into_iter().filter_map(recording).collect()
}

fn recording(path: PathBuf) -> Option<Recording> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let format = known_format(&path);
    let Some(format) = format else {
        testkit::skipped!("{name} is of no format that can be read");
        return None;
    };
    if format == "otf2" && !crate::support::otf2_is_available() {
        return None;
    }
    let info = workload::info(&path).unwrap_or_else(|e| panic!("{e}"));
    Some(Recording {
        name,
        path,
        format,
        info,
    })
}

/// The format of a folder's main file.
fn known_format(folder: &Path) -> Option<&'static str> {
    let mut files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files.find_map(|file| {
        let name = file.file_name()?.to_str()?;
        let of = workload::trace::FORMATS.iter().find(|f| (f.is_main)(name))?;
        let start = std::fs::read(&file).ok()?;
        (of.recognise)(&start[..start.len().min(256)]).then_some(of.name)
    })
}

fn replay(recording: &Recording, settings: &str) -> RunResult {
    let (key, path) = (recording.format, &recording.path);
    let text = format!("{settings}\n[[job]]\nname = \"trace\"\nworkload = {{ {key} = {path:?} }}\n");
    let experiment = Experiment::from_toml(&text, "replay.toml", &[]);
    run(&experiment.unwrap_or_else(|e| panic!("{}: {e}", recording.name)))
}

/// All recorded messages were sent, and all of them arrived.
fn assert_complete(result: &RunResult, info: &TraceInfo, what: &str) {
    let job = &result.summary.jobs[0];
    let ranks = table(result, "ranks");
    assert!(job.finished, "{what} comes to its end");
    assert_eq!(job.ranks, u64::from(info.ranks), "{what}");
    assert_eq!(
        sum(ranks, "messages_sent"),
        info.messages.count,
        "{what}: messages"
    );
    assert_eq!(sum(ranks, "bytes_sent"), info.messages.bytes, "{what}: bytes");
    for (sent, received) in [
        ("messages_sent", "messages_received"),
        ("bytes_sent", "bytes_received"),
        ("collective_messages_sent", "collective_messages_received"),
        ("collective_bytes_sent", "collective_bytes_received"),
    ] {
        assert_eq!(
            sum(ranks, sent),
            sum(ranks, received),
            "{what}: {sent} and {received}"
        );
    }
    assert_eq!(
        result.summary.network.packets_in_flight, 0,
        "{what}: all has arrived"
    );
}

#[test]
fn every_recording_to_its_end_on_every_network() {
    for recording in recordings() {
        for (network, settings) in NETWORKS {
            let start = Instant::now();
            let result = replay(&recording, &format!("[network]\n{settings}\npacket = \"4 KiB\""));
            let what = format!("{} on the {network}", recording.name);
            assert_complete(&result, &recording.info, &what);
            let ms = result.summary.jobs[0].time_ns / 1e6;
            eprintln!(
                "{what}: {ms:.3} ms, simulated in {:.1} s",
                start.elapsed().as_secs_f64()
            );
        }
    }
}

/// The latency of the links and the bandwidth below.
const LATENCY_PS: u64 = 1;
const PS_PER_BYTE: f64 = 0.008;

/// A switch whose links cost next to nothing, and an MPI library without costs.
fn free_network(ranks: u32) -> String {
    format!(
        "[network]\ntopology = {{ kind = \"hyperx\", shape = [1], hosts_per_router = {ranks} }}\n\
         routing = {{ algorithm = \"minimal\" }}\nlink = {{ bandwidth = \"1000 Tbps\", latency = \"{LATENCY_PS} ps\" }}\n\
         router = {{ delay = \"0 ns\", buffer = \"64 MiB\" }}\npacket = \"1 MiB\"\n\
         [mpi]\nsend_overhead = \"0 ns\"\nreceive_overhead = \"0 ns\"\nreduction_bandwidth = \"none\"\n\
         eager_threshold = \"1 GiB\"\n"
    )
}

/// On a network that costs nothing, with
///
/// - T, the predicted time; R, the recorded one (the longest of a rank);
/// - C, the longest computation of a rank;
/// - P, the longest chain of recorded computations in which each begins when those before it in its rank, and
///   those that its rank has had to wait for, have ended: messages arrive as they are sent, and a collective
///   ends for all when the last has come to it;
/// - E, what all messages cost there one after the other,
///
/// it holds that C <= T <= P + E: what the prediction exceeds the recording by, T - R, is at most what the
/// recorded computation explains, P - R, but for E. Where receives take any message, or sends wait for their
/// receivers, P is not known; then the sum of all computations stands for it, which no chain exceeds.
#[test]
fn a_free_network_takes_the_time_that_computation_explains() {
    for recording in recordings() {
        let workload = workload::open(&recording.path).unwrap();
        let result = replay(&recording, &free_network(recording.info.ranks));
        assert_complete(&result, &recording.info, &recording.name);
        let ranks = table(&result, "ranks");
        let messages = sum(ranks, "messages_sent") + sum(ranks, "collective_messages_sent");
        let bytes = sum(ranks, "bytes_sent") + sum(ranks, "collective_bytes_sent");
        // Two links; 32 B of header; times are whole picoseconds, rounded up at each step.
        let cost =
            messages * (2 * LATENCY_PS + 4) + ((bytes + 32 * messages) as f64 * 2.0 * PS_PER_BYTE) as u64;
        let computed = computed(&*workload);
        let longest = computed.iter().copied().max().unwrap_or(0);
        let chain = explained(&*workload).unwrap_or_else(|| computed.iter().sum());
        let predicted = (result.summary.jobs[0].time_ns * 1e3) as u64;
        let recorded = recording.info.span_ps;
        eprintln!(
            "{}: {} us computed by one rank <= {} us predicted <= {} us in a chain + {} us; recorded {} us",
            recording.name,
            longest / 1_000_000,
            predicted / 1_000_000,
            chain / 1_000_000,
            cost / 1_000_000,
            recorded / 1_000_000
        );
        assert!(
            predicted + 1 >= longest,
            "{}: faster than its ranks compute",
            recording.name
        );
        assert!(
            predicted <= chain + cost,
            "{}: {predicted} ps predicted, {chain} ps in a chain and {cost} ps for messages",
            recording.name
        );
    }
}

/// Envelope of messages that match in the order of sending: communicator, source, destination and tag.
type Envelope = (u32, u32, u32, u32);

/// The event that a request waits for.
#[derive(Clone, Copy)]
enum Awaited {
    Nothing,
    /// The n-th message of an envelope.
    Message(Envelope, usize),
    /// The n-th collective of a communicator.
    Collective(u32, usize),
}

/// A rank of the replay without a network.
struct Rank {
    program: Box<dyn Program>,
    clock: u64,
    requests: HashMap<u64, Awaited>,
    /// The event that the rank waits for now.
    awaited: Vec<Awaited>,
    collectives: HashMap<u32, usize>,
    finished: bool,
}

/// State shared by all ranks in the replay without a network.
#[derive(Default)]
struct World {
    /// Times at which the messages of each envelope were sent, and the number of posted receives for them.
    sent: HashMap<Envelope, Vec<u64>>,
    posted: HashMap<Envelope, usize>,
    /// Number of ranks in each collective of each communicator, and the time of the last one.
    met: HashMap<u32, Vec<(usize, u64)>>,
    communicators: Vec<Vec<u32>>,
    /// The end of an operation depends on more than this replay knows.
    uncertain: bool,
}

impl World {
    /// The time of the awaited event; `None` if it has not happened.
    fn time(&self, awaited: Awaited) -> Option<u64> {
        match awaited {
            Awaited::Nothing => Some(0),
            Awaited::Message(envelope, n) => self.sent.get(&envelope)?.get(n).copied(),
            Awaited::Collective(communicator, n) => {
                let (came, last) = self.met[&communicator][n];
                (came == self.communicators[communicator as usize].len()).then_some(last)
            }
        }
    }
}

/// Computation of each rank in picoseconds.
fn computed(workload: &dyn Workload) -> Vec<u64> {
    let rank = |rank| {
        let mut program = workload.program(rank).unwrap();
        let operations = std::iter::from_fn(|| program.next().unwrap());
        let spans = operations.map(|operation| match operation {
            Operation::Compute { ps, .. } => ps,
            _ => 0,
        });
        spans.sum()
    };
    (0..workload.ranks()).map(rank).collect()
}

/// The longest chain of computations in picoseconds; `None` if it cannot be known without a network.
fn explained(workload: &dyn Workload) -> Option<u64> {
    let mut world = World {
        communicators: workload.communicators().to_vec(),
        ..World::default()
    };
    let mut ranks: BTreeMap<u32, Rank> = (0..workload.ranks())
        .map(|rank| {
            let state = Rank {
                program: workload.program(rank).unwrap(),
                clock: 0,
                requests: HashMap::new(),
                awaited: vec![],
                collectives: HashMap::new(),
                finished: false,
            };
            (rank, state)
        })
        .collect();
    loop {
        let mut moved = false;
        for (number, rank) in &mut ranks {
            moved |= rank.go(*number, &mut world);
        }
        if world.uncertain {
            return None;
        }
        if ranks.values().all(|rank| rank.finished) {
            return ranks.values().map(|rank| rank.clock).max();
        }
        assert!(moved, "the ranks wait for each other");
    }
}

impl Rank {
    /// Continues as far as possible. Returns false if no operation could execute.
    fn go(&mut self, number: u32, world: &mut World) -> bool {
        let mut moved = false;
        while !self.finished && !world.uncertain {
            let times: Option<Vec<u64>> = self.awaited.iter().map(|a| world.time(*a)).collect();
            let Some(times) = times else {
                return moved;
            };
            self.clock = times.into_iter().fold(self.clock, u64::max);
            self.awaited.clear();
            moved = true;
            match self.program.next().unwrap() {
                Some(operation) => self.begin(operation, number, world),
                None => self.finished = true,
            }
        }
        moved
    }

    fn begin(&mut self, operation: Operation, number: u32, world: &mut World) {
        match operation {
            Operation::Compute { ps, .. } => {
                self.clock += ps;
            }
            Operation::Send {
                to,
                tag,
                communicator,
                request,
                call,
                ..
            } => {
                world.uncertain |= [Call::Ssend, Call::Issend].contains(&call);
                let to = world.communicators[communicator as usize][to as usize];
                let envelope = (communicator, number, to, tag);
                world.sent.entry(envelope).or_default().push(self.clock);
                self.start(request, Awaited::Nothing);
            }
            Operation::Receive {
                from,
                tag,
                communicator,
                request,
                ..
            } => {
                let Some((from, tag)) = from.zip(tag) else {
                    world.uncertain = true;
                    return;
                };
                let from = world.communicators[communicator as usize][from as usize];
                let envelope = (communicator, from, number, tag);
                let posted = world.posted.entry(envelope).or_default();
                *posted += 1;
                let awaited = Awaited::Message(envelope, *posted - 1);
                self.start(request, awaited);
            }
            Operation::Wait { requests, .. } => {
                let awaited = requests
                    .iter()
                    .map(|r| self.requests.remove(r).expect("an open request"));
                self.awaited = awaited.collect();
            }
            Operation::Collective {
                communicator,
                request,
                ..
            } => self.meet(communicator, request, world),
            Operation::Fence { communicator, .. } => self.meet(communicator, None, world),
            Operation::Put { .. } | Operation::Get { .. } | Operation::RepetitionEnd { .. } => {}
            Operation::Select { .. }
            | Operation::Iprobe { .. }
            | Operation::MatchedProbe { .. }
            | Operation::ReceiveMatched { .. }
            | Operation::Cancel { .. }
            | Operation::NewCommunicator { .. } => {
                unreachable!("recordings name what was complete")
            }
            Operation::Probe {
                from,
                tag,
                communicator,
                ..
            } => {
                let Some((from, tag)) = from.zip(tag) else {
                    world.uncertain = true;
                    return;
                };
                let from = world.communicators[communicator as usize][from as usize];
                let envelope = (communicator, from, number, tag);
                let next = world.posted.get(&envelope).copied().unwrap_or(0);
                self.awaited = vec![Awaited::Message(envelope, next)];
            }
        }
    }

    /// Waits, or opens a request.
    fn start(&mut self, request: Option<u64>, awaited: Awaited) {
        match request {
            Some(request) => drop(self.requests.insert(request, awaited)),
            None => self.awaited = vec![awaited],
        }
    }

    fn meet(&mut self, communicator: u32, request: Option<u64>, world: &mut World) {
        let n = self.collectives.entry(communicator).or_default();
        let meetings = world.met.entry(communicator).or_default();
        if meetings.len() == *n {
            meetings.push((0, 0));
        }
        let (came, last) = &mut meetings[*n];
        *came += 1;
        *last = self.clock.max(*last);
        let awaited = Awaited::Collective(communicator, *n);
        *n += 1;
        self.start(request, awaited);
    }
}
