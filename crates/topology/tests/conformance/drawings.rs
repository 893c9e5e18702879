//! Drawings: every router has a distinct place in the unit square, and the drawing shows the structure.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use fabricsim_topology::*;

use crate::cases::CASES;
use crate::contract::{built, neighbours, routers};

fn length(a: &Spot, b: &Spot) -> f32 {
    (a.x - b.x).hypot(a.y - b.y)
}

#[test]
fn every_router_has_its_place_in_the_unit_square() {
    let examples = REGISTRY.iter().map(|kind| (kind.name, kind.example));
    for (kind, parameters) in examples.chain(CASES.iter().copied()) {
        let topology = built(kind, parameters);
        let drawing = Drawing::of(&*topology);
        assert_eq!(drawing.routers.len(), topology.routers() as usize);
        let mut places = HashSet::new();
        for spot in &drawing.routers {
            let inside = |at: f32| (0.0..=1.0).contains(&at);
            assert!(inside(spot.x) && inside(spot.y), "{kind}\n{parameters}\n{spot:?}");
            let place = ((spot.x * 1e5) as i64, (spot.y * 1e5) as i64);
            assert!(places.insert(place), "{kind}\n{parameters}\n{spot:?} twice");
        }
        for index in 0..5 {
            let (x, y) = drawing.host(RouterId(0), index, 5);
            let spot = drawing.routers[0];
            assert!((x, y) != (spot.x, spot.y) && x.is_finite() && y.is_finite());
        }
        assert_eq!(drawing, Drawing::of(&*topology), "the same each time");
    }
}

#[test]
fn every_router_belongs_to_one_unit() {
    let examples = REGISTRY.iter().map(|kind| (kind.name, kind.example));
    for (kind, parameters) in examples.chain(CASES.iter().copied()) {
        let topology = built(kind, parameters);
        for most in [1, 5, 128, u32::MAX] {
            let units = Units::of(&*topology, most);
            let (mut routers_of, mut first) = (vec![0; units.units().len()], HashMap::new());
            for router in routers(&*topology) {
                let unit = units.of_router(router);
                routers_of[unit as usize] += 1;
                first.entry(unit).or_insert(router);
            }
            for (number, unit) in (0..).zip(units.units()) {
                assert_eq!(
                    (unit.routers, Some(&unit.first_router)),
                    (routers_of[number as usize], first.get(&number)),
                    "{kind}\n{parameters}\n{unit:?}"
                );
            }
            // Levels of a tree are not joined.
            let least = match topology.shape() {
                Shape::Tree(tree) => tree.levels(),
                _ => 1,
            };
            assert!(
                units.units().len() as u32 <= most.max(least),
                "{kind}\n{parameters}"
            );
            if let Shape::Tree(tree) = topology.shape() {
                for pair in units.units().windows(2) {
                    let [one, next] = [pair[0].first_router, pair[1].first_router];
                    let last = RouterId(next.0 - 1);
                    assert_eq!(tree.level(one), tree.level(last), "{kind}\n{parameters}");
                }
            }
        }
    }
}

#[test]
fn grids_have_neighbours_beside_each_other() {
    let topology = built("mesh", "sizes = [6, 4, 3]");
    let spots = Drawing::of(&*topology).routers;
    let step = length(&spots[0], &spots[1]);
    for router in routers(&*topology) {
        let here = spots[router.0 as usize];
        let close = neighbours(&*topology, router)
            .into_iter()
            .filter(|far| (length(&here, &spots[far.0 as usize]) - step).abs() < 1e-4);
        // Coordinates in the first two dimensions.
        let (x, y) = (router.0 % 6, router.0 / 6 % 4);
        let expected = [x > 0, x < 5, y > 0, y < 3].into_iter().filter(|is| *is).count();
        assert_eq!(close.count(), expected, "router {}", router.0);
    }
}

