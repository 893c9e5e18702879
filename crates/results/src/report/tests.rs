//! The page with constructed tables of a run that collected everything: each section exists if its table does,
//! nothing is loaded, and a large run has a small page.

use std::path::Path;

use super::source::tests::{ColumnCells, made};
use super::{REPORT_BYTES, report, report_with_files};
use crate::rows::{LinkRow, links};
use crate::summary::{JobSummary, NetworkSummary};
use crate::{ScheduleDistribution, ScheduleSummary, Summary, Table, compare};

/// Sections with a table of their own: name of the table, id of the section.
const SECTIONS: [(&str, &str); 10] = [
    ("ranks", "split"),
    ("critical_path", "critical-path"),
    ("job_series", "progress"),
    ("messages", "communication"),
    ("messages", "messages"),
    ("class_series", "load"),
    ("waits", "waits"),
    ("vc_series", "buffers"),
    ("host_series", "hosts"),
    ("hosts", "host-latency"),
];

const NAMES: [&str; 2] = ["halo", "background"];

/// Size of a constructed run.
#[derive(Clone, Copy)]
struct Size {
    bins: u64,
    links: u32,
    vcs: u8,
    hosts: u32,
    ranks: u32,
    /// Messages, waits, steps.
    items: u64,
}

const SMALL: Size = Size {
    bins: 24,
    links: 12,
    vcs: 2,
    hosts: 6,
    ranks: 4,
    items: 60,
};

const BIN_PS: u64 = 1_000_000;

/// Numbers similar to those of a run: waves over time and place.
fn wave(bin: u64, place: u64, most: u64) -> u64 {
    let (t, p) = (bin as f64 / 9.0, place as f64);
    (most as f64 * (0.5 + 0.3 * (t + 0.37 * p).sin() + 0.2 * (1.7 * p).cos()).clamp(0.0, 1.0)) as u64
}

/// Every pair of bin and place.
fn grid(bins: u64, places: u64) -> Vec<(u64, u64)> {
    (0..bins)
        .flat_map(|bin| (0..places).map(move |place| (bin, place)))
        .collect()
}

fn column<T>(cells: &[(u64, u64)], of: impl Fn(u64, u64) -> T) -> Vec<T> {
    cells.iter().map(|(bin, place)| of(*bin, *place)).collect()
}

fn series(name: &str, cells: &[(u64, u64)], rest: Vec<(&str, ColumnCells)>) -> Table {
    let mut columns = vec![
        ("begin_ps", ColumnCells::U64(column(cells, |bin, _| bin * BIN_PS))),
        (
            "end_ps",
            ColumnCells::U64(column(cells, |bin, _| (bin + 1) * BIN_PS)),
        ),
    ];
    columns.extend(rest);
    made(name, columns)
}

