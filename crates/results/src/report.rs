//! `report.html`: one page with everything, which opens without a network.
//!
//! The page embeds plotly.js once, from the `plotly` crate, and loads nothing. Text from the experiment
//! is escaped wherever it goes: into HTML here, into Plotly's labels (which understand tags) in `plots`.

mod plots;

use std::fmt::Write;

use plotly::Plot;

use crate::{Job, Summary, Table, ZeroLoad, show};
use plots::{Figure, Height, figures};

/// The report page of a run. Plots without data are left out: synthetic traffic has no ranks.
pub fn report(summary: &Summary, tables: &[Table]) -> String {
    let figures = figures(summary, tables);
    let mut page = String::with_capacity(6 << 20);
    page += &head(summary);
    page += &cards(summary);
    page += &overview(summary);
    page += &interference(summary);
    page += &bounds(summary);
    for (i, figure) in figures.iter().enumerate() {
        page += &section(i, figure);
    }
    page += &cost(summary);
    page += &experiment(summary);
    page += "</main>\n</body>\n</html>\n";
    page
}

/// Text as HTML shows it, inside elements and inside quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            c => escaped.push(c),
        }
    }
    escaped
}

/// plotly.js in its script element. The crate hands it out together with MathJax, which no plot here
/// needs and which would add two megabytes.
fn plotly_js() -> String {
    let mut sources = Plot::offline_js_sources();
    let end = sources.find("</script>").expect("the crate embeds plotly.js") + "</script>".len();
    sources.truncate(end);
    sources
}

fn head(summary: &Summary) -> String {
    let names: Vec<String> = summary.jobs.iter().map(|job| escape(&job.name)).collect();
    let title = if names.is_empty() {
        "no job".into()
    } else {
        names.join(", ")
    };
    let topology = escape(&summary.network.topology);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>FabricSim: {title}</title>\n<style>\n{}</style>\n{}\n</head>\n\
         <body>\n<header><div><h1>{title}</h1><p>on {topology}</p></div></header>\n<main>\n",
        include_str!("report/style.css"),
        plotly_js(),
    )
}

fn cards(summary: &Summary) -> String {
    let network = &summary.network;
    let mut cards = String::from("<div class=\"cards\">\n");
    for job in summary.jobs.iter().filter(|job| job.ranks > 0) {
        let share = if job.time_ns > 0.0 {
            job.mpi_ns / job.time_ns
        } else {
            0.0
        };
        let what = if job.finished {
            "predicted time"
        } else {
            "cut off by the end of the run"
        };
        let note = format!("{what}; {} of it in MPI", show::percent(share));
        cards += &card(&escape(&job.name), &show::time(job.time_ns), &note);
    }
    let latency = &network.latency_ns;
    let note = format!("mean; 99 % below {}", show::time(latency.p99));
    cards += &card("packet latency", &show::time(latency.mean), &note);
    let mut note = format!(
        "of the injection bandwidth; {} offered",
        show::percent(network.offered_load)
    );
    // What the network could accept of what is offered is news where it is less.
    let most = summary.bounds.as_ref().and_then(|bounds| bounds.accepted_load);
    if let Some(most) = most.filter(|most| *most < 0.999 * network.offered_load) {
        let _ = write!(note, ", at most {} possible", show::percent(most));
    }
    cards += &card("accepted load", &show::percent(network.accepted_load), &note);
    cards + "</div>\n"
}

fn card(label: &str, figure: &str, note: &str) -> String {
    format!("<div class=\"card\"><span>{label}</span><b>{figure}</b><span>{note}</span></div>\n")
}

fn overview(summary: &Summary) -> String {
    let n = &summary.network;
    let mut html = String::from("<section id=\"overview\">\n<h2>Overview</h2>\n");
    if !summary.jobs.is_empty() {
        html += "<div class=\"scroll\"><table>\n<tr><th>job</th><th>kind</th><th class=\"n\">ranks</th>\
            <th class=\"n\">hosts</th><th class=\"n\">time</th><th class=\"n\">computation</th><th class=\"n\">MPI</th>\
            <th class=\"n\">messages</th><th class=\"n\">data</th><th class=\"n\">packet latency</th></tr>\n";
        summary.jobs.iter().for_each(|job| html += &job_row(job));
        html += "</table></div>\n";
    }
    html += "<div class=\"pairs\">\n";
    html += &pairs(&[
        ("hosts", show::hosts(n)),
        ("routers", show::count(n.routers)),
        ("links (each direction)", show::count(n.links)),
        ("mean hops", format!("{:.2}", n.mean_hops)),
        ("measured time", show::time(n.measured_ns)),
    ]);
    html += &pairs(&[
        ("packets delivered", show::count(n.packets_delivered)),
        ("packets in flight at the end", show::count(n.packets_in_flight)),
        ("data delivered", show::bytes(n.bytes_delivered)),
        ("packet latency, median", show::time(n.latency_ns.p50)),
        ("packet latency, largest", show::time(n.latency_ns.max)),
    ]);
    html + "</div>\n</section>\n"
}

