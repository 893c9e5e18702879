//! Synthetic traces: calls that the recorded traces lack, and damage.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::look_ahead::{KEPT, LookAhead, ReceiveFate, ReceiveFilter};
use super::record::Status;
use super::test_trace::{A, N, S, TestTrace, status, write};
use super::*;
use crate::mpi_calls::tests::{receive, send, wait};
use crate::{Call, Collective, Counts, Operation, Reduction};

/// Handles of datatypes.
const CHAR: i64 = 2;
const INT: i64 = 9;
const DOUBLE: i64 = 14;
/// Handles of communicators.
const WORLD: i64 = 2;
const OWN: i64 = 3;

const ANY: i64 = -1;

/// An open trace and the folder of its files.
struct OpenTrace {
    archive: Arc<DumpiArchive>,
    _folder: tempfile::TempDir,
}

impl std::ops::Deref for OpenTrace {
    type Target = Arc<DumpiArchive>;

    fn deref(&self) -> &Arc<DumpiArchive> {
        &self.archive
    }
}

fn archive(ranks: &[TestTrace], clock: RecordedClock) -> Result<OpenTrace, TraceError> {
    let folder = tempfile::tempdir().unwrap();
    let meta = write(folder.path(), ranks);
    Ok(OpenTrace {
        archive: Arc::new(DumpiArchive::open(&meta, clock)?),
        _folder: folder,
    })
}

fn run(archive: &Arc<DumpiArchive>, rank: u32) -> Result<Vec<Operation>, TraceError> {
    let mut program = DumpiProgram::new(archive.clone(), rank, RecordingEdges::MPI);
    let mut all = Vec::new();
    while let Some(operation) = program.next()? {
        all.push(operation);
    }
    assert_eq!(program.next().unwrap(), None);
    Ok(all)
}

/// The operations of each rank, without computation.
fn operations(ranks: &[TestTrace]) -> Vec<Vec<Operation>> {
    let archive = archive(ranks, RecordedClock::Any).unwrap_or_else(|e| panic!("{e}"));
    let of = |rank| {
        let all = run(&archive, rank).unwrap_or_else(|e| panic!("{e}"));
        let is_call = |o: &Operation| !matches!(o, Operation::Compute { .. });
        all.into_iter().filter(is_call).collect()
    };
    (0..ranks.len() as u32).map(of).collect()
}

/// The error of a trace that cannot be opened, or of the first rank whose program fails.
fn failure(ranks: &[TestTrace]) -> String {
    let all = archive(ranks, RecordedClock::Any)
        .and_then(|archive| (0..ranks.len() as u32).try_for_each(|rank| run(&archive, rank).map(|_| ())));
    let error = all.expect_err("this trace is broken");
    let name = Path::new(&error.file)
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let rank = error.rank.map(|r| format!("rank {r}: ")).unwrap_or_default();
    format!("{name}: {rank}{}", error.message)
}

fn end(calls: TestTrace) -> TestTrace {
    calls.call("MPI_Finalize", &[])
}

/// Rank 0 makes these calls; the other ranks make none.
fn first_rank(calls: TestTrace, ranks: usize) -> Vec<TestTrace> {
    let mut all = vec![end(TestTrace::new()); ranks];
    all[0] = end(calls);
    all
}

fn collective(collective: Collective, communicator: u32, root: u32, bytes: u64, call: Call) -> Operation {
    Operation::Collective {
        collective,
        communicator,
        root,
        bytes,
        counts: None,
        request: None,
        reduction: None,
        call,
    }
}

#[test]
fn sends_and_receives_of_all_modes() {
    let mut calls = TestTrace::new();
    for name in ["MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend"] {
        calls = calls.call(name, &[N(3), N(DOUBLE), N(1), N(7), N(WORLD)]);
    }
    let started = ["MPI_Isend", "MPI_Issend", "MPI_Ibsend", "MPI_Irsend"];
    for (request, name) in (10..).zip(started) {
        calls = calls.call(name, &[N(5), N(INT), N(1), N(7), N(WORLD), N(request)]);
    }
    calls = calls
        .call("MPI_Waitall", &[N(4), A(&[10, 11, 12, 13]), S(&[])])
        // No communication: MPI_PROC_NULL is -2 in Open MPI, -1 in MPICH.
        .call("MPI_Send", &[N(3), N(INT), N(-2), N(7), N(WORLD)])
        .call("MPI_Isend", &[N(3), N(INT), N(-1), N(7), N(WORLD), N(10)])
        .call("MPI_Wait", &[N(10), S(&[])])
        .call("MPI_Recv", &[N(3), N(INT), N(-2), N(7), N(WORLD), S(&[])])
        .call(
            "MPI_Recv",
            &[N(3), N(INT), N(-1), N(7), N(WORLD), S(&[status(-3, -1, 0)])],
        )
        .call(
            "MPI_Recv",
            &[N(3), N(INT), N(1), N(7), N(WORLD), S(&[status(1, 7, 4)])],
        )
        .call(
            "MPI_Recv",
            &[N(3), N(INT), N(ANY), N(ANY), N(WORLD), S(&[status(1, 8, 4)])],
        )
        .call("MPI_Recv", &[N(3), N(INT), N(ANY), N(ANY), N(WORLD), S(&[])])
        .call(
            "MPI_Sendrecv",
            &[
                N(1),
                N(INT),
                N(1),
                N(7),
                N(2),
                N(DOUBLE),
                N(ANY),
                N(9),
                N(WORLD),
                S(&[status(1, 9, 8)]),
            ],
        )
        .call(
            "MPI_Sendrecv_replace",
            &[N(2), N(INT), N(1), N(7), N(-2), N(9), N(WORLD), S(&[])],
        );
    let expected = [
        send(1, 7, 24, None, Call::Send),
        send(1, 7, 24, None, Call::Ssend),
        send(1, 7, 24, None, Call::Bsend),
        send(1, 7, 24, None, Call::Rsend),
        send(1, 7, 20, Some(0), Call::Isend),
        send(1, 7, 20, Some(1), Call::Issend),
        send(1, 7, 20, Some(2), Call::Ibsend),
        send(1, 7, 20, Some(3), Call::Irsend),
        wait(&[0, 1, 2, 3], Call::Waitall),
        wait(&[], Call::Wait),
        receive(Some(1), Some(7), 12, None, Call::Recv),
        receive(Some(1), Some(8), 12, None, Call::Recv),
        receive(None, None, 12, None, Call::Recv),
        receive(Some(1), Some(9), 16, Some(4), Call::Sendrecv),
        send(1, 7, 4, Some(5), Call::Sendrecv),
        wait(&[4, 5], Call::Sendrecv),
        send(1, 7, 8, Some(7), Call::Sendrecv),
        wait(&[7], Call::Sendrecv),
    ];
    assert_eq!(operations(&first_rank(calls, 2))[0], expected);
}

