//! Whole ranks that exchange messages over a network in memory.

extern crate fabricsim_mpi as mpi;

mod alpha_beta;
mod answers;
mod collectives;
mod library_tables;
mod matching;
mod network;
mod nonblocking_collectives;
mod one_sided;
mod presets;
mod probes;
mod random_programs;
mod rollback;
mod timing;
mod wrong_programs;
