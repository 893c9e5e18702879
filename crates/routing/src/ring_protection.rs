//! What keeps the rings of a grid free of deadlock.

use config::{Error, Section};
use topology::{Shape, Topology};

/// The protection against deadlock in the rings of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rings {
    /// The grid has no rings.
    None,
    /// One VC before and on the wrap-around link, another behind it.
    Dateline,
    /// Two VCs, of which a packet keeps one from its entry into a ring on.
    DatelineAtEntry,
    /// One VC, which packets enter only if they leave a bubble.
    Bubble,
}

impl Rings {
    /// Reads a parameter with the value `dateline`, `dateline-at-entry` or `bubble`.
    pub(crate) fn read(section: &Section, key: &str, topology: &dyn Topology) -> Result<Rings, Error> {
        let name = section.choice(key)?;
        let wraps = matches!(topology.shape(), Shape::Cartesian(grid) if grid.wraps());
        match (name, wraps) {
            ("dateline", true) => Ok(Rings::Dateline),
            ("dateline-at-entry", true) => Ok(Rings::DatelineAtEntry),
            (_, true) => Ok(Rings::Bubble),
            ("dateline", false) => Ok(Rings::None),
            (_, false) => {
                let what = topology.describe();
                let text = format!("'{name}' is for the rings of a torus, which this {what} does not have");
                Err(section.error(key, text))
            }
        }
    }

    pub(crate) fn vcs(self) -> u8 {
        match self {
            Rings::None | Rings::Bubble => 1,
            Rings::Dateline | Rings::DatelineAtEntry => 2,
        }
    }

    pub(crate) fn packets_per_vc(self) -> u32 {
        match self {
            Rings::None | Rings::Dateline | Rings::DatelineAtEntry => 1,
            Rings::Bubble => 2,
        }
    }
}
