//! What the program gives by its address: an object has the translated value during a call, and writes back after it
//! what the call has changed.

use std::ffi::{c_int, c_void};

use libmpi_core::abi::{FilePointer, MpiStatus};
use libmpi_core::functions::Functions;

use crate::values::{
    FLAVOR, MODEL, RANK, argument_out, code_in, code_out, combiner_out, distribution_out, file_in, file_out,
    flavor_out, handle_in, handle_out, keyval_in, model_out, order_out, rank_in, rank_out, tag_in, tag_out,
};

/// What a call has not written.
const UNWRITTEN: c_int = c_int::MIN + 11;

/// `MPI_Status`, 32 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct StandardStatus {
    source: c_int,
    tag: c_int,
    error: c_int,
    /// For the library: bytes received, low word first, and whether the operation was cancelled.
    own: [c_int; 5],
}

impl StandardStatus {
    pub(crate) fn inside(&self) -> MpiStatus {
        let bytes = u64::from(self.own[0] as u32) | u64::from(self.own[1] as u32) << 32;
        let mut status = MpiStatus::new(rank_in(self.source), tag_in(self.tag), bytes);
        status.error = code_in(self.error);
        status.set_cancelled(self.own[2] == 1);
        status
    }

    /// The status for one that a call has written; its error stays where the call has written none.
    pub(crate) fn of(inside: &MpiStatus, error: c_int) -> StandardStatus {
        let bytes = inside.bytes();
        StandardStatus {
            source: rank_out(inside.source),
            tag: tag_out(inside.tag),
            error: match inside.error {
                UNWRITTEN => error,
                written => code_out(written),
            },
            own: [
                bytes as c_int,
                (bytes >> 32) as c_int,
                inside.is_cancelled().into(),
                0,
                0,
            ],
        }
    }

    /// A status that shows whether a call writes it.
    fn unwritten() -> MpiStatus {
        let mut status = MpiStatus::new(UNWRITTEN, 0, 0);
        status.error = UNWRITTEN;
        status
    }

    /// Writes what a call has written.
    ///
    /// # Safety
    /// The pointer is a status.
    pub(crate) unsafe fn write_back(to: *mut StandardStatus, inside: &MpiStatus) {
        if inside.source != UNWRITTEN {
            // Safety: as the caller says.
            unsafe { to.write(StandardStatus::of(inside, (&raw const (*to).error).read())) };
        }
    }
}

/// A status of the program, or none.
pub(crate) struct OneStatus {
    to: *mut StandardStatus,
    inside: MpiStatus,
}

impl OneStatus {
    /// One that the call writes.
    pub(crate) fn written(to: *mut StandardStatus) -> OneStatus {
        OneStatus {
            to,
            inside: StandardStatus::unwritten(),
        }
    }

    /// One that the call reads.
    ///
    /// # Safety
    /// The pointer is null or a status.
    pub(crate) unsafe fn changed(to: *mut StandardStatus) -> OneStatus {
        // Safety: as the caller says.
        let read = (!to.is_null()).then(|| unsafe { to.read() }.inside());
        OneStatus {
            to,
            inside: read.unwrap_or_else(StandardStatus::unwritten),
        }
    }

    pub(crate) fn pointer(&mut self) -> *mut MpiStatus {
        match self.to.is_null() {
            true => std::ptr::null_mut(),
            false => &mut self.inside,
        }
    }

    /// # Safety
    /// As of [`OneStatus::changed`].
    pub(crate) unsafe fn finish(&self) {
        if !self.to.is_null() {
            // Safety: as the caller says.
            unsafe { StandardStatus::write_back(self.to, &self.inside) };
        }
    }
}

/// Statuses that the call writes, or none.
pub(crate) struct Statuses {
    to: *mut StandardStatus,
    inside: Vec<MpiStatus>,
}

impl Statuses {
    pub(crate) fn new(to: *mut StandardStatus, length: usize) -> Statuses {
        let length = if to.is_null() { 0 } else { length };
        Statuses {
            to,
            inside: vec![StandardStatus::unwritten(); length],
        }
    }

    pub(crate) fn pointer(&mut self) -> *mut MpiStatus {
        match self.to.is_null() {
            true => std::ptr::null_mut(),
            false => self.inside.as_mut_ptr(),
        }
    }

    /// # Safety
    /// There is space for all.
    pub(crate) unsafe fn finish(&self) {
        for (index, inside) in self.inside.iter().enumerate() {
            // Safety: as the caller says.
            unsafe { StandardStatus::write_back(self.to.add(index), inside) };
        }
    }
}

/// A handle that the call writes.
pub(crate) struct Handle {
    to: *mut usize,
    before: c_int,
    inside: c_int,
    out: fn(c_int) -> usize,
}

impl Handle {
    pub(crate) fn written(to: *mut usize, out: fn(c_int) -> usize) -> Handle {
        Handle {
            to,
            before: UNWRITTEN,
            inside: UNWRITTEN,
            out,
        }
    }

