//! The sweep of a draft: one variant for each topology.

use std::fmt::Write;

use config::Bandwidth;

use super::job::JobDraft;
use super::lines::setting_line;
use super::network::sizes;
use super::request::{DraftNetwork, DraftRequest, Equal, TrafficHosts};

/// The text before and after the line with the experiment file.
pub(super) fn text(
    request: &DraftRequest<'_>,
    job: &JobDraft,
    networks: &[DraftNetwork],
) -> (String, String) {
    let names: Vec<&str> = networks.iter().map(|network| network.topology.as_str()).collect();
    let equal = match request.equal {
        Equal::Hosts => format!(
            "Each has at least {} hosts, and all links have the same bandwidth.",
            request.hosts
        ),
        Equal::Bisection => format!(
            "Each has at least {} hosts. The links between routers have the bandwidth that gives two halves of the\n# \
             hosts as much for each host as on {}. The halves are those with the fewest\n# \
             cables between them that a search finds. Their number is an upper bound of the bisection.",
            request.hosts, names[0]
        ),
        Equal::CableBandwidth => format!(
            "Each has at least {} hosts. The links between routers have the bandwidth with which all cables together\n# \
             have as much for each host as on {}. This is no equal cost: cables, routers and NICs have prices, which `costs`\n# \
             below gives.",
            request.hosts, names[0]
        ),
    };
    let before = format!(
        "# {} on {}.\n# {equal}\n# Written by: {}\n#\n#   fabricsim sweep FILE.toml --list   the points\n#   fabricsim \
         sweep FILE.toml          runs them and compares: tables, curves, costs\n#\n# All keys: \
         docs/formats/sweep.md\n\n",
        job.name(),
        names.join(", "),
        request.command
    );
    let mut after = format!(
        "name = \"{} on {} hosts or more, equal {}\"\n{}{}\n[[axis]]\nname = \"network\"\n",
        job.name(),
        request.hosts,
        Equal::NAMES[request.equal as usize],
        setting_line("# seeds = 3", "runs of each point, with other random choices"),
        setting_line("# costs = \"costs.toml\"", "prices: docs/formats/costs.md"),
    );
    for network in networks {
        // Writing to a text does not fail.
        let _ = write!(
            after,
            "\n# {}.\n# {}.\n# Parameters: {}. Routing: {}.\n[axis.variants.{}]\n\"network.topology\" = {{ kind = \"{}\" }}\n",
            network.description,
            sizes(network),
            network.sizing.chosen(),
            network.routing,
            network.topology,
            network.topology
        );
        if request.equal != Equal::Hosts {
            let bandwidth = Bandwidth {
                bits_per_s: network.router_link_bits_per_s,
            };
            for class in &network.classes {
                let _ = writeln!(after, "\"network.links.{class}.bandwidth\" = \"{bandwidth}\"");
            }
        }
        if job.is_traffic() && network.traffic_hosts == TrafficHosts::All {
            let _ = writeln!(after, "\"job.0.hosts\" = {}", job.hosts(TrafficHosts::All));
        }
    }
    (before, after)
}
