use std::path::Path;

use serde_json::Value as Json;

use super::file::{Origin, PresetFile};
use super::{HARDWARE, MACHINES, NetworkPreset};
use crate::{Experiment, listing};

/// Light traffic on all hosts of a network.
const TRAFFIC: &str = r#"
[[job]]
traffic = { pattern = "uniform", load = 0.1 }
[run]
until = "1 us"
"#;

fn try_build(network: &str, overrides: &[(&str, &str)]) -> Result<Experiment, String> {
    let text = format!("[network]\n{network}\n{TRAFFIC}");
    let overrides: Vec<_> = overrides
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    Experiment::from_toml(&text, "test.toml", &overrides).map_err(|error| error.to_string())
}

fn build(network: &str, overrides: &[(&str, &str)]) -> Experiment {
    try_build(network, overrides).unwrap_or_else(|error| panic!("{error}\n{network} {overrides:?}"))
}

fn machine(name: &str, overrides: &[(&str, &str)]) -> Experiment {
    build(&format!("preset = \"{name}\""), overrides)
}

fn error(network: &str, overrides: &[(&str, &str)]) -> String {
    match try_build(network, overrides) {
        Err(error) => error,
        Ok(_) => panic!("{network} {overrides:?} is accepted"),
    }
}

/// The value that the result prints for a key.
fn printed<'e>(experiment: &'e Experiment, path: &str) -> &'e Json {
    path.split('.')
        .fold(&experiment.settings, |table, key| &table[key])
}

/// All printed keys below a table with their values.
fn leaves(path: &str, value: &Json, all: &mut Vec<(String, Json)>) {
    match value {
        Json::Object(table) => table
            .iter()
            .for_each(|(key, value)| leaves(&format!("{path}.{key}"), value, all)),
        value => all.push((path.into(), value.clone())),
    }
}

fn file(preset: &NetworkPreset) -> PresetFile {
    preset.read().unwrap_or_else(|error| panic!("{error}"))
}

/// Hosts by the source, host places of the model, routers of the model.
const SIZES: &[(&str, u32, u32, u32)] = &[
    ("archer", 4_920, 13 * 384, 13 * 96),
    ("archer2", 5_860, 46 * 128, 46 * 16),
    ("aurora", 10_624, 10_624, 166 * 32),
    ("frontera", 8_368, 191 * 44, 191 + 6),
    ("frontier", 9_408, 74 * 128, 74 * 32),
    ("leonardo", 3_456, 20 * 180, 20 * 36),
    ("lumi", 2_978, 24 * 128, 24 * 32),
    ("lumi-c", 2_048, 2_048, 8 * 16),
    ("mira", 49_152, 49_152, 49_152),
    ("sequoia", 98_304, 98_304, 98_304),
    ("theta", 4_392, 12 * 384, 12 * 96),
];

#[test]
fn each_machine_has_the_hosts_of_its_source_in_whole_parts() {
    let names: Vec<&str> = SIZES.iter().map(|(name, ..)| *name).collect();
    assert_eq!(
        MACHINES.iter().map(|preset| preset.name).collect::<Vec<_>>(),
        names
    );
    for ((name, hosts, places, routers), preset) in SIZES.iter().zip(MACHINES) {
        let machine_of_file = file(preset).machine.expect("a machine has hosts");
        assert_eq!(machine_of_file.hosts, *hosts, "{name}");
        let whole = machine(name, &[]);
        assert_eq!(whole.network.hosts(), *places, "{name}");
        assert_eq!(whole.network.topology.routers(), *routers, "{name}");
        // The last part is the only one that is not full.
        let most = machine(name, &[("network.hosts", &hosts.to_string())]);
        assert_eq!(most.network.hosts(), *places, "{name}");
        assert!(
            places - hosts < machine(name, &[("network.hosts", "1")]).network.hosts(),
            "{name}"
        );
    }
}