    /// One that the call reads first.
    ///
    /// # Safety
    /// The pointer is null or a handle.
    pub(crate) unsafe fn changed(to: *mut usize, out: fn(c_int) -> usize) -> Handle {
        // Safety: as the caller says.
        let before = if to.is_null() {
            UNWRITTEN
        } else {
            handle_in(unsafe { to.read() })
        };
        Handle {
            to,
            before,
            inside: before,
            out,
        }
    }

    pub(crate) fn pointer(&mut self) -> *mut c_int {
        match self.to.is_null() {
            true => std::ptr::null_mut(),
            false => &mut self.inside,
        }
    }

    /// # Safety
    /// As of [`Handle::changed`].
    pub(crate) unsafe fn finish(&self) {
        if self.inside != self.before {
            // Safety: as the caller says; the call could not write a null pointer's.
            unsafe { self.to.write((self.out)(self.inside)) };
        }
    }
}

/// A handle of a file that the call writes.
pub(crate) struct FileHandle {
    to: *mut usize,
    inside: FilePointer,
}

impl FileHandle {
    pub(crate) fn written(to: *mut usize) -> FileHandle {
        let inside = UNWRITTEN as isize as FilePointer;
        FileHandle { to, inside }
    }

    /// One that the call reads first.
    ///
    /// # Safety
    /// The pointer is a handle.
    pub(crate) unsafe fn changed(to: *mut usize) -> FileHandle {
        // Safety: as the caller says.
        let inside = file_in(unsafe { to.read() });
        FileHandle { to, inside }
    }

    pub(crate) fn pointer(&mut self) -> *mut FilePointer {
        match self.to.is_null() {
            true => std::ptr::null_mut(),
            false => &mut self.inside,
        }
    }

    /// # Safety
    /// As of [`FileHandle::changed`].
    pub(crate) unsafe fn finish(&self) {
        if self.inside.addr() as isize != UNWRITTEN as isize {
            // Safety: as the caller says.
            unsafe { self.to.write(file_out(self.inside)) };
        }
    }
}

/// Handles in an array.
pub(crate) struct Handles {
    to: *mut usize,
    before: Vec<c_int>,
    inside: Vec<c_int>,
}

impl Handles {
    /// Those that the call reads.
    ///
    /// # Safety
    /// The pointer is null, or the array has this length.
    pub(crate) unsafe fn given(to: *mut usize, length: usize) -> Handles {
        // Safety: as the caller says.
        let read = |index| handle_in(unsafe { to.add(index).read() });
        let length = if to.is_null() { 0 } else { length };
        Handles {
            to,
            before: Vec::new(),
            inside: (0..length).map(read).collect(),
        }
    }

    /// Those that it reads and writes.
    ///
    /// # Safety
    /// As of [`Handles::given`].
    pub(crate) unsafe fn changed(to: *mut usize, length: usize) -> Handles {
        // Safety: as the caller says.
        let given = unsafe { Handles::given(to, length) };
        Handles {
            before: given.inside.clone(),
            ..given
        }
    }

    /// Those that it writes.
    pub(crate) fn written(to: *mut usize, length: usize) -> Handles {
        let length = if to.is_null() { 0 } else { length };
        Handles {
            to,
            before: vec![UNWRITTEN; length],
            inside: vec![UNWRITTEN; length],
        }
    }

    pub(crate) fn pointer(&mut self) -> *mut c_int {
        match self.to.is_null() {
            true => std::ptr::null_mut(),
            false => self.inside.as_mut_ptr(),
        }
    }

    /// # Safety
    /// As of [`Handles::given`].
    pub(crate) unsafe fn finish(&self) {
        for (index, (before, inside)) in self.before.iter().zip(&self.inside).enumerate() {
            if before != inside {
                // Safety: as the caller says.
                unsafe { self.to.add(index).write(handle_out(*inside)) };
            }
        }
    }
}

/// An integer that the call writes.
pub(crate) struct Integer {
    to: *mut c_int,
    inside: c_int,
    out: fn(c_int) -> c_int,
}

impl Integer {
    pub(crate) fn written(to: *mut c_int, _: fn(c_int) -> c_int, out: fn(c_int) -> c_int) -> Integer {
        let inside = UNWRITTEN;
        Integer { to, inside, out }
    }

    /// One that the call reads first.
    ///
    /// # Safety
    /// The pointer is an integer.
    pub(crate) unsafe fn changed(
        to: *mut c_int,
        into: fn(c_int) -> c_int,
        out: fn(c_int) -> c_int,
    ) -> Integer {
        // Safety: as the caller says.
        let inside = into(unsafe { to.read() });
        Integer { to, inside, out }
    }

    pub(crate) fn pointer(&mut self) -> *mut c_int {
        match self.to.is_null() {
            true => std::ptr::null_mut(),
            false => &mut self.inside,
        }
    }

    /// # Safety
    /// As of [`Integer::changed`].
    pub(crate) unsafe fn finish(&self) {
        if self.inside != UNWRITTEN {
            // Safety: as the caller says; the call could not write a null pointer's.
            unsafe { self.to.write((self.out)(self.inside)) };
        }
    }
}

