//! Functions that are not there yet, but that programs expect to be able to name: mpi4py's wheel does not load without
//! them. A call of one is an error that names it.

use std::ffi::c_int;

use crate::abi::class;
use crate::error;
use crate::failure::Failure;

macro_rules! missing {
    ($($name:ident)*) => { $(
        const _: () = {
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> c_int {
                refuse(stringify!($name))
            }
            #[unsafe(export_name = concat!("P", stringify!($name)))]
            extern "C" fn profiled() -> c_int {
                refuse(stringify!($name))
            }
        };
    )*
        /// The names, for who asks before a run: one in a line.
        #[unsafe(no_mangle)]
        static FABRICSIM_MISSING: [u8; MISSING.len()] = {
            let mut names = [0; MISSING.len()];
            names.copy_from_slice(MISSING.as_bytes());
            names
        };

        const MISSING: &str = concat!($(stringify!($name), "\n"),*);
    };
}

fn refuse(name: &str) -> c_int {
    let text = "FabricSim's MPI library does not have this function";
    error::code(name, Err(Failure::new(class::UNSUPPORTED_OPERATION, text)))
}

missing! {
    MPI_Close_port MPI_Comm_accept MPI_Comm_connect MPI_Comm_join MPI_Comm_spawn MPI_Comm_spawn_multiple
    MPI_Lookup_name MPI_Open_port MPI_Publish_name MPI_Unpublish_name
}
