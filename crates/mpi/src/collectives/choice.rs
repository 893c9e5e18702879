//! Which algorithm carries out a call: rules by size and number of ranks, the first that holds.
//!
//! All ranks of a call must choose alike without asking each other. So a rule may ask only for what all of them
//! know: the size of a collective whose ranks all give the same count, and the sum of the counts where MPI hands
//! them to every rank. The other `v` variants have rules of their own that do not ask for the size.

use std::array;
use std::fmt;

use config::{Bytes, Error, Section, Setting, Value};
use serde_json::{Map, Value as Json};
use workload::{Call, Collective, Counts};

use super::tables::{Line, TABLES, Table};
use super::{Algorithm, COLLECTIVES, Share, known};

/// A collective with its own rules: all collectives, and `v` variants that libraries carry out by other
/// algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// What it does.
    pub collective: Collective,
    /// Whether ranks may give and take different amounts.
    pub varying: bool,
}

const VARYING: [Collective; 4] = [
    Collective::Allgather,
    Collective::Alltoall,
    Collective::Gather,
    Collective::Scatter,
];

const VARIANTS: usize = COLLECTIVES.len() + VARYING.len();

impl Variant {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Variant> {
        let of = |varying| move |collective| Variant { collective, varying };
        COLLECTIVES
            .into_iter()
            .map(of(false))
            .chain(VARYING.into_iter().map(of(true)))
    }

    /// The variant of a call.
    pub fn of(collective: Collective, call: Call, counts: Option<&Counts>) -> Variant {
        let is_v_call = matches!(
            call,
            Call::Allgatherv
                | Call::Iallgatherv
                | Call::Alltoallv
                | Call::Ialltoallv
                | Call::Gatherv
                | Call::Igatherv
                | Call::Scatterv
                | Call::Iscatterv
        );
        Variant {
            collective,
            varying: (is_v_call || counts.is_some()) && VARYING.contains(&collective),
        }
    }

    /// Name in experiments: `allgather`, `allgatherv`.
    pub fn name(self) -> &'static str {
        match (self.collective, self.varying) {
            (Collective::Allgather, true) => "allgatherv",
            (Collective::Alltoall, true) => "alltoallv",
            (Collective::Gather, true) => "gatherv",
            (Collective::Scatter, true) => "scatterv",
            (collective, _) => collective.name(),
        }
    }

    fn index(self) -> usize {
        let varying = VARYING.iter().position(|c| *c == self.collective);
        match varying.filter(|_| self.varying) {
            Some(position) => COLLECTIVES.len() + position,
            None => self.collective as usize,
        }
    }

    /// The algorithms that can carry it out.
    fn algorithms(self) -> impl Iterator<Item = &'static Algorithm> {
        known(self.collective).filter(move |algorithm| algorithm.varying || !self.varying)
    }

    fn algorithm(self, name: &str) -> Option<&'static Algorithm> {
        self.algorithms().find(|algorithm| algorithm.name == name)
    }

    /// Whether all ranks of a call can know its size.
    fn has_size(self) -> bool {
        !self.varying || self.collective == Collective::Allgather
    }

    /// The bytes that rules ask for, if all ranks know them: what the page of the collectives says for each.
    fn size(self, part: &Share) -> Option<u64> {
        match self.collective {
            Collective::Allgather if self.varying => {
                part.known(0..part.ranks)?;
                Some(part.contributions(0..part.ranks))
            }
            Collective::Allgather => Some(part.contributions(0..part.ranks)),
            Collective::ReduceScatter => Some(part.parts(0..part.ranks)),
            _ => (!self.varying).then_some(part.bytes),
        }
    }
}

/// When to take an algorithm: all that it asks for must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The call has fewer bytes.
    pub below: Option<u64>,
    /// The communicator has fewer ranks.
    pub ranks_below: Option<u32>,
    /// The number of ranks is a power of two, or is none.
    pub power_of_two: Option<bool>,
    /// Then this one.
    pub algorithm: &'static Algorithm,
}

impl Rule {
    fn always(algorithm: &'static Algorithm) -> Rule {
        Rule {
            below: None,
            ranks_below: None,
            power_of_two: None,
            algorithm,
        }
    }

    fn asks_for_nothing(&self) -> bool {
        *self == Rule::always(self.algorithm)
    }

