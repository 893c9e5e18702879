//! Recorded BigSim traces. The expected numbers are those of another reader, which accounts for every byte.

use std::path::{Path, PathBuf};

use fabricsim_workload::{BigsimInfo, BigsimReplayInfo, TraceInfo, info, open};

/// A trace that only some machines have.
fn recorded(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/bigsim")
        .join(name);
    if !folder.is_dir() {
        testkit::skipped!("{} is not there", folder.display());
        return None;
    }
    Some(folder)
}

fn bigsim(info: &TraceInfo) -> &BigsimInfo {
    info.bigsim.as_ref().expect("a BigSim trace")
}

#[test]
fn totals_are_those_of_the_other_reader() {
    let expected = [
        (
            "traceJ0",
            (64, [4, 4, 4], 8),
            (13_910, 2_552, 571_472),
            (3_794, 13_250),
            (46_753_645, 2_831_648),
            [1_280, 320, 3_075],
            (11_243, 2_027, 1_343, 415_328),
        ),
        (
            "traceJ1",
            (32, [2, 4, 4], 4),
            (6_941, 1_279, 368_800),
            (1_881, 6_626),
            (22_339_106, 2_294_038),
            [640, 160, 1_539],
            (5_616, 1_008, 671, 289_376),
        ),
    ];
    for (name, machine, (logs, sends, bytes), (started, dependences), times, names, replayed) in expected {
        let Some(folder) = recorded(name) else { return };
        let info = info(&folder).unwrap_or_else(|e| panic!("{e}"));
        let of = bigsim(&info);
        assert_eq!((info.ranks, of.grid, of.files), machine);
        assert_eq!((of.version, of.threads, of.broadcasts, of.events), (6, 1, 20, 0));
        assert_eq!((of.logs, of.sends, info.messages.bytes), (logs, sends, bytes));
        assert_eq!(
            (of.started_by_messages, of.before, of.after),
            (started, dependences, dependences)
        );
        // Each log is rounded to a picosecond, and the expected sums to a nanosecond.
        let (computed, span) = times;
        assert!(
            info.compute_ps.abs_diff(computed * 1000) <= logs / 2 + 500,
            "{}",
            info.compute_ps
        );
        assert!(info.span_ps.abs_diff(span * 1000) <= 500, "{}", info.span_ps);
        let [posted, sent, user] = names;
        for (log, count) in [
            ("AMPI_Irecv", posted),
            ("AMPI_Send", posted),
            ("AMPI_SEND", posted),
            ("AMPI_Waitall", sent),
            ("user_code", user),
        ] {
            assert_eq!(of.logs_by_name[log], count, "{log}");
        }
        let (logs, sends, messages, bytes) = replayed;
        let expected = BigsimReplayInfo {
            start: Some([0, 81]),
            logs,
            sends,
            messages,
            bytes,
        };
        assert_eq!(of.replay.as_ref(), Some(&expected));
        let workload = open(&folder).unwrap();
        assert_eq!(workload.ranks(), info.ranks);
        assert_eq!(workload.regions().len(), of.logs_by_name.len());
    }
}
