//! The critical path of each job, from the table `critical_path` and the summary `critical_path.json`, which
//! `fabricsim explain` writes. It shows which activities determine the time of a job.

use std::collections::{BTreeMap, BTreeSet};

use plotly::common::{Line, Marker, Mode, Orientation};
use plotly::layout::{Axis, BarMode};
use plotly::{Bar, Plot, Scatter};

use super::waits::ends;
use super::{Figure, Height, MOST_JOBS, escape, in_unit, named, plot, rounded, unit_of, x_axis};
use crate::report::html::{details, numbers, table, words};
use crate::report::source::TableSource;
use crate::{CRITICAL_PATH, CriticalPath, CriticalPaths, ReadError, Summary, Table, colours, show};

/// Maximum number of listed locations per job.
const MOST_PLACES: usize = 15;
/// Above this rank the axis chooses its own ticks.
const MOST_RANK_TICKS: u64 = 15;
/// Maximum number of sentences about waits.
const MOST_SENTENCES: usize = 6;
/// Maximum number of drawn steps.
const MOST_STEPS: usize = 1500;

/// Kinds of steps, their words, and their causes in the table of colours.
const KINDS: [(&str, &str, &str); 4] = [
    ("compute", "computation", "compute"),
    ("overhead", "overhead of calls", "overhead"),
    ("network", "network", "transfer"),
    ("wait", "waiting for links and buffers", "link_wait"),
];

const OTHERS: (&str, &str, &str) = ("", "not explained", "");

fn colour(cause: &str) -> &'static str {
    if cause.is_empty() {
        colours::other()
    } else {
        colours::time(cause)
    }
}

fn kind_of(kind: &str) -> usize {
    KINDS
        .iter()
        .position(|(name, _, _)| *name == kind)
        .unwrap_or(KINDS.len())
}

/// Location of lost time on the path: link, reason and holder.
type WaitPlace = (Option<u64>, String, String);

/// Sums of the path of one job.
#[derive(Default)]
struct PathFigure {
    /// Times by [`KINDS`]; the last entry has all other kinds.
    kinds_ps: [u64; KINDS.len() + 1],
    places_ps: BTreeMap<WaitPlace, u64>,
    ranks: BTreeSet<u64>,
    steps: u64,
    end_ps: u64,
    /// Begin, end, rank and kind, with neighbours merged.
    drawn: Vec<(u64, u64, u64, usize)>,
    /// Length below which steps are not drawn.
    short_ps: u64,
}

impl PathFigure {
    fn add(&mut self, begin: u64, end: u64, rank: u64, kind: &str, place: Option<WaitPlace>) {
        let (kind, ps) = (kind_of(kind), end.saturating_sub(begin));
        self.kinds_ps[kind] += ps;
        if let Some(place) = place {
            *self.places_ps.entry(place).or_default() += ps;
        }
        self.ranks.insert(rank);
        self.steps += 1;
        self.end_ps = self.end_ps.max(end);
        match self.drawn.last_mut() {
            Some((_, last, on, of)) if *on == rank && *of == kind && *last == begin => *last = end,
            _ => self.drawn.push((begin, end, rank, kind)),
        }
        if self.drawn.len() > 4 * MOST_STEPS {
            self.thin(2 * MOST_STEPS);
        }
    }

    /// Merges short steps with the previous ones until the steps are few enough. A step absorbs at most the length
    /// that counts as short, which bounds the error of the picture.
    fn thin(&mut self, most: usize) {
        while self.drawn.len() > most {
            self.short_ps = (2 * self.short_ps).max(1);
            let mut kept: Vec<(u64, u64, u64, usize)> = Vec::new();
            let mut taken_in = 0;
            for step in &self.drawn {
                let ps = step.1 - step.0;
                match kept.last_mut() {
                    Some(last) if taken_in + ps <= self.short_ps => {
                        last.1 = step.1;
                        taken_in += ps;
                    }
                    _ => {
                        kept.push(*step);
                        taken_in = 0;
                    }
                }
            }
            self.drawn = kept;
        }
    }
}

