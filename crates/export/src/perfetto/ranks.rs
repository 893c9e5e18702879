//! States of ranks, and their messages: a thread for each rank, a slice for each row of `timeline`, two events and an
//! arrow for each row of `messages`.
//!
//! Perfetto orders events of one time by their position in the file. A message is handed over when the overhead of
//! its sender has just ended, and ends the wait of its receiver. So arrow ends precede slices in the file, and
//! usually arrow begins too. An arrow of a message that is sent at the start of its call follows the slices.

use std::collections::BTreeMap;

use super::jobs::JobTracks;
use super::trace::{AnnotationValue, Arrow, Named, Trace, Track, nanoseconds};
use crate::Error;
use crate::folder::ExportSource;
use results::{BatchColumns, TextColumn, WrongColumn};

/// State of a computing rank in `timeline`.
const COMPUTE: &str = "compute";

/// Protocols of messages with data of the application, in `messages`.
const DATA: [&str; 4] = ["eager", "rendezvous", "put", "get-data"];

/// The ranks of all jobs and their tracks.
pub(crate) struct RankTracks {
    /// Hosts by job and rank, if known.
    hosts: Vec<BTreeMap<u32, Option<u32>>>,
    tracks: Vec<BTreeMap<u32, Track>>,
    threads: i64,
}

impl RankTracks {
    /// Describes all ranks that are known in advance, job by job.
    pub fn describe(
        folder: &ExportSource,
        jobs: &mut JobTracks,
        trace: &mut Trace,
    ) -> Result<RankTracks, Error> {
        let mut ranks = RankTracks {
            hosts: Vec::new(),
            tracks: Vec::new(),
            threads: 0,
        };
        if folder.has("ranks") {
            ranks.see(folder, jobs, trace, "ranks", "rank", Some("host"))?;
        } else {
            // The run has not ended.
            for (table, rank, host) in [
                ("timeline", "rank", None),
                ("messages", "from_rank", Some("from_host")),
                ("messages", "to_rank", Some("to_host")),
            ] {
                if folder.has(table) {
                    ranks.see(folder, jobs, trace, table, rank, host)?;
                }
            }
        }
        for job in 0..ranks.hosts.len() {
            let known: Vec<u32> = ranks.hosts[job].keys().copied().collect();
            for rank in known {
                ranks.track(trace, job, rank)?;
            }
        }
        Ok(ranks)
    }

    fn see(
        &mut self,
        folder: &ExportSource,
        jobs: &mut JobTracks,
        trace: &mut Trace,
        table: &str,
        rank: &str,
        host: Option<&str>,
    ) -> Result<(), Error> {
        let columns: Vec<&str> = ["job", rank].into_iter().chain(host).collect();
        folder.each(table, &columns, |rows| {
            let names = rows.texts("job")?;
            let ranks = rows.short_integers(rank)?;
            let hosts = host.map(|host| rows.short_integers(host)).transpose()?;
            for (row, rank) in ranks.iter().enumerate() {
                let job = jobs.number(trace, names.or_empty(row))?;
                let known = self.of(job).0.entry(*rank).or_default();
                *known = hosts.as_ref().map(|hosts| hosts[row]).or(*known);
            }
            Ok(())
        })
    }

    /// Hosts and tracks of a job.
    fn of(&mut self, job: usize) -> (&mut BTreeMap<u32, Option<u32>>, &mut BTreeMap<u32, Track>) {
        if self.hosts.len() <= job {
            self.hosts.resize_with(job + 1, BTreeMap::new);
            self.tracks.resize_with(job + 1, BTreeMap::new);
        }
        (&mut self.hosts[job], &mut self.tracks[job])
    }

