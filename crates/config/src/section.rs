//! One table of settings, read key by key.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use elsa::FrozenBTreeMap;
use serde_json::{Map, Value as Json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, Location, nearest};
use crate::parameter::{DefaultValue, Parameter};
use crate::quantity::{Bandwidth, Bytes, Duration};

/// A setting as written.
#[derive(Clone, Debug)]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// A number with a decimal point.
    Float(f64),
    /// true or false.
    Boolean(bool),
    /// A quoted string.
    String(String),
    /// A list.
    List(Vec<Value>),
    /// A table.
    Table(Box<Section>),
    /// A list of tables, `[[name]]`.
    Tables(Vec<Section>),
}

impl Value {
    /// The value as a message quotes it: `"text"`, `12`, `a table`.
    fn quoted(&self) -> String {
        match self {
            Value::Integer(i) => i.to_string(),
            Value::Float(x) => x.to_string(),
            Value::Boolean(b) => b.to_string(),
            Value::String(s) => format!("\"{s}\""),
            Value::List(_) => "a list".into(),
            Value::Table(_) => "a table".into(),
            Value::Tables(_) => "a list of tables".into(),
        }
    }
}

/// A type that a setting can have.
pub trait Setting: Sized {
    /// What a message says was expected, for example `a whole number`.
    const EXPECTED: &'static str;
    /// Reads the value; the error says what is wrong with it.
    fn read(value: &Value) -> Result<Self, String>;
    /// The value as it is printed back in the result.
    fn show(&self) -> Json;
}

fn unexpected<T: Setting>(value: &Value) -> String {
    format!("{} is not {}", value.quoted(), T::EXPECTED)
}

macro_rules! whole_number {
    ($($type:ty),*) => {$(
        impl Setting for $type {
            const EXPECTED: &'static str = "a whole number";
            fn read(value: &Value) -> Result<Self, String> {
                let Value::Integer(i) = value else { return Err(unexpected::<Self>(value)) };
                <$type>::try_from(*i).map_err(|_| {
                    format!("{i} is out of range; expected {} to {}", <$type>::MIN, <$type>::MAX)
                })
            }
            fn show(&self) -> Json {
                Json::from(*self)
            }
        }
    )*};
}
whole_number!(u8, u16, u32, u64, i32, i64);

impl Setting for f64 {
    const EXPECTED: &'static str = "a number";
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Integer(i) => Ok(*i as f64),
            Value::Float(x) if x.is_finite() => Ok(*x),
            _ => Err(unexpected::<Self>(value)),
        }
    }
    fn show(&self) -> Json {
        Json::from(*self)
    }
}

impl Setting for bool {
    const EXPECTED: &'static str = "true or false";
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Boolean(b) => Ok(*b),
            _ => Err(unexpected::<Self>(value)),
        }
    }
    fn show(&self) -> Json {
        Json::from(*self)
    }
}

impl Setting for String {
    const EXPECTED: &'static str = "a string in quotes";
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(s) => Ok(s.clone()),
            _ => Err(unexpected::<Self>(value)),
        }
    }
    fn show(&self) -> Json {
        Json::from(self.as_str())
    }
}

impl<T: Setting> Setting for Vec<T> {
    const EXPECTED: &'static str = "a list in brackets";
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::List(items) => items.iter().map(T::read).collect(),
            _ => Err(format!(
                "{}, each item {}",
                unexpected::<Self>(value),
                T::EXPECTED
            )),
        }
    }
    fn show(&self) -> Json {
        Json::Array(self.iter().map(T::show).collect())
    }
}

/// One number for all of several parts, or a list with one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OneOrEach {
    /// The same for all.
    One(u32),
    /// One for each, in their order.
    Each(Vec<u32>),
}

impl Setting for OneOrEach {
    const EXPECTED: &'static str = "a whole number or a list of whole numbers";
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Integer(_) => u32::read(value).map(OneOrEach::One),
            Value::List(_) => Vec::read(value).map(OneOrEach::Each),
            _ => Err(unexpected::<Self>(value)),
        }
    }
    fn show(&self) -> Json {
        match self {
            OneOrEach::One(number) => number.show(),
            OneOrEach::Each(numbers) => numbers.show(),
        }
    }
}

