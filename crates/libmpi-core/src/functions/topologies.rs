//! Virtual topologies (MPI 4.1, chapter 8).

use std::ffi::c_int;
use std::rc::Rc;

use operation::Call;

use super::{array, array_mut, functions, put};
use crate::abi::{self, class};
use crate::failure::{Failure, Outcome};
use crate::process::{self, Process};
use crate::topology::{
    CartesianGrid, GraphNeighbors, VirtualTopology, check_ranks, kind_of, share_among_dimensions,
};

/// The communicator of the first ranks of another one, with a topology that is made of the rank there.
fn create(
    parent: c_int,
    size: usize,
    call: Call,
    topology: impl FnOnce(&mut Process, c_int) -> Outcome<VirtualTopology>,
) -> Outcome<c_int> {
    let created = process::with(|p| {
        let (_, all) = p.place(parent)?;
        if p.is_inter(parent)? {
            return Err(Failure::new(class::COMM, "an intercommunicator has no topology"));
        }
        if size > all {
            return Err(Failure::new(
                class::ARG,
                format!("{size} ranks of a communicator of {all}"),
            ));
        }
        let members: Vec<usize> = (0..size).collect();
        let Some(made) = p.duplicate(parent, Some(&members), call)? else {
            return Ok(abi::COMM_NULL);
        };
        let rank = p.communicators.get(made)?.rank as c_int;
        let topology = topology(p, rank)?;
        p.communicators.get_mut(made)?.topology = Some(Rc::new(topology));
        Ok(made)
    });
    created.map_err(|failure| failure.on(parent))
}

/// Asks the topology of a communicator and the rank there.
fn with_topology<T>(
    communicator: c_int,
    what: &str,
    ask: impl FnOnce(&VirtualTopology, c_int) -> Option<Outcome<T>>,
) -> Outcome<T> {
    process::with(|p| {
        let own = p.communicators.get(communicator)?;
        let answer = own
            .topology
            .as_ref()
            .and_then(|topology| ask(topology, own.rank as c_int));
        let answer = answer.unwrap_or_else(|| {
            Err(Failure::new(
                class::TOPOLOGY,
                format!("the communicator has no {what}"),
            ))
        });
        answer.map_err(|failure| failure.on(communicator))
    })
}

fn with_grid<T>(communicator: c_int, ask: impl FnOnce(&CartesianGrid, c_int) -> Outcome<T>) -> Outcome<T> {
    with_topology(
        communicator,
        "Cartesian topology",
        |topology, rank| match topology {
            VirtualTopology::Cartesian(grid) => Some(ask(grid, rank)),
            _ => None,
        },
    )
}

fn with_graph<T>(
    communicator: c_int,
    ask: impl FnOnce(&VirtualTopology, &[c_int], &[c_int]) -> Outcome<T>,
) -> Outcome<T> {
    with_topology(communicator, "graph topology", |topology, _| match topology {
        VirtualTopology::Graph(ends, edges) => Some(ask(topology, ends, edges)),
        _ => None,
    })
}

fn with_distributed<T>(communicator: c_int, ask: impl FnOnce(&GraphNeighbors) -> Outcome<T>) -> Outcome<T> {
    with_topology(
        communicator,
        "distributed graph topology",
        |topology, _| match topology {
            VirtualTopology::Distributed(neighbors) => Some(ask(neighbors)),
            _ => None,
        },
    )
}

/// Copies the beginning of a list, as much as the caller has space for.
fn copy_front(to: &mut [c_int], from: impl IntoIterator<Item = c_int>) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = from);
}

fn grid_of(dimensions: &[c_int], periods: &[c_int]) -> Outcome<CartesianGrid> {
    if let Some(length) = dimensions.iter().find(|length| **length < 1) {
        return Err(Failure::new(
            class::DIMS,
            format!("a dimension of length {length}"),
        ));
    }
    Ok(CartesianGrid {
        dimensions: dimensions.to_vec(),
        periods: periods.iter().map(|period| *period != 0).collect(),
    })
}

