//! `list`.

use experiment::{Listing, Origin, PART_KINDS, PresetValue, listing};

use crate::{CommandFailure, ListArguments, print};

/// Kinds that `presets` names together. The kind of that name has those of applications.
const PRESETS: [&str; 4] = ["presets", "mpi-presets", "machines", "hardware"];

pub(crate) fn list(arguments: &ListArguments) -> Result<(), CommandFailure> {
    let kinds = PART_KINDS.iter().filter(|kind| match arguments.kind.as_deref() {
        None => true,
        Some("presets") => PRESETS.contains(kind),
        Some(wanted) => wanted == **kind,
    });
    let all: Vec<(&str, Vec<Listing>)> = kinds
        .map(|kind| (*kind, listing(kind).unwrap_or_default()))
        .collect();
    if arguments.json {
        let map: serde_json::Map<String, serde_json::Value> = all
            .into_iter()
            .map(|(kind, parts)| Ok((kind.to_string(), serde_json::to_value(parts)?)))
            .collect::<Result<_, serde_json::Error>>()
            .map_err(CommandFailure::failed)?;
        print(serde_json::to_string_pretty(&map).map_err(CommandFailure::failed)?);
        return Ok(());
    }
    for (i, (kind, parts)) in all.iter().enumerate() {
        if all.len() > 1 {
            print(format!("{}{kind}", if i > 0 { "\n" } else { "" }));
        }
        let width = parts.iter().map(|p| p.name.len()).max().unwrap_or(0);
        for part in parts {
            print(format!("  {:width$}  {}", part.name, part.summary));
            for parameter in &part.parameters {
                print(format!("  {:width$}    {parameter}", ""));
            }
            for (collective, rules) in &part.rules {
                print(format!("  {:width$}    {collective}: {rules}", ""));
            }
            for PresetValue {
                key, value, origin, ..
            } in &part.values
            {
                let origin = match origin {
                    Origin::Source(source) => format!("source: {source}"),
                    Origin::Assumed(reason) => format!("assumed: {reason}"),
                };
                print(format!("  {:width$}    {key} = {value} ({origin})", ""));
            }
        }
    }
    Ok(())
}
