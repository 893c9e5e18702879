//! Groups (MPI 4.1, section 7.3).

use std::collections::HashSet;
use std::ffi::c_int;
use std::sync::Arc;

use super::{array, array_mut, functions, put};
use crate::abi::{self, class};
use crate::communicator::{compare_groups, translate};
use crate::failure::{Failure, Outcome};
use crate::process;

functions! {
    fn MPI_Group_size(group: c_int, size: *mut c_int) {
        put(size, process::with(|p| p.communicators.group(group))?.len() as c_int)
    }

    fn MPI_Group_rank(group: c_int, rank: *mut c_int) {
        let own = process::with(|p| {
            let own = p.communicators.own();
            Ok(p.communicators.group(group)?.iter().position(|member| *member == own))
        })?;
        put(rank, own.map_or(abi::UNDEFINED, |own| own as c_int))
    }

    fn MPI_Group_compare(one: c_int, other: c_int, result: *mut c_int) {
        let (one, other) = process::with(|p| Ok((p.communicators.group(one)?, p.communicators.group(other)?)))?;
        put(result, compare_groups(&one, &other))
    }

    fn MPI_Group_translate_ranks(from: c_int, count: c_int, ranks: *const c_int, to: c_int, translated: *mut c_int) {
        let (from, to) = process::with(|p| Ok((p.communicators.group(from)?, p.communicators.group(to)?)))?;
        let found = translate(array(ranks, count)?, &from, &to)?;
        array_mut(translated, count)?.copy_from_slice(&found);
        Ok(())
    }

    fn MPI_Group_incl(group: c_int, count: c_int, ranks: *const c_int, made: *mut c_int) {
        let ranks = array(ranks, count)?;
        put(made, select_members(group, |members| {
            ranks.iter().map(|rank| member_of(members, *rank)).collect()
        })?)
    }

    fn MPI_Group_excl(group: c_int, count: c_int, ranks: *const c_int, made: *mut c_int) {
        let ranks = array(ranks, count)?;
        put(made, select_members(group, |members| {
            let excluded: Vec<u32> = ranks.iter().map(|rank| member_of(members, *rank)).collect::<Outcome<_>>()?;
            Ok(members.iter().copied().filter(|member| !excluded.contains(member)).collect())
        })?)
    }

    fn MPI_Group_free(group: *mut c_int) {
        process::with(|p| p.communicators.remove_group(*group))?;
        put(group, abi::GROUP_NULL)
    }

    fn MPI_Group_union(one: c_int, other: c_int, made: *mut c_int) {
        put(made, combine(one, other, |one, other| {
            let first: HashSet<u32> = one.iter().copied().collect();
            one.iter().copied().chain(other.iter().copied().filter(|own| !first.contains(own))).collect()
        })?)
    }

    fn MPI_Group_intersection(one: c_int, other: c_int, made: *mut c_int) {
        put(made, combine(one, other, |one, other| {
            let second: HashSet<u32> = other.iter().copied().collect();
            one.iter().copied().filter(|own| second.contains(own)).collect()
        })?)
    }

    fn MPI_Group_difference(one: c_int, other: c_int, made: *mut c_int) {
        put(made, combine(one, other, |one, other| {
            let second: HashSet<u32> = other.iter().copied().collect();
            one.iter().copied().filter(|own| !second.contains(own)).collect()
        })?)
    }

    fn MPI_Group_range_incl(group: c_int, count: c_int, ranges: *const [c_int; 3], made: *mut c_int) {
        let ranks = ranks_of(array(ranges, count)?)?;
        put(made, select_members(group, |members| {
            ranks.iter().map(|rank| member_of(members, *rank)).collect()
        })?)
    }

    fn MPI_Group_range_excl(group: c_int, count: c_int, ranges: *const [c_int; 3], made: *mut c_int) {
        let ranks = ranks_of(array(ranges, count)?)?;
        put(made, select_members(group, |members| {
            let excluded: HashSet<u32> = ranks.iter().map(|rank| member_of(members, *rank)).collect::<Outcome<_>>()?;
            Ok(members.iter().copied().filter(|member| !excluded.contains(member)).collect())
        })?)
    }
}

/// The ranks of ranges of a first one, a last one and a stride.
fn ranks_of(ranges: &[[c_int; 3]]) -> Outcome<Vec<c_int>> {
    let mut ranks = Vec::new();
    for &[first, last, stride] in ranges {
        if stride == 0 || (last - first).signum() * stride.signum() < 0 {
            return Err(Failure::new(
                class::ARG,
                format!("the range {first} to {last} by {stride}"),
            ));
        }
        let length = (last - first) / stride;
        ranks.extend((0..=length).map(|step| first + step * stride));
    }
    Ok(ranks)
}

/// A new group of the members of two.
fn combine(one: c_int, other: c_int, choose: impl FnOnce(&[u32], &[u32]) -> Vec<u32>) -> Outcome<c_int> {
    process::with(|p| {
        let (one, other) = (p.communicators.group(one)?, p.communicators.group(other)?);
        let chosen: Arc<[u32]> = choose(&one, &other).into();
        Ok(p.communicators.add_group(chosen))
    })
}

fn member_of(members: &[u32], rank: c_int) -> Outcome<u32> {
    let member = usize::try_from(rank).ok().and_then(|rank| members.get(rank));
    member
        .copied()
        .ok_or_else(|| Failure::new(class::RANK, format!("{rank} of a group of {}", members.len())))
}

/// A new group of some members of a group.
fn select_members(group: c_int, select: impl FnOnce(&[u32]) -> Outcome<Vec<u32>>) -> Outcome<c_int> {
    process::with(|p| {
        let members = p.communicators.group(group)?;
        let selected: Arc<[u32]> = select(&members)?.into();
        Ok(p.communicators.add_group(selected))
    })
}
