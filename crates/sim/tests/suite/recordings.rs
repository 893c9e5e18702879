//! What the replay of a recording leaves out, and what is wrong with it, is in the notes of the result: the same on
//! every executor, in every process, and after a resume.

use std::path::Path;

use experiment::Experiment;
use otf2::{ArchiveWriter, Domain, EventRecord, MessageRecord, Role, TimedEvent};
use results::{JobSummary, Note, RunResult};

use crate::support::{
    compute, experiment, job, jobs_on, otf2_is_available, receive, run, run_everywhere, send, try_run,
};

const NETWORK: &str = r#"
[network]
topology = { kind = "torus", sizes = [3, 3] }
routing = { algorithm = "dimension-order" }
"#;

const REGIONS: [&str; 9] = [
    "MPI_Comm_rank",
    "MPI_File_write_all",
    "MPI_Neighbor_alltoall",
    "MPI_Send",
    "MPI_Recv",
    "MPI_Init",
    "MPI_Finalize",
    "step",
    "main",
];

/// A call from one time to another, in nanoseconds.
fn call(name: &str, from: u64, until: u64) -> Vec<TimedEvent> {
    let region = REGIONS
        .iter()
        .position(|region| *region == name)
        .expect("a region") as u32;
    let event = |time, record| TimedEvent { time, record };
    let message = |peer| MessageRecord {
        peer,
        communicator: 0,
        tag: 3,
        bytes: 64,
    };
    let record = match name {
        "MPI_Send" => Some(EventRecord::Send(message(1))),
        "MPI_Recv" => Some(EventRecord::Recv(message(0))),
        _ => None,
    };
    let mut events = vec![event(from, EventRecord::Enter { region })];
    events.extend(record.map(|record| event(until, record)));
    events.push(event(until, EventRecord::Leave { region }));
    events
}

/// Rank 0 sends to rank 1. Other ranks make a call that is local.
fn meet(rank: u64, from: u64, until: u64) -> Vec<TimedEvent> {
    let names = ["MPI_Send", "MPI_Recv", "MPI_Comm_rank"];
    call(names[rank.min(2) as usize], from, until)
}

/// Writes an archive of these locations, the first of which are ranks.
fn write(folder: &Path, ranks: u64, locations: &[Vec<TimedEvent>]) -> Result<(), String> {
    let count = locations.len() as u64;
    let mut writer = ArchiveWriter::create(folder, "test", "a recording", count)?;
    for (location, events) in (0..).zip(locations) {
        writer.events(location, events)?;
        writer.end_location(location)?;
    }
    let last = locations.iter().flatten().map(|event| event.time).max();
    writer.begin_definitions(count, 1_000_000_000, 0, last.unwrap_or(0))?;
    writer.node(0, "machine", "machine", None, Domain::Machine)?;
    for (id, name) in (0..).zip(REGIONS) {
        writer.region(id, name, Role::Function, true)?;
    }
    for (id, events) in (0..).zip(locations) {
        writer.process(id, &format!("location {id}"), 0, events.len() as u64)?;
    }
    let members: Vec<u64> = (0..ranks).collect();
    writer.locations(0, "ranks", &members)?;
    writer.group(1, "world", &members)?;
    writer.communicator(0, "MPI_COMM_WORLD", 1, None)?;
    writer.finish()
}

/// The experiment of a recording with this job.
fn replay(folder: &Path, more: &str) -> Experiment {
    experiment(&replay_text(NETWORK, folder, "", more))
}

/// The text of an experiment with a recording, further keys of its workload and further lines.
fn replay_text(network: &str, folder: &Path, workload: &str, more: &str) -> String {
    let trace = folder.join("traces.otf2").display().to_string();
    format!("{network}\n[[job]]\nname = \"io\"\nworkload = {{ otf2 = {trace:?}{workload} }}\n{more}\n")
}

/// Two ranks that write a file, with neighbours, and a thread.
fn with_file(threads: usize) -> Vec<Vec<TimedEvent>> {
    let rank = |rank: u64, extra: u64| {
        [
            meet(rank, 0, 1_000),
            call("MPI_File_write_all", 101_000, 501_000 + extra),
            call("MPI_Neighbor_alltoall", 601_000, 800_500),
            meet(rank, 1_001_000, 1_002_000),
        ]
        .concat()
    };
    let mut locations = vec![rank(0, 0), rank(1, 2_000)];
    locations.extend((0..threads).map(|_| call("MPI_Comm_rank", 5, 6)));
    locations
}

