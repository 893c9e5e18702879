//! The events of one rank: its calls, and its message ends within them.
//!
//! The tables contain the time of each send and match. They do not contain the calls that start or complete a
//! request. Known facts come first: a send belongs to the call that begins when it was posted; a blocking receive
//! takes the message that woke it or that it found. The rest is reconstructed consistently: receives are started in
//! the order in which messages were matched, and requests complete in the first completing call that ends no earlier.

use std::collections::{BTreeMap, VecDeque};

use ::otf2::{EventRecord, MessageRecord, RmaRecord, TimedEvent};

use super::calls::{CallActivity, CallKind, CallSpan, WrittenCall, calls};

/// One end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageEnd {
    pub side: MessageSide,
    /// The rank at the other end.
    pub peer: u32,
    /// Number in the order of the two ranks. For one-sided communication, the number that request and answer share.
    pub sequence: u32,
    pub bytes: u64,
    /// `None` for collectives and one-sided communication.
    pub tag: Option<u32>,
    /// Start of this end: the sender came to it, or a receive matched the envelope.
    pub begun: u64,
    /// Completion of this end: the buffer is free, or the data have arrived.
    pub done: u64,
    /// Position among the messages that the host began to send at the same time.
    pub order: u32,
    /// Whether its receive was posted after the envelope had arrived, and matched it at once.
    pub found: bool,
    /// CPU time of sending it.
    pub busy: u64,
}

/// The role of a rank in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageSide {
    /// It sends the data.
    Out,
    /// It receives the data.
    In,
    /// It matches the request to send of an incoming message.
    Asked,
    /// It sends the request to send.
    Asking,
    /// It puts data.
    Put,
    /// It gets data.
    Get,
    /// It receives the answer to a put or get.
    Answer,
}

/// Calls and message ends of one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RankInput {
    pub spans: Vec<CallSpan>,
    pub ends: Vec<MessageEnd>,
}

/// Definition numbers that the events of a rank name.
#[derive(Clone, Copy, Debug)]
pub(super) struct DefinitionNames {
    /// Communicator of point-to-point messages.
    pub world: u32,
    /// Communicator of the messages of collectives.
    pub collectives: u32,
    /// Window of one-sided transfers.
    pub window: u32,
}

/// Order of events at one time of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventOrder {
    /// A receive and a send at the start of the call.
    Posted,
    First,
    /// An arrival, or the departure of a last byte.
    Arrived,
    /// A consequence of an arrival, as in the rounds of a collective.
    PostedLater,
    Later,
    /// A message that had arrived before its receive.
    Found,
    Complete,
}

struct Placed {
    /// Index of the call, or the number of calls for the end of the rank.
    call: usize,
    time: u64,
    order: EventOrder,
    record: EventRecord,
}

/// A request that a later call completes.
#[derive(Clone, Copy, Debug)]
struct Open {
    ready: u64,
    /// Index of the call that started it.
    since: usize,
    record: EventRecord,
}

/// The events of a rank in time order.
pub(super) fn events(
    mut input: RankInput,
    activities: &[CallActivity],
    names: DefinitionNames,
) -> Vec<TimedEvent> {
    let requests = |side| -> BTreeMap<(u32, u32), MessageEnd> {
        let of = input.ends.iter().filter(|end| end.side == side);
        of.map(|end| ((end.peer, end.sequence), *end)).collect()
    };
    let (taken, asking) = (requests(MessageSide::Asked), requests(MessageSide::Asking));
    for end in &mut input.ends {
        let key = (end.peer, end.sequence);
        match end.side {
            MessageSide::In => {
                if let Some(request) = taken.get(&key) {
                    (end.begun, end.found) = (request.begun, request.found);
                }
            }
            MessageSide::Out => {
                if let Some(request) = asking.get(&key) {
                    (end.order, end.busy) = (request.order, request.busy);
                }
            }
            _ => {}
        }
    }
    let of = |side, tagged: bool| {
        let ends = input.ends.iter().copied();
        let mut ends: Vec<MessageEnd> = ends
            .filter(|end| end.side == side && end.tag.is_some() == tagged)
            .collect();
        ends.sort_by_key(|end| (end.begun, end.order, end.done, end.peer, end.sequence));
        ends
    };
    let sends = of(MessageSide::Out, true);
    let times: Vec<u64> = sends.iter().map(|end| end.begun).collect();
    let calls = calls(&input.spans, activities, &times);
    let mut rank = RankWriter {
        taken: vec![false; calls.len()],
        rank_end: calls.last().map_or(0, |call| call.end),
        calls,
        names,
        requests: 0,
        sending: Vec::new(),
        placed: Vec::with_capacity(input.ends.len()),
        open: Vec::new(),
        beside: Vec::new(),
        transfers: Vec::new(),
    };
    rank.sends(&sends);
    rank.receives(of(MessageSide::In, true));
    let rounds = of(MessageSide::Out, false);
    rank.sending = rounds
        .iter()
        .map(|end| (end.begun, end.begun.saturating_add(end.busy)))
        .collect();
    rank.collective_sends(&rounds);
    rank.collective_receives(&of(MessageSide::In, false));
    let answers = of(MessageSide::Answer, false);
    for side in [MessageSide::Put, MessageSide::Get] {
        rank.transfers(&of(side, false), &answers);
    }
    drop(input);
    rank.complete();
    rank.written()
}

