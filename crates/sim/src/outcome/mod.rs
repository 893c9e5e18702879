//! Computes the result of a run from its final state: audit, deadlocks, wait cycles, tables of the network, counters.

pub mod audit;
mod critical_path;
pub mod deadlock;
mod energy;
pub mod final_state;
pub mod inventory;
mod pairs;
mod wait_cycles;
