//! Running an experiment while Python stays alive: the interpreter's lock is released, Ctrl-C is
//! noticed, progress is reported.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime};

use pyo3::prelude::*;
use sim::RunControl;

use crate::program::{Given, Interpreter};
use crate::{error, json};

/// How often a waiting Python thread looks for signals and reports progress.
const STEP: Duration = Duration::from_millis(50);

/// A checked experiment: the network is built, the jobs have their places.
#[pyclass(frozen, module = "fabricsim._core")]
pub(crate) struct Experiment {
    inner: sim::Experiment,
}

/// Why a run gave no result.
enum Failure {
    Simulation(sim::Error),
    Write(results::WriteError),
    /// A bug of the simulator; the panic's message.
    Panic(String),
    /// A signal, or the progress callback raised.
    Python(PyErr),
}

#[pymethods]
impl Experiment {
    /// Reads an experiment file; paths in it are relative to its folder. `set` are pairs of a key and a
    /// value in TOML.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, set: Vec<(String, String)>) -> PyResult<Experiment> {
        let inner = py.detach(|| sim::Experiment::load_with(&path, &set, &[&Interpreter::new()]));
        Ok(Experiment {
            inner: inner.map_err(|e| error::of_sim(py, &e))?,
        })
    }

    /// Reads an experiment in TOML; `name` stands for the file in messages, and paths are relative to the
    /// current folder. `programs` are functions that take the place of those that a job's workload names, by
    /// the path of its table.
    #[staticmethod]
    fn from_toml(
        py: Python<'_>,
        text: String,
        name: String,
        set: Vec<(String, String)>,
        programs: BTreeMap<String, Given>,
    ) -> PyResult<Experiment> {
        let interpreter = Interpreter::with(programs);
        let inner = py.detach(|| sim::Experiment::from_toml_with(&text, &name, &set, &[&interpreter]));
        Ok(Experiment {
            inner: inner.map_err(|e| error::of_sim(py, &e))?,
        })
    }

    /// The experiment with every default, as JSON.
    fn settings(&self) -> String {
        json(&self.inner.settings)
    }

    /// What the experiment amounts to, as JSON, and the same for people.
    fn check(&self, py: Python<'_>) -> PyResult<(String, String)> {
        let report = py
            .detach(|| sim::check(&self.inner))
            .map_err(|e| error::of_sim(py, &e))?;
        Ok((json(&report), report.to_string()))
    }

    /// Runs the experiment, writes the result folder `out`, returns its summary as JSON. `progress` is
    /// called with the simulated time and the end, if it is known, in nanoseconds. `interference`: each job of
    /// ranks is also run alone.
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
        run(py, &self.inner, &out, interference, report).map_err(|failure| match failure {
            Failure::Simulation(e) => error::of_sim(py, &e),
            Failure::Write(e) => error::of_class(py, "ResultError", &e.to_string()),
            Failure::Panic(message) => {
                let message = format!("the simulator failed, please report this: {message}");
                error::of_class(py, "FabricSimError", &message)
            }
            Failure::Python(e) => e,
        })
    }
}

/// Runs in a thread of its own; this one waits without the interpreter's lock, in short steps.
fn run(
    py: Python<'_>,
    experiment: &sim::Experiment,
    out: &Path,
    interference: bool,
    report: impl Fn(&RunControl) -> PyResult<()>,
) -> Result<String, Failure> {
    results::may_write(out).map_err(Failure::Write)?;
    let control = RunControl::new();
    let (sender, receiver) = mpsc::channel::<()>();
    let receiver = Mutex::new(receiver);
    let wait = || match receiver.lock() {
        Ok(receiver) => receiver.recv_timeout(STEP),
        Err(_) => Err(RecvTimeoutError::Disconnected),
    };
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // Dropped at the end, also of a panic: that is what the waiting thread notices.
            let _running = sender;
            let settings = experiment.settings.clone();
            let tables = sim::running_tables();
            let running =
                results::RunningFolder::begin(out, settings, now(), tables, false).map_err(Failure::Write)?;
            let parts = running.parts();
            let way = sim::RunContext {
                parts: Some(&parts),
                ..sim::RunContext::default()
            };
            let result = match interference {
                true => sim::run_with_interference(experiment, &control, &way),
                false => sim::run_in(experiment, &control, &way),
            };
            let result = result.map_err(Failure::Simulation)?;
            let result = result.expect("a process that is alone has the result");
            result.write(out, true).map_err(Failure::Write)?;
            running.end();
            Ok(json(&result.summary))
        });
        while py.detach(wait) == Err(RecvTimeoutError::Timeout) {
            if let Err(e) = py.check_signals().and_then(|()| report(&control)) {
                control.stop();
                // Whether it was stopped in time does not matter: the exception is what is raised.
                let _ = py.detach(|| worker.join());
                return Err(Failure::Python(e));
            }
        }
        match py.detach(|| worker.join()) {
            Ok(result) => result,
            Err(panic) => Err(Failure::Panic(message(panic.as_ref()))),
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