    fn holds(&self, size: Option<u64>, ranks: u32) -> bool {
        self.below
            .is_none_or(|below| size.is_some_and(|size| size < below))
            && self.ranks_below.is_none_or(|below| ranks < below)
            && self.power_of_two.is_none_or(|is| ranks.is_power_of_two() == is)
    }

    fn shown(&self) -> Json {
        let mut shown = Map::new();
        if let Some(bytes) = self.below {
            shown.insert("below".into(), Bytes { bytes }.show());
        }
        if let Some(ranks) = self.ranks_below {
            shown.insert("ranks_below".into(), ranks.show());
        }
        if let Some(is) = self.power_of_two {
            shown.insert("power_of_two".into(), is.show());
        }
        shown.insert("algorithm".into(), self.algorithm.name.into());
        Json::Object(shown)
    }

    fn read(section: &Section, variant: Variant) -> Result<Rule, Error> {
        let name: String = section.required("algorithm")?;
        let below: Option<Bytes> = section.optional("below")?;
        if below.is_some() && !variant.has_size() {
            let why = format!(
                "the ranks of an {} do not know each other's sizes, so that they could not choose alike; leave out below",
                variant.name()
            );
            return Err(section.error("below", why));
        }
        Ok(Rule {
            below: below.map(|bytes| bytes.bytes),
            ranks_below: section.optional("ranks_below")?,
            power_of_two: section.optional("power_of_two")?,
            algorithm: variant
                .algorithm(&name)
                .ok_or_else(|| unknown(section, "algorithm", &name, variant))?,
        })
    }
}

impl fmt::Display for Rule {
    /// `bruck (below 80 KiB)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = self.below.map(|bytes| format!("below {}", Bytes { bytes }));
        let ranks = self.ranks_below.map(|ranks| format!("fewer than {ranks} ranks"));
        let power = self.power_of_two.map(|is| match is {
            true => "a power of two of ranks".to_string(),
            false => "no power of two of ranks".to_string(),
        });
        let conditions: Vec<String> = [below, ranks, power].into_iter().flatten().collect();
        match conditions.is_empty() {
            true => f.write_str(self.algorithm.name),
            false => write!(f, "{} ({})", self.algorithm.name, conditions.join(", ")),
        }
    }
}

fn unknown(section: &Section, key: &str, name: &str, variant: Variant) -> Error {
    section.unknown_name(key, name, variant.algorithms().map(|a| a.name))
}

/// Which algorithm carries out each call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithms {
    /// By the index of the variant; the last of each always holds.
    rules: [Vec<Rule>; VARIANTS],
}

impl Default for Algorithms {
    /// The first of [`TABLES`].
    fn default() -> Algorithms {
        Algorithms::table(&TABLES[0])
    }
}

impl Algorithms {
    /// The rules of a table.
    pub fn table(table: &Table) -> Algorithms {
        let rule = |variant: Variant, line: &Line| Rule {
            below: line.below,
            ranks_below: line.ranks_below,
            power_of_two: line.power_of_two,
            algorithm: variant
                .algorithm(line.algorithm)
                .expect("tables name algorithms that there are, as a test shows"),
        };
        let mut rules = array::from_fn(|_| Vec::new());
        for variant in Variant::all() {
            let lines = table.rules.iter().filter(|(name, _)| *name == variant.name());
            rules[variant.index()] = lines
                .flat_map(|(_, lines)| *lines)
                .map(|line| rule(variant, line))
                .collect();
        }
        Algorithms { rules }
    }

    /// Reads `[mpi.collectives]`: `table`, and for each variant an optional key: the name of an algorithm, or
    /// a list of rules.
    ///
    /// # Errors
    /// A name that is no algorithm of the collective, or rules of which none may hold.
    pub fn read(section: &Section) -> Result<Algorithms, Error> {
        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        let table = section.choice_or("table", names[0], &names)?;
        let mut algorithms = Algorithms::table(
            TABLES
                .iter()
                .find(|known| known.name == table)
                .expect("it is one of the names"),
        );
        for variant in Variant::all() {
            let key = variant.name();
            let rules = &mut algorithms.rules[variant.index()];
            match section.or(key, Written::of(rules))? {
                Written::Default(_) => {}
                Written::Name(name) => {
                    let algorithm = variant.algorithm(&name);
                    let algorithm = algorithm.ok_or_else(|| unknown(section, key, &name, variant))?;
                    *rules = vec![Rule::always(algorithm)];
                }
                Written::Rules => {
                    let tables = section.sections(key)?;
                    *rules = tables
                        .iter()
                        .map(|table| Rule::read(table, variant))
                        .collect::<Result<_, _>>()?;
                    let (last, others) = rules.split_last().expect("TOML has no empty list of tables");
                    if !last.asks_for_nothing() {
                        let why = "the last rule must hold for all calls: give its algorithm only";
                        return Err(tables[others.len()].error("", why));
                    }
                    if let Some(early) = others.iter().position(Rule::asks_for_nothing) {
                        let why = "this rule holds for all calls, so that those after it never do";
                        return Err(tables[early].error("", why));
                    }
                }
            }
        }
        Ok(algorithms)
    }