struct RankWriter {
    calls: Vec<WrittenCall>,
    /// Calls whose message is known.
    taken: Vec<bool>,
    rank_end: u64,
    names: DefinitionNames,
    requests: u64,
    /// Spans in which the CPU processed messages of collectives.
    sending: Vec<(u64, u64)>,
    placed: Vec<Placed>,
    /// Requests of the program, which calls complete.
    open: Vec<Open>,
    /// Requests of non-blocking collectives.
    beside: Vec<Open>,
    /// One-sided transfers.
    transfers: Vec<Open>,
}

impl RankWriter {
    fn request(&mut self) -> u64 {
        self.requests += 1;
        self.requests - 1
    }

    fn place(&mut self, call: usize, time: u64, order: EventOrder, record: EventRecord) {
        let placed = Placed {
            call,
            time,
            order,
            record,
        };
        self.placed.push(placed);
    }

    fn message(&self, end: &MessageEnd) -> MessageRecord {
        MessageRecord {
            peer: end.peer,
            communicator: match end.tag {
                Some(_) => self.names.world,
                None => self.names.collectives,
            },
            // A unique number for each message between two ranks, so that its ends match.
            tag: end.tag.unwrap_or(end.sequence & i32::MAX as u32),
            bytes: end.bytes,
        }
    }

    /// The first call without a message that begins at a time and that `fits`.
    fn begun_at(&self, time: u64, fits: impl Fn(CallKind) -> bool) -> Option<usize> {
        let first = self.calls.partition_point(|call| call.start < time);
        let at = self.calls[first..].iter().take_while(|call| call.start == time);
        let place = at
            .zip(first..)
            .find(|(call, index)| !self.taken[*index] && fits(call.kind));
        place.map(|(_, index)| index)
    }

    /// The call of an event at a time when the rank was in no suitable call: the call of that time, the end of the
    /// call before, or the end of all calls.
    fn no_later(&self, time: u64) -> (usize, u64) {
        if time >= self.rank_end {
            return (self.calls.len(), time);
        }
        let after = self.calls.partition_point(|call| call.start <= time);
        let before = self.calls[..after]
            .iter()
            .rposition(|call| call.kind != CallKind::Compute);
        match before {
            Some(call) => (call, time.min(self.calls[call].end)),
            // In the computation before the first call.
            None => (after.saturating_sub(1), time),
        }
    }

    /// Places the point-to-point sends.
    fn sends(&mut self, sends: &[MessageEnd]) {
        let sending = |kind| {
            matches!(
                kind,
                CallKind::Send | CallKind::Isend | CallKind::Start | CallKind::Sendrecv
            )
        };
        for end in sends {
            let message = self.message(end);
            let Some(call) = self.begun_at(end.begun, sending) else {
                // Its call was not complete when the run ended, or has another name.
                let (call, time) = self.no_later(end.begun);
                self.start_send(end, call, time, EventOrder::Later);
                continue;
            };
            self.taken[call] = true;
            match self.calls[call].kind {
                CallKind::Send => self.place(call, end.begun, EventOrder::First, EventRecord::Send(message)),
                CallKind::Sendrecv => {
                    let request = self.request();
                    self.place(
                        call,
                        end.begun,
                        EventOrder::First,
                        EventRecord::Isend { message, request },
                    );
                    let over = EventRecord::IsendComplete { request };
                    self.place(call, self.calls[call].end, EventOrder::Complete, over);
                }
                _ => self.start_send(end, call, end.begun, EventOrder::First),
            }
        }
    }

