//! The table `workload` of a job: where its ranks' programs come from.

use std::path::Path;
use std::sync::Arc;

use config::{Error, Section};

use crate::{Workload, dumpi, motif, trace};

/// One kind of workloads, named by the key that says which.
pub struct Source {
    /// The key in the table `workload`.
    pub key: &'static str,
    /// What results call a job with it: `trace`, `motif` or `program`.
    pub kind: &'static str,
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
        key: "dumpi",
        kind: "trace",
        summary: "a trace in the format DUMPI: its meta file or folder",
        read: read_dumpi,
    },
    Source {
        key: "goal",
        kind: "trace",
        summary: "a schedule in the format GOAL, text or binary",
        read: |section, folder| read_trace(section, "goal", folder),
    },
    Source {
        key: "liballprof",
        kind: "trace",
        summary: "a trace in the format liballprof: the file of rank 0 or the folder",
        read: |section, folder| read_trace(section, "liballprof", folder),
    },
    Source {
        key: "motif",
        kind: "motif",
        summary: "the communication of an application, made up for any number of ranks: a motif's name",
        read: |section, _| motif::read(section),
    },
    Source {
        key: "otf2",
        kind: "trace",
        summary: "a trace in the format OTF2: its anchor file or folder",
        read: |section, folder| read_trace(section, "otf2", folder),
    },
    Source {
        key: "python",
        kind: "program",
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

/// The one of [`SOURCES`] that the table `workload` of a job names.
///
/// # Errors
/// None or several of them.
pub fn named(section: &Section) -> Result<&'static Source, Error> {
    let named: Vec<&'static Source> = SOURCES.iter().filter(|s| section.has(s.key)).collect();
    match named[..] {
        [one] => Ok(one),
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

/// Reads the table `workload` of a job, which names one of [`SOURCES`].
///
/// # Errors
/// None or several kinds, or what reading that kind finds wrong.
pub fn read(
    section: &Section,
    folder: &Path,
    interpreters: Interpreters<'_>,
) -> Result<Arc<dyn Workload>, Error> {
    let source = named(section)?;
    match interpreters.iter().find(|i| i.key() == source.key) {
        Some(interpreter) => interpreter.read(section, folder),
        None => (source.read)(section, folder),
    }
}

fn read_trace(section: &Section, key: &str, folder: &Path) -> Result<Arc<dyn Workload>, Error> {
    let path: String = section.required(key)?;
    trace::open(folder.join(&path)).map_err(|e| section.error(key, e.to_string()))
}

fn read_dumpi(section: &Section, folder: &Path) -> Result<Arc<dyn Workload>, Error> {
    let path: String = section.required("dumpi")?;
    let clock = section.choice_or("clock", dumpi::Clock::NAMES[0], &dumpi::Clock::NAMES)?;
    let fail = |e: crate::TraceError| section.error("dumpi", e.to_string());
    let (file, format) = trace::find(&folder.join(&path)).map_err(fail)?;
    if format.name != dumpi::FORMAT.name {
        let message = format!("{}: is a trace in the format {}", file.display(), format.name);
        return Err(section.error("dumpi", message));
    }
    dumpi::open(&file, dumpi::Clock::from_name(clock)).map_err(fail)
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

    fn read_here(text: &str) -> Result<Arc<dyn Workload>, String> {
        let section = Section::from_toml(text, "x.toml").unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces");
        let workload = read(&section, &folder, &[]).map_err(|e| e.to_string())?;
        section.finish().map_err(|e| e.to_string())?;
        Ok(workload)
    }

    fn refused(text: &str) -> String {
        read_here(text).map(|_| ()).unwrap_err()
    }

    #[test]
    fn a_table_names_one_source() {
        for (text, found) in [("", "none"), ("dumpi = \"a\"\notf2 = \"b\"\n", "several")] {
            let message = refused(text);
            let expected = format!(
                "expected one of dumpi, goal, liballprof, motif, otf2, python; found {found} of them"
            );
            assert!(message.contains(&expected), "{message}");
        }
    }

    #[test]
    fn dumpi_traces_with_a_clock() {
        let trace = "dumpi = \"dumpi-ember-incast-16\"\n";
        for clock in dumpi::Clock::NAMES {
            let workload = read_here(&format!("{trace}clock = {clock:?}\n")).unwrap();
            assert_eq!(workload.ranks(), 16);
        }
        let message = refused(&format!("{trace}clock = \"cpus\"\n"));
        assert!(
            message.contains("clock") && message.contains("did you mean 'cpu'"),
            "{message}"
        );
        let message = refused("dumpi = \"otf2-lammps-melt-27\"\n");
        assert!(message.contains("is a trace in the format otf2"), "{message}");
        let message = refused("dumpi = \"nowhere\"\n");
        assert!(message.contains("nowhere: cannot be opened"), "{message}");
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
}
