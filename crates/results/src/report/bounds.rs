//! Bounds beside simulated values.

use super::html::{HtmlSection, escape, numbers, paragraph, table, words};
use crate::bounds::EXPECTED;
use crate::{JobBounds, JobSummary, Summary, Table, ZeroLoad, show};

/// Maximum number of jobs with bounds.
const MOST_JOBS: usize = 12;

/// The bounds of the synthetic traffic.
pub(super) fn bounds(summary: &Summary, links: Option<&Table>) -> Option<HtmlSection> {
    let bounds = summary.bounds.as_ref().filter(|bounds| !bounds.jobs.is_empty())?;
    let mut body = paragraph(
        "Computed from topology, routing and pattern, without simulation: the load at which the first link is full, \
         and hops and latency of packets in an empty network. Loads are fractions of the injection bandwidth of the \
         hosts.",
    );
    for bound in bounds.jobs.iter().take(MOST_JOBS) {
        body += &job(summary, bound, links);
    }
    if bounds.is_expected() {
        body += &paragraph(&format!("Loads of links between routers are {EXPECTED}."));
    }
    if bounds.jobs.len() > MOST_JOBS {
        body += &paragraph(&format!(
            "The first {MOST_JOBS} of {} jobs; the others are in summary.json.",
            bounds.jobs.len()
        ));
    }
    if let Some(most) = bounds.accepted_load {
        body += &paragraph(&format!(
            "At the requested loads, at most {} of the injection bandwidth of all hosts can be accepted; {} was accepted.",
            show::percent(most),
            show::percent(summary.network.accepted_load)
        ));
    }
    if let (true, Some(scale)) = (bounds.jobs.len() > 1, bounds.scale) {
        body += &paragraph(&format!(
            "All jobs together: the first {} is full at {scale:.3} times the requested loads: {}.",
            bounds.limiting_link(),
            bounds.scale_limited_by
        ));
    }
    Some(HtmlSection::new("bounds", "Bounds", body))
}

fn job(summary: &Summary, bound: &JobBounds, links: Option<&Table>) -> String {
    let single_job = summary.jobs.len() == 1;
    let number = |number: Option<f64>| number.map(|number| format!("{number:.3}"));
    let zero = |pick: fn(&ZeroLoad) -> f64| Some(show::time(pick(bound.zero_load_latency_ns.as_ref()?)));
    let job = summary.jobs.iter().find(|job| job.name == bound.name);
    let simulated = |pick: fn(&JobSummary) -> Option<f64>| job.and_then(pick).map(show::time);
    let everywhere = single_job && job.is_some_and(|job| job.hosts == summary.network.hosts);
    let of_network = |known: bool, figure: f64| number(known.then_some(figure));
    let measured = links.filter(|_| everywhere).and_then(channel_loads);
    let accepted = summary.network.accepted_load;
    // Link loads are proportional to the accepted load.
    let in_proportion = |load: Option<f64>| number(measured.and(load).map(|load| load * accepted));
    let mut rows: Vec<BoundRow> = vec![
        (
            "load of every host, at most".into(),
            number(bound.throughput),
            of_network(everywhere, accepted),
        ),
        (
            "the same, for links between routers only".into(),
            number(bound.router_throughput),
            None,
        ),
        (
            "mean load of links between routers, at a load of 1".into(),
            number(bound.mean_channel_load),
            None,
        ),
        (
            "largest load of a link between routers, at a load of 1".into(),
            number(bound.max_channel_load),
            None,
        ),
    ];
    if let Some((mean, largest)) = measured {
        rows.push((
            format!("mean load of links between routers, at the {accepted:.3} accepted"),
            in_proportion(bound.mean_channel_load),
            number(Some(mean)),
        ));
        rows.push((
            format!("largest load of a link between routers, at the {accepted:.3} accepted"),
            in_proportion(bound.max_channel_load),
            number(Some(largest)),
        ));
    }
    rows.push((
        "mean hops".into(),
        number(bound.mean_hops),
        number(summary.network.mean_hops.filter(|_| single_job)),
    ));
    rows.push((
        "packet latency, mean".into(),
        zero(|latency| latency.mean),
        simulated(|job| job.latency_ns.mean),
    ));
    rows.push((
        "packet latency, largest".into(),
        zero(|latency| latency.max),
        simulated(|job| job.latency_ns.max),
    ));
    let mut html = format!("<h3>{}</h3>\n", escape(&bound.name)) + &known(rows, single_job);
    if !bound.limited_by.is_empty() {
        html += &paragraph(&format!("First full link: {}.", bound.limited_by));
    }
    if !bound.not_computed.is_empty() {
        html += &paragraph(&format!("Not computed: {}.", bound.not_computed));
    }
    html
}

