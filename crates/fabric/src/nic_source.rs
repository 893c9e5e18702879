//! The sources of a NIC: what takes turns at its ports.

use serde::{Deserialize, Serialize};

/// Identifies the source of a message in one NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NicSource(pub(crate) u32);
