//! The rows of `timeline`, `messages` and `waits` of one job, from their Parquet files.
//!
//! `docs/formats/tables.md` documents the columns.

use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use results::rows::wait_reason;
use results::{BatchColumns, ReadError, TableFile, WrongColumn};

use crate::Error;
use crate::backwards::{Timed, TimedGroups};
use crate::columns::{Name, NameColumn};

/// State of a computing rank in `timeline`.
pub(crate) const COMPUTE: &str = "compute";

/// One state of a rank and its duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimelineSpan {
    pub rank: u32,
    pub start: u64,
    pub end: u64,
    /// State of its CPU.
    pub state: State,
    /// Region of computation, or MPI call.
    pub activity: Option<Name>,
}

/// State of the CPU of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Compute,
    /// Executes MPI code.
    Overhead,
    /// Waits in an MPI call.
    Blocked,
}

/// The role of a message in its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum MessageRole {
    Eager,
    Data,
    GetData,
    PutDone,
    RequestToSend,
    ClearToSend,
    Put,
    Get,
}

impl MessageRole {
    /// Roles in order: those that end a wait precede others at the same time.
    const ALL: [MessageRole; 8] = [
        MessageRole::Eager,
        MessageRole::Data,
        MessageRole::GetData,
        MessageRole::PutDone,
        MessageRole::RequestToSend,
        MessageRole::ClearToSend,
        MessageRole::Put,
        MessageRole::Get,
    ];

    /// Name in the column `protocol`.
    pub fn name(self) -> &'static str {
        match self {
            MessageRole::Eager => "eager",
            MessageRole::Data => "rendezvous",
            MessageRole::GetData => "get-data",
            MessageRole::PutDone => "put-done",
            MessageRole::RequestToSend => "request-to-send",
            MessageRole::ClearToSend => "clear-to-send",
            MessageRole::Put => "put",
            MessageRole::Get => "get",
        }
    }

    fn of(protocol: &str) -> Option<MessageRole> {
        MessageRole::ALL.into_iter().find(|role| role.name() == protocol)
    }

    /// The role of the message that this one answers without the CPU of the answering rank.
    pub fn answers(self) -> Option<MessageRole> {
        match self {
            MessageRole::ClearToSend => Some(MessageRole::RequestToSend),
            MessageRole::Data => Some(MessageRole::ClearToSend),
            MessageRole::PutDone => Some(MessageRole::Put),
            MessageRole::GetData => Some(MessageRole::Get),
            MessageRole::Eager | MessageRole::RequestToSend | MessageRole::Put | MessageRole::Get => None,
        }
    }
}

/// A message between two ranks of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageSpan {
    pub role: MessageRole,
    pub from: u32,
    pub to: u32,
    pub from_host: u32,
    /// Number in its packets. `None` for messages through memory.
    pub number: Option<u32>,
    /// Number that a message shares with its answers.
    pub sequence: u32,
    /// Whether the algorithm of a collective sent it.
    pub of_collective: bool,
    /// Time at which the CPU of the sender began it. For an answer, the time at which it was given. For data, the
    /// time at which the CPU came to the request to send.
    pub posted: u64,
    /// Time at which the NIC or memory took it.
    pub sent: u64,
    /// Time at which its last byte had left the NIC. `None` for messages through memory.
    pub injected: Option<u64>,
    /// Time at which its last byte had arrived.
    pub arrived: u64,
}

/// A wait of a packet of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketWait {
    pub from_host: u32,
    pub number: u32,
    pub link: u32,
    pub vc: u8,
    pub start: u64,
    pub end: u64,
    /// Number of the row among those of this wait, from 0.
    pub part: u8,
    pub reason: Name,
    /// Job whose packets occupied the awaited resource.
    pub holder: Option<Name>,
    /// Size of the packet in bytes.
    pub bytes: u32,
}

impl Timed for TimelineSpan {
    fn time(&self) -> u64 {
        self.end
    }
}

impl Timed for MessageSpan {
    fn time(&self) -> u64 {
        self.arrived
    }
}

impl Timed for PacketWait {
    fn time(&self) -> u64 {
        self.end
    }
}

