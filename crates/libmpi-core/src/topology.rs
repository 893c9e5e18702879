//! Virtual topologies (MPI 4.1, chapter 8): which ranks of a communicator are neighbours. They do not reorder ranks.

use std::ffi::c_int;

use crate::abi::{self, class};
use crate::failure::{Failure, Outcome};

/// A grid.
#[derive(Clone, Debug, Default)]
pub(crate) struct CartesianGrid {
    pub dimensions: Vec<c_int>,
    pub periods: Vec<bool>,
}

/// Neighbours of this rank in a distributed graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct GraphNeighbors {
    /// Ranks, and the weights of their edges.
    pub sources: Vec<(c_int, c_int)>,
    pub destinations: Vec<(c_int, c_int)>,
    pub is_weighted: bool,
}

/// A topology.
#[derive(Clone, Debug)]
pub(crate) enum VirtualTopology {
    Cartesian(CartesianGrid),
    /// The ends of the lists of neighbours by rank, and all lists.
    Graph(Vec<c_int>, Vec<c_int>),
    Distributed(GraphNeighbors),
}

/// Neighbours in the order of the blocks of neighbourhood collectives, each with the tag of its messages. `None` beyond
/// the end of a grid.
pub(crate) struct NeighborLists {
    pub sources: Vec<(Option<c_int>, u32)>,
    pub destinations: Vec<(Option<c_int>, u32)>,
}

impl CartesianGrid {
    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.dimensions.iter().map(|length| *length as usize).product()
    }

    pub fn coordinates(&self, rank: c_int) -> Vec<c_int> {
        let mut rest = rank;
        let mut places: Vec<c_int> = Vec::new();
        for length in self.dimensions.iter().rev() {
            places.push(rest % length);
            rest /= length;
        }
        places.reverse();
        places
    }

    /// The rank at coordinates; `None` beyond the end of a dimension that is not periodic.
    pub fn rank(&self, coordinates: &[c_int]) -> Option<c_int> {
        let mut rank = 0;
        for ((place, length), periodic) in coordinates.iter().zip(&self.dimensions).zip(&self.periods) {
            let place = match periodic {
                true => place.rem_euclid(*length),
                false if (0..*length).contains(place) => *place,
                false => return None,
            };
            rank = rank * length + place;
        }
        Some(rank)
    }

    /// The rank that is some places away in a dimension.
    pub fn neighbor(&self, rank: c_int, dimension: usize, distance: c_int) -> Option<c_int> {
        let mut coordinates = self.coordinates(rank);
        coordinates[dimension] += distance;
        self.rank(&coordinates)
    }
}

impl VirtualTopology {
    /// The neighbours of a rank.
    pub fn neighbors(&self, rank: c_int) -> NeighborLists {
        match self {
            VirtualTopology::Cartesian(grid) => {
                let sides =
                    (0..grid.dimensions.len()).flat_map(|dimension| [(dimension, -1), (dimension, 1)]);
                let ranks: Vec<Option<c_int>> = sides
                    .map(|(dimension, distance)| grid.neighbor(rank, dimension, distance))
                    .collect();
                // What goes to one side comes from the other one.
                let numbered = |turned: u32| ranks.iter().copied().zip((0..).map(move |side| side ^ turned));
                NeighborLists {
                    sources: numbered(0).collect(),
                    destinations: numbered(1).collect(),
                }
            }
            VirtualTopology::Graph(..) => {
                let list: Vec<(Option<c_int>, u32)> = self
                    .graph_neighbors(rank)
                    .iter()
                    .map(|own| (Some(*own), 0))
                    .collect();
                NeighborLists {
                    sources: list.clone(),
                    destinations: list,
                }
            }
            VirtualTopology::Distributed(neighbors) => {
                let list = |all: &[(c_int, c_int)]| all.iter().map(|(rank, _)| (Some(*rank), 0)).collect();
                NeighborLists {
                    sources: list(&neighbors.sources),
                    destinations: list(&neighbors.destinations),
                }
            }
        }
    }

    /// The neighbours of a rank of a graph; none in other topologies.
    pub fn graph_neighbors(&self, rank: c_int) -> &[c_int] {
        let VirtualTopology::Graph(ends, edges) = self else {
            return &[];
        };
        let rank = rank as usize;
        let start = if rank == 0 { 0 } else { ends[rank - 1] };
        &edges[start as usize..ends[rank] as usize]
    }
}

fn no_dimensions(text: impl Into<String>) -> Failure {
    Failure::new(class::DIMS, text)
}

