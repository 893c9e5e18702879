//! Routers of several models in one network: `[[network.routers]]`.

use des::Time;
use experiment::Experiment;

use crate::physics::bare_mpi;
use crate::support::{experiment, job, jobs_on, receive, run, run_everywhere, send};

/// A dragonfly of nine groups of four routers with two hosts each, with keys of `[network]`, and tables after those.
fn dragonfly(keys: &str, tables: &str, load: f64) -> String {
    format!(
        r#"
[network]
topology = {{ kind = "dragonfly", hosts_per_router = 2, routers_per_group = 4, global_links_per_router = 2 }}
routing = {{ algorithm = "minimal" }}
link = {{ bandwidth = "128 Gbps", latency = "50 ns" }}
packet = "250 B"
{keys}
{tables}
[[job]]
traffic = {{ pattern = "uniform", load = {load}, message = "600 B" }}
[run]
until = "5 us"
warmup = "1 us"
"#
    )
}

fn refused(text: &str) -> String {
    match Experiment::from_toml(text, "test.toml", &[]) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// A key that gives every router its own model again changes nothing.
#[test]
fn routers_that_are_listed_with_the_model_of_all_give_the_same_digest() {
    for (model, of_flits) in [
        ("model = \"packet\"", ""),
        ("model = \"input-queued\"\nspeedup = 1.5", ""),
        ("model = \"crossbar\"\nspeedup = 1.5", ""),
        ("model = \"flit\"\nspeedup = 1.5", "nic.model = \"flit-queued\""),
    ] {
        let table = format!("[network.router]\n{model}\n");
        let alone = run(&experiment(&dragonfly(of_flits, &table, 0.6)));
        let listed = format!("[[network.routers]]\ngroups = \"0-7\"\n{model}\n");
        let listed = format!("{listed}[[network.routers]]\nrouters = [32, 33, 34, 35]\n{model}\n");
        let listed = run(&experiment(&dragonfly(of_flits, &listed, 0.6)));
        assert_eq!(alone.summary.digest, listed.summary.digest, "{model}");
    }
}

/// A row of four routers, each with a host and a model, between which a flit of 16 B takes a cycle of 1 ns.
fn row_of(models: &[&str; 4]) -> String {
    let table = |(router, model): (usize, &&str)| {
        format!("[[network.routers]]\nrouters = {router}\nmodel = \"{model}\"\n")
    };
    let tables: String = models.iter().enumerate().map(table).collect();
    format!(
        r#"
[network]
topology = {{ kind = "mesh", sizes = [4] }}
routing = {{ algorithm = "dimension-order" }}
link = {{ bandwidth = "128 Gbps", latency = "50 ns" }}
router = {{ delay = "30 ns", buffer = "4 KiB" }}
packet = "1 KiB"
{tables}
"#
    )
}

/// Beside cables and pipelines a packet takes its serialisation on the last link, in whole flits behind a router with
/// flits. It waits for nothing in routers of the packet models. In one with flits it takes four cycles, in a NIC with
/// flits one. A router without flits takes a packet that comes in flits as one that has come at the rate of the link,
/// if its pipeline is as long as the flits before the tail.
#[test]
fn a_lone_packet_takes_the_time_of_the_closed_form_through_routers_of_several_models() {
    let [packet, queued, flit] = ["packet", "input-queued", "flit"];
    for models in [
        [packet, queued, packet, queued],
        [packet, packet, flit, packet],
        [packet, flit, flit, queued],
        [queued, flit, packet, flit],
        [flit, packet, queued, flit],
        [flit, packet, flit, packet],
        [flit, flit, flit, flit],
    ] {
        for bytes in [1u64, 16, 100, 480, 1024] {
            let programs = vec![vec![send(1, bytes)], vec![receive(0, bytes)]];
            let jobs = vec![job("one", programs, &bare_mpi(), &[0, 3])];
            let result = run(&jobs_on(&row_of(&models), jobs));
            // In ps.
            let flits = bytes.div_ceil(16);
            let in_flits = models.iter().filter(|model| **model == flit).count() as u64;
            let nic = u64::from(models[0] == flit);
            let late = |pair: &[&str]| match pair[0] == flit && pair[1] != flit {
                true => (flits - 1).saturating_sub(30),
                false => 0,
            };
            let late: u64 = models.windows(2).map(late).sum();
            let last = match models[3] == flit {
                true => 1000 * flits,
                false => (bytes * 1000).div_ceil(16),
            };
            let expected = 1000 * (5 * 50 + 4 * 30 + nic + 4 * in_flits + late) + last;
            let found = result.summary.network.latency_ns.max;
            assert_eq!(found, Some(Time(expected).as_ns()), "{models:?}: {bytes} B");
        }
    }
}

/// Credits between models hold a network at full load, without deadlock, and nothing is lost: the audit of each run
/// counts credits and packets of all links. Flits of the last cycle take their place in whole.
#[test]
fn networks_of_several_models_keep_moving_at_full_load() {
    for (inner, outer) in [
        ("packet", "flit"),
        ("flit", "packet"),
        ("input-queued", "flit"),
        ("crossbar", "flit"),
        ("flit", "crossbar"),
        ("packet", "crossbar"),
        ("input-queued", "packet"),
    ] {
        for keys in ["", "switching = \"cut-through\"\nvc_reuse = \"after-credits\"\n"] {
            let of = |model: &str| match model {
                "flit" => format!("model = \"flit\"\n{keys}"),
                _ => format!("model = \"{model}\"\n"),
            };
            let table = format!(
                "[network.router]\nbuffer = \"1 KB\"\n{}[[network.routers]]\ngroups = \"0-2, 5\"\n{}",
                of(outer),
                of(inner)
            );
            let text = dragonfly("", &table, 1.0);
            let half = run(&experiment(&text)).summary.network.packets_delivered;
            let twice = text.replace("until = \"5 us\"", "until = \"10 us\"");
            let whole = run(&experiment(&twice)).summary.network.packets_delivered;
            assert!(
                5 * (whole - half) > 4 * half,
                "{inner} and {outer}, {keys}: {half}, then {}",
                whole - half
            );
        }
    }
}

/// Far below saturation a network with both is between those with one of the models.
#[test]
fn the_latency_of_a_mixed_network_is_between_those_of_its_models() {
    let latency = |tables: &str| {
        let result = run(&experiment(&dragonfly("", tables, 0.2)));
        result.summary.network.latency_ns.mean.expect("packets arrived")
    };
    let packet = latency("[network.router]\nmodel = \"packet\"\n");
    let flit = latency("[network.router]\nmodel = \"flit\"\n");
    let mixed = latency(
        "[network.router]\nmodel = \"packet\"\n[[network.routers]]\ngroups = \"0-3\"\nmodel = \"flit\"\n",
    );
    assert!(packet < mixed && mixed < flit, "{packet}, {mixed}, {flit}");
}

/// Levels and numbers are those of a plane, and the same in all planes.
#[test]
fn tables_hold_in_each_plane_and_check_shows_them() {
    let text = r#"
[network]
topology = { kind = "fat-tree", levels = 2, radix = 4 }
routing = { algorithm = "destination-mod-k" }
rails = 2
planes = 2
[[network.routers]]
levels = 1
model = "flit"
[[network.routers]]
routers = [0, 2]
model = "input-queued"
[[job]]
traffic = { pattern = "uniform", load = 0.5, message = "1 KiB" }
[run]
until = "10 us"
"#;
    let mut experiment = experiment(text);
    let network = &experiment.network;
    let names = |routers: std::ops::Range<u32>| -> Vec<&str> {
        let of = |router| network.router_models.of(topology::RouterId(router)).name();
        routers.map(of).collect()
    };
    let plane = ["input-queued", "packet", "input-queued", "packet", "flit", "flit"];
    assert_eq!(names(0..6), plane);
    assert_eq!(names(6..12), plane);
    let shown = sim::check(&experiment).expect("a network").to_string();
    for line in [
        "routers   2 of the model packet: 1, 3\n",
        "routers   2 of the model flit: 4-5\n",
        "routers   2 of the model input-queued: 0, 2\n",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    run_everywhere(&mut experiment);
}

#[test]
fn wrong_tables_of_routers_are_refused() {
    for (tables, why) in [
        (
            "[[network.routers]]\nmodel = \"flit\"\n",
            "expected exactly one of groups, levels and routers",
        ),
        (
            "[[network.routers]]\ngroups = 1\nrouters = 2\nmodel = \"flit\"\n",
            "expected exactly one of",
        ),
        ("[[network.routers]]\ngroups = 1\n", "routers.0.model"),
        (
            "[[network.routers]]\ngroups = 9\nmodel = \"flit\"\n",
            "9 is out of range: the network has groups 0 to 8",
        ),
        (
            "[[network.routers]]\nrouters = \"30-36\"\nmodel = \"flit\"\n",
            "36 is out of range",
        ),
        (
            "[[network.routers]]\nrouters = \"3-1\"\nmodel = \"flit\"\n",
            "\"3-1\" is not a whole number, a list",
        ),
        (
            "[[network.routers]]\nlevels = 0\nmodel = \"flit\"\n",
            "this topology has no levels",
        ),
        (
            "[[network.routers]]\ngroups = 1\nmodel = \"flit\"\n[[network.routers]]\nrouters = \"7, 8\"\nmodel = \"packet\"\n",
            "router 7 (group 1, router 3) is in table 1 of [[network.routers]], too",
        ),
        (
            "[[network.routers]]\ngroups = 1\nmodel = \"flt\"\n",
            "unknown name 'flt'",
        ),
        (
            "[[network.routers]]\ngroups = 1\nmodel = \"packet\"\nspeedup = 2\n",
            "speedup",
        ),
        (
            "[[network.routers]]\ngroups = 1\nmodel = \"analytic\"\n",
            "packets cross the network without its routers",
        ),
        (
            "[[network.routers]]\ngroups = 1\nmodel = \"output-queued\"\n",
            "take no credits",
        ),
        (
            "[[network.routers]]\ngroups = 1\nmodel = \"crossbar\"\narbiter = \"first-come\"\n",
            "sends over links what the model \"packet\" does not understand",
        ),
        (
            "[[network.routers]]\ngroups = 1\nmodel = \"flit\"\nbuffers = \"shared\"\n",
            "the model \"flit\" needs buffers = \"private\"",
        ),
        (
            "[[network.routers]]\ngroups = 1\nmodel = \"flit\"\n[[network.routers]]\ngroups = 2\nmodel = \"flit\"\nflit = \"32 B\"\n",
            "flits of different sizes",
        ),
        (
            "[[network.routers]]\ngroups = 1\nmodel = \"flit\"\n[network.router]\nmodel = \"crossbar\"\nswitching = \"store-and-forward\"\n",
            "cannot be stored",
        ),
        (
            "[[network.routers]]\ngroups = 1\nmodel = \"flit\"\n[network.nic]\nmodel = \"queued\"\n",
            "NICs of several models",
        ),
        (
            "[[network.routers]]\ngroups = 1\nmodel = \"flit\"\n[power]\nrouter.idle = \"100 W\"\n",
            "the router model \"flit\" moves flits",
        ),
    ] {
        let error = refused(&dragonfly("", tables, 0.1));
        assert!(error.contains(why), "{tables}\n{error}");
    }
}
