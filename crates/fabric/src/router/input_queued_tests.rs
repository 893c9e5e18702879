use super::*;
use crate::reverse_check::{Reversible, check, script};
use crate::router::bench::{self, RecordedOutput, RouterRecorder, credits, packets, ports, setup};
use proptest::prelude::*;
use routing::{Hop, LoadQuantity, LoadScope, Routing};
use topology::HostId;

type Bench = bench::Bench<InputQueuedRouter>;

/// Bytes of the largest packet.
const LARGEST: u32 = 200;

/// Sends a packet to the port that its destination names. Its source names the VC and the claim, which is reduced
/// if credits are missing. Draws a random number and changes the routing state.
struct Explicit {
    vcs: u8,
}

const EXPLICIT: RoutingContext<'static> = RoutingContext {
    routing: &Explicit { vcs: 2 },
    loads: &[],
};

/// With two traffic classes of one VC each.
const OF_CLASSES: RoutingContext<'static> = RoutingContext {
    routing: &Explicit { vcs: 1 },
    loads: &[],
};

fn seen(router: &InputQueuedRouter, bytes: u32) -> InputQueuedCongestion<'_> {
    seen_at(Time::ZERO, router, bytes)
}

fn seen_at(now: Time, router: &InputQueuedRouter, bytes: u32) -> InputQueuedCongestion<'_> {
    let context = &EXPLICIT;
    InputQueuedCongestion {
        router,
        now,
        bytes,
        class: 0,
        context,
    }
}

fn source(vc: u32, claim: BufferClaim) -> HostId {
    HostId(vc + 2 * claim as u32)
}

impl Routing for Explicit {
    fn vcs(&self) -> u8 {
        self.vcs
    }
    fn route(&self, at: At, state: &mut RouteState, seen: &dyn Congestion, random: &mut dyn Random) -> Hop {
        state.path = random.below(7) as u16;
        state.phase = state.phase.wrapping_add(1);
        assert!(at.vc < self.vcs, "routing sees the VCs of one traffic class");
        let (port, vc) = (
            Port((at.destination.0 % 4) as u16),
            (at.source.0 % 2) as u8 % self.vcs,
        );
        let claim = match at.source.0 / 2 % 3 {
            0 => BufferClaim::Credit,
            1 if seen.free_space(port, vc) >= u64::from(LARGEST) => BufferClaim::Reserved,
            1 => BufferClaim::Credit,
            _ => BufferClaim::Bubble,
        };
        Hop { port, vc, claim }
    }
    fn options(&self, _: At, _: RouteState, _: &mut Vec<(Hop, RouteState)>) {
        unreachable!("no proof is asked for")
    }
}

fn router(credits: u32, arbiter: Arbiter) -> InputQueuedRouter {
    let parameters = Parameters {
        arbiter,
        ..Parameters::default()
    };
    router_of(credits, parameters)
}

fn router_of(credits: u32, parameters: Parameters) -> InputQueuedRouter {
    InputQueuedRouter::new(&setup(&ports(credits), LARGEST, false), parameters)
}

/// A router with two traffic classes of one VC each.
fn of_classes(credits: u32, parameters: Parameters, classes: &[(u8, u8)]) -> InputQueuedRouter {
    with(credits, parameters, TrafficClasses::new((1, 1), classes))
}

/// A router with two copies of the only VC of routing.
fn of_copies(credits: u32, parameters: Parameters) -> InputQueuedRouter {
    with(credits, parameters, TrafficClasses::new((1, 2), &[(1, 0)]))
}

fn with(credits: u32, parameters: Parameters, classes: Result<TrafficClasses, String>) -> InputQueuedRouter {
    let ports = ports(credits);
    let setup = RouterSetup {
        traffic_classes: classes.expect("two VCs"),
        ..setup(&ports, LARGEST, false)
    };
    InputQueuedRouter::new(&setup, parameters)
}

/// A crossbar twice as fast as the links.
fn twice(arbiter: Arbiter, output_buffer: Option<u32>) -> Parameters {
    Parameters {
        arbiter,
        speedup: Speedup::new(2.0).unwrap(),
        output_buffer,
    }
}

impl Bench {
    fn new(credits: u32) -> Bench {
        Bench::with(credits, Arbiter::RoundRobin)
    }

    fn with(credits: u32, arbiter: Arbiter) -> Bench {
        Bench::of(router(credits, arbiter), EXPLICIT)
    }

