//! Tests of a NIC port.

use des::Journal;
use proptest::prelude::*;
use routing::Random;

use super::*;
use crate::nic::NIC_ARBITERS;
use crate::reverse_check::{Reversible, UndoRecorder, check, script};
use crate::router::Never;
use crate::{Measured, PacketFate, Rate, TrafficClasses};

/// Random numbers, which the model does not draw.
struct Undrawn;

impl Random for Undrawn {
    fn below(&mut self, _: u32) -> u32 {
        unreachable!("the model draws nothing")
    }
}

const NO_MEMORY: QueuedNicParameters = QueuedNicParameters {
    memory: None,
    pairs: None,
};

/// A port with one traffic class and a link of 8 Gbps: 1000 ps per byte.
fn setup(format: PacketFormat, credits: u32, arbiter: NicArbiter) -> NicSetup {
    NicSetup {
        end_point: HostId(0),
        rate: Rate::bits_per_s(8_000_000_000),
        ejection: Rate::bits_per_s(8_000_000_000),
        format,
        credits,
        flits: None,
        pipeline: Time::ZERO,
        arbiter,
        traffic_classes: TrafficClasses::one(1),
        measured: Measured::after(Time::ZERO),
    }
}

#[derive(Default)]
struct Out {
    departed: Vec<(u32, u32)>,
    vcs: Vec<u8>,
    wake: Option<Time>,
    injected: Vec<(char, Time)>,
    consumed: u32,
    /// Destinations of acknowledgements, and whether they have the mark.
    controls: Vec<(HostId, bool)>,
}

impl Journal<QueuedNicUndo<char>> for Out {
    const KEPT: bool = false;
    fn keep(&mut self, _: QueuedNicUndo<char>) {}
}

impl NicOutputs<QueuedNic<char>> for Out {
    fn depart(&mut self, vc: u8, packet: Packet, _: NicSource, _: Time, _: Time, _: bool) {
        self.vcs.push(vc);
        if packet.is_control() {
            self.controls
                .push((packet.destination, packet.sequence == 1 << 15));
        }
        self.departed.push((packet.message, packet.bytes));
    }
    fn timer(&mut self, _: QueuedNicTimer, after: Time) {
        assert!(self.wake.replace(after).is_none(), "one wake-up at a time");
    }
    fn signal(&mut self, signal: Never, _: Time) {
        match signal {}
    }
    fn random(&mut self) -> impl Random {
        Undrawn
    }
    fn fate(&mut self, _: &Packet, fate: PacketFate) {
        assert_eq!(fate, PacketFate::Consumed);
        self.consumed += 1;
    }
    fn injected(&mut self, report: char, after: Time) {
        self.injected.push((report, after));
    }
}

fn message(number: u32, bytes: u64, report: char) -> Outgoing<char> {
    Outgoing {
        destination: HostId(9),
        number,
        bytes,
        job: 0,
        source: 0,
        traffic_class: 0,
        standalone: false,
        report: Some(report),
    }
}

/// A message of another source.
fn of((job, source): (u16, u16), number: u32, bytes: u64) -> Outgoing<char> {
    Outgoing {
        job,
        source,
        ..message(number, bytes, 'x')
    }
}

fn nic(credits: u32) -> QueuedNic<char> {
    arbitrated(NicArbiter::RoundRobin, credits)
}

fn arbitrated(arbiter: NicArbiter, credits: u32) -> QueuedNic<char> {
    QueuedNic::new(
        &setup(PacketFormat::without_header(100), credits, arbiter),
        NO_MEMORY,
    )
}

/// Number and bytes of each packet, if all messages are handed over at time 0.
fn departures(arbiter: NicArbiter, messages: &[Outgoing<char>]) -> Vec<(u32, u32)> {
    let (mut nic, mut out) = (arbitrated(arbiter, u32::MAX), Out::default());
    for message in messages {
        nic.send((Time(0), Time(0)), message, &mut out);
    }
    let mut now = Time(0);
    while let Some(after) = out.wake.take() {
        now += after;
        nic.timer(now, QueuedNicTimer::Free, &mut out);
    }
    assert_eq!(nic.backlog(), 0);
    assert!(nic.is_clear());
    out.departed
}

