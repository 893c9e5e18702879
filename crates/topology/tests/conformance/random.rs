//! Random parameters.

use fabricsim_topology::*;
use proptest::prelude::*;

use crate::contract::{built, check, check_router, section};

/// Links between groups, some parameters of which do not fit all groups.
#[derive(Clone, Debug)]
struct Wires {
    links: u32,
    /// Whether `links` is the number between two groups instead of that of a router.
    between: bool,
    share: f64,
    arrangement: &'static str,
}

fn wires(most: u32) -> impl Strategy<Value = Wires> {
    let arrangement = prop::sample::select(&["consecutive", "palmtree", "random"][..]);
    (1..most, any::<bool>(), 0.0..1.0f64, arrangement).prop_map(|(links, between, share, arrangement)| {
        Wires {
            links,
            between,
            share,
            arrangement,
        }
    })
}

impl Wires {
    fn text(&self, routers: u32, per_router: &str) -> String {
        let most = (routers * self.links).min(14);
        let groups = 1 + (f64::from(most) * self.share).round() as u32;
        let key = if self.between {
            "links_between_groups"
        } else {
            per_router
        };
        format!(
            "{key} = {}\ngroups = {groups}\narrangement = \"{}\"",
            self.links, self.arrangement
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn random_dragonflies_keep_the_contract(p in 1u32..4, a in 1u32..6, wires in wires(5)) {
        let global = wires.text(a, "global_links_per_router");
        check(&*built("dragonfly", &format!("hosts_per_router = {p}\nrouters_per_group = {a}\n{global}")));
    }

    #[test]
    fn random_dragonflies_of_grids_keep_the_contract(
        p in 1u32..3, rows in 1u32..4, columns in 1u32..4, links in (1u32..3, 1u32..4), wires in wires(3)
    ) {
        let global = wires.text(rows * columns, "global_links_per_router");
        let parameters = format!(
            "hosts_per_router = {p}\nrows = {rows}\ncolumns = {columns}\nrow_links = {}\n\
             column_links = {}\n{global}",
            links.0, links.1
        );
        check(&*built("dragonfly-2d", &parameters));
    }

    #[test]
    fn random_dragonflies_plus_keep_the_contract(
        p in 1u32..3, leaves in 1u32..5, spines in 1u32..5, wires in wires(4)
    ) {
        let global = wires.text(spines, "global_links_per_spine");
        let parameters = format!(
            "hosts_per_leaf = {p}\nleaves_per_group = {leaves}\nspines_per_group = {spines}\n{global}"
        );
        check(&*built("dragonfly-plus", &parameters));
    }

    #[test]
    fn random_express_meshes_keep_the_contract(lines in prop::collection::vec((1u32..9, 1u32..6), 1..3)) {
        let (sizes, gap): (Vec<u32>, Vec<u32>) = lines.into_iter().unzip();
        check(&*built("express-mesh", &format!("sizes = {sizes:?}\ngap = {gap:?}")));
    }

    #[test]
    fn random_express_lines_keep_the_contract(size in 1u32..40, gap in 1u32..20) {
        check(&*built("express-mesh", &format!("sizes = [{size}]\ngap = {gap}")));
    }

    #[test]
    fn random_fat_trees_of_given_ports_keep_the_contract(
        hosts in 1u32..4, steps in prop::collection::vec((1u32..4, 1u32..4, 1u32..3), 1..4), share in 0.0..1.0f64
    ) {
        let down: Vec<u32> = [hosts].into_iter().chain(steps.iter().map(|s| s.0 * s.2)).collect();
        let up: Vec<u32> = steps.iter().map(|s| s.1 * s.2).collect();
        let cables: Vec<u32> = steps.iter().map(|s| s.2).collect();
        let most: u32 = steps.iter().map(|s| s.0).product();
        let leaves = 1 + (f64::from(most - 1) * share).round() as u32;
        check(&*built(
            "fat-tree",
            &format!("down = {down:?}\nup = {up:?}\ncables = {cables:?}\nleaves = {leaves}"),
        ));
    }

    #[test]
    fn random_fat_trees_keep_the_contract(
        half in 1u32..5, levels in 2u32..4, cut in 0.0..1.0f64, share in 0.0..1.0f64, by_leaves: bool
    ) {
        let radix = 2 * half;
        let hosts = 1 + (f64::from(radix - 2) * cut).round() as u32;
        let uplinks = 1 + (f64::from(radix - hosts - 1) * share).round() as u32;
        let breadth = 1 + (f64::from(radix - 1) * share).round() as u32;
        let (key, breadth) = match (levels, by_leaves) {
            (2, _) => ("leaves", breadth),
            (_, true) => ("leaves", breadth * half - (breadth * half) / 5),
            (_, false) => ("pods", breadth),
        };
        let parameters = format!(
            "radix = {radix}\nlevels = {levels}\nhosts_per_leaf = {hosts}\nuplinks_per_leaf = {uplinks}\n\
             {key} = {breadth}"
        );
        check(&*built("fat-tree", &parameters));
    }

    #[test]
    fn random_grids_keep_the_contract(sizes in prop::collection::vec(1u32..5, 1..5), hosts in 1u32..4) {
        for kind in ["mesh", "torus"] {
            let links: Vec<u32> = sizes.iter().map(|size| 1 + (size + hosts) % 3).collect();
            let parameters = format!("sizes = {sizes:?}\nlinks = {links:?}\nhosts_per_router = {hosts}");
            check(&*built(kind, &parameters));
        }
    }

    #[test]
    fn random_hyperx_keep_the_contract(sides in prop::collection::vec((1u32..5, 1u32..4), 1..4), hosts in 1u32..4) {
        let (shape, width): (Vec<u32>, Vec<u32>) = sides.into_iter().unzip();
        check(&*built(
            "hyperx",
            &format!("shape = {shape:?}\nwidth = {width:?}\nhosts_per_router = {hosts}"),
        ));
    }

    /// A random tree with additional random links and random router numbers.
    #[test]
    fn random_graphs_keep_the_contract(
        parents in prop::collection::vec(any::<u32>(), 1..40),
        more in prop::collection::vec((any::<u32>(), any::<u32>(), 1u32..4), 0..40),
        factor in 1u32..1000,
        hosts in 1u32..4,
    ) {
        let routers = parents.len() as u32 + 1;
        let name = |n: u32| n * (2 * factor + 1) % 4096;
        let tree = parents.iter().zip(1..).map(|(parent, n)| (parent % n, n, 1));
        let more = more.iter().map(|(a, b, count)| (a % routers, b % routers, *count));
        let edges: Vec<String> = tree
            .chain(more.filter(|(a, b, _)| a != b))
            .map(|(a, b, count)| format!("[{}, {}, {count}]", name(a), name(b)))
            .collect();
        let parameters = format!("edges = [{}]\nhosts_per_router = {hosts}", edges.join(", "));
        let network = built("graph", &parameters);
        prop_assert_eq!(network.routers(), routers);
        check(&*network);
    }

    /// Any numbers give an error or a topology with valid ids.
    #[test]
    fn any_numbers_are_built_or_refused(n in prop::array::uniform4(any::<u32>()), shift in 0u32..32) {
        let n = n.map(|n| n >> shift);
        for (kind, parameters) in [
            ("dragonfly", format!(
                "hosts_per_router = {}\nrouters_per_group = {}\nglobal_links_per_router = {}\ngroups = {}",
                n[0], n[1], n[2], n[3]
            )),
            ("dragonfly", format!(
                "hosts_per_router = {}\nrouters_per_group = {}\nlinks_between_groups = {}\ngroups = {}\n\
                 arrangement = \"random\"",
                n[0], n[1], n[2], n[3]
            )),
            ("dragonfly-2d", format!(
                "hosts_per_router = 1\nrows = {}\ncolumns = {}\nglobal_links_per_router = {}\ngroups = {}\n\
                 arrangement = \"palmtree\"",
                n[0], n[1], n[2], n[3]
            )),
            ("dragonfly-2d", format!(
                "rows = 1\ncolumns = 2\nrow_links = {}\ncolumn_links = {}\nlinks_between_groups = {}\n\
                 groups = {}",
                n[0], n[1], n[2], n[3]
            )),
            ("dragonfly-plus", format!(
                "hosts_per_leaf = {}\nleaves_per_group = {}\nspines_per_group = {}\n\
                 global_links_per_spine = {}",
                n[0], n[1], n[2], n[3]
            )),
            ("express-mesh", format!("sizes = [{}, {}]\ngap = [{}, {}]", n[0], n[1], n[2], n[3])),
            ("express-mesh", format!("sizes = [{}]\ngap = {}", n[0], n[1])),
            ("fat-tree", format!("down = [{}, {}]\nup = [{}]", n[0], n[1], n[2])),
            ("fat-tree", format!("down = [1, {}, {}]\nup = [{}, {}]", n[0], n[1], n[2], n[3])),
            ("fat-tree", format!("radix = {}\nlevels = {}\nleaves = {}", n[0], n[1], n[2])),
            ("torus", format!("sizes = [{}, {}]\nlinks = [{}, {}]", n[0], n[1], n[2], n[3])),
            ("fat-tree", format!("radix = {}\ntapering = \"{}:{}\"", n[0], n[1], n[2])),
            ("fat-tree", format!("radix = {}\nhosts_per_leaf = {}\nuplinks_per_leaf = {}", n[0], n[1], n[2])),
            ("hyperx", format!("shape = [{}, {}]\nwidth = {}\nhosts_per_router = {}", n[0], n[1], n[2], n[3])),
            ("slim-fly", format!("q = {}\nhosts_per_router = {}", n[0], n[1])),
            ("torus", format!("sizes = {n:?}")),
            ("mesh", format!("sizes = [{}, {}]\nhosts_per_router = {}", n[0], n[1], n[2])),
        ] {
            if let Ok(topology) = build(&section(kind, &parameters)) {
                check_router(&*topology, RouterId(topology.routers() - 1));
                check_router(&*topology, RouterId(0));
            }
        }
    }
}
