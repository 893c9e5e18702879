//! Communicators and their error handlers (MPI 4.1, chapters 7 and 9).

use std::ffi::{c_char, c_int};

use operation::Call;

use super::{functions, put, put_text, text_of};
use crate::abi::{self, MpiStatus, class};
use crate::attribute_calls::{self, AttributeOwner};
use crate::callbacks::ErrorHandler;
use crate::communicator::translate;
use crate::error;
use crate::error_handlers;
use crate::failure::{Failure, Outcome};
use crate::info;
use crate::process::{self, Process};
use crate::request::ActiveRequest;

/// Makes a duplicate with its attributes.
fn duplicate(communicator: c_int, info: Option<c_int>) -> Outcome<c_int> {
    let made = process::with(|p| p.duplicate(communicator, None, Call::CommDup));
    let made = made
        .map_err(|failure| failure.on(communicator))?
        .ok_or_else(|| Failure::new(class::INTERN, "a duplicate without this rank"))?;
    let finished = finish_duplicate(communicator, made, info);
    if finished.is_err() {
        process::with(|p| p.communicators.remove(made))?;
    }
    finished.map(|()| made)
}

/// A duplicate has the topology and the attributes, and the hints unless others are given.
fn finish_duplicate(communicator: c_int, made: c_int, info: Option<c_int>) -> Outcome<()> {
    process::with(|p| {
        let from = p.communicators.get(communicator)?;
        let (topology, hints) = (from.topology.clone(), from.hints.clone());
        let hints = match info {
            Some(info) => info::table().hints(info)?,
            None => hints,
        };
        let made = p.communicators.get_mut(made)?;
        (made.topology, made.hints) = (topology, hints);
        Ok(())
    })?;
    let (from, to) = (
        AttributeOwner::Communicator(communicator),
        AttributeOwner::Communicator(made),
    );
    attribute_calls::copy_attributes(from, to)
}

/// Starts a duplicate: its handle, and a request. That of an intercommunicator is made at once.
fn start_duplicate(communicator: c_int, info: Option<c_int>) -> Outcome<(c_int, c_int)> {
    if process::with(|p| p.is_inter(communicator))? {
        let made = duplicate(communicator, info)?;
        let complete = ActiveRequest::Complete(Ok(MpiStatus::empty()), None);
        return Ok((
            made,
            process::with(|p| Ok(p.requests.add(Some(complete), false)))?,
        ));
    }
    let started = process::with(|p| p.start_duplicate(communicator));
    let (made, request) = started.map_err(|failure| failure.on(communicator))?;
    finish_duplicate(communicator, made, info)?;
    Ok((made, request))
}

/// Frees a communicator.
fn free(communicator: c_int) -> Outcome<()> {
    attribute_calls::delete_attributes(AttributeOwner::Communicator(communicator))?;
    process::with(|p| p.communicators.remove(communicator))
}

/// The key of an info object that names a resource, and the resource that the ranks of a host share.
const RESOURCE: &str = "mpi_hw_resource_type";
const SHARED_MEMORY: &str = "mpi_shared_memory";

/// The members of a group, by rank in a communicator.
fn members_in(communicator: c_int, group: c_int) -> Outcome<Vec<usize>> {
    process::with(|p| {
        let world = p.communicators.get(communicator)?.members.clone();
        let group = p.communicators.group(group)?;
        let ranks: Vec<c_int> = (0..group.len() as c_int).collect();
        let members = translate(&ranks, &group, &world)?.into_iter().map(|rank| {
            usize::try_from(rank)
                .map_err(|_| Failure::new(class::GROUP, "a member of the group is not in the communicator"))
        });
        members.collect()
    })
}

/// A number for a text by which members of a group find each other.
fn tag_of(text: &str) -> u32 {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    TEXT_TAGS | hash >> 3
}

/// Tags of texts, apart from those that programs give.
const TEXT_TAGS: u32 = 1 << 29;

/// World ranks of a group that has this rank.
fn world_ranks(process: &Process, group: c_int) -> Outcome<Vec<usize>> {
    let members = process.communicators.group(group)?;
    Ok(members.iter().map(|member| *member as usize).collect())
}