fn collect(source: TableSource) -> Result<Option<BTreeMap<String, PathFigure>>, ReadError> {
    let mut jobs: BTreeMap<String, PathFigure> = BTreeMap::new();
    let columns = [
        "job", "kind", "rank", "begin_ps", "end_ps", "link", "reason", "holder",
    ];
    let read = source.each("critical_path", &columns, |rows| {
        let (job, kind) = (rows.texts("job")?, rows.texts("kind")?);
        let (begin, end) = (rows.integers("begin_ps")?, rows.integers("end_ps")?);
        let (rank, link) = (rows.maybe_integers("rank")?, rows.maybe_integers("link")?);
        let (reason, holder) = (rows.texts("reason")?, rows.texts("holder")?);
        for i in 0..begin.len() {
            let text = |cell: Option<&str>| cell.unwrap_or_default().to_string();
            let place = (link[i].is_some() || reason[i].is_some())
                .then(|| (link[i], text(reason[i]), text(holder[i])));
            let kind = kind[i].unwrap_or_default();
            named(&mut jobs, job[i].unwrap_or_default()).add(
                begin[i],
                end[i],
                rank[i].unwrap_or(0),
                kind,
                place,
            );
        }
        Some(())
    })?;
    Ok(read.map(|()| jobs).filter(|jobs| !jobs.is_empty()))
}

/// The composition of the time of each job.
pub(super) fn critical(summary: &Summary, source: TableSource) -> Result<Option<Figure>, ReadError> {
    let mut explained = Vec::new();
    if let Some(folder) = source.folder() {
        match CriticalPaths::load(folder, &summary.digest)? {
            Some(paths) => explained = paths.jobs,
            // Ignores paths of another, earlier result in this folder.
            None if folder.join(CRITICAL_PATH).exists() => return Ok(None),
            None => {}
        }
    }
    let Some(paths) = collect(source)? else {
        return Ok(None);
    };
    let ordered: Vec<(&str, &PathFigure)> = summary
        .jobs
        .iter()
        .filter_map(|job| Some((job.name.as_str(), paths.get(&job.name)?)))
        .collect();
    Ok((!ordered.is_empty()).then(|| figure(&ordered, &explained, source.table("links"))))
}

fn figure(jobs: &[(&str, &PathFigure)], explained: &[CriticalPath], links: Option<&Table>) -> Figure {
    let shown = &jobs[..jobs.len().min(MOST_JOBS)];
    let left_out = match jobs.len() - shown.len() {
        0 => String::new(),
        n => format!(" {n} more jobs are in critical_path.parquet."),
    };
    let mut figure = Figure::new(
        "critical-path",
        "Critical path",
        format!(
            "The chain of computation, messages and waits, from rank to rank, that ends with the last rank of a job: \
             shortening it shortens the job.{left_out}"
        ),
    );
    let described: Vec<String> = shown.iter().map(|(name, path)| described(name, path)).collect();
    let height = if shown.len() <= 3 {
        Height::Low
    } else {
        Height::Usual
    };
    figure = figure.with(height, described.join(" "), bars(shown));
    for (name, path) in shown {
        let mut caption = format!("{name}: through {} ranks", path.ranks.len());
        if path.steps > MOST_STEPS as u64 {
            caption += &format!(
                "; short steps of its {} are merged with the previous ones",
                show::count(path.steps)
            );
        }
        let alt = format!(
            "The critical path of {name} over time, by rank and kind. {}",
            self::described(name, path)
        );
        figure = figure.captioned(caption, Height::Usual, alt, course(path));
        if let Some(explained) = explained.iter().find(|explained| explained.job == *name) {
            figure.table += &waits(explained);
        }
        figure.table += &places(name, path, links);
    }
    figure
}

/// `lammps: computation 60.0 %, network 40.0 %.`
fn described(name: &str, path: &PathFigure) -> String {
    let whole: u64 = path.kinds_ps.iter().sum();
    let parts: Vec<String> = KINDS
        .iter()
        .zip(path.kinds_ps)
        .filter(|(_, ps)| *ps > 0)
        .map(|((_, kind, _), ps)| format!("{kind} {}", show::percent(ps as f64 / whole.max(1) as f64)))
        .collect();
    format!("{name}: {}.", parts.join(", "))
}

fn bars(jobs: &[(&str, &PathFigure)]) -> Plot {
    let names: Vec<String> = jobs.iter().map(|(name, _)| escape(name)).collect();
    let y = Axis::new()
        .auto_margin(true)
        .range(vec![jobs.len() as f64 - 0.5, -0.5]);
    let mut plot = plot(
        x_axis("share of the critical path (%)").range(vec![0.0, 100.0]),
        y,
    );
    for (kind, (_, name, cause)) in KINDS.iter().chain([&OTHERS]).enumerate() {
        let share = |path: &PathFigure| {
            let whole: u64 = path.kinds_ps.iter().sum();
            rounded(100.0 * path.kinds_ps[kind] as f64 / whole.max(1) as f64)
        };
        let shares: Vec<f64> = jobs.iter().map(|(_, path)| share(path)).collect();
        if shares.iter().any(|share| *share > 0.0) {
            let bar = Bar::new(shares, names.clone()).orientation(Orientation::Horizontal);
            plot.add_trace(
                bar.name(*name)
                    .show_legend(true)
                    .marker(Marker::new().color(colour(cause))),
            );
        }
    }
    let layout = plot.layout().clone().bar_mode(BarMode::Stack);
    plot.set_layout(layout);
    plot
}

