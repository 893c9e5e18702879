use super::*;
use crate::Packet;
use crate::reverse_check::{Reversible, check, script};
use crate::router::bench::{self, RecordedOutput, RouterRecorder, packets, ports, setup};
use proptest::prelude::*;
use routing::{Hop, RouteState, Routing};
use topology::HostId;

type Bench = bench::Bench<OutputQueuedRouter>;

/// Sends a packet to the port that its destination names, on VC 0. Draws a random number and changes the routing state.
struct Explicit;

const EXPLICIT: RoutingContext<'static> = RoutingContext {
    routing: &Explicit,
    loads: &[],
};

impl Routing for Explicit {
    fn vcs(&self) -> u8 {
        2
    }
    fn route(&self, at: At, state: &mut RouteState, _: &dyn Congestion, random: &mut dyn Random) -> Hop {
        state.path = random.below(7) as u16;
        Hop {
            port: Port((at.destination.0 % 4) as u16),
            vc: 0,
            claim: BufferClaim::Reserved,
        }
    }
    fn options(&self, _: At, _: RouteState, _: &mut Vec<(Hop, RouteState)>) {
        unreachable!("no proof is asked for")
    }
}

/// Each VC has space for 100 bytes behind the links.
fn router() -> OutputQueuedRouter {
    OutputQueuedRouter::new(&setup(&ports(100), 200, false), ())
}

impl Bench {
    fn new() -> Bench {
        Bench::of(router(), EXPLICIT)
    }

    /// The packet's message has the number of its input.
    fn arrive(&mut self, at: u64, input: u16, output: u32, bytes: u32) {
        self.until(Time(at));
        let packet = Packet::new(HostId(0), HostId(output), input.into(), bytes, Time(at), 0);
        let arrival = Arrival { input, vc: 0, packet };
        self.router
            .arrived(self.now, arrival, &EXPLICIT, &mut self.outputs);
    }

    /// Starts, inputs and ends of all departures from a port.
    fn departed(&self, port: u16) -> Vec<(u64, u32, u64)> {
        let all = self.outputs.departed.iter().zip(&self.outputs.packets);
        let of_port = all.filter(|(departed, _)| departed.1 == port);
        of_port
            .map(|(departed, packet)| (departed.0, packet.message, departed.3))
            .collect()
    }
}

/// Bytes take 1 ns each. The queue takes more than the far end could hold.
#[test]
fn packets_leave_in_the_order_of_their_arrival_whatever_the_space_behind_the_link() {
    let mut bench = Bench::new();
    bench.arrive(0, 0, 2, 100);
    bench.arrive(10_000, 1, 2, 60);
    bench.arrive(20_000, 0, 2, 80);
    // Behind the third packet at its input, to a free output: no head-of-line blocking.
    bench.arrive(30_000, 0, 1, 50);
    bench.arrive(500_000, 1, 2, 100);
    assert_eq!(
        bench.departed(2),
        [
            (0, 0, 100_000),
            (100_000, 1, 160_000),
            (160_000, 0, 240_000),
            (500_000, 1, 600_000)
        ]
    );
    assert_eq!(bench.departed(1), [(30_000, 0, 80_000)]);
    assert_eq!(bench.outputs.credits, [], "none between routers");
    let used = bench.router.used(2, Time(550_000));
    assert_eq!((used.packets, used.bytes, used.busy), (4, 340, Time(290_000)));
    assert_eq!(used.buffer_full, Time::ZERO);
    assert!(bench.router.is_active(2, Time(599_999)) && !bench.router.is_active(2, Time(600_000)));
    assert_eq!(
        (
            bench.buffered(),
            bench.router.credits(2, 0),
            bench.router.waiting_at(2)
        ),
        (0, 100, 0)
    );
}

