//! Synthetic traces: the operations of each call, and the errors of damaged traces.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::mpi_calls::tests::{receive, send, wait};
use crate::{Call, Collective, Counts, Operation, Reduction, TraceInfo};

/// A rank's file. Each call, given without times, starts 1 us after the end of the previous one and takes 2 us.
fn text(calls: &[&str]) -> String {
    let mut text =
        "# collprof 0.9 output file\n# Init clockdiff: 0.000000\n\nMPI_Init:-:1:2:1000.000000\n".to_string();
    let mut time = 1000;
    for call in calls {
        let (name, arguments) = call.split_once(':').unwrap_or((call, ""));
        let colon = if arguments.is_empty() { "" } else { ":" };
        let (start, end) = (time + 1, time + 3);
        text += &format!("{name}:{start}.000000{colon}{arguments}:{end}.000000\n");
        time = end;
    }
    text + &format!(
        "# Finalize clockdiff: -17.5\nMPI_Finalize:{}.000000:-\n",
        time + 1
    )
}

fn write(ranks: &[Vec<&str>]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (rank, calls) in ranks.iter().enumerate() {
        fs::write(folder.path().join(format!("t-{rank}.txt")), text(calls)).unwrap();
    }
    folder
}

fn operations(folder: &Path, rank: u32) -> Vec<Operation> {
    let workload = crate::open(folder).unwrap_or_else(|e| panic!("{e}"));
    let mut program = workload.program(rank).unwrap();
    std::iter::from_fn(|| program.next().unwrap_or_else(|e| panic!("{e}"))).collect()
}

/// The operations of a rank without computation.
fn calls(folder: &Path, rank: u32) -> Vec<Operation> {
    let all = operations(folder, rank).into_iter();
    all.filter(|o| !matches!(o, Operation::Compute { .. })).collect()
}

/// The error of opening a trace, without the folder.
fn failure(folder: &Path) -> String {
    let opened = crate::open(folder).map(|_| ()).unwrap_err().to_string();
    assert_eq!(crate::info(folder).map(|_| ()).unwrap_err().to_string(), opened);
    opened.replace(&format!("{}/", folder.display()), "")
}

/// The error of a trace of two ranks in which rank 0 makes this call.
fn wrong(call: &str) -> String {
    failure(write(&[vec![call], vec![]]).path())
}

#[test]
fn blocking_calls_with_computation_between_them() {
    let folder = write(&[
        vec![
            "MPI_Comm_size:0,0,2:99",
            "MPI_Send:64:10:11,8,8:1:7:0,0,2",
            "MPI_Ssend:64:1:11,8,8:1:7:0,0,2",
            "MPI_Bsend:64:2:11,8,8:1:7:0,0,2",
            "MPI_Rsend:64:3:11,8,8:1:7:0,0,2",
            "MPI_Send:64:3:11,8,8:-2:7:0,0,2",
            "MPI_Sendrecv:64:5:1,4,4:1:8:72:6:1,4,4:1:9:0,0,2:0",
        ],
        vec![
            "MPI_Recv:64:10:11,8,46909632806920:0:7:0,1,2:0",
            "MPI_Recv:64:10:11,8,8:0:-1:0,1,2:0",
            "MPI_Probe:-1:7:0,1,2:0",
            "MPI_Recv:64:10:11,8,8:-1:7:0,1,2:0",
            "MPI_Recv:64:10:11,8,8:0:7:0,1,2:0",
            "MPI_Recv:64:10:11,8,8:-2:7:0,1,2:0",
            "MPI_Sendrecv_replace:64:6:1,4,4:0:9:0:8:0,1,2:0",
        ],
    ]);
    let us = 1_000_000;
    let compute = |us_: u64| Operation::Compute {
        ps: us_ * us,
        region: None,
    };
    let own = operations(folder.path(), 0);
    // Time inside calls that are not replayed is not computation.
    assert_eq!(
        own[..3],
        [compute(2), send(1, 7, 80, None, Call::Send), compute(1)]
    );
    assert_eq!(own.last(), Some(&compute(1)), "to MPI_Finalize");
    let expected = [
        send(1, 7, 80, None, Call::Send),
        send(1, 7, 8, None, Call::Ssend),
        send(1, 7, 16, None, Call::Bsend),
        send(1, 7, 24, None, Call::Rsend),
        receive(Some(1), Some(9), 24, Some(0), Call::Sendrecv),
        send(1, 8, 20, Some(1), Call::Sendrecv),
        wait(&[0, 1], Call::Sendrecv),
    ];
    assert_eq!(calls(folder.path(), 0), expected);
    let probe = Operation::Probe {
        from: None,
        tag: Some(7),
        communicator: 0,
        call: Call::Probe,
    };
    let expected = [
        receive(Some(0), Some(7), 80, None, Call::Recv),
        receive(Some(0), None, 80, None, Call::Recv),
        probe,
        receive(None, Some(7), 80, None, Call::Recv),
        receive(Some(0), Some(7), 80, None, Call::Recv),
        receive(Some(0), Some(8), 24, Some(0), Call::Sendrecv),
        send(0, 9, 24, Some(1), Call::Sendrecv),
        wait(&[0, 1], Call::Sendrecv),
    ];
    assert_eq!(calls(folder.path(), 1), expected);
    let info = crate::info(folder.path()).unwrap();
    assert_eq!(
        (info.ranks, info.messages.count, info.messages.bytes),
        (2, 6, 172)
    );
    assert_eq!((info.span_ps, info.compute_ps), (22 * us, 16 * us));
    assert_eq!((info.events, info.mpi_calls), (18, 18));
    assert!(info.notes[1].starts_with("2 receives are from any source or with any tag"));
}

