//! The table `workload` of a job: where its ranks' programs come from.

use std::path::Path;
use std::sync::Arc;

use config::{Error, Section};

use crate::{Workload, trace};

/// One kind of workloads, named by the key that says which.
pub struct Source {
    /// The key in the table `workload`.
    pub key: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Reads the table; paths in it are relative to the folder.
    pub read: Read,
}

/// Reads a table, with the folder that paths in it are relative to.
pub type Read = fn(&Section, &Path) -> Result<Arc<dyn Workload>, Error>;

/// All kinds, in the order in which errors name them.
pub static SOURCES: &[Source] = &[
    Source {
        key: "otf2",
        summary: "a trace in the format OTF2: its anchor file or folder",
        read: |section, folder| read_trace(section, "otf2", folder),
    },
    Source {
        key: "python",
        summary: "a program in Python: the file of a generator function that is called for each rank",
        read: |section, _| {
            let message = "programs in Python need the Python package; run this with its command fabricsim, or \
                           with fabricsim.run";
            Err(section.error("python", message))
        },
    },
];

/// Carries out programs in a language that this crate does not know: one of [`SOURCES`], for whoever has it.
pub trait Interpreter: Send + Sync {
    /// The key of the source whose place it takes.
    fn key(&self) -> &'static str;
    /// As [`Source::read`].
    ///
    /// # Errors
    /// What is wrong with the table or with the program.
    fn read(&self, section: &Section, folder: &Path) -> Result<Arc<dyn Workload>, Error>;
}

/// What can be carried out besides what this crate reads itself.
pub type Interpreters<'a> = &'a [&'a dyn Interpreter];

/// Reads the table `workload` of a job, which names one of [`SOURCES`].
///
/// # Errors
/// None or several kinds, or what reading that kind finds wrong.
pub fn read(
    section: &Section,
    folder: &Path,
    interpreters: Interpreters<'_>,
) -> Result<Arc<dyn Workload>, Error> {
    let named: Vec<&Source> = SOURCES.iter().filter(|s| section.has(s.key)).collect();
    match &named[..] {
        [one] => match interpreters.iter().find(|i| i.key() == one.key) {
            Some(interpreter) => interpreter.read(section, folder),
            None => (one.read)(section, folder),
        },
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

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "[workload]\npython = \"x.py\"\n";

    fn message(text: &str, interpreters: Interpreters<'_>) -> String {
        let root = Section::from_toml(text, "x.toml").unwrap();
        let Err(error) = read(root.section("workload").unwrap(), Path::new("."), interpreters) else {
            panic!("nothing can be read here")
        };
        error.to_string()
    }

    struct Parrot;

    impl Interpreter for Parrot {
        fn key(&self) -> &'static str {
            "python"
        }

        fn read(&self, section: &Section, folder: &Path) -> Result<Arc<dyn Workload>, Error> {
            let file: String = section.required("python")?;
            Err(section.error("python", format!("{} it is", folder.join(file).display())))
        }
    }

    #[test]
    fn programs_are_read_by_their_interpreter() {
        let without = message(ROOT, &[]);
        assert!(
            without.starts_with("x.toml:2: workload.python: programs in Python need the Python package"),
            "{without}"
        );
        assert_eq!(
            message(ROOT, &[&Parrot]),
            "x.toml:2: workload.python: ./x.py it is"
        );
    }

    #[test]
    fn there_is_one_source() {
        for (text, found) in [
            ("[workload]\n", "found none"),
            (
                "[workload]\npython = \"x.py\"\notf2 = \"x.otf2\"\n",
                "found several",
            ),
        ] {
            let text = message(text, &[&Parrot]);
            assert!(text.contains(found) && text.contains("otf2, "), "{text}");
        }
    }
}
