//! How datatypes are made (MPI 4.1, section 5.1).

use std::ffi::c_int;
use std::rc::Rc;

use super::{CountArgument, array, count_of, counted_functions, functions, put, wide_array};
use crate::abi::{self, class};
use crate::attribute_calls::{self, AttributeOwner};
use crate::darray::{ArrayDistribution, distributed_array};
use crate::datatype::{Datatype, DatatypeRecipe};
use crate::failure::{Failure, Outcome};
use crate::process::{self, Process};

/// How datatypes are made (MPI 4.1, section 5.1.13).
mod combiner {
    use std::ffi::c_int;

    pub const DUP: c_int = 2;
    pub const CONTIGUOUS: c_int = 3;
    pub const VECTOR: c_int = 4;
    pub const HVECTOR: c_int = 6;
    pub const INDEXED: c_int = 7;
    pub const HINDEXED: c_int = 9;
    pub const INDEXED_BLOCK: c_int = 10;
    pub const STRUCT: c_int = 12;
    pub const SUBARRAY: c_int = 13;
    pub const DARRAY: c_int = 14;
    pub const F90_REAL: c_int = 15;
    pub const F90_COMPLEX: c_int = 16;
    pub const F90_INTEGER: c_int = 17;
    pub const RESIZED: c_int = 18;
    pub const HINDEXED_BLOCK: c_int = 19;
}

/// The recipe of a datatype, of lists of arguments in the order of the call.
macro_rules! recipe {
    ($combiner:ident: $($values:expr),*) => {{
        let mut recipe = DatatypeRecipe { combiner: combiner::$combiner, ..DatatypeRecipe::default() };
        $(CountArgument::record(&mut recipe, $values);)*
        recipe
    }};
}

/// Adds a datatype that is made of others.
fn add(
    process: &mut Process,
    mut made: Datatype,
    mut recipe: DatatypeRecipe,
    from: &[c_int],
) -> Outcome<c_int> {
    recipe.types = from
        .iter()
        .map(|from| process.datatypes.part(*from))
        .collect::<Outcome<_>>()?;
    made.recipe = Some(Box::new(recipe));
    Ok(process.datatypes.add(Rc::new(made)))
}

/// Adds a datatype that is made of another.
fn derive(
    from: c_int,
    recipe: DatatypeRecipe,
    make: impl FnOnce(&Datatype) -> Outcome<Datatype>,
) -> Outcome<c_int> {
    process::with(|p| {
        let made = make(p.datatypes.get(from)?)?;
        add(p, made, recipe, &[from])
    })
}

/// Blocks of one datatype at displacements in bytes.
fn blocks(from: &Datatype, blocks: impl Iterator<Item = (i64, i64)>) -> Outcome<Datatype> {
    let parts = blocks.map(|(count, displacement)| Ok((displacement as isize, count_of(count)?, from)));
    Ok(Datatype::of_parts(&parts.collect::<Outcome<Vec<_>>>()?))
}

/// Blocks that are equally far apart.
fn vector(from: &Datatype, count: i64, length: i64, stride: i64) -> Outcome<Datatype> {
    let count = count_of(count)? as i64;
    // Blocks without gaps between them are one.
    if stride == length * from.extent as i64 && length > 0 {
        return blocks(from, [(count * length, 0)].into_iter());
    }
    blocks(from, (0..count).map(|place| (length, place * stride)))
}

