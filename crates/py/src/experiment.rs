//! Experiments and their runs: releases the interpreter's lock, handles Ctrl-C, reports progress.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime};

use pyo3::prelude::*;
use sim::RunControl;

use crate::program::{FunctionArguments, PythonInterpreter};
use crate::real_programs::RealPrograms;
use crate::{error, json};

/// Interval of a waiting Python thread between two checks of signals and progress reports.
const STEP: Duration = Duration::from_millis(50);

/// A checked experiment with its network and the hosts of its jobs.
#[pyclass(frozen, module = "fabricsim._core")]
pub(crate) struct Experiment {
    inner: experiment::Experiment,
    programs: RealPrograms,
}

/// Why a run gave no result.
enum RunFailure {
    Simulation(sim::Error),
    Write(results::WriteError),
    /// A bug of the simulator, with the panic's message.
    Panic(String),
    /// A signal, or an exception of the progress callback.
    Python(PyErr),
}

#[pymethods]
impl Experiment {
    /// Reads an experiment file; paths in it are relative to its folder. `set` has pairs of a key and a value in
    /// TOML.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, set: Vec<(String, String)>) -> PyResult<Experiment> {
        let set = set.into_iter().map(config::Override::from).collect();
        let (python, programs) = (PythonInterpreter::new(), RealPrograms::new(py));
        let interpreters = programs.beside(&python);
        let inner = py.detach(|| experiment::Experiment::load_with(&path, set, &interpreters));
        Ok(Experiment {
            inner: inner.map_err(|e| error::of_experiment(py, &e))?,
            programs,
        })
    }

    /// Reads an experiment in TOML. `name` replaces the file name in messages; paths are relative to the current
    /// folder. `programs` maps the path of a workload's table to the function that replaces the named one.
    #[staticmethod]
    fn from_toml(
        py: Python<'_>,
        text: String,
        name: String,
        set: Vec<(String, String)>,
        programs: BTreeMap<String, FunctionArguments>,
    ) -> PyResult<Experiment> {
        let (python, programs) = (PythonInterpreter::with(programs), RealPrograms::new(py));
        let interpreters = programs.beside(&python);
        let inner = py.detach(|| experiment::Experiment::from_toml_with(&text, &name, &set, &interpreters));
        Ok(Experiment {
            inner: inner.map_err(|e| error::of_experiment(py, &e))?,
            programs,
        })
    }

    /// The experiment with every default, as JSON.
    fn settings(&self) -> String {
        json(&self.inner.settings)
    }

    /// The report of `check`, as JSON and as text.
    fn check(&self, py: Python<'_>) -> PyResult<(String, String)> {
        let report = py
            .detach(|| {
                sim::refuse_too_large(&self.inner, 1)?;
                sim::check(&self.inner)
            })
            .map_err(|e| error::of_sim(py, &e))?;
        Ok((json(&report), report.to_string()))
    }

    /// The expected work of a run, as JSON, without the deadlock proof and the bounds of `check`.
    fn work(&self, py: Python<'_>) -> PyResult<String> {
        let work = py
            .detach(|| experiment::work(&self.inner))
            .map_err(|e| error::of_experiment(py, &e))?;
        Ok(json(&work))
    }

    /// Runs the experiment, writes the result folder `out`, and returns its summary as JSON. `progress` is called
    /// with the simulated time and the end in nanoseconds; the end is `None` if unknown. With `interference`, each
    /// job of ranks also runs alone.
    #[pyo3(signature = (out, progress=None, interference=false))]
    fn run(
        &self,
        py: Python<'_>,
        out: PathBuf,
        progress: Option<Bound<'_, PyAny>>,
        interference: bool,
    ) -> PyResult<String> {
        let until_ns = self.inner.run.until.map(|until| until.ps() as f64 / 1000.0);
        let report = |control: &RunControl| match &progress {
            Some(callback) => callback
                .call1((control.now_ps() as f64 / 1000.0, until_ns))
                .map(drop),
            None => Ok(()),
        };
        let done = run(py, &self.inner, &out, interference, report);
        py.detach(|| self.programs.end());
        done.map_err(|failure| match failure {
            RunFailure::Simulation(e) => error::of_sim(py, &e),
            RunFailure::Write(e) => error::of_class(py, "ResultError", &e.to_string()),
            RunFailure::Panic(message) => {
                let message = format!("the simulator failed, please report this: {message}");
                error::of_class(py, "FabricSimError", &message)
            }
            RunFailure::Python(e) => e,
        })
    }
}

/// Runs in a separate thread. This thread waits in short steps without the interpreter's lock.
fn run(
    py: Python<'_>,
    experiment: &experiment::Experiment,
    out: &Path,
    interference: bool,
    report: impl Fn(&RunControl) -> PyResult<()>,
) -> Result<String, RunFailure> {
    sim::refuse_too_large(experiment, 1).map_err(RunFailure::Simulation)?;
    results::may_write(out).map_err(RunFailure::Write)?;
    let control = RunControl::new();
    let (sender, receiver) = mpsc::channel::<()>();
    let receiver = Mutex::new(receiver);
    let wait = || match receiver.lock() {
        Ok(receiver) => receiver.recv_timeout(STEP),
        Err(_) => Err(RecvTimeoutError::Disconnected),
    };
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // Dropped at the end and on a panic, which wakes the waiting thread.
            let _running = sender;
            let settings = experiment.settings.clone();
            let tables = sim::running_tables();
            let running = results::RunningFolder::begin(out, settings, now(), tables, false)
                .map_err(RunFailure::Write)?;
            let parts = running.parts();
            let replay = sim::leave_operations(experiment, &parts);
            let context = sim::RunContext {
                parts: Some(&parts),
                ..sim::RunContext::default()
            };
            let result = match interference {
                true => sim::run_with_interference(experiment, &control, &context),
                false => sim::run_in(experiment, &control, &context),
            };
            let result = result.map_err(RunFailure::Simulation)?;
            let mut result = result.expect("a process that is alone has the result");
            result.replay = replay;
            running.write(&result).map_err(RunFailure::Write)?;
            Ok(json(&result.summary))
        });
        while py.detach(wait) == Err(RecvTimeoutError::Timeout) {
            if let Err(e) = py.check_signals().and_then(|()| report(&control)) {
                control.stop();
                RealPrograms::interrupt();
                // The exception is raised, whether or not the run stopped in time.
                let _ = py.detach(|| worker.join());
                return Err(RunFailure::Python(e));
            }
        }
        match py.detach(|| worker.join()) {
            Ok(result) => result,
            Err(panic) => Err(RunFailure::Panic(message(panic.as_ref()))),
        }
    })
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
        .to_string()
}
