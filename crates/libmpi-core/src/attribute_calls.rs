//! Attributes as calls change them. The functions of the program are called while the process is not locked.

use std::ffi::{c_int, c_void};

use crate::abi::class;
use crate::failure::{Failure, Outcome};
use crate::process::{self, Process};

/// What has attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeOwner {
    Communicator(c_int),
    Datatype(c_int),
    Window(c_int),
}

impl AttributeOwner {
    fn handle(self) -> c_int {
        match self {
            AttributeOwner::Communicator(handle)
            | AttributeOwner::Datatype(handle)
            | AttributeOwner::Window(handle) => handle,
        }
    }

    fn attributes(self, process: &mut Process) -> Outcome<&mut Vec<(c_int, usize)>> {
        match self {
            AttributeOwner::Communicator(handle) => {
                Ok(&mut process.communicators.get_mut(handle)?.attributes)
            }
            AttributeOwner::Datatype(handle) => Ok(&mut process.datatypes.entry_mut(handle)?.attributes),
            AttributeOwner::Window(handle) => Ok(&mut process.windows.get_mut(handle)?.attributes),
        }
    }

    fn failure(self, code: c_int, text: &str) -> Failure {
        let failure = Failure::new(code, text);
        match self {
            AttributeOwner::Communicator(handle) | AttributeOwner::Window(handle) => failure.on(handle),
            AttributeOwner::Datatype(_) => failure,
        }
    }
}

/// Copies all attributes to a duplicate. Calls functions of the program.
pub(crate) fn copy_attributes(from: AttributeOwner, to: AttributeOwner) -> Outcome<()> {
    let attributes = process::with(|p| Ok(from.attributes(p)?.clone()))?;
    for (handle, value) in attributes {
        let key = process::with(|p| p.attributes.kept_key(handle))?;
        let Some(copy) = key.copy else { continue };
        let (mut copied, mut flag): (usize, c_int) = (0, 0);
        let (extra, value) = (key.extra as *mut c_void, value as *mut c_void);
        // Safety: the program has given the function for this; nothing of the library is locked.
        let code = unsafe {
            (copy.call)(
                copy.function,
                from.handle(),
                handle,
                extra,
                value,
                (&raw mut copied).cast(),
                &mut flag,
            )
        };
        if code != class::SUCCESS {
            return Err(from.failure(code, "the copy function of an attribute has failed"));
        }
        if flag != 0 {
            process::with(|p| {
                to.attributes(p)?.push((handle, copied));
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Tells the program that an attribute goes.
fn call_delete(owner: AttributeOwner, (handle, value): (c_int, usize)) -> Outcome<()> {
    let key = process::with(|p| p.attributes.kept_key(handle))?;
    let Some(delete) = key.delete else { return Ok(()) };
    let (value, extra) = (value as *mut c_void, key.extra as *mut c_void);
    // Safety: the program has given the function for this; nothing of the library is locked.
    match unsafe { (delete.call)(delete.function, owner.handle(), handle, value, extra) } {
        class::SUCCESS => Ok(()),
        code => Err(owner.failure(code, "the delete function of an attribute has failed")),
    }
}

/// Deletes all attributes, the last one first.
pub(crate) fn delete_attributes(owner: AttributeOwner) -> Outcome<()> {
    loop {
        let last = process::with(|p| Ok(owner.attributes(p)?.last().copied()))?;
        let Some(last) = last else { return Ok(()) };
        call_delete(owner, last)?;
        process::with(|p| {
            owner.attributes(p)?.pop();
            Ok(())
        })?;
    }
}

/// Sets an attribute, in place of an old value.
pub(crate) fn set(owner: AttributeOwner, handle: c_int, value: usize) -> Outcome<()> {
    let old = process::with(|p| {
        p.attributes.key(handle)?;
        let attributes = owner.attributes(p)?;
        Ok(attributes.iter().find(|(own, _)| *own == handle).copied())
    })?;
    if let Some(old) = old {
        call_delete(owner, old)?;
    }
    process::with(|p| {
        let attributes = owner.attributes(p)?;
        match attributes.iter_mut().find(|(own, _)| *own == handle) {
            Some(own) => own.1 = value,
            None => attributes.push((handle, value)),
        }
        Ok(())
    })
}

/// The value of an attribute.
pub(crate) fn get(owner: AttributeOwner, handle: c_int) -> Outcome<Option<usize>> {
    process::with(|p| {
        p.attributes.key(handle)?;
        let attributes = owner.attributes(p)?;
        let own = attributes.iter().find(|(own, _)| *own == handle);
        Ok(own.map(|(_, value)| *value))
    })
}

/// Deletes an attribute, whose key may be freed.
pub(crate) fn delete(owner: AttributeOwner, handle: c_int) -> Outcome<()> {
    let old = process::with(|p| {
        p.attributes.kept_key(handle)?;
        let attributes = owner.attributes(p)?;
        let old = attributes.iter().find(|(own, _)| *own == handle).copied();
        old.ok_or_else(|| owner.failure(class::KEYVAL, "the attribute is not set"))
    })?;
    call_delete(owner, old)?;
    process::with(|p| {
        owner.attributes(p)?.retain(|(own, _)| *own != handle);
        Ok(())
    })
}
