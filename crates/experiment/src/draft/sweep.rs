//! The sweep of a draft: one variant for each topology.

use std::fmt::Write;

use super::cost::Budget;
use super::job::JobDraft;
use super::lines::setting_line;
use super::network::sizes;
use super::options::NetworkOptions;
use super::request::{DraftNetwork, Equal, TrafficHosts};

/// The text before and after the line with the experiment file.
pub(super) fn text(
    options: &NetworkOptions<'_>,
    job: &JobDraft,
    networks: &[DraftNetwork],
    budget: Option<&Budget>,
    command: &str,
) -> (String, String) {
    let names: Vec<&str> = networks.iter().map(|network| network.topology.as_str()).collect();
    let before = format!(
        "# {} on {}.\n# {}\n# Written by: {command}\n#\n#   fabricsim sweep FILE.toml --list   the points\n#   fabricsim \
         sweep FILE.toml          runs them and compares: tables, curves, costs\n#\n# All keys: \
         docs/formats/sweep.md\n\n",
        job.name(),
        names.join(", "),
        equal(options, names[0], budget),
    );
    let name = format!(
        "{} on {} hosts or more, equal {}",
        job.name(),
        options.hosts,
        Equal::NAMES[options.equal as usize]
    );
    let costs = match &options.costs {
        // JSON strings are TOML strings.
        Some(prices) => format!("costs = {}", serde_json::Value::from(prices.written)),
        None => "# costs = \"costs.toml\"".into(),
    };
    let mut after = format!(
        "name = {}\n{}{}\n[[axis]]\nname = \"network\"\n",
        serde_json::Value::from(name),
        setting_line("# seeds = 3", "runs of each point, with other random choices"),
        setting_line(&costs, "prices: docs/formats/costs.md"),
    );
    for network in networks {
        // Writing to a text does not fail.
        let _ = write!(
            after,
            "\n# {}.\n# {}.\n# Parameters: {}. Routing: {}.\n{}{}[axis.variants.{}]\n",
            network.description,
            sizes(network),
            network
                .sizing
                .as_ref()
                .map(|sizing| sizing.chosen())
                .unwrap_or_default(),
            network.routing,
            network
                .cost_in_words
                .as_ref()
                .map_or(String::new(), |cost| format!("# Cost: {cost}.\n")),
            network
                .unused_ports()
                .map_or(String::new(), |message| format!("# {message}.\n")),
            network.topology,
        );
        for (key, value) in variant(options, job, network) {
            let _ = writeln!(after, "\"{key}\" = {value}");
        }
    }
    (before, after)
}

/// What the topologies have in common, in sentences.
fn equal(options: &NetworkOptions<'_>, first: &str, budget: Option<&Budget>) -> String {
    let hosts = options.hosts;
    match options.equal {
        Equal::Cost => {
            let budget = options
                .costs
                .as_ref()
                .zip(budget)
                .map(|(prices, budget)| budget.in_words(&prices.table));
            let bandwidth = options.bandwidth.map(|bandwidth| bandwidth.to_string());
            format!(
                "Each has at least {hosts} hosts, whose links have {}. The budget is {}.\n# The links between routers have \
                 the greatest bandwidth with which the whole network costs at most that.",
                bandwidth.unwrap_or_default(),
                budget.unwrap_or_default()
            )
        }
        Equal::Hosts if options.bandwidth.is_none() => {
            format!("Each has at least {hosts} hosts, and the links of the hardware family.")
        }
        Equal::Hosts => format!("Each has at least {hosts} hosts, and all links have the same bandwidth."),
        Equal::Bisection => format!(
            "Each has at least {hosts} hosts. The links between routers have the bandwidth that gives two halves of the\n# \
             hosts as much for each host as on {first}. The halves are those with the fewest\n# \
             cables between them that a search finds. Their number is an upper bound of the bisection."
        ),
        Equal::CableBandwidth => format!(
            "Each has at least {hosts} hosts. The links between routers have the bandwidth with which all cables together\n# \
             have as much for each host as on {first}. This is no equal cost: cables, routers and NICs have prices, \
             which `costs`\n# \
             below gives."
        ),
    }
}

/// The keys of the experiment that the variant of a network changes, with their values.
pub(super) fn variant(
    options: &NetworkOptions<'_>,
    job: &JobDraft,
    network: &DraftNetwork,
) -> Vec<(String, String)> {
    let table = options.topology_table(&network.topology);
    let mut changes = vec![("network.topology".to_string(), table)];
    if let (true, Some(bandwidth)) = (options.equal != Equal::Hosts, network.router_links()) {
        let links = network.classes.iter();
        changes.extend(links.map(|class| {
            (
                format!("network.links.{class}.bandwidth"),
                format!("\"{bandwidth}\""),
            )
        }));
    }
    if job.is_traffic() && network.traffic_hosts == TrafficHosts::All {
        changes.push(("job.0.hosts".into(), job.traffic_hosts(TrafficHosts::All)));
    }
    changes
}
