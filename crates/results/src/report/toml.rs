//! An experiment as a TOML file, one table per part.
//!
//! SOURCE: TOML 1.0 (toml.io). Escapes of JSON strings are those of TOML's basic strings, except for DEL, which JSON
//! does not escape.

use serde_json::Value;

/// The experiment as TOML, ready to run. TOML has no null, so null values are omitted.
pub(super) fn toml(experiment: &Value) -> String {
    let Value::Object(parts) = experiment else {
        return String::new();
    };
    let mut text = String::new();
    for (key, value) in parts
        .iter()
        .filter(|(_, value)| !is_table(value) && !value.is_null())
    {
        text += &format!("{} = {}\n", bare(key), inline(value));
    }
    for (key, value) in parts.iter().filter(|(_, value)| is_table(value)) {
        let (begin, end, tables): (_, _, &[Value]) = match value {
            Value::Array(tables) => ("[[", "]]", tables),
            table => ("[", "]", std::slice::from_ref(table)),
        };
        for table in tables {
            if !text.is_empty() {
                text.push('\n');
            }
            text += &format!("{begin}{}{end}\n", bare(key));
            for (key, value) in table.as_object().into_iter().flatten() {
                if !value.is_null() {
                    text += &format!("{} = {}\n", bare(key), inline(value));
                }
            }
        }
    }
    text
}

/// Whether a value has a header of its own: a table, or a list of tables only.
fn is_table(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => !items.is_empty() && items.iter().all(Value::is_object),
        _ => false,
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| format!("{} = {}", bare(key), inline(value)))
                .collect();
            if entries.is_empty() {
                "{}".into()
            } else {
                format!("{{ {} }}", entries.join(", "))
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().filter(|item| !item.is_null()).map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) => quoted(text),
        plain => plain.to_string(),
    }
}

/// A key, quoted where necessary.
fn bare(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(plain) {
        key.into()
    } else {
        quoted(key)
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parts_become_tables_and_lists_of_tables() {
        let text = toml(&json!({
            "network": { "topology": { "kind": "torus", "size": [4, 4] }, "packet": "256 B", "none": null },
            "job": [{ "name": "a \"b\"", "load": 0.5 }, { "name": "c\n\u{7f}", "odd key": {} }],
            "title": "x",
        }));
        assert_eq!(
            text,
            "title = \"x\"\n\n[network]\ntopology = { kind = \"torus\", size = [4, 4] }\npacket = \"256 B\"\n\n\
             [[job]]\nname = \"a \\\"b\\\"\"\nload = 0.5\n\n[[job]]\nname = \"c\\n\\u007F\"\n\"odd key\" = {}\n"
        );
    }

    #[test]
    fn what_is_no_table_is_no_experiment() {
        assert_eq!(toml(&json!(null)), "");
        assert_eq!(toml(&json!({})), "");
        assert_eq!(toml(&json!({ "list": [] })), "list = []\n");
    }
}
