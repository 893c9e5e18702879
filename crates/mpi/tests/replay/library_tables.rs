//! The tables of MPI libraries against the facts that were read from the sources of the libraries, in
//! shared/mpi of the parent folder. Without that folder the tests say so and check nothing.

use std::collections::BTreeSet;

use config::Section;
use mpi::{
    AlgorithmSelection, CollectiveArgs, CollectiveCall, CollectiveVariant, RanksByHost, SelectionTable,
    TABLES,
};
use workload::{Call, Counts};

/// The rows of a file with facts, by column.
struct Facts {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Facts {
    fn read(file: &str) -> Option<Facts> {
        let path = format!("{}/../../../shared/mpi/{file}", env!("CARGO_MANIFEST_DIR"));
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("skipped: {path} is not there");
            return None;
        };
        let mut lines = text.lines().map(fields);
        Some(Facts {
            columns: lines.next()?,
            rows: lines.collect(),
        })
    }

    fn get<'a>(&self, row: &'a [String], column: &str) -> &'a str {
        let at = self.columns.iter().position(|name| name == column);
        &row[at.unwrap_or_else(|| panic!("no column {column}"))]
    }

    fn number(&self, row: &[String], column: &str) -> Option<u64> {
        let text = self.get(row, column);
        (!text.is_empty()).then(|| text.parse().unwrap())
    }
}

/// Fields between commas; quotation marks protect commas.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields.last_mut().unwrap().push(letter),
        }
    }
    fields
}

fn table(name: &str) -> &'static SelectionTable {
    TABLES.iter().find(|table| table.name == name).unwrap()
}

fn variant(name: &str) -> CollectiveVariant {
    CollectiveVariant::all()
        .find(|variant| variant.name() == name)
        .unwrap_or_else(|| panic!("no collective {name}"))
}

/// The name here of an algorithm of a library.
fn ours(table: &SelectionTable, collective: &str, name: &str) -> String {
    let found = table
        .names()
        .find(|named| named.collective == collective && named.name == name);
    found.map_or_else(|| name.replace('_', "-"), |named| named.algorithm.to_string())
}

/// What the table selects for a call of one rank's `block` bytes, or of a vector of these.
fn selected(rules: &AlgorithmSelection, variant: CollectiveVariant, ranks: u64, bytes: u64) -> &'static str {
    let counts = variant.varying.then(|| Counts {
        receives: vec![bytes; ranks as usize],
        ..Counts::default()
    });
    let call = CollectiveCall::new(0, ranks as u32, 0, bytes);
    let part = CollectiveArgs::new(call, counts.as_ref());
    rules.select(variant.collective, Call::Other, &part).name
}

/// Values about each of these limits.
fn around(limits: impl Iterator<Item = u64>) -> BTreeSet<u64> {
    limits
        .flat_map(|limit| [limit.saturating_sub(1), limit, limit + 1])
        .collect()
}

