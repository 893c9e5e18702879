//! A grid of ranks, cut into blocks of neighbours that share a host.

use config::{Section, Type, parameters};

use super::{Mapping, MappingRequest, RankMapping};

pub(super) const KIND: Mapping = Mapping {
    name: "blocked",
    summary: "the ranks of a process grid in blocks of neighbours, one block on each host",
    parameters: parameters! {
        required("grid", Type::INTEGERS, "ranks in each dimension, together all of the job");
        required("block", Type::INTEGERS, "ranks of a host in each dimension");
        choice("order", &["first-fastest", "last-fastest"],
            "which dimension of the grid rank numbers go through fastest; last-fastest as MPI_Cart_create \
             does");
    },
    map,
};

fn map(section: &Section, request: &mut MappingRequest<'_>) -> Result<RankMapping, config::Error> {
    let mut grid: Vec<u32> = section.required("grid")?;
    let mut block: Vec<u32> = section.required("block")?;
    let ranks = product(&grid);
    if ranks != Some(request.ranks) {
        let shown = ranks.map_or("more than 2^32".into(), |ranks| ranks.to_string());
        let message = format!(
            "a grid of {grid:?} has {shown} ranks; expected the {} of the job",
            request.ranks
        );
        return Err(section.error("grid", message));
    }
    let fits = |(size, part): (&u32, &u32)| *part > 0 && size.is_multiple_of(*part);
    if block.len() != grid.len() || !grid.iter().zip(&block).all(fits) {
        let message =
            format!("blocks of {block:?} do not fill a grid of {grid:?}; expected divisors of its sizes");
        return Err(section.error("block", message));
    }
    let of_block = product(&block).unwrap_or(u32::MAX);
    let per_host = request.per_host(of_block)?;
    if per_host != of_block {
        let message =
            format!("{per_host} is not what a block of {block:?} has; expected {of_block}, or no such key");
        return Err(request.job.error("ranks_per_host", message));
    }
    let orders = ["first-fastest", "last-fastest"];
    if section.choice("order")? == orders[1] {
        grid.reverse();
        block.reverse();
    }
    let host = |rank: u32| {
        let (mut rest, mut host, mut stride) = (rank, 0, 1);
        for (size, part) in grid.iter().zip(&block) {
            host += rest % size / part * stride;
            rest /= size;
            stride *= size / part;
        }
        host
    };
    Ok(RankMapping {
        hosts: (0..request.ranks).map(host).collect(),
        per_host,
    })
}

/// None if it is beyond all numbers of ranks.
fn product(sizes: &[u32]) -> Option<u32> {
    sizes
        .iter()
        .try_fold(1u32, |product, size| product.checked_mul(*size))
}
