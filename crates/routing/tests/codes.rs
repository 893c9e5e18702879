//! Candidates and decisions of adaptive routing in a dragonfly and a Dragonfly+ against those of CODES, recorded
//! decision by decision beside the repository (`../shared/routers/codes`, with the rules of CODES and its version).
//!
//! CODES lists the spines that a leaf compares, with the load of the port to each, and takes the least loaded. Its
//! spines draw a link (minimal) or compare two drawn links; here they compare all links. So spines are compared where
//! they have one link to a group.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::Section;
use fabricsim_routing::*;
use topology::{HostId, Peer, Port, RouterId, Shape, Topology};

fn recorded() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/routers/codes/deterministic");
    if folder.is_dir() {
        return Some(folder);
    }
    testkit::skipped!(
        "{} is missing; clone the reference data beside the repository",
        folder.display()
    );
    None
}

/// One line of a decision table.
struct Decision {
    router: RouterId,
    message: usize,
    step: u32,
    what: String,
    /// The load of the port to each candidate, by router. A router with several links to the group is one candidate.
    candidates: BTreeMap<RouterId, u64>,
    minimal_and_other: Option<(u64, u64)>,
    group: Option<u32>,
    /// Whether the packet has been diverted before (dragonfly-dally).
    is_diverted: bool,
}

fn decisions(folder: &Path, case: &str) -> Vec<Decision> {
    let text = std::fs::read_to_string(folder.join(format!("{case}.decisions.csv"))).expect("a table");
    let rows = text.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let candidates = fields[7].split_whitespace().map(|candidate| {
            let parts: Vec<&str> = candidate.split(':').collect();
            (
                RouterId(parts[0].parse().expect("a router")),
                parts[2].parse().expect("bytes"),
            )
        });
        Decision {
            router: RouterId(fields[1].parse().expect("a router")),
            message: fields[2].parse().expect("a message"),
            step: fields[5].parse().expect("a step"),
            what: fields[6].to_string(),
            candidates: match fields[6] {
                "list" => candidates.collect(),
                _ => BTreeMap::new(),
            },
            minimal_and_other: fields[9].parse().ok().zip(fields[10].parse().ok()),
            group: fields[12].parse().ok(),
            is_diverted: fields.get(13).is_some_and(|state| state.starts_with("type=2")),
        }
    });
    rows.collect()
}

/// Source and destination of every message.
fn messages(folder: &Path, case: &str) -> Vec<(HostId, HostId)> {
    let text = std::fs::read_to_string(folder.join(format!("{case}.json"))).expect("a case");
    let case: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let host = |message: &serde_json::Value, key: &str| HostId(message[key].as_u64().expect("a host") as u32);
    let all = case["messages"].as_array().expect("messages").iter();
    all.map(|message| (host(message, "src"), host(message, "dst")))
        .collect()
}

struct Load<F: Fn(Port) -> u64>(F);

impl<F: Fn(Port) -> u64> Congestion for Load<F> {
    fn load(&self, port: Port) -> u64 {
        (self.0)(port)
    }

    fn free_space(&self, _: Port, _: u8) -> u64 {
        unreachable!("no path segment asks for free space")
    }
}

/// A linear congruential generator.
struct Draws(u64);

impl Random for Draws {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (((self.0 >> 32) * u64::from(bound)) >> 32) as u32
    }
}

struct Case {
    topology: Arc<dyn Topology>,
    decisions: Vec<Decision>,
    messages: Vec<(HostId, HostId)>,
}

impl Case {
    fn new(folder: &Path, name: &str, [groups, leaves, spines, hosts]: [u32; 4]) -> Case {
        Case::on(
            folder,
            name,
            &format!(
                "kind = \"dragonfly-plus\"\nhosts_per_leaf = {hosts}\nleaves_per_group = {leaves}\n\
             spines_per_group = {spines}\nglobal_links_per_spine = 4\ngroups = {groups}\narrangement = \"palmtree\""
            ),
        )
    }

    fn on(folder: &Path, name: &str, toml: &str) -> Case {
        let section = Section::from_toml(toml, "x.toml").unwrap();
        Case {
            topology: topology::build(&section).unwrap().into(),
            decisions: decisions(folder, name),
            messages: messages(folder, name),
        }
    }

    fn routing(&self, algorithm: &str, parameters: &str) -> Box<dyn Routing> {
        let text = format!("algorithm = \"{algorithm}\"\npaths = \"adaptive\"\n{parameters}\n");
        build(
            &Section::from_toml(&text, "x.toml").unwrap(),
            self.topology.clone(),
        )
        .unwrap()
    }