/// All the tables of a run that collected everything.
fn tables(size: Size) -> Vec<Table> {
    let of_class = |place: u64| ["ejection", "global", "injection", "local"][place as usize];
    let classes = grid(size.bins, 4);
    let buffers = grid(size.bins, u64::from(size.links) * u64::from(size.vcs));
    let vcs = u64::from(size.vcs);
    let hosts = grid(size.bins, u64::from(size.hosts));
    let jobs = grid(size.bins, 2);
    let mut tables = vec![
        series(
            "class_series",
            &classes,
            vec![
                (
                    "class",
                    ColumnCells::Text(column(&classes, |_, place| of_class(place))),
                ),
                ("links", ColumnCells::U64(column(&classes, |_, _| 4))),
                (
                    "busy_ps",
                    ColumnCells::U64(column(&classes, |bin, place| wave(bin, place, 4 * BIN_PS))),
                ),
                (
                    "buffer_full_ps",
                    ColumnCells::U64(column(&classes, |bin, place| wave(bin, place, BIN_PS / 3))),
                ),
            ],
        ),
        series(
            "vc_series",
            &buffers,
            vec![
                (
                    "link",
                    ColumnCells::U32(column(&buffers, |_, place| (place / vcs) as u32)),
                ),
                (
                    "vc",
                    ColumnCells::U8(column(&buffers, |_, place| (place % vcs) as u8)),
                ),
                (
                    "used_bytes",
                    ColumnCells::U32(column(&buffers, |bin, place| wave(bin, place, 65_000) as u32)),
                ),
                (
                    "capacity_bytes",
                    ColumnCells::U32(column(&buffers, |_, _| 65_536)),
                ),
            ],
        ),
        series(
            "host_series",
            &hosts,
            vec![
                ("host", ColumnCells::U32(column(&hosts, |_, host| host as u32))),
                (
                    "bytes_sent",
                    ColumnCells::U64(column(&hosts, |bin, host| wave(bin, host, 12_000))),
                ),
                (
                    "bytes_received",
                    ColumnCells::U64(column(&hosts, |bin, host| wave(bin + 3, host, 12_000))),
                ),
                (
                    "nic_queue_bytes",
                    ColumnCells::U64(column(&hosts, |bin, host| wave(bin, host, 90_000))),
                ),
            ],
        ),
        series(
            "job_series",
            &jobs,
            vec![
                (
                    "job",
                    ColumnCells::Text(column(&jobs, |_, job| NAMES[job as usize])),
                ),
                (
                    "bytes_sent",
                    ColumnCells::U64(column(&jobs, |bin, job| wave(bin, 3 * job, 50_000))),
                ),
                (
                    "bytes_received",
                    ColumnCells::U64(column(&jobs, |bin, job| (1 - job) * wave(bin, job, 50_000))),
                ),
                (
                    "messages_received",
                    ColumnCells::U64(column(&jobs, |bin, job| (1 - job) * wave(bin, job, 50))),
                ),
                (
                    "packets_delivered",
                    ColumnCells::U64(column(&jobs, |bin, job| wave(bin, job, 80))),
                ),
                (
                    "ranks_finished",
                    ColumnCells::U64(column(&jobs, |bin, job| {
                        u64::from(bin + 4 > size.bins && job == 0)
                    })),
                ),
            ],
        ),
    ];
    tables.extend(of_ranks(size));
    tables.push(of_hosts(size));
    tables.push(links((0..size.links).map(|link| LinkRow {
        link,
        class: of_class(u64::from(link) % 4).into(),
        from: format!(
            "router {} (group {}, router {}) port {}",
            link / 6,
            link / 24,
            link / 6 % 4,
            link % 6
        ),
        from_kind: "router".into(),
        from_id: link / 6,
        to: format!(
            "router {} (group {}, router {}) port {}",
            link / 5,
            link / 20,
            link / 5 % 4,
            link % 5
        ),
        bandwidth_bits_per_s: 100_000_000_000,
        bytes: 1000,
        packets: 4,
        busy_ps: wave(3, u64::from(link), BIN_PS),
        busy_fraction: wave(3, u64::from(link), 1000) as f64 / 1000.0,
        buffer_full_ps: wave(5, u64::from(link), BIN_PS / 4),
        ..LinkRow::default()
    })));
    tables
}

/// The packets that hosts received.
fn of_hosts(size: Size) -> Table {
    let cells = |of: fn(u64) -> u64| {
        ColumnCells::MaybeU64((0..size.hosts).map(|host| Some(of(host.into()))).collect())
    };
    made(
        "hosts",
        vec![
            ("host", ColumnCells::U32((0..size.hosts).collect())),
            ("packets_received", cells(|host| 1 + host)),
            (
                "latency_sum_ps",
                cells(|host| (1 + host) * wave(2, host, 900_000)),
            ),
            ("latency_max_ps", cells(|_| 1_000_000)),
            ("hops_sum", cells(|host| (1 + host) * (3 + host % 3))),
        ],
    )
}

