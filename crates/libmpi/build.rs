//! Writes the C functions with the ABI of MPICH, and gives the library the name under which programs ask the dynamic
//! loader for it.

#[path = "../libmpi-core/table.rs"]
mod table;

use table::{Argument, Passing};

/// Handles and constants are those of the inside, so arguments are passed as they are.
fn passing(argument: &Argument, is_large: bool) -> Passing {
    let name = &argument.name;
    let same = name.clone();
    match &*argument.role {
        "count" if is_large => Passing::plain("i64", same),
        "aint" => Passing::plain("isize", format!("word({name})")),
        "wide" | "displacement" => Passing::plain("i64", format!("word({name})")),
        "file" => Passing::plain("*mut c_void", same),
        "reduction" if is_large => Passing::plain("usize", format!("callbacks::large_reduction({name})")),
        role @ ("reduction" | "copy" | "delete" | "handler" | "query" | "free" | "cancel") => {
            Passing::plain("usize", format!("callbacks::{role}({name})"))
        }
        "pointer" | "buffer" | "weights" | "status" => {
            Passing::plain("*mut c_void", format!("{name}.cast()"))
        }
        role if role.ends_with('>') || argument.length.is_some() => {
            Passing::plain("*mut c_void", format!("{name}.cast()"))
        }
        _ => Passing::plain("c_int", same),
    }
}

fn main() {
    table::write_functions(passing, "code");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system != "linux") {
        return;
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpi.so.12");
}
