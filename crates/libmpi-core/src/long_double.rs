//! `long double` of C, as bytes: the 80-bit format of x87 in 16 bytes. Rust has no type for it.

#[cfg(target_arch = "x86_64")]
use operation::Reduction;

/// A number in 16 bytes, of which the last 6 mean nothing.
#[cfg(target_arch = "x86_64")]
type LongDouble = [u8; 16];

/// Defines an operation of two numbers by instructions that find the first one in `st(1)` and the second in `st(0)`,
/// and leave the result alone there.
macro_rules! x87 {
    ($name:ident: $($instruction:literal),*) => {
        #[cfg(target_arch = "x86_64")]
        fn $name(a: &LongDouble, b: &LongDouble) -> LongDouble {
            let mut result: LongDouble = [0; 16];
            // Safety: reads and writes 10 of the 16 bytes of each, and leaves the stack of the unit empty as it was.
            unsafe {
                std::arch::asm!(
                    "fld tbyte ptr [{a}]",
                    "fld tbyte ptr [{b}]",
                    $($instruction,)*
                    "fstp tbyte ptr [{result}]",
                    a = in(reg) a.as_ptr(),
                    b = in(reg) b.as_ptr(),
                    result = in(reg) result.as_mut_ptr(),
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
            result
        }
    };
}

x87!(sum: "faddp st(1), st(0)");
x87!(difference: "fsubp st(1), st(0)");
x87!(product: "fmulp st(1), st(0)");
x87!(greater: "fcomi st(0), st(1)", "fcmovb st(0), st(1)", "fstp st(1)");
x87!(lesser: "fcomi st(0), st(1)", "fcmovnbe st(0), st(1)", "fstp st(1)");

#[cfg(target_arch = "x86_64")]
fn number(bytes: &[u8]) -> LongDouble {
    let mut number = [0; 16];
    number[..10].copy_from_slice(&bytes[..10]);
    number
}

/// Combines numbers; `None` if the reduction does not take them, or the machine has another format.
#[cfg(target_arch = "x86_64")]
pub(crate) fn combine_reals(reduction: Reduction, later: &mut [u8], earlier: &[u8]) -> Option<()> {
    let operate = match reduction {
        Reduction::Sum => sum,
        Reduction::Prod => product,
        Reduction::Max => greater,
        Reduction::Min => lesser,
        _ => return None,
    };
    for (later, earlier) in later.chunks_exact_mut(16).zip(earlier.chunks_exact(16)) {
        let combined = operate(&number(earlier), &number(later));
        later.copy_from_slice(&combined);
    }
    Some(())
}

/// Combines complex numbers.
#[cfg(target_arch = "x86_64")]
pub(crate) fn combine_complex(reduction: Reduction, later: &mut [u8], earlier: &[u8]) -> Option<()> {
    for (later, earlier) in later.chunks_exact_mut(32).zip(earlier.chunks_exact(32)) {
        let (a, b) = (number(&earlier[..16]), number(&earlier[16..]));
        let (c, d) = (number(&later[..16]), number(&later[16..]));
        let (real, imaginary) = match reduction {
            Reduction::Sum => (sum(&a, &c), sum(&b, &d)),
            Reduction::Prod => (
                difference(&product(&a, &c), &product(&b, &d)),
                sum(&product(&a, &d), &product(&b, &c)),
            ),
            _ => return None,
        };
        later[..16].copy_from_slice(&real);
        later[16..].copy_from_slice(&imaginary);
    }
    Some(())
}

/// Combines numbers with an index: the extreme one, of equal ones that with the lower index.
#[cfg(target_arch = "x86_64")]
pub(crate) fn combine_located(reduction: Reduction, later: &mut [u8], earlier: &[u8]) -> Option<()> {
    let operate = match reduction {
        Reduction::Maxloc => greater,
        Reduction::Minloc => lesser,
        _ => return None,
    };
    let index = |pair: &[u8]| i32::from_ne_bytes(pair[16..20].try_into().unwrap_or_default());
    for (later, earlier) in later.chunks_exact_mut(20).zip(earlier.chunks_exact(20)) {
        let (a, b) = (number(&earlier[..16]), number(&later[..16]));
        let extreme = operate(&a, &b);
        let wins = match (extreme == a, extreme == b) {
            (true, true) => index(earlier) < index(later),
            (first, _) => first,
        };
        if wins {
            later.copy_from_slice(earlier);
        }
    }
    Some(())
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use elsewhere::{combine_complex, combine_located, combine_reals};

/// Other machines have other formats.
#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    use operation::Reduction;

    pub(crate) fn combine_reals(_: Reduction, _: &mut [u8], _: &[u8]) -> Option<()> {
        None
    }

    pub(crate) fn combine_complex(_: Reduction, _: &mut [u8], _: &[u8]) -> Option<()> {
        None
    }

    pub(crate) fn combine_located(_: Reduction, _: &mut [u8], _: &[u8]) -> Option<()> {
        None
    }
}
