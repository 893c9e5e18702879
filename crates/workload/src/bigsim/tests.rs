//! Synthetic traces of all versions, and damaged ones.

use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;
use testkit::bigsim::{BigsimFixture, FixtureLog};

use crate::{Answer, Call, Completed, Operation, ReceivedMessage, SentMessage, TraceInfo, Workload};

fn written(trace: &BigsimFixture) -> TempDir {
    let folder = TempDir::new().unwrap();
    trace.write(folder.path());
    folder
}

fn info(folder: &Path) -> Result<TraceInfo, String> {
    crate::trace::info(folder).map_err(|error| error.to_string())
}

fn opened(folder: &Path) -> Result<std::sync::Arc<dyn Workload>, String> {
    crate::trace::open(folder).map_err(|error| error.to_string())
}

/// A log with this name that takes this many nanoseconds.
fn log(name: &'static str, ns: u32) -> FixtureLog {
    FixtureLog {
        name,
        exec_s: f64::from(ns) * 1e-9,
        end_s: f64::from(ns) * 1e-9,
        ..FixtureLog::default()
    }
}

/// A log that a message starts.
fn started(name: &'static str, ns: u32, by: (i32, i32)) -> FixtureLog {
    FixtureLog {
        started_by: Some(by),
        ..log(name, ns)
    }
}

/// Three nodes of two PEs in two files, with sends of all kinds.
fn mixed() -> BigsimFixture {
    let first = FixtureLog {
        sends: vec![
            (0, 1, 1, 100),
            (1, 2, -1, 200),
            (2, -1, -1, 300),
            (3, -102, -1, 400),
            (4, -100, 1, 500),
        ],
        texts: vec!["a mark", ""],
        ..log("user_code", 1000)
    };
    let all = |pe: i32| {
        let mut logs = vec![started("broadcast", 10, (0, 2))];
        if pe == 3 {
            logs.push(started("one", 10, (0, 0)));
        }
        if pe >= 4 {
            logs.push(started("node", 10, (0, 1)));
        } else {
            logs.push(started("others", 10, (0, 3)));
        }
        if pe != 1 {
            logs.push(FixtureLog {
                before: vec![0],
                ..started("others", 10, (0, 4))
            });
        }
        logs
    };
    let mut pes: Vec<Vec<FixtureLog>> = (0..6).map(all).collect();
    pes[0].insert(0, first);
    BigsimFixture {
        grid: [1, 3, 1],
        threads: 2,
        files: 2,
        ..BigsimFixture::new(pes)
    }
}

#[test]
fn all_versions_byte_orders_and_headers_are_read() {
    for version in 0..=6 {
        for (header, is_big_endian) in [(0, false), (1, false), (0, true), (1, true)] {
            let folder = written(&BigsimFixture {
                version,
                header,
                is_big_endian,
                ..mixed()
            });
            let info = info(folder.path()).unwrap();
            let bigsim = info.bigsim.as_ref().unwrap();
            assert_eq!(
                (info.ranks, &*info.format, bigsim.version),
                (6, "bigsim", version as u32)
            );
            assert_eq!((bigsim.grid, bigsim.threads, bigsim.files), ([1, 3, 1], 2, 2));
            assert_eq!((bigsim.logs, bigsim.sends, bigsim.broadcasts), (19, 5, 3));
            assert_eq!((bigsim.started_by_messages, bigsim.events), (18, 2));
            assert_eq!((bigsim.before, bigsim.after), (5, 5));
            assert_eq!(
                (info.messages.bytes, info.compute_ps, info.span_ps),
                (1500, 1_180_000, 1_000_000)
            );
            assert_eq!(bigsim.logs_by_name["others"], 9);
            // One, two threads, five of all, three of the first two nodes, four of all but the second PE.
            let replay = bigsim.replay.as_ref().unwrap();
            assert_eq!((replay.start, replay.logs, replay.sends), (None, 19, 5));
            assert_eq!(replay.messages, 1 + 2 + 5 + 3 + 4);
            assert_eq!(replay.bytes, 100 + 2 * 200 + 5 * 300 + 3 * 400 + 4 * 500);
            let text = info.to_string();
            assert!(text.contains("1x3x1 nodes, 2 PEs each"), "{text}");
            assert!(text.contains("everything: 19 logs"), "{text}");
        }
    }
}

