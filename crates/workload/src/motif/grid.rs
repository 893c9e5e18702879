//! Ranks in a grid, the first dimension fastest, as Ember and Chatterbug number them.

use config::{Error, Section};

use super::parameters::{MAX_RANKS, in_count, ranks_in_range};

/// A grid of ranks in `N` dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankGrid<const N: usize> {
    /// Ranks along each dimension; their product fits 32 bits.
    pub sides: [u32; N],
    /// Whether the ends of each dimension are neighbours.
    pub periodic: bool,
}

impl<const N: usize> RankGrid<N> {
    /// Reads a grid: its sides from `keys`, their product from `ranks`, either of which is optional. Missing
    /// sides are chosen as cubic as possible, the longest first.
    ///
    /// # Errors
    /// Sides and ranks contradict each other, both are missing, or there are too many ranks.
    pub fn read(section: &Section, keys: [&str; N], periodic: bool) -> Result<RankGrid<N>, Error> {
        RankGrid::read_or(section, keys, periodic, None)
    }

    /// As [`RankGrid::read`], with a default number of ranks.
    pub(super) fn read_or(
        section: &Section,
        keys: [&str; N],
        periodic: bool,
        default_ranks: Option<u32>,
    ) -> Result<RankGrid<N>, Error> {
        let mut given = [None; N];
        for (side, key) in given.iter_mut().zip(keys) {
            if section.has(key) {
                *side = Some(in_count(section, key, section.required(key)?, MAX_RANKS)?);
            }
        }
        let product = |sides: &[Option<u32>]| {
            let factors = sides.iter().flatten();
            factors.map(|side| u128::from(*side)).product::<u128>()
        };
        let known = product(&given);
        let ranks: Option<u32> = section.optional("ranks")?;
        let ranks = match ranks {
            Some(ranks) => ranks_in_range(section, ranks)?,
            None if given.iter().all(Option::is_some) => {
                let Some(ranks) = u32::try_from(known).ok().filter(|ranks| *ranks <= MAX_RANKS) else {
                    let message = format!(
                        "{} = {known} ranks; expected at most {MAX_RANKS}",
                        keys.join(" * ")
                    );
                    return Err(section.error(keys[0], message));
                };
                ranks
            }
            None => default_ranks.ok_or_else(|| {
                let (last, first) = keys.split_last().expect("a grid has a dimension");
                let message = format!(
                    "has no number of ranks; expected ranks, or {} and {last}",
                    first.join(", ")
                );
                section.error("", message)
            })?,
        };
        let written: Vec<(&str, u32)> = keys
            .iter()
            .zip(given)
            .filter_map(|(key, side)| side.map(|side| (*key, side)))
            .collect();
        let named = |separator: &str, of: fn(&(&str, u32)) -> String| {
            written.iter().map(of).collect::<Vec<_>>().join(separator)
        };
        let (names, sides) = (
            named(" * ", |(key, _)| key.to_string()),
            named(" * ", |(_, side)| side.to_string()),
        );
        if written.len() == N && known != u128::from(ranks) {
            let message = format!("{names} = {sides} = {known} is not ranks = {ranks}");
            return Err(section.error(keys[0], message));
        }
        if u128::from(ranks) % known != 0 {
            let message = if written.len() == 1 {
                format!("ranks = {ranks} is no multiple of {names} = {known}")
            } else {
                format!("ranks = {ranks} is no multiple of {names} = {sides} = {known}")
            };
            return Err(section.error(written[0].0, message));
        }
        let free = N - written.len();
        let mut found = most_cubic(ranks / known as u32, free).into_iter();
        let mut sides = [1; N];
        for ((side, key), given) in sides.iter_mut().zip(keys).zip(given) {
            let chosen = given.or_else(|| found.next()).unwrap_or(1);
            // Records the chosen side in the settings.
            *side = section.or(key, chosen)?;
        }
        section.or("ranks", ranks)?;
        Ok(RankGrid { sides, periodic })
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.sides.iter().product()
    }

    /// Coordinates of a rank.
    pub fn place(&self, rank: u32) -> [u32; N] {
        let mut rest = rank;
        self.sides.map(|side| {
            let coordinate = rest % side;
            rest /= side;
            coordinate
        })
    }

    /// Rank at coordinates.
    pub fn rank(&self, place: [u32; N]) -> u32 {
        let along = place.iter().zip(&self.sides).rev();
        along.fold(0, |rank, (coordinate, side)| rank * side + coordinate)
    }

