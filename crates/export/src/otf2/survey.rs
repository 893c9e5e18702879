//! The first pass over the tables: ranks, locations, activities, and numbers of rows.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::CallActivity;
use super::rank::MessageSide;
use crate::Error;
use crate::folder::ExportSource;
use results::{BatchColumns, WrongColumn};

/// Columns of `timeline` from which events are made.
pub(super) const TIMELINE: [&str; 7] = ["job", "rank", "begin_ps", "end_ps", "state", "blocked", "region"];
/// Columns of `messages` from which events are made.
pub(super) const MESSAGES: [&str; 13] = [
    "job",
    "from_rank",
    "to_rank",
    "sequence",
    "number",
    "bytes",
    "tag",
    "protocol",
    "posted_ps",
    "sent_ps",
    "injected_ps",
    "arrived_ps",
    "matched_ps",
];

/// Columns that the survey reads.
const SURVEYED: [&str; 7] = [
    "job",
    "from_rank",
    "to_rank",
    "from_host",
    "to_host",
    "collective",
    "protocol",
];

/// The content of the archive.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub jobs: JobLocations,
    /// Activities of ranks: the regions of the archive by number.
    pub activities: Activities,
    /// Ranks by location.
    pub locations: Vec<TraceLocation>,
    /// Whether messages of collectives exist.
    pub collectives: bool,
    /// Whether one-sided communication exists.
    pub one_sided: bool,
}

/// Facts about a rank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TraceLocation {
    pub host: Option<u32>,
    /// Number of its rows in the tables.
    pub rows: u64,
}

/// Jobs of ranks, in the order in which the tables name them.
#[derive(Debug, Default)]
pub(super) struct JobLocations {
    names: Vec<String>,
    ranks: Vec<u32>,
    /// Location of the first rank of each job.
    first: Vec<u64>,
}

impl JobLocations {
    /// The number of a job.
    pub fn number(&mut self, name: &str) -> usize {
        self.find(name).unwrap_or_else(|| {
            self.names.push(name.into());
            self.ranks.push(0);
            self.names.len() - 1
        })
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The location of a rank. `None` if the survey did not see it.
    pub fn location(&self, name: &str, rank: u64) -> Option<u64> {
        let job = self.find(name)?;
        (rank < u64::from(self.ranks[job])).then(|| self.first[job] + rank)
    }

    /// Name, first location and number of ranks of each job.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64, u32)> {
        let counts = self.first.iter().zip(&self.ranks);
        self.names
            .iter()
            .zip(counts)
            .map(|(name, (first, ranks))| (name.as_str(), *first, *ranks))
    }

    /// The job of a location.
    pub fn of(&self, location: u64) -> usize {
        self.first.partition_point(|first| *first <= location) - 1
    }

    fn settle(&mut self) -> u64 {
        let mut next = 0;
        for ranks in &self.ranks {
            self.first.push(next);
            next += u64::from(*ranks);
        }
        next
    }
}

/// Activities by number.
#[derive(Debug, Default)]
pub(super) struct Activities {
    pub all: Vec<CallActivity>,
    /// Activity numbers by state and region.
    numbers: BTreeMap<String, BTreeMap<Option<String>, u32>>,
}

impl Activities {
    /// The activity number of a row.
    pub fn number(&mut self, state: &str, region: Option<&str>) -> u32 {
        let known = self.numbers.get(state).and_then(|regions| match region {
            None => regions.get(&None),
            Some(_) => regions
                .iter()
                .find(|(of, _)| of.as_deref() == region)
                .map(|(_, number)| number),
        });
        if let Some(number) = known {
            return *number;
        }
        let activity = CallActivity::new(state, region);
        let same = self
            .all
            .iter()
            .position(|of| of.name == activity.name && of.is_mpi() == activity.is_mpi());
        let number = same.unwrap_or(self.all.len()) as u32;
        if same.is_none() {
            self.all.push(activity);
        }
        let regions = self.numbers.entry(state.into()).or_default();
        regions.insert(region.map(str::to_string), number);
        number
    }
}

