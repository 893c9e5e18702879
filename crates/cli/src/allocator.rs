//! The allocator of the command.

#![allow(unsafe_code)] // an allocator is unsafe to implement; this one only looks at what another one returns

use std::alloc::{GlobalAlloc, Layout};
use std::io::Write;

use mimalloc::MiMalloc;

/// Ends the process with one message where memory is exhausted, in place of an abort with a backtrace.
pub(crate) struct RefusingAllocator;

// Safety: all is passed on; what fails does not return.
unsafe impl GlobalAlloc for RefusingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Safety: as the caller promises.
        not_null(unsafe { MiMalloc.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // Safety: as the caller promises.
        not_null(unsafe { MiMalloc.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Safety: as the caller promises.
        not_null(unsafe { MiMalloc.realloc(old, layout, size) }, size)
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // Safety: as the caller promises.
        unsafe { MiMalloc.dealloc(old, layout) }
    }
}

#[inline]
fn not_null(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() {
        exhausted(size);
    }
    memory
}

/// Writing to stderr takes no memory, nor does the end of the process.
#[cold]
fn exhausted(size: usize) -> ! {
    let _ = writeln!(
        std::io::stderr(),
        "fabricsim: out of memory: {size} bytes more are refused by the system; `fabricsim check` says how much an \
         idle network needs; expected a smaller network, less that is collected, or several processes"
    );
    std::process::exit(1)
}
