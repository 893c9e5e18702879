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
    MPI_File_call_errhandler MPI_File_close MPI_File_create_errhandler MPI_File_delete MPI_File_get_amode
    MPI_File_get_atomicity MPI_File_get_byte_offset MPI_File_get_errhandler MPI_File_get_group MPI_File_get_info
    MPI_File_get_position MPI_File_get_position_shared MPI_File_get_size MPI_File_get_type_extent MPI_File_get_view
    MPI_File_iread MPI_File_iread_at MPI_File_iread_shared MPI_File_iwrite MPI_File_iwrite_at MPI_File_iwrite_shared
    MPI_File_open MPI_File_preallocate MPI_File_read MPI_File_read_all MPI_File_read_all_begin MPI_File_read_all_end
    MPI_File_read_at MPI_File_read_at_all MPI_File_read_at_all_begin MPI_File_read_at_all_end MPI_File_read_ordered
    MPI_File_read_ordered_begin MPI_File_read_ordered_end MPI_File_read_shared MPI_File_seek MPI_File_seek_shared
    MPI_File_set_atomicity MPI_File_set_errhandler MPI_File_set_info MPI_File_set_size MPI_File_set_view MPI_File_sync
    MPI_File_write MPI_File_write_all MPI_File_write_all_begin MPI_File_write_all_end MPI_File_write_at
    MPI_File_write_at_all MPI_File_write_at_all_begin MPI_File_write_at_all_end MPI_File_write_ordered
    MPI_File_write_ordered_begin MPI_File_write_ordered_end MPI_File_write_shared MPI_Lookup_name MPI_Open_port
    MPI_Publish_name MPI_Register_datarep MPI_Unpublish_name
}
