//! Pending events in the total order.

use crate::event::Indexed;
use crate::pending::Pending;
use crate::{Event, Time};

/// Pending events: an ordered list of keys over a slab, so that sorting moves 24 bytes instead of whole events.
pub(crate) struct Queue<P> {
    keys: Pending,
    slab: Vec<Event<P>>,
    free: Vec<u32>,
}

impl<P: Copy> Queue<P> {
    /// An empty queue for a model with this lookahead.
    pub(crate) fn new(lookahead: Time) -> Self {
        Queue {
            keys: Pending::new(Time(lookahead.0 / 64)),
            slab: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, event: Event<P>) {
        let key = event.key();
        let index = match self.free.pop() {
            Some(index) => {
                self.slab[index as usize] = event;
                index
            }
            None => {
                self.slab.push(event);
                (self.slab.len() - 1) as u32
            }
        };
        self.keys.push(Indexed { key, index });
    }

    /// Time of the first event.
    pub(crate) fn next(&mut self) -> Option<Time> {
        self.keys.peek().map(|first| first.key.time)
    }

    /// Removes the first event if it is before `limit`.
    pub(crate) fn pop_before(&mut self, limit: Time) -> Option<Event<P>> {
        let Indexed { key, index } = self.keys.peek()?;
        if key.time >= limit {
            return None;
        }
        self.keys.pop();
        self.free.push(index);
        Some(self.slab[index as usize])
    }

    /// All events, in no particular order.
    pub(crate) fn events(&self) -> impl Iterator<Item = Event<P>> + '_ {
        self.keys.iter().map(|pending| self.slab[pending.index as usize])
    }
}
