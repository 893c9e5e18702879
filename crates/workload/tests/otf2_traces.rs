//! Recorded traces through the OTF2 reader. The expected numbers are from `otf2-print` and from the notes of the
//! traces.

mod pairing;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fabricsim_workload::{Call, Collective, Operation, TraceInfo, WORLD, Workload, info, open, otf2};
use pairing::pair_up;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The trace in the repository; `None` if this build has no library to read it.
fn lammps() -> Option<PathBuf> {
    readable(repository().join("examples/traces/otf2-lammps-melt-27"))
}

/// A trace that only some machines have.
fn shared(name: &str) -> Option<PathBuf> {
    let folder = repository().join("../shared/traces").join(name);
    if !folder.is_dir() {
        testkit::skipped!("{} is not there", folder.display());
        return None;
    }
    readable(folder)
}

fn readable(folder: PathBuf) -> Option<PathBuf> {
    if !otf2::is_available() {
        testkit::skipped!("this build cannot read OTF2");
        return None;
    }
    Some(folder)
}

fn traces() -> Vec<PathBuf> {
    let names = [
        "otf2-ember-halo3d26-64",
        "otf2-chatterbug-subcom3d-a2a-64",
        "otf2-stencil4d-32",
        "otf2-ember-bcast-4",
    ];
    lammps()
        .into_iter()
        .chain(names.into_iter().filter_map(shared))
        .collect()
}

fn operations(workload: &dyn Workload, rank: u32) -> Vec<Operation> {
    let mut program = workload.program(rank).unwrap();
    std::iter::from_fn(|| program.next().unwrap()).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join("traces")).unwrap();
    for folder in ["", "traces"] {
        for entry in fs::read_dir(from.join(folder)).unwrap().map(Result::unwrap) {
            if entry.path().is_file() {
                fs::copy(entry.path(), to.join(folder).join(entry.file_name())).unwrap();
            }
        }
    }
}

/// The error of opening a trace and running rank 2.
fn failure(folder: &Path) -> String {
    let run = || {
        let mut program = open(folder)?.program(2)?;
        while program.next()?.is_some() {}
        Ok(())
    };
    run()
        .map_err(|e: fabricsim_workload::TraceError| e.to_string())
        .unwrap_err()
}

#[test]
fn without_the_library_the_error_says_what_to_install() {
    if otf2::is_available() {
        testkit::skipped!("this build has the OTF2 library (FABRICSIM_WITHOUT_OTF2=1 builds without)");
        return;
    }
    let error = open(repository().join("examples/traces/otf2-lammps-melt-27"))
        .map(|_| ())
        .unwrap_err();
    assert!(
        error.message.contains("libotf2-trace-dev") && error.message.contains("OTF2_CONFIG"),
        "{error}"
    );
}

#[test]
fn missing_files_are_named_with_their_rank() {
    let Some(trace) = lammps() else { return };
    for (file, needle) in [
        ("traces/2.evt", "traces/2.evt: rank 2: this file of the trace"),
        ("traces/2.def", "traces/2.def: rank 2: this file of the trace"),
        ("traces.def", "traces.otf2: "),
        ("traces.otf2", "is a folder without a trace"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        copy(&trace, folder.path());
        fs::remove_file(folder.path().join(file)).unwrap();
        let text = failure(folder.path());
        assert!(text.contains(needle), "{file}: {text}");
    }
}

#[test]
fn files_cut_anywhere_are_errors() {
    let Some(trace) = lammps() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (file, needle) in [
        (
            "traces/2.evt",
            "traces/2.evt: rank 2: its events are cut off or damaged (libotf2: ",
        ),
        (
            "traces/2.def",
            "traces/2.evt: rank 2: its local definitions are cut off or damaged",
        ),
        ("traces.def", "traces.otf2: "),
    ] {
        copy(&trace, folder.path());
        let whole = fs::read(trace.join(file)).unwrap();
        let cuts = [0, 1, 9, 17, 40, whole.len() / 3, whole.len() / 2, whole.len() - 2];
        for cut in cuts.into_iter().filter(|c| *c < whole.len()) {
            fs::write(folder.path().join(file), &whole[..cut]).unwrap();
            let text = failure(folder.path());
            assert!(text.contains(needle), "{file} cut at {cut}: {text}");
        }
    }
}

#[test]
fn events_that_end_early_without_damage_are_errors() {
    let Some(trace) = lammps() else { return };
    let folder = tempfile::tempdir().unwrap();
    copy(&trace, folder.path());
    // The file of another rank, with two events fewer than the archive declares for rank 0.
    fs::copy(trace.join("traces/1.evt"), folder.path().join("traces/0.evt")).unwrap();
    let mut program = open(folder.path()).unwrap().program(0).unwrap();
    let error = loop {
        match program.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("ended without an error"),
            Err(error) => break error,
        }
    };
    assert!(
        error.message.contains("the events end after 7596 of 7598"),
        "{error}"
    );
}

