//! Summarises a trace.

use std::collections::BTreeMap;
use std::path::Path;

use super::log::BigsimMessage;
use super::replay::BigsimReplay;
use super::timelines::BigsimTimelines;
use crate::info::{BigsimInfo, BigsimReplayInfo, CommunicatorInfo, MessageInfo};
use crate::{MpiTimes, TraceError, TraceInfo};

/// Summarises a trace.
///
/// # Errors
/// A file is missing or damaged. That a trace cannot be replayed is a note.
pub fn info(main: &Path) -> Result<TraceInfo, TraceError> {
    let timelines = BigsimTimelines::read(main)?;
    let mut info = counts(&timelines);
    match BigsimReplay::new(timelines) {
        Ok(replay) => {
            let bigsim = info.bigsim.as_mut();
            bigsim
                .into_iter()
                .for_each(|bigsim| bigsim.replay = Some(replayed(&replay)));
        }
        Err(error) => info.notes.push(format!("cannot be replayed: {error}")),
    }
    Ok(info)
}

fn counts(timelines: &BigsimTimelines) -> TraceInfo {
    let (machine, totals) = (&timelines.machine, &timelines.totals);
    let logs: u64 = totals.by_name.iter().sum();
    let messages = MessageInfo::from_sizes(&totals.sizes);
    let all_ps = totals.end_ps.saturating_mul(machine.pes.into());
    let names = timelines.names.iter().cloned();
    TraceInfo {
        file: timelines.main.display().to_string(),
        format: super::FORMAT.name.into(),
        ranks: machine.pes,
        span_ps: totals.end_ps,
        mpi: MpiTimes::default(),
        compute_ps: totals.exec_ps,
        compute_share: totals.exec_ps as f64 / all_ps.max(1) as f64,
        events: logs,
        mpi_calls: 0,
        mpi_calls_by_name: BTreeMap::new(),
        collectives: BTreeMap::new(),
        communicators: CommunicatorInfo::by_size([machine.pes]),
        bigsim: Some(BigsimInfo {
            grid: machine.grid,
            threads: machine.threads,
            files: machine.files,
            version: machine.version,
            logs,
            sends: messages.count,
            broadcasts: totals.broadcasts,
            started_by_messages: totals.started,
            before: totals.before,
            after: totals.after,
            events: totals.events,
            logs_by_name: names.zip(totals.by_name.iter().copied()).collect(),
            replay: None,
        }),
        messages,
        notes: vec!["a broadcast is one message here, and one to each PE in the replay".into()],
    }
}

fn replayed(replay: &BigsimReplay) -> BigsimReplayInfo {
    let mut info = BigsimReplayInfo {
        start: replay.start.map(|BigsimMessage { from, id }| [from, id]),
        ..BigsimReplayInfo::default()
    };
    for (timeline, pe) in replay.timelines.pes.iter().zip(&replay.pes) {
        let logs = pe.first..timeline.logs.len() as u32;
        info.logs += logs.len() as u64;
        info.sends += logs.map(|log| timeline.sends(log).len() as u64).sum::<u64>();
        info.messages += pe.messages;
        info.bytes = info.bytes.saturating_add(pe.bytes);
    }
    info
}