#[test]
fn persistent_requests_start_again_and_again() {
    let calls = TestTrace::new()
        .call("MPI_Send_init", &[N(1), N(INT), N(1), N(7), N(WORLD), N(20)])
        .call("MPI_Ssend_init", &[N(2), N(INT), N(1), N(7), N(WORLD), N(21)])
        .call("MPI_Recv_init", &[N(3), N(INT), N(ANY), N(7), N(WORLD), N(22)])
        .call("MPI_Wait", &[N(20), S(&[])])
        .call("MPI_Startall", &[N(3), A(&[20, 21, 22])])
        .call(
            "MPI_Waitall",
            &[
                N(3),
                A(&[20, 21, 22]),
                S(&[status(0, 0, 0), status(0, 0, 0), status(1, 7, 4)]),
            ],
        )
        .call("MPI_Start", &[N(22)])
        .call("MPI_Wait", &[N(22), S(&[status(2, 7, 4)])])
        .call("MPI_Request_free", &[N(22)]);
    let expected = [
        wait(&[], Call::Wait),
        send(1, 7, 4, Some(0), Call::Startall),
        send(1, 7, 8, Some(1), Call::Issend),
        receive(Some(1), Some(7), 12, Some(2), Call::Startall),
        wait(&[0, 1, 2], Call::Waitall),
        receive(Some(2), Some(7), 12, Some(3), Call::Start),
        wait(&[3], Call::Wait),
    ];
    assert_eq!(operations(&first_rank(calls.clone(), 3))[0], expected);
    let again = calls.call("MPI_Start", &[N(22)]);
    let text = failure(&first_rank(again, 3));
    assert!(
        text.ends_with("request 22 is started, but no recorded call makes it"),
        "{text}"
    );
}

#[test]
fn only_what_the_recording_saw_complete_is_waited_for() {
    let mut calls = TestTrace::new();
    for request in [10, 11, 12, 13, 14] {
        calls = calls.call("MPI_Irecv", &[N(1), N(INT), N(1), N(7), N(WORLD), N(request)]);
    }
    // Open MPI gives the same handle to all sends that are complete at once.
    for _ in 0..3 {
        calls = calls.call("MPI_Isend", &[N(1), N(INT), N(1), N(7), N(WORLD), N(5)]);
    }
    let calls = calls
        .call("MPI_Test", &[N(10), N(0), S(&[])])
        .call("MPI_Test", &[N(10), N(1), S(&[])])
        .call("MPI_Testall", &[N(2), A(&[11, 12]), N(0), S(&[])])
        .call("MPI_Testany", &[N(2), A(&[11, 12]), N(-32_766), N(1), S(&[])])
        .call("MPI_Testany", &[N(2), A(&[11, 12]), N(1), N(1), S(&[])])
        .call("MPI_Waitany", &[N(2), A(&[11, 1]), N(0), S(&[])])
        .call("MPI_Waitany", &[N(1), A(&[1]), N(-32_766), S(&[])])
        .call("MPI_Waitsome", &[N(3), A(&[1, 13, 14]), N(2), A(&[2, 1]), S(&[])])
        .call("MPI_Testsome", &[N(2), A(&[1, 5]), N(0), A(&[]), S(&[])])
        .call("MPI_Waitall", &[N(4), A(&[5, 5, 1, 5]), S(&[])]);
    let waits = operations(&first_rank(calls, 2))[0][8..].to_vec();
    let expected = [
        wait(&[], Call::Test),
        wait(&[0], Call::Test),
        wait(&[], Call::Testall),
        wait(&[], Call::Testany),
        wait(&[2], Call::Testany),
        wait(&[1], Call::Waitany),
        wait(&[], Call::Waitany),
        wait(&[4, 3], Call::Waitsome),
        wait(&[], Call::Testsome),
        wait(&[7, 6, 5], Call::Waitall),
    ];
    assert_eq!(waits, expected);
}

#[test]
fn wildcards_take_what_the_recording_saw() {
    let irecv = |calls: TestTrace, source, tag, request| {
        calls.call(
            "MPI_Irecv",
            &[N(1), N(INT), N(source), N(tag), N(WORLD), N(request)],
        )
    };
    let cancelled = Status {
        cancelled: true,
        ..status(-1, -1, 0)
    };
    let mut calls = irecv(TestTrace::new(), ANY, 7, 10);
    calls = irecv(calls, 1, ANY, 11);
    calls = irecv(calls, 1, 5, 12);
    calls = irecv(calls, ANY, 7, 13);
    calls = irecv(calls, ANY, 7, 14);
    let calls = calls
        .call("MPI_Waitany", &[N(2), A(&[11, 10]), N(1), S(&[status(2, 7, 4)])])
        .call("MPI_Wait", &[N(11), S(&[status(1, 6, 4)])])
        .call("MPI_Wait", &[N(12), S(&[])])
        .call("MPI_Cancel", &[N(13)])
        .call("MPI_Wait", &[N(13), S(&[cancelled])])
        .call("MPI_Probe", &[N(ANY), N(ANY), N(WORLD), S(&[status(2, 3, 4)])])
        .call("MPI_Iprobe", &[N(ANY), N(ANY), N(WORLD), N(0), S(&[])])
        .call("MPI_Iprobe", &[N(1), N(ANY), N(WORLD), N(1), S(&[])]);
    let probe = |from, tag, call| Operation::Probe {
        from,
        tag,
        communicator: 0,
        call,
    };
    let expected = [
        receive(Some(2), Some(7), 4, Some(0), Call::Irecv),
        receive(Some(1), Some(6), 4, Some(1), Call::Irecv),
        receive(Some(1), Some(5), 4, Some(2), Call::Irecv),
        // The fourth receive was cancelled, the fifth never completes.
        wait(&[0], Call::Waitany),
        wait(&[1], Call::Wait),
        wait(&[2], Call::Wait),
        wait(&[], Call::Wait),
        probe(Some(2), Some(3), Call::Probe),
        probe(Some(1), None, Call::Iprobe),
    ];
    assert_eq!(operations(&first_rank(calls, 3))[0], expected);
}

