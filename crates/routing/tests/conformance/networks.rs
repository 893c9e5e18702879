//! Networks under test, and known properties of algorithms on them.

use topology::Shape;

/// Networks of each shape, small enough for the proof.
pub const NETWORKS: &[&str] = &[
    "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 1\nglobal_links_per_router = 4",
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 2\nglobal_links_per_router = 1",
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2\ngroups = 1",
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 3\nglobal_links_per_router = 2\ngroups = 2",
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2\ngroups = 3",
    "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 2\ngroups = 6",
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 4\nglobal_links_per_router = 2",
    "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 2\narrangement = \"palmtree\"",
    "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 4\nglobal_links_per_router = 3\ngroups = 6\narrangement = \"random\"",
    "kind = \"dragonfly\"\nhosts_per_router = 2\nrouters_per_group = 3\nlinks_between_groups = 4\ngroups = 3",
    "kind = \"dragonfly-2d\"\nhosts_per_router = 1\nrows = 3\ncolumns = 4\nglobal_links_per_router = 1\ngroups = 3",
    "kind = \"dragonfly-2d\"\nhosts_per_router = 1\nrows = 2\ncolumns = 2\nrow_links = 2\ncolumn_links = 3\nglobal_links_per_router = 1",
    // Several links between two groups, also at one router, and local paths of several cables.
    "kind = \"dragonfly-2d\"\nhosts_per_router = 1\nrows = 2\ncolumns = 3\nrow_links = 2\ncolumn_links = 2\nglobal_links_per_router = 2\ngroups = 2",
    "kind = \"dragonfly-2d\"\nhosts_per_router = 1\nrows = 3\ncolumns = 3\nglobal_links_per_router = 1\ngroups = 3\narrangement = \"random\"",
    "kind = \"dragonfly-plus\"\nhosts_per_leaf = 1\nleaves_per_group = 3\nspines_per_group = 2\nglobal_links_per_spine = 4\ngroups = 3",
    "kind = \"dragonfly-plus\"\nhosts_per_leaf = 2\nleaves_per_group = 2\nspines_per_group = 3\nglobal_links_per_spine = 2\ngroups = 4",
    "kind = \"dragonfly-plus\"\nhosts_per_leaf = 1\nleaves_per_group = 3\nglobal_links_per_spine = 2\narrangement = \"random\"",
    "kind = \"express-mesh\"\nsizes = [12]\ngap = 5\nhosts_per_router = 2",
    "kind = \"express-mesh\"\nsizes = [7, 5]\ngap = [3, 2]",
    "kind = \"fat-tree\"\nradix = 2",
    "kind = \"fat-tree\"\nradix = 4",
    "kind = \"fat-tree\"\nradix = 6\npods = 2\ntapering = \"2:1\"",
    "kind = \"fat-tree\"\nradix = 8\nlevels = 2\nleaves = 4",
    "kind = \"fat-tree\"\nradix = 8\nlevels = 2\ntapering = \"5:3\"",
    // The Petersen graph; routers in a row with parallel cables; a ring with a tail.
    "kind = \"graph\"\nedges = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [0, 5], [1, 6], [2, 7], [3, 8], [4, 9], \
     [5, 7], [6, 8], [7, 9], [8, 5], [9, 6]]\nhosts_per_router = 2",
    "kind = \"graph\"\nedges = [[0, 1, 2], [1, 2, 3], [2, 3]]\nhosts_per_router = 3",
    "kind = \"graph\"\nedges = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 0], [6, 7], [7, 8]]",
    "kind = \"fat-tree\"\nradix = 6\nleaves = 8",
    "kind = \"fat-tree\"\nradix = 4\nlevels = 4\npods = 3",
    "kind = \"fat-tree\"\ndown = [2, 4, 3]\nup = [4, 2]\ncables = [2, 1]\nleaves = 5",
    "kind = \"hyperx\"\nshape = [1]\nhosts_per_router = 2",
    "kind = \"hyperx\"\nshape = [6]\nhosts_per_router = 2",
    "kind = \"hyperx\"\nshape = [2, 2, 2, 2, 2]",
    "kind = \"hyperx\"\nshape = [4, 3, 3]\nwidth = [1, 2, 3]\nhosts_per_router = 2",
    "kind = \"mesh\"\nsizes = [1]\nhosts_per_router = 2",
    "kind = \"mesh\"\nsizes = [4, 1, 3]\nhosts_per_router = 2",
    "kind = \"mesh\"\nsizes = [4, 3]\nlinks = [2, 3]\nhosts_per_router = 2",
    "kind = \"slim-fly\"\nq = 3\nhosts_per_router = 3",
    "kind = \"slim-fly\"\nq = 5\nhosts_per_router = 2",
    "kind = \"slim-fly\"\nq = 7\nhosts_per_router = 1",
    "kind = \"slim-fly\"\nq = 8\nhosts_per_router = 1",
    "kind = \"torus\"\nsizes = [4, 1, 1, 2, 1, 1, 1, 1, 2, 1, 1, 4]",
    "kind = \"torus\"\nsizes = [1, 2]",
    "kind = \"torus\"\nsizes = [2, 2, 2, 2]",
    "kind = \"torus\"\nsizes = [7]",
    "kind = \"torus\"\nsizes = [4, 3, 4]",
    "kind = \"torus\"\nsizes = [6, 2, 3]\nhosts_per_router = 2",
    "kind = \"torus\"\nsizes = [4, 2, 3]\nlinks = [2, 1, 3]\nhosts_per_router = 2",
];