/// Tables of runs of ranks with full collection.
fn of_ranks(size: Size) -> Vec<Table> {
    let steps = |n: u64| -> Vec<u64> { (0..n).collect() };
    let items = steps(size.items);
    let pick = |of: fn(u64) -> u64| ColumnCells::U64(items.iter().map(|i| of(*i)).collect());
    let text = |of: fn(u64) -> &'static str| ColumnCells::Text(items.iter().map(|i| of(*i)).collect());
    let words =
        |of: fn(u64) -> Option<&'static str>| ColumnCells::Words(items.iter().map(|i| of(*i)).collect());
    let halo = || ColumnCells::Words(items.iter().map(|_| Some("halo")).collect());
    let (links, ranks) = (u64::from(size.links), u64::from(size.ranks));
    let link = || ColumnCells::U32(items.iter().map(|i| (i * i % links) as u32).collect());
    const STEP: u64 = BIN_PS / 4;
    vec![
        made(
            "ranks",
            vec![
                ("job", ColumnCells::Text(vec!["halo"; 64])),
                ("rank", ColumnCells::U32((0..64).collect())),
                ("compute_ps", ColumnCells::U64(vec![4 * STEP; 64])),
                ("mpi_ps", ColumnCells::U64(vec![6 * STEP; 64])),
                ("overhead_ps", ColumnCells::U64(vec![STEP; 64])),
                ("partner_ps", ColumnCells::U64(vec![3 * STEP; 64])),
                ("collective_link_wait_ps", ColumnCells::U64(vec![2 * STEP; 64])),
            ],
        ),
        made(
            "messages",
            vec![
                ("job", halo()),
                (
                    "from_rank",
                    ColumnCells::U32(items.iter().map(|i| (i % ranks) as u32).collect()),
                ),
                (
                    "to_rank",
                    ColumnCells::U32(items.iter().map(|i| (i * i % ranks) as u32).collect()),
                ),
                (
                    "protocol",
                    text(|i| ["eager", "rendezvous", "memory"][(i % 3) as usize]),
                ),
                ("bytes", pick(|i| 64 << (i % 12))),
                ("posted_ps", pick(|i| i * 1000)),
                ("sent_ps", pick(|i| i * 1000 + 300_000 * (i % 3))),
                ("injected_ps", pick(|i| i * 1000 + 1_000_000)),
                ("arrived_ps", pick(|i| i * 1000 + 2_200_000 + 7000 * (i % 40))),
                ("matched_ps", pick(|i| i * 1000 + 2_900_000 + 8000 * (i % 40))),
            ],
        ),
        made(
            "waits",
            vec![
                ("job", words(|i| Some(NAMES[(i % 2) as usize]))),
                ("link", link()),
                ("begin_ps", pick(|i| i * 1000)),
                ("end_ps", pick(|i| i * 1500 + 1000)),
                ("reason", text(|i| ["wire", "credits", "nic"][(i % 3) as usize])),
                (
                    "holder",
                    words(|i| (i % 3 < 2).then_some(NAMES[(i / 2 % 2) as usize])),
                ),
            ],
        ),
        made(
            "critical_path",
            vec![
                ("job", halo()),
                (
                    "kind",
                    text(|i| ["compute", "overhead", "wait", "network"][(i % 4) as usize]),
                ),
                ("rank", pick(|i| i / 4 % 5)),
                ("begin_ps", pick(|i| i * STEP)),
                ("end_ps", pick(|i| (i + 1) * STEP)),
                (
                    "link",
                    ColumnCells::MaybeU64(items.iter().map(|i| (i % 4 > 1).then_some(i % links)).collect()),
                ),
                ("reason", words(|i| (i % 4 == 2).then_some("credits"))),
                ("holder", words(|i| (i % 4 == 2).then_some("background"))),
            ],
        ),
    ]
}

pub(super) fn summary() -> Summary {
    let job = |name: &str, ranks: u64| JobSummary {
        name: name.into(),
        kind: if ranks > 0 { "motif" } else { "traffic" }.into(),
        ranks,
        hosts: 4,
        finished: true,
        time_ns: 7500.0,
        ..Default::default()
    };
    Summary {
        schema: crate::SCHEMA.into(),
        digest: "00ff".into(),
        experiment: serde_json::json!({ "network": { "topology": { "kind": "dragonfly" } } }),
        network: NetworkSummary {
            topology: "dragonfly".into(),
            hosts: 6,
            ..Default::default()
        },
        jobs: vec![job(NAMES[0], 4), job(NAMES[1], 0)],
        notes: Vec::new(),
        verdict: None,
        rounded_rates: Vec::new(),
        assumptions: crate::Assumptions::default(),
        schedule: None,
        interference: None,
        bounds: None,
        collect: None,
        run: Default::default(),
    }
}

/// The page without plotly.js, which contains addresses (of map tiles, which nothing here draws).
fn own(page: &str) -> String {
    let start = page.find("<script").expect("plotly.js is embedded");
    let end = start + page[start..].find("</script>").unwrap();
    format!("{}{}", &page[..start], &page[end..])
}

fn written(tables: &[Table], folder: &Path) {
    for table in tables {
        table
            .write(&folder.join(format!("{}.parquet", table.name())))
            .unwrap();
    }
}

#[test]
fn a_section_is_there_if_and_only_if_its_table_is() {
    let all = tables(SMALL);
    let page = own(&report(&summary(), &all));
    for (table, id) in SECTIONS {
        let section = format!("<section id=\"{id}\"");
        assert!(page.contains(&section), "no section '{id}'");
        assert!(
            page.contains(&format!("<a href=\"#{id}\">")),
            "'{id}' is not among the contents"
        );
        let without: Vec<Table> = all.iter().filter(|t| t.name() != table).cloned().collect();
        let page = report(&summary(), &without);
        assert!(
            !page.contains(&section),
            "a section '{id}' without the table {table}"
        );
    }
}