/// Keys of the model that are not numbers of a machine. Their values are those of any experiment without a preset.
const OF_THE_MODEL: &[&str] = &[
    "network.preset",
    "network.hardware",
    "network.router.model",
    "network.router.arbiter",
    "network.router.iterations",
    "network.router.allocator",
    "network.router.switch_allocation",
    "network.router.vc_assignment",
    "network.router.host_vcs",
    "network.router.buffers",
    "network.router.private_buffer",
    "network.router.stages",
    "network.router.vc_allocation",
    "network.router.speculation",
    "network.router.speculation_needs",
    "network.router.arbiter_groups",
    "network.router.vc_requests",
    "network.router.vc_preference",
    "network.router.vc_requesters",
    "network.router.priority",
    "network.router.input_speedup",
    "network.router.output_speedup",
    "network.router.vc_reuse",
    "network.router.routing_delay",
    "network.router.crossbar_delay",
    "network.router.crossbar",
    "network.router.crossbar_bandwidth",
    "network.router.flit",
    "network.router.vc_output_buffer",
    "network.router.queues",
    "network.router.switching",
    "network.router.vc_copies",
    "network.nic.model",
    "network.nic.injection_bandwidth",
    "network.nic.memory_bandwidth",
    "network.nic.congestion_control",
    // No source has them; docs/methods/packet.md says why these are the defaults.
    "network.nic.pair_window",
    "network.nic.congestion_threshold",
    "network.nic_arbiter",
    "network.planes",
    "network.rail_choice",
    "network.rail_per",
    "network.rail_stripe_threshold",
    "network.rail_arrangement",
    "network.topology.links",
    "network.topology.seed",
    // Follows from the hosts and `down`.
    "network.topology.leaves",
    // Settings of UGAL and of minimal routing.
    "network.routing.bias",
    "network.routing.weight",
    "network.routing.cost",
    "network.routing.candidates",
    "network.routing.intermediate",
    "network.routing.intermediate_spine",
    "network.routing.detours",
    "network.routing.paths",
    "network.routing.local",
    "network.routing.information",
    "network.routing.period",
    "network.routing.metric",
    "network.routing.metric_scope",
    "network.routing.vcs",
    "network.routing.deadlock",
    "network.traffic_class",
];

#[test]
fn no_number_of_a_machine_is_a_silent_default() {
    for preset in MACHINES {
        let of_machine = file(preset);
        let hardware = of_machine.hardware.clone().expect("a machine names its hardware");
        let family = HARDWARE
            .iter()
            .find(|family| family.name == hardware)
            .expect("a known family");
        let mut known: Vec<String> = of_machine.values.into_iter().map(|value| value.key).collect();
        known.extend(file(family).values.into_iter().map(|value| value.key));
        let experiment = machine(preset.name, &[]);
        let mut all = Vec::new();
        leaves("network", printed(&experiment, "network"), &mut all);
        for (key, _) in all {
            // Links of a class have the values of all links, and so on, where they have none of their own.
            let of_class =
                key.starts_with("network.links.")
                    .then(|| match key.rsplit('.').next().expect("a key") {
                        "buffer" => "network.router.buffer".to_string(),
                        "router_delay" => "network.router.delay".to_string(),
                        last => format!("network.link.{last}"),
                    });
            let is_known = |key: &String| known.contains(key) || OF_THE_MODEL.contains(&key.as_str());
            assert!(
                is_known(&key) || of_class.as_ref().is_some_and(is_known),
                "{}: {key}",
                preset.name
            );
        }
        for overhead in ["mpi.send_overhead", "mpi.receive_overhead"] {
            assert!(
                known.iter().any(|key| key == overhead),
                "{}: {overhead}",
                preset.name
            );
        }
        assert!(
            known
                .iter()
                .any(|key| key == "mpi.preset" || key == "mpi.eager_threshold"),
            "{}",
            preset.name
        );
    }
}

