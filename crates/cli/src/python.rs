//! Commands that the Python package implements: sweeps, comparison pages and calibrations. `python3 -m fabricsim`
//! replaces this process to run them.
//!
//! The package's own `fabricsim` command runs them directly.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use crate::{CommandFailure, print};

const INTERPRETER: &str = "python3";

/// A part of the Python package.
pub(crate) struct Subpackage {
    module: &'static str,
    /// Its help, for machines without the package; `python/tests/test_command_help.py` keeps it.
    help: &'static str,
}

pub(crate) const SWEEP: Subpackage = Subpackage {
    module: "fabricsim.sweep",
    help: include_str!("help/sweep.txt"),
};
pub(crate) const CALIBRATE: Subpackage = Subpackage {
    module: "fabricsim.calibrate",
    help: include_str!("help/calibrate.txt"),
};

/// Runs a command line of the Python package. `command` is the user's command, for messages.
pub(crate) fn hand_over(command: &str, part: &Subpackage, line: &[OsString]) -> Result<(), CommandFailure> {
    if let Err(failure) = look_for_package(command, part) {
        if line
            .iter()
            .any(|argument| argument == "--help" || argument == "-h")
            && !command.contains(' ')
        {
            print(part.help.trim_end());
            print(format!("\n{}", failure.message));
            return Ok(());
        }
        return Err(failure);
    }
    let mut python = Command::new(INTERPRETER);
    python.args(["-m", "fabricsim"]).args(line);
    replace(&mut python).map_err(|e| CommandFailure::failed(format!("{INTERPRETER}: {e}")))
}

fn look_for_package(command: &str, part: &Subpackage) -> Result<(), CommandFailure> {
    let install = "install it with `make python` in the project's folder";
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
