//! Writes the C functions with the standard ABI of MPI 5.0 and the tables of its constants, and gives the library the
//! name under which programs ask the dynamic loader for it.

#[path = "../libmpi-core/table.rs"]
mod table;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use table::{Argument, Passing};

/// The kinds of handles.
const HANDLES: [&str; 10] = [
    "comm",
    "group",
    "datatype",
    "op",
    "errhandler",
    "info",
    "request",
    "message",
    "session",
    "win",
];

/// An argument that an object of the crate translates before the call, and after it where it is written.
fn translated(argument: &'static str, name: &str, made: String, is_written: bool) -> Passing {
    Passing {
        argument,
        before: format!("let mut {name} = {made};"),
        value: format!("{name}.pointer()"),
        after: match is_written {
            true => format!("{name}.finish();"),
            false => String::new(),
        },
    }
}

/// The length of an array.
fn length_of(length: &str) -> String {
    match length {
        "members" => "block_count(handle_in(comm))".into(),
        "sources" => "neighbor_counts(handle_in(comm)).0".into(),
        "destinations" => "neighbor_counts(handle_in(comm)).1".into(),
        argument => format!("length({argument})"),
    }
}

fn passing(argument: &Argument, is_large: bool) -> Passing {
    let name = &argument.name;
    let (role, direction) = match argument.role.split_once(['>', '<']) {
        None => (&*argument.role, "given"),
        Some((role, "")) => (role, "written"),
        Some((role, _)) => (role, "changed"),
    };
    let is_written = direction != "given";
    let kind = if role == "message" { "message" } else { "handle" };
    if let Some(length) = &argument.length {
        let length = length_of(length);
        return match role {
            "status" => translated(
                "*mut StandardStatus",
                name,
                format!("Statuses::new({name}, {length})"),
                true,
            ),
            "rank" | "distribution" | "argument" => {
                let made = format!("Integers::{direction}({name}, {length}, {role}_in, {role}_out)");
                translated("*mut c_int", name, made, is_written)
            }
            _ => translated(
                "*mut usize",
                name,
                format!("Handles::{direction}({name}, {length})"),
                is_written,
            ),
        };
    }
    match role {
        "int" => Passing::plain("c_int", name.clone()),
        "count" if is_large => Passing::plain("i64", name.clone()),
        "count" => Passing::plain("c_int", name.clone()),
        "aint" => Passing::plain("isize", format!("word({name})")),
        "wide" => Passing::plain("i64", format!("word({name})")),
        "displacement" => Passing::plain("i64", format!("displacement_in({name})")),
        "pointer" => Passing::plain("*mut c_void", format!("{name}.cast()")),
        "buffer" if is_written => Passing {
            after: format!("if code == 0 {{ buffer_out({name}) }}"),
            ..Passing::plain("*mut c_void", format!("{name}.cast()"))
        },
        "buffer" | "weights" => Passing::plain("*mut c_void", format!("{role}_in({name}).cast()")),
        "reduction" if is_large => Passing::plain("usize", format!("callbacks::large_reduction({name})")),
        "reduction" | "copy" | "delete" | "handler" | "query" | "free" | "cancel" => {
            Passing::plain("usize", format!("callbacks::{role}({name})"))
        }
        "status" if is_written => translated(
            "*mut StandardStatus",
            name,
            format!("OneStatus::{direction}({name})"),
            true,
        ),
        "status" => translated(
            "*mut StandardStatus",
            name,
            format!("OneStatus::changed({name})"),
            false,
        ),
        "attribute" => Passing {
            after: format!("if code == 0 {{ attribute_out(keyval, {name}) }}"),
            ..Passing::plain("*mut c_void", name.clone())
        },
        "integers" => Passing {
            after: format!("if code == 0 {{ contents_out(datatype, {name}) }}"),
            ..Passing::plain("*mut c_int", name.clone())
        },
        "file" if is_written => translated(
            "*mut usize",
            name,
            format!("FileHandle::{direction}({name})"),
            true,
        ),
        "file" => Passing::plain("usize", format!("file_in({name})")),
        role if HANDLES.contains(&role) => match is_written {
            true => translated(
                "*mut usize",
                name,
                format!("Handle::{direction}({name}, {kind}_out)"),
                true,
            ),
            false => Passing::plain("usize", format!("handle_in({name})")),
        },
        role if is_written => {
            let made = format!("Integer::{direction}({name}, {role}_in, {role}_out)");
            translated("*mut c_int", name, made, true)
        }
        role => Passing::plain("c_int", format!("{role}_in({name})")),
    }
}

/// Writes the constants as a slice for each role, of values in the standard ABI and in that of MPICH.
fn write_constants() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("constants.txt");
    let mut roles: BTreeMap<String, Vec<(i64, i64)>> = BTreeMap::new();
    for line in table::lines(&file) {
        let words: Vec<&str> = line.split(' ').collect();
        let value = |word: &str| match word.strip_prefix("0x") {
            Some(digits) => i64::from(u32::from_str_radix(digits, 16).expect("a handle") as i32),
            None => word.parse().expect("a number"),
        };
        roles
            .entry(words[0].to_uppercase())
            .or_default()
            .push((value(words[2]), value(words[3])));
    }
    let mut out = String::new();
    for (role, pairs) in roles {
        let _ = writeln!(out, "pub(crate) const {role}: &[(i32, i32)] = &{pairs:?};");
    }
    let folder = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&folder).join("constants.rs"), out).expect("the file can be written");
}

fn main() {
    write_constants();
    table::write_functions(passing, "code_out(code)");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system != "linux") {
        return;
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
}
