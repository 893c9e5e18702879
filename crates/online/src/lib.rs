//! Real MPI programs as workloads: one process of the operating system for each rank, whose MPI library is ours and
//! says every call to the simulator (online simulation, as in SimGrid's SMPI, but without changed builds).
//!
//! `section` reads the table of a job, `job` is one run of it, `launch` starts and ends the processes, `output` labels
//! what they print, `program` translates what a rank posts to operations, `exchange` has the data that ranks exchange,
//! `symbols` tells before a run what a program needs. Linux only.

#![cfg(target_os = "linux")]

mod exchange;
mod job;
mod launch;
mod output;
mod program;
mod section;
mod symbols;

pub use launch::{RankStatus, interrupt};
pub use section::OnlinePrograms;
pub use symbols::{NeededLibrary, ProgramNeeds, is_compiled, is_script};
