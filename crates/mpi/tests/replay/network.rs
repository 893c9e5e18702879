//! A network in memory. The time of a message is independent of other messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use des::Time;
use mpi::{
    Action, Message, MessageKind, MpiJob, MpiSettings, Rank, RankStats, ReplayError, TimelineActivity,
    TimelineEvent, Transit,
};
use workload::{Call, Collective, Operation, Program, TraceError};

/// Operations of a list.
pub struct List(pub std::vec::IntoIter<Operation>);

impl Program for List {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        Ok(self.0.next())
    }
}

/// Message times.
#[derive(Clone, Copy)]
pub enum Delay {
    /// A latency, and a time per byte at the sender's NIC.
    Fixed { latency: Time, per_byte: Time },
    /// Random from 1 ps to 1 us, so that messages overtake each other.
    Random { seed: u64 },
}

impl Delay {
    /// Spans until the last byte has left, and until all bytes have arrived.
    fn of(&mut self, wire_bytes: u64) -> (Time, Time) {
        match self {
            Delay::Fixed { latency, per_byte } => {
                let injection = Time(per_byte.ps() * wire_bytes);
                (injection, injection + *latency)
            }
            Delay::Random { seed } => {
                // SplitMix64.
                *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = *seed;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                let span = 1 + (z ^ (z >> 31)) % 1_000_000;
                (Time(span / 2), Time(span))
            }
        }
    }
}

/// An input of a rank from its owner.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    Start,
    Resume,
    Arrived(Message),
    Injected(u32),
}

impl Input {
    pub fn give(self, rank: &mut Rank, now: Time, out: &mut Vec<Action>) -> Result<(), ReplayError> {
        match self {
            Input::Start => rank.start(now, out),
            Input::Resume => rank.resume(now, out),
            Input::Arrived(message) => rank.arrived(now, message, Transit::default(), out),
            Input::Injected(request) => rank.injected(now, request, out),
        }
    }
}

/// All ranks of a job after the last event.
pub struct Outcome {
    pub ranks: Vec<Rank>,
    /// All sent messages in order.
    pub sent: Vec<Message>,
    /// All timeline events, with rank and time.
    pub traced: Vec<(u32, Time, TimelineEvent)>,
}

impl Outcome {
    pub fn stats(&self, rank: usize) -> &RankStats {
        self.ranks[rank].stats()
    }

    /// End of the rank in nanoseconds.
    pub fn end_ns(&self, rank: usize) -> u64 {
        let end = self.end(rank).ps();
        assert_eq!(end % 1000, 0);
        end / 1000
    }

    /// End of the rank.
    pub fn end(&self, rank: usize) -> Time {
        self.stats(rank).finished_at.expect("the rank has ended")
    }

    /// Checks that the trace of each rank has no gaps and agrees with its statistics.
    pub fn assert_trace(&self) {
        for (index, rank) in (0..).zip(&self.ranks) {
            let mut traced = RankStats::default();
            let (mut at, mut calls) = (None, BTreeMap::<Call, (u64, Time)>::new());
            for (_, now, event) in self.traced.iter().filter(|(rank, ..)| *rank == index) {
                let TimelineEvent::Activity {
                    what,
                    since,
                    until,
                    blocked,
                } = *event
                else {
                    continue;
                };
                assert_eq!(since, at.unwrap_or(since), "rank {index}");
                assert!(until <= *now && (until == *now || !blocked), "rank {index}");
                traced.started_at.get_or_insert(since);
                at = Some(until);
                match what {
                    TimelineActivity::Compute(_) => traced.compute += until - since,
                    TimelineActivity::Call(call) => {
                        let (count, time) = calls.entry(call).or_default();
                        (*count, *time) = (*count + 1, *time + (until - since));
                    }
                }
            }
            let stats = rank.stats();
            assert_eq!(traced.compute, stats.compute, "rank {index}");
            if at.is_some() && rank.finished() {
                assert_eq!((traced.started_at, at), (stats.started_at, stats.finished_at));
            }
            assert_eq!(calls.len(), stats.calls().len(), "rank {index}");
            for call in stats.calls() {
                let (count, time) = calls[&call.call];
                assert_eq!(time, call.time, "rank {index}: {}", call.call.name());
                // A call may be reported in parts.
                assert!(count >= call.calls, "rank {index}: {}", call.call.name());
            }
        }
        let count_traced =
            |of: fn(&TimelineEvent) -> bool| self.traced.iter().filter(|(.., event)| of(event)).count();
        let asking = |m: &&Message| {
            let asks = [
                MessageKind::Eager,
                MessageKind::RequestToSend,
                MessageKind::Put,
                MessageKind::Get,
            ];
            asks.contains(&{ m.kind })
        };
        let asked = self.sent.iter().filter(asking).count();
        assert_eq!(
            count_traced(|event| matches!(event, TimelineEvent::SendIssued { .. })),
            asked
        );
    }

