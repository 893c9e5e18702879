//! The `fabricsim` command as its users meet it: the real binary, in folders of its own.

mod bench;
mod checkpoints;
mod explain;
mod export;
mod otf2;
mod right_input;
mod running;
mod wrong_input;
