//! The `fabricsim` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(fabricsim_cli::main(std::env::args_os(), &[]))
}