    fn group(&self, router: RouterId) -> u32 {
        match self.topology.shape() {
            Shape::Groups(groups) => groups.group(router),
            _ => unreachable!("a Dragonfly+"),
        }
    }

    fn at(&self, decision: &Decision) -> At {
        let (source, destination) = self.messages[decision.message];
        At {
            router: decision.router,
            input: Port(0),
            vc: 0,
            source,
            destination,
        }
    }

    fn is_source_leaf(&self, decision: &Decision) -> bool {
        self.topology.attachment(self.messages[decision.message].0).0 == decision.router
    }

    fn neighbour(&self, router: RouterId, port: Port) -> Option<RouterId> {
        match self.topology.peer(router, port) {
            Peer::Router(neighbour, _) => Some(neighbour),
            _ => None,
        }
    }

    /// Checks that a packet in this state is offered the candidates of a decision, and that of many packets some take
    /// each of the least loaded candidates and none any other. Only states that are `relevant` behind the hop count.
    fn check(
        &self,
        routing: &dyn Routing,
        decision: &Decision,
        state: RouteState,
        relevant: &dyn Fn(&RouteState) -> bool,
    ) {
        let at = self.at(decision);
        let next = |hop: Hop| self.neighbour(at.router, hop.port).expect("a router");
        let mut options = Vec::new();
        routing.options(at, state, &mut options);
        let offered: BTreeSet<RouterId> = options
            .iter()
            .filter(|(_, state)| relevant(state))
            .map(|(hop, _)| next(*hop))
            .collect();
        let listed: BTreeSet<RouterId> = decision.candidates.keys().copied().collect();
        assert_eq!(offered, listed, "{at:?}");

        let load = Load(|port| {
            let neighbour = self.neighbour(at.router, port).expect("a router");
            decision.candidates.get(&neighbour).copied().unwrap_or(1 << 40)
        });
        let mut draws = Draws(9);
        let taken: BTreeSet<RouterId> = (0..400)
            .filter_map(|_| {
                let mut state = state;
                let hop = routing.route(at, &mut state, &load, &mut draws);
                relevant(&state).then(|| next(hop))
            })
            .collect();
        let least = decision.candidates.values().min().expect("candidates");
        let best = decision.candidates.iter().filter(|(_, load)| *load == least);
        assert_eq!(taken, best.map(|(router, _)| *router).collect(), "{at:?}");
    }
}

