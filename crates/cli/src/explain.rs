//! `explain`.

use std::slice;

use analysis::Error;

use crate::verify::before_reading;
use crate::{CommandFailure, ExplainArguments, print};

pub(crate) fn explain(arguments: &ExplainArguments) -> Result<(), CommandFailure> {
    before_reading(slice::from_ref(&arguments.result), arguments.force);
    let explained = analysis::write(&arguments.result, arguments.job.as_deref());
    let explained = explained.map_err(|error| match error {
        Error::Write(_) => CommandFailure::failed(error),
        _ => CommandFailure::wrong_input(error),
    })?;
    if arguments.json {
        print(serde_json::to_string_pretty(&explained.paths).map_err(CommandFailure::failed)?);
    } else {
        print(&explained.paths);
        if let Some(report) = explained.report {
            print(format!(
                "\n{} was written again: it and the verdict have these numbers",
                report.display()
            ));
        }
    }
    Ok(())
}
