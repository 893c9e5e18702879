//! Archives are read as they were written; errors are reported.

use std::path::Path;

use super::*;

fn event(time: u64, record: EventRecord) -> TimedEvent {
    TimedEvent { time, record }
}

fn message(peer: u32, tag: u32, bytes: u64) -> MessageRecord {
    MessageRecord {
        peer,
        communicator: 0,
        tag,
        bytes,
    }
}

/// Location 0 sends a number of messages, location 1 receives them.
fn events(location: u64, messages: u64) -> Vec<TimedEvent> {
    let mut events = Vec::new();
    for n in 0..messages {
        let (time, of) = (n * 1000, message(1 - location as u32, 7, n));
        events.push(event(time, EventRecord::Enter { region: 0 }));
        if location == 0 {
            events.push(event(
                time,
                EventRecord::Isend {
                    message: of,
                    request: n,
                },
            ));
            events.push(event(time + 9, EventRecord::IsendComplete { request: n }));
        } else {
            events.push(event(time + 500, EventRecord::IrecvRequest { request: n }));
            events.push(event(
                time + 900,
                EventRecord::Irecv {
                    message: of,
                    request: n,
                },
            ));
        }
        events.push(event(time + 999, EventRecord::Leave { region: 0 }));
    }
    events
}

fn define(writer: &mut ArchiveWriter, counts: [u64; 2], ticks: u64) -> Result<(), String> {
    writer.begin_definitions(2, 1_000_000_000_000, 0, ticks)?;
    writer.node(0, "a machine", "machine", None, Domain::Machine)?;
    writer.node(1, "host 0", "node", Some(0), Domain::SharedMemory)?;
    for (id, events) in (0..).zip(counts) {
        writer.process(id, &format!("rank {id}"), 1, events)?;
    }
    writer.region(0, "MPI_Isend", Role::PointToPoint, true)?;
    writer.locations(0, "all ranks", &[0, 1])?;
    writer.group(1, "the job's ranks", &[0, 1])?;
    writer.communicator(0, "MPI_COMM_WORLD", 1, None)?;
    writer.window(0, "window", 0)
}

fn written(folder: &Path, all: [&[TimedEvent]; 2]) -> Result<(), String> {
    let mut writer = ArchiveWriter::create(folder, "FabricSim", "a test", 2)?;
    for (location, events) in (0..).zip(all) {
        for part in events.chunks(1000) {
            writer.events(location, part)?;
        }
        writer.end_location(location)?;
    }
    let last = all
        .iter()
        .flat_map(|events| events.last())
        .map(|event| event.time)
        .max();
    define(
        &mut writer,
        all.map(|events| events.len() as u64),
        last.unwrap_or(0),
    )?;
    writer.finish()
}

