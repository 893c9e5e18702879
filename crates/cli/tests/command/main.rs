//! The `fabricsim` command as its users meet it: the real binary, in folders of its own.

mod bench;
mod checkpoints;
mod explain;
mod otf2;
mod right_input;
mod running;
mod wrong_input;
