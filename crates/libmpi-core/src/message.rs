//! What calls say about a message: elements of a buffer, and an envelope.

use std::ffi::{c_int, c_void};

use crate::abi::class;
use crate::failure::{Failure, Outcome};

/// Elements of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements {
    pub buffer: *mut c_void,
    pub count: usize,
    pub datatype: c_int,
}

impl Elements {
    /// The elements of a call.
    ///
    /// # Errors
    /// The count is negative.
    pub fn new(buffer: *const c_void, count: impl Into<i64>, datatype: c_int) -> Outcome<Elements> {
        let count: i64 = count.into();
        Ok(Elements {
            buffer: buffer.cast_mut(),
            count: usize::try_from(count).map_err(|_| Failure::new(class::COUNT, count.to_string()))?,
            datatype,
        })
    }
}

/// Peer, tag and communicator of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageEnvelope {
    pub peer: c_int,
    pub tag: c_int,
    pub communicator: c_int,
}
