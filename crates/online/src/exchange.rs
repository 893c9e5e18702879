//! The data that the ranks of a job exchange: where the bytes of messages and contributions to collectives are.
//!
//! The simulator decides which message a receive takes, and when a collective is complete for a member. The bytes stay
//! in the shared memory until their last reader has copied them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rank_channel::{Needs, Payload};
use workload::SentMessage;

/// A collective: its communicator, and its number among those of the communicator.
pub(crate) type CollectiveKey = (u32, u64);

/// What the members of a collective have brought.
#[derive(Debug)]
struct Gathered {
    /// By member; `None` of those that bring nothing or have not come.
    contributions: Vec<Option<Payload>>,
    /// Members that have read what they need.
    readers: usize,
}

/// The data of a job under way.
#[derive(Debug)]
pub(crate) struct DataExchange {
    messages: Mutex<HashMap<SentMessage, Payload>>,
    collectives: Mutex<HashMap<CollectiveKey, Gathered>>,
    /// Payloads that are read, by sender.
    released: Vec<Mutex<Vec<Payload>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DataExchange {
    /// Nothing is under way.
    pub fn new(ranks: u32) -> DataExchange {
        DataExchange {
            messages: Mutex::default(),
            collectives: Mutex::default(),
            released: (0..ranks).map(|_| Mutex::default()).collect(),
        }
    }

    /// A message has left.
    pub fn send(&self, message: SentMessage, payload: Payload) {
        locked(&self.messages).insert(message, payload);
    }

    /// The bytes of a message that has come; `None` if it has none.
    pub fn receive(&self, message: SentMessage) -> Option<Payload> {
        locked(&self.messages).remove(&message)
    }

    /// A payload is read to its last reader.
    pub fn release(&self, payload: Payload) {
        if let Some(released) = self.released.get(payload.sender() as usize) {
            locked(released).push(payload);
        }
    }

    /// The payloads of a rank that have no reader left.
    pub fn take_released(&self, rank: u32) -> Vec<Payload> {
        std::mem::take(&mut *locked(&self.released[rank as usize]))
    }

    /// A member comes to a collective.
    pub fn contribute(&self, key: CollectiveKey, (member, members): (u32, usize), payload: Option<Payload>) {
        let mut collectives = locked(&self.collectives);
        let gathered = collectives.entry(key).or_insert_with(|| Gathered {
            contributions: vec![None; members],
            readers: 0,
        });
        if let Some(own) = gathered.contributions.get_mut(member as usize) {
            *own = payload;
        }
    }

    /// The contributions that a member needs at the end of a collective. A member that has not come yet, whom the
    /// collective did not wait for, has nothing to bring.
    pub fn contributions(&self, key: CollectiveKey, needs: Needs) -> Vec<Option<Payload>> {
        let collectives = locked(&self.collectives);
        let Some(gathered) = collectives.get(&key) else {
            return Vec::new();
        };
        let all = gathered.contributions.len();
        let range = match needs {
            Needs::Nothing => 0..0,
            Needs::Of(member) => member as usize..member as usize + 1,
            Needs::Before(member) => 0..member as usize,
            Needs::All => 0..all,
        };
        let needed = range.map(|member| gathered.contributions.get(member).copied().flatten());
        needed.collect()
    }

    /// A member has read what it needs of a collective. The last one ends it.
    pub fn finish(&self, key: CollectiveKey) {
        let mut collectives = locked(&self.collectives);
        let Some(gathered) = collectives.get_mut(&key) else {
            return;
        };
        gathered.readers += 1;
        if gathered.readers == gathered.contributions.len()
            && let Some(gathered) = collectives.remove(&key)
        {
            let payloads = gathered.contributions.into_iter().flatten();
            payloads.for_each(|payload| self.release(payload));
        }
    }
}
