use super::super::definitions::tests::{REGIONS, archive};
use super::collectives::{ROOT_NONE, ROOT_SELF};
use super::*;
use crate::Collective as Kind;
use crate::WORLD;
use crate::recording_window::RecordingEdge;
use ::otf2::RmaRecord;

/// An event source from memory.
#[derive(Clone)]
struct Recorded {
    events: Vec<TimedEvent>,
    used: usize,
}

impl EventSource for Recorded {
    fn next(&mut self) -> Result<Option<TimedEvent>, TraceError> {
        self.used += 1;
        Ok(self.events.get(self.used - 1).copied())
    }

    fn fork(&self) -> Box<dyn EventSource> {
        Box::new(self.clone())
    }
}

fn region(name: &str) -> u32 {
    100 + REGIONS
        .iter()
        .position(|r| *r == name)
        .unwrap_or_else(|| panic!("{name} is in REGIONS")) as u32
}

/// A call from one time to another, with records inside.
fn during(name: &str, from: u64, until: u64, records: &[EventRecord]) -> Vec<TimedEvent> {
    let region = region(name);
    let mut events = vec![at(from, EventRecord::Enter { region })];
    events.extend(records.iter().map(|r| at(from, *r)));
    events.push(at(until, EventRecord::Leave { region }));
    events
}

