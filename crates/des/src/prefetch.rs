//! Prefetching of memory.

/// Size of a cache line in bytes. A wrong size only wastes a hint.
const LINE: usize = 64;

/// Prefetches all lines of a value. Only a hint; does nothing on processors without one.
#[inline(always)]
pub fn prefetch<T: ?Sized>(value: &T) {
    let (first, bytes) = (std::ptr::from_ref(value).cast::<i8>(), size_of_val(value));
    if bytes == 0 {
        return;
    }
    // A value with less alignment than a line may begin inside one.
    let before = first.addr() % LINE;
    for offset in (0..before + bytes).step_by(LINE) {
        hint(first.wrapping_sub(before).wrapping_add(offset));
    }
}

/// Prefetches the first lines of a value that begins with a line.
#[inline(always)]
pub(crate) fn prefetch_front<T>(value: &T, lines: usize) {
    let first = std::ptr::from_ref(value).cast::<i8>();
    for offset in (0..size_of::<T>().min(lines * LINE)).step_by(LINE) {
        hint(first.wrapping_add(offset));
    }
}

/// Prefetches the start of an element of a list, whether it exists or not.
#[inline(always)]
pub fn prefetch_begin<T>(list: &[T], index: usize) {
    hint(list.as_ptr().wrapping_add(index).cast::<i8>());
}

/// Prefetches the memory of the next element of a list, if its capacity suffices.
#[inline(always)]
pub(crate) fn prefetch_end<T>(list: &[T]) {
    let end = list.as_ptr().wrapping_add(list.len()).cast::<i8>();
    hint(end.wrapping_add(size_of::<T>().saturating_sub(1)));
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
fn hint(address: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: SSE is part of x86-64, and a prefetch of any address, mapped or not, has no effect but on
    // the cache.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn hint(_: *const i8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_value_can_be_asked_for() {
        prefetch(&());
        prefetch(&[0u8; 1000]);
        prefetch::<[u64]>(&[]);
        hint(std::ptr::null());
    }
}
