//! MPI semantics as a plain state machine per rank: operations in, messages out.
//!
//! Sees "send this message" and "this message arrived"; nothing of packets, hosts or the kernel.
//! Source of the protocol model: MPICH's and Open MPI's eager and rendezvous protocols.
