//! Checkpoints: a run in a file, from which it resumes.
//!
//! The file contains the experiment as it was given and the kernel's [`des::Snapshot`]. It is written beside its
//! final path, synchronised to the disk and renamed, so that a complete checkpoint exists at any time. Layout:
//! `docs/formats/checkpoint.md`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use config::Override;
use des::{Executor, Snapshot, Time};
use experiment::{Experiment, ExperimentSource};
use results::RunPath;
use serde::{Deserialize, Serialize};
use workload::Interpreters;

use crate::Error;
use crate::collect::CollectorState;
use crate::lp::net_event::NetEvent;

/// First bytes of each file, with the version of the layout.
const MAGIC: &[u8] = b"FABRICSIM CHECKPOINT 13\n";

/// Length of the digest behind the magic: BLAKE3 of the rest, in hexadecimal digits.
const DIGEST_BYTES: usize = 64;

/// Interval of checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// Wall-clock time between two checkpoints.
    Wall(Duration),
    /// Simulated time between two checkpoints, in ps.
    Simulated(u64),
}

/// Where and when checkpoints are written.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    /// Path of the file. Each checkpoint replaces the previous one.
    pub file: RunPath,
    /// Interval.
    pub every: Every,
}

/// A run that can be resumed.
pub struct Checkpoint {
    file: PathBuf,
    source: ExperimentSource,
    pub(crate) body: CheckpointBody,
}

/// The head of a checkpoint: JSON, preceded by its length.
#[derive(Serialize, Deserialize)]
struct CheckpointHead {
    /// Version of FabricSim.
    version: String,
    simulated_ns: f64,
    /// The experiment as it was given.
    experiment: ExperimentSource,
}

/// The body, in the kernel's own format.
#[derive(Serialize, Deserialize)]
pub(crate) struct CheckpointBody {
    /// State of the collector.
    pub(crate) collected: CollectorState,
    pub(crate) snapshot: Snapshot<NetEvent>,
}

impl Checkpoint {
    /// Reads a checkpoint.
    ///
    /// # Errors
    /// The file does not exist, is damaged, or belongs to another version of FabricSim.
    pub fn load(file: &Path) -> Result<Checkpoint, Error> {
        let fail = |why: String| Error::Checkpoint {
            file: file.display().to_string(),
            why,
        };
        let mut bytes = Vec::new();
        config::open_input(file, u64::MAX)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(|e| fail(format!("cannot be read: {e}")))?;
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| fail("is not a checkpoint of this version of FabricSim".into()))?;
        let damaged = || fail("is damaged".into());
        let (digest, rest) = rest.split_at_checked(DIGEST_BYTES).ok_or_else(damaged)?;
        let rest = rest.strip_prefix(b"\n").ok_or_else(damaged)?;
        if results::hash(&[rest]).as_bytes() != digest {
            return Err(damaged());
        }
        let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
        let (head, body) = rest.split_at_checked(length).ok_or_else(damaged)?;
        let head: CheckpointHead = serde_json::from_slice(head).map_err(|_| damaged())?;
        if head.version != env!("CARGO_PKG_VERSION") {
            return Err(fail(format!(
                "was written by version {} of FabricSim; this is {}",
                head.version,
                env!("CARGO_PKG_VERSION")
            )));
        }
        Ok(Checkpoint {
            file: file.into(),
            source: head.experiment,
            body: postcard::from_bytes(body).map_err(|_| damaged())?,
        })
    }

    /// The experiment, with further overrides such as `run.threads`. They must not change what is simulated.
    ///
    /// # Errors
    /// An input of the experiment is missing or has changed.
    pub fn experiment(
        &self,
        overrides: &[Override],
        interpreters: Interpreters<'_>,
    ) -> Result<Experiment, Error> {
        let mut source = self.source.clone();
        source.overrides.extend_from_slice(overrides);
        Ok(Experiment::from_source(source, interpreters)?)
    }

    /// Simulated time of the checkpoint, in ps.
    pub fn time_ps(&self) -> u64 {
        self.body.snapshot.time.ps()
    }

    pub(crate) fn error(&self, why: String) -> Error {
        Error::Checkpoint {
            file: self.file.display().to_string(),
            why: format!("cannot be continued: {why}"),
        }
    }
}