    fn start_send(&mut self, end: &MessageEnd, call: usize, time: u64, order: EventOrder) {
        let (message, request) = (self.message(end), self.request());
        self.place(call, time, order, EventRecord::Isend { message, request });
        self.open.push(Open {
            ready: end.done.max(time),
            since: call,
            record: EventRecord::IsendComplete { request },
        });
    }

    /// Places the point-to-point receives.
    fn receives(&mut self, mut receives: Vec<MessageEnd>) {
        receives.sort_by_key(|end| (end.done, end.begun, end.peer, end.sequence));
        let mut found = vec![false; receives.len()];
        for index in 0..self.calls.len() {
            let call = self.calls[index];
            if !matches!(call.kind, CallKind::Recv | CallKind::Sendrecv) {
                continue;
            }
            let Some(place) = received_in(&call, &receives, &found) else {
                continue;
            };
            found[place] = true;
            let message = self.message(&receives[place]);
            if call.kind == CallKind::Recv {
                self.place(index, call.end, EventOrder::Complete, EventRecord::Recv(message));
            } else {
                let request = self.request();
                self.place(
                    index,
                    call.start,
                    EventOrder::Posted,
                    EventRecord::IrecvRequest { request },
                );
                self.place(
                    index,
                    call.end,
                    EventOrder::Arrived,
                    EventRecord::Irecv { message, request },
                );
            }
        }
        let mut rest: Vec<MessageEnd> = receives
            .into_iter()
            .zip(found)
            .filter(|(_, found)| !found)
            .map(|(end, _)| end)
            .collect();
        rest.sort_by_key(|end| (end.begun, end.peer, end.sequence));
        let mut rest = VecDeque::from(rest);
        for index in 0..self.calls.len() {
            let WrittenCall { start, kind, .. } = self.calls[index];
            if kind != CallKind::Irecv && (kind != CallKind::Start || self.taken[index]) {
                continue;
            }
            // A message matched earlier cannot belong to this receive, which would have none.
            while let Some(end) = front_if(&mut rest, |end| end.begun < start) {
                self.unposted(&end);
            }
            let request = self.request();
            self.place(
                index,
                start,
                EventOrder::Posted,
                EventRecord::IrecvRequest { request },
            );
            if let Some(end) = rest.pop_front() {
                let message = self.message(&end);
                self.open.push(Open {
                    ready: end.done,
                    since: index,
                    record: EventRecord::Irecv { message, request },
                });
            }
        }
        for end in rest {
            self.unposted(&end);
        }
    }

    /// A message without an identifiable receive: a completing call took it.
    fn unposted(&mut self, end: &MessageEnd) {
        let record = EventRecord::Recv(self.message(end));
        self.beside.push(Open {
            ready: end.done,
            since: 0,
            record,
        });
    }

    /// Places the sends of collectives: in their call, or beside the program.
    fn collective_sends(&mut self, sends: &[MessageEnd]) {
        for end in sends {
            let until = self.calls.partition_point(|call| call.start <= end.begun);
            let of = self.calls[..until]
                .iter()
                .enumerate()
                .rev()
                .take_while(|(_, call)| call.end >= end.begun)
                .find(|(_, call)| is_collective(call.kind));
            let of = of.map(|(index, call)| (index, *call));
            let (message, request) = (self.message(end), self.request());
            let start = EventRecord::Isend { message, request };
            let over = EventRecord::IsendComplete { request };
            match of {
                Some((index, call)) => {
                    let order = match end.begun == call.start {
                        true => EventOrder::First,
                        false => EventOrder::Later,
                    };
                    self.place(index, end.begun, order, start);
                    // Later rounds wait for large messages, whose buffers are not free at once.
                    let done = end.done.min(call.end);
                    match done > end.begun {
                        true => self.place_in_round(index, done, EventOrder::Arrived, over),
                        false => self.place(index, call.end, EventOrder::Complete, over),
                    }
                }
                None => {
                    let (index, time) = self.no_later(end.begun);
                    self.place(index, time, EventOrder::Later, start);
                    self.beside.push(Open {
                        ready: end.done.max(time),
                        since: index,
                        record: over,
                    });
                }
            }
        }
    }

