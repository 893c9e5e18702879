//! Wrong input: one message with the location and the expected value, exit status 2, nothing left behind.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::process::Command;

use testkit::bigsim::BigsimFixture;

use crate::bench::{Bench, EXPERIMENT, lammps, otf2, root, texts};

const RUN: &[&str] = &["run", "experiment.toml"];

/// The experiment with a recorded application instead of its traffic.
fn with_trace(trace: &str) -> String {
    EXPERIMENT
        .replace(
            "traffic = { pattern = \"uniform\", load = 0.5 }",
            &format!("workload = {{ otf2 = \"{trace}\" }}"),
        )
        .replace("[run]\nuntil = \"5 us\"\n", "")
}

#[test]
fn what_is_wrong_in_the_file_is_named_with_line_and_key() {
    for (from, to, needles) in [
        // Unknown keys and names, with the nearest known one.
        (
            "bandwidth = ",
            "bandwith = ",
            &[
                "experiment.toml:11: network.link.bandwith: ",
                "did you mean 'bandwidth'?",
            ][..],
        ),
        (
            "[run]",
            "[ran]",
            &["experiment.toml:17: ran: ", "did you mean 'run'?"],
        ),
        (
            "[[job]]",
            "[[jobs]]",
            &["experiment.toml:15: jobs: ", "did you mean 'job'?"],
        ),
        (
            "\"dragonfly\"",
            "\"dragonfy\"",
            &[
                "experiment.toml:4: network.topology.kind: ",
                "did you mean 'dragonfly'?",
            ],
        ),
        (
            "\"minimal\"",
            "\"minimum\"",
            &[
                "experiment.toml:9: network.routing.algorithm: ",
                "did you mean 'minimal'?",
            ],
        ),
        (
            "\"uniform\"",
            "\"unifrom\"",
            &[
                "experiment.toml:16: job.0.traffic.pattern: ",
                "did you mean 'uniform'?",
            ],
        ),
        (
            "[run]",
            "[run]\nexecutor = \"conservativ\"",
            &[
                "experiment.toml:18: run.executor: ",
                "did you mean 'conservative'?",
            ],
        ),
        (
            "[network.link]",
            "[network.links.globl]\nlatency = \"1 us\"\n[network.link]",
            &[
                "experiment.toml:10: network.links.globl: ",
                "did you mean 'global'?",
            ],
        ),
        (
            "buffer = ",
            "model = \"input-queued\"\narbiter = \"randm\"\nbuffer = ",
            &[
                "experiment.toml:15: network.router.arbiter: ",
                "did you mean 'random'?",
            ],
        ),
        (
            "buffer = ",
            "model = \"input-queued\"\nspeedup = 0.5\nbuffer = ",
            &[
                "experiment.toml:15: network.router.speedup: ",
                "0.5 is out of range; expected a number from 1 to 1000",
            ],
        ),
        (
            "buffer = ",
            "model = \"input-queued\"\noutput_buffer = \"100 B\"\nbuffer = ",
            &[
                "experiment.toml:15: network.router.output_buffer: ",
                "100 B do not hold the largest packet; expected at least 256 B",
            ],
        ),
        (
            "buffer = ",
            "model = \"input-queued\"\noutput_buffer = \"2 GiB\"\nbuffer = ",
            &["network.router.output_buffer: ", "expected at most 1 GiB"],
        ),
        (
            "buffer = ",
            "model = \"crossbar\"\nvc_output_buffer = \"100 B\"\nbuffer = ",
            &[
                "experiment.toml:15: network.router.vc_output_buffer: ",
                "100 B do not hold the largest packet; expected at least 256 B",
            ],
        ),
        (
            "buffer = ",
            "model = \"crossbar\"\ncrossbar = \"shared\"\nbuffer = ",
            &[
                "experiment.toml:15: network.router.crossbar: ",
                "expected crossbar = \"per-port\", or arbiter = \"first-come\"",
            ],
        ),
        // The model `packet` has no arbiter.
        (
            "buffer = ",
            "arbiter = \"random\"\nbuffer = ",
            &["experiment.toml:14: network.router.arbiter: ", "unknown key"],
        ),
        // Units.
        (
            "\"100 Gbps\"",
            "\"100 ns\"",
            &[
                "experiment.toml:11: network.link.bandwidth: ",
                "unknown unit",
                "Gbps",
            ],
        ),
        (
            "\"50 ns\"",
            "50",
            &[
                "experiment.toml:12: network.link.latency: ",
                "50 has no unit",
                "ns",
            ],
        ),
        (
            "\"256 B\"",
            "\"256 b\"",
            &["experiment.toml:2: network.packet: ", "unknown unit"],
        ),
        // Patterns that are impossible here, and missing files of traffic.
        (
            "\"uniform\"",
            "\"tornado\"",
            &[
                "experiment.toml:16: job.0.traffic.pattern: ",
                "expected a mesh, a torus or a HyperX, and this is a dragonfly",
            ],
        ),
        (
            "\"uniform\"",
            "\"bit-reverse\"",
            &[
                "experiment.toml:16: job.0.traffic.pattern: ",
                "expected a power of two hosts",
            ],
        ),
        (
            "\"uniform\"",
            "\"matrix\", file = \"no.csv\"",
            &["experiment.toml:16: job.0.traffic.file: no.csv: "],
        ),
        (
            "load = 0.5",
            "load = 0.5, message = { distribution = \"file\", file = \"no.csv\" }",
            &["experiment.toml:16: job.0.traffic.message.file: no.csv: "],
        ),
        (
            "load = 0.5",
            "load = 0.5, arrival = \"on-off\", peak = 0.25",
            &["experiment.toml:16: job.0.traffic.peak: ", "at least the load"],
        ),
        // Types and ranges.
        (
            "hosts_per_router = 1",
            "hosts_per_router = \"one\"",
            &[
                "experiment.toml:5: network.topology.hosts_per_router: ",
                "a whole number",
            ],
        ),
        (
            "load = 0.5",
            "load = 0",
            &["experiment.toml:16: job.0.traffic.load: ", "0 < load <= 1"],
        ),
        (
            "load = 0.5",
            "load = 1.01",
            &["experiment.toml:16: job.0.traffic.load: ", "0 < load <= 1"],
        ),
        (
            "load = 0.5",
            "load = -0.5",
            &["experiment.toml:16: job.0.traffic.load: ", "0 < load <= 1"],
        ),
        (
            "load = 0.5",
            "load = nan",
            &["experiment.toml:16: job.0.traffic.load: ", "a number"],
        ),
        (
            "[run]",
            "[run]\nthreads = 0",
            &["experiment.toml:18: run.threads: ", "expected 1 to 1024"],
        ),
        (
            "until = \"5 us\"",
            "until = \"0 us\"",
            &["experiment.toml:18: run.until: ", "expected a time"],
        ),
        (
            "until = \"5 us\"",
            "until = \"5 us\"\nwarmup = \"5 us\"",
            &["experiment.toml:19: run.warmup: ", "leaves nothing"],
        ),
        (
            "[run]",
            "[run]\nwatchdog = \"0 s\"",
            &["experiment.toml:18: run.watchdog: ", "expected a time"],
        ),
        // Times beyond the simulator's 213 days, and bandwidths beyond its picoseconds.
        (
            "\"50 ns\"",
            "\"2 s\"",
            &[
                "experiment.toml:12: network.link.latency: ",
                "expected at most 1 s",
            ],
        ),
        (
            "buffer = ",
            "delay = \"18446744073709551615 ps\"\nbuffer = ",
            &[
                "experiment.toml:14: network.router.delay: ",
                "expected at most 1 s",
            ],
        ),
        (
            "\"5 us\"",
            "\"18446744 s\"",
            &["experiment.toml:18: run.until: ", "expected at most 8640000 s"],
        ),
        (
            "[[job]]",
            "[[job]]\nstart = \"18446744 s\"",
            &["experiment.toml:16: job.0.start: ", "expected at most 8640000 s"],
        ),
        (
            "\"100 Gbps\"",
            "\"1001 Tbps\"",
            &[
                "experiment.toml:11: network.link.bandwidth: ",
                "expected at most 1000 Tbps",
            ],
        ),
        // Experiments that cannot be built.
        (
            "[network.routing]",
            "groups = 10\n[network.routing]",
            &["experiment.toml:8: network.topology.groups: ", "expected 1 to 9"],
        ),
        (
            "routers_per_group = 4",
            "routers_per_group = 4000000000",
            &["experiment.toml", "network.topology"],
        ),
        (
            "\"minimal\"",
            "\"dimension-order\"",
            &[
                "experiment.toml:9: network.routing.algorithm: ",
                "works on torus, mesh, hyperx, express-mesh, not on this dragonfly",
                "expected one of: minimal, par, piggyback, ugal, valiant",
            ],
        ),
        (
            "buffer = \"32 KiB\"",
            "buffer = \"500 B\"",
            &[
                "experiment.toml:14: network.router.buffer: ",
                "less than a packet of 256 B",
                "expected at least 512 B",
            ],
        ),
        (
            "packet = ",
            "packet_header = \"65537 B\"\npacket = ",
            &[
                "experiment.toml:2: network.packet_header: ",
                "65537 B is out of range; expected at most 64 KiB",
            ],
        ),
        (
            "packet = \"256 B\"",
            "packet = \"16 KiB\"\npacket_header = \"1 B\"",
            &[
                "experiment.toml:15: network.router.buffer: ",
                "32 KiB per input port are 16384 B for each of 2 virtual channels",
                "less than a packet of 16 KiB with a header of 1 B",
                "expected at least 32770 B",
            ],
        ),
        (
            "[network.router]",
            "[network.links.global]\nbuffer = \"500 B\"\n[network.router]",
            &[
                "experiment.toml:14: network.links.global.buffer: ",
                "less than a packet of 256 B",
                "expected at least 512 B",
            ],
        ),
        (
            "[network.router]",
            "[network.links.host]\nbuffer = \"2 GiB\"\n[network.router]",
            &[
                "experiment.toml:14: network.links.host.buffer: ",
                "2 GiB is out of range",
                "at most 1 GiB per port",
            ],
        ),
        (
            "packet = ",
            "nic_injection_delay = \"1001 ms\"\npacket = ",
            &[
                "experiment.toml:2: network.nic_injection_delay: ",
                "is out of range; expected at most 1 s",
            ],
        ),
        (
            "packet = ",
            "nic_reception_delay = \"1001 ms\"\npacket = ",
            &[
                "experiment.toml:2: network.nic_reception_delay: ",
                "is out of range; expected at most 1 s",
            ],
        ),
        (
            "buffer = ",
            "credit_delay = \"1001 ms\"\nbuffer = ",
            &[
                "experiment.toml:14: network.router.credit_delay: ",
                "is out of range; expected at most 1 s",
            ],
        ),
        (
            "buffer = ",
            "vc_copies = 0\nbuffer = ",
            &[
                "experiment.toml:14: network.router.vc_copies: ",
                "0 is out of range; expected a whole number from 1 to 255",
            ],
        ),
        (
            "buffer = ",
            "vc_copies = 2\nbuffer = ",
            &[
                "experiment.toml:13: network.router.model: ",
                "expected model = \"flit\" or \"input-queued\", or vc_copies = 1",
            ],
        ),
        (
            "[network.router]",
            "[network.links.global]\nrouter_delay = \"2 s\"\n[network.router]",
            &[
                "experiment.toml:14: network.links.global.router_delay: ",
                "2 s",
                "1 s",
            ],
        ),
        (
            "\"50 ns\"",
            "\"0 ns\"",
            &[
                "experiment.toml:12: network.link.latency: ",
                "expected at least \"1 ps\"",
            ],
        ),
        (
            "load = 0.5 }",
            "load = 0.5 }\nhosts = 37",
            &["experiment.toml:17: job.0.hosts: ", "the network has 36 hosts"],
        ),
        (
            "load = 0.5 }",
            "load = 0.5 }\nhosts = 1",
            &["experiment.toml:17: job.0.hosts: ", "at least 2"],
        ),
        // Missing keys.
        (
            "until = \"5 us\"\n",
            "",
            &["experiment.toml:17: run.until: ", "traffic never ends by itself"],
        ),
        (
            "kind = \"dragonfly\"\n",
            "",
            &["experiment.toml:3: network.topology.kind: ", "missing"],
        ),
        (
            "[[job]]\ntraffic = { pattern = \"uniform\", load = 0.5 }\n",
            "",
            &["experiment.toml", "job: ", "at least one [[job]]"],
        ),
        (
            "traffic = { pattern = \"uniform\", load = 0.5 }",
            "name = \"idle\"",
            &[
                "experiment.toml:15: job.0: ",
                "either traffic",
                "one of bigsim, command, dumpi, goal, liballprof, motif, operations, otf2, python",
            ],
        ),
        // Files that are not TOML.
        ("[run]", "[run", &["experiment.toml:17: not valid TOML: "]),
        (
            "until = ",
            "until = \"1 us\"\nuntil = ",
            &["experiment.toml:19: ", "duplicate key"],
        ),
    ] {
        Bench::with(from, to).refuses(RUN, needles);
        Bench::with(from, to).refuses(&["check", "experiment.toml", "--json"], needles);
    }
}

