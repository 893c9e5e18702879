//! The real `fabricsim` binary, in temporary folders.

mod bench;
mod checkpoints;
mod drafts;
mod explain;
mod export;
mod graphs;
mod levels;
mod otf2;
mod right_input;
mod running;
mod verify;
mod wrong_input;
