//! Packets of one router in first-in first-out queues, with undo.
//!
//! All queues share one pool of entries, chained by index. Free entries form a stack. As steps are undone in
//! reverse order, every packet returns to its former entry.

use crate::Packet;
use crate::packet::{PacketIdentity, PacketProgress};

/// End of a chain.
const NONE: u32 = u32::MAX;

/// The entries of all queues of a router. `T` is a packet with data of the router model.
#[derive(Clone, Debug)]
pub(crate) struct PacketPool<T> {
    entries: Vec<PoolEntry<T>>,
    free: u32,
}

#[derive(Clone, Debug)]
struct PoolEntry<T> {
    item: T,
    next: u32,
}

/// A queue, chained in the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fifo {
    head: u32,
    tail: u32,
}

/// The entry before a new one, for [`PacketPool::undo_push_back`].
#[derive(Clone, Copy, Debug)]
pub struct Previous(u32);

impl Fifo {
    pub(crate) const EMPTY: Fifo = Fifo {
        head: NONE,
        tail: NONE,
    };

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.head == NONE
    }
}

impl<T> Default for PacketPool<T> {
    fn default() -> Self {
        PacketPool {
            entries: Vec::new(),
            free: NONE,
        }
    }
}

impl<T: AsMut<Packet>> PacketPool<T> {
    /// The first item of a queue.
    #[inline]
    pub(crate) fn front(&self, fifo: Fifo) -> Option<&T> {
        (fifo.head != NONE).then(|| &self.entries[fifo.head as usize].item)
    }

    /// The first item of a queue, mutable.
    #[inline]
    pub(crate) fn front_mut(&mut self, fifo: Fifo) -> Option<&mut T> {
        (fifo.head != NONE).then(|| &mut self.entries[fifo.head as usize].item)
    }

    /// The items of a queue in their order.
    pub(crate) fn iter(&self, fifo: Fifo) -> impl Iterator<Item = &T> {
        let entry = |index| (index != NONE).then(|| &self.entries[index as usize]);
        std::iter::successors(entry(fifo.head), move |e| entry(e.next)).map(|e| &e.item)
    }

    /// Appends an item to a queue.
    pub(crate) fn push_back(&mut self, fifo: &mut Fifo, item: T) -> Previous {
        let entry = PoolEntry { item, next: NONE };
        let index = self.free;
        let index = if index == NONE {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        } else {
            self.free = self.entries[index as usize].next;
            self.entries[index as usize] = entry;
            index
        };
        let previous = std::mem::replace(&mut fifo.tail, index);
        match previous {
            NONE => fifo.head = index,
            previous => self.entries[previous as usize].next = index,
        }
        Previous(previous)
    }

    /// Removes the last item of a queue, which [`PacketPool::push_back`] has appended.
    pub(crate) fn undo_push_back(&mut self, fifo: &mut Fifo, Previous(previous): Previous) {
        let index = std::mem::replace(&mut fifo.tail, previous);
        match previous {
            NONE => fifo.head = NONE,
            previous => self.entries[previous as usize].next = NONE,
        }
        self.release(index);
    }

    /// Removes the first item of a queue that is not empty.
    #[inline]
    pub(crate) fn pop_front(&mut self, fifo: &mut Fifo) {
        let index = fifo.head;
        fifo.head = self.entries[index as usize].next;
        if fifo.head == NONE {
            fifo.tail = NONE;
        }
        self.release(index);
    }

    fn release(&mut self, index: u32) {
        self.entries[index as usize].next = self.free;
        self.free = index;
    }

    /// First half of the undo of [`PacketPool::pop_front`]: fills the entry that was released last.
    pub(crate) fn undo_release(&mut self, identity: PacketIdentity) {
        let entry = &mut self.entries[self.free as usize];
        entry.item.as_mut().set_identity(identity);
    }

    /// Second half: the entry becomes the first of its queue again. The caller restores the rest of the item.
    pub(crate) fn undo_pop_front(&mut self, fifo: &mut Fifo, progress: PacketProgress) -> &mut T {
        let index = self.free;
        let entry = &mut self.entries[index as usize];
        self.free = std::mem::replace(&mut entry.next, fifo.head);
        fifo.head = index;
        if fifo.tail == NONE {
            fifo.tail = index;
        }
        entry.item.as_mut().set_progress(progress);
        &mut entry.item
    }

    /// Removes all items. The queues are invalid afterwards.
    pub(crate) fn clear(&mut self) {
        *self = PacketPool::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::bench::packets;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    enum Step {
        Pushed(usize, Previous),
        Popped(usize, PacketProgress),
        Released(PacketIdentity),
    }

    impl AsMut<Packet> for Packet {
        fn as_mut(&mut self) -> &mut Packet {
            self
        }
    }

    type Queues = [VecDeque<Packet>; 2];

    fn contents(pool: &PacketPool<Packet>, fifos: [Fifo; 2]) -> Queues {
        fifos.map(|fifo| pool.iter(fifo).copied().collect())
    }

    proptest! {
        /// A push for each `Some`, a pop for each `None`.
        #[test]
        fn it_holds_queues_and_undoes_their_changes(
            ops in prop::collection::vec((0usize..2, prop::option::of(packets(1u32..99))), 0..60),
        ) {
            let (mut pool, mut fifos) = (PacketPool::default(), [Fifo::EMPTY; 2]);
            let (mut expected, mut steps, mut history) = (Queues::default(), Vec::new(), Vec::new());
            for (queue, packet) in ops {
                history.push((steps.len(), expected.clone()));
                if let Some(packet) = packet {
                    steps.push(Step::Pushed(queue, pool.push_back(&mut fifos[queue], packet)));
                    expected[queue].push_back(packet);
                } else if let Some(packet) = expected[queue].pop_front() {
                    let (identity, progress) = packet.split();
                    steps.extend([Step::Popped(queue, progress), Step::Released(identity)]);
                    pool.pop_front(&mut fifos[queue]);
                }
                prop_assert_eq!(&contents(&pool, fifos), &expected);
                prop_assert_eq!(pool.front(fifos[queue]), expected[queue].front());
                prop_assert_eq!(fifos[queue].is_empty(), expected[queue].is_empty());
            }
            while let Some((count, expected)) = history.pop() {
                while steps.len() > count {
                    match steps.pop().expect("not empty") {
                        Step::Pushed(queue, previous) => pool.undo_push_back(&mut fifos[queue], previous),
                        Step::Popped(queue, progress) => {
                            pool.undo_pop_front(&mut fifos[queue], progress);
                        }
                        Step::Released(identity) => pool.undo_release(identity),
                    }
                }
                prop_assert_eq!(&contents(&pool, fifos), &expected);
            }
        }
    }
}
