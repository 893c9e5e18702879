//! The network accepts less synthetic traffic than the hosts offer.

use super::{Note, Severity};
use crate::{Bounds, RunResult, Table, show};

pub(super) const NAME: &str = "saturated";

/// Least relative deficit of the accepted load. Random arrivals explain smaller ones.
const NOISE: f64 = 0.05;

/// Number of latencies of an idle network for which traffic may be in flight without saturation. Queues below
/// saturation make packets a few times slower than in an idle network.
const IN_FLIGHT_LATENCIES: f64 = 3.0;

/// Least excess of the requested loads over the bound, against rounding.
const ROUNDING: f64 = 0.001;

/// One note if the network accepted less than was offered, or cannot accept the requested loads.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let summary = &result.summary;
    if summary.jobs.iter().all(|job| job.ranks > 0) || summary.network.offered_load <= 0.0 {
        return Vec::new();
    }
    let bound = summary.bounds.as_ref().and_then(exceeded);
    let deficit = deficit(result);
    if bound.is_none() && !deficit.is_some_and(|deficit| is_backlog(result, deficit)) {
        return Vec::new();
    }
    let mut found = format!(
        "the network accepted {} of the injection bandwidth, and {} was offered",
        show::percent(summary.network.accepted_load),
        show::percent(summary.network.offered_load)
    );
    if let Some(bound) = bound {
        found += &format!("; {bound}");
    }
    if let Some(deficit) = deficit.filter(|deficit| *deficit > NOISE) {
        let share = show::percent(deficit);
        found += &format!("; {share} of the offered traffic had not arrived at the end");
        if summary.network.latency_ns.mean.is_some() {
            found += ", and latencies are of the packets that arrived";
        }
    }
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Warning,
        job: None,
        found,
        advice: "Latency grows with the length of the run: use it below saturation only, and the accepted load here"
            .into(),
    }]
}

/// The bound that the requested loads exceed.
fn exceeded(bounds: &Bounds) -> Option<String> {
    let scale = bounds.scale.filter(|scale| *scale < 1.0 - ROUNDING)?;
    Some(format!(
        "the first link is full at {scale:.3} times the requested load: {}",
        bounds.scale_limited_by
    ))
}

/// Share of the offered traffic that did not arrive in the measured time.
fn deficit(result: &RunResult) -> Option<f64> {
    let network = &result.summary.network;
    Some(1.0 - network.accepted_load / network.offered_load).filter(|deficit| *deficit > 0.0)
}

/// Whether traffic that is in flight without saturation does not explain this deficit.
fn is_backlog(result: &RunResult, deficit: f64) -> bool {
    let Some(latency_ns) = idle_latency_ns(result) else {
        return false;
    };
    let in_flight = IN_FLIGHT_LATENCIES * latency_ns / result.summary.network.measured_ns;
    deficit > NOISE && deficit > in_flight
}

/// Latency of the last packet of a message in an idle network: the computed one, or an estimate from the fastest
/// measured packet and the bandwidth of the hosts. `None` if neither is known.
fn idle_latency_ns(result: &RunResult) -> Option<f64> {
    let computed = result.summary.bounds.iter().flat_map(|bounds| &bounds.jobs);
    let computed = computed.filter_map(|job| Some(job.zero_load_latency_ns?.max));
    computed.reduce(f64::max).or_else(|| {
        let fastest_ps = result.table("latency_histogram")?.u64s("low_ps")?.iter().min()?;
        Some(*fastest_ps as f64 / 1000.0 + message_ns(result)?)
    })
}

/// Time of the largest mean message of the synthetic traffic on the slowest link.
fn message_ns(result: &RunResult) -> Option<f64> {
    let bandwidth = |links: &Table| links.u64s("bandwidth_bits_per_s")?.iter().copied().min();
    let bits_per_s = result.table("links").and_then(bandwidth)?;
    let jobs = result.summary.jobs.iter().filter(|job| job.ranks == 0);
    let bytes = jobs.map(|job| job.bytes as f64 / job.messages.max(1) as f64);
    Some(8e9 * bytes.fold(0.0, f64::max) / bits_per_s.max(1) as f64)
}