    /// Checks that all ranks have ended, nothing is left over, and times and messages add up.
    pub fn assert_clean(&self) {
        self.assert_trace();
        let enveloped = |m: &&Message| [MessageKind::Eager, MessageKind::RequestToSend].contains(&{ m.kind });
        let mut sent: Vec<Message> = self.sent.iter().filter(enveloped).copied().collect();
        let matched = self.traced.iter().filter_map(|(rank, _, event)| match event {
            TimelineEvent::ReceiveMatched(message) if message.to == *rank => Some(*message),
            _ => None,
        });
        let mut matched: Vec<Message> = matched.collect();
        let by_place = |m: &Message| (m.from, m.to, m.sequence);
        sent.sort_by_key(by_place);
        matched.sort_by_key(by_place);
        assert_eq!(sent, matched);
        let sum = |of: fn(&RankStats) -> u64| self.ranks.iter().map(|rank| of(rank.stats())).sum::<u64>();
        for rank in &self.ranks {
            assert!(rank.finished(), "{:?}", rank.waiting_for());
            assert_eq!(
                (
                    rank.unexpected_messages(),
                    rank.open_requests(),
                    rank.waiting_for()
                ),
                (0, 0, None)
            );
            let stats = rank.stats();
            let span = stats.finished_at.unwrap() - stats.started_at.unwrap();
            assert_eq!(stats.compute + stats.communication(), span);
        }
        assert_eq!(sum(|s| s.messages_sent), sum(|s| s.messages_received));
        assert_eq!(sum(|s| s.bytes_sent), sum(|s| s.bytes_received));
        assert_eq!(
            sum(|s| s.collective_messages_sent),
            sum(|s| s.collective_messages_received)
        );
        assert_eq!(
            sum(|s| s.collective_bytes_sent),
            sum(|s| s.collective_bytes_received)
        );
    }
}

/// Runs programs in a job with the world as its only communicator.
pub fn run(
    settings: MpiSettings,
    delay: Delay,
    programs: Vec<Vec<Operation>>,
) -> Result<Outcome, ReplayError> {
    let world: Vec<u32> = (0..programs.len() as u32).collect();
    run_in(settings, delay, vec![world], programs)
}

/// Runs programs in a job with these communicators until no event is left.
pub fn run_in(
    settings: MpiSettings,
    delay: Delay,
    communicators: Vec<Vec<u32>>,
    programs: Vec<Vec<Operation>>,
) -> Result<Outcome, ReplayError> {
    run_on_hosts(settings, delay, communicators, |rank| rank, programs)
}

/// The same, with ranks on these hosts. All messages take the same time.
pub fn run_on_hosts(
    settings: MpiSettings,
    delay: Delay,
    communicators: Vec<Vec<u32>>,
    host_of: impl Fn(u32) -> u32,
    programs: Vec<Vec<Operation>>,
) -> Result<Outcome, ReplayError> {
    let job = MpiJob::new(programs.len() as u32, communicators.into(), settings)?;
    drive(
        Arc::new(job.on_hosts(host_of)),
        delay,
        programs,
        |_, rank, now, input, out| input.give(rank, now, out),
    )
}