    fn twice(credits: u32, output_buffer: Option<u32>) -> Bench {
        let parameters = twice(Arbiter::RoundRobin, output_buffer);
        Bench::of(router_of(credits, parameters), EXPLICIT)
    }

    /// A packet to VC 0 of an output arrives on VC 0.
    fn arrive(&mut self, at: u64, input: u16, output: u32, bytes: u32) {
        self.arrive_on(at, (input, 0), (output, source(0, BufferClaim::Credit)), bytes);
    }

    /// The packet's message has the number of its input.
    fn arrive_on(&mut self, at: u64, (input, vc): (u16, u8), to: (u32, HostId), bytes: u32) {
        self.until(Time(at));
        let packet = Packet::new(to.1, HostId(to.0), input.into(), bytes, Time(at), 0);
        let arrival = Arrival { input, vc, packet };
        self.router
            .arrived(self.now, arrival, &self.context(), &mut self.outputs);
    }

    fn context(&self) -> RoutingContext<'static> {
        match self.router.traffic_classes.has_routing_vcs_only() {
            true => EXPLICIT,
            false => OF_CLASSES,
        }
    }

    fn starts(&self) -> Vec<(u64, u16)> {
        self.outputs.departed.iter().map(|d| (d.0, d.1)).collect()
    }
}

#[test]
fn the_first_of_a_queue_holds_up_those_behind_it_though_their_output_is_free() {
    let mut bench = Bench::new(1_000_000);
    bench.arrive(0, 1, 2, 100);
    bench.arrive(0, 0, 2, 100);
    bench.arrive(0, 0, 1, 100);
    bench.until(Time(1_000_000));
    // Input 0's second packet is alone at output 1, and waits until the first has left.
    assert_eq!(bench.starts(), [(0, 2), (100_000, 2), (200_000, 1)]);
    assert_eq!(bench.buffered(), 0);
}

#[test]
fn an_input_sends_one_packet_at_a_time_whatever_the_channels() {
    let mut bench = Bench::new(1_000_000);
    bench.arrive_on(0, (0, 0), (1, source(0, BufferClaim::Credit)), 100);
    bench.arrive_on(0, (0, 1), (2, source(0, BufferClaim::Credit)), 100);
    bench.until(Time(1_000_000));
    assert_eq!(bench.starts(), [(0, 1), (100_000, 2)]);
}

#[test]
fn a_saturated_link_carries_exactly_its_bandwidth() {
    let mut bench = Bench::new(1_000_000);
    for i in 0..100 {
        bench.arrive(i * 60_000, 0, 2, 100);
        bench.arrive(i * 60_000, 1, 2, 100);
    }
    bench.until(Time(20_000_000));
    let starts: Vec<u64> = bench.outputs.departed.iter().map(|d| d.0).collect();
    assert_eq!(starts, (0..200).map(|i| i * 100_000).collect::<Vec<_>>());
    let used = bench.router.used(2, Time(10_000_000));
    assert_eq!(
        (used.busy, used.packets),
        (Time(10_000_000), 200),
        "busy all the time, not more"
    );
    assert_eq!(used.buffer_full, Time::ZERO);
}

#[test]
fn round_robin_alternates_and_random_is_even() {
    let shares = |arbiter| {
        let mut bench = Bench::with(1_000_000, arbiter);
        for _ in 0..600 {
            for input in [0, 1, 3] {
                bench.arrive(0, input, 2, 100);
            }
        }
        bench.until(Time(60_000_000));
        let order: Vec<u32> = bench.outputs.packets.iter().map(|p| p.message).collect();
        let share = |input| order.iter().filter(|i| **i == input).count();
        (order[..7].to_vec(), [share(0), share(1), share(3)])
    };
    let (order, share) = shares(Arbiter::RoundRobin);
    assert_eq!(order, [0, 1, 3, 0, 1, 3, 0]);
    assert!(share.iter().all(|n| n.abs_diff(200) <= 1), "{share:?}");
    let (order, share) = shares(Arbiter::Random);
    assert_ne!(order, [0, 1, 3, 0, 1, 3, 0]);
    // Four standard deviations of a third of 600.
    assert!(share.iter().all(|n| n.abs_diff(200) <= 46), "{share:?}");
}

