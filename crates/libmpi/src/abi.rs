//! Handles, constants and the status of the MPICH ABI (`mpi.h` of MPICH 3.1 and later, MPICH ABI Compatibility
//! Initiative). Handles are integers: bits 30 and 31 tell predefined from dynamic ones, bits 26 to 29 the kind.

use std::ffi::{c_int, c_void};

pub(crate) const COMM_NULL: c_int = 0x0400_0000;
pub(crate) const COMM_WORLD: c_int = 0x4400_0000;
pub(crate) const COMM_SELF: c_int = 0x4400_0001;
/// Dynamic communicators: this and an index.
pub(crate) const COMM: c_int = 0x8400_0000_u32 as c_int;
pub(crate) const GROUP_NULL: c_int = 0x0800_0000;
pub(crate) const GROUP_EMPTY: c_int = 0x4800_0000;
pub(crate) const GROUP: c_int = 0x8800_0000_u32 as c_int;
pub(crate) const DATATYPE_NULL: c_int = 0x0c00_0000;
pub(crate) const DATATYPE: c_int = 0x8c00_0100_u32 as c_int;
pub(crate) const OP_NULL: c_int = 0x1800_0000;
/// Predefined operations: this and a number from 1.
pub(crate) const OP_PREDEFINED: c_int = 0x5800_0000;
pub(crate) const OP: c_int = 0x9800_0000_u32 as c_int;
pub(crate) const ERRHANDLER_NULL: c_int = 0x1400_0000;
pub(crate) const ERRORS_ARE_FATAL: c_int = 0x5400_0000;
pub(crate) const ERRORS_RETURN: c_int = 0x5400_0001;
pub(crate) const ERRORS_ABORT: c_int = 0x5400_0003;
pub(crate) const ERRHANDLER: c_int = 0x9400_0000_u32 as c_int;
pub(crate) const REQUEST_NULL: c_int = 0x2c00_0000;
pub(crate) const REQUEST: c_int = 0xac00_0000_u32 as c_int;
pub(crate) const MESSAGE_NULL: c_int = 0x2c00_0000;
pub(crate) const MESSAGE_NO_PROC: c_int = 0x6c00_0000;
pub(crate) const MESSAGE: c_int = 0xac00_0000_u32 as c_int;
pub(crate) const KEYVAL_INVALID: c_int = 0x2400_0000;
pub(crate) const KEYVAL: c_int = 0xa400_0000_u32 as c_int;
pub(crate) const INDEX_BITS: c_int = 0x03ff_ffff;

pub(crate) const PROC_NULL: c_int = -1;
pub(crate) const ANY_SOURCE: c_int = -2;
pub(crate) const ANY_TAG: c_int = -1;
pub(crate) const UNDEFINED: c_int = -32_766;
pub(crate) const IDENT: c_int = 0;
pub(crate) const CONGRUENT: c_int = 1;
pub(crate) const SIMILAR: c_int = 2;
pub(crate) const UNEQUAL: c_int = 3;
pub(crate) const THREAD_SERIALIZED: c_int = 2;
pub(crate) const ORDER_FORTRAN: c_int = 57;
pub(crate) const COMM_TYPE_SHARED: c_int = 1;
pub(crate) const TAG_UB: c_int = 0x6440_0001;
pub(crate) const HOST: c_int = 0x6440_0003;
pub(crate) const IO: c_int = 0x6440_0005;
pub(crate) const WTIME_IS_GLOBAL: c_int = 0x6440_0007;
pub(crate) const UNIVERSE_SIZE: c_int = 0x6440_0009;
pub(crate) const LASTUSEDCODE: c_int = 0x6440_000b;
pub(crate) const APPNUM: c_int = 0x6440_000d;
/// The greatest tag.
pub(crate) const GREATEST_TAG: c_int = 0x1fff_ffff;
pub(crate) const MAX_ERROR_STRING: usize = 512;
pub(crate) const MAX_PROCESSOR_NAME: usize = 128;
pub(crate) const MAX_OBJECT_NAME: usize = 128;

