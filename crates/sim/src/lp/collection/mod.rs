//! Collection inside an LP: one value in each router and host that is told facts (an event came, a message is made, a
//! packet departed or is delivered), counts and samples them, makes records of them, and notes its own undo steps.

mod door;
mod host;
mod router;
mod timeline;

pub use host::{HostCollection, HostCollectionState, HostCollectionUndo, HostDepartureFacts, MadeMessage};
pub use router::{RouterCollection, RouterCollectionUndo, RouterDepartureFacts};
