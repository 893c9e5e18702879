//! Recorded traces through the liballprof reader. The test counts the expected numbers from the lines.

mod pairing;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fabricsim_workload::{Operation, info, open};
use pairing::pair_up;

/// A trace that only some machines have.
fn sweep3d() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/liballprof-sweep3d-4");
    if !folder.is_dir() {
        testkit::skipped!("{} is not there", folder.display());
        return None;
    }
    Some(folder)
}

/// The calls of a rank as fields between colons.
fn lines(folder: &Path, rank: u32) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.join(format!("pmpi-trace-rank-{rank}.txt"))).unwrap();
    let calls = text.lines().filter(|line| line.starts_with("MPI_"));
    calls
        .map(|line| line.split(':').map(String::from).collect())
        .collect()
}

/// Picoseconds of a time in microseconds; all these times are whole.
fn ps(time: &str) -> u64 {
    let whole = time.strip_suffix(".000000").unwrap();
    // The seconds before the trace do not fit.
    (whole.parse::<u64>().unwrap() - 1_237_666_000_000_000) * 1_000_000
}

#[test]
fn totals_are_those_of_the_lines() {
    let Some(trace) = sweep3d() else { return };
    let i = info(&trace).unwrap_or_else(|e| panic!("{e}"));
    let workload = open(&trace).unwrap();
    assert_eq!((i.ranks, &*i.format, workload.ranks()), (4, "liballprof", 4));
    let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
    let (mut messages, mut bytes, mut computed, mut longest) = (0, 0, 0, 0);
    for rank in 0..4 {
        let lines = lines(&trace, rank);
        let mut sent = vec![];
        let mut received = vec![];
        for call in &lines {
            *by_name.entry(call[0].clone()).or_default() += 1;
            let size = || {
                call[3].parse::<u64>().unwrap() * call[4].split(',').nth(1).unwrap().parse::<u64>().unwrap()
            };
            let peer_and_tag = || (call[5].parse::<u32>().unwrap(), call[6].parse::<u32>().unwrap());
            match &*call[0] {
                "MPI_Send" => sent.push((peer_and_tag(), size())),
                "MPI_Recv" => received.push((peer_and_tag(), size())),
                _ => {}
            }
        }
        messages += sent.len() as u64;
        bytes += sent.iter().map(|(_, size)| size).sum::<u64>();
        let gaps = lines
            .windows(2)
            .map(|pair| ps(&pair[1][1]) - ps(pair[0].last().unwrap()));
        let gaps: u64 = gaps.sum();
        computed += gaps;
        // From the end of MPI_Init to the start of MPI_Finalize.
        longest = longest.max(ps(&lines.last().unwrap()[1]) - ps(lines[0].last().unwrap()));

        let mut program = workload.program(rank).unwrap();
        let (mut own_sent, mut own_received, mut own_computed) = (vec![], vec![], 0);
        while let Some(operation) = program.next().unwrap() {
            match operation {
                Operation::Compute { ps, .. } => own_computed += ps,
                Operation::Send { to, tag, bytes, .. } => own_sent.push(((to, tag), bytes)),
                Operation::Receive { from, tag, bytes, .. } => {
                    own_received.push(((from.unwrap(), tag.unwrap()), bytes));
                }
                _ => {}
            }
        }
        assert_eq!(own_sent, sent, "rank {rank}");
        assert_eq!(own_received, received, "rank {rank}");
        assert_eq!(own_computed, gaps, "rank {rank}");
    }
    assert!(messages > 0 && bytes > 0);
    assert_eq!((i.messages.count, i.messages.bytes), (messages, bytes));
    assert_eq!((i.compute_ps, i.span_ps), (computed, longest));
    assert_eq!(i.mpi_calls_by_name, by_name);
    let collectives: BTreeMap<String, u64> = i
        .collectives
        .into_iter()
        .map(|(name, c)| (name, c.calls))
        .collect();
    let of = |name: &str| by_name[name];
    let expected = [
        ("allreduce", of("MPI_Allreduce")),
        ("barrier", of("MPI_Barrier")),
        ("bcast", of("MPI_Bcast")),
    ];
    assert_eq!(
        collectives,
        expected.map(|(name, n)| (name.to_string(), n)).into()
    );
    assert_eq!(
        i.notes,
        ["computation is the time between calls on each rank's own wall clock"]
    );
}

#[test]
fn sends_and_receives_pair_up_in_order() {
    let Some(trace) = sweep3d() else { return };
    let (from_anyone, sizes_are_equal) = pair_up(&*open(&trace).unwrap(), "liballprof-sweep3d-4");
    assert!(from_anyone.is_empty() && sizes_are_equal);
}

#[test]
fn what_is_cut_off_is_an_error_with_file_and_rank() {
    let Some(trace) = sweep3d() else { return };
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..4 {
        let name = format!("pmpi-trace-rank-{rank}.txt");
        fs::copy(trace.join(&name), folder.path().join(&name)).unwrap();
    }
    let file = folder.path().join("pmpi-trace-rank-2.txt");
    let whole = fs::read(&file).unwrap();
    let failure = || info(folder.path()).map(|_| ()).unwrap_err().to_string();
    for cut in [0, 1, 40, 1000, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..cut]).unwrap();
        let text = failure();
        assert!(text.contains("pmpi-trace-rank-2.txt: rank 2: "), "{cut}: {text}");
        assert!(text.contains("cut off"), "{cut}: {text}");
    }
    // A send is missing: one receive has no message.
    let text = String::from_utf8(whole.clone()).unwrap();
    let without: Vec<&str> = text.lines().collect();
    let send = without
        .iter()
        .position(|line| line.starts_with("MPI_Send:"))
        .unwrap();
    let kept = without.iter().enumerate().filter(|(i, _)| *i != send);
    let kept: Vec<String> = kept.map(|(_, line)| format!("{line}\n")).collect();
    fs::write(&file, kept.concat()).unwrap();
    let text = failure();
    assert!(
        text.contains(": MPI_Recv: the last of 1 receives from rank 2"),
        "{text}"
    );
    fs::remove_file(&file).unwrap();
    assert!(failure().contains("pmpi-trace-rank-2.txt: rank 2: this file of the trace is missing"));
}