/// Bytes of each job among the first packets of `total` bytes.
fn shares(arbiter: NicArbiter, messages: &[Outgoing<char>], total: u32) -> Vec<u32> {
    let mut shares = vec![
        0;
        1 + messages
            .iter()
            .map(|message| usize::from(message.job))
            .max()
            .unwrap()
    ];
    let mut left = total;
    for (number, bytes) in departures(arbiter, messages) {
        let job = messages
            .iter()
            .find(|message| message.number == number)
            .unwrap()
            .job;
        shares[usize::from(job)] += bytes.min(left);
        left -= bytes.min(left);
    }
    shares
}

#[test]
fn messages_alternate_and_report_their_end() {
    let (mut nic, mut out) = (nic(10_000), Out::default());
    nic.send((Time(0), Time(0)), &message(0, 250, 'a'), &mut out);
    nic.send((Time(0), Time(0)), &message(1, 120, 'b'), &mut out);
    let mut now = Time(0);
    while let Some(after) = out.wake.take() {
        now += after;
        nic.timer(now, QueuedNicTimer::Free, &mut out);
    }
    assert_eq!(out.departed, [(0, 100), (0, 100), (1, 100), (0, 50), (1, 20)]);
    assert_eq!(out.injected, [('a', Time(50_000)), ('b', Time(20_000))]);
    assert_eq!(nic.used(Time(370_000)).busy, Time(370_000));
    assert_eq!(nic.used(Time(360_000)).busy, Time(360_000), "clipped at the end");
}

#[test]
fn sources_take_turns_and_the_messages_of_a_source_alternate() {
    // Rank 1 has two messages, rank 2 and the traffic of another job one each.
    let messages = [
        of((0, 1), 10, 200),
        of((0, 1), 11, 200),
        of((0, 2), 20, 300),
        of((1, 1), 30, 150),
    ];
    let order = |arbiter| -> Vec<u32> {
        let departures = departures(arbiter, &messages);
        departures.into_iter().map(|(number, _)| number).collect()
    };
    // The first packet leaves before the others are there. The first turn begins when there is a second source.
    let by_source = [10, 10, 20, 30, 11, 20, 30, 11, 20];
    assert_eq!(order(NicArbiter::RoundRobin), by_source);
    assert_eq!(order(NicArbiter::ByMessage), [10, 10, 11, 20, 30, 11, 20, 30, 20]);
}

#[test]
fn a_source_with_many_messages_has_the_share_of_one() {
    // One large message of a rank beside a hundred of a job's traffic.
    let mut messages = vec![of((0, 0), 0, 20_000)];
    messages.extend((1..=100).map(|number| of((1, 0), number, 1_000)));
    for arbiter in [NicArbiter::RoundRobin, NicArbiter::DeficitRoundRobin] {
        assert_eq!(
            shares(arbiter, &messages, 40_000),
            [20_000, 20_000],
            "{arbiter:?}"
        );
    }
    let by_message = shares(NicArbiter::ByMessage, &messages, 40_000);
    assert!(by_message[0] < 600, "1 of 101: {by_message:?}");
}

#[test]
fn three_ranks_get_a_third_each() {
    let rank = |rank: u16| of((rank, 0), u32::from(rank), 30_000);
    for arbiter in [NicArbiter::RoundRobin, NicArbiter::DeficitRoundRobin] {
        let ranks = shares(arbiter, &[rank(0), rank(1), rank(2)], 45_000);
        assert!(
            ranks.iter().all(|bytes| bytes.abs_diff(15_000) <= 100),
            "to one packet: {arbiter:?} {ranks:?}"
        );
    }
}

#[test]
fn small_packets_share_by_packets_or_by_bytes() {
    // Packets of 25 and of 100 bytes.
    let mut messages: Vec<_> = (0..400).map(|number| of((0, 0), number, 25)).collect();
    messages.push(of((1, 0), 1_000, 10_000));
    let by_packets = shares(NicArbiter::RoundRobin, &messages, 5_000);
    assert!(by_packets[0].abs_diff(1_000) <= 50, "{by_packets:?}");
    let by_bytes = shares(NicArbiter::DeficitRoundRobin, &messages, 5_000);
    assert!(by_bytes[0].abs_diff(2_500) <= 100, "to one packet: {by_bytes:?}");
}