fn job_of(result: &RunResult) -> &JobSummary {
    &result.summary.jobs[0]
}

/// The only note of a result about its recording, which is of this kind.
fn only_note<'a>(result: &'a RunResult, kind: &str) -> &'a Note {
    let notes = result.summary.notes.iter();
    let notes: Vec<&Note> = notes.filter(|note| note.kind != "default-overheads").collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0].kind, kind);
    println!("{}", notes[0]);
    notes[0]
}

#[test]
fn calls_that_are_not_replayed_are_in_the_notes() {
    if !otf2_is_available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 2, &with_file(0)).unwrap();
    let result = run_everywhere(&mut replay(folder.path(), ""));
    let recording = job_of(&result).recording.as_ref().expect("it is a recording");
    let calls = recording.not_replayed.iter();
    let calls: Vec<_> = calls
        .map(|calls| (calls.call.as_str(), calls.count, calls.time_ns))
        .collect();
    let expected = [
        ("MPI_File_write_all", 2, 401_000.0),
        ("MPI_Neighbor_alltoall", 2, 199_500.0),
    ];
    assert_eq!(calls, expected);
    assert_eq!((recording.ranks, recording.span_ns), (2, 1_002_000.0));
    let note = only_note(&result, "not-replayed").to_string();
    for part in [
        "warning: not-replayed: job io: calls of the recording are not replayed: 2 MPI_File_write_all, 2 \
         MPI_Neighbor_alltoall",
        "600.5 µs of 1.002 ms of recorded time per rank",
    ] {
        assert!(note.contains(part), "{note}");
    }
    // Repetitions repeat the run, not the recording.
    let repeated = run_everywhere(&mut replay(folder.path(), "repetitions = 3"));
    assert_eq!(job_of(&repeated).recording, job_of(&result).recording);
    // How far the program of an unfinished rank has been read depends on the executor.
    let cut_off = run_everywhere(&mut replay(folder.path(), "[run]\nuntil = \"100 us\""));
    assert_eq!(job_of(&cut_off).recording, None);
    only_note(&cut_off, "cut-off");
}

#[test]
fn locations_that_are_no_ranks_are_in_the_notes() {
    if !otf2_is_available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 2, &with_file(3)).unwrap();
    let result = run(&replay(folder.path(), ""));
    let note = only_note(&result, "not-replayed").to_string();
    assert!(
        note.contains("locations of the recording that are no MPI ranks were left out: 3 with 6 events"),
        "{note}"
    );
}

