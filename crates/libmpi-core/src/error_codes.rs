//! Error classes, codes and strings that the program adds (MPI 4.1, section 9.5).

use std::collections::BTreeMap;
use std::ffi::c_int;

use crate::abi::class;
use crate::failure::{Failure, Outcome};

/// `MPI_ERR_LASTCODE`; the classes of the ABI are far below.
const LAST_OF_ABI: c_int = 0x3fff_ffff;

/// The first class or code that a program gets.
const FIRST: c_int = LAST_OF_ABI + 1;

/// Classes of the ABI are below this.
const CLASSES: c_int = 0x80;

/// What the program has added.
#[derive(Debug)]
pub(crate) struct ErrorCodes {
    /// The class of each code; a class is a code of itself.
    classes: BTreeMap<c_int, c_int>,
    texts: BTreeMap<c_int, String>,
    next: c_int,
}

impl Default for ErrorCodes {
    fn default() -> ErrorCodes {
        ErrorCodes {
            classes: BTreeMap::new(),
            texts: BTreeMap::new(),
            next: FIRST,
        }
    }
}

impl ErrorCodes {
    fn is_known(&self, code: c_int) -> bool {
        (0..CLASSES).contains(&code) || self.classes.contains_key(&code)
    }

    fn check_added(&self, code: c_int) -> Outcome<()> {
        match self.classes.contains_key(&code) {
            true => Ok(()),
            false => Err(Failure::new(
                class::ARG,
                format!("the program has not added the error code {code}"),
            )),
        }
    }

    /// A new class.
    pub fn add_class(&mut self) -> c_int {
        let class = self.next;
        self.next += 1;
        self.classes.insert(class, class);
        class
    }

    /// A new code of a class.
    ///
    /// # Errors
    /// There is no such class.
    pub fn add_code(&mut self, class: c_int) -> Outcome<c_int> {
        if !self.is_known(class) {
            return Err(Failure::new(
                class::ARG,
                format!("there is no error class {class}"),
            ));
        }
        let code = self.next;
        self.next += 1;
        self.classes.insert(code, class);
        Ok(code)
    }

    /// Sets the text of a class or code.
    ///
    /// # Errors
    /// The program has not added it.
    pub fn set_text(&mut self, code: c_int, text: String) -> Outcome<()> {
        self.check_added(code)?;
        self.texts.insert(code, text);
        Ok(())
    }

    /// Takes the text of a class or code back.
    ///
    /// # Errors
    /// The program has not added one.
    pub fn remove_text(&mut self, code: c_int) -> Outcome<()> {
        self.check_added(code)?;
        self.texts.remove(&code);
        Ok(())
    }

    /// Takes a code or class back.
    ///
    /// # Errors
    /// The program has not added it, or it has codes.
    pub fn remove(&mut self, code: c_int, is_class: bool) -> Outcome<()> {
        self.check_added(code)?;
        let own = self.classes[&code];
        let is_used = self
            .classes
            .iter()
            .any(|(other, class)| *other != code && *class == code);
        if (own == code) != is_class || is_used || self.texts.contains_key(&code) {
            return Err(Failure::new(
                class::OTHER,
                format!("the error code {code} is in use"),
            ));
        }
        self.classes.remove(&code);
        Ok(())
    }

    /// The class of a code.
    ///
    /// # Errors
    /// There is no such code.
    pub fn class(&self, code: c_int) -> Outcome<c_int> {
        match self.classes.get(&code) {
            Some(class) => Ok(*class),
            None if (0..CLASSES).contains(&code) => Ok(code),
            None => Err(Failure::new(class::ARG, format!("there is no error code {code}"))),
        }
    }

    /// The text of a code.
    ///
    /// # Errors
    /// There is no such code.
    pub fn text(&self, code: c_int) -> Outcome<String> {
        self.class(code)?;
        Ok(match self.texts.get(&code) {
            Some(text) => text.clone(),
            None if code >= FIRST => String::new(),
            None => class::text(code).into(),
        })
    }
}
