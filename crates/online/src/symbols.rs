//! Which MPI a compiled program needs: told before a run, from the names in the file.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};

/// In our library: the names of the functions that only say that they are missing, one in a line.
const MISSING: &str = "FABRICSIM_MISSING";

/// The MPI library that a program asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeededLibrary {
    /// One with the ABI of MPICH.
    Mpich,
    /// Open MPI before 6.0.
    OpenMpi,
    /// One with the standard ABI of MPI 5.0.
    StandardAbi,
    /// Both, as libraries of the program were compiled with different ones.
    Both,
    /// None: it has MPI's functions inside, or calls none.
    None,
}

impl NeededLibrary {
    /// By the name of the file.
    fn named(file: &str) -> Option<NeededLibrary> {
        let (name, version) = file.split_once(".so").unwrap_or((file, ""));
        match (name, version) {
            ("libmpi" | "libmpich", "" | ".12") => Some(NeededLibrary::Mpich),
            ("libmpi", _) => Some(NeededLibrary::OpenMpi),
            ("libmpi_abi" | "libpmpi_abi", _) => Some(NeededLibrary::StandardAbi),
            _ => None,
        }
    }
}

impl fmt::Display for NeededLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NeededLibrary::Mpich => "ABI of MPICH",
            NeededLibrary::OpenMpi => "Open MPI before 6.0",
            NeededLibrary::StandardAbi => "standard ABI of MPI 5.0",
            NeededLibrary::Both => "ABI of MPICH and standard ABI of MPI 5.0",
            NeededLibrary::None => "none",
        })
    }
}

/// What a compiled program needs of MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramNeeds {
    /// The file.
    pub file: PathBuf,
    /// The library that it, or a library of it, asks for.
    pub library: NeededLibrary,
    /// Functions of MPI that it refers to, or one of its libraries does.
    pub functions: BTreeSet<String>,
    /// Those that our library does not have. A call of one ends the run.
    pub missing: BTreeSet<String>,
    /// Whether a function of Fortran's binding is among those that it refers to.
    pub fortran: bool,
    /// Whether MPI is linked into it.
    pub inside: bool,
}

impl ProgramNeeds {
    /// Why it cannot run; `None` if it can.
    pub fn obstacle(&self) -> Option<&'static str> {
        match self.library {
            _ if self.inside => Some(
                "MPI is linked into it, so it does not load FabricSim's library: link it with the shared library of MPICH",
            ),
            NeededLibrary::OpenMpi => Some(
                "it asks for Open MPI before 6.0, which has another ABI: compile it with MPICH, or with FabricSim's mpi.h",
            ),
            NeededLibrary::Both => Some(
                "it asks for the ABI of MPICH and for the standard ABI of MPI 5.0, of which a process has one: compile all \
                 its libraries with the same MPI",
            ),
            _ if self.fortran => {
                Some("it is written in Fortran, whose binding FabricSim's library does not have")
            }
            NeededLibrary::None if self.functions.is_empty() => {
                Some("neither it nor one of the libraries that it names calls MPI")
            }
            _ => None,
        }
    }
}

impl fmt::Display for ProgramNeeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.file.display())?;
        writeln!(f, "  MPI library   {}", self.library)?;
        write!(f, "  functions     {}", self.functions.len())?;
        if self.missing.is_empty() {
            return write!(f, ", all there");
        }
        write!(
            f,
            "\n  missing       {}; a call of one ends the run:",
            self.missing.len()
        )?;
        self.missing
            .iter()
            .try_for_each(|name| write!(f, "\n                {name}"))
    }
}

/// Whether a file is a compiled program or library.
pub fn is_compiled(file: &Path) -> bool {
    begins_with(file, b"\x7fELF")
}

/// Whether a file is a program in the text of a language.
pub fn is_script(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "py") || begins_with(file, b"#!")
}

fn begins_with<const N: usize>(file: &Path, bytes: &[u8; N]) -> bool {
    // Reading a pipe would wait for who writes it.
    if !file.is_file() {
        return false;
    }
    let mut begin = [0; N];
    let read = fs::File::open(file).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *bytes
}

/// Whether a name is that of an MPI function in C.
fn is_function(name: &str) -> bool {
    let name = name.strip_prefix('P').unwrap_or(name);
    let rest = name.strip_prefix("MPI_").or_else(|| name.strip_prefix("MPIX_"));
    // Types and constants that libraries export have capitals only.
    rest.is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_uppercase()) && rest.contains(|c: char| c.is_ascii_lowercase())
    })
}

/// Whether a name is that of an MPI function in Fortran.
fn is_fortran(name: &str) -> bool {
    (name.starts_with("mpi_") || name.starts_with("pmpi_")) && name.ends_with('_')
}

/// The library that a program asks for, by those that it and its libraries name.
fn needed(named: &[NeededLibrary]) -> NeededLibrary {
    let has = |library| named.contains(&library);
    match (has(NeededLibrary::Mpich), has(NeededLibrary::StandardAbi)) {
        _ if has(NeededLibrary::OpenMpi) => NeededLibrary::OpenMpi,
        (true, true) => NeededLibrary::Both,
        (true, false) => NeededLibrary::Mpich,
        (false, true) => NeededLibrary::StandardAbi,
        (false, false) => NeededLibrary::None,
    }
}

