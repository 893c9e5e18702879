//! Rust errors as the exceptions of `fabricsim._errors`, with the same message.

use pyo3::prelude::*;
use pyo3::types::PyType;

/// An exception of this class with this message.
pub(crate) fn of_class(py: Python<'_>, class: &str, message: &str) -> PyErr {
    match find(py, class) {
        Ok(class) => PyErr::from_type(class, (message.to_string(),)),
        Err(broken) => broken,
    }
}

/// The exception for an error between experiment file and parts.
pub(crate) fn of_experiment(py: Python<'_>, error: &experiment::Error) -> PyErr {
    let class = match error {
        experiment::Error::Config(wrong) => return of_config(py, wrong),
        // The message has all of them, file, line and key are those of the first.
        experiment::Error::Several(wrong) => {
            return located(py, "ExperimentError", error.to_string(), &wrong[0]);
        }
        experiment::Error::File { .. } => "ExperimentError",
        experiment::Error::Trace(_) => "TraceError",
        experiment::Error::Replay { .. } => "ApplicationError",
    };
    of_class(py, class, &error.to_string())
}

/// The exception for an error between experiment and result.
pub(crate) fn of_sim(py: Python<'_>, error: &sim::Error) -> PyErr {
    let class = match error {
        sim::Error::Experiment(error) => return of_experiment(py, error),
        sim::Error::Memory { .. } => {
            return pyo3::exceptions::PyMemoryError::new_err(error.to_string());
        }
        sim::Error::Interference(_) => "ExperimentError",
        sim::Error::Replay { .. } | sim::Error::Deadlock(_) => "ApplicationError",
        sim::Error::Collect(_) => "ResultError",
        sim::Error::Session(sim::SessionError::Hosts(_)) => "ExperimentError",
        sim::Error::Session(wrong) => {
            return pyo3::exceptions::PyValueError::new_err(wrong.to_string());
        }
        sim::Error::Interrupted => return pyo3::exceptions::PyKeyboardInterrupt::new_err(()),
        sim::Error::Audit(_)
        | sim::Error::Checkpoint { .. }
        | sim::Error::CheckpointNotWritten { .. }
        | sim::Error::Processes(_)
        | sim::Error::Elsewhere => "FabricSimError",
    };
    of_class(py, class, &error.to_string())
}

/// An `ExperimentError` with the location of the wrong setting.
fn of_config(py: Python<'_>, wrong: &config::Error) -> PyErr {
    located(py, "ExperimentError", wrong.to_string(), wrong)
}

/// A `SweepError` with the location of the wrong setting. This class puts the location before the message itself.
pub(crate) fn of_sweep(py: Python<'_>, wrong: &config::Error) -> PyErr {
    located(py, "SweepError", wrong.message.clone(), wrong)
}

/// An exception with file, line and key.
fn located(py: Python<'_>, class: &str, message: String, wrong: &config::Error) -> PyErr {
    let file = wrong.location.as_ref().map(|l| l.file.to_string());
    let line = wrong.location.as_ref().map(|l| l.line).filter(|line| *line > 0);
    let key = Some(wrong.key.clone()).filter(|key| !key.is_empty());
    match find(py, class) {
        Ok(class) => PyErr::from_type(class, (message, file, line, key)),
        Err(broken) => broken,
    }
}

fn find<'py>(py: Python<'py>, class: &str) -> PyResult<Bound<'py, PyType>> {
    Ok(py
        .import("fabricsim._errors")?
        .getattr(class)?
        .cast_into::<PyType>()?)
}
