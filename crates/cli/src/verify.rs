//! `verify`, and what the commands that read results do with checksums.

use std::path::PathBuf;

use results::{DamagedFile, ReadError, SUMMARY, VerifiedFolder, accept_damage, lacks_checksums};
use serde_json::json;

use crate::{CommandFailure, VerifyArguments, print};

pub(crate) fn verify(arguments: &VerifyArguments) -> Result<(), CommandFailure> {
    let all = arguments.folders.iter().map(|folder| results::verify(folder));
    let all: Vec<Result<VerifiedFolder, ReadError>> = all.collect();
    if arguments.json {
        let told = arguments
            .folders
            .iter()
            .zip(&all)
            .map(|(folder, found)| match found {
                Ok(found) => json!(found),
                Err(error) => json!({ "folder": folder, "error": error.to_string() }),
            });
        let told: Vec<_> = told.collect();
        print(serde_json::to_string_pretty(&told).map_err(CommandFailure::failed)?);
    }
    let mut right = 0;
    for found in &all {
        match found {
            Ok(found) if found.carries_checksums && found.damaged.is_empty() => right += 1,
            Ok(_) => {}
            // Beside the JSON, which has it.
            Err(error) => eprintln!("fabricsim: {error}"),
        }
        if let (Ok(found), false) = (found, arguments.json) {
            print(text(found));
        }
    }
    match all.len() - right {
        0 => Ok(()),
        wrong => Err(CommandFailure::wrong_input(format!(
            "{wrong} of {} folders could not be verified; restore what is damaged from a copy, or run the experiment \
             again",
            all.len()
        ))),
    }
}

fn text(found: &VerifiedFolder) -> String {
    let folder = found.folder.display();
    if !found.carries_checksums {
        return format!("{folder}: not verified: {NO_CHECKSUMS}");
    }
    if found.damaged.is_empty() {
        return format!(
            "{folder}: verified: {} tables, {} bytes",
            found.tables, found.bytes
        );
    }
    let lines = found.damaged.iter().map(|damaged| line(found, damaged));
    lines.collect::<Vec<_>>().join("\n")
}

const NO_CHECKSUMS: &str = "it carries no checksums, because an older version of FabricSim wrote it";

fn line(found: &VerifiedFolder, damaged: &DamagedFile) -> String {
    let path = found.folder.join(&damaged.file);
    format!("{}: damaged: {}", path.display(), damaged.what.join(", "))
}

/// Says on stderr which results cannot be verified, and with `force` what is damaged in the others, which commands then
/// read as it is.
pub(crate) fn before_reading(folders: &[PathBuf], force: bool) {
    for folder in folders.iter().filter(|folder| folder.join(SUMMARY).exists()) {
        if lacks_checksums(folder) {
            eprintln!(
                "fabricsim: note: {} is not verified: {NO_CHECKSUMS}",
                folder.display()
            );
        } else if force {
            // What cannot be read is the error of the command.
            if let Ok(found) = results::verify(folder) {
                for damaged in &found.damaged {
                    let line = line(&found, damaged);
                    eprintln!("fabricsim: warning: {line}; --force shows numbers as they are");
                }
            }
            accept_damage(folder, true);
        }
    }
}
