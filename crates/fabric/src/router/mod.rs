//! Router models, a ladder of fidelity; one file each.

pub mod input_queued;
pub mod packet;

/// One router model.
pub struct Model {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Parameters: name and one line with its meaning and default.
    pub parameters: &'static [(&'static str, &'static str)],
}

/// All router models, in alphabetical order.
pub const MODELS: &[Model] = &[
    Model {
        name: "input-queued",
        summary: "virtual cut-through with credits, a first-in first-out queue for each input port and virtual \
                  channel: head-of-line blocking",
        parameters: &[(
            "arbiter",
            "how an output chooses among inputs: \"round-robin\" (default) or \"random\"",
        )],
    },
    Model {
        name: "packet",
        summary: "virtual cut-through, input-buffered virtual channels with credits, no head-of-line blocking \
                  between outputs",
        parameters: &[],
    },
];
