//! Datatypes and packing (MPI 4.1, chapter 5).

use std::ffi::{c_char, c_int, c_void};

use super::{array, functions, put, put_text};
use crate::abi::{self, class};
use crate::communicator::CommunicatorTable;
use crate::datatype::{Datatype, predefined_name};
use crate::failure::{Failure, Outcome};
use crate::process;

fn count_of(count: c_int) -> Outcome<usize> {
    usize::try_from(count).map_err(|_| Failure::new(class::COUNT, count.to_string()))
}

/// Adds a datatype that is made of another.
fn derive(from: c_int, make: impl FnOnce(&Datatype) -> Outcome<Datatype>) -> Outcome<c_int> {
    process::with(|p| {
        let made = make(p.datatypes.get(from)?)?;
        Ok(p.datatypes.add(made))
    })
}

/// Blocks of one datatype at displacements in bytes.
fn blocks(from: &Datatype, blocks: impl Iterator<Item = (c_int, isize)>) -> Outcome<Datatype> {
    let parts = blocks.map(|(count, displacement)| Ok((displacement, count_of(count)?, from)));
    Ok(Datatype::of_parts(&parts.collect::<Outcome<Vec<_>>>()?))
}

functions! {
    fn MPI_Type_size(datatype: c_int, size: *mut c_int) {
        let own = process::with(|p| Ok(p.datatypes.get(datatype)?.size))?;
        put(size, c_int::try_from(own).unwrap_or(abi::UNDEFINED))
    }

    fn MPI_Type_get_extent(datatype: c_int, lower: *mut isize, extent: *mut isize) {
        let own = process::with(|p| p.datatypes.get(datatype).map(|own| (own.lower_bound, own.extent)))?;
        put(lower, own.0)?;
        put(extent, own.1)
    }

    fn MPI_Type_get_extent_x(datatype: c_int, lower: *mut isize, extent: *mut isize) {
        let own = process::with(|p| p.datatypes.get(datatype).map(|own| (own.lower_bound, own.extent)))?;
        put(lower, own.0)?;
        put(extent, own.1)
    }

    fn MPI_Type_size_x(datatype: c_int, size: *mut isize) {
        put(size, process::with(|p| Ok(p.datatypes.get(datatype)?.size))? as isize)
    }

    fn MPI_Type_get_true_extent(datatype: c_int, lower: *mut isize, extent: *mut isize) {
        let own = process::with(|p| Ok(p.datatypes.get(datatype)?.true_bounds()))?;
        put(lower, own.0)?;
        put(extent, own.1)
    }

    fn MPI_Type_contiguous(count: c_int, from: c_int, made: *mut c_int) {
        put(made, derive(from, |from| blocks(from, [(count, 0)].into_iter()))?)
    }

    fn MPI_Type_vector(count: c_int, length: c_int, stride: c_int, from: c_int, made: *mut c_int) {
        put(made, derive(from, |from| {
            let places = 0..count_of(count)? as isize;
            blocks(from, places.map(|place| (length, place * stride as isize * from.extent)))
        })?)
    }

    fn MPI_Type_create_hvector(count: c_int, length: c_int, stride: isize, from: c_int, made: *mut c_int) {
        put(made, derive(from, |from| {
            let places = 0..count_of(count)? as isize;
            blocks(from, places.map(|place| (length, place * stride)))
        })?)
    }

    fn MPI_Type_indexed(count: c_int, lengths: *const c_int, places: *const c_int, from: c_int, made: *mut c_int) {
        let (lengths, places) = (array(lengths, count)?, array(places, count)?);
        put(made, derive(from, |from| {
            let all = lengths.iter().zip(places);
            blocks(from, all.map(|(length, place)| (*length, *place as isize * from.extent)))
        })?)
    }

    fn MPI_Type_create_indexed_block(count: c_int, length: c_int, places: *const c_int, from: c_int, made: *mut c_int) {
        let places = array(places, count)?;
        put(made, derive(from, |from| {
            blocks(from, places.iter().map(|place| (length, *place as isize * from.extent)))
        })?)
    }

    fn MPI_Type_create_hindexed(
        count: c_int, lengths: *const c_int, places: *const isize, from: c_int, made: *mut c_int,
    ) {
        let (lengths, places) = (array(lengths, count)?, array(places, count)?);
        put(made, derive(from, |from| blocks(from, lengths.iter().copied().zip(places.iter().copied())))?)
    }

    fn MPI_Type_create_struct(
        count: c_int, lengths: *const c_int, places: *const isize, from: *const c_int, made: *mut c_int,
    ) {
        let (lengths, places, from) = (array(lengths, count)?, array(places, count)?, array(from, count)?);
        let handle = process::with(|p| {
            let parts = lengths.iter().zip(places).zip(from);
            let parts = parts.map(|((length, place), from)| Ok((*place, count_of(*length)?, p.datatypes.get(*from)?)));
            let parts = parts.collect::<Outcome<Vec<_>>>()?;
            // The extent is rounded up to the alignment of the strictest part, as of a structure of C.
            let mut made = Datatype::of_parts(&parts);
            let alignment = parts.iter().map(|(_, _, from)| from.alignment()).max().unwrap_or(1);
            made.extent = (made.extent + alignment - 1) / alignment * alignment;
            Ok(p.datatypes.add(made))
        })?;
        put(made, handle)
    }

    fn MPI_Type_create_resized(from: c_int, lower: isize, extent: isize, made: *mut c_int) {
        put(made, derive(from, |from| Ok(from.resized(lower, extent)))?)
    }

    fn MPI_Type_create_subarray(
        dimensions: c_int, sizes: *const c_int, parts: *const c_int, starts: *const c_int, order: c_int, from: c_int,
        made: *mut c_int,
    ) {
        let all = (array(sizes, dimensions)?, array(parts, dimensions)?, array(starts, dimensions)?);
        put(made, derive(from, |from| Ok(from.subarray(all, order == abi::ORDER_FORTRAN)))?)
    }

    fn MPI_Type_dup(from: c_int, made: *mut c_int) {
        put(made, derive(from, |from| Ok(from.clone()))?)
    }

    fn MPI_Type_commit(datatype: *mut c_int) {
        process::with(|p| p.datatypes.get(*datatype).map(|_| ()))
    }

    fn MPI_Type_free(datatype: *mut c_int) {
        process::with(|p| p.datatypes.remove(*datatype))?;
        put(datatype, abi::DATATYPE_NULL)
    }

    fn MPI_Type_get_name(datatype: c_int, name: *mut c_char, length: *mut c_int) {
        process::with(|p| p.datatypes.get(datatype).map(|_| ()))?;
        put_text(predefined_name(datatype).unwrap_or(""), name, abi::MAX_OBJECT_NAME, length)
    }

    fn MPI_Pack_size(count: c_int, datatype: c_int, communicator: c_int, size: *mut c_int) {
        let bytes = process::with(|p| {
            check(&p.communicators, communicator)?;
            Ok(p.datatypes.get(datatype)?.bytes(count_of(count)?))
        })?;
        put(size, bytes as c_int)
    }

    fn MPI_Pack(
        buffer: *const c_void, count: c_int, datatype: c_int, packed: *mut c_void, size: c_int, position: *mut c_int,
        communicator: c_int,
    ) {
        let bytes = process::with(|p| {
            check(&p.communicators, communicator)?;
            Ok(p.datatypes.get(datatype)?.pack(buffer, count_of(count)?))
        })?;
        let start = count_of(*position)?;
        if start + bytes.len() > count_of(size)? {
            return Err(Failure::new(class::TRUNCATE, "the buffer for the packed data is too short"));
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), packed.cast::<u8>().add(start), bytes.len());
        put(position, (start + bytes.len()) as c_int)
    }

    fn MPI_Unpack(
        packed: *const c_void, size: c_int, position: *mut c_int, buffer: *mut c_void, count: c_int, datatype: c_int,
        communicator: c_int,
    ) {
        let start = count_of(*position)?;
        let bytes = process::with(|p| {
            check(&p.communicators, communicator)?;
            let datatype = p.datatypes.get(datatype)?;
            let bytes = datatype.bytes(count_of(count)?);
            if start + bytes > count_of(size)? {
                return Err(Failure::new(class::TRUNCATE, "the packed data is shorter than what is unpacked"));
            }
            let from = std::slice::from_raw_parts(packed.cast::<u8>().add(start), bytes);
            datatype.unpack(from, buffer);
            Ok(bytes)
        })?;
        put(position, (start + bytes) as c_int)
    }
}

fn check(communicators: &CommunicatorTable, communicator: c_int) -> Outcome<()> {
    communicators.get(communicator).map(|_| ())
}
