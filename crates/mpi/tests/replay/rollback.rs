//! Every call of a rank can be undone and repeated, and the rank can be saved and restored.

use std::sync::Arc;

use des::Time;
use mpi::{
    Action, COLLECTIVE_CONTEXT, Changes, Message, MessageKind, MpiJob, NO_REQUEST, PackedPath, RMA_CONTEXT,
    Rank, RankState, ReplayError, Transit,
};
use proptest::prelude::*;
use workload::{Operation, Program, TraceError};

use super::network::*;
use super::random_programs::{programs, step};

/// A job with its programs, which may end, block forever, or fail.
#[derive(Clone, Debug)]
struct Case {
    programs: Vec<Vec<Operation>>,
    free_of_overhead: bool,
    seed: u64,
}

impl Case {
    fn job(&self) -> Arc<MpiJob> {
        let mut settings = settings();
        if self.free_of_overhead {
            settings.send_overhead = Time::ZERO;
            settings.receive_overhead = Time::ZERO;
        }
        if self.seed.is_multiple_of(3) {
            settings.matching_overhead = Time(700);
        }
        if self.seed.is_multiple_of(2) {
            settings.short_threshold = 8;
            settings.send_copy_bandwidth = Some(13_000_000_000);
            settings.receive_copy_bandwidth = Some(17_000_000_000);
            settings.reduction_bandwidth = Some(19_000_000_000);
        }
        let ranks = self.programs.len() as u32;
        let communicators = vec![(0..ranks).collect(), (0..ranks).rev().collect()];
        Arc::new(MpiJob::new(ranks, communicators.into(), settings).unwrap())
    }

    fn program(&self, rank: u32) -> Box<dyn Program> {
        Box::new(List(self.programs[rank as usize].clone().into_iter()))
    }

    fn run(
        &self,
        owner: impl FnMut(u32, &mut Rank, Time, Input, &mut Vec<Action>) -> Result<(), ReplayError>,
    ) -> Result<Outcome, ReplayError> {
        let delay = Delay::Random { seed: self.seed };
        drive(self.job(), delay, self.programs.clone(), owner)
    }

    fn undisturbed(&self) -> Result<Outcome, ReplayError> {
        self.run(|_, rank, now, input, out| input.give(rank, now, out))
    }
}

/// Programs in which some receives take any message from any sender, so that not every message reaches its own
/// receive, and in which some ranks wait for the wrong requests.
fn case() -> impl Strategy<Value = Case> {
    let steps = (1..6u32).prop_flat_map(|ranks| (Just(ranks), prop::collection::vec(step(ranks), 0..40)));
    let wild = prop::collection::vec(prop::bool::weighted(0.3), 1..20);
    (steps, wild, 0..40u32, any::<(bool, u64)>()).prop_map(|((ranks, steps), wild, wrong, (free, seed))| {
        let mut programs = programs(ranks, steps).operations;
        let mut wild = wild.into_iter().cycle();
        for operation in programs.iter_mut().flatten() {
            if let Operation::Receive { from, tag, bytes, .. } = operation
                && wild.next() == Some(true)
            {
                (*from, *tag, *bytes) = (None, None, u64::MAX);
            }
        }
        if let Some(program) = programs.get_mut(wrong as usize) {
            program.push(wait(&[u64::MAX]));
        }
        Case {
            programs,
            free_of_overhead: free,
            seed,
        }
    })
}

const KINDS: [MessageKind; 8] = [
    MessageKind::Eager,
    MessageKind::RequestToSend,
    MessageKind::ClearToSend,
    MessageKind::Data,
    MessageKind::Put,
    MessageKind::PutDone,
    MessageKind::Get,
    MessageKind::GetData,
];

/// SplitMix64, one number per step.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    /// Messages of other timelines: numbers, handles and envelopes that may or may not match.
    fn nonsense(&mut self, to: u32, ranks: u32) -> Input {
        let below = |random: &mut Random, bound| random.below(bound) as u32;
        match self.below(12) {
            0 => return Input::Start,
            1 => return Input::Resume,
            2 | 3 => return Input::Injected(below(self, 6)),
            _ => {}
        }
        let tag = below(self, 3);
        let collective = COLLECTIVE_CONTEXT | below(self, 2);
        Input::Arrived(Message {
            from: below(self, u64::from(ranks) + 1),
            to,
            communicator: [0, 1, collective, collective | RMA_CONTEXT, RMA_CONTEXT, 9]
                [self.below(6) as usize],
            tag: [tag, tag, tag << 18, tag << 28][self.below(4) as usize],
            bytes: [0, 1, 10_001, u64::MAX][self.below(4) as usize],
            sequence: [below(self, 8), u32::MAX][usize::from(self.below(20) == 0)],
            request: [below(self, 6), NO_REQUEST][usize::from(self.below(4) == 0)],
            kind: KINDS[self.below(KINDS.len() as u64) as usize],
            path: PackedPath::default(),
        })
    }
}

