//! The arbiter of a NIC port: which source sends the next packet.
//!
//! A source is a rank, or the synthetic traffic of one job on this host. A port holds the messages of the source whose
//! turn it is; [`OtherSources`] holds those of all others. So a port that one source uses pays for no arbitration.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::NicSource;

/// How a NIC port divides its link among sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NicArbiter {
    /// One packet of each source in turn.
    #[default]
    RoundRobin,
    /// As many bytes of each source in turn: deficit round robin (M. Shreedhar, G. Varghese, "Efficient fair queueing
    /// using deficit round robin", SIGCOMM 1995). Headers count. The quantum is the largest packet with its header, so
    /// every turn has a packet.
    DeficitRoundRobin,
    /// One packet of each message in turn, whatever its source. With one source all arbiters do this, and this one also
    /// lets the port reserve its link ahead of time ([`NicOutputs::sends_ahead`](crate::NicOutputs::sends_ahead)).
    ByMessage,
    /// All packets of a message before those of the next one, in the order in which the host hands them over.
    InOrder,
}

/// Names of the arbiters in experiments, the default first.
pub const NIC_ARBITERS: &[&str] = &["round-robin", "deficit-round-robin", "by-message", "in-order"];

impl NicArbiter {
    /// The arbiter of a name of [`NIC_ARBITERS`].
    pub fn named(name: &str) -> NicArbiter {
        match name {
            "deficit-round-robin" => NicArbiter::DeficitRoundRobin,
            "by-message" => NicArbiter::ByMessage,
            "in-order" => NicArbiter::InOrder,
            _ => NicArbiter::RoundRobin,
        }
    }

    /// The source of a message of this traffic class and job, given by the job's number for it on this host. If
    /// messages compete, or follow each other, all of a class have one source.
    #[inline]
    pub fn source(self, traffic_class: u8, job: u16, of_job: u16) -> NicSource {
        match self {
            NicArbiter::ByMessage | NicArbiter::InOrder => NicSource(traffic_class.into()),
            _ => NicSource(u32::from(job) << 16 | u32::from(of_job)),
        }
    }
}

/// The messages of one source. `M` is a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceQueue<M> {
    /// The number that its job has for it on this host.
    pub of_job: u16,
    /// Bytes that it could not use in its last turn. With other arbiters 0.
    pub deficit: u32,
    /// Never empty while the source is one of [`OtherSources`].
    pub messages: VecDeque<M>,
}

/// The sources that wait while another one has its turn.
#[derive(Clone, Debug)]
pub struct OtherSources<M> {
    /// In the order of their turns.
    pub queues: VecDeque<SourceQueue<M>>,
    /// Bytes that the source whose turn it is may send in this turn. Meaningless without other sources.
    pub deficit: u32,
    /// Memory of queues that became empty.
    unused: Vec<VecDeque<M>>,
}

/// The source whose turn it is.
pub struct Sending<'a, M> {
    /// The number that its job has for it on this host.
    pub of_job: &'a mut u16,
    /// Its messages.
    pub messages: &'a mut VecDeque<M>,
}

/// An undo step of the order of sources.
#[derive(Clone, Copy, Debug)]
pub enum TurnUndo {
    /// A message went to the end of the queue of a waiting source.
    Queued {
        /// Position of the source.
        at: u32,
        /// Bytes that the source whose turn it is could send before.
        deficit: u32,
    },
    /// The source whose turn it is sent a packet, and keeps the turn.
    Kept {
        /// Bytes of the packet.
        bytes: u32,
    },
    /// The source sent a packet, and went behind the others.
    Passed {
        /// Bytes of the packet.
        bytes: u32,
    },
    /// A waiting source got the turn, before the source that had it.
    Skipped {
        /// Position of the source.
        at: u32,
    },
    /// The source sent its last packet.
    Left {
        /// The number that its job has for it on this host.
        of_job: u16,
        /// Bytes that it could send before the packet.
        deficit: u32,
    },
}

impl<M> Sending<'_, M> {
    /// Gives the turn to another source. Returns the one that had it.
    fn replace(&mut self, of_job: u16, messages: VecDeque<M>) -> (u16, VecDeque<M>) {
        (
            std::mem::replace(self.of_job, of_job),
            std::mem::replace(self.messages, messages),
        )
    }
}

impl<M> Default for OtherSources<M> {
    fn default() -> Self {
        OtherSources {
            queues: VecDeque::new(),
            deficit: 0,
            unused: Vec::new(),
        }
    }
}

