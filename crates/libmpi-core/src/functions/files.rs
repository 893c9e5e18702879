//! Files, their sizes, views and pointers (MPI 4.1, chapter 14).

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{counted_functions, functions, put, put_count, put_text, text_of};
use crate::abi::{self, FilePointer, class, file_handle, file_pointer};
use crate::callbacks::ErrorHandler;
use crate::error;
use crate::error_handlers;
use crate::failure::{Failure, Outcome};
use crate::file::{self, OpenFile, SeekOrigin};
use crate::info;
use crate::info::set_entry;
use crate::process::{self, Process};

/// Does something with a file, whose error handler decides about failures. That of `MPI_FILE_NULL` where there is none.
fn with<T>(handle: c_int, act: impl FnOnce(&mut Process) -> Outcome<T>) -> Outcome<T> {
    process::with(act).map_err(|failure| failure.on(handle))
}

fn with_file<T>(file: FilePointer, act: impl FnOnce(&mut OpenFile) -> Outcome<T>) -> Outcome<T> {
    let handle = file_handle(file);
    with(handle, |p| act(p.files.get_mut(handle)?))
}

/// The name of a file.
///
/// # Safety
/// It is null or ends with a zero.
unsafe fn path_of(name: *const c_char) -> Outcome<PathBuf> {
    let bytes = match name.is_null() {
        true => &[],
        // Safety: as the caller says.
        false => unsafe { CStr::from_ptr(name) }.to_bytes(),
    };
    match bytes {
        [] => Err(Failure::new(class::BAD_FILE, "a file without a name").on(abi::FILE_NULL)),
        bytes => Ok(OsStr::from_bytes(bytes).into()),
    }
}

/// Registers a data representation.
///
/// # Safety
/// The name ends with a zero.
unsafe fn register(name: *const c_char) -> Outcome<()> {
    // Safety: as the caller says.
    let name = unsafe { text_of(name) };
    with(abi::FILE_NULL, |p| {
        let known = &mut p.files.representations;
        let is_known = ["native", "internal", "external32"].contains(&&*name) || known.contains(&name);
        if name.is_empty() || name.len() > abi::MAX_DATAREP_STRING {
            return Err(Failure::new(class::ARG, "the name of a data representation"));
        }
        if is_known {
            return Err(Failure::new(class::DUP_DATAREP, name));
        }
        known.push(name);
        Ok(())
    })
}