/// What a compiled program needs of MPI, beside our libraries with the ABI of MPICH and with the standard ABI.
///
/// # Errors
/// In one sentence: a file cannot be read.
pub fn program_needs(file: &Path, library: &Path, standard_library: &Path) -> Result<ProgramNeeds, String> {
    let mut needs = ProgramNeeds {
        file: file.into(),
        library: NeededLibrary::None,
        functions: BTreeSet::new(),
        missing: BTreeSet::new(),
        fortran: false,
        inside: false,
    };
    let mut libraries = add(&mut needs, file)?;
    for (name, found) in loaded(file) {
        // An MPI library's own names are not the program's.
        match (NeededLibrary::named(&name), found) {
            (Some(_), _) => libraries.push(name),
            (None, Some(found)) if !name.starts_with("libc.") => {
                libraries.extend(add(&mut needs, &found).unwrap_or_default());
            }
            _ => {}
        }
    }
    let named: Vec<NeededLibrary> = libraries
        .iter()
        .filter_map(|name| NeededLibrary::named(name))
        .collect();
    needs.library = needed(&named);
    let (there, missing) = functions_of(match needs.library {
        NeededLibrary::StandardAbi => standard_library,
        _ => library,
    })?;
    needs.missing = needs
        .functions
        .iter()
        .filter(|name| !there.contains(*name) || missing.contains(*name))
        .cloned()
        .collect();
    Ok(needs)
}

/// Adds what a file refers to. The libraries that it names.
fn add(needs: &mut ProgramNeeds, file: &Path) -> Result<Vec<String>, String> {
    let bytes = read(file)?;
    let parsed = parse(file, &bytes)?;
    for symbol in parsed.dynamic_symbols().chain(parsed.symbols()) {
        let Ok(name) = symbol.name() else { continue };
        let name = name.split('@').next().unwrap_or(name);
        if symbol.is_undefined() && is_function(name) {
            needs.functions.insert(name.into());
        }
        needs.fortran |= symbol.is_undefined() && is_fortran(name);
        needs.inside |= name == "MPI_Init" && symbol.is_definition();
    }
    let named = parsed.imports().unwrap_or_default();
    let mut libraries: Vec<String> = named
        .iter()
        .map(|import| String::from_utf8_lossy(import.library()).into_owned())
        .filter(|name| !name.is_empty())
        .collect();
    libraries.sort();
    libraries.dedup();
    Ok(libraries)
}

/// The libraries that the loader would load for a program: names, and files where it finds them.
fn loaded(file: &Path) -> Vec<(String, Option<PathBuf>)> {
    let listed = Command::new("ldd").arg(file).output();
    let text = listed.map(|listed| String::from_utf8_lossy(&listed.stdout).into_owned());
    let line = |line: &str| {
        let (name, place) = line.trim().split_once(" => ")?;
        let place = place.split(" (").next().filter(|place| place.starts_with('/'));
        Some((name.to_string(), place.map(PathBuf::from)))
    };
    text.unwrap_or_default().lines().filter_map(line).collect()
}

/// The functions that our library exports, and those of them that only say that they are missing.
fn functions_of(library: &Path) -> Result<(BTreeSet<String>, BTreeSet<String>), String> {
    use object::ObjectSection;
    let bytes = read(library)?;
    let parsed = parse(library, &bytes)?;
    let mut there = BTreeSet::new();
    let mut missing = BTreeSet::new();
    for symbol in parsed.dynamic_symbols() {
        let Ok(name) = symbol.name() else { continue };
        if name == MISSING {
            let section = symbol
                .section_index()
                .and_then(|index| parsed.section_by_index(index).ok());
            let text = section
                .and_then(|section| section.data_range(symbol.address(), symbol.size()).ok().flatten());
            let text = String::from_utf8_lossy(text.unwrap_or_default()).into_owned();
            missing.extend(
                text.lines()
                    .flat_map(|name| [name.to_string(), format!("P{name}")]),
            );
        } else if symbol.is_definition() && is_function(name) {
            there.insert(name.to_string());
        }
    }
    Ok((there, missing))
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error: io::Error| format!("{}: {error}", file.display()))
}

fn parse<'a>(file: &Path, bytes: &'a [u8]) -> Result<object::File<'a>, String> {
    object::File::parse(bytes).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_binding() {
        assert!(is_function("MPI_Send") && is_function("PMPI_Send") && is_function("MPIX_Comm_revoke"));
        assert!(
            !is_function("MPI_COMM_WORLD")
                && !is_function("ompi_mpi_comm_world")
                && !is_function("mpi_send_")
        );
        assert!(is_fortran("mpi_send_") && !is_fortran("mpi_helper"));
    }

    #[test]
    fn names_of_libraries_tell_the_abi() {
        for (name, library) in [
            ("libmpi.so.12", Some(NeededLibrary::Mpich)),
            ("libmpich.so.12", Some(NeededLibrary::Mpich)),
            ("libmpi.so.40", Some(NeededLibrary::OpenMpi)),
            ("libmpi_abi.so.1", Some(NeededLibrary::StandardAbi)),
            ("libmpi_abi.so.0", Some(NeededLibrary::StandardAbi)),
            ("libpmpi_abi.so.1", Some(NeededLibrary::StandardAbi)),
            ("libm.so.6", None),
        ] {
            assert_eq!(NeededLibrary::named(name), library, "{name}");
        }
    }

    #[test]
    fn a_program_has_one_abi() {
        use NeededLibrary::{Both, Mpich, OpenMpi, StandardAbi};
        for (named, library) in [
            (vec![], NeededLibrary::None),
            (vec![Mpich, Mpich], Mpich),
            (vec![StandardAbi], StandardAbi),
            (vec![Mpich, StandardAbi], Both),
            (vec![StandardAbi, OpenMpi], OpenMpi),
        ] {
            assert_eq!(needed(&named), library, "{named:?}");
        }
    }
}
