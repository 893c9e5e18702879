//! Properties of all placements, and the hosts that each placement chooses.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::Experiment;
use crate::setup::network::NetworkModel;

const DRAGONFLY: &str = "kind = \"dragonfly\", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 1, groups = 5";
const FAT_TREE: &str = "kind = \"fat-tree\", radix = 4, levels = 3";
const TORUS: &str = "kind = \"torus\", sizes = [4, 3], hosts_per_router = 2";

fn experiment(topology: &str, keys: &str) -> Experiment {
    let routing = match topology {
        TORUS => "dimension-order",
        FAT_TREE => "adaptive",
        _ => "minimal",
    };
    let text = format!(
        "[network]\ntopology = {{ {topology} }}\nrouting = {{ algorithm = \"{routing}\" }}\n{keys}\n[[job]]\n\
         traffic = {{ pattern = \"uniform\", load = 0.1 }}\n[run]\nuntil = \"1 us\""
    );
    Experiment::from_toml(&text, "x.toml", &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// The order of these hosts for the keys of a job.
fn ordered(
    network: &NetworkModel,
    free: &[u32],
    seed: u64,
    folder: &Path,
    job: &str,
) -> Result<Vec<u32>, Error> {
    let job = Section::from_toml(job, "x.toml")?;
    let mut site = PlacementSite {
        free: free.iter().copied().map(HostId).collect(),
        holder: &|_| "another job".into(),
        hosts: network.hosts(),
        geometry: &HostGeometry::new(network),
        folder,
        random: RandomStream::new(seed, u32::MAX, 0),
    };
    let order = order(&job, &mut site)?;
    job.finish()?;
    Ok(order.hosts.into_iter().map(|host| host.0).collect())
}

/// The required parameters of a placement.
fn example(placement: &Placement) -> &'static str {
    match placement.name {
        "clusters" => "size = 3",
        "file" => "file = \"hosts.txt\"",
        "hostlist" => "hostlist = \"nid[0001-0003,0005],nid0009\"",
        _ => "",
    }
}

/// The order of all hosts of a network, for placements without a file.
fn all(topology: &str, job: &str) -> Result<Vec<u32>, String> {
    let experiment = experiment(topology, "");
    let free: Vec<u32> = (0..experiment.network.hosts()).collect();
    ordered(&experiment.network, &free, 5, Path::new("."), job).map_err(|e| e.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Hosts are free and unique. All free hosts appear, unless the experiment names hosts. The same seed gives the
    /// same order.
    #[test]
    fn placements_give_free_hosts_once(
        topology in prop::sample::select(&[DRAGONFLY, FAT_TREE, TORUS][..]),
        taken in prop::collection::btree_set(11u32..40, 0..12),
        seed in any::<u64>(),
    ) {
        let experiment = experiment(topology, "");
        let network = &experiment.network;
        let free: Vec<u32> = (0..network.hosts()).filter(|host| !taken.contains(host)).collect();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("hosts.txt"), "# two\n3\n\n 1 # last\n").unwrap();
        for placement in PLACEMENTS {
            let job = format!("placement = {{ kind = \"{}\", {} }}", placement.name, example(placement));
            let order = |seed| ordered(network, &free, seed, folder.path(), &job);
            let Ok(hosts) = order(seed) else {
                prop_assert!(placement.name == "random-groups" && topology == TORUS, "{}", placement.name);
                continue;
            };
            prop_assert_eq!(&hosts, &order(seed).unwrap());
            let distinct: BTreeSet<u32> = hosts.iter().copied().collect();
            prop_assert_eq!(distinct.len(), hosts.len());
            if placement.names_hosts {
                prop_assert!(distinct.iter().all(|host| free.contains(host)));
            } else {
                prop_assert!(distinct.into_iter().eq(free.iter().copied()), "{}", placement.name);
            }
            if example(placement).is_empty() {
                let short = ordered(network, &free, seed, folder.path(), &format!("placement = \"{}\"", placement.name));
                prop_assert_eq!(&hosts, &short.unwrap());
            }
        }
    }

    /// Routers, groups and runs stay together.
    #[test]
    fn parts_stay_together(seed in any::<u64>(), first in 0u32..8) {
        let experiment = experiment(DRAGONFLY, "");
        let free: Vec<u32> = (first..40).collect();
        for (job, size) in [
            ("placement = \"random-routers\"", 2),
            ("placement = \"random-groups\"", 8),
        ] {
            let hosts = ordered(&experiment.network, &free, seed, Path::new("."), job).unwrap();
            let parts = hosts.chunk_by(|a, b| a / size == b / size).count() as u32;
            prop_assert_eq!(parts, 40u32.div_ceil(size) - first / size);
        }
        let job = "placement = { kind = \"clusters\", size = 5 }";
        let hosts = ordered(&experiment.network, &free, seed, Path::new("."), job).unwrap();
        let full = (free.len() / 5) * 5;
        for run in hosts[..full].chunks(5) {
            prop_assert!((run[0] - first).is_multiple_of(5) && run.windows(2).all(|pair| pair[0] + 1 == pair[1]));
        }
    }
}

#[test]
fn round_robin_deals_hosts_out() {
    let routers = all(DRAGONFLY, "placement = \"round-robin\"").unwrap();
    assert_eq!(routers[..20], (0..40).step_by(2).collect::<Vec<u32>>());
    assert_eq!(routers[20..], (1..40).step_by(2).collect::<Vec<u32>>());
    let groups = all(
        DRAGONFLY,
        "placement = { kind = \"round-robin\", over = \"groups\" }",
    )
    .unwrap();
    assert_eq!(groups[..7], [0, 8, 16, 24, 32, 1, 9]);
    // Pods of four hosts.
    let pods = all(
        FAT_TREE,
        "placement = { kind = \"round-robin\", over = \"groups\" }",
    )
    .unwrap();
    assert_eq!(pods[..6], [0, 4, 8, 12, 1, 5]);
}

#[test]
fn orders_differ_by_seed() {
    let experiment = experiment(DRAGONFLY, "");
    let free: Vec<u32> = (0..40).collect();
    for job in [
        "placement = \"random\"",
        "placement = \"random-routers\"",
        "placement = \"random-groups\"",
        "placement = { kind = \"clusters\", size = 4 }",
    ] {
        let order = |seed| ordered(&experiment.network, &free, seed, Path::new("."), job).unwrap();
        assert!((2..9).any(|seed| order(seed) != order(1)), "{job}");
        assert_ne!(order(3), free, "{job}");
    }
}

/// Routers are counted in hosts, not in ports: with two ports per host, each router has one host here.
#[test]
fn hosts_of_several_rails_are_where_their_first_is() {
    let experiment = experiment(TORUS, "rails = 2");
    let free: Vec<u32> = (0..12).collect();
    let job = "placement = \"random-routers\"";
    let hosts = ordered(&experiment.network, &free, 1, Path::new("."), job).unwrap();
    assert_eq!(hosts.len(), 12);
    let job = "placement = \"round-robin\"";
    assert_eq!(
        ordered(&experiment.network, &free, 1, Path::new("."), job).unwrap(),
        free
    );
}

#[test]
fn named_hosts_come_in_their_order() {
    assert_eq!(
        all(
            TORUS,
            "placement = { hostlist = \"nid[0011-0013,0010]\", first = 10 }"
        )
        .unwrap(),
        [1, 2, 3, 0]
    );
}

#[test]
fn wrong_placements_are_refused_by_key() {
    for (job, needle) in [
        (
            "placement = \"lnear\"",
            "x.toml:1: placement: unknown name 'lnear'; did you mean 'linear'?",
        ),
        ("placement = 3", "placement: 3 is not a string in quotes"),
        (
            "placement = { kind = \"cluster\" }",
            "placement.kind: unknown name 'cluster'; did you mean 'clusters'?",
        ),
        (
            "placement = { size = 3 }",
            "placement.kind: missing; expected one of: linear, random",
        ),
        (
            "placement = \"clusters\"",
            "x.toml:1: placement: size: missing; expected a whole number; write placement = { kind = \"clusters\", size = ... }",
        ),
        (
            "placement = { kind = \"clusters\", size = 0 }",
            "placement.size: 0 is out of range",
        ),
        (
            "placement = { kind = \"random\", size = 3 }",
            "placement.size: unknown key 'size'",
        ),
        (
            "placement = \"random-groups\"",
            "x.toml:1: placement: needs groups; expected a network with groups",
        ),
        (
            "placement = { kind = \"round-robin\", over = \"groups\" }",
            "placement.over: needs groups; expected a network with groups",
        ),
        (
            "placement = { kind = \"round-robin\", over = \"hosts\" }",
            "placement.over: unknown name 'hosts'; expected one of: routers, groups",
        ),
        (
            "placement = { file = \"none.txt\" }",
            "placement.file: none.txt: ",
        ),
        (
            "placement = { hostlist = \"n[5-3]\" }",
            "placement.hostlist: '[5-3]': '5-3' is descending",
        ),
        (
            "placement = { hostlist = \"n[22-24]\" }",
            "placement.hostlist: n24: host 24 does not exist; expected 0 to 23",
        ),
        (
            "placement = { hostlist = \"n4,m4\" }",
            "placement.hostlist: m4: host 4 is named twice, by n4 before",
        ),
        (
            "placement = { hostlist = \"n[1-4]\", first = 2 }",
            "n1: its number is below that of host 0, first = 2",
        ),
    ] {
        let message = all(TORUS, job).unwrap_err();
        assert!(message.contains(needle), "{job}: {message}");
    }
}

#[test]
fn files_are_refused_by_line() {
    let experiment = experiment(TORUS, "");
    let folder = tempfile::tempdir().unwrap();
    for (text, needle) in [
        ("0\n\nx1\n", "placement.file: hosts.txt:3: 'x1' is not a number"),
        ("0\n24\n", "hosts.txt:2: host 24 does not exist; expected 0 to 23"),
        (
            "7\n8\n# no\n7",
            "hosts.txt:4: host 7 is named twice, by hosts.txt:1 before",
        ),
        ("5", "hosts.txt:1: host 5 is taken by the ranks of another job"),
    ] {
        std::fs::write(folder.path().join("hosts.txt"), text).unwrap();
        let free: Vec<u32> = (0..24).filter(|host| *host != 5).collect();
        let job = "placement = { file = \"hosts.txt\" }";
        let message = ordered(&experiment.network, &free, 1, folder.path(), job)
            .unwrap_err()
            .to_string();
        assert!(message.contains(needle), "{text}: {message}");
    }
}