#[test]
fn levels_of_a_tree_are_above_each_other() {
    let topology = built("fat-tree", "radix = 8\nlevels = 3");
    let spots = Drawing::of(&*topology).routers;
    let Shape::Tree(tree) = topology.shape() else {
        panic!("a tree");
    };
    for router in routers(&*topology) {
        for far in neighbours(&*topology, router) {
            let above = tree.level(far) > tree.level(router);
            let (here, there) = (spots[router.0 as usize], spots[far.0 as usize]);
            assert_eq!(above, there.y < here.y);
        }
    }
}

#[test]
fn groups_keep_together() {
    for (kind, parameters) in [
        (
            "dragonfly",
            "hosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2",
        ),
        ("dragonfly-2d", "global_links_per_router = 1\ngroups = 7"),
        (
            "dragonfly-plus",
            "hosts_per_leaf = 4\nleaves_per_group = 4\nglobal_links_per_spine = 4",
        ),
    ] {
        let topology = built(kind, parameters);
        let Shape::Groups(groups) = topology.shape() else {
            panic!("groups");
        };
        let spots = Drawing::of(&*topology).routers;
        let middle = |group: u32| {
            let of_group: Vec<&Spot> = spots.iter().filter(|s| s.group == Some(group)).collect();
            let count = of_group.len() as f32;
            Spot {
                group: None,
                x: of_group.iter().map(|s| s.x).sum::<f32>() / count,
                y: of_group.iter().map(|s| s.y).sum::<f32>() / count,
            }
        };
        let middles: Vec<Spot> = (0..groups.groups()).map(middle).collect();
        for router in routers(&*topology) {
            let spot = &spots[router.0 as usize];
            assert_eq!(spot.group, Some(groups.group(router)));
            let nearest = middles
                .iter()
                .enumerate()
                .min_by(|a, b| length(spot, a.1).total_cmp(&length(spot, b.1)));
            assert_eq!(
                nearest.map(|n| n.0 as u32),
                spot.group,
                "{kind} router {}",
                router.0
            );
        }
    }
}

/// Links of a drawing are short: in a ring from a file, far shorter than between random routers.
#[test]
fn graphs_are_drawn_by_their_distances() {
    let ring = (0..60).map(|n| format!("[{n}, {}]", (n + 1) % 60));
    let edges = ring.collect::<Vec<_>>().join(", ");
    let topology = built("graph", &format!("edges = [{edges}]"));
    let spots = Drawing::of(&*topology).routers;
    let link = (0..60)
        .map(|n| length(&spots[n], &spots[(n + 1) % 60]))
        .fold(0.0, f32::max);
    let across = (0..30)
        .map(|n| length(&spots[n], &spots[n + 30]))
        .fold(1.0, f32::min);
    assert!(
        4.0 * link < across,
        "links up to {link}, opposite routers from {across} on"
    );
}

#[test]
fn planes_lie_beside_each_other() {
    let plane = built("torus", "sizes = [4, 4]");
    let planes = Planes::new(plane.into(), 2).unwrap();
    let spots = Drawing::of(&planes).routers;
    let right_of = |plane: usize| {
        let of_plane = spots.iter().skip(plane).step_by(2);
        of_plane
            .map(|s| s.x)
            .fold((1.0f32, 0.0f32), |(least, most), x| (least.min(x), most.max(x)))
    };
    assert!(right_of(0).1 < right_of(1).0);
}

/// `--nocapture` prints the time of a drawing, which must be short beside a run.
#[test]
fn large_networks_are_drawn() {
    let edges: Vec<String> = (0..20_000u64)
        .flat_map(|n| [1, 7, 140].map(|far| format!("[{n}, {}]", (n + far) % 20_000)))
        .collect();
    let large_graph = format!("edges = [{}]", edges.join(", "));
    let graph = [("graph", large_graph.as_str())];
    for (kind, parameters) in crate::LARGE.iter().copied().chain(graph) {
        let topology = built(kind, parameters);
        let start = Instant::now();
        let drawing = Drawing::of(&*topology);
        let took = start.elapsed();
        println!("{kind}: {} routers in {took:?}", drawing.routers.len());
        assert_eq!(drawing.routers.len(), topology.routers() as usize);
    }
}
