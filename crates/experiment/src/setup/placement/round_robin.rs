//! One host of each router, or of each group, in turn. The job is spread as evenly as possible.

use super::{Placement, in_turn};
use config::parameters;

pub(super) const KIND: Placement = Placement {
    name: "round-robin",
    summary: "one host of each router, or of each group, in turn",
    parameters: parameters! {
        choice("over", &["routers", "groups"], "what takes turns");
    },
    names_hosts: false,
    order: |section, site| {
        let parts = match section.choice("over")? {
            "groups" => site.by_group(section, "over")?,
            _ => site.by_router(),
        };
        Ok(in_turn(&parts))
    },
};
