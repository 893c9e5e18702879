//! Sums up an archive in one pass over each rank's events.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ::otf2::{CollectiveRecord, EventRecord, MessageRecord, TimedEvent};

use super::archive::{Archive, Cursor, Events};
use super::collective::{self, Operation as Kind};
use super::program::{Translation, starts_send};
use crate::info::{CollectiveInfo, CommunicatorInfo, MessageInfo};
use crate::{Call, Operation, TraceError, TraceInfo};

/// Sums up an archive; `anchor` is its file, for the record.
pub fn info(archive: Archive, anchor: &Path) -> Result<TraceInfo, TraceError> {
    let archive = Arc::new(archive);
    let mut tally = Tally::default();
    for rank in 0..archive.ranks() {
        survey_rank(&archive, rank, &mut tally)?;
    }
    Ok(tally.into_info(&archive, anchor))
}

/// Counts over all ranks.
#[derive(Default)]
struct Tally {
    events: u64,
    span_ps: u64,
    total_ps: u64,
    compute_ps: u64,
    calls: BTreeMap<Arc<str>, u64>,
    sizes: BTreeMap<u64, u64>,
    received: (u64, u64),
    collectives: BTreeMap<&'static str, CollectiveInfo>,
    housekeeping: u64,
    nonblocking_collectives: u64,
    transfers: u64,
    sends_without_request: u64,
    flushes: u64,
    switched_off: u64,
    cancelled: u64,
    never_complete: u64,
}

/// How the names of functions that move data without the other side's help begin.
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

/// How the names of functions that look for a message without taking it begin.
const PROBES: [&str; 4] = ["MPI_Probe", "MPI_Iprobe", "MPI_Mprobe", "MPI_Improbe"];

/// The program of a rank runs to its end, so that an archive that has been summed up can be simulated.
fn survey_rank(archive: &Arc<Archive>, rank: u32, tally: &mut Tally) -> Result<(), TraceError> {
    let mut watched = Watched {
        cursor: Cursor::new(archive.clone(), rank),
        archive,
        call: None,
        first: None,
        last: 0,
        tally,
    };
    let mut translation = Translation::new(rank);
    let mut compute_ps = 0;
    let definitions = &archive.definitions;
    while let Some(operation) = translation
        .next(definitions, &mut watched)
        .map_err(|failure| failure.at(archive, rank))?
    {
        if let Operation::Compute { ps, .. } = operation {
            compute_ps += ps;
        }
    }
    let ticks = watched.last - watched.first.unwrap_or(0);
    let records = watched.cursor.records();
    // The translation has refused longer spans.
    let span_ps = definitions.picoseconds(ticks).unwrap_or(u64::MAX);
    tally.events += records;
    tally.span_ps = tally.span_ps.max(span_ps);
    tally.total_ps += span_ps;
    tally.compute_ps += compute_ps;
    tally.never_complete += translation.open_requests() as u64;
    Ok(())
}

/// A cursor that counts what passes.
struct Watched<'a> {
    cursor: Cursor,
    archive: &'a Archive,
    call: Option<Call>,
    first: Option<u64>,
    last: u64,
    tally: &'a mut Tally,
}

impl Events for Watched<'_> {
    fn next(&mut self) -> Result<Option<TimedEvent>, TraceError> {
        let event = self.cursor.next()?;
        if let Some(event) = event {
            self.count(event);
        }
        Ok(event)
    }

    fn fork(&self) -> Box<dyn Events> {
        self.cursor.fork()
    }
}

