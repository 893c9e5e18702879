//! `trace info`.

use crate::{CommandFailure, TraceArguments, print};

pub(crate) fn info(arguments: &TraceArguments) -> Result<(), CommandFailure> {
    let info = workload::info(&arguments.path).map_err(CommandFailure::wrong_input)?;
    if arguments.json {
        print(serde_json::to_string_pretty(&info).map_err(CommandFailure::failed)?);
    } else {
        print(&info);
    }
    Ok(())
}