#[test]
fn each_hardware_family_gives_the_speeds_of_a_network() {
    const OWN: &str = "topology = { kind = \"fat-tree\", radix = 8 }\nrouting = { algorithm = \"adaptive\" }";
    for family in HARDWARE {
        let contents = file(family);
        assert!(
            contents.machine.is_none() && contents.hardware.is_none(),
            "{}",
            family.name
        );
        let experiment = build(&format!("hardware = \"{}\"\n{OWN}", family.name), &[]);
        for value in contents.values {
            let shown = printed(&experiment, &value.key).as_str().expect("a quantity");
            let given = match value.key.as_str() {
                // Sizes print in the greatest unit that holds them.
                "network.router.buffer" | "network.packet" => continue,
                key if key.ends_with("bandwidth") => continue,
                _ => value.value.as_str(),
            };
            assert_eq!(shown, given, "{}: {}", family.name, value.key);
        }
        for key in [
            "network.link.bandwidth",
            "network.router.delay",
            "network.packet",
            "network.nic_injection_delay",
        ] {
            assert!(
                file(family).values.iter().any(|value| value.key == key),
                "{}: {key}",
                family.name
            );
        }
    }
    let slingshot = build(&format!("hardware = \"slingshot-11\"\n{OWN}"), &[]);
    assert_eq!(slingshot.network.injection_bits_per_s(), 200_000_000_000);
    assert_eq!(printed(&slingshot, "network.hardware"), "slingshot-11");
    let hdr100 = build(&format!("hardware = \"infiniband-hdr100\"\n{OWN}"), &[]);
    assert_eq!(hdr100.network.injection_bits_per_s(), 100_000_000_000);
}

#[test]
fn a_part_has_whole_groups_and_the_links_of_those_that_are_missing() {
    for (name, _, _, _) in SIZES {
        let part = machine(name, &[("network.hosts", "512")]);
        let one = machine(name, &[("network.hosts", "1")]);
        let hosts = part.network.hosts();
        assert!(
            hosts >= 512 && hosts.is_multiple_of(one.network.hosts()),
            "{name}: {hosts}"
        );
        assert!(
            hosts - 512 < one.network.hosts(),
            "{name}: {hosts} is more than the fewest parts"
        );
        assert_eq!(printed(&part, "network.hosts"), 512);
    }
    // Four of LUMI's 24 groups: 20 links to each of 23 others are 153 to each of three.
    let lumi = machine("lumi", &[("network.hosts", "512")]);
    assert_eq!(printed(&lumi, "network.topology.groups"), 4);
    assert_eq!(
        printed(&lumi, "network.topology.links_between_groups"),
        20 * 23 / 3
    );
    assert_eq!(
        printed(&machine("lumi", &[]), "network.topology.links_between_groups"),
        20
    );
    // Leaves of a fat tree keep their uplinks to the same core switches.
    let frontera = machine("frontera", &[("network.hosts", "45")]);
    assert_eq!(frontera.network.topology.routers(), 2 + 6);
    // Midplanes form the box with the fewest nodes, then with the shortest sides.
    let sizes = |hosts: &str| {
        let mira = machine("mira", &[("network.hosts", hosts)]);
        printed(&mira, "network.topology.sizes").to_string()
    };
    assert_eq!(sizes("512"), "[4,4,4,4,2]");
    assert_eq!(sizes("513"), "[4,4,4,8,2]");
    assert_eq!(sizes("8192"), "[8,8,8,8,2]");
    // Five midplanes are no box with sides of at most 2, 3, 4 and 4.
    assert_eq!(sizes("2560"), "[4,4,8,12,2]".to_string());
    assert_eq!(sizes("49152"), "[8,12,16,16,2]");
}

