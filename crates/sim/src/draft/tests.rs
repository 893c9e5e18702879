//! Drafts are experiments: they are read, have the hosts that were asked for, and run.

use config::Bandwidth;

use super::*;

fn request<'a>(topologies: &'a [String], workload: &'a str) -> DraftRequest<'a> {
    DraftRequest {
        hosts: 16,
        topologies,
        radix: 24,
        bandwidth: Bandwidth {
            bits_per_s: 200_000_000_000,
        },
        workload,
        equal: Equal::Hosts,
        command: "fabricsim new",
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_string()).collect()
}

fn sized() -> Vec<String> {
    let sized = topology::REGISTRY.iter().filter(|kind| kind.sizing.is_some());
    sized.map(|kind| kind.name.to_string()).collect()
}

fn error(request: &DraftRequest<'_>) -> String {
    let error = draft(request).err();
    error
        .unwrap_or_else(|| panic!("{request:?} is accepted"))
        .to_string()
}

/// Every motif and every pattern that needs no file, on a torus, which all patterns of grids accept; patterns of groups
/// on a dragonfly.
#[test]
fn every_workload_is_drafted_and_read() {
    let (torus, dragonfly) = (names(&["torus"]), names(&["dragonfly"]));
    let motifs = workload::motif::MOTIFS.iter().map(|motif| motif.name.to_string());
    let patterns = workload::traffic::PATTERNS
        .iter()
        .map(|pattern| format!("traffic:{}", pattern.name));
    let mut read = 0;
    for workload in motifs.chain(patterns).filter(|name| name != "traffic:matrix") {
        // A torus of 4 x 4 x 4.
        let drafted = |topologies| {
            draft(&DraftRequest {
                hosts: 64,
                ..request(topologies, &workload)
            })
        };
        let drafted = drafted(&torus).or_else(|_| drafted(&dragonfly));
        let drafted = drafted.unwrap_or_else(|error| panic!("{workload}: {error}"));
        let experiment = Experiment::from_toml(&drafted.experiment, "x.toml", &[]);
        let experiment =
            experiment.unwrap_or_else(|error| panic!("{workload}: {error}\n{}", drafted.experiment));
        assert_eq!(experiment.jobs[0].name, workload.trim_start_matches("traffic:"));
        assert!(experiment.jobs[0].host_count() >= 60, "{workload}");
        read += 1;
    }
    assert!(read > 35, "{read}");
}

#[test]
fn comments_have_the_defaults() {
    for topology in sized() {
        let topologies = [topology];
        let drafted = draft(&request(&topologies, "uniform")).unwrap();
        let plain = Experiment::from_toml(&drafted.experiment, "x.toml", &[]).unwrap();
        // Without the `# ` of lines that are settings at their defaults.
        let uncommented: Vec<&str> = drafted
            .experiment
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(setting)
                    if setting.split_once(" = ").is_some_and(|(key, value)| {
                        !key.contains(' ')
                            && !setting.ends_with("of arrangement random")
                            && !value.starts_with("...")
                            && !value.starts_with("null")
                    }) =>
                {
                    setting
                }
                _ => line,
            })
            .collect();
        assert_ne!(uncommented.join("\n"), drafted.experiment.trim_end());
        let given = Experiment::from_toml(&uncommented.join("\n"), "x.toml", &[]);
        let given = given.unwrap_or_else(|error| panic!("{error}\n{}", uncommented.join("\n")));
        assert_eq!(given.settings, plain.settings, "{topologies:?}");
        assert_eq!(plain.network.hosts(), drafted.networks[0].hosts);
        assert_eq!(plain.network.injection_bits_per_s(), 200_000_000_000);
    }
}

#[test]
fn topologies_are_compared_at_equal_bisection_or_cable_bandwidth() {
    let topologies = names(&["fat-tree", "torus"]);
    let hosts = DraftRequest {
        hosts: 64,
        ..request(&topologies, "allreduce")
    };
    let bits = |equal: Equal| {
        let drafted = draft(&DraftRequest { equal, ..hosts }).unwrap();
        let text = drafted.sweep("base.toml").unwrap();
        assert!(text.contains("experiment = \"base.toml\"\n"), "{text}");
        let expected = drafted.networks[1].router_link_bits_per_s;
        let shown = format!(
            "\"network.links.dimension-2.bandwidth\" = \"{}",
            Bandwidth { bits_per_s: expected }
        );
        assert_eq!(text.contains(&shown), equal != Equal::Hosts, "{text}");
        (drafted.networks, expected)
    };
    let (_, same) = bits(Equal::Hosts);
    assert_eq!(same, 200_000_000_000);
    // 6 leaves of 12 hosts, 72 uplinks; a torus of 4 x 4 x 4.
    let (networks, of_bisection) = bits(Equal::Bisection);
    assert_eq!((networks[0].hosts, networks[0].bisection_cables), (72, Some(36)));
    assert_eq!((networks[1].hosts, networks[1].bisection_cables), (64, Some(32)));
    // 36 / 72 of 200 Gbps for each host are 32 / 64 of 200 Gbps.
    assert_eq!(of_bisection, 200_000_000_000);
    let (networks, of_cables) = bits(Equal::CableBandwidth);
    assert_eq!((networks[0].cables, networks[1].cables), (72, 192));
    // 72 / 72 of 200 Gbps are 192 / 64 of a third of that.
    assert_eq!(of_cables, 66_667_000_000);
}

#[test]
fn wrong_requests_name_the_option() {
    let (torus, two) = (names(&["torus"]), names(&["torus", "torus"]));
    let good = request(&torus, "uniform");
    assert!(draft(&good).is_ok());
    let dragonfly = names(&["dragonfly"]);
    for (wrong, needles) in [
        (DraftRequest { hosts: 0, ..good }, &["--hosts: 0 "][..]),
        (DraftRequest { radix: 0, ..good }, &["--radix: 0 "]),
        (
            DraftRequest {
                hosts: 1024,
                radix: 3,
                topologies: &dragonfly,
                ..good
            },
            &["--radix: ", "at least 15"],
        ),
        (
            DraftRequest {
                topologies: &[],
                ..good
            },
            &["--topology: none"],
        ),
        (
            DraftRequest {
                topologies: &names(&["dfly"]),
                ..good
            },
            &["--topology: ", "did you mean 'dragonfly'?"],
        ),
        (
            DraftRequest {
                topologies: &names(&["graph"]),
                ..good
            },
            &["--topology: 'graph'"],
        ),
        (
            DraftRequest {
                topologies: &two,
                ..good
            },
            &["--topology: 'torus' is given twice"],
        ),
        (
            DraftRequest {
                workload: "halo",
                ..good
            },
            &["--workload: ", "did you mean 'halo3d'?"],
        ),
        (
            DraftRequest {
                workload: "matrix",
                ..good
            },
            &["--workload: 'matrix' reads a file"],
        ),
        (
            DraftRequest {
                workload: "bit-complement",
                hosts: 17,
                ..good
            },
            &["--workload: pattern: ", "a power of two hosts"],
        ),
        (
            DraftRequest {
                workload: "random-pairs",
                hosts: 17,
                ..good
            },
            &["--workload: ranks: 17 ranks"],
        ),
        (
            DraftRequest {
                equal: Equal::CableBandwidth,
                ..good
            },
            &["--equal: "],
        ),
        (
            DraftRequest {
                bandwidth: Bandwidth { bits_per_s: 1 },
                ..good
            },
            &["--bandwidth: "],
        ),
    ] {
        let error = error(&wrong);
        for needle in needles {
            assert!(error.contains(needle), "{error}");
        }
    }
}