/// `MPI_IN_PLACE`.
pub(crate) fn is_in_place(buffer: *const c_void) -> bool {
    buffer as isize == -1
}

/// Error classes.
pub(crate) mod class {
    use std::ffi::c_int;

    pub const SUCCESS: c_int = 0;
    pub const BUFFER: c_int = 1;
    pub const COUNT: c_int = 2;
    pub const TYPE: c_int = 3;
    pub const TAG: c_int = 4;
    pub const COMM: c_int = 5;
    pub const RANK: c_int = 6;
    pub const ROOT: c_int = 7;
    pub const GROUP: c_int = 8;
    pub const OP: c_int = 9;
    pub const ARG: c_int = 12;
    pub const TRUNCATE: c_int = 14;
    pub const OTHER: c_int = 15;
    pub const INTERN: c_int = 16;
    pub const IN_STATUS: c_int = 17;
    pub const REQUEST: c_int = 19;
    pub const NO_MEM: c_int = 34;
    pub const UNSUPPORTED_OPERATION: c_int = 44;
    pub const KEYVAL: c_int = 48;
    pub const ERRHANDLER: c_int = 80;

    /// What a class means, in one line.
    pub fn text(class: c_int) -> &'static str {
        match class {
            SUCCESS => "no error",
            BUFFER => "invalid buffer pointer",
            COUNT => "invalid count",
            TYPE => "invalid datatype",
            TAG => "invalid tag",
            COMM => "invalid communicator",
            RANK => "invalid rank",
            ROOT => "invalid root",
            GROUP => "invalid group",
            OP => "invalid reduction operation",
            ARG => "invalid argument",
            TRUNCATE => "message truncated",
            OTHER => "other error",
            INTERN => "internal error",
            IN_STATUS => "see the errors in the statuses",
            REQUEST => "invalid request",
            NO_MEM => "no memory",
            UNSUPPORTED_OPERATION => "unsupported operation",
            KEYVAL => "invalid attribute key",
            ERRHANDLER => "invalid error handler",
            _ => "unknown error",
        }
    }
}

/// `MPI_Status`, 20 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct MpiStatus {
    count_low: u32,
    /// Bit 0: cancelled; above: bits 32 and up of the count.
    count_high: u32,
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
}

impl MpiStatus {
    /// Of an operation that has received these bytes.
    pub fn new(source: c_int, tag: c_int, bytes: u64) -> MpiStatus {
        MpiStatus {
            count_low: bytes as u32,
            count_high: ((bytes >> 32) as u32) << 1,
            source,
            tag,
            error: 0,
        }
    }

    /// Of a null request.
    pub fn empty() -> MpiStatus {
        MpiStatus::new(ANY_SOURCE, ANY_TAG, 0)
    }

    /// Of `MPI_PROC_NULL`.
    pub fn of_proc_null() -> MpiStatus {
        MpiStatus::new(PROC_NULL, ANY_TAG, 0)
    }

    /// Bytes received.
    pub fn bytes(&self) -> u64 {
        u64::from(self.count_low) | u64::from(self.count_high >> 1) << 32
    }

    pub fn is_cancelled(&self) -> bool {
        self.count_high & 1 != 0
    }

    pub fn set_cancelled(&mut self, cancelled: bool) {
        self.count_high = self.count_high & !1 | u32::from(cancelled);
    }

    /// Writes it where the caller wants it, which may be nowhere. `MPI_ERROR` keeps its old value, as MPI says of
    /// calls with one status.
    ///
    /// # Safety
    /// The pointer is a status, `MPI_STATUS_IGNORE` or null.
    pub unsafe fn write(&self, to: *mut MpiStatus) {
        if to as usize > 1 {
            // Safety: a status, as the caller says.
            unsafe {
                let error = (*to).error;
                *to = MpiStatus { error, ..*self };
            }
        }
    }
}
