//! `export`.

use std::slice;

use clap::builder::{PossibleValue, PossibleValuesParser};
use export::{Error, ExportFormat, FORMATS, Options};
use serde_json::json;

use crate::verify::before_reading;
use crate::{CommandFailure, ExportArguments, print};

/// The names of all formats with their summaries.
pub(crate) fn formats() -> PossibleValuesParser {
    let value = |format: &&ExportFormat| PossibleValue::new(format.name).help(format.summary);
    PossibleValuesParser::new(FORMATS.iter().map(value))
}

pub(crate) fn export(arguments: ExportArguments) -> Result<(), CommandFailure> {
    let format = ExportFormat::named(&arguments.format).expect("one of those that are registered");
    before_reading(slice::from_ref(&arguments.result), arguments.force);
    let options = Options {
        table: arguments.table,
        links: arguments.links,
    };
    let exported = export::export(&arguments.result, format, arguments.out.as_deref(), &options);
    let exported = exported.map_err(|error| match error {
        Error::Write { .. } => CommandFailure::failed(error),
        _ => CommandFailure::wrong_input(error),
    })?;
    if arguments.json {
        print(json!({ "path": exported.path, "notes": exported.notes }));
        return Ok(());
    }
    for note in &exported.notes {
        eprintln!("fabricsim: note: {note}");
    }
    print(exported.path.display());
    Ok(())
}
