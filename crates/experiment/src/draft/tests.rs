//! Drafts are experiments: they are read, have the hosts that were asked for, and run.

use config::{Bandwidth, Bytes};

use super::*;

const GBPS: u64 = 1_000_000_000;

fn request<'a>(topologies: &'a [String], workload: &'a str) -> DraftRequest<'a> {
    DraftRequest {
        hosts: Some(16),
        topologies,
        radix: Some(24),
        bandwidth: Some(Bandwidth {
            bits_per_s: 200 * GBPS,
        }),
        tapering: None,
        preset: None,
        workload: DraftWorkload::Named(workload),
        equal: Equal::Hosts,
        costs: None,
        budget: None,
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
                hosts: Some(64),
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
        hosts: Some(64),
        ..request(&topologies, "allreduce")
    };
    let bits = |equal: Equal| {
        let drafted = draft(&DraftRequest { equal, ..hosts }).unwrap();
        let text = drafted.sweep("base.toml").unwrap();
        assert!(text.contains("experiment = \"base.toml\"\n"), "{text}");
        let expected = drafted.networks[1].router_link_bits_per_s.unwrap();
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

/// Prices that depend on the bandwidth: of cables continuously, of switches in two steps.
const PRICES: &str = r#"
currency = "EUR"
[[switch]]
bandwidth = "200 Gbps"
per_port = 10
[[switch]]
bandwidth = "400 Gbps"
per_port = 15
[[cable]]
class = "host"
cost = 7
[[cable]]
cost = 100
per_gbps = 2
[nic]
cost = 500
"#;

/// Drafts a fat tree and a torus of 64 hosts or more at equal cost, with these prices.
fn at_equal_cost(prices: &str, budget: Option<f64>) -> Result<ExperimentDraft, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prices.toml");
    std::fs::write(&path, prices).unwrap();
    let topologies = names(&["fat-tree", "torus"]);
    let request = request(&topologies, "allreduce");
    draft(&DraftRequest {
        hosts: Some(64),
        equal: Equal::Cost,
        costs: Some(DraftCosts {
            path: &path,
            written: "../prices.toml",
        }),
        budget,
        ..request
    })
}

#[test]
fn topologies_are_compared_at_equal_cost() {
    // The tree has 72 hosts and cables between routers, the torus 64 and 192: so many ports, host cables and NICs.
    let of_tree = |per_port: f64, cable: f64| 3.0 * 72.0 * per_port + 72.0 * 507.0 + 72.0 * cable;
    let of_torus = |per_port: f64, cable: f64| 7.0 * 64.0 * per_port + 64.0 * 507.0 + 192.0 * cable;
    let mbps = |network: &DraftNetwork| network.router_link_bits_per_s.map(|bits| bits / 1_000_000);
    let drafted = at_equal_cost(PRICES, None).unwrap();
    let budget = of_tree(10.0, 500.0);
    assert_eq!(drafted.budget, Some(budget));
    let [tree, torus] = &drafted.networks[..] else {
        panic!("two networks")
    };
    assert_eq!((mbps(tree), tree.cost), (Some(200_000), Some(budget)));
    // (74,664 - 56,128) / (192 * 2) Gbps.
    assert_eq!(mbps(torus), Some(48_270));
    assert!((torus.cost.unwrap() - of_torus(10.0, 100.0 + 2.0 * 48.27)).abs() < 1e-6);
    let sweep = drafted.sweep("base.toml").unwrap();
    for line in [
        "# Each has at least 64 hosts, whose links have 200 Gbps. The budget is 74,664 EUR, the cost of fat-tree.\n",
        "\nname = \"allreduce on 64 hosts or more, equal cost\"\n",
        "\ncosts = \"../prices.toml\"         ",
        "\n# Cost: 74,664 EUR, 1,037 EUR per host, 0.00 % under the budget, with 200 Gbps between routers.\n",
        "\n# Cost: 74,664 EUR, 1,167 EUR per host, 0.00 % under the budget, with 48270 Mbps between routers.\n",
        "\n\"network.links.dimension-2.bandwidth\" = \"48270 Mbps\"\n",
    ] {
        assert!(sweep.contains(line), "{line}\n{sweep}");
    }
    // No switch is faster than 400 Gbps.
    let drafted = at_equal_cost(PRICES, Some(200_000.0)).unwrap();
    let [tree, torus] = &drafted.networks[..] else {
        panic!("two networks")
    };
    assert_eq!(
        (mbps(tree), tree.cost),
        (Some(400_000), Some(of_tree(15.0, 900.0)))
    );
    assert_eq!(mbps(torus), Some(368_833));
    // Cables of three speeds.
    let stepped = |budget| {
        let drafted = at_equal_cost(STEPPED, Some(budget)).unwrap();
        drafted.networks.iter().map(mbps).collect::<Vec<_>>()
    };
    let gbps = |tree: u64, torus: u64| vec![Some(tree * 1000), Some(torus * 1000)];
    assert_eq!(stepped(150_000.0), gbps(400, 200));
    assert_eq!(stepped(of_torus(10.0, 300.0)), gbps(200, 100));
    assert_eq!(stepped(250_000.0), gbps(400, 400));
}

/// Cables of three speeds, of which no other is sold.
const STEPPED: &str = r#"
[[switch]]
per_port = 10
[[cable]]
class = "host"
cost = 7
[[cable]]
bandwidth = "100 Gbps"
cost = 300
[[cable]]
bandwidth = "200 Gbps"
cost = 500
[[cable]]
bandwidth = "400 Gbps"
cost = 1000
[nic]
cost = 500
"#;

#[test]
fn prices_without_equal_cost_are_refused_with_the_costs() {
    let flat = "currency = \"EUR\"\n[[switch]]\nper_port = 10\n[[cable]]\ncost = 100\n";
    for (prices, budget, needles) in [
        (
            PRICES.to_string(),
            Some(50_000.0),
            &[
                "--budget: torus costs at least 56,128 EUR, with 1 Mbps between routers, and the budget is 50,000 EUR;",
            ][..],
        ),
        (
            STEPPED.to_string(),
            None,
            &[
                "torus costs at least 94,528, with 100 Gbps between routers, and the budget is 74,664, the cost of fat-tree",
            ],
        ),
        (
            flat.to_string(),
            None,
            &[
                "--costs: no price in ",
                "fat-tree costs 16,560 EUR, torus costs 30,080 EUR;",
                "--equal hosts",
            ],
        ),
        (
            format!("{flat}[nic]\nper_gbps = 3"),
            None,
            &[
                "--costs: no price in ",
                "depends on the bandwidth of links between routers",
            ],
        ),
        (
            format!("{flat}[[cable]]\nbandwidth = \"10 Gbps\"\ncost = 20"),
            None,
            &[
                "--costs: fat-tree costs 16,560 EUR however great the bandwidth between routers",
                "the cost of fat-tree;",
            ],
        ),
        (
            PRICES.replace("cost = 100", "class = \"dimension-1\""),
            Some(1e6),
            &[
                "prices.toml: no [[cable]] for links of class '",
                "with 200 Gbps and no known length (on topology fat-tree)",
            ],
        ),
        (
            PRICES
                .replace(
                    "[[switch]]\nbandwidth = \"400 Gbps\"",
                    "[[switch]]\nkind = \"leaf\"\nports = 24",
                )
                .replace("bandwidth = \"200 Gbps\"", "bandwidth = \"100 Gbps\""),
            Some(1e6),
            &[
                "prices.toml: no [[switch]] for routers of kind '",
                "of up to 200 Gbps (on topology ",
            ],
        ),
        (
            PRICES.replace("per_gbps = 2", "per_gbps = -20"),
            None,
            &["--budget: the budget is -", "expected more than 0"],
        ),
        (
            PRICES.replace("cost = 7", "cots = 7"),
            None,
            &["prices.toml:11: cable.0.cots: unknown key", "'cost'"],
        ),
    ] {
        let error = at_equal_cost(&prices, budget)
            .expect_err("is refused")
            .to_string();
        for needle in needles {
            assert!(error.contains(needle), "{error}");
        }
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn wrong_requests_name_the_option() {
    let (torus, two) = (names(&["torus"]), names(&["torus", "torus"]));
    let both = names(&["torus", "mesh"]);
    let good = request(&torus, "uniform");
    let lumi = DraftRequest {
        preset: Some("lumi"),
        bandwidth: None,
        topologies: &[],
        ..good
    };
    assert!(draft(&good).is_ok());
    let dragonfly = names(&["dragonfly"]);
    for (wrong, needles) in [
        (
            DraftRequest {
                hosts: Some(0),
                ..good
            },
            &["--hosts: 0 "][..],
        ),
        (
            DraftRequest {
                radix: Some(0),
                ..good
            },
            &["--radix: 0 "],
        ),
        (
            DraftRequest {
                hosts: Some(1024),
                radix: Some(3),
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
                workload: DraftWorkload::Named("halo"),
                ..good
            },
            &["--workload: ", "did you mean 'halo3d'?"],
        ),
        (
            DraftRequest {
                workload: DraftWorkload::Named("matrix"),
                ..good
            },
            &["--workload: 'matrix' reads a file"],
        ),
        (
            DraftRequest {
                workload: DraftWorkload::Named("bit-complement"),
                hosts: Some(17),
                ..good
            },
            &["--workload: pattern: ", "a power of two hosts"],
        ),
        (
            DraftRequest {
                workload: DraftWorkload::Named("random-pairs"),
                hosts: Some(17),
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
                topologies: &both,
                equal: Equal::Cost,
                ..good
            },
            &["--costs: is missing; equal cost needs prices"],
        ),
        (
            DraftRequest {
                costs: Some(DraftCosts {
                    path: "prices.toml".as_ref(),
                    written: "prices.toml",
                }),
                ..good
            },
            &["--costs: is named in a sweep, and one topology makes none"],
        ),
        (
            DraftRequest {
                topologies: &both,
                costs: Some(DraftCosts {
                    path: "no/prices.toml".as_ref(),
                    written: "prices.toml",
                }),
                ..good
            },
            &["no/prices.toml: cannot be read: "],
        ),
        (
            DraftRequest {
                topologies: &both,
                budget: Some(1.0),
                ..good
            },
            &["--budget: is the sum of equal costs"],
        ),
        (
            DraftRequest {
                topologies: &both,
                equal: Equal::Cost,
                costs: Some(DraftCosts {
                    path: "no/prices.toml".as_ref(),
                    written: "prices.toml",
                }),
                budget: Some(f64::NAN),
                ..good
            },
            &["--budget: NaN is out of range; expected more than 0"],
        ),
        (
            DraftRequest {
                bandwidth: Some(Bandwidth { bits_per_s: 1 }),
                ..good
            },
            &["--bandwidth: "],
        ),
        (
            DraftRequest { hosts: None, ..good },
            &["--hosts: is missing", "--trace"],
        ),
        (DraftRequest { radix: None, ..good }, &["--radix: is missing"]),
        (
            DraftRequest {
                hosts: Some(100_000_000),
                ..good
            },
            &["--hosts: 100000000 are too many", "at most 16777216"],
        ),
        (
            DraftRequest {
                tapering: Some("2:1"),
                ..good
            },
            &["--tapering: torus has no such parameter", "have it: fat-tree"],
        ),
        (
            DraftRequest {
                tapering: Some("2/1"),
                topologies: &names(&["fat-tree"]),
                ..good
            },
            &["--tapering: \"2/1\" is not hosts : uplinks"],
        ),
        (
            DraftRequest {
                preset: Some("infinband-hdr"),
                bandwidth: None,
                ..good
            },
            &["--preset: unknown name", "did you mean 'infiniband-hdr'?"],
        ),
        (
            DraftRequest {
                preset: Some("infiniband-hdr"),
                ..good
            },
            &["--bandwidth: the links have the bandwidths of the preset"],
        ),
        (
            DraftRequest {
                preset: Some("infiniband-hdr"),
                bandwidth: None,
                topologies: &[],
                ..good
            },
            &["--topology: none"],
        ),
        (
            DraftRequest {
                preset: Some("lumi"),
                bandwidth: None,
                ..good
            },
            &["--topology: a machine has its own topology", "hardware family"],
        ),
        (
            DraftRequest {
                topologies: &[],
                ..lumi
            },
            &["--radix: a machine has"],
        ),
        (
            DraftRequest {
                tapering: Some("2:1"),
                radix: None,
                ..lumi
            },
            &["--tapering: a machine has"],
        ),
        (
            DraftRequest {
                hosts: Some(5000),
                radix: None,
                ..lumi
            },
            &["--hosts: 5000 is out of range", "1 to 2978"],
        ),
        (
            DraftRequest {
                workload: DraftWorkload::Recording {
                    path: "no/such/trace".as_ref(),
                    written: "no/such/trace",
                },
                ..good
            },
            &["--trace: no/such/trace: cannot be opened"],
        ),
    ] {
        let error = error(&wrong);
        for needle in needles {
            assert!(error.contains(needle), "{error}");
        }
    }
}

#[test]
fn traffic_has_the_hosts_that_were_asked_for_whatever_the_network_has() {
    let tree = names(&["fat-tree"]);
    // 8 leaves of 8 hosts.
    let exact = DraftRequest {
        hosts: Some(64),
        radix: Some(16),
        ..request(&tree, "uniform")
    };
    let drafted = draft(&exact).unwrap();
    assert_eq!(drafted.networks[0].hosts, 64);
    assert!(
        drafted.experiment.contains("\nhosts = 64  "),
        "{}",
        drafted.experiment
    );
    // An edit of the tapering leaves the hosts of the job: 7 leaves of 10 hosts.
    let edit = [("network.topology.tapering".to_string(), "\"2:1\"".to_string())];
    let edited = Experiment::from_toml(&drafted.experiment, "x.toml", &edit).unwrap();
    assert_eq!((edited.network.hosts(), edited.jobs[0].host_count()), (70, 64));
    // A pattern that needs the shape of the network takes all of its hosts.
    let dragonfly = names(&["dragonfly"]);
    let drafted = draft(&DraftRequest {
        hosts: Some(60),
        radix: Some(16),
        ..request(&dragonfly, "adversarial")
    });
    let drafted = drafted.unwrap();
    assert!(
        drafted.experiment.contains("\nhosts = \"all\" "),
        "{}",
        drafted.experiment
    );
}

#[test]
fn tapering_is_written_for_the_topologies_that_have_it() {
    let tree = names(&["fat-tree"]);
    let tapered = |topologies| DraftRequest {
        hosts: Some(64),
        radix: Some(16),
        tapering: Some("2:1"),
        ..request(topologies, "uniform")
    };
    let drafted = draft(&tapered(&tree)).unwrap();
    assert_eq!(drafted.networks[0].hosts, 70);
    assert!(
        drafted.experiment.contains("\ntapering = \"2:1\" "),
        "{}",
        drafted.experiment
    );
    let both = names(&["fat-tree", "torus"]);
    let drafted = draft(&tapered(&both)).unwrap();
    assert_eq!(drafted.networks[0].hosts, 70);
    let sweep = drafted.sweep("base.toml").unwrap();
    for table in [
        "{ kind = \"fat-tree\", tapering = \"2:1\" }",
        "{ kind = \"torus\" }",
    ] {
        assert!(
            sweep.contains(&format!("\"network.topology\" = {table}\n")),
            "{sweep}"
        );
    }
}

#[test]
fn packets_are_the_largest_mtu_of_the_time_of_2_kib_at_100_gbps() {
    let dragonfly = names(&["dragonfly"]);
    for (gbps, packet) in [
        (10, 256),
        (25, 512),
        (50, 1024),
        (99, 1024),
        (100, 2048),
        (200, 4096),
        (800, 4096),
    ] {
        let bits_per_s = gbps * GBPS;
        let drafted = draft(&DraftRequest {
            hosts: Some(72),
            bandwidth: Some(Bandwidth { bits_per_s }),
            ..request(&dragonfly, "uniform")
        });
        let text = drafted.unwrap().experiment;
        let experiment = Experiment::from_toml(&text, "x.toml", &[]).unwrap();
        assert_eq!(experiment.network.packet.payload, packet, "{gbps} Gbps");
        assert!(experiment.network.smallest_buffer_of_vc() >= 4 * packet, "{text}");
        let size = Bytes { bytes: packet.into() };
        assert_eq!(
            experiment.settings["job"][0]["traffic"]["message"],
            size.to_string()
        );
    }
}

#[test]
fn buffers_hold_four_packets_of_every_virtual_channel() {
    for topology in sized() {
        let topologies = [topology];
        let drafted = draft(&request(&topologies, "uniform")).unwrap();
        let experiment = Experiment::from_toml(&drafted.experiment, "x.toml", &[]).unwrap();
        assert!(
            experiment.network.smallest_buffer_of_vc() >= 4 * 4096,
            "{topologies:?}"
        );
        let default = experiment.settings["network"]["router"]["buffer"] == "100 KB";
        let fits = u32::from(drafted.networks[0].vcs) * 4 * 4096 <= 100_000;
        assert_eq!(default, fits, "{}", drafted.experiment);
    }
}

#[test]
fn a_machine_has_its_own_network_and_a_hardware_family_any() {
    let machine = DraftRequest {
        hosts: Some(512),
        radix: None,
        bandwidth: None,
        preset: Some("lumi"),
        ..request(&[], "allreduce")
    };
    let drafted = draft(&machine).unwrap();
    let experiment = Experiment::from_toml(&drafted.experiment, "x.toml", &[]).unwrap();
    let settings = &experiment.settings["network"];
    assert_eq!(
        (&settings["preset"], &settings["hosts"]),
        (&"lumi".into(), &512.into())
    );
    assert_eq!(
        (drafted.networks[0].topology.as_str(), drafted.networks[0].hosts),
        ("dragonfly", 512)
    );
    assert_eq!(
        (settings["packet"].as_str(), experiment.network.rails.count()),
        (Some("4 KiB"), 4)
    );
    assert_eq!(experiment.jobs[0].host_count(), 512);
    let both = names(&["dragonfly", "fat-tree"]);
    let family = DraftRequest {
        bandwidth: None,
        preset: Some("infiniband-hdr"),
        ..request(&both, "uniform")
    };
    let drafted = draft(&family).unwrap();
    assert!(
        drafted
            .experiment
            .contains("\nhardware = \"infiniband-hdr\"\nhosts = 16\nradix = 24\n")
    );
    let experiment = Experiment::from_toml(&drafted.experiment, "x.toml", &[]).unwrap();
    assert_eq!(experiment.network.injection_bits_per_s(), 200 * GBPS);
    assert_eq!(drafted.networks.len(), 2);
    let refused = error(&DraftRequest {
        equal: Equal::Bisection,
        ..family
    });
    assert!(
        refused.contains("--equal: changes the links of the preset"),
        "{refused}"
    );
}

#[test]
fn a_recording_gives_the_ranks_and_the_hosts() {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces/goal-ring-6/ring.goal");
    let written = path.to_string_lossy();
    let torus = names(&["torus"]);
    let recording = |hosts| DraftRequest {
        hosts,
        workload: DraftWorkload::Recording {
            path: &path,
            written: &written,
        },
        ..request(&torus, "")
    };
    for (hosts, network, used) in [(None, 6, 6), (Some(16), 16, 6), (Some(4), 4, 3)] {
        let drafted = draft(&recording(hosts)).unwrap();
        let experiment = Experiment::from_toml(&drafted.experiment, "x.toml", &[]).unwrap();
        assert_eq!(experiment.network.hosts(), network, "{hosts:?}");
        assert_eq!(experiment.jobs[0].host_count(), used, "{hosts:?}");
        assert_eq!(experiment.jobs[0].name, "ring");
        assert!(
            drafted.experiment.contains("\n[job.workload]\ngoal = "),
            "{}",
            drafted.experiment
        );
    }
    // Without the written path: the draft is checked with the other one.
    let elsewhere = DraftRequest {
        workload: DraftWorkload::Recording {
            path: &path,
            written: "../ring",
        },
        ..recording(None)
    };
    assert!(
        draft(&elsewhere)
            .unwrap()
            .experiment
            .contains("\ngoal = \"../ring\" ")
    );
}

#[test]
fn routers_with_many_unused_ports_have_a_warning() {
    let all = names(&["hyperx", "fat-tree"]);
    let drafted = draft(&DraftRequest {
        hosts: Some(1024),
        radix: Some(64),
        ..request(&all, "uniform")
    });
    let drafted = drafted.unwrap();
    // 10 x 11 routers of 10 hosts: 9 + 10 + 10 ports. Leaves of 32 hosts and 32 uplinks.
    let [hyperx, tree] = &drafted.networks[..] else {
        panic!("two networks")
    };
    assert_eq!((hyperx.used_ports, tree.used_ports), (29, 64));
    let warning = hyperx.unused_ports().unwrap();
    assert!(
        warning.starts_with("hyperx uses at most 29 of the 64 ports of a router"),
        "{warning}"
    );
    assert_eq!(tree.unused_ports(), None);
    let sweep = drafted.sweep("base.toml").unwrap();
    assert!(
        sweep.contains(&format!("# {warning}.\n[axis.variants.hyperx]")),
        "{sweep}"
    );
}