/// Parameters of algorithms besides their defaults, and the networks that support them.
pub const VARIANTS: &[(&str, &str, Knows)] = &[
    ("adaptive", "metric = \"queue\"", is_tree),
    (
        "dal",
        "metric = \"queue\"\nmetric_scope = \"vc\"\nbias = \"0 B\"",
        is_hyperx,
    ),
    (
        "doal",
        "metric = \"credits\"\nmetric_scope = \"vc\"\nbias = \"0 B\"",
        is_hyperx,
    ),
    ("minimal-adaptive", "metric_scope = \"vc\"", |shape| {
        is_torus(shape) || is_mesh(shape) || is_hyperx(shape)
    }),
    ("minimal", "paths = \"adaptive\"\nmetric = \"credits\"", |shape| {
        shape.graph().is_some() || is_groups(shape)
    }),
    ("par", "metric = \"queue\"\nbias = \"0 B\"", |_| true),
    (
        "piggyback",
        "metric = \"credits\"\nmetric_scope = \"vc\"\nbias = \"0 B\"",
        is_groups,
    ),
    (
        "ugal",
        "metric = \"credits\"\nmetric_scope = \"vc\"\nbias = \"0 B\"",
        |_| true,
    ),
    (
        "valiant",
        "local = \"ugal\"\nmetric = \"queue\"\nmetric_scope = \"vc\"",
        is_groups,
    ),
    ("minimal", "paths = \"adaptive\"", |shape| {
        shape.graph().is_some() || is_groups(shape)
    }),
    ("minimal", "paths = \"hashed\"", is_groups),
    ("minimal", "vcs = \"by-phase\"", is_dragonfly),
    (
        "minimal",
        "vcs = \"by-phase\"\npaths = \"adaptive\"\nmetric = \"credits\"\nmetric_scope = \"vc\"",
        is_dragonfly,
    ),
    ("minimal", "paths = \"random\"", is_groups),
    ("par", "paths = \"adaptive\"", is_groups),
    ("par", "paths = \"hashed\"", is_groups),
    (
        "par",
        "paths = \"adaptive\"\nintermediate = \"group\"\nbias = \"0 B\"",
        is_groups,
    ),
    (
        "par",
        "paths = \"random\"\nbias = \"0 B\"\ncost = \"load-hops\"",
        is_groups,
    ),
    (
        "piggyback",
        "paths = \"adaptive\"\nthreshold = \"0 B\"",
        is_groups,
    ),
    ("piggyback", "paths = \"hashed\"", is_groups),
    (
        "ugal",
        "paths = \"adaptive\"\ninformation = \"group\"\nbias = \"0 B\"",
        is_groups,
    ),
    ("ugal", "paths = \"hashed\"", is_groups),
    (
        "ugal",
        "paths = \"adaptive\"\nintermediate = \"group\"\ncost = \"load-hops\"\nbias = \"0 B\"",
        is_groups,
    ),
    (
        "ugal",
        "paths = \"random\"\nintermediate = \"group\"\ncandidates = 2",
        is_groups,
    ),
    ("valiant", "paths = \"adaptive\"", is_groups),
    (
        "valiant",
        "paths = \"adaptive\"\nintermediate = \"any-router\"",
        is_groups,
    ),
    (
        "valiant",
        "paths = \"adaptive\"\nintermediate = \"group\"",
        is_groups,
    ),
    ("valiant", "paths = \"hashed\"", is_groups),
    ("valiant", "paths = \"random\"", is_groups),
    (
        "valiant",
        "paths = \"random\"\nintermediate = \"any-router\"",
        is_groups,
    ),
    (
        "valiant",
        "paths = \"random\"\nintermediate = \"group\"",
        is_groups,
    ),
    ("par", "intermediate = \"group\"", is_groups),
    ("par", "bias = \"0 B\"\nweight = 0", |_| true),
    (
        "par",
        "bias = \"0 B\"\ncost = \"load-hops\"\ncandidates = 3",
        is_groups,
    ),
    (
        "piggyback",
        "intermediate = \"group\"\nthreshold = \"0 B\"",
        is_groups,
    ),
    ("ugal", "information = \"group\"\nbias = \"0 B\"", is_groups),
    (
        "ugal",
        "information = \"group\"\nintermediate = \"group\"",
        is_groups,
    ),
    ("ugal", "intermediate = \"group\"", is_groups),
    ("ugal", "bias = \"0 B\"\nweight = 0", |_| true),
    ("ugal", "bias = \"0 B\"\nweight = 0.5", |_| true),
    (
        "ugal",
        "bias = \"0 B\"\ncost = \"load-hops\"\ncandidates = 3",
        is_groups,
    ),
    ("ugal", "cost = \"load\"\ncandidates = 2", |shape| {
        shape.graph().is_some()
    }),
    // Later routers draw only groups to which they have links.
    (
        "par",
        "detours = \"linked\"\nbias = \"0 B\"\npaths = \"hashed\"",
        is_groups,
    ),
    (
        "par",
        "detours = \"linked\"\nbias = \"0 B\"\npaths = \"adaptive\"\ncost = \"load-hops\"",
        is_groups,
    ),
    (
        "par",
        "detours = \"linked\"\nbias = \"0 B\"\npaths = \"hashed\"\nintermediate = \"group\"\ncost = \"load-hops\"",
        is_groups,
    ),
    (
        "par",
        "detours = \"linked\"\nbias = \"0 B\"\npaths = \"random\"\nintermediate = \"group\"",
        is_groups,
    ),
    (
        "par",
        "detours = \"linked\"\nbias = \"0 B\"\npaths = \"hashed\"\nintermediate = \"global-link\"",
        is_groups,
    ),
    (
        "par",
        "detours = \"linked\"\nbias = \"0 B\"\npaths = \"adaptive\"\nintermediate = \"global-link\"",
        is_groups,
    ),
    ("par", "cost = \"load-remaining\"\nbias = \"0 B\"", |_| true),
    (
        "ugal",
        "cost = \"load-remaining\"\nbias = \"0 B\"\npaths = \"hashed\"",
        is_groups,
    ),
    // Spines of the intermediate group.
    (
        "par",
        "intermediate_spine = \"leaf\"\nintermediate = \"group\"\npaths = \"hashed\"",
        has_spines,
    ),
    (
        "par",
        "intermediate_spine = \"load\"\nintermediate = \"group\"\nbias = \"0 B\"\ndetours = \"linked\"",
        has_spines,
    ),
    (
        "ugal",
        "intermediate_spine = \"load\"\nintermediate = \"global-link\"\nbias = \"0 B\"",
        has_spines,
    ),
    (
        "valiant",
        "intermediate_spine = \"leaf\"\nintermediate = \"group\"\npaths = \"hashed\"",
        has_spines,
    ),
    (
        "valiant",
        "intermediate_spine = \"leaf\"\nintermediate = \"group\"\npaths = \"random\"",
        has_spines,
    ),
    (
        "valiant",
        "intermediate_spine = \"load\"\nintermediate = \"group\"",
        has_spines,
    ),
    // Links drawn from all of the source's group.
    (
        "valiant",
        "intermediate = \"global-link\"\npaths = \"hashed\"",
        is_groups,
    ),
    (
        "valiant",
        "intermediate = \"global-link\"\npaths = \"random\"",
        is_groups,
    ),
    (
        "valiant",
        "intermediate = \"global-link\"\npaths = \"adaptive\"\nlocal = \"valiant\"",
        is_groups,
    ),
    (
        "ugal",
        "intermediate = \"global-link\"\npaths = \"hashed\"\nbias = \"0 B\"\ncost = \"load-hops\"",
        is_groups,
    ),
    (
        "ugal",
        "intermediate = \"global-link\"\npaths = \"adaptive\"\nbias = \"0 B\"\ninformation = \"group\"\ncost = \"load-hops\"",
        is_groups,
    ),
    (
        "ugal",
        "intermediate = \"global-link\"\npaths = \"hashed\"\nbias = \"0 B\"\ninformation = \"group\"\nlocal = \"ugal\"",
        is_groups,
    ),
    (
        "par",
        "intermediate = \"global-link\"\npaths = \"hashed\"\nbias = \"0 B\"",
        is_groups,
    ),
    (
        "par",
        "intermediate = \"global-link\"\npaths = \"adaptive\"\nbias = \"0 B\"\ncost = \"load-hops\"\nlocal = \"ugal\"",
        is_groups,
    ),
    (
        "par",
        "intermediate = \"global-link\"\npaths = \"random\"\nbias = \"0 B\"",
        is_groups,
    ),
    (
        "piggyback",
        "intermediate = \"global-link\"\nthreshold = \"0 B\"",
        is_groups,
    ),
    // Detours inside a group.
    ("valiant", "local = \"valiant\"", is_groups),
    (
        "valiant",
        "local = \"ugal\"\npaths = \"adaptive\"\nintermediate = \"group\"",
        is_groups,
    ),
    (
        "valiant",
        "local = \"valiant\"\npaths = \"random\"\nintermediate = \"group\"",
        is_groups,
    ),
    (
        "ugal",
        "local = \"ugal\"\nbias = \"0 B\"\npaths = \"hashed\"",
        is_groups,
    ),
    (
        "ugal",
        "local = \"ugal\"\nbias = \"0 B\"\npaths = \"adaptive\"\nintermediate = \"group\"\ncost = \"load-hops\"",
        is_groups,
    ),
    (
        "ugal",
        "local = \"ugal\"\nbias = \"0 B\"\ninformation = \"group\"\ncost = \"load-hops\"\ncandidates = 2",
        is_groups,
    ),
    (
        "par",
        "local = \"ugal\"\nbias = \"0 B\"\npaths = \"hashed\"",
        is_groups,
    ),
    (
        "par",
        "local = \"ugal\"\nbias = \"0 B\"\npaths = \"adaptive\"",
        is_groups,
    ),
    (
        "par",
        "local = \"ugal\"\nbias = \"0 B\"\npaths = \"adaptive\"\nintermediate = \"group\"\ncost = \"load-hops\"",
        is_groups,
    ),
    ("piggyback", "local = \"ugal\"\nbias = \"0 B\"", is_groups),
    ("valiant", "intermediate = \"any-router\"", |_| true),
    ("ugal", "intermediate = \"any-group\"\nbias = \"0 B\"", is_groups),
    (
        "ugal",
        "intermediate = \"any-group\"\nbias = \"0 B\"\npaths = \"adaptive\"\ncost = \"load-hops\"\ncandidates = 3",
        is_groups,
    ),
    (
        "ugal",
        "intermediate = \"any-group\"\nbias = \"0 B\"\ninformation = \"group\"\npaths = \"hashed\"\nlocal = \"ugal\"",
        is_groups,
    ),
    ("par", "intermediate = \"any-group\"\nbias = \"0 B\"", is_groups),
    (
        "piggyback",
        "intermediate = \"any-group\"\nthreshold = \"0 B\"",
        is_groups,
    ),
    ("valiant", "intermediate = \"group\"", is_groups),
    ("dal", "adaptive_vcs = 2\nbias = \"0 B\"", is_hyperx),
    ("dimension-order", "deadlock = \"bubble\"", is_torus),
    ("dimension-order", "deadlock = \"dateline-at-entry\"", is_torus),
    ("dimension-order", "paths = \"random\"", is_torus),
    (
        "dimension-order",
        "deadlock = \"dateline-at-entry\"\npaths = \"random\"",
        is_torus,
    ),
    (
        "dimension-order",
        "deadlock = \"bubble\"\npaths = \"random\"",
        is_torus,
    ),
    ("doal", "bias = \"0 B\"", is_hyperx),
    ("minimal-adaptive", "escape = \"bubble\"", is_torus),
    ("minimal-adaptive", "adaptive_vcs = 3", is_torus),
    ("minimal-adaptive", "adaptive_vcs = 2", is_mesh),
    ("minimal-adaptive", "adaptive_vcs = 2", is_hyperx),
];