    /// The algorithm for a rank's part in a call; the same on all ranks.
    pub fn of(&self, collective: Collective, call: Call, part: &Share) -> &'static Algorithm {
        let variant = Variant::of(collective, call, part.counts);
        let rules = &self.rules[variant.index()];
        let size = rules
            .iter()
            .any(|rule| rule.below.is_some())
            .then(|| variant.size(part))
            .flatten();
        let (last, others) = rules.split_last().expect("there is one that always holds");
        others
            .iter()
            .find(|rule| rule.holds(size, part.ranks))
            .unwrap_or(last)
            .algorithm
    }

    /// The rules of a variant, in their order.
    pub fn rules(&self, variant: Variant) -> &[Rule] {
        &self.rules[variant.index()]
    }

    /// Takes one algorithm for all calls of a collective, and for those of its `v` variant if it can; none if
    /// the collective has no such algorithm.
    pub fn choose(&mut self, collective: Collective, name: &str) -> Option<&'static Algorithm> {
        let algorithm = known(collective).find(|algorithm| algorithm.name == name)?;
        for variant in Variant::all().filter(|variant| variant.collective == collective) {
            if let Some(algorithm) = variant.algorithm(name) {
                self.rules[variant.index()] = vec![Rule::always(algorithm)];
            }
        }
        Some(algorithm)
    }
}

/// What stands under a collective's key.
#[derive(Clone, Debug)]
enum Written {
    /// Nothing: the rules of the table, as they are printed back.
    Default(Json),
    Name(String),
    /// A list of tables, which is read and printed back as such.
    Rules,
}

impl Written {
    fn of(rules: &[Rule]) -> Written {
        Written::Default(match rules {
            [only] if only.asks_for_nothing() => only.algorithm.name.into(),
            _ => rules.iter().map(Rule::shown).collect(),
        })
    }
}

impl Setting for Written {
    const EXPECTED: &'static str =
        "the name of an algorithm, or a list of rules { below, ranks_below, power_of_two, algorithm }";

    fn read(value: &Value) -> Result<Written, String> {
        match value {
            Value::String(name) => Ok(Written::Name(name.clone())),
            Value::Tables(_) => Ok(Written::Rules),
            _ => Err(format!("expected {}", Written::EXPECTED)),
        }
    }

