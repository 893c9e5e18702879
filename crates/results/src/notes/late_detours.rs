//! Adaptive routing begins to take detours only when the buffers behind a link are full.

use super::{Note, Severity};
use crate::{RunResult, show};

pub(super) const NAME: &str = "late-detours";

/// One note if the load from which routing takes detours is more than the buffer of a virtual channel holds.
pub(super) fn find(result: &RunResult) -> Vec<Note> {
    let network = &result.summary.network;
    let Some(threshold) = network.detour_load_bytes else {
        return Vec::new();
    };
    if threshold <= network.vc_buffer_bytes {
        return Vec::new();
    }
    vec![Note {
        kind: NAME.into(),
        severity: Severity::Warning,
        job: None,
        found: format!(
            "routing takes a detour only if the load of the minimal port is above {}, and the smallest buffer of a \
             virtual channel behind such a port holds {}: packets wait for full buffers before the first detour, and \
             may be slower than with \
             minimal routing",
            show::bytes(threshold),
            show::bytes(network.vc_buffer_bytes)
        ),
        advice: "Choose a smaller network.routing.bias, or larger buffers (network.router.buffer, \
                 network.links.CLASS.buffer)"
            .into(),
    }]
}
