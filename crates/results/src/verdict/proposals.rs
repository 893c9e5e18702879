//! Runs to compare with for jobs of ranks: a table of proposals, each with the bounds that it can relieve.
//!
//! Proposals that cannot relieve the bound that a verdict names are not made. The study `proposals` measures how many
//! help.

use super::comparisons;
use super::link_loads::{EJECTION, INJECTION};
use super::{Comparison, Evidence};
use crate::JobSummary;

/// What bounds a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobBound<'a> {
    /// The network, where its parts are estimated only.
    Network,
    /// Bandwidth of a class of links, injection and ejection links included.
    Links(&'a str),
    /// Latency of cables and routers.
    Latency,
    /// Bandwidth of the memory of hosts.
    Memory,
    /// CPU time in MPI.
    Overhead,
    /// Computation, and ranks that compute longer than others.
    Computation,
}

/// Kinds of bounds, as proposals declare them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoundKind {
    Network,
    HostLinks,
    RouterLinks,
    Latency,
    Memory,
    Overhead,
    Computation,
}

impl JobBound<'_> {
    fn kind(self) -> BoundKind {
        match self {
            JobBound::Network => BoundKind::Network,
            JobBound::Links(INJECTION | EJECTION) => BoundKind::HostLinks,
            JobBound::Links(_) => BoundKind::RouterLinks,
            JobBound::Latency => BoundKind::Latency,
            JobBound::Memory => BoundKind::Memory,
            JobBound::Overhead => BoundKind::Overhead,
            JobBound::Computation => BoundKind::Computation,
        }
    }
}

/// What a proposal sees: the result, the job, and its bound.
struct Bounded<'e, 'a> {
    evidence: &'e Evidence<'a>,
    job: &'e JobSummary,
    bound: JobBound<'e>,
}

/// A proposal.
struct Proposal {
    /// Name, for tests.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests name proposals"))]
    name: &'static str,
    /// The bounds that it can relieve.
    relieves: &'static [BoundKind],
    /// Its runs; empty where the experiment leaves nothing to change.
    runs: fn(&Bounded<'_, '_>) -> Vec<Comparison>,
}

/// All proposals, in the order in which a verdict has them.
const PROPOSALS: &[Proposal] = &[
    Proposal {
        name: "faster-network",
        relieves: &[BoundKind::Network, BoundKind::HostLinks, BoundKind::RouterLinks],
        runs: |it| comparisons::faster_network(it.evidence.summary),
    },
    Proposal {
        name: "faster-links",
        relieves: &[BoundKind::HostLinks, BoundKind::RouterLinks],
        runs: |it| match it.bound {
            JobBound::Links(class) => comparisons::bandwidth(it.evidence, class),
            _ => Vec::new(),
        },
    },
    Proposal {
        name: "shorter-cables",
        relieves: &[BoundKind::Latency],
        runs: |it| comparisons::latency(it.evidence.summary),
    },
    Proposal {
        name: "other-placement",
        relieves: &[BoundKind::Network, BoundKind::RouterLinks, BoundKind::Latency],
        runs: |it| match placement_matters(it) {
            true => comparisons::placements(it.evidence.summary, it.job),
            false => Vec::new(),
        },
    },
    Proposal {
        name: "adaptive-routing",
        relieves: &[BoundKind::Network, BoundKind::RouterLinks],
        runs: |it| comparisons::adaptive_routing(it.evidence.summary),
    },
    Proposal {
        name: "smaller-overheads",
        relieves: &[BoundKind::Overhead],
        runs: |it| comparisons::overheads(it.evidence.summary),
    },
    Proposal {
        name: "faster-memory",
        relieves: &[BoundKind::Memory],
        runs: |it| comparisons::memory(it.evidence.summary),
    },
    Proposal {
        name: "faster-processors",
        relieves: &[BoundKind::Computation],
        runs: |it| comparisons::faster_computation(it.evidence.summary, it.job),
    },
];

/// Whether ranks can be closer to each other. On a job of all hosts a placement changes the order of the ranks.
fn placement_matters(it: &Bounded<'_, '_>) -> bool {
    it.job.hosts > 1 && it.evidence.summary.network.routers > 1
}

