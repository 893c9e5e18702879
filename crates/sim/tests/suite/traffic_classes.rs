//! Traffic classes: shares, priorities, isolation. `docs/methods/traffic-classes.md` says how.

use std::collections::BTreeSet;

use experiment::Experiment;
use results::RunResult;

use crate::support::{experiment, run, run_everywhere, table};

/// Two routers with one link between them, and hosts 0 and 1 at the first, 2 and 3 at the second.
fn two_routers(keys: &str) -> String {
    format!(
        r#"
[network]
topology = {{ kind = "mesh", sizes = [2], hosts_per_router = 2 }}
routing = {{ algorithm = "dimension-order" }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ model = "input-queued", delay = "100 ns", buffer = "64 KiB" {keys} }}
packet = "256 B"
"#
    )
}

/// A traffic class.
fn class(name: &str, weight: u32, priority: u32) -> String {
    format!("[[network.traffic_class]]\nname = \"{name}\"\nweight = {weight}\npriority = {priority}\n")
}

/// A job that sends from the first of these hosts to the second. `keys` are more keys of its traffic.
fn flow(name: &str, of: &str, hosts: (u32, u32), load: f64, keys: &str) -> String {
    let of = match of {
        "" => String::new(),
        of => format!("traffic_class = \"{of}\"\n"),
    };
    format!(
        "[[job]]\nname = \"{name}\"\n{of}placement = {{ hostlist = \"n[{},{}]\" }}\n\
         traffic = {{ pattern = \"incast\", targets = [1], load = {load} {keys} }}\n",
        hosts.0, hosts.1
    )
}

const RUN: &str = "[run]\nuntil = \"60 us\"\nwarmup = \"10 us\"\n";

/// Payload of each job that arrived in the measured part, in bytes.
fn delivered(result: &RunResult) -> Vec<f64> {
    let jobs = result.summary.jobs.iter();
    jobs.map(|job| job.traffic.as_ref().expect("traffic").accepted_load)
        .collect()
}

/// Both flows leave through one link: of two hosts, and of one.
#[test]
fn two_classes_share_a_saturated_link_by_weight() {
    for (nic_or_router, second) in [("router", (1, 3)), ("nic", (0, 3))] {
        for (packets, keys) in [("one size", ""), ("two sizes", ", message = \"64 B\"")] {
            for router in [
                "",
                ", speedup = 2, output_buffer = \"512 B\"",
                ", arbiter = \"random\"",
            ] {
                let text = format!(
                    "{}{}{}{}{}{RUN}",
                    two_routers(router),
                    class("heavy", 3, 0),
                    class("light", 1, 0),
                    flow("a", "heavy", (0, 2), 1.0, keys),
                    flow("b", "light", second, 1.0, "")
                );
                let loads = delivered(&run(&experiment(&text)));
                println!("{nic_or_router}, {packets} {router}: {loads:.4?}");
                let (ratio, sum) = (loads[0] / loads[1], loads[0] + loads[1]);
                assert!(
                    (ratio / 3.0 - 1.0).abs() < 0.02,
                    "{nic_or_router} {packets}: {loads:?}"
                );
                // Two hosts send in each job, so one link is half the load.
                assert!((sum / whole_link(&text) - 1.0).abs() < 0.01, "{loads:?}");
            }
        }
    }
}

/// The accepted load of a flow that is alone and has a whole link.
fn whole_link(text: &str) -> f64 {
    let first = text.split("[[job]]").next().expect("a network");
    let alone = format!("{first}{}{RUN}", flow("a", "light", (0, 2), 1.0, ""));
    delivered(&run(&experiment(&alone)))[0]
}

#[test]
fn a_higher_priority_takes_all_that_it_needs_and_no_more() {
    for second in [(1, 3), (0, 3)] {
        let text = format!(
            "{}{}{}{}{}{RUN}",
            two_routers(""),
            class("bulk", 255, 0),
            class("urgent", 1, 9),
            flow("bulk", "bulk", (0, 2), 1.0, ""),
            flow("urgent", "urgent", second, 0.6, ", arrival = \"fixed\"")
        );
        let loads = delivered(&run(&experiment(&text)));
        let whole = whole_link(&text.replace("\"bulk\"", "\"light\""));
        println!("{loads:.4?} of {whole:.4}");
        assert!((loads[1] / (0.6 * whole) - 1.0).abs() < 0.005, "{loads:?}");
        assert!(((loads[0] + loads[1]) / whole - 1.0).abs() < 0.01, "{loads:?}");
    }
}

