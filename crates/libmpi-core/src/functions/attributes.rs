//! Attributes of communicators, datatypes and windows (MPI 4.1, section 7.7).

use std::ffi::{c_int, c_void};

use super::{functions, put};
use crate::abi;
use crate::attribute_calls::{self, AttributeOwner};
use crate::attributes::AttributeKey;
use crate::callbacks::{CopyFunction, DeleteFunction};
use crate::failure::Outcome;
use crate::process;

fn create_key(
    copy: Option<CopyFunction>,
    delete: Option<DeleteFunction>,
    extra: *mut c_void,
) -> Outcome<c_int> {
    let (extra, is_freed) = (extra as usize, false);
    process::with(|p| {
        Ok(p.attributes.add(AttributeKey {
            copy,
            delete,
            extra,
            is_freed,
        }))
    })
}

/// Defines the functions of one kind of owner.
macro_rules! attributes_of {
    ($owner:ident: $create:ident $free:ident $set:ident $delete:ident) => { functions! {
        fn $create(
            copy: Option<CopyFunction>, delete: Option<DeleteFunction>, key: *mut c_int, extra: *mut c_void,
        ) {
            put(key, create_key(copy, delete, extra)?)
        }

        fn $free(key: *mut c_int) {
            process::with(|p| p.attributes.remove(*key))?;
            put(key, abi::KEYVAL_INVALID)
        }

        fn $set(owner: c_int, key: c_int, value: *mut c_void) {
            attribute_calls::set(AttributeOwner::$owner(owner), key, value as usize)
        }

        fn $delete(owner: c_int, key: c_int) {
            attribute_calls::delete(AttributeOwner::$owner(owner), key)
        }
    } };
}

attributes_of! {
    Communicator: MPI_Comm_create_keyval MPI_Comm_free_keyval MPI_Comm_set_attr MPI_Comm_delete_attr
}
attributes_of! {
    Datatype: MPI_Type_create_keyval MPI_Type_free_keyval MPI_Type_set_attr MPI_Type_delete_attr
}
attributes_of! {
    Window: MPI_Win_create_keyval MPI_Win_free_keyval MPI_Win_set_attr MPI_Win_delete_attr
}
// The names of MPI 1.
attributes_of! { Communicator: MPI_Keyval_create MPI_Keyval_free MPI_Attr_put MPI_Attr_delete }

/// Writes the value of an attribute and whether there is one.
///
/// # Safety
/// The pointers are valid.
unsafe fn put_attribute(found: Option<usize>, value: *mut c_void, flag: *mut c_int) -> Outcome<()> {
    // Safety: as the caller says.
    unsafe {
        if let Some(found) = found {
            put(value.cast::<usize>(), found)?;
        }
        put(flag, found.is_some().into())
    }
}

fn communicator_attribute(communicator: c_int, key: c_int) -> Outcome<Option<usize>> {
    let predefined = process::with(|p| {
        p.communicators.get(communicator)?;
        Ok(p.attributes.predefined(key))
    })?;
    match predefined {
        Some(predefined) => Ok(Some(predefined as usize)),
        None => attribute_calls::get(AttributeOwner::Communicator(communicator), key),
    }
}

functions! {
    fn MPI_Comm_get_attr(communicator: c_int, key: c_int, value: *mut c_void, flag: *mut c_int) {
        put_attribute(communicator_attribute(communicator, key)?, value, flag)
    }

    fn MPI_Attr_get(communicator: c_int, key: c_int, value: *mut c_void, flag: *mut c_int) {
        put_attribute(communicator_attribute(communicator, key)?, value, flag)
    }

    fn MPI_Type_get_attr(datatype: c_int, key: c_int, value: *mut c_void, flag: *mut c_int) {
        put_attribute(attribute_calls::get(AttributeOwner::Datatype(datatype), key)?, value, flag)
    }
}
