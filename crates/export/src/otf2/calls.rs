//! The calls of a rank: rows of `timeline`, merged per call.
//!
//! A call with waits has several rows, and the table does not mark the border between two calls of the same name. The
//! states reveal most borders. A call without duration is one row. A call that only worked is one row. A blocking
//! send or receive, or a wait for one request, is blocked once. Waits for several requests, probes and collectives
//! are merged if the same call follows at once and the rank was blocked in it.

use ::otf2::Role;

/// The kind of a call, by its effect on messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    /// Computation, no call.
    Compute,
    /// A send that ends when its buffer is free.
    Send,
    /// A send that completes in a later call.
    Isend,
    /// Starts a persistent send or receive.
    Start,
    Recv,
    /// A receive that completes in a later call.
    Irecv,
    Sendrecv,
    /// Completes one request.
    WaitOne,
    /// Completes several requests.
    WaitAny,
    /// Probes for messages.
    Probe,
    /// A collective; its messages lie within the call.
    Collective,
    /// A collective that also completes one-sided transfers.
    Fence,
    /// A non-blocking collective.
    Background,
    /// A put or get.
    OneSided,
}

/// The activity of a rank in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallActivity {
    /// Number of the region in the archive.
    pub name: String,
    pub kind: CallKind,
    pub role: Role,
}

impl CallActivity {
    /// The activity of `state` and `region` of `timeline`.
    pub fn new(state: &str, region: Option<&str>) -> CallActivity {
        if state == COMPUTE {
            return CallActivity {
                name: region.unwrap_or(COMPUTE).into(),
                kind: CallKind::Compute,
                role: Role::Function,
            };
        }
        let known = CALLS.iter().find(|(names, ..)| names.contains(&state));
        let (kind, role) = known.map_or((CallKind::Collective, Role::Function), |(_, kind, role)| {
            (*kind, *role)
        });
        CallActivity {
            // Tools recognise MPI functions by this prefix, and so does FabricSim.
            name: match state.starts_with("MPI_") {
                true => state.into(),
                false => format!("MPI_{}", state.trim_start_matches("MPI").trim_start()),
            },
            kind,
            role,
        }
    }

    pub fn is_mpi(&self) -> bool {
        self.kind != CallKind::Compute
    }
}

/// State of a computing rank.
const COMPUTE: &str = "compute";

/// Classes of calls by name. All others are collectives.
const CALLS: &[(&[&str], CallKind, Role)] = &[
    (
        &["MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend"],
        CallKind::Send,
        Role::PointToPoint,
    ),
    (
        &["MPI_Isend", "MPI_Issend", "MPI_Ibsend", "MPI_Irsend"],
        CallKind::Isend,
        Role::PointToPoint,
    ),
    (
        &["MPI_Start", "MPI_Startall"],
        CallKind::Start,
        Role::PointToPoint,
    ),
    (&["MPI_Recv"], CallKind::Recv, Role::PointToPoint),
    (&["MPI_Irecv"], CallKind::Irecv, Role::PointToPoint),
    (&["MPI_Sendrecv"], CallKind::Sendrecv, Role::PointToPoint),
    (
        &["MPI_Wait", "MPI_Waitany"],
        CallKind::WaitOne,
        Role::PointToPoint,
    ),
    (
        &[
            "MPI_Waitall",
            "MPI_Waitsome",
            "MPI_Test",
            "MPI_Testall",
            "MPI_Testany",
            "MPI_Testsome",
        ],
        CallKind::WaitAny,
        Role::PointToPoint,
    ),
    (&["MPI_Probe", "MPI_Iprobe"], CallKind::Probe, Role::PointToPoint),
    (&["MPI_Barrier"], CallKind::Collective, Role::Barrier),
    (
        &["MPI_Bcast", "MPI_Scatter", "MPI_Scatterv"],
        CallKind::Collective,
        Role::OneToAll,
    ),
    (
        &["MPI_Reduce", "MPI_Gather", "MPI_Gatherv"],
        CallKind::Collective,
        Role::AllToOne,
    ),
    (
        &[
            "MPI_Allreduce",
            "MPI_Allgather",
            "MPI_Allgatherv",
            "MPI_Alltoall",
            "MPI_Alltoallv",
            "MPI_Reduce_scatter",
            "MPI_Reduce_scatter_block",
        ],
        CallKind::Collective,
        Role::AllToAll,
    ),
    (
        &[
            "MPI_Scan",
            "MPI_Exscan",
            "MPI_Comm_dup",
            "MPI_Comm_split",
            "MPI_Comm_create",
            "MPI_Cart_create",
            "MPI_Win_create",
        ],
        CallKind::Collective,
        Role::OtherCollective,
    ),
    (
        &["MPI_Win_fence", "MPI_Win_free"],
        CallKind::Fence,
        Role::OtherCollective,
    ),
    (&["MPI_Ibarrier"], CallKind::Background, Role::Barrier),
    (
        &["MPI_Ibcast", "MPI_Iscatter", "MPI_Iscatterv"],
        CallKind::Background,
        Role::OneToAll,
    ),
    (
        &["MPI_Ireduce", "MPI_Igather", "MPI_Igatherv"],
        CallKind::Background,
        Role::AllToOne,
    ),
    (
        &[
            "MPI_Iallreduce",
            "MPI_Iallgather",
            "MPI_Iallgatherv",
            "MPI_Ialltoall",
            "MPI_Ialltoallv",
            "MPI_Ireduce_scatter",
            "MPI_Ireduce_scatter_block",
        ],
        CallKind::Background,
        Role::AllToAll,
    ),
    (
        &["MPI_Iscan", "MPI_Iexscan"],
        CallKind::Background,
        Role::OtherCollective,
    ),
    (
        &["MPI_Put", "MPI_Get", "MPI_Accumulate"],
        CallKind::OneSided,
        Role::Rma,
    ),
];

