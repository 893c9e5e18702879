//! The network of a draft, and the experiment around it.

use config::{Bandwidth, Error, Section, Setting};
use topology::REGISTRY;

use super::job::JobDraft;
use super::lines::{GivenKey, setting_line, table};
use super::request::{DraftNetwork, DraftRequest, Equal, TrafficHosts, of_option};
use crate::Experiment;
use crate::setup::network::{LINK, ROUTER};

/// An experiment on one topology without comments, to build it.
pub(super) fn shortest(
    request: &DraftRequest<'_>,
    job: &JobDraft,
    topology: &str,
    hosts: TrafficHosts,
) -> String {
    let DraftRequest {
        hosts: wanted,
        radix,
        bandwidth,
        ..
    } = request;
    format!(
        "[network]\nhosts = {wanted}\nradix = {radix}\ntopology = {{ kind = \"{topology}\" }}\nlink = {{ bandwidth = \
         \"{bandwidth}\" }}\n{}",
        job.shortest(hosts)
    )
}

/// Bandwidths of the links between routers that give all networks the bisection, or the bandwidth of all cables, of the
/// first one for each host. Rounded to Mbps, at least 1.
pub(super) fn equalise(networks: &mut [DraftNetwork], equal: Equal, bandwidth: Bandwidth) {
    let cables = |network: &DraftNetwork| match equal {
        Equal::Hosts => None,
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
        network.router_link_bits_per_s = u64::try_from(mbps * MBPS).unwrap_or(u64::MAX);
    }
}

/// Refuses bandwidths of the links between routers that an experiment may not have.
pub(super) fn check_links(
    request: &DraftRequest<'_>,
    job: &JobDraft,
    network: &DraftNetwork,
) -> Result<(), Error> {
    let bandwidth = Bandwidth {
        bits_per_s: network.router_link_bits_per_s,
    };
    if bandwidth == request.bandwidth {
        return Ok(());
    }
    let mut text = shortest(request, job, &network.topology, network.traffic_hosts);
    for class in &network.classes {
        text += &format!("[network.links.{class}]\nbandwidth = \"{bandwidth}\"\n");
    }
    match Experiment::from_toml(&text, "", &[]) {
        Ok(_) => Ok(()),
        Err(error) => Err(of_option(error, &network.topology)),
    }
}

/// The networks that smaller routers would give, one line for each: of half the radix, a quarter, and so on.
fn other_sizes(request: &DraftRequest<'_>, network: &DraftNetwork) -> String {
    let sized = |radix: u32| -> Result<(String, String), Error> {
        let kind = format!("kind = \"{}\"\n", network.topology);
        let wanted = Section::from_toml(&format!("[topology]\n{kind}"), "")?;
        let chosen = topology::size(&wanted, wanted.section("topology")?, request.hosts.into(), radix)?;
        let chosen: Vec<String> = chosen
            .iter()
            .map(|(key, value)| format!("{key} = {}", value.show()))
            .collect();
        let built = topology::build(&Section::from_toml(&format!("{kind}{}", chosen.join("\n")), "")?)?;
        let sizes = format!("{} hosts, {} routers", built.hosts(), built.routers());
        Ok((chosen.join(", "), sizes))
    };
    let radixes = std::iter::successors(Some(request.radix / 2), |radix| Some(radix / 2));
    let mut lines = String::new();
    let mut last = network.sizing.chosen();
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
pub(super) fn experiment(request: &DraftRequest<'_>, job: &JobDraft, networks: &[DraftNetwork]) -> String {
    let network = &networks[0];
    let kind = REGISTRY
        .iter()
        .find(|kind| kind.name == network.topology)
        .expect("a built topology");
    let rule = kind.sizing.expect("a sized topology");
    let is_sweep = networks.len() > 1;
    let what = match is_sweep {
        true => "The experiment of a sweep, which changes its topology.".to_string(),
        false => format!(
            "Workload: {}. Network: {}.\n# {}.",
            job.name(),
            network.description,
            sizes(network)
        ),
    };
    let next = match is_sweep {
        true => {
            "#\n#   fabricsim sweep SWEEP.toml       runs it on each topology and compares them\n".to_string()
        }
        false => "#\n#   fabricsim check FILE.toml        sizes, memory, proof of deadlock freedom\n\
                  #   fabricsim run FILE.toml          result folder with tables and a report\n"
            .to_string(),
    };
    let free: Vec<_> = kind
        .parameters
        .iter()
        .filter(|parameter| !rule.determines.contains(&parameter.name))
        .filter(|parameter| !network.sizing.parameters.contains_key(parameter.name))
        .copied()
        .collect();
    let parameters = match is_sweep {
        true => String::new(),
        false => table(&free, &[]),
    };
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
    let given: &[GivenKey] = &[("bandwidth", format!("\"{}\"", request.bandwidth))];
    let traffic_hosts = match is_sweep {
        // Variants say where it differs.
        true => TrafficHosts::Wanted,
        false if network.hosts == request.hosts => TrafficHosts::All,
        false => network.traffic_hosts,
    };
    let size = match is_sweep {
        true => String::new(),
        false => format!(
            "# Here these are {}.\n# Rule: {}.\n# For another size, give these parameters in [network.topology] in place of \
             hosts and radix.\n{}",
            network.sizing.chosen(),
            rule.summary,
            other_sizes(request, network)
        ),
    };
    format!(
        "# {what}\n# Written by: {}\n{next}#\n# Lines that are comments have the defaults. All keys: fabricsim list keys, \
         docs/formats/experiment.md\n\n[network]\n# hosts and radix choose the parameters of the topology: the smallest \
         network with at least that many hosts, all of\n# whose routers have at most that many ports.\n{size}hosts = \
         {}\nradix = {}\n{}\n[network.topology]\nkind = \"{}\"\n{parameters}\n{routing}\n[network.link]\n{}# One class of links has \
         other values in [network.links.CLASS]; here CLASS is {}.\n\n[network.router]\n{}\n{}",
        request.command,
        request.hosts,
        request.radix,
        setting_line("# packet = \"256 B\"", "largest payload of a packet"),
        network.topology,
        table(LINK, given),
        match is_sweep {
            true => "a link class of the topology".to_string(),
            false => format!("host, {}", network.classes.join(", ")),
        },
        table(ROUTER, &[]),
        job.tables(traffic_hosts),
    )
}