/// One receive stays open while more receives follow than are kept.
#[test]
fn looking_ahead_takes_bounded_memory() {
    let mut calls = TestTrace::new().call("MPI_Irecv", &[N(1), N(INT), N(ANY), N(7), N(WORLD), N(10)]);
    let later = KEPT + 100;
    for i in 0..later as i32 {
        calls = calls
            .call("MPI_Irecv", &[N(1), N(INT), N(ANY), N(7), N(WORLD), N(11)])
            .call("MPI_Wait", &[N(11), S(&[status(i % 3, 7, 4)])]);
    }
    let calls = calls.call("MPI_Wait", &[N(10), S(&[status(2, 7, 4)])]);
    let ranks = first_rank(calls, 3);
    let archive = archive(&ranks, RecordedClock::Any).unwrap();
    let mut ahead = LookAhead::new(
        RecordCursor::new(archive.files[0].clone()),
        ReceiveFilter { all: false },
    );
    for n in 0..=later as u64 {
        let source = if n == 0 { 2 } else { (n as i64 - 1) % 3 };
        let tag = Some(7);
        assert_eq!(ahead.fate(n).unwrap(), ReceiveFate::Received { source, tag });
        assert!(ahead.kept() <= KEPT);
    }
    let received = operations(&ranks)[0].clone();
    let from = received.iter().filter_map(|o| match o {
        Operation::Receive { from, .. } => Some(from.unwrap()),
        _ => None,
    });
    let expected = std::iter::once(2).chain((0..later as u32).map(|i| i % 3));
    assert!(from.eq(expected));
}

#[test]
fn communicators_follow_from_all_ranks_calls() {
    let rank = |rank: i64| {
        let colour = rank % 2;
        let sub = 4 + 2 * colour;
        end(TestTrace::new()
            .call("MPI_Comm_rank", &[N(WORLD), N(rank)])
            .call("MPI_Comm_size", &[N(WORLD), N(6)])
            // Odd and even ranks in descending order. Each colour has another handle for its communicator.
            .call("MPI_Comm_split", &[N(WORLD), N(colour), N(-rank), N(sub)])
            .call("MPI_Bcast", &[N(1), N(INT), N(2), N(sub)])
            .call("MPI_Comm_free", &[N(sub)])
            // The handle is reused. No other rank has the colour of rank 4 or 5.
            .call(
                "MPI_Comm_split",
                &[
                    N(WORLD),
                    N(if rank < 4 { 0 } else { -32_766 }),
                    N(0),
                    N(if rank < 4 { 4 } else { 1 }),
                ],
            )
            .call(
                "MPI_Cart_create",
                &[N(WORLD), N(2), A(&[2, 3]), A(&[0, 0]), N(0), N(8)],
            )
            .call("MPI_Cart_sub", &[N(2), N(8), A(&[0, 1]), N(9)])
            .call("MPI_Comm_dup", &[N(9), N(10)])
            .call("MPI_Comm_group", &[N(WORLD), N(5)])
            .call("MPI_Group_incl", &[N(5), N(3), A(&[5, 0, 2]), N(6)])
            .call("MPI_Group_excl", &[N(6), N(1), A(&[1]), N(7)])
            .call(
                "MPI_Comm_create",
                &[N(WORLD), N(7), N(if [2, 5].contains(&rank) { 11 } else { 1 })],
            )
            .call("MPI_Comm_dup", &[N(OWN), N(12)])
            .call("MPI_Barrier", &[N(12)])
            .call("MPI_Send", &[N(1), N(INT), N(0), N(7), N(12)])
            .call("MPI_Barrier", &[N(10)]))
    };
    let ranks: Vec<TestTrace> = (0..6).map(rank).collect();
    let archive = archive(&ranks, RecordedClock::Any).unwrap_or_else(|e| panic!("{e}"));
    let all: Vec<u32> = (0..6).collect();
    let groups = archive.communicators.groups;
    assert_eq!(archive.communicators.members[0], all);
    let mut made = archive.communicators.members[1..groups].to_vec();
    made.sort();
    let expected = [
        vec![0, 1, 2],
        vec![0, 1, 2],
        vec![0, 1, 2, 3],
        vec![0, 1, 2, 3, 4, 5],
        vec![3, 4, 5],
        vec![3, 4, 5],
        vec![4, 2, 0],
        vec![5, 2],
        vec![5, 3, 1],
    ];
    assert_eq!(made, expected);
    // MPI_COMM_SELF and its copy.
    assert_eq!(archive.communicators.members[groups..], [all.clone(), all]);

    let members = &archive.communicators.members;
    for (rank, list) in operations(&ranks).into_iter().enumerate() {
        let mut used = Vec::new();
        for operation in list {
            match operation {
                Operation::Collective {
                    collective,
                    communicator,
                    call,
                    bytes,
                    ..
                } => {
                    let all = members[communicator as usize].len();
                    used.push((call.name(), collective.name(), all, bytes));
                    assert!(members[communicator as usize].contains(&(rank as u32)));
                }
                Operation::Send { to, communicator, .. } => {
                    assert_eq!((to, communicator as usize), (rank as u32, groups + 1));
                }
                other => panic!("{other:?}"),
            }
        }
        let expected = [
            ("MPI_Comm_split", "allgather", 6, 8),
            ("MPI_Comm_split", "allreduce", 6, 256),
            ("MPI_Bcast", "bcast", 3, 4),
            ("MPI_Comm_split", "allgather", 6, 8),
            ("MPI_Comm_split", "allreduce", 6, 256),
            ("MPI_Cart_create", "allreduce", 6, 256),
            ("MPI (other)", "allgather", 6, 8),
            ("MPI (other)", "allreduce", 6, 256),
            ("MPI_Comm_dup", "allreduce", 3, 256),
            ("MPI_Comm_create", "allreduce", 6, 256),
            ("MPI_Barrier", "barrier", 3, 0),
        ];
        assert_eq!(used, expected, "rank {rank}");
    }
}

