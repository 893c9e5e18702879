//! Keys of attributes, and the attributes that every communicator has (MPI 4.1, sections 7.7 and 9.1).

use std::ffi::{c_int, c_void};

use crate::abi::{self, class};
use crate::error::{Failure, Outcome};
use crate::process;

/// Copies an attribute to a new communicator: old communicator, key, extra state, value, new value, whether it is copied.
pub(crate) type CopyFunction =
    unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;

/// Is told that an attribute goes: communicator, key, value, extra state.
pub(crate) type DeleteFunction = unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_void) -> c_int;

/// A key that the program has made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub copy: Option<CopyFunction>,
    pub delete: Option<DeleteFunction>,
    /// An address.
    pub extra: usize,
}

/// All keys, and the values of the predefined ones.
#[derive(Debug)]
pub(crate) struct Attributes {
    keys: Vec<Key>,
    tag_upper_bound: c_int,
    host: c_int,
    io: c_int,
    time_is_global: c_int,
    universe: c_int,
    last_used_code: c_int,
    application: c_int,
}

impl Attributes {
    pub fn new(ranks: u32) -> Attributes {
        Attributes {
            keys: Vec::new(),
            tag_upper_bound: abi::GREATEST_TAG,
            host: abi::PROC_NULL,
            io: abi::ANY_SOURCE,
            time_is_global: 1,
            universe: ranks as c_int,
            last_used_code: 0x3fff_ffff,
            application: 0,
        }
    }

    /// Address of the value of a predefined attribute.
    pub fn predefined(&self, key: c_int) -> Option<*const c_int> {
        Some(match key {
            abi::TAG_UB => &self.tag_upper_bound,
            abi::HOST => &self.host,
            abi::IO => &self.io,
            abi::WTIME_IS_GLOBAL => &self.time_is_global,
            abi::UNIVERSE_SIZE => &self.universe,
            abi::LASTUSEDCODE => &self.last_used_code,
            abi::APPNUM => &self.application,
            _ => return None,
        })
    }

    /// A new key.
    pub fn add(&mut self, key: Key) -> c_int {
        self.keys.push(key);
        abi::KEYVAL | (self.keys.len() - 1) as c_int
    }

    /// The key of a handle.
    ///
    /// # Errors
    /// There is none.
    pub fn key(&self, handle: c_int) -> Outcome<Key> {
        let index = (handle & !abi::INDEX_BITS == abi::KEYVAL).then_some((handle & abi::INDEX_BITS) as usize);
        let found = index.and_then(|index| self.keys.get(index));
        found
            .copied()
            .ok_or_else(|| Failure::new(class::KEYVAL, format!("there is no key {handle:#x}")))
    }
}

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