/// A name for all or none of several things, or a list of some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameOrSome {
    /// What a name stands for.
    Name(String),
    /// These.
    Some(Vec<u32>),
}

impl Setting for NameOrSome {
    const EXPECTED: &'static str = "a string in quotes or a list of whole numbers";
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(_) => String::read(value).map(NameOrSome::Name),
            Value::List(_) => Vec::read(value).map(NameOrSome::Some),
            _ => Err(unexpected::<Self>(value)),
        }
    }
    fn show(&self) -> Json {
        match self {
            NameOrSome::Name(name) => name.show(),
            NameOrSome::Some(numbers) => numbers.show(),
        }
    }
}

macro_rules! quantity {
    ($($type:ty),*) => {$(
        impl Setting for $type {
            const EXPECTED: &'static str = <$type>::EXPECTED;
            fn read(value: &Value) -> Result<Self, String> {
                match value {
                    Value::String(s) => <$type>::parse(s),
                    Value::Integer(_) | Value::Float(_) => {
                        Err(format!("{} has no unit; expected {}", value.quoted(), Self::EXPECTED))
                    }
                    _ => Err(unexpected::<Self>(value)),
                }
            }
            fn show(&self) -> Json {
                Json::from(self.to_string())
            }
        }
    )*};
}
quantity!(Duration, Bandwidth, Bytes);

#[derive(Clone, Debug)]
struct SectionEntry {
    value: Value,
    location: Location,
}

/// One table of settings with its place in the file.
///
/// Reading goes through `&self`, so that several parts can read their own tables of one file; what was
/// asked is remembered inside.
#[derive(Clone)]
pub struct Section {
    path: String,
    location: Location,
    /// What paths in it are relative to; empty for the current folder.
    folder: Arc<Path>,
    entries: BTreeMap<String, SectionEntry>,
    /// Keys that some part asked for, in the order of asking, with the value that holds (null: none).
    asked: RefCell<Map<String, Json>>,
    /// Parameters of the parts that read this table, the latest part last.
    declared: RefCell<Vec<&'static [Parameter]>>,
    /// Stands in for tables that the file leaves out.
    absent: FrozenBTreeMap<String, Box<Section>>,
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section")
            .field("path", &self.path)
            .field("entries", &self.entries)
            .finish_non_exhaustive()
    }
}

impl Section {
    /// Parses a whole TOML file; `file` is the name that messages give. Paths in it are relative to the
    /// current folder.
    ///
    /// # Errors
    /// A syntax error, with its line.
    pub fn from_toml(text: &str, file: &str) -> Result<Section, Error> {
        Section::from_toml_in(Path::new(""), text, file)
    }

    /// Parses a whole TOML file; paths in it, and in overrides, are relative to `folder`.
    ///
    /// # Errors
    /// A syntax error, with its line.
    pub fn from_toml_in(folder: &Path, text: &str, file: &str) -> Result<Section, Error> {
        let lines = Lines::new(text, file.into(), folder.into());
        let table = DeTable::parse(text).map_err(|e| Error {
            location: Some(lines.at(e.span().map_or(0, |s| s.start))),
            key: String::new(),
            message: format!("not valid TOML: {}", e.message()),
        })?;
        table_section("", table.get_ref(), lines.at(0), &lines)
    }

    /// An empty table that stands nowhere; for parts built from code.
    pub fn empty(path: &str) -> Section {
        let location = Location {
            file: "built-in defaults".into(),
            line: 0,
        };
        Section::new(path, location, Path::new("").into())
    }

    fn new(path: &str, location: Location, folder: Arc<Path>) -> Section {
        Section {
            path: path.into(),
            location,
            folder,
            entries: BTreeMap::new(),
            asked: RefCell::default(),
            declared: RefCell::default(),
            absent: FrozenBTreeMap::default(),
        }
    }