    /// Places the events of a collective that completed at one time. The sends of one round follow each other at
    /// once. Completions between them are awaited after the last send and do not affect the others.
    fn place_in_round(&mut self, call: usize, done: u64, mut order: EventOrder, over: EventRecord) {
        let is_before = |begun: u64| begun < done || begun == done && order == EventOrder::Found;
        let mut next = self.sending.partition_point(|(begun, _)| is_before(*begun));
        let mut time = done;
        while let Some(index) = next.checked_sub(1)
            && let Some((begun, _)) = self.sending.get(next)
            && self.sending[index].0 < *begun
            && self.sending[index].1 == *begun
        {
            (time, order) = (*begun, EventOrder::Found);
            next += 1;
        }
        self.place(call, time, order, over);
    }

    /// Places the receives of collectives in the same way.
    fn collective_receives(&mut self, receives: &[MessageEnd]) {
        for end in receives {
            let from = self.calls.partition_point(|call| call.end < end.done);
            let mut near = (from..)
                .zip(&self.calls[from..])
                .take_while(|(_, call)| call.start <= end.done);
            let of = near
                .find(|(_, call)| is_collective(call.kind))
                .map(|(index, call)| (index, *call));
            let (message, request) = (self.message(end), self.request());
            let start = EventRecord::IrecvRequest { request };
            let over = EventRecord::Irecv { message, request };
            if let Some((index, call)) = of {
                // A receive that found its message was posted by a round that began at that time. The others were
                // posted before their messages arrived; the exact time has no effect.
                match end.found && end.begun > call.start {
                    true => self.place(index, end.begun, EventOrder::PostedLater, start),
                    false => self.place(index, call.start, EventOrder::Posted, start),
                }
                let order = match end.found && end.done == end.begun {
                    true => EventOrder::Found,
                    false => EventOrder::Arrived,
                };
                self.place_in_round(index, end.done, order, over);
                continue;
            }
            let before = self.calls.partition_point(|call| call.start <= end.begun);
            let began = self.calls[..before]
                .iter()
                .rposition(|call| call.kind == CallKind::Background);
            let (index, time) = match began {
                Some(index) => (index, self.calls[index].end.min(end.done)),
                None => self.no_later(end.begun.min(end.done)),
            };
            self.place(index, time, EventOrder::Posted, start);
            self.beside.push(Open {
                ready: end.done.max(time),
                since: index,
                record: over,
            });
        }
    }

    /// Places the puts and gets of this rank. `answers` are the ends of all.
    fn transfers(&mut self, begun: &[MessageEnd], answers: &[MessageEnd]) {
        let window = self.names.window;
        let answered: BTreeMap<(u32, u32), u64> = answers
            .iter()
            .map(|end| ((end.peer, end.sequence), end.done))
            .collect();
        for end in begun {
            let matching = self.request();
            let transfer = RmaRecord {
                window,
                peer: end.peer,
                bytes: end.bytes,
                received: 0,
                matching,
            };
            let record = match end.side {
                MessageSide::Get => EventRecord::Get(transfer),
                _ => EventRecord::Put(transfer),
            };
            let call = self.begun_at(end.begun, |kind| kind == CallKind::OneSided);
            let (call, time) = match call {
                Some(call) => {
                    self.taken[call] = true;
                    (call, end.begun)
                }
                None => self.no_later(end.begun),
            };
            self.place(call, time, EventOrder::First, record);
            if let Some(ready) = answered.get(&(end.peer, end.sequence)) {
                self.transfers.push(Open {
                    ready: *ready,
                    since: call,
                    record: EventRecord::TransferComplete { window, matching },
                });
            }
        }
    }

    /// Finds the calls that complete the open requests.
    fn complete(&mut self) {
        let mut program = PendingMessages::new(std::mem::take(&mut self.open));
        let mut beside = PendingMessages::new(std::mem::take(&mut self.beside));
        let mut transfers = PendingMessages::new(std::mem::take(&mut self.transfers));
        for index in 0..self.calls.len() {
            let call = self.calls[index];
            let mut over = Vec::new();
            match call.kind {
                CallKind::WaitOne => {
                    program.ready(call.end);
                    over.extend(program.one(index, &call));
                    beside.ready(call.end);
                    beside.all(index, &mut over);
                }
                CallKind::WaitAny => {
                    for pending in [&mut program, &mut beside] {
                        pending.ready(call.end);
                        pending.all(index, &mut over);
                    }
                }
                CallKind::Fence => {
                    transfers.ready(call.end);
                    transfers.all(index, &mut over);
                }
                _ => {}
            }
            for open in over {
                self.place(index, call.end, EventOrder::Complete, open.record);
            }
        }
        let (last, rank_end) = (self.calls.len(), self.rank_end);
        for pending in [program, beside, transfers] {
            for open in pending.rest() {
                self.place(last, open.ready.max(rank_end), EventOrder::Complete, open.record);
            }
        }
    }

