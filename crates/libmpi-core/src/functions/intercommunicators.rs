//! Communicators of two groups (MPI 4.1, section 7.6).

use std::ffi::c_int;

use super::{functions, put};
use crate::abi::{self, class};
use crate::failure::Failure;
use crate::process;

functions! {
    fn MPI_Comm_remote_size(communicator: c_int, size: *mut c_int) {
        put(size, process::with(|p| {
            let own = p.communicators.get(communicator)?;
            let remote = own.remote.as_ref().map(|remote| remote.members.len() as c_int);
            remote.ok_or_else(|| Failure::new(class::COMM, "the communicator has one group").on(communicator))
        })?)
    }

    fn MPI_Comm_remote_group(communicator: c_int, group: *mut c_int) {
        put(group, process::with(|p| {
            let own = p.communicators.get(communicator)?;
            let remote = own.remote.as_ref().map(|remote| remote.members.clone());
            let remote = remote.ok_or_else(|| {
                Failure::new(class::COMM, "the communicator has one group").on(communicator)
            })?;
            Ok(p.communicators.add_group(remote))
        })?)
    }

    fn MPI_Intercomm_create(
        local: c_int, leader: c_int, bridge: c_int, remote_leader: c_int, tag: c_int, made: *mut c_int,
    ) {
        let created = process::with(|p| {
            if p.is_inter(local)? {
                return Err(Failure::new(class::COMM, "the local communicator has two groups"));
            }
            match tag {
                0..=abi::GREATEST_TAG => p.create_inter((local, leader), (bridge, remote_leader, tag as u32)),
                _ => Err(Failure::new(class::TAG, tag.to_string())),
            }
        });
        put(made, created.map_err(|failure| failure.on(local))?)
    }

    fn MPI_Intercomm_merge(communicator: c_int, high: c_int, made: *mut c_int) {
        let merged = process::with(|p| {
            if !p.is_inter(communicator)? {
                return Err(Failure::new(class::COMM, "the communicator has one group"));
            }
            p.merge(communicator, high != 0)
        });
        put(made, merged.map_err(|failure| failure.on(communicator))?)
    }

    // No rank of a simulation was spawned by another one.
    fn MPI_Comm_get_parent(parent: *mut c_int) {
        put(parent, abi::COMM_NULL)
    }
}
