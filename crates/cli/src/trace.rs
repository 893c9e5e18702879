//! `trace info`.

use crate::{Failure, TraceArguments, print};

pub(crate) fn info(arguments: &TraceArguments) -> Result<(), Failure> {
    let info = workload::info(&arguments.path).map_err(Failure::wrong_input)?;
    if arguments.json {
        print(serde_json::to_string_pretty(&info).map_err(Failure::failed)?);
    } else {
        print(&info);
    }
    Ok(())
}
