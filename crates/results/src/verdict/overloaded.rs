//! Rules for traffic of which less arrives than is offered: which links are full, and in which pattern.

use super::link_loads::{CabledPairs, EJECTION, LinkClassLoads, LinkLoads};
use super::thresholds::{BOUND_REACHED, BUSY_CLASS, FEW_FULL, FREE, MANY_FULL, UNEVEN_CABLES};
use super::{
    Comparison, Evidence, Finding, LackingJob, VerdictPlace, busy_places, class_loads, comparisons, full_of,
    groups, sentence,
};
use crate::show;

/// A run that lacks traffic, and the class of links with the most full ones.
struct Overload<'e> {
    lacking: LackingJob<'e>,
    links: &'e LinkLoads<'e>,
    worst: &'e LinkClassLoads,
}

fn overload<'e>(evidence: &'e Evidence<'_>) -> Option<Overload<'e>> {
    let links = evidence.links.as_ref()?;
    Some(Overload {
        lacking: evidence.lacking()?,
        links,
        worst: links.worst()?,
    })
}

impl Overload<'_> {
    /// A finding about the worst class with this headline.
    fn finding(
        &self,
        evidence: &Evidence<'_>,
        headline: String,
        causes: Vec<String>,
        mut comparisons: Vec<Comparison>,
    ) -> Finding {
        comparisons.extend(comparisons::lower_load(evidence.summary, self.lacking.job));
        Finding {
            headline,
            places: busy_places(self.links, self.worst),
            times: class_loads::times(evidence, &self.worst.name),
            causes: causes.into_iter().chain(bound(evidence)).collect(),
            comparisons,
            unknown: None,
            estimate: None,
        }
    }
}

/// The hosts that receive more than their links carry.
pub(super) fn full_hosts(evidence: &Evidence<'_>) -> Option<Finding> {
    let overload = overload(evidence)?;
    let ejection = overload.links.class(EJECTION).filter(|class| class.full > 0)?;
    let held = overload.links.held_up();
    // Full links elsewhere are a problem of their own, unless they are a smaller share than those of hosts.
    if overload.worst.name != EJECTION && held.full_elsewhere > 0 {
        return None;
    }
    let headline = format!(
        "Hosts receive more than their links carry: {}, and {}.",
        evidence.loads(overload.lacking),
        full_of(ejection)
    );
    let mut causes =
        vec!["The full links lead to hosts: every path ends there, so that no routing avoids them".into()];
    if held.links > 0 {
        causes.push(super::carried::held_up(&held));
    }
    let overload = Overload {
        worst: ejection,
        ..overload
    };
    let faster = comparisons::bandwidth(evidence, EJECTION);
    Some(overload.finding(evidence, headline, causes, faster))
}

/// Some pairs of groups have fewer cables than others, and these are full.
pub(super) fn uneven_cabling(evidence: &Evidence<'_>) -> Option<Finding> {
    let overload = overload(evidence)?;
    let pairs = overload
        .links
        .pairs(&overload.worst.name, &groups(evidence.routers?)?);
    let (fewest, more) = pairs.split_first()?;
    let cables: u64 = more.iter().map(|pairs| pairs.cables * pairs.pairs).sum();
    let sum: f64 = more
        .iter()
        .map(|pairs| (pairs.cables * pairs.pairs) as f64 * pairs.load)
        .sum();
    let others = sum / cables.max(1) as f64;
    if cables == 0 || fewest.load < BUSY_CLASS || fewest.load < UNEVEN_CABLES * others {
        return None;
    }
    let text = |of: &CabledPairs| {
        format!(
            "{} pairs of groups have {} {} at {}",
            show::count(of.pairs),
            of.cables,
            if of.cables == 1 { "cable" } else { "cables" },
            show::percent(of.load)
        )
    };
    let found: Vec<String> = pairs.iter().map(text).collect();
    let headline = format!(
        "Cabling between groups is uneven: {}, and {}.",
        evidence.loads(overload.lacking),
        found.join(", ")
    );
    let causes = vec![
        "The numbers of groups and of global ports do not divide evenly, so that some pairs of groups get one cable more"
            .into(),
    ];
    let mut tries = comparisons::even_groups(evidence.summary);
    tries.extend(comparisons::routings(evidence.summary));
    Some(overload.finding(evidence, headline, causes, tries))
}

/// Few links are full, and others carry little.
pub(super) fn few_full_links(evidence: &Evidence<'_>) -> Option<Finding> {
    let overload = overload(evidence)?;
    let worst = overload.worst;
    if worst.full == 0 || worst.full_share() > FEW_FULL || worst.median() > FREE {
        return None;
    }
    let headline = format!(
        "Traffic goes through few links: {}, {}, and half of them carry at most {}.",
        evidence.loads(overload.lacking),
        full_of(worst),
        show::percent(worst.median())
    );
    let causes = vec![format!(
        "Routing {} does not use the free ones",
        evidence.routing()
    )];
    Some(overload.finding(
        evidence,
        headline,
        causes,
        comparisons::routings(evidence.summary),
    ))
}

