//! Runs an algorithm with symbolic contributions, to check the result of each rank.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use workload::Counts;

use super::{CollectiveAlgorithm, CollectiveArgs, CollectiveCall, HostLayout, RanksByHost, Round};

/// A sum that counts how often it contains each rank's contribution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContributionSum(BTreeMap<u32, u32>);

impl ContributionSum {
    pub fn of(rank: u32) -> ContributionSum {
        ContributionSum::of_all(rank..rank + 1)
    }

    pub fn of_all(ranks: Range<u32>) -> ContributionSum {
        ContributionSum(ranks.map(|rank| (rank, 1)).collect())
    }

    pub fn add(&mut self, other: &ContributionSum) {
        for (rank, times) in &other.0 {
            *self.0.entry(*rank).or_default() += times;
        }
    }
}

/// An algorithm that is run, on ranks by host if it needs them.
#[derive(Clone, Copy)]
pub struct Tested<'a> {
    algorithm: &'a CollectiveAlgorithm,
    hosts: Option<&'a RanksByHost>,
}

impl<'a> From<&'a CollectiveAlgorithm> for Tested<'a> {
    fn from(algorithm: &'a CollectiveAlgorithm) -> Tested<'a> {
        Tested {
            algorithm,
            hosts: None,
        }
    }
}

impl<'a> Tested<'a> {
    pub fn on(algorithm: &'a CollectiveAlgorithm, hosts: &'a RanksByHost) -> Tested<'a> {
        let hosts = Some(hosts);
        Tested { algorithm, hosts }
    }
}

/// Layouts of ranks that share hosts: blocks, round robin, and uneven ones.
pub fn on_hosts(test: impl Fn(&RanksByHost)) {
    let even = (2..6).flat_map(|hosts| (2..6).map(move |each| (hosts, each)));
    let blocks = even
        .clone()
        .map(|(hosts, each)| (0..hosts * each).map(|rank| rank / each).collect());
    let robin = even.map(|(hosts, each)| (0..hosts * each).map(|rank| rank % hosts).collect());
    let uneven = [vec![3, 3, 3, 1, 1], vec![1, 2, 1], vec![4, 0, 0, 4, 4, 2, 4]];
    let layouts: Vec<Vec<u32>> = blocks.chain(robin).chain(uneven).collect();
    for layout in layouts {
        test(&RanksByHost::new(layout));
    }
}

/// Those with equally many ranks on every host.
pub fn on_even_hosts(test: impl Fn(&RanksByHost)) {
    on_hosts(|hosts| {
        if hosts.has(HostLayout::SharedEvenly) {
            test(hosts);
        }
    });
}

/// Messages and bytes of a run that looks at nothing else.
pub fn totals<'a>(tested: impl Into<Tested<'a>>, ranks: u32, root: u32, bytes: u64) -> MessageTotals {
    run(
        tested,
        ranks,
        root,
        bytes,
        |_| (),
        |(), _, size| ((), size),
        |(), _, ()| (),
    )
    .1
}

/// A message in flight.
#[derive(Clone, Copy, Debug)]
pub struct MessagePassage {
    pub from: u32,
    pub to: u32,
    pub round: u32,
    /// Index among the messages of this round between these two ranks.
    pub nth: u32,
    /// Bytes that the receiver reduces; known on arrival.
    pub reduced: Option<u64>,
}

/// A message in flight, its size and payload.
type Sent<Payload> = (MessagePassage, u64, Payload);

/// Messages and bytes.
type MessageTotals = (u64, u64);

pub fn every_size(test: impl Fn(u32)) {
    (1..=33).for_each(test);
}

pub fn every_size_and_root(test: impl Fn(u32, u32)) {
    every_size(|ranks| (0..ranks).for_each(|root| test(ranks, root)));
}

/// Contributions times edges that they cross in a binomial tree: the sizes of all subtrees but the
/// whole tree.
pub fn subtrees(ranks: u32) -> u64 {
    (1..ranks)
        .map(|rank| u64::from((1 << rank.trailing_zeros()).min(ranks - rank)))
        .sum()
}

