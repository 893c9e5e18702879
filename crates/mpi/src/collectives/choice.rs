//! Selection of collective algorithms by rules on size and number of ranks. The first matching rule applies.
//!
//! All ranks of a call must select the same algorithm without communication. A rule may therefore use only what
//! all ranks know: the size of a collective with equal counts, and the sum of the counts where MPI gives them
//! to every rank. The other `v` variants have rules without size.

use std::array;
use std::fmt;

use config::{Bytes, Error, Section, Setting, Value};
use serde_json::{Map, Value as Json};
use workload::{Call, Collective, Counts};

use super::tables::{SelectionTable, TABLES, TableRow};
use super::{COLLECTIVES, CollectiveAlgorithm, CollectiveArgs, HostLayout, known};

/// A collective with rules of its own. Some `v` variants have their own rules, as in MPI libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveVariant {
    /// The collective.
    pub collective: Collective,
    /// Whether amounts may differ between ranks.
    pub varying: bool,
}

const VARYING: [Collective; 4] = [
    Collective::Allgather,
    Collective::Alltoall,
    Collective::Gather,
    Collective::Scatter,
];

const VARIANTS: usize = COLLECTIVES.len() + VARYING.len();

impl CollectiveVariant {
    /// All variants.
    pub fn all() -> impl Iterator<Item = CollectiveVariant> {
        let of = |varying| move |collective| CollectiveVariant { collective, varying };
        COLLECTIVES
            .into_iter()
            .map(of(false))
            .chain(VARYING.into_iter().map(of(true)))
    }

    /// The variant of a call.
    pub fn of(collective: Collective, call: Call, counts: Option<&Counts>) -> CollectiveVariant {
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
        CollectiveVariant {
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

    /// The algorithms that support it.
    fn algorithms(self) -> impl Iterator<Item = &'static CollectiveAlgorithm> {
        known(self.collective).filter(move |algorithm| algorithm.varying || !self.varying)
    }

    fn algorithm(self, name: &str) -> Option<&'static CollectiveAlgorithm> {
        self.algorithms().find(|algorithm| algorithm.name == name)
    }

    /// Whether all ranks of a call can know its size.
    fn has_size(self) -> bool {
        !self.varying || self.collective == Collective::Allgather
    }

    /// The bytes that rules compare, if all ranks know them. The docs page of the collectives defines them.
    fn size(self, part: &CollectiveArgs) -> Option<u64> {
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

/// A rule that selects an algorithm. All its conditions must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectionRule {
    /// The call has fewer bytes than this.
    pub below: Option<u64>,
    /// The call has fewer bytes than this times the number of ranks.
    pub below_per_rank: Option<u64>,
    /// The call has fewer bytes than this times the largest power of two in the number of ranks.
    pub below_per_power_of_two: Option<u64>,
    /// The communicator has fewer ranks than this.
    pub ranks_below: Option<u32>,
    /// The number of ranks is a power of two, or is not.
    pub power_of_two: Option<bool>,
    /// The selected algorithm.
    pub algorithm: &'static CollectiveAlgorithm,
}

impl SelectionRule {
    fn always(algorithm: &'static CollectiveAlgorithm) -> SelectionRule {
        SelectionRule {
            below: None,
            below_per_rank: None,
            below_per_power_of_two: None,
            ranks_below: None,
            power_of_two: None,
            algorithm,
        }
    }