counted_functions! {
    fn MPI_Type_contiguous(count: Count, from: c_int, made: *mut c_int) {
        let recipe = recipe!(CONTIGUOUS: &[count]);
        put(made, derive(from, recipe, |from| blocks(from, [(count.wide(), 0)].into_iter()))?)
    }

    fn MPI_Type_vector(count: Count, length: Count, stride: Count, from: c_int, made: *mut c_int) {
        let recipe = recipe!(VECTOR: &[count, length, stride]);
        put(made, derive(from, recipe, |from| {
            vector(from, count.wide(), length.wide(), stride.wide() * from.extent as i64)
        })?)
    }

    fn MPI_Type_create_hvector(count: Count, length: Count, stride: Place, from: c_int, made: *mut c_int) {
        let recipe = recipe!(HVECTOR: &[count, length], &[stride]);
        put(made, derive(from, recipe, |from| vector(from, count.wide(), length.wide(), stride.wide()))?)
    }

    fn MPI_Type_indexed(count: Count, lengths: *const Count, places: *const Count, from: c_int, made: *mut c_int) {
        let (lengths, places) = (array(lengths, count)?, array(places, count)?);
        let recipe = recipe!(INDEXED: &[count], lengths, places);
        put(made, derive(from, recipe, |from| {
            let all = lengths.iter().zip(places);
            blocks(from, all.map(|(length, place)| (length.wide(), place.wide() * from.extent as i64)))
        })?)
    }

    fn MPI_Type_create_hindexed(
        count: Count, lengths: *const Count, places: *const Place, from: c_int, made: *mut c_int,
    ) {
        let (lengths, places) = (array(lengths, count)?, array(places, count)?);
        let recipe = recipe!(HINDEXED: &[count], lengths, places);
        put(made, derive(from, recipe, |from| {
            blocks(from, lengths.iter().zip(places).map(|(length, place)| (length.wide(), place.wide())))
        })?)
    }

    fn MPI_Type_create_indexed_block(
        count: Count, length: Count, places: *const Count, from: c_int, made: *mut c_int,
    ) {
        let places = array(places, count)?;
        let recipe = recipe!(INDEXED_BLOCK: &[count, length], places);
        put(made, derive(from, recipe, |from| {
            blocks(from, places.iter().map(|place| (length.wide(), place.wide() * from.extent as i64)))
        })?)
    }

    fn MPI_Type_create_hindexed_block(
        count: Count, length: Count, places: *const Place, from: c_int, made: *mut c_int,
    ) {
        let places = array(places, count)?;
        let recipe = recipe!(HINDEXED_BLOCK: &[count, length], places);
        put(made, derive(from, recipe, |from| {
            blocks(from, places.iter().map(|place| (length.wide(), place.wide())))
        })?)
    }

    fn MPI_Type_create_struct(
        count: Count, lengths: *const Count, places: *const Place, from: *const c_int, made: *mut c_int,
    ) {
        let (lengths, places, from) = (array(lengths, count)?, array(places, count)?, array(from, count)?);
        let recipe = recipe!(STRUCT: &[count], lengths, places);
        put(made, process::with(|p| {
            let parts = lengths.iter().zip(places).zip(from).map(|((length, place), from)| {
                Ok((place.wide() as isize, count_of(*length)?, &**p.datatypes.get(*from)?))
            });
            let parts = parts.collect::<Outcome<Vec<_>>>()?;
            // The extent is rounded up to the alignment of the strictest part, as of a structure of C, but not where
            // the program has said where it ends.
            let mut made = Datatype::of_parts(&parts);
            if !made.markers.upper {
                let alignment = parts.iter().map(|(_, _, from)| from.alignment()).max().unwrap_or(1);
                made.extent = (made.extent + alignment - 1) / alignment * alignment;
            }
            add(p, made, recipe, from)
        })?)
    }

    fn MPI_Type_create_resized(from: c_int, lower: Place, extent: Place, made: *mut c_int) {
        let recipe = recipe!(RESIZED: &[lower, extent]);
        put(made, derive(from, recipe, |from| Ok(from.resized(lower.wide() as isize, extent.wide() as isize)))?)
    }

    fn MPI_Type_create_subarray(
        dimensions: c_int, sizes: *const Count, parts: *const Count, starts: *const Count, order: c_int, from: c_int,
        made: *mut c_int,
    ) {
        let own = (array(sizes, dimensions)?, array(parts, dimensions)?, array(starts, dimensions)?);
        let recipe = recipe!(SUBARRAY: &[dimensions], own.0, own.1, own.2, &[order]);
        let length = count_of(dimensions)?;
        let all = (wide_array(sizes, length)?, wide_array(parts, length)?, wide_array(starts, length)?);
        let inside = (0..length).all(|index| {
            all.1[index] >= 1 && all.2[index] >= 0 && all.2[index] + all.1[index] <= all.0[index]
        });
        if !inside || length == 0 {
            return Err(Failure::new(class::ARG, "the part is not inside the array"));
        }
        let is_fortran = is_fortran(order)?;
        put(made, derive(from, recipe, |from| Ok(from.subarray((&all.0, &all.1, &all.2), is_fortran)))?)
    }

    fn MPI_Type_create_darray(
        size: c_int, rank: c_int, dimensions: c_int, lengths: *const Count, kinds: *const c_int,
        arguments: *const c_int, grid: *const c_int, order: c_int, from: c_int, made: *mut c_int,
    ) {
        let own = array(lengths, dimensions)?;
        let (kinds, arguments) = (array(kinds, dimensions)?, array(arguments, dimensions)?);
        let grid = array(grid, dimensions)?;
        let head = [size, rank, dimensions];
        let recipe = recipe!(DARRAY: &head, own, kinds, arguments, grid, &[order]);
        let lengths = wide_array(lengths, count_of(dimensions)?)?;
        let distribution = ArrayDistribution { size, rank, lengths: &lengths, kinds, arguments, grid };
        let is_fortran = is_fortran(order)?;
        put(made, derive(from, recipe, |from| distributed_array(from, &distribution, is_fortran))?)
    }
}

