use super::*;
use crate::Packet;
use crate::reverse_check::{Reversible, check, script};
use crate::router::bench::{self, RecordedOutput, RouterRecorder, SLOW, credits, packets, ports, setup};
use proptest::prelude::*;
use routing::{Hop, LoadQuantity, LoadScope, RouteState, Routing};
use topology::HostId;

type Bench = bench::Bench<PacketRouter>;

/// Sends a packet to the port that its destination names, on the VC that its source names, with the claim that
/// `flags` of its state names.
struct Explicit;

const EXPLICIT: RoutingContext<'static> = RoutingContext {
    routing: &Explicit,
    loads: &[],
};

fn seen(router: &PacketRouter, bytes: u32) -> PacketCongestion<'_> {
    seen_at(Time::ZERO, router, bytes)
}

fn seen_at(now: Time, router: &PacketRouter, bytes: u32) -> PacketCongestion<'_> {
    let context = &EXPLICIT;
    PacketCongestion {
        router,
        now,
        bytes,
        context,
    }
}

impl Routing for Explicit {
    fn vcs(&self) -> u8 {
        2
    }
    fn route(&self, at: At, state: &mut RouteState, _: &dyn Congestion, _: &mut dyn Random) -> Hop {
        Hop {
            port: Port(at.destination.0 as u16),
            vc: at.source.0 as u8,
            claim: CLAIMS[usize::from(state.flags)],
        }
    }
    fn options(&self, _: At, _: RouteState, _: &mut Vec<(Hop, RouteState)>) {
        unreachable!("no proof is asked for")
    }
}

const CLAIMS: [BufferClaim; 3] = [BufferClaim::Credit, BufferClaim::Reserved, BufferClaim::Bubble];

fn router(credits: u32) -> PacketRouter {
    PacketRouter::new(&setup(&ports(credits), 100, false), ())
}

/// A router with slots for packets of up to 100 bytes.
fn router_with_slots(credits: u32) -> PacketRouter {
    PacketRouter::new(&setup(&ports(credits), 100, true), ())
}

impl Bench {
    fn new(credits: u32) -> Bench {
        Bench::of(router(credits), EXPLICIT)
    }

    fn with_slots(credits: u32) -> Bench {
        Bench::of(router_with_slots(credits), EXPLICIT)
    }

    fn arrive(&mut self, at: u64, input: u16, output: u32, vc: u32, bytes: u32) {
        self.arrive_for(BufferClaim::Credit, at, input, output, vc, bytes);
    }

    fn arrive_for(&mut self, claim: BufferClaim, at: u64, input: u16, output: u32, vc: u32, bytes: u32) {
        self.until(Time(at));
        let mut packet = Packet::new(HostId(vc), HostId(output), 0, bytes, Time(at), 0);
        let flags = CLAIMS.iter().position(|e| *e == claim).expect("one of them");
        packet.route.flags = flags as u8;
        let arrival = Arrival { input, vc: 0, packet };
        self.router
            .arrived(self.now, arrival, &EXPLICIT, &mut self.outputs);
    }
}

