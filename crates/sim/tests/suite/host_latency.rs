//! Latencies and hops by host add up to those of the jobs, and collecting them changes no result.

use experiment::{Experiment, Series};
use results::{RunResult, Table};

use crate::support::{experiment, job, jobs_on, receive, root, run, run_everywhere, send, sum, table};

const COLUMNS: [&str; 4] = ["packets_received", "latency_sum_ps", "latency_max_ps", "hops_sum"];

/// The number of packets, the sum of their latencies and the largest, and the sum of their hops, as the histograms
/// over all hosts have them.
fn totals(result: &RunResult) -> [u64; 4] {
    let of_network = |table: &Table, value: &str| -> [u64; 2] {
        let rows = table.texts("job").unwrap().enumerate();
        let rows = rows.filter_map(|(row, job)| job.is_none().then_some(row));
        let (packets, values) = (table.u64s("packets").unwrap(), table.u64s(value).unwrap());
        rows.fold([0, 0], |[count, sum], row| {
            [count + packets[row], sum + packets[row] * values[row]]
        })
    };
    let [packets, _] = of_network(table(result, "latency_histogram"), "low_ps");
    // A bucket below 64 hops is one number of hops.
    let [_, hops] = of_network(table(result, "hops_histogram"), "low_hops");
    let latency = &result.summary.network.latency_ns;
    let ps = |ns: Option<f64>, count: u64| (ns.unwrap_or(0.0) * 1000.0 * count as f64).round() as u64;
    [packets, ps(latency.mean, packets), ps(latency.max, 1), hops]
}

/// Checks that the hosts add up to the histograms. Returns the number of packets of each host.
fn add_up(result: &RunResult) -> Vec<u64> {
    let hosts = table(result, "hosts");
    let [packets, latency_sum, latency_max, hops] = totals(result);
    assert!(packets > 0);
    let [_, sums, most, _] = COLUMNS.map(|column| hosts.u64s(column).unwrap());
    assert_eq!(sum(hosts, "packets_received"), packets);
    assert_eq!(sum(hosts, "latency_sum_ps"), latency_sum);
    assert_eq!(most.iter().max(), Some(&latency_max));
    assert_eq!(sum(hosts, "hops_sum"), hops);
    let received = hosts.u64s("packets_received").unwrap();
    for (host, packets) in received.iter().enumerate() {
        assert!(
            most[host] <= sums[host] && sums[host] <= most[host] * packets,
            "host {host}"
        );
    }
    received.to_vec()
}

fn empty_cells(result: &RunResult) -> [usize; 4] {
    let hosts = table(result, "hosts").batch();
    COLUMNS.map(|column| hosts.column_by_name(column).unwrap().null_count())
}

const NETWORK: &str = "[network]\n\
                       topology = { kind = \"mesh\", sizes = [3], hosts_per_router = 2 }\n\
                       routing = { algorithm = \"dimension-order\" }\n\
                       link = { bandwidth = \"8 Gbps\", latency = \"50 ns\" }\n\
                       router = { delay = \"100 ns\" }\n\
                       packet = \"1 KiB\"\n";

#[test]
fn each_host_has_the_latency_of_its_packets() {
    // Eager, with a header of the same size in each message.
    let settings = mpi::MpiSettings {
        header_bytes: 0,
        eager_threshold: 1 << 20,
        ..mpi::MpiSettings::default()
    };
    let programs = vec![
        vec![send(1, 1000), send(2, 1000)],
        vec![receive(0, 1000)],
        vec![receive(0, 1000)],
    ];
    // The first message stays at its router, the second goes to the other end of the mesh.
    let mut experiment = jobs_on(NETWORK, vec![job("job", programs, &settings, &[0, 1, 5])]);
    experiment.collect.set_host_latency(true);
    let result = run_everywhere(&mut experiment);
    assert_eq!(add_up(&result), [0, 1, 0, 0, 0, 1]);
    let hosts = table(&result, "hosts");
    let [_, sums, most, hops] = COLUMNS.map(|column| hosts.u64s(column).unwrap());
    assert_eq!(hops, [0, 2, 0, 0, 0, 4]);
    // Cables and routers, and one serialisation of 1000 bytes at 1 byte per ns: cut-through.
    let near = 2 * 50 + 100 + 1000;
    let far = near + 2 * (50 + 100);
    assert_eq!(sums[1], near * 1000);
    // The second message waits for the first at the NIC, except for the overhead between both.
    let overhead = settings.send_overhead.ps();
    assert_eq!(sums[5], far * 1000 + (1_000_000_u64).saturating_sub(overhead));
    assert_eq!(most, sums);
}

fn corpus() -> Experiment {
    let path = root().join("tests/corpus/collect-host-latency.toml");
    Experiment::load(&path, &[]).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn hosts_add_up_to_the_histograms_of_several_jobs() {
    let mut experiment = corpus();
    let with = run(&experiment);
    let packets = add_up(&with);
    assert!(packets.iter().all(|packets| *packets > 0), "{packets:?}");
    assert_eq!(empty_cells(&with), [0; 4]);
    experiment.collect.set_host_latency(false);
    let without = run(&experiment);
    assert_eq!(empty_cells(&without), [packets.len(); 4]);
    assert_eq!(with.summary.digest, without.summary.digest);
}

/// Routers count early commits for all their hosts together.
#[test]
fn it_replaces_early_commit() {
    let mut experiment = experiment(&format!(
        "{NETWORK}\n[[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.4 }}\n\
         [run]\nuntil = \"200 us\"\nwarmup = \"20 us\"\n[collect]\nhost_latency = true\nseries = \"off\"\n"
    ));
    let with = run_everywhere(&mut experiment);
    add_up(&with);
    experiment.run.executor = des::Executor::Conservative;
    let events = |experiment: &Experiment| run(experiment).summary.run.events_committed;
    let counted = events(&experiment);
    experiment.collect.set_host_latency(false);
    let without = run(&experiment);
    assert_eq!(with.summary.digest, without.summary.digest);
    assert!(without.summary.run.events_committed < counted);
    experiment.collect.set_series(Series::Classes);
    assert_eq!(empty_cells(&run(&experiment)), [6; 4]);
}
