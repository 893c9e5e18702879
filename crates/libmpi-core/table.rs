//! For build scripts: reads `functions.txt`, and writes C functions that call those of the library's inside.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// An argument of a function.
pub struct Argument {
    pub name: String,
    /// With `>` or `<>`, without a length.
    pub role: String,
    /// Of an array.
    pub length: Option<String>,
}

/// A line of the table.
pub struct Row {
    pub name: String,
    pub has_large: bool,
    pub arguments: Vec<Argument>,
}

/// How a C function passes an argument on.
pub struct Passing {
    /// Its type in C, as a type of Rust.
    pub argument: &'static str,
    /// A statement before the call.
    pub before: String,
    /// What is passed.
    pub value: String,
    /// A statement after the call, which has the return value as `code`.
    pub after: String,
}

impl Passing {
    /// Without statements.
    pub fn plain(argument: &'static str, value: String) -> Passing {
        Passing {
            argument,
            before: String::new(),
            value,
            after: String::new(),
        }
    }
}

/// The words that Rust keeps for itself are no names of arguments.
fn named(name: &str) -> String {
    match name {
        "type" => "kind".into(),
        name => name.into(),
    }
}

fn argument(text: &str) -> Argument {
    let (name, role) = text.split_once(": ").expect("a name and a role");
    let (role, length) = match role.split_once('[') {
        Some((role, length)) => (role, Some(named(length.trim_end_matches(']')))),
        None => (role, None),
    };
    Argument {
        name: named(name),
        role: role.into(),
        length,
    }
}

/// The lines of a file of the crate `libmpi-core` or of another one, without comments.
pub fn lines(file: &Path) -> Vec<String> {
    println!("cargo::rerun-if-changed={}", file.display());
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let is_said = |line: &&str| !line.is_empty() && !line.starts_with('#');
    text.lines().filter(is_said).map(String::from).collect()
}

fn core(file: &str) -> Vec<String> {
    lines(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../libmpi-core")
            .join(file),
    )
}

fn rows() -> Vec<Row> {
    let row = |line: String| {
        let (name, arguments) = line.split_once('(').expect("arguments in parentheses");
        let arguments = arguments
            .trim_end_matches(')')
            .split(", ")
            .filter(|text| !text.is_empty());
        Row {
            name: name.trim_end_matches("+c").into(),
            has_large: name.ends_with("+c"),
            arguments: arguments.map(argument).collect(),
        }
    };
    core("functions.txt").into_iter().map(row).collect()
}

/// Writes one C function, with its name of the profiling interface.
fn write_function(
    out: &mut String,
    row: &Row,
    is_large: bool,
    passing: fn(&Argument, bool) -> Passing,
    code: &str,
) {
    let passed: Vec<Passing> = row.arguments.iter().map(|own| passing(own, is_large)).collect();
    let names: Vec<&str> = row.arguments.iter().map(|own| &*own.name).collect();
    let list = |texts: Vec<String>| texts.join(", ");
    let typed = list(
        names
            .iter()
            .zip(&passed)
            .map(|(name, own)| format!("{name}: {}", own.argument))
            .collect(),
    );
    let values = list(passed.iter().map(|own| own.value.clone()).collect());
    let (before, after): (String, String) = (
        passed.iter().map(|own| &*own.before).collect(),
        passed.iter().map(|own| &*own.after).collect(),
    );
    let (form, end) = if is_large {
        ("LargeFunctions", "_c")
    } else {
        ("Functions", "")
    };
    let name = &row.name;
    let names = names.join(", ");
    let _ = write!(
        out,
        "const _: () = {{
            unsafe fn call({typed}) -> c_int {{ unsafe {{
                {before}
                let code = {form}::{name}({values});
                {after}
                {code}
            }} }}
            #[unsafe(no_mangle)]
            unsafe extern \"C\" fn {name}{end}({typed}) -> c_int {{ unsafe {{ call({names}) }} }}
            #[unsafe(no_mangle)]
            unsafe extern \"C\" fn P{name}{end}({typed}) -> c_int {{ unsafe {{ call({names}) }} }}
        }};\n"
    );
}

/// Writes the functions that are missing, and their names for who asks before a run: one in a line.
fn write_missing(out: &mut String, code: &str) {
    let missing = core("missing.txt");
    for name in &missing {
        let _ = write!(
            out,
            "const _: () = {{
                fn call() -> c_int {{ let code = refuse(\"{name}\"); {code} }}
                #[unsafe(no_mangle)]
                extern \"C\" fn {name}() -> c_int {{ call() }}
                #[unsafe(no_mangle)]
                extern \"C\" fn P{name}() -> c_int {{ call() }}
            }};\n"
        );
    }
    let names: String = missing.iter().map(|name| format!("{name}\\n")).collect();
    let length: usize = missing.iter().map(|name| name.len() + 1).sum();
    let _ = writeln!(
        out,
        "#[unsafe(no_mangle)]\nstatic FABRICSIM_MISSING: [u8; {length}] = *b\"{names}\";"
    );
}

/// Writes the functions of both libraries to the file `functions.rs` of the build. `code` makes the return value of
/// what a function of the inside has returned.
pub fn write_functions(passing: fn(&Argument, bool) -> Passing, code: &str) {
    println!(
        "cargo::rerun-if-changed={}/../libmpi-core/table.rs",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut out = String::new();
    for row in rows() {
        write_function(&mut out, &row, false, passing, code);
        if row.has_large {
            write_function(&mut out, &row, true, passing, code);
        }
    }
    write_missing(&mut out, code);
    let folder = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&folder).join("functions.rs"), out).expect("the file can be written");
}