#[test]
fn a_deficit_lasts_until_the_next_turn() {
    // Packets of 60 and 100 bytes: with a quantum of 100, turns have 60, 120, 120, 60 + 60... bytes.
    let mut messages: Vec<_> = (0..200).map(|number| of((0, 0), number, 60)).collect();
    messages.push(of((1, 0), 1_000, 10_000));
    let by_bytes = shares(NicArbiter::DeficitRoundRobin, &messages, 12_000);
    assert!(by_bytes[0].abs_diff(6_000) <= 100, "to one packet: {by_bytes:?}");
    let by_packets = shares(NicArbiter::RoundRobin, &messages, 12_800);
    assert!(by_packets[0].abs_diff(4_800) <= 60, "{by_packets:?}");
}

#[test]
fn without_credit_nothing_leaves_and_the_wait_is_counted() {
    let (mut nic, mut out) = (nic(150), Out::default());
    nic.send((Time(0), Time(0)), &message(0, 200, 'a'), &mut out);
    let after = out.wake.take().unwrap();
    nic.timer(after, QueuedNicTimer::Free, &mut out);
    assert_eq!((out.departed.len(), nic.credits(0), nic.backlog()), (1, 50, 100));
    nic.credit(Time(130_000), 0, 100, &mut out);
    assert_eq!((out.departed.len(), nic.credits(0), nic.backlog()), (2, 50, 0));
    assert_eq!(nic.used(Time(500_000)).buffer_full, Time(30_000));
}

/// As large as the identifier of a request in the layer above.
type Report = (u16, u32);

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Send(Outgoing<Report>),
    /// May come without a pending timer.
    Timer,
    /// May be for a packet that was never sent.
    Credit(u8, u32),
    /// A packet of this size arrives.
    Arrived(u32),
    /// A packet of this payload is acknowledged, by this end point, with a mark or without one. It may never have left.
    Acknowledged(u32, u32, bool),
    /// It may be another packet than those that arrived.
    Stored(u32),
}

#[derive(Debug, PartialEq)]
pub(crate) enum Output {
    Depart(Packet, Time, bool),
    Timer(Time),
    Injected(Report, Time),
    Delivered(Option<Packet>),
    Backlog(u64),
    Fate(Packet, PacketFate),
}

impl<const KEPT: bool> NicOutputs<QueuedNic<Report>> for UndoRecorder<QueuedNicUndo<Report>, Output, KEPT> {
    fn depart(&mut self, _: u8, packet: Packet, _: NicSource, _: Time, serialization: Time, last: bool) {
        self.outputs.push(Output::Depart(packet, serialization, last));
    }
    fn timer(&mut self, _: QueuedNicTimer, after: Time) {
        self.outputs.push(Output::Timer(after));
    }
    fn signal(&mut self, signal: Never, _: Time) {
        match signal {}
    }
    fn random(&mut self) -> impl Random {
        Undrawn
    }
    fn fate(&mut self, packet: &Packet, fate: PacketFate) {
        self.outputs.push(Output::Fate(*packet, fate));
    }
    fn injected(&mut self, report: Report, after: Time) {
        self.outputs.push(Output::Injected(report, after));
    }
}

fn incoming(bytes: u32) -> Packet {
    Packet::new(HostId(4), HostId(0), 0, bytes, Time(0), 0)
}

/// A NIC under the reverse check. Without classes all messages have the only one. With the arbiter `in-order` it has a
/// way into memory.
struct Subject<
    const ARBITER: usize,
    const HEADER: u32,
    const CLASSES: usize,
    const COPIES: u8,
    const PAIRS: bool,
>(QueuedNic<Report>);

impl<const ARBITER: usize, const HEADER: u32, const CLASSES: usize, const COPIES: u8, const PAIRS: bool>
    Subject<ARBITER, HEADER, CLASSES, COPIES, PAIRS>
{
    fn assert_backlog(&self) {
        let state = self.0.state();
        let mut all = 0;
        for (class, of_class) in (0..).zip(&state.classes) {
            let others = of_class.others.iter().flat_map(|other| &other.messages);
            let left = of_class.queue.iter().chain(others).map(|q| q.left).sum::<u64>();
            assert_eq!(self.0.backlog_of(class), left);
            all += left;
        }
        assert_eq!(self.0.backlog(), all);
    }
}