fn is_fortran(order: c_int) -> Outcome<bool> {
    match order {
        abi::ORDER_FORTRAN => Ok(true),
        abi::ORDER_C => Ok(false),
        _ => Err(Failure::new(
            class::ARG,
            format!("{order} as the order of an array"),
        )),
    }
}

/// A predefined type of Fortran for a precision, under a handle of its own.
fn fortran_type(recipe: DatatypeRecipe, like: Option<c_int>) -> Outcome<c_int> {
    let like = like.ok_or_else(|| Failure::new(class::ARG, "there is no type of this precision"))?;
    process::with(|p| {
        let (kind, arguments) = (recipe.combiner, recipe.integers.clone());
        let key = (kind, arguments);
        if let Some(known) = p.datatypes.fortran.get(&key) {
            return Ok(*known);
        }
        let from = p.datatypes.get(like)?;
        let mut made = Datatype::clone(from);
        made.recipe = Some(Box::new(recipe));
        let handle = p.datatypes.add(Rc::new(made));
        p.datatypes.entry_mut(handle)?.is_permanent = true;
        p.datatypes.fortran.insert(key, handle);
        Ok(handle)
    })
}

/// Single, double or no precision.
fn real_class(digits: c_int, range: c_int) -> Option<usize> {
    let fits = |most_digits, most_range| {
        (digits == abi::UNDEFINED || digits <= most_digits)
            && (range == abi::UNDEFINED || range <= most_range)
    };
    [(6, 37), (15, 307), (33, 4931)]
        .into_iter()
        .position(|(digits, range)| fits(digits, range))
}

const REALS: [c_int; 3] = [0x4c00_0427, 0x4c00_0829, 0x4c00_102b];
const COMPLEXES: [c_int; 3] = [0x4c00_0828, 0x4c00_102a, 0x4c00_202c];
/// Of half precision, which no number of digits chooses.
const REAL2: c_int = 0x4c00_0226;
const COMPLEX4: c_int = 0x4c00_042e;
const INTEGERS: [(c_int, c_int); 5] = [
    (2, 0x4c00_012d),
    (4, 0x4c00_022f),
    (9, 0x4c00_0430),
    (18, 0x4c00_0831),
    (38, 0x4c00_1032),
];
/// A type and what it makes a pair with an `int`.
const PAIRS: [(c_int, u32); 6] = [
    (0x4c00_040a, 0x8c00_0000),
    (0x4c00_080b, 0x8c00_0001),
    (0x4c00_0807, 0x8c00_0002),
    (0x4c00_0203, 0x8c00_0003),
    (0x4c00_0405, 0x4c00_0816),
    (0x4c00_100c, 0x8c00_0004),
];
const INT: c_int = 0x4c00_0405;

