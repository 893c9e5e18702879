//! Random programs that cannot deadlock.
//!
//! They follow from one list of steps. Every step is in the programs of all ranks that it concerns. The ranks of
//! the first incomplete step have no earlier incomplete step, so such programs cannot deadlock, whatever blocks.

use mpi::ALGORITHMS;
use proptest::prelude::*;
use workload::{Call, Collective, Counts, Operation};

use super::network::*;

#[derive(Clone, Debug)]
pub enum Step {
    Message {
        from: u32,
        to: u32,
        tag: u32,
        size: u64,
        send: Call,
        receive: Call,
        any_tag: bool,
        in_reverse: bool,
        probed: bool,
    },
    OneSided {
        from: u32,
        to: u32,
        bytes: u64,
        in_reverse: bool,
        gets: bool,
    },
    Fence {
        in_reverse: bool,
    },
    Compute {
        rank: u32,
        ps: u64,
    },
    WaitAll {
        rank: u32,
    },
    Collective {
        algorithm: usize,
        in_reverse: bool,
        root: u32,
        bytes: u64,
        blocking: bool,
        varies: bool,
    },
}

pub fn step(ranks: u32) -> impl Strategy<Value = Step> {
    let send = prop::sample::select(vec![
        Call::Send,
        Call::Ssend,
        Call::Bsend,
        Call::Rsend,
        Call::Isend,
        Call::Issend,
        Call::Ibsend,
        Call::Irsend,
    ]);
    let receive = prop::sample::select(vec![Call::Recv, Call::Irecv]);
    let message = (
        0..ranks,
        0..ranks,
        0..3u32,
        0..150u64,
        send,
        receive,
        any::<(bool, bool, bool)>(),
    )
        .prop_map(
            |(from, to, tag, size, send, receive, (any_tag, in_reverse, probed))| Step::Message {
                from,
                to,
                tag,
                size,
                send,
                receive,
                any_tag,
                in_reverse,
                probed,
            },
        );
    let collective = (
        0..ALGORITHMS.len(),
        any::<(bool, bool, bool)>(),
        0..ranks,
        0..3000u64,
    )
        .prop_map(
            |(algorithm, (in_reverse, blocking, varies), root, bytes)| Step::Collective {
                algorithm,
                in_reverse,
                root,
                bytes,
                blocking,
                varies,
            },
        );
    let one_sided = (0..ranks, 0..ranks, 0..300u64, any::<(bool, bool)>()).prop_map(
        |(from, to, bytes, (in_reverse, gets))| Step::OneSided {
            from,
            to,
            bytes,
            in_reverse,
            gets,
        },
    );
    prop_oneof![
        10 => message,
        2 => (0..ranks, 0..3_000_000u64).prop_map(|(rank, ps)| Step::Compute { rank, ps }),
        2 => (0..ranks).prop_map(|rank| Step::WaitAll { rank }),
        2 => collective,
        2 => one_sided,
        1 => any::<bool>().prop_map(|in_reverse| Step::Fence { in_reverse }),
    ]
}

/// Programs under construction, with the open requests of each rank.
pub struct Programs {
    pub operations: Vec<Vec<Operation>>,
    open: Vec<Vec<u64>>,
    next_request: u64,
    messages: u64,
    bytes: u64,
}

impl Programs {
    fn request(&mut self, rank: u32, call: Call, to_oneself: bool) -> Option<u64> {
        let blocking_call = matches!(
            call,
            Call::Send | Call::Ssend | Call::Bsend | Call::Rsend | Call::Recv
        );
        if blocking_call && !to_oneself {
            return None;
        }
        Some(self.new_request(rank))
    }

    fn new_request(&mut self, rank: u32) -> u64 {
        self.next_request += 1;
        self.open[rank as usize].push(self.next_request);
        self.next_request
    }

    fn wait(&mut self, rank: u32) {
        let requests = std::mem::take(&mut self.open[rank as usize]);
        self.operations[rank as usize].push(wait(&requests));
    }

