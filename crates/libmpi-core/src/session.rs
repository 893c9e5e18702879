//! Sessions of this rank.

use std::ffi::c_int;

use crate::abi::{self, class};
use crate::failure::{Failure, Outcome};
use crate::info::InfoEntries;

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub error_handler: c_int,
    pub hints: InfoEntries,
    /// Address and bytes of the buffer for buffered sends.
    pub send_buffer: Option<(usize, i64)>,
}

/// All sessions of a process; freed places are used again.
#[derive(Debug, Default)]
pub(crate) struct SessionTable(Vec<Option<Session>>);

impl SessionTable {
    /// A new session.
    pub fn add(&mut self, session: Session) -> c_int {
        let free = self.0.iter().position(Option::is_none);
        let index = free.unwrap_or(self.0.len());
        match self.0.get_mut(index) {
            Some(place) => *place = Some(session),
            None => self.0.push(Some(session)),
        }
        abi::SESSION | index as c_int
    }

    fn index(&self, handle: c_int) -> Outcome<usize> {
        let index = (handle & abi::INDEX_BITS) as usize;
        let is_there = matches!(self.0.get(index), Some(Some(_)));
        match handle & !abi::INDEX_BITS == abi::SESSION && is_there {
            true => Ok(index),
            false if handle == abi::SESSION_NULL => Err(Failure::new(class::SESSION, "MPI_SESSION_NULL")),
            false => Err(Failure::new(
                class::SESSION,
                format!("there is no session {handle:#x}"),
            )),
        }
    }

    /// The session of a handle.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, handle: c_int) -> Outcome<&Session> {
        let index = self.index(handle)?;
        self.0[index]
            .as_ref()
            .ok_or_else(|| Failure::new(class::SESSION, "freed"))
    }

    /// As [`SessionTable::get`], to change it.
    ///
    /// # Errors
    /// There is none.
    pub fn get_mut(&mut self, handle: c_int) -> Outcome<&mut Session> {
        let index = self.index(handle)?;
        self.0[index]
            .as_mut()
            .ok_or_else(|| Failure::new(class::SESSION, "freed"))
    }

    /// Ends a session.
    ///
    /// # Errors
    /// There is none.
    pub fn remove(&mut self, handle: c_int) -> Outcome<()> {
        let index = self.index(handle)?;
        self.0[index] = None;
        Ok(())
    }
}
