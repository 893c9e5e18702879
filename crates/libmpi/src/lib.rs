//! The MPI library that real programs load in place of MPICH's: `libmpi.so.12`.
//!
//! A process of it is a rank of the simulation. It does what concerns the rank alone (datatypes, communicators, copies
//! of data), and says everything else to the simulator (`rank_channel`), which decides when an operation ends and which
//! message a receive takes. `face` has the C functions; below it nothing calls an `MPI_` name.
//!
//! Handles and constants are those of the MPICH ABI everywhere. Linux only.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // the library is called from C with pointers; functions say what they trust

mod abi;
mod attribute_calls;
mod attributes;
mod clock;
mod collective;
mod communicator;
mod completion;
mod darray;
mod datatype;
mod datatype_table;
mod error;
mod error_codes;
mod face;
mod failure;
mod file;
mod file_access;
mod file_calls;
mod file_view;
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
mod session;
mod shared_pointer;
mod topology;
mod window;
