//! Toy models, conformance suites and fixtures that more than one crate's tests and benchmarks use.

pub mod bigsim;
pub mod executors;
pub mod mpirun;
pub mod phold;
pub mod processes;
pub mod skip;