functions! {
    fn MPI_Comm_size(communicator: c_int, size: *mut c_int) {
        let own = process::with(|p| Ok(p.communicators.get(communicator)?.size()))?;
        put(size, own as c_int)
    }

    fn MPI_Comm_rank(communicator: c_int, rank: *mut c_int) {
        let own = process::with(|p| Ok(p.communicators.get(communicator)?.rank))?;
        put(rank, own as c_int)
    }

    fn MPI_Comm_dup(communicator: c_int, made: *mut c_int) {
        put(made, abi::COMM_NULL)?;
        put(made, duplicate(communicator, None)?)
    }

    fn MPI_Comm_dup_with_info(communicator: c_int, info: c_int, made: *mut c_int) {
        put(made, abi::COMM_NULL)?;
        put(made, duplicate(communicator, Some(info))?)
    }

    fn MPI_Comm_idup(communicator: c_int, made: *mut c_int, request: *mut c_int) {
        let (handle, started) = start_duplicate(communicator, None)?;
        put(made, handle)?;
        put(request, started)
    }

    fn MPI_Comm_idup_with_info(communicator: c_int, info: c_int, made: *mut c_int, request: *mut c_int) {
        let (handle, started) = start_duplicate(communicator, Some(info))?;
        put(made, handle)?;
        put(request, started)
    }

    fn MPI_Comm_create_group(communicator: c_int, group: c_int, tag: c_int, made: *mut c_int) {
        let members = members_in(communicator, group)?;
        let created = process::with(|p| {
            let rank = p.communicators.get(communicator)?.rank;
            if !(0..=abi::GREATEST_TAG).contains(&tag) {
                return Err(Failure::new(class::TAG, tag.to_string()));
            }
            match members.contains(&rank) {
                true => p.create_among(communicator, &members, tag as u32),
                false => Ok(abi::COMM_NULL),
            }
        });
        put(made, created.map_err(|failure| failure.on(communicator))?)
    }

    fn MPI_Comm_split(communicator: c_int, color: c_int, key: c_int, made: *mut c_int) {
        let color = (color != abi::UNDEFINED).then_some(color);
        if color.is_some_and(|color| color < 0) {
            return Err(Failure::new(class::ARG, "a negative color").on(communicator));
        }
        let split = process::with(|p| p.split(communicator, color, key));
        put(made, split.map_err(|failure| failure.on(communicator))?.unwrap_or(abi::COMM_NULL))
    }

    fn MPI_Comm_split_type(communicator: c_int, kind: c_int, key: c_int, info: c_int, made: *mut c_int) {
        let wanted = info::table().hints(info)?;
        let wants_memory = wanted.iter().any(|(key, value)| key == RESOURCE && value == SHARED_MEMORY);
        let color = match kind {
            abi::COMM_TYPE_SHARED => process::with(|p| Ok(Some(p.end.host() as c_int)))?,
            // The simulated hosts have no parts that a communicator could be split by.
            abi::COMM_TYPE_HW_GUIDED..=abi::COMM_TYPE_RESOURCE_GUIDED => match wants_memory {
                true => process::with(|p| Ok(Some(p.end.host() as c_int)))?,
                false => None,
            },
            abi::UNDEFINED => None,
            _ => {
                let text = format!("{kind} as the type of a split");
                return Err(Failure::new(class::ARG, text).on(communicator));
            }
        };
        let split = process::with(|p| p.split(communicator, color, key));
        put(made, split.map_err(|failure| failure.on(communicator))?.unwrap_or(abi::COMM_NULL))
    }

    fn MPI_Comm_create(communicator: c_int, group: c_int, made: *mut c_int) {
        let members = members_in(communicator, group)?;
        let created = process::with(|p| p.duplicate(communicator, Some(&members), Call::CommCreate));
        put(made, created.map_err(|failure| failure.on(communicator))?.unwrap_or(abi::COMM_NULL))
    }

    fn MPI_Comm_create_from_group(
        group: c_int, tag: *const c_char, _info: c_int, handler: c_int, made: *mut c_int,
    ) {
        let tag = tag_of(&text_of(tag));
        put(made, process::with(|p| {
            error_handlers::check_handler(handler)?;
            let members = world_ranks(p, group)?;
            let made = match members.is_empty() {
                true => return Ok(abi::COMM_NULL),
                false => p.create_among(abi::COMM_WORLD, &members, tag)?,
            };
            p.communicators.get_mut(made)?.error_handler = handler;
            Ok(made)
        })?)
    }

    fn MPI_Intercomm_create_from_groups(
        local: c_int, leader: c_int, remote: c_int, remote_leader: c_int, tag: *const c_char, _info: c_int,
        handler: c_int, made: *mut c_int,
    ) {
        let tag = tag_of(&text_of(tag));
        put(made, process::with(|p| {
            error_handlers::check_handler(handler)?;
            let members = world_ranks(p, local)?;
            // Only the leader knows the other group.
            let is_leader = members.get(leader as usize) == Some(&(p.communicators.own() as usize));
            let other = match is_leader {
                true => world_ranks(p, remote)?.get(remote_leader as usize).copied().unwrap_or(usize::MAX),
                false => 0,
            };
            let group = p.create_among(abi::COMM_WORLD, &members, tag)?;
            let made = p.create_inter((group, leader), (abi::COMM_WORLD, other as c_int, tag))?;
            p.communicators.remove(group)?;
            p.communicators.get_mut(made)?.error_handler = handler;
            Ok(made)
        })?)
    }

    fn MPI_Comm_free(communicator: *mut c_int) {
        free(*communicator)?;
        put(communicator, abi::COMM_NULL)
    }

    fn MPI_Comm_disconnect(communicator: *mut c_int) {
        free(*communicator)?;
        put(communicator, abi::COMM_NULL)
    }

    fn MPI_Comm_compare(one: c_int, other: c_int, result: *mut c_int) {
        put(result, process::with(|p| p.compare(one, other))?)
    }

    fn MPI_Comm_test_inter(communicator: c_int, flag: *mut c_int) {
        put(flag, process::with(|p| p.is_inter(communicator))?.into())
    }

    fn MPI_Comm_set_name(communicator: c_int, name: *const c_char) {
        let name = text_of(name);
        process::with(|p| {
            p.communicators.get_mut(communicator)?.name = name;
            Ok(())
        })
    }

    fn MPI_Comm_get_name(communicator: c_int, name: *mut c_char, length: *mut c_int) {
        let own = match communicator {
            abi::COMM_NULL => "MPI_COMM_NULL".into(),
            _ => process::with(|p| Ok(p.communicators.get(communicator)?.name.clone()))?,
        };
        put_text(&own, name, abi::MAX_OBJECT_NAME, length)
    }

    fn MPI_Comm_group(communicator: c_int, group: *mut c_int) {
        let handle = process::with(|p| {
            let members = p.communicators.get(communicator)?.members.clone();
            Ok(p.communicators.add_group(members))
        })?;
        put(group, handle)
    }

    fn MPI_Comm_create_errhandler(function: ErrorHandler, handler: *mut c_int) {
        put(handler, error_handlers::add_handler(function))
    }

    fn MPI_Comm_set_errhandler(communicator: c_int, handler: c_int) {
        process::with(|p| {
            error_handlers::check_handler(handler)?;
            p.communicators.get_mut(communicator)?.error_handler = handler;
            Ok(())
        })
    }

    fn MPI_Comm_get_errhandler(communicator: c_int, handler: *mut c_int) {
        put(handler, process::with(|p| Ok(p.communicators.get(communicator)?.error_handler))?)
    }

    fn MPI_Comm_call_errhandler(communicator: c_int, code: c_int) {
        process::with(|p| p.communicators.get(communicator).map(|_| ()))?;
        let failure = Failure::new(code, "the program called the error handler");
        // The call itself succeeds if the handler returns.
        error::react(&failure.on(communicator), "MPI_Comm_call_errhandler");
        Ok(())
    }

    fn MPI_Errhandler_free(handler: *mut c_int) {
        error_handlers::check_handler(*handler)?;
        put(handler, abi::ERRHANDLER_NULL)
    }
}
