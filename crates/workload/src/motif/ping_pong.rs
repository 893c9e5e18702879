//! ping-pong: pairs of ranks send a message there and back, for one or several sizes.
//!
//! Source: Ember, `mpi/pingpong/pingpong.c`, which has one pair and one size.

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
        choice("pairs", &["neighbours", "halves", "first"],
            "who with whom: \"neighbours\" (0 and 1, 2 and 3), \"halves\" (0 and ranks / 2), or \"first\" \
             (0 and partner only)");
        integer("partner", 1, "with pairs = \"first\": the other rank");
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
    /// The other rank of the pair; `None` for a rank without partner.
    fn peer(&self, rank: u32) -> Option<u32> {
        let half = self.ranks / 2;
        match self.pairs {
            PairChoice::Neighbours => Some(rank ^ 1).filter(|peer| *peer < self.ranks),
            PairChoice::Halves if rank < half => Some(rank + half),
            PairChoice::Halves => Some(rank - half).filter(|peer| *peer < half),
            PairChoice::First(partner) if rank == 0 => Some(partner),
            PairChoice::First(partner) => (rank == partner).then_some(0),
        }
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
        if let Some(peer) = self.peer(rank) {
            let bytes = self.sizes[(step / self.iterations) as usize];
            if rank < peer {
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
    use super::super::test_support::{error, totals};

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

    #[test]
    fn sweeps_double() {
        let found = totals("ping-pong", "bytes = \"3 B\"\nup_to = \"40 B\"");
        assert_eq!((found.messages, found.bytes), (8, 2 * (3 + 6 + 12 + 24)));
    }

    #[test]
    fn wrong_parameters() {
        for (text, needle) in [
            ("ranks = 1", "no partner"),
            ("pairs = \"half\"", "expected one of: neighbours, halves, first"),
            ("ranks = 4\npairs = \"first\"\npartner = 4", "expected 1 to 3"),
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
