//! Handles as integers (MPI 5.0, section 20.3): predefined ones have their value of the ABI, others that of the inside.

use std::ffi::c_int;

use crate::valued;
use crate::values::made_handle;

macro_rules! integers {
    ($($to_integer:ident $to_profiled:ident $from_integer:ident $from_profiled:ident)*) => { valued! { $(
        $to_integer $to_profiled(handle: usize) -> c_int { handle as c_int }
        $from_integer $from_profiled(integer: c_int) -> usize { made_handle(integer) }
    )* } };
}

integers! {
    MPI_Comm_toint PMPI_Comm_toint MPI_Comm_fromint PMPI_Comm_fromint
    MPI_Errhandler_toint PMPI_Errhandler_toint MPI_Errhandler_fromint PMPI_Errhandler_fromint
    MPI_File_toint PMPI_File_toint MPI_File_fromint PMPI_File_fromint
    MPI_Group_toint PMPI_Group_toint MPI_Group_fromint PMPI_Group_fromint
    MPI_Info_toint PMPI_Info_toint MPI_Info_fromint PMPI_Info_fromint
    MPI_Message_toint PMPI_Message_toint MPI_Message_fromint PMPI_Message_fromint
    MPI_Op_toint PMPI_Op_toint MPI_Op_fromint PMPI_Op_fromint
    MPI_Request_toint PMPI_Request_toint MPI_Request_fromint PMPI_Request_fromint
    MPI_Session_toint PMPI_Session_toint MPI_Session_fromint PMPI_Session_fromint
    MPI_Type_toint PMPI_Type_toint MPI_Type_fromint PMPI_Type_fromint
    MPI_Win_toint PMPI_Win_toint MPI_Win_fromint PMPI_Win_fromint
}
