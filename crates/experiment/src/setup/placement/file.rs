//! Hosts from a file: one number per line, in the order in which the job takes them. Empty lines and comments after `#`
//! are ignored.

use super::Placement;
use crate::setup::named::numbers;
use config::{Type, parameters};

pub(super) const KIND: Placement = Placement {
    name: "file",
    summary: "the hosts that a file lists, one number on each line",
    parameters: parameters! {
        required("file", Type::Path, "path, relative to the experiment's file");
    },
    names_hosts: true,
    order: |section, site| {
        let file: String = section.required("file")?;
        let numbers = numbers(site.folder, &file).map_err(|message| section.error("file", message))?;
        let named = |(line, number)| (format!("{file}:{line}"), u64::from(number));
        site.named(section, "file", numbers.into_iter().map(named).collect())
    },
};
