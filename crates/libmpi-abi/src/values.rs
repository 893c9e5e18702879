//! Single values in the standard ABI and in that of MPICH, which the inside has: `_in` from the one to the other,
//! `_out` back. Values that the standard does not name become ones that the inside does not know, and come back as they
//! were.

use std::ffi::{c_int, c_void};

use libmpi_core::abi::{FilePointer, file_handle, file_pointer};
use libmpi_core::functions::{UNWEIGHTED, WEIGHTS_EMPTY};

/// The constants by role: values in the standard ABI and in that of MPICH.
mod constants {
    include!(concat!(env!("OUT_DIR"), "/constants.rs"));
}

pub(crate) use constants::{FLAVOR, HANDLE, MODEL, RANK};

/// Predefined handles are below this.
const PREDEFINED: usize = 0x1000;

/// A handle that is none of any kind in the inside.
const NO_HANDLE: c_int = 0x3fff_ffff;

/// Handles of the standard ABI by value; the greatest is below.
const HANDLES_IN: [c_int; 0x300] = {
    let mut all = [NO_HANDLE; 0x300];
    let mut index = 0;
    while index < HANDLE.len() {
        all[HANDLE[index].0 as usize] = HANDLE[index].1;
        index += 1;
    }
    all
};

/// A datatype of the inside with a predefined handle: bits 8 to 15 are its size, and the low byte is its number.
const DATATYPE: c_int = 0x4c00_0000;

/// One of the predefined datatypes of a value and an index: the low byte is its number.
const PAIR: c_int = 0x8c00_0000_u32 as c_int;

/// The datatypes of the standard ABI by the number of those of the inside, and those of a value and an index by theirs.
const DATATYPES_OUT: ([u16; 0x100], [u16; 0x100]) = {
    let mut all = ([0; 0x100], [0; 0x100]);
    let mut index = 0;
    while index < HANDLE.len() {
        let (standard, inside) = HANDLE[index];
        if inside & 0x7fff_0000 == DATATYPE & 0x7fff_0000 || inside & !0xff == PAIR {
            let number = (inside & 0xff) as usize;
            match inside < 0 {
                true => all.1[number] = standard as u16,
                false => all.0[number] = standard as u16,
            }
        }
        index += 1;
    }
    all
};

/// A handle of the program, of any kind but files.
pub(crate) fn handle_in(handle: usize) -> c_int {
    match HANDLES_IN.get(handle) {
        Some(inside) => *inside,
        None => match u32::try_from(handle) {
            Ok(made) if handle >= PREDEFINED => made as c_int,
            _ => NO_HANDLE,
        },
    }
}

/// What the program has for a made handle, which has bit 31 in the inside, so that it is none of the predefined ones.
pub(crate) fn made_handle(handle: c_int) -> usize {
    handle as u32 as usize
}

/// A handle of any kind but messages.
pub(crate) fn handle_out(handle: c_int) -> usize {
    if handle & !0xffff == DATATYPE {
        return DATATYPES_OUT.0[(handle & 0xff) as usize].into();
    }
    if handle & !0xff == PAIR && DATATYPES_OUT.1[(handle & 0xff) as usize] != 0 {
        return DATATYPES_OUT.1[(handle & 0xff) as usize].into();
    }
    if handle < 0 {
        return made_handle(handle);
    }
    // A request that is none has the same handle as a message that is none.
    let is_message = |standard: c_int| (0x128..0x130).contains(&standard);
    let mut found = HANDLE.iter().filter(|(standard, _)| !is_message(*standard));
    found
        .find(|(_, inside)| *inside == handle)
        .map_or(0, |(standard, _)| *standard as usize)
}

/// A handle of a message.
pub(crate) fn message_out(handle: c_int) -> usize {
    match handle < 0 {
        true => made_handle(handle),
        false => {
            let found = HANDLE
                .iter()
                .find(|(standard, inside)| *inside == handle && *standard < 0x130);
            found.map_or(0, |(standard, _)| *standard as usize)
        }
    }
}

/// A handle of a file.
pub(crate) fn file_in(file: usize) -> FilePointer {
    file_pointer(handle_in(file))
}

/// The same, back.
pub(crate) fn file_out(file: FilePointer) -> usize {
    handle_out(file_handle(file))
}

/// A value that the inside does not know.
const UNKNOWN: c_int = c_int::MIN + 7;

/// The value of the inside for a constant; `UNKNOWN` for other values.
fn constant_in(constants: &[(c_int, c_int)], value: c_int) -> c_int {
    let found = constants.iter().find(|(standard, _)| *standard == value);
    found.map_or(UNKNOWN, |(_, inside)| *inside)
}

