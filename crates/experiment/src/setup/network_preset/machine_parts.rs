//! A part of a machine: as few whole groups, leaves or midplanes as have the wanted hosts.

use config::{Error, Location, Section};

use super::file::{Origin, PresetValue, origin};

/// The size of a machine, and the parts in which it can be taken.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Hosts of the machine.
    pub hosts: u32,
    /// Where that number comes from.
    pub hosts_origin: Origin,
    /// What a part is called: group, cell, leaf, midplane.
    pub part_name: String,
    /// Where the size of a part comes from.
    pub part_origin: Origin,
    /// The parts.
    pub parts: MachineParts,
    /// Their place in the file of the preset.
    pub location: Location,
}

/// The parts of a machine.
#[derive(Clone, Debug)]
pub enum MachineParts {
    /// Parts that are all alike, any number of them.
    Equal {
        /// Hosts of one part.
        hosts: u32,
    },
    /// Boxes of a grid with one host per router; several form a greater box.
    Boxes {
        /// Routers of one box in each dimension.
        sizes: Vec<u32>,
        /// Boxes of the machine in each dimension.
        most: Vec<u32>,
    },
}

/// The part of a machine that an experiment takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Number of parts.
    parts: u32,
    /// Parts of the whole machine.
    all: u32,
    /// Routers in each dimension of the grid; empty if it has none.
    sizes: Vec<u32>,
}

impl Machine {
    /// Reads the tables `[hosts]` and `[part]`.
    ///
    /// # Errors
    /// Missing keys, a part without hosts, boxes that do not fill the machine.
    pub fn read(hosts: &Section, part: &Section) -> Result<Machine, Error> {
        let number: u32 = hosts.required("number")?;
        let parts = match part.has("hosts") {
            true => MachineParts::Equal {
                hosts: part.required("hosts")?,
            },
            false => {
                let sizes: Vec<u32> = part.required("sizes")?;
                let whole: Vec<u32> = part.required("whole")?;
                let divides = |(whole, size): (&u32, &u32)| *size > 0 && whole.is_multiple_of(*size);
                if whole.len() != sizes.len() || !whole.iter().zip(&sizes).all(divides) {
                    return Err(part.error("whole", "expected a multiple of sizes in each dimension"));
                }
                let most = whole
                    .iter()
                    .zip(&sizes)
                    .map(|(whole, size)| whole / size)
                    .collect();
                MachineParts::Boxes { sizes, most }
            }
        };
        if parts.hosts() == 0 || number == 0 {
            return Err(part.error("", "expected parts and machines with hosts"));
        }
        Ok(Machine {
            hosts: number,
            hosts_origin: origin(hosts)?,
            part_name: part.required("name")?,
            part_origin: origin(part)?,
            parts,
            location: hosts.location("number"),
        })
    }

    /// The fewest parts that have `hosts` hosts. Among boxes of equally many parts, the one with the smallest sum of
    /// sides.
    ///
    /// # Errors
    /// The machine has fewer hosts, or none are wanted.
    pub fn part(&self, hosts: u32) -> Result<Taken, String> {
        if hosts == 0 || hosts > self.hosts {
            let most = self.hosts;
            return Err(format!(
                "{hosts} is out of range; expected 1 to {most}, the hosts of this machine"
            ));
        }
        let wanted = hosts.div_ceil(self.parts.hosts());
        let all = self.hosts.div_ceil(self.parts.hosts());
        Ok(match &self.parts {
            MachineParts::Equal { .. } => Taken {
                parts: wanted,
                all,
                sizes: Vec::new(),
            },
            MachineParts::Boxes { sizes, most } => {
                let routers = |counts: &[u32]| -> Vec<u32> {
                    sizes
                        .iter()
                        .zip(counts)
                        .map(|(size, count)| size * count)
                        .collect()
                };
                let boxes = boxes(most)
                    .into_iter()
                    .map(|counts| (counts.iter().product::<u32>(), counts));
                let best = boxes
                    .filter(|(parts, _)| *parts >= wanted)
                    .min_by_key(|(parts, counts)| (*parts, routers(counts).iter().sum::<u32>()));
                let (parts, counts) = best.expect("the whole machine is a box");
                Taken {
                    parts,
                    all,
                    sizes: routers(&counts),
                }
            }
        })
    }
}

impl MachineParts {
    /// Hosts of one part.
    fn hosts(&self) -> u32 {
        match self {
            MachineParts::Equal { hosts } => *hosts,
            MachineParts::Boxes { sizes, .. } => sizes.iter().product(),
        }
    }
}

/// All boxes in a grid: counts from 1 to `most` in each dimension.
fn boxes(most: &[u32]) -> Vec<Vec<u32>> {
    most.iter().fold(vec![Vec::new()], |boxes, most| {
        let longer = |counts: Vec<u32>| (1..=*most).map(move |count| [counts.as_slice(), &[count]].concat());
        boxes.into_iter().flat_map(longer).collect()
    })
}

impl Taken {
    /// The text of a value for this part of the machine, with `{parts}`, `{N * parts}` and `{sizes}` filled in.
    pub fn fill(&self, value: &PresetValue) -> String {
        let mut text = String::new();
        for (index, piece) in value.value.split(['{', '}']).enumerate() {
            // Every second piece is in braces.
            let number = piece
                .strip_suffix(" * parts")
                .and_then(|factor| factor.parse::<u32>().ok());
            match (index % 2, piece, number) {
                (1, "parts", _) => text += &self.parts.to_string(),
                (1, "sizes", _) => text += &format!("{:?}", self.sizes),
                (1, _, Some(factor)) => text += &(factor * self.parts).to_string(),
                _ => text += piece,
            }
        }
        match text.parse::<u32>() {
            Ok(links) if value.is_shared_by_parts => {
                let others = |parts: u32| (parts - 1).max(1);
                (links * others(self.all) / others(self.parts)).to_string()
            }
            _ => text,
        }
    }
}