/// A row type and its columns.
pub(crate) trait Readable: Timed + Sized {
    /// Name of the table.
    const TABLE: &'static str;
    /// Columns to read.
    const COLUMNS: &'static [&'static str];
    /// Column with the time of a row.
    const TIME: &'static str;

    /// Appends the rows of the job.
    fn rows(
        columns: &BatchColumns<'_>,
        job: &str,
        names: &mut NameColumn,
        rows: &mut Vec<Self>,
    ) -> Result<(), WrongColumn>;
}

impl Readable for TimelineSpan {
    const TABLE: &'static str = "timeline";
    const COLUMNS: &'static [&'static str] =
        &["job", "rank", "begin_ps", "end_ps", "state", "blocked", "region"];
    const TIME: &'static str = "end_ps";

    fn rows(
        columns: &BatchColumns<'_>,
        job: &str,
        names: &mut NameColumn,
        rows: &mut Vec<TimelineSpan>,
    ) -> Result<(), WrongColumn> {
        let jobs = columns.texts("job")?;
        let (ranks, start, end) = (
            columns.short_integers("rank")?,
            columns.integers("begin_ps")?,
            columns.integers("end_ps")?,
        );
        let blocked = columns.flags("blocked")?;
        let (states, regions) = (columns.texts("state")?, columns.texts("region")?);
        for row in (0..ranks.len()).filter(|row| jobs.get(*row) == Some(job)) {
            let region = regions.get(row);
            let text = states.get(row).unwrap_or_default();
            let (state, activity) = match (text, blocked.value(row)) {
                (COMPUTE, _) => (State::Compute, region),
                (call, true) => (State::Blocked, Some(call)),
                (call, false) => (State::Overhead, Some(call)),
            };
            // Spans without length lie between others and have no effect.
            if start[row] < end[row] {
                rows.push(TimelineSpan {
                    rank: ranks[row],
                    start: start[row],
                    end: end[row],
                    state,
                    activity: activity.map(|text| names.number(text)),
                });
            }
        }
        Ok(())
    }
}

impl Readable for MessageSpan {
    const TABLE: &'static str = "messages";
    const COLUMNS: &'static [&'static str] = &[
        "job",
        "from_rank",
        "to_rank",
        "sequence",
        "number",
        "from_host",
        "collective",
        "protocol",
        "posted_ps",
        "sent_ps",
        "injected_ps",
        "arrived_ps",
    ];
    const TIME: &'static str = "arrived_ps";

    fn rows(
        columns: &BatchColumns<'_>,
        job: &str,
        _: &mut NameColumn,
        rows: &mut Vec<MessageSpan>,
    ) -> Result<(), WrongColumn> {
        let jobs = columns.texts("job")?;
        let (from, to, from_host) = (
            columns.short_integers("from_rank")?,
            columns.short_integers("to_rank")?,
            columns.short_integers("from_host")?,
        );
        let number = columns.maybe_short_integers("number")?;
        let (collective, protocol) = (columns.texts("collective")?, columns.texts("protocol")?);
        let (posted, sent) = (columns.integers("posted_ps")?, columns.integers("sent_ps")?);
        let (injected, arrived) = (
            columns.maybe_integers("injected_ps")?,
            columns.integers("arrived_ps")?,
        );
        let sequence = columns.short_integers("sequence")?;
        for row in (0..from.len()).filter(|row| jobs.get(*row) == Some(job)) {
            let name = protocol.get(row).unwrap_or_default();
            let role = MessageRole::of(name).ok_or_else(|| {
                WrongColumn(format!("its column 'protocol' has the unknown value '{name}'"))
            })?;
            rows.push(MessageSpan {
                role,
                from: from[row],
                to: to[row],
                from_host: from_host[row],
                number: number[row],
                sequence: sequence[row],
                of_collective: collective.get(row).is_some(),
                posted: posted[row],
                sent: sent[row],
                injected: injected[row],
                arrived: arrived[row],
            });
        }
        Ok(())
    }
}

