//! Events and anti-messages between threads.

use serde::{Deserialize, Serialize};

use crate::event::Key;
use crate::team::Mail;
use crate::{Event, LpId};

/// A message between threads.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) enum EventMessage<P> {
    /// An event. The instance distinguishes it from cancelled events with the same key. Its source counts instances.
    Event { event: Event<P>, instance: u32 },
    /// An anti-message, which cancels that event.
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