functions! {
    fn MPI_File_open(communicator: c_int, name: *const c_char, amode: c_int, info: c_int, file: *mut FilePointer) {
        let path = path_of(name)?;
        let opened = with(abi::FILE_NULL, |p| p.open_file(communicator, path, amode, info))?;
        put(file, file_pointer(opened))
    }

    fn MPI_File_close(file: *mut FilePointer) {
        let handle = file_handle(*file);
        with(handle, |p| p.close_file(handle))?;
        put(file, file_pointer(abi::FILE_NULL))
    }

    fn MPI_File_delete(name: *const c_char, info: c_int) {
        let path = path_of(name)?;
        with(abi::FILE_NULL, |_| {
            info::table().hints(info)?;
            file::delete(&path)
        })
    }

    fn MPI_File_set_size(file: FilePointer, size: i64) {
        let handle = file_handle(file);
        with(handle, |p| p.resize_file(handle, size, false))
    }

    fn MPI_File_preallocate(file: FilePointer, size: i64) {
        let handle = file_handle(file);
        with(handle, |p| p.resize_file(handle, size, true))
    }

    fn MPI_File_get_size(file: FilePointer, size: *mut i64) {
        put(size, with_file(file, |own| own.size())? as i64)
    }

    fn MPI_File_sync(file: FilePointer) {
        with_file(file, |own| own.sync())
    }

    fn MPI_File_get_amode(file: FilePointer, amode: *mut c_int) {
        put(amode, with_file(file, |own| Ok(own.amode))?)
    }

    fn MPI_File_get_group(file: FilePointer, group: *mut c_int) {
        let handle = file_handle(file);
        put(group, with(handle, |p| {
            let communicator = p.files.get(handle)?.communicator;
            let members = p.communicators.get(communicator)?.members.clone();
            Ok(p.communicators.add_group(members))
        })?)
    }

    fn MPI_File_set_info(file: FilePointer, info: c_int) {
        let handle = file_handle(file);
        with(handle, |p| {
            let hints = info::table().hints(info)?;
            let own = &mut p.files.get_mut(handle)?.hints;
            hints.iter().for_each(|(key, value)| set_entry(own, key, value));
            Ok(())
        })
    }

    fn MPI_File_get_info(file: FilePointer, info: *mut c_int) {
        let hints = with_file(file, |own| Ok(own.hints.clone()))?;
        put(info, info::table().add(hints))
    }

    fn MPI_File_set_view(
        file: FilePointer, displacement: i64, etype: c_int, file_type: c_int, representation: *const c_char,
        info: c_int,
    ) {
        let (handle, name) = (file_handle(file), text_of(representation));
        with(handle, |p| p.set_view(handle, displacement, (etype, file_type), &name, info))
    }

    fn MPI_File_get_view(
        file: FilePointer, displacement: *mut i64, etype: *mut c_int, file_type: *mut c_int,
        representation: *mut c_char,
    ) {
        let handle = file_handle(file);
        let (view, types) = with(handle, |p| {
            let view = p.files.get(handle)?.view.clone();
            let types = (p.datatypes.part_handle(&view.etype), p.datatypes.part_handle(&view.file_type));
            Ok((view, types))
        })?;
        put(displacement, view.displacement as i64)?;
        put(etype, types.0)?;
        put(file_type, types.1)?;
        let mut length = 0;
        put_text(view.representation.name(), representation, abi::MAX_DATAREP_STRING, &mut length)
    }

    fn MPI_File_seek(file: FilePointer, offset: i64, whence: c_int) {
        let handle = file_handle(file);
        with(handle, |p| p.seek(handle, offset, SeekOrigin::of(whence)))
    }

    fn MPI_File_seek_shared(file: FilePointer, offset: i64, whence: c_int) {
        let handle = file_handle(file);
        with(handle, |p| p.seek_shared(handle, offset, SeekOrigin::of(whence)))
    }

    fn MPI_File_get_position(file: FilePointer, offset: *mut i64) {
        put(offset, with_file(file, |own| Ok(own.position))?)
    }

    fn MPI_File_get_position_shared(file: FilePointer, offset: *mut i64) {
        let handle = file_handle(file);
        put(offset, with(handle, |p| p.move_shared(handle, 0))?)
    }

    fn MPI_File_get_byte_offset(file: FilePointer, offset: i64, displacement: *mut i64) {
        put(displacement, with_file(file, |own| own.byte_offset(offset))? as i64)
    }

    fn MPI_File_set_atomicity(file: FilePointer, flag: c_int) {
        let handle = file_handle(file);
        with(handle, |p| p.set_atomicity(handle, flag != 0))
    }

    fn MPI_File_get_atomicity(file: FilePointer, flag: *mut c_int) {
        put(flag, with_file(file, |own| Ok(own.is_atomic))?.into())
    }

    fn MPI_File_create_errhandler(function: ErrorHandler, handler: *mut c_int) {
        put(handler, error_handlers::add_handler(function))
    }

    fn MPI_File_set_errhandler(file: FilePointer, handler: c_int) {
        let handle = file_handle(file);
        with(handle, |p| {
            error_handlers::check_handler(handler)?;
            p.files.set_error_handler(handle, handler)
        })
    }

    fn MPI_File_get_errhandler(file: FilePointer, handler: *mut c_int) {
        let handle = file_handle(file);
        put(handler, with(handle, |p| {
            if handle != abi::FILE_NULL {
                p.files.get(handle)?;
            }
            Ok(p.files.error_handler(handle))
        })?)
    }

    fn MPI_File_call_errhandler(file: FilePointer, code: c_int) {
        let handle = file_handle(file);
        let failure = Failure::new(code, "the program called the error handler");
        // The call itself succeeds if the handler returns.
        error::react(&failure.on(handle), "MPI_File_call_errhandler");
        Ok(())
    }
}

counted_functions! {
    // All representations have the extents of memory.
    fn MPI_File_get_type_extent(file: FilePointer, datatype: c_int, extent: *mut Place) {
        let handle = file_handle(file);
        let own = with(handle, |p| {
            p.files.get(handle)?;
            Ok(p.datatypes.get(datatype)?.extent)
        })?;
        put_count(extent, u64::try_from(own).ok())
    }

    // Files are never in such a representation, so that its functions are not called.
    fn MPI_Register_datarep(
        name: *const c_char, _read: *const c_void, _write: *const c_void, _extent: *const c_void,
        _extra: *mut c_void,
    ) {
        register(name)
    }
}
