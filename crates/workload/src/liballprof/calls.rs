//! The functions of the format and the arguments in their lines.
//!
//! A layout has one letter per argument:
//!
//! | letter | argument |
//! | --- | --- |
//! | `x` | a pointer, a group: ignored |
//! | `b` | a buffer that may be `MPI_IN_PLACE` |
//! | `o` | a reduction operation |
//! | `i` | a number |
//! | `a` | an address: of a request, of a communicator to be created |
//! | `d` | a datatype: number, size, extent |
//! | `c` | a communicator: handle, own rank in it, size |
//! | `v` | an array with an entry for each rank: address, then the entries, or (some writers) the address only |
//!
//! The writers are generated from the prototypes in `mpi.h`, so the arguments are those of the MPI standard.
//!
//! Source: liballprof, `gencode.py`, in <https://github.com/spcl/LogGOPSim> and <https://github.com/spcl/atlahs>.

/// A function.
#[derive(Debug)]
pub struct RecordedFunction {
    /// Its name.
    pub name: &'static str,
    /// How it is read.
    pub kind: FunctionKind,
}

/// How a function is read.
#[derive(Clone, Copy, Debug)]
pub enum FunctionKind {
    /// It is replayed; the layout of its arguments.
    Replayed(&'static str),
    /// It is local to the rank and only takes time.
    Local,
    /// It is an error, for this reason.
    Refused(&'static str),
}

use FunctionKind::{Local, Refused, Replayed};

/// A function by its name.
pub fn function(name: &str) -> Option<&'static RecordedFunction> {
    FUNCTIONS.iter().find(|f| f.name == name)
}

macro_rules! functions {
    ($($kind:expr => $($name:literal)*;)*) => {
        &[$($(RecordedFunction { name: $name, kind: $kind },)*)*]
    };
}

const GROUPS: &str = "inter-communicators and new processes are not supported";
const WINDOWS: &str =
    "one-sided communication is not supported: the format does not record which window it is in";
const OUTCOME: &str = "the format does not record what it finds";

static FUNCTIONS: &[RecordedFunction] = functions! {
    Replayed("xidiic") => "MPI_Send" "MPI_Ssend" "MPI_Bsend" "MPI_Rsend";
    Replayed("xidiicx") => "MPI_Recv";
    Replayed("xidiica") => "MPI_Isend" "MPI_Irecv" "MPI_Issend" "MPI_Ibsend" "MPI_Irsend" "MPI_Send_init"
        "MPI_Recv_init" "MPI_Ssend_init" "MPI_Bsend_init" "MPI_Rsend_init";
    Replayed("xidiixidiicx") => "MPI_Sendrecv";
    Replayed("xidiiiicx") => "MPI_Sendrecv_replace";
    Replayed("ax") => "MPI_Wait";
    Replayed("iax") => "MPI_Waitall";
    Replayed("iaxx") => "MPI_Waitany" "MPI_Testall";
    Replayed("iaxxx") => "MPI_Waitsome" "MPI_Testany" "MPI_Testsome";
    Replayed("axx") => "MPI_Test";
    Replayed("a") => "MPI_Start" "MPI_Request_free" "MPI_Comm_free" "MPI_Comm_disconnect";
    Replayed("ia") => "MPI_Startall";
    Replayed("iicx") => "MPI_Probe";
    Replayed("iicxx") => "MPI_Iprobe";
    Replayed("c") => "MPI_Barrier";
    Replayed("xidic") => "MPI_Bcast";
    Replayed("xxidoic") => "MPI_Reduce";
    Replayed("xxidoc") => "MPI_Allreduce" "MPI_Scan" "MPI_Exscan" "MPI_Reduce_scatter_block";
    Replayed("xxvdoc") => "MPI_Reduce_scatter";
    Replayed("bidxidc") => "MPI_Allgather" "MPI_Alltoall";
    Replayed("bidxidic") => "MPI_Gather";
    Replayed("xidbidic") => "MPI_Scatter";
    Replayed("bidxvvdic") => "MPI_Gatherv";
    Replayed("xvvdbidic") => "MPI_Scatterv";
    Replayed("bidxvvdc") => "MPI_Allgatherv";
    Replayed("bvvdxvvdc") => "MPI_Alltoallv";
    Replayed("ca") => "MPI_Ibarrier" "MPI_Comm_dup";
    Replayed("xidica") => "MPI_Ibcast";
    Replayed("xxidoica") => "MPI_Ireduce";
    Replayed("xxidoca") => "MPI_Iallreduce" "MPI_Iscan" "MPI_Iexscan" "MPI_Ireduce_scatter_block";
    Replayed("xxvdoca") => "MPI_Ireduce_scatter";
    Replayed("bidxidca") => "MPI_Iallgather" "MPI_Ialltoall";
    Replayed("bidxidica") => "MPI_Igather";
    Replayed("xidbidica") => "MPI_Iscatter";
    Replayed("bidxvvdica") => "MPI_Igatherv";
    Replayed("xvvdbidica") => "MPI_Iscatterv";
    Replayed("bidxvvdca") => "MPI_Iallgatherv";
    Replayed("bvvdxvvdca") => "MPI_Ialltoallv";
    Replayed("ciia") => "MPI_Comm_split";
    Replayed("cxa") => "MPI_Comm_create" "MPI_Comm_dup_with_info" "MPI_Cart_sub";
    Replayed("ciixa") => "MPI_Comm_split_type";
    Replayed("cixxia") => "MPI_Cart_create" "MPI_Graph_create";
    Replayed("cx") => "MPI_Comm_size" "MPI_Comm_rank";
    Local => "MPI_Init" "MPI_Init_thread" "MPI_Finalize" "MPI_Initialized" "MPI_Finalized" "MPI_Wtime" "MPI_Wtick"
        "MPI_Pcontrol" "MPI_Get_count" "MPI_Get_elements" "MPI_Get_elements_x" "MPI_Get_address" "MPI_Address"
        "MPI_Get_processor_name" "MPI_Get_version" "MPI_Get_library_version" "MPI_Query_thread"
        "MPI_Is_thread_main" "MPI_Buffer_attach" "MPI_Buffer_detach" "MPI_Alloc_mem" "MPI_Free_mem"
        "MPI_Type_create_f90_complex" "MPI_Type_create_f90_integer" "MPI_Type_create_f90_real"
        "MPI_Type_commit" "MPI_Type_contiguous" "MPI_Type_create_darray" "MPI_Type_create_hindexed"
        "MPI_Type_create_hindexed_block" "MPI_Type_create_hvector" "MPI_Type_create_indexed_block"
        "MPI_Type_create_keyval" "MPI_Type_create_resized" "MPI_Type_create_struct" "MPI_Type_create_subarray"
        "MPI_Type_delete_attr" "MPI_Type_dup" "MPI_Type_extent" "MPI_Type_free" "MPI_Type_free_keyval"
        "MPI_Type_get_attr" "MPI_Type_get_contents" "MPI_Type_get_envelope" "MPI_Type_get_extent"
        "MPI_Type_get_name" "MPI_Type_get_true_extent" "MPI_Type_hindexed" "MPI_Type_hvector"
        "MPI_Type_indexed" "MPI_Type_lb" "MPI_Type_match_size" "MPI_Type_set_attr" "MPI_Type_set_name"
        "MPI_Type_size" "MPI_Type_size_x" "MPI_Type_struct" "MPI_Type_ub" "MPI_Type_vector"
        "MPI_Op_create" "MPI_Op_free" "MPI_Op_commutative" "MPI_Pack" "MPI_Pack_size" "MPI_Unpack"
        "MPI_Pack_external" "MPI_Pack_external_size" "MPI_Unpack_external" "MPI_Reduce_local"
        "MPI_Group_compare" "MPI_Group_difference" "MPI_Group_excl" "MPI_Group_free" "MPI_Group_incl"
        "MPI_Group_intersection" "MPI_Group_range_excl" "MPI_Group_range_incl" "MPI_Group_rank"
        "MPI_Group_size" "MPI_Group_translate_ranks" "MPI_Group_union" "MPI_Comm_group" "MPI_Comm_compare"
        "MPI_Comm_test_inter" "MPI_Comm_get_attr" "MPI_Comm_set_attr" "MPI_Comm_delete_attr"
        "MPI_Comm_get_name" "MPI_Comm_set_name" "MPI_Comm_get_info" "MPI_Comm_set_info"
        "MPI_Comm_create_keyval" "MPI_Comm_free_keyval" "MPI_Comm_create_errhandler"
        "MPI_Comm_get_errhandler" "MPI_Comm_set_errhandler" "MPI_Comm_get_parent" "MPI_Attr_delete"
        "MPI_Attr_get" "MPI_Attr_put" "MPI_Keyval_create" "MPI_Keyval_free" "MPI_Errhandler_create"
        "MPI_Errhandler_free" "MPI_Errhandler_get" "MPI_Errhandler_set" "MPI_Error_class"
        "MPI_Error_string" "MPI_Add_error_class" "MPI_Add_error_code" "MPI_Add_error_string"
        "MPI_Info_create" "MPI_Info_delete" "MPI_Info_dup" "MPI_Info_free" "MPI_Info_get"
        "MPI_Info_get_nkeys" "MPI_Info_get_nthkey" "MPI_Info_get_valuelen" "MPI_Info_set"
        "MPI_Topo_test" "MPI_Dims_create" "MPI_Cart_coords" "MPI_Cart_get" "MPI_Cart_map" "MPI_Cart_rank"
        "MPI_Cart_shift" "MPI_Cartdim_get" "MPI_Graph_get" "MPI_Graph_map" "MPI_Graph_neighbors"
        "MPI_Graph_neighbors_count" "MPI_Graphdims_get" "MPI_Request_get_status" "MPI_Test_cancelled"
        "MPI_Status_set_cancelled" "MPI_Status_set_elements";
    Refused("the application was aborted") => "MPI_Abort";
    Refused("the format does not record whether it came in time") => "MPI_Cancel";
    Refused("the format does not record the types of its parts") => "MPI_Alltoallw" "MPI_Ialltoallw";
    Refused(OUTCOME) => "MPI_Mprobe" "MPI_Improbe" "MPI_Mrecv" "MPI_Imrecv";
    Refused(GROUPS) => "MPI_Intercomm_create" "MPI_Intercomm_merge" "MPI_Comm_accept" "MPI_Comm_connect"
        "MPI_Comm_join" "MPI_Comm_spawn" "MPI_Comm_spawn_multiple" "MPI_Comm_remote_group"
        "MPI_Comm_remote_size";
    Refused(WINDOWS) => "MPI_Win_create" "MPI_Win_allocate" "MPI_Win_fence" "MPI_Win_free" "MPI_Win_lock"
        "MPI_Win_unlock" "MPI_Win_post" "MPI_Win_start" "MPI_Win_complete" "MPI_Win_wait" "MPI_Put" "MPI_Get"
        "MPI_Accumulate";
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_there_once_and_has_a_layout_of_known_letters() {
        for (i, f) in FUNCTIONS.iter().enumerate() {
            assert!(FUNCTIONS[i + 1..].iter().all(|g| g.name != f.name), "{}", f.name);
            if let Replayed(layout) = f.kind {
                assert!(layout.chars().all(|c| "xboiadcv".contains(c)), "{}", f.name);
                assert!(layout.matches('c').count() <= 1, "{}", f.name);
            }
        }
    }
}
