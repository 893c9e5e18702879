//! The report page: complete, self-contained, safe whatever the names.

mod sample;

use fabricsim_results::{Outcome, REPORT_BYTES, RunResult, RunSummary, report};

/// The page without plotly.js, which has addresses of its own (of maps, which nothing here draws).
fn own(page: &str) -> String {
    let start = page.find("<script").expect("plotly.js is embedded");
    let end = start + page[start..].find("</script>").unwrap();
    format!("{}{}", &page[..start], &page[end..])
}

#[test]
fn names_from_the_experiment_cannot_become_code() {
    let evil = "</script><script>alert(1)</script><b onclick='x'>&\"";
    let mut outcome = sample::outcome();
    outcome.network.topology = evil.into();
    outcome
        .jobs
        .iter_mut()
        .for_each(|job| job.name = format!("{evil}{}", job.ranks));
    let experiment = serde_json::json!({ "name": evil });
    let result = RunResult::new(
        experiment,
        outcome,
        RunSummary {
            version: evil.into(),
            ..sample::run()
        },
    );
    let page = own(&report(&result.summary, &result.tables));
    assert!(!page.contains("<script>alert"), "unescaped script");
    assert!(!page.contains("<b onclick"), "unescaped element");
    assert_eq!(
        page.matches("</script>").count(),
        page.matches("<script").count() + 1
    );
}

#[test]
fn a_run_without_ranks_or_anything_has_a_page() {
    let empty = RunResult::new(serde_json::json!({}), Outcome::default(), RunSummary::default());
    let page = report(&empty.summary, &empty.tables);
    assert!(!page.contains("Plotly.newPlot(\"plot-0\""));
    let mut outcome = sample::outcome();
    outcome.tables.retain(|t| t.name() == "links");
    outcome.jobs.remove(0);
    let traffic = RunResult::new(sample::experiment(), outcome, sample::run());
    let page = report(&traffic.summary, &traffic.tables);
    assert!(!page.contains("Time per rank") && page.contains("Hottest links"));
}

#[test]
fn the_page_has_every_section_and_loads_nothing() {
    let result = sample::result();
    let page = report(&result.summary, &result.tables);
    assert!(page.len() < REPORT_BYTES, "{} bytes", page.len());
    assert_eq!(
        page.matches("plotly.js v").count(),
        1,
        "plotly.js is embedded once"
    );
    assert!(page.len() < 5_200_000, "no MathJax");
    let own = own(&page);
    for part in [
        "Overview",
        "Time per rank",
        "Packet latency",
        "Hops",
        "Hottest links",
        "Link utilisation by class",
        "Energy",
        "Cost of the run",
        "The run itself",
        "The experiment with every default",
        "21.39 ms",
        " port ",
        "MPI_Allreduce",
        &result.summary.digest,
    ] {
        assert!(own.contains(part), "no '{part}'");
    }
    for load in ["src=", "http://", "https://", "@import", "url("] {
        assert!(!own.contains(load), "'{load}' in the page");
    }
}

#[test]
fn a_large_run_has_a_small_page() {
    use fabricsim_results::rows::{self, RankRow};
    let mut outcome = sample::outcome();
    let row = |rank| RankRow {
        job: "lammps".into(),
        rank,
        host: rank,
        finished: true,
        time_ps: 5,
        compute_ps: 2,
        mpi_ps: 3,
        ..RankRow::default()
    };
    outcome.tables[0] = rows::ranks((0..100_000).map(row));
    let result = RunResult::new(sample::experiment(), outcome, sample::run());
    let page = report(&result.summary, &result.tables);
    assert!(own(&page).len() < 500_000, "{}", own(&page).len());
    assert!(page.contains("mean of 250 consecutive ranks"));
}

/// The time of a stopped job is a setting, so that its card has that of its repetitions.
#[test]
fn a_stopped_job_shows_its_repetitions() {
    let page = |times: &[u64]| {
        let mut outcome = sample::outcome();
        (outcome.jobs[0].finished, outcome.jobs[0].stopped) = (false, true);
        times
            .iter()
            .for_each(|ps| outcome.jobs[0].repetition_times.add(*ps));
        let result = RunResult::new(serde_json::Value::Null, outcome, RunSummary::default());
        own(&report(&result.summary, &result.tables))
    };
    let some = page(&[3_000_000, 5_000_000]);
    assert!(some.contains("<b>4 µs</b><span>mean time of 2 repetitions; stopped after 21.39 ms</span>"));
    assert!(some.contains("21.39 ms (stopped)"));
    assert!(page(&[]).contains("<b>–</b><span>no complete repetition; stopped after 21.39 ms</span>"));
}

#[test]
fn slow_downs_have_a_table() {
    let mut result = sample::result();
    let page = own(&report(&result.summary, &result.tables));
    let section = &page[page
        .find("<section id=\"interference\"")
        .expect("it has interference")..];
    let section = &section[..section.find("</section>").unwrap()];
    for part in [
        "<td>lammps</td>",
        ">1.250x</td>",
        ">21.39 ms</td>",
        ">17.11 ms</td>",
        ">700.5 ns</td>",
    ] {
        assert!(section.contains(part), "{part}: {section}");
    }
    let jobs = &mut result.summary.interference.as_mut().unwrap().jobs;
    (jobs[0].slowdown, jobs[0].alone_finished, jobs[0].name) = (None, false, "<b>".into());
    let page = own(&report(&result.summary, &result.tables));
    assert!(page.contains("17.11 ms (cut off)") && page.contains("<td>&lt;b&gt;</td><td class=\"n\">–</td>"));
    result.summary.interference = None;
    assert!(!own(&report(&result.summary, &result.tables)).contains("id=\"interference\""));
}

#[test]
fn what_was_computed_stands_next_to_what_was_simulated() {
    let mut result = sample::result();
    let page = own(&report(&result.summary, &result.tables));
    let section = &page[page.find("<section id=\"bounds\"").expect("it has bounds")..];
    let section = &section[..section.find("</section>").unwrap()];
    for part in [
        ">0.750</td>",
        ">3.750</td>",
        ">512.5 ns</td>",
        "First full link: leaf-spine link of router 3",
    ] {
        assert!(section.contains(part), "{part}: {section}");
    }
    let latency = &section[section.find("packet latency, mean").unwrap()..];
    let cells: Vec<&str> = latency.split("</td>").skip(1).take(2).collect();
    assert!(
        cells[0].ends_with(">512.5 ns") && cells[1].ends_with("s") && cells[0] != cells[1],
        "computed and simulated: {cells:?}"
    );
    assert!(section.contains("at most 30.0 % of the injection bandwidth of all hosts can be accepted"));
    result.summary.network.offered_load = 0.9;
    assert!(
        own(&report(&result.summary, &result.tables)).contains("at most 30.0 % possible"),
        "beside the accepted load, where less is possible than is offered"
    );
    result.summary.bounds = None;
    let page = own(&report(&result.summary, &result.tables));
    assert!(!page.contains("id=\"bounds\"") && !page.contains("possible"));
}
