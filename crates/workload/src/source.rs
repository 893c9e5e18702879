//! The table `workload` of a job: where its ranks' programs come from.

use std::path::Path;
use std::sync::Arc;

use config::{Error, Section};

use crate::{Workload, trace};

/// Reads the table `workload`; paths in it are relative to the folder.
type Read = fn(&Section, &Path) -> Result<Arc<dyn Workload>, Error>;

/// One kind of workloads, named by the key that says which.
pub struct Source {
    /// The key in the table `workload`.
    pub key: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Reads the table; paths in it are relative to the folder.
    pub read: Read,
}

/// All kinds, in the order in which errors name them.
pub static SOURCES: &[Source] = &[
    Source {
        key: "goal",
        summary: "a schedule in the format GOAL, text or binary",
        read: |section, folder| read_trace(section, "goal", folder),
    },
    Source {
        key: "otf2",
        summary: "a trace in the format OTF2: its anchor file or folder",
        read: |section, folder| read_trace(section, "otf2", folder),
    },
];

/// Reads the table `workload` of a job, which names one of [`SOURCES`].
///
/// # Errors
/// None or several kinds, or what reading that kind finds wrong.
pub fn read(section: &Section, folder: &Path) -> Result<Arc<dyn Workload>, Error> {
    let named: Vec<&Source> = SOURCES.iter().filter(|s| section.has(s.key)).collect();
    match &named[..] {
        [one] => (one.read)(section, folder),
        _ => {
            let keys: Vec<&str> = SOURCES.iter().map(|s| s.key).collect();
            let found = if named.is_empty() { "none" } else { "several" };
            Err(section.error(
                "",
                format!("expected one of {}; found {found} of them", keys.join(", ")),
            ))
        }
    }
}

fn read_trace(section: &Section, key: &str, folder: &Path) -> Result<Arc<dyn Workload>, Error> {
    let path: String = section.required(key)?;
    trace::open(folder.join(&path)).map_err(|e| section.error(key, e.to_string()))
}
