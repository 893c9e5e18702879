//! The `fabricsim` command.

mod allocator;

use std::process::ExitCode;

/// Buffers of events and waiting packets grow and move often: with this allocator a large halo exchange takes a tenth
/// less time than with glibc's (docs/performance.md).
#[global_allocator]
static ALLOCATOR: allocator::RefusingAllocator = allocator::RefusingAllocator;

fn main() -> ExitCode {
    ExitCode::from(fabricsim_cli::main(std::env::args_os(), &[], None))
}
