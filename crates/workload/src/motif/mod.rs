//! Motifs: the communication of an application, generated for any number of ranks.
//!
//! A motif is one file with a [`Skeleton`] and a [`Motif`], and one line in [`MOTIFS`]. A skeleton gives the
//! operations of a rank in a step from these two numbers alone, so that a rank needs memory for one step only.
//! Motifs know neither networks nor MPI's implementation.
//!
//! Sources: Ember (<https://github.com/sstsimulator/ember>, and the motifs of the same name in SST,
//! <https://github.com/sstsimulator/sst-elements>), Chatterbug (<https://github.com/LLNL/chatterbug>); each
//! file names its source. `docs/methods/motifs.md` has parameters and formulas.

mod all_to_all;
mod allreduce;
mod amg;
mod applications;
mod crystal_router;
mod cycle;
mod fft3d;
mod grid;
mod halo;
mod halo3d;
mod halo3d_26;
mod incast;
mod multigrid;
mod parameters;
mod phases;
mod ping_pong;
mod random_pairs;
mod skeleton;
mod stencil4d;
mod subcom3d_a2a;
mod sweep3d;
#[cfg(test)]
mod test_support;

use std::sync::Arc;

use config::{Error, Parameter, Section};

use crate::Workload;

pub use applications::PRESETS;
pub use grid::{RankGrid, most_cubic};
pub use phases::{OVER, PHASE};
pub use skeleton::{Script, Skeleton, workload};

/// One motif.
pub struct Motif {
    /// Name in experiments, `fabricsim list` and the docs.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Its code or paper.
    pub source: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Parameters in TOML of a small one, for tests.
    pub example: &'static str,
    /// Reads the parameters and builds it.
    pub build: fn(&Section) -> Result<Arc<dyn Workload>, Error>,
}

/// All motifs, in alphabetical order.
pub static MOTIFS: &[Motif] = &[
    all_to_all::MOTIF,
    allreduce::MOTIF,
    amg::MOTIF,
    applications::atratus::MOTIF,
    crystal_router::MOTIF,
    fft3d::MOTIF,
    halo3d::MOTIF,
    halo3d_26::MOTIF,
    applications::hypre::MOTIF,
    incast::MOTIF,
    applications::mercury::MOTIF,
    applications::milc::MOTIF,
    multigrid::MOTIF,
    applications::paradis::MOTIF,
    applications::pf3d::MOTIF,
    phases::MOTIF,
    ping_pong::MOTIF,
    applications::qbox::MOTIF,
    random_pairs::MOTIF,
    stencil4d::MOTIF,
    subcom3d_a2a::MOTIF,
    sweep3d::MOTIF,
];

/// Builds the motif in the key `motif` of a job's table `workload`.
///
/// # Errors
/// The motif is missing or unknown, or its parameters are invalid.
pub fn read(section: &Section) -> Result<Arc<dyn Workload>, Error> {
    let name: String = section.required("motif")?;
    match MOTIFS.iter().find(|m| m.name == name) {
        Some(motif) => (motif.build)(section.declare(motif.parameters)),
        None => Err(section.unknown_name("motif", &name, MOTIFS.iter().map(|m| m.name))),
    }
}

#[cfg(test)]
mod tests {
    use super::test_support::{error, open, section, totals};
    use super::*;
    use crate::WORLD;