#[test]
fn a_saturated_link_carries_exactly_its_bandwidth() {
    let mut bench = Bench::new(1_000_000);
    for i in 0..100 {
        bench.arrive(i * 60_000, 0, 2, 0, 100);
        bench.arrive(i * 60_000, 1, 2, 1, 100);
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
    assert_eq!(bench.buffered(), 0);
}

#[test]
fn a_channel_without_credit_does_not_hold_up_the_other() {
    let mut bench = Bench::new(150);
    bench.arrive(0, 0, 2, 0, 100);
    bench.arrive(0, 0, 2, 0, 100);
    bench.arrive(0, 0, 2, 0, 100);
    bench.arrive(0, 1, 2, 1, 100);
    bench.until(Time(1_000_000));
    // VC 0 has space for one packet. The second leaves after that of VC 1, when a credit arrives.
    let vcs: Vec<(u64, u8)> = bench.outputs.departed.iter().map(|d| (d.0, d.2)).collect();
    assert_eq!(vcs, [(0, 0), (100_000, 1)]);
    assert_eq!(bench.buffered(), 2);
    bench.credit(1_000_000, 2, 0, 100);
    bench.until(Time(2_000_000));
    assert_eq!(bench.outputs.departed[2], (1_000_000, 2, 0, 1_100_000));
    let used = bench.router.used(2, Time(2_000_000));
    // Blocked from 200 to 1000 ns, and from 1100 ns to the end.
    assert_eq!(used.buffer_full, Time(800_000 + 900_000));
}

#[test]
fn places_are_given_back_when_the_tail_leaves() {
    let mut bench = Bench::new(1000);
    bench.arrive(0, 0, 2, 1, 100);
    bench.arrive(0, 1, 2, 1, 50);
    bench.until(Time(1_000_000));
    assert_eq!(bench.outputs.credits, [(100_000, 0, 0, 100), (150_000, 1, 0, 50)]);
    assert_eq!(bench.router.credits(2, 1), 850);
}

#[test]
fn onto_a_faster_link_a_packet_waits_until_it_cannot_underrun() {
    let mut bench = Bench::new(1000);
    bench.arrive(0, 0, 3, 0, 100);
    bench.until(Time(1_000_000));
    // It arrives over 100 ns and leaves in 50, so both tails coincide.
    assert_eq!(bench.outputs.departed, [(50_000, 3, 0, 100_000)]);
}

#[test]
fn congestion_counts_what_waits_and_what_has_no_credit_back() {
    let mut bench = Bench::new(1000);
    bench.arrive(0, 0, 2, 0, 100);
    bench.arrive(0, 0, 2, 0, 100);
    bench.until(Time(1_000_000));
    assert_eq!(seen(&bench.router, 1).load(Port(2)), 200);
    bench.credit(1_000_000, 2, 0, 200);
    assert_eq!(seen(&bench.router, 1).load(Port(2)), 0);
}

#[test]
fn free_space_excludes_reserved_and_awaited_credits() {
    let mut bench = Bench::new(250);
    let free_space = |bench: &Bench, bytes| seen(&bench.router, bytes).free_space(Port(2), 1);
    assert_eq!(free_space(&bench, 250), 250);
    assert_eq!(free_space(&bench, 251), 0, "too little for the packet that asks");
    bench.arrive_for(BufferClaim::Reserved, 0, 0, 2, 1, 100);
    assert_eq!(free_space(&bench, 150), 150);
    bench.arrive(0, 0, 2, 1, 200);
    assert_eq!(free_space(&bench, 50), 0, "a packet waits");
    bench.credit(1_000_000, 2, 1, 100);
    assert_eq!(free_space(&bench, 50), 50);

    let mut bench = Bench::with_slots(300);
    bench.arrive(0, 0, 2, 1, 1);
    assert_eq!(free_space(&bench, 1), 200, "a packet takes a slot");
    bench.arrive(0, 0, 2, 1, 100);
    bench.arrive_for(BufferClaim::Bubble, 0, 0, 2, 1, 100);
    assert_eq!(free_space(&bench, 1), 0, "a packet waits for a bubble");
}

#[test]
fn a_reserved_packet_has_its_credits_from_routing_on() {
    let port = |bits| PortSetting {
        cable: Time::ZERO,
        rate: Rate::bits_per_s(bits),
        to_host: false,
        credits: 150,
        pipeline: Time::ZERO,
        whole_packets: false,
    };
    let mut bench = {
        let ports = [port(SLOW), port(2 * SLOW), port(2 * SLOW)];
        Bench::of(PacketRouter::new(&setup(&ports, 100, false), ()), EXPLICIT)
    };
    // It may leave only after 50 ns. Later packets do not get its credits.
    bench.arrive_for(BufferClaim::Reserved, 0, 0, 2, 0, 100);
    assert_eq!(bench.router.credits(2, 0), 50);
    bench.arrive(10_000, 1, 2, 0, 100);
    bench.until(Time(40_000));
    assert_eq!((bench.buffered(), bench.outputs.departed.len()), (2, 0));
    bench.until(Time(1_000_000));
    assert_eq!(bench.outputs.departed, [(50_000, 2, 0, 100_000)]);
    assert_eq!(bench.router.credits(2, 0), 50);
    bench.credit(1_000_000, 2, 0, 100);
    assert_eq!(bench.outputs.departed[1].0, 1_000_000);
}

#[test]
fn a_packet_without_credits_to_reserve_waits_as_others() {
    let mut bench = Bench::new(150);
    bench.arrive(0, 0, 2, 0, 100);
    bench.arrive_for(BufferClaim::Reserved, 0, 1, 2, 0, 100);
    bench.arrive_for(BufferClaim::Reserved, 0, 1, 3, 0, 100);
    bench.until(Time(1_000_000));
    let ports: Vec<u16> = bench.outputs.departed.iter().map(|d| d.1).collect();
    assert_eq!(ports, [2, 3], "hosts accept all packets");
    assert_eq!((bench.buffered(), bench.router.credits(2, 0)), (1, 50));
}

#[test]
fn packets_that_enter_a_ring_leave_a_bubble() {
    let mut bench = Bench::with_slots(300);
    let departed = |bench: &Bench| bench.outputs.departed.len();
    bench.arrive_for(BufferClaim::Bubble, 0, 0, 2, 0, 60);
    assert_eq!((departed(&bench), bench.router.credits(2, 0)), (1, 200));
    bench.arrive_for(BufferClaim::Bubble, 0, 3, 2, 0, 60);
    assert_eq!((departed(&bench), bench.router.credits(2, 0)), (2, 100));
    // Two packets enter. Of two packets inside the ring, the first takes the last slot and the second waits.
    bench.arrive_for(BufferClaim::Bubble, 0, 0, 2, 0, 10);
    bench.arrive_for(BufferClaim::Bubble, 0, 0, 2, 0, 20);
    bench.arrive(0, 1, 2, 0, 30);
    bench.arrive(0, 1, 2, 0, 40);
    assert_eq!((departed(&bench), bench.router.credits(2, 0)), (3, 0));
    assert_eq!(bench.buffered(), 3);
    bench.credit(1_000_000, 2, 0, 60);
    assert_eq!((departed(&bench), bench.router.credits(2, 0)), (4, 0));
    bench.credit(2_000_000, 2, 0, 100);
    assert_eq!(departed(&bench), 4, "free space, but no bubble");
    bench.credit(3_000_000, 2, 0, 100);
    assert_eq!((departed(&bench), bench.router.credits(2, 0)), (5, 100));
    bench.credit(4_000_000, 2, 0, 200);
    assert_eq!((departed(&bench), bench.router.credits(2, 0)), (6, 200));
    bench.until(Time(10_000_000));
    let lengths = bench.outputs.departed.iter().map(|d| (d.3 - d.0) / 1000);
    assert_eq!(lengths.collect::<Vec<_>>(), [60, 60, 30, 40, 10, 20]);
    // A credit names a packet size; the sender maps it to slots.
    let freed: Vec<(u16, u32)> = bench.outputs.credits.iter().map(|c| (c.1, c.3)).collect();
    assert_eq!(freed, [(0, 60), (3, 60), (1, 30), (1, 40), (0, 10), (0, 20)]);
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Arrive(RoutedPacket),
    /// May be a packet that has never arrived.
    Ready(RoutedPacket),
    /// May come without a pending timer.
    Timer(u16),
    /// May be for a packet that was never sent.
    Credit(u16, u8, u32),
}

/// A router under the reverse check, with little buffer space, ports of two speeds, and a warm-up.
struct Subject<const SLOTS: bool>(PacketRouter);

impl<const SLOTS: bool> Reversible for Subject<SLOTS> {
    type Op = Op;
    type Step = PacketUndo;
    type Output = RecordedOutput<GuardExpired>;
    type State = PacketRouterState;

    fn fresh() -> Subject<SLOTS> {
        let mut router = match SLOTS {
            true => router_with_slots(350),
            false => router(150),
        };
        router.measured = Measured {
            from: Time(1_000_000),
            until: Time(2_000_000),
        };
        Subject(router)
    }

    fn apply<const KEPT: bool>(&mut self, now: Time, op: &Op, out: &mut RouterRecorder<PacketRouter, KEPT>) {
        match *op {
            Op::Arrive(routed) => self.0.enter(now, &routed, out),
            Op::Ready(routed) => self.0.ready(now, &routed, IsNoted(true), out),
            Op::Timer(input) => self.0.timer(now, GuardExpired { input }, &EXPLICIT, out),
            Op::Credit(port, vc, bytes) => self.0.credit(now, port, vc, bytes, out),
        }
    }

    fn undo(&mut self, step: PacketUndo) {
        self.0.undo(step);
    }
    fn state(&self) -> PacketRouterState {
        self.0.state()
    }
    fn restore(&mut self, state: PacketRouterState) -> Result<(), String> {
        self.0.restore(state)
    }
}

fn readies() -> impl Strategy<Value = RoutedPacket> {
    let place = (0u16..4, 0u16..4, 0u8..2, 0u8..2, 0usize..3);
    (place, packets(0u32..200)).prop_map(|((input, output, input_vc, output_vc, claim), packet)| {
        RoutedPacket {
            packet,
            input,
            output,
            input_vc,
            output_vc,
            claim: CLAIMS[claim],
        }
    })
}

fn op() -> impl Strategy<Value = Op> {
    let credit = |(port, vc, bytes)| Op::Credit(port, vc, bytes);
    prop_oneof![
        5 => readies().prop_map(Op::Arrive),
        1 => readies().prop_map(Op::Ready),
        3 => (0u16..4).prop_map(Op::Timer),
        4 => credits(0u32..300).prop_map(credit),
        1 => credits(any::<u32>()).prop_map(credit),
    ]
}

proptest! {
    #[test]
    fn every_input_can_be_undone_and_saved(script in script(op(), 100_000)) {
        check::<Subject<false>>(&script)?;
    }

    #[test]
    fn slots_and_bubbles_can_be_undone_and_saved(script in script(op(), 100_000)) {
        check::<Subject<true>>(&script)?;
    }
}

#[test]
fn a_state_that_does_not_fit_is_refused_and_changes_nothing() {
    let mut bench = Bench::new(150);
    bench.arrive(0, 0, 2, 0, 100);
    bench.arrive(0, 0, 2, 0, 100);
    let good = bench.router.state();
    let mut fresh = router(150);
    let untouched = fresh.state();
    let mut refused = |change: fn(&mut PacketRouterState), why: &str| {
        let mut state = good.clone();
        change(&mut state);
        let error = fresh.restore(state).unwrap_err();
        assert!(error.contains(why), "{error}");
        assert_eq!(fresh.state(), untouched);
    };
    refused(
        |s| s.outputs.truncate(3),
        "4 ports and 8 queues, its saved state 3 and 8",
    );
    refused(
        |s| s.queues.truncate(7),
        "4 ports and 8 queues, its saved state 4 and 7",
    );
    refused(|s| s.queues[4][0].output = 1, "cannot wait for port 2, VC 0");
    refused(|s| s.queues[4][0].input = 4, "cannot wait for port 2, VC 0");
    refused(|s| s.queues[4][0].input_vc = 2, "cannot wait for port 2, VC 0");
    refused(|s| s.queues.swap(4, 6), "cannot wait for port 3, VC 0");
    refused(
        |s| s.queues[4][0].claim = BufferClaim::Reserved,
        "cannot wait for port 2, VC 0",
    );
    refused(|s| s.queues[4].clear(), "port 2 contradicts its queues");
    refused(
        |s| s.outputs[2].idle_since = None,
        "port 2 contradicts its queues",
    );
    refused(
        |s| s.outputs[0].idle_since = Some(Time(1)),
        "port 0 contradicts its queues",
    );
    assert_eq!(fresh.restore(good.clone()), Ok(()));
    assert_eq!(fresh.state(), good);
}

/// All loads of an output: total, queue and credits of the port, then the same of each VC.
fn loads(now: u64, router: &PacketRouter, port: u16) -> [[u64; 3]; 3] {
    let view = seen_at(Time(now), router, 1);
    let of = |scope, vc| {
        [LoadQuantity::Total, LoadQuantity::Queue, LoadQuantity::Credits]
            .map(|quantity| view.load_by(LoadMetric { quantity, scope }, Port(port), vc))
    };
    [of(LoadScope::Port, 0), of(LoadScope::Vc, 0), of(LoadScope::Vc, 1)]
}

/// Bytes take 1 ns each. VC 0 has space for two packets of 100 bytes, VC 1 has as much.
#[test]
fn each_metric_counts_its_bytes_of_its_channels() {
    let mut bench = Bench::new(200);
    assert_eq!(loads(0, &bench.router, 2), [[0; 3]; 3]);
    for vc in [0, 1, 0, 0] {
        bench.arrive(0, 0, 2, vc, 100);
    }
    // The link is reserved for 300 bytes, and none is on it. The last packet of VC 0 waits for credits.
    assert_eq!(
        loads(0, &bench.router, 2),
        [[400, 400, 0], [300, 400, 0], [100, 300, 0]]
    );
    // 150 bytes have left. Of the 150 others, two thirds count as those of VC 0.
    assert_eq!(
        loads(150_000, &bench.router, 2),
        [[400, 250, 150], [300, 250, 100], [100, 150, 50]]
    );
    // All have left. A byte that has begun has not left.
    assert_eq!(loads(299_500, &bench.router, 2)[0], [400, 100, 300]);
    assert_eq!(
        loads(1_000_000, &bench.router, 2),
        [[400, 100, 300], [300, 100, 200], [100, 0, 100]]
    );
    // A credit of VC 0 lets the last packet go.
    bench.credit(1_000_000, 2, 0, 100);
    assert_eq!(
        loads(1_000_000, &bench.router, 2),
        [[300, 100, 200], [200, 100, 134], [100, 100, 67]]
    );
    bench.credit(2_000_000, 2, 0, 200);
    assert_eq!(
        loads(2_000_000, &bench.router, 2),
        [[100, 0, 100], [0, 0, 0], [100, 0, 100]]
    );
}

#[test]
fn one_channel_has_the_load_of_its_port() {
    let mut bench = Bench::new(250);
    for at in 0..4 {
        bench.arrive(at * 60_000, 0, 2, 1, 90);
        let now = at * 60_000 + 7_000;
        let [port, _, of_vc] = loads(now, &bench.router, 2);
        assert_eq!(port, of_vc, "at {now} ps");
        assert_eq!(port[0], port[1] + port[2], "at {now} ps");
    }
    // Two of the four packets have left, and two lack credits.
    assert_eq!(loads(250_000, &bench.router, 2)[0], [360, 180, 180]);
}

/// Slots of 100 bytes: a packet of any size takes one. Entering packets wait in a queue of their own.
#[test]
fn metrics_count_slots_and_packets_that_wait_for_bubbles() {
    let mut bench = Bench::with_slots(200);
    bench.arrive(0, 0, 2, 1, 40);
    bench.arrive_for(BufferClaim::Bubble, 0, 0, 2, 1, 40);
    bench.until(Time(1_000_000));
    assert_eq!(
        loads(1_000_000, &bench.router, 2),
        [[200, 100, 100], [0, 0, 0], [200, 100, 100]]
    );
}

/// The guard of a packet that arrives slowly and leaves fast holds it outside all queues: it counts for every VC.
#[test]
fn a_packet_that_could_underrun_waits_for_every_channel() {
    let mut ports = ports(100);
    ports[1].rate = Rate::bits_per_s(2 * SLOW);
    let mut bench = Bench::of(PacketRouter::new(&setup(&ports, 100, false), ()), EXPLICIT);
    bench.arrive(0, 0, 1, 0, 100);
    assert_eq!(
        loads(0, &bench.router, 1),
        [[100, 100, 0], [100, 100, 0], [100, 100, 0]]
    );
    bench.until(Time(200_000));
    // It has left. The next one waits for credits of VC 0.
    bench.arrive(200_000, 0, 1, 0, 100);
    bench.until(Time(400_000));
    assert_eq!(
        loads(400_000, &bench.router, 1),
        [[200, 100, 100], [200, 100, 100], [0, 0, 0]]
    );
}

#[test]
fn towards_a_host_only_waiting_packets_count() {
    let mut bench = Bench::new(100);
    bench.arrive(0, 0, 3, 0, 100);
    assert_eq!(loads(0, &bench.router, 3)[0], [100, 100, 0]);
    bench.until(Time(50_000));
    assert_eq!(loads(50_000, &bench.router, 3)[0], [0, 0, 0]);
}