/// Answers as a rank gives them: each of these messages comes when the program waits.
fn operations(workload: &dyn Workload, rank: u32, mut messages: Vec<(u32, u32)>) -> Vec<Operation> {
    messages.reverse();
    let mut program = workload.program(rank).unwrap();
    let mut operations = Vec::new();
    let mut answer = Answer::default();
    loop {
        program.answer(std::mem::take(&mut answer));
        let Some(operation) = program.next().unwrap() else {
            return operations;
        };
        match &operation {
            Operation::Select { requests, blocks, .. } => {
                assert!(!requests.is_empty());
                if *blocks {
                    let (source, tag) = messages.pop().expect("a message for which the program waits");
                    let sent = SentMessage {
                        from: source,
                        to: rank,
                        sequence: 0,
                    };
                    answer.completed = vec![Completed {
                        request: Some(requests[0]),
                        message: Some(ReceivedMessage {
                            source,
                            tag,
                            bytes: 0,
                            sent,
                        }),
                    }];
                }
            }
            Operation::Receive { .. } => {}
            _ => operations.push(operation),
        }
    }
}

fn computed(operations: &[Operation], workload: &dyn Workload) -> Vec<(String, u64)> {
    let regions = workload.regions();
    let named = |operation: &Operation| match operation {
        Operation::Compute {
            ps,
            region: Some(region),
        } => Some((regions[*region as usize].clone(), *ps)),
        _ => None,
    };
    operations.iter().filter_map(named).collect()
}

#[test]
fn logs_run_in_the_order_in_which_they_become_ready() {
    let after = |name, ns, before: &[i32]| FixtureLog {
        before: before.to_vec(),
        ..log(name, ns)
    };
    let folder = written(&BigsimFixture::new(vec![
        vec![
            FixtureLog {
                sends: vec![(5, 0, 0, 80), (6, 1, 0, 64)],
                ..log("a", 10)
            },
            log("b", 20),
            // The message to the own PE queues up before what waits for the log.
            after("d", 40, &[0]),
            started("c", 30, (0, 5)),
            after("e", 50, &[0, 1, 3]),
            FixtureLog {
                before: vec![1],
                ..started("AMPI_Recv", 60, (1, 0))
            },
            after("f", 70, &[5]),
        ],
        vec![FixtureLog {
            sends: vec![(0, 0, 0, 32)],
            ..started("answer", 5, (0, 6))
        }],
    ]));
    let workload = opened(folder.path()).unwrap();
    assert_eq!(workload.ranks(), 2);
    assert!(workload.reacts() && !workload.repeats());
    let found = operations(workload.as_ref(), 0, vec![(1, 0)]);
    let expected = [("a", 10), ("b", 20), ("c", 30), ("d", 40), ("e", 50), ("f", 70)];
    let expected = expected.map(|(name, ns)| (name.to_string(), ns * 1000));
    assert_eq!(computed(&found, workload.as_ref()), expected);
    let sent = Operation::Send {
        to: 1,
        tag: 6,
        communicator: 0,
        bytes: 64,
        request: None,
        call: Call::Bsend,
    };
    assert_eq!(found[0], sent);
    let recorded = super::open(&folder.path().join("bgTrace"), super::RuntimeLogs::Recorded).unwrap();
    let found = operations(recorded.as_ref(), 0, vec![(1, 0)]);
    assert!(computed(&found, recorded.as_ref()).contains(&("AMPI_Recv".into(), 60_000)));
}

