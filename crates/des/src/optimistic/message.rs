//! Events and anti-messages between threads.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::event::Key;
use crate::team::Mail;
use crate::{Event, LpId};

/// A message between threads. Messages of one thread to another keep their order, so an anti-message comes after its
/// event, and before another event that has the same key.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) enum EventMessage<P> {
    /// An event.
    Event(Event<P>),
    /// An anti-message, which cancels an event.
    Cancelled(SentEvent),
}

/// A sent event, for its cancellation.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct SentEvent {
    pub(super) key: Key,
    pub(super) target: LpId,
}

impl<P> From<Event<P>> for EventMessage<P> {
    fn from(event: Event<P>) -> Self {
        EventMessage::Event(event)
    }
}

impl<P: Send + Serialize + DeserializeOwned> Mail for EventMessage<P> {
    fn target(&self) -> LpId {
        match self {
            EventMessage::Event(event) => event.target,
            EventMessage::Cancelled(sent) => sent.target,
        }
    }
}
