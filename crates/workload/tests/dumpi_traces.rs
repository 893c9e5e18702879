//! Recorded traces through the DUMPI reader. The expected numbers are those of dumpi2ascii, the official
//! reader: for each trace, of the text of all its files, one after the other,
//!
//! ```sh
//! for f in TRACE/*.bin; do dumpi2ascii -S $f; done | awk '
//!   / entering at / { call = $1; type = dest = ""; calls++ }
//!   /^int (send)?count=/ { split($2, a, "="); count = a[2] }
//!   /^MPI_Datatype (datatype|sendtype)=/ { type = $NF }
//!   /^int dest=/ { split($2, a, "="); dest = a[2] }
//!   / returning at / && call ~ /^MPI_(I?[sbr]?[sS]end|Sendrecv(_replace)?)$/ && dest >= 0 {
//!     size = type == "(MPI_DOUBLE)" || type == "(MPI_LONG_LONG)" ? 8 : type == "(MPI_INT)" ? 4 : 1
//!     messages++; bytes += count * size }
//!   / returning at / && call ~ /^MPI_(Barrier|Bcast|Reduce|Allreduce|Scan|Alltoall|Allgather)$/ { collectives++ }
//!   / returning at / && call ~ /^MPI_(Recv|Irecv|Sendrecv)$/ { receives++ }
//!   END { print calls, messages, bytes, receives, collectives }'
//! ```

mod pairing;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fabricsim_workload::{Call, Collective, Operation, TraceInfo, WORLD, Workload, info, open};
use pairing::pair_up;

/// Calls, messages, their bytes, receives, collectives of the application, and communicators besides that of all
/// ranks.
const TRACES: [(&str, [u64; 6]); 12] = [
    ("chatterbug-pairs-32", [2304, 656, 41_943_104, 656, 96, 0]),
    (
        "chatterbug-stencil4d-64",
        [12_160, 5120, 20_971_520, 5120, 128, 0],
    ),
    ("chatterbug-subcom3d-a2a-64", [2752, 0, 0, 0, 2048, 48]),
    ("dumpi-sstmacro-testtrace-4", [36, 4, 16, 4, 8, 0]),
    ("ember-halo3d26-27", [10_809, 5040, 42_024_960, 5040, 81, 0]),
    ("ember-halo3d26-64", [15_488, 7200, 25_804_800, 7200, 192, 0]),
    ("ember-incast-16", [143, 15, 122_880, 15, 48, 0]),
    ("ember-sweep3d-16", [6224, 3072, 6_291_456, 3072, 16, 0]),
    ("hypre-amg-27", [384_199, 114_481, 14_179_428, 114_481, 2511, 0]),
    ("lammps-melt-27", [70_768, 19_440, 100_396_328, 19_440, 3591, 1]),
    ("lammps-pppm-16", [47_729, 14_368, 85_945_104, 14_368, 2816, 8]),
    ("netpipe-2", [6152, 2742, 20_641_848, 2742, 660, 0]),
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The trace in the repository.
fn incast() -> PathBuf {
    repository().join("examples/traces/dumpi-ember-incast-16")
}

/// A trace that only some machines have.
fn shared(name: &str) -> Option<PathBuf> {
    let folder = repository().join("../shared/traces").join(name);
    if !folder.is_dir() {
        testkit::skipped!("{} is not there", folder.display());
        return None;
    }
    Some(folder)
}

fn traces() -> impl Iterator<Item = (PathBuf, [u64; 6])> {
    let own = TRACES
        .iter()
        .find(|(name, _)| *name == "ember-incast-16")
        .unwrap();
    let others = TRACES
        .iter()
        .filter_map(|(name, numbers)| Some((shared(name)?, *numbers)));
    [(incast(), own.1)].into_iter().chain(others)
}

fn operations(workload: &dyn Workload, rank: u32) -> Vec<Operation> {
    let mut program = workload.program(rank).unwrap();
    std::iter::from_fn(|| program.next().unwrap_or_else(|e| panic!("{e}"))).collect()
}

fn is_inside_another_call(call: Call) -> bool {
    matches!(
        call,
        Call::CommDup | Call::CommSplit | Call::CommCreate | Call::CartCreate | Call::Other
    )
}

#[test]
fn totals_are_those_of_dumpi2ascii() {
    for (trace, [calls, messages, bytes, receives, collectives, others]) in traces() {
        let name = trace.display();
        let i = info(&trace).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(i.format, "dumpi");
        assert_eq!(i.mpi_calls, calls, "{name}");
        assert_eq!(i.messages.count, messages, "{name}");
        assert_eq!(i.messages.bytes, bytes, "{name}");
        let sum: u64 = i.collectives.values().map(|c| c.calls).sum();
        assert_eq!(sum, collectives, "{name}: {:?}", i.collectives);
        let communicators: u64 = i.communicators.iter().map(|c| c.count).sum();
        assert_eq!(communicators, 1 + others, "{name}");

        let workload = open(&trace).unwrap();
        assert_eq!(workload.ranks(), i.ranks);
        let mut sums = [0; 4];
        for operation in (0..i.ranks).flat_map(|rank| operations(&*workload, rank)) {
            match operation {
                Operation::Send { bytes, .. } => {
                    sums[0] += 1;
                    sums[1] += bytes;
                }
                Operation::Receive { .. } => sums[2] += 1,
                Operation::Collective { call, .. } if !is_inside_another_call(call) => sums[3] += 1,
                _ => {}
            }
        }
        assert_eq!(sums, [messages, bytes, receives, collectives], "{name}");
    }
}

/// The numbers of calls agree with `stats.txt` beside a trace.
#[test]
fn calls_are_those_of_the_traces_own_statistics() {
    for (trace, _) in traces() {
        let Ok(text) = fs::read_to_string(trace.join("stats.txt")) else {
            continue;
        };
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("calls: "))
            .unwrap();
        let expected: BTreeMap<String, u64> = line
            .split(", ")
            .map(|entry| entry.split_once(' ').unwrap())
            .map(|(name, n)| (name.to_string(), n.parse().unwrap()))
            .collect();
        let counted = info(&trace).unwrap().mpi_calls_by_name;
        assert_eq!(counted, expected, "{}", trace.display());
    }
}

