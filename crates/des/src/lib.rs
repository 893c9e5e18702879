//! FabricSim: the discrete-event kernel.

mod time;

pub use time::Time;
