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
pub(crate) const INFO_NULL: c_int = 0x1c00_0000;
pub(crate) const INFO_ENV: c_int = 0x5c00_0001;
pub(crate) const INFO: c_int = 0x9c00_0000_u32 as c_int;
pub(crate) const SESSION_NULL: c_int = 0x3800_0000;
pub(crate) const SESSION: c_int = 0xb800_0000_u32 as c_int;
pub(crate) const WIN_NULL: c_int = 0x2000_0000;
pub(crate) const WIN: c_int = 0xa000_0000_u32 as c_int;
pub(crate) const FILE_NULL: c_int = 0;
/// Files: this and an index. The program has them as pointers.
pub(crate) const FILE: c_int = 0x9000_0000_u32 as c_int;
pub(crate) const OP_NO_OP: c_int = 0x5800_000e;
pub(crate) const KEYVAL_INVALID: c_int = 0x2400_0000;
pub(crate) const KEYVAL: c_int = 0xa400_0000_u32 as c_int;
pub(crate) const INDEX_BITS: c_int = 0x03ff_ffff;

pub(crate) const PROC_NULL: c_int = -1;
/// The root of a collective on an intercommunicator says this for itself.
pub(crate) const ROOT: c_int = -3;
pub(crate) const GRAPH: c_int = 1;
pub(crate) const CART: c_int = 2;
pub(crate) const DIST_GRAPH: c_int = 3;
pub(crate) const ANY_SOURCE: c_int = -2;
pub(crate) const ANY_TAG: c_int = -1;
pub(crate) const UNDEFINED: c_int = -32_766;
pub(crate) const IDENT: c_int = 0;
pub(crate) const CONGRUENT: c_int = 1;
pub(crate) const SIMILAR: c_int = 2;
pub(crate) const UNEQUAL: c_int = 3;
pub(crate) const THREAD_SERIALIZED: c_int = 2;
pub(crate) const ORDER_FORTRAN: c_int = 57;
pub(crate) const ORDER_C: c_int = 56;
pub(crate) const COMM_TYPE_SHARED: c_int = 1;
pub(crate) const COMM_TYPE_HW_GUIDED: c_int = 2;
pub(crate) const COMM_TYPE_RESOURCE_GUIDED: c_int = 4;
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
pub(crate) const MAX_DATAREP_STRING: usize = 128;
pub(crate) const MAX_INFO_KEY: usize = 255;
pub(crate) const MAX_INFO_VALUE: usize = 1024;

/// `MPI_IN_PLACE`.
pub(crate) fn is_in_place(buffer: *const c_void) -> bool {
    buffer as isize == -1
}

/// How the program has a file, of which the library has a handle like all others.
pub type FilePointer = *mut c_void;

/// What the program has for a file.
pub fn file_pointer(handle: c_int) -> FilePointer {
    handle as u32 as usize as FilePointer
}

/// The handle of a file of the program; one of no file if it is none.
pub fn file_handle(file: FilePointer) -> c_int {
    match u32::try_from(file as usize) {
        Ok(handle) if is_file(handle as c_int) => handle as c_int,
        _ => FILE | INDEX_BITS,
    }
}

/// Whether a handle is of a file, or `MPI_FILE_NULL`.
pub fn is_file(handle: c_int) -> bool {
    handle == FILE_NULL || handle & !INDEX_BITS == FILE
}