#[test]
fn mpich_has_other_numbers_for_any_source_and_no_process() {
    let folder = write(&[
        vec![
            "MPI_Send:64:1:11,8,8:1:7:1140850688,0,2",
            "MPI_Send:64:1:11,8,8:-1:7:1140850688,0,2",
        ],
        vec![
            "MPI_Recv:64:1:11,8,8:-2:7:1140850688,1,2:0",
            "MPI_Recv:64:1:11,8,8:-1:7:1140850688,1,2:0",
        ],
    ]);
    assert_eq!(calls(folder.path(), 0).len(), 1);
    assert_eq!(
        calls(folder.path(), 1),
        [receive(None, Some(7), 8, None, Call::Recv)]
    );
}

#[test]
fn requests_are_where_they_are_kept() {
    // Pointers of 8 bytes, and numbers of 4.
    for stride in [8, 4] {
        let at = |i: u64| 1600 + i * stride;
        let posts: Vec<String> = (0..3)
            .map(|i| format!("MPI_Irecv:64:1:11,8,8:1:{i}:0,0,2:{}", at(i)))
            .collect();
        let mut own: Vec<&str> = posts.iter().map(String::as_str).collect();
        // The last of four requests in the array is MPI_REQUEST_NULL; requests behind them are not waited for.
        let behind = format!("MPI_Isend:64:1:11,8,8:1:5:0,0,2:{}", at(4));
        let rest = format!("MPI_Wait:{}:0", at(4));
        own.extend([behind.as_str(), "MPI_Waitall:4:1600:0", rest.as_str()]);
        let sends = [
            "MPI_Send:64:1:11,8,8:0:0:0,1,2",
            "MPI_Send:64:1:11,8,8:0:1:0,1,2",
            "MPI_Send:64:1:11,8,8:0:2:0,1,2",
            "MPI_Recv:64:1:11,8,8:0:5:0,1,2:0",
        ];
        let folder = write(&[own, sends.to_vec()]);
        let waits = &calls(folder.path(), 0)[4..];
        assert_eq!(waits, [wait(&[0, 1, 2], Call::Waitall), wait(&[3], Call::Wait)]);
        let notes = crate::info(folder.path()).unwrap().notes;
        assert!(
            notes[1].starts_with("1 requests are waited for that no recorded call"),
            "{notes:?}"
        );
    }
}

#[test]
fn persistent_requests_start_again_and_again() {
    let folder = write(&[
        vec![
            "MPI_Send_init:64:1:11,8,8:1:3:0,0,2:800",
            "MPI_Recv_init:64:1:11,8,8:1:4:0,0,2:808",
            "MPI_Startall:2:800",
            "MPI_Waitall:2:800:0",
            "MPI_Start:800",
            "MPI_Wait:800:0",
            "MPI_Wait:808:0",
            "MPI_Request_free:800",
        ],
        vec![
            "MPI_Recv:64:1:11,8,8:0:3:0,1,2:0",
            "MPI_Recv:64:1:11,8,8:0:3:0,1,2:0",
            "MPI_Send:64:1:11,8,8:0:4:0,1,2",
        ],
    ]);
    let expected = [
        send(1, 3, 8, Some(0), Call::Startall),
        receive(Some(1), Some(4), 8, Some(1), Call::Startall),
        wait(&[0, 1], Call::Waitall),
        send(1, 3, 8, Some(2), Call::Start),
        wait(&[2], Call::Wait),
        wait(&[], Call::Wait),
    ];
    assert_eq!(calls(folder.path(), 0), expected);
}