/// Writes a run's checkpoints.
pub(crate) struct CheckpointWriter<'a> {
    checkpoints: &'a Checkpoints,
    source: ExperimentSource,
    /// When the last checkpoint was finished.
    written: Instant,
    /// Simulated time from which the next checkpoint is due.
    due: Time,
}

impl<'a> CheckpointWriter<'a> {
    /// The writer of a run that begins at `now`.
    ///
    /// # Errors
    /// Another process cannot resume the run.
    pub(crate) fn new(
        checkpoints: &'a Checkpoints,
        experiment: &Experiment,
        now: Time,
    ) -> Result<CheckpointWriter<'a>, Error> {
        let fail = |why: String| Error::Checkpoint {
            file: checkpoints.file.at_first().display().to_string(),
            why,
        };
        let Some(source) = &experiment.source else {
            return Err(fail("the experiment does not come from a file".into()));
        };
        if source.folder.to_str().is_none() {
            return Err(fail(
                "the name of the experiment's folder is not UTF-8 text".into(),
            ));
        }
        if experiment.run.executor == Executor::ReverseCheck {
            return Err(fail("the executor reverse-check cannot write checkpoints".into()));
        }
        if let Some(job) = experiment.jobs.iter().find(|job| !job.reopens()) {
            return Err(fail(format!(
                "job '{}' cannot be checkpointed: its programs exist in this process only",
                job.name
            )));
        }
        if let Some(job) = experiment.jobs.iter().find(|job| job.reacts()) {
            return Err(fail(format!(
                "job '{}' cannot be checkpointed: its programs read answers, and cannot be read again",
                job.name
            )));
        }
        let mut writer = CheckpointWriter {
            checkpoints,
            source: source.clone(),
            written: Instant::now(),
            due: Time::ZERO,
        };
        writer.schedule(now);
        Ok(writer)
    }

    fn schedule(&mut self, now: Time) {
        self.written = Instant::now();
        if let Every::Simulated(ps) = self.checkpoints.every {
            let next = (now.ps() / ps.max(1)).saturating_add(1).saturating_mul(ps.max(1));
            self.due = Time(next);
        }
    }

    /// Whether a checkpoint is due.
    #[inline]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        match self.checkpoints.every {
            Every::Wall(span) => self.written.elapsed() >= span,
            Every::Simulated(_) => now >= self.due,
        }
    }

    /// Writes a checkpoint.
    pub(crate) fn write(
        &mut self,
        collected: CollectorState,
        snapshot: Snapshot<NetEvent>,
    ) -> Result<(), Error> {
        let time = snapshot.time;
        let body = CheckpointBody { collected, snapshot };
        let body = postcard::to_stdvec(&body).expect("what is in memory can be written there");
        let head = CheckpointHead {
            version: env!("CARGO_PKG_VERSION").into(),
            simulated_ns: time.as_ns(),
            experiment: self.source.clone(),
        };
        let head = serde_json::to_vec(&head).expect("text and numbers are JSON");
        let file = &self.checkpoints.file;
        let written = file.now().and_then(|path| write_atomically(&path, &head, &body));
        written.map_err(|source| Error::CheckpointNotWritten {
            file: file.at_first().display().to_string(),
            source,
        })?;
        self.schedule(time);
        Ok(())
    }
}

fn write_atomically(path: &Path, head: &[u8], body: &[u8]) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(results::PARTIAL_CHECKPOINT);
    // Permissions of a regular new file, not those of a temporary file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    let length = (head.len() as u64).to_le_bytes();
    file.write_all(MAGIC)?;
    file.write_all(results::hash(&[&length, head, body]).as_bytes())?;
    file.write_all(b"\n")?;
    file.write_all(&length)?;
    file.write_all(head)?;
    file.write_all(body)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // The new name is durable once the folder is synchronised.
    File::open(folder)?.sync_all()
}
