use super::*;
use crate::reverse_check::{Reversible, check, script};
use crate::router::bench::{self, RecordedOutput, RouterRecorder, SLOW, credits, packets, ports, setup};
use proptest::prelude::*;
use routing::{Hop, LoadQuantity, LoadScope, Random, Routing};
use topology::HostId;

type Bench = bench::Bench<CrossbarRouter>;

/// Bytes of the largest packet.
const LARGEST: u32 = 200;

/// Sends a packet to the port and VC that its destination names. Draws a random number and changes the routing state.
struct Explicit;

const EXPLICIT: RoutingContext<'static> = RoutingContext {
    routing: &Explicit,
    loads: &[],
};

impl Routing for Explicit {
    fn vcs(&self) -> u8 {
        2
    }
    fn route(&self, at: At, state: &mut RouteState, seen: &dyn Congestion, random: &mut dyn Random) -> Hop {
        state.path = random.below(7) as u16;
        state.phase = state.phase.wrapping_add(1);
        let (port, vc) = (at.destination.0 % 4, at.destination.0 / 4 % 2);
        let (port, vc) = (Port(port as u16), vc as u8);
        // On VC 1 as far as there is space, as adaptive routing does.
        let claim = match vc == 1 && seen.free_space(port, vc) >= u64::from(LARGEST) {
            true => BufferClaim::Reserved,
            false => BufferClaim::Credit,
        };
        Hop { port, vc, claim }
    }
    fn options(&self, _: At, _: RouteState, _: &mut Vec<(Hop, RouteState)>) {
        unreachable!("no proof is asked for")
    }
}

/// The parameters of a section `network.router`.
fn read(text: &str) -> Result<CrossbarParameters, String> {
    let text = format!("model = \"crossbar\"\n{text}");
    let section = Section::from_toml(&text, "x.toml").expect("TOML");
    section.declare(CrossbarRouter::MODEL.parameters);
    CrossbarRouter::read(&section).map_err(|error| error.to_string())
}

/// Links and injection of 1 ns per byte; ports 0 to 2 lead to routers. Each VC has space for 400 bytes behind a link.
fn bench(text: &str) -> Bench {
    let mut ports = ports(400);
    ports[3].rate = ports[0].rate;
    let mut setup = setup(&ports, LARGEST, false);
    setup.injection = Rate::bits_per_s(SLOW);
    Bench::of(
        CrossbarRouter::new(&setup, read(text).expect("parameters")),
        EXPLICIT,
    )
}

impl Bench {
    /// To VC 0 of an output. The packet's message has the number of its input.
    fn arrive(&mut self, at: u64, input: u16, output: u32, bytes: u32) {
        self.until(Time(at));
        let packet = Packet::new(HostId(0), HostId(output), input.into(), bytes, Time(at), 0);
        let arrival = Arrival { input, vc: 0, packet };
        self.router
            .arrived(self.now, arrival, &EXPLICIT, &mut self.outputs);
    }

    /// Starts, inputs and ends of all departures from a port.
    fn departed(&mut self, port: u16) -> Vec<(u64, u32, u64)> {
        self.until(Time(100_000_000));
        let all = self.outputs.departed.iter().zip(&self.outputs.packets);
        let of_port = all.filter(|(departed, _)| departed.1 == port);
        of_port
            .map(|(departed, packet)| (departed.0, packet.message, departed.3))
            .collect()
    }
}

const FIRST_COME: &str = "arbiter = \"first-come\"";

#[test]
fn booked_packets_have_no_head_of_line_blocking_and_credits_leave_with_their_heads() {
    let mut bench = bench(FIRST_COME);
    bench.arrive(0, 0, 2, 100);
    bench.arrive(10_000, 1, 2, 60);
    // Behind the second packet at its input, to a free output.
    bench.arrive(20_000, 1, 0, 50);
    assert_eq!(bench.departed(2), [(0, 0, 100_000), (100_000, 1, 160_000)]);
    assert_eq!(bench.departed(0), [(20_000, 1, 70_000)]);
    assert_eq!(bench.buffered(), 0);
    // The way to output 2 carries the first packet until 100 ns.
    let credits = [(0, 0, 0, 100), (100_000, 1, 0, 60), (20_000, 1, 0, 50)];
    assert_eq!(bench.outputs.credits, credits);
    assert_eq!((bench.router.load(2), bench.router.credits(2, 0)), (160, 240));
    bench.credit(200_000_000, 2, 0, 160);
    assert_eq!((bench.router.load(2), bench.router.credits(2, 0)), (0, 400));
    let used = bench.router.used(2, Time(150_000));
    assert_eq!((used.packets, used.bytes, used.busy), (2, 160, Time(150_000)));
}