#[test]
fn keys_of_the_experiment_override_those_of_a_preset() {
    let changed = machine(
        "lumi",
        &[
            ("network.hosts", "512"),
            ("network.link.bandwidth", "400 Gbps"),
            ("network.rails", "2"),
            ("mpi.eager_threshold", "1 KiB"),
            ("network.topology.links_between_groups", "20"),
        ],
    );
    assert_eq!(changed.network.injection_bits_per_s(), 800_000_000_000);
    assert_eq!(changed.network.hosts(), 4 * 256);
    assert_eq!(printed(&changed, "mpi.eager_threshold"), "1 KiB");
    assert_eq!(printed(&changed, "mpi.preset"), "cxi");
    assert_eq!(printed(&changed, "network.topology.links_between_groups"), 20);
    assert_eq!(printed(&changed, "network.router.delay"), "350 ns");

    let per_router = [
        ("network.topology.global_links_per_router", "3"),
        ("network.hosts", "512"),
    ];
    let per_router = machine("lumi", &per_router);
    assert_eq!(
        printed(&per_router, "network.topology.links_between_groups"),
        &Json::Null
    );

    let other_hardware = machine("lumi", &[("network.hardware", "infiniband-ndr")]);
    assert_eq!(printed(&other_hardware, "network.link.bandwidth"), "400 Gbps");
    assert_eq!(printed(&other_hardware, "network.links.global.latency"), "100 ns");
}

#[test]
fn a_topology_or_routing_of_ones_own_has_its_own_parameters() {
    let tree = [
        ("network.topology", "{ kind = \"fat-tree\", radix = 16 }"),
        ("network.routing", "{ algorithm = \"adaptive\" }"),
    ];
    let tree = machine("lumi", &tree);
    assert_eq!(tree.network.hosts(), 16 * 16 * 16 / 4 / 4);
    assert_eq!(printed(&tree, "network.router.delay"), "350 ns");
    assert_eq!(printed(&tree, "network.topology.groups"), &Json::Null);
    let minimal = machine("lumi", &[("network.routing.algorithm", "minimal")]);
    assert_eq!(minimal.network.routing.vcs(), 2);
    let same = machine(
        "lumi",
        &[("network.topology.kind", "dragonfly"), ("network.hosts", "129")],
    );
    assert_eq!(same.network.hosts(), 256);
}

#[test]
fn the_printed_experiment_builds_the_same_network() {
    for (name, hosts) in [
        ("lumi", "300"),
        ("frontera", "50"),
        ("mira", "600"),
        ("archer", "400"),
        ("leonardo", "200"),
    ] {
        let first = machine(name, &[("network.hosts", hosts)]);
        let mut all = Vec::new();
        leaves("network", printed(&first, "network"), &mut all);
        let all: Vec<(String, String)> = all
            .into_iter()
            .map(|(key, value)| (key, value.to_string()))
            .collect();
        let again =
            Experiment::from_toml(TRAFFIC, "test.toml", &all).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(first.settings["network"], again.settings["network"], "{name}");
    }
}

#[test]
fn wrong_names_and_sizes_are_refused() {
    let unknown = error("preset = \"lumy\"", &[]);
    let names: Vec<&str> = MACHINES.iter().map(|preset| preset.name).collect();
    assert!(
        unknown.contains("test.toml:2") && unknown.contains("network.preset"),
        "{unknown}"
    );
    assert!(unknown.contains(&names.join(", ")), "{unknown}");
    let unknown = error("hardware = \"slingshot\"", &[]);
    let names: Vec<&str> = HARDWARE.iter().map(|preset| preset.name).collect();
    assert!(
        unknown.contains("network.hardware") && unknown.contains(&names.join(", ")),
        "{unknown}"
    );
    for hosts in ["0", "2979"] {
        let wrong = error("preset = \"lumi\"", &[("network.hosts", hosts)]);
        assert!(
            wrong.contains("network.hosts") && wrong.contains("expected 1 to 2978"),
            "{wrong}"
        );
    }
    let wrong = error("hosts = 12", &[]);
    assert!(
        wrong.contains("network.hosts") && wrong.contains("network.preset"),
        "{wrong}"
    );
    let fewer = [("network.hosts", "512"), ("network.topology.groups", "2")];
    let wrong = error("preset = \"lumi\"", &fewer);
    assert!(
        wrong.contains("network.hosts") && wrong.contains("leave 256 hosts"),
        "{wrong}"
    );
    let other = [("network.topology.kind", "torus"), ("network.hosts", "4")];
    let wrong = error("preset = \"lumi\"", &other);
    assert!(
        wrong.contains("network.hosts") && wrong.contains("network.topology.kind"),
        "{wrong}"
    );
    // A mistake of the experiment is reported where it is, not in the preset.
    let wrong = error("preset = \"lumi\"\nlink = 3", &[]);
    assert!(
        wrong.contains("test.toml:3") && wrong.contains("not a table"),
        "{wrong}"
    );
}

