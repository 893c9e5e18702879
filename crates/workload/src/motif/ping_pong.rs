//! ping-pong: pairs of ranks send a message there and back, for one or several sizes.
//!
//! Sources: Ember, `mpi/pingpong/pingpong.c`, which has one pair and one size. Pairs at a distance: mpptest's option
//! `-bisect`, MPICH 1.2, `examples/perftest/pair.c` (`BisectChange`) with the pattern `RING` of `pattern.c`.

use config::{Bytes, DefaultValue, Error, Section, Setting, Type, Value, parameters};
use serde_json::Value as Json;

use super::parameters::{MAX_RANKS, count, in_range, iterations, pause};
use super::{Motif, Script, Skeleton, workload};

pub(super) const MOTIF: Motif = Motif {
    name: "ping-pong",
    summary: "pairs of ranks send messages there and back, for one size or several",
    source: "Ember, mpi/pingpong",
    parameters: parameters! {
        integer("ranks", 2, "number of ranks, at least 2; of an odd number, one has no partner");
        choice("pairs", &["neighbours", "halves", "first", "distance"],
            "who with whom: \"neighbours\" (0 and 1, 2 and 3), \"halves\" (0 and ranks / 2), \"first\" (0 and \
             partner only), or \"distance\" (r and r + distance, as in mpptest's bisection)");
        integer("partner", 1, "with pairs = \"first\": the other rank");
        integer("distance", 1, "with pairs = \"distance\": difference of the ranks of a pair, in a ring");
        new("bytes", Type::Either(&[Type::Size, Type::List(&Type::Size)]), DefaultValue::Text("1 KiB"),
            "size of a message, or a list of them, one after the other");
        computed("up_to", Type::Size, "no sweep", "sweep: sizes double from bytes up to this");
        integer("iterations", 1, "how many times there and back with each size");
        time("compute", "0 ps", "time of the first rank's computation before each");
        flag("barriers", true, "the barriers before and after");
    },
    example: "ranks = 5\npairs = \"first\"\npartner = 3\nbytes = \"1 B\"\nup_to = \"64 B\"\niterations = 2",
    build: |section| {
        let ranks = count(section, "ranks", MAX_RANKS)?;
        if ranks < 2 {
            return Err(section.error("ranks", "1 has no partner; expected at least 2"));
        }
        let pairs = section.choice("pairs")?;
        let pairs = match pairs {
            "neighbours" => PairChoice::Neighbours,
            "halves" => PairChoice::Halves,
            "distance" => PairChoice::Distance(pairs_at(distance(section, ranks)?, ranks)),
            _ => PairChoice::First(partner(section, ranks)?),
        };
        Ok(workload(PingPong {
            ranks,
            pairs,
            sizes: sizes(section)?,
            iterations: u64::from(iterations(section)?),
            compute_ps: pause(section)?,
            barriers: section.get("barriers")?,
        }))
    },
};

fn partner(section: &Section, ranks: u32) -> Result<u32, Error> {
    let partner = section.get("partner")?;
    if !(1..ranks).contains(&partner) {
        let message = format!("{partner} is out of range; expected 1 to {}", ranks - 1);
        return Err(section.error("partner", message));
    }
    Ok(partner)
}

fn distance(section: &Section, ranks: u32) -> Result<u32, Error> {
    let distance = section.get("distance")?;
    if !(1..ranks).contains(&distance) {
        let message = format!("{distance} is out of range; expected 1 to {}", ranks - 1);
        return Err(section.error("distance", message));
    }
    Ok(distance)
}

/// A rank of a pair.
#[derive(Clone, Copy)]
struct Paired {
    peer: u32,
    /// Whether it sends first.
    starts: bool,
}

/// The pairs of mpptest: in the order of ranks, a rank and the one that follows at `distance` in the ring of all
/// ranks become a pair, if both are free. The first one starts. The others have no partner.
fn pairs_at(distance: u32, ranks: u32) -> Vec<Option<Paired>> {
    let mut pairs = vec![None; ranks as usize];
    for first in 0..ranks {
        // Both are less than 2^31, so that the sum does not overflow.
        let second = (first + distance) % ranks;
        if pairs[first as usize].is_none() && pairs[second as usize].is_none() {
            let pair = |peer, starts| Some(Paired { peer, starts });
            pairs[first as usize] = pair(second, true);
            pairs[second as usize] = pair(first, false);
        }
    }
    pairs
}

/// One size, or a list of them.
struct Sizes(Vec<Bytes>);

impl Setting for Sizes {
    const EXPECTED: &'static str = "a size such as \"64 KiB\", or a list of sizes";