/// Error classes.
#[allow(dead_code, reason = "the classes of the ABI are a list")]
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
    pub const TOPOLOGY: c_int = 10;
    pub const DIMS: c_int = 11;
    pub const ARG: c_int = 12;
    pub const UNKNOWN: c_int = 13;
    pub const TRUNCATE: c_int = 14;
    pub const OTHER: c_int = 15;
    pub const INTERN: c_int = 16;
    pub const IN_STATUS: c_int = 17;
    pub const PENDING: c_int = 18;
    pub const REQUEST: c_int = 19;
    pub const ACCESS: c_int = 20;
    pub const AMODE: c_int = 21;
    pub const BAD_FILE: c_int = 22;
    pub const CONVERSION: c_int = 23;
    pub const DUP_DATAREP: c_int = 24;
    pub const FILE_EXISTS: c_int = 25;
    pub const FILE_IN_USE: c_int = 26;
    pub const FILE: c_int = 27;
    pub const INFO: c_int = 28;
    pub const INFO_KEY: c_int = 29;
    pub const INFO_VALUE: c_int = 30;
    pub const INFO_NOKEY: c_int = 31;
    pub const IO: c_int = 32;
    pub const NAME: c_int = 33;
    pub const NO_MEM: c_int = 34;
    pub const NOT_SAME: c_int = 35;
    pub const NO_SPACE: c_int = 36;
    pub const NO_SUCH_FILE: c_int = 37;
    pub const PORT: c_int = 38;
    pub const QUOTA: c_int = 39;
    pub const READ_ONLY: c_int = 40;
    pub const SERVICE: c_int = 41;
    pub const SPAWN: c_int = 42;
    pub const UNSUPPORTED_DATAREP: c_int = 43;
    pub const UNSUPPORTED_OPERATION: c_int = 44;
    pub const WIN: c_int = 45;
    pub const BASE: c_int = 46;
    pub const LOCKTYPE: c_int = 47;
    pub const KEYVAL: c_int = 48;
    pub const RMA_CONFLICT: c_int = 49;
    pub const RMA_SYNC: c_int = 50;
    pub const SIZE: c_int = 51;
    pub const DISP: c_int = 52;
    pub const ASSERT: c_int = 53;
    pub const RMA_RANGE: c_int = 55;
    pub const RMA_ATTACH: c_int = 56;
    pub const RMA_SHARED: c_int = 57;
    pub const RMA_FLAVOR: c_int = 58;
    pub const SESSION: c_int = 75;
    pub const PROC_ABORTED: c_int = 76;
    pub const VALUE_TOO_LARGE: c_int = 77;
    pub const ERRHANDLER: c_int = 80;
    pub const ABI: c_int = 81;

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
            TOPOLOGY => "invalid topology",
            DIMS => "invalid dimension",
            ARG => "invalid argument",
            TRUNCATE => "message truncated",
            OTHER => "other error",
            INTERN => "internal error",
            IN_STATUS => "see the errors in the statuses",
            PENDING => "pending request",
            REQUEST => "invalid request",
            ACCESS => "permission denied",
            AMODE => "invalid access mode of a file",
            BAD_FILE => "invalid file name",
            CONVERSION => "a conversion function has failed",
            DUP_DATAREP => "the data representation is defined already",
            FILE_EXISTS => "the file exists",
            FILE_IN_USE => "the file is in use",
            FILE => "invalid file handle",
            INFO => "invalid info object",
            INFO_KEY => "the key of an info object is too long",
            INFO_VALUE => "the value of an info object is too long",
            INFO_NOKEY => "the info object does not have the key",
            IO => "input or output has failed",
            NAME => "the service name is not published",
            NO_MEM => "no memory",
            NOT_SAME => "the ranks give different arguments",
            NO_SPACE => "no space on the device",
            NO_SUCH_FILE => "there is no such file",
            PORT => "invalid port name",
            QUOTA => "quota exceeded",
            READ_ONLY => "the file or file system is read-only",
            SERVICE => "invalid service name",
            SPAWN => "processes cannot be started",
            UNSUPPORTED_DATAREP => "unsupported data representation",
            UNSUPPORTED_OPERATION => "unsupported operation",
            WIN => "invalid window",
            BASE => "invalid base address",
            LOCKTYPE => "invalid type of a lock",
            KEYVAL => "invalid attribute key",
            RMA_CONFLICT => "conflicting accesses to a window",
            RMA_SYNC => "wrong synchronization of a window",
            SIZE => "invalid size",
            DISP => "invalid displacement",
            ASSERT => "invalid assertion",
            RMA_RANGE => "an access outside of the window",
            RMA_ATTACH => "memory cannot be attached",
            RMA_SHARED => "memory cannot be shared",
            RMA_FLAVOR => "a window of another kind",
            SESSION => "invalid session",
            PROC_ABORTED => "a process was aborted",
            VALUE_TOO_LARGE => "a value does not fit its argument",
            ERRHANDLER => "invalid error handler",
            ABI => "unsupported ABI",
            _ => "unknown error",
        }
    }
}

/// `MPI_Status`, 20 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MpiStatus {
    count_low: u32,
    /// Bit 0: cancelled; above: bits 32 and up of the count.
    count_high: u32,
    /// `MPI_SOURCE`.
    pub source: c_int,
    /// `MPI_TAG`.
    pub tag: c_int,
    /// `MPI_ERROR`.
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

    /// Sets the bytes received, and leaves the rest.
    pub fn set_bytes(&mut self, bytes: u64) {
        self.count_low = bytes as u32;
        self.count_high = self.count_high & 1 | ((bytes >> 32) as u32) << 1;
    }

    /// Whether the operation was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.count_high & 1 != 0
    }

    /// Sets whether it was.
    pub fn set_cancelled(&mut self, cancelled: bool) {
        self.count_high = self.count_high & !1 | u32::from(cancelled);
    }

    /// Writes it where the caller wants it, which may be nowhere. `MPI_ERROR` keeps its old value, as MPI says of
    /// calls with one status, but for empty ones.
    ///
    /// # Safety
    /// The pointer is a status, `MPI_STATUS_IGNORE` or null.
    pub unsafe fn write(&self, to: *mut MpiStatus) {
        if to as usize > 1 {
            // Safety: a status, as the caller says.
            unsafe {
                let is_empty = self.source == ANY_SOURCE;
                let error = if is_empty { class::SUCCESS } else { (*to).error };
                *to = MpiStatus { error, ..*self };
            }
        }
    }
}
