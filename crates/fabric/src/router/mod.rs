//! Router models, a ladder of fidelity; one file each.

pub mod packet;

/// Name and summary of each router model, for help and listings.
pub const MODELS: &[(&str, &str)] = &[(
    "packet",
    "virtual cut-through, input-buffered virtual channels with credits, no head-of-line blocking between outputs",
)];