/// The port of the host is twice as fast.
#[test]
fn a_host_gets_its_credit_when_the_tail_has_arrived() {
    let mut bench = Bench::new();
    bench.arrive(0, 3, 2, 100);
    // It waits for the link until 100 ns, and its credit does not.
    bench.arrive(20_000, 3, 2, 100);
    assert_eq!(bench.departed(2), [(0, 3, 100_000), (100_000, 3, 200_000)]);
    assert_eq!(bench.outputs.credits, [(50_000, 3, 0, 100), (70_000, 3, 0, 100)]);
}

#[test]
fn onto_a_faster_link_a_packet_waits_until_it_cannot_underrun_and_others_pass_it() {
    let mut bench = Bench::new();
    bench.arrive(0, 0, 3, 100);
    // Of 30 bytes, which may leave at 10 + 15 ns.
    bench.arrive(10_000, 1, 3, 30);
    bench.until(Time(1_000_000));
    assert_eq!(bench.departed(3), [(25_000, 1, 40_000), (50_000, 0, 100_000)]);
}

#[test]
fn routing_sees_what_the_link_has_not_carried_and_always_space() {
    let mut bench = Bench::new();
    bench.arrive(0, 0, 2, 100);
    bench.arrive(0, 1, 2, 60);
    let loads = |now: u64| {
        let seen = OutputQueuedCongestion {
            router: &bench.router,
            now: Time(now),
            context: &EXPLICIT,
        };
        assert_eq!(seen.free_space(Port(2), 0), 100);
        [1, 2].map(|port| seen.load(Port(port)))
    };
    assert_eq!(loads(0), [0, 160]);
    assert_eq!(loads(100_000), [0, 60]);
    assert_eq!(loads(159_001), [0, 0], "rounded down");
    assert_eq!(loads(500_000), [0, 0]);
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Arrive(Arrival),
    /// May come without a pending timer.
    Timer(u16),
    Credit,
}

/// A router under the reverse check, with ports of two speeds, and a warm-up.
struct Subject(OutputQueuedRouter);

impl Reversible for Subject {
    type Op = Op;
    type Step = OutputQueuedUndo;
    type Output = RecordedOutput<GuardExpired>;
    type State = OutputQueuedRouterState;

    fn fresh() -> Subject {
        let mut router = router();
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
        out: &mut RouterRecorder<OutputQueuedRouter, KEPT>,
    ) {
        match *op {
            Op::Arrive(arrival) => self.0.arrived(now, arrival, &EXPLICIT, out),
            Op::Timer(input) => self.0.timer(now, GuardExpired { input }, &EXPLICIT, out),
            Op::Credit => self.0.credit(now, 2, 0, 100, out),
        }
    }

    fn undo(&mut self, step: OutputQueuedUndo) {
        self.0.undo(step);
    }
    fn state(&self) -> OutputQueuedRouterState {
        self.0.state()
    }
    fn restore(&mut self, state: OutputQueuedRouterState) -> Result<(), String> {
        self.0.restore(state)
    }
}

fn op() -> impl Strategy<Value = Op> {
    let arrivals = || {
        (0u16..4, 0u8..2, packets(0u32..=200)).prop_map(|(input, vc, packet)| Arrival { input, vc, packet })
    };
    prop_oneof![
        5 => arrivals().prop_map(Op::Arrive),
        3 => (0u16..4).prop_map(Op::Timer),
        1 => Just(Op::Credit),
    ]
}

proptest! {
    #[test]
    fn every_input_can_be_undone_and_saved(script in script(op(), 100_000)) {
        check::<Subject>(&script)?;
    }
}

#[test]
fn a_state_of_another_router_is_refused_and_changes_nothing() {
    let mut bench = Bench::new();
    bench.arrive(0, 0, 2, 100);
    let good = bench.router.state();
    let mut fresh = router();
    let untouched = fresh.state();
    let mut state = good.clone();
    state.outputs.truncate(3);
    let error = fresh.restore(state).unwrap_err();
    assert!(error.contains("has 4 ports, its saved state 3"), "{error}");
    assert_eq!(fresh.state(), untouched);
    assert_eq!(fresh.restore(good.clone()), Ok(()));
    assert_eq!(fresh.state(), good);
}
