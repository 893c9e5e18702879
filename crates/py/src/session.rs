//! Simulations that are stepped from Python.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use experiment::ExperimentSource;
use pyo3::prelude::*;

use crate::program::{FunctionArguments, PythonInterpreter};
use crate::{error, json};

/// A simulation that is stepped from outside.
#[pyclass(frozen, module = "fabricsim._core")]
pub(crate) struct Session {
    /// `None` once it has ended.
    inner: Mutex<Option<sim::Session>>,
}

#[pymethods]
impl Session {
    /// Opens a session on an experiment file. `set` has pairs of a key and a value in TOML.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        set: Vec<(String, String)>,
        hosts: Option<Vec<u32>>,
    ) -> PyResult<Session> {
        let set = set.into_iter().map(config::Override::from).collect();
        let source = ExperimentSource::of_file(&path, set).map_err(|e| error::of_experiment(py, &e))?;
        Session::open(py, &source, &PythonInterpreter::new(), hosts.as_deref())
    }

    /// Opens a session on an experiment in TOML, as `Experiment.from_toml`.
    #[staticmethod]
    fn from_toml(
        py: Python<'_>,
        text: String,
        name: String,
        set: Vec<(String, String)>,
        programs: BTreeMap<String, FunctionArguments>,
        hosts: Option<Vec<u32>>,
    ) -> PyResult<Session> {
        let set = set.into_iter().map(config::Override::from).collect();
        let source = ExperimentSource::of_text(&text, &name, set);
        Session::open(py, &source, &PythonInterpreter::with(programs), hosts.as_deref())
    }

    /// The hosts that send and receive.
    fn hosts(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.with(py, |session| Ok(session.hosts().collect()))
    }

    /// The time to which it has advanced, in ps.
    fn now_ps(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |session| Ok(session.now_ps()))
    }

    /// Sends a message; returns its number.
    fn send(&self, py: Python<'_>, at_ps: u64, source: u32, destination: u32, bytes: u64) -> PyResult<u32> {
        self.with(py, |session| session.send(at_ps, source, destination, bytes))
    }

    /// Simulates what happens before a time; returns number and time of the messages that were delivered. Signals
    /// end it.
    fn advance(&self, py: Python<'_>, until_ps: u64) -> PyResult<Vec<(u32, u64)>> {
        let mut signal = None;
        let deliveries = self.with(py, |session| {
            session.advance_while(until_ps, || no_signal(&mut signal))
        });
        match signal {
            Some(signal) => Err(signal),
            None => Ok(told(&deliveries?)),
        }
    }

    /// Simulates to the end and writes the result folder. Returns the last deliveries, and the summary as JSON. Signals
    /// end it.
    fn finish(&self, py: Python<'_>, out: PathBuf) -> PyResult<(Vec<(u32, u64)>, String)> {
        results::may_write(&out).map_err(|e| error::of_class(py, "ResultError", &e.to_string()))?;
        let session = py.detach(|| self.take()).ok_or_else(|| ended(py))?;
        let mut signal = None;
        let finished = py.detach(|| session.finish_while(|| no_signal(&mut signal)));
        if let Some(signal) = signal {
            return Err(signal);
        }
        let (deliveries, result) = finished.map_err(|e| error::of_sim(py, &e))?;
        py.detach(|| result.write(&out, true))
            .map_err(|e| error::of_class(py, "ResultError", &e.to_string()))?;
        Ok((told(&deliveries), json(&result.summary)))
    }

    /// Ends it without a result.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.take()));
    }
}

impl Session {
    fn open(
        py: Python<'_>,
        source: &ExperimentSource,
        interpreter: &PythonInterpreter,
        hosts: Option<&[u32]>,
    ) -> PyResult<Session> {
        let session = py.detach(|| sim::Session::open(source, &[interpreter], hosts));
        Ok(Session {
            inner: Mutex::new(Some(session.map_err(|e| error::of_sim(py, &e))?)),
        })
    }

    fn take(&self) -> Option<sim::Session> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// An operation on the session, without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut sim::Session) -> Result<T, sim::Error> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut session = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            session.as_mut().map(operation)
        });
        done.ok_or_else(|| ended(py))?.map_err(|e| error::of_sim(py, &e))
    }
}

/// Whether there is no signal; otherwise keeps its exception.
fn no_signal(signal: &mut Option<PyErr>) -> bool {
    *signal = Python::attach(|py| py.check_signals()).err();
    signal.is_none()
}

fn ended(py: Python<'_>) -> PyErr {
    error::of_sim(py, &sim::Error::Session(sim::SessionError::Ended))
}

fn told(deliveries: &[sim::DeliveredMessage]) -> Vec<(u32, u64)> {
    let told = deliveries
        .iter()
        .map(|delivery| (delivery.message, delivery.time_ps));
    told.collect()
}
