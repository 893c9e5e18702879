//! Import circles: files of a crate that use each other, directly or through others. A circle has two files at most, so
//! that every file can be read without the rest of its crate. The folders and files at the top of a crate have no
//! circle at all, so that they have an order. The list of a registry does not count: the registry names its parts, and
//! each part implements what stands beside the list.
//!
//! Paths in arguments of macros are not seen, and `pub use` alone uses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

/// Registries, each with its crate and the folder of its parts, which it may name; the empty name is the top of a
/// crate.
const REGISTRIES: &[[&str; 3]] = &[
    ["experiment", "setup::job_trace", "setup::job_trace"],
    ["experiment", "setup::mapping", "setup::mapping"],
    ["experiment", "setup::placement", "setup::placement"],
    ["experiment", "setup::schedule", "setup::schedule"],
    ["export", "format", ""],
    ["mpi", "collectives", "collectives"],
    ["mpi", "collectives::tables", "collectives::tables"],
    ["results", "report::plots", "report::plots"],
    ["results", "verdict", "verdict"],
    ["routing", "registry", ""],
    ["routing", "segments", "segments"],
    ["sim", "lp::shortcuts", "lp::shortcuts"],
    ["topology", "registry", ""],
    ["workload", "motif", "motif"],
    ["workload", "motif::applications", "motif::applications"],
    ["workload", "trace", ""],
    ["workload", "traffic", "traffic"],
    ["workload", "traffic::size", "traffic::size"],
];

/// Uses that do not count: the crate, the file, the file that it uses, and why they use each other.
const MUTUAL: &[[&str; 4]] = &[
    [
        "fabric",
        "nic::queued::pairs",
        "nic::queued",
        "windows choose among the messages of a port, and a port keeps windows",
    ],
    [
        "config",
        "setting",
        "section",
        "a value can be a table, and a table has values",
    ],
    [
        "routing",
        "segments",
        "ugal",
        "a path made of segments can choose within a group as UGAL does, and UGAL chooses among such paths",
    ],
    [
        "routing",
        "segments::groups_by_router",
        "ugal",
        "as in `segments`",
    ],
    [
        "workload",
        "program",
        "recording_window",
        "a workload offers the recording that can be cut, which is a workload",
    ],
    [
        "workload",
        "recording_window",
        "recording_window::cut",
        "the folder cuts recordings, and its steps use what a recording offers",
    ],
    [
        "workload",
        "dumpi",
        "dumpi::scan",
        "an archive is read by a scan of it",
    ],
    [
        "workload",
        "liballprof",
        "liballprof::scan",
        "an archive is read by a scan of it",
    ],
];

/// A module or a path, as its segments from the root of the crate.
type Segments = Vec<String>;

/// The modules of a crate, one for each file, with the paths that each imports and mentions.
#[derive(Clone, Default)]
struct Modules {
    files: BTreeMap<Segments, File>,
    /// Registries, each with the folder of its parts.
    registries: Vec<[Segments; 2]>,
    /// Uses that do not count.
    mutual: Vec<[Segments; 2]>,
    /// What [`Modules::named`] has found, after all files are read.
    named: OnceLock<BTreeMap<Segments, BTreeSet<Segments>>>,
}

/// Modules, each with those that it uses.
type Uses<'a> = BTreeMap<&'a Segments, BTreeSet<&'a Segments>>;

/// What one file refers to.
#[derive(Clone, Default)]
struct File {
    /// Paths of `use` items by the name that they bind; `*` of a path binds nothing.
    imports: BTreeMap<String, Segments>,
    /// All paths, those of `use` items included but for those of `pub use`, as written.
    mentioned: BTreeSet<Segments>,
}

impl File {
    fn import(&mut self, prefix: &Segments, tree: &UseTree, is_used: bool) {
        let (name, rest) = match tree {
            UseTree::Path(path) => (path.ident.to_string(), Some(&*path.tree)),
            UseTree::Name(name) => (name.ident.to_string(), None),
            UseTree::Rename(name) => (name.ident.to_string(), None),
            UseTree::Glob(_) => {
                self.mentioned.insert(prefix.clone());
                return;
            }
            UseTree::Group(group) => {
                let items = group.items.iter();
                return items.for_each(|tree| self.import(prefix, tree, is_used));
            }
        };
        let mut path = prefix.clone();
        if name != "self" || prefix.is_empty() {
            path.push(name.clone());
        }
        let Some(rest) = rest else {
            let bound = match tree {
                UseTree::Rename(renamed) => renamed.rename.to_string(),
                _ => path.last().cloned().unwrap_or(name),
            };
            self.imports.insert(bound, path.clone());
            if is_used {
                self.mentioned.insert(path);
            }
            return;
        };
        self.import(&path, rest, is_used);
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    let conditions = attributes.iter().filter(|a| a.path().is_ident("cfg"));
    conditions
        .filter_map(|a| a.parse_args::<syn::Path>().ok())
        .any(|condition| condition.is_ident("test"))
}

impl<'a> Visit<'a> for File {
    fn visit_item(&mut self, item: &'a Item) {
        let for_tests = match item {
            Item::Mod(item) => is_test(&item.attrs),
            Item::Use(item) => is_test(&item.attrs),
            Item::Fn(item) => is_test(&item.attrs),
            Item::Impl(item) => is_test(&item.attrs),
            _ => false,
        };
        if !for_tests {
            visit::visit_item(self, item);
        }
    }