    /// The rank at an offset; `None` beyond the edge of a grid that is not periodic.
    pub fn neighbour(&self, rank: u32, offset: [i32; N]) -> Option<u32> {
        let mut place = self.place(rank);
        for ((coordinate, side), step) in place.iter_mut().zip(self.sides).zip(offset) {
            let (moved, side) = (i64::from(*coordinate) + i64::from(step), i64::from(side));
            let inside = (0..side).contains(&moved);
            if !inside && !self.periodic {
                return None;
            }
            *coordinate = moved.rem_euclid(side) as u32;
        }
        Some(self.rank(place))
    }
}

/// The factors of a number with the smallest sum of squares, the largest first.
pub fn most_cubic(number: u32, factors: usize) -> Vec<u32> {
    fn search(rest: u32, least: u32, path: &mut Vec<u32>, left: usize, best: &mut Option<(u128, Vec<u32>)>) {
        if left <= 1 {
            if left == 1 {
                path.push(rest);
            }
            let squares = path.iter().map(|f| u128::from(*f).pow(2)).sum();
            if best.as_ref().is_none_or(|(smallest, _)| squares < *smallest) {
                *best = Some((squares, path.clone()));
            }
            if left == 1 {
                path.pop();
            }
            return;
        }
        // Factors ascend, so the next is at most the root of the rest.
        let mut factor = least;
        while u128::from(factor).pow(left as u32) <= u128::from(rest) {
            if rest.is_multiple_of(factor) {
                path.push(factor);
                search(rest / factor, factor, path, left - 1, best);
                path.pop();
            }
            factor += 1;
        }
    }
    let mut best = None;
    search(number, 1, &mut Vec::new(), factors, &mut best);
    let mut found = best.map_or_else(Vec::new, |(_, found)| found);
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn factors_are_nearly_equal() {
        for (number, expected) in [
            (1, [1, 1, 1]),
            (7, [7, 1, 1]),
            (12, [3, 2, 2]),
            (36, [4, 3, 3]),
            (64, [4, 4, 4]),
            (13_824, [24, 24, 24]),
            (110_592, [48, 48, 48]),
            (10_000, [25, 20, 20]),
        ] {
            assert_eq!(most_cubic(number, 3), expected, "{number}");
        }
        assert_eq!(most_cubic(64, 4), [4, 4, 2, 2]);
        assert_eq!(most_cubic(12, 2), [4, 3]);
        assert_eq!(most_cubic(12, 1), [12]);
        assert_eq!(most_cubic(1, 0), [] as [u32; 0]);
        assert_eq!(most_cubic(4_194_301, 3), [4_194_301, 1, 1]);
    }

    fn grid(text: &str) -> RankGrid<3> {
        let section = Section::from_toml(text, "x.toml").unwrap();
        RankGrid::read(&section, ["pex", "pey", "pez"], false).unwrap()
    }

    #[test]
    fn what_is_left_out_is_found() {
        assert_eq!(grid("ranks = 64").sides, [4, 4, 4]);
        assert_eq!(grid("ranks = 24").sides, [4, 3, 2]);
        assert_eq!(grid("ranks = 24\npey = 2").sides, [4, 2, 3]);
        assert_eq!(grid("pex = 5\npey = 1\npez = 2").sides, [5, 1, 2]);
        assert_eq!(grid("pex = 5\npey = 1\npez = 2\nranks = 10").ranks(), 10);
    }

    proptest! {
        #[test]
        fn neighbours_are_mutual(
            sides in prop::array::uniform3(1u32..6),
            periodic: bool,
            step in prop::array::uniform3(-1i32..2),
            at: u32,
        ) {
            let grid = RankGrid { sides, periodic };
            let rank = at % grid.ranks();
            prop_assert_eq!(grid.rank(grid.place(rank)), rank);
            if let Some(other) = grid.neighbour(rank, step) {
                prop_assert_eq!(grid.neighbour(other, step.map(|s| -s)), Some(rank));
            } else {
                prop_assert!(!periodic);
            }
        }

        #[test]
        fn factors_multiply_to_the_number(number in 1u32..20_000, factors in 1usize..5) {
            let found = most_cubic(number, factors);
            prop_assert_eq!(found.len(), factors);
            prop_assert_eq!(found.iter().product::<u32>(), number);
        }
    }
}