#[test]
fn without_the_library_the_error_says_what_to_install() {
    if is_available() {
        testkit::skipped!("this build has the OTF2 library (FABRICSIM_WITHOUT_OTF2=1 builds without)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let errors = [
        ArchiveWriter::create(folder.path(), "FabricSim", "", 2)
            .err()
            .unwrap(),
        ArchiveReader::open(&folder.path().join("traces.otf2"))
            .err()
            .unwrap(),
    ];
    for error in errors {
        assert!(
            error.contains("libotf2-trace-dev") && error.contains("OTF2_CONFIG"),
            "{error}"
        );
    }
}

#[test]
fn what_is_written_comes_back() {
    if !is_available() {
        testkit::skipped!("this build has no OTF2 library");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Several chunks in the first location, nothing in the second.
    let long = events(0, 60_000);
    for all in [[&events(0, 3)[..], &events(1, 3)], [&long, &[]]] {
        let folder = folder.path().join(format!("of {}", all[0].len()));
        written(&folder, all).unwrap();
        let (mut library, definitions) = ArchiveReader::open(&folder.join("traces.otf2")).unwrap();
        assert!(definitions.contains(&Definition::Location {
            id: 0,
            events: all[0].len() as u64
        }));
        let communicator = |d: &&Definition| matches!(d, Definition::Communicator { id: 0, group: 1, .. });
        assert_eq!(definitions.iter().filter(communicator).count(), 1);
        library.select(&[0, 1]).unwrap();
        for (location, expected) in (0..).zip(all) {
            library.local_definitions(location).unwrap();
            let mut read = Vec::new();
            let records = library
                .read_events(location, None, expected.len() + 1, &mut read)
                .unwrap();
            assert_eq!(records, expected.len() as u64);
            assert!(read == expected, "location {location}");
        }
    }
}

#[test]
fn groups_of_very_many_ranks_can_be_written() {
    if !is_available() {
        testkit::skipped!("this build has no OTF2 library");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ranks = 100_000;
    let mut writer = ArchiveWriter::create(folder.path(), "FabricSim", "a test", ranks).unwrap();
    writer.begin_definitions(0, 1, 0, 0).unwrap();
    let members: Vec<u64> = (0..ranks).collect();
    writer.locations(0, "all ranks", &members).unwrap();
    writer.finish().unwrap();
    let (_, definitions) = ArchiveReader::open(&folder.path().join("traces.otf2")).unwrap();
    assert!(
        definitions
            .iter()
            .any(|d| matches!(d, Definition::Group { members: of, .. } if *of == members))
    );
}

#[test]
fn one_sided_transfers_are_written() {
    if !is_available() {
        testkit::skipped!("this build has no OTF2 library");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let transfer = |bytes, matching| RmaRecord {
        window: 0,
        peer: 1,
        bytes,
        received: 0,
        matching,
    };
    let done = |matching| EventRecord::TransferComplete { window: 0, matching };
    let all = [
        event(1, EventRecord::Put(transfer(5, 1))),
        event(1, EventRecord::Get(transfer(6, 2))),
        event(9, done(1)),
        event(9, done(2)),
    ];
    written(folder.path(), [&all, &[]]).unwrap();
    let (mut library, _) = ArchiveReader::open(&folder.path().join("traces.otf2")).unwrap();
    library.select(&[0]).unwrap();
    let mut read = Vec::new();
    assert_eq!(library.read_events(0, None, 9, &mut read).unwrap(), 4);
    // Completions are not read.
    assert_eq!(read, all[..2]);
}

#[test]
fn wrong_order_and_wrong_records_are_errors() {
    if !is_available() {
        testkit::skipped!("this build has no OTF2 library");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let create = |name: &str| ArchiveWriter::create(&folder.path().join(name), "FabricSim", "", 2).unwrap();
    let mut writer = create("a");
    let early = writer
        .region(0, "MPI_Send", Role::PointToPoint, true)
        .unwrap_err();
    assert_eq!(early, "definitions before the last event");
    writer
        .events(0, &[event(5, EventRecord::Enter { region: 0 })])
        .unwrap();
    let other = writer
        .events(1, &[event(5, EventRecord::Enter { region: 0 })])
        .unwrap_err();
    assert_eq!(other, "location 0 is still being written");
    let back = writer
        .events(0, &[event(4, EventRecord::Leave { region: 0 })])
        .unwrap_err();
    assert!(back.to_lowercase().contains("time"), "{back}");

    let mut writer = create("b");
    let read_only = writer
        .events(0, &[event(5, EventRecord::RequestTest { request: 1 })])
        .unwrap_err();
    assert!(read_only.contains("RequestTest") && read_only.ends_with("can only be read"));
    writer.begin_definitions(0, 1, 0, 0).unwrap();
    assert_eq!(writer.events(0, &[]).unwrap_err(), "events after definitions");

    std::fs::write(folder.path().join("file"), "").unwrap();
    assert!(ArchiveWriter::create(&folder.path().join("file/below"), "FabricSim", "", 2).is_err());
    assert!(ArchiveWriter::create(&folder.path().join("zero\0"), "FabricSim", "", 2).is_err());
}