/// A call with its answer and the states around it.
struct ExecutedCall {
    now: Time,
    input: Input,
    before: RankState,
    answer: (Result<(), ReplayError>, Vec<Action>),
    changes: Option<Changes>,
    after: RankState,
}

impl ExecutedCall {
    /// Executes a call and records it.
    fn execute(rank: &mut Rank, now: Time, input: Input) -> ExecutedCall {
        rank.keep_changes(true);
        let before = rank.state();
        let mut actions = Vec::new();
        let result = input.give(rank, now, &mut actions);
        let after = rank.state();
        let changes = rank.take_changes();
        assert!(changes.is_some() || before == after);
        assert!(rank.take_changes().is_none());
        let answer = (result, actions);
        ExecutedCall {
            now,
            input,
            before,
            answer,
            changes,
            after,
        }
    }

    fn undo(&mut self, rank: &mut Rank) {
        let changes = self.changes.take();
        let described = rank.waiting_for();
        changes.into_iter().for_each(|changes| rank.undo(changes));
        assert_eq!(
            rank.state(),
            self.before,
            "{:?}, {described:?}, {:?}",
            self.input,
            self.answer
        );
        assert!(rank.take_changes().is_none(), "undo notes no change");
    }

    fn repeat(&mut self, rank: &mut Rank) {
        let again = ExecutedCall::execute(rank, self.now, self.input);
        assert_eq!(again.answer, self.answer);
        assert_eq!(again.after, self.after);
        self.changes = again.changes;
    }
}

fn assert_same(a: Result<Outcome, ReplayError>, b: Result<Outcome, ReplayError>) {
    match (a, b) {
        (Ok(a), Ok(b)) => {
            assert_eq!(a.sent, b.sent);
            let states = |outcome: Outcome| outcome.ranks.iter().map(Rank::state).collect::<Vec<_>>();
            assert_eq!(states(a), states(b));
        }
        (a, b) => assert_eq!(a.err(), b.err()),
    }
}

