//! Reductions of the data of collectives (MPI 4.1, section 6.9). They combine the contributions in the order of ranks,
//! whatever algorithm the simulator gives the collective its time by, so that a result depends on nothing else.

use std::ffi::{c_int, c_void};

use operation::Reduction;

use crate::abi::{self, class};
use crate::callbacks::ReductionFunction;
use crate::datatype::{Basic, Datatype};
use crate::failure::{Failure, Outcome};
use crate::long_double;

/// A reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Combining {
    Predefined(Reduction),
    /// The second one stays.
    Replace,
    /// The first one stays.
    Nothing,
    Made(ReductionFunction),
}

/// All reductions that the program has made.
#[derive(Debug, Default)]
pub(crate) struct ReductionTable(Vec<Option<(ReductionFunction, bool)>>);

impl ReductionTable {
    /// The reduction of a handle.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, handle: c_int) -> Outcome<Combining> {
        match handle.wrapping_sub(abi::OP_PREDEFINED) {
            13 => return Ok(Combining::Replace),
            14 => return Ok(Combining::Nothing),
            number => {
                if let Some(reduction) = Reduction::numbered(number.into()) {
                    return Ok(Combining::Predefined(reduction));
                }
            }
        }
        let made = self.made_index(handle).and_then(|index| self.0[index]);
        match made {
            Some((function, _)) => Ok(Combining::Made(function)),
            None if handle == abi::OP_NULL => Err(Failure::new(class::OP, "MPI_OP_NULL")),
            None => Err(Failure::new(
                class::OP,
                format!("there is no operation {handle:#x}"),
            )),
        }
    }

    fn made_index(&self, handle: c_int) -> Option<usize> {
        let index = (handle & abi::INDEX_BITS) as usize;
        (handle & !abi::INDEX_BITS == abi::OP && index < self.0.len()).then_some(index)
    }

    /// A new reduction.
    pub fn add(&mut self, function: ReductionFunction, commutes: bool) -> c_int {
        self.0.push(Some((function, commutes)));
        abi::OP | (self.0.len() - 1) as c_int
    }

    /// Whether the order of its operands has no effect.
    ///
    /// # Errors
    /// There is none.
    pub fn commutes(&self, handle: c_int) -> Outcome<bool> {
        self.get(handle)?;
        let made = self.made_index(handle).and_then(|index| self.0[index]);
        Ok(made.is_none_or(|(_, commutes)| commutes))
    }

    /// Frees a reduction that the program has made.
    ///
    /// # Errors
    /// It is none of those.
    pub fn remove(&mut self, handle: c_int) -> Outcome<()> {
        self.get(handle)?;
        match self.made_index(handle) {
            Some(index) => self.0[index] = None,
            None => return Err(Failure::new(class::OP, "a predefined operation cannot be freed")),
        }
        Ok(())
    }
}

impl Combining {
    /// What the simulator compares the ranks by; `None` if it knows no name for it.
    pub fn named(self) -> Option<Reduction> {
        match self {
            Combining::Predefined(reduction) => Some(reduction),
            _ => None,
        }
    }

    /// Whether it takes elements of a type.
    ///
    /// # Errors
    /// It does not.
    pub fn check(self, datatype: &Datatype) -> Outcome<()> {
        let Combining::Predefined(reduction) = self else {
            return Ok(());
        };
        let taken = datatype.size == 0
            || datatype
                .basic()
                .is_some_and(|basic| combine(reduction, basic, &mut [], &[]).is_some());
        match taken {
            true => Ok(()),
            false => Err(Failure::new(
                class::OP,
                format!("{} does not take elements of this datatype", reduction.name()),
            )),
        }
    }

    /// Combines two lists of packed elements: `earlier` with `later`, into `later`. Calls functions of the program.
    ///
    /// # Errors
    /// It does not take such elements.
    pub fn apply(
        self,
        (handle, datatype): (c_int, &Datatype),
        earlier: &[u8],
        later: &mut [u8],
    ) -> Outcome<()> {
        match self {
            Combining::Predefined(reduction) => {
                let basic = datatype.basic().unwrap_or(Basic::Opaque);
                let combined = combine(reduction, basic, later, earlier);
                combined.ok_or_else(|| Failure::new(class::OP, "does not take elements of this datatype"))
            }
            Combining::Replace => Ok(()),
            Combining::Nothing => {
                later.copy_from_slice(earlier);
                Ok(())
            }
            Combining::Made(function) => {
                call(function, (handle, datatype), earlier, later);
                Ok(())
            }
        }
    }
}

