//! Import circles: files of `sim`, `experiment` and `des` that use each other, directly or through others. A circle has
//! two files at most, so that every file can be read without the rest of its crate. A registry and its parts are an
//! exception: the registry lists the parts, and each part implements a trait that stands beside the list. The folders
//! and files at the top of `sim` and `experiment` have no circle at all, so that they have an order.
//!
//! Paths in arguments of macros are not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

/// Registries whose circles with their own parts are allowed.
const REGISTRIES: &[&str] = &[
    "setup::placement",
    "setup::mapping",
    "setup::schedule",
    "setup::job_trace",
    "lp::shortcuts",
];

/// A module or a path, as its segments from the root of the crate.
type Segments = Vec<String>;

/// The modules of a crate, one for each file, with the paths that each imports and mentions.
#[derive(Default)]
struct Modules {
    files: BTreeMap<Segments, File>,
}

/// What one file refers to.
#[derive(Default)]
struct File {
    /// Paths of `use` items by the name that they bind; `*` of a path binds nothing.
    imports: BTreeMap<String, Segments>,
    /// All paths, those of `use` items included, as written.
    mentioned: BTreeSet<Segments>,
}

impl File {
    fn import(&mut self, prefix: &Segments, tree: &UseTree) {
        let (name, rest) = match tree {
            UseTree::Path(path) => (path.ident.to_string(), Some(&*path.tree)),
            UseTree::Name(name) => (name.ident.to_string(), None),
            UseTree::Rename(name) => (name.ident.to_string(), None),
            UseTree::Glob(_) => {
                self.mentioned.insert(prefix.clone());
                return;
            }
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.import(prefix, tree)),
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
            self.mentioned.insert(path);
            return;
        };
        self.import(&path, rest);
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
        self.import(&Vec::new(), &item.tree);
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

    /// The modules that a module uses.
    fn uses(&self, module: &Segments) -> BTreeSet<Segments> {
        let mentioned = self.files[module].mentioned.iter();
        mentioned
            .filter_map(|path| self.resolve(module, path))
            .filter(|used| used != module && self.files.contains_key(used))
            .collect()
    }

    /// The modules at the top of the crate, each with what is in its folder.
    fn joined_by_folder(&self) -> BTreeMap<&str, BTreeSet<String>> {
        let mut uses: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for module in self.files.keys() {
            let Some(top) = module.first() else { continue };
            let used = self.uses(module).into_iter();
            let others = used
                .filter_map(|used| used.into_iter().next())
                .filter(|used| used != top);
            uses.entry(top).or_default().extend(others);
        }
        uses
    }

    /// What remains of the modules at the top if those that use none of the others are taken away, again and again:
    /// those in circles, and those that use them, each with what it uses of the others.
    fn without_order(&self) -> BTreeMap<&str, BTreeSet<String>> {
        let mut rest = self.joined_by_folder();
        loop {
            let lowest: Vec<&str> = rest
                .iter()
                .filter(|(_, used)| used.is_empty())
                .map(|(top, _)| *top)
                .collect();
            if lowest.is_empty() {
                return rest;
            }
            for top in lowest {
                rest.remove(top);
                rest.values_mut().for_each(|used| {
                    used.remove(top);
                });
            }
        }
    }

    /// All modules that a module needs, directly or through others. The root of a crate names everything and counts
    /// for none.
    fn needs(&self, module: &Segments) -> BTreeSet<Segments> {
        let mut needed = BTreeSet::new();
        let mut next = vec![module.clone()];
        while let Some(module) = next.pop() {
            let used = self.uses(&module).into_iter().filter(|used| !used.is_empty());
            next.extend(used.filter(|used| needed.insert(used.clone())));
        }
        needed
    }

    /// Groups of more than two files that use each other, registries with their parts left out.
    fn circles(&self) -> BTreeSet<Vec<String>> {
        let modules = self.files.keys().filter(|module| !module.is_empty());
        let needs: BTreeMap<_, _> = modules.map(|module| (module, self.needs(module))).collect();
        let circle = |module: &Segments| -> Vec<String> {
            let both = needs[module].iter().filter(|other| needs[other].contains(module));
            both.map(|other| other.join("::")).collect()
        };
        let circles: BTreeSet<_> = needs.keys().map(|module| circle(module)).collect();
        let is_registry = |circle: &[String]| {
            let of = |registry: &str| {
                let part = format!("{registry}::");
                circle
                    .iter()
                    .all(|file| file == registry || file.starts_with(&part))
            };
            REGISTRIES.iter().any(|registry| of(registry))
        };
        circles
            .into_iter()
            .filter(|circle| circle.len() > 2 && !is_registry(circle))
            .collect()
    }
}

fn sources(krate: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{krate}/src"))
}

#[test]
fn no_circle_of_imports_has_more_than_two_files() {
    for krate in ["des", "experiment", "sim"] {
        let modules = Modules::read(&sources(krate));
        assert!(modules.files.len() > 10, "the files of {krate} are read");
        let circles = modules.circles();
        assert!(
            circles.is_empty(),
            "crate {krate}: files that use each other: {circles:#?}"
        );
    }
}

#[test]
fn folders_have_an_order() {
    for (krate, high, low) in [("sim", "run", "lp"), ("experiment", "draft", "setup")] {
        let modules = Modules::read(&sources(krate));
        assert!(
            modules.joined_by_folder()[high].contains(low),
            "the folders of {krate} are read"
        );
        let circles = modules.without_order();
        assert!(
            circles.is_empty(),
            "crate {krate}: folders that use each other, and their users: {circles:#?}"
        );
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
        let left = modules.without_order();
        left.keys().map(|top| top.to_string()).collect::<Vec<_>>()
    };
    // No file uses a file that uses it, but the folders a and b do. c uses both.
    assert_eq!(of(("a::above", "use crate::b::over::Over;")), ["a", "b", "c"]);
    assert!(of(("d", "use crate::b::over::Over;")).is_empty());
}

#[test]
fn a_registry_is_a_circle_with_its_parts() {
    let modules = Modules::read(&sources("experiment"));
    let placement = ["setup", "placement"].map(String::from).to_vec();
    let linear = ["setup", "placement", "linear"].map(String::from).to_vec();
    assert!(modules.needs(&placement).contains(&linear) && modules.needs(&linear).contains(&placement));
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