    fn read(value: &Value) -> Result<Self, String> {
        Ok(Sizes(match value {
            Value::List(_) => Vec::read(value)?,
            _ => vec![Bytes::read(value)?],
        }))
    }

    fn show(&self) -> Json {
        match &self.0[..] {
            [one] => one.show(),
            several => Json::Array(several.iter().map(Bytes::show).collect()),
        }
    }
}

fn sizes(section: &Section) -> Result<Vec<u64>, Error> {
    let Sizes(given) = section.get("bytes")?;
    let sizes = given
        .iter()
        .map(|size| in_range(section, "bytes", u128::from(size.bytes)))
        .collect::<Result<Vec<u64>, _>>()?;
    if sizes.is_empty() {
        return Err(section.error("bytes", "is an empty list; expected a size"));
    }
    let Some(up_to) = section.optional::<Bytes>("up_to")? else {
        return Ok(sizes);
    };
    let up_to = in_range(section, "up_to", u128::from(up_to.bytes))?;
    let from = match sizes[..] {
        [from] if (1..=up_to).contains(&from) => from,
        [from] => {
            let message =
                format!("a sweep from {from} B up to {up_to} B has no sizes; expected at least 1 B first");
            return Err(section.error("up_to", message));
        }
        _ => return Err(section.error("up_to", "goes with one size as bytes, not with a list")),
    };
    Ok(std::iter::successors(Some(from), |size| size.checked_mul(2))
        .take_while(|size| *size <= up_to)
        .collect())
}

enum PairChoice {
    Neighbours,
    Halves,
    First(u32),
    /// The partner of each rank.
    Distance(Vec<Option<Paired>>),
}

/// Ember's tags, there and back.
const THERE: u32 = 0;
const BACK: u32 = 1;

struct PingPong {
    ranks: u32,
    pairs: PairChoice,
    sizes: Vec<u64>,
    iterations: u64,
    compute_ps: u64,
    barriers: bool,
}

impl PingPong {
    /// The pair of a rank; `None` for a rank without partner.
    fn pair(&self, rank: u32) -> Option<Paired> {
        let half = self.ranks / 2;
        let peer = match &self.pairs {
            PairChoice::Neighbours => Some(rank ^ 1).filter(|peer| *peer < self.ranks),
            PairChoice::Halves if rank < half => Some(rank + half),
            PairChoice::Halves => Some(rank - half).filter(|peer| *peer < half),
            PairChoice::First(partner) if rank == 0 => Some(*partner),
            PairChoice::First(partner) => (rank == *partner).then_some(0),
            PairChoice::Distance(pairs) => return pairs[rank as usize],
        };
        peer.map(|peer| Paired {
            peer,
            starts: rank < peer,
        })
    }
}