    #[test]
    fn wrong_names_are_answered_with_the_nearest() {
        let text = read(&section("halo3d-62", ""))
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("motif: unknown name 'halo3d-62'; did you mean 'halo3d-26'?"),
            "{text}"
        );
        let none = Section::from_toml("ranks = 4", "x.toml").unwrap();
        assert!(read(&none).is_err());
    }

    #[test]
    fn motifs_are_sorted_and_every_entry_builds() {
        assert!(MOTIFS.is_sorted_by_key(|m| m.name));
        for motif in MOTIFS {
            let workload = open(motif.name, motif.example);
            assert!(workload.reopens(), "{}", motif.name);
            let world: Vec<u32> = (0..workload.ranks()).collect();
            assert_eq!(workload.communicators()[WORLD as usize], world);
            totals(motif.name, motif.example);
        }
    }

    /// The example of a motif as it is, and with each value of each parameter that has a list of them.
    fn with_each_choice(motif: &Motif) -> Vec<String> {
        let mut texts = vec![motif.example.to_string()];
        for parameter in motif.parameters {
            let config::Type::Choice(values) = parameter.kind else {
                continue;
            };
            let key = format!("{} =", parameter.name);
            let others: Vec<&str> = motif
                .example
                .lines()
                .filter(|line| !line.starts_with(&key))
                .collect();
            let text = |value: &&str| format!("{}\n{key} {value:?}", others.join("\n"));
            texts.extend(values.iter().map(text));
        }
        texts
    }

    #[test]
    fn parameters_are_those_that_are_asked_for() {
        for motif in MOTIFS {
            let listed: Vec<&str> = motif.parameters.iter().map(|parameter| parameter.name).collect();
            let mut asked = Vec::new();
            // A value may decide which other parameters there are.
            for text in with_each_choice(motif) {
                let s = section(motif.name, &text);
                read(&s).unwrap_or_else(|e| panic!("{}: {e}", motif.name));
                asked.extend(s.asked());
            }
            asked.retain(|name| name != "motif");
            for name in &asked {
                assert!(listed.contains(&name.as_str()), "{}: {name}", motif.name);
            }
            for name in listed {
                assert!(asked.iter().any(|a| a == name), "{}: {name}", motif.name);
            }
        }
    }

    /// Invalid and extreme parameters are refused or make programs; nothing overflows.
    #[test]
    fn any_parameters_are_built_or_refused() {
        use crate::traffic::{SplitMix, TrafficRandom};
        let mut random = SplitMix(5);
        let values = [
            "0",
            "1",
            "2",
            "3",
            "7",
            "64",
            "1000",
            "1000000000",
            "4294967295",
            "4294967296",
            "9000000000000000000",
            "-1",
            "0.5",
            "true",
            "false",
            "\"x\"",
            "[]",
            "\"0 B\"",
            "\"5 B\"",
            "\"1 TiB\"",
            "\"16000000 TiB\"",
            "[\"1 B\", \"3 B\"]",
            "\"0 ps\"",
            "\"1 us\"",
            "\"18000000 s\"",
            "\"8000000 s\"",
            "\"halves\"",
        ];
        let mut built = 0;
        for _ in 0..4000 {
            let motif = &MOTIFS[random.below(MOTIFS.len() as u64) as usize];
            let mut text = String::new();
            for parameter in motif.parameters {
                let name = &parameter.name;
                // Many ranks take long to create; two ranks, and more than possible, are sufficient.
                let sides = ["ranks", "pex", "pey", "pez", "pet"];
                if *name != "ranks" && random.below(6) < 5 {
                    continue;
                }
                let value = match sides.contains(name) {
                    true => ["2", "4", "8", "6", "4194305", "-7"][random.below(6) as usize],
                    false => values[random.below(values.len() as u64) as usize],
                };
                text += &format!("{name} = {value}\n");
            }
            let Ok(workload) = read(&section(motif.name, &text)) else {
                continue;
            };
            if workload.ranks() > 100 {
                continue;
            }
            built += 1;
            for rank in 0..workload.ranks() {
                let mut program = workload.program(rank).unwrap();
                for _ in 0..200 {
                    program.next().unwrap();
                }
            }
        }
        assert!(built > 100, "{built}");
    }

    #[test]
    fn what_is_not_given_has_the_registered_default() {
        for motif in MOTIFS {
            let s = section(motif.name, motif.example);
            read(&s).unwrap_or_else(|e| panic!("{}: {e}", motif.name));
            let settings = s.finish().unwrap();
            for parameter in motif.parameters.iter().filter(|p| !s.has(p.name)) {
                assert!(parameter.is_default_in(&settings), "{}: {parameter}", motif.name);
            }
        }
    }

    /// All motifs with any number of ranks: every message is received, no rank deadlocks although no message
    /// leaves before its receive is posted, and sizes agree.
    #[test]
    fn every_motif_ends_at_any_size() {
        for motif in MOTIFS {
            // Its default grid does not fit other numbers of ranks.
            let keys = [
                "pex", "pey", "pez", "pet", "rows", "ranks", "target", "partner", "plane",
            ];
            let kept: Vec<&str> = motif
                .example
                .lines()
                .filter(|line| !keys.iter().any(|key| line.trim_start().starts_with(key)))
                .collect();
            for ranks in [1, 2, 3, 4, 6, 7, 8, 12, 17, 24, 27, 30, 32, 45, 64] {
                let odd_is_refused = motif.name == "random-pairs" && ranks % 2 == 1;
                let alone_is_refused = matches!(motif.name, "ping-pong" | "incast") && ranks == 1;
                let text = format!("{}\nranks = {ranks}", kept.join("\n"));
                if odd_is_refused || alone_is_refused {
                    assert!(error(motif.name, &text).contains("ranks"));
                } else {
                    totals(motif.name, &text);
                }
            }
        }
    }

    #[test]
    fn periodic_grids_of_any_shape_match() {
        for (motif, sides) in [
            ("halo3d", 3),
            ("halo3d-26", 3),
            ("stencil4d", 4),
            ("amg", 3),
            ("multigrid", 3),
        ] {
            for shape in [
                [1, 1, 1],
                [1, 1, 2],
                [2, 1, 3],
                [2, 2, 2],
                [1, 5, 1],
                [3, 1, 4],
                [3, 4, 5],
            ] {
                for periodic in [false, true] {
                    let [x, y, z] = shape;
                    let fourth = if sides == 4 { "pet = 2\nnt = 7" } else { "" };
                    let text = format!(
                        "pex = {x}\npey = {y}\npez = {z}\nnx = 3\nny = 5\nnz = 6\nperiodic = {periodic}\n{fourth}"
                    );
                    totals(motif, &text);
                }
            }
        }
    }

    /// Memory of programs is shared: opening the largest published motif is cheap.
    #[test]
    fn programs_of_110592_ranks_open() {
        let workload = open("multigrid", "");
        assert_eq!(workload.ranks(), 110_592);
        let mut programs: Vec<_> = (0..workload.ranks())
            .map(|rank| workload.program(rank).unwrap())
            .collect();
        for program in &mut programs {
            assert!(program.next().unwrap().is_some());
        }
        assert!(workload.program(110_592).is_err());
    }

    #[test]
    fn grids_that_do_not_fit_say_so() {
        let text = error("halo3d-26", "ranks = 60\npex = 4\npey = 4\npez = 4");
        assert!(
            text.contains("pex * pey * pez = 4 * 4 * 4 = 64 is not ranks = 60"),
            "{text}"
        );
        let text = error("halo3d", "ranks = 60\npex = 7");
        assert!(text.contains("ranks = 60 is no multiple of pex = 7"), "{text}");
        let text = error("halo3d", "");
        assert!(text.contains("expected ranks, or pex, pey and pez"), "{text}");
        let text = error("halo3d", "pex = 4096\npey = 4096\npez = 4096");
        assert!(text.contains("at most 4194304"), "{text}");
        let text = error("sweep3d", "ranks = 0");
        assert!(text.contains("expected 1 to"), "{text}");
        let text = error("halo3d", "ranks = 8\nnx = 0");
        assert!(text.contains("nx") && text.contains("expected 1 to"), "{text}");
        let text = error("halo3d", "ranks = 8\nnx = 1000000000\nny = 1000000000");
        assert!(text.contains("a message of more than 1 TiB"), "{text}");
        let text = error("halo3d", "ranks = 8\ncompute_per_cell = \"9000 s\"\nnx = 100000");
        assert!(text.contains("more than 100 days"), "{text}");
    }
}