#[test]
fn what_tests_found_is_waited_for_where_it_must_have_come() {
    let folder = write(&[
        vec![
            "MPI_Irecv:64:1:11,8,8:1:0:0,0,2:800",
            "MPI_Test:800:0:0",
            "MPI_Test:800:0:0",
            "MPI_Irecv:64:1:11,8,8:1:1:0,0,2:800",
            "MPI_Irecv:64:1:11,8,8:1:2:0,0,2:808",
            "MPI_Testsome:2:800:0:0:0",
        ],
        vec![
            "MPI_Send:64:1:11,8,8:0:0:0,1,2",
            "MPI_Send:64:1:11,8,8:0:1:0,1,2",
            "MPI_Send:64:1:11,8,8:0:2:0,1,2",
        ],
    ]);
    let irecv = |tag, request| receive(Some(1), Some(tag), 8, Some(request), Call::Irecv);
    let expected = [
        irecv(0, 0),
        wait(&[], Call::Test),
        wait(&[], Call::Test),
        wait(&[0], Call::Test),
        irecv(1, 1),
        irecv(2, 2),
        wait(&[], Call::Testsome),
        wait(&[1, 2], Call::Test),
    ];
    assert_eq!(calls(folder.path(), 0), expected);
}

#[test]
fn one_of_several_needs_to_be_the_only_one() {
    let other = vec!["MPI_Send:64:1:11,8,8:0:0:0,1,2", "MPI_Send:64:1:11,8,8:0:0:0,1,2"];
    let mut own = vec!["MPI_Irecv:64:1:11,8,8:1:0:0,0,2:800", "MPI_Waitany:2:800:0:0"];
    let folder = write(&[own.clone(), other.clone()]);
    assert_eq!(calls(folder.path(), 0)[1], wait(&[0], Call::Waitany));
    own.insert(1, "MPI_Irecv:64:1:11,8,8:1:0:0,0,2:808");
    let folder = write(&[own, other]);
    assert_eq!(
        failure(folder.path()),
        "t-0.txt: rank 0: line 7: MPI_Waitany: waits for any of 2 open requests, and the format does not record \
         which completed"
    );
}

#[test]
fn collectives_with_what_each_rank_gives_and_takes() {
    // The call of each rank and its operation: collective, root, bytes, and bytes to and from each rank.
    type Case<'a> = (
        [&'a str; 2],
        Call,
        u32,
        [u64; 2],
        Option<[(&'a [u64], &'a [u64]); 2]>,
    );
    let cases: &[Case<'_>] = &[
        (
            ["MPI_Barrier:0,0,2", "MPI_Barrier:0,1,2"],
            Call::Barrier,
            0,
            [0, 0],
            None,
        ),
        (
            ["MPI_Bcast:9:3:1,4,4:1:0,0,2", "MPI_Bcast:9:3:1,4,4:1:0,1,2"],
            Call::Bcast,
            1,
            [12, 12],
            None,
        ),
        (
            [
                "MPI_Reduce:9:9:3:1,4,4:2:1:0,0,2",
                "MPI_Reduce:9:9:3:1,4,4:2:1:0,1,2",
            ],
            Call::Reduce,
            1,
            [12, 12],
            None,
        ),
        (
            [
                "MPI_Allreduce:9:9:3:1,4,4:2:0,0,2",
                "MPI_Allreduce:9:9:3:1,4,4:2:0,1,2",
            ],
            Call::Allreduce,
            0,
            [12, 12],
            None,
        ),
        (
            ["MPI_Scan:9:9:3:1,4,4:2:0,0,2", "MPI_Scan:9:9:3:1,4,4:2:0,1,2"],
            Call::Scan,
            0,
            [12, 12],
            None,
        ),
        (
            [
                "MPI_Allgather:9:0:1,4,4:9:5:1,4,4:0,0,2",
                "MPI_Allgather:9:5:1,4,4:9:5:1,4,4:0,1,2",
            ],
            Call::Allgather,
            0,
            [20, 20],
            None,
        ),
        (
            [
                "MPI_Alltoall:9:5:1,4,4:9:5:1,4,4:0,0,2",
                "MPI_Alltoall:9:5:1,4,4:9:5:1,4,4:0,1,2",
            ],
            Call::Alltoall,
            0,
            [20, 20],
            None,
        ),
        (
            [
                "MPI_Gather:1:0:0,0,0:9:5:1,4,4:0:0,0,2",
                "MPI_Gather:9:5:1,4,4:0:-7:1,-4,4:0:0,1,2",
            ],
            Call::Gather,
            0,
            [20, 20],
            None,
        ),
        (
            [
                "MPI_Scatter:9:5:1,4,4:1:0:0,0,0:0:0,0,2",
                "MPI_Scatter:0:-7:1,-4,4:9:5:1,4,4:0:0,1,2",
            ],
            Call::Scatter,
            0,
            [20, 20],
            None,
        ),
        (
            [
                "MPI_Reduce_scatter_block:9:9:3:1,4,4:2:0,0,2",
                "MPI_Reduce_scatter_block:9:9:3:1,4,4:2:0,1,2",
            ],
            Call::ReduceScatterBlock,
            0,
            [24, 24],
            None,
        ),
        (
            [
                "MPI_Reduce_scatter:9:9:8:1,2:1,4,4:2:0,0,2",
                "MPI_Reduce_scatter:9:9:8:1,2:1,4,4:2:0,1,2",
            ],
            Call::ReduceScatter,
            0,
            [12, 12],
            Some([(&[], &[4, 8]), (&[], &[4, 8])]),
        ),
        (
            [
                "MPI_Gatherv:1:0:0,0,0:9:8:1,2:8:0,1:1,4,4:0:0,0,2",
                "MPI_Gatherv:9:2:1,4,4:0:0:-5,7:0:3,3:1,4,4:0:0,1,2",
            ],
            Call::Gatherv,
            0,
            [4, 8],
            Some([(&[4], &[4, 8]), (&[8], &[])]),
        ),
        (
            [
                "MPI_Scatterv:9:8:1,2:8:0,1:1,4,4:9:1:1,4,4:0:0,0,2",
                "MPI_Scatterv:9:8:-5,7:8:0,1:1,4,4:9:2:1,4,4:0:0,1,2",
            ],
            Call::Scatterv,
            0,
            [4, 8],
            Some([(&[4, 8], &[4]), (&[], &[8])]),
        ),
        (
            [
                "MPI_Allgatherv:9:1:1,4,4:9:8:1,2:8:0,1:1,4,4:0,0,2",
                "MPI_Allgatherv:9:2:1,4,4:9:8:1,2:8:0,1:1,4,4:0,1,2",
            ],
            Call::Allgatherv,
            0,
            [6, 6],
            Some([(&[4], &[4, 8]), (&[8], &[4, 8])]),
        ),
        (
            [
                "MPI_Alltoallv:9:8:1,2:8:0,1:1,4,4:9:8:2,4:8:0,1:2,2,2:0,0,2",
                "MPI_Alltoallv:1:8:0,0:8:0,1:0,0,0:9:8:3,4:8:0,1:2,2,2:0,1,2",
            ],
            Call::Alltoallv,
            0,
            [6, 7],
            Some([(&[4, 8], &[4, 8]), (&[6, 8], &[6, 8])]),
        ),
    ];
    for (lines, call, root, bytes, counts) in cases {
        let folder = write(&[vec![lines[0]], vec![lines[1]]]);
        for rank in 0..2 {
            let expected = counts.map(|c| {
                let (sends, receives) = c[rank];
                Box::new(Counts {
                    sends: sends.to_vec(),
                    receives: receives.to_vec(),
                    ..Counts::default()
                })
            });
            let [
                Operation::Collective {
                    communicator: 0,
                    root: r,
                    bytes: b,
                    counts: c,
                    request: None,
                    call: k,
                    ..
                },
            ] = &calls(folder.path(), rank as u32)[..]
            else {
                panic!("{call:?}: one collective")
            };
            assert_eq!(
                (r, b, c, k),
                (root, &bytes[rank], &expected, call),
                "{call:?} of rank {rank}"
            );
        }
    }
}

