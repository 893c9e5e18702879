//! Comma-separated values with a header line: one job in each line, in columns of any order.
//!
//! Values may stand in double quotes, with `""` for a quote (RFC 4180); a value does not continue on the next line.
//! Empty lines and lines that begin with `#` are ignored.

use config::PrintableName;

use super::lines::LineReader;
use super::{JobRecord, JobSize, JobTraceFormat, Receive, SharedTexts, TraceHeader, TraceTime};

pub(super) const FORMAT: JobTraceFormat = JobTraceFormat {
    name: "csv",
    summary: "comma-separated values with the columns arrival, nodes, duration, application, and optional others",
    read,
};

/// Columns that every file has.
const REQUIRED: [&str; 4] = ["arrival", "nodes", "duration", "application"];
/// Columns that a file may have.
const OPTIONAL: [&str; 3] = ["estimate", "name", "ranks_per_host"];

fn read(lines: &mut LineReader<'_>, receive: Receive<'_>) -> Result<TraceHeader, String> {
    let mut columns: Option<Vec<&'static str>> = None;
    let mut applications = SharedTexts::default();
    while let Some((line, text)) = lines.next()? {
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let read = match (values(text), &columns) {
            (Err(message), _) => Err(message),
            (Ok(names), None) => header(&names).map(|found| {
                columns = Some(found);
                None
            }),
            (Ok(values), Some(columns)) => record(line, columns, &values, &mut applications).map(Some),
        };
        let Some(record) = read.map_err(|message| lines.error(line, &message))? else {
            continue;
        };
        if receive(record)
            .map_err(|message| lines.error(line, &message))?
            .is_break()
        {
            break;
        }
    }
    match columns {
        Some(_) => Ok(TraceHeader::default()),
        None => Err(lines.error(
            1,
            &format!("has no header; expected a line such as {}", REQUIRED.join(",")),
        )),
    }
}

/// The values of a line.
fn values(text: &str) -> Result<Vec<String>, String> {
    let mut values = Vec::new();
    let mut rest = text;
    loop {
        let column = values.len() + 1;
        let trimmed = rest.trim_start();
        let behind = match trimmed.strip_prefix('"') {
            Some(quoted) => {
                let (value, behind) = unquoted(quoted).ok_or_else(|| {
                    format!("column {column}: the quote is not closed; expected \" at its end")
                })?;
                values.push(value);
                let behind = behind.trim_start();
                if !behind.is_empty() && !behind.starts_with(',') {
                    return Err(format!(
                        "column {column}: '{behind}' follows a quote; expected a comma"
                    ));
                }
                behind
            }
            None => {
                let end = trimmed.find(',').unwrap_or(trimmed.len());
                values.push(trimmed[..end].trim_end().into());
                &trimmed[end..]
            }
        };
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Ok(values),
        }
    }
}

/// The value in front of the closing quote, and what follows; `None`: it is not closed.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        value.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(next) => {
                value.push('"');
                rest = next;
            }
            None => return Some((value, rest)),
        }
    }
}

fn header(names: &[String]) -> Result<Vec<&'static str>, String> {
    let known = || REQUIRED.into_iter().chain(OPTIONAL);
    let mut columns = Vec::new();
    for name in names {
        let found = known().find(|known| known == name);
        let Some(found) = found else {
            let nearest = config::nearest(name, known());
            return Err(format!("unknown column '{name}'{nearest}"));
        };
        if columns.contains(&found) {
            return Err(format!("column '{name}' stands twice; expected each column once"));
        }
        columns.push(found);
    }
    match REQUIRED.iter().find(|name| !columns.contains(name)) {
        None => Ok(columns),
        Some(missing) => Err(format!(
            "the column '{missing}' is missing; expected a header such as {}",
            REQUIRED.join(",")
        )),
    }
}

fn record(
    line: u64,
    columns: &[&'static str],
    values: &[String],
    applications: &mut SharedTexts,
) -> Result<JobRecord, String> {
    if values.len() != columns.len() {
        return Err(format!(
            "has {} values; expected {}, as the header",
            values.len(),
            columns.len()
        ));
    }
    let mut record = JobRecord {
        line,
        ..JobRecord::default()
    };
    for (column, value) in columns.iter().zip(values) {
        // -1 stands for what is not known, as in the Standard Workload Format.
        if value.is_empty() || value == "-1" {
            continue;
        }
        let wrong = |message: String| format!("column '{column}': {message}");
        let time = || TraceTime::parse(value).map(Some).map_err(wrong);
        let whole = || -> Result<u64, String> {
            let number = value.parse();
            number.map_err(|_| {
                wrong(format!(
                    "'{value}' is not a whole number; expected one such as 16"
                ))
            })
        };
        match *column {
            "arrival" => record.arrival = time()?,
            "duration" => record.duration = time()?,
            "estimate" => record.estimate = time()?,
            "nodes" => record.size = Some(JobSize::Nodes(whole()?)),
            "ranks_per_host" => {
                let ranks = whole()?;
                let ranks = u32::try_from(ranks)
                    .ok()
                    .filter(|ranks| (1..=4096).contains(ranks));
                let out_of_range = || wrong(format!("{value} is out of range; expected 1 to 4096"));
                record.ranks_per_host = Some(ranks.ok_or_else(out_of_range)?);
            }
            "name" => record.name = Some(PrintableName::new(value).map_err(wrong)?.0.into()),
            _ => record.application = Some(applications.get(value)),
        }
    }
    Ok(record)
}
