//! Finds the messages of receives that were posted from any source or with any tag.
//!
//! The trace records the status where the receive completes, and the replay needs it where it is posted. A
//! second cursor therefore reads ahead. It keeps what it finds for later receives; if one receive stays open so
//! long that this becomes too much, a third cursor searches for that one single, which costs time instead of
//! memory.

use std::collections::{BTreeMap, BTreeSet};

use super::record::{DumpiRecord, RecordCursor, Status};
use crate::TraceError;
use crate::mpi_calls::ANY;

/// Largest number of kept results.
pub const KEPT: usize = 4096;

/// Handle of `MPI_REQUEST_NULL`.
pub const NULL_REQUEST: i64 = 1;

/// The result of a posted receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveFate {
    /// It received a message from this rank and with this tag, if recorded.
    Received {
        /// Rank in the communicator.
        source: i64,
        /// Tag.
        tag: Option<i64>,
    },
    /// It completed, and the application asked for no status.
    Unknown,
    /// It never completed, or was cancelled.
    Never,
}

/// The requests that a call completes, with their statuses.
///
/// # Errors
/// The call completes a request that is not in its list.
pub fn completions(record: &DumpiRecord, out: &mut Vec<(i64, Option<Status>)>) -> Result<(), String> {
    out.clear();
    let r = record;
    let status = |i: usize| r.statuses.get(i).copied();
    match r.name() {
        "MPI_Wait" => out.push((r.number(0), status(0))),
        "MPI_Test" if r.number(1) != 0 => out.push((r.number(0), status(0))),
        // A negative index is MPI_UNDEFINED: no request was active.
        "MPI_Waitany" if r.number(1) >= 0 => out.push((chosen(r, r.number(1))?, status(0))),
        "MPI_Testany" if r.number(2) != 0 && r.number(1) >= 0 => {
            out.push((chosen(r, r.number(1))?, status(0)));
        }
        "MPI_Waitall" => out.extend(r.array(0).iter().enumerate().map(|(i, id)| (*id, status(i)))),
        "MPI_Testall" if r.number(1) != 0 => {
            out.extend(r.array(0).iter().enumerate().map(|(i, id)| (*id, status(i))));
        }
        "MPI_Waitsome" | "MPI_Testsome" => {
            for (i, index) in r.array(1).iter().enumerate() {
                out.push((chosen(r, *index)?, status(i)));
            }
        }
        _ => {}
    }
    Ok(())
}

fn chosen(record: &DumpiRecord, index: i64) -> Result<i64, String> {
    let requests = record.array(0);
    let request = usize::try_from(index).ok().and_then(|i| requests.get(i));
    let request = request.ok_or_else(|| format!("completes number {index} of {} requests", requests.len()));
    request.copied()
}

/// Selects the receives that are followed.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveFilter {
    /// Whether receives from a known source are followed, because the rank cancels some.
    pub all: bool,
}

impl ReceiveFilter {
    /// Whether a receive with this envelope is followed.
    pub fn follows(self, source: i64, tag: i64) -> bool {
        source >= ANY && (self.all || source == ANY || tag == ANY)
    }
}

/// A cursor that reads ahead.
pub struct LookAhead {
    cursor: RecordCursor,
    record: DumpiRecord,
    filter: ReceiveFilter,
    scratch: Vec<(i64, Option<Status>)>,
    /// Receives posted so far.
    posted: u64,
    open: BTreeMap<i64, u64>,
    cancelled: BTreeSet<i64>,
    persistent: BTreeSet<i64>,
    fates: BTreeMap<u64, ReceiveFate>,
    ended: bool,
}

impl LookAhead {
    /// Starts at a record. No earlier receive is followed.
    pub fn new(cursor: RecordCursor, filter: ReceiveFilter) -> LookAhead {
        LookAhead {
            cursor,
            record: DumpiRecord::default(),
            filter,
            scratch: Vec::new(),
            posted: 0,
            open: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            persistent: BTreeSet::new(),
            fates: BTreeMap::new(),
            ended: false,
        }
    }

    /// The result of the n-th followed receive.
    ///
    /// # Errors
    /// The file is broken.
    pub fn fate(&mut self, n: u64) -> Result<ReceiveFate, TraceError> {
        loop {
            if let Some(fate) = self.fates.remove(&n) {
                return Ok(fate);
            }
            if self.ended {
                return Ok(ReceiveFate::Never);
            }
            if self.fates.len() >= KEPT {
                return self.search(n);
            }
            self.step()?;
        }
    }

