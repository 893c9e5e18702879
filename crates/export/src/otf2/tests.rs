use std::fs;
use std::sync::Arc;

use ::otf2::{ArchiveReader, Definition, EventRecord, TimedEvent};
use arrow_array::{ArrayRef, BooleanArray, Int32Array, StringArray, UInt32Array, UInt64Array};
use serde_json::{Value, json};

use super::*;
use crate::folder::tests::{finished, killed, table};

fn texts<'a>(cells: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(cells.into_iter().map(Some).collect::<StringArray>())
}

fn u32s(cells: Vec<u32>) -> ArrayRef {
    Arc::new(UInt32Array::from(cells))
}

fn u64s(cells: Vec<u64>) -> ArrayRef {
    Arc::new(UInt64Array::from(cells))
}

/// Job, rank, begin, end, state.
type Row = (&'static str, u32, u64, u64, &'static str);

fn timeline(rows: &[Row]) -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("job", texts(rows.iter().map(|row| row.0))),
        ("rank", u32s(rows.iter().map(|row| row.1).collect())),
        ("begin_ps", u64s(rows.iter().map(|row| row.2).collect())),
        ("end_ps", u64s(rows.iter().map(|row| row.3).collect())),
        ("state", texts(rows.iter().map(|row| row.4))),
        ("blocked", Arc::new(BooleanArray::from(vec![false; rows.len()]))),
        (
            "region",
            Arc::new(StringArray::from(vec![None::<&str>; rows.len()])),
        ),
    ]
}