/// A quantity, its computed value, and its simulated one.
type BoundRow = (String, Option<String>, Option<String>);

/// The rows and columns with a value, and sentences about the others.
fn known(rows: Vec<BoundRow>, single_job: bool) -> String {
    let (rows, unknown): (Vec<BoundRow>, Vec<BoundRow>) = rows
        .into_iter()
        .partition(|(_, computed, simulated)| computed.is_some() || simulated.is_some());
    let is_computed = rows.iter().any(|(_, computed, _)| computed.is_some());
    let is_simulated = rows.iter().any(|(_, _, simulated)| simulated.is_some());
    let mut columns = vec![words("of the job")];
    columns.extend(is_computed.then_some(numbers("computed")));
    columns.extend(is_simulated.then_some(numbers("simulated")));
    let cells = rows.into_iter().map(|(name, computed, simulated)| {
        let cell = |value: Option<String>| value.unwrap_or_else(|| "–".into());
        let mut row = vec![name];
        row.extend(is_computed.then(|| cell(computed)));
        row.extend(is_simulated.then(|| cell(simulated)));
        row
    });
    let cells: Vec<Vec<String>> = cells.collect();
    let mut html = String::new();
    if !cells.is_empty() {
        html += &table(&columns, &cells, "summary.json");
    }
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().map(|(name, _, _)| name.as_str()).collect();
        html += &paragraph(&format!("Without a value: {}.", names.join("; ")));
    }
    if !is_simulated && !cells.is_empty() {
        html += &paragraph(if single_job {
            "The run measured no packet, so there is no simulated value."
        } else {
            "There is no simulated value: the run measures these quantities of all jobs together."
        });
    }
    html
}

/// Mean and largest busy share of links between routers in the measured time. `None` if links differ in bandwidth, as
/// bounds are fractions of the bandwidth of injection links.
fn channel_loads(links: &Table) -> Option<(f64, f64)> {
    let bandwidth = links.u64s("bandwidth_bits_per_s")?;
    if bandwidth.iter().any(|b| *b != bandwidth[0]) {
        return None;
    }
    let (mut sum, mut largest, mut count) = (0.0, 0.0_f64, 0u64);
    for (class, busy) in links.texts("class")?.zip(links.f64s("busy_fraction")?) {
        if !matches!(class, Some("injection" | "ejection")) {
            (sum, largest, count) = (sum + busy, largest.max(*busy), count + 1);
        }
    }
    (count > 0).then(|| (sum / count as f64, largest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{LinkRow, links};

    fn row(class: &'static str, busy_fraction: f64, bandwidth_bits_per_s: u64) -> LinkRow {
        LinkRow {
            link: 0,
            class: class.into(),
            from: String::new(),
            to: String::new(),
            bandwidth_bits_per_s,
            bytes: 0,
            packets: 0,
            busy_ps: 0,
            busy_fraction,
            buffer_full_ps: 0,
            ..LinkRow::default()
        }
    }

    #[test]
    fn rows_and_columns_without_a_value_are_named_in_sentences() {
        let some = |text: &str| Some(text.to_string());
        let rows = || {
            vec![
                ("hops".to_string(), some("3.5"), None),
                ("latency".into(), None, None),
                ("load".into(), some("1.0"), some("0.4")),
            ]
        };
        let html = known(rows(), true);
        assert!(
            html.contains("<td>hops</td><td class=\"n\">3.5</td><td class=\"n\">–</td>"),
            "{html}"
        );
        assert!(
            !html.contains("<td>latency</td>") && html.contains("Without a value: latency."),
            "{html}"
        );
        let html = known(rows()[..2].to_vec(), false);
        assert!(!html.contains('–') && !html.contains("simulated</th>"), "{html}");
        assert!(html.contains("of all jobs together"), "{html}");
        let html = known(rows()[1..2].to_vec(), true);
        assert_eq!(html, "<p>Without a value: latency.</p>\n");
    }

    #[test]
    fn loads_of_channels_are_those_between_routers() {
        let rows = [
            row("injection", 0.9, 8),
            row("local", 0.25, 8),
            row("global", 0.75, 8),
            row("ejection", 1.0, 8),
        ];
        assert_eq!(channel_loads(&links(rows.clone())), Some((0.5, 0.75)));
        assert_eq!(
            channel_loads(&links(rows[..1].to_vec())),
            None,
            "no router has a neighbour"
        );
        let unequal = rows.into_iter().chain([row("global", 0.1, 9)]);
        assert_eq!(channel_loads(&links(unequal)), None);
    }
}
