//! The section of the report on energy: by part of the network, and by job.

use super::html::{HtmlSection, numbers, paragraph, table, words};
use super::overview::pairs;
use crate::{EnergySummary, JobSummary, Summary, show};

/// Maximum number of rows of parts, and of jobs.
const MOST_ROWS: usize = 60;

/// The energy of the run. `None` unless the experiment gives the power of its parts.
pub(super) fn energy(summary: &Summary) -> Option<HtmlSection> {
    let energy = summary.network.energy.as_ref()?;
    let explanation = "Energy from time 0 to the end of the run. Idle energy is drawn whatever the load; load adds the \
                       rest, in proportion to the times during which links transmit.";
    let mut body = paragraph(explanation);
    body += &pairs(&[
        ("energy", show::energy(energy.total_j)),
        ("added by load", show::energy(energy.dynamic_j)),
        ("mean power", shown(energy.mean_power_w, show::power)),
        (
            "energy of delivered data",
            shown(energy.pj_per_bit, |pj| format!("{}/bit", show::energy(pj / 1e12))),
        ),
    ]);
    body += &parts(energy);
    body += &jobs(&summary.jobs, energy);
    Some(HtmlSection::new("energy", "Energy", body))
}

fn shown(value: Option<f64>, how: impl Fn(f64) -> String) -> String {
    value.map_or("–".into(), how)
}

fn share(part_j: f64, energy: &EnergySummary) -> String {
    shown(
        (energy.total_j > 0.0).then(|| part_j / energy.total_j),
        show::percent,
    )
}

fn parts(energy: &EnergySummary) -> String {
    let columns = [
        words("part"),
        numbers("number"),
        numbers("idle"),
        numbers("added by load"),
        numbers("share of all"),
    ];
    let drawing = energy
        .parts
        .iter()
        .filter(|part| part.idle_j + part.dynamic_j > 0.0);
    let rows: Vec<_> = drawing
        .take(MOST_ROWS)
        .map(|part| {
            vec![
                part.name(),
                show::count(part.count),
                show::energy(part.idle_j),
                show::energy(part.dynamic_j),
                share(part.idle_j + part.dynamic_j, energy),
            ]
        })
        .collect();
    table(&columns, &rows, "summary.json")
}

fn jobs(jobs: &[JobSummary], energy: &EnergySummary) -> String {
    let columns = [
        words("job"),
        numbers("share of idle energy"),
        numbers("added by its packets"),
        numbers("together"),
        numbers("share of all"),
    ];
    let known = jobs.iter().filter_map(|job| Some((job, job.energy?)));
    let mut rows: Vec<_> = known
        .take(MOST_ROWS)
        .map(|(job, of_job)| {
            vec![
                job.name.clone(),
                show::energy(of_job.idle_j),
                show::energy(of_job.dynamic_j),
                show::energy(of_job.total_j),
                share(of_job.total_j, energy),
            ]
        })
        .collect();
    rows.push(vec![
        "no job".into(),
        show::energy(energy.unallocated_j),
        "–".into(),
        show::energy(energy.unallocated_j),
        share(energy.unallocated_j, energy),
    ]);
    let explanation = "A job has the idle energy of the network in proportion to the hosts that it holds, from its start \
                       to its end. Time and hosts that no job has are in the last row.";
    paragraph(explanation) + &table(&columns, &rows, "summary.json")
}
