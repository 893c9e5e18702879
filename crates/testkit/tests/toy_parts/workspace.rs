//! A copy of the workspace with all toys, and the program that is built from it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::toys::{Edit, TOYS};

/// Version of the copied crates. It keeps their compiled files apart from those of the workspace.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-toys");

/// Name of the program, which the linker would otherwise put in the place of `fabricsim`.
const PROGRAM: &str = "fabricsim-toys";

/// A test in the crate of the command, of the toys in several processes. Cargo compiles the program for it, and with it
/// the dependencies with the features that `make test-rust` has compiled.
const PROCESSES: &str = "crates/cli/tests/toys.rs";

/// Names of the tests of the copy: conformance tests that need an edit for each new part, and those of the toys in
/// several processes.
const TESTS: [&str; 6] = [
    "toys_agree_",
    "registry_",
    "every_topology_",
    "every_algorithm_",
    "chosen_cases_",
    "a_million_hosts_",
];

/// The root of the workspace.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace is there")
}

/// The files of the toys.
fn toy_files() -> PathBuf {
    root().join("crates/testkit/tests/toy_parts/files")
}

/// The text with an edit.
///
/// # Errors
/// The place is missing, or not the only one.
pub fn edited(text: &str, edit: &Edit) -> Result<String, String> {
    match text.matches(edit.after).count() {
        1 => Ok(text.replacen(edit.after, &format!("{}{}", edit.after, edit.insert), 1)),
        found => Err(format!(
            "{}: {found} times {:?}; expected once",
            edit.path, edit.after
        )),
    }
}

/// The copy. Files that are there already keep their time stamps if their content is the same, so that cargo compiles
/// only what has changed.
pub struct Copied {
    folder: PathBuf,
}

impl Copied {
    /// Copies the workspace, then adds the toys.
    pub fn with_toys() -> Copied {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("toy-parts");
        let copied = Copied { folder };
        let mut written: BTreeSet<PathBuf> = BTreeSet::new();
        for file in sources() {
            let content = fs::read(root().join(&file)).expect("readable");
            copied.put(&file, &with_edits(&file, content));
            written.insert(file);
        }
        for file in TOYS.iter().flat_map(|toy| toy.files).chain([&PROCESSES]) {
            copied.put(
                Path::new(file),
                &fs::read(toy_files().join(file)).expect("readable"),
            );
            assert!(written.insert(file.into()), "{file} is there already");
        }
        let present = ["crates", "docs"].map(|folder| files(&copied.folder, Path::new(folder)));
        for stale in present.iter().flatten().filter(|file| !written.contains(*file)) {
            fs::remove_file(copied.folder.join(stale)).expect("removable");
        }
        copied
    }

    fn put(&self, file: &Path, content: &[u8]) {
        let path = self.folder.join(file);
        if fs::read(&path).is_ok_and(|present| present == content) {
            return;
        }
        fs::create_dir_all(path.parent().expect("below the folder")).expect("the folder can be made");
        fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    /// Compiles the program, and runs [`TESTS`] with the experiments of this folder. Gives the path of the program.
    ///
    /// The crates of the copy are not optimised. They are compiled in a folder of their own, so that other tests that
    /// start cargo meanwhile are not disturbed, with the libraries that the workspace has compiled.
    pub fn build(&self, experiments: &Path) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let target = &folder.join("toy-target");
        copy_libraries(&folder.with_file_name("debug"), &target.join("debug"));
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .current_dir(&self.folder)
            .env("TOYS", experiments)
            .args([
                "test",
                "--offline",
                "--locked",
                "--workspace",
                "--exclude",
                "fabricsim-py",
            ])
            .args(["--test", "toys", "--test", "conformance", "--target-dir"])
            .arg(target);
        for entry in fs::read_dir(self.folder.join("crates")).expect("readable") {
            let name = entry.expect("readable").file_name();
            let package = format!("profile.dev.package.fabricsim-{}", name.to_string_lossy());
            cargo.args(["--config", &format!("{package}.opt-level=0")]);
            cargo.args(["--config", &format!("{package}.debug=false")]);
        }
        let output = cargo.arg("--").args(TESTS).output().expect("cargo runs");
        let [tests, messages] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        let have_run = TESTS.iter().all(|name| tests.contains(name));
        assert!(
            output.status.success() && have_run,
            "the copy fails:\n{messages}\n{tests}"
        );
        target.join("debug").join(PROGRAM)
    }
}