/// Collectives of C in Open MPI, whose handles are addresses. `BUFFER` stands for the buffer that may be
/// `MPI_IN_PLACE`, `SENT` for the count that rank 0 sends to itself, and `COMM` for the communicator.
const OWN_PARTS: [&str; 8] = [
    "MPI_Allgather:BUFFER:SENT:1,4,4:9:1:1,4,4:COMM",
    "MPI_Alltoall:BUFFER:SENT:1,4,4:9:1:1,4,4:COMM",
    "MPI_Gather:BUFFER:SENT:1,4,4:9:1:1,4,4:0:COMM",
    "MPI_Scatter:9:1:1,4,4:BUFFER:SENT:1,4,4:0:COMM",
    "MPI_Gatherv:BUFFER:SENT:1,4,4:9:8:1,1:8:0,1:1,4,4:0:COMM",
    "MPI_Scatterv:9:8:1,1:8:0,1:1,4,4:BUFFER:SENT:1,4,4:0:COMM",
    "MPI_Allgatherv:BUFFER:SENT:1,4,4:9:8:1,1:8:0,1:1,4,4:COMM",
    "MPI_Alltoallv:BUFFER:8:SENT,1:8:0,1:1,4,4:9:8:1,1:8:0,1:1,4,4:COMM",
];

