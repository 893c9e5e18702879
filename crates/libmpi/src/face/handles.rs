//! Handles as integers of Fortran (MPI 4.1, section 19.3.4): in this ABI they are the same.

use std::ffi::c_int;

macro_rules! same {
    ($($name:ident)*) => { $(
        const _: () = {
            #[unsafe(no_mangle)]
            extern "C" fn $name(handle: c_int) -> c_int {
                handle
            }
            #[unsafe(export_name = concat!("P", stringify!($name)))]
            extern "C" fn profiled(handle: c_int) -> c_int {
                handle
            }
        };
    )* };
}

same! {
    MPI_Comm_c2f MPI_Comm_f2c MPI_Comm_fromint MPI_Comm_toint MPI_Errhandler_c2f MPI_Errhandler_f2c
    MPI_Errhandler_fromint MPI_Errhandler_toint MPI_Group_c2f MPI_Group_f2c MPI_Group_fromint MPI_Group_toint
    MPI_Info_c2f MPI_Info_f2c MPI_Info_fromint MPI_Info_toint MPI_Message_c2f MPI_Message_f2c
    MPI_Message_fromint MPI_Message_toint MPI_Op_c2f MPI_Op_f2c MPI_Op_fromint MPI_Op_toint MPI_Request_c2f
    MPI_Request_f2c MPI_Request_fromint MPI_Request_toint MPI_Session_c2f MPI_Session_f2c MPI_Session_fromint
    MPI_Session_toint MPI_Type_c2f MPI_Type_f2c MPI_Type_fromint MPI_Type_toint MPI_Win_c2f MPI_Win_f2c
    MPI_Win_fromint MPI_Win_toint
}