/// Calls a function of the program on elements with the gaps of their datatype.
fn call(
    function: ReductionFunction,
    (handle, datatype): (c_int, &Datatype),
    earlier: &[u8],
    later: &mut [u8],
) {
    let count = later.len().checked_div(datatype.size).unwrap_or(0);
    let (lower, length) = datatype.true_bounds();
    let span = datatype.extent.unsigned_abs() * count.saturating_sub(1) + length as usize;
    // Aligned as the program's own data.
    let buffer = || vec![0_u128; span.div_ceil(16) + 1];
    let (mut first, mut second) = (buffer(), buffer());
    let start = |buffer: &mut Vec<u128>| buffer.as_mut_ptr().cast::<c_void>().wrapping_byte_offset(-lower);
    let (from, to) = (start(&mut first), start(&mut second));
    // Safety: the buffers have space for the elements, and the program has given the function for this.
    unsafe {
        datatype.unpack(earlier, from);
        datatype.unpack(later, to);
        (function.call)(function.function, from, to, count as i64, handle);
        later.copy_from_slice(&datatype.pack(to, count));
    }
}

macro_rules! numbers {
    ($type:ty, $later:expr, $earlier:expr, |$a:ident, $b:ident| $combined:expr) => {{
        const BYTES: usize = size_of::<$type>();
        for (later, earlier) in $later.chunks_exact_mut(BYTES).zip($earlier.chunks_exact(BYTES)) {
            let $a = <$type>::from_ne_bytes(earlier.try_into().expect("a chunk"));
            let $b = <$type>::from_ne_bytes((&*later).try_into().expect("a chunk"));
            let combined: $type = $combined;
            later.copy_from_slice(&combined.to_ne_bytes());
        }
        Some(())
    }};
}

macro_rules! integers {
    ($type:ty, $reduction:expr, $later:expr, $earlier:expr) => {
        match $reduction {
            Reduction::Max => numbers!($type, $later, $earlier, |a, b| a.max(b)),
            Reduction::Min => numbers!($type, $later, $earlier, |a, b| a.min(b)),
            Reduction::Sum => numbers!($type, $later, $earlier, |a, b| a.wrapping_add(b)),
            Reduction::Prod => numbers!($type, $later, $earlier, |a, b| a.wrapping_mul(b)),
            Reduction::Band => numbers!($type, $later, $earlier, |a, b| a & b),
            Reduction::Bor => numbers!($type, $later, $earlier, |a, b| a | b),
            Reduction::Bxor => numbers!($type, $later, $earlier, |a, b| a ^ b),
            _ => logicals!($type, $reduction, $later, $earlier),
        }
    };
}

macro_rules! logicals {
    ($type:ty, $reduction:expr, $later:expr, $earlier:expr) => {
        match $reduction {
            Reduction::Land => numbers!($type, $later, $earlier, |a, b| (a != 0 && b != 0).into()),
            Reduction::Lor => numbers!($type, $later, $earlier, |a, b| (a != 0 || b != 0).into()),
            Reduction::Lxor => numbers!($type, $later, $earlier, |a, b| ((a != 0) != (b != 0)).into()),
            _ => None,
        }
    };
}

macro_rules! floats {
    ($type:ty, $reduction:expr, $later:expr, $earlier:expr) => {
        match $reduction {
            Reduction::Max => numbers!($type, $later, $earlier, |a, b| if a > b { a } else { b }),
            Reduction::Min => numbers!($type, $later, $earlier, |a, b| if a < b { a } else { b }),
            Reduction::Sum => numbers!($type, $later, $earlier, |a, b| a + b),
            Reduction::Prod => numbers!($type, $later, $earlier, |a, b| a * b),
            _ => None,
        }
    };
}