impl Readable for PacketWait {
    const TABLE: &'static str = "waits";
    const COLUMNS: &'static [&'static str] = &[
        "job",
        "from_host",
        "number",
        "link",
        "vc",
        "begin_ps",
        "end_ps",
        "part",
        "reason",
        "holder",
        "bytes",
    ];
    const TIME: &'static str = "end_ps";

    fn rows(
        columns: &BatchColumns<'_>,
        job: &str,
        names: &mut NameColumn,
        rows: &mut Vec<PacketWait>,
    ) -> Result<(), WrongColumn> {
        let jobs = columns.texts("job")?;
        let (from_host, number) = (
            columns.short_integers("from_host")?,
            columns.short_integers("number")?,
        );
        let (link, bytes) = (columns.short_integers("link")?, columns.short_integers("bytes")?);
        let (start, end) = (columns.integers("begin_ps")?, columns.integers("end_ps")?);
        let (parts, vcs) = (columns.bytes("part")?, columns.bytes("vc")?);
        let (reason, holder) = (columns.texts("reason")?, columns.texts("holder")?);
        for row in (0..link.len()).filter(|row| jobs.get(*row) == Some(job)) {
            rows.push(PacketWait {
                from_host: from_host[row],
                number: number[row],
                link: link[row],
                start: start[row],
                end: end[row],
                vc: vcs[row],
                part: parts[row],
                reason: names.number(wait_reason(reason.get(row).unwrap_or_default())),
                holder: holder.get(row).map(|job| names.number(job)),
                bytes: bytes[row],
            });
        }
        Ok(())
    }
}

/// A table of a result folder, restricted to one job.
pub(crate) struct Stored<R> {
    path: PathBuf,
    /// `None` if the table has no rows and therefore no file.
    file: Option<(TableFile, ArrowReaderMetadata)>,
    job: String,
    names: Rc<RefCell<NameColumn>>,
    row: PhantomData<R>,
}

impl<R: Readable> Stored<R> {
    /// Opens the table. `names` collects its texts.
    pub fn open(folder: &Path, job: &str, names: &Rc<RefCell<NameColumn>>) -> Result<Stored<R>, Error> {
        let path = folder.join(format!("{}.parquet", R::TABLE));
        let file = match TableFile::open(&path) {
            Ok(file) => {
                let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default());
                let metadata = metadata.map_err(|e| unreadable(&path, file.io_error(e)))?;
                Some((file, metadata))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(unreadable(&path, source)),
        };
        Ok(Stored {
            path,
            file,
            job: job.into(),
            names: names.clone(),
            row: PhantomData,
        })
    }
}

impl<R: Readable> TimedGroups for Stored<R> {
    type Row = R;
    type Error = Error;

    fn latest(&self) -> Vec<u64> {
        let Some((_, metadata)) = &self.file else {
            return Vec::new();
        };
        let metadata = metadata.metadata();
        let schema = metadata.file_metadata().schema_descr();
        let time = (0..schema.num_columns()).find(|column| schema.column(*column).name() == R::TIME);
        let latest = |group: &RowGroupMetaData| {
            let largest = match time.and_then(|column| group.column(column).statistics()) {
                // Parquet stores unsigned integers as signed ones of the same bits.
                Some(Statistics::Int64(numbers)) => numbers.max_opt().map(|latest| *latest as u64),
                _ => None,
            };
            // Without statistics the group may hold any time.
            largest.unwrap_or(u64::MAX)
        };
        metadata.row_groups().iter().map(latest).collect()
    }

    fn read(&mut self, group: usize, rows: &mut Vec<R>) -> Result<(), Error> {
        let failed = |source| unreadable(&self.path, source);
        let Some((file, metadata)) = &self.file else {
            return Ok(());
        };
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.clone(), metadata.clone());
        let mask = ProjectionMask::columns(builder.parquet_schema(), R::COLUMNS.iter().copied());
        let reader = builder.with_row_groups(vec![group]).with_projection(mask).build();
        for batch in reader.map_err(|e| failed(file.io_error(e)))? {
            let batch = batch.map_err(|e| failed(file.io_error(e)))?;
            let read = R::rows(
                &BatchColumns::new(&batch),
                &self.job,
                &mut self.names.borrow_mut(),
                rows,
            );
            read.map_err(|WrongColumn(why)| Error::Foreign {
                path: self.path.clone(),
                why,
            })?;
        }
        Ok(())
    }
}

/// The error of an unreadable file of the result.
pub(crate) fn unreadable(path: &Path, source: io::Error) -> Error {
    Error::Read(ReadError::Io {
        path: path.into(),
        source,
    })
}