fn at(time: u64, record: EventRecord) -> TimedEvent {
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

/// The operations of rank 1 of 4.
fn run(parts: &[Vec<TimedEvent>]) -> Result<Vec<Operation>, String> {
    run_counting(parts).map(|(operations, _)| operations)
}

/// As [`run`], with the greatest length of the queue.
fn run_counting(parts: &[Vec<TimedEvent>]) -> Result<(Vec<Operation>, usize), String> {
    let definitions = Definitions::new(archive(4)).unwrap();
    let mut replay = EventReplay::new(1, RecordingEdges::MPI);
    let mut events = Recorded {
        events: parts.concat(),
        used: 0,
    };
    let mut operations = Vec::new();
    let mut longest = 0;
    loop {
        match replay.next(&definitions, &mut events) {
            Ok(Some(operation)) => operations.push(operation),
            Ok(None) => return Ok((operations, longest)),
            Err(ReplayFailure::Invalid(message)) => return Err(message),
            Err(ReplayFailure::Source(error)) => panic!("{error}"),
        }
        longest = longest.max(replay.waiting());
    }
}

fn compute(ns: u64) -> Operation {
    Operation::Compute {
        ps: 1000 * ns,
        region: None,
    }
}

fn send(to: u32, tag: u32, bytes: u64, request: Option<u64>, call: Call) -> Operation {
    Operation::Send {
        to,
        tag,
        communicator: WORLD,
        bytes,
        request,
        call,
    }
}

fn receive(from: u32, tag: u32, bytes: u64, request: Option<u64>, call: Call) -> Operation {
    Operation::Receive {
        from: Some(from),
        tag: Some(tag),
        communicator: WORLD,
        bytes,
        request,
        call,
    }
}

fn wait(requests: &[u64], call: Call) -> Operation {
    Operation::Wait {
        requests: requests.to_vec(),
        call,
    }
}

#[test]
fn events_without_sense_are_errors() {
    let error = |records: &[EventRecord]| run(&[during("MPI_Wait", 0, 1, records)]).unwrap_err();
    assert_eq!(
        error(&[EventRecord::IsendComplete { request: 7 }]),
        "request 7 completes but was never started"
    );
    assert_eq!(
        error(&[EventRecord::RequestCancelled { request: 7 }]),
        "request 7 is cancelled but was never started"
    );
    let posted = EventRecord::IrecvRequest { request: 7 };
    assert!(error(&[posted, posted]).contains("started again before it is complete"));
    assert!(error(&[posted, EventRecord::IsendComplete { request: 7 }]).contains("another kind"));
    let text = error(&[EventRecord::Send(message(4, 0, 1))]);
    assert_eq!(
        text,
        "send to rank 4, which communicator 0 of 4 ranks does not have"
    );
    let mut own = message(1, 0, 1);
    own.communicator = 1;
    assert!(error(&[EventRecord::Recv(own)]).contains("communicator 1 of 1 ranks"));
    own.communicator = 77;
    assert_eq!(
        error(&[EventRecord::Send(own)]),
        "communicator 77 is used but not defined"
    );
}

#[test]
fn collectives_without_sense_are_errors() {
    let error = |operation, communicator, root| {
        let collective = CollectiveRecord {
            operation,
            communicator,
            root,
            sent: 8,
            received: 8,
        };
        run(&[during(
            "MPI_Allreduce",
            0,
            1,
            &[EventRecord::Collective(collective)],
        )])
        .unwrap_err()
    };
    assert_eq!(error(99, 0, 0), "unknown collective operation number 99");
    assert_eq!(error(1, 0, ROOT_NONE), "bcast without a root");
    assert!(error(1, 0, 4).contains("root 4 on a communicator of 4 ranks"));
    assert_eq!(error(0, 55, 0), "communicator 55 is used but not defined");
}

#[test]
fn time_outside_mpi_is_computation_and_time_inside_is_not() {
    let main = at(
        5,
        EventRecord::Enter {
            region: region("main"),
        },
    );
    let operations = run(&[
        vec![main],
        during("MPI_Comm_rank", 10, 14, &[]),
        during("MPI_Send", 20, 90, &[EventRecord::Send(message(2, 3, 100))]),
        vec![at(95, EventRecord::BufferFlush { until: 195 })],
        during("MPI_Recv", 200, 300, &[EventRecord::Recv(message(0, 4, 50))]),
        vec![at(
            307,
            EventRecord::Leave {
                region: region("main"),
            },
        )],
    ]);
    let compute = |ns: u64| Operation::Compute {
        ps: 1000 * ns,
        region: Some(0),
    };
    let expected = [
        compute(5 + 6),
        send(2, 3, 100, None, Call::Send),
        compute(5 + 5),
        receive(0, 4, 50, None, Call::Recv),
        compute(7),
    ];
    assert_eq!(operations.unwrap(), expected);
}

#[test]
fn regions_within_mpi_belong_to_the_call() {
    let inner = region("main");
    let events = vec![
        at(
            0,
            EventRecord::Enter {
                region: region("MPI_Allreduce"),
            },
        ),
        at(1, EventRecord::Enter { region: inner }),
        at(
            5,
            EventRecord::Enter {
                region: region("MPI_Comm_rank"),
            },
        ),
        at(
            6,
            EventRecord::Leave {
                region: region("MPI_Comm_rank"),
            },
        ),
        // `inner` has no Leave, since the recording was off. Leaving the call leaves it too.
        at(
            9,
            EventRecord::Leave {
                region: region("MPI_Allreduce"),
            },
        ),
        at(9, EventRecord::Leave { region: inner }),
        at(12, EventRecord::Mark),
    ];
    assert_eq!(run(&[events]).unwrap(), [compute(3)]);
}

#[test]
fn a_posted_receive_learns_its_source_when_it_completes() {
    let operations = run(&[
        during("MPI_Irecv", 0, 1, &[EventRecord::IrecvRequest { request: 50 }]),
        during("MPI_Irecv", 1, 2, &[EventRecord::IrecvRequest { request: 51 }]),
        during(
            "MPI_Isend",
            2,
            3,
            &[EventRecord::Isend {
                message: message(3, 1, 10),
                request: 52,
            }],
        ),
        during("MPI_Test", 3, 4, &[EventRecord::RequestTest { request: 51 }]),
        during(
            "MPI_Waitall",
            9,
            10,
            &[
                EventRecord::Irecv {
                    message: message(2, 8, 20),
                    request: 51,
                },
                EventRecord::Irecv {
                    message: message(0, 9, 30),
                    request: 50,
                },
                EventRecord::IsendComplete { request: 52 },
            ],
        ),
        during("MPI_Waitall", 10, 11, &[]),
    ]);
    let expected = [
        receive(0, 9, 30, Some(0), Call::Irecv),
        receive(2, 8, 20, Some(1), Call::Irecv),
        send(3, 1, 10, Some(2), Call::Isend),
        wait(&[], Call::Test),
        compute(5),
        wait(&[1, 0, 2], Call::Waitall),
        wait(&[], Call::Waitall),
    ];
    assert_eq!(operations.unwrap(), expected);
}

#[test]
fn sendrecv_receives_first_and_waits_for_both() {
    let pair = [
        EventRecord::Send(message(2, 0, 4)),
        EventRecord::Recv(message(0, 0, 8)),
    ];
    let expected = [
        receive(0, 0, 8, Some(1), Call::Sendrecv),
        send(2, 0, 4, Some(0), Call::Sendrecv),
        wait(&[0, 1], Call::Sendrecv),
    ];
    assert_eq!(run(&[during("MPI_Sendrecv", 0, 5, &pair)]).unwrap(), expected);
    // With MPI_PROC_NULL on one side there is one record only.
    let half = run(&[during("MPI_Sendrecv", 0, 5, &pair[..1])]).unwrap();
    assert_eq!(
        half,
        [send(2, 0, 4, Some(0), Call::Sendrecv), wait(&[0], Call::Sendrecv)]
    );
}

#[test]
fn persistent_requests_use_their_number_again() {
    let start = during(
        "MPI_Startall",
        0,
        0,
        &[
            EventRecord::IrecvRequest { request: 5 },
            EventRecord::Isend {
                message: message(0, 1, 2),
                request: 6,
            },
        ],
    );
    let complete = during(
        "MPI_Waitall",
        0,
        0,
        &[
            EventRecord::Irecv {
                message: message(3, 1, 2),
                request: 5,
            },
            EventRecord::IsendComplete { request: 6 },
        ],
    );
    let round = |n: u64| {
        [
            receive(3, 1, 2, Some(n), Call::Startall),
            send(0, 1, 2, Some(n + 1), Call::Startall),
            wait(&[n, n + 1], Call::Waitall),
        ]
    };
    let operations = run(&[start.clone(), complete.clone(), start, complete]).unwrap();
    assert_eq!(operations, [round(0), round(2)].concat());
}

#[test]
fn receives_that_never_complete_are_left_out() {
    let post = |request| during("MPI_Irecv", 0, 0, &[EventRecord::IrecvRequest { request }]);
    let operations = run(&[
        post(1),
        post(2),
        during(
            "MPI_Cancel",
            0,
            0,
            &[EventRecord::RequestCancelled { request: 1 }],
        ),
        during("MPI_Send", 0, 0, &[EventRecord::Send(message(0, 0, 1))]),
    ]);
    assert_eq!(operations.unwrap(), [send(0, 0, 1, None, Call::Send)]);
}

#[test]
fn a_trace_that_stops_within_a_call_gives_what_it_has() {
    let mut events = during("MPI_Sendrecv", 10, 20, &[EventRecord::Send(message(0, 0, 1))]);
    events.pop();
    events.insert(0, at(0, EventRecord::Mark));
    let expected = [
        compute(10),
        send(0, 0, 1, Some(0), Call::Sendrecv),
        wait(&[0], Call::Sendrecv),
    ];
    assert_eq!(run(&[events]).unwrap(), expected);
}

#[test]
fn sends_without_a_request_do_not_block() {
    let isend = during("MPI_Isend", 0, 0, &[EventRecord::Send(message(0, 0, 1))]);
    assert_eq!(run(&[isend]).unwrap(), [send(0, 0, 1, Some(0), Call::Isend)]);
}

#[test]
fn requests_that_complete_outside_any_call_are_waited_for_there() {
    let isend = during(
        "MPI_Isend",
        0,
        1,
        &[EventRecord::Isend {
            message: message(0, 0, 1),
            request: 9,
        }],
    );
    let operations = run(&[
        isend,
        vec![
            at(4, EventRecord::IsendComplete { request: 9 }),
            at(6, EventRecord::Mark),
        ],
    ]);
    let expected = [
        send(0, 0, 1, Some(0), Call::Isend),
        compute(3),
        wait(&[0], Call::Other),
        compute(2),
    ];
    assert_eq!(operations.unwrap(), expected);
}

#[test]
fn collectives_know_their_rank_root_and_size() {
    let collective = |operation, communicator, root, sent, received| {
        EventRecord::Collective(CollectiveRecord {
            operation,
            communicator,
            root,
            sent,
            received,
        })
    };
    let operations = run(&[
        during("MPI_Allreduce", 0, 1, &[collective(11, 0, ROOT_NONE, 32, 32)]),
        // Communicator 2 has the ranks 3 and 1: rank 1 is its second member.
        during("MPI_Scan", 1, 2, &[collective(14, 2, ROOT_NONE, 8, 16)]),
        during("MPI_Allreduce", 2, 3, &[collective(11, 1, ROOT_NONE, 8, 8)]),
        during("MPI_Comm_rank", 3, 4, &[collective(17, 0, ROOT_NONE, 0, 0)]),
        during("MPI_Scan", 4, 5, &[collective(1, 2, ROOT_SELF, 16, 8)]),
    ]);
    let operation = |collective, communicator, root, bytes, call| Operation::Collective {
        collective,
        communicator,
        root,
        bytes,
        counts: None,
        request: None,
        reduction: None,
        call,
    };
    let expected = [
        operation(Kind::Allreduce, WORLD, 0, 8, Call::Allreduce),
        operation(Kind::Scan, 3, 0, 8, Call::Scan),
        operation(Kind::Bcast, 3, 1, 8, Call::Scan),
    ];
    assert_eq!(operations.unwrap(), expected);
}

#[test]
fn nonblocking_collectives_begin_where_they_were_started() {
    let done = |operation, communicator, request| EventRecord::CollectiveComplete {
        collective: CollectiveRecord {
            operation,
            communicator,
            root: 2,
            sent: 0,
            received: 8,
        },
        request,
    };
    let started = |request| EventRecord::CollectiveRequest { request };
    let operation = |collective, number| Operation::Collective {
        collective,
        communicator: WORLD,
        root: 2,
        bytes: 8,
        counts: None,
        request: Some(number),
        reduction: None,
        call: Call::Ibcast,
    };
    // They may complete in any order; the first completes long before the wait for it.
    let operations = run(&[
        during("MPI_Ibcast", 0, 0, &[started(1)]),
        during("MPI_Ibcast", 2, 2, &[started(2)]),
        during("MPI_Waitall", 5, 6, &[done(4, 0, 2), done(1, 0, 1)]),
    ]);
    let expected = [
        operation(Kind::Bcast, 0),
        compute(2),
        operation(Kind::Scatter, 1),
        compute(3),
        wait(&[1, 0], Call::Waitall),
    ];
    assert_eq!(operations.unwrap(), expected);

    // A collective on a communicator of this rank alone moves no data, and one that never completes is dropped. No
    // wait names either.
    let operations = run(&[
        during("MPI_Ibcast", 0, 0, &[started(1)]),
        during("MPI_Ibcast", 2, 2, &[started(2)]),
        during("MPI_Wait", 5, 6, &[done(1, 1, 1)]),
    ]);
    assert_eq!(
        operations.unwrap(),
        [compute(2), compute(3), wait(&[], Call::Wait)]
    );

    let cancelled = run(&[
        during("MPI_Ibcast", 0, 0, &[started(1)]),
        vec![at(1, EventRecord::RequestCancelled { request: 1 })],
    ]);
    assert_eq!(cancelled.unwrap(), [compute(1)]);
}

#[test]
fn a_collective_that_stays_open_does_not_grow_the_queue() {
    let rounds = 3 * QUEUE;
    let mut parts = vec![during(
        "MPI_Ibcast",
        0,
        0,
        &[EventRecord::CollectiveRequest { request: 1 }],
    )];
    parts.extend((0..rounds).map(|_| during("MPI_Send", 0, 0, &[EventRecord::Send(message(0, 0, 1))])));
    let collective = CollectiveRecord {
        operation: 1,
        communicator: 0,
        root: 2,
        sent: 0,
        received: 8,
    };
    let last = EventRecord::CollectiveComplete {
        collective,
        request: 1,
    };
    parts.push(during("MPI_Wait", 0, 0, &[last]));
    let (operations, longest) = run_counting(&parts).unwrap();
    assert_eq!(operations.len(), rounds + 2);
    assert!(matches!(
        operations[0],
        Operation::Collective { request: Some(0), .. }
    ));
    assert_eq!(operations[rounds + 1], wait(&[0], Call::Wait));
    assert!(longest <= QUEUE, "{longest}");
}

#[test]
fn a_receive_that_stays_open_does_not_grow_the_queue() {
    let rounds = 5 * QUEUE;
    let mut parts = vec![during(
        "MPI_Irecv",
        0,
        0,
        &[EventRecord::IrecvRequest { request: 1 }],
    )];
    parts.extend((0..rounds).map(|_| during("MPI_Send", 0, 0, &[EventRecord::Send(message(0, 0, 1))])));
    let last = EventRecord::Irecv {
        message: message(2, 7, 64),
        request: 1,
    };
    parts.push(during("MPI_Wait", 0, 0, &[last]));
    let (operations, longest) = run_counting(&parts).unwrap();
    assert_eq!(operations.len(), rounds + 2);
    assert_eq!(operations[0], receive(2, 7, 64, Some(0), Call::Irecv));
    assert_eq!(operations[rounds + 1], wait(&[0], Call::Wait));
    assert!(longest <= QUEUE, "{longest}");
}

#[test]
fn computation_is_exact_over_any_span() {
    // Ticks of a third of a nanosecond: single gaps are rounded, their sum is not.
    let mut all = archive(4);
    all.retain(|d| !matches!(d, ::otf2::Definition::Clock { .. }));
    all.push(::otf2::Definition::Clock {
        ticks_per_second: 3_000_000_000,
    });
    let definitions = Definitions::new(all).unwrap();
    let send = |t| during("MPI_Send", t, t, &[EventRecord::Send(message(0, 0, 1))]);
    let mut events = Recorded {
        events: (0..=3000).flat_map(send).collect(),
        used: 0,
    };
    let mut replay = EventReplay::new(1, RecordingEdges::MPI);
    let mut total = 0;
    while let Some(operation) = replay.next(&definitions, &mut events).unwrap() {
        if let Operation::Compute { ps, .. } = operation {
            assert!((333..=334).contains(&ps));
            total += ps;
        }
    }
    assert_eq!(total, 1_000_000);
}

mod whole_streams {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the order of starts and completions: each request starts once before its single wait, and its
        /// receive has the envelope of its completion.
        #[test]
        fn every_request_is_waited_for_once(order in proptest::collection::vec(0usize..8, 1..200)) {
            let mut open: Vec<u64> = Vec::new();
            let mut parts = Vec::new();
            let mut started = 0;
            for choice in order {
                if choice < 5 && open.len() < 40 {
                    started += 1;
                    open.push(started);
                    parts.push(during("MPI_Irecv", 0, 0, &[EventRecord::IrecvRequest { request: started }]));
                } else if !open.is_empty() {
                    let request = open.remove(choice * 31 % open.len());
                    let done = EventRecord::Irecv { message: message(2, request as u32, request), request };
                    parts.push(during("MPI_Wait", 0, 0, &[done]));
                }
            }
            let mut posted = std::collections::HashMap::new();
            for operation in run(&parts).unwrap() {
                match operation {
                    Operation::Receive { tag, bytes, request, .. } => {
                        prop_assert_eq!(tag.map(u64::from), Some(bytes));
                        prop_assert!(posted.insert(request.unwrap(), bytes).is_none());
                    }
                    Operation::Wait { requests, .. } => {
                        prop_assert_eq!(requests.len(), 1);
                        prop_assert!(posted.remove(&requests[0]).is_some());
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            prop_assert!(posted.is_empty(), "the rest never completes and is left out");
        }
    }
}

#[test]
fn computation_belongs_to_the_innermost_region() {
    let enter = |time, name| at(time, EventRecord::Enter { region: region(name) });
    let leave = |time, name| at(time, EventRecord::Leave { region: region(name) });
    let operations = run(&[
        vec![
            at(0, EventRecord::Mark),
            enter(10, "main"),
            enter(30, "solve"),
            leave(35, "solve"),
            enter(40, "solve"),
        ],
        // Functions that MPI calls belong to the call.
        vec![
            enter(60, "MPI_Allreduce"),
            enter(61, "main"),
            at(62, EventRecord::Collective(allreduce())),
            leave(63, "main"),
            leave(65, "MPI_Allreduce"),
        ],
        vec![
            leave(70, "solve"),
            leave(71, "MPI_Send"),
            leave(90, "main"),
            at(100, EventRecord::Mark),
        ],
    ])
    .unwrap();
    let compute = |ns: u64, region| Operation::Compute {
        ps: 1000 * ns,
        region,
    };
    assert_eq!(
        [&operations[..3], &operations[4..]].concat(),
        [
            compute(10, None),
            compute(25, Some(0)),
            compute(25, Some(1)),
            compute(5, Some(1)),
            compute(20, Some(0)),
            compute(10, None),
        ]
    );
    assert!(matches!(operations[3], Operation::Collective { .. }));
}

fn allreduce() -> CollectiveRecord {
    CollectiveRecord {
        operation: 11,
        communicator: 0,
        root: u32::MAX,
        sent: 32,
        received: 32,
    }
}

/// An internal collective of the library.
fn step(collective: Kind, communicator: u32, bytes: u64, call: Call) -> Operation {
    Operation::Collective {
        collective,
        communicator,
        root: 0,
        bytes,
        counts: None,
        request: None,
        reduction: None,
        call,
    }
}

#[test]
fn making_a_communicator_costs_what_it_does_in_mpich() {
    let making = |operation, communicator| {
        let collective = CollectiveRecord {
            operation,
            communicator,
            ..allreduce()
        };
        [EventRecord::Collective(collective)]
    };
    let operations = run(&[
        during("MPI_Comm_dup", 0, 0, &making(17, 2)),
        during("MPI_Comm_split", 0, 0, &making(17, 7)),
        // Collectives on MPI_COMM_SELF, at its release, and in MPI_Init and the like give no operations.
        during("MPI_Comm_split", 0, 0, &making(17, 1)),
        during("MPI_Comm_split", 0, 0, &making(18, 0)),
        during("MPI_Comm_rank", 0, 0, &making(17, 0)),
    ]);
    let expected = [
        step(Kind::Allreduce, 3, 256, Call::CommDup),
        step(Kind::Allgather, 1, 8, Call::CommSplit),
        step(Kind::Allreduce, 1, 256, Call::CommSplit),
    ];
    assert_eq!(operations.unwrap(), expected);
}

fn transfer(window: u32, peer: u32, bytes: u64, received: u64) -> RmaRecord {
    RmaRecord {
        window,
        peer,
        bytes,
        received,
        matching: 0,
    }
}

#[test]
fn one_sided_transfers_between_fences() {
    let collective = |operation| [EventRecord::RmaCollective { window: 5, operation }];
    let operations = run(&[
        during("MPI_Win_create", 0, 0, &collective(17)),
        during("MPI_Win_fence", 0, 0, &collective(0)),
        during("MPI_Put", 0, 0, &[EventRecord::Put(transfer(5, 1, 70, 0))]),
        during("MPI_Get", 0, 0, &[EventRecord::Get(transfer(5, 0, 80, 0))]),
        during(
            "MPI_Accumulate",
            0,
            0,
            &[EventRecord::Atomic(transfer(5, 1, 90, 0))],
        ),
        during(
            "MPI_Comm_rank",
            0,
            0,
            &[EventRecord::Atomic(transfer(5, 1, 8, 16))],
        ),
        // An RMA window of another paradigm.
        during(
            "main",
            0,
            0,
            &[
                EventRecord::Put(transfer(6, 77, 1, 0)),
                EventRecord::RmaLock { window: 6 },
            ],
        ),
        during("MPI_Win_fence", 0, 0, &collective(0)),
        during("MPI_Win_free", 0, 0, &collective(18)),
    ]);
    let communicator = 3;
    let put = |bytes, call| Operation::Put {
        to: 1,
        communicator,
        bytes,
        call,
    };
    let get = |from, bytes| Operation::Get {
        from,
        communicator,
        bytes,
        call: Call::Get,
    };
    let fence = Operation::Fence {
        communicator,
        call: Call::WinFence,
    };
    let expected = [
        step(Kind::Allreduce, communicator, 256, Call::WinCreate),
        step(Kind::Allgather, communicator, 32, Call::WinCreate),
        fence.clone(),
        put(70, Call::Put),
        get(0, 80),
        put(90, Call::Accumulate),
        put(8, Call::Put),
        get(1, 16),
        fence,
        step(Kind::Barrier, communicator, 0, Call::WinFree),
    ];
    assert_eq!(operations.unwrap(), expected);
}

#[test]
fn other_one_sided_communication_is_an_error() {
    let error = |call, record| run(&[during(call, 0, 0, &[record])]).unwrap_err();
    assert_eq!(
        error("MPI_Win_lock", EventRecord::RmaLock { window: 5 }),
        "MPI_Win_lock: one-sided communication other than between fences is not supported"
    );
    assert_eq!(
        error("MPI_Put", EventRecord::Put(transfer(5, 2, 1, 0))),
        "transfer with rank 2, which window 5 of 2 ranks does not have"
    );
    assert!(
        error("MPI_Put", EventRecord::Put(transfer(9, 0, 1, 0))).contains("window 9 is used but not defined")
    );
}

#[test]
fn what_completes_in_a_call_is_waited_for_before_the_call_starts_more() {
    let first = message(0, 5, 8);
    let second = message(2, 6, 8);
    let rounds = [
        EventRecord::IrecvRequest { request: 1 },
        EventRecord::Isend {
            message: first,
            request: 2,
        },
        EventRecord::Irecv {
            message: first,
            request: 1,
        },
        EventRecord::Isend {
            message: second,
            request: 3,
        },
        EventRecord::IsendComplete { request: 2 },
        EventRecord::IsendComplete { request: 3 },
    ];
    let call = Call::Allreduce;
    let expected = [
        receive(0, 5, 8, Some(0), call),
        send(0, 5, 8, Some(1), call),
        wait(&[0], call),
        send(2, 6, 8, Some(2), call),
        wait(&[1, 2], call),
    ];
    assert_eq!(run(&[during("MPI_Allreduce", 0, 5, &rounds)]).unwrap(), expected);
}

/// What the recording of a rank tells at the end of its program.
fn recording_of(parts: &[Vec<TimedEvent>]) -> Recording {
    let definitions = Definitions::new(archive(4)).unwrap();
    let mut replay = EventReplay::new(1, RecordingEdges::MPI);
    let events = parts.concat();
    let mut events = Recorded { events, used: 0 };
    while replay.next(&definitions, &mut events).unwrap().is_some() {}
    replay.recording
}

#[test]
fn calls_without_an_operation_are_counted_with_their_time() {
    let put = transfer(5, 0, 64, 0);
    let recording = recording_of(&[
        during(
            "MPI_File_write_all",
            10,
            30,
            &[EventRecord::Send(message(0, 0, 8))],
        ),
        during("MPI_File_write_all", 30, 35, &[]),
        during("MPI_Put", 40, 45, &[EventRecord::Put(put)]),
        during("MPI_Put", 45, 48, &[]),
        during("MPI_Comm_create_group", 50, 51, &[]),
        during("MPI_Comm_rank", 51, 60, &[]),
        during("MPI_Recv", 60, 90, &[EventRecord::Recv(message(0, 0, 8))]),
    ]);
    let calls = recording.not_replayed.iter();
    let calls: Vec<_> = calls.map(|(name, of)| (name.as_str(), of.count, of.ps)).collect();
    // A put that is recorded is replayed; messages inside a file function are not the function.
    let expected = [
        ("MPI_Comm_create_group", 1, 1000),
        ("MPI_File_write_all", 2, 25_000),
        ("MPI_Put", 1, 3000),
    ];
    assert_eq!(calls, expected);
    assert_eq!(recording.span_ps, 80_000);
    let gap = recording.longest_gap;
    assert_eq!((gap.at_ps, gap.ps), (50_000, 30_000));
}

/// Writing the buffer takes time that the application would not take.
#[test]
fn the_recording_that_writes_its_buffer_makes_no_gap() {
    let flush = vec![at(10, EventRecord::BufferFlush { until: 900 })];
    let recording = recording_of(&[
        during("MPI_Comm_rank", 0, 2, &[]),
        flush,
        during("MPI_Comm_rank", 905, 906, &[]),
    ]);
    assert_eq!((recording.span_ps, recording.longest_gap.ps), (906_000, 8000));
}

/// Operations of rank 1 in a window, whether each is inside, and what the recording tells.
fn windowed(edges: RecordingEdges, parts: &[Vec<TimedEvent>]) -> (Vec<(Operation, bool)>, Recording) {
    let definitions = Definitions::new(archive(4)).unwrap();
    let mut replay = EventReplay::new(1, edges);
    let events = parts.concat();
    let mut events = Recorded { events, used: 0 };
    let mut all = Vec::new();
    while let Some(operation) = replay.next(&definitions, &mut events).unwrap() {
        all.push((operation, replay.was_inside));
    }
    (all, replay.recording)
}

/// An application with a long start-up, and work after it has finalized MPI.
fn with_start_up() -> Vec<Vec<TimedEvent>> {
    vec![
        vec![at(
            0,
            EventRecord::Enter {
                region: region("main"),
            },
        )],
        during("MPI_Init", 900, 1000, &[]),
        during("MPI_Send", 1010, 1020, &[EventRecord::Send(message(0, 3, 8))]),
        during("MPI_Finalize", 1050, 1060, &[]),
        vec![at(
            1500,
            EventRecord::Leave {
                region: region("main"),
            },
        )],
    ]
}

#[test]
fn start_up_and_shut_down_are_not_the_application() {
    let main = |ns: u64| Operation::Compute {
        ps: 1000 * ns,
        region: Some(0),
    };
    let message = send(0, 3, 8, None, Call::Send);
    let (operations, recording) = windowed(RecordingEdges::MPI, &with_start_up());
    let expected = [main(10), message.clone(), main(30)].map(|operation| (operation, true));
    assert_eq!(operations, expected);
    assert_eq!(
        (recording.span_ps, recording.outside_ps()),
        (1_500_000, 1_450_000)
    );
    assert_eq!(recording.window_start_ps, Some(1_000_000));
    assert_eq!(recording.window_end_ps, Some(1_050_000));
    let all = RecordingEdges::new(RecordingEdge::Recording, RecordingEdge::Recording);
    let (operations, recording) = windowed(all, &with_start_up());
    // Computation between two calls is one operation.
    let expected = [main(910), message, main(470)].map(|operation| (operation, true));
    assert_eq!(operations, expected);
    assert_eq!(recording.outside_ps(), 0);
}

/// MPI forbids it, and leaving it out would be wrong.
#[test]
fn communication_before_mpi_init_is_kept_with_the_computation_before_it() {
    let parts = [
        during("MPI_Comm_rank", 0, 1, &[]),
        during("MPI_Send", 5, 6, &[EventRecord::Send(message(0, 3, 8))]),
        during("MPI_Init", 8, 9, &[]),
        during("MPI_Comm_rank", 10, 11, &[]),
    ];
    let (operations, recording) = windowed(RecordingEdges::MPI, &parts);
    let expected = [compute(4), send(0, 3, 8, None, Call::Send), compute(3)];
    assert_eq!(operations, expected.map(|operation| (operation, true)));
    assert_eq!(recording.window_start_ps, None);
}

/// A receive belongs to the call that posts it.
#[test]
fn operations_outside_a_window_are_told_and_their_computation_is_left_out() {
    let parts = [
        during("MPI_Irecv", 0, 1, &[EventRecord::IrecvRequest { request: 7 }]),
        during("MPI_Send", 5, 6, &[EventRecord::Send(message(0, 3, 8))]),
        during(
            "MPI_Wait",
            10,
            20,
            &[EventRecord::Irecv {
                message: message(2, 4, 16),
                request: 7,
            }],
        ),
        during("MPI_Comm_rank", 30, 31, &[]),
    ];
    let (operations, recording) = windowed(
        RecordingEdges::new(RecordingEdge::Call(2), RecordingEdge::Call(3)),
        &parts,
    );
    let expected = [
        (receive(2, 4, 16, Some(0), Call::Irecv), false),
        (send(0, 3, 8, None, Call::Send), true),
        (compute(4), true),
        (wait(&[0], Call::Wait), false),
    ];
    assert_eq!(operations, expected);
    assert_eq!((recording.span_ps, recording.outside_ps()), (31_000, 26_000));
    // The same window by the numbers of its events, and by time.
    let by_events = RecordingEdges::new(RecordingEdge::Event(4), RecordingEdge::Event(7));
    assert_eq!(windowed(by_events, &parts).0, expected);
    let by_time = RecordingEdges {
        start: RecordingEdge::Time(105_000),
        end: RecordingEdge::Time(110_000),
        offset_ps: 100_000,
    };
    let (operations, recording) = windowed(by_time, &parts);
    assert_eq!(operations, expected);
    assert_eq!(recording.outside_ps(), 26_000);
}
