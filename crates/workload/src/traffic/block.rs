//! Consecutive hosts, one of which is chosen: all hosts of the job, of a router, of a group.

use super::Random;

/// Hosts `first` to `first + size - 1`.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostBlock {
    pub(super) first: u32,
    pub(super) size: u32,
}

impl HostBlock {
    /// The hosts of the block of so many that a host is in.
    pub(super) fn around(host: u32, size: u32) -> HostBlock {
        HostBlock {
            first: host - host % size,
            size,
        }
    }

    fn holds(self, host: u32) -> bool {
        host >= self.first && host - self.first < self.size
    }

    /// One of its hosts but `source`, all with the same probability; none if there is no other.
    pub(super) fn any_but(self, source: u32, random: &mut dyn Random) -> Option<u32> {
        let others = self.size - u32::from(self.holds(source));
        if others == 0 {
            return None;
        }
        // The others are numbered without a gap: skip the source.
        let other = self.first + random.below(others.into()) as u32;
        Some(other + u32::from(self.holds(source) && other >= source))
    }

    /// The shares of [`HostBlock::any_but`], which are `total` together.
    pub(super) fn shares(self, source: u32, total: f64, each: &mut dyn FnMut(u32, f64)) {
        let others = self.size - u32::from(self.holds(source));
        let share = total / f64::from(others);
        let hosts = self.first..self.first + self.size;
        hosts
            .filter(|host| *host != source)
            .for_each(|host| each(host, share));
    }
}