impl<const ARBITER: usize, const HEADER: u32, const CLASSES: usize, const COPIES: u8, const PAIRS: bool>
    Reversible for Subject<ARBITER, HEADER, CLASSES, COPIES, PAIRS>
{
    type Op = Op;
    type Step = QueuedNicUndo<Report>;
    type Output = Output;
    type State = QueuedNicState<Report>;

    fn fresh() -> Self {
        let arbiter = NicArbiter::named(NIC_ARBITERS[ARBITER]);
        let measured = Measured {
            from: Time(1_000_000),
            until: Time(2_000_000),
        };
        let format = PacketFormat {
            payload: 100,
            header: HEADER,
        };
        let classes = [(3, 0), (1, 1), (1, 0)];
        let setup = NicSetup {
            traffic_classes: TrafficClasses::new((2, COPIES), &classes[..CLASSES]).unwrap(),
            measured,
            ..setup(format, 250, arbiter)
        };
        let memory = (arbiter == NicArbiter::InOrder).then(|| Rate::bits_per_s(4_000_000_000));
        let pairs = PAIRS.then_some(PairControl {
            window: 250,
            threshold: Time::ZERO,
        });
        Subject(QueuedNic::new(&setup, QueuedNicParameters { memory, pairs }))
    }

    fn apply<const KEPT: bool>(
        &mut self,
        now: Time,
        op: &Op,
        out: &mut UndoRecorder<QueuedNicUndo<Report>, Output, KEPT>,
    ) {
        match *op {
            Op::Send(message) => {
                let message = Outgoing {
                    traffic_class: message.traffic_class % CLASSES as u8,
                    // Few destinations, so that windows close.
                    destination: match PAIRS {
                        true => HostId(message.destination.0 % 3),
                        false => message.destination,
                    },
                    ..message
                };
                self.0.send((now, now), &message, out);
            }
            Op::Timer => assert!(self.0.timer(now, QueuedNicTimer::Free, out).is_none()),
            Op::Arrived(bytes) => {
                let delivered = self.0.arrived(now, incoming(bytes), out);
                out.outputs.push(Output::Delivered(delivered));
            }
            Op::Acknowledged(from, bytes, marked) if PAIRS => {
                let mut packet = Packet::new(HostId(from), HostId(0), bytes, 1, Time(0), 0);
                packet.set_control();
                packet.sequence = u16::from(marked) << 15;
                let delivered = self.0.arrived(now, packet, out);
                out.outputs.push(Output::Delivered(delivered));
            }
            Op::Acknowledged(..) => {}
            Op::Stored(bytes) => {
                let packet = incoming(bytes);
                assert_eq!(
                    self.0.timer(now, QueuedNicTimer::Stored(packet), out),
                    Some(packet)
                );
            }
            Op::Credit(number, bytes) => {
                let (class, copy) = (number % CLASSES as u8, number / 3 % COPIES);
                self.0.credit(now, class * 2 * COPIES + copy, bytes, out);
            }
        }
        self.assert_backlog();
        out.outputs.push(Output::Backlog(self.0.backlog()));
    }

    fn undo(&mut self, step: QueuedNicUndo<Report>) {
        self.0.undo(step);
        self.assert_backlog();
    }
    fn state(&self) -> QueuedNicState<Report> {
        self.0.state()
    }
    fn restore(&mut self, state: QueuedNicState<Report>) -> Result<(), String> {
        self.0.restore(state)
    }
}

fn op() -> impl Strategy<Value = Op> {
    let message = (
        any::<u32>(),
        any::<u32>(),
        0u64..350,
        prop_oneof![4 => (0u16..2, 0u16..3), 1 => any::<(u16, u16)>()],
        (0u8..3, any::<bool>()),
        any::<Option<Report>>(),
    );
    let send = message.prop_map(
        |(destination, number, bytes, (job, source), (traffic_class, standalone), report)| {
            Op::Send(Outgoing {
                destination: HostId(destination),
                number,
                bytes,
                job,
                source,
                traffic_class,
                standalone,
                report,
            })
        },
    );
    prop_oneof![
        3 => send,
        5 => Just(Op::Timer),
        4 => (0u8..9, 0u32..200).prop_map(|(number, bytes)| Op::Credit(number, bytes)),
        1 => (0u8..9, any::<u32>()).prop_map(|(number, bytes)| Op::Credit(number, bytes)),
        2 => (1u32..150).prop_map(Op::Arrived),
        1 => (1u32..150).prop_map(Op::Stored),
        3 => (0u32..3, 1u32..101, any::<bool>())
            .prop_map(|(from, bytes, marked)| Op::Acknowledged(from, bytes, marked)),
    ]
}

