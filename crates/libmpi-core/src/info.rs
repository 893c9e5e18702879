//! Info objects (MPI 4.1, chapter 10): lists of keys and values.

use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::{self, class};
use crate::failure::{Failure, Outcome};

/// Keys and values in the order in which they were set.
pub(crate) type InfoEntries = Vec<(String, String)>;

/// All info objects of a process.
#[derive(Debug)]
pub(crate) struct InfoTable {
    /// Freed places are used again.
    all: Vec<Option<InfoEntries>>,
    free: Vec<usize>,
    /// `MPI_INFO_ENV`.
    environment: InfoEntries,
}

/// Programs use info objects before `MPI_Init` and after `MPI_Finalize` (MPI 4.1, section 11.4.1).
static INFOS: Mutex<InfoTable> = Mutex::new(InfoTable {
    all: Vec::new(),
    free: Vec::new(),
    environment: Vec::new(),
});

/// The info objects of this process.
pub(crate) fn table() -> MutexGuard<'static, InfoTable> {
    INFOS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with them.
///
/// # Errors
/// As of what is done.
pub(crate) fn with<T>(act: impl FnOnce(&mut InfoTable) -> Outcome<T>) -> Outcome<T> {
    act(&mut table())
}

impl InfoTable {
    /// A new object.
    pub fn add(&mut self, entries: InfoEntries) -> c_int {
        let index = self.free.pop().unwrap_or(self.all.len());
        match self.all.get_mut(index) {
            Some(place) => *place = Some(entries),
            None => self.all.push(Some(entries)),
        }
        abi::INFO | index as c_int
    }

    fn index(&self, handle: c_int) -> Outcome<usize> {
        let index = (handle & abi::INDEX_BITS) as usize;
        let is_there = matches!(self.all.get(index), Some(Some(_)));
        match handle & !abi::INDEX_BITS == abi::INFO && is_there {
            true => Ok(index),
            false if handle == abi::INFO_NULL => Err(Failure::new(class::INFO, "MPI_INFO_NULL")),
            false => Err(Failure::new(
                class::INFO,
                format!("there is no info object {handle:#x}"),
            )),
        }
    }

    /// The entries of an object.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, handle: c_int) -> Outcome<&InfoEntries> {
        if handle == abi::INFO_ENV {
            return Ok(&self.environment);
        }
        let index = self.index(handle)?;
        Ok(self.all[index].as_ref().unwrap_or(&self.environment))
    }

    /// As [`InfoTable::get`], to change it.
    ///
    /// # Errors
    /// There is none.
    pub fn get_mut(&mut self, handle: c_int) -> Outcome<&mut InfoEntries> {
        let index = self.index(handle)?;
        Ok(self.all[index].get_or_insert_default())
    }

    /// The entries of an object; none for `MPI_INFO_NULL`.
    ///
    /// # Errors
    /// There is no such object.
    pub fn hints(&self, handle: c_int) -> Outcome<InfoEntries> {
        match handle {
            abi::INFO_NULL => Ok(Vec::new()),
            _ => self.get(handle).cloned(),
        }
    }

    /// Frees an object.
    ///
    /// # Errors
    /// There is none.
    pub fn remove(&mut self, handle: c_int) -> Outcome<()> {
        let index = self.index(handle)?;
        self.all[index] = None;
        self.free.push(index);
        Ok(())
    }
}

/// Sets a key.
pub(crate) fn set_entry(entries: &mut InfoEntries, key: &str, value: &str) {
    match entries.iter_mut().find(|(own, _)| own == key) {
        Some((_, own)) => *own = value.into(),
        None => entries.push((key.into(), value.into())),
    }
}
