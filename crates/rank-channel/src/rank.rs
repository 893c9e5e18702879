//! The rank's end of its channel.

use std::env;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use operation::Operation;

use crate::turn::ChannelSide;
use crate::{Arena, Payload, Post, Reply, SharedMemory};

/// The environment variable that names the shared memory.
pub const CHANNEL: &str = "FABRICSIM_CHANNEL";

/// The environment variable with the rank of the process.
pub const RANK: &str = "FABRICSIM_RANK";

/// What is posted in one frame before the simulator takes it.
const AHEAD_BYTES: usize = 1 << 14;

/// The rank's end: what it posts, and the arena of its messages.
#[derive(Debug)]
pub struct RankEnd {
    memory: SharedMemory,
    rank: u32,
    /// Posts that the simulator has not seen yet.
    ahead: Vec<u8>,
    arena: Arena,
}

impl RankEnd {
    /// The end of the rank that the environment names; `None` in a process that the simulator has not started.
    ///
    /// # Errors
    /// The environment names something else.
    pub fn of_environment() -> io::Result<Option<RankEnd>> {
        let (Some(path), Ok(rank)) = (env::var_os(CHANNEL), env::var(RANK)) else {
            return Ok(None);
        };
        let rank = rank
            .parse()
            .map_err(|_| io::Error::other(format!("{RANK}={rank} is no number")))?;
        RankEnd::new(SharedMemory::open(Path::new(&path))?, rank).map(Some)
    }

    /// The end of a rank.
    ///
    /// # Errors
    /// There is no such rank.
    pub fn new(memory: SharedMemory, rank: u32) -> io::Result<RankEnd> {
        if rank >= memory.ranks() {
            let ranks = memory.ranks();
            return Err(io::Error::other(format!(
                "{RANK}={rank}, and there are {ranks} ranks"
            )));
        }
        memory.channel(rank).initialized.store(1, Ordering::Release);
        Ok(RankEnd {
            memory,
            rank,
            ahead: Vec::new(),
            arena: Arena::new(rank),
        })
    }

    /// World rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.memory.ranks()
    }

    /// The rank's host in the simulated network.
    pub fn host(&self) -> u32 {
        self.memory.host(self.rank)
    }

    /// The name of that host.
    pub fn host_name(&self) -> String {
        format!("host{}", self.host())
    }

    /// Whether computation between calls counts.
    pub fn measures(&self) -> bool {
        self.memory.measures()
    }

    /// Posts something that needs no reply, and goes on.
    pub fn post(&mut self, post: &Post) {
        self.add(post);
        if self.ahead.len() > AHEAD_BYTES {
            self.exchange();
        }
    }

    /// Posts something and waits for the reply to it.
    pub fn ask(&mut self, post: &Post) -> Reply {
        self.add(post);
        self.exchange()
    }

    /// Posts the last thing, to which there is no reply.
    pub fn end(&mut self, post: &Post) {
        self.add(post);
        let there = || self.memory.simulator_lives();
        self.memory
            .channel(self.rank)
            .say(ChannelSide::Rank, &self.ahead, there);
        self.ahead.clear();
    }

    fn add(&mut self, post: &Post) {
        let ahead = std::mem::take(&mut self.ahead);
        self.ahead = postcard::to_extend(post, ahead).unwrap_or_default();
    }

    fn exchange(&mut self) -> Reply {
        let there = || self.memory.simulator_lives();
        let channel = self.memory.channel(self.rank);
        let reply = match channel.say(ChannelSide::Rank, &self.ahead, there) {
            true => channel.hear(ChannelSide::Rank, there),
            false => None,
        };
        self.ahead.clear();
        let reply = reply.and_then(|reply| postcard::from_bytes::<Reply>(&reply).ok());
        // Without its simulator a rank has nothing to do; the simulator's own message says why.
        let Some(reply) = reply else { std::process::exit(1) };
        for payload in &reply.released {
            self.arena.release(*payload);
        }
        reply
    }

    /// Stores the bytes of a message.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn store(&mut self, parts: &[&[u8]]) -> io::Result<Payload> {
        self.arena.store(&self.memory, parts)
    }

    /// Copies bytes of a message.
    ///
    /// # Errors
    /// The system cannot read the memory.
    pub fn load_from(&self, payload: Payload, start: u64, into: &mut [u8]) -> io::Result<()> {
        payload.read_from(&self.memory, start, into)
    }

    /// Posts computation before the next call.
    pub fn compute(&mut self, ps: u64) {
        if ps > 0 {
            let region = None;
            self.post(&Post::of(Operation::Compute { ps, region }));
        }
    }
}