    fn add(&mut self, ranks: u32, step: Step) {
        match step {
            Step::Message {
                from,
                to,
                tag,
                size,
                send,
                receive,
                any_tag,
                in_reverse,
                probed,
            } => {
                // Sizes are all different and buffers exact, so that a wrong match is an error. The remainder
                // selects eager or rendezvous.
                let bytes = self.messages + if size % 2 == 0 { 0 } else { 10_000 };
                let communicator = u32::from(in_reverse);
                let name = |rank: u32| if in_reverse { ranks - 1 - rank } else { rank };
                let request = self.request(from, send, from == to);
                let sending = Operation::Send {
                    to: name(to),
                    tag,
                    communicator,
                    bytes,
                    request,
                    call: send,
                };
                let request = self.request(to, receive, from == to);
                let receiving = Operation::Receive {
                    from: Some(name(from)),
                    tag: (!any_tag).then_some(tag),
                    communicator,
                    bytes,
                    request,
                    call: receive,
                };
                self.operations[from as usize].push(sending);
                if probed {
                    // Earlier receives take all messages before this one.
                    self.operations[to as usize].push(Operation::Probe {
                        from: Some(name(from)),
                        tag: (!any_tag).then_some(tag),
                        communicator,
                        call: Call::Probe,
                    });
                }
                self.operations[to as usize].push(receiving);
                self.messages += 1;
                self.bytes += bytes;
            }
            Step::Compute { rank, ps } => {
                self.operations[rank as usize].push(Operation::Compute { ps, region: None })
            }
            Step::WaitAll { rank } => self.wait(rank),
            Step::OneSided {
                from,
                to,
                bytes,
                in_reverse,
                gets,
            } => {
                let (communicator, peer) = match in_reverse {
                    true => (1, ranks - 1 - to),
                    false => (0, to),
                };
                let operation = match gets {
                    true => get_on(communicator, peer, bytes),
                    false => put_on(communicator, peer, bytes),
                };
                self.operations[from as usize].push(operation);
                self.messages += 1;
                self.bytes += bytes;
            }
            Step::Fence { in_reverse } => {
                let programs = self.operations.iter_mut();
                programs.for_each(|program| program.push(fence_on(in_reverse.into())));
            }
            Step::Collective {
                algorithm,
                in_reverse,
                root,
                bytes,
                blocking,
                varies,
            } => {
                let (which, communicator) = (ALGORITHMS[algorithm].collective, u32::from(in_reverse));
                for rank in 0..ranks {
                    let mut operation = match blocking {
                        true => collective(which, communicator, root, bytes),
                        false => nonblocking(which, communicator, root, bytes, self.new_request(rank)),
                    };
                    if let Operation::Collective { counts, .. } = &mut operation {
                        let position = if in_reverse { ranks - 1 - rank } else { rank };
                        *counts = varies.then(|| Box::new(counts_of(which, position, ranks, root, bytes)));
                    }
                    self.operations[rank as usize].push(operation);
                }
            }
        }
    }
}

/// Counts on which the ranks agree, some of them zero.
fn counts_of(which: Collective, rank: u32, ranks: u32, root: u32, bytes: u64) -> Counts {
    let size = |from: u32, to: u32| bytes * u64::from((from + 2 * to) % 3);
    let own = |rank: u32| size(rank, 0);
    let at_root = || {
        if rank == root {
            (0..ranks).map(own).collect()
        } else {
            vec![]
        }
    };
    let (sends, receives) = match which {
        Collective::Alltoall => (
            (0..ranks).map(|to| size(rank, to)).collect(),
            (0..ranks).map(|from| size(from, rank)).collect(),
        ),
        Collective::Gather => (vec![own(rank)], at_root()),
        Collective::Scatter => (at_root(), vec![own(rank)]),
        Collective::Allgather => (vec![own(rank)], (0..ranks).map(own).collect()),
        Collective::ReduceScatter => (vec![], (0..ranks).map(own).collect()),
        _ => (vec![], vec![]),
    };
    Counts::new(sends, receives)
}

pub fn programs(ranks: u32, steps: Vec<Step>) -> Programs {
    let empty = || vec![Vec::new(); ranks as usize];
    let mut programs = Programs {
        operations: empty(),
        open: vec![Vec::new(); ranks as usize],
        next_request: 0,
        messages: 0,
        bytes: 0,
    };
    steps.into_iter().for_each(|step| programs.add(ranks, step));
    (0..ranks).for_each(|rank| programs.wait(rank));
    programs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn matched_programs_end_with_every_message_in_its_receive(
        (ranks, steps) in (1..7u32).prop_flat_map(|n| (Just(n), prop::collection::vec(step(n), 0..60))),
        seed: u64,
        free_of_overhead: bool,
    ) {
        let made = programs(ranks, steps);
        let mut settings = settings();
        if free_of_overhead {
            settings.send_overhead = des::Time::ZERO;
            settings.receive_overhead = des::Time::ZERO;
        }
        if seed % 2 == 0 {
            settings.matching_overhead = des::Time(700);
        }
        if seed % 3 == 0 {
            settings.short_threshold = 8;
            settings.send_copy_bandwidth = Some(13_000_000_000);
            settings.receive_copy_bandwidth = Some(17_000_000_000);
            settings.reduction_bandwidth = Some(19_000_000_000);
        }
        let communicators = vec![(0..ranks).collect(), (0..ranks).rev().collect()];
        let run = || {
            run_in(settings.clone(), Delay::Random { seed }, communicators.clone(), made.operations.clone())
        };
        let outcome = run().unwrap();
        outcome.assert_clean();
        let sum = |of: fn(&mpi::RankStats) -> u64| (0..ranks as usize).map(|r| of(outcome.stats(r))).sum::<u64>();
        prop_assert_eq!(sum(|s| s.messages_received), made.messages);
        prop_assert_eq!(sum(|s| s.bytes_received), made.bytes);

        let again = run().unwrap();
        prop_assert_eq!(&outcome.sent, &again.sent);
        for rank in 0..ranks as usize {
            prop_assert_eq!(outcome.stats(rank), again.stats(rank));
        }
    }
}