/// The role of the two ranks in a row of `messages`.
pub(super) fn sides(protocol: &str) -> Result<&'static [(MessageSide, bool)], WrongColumn> {
    // Whether the role belongs to the sender of the row.
    Ok(match protocol {
        "eager" | "rendezvous" => &[(MessageSide::Out, true), (MessageSide::In, false)],
        "request-to-send" => &[(MessageSide::Asking, true), (MessageSide::Asked, false)],
        "put" => &[(MessageSide::Put, true)],
        "get" => &[(MessageSide::Get, true)],
        "put-done" | "get-data" => &[(MessageSide::Answer, false)],
        "clear-to-send" => &[],
        other => {
            let why = format!("its column 'protocol' has the unknown value '{other}'");
            return Err(WrongColumn(why));
        }
    })
}

impl Survey {
    /// Reads the tables once.
    pub fn new(folder: &ExportSource) -> Result<Survey, Error> {
        let mut survey = Survey::default();
        // Ranks by job and number, until all jobs are known.
        let mut seen: Vec<Vec<TraceLocation>> = Vec::new();
        if folder.has("ranks") {
            folder.each("ranks", &["job", "rank", "host"], |rows| {
                let (jobs, ranks, hosts) =
                    (rows.texts("job")?, rows.integers("rank")?, rows.integers("host")?);
                for row in 0..rows.rows() {
                    let location = survey.see(&mut seen, jobs.or_empty(row), ranks[row])?;
                    location.host = Some(hosts[row] as u32);
                }
                Ok(())
            })?;
        }
        folder.each("timeline", &["job", "rank", "state", "region"], |rows| {
            let (jobs, ranks) = (rows.texts("job")?, rows.integers("rank")?);
            let (states, regions) = (rows.texts("state")?, rows.texts("region")?);
            for (row, rank) in ranks.into_iter().enumerate() {
                survey.see(&mut seen, jobs.or_empty(row), rank)?.rows += 1;
                survey.activities.number(states.or_empty(row), regions.get(row));
            }
            Ok(())
        })?;
        if folder.has("messages") {
            folder.each("messages", &SURVEYED, |rows| {
                Ok(survey.see_messages(&mut seen, rows)?)
            })?;
        }
        let count = survey.jobs.settle();
        survey.locations.reserve(count as usize);
        for (job, ranks) in survey.jobs.ranks.iter().enumerate() {
            let mut of = seen.get(job).cloned().unwrap_or_default();
            of.resize(*ranks as usize, TraceLocation::default());
            survey.locations.extend(of);
        }
        Ok(survey)
    }

    fn see<'s>(
        &mut self,
        seen: &'s mut Vec<Vec<TraceLocation>>,
        job: &str,
        rank: u64,
    ) -> Result<&'s mut TraceLocation, WrongColumn> {
        let job = self.jobs.number(job);
        // Memory is proportional to the largest rank number, so an implausible one is refused.
        let rank = u32::try_from(rank).ok().filter(|rank| *rank < u32::MAX >> 8);
        let rank =
            rank.ok_or_else(|| WrongColumn("its column 'rank' names a rank beyond 16 million".into()))?;
        self.jobs.ranks[job] = self.jobs.ranks[job].max(rank + 1);
        if seen.len() <= job {
            seen.resize(job + 1, Vec::new());
        }
        let of = &mut seen[job];
        if of.len() <= rank as usize {
            of.resize(rank as usize + 1, TraceLocation::default());
        }
        Ok(&mut of[rank as usize])
    }

    fn see_messages(
        &mut self,
        seen: &mut Vec<Vec<TraceLocation>>,
        rows: &BatchColumns<'_>,
    ) -> Result<(), WrongColumn> {
        let (jobs, protocols) = (rows.texts("job")?, rows.texts("protocol")?);
        let collectives = rows.texts("collective")?;
        let ranks = [rows.integers("from_rank")?, rows.integers("to_rank")?];
        let hosts = [rows.integers("from_host")?, rows.integers("to_host")?];
        for row in 0..rows.rows() {
            for (side, of_sender) in sides(protocols.or_empty(row))? {
                let end = usize::from(!of_sender);
                let location = self.see(seen, jobs.or_empty(row), ranks[end][row])?;
                location.rows += 1;
                location.host = location.host.or(Some(hosts[end][row] as u32));
                self.one_sided |= matches!(side, MessageSide::Put | MessageSide::Get);
            }
            self.collectives |= collectives.get(row).is_some();
        }
        Ok(())
    }

    /// Hosts with ranks.
    pub fn hosts(&self) -> BTreeSet<u32> {
        self.locations
            .iter()
            .filter_map(|location| location.host)
            .collect()
    }
}