/// The path through the ranks over time: one horizontal line per step.
fn course(path: &PathFigure) -> Plot {
    let unit = unit_of(path.end_ps);
    let mut steps = PathFigure {
        drawn: path.drawn.clone(),
        short_ps: path.short_ps,
        ..PathFigure::default()
    };
    steps.thin(MOST_STEPS);
    let x = x_axis(&format!("simulated time ({})", unit.name));
    let y = x_axis("rank").auto_range(true);
    let y = match path.ranks.last() {
        Some(last) if *last > MOST_RANK_TICKS => y,
        _ => y.dtick(1.0),
    };
    let mut plot = plot(x, y);
    for (kind, (_, name, cause)) in KINDS.iter().chain([&OTHERS]).enumerate() {
        let of_kind = steps.drawn.iter().filter(|(_, _, _, of)| *of == kind);
        let (mut x, mut y): (Vec<Option<f64>>, Vec<Option<u64>>) = (Vec::new(), Vec::new());
        for (begin, end, rank, _) in of_kind {
            // A gap after each step keeps lines of one kind apart.
            x.extend([Some(in_unit(*begin, unit)), Some(in_unit(*end, unit)), None]);
            y.extend([Some(*rank), Some(*rank), None]);
        }
        if !x.is_empty() {
            let line = Line::new().color(colour(cause)).width(5.0);
            plot.add_trace(
                Scatter::new(x, y)
                    .mode(Mode::Lines)
                    .name(*name)
                    .line(line)
                    .show_legend(true),
            );
        }
    }
    plot
}

/// Causes of waits on the path, in the words of `fabricsim explain`.
fn waits(explained: &CriticalPath) -> String {
    let sentences: Vec<String> = explained
        .waits
        .iter()
        .take(MOST_SENTENCES)
        .map(|wait| {
            let holder = match &wait.holder {
                Some(holder) if *holder == explained.job => ", held by itself".into(),
                Some(holder) => format!(", held by {holder}"),
                None => String::new(),
            };
            let sentence = format!(
                "{} of the communication time of {} ({}) is spent waiting for {}{holder}.",
                show::percent(wait.share_of_communication),
                explained.job,
                show::time(wait.wait_ns),
                wait.place
            );
            format!("<li>{}</li>\n", escape(&sentence))
        })
        .collect();
    if sentences.is_empty() {
        return String::new();
    }
    format!("<ul>\n{}</ul>\n", sentences.concat())
}

