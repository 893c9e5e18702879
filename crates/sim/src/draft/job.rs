//! The job of a draft: a motif or a pattern of synthetic traffic, with its parameters.

use config::{DefaultValue, Error, Parameter, nearest};
use workload::motif::{MOTIFS, Motif, most_cubic};
use workload::traffic::{PATTERNS, PatternKind};

use super::lines::{GivenKey, setting_line, table};
use super::request::{TrafficHosts, refused};

/// Before the name of a pattern.
const TRAFFIC: &str = "traffic:";

/// Offered load of synthetic traffic, and the times of its run.
const LOAD: &str = "0.5";
const UNTIL: &str = "\"50 us\"";
const WARMUP: &str = "\"10 us\"";

/// The job of a draft.
pub(super) struct JobDraft {
    kind: DraftedPart,
    hosts: u32,
    /// Parameters without a default.
    given: Vec<GivenKey>,
}

/// What the job does.
enum DraftedPart {
    Motif(&'static Motif),
    Pattern(&'static PatternKind),
}

impl JobDraft {
    /// The motif or pattern of this name, for a job of so many ranks or hosts.
    pub(super) fn named(name: &str, hosts: u32) -> Result<JobDraft, Error> {
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

    /// Name of the motif or pattern.
    pub(super) fn name(&self) -> &'static str {
        match &self.kind {
            DraftedPart::Motif(motif) => motif.name,
            DraftedPart::Pattern(pattern) => pattern.name,
        }
    }

    /// The number of hosts of synthetic traffic as a value.
    pub(super) fn hosts(&self, hosts: TrafficHosts) -> String {
        match hosts {
            TrafficHosts::All => "\"all\"".into(),
            TrafficHosts::Wanted => self.hosts.to_string(),
        }
    }

    /// The tables `[[job]]` and `[run]`, with comments.
    pub(super) fn tables(&self, hosts: TrafficHosts) -> String {
        let name = self.name();
        let seed = setting_line("# seed = 1", "of all random choices");
        match &self.kind {
            DraftedPart::Motif(motif) => format!(
                "# {}\n[[job]]\nname = \"{name}\"\n{}{}\n[job.workload]\nmotif = \"{name}\"\n{}\n[run]\n{seed}{}",
                motif.summary,
                setting_line("# ranks_per_host = 1", "ranks on each host"),
                setting_line("# placement = \"linear\"", "fabricsim list placements"),
                table(motif.parameters, &self.given),
                setting_line(
                    "# until = \"10 ms\"",
                    "end of the run, if the ranks have not finished before; without it, there is none"
                ),
            ),
            DraftedPart::Pattern(pattern) => format!(
                "# {}\n[[job]]\nname = \"{name}\"\n{}\n[job.traffic]\npattern = \
                 \"{name}\"\n{}{}{}\n[run]\n{}{}{seed}",
                pattern.summary,
                setting_line(
                    &format!("hosts = {}", self.hosts(hosts)),
                    "\"all\" hosts of the network, or this many"
                ),
                setting_line(
                    &format!("load = {LOAD}"),
                    "of the injection bandwidth of each host"
                ),
                setting_line("# message = \"256 B\"", "size of each message"),
                table(pattern.parameters, &self.given),
                setting_line(&format!("until = {UNTIL}"), "end of the run"),
                setting_line(&format!("warmup = {WARMUP}"), "start of the measurement"),
            ),
        }
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
                self.hosts(hosts)
            ),
        }
    }
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