#[test]
fn a_shared_crossbar_is_one_server() {
    let shared = format!("{FIRST_COME}\ncrossbar = \"shared\"\ncrossbar_bandwidth = \"16 Gbps\"");
    let mut bench = bench(&shared);
    // All three come in at once, each at half the rate of the crossbar, which two of them take.
    for input in 0..3 {
        bench.arrive(0, input, (u32::from(input) + 1) % 3, 100);
    }
    bench.until(Time(1_000_000));
    // 300 B at 2 B/ns, and the first 12.5 ns, in which too few bytes have come.
    let slow = |ps| format!("{:?}", SlowPacket::new(Time(ps)));
    let signals = [(0, 2, slow(125_000)), (0, 0, slow(162_500))];
    assert_eq!(bench.outputs.signals, signals);
}

/// The crossbar has a quarter of the rate of the links.
#[test]
fn a_router_is_told_that_a_packet_comes_slowly() {
    let slow = format!("{FIRST_COME}\ncrossbar_bandwidth = \"2 Gbps\"");
    let mut bench = bench(&slow);
    bench.arrive(0, 0, 2, 100);
    bench.arrive(0, 1, 3, 100);
    assert_eq!(bench.departed(2), [(0, 0, 100_000)]);
    assert_eq!(bench.departed(3), [(300_000, 1, 400_000)], "hosts get tails");
    let signal = format!("{:?}", SlowPacket::new(Time(400_000)));
    assert_eq!(bench.outputs.signals, [(0, 2, signal)]);
    // The link carries the packet at the end of the time in which it comes.
    let busy = |until| bench.router.used(2, Time(until)).busy;
    assert_eq!(
        [300_000, 350_000, 400_000].map(busy),
        [0, 50_000, 100_000].map(Time)
    );
    let incoming = Time(400_000);
    bench.router.signal(
        bench.now,
        1,
        SlowPacket::new(incoming),
        &EXPLICIT,
        &mut bench.outputs,
    );
    let now = bench.now.ps();
    bench.router.crossbar = Rate::bits_per_s(SLOW);
    bench.arrive(now, 1, 3, 100);
    bench.arrive(now + 400_000, 1, 3, 100);
    bench.until(Time(now + 1_000_000));
    let ends: Vec<u64> = bench.outputs.departed[2..]
        .iter()
        .map(|departed| departed.3 - now)
        .collect();
    assert_eq!(
        ends,
        [400_000, 500_000],
        "the second comes at the rate of its link"
    );
}

#[test]
fn an_output_buffer_without_space_holds_up_its_own_packets() {
    let small = format!("{FIRST_COME}\nvc_output_buffer = \"200 B\"");
    let mut bench = bench(&small);
    // Credits for two packets, space for one more.
    for _ in 0..4 {
        bench.arrive(bench.now.ps() + 1_000_000, 0, 2, 200);
    }
    bench.arrive(bench.now.ps(), 1, 0, 200);
    bench.until(Time(8_000_000));
    assert_eq!(
        bench.outputs.departed.len(),
        3,
        "two to output 2, one to output 0"
    );
    assert_eq!(bench.buffered(), 2);
    assert_eq!(
        bench.outputs.credits.len(),
        4,
        "the last packet is in its input buffer"
    );
    assert_eq!(bench.router.waiting_at(2), 2);
    let stalled = bench.router.used(2, Time(9_000_000)).buffer_full;
    assert_eq!(stalled, Time(6_000_000), "from 3 us on");
    let seen = CrossbarCongestion {
        router: &bench.router,
        now: bench.now,
        bytes: 200,
        context: &EXPLICIT,
    };
    let load = |quantity, scope| seen.load_by(LoadMetric { quantity, scope }, Port(2), 0);
    assert_eq!(load(LoadQuantity::Total, LoadScope::Port), 800);
    assert_eq!(load(LoadQuantity::Queue, LoadScope::Vc), 400);
    assert_eq!(load(LoadQuantity::Credits, LoadScope::Vc), 400);
    assert_eq!(load(LoadQuantity::Credits, LoadScope::Port), 400);
    assert_eq!(seen.free_space(Port(2), 0), 0);
    bench.credit(10_000_000, 2, 0, 200);
    bench.credit(11_000_000, 2, 0, 200);
    let starts: Vec<u64> = bench.departed(2).iter().map(|departed| departed.0).collect();
    assert_eq!(starts, [1_000_000, 2_000_000, 10_000_000, 11_000_000]);
    assert_eq!(bench.buffered(), 0);
}

