//! A folder for a command, and its contents afterwards.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A small valid experiment, one key per line so that tests can name the line.
pub const EXPERIMENT: &str = r#"[network]
packet = "256 B"
[network.topology]
kind = "dragonfly"
hosts_per_router = 1
routers_per_group = 4
global_links_per_router = 2
[network.routing]
algorithm = "minimal"
[network.link]
bandwidth = "100 Gbps"
latency = "50 ns"
[network.router]
buffer = "32 KiB"
[[job]]
traffic = { pattern = "uniform", load = 0.5 }
[run]
until = "5 us"
"#;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the repository is there")
}

/// The LAMMPS trace, if this build can read it. Prints a note if not.
pub fn lammps() -> Option<PathBuf> {
    otf2().then(|| root().join("examples/traces/otf2-lammps-melt-27"))
}

/// Whether OTF2 traces can be read. Prints a note if not.
pub fn otf2() -> bool {
    if !workload::otf2::is_available() {
        testkit::skipped!("this build has no OTF2 library (Debian: libotf2-trace-dev)");
    }
    workload::otf2::is_available()
}

/// A folder with an experiment.
pub struct Bench {
    folder: TempDir,
    before: BTreeSet<PathBuf>,
}

impl Bench {
    /// A folder with `experiment.toml`.
    pub fn new(experiment: &str) -> Bench {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("experiment.toml"), experiment).expect("the experiment is written");
        let mut bench = Bench {
            folder,
            before: BTreeSet::new(),
        };
        bench.before = bench.files();
        bench
    }

    /// [`EXPERIMENT`] with `from` replaced.
    pub fn with(from: &str, to: &str) -> Bench {
        assert!(EXPERIMENT.contains(from), "{from}");
        Bench::new(&EXPERIMENT.replace(from, to))
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Adds a file to the initial contents of the folder.
    pub fn write(&mut self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("inside the folder")).expect("a folder");
        fs::write(path, content).expect("the file is written");
        self.before = self.files();
    }

    /// Adds a copy of a folder to the initial contents.
    pub fn copy(&mut self, from: &Path, name: &str) {
        for path in walk(from) {
            if path.is_file() {
                let inside = path.strip_prefix(from).expect("walked from there");
                self.write(
                    &format!("{name}/{}", inside.display()),
                    fs::read(&path).expect("readable"),
                );
            }
        }
    }

    /// The current contents of the folder.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        walk(self.path()).into_iter().collect()
    }

    /// The command with the folder as its current folder.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fabricsim"));
        command.current_dir(self.path());
        command
    }

    /// Runs the command.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command()
            .args(arguments)
            .output()
            .expect("the command starts")
    }

    /// Runs the command, which succeeds; returns its output.
    pub fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let (stdout, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stdout}{stderr}");
        stdout
    }

    /// Runs the command, which refuses its input with one message that contains all `needles`, and leaves nothing
    /// behind. Returns the message.
    pub fn refuses(&self, arguments: &[&str], needles: &[&str]) -> String {
        let output = self.run(arguments);
        let (stdout, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stdout}{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert_eq!(stdout, "", "messages go to the standard error");
        assert_eq!(
            stderr.matches("fabricsim: ").count() + stderr.matches("error: ").count(),
            1,
            "one message: {stderr}"
        );
        for needle in needles {
            assert!(stderr.contains(needle), "'{needle}' is missing: {stderr}");
        }
        assert_eq!(self.files(), self.before, "nothing is left behind");
        stderr
    }
}

/// The JSON of a file of a result, without the checksums, which are not printed.
pub fn without_checksums(text: &str) -> Value {
    let mut json: Value = serde_json::from_str(text).expect("JSON");
    for key in ["checksums", "checksum"] {
        let removed = json.as_object_mut().and_then(|object| object.remove(key));
        removed.expect("it carries checksums");
    }
    json
}

pub fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    (text(&output.stdout), text(&output.stderr))
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(walk(&path));
        }
        found.push(path);
    }
    found
}
