//! Putting messages together again at the receiving NIC, in whatever order their packets come.

use rustc_hash::FxHashMap;
use topology::HostId;

/// Messages of which something is still missing. `T` is what their announcement says of them.
///
/// A message is announced out of band by its sender when it is handed to the NIC: the announcement
/// stands for the header fields that every packet would carry, and takes no part in timing.
#[derive(Clone, Debug)]
pub struct Inbox<T> {
    partial: FxHashMap<(HostId, u32), Partial<T>>,
}

#[derive(Clone, Debug)]
struct Partial<T> {
    received: u64,
    announced: Option<(u64, T)>,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Inbox {
            partial: FxHashMap::default(),
        }
    }
}

impl<T: Copy> Inbox<T> {
    /// Learns that `message` of `source` has `bytes` bytes. Comes before its last packet.
    pub fn announced(&mut self, source: HostId, message: u32, bytes: u64, what: T) {
        let entry = self.partial.entry((source, message)).or_insert(Partial {
            received: 0,
            announced: None,
        });
        debug_assert!(entry.announced.is_none(), "announced twice");
        entry.announced = Some((bytes, what));
    }

    /// Takes in a packet; gives back the message's announcement if this was the last of it.
    pub fn packet(&mut self, source: HostId, message: u32, bytes: u32) -> Option<T> {
        let entry = self.partial.entry((source, message)).or_insert(Partial {
            received: 0,
            announced: None,
        });
        entry.received += u64::from(bytes);
        let (total, what) = entry.announced?;
        (entry.received >= total).then(|| {
            self.partial.remove(&(source, message));
            what
        })
    }

    /// Number of messages that are not complete.
    pub fn incomplete(&self) -> usize {
        self.partial.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_messages_come_out_whole() {
        let mut inbox = Inbox::default();
        inbox.packet(HostId(1), 7, 100);
        inbox.announced(HostId(1), 7, 250, 'a');
        inbox.announced(HostId(2), 7, 100, 'b');
        assert_eq!(inbox.packet(HostId(1), 7, 100), None);
        assert_eq!(inbox.packet(HostId(2), 7, 100), Some('b'));
        assert_eq!(inbox.packet(HostId(1), 7, 50), Some('a'));
        assert_eq!(inbox.incomplete(), 0);
    }
}