#[test]
fn a_grid_in_another_order_is_that_which_the_ranks_say() {
    let rank = |rank: i64, own: i64| {
        end(TestTrace::new()
            .call("MPI_Cart_create", &[N(WORLD), N(1), A(&[3]), A(&[0]), N(1), N(4)])
            .call("MPI_Comm_rank", &[N(4), N(own)])
            .call("MPI_Comm_rank", &[N(WORLD), N(rank)]))
    };
    let archive = archive(&[rank(0, 2), rank(1, 0), rank(2, 1)], RecordedClock::Any).unwrap();
    assert_eq!(archive.communicators.members[1], [1, 2, 0]);
}

#[test]
fn calls_that_contradict_each_other() {
    let dup = |child| TestTrace::new().call("MPI_Comm_dup", &[N(WORLD), N(child)]);
    let split = |child| TestTrace::new().call("MPI_Comm_split", &[N(WORLD), N(0), N(0), N(child)]);
    let cart = |n| TestTrace::new().call("MPI_Cart_create", &[N(WORLD), N(1), A(&[n]), A(&[0]), N(0), N(4)]);
    let pairs: [(Vec<TestTrace>, &str); 8] = [
        (
            vec![end(dup(4)), end(TestTrace::new())],
            "app-0000.bin: rank 0: MPI_Comm_dup at byte 16: makes a communicator together with 2 ranks, but rank 1 makes no such call",
        ),
        (
            vec![end(dup(4)), end(split(4))],
            "app-0001.bin: rank 1: MPI_Comm_split at byte 16: rank 0 calls MPI_Comm_dup at this point, on the same communicator",
        ),
        (
            vec![end(dup(4)), end(dup(1))],
            "MPI_Comm_dup at byte 16: the rank gets MPI_COMM_NULL, but",
        ),
        (
            vec![end(cart(3)), end(cart(3))],
            "MPI_Cart_create at byte 16: the grid does not fit 2 ranks",
        ),
        (
            vec![end(cart(1)), end(cart(2))],
            "app-0001.bin: rank 1: MPI_Cart_create at byte 16: other arguments than those of rank 0",
        ),
        (
            vec![end(cart(1)), end(cart(1))],
            "the rank gets a communicator, but by all ranks' calls it is no member of any",
        ),
        (
            vec![end(split(4).call("MPI_Comm_rank", &[N(4), N(1)])), end(split(4))],
            "MPI_Comm_rank says later that the rank is 1 in it, but by all ranks' calls it is 0",
        ),
        (
            vec![
                end(TestTrace::new().call("MPI_Comm_create", &[N(WORLD), N(9), N(4)])),
                end(TestTrace::new().call("MPI_Comm_create", &[N(WORLD), N(9), N(4)])),
            ],
            "MPI_Comm_create at byte 16: group 9 is used, but no recorded call makes it",
        ),
    ];
    for (ranks, expected) in pairs {
        let text = failure(&ranks);
        assert!(text.contains(expected), "{text}\n{expected}");
    }
}

#[test]
fn broken_calls_are_named() {
    let one = |name: &str, arguments: &[super::test_trace::Argument]| TestTrace::new().call(name, arguments);
    let cases = [
        (
            one("MPI_Wait", &[N(17), S(&[])]),
            "app-0000.bin: rank 0: MPI_Wait at byte 16: request 17 completes, but no recorded call starts it",
        ),
        (
            one("MPI_Barrier", &[N(9)]),
            "MPI_Barrier at byte 16: communicator 9 is used, but no recorded call makes it",
        ),
        (
            one("MPI_Barrier", &[N(1)]),
            "MPI_Barrier at byte 16: is called on MPI_COMM_NULL",
        ),
        (
            one("MPI_Send", &[N(1), N(INT), N(2), N(7), N(WORLD)]),
            "MPI_Send at byte 16: send to rank 2, which a communicator of 2 ranks does not have",
        ),
        (
            one("MPI_Send", &[N(-1), N(INT), N(1), N(7), N(WORLD)]),
            "a count of -1",
        ),
        (one("MPI_Send", &[N(1), N(INT), N(1), N(-7), N(WORLD)]), "tag -7"),
        (
            one("MPI_Send", &[N(1), N(30), N(1), N(7), N(WORLD)]),
            "MPI_Send at byte 16: the size of datatype 30 is not known from the trace: no recorded call makes it",
        ),
        (
            one(
                "MPI_Type_create_darray",
                &[
                    N(2),
                    N(0),
                    N(1),
                    A(&[4]),
                    A(&[1]),
                    A(&[1]),
                    A(&[2]),
                    N(1),
                    N(INT),
                    N(30),
                ],
            )
            .call("MPI_Bcast", &[N(1), N(30), N(0), N(WORLD)]),
            "the size of datatype 30, made by MPI_Type_create_darray, is not known",
        ),
        (
            one("MPI_Bcast", &[N(1), N(INT), N(2), N(WORLD)]),
            "MPI_Bcast at byte 16: root 2, which",
        ),
        (
            one("MPI_Waitany", &[N(1), A(&[1]), N(3), S(&[])]),
            "completes number 3 of 1 requests",
        ),
        (
            one(
                "MPI_Reduce_scatter",
                &[N(3), A(&[1, 1, 1]), N(INT), N(3), N(WORLD)],
            ),
            "3 counts on a communicator of 2 ranks",
        ),
        (
            one(
                "MPI_Intercomm_create",
                &[N(WORLD), N(0), N(WORLD), N(0), N(0), N(5)],
            ),
            "MPI_Intercomm_create at byte 16: inter-communicators are not supported",
        ),
        (
            one("MPI_Comm_rank", &[N(WORLD), N(1)]),
            "says that this is rank 1, but the file's name says 0",
        ),
        (
            one("MPI_Comm_size", &[N(WORLD), N(3)]),
            "says that there are 3 ranks, but the trace has files of 2",
        ),
        (
            one("MPI_Win_lock", &[N(1), N(0), N(0), N(5)]),
            "MPI_Win_lock at byte 16: one-sided communication other than between fences is not supported",
        ),
        (
            one("MPI_Win_fence", &[N(0), N(5)]),
            "window 5 is used, but no recorded call makes it",
        ),
    ];
    for (calls, expected) in cases {
        let text = failure(&first_rank(calls, 2));
        assert!(text.contains(expected), "{text}\n{expected}");
    }
}

