//! Values of settings, and the Rust types that they are read as.

use serde_json::Value as Json;

use crate::error::shortened;
use crate::quantity::{Bandwidth, Bytes, Duration, Length, Power, RoundedRate};
use crate::section::Section;

/// A value as written in the file.
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
    pub fn quoted(&self) -> String {
        match self {
            Value::Integer(i) => i.to_string(),
            // Debug has an exponent where a number would be hundreds of digits.
            Value::Float(x) => format!("{x:?}"),
            Value::Boolean(b) => b.to_string(),
            Value::String(s) => format!("\"{}\"", shortened(s)),
            Value::List(_) => "a list".into(),
            Value::Table(_) => "a table".into(),
            Value::Tables(_) => "a list of tables".into(),
        }
    }
}

/// A type that a setting can have.
pub trait Setting: Sized {
    /// The expected value, as messages name it: `a whole number`.
    const EXPECTED: &'static str;
    /// Reads the value. The error says what is wrong with it.
    fn read(value: &Value) -> Result<Self, String>;
    /// The value as the result prints it.
    fn show(&self) -> Json;
    /// Data rates in the value that [`Setting::read`] rounds. The section fills in their key.
    fn rounded_rates(_value: &Value) -> Vec<RoundedRate> {
        Vec::new()
    }
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
                    // A file has no greater numbers than those of 64 bits with a sign.
                    let most = i64::try_from(<$type>::MAX).unwrap_or(i64::MAX);
                    format!("{i} is out of range; expected {} to {most}", <$type>::MIN)
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
            Value::String(s) => match s.chars().find(|c| c.is_control()) {
                None => Ok(s.clone()),
                Some(control) => Err(format!(
                    "{} has the control character U+{:04X}; expected printable text",
                    value.quoted(),
                    u32::from(control)
                )),
            },
            _ => Err(unexpected::<Self>(value)),
        }
    }
    fn show(&self) -> Json {
        Json::from(self.as_str())
    }
}

/// The name of something, which results and messages show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintableName(pub String);

impl PrintableName {
    /// Most characters of a name.
    const LENGTH: usize = 200;

    /// Takes a text as a name.
    ///
    /// # Errors
    /// It is empty, longer than 200 characters, or has a control character. The error says what was expected.
    pub fn new(text: &str) -> Result<PrintableName, String> {
        let length = text.chars().count();
        if length == 0 || length > PrintableName::LENGTH {
            return Err(format!(
                "\"{}\" has {length} characters; expected a name of 1 to {}",
                shortened(text),
                PrintableName::LENGTH
            ));
        }
        String::read(&Value::String(text.into())).map(PrintableName)
    }
}

impl Setting for PrintableName {
    const EXPECTED: &'static str = String::EXPECTED;
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => PrintableName::new(text),
            _ => Err(unexpected::<Self>(value)),
        }
    }
    fn show(&self) -> Json {
        Json::from(self.0.as_str())
    }
}

/// A text that may have line breaks and other control characters but a zero byte, such as an argument of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeText(pub String);

impl Setting for FreeText {
    const EXPECTED: &'static str = String::EXPECTED;
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(s) if !s.contains('\0') => Ok(FreeText(s.clone())),
            Value::String(_) => Err(format!("{} has a zero byte", value.quoted())),
            _ => Err(unexpected::<Self>(value)),
        }
    }
    fn show(&self) -> Json {
        Json::from(self.0.as_str())
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
    fn rounded_rates(value: &Value) -> Vec<RoundedRate> {
        match value {
            Value::List(items) => items.iter().flat_map(|item| T::rounded_rates(item)).collect(),
            _ => Vec::new(),
        }
    }
}

/// One number for all items, or a list with one number for each item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OneOrEach {
    /// The same number for all items.
    One(u32),
    /// One number for each item, in order.
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

/// A number, or `auto` for what the program finds best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoOrNumber {
    /// What the program finds best.
    Auto,
    /// This number.
    Number(u32),
}

impl Setting for AutoOrNumber {
    const EXPECTED: &'static str = "a whole number or \"auto\"";
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Integer(_) => u32::read(value).map(AutoOrNumber::Number),
            Value::String(text) if text == "auto" => Ok(AutoOrNumber::Auto),
            _ => Err(unexpected::<Self>(value)),
        }
    }
    fn show(&self) -> Json {
        match self {
            AutoOrNumber::Auto => "auto".to_owned().show(),
            AutoOrNumber::Number(number) => number.show(),
        }
    }
}

/// A value, or `none` for its absence where a key that is not given has a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrNone<T>(pub Option<T>);

impl<T: Setting> Setting for OrNone<T> {
    const EXPECTED: &'static str = T::EXPECTED;
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) if text == "none" => Ok(OrNone(None)),
            _ => match T::read(value) {
                Ok(value) => Ok(OrNone(Some(value))),
                Err(message) => Err(format!("{message}, or \"none\"")),
            },
        }
    }
    fn show(&self) -> Json {
        match &self.0 {
            Some(value) => value.show(),
            None => Json::from("none"),
        }
    }
    fn rounded_rates(value: &Value) -> Vec<RoundedRate> {
        T::rounded_rates(value)
    }
}

/// A name that stands for a set of items, or a list of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameOrSome {
    /// The name of a set, for example `all`.
    Name(String),
    /// The listed items.
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
    ($($type:ty $({ $($more:item)* })?),*) => {$(
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
            $($($more)*)?
        }
    )*};
}
quantity!(
    Duration,
    Bandwidth {
        fn rounded_rates(value: &Value) -> Vec<RoundedRate> {
            match value {
                Value::String(text) => Vec::from_iter(Bandwidth::rounding(text)),
                _ => Vec::new(),
            }
        }
    },
    Bytes,
    Length,
    Power
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_shown() {
        let file = "a = \"µ-1\"\nb = \"x\\u001b[2J\"\nc = \"\"\nd = \"line\\nline\"\ne = \"x\\u0000\"";
        let file = Section::from_toml(file, "x.toml").unwrap();
        assert_eq!(
            file.required::<PrintableName>("a").unwrap(),
            PrintableName("µ-1".into())
        );
        let refused = |key: &str, needle: &str| {
            let error = file.required::<PrintableName>(key).unwrap_err().to_string();
            assert!(error.contains(needle), "{error}");
        };
        refused("b", "has the control character U+001B; expected printable text");
        refused("c", "has 0 characters; expected a name of 1 to 200");
        refused("d", "U+000A");
        assert!(
            PrintableName::new(&"µ".repeat(200)).is_ok() && PrintableName::new(&"µ".repeat(201)).is_err()
        );
        assert!(file.required::<FreeText>("d").is_ok());
        assert!(file.required::<FreeText>("e").is_err());
    }

    #[test]
    fn numbers_out_of_range_name_a_range_that_a_file_can_have() {
        let file = Section::from_toml("a = -1\nb = 1e-320", "x.toml").unwrap();
        let error = file.required::<u64>("a").unwrap_err().to_string();
        assert!(error.ends_with("expected 0 to 9223372036854775807"), "{error}");
        let error = file.required::<u64>("b").unwrap_err().to_string();
        assert_eq!(error, "x.toml:2: b: 1e-320 is not a whole number");
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
}
