//! States of LPs as bytes, for snapshots and checkpoints.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Appends a state.
pub fn write(state: &impl Serialize, bytes: &mut Vec<u8>) {
    let all = std::mem::take(bytes);
    *bytes = postcard::to_extend(state, all).expect("a state in memory can be written to memory");
}

/// Reads a state that takes all of the bytes.
pub fn read<S: DeserializeOwned>(bytes: &[u8]) -> Result<S, String> {
    match read_first(bytes)? {
        (state, []) => Ok(state),
        (_, rest) => Err(format!("{} bytes are left over", rest.len())),
    }
}

/// Reads a state, and returns the bytes behind it.
pub fn read_first<S: DeserializeOwned>(bytes: &[u8]) -> Result<(S, &[u8]), String> {
    postcard::take_from_bytes(bytes).map_err(|error| format!("its state cannot be read: {error}"))
}
