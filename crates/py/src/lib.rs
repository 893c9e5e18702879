//! The extension module `fabricsim._core`: a thin layer over `sim`, `results` and the command line.
//!
//! The Python package around it adds types, documentation and Arrow tables. Text crosses the border: TOML in, JSON
//! and paths of Parquet files out. Programs in Python pass their operations one by one.

mod costs;
mod error;
mod experiment;
mod operation;
mod program;
mod real_programs;
mod session;

use pyo3::prelude::*;

use program::PythonInterpreter;

/// The allocator of the command line.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// FabricSim's simulation core.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::costs::{CostTable, router_kind};
    #[pymodule_export]
    use super::experiment::Experiment;
    #[pymodule_export]
    use super::operation::{
        Operation, Request, TakenMessage, begin_collective, begin_collective_of_parts, begin_exchange,
        begin_receive, begin_receive_matched, begin_send, call_number, cancel, collective,
        collective_of_parts, compute, exchange, new_communicator, one_sided, probe, receive, receive_matched,
        send, send_receive, wait,
    };
    #[pymodule_export]
    use super::program::{GivenAnswer, GivenCompleted, program_operations};
    #[pymodule_export]
    use super::session::Session;
    #[pymodule_export]
    use super::{
        compare, compare_runs, deliveries, explain, explained_summary, export, list_parts, main, page_script,
        page_style, regenerate_report, trace_info, verify_summary, verify_table,
    };

    /// Version of the core.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    /// The table of colours, as JSON.
    #[pymodule_export]
    const COLOURS: &str = results::colours::TABLE;
    /// Thresholds of comparisons, for those of sweeps.
    #[pymodule_export]
    const DELIVERED: f64 = results::DELIVERED;
    #[pymodule_export]
    const NETWORK_BOUNDS: f64 = results::NETWORK_BOUNDS;
    #[pymodule_export]
    const TIE_OF_TIMES: f64 = results::TIE_OF_TIMES;
    #[pymodule_export]
    const TIE_OF_TRAFFIC: f64 = results::TIE_OF_TRAFFIC;
}

/// Runs the command line; returns the exit status. `arguments` begin with the program's name.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<String>) -> u8 {
    let library = real_programs::mpi_library(py);
    py.detach(|| cli::main(arguments, &[&PythonInterpreter::new()], library))
}

/// All parts that an experiment can name, and its keys, as JSON: {kind: [{name, summary, parameters}]}.
#[pyfunction]
fn list_parts() -> String {
    let parts = ::experiment::PART_KINDS
        .iter()
        .filter_map(|kind| Some((*kind, ::experiment::listing(kind)?)));
    json(&parts.collect::<std::collections::BTreeMap<_, _>>())
}

/// The colours as variables of CSS, for light and dark grounds.
#[pyfunction]
fn page_style() -> &'static str {
    results::colours::style()
}

/// The script at the end of a page, which repaints plots of Plotly for a dark ground.
#[pyfunction]
fn page_script() -> &'static str {
    results::colours::script()
}

/// The contents of a trace, as JSON.
#[pyfunction]
fn trace_info(py: Python<'_>, path: std::path::PathBuf) -> PyResult<String> {
    let info = py.detach(|| workload::info(&path));
    info.map(|info| json(&info))
        .map_err(|e| error::of_class(py, "TraceError", &e.to_string()))
}

