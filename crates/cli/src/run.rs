//! `run`, `check`, `report`, `compare`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use results::Summary;
use serde_json::json;
use sim::{Control, Experiment};

use crate::{CheckArguments, CompareArguments, ExperimentArguments, Failure, ReportArguments, RunArguments};
use crate::{print, progress};

fn load(arguments: &ExperimentArguments) -> Result<Experiment, Failure> {
    Ok(Experiment::load(&arguments.experiment, &arguments.set)?)
}

pub(crate) fn run(mut arguments: RunArguments) -> Result<(), Failure> {
    let set = &mut arguments.experiment.set;
    if let Some(executor) = arguments.executor.take() {
        set.push(("run.executor".into(), format!("\"{executor}\"")));
    }
    if let Some(threads) = arguments.threads {
        set.push(("run.threads".into(), threads.to_string()));
    }
    let experiment = load(&arguments.experiment)?;
    let out = arguments
        .out
        .unwrap_or_else(|| default_folder(&arguments.experiment.experiment));
    results::may_write(&out).map_err(Failure::wrong_input)?;

    let control = Arc::new(Control::new());
    let interrupt = control.clone();
    // Fails only if a handler is installed already, as in a second run within one Python process.
    let _ = ctrlc::set_handler(move || interrupt.stop());
    let bar = progress::show(&control, experiment.run.until.map(|t| t.ps()));
    let result = sim::run(&experiment, &control);
    bar.finish();
    let result = result?;
    result.write(&out, true).map_err(Failure::failed)?;
    if arguments.json {
        print(serde_json::to_string_pretty(&result.summary).map_err(Failure::failed)?);
    } else {
        let name = out
            .file_name()
            .map_or_else(|| "result".into(), |n| n.to_string_lossy());
        print(results::compare(&[(&name, result.summary)]));
        print(format!(
            "result  {}\nreport  {}",
            out.display(),
            out.join("report.html").display()
        ));
    }
    Ok(())
}

/// `results/NAME` for `NAME.toml`.
fn default_folder(experiment: &Path) -> PathBuf {
    Path::new("results").join(experiment.file_stem().unwrap_or("experiment".as_ref()))
}

pub(crate) fn check(arguments: CheckArguments) -> Result<(), Failure> {
    let report = sim::check(&load(&arguments.experiment)?)?;
    if arguments.json {
        print(serde_json::to_string_pretty(&report).map_err(Failure::failed)?);
    } else {
        print(&report);
    }
    match report.deadlock_free {
        Some(false) => Err(Failure::wrong_input("this network can deadlock, see above")),
        _ => Ok(()),
    }
}

pub(crate) fn report(arguments: &ReportArguments) -> Result<(), Failure> {
    let path = results::regenerate_report(&arguments.result).map_err(Failure::wrong_input)?;
    if arguments.json {
        print(json!({ "report": path.display().to_string() }));
    } else {
        print(path.display());
    }
    Ok(())
}

pub(crate) fn compare(arguments: &CompareArguments) -> Result<(), Failure> {
    let mut summaries = Vec::new();
    for folder in &arguments.results {
        let name = folder
            .file_name()
            .map_or_else(|| folder.display().to_string(), |n| n.to_string_lossy().into());
        summaries.push((name, Summary::load(folder).map_err(Failure::wrong_input)?));
    }
    if arguments.json {
        let all: Vec<_> = summaries
            .iter()
            .map(|(name, summary)| json!({ "name": name, "summary": summary }))
            .collect();
        print(serde_json::to_string_pretty(&all).map_err(Failure::failed)?);
        return Ok(());
    }
    let named: Vec<(&str, Summary)> = summaries
        .iter()
        .map(|(name, s)| (name.as_str(), s.clone()))
        .collect();
    print(results::compare(&named));
    Ok(())
}
