//! Real MPI programs as jobs of experiments, where the operating system allows them.

use std::path::PathBuf;

use pyo3::prelude::*;
use workload::Interpreter;

use crate::program::PythonInterpreter;

/// Our MPI library, which `make python` and the wheel put beside this module.
pub(crate) fn mpi_library(py: Python<'_>) -> Option<PathBuf> {
    let module = py.import("fabricsim._core").ok()?;
    let file: PathBuf = module.getattr("__file__").ok()?.extract().ok()?;
    Some(file.with_file_name("libfabricsim_libmpi.so"))
}

/// The real programs of an experiment.
pub(crate) struct RealPrograms {
    #[cfg(target_os = "linux")]
    programs: online::OnlinePrograms,
}

impl RealPrograms {
    pub(crate) fn new(py: Python<'_>) -> RealPrograms {
        let library = mpi_library(py);
        #[cfg(not(target_os = "linux"))]
        let _ = library;
        RealPrograms {
            #[cfg(target_os = "linux")]
            programs: online::OnlinePrograms::new(library),
        }
    }

    /// The interpreters of an experiment: that of Python, and this one.
    pub(crate) fn beside<'a>(&'a self, python: &'a PythonInterpreter) -> Vec<&'a dyn Interpreter> {
        vec![
            python,
            #[cfg(target_os = "linux")]
            &self.programs,
        ]
    }

    /// Ends the processes of a run that has ended.
    pub(crate) fn end(&self) {
        #[cfg(target_os = "linux")]
        self.programs.end();
    }

    /// Ends all processes of a run that is to stop.
    pub(crate) fn interrupt() {
        #[cfg(target_os = "linux")]
        online::interrupt();
    }
}