/// Slots as in Karol's model: packets whose tails leave together compete together, whatever the order of their
/// events.
#[test]
fn all_tails_of_a_moment_are_gone_before_an_output_chooses() {
    let mut bench = Bench::new(1_000_000);
    // Output 1 prefers input 1 after a packet of input 0. So of two packets that of input 1 wins, although the tail
    // of input 0 is observed first.
    bench.arrive(0, 0, 1, 100);
    bench.arrive(0, 1, 2, 100);
    bench.arrive(0, 0, 1, 60);
    bench.arrive(0, 1, 1, 70);
    bench.until(Time(1_000_000));
    let lengths: Vec<u64> = bench.outputs.departed.iter().map(|d| d.3 - d.0).collect();
    assert_eq!(lengths, [100_000, 100_000, 70_000, 60_000]);
}

#[test]
fn a_channel_without_credit_holds_up_its_own_queue_only() {
    let mut bench = Bench::new(150);
    for _ in 0..2 {
        bench.arrive(0, 0, 2, 100);
    }
    bench.arrive_on(0, (1, 1), (2, source(1, BufferClaim::Credit)), 100);
    bench.until(Time(1_000_000));
    // VC 0 has space for one packet. The second waits for a credit, the other channel's packet does not.
    let vcs: Vec<(u64, u8)> = bench.outputs.departed.iter().map(|d| (d.0, d.2)).collect();
    assert_eq!(vcs, [(0, 0), (100_000, 1)]);
    assert_eq!(bench.buffered(), 1);
    bench.credit(1_000_000, 2, 0, 100);
    bench.until(Time(2_000_000));
    assert_eq!(bench.outputs.departed[2], (1_000_000, 2, 0, 1_100_000));
    // Blocked from 200 to 1000 ns.
    assert_eq!(bench.router.used(2, Time(2_000_000)).buffer_full, Time(800_000));
    bench.arrive(2_000_000, 0, 2, 100);
    let used = bench.router.used(2, Time(2_300_000));
    assert_eq!(used.buffer_full, Time(800_000 + 300_000), "and again at the end");
}

#[test]
fn places_are_given_back_when_the_tail_leaves() {
    let mut bench = Bench::new(1000);
    bench.arrive(0, 0, 2, 100);
    bench.arrive(0, 1, 2, 50);
    bench.until(Time(1_000_000));
    assert_eq!(bench.outputs.credits, [(100_000, 0, 0, 100), (150_000, 1, 0, 50)]);
    assert_eq!(bench.router.credits(2, 0), 850);
}

#[test]
fn onto_a_faster_link_a_packet_waits_until_it_cannot_underrun() {
    let mut bench = Bench::new(1000);
    bench.arrive(0, 0, 3, 100);
    bench.until(Time(1_000_000));
    // It arrives over 100 ns and leaves in 50, so both tails coincide.
    assert_eq!(bench.outputs.departed, [(50_000, 3, 0, 100_000)]);
}

#[test]
fn congestion_counts_what_waits_and_what_has_no_credit_back() {
    let mut bench = Bench::new(150);
    bench.arrive(0, 0, 2, 100);
    assert_eq!(seen(&bench.router, 1).free_space(Port(2), 0), 50);
    assert_eq!(seen(&bench.router, 51).free_space(Port(2), 0), 0, "too little");
    bench.arrive(0, 1, 2, 100);
    bench.arrive(0, 1, 2, 100);
    let seen = |bench: &Bench| {
        let seen = seen(&bench.router, 1);
        (seen.load(Port(2)), seen.free_space(Port(2), 0))
    };
    // One has left, one waits for credits, the third is not routed yet.
    assert_eq!(seen(&bench), (200, 0));
    bench.credit(1_000_000, 2, 0, 100);
    bench.until(Time(2_000_000));
    assert_eq!(seen(&bench), (200, 0));
    bench.credit(2_000_000, 2, 0, 100);
    bench.until(Time(3_000_000));
    bench.credit(3_000_000, 2, 0, 100);
    assert_eq!(seen(&bench), (0, 150));
}