/// Seven mistakes in four tables: one run of the command names them all, in the order of the file.
#[test]
fn all_independent_mistakes_are_named_at_once() {
    let text = EXPERIMENT
        .replace("\"256 B\"", "\"256\"")
        .replace("\"100 Gbps\"", "\"100 Gb\"")
        .replace("latency = ", "latencie = ")
        .replace("load = 0.5", "load = \"half\"")
        .replace(
            "until = \"5 us\"",
            "until = 5\nseed = 18446744073709551615\nwatchdog = \"1 mus\"",
        );
    let bench = Bench::new(&text.replace("seed = 18446744073709551615", "seed = -1"));
    let expected = [
        "experiment.toml:2: network.packet: ",
        "experiment.toml:11: network.link.bandwidth: ",
        "experiment.toml:12: network.link.latencie: unknown key 'latencie'; did you mean 'latency'?",
        "experiment.toml:16: job.0.traffic.load: \"half\" is not a number",
        "experiment.toml:18: run.until: 5 has no unit; expected ",
        "experiment.toml:19: run.seed: -1 is out of range; expected 0 to 9223372036854775807",
        "experiment.toml:20: run.watchdog: \"1 mus\" has the unknown unit 'mus'",
    ];
    for command in ["check", "run"] {
        let output = bench.run(&[command, "experiment.toml"]);
        let (_, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        let lines: Vec<&str> = stderr.lines().collect();
        assert_eq!(lines.len(), expected.len(), "{stderr}");
        for (line, expected) in lines.iter().zip(expected) {
            assert!(line.starts_with(&format!("fabricsim: {expected}")), "{stderr}");
        }
    }
    // What does not fit 64 bits is no number of a file, which ends the reading.
    let bench = Bench::new(&text);
    bench.refuses(
        &["check", "experiment.toml"],
        &["19", "out of range", "9223372036854775807"],
    );
}

/// Names and values of others cannot write to the terminal.
#[test]
fn messages_are_short_and_printable() {
    let name = |name: &str| {
        let job = format!("[[job]]\nname = \"{name}\"");
        Bench::new(&EXPERIMENT.replace("[[job]]", &job))
    };
    let message = name("\\u001b]0;title\\u0007").refuses(
        &["check", "experiment.toml"],
        &["job.0.name: ", "U+001B; expected printable text"],
    );
    assert!(message.contains("\\u{1b}]0;title\\u{7}"), "{message}");
    name("\\u0000").refuses(&["check", "experiment.toml"], &["U+0000"]);
    let message = name(&"x".repeat(3_000_000)).refuses(
        &["run", "experiment.toml"],
        &["3000000 characters; expected a name of 1 to 200"],
    );
    assert!(message.len() < 1_000, "{}", message.len());
    let long = format!("run.{}=1", "y".repeat(100_000));
    let message =
        Bench::new(EXPERIMENT).refuses(&["check", "experiment.toml", "--set", &long], &["unknown key"]);
    assert!(message.len() < 1_000, "{}", message.len());
    let escape = "network.packet=\u{1b}[31m";
    let message =
        Bench::new(EXPERIMENT).refuses(&["check", "experiment.toml", "--set", escape], &["\\u{1b}[31m"]);
    assert!(!message.contains('\u{1b}'), "{message}");
}

#[test]
fn experiments_that_cannot_be_read() {
    let mut bench = Bench::new(EXPERIMENT);
    bench.refuses(&["run", "nowhere.toml"], &["nowhere.toml", "No such file"]);
    bench.refuses(&["run", "."], &["."]);
    bench.write("binary.toml", [0xffu8, 0xfe, 0]);
    bench.refuses(&["run", "binary.toml"], &["binary.toml", "UTF-8"]);
    bench.write("empty.toml", "");
    bench.refuses(
        &["run", "empty.toml"],
        &["empty.toml", "network.topology.kind: missing"],
    );
}

#[test]
fn wrong_arguments() {
    let mut bench = Bench::new(EXPERIMENT);
    bench.write("jobs.toml", "[mpi]\n\n[[job]]\nname = \"a\"\n");
    bench.write("typing.toml", "[network]\npackt = \"1 KiB\"\n");
    for (arguments, needles) in [
        (
            &["--set-file", "none.toml"][..],
            &["none.toml: ", "No such file"][..],
        ),
        (
            &["--set-file", "jobs.toml"],
            &["jobs.toml:3: job: ", "write it into the experiment"],
        ),
        (
            &["--set-file", "typing.toml"],
            &["typing.toml:2: network.packt: ", "did you mean 'packet'?"],
        ),
        (&["--set", "nonsense"], &["--set", "expected KEY=VALUE"]),
        (&["--set", "=3"], &["expected KEY=VALUE"]),
        (
            &["--set", "network.topolgy.kind=torus"],
            &["--set: network.topolgy: ", "did you mean 'topology'?"],
        ),
        (
            &["--set", "network.packet=256"],
            &["--set: network.packet: ", "256 has no unit"],
        ),
        (
            &["--set", "job.3.start=1 us"],
            &["--set: job.3.start: ", "expected job.0 to job.0"],
        ),
        (
            &["--set", "run.until.more=1"],
            &["--set: run.until.more: ", "'run.until' is not a table"],
        ),
        (
            &["--set", "network..packet=1 B"],
            &["--set: network..packet: ", "expected a key"],
        ),
        (
            &["--threads", "0"],
            &["--threads: run.threads: ", "expected 1 to 1024"],
        ),
        (&["--threads", "many"], &["--threads"]),
        (
            &["--executor", "sequentail"],
            &["run.executor: ", "did you mean 'sequential'?"],
        ),
        (
            &["--executor", "optimstic"],
            &["run.executor: ", "did you mean 'optimistic'?"],
        ),
        (
            &["--set", "run.optimistic.batch=0"],
            &["--set: run.optimistic.batch: ", "expected 1 or more"],
        ),
        (
            &["--set", "run.optimistic.gvt_interval=0"],
            &["--set: run.optimistic.gvt_interval: ", "expected 1 or more"],
        ),
        (
            &["--set", "run.optimistic.foo=1"],
            &[
                "--set: run.optimistic.foo: ",
                "batch",
                "gvt_interval",
                "ahead",
                "memory",
            ],
        ),
        (
            &["--set", "run.optimistic=1"],
            &["--set: run.optimistic: ", "1 is not a table"],
        ),
        (
            &["--checkpoint-every", "0s"],
            &["--checkpoint-every", "expected a time such as 60s"],
        ),
        (
            &["--checkpoint-every", "5"],
            &["--checkpoint-every", "\"5\" has no unit"],
        ),
        (
            &["--checkpoint-every-simulated", "0 us"],
            &[
                "--checkpoint-every-simulated",
                "expected a time such as \"50 us\"",
            ],
        ),
        (
            &[
                "--checkpoint-every",
                "60s",
                "--checkpoint-every-simulated",
                "50 us",
            ],
            &["--checkpoint-every", "cannot be used with"],
        ),
        (&["--outt", "x"], &["--outt"]),
    ] {
        bench.refuses(&[RUN, arguments].concat(), needles);
    }
    bench.refuses(&["list", "routers"], &["routers", "router-models"]);
    bench.refuses(&["ran"], &["ran", "run"]);
}

#[test]
fn traces_that_are_missing_or_of_another_kind() {
    let mut bench = Bench::new(&with_trace("somewhere/traces.otf2"));
    let place = "experiment.toml:16: job.0.workload.otf2: ";
    bench.refuses(RUN, &[place, "somewhere/traces.otf2: cannot be opened"]);
    bench.refuses(
        &["trace", "info", "somewhere/traces.otf2"],
        &["somewhere/traces.otf2: cannot be opened"],
    );
    bench.write("somewhere/traces.otf2", "not a trace\n");
    let kind = "is no trace of a known format: it looks like a text file";
    bench.refuses(RUN, &[place, kind]);
    bench.refuses(&["trace", "info", "somewhere"], &["somewhere/traces.otf2", kind]);

    // The format of another recorder, under a name without a rank.
    let dumpi = root().join("examples/traces/dumpi-ember-incast-16/ember-incast-16-0000.bin");
    bench.write("somewhere/traces.otf2", fs::read(dumpi).unwrap());
    bench.refuses(
        RUN,
        &[place, "is one rank's file of a DUMPI trace, but not called"],
    );
}

#[test]
fn bigsim_traces_that_are_damaged() {
    let text = with_trace("jacobi").replace("otf2 =", "bigsim =");
    let mut bench = Bench::new(&text);
    let place = "experiment.toml:16: job.0.workload.bigsim: ";
    let trace = BigsimFixture::new(vec![vec![], vec![]]);
    bench.write("jacobi/bgTrace", trace.main());
    bench.refuses(RUN, &[place, "jacobi/bgTrace0: cannot be opened"]);
    let whole = trace.timelines(0);
    bench.write("jacobi/bgTrace0", &whole[..30]);
    let cut = "jacobi/bgTrace0: rank 0: byte 28: expected the number of logs (4 B), found the end of the file after 2 B";
    bench.refuses(RUN, &[place, cut]);
    bench.refuses(&["trace", "info", "jacobi"], &[cut]);
    bench.write("jacobi/bgTrace0", &whole);
    let info = bench.succeeds(&["trace", "info", "jacobi"]);
    assert!(info.contains("2x1x1 nodes, 1 PEs each"), "{info}");
}

#[test]
fn traces_that_are_cut_off() {
    let Some(trace) = lammps() else { return };
    let mut bench = Bench::new(&with_trace("trace"));
    bench.copy(&trace, "trace");
    let whole = fs::read(trace.join("traces/2.evt")).unwrap();
    bench.write("trace/traces/2.evt", &whole[..whole.len() / 2]);
    let needles = ["traces/2.evt: rank 2: its events are cut off or damaged"];
    bench.refuses(RUN, &needles);
    bench.refuses(
        &["run", "experiment.toml", "--executor", "sequential", "--json"],
        &needles,
    );
    bench.refuses(&["trace", "info", "trace"], &needles);
    fs::remove_file(bench.path().join("trace/traces/2.evt")).unwrap();
    bench.write("trace/note.txt", "one event file is missing");
    bench.refuses(RUN, &["trace", "2"]);
}

#[test]
fn more_ranks_than_fit() {
    let Some(trace) = lammps() else { return };
    let text = with_trace(&trace.display().to_string());
    let text = text.replace("routers_per_group = 4", "routers_per_group = 2\ngroups = 5");
    Bench::new(&text).refuses(
        RUN,
        &[
            "experiment.toml:17: job.0.workload: ",
            "27 ranks at 1 per host need 27 hosts, but only 10 of 10 are free",
        ],
    );
    let crowded = text.replace("[[job]]", "[[job]]\nranks_per_host = 5000");
    Bench::new(&crowded).refuses(
        RUN,
        &["experiment.toml:17: job.0.ranks_per_host: ", "expected 1 to 4096"],
    );
}

#[test]
fn places_and_rules_that_cannot_be() {
    let Some(trace) = lammps() else { return };
    let text = with_trace(&trace.display().to_string());
    for (key, needles) in [
        (
            "placement = { kind = \"cluster\", size = 2 }",
            &[
                "experiment.toml:16: job.0.placement.kind: ",
                "did you mean 'clusters'?",
            ][..],
        ),
        (
            "placement = { hostlist = \"nid[01-26]\" }",
            &[
                "job.0.placement: ",
                "27 ranks at 1 per host need 27 hosts, but the placement names 26",
            ],
        ),
        (
            "placement = { file = \"hosts.txt\" }",
            &["experiment.toml:16: job.0.placement.file: hosts.txt:2: 'two' is not a number"],
        ),
        (
            "mapping = { kind = \"blocked\", grid = [3, 3], block = [3, 1] }",
            &["job.0.mapping.grid: ", "has 9 ranks; expected the 27 of the job"],
        ),
        (
            "mapping = \"dealt\"",
            &["experiment.toml:16: job.0.mapping: unknown name 'dealt'"],
        ),
        (
            "repetitions = 0",
            &["experiment.toml:16: job.0.repetitions: 0 is out of range"],
        ),
        (
            "compute = \"none\"",
            &["experiment.toml:16: job.0.compute: unknown name 'none'; expected \"off\""],
        ),
        (
            "compute = { scale = -1 }",
            &["experiment.toml:16: job.0.compute.scale: -1 is out of range"],
        ),
    ] {
        let mut bench = Bench::new(&text.replace("[[job]]\n", &format!("[[job]]\n{key}\n")));
        bench.write("hosts.txt", "1\ntwo\n");
        bench.refuses(RUN, needles);
    }
}

#[test]
fn interference_of_nothing() {
    let bench = Bench::new(EXPERIMENT);
    bench.refuses(
        &["run", "experiment.toml", "--interference"],
        &["interference of jobs: no job has ranks"],
    );
    bench.refuses(
        &[
            "run",
            "experiment.toml",
            "--interference",
            "--checkpoint-every",
            "60s",
        ],
        &["--interference", "cannot be used with"],
    );
}

#[test]
fn an_application_that_waits_for_ever() {
    if !otf2() {
        return;
    }
    let trace = root().join("tests/corpus/traces/deadlock-2");
    let text = with_trace(&trace.display().to_string());
    let needles = [
        "the application waits forever",
        "2 ranks have not finished",
        "job 'job0', rank 0: MPI_Recv for a message from rank 1, tag 7, communicator 0",
        "job 'job0', rank 1: MPI_Recv for a message from rank 0, tag 7, communicator 0",
    ];
    Bench::new(&text).refuses(RUN, &needles);
    // Beside traffic without an end.
    let beside = format!("{text}[[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 }}\n");
    let watchful = ["--set", "run.watchdog=20 us"];
    Bench::new(&beside).refuses(&[RUN, &watchful].concat(), &needles);
}

#[test]
fn places_where_no_result_can_be_written() {
    let mut bench = Bench::new(EXPERIMENT);
    bench.write("taken", "a file");
    bench.refuses(
        &["run", "experiment.toml", "--out", "taken"],
        &["taken is not a folder"],
    );
    bench.refuses(
        &["run", "experiment.toml", "--out", "taken/inside"],
        &["taken is not a folder"],
    );
    bench.write("photos/holiday.jpg", "a picture");
    bench.refuses(
        &["run", "experiment.toml", "--out", "photos"],
        &["photos is not a FabricSim result", "holiday.jpg"],
    );
    for command in ["report", "compare"] {
        bench.refuses(&[command, "photos"], &["photos is not a FabricSim result"]);
        bench.refuses(&[command, "nowhere"], &["nowhere is not a FabricSim result"]);
    }
    bench.write("broken/summary.json", "{ \"schema\": ");
    bench.refuses(&["compare", "broken"], &["broken", "damaged"]);
}

/// Bins so short that the run would write rows for years.
#[test]
fn bins_that_never_end() {
    let bench = Bench::new(EXPERIMENT);
    let endless = ["--set", "run.until=1 ms", "--set", "collect.bin=1 ps"];
    bench.refuses(
        &[&["check", "experiment.toml"], &endless[..]].concat(),
        &[
            "collect.bin: 1 ps is too short: until 1 ms there are 1000000000 bins, and ",
            " links is more than 10000000000 samples; expected ",
            "or \"auto\", or fewer routers",
        ],
    );
    let classes = ["--set", "run.until=1 ms", "--set", "collect.series=classes"];
    bench.refuses(
        &[
            &["check", "experiment.toml", "--set", "collect.bin=1 ps"],
            &classes[..],
        ]
        .concat(),
        &[
            "collect.bin: 1 ps is too short: until 1 ms there are 1000000000 bins, and ",
            " flows of routers and hosts is more than 10000000000 samples; expected ",
        ],
    );
    bench.succeeds(
        &[
            &["check", "experiment.toml", "--set", "collect.bin=1 ns"],
            &classes[..],
        ]
        .concat(),
    );
    bench.succeeds(
        &[
            &["check", "experiment.toml"],
            &endless[..],
            &["--set", "collect.series=off"],
        ]
        .concat(),
    );
}

/// A pipe blocks its reader, and a device never ends.
#[cfg(unix)]
#[test]
fn inputs_are_regular_files() {
    let mut bench = Bench::with("\"uniform\"", "\"matrix\", file = \"pipe\"");
    let made = Command::new("mkfifo")
        .arg("pipe")
        .current_dir(bench.path())
        .status();
    assert!(made.unwrap().success());
    fs::create_dir(bench.path().join("piped")).unwrap();
    fs::rename(bench.path().join("pipe"), bench.path().join("piped/summary.json")).unwrap();
    symlink("piped/summary.json", bench.path().join("pipe")).unwrap();
    fs::create_dir(bench.path().join("endless")).unwrap();
    symlink("/dev/zero", bench.path().join("endless/summary.json")).unwrap();
    bench.write("folder.toml/file", "");
    let pipe = "is a named pipe; expected a regular file";
    for command in ["report", "compare", "view", "explain"] {
        bench.refuses(&[command, "piped"], &["piped/summary.json", pipe]);
        bench.refuses(
            &[command, "endless"],
            &["endless/summary.json", "is a device; expected a regular file"],
        );
    }
    bench.refuses(
        &["check", "experiment.toml"],
        &["experiment.toml:16: job.0.traffic.file: pipe", pipe],
    );
    for command in ["check", "run"] {
        bench.refuses(&[command, "pipe"], &["pipe", pipe]);
        bench.refuses(&[command, "/dev/zero"], &["/dev/zero", "is a device"]);
        bench.refuses(&[command, "folder.toml"], &["folder.toml", "is a folder"]);
    }
    bench.refuses(&["trace", "info", "pipe"], &["pipe", pipe]);
    bench.refuses(&["trace", "info", "/dev/zero"], &["/dev/zero", "is a device"]);
}

/// A launcher started several processes, which cannot communicate.
#[cfg(not(feature = "mpi"))]
/// Output that a full device does not take is an error.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written() {
    let bench = Bench::new(EXPERIMENT);
    bench.succeeds(&["run", "experiment.toml", "--out", "here"]);
    let commands: [&[&str]; 12] = [
        &["run", "experiment.toml", "--out", "there"],
        &["run", "experiment.toml", "--out", "there", "--json"],
        &["check", "experiment.toml"],
        &["check", "experiment.toml", "--json"],
        &["list"],
        &["compare", "here", "--json"],
        &["report", "here"],
        &["verify", "here"],
        &["export", "here", "--format", "csv"],
        &["new", "--hosts", "16", "--topology", "torus", "--radix", "16"],
        &["--help"],
        &["run", "--help"],
    ];
    for arguments in commands {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = bench.command().args(arguments).stdout(full).output().unwrap();
        let (_, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(
            stderr.contains("cannot write the output: No space left on device"),
            "{arguments:?}: {stderr}"
        );
    }
}

/// A network that does not fit into memory is refused before it is built, and what is tried ends with one message.
#[cfg(target_os = "linux")]
#[test]
fn networks_that_do_not_fit_into_memory() {
    let torus = "[network]\ntopology = { kind = \"torus\", sizes = [120, 120, 120] }\n[[job]]\ntraffic = { pattern = \
                 \"uniform\", load = 0.1 }\n[run]\nuntil = \"1 us\"\n[collect]\nbin = \"500 ns\"\n";
    let bench = Bench::new(torus);
    let limited = |arguments: &str| {
        let line = format!(
            "ulimit -v 2000000; exec {} {arguments}",
            env!("CARGO_BIN_EXE_fabricsim")
        );
        let output = Command::new("sh")
            .args(["-c", &line])
            .current_dir(bench.path())
            .output()
            .expect("sh starts");
        (output.status.code(), texts(&output).1)
    };
    for command in ["check", "run"] {
        let (status, said) = limited(&format!("{command} experiment.toml"));
        assert_eq!(status, Some(2), "{said}");
        assert!(
            said.contains(
                "MB of memory before anything moves, more than the limit of this process (ulimit -v)"
            ),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let (status, said) = limited("run experiment.toml --force");
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("out of memory: ") && !said.contains("backtrace"),
        "{said}"
    );
}

/// The table of the page and the end of the help are those of the command.
#[test]
fn exit_statuses_are_in_the_help_and_in_the_docs() {
    let help = Bench::new(EXPERIMENT).succeeds(&["--help"]);
    let page = fs::read_to_string(root().join("docs/quickstart.md")).unwrap();
    for (status, when) in fabricsim_cli::EXIT_STATUSES {
        assert!(help.contains(&format!("  {status:<4}{when}")), "{help}");
        assert!(
            page.contains(&format!("| {status} | {when} |")),
            "{status}: {when}"
        );
    }
}

#[test]
fn several_processes_without_mpi() {
    let bench = Bench::new(EXPERIMENT);
    for arguments in [RUN, &["resume", "."]] {
        let output = bench
            .command()
            .args(arguments)
            .env("OMPI_COMM_WORLD_SIZE", "4")
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            stderr,
            "fabricsim: started as one of 4 processes by an MPI launcher, but this fabricsim was built without \
             MPI: build it with `make mpi`\n"
        );
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]));
    }
}

