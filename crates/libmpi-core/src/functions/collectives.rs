//! Collectives, blocking, non-blocking and persistent (MPI 4.1, chapter 6).

use std::ffi::{c_int, c_void};

use super::{array, count_of, wide_array};
use crate::abi::is_in_place;
use crate::failure::Outcome;
use crate::member_blocks::MemberBlocks;
use crate::message::Elements;
use crate::process::Process;

/// Elements whose datatype and count mean nothing, where the buffer is in place.
fn in_place() -> Elements {
    Elements {
        buffer: -1_isize as *mut c_void,
        count: 0,
        datatype: 0x4c00_010d,
    }
}

fn elements(buffer: *const c_void, count: impl Into<i64>, datatype: c_int) -> Outcome<Elements> {
    match is_in_place(buffer) {
        true => Ok(in_place()),
        false => Elements::new(buffer, count, datatype),
    }
}

/// Defines a collective with a blocking, a non-blocking and a persistent name. The body reads the
/// arrays of the call and gives what begins the collective, which a persistent request does again at each start.
macro_rules! collective_forms {
    ($blocking:ident $nonblocking:ident $persistent:ident $suffix:tt ($($argument:ident: $type:ty),*)
        on $communicator:ident |$process:ident| $body:block) => {
        $crate::functions::defined! { $blocking $suffix ($($argument: $type),*) {
            $crate::collective::run($communicator, $crate::collective::CallBlocks::Yes, |$process| $body).map(|_| ())
        } }

        $crate::functions::defined! { $nonblocking $suffix ($($argument: $type,)* request: *mut std::ffi::c_int) {
            let blocks = $crate::collective::CallBlocks::No;
            $crate::functions::put(request, $crate::collective::run($communicator, blocks, |$process| $body)?)
        } }

        $crate::functions::defined! {
            $persistent $suffix ($($argument: $type,)* info: std::ffi::c_int, request: *mut std::ffi::c_int) {
                $crate::info::table().hints(info)?;
                $crate::functions::put(request, $crate::collective::persistent($communicator, |$process| $body)?)
            }
        }
    };
}

/// Defines collectives in all their forms, with large counts too.
macro_rules! collectives {
    ($(fn $blocking:ident $nonblocking:ident $persistent:ident($($argument:ident: $type:ty),*) on $communicator:ident
        |$process:ident| $body:block)*) => { $(
        const _: () = {
            type Count = std::ffi::c_int;
            $crate::functions::collectives::collective_forms! {
                $blocking $nonblocking $persistent "" ($($argument: $type),*) on $communicator |$process| $body
            }
        };
        const _: () = {
            type Count = i64;
            $crate::functions::collectives::collective_forms! {
                $blocking $nonblocking $persistent "_c" ($($argument: $type),*) on $communicator |$process| $body
            }
        };
    )* };
}

pub(super) use {collective_forms, collectives};

collective_forms! {
    MPI_Barrier MPI_Ibarrier MPI_Barrier_init "" (communicator: c_int) on communicator |_p| {
        Ok(move |p: &mut Process| p.barrier(communicator))
    }
}