/// Most links of a class are full or busy.
pub(super) fn full_class(evidence: &Evidence<'_>) -> Option<Finding> {
    let overload = overload(evidence)?;
    let worst = overload.worst;
    let many = worst.full > 0 && worst.full_share() >= MANY_FULL;
    if !many && worst.mean() < BUSY_CLASS {
        return None;
    }
    let headline = format!(
        "The {} links as a class have too little bandwidth for this traffic and its paths: {}, their mean load is {}, and \
         {}.",
        worst.name,
        evidence.loads(overload.lacking),
        show::percent(worst.mean()),
        full_of(worst)
    );
    let mut causes = Vec::new();
    if comparisons::takes_detours(evidence.routing()) {
        causes.push(format!(
            "Routing {} takes detours, which load more links than minimal paths",
            evidence.routing()
        ));
    }
    let mut tries = comparisons::bandwidth(evidence, &worst.name);
    tries.extend(comparisons::routings(evidence.summary));
    Some(overload.finding(evidence, headline, causes, tries))
}

/// Some links are full, others are not.
pub(super) fn uneven_load(evidence: &Evidence<'_>) -> Option<Finding> {
    let overload = overload(evidence)?;
    let worst = overload.worst;
    if worst.full == 0 {
        return None;
    }
    let headline = format!(
        "Load on the {} links is uneven: {}, {} while their mean load is {}.",
        worst.name,
        evidence.loads(overload.lacking),
        full_of(worst),
        show::percent(worst.mean())
    );
    let causes = vec![format!(
        "The busiest hundredth of the {} links carries {} on average, half of them at most {}",
        worst.name,
        show::percent(worst.busiest_hundredth()),
        show::percent(worst.median())
    )];
    Some(overload.finding(
        evidence,
        headline,
        causes,
        comparisons::routings(evidence.summary),
    ))
}

/// Traffic is lost although no link is full: routers hold packets back.
pub(super) fn no_full_link(evidence: &Evidence<'_>) -> Option<Finding> {
    let overload = overload(evidence)?;
    let worst = overload.worst;
    let injection = overload.links.class(super::link_loads::INJECTION);
    if let Some(injection) = injection.filter(|class| class.full > 0) {
        let headline = format!(
            "Hosts cannot send what they offer: {}, {}, and no other link is full.",
            evidence.loads(overload.lacking),
            full_of(injection)
        );
        let overload = Overload {
            worst: injection,
            ..overload
        };
        let causes =
            vec!["Headers of packets and bursts count on the link, and not in the offered load".into()];
        let faster = comparisons::bandwidth(evidence, EJECTION);
        return Some(overload.finding(evidence, headline, causes, faster));
    }
    let model = evidence.summary.experiment["network"]["router"]["model"]
        .as_str()
        .unwrap_or("of this network");
    let headline = format!(
        "Routers hold traffic back: {}, and no link is full; the busiest class, {}, has a mean load of {} and carries at \
         most {}.",
        evidence.loads(overload.lacking),
        worst.name,
        show::percent(worst.mean()),
        show::percent(worst.max)
    );
    let mut causes = Vec::new();
    let blocked: Vec<String> = overload
        .links
        .others()
        .filter(|class| class.blocked > 0)
        .map(|class| {
            format!(
                "{} of {} {}",
                show::count(class.blocked),
                show::count(class.links),
                class.name
            )
        })
        .collect();
    if !blocked.is_empty() {
        causes.push(format!(
            "Packets wait for buffer space behind {} links",
            blocked.join(", ")
        ));
    }
    let router = &evidence.summary.experiment["network"]["router"];
    if model == "input-queued" || (model == "crossbar" && router["arbiter"] != "first-come") {
        causes.push(format!(
            "The router model {model} has head-of-line blocking: a packet waits behind one that goes elsewhere"
        ));
    }
    let tries = comparisons::router(evidence.summary);
    Some(overload.finding(evidence, headline, causes, tries))
}

/// How the delivered load compares with the computed bound, if all links are part of it.
fn bound(evidence: &Evidence<'_>) -> Option<String> {
    let bounds = evidence.summary.bounds.as_ref()?;
    let known = |name: &str| {
        let job = bounds.jobs.iter().find(|job| job.name == name);
        job.is_some_and(|job| job.router_throughput.is_some())
    };
    let most = bounds.accepted_load.filter(|most| *most > 0.0)?;
    if bounds.scale_of_host_links || !evidence.traffic().all(|traffic| known(&traffic.job.name)) {
        return None;
    }
    let accepted = evidence.summary.network.accepted_load;
    let most_text = show::percent(most);
    let lost = show::percent(most - accepted);
    if bounds.is_expected() && accepted < BOUND_REACHED * most {
        return Some(format!(
            "The expected bound of this routing is {most_text}; {lost} of it are lost where the hash puts more pairs \
             of hosts on one link than on others, or to contention"
        ));
    }
    Some(if accepted >= BOUND_REACHED * most {
        format!("The computed bound of this routing is {most_text}: only other paths or more bandwidth help")
    } else {
        format!("The computed bound of this routing is {most_text}, and {lost} of it are lost to contention")
    })
}

/// A place that is a whole class.
pub(super) fn class_place(class: &LinkClassLoads) -> VerdictPlace {
    VerdictPlace {
        found: sentence(&format!(
            "{} links: mean load {}, busiest {}, {}",
            class.name,
            show::percent(class.mean()),
            show::percent(class.max),
            full_of(class)
        )),
        class: Some(class.name.clone()),
        links: Vec::new(),
    }
}