/// The runs that can relieve a bound of a job, each once.
pub(super) fn for_bounds(
    evidence: &Evidence<'_>,
    job: &JobSummary,
    bounds: &[JobBound<'_>],
) -> Vec<Comparison> {
    let mut found: Vec<Comparison> = Vec::new();
    for proposal in PROPOSALS {
        for bound in bounds
            .iter()
            .filter(|bound| proposal.relieves.contains(&bound.kind()))
        {
            let runs = (proposal.runs)(&Bounded {
                evidence,
                job,
                bound: *bound,
            });
            for run in runs {
                if found.iter().all(|other| other.set != run.set) {
                    found.push(run);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rows::{self, LinkRow};
    use crate::verdict::LinkLoads;
    use crate::{Outcome, RunResult, RunSummary, Summary, Table};

    /// A job of 16 of 32 hosts on a dragonfly with minimal routing.
    fn summary() -> Summary {
        let experiment = json!({
            "network": {
                "topology": { "kind": "dragonfly", "groups": 9 },
                "routing": { "algorithm": "minimal" },
                "links": {
                    "host": { "bandwidth": "100 Gbps", "latency": "50 ns" },
                    "global": { "bandwidth": "25 Gbps", "latency": "50 ns" },
                },
                "memory": { "bandwidth": "300 Gbps" },
            },
            "mpi": { "send_overhead": "300 ns", "receive_overhead": "300 ns" },
            "job": [{ "name": "a", "placement": "random", "compute": { "scale": 1.0 } }],
        });
        let mut summary = RunResult::new(experiment, Outcome::default(), RunSummary::default()).summary;
        (summary.network.hosts, summary.network.routers) = (32, 9);
        summary.jobs = vec![JobSummary {
            name: "a".into(),
            ranks: 16,
            hosts: 16,
            ..JobSummary::default()
        }];
        summary
    }

    fn links() -> Table {
        let link = |(link, class): (u32, &'static str)| LinkRow {
            link,
            class: class.into(),
            bandwidth_bits_per_s: 100_000_000_000,
            ..LinkRow::default()
        };
        rows::links([(0, INJECTION), (1, EJECTION), (2, "global")].map(link))
    }

    /// Names of the proposals with runs for these bounds.
    fn made(summary: &Summary, bounds: &[JobBound<'_>]) -> Vec<&'static str> {
        let table = links();
        let evidence = Evidence {
            summary,
            links: LinkLoads::of(&table, 1000.0),
            routers: None,
            calls: None,
            series: None,
            paths: None,
        };
        let job = &summary.jobs[0];
        let of = |proposal: &&Proposal| {
            bounds.iter().any(|bound| {
                let it = Bounded {
                    evidence: &evidence,
                    job,
                    bound: *bound,
                };
                proposal.relieves.contains(&bound.kind()) && !(proposal.runs)(&it).is_empty()
            })
        };
        let names = PROPOSALS.iter().filter(of).map(|proposal| proposal.name);
        let found = for_bounds(&evidence, job, bounds);
        for (index, run) in found.iter().enumerate() {
            assert!(!run.set.is_empty(), "{run:?}");
            assert!(
                found[..index].iter().all(|before| before.set != run.set),
                "twice: {run:?}"
            );
        }
        names.collect()
    }

    const NETWORK: [&str; 4] = [
        "faster-network",
        "faster-links",
        "other-placement",
        "adaptive-routing",
    ];

    #[test]
    fn each_bound_gets_what_can_relieve_it_and_nothing_else() {
        for (bound, expected) in [
            (
                JobBound::Network,
                &["faster-network", "other-placement", "adaptive-routing"][..],
            ),
            (JobBound::Links("global"), &NETWORK),
            (JobBound::Links(INJECTION), &["faster-network", "faster-links"]),
            (JobBound::Links(EJECTION), &["faster-network", "faster-links"]),
            (JobBound::Latency, &["shorter-cables", "other-placement"]),
            (JobBound::Memory, &["faster-memory"]),
            (JobBound::Overhead, &["smaller-overheads"]),
            (JobBound::Computation, &["faster-processors"]),
        ] {
            assert_eq!(made(&summary(), &[bound]), expected, "{bound:?}");
        }
    }

    #[test]
    fn several_bounds_get_the_proposals_of_each_once() {
        let both = [
            JobBound::Links(INJECTION),
            JobBound::Links(EJECTION),
            JobBound::Latency,
        ];
        let expected = [
            "faster-network",
            "faster-links",
            "shorter-cables",
            "other-placement",
        ];
        assert_eq!(made(&summary(), &both), expected);
        assert!(made(&summary(), &[]).is_empty());
    }

    #[test]
    fn faster_links_are_those_of_the_bound() {
        let summary = summary();
        let table = links();
        let evidence = Evidence {
            summary: &summary,
            links: LinkLoads::of(&table, 1000.0),
            routers: None,
            calls: None,
            series: None,
            paths: None,
        };
        let keys = |class| -> Vec<String> {
            let runs = for_bounds(&evidence, &summary.jobs[0], &[JobBound::Links(class)]);
            runs[1].set.iter().map(|changed| changed.key.clone()).collect()
        };
        assert_eq!(keys("global"), ["network.links.global.bandwidth"]);
        assert_eq!(keys(EJECTION), ["network.links.host.bandwidth"]);
    }

    #[test]
    fn a_job_on_one_host_or_on_one_router_has_no_other_placement() {
        let mut host = summary();
        host.jobs[0].hosts = 1;
        let mut router = summary();
        router.network.routers = 1;
        let bounds = [JobBound::Links("global"), JobBound::Latency];
        for summary in [host, router] {
            let found = made(&summary, &bounds);
            assert!(!found.contains(&"other-placement"), "{found:?}");
            assert!(found.contains(&"faster-links"), "{found:?}");
        }
        // On all hosts the order of the ranks changes.
        let mut all = summary();
        all.jobs[0].hosts = 32;
        assert!(made(&all, &bounds).contains(&"other-placement"));
    }

    #[test]
    fn routing_is_proposed_where_it_has_a_choice_and_does_not_adapt_yet() {
        let proposed = |topology: serde_json::Value, algorithm: &str| {
            let mut summary = summary();
            summary.experiment["network"]["topology"] = topology;
            summary.experiment["network"]["routing"]["algorithm"] = algorithm.into();
            made(&summary, &[JobBound::Links("global")]).contains(&"adaptive-routing")
        };
        for (topology, algorithm, expected) in [
            (json!({ "kind": "dragonfly", "groups": 9 }), "minimal", true),
            (json!({ "kind": "dragonfly", "groups": 9 }), "ugal", false),
            (json!({ "kind": "dragonfly", "groups": 9 }), "par", false),
            (
                json!({ "kind": "torus", "sizes": [4, 4] }),
                "dimension-order",
                true,
            ),
            (
                json!({ "kind": "torus", "sizes": [4, 4] }),
                "minimal-adaptive",
                false,
            ),
            (
                json!({ "kind": "mesh", "sizes": [4, 4] }),
                "dimension-order",
                true,
            ),
            (
                json!({ "kind": "mesh", "sizes": [8, 1] }),
                "dimension-order",
                false,
            ),
            (
                json!({ "kind": "fat-tree", "radix": 8, "levels": 2 }),
                "destination-mod-k",
                true,
            ),
            (
                json!({ "kind": "fat-tree", "radix": 8, "levels": 2 }),
                "adaptive",
                false,
            ),
            (
                json!({ "kind": "fat-tree", "down": [4, 4], "up": [1] }),
                "destination-mod-k",
                false,
            ),
            (
                json!({ "kind": "fat-tree", "down": [4, 4], "up": [2] }),
                "destination-mod-k",
                true,
            ),
            (
                json!({ "kind": "hyperx", "shape": [4, 4] }),
                "dimension-order",
                true,
            ),
            (json!({ "kind": "hyperx", "shape": [4, 4] }), "dal", false),
        ] {
            assert_eq!(
                proposed(topology.clone(), algorithm),
                expected,
                "{topology} {algorithm}"
            );
        }
        let mut one = summary();
        one.network.routers = 2;
        assert!(!made(&one, &[JobBound::Links("global")]).contains(&"adaptive-routing"));
    }
}