#[test]
fn a_rank_sends_to_itself_what_it_expects() {
    let line = |pattern: &str, buffer: &str, sent: &str, comm: &str, rank: u32| {
        let comm = format!("{comm},{rank},2");
        let call = pattern.replace("BUFFER", buffer).replace("SENT", sent);
        call.replace("COMM", &comm)
    };
    let write_both = |pattern: &str, buffer: &str, sent: &str, comm: &str| {
        let lines = [0, 1].map(|rank| line(pattern, buffer, sent, comm, rank));
        write(&lines.each_ref().map(|line| vec![line.as_str()]))
    };
    const C: &str = "140737353975808";
    for pattern in OWN_PARTS {
        let name = pattern.split(':').next().unwrap();
        let (sent, received) = match name.starts_with("MPI_Scatter") {
            true => (4, 12),
            false => (12, 4),
        };
        let text = failure(write_both(pattern, "4096", "3", C).path());
        let expected = format!(
            "t-0.txt: rank 0: line 5: {name}: rank 0 of the communicator sends {sent} B to itself and expects \
             {received} B from itself; MPI requires equal sizes"
        );
        assert_eq!(text, expected);
        // Equal sizes; MPI_IN_PLACE of Open MPI; Fortran and MPICH, where the trace does not tell.
        for (buffer, sent, comm) in [
            ("4096", "1", C),
            ("1", "3", C),
            ("4096", "3", "0"),
            ("4096", "3", "1140850688"),
        ] {
            let folder = write_both(pattern, buffer, sent, comm);
            assert_eq!(calls(folder.path(), 0).len(), 1, "{name} {buffer} {sent} {comm}");
        }
    }
}

#[test]
fn reductions_are_known_where_their_handles_are_numbers() {
    for (operation, comm, expected) in [
        ("3", "0", Some(Reduction::Sum)),
        ("11", "0", Some(Reduction::Maxloc)),
        ("99", "0", None),
        ("1476395012", "1140850688", Some(Reduction::Prod)),
        ("-1744830464", "1140850688", None),
        ("-9223372036854775808", "1140850688", None),
        ("140737353975809", "140737353975808", None),
    ] {
        let lines = [0, 1].map(|rank| format!("MPI_Allreduce:9:9:1:1,4,4:{operation}:{comm},{rank},2"));
        let folder = write(&lines.each_ref().map(|line| vec![line.as_str()]));
        let [Operation::Collective { reduction, .. }] = &calls(folder.path(), 0)[..] else {
            panic!("one collective")
        };
        assert_eq!(*reduction, expected, "{operation} {comm}");
    }
}

#[test]
fn duplicates_of_a_communicator_are_a_limit() {
    let limit = |second: &str| {
        let lines = [0, 1].map(|rank| {
            let world = format!("MPI_Barrier:0,{rank},2");
            [world, second.replace("RANK", &rank.to_string())]
        });
        let ranks = lines
            .each_ref()
            .map(|lines| lines.each_ref().map(String::as_str).to_vec());
        crate::open(write(&ranks).path()).unwrap().matching_limit()
    };
    assert_eq!(limit("MPI_Barrier:0,RANK,2"), None);
    assert!(limit("MPI_Barrier:7,RANK,2").is_some());
}

#[test]
fn collectives_beside_the_program() {
    let lines = |rank| {
        [
            format!("MPI_Iallreduce:9:9:3:1,4,4:2:0,{rank},2:800"),
            "MPI_Wait:800:0".to_string(),
        ]
    };
    let texts = [lines(0), lines(1)];
    let ranks = texts.each_ref().map(|t| t.iter().map(String::as_str).collect());
    let folder = write(&ranks);
    let [
        Operation::Collective {
            collective,
            request: Some(0),
            bytes: 12,
            call: Call::Iallreduce,
            ..
        },
        second,
    ] = &calls(folder.path(), 1)[..]
    else {
        panic!("a collective and a wait")
    };
    assert_eq!(
        (*collective, second),
        (Collective::Allreduce, &wait(&[0], Call::Wait))
    );
}

/// Ranks in a grid of two rows of two: calls that create rows and columns, and a use of each. `before` tells
/// whether a handle is used before the next one is created.
fn grid(before: bool) -> TempDir {
    let texts: Vec<Vec<String>> = (0..4)
        .map(|rank| {
            let (row, column) = (rank / 2, rank % 2);
            let use_ = |handle: u32, own: u32| format!("MPI_Allreduce:9:9:1:1,4,4:2:{handle},{own},2");
            let mut calls = vec![
                format!("MPI_Comm_split:0,{rank},4:{row}:{column}:640"),
                use_(3, column),
                format!("MPI_Comm_split:0,{rank},4:{column}:{row}:648"),
                use_(4, row),
                format!("MPI_Send:64:1:11,8,8:{}:0:4,{row},2", 1 - row),
                format!("MPI_Recv:64:1:11,8,8:{}:0:4,{row},2:0", 1 - row),
                // MPI_COMM_SELF, and a copy of MPI_COMM_WORLD.
                "MPI_Barrier:1,0,1".to_string(),
                format!("MPI_Barrier:7,{rank},4"),
            ];
            if !before {
                calls.swap(1, 2);
            }
            calls
        })
        .collect();
    let ranks: Vec<Vec<&str>> = texts
        .iter()
        .map(|t| t.iter().map(String::as_str).collect())
        .collect();
    write(&ranks)
}