    /// Overrides one key: `set("network.topology.groups", "9")`, as `--set` does. The value is read as
    /// TOML, or as a string if it is not TOML. `job.0.traffic.load` reaches into a list of tables.
    ///
    /// # Errors
    /// A path that leads through something that is not a table.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), Error> {
        let location = Location {
            file: "--set".into(),
            line: 0,
        };
        let fail = |message: String| Error {
            location: Some(location.clone()),
            key: path.into(),
            message,
        };
        let (parents, key) = path.rsplit_once('.').unwrap_or(("", path));
        if key.is_empty() || path.split('.').any(str::is_empty) {
            return Err(fail("expected a key such as network.packet".into()));
        }
        let folder = self.folder.clone();
        let mut table = self;
        let mut steps = parents.split('.').filter(|s| !s.is_empty());
        while let Some(step) = steps.next() {
            let here = if table.path.is_empty() {
                step.to_string()
            } else {
                format!("{}.{step}", table.path)
            };
            let entry = table.entries.entry(step.into()).or_insert_with(|| SectionEntry {
                value: Value::Table(Box::new(Section::new(&here, location.clone(), folder.clone()))),
                location: location.clone(),
            });
            table = match &mut entry.value {
                Value::Table(next) => next,
                Value::Tables(list) => {
                    let count = list.len();
                    let index = steps
                        .next()
                        .and_then(|s| s.parse::<usize>().ok())
                        .filter(|i| *i < count);
                    let Some(index) = index else {
                        return Err(fail(format!(
                            "'{here}' is a list of {count}; expected {here}.0 to {here}.{}",
                            count - 1
                        )));
                    };
                    &mut list[index]
                }
                _ => return Err(fail(format!("'{here}' is not a table"))),
            };
        }
        let full = if table.path.is_empty() {
            key.to_string()
        } else {
            format!("{}.{key}", table.path)
        };
        let file: Arc<str> = "--set".into();
        let as_toml = format!("v = {value}");
        let lines = Lines {
            starts: vec![],
            file,
            folder,
        };
        let value = match DeTable::parse(&as_toml) {
            Ok(parsed) if parsed.get_ref().len() == 1 => {
                let (_, item) = parsed.get_ref().iter().next().expect("one key");
                read_value(&full, item, &lines)?
            }
            _ => Value::String(value.into()),
        };
        table.entries.insert(key.into(), SectionEntry { value, location });
        Ok(())
    }

    /// Full path of this table, for example `network.topology`; empty for the file itself.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the file (or an override) gives this key.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Where the key stands, or the table if the key is not given.
    pub fn location(&self, key: &str) -> Location {
        self.entries
            .get(key)
            .map_or(&self.location, |e| &e.location)
            .clone()
    }

    /// An error about this key (`""`: about the table), with its place.
    pub fn error(&self, key: &str, message: impl Into<String>) -> Error {
        Error {
            location: Some(self.location(key)),
            key: self.full(key),
            message: message.into(),
        }
    }

    fn full(&self, key: &str) -> String {
        match (self.path.as_str(), key) {
            ("", key) => key.into(),
            (path, "") => path.into(),
            (path, key) => format!("{path}.{key}"),
        }
    }

    fn note(&self, key: &str, shown: Json) {
        self.asked.borrow_mut().insert(key.into(), shown);
    }

    /// The value of `key`, or nothing if it is not given.
    ///
    /// # Errors
    /// The value is not a `T`.
    pub fn optional<T: Setting>(&self, key: &str) -> Result<Option<T>, Error> {
        let Some(entry) = self.entries.get(key) else {
            self.note(key, Json::Null);
            return Ok(None);
        };
        let value = T::read(&entry.value).map_err(|message| self.error(key, message))?;
        self.note(key, value.show());
        Ok(Some(value))
    }

    /// Makes known the parameters of a part that is about to read this table with [`get`](Section::get) and
    /// [`choice`](Section::choice). Of two with the same name, the latest counts.
    pub fn declare(&self, parameters: &'static [Parameter]) -> &Section {
        self.declared.borrow_mut().push(parameters);
        self
    }

    /// The declared parameter `key`.
    ///
    /// # Panics
    /// No part declared it.
    fn declared(&self, key: &str) -> Parameter {
        let declared = self.declared.borrow();
        let mut all = declared.iter().rev().copied().flatten();
        *all.find(|parameter| parameter.name == key)
            .unwrap_or_else(|| panic!("{}: not a declared parameter", self.full(key)))
    }

    /// The value of the declared parameter `key`, or its default.
    ///
    /// # Errors
    /// It is required and missing, or the value is not a `T`.
    ///
    /// # Panics
    /// No part [declared](Section::declare) it, or its default is computed or no `T`.
    pub fn get<T: Setting>(&self, key: &str) -> Result<T, Error> {
        match self.declared(key).default {
            DefaultValue::Required => self.required(key),
            default => {
                let value = default.value().map(|value| T::read(&value));
                let Some(Ok(value)) = value else {
                    panic!("{}: its default is not {}", self.full(key), T::EXPECTED)
                };
                self.or(key, value)
            }
        }
    }

    /// The value of `key`, or `default`.
    ///
    /// # Errors
    /// The value is not a `T`.
    pub fn or<T: Setting>(&self, key: &str, default: T) -> Result<T, Error> {
        let value = self.optional(key)?.unwrap_or(default);
        self.note(key, value.show());
        Ok(value)
    }

    /// The value of `key`, which must be given.
    ///
    /// # Errors
    /// It is missing, or not a `T`.
    pub fn required<T: Setting>(&self, key: &str) -> Result<T, Error> {
        self.optional(key)?.ok_or_else(|| {
            let written: Vec<&str> = self.entries.keys().map(String::as_str).collect();
            let guess = match nearest(key, written.iter().copied()) {
                g if g.starts_with("; did you mean") => format!(
                    "; found {} instead",
                    g.trim_start_matches("; did you mean ").trim_end_matches('?')
                ),
                _ => String::new(),
            };
            self.error(key, format!("missing; expected {}{guess}", T::EXPECTED))
        })
    }

    /// The path that `key` gives, from the folder that the file's paths are relative to; nothing if it is not
    /// given.
    ///
    /// # Errors
    /// Not a string.
    pub fn optional_path(&self, key: &str) -> Result<Option<PathBuf>, Error> {
        let path: Option<String> = self.optional(key)?;
        Ok(path.map(|path| self.folder.join(path)))
    }

    /// The choice that the declared parameter `key` gives, or its default.
    ///
    /// # Errors
    /// Not a string, or not one of the choices; the nearest is suggested.
    ///
    /// # Panics
    /// No part [declared](Section::declare) it with choices and a default.
    pub fn choice(&self, key: &str) -> Result<&'static str, Error> {
        self.choice_of(key, self.declared(key).kind.choices().unwrap_or_default())
    }

    /// As [`choice`](Section::choice), where only some of the choices are possible.
    ///
    /// # Errors
    /// Not a string, or not one of the names; the nearest is suggested.
    ///
    /// # Panics
    /// No part [declared](Section::declare) it with a default.
    pub fn choice_of(&self, key: &str, names: &'static [&'static str]) -> Result<&'static str, Error> {
        match self.declared(key).default {
            DefaultValue::Text(default) => self.choice_or(key, default, names),
            _ => panic!("{}: its default is not a text", self.full(key)),
        }
    }

    /// One of a fixed set of names, or `default`.
    ///
    /// # Errors
    /// Not a string, or not one of the names; the nearest is suggested.
    pub fn choice_or<'n>(&self, key: &str, default: &'n str, names: &[&'n str]) -> Result<&'n str, Error> {
        let name = self.or(key, default.to_string())?;
        match names.iter().find(|n| **n == name) {
            Some(name) => Ok(name),
            None => Err(self.unknown_name(key, &name, names.iter().copied())),
        }
    }

    /// The error for a name that is none of `known`.
    pub fn unknown_name<'a>(&self, key: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Error {
        self.error(key, format!("unknown name '{name}'{}", nearest(name, known)))
    }

    /// Keys of this table in alphabetical order, for tables whose keys the user invents.
    pub fn keys(&self) -> Vec<String> {
        self.entries.keys().cloned().collect()
    }

    /// The table under `key`; an empty one if it is not given.
    ///
    /// # Errors
    /// Something else than a table is given.
    pub fn section(&self, key: &str) -> Result<&Section, Error> {
        match self.entries.get(key) {
            Some(SectionEntry {
                value: Value::Table(section),
                ..
            }) => {
                self.note(key, Json::Null);
                Ok(section)
            }
            Some(entry) => Err(self.error(key, format!("{} is not a table", entry.value.quoted()))),
            None => {
                self.note(key, Json::Null);
                Ok(self.absent.get(key).unwrap_or_else(|| {
                    let empty = Section::new(&self.full(key), self.location.clone(), self.folder.clone());
                    self.absent.insert(key.into(), Box::new(empty))
                }))
            }
        }
    }

    /// The tables of `[[key]]`; none if it is not given.
    ///
    /// # Errors
    /// Something else than a list of tables is given.
    pub fn sections(&self, key: &str) -> Result<&[Section], Error> {
        self.note(key, Json::Null);
        match self.entries.get(key) {
            None => Ok(&[]),
            Some(SectionEntry {
                value: Value::Tables(list),
                ..
            }) => Ok(list),
            Some(entry) => Err(self.error(
                key,
                format!(
                    "{} is not a list of tables; write [[{}]]",
                    entry.value.quoted(),
                    self.full(key)
                ),
            )),
        }
    }

    /// All of this table, for those whose keys and values the user invents.
    ///
    /// # Errors
    /// A number that is infinite or none.
    pub fn everything(&self) -> Result<Map<String, Json>, Error> {
        let mut all = Map::new();
        for (key, entry) in &self.entries {
            let value = self.plain(key, &entry.value)?;
            self.note(key, value.clone());
            all.insert(key.clone(), value);
        }
        Ok(all)
    }

    fn plain(&self, key: &str, value: &Value) -> Result<Json, Error> {
        Ok(match value {
            Value::Integer(i) => Json::from(*i),
            Value::Float(x) if x.is_finite() => Json::from(*x),
            Value::Float(x) => return Err(self.error(key, format!("{x} is no finite number"))),
            Value::Boolean(b) => Json::from(*b),
            Value::String(s) => Json::from(s.as_str()),
            Value::List(items) => Json::Array(
                items
                    .iter()
                    .map(|item| self.plain(key, item))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Table(table) => Json::Object(table.everything()?),
            Value::Tables(tables) => Json::Array(
                tables
                    .iter()
                    .map(|table| table.everything().map(Json::Object))
                    .collect::<Result<_, _>>()?,
            ),
        })
    }

    /// Names that parts have asked for, in the order of asking.
    pub fn asked(&self) -> Vec<String> {
        self.asked.borrow().keys().cloned().collect()
    }

    /// Ends reading: every key given must have been asked for, here and in all tables below.
    /// Returns all settings with their defaults.
    ///
    /// # Errors
    /// The first key that nobody asked for, with the nearest that somebody did.
    pub fn finish(&self) -> Result<Json, Error> {
        let asked = self.asked.borrow();
        for (key, entry) in &self.entries {
            if !asked.contains_key(key) {
                return Err(Error {
                    location: Some(entry.location.clone()),
                    key: self.full(key),
                    message: format!(
                        "unknown key '{key}'{}",
                        nearest(key, asked.keys().map(String::as_str))
                    ),
                });
            }
        }
        let mut all = Map::new();
        for (key, shown) in asked.iter() {
            let shown = match self.entries.get(key).map(|e| &e.value) {
                Some(Value::Table(section)) => section.finish()?,
                Some(Value::Tables(list)) => {
                    Json::Array(list.iter().map(Section::finish).collect::<Result<_, _>>()?)
                }
                _ => match self.absent.get(key) {
                    Some(section) => section.finish()?,
                    None => shown.clone(),
                },
            };
            if !shown.is_null() {
                all.insert(key.clone(), shown);
            }
        }
        Ok(Json::Object(all))
    }
}