proptest! {
    #[test]
    fn every_input_can_be_undone_and_saved(script in script(op(), 150_000)) {
        check::<Subject<0, 0, 1, 1, false>>(&script)?;
        check::<Subject<1, 0, 1, 1, false>>(&script)?;
        check::<Subject<2, 0, 1, 1, false>>(&script)?;
        check::<Subject<0, 30, 1, 1, false>>(&script)?;
        check::<Subject<1, 30, 1, 1, false>>(&script)?;
        check::<Subject<2, 30, 1, 1, false>>(&script)?;
        check::<Subject<3, 0, 1, 1, false>>(&script)?;
    }

    #[test]
    fn every_input_can_be_undone_and_saved_with_congestion_control(script in script(op(), 150_000)) {
        check::<Subject<0, 0, 1, 1, true>>(&script)?;
        check::<Subject<0, 30, 1, 1, true>>(&script)?;
        check::<Subject<2, 30, 1, 1, true>>(&script)?;
        check::<Subject<3, 30, 1, 1, true>>(&script)?;
    }

    #[test]
    fn every_input_can_be_undone_and_saved_with_traffic_classes(script in script(op(), 150_000)) {
        check::<Subject<0, 0, 3, 1, false>>(&script)?;
        check::<Subject<1, 30, 3, 1, false>>(&script)?;
        check::<Subject<2, 0, 3, 1, false>>(&script)?;
        check::<Subject<1, 0, 2, 1, false>>(&script)?;
        check::<Subject<1, 0, 1, 2, false>>(&script)?;
        check::<Subject<2, 30, 2, 3, false>>(&script)?;
        check::<Subject<3, 30, 2, 3, false>>(&script)?;
    }
}

/// With two copies of the VC, packets go to the copy with most credits, and wait only if neither has enough.
#[test]
fn packets_go_to_the_copy_of_the_vc_with_most_credits() {
    let setup = NicSetup {
        traffic_classes: TrafficClasses::new((3, 2), &[(1, 0)]).unwrap(),
        ..setup(PacketFormat::without_header(100), 150, NicArbiter::RoundRobin)
    };
    let mut nic = QueuedNic::new(&setup, NO_MEMORY);
    let mut out = Out::default();
    nic.send((Time(0), Time(0)), &message(0, 300, 'a'), &mut out);
    assert_eq!((nic.credits(0), nic.credits(1)), (50, 150));
    assert_eq!(nic.class_view(0).credits, 200);
    assert_eq!(out.wake.take(), Some(Time(100_000)));
    nic.timer(Time(100_000), QueuedNicTimer::Free, &mut out);
    assert_eq!((nic.credits(0), nic.credits(1)), (50, 50));
    // The third packet waits for credits of either copy.
    out.wake = None;
    nic.timer(Time(200_000), QueuedNicTimer::Free, &mut out);
    assert_eq!((nic.backlog(), nic.is_active(Time(200_000))), (100, true));
    nic.credit(Time(250_000), 1, 100, &mut out);
    assert_eq!((nic.backlog(), nic.credits(0), nic.credits(1)), (0, 50, 50));
    assert_eq!(out.vcs, [0, 1, 1]);
    let mut restored = QueuedNic::new(&setup, NO_MEMORY);
    restored.restore(nic.state()).unwrap();
    assert_eq!(restored.state(), nic.state());
    let other = QueuedNic::<char>::new(
        &NicSetup {
            traffic_classes: TrafficClasses::one(3),
            ..setup
        },
        NO_MEMORY,
    );
    assert!(
        restored
            .restore(other.state())
            .unwrap_err()
            .contains("other traffic classes")
    );
}

