//! What routing, packets and the NIC need of the router model.

use config::{Bytes, Section};
use fabric::router::{RouterParameters, models_with};
use fabric::{
    NicArbiter, NicCapabilities, PacketLimit, PacketLimits, RouterCapabilities, TrafficClasses, nic,
};
use routing::{At, RouteState, Routing};
use topology::{HostId, RouterId, Topology};

/// Requires what routing needs of the router model.
///
/// # Errors
/// The model lacks something.
pub(super) fn check_model(
    router: &Section,
    model: RouterParameters,
    routing: &dyn Routing,
) -> Result<(), config::Error> {
    type Need = (bool, fn(&RouterCapabilities) -> bool, &'static str, &'static str);
    let needs: [Need; 4] = [
        (
            routing.packets_per_vc() > 1,
            |has| has.bubbles,
            "has no buffers with bubbles",
            "routing without bubbles",
        ),
        (
            routing.reserves_space(),
            |has| has.reserved_space,
            "lets no packet take space that is free when it is routed",
            "routing without adaptive virtual channels",
        ),
        (
            !routing.load_metric().is_default(),
            |has| has.load_metrics,
            "knows no loads but the default of network.routing.metric and metric_scope",
            "routing with metric = \"total\" and metric_scope = \"port\"",
        ),
        (
            routing.reports().is_some(),
            |has| has.load_reports,
            "knows no loads that routers could report to each other",
            "routing without load reports",
        ),
    ];
    for (needed, has, lack, instead) in needs {
        if needed {
            require(router, model, has, lack, instead)?;
        }
    }
    Ok(())
}

/// Refuses a router model that lacks a capability, and names the models that have it.
///
/// # Errors
/// `has` is false for the model, which lacks what `lack` says; `instead`: what else can be chosen.
pub(super) fn require(
    router: &Section,
    model: RouterParameters,
    has: fn(&RouterCapabilities) -> bool,
    lack: &str,
    instead: &str,
) -> Result<(), config::Error> {
    if has(&model.capabilities()) {
        return Ok(());
    }
    let models = choices(models_with(has));
    let message = format!("this router model {lack}; expected model = {models}, or {instead}");
    Err(router.error("model", message))
}

/// Requires what virtual channels by the next output need: routing whose outputs are known one router ahead, and a
/// virtual channel for each output.
///
/// # Errors
/// Routing depends on congestion or chance, or there are fewer copies than ports of a router.
pub(super) fn check_lookahead(
    router: &Section,
    (topology, routing): (&dyn Topology, &dyn Routing),
    classes: &TrafficClasses,
) -> Result<(), config::Error> {
    let host = HostId(0);
    let (first, input) = topology.attachment(host);
    let at = At {
        router: first,
        input,
        vc: 0,
        source: host,
        destination: host,
    };
    if routing.predicted_port(at, RouteState::default()).is_none() {
        let message = "this routing depends on congestion or chance, so that the output of a packet at the next router \
                       is not known; expected routing with fixed paths, or vc_assignment = \"any\"";
        return Err(router.error("vc_assignment", message));
    }
    let ports = (0..topology.routers()).map(|router| topology.ports(RouterId(router)));
    let most = ports.max().unwrap_or(0);
    if u16::from(classes.copies()) < most {
        let message = format!(
            "vc_copies = {} virtual channels for the {most} ports of a router; expected vc_copies = {most} or more, or \
             vc_assignment = \"any\"",
            classes.copies()
        );
        return Err(router.error("vc_assignment", message));
    }
    Ok(())
}

/// Requires routing that gives virtual channels of links to hosts.
///
/// # Errors
/// Routing gives none.
pub(super) fn check_host_vcs(
    router: &Section,
    (topology, routing): (&dyn Topology, &dyn Routing),
) -> Result<(), config::Error> {
    let host = HostId(0);
    let (first, input) = topology.attachment(host);
    let at = At {
        router: first,
        input,
        vc: 0,
        source: host,
        destination: host,
    };
    match routing.host_vc(at, RouteState::default()) {
        Some(_) => Ok(()),
        None => {
            let message = "this routing gives no virtual channel of the link to a host; expected host_vcs = \"any\", or \
                           network.routing.vcs = \"by-phase\", in a dragonfly";
            Err(router.error("host_vcs", message))
        }
    }
}

/// Requires buffers that hold the private parts of all their virtual channels.
///
/// # Errors
/// The smallest buffer of a port does not.
pub(super) fn check_private_part(
    router: &Section,
    private_part: Option<u32>,
    buffers: &[Bytes],
    classes: TrafficClasses,
) -> Result<(), config::Error> {
    let smallest = buffers.iter().map(|buffer| buffer.bytes).min();
    let (Some(part), Some(smallest)) = (private_part, smallest) else {
        return Ok(());
    };
    let vcs = u64::from(classes.all_vcs().max(1));
    if u64::from(part) * vcs <= smallest {
        return Ok(());
    }
    let [part, smallest, most] = [u64::from(part), smallest, smallest / vcs].map(|bytes| Bytes { bytes });
    let message = format!(
        "{part} for each of {vcs} virtual channels are more than the buffer of {smallest} per input port; expected at \
         most {most}, or a larger network.router.buffer"
    );
    Err(router.error("private_buffer", message))
}