#[test]
fn sizes_of_types_follow_from_the_calls_that_make_them() {
    let calls = TestTrace::new()
        .call("MPI_Type_contiguous", &[N(3), N(INT), N(30)])
        .call("MPI_Type_vector", &[N(2), N(5), N(9), N(30), N(31)])
        .call(
            "MPI_Type_indexed",
            &[N(2), A(&[1, 4]), A(&[0, 9]), N(DOUBLE), N(32)],
        )
        .call(
            "MPI_Type_create_struct",
            &[N(2), A(&[1, 2]), A(&[0, 9]), A(&[CHAR, 31]), N(33)],
        )
        .call(
            "MPI_Type_create_subarray",
            &[N(2), A(&[9, 9]), A(&[2, 3]), A(&[0, 0]), N(1), N(INT), N(34)],
        )
        .call(
            "MPI_Type_create_indexed_block",
            &[N(2), N(3), A(&[0, 9]), N(INT), N(35)],
        )
        .call("MPI_Type_create_resized", &[N(35), N(0), N(99), N(36)])
        .call("MPI_Type_dup", &[N(33), N(37)]);
    // A Fortran type whose size is recorded later.
    let sends = [30, 31, 32, 33, 34, 35, 36, 37, 38, 39];
    let mut calls = sends.iter().fold(calls, |calls, t| {
        calls.call("MPI_Send", &[N(2), N(*t), N(1), N(7), N(WORLD)])
    });
    calls = calls
        .call("MPI_Type_size", &[N(38), N(16)])
        .call("MPI_Get_count", &[S(&[status(1, 7, 30)]), N(39), N(3)]);
    let sizes: Vec<u64> = operations(&first_rank(calls, 2))[0]
        .iter()
        .map(|o| match o {
            Operation::Send { bytes, .. } => *bytes,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sizes, [24, 240, 80, 482, 48, 48, 48, 482, 32, 20]);
}

#[test]
fn collectives_keep_their_arguments() {
    let varying = |kind, root, bytes, call, sends: &[u64], receives: &[u64]| Operation::Collective {
        collective: kind,
        communicator: 0,
        root,
        bytes,
        counts: Some(Box::new(Counts {
            sends: sends.to_vec(),
            receives: receives.to_vec(),
            ..Counts::default()
        })),
        request: None,
        // Number 3 of the format.
        reduction: (kind == Collective::ReduceScatter).then_some(Reduction::Sum),
        call,
    };
    // MPI_IN_PLACE is recorded as no count and the type "null".
    let calls = TestTrace::new()
        .call("MPI_Barrier", &[N(WORLD)])
        .call("MPI_Bcast", &[N(2), N(INT), N(1), N(WORLD)])
        .call("MPI_Reduce", &[N(2), N(INT), N(3), N(1), N(WORLD)])
        .call("MPI_Allreduce", &[N(3), N(INT), N(3), N(WORLD)])
        .call("MPI_Scan", &[N(4), N(INT), N(3), N(WORLD)])
        .call("MPI_Exscan", &[N(5), N(INT), N(3), N(WORLD)])
        .call("MPI_Allgather", &[N(0), N(1), N(2), N(INT), N(WORLD)])
        .call("MPI_Alltoall", &[N(1), N(INT), N(4), N(CHAR), N(WORLD)])
        .call("MPI_Gather", &[N(0), N(2), N(INT), N(1), N(WORLD)])
        .call("MPI_Gather", &[N(0), N(0), N(1), N(0), N(WORLD), N(3), N(INT)])
        .call("MPI_Scatter", &[N(0), N(0), N(1), N(0), N(WORLD), N(4), N(INT)])
        .call("MPI_Scatter", &[N(0), N(5), N(INT), N(1), N(WORLD)])
        .call(
            "MPI_Gatherv",
            &[
                N(0),
                N(2),
                N(0),
                N(1),
                N(0),
                N(WORLD),
                A(&[1, 2]),
                A(&[0, 1]),
                N(INT),
            ],
        )
        .call("MPI_Gatherv", &[N(0), N(2), N(7), N(INT), N(1), N(WORLD), N(INT)])
        .call(
            "MPI_Scatterv",
            &[
                N(0),
                N(2),
                N(INT),
                N(3),
                N(INT),
                N(0),
                N(WORLD),
                A(&[3, 4]),
                A(&[0, 3]),
            ],
        )
        .call("MPI_Scatterv", &[N(0), N(2), N(1), N(3), N(INT), N(1), N(WORLD)])
        .call(
            "MPI_Allgatherv",
            &[N(2), N(1), N(INT), A(&[1, 2]), A(&[0, 1]), N(INT), N(WORLD)],
        )
        .call(
            "MPI_Alltoallv",
            &[
                N(2),
                A(&[1, 2]),
                A(&[0, 1]),
                N(INT),
                A(&[1, 4]),
                A(&[0, 1]),
                N(INT),
                N(WORLD),
            ],
        )
        .call(
            "MPI_Alltoallw",
            &[
                N(2),
                A(&[1, 2]),
                A(&[0, 1]),
                A(&[INT, CHAR]),
                A(&[4, 4]),
                A(&[0, 4]),
                A(&[CHAR, INT]),
                N(WORLD),
            ],
        )
        // What it sends to itself is not what it expects, so the call is in place and its counts to send mean
        // nothing.
        .call(
            "MPI_Alltoallv",
            &[
                N(2),
                A(&[9, 9]),
                A(&[0, 9]),
                N(INT),
                A(&[3, 4]),
                A(&[0, 3]),
                N(DOUBLE),
                N(WORLD),
            ],
        )
        .call("MPI_Reduce_scatter", &[N(2), A(&[1, 2]), N(INT), N(3), N(WORLD)]);
    let plain = |kind, root, bytes, call| {
        let mut operation = collective(kind, 0, root, bytes, call);
        if let (
            Operation::Collective { reduction, .. },
            Call::Reduce | Call::Allreduce | Call::Scan | Call::Exscan,
        ) = (&mut operation, call)
        {
            *reduction = Some(Reduction::Sum);
        }
        operation
    };
    let expected = [
        plain(Collective::Barrier, 0, 0, Call::Barrier),
        plain(Collective::Bcast, 1, 8, Call::Bcast),
        plain(Collective::Reduce, 1, 8, Call::Reduce),
        plain(Collective::Allreduce, 0, 12, Call::Allreduce),
        plain(Collective::Scan, 0, 16, Call::Scan),
        plain(Collective::Exscan, 0, 20, Call::Exscan),
        plain(Collective::Allgather, 0, 8, Call::Allgather),
        plain(Collective::Alltoall, 0, 4, Call::Alltoall),
        plain(Collective::Gather, 1, 8, Call::Gather),
        plain(Collective::Gather, 0, 12, Call::Gather),
        plain(Collective::Scatter, 0, 16, Call::Scatter),
        plain(Collective::Scatter, 1, 20, Call::Scatter),
        varying(Collective::Gather, 0, 4, Call::Gatherv, &[4], &[4, 8]),
        varying(Collective::Gather, 1, 28, Call::Gatherv, &[28], &[]),
        varying(Collective::Scatter, 0, 12, Call::Scatterv, &[12, 16], &[12]),
        varying(Collective::Scatter, 1, 12, Call::Scatterv, &[], &[12]),
        varying(Collective::Allgather, 0, 6, Call::Allgatherv, &[4], &[4, 8]),
        varying(Collective::Alltoall, 0, 6, Call::Alltoallv, &[4, 8], &[4, 16]),
        varying(Collective::Alltoall, 0, 3, Call::Other, &[4, 2], &[4, 16]),
        varying(Collective::Alltoall, 0, 28, Call::Alltoallv, &[24, 32], &[24, 32]),
        varying(
            Collective::ReduceScatter,
            0,
            12,
            Call::ReduceScatter,
            &[],
            &[4, 8],
        ),
    ];
    assert_eq!(operations(&first_rank(calls.clone(), 2))[0], expected);

    // Counted as in Score-P: rank 0 of 2, which is alone in each collective.
    let folder = tempfile::tempdir().unwrap();
    let summed = info(&write(folder.path(), &first_rank(calls, 2))).unwrap();
    let of = |name: &str| {
        (
            summed.collectives[name].sent_bytes,
            summed.collectives[name].received_bytes,
        )
    };
    assert_eq!(of("scan"), (32, 16));
    assert_eq!(of("exscan"), (20, 0));
    assert_eq!(of("gather"), (20, 24));
    assert_eq!(of("gatherv"), (32, 12));
    assert_eq!(of("allgatherv"), (8, 12));
    assert_eq!(of("reduce_scatter"), (12, 8));
    assert_eq!(of("alltoallw"), (6, 20));
}

#[test]
fn one_sided_communication_between_fences() {
    let calls = TestTrace::new()
        .call("MPI_Win_create", &[N(800), N(8), N(0), N(WORLD), N(4)])
        .call("MPI_Win_fence", &[N(0), N(4)])
        .call("MPI_Put", &[N(2), N(DOUBLE), N(1), N(0), N(2), N(DOUBLE), N(4)])
        .call("MPI_Get", &[N(3), N(DOUBLE), N(1), N(0), N(3), N(DOUBLE), N(4)])
        .call(
            "MPI_Accumulate",
            &[N(4), N(DOUBLE), N(0), N(0), N(4), N(DOUBLE), N(3), N(4)],
        )
        .call("MPI_Win_fence", &[N(0), N(4)])
        .call("MPI_Win_free", &[N(4)])
        // A window of this rank alone.
        .call("MPI_Win_create", &[N(8), N(8), N(0), N(OWN), N(5)])
        .call("MPI_Put", &[N(2), N(DOUBLE), N(0), N(0), N(2), N(DOUBLE), N(5)])
        .call("MPI_Win_fence", &[N(0), N(5)]);
    let fence = Operation::Fence {
        communicator: 0,
        call: Call::WinFence,
    };
    let put = |to, bytes, call| Operation::Put {
        to,
        communicator: 0,
        bytes,
        call,
    };
    let expected = [
        collective(Collective::Allreduce, 0, 0, 256, Call::WinCreate),
        collective(Collective::Allgather, 0, 0, 32, Call::WinCreate),
        fence.clone(),
        put(1, 16, Call::Put),
        Operation::Get {
            from: 1,
            communicator: 0,
            bytes: 24,
            call: Call::Get,
        },
        put(0, 32, Call::Accumulate),
        fence,
        collective(Collective::Barrier, 0, 0, 0, Call::WinFree),
    ];
    assert_eq!(operations(&first_rank(calls, 2))[0], expected);
}

#[test]
fn computation_is_measured_with_the_clock_that_is_asked_for() {
    let calls = |times| {
        end(TestTrace::of([13, 0, 0], times)
            .call("MPI_Barrier", &[N(WORLD)])
            .call("MPI_Wtime", &[])
            .by_thread(1)
            .call("MPI_Barrier", &[N(WORLD)]))
    };
    let computed = |times, clock| -> Result<Vec<u64>, TraceError> {
        let opened = archive(&[calls(times)], clock)?;
        let all = run(&opened, 0)?;
        let gaps = all.into_iter().filter_map(|o| match o {
            Operation::Compute { ps, .. } => Some(ps),
            _ => None,
        });
        Ok(gaps.collect())
    };
    let (cpu, wall) = (vec![200_000, 100_000], vec![2_000_000, 1_000_000]);
    assert_eq!(computed(0b1100, RecordedClock::Any).unwrap(), cpu);
    assert_eq!(computed(0b1100, RecordedClock::Cpu).unwrap(), cpu);
    assert_eq!(computed(0b1100, RecordedClock::Wall).unwrap(), wall);
    assert_eq!(computed(0b1000, RecordedClock::Any).unwrap(), wall);
    assert_eq!(computed(0, RecordedClock::Any).unwrap(), Vec::<u64>::new());
    let message = computed(0b1000, RecordedClock::Cpu).unwrap_err().message;
    assert_eq!(
        message,
        "was recorded without times on the CPU clock; choose another clock"
    );

    let folder = tempfile::tempdir().unwrap();
    let summed = info(&write(folder.path(), &[calls(0b1000)])).unwrap();
    assert_eq!(summed.span_ps, 3_200_000);
    assert!(summed.notes[0].contains("wall clock"), "{:?}", summed.notes);
    assert!(
        summed.notes[1].starts_with("2 calls were made by other threads"),
        "{:?}",
        summed.notes
    );
}

#[test]
fn files_of_old_versions() {
    let calls = TestTrace::of([0, 6, 1], 0b1100)
        .call("MPI_Init", &[N(1), N(0)])
        .call("MPI_Cart_get", &[N(1), N(WORLD), N(1), A(&[2]), A(&[0]), N(0)])
        .call(
            "MPI_Type_struct",
            &[N(2), A(&[1, 2]), N(0), A(&[INT, DOUBLE]), N(30)],
        )
        .call(
            "MPI_Recv",
            &[N(1), N(30), N(ANY), N(ANY), N(WORLD), S(&[status(1, 0, 4)])],
        );
    // MPI_Init has the number of arguments twice and no text.
    let expected = [receive(Some(1), None, 20, None, Call::Recv)];
    let ranks = [end(calls), end(TestTrace::of([0, 6, 1], 0))];
    assert_eq!(operations(&ranks)[0], expected);
}

#[test]
fn broken_files_are_named() {
    let ranks = first_rank(TestTrace::new().call("MPI_Barrier", &[N(WORLD)]), 3);
    let broken = |change: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        let meta = write(folder.path(), &ranks);
        change(folder.path());
        let error = DumpiArchive::open(&meta, RecordedClock::Any)
            .unwrap_err()
            .to_string();
        error.replace(&folder.path().display().to_string(), "")
    };
    let edit = |name: &'static str, change: &'static dyn Fn(&mut Vec<u8>)| {
        move |folder: &Path| {
            let mut bytes = fs::read(folder.join(name)).unwrap();
            change(&mut bytes);
            fs::write(folder.join(name), bytes).unwrap();
        }
    };
    type Damage<'a> = &'a dyn Fn(&Path);
    let cases: [(Damage, &str); 9] = [
        (
            &|folder| fs::remove_file(folder.join("app-0002.bin")).unwrap(),
            "/app-0002.bin: rank 2: this file of the trace is missing",
        ),
        (
            &|folder| fs::write(folder.join("app-0003.bin"), "").unwrap(),
            "/app.meta: says numprocs=3, but there is /app-0003.bin beside it, too",
        ),
        (
            &|folder| fs::write(folder.join("app.meta"), "numprocs=-3\n").unwrap(),
            "/app.meta: numprocs=-3 is not a number of ranks",
        ),
        (
            &|folder| fs::write(folder.join("app.meta"), "numproc=3\n").unwrap(),
            "/app.meta: has no line numprocs=",
        ),
        (
            &edit("app-0001.bin", &|bytes| bytes.truncate(bytes.len() - 3)),
            "/app-0001.bin: rank 1: is cut off: it does not end with an index",
        ),
        (
            &edit("app-0001.bin", &|bytes| bytes.truncate(11)),
            "/app-0001.bin: rank 1: is not a rank's file of a DUMPI trace",
        ),
        (
            &edit("app-0001.bin", &|bytes| bytes[1] = 0),
            "/app-0001.bin: rank 1: is not a rank's file of a DUMPI trace",
        ),
        (
            &edit("app-0001.bin", &|bytes| bytes[..8].reverse()),
            "/app-0001.bin: rank 1: is a DUMPI trace in the wrong byte order",
        ),
        (
            // Number of the first function.
            &edit("app-0000.bin", &|bytes| bytes[16] = 3),
            "/app-0000.bin: rank 0: at byte 16: the format knows no function number 820",
        ),
    ];
    for (change, expected) in cases {
        let text = broken(change);
        assert!(text.starts_with(expected), "{text}\n{expected}");
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &ranks);
    let odd = folder.path().join("odd.bin");
    fs::copy(folder.path().join("app-0000.bin"), &odd).unwrap();
    let text = DumpiArchive::open(&odd, RecordedClock::Any).unwrap_err().message;
    assert!(
        text.starts_with("is one rank's file of a DUMPI trace, but not called"),
        "{text}"
    );
}