/// What jobs do to each other, if they were run alone, too.
fn interference(summary: &Summary) -> String {
    let Some(interference) = &summary.interference else {
        return String::new();
    };
    let mut html = String::from(
        "<section id=\"interference\">\n<h2>Interference</h2>\n<p>Each job of ranks was also run alone, on the same hosts \
         of the same network. The slow-down is its time in company over its time alone.</p>\n<div class=\"scroll\">\
         <table>\n<tr><th>job</th><th class=\"n\">slow-down</th><th class=\"n\">time</th><th class=\"n\">alone</th>\
         <th class=\"n\">MPI</th><th class=\"n\">alone</th><th class=\"n\">packet latency</th><th class=\"n\">alone</th>\
         </tr>\n",
    );
    for job in &interference.jobs {
        let cut_off = if job.alone_finished { "" } else { " (cut off)" };
        let cells = [
            job.slowdown.map_or("–".into(), show::slow_down),
            show::time(job.time_ns),
            show::time(job.alone_ns) + cut_off,
            show::time(job.mpi_ns),
            show::time(job.alone_mpi_ns),
            show::time(job.latency_ns),
            show::time(job.alone_latency_ns),
        ];
        let _ = write!(html, "<tr><td>{}</td>", escape(&job.name));
        for cell in cells {
            let _ = write!(html, "<td class=\"n\">{cell}</td>");
        }
        html += "</tr>\n";
    }
    html + "</table></div>\n</section>\n"
}

/// What was computed without simulating, next to what was simulated.
fn bounds(summary: &Summary) -> String {
    let Some(bounds) = summary.bounds.as_ref().filter(|bounds| !bounds.jobs.is_empty()) else {
        return String::new();
    };
    let mut html = String::from(
        "<section id=\"bounds\">\n<h2>Bounds</h2>\n<p>Computed from topology, routing and pattern, without \
         simulating: the load at which the first link is full, and hops and latency of packets that meet no others. \
         Loads are fractions of the injection bandwidth of the hosts.</p>\n",
    );
    let alone = summary.jobs.len() == 1;
    for bound in &bounds.jobs {
        let number = |number: Option<f64>| number.map_or("–".into(), |number| format!("{number:.3}"));
        let zero = |pick: fn(&ZeroLoad) -> f64| match &bound.zero_load_latency_ns {
            Some(latency) => show::time(pick(latency)),
            None => "–".into(),
        };
        let job = summary.jobs.iter().find(|job| job.name == bound.name);
        let simulated = job.filter(|job| job.packets > 0);
        let of_network = |known: bool, figure: f64| number(known.then_some(figure));
        let everywhere = alone && job.is_some_and(|job| job.hosts == summary.network.hosts);
        let accepted = of_network(everywhere, summary.network.accepted_load);
        let hops = of_network(alone, summary.network.mean_hops);
        let rows = [
            ("load of every host, at most", number(bound.throughput), accepted),
            (
                "the same, of links between routers alone",
                number(bound.router_throughput),
                "–".into(),
            ),
            (
                "mean load of links between routers, at a load of 1",
                number(bound.mean_channel_load),
                "–".into(),
            ),
            (
                "largest load of a link between routers, at a load of 1",
                number(bound.max_channel_load),
                "–".into(),
            ),
            ("mean hops", number(bound.mean_hops), hops),
            (
                "packet latency, mean",
                zero(|latency| latency.mean),
                simulated.map_or("–".into(), |job| show::time(job.latency_ns.mean)),
            ),
            (
                "packet latency, largest",
                zero(|latency| latency.max),
                simulated.map_or("–".into(), |job| show::time(job.latency_ns.max)),
            ),
        ];
        let _ = write!(
            html,
            "<div class=\"scroll\"><table>\n<tr><th>{}</th><th class=\"n\">computed</th>\
             <th class=\"n\">simulated</th></tr>\n",
            escape(&bound.name)
        );
        for (name, computed, simulated) in rows {
            let _ = writeln!(
                html,
                "<tr><td>{name}</td><td class=\"n\">{computed}</td><td class=\"n\">{simulated}</td></tr>"
            );
        }
        html += "</table></div>\n";
        if !bound.limited_by.is_empty() {
            let _ = writeln!(html, "<p>Full first: {}.</p>", escape(&bound.limited_by));
        }
        if !bound.not_computed.is_empty() {
            let _ = writeln!(html, "<p>Not computed: {}.</p>", escape(&bound.not_computed));
        }
    }
    if let Some(most) = bounds.accepted_load {
        let _ = writeln!(
            html,
            "<p>At the loads asked for, {} of the injection bandwidth of all hosts can be accepted at most; {} was.</p>",
            show::percent(most),
            show::percent(summary.network.accepted_load)
        );
    }
    if let (true, Some(scale)) = (bounds.jobs.len() > 1, bounds.scale) {
        let _ = writeln!(
            html,
            "<p>All jobs together: at {scale:.3} times the loads asked for the first link is full: {}.</p>",
            escape(&bounds.scale_limited_by)
        );
    }
    html + "</section>\n"
}

