//! The hosts that each mapping chooses, and properties of all mappings.

use proptest::prelude::*;

use super::*;

fn mapped(job: &str, ranks: u32, folder: &Path) -> Result<RankMapping, Error> {
    let job = Section::from_toml(job, "x.toml")?;
    let mapping = map_ranks(&job, ranks, folder, RandomStream::new(3, 9, 0))?;
    job.finish()?;
    Ok(mapping)
}

fn hosts(job: &str, ranks: u32) -> Vec<u32> {
    let mapping = mapped(job, ranks, Path::new(".")).unwrap_or_else(|e| panic!("{e}"));
    mapping.hosts
}

proptest! {
    /// As many hosts as needed, none with more ranks than allowed, and none without a rank.
    #[test]
    fn hosts_are_filled(ranks in 1u32..200, per_host in 1u32..20) {
        for name in ["linear", "round-robin", "random"] {
            let job = format!("mapping = \"{name}\"\nranks_per_host = {per_host}");
            let mapping = mapped(&job, ranks, Path::new(".")).unwrap();
            prop_assert_eq!(mapping.host_count(), ranks.div_ceil(per_host));
            let mut counts = vec![0; mapping.host_count() as usize];
            mapping.hosts.iter().for_each(|host| counts[*host as usize] += 1);
            prop_assert!(counts.iter().all(|count| (1..=per_host).contains(count)), "{}: {:?}", name, counts);
            prop_assert_eq!(mapping.hosts, hosts(&job, ranks));
        }
    }

    /// Ranks share a host if and only if they are in one block of the grid.
    #[test]
    fn blocks_share_a_host(
        blocks in prop::collection::vec((1u32..4, 1u32..4), 1..4),
        last_fastest in any::<bool>(),
    ) {
        let grid: Vec<u32> = blocks.iter().map(|(size, count)| size * count).collect();
        let block: Vec<u32> = blocks.iter().map(|(size, _)| *size).collect();
        let order = if last_fastest { "last-fastest" } else { "first-fastest" };
        let job = format!(
            "mapping = {{ kind = \"blocked\", grid = {grid:?}, block = {block:?}, order = \"{order}\" }}"
        );
        let ranks: u32 = grid.iter().product();
        let of = hosts(&job, ranks);
        let block_of = |rank: u32| -> Vec<u32> {
            let (mut rest, mut at) = (rank, vec![0; grid.len()]);
            let dimensions: Vec<usize> = match last_fastest {
                true => (0..grid.len()).rev().collect(),
                false => (0..grid.len()).collect(),
            };
            for dimension in dimensions {
                at[dimension] = rest % grid[dimension] / block[dimension];
                rest /= grid[dimension];
            }
            at
        };
        for a in 0..ranks {
            for b in 0..ranks {
                prop_assert_eq!(of[a as usize] == of[b as usize], block_of(a) == block_of(b));
            }
        }
        prop_assert_eq!(of.iter().max().unwrap() + 1, blocks.iter().map(|(_, count)| count).product::<u32>());
    }
}

#[test]
fn ranks_sit_where_they_are_asked_to() {
    assert_eq!(hosts("", 3), [0, 1, 2]);
    assert_eq!(hosts("ranks_per_host = 2", 5), [0, 0, 1, 1, 2]);
    assert_eq!(
        hosts("mapping = \"round-robin\"\nranks_per_host = 2", 5),
        [0, 1, 2, 0, 1]
    );
    let random = hosts("mapping = \"random\"", 50);
    assert_ne!(random, (0..50).collect::<Vec<u32>>());
    let blocked = "mapping = { kind = \"blocked\", grid = [4, 2], block = [2, 1] }";
    assert_eq!(hosts(blocked, 8), [0, 0, 1, 1, 2, 2, 3, 3]);
    let blocked = "mapping = { kind = \"blocked\", grid = [4, 2], block = [1, 2] }\nranks_per_host = 2";
    assert_eq!(hosts(blocked, 8), [0, 1, 2, 3, 0, 1, 2, 3]);
    let like_cart =
        "mapping = { kind = \"blocked\", grid = [4, 2], block = [1, 2], order = \"last-fastest\" }";
    assert_eq!(hosts(like_cart, 8), [0, 0, 1, 1, 2, 2, 3, 3]);
}

#[test]
fn wrong_mappings_are_refused_by_key() {
    let blocked = |rest: &str| format!("mapping = {{ kind = \"blocked\", {rest} }}");
    for (job, needle) in [
        (
            "mapping = \"rnd\"".into(),
            "x.toml:1: mapping: unknown name 'rnd'; ",
        ),
        (
            "mapping = \"blocked\"".into(),
            "mapping: grid: missing; expected a list in brackets; write mapping = { kind",
        ),
        ("ranks_per_host = 0".into(), "ranks_per_host: 0 is out of range"),
        (
            "mapping = \"random\"\nranks_per_host = 5000".into(),
            "ranks_per_host: 5000 is out of range",
        ),
        (
            blocked("grid = [4, 3], block = [1, 1]"),
            "mapping.grid: a grid of [4, 3] has 12 ranks; expected the 8 of the job",
        ),
        (
            blocked("grid = [100000, 100000], block = [1, 1]"),
            "has more than 2^32 ranks; expected the 8",
        ),
        (
            blocked("grid = [4, 2], block = [3, 1]"),
            "mapping.block: blocks of [3, 1] do not fill a grid of [4, 2]",
        ),
        (
            blocked("grid = [4, 2], block = [2, 0]"),
            "mapping.block: blocks of [2, 0]",
        ),
        (
            blocked("grid = [4, 2], block = [2]"),
            "mapping.block: blocks of [2]",
        ),
        (
            blocked("grid = [4, 2], block = [2, 1]") + "\nranks_per_host = 4",
            "x.toml:2: ranks_per_host: 4 is not what a block of [2, 1] has; expected 2",
        ),
    ] {
        let message = mapped(&job, 8, Path::new("."))
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(message.contains(needle), "{job}: {message}");
    }
}

#[test]
fn files_say_where_each_rank_sits() {
    let folder = tempfile::tempdir().unwrap();
    let read = |text: &str, keys: &str| {
        std::fs::write(folder.path().join("hosts.txt"), text).unwrap();
        let job = format!("mapping = {{ file = \"hosts.txt\" }}\n{keys}");
        mapped(&job, 4, folder.path()).map_err(|e| e.to_string())
    };
    let mapping = read("1 # rank 0\n0\n\n1\n1\n", "").unwrap();
    assert_eq!((mapping.hosts, mapping.per_host), (vec![1, 0, 1, 1], 3));
    for (text, keys, needle) in [
        (
            "0\n1\n0\n",
            "",
            "mapping.file: hosts.txt: lists 3 hosts; expected one for each of 4 ranks",
        ),
        (
            "0\n1\n0\n4\n",
            "",
            "hosts.txt:4: host 4 of 4 ranks; expected 0 to 3",
        ),
        ("0\n2\n0\n2\n", "", "no rank is on host 1, but some are on host 2"),
        ("0\n-1\n0\n2\n", "", "hosts.txt:2: '-1' is not a number"),
        (
            "0\n0\n0\n1\n",
            "ranks_per_host = 2",
            "hosts.txt:3: more than 2 ranks on host 0",
        ),
    ] {
        let message = read(text, keys).map(|_| ()).unwrap_err();
        assert!(message.contains(needle), "{text}: {message}");
    }
}
