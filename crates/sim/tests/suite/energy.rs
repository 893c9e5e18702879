//! The energy of runs and jobs: by hand, on all executors, and its sums.

use des::Executor;
use experiment::Experiment;
use results::{ComponentEnergy, EnergySummary, JobEnergy, RunResult};

use crate::support::{experiment, job, jobs_on, receive, run, run_everywhere, send};

/// One router with three hosts. A byte takes a nanosecond.
const ONE_ROUTER: &str = "[network]\n\
                          topology = { kind = \"mesh\", sizes = [1], hosts_per_router = 3 }\n\
                          routing = { algorithm = \"dimension-order\" }\n\
                          link = { bandwidth = \"8 Gbps\", latency = \"50 ns\" }\n\
                          packet = \"1 KiB\"\n";

const TORUS: &str = "[network]\n\
                     topology = { kind = \"torus\", sizes = [4, 4], hosts_per_router = 2 }\n\
                     routing = { algorithm = \"dimension-order\" }\n\
                     link = { bandwidth = \"100 Gbps\", latency = \"30 ns\" }\n\
                     links.host.bandwidth = \"75 Gbps\"\n\
                     packet = \"512 B\"\n";

const LOAD_DEPENDENT: &str = "[power]\n\
                              host = \"300 W\"\n\
                              router = { idle = \"150 W\", busy = \"217 W\" }\n\
                              link = { idle = \"3.5 W\", busy = \"5 W\" }\n\
                              links.host = { idle = \"100 mW\", busy = \"333 mW\" }\n\
                              nic = { idle = \"17 W\", busy = \"24.9 W\" }\n";

fn energy(result: &RunResult) -> &EnergySummary {
    let energy = result.summary.network.energy.as_ref();
    energy.expect("the experiment gives the power of its parts")
}

fn of_job(result: &RunResult, job: usize) -> JobEnergy {
    result.summary.jobs[job].energy.expect("every job has energy")
}

/// Idle and added energy of a part.
fn part<'a>(result: &'a RunResult, part: &str, kind: Option<&str>) -> &'a ComponentEnergy {
    let mut parts = energy(result).parts.iter();
    let found = parts.find(|of| of.part == part && of.kind.as_deref() == kind);
    found.unwrap_or_else(|| panic!("no {part} {kind:?}"))
}

/// Watts times nanoseconds, in joules, rounded once as a result is.
fn joules(milliwatts: u64, ns: u64) -> f64 {
    (u128::from(milliwatts) * u128::from(ns) * 1_000_000) as f64 / 1e18
}

fn close(left: f64, right: f64) {
    assert!((left - right).abs() <= 1e-11 * left.abs(), "{left}, not {right}");
}

/// Parts add up to the run, and so do the jobs with what none of them has.
fn adds_up(result: &RunResult) {
    let energy = energy(result);
    let parts: f64 = energy.parts.iter().map(|part| part.idle_j + part.dynamic_j).sum();
    close(energy.total_j, parts);
    close(energy.total_j, energy.idle_j + energy.dynamic_j);
    let jobs = || (0..result.summary.jobs.len()).map(|job| of_job(result, job));
    let total: f64 = jobs().map(|job| job.total_j).sum();
    close(energy.total_j, total + energy.unallocated_j);
    let dynamic: f64 = jobs().map(|job| job.dynamic_j).sum();
    // Each packet belongs to a job.
    close(energy.dynamic_j, dynamic);
    assert!(energy.unallocated_j >= 0.0);
    let seconds = energy.time_ns / 1e9;
    close(energy.mean_power_w.unwrap() * seconds, energy.total_j);
}

fn free_mpi() -> mpi::MpiSettings {
    mpi::MpiSettings {
        header_bytes: 0,
        eager_threshold: 1 << 20,
        send_overhead: des::Time::ZERO,
        receive_overhead: des::Time::ZERO,
        ..mpi::MpiSettings::default()
    }
}

