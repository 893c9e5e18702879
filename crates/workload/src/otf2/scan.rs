//! Summarises an archive in one pass over each rank's events.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ::otf2::{CollectiveRecord, EventRecord, MessageRecord, TimedEvent};

use super::archive::{EventCursor, EventSource, Otf2Archive};
use super::collective::{self, CollectiveKind};
use super::definitions::Definitions;
use super::program::{EventReplay, starts_send};
use crate::info::{CollectiveInfo, CommunicatorInfo, MessageInfo};
use crate::recording_window::RecordingEdges;
use crate::scan::counted_notes;
use crate::{Call, MpiTimes, Operation, TraceError, TraceInfo};

/// Summarises an archive; `anchor` is its file.
pub fn info(archive: Otf2Archive, anchor: &Path) -> Result<TraceInfo, TraceError> {
    let archive = Arc::new(archive);
    let mut totals = ArchiveTotals::default();
    for rank in 0..archive.ranks() {
        scan_rank(&archive, rank, &mut totals)?;
    }
    Ok(totals.into_info(&archive, anchor))
}

/// Counts over all ranks.
#[derive(Default)]
struct ArchiveTotals {
    events: u64,
    /// First and last event of all ranks, in ticks.
    span: Option<(u64, u64)>,
    mpi: MpiTimes,
    total_ps: u64,
    compute_ps: u64,
    calls: BTreeMap<Arc<str>, u64>,
    sizes: BTreeMap<u64, u64>,
    received: (u64, u64),
    collectives: BTreeMap<&'static str, CollectiveInfo>,
    internal: u64,
    nonblocking_collectives: u64,
    transfers: u64,
    sends_without_request: u64,
    flushes: u64,
    switched_off: u64,
    cancelled: u64,
    never_complete: u64,
}

/// Prefixes of one-sided functions.
const ONE_SIDED: [&str; 8] = [
    "MPI_Put",
    "MPI_Get",
    "MPI_Accumulate",
    "MPI_Rput",
    "MPI_Rget",
    "MPI_Raccumulate",
    "MPI_Fetch_and_op",
    "MPI_Compare_and_swap",
];

/// Prefixes of probes.
const PROBES: [&str; 4] = ["MPI_Probe", "MPI_Iprobe", "MPI_Mprobe", "MPI_Improbe"];

/// Runs the program of a rank to its end, so that a summarised archive can be simulated.
fn scan_rank(archive: &Arc<Otf2Archive>, rank: u32, totals: &mut ArchiveTotals) -> Result<(), TraceError> {
    let mut counted = CountedEvents {
        cursor: EventCursor::new(archive.clone(), rank),
        archive,
        call: None,
        first: None,
        last: 0,
        totals,
    };
    let mut replay = EventReplay::new(rank, RecordingEdges::MPI);
    let mut compute_ps = 0;
    let definitions = &archive.definitions;
    while let Some(operation) = replay
        .next(definitions, &mut counted)
        .map_err(|failure| failure.into_error(|message| archive.error(rank, message)))?
    {
        if let Operation::Compute { ps, .. } = operation {
            compute_ps += ps;
        }
    }
    let (first, last) = (counted.first, counted.last);
    let ticks = last - first.unwrap_or(last);
    let records = counted.cursor.records();
    // The replay has refused longer spans.
    let span_ps = definitions.picoseconds(ticks).unwrap_or(u64::MAX);
    totals.events += records;
    if let Some(first) = first {
        let (from, until) = totals.span.unwrap_or((first, last));
        totals.span = Some((from.min(first), until.max(last)));
    }
    totals.mpi.add(&replay.recording);
    totals.total_ps += span_ps;
    totals.compute_ps += compute_ps;
    totals.never_complete += replay.open_requests() as u64;
    Ok(())
}

/// An event source that counts events.
struct CountedEvents<'a> {
    cursor: EventCursor,
    archive: &'a Otf2Archive,
    call: Option<Call>,
    first: Option<u64>,
    last: u64,
    totals: &'a mut ArchiveTotals,
}

impl EventSource for CountedEvents<'_> {
    fn next(&mut self) -> Result<Option<TimedEvent>, TraceError> {
        let event = self.cursor.next()?;
        if let Some(event) = event {
            self.count(event);
        }
        Ok(event)
    }

    fn fork(&self) -> Box<dyn EventSource> {
        self.cursor.fork()
    }
}

impl CountedEvents<'_> {
    fn count(&mut self, event: TimedEvent) {
        let first = *self.first.get_or_insert(event.time);
        self.last = self.last.max(event.time).max(first);
        match event.record {
            EventRecord::Enter { region } => self.enter(region),
            EventRecord::Send(message) => {
                let asynchronous = self.call.is_some_and(starts_send);
                self.totals.sends_without_request += u64::from(asynchronous);
                self.send(message);
            }
            EventRecord::Isend { message, .. } => self.send(message),
            EventRecord::Recv(message) | EventRecord::Irecv { message, .. } => {
                self.totals.received.0 += 1;
                self.totals.received.1 += message.bytes;
            }
            EventRecord::Collective(collective) => self.totals.collective(collective),
            EventRecord::CollectiveComplete { collective, .. } => {
                self.totals.nonblocking_collectives += 1;
                self.totals.collective(collective);
            }
            EventRecord::RequestCancelled { .. } => self.totals.cancelled += 1,
            EventRecord::BufferFlush { .. } => self.totals.flushes += 1,
            EventRecord::Put(_) | EventRecord::Get(_) | EventRecord::Atomic(_) => self.totals.transfers += 1,
            EventRecord::Measurement { on } => self.totals.switched_off += u64::from(!on),
            EventRecord::Leave { .. } => self.call = None,
            EventRecord::Mark
            | EventRecord::IsendComplete { .. }
            | EventRecord::IrecvRequest { .. }
            | EventRecord::RequestTest { .. }
            | EventRecord::RmaCollective { .. }
            | EventRecord::RmaLock { .. }
            | EventRecord::TransferComplete { .. }
            | EventRecord::CollectiveRequest { .. } => {}
        }
    }

    fn enter(&mut self, region: u32) {
        if let Some(mpi) = self.archive.definitions.mpi_region(region) {
            self.call = Some(mpi.call);
            *self.totals.calls.entry(mpi.name.clone()).or_default() += 1;
        }
    }

    fn send(&mut self, message: MessageRecord) {
        *self.totals.sizes.entry(message.bytes).or_default() += 1;
    }
}