/// Requires that the NIC model and the router model understand each other's signals.
///
/// # Errors
/// One of them sends signals that the other does not understand.
pub(super) fn check_signals(
    nic: &Section,
    capabilities: NicCapabilities,
    router: RouterParameters,
) -> Result<(), config::Error> {
    let name = router.name();
    match capabilities.signals_of {
        Some(expected) if expected != name => {
            let message = format!(
                "this NIC model exchanges signals with the router model \"{expected}\", and network.router.model is \
                 \"{name}\"; expected network.router.model = \"{expected}\", or another NIC model"
            );
            Err(nic.error("model", message))
        }
        None if router.capabilities().signals_to_hosts => {
            let models = choices(nic::models_with(|has| has.signals_of == Some(name)));
            let message = format!(
                "the router model \"{name}\" sends signals to hosts, and this NIC model understands none; expected \
                 model = {models}"
            );
            Err(nic.error("model", message))
        }
        _ => Ok(()),
    }
}

/// Requires what congestion control of NICs needs: routers that mark packets, and an arbiter that counts packets.
///
/// # Errors
/// A router model does not know how long packets wait for their host, or the arbiter counts bytes.
pub(super) fn check_congestion_control(
    (nic, arbiter): (&Section, NicArbiter),
    mut routers: impl Iterator<Item = RouterParameters>,
) -> Result<(), config::Error> {
    let has = |has: &RouterCapabilities| has.waits_at_departure;
    if let Some(router) = routers.find(|router| !has(&router.capabilities())) {
        let message = format!(
            "the router model \"{}\" marks no packets that waited for their host; expected congestion_control = \"none\", \
             or network.router.model = {} for all routers",
            router.name(),
            choices(models_with(has))
        );
        return Err(nic.error("congestion_control", message));
    }
    if arbiter == NicArbiter::DeficitRoundRobin {
        let message = "a source whose windows are closed gives its turn away, which deficit round robin cannot count; \
                       expected congestion_control = \"none\", or another network.nic_arbiter";
        return Err(nic.error("congestion_control", message));
    }
    Ok(())
}

/// The names as a user chooses among them.
fn choices(names: Vec<&str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("\"{name}\"")).collect();
    names.join(" or ")
}

/// Checks the largest packet, with its header, against what parameters of the router model allow.
///
/// # Errors
/// The packet is too large or too small.
pub(super) fn check_limits(
    router: &Section,
    limits: PacketLimits,
    largest: u32,
) -> Result<(), config::Error> {
    let PacketLimits { least, most } = limits;
    if let Some(PacketLimit { bytes, key }) = most
        && largest > bytes
    {
        let message = format!(
            "{bytes} B do not hold the largest packet; expected at least {largest} B, the sum of network.packet and \
             network.packet_header"
        );
        return Err(router.error(key, message));
    }
    if let Some(PacketLimit { bytes, key }) = least
        && largest < bytes
    {
        let message = format!(
            "{bytes} B are more than the largest packet; expected at most {largest} B, the sum of network.packet and \
             network.packet_header"
        );
        return Err(router.error(key, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use routing::{At, Congestion, Hop, LoadMetric, LoadQuantity, LoadScope, Random, RouteState};
    use topology::Port;

    use super::*;

    /// Routing with single needs.
    #[derive(Clone, Copy, Default)]
    struct Needs {
        bubbles: bool,
        reserved_space: bool,
        metric: bool,
    }

    impl Routing for Needs {
        fn vcs(&self) -> u8 {
            1
        }
        fn packets_per_vc(&self) -> u32 {
            1 + u32::from(self.bubbles)
        }
        fn reserves_space(&self) -> bool {
            self.reserved_space
        }
        fn load_metric(&self) -> LoadMetric {
            match self.metric {
                true => LoadMetric {
                    quantity: LoadQuantity::Queue,
                    scope: LoadScope::Port,
                },
                false => LoadMetric::DEFAULT,
            }
        }
        fn route(&self, _: At, _: &mut RouteState, _: &dyn Congestion, _: &mut dyn Random) -> Hop {
            Hop::new(Port(0), 0)
        }
        fn options(&self, _: At, _: RouteState, _: &mut Vec<(Hop, RouteState)>) {}
    }

    fn router(model: &str) -> (Section, RouterParameters) {
        let section = Section::from_toml(&format!("model = \"{model}\""), "x.toml").expect("TOML");
        let model = RouterParameters::read(&section).expect("a model");
        (section, model)
    }

    #[test]
    fn errors_name_the_models_that_have_what_is_missing() {
        let refusal = |model: &str, needs: Needs| {
            let (section, model) = router(model);
            check_model(&section, model, &needs)
                .err()
                .map(|error| error.to_string())
        };
        let bubbles = Needs {
            bubbles: true,
            ..Needs::default()
        };
        let error = refusal("input-queued", bubbles).expect("no bubbles");
        assert!(
            error.contains("expected model = \"packet\", or routing without bubbles"),
            "{error}"
        );
        let metric = Needs {
            metric: true,
            ..Needs::default()
        };
        let error = refusal("output-queued", metric).expect("no metrics");
        assert!(
            error.contains("expected model = \"crossbar\" or \"flit\" or \"input-queued\" or \"packet\", or"),
            "{error}"
        );
        let all = Needs {
            bubbles: true,
            reserved_space: true,
            metric: true,
        };
        assert_eq!(refusal("packet", all), None);
    }

    #[test]
    fn limits_of_packets_name_their_key() {
        let (section, _) = router("input-queued");
        let limit = |bytes| Some(PacketLimit { bytes, key: "model" });
        let check = |least, most| {
            let limits = PacketLimits { least, most };
            check_limits(&section, limits, 256)
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(check(limit(256), limit(256)), None);
        let large = check(None, limit(255)).expect("too large");
        assert!(
            large.contains("255 B do not hold the largest packet; expected at least 256 B"),
            "{large}"
        );
        let small = check(limit(257), None).expect("too small");
        assert!(
            small.contains("257 B are more than the largest packet; expected at most 256 B"),
            "{small}"
        );
    }
}
