//! The cost of the run itself.

use super::html::{HtmlSection, details, numbers, paragraph, table, words};
use super::overview::pairs;
use crate::{Collect, Summary, show};

/// Statistics of the simulator.
pub(super) fn cost(summary: &Summary) -> HtmlSection {
    let run = &summary.run;
    let mut body = String::from("<div class=\"pairs\">\n");
    body += &pairs(&[
        ("executor", run.executed_by()),
        ("simulated time", show::time(run.simulated_ns)),
        ("wall-clock time", show::time(1e9 * run.wall_s)),
        ("CPU time", show::time(1e9 * run.cpu_s)),
        ("largest memory", show::bytes(run.peak_rss_bytes)),
    ]);
    body += &pairs(&[
        ("events committed", show::count(run.events_committed)),
        ("events rolled back", show::count(run.events_rolled_back)),
        ("events to other threads", show::count(run.events_remote)),
        ("packet-hops", show::count(summary.network.packet_hops)),
        (
            "packet-hops per CPU second",
            show::rate(run.packet_hops_per_cpu_s),
        ),
    ]);
    body += "</div>\n";
    if run.events_rolled_back > 0 {
        body += "<div class=\"pairs\">\n";
        body += &pairs(&[
            ("efficiency", format!("{:.1} %", 100.0 * run.efficiency)),
            ("rollbacks by late events", show::count(run.primary_rollbacks)),
            (
                "rollbacks by cancelled events",
                show::count(run.secondary_rollbacks),
            ),
            ("cancellations to other threads", show::count(run.anti_messages)),
        ]);
        body += &pairs(&[
            ("rollbacks of routers", show::count(run.rollbacks.router)),
            ("rollbacks of hosts", show::count(run.rollbacks.host)),
            ("global virtual times", show::count(run.gvt_rounds)),
        ]);
        body += "</div>\n";
    }
    if run.parts.len() > 1 {
        let columns = [
            numbers("process"),
            numbers("thread"),
            words("routers"),
            numbers("hosts"),
            numbers("share of work"),
        ];
        let rows: Vec<_> = run
            .parts
            .iter()
            .map(|part| {
                let [first, end] = part.router_range;
                let routers = match part.routers {
                    0 => "none".into(),
                    n => format!("{n}: {first} to {}", end.saturating_sub(1)),
                };
                vec![
                    part.process.to_string(),
                    part.thread.to_string(),
                    routers,
                    part.hosts.to_string(),
                    format!("{:.1} %", 100.0 * part.share),
                ]
            })
            .collect();
        body += &table(&columns, &rows, "summary.json");
    }
    if let Some(collect) = &summary.collect {
        body += &collected(collect);
    }
    HtmlSection {
        half: true,
        ..HtmlSection::new("run", "The run itself", body)
    }
}

/// The collected tables, which determine what the page can show.
fn collected(collect: &Collect) -> String {
    let width = show::time(collect.first_bin_ps as f64 / 1000.0);
    let what = match collect.series.as_str() {
        "off" => "no series".into(),
        series => {
            let series = match series {
                "classes" => "classes of links, and jobs",
                "links" => "links, routers, hosts and jobs",
                "vcs" => "VCs, links, routers, hosts and jobs",
                other => other,
            };
            let doubling = match collect.bins_per_width {
                Some(bins) => format!(", twice as wide after every {bins}"),
                None => String::new(),
            };
            format!("series of {series}, in bins of {width}{doubling}")
        }
    };
    let rows: Vec<Vec<String>> = collect
        .tables
        .iter()
        .map(|table| vec![table.table.clone(), show::count(table.rows)])
        .collect();
    let mut html = paragraph(&format!("Collected during the run: {what}."));
    if !rows.is_empty() {
        let table = table(&[words("table"), numbers("rows")], &rows, "summary.json");
        html += &details("Collected tables", &table);
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CollectedTable;

    #[test]
    fn the_page_says_what_was_collected() {
        let mut collect = Collect {
            series: "links".into(),
            first_bin_ps: 1_000_000,
            bins_per_width: Some(128),
            tables: vec![CollectedTable {
                table: "link_series".into(),
                rows: 12_345,
                ..Default::default()
            }],
            ..Default::default()
        };
        let html = collected(&collect);
        assert!(
            html.contains(
                "series of links, routers, hosts and jobs, in bins of 1 µs, twice as wide after every 128."
            ),
            "{html}"
        );
        assert!(
            html.contains("<td>link_series</td><td class=\"n\">12\u{a0}345</td>"),
            "{html}"
        );
        collect.series = "off".into();
        assert!(collected(&collect).contains("no series"));
    }
}
