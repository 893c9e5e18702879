//! What is asked of datatypes: sizes, extents, how they were made, names (MPI 4.1, sections 5.1 and 7.8).

use std::ffi::{c_char, c_int};

use super::{CountArgument, array_mut, counted_functions, functions, put, put_count, put_text, text_of};
use crate::abi::{self, class};
use crate::datatype::{Datatype, DatatypeRecipe};
use crate::failure::{Failure, Outcome};
use crate::process::{self, Process};

/// Combiner of predefined types.
const NAMED: c_int = 1;

fn with_type<T>(handle: c_int, ask: impl FnOnce(&Datatype) -> T) -> Outcome<T> {
    process::with(|p| p.datatypes.get(handle).map(|datatype| ask(datatype)))
}

/// Writes a displacement, or `MPI_UNDEFINED` if it does not fit.
///
/// # Safety
/// As of [`put`].
unsafe fn put_place<T: CountArgument>(to: *mut T, value: isize) -> Outcome<()> {
    match T::narrow(value as i64).or_else(|| T::narrow(abi::UNDEFINED.into())) {
        // Safety: as the caller says.
        Some(value) => unsafe { put(to, value) },
        None => Ok(()),
    }
}

/// Handles of the types of which one is made. Those that the program has made have new ones, which it frees.
fn part_handles(process: &mut Process, recipe: &DatatypeRecipe) -> Vec<c_int> {
    let parts = recipe.types.iter();
    parts.map(|part| process.datatypes.part_handle(part)).collect()
}

/// Writes a list of the contents of a datatype.
///
/// # Safety
/// The array has the given length.
unsafe fn put_list<T: Copy>(to: *mut T, greatest: impl CountArgument, values: &[T]) -> Outcome<()> {
    // Safety: as the caller says.
    let list = unsafe { array_mut(to, greatest)? };
    match list.get_mut(..values.len()) {
        Some(list) => {
            list.copy_from_slice(values);
            Ok(())
        }
        None => Err(Failure::new(
            class::ARG,
            "an array is too short for the contents of the datatype",
        )),
    }
}

/// The recipe of a datatype that the program has made.
fn recipe_of(process: &Process, handle: c_int) -> Outcome<Box<DatatypeRecipe>> {
    let recipe = process.datatypes.get(handle)?.recipe.clone();
    recipe.ok_or_else(|| Failure::new(class::TYPE, "a predefined datatype has no contents"))
}

/// The functions without large counts do not tell of those.
fn refuse_large(recipe: &DatatypeRecipe) -> Outcome<()> {
    match recipe.large_counts.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(
            class::TYPE,
            "the datatype was made with large counts",
        )),
    }
}

counted_functions! {
    fn MPI_Type_size(datatype: c_int, size: *mut Count) {
        put_count(size, Some(with_type(datatype, |own| own.size)? as u64))
    }

    fn MPI_Type_get_extent(datatype: c_int, lower: *mut Place, extent: *mut Place) {
        let own = with_type(datatype, |own| (own.lower_bound, own.extent))?;
        put_place(lower, own.0)?;
        put_place(extent, own.1)
    }

    fn MPI_Type_get_true_extent(datatype: c_int, lower: *mut Place, extent: *mut Place) {
        let own = with_type(datatype, Datatype::true_bounds)?;
        put_place(lower, own.0)?;
        put_place(extent, own.1)
    }
}

functions! {
    fn MPI_Type_get_extent_x(datatype: c_int, lower: *mut i64, extent: *mut i64) {
        let own = with_type(datatype, |own| (own.lower_bound, own.extent))?;
        put_place(lower, own.0)?;
        put_place(extent, own.1)
    }

    fn MPI_Type_get_true_extent_x(datatype: c_int, lower: *mut i64, extent: *mut i64) {
        let own = with_type(datatype, Datatype::true_bounds)?;
        put_place(lower, own.0)?;
        put_place(extent, own.1)
    }

    fn MPI_Type_size_x(datatype: c_int, size: *mut i64) {
        put_count(size, Some(with_type(datatype, |own| own.size)? as u64))
    }

    fn MPI_Type_get_envelope(
        datatype: c_int, integers: *mut c_int, addresses: *mut c_int, types: *mut c_int, combiner: *mut c_int,
    ) {
        let lengths = with_type(datatype, |own| match &own.recipe {
            None => Ok((0, 0, 0, NAMED)),
            Some(own) => {
                refuse_large(own)?;
                Ok((own.integers.len(), own.addresses.len(), own.types.len(), own.combiner))
            }
        })??;
        put(integers, lengths.0 as c_int)?;
        put(addresses, lengths.1 as c_int)?;
        put(types, lengths.2 as c_int)?;
        put(combiner, lengths.3)
    }

    fn MPI_Type_get_envelope_c(
        datatype: c_int, integers: *mut i64, addresses: *mut i64, large_counts: *mut i64, types: *mut i64,
        combiner: *mut c_int,
    ) {
        let lengths = with_type(datatype, |own| match &own.recipe {
            None => (0, 0, 0, 0, NAMED),
            Some(own) => {
                let counts = own.large_counts.len();
                (own.integers.len(), own.addresses.len(), counts, own.types.len(), own.combiner)
            }
        })?;
        put(integers, lengths.0 as i64)?;
        put(addresses, lengths.1 as i64)?;
        put(large_counts, lengths.2 as i64)?;
        put(types, lengths.3 as i64)?;
        put(combiner, lengths.4)
    }

    fn MPI_Type_get_contents(
        datatype: c_int, most_integers: c_int, most_addresses: c_int, most_types: c_int, integers: *mut c_int,
        addresses: *mut isize, types: *mut c_int,
    ) {
        let recipe = process::with(|p| recipe_of(p, datatype))?;
        refuse_large(&recipe)?;
        put_list(integers, most_integers, &recipe.integers)?;
        put_list(addresses, most_addresses, &recipe.addresses)?;
        let parts = process::with(|p| Ok(part_handles(p, &recipe)))?;
        put_list(types, most_types, &parts)
    }

    fn MPI_Type_get_contents_c(
        datatype: c_int, most_integers: i64, most_addresses: i64, most_counts: i64, most_types: i64,
        integers: *mut c_int, addresses: *mut isize, large_counts: *mut i64, types: *mut c_int,
    ) {
        let recipe = process::with(|p| recipe_of(p, datatype))?;
        put_list(integers, most_integers, &recipe.integers)?;
        put_list(addresses, most_addresses, &recipe.addresses)?;
        put_list(large_counts, most_counts, &recipe.large_counts)?;
        let parts = process::with(|p| Ok(part_handles(p, &recipe)))?;
        put_list(types, most_types, &parts)
    }

    fn MPI_Type_get_name(datatype: c_int, name: *mut c_char, length: *mut c_int) {
        let own = match datatype {
            abi::DATATYPE_NULL => Some("MPI_DATATYPE_NULL".into()),
            _ => process::with(|p| Ok(p.datatypes.entry(datatype)?.name.clone()))?,
        };
        put_text(&own.unwrap_or_default(), name, abi::MAX_OBJECT_NAME, length)
    }

    fn MPI_Type_set_name(datatype: c_int, name: *const c_char) {
        let name = text_of(name);
        process::with(|p| {
            p.datatypes.entry_mut(datatype)?.name = Some(name);
            Ok(())
        })
    }
}
