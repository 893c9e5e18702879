//! Windows of a small recording: what each rank replays, and what is refused.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use config::Section;
use tempfile::TempDir;

use crate::mpi_calls::tests::{receive, send, wait};
use crate::{Call, Collective, CutOperations, Operation, Recording, Workload};

/// A rank's file of liballprof. `MPI_Init` is call 1 and ends at 0 us; each of these calls starts 1 us after the end of
/// the previous one and takes 2 us.
fn text(calls: &[&str]) -> String {
    let mut text = "# collprof 0.9 output file\nMPI_Init:-:1:2:1000.000000\n".to_string();
    let mut time = 1000;
    for call in calls {
        let (name, arguments) = call.split_once(':').unwrap_or((call, ""));
        let (start, end) = (time + 1, time + 3);
        text += &format!("{name}:{start}.000000:{arguments}:{end}.000000\n");
        time = end;
    }
    text + &format!("MPI_Finalize:{}.000000:-\n", time + 1)
}

/// Two ranks whose barriers and messages are at other call numbers: rank 1 makes one local call before.
fn recording() -> TempDir {
    let ranks = [
        [
            "MPI_Barrier:0,0,2",
            "MPI_Isend:64:1:11,8,8:1:1:0,0,2:1600",
            "MPI_Send:64:1:11,8,8:1:2:0,0,2",
            "MPI_Barrier:0,0,2",
            "MPI_Wait:1600:0",
            "MPI_Send:64:1:11,8,8:1:2:0,0,2",
            "MPI_Barrier:0,0,2",
        ],
        [
            "MPI_Comm_size:0,1,2:99",
            "MPI_Barrier:0,1,2",
            "MPI_Recv:64:1:11,8,8:0:1:0,1,2:0",
            "MPI_Recv:64:1:11,8,8:0:2:0,1,2:0",
            "MPI_Barrier:0,1,2",
            "MPI_Recv:64:1:11,8,8:0:2:0,1,2:0",
            "MPI_Barrier:0,1,2",
        ],
    ];
    let folder = tempfile::tempdir().unwrap();
    for (rank, calls) in ranks.iter().enumerate() {
        fs::write(folder.path().join(format!("t-{rank}.txt")), text(calls)).unwrap();
    }
    folder
}

/// Reads the table `workload` with this window, and refuses unknown keys.
fn open(folder: &Path, window: &str) -> Result<Arc<dyn Workload>, String> {
    let text = format!("liballprof = {:?}\n{window}\n", folder.display().to_string());
    let section = Section::from_toml(&text, "x.toml").unwrap();
    let workload = crate::read(&section, Path::new("/"), &[]).map_err(|e| e.to_string())?;
    section.finish().map_err(|e| e.to_string())?;
    Ok(workload)
}

/// All operations of a rank, and what its recording tells.
fn program(workload: &dyn Workload, rank: u32) -> (Vec<Operation>, Recording) {
    let mut program = workload.program(rank).unwrap();
    let operations = std::iter::from_fn(|| program.next().unwrap()).collect();
    (operations, program.recording().unwrap().clone())
}

/// The operations of each rank without computation, and what is left out.
fn replayed(window: &str) -> [(Vec<Operation>, CutOperations); 2] {
    let folder = recording();
    let workload = open(folder.path(), window).unwrap_or_else(|e| panic!("{e}"));
    [0, 1].map(|rank| {
        let (operations, recording) = program(&*workload, rank);
        let calls = operations.into_iter();
        let calls = calls.filter(|operation| !matches!(operation, Operation::Compute { .. }));
        (calls.collect(), recording.cut.expect("a selected window"))
    })
}

/// The error of a window, without the folder of the recording.
fn refused(window: &str) -> String {
    let folder = recording();
    let message = open(folder.path(), window).map(|_| ()).unwrap_err();
    message.replace(&format!("{}/", folder.path().display()), "")
}

fn barrier() -> Operation {
    Operation::Collective {
        collective: Collective::Barrier,
        communicator: 0,
        root: 0,
        bytes: 0,
        counts: None,
        request: None,
        reduction: None,
        call: Call::Barrier,
    }
}

fn to_one(tag: u32) -> Operation {
    send(1, tag, 8, None, Call::Send)
}

