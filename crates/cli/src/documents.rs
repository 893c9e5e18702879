//! `completion` and `man`: documents about the command line, from its definition.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory;

use crate::{Cli, CommandFailure, print, unwritten};

/// Prints the script that completes the command line in a shell.
pub(crate) fn completion(shell: clap_complete::Shell) -> Result<(), CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fabricsim", &mut script);
    // Scripts have escape characters, which a terminal is not shown otherwise.
    io::stdout().write_all(&script).map_err(unwritten)
}

/// Writes the pages `fabricsim.1`, `fabricsim-run.1` and so on into a folder, which is made.
pub(crate) fn man(folder: &Path) -> Result<(), CommandFailure> {
    let failed =
        |error: io::Error| CommandFailure::failed(format!("cannot write {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    print(folder.display());
    Ok(())
}