/// Copies what cargo has compiled of the libraries of others, so that it is not compiled again. Time stamps are kept:
/// cargo compares them. What is missing here is compiled.
fn copy_libraries(from: &Path, to: &Path) {
    for kind in ["deps", ".fingerprint", "build"] {
        for file in files(from, Path::new(kind)) {
            let is_ours = file.to_string_lossy().contains("fabricsim");
            let source = from.join(&file);
            let (Ok(meta), false) = (source.metadata(), is_ours || to.join(&file).exists()) else {
                continue;
            };
            let copied = to.join(&file);
            fs::create_dir_all(copied.parent().expect("below the folder")).expect("the folder can be made");
            let modified = meta.modified().expect("the system keeps time stamps");
            let done = fs::copy(&source, &copied).and_then(|_| {
                fs::File::options()
                    .append(true)
                    .open(&copied)?
                    .set_modified(modified)
            });
            done.unwrap_or_else(|e| panic!("{}: {e}", copied.display()));
        }
    }
}

/// Paths of the files that the program is built from, and of those that toys edit.
fn sources() -> BTreeSet<PathBuf> {
    let mut sources: BTreeSet<PathBuf> = files(&root(), Path::new("crates")).into_iter().collect();
    sources.retain(|file| !file.starts_with("crates/testkit/tests/toy_parts"));
    sources.extend(
        files(&root(), Path::new("docs"))
            .into_iter()
            .filter(|file| is_page(file)),
    );
    sources.extend(["Cargo.toml", "Cargo.lock"].map(PathBuf::from));
    sources.extend(TOYS.iter().flat_map(|toy| toy.edits).map(|edit| edit.path.into()));
    sources
}

fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "md")
}

/// All files below a folder of `root`, relative to `root`.
fn files(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root.join(folder)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.expect("readable");
        let path = folder.join(entry.file_name());
        match entry.file_type().expect("readable").is_dir() {
            true => found.extend(files(root, &path)),
            false => found.push(path),
        }
    }
    found
}

/// The content of a file in the copy.
fn with_edits(file: &Path, content: Vec<u8>) -> Vec<u8> {
    let edits: Vec<&Edit> = TOYS
        .iter()
        .flat_map(|toy| toy.edits)
        .filter(|edit| Path::new(edit.path) == file)
        .collect();
    let name = file.to_string_lossy();
    let renamed = matches!(&*name, "Cargo.toml" | "Cargo.lock" | "crates/cli/Cargo.toml");
    if edits.is_empty() && !renamed {
        return content;
    }
    let mut text = String::from_utf8(content).expect("text");
    for edit in edits {
        text = edited(&text, edit).unwrap_or_else(|why| panic!("{why}"));
    }
    match &*name {
        "Cargo.toml" => {
            // That of the packages, and those that dependencies on them ask for.
            let own = concat!("version = \"", env!("CARGO_PKG_VERSION"), "\"");
            assert!(text.contains(own), "{name} has {own}");
            text = text.replace(own, &format!("version = \"{VERSION}\""))
        }
        "Cargo.lock" => text = locked(&text),
        "crates/cli/Cargo.toml" => {
            text = text.replace("name = \"fabricsim\"", &format!("name = \"{PROGRAM}\""))
        }
        _ => {}
    }
    text.into_bytes()
}

/// The lock file with the version of the copied crates.
fn locked(text: &str) -> String {
    let mut is_ours = false;
    let lines = text.lines().map(|line| {
        let version = std::mem::replace(&mut is_ours, line.starts_with("name = \"fabricsim-"));
        match version {
            true => format!("version = \"{VERSION}\"\n"),
            false => format!("{line}\n"),
        }
    });
    lines.collect()
}

/// Runs the program with these arguments in a folder.
pub fn run(program: &Path, folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    let output = command.current_dir(folder).args(arguments).output();
    output.unwrap_or_else(|e| panic!("{}: {e}", program.display()))
}