fn check_graph(ends: &[c_int], edges: &[c_int], nodes: usize) -> Outcome<()> {
    check_ranks(edges, nodes)?;
    let rising =
        ends.windows(2).all(|pair| pair[0] <= pair[1]) && ends.first().is_none_or(|first| *first >= 0);
    match rising {
        true => Ok(()),
        false => Err(Failure::new(
            class::ARG,
            "the ends of the lists of neighbours fall",
        )),
    }
}

/// Whether weights are given for edges.
fn has_weights(weights: *const c_int) -> bool {
    weights.addr() != super::UNWEIGHTED
}

/// The weights of edges, which are 1 each where there are none.
///
/// # Safety
/// The array has this many elements, or stands for no weights.
unsafe fn weights_of(weights: *const c_int, edges: usize) -> Outcome<Vec<c_int>> {
    if !has_weights(weights) || weights.addr() == super::WEIGHTS_EMPTY {
        return Ok(vec![1; edges]);
    }
    // Safety: as the caller says.
    Ok(unsafe { array(weights, edges as i64)? }.to_vec())
}

functions! {
    fn MPI_Dims_create(ranks: c_int, count: c_int, dimensions: *mut c_int) {
        share_among_dimensions(ranks, array_mut(dimensions, count)?)
    }

    fn MPI_Topo_test(communicator: c_int, kind: *mut c_int) {
        put(kind, process::with(|p| Ok(kind_of(p.communicators.get(communicator)?.topology.as_deref())))?)
    }

    fn MPI_Cart_create(
        parent: c_int, count: c_int, dimensions: *const c_int, periods: *const c_int, _reorder: c_int,
        made: *mut c_int,
    ) {
        let grid = grid_of(array(dimensions, count)?, array(periods, count)?)?;
        let size = grid.size();
        put(made, create(parent, size, Call::CartCreate, |_, _| Ok(VirtualTopology::Cartesian(grid)))?)
    }

    fn MPI_Cart_map(
        communicator: c_int, count: c_int, dimensions: *const c_int, periods: *const c_int, rank: *mut c_int,
    ) {
        let grid = grid_of(array(dimensions, count)?, array(periods, count)?)?;
        let (own, all) = process::with(|p| p.place(communicator))?;
        if grid.size() > all {
            return Err(Failure::new(class::ARG, format!("a grid of {} ranks of {all}", grid.size())));
        }
        put(rank, if own < grid.size() { own as c_int } else { abi::UNDEFINED })
    }

    fn MPI_Cartdim_get(communicator: c_int, dimensions: *mut c_int) {
        put(dimensions, with_grid(communicator, |grid, _| Ok(grid.dimensions.len()))? as c_int)
    }

    fn MPI_Cart_get(
        communicator: c_int, count: c_int, dimensions: *mut c_int, periods: *mut c_int, coordinates: *mut c_int,
    ) {
        let (grid, own) = with_grid(communicator, |grid, rank| Ok((grid.clone(), grid.coordinates(rank))))?;
        copy_front(array_mut(dimensions, count)?, grid.dimensions);
        copy_front(array_mut(periods, count)?, grid.periods.into_iter().map(c_int::from));
        copy_front(array_mut(coordinates, count)?, own);
        Ok(())
    }

    fn MPI_Cart_rank(communicator: c_int, coordinates: *const c_int, rank: *mut c_int) {
        put(rank, with_grid(communicator, |grid, _| {
            let coordinates = array(coordinates, grid.dimensions.len() as i64)?;
            grid.rank(coordinates).ok_or_else(|| {
                Failure::new(class::ARG, format!("{coordinates:?} is outside of the grid"))
            })
        })?)
    }

    fn MPI_Cart_coords(communicator: c_int, rank: c_int, count: c_int, coordinates: *mut c_int) {
        let found = with_grid(communicator, |grid, _| {
            check_ranks([&rank], grid.size())?;
            Ok(grid.coordinates(rank))
        })?;
        copy_front(array_mut(coordinates, count)?, found);
        Ok(())
    }

    fn MPI_Cart_shift(
        communicator: c_int, dimension: c_int, distance: c_int, source: *mut c_int, destination: *mut c_int,
    ) {
        let (from, to) = with_grid(communicator, |grid, rank| {
            let dimension = usize::try_from(dimension).ok().filter(|own| *own < grid.dimensions.len());
            let dimension = dimension.ok_or_else(|| Failure::new(class::ARG, "there is no such dimension"))?;
            Ok((grid.neighbor(rank, dimension, -distance), grid.neighbor(rank, dimension, distance)))
        })?;
        put(source, from.unwrap_or(abi::PROC_NULL))?;
        put(destination, to.unwrap_or(abi::PROC_NULL))
    }

    fn MPI_Cart_sub(communicator: c_int, remains: *const c_int, made: *mut c_int) {
        let (grid, own) = with_grid(communicator, |grid, rank| Ok((grid.clone(), grid.coordinates(rank))))?;
        let remains = array(remains, grid.dimensions.len() as i64)?;
        let kept: Vec<usize> = (0..remains.len()).filter(|index| remains[*index] != 0).collect();
        let sub = CartesianGrid {
            dimensions: kept.iter().map(|index| grid.dimensions[*index]).collect(),
            periods: kept.iter().map(|index| grid.periods[*index]).collect(),
        };
        // Ranks with the same coordinates in the other dimensions are together.
        let place = |is_kept: bool| {
            let dimensions = (0..remains.len()).filter(|index| kept.contains(index) == is_kept);
            dimensions.fold(0, |number, index| number * grid.dimensions[index] + own[index])
        };
        let split = process::with(|p| {
            let made = p.split(communicator, Some(place(false)), place(true))?.unwrap_or(abi::COMM_NULL);
            p.communicators.get_mut(made)?.topology = Some(Rc::new(VirtualTopology::Cartesian(sub)));
            Ok(made)
        });
        put(made, split.map_err(|failure| failure.on(communicator))?)
    }

    fn MPI_Graph_create(
        parent: c_int, nodes: c_int, ends: *const c_int, edges: *const c_int, _reorder: c_int, made: *mut c_int,
    ) {
        let ends = array(ends, nodes)?.to_vec();
        let edges = array(edges, ends.last().copied().unwrap_or(0))?.to_vec();
        check_graph(&ends, &edges, ends.len())?;
        let size = ends.len();
        put(made, create(parent, size, Call::CartCreate, |_, _| Ok(VirtualTopology::Graph(ends, edges)))?)
    }

    fn MPI_Graph_map(
        communicator: c_int, nodes: c_int, ends: *const c_int, edges: *const c_int, rank: *mut c_int,
    ) {
        let ends = array(ends, nodes)?;
        check_graph(ends, array(edges, ends.last().copied().unwrap_or(0))?, ends.len())?;
        let (own, all) = process::with(|p| p.place(communicator))?;
        if ends.len() > all {
            return Err(Failure::new(class::ARG, format!("a graph of {nodes} ranks of {all}")));
        }
        put(rank, if own < ends.len() { own as c_int } else { abi::UNDEFINED })
    }

    fn MPI_Graphdims_get(communicator: c_int, nodes: *mut c_int, edges: *mut c_int) {
        let (own_nodes, own_edges) = with_graph(communicator, |_, ends, edges| Ok((ends.len(), edges.len())))?;
        put(nodes, own_nodes as c_int)?;
        put(edges, own_edges as c_int)
    }

    fn MPI_Graph_get(
        communicator: c_int, most_ends: c_int, most_edges: c_int, ends: *mut c_int, edges: *mut c_int,
    ) {
        let own = with_graph(communicator, |_, ends, edges| Ok((ends.to_vec(), edges.to_vec())))?;
        copy_front(array_mut(ends, most_ends)?, own.0);
        copy_front(array_mut(edges, most_edges)?, own.1);
        Ok(())
    }

    fn MPI_Graph_neighbors_count(communicator: c_int, rank: c_int, count: *mut c_int) {
        put(count, with_graph(communicator, |graph, ends, _| {
            check_ranks([&rank], ends.len())?;
            Ok(graph.graph_neighbors(rank).len() as c_int)
        })?)
    }

    fn MPI_Graph_neighbors(communicator: c_int, rank: c_int, most: c_int, neighbors: *mut c_int) {
        let own = with_graph(communicator, |graph, ends, _| {
            check_ranks([&rank], ends.len())?;
            Ok(graph.graph_neighbors(rank).to_vec())
        })?;
        copy_front(array_mut(neighbors, most)?, own);
        Ok(())
    }

    fn MPI_Dist_graph_create_adjacent(
        parent: c_int, in_degree: c_int, sources: *const c_int, source_weights: *const c_int, out_degree: c_int,
        destinations: *const c_int, destination_weights: *const c_int, _info: c_int, _reorder: c_int, made: *mut c_int,
    ) {
        let (sources, destinations) = (array(sources, in_degree)?, array(destinations, out_degree)?);
        let (_, size) = process::with(|p| p.place(parent))?;
        check_ranks(sources.iter().chain(destinations), size)?;
        let weighted = |ranks: &[c_int], weights: Vec<c_int>| ranks.iter().copied().zip(weights).collect();
        let neighbors = GraphNeighbors {
            sources: weighted(sources, weights_of(source_weights, sources.len())?),
            destinations: weighted(destinations, weights_of(destination_weights, destinations.len())?),
            is_weighted: has_weights(source_weights) && has_weights(destination_weights),
        };
        put(made, create(parent, size, Call::CartCreate, |_, _| Ok(VirtualTopology::Distributed(neighbors)))?)
    }

    fn MPI_Dist_graph_create(
        parent: c_int, count: c_int, sources: *const c_int, degrees: *const c_int, destinations: *const c_int,
        weights: *const c_int, _info: c_int, _reorder: c_int, made: *mut c_int,
    ) {
        let (sources, degrees) = (array(sources, count)?, array(degrees, count)?);
        let edges: usize = degrees.iter().map(|degree| *degree as usize).sum();
        let destinations = array(destinations, edges as i64)?;
        let (_, size) = process::with(|p| p.place(parent))?;
        check_ranks(sources.iter().chain(destinations), size)?;
        let all_weights = weights_of(weights, edges)?;
        let mut words = Vec::new();
        let mut edge = 0;
        for (source, degree) in sources.iter().zip(degrees) {
            for _ in 0..*degree {
                words.extend([*source, destinations[edge], all_weights[edge]]);
                edge += 1;
            }
        }
        let said: Vec<u8> = words.into_iter().flat_map(c_int::to_le_bytes).collect();
        let is_weighted = has_weights(weights);
        put(made, create(parent, size, Call::CartCreate, |p, rank| {
            let mut neighbors = GraphNeighbors { is_weighted, ..GraphNeighbors::default() };
            for edges in p.gather_from_all(parent, said)? {
                let words = edges.chunks_exact(4).map(|word| c_int::from_le_bytes(word.try_into().unwrap_or_default()));
                for edge in words.collect::<Vec<_>>().chunks_exact(3) {
                    if edge[1] == rank {
                        neighbors.sources.push((edge[0], edge[2]));
                    }
                    if edge[0] == rank {
                        neighbors.destinations.push((edge[1], edge[2]));
                    }
                }
            }
            Ok(VirtualTopology::Distributed(neighbors))
        })?)
    }

    fn MPI_Dist_graph_neighbors_count(
        communicator: c_int, in_degree: *mut c_int, out_degree: *mut c_int, is_weighted: *mut c_int,
    ) {
        let own = with_distributed(communicator, |own| Ok(own.clone()))?;
        put(in_degree, own.sources.len() as c_int)?;
        put(out_degree, own.destinations.len() as c_int)?;
        put(is_weighted, own.is_weighted.into())
    }

    fn MPI_Dist_graph_neighbors(
        communicator: c_int, most_in: c_int, sources: *mut c_int, source_weights: *mut c_int, most_out: c_int,
        destinations: *mut c_int, destination_weights: *mut c_int,
    ) {
        let own = with_distributed(communicator, |own| Ok(own.clone()))?;
        for (edges, most, ranks, weights) in [
            (own.sources, most_in, sources, source_weights),
            (own.destinations, most_out, destinations, destination_weights),
        ] {
            copy_front(array_mut(ranks, most)?, edges.iter().map(|(rank, _)| *rank));
            let is_empty = weights.addr() == super::WEIGHTS_EMPTY;
            if own.is_weighted && has_weights(weights) && !is_empty {
                copy_front(array_mut(weights, most)?, edges.iter().map(|(_, weight)| *weight));
            }
        }
        Ok(())
    }
}