/// A class that is alone has all of each link, whatever its weight, and the same packets at the same times as without
/// classes: with two classes each VC has half of the buffer.
#[test]
fn a_class_alone_is_a_network_without_classes() {
    let jobs = |of: &str| {
        format!(
            "[[job]]\n{of}traffic = {{ pattern = \"uniform\", load = 0.9, message = \"1 KiB\" }}\n\
             [[job]]\n{of}workload = {{ motif = \"all-to-all\", ranks = 4, bytes = \"3 KiB\", iterations = 2 }}\n\
             [run]\nuntil = \"30 us\"\n"
        )
    };
    let small = two_routers("").replace("64 KiB", "4 KiB");
    let large = two_routers("").replace("64 KiB", "8 KiB");
    // The number of events depends on the executor, so both runs have the same one.
    let conservative = |class: &str| {
        let mut experiment = experiment(&format!("{small}{class}{}", jobs("")));
        experiment.run.executor = des::Executor::Conservative;
        run(&experiment)
    };
    let without = conservative("");
    let one = conservative(&class("only", 9, 4));
    assert_eq!(
        one.summary.run.events_committed,
        without.summary.run.events_committed
    );
    let classes = [class("light", 1, 0), class("heavy", 100, 0)].concat();
    for of in ["light", "heavy"] {
        let of = format!("traffic_class = \"{of}\"\n");
        let two = run(&experiment(&format!("{large}{classes}{}", jobs(&of))));
        for result in [&one, &two] {
            let numbers = |result: &RunResult| serde_json::to_value(&result.summary.network).unwrap();
            assert_eq!(numbers(result), numbers(&without), "{of}");
            assert_eq!(result.summary.digest, without.summary.digest, "{of}");
            for column in ["time_ps", "mpi_ps"] {
                let times = |result: &RunResult| table(result, "ranks").u64s(column).unwrap().to_vec();
                assert_eq!(times(result), times(&without), "{column}");
            }
        }
    }
}

/// Mean latency of the victim, in ns: hosts 1 and 2 of one switch beside an incast of all but one host to host 0. The
/// victim's hosts send to the incast, too.
fn victim(classes: &str, of_victim: &str, of_incast: &str, with_incast: bool) -> f64 {
    let incast = match with_incast {
        true => format!(
            "[[job]]\nname = \"incast\"\n{of_incast}traffic = {{ pattern = \"incast\", load = 0.9 }}\n"
        ),
        false => String::new(),
    };
    let text = format!(
        r#"
[network]
topology = {{ kind = "hyperx", shape = [1], hosts_per_router = 8 }}
routing = {{ algorithm = "minimal" }}
link = {{ bandwidth = "100 Gbps", latency = "50 ns" }}
router = {{ model = "input-queued", delay = "100 ns", buffer = "64 KiB" }}
{classes}
[[job]]
name = "victim"
{of_victim}placement = {{ hostlist = "n[1-2]" }}
traffic = {{ pattern = "shift", by = 1, load = 0.05 }}
{incast}{RUN}"#
    );
    let result = run(&experiment(&text));
    let latency = &result.summary.jobs[0].latency_ns;
    latency.mean.expect("packets arrived")
}

#[test]
fn a_job_is_isolated_from_an_incast_in_another_class() {
    let classes = [class("calm", 1, 0), class("bulk", 1, 0)].concat();
    let (calm, bulk) = ("traffic_class = \"calm\"\n", "traffic_class = \"bulk\"\n");
    let alone = victim(&classes, calm, bulk, false);
    let together = victim("", "", "", true);
    let same = victim(&classes, bulk, bulk, true);
    let apart = victim(&classes, calm, bulk, true);
    println!(
        "alone {alone:.1} ns, without classes {together:.1} ns, in one class {same:.1} ns, apart {apart:.1} ns"
    );
    assert!(together > 10.0 * alone && same > 10.0 * alone);
    assert!(apart < 1.5 * alone);
}

/// Three classes on a dragonfly with adaptive routing, small buffers, ranks and traffic.
fn three_classes() -> Experiment {
    experiment(&format!(
        r#"
[network]
topology = {{ kind = "dragonfly", hosts_per_router = 2, routers_per_group = 3, global_links_per_router = 1 }}
routing = {{ algorithm = "ugal", bias = "0 B" }}
link = {{ bandwidth = "100 Gbps", latency = "30 ns" }}
links.global = {{ bandwidth = "70 Gbps", latency = "100 ns" }}
router = {{ model = "input-queued", speedup = 1.5, output_buffer = "600 B", delay = "50 ns", buffer = "7 KiB" }}
packet = "256 B"
packet_header = "16 B"
{}{}{}
[[job]]
name = "exchange"
traffic_class = "urgent"
workload = {{ motif = "all-to-all", ranks = 8, bytes = "2 KiB", iterations = 1 }}
placement = "random"
[[job]]
name = "bulk"
traffic_class = "bulk"
traffic = {{ pattern = "uniform", load = 0.6, message = "700 B" }}
[[job]]
name = "more"
traffic_class = "more"
traffic = {{ pattern = "shift", by = 5, load = 0.6 }}
[run]
until = "6 us"
[collect]
series = "vcs"
timeline = true
waits = true
"#,
        class("bulk", 3, 0),
        class("more", 1, 0),
        class("urgent", 1, 1)
    ))
}

