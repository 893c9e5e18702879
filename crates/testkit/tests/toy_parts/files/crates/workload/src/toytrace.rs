//! Toy trace format: a file `*.toytrace` with the line `toytrace`, then a line for each message of the application
//! with its sending rank, receiving rank and bytes. The number of ranks follows from the largest one.

use std::path::Path;

use crate::motif::{Script, Skeleton, workload};
use crate::trace::TraceFormat;
use crate::{MessageInfo, MpiTimes, TraceError, TraceInfo};

/// This format.
pub const FORMAT: TraceFormat = TraceFormat {
    name: "toytrace",
    summary: "a list of messages: give the file",
    main: "*.toytrace",
    is_main: |name| name.ends_with(".toytrace"),
    recognise: |head| head.starts_with(b"toytrace\n"),
    open: |file| Ok(workload(read(file)?)),
    info,
};

/// The messages of the trace: sending rank, receiving rank, bytes.
struct ToyTrace {
    messages: Vec<(u32, u32, u64)>,
}

impl Skeleton for ToyTrace {
    fn ranks(&self) -> u32 {
        let ranks = self.messages.iter().map(|(from, to, _)| 1 + from.max(to));
        ranks.max().unwrap_or(1)
    }

    fn step(&self, rank: u32, _: u64, script: &mut Script) -> bool {
        for (from, to, bytes) in &self.messages {
            if *to == rank {
                script.start_receive(*from, 0, *bytes);
            }
            if *from == rank {
                script.start_send(*to, 0, *bytes);
            }
        }
        script.wait_all();
        false
    }
}

fn read(file: &Path) -> Result<ToyTrace, TraceError> {
    let error = |message: String| TraceError {
        file: file.display().to_string(),
        rank: None,
        message,
    };
    let text = std::fs::read_to_string(file).map_err(|e| error(format!("cannot be read: {e}")))?;
    let message = |line: &str| {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        let mut next = || numbers.next()?.ok();
        let message = (next()?, next()?, u64::from(next()?));
        (numbers.next().is_none()).then_some(message)
    };
    let parsed = |line: &str| message(line).ok_or_else(|| error(format!("'{line}' is no message")));
    let messages = text.lines().skip(1).map(parsed).collect::<Result<_, _>>()?;
    Ok(ToyTrace { messages })
}

fn info(file: &Path) -> Result<TraceInfo, TraceError> {
    let trace = read(file)?;
    Ok(TraceInfo {
        file: file.display().to_string(),
        format: FORMAT.name.into(),
        ranks: trace.ranks(),
        span_ps: 0,
        mpi: MpiTimes::default(),
        compute_ps: 0,
        compute_share: 0.0,
        events: trace.messages.len() as u64,
        mpi_calls: 0,
        mpi_calls_by_name: Default::default(),
        messages: MessageInfo {
            count: trace.messages.len() as u64,
            bytes: trace.messages.iter().map(|(_, _, bytes)| bytes).sum(),
            ..MessageInfo::default()
        },
        collectives: Default::default(),
        communicators: Vec::new(),
        bigsim: None,
        notes: Vec::new(),
    })
}
