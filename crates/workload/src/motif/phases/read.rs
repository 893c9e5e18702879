//! Reads the phases of a job into steps.

use config::{Bytes, Duration, Error, Section};

use crate::motif::grid::most_cubic;
use crate::motif::parameters::{MAX_COUNT, in_count, in_range};
use crate::{Collective, Communicator, WORLD};

use super::computation::Computation;
use super::over::{Over, read_grid};
use super::program::{MAX_DEPTH, PhaseStep, Phases};
use super::{MOTIF, PHASE};

/// All collectives.
pub(super) const COLLECTIVES: [Collective; 11] = [
    Collective::Barrier,
    Collective::Bcast,
    Collective::Reduce,
    Collective::Allreduce,
    Collective::Allgather,
    Collective::Alltoall,
    Collective::Gather,
    Collective::Scatter,
    Collective::ReduceScatter,
    Collective::Scan,
    Collective::Exscan,
];

/// Kinds of phases by their key. A motif has `compute` as a parameter.
const KINDS: [&str; 4] = ["motif", "collective", "phases", "compute"];

/// The steps and communicators of the phases read so far.
pub(super) struct Reader<'a> {
    workload: &'a Section,
    ranks: u32,
    grid: Vec<u32>,
    steps: Vec<PhaseStep>,
    communicators: Vec<Vec<u32>>,
    /// First communicator and number of communicators that were added together.
    added: Vec<(Communicator, usize)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(workload: &'a Section, ranks: u32) -> Result<Reader<'a>, Error> {
        let grid = match workload.has("grid") {
            true => read_grid(workload, "grid", ranks)?,
            // Records the chosen grid in the settings.
            false => workload.or("grid", most_cubic(ranks, 3))?,
        };
        Ok(Reader {
            workload,
            ranks,
            grid,
            steps: Vec::new(),
            communicators: vec![(0..ranks).collect()],
            added: Vec::new(),
        })
    }

    /// Reads the list `phases` of the workload.
    pub(super) fn read(mut self, section: &Section, iterations: u32) -> Result<Phases, Error> {
        self.list(section, iterations, 0)?;
        Ok(Phases {
            ranks: self.ranks,
            communicators: self.communicators.into(),
            steps: self.steps,
        })
    }

    /// Reads the list `phases` of a table that `depth` lists enclose.
    fn list(&mut self, section: &Section, iterations: u32, depth: usize) -> Result<(), Error> {
        if depth >= MAX_DEPTH {
            let message = format!("phases are nested more than {MAX_DEPTH} deep");
            return Err(section.error("phases", message));
        }
        let phases = section.sections("phases")?;
        if phases.is_empty() {
            return Err(section.error("phases", "missing; expected a list of at least one phase"));
        }
        self.repeated(iterations, depth, |reader| {
            phases.iter().try_for_each(|phase| reader.phase(phase, depth + 1))
        })
    }

    /// Adds a loop around the steps that `body` adds.
    fn repeated(
        &mut self,
        iterations: u32,
        level: usize,
        body: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let first = self.steps.len();
        body(self)?;
        if iterations > 1 {
            self.steps.push(PhaseStep::Repeat {
                first,
                iterations,
                level,
            });
        }
        Ok(())
    }

    fn phase(&mut self, section: &Section, depth: usize) -> Result<(), Error> {
        section.declare(PHASE);
        let given: Vec<&str> = KINDS
            .into_iter()
            .filter(|kind| section.has(kind) && !(*kind == "compute" && section.has("motif")))
            .collect();
        if given == ["motif"] {
            return self.motif(section);
        }
        let iterations = in_count(section, "iterations", section.get("iterations")?, MAX_COUNT)?;
        let step = match given[..] {
            ["phases"] => return self.list(section, iterations, depth),
            ["collective"] => self.collective(section)?,
            ["compute"] => {
                let mean: Duration = section.required("compute")?;
                PhaseStep::Compute(Computation::read(section, mean)?)
            }
            _ => {
                let found = match given.is_empty() {
                    true => "none of them".into(),
                    false => given.join(" and "),
                };
                let message = format!("expected one of {}; found {found}", KINDS.join(", "));
                return Err(section.error("", message));
            }
        };
        self.repeated(iterations, depth, |reader| {
            reader.steps.push(step);
            Ok(())
        })
    }

    fn motif(&mut self, section: &Section) -> Result<(), Error> {
        if section.required::<String>("motif")? == MOTIF.name {
            let message = "phases are no motif inside phases; remove this key, and keep the list phases";
            return Err(section.error("motif", message));
        }
        section.inherit("ranks", self.workload);
        let workload = crate::motif::read(section)?;
        if workload.ranks() != self.ranks {
            let message = format!(
                "the motif has {} ranks; expected the {} of the job, or no such key",
                workload.ranks(),
                self.ranks
            );
            return Err(section.error("ranks", message));
        }
        let communicators = &workload.communicators()[1..];
        let offset = match communicators.is_empty() {
            true => 0,
            // The first communicator of the motif besides that of all ranks has number 1.
            false => self.add(communicators.to_vec()) - 1,
        };
        self.steps.push(PhaseStep::Motif { workload, offset });
        Ok(())
    }

    fn collective(&mut self, section: &Section) -> Result<PhaseStep, Error> {
        let name: String = section.required("collective")?;
        let Some(collective) = COLLECTIVES.into_iter().find(|known| known.name() == name) else {
            let names = COLLECTIVES.map(Collective::name);
            return Err(section.unknown_name("collective", &name, names));
        };
        let bytes = match collective {
            Collective::Barrier => 0,
            _ => in_range(
                section,
                "bytes",
                u128::from(section.required::<Bytes>("bytes")?.bytes),
            )?,
        };
        let over = Over::read(section, self.ranks, &self.grid)?;
        let is_rooted = matches!(
            collective,
            Collective::Bcast | Collective::Reduce | Collective::Gather | Collective::Scatter
        );
        let root: u32 = if is_rooted { section.get("root")? } else { 0 };
        let least = over.least(self.ranks);
        if root >= least {
            let message = format!(
                "{root} is out of range; the smallest group has the ranks 0 to {}",
                least - 1
            );
            return Err(section.error("root", message));
        }
        let first = match over {
            Over::All => WORLD,
            _ => self.add(over.members(self.ranks)),
        };
        Ok(PhaseStep::Collective {
            collective,
            bytes,
            root,
            over,
            first,
        })
    }

    /// The number of the first of these communicators. Phases with the same communicators share them.
    fn add(&mut self, communicators: Vec<Vec<u32>>) -> Communicator {
        let known = self.added.iter().find(|(first, count)| {
            let first = *first as usize;
            self.communicators[first..first + count] == communicators
        });
        if let Some((first, _)) = known {
            return *first;
        }
        let first = self.communicators.len() as Communicator;
        self.added.push((first, communicators.len()));
        self.communicators.extend(communicators);
        first
    }
}
