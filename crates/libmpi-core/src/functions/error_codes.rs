//! Error classes, codes and strings (MPI 4.1, sections 9.4 and 9.5).

use std::ffi::{c_char, c_int};

use super::{functions, put, put_text, text_of};
use crate::abi;
use crate::failure::Outcome;
use crate::process::{self, Process};

/// Adds a class or a code, which the attribute of the last one tells.
fn add(make: impl FnOnce(&mut Process) -> Outcome<c_int>) -> Outcome<c_int> {
    process::with(|p| {
        let made = make(p)?;
        p.attributes.note_error_code(made);
        Ok(made)
    })
}

/// Takes one back.
fn remove(code: c_int, is_class: bool) -> Outcome<()> {
    process::with(|p| p.error_codes.remove(code, is_class))
}

functions! {
    fn MPI_Error_class(code: c_int, class: *mut c_int) {
        put(class, process::with(|p| p.error_codes.class(code))?)
    }

    fn MPI_Error_string(code: c_int, text: *mut c_char, length: *mut c_int) {
        let own = process::with(|p| p.error_codes.text(code))?;
        put_text(&own, text, abi::MAX_ERROR_STRING, length)
    }

    fn MPI_Add_error_class(class: *mut c_int) {
        put(class, add(|p| Ok(p.error_codes.add_class()))?)
    }

    fn MPI_Add_error_code(class: c_int, code: *mut c_int) {
        put(code, add(|p| p.error_codes.add_code(class))?)
    }

    fn MPI_Add_error_string(code: c_int, text: *const c_char) {
        let text = text_of(text);
        process::with(|p| p.error_codes.set_text(code, text))
    }

    fn MPI_Remove_error_class(class: c_int) {
        remove(class, true)
    }

    fn MPI_Remove_error_code(code: c_int) {
        remove(code, false)
    }

    fn MPI_Remove_error_string(code: c_int) {
        process::with(|p| p.error_codes.remove_text(code))
    }
}
