//! Handles as integers (MPI 4.1, section 19.3.4): in this ABI they are the same. A status is the same in Fortran, as an
//! array of its five words.

use std::ffi::c_int;

use libmpi_core::abi::{FilePointer, MpiStatus, file_pointer};
use libmpi_core::functions::Functions;

use crate::valued;

macro_rules! same {
    ($($name:ident $profiled:ident)*) => { valued! {
        $($name $profiled(handle: c_int) -> c_int { handle })*
    } };
}

same! {
    MPI_Comm_c2f PMPI_Comm_c2f MPI_Comm_f2c PMPI_Comm_f2c
    MPI_Comm_fromint PMPI_Comm_fromint MPI_Comm_toint PMPI_Comm_toint
    MPI_Errhandler_c2f PMPI_Errhandler_c2f MPI_Errhandler_f2c PMPI_Errhandler_f2c
    MPI_Errhandler_fromint PMPI_Errhandler_fromint MPI_Errhandler_toint PMPI_Errhandler_toint
    MPI_Group_c2f PMPI_Group_c2f MPI_Group_f2c PMPI_Group_f2c
    MPI_Group_fromint PMPI_Group_fromint MPI_Group_toint PMPI_Group_toint
    MPI_Info_c2f PMPI_Info_c2f MPI_Info_f2c PMPI_Info_f2c
    MPI_Info_fromint PMPI_Info_fromint MPI_Info_toint PMPI_Info_toint
    MPI_Message_c2f PMPI_Message_c2f MPI_Message_f2c PMPI_Message_f2c
    MPI_Message_fromint PMPI_Message_fromint MPI_Message_toint PMPI_Message_toint
    MPI_Op_c2f PMPI_Op_c2f MPI_Op_f2c PMPI_Op_f2c
    MPI_Op_fromint PMPI_Op_fromint MPI_Op_toint PMPI_Op_toint
    MPI_Request_c2f PMPI_Request_c2f MPI_Request_f2c PMPI_Request_f2c
    MPI_Request_fromint PMPI_Request_fromint MPI_Request_toint PMPI_Request_toint
    MPI_Session_c2f PMPI_Session_c2f MPI_Session_f2c PMPI_Session_f2c
    MPI_Session_fromint PMPI_Session_fromint MPI_Session_toint PMPI_Session_toint
    MPI_Type_c2f PMPI_Type_c2f MPI_Type_f2c PMPI_Type_f2c
    MPI_Type_fromint PMPI_Type_fromint MPI_Type_toint PMPI_Type_toint
    MPI_Win_c2f PMPI_Win_c2f MPI_Win_f2c PMPI_Win_f2c
    MPI_Win_fromint PMPI_Win_fromint MPI_Win_toint PMPI_Win_toint
}

valued! {
    MPI_File_c2f PMPI_File_c2f(file: FilePointer) -> c_int { file as usize as c_int }
    MPI_File_toint PMPI_File_toint(file: FilePointer) -> c_int { file as usize as c_int }
    MPI_File_f2c PMPI_File_f2c(handle: c_int) -> FilePointer { file_pointer(handle) }
    MPI_File_fromint PMPI_File_fromint(handle: c_int) -> FilePointer { file_pointer(handle) }
    MPI_Status_c2f PMPI_Status_c2f(status: *const MpiStatus, words: *mut [c_int; 5]) -> c_int {
        // Safety: the program passes a status and an array.
        unsafe { Functions::MPI_Status_c2f(status, words) }
    }
    MPI_Status_f2c PMPI_Status_f2c(words: *const [c_int; 5], status: *mut MpiStatus) -> c_int {
        // Safety: as above.
        unsafe { Functions::MPI_Status_f2c(words, status) }
    }
}