/// Numbers and arrays of all calls, in the order of the text that dumpi2ascii writes.
#[test]
fn records_are_what_dumpi2ascii_prints() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces/dumpi-ember-incast-16");
    for rank in [1, 15] {
        let text = fs::read_to_string(folder.join(format!("dumpi2ascii-{rank:04}.txt"))).unwrap();
        let path = folder.join(format!("ember-incast-16-{rank:04}.bin"));
        let mut cursor = RecordCursor::new(Arc::new(DumpiFile::open(path, rank).unwrap()));
        let mut record = DumpiRecord::default();
        let mut calls = 0;
        for block in text
            .split_inclusive(" in thread 0.\n")
            .collect::<Vec<_>>()
            .chunks(2)
        {
            assert!(cursor.next(&mut record).unwrap(), "{}", block[0]);
            assert_eq!(block[0].split(' ').next(), Some(record.name()));
            calls += 1;
            let (mut numbers, mut arrays, mut statuses) = (Vec::new(), Vec::new(), 0);
            // "int count=1024", "MPI_Request requests[2]=[2, 3]", "MPI_Status status=<IGNORED>"
            for line in block[1].lines().filter(|line| !line.contains(" returning at ")) {
                let (what, value) = line.split_once('=').unwrap();
                if what.starts_with("MPI_Status") {
                    statuses += value.matches("bytes=").count();
                } else if what.ends_with(']') && !what.starts_with("string") {
                    let inner = value.trim_matches(['[', ']']);
                    arrays.push(
                        inner
                            .split(", ")
                            .map(|n| n.parse::<i64>().unwrap())
                            .collect::<Vec<_>>(),
                    );
                } else if !what.starts_with("string") && !what.ends_with("argc") {
                    let number = value.trim_matches(['[', ']']).split(' ').next().unwrap();
                    numbers.push(number.parse::<i64>().unwrap());
                }
            }
            assert_eq!(record.statuses.len(), statuses);
            assert_eq!(record.number_count(), numbers.len(), "{}", block[0]);
            for (n, number) in numbers.iter().enumerate() {
                assert_eq!(record.number(n), *number, "{}", block[0]);
            }
            for (n, array) in arrays.iter().enumerate() {
                assert_eq!(record.array(n), *array, "{}", block[0]);
            }
        }
        assert!(!cursor.next(&mut record).unwrap());
        assert!(calls >= 8, "{calls}");
    }
}

