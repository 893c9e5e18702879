//! The main results: cards at the top, network and jobs, interference.

use std::fmt::Write;

use super::html::{HtmlSection, escape, numbers, paragraph, table, words};
use crate::{JobSummary, RepeatedRun, Summary, Verdict, router_model, show};

/// Maximum number of jobs with a card.
const MOST_CARDS: usize = 8;

/// The most important values.
pub(super) fn cards(summary: &Summary) -> String {
    let network = &summary.network;
    let mut cards = String::from("<div class=\"cards\">\n");
    for job in summary.jobs.iter().filter(|job| job.ranks > 0).take(MOST_CARDS) {
        if let Some(card) = stopped_card(job) {
            cards += &card;
            continue;
        }
        let share = if job.time_ns > 0.0 {
            job.mpi_ns / job.time_ns
        } else {
            0.0
        };
        let what = if job.finished {
            "predicted time"
        } else {
            "interrupted by the end of the run"
        };
        let note = format!("{what}; {} of it in MPI", show::percent(share));
        cards += &card(&escape(&job.name), &show::time(job.time_ns), &note);
    }
    let latency = &network.latency_ns;
    let note = match latency.p99 {
        Some(p99) => format!("mean; 99 % below {}", show::time(p99)),
        None => "no packet was measured".into(),
    };
    cards += &card("packet latency", &show::time_if_any(latency.mean), &note);
    let mut note = format!(
        "of the injection bandwidth; {} offered",
        show::percent(network.offered_load)
    );
    // Shown if the acceptable load is below the offered load.
    let most = summary.bounds.as_ref().and_then(|bounds| bounds.accepted_load);
    if let Some(most) = most.filter(|most| *most < 0.999 * network.offered_load) {
        let _ = write!(note, ", at most {} possible", show::percent(most));
    }
    cards += &card("accepted load", &show::percent(network.accepted_load), &note);
    cards + "</div>\n"
}

/// The card of a job that was stopped at its end: its repetitions, since its time is a setting.
fn stopped_card(job: &JobSummary) -> Option<String> {
    let (value, note) = match job.repetition_times.filter(|_| job.stopped) {
        Some(times) => (
            show::time(times.mean_ns),
            format!(
                "mean time of {} repetitions; stopped after {}",
                show::count(times.complete),
                show::time(job.time_ns)
            ),
        ),
        None if job.stopped => (
            "–".into(),
            format!(
                "no complete repetition; stopped after {}",
                show::time(job.time_ns)
            ),
        ),
        None => return None,
    };
    Some(card(&escape(&job.name), &value, &note))
}

fn card(label: &str, figure: &str, note: &str) -> String {
    format!("<div class=\"card\"><span>{label}</span><b>{figure}</b><span>{note}</span></div>\n")
}

/// Network and jobs.
pub(super) fn overview(summary: &Summary) -> HtmlSection {
    let n = &summary.network;
    let mut body = String::new();
    if !summary.jobs.is_empty() {
        let columns = [
            words("job"),
            words("kind"),
            numbers("ranks"),
            numbers("hosts"),
            numbers("time"),
            numbers("computation"),
            numbers("MPI"),
            numbers("messages"),
            numbers("data"),
            numbers("packet latency"),
        ];
        let rows: Vec<_> = summary.jobs.iter().map(job_row).collect();
        body += &table(&columns, &rows, "jobs.parquet");
        body += &bound_by(summary);
    }
    body += "<div class=\"pairs\">\n";
    body += &pairs(&[
        ("hosts", n.hosts_text()),
        ("routers", show::count(n.routers)),
        ("router model", router_model(summary).unwrap_or("–".into())),
        ("links (each direction)", show::count(n.links)),
        (
            "mean hops",
            n.mean_hops.map_or("–".into(), |hops| format!("{hops:.2}")),
        ),
        ("measured time", show::time(n.measured_ns)),
    ]);
    let mut delivered = vec![
        ("packets delivered", show::count(n.packets_delivered)),
        ("packets in flight at the end", show::count(n.packets_in_flight)),
        ("data delivered", show::bytes(n.bytes_delivered)),
        ("packet latency, median", show::time_if_any(n.latency_ns.p50)),
        ("packet latency, largest", show::time_if_any(n.latency_ns.max)),
    ];
    if let Some(wait) = &n.source_wait_ns {
        delivered.push((
            "network latency, mean",
            show::time_if_any(n.mean_network_latency_ns),
        ));
        if let Some(network) = &n.network_latency_ns {
            delivered.push(("network latency, median", show::time_if_any(network.p50)));
            delivered.push(("network latency, largest", show::time_if_any(network.max)));
        }
        delivered.push(("wait at the source, mean", show::time_if_any(wait.mean)));
    }
    body += &pairs(&delivered);
    body += "</div>\n";
    HtmlSection::new("overview", "Overview", body)
}