/// The constant for a value of the inside; other values stay.
fn constant_out(constants: &[(c_int, c_int)], value: c_int) -> c_int {
    let found = constants.iter().find(|(_, inside)| *inside == value);
    found.map_or(value, |(standard, _)| *standard)
}

/// Defines translations of constants, by `constant_in` or `constant_out`.
macro_rules! constants {
    ($($name:ident $translation:ident $constants:ident;)*) => { $(
        pub(crate) fn $name(value: c_int) -> c_int {
            $translation(constants::$constants, value)
        }
    )* };
}

constants! {
    combiner_in constant_in COMBINER;
    combiner_out constant_out COMBINER;
    comparison_in constant_in COMPARISON;
    comparison_out constant_out COMPARISON;
    distribution_in constant_in DISTRIBUTION;
    distribution_out constant_out DISTRIBUTION;
    flavor_out constant_out FLAVOR;
    lock_in constant_in LOCK;
    model_out constant_out MODEL;
    order_in constant_in ORDER;
    order_out constant_out ORDER;
    split_in constant_in SPLIT;
    thread_in constant_in THREAD;
    thread_out constant_out THREAD;
    topology_in constant_in TOPOLOGY;
    topology_out constant_out TOPOLOGY;
    whence_in constant_in WHENCE;
}

/// The kind of logical types, which libraries add to those of the standard: here and in the inside.
const TYPECLASS_LOGICAL: (c_int, c_int) = (191, 4);

pub(crate) fn typeclass_in(kind: c_int) -> c_int {
    match kind == TYPECLASS_LOGICAL.0 {
        true => TYPECLASS_LOGICAL.1,
        false => constant_in(constants::TYPECLASS, kind),
    }
}

/// An argument of a distribution: a number, but for the default.
pub(crate) fn argument_in(value: c_int) -> c_int {
    match constant_in(constants::ARGUMENT, value) {
        UNKNOWN => value,
        inside => inside,
    }
}

pub(crate) fn argument_out(value: c_int) -> c_int {
    constant_out(constants::ARGUMENT, value)
}

/// How far values that the standard does not name are moved away from those that the inside knows.
const AWAY: c_int = 0x1_0000;

/// Whether a rank, a tag or an error code could be one of the inside's constants.
fn is_near(value: c_int) -> bool {
    (-AWAY / 2..0x80).contains(&value)
}

/// A value that is a constant or a number of the program, which stays as it is if it is at least `first`.
fn number_in(constants: &[(c_int, c_int)], first: c_int, value: c_int) -> c_int {
    if value >= first {
        return value;
    }
    match constant_in(constants, value) {
        UNKNOWN if is_near(value) => value - AWAY,
        UNKNOWN => value,
        inside => inside,
    }
}

fn number_out(constants: &[(c_int, c_int)], first: c_int, value: c_int) -> c_int {
    if value >= first {
        return value;
    }
    match constants.iter().find(|(_, inside)| *inside == value) {
        Some((standard, _)) => *standard,
        None if value.checked_add(AWAY).is_some_and(is_near) => value + AWAY,
        None => value,
    }
}

pub(crate) fn rank_in(rank: c_int) -> c_int {
    number_in(RANK, 0, rank)
}

pub(crate) fn rank_out(rank: c_int) -> c_int {
    number_out(RANK, 0, rank)
}

pub(crate) fn tag_in(tag: c_int) -> c_int {
    number_in(constants::TAG, 0, tag)
}

pub(crate) fn tag_out(tag: c_int) -> c_int {
    number_out(constants::TAG, 0, tag)
}

/// The codes that programs add are far above the classes in both ABIs.
const ADDED_CODES: c_int = 0x4000_0000;

pub(crate) fn code_in(code: c_int) -> c_int {
    match code {
        0 => 0,
        code => number_in(constants::CODE, ADDED_CODES, code),
    }
}

pub(crate) fn code_out(code: c_int) -> c_int {
    match code {
        0 => 0,
        code => number_out(constants::CODE, ADDED_CODES, code),
    }
}

/// Keys that the program makes are negative.
pub(crate) fn keyval_in(key: c_int) -> c_int {
    match key < 0 {
        true => key,
        false => constant_in(constants::KEYVAL, key),
    }
}

pub(crate) fn keyval_out(key: c_int) -> c_int {
    constant_out(constants::KEYVAL, key)
}

