//! The MPI library in the process of a rank, without the C functions: `libmpi` and `libmpi-abi` export those of one
//! ABI each, and call the functions of `functions`.
//!
//! A process of it is a rank of the simulation. It does what concerns the rank alone (datatypes, communicators, copies
//! of data), and says everything else to the simulator (`rank_channel`), which decides when an operation ends and which
//! message a receive takes. `functions` reads arguments; below it nothing knows the functions of MPI.
//!
//! Handles and constants are those of the MPICH ABI everywhere. Linux only.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // the library is called from C with pointers; functions say what they trust

pub mod abi;
mod attribute_calls;
mod attributes;
pub mod callbacks;
mod clock;
mod collective;
mod communicator;
mod completion;
mod darray;
mod datatype;
mod datatype_table;
mod error;
mod error_codes;
mod error_handlers;
mod failure;
mod file;
mod file_access;
mod file_calls;
mod file_view;
pub mod functions;
mod grouped_messages;
mod info;
mod inter_collectives;
mod intercommunicators;
mod long_double;
mod member_blocks;
mod message;
mod neighbor_collectives;
mod new_communicators;
mod one_sided;
mod partitioned;
mod point_to_point;
mod predefined_types;
mod process;
mod reduction;
mod request;
mod sampling;
mod session;
mod shared_pointer;
mod topology;
mod window;
