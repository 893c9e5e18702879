//! From the experiment file to the parts: network, jobs, placement, and what `check` and `list` say of them.

pub mod check;
pub mod experiment;
pub mod geometry;
pub mod job;
pub mod job_trace;
mod lifetime;
pub mod limits;
pub mod listing;
pub mod mapping;
pub mod named;
pub mod network;
pub mod network_preset;
mod occupancy;
pub mod occupants;
pub mod placement;
pub mod power;
pub mod rails;
pub mod schedule;
pub mod sizing;
pub mod traffic_classes;
