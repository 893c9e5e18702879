//! `critical_path.json`: the explanation of the times of jobs, from `fabricsim explain`. Documented in
//! `docs/formats/critical-path.md`.
//!
//! This is the summary for people and for the report. The table `critical_path` ([`crate::rows::CriticalPathRow`])
//! has the path step by step. Times are exact quotients of integer picoseconds.

use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::checksums::{ChecksumsByTable, TableChecksums, with_checksums};
use crate::contribution::SHOWN_SHARE;
use crate::entries::CRITICAL_PATH;
use crate::folder_checksums::read_checked;
use crate::{BoundBy, PathContribution, ReadError, Summary, Table, WriteError, show};

/// Version of the keys and their meaning.
pub const CRITICAL_PATH_SCHEMA: &str = "fabricsim/critical-path/1";

/// The critical paths of the jobs of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriticalPaths {
    /// Version: [`CRITICAL_PATH_SCHEMA`].
    pub schema: String,
    /// Digest of the explained result.
    pub digest: String,
    /// Jobs of ranks, in the order of the experiment.
    pub jobs: Vec<CriticalPath>,
}

/// The composition of a job's time. The five parts add up to `time_ns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// Name of the job.
    pub job: String,
    /// Whether all ranks reached their end. If not, the path ends at the end of the run.
    pub finished: bool,
    /// Length of the path: from the job's start to the end of its last rank.
    pub time_ns: f64,
    /// Computation on the path in nanoseconds.
    pub compute_ns: f64,
    /// CPU time in MPI: overheads of sends and receives.
    pub overhead_ns: f64,
    /// Undisturbed messages on the path: latency of cables and routers, serialisation, memory.
    pub transfer_ns: f64,
    /// Waits of messages on the path.
    pub wait_ns: f64,
    /// Time without a cause in the tables; 0 except for ranks that waited when the run ended.
    pub unknown_ns: f64,
    /// Number of steps of the path.
    pub steps: u64,
    /// Number of messages on the path, protocol messages included.
    pub messages: u64,
    /// Number of ranks on the path.
    pub ranks: u64,
    /// Causes of waits of messages, the longest first.
    pub waits: Vec<PathWait>,
    /// Links at which messages waited, the longest waits first, 20 at most.
    pub links: Vec<PathLink>,
    /// Ranks with the most computation and overhead on the path, 20 at most.
    pub busiest_ranks: Vec<PathRank>,
    /// Shares of the path by cause. `None` for a job that did not finish, and in files of older versions.
    #[serde(default)]
    pub bound_by: Option<BoundBy>,
    /// What adds to the path, the largest part first. Empty in files of older versions.
    #[serde(default)]
    pub contributions: Vec<PathContribution>,
    /// The same content in sentences.
    pub text: String,
}

/// A cause of waits of messages on a critical path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathWait {
    /// Name in words, for example `global links of groups 3 to 7`.
    pub place: String,
    /// Class of the links. `None` for the NIC gap between two messages.
    pub class: Option<String>,
    /// Unit of the numbers, for example `group`, `pod`, `router`, `host`. `None` for the NIC gap.
    pub unit: Option<String>,
    /// Numbers of the groups (pods, routers, hosts) at which the links begin, ascending. Ejection links have the
    /// hosts to which they lead.
    pub numbers: Vec<u64>,
    /// Job whose packets occupied the links. `None` if not known.
    pub holder: Option<String>,
    /// Time in nanoseconds.
    pub wait_ns: f64,
    /// The same time by cause: the link itself, buffer space behind it, and so on.
    pub reasons: Vec<PathReason>,
    /// Share of the time of the path that is not computation, 0 to 1.
    pub share_of_communication: f64,
}

/// Time of waits for one cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathReason {
    /// Cause, as in the table `waits`.
    pub reason: String,
    /// Time in nanoseconds.
    pub wait_ns: f64,
}

/// Time for which messages on a critical path waited at a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathLink {
    /// Number of the link, as in the table `links`.
    pub link: u32,
    /// Class of the link.
    pub class: String,
    /// Start of the link.
    pub from: String,
    /// End of the link.
    pub to: String,
    /// Time in nanoseconds.
    pub wait_ns: f64,
}

/// Time of a critical path on one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathRank {
    /// Rank.
    pub rank: u32,
    /// Computation in nanoseconds.
    pub compute_ns: f64,
    /// CPU time in MPI in nanoseconds.
    pub overhead_ns: f64,
}

