//! The network of a draft, and the experiment around it.

use config::{Bandwidth, Error, Section, Setting};
use topology::{Kind, REGISTRY};

use super::job::JobDraft;
use super::lines::{GivenKey, setting_line, table};
use super::options::{DraftPreset, NetworkOptions};
use super::request::{DraftNetwork, Equal, TrafficHosts};
use crate::setup::network::{LINK, ROUTER};

/// An experiment on one topology, or that of its machine, without comments, to build it. Packets have their default,
/// for which every buffer has space.
pub(super) fn shortest(
    options: &NetworkOptions<'_>,
    job: &JobDraft,
    topology: Option<&str>,
    hosts: TrafficHosts,
) -> String {
    let topology = topology.map(|topology| format!("topology = {}\n", options.topology_table(topology)));
    let link = options
        .bandwidth
        .map(|bandwidth| format!("link = {{ bandwidth = \"{bandwidth}\" }}\n"));
    format!(
        "[network]\n{}{}{}{}",
        size_keys(options),
        topology.unwrap_or_default(),
        link.unwrap_or_default(),
        job.shortest(hosts)
    )
}

/// The preset, the number of hosts and the radix.
fn size_keys(options: &NetworkOptions<'_>) -> String {
    let preset = options.preset.map(|preset| preset.setting() + "\n");
    let radix = options.radix.map(|radix| format!("radix = {radix}\n"));
    format!(
        "{}hosts = {}\n{}",
        preset.unwrap_or_default(),
        options.hosts,
        radix.unwrap_or_default()
    )
}

/// Bandwidths of the links between routers that give all networks the bisection, or the bandwidth of all cables, of the
/// first one for each host. Rounded to Mbps, at least 1.
pub(super) fn equalise(networks: &mut [DraftNetwork], equal: Equal, bandwidth: Bandwidth) {
    let cables = |network: &DraftNetwork| match equal {
        Equal::Hosts | Equal::Cost => None,
        Equal::Bisection => network.bisection_cables,
        Equal::CableBandwidth => Some(network.cables),
    };
    let Some((first, first_hosts)) = networks
        .first()
        .and_then(|first| Some((cables(first)?, first.hosts)))
    else {
        return;
    };
    const MBPS: u128 = 1_000_000;
    for network in &mut networks[1..] {
        let own = u128::from(cables(network).unwrap_or(0)) * u128::from(first_hosts) * MBPS;
        let wanted = u128::from(first) * u128::from(network.hosts) * u128::from(bandwidth.bits_per_s);
        let mbps = (wanted + own / 2).checked_div(own).unwrap_or(0).max(1);
        network.router_link_bits_per_s = Some(u64::try_from(mbps * MBPS).unwrap_or(u64::MAX));
    }
}

/// The networks that smaller routers would give, one line for each: of half the radix, a quarter, and so on.
fn other_sizes(options: &NetworkOptions<'_>, network: &DraftNetwork, radix: u32) -> String {
    let tapering = options.tapering_of(&network.topology);
    let kind = format!(
        "kind = \"{}\"\n{}",
        network.topology,
        tapering.map_or(String::new(), |value| format!("tapering = {value}\n"))
    );
    let sized = |radix: u32| -> Result<(String, String), Error> {
        let wanted = Section::from_toml(&format!("[topology]\n{kind}"), "")?;
        let chosen = topology::size(&wanted, wanted.section("topology")?, options.hosts.into(), radix)?;
        let chosen: Vec<String> = chosen
            .iter()
            .map(|(key, value)| format!("{key} = {}", value.show()))
            .collect();
        let built = topology::build(&Section::from_toml(&format!("{kind}{}", chosen.join("\n")), "")?)?;
        let sizes = format!("{} hosts, {} routers", built.hosts(), built.routers());
        Ok((chosen.join(", "), sizes))
    };
    let radixes = std::iter::successors(Some(radix / 2), |radix| Some(radix / 2));
    let mut lines = String::new();
    let mut last = network
        .sizing
        .as_ref()
        .map(|sizing| sizing.chosen())
        .unwrap_or_default();
    // A radix that is too small ends the list, as 0 does.
    for (radix, (chosen, sizes)) in radixes.map_while(|radix| Some((radix, sized(radix).ok()?))) {
        if chosen != last {
            lines += &format!("#   radix = {radix}: {chosen}; {sizes}\n");
        }
        last = chosen;
    }
    match lines.is_empty() {
        true => lines,
        false => format!("# A smaller radix gives another network with at least that many hosts:\n{lines}"),
    }
}

/// What a network has, in one line.
pub(super) fn sizes(network: &DraftNetwork) -> String {
    let DraftNetwork {
        hosts,
        routers,
        cables,
        bisection_cables,
        ..
    } = network;
    let bisection = bisection_cables.map(|cables| format!(", bisection at most {cables} cables"));
    format!(
        "{hosts} hosts, {routers} routers, {cables} cables between routers{}",
        bisection.unwrap_or_default()
    )
}

/// The experiment, with comments. With several networks it has the first topology, and the routing of each is its
/// default.
pub(super) fn experiment(
    options: &NetworkOptions<'_>,
    job: &JobDraft,
    networks: &[DraftNetwork],
    command: &str,
) -> String {
    let is_sweep = networks.len() > 1;
    let network = &networks[0];
    let hosts = match is_sweep {
        // Variants say where it differs.
        true => TrafficHosts::Wanted,
        false => network.traffic_hosts,
    };
    format!(
        "{}\n[network]\n{}{}{}{}\n{}",
        head(job, networks, command),
        size(options, network, is_sweep),
        packet(options),
        topology_and_routing(options, network, is_sweep),
        links_and_routers(options, networks),
        job.tables(hosts, options.packet()),
    )
}

