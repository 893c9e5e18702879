//! Selected parameters.

/// Parameters besides the examples: smallest sizes, uneven links, several cables, unwired ports.
pub const CASES: &[(&str, &str)] = &[
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 1\nglobal_links_per_router = 1",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 1\nglobal_links_per_router = 4",
    ),
    (
        "dragonfly",
        "hosts_per_router = 3\nrouters_per_group = 5\nglobal_links_per_router = 1",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 1",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 2",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 2\ngroups = 4",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 2\ngroups = 6",
    ),
    (
        "dragonfly",
        "hosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 3\ngroups = 8",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 8\nglobal_links_per_router = 4\ngroups = 9",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 8\nglobal_links_per_router = 4\ngroups = 32",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 2\narrangement = \"palmtree\"",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 5\nglobal_links_per_router = 3\ngroups = 6\n\
         arrangement = \"palmtree\"",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 2\narrangement = \"random\"",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 5\nglobal_links_per_router = 3\ngroups = 6\n\
         arrangement = \"random\"\nseed = 9",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 4\nlinks_between_groups = 3\ngroups = 4",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 8\nlinks_between_groups = 1\ngroups = 4",
    ),
    (
        "dragonfly",
        "hosts_per_router = 1\nrouters_per_group = 3\nlinks_between_groups = 2\ngroups = 1",
    ),
    (
        "dragonfly-2d",
        "hosts_per_router = 2\nrows = 1\ncolumns = 1\nglobal_links_per_router = 3",
    ),
    (
        "dragonfly-2d",
        "hosts_per_router = 1\nrows = 1\ncolumns = 4\nglobal_links_per_router = 1",
    ),
    (
        "dragonfly-2d",
        "hosts_per_router = 1\nrows = 3\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\n\
         global_links_per_router = 2\ngroups = 2",
    ),
    (
        "dragonfly-2d",
        "hosts_per_router = 1\nrows = 3\ncolumns = 3\nlinks_between_groups = 4\ngroups = 6\n\
         arrangement = \"random\"",
    ),
    (
        "dragonfly-2d",
        "hosts_per_router = 1\nrows = 2\ncolumns = 4\nglobal_links_per_router = 1\n\
         arrangement = \"palmtree\"",
    ),
    (
        "dragonfly-2d",
        "hosts_per_router = 4\nglobal_links_per_router = 10\ngroups = 1",
    ),
    (
        "dragonfly-plus",
        "hosts_per_leaf = 1\nleaves_per_group = 1\nglobal_links_per_spine = 1",
    ),
    (
        "dragonfly-plus",
        "hosts_per_leaf = 3\nleaves_per_group = 2\nspines_per_group = 3\nglobal_links_per_spine = 2\ngroups = 1",
    ),
    (
        "dragonfly-plus",
        "hosts_per_leaf = 1\nleaves_per_group = 4\nspines_per_group = 2\nglobal_links_per_spine = 3\ngroups = 4",
    ),
    (
        "dragonfly-plus",
        "hosts_per_leaf = 2\nleaves_per_group = 2\nspines_per_group = 4\nlinks_between_groups = 3\n\
         groups = 5\narrangement = \"random\"",
    ),
    (
        "dragonfly-plus",
        "hosts_per_leaf = 1\nleaves_per_group = 3\nglobal_links_per_spine = 2\narrangement = \"palmtree\"",
    ),
    ("express-mesh", "sizes = [1]\ngap = 3"),
    ("express-mesh", "sizes = [2, 3]\ngap = 4"),
    ("express-mesh", "sizes = [16]\ngap = 5\nhosts_per_router = 2"),
    ("express-mesh", "sizes = [17]\ngap = 4"),
    ("express-mesh", "sizes = [6, 1, 5]\ngap = [2, 7, 1]"),
    ("fat-tree", "radix = 2"),
    ("fat-tree", "radix = 2\nlevels = 2"),
    ("fat-tree", "radix = 8\nlevels = 2"),
    ("fat-tree", "radix = 8\nlevels = 2\nleaves = 4"),
    ("fat-tree", "radix = 8\nlevels = 2\nleaves = 3"),
    ("fat-tree", "radix = 8\nlevels = 2\nleaves = 1"),
    (
        "fat-tree",
        "radix = 12\nlevels = 2\ntapering = \"2:1\"\nleaves = 6",
    ),
    ("fat-tree", "radix = 8\ntapering = \"3:1\"\npods = 3"),
    ("fat-tree", "radix = 8\npods = 2"),
    ("fat-tree", "radix = 8\npods = 1"),
    ("fat-tree", "radix = 6\nhosts_per_leaf = 2\nuplinks_per_leaf = 3"),
    (
        "fat-tree",
        "radix = 6\nhosts_per_leaf = 5\nuplinks_per_leaf = 1\nlevels = 2",
    ),
    ("fat-tree", "radix = 8\nleaves = 14"),
    ("fat-tree", "radix = 8\nleaves = 3"),
    ("fat-tree", "radix = 4\nlevels = 4"),
    ("fat-tree", "radix = 4\nlevels = 5\nleaves = 11"),
    ("fat-tree", "down = [2, 3]\nup = [2]"),
    ("fat-tree", "down = [2, 4, 6]\nup = [2, 4]\ncables = [1, 2]"),
    ("fat-tree", "down = [3, 4, 5]\nup = [3, 2]\nleaves = 13"),
    (
        "fat-tree",
        "down = [1, 2, 3, 4]\nup = [2, 2, 1]\ncables = [2, 1, 1]\nleaves = 9",
    ),
    ("graph", "edges = [[\"a\", \"b\"]]"),
    (
        "graph",
        "edges = [[0, 1, 3], [1, 2], [2, 0, 2], [2, 3]]\nhosts_per_router = 3",
    ),
    // A path, whose distances have every residue, and a star.
    (
        "graph",
        "edges = [[5, 4], [4, 3], [3, 2], [2, 1], [1, 0], [0, 9], [9, 8], [8, 7]]",
    ),
    ("graph", "edges = [[0, 1], [0, 2], [0, 3], [0, 4], [0, 5]]"),
    ("hyperx", "shape = [1]"),
    ("hyperx", "shape = [7]\nwidth = 2\nhosts_per_router = 3"),
    ("hyperx", "shape = [2, 2, 2, 2, 2]"),
    (
        "hyperx",
        "shape = [4, 1, 3]\nwidth = [1, 9, 3]\nhosts_per_router = 2",
    ),
    ("hyperx", "shape = [4, 4, 4]\nhosts_per_router = 4"),
    ("mesh", "sizes = [1]"),
    ("mesh", "sizes = [9]"),
    ("mesh", "sizes = [1, 3, 1, 2]\nhosts_per_router = 2"),
    ("mesh", "sizes = [2, 2, 2, 2, 2, 2]"),
    ("mesh", "sizes = [3, 4]\nlinks = [2, 1]"),
    ("slim-fly", "q = 3"),
    ("slim-fly", "q = 4\nhosts_per_router = 1"),
    ("slim-fly", "q = 5"),
    ("slim-fly", "q = 7"),
    ("slim-fly", "q = 8"),
    ("slim-fly", "q = 9"),
    ("slim-fly", "q = 11"),
    ("slim-fly", "q = 13\nhosts_per_router = 9"),
    ("torus", "sizes = [1]"),
    ("torus", "sizes = [2]"),
    ("torus", "sizes = [7]\nhosts_per_router = 3"),
    ("torus", "sizes = [1, 3, 1, 2]"),
    ("torus", "sizes = [2, 2, 2, 2, 2, 2, 2, 1]"),
    ("torus", "sizes = [4, 1, 1, 2, 1, 1, 1, 1, 3, 1, 1, 4]"),
    ("torus", "sizes = [4, 4, 4]"),
    (
        "torus",
        "sizes = [4, 2, 1, 3]\nlinks = [1, 3, 2, 2]\nhosts_per_router = 2",
    ),
];