#[test]
fn rows_and_columns_of_a_grid() {
    let folder = grid(true);
    let workload = crate::open(folder.path()).unwrap();
    let groups = workload.communicators();
    let used = |rank: u32| -> Vec<Vec<u32>> {
        let of = calls(folder.path(), rank);
        let of = of.iter().filter_map(|o| match o {
            Operation::Collective {
                communicator, call, ..
            } if !matches!(call, Call::CommSplit) => Some(*communicator),
            Operation::Send { communicator, .. } => Some(*communicator),
            _ => None,
        });
        of.map(|c| groups[c as usize].clone()).collect()
    };
    assert_eq!(used(0), [vec![0, 1], vec![0, 2], vec![0, 2], vec![0, 1, 2, 3]]);
    assert_eq!(used(3), [vec![2, 3], vec![1, 3], vec![1, 3], vec![0, 1, 2, 3]]);
    let info = crate::info(folder.path()).unwrap();
    let sizes: Vec<_> = info.communicators.iter().map(|c| (c.ranks, c.count)).collect();
    assert_eq!(sizes, [(4, 1), (2, 4)]);
    assert_eq!(info.collectives["allreduce"].calls, 8);
    assert_eq!(info.collectives["barrier"].calls, 4);
}

#[test]
fn handles_that_may_mean_several_communicators_are_errors() {
    // Copies have their own handles: 4 may be the copy of the row or of the column.
    let copied = [
        "MPI_Comm_split:0,0,1:0:0:640",
        "MPI_Comm_dup:0,0,1:648",
        "MPI_Barrier:5,0,1",
    ];
    assert_eq!(calls(write(&[copied.to_vec()]).path(), 0).len(), 4);
    assert_eq!(
        failure(grid(false).path()),
        "t-0.txt: rank 0: line 7: MPI_Allreduce: communicator 3 of 2 ranks, in which this is rank 0: the rank has made \
         several like it, and the format does not record which handle is which"
    );
    let made = |call: &str| {
        let own = vec![call, "MPI_Barrier:5,0,2"];
        failure(write(&[own, vec!["MPI_Barrier:0,1,3"], vec!["MPI_Barrier:0,2,3"]]).path())
    };
    let text = made("MPI_Comm_create:0,0,3:77:640");
    assert!(
        text.ends_with(
            "line 6: MPI_Barrier: communicator 5 of 2 ranks, in which this is rank 0: it may be the one that line 5: \
             MPI_Comm_create made, whose members the format does not record"
        ),
        "{text}"
    );
    let text = made("MPI_Wtime");
    assert!(
        text.ends_with("in which this is rank 0: the format does not record its members"),
        "{text}"
    );
    let text = made("MPI_Comm_split:0,0,3:0:0:640");
    assert!(
        text.ends_with(
            "rank 0: line 5: MPI_Comm_split: makes a communicator together with 3 ranks, but rank 1 makes no such call"
        ),
        "{text}"
    );
}