/// Pairs of ranks that differ in one bit.
pub fn pairs(ranks: u32) -> u64 {
    let pairs_at = |mask: u64| {
        let n = u64::from(ranks);
        n / (2 * mask) * mask + (n % (2 * mask)).saturating_sub(mask)
    };
    (0..32).map(|bit| pairs_at(1 << bit)).sum()
}

/// Runs all ranks, all with the same bytes; see [`run_with`].
pub fn run<'a, State, Payload>(
    algorithm: impl Into<Tested<'a>>,
    ranks: u32,
    root: u32,
    bytes: u64,
    start: impl Fn(u32) -> State,
    send: impl Fn(&mut State, MessagePassage, u64) -> (Payload, u64),
    receive: impl Fn(&mut State, MessagePassage, Payload),
) -> (Vec<State>, MessageTotals) {
    run_with(algorithm, ranks, root, bytes, |_| None, start, send, receive)
}

/// Runs all ranks. `send` gives the content of a message and its size; `receive` adds the content to the receiver's
/// state. Returns the final states, and messages and bytes.
///
/// All sends of a round leave before its receives complete. The run checks that sizes of messages agree with
/// payload and receiver, that ranks agree on rounds, that all ranks end, and that no message is left over.
#[allow(clippy::too_many_arguments)]
pub fn run_with<'a, State, Payload>(
    tested: impl Into<Tested<'a>>,
    ranks: u32,
    root: u32,
    bytes: u64,
    counts: impl Fn(u32) -> Option<Counts>,
    start: impl Fn(u32) -> State,
    send: impl Fn(&mut State, MessagePassage, u64) -> (Payload, u64),
    receive: impl Fn(&mut State, MessagePassage, Payload),
) -> (Vec<State>, MessageTotals) {
    let Tested { algorithm, hosts } = tested.into();
    let counts: Vec<Option<Counts>> = (0..ranks).map(counts).collect();
    let mut states: Vec<State> = (0..ranks).map(start).collect();
    let mut rounds: Vec<(u32, Option<Round>)> = vec![(0, None); ranks as usize];
    let mut ended = vec![false; ranks as usize];
    let mut network: BTreeMap<(u32, u32), VecDeque<Sent<Payload>>> = BTreeMap::new();
    let mut tally = (0, 0);
    let mut progress = true;
    while progress {
        progress = false;
        for rank in 0..ranks {
            let (k, current) = &mut rounds[rank as usize];
            let state = &mut states[rank as usize];
            if ended[rank as usize] {
                continue;
            }
            if current.is_none() {
                let call = CollectiveCall::new(rank, ranks, root, bytes);
                let mut round = Round::default();
                progress = true;
                let part = CollectiveArgs::new(call, counts[rank as usize].as_ref()).on_hosts(hosts);
                if !(algorithm.round)(&part, *k, &mut round) {
                    ended[rank as usize] = true;
                    continue;
                }
                for (index, (to, size)) in round.sends.iter().enumerate() {
                    assert_ne!(*to, rank);
                    let nth = round.sends[..index].iter().filter(|(peer, _)| peer == to).count() as u32;
                    let passage = MessagePassage {
                        from: rank,
                        to: *to,
                        round: *k + round.round_offset,
                        nth,
                        reduced: None,
                    };
                    let (payload, weight) = send(state, passage, *size);
                    assert_eq!(weight, *size, "{} of {ranks}: {passage:?}", algorithm.name);
                    network
                        .entry((rank, *to))
                        .or_default()
                        .push_back((passage, *size, payload));
                    tally = (tally.0 + 1, tally.1 + size);
                }
                *current = Some(round);
            }
            let round = current.as_ref().expect("entered above");
            let here = |from: u32| network.get(&(from, rank)).map_or(0, VecDeque::len);
            let wanted = |from: u32| round.receives.iter().filter(|it| it.from == from).count();
            if round.receives.iter().all(|it| here(it.from) >= wanted(it.from)) {
                for taken in &round.receives {
                    let (mut passage, sent_size, payload) = network
                        .get_mut(&(taken.from, rank))
                        .and_then(VecDeque::pop_front)
                        .expect("is here");
                    assert_eq!(
                        (passage.round, sent_size),
                        (*k + round.round_offset, taken.bytes),
                        "{} of {ranks}: {passage:?}",
                        algorithm.name
                    );
                    passage.reduced = Some(taken.reduced);
                    receive(state, passage, payload);
                }
                (*k, *current, progress) = (*k + 1, None, true);
            }
        }
    }
    assert!(
        ended.iter().all(|e| *e),
        "{} of {ranks} ranks does not end",
        algorithm.name
    );
    assert!(
        network.values().all(VecDeque::is_empty),
        "{} leaves messages",
        algorithm.name
    );
    (states, tally)
}

