//! The job of a draft: a motif, a pattern of synthetic traffic or a recording, with its parameters.

use std::path::Path;

use config::{Bytes, DefaultValue, Error, Parameter, nearest};
use workload::motif::{MOTIFS, Motif, most_cubic};
use workload::traffic::{PATTERNS, PatternKind};

use super::lines::{GivenKey, setting_line, table};
use super::request::{DraftWorkload, TrafficHosts, refused};

/// Before the name of a pattern.
const TRAFFIC: &str = "traffic:";

/// Offered load of synthetic traffic, and the times of its run.
const LOAD: &str = "0.5";
const UNTIL: &str = "\"50 us\"";
const WARMUP: &str = "\"10 us\"";

/// Most ranks of one host.
const MOST_RANKS_PER_HOST: u32 = 4096;

/// The job of a draft.
pub(super) struct JobDraft {
    kind: DraftedPart,
    /// Least number of hosts of the network; those of synthetic traffic.
    hosts: u32,
    /// Parameters without a default.
    given: Vec<GivenKey>,
}

/// What the job does.
enum DraftedPart {
    Motif(&'static Motif),
    Pattern(&'static PatternKind),
    Recording(DraftedRecording),
}

/// A recording with its place.
struct DraftedRecording {
    /// Name of its file or folder, for people.
    name: String,
    /// Name of its format, which is its key in `job.workload`.
    format: &'static str,
    /// Its path where it is read now, and as the experiment file names it, as values.
    path: String,
    written: String,
    ranks: u32,
    ranks_per_host: u32,
}

impl JobDraft {
    /// The job of a workload. Without a number of hosts it has one for each rank of its recording.
    ///
    /// # Errors
    /// An unknown workload, a recording that cannot be read, or no number of hosts.
    pub(super) fn of(workload: DraftWorkload<'_>, hosts: Option<u32>) -> Result<JobDraft, Error> {
        match (workload, hosts) {
            (DraftWorkload::Named(name), Some(hosts)) => JobDraft::named(name, hosts),
            (DraftWorkload::Named(_), None) => Err(refused(
                "--hosts",
                "is missing; expected a number, or --trace of a recording",
            )),
            (DraftWorkload::Recording { path, written }, hosts) => JobDraft::recorded(path, written, hosts),
        }
    }

    /// The recording at this path. On fewer hosts than ranks, each has several.
    fn recorded(path: &Path, written: &str, hosts: Option<u32>) -> Result<JobDraft, Error> {
        let fail = |error: workload::TraceError| refused("--trace", error.to_string());
        let (_, format) = workload::trace::find(path).map_err(fail)?;
        let ranks = workload::open(path).map_err(fail)?.ranks();
        let hosts = hosts.unwrap_or(ranks).max(1);
        let ranks_per_host = ranks.div_ceil(hosts).max(1);
        if ranks_per_host > MOST_RANKS_PER_HOST {
            let message = format!(
                "{ranks} ranks on {hosts} hosts are {ranks_per_host} on each; expected at least {} hosts, for \
                 {MOST_RANKS_PER_HOST} ranks on each",
                ranks.div_ceil(MOST_RANKS_PER_HOST)
            );
            return Err(refused("--hosts", message));
        }
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
        // JSON strings are TOML strings.
        let value = |text: &str| serde_json::Value::from(text).to_string();
        let kind = DraftedPart::Recording(DraftedRecording {
            name: name.into_owned(),
            format: format.name,
            path: value(&path.to_string_lossy()),
            written: value(written),
            ranks,
            ranks_per_host,
        });
        Ok(JobDraft {
            kind,
            hosts,
            given: vec![],
        })
    }

    /// The motif or pattern of this name, for a job of so many ranks or hosts.
    fn named(name: &str, hosts: u32) -> Result<JobDraft, Error> {
        let pattern = |name: &str| PATTERNS.iter().find(|pattern| pattern.name == name);
        let kind = match name.strip_prefix(TRAFFIC) {
            Some(name) => pattern(name).map(DraftedPart::Pattern),
            None => {
                let motif = MOTIFS
                    .iter()
                    .find(|motif| motif.name == name)
                    .map(DraftedPart::Motif);
                motif.or_else(|| pattern(name).map(DraftedPart::Pattern))
            }
        };
        let Some(kind) = kind else {
            let (name, motifs) = match name.strip_prefix(TRAFFIC) {
                Some(name) => (name, &[][..]),
                None => (name, MOTIFS),
            };
            let motifs = motifs.iter().map(|motif| motif.name.to_string());
            let patterns = PATTERNS.iter().map(|pattern| {
                let is_motif = MOTIFS.iter().any(|motif| motif.name == pattern.name);
                let before = if is_motif { TRAFFIC } else { "" };
                format!("{before}{}", pattern.name)
            });
            let known: Vec<String> = motifs.chain(patterns).collect();
            let known = known.iter().map(String::as_str);
            return Err(refused(
                "--workload",
                format!("unknown name '{name}'{}", nearest(name, known)),
            ));
        };
        let (parameters, example) = match &kind {
            DraftedPart::Motif(motif) => (motif.parameters, motif.example),
            DraftedPart::Pattern(pattern) => (pattern.parameters, pattern.example),
            DraftedPart::Recording(_) => unreachable!("a recording has a path instead of a name"),
        };
        let mut given = vec![];
        if matches!(kind, DraftedPart::Motif(_)) {
            given.push(("ranks", hosts.to_string()));
        }
        for parameter in parameters {
            if !matches!(parameter.default, DefaultValue::Required) || parameter.name == "ranks" {
                continue;
            }
            if matches!(parameter.kind, config::Type::Path) {
                let message = format!(
                    "'{name}' reads a file (its key {}), and there is none yet; expected another workload, to replace in \
                     the written experiment",
                    parameter.name
                );
                return Err(refused("--workload", message));
            }
            given.push((parameter.name, value_for(parameter, hosts, example)));
        }
        Ok(JobDraft { kind, hosts, given })
    }

    /// Whether the job is synthetic traffic.
    pub(super) fn is_traffic(&self) -> bool {
        matches!(self.kind, DraftedPart::Pattern(_))
    }

    /// Name of the motif or pattern, or of the recording's file.
    pub(super) fn name(&self) -> &str {
        match &self.kind {
            DraftedPart::Motif(motif) => motif.name,
            DraftedPart::Pattern(pattern) => pattern.name,
            DraftedPart::Recording(recording) => &recording.name,
        }
    }

    /// Least number of hosts of the network.
    pub(super) fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The option that gives the job.
    pub(super) fn option(&self) -> &'static str {
        match &self.kind {
            DraftedPart::Recording(_) => "--trace",
            DraftedPart::Motif(_) | DraftedPart::Pattern(_) => "--workload",
        }
    }

    /// The key with the path of the recording, and the path where it is read now as a value. A draft is checked with
    /// it, as the written path is relative to a file that is not there yet.
    pub(super) fn readable(&self) -> Option<(String, String)> {
        let DraftedPart::Recording(recording) = &self.kind else {
            return None;
        };
        Some((
            format!("job.0.workload.{}", recording.format),
            recording.path.clone(),
        ))
    }

    /// The number of hosts of synthetic traffic as a value.
    pub(super) fn traffic_hosts(&self, hosts: TrafficHosts) -> String {
        match hosts {
            TrafficHosts::All => "\"all\"".into(),
            TrafficHosts::Wanted => self.hosts.to_string(),
        }
    }

    /// The tables `[[job]]` and `[run]`, with comments. `packet` is the largest payload of a packet.
    pub(super) fn tables(&self, hosts: TrafficHosts, packet: Option<Bytes>) -> String {
        match &self.kind {
            DraftedPart::Motif(motif) => self.motif_tables(motif),
            DraftedPart::Pattern(pattern) => self.pattern_tables(pattern, hosts, packet),
            DraftedPart::Recording(recording) => recording.tables(),
        }
    }

    fn motif_tables(&self, motif: &Motif) -> String {
        format!(
            "# {}\n[[job]]\nname = \"{name}\"\n{}{}\n[job.workload]\nmotif = \"{name}\"\n{}\n{}",
            motif.summary,
            setting_line("# ranks_per_host = 1", "ranks on each host"),
            setting_line("# placement = \"linear\"", "fabricsim list placements"),
            table(motif.parameters, &self.given),
            run_of_ranks(),
            name = motif.name,
        )
    }

    fn pattern_tables(&self, pattern: &PatternKind, hosts: TrafficHosts, packet: Option<Bytes>) -> String {
        let all = match hosts {
            TrafficHosts::All => "the pattern needs all hosts of the network",
            TrafficHosts::Wanted => "this many of the network's hosts, or \"all\"",
        };
        let message = packet.map_or("...".to_string(), |packet| format!("\"{packet}\""));
        format!(
            "# {}\n[[job]]\nname = \"{name}\"\n{}\n[job.traffic]\npattern = \"{name}\"\n{}{}{}\n[run]\n{}{}{}",
            pattern.summary,
            setting_line(&format!("hosts = {}", self.traffic_hosts(hosts)), all),
            setting_line(
                &format!("load = {LOAD}"),
                "of the injection bandwidth of each host"
            ),
            setting_line(
                &format!("# message = {message}"),
                "size of each message; default: network.packet"
            ),
            table(pattern.parameters, &self.given),
            setting_line(&format!("until = {UNTIL}"), "end of the run"),
            setting_line(&format!("warmup = {WARMUP}"), "start of the measurement"),
            seed_line(),
            name = pattern.name,
        )
    }

    /// The same without comments, in a few lines.
    pub(super) fn shortest(&self, hosts: TrafficHosts) -> String {
        let name = self.name();
        let given: String = self
            .given
            .iter()
            .map(|(key, value)| format!("{key} = {value}\n"))
            .collect();
        match &self.kind {
            DraftedPart::Motif(_) => format!("[[job]]\n[job.workload]\nmotif = \"{name}\"\n{given}"),
            DraftedPart::Pattern(_) => format!(
                "[[job]]\nhosts = {}\n[job.traffic]\npattern = \"{name}\"\nload = {LOAD}\n{given}[run]\nuntil = \
                 {UNTIL}\nwarmup = {WARMUP}\n",
                self.traffic_hosts(hosts)
            ),
            DraftedPart::Recording(recording) => format!(
                "[[job]]\nranks_per_host = {}\nworkload = {{ {} = {} }}\n",
                recording.ranks_per_host, recording.format, recording.path
            ),
        }
    }
}

impl DraftedRecording {
    /// The tables `[[job]]` and `[run]`, with comments.
    fn tables(&self) -> String {
        let DraftedRecording {
            format,
            written,
            ranks,
            ranks_per_host,
            ..
        } = self;
        let ranks_per_host = match ranks_per_host {
            1 => "# ranks_per_host = 1".to_string(),
            several => format!("ranks_per_host = {several}"),
        };
        format!(
            "# A recording in the format {format} of {ranks} ranks: fabricsim trace info.\n[[job]]\nname = {}\n{}{}{}\n\
             [job.workload]\n{}\n{}",
            serde_json::Value::from(self.name.as_str()),
            setting_line(&ranks_per_host, "ranks on each host"),
            setting_line("# placement = \"linear\"", "fabricsim list placements"),
            setting_line(
                "# compute = { scale = 1.0 }",
                "factor on recorded computation; 0.5: processors twice as fast"
            ),
            setting_line(&format!("{format} = {written}"), "relative to this file"),
            run_of_ranks(),
        )
    }
}

/// The table `[run]` of a job of ranks.
fn run_of_ranks() -> String {
    let until = setting_line(
        "# until = \"10 ms\"",
        "end of the run, if the ranks have not finished before; without it, there is none",
    );
    format!("[run]\n{}{until}", seed_line())
}

fn seed_line() -> String {
    setting_line("# seed = 1", "of all random choices")
}

/// A value for a parameter without a default: the grid of the hosts, or that of the example.
fn value_for(parameter: &Parameter, hosts: u32, example: &str) -> String {
    if parameter.name == "shape" {
        let mut sides = most_cubic(hosts, 3);
        sides.retain(|side| *side > 1 || hosts == 1);
        return format!("{sides:?}");
    }
    let begins = |line: &str, name: &str| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(" = "))
    };
    let from = example.lines().skip_while(|line| !begins(line, parameter.name));
    // The value ends before the next key.
    let is_key = |line: &str| line.starts_with(|c: char| c.is_ascii_lowercase());
    let mut lines = from
        .enumerate()
        .take_while(|(number, line)| *number == 0 || !is_key(line));
    let first = lines.next().map_or("", |(_, line)| line);
    let value = first.split_once(" = ").map_or("", |(_, value)| value);
    lines.fold(value.to_string(), |value, (_, line)| value + "\n" + line)
}
