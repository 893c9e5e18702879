//! `view`.

use serde_json::json;
use view::View;

use crate::verify::before_reading;
use crate::{CommandFailure, ViewArguments, print};

/// Serves the page until it is interrupted.
pub(crate) fn view(arguments: &ViewArguments) -> Result<(), CommandFailure> {
    before_reading(&arguments.folders, arguments.force);
    let opened = View::open(&arguments.folders).map_err(CommandFailure::wrong_input)?;
    let view = opened.listen(arguments.port).map_err(CommandFailure::failed)?;
    let stop = view.stop();
    // Fails if the process has a handler already; that handler stays.
    let _ = ctrlc::set_handler(move || stop.stop());
    let url = view.url();
    if arguments.json {
        print(json!({ "url": url }));
    } else {
        print(format!("{url}\nOnly this machine can reach it. Ctrl-C ends it."));
    }
    if !arguments.no_browser
        && let Err(error) = open::that_detached(&url)
    {
        eprintln!("fabricsim: no browser could be opened ({error}); open the address in one");
    }
    view.serve();
    Ok(())
}
