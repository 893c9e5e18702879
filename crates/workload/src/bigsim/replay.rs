//! What of a trace is replayed, and the order in which the logs of a PE become ready.
//!
//! A log is ready when its message has arrived and all logs before it have ended. Ready logs queue up in the order in
//! which they became ready. Times are no matter of this file.
//!
//! Source: TraceR, <https://github.com/hpcgroup/TraceR>, `tracer/reader/TraceReader.C` and `tracer/tracer-driver.C`.

use std::collections::VecDeque;

use super::log::BigsimMessage;
use super::timelines::{BigsimTimeline, BigsimTimelines};
use crate::TraceError;

/// A trace of which is known that every replayed log can start.
pub struct BigsimReplay {
    /// The trace.
    pub timelines: BigsimTimelines,
    /// The message with which the replay starts, if it does not start with the first logs.
    pub start: Option<BigsimMessage>,
    /// What of each PE is replayed.
    pub pes: Vec<ReplayedPe>,
}

/// What of a PE is replayed.
#[derive(Clone, Default)]
pub struct ReplayedPe {
    /// Its first replayed log.
    pub first: u32,
    /// Replayed logs that wait for a message, by this message and in order.
    waiting: Vec<(BigsimMessage, u32)>,
    /// Messages of other PEs that arrive.
    pub arrivals: u64,
    /// Messages to other PEs.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// How far a PE is.
pub struct PeProgress {
    first: u32,
    /// What the logs wait for, from the first replayed one on.
    waits: Vec<LogWait>,
    /// Logs that are ready, in order.
    ready: VecDeque<u32>,
    /// Number of logs that have not ended.
    left: usize,
}

#[derive(Clone, Copy, Default)]
struct LogWait {
    /// Logs that have not ended.
    before: u32,
    /// Whether its message has not arrived.
    message: bool,
}

impl LogWait {
    fn is_over(self) -> bool {
        self.before == 0 && !self.message
    }
}

impl BigsimReplay {
    /// The replay of a trace.
    ///
    /// # Errors
    /// The logs contradict each other, or a log can never start.
    pub fn new(timelines: BigsimTimelines) -> Result<BigsimReplay, TraceError> {
        for pe in 0..timelines.machine.pes {
            check_inverse(&timelines, pe)?;
        }
        let start = start_message(&timelines)?;
        let firsts: Vec<u32> = (0..timelines.machine.pes)
            .map(|pe| first_log(&timelines, start, pe))
            .collect::<Result<_, _>>()?;
        let mut pes: Vec<ReplayedPe> = Vec::with_capacity(firsts.len());
        for (pe, first) in (0..).zip(firsts) {
            pes.push(ReplayedPe::new(&timelines, start, pe, first)?);
        }
        let mut replay = BigsimReplay {
            timelines,
            start,
            pes,
        };
        replay.receive_early();
        replay.rehearse()?;
        Ok(replay)
    }

    /// A PE before the replay.
    pub fn progress(&self, pe: u32) -> PeProgress {
        let (timeline, replayed) = (&self.timelines.pes[pe as usize], &self.pes[pe as usize]);
        let first = replayed.first;
        let mut waits: Vec<LogWait> = (first..timeline.logs.len() as u32)
            .map(|log| LogWait {
                before: timeline
                    .before(log)
                    .iter()
                    .filter(|before| **before >= first)
                    .count() as u32,
                message: false,
            })
            .collect();
        for (_, log) in &replayed.waiting {
            waits[(log - first) as usize].message = true;
        }
        let ready = (first..).zip(&waits).filter(|(_, wait)| wait.is_over());
        PeProgress {
            first,
            ready: ready.map(|(log, _)| log).collect(),
            left: waits.len(),
            waits,
        }
    }

    /// Messages of logs that are not replayed have arrived before the start.
    fn receive_early(&mut self) {
        let (timelines, pes) = (&self.timelines, &mut self.pes);
        for from in 0..timelines.machine.pes {
            let timeline = &timelines.pes[from as usize];
            for send in (0..pes[from as usize].first).flat_map(|log| timeline.sends(log)) {
                let message = BigsimMessage { from, id: send.id };
                for to in send.to.pes(&timelines.machine) {
                    let waiting = &mut pes[to as usize].waiting;
                    let early = of_message(waiting, message);
                    waiting.drain(early);
                }
            }
        }
    }

