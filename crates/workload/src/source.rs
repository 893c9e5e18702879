//! The table `workload` of a job: the source of its ranks' programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{Error, Section};

use crate::trace::TraceFormat;
use crate::{RecordingWindow, Workload, bigsim, dumpi, motif, trace};

/// A kind of workload, named by its key.
pub struct WorkloadSource {
    /// The key in the table `workload`.
    pub key: &'static str,
    /// Kind of a job in results: `trace`, `motif` or `program`.
    pub kind: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Reads the table. Its paths are relative to the folder.
    pub read: Read,
}

/// Reads a table; the path is the folder that its paths are relative to.
pub type Read = fn(&Section, &Path) -> Result<Arc<dyn Workload>, Error>;

/// All kinds, in the order of error messages.
pub static SOURCES: &[WorkloadSource] = &[
    WorkloadSource {
        key: "bigsim",
        kind: "trace",
        summary: "a trace in the format BigSim: its folder",
        read: read_bigsim,
    },
    WorkloadSource {
        key: "command",
        kind: "program",
        summary: "a real MPI program: the command that starts one process for each rank",
        read: |section, _| {
            let message = "real programs are started by the command fabricsim, on Linux; expected `fabricsim run` or \
                           `fabricsim mpirun`";
            Err(section.error("command", message))
        },
    },
    WorkloadSource {
        key: "dumpi",
        kind: "trace",
        summary: "a trace in the format DUMPI: its meta file or folder",
        read: read_dumpi,
    },
    WorkloadSource {
        key: "goal",
        kind: "trace",
        summary: "a schedule in the format GOAL, text or binary",
        read: |section, folder| read_whole(section, "goal", folder),
    },
    WorkloadSource {
        key: "liballprof",
        kind: "trace",
        summary: "a trace in the format liballprof: the file of rank 0 or the folder",
        read: |section, folder| read_trace(section, "liballprof", folder),
    },
    WorkloadSource {
        key: "motif",
        kind: "motif",
        summary: "the communication of an application, made up for any number of ranks: a motif's name",
        read: |section, _| motif::read(section),
    },
    WorkloadSource {
        key: "operations",
        kind: "trace",
        summary: "operations that a real program has left: the file",
        read: |section, folder| read_whole(section, "operations", folder),
    },
    WorkloadSource {
        key: "otf2",
        kind: "trace",
        summary: "a trace in the format OTF2: its anchor file or folder",
        read: |section, folder| read_trace(section, "otf2", folder),
    },
    WorkloadSource {
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

/// Executes programs in a language that this crate does not know: one of [`SOURCES`], for callers that support
/// it.
pub trait Interpreter: Send + Sync {
    /// The key of the source that it replaces.
    fn key(&self) -> &'static str;
    /// As [`WorkloadSource::read`].
    ///
    /// # Errors
    /// The table or the program is invalid.
    fn read(&self, section: &Section, folder: &Path) -> Result<Arc<dyn Workload>, Error>;
}

/// Interpreters of sources that this crate does not read.
pub type Interpreters<'a> = &'a [&'a dyn Interpreter];

/// The source that the table `workload` of a job names.
///
/// # Errors
/// The table names none or several.
pub fn named(section: &Section) -> Result<&'static WorkloadSource, Error> {
    let named: Vec<&'static WorkloadSource> = SOURCES.iter().filter(|s| section.has(s.key)).collect();
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
/// The table names none or several, or its content is invalid.
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
    let window = RecordingWindow::read(section)?;
    let trace = trace::open(folder.join(&path)).map_err(|e| section.error(key, e.to_string()))?;
    cut(section, trace, &window)
}

/// A trace without the calls and times by which a part of it could be chosen.
fn read_whole(section: &Section, key: &str, folder: &Path) -> Result<Arc<dyn Workload>, Error> {
    let path: String = section.required(key)?;
    refuse_window(
        section,
        "a schedule has no calls, times and regions of a recording",
    )?;
    let trace = trace::open(folder.join(&path)).map_err(|e| section.error(key, e.to_string()))?;
    cut(section, trace, &RecordingWindow::Mpi)
}

/// Refuses a window, for this reason.
fn refuse_window(section: &Section, reason: &str) -> Result<(), Error> {
    match section.has("window") {
        true => Err(section.error("window", format!("{reason}; remove the window"))),
        false => Ok(()),
    }
}

/// The window of a recording.
fn cut(
    section: &Section,
    trace: Arc<dyn Workload>,
    window: &RecordingWindow,
) -> Result<Arc<dyn Workload>, Error> {
    window
        .of(trace)
        .map_err(|e| section.error("window", e.to_string()))
}

fn read_dumpi(section: &Section, folder: &Path) -> Result<Arc<dyn Workload>, Error> {
    let clock = section.choice_or(
        "clock",
        dumpi::RecordedClock::NAMES[0],
        &dumpi::RecordedClock::NAMES,
    )?;
    let window = RecordingWindow::read(section)?;
    let file = find_of(section, &dumpi::FORMAT, folder)?;
    let trace = dumpi::open(&file, dumpi::RecordedClock::from_name(clock));
    let trace = trace.map_err(|e| section.error("dumpi", e.to_string()))?;
    cut(section, trace, &window)
}

fn read_bigsim(section: &Section, folder: &Path) -> Result<Arc<dyn Workload>, Error> {
    let names = &bigsim::RuntimeLogs::NAMES;
    let runtime = section.choice_or("runtime_logs", names[0], names)?;
    refuse_window(section, "a BigSim trace names its own start")?;
    let file = find_of(section, &bigsim::FORMAT, folder)?;
    let trace = bigsim::open(&file, bigsim::RuntimeLogs::from_name(runtime));
    trace.map_err(|e| section.error("bigsim", e.to_string()))
}

/// The main file of a trace, whose format is the key.
fn find_of(section: &Section, expected: &TraceFormat, folder: &Path) -> Result<PathBuf, Error> {
    let path: String = section.required(expected.name)?;
    let found = trace::find(&folder.join(&path));
    let (file, format) = found.map_err(|e| section.error(expected.name, e.to_string()))?;
    if format.name != expected.name {
        let message = format!("{}: is a trace in the format {}", file.display(), format.name);
        return Err(section.error(expected.name, message));
    }
    Ok(file)
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
            let keys: Vec<&str> = SOURCES.iter().map(|source| source.key).collect();
            let expected = format!("expected one of {}; found {found} of them", keys.join(", "));
            assert!(message.contains(&expected), "{message}");
        }
    }

    #[test]
    fn dumpi_traces_with_a_clock() {
        let trace = "dumpi = \"dumpi-ember-incast-16\"\n";
        for clock in dumpi::RecordedClock::NAMES {
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
