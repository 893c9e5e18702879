//! What a rank keeps for a program that reads answers.
//!
//! None of it is undone: such programs run under executors that never undo events. Its functions are cold, so that
//! programs without answers stay as fast as without them.

use std::collections::BTreeMap;
use std::sync::Arc;

use des::Time;
use workload::{Answer, Completed, ReceivedMessage};

use crate::job::Group;

/// The answer that the rank gathers for its program.
#[derive(Debug, Default)]
pub(crate) struct Answering {
    answer: Answer,
    /// The program's number of each request that it waits for, by handle.
    numbers: BTreeMap<u32, u64>,
    /// Messages of receives that are complete, by handle, each with the number of messages before it.
    messages: BTreeMap<u32, (u64, ReceivedMessage)>,
    /// Messages of receives so far.
    received: u64,
    /// The program's numbers of the requests of which the rank awaits one.
    pub contenders: Vec<u64>,
    /// The communicators that the rank has made, by number.
    pub made: BTreeMap<u32, Arc<Group>>,
}

impl Answering {
    /// The answer to the operation that ends now.
    #[cold]
    pub fn take(&mut self, now: Time) -> Answer {
        let mut answer = std::mem::take(&mut self.answer);
        answer.now_ps = now.ps();
        answer
    }

    /// A selection or Iprobe has found something.
    #[cold]
    pub fn found(&mut self) {
        self.answer.flag = true;
    }

    /// The operation waits for the request of this handle, which the program numbers so.
    #[cold]
    pub fn awaits(&mut self, handle: u32, number: u64) {
        self.numbers.insert(handle, number);
    }

    /// The receive of this handle has its message.
    #[cold]
    pub fn received(&mut self, handle: u32, message: ReceivedMessage) {
        self.messages.insert(handle, (self.received, message));
        self.received += 1;
    }

    /// Where the message of this receive comes in the order of all.
    #[cold]
    pub fn order(&self, handle: u32) -> Option<u64> {
        self.messages.get(&handle).map(|(order, _)| *order)
    }

    /// A probe has found this message.
    #[cold]
    pub fn probed(&mut self, message: ReceivedMessage) {
        let (request, message) = (None, Some(message));
        self.answer.completed.push(Completed { request, message });
    }

    /// The wait for this handle has ended.
    #[cold]
    pub fn completed(&mut self, handle: u32) {
        let request = self.numbers.remove(&handle);
        let message = self.messages.remove(&handle).map(|(_, message)| message);
        if request.is_some() || message.is_some() {
            self.answer.completed.push(Completed { request, message });
        }
    }
}