/// Integers in an array.
pub(crate) struct Integers {
    to: *mut c_int,
    inside: Vec<c_int>,
    out: fn(c_int) -> c_int,
}

impl Integers {
    /// Those that the call reads.
    ///
    /// # Safety
    /// The pointer is null, or the array has this length.
    pub(crate) unsafe fn given(
        to: *mut c_int,
        length: usize,
        into: fn(c_int) -> c_int,
        out: fn(c_int) -> c_int,
    ) -> Integers {
        let length = if to.is_null() { 0 } else { length };
        // Safety: as the caller says.
        let read = |index| into(unsafe { to.add(index).read() });
        Integers {
            to,
            inside: (0..length).map(read).collect(),
            out,
        }
    }

    /// Those that it writes.
    pub(crate) fn written(
        to: *mut c_int,
        length: usize,
        _: fn(c_int) -> c_int,
        out: fn(c_int) -> c_int,
    ) -> Integers {
        let inside = vec![UNWRITTEN; if to.is_null() { 0 } else { length }];
        Integers { to, inside, out }
    }

    pub(crate) fn pointer(&mut self) -> *mut c_int {
        match self.to.is_null() {
            true => std::ptr::null_mut(),
            false => self.inside.as_mut_ptr(),
        }
    }

    /// # Safety
    /// As of [`Integers::given`].
    pub(crate) unsafe fn finish(&self) {
        for (index, inside) in self.inside.iter().enumerate() {
            if *inside != UNWRITTEN {
                // Safety: as the caller says.
                unsafe { self.to.add(index).write((self.out)(*inside)) };
            }
        }
    }
}

/// The length of an array that the program says.
pub(crate) fn length(said: impl TryInto<usize>) -> usize {
    said.try_into().unwrap_or(0)
}

/// Values of attributes that are constants of the ABI; programs get their addresses.
static FLAVORS: [c_int; FLAVOR.len()] = standard_values(FLAVOR);
static MODELS: [c_int; MODEL.len()] = standard_values(MODEL);
static RANKS: [c_int; RANK.len()] = standard_values(RANK);

const fn standard_values<const N: usize>(constants: &[(c_int, c_int)]) -> [c_int; N] {
    let mut values = [0; N];
    let mut index = 0;
    while index < N {
        values[index] = constants[index].0;
        index += 1;
    }
    values
}

/// Attributes whose values are constants of the ABI: their keys in the ABI of MPICH.
const HOST: c_int = 0x6440_0003;
const IO: c_int = 0x6440_0005;
const WIN_FLAVOR: c_int = 0x6600_0007;
const WIN_MODEL: c_int = 0x6600_0009;

/// Puts the address of a constant of this ABI in place of that of one of the inside.
///
/// # Safety
/// The call has written the address of the value of a predefined attribute.
pub(crate) unsafe fn attribute_out(key: c_int, to: *mut c_void) {
    let (values, out): (&'static [c_int], fn(c_int) -> c_int) = match keyval_in(key) {
        HOST | IO => (&RANKS, rank_out),
        WIN_FLAVOR => (&FLAVORS, flavor_out),
        WIN_MODEL => (&MODELS, model_out),
        _ => return,
    };
    let to = to.cast::<*const c_int>();
    // Safety: as the caller says.
    let value = out(unsafe { to.read().read() });
    if let Some(own) = values.iter().find(|own| **own == value) {
        // Safety: as the caller says.
        unsafe { to.write(own) };
    }
}

/// Translates the constants among the integers of the contents of a datatype (MPI 5.0, section 5.1.13).
///
/// # Safety
/// The call has written the contents.
pub(crate) unsafe fn contents_out(datatype: usize, integers: *mut c_int) {
    let (mut length, mut others, mut combiner) = (0_i64, [0_i64; 3], 0);
    let [addresses, counts, types] = &mut others;
    // Safety: all are there to be written.
    unsafe {
        Functions::MPI_Type_get_envelope_c(
            handle_in(datatype),
            &mut length,
            addresses,
            counts,
            types,
            &mut combiner,
        );
    }
    const SUBARRAY: c_int = 111;
    const DARRAY: c_int = 112;
    let combiner = combiner_out(combiner);
    if !matches!(combiner, SUBARRAY | DARRAY) || integers.is_null() {
        return;
    }
    // Safety: as the caller says.
    let integers = unsafe { std::slice::from_raw_parts_mut(integers, crate::arguments::length(length)) };
    // The order is the last one; before it are, for each dimension, distributions, their arguments and the grid.
    let Some((order, before)) = integers.split_last_mut() else {
        return;
    };
    *order = order_out(*order);
    if combiner == DARRAY {
        let dimensions = crate::arguments::length(before[2]);
        let start = before.len() - 3 * dimensions;
        let (distributions, rest) = before[start..].split_at_mut(dimensions);
        distributions
            .iter_mut()
            .for_each(|own| *own = distribution_out(*own));
        rest[..dimensions]
            .iter_mut()
            .for_each(|own| *own = argument_out(*own));
    }
}
