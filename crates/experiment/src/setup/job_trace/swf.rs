//! Standard Workload Format, version 2: one job in each line, 18 numbers, -1 for what is not known; header comments
//! after `;`.
//!
//! Source: S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job schedulers" (JSSPP 1999);
//! the Parallel Workloads Archive, <https://www.cs.huji.ac.il/labs/parallel/workload/swf.html>.

use super::lines::LineReader;
use super::{JobRecord, JobSize, JobTraceFormat, Receive, SharedTexts, TraceHeader, TraceTime};

pub(super) const FORMAT: JobTraceFormat = JobTraceFormat {
    name: "swf",
    summary: "Standard Workload Format of the Parallel Workloads Archive",
    read,
};

/// Fields of a line, from 1, as the definition names them.
const FIELDS: [&str; 18] = [
    "job number",
    "submit time",
    "wait time",
    "run time",
    "number of allocated processors",
    "average CPU time used",
    "used memory",
    "requested number of processors",
    "requested time",
    "requested memory",
    "status",
    "user ID",
    "group ID",
    "executable number",
    "queue number",
    "partition number",
    "preceding job number",
    "think time",
];

/// Values of the field status for a part of a job that was checkpointed. The job as a whole has a line of its own.
const PARTS_OF_JOBS: [Option<u64>; 3] = [Some(2), Some(3), Some(4)];

fn read(lines: &mut LineReader<'_>, receive: Receive<'_>) -> Result<TraceHeader, String> {
    let mut header = TraceHeader::default();
    let mut applications = SharedTexts::default();
    while let Some((line, text)) = lines.next()? {
        let text = text.trim();
        if let Some(comment) = text.strip_prefix(';') {
            read_comment(comment, &mut header).map_err(|message| lines.error(line, &message))?;
            continue;
        }
        if text.is_empty() {
            continue;
        }
        let record = match fields(text) {
            Ok(fields) => record(line, &fields, &mut applications),
            Err(message) => return Err(lines.error(line, &message)),
        };
        let Some(record) = record.map_err(|message| lines.error(line, &message))? else {
            continue;
        };
        if receive(record)
            .map_err(|message| lines.error(line, &message))?
            .is_break()
        {
            break;
        }
    }
    Ok(header)
}

/// `MaxNodes: 128` and `MaxProcs: 512`, in any case, with `=` in place of the colon, and with commas between thousands.
/// Other comments are for people, and so is what follows the number.
///
/// # Errors
/// One of both headers has no number of at least 1. `-1` says that it is not known.
fn read_comment(comment: &str, header: &mut TraceHeader) -> Result<(), String> {
    let Some((name, value)) = comment.split_once([':', '=']) else {
        return Ok(());
    };
    let known = match name.trim().to_ascii_lowercase().as_str() {
        "maxnodes" => &mut header.max_nodes,
        "maxprocs" => &mut header.max_processors,
        _ => return Ok(()),
    };
    let written = value.split_whitespace().next().unwrap_or_default();
    if written == "-1" {
        return Ok(());
    }
    match grouped_number(written) {
        Some(number) if number > 0 => {
            *known = Some(number);
            Ok(())
        }
        _ => Err(format!(
            "the header {} is '{}'; expected a whole number of at least 1 such as 1024 or 1,024, or -1: not known",
            name.trim(),
            value.trim()
        )),
    }
}

/// A whole number, with or without commas between groups of three digits.
fn grouped_number<T: std::str::FromStr>(written: &str) -> Option<T> {
    let mut groups = written.split(',');
    let first = groups.next()?;
    let rest: Vec<&str> = groups.collect();
    let is_grouped =
        rest.is_empty() || (1..=3).contains(&first.len()) && rest.iter().all(|group| group.len() == 3);
    let digits = written.replace(',', "");
    let is_number = !first.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    (is_grouped && is_number).then(|| digits.parse().ok())?
}

/// The fields of a line; `None`: -1.
fn fields(text: &str) -> Result<[Option<u64>; 18], String> {
    let mut fields = [None; 18];
    let mut found = 0;
    for (index, written) in text.split_whitespace().enumerate() {
        found += 1;
        let Some(field) = fields.get_mut(index) else {
            continue;
        };
        let wrong = || {
            let name = FIELDS[index];
            let number = index + 1;
            format!(
                "field {number} ({name}): '{written}' is not a number of at least 0; expected one, or -1: not known"
            )
        };
        *field = match written {
            "-1" => None,
            // Archived logs have fractions here, and nothing depends on it.
            _ if index == 5 => {
                written.parse::<f64>().map_err(|_| wrong())?;
                None
            }
            _ => Some(written.parse().map_err(|_| wrong())?),
        };
    }
    match found {
        18 => Ok(fields),
        _ => Err(format!(
            "has {found} fields; expected the 18 fields of the Standard Workload Format"
        )),
    }
}

/// The job of a line; `None`: the line is a part of a job.
fn record(
    line: u64,
    fields: &[Option<u64>; 18],
    applications: &mut SharedTexts,
) -> Result<Option<JobRecord>, String> {
    let field = |number: usize| fields[number - 1];
    if PARTS_OF_JOBS.contains(&field(11)) {
        return Ok(None);
    }
    let time = |number: usize| -> Result<Option<TraceTime>, String> {
        let Some(seconds) = field(number) else {
            return Ok(None);
        };
        let name = FIELDS[number - 1];
        let wrong =
            || format!("field {number} ({name}): {seconds} s is more than 584 years; expected seconds");
        TraceTime::from_s(seconds).ok_or_else(wrong).map(Some)
    };
    Ok(Some(JobRecord {
        line,
        name: field(1).map(|number| number.to_string().into()),
        arrival: time(2)?,
        size: field(5).or(field(8)).map(JobSize::Processors),
        duration: time(4)?,
        estimate: time(9)?,
        application: field(14).map(|number| applications.get(&number.to_string())),
        ranks_per_host: None,
    }))
}