    /// All events in order.
    fn written(mut self) -> Vec<TimedEvent> {
        let last = self.calls.len();
        for placed in &mut self.placed {
            if let Some(call) = self.calls.get(placed.call) {
                placed.time = placed.time.clamp(call.start, call.end);
            }
        }
        self.placed
            .sort_by_key(|placed| (placed.call, placed.time, placed.order));
        let mut events = Vec::with_capacity(2 * last + self.placed.len());
        let mut placed = self.placed.into_iter().peekable();
        for (index, call) in self.calls.iter().enumerate() {
            let region = call.activity;
            events.push(TimedEvent {
                time: call.start,
                record: EventRecord::Enter { region },
            });
            while let Some(Placed { time, record, .. }) = placed.next_if(|placed| placed.call == index) {
                events.push(TimedEvent { time, record });
            }
            events.push(TimedEvent {
                time: call.end,
                record: EventRecord::Leave { region },
            });
        }
        events.extend(placed.map(|Placed { time, record, .. }| TimedEvent { time, record }));
        events
    }
}

/// Takes the first request if it `fits`.
fn front_if<T>(queue: &mut VecDeque<T>, fits: impl FnOnce(&T) -> bool) -> Option<T> {
    match queue.front() {
        Some(first) if fits(first) => queue.pop_front(),
        _ => None,
    }
}

fn is_collective(kind: CallKind) -> bool {
    matches!(kind, CallKind::Collective | CallKind::Fence)
}

/// The message of a blocking receive: the one that woke it, or that it found, or else the last that arrived in it.
/// `receives` are ordered by their ends.
fn received_in(call: &WrittenCall, receives: &[MessageEnd], found: &[bool]) -> Option<usize> {
    let first = receives.partition_point(|end| end.done < call.start);
    let until = receives.partition_point(|end| end.done <= call.end);
    let mut within = (first..until).filter(|place| !found[*place]);
    match call.woken {
        Some(woken) => within
            .clone()
            .rfind(|place| receives[*place].done == woken)
            .or_else(|| within.next_back()),
        None => within
            .clone()
            .find(|place| receives[*place].begun == call.start)
            .or_else(|| within.next_back()),
    }
}

/// Open requests in the order in which they become ready.
struct PendingMessages {
    coming: VecDeque<Open>,
    ready: VecDeque<Open>,
}

impl PendingMessages {
    fn new(mut all: Vec<Open>) -> PendingMessages {
        all.sort_by_key(|open| (open.ready, open.since));
        PendingMessages {
            coming: all.into(),
            ready: VecDeque::new(),
        }
    }

    fn ready(&mut self, now: u64) {
        while let Some(open) = front_if(&mut self.coming, |open| open.ready <= now) {
            self.ready.push_back(open);
        }
    }

    /// All that are ready and were started before a call.
    fn all(&mut self, call: usize, over: &mut Vec<Open>) {
        self.ready.retain(|open| {
            let earlier = open.since < call;
            over.extend(earlier.then_some(*open));
            !earlier
        });
    }

    /// The request of a wait for one request: the one that woke it. Otherwise the overhead of the call decides, as
    /// only receives have an overhead at the receiver.
    fn one(&mut self, index: usize, call: &WrittenCall) -> Option<Open> {
        let find = |fits: &dyn Fn(&Open) -> bool| {
            self.ready
                .iter()
                .position(|open| open.since < index && fits(open))
        };
        let is_send = |open: &Open| matches!(open.record, EventRecord::IsendComplete { .. });
        let likely = match call.woken {
            Some(woken) => find(&|open| open.ready == woken),
            None => find(&|open| is_send(open) == (call.start == call.end)),
        };
        let place = likely.or_else(|| find(&|_| true))?;
        self.ready.remove(place)
    }

    fn rest(self) -> impl Iterator<Item = Open> {
        self.ready.into_iter().chain(self.coming)
    }
}

#[cfg(test)]
#[path = "rank_tests.rs"]
mod tests;
