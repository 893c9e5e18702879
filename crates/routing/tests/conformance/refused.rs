//! Invalid parameters and unsuitable algorithms are refused with their location.

use fabricsim_routing::build;

use crate::networks::NETWORKS;
use crate::walk::{network, section};

#[test]
fn wrong_parameters_are_refused_where_they_stand() {
    let dragonfly = network(NETWORKS[1]);
    let dragonfly_plus = network(
        "kind = \"dragonfly-plus\"\nhosts_per_leaf = 1\nleaves_per_group = 2\nglobal_links_per_spine = 2\ngroups = 3",
    );
    let torus = network("kind = \"torus\"\nsizes = [4, 4]");
    let hyperx = network("kind = \"hyperx\"\nshape = [3, 3]");
    let many_links = network(
        "kind = \"dragonfly\"\nhosts_per_router = 1\nrouters_per_group = 8\nlinks_between_groups = 65537\ngroups = 3",
    );
    let slim_fly = network("kind = \"slim-fly\"\nq = 3");
    for (algorithm, parameters, topology, expected) in [
        (
            "minimum",
            "",
            &dragonfly,
            "x.toml:1: algorithm: unknown name 'minimum'; did you mean 'minimal'?",
        ),
        // Only algorithms that can route the topology are suggested.
        (
            "minimum",
            "",
            &torus,
            "x.toml:1: algorithm: unknown name 'minimum'; expected one of: dimension-order, minimal-adaptive, par, ugal, valiant",
        ),
        (
            "minimal",
            "",
            &torus,
            "x.toml:1: algorithm: 'minimal' works on dragonfly, dragonfly-2d, dragonfly-plus, express-mesh, graph, hyperx, slim-fly, not on \
             this torus of 4 x 4 routers with 1 host each; expected one of: dimension-order, minimal-adaptive, par, ugal, valiant",
        ),
        (
            "dimension-order",
            "",
            &dragonfly,
            "'dimension-order' works on torus, mesh, hyperx, express-mesh, not on this dragonfly of 3 groups of 2 routers with 2 \
             hosts each; expected one of: minimal, par, piggyback, ugal, valiant",
        ),
        (
            "ugal",
            "bias = 7680",
            &dragonfly,
            "x.toml:2: bias: 7680 has no unit; expected a size",
        ),
        (
            "ugal",
            "weight = -1",
            &dragonfly,
            "x.toml:2: weight: -1 is out of range; expected a number from 0 to 4294967295",
        ),
        (
            "par",
            "weight = \"2\"",
            &dragonfly,
            "x.toml:2: weight: \"2\" is not a number such as 2 or 0.5",
        ),
        (
            "ugal",
            "metric = \"credit\"",
            &dragonfly,
            "x.toml:2: metric: unknown name 'credit'; did you mean 'credits'?",
        ),
        (
            "doal",
            "metric_scope = \"vcs\"",
            &hyperx,
            "x.toml:2: metric_scope: unknown name 'vcs'; did you mean 'vc'?",
        ),
        (
            "minimal",
            "metric = \"queue\"",
            &dragonfly,
            "x.toml:2: metric: unless paths = \"adaptive\" no loads are compared; expected total, or no metric",
        ),
        (
            "minimal",
            "metric_scope = \"vc\"",
            &slim_fly,
            "x.toml:2: metric_scope: unless paths = \"adaptive\" no loads are compared; expected port, or no metric_scope",
        ),
        (
            "valiant",
            "metric = \"queue\"\npaths = \"random\"",
            &dragonfly,
            "x.toml:2: metric: unless paths = \"adaptive\" or local = \"ugal\" no loads are compared; expected total, or no metric",
        ),
        (
            "valiant",
            "metric_scope = \"vc\"",
            &torus,
            "x.toml:2: metric_scope: unless paths = \"adaptive\" or local = \"ugal\" no loads are compared",
        ),
        (
            "ugal",
            "intermediate = \"routers\"",
            &dragonfly,
            "x.toml:2: intermediate: unknown name 'routers'; did you mean 'router'?",
        ),
        (
            "ugal",
            "local = \"valiant\"",
            &dragonfly,
            "x.toml:2: local: unknown name 'valiant'; expected one of: minimal, ugal",
        ),
        (
            "valiant",
            "local = \"ugal\"\nintermediate = \"any-router\"",
            &dragonfly,
            "x.toml:2: local: with intermediate = \"any-router\" packets leave their group anyway; expected minimal",
        ),
        (
            "par",
            "local = \"ugal\"",
            &slim_fly,
            "x.toml:2: local: this Slim Fly with q = 3 of 18 routers with 3 hosts and 5 links to routers each has no groups; expected minimal",
        ),
        (
            "dimension-order",
            "deadlock = \"bubbles\"",
            &torus,
            "x.toml:2: deadlock: unknown name 'bubbles'; did you mean 'bubble'?",
        ),
        (
            "dimension-order",
            "deadlock = \"bubble\"",
            &hyperx,
            "x.toml:2: deadlock: 'bubble' is for the rings of a torus, which this HyperX of 3 x 3 routers with 1 host \
             each does not have",
        ),
        (
            "minimal-adaptive",
            "escape = \"bubble\"",
            &network("kind = \"mesh\"\nsizes = [4]"),
            "x.toml:2: escape: 'bubble' is for the rings of a torus",
        ),
        (
            "minimal-adaptive",
            "adaptive_vcs = 0",
            &torus,
            "x.toml:2: adaptive_vcs: 0 is out of range; expected 1 to 253",
        ),
        (
            "dal",
            "adaptive_vcs = 255",
            &hyperx,
            "x.toml:2: adaptive_vcs: 255 is out of range; expected 1 to 254",
        ),
        (
            "doal",
            "bias = 7",
            &hyperx,
            "x.toml:2: bias: 7 has no unit; expected a size",
        ),
        (
            "doal",
            "",
            &torus,
            "'doal' works on hyperx, not on this torus of 4 x 4 routers",
        ),
        (
            "ugal",
            "information = \"group\"",
            &slim_fly,
            "has no groups; expected router",
        ),
        (
            "piggyback",
            "period = \"0 ns\"",
            &dragonfly,
            "x.toml:2: period: 0 is no interval; expected a time such as \"100 ns\"",
        ),
        (
            "valiant",
            "intermediate = \"group\"",
            &slim_fly,
            "has no groups to go through; expected router",
        ),
        (
            "valiant",
            "intermediate = \"group\"",
            &torus,
            "x.toml:2: intermediate: this torus of 4 x 4 routers with 1 host each has no groups to go through; expected router",
        ),
        (
            "par",
            "paths = \"random\"",
            &torus,
            "x.toml:2: paths: this torus of 4 x 4 routers with 1 host each has no groups, and only they have a choice here; \
             expected hashed",
        ),
        (
            "piggyback",
            "",
            &torus,
            "'piggyback' works on dragonfly, dragonfly-2d, dragonfly-plus, not on this torus of 4 x 4 routers with 1 host \
             each; expected one of: dimension-order, minimal-adaptive, par, ugal, valiant",
        ),
        (
            "ugal",
            "intermediate = \"global-link\"",
            &slim_fly,
            "has no groups to go through; expected router",
        ),
        (
            "ugal",
            "intermediate = \"any-router\"",
            &dragonfly,
            "x.toml:2: intermediate: unknown name 'any-router'; did you mean 'any-group'?",
        ),
        (
            "valiant",
            "intermediate = \"global-link\"\nlocal = \"minimal\"",
            &many_links,
            "x.toml:2: intermediate: with \"global-link\" there are at most 65536 links between two groups, but here are \
             65537; expected router or group",
        ),
        (
            "par",
            "detours = \"link\"",
            &dragonfly,
            "x.toml:2: detours: unknown name 'link'; did you mean 'linked'?",
        ),
        (
            "par",
            "detours = \"linked\"",
            &torus,
            "x.toml:2: detours: this torus of 4 x 4 routers with 1 host each has no groups; expected any",
        ),
        (
            "ugal",
            "intermediate_spine = \"leaf\"",
            &torus,
            "x.toml:2: intermediate_spine: this torus of 4 x 4 routers with 1 host each has no groups; expected direct",
        ),
        (
            "ugal",
            "intermediate_spine = \"leaf\"",
            &dragonfly,
            "x.toml:2: intermediate_spine: all routers of this network have hosts, so that it has no spines; expected direct",
        ),
        (
            "par",
            "intermediate_spine = \"load\"",
            &dragonfly_plus,
            "x.toml:2: intermediate_spine: paths through a router lead to one with hosts; expected direct, or intermediate = \
             \"group\" or \"global-link\"",
        ),
        (
            "valiant",
            "intermediate_spine = \"load\"\nintermediate = \"group\"\npaths = \"hashed\"",
            &dragonfly_plus,
            "x.toml:2: intermediate_spine: unless paths = \"adaptive\" no loads are compared; expected direct or leaf",
        ),
        (
            "par",
            "candidates = 0",
            &slim_fly,
            "x.toml:2: candidates: 0 is not possible; expected at least 1",
        ),
        (
            "ugal",
            "cost = \"loads\"",
            &slim_fly,
            "x.toml:2: cost: unknown name 'loads'; did you mean 'load'?",
        ),
        (
            "minimal",
            "paths = \"adaptiv\"",
            &dragonfly,
            "x.toml:2: paths: unknown name 'adaptiv'; did you mean 'adaptive'?",
        ),
        (
            "minimal",
            "paths = \"random\"",
            &slim_fly,
            "x.toml:2: paths: unknown name 'random'; expected one of: hashed, adaptive",
        ),
        (
            "minimal",
            "vcs = \"by-phase\"",
            &dragonfly_plus,
            "between any two groups is no dragonfly; expected by-segment",
        ),
        (
            "minimal",
            "vcs = \"by-phase\"",
            &slim_fly,
            "is no dragonfly; expected by-segment",
        ),
        (
            "ugal",
            "vcs = \"by-phase\"\nintermediate = \"group\"",
            &dragonfly,
            "x.toml:2: vcs: phases are those of paths through a router of another group; expected by-segment, or \
             intermediate = \"router\" or \"any-group\"",
        ),
        (
            "ugal",
            "vcs = \"by-phase\"\nlocal = \"ugal\"",
            &dragonfly,
            "expected by-segment, or local = \"minimal\"",
        ),
        (
            "dimension-order",
            "paths = \"random\"",
            &hyperx,
            "has no rings, and only they have a choice; expected hashed",
        ),
        (
            "dimension-order",
            "deadlock = \"dateline-at-entry\"",
            &hyperx,
            "x.toml:2: deadlock: 'dateline-at-entry' is for the rings of a torus, which this HyperX",
        ),
        (
            "valiant",
            "intermediate = \"group\"",
            &hyperx,
            "has no groups to go through; expected router or any-router",
        ),
        (
            "ugal",
            "intermediate = \"any-group\"",
            &slim_fly,
            "has no groups to go through; expected router",
        ),
        (
            "ugal",
            "paths = \"adaptive\"",
            &slim_fly,
            "has no groups, and only they have a choice here; expected hashed",
        ),
    ] {
        let Err(error) = build(&section(algorithm, parameters), topology.clone()) else {
            panic!("{algorithm} {parameters}: was built");
        };
        let error = error.to_string();
        assert!(error.contains(expected), "{error}\nnot\n{expected}");
    }
}