/// Every packet has the header, the last and shortest one, too: on the link, and of the credits. What waits counts
/// without headers.
#[test]
fn packets_have_their_header_on_the_link_and_of_the_credits() {
    let format = PacketFormat {
        payload: 100,
        header: 30,
    };
    let mut nic = QueuedNic::new(&setup(format, 265, NicArbiter::RoundRobin), NO_MEMORY);
    let mut out = Out::default();
    nic.send((Time(0), Time(0)), &message(0, 205, 'a'), &mut out);
    assert_eq!((nic.backlog(), nic.credits(0)), (105, 135));
    assert_eq!(out.wake.take(), Some(Time(130_000)));
    nic.timer(Time(130_000), QueuedNicTimer::Free, &mut out);
    assert_eq!((nic.backlog(), nic.credits(0)), (5, 5));
    assert_eq!(out.wake.take(), Some(Time(130_000)));
    nic.timer(Time(260_000), QueuedNicTimer::Free, &mut out);
    assert_eq!(nic.credits(0), 5, "35 bytes need more credits");
    nic.credit(Time(261_000), 0, 29, &mut out);
    assert_eq!(nic.credits(0), 34);
    nic.credit(Time(262_000), 0, 1, &mut out);
    assert_eq!((nic.backlog(), nic.credits(0)), (0, 0));
    assert_eq!(out.departed, [(0, 130), (0, 130), (0, 35)]);
    let used = nic.used(Time(1_000_000));
    assert_eq!((used.bytes, used.busy), (295, Time(295_000)));
}

/// Deficit round robin shares the link by bytes on the link: short packets of the one source have more headers.
#[test]
fn deficits_count_headers() {
    let format = PacketFormat {
        payload: 100,
        header: 100,
    };
    let setup = setup(format, u32::MAX, NicArbiter::DeficitRoundRobin);
    let (mut nic, mut out) = (QueuedNic::new(&setup, NO_MEMORY), Out::default());
    for number in 0..40 {
        nic.send((Time(0), Time(0)), &of((0, 0), 100 + number, 20), &mut out);
        nic.send((Time(0), Time(0)), &of((1, 0), number, 100), &mut out);
    }
    let mut now = Time(0);
    for _ in 0..30 {
        now += out.wake.take().unwrap();
        nic.timer(now, QueuedNicTimer::Free, &mut out);
    }
    let on_link = |short: bool| -> u32 {
        let packets = out
            .departed
            .iter()
            .filter(|(number, _)| (*number >= 100) == short);
        packets.map(|(_, bytes)| bytes).sum()
    };
    let (short, long) = (on_link(true), on_link(false));
    assert!(short.abs_diff(long) <= 200, "{short} and {long}");
}

#[test]
fn a_state_that_contradicts_itself_is_refused() {
    let (mut fresh, mut out) = (nic(150), Out::default());
    let mut state = fresh.state();
    state.blocked_since = Some(Time(5));
    let error = fresh.restore(state).unwrap_err();
    assert!(error.contains("nothing to send"), "{error}");
    let mut state = fresh.state();
    state.classes[0].others.push(SourceQueue {
        of_job: 0,
        deficit: 0,
        messages: VecDeque::new(),
    });
    let error = fresh.restore(state).unwrap_err();
    assert!(error.contains("without messages"), "{error}");
    fresh.send((Time(0), Time(0)), &message(0, 200, 'a'), &mut out);
    assert_eq!(out.departed, [(0, 100)]);
}

/// Messages in order, whatever their sources; the others alternate.
#[test]
fn in_order_a_message_leaves_before_the_next_one() {
    let messages = [of((0, 0), 0, 250), of((0, 1), 1, 150), of((0, 0), 2, 100)];
    let numbers = |arbiter| -> Vec<u32> {
        let departed = departures(arbiter, &messages);
        departed.into_iter().map(|(number, _)| number).collect()
    };
    assert_eq!(numbers(NicArbiter::InOrder), [0, 0, 0, 1, 1, 2]);
    // The first packet leaves before the other messages come.
    assert_eq!(numbers(NicArbiter::ByMessage), [0, 0, 1, 2, 0, 1]);
}