    /// The limits of the size, by key.
    fn sizes(&self) -> [(&'static str, Option<u64>); 3] {
        [
            ("below", self.below),
            ("below_per_rank", self.below_per_rank),
            ("below_per_power_of_two", self.below_per_power_of_two),
        ]
    }

    fn uses_size(&self) -> bool {
        self.sizes().iter().any(|(_, bytes)| bytes.is_some())
    }

    fn is_unconditional(&self) -> bool {
        *self == SelectionRule::always(self.algorithm) && self.algorithm.layout == HostLayout::Any
    }

    fn matches(&self, size: Option<u64>, part: &CollectiveArgs) -> bool {
        let ranks = part.ranks;
        let smaller = |limit: Option<u64>, times: u32| {
            let limit = limit.map(|limit| u128::from(limit) * u128::from(times));
            limit.is_none_or(|limit| size.is_some_and(|size| u128::from(size) < limit))
        };
        smaller(self.below, 1)
            && smaller(self.below_per_rank, ranks)
            && smaller(self.below_per_power_of_two, 1 << ranks.ilog2())
            && self.ranks_below.is_none_or(|below| ranks < below)
            && self.power_of_two.is_none_or(|is| ranks.is_power_of_two() == is)
            && part.has_layout(self.algorithm.layout)
    }

    fn json(&self) -> Json {
        let mut shown = Map::new();
        for (key, bytes) in self.sizes() {
            if let Some(bytes) = bytes {
                shown.insert(key.into(), Bytes { bytes }.show());
            }
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

    fn read(section: &Section, variant: CollectiveVariant) -> Result<SelectionRule, Error> {
        let name: String = section.required("algorithm")?;
        let size = |key: &str| -> Result<Option<u64>, Error> {
            let limit: Option<Bytes> = section.optional(key)?;
            if limit.is_some() && !variant.has_size() {
                let why = format!(
                    "the ranks of an {} do not know each other's sizes and could select different algorithms; leave out {key}",
                    variant.name()
                );
                return Err(section.error(key, why));
            }
            Ok(limit.map(|limit| limit.bytes))
        };
        Ok(SelectionRule {
            below: size("below")?,
            below_per_rank: size("below_per_rank")?,
            below_per_power_of_two: size("below_per_power_of_two")?,
            ranks_below: section.optional("ranks_below")?,
            power_of_two: section.optional("power_of_two")?,
            algorithm: variant
                .algorithm(&name)
                .ok_or_else(|| unknown(section, "algorithm", &name, variant))?,
        })
    }
}

impl fmt::Display for SelectionRule {
    /// `bruck (below 80 KiB)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size =
            |bytes: Option<u64>, per: &str| bytes.map(|bytes| format!("below {}{per}", Bytes { bytes }));
        let below = size(self.below, "");
        let per_rank = size(self.below_per_rank, " per rank");
        let per_power = size(
            self.below_per_power_of_two,
            " per rank of the largest power of two",
        );
        let ranks = self.ranks_below.map(|ranks| format!("fewer than {ranks} ranks"));
        let power = self.power_of_two.map(|is| match is {
            true => "a power of two of ranks".to_string(),
            false => "no power of two of ranks".to_string(),
        });
        let layout = match self.algorithm.layout {
            HostLayout::Any => None,
            HostLayout::Shared => Some("ranks that share hosts".to_string()),
            HostLayout::SharedEvenly => Some("hosts with equally many ranks, at least two".to_string()),
        };
        let conditions: Vec<String> = [below, per_rank, per_power, ranks, power, layout]
            .into_iter()
            .flatten()
            .collect();
        match conditions.is_empty() {
            true => f.write_str(self.algorithm.name),
            false => write!(f, "{} ({})", self.algorithm.name, conditions.join(", ")),
        }
    }
}

/// Selects an algorithm for all calls. If it needs ranks that share hosts, other calls keep their rules.
fn prefer(rules: &mut Vec<SelectionRule>, algorithm: &'static CollectiveAlgorithm) {
    if algorithm.layout == HostLayout::Any {
        rules.clear();
    }
    rules.insert(0, SelectionRule::always(algorithm));
}

fn needs_a_last_rule(algorithm: &CollectiveAlgorithm) -> String {
    format!(
        "{} works only where several ranks of a call share a host: expected another algorithm in the last rule, \
         such as [{{ algorithm = \"{}\" }}, {{ algorithm = \"linear\" }}]",
        algorithm.name, algorithm.name
    )
}

fn unknown(section: &Section, key: &str, name: &str, variant: CollectiveVariant) -> Error {
    section.unknown_name(key, name, variant.algorithms().map(|a| a.name))
}

/// The rules of all collectives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlgorithmSelection {
    /// Rules by variant. The last rule of each is unconditional.
    rules: [Vec<SelectionRule>; VARIANTS],
}

impl Default for AlgorithmSelection {
    /// The first table of [`TABLES`].
    fn default() -> AlgorithmSelection {
        AlgorithmSelection::table(&TABLES[0])
    }
}

impl AlgorithmSelection {
    /// The rules of a table.
    pub fn table(table: &SelectionTable) -> AlgorithmSelection {
        let rule = |variant: CollectiveVariant, line: &TableRow| SelectionRule {
            below: line.below,
            below_per_rank: line.below_per_rank,
            below_per_power_of_two: line.below_per_power_of_two,
            ranks_below: line.ranks_below,
            power_of_two: line.power_of_two,
            algorithm: variant
                .algorithm(line.algorithm)
                .expect("a test checks the names in tables"),
        };
        let mut rules = array::from_fn(|_| Vec::new());
        for variant in CollectiveVariant::all() {
            let all = table.rules.iter().copied().flatten();
            let lines = all.filter(|(name, _)| *name == variant.name());
            rules[variant.index()] = lines
                .flat_map(|(_, lines)| *lines)
                .map(|line| rule(variant, line))
                .collect();
        }
        AlgorithmSelection { rules }
    }

