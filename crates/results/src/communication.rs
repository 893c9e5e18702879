//! The communication matrix of a job: what each rank sent to each other one.

use std::collections::BTreeMap;

/// Protocols of messages without data. Their rows in the table `messages` repeat the size of the MPI message.
const CONTROL: [&str; 4] = ["request-to-send", "clear-to-send", "put-done", "get"];

/// Whether messages of this protocol, in the table `messages`, carry data of MPI messages.
pub fn carries_data(protocol: &str) -> bool {
    !CONTROL.contains(&protocol)
}

/// What was sent from the ranks of one cell to those of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Number of messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The messages of a job by sender and receiver, summed over blocks of ranks that follow each other.
#[derive(Clone, Debug)]
pub struct Communication {
    ranks_per_cell: u32,
    cells: BTreeMap<(u32, u32), Sent>,
}

impl Communication {
    /// An empty matrix of so many ranks with at most `most` rows and columns.
    pub fn new(ranks: u32, most: u32) -> Communication {
        Communication {
            ranks_per_cell: ranks.div_ceil(most.max(1)).max(1),
            cells: BTreeMap::new(),
        }
    }

    /// Number of ranks in a row or column; the last one may have fewer.
    pub fn ranks_per_cell(&self) -> u32 {
        self.ranks_per_cell
    }

    /// Adds a message that carries data.
    pub fn add(&mut self, from: u32, to: u32, bytes: u64) {
        let cell = (from / self.ranks_per_cell, to / self.ranks_per_cell);
        let sent = self.cells.entry(cell).or_default();
        sent.messages += 1;
        sent.bytes = sent.bytes.saturating_add(bytes);
    }

    /// Number of rows, and of columns, of a matrix of so many ranks.
    pub fn blocks(&self, ranks: u32) -> u32 {
        ranks.div_ceil(self.ranks_per_cell)
    }

    /// The cells in which something was sent, with their row (sender) and column (receiver), in order.
    pub fn cells(&self) -> impl Iterator<Item = ((u32, u32), Sent)> + '_ {
        self.cells.iter().map(|(place, sent)| (*place, *sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_add_up_in_blocks_of_ranks() {
        let mut matrix = Communication::new(10, 4);
        assert_eq!(matrix.ranks_per_cell(), 3, "four rows: 3, 3, 3 and 1 ranks");
        for (from, to, bytes) in [(0, 9, 5), (2, 9, 7), (9, 0, 1), (4, 5, 0)] {
            matrix.add(from, to, bytes);
        }
        let sent = |messages, bytes| Sent { messages, bytes };
        let cells: Vec<_> = matrix.cells().collect();
        assert_eq!(
            cells,
            [((0, 3), sent(2, 12)), ((1, 1), sent(1, 0)), ((3, 0), sent(1, 1))]
        );
        assert_eq!(Communication::new(0, 0).ranks_per_cell(), 1);
        assert_eq!(Communication::new(4, 4).ranks_per_cell(), 1);
    }
}