/// A row of `timeline`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallSpan {
    pub start: u64,
    pub end: u64,
    /// Index of the activity.
    pub activity: u32,
    pub blocked: bool,
}

/// A call, or one span of computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WrittenCall {
    pub start: u64,
    pub end: u64,
    pub activity: u32,
    pub kind: CallKind,
    /// Time at which the rank last resumed in it. `None` if it did not wait.
    pub woken: Option<u64>,
    /// Its last row.
    last: CallSpan,
}

impl WrittenCall {
    fn new(span: CallSpan, kind: CallKind) -> WrittenCall {
        WrittenCall {
            start: span.start,
            end: span.end,
            activity: span.activity,
            kind,
            woken: span.blocked.then_some(span.end),
            last: span,
        }
    }

    fn extend(&mut self, span: CallSpan) {
        self.end = span.end;
        self.woken = span.blocked.then_some(span.end).or(self.woken);
        self.last = span;
    }

    /// Whether the next row belongs to the same call. `sends`: whether a message is sent at its start.
    fn has(&self, next: CallSpan, sends: bool) -> bool {
        let works = |span: &CallSpan| !span.blocked;
        let instant = |span: &CallSpan| span.start == span.end;
        if next.activity != self.activity
            || instant(&next)
            || instant(&self.last) && self.kind != CallKind::Sendrecv
        {
            return false;
        }
        match self.kind {
            CallKind::Compute
            | CallKind::Isend
            | CallKind::Irecv
            | CallKind::Start
            | CallKind::Background
            | CallKind::OneSided => false,
            // Works and is then blocked.
            CallKind::Send => next.blocked && works(&self.last),
            // Is blocked and then works.
            CallKind::Recv | CallKind::WaitOne => works(&next) && self.last.blocked,
            CallKind::Sendrecv => !sends,
            CallKind::WaitAny | CallKind::Probe | CallKind::Collective | CallKind::Fence => {
                next.blocked || self.last.blocked
            }
        }
    }
}