/// What is before the start has happened: its messages have arrived, its logs have ended.
#[test]
fn the_replay_begins_with_the_first_message_of_the_marked_log() {
    let mark = FixtureLog {
        flag: 1,
        sends: vec![(9, -1, -1, 10), (10, 1, 0, 20)],
        ..log("setup", 500)
    };
    let logs = |pe: i32| {
        let mut logs = vec![log("setup", 1000); 2];
        if pe == 0 {
            logs.push(mark.clone());
        }
        let first = logs.len() as i32;
        logs.push(FixtureLog {
            before: vec![0],
            ..started("go", 10, (0, 9))
        });
        logs.push(FixtureLog {
            before: vec![first],
            ..log("work", 20)
        });
        if pe == 1 {
            logs.push(started("early", 30, (0, 10)));
        }
        logs
    };
    let folder = written(&BigsimFixture::new((0..2).map(logs).collect()));
    let bigsim = info(folder.path()).unwrap().bigsim.unwrap();
    let replay = bigsim.replay.unwrap();
    assert_eq!((replay.start, replay.logs, replay.messages), (Some([0, 9]), 5, 0));
    let workload = opened(folder.path()).unwrap();
    let names = |rank| {
        let found = operations(workload.as_ref(), rank, vec![]);
        let computed = computed(&found, workload.as_ref());
        computed.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(names(0), ["go", "work"]);
    assert_eq!(names(1), ["go", "early", "work"]);
}

#[test]
fn traces_that_cannot_be_replayed_say_why() {
    let two = |logs: Vec<FixtureLog>| BigsimFixture::new(vec![logs, vec![]]);
    let waits = |before: &[i32]| FixtureLog {
        before: before.to_vec(),
        ..log("a", 1)
    };
    for (trace, message) in [
        (
            two(vec![log("a", 1), started("b", 1, (1, 7))]),
            "rank 0: 1 of 2 replayed logs never start; the first is log 1 (b), which waits for message 7 of PE 1, which \
             no replayed log sends to it",
        ),
        (
            two(vec![waits(&[1]), waits(&[0])]),
            "2 of 2 replayed logs never start; the first is log 0 (a), which waits for log 1 (a), which never ends",
        ),
        (
            two(vec![FixtureLog {
                operation: 2,
                ..log("a", 1)
            }]),
            "log 0 (a) is a collective of MPI without messages, which is not replayed",
        ),
        (
            two(vec![FixtureLog {
                flag: 1,
                ..log("a", 1)
            }]),
            "the simulation starts with the first message of log 0 (a), which has none",
        ),
        (
            two(vec![FixtureLog {
                flag: 1,
                sends: vec![(3, 0, 0, 1)],
                ..log("a", 1)
            }]),
            "the simulation starts with message 3 of PE 0, which starts no log here",
        ),
    ] {
        let folder = written(&trace);
        let refused = opened(folder.path()).map(|_| ()).unwrap_err();
        assert!(refused.contains(message), "{refused}");
        let notes = info(folder.path()).unwrap().notes;
        assert!(notes.iter().any(|note| note.contains(message)), "{notes:?}");
    }
}

/// The error of [`two_logs`] with other bytes in file 0.
fn changed(at: usize, bytes: &[u8]) -> String {
    let folder = written(&two_logs());
    let file = folder.path().join("bgTrace0");
    let mut content = std::fs::read(&file).unwrap();
    content[at..at + bytes.len()].copy_from_slice(bytes);
    std::fs::write(&file, content).unwrap();
    opened(folder.path()).map(|_| ()).unwrap_err()
}

/// Two PEs, the first of which has two logs: the timeline starts at byte 28, its first log at byte 32.
fn two_logs() -> BigsimFixture {
    let first = FixtureLog {
        sends: vec![(0, 1, 0, 100)],
        ..log("a", 1)
    };
    let second = FixtureLog {
        before: vec![0],
        ..log("b", 1)
    };
    BigsimFixture::new(vec![vec![first, second], vec![started("c", 1, (0, 0))]])
}

#[test]
fn wrong_values_are_named_with_their_byte() {
    let int = |value: i32| value.to_le_bytes();
    let double = |value: f64| value.to_le_bytes();
    // Fields of the first log, from byte 32: four numbers, operation, entry, five times, flag, name, object.
    let (numbers, times) = (32, 32 + 16 + 6 + 2);
    let name = times + 40 + 1;
    let send = name + 20 + 16 + 4;
    let after = send + 34 + 4 + 4 + 4;
    for (at, bytes, message) in [
        (16, int(3).to_vec(), "byte 16: expected 2 timelines, found 3"),
        (
            16,
            int(1 << 30).to_vec(),
            "byte 16: expected the number of timelines, at most ",
        ),
        (
            20,
            int(30).to_vec(),
            "byte 20: expected 28 as start of the timeline, found 30",
        ),
        (
            28,
            int(-2).to_vec(),
            "rank 0: byte 28: expected the number of logs, from 0 on; found -2",
        ),
        (
            28,
            int(9).to_vec(),
            "rank 0: byte 28: expected the number of logs, at most 3 in the ",
        ),
        (
            numbers + 4,
            int(5).to_vec(),
            "byte 36: expected 0 as number of the log, found 5",
        ),
        (
            numbers + 8,
            int(2).to_vec(),
            "byte 40: expected the message that starts the log, a PE from 0 to 1",
        ),
        (
            times + 24,
            double(-1.0).to_vec(),
            "expected the time of execution, from 0 to 10000000 s; found -1",
        ),
        (
            times,
            double(f64::NAN).to_vec(),
            "byte 56: expected the time of reception in seconds, found NaN",
        ),
        (
            name,
            vec![b'x'; 20],
            "byte 97: expected a name that ends with a zero byte within 20 B",
        ),
        (
            send - 4,
            int(1000).to_vec(),
            "expected the number of messages, at most ",
        ),
        (
            send,
            int(-1).to_vec(),
            "expected the number of a message, from 0 on; found -1",
        ),
        (
            send + 4,
            int(2).to_vec(),
            "expected one of the nodes 0 to 1 as destination, found 2",
        ),
        (
            send + 4,
            int(-102).to_vec(),
            "expected one of the nodes 0 to 1 as destination, found 2",
        ),
        (
            send + 4,
            int(-7).to_vec(),
            "expected the destination, a node, -1, or -100 downwards; found -7",
        ),
        (
            send + 24,
            vec![1, 0],
            "expected a thread from 0 to 0 of the destination, or -1; found 1",
        ),
        (
            after,
            int(7).to_vec(),
            "expected a log after it, at most 1; found 7",
        ),
        (
            after,
            int(0).to_vec(),
            "the logs before and after each other disagree",
        ),
    ] {
        let found = changed(at, &bytes);
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn files_that_are_wrong_as_a_whole_are_refused() {
    let folder = written(&two_logs());
    let main = folder.path().join("bgTrace");
    let good = std::fs::read(&main).unwrap();
    let attempt = |at: usize, bytes: &[u8]| {
        let mut content = good.clone();
        content.truncate(at);
        content.extend(bytes);
        content.extend(good.iter().skip(content.len()));
        std::fs::write(&main, content).unwrap();
        info(folder.path()).unwrap_err()
    };
    let int = |value: i32| value.to_le_bytes();
    for (found, message) in [
        (
            attempt(4, &[2]),
            "byte 4: expected header version 0 or 1, found 2",
        ),
        (attempt(7, &[8]), "byte 7: expected int of 4 B, found 8"),
        (
            attempt(10, &[3]),
            "byte 10: expected number format 0 (big-endian) or 1 (little-endian), found 3",
        ),
        (
            attempt(16, &int(3)),
            "byte 16: expected as many PEs as 2x1x1 nodes with 1 worker threads have",
        ),
        (
            attempt(20, &int(0)),
            "byte 20: expected the nodes of a dimension, from 1 on; found 0",
        ),
        (
            attempt(48, &int(2)),
            "bgTrace0: byte 16: expected 1 timelines, found 2",
        ),
        (
            attempt(52, &int(7)),
            "byte 52: expected a version of the logs from 0 to 6, found 7",
        ),
        (
            attempt(good.len(), &[1]),
            "byte 60: expected the end of the file, found 1 B more",
        ),
    ] {
        assert!(found.contains(message), "{found}");
    }
    let written_for_2 = written(&BigsimFixture {
        files: 2,
        ..two_logs()
    });
    std::fs::remove_file(written_for_2.path().join("bgTrace1")).unwrap();
    let found = info(written_for_2.path()).unwrap_err();
    assert!(found.contains("bgTrace1: cannot be opened"), "{found}");
    let grid = [int(1 << 30), int(1 << 10), int(1 << 10), int(1 << 10)].concat();
    let found = attempt(16, &grid);
    assert!(found.contains("at most 16777216; found 1073741824"), "{found}");
    let other = folder.path().join("bgTrace0");
    let found = info(&other).unwrap_err();
    assert!(
        found.contains("bgTrace0: is a file of a BigSim trace; expected the file bgTrace beside it"),
        "{found}"
    );
    std::fs::write(&main, &good).unwrap();
    let whole = std::fs::read(&other).unwrap();
    for length in 0..whole.len() {
        std::fs::write(&other, &whole[..length]).unwrap();
        let found = info(folder.path()).unwrap_err();
        assert!(
            found.contains("bgTrace0: ") && found.contains("byte "),
            "{length}: {found}"
        );
    }
    std::fs::write(&other, [&whole[..], &[0]].concat()).unwrap();
    assert!(
        info(folder.path())
            .unwrap_err()
            .contains("expected the end of the file, found 1 B more")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Changed bytes give an error or a trace, never a panic, and never take much memory.
    #[test]
    fn mutated_traces_end(
        changes in prop::collection::vec((0usize..3000, any::<u8>()), 1..4),
        of_main in any::<bool>(),
        version in 0..=6,
        is_big_endian in any::<bool>(),
    ) {
        let folder = written(&BigsimFixture { version, is_big_endian, ..mixed() });
        let file = folder.path().join(if of_main { "bgTrace" } else { "bgTrace0" });
        let mut content = std::fs::read(&file).unwrap();
        for (at, byte) in changes {
            let at = at % content.len();
            content[at] = byte;
        }
        std::fs::write(&file, content).unwrap();
        if let (Ok(info), Ok(workload)) = (info(folder.path()), opened(folder.path())) {
            prop_assert_eq!(info.ranks, workload.ranks());
            prop_assert!(info.bigsim.unwrap().replay.is_some());
        }
    }
}
