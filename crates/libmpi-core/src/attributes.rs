//! Keys of attributes, and the attributes that every communicator has (MPI 4.1, sections 7.7 and 9.1).

use std::ffi::c_int;

use crate::abi::{self, class};
use crate::callbacks::{CopyFunction, DeleteFunction};
use crate::failure::{Failure, Outcome};

/// A key that the program has made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttributeKey {
    pub copy: Option<CopyFunction>,
    pub delete: Option<DeleteFunction>,
    /// An address.
    pub extra: usize,
    /// Attributes that are set keep their key.
    pub is_freed: bool,
}

/// All keys, and the values of the predefined ones.
#[derive(Debug)]
pub(crate) struct AttributeKeys {
    keys: Vec<AttributeKey>,
    tag_upper_bound: c_int,
    host: c_int,
    io: c_int,
    time_is_global: c_int,
    universe: c_int,
    last_used_code: c_int,
    application: c_int,
}

impl AttributeKeys {
    pub fn new(ranks: u32) -> AttributeKeys {
        AttributeKeys {
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
    pub fn add(&mut self, key: AttributeKey) -> c_int {
        self.keys.push(key);
        abi::KEYVAL | (self.keys.len() - 1) as c_int
    }

    fn index(&self, handle: c_int) -> Outcome<usize> {
        let index = (handle & abi::INDEX_BITS) as usize;
        match handle & !abi::INDEX_BITS == abi::KEYVAL && index < self.keys.len() {
            true => Ok(index),
            false => Err(Failure::new(
                class::KEYVAL,
                format!("there is no key {handle:#x}"),
            )),
        }
    }

    /// The key of a handle, which may be freed.
    ///
    /// # Errors
    /// There is none.
    pub fn kept_key(&self, handle: c_int) -> Outcome<AttributeKey> {
        self.index(handle).map(|index| self.keys[index])
    }

    /// The key of a handle.
    ///
    /// # Errors
    /// There is none, or it is freed.
    pub fn key(&self, handle: c_int) -> Outcome<AttributeKey> {
        let key = self.kept_key(handle)?;
        match key.is_freed {
            false => Ok(key),
            true => Err(Failure::new(
                class::KEYVAL,
                format!("the key {handle:#x} is freed"),
            )),
        }
    }

    /// Frees a key. A delete function of the program may have freed it before.
    ///
    /// # Errors
    /// There is none.
    pub fn remove(&mut self, handle: c_int) -> Outcome<()> {
        let index = self.index(handle)?;
        self.keys[index].is_freed = true;
        Ok(())
    }

    /// The program has added an error code.
    pub fn note_error_code(&mut self, code: c_int) {
        self.last_used_code = code;
    }
}