fn from_zero(tag: u32) -> Operation {
    receive(Some(0), Some(tag), 8, None, Call::Recv)
}

const NOTHING: CutOperations = CutOperations {
    sends: 0,
    receives: 0,
    collectives: 0,
    transfers: 0,
    requests: 0,
};

#[test]
fn a_message_whose_send_is_outside_is_not_received() {
    let [(zero, cut_zero), (one, cut_one)] = replayed("window = { kind = \"calls\", start = 4, end = 8 }");
    assert_eq!(zero, [to_one(2), barrier(), wait(&[], Call::Wait), to_one(2)]);
    assert_eq!(
        cut_zero,
        CutOperations {
            requests: 1,
            ..NOTHING
        }
    );
    assert_eq!(one, [from_zero(2), barrier(), from_zero(2)]);
    assert_eq!(
        cut_one,
        CutOperations {
            receives: 1,
            ..NOTHING
        }
    );
}

/// The request of the kept send is completed outside, and the window waits for it.
#[test]
fn sends_and_collectives_without_their_partners_are_left_out() {
    let [(zero, cut_zero), (one, cut_one)] = replayed("window = { kind = \"calls\", start = 3, end = 5 }");
    let isend = send(1, 1, 8, Some(0), Call::Isend);
    assert_eq!(zero, [isend, wait(&[0], Call::Other)]);
    assert_eq!(cut_zero, CutOperations { sends: 1, ..NOTHING });
    assert_eq!(one, [from_zero(1)]);
    assert_eq!(
        cut_one,
        CutOperations {
            collectives: 1,
            ..NOTHING
        }
    );
}

#[test]
fn from_an_entry_of_a_function_to_another_one() {
    let window = "window = { kind = \"iterations\", region = \"MPI_Barrier\", start = 2, end = 3 }";
    let [(zero, cut_zero), (one, cut_one)] = replayed(window);
    assert_eq!(zero, [barrier(), wait(&[], Call::Wait), to_one(2)]);
    assert_eq!(one, [barrier(), from_zero(2)]);
    assert_eq!((cut_zero.requests, cut_one), (1, NOTHING));
}

#[test]
fn from_the_first_entry_to_the_last_exit() {
    let [(zero, _), (one, cut)] = replayed("window = { kind = \"region\", region = \"MPI_Barrier\" }");
    assert_eq!((zero.len(), one.len(), cut), (7, 6, NOTHING));
    let [(zero, _), (one, _)] = replayed("window = { kind = \"calls\", start = 8 }");
    // Of rank 1, the last barrier is call 8, too.
    assert_eq!((zero, one), (vec![barrier()], vec![barrier()]));
}

#[test]
fn computation_at_the_border_of_a_time_is_cut_in_two() {
    let folder = recording();
    let window = "window = { kind = \"time\", start = \"3250 ns\", end = \"8500 ns\" }";
    let workload = open(folder.path(), window).unwrap();
    let (operations, recording) = program(&*workload, 0);
    let compute = |ps| Operation::Compute { ps, region: None };
    let isend = send(1, 1, 8, Some(0), Call::Isend);
    let expected = [
        compute(750_000),
        isend,
        compute(1_000_000),
        wait(&[0], Call::Other),
    ];
    assert_eq!(operations, expected);
    // The recording ends when MPI_Finalize begins, after 22 us.
    assert_eq!(
        (recording.span_ps, recording.outside_ps()),
        (22_000_000, 16_750_000)
    );
}

#[test]
fn everything_and_the_default_leave_out_no_operation() {
    let folder = recording();
    let default = open(folder.path(), "").unwrap();
    for window in ["window = { kind = \"mpi\" }", "window = { kind = \"all\" }"] {
        let other = open(folder.path(), window).unwrap();
        for rank in 0..2 {
            assert_eq!(program(&*other, rank).0, program(&*default, rank).0);
            assert_eq!(program(&*other, rank).1.cut, None);
        }
    }
}