collectives! {
    fn MPI_Bcast MPI_Ibcast MPI_Bcast_init(
        buffer: *mut c_void, count: Count, datatype: c_int, root: c_int, communicator: c_int
    )
        on communicator |_p|
    {
        Ok(move |p: &mut Process| p.broadcast(Elements::new(buffer, count, datatype)?, root, communicator))
    }

    fn MPI_Gather MPI_Igather MPI_Gather_init(
        sent: *const c_void, send_count: Count, send_type: c_int, received: *mut c_void, receive_count: Count,
        receive_type: c_int, root: c_int, communicator: c_int
    ) on communicator |p| {
        let size = p.block_count(communicator)?;
        let receives = match p.is_root(communicator, root)? {
            true => Some(MemberBlocks::equal(p, Elements::new(received, receive_count, receive_type)?, size)?),
            false => None,
        };
        Ok(move |p: &mut Process| {
            p.gather(elements(sent, send_count, send_type)?, receives.clone(), root, communicator, false)
        })
    }

    fn MPI_Gatherv MPI_Igatherv MPI_Gatherv_init(
        sent: *const c_void, send_count: Count, send_type: c_int, received: *mut c_void, counts: *const Count,
        displacements: *const Count, receive_type: c_int, root: c_int, communicator: c_int
    ) on communicator |p| {
        let size = p.block_count(communicator)?;
        let receives = match p.is_root(communicator, root)? {
            true => {
                let (counts, places) = (wide_array(counts, size)?, wide_array(displacements, size)?);
                Some(MemberBlocks::varying(p, (received, receive_type), &counts, &places)?)
            }
            false => None,
        };
        Ok(move |p: &mut Process| {
            p.gather(elements(sent, send_count, send_type)?, receives.clone(), root, communicator, true)
        })
    }

    fn MPI_Scatter MPI_Iscatter MPI_Scatter_init(
        sent: *const c_void, send_count: Count, send_type: c_int, received: *mut c_void, receive_count: Count,
        receive_type: c_int, root: c_int, communicator: c_int
    ) on communicator |p| {
        let size = p.block_count(communicator)?;
        let sends = match p.is_root(communicator, root)? {
            true => Some(MemberBlocks::equal(p, Elements::new(sent, send_count, send_type)?, size)?),
            false => None,
        };
        Ok(move |p: &mut Process| {
            p.scatter(sends.clone(), elements(received, receive_count, receive_type)?, root, communicator, false)
        })
    }

    fn MPI_Scatterv MPI_Iscatterv MPI_Scatterv_init(
        sent: *const c_void, counts: *const Count, displacements: *const Count, send_type: c_int, received: *mut c_void,
        receive_count: Count, receive_type: c_int, root: c_int, communicator: c_int
    ) on communicator |p| {
        let size = p.block_count(communicator)?;
        let sends = match p.is_root(communicator, root)? {
            true => {
                let (counts, places) = (wide_array(counts, size)?, wide_array(displacements, size)?);
                Some(MemberBlocks::varying(p, (sent, send_type), &counts, &places)?)
            }
            false => None,
        };
        Ok(move |p: &mut Process| {
            p.scatter(sends.clone(), elements(received, receive_count, receive_type)?, root, communicator, true)
        })
    }

    fn MPI_Allgather MPI_Iallgather MPI_Allgather_init(
        sent: *const c_void, send_count: Count, send_type: c_int, received: *mut c_void, receive_count: Count,
        receive_type: c_int, communicator: c_int
    ) on communicator |p| {
        let size = p.block_count(communicator)?;
        let receives = MemberBlocks::equal(p, Elements::new(received, receive_count, receive_type)?, size)?;
        Ok(move |p: &mut Process| {
            p.allgather(elements(sent, send_count, send_type)?, receives.clone(), communicator, false)
        })
    }

    fn MPI_Allgatherv MPI_Iallgatherv MPI_Allgatherv_init(
        sent: *const c_void, send_count: Count, send_type: c_int, received: *mut c_void, counts: *const Count,
        displacements: *const Count, receive_type: c_int, communicator: c_int
    ) on communicator |p| {
        let size = p.block_count(communicator)?;
        let (counts, places) = (wide_array(counts, size)?, wide_array(displacements, size)?);
        let receives = MemberBlocks::varying(p, (received, receive_type), &counts, &places)?;
        Ok(move |p: &mut Process| {
            p.allgather(elements(sent, send_count, send_type)?, receives.clone(), communicator, true)
        })
    }

    fn MPI_Alltoall MPI_Ialltoall MPI_Alltoall_init(
        sent: *const c_void, send_count: Count, send_type: c_int, received: *mut c_void, receive_count: Count,
        receive_type: c_int, communicator: c_int
    ) on communicator |p| {
        let size = p.block_count(communicator)?;
        let receives = MemberBlocks::equal(p, Elements::new(received, receive_count, receive_type)?, size)?;
        let sends = match is_in_place(sent) {
            true => None,
            false => Some(MemberBlocks::equal(p, Elements::new(sent, send_count, send_type)?, size)?),
        };
        Ok(move |p: &mut Process| p.alltoall(sends.clone(), receives.clone(), communicator, false))
    }

    fn MPI_Alltoallv MPI_Ialltoallv MPI_Alltoallv_init(
        sent: *const c_void, send_counts: *const Count, send_places: *const Count, send_type: c_int,
        received: *mut c_void, receive_counts: *const Count, receive_places: *const Count, receive_type: c_int,
        communicator: c_int
    ) on communicator |p| {
        let size = p.block_count(communicator)?;
        let (counts, places) = (wide_array(receive_counts, size)?, wide_array(receive_places, size)?);
        let receives = MemberBlocks::varying(p, (received, receive_type), &counts, &places)?;
        let sends = match is_in_place(sent) {
            true => None,
            false => {
                let (counts, places) = (wide_array(send_counts, size)?, wide_array(send_places, size)?);
                Some(MemberBlocks::varying(p, (sent, send_type), &counts, &places)?)
            }
        };
        Ok(move |p: &mut Process| p.alltoall(sends.clone(), receives.clone(), communicator, true))
    }

    fn MPI_Reduce MPI_Ireduce MPI_Reduce_init(
        sent: *const c_void, received: *mut c_void, count: Count, datatype: c_int, operation: c_int, root: c_int,
        communicator: c_int
    ) on communicator |_p| {
        Ok(move |p: &mut Process| {
            p.reduce(sent, Elements::new(received, count, datatype)?, operation, Some(root), communicator)
        })
    }

    fn MPI_Allreduce MPI_Iallreduce MPI_Allreduce_init(
        sent: *const c_void, received: *mut c_void, count: Count, datatype: c_int, operation: c_int, communicator: c_int
    ) on communicator |_p| {
        Ok(move |p: &mut Process| {
            p.reduce(sent, Elements::new(received, count, datatype)?, operation, None, communicator)
        })
    }

    fn MPI_Scan MPI_Iscan MPI_Scan_init(
        sent: *const c_void, received: *mut c_void, count: Count, datatype: c_int, operation: c_int, communicator: c_int
    ) on communicator |_p| {
        Ok(move |p: &mut Process| {
            p.scan(sent, Elements::new(received, count, datatype)?, operation, communicator, false)
        })
    }

    fn MPI_Exscan MPI_Iexscan MPI_Exscan_init(
        sent: *const c_void, received: *mut c_void, count: Count, datatype: c_int, operation: c_int, communicator: c_int
    ) on communicator |_p| {
        Ok(move |p: &mut Process| {
            p.scan(sent, Elements::new(received, count, datatype)?, operation, communicator, true)
        })
    }

    fn MPI_Reduce_scatter_block MPI_Ireduce_scatter_block MPI_Reduce_scatter_block_init(
        sent: *const c_void, received: *mut c_void, count: Count, datatype: c_int, operation: c_int, communicator: c_int
    ) on communicator |p| {
        let (_, size) = p.place(communicator)?;
        let elements = Elements::new(received, count, datatype)?;
        let counts = vec![elements.count; size];
        Ok(move |p: &mut Process| {
            p.reduce_scatter(sent, (elements, counts.clone()), operation, communicator, true)
        })
    }

    fn MPI_Reduce_scatter MPI_Ireduce_scatter MPI_Reduce_scatter_init(
        sent: *const c_void, received: *mut c_void, counts: *const Count, datatype: c_int, operation: c_int,
        communicator: c_int
    ) on communicator |p| {
        let (_, size) = p.place(communicator)?;
        let counts = array(counts, size as i64)?.iter();
        let counts = counts.map(|count| count_of(*count)).collect::<Outcome<Vec<_>>>()?;
        let elements = Elements::new(received, 0, datatype)?;
        Ok(move |p: &mut Process| {
            p.reduce_scatter(sent, (elements, counts.clone()), operation, communicator, false)
        })
    }

    fn MPI_Alltoallw MPI_Ialltoallw MPI_Alltoallw_init(
        sent: *const c_void, send_counts: *const Count, send_places: *const Count, send_types: *const c_int,
        received: *mut c_void, receive_counts: *const Count, receive_places: *const Count, receive_types: *const c_int,
        communicator: c_int
    ) on communicator |p| {
        let size = p.block_count(communicator)?;
        let (counts, places) = (wide_array(receive_counts, size)?, wide_array(receive_places, size)?);
        let types = array(receive_types, size as i64)?;
        let receives = MemberBlocks::mixed(p, (received, types), &counts, &places)?;
        let sends = match is_in_place(sent) {
            true => None,
            false => {
                let (counts, places) = (wide_array(send_counts, size)?, wide_array(send_places, size)?);
                let types = array(send_types, size as i64)?;
                Some(MemberBlocks::mixed(p, (sent, types), &counts, &places)?)
            }
        };
        Ok(move |p: &mut Process| p.alltoall(sends.clone(), receives.clone(), communicator, true))
    }
}
