//! Stencil: hosts form a grid of their own, and each exchanges with its neighbours in turn, as in a halo
//! exchange.
//!
//! The grid is independent of the network; hosts are numbered with dimension 0 fastest. `faces` in three
//! dimensions is the 7-point stencil with 6 neighbours, `all` the 27-point stencil with 26.

use config::{Error, Section, Type, parameters};

use super::{Pattern, PatternKind, TrafficRandom};

/// Largest number of dimensions: with diagonals, a point has at most 3^8 - 1 neighbours.
const MOST_DIMENSIONS: usize = 8;

pub(super) const KIND: PatternKind = PatternKind {
    name: "stencil",
    summary: "halo exchange on a grid of hosts: each to its neighbours in turn",
    parameters: parameters! {
        required("shape", Type::INTEGERS,
            "hosts in each dimension of the grid, 1 to 8 dimensions, for example [4, 4, 8]; all hosts of \
             the job");
        choice("neighbours", &["faces", "all"], "faces, one step in one dimension, or all, with diagonals");
        flag("periodic", true, "whether the grid is closed in all dimensions");
    },
    example: "shape = [2, 3, 4]\n",
    build: |section, place| {
        let shape: Vec<u32> = section.required("shape")?;
        check_shape(section, &shape, place.hosts)?;
        Ok(Box::new(Stencil {
            shape: shape.into(),
            diagonals: section.choice("neighbours")? == "all",
            periodic: section.get("periodic")?,
        }))
    },
};

fn check_shape(section: &Section, shape: &[u32], hosts: u32) -> Result<(), Error> {
    if shape.is_empty() || shape.len() > MOST_DIMENSIONS {
        let message = format!("{} dimensions; expected 1 to {MOST_DIMENSIONS}", shape.len());
        return Err(section.error("shape", message));
    }
    let points = shape
        .iter()
        .try_fold(1u32, |product, size| product.checked_mul(*size));
    if points != Some(hosts) {
        let points = points.map_or("more than 2^32".into(), |points| points.to_string());
        let message =
            format!("{shape:?} has {points} points; expected one for each of the job's {hosts} hosts");
        return Err(section.error("shape", message));
    }
    Ok(())
}

struct Stencil {
    shape: Box<[u32]>,
    diagonals: bool,
    periodic: bool,
}

impl Stencil {
    /// Whether a coordinate has a neighbour below and above.
    fn steps(&self, size: u32, x: u32) -> (bool, bool) {
        if self.periodic {
            (size > 1, size > 1)
        } else {
            (x > 0, x + 1 < size)
        }
    }

    /// Number of neighbours of a point.
    fn count(&self, point: u32) -> u32 {
        let (mut rest, mut faces, mut cells) = (point, 0, 1);
        for size in &self.shape {
            let (below, above) = self.steps(*size, rest % size);
            rest /= size;
            let steps = u32::from(below) + u32::from(above);
            faces += steps;
            cells *= 1 + steps;
        }
        if self.diagonals { cells - 1 } else { faces }
    }

    /// Neighbour number `index` of a point.
    fn neighbour(&self, point: u32, index: u32) -> u32 {
        let (mut rest, mut stride) = (point, 1);
        // Cell 0 is the point itself.
        let mut left = if self.diagonals { index + 1 } else { index };
        let mut neighbour = 0;
        for size in &self.shape {
            let x = rest % size;
            rest /= size;
            let (below, above) = self.steps(*size, x);
            let steps = u32::from(below) + u32::from(above);
            // Number of the step in this dimension from 1; 0 for none.
            let step = if self.diagonals {
                let step = left % (1 + steps);
                left /= 1 + steps;
                step
            } else if left < steps {
                let step = left + 1;
                left = u32::MAX;
                step
            } else {
                left -= if left == u32::MAX { 0 } else { steps };
                0
            };
            let moved = match step {
                0 => x,
                1 if below => (x + size - 1) % size,
                _ => (x + 1) % size,
            };
            neighbour += moved * stride;
            stride *= size;
        }
        neighbour
    }
}

impl Pattern for Stencil {
    fn destination(&self, source: u32, _: u32, index: u64, _: &mut dyn TrafficRandom) -> Option<u32> {
        let turn = index.checked_rem(self.count(source).into())?;
        Some(self.neighbour(source, turn as u32))
    }

    fn shares(&self, source: u32, _: u32, each: &mut dyn FnMut(u32, f64)) {
        let count = self.count(source);
        (0..count).for_each(|index| each(self.neighbour(source, index), 1.0 / f64::from(count)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::tests::ScriptedRandom;
    use super::super::test_support::{check_shares, error, pattern};

    fn neighbours(parameters: &str, hosts: u32, source: u32) -> Vec<u32> {
        let built = pattern("stencil", parameters, hosts);
        let mut found = Vec::new();
        built.shares(source, hosts, &mut |host, _| found.push(host));
        let turns = found.len() as u64;
        for index in 0..2 * turns {
            let to = built.destination(source, hosts, index, &mut ScriptedRandom(vec![]));
            assert_eq!(to, Some(found[(index % turns) as usize]), "in turn");
        }
        check_shares(built.as_ref(), hosts);
        found
    }

    #[test]
    fn five_points_in_the_plane() {
        assert_eq!(neighbours("shape = [4, 3]", 12, 5), [4, 6, 1, 9]);
        // The corner (0, 0), closed and open.
        assert_eq!(neighbours("shape = [4, 3]", 12, 0), [3, 1, 8, 4]);
        assert_eq!(neighbours("shape = [4, 3], periodic = false", 12, 0), [1, 4]);
        assert_eq!(neighbours("shape = [4, 3], periodic = false", 12, 11), [10, 7]);
    }

    #[test]
    fn nine_points_in_the_plane() {
        let mut found = neighbours("shape = [4, 3], neighbours = \"all\"", 12, 5);
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2, 4, 6, 8, 9, 10]);
        let mut corner = neighbours("shape = [4, 3], neighbours = \"all\", periodic = false", 12, 0);
        corner.sort_unstable();
        assert_eq!(corner, [1, 4, 5]);
    }

    #[test]
    fn in_space() {
        assert_eq!(neighbours("shape = [3, 3, 3]", 27, 13).len(), 6);
        let mut all = neighbours("shape = [3, 3, 3], neighbours = \"all\"", 27, 13);
        all.sort_unstable();
        let others: Vec<u32> = (0..27).filter(|host| *host != 13).collect();
        assert_eq!(all, others);
    }

    #[test]
    fn sizes_of_one_and_two() {
        assert_eq!(
            neighbours("shape = [1, 2]", 2, 0),
            [1, 1],
            "two faces, one neighbour"
        );
        assert_eq!(neighbours("shape = [2, 1], periodic = false", 2, 1), [0]);
    }

    #[test]
    fn shapes_that_do_not_fit() {
        let message = error("stencil", "shape = [4, 3]", 16);
        assert!(message.contains("[4, 3] has 12 points; expected one for each of the job's 16 hosts"));
        assert!(error("stencil", "", 16).contains("shape: missing"));
        assert!(error("stencil", "shape = []", 16).contains("0 dimensions"));
        assert!(error("stencil", "shape = [65536, 65536]", 16).contains("more than 2^32"));
        assert!(error("stencil", "shape = [0, 4]", 16).contains("0 points"));
    }
}
