//! Communicators, groups, attributes, error handlers (MPI 4.1, chapters 7 and 9).

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use operation::Call;

use super::{array, array_mut, functions, put, put_text, text_of};
use crate::abi::{self, class};
use crate::attribute_calls;
use crate::attributes::{AttributeKey, CopyFunction, DeleteFunction};
use crate::communicator::{compare_groups, translate};
use crate::failure::{Failure, Handler, Outcome};
use crate::process;

/// `MPI_COMM_DUP_FN`: copies the value of an attribute.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPIR_Dup_fn(
    _communicator: c_int,
    _key: c_int,
    _extra: *mut c_void,
    value: *mut c_void,
    copied: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // Safety: `copied` has space for an address.
    unsafe {
        copied.cast::<*mut c_void>().write(value);
        flag.write(1);
    }
    class::SUCCESS
}

/// Makes a duplicate with its attributes.
fn duplicate(communicator: c_int) -> Outcome<c_int> {
    let made = process::with(|p| p.duplicate(communicator, None, Call::CommDup));
    let made = made
        .map_err(|failure| failure.on(communicator))?
        .ok_or_else(|| Failure::new(class::INTERN, "a duplicate without this rank"))?;
    attribute_calls::copy_attributes(communicator, made)?;
    Ok(made)
}

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
        put(made, duplicate(communicator)?)
    }

    fn MPI_Comm_dup_with_info(communicator: c_int, _info: c_int, made: *mut c_int) {
        put(made, duplicate(communicator)?)
    }

    fn MPI_Comm_split(communicator: c_int, color: c_int, key: c_int, made: *mut c_int) {
        let color = (color != abi::UNDEFINED).then_some(color);
        if color.is_some_and(|color| color < 0) {
            return Err(Failure::new(class::ARG, "a negative color").on(communicator));
        }
        let split = process::with(|p| p.split(communicator, color, key));
        put(made, split.map_err(|failure| failure.on(communicator))?.unwrap_or(abi::COMM_NULL))
    }

    fn MPI_Comm_split_type(communicator: c_int, kind: c_int, key: c_int, _info: c_int, made: *mut c_int) {
        let color = match kind {
            abi::COMM_TYPE_SHARED => process::with(|p| Ok(Some(p.end.host() as c_int)))?,
            abi::UNDEFINED => None,
            _ => return Err(Failure::new(class::ARG, "only MPI_COMM_TYPE_SHARED is known").on(communicator)),
        };
        let split = process::with(|p| p.split(communicator, color, key));
        put(made, split.map_err(|failure| failure.on(communicator))?.unwrap_or(abi::COMM_NULL))
    }

    fn MPI_Comm_create(communicator: c_int, group: c_int, made: *mut c_int) {
        let members = members_in(communicator, group)?;
        let created = process::with(|p| p.duplicate(communicator, Some(&members), Call::CommCreate));
        put(made, created.map_err(|failure| failure.on(communicator))?.unwrap_or(abi::COMM_NULL))
    }

    fn MPI_Comm_free(communicator: *mut c_int) {
        attribute_calls::delete_attributes(*communicator)?;
        process::with(|p| p.communicators.remove(*communicator))?;
        put(communicator, abi::COMM_NULL)
    }

    fn MPI_Comm_disconnect(communicator: *mut c_int) {
        attribute_calls::delete_attributes(*communicator)?;
        process::with(|p| p.communicators.remove(*communicator))?;
        put(communicator, abi::COMM_NULL)
    }

    fn MPI_Comm_compare(one: c_int, other: c_int, result: *mut c_int) {
        put(result, process::with(|p| p.compare(one, other))?)
    }

    fn MPI_Comm_test_inter(communicator: c_int, flag: *mut c_int) {
        process::with(|p| p.communicators.get(communicator).map(|_| ()))?;
        put(flag, 0)
    }

    fn MPI_Comm_set_name(communicator: c_int, name: *const c_char) {
        let name = text_of(name);
        process::with(|p| {
            p.communicators.get_mut(communicator)?.name = name;
            Ok(())
        })
    }

    fn MPI_Comm_get_name(communicator: c_int, name: *mut c_char, length: *mut c_int) {
        let own = process::with(|p| Ok(p.communicators.get(communicator)?.name.clone()))?;
        put_text(&own, name, abi::MAX_OBJECT_NAME, length)
    }

    fn MPI_Comm_group(communicator: c_int, group: *mut c_int) {
        let handle = process::with(|p| {
            let members = p.communicators.get(communicator)?.members.clone();
            Ok(p.communicators.add_group(members))
        })?;
        put(group, handle)
    }

    fn MPI_Group_size(group: c_int, size: *mut c_int) {
        put(size, process::with(|p| p.communicators.group(group))?.len() as c_int)
    }

    fn MPI_Group_rank(group: c_int, rank: *mut c_int) {
        let own = process::with(|p| {
            let own = p.communicators.own();
            Ok(p.communicators.group(group)?.iter().position(|member| *member == own))
        })?;
        put(rank, own.map_or(abi::UNDEFINED, |own| own as c_int))
    }

    fn MPI_Group_compare(one: c_int, other: c_int, result: *mut c_int) {
        let (one, other) = process::with(|p| Ok((p.communicators.group(one)?, p.communicators.group(other)?)))?;
        put(result, compare_groups(&one, &other))
    }

    fn MPI_Group_translate_ranks(from: c_int, count: c_int, ranks: *const c_int, to: c_int, translated: *mut c_int) {
        let (from, to) = process::with(|p| Ok((p.communicators.group(from)?, p.communicators.group(to)?)))?;
        let found = translate(array(ranks, count)?, &from, &to)?;
        array_mut(translated, count)?.copy_from_slice(&found);
        Ok(())
    }

    fn MPI_Group_incl(group: c_int, count: c_int, ranks: *const c_int, made: *mut c_int) {
        let ranks = array(ranks, count)?;
        put(made, select_members(group, |members| {
            ranks.iter().map(|rank| member_of(members, *rank)).collect()
        })?)
    }

    fn MPI_Group_excl(group: c_int, count: c_int, ranks: *const c_int, made: *mut c_int) {
        let ranks = array(ranks, count)?;
        put(made, select_members(group, |members| {
            let excluded: Vec<u32> = ranks.iter().map(|rank| member_of(members, *rank)).collect::<Outcome<_>>()?;
            Ok(members.iter().copied().filter(|member| !excluded.contains(member)).collect())
        })?)
    }

    fn MPI_Group_free(group: *mut c_int) {
        process::with(|p| p.communicators.remove_group(*group))?;
        put(group, abi::GROUP_NULL)
    }

    fn MPI_Comm_create_keyval(
        copy: Option<CopyFunction>, delete: Option<DeleteFunction>, key: *mut c_int, extra: *mut c_void,
    ) {
        let extra = extra as usize;
        put(key, process::with(|p| Ok(p.attributes.add(AttributeKey { copy, delete, extra })))?)
    }

    fn MPI_Comm_free_keyval(key: *mut c_int) {
        process::with(|p| p.attributes.key(*key).map(|_| ()))?;
        put(key, abi::KEYVAL_INVALID)
    }

    fn MPI_Comm_set_attr(communicator: c_int, key: c_int, value: *mut c_void) {
        attribute_calls::set(communicator, key, value as usize)
    }

    fn MPI_Comm_get_attr(communicator: c_int, key: c_int, value: *mut c_void, flag: *mut c_int) {
        let found = process::with(|p| {
            let own = &p.communicators.get(communicator)?.attributes;
            let own = own.iter().find(|(own, _)| *own == key).map(|(_, value)| *value);
            match p.attributes.predefined(key) {
                Some(predefined) => Ok(Some(predefined as usize)),
                None => {
                    p.attributes.key(key)?;
                    Ok(own)
                }
            }
        })?;
        if let Some(found) = found {
            put(value.cast::<usize>(), found)?;
        }
        put(flag, found.is_some().into())
    }

    fn MPI_Comm_delete_attr(communicator: c_int, key: c_int) {
        attribute_calls::delete(communicator, key)
    }

    fn MPI_Comm_create_errhandler(function: Handler, handler: *mut c_int) {
        put(handler, process::with(|p| Ok(p.communicators.add_handler(function)))?)
    }

    fn MPI_Comm_set_errhandler(communicator: c_int, handler: c_int) {
        process::with(|p| {
            p.communicators.get_mut(communicator)?.error_handler = handler;
            Ok(())
        })
    }

    fn MPI_Comm_get_errhandler(communicator: c_int, handler: *mut c_int) {
        put(handler, process::with(|p| Ok(p.communicators.get(communicator)?.error_handler))?)
    }

    fn MPI_Comm_call_errhandler(communicator: c_int, code: c_int) {
        Err(Failure::new(code, "the program called the error handler").on(communicator))
    }

    fn MPI_Errhandler_free(handler: *mut c_int) {
        put(handler, abi::ERRHANDLER_NULL)
    }
}

fn member_of(members: &[u32], rank: c_int) -> Outcome<u32> {
    let member = usize::try_from(rank).ok().and_then(|rank| members.get(rank));
    member
        .copied()
        .ok_or_else(|| Failure::new(class::RANK, format!("{rank} of a group of {}", members.len())))
}

/// A new group of some members of a group.
fn select_members(group: c_int, select: impl FnOnce(&[u32]) -> Outcome<Vec<u32>>) -> Outcome<c_int> {
    process::with(|p| {
        let members = p.communicators.group(group)?;
        let selected: Arc<[u32]> = select(&members)?.into();
        Ok(p.communicators.add_group(selected))
    })
}