/// From a host all of it is there after 100 ns, crosses until 200 ns, and is on the link until 300 ns.
#[test]
fn stored_packets_go_on_when_all_of_them_is_there() {
    for (arbiter, flit) in [("first-come", 0), ("age", 1_000)] {
        let keys = match flit {
            0 => "",
            _ => "flit = \"1 B\"",
        };
        let text = format!("arbiter = \"{arbiter}\"\nswitching = \"store-and-forward\"\n{keys}");
        let mut bench = bench(&text);
        bench.arrive(0, 3, 2, 100);
        let start = 200_000 + 2 * flit;
        assert_eq!(bench.departed(2), [(start, 3, start + 100_000)], "{arbiter}");
        // From a router it comes with its tail.
        bench.arrive(200_000_000, 1, 3, 100);
        bench.until(Time(300_000_000));
        let departed = bench.outputs.departed[1];
        assert_eq!((departed.1, departed.3), (3, 200_200_000 + 2 * flit), "{arbiter}");
    }
}

/// Cycles of 10 ns, flits of 10 B.
const ROUND_ROBIN: &str = "flit = \"10 B\"";

#[test]
fn with_cycles_a_packet_crosses_at_once_and_its_link_starts_a_flit_later() {
    let mut bench = bench(ROUND_ROBIN);
    // In the cycle that starts at 10 ns; the next packet from this input when the first has crossed, at 110 ns.
    bench.arrive(1_000, 0, 2, 100);
    bench.arrive(5_000, 0, 1, 95);
    // Busy until 110 ns is the output, too. Then input 1 is asked before input 3. The link takes whole flits.
    bench.arrive(20_000, 1, 2, 15);
    bench.arrive(20_000, 3, 2, 10);
    let departed = [(20_000, 0, 120_000), (120_000, 1, 135_000), (140_000, 3, 150_000)];
    assert_eq!(bench.departed(2), departed);
    assert_eq!(bench.departed(1), [(120_000, 0, 215_000)]);
    // In the flit before the start the link is idle.
    let busy = |until| bench.router.used(1, Time(until)).busy;
    assert_eq!(
        [119_000, 121_000, 215_000].map(busy),
        [0, 1_000, 95_000].map(Time)
    );
    let credits = [
        (10_000, 0, 0, 100),
        (110_000, 0, 0, 95),
        (110_000, 1, 0, 15),
        (130_000, 3, 0, 10),
    ];
    let mut found = bench.outputs.credits.clone();
    found.sort_unstable();
    assert_eq!(found, credits);
}

#[test]
fn queues_have_head_of_line_blocking() {
    let mut bench = bench(ROUND_ROBIN);
    bench.arrive(1_000, 0, 2, 200);
    bench.arrive(12_000, 1, 2, 100);
    bench.arrive(13_000, 1, 0, 100);
    assert_eq!(
        bench.departed(0),
        [(320_000, 1, 420_000)],
        "after the one before it"
    );
}