/// The calls of a rank. `sends` are the times at which it began its own sends, ascending.
pub(super) fn calls(spans: &[CallSpan], activities: &[CallActivity], sends: &[u64]) -> Vec<WrittenCall> {
    let mut calls: Vec<WrittenCall> = Vec::new();
    let mut sends = sends.iter().copied().peekable();
    for span in spans {
        let kind = activities[span.activity as usize].kind;
        while sends.next_if(|at| *at < span.start).is_some() {}
        let is_send = kind == CallKind::Sendrecv && !span.blocked && sends.next_if_eq(&span.start).is_some();
        match calls.last_mut() {
            Some(call) if call.has(*span, is_send) => call.extend(*span),
            _ => calls.push(WrittenCall::new(*span, kind)),
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of one rank from a text: state, `!` if blocked, duration.
    fn segments(rows: &[(&str, bool, u64)], sends: &[u64]) -> Vec<(String, u64, u64)> {
        let activities: Vec<CallActivity> = rows
            .iter()
            .map(|(state, ..)| CallActivity::new(state, None))
            .collect();
        let mut now = 0;
        let span = |(row, (state, blocked, length)): (usize, &(&str, bool, u64))| {
            let first = rows.iter().position(|(of, ..)| of == state).unwrap_or(row);
            now += length;
            CallSpan {
                start: now - length,
                end: now,
                activity: first as u32,
                blocked: *blocked,
            }
        };
        let spans: Vec<CallSpan> = rows.iter().enumerate().map(span).collect();
        let name = |call: &WrittenCall| activities[call.activity as usize].name.clone();
        let calls = calls(&spans, &activities, sends);
        calls
            .iter()
            .map(|call| (name(call), call.start, call.end))
            .collect()
    }

    fn ends(rows: &[(&str, bool, u64)], sends: &[u64]) -> Vec<u64> {
        segments(rows, sends).iter().map(|(.., end)| *end).collect()
    }

    #[test]
    fn unknown_calls_are_functions_of_mpi_and_computation_has_its_region() {
        assert_eq!(CallActivity::new("MPI (other)", None).name, "MPI_(other)");
        assert_eq!(CallActivity::new("MPI (other)", None).kind, CallKind::Collective);
        let solve = CallActivity::new("compute", Some("solve"));
        assert_eq!((solve.name.as_str(), solve.is_mpi()), ("solve", false));
        assert_eq!(CallActivity::new("compute", None).name, "compute");
        let mut names: Vec<&str> = CALLS
            .iter()
            .flat_map(|(names, ..)| names.iter().copied())
            .collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "each once");
    }

    #[test]
    fn blocking_calls_are_blocked_once() {
        // Overhead and wait of a large send; two small ones; two large ones without overhead.
        let (send, recv) = ("MPI_Send", "MPI_Recv");
        let sends = [
            (send, false, 1),
            (send, true, 5),
            (send, false, 1),
            (send, false, 1),
        ];
        assert_eq!(ends(&sends, &[]), [6, 7, 8]);
        assert_eq!(ends(&[(send, true, 5), (send, true, 5)], &[]), [5, 10]);
        // A wait and its overhead; a message that was already there; another wait.
        let receives = [
            (recv, true, 5),
            (recv, false, 1),
            (recv, false, 1),
            (recv, true, 5),
        ];
        assert_eq!(ends(&receives, &[]), [6, 7, 12]);
        assert_eq!(
            ends(&[(recv, true, 5), (recv, false, 0), (recv, true, 5)], &[]),
            [5, 5, 10]
        );
    }

    #[test]
    fn computation_and_calls_without_waits_are_rows() {
        let rows = [
            ("compute", false, 5),
            ("compute", false, 5),
            ("MPI_Isend", false, 0),
            ("MPI_Isend", false, 0),
            ("MPI_Irecv", false, 1),
            ("MPI_Irecv", false, 1),
        ];
        assert_eq!(ends(&rows, &[]), [5, 10, 10, 10, 11, 12]);
    }

    #[test]
    fn waits_for_several_are_one_until_another_call() {
        let all = "MPI_Waitall";
        let rows = [
            (all, false, 1),
            (all, true, 5),
            (all, true, 5),
            (all, false, 2),
            (all, false, 2),
        ];
        assert_eq!(ends(&rows, &[]), [13, 15]);
        let rows = [
            (all, true, 5),
            ("MPI_Barrier", true, 5),
            ("MPI_Barrier", false, 0),
        ];
        assert_eq!(ends(&rows, &[]), [5, 10, 10]);
    }

    #[test]
    fn each_send_of_a_sendrecv_begins_one() {
        let both = "MPI_Sendrecv";
        let rows = [
            (both, false, 1),
            (both, true, 5),
            (both, false, 1),
            (both, false, 1),
            (both, true, 3),
        ];
        assert_eq!(ends(&rows, &[0, 7]), [7, 11]);
        // Calls without overhead.
        let rows = [
            (both, false, 0),
            (both, true, 5),
            (both, false, 0),
            (both, true, 3),
        ];
        assert_eq!(ends(&rows, &[0, 5]), [5, 8]);
    }
}