/// Whether an algorithm with these parameters knows an order of its channels.
pub fn is_ordered(name: &str, parameters: &str, shape: &Shape<'_>) -> bool {
    let straight = shape.graph().is_some_and(|graph| graph.straight().is_some());
    !(parameters.contains("bubble")
        || parameters.contains("by-phase")
        || name == "dimension-order" && straight)
}

/// Whether an algorithm with these parameters tells the parts of its paths.
pub fn has_parts(name: &str, parameters: &str, shape: &Shape<'_>) -> bool {
    match name {
        "dimension-order" => {
            !matches!(shape, Shape::Graph(_))
                && !parameters.contains("deadlock")
                && !parameters.contains("random")
        }
        "minimal-adaptive" => !parameters.contains("bubble"),
        "adaptive" | "dal" | "destination-mod-k" | "doal" | "scatter" | "source-destination-hashed" => true,
        "minimal" | "par" | "piggyback" | "ugal" | "valiant" => !parameters.contains("by-phase"),
        _ => false,
    }
}

pub type Knows = fn(&Shape<'_>) -> bool;

fn is_groups(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Groups(_))
}

fn is_dragonfly(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Groups(groups) if groups.local_diameter() <= 1) && !has_spines(shape)
}

fn has_spines(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Groups(groups) if groups.host_routers_per_group() < groups.routers_per_group())
}

fn is_tree(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Tree(_))
}

fn is_hyperx(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::HyperX(_))
}

fn is_torus(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Cartesian(grid) if grid.wraps())
}

fn is_mesh(shape: &Shape<'_>) -> bool {
    matches!(shape, Shape::Cartesian(grid) if !grid.wraps())
}

/// Whether an algorithm promises the fewest hops.
pub fn is_minimal(algorithm: &str, shape: &Shape<'_>) -> bool {
    match algorithm {
        // In an express mesh it never turns back.
        "dimension-order" if matches!(shape, Shape::Graph(_)) => false,
        "adaptive"
        | "destination-mod-k"
        | "dimension-order"
        | "minimal"
        | "minimal-adaptive"
        | "scatter"
        | "source-destination-hashed" => true,
        "dal" | "doal" | "par" | "piggyback" | "ugal" | "valiant" => false,
        other => panic!("say here whether '{other}' is minimal"),
    }
}