#[test]
fn broken_presets_are_refused_with_their_line() {
    let refused = |text: &str| match PresetFile::read(text, "the preset x") {
        Err(error) => error.to_string(),
        Ok(file) => panic!("{file:?}"),
    };
    const VALUE: &str = "summary = \"x\"\n[[value]]\nkey = \"network.rails\"\nvalue = \"1\"\n";
    assert!(PresetFile::read(&format!("{VALUE}source = \"a page\""), "x").is_ok());
    for (text, what) in [
        (VALUE.to_string(), "exactly one"),
        (format!("{VALUE}source = \"a\"\nassumed = \"b\""), "exactly one"),
        (format!("{VALUE}source = \" \""), "empty"),
        (
            format!("{VALUE}source = \"general knowledge, unverified\""),
            "assumed",
        ),
        (format!("{VALUE}sauce = \"a\"\nassumed = \"b\""), "sauce"),
        (
            format!(
                "{VALUE}source = \"a\"\n[[value]]\nkey = \"network.rails\"\nvalue = \"2\"\nsource = \"a\""
            ),
            "already",
        ),
        ("summary = \"x\"\nnodes = 3".into(), "nodes"),
    ] {
        let message = refused(&text);
        assert!(
            message.contains("the preset x:") && message.contains(what),
            "{message}"
        );
    }
}

/// The tables of `docs/machines.md`.
fn documented() -> String {
    let mut page = String::new();
    for (kind, heading) in [("machines", "Machines"), ("hardware", "Hardware families")] {
        page += &format!("## {heading}\n");
        for preset in listing(kind).expect("a kind of parts") {
            page += &format!(
                "\n### `{}`\n\n{}.\n\n| key | value | source, or why it is assumed |\n| --- | --- | --- |\n",
                preset.name, preset.summary
            );
            for value in preset.values {
                let origin = match &value.origin {
                    Origin::Source(source) => source.clone(),
                    Origin::Assumed(reason) => format!("**assumed**: {reason}"),
                };
                assert!(!origin.contains('|'), "{origin}");
                page += &format!("| `{}` | {} | {origin} |\n", value.key, value.value);
            }
        }
        page += "\n";
    }
    page.trim_end().to_string() + "\n"
}

/// `UPDATE_EXPECTED=1` writes the tables again.
#[test]
fn the_page_shows_each_number_with_its_source() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/machines.md");
    let page = std::fs::read_to_string(&path).expect("docs/machines.md");
    let start = page.find("## Machines\n").expect("the heading of the tables");
    let expected = documented();
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&path, page[..start].to_string() + &expected).expect("the page can be written");
        return;
    }
    let differs = page[start..]
        .lines()
        .zip(expected.lines())
        .find(|(written, expected)| written != expected);
    assert_eq!(differs, None, "UPDATE_EXPECTED=1 writes the tables again");
    assert_eq!(
        page[start..].len(),
        expected.len(),
        "UPDATE_EXPECTED=1 writes the tables again"
    );
}
