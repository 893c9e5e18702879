//! Buffers that the virtual channels (VCs) of an input port share. Each VC has a private part, and the rest is a pool.
//!
//! Source: the buffer policy `shared` of BookSim 2. A flit takes a place of the private part of its VC, else of the
//! pool. The place that BookSim keeps for a packet whose flits have all left the buffer is the first one of the private
//! part, which no other packet can take.
//!
//! The sender counts for each VC the credits of an equal part of the buffer. With more flits there, they are negative,
//! which is a wrapped number.

/// How the VCs of a port share its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedBuffer {
    /// Bytes of the private part of a VC.
    pub private: u32,
    /// Bytes of an equal part of the buffer.
    pub equal: u32,
}

impl SharedBuffer {
    /// Bytes that a VC with `own` credits may send; `all` are those of the VCs of its port.
    pub fn room(self, all: impl ExactSizeIterator<Item = u32>, own: u32) -> u32 {
        let taken = |credits: u32| self.equal.wrapping_sub(credits);
        let pool = u64::from(self.equal.saturating_sub(self.private)) * all.len() as u64;
        let used: u64 = all
            .map(|credits| u64::from(taken(credits).saturating_sub(self.private)))
            .sum();
        let of_pool = pool.saturating_sub(used).min(u64::from(u32::MAX)) as u32;
        self.private.saturating_sub(taken(own)).saturating_add(of_pool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_part_is_for_one_virtual_channel_and_the_pool_for_all() {
        let buffer = SharedBuffer {
            private: 8,
            equal: 24,
        };
        let room = |taken: [u32; 3], vc: usize| {
            let credits = taken.map(|taken| 24u32.wrapping_sub(taken));
            buffer.room(credits.into_iter(), credits[vc])
        };
        // The pool has 48 bytes.
        assert_eq!(room([0, 0, 0], 0), 56);
        assert_eq!(room([56, 0, 0], 0), 0);
        assert_eq!(room([56, 0, 0], 1), 8);
        assert_eq!(room([40, 24, 8], 2), 0);
        assert_eq!(room([40, 16, 8], 2), 8);
        // More than there is, in a timeline that is undone later.
        assert_eq!(room([0, u32::MAX, 0], 0), 8);
    }
}