/// What bounds each job of ranks, if a job is known to have ended.
fn bound_by(summary: &Summary) -> String {
    let known = summary.jobs.iter().filter_map(|job| {
        let bound_by = job.bound_by.as_ref()?;
        Some(vec![job.name.clone(), bound_by.to_string()])
    });
    let rows: Vec<_> = known.collect();
    if rows.is_empty() {
        return String::new();
    }
    let explanation = "What bounds the time of a job: shares of its critical path. Computation is the mean of the ranks; \
                       imbalance is computation beyond that, on which others wait.";
    paragraph(explanation) + &table(&[words("job"), words("bound by")], &rows, "summary.json")
}

fn job_row(job: &JobSummary) -> Vec<String> {
    let known = |known: bool, text: String| if known { text } else { "–".into() };
    let cut_off = match (job.finished, job.stopped) {
        (_, true) => " (stopped)",
        (true, _) => "",
        (false, _) => " (cut off)",
    };
    vec![
        job.name.clone(),
        job.kind.clone(),
        known(job.ranks > 0, show::count(job.ranks)),
        show::count(job.hosts),
        show::time(job.time_ns) + cut_off,
        known(job.ranks > 0, show::time(job.compute_ns)),
        known(job.ranks > 0, show::time(job.mpi_ns)),
        show::count(job.messages),
        show::bytes(job.bytes),
        show::time_if_any(job.latency_ns.mean),
    ]
}

/// Interference between jobs, if they were also run standalone.
pub(super) fn interference(summary: &Summary) -> Option<HtmlSection> {
    let interference = summary.interference.as_ref()?;
    let columns = [
        words("job"),
        numbers("slow-down"),
        numbers("time"),
        numbers("alone"),
        numbers("MPI"),
        numbers("alone"),
        numbers("packet latency"),
        numbers("alone"),
    ];
    let rows: Vec<_> = interference
        .jobs
        .iter()
        .map(|job| {
            let cut_off = if job.alone_finished { "" } else { " (cut off)" };
            vec![
                job.name.clone(),
                job.slowdown.map_or("–".into(), show::slow_down),
                show::time(job.time_ns),
                show::time(job.alone_ns) + cut_off,
                show::time(job.mpi_ns),
                show::time(job.alone_mpi_ns),
                show::time_if_any(job.latency_ns),
                show::time_if_any(job.alone_latency_ns),
            ]
        })
        .collect();
    let body = paragraph(
        "Each job of ranks was also run standalone, on the same hosts of the same network. The slow-down is the time in the shared run divided by the time in the standalone run; of a job that was stopped at its end, the mean time of a repetition, likewise.",
    ) + &table(&columns, &rows, "summary.json");
    Some(HtmlSection::new("interference", "Interference", body))
}

/// The notes of the run in a box. Nothing without notes.
pub(super) fn notes(summary: &Summary) -> String {
    if summary.notes.is_empty() {
        return String::new();
    }
    let mut html = String::from("<div class=\"notes\" role=\"note\">\n");
    for note in &summary.notes {
        let job = note
            .job
            .as_ref()
            .map(|job| format!("job {job}: "))
            .unwrap_or_default();
        let _ = writeln!(
            html,
            "<p class=\"{}\"><b>{}</b>: {}. {}.</p>",
            note.severity,
            escape(&note.kind),
            escape(&format!("{job}{}", note.found)),
            escape(&note.advice)
        );
    }
    html + "</div>\n"
}

/// The verdict on the run: the first paragraph of the page.
pub(super) fn verdict(verdict: &Verdict) -> String {
    let mut html = format!(
        "<div class=\"verdict\" id=\"verdict\">\n<p><b>{}</b></p>\n<dl>\n",
        escape(&verdict.headline)
    );
    let mut list = |name: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            let _ = writeln!(html, "<dt>{name}</dt>");
        }
        for entry in entries {
            let _ = writeln!(html, "<dd>{entry}</dd>");
        }
    };
    list(
        "where",
        verdict.places.iter().map(|place| escape(&place.found)).collect(),
    );
    let times = verdict.times.iter().map(|time| {
        let (begin, end) = (show::time(time.begin_ns), show::time(time.end_ns));
        escape(&format!("{begin} to {end}: {}", time.found))
    });
    list("when", times.collect());
    list("why", verdict.causes.iter().map(|cause| escape(cause)).collect());
    let run = RepeatedRun::default();
    let tries = verdict.comparisons.iter().enumerate().map(|(index, comparison)| {
        let command = run.comparison(index + 1, comparison);
        format!(
            "{}: <code>{}</code>",
            escape(&comparison.differs),
            escape(&command)
        )
    });
    list("try", tries.collect());
    list("trust", vec![escape(&verdict.confidence.to_string())]);
    html + "</dl>\n</div>\n"
}

/// A list of names and values.
pub(super) fn pairs(pairs: &[(&str, String)]) -> String {
    let mut table = String::from("<table>\n");
    for (name, value) in pairs {
        let _ = writeln!(
            table,
            "<tr><td>{name}</td><td class=\"n\">{}</td></tr>",
            escape(value)
        );
    }
    table + "</table>\n"
}