#[test]
fn tables_in_files_give_the_same_page_as_tables_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let all = tables(SMALL);
    let is_kept = |table: &Table| ["links", "ranks"].contains(&table.name());
    let (kept, streamed): (Vec<Table>, Vec<Table>) = all.iter().cloned().partition(is_kept);
    written(&streamed, folder.path());
    let page = report_with_files(&summary(), &kept, folder.path()).unwrap();
    assert!(page == report(&summary(), &all), "the pages differ");
    std::fs::write(folder.path().join("waits.parquet"), "damaged").unwrap();
    let error = report_with_files(&summary(), &kept, folder.path()).unwrap_err();
    assert!(error.to_string().contains("waits.parquet"), "{error}");
}

#[test]
fn the_page_of_everything_loads_nothing_and_describes_every_plot() {
    let page = own(&report(&summary(), &tables(SMALL)));
    for load in ["src=", "http://", "https://", "@import", "url("] {
        assert!(!page.contains(load), "'{load}' in the page");
    }
    let (drawn, described) = (
        page.matches("Plotly.newPlot(").count(),
        page.matches("role=\"img\" aria-label=\"").count(),
    );
    assert!(
        drawn > 12 && drawn == described,
        "{drawn} plots, {described} described"
    );
    assert!(!page.contains("aria-label=\"\""));
}

#[test]
fn a_job_and_a_cause_have_one_colour_in_all_plots() {
    let tables = tables(SMALL);
    let source = super::source::TableSource::new(&tables, None);
    let figures = super::plots::figures(&summary(), source).unwrap();
    let mut seen = std::collections::BTreeMap::<String, Vec<String>>::new();
    for panel in figures.iter().flat_map(|figure| &figure.panels) {
        let plot: serde_json::Value = serde_json::from_str(&panel.plot.to_json()).unwrap();
        for trace in plot["data"].as_array().unwrap() {
            let colour = trace["line"]["color"]
                .as_str()
                .or(trace["marker"]["color"].as_str());
            if let (Some(name), Some(colour)) = (trace["name"].as_str(), colour) {
                seen.entry(name.into()).or_default().push(colour.into());
            }
        }
    }
    for (name, colour) in [
        (NAMES[0], crate::colours::series(0)),
        (NAMES[1], crate::colours::series(1)),
        ("computation", crate::colours::time("compute")),
        ("network", crate::colours::time("transfer")),
    ] {
        let found = &seen[name];
        assert!(
            found.len() > 1 && found.iter().all(|one| one == colour),
            "{name}: {found:?}, not {colour}"
        );
    }
}

#[test]
fn the_page_is_made_for_light_and_dark_grounds() {
    let page = own(&report(&summary(), &tables(SMALL)));
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("const DARK = {"));
    // Each colour of a plot has a dark value, which the script finds by the light one.
    let dark: std::collections::BTreeMap<String, String> = {
        let from = page.find("const DARK = ").unwrap() + "const DARK = ".len();
        serde_json::from_str(&page[from..from + page[from..].find(';').unwrap()]).unwrap()
    };
    let plots: Vec<&str> = page
        .split("Plotly.newPlot(")
        .skip(1)
        .map(|rest| &rest[..rest.find("</script>").unwrap()])
        .collect();
    let mut colours = 0;
    for plot in plots {
        for (at, _) in plot.match_indices("\"#") {
            let hex = &plot[at + 1..at + 8];
            assert!(dark.contains_key(&hex.to_lowercase()), "{hex} has no dark value");
            colours += 1;
        }
    }
    assert!(colours > 100, "{colours}");
}

#[test]
fn a_large_run_has_a_page_below_the_limit() {
    let size = Size {
        bins: 600,
        links: 500,
        vcs: 2,
        hosts: 1000,
        ranks: 1000,
        items: 200_000,
    };
    let folder = tempfile::tempdir().unwrap();
    let (kept, streamed): (Vec<Table>, Vec<Table>) =
        tables(size).into_iter().partition(|t| t.name() == "links");
    written(&streamed, folder.path());
    drop(streamed);
    let mut summary = summary();
    let hosts: Vec<u32> = (0..300_000).collect();
    summary.experiment = serde_json::json!({ "job": [{ "hosts": hosts }] });
    let first = summary.jobs[0].clone();
    let many = (0..5000).map(|n| JobSummary {
        name: format!("job {n} of a long name that says what it is for"),
        ..first.clone()
    });
    summary.jobs.extend(many);
    summary.jobs[0].ranks = size.ranks.into();
    let page = report_with_files(&summary, &kept, folder.path()).unwrap();
    assert!(page.len() < REPORT_BYTES, "{} bytes", page.len());
    for left_out in [
        "The 128 of 500 links with the fullest buffers",
        "mean of 8 consecutive hosts",
        "A row or column is 16 ranks",
        "Only the first 4 of",
        "of 5002 rows; all of them are in <code>jobs.parquet</code>",
        "so that this text cannot be run",
    ] {
        assert!(page.contains(left_out), "the page does not say '{left_out}'");
    }
}

