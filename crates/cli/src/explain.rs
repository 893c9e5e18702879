//! `explain`.

use analysis::Error;

use crate::{ExplainArguments, Failure, print};

pub(crate) fn explain(arguments: &ExplainArguments) -> Result<(), Failure> {
    let explained = analysis::write(&arguments.result, arguments.job.as_deref());
    let paths = explained.map_err(|error| match error {
        Error::Write(_) => Failure::failed(error),
        _ => Failure::wrong_input(error),
    })?;
    if arguments.json {
        print(serde_json::to_string_pretty(&paths).map_err(Failure::failed)?);
    } else {
        print(&paths);
    }
    Ok(())
}