#[test]
fn reserved_credits_are_exclusive() {
    let mut bench = Bench::new(300);
    bench.arrive(0, 0, 2, 50);
    // Both need VC 1. The first has reserved its credits, although the link is busy.
    bench.arrive_on(0, (1, 0), (2, source(1, BufferClaim::Reserved)), 200);
    bench.arrive_on(0, (1, 1), (2, source(1, BufferClaim::Credit)), 150);
    assert_eq!(
        seen(&bench.router, 1).free_space(Port(2), 1),
        0,
        "the rest is waited for"
    );
    assert_eq!(bench.router.credits(2, 1), 300, "nothing has left yet");
    bench.until(Time(1_000_000));
    let ends: Vec<(u64, u8)> = bench.outputs.departed.iter().map(|d| (d.3, d.2)).collect();
    assert_eq!(ends, [(50_000, 0), (250_000, 1)]);
    assert_eq!(bench.router.credits(2, 1), 100);
}

#[test]
fn a_bubble_leaves_space_for_one_more_packet() {
    for (credits, leaves) in [(100 + LARGEST - 1, 0), (100 + LARGEST, 1)] {
        let mut bench = Bench::new(credits);
        bench.arrive_on(0, (0, 0), (2, source(0, BufferClaim::Bubble)), 100);
        bench.until(Time(1_000_000));
        assert_eq!(bench.outputs.departed.len(), leaves);
        assert_eq!(bench.router.credits(2, 0), credits - 100 * leaves as u32);
    }
}

/// Two packets of two inputs each; every one takes 100 ns on the link, and 50 ns in the crossbar.
fn two_of_each_input(output_buffer: Option<u32>) -> Bench {
    let mut bench = Bench::twice(1_000_000, output_buffer);
    for input in [0, 1, 0, 1] {
        bench.arrive(0, input, 2, 100);
    }
    bench
}

/// The first packet crosses as it arrives, the others at the speed of the crossbar.
#[test]
fn with_a_speedup_packets_leave_their_input_before_their_link_is_free() {
    let mut bench = two_of_each_input(None);
    bench.until(Time(260_000));
    assert_eq!(bench.starts(), [(0, 2), (100_000, 2), (200_000, 2), (300_000, 2)]);
    let order: Vec<u32> = bench.outputs.packets.iter().map(|p| p.message).collect();
    assert_eq!(order, [0, 1, 0, 1]);
    assert_eq!(
        bench.outputs.credits,
        [
            (100_000, 0, 0, 100),
            (150_000, 1, 0, 100),
            (200_000, 0, 0, 100),
            (250_000, 1, 0, 100)
        ]
    );
    assert_eq!(bench.router.used(2, Time(250_000)).busy, Time(250_000));
    assert_eq!(bench.router.used(2, Time(900_000)).busy, Time(400_000));
    // All have their credits; 140 bytes have not left yet.
    assert_eq!(loads(260_000, &bench.router, 2)[0], [400, 140, 260]);
    assert!(bench.router.is_active(2, Time(399_999)) && !bench.router.is_active(2, Time(400_000)));
}

#[test]
fn a_speedup_frees_the_packets_behind_the_first_of_a_queue_earlier() {
    let starts = |mut bench: Bench| {
        bench.arrive(0, 1, 2, 100);
        bench.arrive(0, 0, 2, 100);
        bench.arrive(0, 0, 1, 100);
        bench.until(Time(1_000_000));
        bench.starts()
    };
    assert_eq!(
        starts(Bench::new(1_000_000)),
        [(0, 2), (100_000, 2), (200_000, 1)]
    );
    assert_eq!(
        starts(Bench::twice(1_000_000, None)),
        [(0, 2), (100_000, 2), (150_000, 1)]
    );
}

/// Space for one packet is free when its tail has left the link.
#[test]
fn a_full_output_buffer_delays_the_crossing_and_not_the_link() {
    let mut bench = two_of_each_input(Some(150));
    bench.until(Time(1_000_000));
    assert_eq!(bench.starts(), [(0, 2), (100_000, 2), (200_000, 2), (300_000, 2)]);
    let times: Vec<u64> = bench.outputs.credits.iter().map(|credit| credit.0).collect();
    assert_eq!(times, [100_000, 150_000, 250_000, 350_000]);
    assert_eq!(
        bench.router.used(2, Time(1_000_000)).buffer_full,
        Time::ZERO,
        "the far end has space"
    );
    // With space for two, a packet crosses while the one before it leaves.
    let mut bench = two_of_each_input(Some(200));
    bench.until(Time(1_000_000));
    let times: Vec<u64> = bench.outputs.credits.iter().map(|credit| credit.0).collect();
    assert_eq!(times, [100_000, 150_000, 200_000, 250_000]);
}

