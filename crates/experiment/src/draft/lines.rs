//! Lines of a drafted table: keys with their values, and keys at their defaults as comments.

use config::{DefaultValue, Parameter};

/// A key with its value in TOML.
pub(super) type GivenKey = (&'static str, String);

/// A setting with its meaning.
pub(super) fn setting_line(setting: &str, meaning: &str) -> String {
    format!("{setting:<32}  # {meaning}\n")
}

/// One line for each parameter: with its value, if it is given; otherwise a comment with the default. Each has the
/// meaning of the parameter beside it.
pub(super) fn table(parameters: &[Parameter], given: &[GivenKey]) -> String {
    let line = |parameter: &Parameter| {
        let of_user = given.iter().find(|(key, _)| *key == parameter.name);
        let (setting, default) = match (of_user, parameter.default) {
            (Some((key, value)), _) => (format!("{key} = {value}"), String::new()),
            (None, DefaultValue::Computed(how) | DefaultValue::RequiredOr(how)) => {
                (format!("# {} = ...", parameter.name), format!("; default: {how}"))
            }
            (None, default) => (
                format!("# {} = {}", parameter.name, default.to_json()),
                String::new(),
            ),
        };
        // A value of several lines has its meaning before it.
        match setting.contains('\n') {
            true => format!("# {}{default}\n{setting}\n", parameter.summary),
            false => setting_line(&setting, &format!("{}{default}", parameter.summary)),
        }
    };
    parameters.iter().map(line).collect()
}