    /// A module within the file belongs to the file; its `super` is the file itself.
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        let mut inner = File::default();
        visit::visit_item_mod(&mut inner, item);
        let outer = inner.mentioned.into_iter().map(|mut path| {
            if path.first().is_some_and(|first| first == "super") {
                path[0] = "self".to_string();
            }
            path
        });
        self.mentioned.extend(outer);
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        let is_used = !matches!(item.vis, Visibility::Public(_));
        self.import(&Vec::new(), &item.tree, is_used);
    }

    /// `pub(super)` uses nothing.
    fn visit_visibility(&mut self, _: &'a Visibility) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        let segments = path.segments.iter().map(|segment| segment.ident.to_string());
        self.mentioned.insert(segments.collect());
        visit::visit_path(self, path);
    }
}

impl Modules {
    /// Reads all files of a crate but those of its tests.
    fn read(sources: &Path) -> Self {
        let mut modules = Self::default();
        let mut folders = vec![sources.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder of sources") {
                let path = entry.expect("an entry").path();
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_string();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "rs")
                    && !(stem.ends_with("tests") || stem == "test_support")
                {
                    modules.add(sources, &path);
                }
            }
        }
        modules
    }

    fn add(&mut self, sources: &Path, path: &Path) {
        let inside = path
            .strip_prefix(sources)
            .expect("a file of the crate")
            .with_extension("");
        let mut module: Segments = inside
            .iter()
            .map(|part| part.to_string_lossy().to_string())
            .collect();
        if module.last().is_some_and(|last| last == "mod") || module == ["lib"] {
            module.pop();
        }
        self.parse(module, &std::fs::read_to_string(path).expect("readable"));
    }

    fn parse(&mut self, module: Segments, text: &str) {
        let mut file = File::default();
        file.visit_file(&syn::parse_file(text).expect("Rust"));
        self.files.insert(module, file);
    }

    /// The module that declares what a path in `module` means, or `None` for a path of another crate.
    fn resolve(&self, module: &Segments, path: &[String]) -> Option<Segments> {
        let (first, rest) = path.split_first()?;
        let child = [module.as_slice(), &path[..1]].concat();
        let start = match first.as_str() {
            "crate" => Vec::new(),
            "self" => module.clone(),
            "super" => module[..module.len().checked_sub(1)?].to_vec(),
            _ if self.files.contains_key(&child) => child,
            name => {
                let import = self.files.get(module)?.imports.get(name)?;
                // A name that imports itself stands for a crate.
                (import[0] != *name).then_some(())?;
                return self.resolve(module, &[import, rest].concat());
            }
        };
        let Some(next) = rest.first() else {
            return Some(start);
        };
        let relative = next == "super" || self.files.contains_key(&[start.as_slice(), &rest[..1]].concat());
        let reexport = self
            .files
            .get(&start)
            .is_some_and(|file| file.imports.contains_key(next));
        if start != *module && (relative || reexport) {
            return self.resolve(&start, rest).or(Some(start));
        }
        if relative {
            self.resolve(&start, rest)
        } else {
            Some(start)
        }
    }

    /// The modules that a module names, itself left out.
    fn names(&self, module: &Segments) -> BTreeSet<Segments> {
        let mentioned = self.files[module].mentioned.iter();
        mentioned
            .filter_map(|path| self.resolve(module, path))
            .filter(|named| named != module && self.files.contains_key(named))
            .collect()
    }

    /// Whether a use does not count: of a part by its registry, or one of the listed uses.
    fn is_excepted(&self, module: &Segments, used: &Segments) -> bool {
        let mut registries = self.registries.iter();
        registries.any(|[registry, parts]| registry == module && used.starts_with(parts))
            || self.mutual.iter().any(|[from, to]| (from, to) == (module, used))
    }

    /// All modules, each with those that it names. The root of a crate names everything and counts for none.
    fn named(&self) -> &BTreeMap<Segments, BTreeSet<Segments>> {
        self.named.get_or_init(|| {
            let modules = self.files.keys().filter(|module| !module.is_empty());
            let named = modules.map(|module| (module.clone(), self.names(module)));
            named.collect()
        })
    }

    /// All modules, each with those that it uses.
    fn uses(&self) -> Uses<'_> {
        let counted = |module, used: &&Segments| !used.is_empty() && !self.is_excepted(module, used);
        let named = self.named().iter();
        let uses = named.map(|(module, named)| {
            (
                module,
                named.iter().filter(|used| counted(module, used)).collect(),
            )
        });
        uses.collect()
    }

    /// The modules at the top of the crate, each with what is in its folder.
    fn joined_by_folder(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut joined: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (module, used) in self.uses() {
            let top = &module[0];
            let others = used.iter().map(|used| &used[0]).filter(|used| *used != top);
            joined.entry(top.clone()).or_default().extend(others.cloned());
        }
        joined
    }

    /// What remains of the modules at the top if those that use none of the others are taken away, again and again:
    /// those in circles, and those that use them, each with what it uses of the others.
    fn without_order(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut rest = self.joined_by_folder();
        loop {
            let lowest: Vec<String> = rest
                .iter()
                .filter(|(_, used)| used.is_empty())
                .map(|(top, _)| top.clone())
                .collect();
            if lowest.is_empty() {
                return rest;
            }
            for top in lowest {
                rest.remove(&top);
                rest.values_mut().for_each(|used| {
                    used.remove(&top);
                });
            }
        }
    }

    /// Groups of more than two files that use each other.
    fn circles(&self) -> BTreeSet<Vec<String>> {
        let uses = self.uses();
        let modules: Vec<&Segments> = uses.keys().copied().collect();
        let position = |module: &Segments| modules.binary_search(&module).expect("a module of the crate");
        let used = uses
            .values()
            .map(|used| used.iter().map(|used| position(used)).collect());
        let used: Vec<Vec<usize>> = used.collect();
        let needs: Vec<Vec<bool>> = (0..modules.len()).map(|module| needs(&used, module)).collect();
        let circle = |module: usize| -> Vec<String> {
            let both = (0..modules.len()).filter(|other| needs[module][*other] && needs[*other][module]);
            both.map(|other| modules[other].join("::")).collect()
        };
        let circles: BTreeSet<_> = (0..modules.len()).map(circle).collect();
        circles.into_iter().filter(|circle| circle.len() > 2).collect()
    }

    /// Reads a crate of the workspace, with its exceptions.
    fn read_crate(krate: &str) -> Self {
        let registries = REGISTRIES.iter().filter(|[of, ..]| *of == krate);
        let mutual = MUTUAL.iter().filter(|[of, ..]| *of == krate);
        Self {
            registries: registries
                .map(|[_, registry, parts]| [registry, parts].map(|name| segments(name)))
                .collect(),
            mutual: mutual
                .map(|[_, from, to, _]| [from, to].map(|name| segments(name)))
                .collect(),
            ..Self::read(&sources(krate))
        }
    }
}