fn saved(rank: &Rank) -> Vec<u8> {
    postcard::to_stdvec(&rank.state()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_call_is_undone_and_done_again(case in case()) {
        let disturbed = case.run(|_, rank, now, input, out| {
            let mut call = ExecutedCall::execute(rank, now, input);
            call.undo(rank);
            call.repeat(rank);
            out.append(&mut call.answer.1);
            call.answer.0
        });
        assert_same(disturbed, case.undisturbed());
    }

    #[test]
    fn several_calls_are_undone_and_done_again(case in case(), seed: u64, together: bool) {
        let mut random = Random(seed);
        let mut histories: Vec<Vec<ExecutedCall>> = case.programs.iter().map(|_| Vec::new()).collect();
        let disturbed = case.run(|number, rank, now, input, out| {
            let history = &mut histories[number as usize];
            let call = ExecutedCall::execute(rank, now, input);
            let (result, actions) = call.answer.clone();
            history.push(call);
            let back = random.below(2 * history.len() as u64 + 1).min(history.len() as u64) as usize;
            let last = history.len() - back;
            if together && back > 0 && history.last().is_some_and(|call| call.answer.0.is_ok()) {
                // As one change: undo all calls, repeat them without taking changes in between, and undo these at
                // once.
                history[last..].iter_mut().rev().for_each(|call| call.undo(rank));
                let mut ignored = Vec::new();
                for call in &history[last..] {
                    call.input.give(rank, call.now, &mut ignored).unwrap();
                }
                assert_eq!(rank.state(), history.last().unwrap().after);
                rank.take_changes().into_iter().for_each(|changes| rank.undo(changes));
                assert_eq!(rank.state(), history[last].before);
            } else {
                history[last..].iter_mut().rev().for_each(|call| call.undo(rank));
            }
            history[last..].iter_mut().for_each(|call| call.repeat(rank));
            out.extend(actions);
            result
        });
        assert_same(disturbed, case.undisturbed());
    }

    #[test]
    fn saved_ranks_go_on_alike(case in case(), seed: u64) {
        let mut random = Random(seed);
        let job = case.job();
        let disturbed = case.run(|number, rank, now, input, out| {
            drop(rank.take_changes());
            if random.below(3) == 0 {
                let bytes = saved(rank);
                let state: RankState = postcard::from_bytes(&bytes).unwrap();
                assert_eq!(state, rank.state());
                // Also after a rollback, which returns operations to the cursor.
                let mut call = ExecutedCall::execute(rank, now, input);
                call.undo(rank);
                assert_eq!(saved(rank), bytes);
                *rank = Rank::restore(job.clone(), number, case.program(number), state).unwrap();
                rank.set_timeline(true);
                assert_eq!(saved(rank), bytes);
                call.repeat(rank);
                rank.undo(call.changes.take().expect("a repeated call changes something"));
                rank.keep_changes(random.below(2) == 0);
            }
            input.give(rank, now, out)
        });
        assert_same(disturbed, case.undisturbed());
    }

    #[test]
    fn unexpected_input_is_answered_and_undone(case in case(), seed: u64) {
        let mut random = Random(seed);
        let ranks = case.programs.len() as u32;
        let disturbed = case.run(|number, rank, now, input, out| {
            let mut history = Vec::new();
            for _ in 0..random.below(12) {
                let call = ExecutedCall::execute(rank, now, random.nonsense(number, ranks));
                let failed = call.answer.0.is_err();
                // Queries of the owner do not change the rank.
                let _ = (rank.waiting_for(), rank.stats().communication(), rank.open_requests());
                history.push(call);
                if failed {
                    break;
                }
            }
            history.iter_mut().rev().for_each(|call| call.undo(rank));
            history.iter_mut().for_each(|call| call.repeat(rank));
            history.iter_mut().rev().for_each(|call| call.undo(rank));
            rank.keep_changes(false);
            let result = input.give(rank, now, out);
            assert!(rank.take_changes().is_none());
            result
        });
        assert_same(disturbed, case.undisturbed());
    }
}

fn single_rank(program: Box<dyn Program>) -> Rank {
    let job = MpiJob::new(1, vec![vec![0]].into(), settings()).unwrap();
    Rank::new(Arc::new(job), 0, program)
}

fn list(operations: Vec<Operation>) -> Box<dyn Program> {
    Box::new(List(operations.into_iter()))
}

#[test]
fn a_broken_source_is_broken_again() {
    /// Returns one error; later answers are unspecified.
    struct Breaks(u32);
    impl Program for Breaks {
        fn next(&mut self) -> Result<Option<Operation>, TraceError> {
            self.0 += 1;
            match self.0 {
                1 => Ok(Some(compute(0))),
                2 => Err(TraceError {
                    file: "x.otf2".into(),
                    rank: Some(0),
                    message: "cut short".into(),
                }),
                _ => Ok(None),
            }
        }
    }
    let mut rank = single_rank(Box::new(Breaks(0)));
    let mut call = ExecutedCall::execute(&mut rank, Time::ZERO, Input::Start);
    assert!(matches!(call.answer.0, Err(ReplayError::Trace(_))));
    call.undo(&mut rank);
    call.repeat(&mut rank);
}

#[test]
fn states_that_do_not_fit_are_refused() {
    let operations = vec![compute(1), compute(2), receive(None, None, 8)];
    let mut rank = single_rank(list(operations.clone()));
    let mut out = Vec::new();
    rank.start(Time::ZERO, &mut out).unwrap();
    rank.resume(Time(1000), &mut out).unwrap();
    rank.resume(Time(3000), &mut out).unwrap();
    assert!(rank.blocked());
    let restore = |operations, state| {
        let job = Arc::new(MpiJob::new(1, vec![vec![0]].into(), settings()).unwrap());
        Rank::restore(job, 0, list(operations), state).map(|rank| rank.state())
    };
    assert_eq!(restore(operations.clone(), rank.state()), Ok(rank.state()));
    let refused = restore(vec![compute(1)], rank.state()).unwrap_err().to_string();
    assert_eq!(
        refused,
        "rank 0: cannot continue from the checkpoint: the trace is not the one of the checkpoint"
    );

    // Damage of every byte gives an error or another state, and no panic.
    let bytes = saved(&rank);
    for index in 0..bytes.len() {
        for value in [0, 1, 2, 7, 127, 255] {
            let mut damaged = bytes.clone();
            damaged[index] = value;
            let Ok(state) = postcard::from_bytes::<RankState>(&damaged) else {
                continue;
            };
            let _ = restore(operations.clone(), state);
        }
    }
}

#[test]
fn a_collective_of_another_job_is_refused() {
    let job =
        |ranks: u32| Arc::new(MpiJob::new(ranks, vec![(0..ranks).collect()].into(), settings()).unwrap());
    let operations = vec![collective(workload::Collective::Allreduce, 0, 0, 8)];
    let mut rank = Rank::new(job(4), 0, list(operations.clone()));
    rank.start(Time::ZERO, &mut Vec::new()).unwrap();
    assert!(Rank::restore(job(4), 0, list(operations.clone()), rank.state()).is_ok());
    for (ranks, number) in [(3, 0), (4, 1)] {
        let refused = Rank::restore(job(ranks), number, list(operations.clone()), rank.state());
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("in a collective that the job does not have")
        );
    }
}

