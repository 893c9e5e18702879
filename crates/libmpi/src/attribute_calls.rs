//! Attributes of communicators as calls change them. The functions of the program are called while the process is not
//! locked.

use std::ffi::{c_int, c_void};

use crate::abi::class;
use crate::failure::{Failure, Outcome};
use crate::process;

/// Copies the attributes of a communicator to its duplicate. Calls functions of the program.
pub(crate) fn copy_attributes(from: c_int, to: c_int) -> Outcome<()> {
    let attributes = process::with(|p| Ok(p.communicators.get(from)?.attributes.clone()))?;
    for (handle, value) in attributes {
        let key = process::with(|p| p.attributes.key(handle))?;
        let Some(copy) = key.copy else { continue };
        let (mut copied, mut flag): (usize, c_int) = (0, 0);
        let (extra, value) = (key.extra as *mut c_void, value as *mut c_void);
        // Safety: the program has given the function for this; nothing of the library is locked.
        let code = unsafe { copy(from, handle, extra, value, (&raw mut copied).cast(), &mut flag) };
        if code != class::SUCCESS {
            return Err(Failure::new(code, "the copy function of an attribute has failed").on(from));
        }
        if flag != 0 {
            process::with(|p| {
                p.communicators.get_mut(to)?.attributes.push((handle, copied));
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Tells the program that an attribute goes.
fn call_delete(communicator: c_int, (handle, value): (c_int, usize)) -> Outcome<()> {
    let key = process::with(|p| p.attributes.key(handle))?;
    let Some(delete) = key.delete else { return Ok(()) };
    let (value, extra) = (value as *mut c_void, key.extra as *mut c_void);
    // Safety: the program has given the function for this; nothing of the library is locked.
    match unsafe { delete(communicator, handle, value, extra) } {
        class::SUCCESS => Ok(()),
        code => Err(Failure::new(code, "the delete function of an attribute has failed").on(communicator)),
    }
}

/// Deletes all attributes of a communicator, the last one first.
pub(crate) fn delete_attributes(communicator: c_int) -> Outcome<()> {
    loop {
        let last = process::with(|p| Ok(p.communicators.get(communicator)?.attributes.last().copied()))?;
        let Some(last) = last else { return Ok(()) };
        call_delete(communicator, last)?;
        process::with(|p| {
            p.communicators.get_mut(communicator)?.attributes.pop();
            Ok(())
        })?;
    }
}

/// Sets an attribute, in place of an old value.
pub(crate) fn set(communicator: c_int, handle: c_int, value: usize) -> Outcome<()> {
    let old = process::with(|p| {
        p.attributes.key(handle)?;
        let attributes = &p.communicators.get(communicator)?.attributes;
        Ok(attributes.iter().find(|(own, _)| *own == handle).copied())
    })?;
    if let Some(old) = old {
        call_delete(communicator, old)?;
    }
    process::with(|p| {
        let attributes = &mut p.communicators.get_mut(communicator)?.attributes;
        match attributes.iter_mut().find(|(own, _)| *own == handle) {
            Some(own) => own.1 = value,
            None => attributes.push((handle, value)),
        }
        Ok(())
    })
}

/// Deletes an attribute.
pub(crate) fn delete(communicator: c_int, handle: c_int) -> Outcome<()> {
    let old = process::with(|p| {
        p.attributes.key(handle)?;
        let attributes = &p.communicators.get(communicator)?.attributes;
        let old = attributes.iter().find(|(own, _)| *own == handle).copied();
        old.ok_or_else(|| Failure::new(class::KEYVAL, "the attribute is not set").on(communicator))
    })?;
    call_delete(communicator, old)?;
    process::with(|p| {
        let attributes = &mut p.communicators.get_mut(communicator)?.attributes;
        attributes.retain(|(own, _)| *own != handle);
        Ok(())
    })
}
