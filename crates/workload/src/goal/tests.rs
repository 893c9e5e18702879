//! Constructed and random schedules in both formats.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::{Call, Operation, TraceInfo};

fn corpus(file: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces/goal-ring-6");
    folder.join(file)
}

/// Writes a schedule, and opens it.
fn opened(content: &[u8]) -> (tempfile::TempDir, Result<GoalSchedule, TraceError>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("schedule.goal");
    fs::write(&file, content).unwrap();
    let schedule = GoalSchedule::open(&file);
    (folder, schedule)
}

fn operations(schedule: &GoalSchedule, rank: u32) -> Result<Vec<Operation>, TraceError> {
    let mut program = schedule.program(rank)?;
    std::iter::from_fn(|| program.next().transpose()).collect()
}

/// The operations of rank 0 of a schedule of two ranks.
fn sequence(lines: &str, others: &str) -> Vec<Operation> {
    let text = format!("num_ranks 2\nrank 0 {{\n{lines}\n}}\nrank 1 {{\n{others}\n}}\n");
    let (_folder, schedule) = opened(text.as_bytes());
    operations(&schedule.unwrap_or_else(|e| panic!("{e}")), 0).unwrap()
}

fn failure(text: &str) -> String {
    let (_folder, schedule) = opened(text.as_bytes());
    let error = schedule.map(|_| ()).unwrap_err().to_string();
    error.split_once("schedule.goal: ").unwrap().1.to_string()
}

/// The same schedule in binary.
fn binary(schedule: &GoalSchedule) -> Vec<u8> {
    let ranks = schedule.ranks();
    let (mut table, mut blocks) = (Vec::new(), Vec::<u8>::new());
    let start = 6 + 16 * u64::from(ranks);
    for rank in 0..ranks {
        let RankBlocks::Text(places) = &schedule.ranks else {
            panic!("a text");
        };
        let block = text::block(&schedule.file, rank, ranks, places[rank as usize]).unwrap();
        let GoalBlock::Memory(bytes) = block else {
            panic!("in memory");
        };
        table.extend((start + blocks.len() as u64).to_le_bytes());
        blocks.extend(bytes.iter());
        table.extend((start + blocks.len() as u64).to_le_bytes());
    }
    let mut file = 4223u64.to_le_bytes().to_vec();
    file.extend(ranks.to_le_bytes());
    file.extend([1, 1]);
    file.extend(table);
    file.extend(blocks);
    file
}

fn send(number: u64, to: u32, tag: u32, bytes: u64) -> Operation {
    Operation::Send {
        to,
        tag,
        communicator: 0,
        bytes,
        request: Some(number),
        call: Call::Isend,
    }
}

fn receive(number: u64, from: Option<u32>, tag: Option<u32>, bytes: u64) -> Operation {
    Operation::Receive {
        from,
        tag,
        communicator: 0,
        bytes,
        request: Some(number),
        call: Call::Irecv,
    }
}

fn compute(ns: u64) -> Operation {
    Operation::Compute {
        ps: ns * 1000,
        region: None,
    }
}

fn wait(requests: &[u64]) -> Operation {
    Operation::Wait {
        requests: requests.to_vec(),
        call: Call::Waitall,
    }
}