/// The send is of a thread that is no rank.
#[test]
fn a_deadlock_names_the_locations_that_were_left_out() {
    if !otf2_is_available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ranks = [
        call("MPI_Comm_rank", 0, 10),
        [call("MPI_Comm_rank", 0, 10), call("MPI_Recv", 20, 30)].concat(),
    ];
    let alone = tempfile::tempdir().unwrap();
    write(alone.path(), 2, &ranks).unwrap();
    let without = try_run(&replay(alone.path(), ""))
        .expect_err("no rank sends")
        .to_string();
    assert!(!without.contains("no MPI ranks"), "{without}");
    write(
        folder.path(),
        2,
        &[&ranks[..], &[call("MPI_Send", 20, 25)]].concat(),
    )
    .unwrap();
    let error = try_run(&replay(folder.path(), ""))
        .expect_err("no rank sends")
        .to_string();
    let expected = "job 'io': locations of the recording that are no MPI ranks (threads, accelerators) were left out: 1 \
                    with 3 events";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_time_that_no_other_rank_has_seen_is_implausible() {
    if !otf2_is_available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let rank = |rank: u64, late: u64| [meet(rank, 0, 1_000), meet(rank, late, late + 1_000)].concat();
    // Computation of one rank is 900 times as long as the recording of the others, and plausible.
    write(
        folder.path(),
        3,
        &[rank(0, 9_000), rank(1, 9_000_000), rank(2, 9_000)],
    )
    .unwrap();
    assert_eq!(run(&replay(folder.path(), "")).summary.notes, []);
    let damaged = tempfile::tempdir().unwrap();
    write(
        damaged.path(),
        3,
        &[rank(0, 9_000), rank(1, 9_000 + (1 << 47)), rank(2, 9_000)],
    )
    .unwrap();
    let result = run_everywhere(&mut replay(damaged.path(), ""));
    let note = only_note(&result, "implausible-times").to_string();
    assert!(
        note.contains("the recording of rank 1 has no event for")
            && note.contains("recorded 10 µs or less in all"),
        "{note}"
    );
}

#[test]
fn messages_that_no_rank_receives_are_in_the_notes() {
    let settings = mpi::MpiSettings::default();
    let programs = vec![
        vec![send(1, 64), send(1, 128), send(2, 32)],
        vec![receive(0, 64), compute(50_000)],
        vec![],
    ];
    let mut experiment = jobs_on(NETWORK, vec![job("lost", programs, &settings, &[0, 1, 2])]);
    let result = run_everywhere(&mut experiment);
    let unreceived = job_of(&result).unreceived.expect("two messages are left");
    assert_eq!((unreceived.messages, unreceived.sent), (2, 3));
    let note = only_note(&result, "unreceived").to_string();
    assert!(
        note.contains("2 of 3 messages of the program were not received, for example one from rank 0 to rank 1 with tag 0"),
        "{note}"
    );
    // Nothing is left over where each message is received.
    let programs = vec![
        vec![send(1, 64), send(1, 50_000)],
        vec![receive(0, 64), receive(0, 50_000)],
    ];
    let result = run_everywhere(&mut jobs_on(
        NETWORK,
        vec![job("kept", programs, &settings, &[0, 1])],
    ));
    assert_eq!(job_of(&result).unreceived, None);
    assert_eq!(result.summary.notes, []);
}

/// Two ranks that start up for 40 ms, and then exchange messages ten times in 200 us, each time in the region `step`.
fn with_start_up() -> Vec<Vec<TimedEvent>> {
    let region_of = |name| {
        let number = REGIONS.iter().position(|region| *region == name);
        number.expect("a region") as u32
    };
    let region = region_of("step");
    let rank = |rank: u64| {
        let mut events = vec![TimedEvent {
            time: 0,
            record: EventRecord::Enter {
                region: region_of("main"),
            },
        }];
        events.extend(call("MPI_Init", 40_000_000, 41_000_000));
        for step in 0..10 {
            let at = 41_000_000 + 20_000 * step;
            let border = |time, record| TimedEvent { time, record };
            events.push(border(at, EventRecord::Enter { region }));
            events.extend(meet(rank, at + 1_000, at + 19_000));
            events.push(border(at + 19_500, EventRecord::Leave { region }));
        }
        events.extend(call("MPI_Finalize", 41_200_000, 41_300_000));
        events
    };
    vec![rank(0), rank(1)]
}

/// Without the window, a network of a tenth of the bandwidth and one of ten times the latency take the same time to a
/// thousandth; with it they do not.
#[test]
fn start_up_does_not_hide_the_network() {
    if !otf2_is_available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 2, &with_start_up()).unwrap();
    let time = |network: &str, workload: &str| {
        let text = replay_text(network, folder.path(), workload, "");
        let result = run_everywhere(&mut experiment(&text));
        (job_of(&result).time_ns, result)
    };
    let slow = format!("{NETWORK}\n[network.link]\nlatency = \"2 us\"\n");
    let all = ", window = { kind = \"all\" }";
    let (fast_all, result) = time(NETWORK, all);
    let (slow_all, _) = time(&slow, all);
    assert!(
        fast_all > 40e6 && slow_all / fast_all < 1.001,
        "{fast_all} {slow_all}"
    );
    assert_eq!(result.summary.notes, []);
    let (fast, result) = time(NETWORK, "");
    let (slow, _) = time(&slow, "");
    assert!(fast < 40e3 && slow / fast > 1.1, "{fast} {slow}");
    let note = only_note(&result, "outside-window").to_string();
    for part in [
        "warning: outside-window: job io: 99.5 % of the recorded time (41.1 ms of 41.3 ms per rank)",
        "window = { kind = \"all\" } replays the whole recording",
    ] {
        assert!(note.contains(part), "{note}");
    }
    let recording = job_of(&result).recording.as_ref().expect("it is a recording");
    assert_eq!((recording.span_ns, recording.outside_ns), (41.3e6, 41.1e6));
}