#[test]
fn with_a_queue_for_each_output_packets_wait_for_their_own_output_only() {
    for arbiter in ["round-robin", "islip", "age", "least-recently-used", "random"] {
        let text = format!("{ROUND_ROBIN}\narbiter = \"{arbiter}\"\nqueues = \"per-output\"");
        let mut bench = bench(&text);
        bench.arrive(1_000, 0, 2, 200);
        bench.arrive(12_000, 1, 2, 100);
        bench.arrive(13_000, 1, 0, 100);
        let waiting = [0, 2].map(|output| bench.router.waiting_at(output));
        assert_eq!(waiting, [1, 1], "both of input 1 are routed, {arbiter}");
        // From the cycle at 20 ns on; its input is busy until 120 ns, the output of the other until 210 ns.
        assert_eq!(bench.departed(0), [(30_000, 1, 130_000)], "{arbiter}");
        assert_eq!(bench.departed(2)[1], (220_000, 1, 320_000), "{arbiter}");
    }
}

/// Which of three inputs goes first, and who after that.
fn order(arbiter: &str) -> Vec<u32> {
    let text = format!("arbiter = \"{arbiter}\"\nflit = \"10 B\"\nvc_output_buffer = \"400 B\"");
    let mut bench = bench(&text);
    for _ in 0..2 {
        // Handed over in the order 2, 1, 0.
        for input in 0..3u16 {
            let created = Time(5_000 - u64::from(input));
            let packet = Packet::new(HostId(0), HostId(3), input.into(), 20, created, 0);
            let arrival = Arrival { input, vc: 0, packet };
            bench.until(Time(5_000));
            bench
                .router
                .arrived(Time(5_000), arrival, &EXPLICIT, &mut bench.outputs);
        }
    }
    bench.departed(3).iter().map(|departed| departed.1).collect()
}

#[test]
fn arbiters_choose_as_they_say() {
    assert_eq!(order("least-recently-used"), [0, 1, 2, 0, 1, 2]);
    assert_eq!(order("age"), [2, 2, 1, 1, 0, 0]);
    assert_eq!(order("islip"), [0, 1, 2, 0, 1, 2]);
    assert_eq!(order("round-robin"), [0, 1, 2, 0, 1, 2]);
    // In the cycles 1, 3, 5, ..., in which inputs 0, 2, 0, 2, 0, 2 are asked first, of four.
    assert_eq!(order("rotating"), [0, 2, 0, 2, 1, 1]);
    let mut random = order("random");
    random.sort_unstable();
    assert_eq!(random, [0, 0, 1, 1, 2, 2]);
}

/// Each of two inputs has a packet for each of two outputs, the same one first.
#[test]
fn iterations_match_what_one_leaves_idle() {
    let both = |iterations: u8| {
        let text = format!("arbiter = \"islip\"\niterations = {iterations}\nflit = \"10 B\"");
        let mut bench = bench(&text);
        for vc in 0..2u8 {
            for input in 0..2u16 {
                let packet = Packet::new(HostId(0), HostId(vc.into()), 0, 20, Time(0), 0);
                let arrival = Arrival { input, vc, packet };
                bench
                    .router
                    .arrived(Time(0), arrival, &EXPLICIT, &mut bench.outputs);
            }
        }
        bench.until(Time(15_000));
        bench.outputs.credits.len()
    };
    // Both outputs grant input 0, which accepts one of them.
    assert_eq!((both(1), both(2)), (1, 2));
}

#[test]
fn reserved_credits_are_taken_when_a_packet_is_routed() {
    for text in [FIRST_COME, ROUND_ROBIN] {
        let mut bench = bench(text);
        for (input, bytes) in [(0, 150), (1, 100)] {
            let packet = Packet::new(HostId(0), HostId(6), 0, bytes, Time(0), 0);
            let arrival = Arrival { input, vc: 0, packet };
            bench
                .router
                .arrived(Time(0), arrival, &EXPLICIT, &mut bench.outputs);
        }
        let seen = |bench: &Bench| {
            let seen = CrossbarCongestion {
                router: &bench.router,
                now: bench.now,
                bytes: LARGEST,
                context: &EXPLICIT,
            };
            seen.free_space(Port(2), 1)
        };
        // A third packet does not fit, whether they have left or not.
        assert_eq!(seen(&bench), 0, "{text}");
        assert_eq!(bench.departed(2).len(), 2, "{text}");
        assert_eq!((seen(&bench), bench.router.credits(2, 1)), (0, 150), "{text}");
        bench.credit(200_000_000, 2, 1, 250);
        assert_eq!(seen(&bench), 400, "{text}");
        assert_eq!(bench.router.load(2), 0);
    }
}