/// A collective over a vector in pieces. Each rank has sums of some pieces. A message carries pieces, which the
/// receiver adds or replaces.
struct Pieces<'a> {
    algorithm: Tested<'a>,
    ranks: u32,
    root: u32,
    bytes: u64,
    sizes: &'a [u64],
}

impl Pieces<'_> {
    fn run(
        &self,
        counts: impl Fn(u32) -> Option<Counts>,
        start: impl Fn(u32) -> Vec<ContributionSum>,
        carried: impl Fn(MessagePassage) -> Vec<u32>,
        adds: impl Fn(MessagePassage) -> bool,
    ) -> (Vec<Vec<ContributionSum>>, MessageTotals) {
        run_with(
            self.algorithm,
            self.ranks,
            self.root,
            self.bytes,
            counts,
            start,
            |pieces, passage, _| {
                let carried = carried(passage);
                let size = carried.iter().map(|piece| self.sizes[*piece as usize]).sum();
                let sent: Vec<(u32, ContributionSum)> = carried
                    .into_iter()
                    .map(|piece| (piece, pieces[piece as usize].clone()))
                    .collect();
                assert!(
                    sent.iter().all(|(_, sum)| *sum != ContributionSum::default()),
                    "{} of {}: a piece is sent before it arrives: {passage:?}",
                    self.algorithm.algorithm.name,
                    self.ranks
                );
                (sent, size)
            },
            |pieces, passage, news| {
                let size: u64 = news.iter().map(|(piece, _)| self.sizes[*piece as usize]).sum();
                let expected = if adds(passage) { size } else { 0 };
                assert_eq!(
                    passage.reduced,
                    Some(expected),
                    "{} of {}: {passage:?}",
                    self.algorithm.algorithm.name,
                    self.ranks
                );
                for (piece, sum) in news {
                    let own = &mut pieces[piece as usize];
                    match adds(passage) {
                        true => own.add(&sum),
                        false => *own = sum,
                    }
                }
            },
        )
    }

    /// Every rank begins with its contribution to every piece.
    fn reduce(
        &self,
        counts: impl Fn(u32) -> Option<Counts>,
        carried: impl Fn(MessagePassage) -> Vec<u32>,
        adds: impl Fn(MessagePassage) -> bool,
    ) -> (Vec<Vec<ContributionSum>>, MessageTotals) {
        self.run(
            counts,
            |rank| vec![ContributionSum::of(rank); self.sizes.len()],
            carried,
            adds,
        )
    }
}

/// A barrier: every rank receives news of every other.
pub fn reaches_all_ranks<'a>(algorithm: impl Into<Tested<'a>>, ranks: u32) -> MessageTotals {
    let (heard, tally) = run(
        algorithm,
        ranks,
        0,
        7,
        |rank| 1u64 << rank,
        |known, _, _| (*known, 0),
        |known, _, news| *known |= news,
    );
    assert!(heard.iter().all(|known| *known == (1 << ranks) - 1), "{ranks}");
    tally
}

/// A broadcast: every rank ends with all pieces of the root.
pub fn bcasts<'a>(
    algorithm: impl Into<Tested<'a>>,
    ranks: u32,
    root: u32,
    bytes: u64,
    sizes: &[u64],
    carried: impl Fn(MessagePassage) -> Vec<u32>,
) -> MessageTotals {
    let pieces = Pieces {
        algorithm: algorithm.into(),
        ranks,
        root,
        bytes,
        sizes,
    };
    let of_root = vec![ContributionSum::of(root); sizes.len()];
    let start = |rank: u32| match rank == root {
        true => of_root.clone(),
        false => vec![ContributionSum::default(); sizes.len()],
    };
    let (vectors, tally) = pieces.run(|_| None, start, carried, |_| false);
    assert!(
        vectors.iter().all(|vector| *vector == of_root),
        "{root} of {ranks}"
    );
    tally
}