/// A short packet has space where a long one has none, and credits of another VC.
#[test]
fn a_packet_needs_room_for_its_own_bytes_only() {
    let mut bench = Bench::twice(1_000_000, Some(200));
    for (input, bytes) in [(0, 150), (1, 100), (3, 50)] {
        bench.arrive(0, input, 2, bytes);
    }
    bench.until(Time(1_000_000));
    // At 150 ns the first has left. So both others cross: the second until 200, the third until 225 ns.
    let times: Vec<(u64, u16)> = bench
        .outputs
        .credits
        .iter()
        .map(|credit| (credit.0, credit.1))
        .collect();
    assert_eq!(times, [(150_000, 0), (200_000, 1), (225_000, 3)]);
    let mut bench = Bench::twice(1_000_000, Some(200));
    bench.arrive(0, 3, 2, 150);
    bench.arrive(0, 1, 2, 100);
    bench.arrive(0, 0, 2, 50);
    bench.until(Time(1_000_000));
    // The first comes over a fast link and has crossed at 75 ns. Then there is space for the last one only.
    let starts: Vec<(u64, u32)> = bench
        .outputs
        .departed
        .iter()
        .zip(&bench.outputs.packets)
        .map(|(d, p)| (d.0, p.message))
        .collect();
    assert_eq!(starts, [(0, 3), (150_000, 0), (200_000, 1)]);
    let times: Vec<(u64, u16)> = bench
        .outputs
        .credits
        .iter()
        .map(|credit| (credit.0, credit.1))
        .collect();
    assert_eq!(times, [(75_000, 3), (100_000, 0), (200_000, 1)]);
}

#[test]
fn a_tail_does_not_cross_before_it_has_arrived() {
    // From a slow link to a fast one, the packet waits as long as without a speedup.
    let mut bench = Bench::twice(1000, None);
    bench.arrive(0, 0, 3, 100);
    bench.until(Time(1_000_000));
    assert_eq!(bench.outputs.departed, [(50_000, 3, 0, 100_000)]);
    assert_eq!(bench.outputs.credits, [(100_000, 0, 0, 100)]);
    // From a fast one to a slow one it has crossed as soon as it has arrived.
    let mut bench = Bench::twice(1000, None);
    bench.arrive(0, 3, 2, 100);
    bench.until(Time(1_000_000));
    assert_eq!(bench.outputs.departed, [(0, 2, 0, 100_000)]);
    assert_eq!(bench.outputs.credits, [(50_000, 3, 0, 100)]);
}

/// The output of the crossbar is free and lacks credits from 50 ns on, its link from 100 ns on.
#[test]
fn a_link_that_is_busy_is_not_blocked() {
    let mut bench = Bench::twice(100, None);
    bench.arrive(0, 3, 2, 100);
    bench.arrive(0, 0, 2, 100);
    bench.until(Time(80_000));
    assert_eq!(bench.router.used(2, Time(80_000)).buffer_full, Time::ZERO);
    bench.credit(300_000, 2, 0, 100);
    let used = bench.router.used(2, Time(1_000_000));
    assert_eq!((used.busy, used.buffer_full), (Time(200_000), Time(200_000)));
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Arrive(Arrival),
    /// May come without a pending timer.
    Timer,
    /// May be for a packet that was never sent.
    Credit(u16, u8, u32),
}

/// A router under the reverse check, with little buffer space, ports of two speeds, and a warm-up. With a limit of the
/// output buffers the crossbar has a speedup.
struct Subject<const OUTPUT_BUFFER: u32, const CLASSES: usize, const COPIES: u8>(InputQueuedRouter);

impl<const OUTPUT_BUFFER: u32, const CLASSES: usize, const COPIES: u8>
    Subject<OUTPUT_BUFFER, CLASSES, COPIES>
{
    const CONTEXT: RoutingContext<'static> = match (CLASSES, COPIES) {
        (1, 1) => EXPLICIT,
        _ => OF_CLASSES,
    };
}

