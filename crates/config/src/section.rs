//! One table of settings, read key by key.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use elsa::FrozenBTreeMap;
use serde_json::{Map, Value as Json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::alias::stands_for;
use crate::error::{Error, Location, nearest, nearest_key, shortened};
use crate::parameter::{DefaultValue, Parameter};
use crate::quantity::RoundedRate;
use crate::setting::{Setting, Value};

/// Maximum number of tables in each other that an override makes. Files have fewer, by the parser of TOML.
const MOST_LEVELS: usize = 32;

#[derive(Clone, Debug)]
struct SectionEntry {
    value: Value,
    location: Location,
}

/// A table of settings with its location in the file.
///
/// All readers take `&self`, so that several parts can read one file. The section records the keys that they ask for.
#[derive(Clone)]
pub struct Section {
    path: String,
    location: Location,
    /// Base folder of relative paths; empty for the current folder.
    folder: Arc<Path>,
    /// Of all tables of a file.
    mistakes: Arc<Mistakes>,
    entries: BTreeMap<String, SectionEntry>,
    /// Requested keys in the order of the requests, with the value that holds; null for no value.
    asked: RefCell<Map<String, Json>>,
    /// Data rates that were rounded, by the key of this table that gives them.
    rounded: RefCell<BTreeMap<String, Vec<RoundedRate>>>,
    /// Parameters of the parts that read this table; the latest part is last.
    declared: RefCell<Vec<&'static [Parameter]>>,
    /// Empty tables in place of those that the file leaves out.
    absent: FrozenBTreeMap<String, Box<Section>>,
    /// Values of an outer table, for keys that this table leaves out.
    inherited: FrozenBTreeMap<String, Box<SectionEntry>>,
}

/// Mistakes of a file whose reading goes on behind them.
#[derive(Default)]
struct Mistakes {
    /// Whether readers go on behind a wrong value, with the default.
    tolerated: AtomicBool,
    /// Wrong values in place of which readers have the default.
    replaced: Mutex<Vec<Error>>,
    /// Mistakes of single keys that readers returned as errors, also to readers that tried something else then.
    returned: Mutex<Vec<Error>>,
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
    /// Parses a TOML file. `file` is its name in messages. Relative paths start from the current folder.
    ///
    /// # Errors
    /// A syntax error, with its line.
    pub fn from_toml(text: &str, file: &str) -> Result<Section, Error> {
        Section::from_toml_in(Path::new(""), text, file)
    }

    /// Parses a TOML file. Relative paths in it and in overrides start from `folder`.
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

    /// An empty table without a location, for parts that are built from code.
    pub fn empty(path: &str) -> Section {
        let location = Location {
            file: "built-in defaults".into(),
            line: 0,
        };
        Section::new(path, location, Path::new("").into(), Arc::default())
    }

    fn new(path: &str, location: Location, folder: Arc<Path>, mistakes: Arc<Mistakes>) -> Section {
        Section {
            path: path.into(),
            location,
            folder,
            mistakes,
            entries: BTreeMap::new(),
            asked: RefCell::default(),
            rounded: RefCell::default(),
            declared: RefCell::default(),
            absent: FrozenBTreeMap::default(),
            inherited: FrozenBTreeMap::default(),
        }
    }

    /// Overrides one key, as `--set` does: `set("network.topology.groups", "9")`. The value is read as TOML, or as a
    /// string if it is not TOML. `job.0.traffic.load` addresses the first table of the list `job`.
    ///
    /// # Errors
    /// The path leads through a value that is not a table.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), Error> {
        let location = Location {
            file: "--set".into(),
            line: 0,
        };
        self.set_from(path, value, location)
    }

    /// As [`Section::set`], of a value that another file gives at `location`. The path starts at this table.
    ///
    /// # Errors
    /// As [`Section::set`].
    pub fn set_from(&mut self, path: &str, value: &str, location: Location) -> Result<(), Error> {
        let fail = |message: String| Error {
            location: Some(location.clone()),
            key: path.into(),
            message,
        };
        let (parents, key) = path.rsplit_once('.').unwrap_or(("", path));
        if key.is_empty() || path.split('.').any(str::is_empty) {
            return Err(fail("expected a key such as network.packet".into()));
        }
        let levels = path.split('.').count();
        if levels > MOST_LEVELS {
            return Err(Error {
                key: shortened(path),
                ..fail(format!(
                    "{levels} tables in each other; expected at most {MOST_LEVELS}"
                ))
            });
        }
        let (folder, mistakes) = (self.folder.clone(), self.mistakes.clone());
        let mut table = self;
        let mut steps = parents.split('.').filter(|s| !s.is_empty());
        while let Some(step) = steps.next() {
            let here = if table.path.is_empty() {
                step.to_string()
            } else {
                format!("{}.{step}", table.path)
            };
            let entry = table.entries.entry(step.into()).or_insert_with(|| SectionEntry {
                value: Value::Table(Box::new(Section::new(
                    &here,
                    location.clone(),
                    folder.clone(),
                    mistakes.clone(),
                ))),
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
        let file = location.file.clone();
        let as_toml = format!("v = {value}");
        let lines = Lines {
            starts: vec![],
            file,
            folder,
            mistakes,
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

    /// Removes a key of a table of this section, if it is there.
    pub fn remove(&mut self, table: &str, key: &str) {
        if let Some(SectionEntry {
            value: Value::Table(table),
            ..
        }) = self.entries.get_mut(table)
        {
            table.entries.remove(key);
        }
    }

    /// Whether the file or an override gives this key, here or in the table that it is [inherited](Section::inherit)
    /// from.
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Whether the file or an override gives the key at this path, such as `network.link.latency`, which starts at this
    /// table. Unlike the readers, this records no request.
    pub fn gives(&self, path: &str) -> bool {
        match path.split_once('.') {
            None => self.has(path),
            Some((table, rest)) => match self.entries.get(table).map(|entry| &entry.value) {
                Some(Value::Table(table)) => table.gives(rest),
                _ => false,
            },
        }
    }

    /// Takes the value of `key` from another table, with its location, if this table does not give it. For parts in a
    /// list of a table, which share a value of that table.
    pub fn inherit(&self, key: &str, from: &Section) {
        if let Some(entry) = from.entry(key)
            && !self.has(key)
        {
            self.inherited.insert(key.into(), Box::new(entry.clone()));
        }
    }

    fn entry(&self, key: &str) -> Option<&SectionEntry> {
        self.entries.get(key).or_else(|| self.inherited.get(key))
    }

    /// Location of the key, or of the table if the key is not given.
    pub fn location(&self, key: &str) -> Location {
        self.entry(key).map_or(&self.location, |e| &e.location).clone()
    }

    /// An error about this key, with its location. The key `""` stands for the table.
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

    /// Lets the readers of all tables of this file go on behind a wrong value, as if it were not given, so that they
    /// find the other mistakes too. What they read is not used: [`Section::mistakes`] says whether there are any.
    pub fn tolerate_mistakes(&self) {
        self.mistakes.tolerated.store(true, Ordering::Relaxed);
    }

    /// The mistakes behind which readers went on ([`Section::tolerate_mistakes`]), and the errors with which readers
    /// ended, in the order of the file. An error that concerns several keys may be the consequence of a value that was
    /// not used: it is left out if there are others. `None` without mistakes.
    pub fn mistakes(&self, errors: Vec<Error>) -> Option<Vec<Error>> {
        let lock = |list: &Mutex<Vec<Error>>| list.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let returned = lock(&self.mistakes.returned);
        let of_one_key = |error: &&Error| {
            returned
                .iter()
                .any(|known| known.key == error.key && known.location == error.location)
        };
        let mut all = lock(&self.mistakes.replaced);
        all.extend(errors.iter().filter(of_one_key).cloned());
        if all.is_empty() {
            all = errors;
        }
        all.sort_by_key(|mistake| mistake.location.as_ref().map(|location| location.line));
        let mut known = BTreeSet::new();
        all.retain(|mistake| known.insert(mistake.to_string()));
        (!all.is_empty()).then_some(all)
    }

    /// Whether a name in this table, or in a table around it, is wrong: which keys belong to it is then unknown.
    fn is_misread(&self) -> bool {
        let replaced = self
            .mistakes
            .replaced
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        replaced.iter().any(|mistake| {
            let table = mistake.key.rsplit_once('.').map_or("", |(table, _)| table);
            let around = self.path == table || self.path.starts_with(&format!("{table}."));
            around && mistake.message.starts_with("unknown name")
        })
    }

    fn tolerates(&self) -> bool {
        self.mistakes.tolerated.load(Ordering::Relaxed)
    }

    /// Remembers a mistake of one key that the reader returns.
    fn returned(&self, error: Error) -> Error {
        if self.tolerates() {
            let mut all = self
                .mistakes
                .returned
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            all.push(error.clone());
        }
        error
    }

    /// Goes on behind a mistake, or returns it.
    fn replaced(&self, error: Error) -> Result<(), Error> {
        if !self.tolerates() {
            return Err(error);
        }
        let mut all = self
            .mistakes
            .replaced
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.push(error);
        Ok(())
    }

    /// The value of `key`; `None` if it is not given. To accept one type or another, read a [`Setting`] of both: a
    /// wrong type is a mistake of the file.
    ///
    /// # Errors
    /// The value is not a `T`.
    pub fn optional<T: Setting>(&self, key: &str) -> Result<Option<T>, Error> {
        self.given(key).or_else(|error| {
            self.note(key, Json::Null);
            self.replaced(error).map(|()| None)
        })
    }

    /// As [`Section::optional`], but a wrong value always is an error: for a key whose value can be of another type.
    ///
    /// # Errors
    /// The value is not a `T`.
    pub fn given<T: Setting>(&self, key: &str) -> Result<Option<T>, Error> {
        let Some(entry) = self.entry(key) else {
            self.note(key, Json::Null);
            return Ok(None);
        };
        let value = T::read(&entry.value).map_err(|message| self.error(key, message))?;
        self.note(key, value.show());
        self.set_rounded_rates(key, T::rounded_rates(&entry.value));
        Ok(Some(value))
    }

    /// Records the data rates that were rounded where `key` gives them, and sets their key. They replace earlier ones
    /// of this key. For parts that read rates from a file which `key` names; the readers of the section record those
    /// in the section.
    pub fn set_rounded_rates(&self, key: &str, mut rates: Vec<RoundedRate>) {
        let full = self.full(key);
        rates.iter_mut().for_each(|rate| rate.key.clone_from(&full));
        let mut rounded = self.rounded.borrow_mut();
        match rates.is_empty() {
            true => drop(rounded.remove(key)),
            false => drop(rounded.insert(key.into(), rates)),
        }
    }

    /// Data rates that were rounded, here and in all tables below: in alphabetical order of their keys, those of this
    /// table first.
    pub fn rounded_rates(&self) -> Vec<RoundedRate> {
        let mut all: Vec<RoundedRate> = self.rounded.borrow().values().flatten().cloned().collect();
        for entry in self.entries.values() {
            match &entry.value {
                Value::Table(section) => all.extend(section.rounded_rates()),
                Value::Tables(list) => all.extend(list.iter().flat_map(Section::rounded_rates)),
                _ => {}
            }
        }
        all
    }

    /// Declares the parameters of a part before the part reads them with [`get`](Section::get) and
    /// [`choice`](Section::choice). The latest declaration of a name applies.
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
            DefaultValue::RequiredOr(or) => self.required(key).map_err(|mut error| {
                if !self.has(key) {
                    error.message += &format!("; or give {or} in its place");
                }
                error
            }),
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
        let given = self.given(key).map_err(|error| {
            self.note(key, Json::Null);
            self.returned(error)
        })?;
        given.ok_or_else(|| {
            let written: Vec<&str> = self.entries.keys().map(String::as_str).collect();
            let alike = |g: &str| {
                Some(
                    g.strip_prefix("; did you mean '")?
                        .strip_suffix("'?")?
                        .to_string(),
                )
            };
            let alike = || alike(&nearest(key, written.iter().copied()));
            let found = stands_for(key, &written).map(str::to_string).or_else(alike);
            let guess = found.map_or_else(String::new, |found| {
                format!("; found '{found}' instead; did you mean '{key}'?")
            });
            self.returned(self.error(key, format!("missing; expected {}{guess}", T::EXPECTED)))
        })
    }

    /// The path in `key`, relative to the base folder; `None` if it is not given.
    ///
    /// # Errors
    /// The value is not a string.
    pub fn optional_path(&self, key: &str) -> Result<Option<PathBuf>, Error> {
        let path: Option<String> = self.optional(key)?;
        Ok(path.map(|path| self.folder.join(path)))
    }

    /// The value of the declared parameter `key`, one of its choices, or its default.
    ///
    /// # Errors
    /// The value is not a string, or not one of the choices; the error suggests the nearest.
    ///
    /// # Panics
    /// No part [declared](Section::declare) it with choices and a default.
    pub fn choice(&self, key: &str) -> Result<&'static str, Error> {
        self.choice_of(key, self.declared(key).kind.choices().unwrap_or_default())
    }

    /// As [`choice`](Section::choice), with a subset of the choices.
    ///
    /// # Errors
    /// The value is not a string, or not one of `names`; the error suggests the nearest.
    ///
    /// # Panics
    /// No part [declared](Section::declare) it with a default.
    pub fn choice_of(&self, key: &str, names: &'static [&'static str]) -> Result<&'static str, Error> {
        match self.declared(key).default {
            DefaultValue::Text(default) => self.choice_or(key, default, names),
            _ => panic!("{}: its default is not a text", self.full(key)),
        }
    }

    /// One of `names`, or `default`.
    ///
    /// # Errors
    /// The value is not a string, or not one of `names`; the error suggests the nearest.
    pub fn choice_or<'n>(&self, key: &str, default: &'n str, names: &[&'n str]) -> Result<&'n str, Error> {
        let name = self.or(key, default.to_string())?;
        match names.iter().find(|n| **n == name) {
            Some(name) => Ok(name),
            None => {
                let message = format!(
                    "unknown name '{}'{}",
                    shortened(&name),
                    nearest(&name, names.iter().copied())
                );
                self.replaced(self.error(key, message)).map(|()| default)
            }
        }
    }

    /// The error for a name that is not in `known`.
    pub fn unknown_name<'a>(&self, key: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Error {
        self.returned(self.error(
            key,
            format!("unknown name '{}'{}", shortened(name), nearest(name, known)),
        ))
    }

    /// The error for a key of this table that is not in `known`.
    pub fn unknown_key<'a>(&self, key: &str, known: impl IntoIterator<Item = &'a str>) -> Error {
        self.returned(self.error(
            key,
            format!("unknown key '{}'{}", shortened(key), nearest_key(key, known)),
        ))
    }

    /// Keys of this table in alphabetical order, for tables with arbitrary keys.
    pub fn keys(&self) -> Vec<String> {
        self.entries.keys().cloned().collect()
    }

    /// The table under `key`; an empty table if it is not given.
    ///
    /// # Errors
    /// The value is not a table.
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
                    let empty = Section::new(
                        &self.full(key),
                        self.location.clone(),
                        self.folder.clone(),
                        self.mistakes.clone(),
                    );
                    self.absent.insert(key.into(), Box::new(empty))
                }))
            }
        }
    }

    /// The tables of `[[key]]`; empty if it is not given.
    ///
    /// # Errors
    /// The value is not a list of tables.
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

    /// The whole table, for tables with arbitrary keys and values.
    ///
    /// # Errors
    /// A number is not finite.
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

    /// The requested keys, in the order of the requests.
    pub fn asked(&self) -> Vec<String> {
        self.asked.borrow().keys().cloned().collect()
    }

    /// Ends reading: parts must have requested every given key, here and in all tables below. Returns all settings
    /// with their defaults.
    ///
    /// # Errors
    /// The first key that no part requested, with the nearest requested key.
    pub fn finish(&self) -> Result<Json, Error> {
        let asked = self.asked.borrow();
        for key in self.entries.keys() {
            if !asked.contains_key(key) && !self.is_misread() {
                let known = asked.keys().map(String::as_str);
                let message = format!("unknown key '{}'{}", shortened(key), nearest_key(key, known));
                self.replaced(self.error(key, message))?;
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

/// The data that all tables of a file share: offsets of line starts, which turn a span into a line number, file name
/// and base folder.
struct Lines {
    starts: Vec<usize>,
    file: Arc<str>,
    folder: Arc<Path>,
    mistakes: Arc<Mistakes>,
}

impl Lines {
    fn new(text: &str, file: Arc<str>, folder: Arc<Path>) -> Lines {
        let starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(i, _)| i + 1))
            .collect();
        Lines {
            starts,
            file,
            folder,
            mistakes: Arc::default(),
        }
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
    let mut section = Section::new(path, location, lines.folder.clone(), lines.mistakes.clone());
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
            i64::from_str_radix(&i.as_str().replace('_', ""), i.radix()).map_err(|_| {
                fail(format!(
                    "{} is out of range; expected {} to {}",
                    shortened(&i.to_string()),
                    i64::MIN,
                    i64::MAX
                ))
            })?,
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

    #[test]
    fn readers_that_tolerate_mistakes_find_all_of_them() {
        let text = "[a]\nx = \"one\"\ny = 2\nz = 3\nname = \"c\"\nw = 1\n[b]\nu = 5\nv = true\n";
        let file = Section::from_toml(text, "x.toml").unwrap();
        let read = || -> Result<u32, Error> {
            let (a, b) = (file.section("a")?, file.section("b")?);
            let x: u32 = a.or("x", 7)?;
            let _: Option<String> = a.optional("y")?;
            a.choice_or("name", "d", &["d", "e"])?;
            let v = b.required::<u32>("v");
            Ok(x + v?)
        };
        // Without tolerance, the first one ends the reading.
        assert!(
            read()
                .unwrap_err()
                .to_string()
                .contains("a.x: \"one\" is not a whole number")
        );
        file.tolerate_mistakes();
        let error = read().unwrap_err();
        let all = file.mistakes(vec![error]).unwrap();
        let lines: Vec<u32> = all.iter().map(|e| e.location.as_ref().unwrap().line).collect();
        assert_eq!(lines, [2, 3, 5, 9], "{all:?}");
        // Which keys a table with an unknown name has is unknown.
        file.finish().unwrap();
        let all = file.mistakes(Vec::new()).unwrap();
        let keys: Vec<&str> = all.iter().map(|e| e.key.as_str()).collect();
        assert_eq!(keys, ["a.x", "a.y", "a.name", "b.u"]);
    }

    #[test]
    fn an_error_of_several_keys_is_left_out_behind_others() {
        let file = Section::from_toml("x = 1\ny = \"a\"", "x.toml").unwrap();
        file.tolerate_mistakes();
        let conflict = || file.error("x", "1 does not fit y");
        assert_eq!(file.mistakes(vec![conflict()]).unwrap(), [conflict()]);
        assert_eq!(file.or("y", 2).unwrap(), 2);
        let all = file.mistakes(vec![conflict()]).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].key, "y");
    }

    #[test]
    fn a_path_is_given_or_not_without_a_request() {
        let mut file = Section::from_toml("a = { b = { c = 1 } }\nd = 2", "x.toml").unwrap();
        file.set("e.f", "3").unwrap();
        for (path, given) in [
            ("a.b.c", true),
            ("a.b", true),
            ("a.c", false),
            ("d.b", false),
            ("e.f", true),
        ] {
            assert_eq!(file.gives(path), given, "{path}");
        }
        assert!(file.asked().is_empty());
    }
    use crate::{Bandwidth, Bytes, Duration};

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
    fn rounded_rates_are_recorded_once_with_their_key() {
        let text = "a = \"4.7 GiB/s\"\n[b]\nc = \"1.8 GiB/s\"\nd = \"1 Gbps\"\n[[e]]\nf = \"0.6 bps\"\n";
        let mut file = Section::from_toml(text, "x.toml").unwrap();
        assert_eq!(file.rounded_rates(), []);
        for _ in 0..2 {
            file.required::<Bandwidth>("a").unwrap();
            let b = file.section("b").unwrap();
            b.or("c", Bandwidth { bits_per_s: 1 }).unwrap();
            b.required::<Bandwidth>("d").unwrap();
            file.sections("e").unwrap()[0].required::<Bandwidth>("f").unwrap();
        }
        let keys = |file: &Section| {
            file.rounded_rates()
                .into_iter()
                .map(|rate| rate.key)
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(&file), ["a", "b.c", "e.0.f"]);
        assert_eq!(file.rounded_rates()[0].used_bits_per_s, 40_372_692_582);
        assert_eq!(file.finish().unwrap()["a"], "40372692582 bps");
        file.set("a", "1 Gbit/s").unwrap();
        file.required::<Bandwidth>("a").unwrap();
        assert_eq!(keys(&file), ["b.c", "e.0.f"]);
        file.set_rounded_rates("file", Bandwidth::rounding("7.5 bps").into_iter().collect());
        assert_eq!(keys(&file), ["file", "b.c", "e.0.f"]);
    }

    #[test]
    fn inherited_values_keep_their_line_and_yield_to_given_ones() {
        let text = "ranks = 8\n[[a]]\nb = 1\n[[a]]\nranks = 4\n";
        let file = Section::from_toml(text, "x.toml").unwrap();
        let tables = file.sections("a").unwrap();
        for table in tables {
            table.inherit("ranks", &file);
            table.inherit("absent", &file);
            assert!(table.has("ranks") && !table.has("absent"));
        }
        assert_eq!(tables[0].required::<u32>("ranks").unwrap(), 8);
        assert_eq!(tables[1].required::<u32>("ranks").unwrap(), 4);
        assert_eq!(tables[0].required::<u32>("b").unwrap(), 1);
        let e = tables[0].error("ranks", "is wrong").to_string();
        assert_eq!(e, "x.toml:1: a.0.ranks: is wrong");
        assert_eq!(tables[0].keys(), ["b"]);
        file.required::<u32>("ranks").unwrap();
        let all = file.finish().unwrap();
        assert_eq!(all["a"].to_string(), r#"[{"ranks":8,"b":1},{"ranks":4}]"#);
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
        let deep = file.set(&["a"; 30_000].join("."), "1").unwrap_err().to_string();
        assert!(
            deep.ends_with("30000 tables in each other; expected at most 32") && deep.len() < 200,
            "{deep}"
        );
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