mod damaged {
    use super::*;
    use proptest::prelude::*;

    /// A rank's file with many kinds of records.
    fn rich() -> Vec<TestTrace> {
        let rank = |rank: i64| {
            end(TestTrace::new()
                .call("MPI_Init", &[A(&[])])
                .call("MPI_Comm_rank", &[N(WORLD), N(rank)])
                .call("MPI_Comm_group", &[N(WORLD), N(5)])
                .call("MPI_Group_incl", &[N(5), N(2), A(&[1, 0]), N(6)])
                .call("MPI_Comm_create", &[N(WORLD), N(6), N(4)])
                .call(
                    "MPI_Cart_create",
                    &[N(WORLD), N(2), A(&[2, 1]), A(&[0, 0]), N(0), N(5)],
                )
                .call("MPI_Cart_sub", &[N(2), N(5), A(&[1, 0]), N(6)])
                .call("MPI_Comm_split", &[N(4), N(0), N(rank), N(7)])
                .call(
                    "MPI_Type_create_struct",
                    &[N(2), A(&[1, 2]), A(&[0, 9]), A(&[CHAR, INT]), N(33)],
                )
                .call("MPI_Irecv", &[N(1), N(33), N(ANY), N(ANY), N(7), N(10)])
                .call("MPI_Isend", &[N(1), N(33), N(1 - rank), N(7), N(7), N(11)])
                .call(
                    "MPI_Waitall",
                    &[
                        N(2),
                        A(&[10, 11]),
                        S(&[status(1 - rank as i32, 7, 4), status(0, 0, 0)]),
                    ],
                )
                .call(
                    "MPI_Allgatherv",
                    &[N(2), N(1), N(INT), A(&[1, 2]), A(&[0, 1]), N(INT), N(WORLD)],
                )
                .call(
                    "MPI_Gather",
                    &[N(rank), N(0), N(1), N(rank), N(WORLD), N(3), N(INT)],
                )
                .call("MPI_Comm_free", &[N(7)])
                .call("MPI_Get_processor_name", &[A(&[104, 105]), N(2)]))
        };
        vec![rank(0), rank(1)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Changed bytes and a cut-off file give operations, or an error that names the file.
        #[test]
        fn damage_never_panics_or_hangs(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            cut in proptest::option::of(any::<prop::sample::Index>()),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let meta = write(folder.path(), &rich());
            let path = folder.path().join("app-0001.bin");
            let mut bytes = fs::read(&path).unwrap();
            for (index, value) in changes {
                let index = index.index(bytes.len());
                bytes[index] = value;
            }
            if let Some(cut) = cut {
                let cut = cut.index(bytes.len());
                bytes.truncate(cut);
            }
            let limit = 200 * bytes.len();
            fs::write(&path, bytes).unwrap();
            let result = DumpiArchive::open(&meta, RecordedClock::Any).map(Arc::new).and_then(|archive| {
                for rank in 0..2 {
                    let mut program = DumpiProgram::new(archive.clone(), rank, RecordingEdges::MPI);
                    let mut count = 0;
                    while program.next()?.is_some() {
                        count += 1;
                        assert!(count < limit, "more operations than bytes can stand for");
                    }
                }
                scan::info(DumpiArchive::open(&meta, RecordedClock::Any)?, &meta)
            });
            if let Err(error) = result {
                prop_assert!(error.file.contains("app"), "{error}");
                prop_assert!(!error.message.is_empty());
            }
        }
    }

    #[test]
    fn the_undamaged_trace_reads_to_its_end() {
        let all = operations(&rich());
        assert!(all.iter().all(|list| list.len() > 8), "{all:?}");
    }
}

#[test]
fn calls_that_are_not_replayed_are_counted_with_their_time() {
    let ranks = [TestTrace::new()
        .call("MPI_Barrier", &[N(WORLD)])
        .call("MPI_File_write", &[N(5), N(1), N(INT), S(&[])])
        .call("MPI_File_write", &[N(5), N(1), N(INT), S(&[])])
        .call("MPI_Comm_rank", &[N(WORLD), N(0)])
        .call("MPI_File_close", &[N(5)])
        .call("MPI_Barrier", &[N(WORLD)])];
    let archive = archive(&ranks, RecordedClock::Any).unwrap_or_else(|e| panic!("{e}"));
    let mut program = DumpiProgram::new(archive.clone(), 0, RecordingEdges::MPI);
    while program.next().unwrap().is_some() {}
    let recording = program.recording().unwrap();
    let calls = recording.not_replayed.iter();
    let calls: Vec<_> = calls.map(|(name, of)| (name.as_str(), of.count, of.ps)).collect();
    assert_eq!(
        calls,
        [("MPI_File_close", 1, 50_000), ("MPI_File_write", 2, 100_000)]
    );
    // Six calls of 50 ns, 1000 ns apart on the wall clock.
    assert_eq!(recording.span_ps, 5 * 1_050_000 + 50_000);
    assert_eq!(recording.longest_gap.ps, 1_000_000);
}

/// Calls start 1 us apart on the wall clock, take 50 ns, and compute 100 ns between them on the CPU clock.
#[test]
fn a_window_by_time_cuts_cpu_time_in_proportion() {
    let rank = TestTrace::new()
        .call("MPI_Init", &[A(&[])])
        .call("MPI_Barrier", &[N(WORLD)])
        .call("MPI_Barrier", &[N(WORLD)])
        .call("MPI_Finalize", &[]);
    let archive = archive(&[rank], RecordedClock::Any).unwrap();
    let run = |edges| {
        let mut program = DumpiProgram::new(archive.clone(), 0, edges);
        let mut computed = Vec::new();
        while let Some(operation) = program.next().unwrap() {
            if let Operation::Compute { ps, .. } = operation {
                computed.push(ps);
            }
        }
        (computed, program.recording().unwrap().outside_ps())
    };
    // From the end of MPI_Init at 50 ns to the start of MPI_Finalize at 3150 ns of 3200 ns.
    assert_eq!(run(RecordingEdges::MPI), (vec![100_000; 3], 100_000));
    let times = |start, end| RecordingEdges::new(RecordingEdge::Time(start), RecordingEdge::Time(end));
    // Half of the time between the barriers, and a quarter of the time after them.
    assert_eq!(
        run(times(1_600_000, 2_400_000)),
        (vec![50_000, 25_000], 2_400_000)
    );
}
