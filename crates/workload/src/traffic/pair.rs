//! Patterns in which every source has one destination.

use super::{Pattern, TrafficRandom};

/// Sends all messages of a source to one partner. A source that is its own partner is silent.
pub(super) struct PartnerPattern<F>(pub(super) F);

impl<F: Fn(u32) -> u32 + Send + Sync> Pattern for PartnerPattern<F> {
    fn destination(&self, source: u32, _: u32, _: u64, _: &mut dyn TrafficRandom) -> Option<u32> {
        let partner = (self.0)(source);
        (partner != source).then_some(partner)
    }

    fn shares(&self, source: u32, _: u32, each: &mut dyn FnMut(u32, f64)) {
        let partner = (self.0)(source);
        if partner != source {
            each(partner, 1.0);
        }
    }
}