#[test]
fn one_message_through_one_router_by_hand() {
    let network = format!(
        "{ONE_ROUTER}\n[power]\n\
         host = \"300 W\"\n\
         router = {{ idle = \"150 W\", busy = \"210 W\" }}\n\
         link = {{ idle = \"9 W\", busy = \"10 W\" }}\n\
         nic = {{ idle = \"17 W\", busy = \"25 W\" }}\n"
    );
    let programs = vec![vec![send(1, 1000)], vec![receive(0, 1000)]];
    let mut experiment = jobs_on(&network, vec![job("one", programs, &free_mpi(), &[0, 1])]);
    let result = run_everywhere(&mut experiment);
    adds_up(&result);
    // 1000 ns on the injection link and 1000 ns on the ejection link; the time of the run has no fractions.
    let end = result.summary.run.simulated_ns as u64;
    assert_eq!(energy(&result).time_ns, end as f64);
    let is = |of: &ComponentEnergy, count: u64, idle: f64, dynamic: f64| {
        assert_eq!(
            (of.count, of.idle_j, of.dynamic_j),
            (count, idle, dynamic),
            "{of:?}"
        );
    };
    is(part(&result, "hosts", None), 3, joules(3 * 300_000, end), 0.0);
    // One of three outgoing links transmits for 1000 ns, and the load adds up to 60 W.
    let router = part(&result, "routers", Some("router"));
    is(router, 1, joules(150_000, end), joules(20_000, 1000));
    // Six ends of cables, two of which transmit for 1000 ns.
    let links = part(&result, "links", Some("host"));
    is(links, 6, joules(6 * 9000, end), joules(2 * 1000, 1000));
    // One port sends, another receives: both at half load for 1000 ns.
    let nics = part(&result, "nics", None);
    is(nics, 3, joules(3 * 17_000, end), joules(8000, 1000));
    let of_job = of_job(&result, 0);
    assert_eq!(of_job.dynamic_j, joules(20_000 + 2000 + 8000, 1000));
    // Two of three hosts, from 0 to the end of the last rank.
    let time = result.summary.jobs[0].time_ns as u64;
    assert!(time <= end);
    close(
        of_job.idle_j,
        joules(900_000 + 150_000 + 54_000 + 51_000, time) * 2.0 / 3.0,
    );
    let delivered_bits = 8.0 * result.summary.network.bytes_delivered as f64;
    close(
        energy(&result).pj_per_bit.unwrap(),
        energy(&result).total_j * 1e12 / delivered_bits,
    );
}

fn traffic(load: f64, until: &str, power: &str) -> Experiment {
    experiment(&format!(
        "{TORUS}\n[[job]]\ntraffic = {{ pattern = \"uniform\", load = {load} }}\n\
         [run]\nuntil = \"{until}\"\nwarmup = \"2 us\"\n[collect]\nseries = \"off\"\n{power}"
    ))
}

#[test]
fn power_is_independent_of_the_load_if_idle_and_busy_are_equal() {
    let constant = "[power]\nrouter.idle = \"747 W\"\nlink = { idle = \"17 W\", busy = \"17 W\" }\nnic.idle = \"24.9 W\"\n";
    let results = [0.01, 0.9].map(|load| run(&traffic(load, "10 us", constant)));
    for result in &results {
        adds_up(result);
        assert_eq!(energy(result).dynamic_j, 0.0);
        // 16 routers, 64 + 64 ends of cables, 32 NIC ports.
        let watts = 16.0 * 747.0 + 128.0 * 17.0 + 32.0 * 24.9;
        close(energy(result).mean_power_w.unwrap(), watts);
    }
    assert!(energy(&results[0]).pj_per_bit > energy(&results[1]).pj_per_bit);
    let loads = [0.01, 0.9].map(|load| run(&traffic(load, "10 us", LOAD_DEPENDENT)));
    loads.iter().for_each(adds_up);
    let [low, high] = loads.map(|result| energy(&result).dynamic_j);
    assert!(high > 10.0 * low && low > 0.0);
}

