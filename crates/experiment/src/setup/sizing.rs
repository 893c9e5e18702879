//! The size of a network from `network.hosts` and `network.radix`, in place of the parameters of its topology.
//!
//! The topology's own rule chooses the parameters (`crates/topology/src/sizing.rs`). [`apply`] writes them into the
//! experiment before the topology reads them, so that the result prints them as any others, and an experiment that is
//! printed so can be read again.

use std::fmt;

use config::{Error, Parameter, Section, Setting, Type, parameters};
use serde::Serialize;
use topology::{HOSTS, RADIX};

/// Keys of `[network]` about the size.
pub const PARAMETERS: &[Parameter] = parameters! {
    computed("radix", Type::Integer, "none",
        "greatest number of ports of a router; with it, the topology is the smallest with at least network.hosts hosts");
};

/// How a network got its size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkSizing {
    /// Hosts that the experiment asks for; the network has these or more.
    pub hosts: u32,
    /// Greatest number of ports of a router.
    pub radix: u32,
    /// Parameters of the topology that follow.
    pub parameters: serde_json::Map<String, serde_json::Value>,
}

impl NetworkSizing {
    /// The parameters that follow: `q = 9, hosts_per_router = 7`.
    pub fn chosen(&self) -> String {
        let all = self
            .parameters
            .iter()
            .map(|(key, value)| format!("{key} = {value}"));
        all.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for NetworkSizing {
    /// `q = 9, hosts_per_router = 7: the smallest with at least 1024 hosts and at most 64 ports of a router`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: the smallest with at least {} hosts and at most {} ports of a router",
            self.chosen(),
            self.hosts,
            self.radix
        )
    }
}

/// Chooses the parameters of the topology from the number of hosts and the radix, and writes them into its table.
/// Without a radix nothing changes.
///
/// # Errors
/// One of both numbers without the other, or 0; a topology that has no such rule, parameters that contradict the
/// chosen ones, a radix that is too small.
pub fn apply(root: &mut Section) -> Result<Option<NetworkSizing>, Error> {
    let network = root.section("network")?.declare(PARAMETERS);
    let hosts: Option<u32> = network.optional(HOSTS)?;
    let Some(radix) = network.optional::<u32>(RADIX)? else {
        return Ok(None);
    };
    let Some(hosts) = hosts else {
        let message =
            "sizes a topology for a number of hosts, and none is given; expected network.hosts beside it";
        return Err(network.error(RADIX, message));
    };
    for (key, number) in [(HOSTS, hosts), (RADIX, radix)] {
        if number == 0 {
            return Err(network.error(key, "0 is not possible; expected at least 1"));
        }
    }
    // A host has its ports in all planes. The keys are checked where the rails are read.
    let positive =
        |key: &str| -> Result<u32, Error> { Ok(network.optional::<u32>(key)?.unwrap_or(1).max(1)) };
    let (rails, planes) = (positive("rails")?, positive("planes")?);
    let end_points = u64::from(hosts) * u64::from(rails.div_ceil(planes));
    let topology = super::network::part_table(network, "topology", "kind")?;
    let chosen = topology::size(network, topology, end_points, radix)?;
    let location = network.location(HOSTS);
    let mut parameters = serde_json::Map::new();
    for (key, value) in chosen {
        let shown = value.show();
        // It fails only where a part of the path is no table, and the topology was read from one.
        root.set_from(
            &format!("network.topology.{key}"),
            &shown.to_string(),
            location.clone(),
        )?;
        parameters.insert(key.into(), shown);
    }
    Ok(Some(NetworkSizing {
        hosts,
        radix,
        parameters,
    }))
}

#[cfg(test)]
mod tests {
    use crate::Experiment;

    const REST: &str = "[[job]]\ntraffic = { pattern = \"uniform\", load = 0.1 }\n[run]\nuntil = \"2 us\"\n";

