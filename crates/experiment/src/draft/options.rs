//! The options of a request about the network, checked against each other, and the sizes that follow from them.

use config::{Bandwidth, Bytes, Error, nearest};
use results::CostTable;
use topology::REGISTRY;

use super::job::JobDraft;
use super::request::{DraftNetwork, DraftRequest, Equal, refused};
use crate::setup::network_preset::{HARDWARE, MACHINES, NetworkPreset};

/// Most hosts of a draft. A run of that many needs some 100 GB, and building the network some seconds.
const MOST_HOSTS: u32 = 1 << 24;

/// Bandwidth of the links if neither an option nor a preset gives it.
const BANDWIDTH: Bandwidth = Bandwidth {
    bits_per_s: 100_000_000_000,
};

/// Payloads of InfiniBand packets in bytes (rdma-core, libibverbs/verbs.h, `enum ibv_mtu`).
const MTUS: [u64; 5] = [256, 512, 1024, 2048, 4096];

/// Packets that the buffer of a virtual channel holds: one that arrives, one that leaves, and those of the round trip
/// of a credit.
const PACKETS_OF_VC: u64 = 4;

/// Greatest budget: as prices of a cost table.
const MOST_BUDGET: f64 = 1e30;

/// Default of `network.router.buffer` in bytes.
const DEFAULT_BUFFER: u64 = 100_000;

/// What all networks of a draft have in common.
pub(super) struct NetworkOptions<'a> {
    /// Least number of hosts.
    pub(super) hosts: u32,
    /// Greatest number of ports of a router; `None` for a machine.
    pub(super) radix: Option<u32>,
    /// Bandwidth of the links; `None` with a preset.
    pub(super) bandwidth: Option<Bandwidth>,
    /// Hosts : uplinks of a leaf, for the topologies that have this parameter.
    pub(super) tapering: Option<&'a str>,
    /// Where the values of links, routers and NICs come from.
    pub(super) preset: Option<DraftPreset>,
    /// What the topologies have in common.
    pub(super) equal: Equal,
    /// The prices.
    pub(super) costs: Option<Prices<'a>>,
    /// The most that each network costs, if the request says that.
    pub(super) budget: Option<f64>,
}

/// A cost table that has been read.
pub(super) struct Prices<'a> {
    pub(super) table: CostTable,
    /// Its path as the sweep names it.
    pub(super) written: &'a str,
}

