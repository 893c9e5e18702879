//! Collectives among neighbours, blocking, non-blocking and persistent (MPI 4.1, sections 8.6 to 8.9).

use std::ffi::{c_int, c_void};

use super::collectives::collectives;
use super::{array, wide_array};
use crate::member_blocks::MemberBlocks;
use crate::message::Elements;
use crate::process::Process;

collectives! {
    fn MPI_Neighbor_allgather MPI_Ineighbor_allgather MPI_Neighbor_allgather_init(
        sent: *const c_void, send_count: Count, send_type: c_int, received: *mut c_void, receive_count: Count,
        receive_type: c_int, communicator: c_int
    ) on communicator |p| {
        let (sources, destinations) = p.neighbor_counts(communicator)?;
        let receives = MemberBlocks::equal(p, Elements::new(received, receive_count, receive_type)?, sources)?;
        let sends = MemberBlocks::same(p, Elements::new(sent, send_count, send_type)?, destinations)?;
        Ok(move |p: &mut Process| p.exchange_with_neighbors(sends.clone(), receives.clone(), communicator))
    }

    fn MPI_Neighbor_allgatherv MPI_Ineighbor_allgatherv MPI_Neighbor_allgatherv_init(
        sent: *const c_void, send_count: Count, send_type: c_int, received: *mut c_void, counts: *const Count,
        displacements: *const Count, receive_type: c_int, communicator: c_int
    ) on communicator |p| {
        let (sources, destinations) = p.neighbor_counts(communicator)?;
        let (counts, places) = (wide_array(counts, sources)?, wide_array(displacements, sources)?);
        let receives = MemberBlocks::varying(p, (received, receive_type), &counts, &places)?;
        let sends = MemberBlocks::same(p, Elements::new(sent, send_count, send_type)?, destinations)?;
        Ok(move |p: &mut Process| p.exchange_with_neighbors(sends.clone(), receives.clone(), communicator))
    }

    fn MPI_Neighbor_alltoall MPI_Ineighbor_alltoall MPI_Neighbor_alltoall_init(
        sent: *const c_void, send_count: Count, send_type: c_int, received: *mut c_void, receive_count: Count,
        receive_type: c_int, communicator: c_int
    ) on communicator |p| {
        let (sources, destinations) = p.neighbor_counts(communicator)?;
        let receives = MemberBlocks::equal(p, Elements::new(received, receive_count, receive_type)?, sources)?;
        let sends = MemberBlocks::equal(p, Elements::new(sent, send_count, send_type)?, destinations)?;
        Ok(move |p: &mut Process| p.exchange_with_neighbors(sends.clone(), receives.clone(), communicator))
    }

    fn MPI_Neighbor_alltoallv MPI_Ineighbor_alltoallv MPI_Neighbor_alltoallv_init(
        sent: *const c_void, send_counts: *const Count, send_places: *const Count, send_type: c_int,
        received: *mut c_void, receive_counts: *const Count, receive_places: *const Count, receive_type: c_int,
        communicator: c_int
    ) on communicator |p| {
        let (sources, destinations) = p.neighbor_counts(communicator)?;
        let (counts, places) = (wide_array(receive_counts, sources)?, wide_array(receive_places, sources)?);
        let receives = MemberBlocks::varying(p, (received, receive_type), &counts, &places)?;
        let (counts, places) = (wide_array(send_counts, destinations)?, wide_array(send_places, destinations)?);
        let sends = MemberBlocks::varying(p, (sent, send_type), &counts, &places)?;
        Ok(move |p: &mut Process| p.exchange_with_neighbors(sends.clone(), receives.clone(), communicator))
    }

    fn MPI_Neighbor_alltoallw MPI_Ineighbor_alltoallw MPI_Neighbor_alltoallw_init(
        sent: *const c_void, send_counts: *const Count, send_places: *const isize, send_types: *const c_int,
        received: *mut c_void, receive_counts: *const Count, receive_places: *const isize,
        receive_types: *const c_int, communicator: c_int
    ) on communicator |p| {
        let (sources, destinations) = p.neighbor_counts(communicator)?;
        let (counts, places) = (wide_array(receive_counts, sources)?, wide_array(receive_places, sources)?);
        let types = array(receive_types, sources as i64)?;
        let receives = MemberBlocks::mixed(p, (received, types), &counts, &places)?;
        let (counts, places) = (wide_array(send_counts, destinations)?, wide_array(send_places, destinations)?);
        let types = array(send_types, destinations as i64)?;
        let sends = MemberBlocks::mixed(p, (sent, types), &counts, &places)?;
        Ok(move |p: &mut Process| p.exchange_with_neighbors(sends.clone(), receives.clone(), communicator))
    }
}