/// A switch of 64 ports with passive cables and one with optics at each port (sources in `docs/methods/energy.md`).
#[test]
fn optics_can_double_the_power_of_a_switch() {
    let watts = |optics: &str| {
        let network = ONE_ROUTER.replace("hosts_per_router = 3", "hosts_per_router = 64");
        let result = run(&experiment(&format!(
            "{network}\n[[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 }}\n[run]\nuntil = \"1 us\"\n\
             [power]\nrouter.idle = \"747 W\"\nlinks.host.idle = \"{optics}\"\n"
        )));
        energy(&result).mean_power_w.unwrap()
    };
    close(watts("0 W"), 747.0);
    // An end at the router and one at the host.
    close(watts("9 W"), 747.0 + 2.0 * 64.0 * 9.0);
}

#[test]
fn jobs_add_up_to_the_run_on_all_executors() {
    let jobs = "[[job]]\nname = \"noise\"\ntraffic = { pattern = \"uniform\", load = 0.5 }\n\
                [[job]]\nname = \"half\"\nplacement = { kind = \"linear\" }\nworkload = { motif = \"halo3d\", ranks = 12, iterations = 2 }\n\
                [[job]]\nname = \"late\"\nstart = \"3 us\"\nworkload = { motif = \"allreduce\", ranks = 8, bytes = \"4 KiB\" }\n";
    // The end cuts transmissions off, in queues and on links.
    for until in ["7.123457 us", "2 us", "1 ps"] {
        let text = format!("{TORUS}\n{jobs}\n[run]\nuntil = \"{until}\"\n{LOAD_DEPENDENT}");
        let result = run_everywhere(&mut experiment(&text));
        adds_up(&result);
        let late = of_job(&result, 2);
        assert_eq!(late.total_j > 0.0, until == "7.123457 us", "{until}");
    }
    let drains = format!(
        "{TORUS}\n[[job]]\nname = \"a\"\ntraffic = {{ pattern = \"uniform\", load = 0.9 }}\n\
         [[job]]\nname = \"b\"\ntraffic = {{ pattern = \"tornado\", load = 0.4 }}\n\
         [run]\nuntil = \"5 us\"\ndrain = \"3 us\"\nwarmup = \"1 us\"\n{LOAD_DEPENDENT}"
    );
    let result = run_everywhere(&mut experiment(&drains));
    adds_up(&result);
    // Both hold all hosts, from the start to the end.
    close(of_job(&result, 0).idle_j, of_job(&result, 1).idle_j);
    close(energy(&result).idle_j, 2.0 * of_job(&result, 0).idle_j);
}

/// Two jobs whose packets take fixed routes cause together what each causes alone.
#[test]
fn a_job_causes_the_same_energy_beside_another() {
    let network = format!("{TORUS}{LOAD_DEPENDENT}");
    let make = |which: &[usize]| {
        let settings = free_mpi();
        let exchange = |bytes| {
            vec![
                vec![send(1, bytes), receive(1, 700)],
                vec![receive(0, bytes), send(0, 700)],
            ]
        };
        let all = [("a", 100_000, [0, 31]), ("b", 3_000, [1, 18])];
        let jobs = which.iter().map(|which| {
            let (name, bytes, hosts) = all[*which];
            job(name, exchange(bytes), &settings, &hosts)
        });
        jobs_on(&network, jobs.collect())
    };
    let both = run_everywhere(&mut make(&[0, 1]));
    adds_up(&both);
    for which in [0, 1] {
        let alone = run(&make(&[which]));
        adds_up(&alone);
        close(of_job(&alone, 0).dynamic_j, of_job(&both, which).dynamic_j);
        assert!(of_job(&both, which).dynamic_j > 0.0);
    }
    assert!(of_job(&both, 0).dynamic_j > 20.0 * of_job(&both, 1).dynamic_j);
}