#[test]
fn lammps_in_numbers() {
    let Some(trace) = lammps() else { return };
    let i = info(&trace).unwrap();
    assert_eq!((i.ranks, i.events, i.mpi_calls), (27, 205_094, 70_768));
    // The clock definition has 28948550 ticks: it includes the last one.
    assert_eq!(i.span_ps, 28_948_549_000);
    for (name, n) in [
        ("MPI_Irecv", 17_496),
        ("MPI_Wtime", 11_368),
        ("MPI_Cart_rank", 729),
        ("MPI_Scan", 27),
    ] {
        assert_eq!(i.mpi_calls_by_name[name], n, "{name}");
    }
    assert_eq!((i.messages.count, i.messages.bytes), (19_440, 100_396_328));
    let zero = i.messages.histogram[0].clone();
    assert_eq!((zero.from_bytes, zero.to_bytes, zero.count), (0, 0, 250));
    let collectives: Vec<_> = i
        .collectives
        .iter()
        .map(|(name, c)| (name.as_str(), c.calls, c.sent_bytes, c.received_bytes))
        .collect();
    let expected = [
        ("allreduce", 2430, 682_344, 682_344),
        ("barrier", 135, 0, 0),
        ("bcast", 918, 14_688, 14_688),
        ("reduce", 81, 648, 648),
        ("scan", 27, 3024, 3024),
    ];
    assert_eq!(collectives, expected);
    let sizes: Vec<_> = i.communicators.iter().map(|c| (c.ranks, c.count)).collect();
    assert_eq!(sizes, [(27, 2), (1, 1)]);
    assert_eq!(i.notes, Vec::<String>::new());
    assert!(i.compute_share > 0.0 && i.compute_share < 1.0);
    assert_eq!(info(trace.join("traces.otf2")).unwrap(), i);
}

#[test]
fn info_for_people_and_machines() {
    let Some(trace) = lammps() else { return };
    let i = info(&trace).unwrap();
    let text = i.to_string();
    for line in [
        "  ranks           27\n",
        "  span            28.949 ms\n",
        "  messages        19,440 with 100,396,328 B (95.7 MiB)\n",
        "  communicators   3 (2 of 27 ranks, 1 of 1 rank)\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(
        text.lines()
            .any(|l| l.split_whitespace().eq(["MPI_Irecv", "17,496"])),
        "{text}"
    );
    let json = serde_json::to_value(&i).unwrap();
    assert_eq!(json["messages"]["bytes"], 100_396_328);
    assert_eq!(json["mpi_calls_by_name"]["MPI_Send"], 17_496);
}

#[test]
fn the_other_traces_in_numbers() {
    let counts = |i: &TraceInfo| (i.ranks, i.events, i.mpi_calls, i.messages.count, i.messages.bytes);
    if let Some(trace) = shared("otf2-ember-halo3d26-64") {
        let i = info(trace).unwrap();
        assert_eq!(counts(&i), (64, 60_160, 15_488, 7200, 25_804_800));
        assert_eq!(i.collectives["barrier"].calls, 192);
        assert!(i.notes.is_empty(), "{:?}", i.notes);
    }
    if let Some(trace) = shared("otf2-chatterbug-subcom3d-a2a-64") {
        let i = info(trace).unwrap();
        assert_eq!(counts(&i), (64, 9600, 2752, 0, 0));
        let alltoall = &i.collectives["alltoall"];
        assert_eq!(
            (alltoall.calls, alltoall.sent_bytes, alltoall.received_bytes),
            (1920, 31_457_280, 31_457_280)
        );
        let sizes: Vec<_> = i.communicators.iter().map(|c| (c.ranks, c.count)).collect();
        assert_eq!(sizes, [(64, 1), (4, 48), (1, 1)]);
    }
    if let Some(trace) = shared("otf2-stencil4d-32") {
        let i = info(trace).unwrap();
        // otf2-print: 1251 Enter, 1249 Leave, 96 MeasurementOnOff, 2 x 96 collective, 3 x 512 messages.
        assert_eq!((i.ranks, i.events), (32, 1251 + 1249 + 96 + 192 + 1536));
        assert_eq!(
            (i.messages.count, i.messages.min_bytes, i.messages.max_bytes),
            (512, Some(131_072), Some(131_072))
        );
        assert!(
            i.notes.iter().any(|n| n.contains("switched off")),
            "{:?}",
            i.notes
        );
    }
    if let Some(trace) = shared("otf2-ember-bcast-4") {
        let i = info(trace).unwrap();
        assert_eq!(counts(&i), (4, 80, 16, 0, 0));
        let bcast = &i.collectives["bcast"];
        assert_eq!(
            (bcast.calls, bcast.sent_bytes, bcast.received_bytes),
            (4, 16_384, 16_384)
        );
        assert!(
            i.notes
                .iter()
                .any(|n| n.starts_with("8 collective calls that make or free")),
            "{:?}",
            i.notes
        );
    }
}