/// Runs programs until no event is left. `owner` passes each input to its rank, whose number is the first argument.
pub fn drive(
    job: Arc<MpiJob>,
    delay: Delay,
    programs: Vec<Vec<Operation>>,
    owner: impl FnMut(u32, &mut Rank, Time, Input, &mut Vec<Action>) -> Result<(), ReplayError>,
) -> Result<Outcome, ReplayError> {
    let boxed = |program: Vec<Operation>| Box::new(List(program.into_iter())) as Box<dyn Program>;
    let programs = programs.into_iter().map(boxed).collect();
    drive_ranks(job, delay, programs, |_| (), owner)
}

/// Runs programs that read answers in a job with the world as its only communicator.
pub fn run_answering(
    settings: MpiSettings,
    delay: Delay,
    programs: Vec<Box<dyn Program>>,
) -> Result<Outcome, ReplayError> {
    let ranks = programs.len() as u32;
    let job = MpiJob::new(ranks, vec![(0..ranks).collect()].into(), settings)?;
    run_job_answering(Arc::new(job), delay, programs)
}

/// The same in a job.
pub fn run_job_answering(
    job: Arc<MpiJob>,
    delay: Delay,
    programs: Vec<Box<dyn Program>>,
) -> Result<Outcome, ReplayError> {
    drive_ranks(
        job,
        delay,
        programs,
        Rank::set_answering,
        |_, rank, now, input, out| input.give(rank, now, out),
    )
}

fn drive_ranks(
    job: Arc<MpiJob>,
    mut delay: Delay,
    programs: Vec<Box<dyn Program>>,
    prepare: impl Fn(&mut Rank),
    mut owner: impl FnMut(u32, &mut Rank, Time, Input, &mut Vec<Action>) -> Result<(), ReplayError>,
) -> Result<Outcome, ReplayError> {
    let new_rank = |(rank, program): (u32, Box<dyn Program>)| {
        let mut rank = Rank::new(job.clone(), rank, program);
        rank.set_timeline(true);
        prepare(&mut rank);
        rank
    };
    let mut ranks: Vec<Rank> = (0..).zip(programs).map(new_rank).collect();
    let (mut sent, mut traced) = (Vec::new(), Vec::new());
    let mut events: BTreeMap<(Time, u64), (u32, Input)> = (0..ranks.len())
        .map(|rank| ((Time::ZERO, rank as u64), (rank as u32, Input::Start)))
        .collect();
    let mut number = ranks.len() as u64;
    let mut out = Vec::new();
    while let Some(((now, _), (rank, input))) = events.pop_first() {
        owner(rank, &mut ranks[rank as usize], now, input, &mut out)?;
        let mut schedule = |at: Time, rank, input| {
            events.insert((at, number), (rank, input));
            number += 1;
        };
        for action in out.drain(..) {
            match action {
                Action::Send(message) => {
                    assert_eq!({ message.from }, rank);
                    sent.push(message);
                    let (injection, arrival) = delay.of(message.wire_bytes(&job.settings));
                    if message.reports_injection() {
                        schedule(now + injection, rank, Input::Injected(message.request));
                    }
                    schedule(now + arrival, message.to, Input::Arrived(message));
                }
                Action::ResumeAt(at) => {
                    assert!(at > now);
                    schedule(at, rank, Input::Resume);
                }
                Action::Finished => assert!(ranks[rank as usize].finished()),
                Action::RepetitionEnded(_) | Action::Stopped => {}
                Action::Timeline(event) => traced.push((rank, now, event)),
            }
        }
    }
    Ok(Outcome { ranks, sent, traced })
}

