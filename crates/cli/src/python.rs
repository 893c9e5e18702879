//! Commands that the Python package implements: sweeps, comparison pages and calibrations. `python3 -m fabricsim`
//! replaces this process to run them.
//!
//! The package's own `fabricsim` command runs them directly.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use crate::CommandFailure;

const INTERPRETER: &str = "python3";

/// A part of the Python package.
pub(crate) struct Subpackage {
    module: &'static str,
    /// The package's optional dependencies that it can use.
    extra: &'static str,
}

pub(crate) const SWEEP: Subpackage = Subpackage {
    module: "fabricsim.sweep",
    extra: "sweep",
};
pub(crate) const CALIBRATE: Subpackage = Subpackage {
    module: "fabricsim.calibrate",
    extra: "plot",
};

/// Runs a command line of the Python package. `command` is the user's command, for messages.
pub(crate) fn hand_over(command: &str, part: &Subpackage, line: &[OsString]) -> Result<(), CommandFailure> {
    look_for_package(command, part)?;
    let mut python = Command::new(INTERPRETER);
    python.args(["-m", "fabricsim"]).args(line);
    replace(&mut python).map_err(|e| CommandFailure::failed(format!("{INTERPRETER}: {e}")))
}

fn look_for_package(command: &str, part: &Subpackage) -> Result<(), CommandFailure> {
    let install = format!(
        "install it with `pip install 'fabricsim[{}]'`, or `make python` in the project's folder",
        part.extra
    );
    let found = Command::new(INTERPRETER)
        .args(["-c", &format!("import {}", part.module)])
        .stdin(Stdio::null())
        .output();
    match found {
        Ok(found) if found.status.success() => Ok(()),
        Ok(found) => {
            let said = String::from_utf8_lossy(&found.stderr);
            let why = said.trim().lines().last().unwrap_or("it cannot be imported");
            Err(CommandFailure::failed(format!(
                "'{command}' needs FabricSim's Python package, which {INTERPRETER} does not have ({why}); {install}"
            )))
        }
        Err(e) => Err(CommandFailure::failed(format!(
            "'{command}' needs FabricSim's Python package and {INTERPRETER} ({e}); {install}"
        ))),
    }
}

/// Replaces this process, so that signals and the exit status are the command's own. Returns only on failure.
#[cfg(unix)]
fn replace(command: &mut Command) -> std::io::Result<()> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

#[cfg(not(unix))]
fn replace(command: &mut Command) -> std::io::Result<()> {
    let status = command.status()?;
    std::process::exit(status.code().unwrap_or(1));
}