/// Ranks in every kind of state, with every byte damaged: an error or another state, and no panic whatever follows.
#[test]
fn damaged_states_of_all_kinds_are_refused_or_go_on() {
    let job = || Arc::new(MpiJob::new(2, vec![vec![0, 1]].into(), settings()).unwrap());
    let start = |n| nonblocking(workload::Collective::Allreduce, 0, 0, 500, n);
    for last in [wait(&[1]), probe(Some(1), Some(3)), fence()] {
        let operations = vec![start(1), put(1, 500), get(0, 8), start(2), last];
        let mut rank = Rank::new(job(), 0, list(operations.clone()));
        let mut out = Vec::new();
        rank.start(Time::ZERO, &mut out).unwrap();
        rank.resume(Time(10_000), &mut out).unwrap();
        rank.resume(Time(20_000), &mut out).unwrap();
        assert!(rank.blocked());
        let arriving: Vec<Message> = out
            .iter()
            .filter_map(|action| match action {
                Action::Send(message) => Some(Message {
                    from: 1,
                    to: 0,
                    ..*message
                }),
                _ => None,
            })
            .collect();
        let bytes = saved(&rank);
        let restored = Rank::restore(job(), 0, list(operations.clone()), rank.state()).unwrap();
        assert_eq!(saved(&restored), bytes);
        let mut refused = 0;
        for index in 0..bytes.len() {
            for value in [0, 1, 2, 7, 127, 255] {
                let mut damaged = bytes.clone();
                damaged[index] = value;
                let Ok(state) = postcard::from_bytes::<RankState>(&damaged) else {
                    refused += 1;
                    continue;
                };
                let Ok(mut rank) = Rank::restore(job(), 0, list(operations.clone()), state) else {
                    refused += 1;
                    continue;
                };
                for message in &arriving {
                    for kind in KINDS {
                        let message = Message { kind, ..*message };
                        let _ = rank.arrived(Time(9_000_000), message, Transit::default(), &mut out);
                    }
                }
                let _ = (rank.waiting_for(), rank.awaited_ranks());
            }
        }
        assert!(refused > 50, "{refused}");
    }
}

#[test]
fn messages_and_operations_survive_their_bytes() {
    let message = Message {
        from: 1,
        to: 2,
        communicator: COLLECTIVE_CONTEXT | 3,
        tag: 4,
        bytes: u64::MAX,
        sequence: 6,
        request: NO_REQUEST,
        kind: MessageKind::Data,
        path: PackedPath::default(),
    };
    let bytes = postcard::to_stdvec(&message).unwrap();
    assert_eq!(postcard::from_bytes::<Message>(&bytes).unwrap(), message);
    let operations = vec![wait(&[1, 2]), collective(workload::Collective::Scan, 1, 2, 3)];
    let bytes = postcard::to_stdvec(&operations).unwrap();
    assert_eq!(
        postcard::from_bytes::<Vec<Operation>>(&bytes).unwrap(),
        operations
    );
}

#[test]
fn changes_may_go_to_another_thread() {
    fn is_send<T: Send + 'static>() {}
    is_send::<Changes>();
    is_send::<RankState>();
}