#[test]
fn wrong_keys_are_answered_with_their_line() {
    for (window, message) in [
        (
            "kind = \"timing\"",
            "x.toml:2: window.kind: unknown name 'timing'",
        ),
        (
            "kind = \"time\"",
            "x.toml:2: window.start: missing; kind = \"time\" needs start, end or both",
        ),
        (
            "kind = \"time\", start = \"2 us\", end = \"1 us\"",
            "x.toml:2: window.end: the window is empty: its end must be after its start (the end is outside)",
        ),
        (
            "kind = \"calls\", start = 3, end = 3",
            "x.toml:2: window.end: the window is empty: its end must be after its start (the end is outside)",
        ),
        (
            "kind = \"calls\", start = 0",
            "x.toml:2: window.start: 0 is too small; calls and entries are numbered from 1",
        ),
        (
            "kind = \"all\", start = 1",
            "x.toml:2: window.start: does not belong to kind = \"all\"; remove it",
        ),
        ("kind = \"region\"", "x.toml:2: window.region: missing; expected"),
        ("kind = \"all\", stop = 1", "x.toml:2: window.stop: unknown key"),
    ] {
        let found = refused(&format!("window = {{ {window} }}"));
        assert!(found.starts_with(message), "{found}");
    }
}

#[test]
fn windows_that_the_recording_lacks_name_file_and_rank() {
    for (window, message) in [
        (
            "kind = \"calls\", start = 12",
            "x.toml:2: window: t-0.txt: rank 0: makes 9 MPI calls, but the window has start = 12; choose at most 9",
        ),
        (
            "kind = \"calls\", start = 2, end = 11",
            "x.toml:2: window: t-0.txt: rank 0: makes 9 MPI calls, but the window has end = 11; choose at most 10",
        ),
        (
            "kind = \"time\", start = \"1 ms\"",
            "x.toml:2: window: t-0.txt: the window holds no MPI call of any rank; choose a longer one within the recording \
             (`fabricsim trace info` shows its length)",
        ),
        (
            "kind = \"region\", region = \"solve\"",
            "x.toml:2: window: t-0.txt: the format records the names of MPI functions only, not region 'solve' of the code; \
             give an MPI function, such as MPI_Pcontrol, or choose a window by calls or by time",
        ),
        (
            "kind = \"region\", region = \"MPI_Comm_size\"",
            "x.toml:2: window: t-0.txt: rank 0: never enters region 'MPI_Comm_size', so that the window is unknown",
        ),
        (
            "kind = \"iterations\", region = \"MPI_Barrier\", start = 2, end = 4",
            "x.toml:2: window: t-0.txt: rank 0: enters region 'MPI_Barrier' 3 times, but the window has end = 4; choose at \
             most 3",
        ),
    ] {
        assert_eq!(refused(&format!("window = {{ {window} }}")), message);
    }
}

/// Its message may have been sent before the window or in it.
#[test]
fn receives_from_any_source_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ranks = [
        vec!["MPI_Send:64:1:11,8,8:1:2:0,0,2"],
        vec!["MPI_Recv:64:1:11,8,8:-1:2:0,1,2:0"],
    ];
    for (rank, calls) in ranks.iter().enumerate() {
        fs::write(folder.path().join(format!("t-{rank}.txt")), text(calls)).unwrap();
    }
    let message = open(folder.path(), "window = { kind = \"calls\", start = 2 }")
        .map(|_| ())
        .unwrap_err();
    assert_eq!(
        message.replace(&format!("{}/", folder.path().display()), ""),
        "x.toml:2: window: t-1.txt: rank 1: MPI_Recv takes a message from any source or with any tag, and the recording does \
         not tell which one, so that a window cannot tell which messages cross its border; choose kind = \"mpi\" or \"all\""
    );
    assert!(open(folder.path(), "window = { kind = \"all\" }").is_ok());
}

/// A schedule of GOAL has neither calls nor times.
#[test]
fn schedules_have_no_window() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces/goal-ring-6/ring.goal");
    let open = |window: &str| {
        let text = format!("goal = {:?}\n{window}\n", folder.display().to_string());
        let section = Section::from_toml(&text, "x.toml").unwrap();
        crate::read(&section, Path::new("/"), &[])
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    assert_eq!(open(""), Ok(()));
    for window in [
        "window = { kind = \"all\" }",
        "window = { kind = \"calls\", start = 2 }",
    ] {
        assert_eq!(
            open(window).unwrap_err(),
            "x.toml:2: window: a schedule has no calls, times and regions of a recording; remove the window"
        );
    }
}