#[test]
fn minimal_compares_the_spines_that_codes_compares() {
    let Some(folder) = recorded() else {
        return;
    };
    let mut compared = 0;
    for (name, size) in [
        ("plus_c01_spines", [5, 4, 4, 4]),
        ("plus_c02_gateways", [5, 4, 4, 4]),
        ("plus_c03_gateways_links2", [9, 4, 4, 4]),
        ("plus_c10_par_own_group", [5, 4, 4, 4]),
        ("plus_c11_parallel_links", [3, 2, 2, 2]),
    ] {
        let case = Case::new(&folder, name, size);
        let minimal = case.routing("minimal", "");
        let lists = case.decisions.iter();
        for decision in lists.filter(|d| d.what == "list" && case.is_source_leaf(d)) {
            case.check(&*minimal, decision, RouteState::default(), &|_| true);
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared} decisions");
}

#[test]
fn a_leaf_of_the_intermediate_group_compares_the_spines_that_codes_compares() {
    let Some(folder) = recorded() else {
        return;
    };
    let case = Case::new(&folder, "plus_c07_nonmin_leaf", [5, 4, 4, 4]);
    let valiant = case.routing("valiant", "intermediate = \"group\"");
    let mut compared = 0;
    for decision in case.decisions.iter().filter(|d| d.what == "list") {
        let (source, destination) = case.messages[decision.message];
        let group = case.group(decision.router);
        let ends = [source, destination].map(|host| case.group(case.topology.attachment(host).0));
        let is_leaf = decision.router.0 % 8 < 4;
        if !is_leaf || ends.contains(&group) {
            continue;
        }
        // A packet on its way to this group that has come to one of its leaves.
        let state = RouteState {
            via: group,
            phase: 1,
            ..RouteState::default()
        };
        case.check(&*valiant, decision, state, &|_| true);
        compared += 1;
    }
    assert!(compared > 20, "{compared} decisions");
}

/// At the source's leaf: the spines of minimal paths, the spines of paths through the drawn group, and the choice
/// between the best of both, without bias and weight (`alpha` of CODES).
#[test]
fn par_compares_the_paths_that_codes_compares() {
    let Some(folder) = recorded() else {
        return;
    };
    let (mut compared, mut detours) = (0, 0);
    for (name, size) in [
        ("plus_c04_par_alpha", [5, 4, 4, 4]),
        ("plus_c09_par_links2", [9, 4, 4, 4]),
        ("plus_c12_par_parallel_links", [3, 2, 2, 2]),
    ] {
        let case = Case::new(&folder, name, size);
        let par = case.routing(
            "par",
            "intermediate = \"group\"\nbias = \"0 B\"\nweight = 1\ncost = \"load\"",
        );
        let valiant = case.routing("valiant", "intermediate = \"group\"");
        let minimal = case.routing("minimal", "");
        for decision in case.decisions.windows(3) {
            let [first, second, both] = decision else {
                unreachable!("three")
            };
            let is_one = first.message == second.message && second.message == both.message;
            let (Some((least, other)), Some(group)) = (both.minimal_and_other, both.group) else {
                continue;
            };
            if !is_one || (first.step, second.step, both.step) != (0, 1, 2) || !case.is_source_leaf(first) {
                continue;
            }
            case.check(&*minimal, first, RouteState::default(), &|_| true);
            let through = |state: &RouteState| state.via == group && state.phase == 1;
            case.check(&*valiant, second, RouteState::default(), &through);
            assert_eq!(
                (Some(&least), Some(&other)),
                (first.candidates.values().min(), second.candidates.values().min())
            );
            // Loads of both lists: a port has one load.
            let mut loads: HashMap<RouterId, u64> = HashMap::new();
            loads.extend(&first.candidates);
            loads.extend(&second.candidates);
            let at = case.at(first);
            let load = Load(|port| {
                let neighbour = case.neighbour(at.router, port).expect("a router");
                loads.get(&neighbour).copied().unwrap_or(1 << 40)
            });
            let mut draws = Draws(5);
            let leaves = (0..400).any(|_| {
                let mut state = RouteState::default();
                par.route(at, &mut state, &load, &mut draws);
                through(&state)
            });
            assert_eq!(leaves, other < least, "{at:?}: {least} against {other}");
            compared += 1;
            detours += u32::from(leaves);
        }
    }
    assert!(compared > 100 && detours > 10, "{compared}, {detours} detours");
}

/// The state of a packet on a minimal path that can be left.
fn under_way() -> RouteState {
    RouteState {
        phase: 4,
        ..RouteState::default()
    }
}

/// At the second router of the source's group of a dragonfly: the groups among which CODES draws are those that are
/// offered, and a packet leaves its minimal path for one of them when that of CODES does.
#[test]
fn a_second_router_draws_the_groups_that_codes_draws() {
    let Some(folder) = recorded() else {
        return;
    };
    let toml = "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2\n\
                arrangement = \"palmtree\"";
    let (mut compared, mut detours) = (0, 0);
    for (name, weight) in [
        ("dally_c01_par_alpha", 1),
        ("dally_c01_par_delta", 2),
        ("dally_c07_par_chunks", 1),
    ] {
        let case = Case::on(&folder, name, toml);
        let par = case.routing(
            "par",
            &format!("intermediate = \"group\"\nbias = \"0 B\"\nweight = {weight}\ndetours = \"linked\""),
        );
        for decision in &case.decisions {
            let (source, destination) = case.messages[decision.message];
            let [from, to] = [source, destination].map(|host| case.group(case.topology.attachment(host).0));
            let (Some((minimal, other)), Some(drawn)) = (decision.minimal_and_other, decision.group) else {
                continue;
            };
            if case.is_source_leaf(decision) || case.group(decision.router) != from || decision.is_diverted {
                continue;
            }
            let at = case.at(decision);
            let group_behind =
                |port: Port| case.group(case.neighbour(at.router, port).expect("a link to a router"));
            let mut options = Vec::new();
            par.options(at, under_way(), &mut options);
            let offered: BTreeSet<u32> = options.iter().map(|(hop, _)| group_behind(hop.port)).collect();
            assert!(
                offered.contains(&drawn),
                "{name} {at:?}: {drawn} is not in {offered:?}"
            );
            // Two links of each router to other groups; one leads to the destination's.
            assert_eq!(offered, BTreeSet::from([to, drawn]), "{name} {at:?}");
            let load = Load(|port| match group_behind(port) == to {
                true => minimal,
                false => other / weight,
            });
            let mut state = under_way();
            par.route(at, &mut state, &load, &mut Draws(7));
            assert_eq!(
                state.phase == 1,
                other < minimal,
                "{name} {at:?}: {minimal} against {other}"
            );
            compared += 1;
            detours += u32::from(state.phase == 1);
        }
    }
    assert!(compared > 50 && detours > 10, "{compared}, {detours} detours");
}

/// At a spine of the source's group: `beta` of CODES, the load times the links that are left behind the next router.
#[test]
fn a_spine_weighs_remaining_links_as_beta_of_codes_does() {
    let Some(folder) = recorded() else {
        return;
    };
    let case = Case::new(&folder, "plus_c04_par_beta", [5, 4, 4, 4]);
    let parameters = "intermediate = \"group\"\nbias = \"0 B\"\nweight = 1\ndetours = \"linked\"";
    let by = |cost: &str| case.routing("par", &format!("{parameters}\ncost = \"{cost}\""));
    let (beta, alpha) = (by("load-remaining"), by("load"));
    let (mut compared, mut differ) = (0, 0);
    for decision in &case.decisions {
        let (source, destination) = case.messages[decision.message];
        let [from, to] = [source, destination].map(|host| case.group(case.topology.attachment(host).0));
        let (Some((minimal, other)), Some(drawn)) = (decision.minimal_and_other, decision.group) else {
            continue;
        };
        let is_spine = decision.router.0 % 8 >= 4;
        if !is_spine || case.group(decision.router) != from {
            continue;
        }
        let at = case.at(decision);
        // The next spine is two links from the destination's host, or three if it is in the drawn group.
        assert_eq!((minimal % 2, other % 3), (0, 0), "{at:?}");
        let load = Load(
            |port| match case.group(case.neighbour(at.router, port).expect("a router")) {
                group if group == to => minimal / 2,
                group if group == drawn => other / 3,
                _ => 1 << 40,
            },
        );
        let leaves = |par: &dyn Routing| {
            let mut draws = Draws(5);
            (0..200).any(|_| {
                let mut state = under_way();
                par.route(at, &mut state, &load, &mut draws);
                state.phase == 1 && state.via == drawn
            })
        };
        assert_eq!(
            leaves(&*beta),
            other < minimal,
            "{at:?}: {minimal} against {other}"
        );
        compared += 1;
        differ += u32::from(leaves(&*beta) != leaves(&*alpha));
    }
    assert!(
        compared > 50 && differ > 0,
        "{compared}, {differ} differ from alpha"
    );
}

/// At a spine of the intermediate group: its link to the destination's group against the way down (`alpha`, with
/// CODES's int_spine_consider_min).
#[test]
fn an_intermediate_spine_compares_its_link_with_the_leaves_as_codes_does() {
    let Some(folder) = recorded() else {
        return;
    };
    let case = Case::new(&folder, "plus_c06_par_int_spine_min", [5, 4, 4, 4]);
    let spine = |way: &str| {
        let rule = "intermediate = \"group\"\nbias = \"0 B\"\nweight = 1";
        case.routing("par", &format!("{rule}\nintermediate_spine = \"{way}\""))
    };
    let (by_load, leaf, direct) = (spine("load"), spine("leaf"), spine("direct"));
    let (mut compared, mut down) = (0, 0);
    for lines in case.decisions.windows(2) {
        let [list, both] = lines else { unreachable!("two") };
        let (Some((minimal, other)), Some(group)) = (both.minimal_and_other, both.group) else {
            continue;
        };
        let (is_spine, here) = (list.router.0 % 8 >= 4, case.group(list.router));
        if !is_spine || here != group || list.message != both.message || list.router != both.router {
            continue;
        }
        let at = case.at(list);
        assert_eq!(list.candidates.values().min(), Some(&other), "{at:?}");
        let load = Load(|port| {
            let neighbour = case.neighbour(at.router, port).expect("a router");
            list.candidates.get(&neighbour).copied().unwrap_or(minimal)
        });
        let next = |par: &dyn Routing| {
            let mut state = RouteState {
                via: group,
                phase: 1,
                ..RouteState::default()
            };
            let hop = par.route(at, &mut state, &load, &mut Draws(5));
            case.neighbour(at.router, hop.port).expect("a router")
        };
        let goes_down = |par: &dyn Routing| list.candidates.contains_key(&next(par));
        assert_eq!(
            goes_down(&*by_load),
            other < minimal,
            "{at:?}: {minimal} against {other}"
        );
        assert!(goes_down(&*leaf) && !goes_down(&*direct), "{at:?}");
        compared += 1;
        down += u32::from(other < minimal);
    }
    assert!(compared > 20 && down > 0, "{compared}, {down} down");
}