#[test]
fn parameters_that_contradict_each_other_are_refused() {
    let refused = [
        (
            "crossbar = \"shared\"",
            "expected crossbar = \"per-port\", or arbiter = \"first-come\"",
        ),
        ("iterations = 2", "expected no iterations, or arbiter = \"islip\""),
        ("arbiter = \"islip\"\niterations = 65", "expected 1 to 64"),
        (
            "arbiter = \"first-come\"\nflit = \"8 B\"",
            "expected no flit, or another arbiter",
        ),
        ("flit = \"0 B\"", "expected 1 B to 65536 B"),
        (
            "speedup = 2\ncrossbar_bandwidth = \"1 Tbps\"",
            "expected one of crossbar_bandwidth and speedup",
        ),
        ("crossbar_bandwidth = \"1 kbps\"", "expected at least 1 Mbps"),
        ("vc_output_buffer = \"2 GiB\"", "expected 1 B to"),
        (
            "arbiter = \"first-come\"\nqueues = \"per-output\"",
            "expected queues = \"per-vc\", or another arbiter",
        ),
        ("arbiter = \"rotating\"\nqueues = \"per-output\"", "asks each VC"),
    ];
    for (text, expected) in refused {
        let error = read(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let limits = CrossbarRouter::packet_limits(&read("vc_output_buffer = \"1 KB\"").unwrap());
    assert_eq!(limits.most.map(|limit| limit.bytes), Some(1000));
}

#[derive(Clone, Debug)]
enum Op {
    Arrive(Arrival),
    /// May come without having been set.
    Timer(CrossbarTimer),
    Credit(u16, u8, u32),
    Slow(u16, u64),
}

/// A router under the reverse check, with ports of two speeds, and a warm-up. The number selects parameters.
struct Subject<const KIND: usize>(CrossbarRouter);

const KINDS: [&str; 11] = [
    "arbiter = \"first-come\"\nvc_output_buffer = \"300 B\"\ncrossbar = \"shared\"",
    "arbiter = \"first-come\"\ncrossbar_bandwidth = \"3 Gbps\"",
    "arbiter = \"first-come\"\nswitching = \"store-and-forward\"\nvc_output_buffer = \"300 B\"",
    "arbiter = \"least-recently-used\"\nflit = \"8 B\"\nvc_output_buffer = \"300 B\"",
    "arbiter = \"random\"\nflit = \"32 B\"\nswitching = \"store-and-forward\"",
    "arbiter = \"islip\"\niterations = 3\nflit = \"32 B\"",
    "flit = \"8 B\"",
    "arbiter = \"rotating\"\nvc_output_buffer = \"300 B\"",
    "queues = \"per-output\"\nvc_output_buffer = \"300 B\"",
    "arbiter = \"least-recently-used\"\nqueues = \"per-output\"\nflit = \"8 B\"",
    "arbiter = \"islip\"\nqueues = \"per-output\"\nswitching = \"store-and-forward\"",
];

impl<const KIND: usize> Reversible for Subject<KIND> {
    type Op = Op;
    type Step = CrossbarUndo;
    type Output = RecordedOutput<CrossbarTimer>;
    type State = CrossbarRouterState;

    fn fresh() -> Self {
        let ports = ports(400);
        let mut setup = setup(&ports, LARGEST, false);
        setup.measured = Measured {
            from: Time(1_000_000),
            until: Time(2_000_000),
        };
        Subject(CrossbarRouter::new(
            &setup,
            read(KINDS[KIND]).expect("parameters"),
        ))
    }

    fn apply<const KEPT: bool>(
        &mut self,
        now: Time,
        op: &Op,
        out: &mut RouterRecorder<CrossbarRouter, KEPT>,
    ) {
        match *op {
            Op::Arrive(arrival) => self.0.arrived(now, arrival, &EXPLICIT, out),
            Op::Credit(port, vc, bytes) => self.0.credit(now, port, vc, bytes, out),
            Op::Slow(port, ps) => {
                let incoming = Time(ps);
                self.0
                    .signal(now, port, SlowPacket::new(incoming), &EXPLICIT, out);
            }
            Op::Timer(timer) => {
                // What expires is due now: the next cycle, and the links.
                if let CrossbarTimer::Cycle = timer
                    && let clock = self.0.cycle_clock()
                    && self.0.clocks.get(clock).is_some_and(|at| *at < now)
                {
                    self.0.set_clock(clock, now, out);
                }
                if let CrossbarTimer::Link { output } = timer
                    && let clock = self.0.link_clock(output)
                    && self.0.clocks.get(clock).is_some_and(|at| *at < now)
                {
                    self.0.set_clock(clock, now, out);
                }
                let is_of_kind =
                    self.0.first_come() != matches!(timer, CrossbarTimer::Cycle | CrossbarTimer::Link { .. });
                if is_of_kind {
                    self.0.timer(now, timer, &EXPLICIT, out);
                }
            }
        }
    }

    fn undo(&mut self, step: CrossbarUndo) {
        self.0.undo(step);
    }
    fn state(&self) -> CrossbarRouterState {
        self.0.state()
    }
    fn restore(&mut self, state: CrossbarRouterState) -> Result<(), String> {
        self.0.restore(state)
    }
}

fn op() -> impl Strategy<Value = Op> {
    let arrivals = (0u16..4, 0u8..2, packets(1..=LARGEST));
    let credit = |(port, vc, bytes)| Op::Credit(port, vc, bytes);
    let timer = prop_oneof![
        1 => (0u16..4).prop_map(|input| CrossbarTimer::Stored { input }),
        2 => (0u16..4).prop_map(|server| CrossbarTimer::Crossed { server }),
        2 => (0u16..4, 0u8..2).prop_map(|(output, vc)| CrossbarTimer::Left { output, vc }),
        3 => Just(CrossbarTimer::Cycle),
        3 => (0u16..4).prop_map(|output| CrossbarTimer::Link { output }),
    ];
    prop_oneof![
        6 => arrivals.prop_map(|(input, vc, packet)| Op::Arrive(Arrival { input, vc, packet })),
        6 => timer.prop_map(Op::Timer),
        3 => credits(0u32..300).prop_map(credit),
        1 => credits(any::<u32>()).prop_map(credit),
        1 => (0u16..4, 0u64..2_000_000).prop_map(|(port, ps)| Op::Slow(port, ps)),
    ]
}

proptest! {
    #[test]
    fn every_input_can_be_undone_and_saved(script in script(op(), 100_000)) {
        check::<Subject<0>>(&script)?;
        check::<Subject<1>>(&script)?;
        check::<Subject<2>>(&script)?;
        check::<Subject<3>>(&script)?;
        check::<Subject<4>>(&script)?;
        check::<Subject<5>>(&script)?;
        check::<Subject<6>>(&script)?;
        check::<Subject<7>>(&script)?;
        check::<Subject<8>>(&script)?;
        check::<Subject<9>>(&script)?;
        check::<Subject<10>>(&script)?;
    }
}

#[test]
fn a_state_of_another_router_is_refused_and_changes_nothing() {
    let mut first = bench(ROUND_ROBIN);
    first.arrive(1_000, 0, 2, 100);
    let good = first.router.state();
    let mut fresh = bench(ROUND_ROBIN).router;
    let untouched = fresh.state();
    let mut changed = [good.clone(), good.clone(), good.clone(), good.clone()];
    changed[0].outputs.truncate(3);
    changed[1].turns[0] = 8;
    changed[2].outputs[0].last_vc = 2;
    changed[3].lists[0][0].output = 4;
    for state in changed {
        let error = fresh.restore(state).unwrap_err();
        assert!(error.contains("saved state"), "{error}");
        assert_eq!(fresh.state(), untouched);
    }
    let error = bench(FIRST_COME).router.restore(good.clone()).unwrap_err();
    assert!(
        error.contains("other ports, virtual channels or parameters"),
        "{error}"
    );
    assert_eq!(fresh.restore(good.clone()), Ok(()));
    assert_eq!(fresh.state(), good);
}