impl Skeleton for PingPong {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn step(&self, rank: u32, step: u64, script: &mut Script) -> bool {
        if step == 0 && self.barriers {
            script.barrier();
        }
        let mut goes_on = false;
        if let Some(Paired { peer, starts }) = self.pair(rank) {
            let bytes = self.sizes[(step / self.iterations) as usize];
            if starts {
                script.compute(self.compute_ps);
                script.send(peer, THERE, bytes);
                script.receive(peer, BACK, bytes);
            } else {
                script.receive(peer, THERE, bytes);
                script.send(peer, BACK, bytes);
            }
            goes_on = step + 1 < self.iterations * self.sizes.len() as u64;
        }
        script.end_iteration(goes_on, self.barriers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{error, open, totals};
    use crate::Operation;

    #[test]
    fn messages_and_bytes() {
        let list = "bytes = [\"3 B\", \"5 B\"]\niterations = 4\ncompute = \"1 ps\"";
        for (pairs, ranks, number) in [
            ("neighbours", 2, 1),
            ("neighbours", 7, 3),
            ("halves", 2, 1),
            ("halves", 7, 3),
            ("halves", 8, 4),
            ("first", 7, 1),
        ] {
            let found = totals(
                "ping-pong",
                &format!("ranks = {ranks}\npairs = \"{pairs}\"\n{list}"),
            );
            assert_eq!(
                (found.messages, found.bytes),
                (number * 16, number * 4 * 2 * 8),
                "{pairs} {ranks}"
            );
            assert_eq!(found.compute_ps, number * 8);
        }
    }

    /// For each rank its partner, if it has one, and whether its first operation is a send.
    fn at_distance(ranks: u32, distance: u32) -> Vec<Option<(u32, bool)>> {
        let text = format!("ranks = {ranks}\npairs = \"distance\"\ndistance = {distance}\nbarriers = false");
        let workload = open("ping-pong", &text);
        let first = |rank| match workload.program(rank).unwrap().next().unwrap() {
            Some(Operation::Send { to, .. }) => Some((to, true)),
            Some(Operation::Receive { from, .. }) => Some((from.unwrap(), false)),
            _ => None,
        };
        (0..ranks).map(first).collect()
    }

    /// As mpptest's `BisectChange` marks masters and slaves, by hand. With more than 2/3 of the ranks as distance,
    /// pairs lead around the ring: of 4 ranks at distance 3, rank 2 sends to rank 1.
    #[test]
    fn pairs_at_a_distance_are_those_of_mpptest() {
        let (start, answer) = (|peer| Some((peer, true)), |peer| Some((peer, false)));
        assert_eq!(at_distance(4, 2), [start(2), start(3), answer(0), answer(1)]);
        assert_eq!(
            at_distance(7, 2),
            [
                start(2),
                start(3),
                answer(0),
                answer(1),
                start(6),
                None,
                answer(4)
            ]
        );
        assert_eq!(
            at_distance(5, 3),
            [start(3), start(4), None, answer(0), answer(1)]
        );
        assert_eq!(at_distance(4, 3), [start(3), answer(2), start(1), answer(0)]);
        for (ranks, distance) in [(8, 1), (512, 8), (16, 8), (11, 4), (64, 24), (9, 7)] {
            for (rank, pair) in (0..).zip(at_distance(ranks, distance)) {
                // Without a way around the ring: r and r + d where r mod 2 d < d.
                if distance * 2 <= ranks {
                    let starts = rank % (2 * distance) < distance;
                    let peer = if starts { rank + distance } else { rank - distance };
                    let expected = Some((peer, starts)).filter(|_| peer < ranks);
                    assert_eq!(pair, expected, "{ranks} {distance} {rank}");
                }
                if let Some((peer, starts)) = pair {
                    assert_eq!(at_distance(ranks, distance)[peer as usize], Some((rank, !starts)));
                }
            }
        }
    }

    /// With P ranks at distance d <= P / 2 there are d pairs for each 2 d ranks, and P mod 2 d - d for the rest, if
    /// positive. Each pair sends 2 messages for each iteration and size.
    #[test]
    fn messages_and_bytes_at_a_distance() {
        for (ranks, distance) in [(2u64, 1u64), (512, 8), (512, 256), (7, 2), (10, 3), (100, 7)] {
            let rest = (ranks % (2 * distance)).saturating_sub(distance);
            let pairs = ranks / (2 * distance) * distance + rest;
            let text = format!(
                "ranks = {ranks}\npairs = \"distance\"\ndistance = {distance}\nbytes = [\"3 B\", \"5 B\"]\n\
                 iterations = 4\ncompute = \"1 ps\""
            );
            let found = totals("ping-pong", &text);
            let expected = (pairs * 2 * 2 * 4, pairs * 2 * 4 * (3 + 5), pairs * 8);
            assert_eq!(
                (found.messages, found.bytes, found.compute_ps),
                expected,
                "{ranks} {distance}"
            );
        }
    }

    #[test]
    fn sweeps_double() {
        let found = totals("ping-pong", "bytes = \"3 B\"\nup_to = \"40 B\"");
        assert_eq!((found.messages, found.bytes), (8, 2 * (3 + 6 + 12 + 24)));
    }

    #[test]
    fn wrong_parameters() {
        for (text, needle) in [
            ("ranks = 1", "no partner"),
            (
                "pairs = \"half\"",
                "expected one of: neighbours, halves, first, distance",
            ),
            ("ranks = 4\npairs = \"first\"\npartner = 4", "expected 1 to 3"),
            (
                "ranks = 4\npairs = \"distance\"\ndistance = 4",
                "distance: 4 is out of range; expected 1 to 3",
            ),
            ("ranks = 4\npairs = \"distance\"\ndistance = 0", "expected 1 to 3"),
            ("bytes = []", "empty list"),
            ("bytes = 5", "has no unit"),
            ("bytes = [5]", "has no unit"),
            ("bytes = \"2 TiB\"", "more than 1 TiB"),
            ("bytes = \"0 B\"\nup_to = \"8 B\"", "has no sizes"),
            ("bytes = \"9 B\"\nup_to = \"8 B\"", "has no sizes"),
            ("bytes = [\"1 B\", \"2 B\"]\nup_to = \"8 B\"", "not with a list"),
        ] {
            let found = error("ping-pong", text);
            assert!(found.contains(needle), "{found}");
        }
    }
}
