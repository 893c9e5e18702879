//! A channel between a rank and the simulator, on which one of them speaks at a time.
//!
//! What one says is a frame of any length. Longer frames than the buffer go in chunks, and the other side gives the
//! turn back after each.

#![allow(unsafe_code)] // a buffer of two processes; each use gives its reason

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::thread::futex;

const CHANNEL_BYTES: usize = 1 << 16;
const HEADER_BYTES: usize = 64;
const BUFFER_BYTES: usize = CHANNEL_BYTES - HEADER_BYTES;

/// After this time, a side that waits looks whether the other is still there.
const PATIENCE: Duration = Duration::from_millis(500);

/// Who may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum ChannelSide {
    Rank = 0,
    Simulator = 1,
}

/// The channel of one rank, in shared memory. All bytes zero: the rank has the turn.
#[repr(C, align(4096))]
pub(crate) struct RankChannel {
    turn: AtomicU32,
    /// Bytes in the buffer.
    length: AtomicU32,
    /// Whether the frame goes on in the next chunk.
    more: AtomicU32,
    /// The rank's host in the simulated network.
    pub host: AtomicU32,
    /// Whether the rank has called `MPI_Init`.
    pub initialized: AtomicU32,
    unused: [u32; 11],
    buffer: UnsafeCell<[u8; BUFFER_BYTES]>,
}

const _: () = assert!(size_of::<RankChannel>() == CHANNEL_BYTES);

// Safety: only the side whose turn it is touches the buffer, and turns change with release and acquire.
unsafe impl Sync for RankChannel {}

impl RankChannel {
    /// Waits until it is this side's turn. `there` tells whether the other side is still there; false if it is not.
    fn wait(&self, side: ChannelSide, there: impl Fn() -> bool) -> bool {
        let other = match side {
            ChannelSide::Rank => ChannelSide::Simulator,
            ChannelSide::Simulator => ChannelSide::Rank,
        };
        // Looking again and again before sleeping costs more than it saves: one side works while the other waits.
        let patience = PATIENCE.try_into().ok();
        loop {
            // The end of a process comes after its last turn, so it is asked first.
            let is_there = there();
            if self.turn.load(Ordering::Acquire) == side as u32 {
                return true;
            }
            if !is_there {
                return false;
            }
            let _ = futex::wait(&self.turn, futex::Flags::empty(), other as u32, patience.as_ref());
        }
    }

    /// Gives the turn to a side.
    fn give(&self, side: ChannelSide) {
        self.turn.store(side as u32, Ordering::Release);
        let _ = futex::wake(&self.turn, futex::Flags::empty(), 1);
    }

    /// Wakes a side that waits, without giving it the turn, so that it looks whether the other is there.
    pub fn rouse(&self) {
        let _ = futex::wake(&self.turn, futex::Flags::empty(), 2);
    }

    /// Says a frame; the turn is this side's. False if the other side has gone.
    pub fn say(&self, side: ChannelSide, frame: &[u8], there: impl Fn() -> bool) -> bool {
        let other = match side {
            ChannelSide::Rank => ChannelSide::Simulator,
            ChannelSide::Simulator => ChannelSide::Rank,
        };
        let mut rest = frame;
        loop {
            let (chunk, after) = rest.split_at(rest.len().min(BUFFER_BYTES));
            // Safety: it is this side's turn, so the other side does not touch the buffer.
            unsafe { (&mut *self.buffer.get())[..chunk.len()].copy_from_slice(chunk) };
            self.length.store(chunk.len() as u32, Ordering::Relaxed);
            self.more.store(u32::from(!after.is_empty()), Ordering::Relaxed);
            self.give(other);
            rest = after;
            if rest.is_empty() {
                return true;
            }
            if !self.wait(side, &there) {
                return false;
            }
        }
    }

    /// Waits for a frame, and has the turn then. `None` if the other side has gone.
    pub fn hear(&self, side: ChannelSide, there: impl Fn() -> bool) -> Option<Vec<u8>> {
        let other = match side {
            ChannelSide::Rank => ChannelSide::Simulator,
            ChannelSide::Simulator => ChannelSide::Rank,
        };
        let mut frame = Vec::new();
        loop {
            if !self.wait(side, &there) {
                return None;
            }
            let length = (self.length.load(Ordering::Relaxed) as usize).min(BUFFER_BYTES);
            // Safety: it is this side's turn, so the other side does not touch the buffer.
            frame.extend_from_slice(unsafe { &(&*self.buffer.get())[..length] });
            if self.more.load(Ordering::Relaxed) == 0 {
                return Some(frame);
            }
            self.give(other);
        }
    }
}
