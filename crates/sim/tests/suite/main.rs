//! Tests of whole simulations from outside. `docs/testing.md` says what each part proves.

// The name by which the other crates know this one.
extern crate fabricsim_sim as sim;

mod agreement;
mod applications;
mod bound_by;
mod bounds;
mod checkpoints;
mod collection;
mod corpus;
mod credits;
mod critical_path;
mod deadlock;
mod drain;
mod early_commit;
mod energy;
mod host_latency;
mod idle_time;
mod job_ends;
mod job_trace;
mod jobs;
mod machines;
mod memory;
mod mpi_presets;
mod mpi_semantics;
mod mutated_input;
mod network_latency;
mod nic;
mod pair_series;
mod pairs;
mod physics;
mod rails;
mod random_networks;
mod recordings;
mod registry;
mod repetitions;
mod rollbacks;
mod router_models;
mod sanity;
mod saturation;
mod support;
mod tallies;
mod traces;
mod tracing;
mod traffic;
mod traffic_classes;
mod verdict;