/// Flags, of which those that the standard does not name become one that the inside does not know.
fn flags_in(constants: &[(c_int, c_int)], flags: c_int) -> c_int {
    let known = constants.iter().fold(0, |known, (standard, _)| known | standard);
    let named = constants.iter().filter(|(standard, _)| flags & standard != 0);
    let unnamed = if flags & !known != 0 { 1 << 30 } else { 0 };
    named.fold(unnamed, |all, (_, inside)| all | inside)
}

fn flags_out(constants: &[(c_int, c_int)], flags: c_int) -> c_int {
    let named = constants.iter().filter(|(_, inside)| flags & inside != 0);
    named.fold(0, |all, (standard, _)| all | standard)
}

pub(crate) fn amode_in(flags: c_int) -> c_int {
    flags_in(constants::AMODE, flags)
}

pub(crate) fn amode_out(flags: c_int) -> c_int {
    flags_out(constants::AMODE, flags)
}

pub(crate) fn assert_in(flags: c_int) -> c_int {
    flags_in(constants::ASSERT, flags)
}

pub(crate) fn displacement_in(displacement: i64) -> i64 {
    let found = constants::DISPLACEMENT
        .iter()
        .find(|(standard, _)| i64::from(*standard) == displacement);
    found.map_or(displacement, |(_, inside)| i64::from(*inside))
}

/// A buffer, which may be `MPI_IN_PLACE` or `MPI_BUFFER_AUTOMATIC`.
pub(crate) fn buffer_in(buffer: *mut c_void) -> *mut c_void {
    let found = constants::BUFFER
        .iter()
        .find(|(standard, _)| *standard as usize == buffer.addr());
    found.map_or(buffer, |(_, inside)| *inside as isize as *mut c_void)
}

/// The address of a buffer, which the call has written: it may be `MPI_BUFFER_AUTOMATIC`.
///
/// # Safety
/// The call has written an address.
pub(crate) unsafe fn buffer_out(to: *mut c_void) {
    let to = to.cast::<usize>();
    // Safety: as the caller says.
    let inside = unsafe { to.read() };
    let found = constants::BUFFER
        .iter()
        .find(|(_, own)| *own as isize as usize == inside);
    if let Some((standard, _)) = found {
        // Safety: as the caller says.
        unsafe { to.write(*standard as usize) };
    }
}

/// `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY`.
const WEIGHTS: [(usize, usize); 2] = [(10, UNWEIGHTED), (11, WEIGHTS_EMPTY)];

/// Weights of edges, or what stands for none.
pub(crate) fn weights_in(weights: *mut c_void) -> *mut c_void {
    let found = WEIGHTS.iter().find(|(standard, _)| *standard == weights.addr());
    found.map_or(weights, |(_, inside)| *inside as *mut c_void)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A translation and the way back.
    type BothWays<T> = (fn(T) -> c_int, fn(c_int) -> T);

    #[test]
    fn numbers_come_back_as_they_were() {
        let translations: [BothWays<c_int>; 4] = [
            (rank_in, rank_out),
            (tag_in, tag_out),
            (code_in, code_out),
            (argument_in, argument_out),
        ];
        let numbers = (-1000..20_000).chain([ADDED_CODES, ADDED_CODES + 3, c_int::MAX]);
        for number in numbers {
            for (into, out) in translations {
                assert_eq!(out(into(number)), number);
            }
        }
    }

    #[test]
    fn what_the_standard_does_not_name_is_no_constant_of_the_inside() {
        // Of MPICH: MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_ERR_SESSION, MPI_LOCK_SHARED, MPI_COMM_TYPE_SHARED.
        assert_ne!(rank_in(-2), -2);
        assert_ne!(tag_in(-1), -1);
        assert_ne!(code_in(75), 75);
        assert_ne!(lock_in(235), 235);
        assert_ne!(split_in(1), 1);
        assert_eq!(amode_in(0x200) & 0x1ff, 0);
    }

    #[test]
    fn predefined_handles_come_back_as_they_were() {
        for (standard, inside) in HANDLE {
            assert_eq!(handle_in(*standard as usize), *inside);
            let out = match standard {
                0x128 | 0x129 => message_out(*inside),
                _ => handle_out(*inside),
            };
            assert_eq!(out, *standard as usize, "{standard:#x}");
        }
        for made in [0x8400_0000_u32, 0x8c00_0100, 0xac00_0003, 0x9000_0000] {
            let handle = handle_out(made as c_int);
            assert!(handle >= PREDEFINED);
            assert_eq!(handle_in(handle), made as c_int);
        }
        for none in [0, 1, 0x103, 0x2ff, 0x300, 0xfff, usize::MAX] {
            assert_eq!(handle_in(none), NO_HANDLE, "{none:#x}");
        }
    }
}