fn job_row(job: &Job) -> String {
    let per_rank = |ns: f64| {
        if job.ranks > 0 {
            show::time(ns)
        } else {
            "–".into()
        }
    };
    let numbers = [
        if job.ranks > 0 {
            show::count(job.ranks)
        } else {
            "–".into()
        },
        show::count(job.hosts),
        format!(
            "{}{}",
            show::time(job.time_ns),
            if job.finished { "" } else { " (cut off)" }
        ),
        per_rank(job.compute_ns),
        per_rank(job.mpi_ns),
        show::count(job.messages),
        show::bytes(job.bytes),
        if job.packets > 0 {
            show::time(job.latency_ns.mean)
        } else {
            "–".into()
        },
    ];
    let mut row = format!("<tr><td>{}</td><td>{}</td>", escape(&job.name), escape(&job.kind));
    for number in numbers {
        let _ = write!(row, "<td class=\"n\">{number}</td>");
    }
    row + "</tr>\n"
}

fn pairs(pairs: &[(&str, String)]) -> String {
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

fn section(i: usize, figure: &Figure) -> String {
    let class = match figure.height {
        Height::Low => "frame low",
        Height::Usual => "frame",
        Height::Tall => "frame tall",
    };
    format!(
        "<section>\n<h2>{}</h2>\n<p>{}</p>\n<div class=\"{class}\">{}</div>\n</section>\n",
        escape(&figure.heading),
        escape(&figure.explanation),
        figure.plot.to_inline_html(Some(&format!("plot-{i}"))),
    )
}

fn cost(summary: &Summary) -> String {
    let run = &summary.run;
    let mut html = String::from("<section id=\"run\">\n<h2>The run itself</h2>\n<div class=\"pairs\">\n");
    let on = match run.processes {
        0 | 1 => format!("{}, {} thread(s)", run.executor, run.threads),
        n => format!("{}, {n} processes of {} thread(s)", run.executor, run.threads),
    };
    html += &pairs(&[
        ("executor", on),
        ("simulated time", show::time(run.simulated_ns)),
        ("wall-clock time", show::time(1e9 * run.wall_s)),
        ("CPU time", show::time(1e9 * run.cpu_s)),
        ("largest memory", show::bytes(run.peak_rss_bytes)),
    ]);
    html += &pairs(&[
        ("events committed", show::count(run.events_committed)),
        ("events rolled back", show::count(run.events_rolled_back)),
        ("events to other threads", show::count(run.events_remote)),
        ("packet-hops", show::count(summary.network.packet_hops)),
        (
            "packet-hops per CPU second",
            show::rate(run.packet_hops_per_cpu_s),
        ),
    ]);
    html += "</div>\n";
    if run.events_rolled_back > 0 {
        html += "<div class=\"pairs\">\n";
        html += &pairs(&[
            ("efficiency", format!("{:.1} %", 100.0 * run.efficiency)),
            ("rollbacks by late events", show::count(run.primary_rollbacks)),
            (
                "rollbacks by cancelled events",
                show::count(run.secondary_rollbacks),
            ),
            ("cancellations to other threads", show::count(run.anti_messages)),
        ]);
        html += &pairs(&[
            ("rollbacks of routers", show::count(run.rollbacks.router)),
            ("rollbacks of hosts", show::count(run.rollbacks.host)),
            ("global virtual times", show::count(run.gvt_rounds)),
        ]);
        html += "</div>\n";
    }
    if run.parts.len() > 1 {
        html += "<table>\n<tr><th>process</th><th>thread</th><th>routers</th><th>hosts</th><th>share of work</th></tr>\n";
        for part in &run.parts {
            let [first, end] = part.router_range;
            let routers = match part.routers {
                0 => "none".into(),
                n => format!("{n}: {first} to {}", end - 1),
            };
            html += &format!(
                "<tr><td>{}</td><td>{}</td><td>{routers}</td><td>{}</td><td>{:.1} %</td></tr>\n",
                part.process,
                part.thread,
                part.hosts,
                100.0 * part.share,
            );
        }
        html += "</table>\n";
    }
    html + "</section>\n"
}

fn experiment(summary: &Summary) -> String {
    let json =
        serde_json::to_string_pretty(&summary.experiment).expect("JSON values are written as they are");
    format!(
        "<details id=\"experiment\">\n<summary>The experiment with every default</summary>\n<pre>{}</pre>\n</details>\n\
         <footer>FabricSim {} · digest <code>{}</code></footer>\n",
        escape(&json),
        escape(&summary.run.version),
        escape(&summary.digest),
    )
}
