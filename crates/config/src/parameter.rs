//! Typed parameters of registered parts and keys of tables: name, type, default and meaning.

use serde_json::{Map, Value as Json, json};

use crate::Value;

/// A parameter of a registered part, or a key of a table.
///
/// A part passes its parameters to [`Section::declare`](crate::Section::declare).
/// [`Section::get`](crate::Section::get) then takes the default from here. `fabricsim list` prints them, the Python
/// classes are made from them, and tests compare `docs/formats/experiment.md` with them.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Key in the experiment file.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Type,
    /// Value if the key is not given.
    pub default: DefaultValue,
    /// Its meaning in one line.
    pub summary: &'static str,
}

/// The type of a parameter's values.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// true or false.
    Flag,
    /// A text.
    Text,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A time with its unit.
    Time,
    /// A data rate with its unit.
    Rate,
    /// A number of bytes with its unit.
    Size,
    /// A power with its unit.
    Power,
    /// A path, relative to the folder of the experiment file.
    Path,
    /// A table, whose keys the meaning of the parameter describes.
    Table,
    /// A list of values of one type.
    List(&'static Type),
    /// A value of any of these types.
    Either(&'static [Type]),
}

/// The default of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum DefaultValue {
    /// The key must be given.
    Required,
    /// The key must be given, unless the one that the text names is.
    RequiredOr(&'static str),
    /// This whole number.
    Integer(i64),
    /// This number.
    Number(f64),
    /// This truth value.
    Flag(bool),
    /// This text, or this quantity with its unit.
    Text(&'static str),
    /// It depends on other parameters or on the network; the text says how.
    Computed(&'static str),
}

/// The parameters of a part, in the order of `fabricsim list`: calls of the constructors of [`Parameter`], or constants
/// that several parts share, each with a semicolon.
///
/// ```
/// use fabricsim_config::{Type, parameters};
/// let all = parameters! {
///     required("radix", Type::Integer, "ports of every router");
///     integer("levels", 3, "levels of routers");
/// };
/// assert_eq!(all.map(|parameter| parameter.name), ["radix", "levels"]);
/// ```
///
/// A list that begins with those of another one names it first:
///
/// ```
/// # use fabricsim_config::{Parameter, Type, parameters};
/// const TREE: &[Parameter] = parameters! { integer("levels", 3, "levels of routers"); };
/// const TAPERED: &[Parameter] = parameters! { ..TREE; number("tapering", 1.0, "links down over links up"); };
/// assert_eq!(TAPERED.iter().map(|parameter| parameter.name).collect::<Vec<_>>(), ["levels", "tapering"]);
/// ```
#[macro_export]
macro_rules! parameters {
    (.. $first:ident; $($more:tt)*) => {{
        const MORE: &[$crate::Parameter] = $crate::parameters!($($more)*);
        const ALL: [$crate::Parameter; $first.len() + MORE.len()] = $crate::Parameter::joined($first, MORE);
        &ALL
    }};
    ($($name:ident $(($($argument:expr),*))?;)*) => {
        &[$($crate::parameters!(@ $name $(($($argument),*))?)),*]
    };
    (@ $name:ident) => { $name };
    (@ $constructor:ident ($($argument:expr),*)) => { $crate::Parameter::$constructor($($argument),*) };
}

/// The names of the parts of a registry, for [`Type::Choice`]: the parts have a field `name`.
///
/// ```
/// struct Scheduler {
///     name: &'static str,
/// }
/// static SCHEDULERS: &[Scheduler] = &[Scheduler { name: "fcfs" }, Scheduler { name: "backfill" }];
/// const NAMES: &[&str] = fabricsim_config::names_of!(SCHEDULERS);
/// assert_eq!(NAMES, ["fcfs", "backfill"]);
/// ```
#[macro_export]
macro_rules! names_of {
    ($registry:path) => {{
        const NAMES: [&str; $registry.len()] = {
            let mut names = [""; $registry.len()];
            let mut at = 0;
            while at < names.len() {
                names[at] = $registry[at].name;
                at += 1;
            }
            names
        };
        &NAMES
    }};
}

impl Parameter {
    /// The parameters of two lists, for [`parameters!`](crate::parameters).
    ///
    /// # Panics
    /// `N` is not their number; at compile time in a constant.
    #[doc(hidden)]
    pub const fn joined<const N: usize>(first: &[Parameter], more: &[Parameter]) -> [Parameter; N] {
        assert!(first.len() + more.len() == N, "N is the number of parameters");
        let mut all = [if first.is_empty() { more[0] } else { first[0] }; N];
        let mut at = 0;
        while at < N {
            all[at] = if at < first.len() {
                first[at]
            } else {
                more[at - first.len()]
            };
            at += 1;
        }
        all
    }

    /// A parameter.
    pub const fn new(
        name: &'static str,
        kind: Type,
        default: DefaultValue,
        summary: &'static str,
    ) -> Parameter {
        Parameter {
            name,
            kind,
            default,
            summary,
        }
    }

    /// A parameter without a default.
    pub const fn required(name: &'static str, kind: Type, summary: &'static str) -> Parameter {
        Parameter::new(name, kind, DefaultValue::Required, summary)
    }

    /// A parameter without a default, which follows from another key, `or`, where that is given.
    pub const fn required_or(
        name: &'static str,
        kind: Type,
        or: &'static str,
        summary: &'static str,
    ) -> Parameter {
        Parameter::new(name, kind, DefaultValue::RequiredOr(or), summary)
    }

    /// A parameter whose default depends on others or on the network; `how` says how.
    pub const fn computed(
        name: &'static str,
        kind: Type,
        how: &'static str,
        summary: &'static str,
    ) -> Parameter {
        Parameter::new(name, kind, DefaultValue::Computed(how), summary)
    }

    /// A whole number.
    pub const fn integer(name: &'static str, default: i64, summary: &'static str) -> Parameter {
        Parameter::new(name, Type::Integer, DefaultValue::Integer(default), summary)
    }

    /// A number.
    pub const fn number(name: &'static str, default: f64, summary: &'static str) -> Parameter {
        Parameter::new(name, Type::Number, DefaultValue::Number(default), summary)
    }

    /// A truth value.
    pub const fn flag(name: &'static str, default: bool, summary: &'static str) -> Parameter {
        Parameter::new(name, Type::Flag, DefaultValue::Flag(default), summary)
    }

    /// A text.
    pub const fn text(name: &'static str, default: &'static str, summary: &'static str) -> Parameter {
        Parameter::new(name, Type::Text, DefaultValue::Text(default), summary)
    }

    /// A time.
    pub const fn time(name: &'static str, default: &'static str, summary: &'static str) -> Parameter {
        Parameter::new(name, Type::Time, DefaultValue::Text(default), summary)
    }

    /// A number of bytes.
    pub const fn size(name: &'static str, default: &'static str, summary: &'static str) -> Parameter {
        Parameter::new(name, Type::Size, DefaultValue::Text(default), summary)
    }

    /// A power.
    pub const fn power(name: &'static str, default: &'static str, summary: &'static str) -> Parameter {
        Parameter::new(name, Type::Power, DefaultValue::Text(default), summary)
    }

    /// One of several texts; the first is the default.
    pub const fn choice(
        name: &'static str,
        choices: &'static [&'static str],
        summary: &'static str,
    ) -> Parameter {
        Parameter::new(
            name,
            Type::Choice(choices),
            DefaultValue::Text(choices[0]),
            summary,
        )
    }

    /// The same parameter with another default.
    pub const fn or(self, default: DefaultValue) -> Parameter {
        Parameter { default, ..self }
    }

    /// Whether `settings`, the result of [`Section::finish`](crate::Section::finish), have the constant default of
    /// this parameter. True for a computed default and for a parameter that the part did not read. For tests of
    /// parts.
    pub fn is_default_in(&self, settings: &Json) -> bool {
        let default = self.default.to_json();
        default.is_null() || settings.get(self.name).is_none_or(|value| *value == default)
    }

    /// The parameter as `fabricsim list --json` prints it: `name`, `type`, `choices` if it has some, `default` or
    /// `computed` if it has a default, and `summary`.
    pub fn to_json(&self) -> Json {
        let mut all = Map::new();
        all.insert("name".into(), self.name.into());
        if let Some(choices) = self.kind.choices() {
            all.insert("type".into(), "choice".into());
            all.insert("choices".into(), json!(choices));
        } else {
            all.insert("type".into(), self.kind.to_string().into());
        }
        match self.default {
            DefaultValue::Required => {}
            DefaultValue::RequiredOr(or) => {
                drop(all.insert("computed".into(), format!("required, or {or}").into()));
            }
            DefaultValue::Computed(how) => drop(all.insert("computed".into(), how.into())),
            default => drop(all.insert("default".into(), default.to_json())),
        }
        all.insert("summary".into(), self.summary.into());
        Json::Object(all)
    }
}

impl std::fmt::Display for Parameter {
    /// `name: meaning (type; default: 7)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} ({}; ", self.name, self.summary, self.kind)?;
        match self.default {
            DefaultValue::Required => f.write_str("required)"),
            DefaultValue::RequiredOr(or) => write!(f, "required, or {or})"),
            DefaultValue::Computed(how) => write!(f, "default: {how})"),
            DefaultValue::Text(value) => write!(f, "default: {value})"),
            default => write!(f, "default: {})", default.to_json()),
        }
    }
}

impl Type {
    /// A list of whole numbers.
    pub const INTEGERS: Type = Type::List(&Type::Integer);

    /// One whole number for all items, or a list with one number for each item.
    pub const ONE_OR_EACH: Type = Type::Either(&[Type::Integer, Type::INTEGERS]);

    /// The allowed texts; `None` if the type is not a choice.
    pub fn choices(&self) -> Option<&'static [&'static str]> {
        match self {
            Type::Choice(choices) => Some(choices),
            _ => None,
        }
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Type::Integer => f.write_str("integer"),
            Type::Number => f.write_str("number"),
            Type::Flag => f.write_str("boolean"),
            Type::Text => f.write_str("text"),
            Type::Choice(choices) => f.write_str(&choices.join(" | ")),
            Type::Time => f.write_str("time"),
            Type::Rate => f.write_str("rate"),
            Type::Size => f.write_str("size"),
            Type::Power => f.write_str("power"),
            Type::Path => f.write_str("path"),
            Type::Table => f.write_str("table"),
            Type::List(of) => write!(f, "list of {of}"),
            Type::Either(types) => {
                for (number, of) in types.iter().enumerate() {
                    write!(f, "{}{of}", if number > 0 { " or " } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

impl DefaultValue {
    /// The constant default as the file has it; `None` if there is none.
    pub(crate) fn value(self) -> Option<Value> {
        match self {
            DefaultValue::Integer(value) => Some(Value::Integer(value)),
            DefaultValue::Number(value) => Some(Value::Float(value)),
            DefaultValue::Flag(value) => Some(Value::Boolean(value)),
            DefaultValue::Text(value) => Some(Value::String(value.into())),
            DefaultValue::Required | DefaultValue::RequiredOr(_) | DefaultValue::Computed(_) => None,
        }
    }

    /// The constant default as printed settings have it; null if there is none.
    pub fn to_json(self) -> Json {
        match self {
            DefaultValue::Integer(value) => value.into(),
            DefaultValue::Number(value) => value.into(),
            DefaultValue::Flag(value) => value.into(),
            DefaultValue::Text(value) => value.into(),
            DefaultValue::Required | DefaultValue::RequiredOr(_) | DefaultValue::Computed(_) => Json::Null,
        }
    }
}