impl<M> OtherSources<M> {
    /// Appends a message to the queue of a waiting source, which is the first for which `is_source` holds, or a new
    /// one at the end. `quantum` is what the source whose turn it is may send, if it had no competitor before.
    pub fn queue(
        &mut self,
        message: M,
        of_job: u16,
        quantum: u32,
        is_source: impl Fn(&SourceQueue<M>) -> bool,
    ) -> TurnUndo {
        let deficit = self.deficit;
        if self.queues.is_empty() {
            self.deficit = quantum;
        }
        let at = self.queues.iter().position(is_source).unwrap_or_else(|| {
            self.queues.push_back(SourceQueue {
                of_job,
                deficit: 0,
                messages: self.unused.pop().unwrap_or_default(),
            });
            self.queues.len() - 1
        });
        self.queues[at].messages.push_back(message);
        TurnUndo::Queued {
            at: at as u32,
            deficit,
        }
    }

    /// The source whose turn it is has sent a packet of `bytes` bytes; its next packet has `next` bytes, if it has one.
    /// Gives the turn to the source that sends next. `quantum` is 0 if turns have one packet each.
    pub fn sent(
        &mut self,
        sending: &mut Sending<M>,
        bytes: u32,
        next: Option<u32>,
        quantum: u32,
    ) -> Option<TurnUndo> {
        if self.queues.is_empty() {
            return None;
        }
        let before = self.deficit;
        let spent = if quantum > 0 { bytes } else { 0 };
        self.deficit = before.wrapping_sub(spent);
        if quantum > 0 && next.is_some_and(|next| next <= self.deficit) {
            return Some(TurnUndo::Kept { bytes: spent });
        }
        let first = self.queues.pop_front()?;
        let leftover = std::mem::replace(&mut self.deficit, first.deficit.wrapping_add(quantum));
        let (of_job, messages) = sending.replace(first.of_job, first.messages);
        if next.is_none() {
            self.unused.push(messages);
            return Some(TurnUndo::Left {
                of_job,
                deficit: before,
            });
        }
        self.queues.push_back(SourceQueue {
            of_job,
            deficit: leftover,
            messages,
        });
        Some(TurnUndo::Passed { bytes: spent })
    }

    /// Gives the turn to the waiting source at a position, before the source that has it and whose packets must wait.
    /// Deficits are not kept: only for arbiters without them.
    pub fn skip_to(&mut self, sending: &mut Sending<M>, at: usize) -> Option<TurnUndo> {
        let chosen = self.queues.remove(at)?;
        let (of_job, messages) = sending.replace(chosen.of_job, chosen.messages);
        self.queues.push_front(SourceQueue {
            of_job,
            deficit: 0,
            messages,
        });
        Some(TurnUndo::Skipped { at: at as u32 })
    }

    /// The waiting sources of a saved state; `None` without any.
    pub fn saved(queues: Vec<SourceQueue<M>>, deficit: u32) -> Option<OtherSources<M>> {
        (!queues.is_empty()).then(|| OtherSources {
            queues: queues.into(),
            deficit,
            unused: Vec::new(),
        })
    }

    /// Undoes one step. `quantum` is that of [`OtherSources::sent`]. Returns the message that was not queued.
    pub fn undo(&mut self, step: TurnUndo, sending: &mut Sending<M>, quantum: u32) -> Option<M> {
        match step {
            TurnUndo::Queued { at, deficit } => {
                self.deficit = deficit;
                let at = at as usize;
                let queue = self.queues.get_mut(at)?;
                let message = queue.messages.pop_back();
                if queue.messages.is_empty() {
                    let emptied = self.queues.remove(at);
                    self.unused.extend(emptied.map(|queue| queue.messages));
                }
                return message;
            }
            TurnUndo::Kept { bytes } => self.deficit = self.deficit.wrapping_add(bytes),
            TurnUndo::Passed { bytes } => {
                if let Some(before) = self.queues.pop_back() {
                    self.take_back(sending, (before.of_job, before.messages), quantum);
                    self.deficit = before.deficit.wrapping_add(bytes);
                }
            }
            TurnUndo::Skipped { at } => {
                if let Some(before) = self.queues.pop_front() {
                    let (of_job, messages) = sending.replace(before.of_job, before.messages);
                    let chosen = SourceQueue {
                        of_job,
                        deficit: 0,
                        messages,
                    };
                    self.queues.insert(at as usize, chosen);
                }
            }
            TurnUndo::Left { of_job, deficit } => {
                let messages = self.unused.pop().unwrap_or_default();
                self.take_back(sending, (of_job, messages), quantum);
                self.deficit = deficit;
            }
        }
        None
    }

    /// Puts the source whose turn it is before the others, and `before` in its place.
    fn take_back(&mut self, sending: &mut Sending<M>, before: (u16, VecDeque<M>), quantum: u32) {
        let (of_job, messages) = sending.replace(before.0, before.1);
        self.queues.push_front(SourceQueue {
            of_job,
            deficit: self.deficit.wrapping_sub(quantum),
            messages,
        });
    }
}
