//! Collection inside an LP: one value in each router that is told facts (an event came, a packet departed or is
//! delivered), counts and samples them, and notes its own undo steps.

mod door;
mod router;

pub use router::{RouterCollection, RouterCollectionUndo, RouterDepartureFacts};