/// Locations of the longest waits and transfers on the path.
fn places(name: &str, path: &PathFigure, links: Option<&Table>) -> String {
    let mut places: Vec<(&WaitPlace, u64)> = path.places_ps.iter().map(|(place, ps)| (place, *ps)).collect();
    places.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let left_out = places.len().saturating_sub(MOST_PLACES);
    places.truncate(MOST_PLACES);
    if places.is_empty() {
        return String::new();
    }
    let whole: u64 = path.kinds_ps.iter().sum();
    let rows: Vec<_> = places
        .into_iter()
        .map(|((link, reason, holder), ps)| {
            let (from, to) = match link {
                Some(link) => links
                    .and_then(|links| ends(links, *link))
                    .unwrap_or((format!("link {link}"), String::new())),
                None => ("–".into(), String::new()),
            };
            let known = |text: &str| {
                if text.is_empty() {
                    "–".to_string()
                } else {
                    text.into()
                }
            };
            vec![
                from,
                to,
                known(super::waits::explained(reason)),
                known(holder),
                show::time(ps as f64 / 1000.0),
                show::percent(ps as f64 / whole.max(1) as f64),
            ]
        })
        .collect();
    let columns = [
        words("from"),
        words("to"),
        words("because of"),
        words("held by"),
        numbers("time on the path"),
        numbers("of the path"),
    ];
    let mut html = table(&columns, &rows, "critical_path.parquet");
    if left_out > 0 {
        html += &format!(
            "<p class=\"left-out\">{left_out} more places are in <code>critical_path.parquet</code>.</p>\n"
        );
    }
    details(&format!("{name}: where its path loses most"), &html)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::source::tests::{ColumnCells, made};
    use crate::{CRITICAL_PATH_SCHEMA, PathWait};

    fn short_path() -> Table {
        made(
            "critical_path",
            vec![
                ("job", ColumnCells::Words(vec![Some("a"); 4])),
                (
                    "kind",
                    ColumnCells::Text(vec!["compute", "overhead", "wait", "network"]),
                ),
                ("rank", ColumnCells::U32(vec![0, 0, 1, 1])),
                ("begin_ps", ColumnCells::U64(vec![0, 50, 60, 90])),
                ("end_ps", ColumnCells::U64(vec![50, 60, 90, 100])),
                ("link", ColumnCells::MaybeU64(vec![None, None, Some(4), Some(4)])),
                (
                    "reason",
                    ColumnCells::Words(vec![None, None, Some("credits"), None]),
                ),
                ("holder", ColumnCells::Words(vec![None, None, Some("b"), None])),
            ],
        )
    }

    #[test]
    fn the_path_is_summed_up_by_kind_and_place() {
        let tables = [short_path()];
        let paths = collect(TableSource::new(&tables, None)).unwrap().unwrap();
        let path = &paths["a"];
        assert_eq!(path.kinds_ps, [50, 10, 10, 30, 0]);
        assert_eq!((path.ranks.len(), path.steps, path.end_ps), (2, 4, 100));
        assert_eq!(path.places_ps[&(Some(4), "credits".into(), "b".into())], 30);
        assert_eq!(
            described("a", path),
            "a: computation 50.0 %, overhead of calls 10.0 %, network 10.0 %, waiting for links and buffers 30.0 %."
        );
        assert!(
            places("a", path, None)
                .contains("<td>link 4</td><td></td><td>the buffer downstream was full</td><td>b</td>")
        );
    }

    #[test]
    fn what_explain_says_is_told_if_it_is_about_this_result() {
        let wait = PathWait {
            place: "global links of groups 3 to 7".into(),
            holder: Some("<B>".into()),
            wait_ns: 16_400_000.0,
            share_of_communication: 0.41,
            ..Default::default()
        };
        let explained = CriticalPath {
            job: "a".into(),
            waits: vec![wait],
            ..Default::default()
        };
        let expected = "<ul>\n<li>41.0 % of the communication time of a (16.4 ms) is spent waiting for global links of groups 3 to 7, \
                    held by &lt;B&gt;.</li>\n</ul>\n";
        assert_eq!(waits(&explained), expected);
        let folder = tempfile::tempdir().unwrap();
        let paths = CriticalPaths {
            schema: CRITICAL_PATH_SCHEMA.into(),
            digest: "d".into(),
            jobs: vec![explained],
        };
        paths.write(folder.path(), &short_path()).unwrap();
        let mut summary = summary_of("a");
        let source = TableSource::new(&[], Some(folder.path()));
        assert!(
            critical(&summary, source).unwrap().is_none(),
            "the path of another result"
        );
        summary.digest = "d".into();
        let figure = critical(&summary, source).unwrap().unwrap();
        assert!(figure.table.starts_with(expected), "{}", figure.table);
    }

    fn summary_of(job: &str) -> Summary {
        let job = crate::JobSummary {
            name: job.into(),
            ranks: 2,
            ..Default::default()
        };
        Summary {
            schema: String::new(),
            digest: String::new(),
            experiment: serde_json::Value::Null,
            network: Default::default(),
            jobs: vec![job],
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

    #[test]
    fn a_long_path_is_drawn_with_few_steps_and_no_gaps() {
        let mut path = PathFigure::default();
        for step in 0..50_000u64 {
            let kind = if step % 2 == 0 { "compute" } else { "network" };
            path.add(10 * step, 10 * step + 10, step % 7, kind, None);
        }
        path.add(500_000, 900_000, 3, "compute", None);
        let whole = path.drawn.clone();
        path.thin(100);
        assert!(path.drawn.len() <= 100 && path.drawn.last() == Some(&(500_000, 900_000, 3, 0)));
        path.drawn = whole;
        assert_eq!((path.kinds_ps[0], path.kinds_ps[2]), (650_000, 250_000));
        assert!(path.drawn.len() <= 4 * MOST_STEPS);
        assert!(path.drawn.windows(2).all(|pair| pair[0].1 == pair[1].0));
        assert_eq!(path.drawn.last().unwrap().1, 900_000);
    }
}
