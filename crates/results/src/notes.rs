//! Notes of a result: reasons not to take its numbers as they are, each with what was found and what to do.
//!
//! Each kind of note is a file here and an entry of [`NOTE_KINDS`]. `docs/trust.md` describes every kind.

mod assumed_reductions;
mod assumed_values;
mod backlog;
mod coarse_router;
mod cut_off;
mod default_overheads;
mod dropped_packets;
mod free_reductions;
mod implausible_times;
mod jobs_left_out;
mod late_detours;
mod may_deadlock;
mod near_saturation;
mod no_back_pressure;
mod no_contention;
mod not_drained;
mod not_replayed;
mod not_steady;
mod nothing_measured;
mod outside_window;
mod rounded_rate;
mod saturated;
mod unfair;
mod unreceived;

use crate::RunResult;
use crate::note::{Note, Severity};

/// A kind of note.
#[derive(Clone, Copy, Debug)]
pub struct NoteKind {
    /// Name.
    pub name: &'static str,
    find: fn(&RunResult) -> Vec<Note>,
}

/// All kinds of notes, in the order in which a result has them.
pub const NOTE_KINDS: &[NoteKind] = &[
    NoteKind {
        name: nothing_measured::NAME,
        find: nothing_measured::find,
    },
    NoteKind {
        name: saturated::NAME,
        find: saturated::find,
    },
    NoteKind {
        name: not_steady::NAME,
        find: not_steady::find,
    },
    NoteKind {
        name: not_drained::NAME,
        find: not_drained::find,
    },
    NoteKind {
        name: near_saturation::NAME,
        find: near_saturation::find,
    },
    NoteKind {
        name: coarse_router::NAME,
        find: coarse_router::find,
    },
    NoteKind {
        name: unfair::NAME,
        find: unfair::find,
    },
    NoteKind {
        name: no_back_pressure::NAME,
        find: no_back_pressure::find,
    },
    NoteKind {
        name: no_contention::NAME,
        find: no_contention::find,
    },
    NoteKind {
        name: late_detours::NAME,
        find: late_detours::find,
    },
    NoteKind {
        name: may_deadlock::NAME,
        find: may_deadlock::find,
    },
    NoteKind {
        name: dropped_packets::NAME,
        find: dropped_packets::find,
    },
    NoteKind {
        name: cut_off::NAME,
        find: cut_off::find,
    },
    NoteKind {
        name: not_replayed::NAME,
        find: not_replayed::find,
    },
    NoteKind {
        name: outside_window::NAME,
        find: outside_window::find,
    },
    NoteKind {
        name: unreceived::NAME,
        find: unreceived::find,
    },
    NoteKind {
        name: implausible_times::NAME,
        find: implausible_times::find,
    },
    NoteKind {
        name: jobs_left_out::NAME,
        find: jobs_left_out::find,
    },
    NoteKind {
        name: free_reductions::NAME,
        find: free_reductions::find,
    },
    NoteKind {
        name: assumed_reductions::NAME,
        find: assumed_reductions::find,
    },
    NoteKind {
        name: default_overheads::NAME,
        find: default_overheads::find,
    },
    NoteKind {
        name: assumed_values::NAME,
        find: assumed_values::find,
    },
    NoteKind {
        name: rounded_rate::NAME,
        find: rounded_rate::find,
    },
];

/// The notes that follow from the numbers of a result.
pub(crate) fn find(result: &RunResult) -> Vec<Note> {
    NOTE_KINDS.iter().flat_map(|kind| (kind.find)(result)).collect()
}
