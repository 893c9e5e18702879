//! What both parallel executors share: pending events by window and strip of LPs, and the loop over the strips of a
//! window.
//!
//! Windows are as long as the lookahead. An event of one LP in a window cannot affect another LP before the next
//! window. So the events of each LP in a window execute together, LP by LP, and load its state once. An LP sees its
//! own events in the total order, on which alone its state depends.

mod calendar;
mod context;
mod lp_schedule;
mod strip_loop;

pub(crate) use calendar::{Calendar, Window};
pub(crate) use context::WindowContext;
pub(crate) use strip_loop::{ExecuteLp, PlannedEvents, StripLoop};