/// `MPI_Dims_create`: replaces the zeros by lengths that are as near to each other as possible, in falling order.
pub(crate) fn share_among_dimensions(ranks: c_int, dimensions: &mut [c_int]) -> Outcome<()> {
    if dimensions.iter().any(|length| *length < 0) {
        return Err(no_dimensions("a negative length"));
    }
    if ranks < 1 {
        return Err(no_dimensions(format!("{ranks} ranks")));
    }
    let given: i64 = dimensions
        .iter()
        .filter(|length| **length > 0)
        .map(|length| i64::from(*length))
        .product();
    let open = dimensions.iter().filter(|length| **length == 0).count();
    if i64::from(ranks) % given != 0 || open == 0 && given != i64::from(ranks) {
        return Err(no_dimensions(format!(
            "{ranks} ranks are no multiple of the given lengths"
        )));
    }
    let lengths = balanced(ranks / given as c_int, open);
    let mut lengths = lengths.into_iter();
    for length in dimensions.iter_mut().filter(|length| **length == 0) {
        *length = lengths.next().unwrap_or(1);
    }
    Ok(())
}

/// Lengths with a product, in falling order, of which the difference between the first and the last is the least, and
/// then the first one the greatest, and the others the least, as MPICH has them.
fn balanced(product: c_int, dimensions: usize) -> Vec<c_int> {
    fn span(lengths: &[c_int]) -> c_int {
        match lengths {
            [first, .., last] => first - last,
            _ => 0,
        }
    }

    struct Search {
        /// Of the product, in rising order.
        divisors: Vec<c_int>,
        chosen: Vec<c_int>,
        best: Vec<c_int>,
    }

    impl Search {
        fn choose(&mut self, rest: c_int, left: usize) {
            if left == 0 {
                let is_better = match self.best.first() {
                    None => true,
                    Some(first) => (span(&self.chosen), -self.chosen[0]) < (span(&self.best), -*first),
                };
                if rest == 1 && is_better {
                    self.best.clone_from(&self.chosen);
                }
                return;
            }
            let most = self.chosen.last().copied().unwrap_or(rest).min(rest);
            // Lengths that are less cannot be nearer to the first one than those of the best.
            let least = match (self.chosen.first(), self.best.is_empty()) {
                (Some(first), false) => (first - span(&self.best)).max(1),
                _ => 1,
            };
            let power = |length: c_int| f64::from(length).powi(left as i32);
            if power(least) > f64::from(rest) {
                return;
            }
            // The lengths that follow are not greater.
            let fits = |length: &c_int| rest % length == 0 && power(*length) >= f64::from(rest);
            let from = self.divisors.partition_point(|divisor| *divisor < least);
            let to = self.divisors.partition_point(|divisor| *divisor <= most);
            // The least lengths come first: those near to the root mostly are the best ones and rule out most others.
            let lengths: Vec<c_int> = self.divisors[from..to.max(from)]
                .iter()
                .copied()
                .filter(fits)
                .collect();
            for length in lengths {
                self.chosen.push(length);
                self.choose(rest / length, left - 1);
                self.chosen.pop();
            }
        }
    }

    let root = (1..).take_while(|divisor| i64::from(*divisor) * i64::from(*divisor) <= i64::from(product));
    let small: Vec<c_int> = root.filter(|divisor| product % divisor == 0).collect();
    let great = small.iter().rev().map(|divisor| product / divisor);
    let mut divisors: Vec<c_int> = small.iter().copied().chain(great).collect();
    divisors.dedup();
    let mut search = Search {
        divisors,
        chosen: Vec::new(),
        best: Vec::new(),
    };
    search.choose(product, dimensions);
    search.best
}

/// Checks the neighbours that a program gives for a graph.
pub(crate) fn check_ranks<'a>(ranks: impl IntoIterator<Item = &'a c_int>, size: usize) -> Outcome<()> {
    let wrong = ranks
        .into_iter()
        .find(|rank| **rank < 0 || **rank as usize >= size);
    match wrong {
        Some(rank) => Err(Failure::new(
            class::RANK,
            format!("{rank}; expected 0 to {}", size as i64 - 1),
        )),
        None => Ok(()),
    }
}

/// What `MPI_Topo_test` tells.
pub(crate) fn kind_of(topology: Option<&VirtualTopology>) -> c_int {
    match topology {
        None => abi::UNDEFINED,
        Some(VirtualTopology::Graph(..)) => abi::GRAPH,
        Some(VirtualTopology::Cartesian(_)) => abi::CART,
        Some(VirtualTopology::Distributed(_)) => abi::DIST_GRAPH,
    }
}