    fn show(&self) -> Json {
        match self {
            Written::Default(shown) => shown.clone(),
            Written::Name(name) => name.as_str().into(),
            Written::Rules => Json::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::CollectiveCall;
    use super::*;

    fn read(text: &str) -> Result<Algorithms, Error> {
        Algorithms::read(&Section::from_toml(text, "x.toml").unwrap())
    }

    fn chosen(algorithms: &Algorithms, collective: Collective, ranks: u32, bytes: u64) -> &'static str {
        let call = CollectiveCall {
            rank: 0,
            ranks,
            root: 0,
            bytes,
        };
        algorithms
            .of(collective, Call::Other, &Share::new(call, None))
            .name
    }

    #[test]
    fn tables_are_complete_and_name_what_there_is() {
        for table in TABLES {
            assert_eq!(table.rules.len(), VARIANTS);
            let algorithms = Algorithms::table(table);
            for (index, variant) in Variant::all().enumerate() {
                assert_eq!(variant.index(), index);
                let (last, others) = algorithms.rules(variant).split_last().unwrap();
                assert!(last.asks_for_nothing() && !others.iter().any(Rule::asks_for_nothing));
                assert!(variant.has_size() || others.iter().all(|rule| rule.below.is_none()));
                assert!(variant.algorithms().count() > 0);
            }
        }
        // All parts of a reduce-scatter have counts in MPI.
        assert!(known(Collective::ReduceScatter).all(|algorithm| algorithm.varying));
    }

    #[test]
    fn the_default_is_that_of_mpich() {
        use Collective::*;
        let default = Algorithms::default();
        for (collective, ranks, bytes, name) in [
            (Bcast, 64, 12 * 1024 - 1, "binomial"),
            (Bcast, 7, 1 << 30, "binomial"),
            (Bcast, 64, 12 * 1024, "scatter-recursive-doubling-allgather"),
            (Bcast, 63, 12 * 1024, "scatter-ring-allgather"),
            (Bcast, 64, 512 * 1024, "scatter-ring-allgather"),
            (Reduce, 5, 2048, "binomial"),
            (Reduce, 5, 2049, "rabenseifner"),
            (Allreduce, 5, 2048, "recursive-doubling"),
            (Allreduce, 5, 2049, "rabenseifner"),
            (Allgather, 8, (64 << 10) - 1, "recursive-doubling"),
            (Allgather, 8, 64 << 10, "ring"),
            (Allgather, 10, (8 << 10) - 1, "bruck"),
            (Allgather, 10, 8 << 10, "ring"),
            (Alltoall, 8, 256, "bruck"),
            (Alltoall, 7, 256, "scattered"),
            (Alltoall, 8, 257, "scattered"),
            (Alltoall, 8, 32 << 10, "scattered"),
            (Alltoall, 8, (32 << 10) + 1, "pairwise"),
            (Alltoall, 4, (32 << 10) + 1, "pairwise"),
            (ReduceScatter, 9, (512 << 10) - 1, "recursive-halving"),
            (ReduceScatter, 9, 512 << 10, "pairwise"),
        ] {
            assert_eq!(
                chosen(&default, collective, ranks, bytes),
                name,
                "{collective:?} {ranks} {bytes}"
            );
        }
    }

    #[test]
    fn v_variants_go_by_what_all_ranks_know() {
        let default = Algorithms::default();
        let of = |collective, call, bytes, counts: Option<&Counts>| {
            let call_of = CollectiveCall {
                rank: 0,
                ranks: 3,
                root: 0,
                bytes,
            };
            default.of(collective, call, &Share::new(call_of, counts)).name
        };
        let counts = |receives: &[u64]| Counts {
            sends: vec![],
            receives: receives.to_vec(),
        };
        let unknown = Counts::default();
        let (short, long) = (counts(&[1, 2, 0]), counts(&[80 << 10, 0, 0]));
        use Collective::*;
        assert_eq!(of(Allgather, Call::Allgatherv, 1, Some(&short)), "bruck");
        assert_eq!(of(Allgather, Call::Other, 1, Some(&long)), "ring");
        assert_eq!(of(Allgather, Call::Iallgatherv, 1, None), "ring");
        assert_eq!(of(Allgather, Call::Wait, 1, Some(&unknown)), "ring");
        assert_eq!(of(Alltoall, Call::Alltoallv, 1 << 20, None), "scattered");
        assert_eq!(of(Alltoall, Call::Wait, 1, Some(&unknown)), "scattered");
        assert_eq!(of(Gather, Call::Igatherv, 1, None), "linear");
        assert_eq!(of(Scatter, Call::Scatterv, 1, Some(&short)), "linear");
        let half = 256 << 10;
        let vector = counts(&[half, half, 0]);
        assert_eq!(
            of(ReduceScatter, Call::ReduceScatter, 1, Some(&vector)),
            "pairwise"
        );
        assert_eq!(
            of(ReduceScatter, Call::ReduceScatter, 1 << 30, Some(&short)),
            "recursive-halving"
        );
    }

    #[test]
    fn rules_are_read_and_printed_back() {
        let text = "allreduce = [{ below = \"2 KiB\", power_of_two = true, algorithm = \"recursive-doubling\" }, \
                    { ranks_below = 4, algorithm = \"reduce-bcast\" }, { algorithm = \"ring\" }]\n\
                    alltoall = \"bruck\"\n";
        let section = Section::from_toml(text, "x.toml").unwrap();
        let algorithms = Algorithms::read(&section).unwrap();
        for (ranks, bytes, name) in [
            (8, 2047, "recursive-doubling"),
            (8, 2048, "ring"),
            (3, 1, "reduce-bcast"),
            (5, 1, "ring"),
        ] {
            assert_eq!(chosen(&algorithms, Collective::Allreduce, ranks, bytes), name);
        }
        assert_eq!(chosen(&algorithms, Collective::Alltoall, 8, 1 << 20), "bruck");
        let shown = section.finish().unwrap();
        assert_eq!(shown["table"], "thakur-2005");
        assert_eq!(shown["allreduce"][0]["below"], "2 KiB");
        assert_eq!(shown["allreduce"][2]["algorithm"], "ring");
        assert_eq!(shown["alltoall"], "bruck");
        assert_eq!(shown["barrier"], "dissemination");
        assert_eq!(shown["bcast"][0]["below"], "12 KiB");
        assert_eq!(shown["bcast"][1]["ranks_below"], 8);
        assert_eq!(shown["allgatherv"][2]["algorithm"], "ring");
        // What is printed back is an experiment that means the same.
        let mut again = Section::empty("");
        for (key, value) in shown.as_object().unwrap() {
            let rule = |rule: &Json| {
                let entries = rule.as_object().unwrap().iter();
                let entries: Vec<String> = entries.map(|(key, value)| format!("{key} = {value}")).collect();
                format!("{{ {} }}", entries.join(", "))
            };
            let toml = match value.as_array() {
                Some(rules) => format!("[{}]", rules.iter().map(rule).collect::<Vec<_>>().join(", ")),
                None => value.to_string(),
            };
            again.set(key, &toml).unwrap();
        }
        assert_eq!(Algorithms::read(&again).unwrap(), algorithms);
    }

    #[test]
    fn wrong_rules_are_refused() {
        for (text, needle) in [
            (
                "allreduce = 3",
                "x.toml:1: allreduce: expected the name of an algorithm, or a list of rules",
            ),
            ("allreduce = []", "expected the name"),
            ("table = \"mpich\"", "unknown name 'mpich'"),
            (
                "\nallreduce = [{ below = \"2 KiB\", algorithm = \"ring\" }]",
                "x.toml:2: allreduce.0: the last rule must hold",
            ),
            (
                "allreduce = [{ algorithm = \"ring\" }, { algorithm = \"ring\" }]",
                "those after it never do",
            ),
            ("allreduce = [{ algorithm = \"rong\" }]", "did you mean 'ring'"),
            ("allreduce = [{ below = 3, algorithm = \"ring\" }]", "has no unit"),
            (
                "allreduce = [{ below = \"3 B\" }]",
                "allreduce.0.algorithm: missing",
            ),
            ("gatherv = \"binomial\"", "gatherv: unknown name 'binomial'"),
            (
                "alltoallv = [{ below = \"3 B\", algorithm = \"linear\" }, { algorithm = \"pairwise\" }]",
                "do not know each other's sizes",
            ),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains(needle), "{message}");
        }
        let section =
            Section::from_toml("bcast = [{ blow = \"1 B\", algorithm = \"linear\" }]", "x.toml").unwrap();
        let message = match Algorithms::read(&section) {
            Ok(_) => section.finish().unwrap_err().to_string(),
            Err(e) => e.to_string(),
        };
        assert!(message.contains("blow"), "{message}");
    }

