//! The logical processes of a run: routers, hosts and the termination detector, with their events and counters.

pub mod collection;
pub mod counts;
pub mod expected_work;
pub mod hop_latency;
pub mod host;
mod host_message;
pub mod ledger;
mod load_reports;
mod lp_random;
pub mod model;
pub mod net_event;
pub mod not_begun;
pub mod path_latencies;
pub mod router_lp;
pub mod sampling;
mod saved;
pub mod shortcuts;
pub mod simulation;
pub mod termination_detector;
pub mod timeline_record;
pub mod times_by_job;
pub mod wiring;
