//! Packing, for this machine and in the form `external32` (MPI 4.1, sections 5.2 and 5.3).

use std::ffi::{c_char, c_int, c_void};

use super::{CountArgument, count_of, counted_functions, put, put_count, text_of};
use crate::abi::class;
use crate::failure::{Failure, Outcome};
use crate::process::{self, Process};

fn check(process: &Process, communicator: c_int) -> Outcome<()> {
    process.communicators.get(communicator).map(|_| ())
}

/// The form of packed data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PackedForm {
    Native,
    /// Values with the most significant byte first.
    External32,
}

/// The form with a name.
///
/// # Safety
/// The name ends with a zero.
unsafe fn form_of(name: *const c_char) -> Outcome<PackedForm> {
    // Safety: as the caller says.
    match unsafe { text_of(name) } {
        name if name == "external32" => Ok(PackedForm::External32),
        name => Err(Failure::new(
            class::ARG,
            format!("the data representation {name:?}"),
        )),
    }
}

/// Elements of the program.
type PackedElements<T> = (*mut c_void, usize, T);

/// Packs elements at a position of a buffer: the position after them.
///
/// # Safety
/// The buffers have the elements and the space.
unsafe fn pack(
    (buffer, count, datatype): PackedElements<c_int>,
    form: PackedForm,
    (packed, size, position): (*mut c_void, i64, i64),
) -> Outcome<i64> {
    let (start, size) = (count_of(position)?, count_of(size)?);
    let bytes = process::with(|p| {
        let datatype = p.datatypes.get(datatype)?;
        // Safety: as the caller says.
        let mut bytes = unsafe { datatype.pack(buffer, count) };
        if form == PackedForm::External32 && cfg!(target_endian = "little") {
            datatype.swap_bytes(&mut bytes);
        }
        Ok(bytes)
    })?;
    if start + bytes.len() > size {
        return Err(Failure::new(
            class::TRUNCATE,
            "the buffer for the packed data is too short",
        ));
    }
    // Safety: inside the buffer.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), packed.cast::<u8>().add(start), bytes.len()) };
    Ok((start + bytes.len()) as i64)
}

/// Unpacks elements from a position of a buffer: the position after them.
///
/// # Safety
/// As of [`pack`].
unsafe fn unpack(
    (buffer, count, datatype): PackedElements<c_int>,
    form: PackedForm,
    (packed, size, position): (*const c_void, i64, i64),
) -> Outcome<i64> {
    let (start, size) = (count_of(position)?, count_of(size)?);
    process::with(|p| {
        let datatype = p.datatypes.get(datatype)?;
        let bytes = datatype.bytes(count);
        if start + bytes > size {
            return Err(Failure::new(
                class::TRUNCATE,
                "the packed data is shorter than what is unpacked",
            ));
        }
        if bytes == 0 {
            return Ok(start as i64);
        }
        // Safety: inside the buffer.
        let from = unsafe { std::slice::from_raw_parts(packed.cast::<u8>().add(start), bytes) };
        let mut from = from.to_vec();
        if form == PackedForm::External32 && cfg!(target_endian = "little") {
            datatype.swap_bytes(&mut from);
        }
        // Safety: the program gave the buffer with this count.
        unsafe { datatype.unpack(&from, buffer) };
        Ok((start + bytes) as i64)
    })
}

/// Writes a position.
///
/// # Safety
/// As of [`put`].
unsafe fn put_position<T: CountArgument>(to: *mut T, position: i64) -> Outcome<()> {
    let position =
        T::narrow(position).ok_or_else(|| Failure::new(class::VALUE_TOO_LARGE, position.to_string()))?;
    // Safety: as the caller says.
    unsafe { put(to, position) }
}

counted_functions! {
    fn MPI_Pack_size(count: Count, datatype: c_int, communicator: c_int, size: *mut Count) {
        let bytes = process::with(|p| {
            check(p, communicator)?;
            Ok(p.datatypes.get(datatype)?.bytes(count_of(count)?))
        })?;
        put_count(size, Some(bytes as u64))
    }

    fn MPI_Pack(
        buffer: *const c_void, count: Count, datatype: c_int, packed: *mut c_void, size: Count, position: *mut Count,
        communicator: c_int,
    ) {
        process::with(|p| check(p, communicator))?;
        let elements = (buffer.cast_mut(), count_of(count)?, datatype);
        let after = pack(elements, PackedForm::Native, (packed, size.wide(), (*position).wide()))?;
        put_position(position, after)
    }

    fn MPI_Unpack(
        packed: *const c_void, size: Count, position: *mut Count, buffer: *mut c_void, count: Count, datatype: c_int,
        communicator: c_int,
    ) {
        process::with(|p| check(p, communicator))?;
        let elements = (buffer, count_of(count)?, datatype);
        let after = unpack(elements, PackedForm::Native, (packed, size.wide(), (*position).wide()))?;
        put_position(position, after)
    }

    fn MPI_Pack_external_size(form: *const c_char, count: Count, datatype: c_int, size: *mut Place) {
        form_of(form)?;
        let bytes = process::with(|p| Ok(p.datatypes.get(datatype)?.bytes(count_of(count)?)))?;
        put_count(size, Some(bytes as u64))
    }

    fn MPI_Pack_external(
        form: *const c_char, buffer: *const c_void, count: Count, datatype: c_int, packed: *mut c_void, size: Place,
        position: *mut Place,
    ) {
        let elements = (buffer.cast_mut(), count_of(count)?, datatype);
        let after = pack(elements, form_of(form)?, (packed, size.wide(), (*position).wide()))?;
        put_position(position, after)
    }

    fn MPI_Unpack_external(
        form: *const c_char, packed: *const c_void, size: Place, position: *mut Place, buffer: *mut c_void,
        count: Count, datatype: c_int,
    ) {
        let elements = (buffer, count_of(count)?, datatype);
        let after = unpack(elements, form_of(form)?, (packed, size.wide(), (*position).wide()))?;
        put_position(position, after)
    }
}