    #[test]
    fn rules_are_told_to_people() {
        let default = Algorithms::default();
        let told = |name: &str| {
            let variant = Variant::all().find(|variant| variant.name() == name).unwrap();
            let rules = default.rules(variant).iter().map(Rule::to_string);
            rules.collect::<Vec<String>>().join(", ")
        };
        assert_eq!(told("barrier"), "dissemination");
        assert_eq!(
            told("allgatherv"),
            "recursive-doubling (below 512 KiB, a power of two of ranks), bruck (below 80 KiB), ring"
        );
    }

    #[test]
    fn one_algorithm_can_be_chosen_for_all() {
        let mut algorithms = Algorithms::default();
        assert!(algorithms.choose(Collective::Scan, "ring").is_none());
        algorithms.choose(Collective::Alltoall, "pairwise").unwrap();
        assert_eq!(chosen(&algorithms, Collective::Alltoall, 4, 1), "pairwise");
        algorithms.choose(Collective::Gather, "binomial").unwrap();
        let call = CollectiveCall {
            rank: 0,
            ranks: 4,
            root: 0,
            bytes: 1,
        };
        let part = Share::new(call, None);
        assert_eq!(
            algorithms.of(Collective::Alltoall, Call::Alltoallv, &part).name,
            "pairwise"
        );
        assert_eq!(
            algorithms.of(Collective::Gather, Call::Gatherv, &part).name,
            "linear"
        );
    }
}
