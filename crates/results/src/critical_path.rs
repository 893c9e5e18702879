//! `critical_path.json`: why jobs take their time, as `fabricsim explain` has found out. Documented in
//! `docs/formats/critical-path.md`.
//!
//! This is the summary, for people and for the report; the path itself, step by step, is the table
//! `critical_path` ([`crate::rows::CriticalPathRow`]). Times are exact quotients of integer picoseconds.

use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{ReadError, Table, WriteError, show};

/// Name of the file.
pub const CRITICAL_PATH: &str = "critical_path.json";

/// Version of the keys and their meaning.
pub const CRITICAL_PATH_SCHEMA: &str = "fabricsim/critical-path/1";

/// The critical paths of the jobs of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriticalPaths {
    /// [`CRITICAL_PATH_SCHEMA`].
    pub schema: String,
    /// Digest of the result that was explained.
    pub digest: String,
    /// Jobs of ranks, in the order of the experiment.
    pub jobs: Vec<CriticalPath>,
}

/// What a job's time consists of. The five parts add up to `time_ns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// Name of the job.
    pub job: String,
    /// Whether all ranks reached their end. If not, this is the path to the end of the run.
    pub finished: bool,
    /// Length of the path: from the job's start to the end of its last rank.
    pub time_ns: f64,
    /// Computation on the path.
    pub compute_ns: f64,
    /// CPU time that MPI takes: overheads of sends and receives.
    pub overhead_ns: f64,
    /// Messages on the path that nothing held up: latency of cables and routers, time on the wire, memory.
    pub transfer_ns: f64,
    /// Messages on the path that were held up.
    pub wait_ns: f64,
    /// Time that the tables do not explain; 0, but for ranks that were cut off while they waited.
    pub unknown_ns: f64,
    /// Steps of the path.
    pub steps: u64,
    /// Messages on the path, those of protocols included.
    pub messages: u64,
    /// Ranks that the path comes to.
    pub ranks: u64,
    /// What messages waited for, the longest first.
    pub waits: Vec<PathWait>,
    /// Links that messages waited for, the longest first, 20 at most.
    pub links: Vec<PathLink>,
    /// Ranks that the path spends most time on, in computation and overhead, 20 at most.
    pub busiest_ranks: Vec<PathRank>,
    /// All this in sentences.
    pub text: String,
}

/// What messages on a critical path waited for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathWait {
    /// In words, for example `global links of groups 3 to 7`.
    pub place: String,
    /// Class of the links; none: the NIC's gap between two messages.
    pub class: Option<String>,
    /// What the numbers count, for example `group`, `pod`, `router`, `host`; none for the NIC's gap.
    pub unit: Option<String>,
    /// Numbers of the groups (pods, routers, hosts) that the links begin at, ascending; ejection links: of the hosts
    /// that they lead to.
    pub numbers: Vec<u64>,
    /// Job whose packets held the links; none: not known.
    pub holder: Option<String>,
    /// Time.
    pub wait_ns: f64,
    /// The same by what was waited for: the wire, room in the buffer behind it, and so on.
    pub reasons: Vec<PathReason>,
    /// Share of the time of the path that is not computation, 0 to 1.
    pub share_of_communication: f64,
}

/// Time of waits for one thing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathReason {
    /// As in the table `waits`.
    pub reason: String,
    /// Time.
    pub wait_ns: f64,
}

/// Time that messages on a critical path waited for a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathLink {
    /// Number of the link, as in the table `links`.
    pub link: u32,
    /// Its class.
    pub class: String,
    /// Where it begins.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// Time.
    pub wait_ns: f64,
}

/// Time that a critical path spends on a rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathRank {
    /// Rank.
    pub rank: u32,
    /// Computation.
    pub compute_ns: f64,
    /// CPU time for MPI.
    pub overhead_ns: f64,
}

impl CriticalPath {
    /// All but computation.
    pub fn communication_ns(&self) -> f64 {
        self.time_ns - self.compute_ns
    }

    /// In sentences.
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
            text += "; it was cut off at the end of the run";
        }
        text.push('\n');
        for wait in self.waits.iter().take(SHOWN) {
            let _ = write!(
                text,
                "  {} of its communication time ({}) is waiting for {}",
                show::percent(wait.share_of_communication),
                show::time(wait.wait_ns),
                wait.place
            );
            match &wait.holder {
                Some(holder) if *holder == self.job => text += ", held by itself",
                Some(holder) => {
                    let _ = write!(text, ", held by job {holder}");
                }
                None => {}
            }
            text.push('\n');
        }
        if self.waits.len() > SHOWN {
            let rest: f64 = self.waits[SHOWN..].iter().map(|wait| wait.wait_ns).sum();
            let _ = writeln!(text, "  and {} of waits for other things", show::time(rest));
        }
        for link in self.links.iter().take(SHOWN) {
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
}

/// Lines of each kind in [`CriticalPath::sentences`].
const SHOWN: usize = 5;

impl fmt::Display for CriticalPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<&str> = self.jobs.iter().map(|job| job.text.trim_end()).collect();
        f.write_str(&texts.join("\n\n"))
    }
}

impl CriticalPaths {
    /// What an earlier `fabricsim explain` has written into a result folder; nothing if there was none, or if it
    /// explained another result.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn load(folder: &Path, digest: &str) -> Result<Option<CriticalPaths>, ReadError> {
        let path = folder.join(CRITICAL_PATH);
        let text = match fs::read_to_string(&path) {
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

    /// Writes it and the table `critical_path` into the folder of the result.
    ///
    /// # Errors
    /// The system refuses. Each of the two files is then whole, old or new.
    pub fn write(&self, folder: &Path, table: &Table) -> Result<(), WriteError> {
        let mut json = serde_json::to_string_pretty(self).expect("plain data");
        json.push('\n');
        replace(folder, &format!("{}.parquet", table.name()), |path| {
            table.write(path)
        })?;
        replace(folder, CRITICAL_PATH, |path| {
            let mut file = fs::File::create(path)?;
            file.write_all(json.as_bytes())?;
            file.sync_all()
        })
    }
}

/// Writes a file of a result folder under another name, and then moves it to its place.
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
    // In a folder of its own, so that the file gets the permissions of any new one.
    let new = partial.path().join(name);
    write(&new).map_err(failed)?;
    fs::rename(&new, &path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

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
                "  41.0 % of its communication time (16.4 ms) is waiting for global links of groups 3 to 7, held by job B",
                "  3 messages between 2 ranks are on the path, in 12 steps",
            ]
        );
        let mut own = example();
        own.waits[0].holder = Some("A".into());
        own.finished = false;
        own.unknown_ns = 1e6;
        let text = own.sentences();
        assert!(text.contains("held by itself"), "{text}");
        assert!(text.contains("1.0 % unknown; it was cut off"), "{text}");
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