impl Watched<'_> {
    fn count(&mut self, event: TimedEvent) {
        let first = *self.first.get_or_insert(event.time);
        self.last = self.last.max(event.time).max(first);
        match event.record {
            EventRecord::Enter { region } => self.enter(region),
            EventRecord::Send(message) => {
                let asynchronous = self.call.is_some_and(starts_send);
                self.tally.sends_without_request += u64::from(asynchronous);
                self.send(message);
            }
            EventRecord::Isend { message, .. } => self.send(message),
            EventRecord::Recv(message) | EventRecord::Irecv { message, .. } => {
                self.tally.received.0 += 1;
                self.tally.received.1 += message.bytes;
            }
            EventRecord::Collective(collective) => self.tally.collective(collective),
            EventRecord::CollectiveComplete { collective, .. } => {
                self.tally.nonblocking_collectives += 1;
                self.tally.collective(collective);
            }
            EventRecord::RequestCancelled { .. } => self.tally.cancelled += 1,
            EventRecord::BufferFlush { .. } => self.tally.flushes += 1,
            EventRecord::Put(_) | EventRecord::Get(_) | EventRecord::Atomic(_) => self.tally.transfers += 1,
            EventRecord::Measurement { on } => self.tally.switched_off += u64::from(!on),
            EventRecord::Leave { .. } => self.call = None,
            EventRecord::Mark
            | EventRecord::IsendComplete { .. }
            | EventRecord::IrecvRequest { .. }
            | EventRecord::RequestTest { .. }
            | EventRecord::WindowCollective { .. }
            | EventRecord::WindowLock { .. }
            | EventRecord::TransferComplete { .. }
            | EventRecord::CollectiveRequest { .. } => {}
        }
    }

    fn enter(&mut self, region: u32) {
        if let Some(mpi) = self.archive.definitions.mpi_region(region) {
            self.call = Some(mpi.call);
            *self.tally.calls.entry(mpi.name.clone()).or_default() += 1;
        }
    }

    fn send(&mut self, message: MessageRecord) {
        *self.tally.sizes.entry(message.bytes).or_default() += 1;
    }
}

impl Tally {
    fn collective(&mut self, collective: CollectiveRecord) {
        if collective::operation(collective.operation) == Some(Kind::Housekeeping) {
            self.housekeeping += 1;
            return;
        }
        let name = collective::name(collective.operation);
        let entry = self.collectives.entry(name).or_default();
        entry.calls += 1;
        entry.sent_bytes += collective.sent;
        entry.received_bytes += collective.received;
    }

    fn into_info(self, archive: &Archive, anchor: &Path) -> TraceInfo {
        let messages = MessageInfo::from_sizes(&self.sizes);
        let share = self.compute_ps as f64 / self.total_ps.max(1) as f64;
        TraceInfo {
            file: anchor.display().to_string(),
            format: super::FORMAT.name.into(),
            ranks: archive.ranks(),
            span_ps: self.span_ps,
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
            messages,
        }
    }

    fn notes(&self, archive: &Archive, sent: &MessageInfo) -> Vec<String> {
        let (others, other_events) = archive.definitions.other_locations;
        let (received, received_bytes) = self.received;
        let one_sided = self.calls_of(&ONE_SIDED).saturating_sub(self.transfers);
        let counted = [
            (
                others as u64,
                format!(
                    "locations are no MPI ranks (threads, accelerators); their {other_events} events are ignored"
                ),
            ),
            (
                self.switched_off,
                "times the recording was switched off; that time counts as computation".into(),
            ),
            (
                self.flushes,
                "times the recording wrote its buffer to disk; that time is left out".into(),
            ),
            (
                self.never_complete,
                "requests never complete; receives and collectives among them are left out".into(),
            ),
            (
                self.cancelled,
                "requests were cancelled; receives among them are left out".into(),
            ),
            (
                self.sends_without_request,
                "non-blocking sends were recorded without a request; nothing waits for them".into(),
            ),
            (
                self.nonblocking_collectives,
                "non-blocking collectives; they go on beside the program from where they were started".into(),
            ),
            (
                self.housekeeping,
                "collective calls that make or free communicators and the like; those that make one cost what they do in \
                 MPICH, the others nothing"
                    .into(),
            ),
            (
                one_sided,
                "one-sided transfers without a record of what they move; they are not replayed".into(),
            ),
            (
                self.calls_of(&PROBES),
                "calls of MPI_Probe and the like, which have no record of what they find; the receives after them \
                 wait instead"
                    .into(),
            ),
            (
                self.calls_of(&["MPI_File_"]),
                "calls of MPI-IO; they are not replayed".into(),
            ),
            (
                self.calls_of(&["MPI_Neighbor_", "MPI_Ineighbor_"]),
                "neighbourhood collectives; they are not replayed".into(),
            ),
        ];
        let mut notes: Vec<String> = counted
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} {what}"))
            .collect();
        if (received, received_bytes) != (sent.count, sent.bytes) {
            let sent = format!("{} messages of {} bytes are sent", sent.count, sent.bytes);
            notes.push(format!(
                "{sent}, but {received} of {received_bytes} bytes received"
            ));
        }
        notes
    }

    /// Calls of functions whose names start with one of `names` (`MPI_Get_count` and the like excepted).
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