#[test]
fn openmpi_selects_by_the_fixed_rules_of_tuned() {
    let Some(facts) = Facts::read("collectives-openmpi.csv") else {
        return;
    };
    let table = table("openmpi-4.1");
    let rules = AlgorithmSelection::table(table);
    let mut checked = 0;
    for operation in [
        "barrier",
        "bcast",
        "reduce",
        "allreduce",
        "allgather",
        "allgatherv",
        "alltoall",
        "alltoallv",
        "gather",
        "scatter",
        "reduce_scatter",
    ] {
        let collective = operation.replace('_', "-");
        let of_41 = |row: &&Vec<String>| {
            facts.get(row, "component") == "tuned"
                && facts
                    .get(row, "versions")
                    .split(';')
                    .any(|version| version == "4.1")
                && facts.get(row, "operation") == operation
                && facts.get(row, "commutative") != "no"
        };
        let rows: Vec<&Vec<String>> = facts.rows.iter().filter(of_41).collect();
        let limits = |columns: [&'static str; 2]| {
            let of_row = |row: &&Vec<String>| columns.map(|column| facts.number(row, column));
            around(rows.iter().flat_map(of_row).flatten())
        };
        let some_ranks = limits(["ranks_min", "ranks_max"]);
        let some_bytes = limits(["bytes_min", "bytes_max"]);
        let nothing = BTreeSet::from([0]);
        for ranks in some_ranks.iter().copied().filter(|ranks| *ranks >= 2) {
            for bytes in some_bytes.union(&nothing).copied() {
                let fits = |value: u64, row: &[String], from: &str, to: &str| {
                    facts.number(row, from).is_none_or(|from| from <= value)
                        && facts.number(row, to).is_none_or(|to| value <= to)
                };
                let fitting: Vec<&&Vec<String>> = rows
                    .iter()
                    .filter(|row| fits(ranks, row, "ranks_min", "ranks_max"))
                    .filter(|row| fits(bytes, row, "bytes_min", "bytes_max"))
                    .collect();
                assert_eq!(fitting.len(), 1, "{operation} of {ranks} ranks and {bytes} B");
                let named = facts.get(fitting[0], "algorithm");
                // The library replaces these itself. Elements have 8 B.
                let named = match (operation, named) {
                    ("allreduce", "ring" | "segmented_ring") if bytes < 8 * ranks => "recursive_doubling",
                    ("allgather", "recursive_doubling") if !ranks.is_power_of_two() => "bruck",
                    (_, named) => named,
                };
                assert_eq!(
                    selected(&rules, variant(&collective), ranks, bytes),
                    ours(table, &collective, named),
                    "{operation} of {ranks} ranks and {bytes} B: {named}"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 10_000, "{checked}");
    for collective in ["gatherv", "scatterv", "scan", "exscan"] {
        let basic = facts
            .rows
            .iter()
            .find(|row| facts.get(row, "component") == "basic" && facts.get(row, "operation") == collective);
        let named = facts.get(basic.unwrap(), "algorithm");
        assert_eq!(selected(&rules, variant(collective), 9, 100), named);
    }
}

/// The first row that fits is chosen. Operations commute and are built in, buffers are not in place.
#[test]
fn mpich_selects_by_its_file() {
    let Some(facts) = Facts::read("collectives-mpich.csv") else {
        return;
    };
    let table = table("mpich");
    let rules = AlgorithmSelection::table(table);
    let some_ranks: Vec<u64> = (2..=34).chain([63, 64, 65, 127, 128, 1000, 1024, 4096]).collect();
    let limits = [8, 256, 2048, 12_288, 32_768, 81_920, 524_288, 1 << 20];
    for operation in [
        "barrier",
        "bcast",
        "reduce",
        "allreduce",
        "allgather",
        "allgatherv",
        "alltoall",
        "alltoallv",
        "gather",
        "gatherv",
        "scatter",
        "scatterv",
        "reduce_scatter",
        "scan",
        "exscan",
    ] {
        let collective = operation.replace('_', "-");
        let fits_always = |row: &&Vec<String>| {
            facts.get(row, "layer") == "mpir: algorithm"
                && facts.get(row, "operation") == operation
                && facts.get(row, "comm_type") != "inter"
                && facts.get(row, "hierarchy") == "any"
                // Splits the ranks into hosts and leaders, which a flat communicator has not; 0 B only.
                && !facts.get(row, "algorithm").ends_with("_smp")
                && facts.get(row, "commutative") != "no"
                && facts.get(row, "built_in_op") != "no"
                && ![
                    "is_sendbuf_inplace=yes",
                    "is_node_consecutive=yes",
                    "is_block_regular=no",
                ]
                .contains(&facts.get(row, "other"))
        };
        let rows: Vec<&Vec<String>> = facts.rows.iter().filter(fits_always).collect();
        for ranks in some_ranks.iter().copied() {
            // A limit of the sum over ranks is met by one rank's block.
            let blocks = limits.iter().map(|limit| limit / ranks);
            let per_rank = [8 * ranks, 8 << ranks.ilog2()];
            for bytes in around(limits.iter().copied().chain(blocks).chain(per_rank)) {
                let sums = matches!(operation, "allgather" | "allgatherv");
                let fits = |row: &&&Vec<String>| {
                    let size = if sums { bytes * ranks } else { bytes };
                    let limit = facts.get(row, "bytes");
                    let small = match (limit.strip_prefix("<="), limit.strip_prefix('<')) {
                        (Some(limit), _) => size <= limit.parse().unwrap(),
                        (None, Some(limit)) => size < limit.parse().unwrap(),
                        (None, None) => true,
                    };
                    let few = match facts.get(row, "ranks") {
                        "any" => true,
                        "pow2" => ranks.is_power_of_two(),
                        "<8" => ranks < 8,
                        other => panic!("ranks {other}"),
                    };
                    let short = match facts.get(row, "elements") {
                        "any" => true,
                        "<pow2" => bytes / 8 < 1 << ranks.ilog2(),
                        other => panic!("elements {other}"),
                    };
                    small && few && short
                };
                let row = rows.iter().find(fits).unwrap();
                let full = facts.get(row, "algorithm");
                let middle = ["_intra_", "_allcomm_"];
                let named = middle
                    .iter()
                    .find_map(|middle| full.split_once(middle))
                    .unwrap()
                    .1;
                assert_eq!(
                    selected(&rules, variant(&collective), ranks, bytes),
                    ours(table, &collective, named),
                    "{operation} of {ranks} ranks and {bytes} B: {named}"
                );
            }
        }
    }
}

#[test]
fn tracer_selects_by_its_limits() {
    let Some(facts) = Facts::read("collectives-tracer.csv") else {
        return;
    };
    let rules = AlgorithmSelection::table(table("tracer"));
    let mut checked = BTreeSet::new();
    for row in &facts.rows {
        let operation = facts.get(row, "operation");
        let expected = match facts.get(row, "algorithm") {
            text if text.starts_with("binary tree") => "binary-tree",
            text if text.starts_with("reduce then bcast on the same binary tree") => "binary-tree",
            text if text.starts_with("as allreduce") => "binary-tree",
            text if text.starts_with("pairwise: XOR") => "pairwise-exchange",
            text if text.starts_with("direct, 32 at a time") => "scattered",
            text if text.starts_with("binomial tree") => "binomial",
            "bruck" => "bruck",
            "ring" => "ring",
            text if text.contains("never chosen") || text == "not simulated" => continue,
            text => panic!("{text}"),
        };
        for ranks in [2, 3, 8, 16, 63, 100] {
            let limits = ["bytes_min", "bytes_max"].map(|column| facts.number(row, column));
            let limits = limits.into_iter().flatten().chain([1000]);
            let fits = |size: u64| {
                let (from, to) = (facts.number(row, "bytes_min"), facts.number(row, "bytes_max"));
                from.is_none_or(|from| from <= size) && to.is_none_or(|to| size <= to)
            };
            // The limit of allgather is that of the sum over ranks.
            let times = if operation == "allgather" { ranks } else { 1 };
            for block in around(limits.map(|limit| limit / times)) {
                if fits(block * times) {
                    let found = selected(&rules, variant(operation), ranks, block);
                    assert_eq!(found, expected, "{operation} of {ranks} ranks and {block} B");
                    checked.insert((operation, expected));
                }
            }
        }
    }
    assert_eq!(checked.len(), 10, "{checked:?}");
}

/// The rules that a result prints, read again, are the rules of the table.
#[test]
fn printed_rules_are_the_table() {
    for table in TABLES {
        let text = format!("table = \"{}\"", table.name);
        let section = Section::from_toml(&text, "x.toml").unwrap();
        let rules = AlgorithmSelection::read(&section).unwrap();
        assert_eq!(rules, AlgorithmSelection::table(table));
        let shown = section.finish().unwrap();
        let mut again = Section::empty("");
        for (key, value) in shown.as_object().unwrap() {
            if key == "table" {
                continue;
            }
            let rule = |rule: &serde_json::Value| {
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
        assert_eq!(AlgorithmSelection::read(&again).unwrap(), rules, "{}", table.name);
    }
}

/// Open MPI 5.0 asks its component han first, which serves seven collectives of ranks that share hosts.
#[test]
fn openmpi_5_has_two_levels_where_han_serves() {
    let Some(facts) = Facts::read("collectives-openmpi.csv") else {
        return;
    };
    let of_han = |row: &&Vec<String>| {
        let versions = facts.get(row, "versions");
        facts.get(row, "component") == "han" && versions.split(';').any(|version| version == "5.0")
    };
    let served: BTreeSet<&str> = facts
        .rows
        .iter()
        .filter(of_han)
        .map(|row| facts.get(row, "operation"))
        .collect();
    assert_eq!(served.len(), 7);
    let (han, tuned) = (table("openmpi-5.0"), table("openmpi-4.1"));
    let [han, tuned] = [han, tuned].map(AlgorithmSelection::table);
    let hosts = |ranks: u32| RanksByHost::new((0..ranks).map(|rank| rank / 4));
    for variant in CollectiveVariant::all() {
        for (ranks, bytes) in [(8, 8), (64, 100_000), (10, 8), (4, 8)] {
            let call = CollectiveArgs::new(CollectiveCall::new(0, ranks, 0, bytes), None);
            let counts = Counts {
                receives: vec![bytes; ranks as usize],
                ..Counts::default()
            };
            let varying = CollectiveArgs::new(CollectiveCall::new(0, ranks, 0, bytes), Some(&counts));
            let call = if variant.varying { varying } else { call };
            let hosts = hosts(ranks);
            let name = |rules: &AlgorithmSelection, call: &CollectiveArgs| {
                rules.select(variant.collective, Call::Other, call).name
            };
            // Ranks 8 and 9 are alone on the third of ten ranks' hosts; four ranks have one host.
            let even = ranks % 4 == 0 || matches!(variant.name(), "allreduce" | "barrier");
            let expected = match served.contains(variant.name()) && ranks > 4 && even {
                true => "two-level",
                false => name(&tuned, &call),
            };
            assert_eq!(
                name(&han, &call.on_hosts(Some(&hosts))),
                expected,
                "{} of {ranks}",
                variant.name()
            );
            assert_eq!(name(&han, &call), name(&tuned, &call));
        }
    }
}

/// Names of stand-ins are algorithms here.
#[test]
fn stand_ins_exist() {
    for table in TABLES {
        for named in table.names() {
            for algorithm in named.algorithm.split(", ") {
                let collective = variant(named.collective).collective;
                let mut known = mpi::ALGORITHMS.iter();
                let exists = known.any(|known| known.collective == collective && known.name == algorithm);
                assert!(exists, "{} {algorithm}", named.collective);
            }
        }
    }
}