#[test]
fn what_needs_python_says_how_to_install_it() {
    let bench = Bench::new(EXPERIMENT);
    // There is no program.
    let run = |arguments: &[&str]| {
        let output = bench.command().args(arguments).env("PATH", bench.path()).output();
        output.expect("the command starts")
    };
    for arguments in [
        &["sweep", "sweep.toml", "--workers", "2"][..],
        &["compare", "a", "b", "--html", "page.html"],
        &["calibrate", "osu.out"],
    ] {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for needle in [
            arguments[0],
            "needs FabricSim's Python package",
            "install it with `make python`",
        ] {
            assert!(said.contains(needle), "{said}");
        }
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    for (arguments, option) in [
        (["sweep", "--help"], "--costs FILE"),
        (["calibrate", "-h"], "--out PRESET.toml"),
    ] {
        let output = run(&arguments);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains(option), "{said}");
        assert!(said.contains("needs FabricSim's Python package"), "{said}");
    }
}

/// Shells and `man` get all commands and options from the definition of the command line.
#[test]
fn completion_and_manual_pages_have_all_commands() {
    let bench = Bench::new(EXPERIMENT);
    let commands = [
        "new", "run", "resume", "check", "compare", "explain", "export", "sweep", "view",
    ];
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = bench.succeeds(&["completion", shell]);
        for word in commands.iter().chain(&["checkpoint-every", "fabricsim"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let (_, stderr) = texts(&bench.run(&["completion", "tcsh"]));
    assert!(stderr.contains("possible values: bash, elvish, fish"), "{stderr}");
    bench.succeeds(&["man", "man1"]);
    for command in commands {
        let page = bench.path().join(format!("man1/fabricsim-{command}.1"));
        let text = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
        assert!(text.contains(".SH SYNOPSIS"), "{text}");
    }
    let page = fs::read_to_string(bench.path().join("man1/fabricsim.1")).unwrap();
    assert!(page.contains("Exit status"), "{page}");
}

#[test]
fn a_quiet_run_prints_nothing() {
    let bench = Bench::new(EXPERIMENT);
    let output = bench.run(&["run", "experiment.toml", "--out", "here", "-q"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(texts(&output), (String::new(), String::new()));
    assert!(bench.path().join("here/summary.json").is_file());
    let output = bench.run(&["run", "experiment.toml", "-q", "--set", "run.until=1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("run.until: 1 has no unit"));
}