impl<const OUTPUT_BUFFER: u32, const CLASSES: usize, const COPIES: u8> Reversible
    for Subject<OUTPUT_BUFFER, CLASSES, COPIES>
{
    type Op = Op;
    type Step = InputQueuedUndo;
    type Output = RecordedOutput<()>;
    type State = InputQueuedRouterState;

    fn fresh() -> Self {
        let parameters = match OUTPUT_BUFFER {
            0 => Parameters {
                arbiter: Arbiter::Random,
                ..Parameters::default()
            },
            size => twice(Arbiter::Random, Some(size)),
        };
        let mut router = match (CLASSES, COPIES) {
            (1, 1) => router_of(300, parameters),
            (1, _) => of_copies(300, parameters),
            _ => of_classes(300, parameters, &[(3, 0), (1, 0)]),
        };
        router.measured = Measured {
            from: Time(1_000_000),
            until: Time(2_000_000),
        };
        Subject(router)
    }

    fn apply<const KEPT: bool>(
        &mut self,
        now: Time,
        op: &Op,
        out: &mut RouterRecorder<InputQueuedRouter, KEPT>,
    ) {
        match *op {
            Op::Arrive(arrival) => self.0.arrived(now, arrival, &Self::CONTEXT, out),
            Op::Timer => self.0.timer(now, (), &Self::CONTEXT, out),
            Op::Credit(port, vc, bytes) => self.0.credit(now, port, vc, bytes, out),
        }
    }

    fn undo(&mut self, step: InputQueuedUndo) {
        self.0.undo(step);
    }
    fn state(&self) -> InputQueuedRouterState {
        self.0.state()
    }
    fn restore(&mut self, state: InputQueuedRouterState) -> Result<(), String> {
        self.0.restore(state)
    }
}

fn op() -> impl Strategy<Value = Op> {
    let arrivals = (0u16..4, 0u8..2, packets(0..=LARGEST));
    let credit = |(port, vc, bytes)| Op::Credit(port, vc, bytes);
    prop_oneof![
        6 => arrivals.prop_map(|(input, vc, packet)| Op::Arrive(Arrival { input, vc, packet })),
        4 => Just(Op::Timer),
        3 => credits(0u32..300).prop_map(credit),
        1 => credits(any::<u32>()).prop_map(credit),
    ]
}

proptest! {
    #[test]
    fn every_input_can_be_undone_and_saved(script in script(op(), 100_000)) {
        check::<Subject<0, 1, 1>>(&script)?;
        check::<Subject<250, 1, 1>>(&script)?;
        check::<Subject<0, 2, 1>>(&script)?;
        check::<Subject<250, 2, 1>>(&script)?;
        check::<Subject<0, 1, 2>>(&script)?;
    }
}

/// A packet gets the copy for which fewest packets wait, of these the one with most credits. Together the copies are
/// the VC that routing knows.
#[test]
fn a_packet_gets_a_copy_of_its_vc() {
    let router = of_copies(150, Parameters::default());
    let mut bench = Bench::of(router, OF_CLASSES);
    for input in [0, 1, 3, 0, 1] {
        bench.arrive_on(0, (input, 1), (2, source(0, BufferClaim::Credit)), 100);
    }
    bench.until(Time(1_000_000));
    let vcs = |bench: &Bench| bench.outputs.departed.iter().map(|d| d.2).collect::<Vec<_>>();
    // Both copies have credits for one packet. Of the others, those of two inputs are routed: one to each copy.
    assert_eq!(vcs(&bench), [0, 1]);
    let view = seen_at(Time(1_000_000), &bench.router, 100);
    assert_eq!(view.free_space(Port(2), 0), 0, "packets wait for both copies");
    let metric = |quantity| LoadMetric {
        quantity,
        scope: LoadScope::Vc,
    };
    assert_eq!(view.load_by(metric(LoadQuantity::Credits), Port(2), 0), 200);
    // The packet that waits for the second copy goes before that which came before it.
    bench.credit(1_000_000, 2, 1, 100);
    bench.until(Time(2_000_000));
    assert_eq!(vcs(&bench), [0, 1, 1]);
    let credits: Vec<(u16, u8)> = bench.outputs.credits.iter().map(|c| (c.1, c.2)).collect();
    assert!(credits.iter().all(|(_, vc)| *vc == 1), "{credits:?}");
}