/// The types of logical values of 1, 2, 4, 8 and 16 bytes, and their kind, which libraries add to the standard.
const LOGICALS: [c_int; 5] = [0x4c00_0147, 0x4c00_0248, 0x4c00_0449, 0x4c00_084a, 0x4c00_104b];
const TYPECLASS_LOGICAL: c_int = 4;

functions! {
    fn MPI_Type_dup(from: c_int, made: *mut c_int) {
        let recipe = recipe!(DUP: &[0; 0] as &[c_int]);
        let handle = derive(from, recipe, |from| Ok(from.clone()))?;
        let (old, new) = (AttributeOwner::Datatype(from), AttributeOwner::Datatype(handle));
        if let Err(failure) = attribute_calls::copy_attributes(old, new) {
            put(made, abi::DATATYPE_NULL)?;
            return Err(failure);
        }
        put(made, handle)
    }

    fn MPI_Type_commit(datatype: *mut c_int) {
        process::with(|p| p.datatypes.get(*datatype).map(|_| ()))
    }

    fn MPI_Type_free(datatype: *mut c_int) {
        let handle = *datatype;
        if process::with(|p| Ok(!p.datatypes.entry(handle)?.attributes.is_empty()))? {
            attribute_calls::delete_attributes(AttributeOwner::Datatype(handle))?;
        }
        process::with(|p| {
            let is_used = !p.starters.is_empty();
            p.datatypes.remove(handle, is_used)
        })?;
        put(datatype, abi::DATATYPE_NULL)
    }

    fn MPI_Type_create_f90_real(digits: c_int, range: c_int, made: *mut c_int) {
        let found = real_class(digits, range).map(|class| REALS[class]);
        put(made, fortran_type(recipe!(F90_REAL: &[digits, range]), found)?)
    }

    fn MPI_Type_create_f90_complex(digits: c_int, range: c_int, made: *mut c_int) {
        let found = real_class(digits, range).map(|class| COMPLEXES[class]);
        put(made, fortran_type(recipe!(F90_COMPLEX: &[digits, range]), found)?)
    }

    fn MPI_Type_create_f90_integer(range: c_int, made: *mut c_int) {
        let found = INTEGERS.into_iter().find(|(most, _)| range <= *most).map(|(_, handle)| handle);
        put(made, fortran_type(recipe!(F90_INTEGER: &[range]), found)?)
    }

    fn MPI_Type_match_size(kind: c_int, size: c_int, datatype: *mut c_int) {
        let position = |sizes: &[c_int]| sizes.iter().position(|own| *own == size);
        let found = match kind {
            1 if size == 2 => Some(REAL2),
            1 => position(&[4, 8, 16]).map(|class| REALS[class]),
            2 => position(&[1, 2, 4, 8, 16]).map(|class| INTEGERS[class].1),
            3 if size == 4 => Some(COMPLEX4),
            3 => position(&[8, 16, 32]).map(|class| COMPLEXES[class]),
            TYPECLASS_LOGICAL => position(&[1, 2, 4, 8, 16]).map(|class| LOGICALS[class]),
            _ => return Err(Failure::new(class::ARG, format!("{kind} as the kind of a type"))),
        };
        let found = found.ok_or_else(|| Failure::new(class::ARG, format!("there is no type of {size} bytes")))?;
        put(datatype, found)
    }

    fn MPI_Type_get_value_index(value: c_int, index: c_int, pair: *mut c_int) {
        process::with(|p| p.datatypes.get(value).and(p.datatypes.get(index)).map(|_| ()))?;
        let found = PAIRS.iter().find(|(own, _)| *own == value && index == INT);
        put(pair, found.map_or(abi::DATATYPE_NULL, |(_, pair)| *pair as c_int))
    }
}