#[test]
fn every_executor_serves_classes_alike() {
    let result = run_everywhere(&mut three_classes());
    assert!(result.summary.network.packets_delivered > 1000);
    // Packets wait for the first VC of their class on injection links, which have the first numbers.
    let hosts = result.summary.network.hosts as u32;
    let rows = table(&result, "waits");
    let vcs = results::BatchColumns::new(rows.batch()).bytes("vc").unwrap();
    let jobs_and_links = rows.texts("job").unwrap().zip(rows.u32s("link").unwrap());
    let of_injection: BTreeSet<(&str, u8)> = jobs_and_links
        .zip(vcs)
        .filter(|((_, link), _)| **link < hosts)
        .map(|((job, _), vc)| (job.expect("a job"), vc))
        .collect();
    let vcs_of_class = 4;
    let expected = [
        ("bulk", 0),
        ("exchange", 2 * vcs_of_class),
        ("more", vcs_of_class),
    ];
    assert_eq!(of_injection, BTreeSet::from(expected));
}

#[test]
fn several_rails_serve_classes_alike() {
    let text = format!(
        "{}{}{}{}{}[run]\nuntil = \"4 us\"\n[collect]\nseries = \"vcs\"\nwaits = true\n",
        two_routers("").replace("packet =", "rails = 2\nnic_arbiter = \"by-message\"\npacket ="),
        class("a", 2, 0),
        class("b", 1, 0),
        "[[job]]\ntraffic_class = \"b\"\ntraffic = { pattern = \"uniform\", load = 0.8, message = \"2 KiB\" }\n",
        "[[job]]\ntraffic_class = \"a\"\nworkload = { motif = \"all-to-all\", ranks = 2, bytes = \"40 KiB\", iterations = 3 }\n",
    );
    run_everywhere(&mut experiment(&text));
}

#[test]
fn wrong_classes_are_refused() {
    let error = |network: &str, classes: &str, job: &str| {
        let text = format!(
            "{network}{classes}[[job]]\n{job}\ntraffic = {{ pattern = \"uniform\", load = 0.5 }}\n{RUN}"
        );
        match Experiment::from_toml(&text, "test.toml", &[]) {
            Ok(_) => panic!("{text}"),
            Err(error) => error.to_string(),
        }
    };
    let network = two_routers("");
    let two = [class("bulk", 1, 0), class("urgent", 1, 1)].concat();
    let nine = (0..9).map(|i| class(&format!("c{i}"), 1, 0)).collect::<String>();
    let small = network.replace("64 KiB", "400 B");
    let packet = network.replace("input-queued", "packet");
    let output_queued = network.replace("input-queued", "output-queued");
    let crossbar = network.replace("input-queued", "crossbar");
    let no_classes = "this router model cannot let one traffic class go before another; \
                      expected model = \"input-queued\", or at most one table [[network.traffic_class]]";
    let cases = [
        (
            &network,
            two.as_str(),
            "traffic_class = \"urgnt\"",
            "job.0.traffic_class: unknown traffic class 'urgnt'; expected one of bulk, urgent",
        ),
        (
            &network,
            "",
            "traffic_class = \"urgent\"",
            "the network has no table [[network.traffic_class]]",
        ),
        (
            &network,
            &two.replace("urgent", "bulk"),
            "",
            "two traffic classes have the name 'bulk'",
        ),
        (
            &network,
            &two.replace("urgent", ""),
            "",
            "has 0 characters; expected a name of 1 to 200",
        ),
        (
            &network,
            &class("a", 0, 0),
            "",
            "weight: 0 is out of range; expected a whole number from 1 to 255",
        ),
        (&network, &class("a", 256, 0), "", "weight: 256 is out of range"),
        (
            &network,
            &class("a", 1, 256),
            "",
            "priority: 256 is out of range; expected a whole number from 0 to 255",
        ),
        (&network, "[[network.traffic_class]]\nweight = 1\n", "", "name"),
        (
            &network,
            &format!("{}wieght = 1\n", class("a", 1, 0)),
            "",
            "wieght",
        ),
        (
            &network,
            "[network.traffic_class]\nname = \"a\"\n",
            "",
            "traffic_class",
        ),
        (&network, &nine, "", "9 traffic classes; expected 1 to 8"),
        (
            &small,
            &two,
            "",
            "network.router.buffer: 400 B per input port are 200 B for each of 2 virtual channels (1 for each of 2 in network.traffic_class), less than a packet of 256 B; expected at least 512 B",
        ),
        (&packet, &two, "", no_classes),
        (&output_queued, &two, "", no_classes),
        (&crossbar, &two, "", no_classes),
    ];
    for (network, classes, job, expected) in cases {
        let error = error(network, classes, job);
        println!("{error}");
        assert!(error.contains(expected), "{error}\nexpected {expected}");
        assert!(error.contains("test.toml"), "{error}");
    }
    // One class is no choice, so every router model can have it.
    let one = format!(
        "{packet}{}[[job]]\ntraffic_class = \"only\"\ntraffic = {{ pattern = \"uniform\", load = 0.5 }}\n{RUN}",
        class("only", 1, 0)
    );
    run(&experiment(&one));
}