impl CriticalPath {
    /// The time of the path without computation.
    pub fn communication_ns(&self) -> f64 {
        self.time_ns - self.compute_ns
    }

    /// The explanation in sentences.
    pub fn sentences(&self) -> String {
        let share = |ns: f64| {
            show::percent(if self.time_ns > 0.0 {
                ns / self.time_ns
            } else {
                0.0
            })
        };
        let mut text = format!(
            "job {}: {} = {} computation, {} overhead, {} transfer, {} waiting",
            self.job,
            show::time(self.time_ns),
            share(self.compute_ns),
            share(self.overhead_ns),
            share(self.transfer_ns),
            share(self.wait_ns),
        );
        if self.unknown_ns > 0.0 {
            let _ = write!(text, ", {} unknown", share(self.unknown_ns));
        }
        if !self.finished {
            text += "; it was interrupted by its end or that of the run";
        }
        text.push('\n');
        let (large, small): (Vec<_>, Vec<_>) = self.contributions.iter().partition(|part| part.is_large());
        for part in &large {
            let _ = writeln!(text, "  {}", self.line(part));
        }
        let rest: f64 = small.iter().map(|part| part.time_ns).sum();
        if rest > 0.0 && !large.is_empty() {
            let _ = writeln!(
                text,
                "  and {} in parts below {} each",
                show::time(rest),
                show::percent(SHOWN_SHARE)
            );
        }
        let is_large = |link: &&PathLink| link.wait_ns >= SHOWN_SHARE * self.time_ns;
        for link in self.links.iter().filter(is_large).take(SHOWN) {
            let _ = writeln!(
                text,
                "  link {}, {} from {} to {}: {} of waits",
                link.link,
                link.class,
                link.from,
                link.to,
                show::time(link.wait_ns)
            );
        }
        let _ = writeln!(
            text,
            "  {} messages between {} ranks are on the path, in {} steps",
            show::count(self.messages),
            show::count(self.ranks),
            show::count(self.steps)
        );
        text
    }

    /// A contribution in a sentence. That of a wait also has its share of the communication time.
    fn line(&self, part: &PathContribution) -> String {
        let Some(place) = &part.place else {
            return part.to_string();
        };
        let holder = match &part.holder {
            Some(holder) if *holder == self.job => ", held by itself".into(),
            Some(holder) => format!(", held by job {holder}"),
            None => String::new(),
        };
        format!(
            "{} of its communication time ({}) is spent waiting for {place}{holder}",
            show::percent(part.time_ns / self.communication_ns()),
            show::time(part.time_ns)
        )
    }
}

/// Maximum number of single links in [`CriticalPath::sentences`].
const SHOWN: usize = 5;

impl fmt::Display for CriticalPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<&str> = self.jobs.iter().map(|job| job.text.trim_end()).collect();
        f.write_str(&texts.join("\n\n"))
    }
}

impl CriticalPaths {
    /// The summary with the shares of these paths in place of those that the run counted, which divide the time of the
    /// network by estimate.
    pub fn lead(&self, summary: &Summary) -> Summary {
        let mut summary = summary.clone();
        for path in &self.jobs {
            let job = summary.jobs.iter_mut().find(|job| job.name == path.job);
            if let (Some(job), Some(bound_by)) = (job, &path.bound_by) {
                job.bound_by = Some(bound_by.clone());
            }
        }
        summary
    }

    /// Loads the explanation from a result folder. `None` if there is none, or if it explains another result.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged: its bytes are not those that its checksum covers.
    pub fn load(folder: &Path, digest: &str) -> Result<Option<CriticalPaths>, ReadError> {
        let path = folder.join(CRITICAL_PATH);
        let text = match read_checked(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(ReadError::Io { path, source }),
        };
        let damaged = |source: serde_json::Error| ReadError::Io {
            path: path.clone(),
            source: source.into(),
        };
        let json: serde_json::Value = serde_json::from_str(&text).map_err(damaged)?;
        if json.get("schema").and_then(|schema| schema.as_str()) != Some(CRITICAL_PATH_SCHEMA) {
            return Ok(None);
        }
        let paths: CriticalPaths = serde_json::from_value(json).map_err(damaged)?;
        Ok((paths.digest == digest).then_some(paths))
    }