/// 10 ns and 20 ns overhead, 4 B control, 2 B header, eager up to 100 B, reductions without time.
pub fn settings() -> MpiSettings {
    MpiSettings {
        eager_threshold: 100,
        reduction_bandwidth: None,
        send_overhead: Time::from_ns(10),
        receive_overhead: Time::from_ns(20),
        control_bytes: 4,
        header_bytes: 2,
        ..MpiSettings::default()
    }
}

/// 1000 ns and 1 ns per byte.
pub fn fixed() -> Delay {
    Delay::Fixed {
        latency: Time::from_ns(1000),
        per_byte: Time::from_ns(1),
    }
}

pub fn compute(ns: u64) -> Operation {
    Operation::Compute {
        ps: ns * 1000,
        region: None,
    }
}

pub fn send_as(call: Call, to: u32, tag: u32, bytes: u64, request: Option<u64>) -> Operation {
    Operation::Send {
        to,
        tag,
        communicator: 0,
        bytes,
        request,
        call,
    }
}

pub fn send(to: u32, tag: u32, bytes: u64) -> Operation {
    send_as(Call::Send, to, tag, bytes, None)
}

pub fn isend(to: u32, tag: u32, bytes: u64, request: u64) -> Operation {
    send_as(Call::Isend, to, tag, bytes, Some(request))
}

pub fn receive(from: Option<u32>, tag: Option<u32>, bytes: u64) -> Operation {
    Operation::Receive {
        from,
        tag,
        communicator: 0,
        bytes,
        request: None,
        call: Call::Recv,
    }
}

pub fn ireceive(from: Option<u32>, tag: Option<u32>, bytes: u64, request: u64) -> Operation {
    Operation::Receive {
        from,
        tag,
        communicator: 0,
        bytes,
        request: Some(request),
        call: Call::Irecv,
    }
}

pub fn wait(requests: &[u64]) -> Operation {
    let call = if requests.len() == 1 {
        Call::Wait
    } else {
        Call::Waitall
    };
    Operation::Wait {
        requests: requests.to_vec(),
        call,
    }
}

pub fn probe(from: Option<u32>, tag: Option<u32>) -> Operation {
    Operation::Probe {
        from,
        tag,
        communicator: 0,
        call: Call::Probe,
    }
}

pub fn put_on(communicator: u32, to: u32, bytes: u64) -> Operation {
    Operation::Put {
        to,
        communicator,
        bytes,
        call: Call::Put,
    }
}

pub fn put(to: u32, bytes: u64) -> Operation {
    put_on(0, to, bytes)
}

pub fn get_on(communicator: u32, from: u32, bytes: u64) -> Operation {
    Operation::Get {
        from,
        communicator,
        bytes,
        call: Call::Get,
    }
}

pub fn get(from: u32, bytes: u64) -> Operation {
    get_on(0, from, bytes)
}

pub fn fence_on(communicator: u32) -> Operation {
    Operation::Fence {
        communicator,
        call: Call::WinFence,
    }
}

pub fn fence() -> Operation {
    fence_on(0)
}

pub fn nonblocking(
    collective: Collective,
    communicator: u32,
    root: u32,
    bytes: u64,
    request: u64,
) -> Operation {
    let call = match collective {
        Collective::Barrier => Call::Ibarrier,
        Collective::Allreduce => Call::Iallreduce,
        _ => Call::Other,
    };
    Operation::Collective {
        collective,
        communicator,
        root,
        bytes,
        counts: None,
        request: Some(request),
        reduction: None,
        call,
    }
}

pub fn collective(collective: Collective, communicator: u32, root: u32, bytes: u64) -> Operation {
    let call = match collective {
        Collective::Barrier => Call::Barrier,
        Collective::Allreduce => Call::Allreduce,
        _ => Call::Other,
    };
    Operation::Collective {
        collective,
        communicator,
        root,
        bytes,
        counts: None,
        request: None,
        reduction: None,
        call,
    }
}
