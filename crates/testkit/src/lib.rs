//! Toy models and conformance suites that more than one crate's tests and benchmarks use.

pub mod phold;