    /// Writes this file and the table `critical_path` into the folder of the result.
    ///
    /// # Errors
    /// The system refuses. Each of the two files is then whole, old or new.
    pub fn write(&self, folder: &Path, table: &Table) -> Result<(), WriteError> {
        let mut checksums = ChecksumsByTable::new();
        replace(folder, &format!("{}.parquet", table.name()), |path| {
            table.write(path)?;
            checksums.insert(table.name().into(), TableChecksums::of_file(path)?);
            Ok(())
        })?;
        let json = with_checksums(self, &checksums);
        replace(folder, CRITICAL_PATH, |path| {
            let mut file = fs::File::create(path)?;
            file.write_all(json.as_bytes())?;
            file.sync_all()
        })
    }
}

/// Writes a file of a result folder under another name and renames it.
fn replace(folder: &Path, name: &str, write: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), WriteError> {
    let path = folder.join(name);
    let failed = |source| WriteError::Io {
        path: path.clone(),
        source,
    };
    let partial = tempfile::Builder::new()
        .prefix(&format!(".{name}-"))
        .tempdir_in(folder)
        .map_err(failed)?;
    // A temporary folder gives the file the permissions of any new file.
    let new = partial.path().join(name);
    write(&new).map_err(failed)?;
    fs::rename(&new, &path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(cause: &str, time_ns: f64, place: Option<&str>) -> PathContribution {
        PathContribution {
            cause: cause.into(),
            time_ns,
            share: time_ns / 1e8,
            place: place.map(String::from),
            holder: place.map(|_| "B".into()),
            ..PathContribution::default()
        }
    }

    fn link(link: u32, wait_ns: f64) -> PathLink {
        PathLink {
            link,
            class: "global".into(),
            from: "a".into(),
            to: "b".into(),
            wait_ns,
        }
    }

    fn example() -> CriticalPath {
        CriticalPath {
            job: "A".into(),
            finished: true,
            time_ns: 1e8,
            compute_ns: 6e7,
            overhead_ns: 5e6,
            transfer_ns: 1.2e7,
            wait_ns: 2.3e7,
            steps: 12,
            messages: 3,
            ranks: 2,
            waits: vec![PathWait {
                place: "global links of groups 3 to 7".into(),
                class: Some("global".into()),
                unit: Some("group".into()),
                numbers: vec![3, 4, 5, 6, 7],
                holder: Some("B".into()),
                wait_ns: 1.64e7,
                reasons: Vec::new(),
                share_of_communication: 0.41,
            }],
            contributions: vec![
                part("computation", 6e7, None),
                part("global links", 1.64e7, Some("global links of groups 3 to 7")),
                part("latency", 1e6, None),
            ],
            links: vec![link(4, 1.6e7), link(5, 100.0)],
            ..CriticalPath::default()
        }
    }

    #[test]
    fn the_sentences_say_what_takes_the_time() {
        let text = example().sentences();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "job A: 100 ms = 60.0 % computation, 5.0 % overhead, 12.0 % transfer, 23.0 % waiting",
                "  computation: 60 ms (60.0 %) before its end",
                "  41.0 % of its communication time (16.4 ms) is spent waiting for global links of groups 3 to 7, held by job B",
                "  and 1 ms in parts below 2.0 % each",
                "  link 4, global from a to b: 16 ms of waits",
                "  3 messages between 2 ranks are on the path, in 12 steps",
            ]
        );
        let mut own = example();
        own.contributions[1].holder = Some("A".into());
        own.finished = false;
        own.unknown_ns = 1e6;
        let text = own.sentences();
        assert!(text.contains("held by itself"), "{text}");
        assert!(text.contains("1.0 % unknown; it was interrupted"), "{text}");
    }

    #[test]
    fn what_was_written_is_read_again_if_it_belongs_to_the_result() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(CriticalPaths::load(folder.path(), "d").unwrap(), None);
        let paths = CriticalPaths {
            schema: CRITICAL_PATH_SCHEMA.into(),
            digest: "d".into(),
            jobs: vec![example()],
        };
        paths
            .write(folder.path(), &crate::rows::critical_path([]))
            .unwrap();
        assert_eq!(CriticalPaths::load(folder.path(), "d").unwrap(), Some(paths));
        assert_eq!(CriticalPaths::load(folder.path(), "e").unwrap(), None);
        let files: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(files.len(), 2, "{files:?}");
        fs::write(folder.path().join(CRITICAL_PATH), "{").unwrap();
        assert!(CriticalPaths::load(folder.path(), "d").is_err());
    }
}
