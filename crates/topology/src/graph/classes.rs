//! Link classes of a graph: edges with the same class name, bandwidth and latency form one.

use std::collections::{BTreeMap, BTreeSet};

use config::{Bandwidth, Duration};

use super::plan::{Cables, LinkAttributes, PlanError, Position};
use crate::{LinkClass, LinkSpeed, MOST_LINK_CLASSES};

/// Class of cables between routers without a class of their own.
const ROUTER: &str = "router";

/// Names and speeds of link classes, in the order of the names.
#[derive(Debug)]
pub(super) struct LinkClasses {
    names: Vec<String>,
    speeds: Vec<LinkSpeed>,
}

impl LinkClasses {
    /// Collects the classes of cables between routers, and gives each of these its class. `host` is the speed of
    /// cables to hosts.
    ///
    /// # Errors
    /// Too many classes, a name that two of them have, a cable of the class `host`.
    pub(super) fn new(
        host: LinkSpeed,
        between_routers: &[&Cables],
    ) -> Result<(LinkClasses, Vec<LinkClass>), PlanError> {
        let name = |cables: &Cables| cables.attributes.class.clone().unwrap_or_else(|| ROUTER.into());
        let mut speeds: BTreeMap<String, BTreeSet<LinkSpeed>> = BTreeMap::new();
        for cables in between_routers {
            if cables.attributes.class.as_deref() == Some("host") {
                let message = "the class of this edge is that of links to hosts; expected another name";
                return Err(PlanError::new(cables.place, message));
            }
            speeds
                .entry(name(cables))
                .or_default()
                .insert(cables.attributes.speed);
        }
        if speeds.is_empty() {
            speeds
                .entry(ROUTER.into())
                .or_default()
                .insert(LinkSpeed::default());
        }
        let count: usize = speeds.values().map(BTreeSet::len).sum();
        if count >= MOST_LINK_CLASSES {
            let message = format!(
                "edges of {count} different classes, bandwidths and latencies are too many; expected at most {}",
                MOST_LINK_CLASSES - 1
            );
            return Err(PlanError::new(Position::Whole, message));
        }
        let mut classes = LinkClasses {
            names: vec!["host".into()],
            speeds: vec![host],
        };
        let mut numbers = BTreeMap::new();
        for (name, speeds) in &speeds {
            for speed in speeds {
                let shown = match speeds.len() {
                    1 => name.clone(),
                    _ => with_speed(name, *speed),
                };
                if classes.names.contains(&shown) {
                    let message =
                        format!("two link classes have the name '{shown}'; expected different names");
                    return Err(PlanError::new(Position::Whole, message));
                }
                numbers.insert((name.clone(), *speed), LinkClass(classes.names.len() as u8));
                classes.names.push(shown);
                classes.speeds.push(*speed);
            }
        }
        let of_cables = between_routers.iter();
        let of_cables = of_cables.map(|cables| numbers[&(name(cables), cables.attributes.speed)]);
        Ok((classes, of_cables.collect()))
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    pub(super) fn speed(&self, class: LinkClass) -> LinkSpeed {
        self.speeds[usize::from(class.0)]
    }
}

/// The name of a class that has several speeds: `router (400 Gbps, 2 us)`.
fn with_speed(name: &str, speed: LinkSpeed) -> String {
    let bandwidth = speed.bandwidth.as_ref().map(Bandwidth::to_string);
    let latency = speed.latency.as_ref().map(Duration::to_string);
    let values: Vec<String> = bandwidth.into_iter().chain(latency).collect();
    match values.is_empty() {
        true => name.into(),
        false => format!("{name} ({})", values.join(", ")),
    }
}

/// The common speed of all cables to hosts.
///
/// # Errors
/// Two cables with different attributes, or of a class other than `host`.
pub(super) fn of_hosts(cables: &[&Cables]) -> Result<LinkSpeed, PlanError> {
    let Some(first) = cables.first() else {
        return Ok(LinkSpeed::default());
    };
    for cable in cables {
        let LinkAttributes { class, speed } = &cable.attributes;
        if let Some(class) = class.as_deref().filter(|class| *class != "host") {
            let message = format!("the class '{class}' of a link to a host; expected 'host'");
            return Err(PlanError::new(cable.place, message));
        }
        if *speed != first.attributes.speed {
            let message = format!(
                "'{}' and an earlier '{}' differ; expected the same bandwidth and latency for all links to hosts",
                with_speed("host", *speed),
                with_speed("host", first.attributes.speed)
            );
            return Err(PlanError::new(cable.place, message));
        }
    }
    Ok(first.attributes.speed)
}
