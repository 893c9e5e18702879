//! All datatypes of a process, by handle.

use std::collections::HashMap;
use std::ffi::c_int;
use std::rc::Rc;

use crate::abi::{self, class};
use crate::datatype::{Datatype, PartType};
use crate::failure::{Failure, Outcome};
use crate::predefined_types::PREDEFINED;

/// Handles of predefined types differ in their last byte; those of pairs are counted from 0 in a range of their own.
const PAIRS: usize = 0x100;

/// A datatype as the program has it under a handle.
#[derive(Clone, Debug)]
pub(crate) struct DatatypeEntry {
    handle: c_int,
    pub datatype: Rc<Datatype>,
    pub name: Option<String>,
    /// Values by key, in the order in which they were set.
    pub attributes: Vec<(c_int, usize)>,
    /// Whether the program cannot free it.
    pub is_permanent: bool,
}

/// All datatypes of a process.
#[derive(Debug)]
pub(crate) struct DatatypeTable {
    predefined: Vec<Option<DatatypeEntry>>,
    /// Made by the program; freed places are used again.
    made: Vec<Option<DatatypeEntry>>,
    free: Vec<usize>,
    /// Freed by the program, while persistent requests may name them at their next start.
    kept: Vec<usize>,
    /// Types of Fortran by combiner and arguments.
    pub fortran: HashMap<(c_int, Vec<c_int>), c_int>,
}

impl Default for DatatypeTable {
    fn default() -> DatatypeTable {
        let mut predefined = vec![None; PAIRS + 8];
        for &(name, handle, size, extent, basic) in PREDEFINED {
            predefined[predefined_index(handle as c_int)] = Some(DatatypeEntry {
                handle: handle as c_int,
                datatype: Rc::new(Datatype::predefined(size, extent, basic)),
                name: Some(name.into()),
                attributes: Vec::new(),
                is_permanent: true,
            });
        }
        DatatypeTable {
            predefined,
            made: Vec::new(),
            free: Vec::new(),
            kept: Vec::new(),
            fortran: HashMap::new(),
        }
    }
}

fn predefined_index(handle: c_int) -> usize {
    let last = (handle & 0xff) as usize;
    match handle < 0 {
        true => PAIRS + (last & 7),
        false => last,
    }
}

fn made_index(handle: c_int) -> Option<usize> {
    let index = handle.wrapping_sub(abi::DATATYPE);
    (0..=abi::INDEX_BITS).contains(&index).then_some(index as usize)
}

impl DatatypeTable {
    /// The datatype of a handle.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, handle: c_int) -> Outcome<&Rc<Datatype>> {
        self.entry(handle).map(|entry| &entry.datatype)
    }

    /// What the program has under a handle.
    ///
    /// # Errors
    /// There is none.
    pub fn entry(&self, handle: c_int) -> Outcome<&DatatypeEntry> {
        let found = match made_index(handle) {
            Some(index) => self.made.get(index),
            None => self.predefined.get(predefined_index(handle)),
        };
        let found = found.and_then(Option::as_ref);
        found
            .filter(|entry| entry.handle == handle)
            .ok_or_else(|| no_datatype(handle))
    }

    /// As [`DatatypeTable::entry`], to change it.
    ///
    /// # Errors
    /// There is none.
    pub fn entry_mut(&mut self, handle: c_int) -> Outcome<&mut DatatypeEntry> {
        let found = match made_index(handle) {
            Some(index) => self.made.get_mut(index),
            None => self.predefined.get_mut(predefined_index(handle)),
        };
        let found = found.and_then(Option::as_mut);
        found
            .filter(|entry| entry.handle == handle)
            .ok_or_else(|| no_datatype(handle))
    }

    /// Whether a handle is of a predefined type.
    pub fn is_predefined(handle: c_int) -> bool {
        made_index(handle).is_none()
    }

    /// A datatype as one of which another is made, or of which a view of a file is.
    ///
    /// # Errors
    /// There is none.
    pub fn part(&self, handle: c_int) -> Outcome<PartType> {
        let datatype = self.get(handle)?;
        Ok(match DatatypeTable::is_predefined(handle) {
            true => PartType::Predefined(handle),
            false => PartType::Made(datatype.clone()),
        })
    }

    /// The handle of such a datatype. One that the program has made has a new handle, which it frees.
    pub fn part_handle(&mut self, part: &PartType) -> c_int {
        match part {
            PartType::Predefined(handle) => *handle,
            PartType::Made(datatype) => self.add(datatype.clone()),
        }
    }

    /// A new datatype.
    pub fn add(&mut self, datatype: Rc<Datatype>) -> c_int {
        let index = self.free.pop().unwrap_or(self.made.len());
        let handle = abi::DATATYPE + index as c_int;
        let entry = DatatypeEntry {
            handle,
            datatype,
            name: None,
            attributes: Vec::new(),
            is_permanent: false,
        };
        match self.made.get_mut(index) {
            Some(place) => *place = Some(entry),
            None => self.made.push(Some(entry)),
        }
        handle
    }

    /// Frees a datatype that the program has made, or keeps it as long as it may be named again.
    ///
    /// # Errors
    /// It is none of those.
    pub fn remove(&mut self, handle: c_int, is_used: bool) -> Outcome<()> {
        let is_permanent = self.entry(handle)?.is_permanent;
        let index = match made_index(handle) {
            Some(index) if !is_permanent => index,
            _ => return Err(Failure::new(class::TYPE, "a predefined datatype cannot be freed")),
        };
        self.kept.push(index);
        if !is_used {
            for index in self.kept.drain(..) {
                self.made[index] = None;
                self.free.push(index);
            }
        }
        Ok(())
    }
}

fn no_datatype(handle: c_int) -> Failure {
    match handle {
        abi::DATATYPE_NULL => Failure::new(class::TYPE, "MPI_DATATYPE_NULL"),
        _ => Failure::new(class::TYPE, format!("there is no datatype {handle:#x}")),
    }
}