    /// Replays without times, which shows whether every log can start, and counts messages.
    fn rehearse(&mut self) -> Result<(), TraceError> {
        let machine = self.timelines.machine;
        let mut progress: Vec<PeProgress> = (0..machine.pes).map(|pe| self.progress(pe)).collect();
        let mut at: Vec<u32> = (0..machine.pes).collect();
        while let Some(pe) = at.pop() {
            let timeline = &self.timelines.pes[pe as usize];
            while let Some(log) = progress[pe as usize].next() {
                for send in timeline.sends(log) {
                    let message = BigsimMessage {
                        from: pe,
                        id: send.id,
                    };
                    for to in send.to.pes(&machine) {
                        if to != pe {
                            self.pes[to as usize].arrivals += 1;
                            let sender = &mut self.pes[pe as usize];
                            sender.messages += 1;
                            sender.bytes = sender.bytes.saturating_add(u64::from(send.bytes));
                            at.push(to);
                        }
                        progress[to as usize].arrive(&self.pes[to as usize], message);
                    }
                }
                progress[pe as usize].end(timeline, log);
            }
        }
        let stuck = (0..).zip(&progress).find(|(_, progress)| progress.left > 0);
        match stuck {
            None => Ok(()),
            Some((pe, progress)) => Err(self.stuck(pe, progress)),
        }
    }