/// A reduction: the root ends with every contribution to every piece, once.
pub fn reduces<'a>(
    algorithm: impl Into<Tested<'a>>,
    ranks: u32,
    root: u32,
    bytes: u64,
    sizes: &[u64],
    carried: impl Fn(MessagePassage) -> Vec<u32>,
    adds: impl Fn(MessagePassage) -> bool,
) -> MessageTotals {
    let pieces = Pieces {
        algorithm: algorithm.into(),
        ranks,
        root,
        bytes,
        sizes,
    };
    let (vectors, tally) = pieces.reduce(|_| None, carried, adds);
    let all = ContributionSum::of_all(0..ranks);
    assert!(
        vectors[root as usize].iter().all(|sum| *sum == all),
        "{root} of {ranks}"
    );
    tally
}

/// An allreduce: every rank ends with every contribution to every piece, once.
pub fn reduces_for_all<'a>(
    algorithm: impl Into<Tested<'a>>,
    ranks: u32,
    bytes: u64,
    sizes: &[u64],
    carried: impl Fn(MessagePassage) -> Vec<u32>,
    adds: impl Fn(MessagePassage) -> bool,
) -> MessageTotals {
    let pieces = Pieces {
        algorithm: algorithm.into(),
        ranks,
        root: 0,
        bytes,
        sizes,
    };
    let (vectors, tally) = pieces.reduce(|_| None, carried, adds);
    let all = ContributionSum::of_all(0..ranks);
    assert!(vectors.iter().flatten().all(|sum| *sum == all), "{ranks}");
    tally
}

/// Counts of all ranks, some of them zero.
fn varying_sizes(ranks: u32) -> Vec<u64> {
    (0..ranks)
        .map(|rank| [17, 0, 300, 1, 0][rank as usize % 5])
        .collect()
}

/// An allgather, with equal and with varying contributions: every rank ends with all of them. Each
/// contribution is sent to each rank once.
pub fn allgathers(
    algorithm: &CollectiveAlgorithm,
    ranks: u32,
    messages: u64,
    carried: impl Fn(MessagePassage) -> Vec<u32>,
) {
    allgathers_of(algorithm, ranks, carried, |sizes| {
        (messages, u64::from(ranks - 1) * sizes.iter().sum::<u64>())
    });
}

/// The same with any messages and bytes, from the sizes of the contributions.
pub fn allgathers_of(
    algorithm: &CollectiveAlgorithm,
    ranks: u32,
    carried: impl Fn(MessagePassage) -> Vec<u32>,
    expected: impl Fn(&[u64]) -> MessageTotals,
) {
    let start = |rank: u32| {
        let mut vector = vec![ContributionSum::default(); ranks as usize];
        vector[rank as usize] = ContributionSum::of(rank);
        vector
    };
    let all: Vec<ContributionSum> = (0..ranks).map(ContributionSum::of).collect();
    for (sizes, varies) in [(vec![100; ranks as usize], false), (varying_sizes(ranks), true)] {
        let pieces = Pieces {
            algorithm: algorithm.into(),
            ranks,
            root: 0,
            bytes: 100,
            sizes: &sizes,
        };
        let counts = |rank: u32| {
            varies.then(|| Counts {
                sends: vec![sizes[rank as usize]],
                receives: sizes.clone(),
                ..Counts::default()
            })
        };
        let (vectors, tally) = pieces.run(counts, start, &carried, |_| false);
        assert!(vectors.iter().all(|vector| *vector == all), "{ranks}");
        assert_eq!(tally, expected(&sizes), "{} of {ranks}", algorithm.name);
    }
}

