//! Programs that cannot be replayed, and owners that break the contract.

use std::sync::Arc;

use des::Time;
use mpi::{Action, Message, MessageKind, MpiJob, NO_REQUEST, PackedPath, Rank, ReplayError, Transit};
use workload::{Call, Collective, Operation, Program, TraceError};

use super::network::*;

fn error(programs: Vec<Vec<Operation>>) -> String {
    let communicators = vec![(0..programs.len() as u32).collect(), vec![0]];
    match run_in(settings(), fixed(), communicators, programs) {
        Ok(_) => panic!("no error"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_name_rank_call_and_what_is_wrong() {
    let truncated = |bytes| {
        vec![
            vec![send(1, 7, bytes)],
            vec![ireceive(None, None, bytes - 1, 0), compute(9000), wait(&[0])],
        ]
    };
    assert_eq!(
        error(truncated(50)),
        "rank 1: MPI_Irecv: the message of 50 bytes from rank 0, tag 7, communicator 0 does not fit the \
         receive buffer of 49 bytes"
    );
    assert!(
        error(truncated(5000)).contains("buffer of 4999"),
        "also as a rendezvous"
    );

    let on_1 = |mut operation: Operation| {
        if let Operation::Send { communicator, .. } = &mut operation {
            *communicator = 1;
        }
        operation
    };
    for (program, expected) in [
        (vec![wait(&[9])], "rank 1: MPI_Wait: request 9 was never opened"),
        (
            vec![isend(0, 0, 1, 4), wait(&[4, 4])],
            "rank 1: MPI_Waitall: request 4 was never opened, or is already",
        ),
        (
            vec![isend(0, 0, 1, 4), isend(0, 0, 1, 4)],
            "rank 1: MPI_Isend: request 4 is still open",
        ),
        (
            vec![ireceive(None, None, 1, 4), isend(0, 0, 1, 4)],
            "request 4 is still open",
        ),
        (
            vec![ireceive(None, None, 1, 4), ireceive(None, None, 1, 4)],
            "MPI_Irecv: request 4 is still open",
        ),
        (
            vec![send(2, 0, 1)],
            "rank 1: MPI_Send: there is no rank 2 in communicator 0 of 2 ranks",
        ),
        (
            vec![receive(Some(5), None, 1)],
            "rank 1: MPI_Recv: there is no rank 5",
        ),
        (
            vec![on_1(send(0, 0, 1))],
            "rank 1: MPI_Send: the rank is not a member of communicator 1",
        ),
        (
            vec![collective(Collective::Barrier, 1, 0, 0)],
            "MPI_Barrier: the rank is not a member",
        ),
        (
            vec![collective(Collective::Barrier, 2, 0, 0)],
            "there is no communicator 2; the job has 2",
        ),
        (
            vec![collective(Collective::Barrier, 1 << 31, 0, 0)],
            "there is no communicator 2147483648",
        ),
        (
            vec![collective(Collective::Bcast, 0, 2, 0)],
            "there is no rank 2 in communicator 0",
        ),
        (
            vec![put(2, 8)],
            "MPI_Put: there is no rank 2 in communicator 0 of 2 ranks",
        ),
        (vec![get(9, 8)], "MPI_Get: there is no rank 9 in communicator 0"),
        (
            vec![put_on(1, 0, 8)],
            "MPI_Put: the rank is not a member of communicator 1",
        ),
        (
            vec![get_on(7, 0, 8)],
            "MPI_Get: there is no communicator 7; the job has 2",
        ),
        (
            vec![fence_on(1)],
            "rank 1: MPI_Win_fence: the rank is not a member of communicator 1",
        ),
        (
            vec![probe(Some(2), None)],
            "rank 1: MPI_Probe: there is no rank 2 in communicator 0",
        ),
        (
            vec![nonblocking(Collective::Barrier, 1, 0, 0, 1)],
            "MPI_Ibarrier: the rank is not a member of communicator 1",
        ),
        (
            vec![isend(0, 0, 1, 4), nonblocking(Collective::Barrier, 0, 0, 0, 4)],
            "MPI_Ibarrier: request 4 is still open",
        ),
        (
            vec![nonblocking(Collective::Barrier, 0, 0, 0, 4), wait(&[5])],
            "MPI_Wait: request 5 was never opened",
        ),
        (
            vec![nonblocking(Collective::Barrier, 0, 0, 0, 4), wait(&[4, 4])],
            "MPI_Waitall: request 4 was never opened, or is already completed",
        ),
        (
            vec![
                compute(1),
                Operation::Compute {
                    ps: u64::MAX,
                    region: None,
                },
            ],
            "beyond the end of simulated time",
        ),
    ] {
        let message = error(vec![vec![], program]);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_broken_source_is_reported() {
    struct Broken;
    impl Program for Broken {
        fn next(&mut self) -> Result<Option<Operation>, TraceError> {
            Err(TraceError {
                file: "x.otf2".into(),
                rank: Some(0),
                message: "cut short".into(),
            })
        }
    }
    let job = Arc::new(MpiJob::new(1, vec![vec![0]].into(), settings()).unwrap());
    let mut rank = Rank::new(job, 0, Box::new(Broken));
    let error = rank.start(Time::ZERO, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "x.otf2: rank 0: cut short");
}

fn waiting(programs: Vec<Vec<Operation>>) -> Vec<Option<String>> {
    let outcome = run(settings(), fixed(), programs).unwrap();
    outcome.ranks.iter().map(Rank::waiting_for).collect()
}

#[test]
fn deadlocks_name_the_awaited_calls() {
    let facing = waiting(vec![vec![send(1, 7, 500)], vec![send(0, 8, 500)]]);
    assert_eq!(
        facing[0].as_deref(),
        Some("MPI_Send for the receive of a message to rank 1, tag 7, communicator 0")
    );
    assert_eq!(
        facing[1].as_deref(),
        Some("MPI_Send for the receive of a message to rank 0, tag 8, communicator 0")
    );

    let alone = waiting(vec![vec![receive(Some(1), Some(3), 8)], vec![]]);
    assert_eq!(
        alone[0].as_deref(),
        Some("MPI_Recv for a message from rank 1, tag 3, communicator 0")
    );
    assert_eq!(alone[1], None);

    let many: Vec<_> = (0..5)
        .map(|i| ireceive(None, None, 8, i))
        .chain([wait(&[0, 1, 2, 3, 4])])
        .collect();
    assert_eq!(
        waiting(vec![many])[0].as_deref(),
        Some(
            "MPI_Waitall for a message from any rank, any tag, communicator 0; a message from any rank, any \
             tag, communicator 0; a message from any rank, any tag, communicator 0; and 2 more"
        )
    );

    let missing = waiting(vec![vec![collective(Collective::Barrier, 0, 0, 0)], vec![]]);
    assert_eq!(
        missing[0].as_deref(),
        Some("MPI_Barrier for a message from rank 1, round 0, communicator 0")
    );

    let probes = waiting(vec![vec![probe(Some(1), Some(4))], vec![probe(None, None)]]);
    assert_eq!(
        probes[0].as_deref(),
        Some("MPI_Probe for a message from rank 1, tag 4, communicator 0")
    );
    assert_eq!(
        probes[1].as_deref(),
        Some("MPI_Probe for a message from any rank, any tag, communicator 0")
    );

    let fences = waiting(vec![vec![put(1, 8), fence()], vec![]]);
    assert_eq!(
        fences[0].as_deref(),
        Some("MPI_Win_fence for a message from rank 1, round 0, communicator 0")
    );

    let started = waiting(vec![
        vec![nonblocking(Collective::Barrier, 0, 0, 0, 1), wait(&[1])],
        vec![],
    ]);
    assert_eq!(
        started[0].as_deref(),
        Some("MPI_Wait for MPI_Ibarrier: a message from rank 1, round 0, communicator 0")
    );

    let different = waiting(vec![
        vec![collective(Collective::Barrier, 0, 0, 0)],
        vec![collective(Collective::Allreduce, 0, 0, 0)],
    ]);
    assert!(
        different.iter().all(Option::is_some),
        "collectives that differ do not match"
    );
}

#[test]
fn ranks_know_whom_they_wait_for() {
    let awaited = |programs| {
        let outcome = run(settings(), fixed(), programs).unwrap();
        let ranks: Vec<Vec<u32>> = outcome.ranks.iter().map(Rank::awaited_ranks).collect();
        ranks
    };
    let several = vec![
        ireceive(Some(2), None, 8, 1),
        ireceive(None, None, 8, 2),
        ireceive(Some(1), None, 8, 3),
        ireceive(Some(2), None, 8, 4),
        wait(&[1, 2, 3, 4]),
    ];
    let facing = vec![several, vec![send(0, 0, 0), send(2, 0, 500)], vec![]];
    // The receive from any rank was posted first and has taken the message of rank 1.
    assert_eq!(awaited(facing), [vec![1, 2], vec![2], vec![]]);
    let of_the_communicator = awaited(vec![
        vec![probe(Some(1), None)],
        vec![nonblocking(Collective::Barrier, 0, 0, 0, 1), wait(&[1])],
        vec![fence()],
        vec![probe(None, None)],
    ]);
    assert_eq!(of_the_communicator, [vec![1], vec![0], vec![1], vec![]]);
}

#[test]
fn small_sends_that_face_each_other_go_through() {
    let programs = vec![
        vec![send(1, 0, 100), receive(Some(1), None, 100)],
        vec![send(0, 0, 100), receive(Some(0), None, 100)],
    ];
    run(settings(), fixed(), programs).unwrap().assert_clean();
}

#[test]
fn an_owner_that_breaks_the_contract_gets_an_error() {
    let job = Arc::new(MpiJob::new(2, vec![vec![0, 1]].into(), settings()).unwrap());
    let program = vec![isend(1, 0, 500, 0), compute(10), wait(&[0])];
    let mut rank = Rank::new(job, 0, Box::new(List(program.into_iter())));
    let mut out = Vec::new();
    let defect = |result: Result<(), ReplayError>| {
        assert!(
            matches!(result, Err(ReplayError::Contract { rank: 0, .. })),
            "{result:?}"
        );
    };
    let message = |kind, to| Message {
        from: 1,
        to,
        communicator: 0,
        tag: 0,
        bytes: 500,
        sequence: 0,
        request: NO_REQUEST,
        kind,
        path: PackedPath::default(),
    };
    defect(rank.resume(Time(1), &mut out));
    rank.start(Time(5), &mut out).unwrap();
    defect(rank.start(Time(5), &mut out));
    assert_eq!(out, [Action::ResumeAt(Time(10_005))]);
    defect(rank.resume(Time(7), &mut out));
    rank.resume(Time(10_005), &mut out).unwrap();
    defect(rank.injected(Time(10_005), 0, &mut out));
    defect(rank.injected(Time(10_005), 77, &mut out));
    defect(rank.arrived(
        Time(10_006),
        message(MessageKind::Data, 0),
        Transit::default(),
        &mut out,
    ));
    defect(rank.arrived(
        Time(10_006),
        message(MessageKind::ClearToSend, 0),
        Transit::default(),
        &mut out,
    ));
    defect(rank.arrived(
        Time(10_006),
        message(MessageKind::Eager, 1),
        Transit::default(),
        &mut out,
    ));
    defect(rank.arrived(
        Time(10_006),
        message(MessageKind::Put, 0),
        Transit::default(),
        &mut out,
    ));
    defect(rank.arrived(
        Time(10_006),
        message(MessageKind::PutDone, 0),
        Transit::default(),
        &mut out,
    ));
    defect(rank.arrived(
        Time(10_006),
        message(MessageKind::GetData, 0),
        Transit::default(),
        &mut out,
    ));
    assert!(!rank.finished());
}

#[test]
fn messages_before_the_start_and_after_the_end_are_kept() {
    let job = Arc::new(MpiJob::new(2, vec![vec![0, 1]].into(), settings()).unwrap());
    let program = vec![receive(Some(1), None, 8)];
    let mut rank = Rank::new(job, 0, Box::new(List(program.into_iter())));
    let mut out = Vec::new();
    let message = |sequence| Message {
        from: 1,
        to: 0,
        communicator: 0,
        tag: 0,
        bytes: 8,
        sequence,
        request: NO_REQUEST,
        kind: MessageKind::Eager,
        path: PackedPath::default(),
    };
    rank.arrived(Time(1), message(0), Transit::default(), &mut out)
        .unwrap();
    assert_eq!(rank.unexpected_messages(), 1);
    rank.start(Time(2), &mut out).unwrap();
    rank.resume(Time(20_002), &mut out).unwrap();
    assert_eq!(out, [Action::ResumeAt(Time(20_002)), Action::Finished]);
    rank.arrived(Time(30_000), message(1), Transit::default(), &mut out)
        .unwrap();
    assert_eq!(
        (rank.unexpected_messages(), rank.stats().call(Call::Recv).calls),
        (1, 1)
    );
}