#[test]
fn lammps_operations_are_the_recorded_calls() {
    let Some(trace) = lammps() else { return };
    let workload = open(trace).unwrap();
    let mut by_call: BTreeMap<&str, u64> = BTreeMap::new();
    for rank in 0..workload.ranks() {
        for operation in operations(&*workload, rank) {
            let call = match operation {
                Operation::Compute { .. } => continue,
                Operation::Send { call, .. }
                | Operation::Receive { call, .. }
                | Operation::Wait { call, .. }
                | Operation::Collective { call, .. } => call,
                other => panic!("{other:?} is not in this trace"),
            };
            *by_call.entry(call.name()).or_default() += 1;
        }
    }
    let expected = [
        ("MPI_Allreduce", 2430),
        ("MPI_Barrier", 135),
        ("MPI_Bcast", 918),
        ("MPI_Irecv", 17_496),
        ("MPI_Reduce", 81),
        ("MPI_Scan", 27),
        ("MPI_Send", 17_496),
        // A receive, a send and a wait each.
        ("MPI_Sendrecv", 3 * 1944),
        ("MPI_Wait", 17_496),
    ];
    assert_eq!(by_call, BTreeMap::from(expected));
}

#[test]
fn sends_and_receives_pair_up_in_order() {
    for trace in traces() {
        let (from_anyone, sizes_are_equal) = pair_up(&*open(&trace).unwrap(), &trace.display().to_string());
        assert!(from_anyone.is_empty(), "{}", trace.display());
        assert!(sizes_are_equal, "{}", trace.display());
    }
}

/// Operation, root and bytes.
type Argument = (Collective, u32, u64);

#[test]
fn members_of_a_communicator_agree_on_its_collectives() {
    for trace in traces() {
        let workload = open(&trace).unwrap();
        let communicators = workload.communicators();
        assert!(
            communicators[WORLD as usize]
                .iter()
                .copied()
                .eq(0..workload.ranks())
        );
        let mut sequences: HashMap<u32, Vec<(u32, Vec<Argument>)>> = HashMap::new();
        for rank in 0..workload.ranks() {
            let mut own: HashMap<u32, Vec<_>> = HashMap::new();
            for operation in operations(&*workload, rank) {
                if let Operation::Collective {
                    collective,
                    communicator,
                    root,
                    bytes,
                    ..
                } = operation
                {
                    own.entry(communicator)
                        .or_default()
                        .push((collective, root, bytes));
                }
            }
            for (communicator, sequence) in own {
                sequences.entry(communicator).or_default().push((rank, sequence));
            }
        }
        assert!(!sequences.is_empty());
        for (communicator, ranks) in sequences {
            let members: HashSet<u32> = communicators[communicator as usize].iter().copied().collect();
            assert_eq!(ranks.iter().map(|(r, _)| *r).collect::<HashSet<_>>(), members);
            assert!(
                ranks.iter().all(|(_, s)| *s == ranks[0].1),
                "{}: {communicator}",
                trace.display()
            );
        }
    }
}

#[test]
fn score_ps_mapping_tables_are_applied() {
    let Some(trace) = shared("otf2-stencil4d-32") else {
        return;
    };
    let i = info(&trace).unwrap();
    // Local region ids differ from global ones in a Score-P trace; without the mapping they name other functions.
    for (name, n) in [
        ("MPI_Irecv", 512),
        ("MPI_Send", 512),
        ("MPI_Waitall", 64),
        ("MPI_Barrier", 96),
        ("MPI_Init", 32),
    ] {
        assert_eq!(
            i.mpi_calls_by_name.get(name),
            Some(&n),
            "{name}: {:?}",
            i.mpi_calls_by_name
        );
    }
    let first = operations(&*open(trace).unwrap(), 0);
    let receives = first.iter().filter_map(|o| match o {
        Operation::Receive { from, tag, .. } => Some((from.unwrap(), tag.unwrap())),
        _ => None,
    });
    let receives: Vec<_> = receives.collect();
    // Requests 1 and 2 completed in the other order.
    assert_eq!(receives[..3], [(1, 2), (1, 1), (2, 3)]);
}

