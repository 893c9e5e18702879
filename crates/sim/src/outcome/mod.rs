//! From the final state of a run to its result: audit, wait cycles, tables of the network, counters.

pub mod audit;
pub mod final_state;
pub mod inventory;
pub mod not_begun;
pub mod wait_cycles;