    /// The error of a PE some of whose logs can never start.
    fn stuck(&self, pe: u32, progress: &PeProgress) -> TraceError {
        let replayed = &self.pes[pe as usize];
        let waiting = (replayed.first..)
            .zip(&progress.waits)
            .find(|(_, wait)| !wait.is_over());
        let Some((log, wait)) = waiting else {
            return self.timelines.error(pe, "logs that are ready never start".into());
        };
        let message = replayed.waiting.iter().find(|(_, waits)| *waits == log);
        let what = match message {
            Some((BigsimMessage { from, id }, _)) if wait.message => {
                format!("message {id} of PE {from}, which no replayed log sends to it")
            }
            _ => {
                let ended = |before: &&u32| **before < replayed.first || progress.has_ended(**before);
                let before = self.timelines.pes[pe as usize].before(log);
                let first = before
                    .iter()
                    .find(|before| !ended(before))
                    .copied()
                    .unwrap_or(log);
                format!("{}, which never ends", self.timelines.described(pe, first))
            }
        };
        let message = format!(
            "{} of {} replayed logs never start; the first is {}, which waits for {what}",
            progress.left,
            progress.waits.len(),
            self.timelines.described(pe, log)
        );
        self.timelines.error(pe, message)
    }
}

/// Checks that the logs before each log are those that name it as one after them.
fn check_inverse(timelines: &BigsimTimelines, pe: u32) -> Result<(), TraceError> {
    let timeline = &timelines.pes[pe as usize];
    let logs = timeline.logs.len() as u32;
    let mut before: Vec<(u32, u32)> = (0..logs)
        .flat_map(|log| timeline.before(log).iter().map(move |before| (*before, log)))
        .collect();
    let mut after: Vec<(u32, u32)> = (0..logs)
        .flat_map(|log| timeline.after(log).iter().map(move |after| (log, *after)))
        .collect();
    before.sort_unstable();
    after.sort_unstable();
    let place = (0..before.len().max(after.len())).find(|place| before.get(*place) != after.get(*place));
    let Some(place) = place else {
        return Ok(());
    };
    let (one, other) = (before.get(place), after.get(place));
    // The smaller one is missing in the other list.
    let (pair, named, missing) = match (one, other) {
        (Some(one), None) => (one, "before", "after"),
        (Some(one), Some(other)) if one < other => (one, "before", "after"),
        (_, Some(other)) => (other, "after", "before"),
        (None, None) => return Ok(()),
    };
    let message = format!(
        "the logs before and after each other disagree: {} comes before {} by the list of the logs {named}, and not by \
         that of the logs {missing}",
        timelines.described(pe, pair.0),
        timelines.described(pe, pair.1)
    );
    Err(timelines.error(pe, message))
}

/// The message with which the replay starts.
fn start_message(timelines: &BigsimTimelines) -> Result<Option<BigsimMessage>, TraceError> {
    let first = &timelines.pes[0];
    let Some(log) = first.logs.iter().position(|log| log.is_start) else {
        return Ok(None);
    };
    match first.sends(log as u32).first() {
        Some(send) => Ok(Some(BigsimMessage { from: 0, id: send.id })),
        None => {
            let log = timelines.described(0, log as u32);
            let message = format!("the simulation starts with the first message of {log}, which has none");
            Err(timelines.error(0, message))
        }
    }
}

/// The first log of a PE that is replayed.
fn first_log(timelines: &BigsimTimelines, start: Option<BigsimMessage>, pe: u32) -> Result<u32, TraceError> {
    let Some(message) = start else {
        return Ok(0);
    };
    let logs = &timelines.pes[pe as usize].logs;
    match logs.iter().position(|log| log.started_by == start) {
        Some(log) => Ok(log as u32),
        None => {
            let message = format!(
                "the simulation starts with message {} of PE 0, which starts no log here",
                message.id
            );
            Err(timelines.error(pe, message))
        }
    }
}

/// Places of a message in a list that is sorted by messages.
fn of_message(waiting: &[(BigsimMessage, u32)], message: BigsimMessage) -> std::ops::Range<usize> {
    let start = waiting.partition_point(|(of, _)| *of < message);
    let end = waiting.partition_point(|(of, _)| *of <= message);
    start..end
}

impl ReplayedPe {
    fn new(
        timelines: &BigsimTimelines,
        start: Option<BigsimMessage>,
        pe: u32,
        first: u32,
    ) -> Result<ReplayedPe, TraceError> {
        let timeline = &timelines.pes[pe as usize];
        let mut waiting = Vec::new();
        for (log, recorded) in (0..).zip(&timeline.logs).skip(first as usize) {
            if recorded.is_collective {
                let message = format!(
                    "{} is a collective of MPI without messages, which is not replayed",
                    timelines.described(pe, log)
                );
                return Err(timelines.error(pe, message));
            }
            if let Some(message) = recorded.started_by.filter(|_| recorded.started_by != start) {
                waiting.push((message, log));
            }
        }
        waiting.sort_unstable();
        Ok(ReplayedPe {
            first,
            waiting,
            ..ReplayedPe::default()
        })
    }
}

impl PeProgress {
    /// Takes the next log that is ready.
    pub fn next(&mut self) -> Option<u32> {
        self.ready.pop_front()
    }

    fn has_ended(&self, log: u32) -> bool {
        let wait = self.waits.get((log - self.first) as usize);
        wait.is_some_and(|wait| wait.is_over())
    }

    /// A message has arrived, which starts the logs that wait for it.
    pub fn arrive(&mut self, pe: &ReplayedPe, message: BigsimMessage) {
        for (_, log) in &pe.waiting[of_message(&pe.waiting, message)] {
            self.change(*log, |wait| std::mem::take(&mut wait.message));
        }
    }

    /// A log has ended. Those that wait for it queue up.
    pub fn end(&mut self, timeline: &BigsimTimeline, log: u32) {
        self.left -= 1;
        let first = self.first;
        for after in timeline.after(log).iter().filter(|after| **after >= first) {
            self.change(*after, |wait| {
                wait.before -= 1;
                true
            });
        }
    }

    /// Changes what a log waits for. If that was a change and it waits for nothing more, the log queues up.
    fn change(&mut self, log: u32, change: impl FnOnce(&mut LogWait) -> bool) {
        let wait = &mut self.waits[(log - self.first) as usize];
        if change(wait) && wait.is_over() {
            self.ready.push_back(log);
        }
    }
}