/// The comment at the top.
fn head(job: &JobDraft, networks: &[DraftNetwork], command: &str) -> String {
    let (what, next) = match networks {
        [network] => (
            format!(
                "Workload: {}. Network: {}.\n# {}.",
                job.name(),
                network.description,
                sizes(network)
            ),
            "#   fabricsim check FILE.toml        sizes, memory, whether it is proven free of deadlocks\n\
             #   fabricsim run FILE.toml          result folder with tables and a report",
        ),
        _ => (
            "The experiment of a sweep, which changes its topology.".into(),
            "#   fabricsim sweep SWEEP.toml       runs it on each topology and compares them",
        ),
    };
    format!(
        "# {what}\n# Written by: {command}\n#\n{next}\n#\n# Lines that are comments have the defaults. All keys: fabricsim \
         list keys, docs/formats/experiment.md\n"
    )
}

/// The keys that choose the size, with the reason.
fn size(options: &NetworkOptions<'_>, network: &DraftNetwork, is_sweep: bool) -> String {
    let mut comment = match options.preset {
        Some(preset @ DraftPreset::Machine(_)) => format!(
            "# {}.\n# A part of the machine: as few whole groups, cells, leaves or midplanes as have the hosts.\n",
            preset.summary()
        ),
        Some(preset @ DraftPreset::Hardware(_)) => format!("# {}.\n", preset.summary()),
        None => String::new(),
    };
    if options.preset.is_some() {
        comment += "# The values of the preset are defaults, which a key of this file replaces: docs/machines.md. All values: \
                    fabricsim check FILE.toml --json\n";
    }
    let Some(sizing) = &network.sizing else {
        return comment + &size_keys(options);
    };
    comment += "# hosts and radix choose the parameters of the topology: the smallest network with at least that many hosts, \
                all of\n# whose routers have at most that many ports.\n";
    if !is_sweep {
        let rule = kind(network).sizing.expect("a sized topology");
        let unused = network.unused_ports();
        comment += &format!(
            "# Here these are {}.\n# Rule: {}.\n{}# For another size, give these parameters in [network.topology] in place of \
             hosts and radix.\n{}",
            sizing.chosen(),
            rule.summary,
            unused.map_or(String::new(), |message| format!("# Warning: {message}.\n")),
            other_sizes(options, network, sizing.radix)
        );
    }
    comment + &size_keys(options)
}

/// The size of packets.
fn packet(options: &NetworkOptions<'_>) -> String {
    match options.packet() {
        None => String::new(),
        Some(packet) => format!(
            "# Packets: the largest MTU of InfiniBand (256 B to 4 KiB; rdma-core, libibverbs/verbs.h) that a link sends in at \
             most\n# 164 ns, the time of 2 KiB at 100 Gbps. Smaller packets make a run longer in proportion.\n{}",
            setting_line(&format!("packet = \"{packet}\""), "largest payload of a packet")
        ),
    }
}

/// The registered topology of a network.
fn kind(network: &DraftNetwork) -> &'static Kind {
    let mut kinds = REGISTRY.iter();
    kinds
        .find(|kind| kind.name == network.topology)
        .expect("a built topology")
}

/// The tables of the topology and its routing; none for a machine, which has its own.
fn topology_and_routing(options: &NetworkOptions<'_>, network: &DraftNetwork, is_sweep: bool) -> String {
    let Some(sizing) = &network.sizing else {
        return String::new();
    };
    let (kind, rule) = (kind(network), kind(network).sizing.expect("a sized topology"));
    let tapering = options.tapering_of(&network.topology);
    let given: Vec<GivenKey> = tapering.into_iter().map(|value| ("tapering", value)).collect();
    let is_shown = |name: &str| match is_sweep {
        true => given.iter().any(|(key, _)| *key == name),
        false => !rule.determines.contains(&name) && !sizing.parameters.contains_key(name),
    };
    let shown: Vec<_> = kind
        .parameters
        .iter()
        .filter(|parameter| is_shown(parameter.name))
        .copied()
        .collect();
    let routing = match is_sweep {
        true => "# Each topology has its default routing.\n".to_string(),
        false => {
            "[network.routing]\n".to_string()
                + &setting_line(
                    &format!("algorithm = \"{}\"", network.routing),
                    "the default of this topology; fabricsim list routings",
                )
        }
    };
    format!(
        "\n[network.topology]\nkind = \"{}\"\n{}\n{routing}",
        kind.name,
        table(&shown, &given)
    )
}

/// The tables of links and routers; none with a preset, which gives their values.
fn links_and_routers(options: &NetworkOptions<'_>, networks: &[DraftNetwork]) -> String {
    let Some(bandwidth) = options.bandwidth else {
        return String::new();
    };
    let link: &[GivenKey] = &[("bandwidth", format!("\"{bandwidth}\""))];
    let classes = match networks {
        [network] => format!("host, {}", network.classes.join(", ")),
        _ => "a link class of the topology".to_string(),
    };
    let buffer = options.buffer(networks);
    let router: Vec<GivenKey> = buffer
        .map(|size| ("buffer", format!("\"{size}\"")))
        .into_iter()
        .collect();
    let why = match buffer {
        Some(_) => {
            "# The buffer holds four packets for each virtual channel, for the round trip of a credit.\n"
        }
        None => "",
    };
    format!(
        "\n[network.link]\n{}# One class of links has other values in [network.links.CLASS]; here CLASS is {classes}.\n\n\
         [network.router]\n{why}{}",
        table(LINK, link),
        table(ROUTER, &router),
    )
}