/// A preset by its kind.
#[derive(Clone, Copy)]
pub(super) enum DraftPreset {
    /// With its own topology.
    Machine(&'static NetworkPreset),
    /// For any topology.
    Hardware(&'static NetworkPreset),
}

impl DraftPreset {
    fn named(name: &str) -> Result<DraftPreset, Error> {
        let in_list = |list: &'static [NetworkPreset]| list.iter().find(|preset| preset.name == name);
        let machine = in_list(MACHINES).map(DraftPreset::Machine);
        let found = machine.or_else(|| in_list(HARDWARE).map(DraftPreset::Hardware));
        found.ok_or_else(|| {
            let known = MACHINES.iter().chain(HARDWARE).map(|preset| preset.name);
            let message = format!(
                "unknown name '{name}'{}; fabricsim list machines, fabricsim list hardware",
                nearest(name, known)
            );
            refused("--preset", message)
        })
    }

    fn preset(self) -> &'static NetworkPreset {
        let (DraftPreset::Machine(preset) | DraftPreset::Hardware(preset)) = self;
        preset
    }

    /// The key of `[network]` with its value.
    pub(super) fn setting(self) -> String {
        let key = match self {
            DraftPreset::Machine(_) => "preset",
            DraftPreset::Hardware(_) => "hardware",
        };
        format!("{key} = \"{}\"", self.preset().name)
    }

    /// What it is, in one line.
    pub(super) fn summary(self) -> String {
        self.preset().listed().0
    }
}

impl<'a> NetworkOptions<'a> {
    /// The options of the request for its job.
    ///
    /// # Errors
    /// Options that are missing, out of range or contradict each other.
    pub(super) fn checked(request: &DraftRequest<'a>, job: &JobDraft) -> Result<NetworkOptions<'a>, Error> {
        let DraftRequest {
            topologies,
            radix,
            bandwidth,
            tapering,
            equal,
            ..
        } = *request;
        let preset = request.preset.map(DraftPreset::named).transpose()?;
        match preset {
            Some(DraftPreset::Machine(_)) => refuse_for_machine(request)?,
            _ if radix.is_none() => {
                return Err(refused(
                    "--radix",
                    "is missing; expected the ports of a router, or --preset of a machine",
                ));
            }
            _ => check_topologies(topologies)?,
        }
        if preset.is_some() {
            let message = "the links have the bandwidths of the preset; expected no such option, and in the written file \
                           the keys network.link.bandwidth or network.links.CLASS.bandwidth";
            refuse_given(bandwidth.is_some(), "--bandwidth", message)?;
            refuse_given(
                equal != Equal::Hosts,
                "--equal",
                "changes the links of the preset; expected hosts",
            )?;
        }
        if tapering.is_some() {
            check_tapering(topologies)?;
        }
        let message = "compares topologies, and there is one only; expected several, as in --topology dragonfly,fat-tree";
        refuse_given(topologies.len() < 2 && equal != Equal::Hosts, "--equal", message)?;
        check_costs(request)?;
        let costs = request.costs.map(|costs| -> Result<_, Error> {
            let table = CostTable::load(costs.path)?;
            Ok(Prices {
                table,
                written: costs.written,
            })
        });
        Ok(NetworkOptions {
            hosts: job.hosts(),
            radix,
            bandwidth: preset.is_none().then_some(bandwidth.unwrap_or(BANDWIDTH)),
            tapering,
            preset,
            equal,
            costs: costs.transpose()?,
            budget: request.budget,
        })
    }

    /// Payload of packets; `None` with a preset, which gives its own. The largest payload of InfiniBand that a link
    /// sends in at most the time of 2 KiB at 100 Gbps, 164 ns.
    pub(super) fn packet(&self) -> Option<Bytes> {
        let bits_per_s = self.bandwidth?.bits_per_s;
        let fits = |mtu: &&u64| u128::from(**mtu) * 100_000_000_000 <= 2048 * u128::from(bits_per_s);
        let largest = MTUS.iter().rev().find(fits).unwrap_or(&MTUS[0]);
        Some(Bytes { bytes: *largest })
    }

    /// Buffer of an input port, if the default is too small for the packets on one of the networks.
    pub(super) fn buffer(&self, networks: &[DraftNetwork]) -> Option<Bytes> {
        let vcs = networks.iter().map(|network| u64::from(network.vcs)).max()?;
        let needed = vcs * PACKETS_OF_VC * self.packet()?.bytes;
        (needed > DEFAULT_BUFFER).then_some(Bytes { bytes: needed })
    }

    /// The table of a topology, in one line.
    pub(super) fn topology_table(&self, topology: &str) -> String {
        let tapering = self
            .tapering_of(topology)
            .map(|value| format!(", tapering = {value}"));
        format!("{{ kind = \"{topology}\"{} }}", tapering.unwrap_or_default())
    }

    /// The tapering of a topology that has this parameter, as a value.
    pub(super) fn tapering_of(&self, topology: &str) -> Option<String> {
        let tapering = self.tapering.filter(|_| has_tapering(topology))?;
        // JSON strings are TOML strings.
        Some(serde_json::Value::from(tapering).to_string())
    }
}

/// Refuses numbers of hosts and ports that no network has.
pub(super) fn check_numbers(request: &DraftRequest<'_>) -> Result<(), Error> {
    for (number, option) in [(request.hosts, "--hosts"), (request.radix, "--radix")] {
        refuse_given(
            number == Some(0),
            option,
            "0 is not possible; expected at least 1",
        )?;
    }
    match request.hosts {
        Some(hosts) if hosts > MOST_HOSTS => {
            let message = format!(
                "{hosts} are too many: a run needs some 6 GB for each million; expected at most {MOST_HOSTS}"
            );
            Err(refused("--hosts", message))
        }
        _ => Ok(()),
    }
}

/// The options of costs, against each other and the rest.
fn check_costs(request: &DraftRequest<'_>) -> Result<(), Error> {
    let at_equal_cost = request.equal == Equal::Cost;
    let message = "is missing; equal cost needs prices, and FabricSim has none: expected a cost table \
                   (docs/formats/costs.md)";
    refuse_given(at_equal_cost && request.costs.is_none(), "--costs", message)?;
    let message = "is named in a sweep, and one topology makes none; expected several, as in --topology \
                   dragonfly,fat-tree";
    refuse_given(
        request.costs.is_some() && request.topologies.len() < 2,
        "--costs",
        message,
    )?;
    let message = "is the sum of equal costs; expected --equal cost with it";
    refuse_given(request.budget.is_some() && !at_equal_cost, "--budget", message)?;
    match request.budget {
        Some(sum) if !(sum > 0.0 && sum <= MOST_BUDGET) => {
            let message = format!("{sum} is out of range; expected more than 0 and at most {MOST_BUDGET:e}");
            Err(refused("--budget", message))
        }
        _ => Ok(()),
    }
}

fn refuse_given(is_given: bool, option: &str, message: &str) -> Result<(), Error> {
    match is_given {
        true => Err(refused(option, message)),
        false => Ok(()),
    }
}

/// Options that contradict the topology of a machine.
fn refuse_for_machine(request: &DraftRequest<'_>) -> Result<(), Error> {
    let message = "a machine has its own topology and routers; expected no such option, or with --preset a hardware \
                   family (fabricsim list hardware)";
    refuse_given(!request.topologies.is_empty(), "--topology", message)?;
    refuse_given(request.radix.is_some(), "--radix", message)?;
    refuse_given(request.tapering.is_some(), "--tapering", message)
}

fn has_tapering(topology: &str) -> bool {
    let kind = REGISTRY.iter().find(|kind| kind.name == topology);
    kind.is_some_and(|kind| {
        kind.parameters
            .iter()
            .any(|parameter| parameter.name == "tapering")
    })
}

fn check_tapering(topologies: &[String]) -> Result<(), Error> {
    if topologies.iter().any(|topology| has_tapering(topology)) {
        return Ok(());
    }
    let with = REGISTRY
        .iter()
        .map(|kind| kind.name)
        .filter(|name| has_tapering(name));
    let message = format!(
        "{} has no such parameter; topologies that have it: {}",
        topologies.join(", "),
        with.collect::<Vec<_>>().join(", ")
    );
    Err(refused("--tapering", message))
}

fn check_topologies(topologies: &[String]) -> Result<(), Error> {
    let sized = || {
        REGISTRY
            .iter()
            .filter(|kind| kind.sizing.is_some())
            .map(|kind| kind.name)
    };
    if topologies.is_empty() {
        let message = format!(
            "none is given; expected one of: {}",
            sized().collect::<Vec<_>>().join(", ")
        );
        return Err(refused("--topology", message));
    }
    for (number, topology) in topologies.iter().enumerate() {
        if !sized().any(|name| name == topology) {
            let is_known = REGISTRY.iter().any(|kind| kind.name == topology);
            let message = match is_known {
                true => format!(
                    "'{topology}' has the hosts of its own parameters; expected one of: {}",
                    sized().collect::<Vec<_>>().join(", ")
                ),
                false => format!("unknown name '{topology}'{}", nearest(topology, sized())),
            };
            return Err(refused("--topology", message));
        }
        if topologies[..number].contains(topology) {
            return Err(refused(
                "--topology",
                format!("'{topology}' is given twice; expected each once"),
            ));
        }
    }
    Ok(())
}