/// Packets of two classes from two inputs, and both inputs have both classes. Within a class, inputs take turns.
#[test]
fn an_output_chooses_a_class_and_then_an_input() {
    for (classes, expected) in [
        (
            [(3, 0), (1, 0)],
            // The first packet was the first of a turn of three.
            vec![(0, 0), (1, 0), (0, 1), (0, 0), (1, 0), (0, 0), (1, 1), (1, 0)],
        ),
        ([(1, 0), (1, 5)], [(0, 1), (1, 1)].repeat(4)),
    ] {
        let router = of_classes(1_000_000, Parameters::default(), &classes);
        let mut bench = Bench::of(router, OF_CLASSES);
        // The output is busy while all arrive.
        bench.arrive_on(0, (3, 0), (2, source(0, BufferClaim::Credit)), LARGEST);
        for _ in 0..4 {
            for (input, vc) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                bench.arrive_on(1, (input, vc), (2, source(0, BufferClaim::Credit)), LARGEST);
            }
        }
        bench.until(Time(1_650_000));
        let sent = bench.outputs.packets.iter().zip(&bench.outputs.departed);
        let sent: Vec<(u32, u8)> = sent
            .map(|(packet, departed)| (packet.message, departed.2))
            .collect();
        assert_eq!(sent[1..9], expected, "{classes:?}");
    }
}

/// Bytes that wait for credits of one class do not delay the other class.
#[test]
fn a_class_without_credits_does_not_hold_up_another() {
    let router = of_classes(LARGEST, Parameters::default(), &[(1, 7), (1, 0)]);
    let mut bench = Bench::of(router, OF_CLASSES);
    for vc in [0, 0, 1] {
        bench.arrive_on(0, (0, vc), (2, source(0, BufferClaim::Credit)), LARGEST);
    }
    bench.until(Time(1_000_000));
    let sent = |bench: &Bench| -> Vec<u8> { bench.outputs.departed.iter().map(|d| d.2).collect() };
    assert_eq!(sent(&bench), [0, 1]);
    assert_eq!((bench.router.credits(2, 0), bench.router.credits(2, 1)), (0, 0));
    bench.credit(2_000_000, 2, 0, LARGEST);
    assert_eq!(sent(&bench), [0, 1, 0]);
}

#[test]
fn a_state_that_does_not_fit_is_refused_and_changes_nothing() {
    let mut bench = Bench::new(150);
    for _ in 0..3 {
        bench.arrive(0, 0, 2, 100);
    }
    bench.arrive(0, 1, 2, 100);
    bench.until(Time(150_000));
    let good = bench.router.state();
    let mut fresh = router(150, Arbiter::RoundRobin);
    let untouched = fresh.state();
    let mut refused = |change: fn(&mut InputQueuedRouterState), why: &str| {
        let mut state = good.clone();
        change(&mut state);
        let error = fresh.restore(state).unwrap_err();
        assert!(error.contains(why), "{error}");
        assert_eq!(fresh.state(), untouched);
    };
    refused(
        |s| s.outputs.truncate(3),
        "4 ports, 8 queues and 8 buffers behind it, its saved state 3, 8 and 8",
    );
    refused(|s| s.queues.truncate(7), "its saved state 4, 7 and 8");
    refused(|s| s.credits.truncate(7), "its saved state 4, 8 and 7");
    refused(
        |s| s.output_buffers.push(VecDeque::new()),
        "output buffers in the saved state are not those of this router",
    );
    refused(|s| s.first = 4, "port 4 in the saved state does not exist");
    refused(
        |s| s.queues[0].decision = None,
        "input 0, VC 0 contradicts itself",
    );
    refused(
        |s| s.queues[0].packets.clear(),
        "input 0, VC 0 contradicts itself",
    );
    refused(
        |s| s.queues[0].decision.as_mut().unwrap().output = 4,
        "input 0, VC 0 contradicts itself",
    );
    refused(
        |s| s.queues[2].decision.as_mut().unwrap().vc = 2,
        "input 1, VC 0 contradicts itself",
    );
    refused(
        |s| s.outputs[1].from = Some((0, 0)),
        "input 0, VC 0 contradicts itself",
    );
    refused(
        |s| s.outputs[1].from = Some((4, 0)),
        "output 1 contradicts itself",
    );
    refused(
        |s| {
            s.outputs[0].from = Some((3, 0));
            s.outputs[1].from = Some((3, 1));
        },
        "output 1 contradicts itself",
    );
    refused(
        |s| s.preferred[2] = 8,
        "the turns in the saved state are not those",
    );
    // A tail that would cross after it has left, and one that crosses without a packet.
    refused(
        |s| s.outputs[2].crosses_until = Time(1_000_000),
        "output 2 contradicts itself",
    );
    refused(
        |s| s.outputs[0].crosses_until = Time(1),
        "output 0 contradicts itself",
    );
    refused(
        |s| s.outputs[0].blocked_since = Some(Time(1)),
        "output 0 contradicts itself",
    );
    assert_eq!(fresh.restore(good.clone()), Ok(()));
    assert_eq!(fresh.state(), good);
}