#[test]
fn wrong_calls_are_named_with_file_rank_and_line() {
    for (call, expected) in [
        (
            "MPI_Nonsense:1:2",
            "line 5: MPI_Nonsense: this reader does not know the function",
        ),
        (
            "hello",
            "line 5: expected a call, as 'MPI_Send:...', or a comment; found 'hello'",
        ),
        (
            "MPI_Win_fence:1:2",
            "line 5: MPI_Win_fence: one-sided communication is not supported",
        ),
        (
            "MPI_Cancel:800",
            "line 5: MPI_Cancel: the format does not record whether it came in time",
        ),
        (
            "MPI_Send:64:1:11,8,8:1:7",
            "line 5: MPI_Send: expected 6 arguments, found 5",
        ),
        (
            "MPI_Send:64:x:11,8,8:1:7:0,0,2",
            "line 5: MPI_Send: expected a number, found 'x'",
        ),
        (
            "MPI_Send:64:1:11:1:7:0,0,2",
            "line 5: MPI_Send: expected a datatype as number,size,extent, found '11'",
        ),
        (
            "MPI_Send:64:1:11,8,8:1:7:0",
            "line 5: MPI_Send: expected a communicator as handle,rank,size, found '0'",
        ),
        (
            "MPI_Send:64:1:11,8,8:1:7:0,2,2",
            "line 5: MPI_Send: expected a communicator as handle,rank,size, found '0,2,2'",
        ),
        (
            "MPI_Send:64:1:11,8,8:1:7:0,1,2",
            "line 5: MPI_Send: communicator 0 of 2 ranks, in which this is rank 1: but the file's name says 0",
        ),
        (
            "MPI_Send:64:1:11,8,8:2:7:0,0,2",
            "line 5: MPI_Send: send to rank 2, which a communicator of 2 ranks does not have",
        ),
        (
            "MPI_Send:64:-1:11,8,8:1:7:0,0,2",
            "line 5: MPI_Send: -1 elements of 8 bytes",
        ),
        ("MPI_Send:64:1:11,8,8:1:-7:0,0,2", "line 5: MPI_Send: tag -7"),
        (
            "MPI_Recv:64:1:11,8,8:1:7:0,0,2:0",
            "line 5: MPI_Recv: the last of 1 receives from rank 1 with tag 7 that nothing is sent to",
        ),
        (
            "MPI_Recv:64:1:11,8,8:-1:7:0,0,2:0",
            "line 5: MPI_Recv: the last of 1 receives from any source or with any tag, for which only 0 messages are left",
        ),
        (
            "MPI_Start:800",
            "line 5: MPI_Start: request 800 is started, but no recorded call makes it",
        ),
        (
            "MPI_Startall:2:800",
            "line 5: MPI_Startall: starts 2 requests, but recorded calls have made 0 of them",
        ),
        ("MPI_Waitall:-1:800:0", "line 5: MPI_Waitall: a count of -1"),
        (
            "MPI_Bcast:9:3:1,4,4:2:0,0,2",
            "line 5: MPI_Bcast: root 2, which a communicator of 2 ranks does not have",
        ),
        (
            "MPI_Reduce_scatter:9:9:8:1,4,4:2:0,0,2",
            "line 5: MPI_Reduce_scatter: the counts of the ranks are not in the trace",
        ),
        (
            "MPI_Reduce_scatter:9:9:8:1,2,3:1,4,4:2:0,0,2",
            "line 5: MPI_Reduce_scatter: 3 counts on a communicator of 2 ranks",
        ),
    ] {
        let text = wrong(call);
        let expected = format!("t-0.txt: rank 0: {expected}");
        assert!(text.starts_with(&expected), "{text}\nexpected: {expected}");
    }
    assert_eq!(
        wrong("MPI_Barrier:0,0,2"),
        "t-1.txt: rank 1: line 1: no collective: the last of 0 collectives on a communicator of 2 ranks, but rank 0 calls 1"
    );
    assert_eq!(
        wrong("MPI_Barrier:0,0,3"),
        "t-2.txt: rank 2: this file of the trace is missing; copy the trace again, with all its files (its calls name 3 ranks)"
    );
}

#[test]
fn broken_files_are_named() {
    let whole = text(&["MPI_Barrier:0,0,2"]);
    let other = text(&["MPI_Barrier:0,1,2"]);
    let broken = |content: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("t-0.txt"), content).unwrap();
        fs::write(folder.path().join("t-1.txt"), &other).unwrap();
        failure(folder.path())
    };
    let no_end = whole.replace("MPI_Finalize", "# MPI_Finalize");
    assert!(broken(&no_end).starts_with("t-0.txt: rank 0: line 7: the file ends here without MPI_Finalize"));
    assert!(
        broken(whole.trim_end()).starts_with("t-0.txt: rank 0: line 7: the file is cut off in this line")
    );
    let middle = &whole[..whole.find("Barrier:").unwrap() + 12];
    assert!(broken(middle).starts_with("t-0.txt: rank 0: line 5: the file is cut off in this line"));
    let more = format!("{whole}MPI_Barrier:1.0:0,0,2:2.0\n");
    assert!(broken(&more).starts_with("t-0.txt: rank 0: line 8: MPI_Barrier after MPI_Finalize"));
    let time = whole.replace("1001.000000", "soon");
    assert!(broken(&time).starts_with(
        "t-0.txt: rank 0: line 5: MPI_Barrier: expected the start of the call in microseconds, found 'soon'"
    ));
    let late = whole.replace("1001.000000", "99999999991001.000000");
    assert!(broken(&late).contains("line 5: MPI_Barrier: begins more than 200 days after the call before"));
    // A missing file, and two files of one rank.
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t-0.txt"), &whole).unwrap();
    fs::write(folder.path().join("t-2.txt"), &other).unwrap();
    assert!(failure(folder.path()).starts_with("t-1.txt: rank 1: this file of the trace is missing"));
    fs::write(folder.path().join("t-01.txt"), &other).unwrap();
    fs::write(folder.path().join("t-1.txt"), &other).unwrap();
    assert!(failure(folder.path()).contains("for the same rank, too"));
}