    /// Number of kept results.
    #[cfg(test)]
    pub fn kept(&self) -> usize {
        self.fates.len()
    }

    /// Searches for one receive with a separate cursor.
    fn search(&mut self, n: u64) -> Result<ReceiveFate, TraceError> {
        let Some((id, _)) = self.open.iter().find(|(_, posted)| **posted == n) else {
            return Ok(ReceiveFate::Never);
        };
        let id = *id;
        self.open.remove(&id);
        let mut single = LookAhead::new(self.cursor.clone(), self.filter);
        single.open.insert(id, n);
        if self.cancelled.contains(&id) {
            single.cancelled.insert(id);
        }
        // Receives posted meanwhile are ignored.
        single.posted = n + 1;
        while !single.ended {
            single.step()?;
            if let Some(fate) = single.fates.remove(&n) {
                return Ok(fate);
            }
            single.fates.clear();
            single.open.retain(|_, posted| *posted == n);
        }
        Ok(ReceiveFate::Never)
    }

    fn step(&mut self) -> Result<(), TraceError> {
        let mut record = std::mem::take(&mut self.record);
        if self.cursor.next(&mut record)? {
            let taken = self.take(&record);
            taken.map_err(|message| self.cursor.error(&record, message))?;
        } else {
            self.ended = true;
        }
        self.record = record;
        Ok(())
    }

    fn take(&mut self, record: &DumpiRecord) -> Result<(), String> {
        let r = record;
        match r.name() {
            "MPI_Irecv" => {
                let id = r.number(5);
                self.close(id, ReceiveFate::Never);
                self.persistent.remove(&id);
                if self.filter.follows(r.number(2), r.number(3)) {
                    self.post(id);
                }
            }
            "MPI_Recv_init" => {
                let id = r.number(5);
                self.close(id, ReceiveFate::Never);
                if self.filter.follows(r.number(2), r.number(3)) {
                    self.persistent.insert(id);
                } else {
                    self.persistent.remove(&id);
                }
            }
            "MPI_Isend" | "MPI_Issend" | "MPI_Ibsend" | "MPI_Irsend" | "MPI_Send_init" | "MPI_Ssend_init"
            | "MPI_Bsend_init" | "MPI_Rsend_init" => {
                self.close(r.number(5), ReceiveFate::Never);
                self.persistent.remove(&r.number(5));
            }
            "MPI_Start" => self.start(r.number(0)),
            "MPI_Startall" => r.array(0).iter().for_each(|id| self.start(*id)),
            "MPI_Cancel" => {
                if self.open.contains_key(&r.number(0)) {
                    self.cancelled.insert(r.number(0));
                }
            }
            "MPI_Request_free" => {
                self.close(r.number(0), ReceiveFate::Unknown);
                self.persistent.remove(&r.number(0));
            }
            _ => {
                let mut done = std::mem::take(&mut self.scratch);
                let found = completions(r, &mut done);
                for (id, status) in &done {
                    let fate = match status {
                        Some(status) if status.cancelled => ReceiveFate::Never,
                        Some(status) if status.source >= 0 => {
                            self.cancelled.remove(id);
                            ReceiveFate::Received {
                                source: status.source.into(),
                                tag: status.tag.map(i64::from).filter(|tag| *tag >= 0),
                            }
                        }
                        _ => ReceiveFate::Unknown,
                    };
                    self.close(*id, fate);
                }
                self.scratch = done;
                found?;
            }
        }
        Ok(())
    }

    fn start(&mut self, id: i64) {
        if self.persistent.contains(&id) {
            self.close(id, ReceiveFate::Never);
            self.post(id);
        }
    }

    fn post(&mut self, id: i64) {
        self.open.insert(id, self.posted);
        self.posted += 1;
    }

    fn close(&mut self, id: i64, fate: ReceiveFate) {
        let cancelled = self.cancelled.remove(&id);
        if let Some(n) = self.open.remove(&id) {
            let fate = if cancelled { ReceiveFate::Never } else { fate };
            self.fates.insert(n, fate);
        }
    }
}
