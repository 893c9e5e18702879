//! The deliveries that a router counts early, by job, as its sampler sees them.
//!
//! A router counts a delivery when it sends the packet (`crate::lp::shortcuts::early_commit`), and its counts are
//! sampled as those of its links are. Deliveries in a later bin are noted beside them until that bin is the open one.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::lp::counts::JobCounts;
use crate::lp::net_event::JobFlow;

/// Deliveries of a router at the last sample, and those in later bins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledDeliveries {
    /// Up to the last sample, by job, in the order of the router's counts.
    sampled: SmallVec<[Delivered; 1]>,
    /// After the open bin, by bin and job: few.
    later: Vec<LaterDeliveries>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Delivered {
    packets: u64,
    bytes: u64,
}

/// Deliveries of a job in a bin after the open one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LaterDeliveries {
    bin: u64,
    job: u16,
    delivered: Delivered,
}

impl SampledDeliveries {
    /// Adds a counted packet whose tail arrives in a bin after the open one.
    pub fn add_later(&mut self, bin: u64, job: u16, bytes: u32) {
        let is_same = |later: &LaterDeliveries| (later.bin, later.job) == (bin, job);
        let place = self.later.iter().position(is_same).unwrap_or_else(|| {
            let delivered = Delivered::default();
            self.later.push(LaterDeliveries { bin, job, delivered });
            self.later.len() - 1
        });
        let delivered = &mut self.later[place].delivered;
        delivered.packets += 1;
        delivered.bytes += u64::from(bytes);
    }

    /// Undoes [`SampledDeliveries::add_later`].
    pub fn take_later(&mut self, bin: u64, job: u16, bytes: u32) {
        let is_same = |later: &LaterDeliveries| (later.bin, later.job) == (bin, job);
        let Some(place) = self.later.iter().position(is_same) else {
            return;
        };
        let delivered = &mut self.later[place].delivered;
        delivered.packets = delivered.packets.saturating_sub(1);
        delivered.bytes = delivered.bytes.saturating_sub(bytes.into());
        if delivered.packets == 0 {
            self.later.remove(place);
        }
    }

    /// Samples the open bin, and makes the next one the open one. `emit` gets what each job has delivered in the bin,
    /// if it was anything. Returns whether there are deliveries in later bins.
    pub fn sample(&mut self, open: u64, counts: &[JobCounts], mut emit: impl FnMut(u16, JobFlow)) -> bool {
        if self.sampled.len() < counts.len() {
            self.sampled.resize(counts.len(), Delivered::default());
        }
        for (last, counts) in self.sampled.iter_mut().zip(counts) {
            let mut now = Delivered {
                packets: counts.packets_delivered,
                bytes: counts.bytes_delivered,
            };
            for later in &self.later {
                if later.job == counts.job {
                    now.packets = now.packets.saturating_sub(later.delivered.packets);
                    now.bytes = now.bytes.saturating_sub(later.delivered.bytes);
                }
            }
            if now.packets > last.packets {
                let flow = JobFlow {
                    packets_delivered: now.packets - last.packets,
                    bytes_received: now.bytes.saturating_sub(last.bytes),
                    ..JobFlow::default()
                };
                *last = now;
                emit(counts.job, flow);
            }
        }
        let goes_on = !self.later.is_empty();
        if goes_on {
            self.later.retain(|later| later.bin != open + 1);
        }
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Samples are the sums by bin and job of a plain list, whatever is undone meanwhile.
        #[test]
        fn samples_are_those_of_a_list(
            steps in proptest::collection::vec((0u64..3, 0u64..4, 0u16..3, 1u32..100, any::<bool>()), 0..60),
        ) {
            let (mut deliveries, mut open) = (SampledDeliveries::default(), 3);
            let mut counts: Vec<JobCounts> = Vec::new();
            let (mut sampled, mut list) = (BTreeMap::new(), BTreeMap::new());
            let mut sample = |deliveries: &mut SampledDeliveries, open: u64, counts: &[JobCounts]| {
                deliveries.sample(open, counts, |job, flow| {
                    let of_bin = sampled.insert((open, job), (flow.packets_delivered, flow.bytes_received));
                    assert!(of_bin.is_none());
                })
            };
            for (bins, ahead, job, bytes, undone) in steps {
                for _ in 0..bins {
                    let later = list.keys().any(|(bin, _)| *bin > open);
                    prop_assert_eq!(sample(&mut deliveries, open, &counts), later);
                    open += 1;
                }
                let before = deliveries.clone();
                if ahead > 0 {
                    deliveries.add_later(open + ahead, job, bytes);
                }
                if undone {
                    if ahead > 0 {
                        deliveries.take_later(open + ahead, job, bytes);
                    }
                    prop_assert_eq!(&deliveries, &before);
                    continue;
                }
                let place = counts.iter().position(|counts| counts.job == job).unwrap_or_else(|| {
                    counts.push(JobCounts { job, ..JobCounts::default() });
                    counts.len() - 1
                });
                counts[place].packets_delivered += 1;
                counts[place].bytes_delivered += u64::from(bytes);
                let sum: &mut (u64, u64) = list.entry((open + ahead, job)).or_default();
                *sum = (sum.0 + 1, sum.1 + u64::from(bytes));
            }
            while sample(&mut deliveries, open, &counts) {
                open += 1;
            }
            prop_assert_eq!(sampled, list);
        }
    }
}