/// Byte offsets of line starts, to turn a span into a line number; with what else all tables of a file share.
struct Lines {
    starts: Vec<usize>,
    file: Arc<str>,
    folder: Arc<Path>,
}

impl Lines {
    fn new(text: &str, file: Arc<str>, folder: Arc<Path>) -> Lines {
        let starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(i, _)| i + 1))
            .collect();
        Lines { starts, file, folder }
    }

    fn at(&self, offset: usize) -> Location {
        Location {
            file: self.file.clone(),
            line: self.starts.partition_point(|s| *s <= offset) as u32,
        }
    }
}

fn table_section(
    path: &str,
    table: &DeTable<'_>,
    location: Location,
    lines: &Lines,
) -> Result<Section, Error> {
    let mut section = Section::new(path, location, lines.folder.clone());
    for (key, item) in table.iter() {
        let name = key.get_ref().to_string();
        let full = section.full(&name);
        let value = read_value(&full, item, lines)?;
        let location = lines.at(key.span().start);
        section.entries.insert(name, SectionEntry { value, location });
    }
    Ok(section)
}

fn read_value(path: &str, item: &Spanned<DeValue<'_>>, lines: &Lines) -> Result<Value, Error> {
    let location = lines.at(item.span().start);
    let fail = |message: String| Error {
        location: Some(location.clone()),
        key: path.into(),
        message,
    };
    Ok(match item.get_ref() {
        DeValue::String(s) => Value::String(s.to_string()),
        DeValue::Boolean(b) => Value::Boolean(*b),
        DeValue::Integer(i) => Value::Integer(
            i64::from_str_radix(&i.as_str().replace('_', ""), i.radix())
                .map_err(|_| fail(format!("{i} does not fit 64 bits")))?,
        ),
        DeValue::Float(x) => Value::Float(
            x.as_str()
                .replace('_', "")
                .parse()
                .map_err(|_| fail(format!("{x} is not a number")))?,
        ),
        DeValue::Datetime(d) => {
            return Err(fail(format!("{d} is a date; none is expected anywhere")));
        }
        DeValue::Table(table) => Value::Table(Box::new(table_section(path, table, location, lines)?)),
        DeValue::Array(items) => {
            let tables = items.iter().filter(|i| i.get_ref().is_table()).count();
            if tables > 0 && tables == items.iter().count() {
                let sections = items.iter().enumerate().map(|(n, i)| {
                    let table = i.get_ref().as_table().expect("all are tables");
                    table_section(&format!("{path}.{n}"), table, lines.at(i.span().start), lines)
                });
                Value::Tables(sections.collect::<Result<_, _>>()?)
            } else {
                Value::List(
                    items
                        .iter()
                        .map(|i| read_value(path, i, lines))
                        .collect::<Result<_, _>>()?,
                )
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "packet = \"256 B\"\n[link]\nbandwith = \"100 Gbps\"\nlatency = 50\n[[job]]\nname = \"a\"\n";

    fn file() -> Section {
        Section::from_toml(FILE, "x.toml").unwrap()
    }

    #[test]
    fn unknown_key_names_file_line_and_nearest() {
        let file = file();
        let link = file.section("link").unwrap();
        link.or("bandwidth", Bandwidth { bits_per_s: 1 }).unwrap();
        link.optional::<u64>("latency").unwrap();
        let e = link.finish().unwrap_err().to_string();
        assert_eq!(
            e,
            "x.toml:3: link.bandwith: unknown key 'bandwith'; did you mean 'bandwidth'?"
        );
    }

    #[test]
    fn missing_unit_and_missing_key() {
        let file = file();
        let link = file.section("link").unwrap();
        let e = link.required::<Duration>("latency").unwrap_err().to_string();
        assert!(
            e.starts_with("x.toml:4: link.latency: 50 has no unit; expected a time"),
            "{e}"
        );
        let e = link.required::<Bandwidth>("bandwidth").unwrap_err().to_string();
        assert!(
            e.contains("missing") && e.contains("found 'bandwith' instead"),
            "{e}"
        );
    }

    #[test]
    fn syntax_error_has_its_line() {
        let e = Section::from_toml("a = 1\nb = = 2\n", "x.toml").unwrap_err();
        assert_eq!(e.location.unwrap().line, 2);
    }

    #[test]
    fn set_overrides_and_reports_itself() {
        let mut file = file();
        file.set("link.latency", "50 ns").unwrap();
        file.set("job.0.name", "b").unwrap();
        file.set("run.seed", "7").unwrap();
        assert_eq!(
            file.section("link")
                .unwrap()
                .required::<Duration>("latency")
                .unwrap()
                .ps,
            50_000
        );
        assert_eq!(
            file.sections("job").unwrap()[0]
                .required::<String>("name")
                .unwrap(),
            "b"
        );
        assert_eq!(file.section("run").unwrap().required::<u64>("seed").unwrap(), 7);
        assert!(
            file.set("job.3.name", "b")
                .unwrap_err()
                .to_string()
                .contains("list of 1")
        );
        assert!(
            file.set("packet.x", "b")
                .unwrap_err()
                .to_string()
                .contains("not a table")
        );
        assert!(file.set("", "b").is_err());
        assert!(file.set("a..b", "b").is_err());
        file.set("link.latency", "50").unwrap();
        let e = file
            .section("link")
            .unwrap()
            .required::<Duration>("latency")
            .unwrap_err();
        assert!(e.to_string().starts_with("--set: link.latency"), "{e}");
    }

    #[test]
    fn paths_are_relative_to_the_folder_of_the_file() {
        let text = "[a]\nfile = \"net.txt\"\n[[b]]\nfile = \"/net.txt\"\n";
        let mut root = Section::from_toml_in(Path::new("some/where"), text, "x.toml").unwrap();
        root.set("a.other", "../o.txt").unwrap();
        root.set("c.file", "c.txt").unwrap();
        let path = |section: &Section, key: &str| section.optional_path(key).unwrap();
        let a = root.section("a").unwrap();
        assert_eq!(path(a, "file"), Some("some/where/net.txt".into()));
        assert_eq!(path(a, "other"), Some("some/where/../o.txt".into()));
        assert_eq!(path(a, "none"), None);
        assert_eq!(
            path(&root.sections("b").unwrap()[0], "file"),
            Some("/net.txt".into())
        );
        assert_eq!(
            path(root.section("c").unwrap(), "file"),
            Some("some/where/c.txt".into())
        );
        let absent = root.section("d").unwrap();
        assert_eq!(path(absent, "file"), None);
        assert_eq!(a.asked(), ["file", "other", "none"]);
        let here = Section::from_toml(text, "x.toml").unwrap();
        assert_eq!(path(here.section("a").unwrap(), "file"), Some("net.txt".into()));
    }

    #[test]
    fn one_number_or_a_list_is_read_and_printed_back() {
        let file = Section::from_toml("a = 2\nb = [1, 2]\nc = \"2\"\nd = [-1]", "x.toml").unwrap();
        assert_eq!(file.required::<OneOrEach>("a").unwrap(), OneOrEach::One(2));
        let each = file.required::<OneOrEach>("b").unwrap();
        assert_eq!(each, OneOrEach::Each(vec![1, 2]));
        assert_eq!(each.show().to_string(), "[1,2]");
        assert_eq!(OneOrEach::One(2).show().to_string(), "2");
        assert!(file.required::<OneOrEach>("c").is_err());
        assert!(file.required::<OneOrEach>("d").is_err());
    }

    #[test]
    fn finish_returns_every_default() {
        let file = Section::from_toml("[run]\nseed = 3\n", "x.toml").unwrap();
        let run = file.section("run").unwrap();
        run.or("seed", 1u64).unwrap();
        run.or("until", Duration { ps: 1_000_000 }).unwrap();
        file.section("network")
            .unwrap()
            .or("packet", Bytes { bytes: 256 })
            .unwrap();
        let all = file.finish().unwrap();
        assert_eq!(
            all.to_string(),
            r#"{"run":{"seed":3,"until":"1 us"},"network":{"packet":"256 B"}}"#
        );
    }

    #[test]
    fn tables_of_invented_keys_are_read_whole() {
        let text = "[a]\nn = 3\nx = 0.5\nl = [1, \"b\", { c = true }]\nt = { d = [{ e = 1 }] }\n";
        let file = Section::from_toml(text, "x.toml").unwrap();
        let all = file.section("a").unwrap().everything().unwrap();
        let expected = r#"{"l":[1,"b",{"c":true}],"n":3,"t":{"d":[{"e":1}]},"x":0.5}"#;
        assert_eq!(Json::Object(all).to_string(), expected);
        assert_eq!(file.finish().unwrap()["a"].to_string(), expected);
        let file = Section::from_toml("[a]\nl = [1, inf]", "x.toml").unwrap();
        let error = file.section("a").unwrap().everything().unwrap_err();
        assert_eq!(error.to_string(), "x.toml:2: a.l: inf is no finite number");
    }
}