/// All loads of an output: total, queue and credits of the port, then the same of each VC.
fn loads(now: u64, router: &InputQueuedRouter, port: u16) -> [[u64; 3]; 3] {
    let view = seen_at(Time(now), router, 1);
    let of = |scope, vc| {
        [LoadQuantity::Total, LoadQuantity::Queue, LoadQuantity::Credits]
            .map(|quantity| view.load_by(LoadMetric { quantity, scope }, Port(port), vc))
    };
    [of(LoadScope::Port, 0), of(LoadScope::Vc, 0), of(LoadScope::Vc, 1)]
}

/// Bytes take 1 ns each. Each VC has space for 250 bytes.
#[test]
fn each_metric_counts_its_bytes_of_its_channels() {
    let mut bench = Bench::new(250);
    assert_eq!(loads(0, &bench.router, 2), [[0; 3]; 3]);
    bench.arrive_on(0, (0, 0), (2, source(0, BufferClaim::Credit)), 100);
    bench.arrive_on(0, (1, 0), (2, source(1, BufferClaim::Credit)), 60);
    bench.arrive_on(0, (1, 1), (2, source(0, BufferClaim::Credit)), 80);
    // Not the first of its queue, so it is not routed and counts nowhere.
    bench.arrive_on(0, (1, 1), (2, source(0, BufferClaim::Credit)), 90);
    // The first packet has the link; no byte has left. The two others wait for it.
    assert_eq!(
        loads(0, &bench.router, 2),
        [[240, 240, 0], [180, 180, 0], [60, 160, 0]]
    );
    assert_eq!(
        loads(70_000, &bench.router, 2),
        [[240, 170, 70], [180, 110, 70], [60, 90, 0]]
    );
    bench.until(Time(1_000_000));
    // All have left, except for the last one of VC 0, which lacks credits.
    assert_eq!(
        loads(1_000_000, &bench.router, 2),
        [[330, 90, 240], [270, 90, 180], [60, 0, 60]]
    );
    bench.credit(1_000_000, 2, 0, 180);
    // It has the link. Of its 90 bytes, which take three fifths of all credits, 54 count as those of VC 0.
    assert_eq!(
        loads(1_000_000, &bench.router, 2),
        [[150, 90, 60], [90, 90, 36], [60, 90, 24]]
    );
    assert_eq!(
        loads(2_000_000, &bench.router, 2),
        [[150, 0, 150], [90, 0, 90], [60, 0, 60]]
    );
}

/// A packet with reserved credits waits in the router until its output takes it.
#[test]
fn reserved_credits_are_not_taken_before_the_packet_leaves() {
    let mut bench = Bench::new(300);
    bench.arrive(0, 0, 2, 50);
    bench.arrive_on(0, (1, 0), (2, source(1, BufferClaim::Reserved)), 200);
    assert_eq!(
        loads(0, &bench.router, 2),
        [[250, 250, 0], [50, 50, 0], [200, 250, 0]]
    );
    assert_eq!(
        loads(150_000, &bench.router, 2)[0],
        [250, 200, 50],
        "before the output has chosen again"
    );
    bench.until(Time(1_000_000));
    assert_eq!(
        loads(1_000_000, &bench.router, 2),
        [[250, 0, 250], [50, 0, 50], [200, 0, 200]]
    );
}

#[test]
fn towards_a_host_only_waiting_packets_count() {
    let mut bench = Bench::new(100);
    bench.arrive(0, 1, 3, 100);
    bench.arrive(0, 0, 3, 60);
    // At twice the speed the shorter packet may leave at 30 ns, and takes 30 ns. The other one waits for it.
    assert_eq!(loads(0, &bench.router, 3)[0], [160, 160, 0]);
    bench.until(Time(40_000));
    assert_eq!(loads(40_000, &bench.router, 3)[0], [100, 100, 0]);
    bench.until(Time(60_000));
    assert_eq!(loads(60_000, &bench.router, 3)[0], [0, 0, 0]);
}