    /// The track of a rank.
    fn track(&mut self, trace: &mut Trace, job: usize, rank: u32) -> Result<Track, Error> {
        let threads = self.threads;
        let (hosts, tracks) = self.of(job);
        if let Some(track) = tracks.get(&rank) {
            return Ok(*track);
        }
        // Leading zeros make the order of thread names that of ranks.
        let width = hosts.keys().next_back().map_or(1, |last| last.to_string().len());
        let mut name = format!("rank {rank:0width$}");
        if let Some(Some(host)) = hosts.get(&rank) {
            name += &format!(" on host {host}");
        }
        let place = i32::try_from(rank).unwrap_or(i32::MAX);
        // A thread with the number of its process would be taken for the main thread.
        let track = trace.thread(JobTracks::pid(job), FIRST_THREAD + threads, &name, place)?;
        tracks.insert(rank, track);
        self.threads += 1;
        Ok(track)
    }

    /// Writes the states of ranks.
    pub fn timeline(
        &mut self,
        folder: &ExportSource,
        jobs: &mut JobTracks,
        trace: &mut Trace,
    ) -> Result<(), Error> {
        let columns = ["job", "rank", "begin_ps", "end_ps", "state", "blocked", "region"];
        folder.each("timeline", &columns, |rows| {
            let (names, ranks) = (rows.texts("job")?, rows.short_integers("rank")?);
            let (starts, ends) = (rows.integers("begin_ps")?, rows.integers("end_ps")?);
            let (states, blocked) = (rows.texts("state")?, rows.flags("blocked")?);
            let regions = rows.texts("region")?;
            for row in 0..rows.rows() {
                let job = jobs.number(trace, names.or_empty(row))?;
                let track = self.track(trace, job, ranks[row])?;
                let region = regions
                    .get(row)
                    .map(|region| ("region", AnnotationValue::Text(region)));
                let region = region.as_slice();
                let state = Named {
                    category: if states.or_empty(row) == COMPUTE {
                        "compute"
                    } else {
                        "mpi"
                    },
                    name: states.or_empty(row),
                    annotations: region,
                };
                trace.begin(track, starts[row], &state)?;
                if blocked.value(row) {
                    let waiting = Named {
                        category: "waiting",
                        name: "waiting",
                        annotations: &[],
                    };
                    trace.begin(track, starts[row], &waiting)?;
                    trace.end(track, ends[row])?;
                }
                trace.end(track, ends[row])?;
            }
            Ok(())
        })
    }

    /// Writes the messages that belong at this position of the file.
    pub fn messages(
        &mut self,
        folder: &ExportSource,
        jobs: &mut JobTracks,
        trace: &mut Trace,
        place: TracePosition,
    ) -> Result<(), Error> {
        // Rows have the same order in both passes.
        let mut number = 0;
        folder.each("messages", &MESSAGES, |rows| {
            let messages = MessageArrows::of(rows)?;
            for row in 0..rows.rows() {
                number += 1;
                let message = messages.row(row, number);
                let job = jobs.number(trace, message.job)?;
                let (start, end) = message.places();
                // The start comes first, because both may have the same time.
                if start == place {
                    let track = self.track(trace, job, message.from)?;
                    message.begin(trace, track)?;
                }
                if end == place {
                    let track = self.track(trace, job, message.to)?;
                    message.end(trace, track)?;
                }
            }
            Ok(())
        })
    }
}

/// Number of the first thread, above the numbers of all processes.
const FIRST_THREAD: i64 = 1 << 20;

/// The position of messages in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TracePosition {
    BeforeSlices,
    AfterSlices,
}

const MESSAGES: [&str; 11] = [
    "job",
    "from_rank",
    "to_rank",
    "bytes",
    "tag",
    "collective",
    "protocol",
    "posted_ps",
    "sent_ps",
    "arrived_ps",
    "matched_ps",
];

/// Columns of a batch of `messages`.
struct MessageArrows<'b> {
    jobs: TextColumn<'b>,
    from: Vec<u32>,
    to: Vec<u32>,
    bytes: Vec<u64>,
    tags: Vec<Option<i128>>,
    collectives: TextColumn<'b>,
    protocols: TextColumn<'b>,
    times: [Vec<u64>; 4],
}