#[test]
fn sends_and_receives_pair_up_in_order() {
    for (trace, _) in traces() {
        let name = trace.display().to_string();
        let (from_anyone, _) = pair_up(&*open(&trace).unwrap(), &name);
        // One application requests no statuses of receives from any source: 16 of them.
        let expected = if trace.ends_with("chatterbug-pairs-32") {
            16
        } else {
            0
        };
        assert_eq!(
            from_anyone.values().sum::<usize>(),
            expected,
            "{name}: {from_anyone:?}"
        );
    }
}

/// Operation, root and bytes.
type Argument = (Collective, u32, u64);

#[test]
fn members_of_a_communicator_agree_on_its_collectives() {
    for (trace, _) in traces() {
        let workload = open(&trace).unwrap();
        let communicators = workload.communicators();
        let all: Vec<u32> = (0..workload.ranks()).collect();
        assert_eq!(communicators[WORLD as usize], all);
        let mut sequences: BTreeMap<u32, BTreeMap<u32, Vec<Argument>>> = BTreeMap::new();
        for rank in 0..workload.ranks() {
            for operation in operations(&*workload, rank) {
                if let Operation::Collective {
                    collective,
                    communicator,
                    root,
                    bytes,
                    ..
                } = operation
                {
                    let own = sequences
                        .entry(communicator)
                        .or_default()
                        .entry(rank)
                        .or_default();
                    own.push((collective, root, bytes));
                }
            }
        }
        assert!(!sequences.is_empty());
        for (communicator, by_rank) in sequences {
            let mut members = communicators[communicator as usize].clone();
            members.sort_unstable();
            let name = trace.display();
            assert!(by_rank.keys().copied().eq(members), "{name}: {communicator}");
            let mut lists = by_rank.values();
            let first = lists.next().unwrap();
            assert!(lists.all(|list| list == first), "{name}: {communicator}");
        }
    }
}

#[test]
fn computation_is_the_cpu_time_between_calls() {
    // dumpi2ascii: rank 1 leaves its first MPI_Barrier and enters MPI_Send, both on the CPU clock, at
    let text = fs::read_to_string(incast().join("dumpi2ascii-0001.txt")).unwrap();
    let cpu = |line: &str| {
        let (_, rest) = line.split_once("cputime ").unwrap();
        let seconds = rest.split(' ').next().unwrap();
        seconds.replace('.', "").parse::<u64>().unwrap()
    };
    let mut gaps = Vec::new();
    let mut left = None;
    for line in text.lines() {
        if line.contains(" entering at ") {
            gaps.extend(left.map(|left| cpu(line) - left));
        } else if line.contains(" returning at ") {
            left = Some(cpu(line));
        }
    }
    let expected: u64 = gaps.iter().map(|ns| ns * 1000).sum();
    assert!(expected > 0);
    let workload = open(incast()).unwrap();
    let computed = operations(&*workload, 1).into_iter().filter_map(|o| match o {
        Operation::Compute { ps, .. } => Some(ps),
        _ => None,
    });
    assert_eq!(computed.sum::<u64>(), expected);
    let notes = info(incast()).unwrap().notes;
    assert_eq!(notes, ["computation is the time between calls on the CPU clock"]);
}

#[test]
fn a_trace_opens_by_its_folder_its_meta_file_and_a_ranks_file() {
    let strip = |mut info: TraceInfo| {
        info.file = String::new();
        info
    };
    let by_folder = strip(info(incast()).unwrap());
    for name in ["ember-incast-16.meta", "ember-incast-16-0003.bin"] {
        assert_eq!(strip(info(incast().join(name)).unwrap()), by_folder);
    }
    // Without a meta file, the ranks are those with a file.
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..16 {
        let name = |name: &str| format!("{name}-{rank:04}.bin");
        let to = folder.path().join(name("some.thing"));
        fs::copy(incast().join(name("ember-incast-16")), to).unwrap();
    }
    let first = folder.path().join("some.thing-0000.bin");
    assert_eq!(strip(info(first).unwrap()), by_folder);
}

#[test]
fn hundreds_of_thousands_of_calls_stream() {
    let Some(trace) = shared("hypre-amg-27") else {
        return;
    };
    let workload = open(trace).unwrap();
    let mut by_call: BTreeMap<&str, u64> = BTreeMap::new();
    for operation in (0..27).flat_map(|rank| operations(&*workload, rank)) {
        if let Operation::Probe { from, tag, call, .. } = operation {
            assert!(from.is_some() && tag.is_some());
            *by_call.entry(call.name()).or_default() += 1;
        }
    }
    // dumpi2ascii: calls of MPI_Iprobe with flag=1.
    assert_eq!(by_call, BTreeMap::from([("MPI_Iprobe", 8048)]));
}
