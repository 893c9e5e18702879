//! The section of the report on the schedule of a job trace: utilisation, waits and slow-downs.

use super::html::{HtmlSection, numbers, paragraph, table, words};
use super::overview::pairs;
use crate::{ScheduleDistribution, Summary, show};

/// The schedule of the run. `None` without a job trace.
pub(super) fn schedule(summary: &Summary) -> Option<HtmlSection> {
    let schedule = summary.schedule.as_ref()?;
    let seconds = |s: f64| show::time(s * 1e9);
    let explanation = format!(
        "The scheduler placed the jobs of a trace before the run; the network has no effect on it. Times are those of \
         the trace, of which {} s are simulated as 1 s. Utilisation and waits are those from {} to {} of the trace.",
        show::count(schedule.time_scale),
        seconds(schedule.from_s),
        seconds(schedule.until_s),
    );
    let mut body = paragraph(&explanation);
    body += &pairs(&[
        ("scheduler", schedule.scheduler.clone()),
        ("hosts", show::count(schedule.hosts)),
        ("simulated jobs", schedule.simulated_of_all()),
        ("utilisation", show::percent(schedule.utilisation)),
        ("most jobs waiting at one time", show::count(schedule.waiting_max)),
    ]);
    let columns = [
        words("over the jobs that arrive in this time"),
        numbers("mean"),
        numbers("median"),
        numbers("p90"),
        numbers("p99"),
        numbers("max"),
    ];
    let row = |name: &str, values: Option<&ScheduleDistribution>, how: &dyn Fn(f64) -> String| {
        let shown =
            |of: fn(&ScheduleDistribution) -> f64| values.map_or("–".into(), |values| how(of(values)));
        vec![
            name.to_string(),
            shown(|v| v.mean),
            shown(|v| v.p50),
            shown(|v| v.p90),
            shown(|v| v.p99),
            shown(|v| v.max),
        ]
    };
    let rows = [
        row("wait", schedule.wait_s.as_ref(), &seconds),
        row(
            "bounded slow-down",
            schedule.bounded_slowdown.as_ref(),
            &show::slow_down,
        ),
    ];
    body += &table(&columns, &rows, "summary.json");
    let left_out = schedule.left_out.iter();
    let left_out: Vec<_> = left_out
        .map(|(reason, jobs)| vec![reason.clone(), show::count(*jobs)])
        .collect();
    if !left_out.is_empty() {
        let columns = [words("left out, because"), numbers("jobs")];
        body += &table(&columns, &left_out, "summary.json");
    }
    Some(HtmlSection::new("schedule", "Schedule", body))
}
