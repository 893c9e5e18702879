//! `new`: writes an experiment, or a sweep with its experiment.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use experiment::{DraftCosts, DraftNetwork, DraftRequest, DraftWorkload, Equal, ExperimentDraft};
use serde_json::json;

use crate::{CommandFailure, NewArguments, print};

/// Time without a message.
const SILENCE: Duration = Duration::from_secs(1);

pub(crate) fn new(arguments: &NewArguments) -> Result<(), CommandFailure> {
    let equal = Equal::named(&arguments.equal).map_err(CommandFailure::wrong_input)?;
    let bandwidth = arguments.bandwidth.as_deref().map(config::Bandwidth::parse);
    let bandwidth = bandwidth
        .transpose()
        .map_err(|message| CommandFailure::wrong_input(format!("--bandwidth: {message}")))?;
    let written = arguments
        .trace
        .as_ref()
        .map(|path| beside(path, arguments.out.as_deref()));
    let workload = match (&arguments.trace, &written) {
        (Some(path), Some(written)) => DraftWorkload::Recording { path, written },
        _ => DraftWorkload::Named(&arguments.workload),
    };
    let named = arguments
        .costs
        .as_ref()
        .map(|path| beside(path, arguments.out.as_deref()));
    let costs = arguments.costs.as_ref().zip(named.as_ref());
    let request = DraftRequest {
        hosts: arguments.hosts,
        topologies: &arguments.topology,
        radix: arguments.radix,
        bandwidth,
        tapering: arguments.tapering.as_deref(),
        preset: arguments.preset.as_deref(),
        workload,
        equal,
        costs: costs.map(|(path, written)| DraftCosts { path, written }),
        budget: arguments.budget,
        command: &arguments.command(),
    };
    let draft = said_after(SILENCE, "builds the networks, to check them", || {
        experiment::draft(&request)
    });
    let draft = draft.map_err(CommandFailure::wrong_input)?;
    let is_sweep = draft.networks.len() > 1;
    let Some(out) = &arguments.out else {
        if is_sweep {
            let message = "--out: a sweep has two files, itself and its experiment; expected --out FILE.toml";
            return Err(CommandFailure::wrong_input(message));
        }
        print(draft.experiment.trim_end());
        warn(&draft);
        return Ok(());
    };
    let files = files(&draft, out)?;
    if !arguments.force
        && let Some((path, _)) = files.iter().find(|(path, _)| path.symlink_metadata().is_ok())
    {
        let message = format!(
            "--out: {} exists; expected another name, or --force to replace it",
            path.display()
        );
        return Err(CommandFailure::wrong_input(message));
    }
    for (path, text) in &files {
        write(path, text, arguments.force)?;
    }
    warn(&draft);
    if arguments.json {
        let paths: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
        let mut shown = json!({
            "experiment": paths.last(),
            "sweep": is_sweep.then(|| &paths[0]),
            "networks": draft.networks,
        });
        if let Some(budget) = draft.budget {
            shown["budget"] = budget.into();
        }
        print(serde_json::to_string_pretty(&shown).map_err(CommandFailure::failed)?);
        return Ok(());
    }
    for network in &draft.networks {
        print(format!(
            "network  {}, routing {}",
            network.description, network.routing
        ));
        if let Some(cost) = &network.cost_in_words {
            print(format!("cost     {cost}"));
        }
    }
    for (path, _) in &files {
        print(format!("written  {}", path.display()));
    }
    print(match is_sweep {
        true => format!("next     fabricsim sweep {}", out.display()),
        false => format!("next     fabricsim check {0}, fabricsim run {0}", out.display()),
    });
    Ok(())
}

/// Warns of what a comparison of the networks should know.
fn warn(draft: &ExperimentDraft) {
    for warning in draft.networks.iter().filter_map(DraftNetwork::unused_ports) {
        eprintln!("fabricsim: warning: {warning}");
    }
}

/// Does the work, and says what it does if that takes longer than `silence`.
fn said_after<T>(silence: Duration, what: &str, work: impl FnOnce() -> T) -> T {
    let (done, is_done) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if is_done.recv_timeout(silence) == Err(RecvTimeoutError::Timeout) {
                eprintln!("fabricsim: {what}");
            }
        });
        // The thread ends when the sender is dropped, after a panic too.
        let _done = done;
        work()
    })
}

/// The path of a recording as the experiment file at `out` names it: relative to its folder.
fn beside(path: &Path, out: Option<&Path>) -> String {
    let folder = out
        .and_then(Path::parent)
        .filter(|folder| !folder.as_os_str().is_empty());
    let relative = folder
        .filter(|_| path.is_relative())
        .and_then(|folder| relative(&folder.canonicalize().ok()?, &path.canonicalize().ok()?));
    relative
        .unwrap_or_else(|| path.to_path_buf())
        .to_string_lossy()
        .into_owned()
}

/// A path from a folder; both are absolute. `None` without a common root.
fn relative(folder: &Path, path: &Path) -> Option<PathBuf> {
    let common = folder.ancestors().find(|ancestor| path.starts_with(ancestor))?;
    let up = folder.strip_prefix(common).ok()?.components().map(|_| "..");
    Some(up.collect::<PathBuf>().join(path.strip_prefix(common).ok()?))
}

/// The files to write, the experiment last.
fn files(draft: &ExperimentDraft, out: &Path) -> Result<Vec<(PathBuf, String)>, CommandFailure> {
    let Some(name) = out.file_name().filter(|_| !out.is_dir()) else {
        let message = format!("--out: {} is a folder; expected a file", out.display());
        return Err(CommandFailure::wrong_input(message));
    };
    let stem = Path::new(name)
        .file_stem()
        .unwrap_or(name)
        .to_string_lossy()
        .into_owned();
    let experiment_name = format!("{stem}-experiment.toml");
    Ok(match draft.sweep(&experiment_name) {
        None => vec![(out.to_path_buf(), draft.experiment.clone())],
        Some(sweep) => vec![
            (out.to_path_buf(), sweep),
            (out.with_file_name(experiment_name), draft.experiment.clone()),
        ],
    })
}

/// Writes a file, which replaces an earlier one only with `force`, and only when it is complete.
fn write(path: &Path, text: &str, force: bool) -> Result<(), CommandFailure> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => {
            CommandFailure::wrong_input(format!("--out: {} exists; expected another name", path.display()))
        }
        _ => CommandFailure::failed(format!("{}: cannot be written: {error}", path.display())),
    };
    if !force {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(failed)?;
        return file.write_all(text.as_bytes()).map_err(failed);
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, text).map_err(failed)?;
    fs::rename(&beside, path).map_err(|error| {
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}
