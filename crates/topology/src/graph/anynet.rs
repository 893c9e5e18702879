//! The network files of BookSim 2's topology `anynet`.
//!
//! Source: BookSim 2, src/examples/anynet/README. Each line names a router or a node (a host) and then the routers
//! and nodes to which it is linked, each followed by the latency of the channel in cycles, if it is not 1: `router
//! 0 node 0 node 1 router 1 15`. A link has both directions, and a repeated link, from either side, is the same
//! link; so there are no parallel links.

use std::collections::HashSet;

use super::plan::{NetworkPlan, NodeRole, PlanError, Position, ROUTER};

/// `ignore_latencies` accepts latencies. Otherwise a latency is an error, because links of a topology have none.
pub(super) fn read(text: &str, ignore_latencies: bool) -> Result<NetworkPlan, PlanError> {
    let mut plan = NetworkPlan::default();
    let mut seen = HashSet::new();
    for (index, line) in text.lines().enumerate() {
        let place = Position::Line(index as u32 + 1);
        let mut words = line.split_whitespace().peekable();
        let Some(first) = words.next() else {
            continue;
        };
        let head = end(&mut plan, first, words.next(), place)?;
        while let Some(word) = words.next() {
            let other = end(&mut plan, word, words.next(), place)?;
            if let Some(latency) = words.next_if(|word| word.parse::<u32>().is_ok())
                && !ignore_latencies
            {
                let message = format!(
                    "the latency {latency} cannot be kept: latencies are those of network.link and \
                     network.links; expected ignore_latencies = true, or a file without them"
                );
                return Err(PlanError::new(place, message));
            }
            if seen.insert((head.min(other), head.max(other))) {
                plan.link([head, other], 1, place)?;
            }
        }
    }
    Ok(plan)
}

/// A router or a node. Each kind has numbers of its own.
fn end(
    plan: &mut NetworkPlan,
    kind: &str,
    number: Option<&str>,
    place: Position,
) -> Result<usize, PlanError> {
    let kind = kind.to_ascii_lowercase();
    if kind != "router" && kind != "node" {
        let message = format!("'{kind}' is unknown here; expected 'router' or 'node' and its number");
        return Err(PlanError::new(place, message));
    }
    let Some(number) = number.and_then(|number| number.parse::<u32>().ok()) else {
        let found = number.map_or("the end of the line".into(), |word| format!("'{word}'"));
        let message = format!("{found} behind '{kind}'; expected a whole number");
        return Err(PlanError::new(place, message));
    };
    Ok(match kind.as_str() {
        "router" => plan.mention(&number.to_string(), ROUTER, place),
        _ => plan.mention(&format!("node {number}"), NodeRole::Host, place),
    })
}