/// Two packets of 100 B arrive every 100 ns, and take 200 ns each on their way into memory.
#[test]
fn packets_queue_on_their_way_into_memory() {
    let memory = Some(Rate::bits_per_s(4_000_000_000));
    let setup = setup(PacketFormat::without_header(100), 250, NicArbiter::RoundRobin);
    let mut nic: QueuedNic<char> = QueuedNic::new(&setup, QueuedNicParameters { memory, pairs: None });
    let mut out = Out::default();
    let mut delays = Vec::new();
    for now in [100_000, 200_000, 900_000] {
        assert_eq!(nic.arrived(Time(now), incoming(100), &mut out), None);
        delays.push(out.wake.take().unwrap().ps());
    }
    // Heads arrive at 0, 100 and 800 ns.
    assert_eq!(delays, [100_000, 200_000, 100_000]);
    assert_eq!(nic.held_packets(), 3);
    let stored = QueuedNicTimer::Stored(incoming(100));
    assert_eq!(nic.timer(Time(1_000_000), stored, &mut out), Some(incoming(100)));
    assert_eq!(nic.held_packets(), 2);
    let none = QueuedNic::<char>::capabilities(NO_MEMORY);
    assert!(none.accepts_every_arrival && !none.needs_arrivals);
    let some = QueuedNic::<char>::capabilities(QueuedNicParameters { memory, pairs: None });
    assert!(!some.accepts_every_arrival && some.needs_arrivals);
}

/// A port with windows of two packets of 100 B, without headers.
fn with_windows(arbiter: NicArbiter) -> QueuedNic<char> {
    let setup = setup(PacketFormat::without_header(100), u32::MAX, arbiter);
    let pairs = PairControl {
        window: 200,
        threshold: Time::ZERO,
    };
    let parameters = QueuedNicParameters {
        pairs: Some(pairs),
        ..NO_MEMORY
    };
    QueuedNic::new(&setup, parameters)
}

/// Expires the timer, as often as one is set.
fn run_timers(nic: &mut QueuedNic<char>, now: &mut Time, out: &mut Out) {
    while let Some(after) = out.wake.take() {
        *now += after;
        nic.timer(*now, QueuedNicTimer::Free, out);
    }
}

fn acknowledgement(from: HostId) -> Packet {
    let mut packet = Packet::new(from, HostId(0), 100, 1, Time(0), 0);
    packet.set_control();
    packet
}

/// With full windows to one end point, messages to another one go on, and those of other sources. Acknowledgements open
/// the window again, and the packets of a pair keep their order.
#[test]
fn closed_windows_hold_up_their_own_pair_only() {
    for arbiter in [NicArbiter::RoundRobin, NicArbiter::ByMessage, NicArbiter::InOrder] {
        let (mut nic, mut out, mut now) = (with_windows(arbiter), Out::default(), Time(0));
        let to = |destination, source, number| Outgoing {
            destination: HostId(destination),
            source,
            ..message(number, 300, 'a')
        };
        for message in [to(8, 0, 0), to(8, 0, 1), to(9, 0, 2), to(9, 1, 3), to(7, 1, 4)] {
            nic.send((now, now), &message, &mut out);
        }
        run_timers(&mut nic, &mut now, &mut out);
        let departed = |out: &Out, numbers: &[u32]| {
            let packets = out.departed.iter();
            packets.filter(|(number, _)| numbers.contains(number)).count()
        };
        let count = |out: &Out| {
            [
                departed(out, &[0, 1]),
                departed(out, &[2, 3]),
                departed(out, &[4]),
            ]
        };
        assert_eq!(count(&out), [2, 2, 2], "{arbiter:?}");
        assert!(!nic.is_active(now), "no packet lacks credits");
        for _ in 0..4 {
            assert_eq!(nic.arrived(now, acknowledgement(HostId(8)), &mut out), None);
            run_timers(&mut nic, &mut now, &mut out);
        }
        assert_eq!(count(&out), [6, 2, 2], "{arbiter:?}");
        assert_eq!(nic.backlog(), 400 + 100);
        assert_eq!(out.consumed, 4);
    }
}

/// A packet is acknowledged before packets of messages leave, to its sender, with its payload and its mark.
#[test]
fn arrivals_are_acknowledged_first() {
    let (mut nic, mut out, mut now) = (with_windows(NicArbiter::RoundRobin), Out::default(), Time(0));
    nic.send((now, now), &message(0, 200, 'a'), &mut out);
    let mut marked = incoming(60);
    marked.set_mark(1);
    for packet in [incoming(50), marked] {
        assert_eq!(nic.arrived(now, packet, &mut out), Some(packet));
    }
    run_timers(&mut nic, &mut now, &mut out);
    // Without headers an acknowledgement is one byte.
    assert_eq!(out.departed, [(0, 100), (50, 1), (60, 1), (0, 100)]);
    assert_eq!(out.controls, [(HostId(4), false), (HostId(4), true)]);
    // The last packet starts after the first one and both acknowledgements.
    assert_eq!(now, Time(102_000));
}
