//! The simulator's end of a rank's channel.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::turn::ChannelSide;
use crate::{Post, Reply, SharedMemory};

/// The process of the rank has ended, or said what cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// The simulator's end of the channel of one rank.
#[derive(Debug)]
pub struct SimulatorEnd {
    memory: Arc<SharedMemory>,
    rank: u32,
    /// Whether the process of the rank lives.
    lives: Arc<AtomicBool>,
    pub(crate) posts: VecDeque<Post>,
    /// Whether the rank has the turn.
    rank_speaks: bool,
}

impl SimulatorEnd {
    /// The end of a rank whose process lives as long as `lives` says. [`SimulatorEnd::rouse`] tells a waiting end that
    /// this has changed.
    pub fn new(memory: Arc<SharedMemory>, rank: u32, lives: Arc<AtomicBool>) -> SimulatorEnd {
        SimulatorEnd {
            memory,
            rank,
            lives,
            posts: VecDeque::new(),
            rank_speaks: true,
        }
    }

    /// Makes the end of a rank, wherever it waits, look whether the process lives.
    pub fn rouse(memory: &SharedMemory, rank: u32) {
        memory.channel(rank).rouse();
    }

    /// What the rank has posted and no caller has taken yet, in its order.
    pub fn take(&mut self) -> Option<Post> {
        self.posts.pop_front()
    }

    /// Whether the rank waits for a reply.
    pub fn awaits_reply(&self) -> bool {
        self.posts.is_empty() && !self.rank_speaks
    }

    /// Lets the rank go on, with the reply if it waits for one, until it waits again.
    ///
    /// # Errors
    /// The process has ended.
    pub fn exchange(&mut self, reply: &Reply) -> Result<(), Gone> {
        let lives = || self.lives.load(Ordering::Acquire);
        let channel = self.memory.channel(self.rank);
        if !self.rank_speaks {
            let frame = postcard::to_stdvec(reply).map_err(|_| Gone)?;
            self.rank_speaks = true;
            if !channel.say(ChannelSide::Simulator, &frame, lives) {
                return Err(Gone);
            }
        }
        let frame = channel.hear(ChannelSide::Simulator, lives).ok_or(Gone)?;
        self.rank_speaks = false;
        let mut rest = &frame[..];
        while !rest.is_empty() {
            let (post, after) = postcard::take_from_bytes(rest).map_err(|_| Gone)?;
            self.posts.push_back(post);
            rest = after;
        }
        Ok(())
    }
}
