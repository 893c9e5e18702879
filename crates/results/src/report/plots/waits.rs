//! Waits of packets by reason and holder, from `waits`.

use std::collections::BTreeMap;

use super::{Figure, named};
use crate::report::html::{numbers, table, words};
use crate::report::source::TableSource;
use crate::rows::wait_reason;
use crate::{ReadError, Table, show};

/// Maximum number of listed links.
const MOST_LINKS: usize = 15;

/// Time and number of waits.
#[derive(Clone, Copy, Default)]
struct WaitSum {
    waits: u64,
    ps: u128,
}

impl WaitSum {
    fn add(&mut self, ps: u64) {
        self.waits += 1;
        self.ps += u128::from(ps);
    }
}

#[derive(Default)]
struct Waits {
    /// Waits by job, reason and holder.
    by_reason: BTreeMap<String, BTreeMap<String, BTreeMap<String, WaitSum>>>,
    by_link: BTreeMap<u64, WaitSum>,
}

fn collect(source: TableSource) -> Result<Option<Waits>, ReadError> {
    let mut waits = Waits::default();
    let columns = ["job", "link", "begin_ps", "end_ps", "reason", "holder"];
    let read = source.each("waits", &columns, |rows| {
        let (job, reason, holder) = (rows.texts("job")?, rows.texts("reason")?, rows.texts("holder")?);
        let (begin, end) = (rows.integers("begin_ps")?, rows.integers("end_ps")?);
        let link = rows.maybe_integers("link")?;
        for i in 0..begin.len() {
            let ps = end[i].saturating_sub(begin[i]);
            let reasons = named(&mut waits.by_reason, job[i].unwrap_or_default());
            let holders = named(reasons, reason[i].unwrap_or_default());
            named(holders, holder[i].unwrap_or_default()).add(ps);
            if let Some(link) = link[i] {
                waits.by_link.entry(link).or_default().add(ps);
            }
        }
        Some(())
    })?;
    Ok(read.map(|()| waits))
}

/// The name of a reason for readers.
pub(super) fn explained(reason: &str) -> &str {
    match wait_reason(reason) {
        "wire" => "the link carried other packets",
        "credits" => "the buffer downstream was full",
        "nic" => "the injection link carried other packets",
        "queue" => "other packets before it in its queue",
        "input" => "its input port was sending",
        "gap" => "the NIC's gap between messages",
        other => other,
    }
}

/// Reasons and holders of waits, and the links with the longest waits.
pub(super) fn reasons(source: TableSource) -> Result<Option<Figure>, ReadError> {
    Ok(collect(source)?
        .filter(|waits| !waits.by_reason.is_empty())
        .map(|waits| figure(&waits, source.table("links"))))
}

fn figure(waits: &Waits, links: Option<&Table>) -> Figure {
    let mut reasons: Vec<([&str; 3], WaitSum)> = Vec::new();
    for (job, of_job) in &waits.by_reason {
        for (reason, holders) in of_job {
            reasons.extend(
                holders
                    .iter()
                    .map(|(holder, sum)| ([job.as_str(), reason, holder], *sum)),
            );
        }
    }
    let whole: u128 = reasons.iter().map(|(_, sum)| sum.ps).sum();
    let share = |sum: &WaitSum| show::percent(sum.ps as f64 / (whole as f64).max(1.0));
    let time = |sum: &WaitSum| show::time(sum.ps as f64 / 1000.0);
    reasons.sort_by(|a, b| b.1.ps.cmp(&a.1.ps).then(a.0.cmp(&b.0)));
    let rows: Vec<_> = reasons
        .into_iter()
        .map(|([job, reason, holder], sum)| {
            vec![
                job.into(),
                explained(reason).into(),
                if holder.is_empty() { "–" } else { holder }.into(),
                show::count(sum.waits),
                time(&sum),
                share(&sum),
            ]
        })
        .collect();
    let columns = [
        words("packets of"),
        words("waited because of"),
        words("held by"),
        numbers("waits"),
        numbers("time, all packets together"),
        numbers("of all waiting"),
    ];
    let mut figure = Figure::new(
        "waits",
        "Waiting in the network",
        "Causes of waits, the jobs that occupied the resource, and the links with the longest waits. Packets wait at the same time, so the sums can exceed the length of the run.",
    );
    figure.table = table(&columns, &rows, "waits.parquet");
    let mut by_link: Vec<(&u64, &WaitSum)> = waits.by_link.iter().collect();
    by_link.sort_by(|a, b| b.1.ps.cmp(&a.1.ps).then(a.0.cmp(b.0)));
    by_link.truncate(MOST_LINKS);
    let columns = [
        words("from"),
        words("to"),
        numbers("waits"),
        numbers("time"),
        numbers("of all waiting"),
    ];
    let rows: Vec<_> = by_link
        .into_iter()
        .map(|(link, sum)| {
            let (from, to) = links
                .and_then(|links| ends(links, *link))
                .unwrap_or((format!("link {link}"), String::new()));
            vec![from, to, show::count(sum.waits), time(sum), share(sum)]
        })
        .collect();
    if !rows.is_empty() {
        figure.table += "<h3>Links waited at most</h3>\n";
        figure.table += &table(&columns, &rows, "waits.parquet");
    }
    figure
}

/// Start and end of a link, from the table `links`.
pub(super) fn ends(links: &Table, link: u64) -> Option<(String, String)> {
    // Links are in the order of their numbers.
    let numbers = links.u32s("link")?;
    let row = numbers.binary_search(&u32::try_from(link).ok()?).ok()?;
    let from = links.texts("from")?.nth(row)??;
    let to = links.texts("to")?.nth(row)??;
    Some((from.into(), to.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::source::tests::{ColumnCells, made};

    #[test]
    fn waits_are_added_up_by_reason_and_by_link() {
        let tables = [made(
            "waits",
            vec![
                (
                    "job",
                    ColumnCells::Words(vec![Some("a"), Some("a"), Some("b"), Some("a")]),
                ),
                ("link", ColumnCells::U32(vec![1, 2, 1, 1])),
                ("begin_ps", ColumnCells::U64(vec![0, 0, 10, 5])),
                ("end_ps", ColumnCells::U64(vec![10, 30, 20, 55])),
                (
                    "reason",
                    ColumnCells::Text(vec!["wire", "credits", "wire", "wire"]),
                ),
                (
                    "holder",
                    ColumnCells::Words(vec![Some("b"), None, Some("a"), Some("b")]),
                ),
            ],
        )];
        let source = TableSource::new(&tables, None);
        let waits = collect(source).unwrap().unwrap();
        let of = |job: &str, reason: &str, holder: &str| {
            let sum = waits.by_reason[job][reason][holder];
            (sum.waits, sum.ps)
        };
        assert_eq!(of("a", "wire", "b"), (2, 60));
        assert_eq!((of("a", "credits", ""), of("b", "wire", "a")), ((1, 30), (1, 10)));
        assert_eq!((waits.by_link[&1].ps, waits.by_link[&2].ps), (70, 30));
        let table = reasons(source).unwrap().unwrap().table;
        assert!(
            table.contains("<td>link 1</td>") && table.contains("60.0 %"),
            "{table}"
        );
    }
}