/// Which modules a module needs, directly or through others. `used` has the modules that each uses.
fn needs(used: &[Vec<usize>], module: usize) -> Vec<bool> {
    let mut needed = vec![false; used.len()];
    let mut next = vec![module];
    while let Some(module) = next.pop() {
        next.extend(
            used[module]
                .iter()
                .filter(|used| !std::mem::replace(&mut needed[**used], true)),
        );
    }
    needed
}

/// The segments of a module's name; the empty name is the root.
fn segments(name: &str) -> Segments {
    let parts = name.split("::").filter(|part| !part.is_empty());
    parts.map(String::from).collect()
}

/// All crates with sources, by the names of their folders. They are read once for all tests.
static CRATES: LazyLock<BTreeMap<String, Modules>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = std::fs::read_dir(folder).expect("the folder of crates");
    let names = folders.map(|entry| entry.expect("an entry").file_name().to_string_lossy().to_string());
    let crates = names.filter(|name| sources(name).is_dir()).map(|name| {
        let modules = Modules::read_crate(&name);
        modules.named();
        (name, modules)
    });
    crates.collect()
});

fn sources(krate: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{krate}/src"))
}

#[test]
fn no_circle_of_imports_has_more_than_two_files() {
    for known in ["des", "mpi", "results", "sim"] {
        assert!(CRATES[known].files.len() > 10, "the files of {known} are read");
    }
    for (krate, modules) in &*CRATES {
        let circles = modules.circles();
        assert!(
            circles.is_empty(),
            "crate {krate}: files that use each other: {circles:#?}"
        );
    }
}