macro_rules! complex {
    ($type:ty, $reduction:expr, $later:expr, $earlier:expr) => {{
        const PART: usize = size_of::<$type>();
        let is_product = match $reduction {
            Reduction::Sum => false,
            Reduction::Prod => true,
            _ => return None,
        };
        let part = |bytes: &[u8]| <$type>::from_ne_bytes(bytes.try_into().expect("a chunk"));
        for (later, earlier) in $later
            .chunks_exact_mut(2 * PART)
            .zip($earlier.chunks_exact(2 * PART))
        {
            let (a, b) = (part(&earlier[..PART]), part(&earlier[PART..]));
            let (c, d) = (part(&later[..PART]), part(&later[PART..]));
            let (real, imaginary) = match is_product {
                false => (a + c, b + d),
                true => (a * c - b * d, a * d + b * c),
            };
            later[..PART].copy_from_slice(&real.to_ne_bytes());
            later[PART..].copy_from_slice(&imaginary.to_ne_bytes());
        }
        Some(())
    }};
}

/// A value and an index: the extreme value, of equal ones the lower index (MPI 4.1, section 6.9.4).
macro_rules! located {
    ($value:ty, $index:ty, $reduction:expr, $later:expr, $earlier:expr) => {{
        const VALUE: usize = size_of::<$value>();
        const BYTES: usize = VALUE + size_of::<$index>();
        let is_max = match $reduction {
            Reduction::Maxloc => true,
            Reduction::Minloc => false,
            _ => return None,
        };
        for (later, earlier) in $later.chunks_exact_mut(BYTES).zip($earlier.chunks_exact(BYTES)) {
            let value = |bytes: &[u8]| <$value>::from_ne_bytes(bytes[..VALUE].try_into().expect("a chunk"));
            let index = |bytes: &[u8]| <$index>::from_ne_bytes(bytes[VALUE..].try_into().expect("a chunk"));
            let (a, b) = (value(earlier), value(later));
            let wins = match is_max {
                true => a > b,
                false => a < b,
            };
            if wins || a == b && index(earlier) < index(later) {
                later.copy_from_slice(earlier);
            }
        }
        Some(())
    }};
}

/// Combines packed elements of a basic type; `None` if the reduction does not take it (MPI 4.1, section 6.9.2).
fn combine(reduction: Reduction, basic: Basic, later: &mut [u8], earlier: &[u8]) -> Option<()> {
    match basic {
        Basic::Byte => match reduction {
            Reduction::Band | Reduction::Bor | Reduction::Bxor => integers!(u8, reduction, later, earlier),
            _ => None,
        },
        Basic::I8 => integers!(i8, reduction, later, earlier),
        Basic::U8 => integers!(u8, reduction, later, earlier),
        Basic::I16 => integers!(i16, reduction, later, earlier),
        Basic::U16 => integers!(u16, reduction, later, earlier),
        Basic::I32 => integers!(i32, reduction, later, earlier),
        Basic::U32 => integers!(u32, reduction, later, earlier),
        Basic::I64 => integers!(i64, reduction, later, earlier),
        Basic::U64 => integers!(u64, reduction, later, earlier),
        Basic::F32 => floats!(f32, reduction, later, earlier),
        Basic::F64 => floats!(f64, reduction, later, earlier),
        Basic::C32 => complex!(f32, reduction, later, earlier),
        Basic::C64 => complex!(f64, reduction, later, earlier),
        Basic::Logical8 => logicals!(u8, reduction, later, earlier),
        Basic::Logical16 => logicals!(u16, reduction, later, earlier),
        Basic::Logical32 => logicals!(u32, reduction, later, earlier),
        Basic::Logical64 => logicals!(u64, reduction, later, earlier),
        Basic::PairI32 => located!(i32, i32, reduction, later, earlier),
        Basic::PairF32 => located!(f32, f32, reduction, later, earlier),
        Basic::PairF64 => located!(f64, f64, reduction, later, earlier),
        Basic::I16Index => located!(i16, i32, reduction, later, earlier),
        Basic::I64Index => located!(i64, i32, reduction, later, earlier),
        Basic::F32Index => located!(f32, i32, reduction, later, earlier),
        Basic::F64Index => located!(f64, i32, reduction, later, earlier),
        Basic::Long => long_double::combine_reals(reduction, later, earlier),
        Basic::LongComplex => long_double::combine_complex(reduction, later, earlier),
        Basic::LongIndex => long_double::combine_located(reduction, later, earlier),
        Basic::Opaque | Basic::LowerMarker | Basic::UpperMarker => None,
    }
}