/// Messages of job `b` from rank 1 to rank 0, one per protocol.
fn messages(protocols: &[&'static str]) -> Vec<(&'static str, ArrayRef)> {
    let rows = protocols.len();
    vec![
        ("job", texts(vec!["b"; rows])),
        ("from_rank", u32s(vec![1; rows])),
        ("to_rank", u32s(vec![0; rows])),
        ("sequence", u32s(vec![5; rows])),
        ("number", u32s(vec![9; rows])),
        ("from_host", u32s(vec![31; rows])),
        ("to_host", u32s(vec![30; rows])),
        ("bytes", u64s(vec![1000; rows])),
        ("tag", Arc::new(Int32Array::from(vec![-1; rows]))),
        (
            "collective",
            Arc::new(StringArray::from(vec![None::<&str>; rows])),
        ),
        ("protocol", texts(protocols.iter().copied())),
        ("posted_ps", u64s(vec![10; rows])),
        ("sent_ps", u64s(vec![11; rows])),
        ("injected_ps", Arc::new(UInt64Array::from(vec![Some(12); rows]))),
        ("arrived_ps", u64s(vec![20; rows])),
        ("matched_ps", u64s(vec![20; rows])),
    ]
}

const ROWS_OF_TWO: [Row; 5] = [
    ("b", 1, 0, 10, "compute"),
    ("a", 0, 0, 15, "compute"),
    ("b", 1, 10, 16, "MPI_Send"),
    ("b", 0, 0, 20, "MPI_Recv"),
    ("a", 0, 15, 30, "MPI (other)"),
];

/// A result of two jobs: `a` of one rank, `b` of two.
fn result(folder: &Path) {
    finished(folder, &Value::Null);
    table(&folder.join("timeline.parquet"), timeline(&ROWS_OF_TWO));
    table(
        &folder.join("messages.parquet"),
        messages(&["request-to-send", "clear-to-send", "rendezvous"]),
    );
    let ranks = vec![
        ("job", texts(["a", "b", "b"])),
        ("rank", u32s(vec![0, 0, 1])),
        ("host", u32s(vec![2, 30, 31])),
    ];
    table(&folder.join("ranks.parquet"), ranks);
    let hosts = vec![("host", u32s(vec![2, 30, 31])), ("router", u32s(vec![0, 1, 1]))];
    table(&folder.join("hosts.parquet"), hosts);
    let groups = Arc::new(UInt32Array::from(vec![Some(4), Some(7)]));
    table(
        &folder.join("routers.parquet"),
        vec![("router", u32s(vec![0, 1])), ("group", groups)],
    );
}

/// Definitions and events of each location of an archive.
fn read(folder: &Path, locations: &[u64]) -> (Vec<Definition>, Vec<Vec<TimedEvent>>) {
    let (mut library, definitions) = ArchiveReader::open(&folder.join("traces.otf2")).unwrap();
    library.select(locations).unwrap();
    let events = |location: &u64| {
        let mut events = Vec::new();
        library.read_events(*location, None, 1000, &mut events).unwrap();
        events
    };
    (definitions, locations.iter().map(events).collect())
}

fn available() -> bool {
    if !::otf2::is_available() {
        testkit::skipped!("this build has no OTF2 library (Debian: libotf2-trace-dev)");
    }
    ::otf2::is_available()
}

#[test]
fn without_the_library_the_error_says_what_to_install() {
    if ::otf2::is_available() {
        testkit::skipped!("this build has the OTF2 library (FABRICSIM_WITHOUT_OTF2=1 builds without)");
        return;
    }
    let here = tempfile::tempdir().unwrap();
    result(here.path());
    let folder = ExportSource::open(here.path()).unwrap();
    let error = write(&folder, &Options::default(), here.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("libotf2-trace-dev"), "{error}");
}

#[test]
fn tables_that_are_not_there_or_contradict_themselves_are_errors() {
    if !available() {
        return;
    }
    let error = |lay: &dyn Fn(&Path)| {
        let (here, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        finished(here.path(), &Value::Null);
        lay(here.path());
        let folder = ExportSource::open(here.path()).unwrap();
        write(&folder, &Options::default(), out.path())
            .unwrap_err()
            .to_string()
    };
    let none = error(&|_| ());
    assert!(
        none.contains("no table timeline") && none.contains("--set collect.timeline=true"),
        "{none}"
    );
    let twice = error(&|here| {
        let rows = [("a", 0, 0, 15, "compute"), ("a", 0, 14, 30, "MPI_Wait")];
        table(&here.join("timeline.parquet"), timeline(&rows));
    });
    assert!(
        twice.contains("rank 0 of job a does two things at 14 ps"),
        "{twice}"
    );
    let strange = error(&|here| {
        result(here);
        table(&here.join("messages.parquet"), messages(&["telepathy"]));
    });
    assert!(
        strange.contains("its column 'protocol' has the unknown value 'telepathy'"),
        "{strange}"
    );
    let huge = error(&|here| {
        table(
            &here.join("timeline.parquet"),
            timeline(&[("a", u32::MAX, 0, 1, "compute")]),
        );
    });
    assert!(huge.contains("a rank beyond 16 million"), "{huge}");
}

#[test]
fn jobs_ranks_hosts_and_messages_are_in_the_archive() {
    if !available() {
        return;
    }
    let (here, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    result(here.path());
    let folder = ExportSource::open(here.path()).unwrap();
    assert!(
        write(&folder, &Options::default(), out.path())
            .unwrap()
            .is_empty()
    );
    let (definitions, events) = read(out.path(), &[0, 1, 2]);
    let text = |of: u32| {
        let find = |d: &Definition| match d {
            Definition::String { id, text } if *id == of => Some(text.clone()),
            _ => None,
        };
        definitions.iter().find_map(find).unwrap()
    };
    let names = |pick: &dyn Fn(&Definition) -> Option<u32>| -> Vec<String> {
        definitions.iter().filter_map(pick).map(text).collect()
    };
    let regions = names(&|d| match d {
        Definition::Region { name, .. } => Some(*name),
        _ => None,
    });
    assert_eq!(regions, ["compute", "MPI_Send", "MPI_Recv", "MPI_(other)"]);
    let communicators = names(&|d| match d {
        Definition::Communicator { name, .. } => Some(*name),
        _ => None,
    });
    assert_eq!(
        communicators,
        ["MPI_COMM_WORLD of job a", "MPI_COMM_WORLD of job b"]
    );
    for known in ["job a rank 0", "job b rank 1", "host 31", "group 7", "machine"] {
        assert!(
            definitions
                .iter()
                .any(|d| matches!(d, Definition::String { text, .. } if text == known)),
            "{known}"
        );
    }
    assert!(definitions.contains(&Definition::Clock {
        ticks_per_second: 1_000_000_000_000
    }));
    assert!(definitions.contains(&Definition::Location { id: 2, events: 5 }));
    let members = |group| {
        definitions.iter().find_map(|d| match d {
            Definition::Group { id, members, .. } if *id == group => Some(members.clone()),
            _ => None,
        })
    };
    assert_eq!(members(2), Some(vec![1, 2]), "ranks of job b");
    let times = |of: &[TimedEvent]| of.iter().map(|event| event.time).collect::<Vec<_>>();
    assert_eq!(times(&events[0]), [0, 15, 15, 30]);
    let sent = events[2].iter().find_map(|event| match event.record {
        EventRecord::Send(message) => Some((event.time, message)),
        _ => None,
    });
    let (at, message) = sent.unwrap();
    assert_eq!((at, message.peer, message.communicator), (10, 0, 1));
    assert_eq!((message.tag, message.bytes), (u32::MAX, 1000));
    assert_eq!(
        events[1]
            .iter()
            .filter(|event| matches!(event.record, EventRecord::Recv(_)))
            .count(),
        1
    );
}

#[test]
fn ranks_are_read_as_many_at_a_time_as_fit() {
    let location = |rows| survey::TraceLocation { host: None, rows };
    let of = [5, 5, 5, 100, 1].map(location);
    assert_eq!(fitting(&of, 10), 2);
    assert_eq!(fitting(&of, 9), 1);
    assert_eq!(fitting(&of[3..], 10), 1, "one that is too large comes alone");
    assert_eq!(fitting(&of, 1000), 5);
}

#[test]
fn ranges_of_ranks_are_told_what_is_theirs() {
    let here = tempfile::tempdir().unwrap();
    result(here.path());
    let folder = ExportSource::open(here.path()).unwrap();
    let mut survey = Survey::new(&folder).unwrap();
    let rows: Vec<u64> = survey.locations.iter().map(|location| location.rows).collect();
    assert_eq!(rows, [2, 3, 4], "those of the timeline and of messages");
    let all = inputs_of(&folder, &mut survey, &(0..3)).unwrap();
    let mut parts = inputs_of(&folder, &mut survey, &(0..1)).unwrap();
    parts.extend(inputs_of(&folder, &mut survey, &(1..3)).unwrap());
    assert_eq!(all, parts);
    assert_eq!(all[2].ends[0].side, MessageSide::Asking);
    assert_eq!(
        all[2].ends[1..],
        [MessageEnd {
            side: MessageSide::Out,
            peer: 0,
            sequence: 5,
            bytes: 1000,
            tag: Some(u32::MAX),
            begun: 10,
            done: 12,
            order: 10,
            found: false,
            busy: 1
        }]
    );
}

#[test]
fn what_a_killed_run_has_left_is_an_archive() {
    if !available() {
        return;
    }
    let (here, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    killed(here.path(), &json!({"collect": {"timeline": true}}));
    let parts = here.path().join("running");
    fs::create_dir_all(&parts).unwrap();
    table(&parts.join("timeline.00000.parquet"), timeline(&ROWS_OF_TWO[..2]));
    table(
        &parts.join("timeline.00001.parquet"),
        timeline(&ROWS_OF_TWO[2..3]),
    );
    // The tables contain the receive and lack its call.
    table(&parts.join("messages.tail.parquet"), messages(&["eager"]));
    let folder = ExportSource::open(here.path()).unwrap();
    write(&folder, &Options::default(), out.path()).unwrap();
    // Jobs in the order in which the tables name them.
    let (definitions, events) = read(out.path(), &[0, 1, 2]);
    assert!(
        definitions
            .iter()
            .any(|d| matches!(d, Definition::String { text, .. } if text == "host 30"))
    );
    let [receiver, sender, _] = events.try_into().unwrap();
    assert!(
        matches!(
            receiver[..],
            [TimedEvent {
                time: 20,
                record: EventRecord::Recv(_)
            }]
        ),
        "{receiver:?}"
    );
    assert_eq!(sender.len(), 5);
}
