//! Commands that the Python package implements: sweeps and comparison pages. `python3 -m fabricsim` replaces this
//! process to run them.
//!
//! The package's own `fabricsim` command runs them directly.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use crate::CommandFailure;

const INTERPRETER: &str = "python3";

/// Runs a command line of the Python package. `command` is the user's command, for messages.
pub(crate) fn hand_over(command: &str, line: &[OsString]) -> Result<(), CommandFailure> {
    look_for_package(command)?;
    let mut python = Command::new(INTERPRETER);
    python.args(["-m", "fabricsim"]).args(line);
    replace(&mut python).map_err(|e| CommandFailure::failed(format!("{INTERPRETER}: {e}")))
}

fn look_for_package(command: &str) -> Result<(), CommandFailure> {
    let install =
        "install it with `pip install 'fabricsim[sweep]'`, or `make python` in the project's folder";
    let found = Command::new(INTERPRETER)
        .args(["-c", "import fabricsim.sweep"])
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
