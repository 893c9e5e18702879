//! Consecutive hosts, one of which is chosen: of the job, a router or a group.

use super::TrafficRandom;

/// Hosts `first` to `first + size - 1`.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostBlock {
    pub(super) first: u32,
    pub(super) size: u32,
}

impl HostBlock {
    /// The block of `size` hosts that contains a host.
    pub(super) fn around(host: u32, size: u32) -> HostBlock {
        HostBlock {
            first: host - host % size,
            size,
        }
    }

    fn holds(self, host: u32) -> bool {
        host >= self.first && host - self.first < self.size
    }

    /// A uniformly random host of the block except `source`; `None` if there is no other.
    pub(super) fn any_but(self, source: u32, random: &mut dyn TrafficRandom) -> Option<u32> {
        let others = self.size - u32::from(self.holds(source));
        if others == 0 {
            return None;
        }
        // Skips the source.
        let other = self.first + random.below(others.into()) as u32;
        Some(other + u32::from(self.holds(source) && other >= source))
    }

    /// The distribution of [`HostBlock::any_but`] with the sum `total`.
    pub(super) fn shares(self, source: u32, total: f64, each: &mut dyn FnMut(u32, f64)) {
        let others = self.size - u32::from(self.holds(source));
        let share = total / f64::from(others);
        let hosts = self.first..self.first + self.size;
        hosts
            .filter(|host| *host != source)
            .for_each(|host| each(host, share));
    }
}