/// A message as an arrow.
struct MessageArrow<'b> {
    /// Number of the arrow.
    number: u64,
    job: &'b str,
    from: u32,
    to: u32,
    bytes: u64,
    tag: Option<i64>,
    collective: Option<&'b str>,
    protocol: &'b str,
    posted: u64,
    sent: u64,
    arrived: u64,
    matched: u64,
}

impl<'b> MessageArrows<'b> {
    fn of(rows: &BatchColumns<'b>) -> Result<MessageArrows<'b>, WrongColumn> {
        Ok(MessageArrows {
            jobs: rows.texts("job")?,
            from: rows.short_integers("from_rank")?,
            to: rows.short_integers("to_rank")?,
            bytes: rows.integers("bytes")?,
            tags: rows.maybe_signed("tag")?,
            collectives: rows.texts("collective")?,
            protocols: rows.texts("protocol")?,
            times: [
                rows.integers("posted_ps")?,
                rows.integers("sent_ps")?,
                rows.integers("arrived_ps")?,
                rows.integers("matched_ps")?,
            ],
        })
    }

    fn row(&self, row: usize, number: u64) -> MessageArrow<'b> {
        let [posted, sent, arrived, matched] = &self.times;
        MessageArrow {
            number,
            job: self.jobs.or_empty(row),
            from: self.from[row],
            to: self.to[row],
            bytes: self.bytes[row],
            tag: self.tags[row].and_then(|tag| i64::try_from(tag).ok()),
            collective: self.collectives.get(row),
            protocol: self.protocols.or_empty(row),
            posted: posted[row],
            sent: sent[row],
            arrived: arrived[row],
            matched: matched[row],
        }
    }
}

impl MessageArrow<'_> {
    /// Positions of its start and its end in the file.
    fn places(&self) -> (TracePosition, TracePosition) {
        let overhead = nanoseconds(self.posted) < nanoseconds(self.sent);
        match (overhead, nanoseconds(self.sent) < nanoseconds(self.matched)) {
            (true, _) => (TracePosition::BeforeSlices, TracePosition::BeforeSlices),
            (false, true) => (TracePosition::AfterSlices, TracePosition::BeforeSlices),
            (false, false) => (TracePosition::AfterSlices, TracePosition::AfterSlices),
        }
    }

    fn begin(&self, trace: &mut Trace, track: Track) -> Result<(), Error> {
        let name = format!("to rank {}", self.to);
        self.event(trace, track, self.sent, &name, Arrow::From(self.number))
    }

    fn end(&self, trace: &mut Trace, track: Track) -> Result<(), Error> {
        let name = format!("from rank {}", self.from);
        self.event(trace, track, self.matched, &name, Arrow::To(self.number))
    }

    fn event(
        &self,
        trace: &mut Trace,
        track: Track,
        at_ps: u64,
        name: &str,
        arrow: Arrow,
    ) -> Result<(), Error> {
        let data = DATA.contains(&self.protocol);
        let mut annotations = vec![
            ("bytes", AnnotationValue::Whole(self.bytes)),
            ("protocol", AnnotationValue::Text(self.protocol)),
            (
                "in_network_ps",
                AnnotationValue::Whole(self.arrived.saturating_sub(self.sent)),
            ),
        ];
        annotations.extend(self.tag.map(|tag| ("tag", AnnotationValue::Signed(tag))));
        annotations.extend(
            self.collective
                .map(|name| ("collective", AnnotationValue::Text(name))),
        );
        let control = (!data).then(|| format!("{} {name}", self.protocol));
        let named = Named {
            category: if data { "message" } else { "control" },
            name: control.as_deref().unwrap_or(name),
            annotations: &annotations,
        };
        trace.point(track, at_ps, &named, arrow)
    }
}
