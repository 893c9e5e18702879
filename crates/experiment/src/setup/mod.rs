//! From the experiment file to the parts: network, jobs, placement, settings, and what `list` says of them.

pub mod collect;
pub mod experiment;
pub mod geometry;
pub mod job;
pub mod job_trace;
mod lifetime;
pub mod limits;
pub mod listing;
pub mod mapping;
mod model_needs;
pub mod named;
pub mod network;
pub mod network_preset;
mod occupancy;
pub mod occupants;
pub mod placement;
pub mod power;
pub mod rails;
pub mod router_models;
pub mod schedule;
pub mod sizing;
pub mod traffic_classes;
