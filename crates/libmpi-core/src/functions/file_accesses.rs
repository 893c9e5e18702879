//! Reading and writing of files (MPI 4.1, section 14.4).

use std::ffi::{c_int, c_void};

use super::{counted_functions, functions, put};
use crate::abi::{FilePointer, MpiStatus, file_handle};
use crate::failure::Outcome;
use crate::file::FilePlace::{At, Individual, Ordered, Shared};
use crate::file::{FileAccess, FilePlace};
use crate::message::Elements;
use crate::process::{self, Process};

fn reads(place: FilePlace) -> FileAccess {
    FileAccess {
        place,
        writes: false,
        is_collective: false,
    }
}

fn writes(place: FilePlace) -> FileAccess {
    FileAccess {
        writes: true,
        ..reads(place)
    }
}

fn all(access: FileAccess) -> FileAccess {
    FileAccess {
        is_collective: true,
        ..access
    }
}

/// Does something with a file, whose error handler decides about failures.
fn with_file<T>(file: FilePointer, act: impl FnOnce(&mut Process, c_int) -> Outcome<T>) -> Outcome<T> {
    let handle = file_handle(file);
    process::with(|p| act(p, handle)).map_err(|failure| failure.on(handle))
}

/// Defines accesses that give a status.
macro_rules! accesses {
    ($($name:ident($($offset:ident)?) $buffer:ty = $access:expr;)*) => { counted_functions! { $(
        fn $name(
            file: FilePointer, $($offset: i64,)? buffer: $buffer, count: Count, datatype: c_int,
            status: *mut MpiStatus,
        ) {
            let elements = Elements::new(buffer, count, datatype);
            with_file(file, |p, file| p.access_file(file, $access, elements))?.write(status);
            Ok(())
        }
    )* } };
}

/// Defines accesses that give a request.
macro_rules! nonblocking_accesses {
    ($($name:ident($($offset:ident)?) $buffer:ty = $access:expr;)*) => { counted_functions! { $(
        fn $name(
            file: FilePointer, $($offset: i64,)? buffer: $buffer, count: Count, datatype: c_int,
            request: *mut c_int,
        ) {
            let elements = Elements::new(buffer, count, datatype);
            put(request, with_file(file, |p, file| p.request_access(file, $access, elements))?)
        }
    )* } };
}

/// Defines the first halves of split collective accesses.
macro_rules! begun_accesses {
    ($($name:ident($($offset:ident)?) $buffer:ty = $access:expr;)*) => { counted_functions! { $(
        fn $name(file: FilePointer, $($offset: i64,)? buffer: $buffer, count: Count, datatype: c_int) {
            let elements = Elements::new(buffer, count, datatype);
            with_file(file, |p, file| p.begin_access(file, $access, elements))
        }
    )* } };
}

/// Defines their second halves.
macro_rules! ended_accesses {
    ($($name:ident $access:expr;)*) => { functions! { $(
        fn $name(file: FilePointer, _buffer: *const c_void, status: *mut MpiStatus) {
            with_file(file, |p, file| p.end_access(file, $access))?.write(status);
            Ok(())
        }
    )* } };
}

accesses! {
    MPI_File_read_at(offset) *mut c_void = reads(At(offset));
    MPI_File_read_at_all(offset) *mut c_void = all(reads(At(offset)));
    MPI_File_write_at(offset) *const c_void = writes(At(offset));
    MPI_File_write_at_all(offset) *const c_void = all(writes(At(offset)));
    MPI_File_read() *mut c_void = reads(Individual);
    MPI_File_read_all() *mut c_void = all(reads(Individual));
    MPI_File_write() *const c_void = writes(Individual);
    MPI_File_write_all() *const c_void = all(writes(Individual));
    MPI_File_read_shared() *mut c_void = reads(Shared);
    MPI_File_write_shared() *const c_void = writes(Shared);
    MPI_File_read_ordered() *mut c_void = all(reads(Ordered));
    MPI_File_write_ordered() *const c_void = all(writes(Ordered));
}

// Those of all ranks do not wait for each other either, as such a call does not block.
nonblocking_accesses! {
    MPI_File_iread_at(offset) *mut c_void = reads(At(offset));
    MPI_File_iread_at_all(offset) *mut c_void = reads(At(offset));
    MPI_File_iwrite_at(offset) *const c_void = writes(At(offset));
    MPI_File_iwrite_at_all(offset) *const c_void = writes(At(offset));
    MPI_File_iread() *mut c_void = reads(Individual);
    MPI_File_iread_all() *mut c_void = reads(Individual);
    MPI_File_iwrite() *const c_void = writes(Individual);
    MPI_File_iwrite_all() *const c_void = writes(Individual);
    MPI_File_iread_shared() *mut c_void = reads(Shared);
    MPI_File_iwrite_shared() *const c_void = writes(Shared);
}

begun_accesses! {
    MPI_File_read_at_all_begin(offset) *mut c_void = all(reads(At(offset)));
    MPI_File_write_at_all_begin(offset) *const c_void = all(writes(At(offset)));
    MPI_File_read_all_begin() *mut c_void = all(reads(Individual));
    MPI_File_write_all_begin() *const c_void = all(writes(Individual));
    MPI_File_read_ordered_begin() *mut c_void = all(reads(Ordered));
    MPI_File_write_ordered_begin() *const c_void = all(writes(Ordered));
}

ended_accesses! {
    MPI_File_read_at_all_end all(reads(At(0)));
    MPI_File_write_at_all_end all(writes(At(0)));
    MPI_File_read_all_end all(reads(Individual));
    MPI_File_write_all_end all(writes(Individual));
    MPI_File_read_ordered_end all(reads(Ordered));
    MPI_File_write_ordered_end all(writes(Ordered));
}