#[test]
fn the_schedule_of_a_job_trace_is_in_page_and_comparison() {
    let without = summary();
    assert!(!own(&report(&without, &[])).contains("id=\"schedule\""));
    assert!(!compare(&[("run", without)]).contains("utilisation"));

    let mut with = summary();
    let waits = |mean: f64, max: f64| ScheduleDistribution {
        mean,
        p90: 90.0,
        max,
        ..ScheduleDistribution::default()
    };
    with.schedule = Some(ScheduleSummary {
        scheduler: "easy-backfill".into(),
        hosts: 64,
        jobs: 20,
        simulated_jobs: 12,
        left_out: [("more hosts than the machine has".to_string(), 3)].into(),
        utilisation: 0.75,
        wait_s: Some(waits(30.0, 7200.0)),
        bounded_slowdown: Some(waits(1.25, 9.0)),
        time_scale: 1_000_000,
        ..ScheduleSummary::default()
    });
    let page = own(&report(&with, &[]));
    assert!(page.contains("id=\"schedule\""));
    for shown in [
        "easy-backfill",
        "12 of 20",
        "75.0 %",
        "30 s",
        "1.250x",
        "more hosts than the machine has",
    ] {
        assert!(page.contains(shown), "{shown} is missing in the page");
    }
    let text = compare(&[("run", with), ("other", summary())]);
    let value = |label: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(label));
        let line = line.unwrap_or_else(|| panic!("no line {label:?} in\n{text}"));
        line.trim_start()[label.len()..]
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(value("schedule"), "easy-backfill -");
    assert_eq!(value("jobs, simulated"), "12 of 20 -");
    assert_eq!(value("utilisation"), "75.0 % -");
    assert_eq!(value("wait of a job, mean"), "30 s -");
    assert_eq!(value("wait of a job, max"), "7200 s -");
    assert_eq!(value("bounded slow-down, mean"), "1.250x -");
}

#[test]
fn names_in_tables_cannot_become_code() {
    let evil = "</script><script>alert(1)</script><b onclick='x'>";
    let mut tables = tables(SMALL);
    tables.retain(|t| !["waits", "links", "messages"].contains(&t.name()));
    let text = |text: &'static str| ColumnCells::Text(vec![text]);
    tables.push(made(
        "waits",
        vec![
            ("job", text(evil)),
            ("link", ColumnCells::U32(vec![0])),
            ("begin_ps", ColumnCells::U64(vec![0])),
            ("end_ps", ColumnCells::U64(vec![1])),
            ("reason", text(evil)),
            ("holder", text(evil)),
        ],
    ));
    tables.push(made(
        "messages",
        vec![
            ("job", text(evil)),
            ("protocol", text(evil)),
            ("bytes", ColumnCells::U64(vec![1])),
            ("posted_ps", ColumnCells::U64(vec![0])),
            ("sent_ps", ColumnCells::U64(vec![1])),
            ("injected_ps", ColumnCells::U64(vec![2])),
            ("arrived_ps", ColumnCells::U64(vec![3])),
            ("matched_ps", ColumnCells::U64(vec![4])),
        ],
    ));
    tables.push(links([LinkRow {
        link: 0,
        class: evil.into(),
        from: format!("{evil} port 1"),
        from_kind: "router".into(),
        to: evil.into(),
        bandwidth_bits_per_s: 1,
        bytes: 1,
        packets: 1,
        busy_ps: 1,
        busy_fraction: 0.5,
        buffer_full_ps: 1,
        ..LinkRow::default()
    }]));
    let page = own(&report(&summary(), &tables));
    assert!(
        page.contains("id=\"waits\"") && page.contains("id=\"buffers\"") && page.contains("id=\"routers\"")
    );
    assert!(!page.contains("<script>alert") && !page.contains("<b onclick"));
    assert_eq!(
        page.matches("</script>").count(),
        page.matches("<script").count() + 1
    );
}