/// An alltoall that sends each block directly to its rank, with equal and with varying blocks.
pub fn alltoalls(algorithm: &CollectiveAlgorithm, ranks: u32, skips_empty: bool) {
    let varying = |from: u32, to: u32| u64::from((from * 7 + to * 13) % 5) * 10;
    for varies in [false, true] {
        let size = |from: u32, to: u32| if varies { varying(from, to) } else { 100 };
        let counts = |rank: u32| {
            varies.then(|| Counts {
                sends: (0..ranks).map(|to| varying(rank, to)).collect(),
                receives: (0..ranks).map(|from| varying(from, rank)).collect(),
                ..Counts::default()
            })
        };
        let (received, tally) = run_with(
            algorithm,
            ranks,
            0,
            100,
            counts,
            |_| Vec::new(),
            |_, message, _| ((message.from, message.to), size(message.from, message.to)),
            |blocks: &mut Vec<(u32, u32)>, _, news| blocks.push(news),
        );
        let expected = |from: u32, to: u32| from != to && (size(from, to) > 0 || !(varies && skips_empty));
        for (rank, mut blocks) in (0..).zip(received) {
            blocks.sort_unstable();
            let from_whom = (0..ranks).filter(|from| expected(*from, rank));
            assert_eq!(blocks, from_whom.map(|from| (from, rank)).collect::<Vec<_>>());
        }
        let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
        let sent: Vec<u64> = pairs
            .filter(|(from, to)| expected(*from, *to))
            .map(|(from, to)| size(from, to))
            .collect();
        assert_eq!(tally, (sent.len() as u64, sent.iter().sum()));
    }
}

/// A gather or scatter that sends each block directly to its rank, with equal and with varying blocks.
pub fn rooted_with_counts(algorithm: &CollectiveAlgorithm, ranks: u32, root: u32, scatters: bool) {
    for (sizes, varies) in [(vec![100; ranks as usize], false), (varying_sizes(ranks), true)] {
        let counts = |rank: u32| {
            let all = if rank == root { sizes.clone() } else { Vec::new() };
            let own = vec![sizes[rank as usize]];
            let (sends, receives) = if scatters { (all, own) } else { (own, all) };
            varies.then_some(Counts::new(sends, receives))
        };
        let (blocks, tally) = run_with(
            algorithm,
            ranks,
            root,
            100,
            counts,
            |rank| vec![rank],
            |_, message, _| {
                let block = if scatters { message.to } else { message.from };
                (block, sizes[block as usize])
            },
            |blocks: &mut Vec<u32>, _, news| blocks.push(news),
        );
        let sent: Vec<u32> = (0..ranks)
            .filter(|rank| *rank != root && (sizes[*rank as usize] > 0 || !varies))
            .collect();
        for (rank, blocks) in (0..).zip(blocks) {
            let mut news = blocks[1..].to_vec();
            news.sort_unstable();
            let expected: Vec<u32> = match (scatters, rank == root) {
                (true, _) => sent.iter().copied().filter(|to| *to == rank).collect(),
                (false, true) => sent.clone(),
                (false, false) => vec![],
            };
            assert_eq!(news, expected);
        }
        let bytes = sent.iter().map(|rank| sizes[*rank as usize]).sum();
        assert_eq!(tally, (sent.len() as u64, bytes));
    }
}

/// A reduce-scatter, cut evenly and with counts: every rank ends with every contribution to its part, once.
/// `messages` messages carry the bytes of `vectors` vectors and of the parts of ranks that sit out.
pub fn reduce_scatters(
    algorithm: &CollectiveAlgorithm,
    ranks: u32,
    carried: impl Fn(MessagePassage) -> Vec<u32>,
    adds: impl Fn(MessagePassage) -> bool,
    messages: u64,
    vectors: u64,
    sits_out: impl Fn(u32) -> bool,
) {
    let edge = |rank: u32| 1000 * u64::from(rank) / u64::from(ranks);
    let even = (0..ranks).map(|rank| edge(rank + 1) - edge(rank)).collect();
    for (sizes, varies) in [(even, false), (varying_sizes(ranks), true)] {
        let pieces = Pieces {
            algorithm: algorithm.into(),
            ranks,
            root: 0,
            bytes: 1000,
            sizes: &sizes,
        };
        let counts = |_| {
            varies.then(|| Counts {
                sends: vec![],
                receives: sizes.clone(),
                ..Counts::default()
            })
        };
        let (parts, tally) = pieces.reduce(counts, &carried, &adds);
        let all = ContributionSum::of_all(0..ranks);
        assert!(
            parts.iter().enumerate().all(|(rank, parts)| parts[rank] == all),
            "{ranks}"
        );
        let out: u64 = (0..ranks)
            .filter(|r| sits_out(*r))
            .map(|r| sizes[r as usize])
            .sum();
        assert_eq!(tally, (messages, vectors * sizes.iter().sum::<u64>() + out));
    }
}