/// Regenerates report.html of a result folder; returns its path.
#[pyfunction]
fn regenerate_report(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<std::path::PathBuf> {
    let written = py.detach(|| results::regenerate_report(&folder));
    written.map_err(|e| error::of_class(py, "ResultError", &e.to_string()))
}

/// Writes the critical paths of a result's jobs, or of one job, into its folder; returns critical_path.json.
#[pyfunction]
#[pyo3(signature = (folder, job=None))]
fn explain(py: Python<'_>, folder: std::path::PathBuf, job: Option<String>) -> PyResult<String> {
    let written = py.detach(|| analysis::write(&folder, job.as_deref()));
    let written = written.map_err(|e| error::of_class(py, "ResultError", &e.to_string()))?;
    Ok(json(&written.paths))
}

/// The summary of a result as JSON, with the verdict and the shares of jobs' times that `explain` found, if it ran.
#[pyfunction]
fn explained_summary(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<String> {
    let found = py.detach(|| results::explained_summary(&folder, &results::Summary::load(&folder)?));
    let found = found.map_err(|e| error::of_class(py, "ResultError", &e.to_string()))?;
    Ok(json(&found))
}

/// Exports a result to another tool's format; returns the notes, as JSON.
#[pyfunction]
#[pyo3(signature = (folder, format, out, table=None, links=None))]
fn export(
    py: Python<'_>,
    folder: std::path::PathBuf,
    format: &str,
    out: std::path::PathBuf,
    table: Option<String>,
    links: Option<usize>,
) -> PyResult<String> {
    // The function `export` shadows the crate.
    let options = ::export::Options { table, links };
    let exported = py.detach(|| {
        let format = ::export::ExportFormat::named(format)?;
        Some(::export::export(&folder, format, Some(&out), &options))
    });
    let Some(exported) = exported else {
        let known: Vec<&str> = ::export::FORMATS.iter().map(|format| format.name).collect();
        let why = format!("there is no format '{format}'; there are: {}", known.join(", "));
        return Err(pyo3::exceptions::PyValueError::new_err(why));
    };
    let exported = exported.map_err(|e| error::of_class(py, "ResultError", &e.to_string()))?;
    Ok(json(&exported.notes))
}

/// A table that compares results, given as pairs of a name and a folder.
#[pyfunction]
fn compare(py: Python<'_>, folders: Vec<(String, std::path::PathBuf)>) -> PyResult<String> {
    Ok(results::compare(&loaded(py, &folders)?))
}

/// Which of several results is better, as JSON: {differs, found}. `differs` are the keys in which the experiments
/// differ.
#[pyfunction]
fn compare_runs(py: Python<'_>, folders: Vec<(String, std::path::PathBuf)>) -> PyResult<String> {
    let runs = loaded(py, &folders)?;
    let experiments: Vec<_> = runs.iter().map(|(_, run)| &run.experiment).collect();
    let differs = results::differing_keys(&experiments);
    let found = results::compare_runs(&runs);
    Ok(json(&serde_json::json!({ "differs": differs, "found": found })))
}

/// Delivered traffic by the name of the job, as JSON, of a summary as JSON.
#[pyfunction]
fn deliveries(py: Python<'_>, summary: &str) -> PyResult<String> {
    let summary: results::Summary = serde_json::from_str(summary)
        .map_err(|e| error::of_class(py, "ResultError", &format!("this is no summary of a result: {e}")))?;
    Ok(json(&results::deliveries(&summary)))
}

/// The summaries of results with their names.
fn loaded<'n>(
    py: Python<'_>,
    folders: &'n [(String, std::path::PathBuf)],
) -> PyResult<Vec<(&'n str, results::Summary)>> {
    let mut runs = Vec::new();
    for (name, folder) in folders {
        let wrong = |e: results::ReadError| error::of_class(py, "ResultError", &e.to_string());
        let summary = results::Summary::load(folder).map_err(wrong)?;
        runs.push((
            name.as_str(),
            results::explained_summary(folder, &summary).map_err(wrong)?,
        ));
    }
    Ok(runs)
}

/// Compares summary.json with its checksum. `force` accepts all damage in the folder, from now on.
#[pyfunction]
fn verify_summary(py: Python<'_>, folder: std::path::PathBuf, force: bool) -> PyResult<()> {
    results::accept_damage(&folder, force);
    let verified = py.detach(|| results::verify_summary(&folder));
    verified.map_err(|e| error::of_class(py, "ResultError", &e.to_string()))
}

/// Compares a whole table with its checksums.
#[pyfunction]
fn verify_table(py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
    let verified = py.detach(|| results::TableFile::open(&path).and_then(|table| table.verify()));
    verified.map_err(|e| error::of_class(py, "ResultError", &format!("cannot read {}: {e}", path.display())))
}

/// Plain data as JSON.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain data")
}
