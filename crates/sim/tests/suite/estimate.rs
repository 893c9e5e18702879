//! The expected work of experiments against that of their runs. CPU time is not compared: `docs/performance.md` has a
//! table.

use experiment::{Experiment, WorkEstimate};

use crate::support::{experiment, otf2_is_available, root, run};

fn estimate(experiment: &Experiment) -> WorkEstimate {
    experiment::work(experiment).unwrap_or_else(|e| panic!("{e}"))
}

/// Estimated over counted packet-hops.
fn ratio(experiment: &Experiment) -> f64 {
    let estimated = estimate(experiment);
    let result = run(experiment);
    assert!(result.summary.network.packet_hops > 0);
    estimated.packet_hops as f64 / result.summary.network.packet_hops as f64
}

fn corpus(name: &str, overrides: &[(&str, &str)]) -> Experiment {
    let path = root().join("tests/corpus").join(format!("{name}.toml"));
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    Experiment::load(&path, &overrides).unwrap_or_else(|e| panic!("{e}"))
}

/// Below saturation, where nothing is extrapolated but the destinations of traffic.
#[test]
fn traffic_has_the_expected_packet_hops() {
    let low = [("job.0.traffic.load", "0.2")];
    let uniform = [
        ("job.0.traffic.load", "0.2"),
        ("job.0.traffic.pattern", "\"uniform\""),
    ];
    let pattern = [("job.0.traffic", "{ pattern = \"uniform\", load = 0.02 }")];
    for (name, overrides) in [
        ("dragonfly-minimal", &[][..]),
        ("dragonfly-valiant-full-buffers", &pattern),
        ("dragonfly-ugal", &low),
        ("fat-tree-adaptive", &[]),
        ("torus-dimension-order", &[]),
        ("torus-valiant", &uniform),
        ("hyperx-minimal", &low),
        ("slim-fly-minimal", &low),
        ("traffic-torus", &[]),
        ("input-queued-dragonfly", &low),
        ("output-queued-dragonfly", &low),
    ] {
        let experiment = corpus(name, overrides);
        assert!(!estimate(&experiment).is_lower_limit, "{name}");
        let ratio = ratio(&experiment);
        println!("{name}: {ratio:.3}");
        assert!((1.0 / 1.5..1.5).contains(&ratio), "{name}: {ratio}");
    }
}

/// Where all programs are read to their end and each pair has one path, the estimate is the number that a run counts.
#[test]
fn ranks_have_exactly_the_expected_packet_hops() {
    for name in [
        "goal-ring",
        "liballprof-ring",
        "incast-dumpi-hyperx",
        "motifs-halos-torus",
    ] {
        let experiment = corpus(name, &[]);
        let (estimated, result) = (estimate(&experiment), run(&experiment));
        let messages: u64 = result.summary.jobs.iter().map(|job| job.messages).sum();
        println!(
            "{name}: {} {}",
            estimated.packet_hops, result.summary.network.packet_hops
        );
        // The estimate has the control messages of the rendezvous protocol, too.
        assert!(
            (messages..=3 * messages).contains(&estimated.messages),
            "{name}: {estimated:?}, {messages} messages"
        );
        assert_eq!(
            estimated.packet_hops, result.summary.network.packet_hops,
            "{name}"
        );
        assert!(!estimated.is_lower_limit, "{name}");
    }
}

#[test]
fn ranks_have_the_expected_packet_hops() {
    let mut names = vec![
        ("motifs-collectives-fat-tree", &[][..]),
        ("collectives-two-level", &[]),
        ("collectives-openmpi", &[]),
        ("motifs-phases-dragonfly", &[]),
    ];
    let apart = [("job.0.ranks_per_host", "14")];
    if otf2_is_available() {
        names.push(("lammps-repeated", &apart));
    }
    for (name, overrides) in names {
        let experiment = corpus(name, overrides);
        let ratio = ratio(&experiment);
        println!("{name}: {ratio:.3}");
        assert!((1.0 / 1.5..1.5).contains(&ratio), "{name}: {ratio}");
    }
}

/// More ranks than are read: those that are stand for the others.
#[test]
fn a_sample_of_the_ranks_stands_for_all() {
    for workload in [
        "{ motif = \"halo3d\", pex = 8, pey = 6, pez = 5, nx = 20, ny = 20, nz = 20, iterations = 2 }",
        "{ motif = \"allreduce\", ranks = 250, bytes = \"20 KiB\", iterations = 3 }",
        "{ motif = \"all-to-all\", ranks = 250, bytes = \"300 B\", iterations = 1 }",
        "{ motif = \"sweep3d\", pex = 16, pey = 15, nx = 40, ny = 40, nz = 20, kba = 10 }",
        "{ motif = \"phases\", ranks = 250, grid = [250, 1, 1], phases = [{ phases = [{ collective = \"bcast\", bytes = \"1 KiB\" }, \
         { collective = \"gather\", bytes = \"300 B\", root = 7 }, { collective = \"scatter\", bytes = \"300 B\", root = 9 }] }] }",
    ] {
        for keys in ["", "repetitions = 3\n"] {
            let text = format!(
                "network.topology = {{ kind = \"torus\", sizes = [8, 8, 4] }}\nnetwork.packet = \"1 KiB\"\n\
                 [[job]]\nworkload = {workload}\n{keys}"
            );
            let experiment = experiment(&text);
            let ratio = ratio(&experiment);
            println!("{workload} {keys}: {ratio:.3}");
            assert!((1.0 / 1.5..1.5).contains(&ratio), "{workload}: {ratio}");
        }
    }
}

/// `fabricsim check` prints it.
#[test]
fn check_has_the_estimate() {
    let experiment = corpus("dragonfly-minimal", &[]);
    let report = sim::check(&experiment).unwrap();
    assert_eq!(report.work, estimate(&experiment));
    assert!(
        report
            .to_string()
            .contains(&format!("\nwork      {}\n", report.work))
    );
    assert!(report.work.cpu_s > 0.0 && report.work.packet_hops_per_s > 0.0);
}