#[test]
fn programs_do_not_affect_each_other() {
    let Some(trace) = lammps() else { return };
    let alone = operations(&*open(&trace).unwrap(), 5);
    let workload = open(&trace).unwrap();
    // Two programs of one rank and one of another are read alternately, and the trace is open twice.
    let mut turns: Vec<_> = [5, 5, 6].iter().map(|r| workload.program(*r).unwrap()).collect();
    let mut seen = vec![Vec::new(); 3];
    for step in 0..alone.len() * 3 {
        let i = step * 7 % 3;
        for _ in 0..=step % 5 {
            seen[i].extend(turns[i].next().unwrap());
        }
    }
    assert_eq!(seen[0], alone);
    assert_eq!(seen[1], alone);
}

#[test]
fn threads_read_their_ranks_at_the_same_time() {
    let Some(trace) = lammps() else { return };
    let workload = open(&trace).unwrap();
    let expected: Vec<usize> = (0..27).map(|rank| operations(&*workload, rank).len()).collect();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let workload: Arc<dyn Workload> = workload.clone();
            std::thread::spawn(move || {
                (0..27)
                    .filter(|r| r % 4 == thread)
                    .map(|r| (r, operations(&*workload, r).len()))
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    for (rank, length) in threads.into_iter().flat_map(|t| t.join().unwrap()) {
        assert_eq!(length, expected[rank as usize]);
    }
}

#[test]
fn computation_is_the_time_between_calls() {
    let Some(trace) = lammps() else { return };
    let workload = open(trace).unwrap();
    // otf2-print: rank 4 leaves MPI_Allreduce at 1002996522 ns and enters its first MPI_Sendrecv at 1003045385.
    let fourth = operations(&*workload, 4);
    let is_sendrecv = |o: &Operation| {
        matches!(
            o,
            Operation::Receive {
                call: Call::Sendrecv,
                ..
            }
        )
    };
    let first = fourth.iter().position(is_sendrecv).unwrap();
    assert_eq!(
        fourth[first - 1],
        Operation::Compute {
            ps: 48_863_000,
            region: None
        }
    );
    for rank in [0, 13, 26] {
        let gaps = operations(&*workload, rank).into_iter().filter_map(|o| match o {
            Operation::Compute { ps, .. } => Some(ps),
            _ => None,
        });
        let gaps: Vec<u64> = gaps.collect();
        assert!(gaps.len() > 1000);
        assert!(gaps.iter().all(|ps| *ps > 0 && ps % 1000 == 0));
        assert!(gaps.iter().sum::<u64>() < 29_000_000_000);
    }
}

/// Written by `tests/corpus/traces/write_one_sided.c`.
#[test]
fn one_sided_transfers_regions_and_splits_come_through_the_library() {
    let Some(trace) = readable(repository().join("tests/corpus/traces/one-sided-2")) else {
        return;
    };
    let workload = open(&trace).unwrap();
    assert_eq!(*workload.regions(), ["solve"]);
    let found = operations(&*workload, 1);
    let compute = |us: u64, region| Operation::Compute {
        ps: us * 1_000_000,
        region,
    };
    let fence = Operation::Fence {
        communicator: WORLD,
        call: Call::WinFence,
    };
    let made = |collective, bytes| Operation::Collective {
        collective,
        communicator: WORLD,
        root: 0,
        bytes,
        counts: None,
        request: None,
        reduction: None,
        call: Call::CommSplit,
    };
    let expected = [
        compute(10, Some(0)),
        fence.clone(),
        compute(10, Some(0)),
        Operation::Put {
            to: 0,
            communicator: WORLD,
            bytes: 1000,
            call: Call::Put,
        },
        Operation::Get {
            from: 0,
            communicator: WORLD,
            bytes: 2000,
            call: Call::Get,
        },
        fence,
        compute(8, Some(0)),
        compute(10, None),
        made(Collective::Allgather, 8),
        made(Collective::Allreduce, 256),
    ];
    assert_eq!(found, expected);
    let notes = info(&trace).unwrap().notes;
    assert!(!notes.iter().any(|n| n.contains("one-sided")), "{notes:?}");
}