#[test]
fn folders_have_an_order() {
    for (krate, high, low) in [
        ("sim", "run", "lp"),
        ("experiment", "draft", "setup"),
        ("mpi", "rank", "path"),
    ] {
        assert!(
            CRATES[krate].joined_by_folder()[high].contains(low),
            "the folders of {krate} are read"
        );
    }
    for (krate, modules) in &*CRATES {
        let circles = modules.without_order();
        assert!(
            circles.is_empty(),
            "crate {krate}: folders that use each other, and their users: {circles:#?}"
        );
    }
}

/// An exception that nothing needs would hide a later circle.
#[test]
fn every_exception_is_needed() {
    let has_circles =
        |modules: &Modules| !modules.circles().is_empty() || !modules.without_order().is_empty();
    for (krate, modules) in &*CRATES {
        let mut modules = modules.clone();
        for index in 0..modules.registries.len() {
            let registry = modules.registries.remove(index);
            assert!(
                has_circles(&modules),
                "crate {krate}: {registry:?} is in no circle"
            );
            modules.registries.insert(index, registry);
        }
        for index in 0..modules.mutual.len() {
            let mutual = modules.mutual.remove(index);
            assert!(
                has_circles(&modules),
                "crate {krate}: {mutual:?} are in no circle"
            );
            modules.mutual.insert(index, mutual);
        }
    }
}

#[test]
fn a_circle_of_folders_is_found() {
    let of = |last: (&str, &str)| {
        let mut modules = Modules::default();
        let files = [
            ("a", "mod below; mod above;"),
            ("a::below", "struct Below;"),
            ("b", "mod over;"),
            ("b::over", "use crate::a::below::Below; struct Over(Below);"),
            ("c", "use crate::b::over::Over; use crate::a::below::Below;"),
            last,
        ];
        for (name, text) in files {
            modules.parse(name.split("::").map(String::from).collect(), text);
        }
        modules.without_order().into_keys().collect::<Vec<_>>()
    };
    // No file uses a file that uses it, but the folders a and b do. c uses both.
    assert_eq!(of(("a::above", "use crate::b::over::Over;")), ["a", "b", "c"]);
    assert!(of(("d", "use crate::b::over::Over;")).is_empty());
}

#[test]
fn a_registry_may_list_its_parts_and_export_them() {
    let mut modules = Modules::default();
    for (name, text) in [
        (
            "kinds",
            "mod a; mod b; trait Kind {} const KINDS: [&str; 2] = [a::NAME, b::NAME];",
        ),
        ("kinds::a", "use super::Kind; const NAME: &str = \"a\";"),
        ("kinds::b", "use super::Kind; const NAME: &str = \"b\";"),
        ("facade", "mod a; mod b; pub use a::A; pub use b::B; struct Both;"),
        ("facade::a", "use super::Both; pub struct A;"),
        ("facade::b", "use super::Both; pub struct B;"),
    ] {
        modules.parse(segments(name), text);
    }
    let registry = BTreeSet::from([["kinds", "kinds::a", "kinds::b"].map(String::from).to_vec()]);
    assert_eq!(modules.circles(), registry);
    modules.registries.push(["kinds", "kinds"].map(segments));
    assert!(modules.circles().is_empty());
}

#[test]
fn a_circle_of_three_files_is_found() {
    let of = |files: [(&str, &str); 4]| {
        let mut modules = Modules::default();
        for (name, text) in files {
            modules.parse(
                if name.is_empty() {
                    Vec::new()
                } else {
                    vec![name.to_string()]
                },
                text,
            );
        }
        modules.circles()
    };
    // By an import, by a path in a function through what the root exports again, and by an imported module.
    let lib = ("", "mod a; mod b; mod c; pub use b::B;");
    let a = ("a", "use crate::B; struct A(B);");
    let c = ("c", "use super::a; fn c() -> a::A { todo() }");
    let circles = of([lib, a, ("b", "struct B; fn b() { crate::c::c(); }"), c]);
    assert_eq!(
        circles,
        BTreeSet::from([["a", "b", "c"].map(String::from).to_vec()])
    );
    // Tests may use everything.
    let tests = "struct B; #[cfg(test)] mod tests { fn b() { crate::c::c(); } }";
    assert!(of([lib, a, ("b", tests), c]).is_empty());
}