    /// Reads `[mpi.collectives]`: `table`, and for each variant an optional key with the name of an algorithm
    /// or a list of rules.
    ///
    /// # Errors
    /// A name is not an algorithm of the collective, or the last rule has conditions.
    pub fn read(section: &Section) -> Result<AlgorithmSelection, Error> {
        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        let table = section.choice_or("table", names[0], &names)?;
        let mut algorithms = AlgorithmSelection::table(
            TABLES
                .iter()
                .find(|known| known.name == table)
                .expect("it is one of the names"),
        );
        for variant in CollectiveVariant::all() {
            let key = variant.name();
            let rules = &mut algorithms.rules[variant.index()];
            match section.or(key, RuleSetting::of(rules))? {
                RuleSetting::Default(_) => {}
                RuleSetting::Name(name) => {
                    let algorithm = variant.algorithm(&name);
                    let algorithm = algorithm.ok_or_else(|| unknown(section, key, &name, variant))?;
                    prefer(rules, algorithm);
                }
                RuleSetting::Rules => {
                    let tables = section.sections(key)?;
                    *rules = tables
                        .iter()
                        .map(|table| SelectionRule::read(table, variant))
                        .collect::<Result<_, _>>()?;
                    let (last, others) = rules.split_last().expect("TOML has no empty list of tables");
                    if last.algorithm.layout != HostLayout::Any {
                        let why = needs_a_last_rule(last.algorithm);
                        return Err(tables[others.len()].error("algorithm", why));
                    }
                    if !last.is_unconditional() {
                        let why = "the last rule must hold for all calls: give its algorithm only";
                        return Err(tables[others.len()].error("", why));
                    }
                    if let Some(early) = others.iter().position(SelectionRule::is_unconditional) {
                        let why = "this rule holds for all calls, so later rules have no effect";
                        return Err(tables[early].error("", why));
                    }
                }
            }
        }
        Ok(algorithms)
    }

    /// The algorithm of a call, which is the same on all ranks.
    pub fn select(
        &self,
        collective: Collective,
        call: Call,
        part: &CollectiveArgs,
    ) -> &'static CollectiveAlgorithm {
        let variant = CollectiveVariant::of(collective, call, part.counts);
        let rules = &self.rules[variant.index()];
        let size = rules
            .iter()
            .any(SelectionRule::uses_size)
            .then(|| variant.size(part))
            .flatten();
        let (last, others) = rules.split_last().expect("the last rule is unconditional");
        others
            .iter()
            .find(|rule| rule.matches(size, part))
            .unwrap_or(last)
            .algorithm
    }

    /// Whether a rule needs to know which ranks share a host.
    pub fn needs_hosts(&self) -> bool {
        let mut rules = self.rules.iter().flatten();
        rules.any(|rule| rule.algorithm.layout != HostLayout::Any)
    }

    /// The rules of a variant in order.
    pub fn rules(&self, variant: CollectiveVariant) -> &[SelectionRule] {
        &self.rules[variant.index()]
    }

    /// Selects one algorithm for all calls of a collective, and of its `v` variant if supported. An algorithm that
    /// needs ranks that share hosts is selected for those, and other ranks keep their rules. `None` if the
    /// collective has no such algorithm.
    pub fn choose(&mut self, collective: Collective, name: &str) -> Option<&'static CollectiveAlgorithm> {
        let algorithm = known(collective).find(|algorithm| algorithm.name == name)?;
        for variant in CollectiveVariant::all().filter(|variant| variant.collective == collective) {
            if let Some(algorithm) = variant.algorithm(name) {
                prefer(&mut self.rules[variant.index()], algorithm);
            }
        }
        Some(algorithm)
    }
}

/// The setting of a collective.
#[derive(Clone, Debug)]
enum RuleSetting {
    /// The key is missing. The rules of the table are printed back.
    Default(Json),
    Name(String),
    /// A list of tables.
    Rules,
}

impl RuleSetting {
    fn of(rules: &[SelectionRule]) -> RuleSetting {
        RuleSetting::Default(match rules {
            [only] if only.is_unconditional() => only.algorithm.name.into(),
            _ => rules.iter().map(SelectionRule::json).collect(),
        })
    }
}

