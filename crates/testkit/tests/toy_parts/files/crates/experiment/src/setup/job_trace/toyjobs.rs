//! Toy format of job traces: arrival, nodes and duration, in seconds, in each line.

use super::lines::LineReader;
use super::{JobSize, JobTraceFormat, Receive, TraceHeader, JobRecord, TraceTime};

pub(super) const FORMAT: JobTraceFormat = JobTraceFormat {
    name: "toyjobs",
    summary: "arrival, nodes and duration, in seconds, in each line",
    read,
};

fn read(lines: &mut LineReader<'_>, receive: Receive<'_>) -> Result<TraceHeader, String> {
    while let Some((line, text)) = lines.next()? {
        let record = record(line, text).ok_or_else(|| lines.error(line, "expected three numbers"))?;
        if receive(record)
            .map_err(|message| lines.error(line, &message))?
            .is_break()
        {
            break;
        }
    }
    Ok(TraceHeader::default())
}

fn record(line: u64, text: &str) -> Option<JobRecord> {
    let numbers: Result<Vec<u64>, _> = text.split(' ').map(str::parse).collect();
    let [arrival, nodes, duration] = numbers.ok()?[..] else {
        return None;
    };
    Some(JobRecord {
        line,
        arrival: Some(TraceTime::from_s(arrival)?),
        size: Some(JobSize::Nodes(nodes)),
        duration: Some(TraceTime::from_s(duration)?),
        ..JobRecord::default()
    })
}
