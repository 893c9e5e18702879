//! Computes the result of a run from its final state: audit, wait cycles, tables of the network, counters.

pub mod audit;
mod critical_path;
mod energy;
pub mod final_state;
pub mod inventory;
mod pairs;
pub mod wait_cycles;
