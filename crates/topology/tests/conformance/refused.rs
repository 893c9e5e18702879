//! Invalid parameters and their error messages.

use fabricsim_topology::build;

use crate::contract::section;

#[test]
fn wrong_parameters_are_refused_where_they_stand() {
    let dragonfly = "hosts_per_router = 4\nrouters_per_group = 8\n";
    for (kind, parameters, expected) in [
        ("dragonfly", "", "x.toml:1: hosts_per_router: missing"),
        (
            "dragonfly",
            "hosts_per_router = 0",
            "x.toml:2: hosts_per_router: 0 is not possible",
        ),
        (
            "dragonfly",
            "hosts_per_router = -1",
            "x.toml:2: hosts_per_router: -1 is out of range",
        ),
        ("dragonfly", dragonfly, "global_links_per_router: missing"),
        (
            "dragonfly",
            &format!("{dragonfly}global_links_per_router = 4\ngroups = 34"),
            "x.toml:5: groups: 34 groups cannot all be linked: 8 routers per group with 4 global links each \
             reach 32 other groups; expected 1 to 33",
        ),
        (
            "dragonfly",
            &format!("{dragonfly}global_links_per_router = 4\narrangement = \"consecutiv\""),
            "x.toml:5: arrangement: unknown name 'consecutiv'; did you mean 'consecutive'?",
        ),
        (
            "dragonfly",
            &format!("{dragonfly}global_links_per_router = 4\nlinks_between_groups = 2\ngroups = 3"),
            "x.toml:5: links_between_groups: is given already by global_links_per_router; expected one or",
        ),
        (
            "dragonfly",
            &format!("{dragonfly}links_between_groups = 2"),
            "groups: missing; links_between_groups needs the number of groups beside it",
        ),
        (
            "dragonfly",
            &format!("{dragonfly}links_between_groups = 0\ngroups = 2"),
            "x.toml:4: links_between_groups: 0 is not possible",
        ),
        (
            "dragonfly",
            &format!("{dragonfly}links_between_groups = 70000\ngroups = 70000"),
            "links_between_groups: 70000 x 69999 global ports of a group are too many",
        ),
        (
            "dragonfly",
            &format!("{dragonfly}global_links_per_router = 4\nseed = 3"),
            "x.toml:5: seed: is for arrangement = \"random\"; this one is consecutive",
        ),
        (
            "dragonfly-2d",
            "rows = 0\nglobal_links_per_router = 4",
            "x.toml:2: rows: 0 is not possible",
        ),
        ("dragonfly-2d", "", "global_links_per_router: missing"),
        (
            "dragonfly-2d",
            "row_links = 300\ncolumn_links = 300\nglobal_links_per_router = 4",
            "x.toml:3: column_links: 300 x 300 paths inside a group are too many; expected at most 65535",
        ),
        (
            "dragonfly-2d",
            "rows = 2\ncolumns = 70000\nglobal_links_per_router = 1\ngroups = 2",
            "x.toml:3: columns: 70007 ports on a router are too many",
        ),
        (
            "dragonfly-2d",
            "global_links_per_router = 1\ngroups = 98",
            "x.toml:3: groups: 98 groups cannot all be linked: 96 routers per group with 1 global links each",
        ),
        ("dragonfly-plus", "", "hosts_per_leaf: missing"),
        (
            "dragonfly-plus",
            "hosts_per_leaf = 2\nleaves_per_group = 2\nglobal_links_per_spine = 2\ngroups = 6",
            "x.toml:5: groups: 6 groups cannot all be linked: 2 spines per group with 2 global links each reach 4",
        ),
        (
            "dragonfly-plus",
            "hosts_per_leaf = 2\nleaves_per_group = 70000\nspines_per_group = 2\nglobal_links_per_spine = 2",
            "x.toml:3: leaves_per_group: 70002 ports on a router are too many",
        ),
        (
            "dragonfly-plus",
            "hosts_per_leaf = 2\nleaves_per_group = 4000000000\nspines_per_group = 4000000000\n\
             global_links_per_spine = 1\ngroups = 2",
            "x.toml:4: spines_per_group: 4000000000 leaves and 4000000000 spines of a group are too many",
        ),
        ("express-mesh", "gap = 2", "sizes: missing; expected a list"),
        ("express-mesh", "sizes = [4, 4]", "gap: missing"),
        (
            "express-mesh",
            "sizes = [4, 4]\ngap = 0",
            "x.toml:3: gap: 0 is not possible",
        ),
        (
            "express-mesh",
            "sizes = [4, 4]\ngap = [1, 2, 3]",
            "x.toml:3: gap: 3 numbers for 2 dimensions; expected one number, or a list of 2",
        ),
        (
            "express-mesh",
            "sizes = [70000]\ngap = 1",
            "x.toml:3: gap: 139999 ports on a router are too many",
        ),
        (
            "dragonfly",
            "hosts_per_router = 1\nrouters_per_group = 70000\nglobal_links_per_router = 1\ngroups = 2",
            "x.toml:3: routers_per_group: 70001 ports on a router are too many",
        ),
        (
            "dragonfly",
            "hosts_per_router = 60000\nrouters_per_group = 999\nglobal_links_per_router = 1",
            "x.toml:1: groups: 1000 x 999 x 60000 hosts are too many; expected at most 4294967295",
        ),
        (
            "dragonfly",
            "hosts_per_router = 1\nrouters_per_group = 4000000000\nglobal_links_per_router = 4",
            "global_links_per_router: 4000000000 x 4 global ports of a group are too many",
        ),
        (
            "fat-tree",
            "radix = 7",
            "x.toml:2: radix: 7 is odd; expected an even number",
        ),
        ("fat-tree", "radix = 0", "x.toml:2: radix: 0 is not possible"),
        (
            "fat-tree",
            "radix = 65536",
            "x.toml:2: radix: 65536 ports are too many",
        ),
        (
            "fat-tree",
            "radix = 65534",
            "radix: 2147352578 x 32767 hosts are too many",
        ),
        (
            "fat-tree",
            "radix = 8\nlevels = 1",
            "x.toml:3: levels: 1 levels; expected 2 to 8",
        ),
        (
            "fat-tree",
            "radix = 64\nlevels = 8",
            "levels: the leaves are too many",
        ),
        (
            "fat-tree",
            "radix = 64\nlevels = 7",
            "radix: 2147483648 x 32 hosts are too many",
        ),
        (
            "fat-tree",
            "radix = 8\npods = 9",
            "x.toml:3: pods: 9 pods cannot all be linked",
        ),
        (
            "fat-tree",
            "radix = 8\nleaves = 33",
            "x.toml:3: leaves: 33 leaves cannot all be linked by routers of 8 ports; expected 1 to 32",
        ),
        (
            "fat-tree",
            "radix = 8\nleaves = 9\npods = 2",
            "x.toml:3: leaves: 9 leaves fill 3 pods of 4, not 2",
        ),
        ("fat-tree", "down = [2, 4]", "x.toml:2: down: needs up beside it"),
        (
            "fat-tree",
            "radix = 8\nup = [4]",
            "x.toml:3: up: needs down beside it",
        ),
        (
            "fat-tree",
            "radix = 8\ncables = 2",
            "x.toml:3: cables: needs down beside it",
        ),
        (
            "fat-tree",
            "down = [2, 4]\nup = [2]\nradix = 8",
            "x.toml:4: radix: is for trees of one radix; down and up say all about this one",
        ),
        (
            "fat-tree",
            "down = [2]\nup = []",
            "x.toml:2: down: 1 levels; expected 2 to 8",
        ),
        (
            "fat-tree",
            "down = [2, 4, 4]\nup = [2]",
            "x.toml:3: up: 1 number for 3 levels; expected 2, one for each level but the top",
        ),
        (
            "fat-tree",
            "down = [2, 4]\nup = [0]",
            "x.toml:3: up: 0 is not possible",
        ),
        (
            "fat-tree",
            "down = [2, 4]\nup = [3]\ncables = 2",
            "x.toml:3: up: 3 ports between levels 0 and 1 do not make bundles of 2 cables",
        ),
        (
            "fat-tree",
            "down = [2, 4, 4]\nup = [2, 2]\nleaves = 17",
            "x.toml:4: leaves: 17 leaves do not fit below the top; expected 1 to 16",
        ),
        (
            "fat-tree",
            "down = [2, 70000]\nup = [2]",
            "x.toml:2: down: 70000 ports on a router are too many",
        ),
        (
            "fat-tree",
            "radix = 8\nlevels = 2\npods = 4",
            "x.toml:4: pods: is for three levels",
        ),
        (
            "fat-tree",
            "radix = 8\nlevels = 2\nleaves = 0",
            "x.toml:4: leaves: 0 is not possible",
        ),
        (
            "fat-tree",
            "radix = 8\ntapering = 2",
            "x.toml:3: tapering: 2 is not a string",
        ),
        (
            "fat-tree",
            "radix = 8\ntapering = \"2\"",
            "tapering: \"2\" is not hosts : uplinks of a leaf",
        ),
        (
            "fat-tree",
            "radix = 8\ntapering = \"2:0\"",
            "tapering: \"2:0\" is not hosts : uplinks",
        ),
        (
            "fat-tree",
            "radix = 8\ntapering = \"8:1\"",
            "tapering: 8:1 needs at least 9 ports",
        ),
        (
            "fat-tree",
            "radix = 8\nhosts_per_leaf = 4",
            "x.toml:3: hosts_per_leaf: needs uplinks_per_leaf",
        ),
        (
            "fat-tree",
            "radix = 8\nuplinks_per_leaf = 4",
            "uplinks_per_leaf: needs hosts_per_leaf",
        ),
        (
            "fat-tree",
            "radix = 8\nhosts_per_leaf = 4\nuplinks_per_leaf = 5",
            "x.toml:3: hosts_per_leaf: 4 hosts and 5 uplinks do not fit a leaf of 8 ports",
        ),
        (
            "fat-tree",
            "radix = 8\nhosts_per_leaf = 4\nuplinks_per_leaf = 4\ntapering = \"1:1\"",
            "x.toml:5: tapering: is given already",
        ),
        ("hyperx", "", "shape: missing; expected a list"),
        (
            "graph",
            "",
            "x.toml:1: file: missing; expected the path of a file, or edges",
        ),
        (
            "graph",
            "file = \"x\"\nedges = []",
            "x.toml:3: edges: are given beside file; expected one of the two",
        ),
        (
            "graph",
            "edges = []",
            "x.toml:2: edges: no router; expected at least one",
        ),
        (
            "graph",
            "edges = [[1]]",
            "x.toml:2: edges: an item is not two names of routers",
        ),
        (
            "graph",
            "edges = [[1, -2]]",
            "x.toml:2: edges: an item is not two names of routers",
        ),
        (
            "graph",
            "edges = [[0, 1], [2, 2]]",
            "edges: edges[1]: router '2' is linked to itself",
        ),
        (
            "graph",
            "edges = [[0, 1, 0]]",
            "edges: edges[0]: 0 cables; expected at least 1",
        ),
        (
            "graph",
            "edges = [[0, 1], [2, 3]]",
            "edges: no path leads from router '0' to router '2'; expected a connected network",
        ),
        (
            "graph",
            "edges = [[0, 1]]\nhosts_per_router = 0",
            "x.toml:3: hosts_per_router: 0 is not possible",
        ),
        (
            "graph",
            "edges = [[0, 1]]\nhosts_per_router = 65535",
            "edges: edges[0]: 65536 ports on router '0' are too many; expected at most 65535",
        ),
        (
            "graph",
            "edges = [[0, 1]]\nformat = \"graphml\"",
            "x.toml:3: format: is for a file",
        ),
        (
            "hyperx",
            "shape = []",
            "x.toml:2: shape: 0 dimensions; expected 1 to 8",
        ),
        ("hyperx", "shape = [4, 0]", "x.toml:2: shape: 0 is not possible"),
        (
            "hyperx",
            "shape = [4, 4]\nwidth = [1, 2, 3]",
            "x.toml:3: width: 3 numbers for 2 dimensions; expected one number, or a list of 2",
        ),
        (
            "hyperx",
            "shape = [4, 4]\nwidth = [1, 0]",
            "x.toml:3: width: 0 is not possible",
        ),
        (
            "hyperx",
            "shape = [4, 4]\nwidth = \"2\"",
            "x.toml:3: width: \"2\" is not a whole number or a list of whole numbers",
        ),
        (
            "hyperx",
            "shape = [40000, 2]\nwidth = [2, 1]",
            "x.toml:2: shape: 80000 ports on a router are too many",
        ),
        ("slim-fly", "", "q: missing"),
        (
            "slim-fly",
            "q = 0",
            "x.toml:2: q: 0 is not a power of a prime of the form 4w - 1, 4w or 4w + 1; nearest: 3",
        ),
        ("slim-fly", "q = 1", "4w + 1; nearest: 3"),
        ("slim-fly", "q = 2", "4w + 1; nearest: 3"),
        ("slim-fly", "q = 6", "4w + 1; nearest: 5 and 7"),
        ("slim-fly", "q = 10", "4w + 1; nearest: 9 and 11"),
        ("slim-fly", "q = 14", "4w + 1; nearest: 13 and 16"),
        ("slim-fly", "q = 15", "4w + 1; nearest: 13 and 16"),
        (
            "slim-fly",
            "q = 46341",
            "x.toml:2: q: 2 x 46341 x 46341 routers are too many",
        ),
        (
            "slim-fly",
            "q = 43691",
            "x.toml:2: q: 98306 ports on a router are too many",
        ),
        (
            "slim-fly",
            "q = 5\nhosts_per_router = 0",
            "x.toml:3: hosts_per_router: 0 is not possible",
        ),
        ("torus", "", "sizes: missing; expected a list"),
        (
            "torus",
            "sizes = []",
            "x.toml:2: sizes: 0 dimensions; expected 1 to 12",
        ),
        (
            "torus",
            "sizes = [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]",
            "sizes: 13 dimensions; expected 1 to 12",
        ),
        ("torus", "sizes = [4, 0]", "x.toml:2: sizes: 0 is not possible"),
        ("torus", "sizes = 4", "sizes: 4 is not a list"),
        (
            "torus",
            "sizes = [4, 4]\nlinks = [1, 0]",
            "x.toml:3: links: 0 is not possible",
        ),
        (
            "torus",
            "sizes = [4, 4]\nlinks = [1]",
            "x.toml:3: links: 1 number for 2 dimensions; expected one number, or a list of 2",
        ),
        (
            "mesh",
            "sizes = [4]\nlinks = 40000",
            "80001 ports on a router are too many",
        ),
        (
            "mesh",
            "sizes = [70000, 70000]",
            "sizes: 70000 x 70000 routers are too many",
        ),
        (
            "mesh",
            "sizes = [70000]\nhosts_per_router = 70000",
            "hosts are too many",
        ),
        (
            "mesh",
            "sizes = [2]\nhosts_per_router = 65534",
            "65536 ports on a router are too many",
        ),
        (
            "mesh",
            "sizes = [2]\nhosts_per_router = 0",
            "x.toml:3: hosts_per_router: 0 is not possible",
        ),
        (
            "tours",
            "",
            "x.toml:1: kind: unknown name 'tours'; did you mean 'torus'?",
        ),
    ] {
        let Err(error) = build(&section(kind, parameters)) else {
            panic!("{kind}\n{parameters}: was built");
        };
        let error = error.to_string();
        assert!(
            error.contains(expected),
            "{kind}\n{parameters}:\n{error}\nnot\n{expected}"
        );
    }
}