impl Setting for RuleSetting {
    const EXPECTED: &'static str = "the name of an algorithm, or a list of rules { below, below_per_rank, below_per_power_of_two, ranks_below, \
         power_of_two, algorithm }";

    fn read(value: &Value) -> Result<RuleSetting, String> {
        match value {
            Value::String(name) => Ok(RuleSetting::Name(name.clone())),
            Value::Tables(_) => Ok(RuleSetting::Rules),
            _ => Err(format!("expected {}", RuleSetting::EXPECTED)),
        }
    }

    fn show(&self) -> Json {
        match self {
            RuleSetting::Default(shown) => shown.clone(),
            RuleSetting::Name(name) => name.as_str().into(),
            RuleSetting::Rules => Json::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{CollectiveCall, RanksByHost};
    use super::*;

    fn read(text: &str) -> Result<AlgorithmSelection, Error> {
        AlgorithmSelection::read(&Section::from_toml(text, "x.toml").unwrap())
    }

    fn chosen(
        algorithms: &AlgorithmSelection,
        collective: Collective,
        ranks: u32,
        bytes: u64,
    ) -> &'static str {
        let call = CollectiveCall::new(0, ranks, 0, bytes);
        algorithms
            .select(collective, Call::Other, &CollectiveArgs::new(call, None))
            .name
    }

    #[test]
    fn tables_are_complete_and_name_what_there_is() {
        for table in TABLES {
            let named: BTreeSet<&str> = table
                .rules
                .iter()
                .copied()
                .flatten()
                .map(|(name, _)| *name)
                .collect();
            assert_eq!(named.len(), VARIANTS);
            let algorithms = AlgorithmSelection::table(table);
            for (index, variant) in CollectiveVariant::all().enumerate() {
                assert_eq!(variant.index(), index);
                let (last, others) = algorithms.rules(variant).split_last().unwrap();
                assert!(last.is_unconditional() && !others.iter().any(SelectionRule::is_unconditional));
                assert!(variant.has_size() || !others.iter().any(SelectionRule::uses_size));
                assert!(variant.algorithms().count() > 0);
            }
        }
        // In MPI all parts of a reduce-scatter have counts.
        assert!(known(Collective::ReduceScatter).all(|algorithm| algorithm.varying));
    }

    #[test]
    fn two_levels_are_for_ranks_that_share_hosts() {
        let rules =
            read(r#"allreduce = [{ algorithm = "two-level", below = "1 MiB" }, { algorithm = "ring" }]"#);
        let rules = rules.unwrap();
        assert!(rules.needs_hosts() && !AlgorithmSelection::default().needs_hosts());
        for (hosts, bytes, name) in [
            (Some(&[0, 0, 1, 1][..]), 8, "two-level"),
            (Some(&[0, 0, 1, 1]), 1 << 20, "ring"),
            (Some(&[0, 1, 2, 3]), 8, "ring"),
            (Some(&[0, 0, 0, 0]), 8, "ring"),
            (None, 8, "ring"),
        ] {
            let hosts = hosts.map(|hosts| RanksByHost::new(hosts.iter().copied()));
            let call = CollectiveArgs::new(CollectiveCall::new(0, 4, 0, bytes), None);
            let selected = rules.select(Collective::Allreduce, Call::Other, &call.on_hosts(hosts.as_ref()));
            assert_eq!(selected.name, name);
        }
        let named = read(r#"reduce = "two-level""#).unwrap();
        let variant = CollectiveVariant {
            collective: Collective::Reduce,
            varying: false,
        };
        let (first, others) = named.rules(variant).split_first().unwrap();
        assert_eq!(first.algorithm.name, "two-level");
        assert_eq!(others, AlgorithmSelection::default().rules(variant));
        let text = r#"allreduce = [{ algorithm = "ring", below = "1 KiB" }, { algorithm = "two-level" }]"#;
        let message = read(text).unwrap_err().to_string();
        assert!(
            message.contains("share a host") && message.contains("x.toml"),
            "{message}"
        );
    }

    #[test]
    fn the_default_is_that_of_mpich() {
        use Collective::*;
        let default = AlgorithmSelection::default();
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
        let default = AlgorithmSelection::default();
        let of = |collective, call, bytes, counts: Option<&Counts>| {
            let call_of = CollectiveCall::new(0, 3, 0, bytes);
            default
                .select(collective, call, &CollectiveArgs::new(call_of, counts))
                .name
        };
        let counts = |receives: &[u64]| Counts {
            sends: vec![],
            receives: receives.to_vec(),
            ..Counts::default()
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
        let algorithms = AlgorithmSelection::read(&section).unwrap();
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
        // The printed experiment is equivalent.
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
        assert_eq!(AlgorithmSelection::read(&again).unwrap(), algorithms);
    }

    #[test]
    fn limits_grow_with_the_ranks() {
        let text = "reduce = [{ below_per_power_of_two = \"8 B\", algorithm = \"linear\" }, \
                    { below_per_rank = \"8 B\", algorithm = \"chain\" }, { algorithm = \"binomial\" }]\n\
                    allgather = [{ below_per_rank = \"10 B\", algorithm = \"bruck\" }, { algorithm = \"ring\" }]";
        let section = Section::from_toml(text, "x.toml").unwrap();
        let rules = AlgorithmSelection::read(&section).unwrap();
        for (collective, ranks, bytes, name) in [
            (Collective::Reduce, 6, 31, "linear"),
            (Collective::Reduce, 6, 32, "chain"),
            (Collective::Reduce, 6, 47, "chain"),
            (Collective::Reduce, 6, 48, "binomial"),
            (Collective::Reduce, u32::MAX, u64::MAX, "binomial"),
            // The size of an allgather is the sum of the contributions.
            (Collective::Allgather, 7, 9, "bruck"),
            (Collective::Allgather, 7, 10, "ring"),
        ] {
            assert_eq!(
                chosen(&rules, collective, ranks, bytes),
                name,
                "{collective:?} {ranks} {bytes}"
            );
        }
        let shown = section.finish().unwrap();
        assert_eq!(shown["reduce"][0]["below_per_power_of_two"], "8 B");
        assert_eq!(shown["reduce"][1]["below_per_rank"], "8 B");
        let limited = &rules.rules[CollectiveVariant::all().nth(2).unwrap().index()][..2];
        assert_eq!(
            limited.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "linear (below 8 B per rank of the largest power of two)",
                "chain (below 8 B per rank)"
            ]
        );
    }

    #[test]
    fn wrong_rules_are_refused() {
        for (text, needle) in [
            (
                "allreduce = 3",
                "x.toml:1: allreduce: expected the name of an algorithm, or a list of rules",
            ),
            ("allreduce = []", "expected the name"),
            ("table = \"mpic\"", "did you mean 'mpich'"),
            (
                "\nallreduce = [{ below = \"2 KiB\", algorithm = \"ring\" }]",
                "x.toml:2: allreduce.0: the last rule must hold",
            ),
            (
                "allreduce = [{ algorithm = \"ring\" }, { algorithm = \"ring\" }]",
                "later rules have no effect",
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
            (
                "gatherv = [{ below_per_rank = \"3 B\", algorithm = \"linear\" }, { algorithm = \"linear\" }]",
                "leave out below_per_rank",
            ),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains(needle), "{message}");
        }
        let section =
            Section::from_toml("bcast = [{ blow = \"1 B\", algorithm = \"linear\" }]", "x.toml").unwrap();
        let message = match AlgorithmSelection::read(&section) {
            Ok(_) => section.finish().unwrap_err().to_string(),
            Err(e) => e.to_string(),
        };
        assert!(message.contains("blow"), "{message}");
    }

    #[test]
    fn rules_are_printed() {
        let default = AlgorithmSelection::default();
        let shown = |name: &str| {
            let variant = CollectiveVariant::all()
                .find(|variant| variant.name() == name)
                .unwrap();
            let rules = default.rules(variant).iter().map(SelectionRule::to_string);
            rules.collect::<Vec<String>>().join(", ")
        };
        assert_eq!(shown("barrier"), "dissemination");
        assert_eq!(
            shown("allgatherv"),
            "recursive-doubling (below 512 KiB, a power of two of ranks), bruck (below 80 KiB), ring"
        );
    }

    #[test]
    fn one_algorithm_can_be_chosen_for_all() {
        let mut algorithms = AlgorithmSelection::default();
        assert!(algorithms.choose(Collective::Scan, "ring").is_none());
        algorithms.choose(Collective::Alltoall, "pairwise").unwrap();
        assert_eq!(chosen(&algorithms, Collective::Alltoall, 4, 1), "pairwise");
        algorithms.choose(Collective::Gather, "binomial").unwrap();
        let call = CollectiveCall::new(0, 4, 0, 1);
        let part = CollectiveArgs::new(call, None);
        assert_eq!(
            algorithms
                .select(Collective::Alltoall, Call::Alltoallv, &part)
                .name,
            "pairwise"
        );
        assert_eq!(
            algorithms.select(Collective::Gather, Call::Gatherv, &part).name,
            "linear"
        );
    }
}
