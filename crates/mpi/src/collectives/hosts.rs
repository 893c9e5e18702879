//! The ranks of a communicator by host, for algorithms on two levels.

use std::collections::BTreeMap;

/// What an algorithm needs of the distribution of a communicator's ranks over hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostLayout {
    /// Nothing.
    Any,
    /// Several hosts, of which one has several ranks.
    Shared,
    /// Several hosts with equally many ranks, at least two.
    SharedEvenly,
}

/// The ranks of a communicator by host. Hosts are numbered in the order of their lowest ranks.
#[derive(Debug, PartialEq, Eq)]
pub struct RanksByHost {
    /// Host of each rank.
    host: Vec<u32>,
    /// Number of lower ranks on the host of each rank.
    place: Vec<u32>,
    /// Ranks, host after host, ascending.
    members: Vec<u32>,
    /// Where the ranks of each host begin in `members`, and the end of the last.
    starts: Vec<u32>,
}

impl RanksByHost {
    /// From the host of each rank, in any numbering.
    pub fn new(host_of_ranks: impl IntoIterator<Item = u32>) -> RanksByHost {
        let mut numbers = BTreeMap::new();
        let mut sizes: Vec<u32> = Vec::new();
        let (mut host, mut place) = (Vec::new(), Vec::new());
        for name in host_of_ranks {
            let number = *numbers.entry(name).or_insert(sizes.len());
            if number == sizes.len() {
                sizes.push(0);
            }
            host.push(number as u32);
            place.push(sizes[number]);
            sizes[number] += 1;
        }
        let mut starts = vec![0];
        for size in &sizes {
            starts.push(starts[starts.len() - 1] + size);
        }
        let mut members = vec![0; host.len()];
        for (rank, (host, place)) in (0..).zip(host.iter().zip(&place)) {
            members[(starts[*host as usize] + place) as usize] = rank;
        }
        RanksByHost {
            host,
            place,
            members,
            starts,
        }
    }

    /// Number of ranks.
    #[cfg(test)]
    pub(super) fn ranks(&self) -> u32 {
        self.host.len() as u32
    }

    /// Number of hosts.
    pub(super) fn hosts(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// Host of a rank.
    pub(super) fn host(&self, rank: u32) -> u32 {
        self.host[rank as usize]
    }

    /// Number of lower ranks on the host of a rank.
    pub(super) fn place(&self, rank: u32) -> u32 {
        self.place[rank as usize]
    }

    /// Ranks of a host, ascending.
    pub(super) fn on(&self, host: u32) -> &[u32] {
        let range = self.starts[host as usize]..self.starts[host as usize + 1];
        &self.members[range.start as usize..range.end as usize]
    }

    /// Most ranks of a host.
    pub(super) fn most(&self) -> u32 {
        self.sizes().max().unwrap_or(0)
    }

    /// Whether the ranks have such a layout.
    pub(super) fn has(&self, layout: HostLayout) -> bool {
        let shared = self.hosts() > 1 && self.most() > 1;
        match layout {
            HostLayout::Any => true,
            HostLayout::Shared => shared,
            HostLayout::SharedEvenly => shared && self.sizes().all(|size| size == self.most()),
        }
    }

    fn sizes(&self) -> impl Iterator<Item = u32> {
        self.starts.windows(2).map(|ends| ends[1] - ends[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_grouped_by_host_in_their_order() {
        let ranks = RanksByHost::new([7, 3, 7, 9, 3, 7]);
        assert_eq!(ranks.hosts(), 3);
        assert_eq!(
            (ranks.on(0), ranks.on(1), ranks.on(2)),
            (&[0, 2, 5][..], &[1, 4][..], &[3][..])
        );
        assert_eq!((ranks.host(5), ranks.place(5)), (0, 2));
        assert_eq!((ranks.host(3), ranks.place(3)), (2, 0));
        assert_eq!(ranks.most(), 3);
    }

    #[test]
    fn a_layout_is_shared_where_several_hosts_have_several_ranks() {
        for (hosts, shared, evenly) in [
            (&[1, 1, 1][..], false, false),
            (&[1, 2, 3], false, false),
            (&[1, 2, 1], true, false),
            (&[1, 2, 2, 1], true, true),
            (&[4], false, false),
            (&[], false, false),
        ] {
            let ranks = RanksByHost::new(hosts.iter().copied());
            assert!(ranks.has(HostLayout::Any));
            assert_eq!(ranks.has(HostLayout::Shared), shared, "{hosts:?}");
            assert_eq!(ranks.has(HostLayout::SharedEvenly), evenly, "{hosts:?}");
        }
    }
}