#[test]
fn a_trace_opens_by_its_folder_and_by_any_file_of_it() {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..11 {
        let content = text(&[&format!("MPI_Barrier:0,{rank},11")]);
        fs::write(folder.path().join(format!("my-trace-{rank:02}.txt")), content).unwrap();
    }
    fs::write(folder.path().join("notes-0.txt"), "# by hand\n").unwrap();
    let strip = |path: &Path| {
        let mut info: TraceInfo = crate::info(path).unwrap();
        info.file = String::new();
        info
    };
    let by_folder = strip(folder.path());
    assert_eq!((by_folder.ranks, &*by_folder.format), (11, "liballprof"));
    for file in ["my-trace-00.txt", "my-trace-07.txt"] {
        assert_eq!(strip(&folder.path().join(file)), by_folder);
    }
    let renamed = folder.path().join("first.txt");
    fs::copy(folder.path().join("my-trace-00.txt"), &renamed).unwrap();
    assert!(failure(&renamed).contains("not called NAME-0.txt with the rank in its name"));
}

#[test]
fn the_clock_of_a_rank_may_step_back() {
    let folder = write(&[vec!["MPI_Wtime"]]);
    let file = folder.path().join("t-0.txt");
    let content = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        content
            .replace("1001.000000", "3.5")
            .replace("1003.000000", "5.25"),
    )
    .unwrap();
    let compute = Operation::Compute {
        ps: (1004 * 1_000_000) - 5_250_000,
        region: None,
    };
    assert_eq!(operations(folder.path(), 0), [compute]);
    let notes = crate::info(folder.path()).unwrap().notes;
    assert!(
        notes[1].starts_with("1 calls begin before the one before has ended"),
        "{notes:?}"
    );
}

#[test]
fn long_files_stream() {
    let send = "MPI_Send:64:1:11,8,8:0:7:0,0,1";
    let receive = "MPI_Recv:64:1:11,8,8:0:7:0,0,1:0";
    let folder = write(&[[send, receive].repeat(20_000)]);
    let file = folder.path().join("t-0.txt");
    let mut cursor = LineCursor::new(Arc::new(AllprofFile { path: file, rank: 0 }));
    let (mut calls, mut most) = (0, 0);
    while cursor.next().unwrap().is_some() {
        calls += 1;
        most = most.max(cursor.memory());
    }
    assert_eq!(calls, 40_002);
    assert!(most < 64 << 10, "{most} bytes in memory");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Changed, dropped or doubled bytes give an error or programs, never a panic.
    #[test]
    fn mangled_traces_end(at in 0usize..2000, length in 0usize..40, with in "[:,0-9a-zA-Z\n_-]{0,12}") {
        let mut content = text(&[
            "MPI_Comm_split:0,0,2:0:0:640",
            "MPI_Irecv:64:1:11,8,8:1:0:0,0,2:800",
            "MPI_Isend:64:1:11,8,8:1:0:3,0,2:808",
            "MPI_Test:800:0:0",
            "MPI_Waitall:2:800:0",
            "MPI_Send_init:64:1:11,8,8:-2:3:0,0,2:816",
            "MPI_Start:816",
            "MPI_Alltoallv:9:8:1,2:8:0,1:1,4,4:9:8:3,4:8:0,1:2,2,2:3,0,2",
            "MPI_Gatherv:1:0:0,0,0:9:8:1,2:8:0,1:1,4,4:0:0,0,2",
            "MPI_Comm_free:640",
        ]);
        let at = at % content.len();
        let end = (at + length).min(content.len());
        content.replace_range(at..end, &with);
        let folder = write(&[vec![], vec![
            "MPI_Comm_split:0,1,2:0:0:640",
            "MPI_Send:64:1:11,8,8:0:0:0,1,2",
            "MPI_Recv:64:1:11,8,8:0:0:3,1,2:0",
            "MPI_Alltoallv:9:8:1,2:8:0,1:1,4,4:9:8:3,4:8:0,1:2,2,2:3,1,2",
            "MPI_Gatherv:9:2:1,4,4:0:0:-5,7:0:3,3:1,4,4:0:0,1,2",
        ]]);
        fs::write(folder.path().join("t-0.txt"), content).unwrap();
        if let Ok(workload) = crate::open(folder.path()) {
            for rank in 0..workload.ranks() {
                let mut program = workload.program(rank).unwrap();
                while program.next().unwrap().is_some() {}
            }
        }
    }
}

#[test]
fn a_gap_of_a_damaged_time_is_found() {
    let folder = write(&[vec!["MPI_Barrier:0,0,1", "MPI_Barrier:0,0,1"]]);
    let file = folder.path().join("t-0.txt");
    let damaged = fs::read_to_string(&file)
        .unwrap()
        .replace("MPI_Barrier:1004.", "MPI_Barrier:90001004.");
    fs::write(&file, damaged).unwrap();
    let workload = crate::open(folder.path()).unwrap();
    let mut program = workload.program(0).unwrap();
    while program.next().unwrap().is_some() {}
    let recording = program.recording().unwrap();
    let (gap, span) = (recording.longest_gap, recording.span_ps);
    assert_eq!((gap.at_ps, gap.ps), (3_000_000, 90_000_001_000_000));
    assert_eq!(span, 90_000_004_000_000);
}