#[test]
fn routers_draw_by_their_kind() {
    let result = run(&experiment(
        "[network]\ntopology = { kind = \"fat-tree\", levels = 3, radix = 4 }\nrouting = { algorithm = \"destination-mod-k\" }\n\
         [[job]]\ntraffic = { pattern = \"uniform\", load = 0.3 }\n[run]\nuntil = \"1 us\"\n\
         [power]\nrouter = { idle = \"100 W\", busy = \"120 W\" }\n\
         routers.leaf.idle = \"70 W\"\nrouters.core = { idle = \"200 W\", busy = \"300 W\" }\n\
         links.host.busy = \"2 W\"\n",
    ));
    adds_up(&result);
    let idle = |kind| {
        let of = part(&result, "routers", Some(kind));
        (of.count, of.idle_j, of.dynamic_j > 0.0)
    };
    assert_eq!(idle("leaf"), (8, joules(8 * 70_000, 1000), false));
    assert_eq!(idle("spine"), (8, joules(8 * 100_000, 1000), true));
    assert_eq!(idle("core"), (4, joules(4 * 200_000, 1000), true));
    assert_eq!(part(&result, "links", Some("host")).idle_j, 0.0);
    assert!(part(&result, "links", Some("host")).dynamic_j > 0.0);
}

#[test]
fn it_changes_no_result() {
    // The number of events depends on the executor, so both runs have the same one.
    let conservative = |power: &str| {
        let mut experiment = traffic(0.4, "10 us", power);
        experiment.run.executor = Executor::Conservative;
        run(&experiment)
    };
    let [with, without] = [LOAD_DEPENDENT, ""].map(conservative);
    assert_eq!(with.summary.digest, without.summary.digest);
    assert_eq!(
        with.summary.run.events_committed,
        without.summary.run.events_committed
    );
    assert!(without.summary.network.energy.is_none() && without.summary.jobs[0].energy.is_none());
    assert!(without.summary.experiment.get("power").is_none());
    let settings = &with.summary.experiment["power"];
    assert_eq!(settings["links"]["host"]["busy"], "333 mW");
    assert_eq!(settings["routers"]["router"]["busy"], "217 W");
}

#[test]
fn wrong_powers_are_refused() {
    let refused = |power: &str| {
        let text = format!(
            "{TORUS}\n[[job]]\ntraffic = {{ pattern = \"uniform\", load = 0.1 }}\n[run]\nuntil = \"1 us\"\n{power}"
        );
        match Experiment::from_toml(&text, "x.toml", &[]) {
            Ok(_) => panic!("{power} was accepted"),
            Err(error) => error.to_string(),
        }
    };
    for (power, parts) in [
        (
            "[power]\n",
            vec!["x.toml:", "power", "gives no power", "router.idle"],
        ),
        ("power = \"3 W\"\n", vec!["power"]),
        (
            "[power]\nhost = 300\n",
            vec!["power.host", "has no unit", "\"8.5 W\""],
        ),
        (
            "[power]\nrouter.idle = \"-3 W\"\n",
            vec!["power.router.idle", "does not start with a number"],
        ),
        (
            "[power]\nrouter.idle = \"3 J\"\n",
            vec!["power.router.idle", "unknown unit 'J'", "kW"],
        ),
        (
            "[power]\nnic.idle = \"0.1 uW\"\n",
            vec!["power.nic.idle", "finer than"],
        ),
        (
            "[power]\nrouter.idle = \"101 kW\"\n",
            vec!["power.router.idle", "at most 100 kW"],
        ),
        (
            "[power]\nlink = { idle = \"9 W\", busy = \"8 W\" }\n",
            vec!["power.link.busy", "8 W is less than idle, 9 W"],
        ),
        (
            "[power]\nlink.idle = \"9 W\"\nlinks.host.busy = \"1 W\"\n",
            vec!["power.links.host.busy", "less than idle"],
        ),
        (
            "[power]\nlinks.hots.idle = \"9 W\"\n",
            vec!["power.links.hots", "did you mean", "host"],
        ),
        (
            "[power]\nrouters.leaf.idle = \"9 W\"\n",
            vec!["power.routers.leaf", "unknown name 'leaf'", "router"],
        ),
        (
            "[power]\nlink.idel = \"9 W\"\nhost = \"1 W\"\n",
            vec!["power.link.idel", "idle"],
        ),
        (
            "[power]\nlinks.host = \"9 W\"\n",
            vec!["power.links.host", "is not a table"],
        ),
        ("[powr]\nhost = \"9 W\"\n", vec!["powr", "power"]),
    ] {
        let message = refused(power);
        for part in parts {
            assert!(message.contains(part), "{power}{message}: {part}");
        }
    }
}