impl ArchiveTotals {
    fn collective(&mut self, collective: CollectiveRecord) {
        if collective::collective_kind(collective.operation) == Some(CollectiveKind::Internal) {
            self.internal += 1;
            return;
        }
        let name = collective::name(collective.operation);
        let entry = self.collectives.entry(name).or_default();
        entry.calls += 1;
        entry.sent_bytes += collective.sent;
        entry.received_bytes += collective.received;
    }

    /// Time from the first to the last event of all ranks in picoseconds.
    fn span_ps(&self, definitions: &Definitions) -> u64 {
        let (from, until) = self.span.unwrap_or_default();
        definitions.picoseconds(until - from).unwrap_or(u64::MAX)
    }

    fn into_info(self, archive: &Otf2Archive, anchor: &Path) -> TraceInfo {
        let messages = MessageInfo::from_sizes(&self.sizes);
        let share = self.compute_ps as f64 / self.total_ps.max(1) as f64;
        TraceInfo {
            file: anchor.display().to_string(),
            format: super::FORMAT.name.into(),
            ranks: archive.ranks(),
            span_ps: self.span_ps(&archive.definitions),
            mpi: self.mpi,
            compute_ps: self.compute_ps,
            compute_share: share,
            events: self.events,
            mpi_calls: self.calls.values().sum(),
            notes: self.notes(archive, &messages),
            mpi_calls_by_name: self
                .calls
                .iter()
                .map(|(name, n)| (name.to_string(), *n))
                .collect(),
            collectives: self
                .collectives
                .iter()
                .map(|(name, c)| ((*name).into(), c.clone()))
                .collect(),
            communicators: CommunicatorInfo::by_size(archive.definitions.communicator_sizes()),
            bigsim: None,
            messages,
        }
    }

    fn notes(&self, archive: &Otf2Archive, sent: &MessageInfo) -> Vec<String> {
        let (others, other_events) = archive.definitions.other_locations;
        let others_note = format!(
            "locations are no MPI ranks (threads, accelerators); their {other_events} events are ignored"
        );
        let (received, received_bytes) = self.received;
        let one_sided = self.calls_of(&ONE_SIDED).saturating_sub(self.transfers);
        let counted = [
            (others as u64, others_note.as_str()),
            (
                self.switched_off,
                "times the recording was switched off; that time counts as computation",
            ),
            (
                self.flushes,
                "times the recording wrote its buffer to disk; that time is left out",
            ),
            (
                self.never_complete,
                "requests never complete; receives and collectives among them are left out",
            ),
            (
                self.cancelled,
                "requests were cancelled; receives among them are left out",
            ),
            (
                self.sends_without_request,
                "non-blocking sends were recorded without a request; nothing waits for them",
            ),
            (
                self.nonblocking_collectives,
                "non-blocking collectives; they progress independently of the program",
            ),
            (
                self.internal,
                "collective calls that make or free communicators and the like; those that make one cost what they do in \
                 MPICH, the others nothing",
            ),
            (
                one_sided,
                "one-sided transfers without a record of what they move; they are not replayed",
            ),
            (
                self.calls_of(&PROBES),
                "calls of MPI_Probe and the like, which have no record of what they find; the receives after them \
                 wait instead",
            ),
            (
                self.calls_of(&["MPI_File_"]),
                "calls of MPI-IO; they are not replayed",
            ),
            (
                self.calls_of(&["MPI_Neighbor_", "MPI_Ineighbor_"]),
                "neighbourhood collectives; they are not replayed",
            ),
        ];
        let mut notes: Vec<String> = counted_notes(counted).collect();
        if (received, received_bytes) != (sent.count, sent.bytes) {
            let sent = format!("{} messages of {} bytes are sent", sent.count, sent.bytes);
            notes.push(format!(
                "{sent}, but {received} of {received_bytes} bytes received"
            ));
        }
        notes
    }

    /// Number of calls of functions with these prefixes (except `MPI_Get_count` and the like).
    fn calls_of(&self, names: &[&str]) -> u64 {
        let counts = |call: &str| {
            let transfers = ["MPI_Get", "MPI_Get_accumulate"].contains(&call) || !call.starts_with("MPI_Get");
            transfers && names.iter().any(|name| call.starts_with(name))
        };
        self.calls
            .iter()
            .filter(|(name, _)| counts(name))
            .map(|(_, n)| n)
            .sum()
    }
}