#[test]
fn receives_are_posted_first_and_only_what_is_needed_is_waited_for() {
    let lines = "l1: calc 7\nl2: recv 10b from 1 tag 5\nl3: send 20b to 1 cpu 0 nic 0\nl3 requires l2\n\
                 l4: recv 1b from -1 tag -1\nl5: calc 9\nl5 requires l1";
    let found = sequence(lines, "send 10b to 0 tag 5\nsend 1b to 0\nrecv 20b from 0");
    let expected = [
        receive(1, Some(1), Some(5), 10),
        receive(3, None, None, 1),
        compute(7),
        compute(9),
        wait(&[1]),
        send(2, 1, 0, 20),
        wait(&[2, 3]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn after_the_start_is_not_after_the_end() {
    let lines = "a: recv 1b from 1\nb: calc 3\nb irequires a\nc: calc 4\nc requires a";
    let expected = [
        receive(0, Some(1), Some(0), 1),
        compute(3),
        wait(&[0]),
        compute(4),
    ];
    assert_eq!(sequence(lines, "send 1b to 0"), expected);
}

#[test]
fn a_calc_of_nothing_only_orders() {
    let lines = "end: calc 0\nafter: calc 2\nafter requires end\na: recv 1b from 1\nend requires a";
    let expected = [receive(2, Some(1), Some(0), 1), wait(&[2]), compute(2)];
    assert_eq!(sequence(lines, "send 1b to 0"), expected);
}

#[test]
fn comments_spaces_and_line_ends_are_free() {
    let text = "// one\n/* two\n */ num_ranks  2 // three\r\n\r\nrank 1 { }\r\nrank 0 {x:calc 5\tcpu 3\r\n/* four */ y : \
                calc 6 // requires\r\nx requires y /* five */\r\n}";
    let (_folder, schedule) = opened(text.as_bytes());
    let schedule = schedule.unwrap();
    assert_eq!(operations(&schedule, 0).unwrap(), [compute(6), compute(5)]);
    assert_eq!(operations(&schedule, 1).unwrap(), []);
}

#[test]
fn errors_name_line_and_rank() {
    let of_rank = |lines: &str| failure(&format!("num_ranks 2\nrank 0 {{\n{lines}\n}}\nrank 1 {{\n}}\n"));
    for (lines, expected) in [
        (
            "a: send 1b to 2",
            "rank 0: line 3: send to rank 2, but the ranks are 0 to 1",
        ),
        (
            "recv 1b from 7",
            "rank 0: line 3: recv from rank 7, but the ranks are 0 to 1",
        ),
        (
            "send 1b to -1",
            "rank 0: line 3: expected a rank, a number from 0 to 4294967294, found '-1'",
        ),
        ("send 1b to 1 tag -1", "rank 0: line 3: a send with any tag (-1)"),
        (
            "a: calc 1\na: calc 2",
            "rank 0: line 4: the label 'a' is taken by the operation in line 3",
        ),
        (
            "a: calc 1\nb requires a",
            "rank 0: line 4: there is no operation with the label 'b'",
        ),
        (
            "a: calc 1\na requires b",
            "rank 0: line 4: there is no operation with the label 'b'",
        ),
        (
            "a: calc 1\na requires",
            "rank 0: line 4: expected a label after 'requires', found the end of the line",
        ),
        (
            "a: calc 1\nb: calc 1\na requires b\nb irequires a",
            "rank 0: line 3: operations depend on each other in a cycle; they are in the lines 3, 4",
        ),
        ("a: calc 1\na requires a", "they are in the lines 3"),
        (
            "a: calc 18446744073709552",
            "rank 0: line 3: calc of 18446744073709552 ns: longer than 2^64 ps",
        ),
        (
            "a: calc 18446744073709551616",
            "expected nanoseconds, a number from 0 to 18446744073709551615",
        ),
        (
            "a: calc 1 nic 0",
            "expected 'cpu' or the end of the line, found 'nic'",
        ),
        (
            "a: calc 1 cpu 256",
            "expected a CPU, a number from 0 to 255, found '256'",
        ),
        ("a: send 1 to 1", "expected 'b', found 'to'"),
        ("a: send 1b from 1", "expected 'to', found 'from'"),
        ("a: jump 1", "expected 'send', 'recv' or 'calc', found 'jump'"),
        (
            "a calc 1",
            "expected ':', 'requires' or 'irequires' after 'a', found 'calc'",
        ),
        ("7", "expected an operation, a label or '}', found '7'"),
        ("\u{e9}", "expected an operation, a label or '}'"),
        ("rank 1 {", "after 'rank', found '1'"),
        (
            "send 1b to 1",
            "rank 1: 1 messages are sent to it, but it receives 0",
        ),
        (
            "recv 1b from 1",
            "rank 0: 0 messages are sent to it, but it receives 1: some receives would never complete",
        ),
        ("/* no end", "rank 0: line 3: this comment has no end"),
    ] {
        let found = of_rank(lines);
        assert!(
            found.contains(expected),
            "{lines}\n  found    {found}\n  expected {expected}"
        );
    }
    for (text, expected) in [
        ("num_ranks", "line 1: expected the number of ranks"),
        ("num_ranks 0", "line 1: a schedule of no ranks"),
        (
            "num_ranks 4294967294\nrank 0 {\n}",
            "rank 1: is missing; expected 4294967294 ranks",
        ),
        ("num_ranks 1\n", "rank 0: is missing"),
        ("num_ranks 1\nrank 1 {", "line 2: rank 1, but num_ranks is 1"),
        (
            "num_ranks 1\nrank 0 {\n}\nrank 0 {\n}",
            "line 4: rank 0 is a duplicate; the first one is in line 2",
        ),
        (
            "num_ranks 1\nrank 0 {\ncalc 1",
            "rank 0: line 4: expected '}' at the end of the rank, found the end of the file",
        ),
        (
            "num_ranks 1\nrank 0\n{\n}",
            "line 2: expected '{', found the end of the line",
        ),
    ] {
        let found = failure(text);
        assert!(
            found.contains(expected),
            "{text}\n  found    {found}\n  expected {expected}"
        );
    }
    let long = format!("num_ranks 1\nrank 0 {{\n{}", "a".repeat(70_000));
    assert!(failure(&long).contains("is longer than 65536 bytes"));
}

/// The binary file that LogGOPSim wrote of the schedule, byte for byte.
#[test]
fn binary_is_as_loggopsim_writes_it() {
    let schedule = GoalSchedule::open(&corpus("ring.goal")).unwrap();
    let theirs = GoalSchedule::open(&corpus("ring-binary.goal")).unwrap();
    assert_eq!(binary(&schedule), fs::read(corpus("ring-binary.goal")).unwrap());
    for rank in 0..6 {
        assert_eq!(
            operations(&schedule, rank).unwrap(),
            operations(&theirs, rank).unwrap()
        );
    }
    let (mut a, mut b) = (scan::info(&schedule).unwrap(), scan::info(&theirs).unwrap());
    (a.file, b.file) = Default::default();
    assert_eq!(a, b);
    assert_eq!(
        (a.ranks, a.messages.count, a.messages.bytes),
        (6, 23, 6 * 49_064 + 5 * 512)
    );
    assert_eq!(a.compute_ps, 1000 * (6 * (3 * 2000 + 30) + 300 * 15 + 500));
    assert!(
        a.notes.iter().any(|n| n.starts_with("6 ranks use several CPUs")),
        "{:?}",
        a.notes
    );
    assert!(
        a.notes.iter().any(|n| n.starts_with("6 ranks name several NICs")),
        "{:?}",
        a.notes
    );
    assert!(
        a.notes
            .iter()
            .any(|n| n.starts_with("5 receives accept any source")),
        "{:?}",
        a.notes
    );
}

#[test]
fn a_damaged_binary_is_an_error() {
    let good = fs::read(corpus("ring-binary.goal")).unwrap();
    let message = |bytes: &[u8]| -> String {
        let (_folder, schedule) = opened(bytes);
        let info = schedule.and_then(|s| scan::info(&s)).map(|_: TraceInfo| ());
        info.unwrap_err().to_string()
    };
    let with = |at: usize, bytes: &[u8]| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        message(&bad)
    };
    let block = 14 + 16 * 6;
    assert!(message(&good[..12]).contains("is cut off"));
    assert!(message(&good[..60]).contains("the table of 6 ranks takes 96 bytes"));
    assert!(message(&good[..good.len() - 1]).contains("rank 5: its schedule should be in the bytes"));
    assert!(with(0, &2342u64.to_le_bytes()).contains("used up by LogGOPSim"));
    assert!(with(0, &4223u64.to_be_bytes()).contains("other byte order"));
    assert!(with(8, &0u32.to_le_bytes()).contains("no ranks"));
    assert!(
        with(block, &u32::MAX.to_le_bytes())
            .contains("rank 0: the schedule is cut off: 4294967295 operations")
    );
    assert!(with(block + 8, &200u32.to_le_bytes()).contains("names operation 200 of 15"));
    assert!(
        with(block + 8, &4u32.to_le_bytes())
            .contains("operation 4 is missing in the list of operations without prerequisites")
    );
    let node = block + 8 + 4 * 4;
    assert!(with(node + 4, &[9]).contains("operation 0 is of kind 9; expected 1 (send)"));
    assert!(with(node + 5, &6u32.to_le_bytes()).contains("rank 0: operation 0: recv from rank 6"));
    assert!(with(node + 27, &999u32.to_le_bytes()).contains("a list of operations at place 999"));
    // Operation 2 has three prerequisites, of which two exist.
    assert!(with(node + 2 * 39, &3u32.to_le_bytes()).contains("can never start"));
    assert!(with(node + 2 * 39, &1u32.to_le_bytes()).contains("damaged"));
}

/// Memory holds only the front of a schedule, whatever its length.
#[test]
fn memory_is_that_of_the_front() {
    let mut text = "num_ranks 2\n".to_string();
    for rank in 0..2 {
        text += &format!("rank {rank} {{\nr0: recv 8b from {}\n", 1 - rank);
        for i in 1..20_000 {
            let peer = 1 - rank;
            text += &format!(
                "s{i}: send 8b to {peer}\nr{i}: recv 8b from {peer}\ns{i} requires r{p}\nr{i} requires s{i}\n",
                p = i - 1
            );
        }
        text += &format!("send 8b to {}\n}}\n", 1 - rank);
    }
    let (folder, schedule) = opened(text.as_bytes());
    let file = folder.path().join("binary.goal");
    fs::write(&file, binary(&schedule.unwrap())).unwrap();
    let mut program = GoalSchedule::open(&file).unwrap().rank_program(1).unwrap();
    let mut largest = 0;
    while program.next().unwrap().is_some() {
        largest = largest.max(program.front());
    }
    assert!((1..10).contains(&largest), "{largest} wait");
}

#[test]
fn recognised_by_the_first_words() {
    for (head, expected) in [
        (&b"num_ranks 3"[..], true),
        (b"\n // hello\n/* and */ num_ranks 3", true),
        (b"// hello num_ranks 3", false),
        (b"rank 0 {", false),
        (b"\x7f\x10\0\0\0\0\0\0\x01", true),
        (b"\0\0\0\0\0\0\x10\x7f\x01", true),
        (b"\x7f\x10\0", false),
    ] {
        assert_eq!((FORMAT.recognise)(head), expected, "{head:?}");
    }
}

/// An operation of a random schedule: kind, other rank, and its prerequisites among the earlier operations.
type Drawn = (u8, u8, Vec<(Index, bool)>);

/// RecordingEdges of a random schedule by operation number: earlier, later, whether the start suffices.
struct DrawnSchedule {
    lines: String,
    kinds: Vec<u8>,
    edges: Vec<(usize, usize, bool)>,
}

/// `order` places the operations in the file in another order than their dependencies.
fn made(drawn: &[Drawn], order: &[Index]) -> DrawnSchedule {
    let count = drawn.len();
    // A shuffle: the place of each operation in the file.
    let mut places: Vec<usize> = (0..count).collect();
    for (i, index) in order.iter().enumerate().take(count) {
        places.swap(i, index.index(count));
    }
    let mut kinds = vec![0; count];
    let mut text = vec![String::new(); count];
    let mut edges = Vec::new();
    for (i, (kind, peer, follows)) in drawn.iter().enumerate() {
        let place = places[i];
        kinds[place] = kind % 3;
        // The size identifies the operation.
        let size = place + 1;
        text[place] = match kind % 3 {
            0 => format!("l{place}: send {size}b to {}\n", peer % 2),
            1 => format!("l{place}: recv {size}b from {}\n", peer % 2),
            _ => format!("l{place}: calc {size}\n"),
        };
        if i > 0 {
            edges.extend(
                follows
                    .iter()
                    .map(|(index, start)| (places[index.index(i)], place, *start)),
            );
        }
    }
    let mut lines = text.concat();
    for (earlier, later, start) in &edges {
        let word = if *start { "irequires" } else { "requires" };
        lines += &format!("l{later} {word} l{earlier}\n");
    }
    DrawnSchedule { lines, kinds, edges }
}

fn drawn() -> impl Strategy<Value = (Vec<Drawn>, Vec<Index>)> {
    let one = (any::<u8>(), any::<u8>(), vec(any::<(Index, bool)>(), 0..4));
    (vec(one, 1..60), vec(any::<Index>(), 60))
}

/// Operations of rank 1 that receive all messages of rank 0; `None` if rank 0 sends to itself more than it
/// receives.
fn complement(made: &DrawnSchedule) -> Option<String> {
    let count = |what: &str| made.lines.lines().filter(|l| l.contains(what)).count();
    let sends = count("recv").checked_sub(count("to 0"))?;
    Some("recv 99b from 0\n".repeat(count("to 1")) + &"send 1b to 0\n".repeat(sends))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_dependency_is_kept((drawn, order) in drawn()) {
        let made = made(&drawn, &order);
        let count = made.kinds.len();
        let mut program = GoalProgram::new("x".into(), 0, 2, parsed(&made)).unwrap();
        // Start and end of each operation, in steps of the program.
        let (mut started, mut ended) = (BTreeMap::new(), BTreeMap::new());
        let mut step = 0;
        while let Some(operation) = program.next().unwrap() {
            step += 1;
            match operation {
                Operation::Send { bytes, request, .. } | Operation::Receive { bytes, request, .. } => {
                    prop_assert_eq!(request, Some(bytes - 1));
                    prop_assert_eq!(started.insert(bytes as usize - 1, step), None);
                }
                Operation::Compute { ps, .. } => {
                    let number = (ps / 1000) as usize - 1;
                    prop_assert_eq!(started.insert(number, step), None);
                    ended.insert(number, step);
                }
                Operation::Wait { requests, .. } => {
                    for request in &requests {
                        prop_assert!(started.contains_key(&(*request as usize)));
                        prop_assert_eq!(ended.insert(*request as usize, step), None);
                    }
                    let followed = |r: &u64| made.edges.iter().any(|(e, _, start)| *e as u64 == *r && !start);
                    if started.len() < count {
                        prop_assert!(requests.iter().all(followed), "waits for what nothing needs");
                    }
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
        prop_assert_eq!(started.len(), count);
        prop_assert_eq!(ended.len(), count);
        for (earlier, later, start) in &made.edges {
            let before = if *start { started[earlier] } else { ended[earlier] };
            prop_assert!(before < started[later], "{} and {}", earlier, later);
        }
    }

    /// No calc or send that could start is behind a wait, and no receive is behind anything but its prerequisites.
    #[test]
    fn nothing_that_can_start_waits((drawn, order) in drawn()) {
        let made = made(&drawn, &order);
        let mut program = GoalProgram::new("x".into(), 0, 2, parsed(&made)).unwrap();
        let (mut started, mut ended) = (BTreeSet::new(), BTreeSet::new());
        let can_start = |n: usize, started: &BTreeSet<usize>, ended: &BTreeSet<usize>| {
            let mut edges = made.edges.iter().filter(|(_, later, _)| *later == n);
            let is_met = |(earlier, _, start): &(usize, usize, bool)| {
                if *start { started.contains(earlier) } else { ended.contains(earlier) }
            };
            !started.contains(&n) && edges.all(is_met)
        };
        while let Some(operation) = program.next().unwrap() {
            let ready: Vec<usize> =
                (0..made.kinds.len()).filter(|n| can_start(*n, &started, &ended)).collect();
            let receive = ready.iter().find(|n| made.kinds[**n] == 1);
            match operation {
                Operation::Wait { requests, .. } => {
                    prop_assert!(ready.is_empty(), "{:?} can start", ready);
                    ended.extend(requests.iter().map(|r| *r as usize));
                }
                Operation::Receive { bytes, .. } => {
                    prop_assert_eq!(receive, Some(&(bytes as usize - 1)), "in the order of the file");
                    started.insert(bytes as usize - 1);
                }
                Operation::Send { bytes: number, .. } | Operation::Compute { ps: number, .. } => {
                    let calc = matches!(operation, Operation::Compute { .. });
                    let number = if calc { number / 1000 } else { number } as usize - 1;
                    prop_assert_eq!(receive, None);
                    prop_assert_eq!(ready.first(), Some(&number), "in the order of the file");
                    started.insert(number);
                    if calc {
                        ended.insert(number);
                    }
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

    #[test]
    fn both_formats_say_the_same((drawn, order) in drawn()) {
        let made = made(&drawn, &order);
        let others = complement(&made);
        prop_assume!(others.is_some());
        let others = others.unwrap_or_default();
        let text = format!("num_ranks 2\nrank 0 {{\n{}}}\nrank 1 {{\n{others}}}\n", made.lines);
        let (folder, schedule) = opened(text.as_bytes());
        let schedule = schedule.unwrap_or_else(|e| panic!("{e}"));
        let file = folder.path().join("binary.goal");
        fs::write(&file, binary(&schedule)).unwrap();
        let other = GoalSchedule::open(&file).unwrap();
        for rank in 0..2 {
            prop_assert_eq!(operations(&schedule, rank), operations(&other, rank));
        }
    }

    #[test]
    fn spoilt_schedules_end(
        in_binary: bool,
        changes in vec((any::<Index>(), prop_oneof![any::<u8>(), (0u8..4), Just(255)]), 1..6),
        cut in proptest::option::weighted(0.2, any::<Index>()),
    ) {
        let file = if in_binary { "ring-binary.goal" } else { "ring.goal" };
        let mut bytes = fs::read(corpus(file)).unwrap();
        for (at, value) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let (_folder, schedule) = opened(&bytes);
        if let Ok(schedule) = schedule {
            let _ = scan::info(&schedule);
            for rank in 0..schedule.ranks().min(20) {
                let _ = operations(&schedule, rank);
            }
        }
    }
}

/// The block of rank 0, without checks against other ranks.
fn parsed(made: &DrawnSchedule) -> GoalBlock {
    let text = format!("num_ranks 2\nrank 0 {{\n{}}}\nrank 1 {{\n}}\n", made.lines);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("schedule.goal");
    fs::write(&file, &text).unwrap();
    text::first_block(&file).unwrap()
}

/// An example of LogGOPSim, which only some machines have.
#[test]
fn the_binary_tree_of_loggopsim() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/goal-binary-tree-32");
    if !folder.is_dir() {
        testkit::skipped!("{} is not there", folder.display());
        return;
    }
    let info = crate::info(&folder).unwrap();
    let text = fs::read_to_string(&info.file).unwrap();
    assert_eq!(info.messages.count, text.matches("send 1b").count() as u64);
    assert_eq!(
        (info.ranks, info.messages.count, info.messages.bytes),
        (32, 31, 31)
    );
    // Rank 3 forwards what it has received.
    let schedule = crate::open(&folder).unwrap();
    let mut program = schedule.program(3).unwrap();
    let operations: Vec<Operation> = std::iter::from_fn(|| program.next().unwrap()).collect();
    assert_eq!(operations[..2], [receive(0, Some(1), Some(0), 1), wait(&[0])]);
}
