//! What ranks do, as streams of operations. Trace readers and synthetic patterns; knows nothing of
//! networks or of how MPI is carried out.

mod operation;

pub use operation::{Call, Collective, Communicator, Operation, Program, TraceError, WORLD, Workload};