#[test]
fn windows_by_region_iteration_time_and_call() {
    if !otf2_is_available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 2, &with_start_up()).unwrap();
    let windows = [
        ("kind = \"region\", region = \"step\"", 10, 41.3e6 - 199.5e3),
        (
            "kind = \"iterations\", region = \"step\", start = 3, end = 7",
            4,
            41.3e6 - 80e3,
        ),
        ("kind = \"time\", start = \"41 ms\", end = \"41.1 ms\"", 5, 41.2e6),
        // MPI_Init is the first call.
        ("kind = \"calls\", start = 2, end = 4", 2, 41.3e6 - 40e3),
    ];
    for (window, messages, outside_ns) in windows {
        let workload = format!(", window = {{ {window} }}");
        let text = replay_text(NETWORK, folder.path(), &workload, "");
        let result = run_everywhere(&mut experiment(&text));
        assert_eq!(job_of(&result).messages, messages, "{window}");
        let recording = job_of(&result).recording.as_ref().expect("it is a recording");
        assert_eq!(recording.outside_ns, outside_ns, "{window}");
        let cut = recording.cut.expect("it is selected");
        assert_eq!((cut.sends, cut.receives), (0, 0), "{window}");
        let note = only_note(&result, "outside-window").to_string();
        assert!(note.starts_with("info: outside-window: job io: "), "{note}");
    }
}

/// Rank 1 receives two messages of which rank 0 sends one before the window. Replay would wait for it forever.
#[test]
fn a_message_that_crosses_the_border_is_left_out_and_counted() {
    if !otf2_is_available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let locations = [
        [call("MPI_Send", 0, 10), call("MPI_Send", 300, 310)].concat(),
        [call("MPI_Recv", 200, 210), call("MPI_Recv", 300, 320)].concat(),
    ];
    write(folder.path(), 2, &locations).unwrap();
    let window = ", window = { kind = \"time\", start = \"100 ns\" }";
    let result = run_everywhere(&mut experiment(&replay_text(NETWORK, folder.path(), window, "")));
    assert_eq!(job_of(&result).messages, 1);
    let note = only_note(&result, "outside-window").to_string();
    assert!(
        note.contains("left out inside it, since their partners are outside: 1 receives"),
        "{note}"
    );
}

/// A recording and its conversion differ in `MPI_Cart_create` alone: the archive does not record its parent, so that
/// the ranks do not synchronise in it. After it, both give the same digest.
#[test]
fn dumpi_and_otf2_of_one_recording_agree() {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let [dumpi, otf2] = ["lammps-melt-27", "otf2-lammps-melt-27"].map(|name| traces.join(name));
    if !dumpi.is_dir() || !otf2.is_dir() {
        testkit::skipped!("{} is missing", traces.display());
        return;
    }
    if !otf2_is_available() {
        return;
    }
    let network = NETWORK.replace("[3, 3]", "[3, 3, 3]");
    let of = |key: &str, trace: &Path, window: &str| {
        let trace = trace.display().to_string();
        let job = format!("[[job]]\nname = \"melt\"\nworkload = {{ {key} = {trace:?}{window} }}\n");
        run(&experiment(&format!("{network}\n{job}")))
    };
    let time = |result: &RunResult| job_of(result).time_ns;
    let (as_dumpi, as_otf2) = (of("dumpi", &dumpi, ""), of("otf2", &otf2, ""));
    assert!(time(&as_dumpi) > time(&as_otf2));
    assert!(time(&as_dumpi) < 1.005 * time(&as_otf2));
    let after = ", window = { kind = \"iterations\", region = \"MPI_Scan\", start = 1 }";
    let (as_dumpi, as_otf2) = (of("dumpi", &dumpi, after), of("otf2", &otf2, after));
    assert_eq!(as_dumpi.summary.digest, as_otf2.summary.digest);
}