    fn build(network: &str) -> Result<Experiment, String> {
        let text = format!("[network]\n{network}\n{REST}");
        Experiment::from_toml(&text, "x.toml", &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn hosts_and_radix_stand_for_the_parameters_of_the_topology() {
        let sized = build("hosts = 70\nradix = 8\ntopology = { kind = \"dragonfly\" }").unwrap();
        assert_eq!(sized.network.hosts(), 72);
        let sizing = sized.sizing.clone().unwrap();
        assert_eq!(
            sizing.to_string(),
            "hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2, groups = 9: the smallest with at \
             least 70 hosts and at most 8 ports of a router"
        );
        let settings = &sized.settings["network"];
        assert_eq!(settings["topology"]["groups"], 9);
        assert_eq!((&settings["hosts"], &settings["radix"]), (&70.into(), &8.into()));
        assert_eq!(settings["routing"]["algorithm"], "ugal");
        assert!(sized.routing_is_default);
        // What is printed is read again, with the same network.
        let again = build(
            "hosts = 70\nradix = 8\nrouting = { algorithm = \"ugal\" }\ntopology = { kind = \"dragonfly\", \
             hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2, groups = 9 }",
        );
        let again = again.unwrap();
        assert_eq!((again.network.hosts(), again.routing_is_default), (72, false));
    }

    #[test]
    fn hosts_are_counted_with_all_rails_and_planes() {
        let tree = "hosts = 30\nradix = 8\ntopology = { kind = \"fat-tree\" }\n";
        let sized = |rails: &str| build(&format!("{tree}{rails}")).unwrap();
        let (plain, rails, planes) = (sized(""), sized("rails = 2"), sized("rails = 2\nplanes = 2"));
        // Eight leaves of four hosts, 15 leaves of four ports, two planes of eight leaves.
        for (experiment, hosts) in [(&plain, 32), (&rails, 30), (&planes, 32)] {
            assert_eq!(experiment.network.hosts(), hosts);
        }
        assert_eq!(rails.network.topology.hosts(), 60);
        assert_eq!(planes.network.plane.topology.hosts(), 32);
    }

    #[test]
    fn an_own_topology_in_place_of_a_machines_is_sized() {
        let own = build(
            "preset = \"lumi\"\nhosts = 64\nradix = 16\ntopology = { kind = \"fat-tree\" }\nrouting = { algorithm = \"adaptive\" }",
        );
        assert_eq!(own.unwrap().network.hosts(), 64);
    }

    #[test]
    fn contradictions_name_their_key() {
        let sized = "hosts = 70\nradix = 8\n";
        for (network, needles) in [
            (
                "hosts = 70\ntopology = { kind = \"torus\" }".to_string(),
                &["x.toml:2: network.hosts: ", "network.radix"][..],
            ),
            (
                "radix = 8\ntopology = { kind = \"torus\" }".to_string(),
                &["x.toml:2: network.radix: ", "network.hosts"],
            ),
            (
                "hosts = 0\nradix = 8\ntopology = { kind = \"torus\" }".to_string(),
                &["x.toml:2: network.hosts: 0 "],
            ),
            (
                "hosts = 8\nradix = 0\ntopology = { kind = \"torus\" }".to_string(),
                &["x.toml:3: network.radix: 0 "],
            ),
            (sized.to_string(), &["network.topology.kind: missing"]),
            (
                format!("{sized}topology = {{ kind = \"dragonfly\", hosts_per_router = 4 }}"),
                &[
                    "x.toml:4: network.topology.hosts_per_router: ",
                    "choose 2",
                    "not both",
                ],
            ),
            (
                format!("{sized}topology = {{ kind = \"graph\", edges = [[0, 1]] }}"),
                &["x.toml:2: network.hosts: ", "'graph'"],
            ),
            (
                "hosts = 1024\nradix = 3\ntopology = { kind = \"dragonfly\" }".to_string(),
                &[
                    "x.toml:3: network.radix: routers of 3 ports are too small",
                    "balanced",
                    "expected at least 15",
                ],
            ),
            (
                "preset = \"lumi\"\nhosts = 64\nradix = 64".to_string(),
                &["x.toml:4: network.radix: ", "network.topology.kind"],
            ),
            (
                "topology = { kind = \"dragonfly\", routers_per_group = 4 }".to_string(),
                &["network.topology.hosts_per_router: missing", "network.hosts"],
            ),
        ] {
            let error = build(&network)
                .err()
                .unwrap_or_else(|| panic!("{network}: is accepted"));
            for needle in needles {
                assert!(error.contains(needle), "{network}: {error}");
            }
        }
    }
}
