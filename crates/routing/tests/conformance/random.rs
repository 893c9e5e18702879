//! Random networks are routed without deadlock.

use proptest::prelude::*;

use crate::contract::check;
use crate::walk::network;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(16) })]

    #[test]
    fn random_dragonflies_are_routed(p in 1u32..3, a in 1u32..5, h in 1u32..3, share in 0.0..1.0f64) {
        let groups = 1 + (f64::from(a * h) * share).round() as u32;
        check(&network(&format!(
            "kind = \"dragonfly\"\nhosts_per_router = {p}\nrouters_per_group = {a}\n\
             global_links_per_router = {h}\ngroups = {groups}"
        )), 50_000_000);
    }

    #[test]
    fn random_trees_are_routed(half in 1u32..4, levels in 2u32..4, hosts in 1u32..4, share in 0.0..1.0f64) {
        let radix = 2 * half;
        let hosts = hosts.min(radix - 1);
        let uplinks = 1 + (f64::from(radix - hosts - 1) * share).round() as u32;
        let breadth = 1 + (f64::from(radix - 1) * share).round() as u32;
        let key = if levels == 2 { "leaves" } else { "pods" };
        check(&network(&format!(
            "kind = \"fat-tree\"\nradix = {radix}\nlevels = {levels}\nhosts_per_leaf = {hosts}\n\
             uplinks_per_leaf = {uplinks}\n{key} = {breadth}"
        )), 50_000_000);
    }

    #[test]
    fn random_hyperx_are_routed(sides in prop::collection::vec((1u32..5, 1u32..4), 1..4), hosts in 1u32..3) {
        let (shape, width): (Vec<u32>, Vec<u32>) = sides.into_iter().unzip();
        check(&network(&format!(
            "kind = \"hyperx\"\nshape = {shape:?}\nwidth = {width:?}\nhosts_per_router = {hosts}"
        )), 50_000_000);
    }

    #[test]
    fn random_graphs_are_routed(
        parents in prop::collection::vec(any::<u32>(), 1..20),
        more in prop::collection::vec((any::<u32>(), any::<u32>(), 1u32..3), 0..20),
        hosts in 1u32..3,
    ) {
        let routers = parents.len() as u32 + 1;
        let tree = parents.iter().zip(1..).map(|(parent, n)| (parent % n, n, 1));
        let more = more.iter().map(|(a, b, count)| (a % routers, b % routers, *count));
        let edges: Vec<String> = tree
            .chain(more.filter(|(a, b, _)| a != b))
            .map(|(a, b, count)| format!("[{a}, {b}, {count}]"))
            .collect();
        check(&network(&format!(
            "kind = \"graph\"\nedges = [{}]\nhosts_per_router = {hosts}", edges.join(", ")
        )), 50_000_000);
    }

    #[test]
    fn random_grids_are_routed(sizes in prop::collection::vec(1u32..6, 1..4), hosts in 1u32..3) {
        for kind in ["mesh", "torus"] {
            check(&network(&format!(
                "kind = \"{kind}\"\nsizes = {sizes:?}\nhosts_per_router = {hosts}"
            )), 50_000_000);
        }
    }
}
