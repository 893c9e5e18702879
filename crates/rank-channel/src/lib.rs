//! Shared memory between the simulator and the processes that are the ranks of a real program.
//!
//! The simulator makes one anonymous file for a job ([`SharedMemory`]). Each rank has a channel in it, on which the two
//! sides take turns ([`RankEnd`], [`SimulatorEnd`]), and an arena for the bytes of its messages, which never pass
//! through the simulator ([`Arena`]). Linux only: anonymous files and futexes.

#![cfg(target_os = "linux")]

mod arena;
mod memory;
mod post;
mod rank;
mod simulator;
mod turn;

pub use arena::{Arena, Payload};
pub use memory::SharedMemory;
pub use post::{Needs, Post, PostedData, Reply};
pub use rank::{CHANNEL, RANK, RankEnd};
pub use simulator::{Gone, SimulatorEnd};

#[cfg(test)]
mod tests;
