//! Events and anti-messages between threads.

use serde::{Deserialize, Serialize};

use crate::event::Key;
use crate::team::Mail;
use crate::{Event, LpId};

/// What threads send each other.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) enum EventMessage<P> {
    /// An event. The instance tells it from others with the same key, of sends that were cancelled; its source
    /// counts them.
    Event { event: Event<P>, instance: u32 },
    /// An anti-message: that event has not been sent.
    Cancelled { target: LpId, key: Key, instance: u32 },
}

impl<P: Send + Serialize + serde::de::DeserializeOwned> Mail for EventMessage<P> {
    fn target(&self) -> LpId {
        match self {
            EventMessage::Event { event, .. } => event.target,
            EventMessage::Cancelled { target, .. } => *target,
        }
    }
}
