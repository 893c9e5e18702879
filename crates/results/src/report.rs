//! `report.html`: one self-contained page that opens without a network connection.
//!
//! The page embeds plotly.js once, from the `plotly` crate, and loads nothing. Text from the experiment is escaped:
//! for HTML in `html`, for Plotly's labels (which interpret tags) in `plots`. The page stays below [`REPORT_BYTES`]
//! for runs of any size: each part shows a bounded number of rows or points and states what it omits. Tables too
//! large for memory are read from the result folder batch by batch (`source`). A part without its table is omitted.

mod bounds;
mod energy;
mod engine;
mod experiment;
mod grid;
mod html;
mod overview;
mod plots;
mod schedule;
mod source;
#[cfg(test)]
mod tests;
mod toml;

use std::path::Path;

use plotly::Plot;

pub(crate) use html::escape;

use crate::{CriticalPaths, ReadError, Summary, Table, colours, show};
use html::HtmlSection;
use plots::{Figure, Height};
use source::TableSource;

/// Maximum size of the page. plotly.js is half of it.
pub const REPORT_BYTES: usize = 10_000_000;

/// Tables that are read completely. Their size grows with ranks and links, not with time.
pub(crate) const IN_MEMORY: [&str; 5] = ["ranks", "calls", "links", "latency_histogram", "hops_histogram"];

/// An experiment with all settings, as the summary has it, as a TOML file that runs.
pub fn experiment_toml(settings: &serde_json::Value) -> String {
    toml::toml(settings)
}

/// The report page of a run whose tables are all in memory.
pub fn report(summary: &Summary, tables: &[Table]) -> String {
    page(summary, TableSource::new(tables, None)).expect("no table is read from a file")
}

/// The report page of a run. Tables that are not in memory are read from the result folder.
///
/// # Errors
/// A table in the folder is damaged or cannot be read.
pub(crate) fn report_with_files(
    summary: &Summary,
    tables: &[Table],
    folder: &Path,
) -> Result<String, ReadError> {
    page(summary, TableSource::new(tables, Some(folder)))
}

fn page(summary: &Summary, source: TableSource) -> Result<String, ReadError> {
    let figures = plots::figures(summary, source)?;
    let verdict = crate::verdict::of_tables(source.folder(), summary, |name| source.whole(name))?;
    let paths = source
        .folder()
        .map(|folder| CriticalPaths::load(folder, &summary.digest));
    let explained = paths.transpose()?.flatten().map(|paths| paths.lead(summary));
    let summary = explained.as_ref().unwrap_or(summary);
    let mut sections = vec![overview::overview(summary)];
    let (before, after): (Vec<Figure>, Vec<Figure>) = figures.into_iter().partition(|f| f.first);
    let mut plots = 0;
    let mut drawn = |figures: Vec<Figure>| -> Vec<HtmlSection> {
        figures
            .into_iter()
            .map(|figure| section(figure, &mut plots))
            .collect()
    };
    sections.extend(drawn(before));
    sections.extend(schedule::schedule(summary));
    sections.extend(overview::interference(summary));
    sections.extend(bounds::bounds(summary, source.table("links")));
    sections.extend(drawn(after));
    sections.extend(energy::energy(summary));
    sections.push(engine::cost(summary));
    sections.push(experiment::experiment(summary));

    let mut page = String::with_capacity(6 << 20);
    page += &head(summary);
    page += &overview::notes(summary);
    page += &overview::verdict(&verdict);
    page += &overview::cards(summary);
    page += &contents(&sections);
    sections.iter().for_each(|section| page += &section.html());
    page += &format!(
        "<footer>FabricSim {} · digest <code>{}</code></footer>\n</main>\n<script>\n{}</script>\n</body>\n</html>\n",
        escape(&summary.run.version),
        escape(&summary.digest),
        format_args!("{}{}", include_str!("report/page.js"), colours::script()),
    );
    Ok(page)
}

/// plotly.js in its script element. The crate returns it together with MathJax, which no plot here needs and which
/// would add two megabytes.
fn plotly_js() -> String {
    let mut sources = Plot::offline_js_sources();
    let end = sources.find("</script>").expect("the crate embeds plotly.js") + "</script>".len();
    sources.truncate(end);
    sources
}

fn head(summary: &Summary) -> String {
    let jobs = &summary.jobs;
    let mut names: Vec<String> = jobs
        .iter()
        .take(MOST_NAMES)
        .map(|job| escape(&job.name))
        .collect();
    if jobs.len() > MOST_NAMES {
        names.push(format!(
            "{} more jobs",
            show::count((jobs.len() - MOST_NAMES) as u64)
        ));
    }
    let title = if names.is_empty() {
        "no job".into()
    } else {
        names.join(", ")
    };
    let topology = escape(&summary.network.topology);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>FabricSim: {title}</title>\n<style>\n{}{}</style>\n{}\n</head>\n\
         <body>\n<a class=\"skip\" href=\"#overview\">Skip to the overview</a>\n\
         <header><div><h1>{title}</h1><p>on {topology}</p></div></header>\n<main>\n",
        colours::style(),
        include_str!("report/style.css"),
        plotly_js(),
    )
}

/// Maximum number of jobs in the title.
const MOST_NAMES: usize = 6;

fn contents(sections: &[HtmlSection]) -> String {
    let mut html = String::from("<nav aria-label=\"Contents\">\n");
    for section in sections {
        html += &format!(
            "<a href=\"#{}\">{}</a>\n",
            escape(&section.id),
            escape(&section.heading)
        );
    }
    html + "</nav>\n"
}

fn section(figure: Figure, plots: &mut usize) -> HtmlSection {
    let mut body = html::paragraph(&figure.explanation);
    body += "<div class=\"panels\">\n";
    for panel in &figure.panels {
        let class = match panel.height {
            Height::Low => "frame low",
            Height::Usual => "frame",
            Height::Square => "frame square",
        };
        let caption = match &panel.caption {
            Some(caption) => format!("<figcaption>{}</figcaption>\n", escape(caption)),
            None => String::new(),
        };
        body += &format!(
            "<figure>\n{caption}<div class=\"{class}\" role=\"img\" aria-label=\"{}\">{}</div>\n</figure>\n",
            escape(&panel.alt),
            panel.plot.to_inline_html(Some(&format!("plot-{plots}"))),
        );
        *plots += 1;
    }
    body += "</div>\n";
    body += &figure.table;
    HtmlSection {
        id: figure.id,
        heading: figure.heading,
        body,
        half: figure.half,
    }
}
