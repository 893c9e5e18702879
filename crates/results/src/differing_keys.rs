//! The keys in which several experiments differ.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// Longest text of a value of a key, in characters.
const LONGEST_VALUE: usize = 60;

/// Keys that choose a kind: the other keys of their table depend on them.
const KINDS: [&str; 7] = [
    "algorithm",
    "kind",
    "model",
    "motif",
    "pattern",
    "preset",
    "scheduler",
];

/// Link classes: a topology has its own.
const LINK_CLASSES: &str = "network.links";

/// Keys, or the tables that contain them, on which no result depends.
const WITHOUT_EFFECT: [&str; 6] = [
    "collect",
    "run.credits",
    "run.executor",
    "run.optimistic",
    "run.threads",
    "run.watchdog",
];

/// A key of which some experiments have other values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DifferingKey {
    /// Path of the key. Jobs have their names in it.
    pub key: String,
    /// The value of each experiment. `None` if it has no such key.
    pub values: Vec<Option<String>>,
    /// Whether results depend on it.
    pub has_effect: bool,
}

/// The keys of which experiments have different values. Where they differ in the kind of a part, its keys that not all
/// have are left out, and so are link classes.
pub fn differing_keys(experiments: &[&Value]) -> Vec<DifferingKey> {
    let mut found = Vec::new();
    let values: Vec<Option<&Value>> = experiments.iter().copied().map(Some).collect();
    collect(String::new(), &values, false, &mut found);
    found.sort_by_key(|of| !of.has_effect);
    found
}

fn collect(key: String, values: &[Option<&Value>], of_other_kind: bool, found: &mut Vec<DifferingKey>) {
    if values.windows(2).all(|pair| pair[0] == pair[1])
        || (of_other_kind && values.iter().any(Option::is_none))
    {
        return;
    }
    let tables: Option<Vec<BTreeMap<String, &Value>>> =
        values.iter().map(|value| members((*value)?)).collect();
    let Some(tables) = tables else {
        let text = |value: &Option<&Value>| value.map(text);
        let is_in = |of: &&str| key == **of || key.starts_with(&format!("{of}."));
        let has_effect = !WITHOUT_EFFECT.iter().any(is_in);
        found.push(DifferingKey {
            values: values.iter().map(text).collect(),
            key,
            has_effect,
        });
        return;
    };
    let of =
        |name: &str| -> Vec<Option<&Value>> { tables.iter().map(|table| table.get(name).copied()).collect() };
    let differs = |name: &&str| of(name).windows(2).any(|pair| pair[0] != pair[1]);
    let other_kind = key == LINK_CLASSES || KINDS.iter().any(differs);
    let mut names: Vec<&String> = tables.iter().flat_map(BTreeMap::keys).collect();
    names.sort_by_key(|name| (!KINDS.contains(&name.as_str()), *name));
    names.dedup();
    for name in names {
        let path = if key.is_empty() {
            name.clone()
        } else {
            format!("{key}.{name}")
        };
        collect(path, &of(name), other_kind, found);
    }
}

/// The members of a table, or of a list of tables with names that are unique. `None` of other values.
fn members(value: &Value) -> Option<BTreeMap<String, &Value>> {
    match value {
        Value::Object(table) => Some(table.iter().map(|(name, value)| (name.clone(), value)).collect()),
        Value::Array(list) if !list.is_empty() => {
            let named = |value| -> Option<(String, &Value)> {
                let name = Value::get(value, "name")?.as_str()?;
                Some((name.to_string(), value))
            };
            let members: BTreeMap<String, &Value> = list.iter().map(named).collect::<Option<_>>()?;
            (members.len() == list.len()).then_some(members)
        }
        _ => None,
    }
}

/// A value as one short line.
fn text(value: &Value) -> String {
    let whole = value.as_str().map_or_else(|| value.to_string(), String::from);
    if whole.chars().count() <= LONGEST_VALUE {
        return whole;
    }
    whole.chars().take(LONGEST_VALUE - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differing_keys_are_named_with_their_values() {
        let first = json!({
            "network": {
                "routing": { "algorithm": "minimal", "paths": "hashed" },
                "links": { "global": { "latency": "1 ns" }, "host": { "latency": "1 ns" } }
            },
            "run": { "seed": 1, "threads": 1 },
            "job": [{ "name": "load", "traffic": { "load": 0.3 } }]
        });
        let second = json!({
            "network": {
                "routing": { "algorithm": "ugal", "bias": "1 B", "paths": "random" },
                "links": { "leaf-spine": { "latency": "1 ns" }, "host": { "latency": "2 ns" } }
            },
            "run": { "seed": 2, "threads": 2 },
            "job": [{ "name": "load", "traffic": { "load": 0.4 }, "start": "1 us" }]
        });
        let found = differing_keys(&[&first, &second]);
        let words: Vec<String> = found
            .iter()
            .map(|of| format!("{} {:?} {}", of.key, of.values, of.has_effect))
            .collect();
        assert_eq!(
            words,
            [
                r#"job.load.start [None, Some("1 us")] true"#,
                r#"job.load.traffic.load [Some("0.3"), Some("0.4")] true"#,
                r#"network.links.host.latency [Some("1 ns"), Some("2 ns")] true"#,
                r#"network.routing.algorithm [Some("minimal"), Some("ugal")] true"#,
                r#"network.routing.paths [Some("hashed"), Some("random")] true"#,
                r#"run.seed [Some("1"), Some("2")] true"#,
                r#"run.threads [Some("1"), Some("2")] false"#,
            ]
        );
        assert!(differing_keys(&[&first, &first]).is_empty());
    }
}
