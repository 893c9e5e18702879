//! Wait cycles: ranks that wait for each other forever, and ranks that wait for a finished one.
//!
//! A blocked rank needs something of each rank that it awaits, so a cycle alone explains why none of its members
//! can continue.

use std::collections::VecDeque;

/// Number of cycles, and of ranks that wait for a finished one, that a message names.
const NAMED: usize = 3;
/// Number of ranks of a cycle that a message names.
const SHOWN: usize = 8;

/// The ranks that each rank of a job awaits, in order; `None` for a finished rank.
pub type Awaited = Vec<Option<Vec<u32>>>;

/// The lines of the message about a job.
pub fn wait_cycles(awaited: &Awaited) -> Vec<String> {
    let mut lines: Vec<String> = cycles(awaited).iter().map(|ranks| cycle(ranks)).collect();
    let ended = awaited.iter().zip(0u32..).filter_map(|(of_rank, rank)| {
        let gone = |other: &&u32| awaited.get(**other as usize).is_none_or(Option::is_none);
        let other = of_rank.as_ref()?.iter().find(gone)?;
        Some(format!("rank {rank} waits for rank {other}, which has ended"))
    });
    lines.extend(ended.take(NAMED));
    lines
}

fn cycle(ranks: &[u32]) -> String {
    let first = ranks[0];
    if ranks.len() == 1 {
        return format!("rank {first} waits for itself");
    }
    let shown = ranks[1..].iter().take(SHOWN - 1);
    let waits: Vec<String> = shown.map(|rank| format!("waits for rank {rank}")).collect();
    let text = format!("rank {first} {}", waits.join(", which "));
    match ranks.len().saturating_sub(SHOWN) {
        0 => format!("{text}, which waits for rank {first}"),
        more => format!("{text}, and so on by {more} more to one that waits for rank {first}"),
    }
}

/// The first cycles that a depth-first search meets. No two have a rank in common. Each is the shortest through the
/// rank at which the search met it.
fn cycles(awaited: &Awaited) -> Vec<Vec<u32>> {
    let mut found: Vec<Vec<u32>> = Vec::new();
    let mut seen = vec![false; awaited.len()];
    // Ranks on the current path of the search.
    let mut on_path = vec![false; awaited.len()];
    for start in 0..awaited.len() as u32 {
        if seen[start as usize] {
            continue;
        }
        // Each rank of the path, with the number of its awaited ranks that were followed.
        let mut path = vec![(start, 0)];
        (seen[start as usize], on_path[start as usize]) = (true, true);
        while let Some((rank, followed)) = path.last_mut() {
            let Some(next) = of(awaited, *rank).get(*followed).copied() else {
                on_path[*rank as usize] = false;
                path.pop();
                continue;
            };
            *followed += 1;
            match seen.get(next as usize) {
                Some(false) => {
                    (seen[next as usize], on_path[next as usize]) = (true, true);
                    path.push((next, 0));
                }
                Some(true)
                    if on_path[next as usize] && !found.iter().flatten().any(|known| *known == next) =>
                {
                    let ranks = shortest(awaited, next);
                    let is_new =
                        |ranks: &Vec<u32>| !found.iter().flatten().any(|known| ranks.contains(known));
                    let new = ranks.filter(is_new);
                    found.extend(new);
                    if found.len() == NAMED {
                        return found;
                    }
                }
                _ => {}
            }
        }
    }
    found
}

fn of(awaited: &Awaited, rank: u32) -> &[u32] {
    let of_rank = awaited.get(rank as usize).and_then(Option::as_deref);
    of_rank.unwrap_or_default()
}

/// The shortest cycle through a rank, beginning with its smallest rank.
fn shortest(awaited: &Awaited, through: u32) -> Option<Vec<u32>> {
    let mut before = vec![None; awaited.len()];
    let mut queue = VecDeque::from([through]);
    while let Some(rank) = queue.pop_front() {
        for next in of(awaited, rank) {
            if *next == through {
                return Some(back(&before, through, rank));
            }
            if let Some(unset @ None) = before.get_mut(*next as usize) {
                *unset = Some(rank);
                queue.push_back(*next);
            }
        }
    }
    None
}

/// The cycle that ends with `last`, from the predecessors of the search.
fn back(before: &[Option<u32>], through: u32, last: u32) -> Vec<u32> {
    let mut ranks = vec![last];
    let mut rank = last;
    while let Some(previous) = before[rank as usize].filter(|_| rank != through) {
        ranks.push(previous);
        rank = previous;
    }
    ranks.reverse();
    let least = (0..ranks.len()).min_by_key(|place| ranks[*place]).unwrap_or(0);
    ranks.rotate_left(least);
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(awaited: &[Option<&[u32]>]) -> Vec<String> {
        let owned = awaited.iter().map(|of_rank| of_rank.map(<[u32]>::to_vec));
        wait_cycles(&owned.collect())
    }

    #[test]
    fn circles_are_named_from_their_least_rank() {
        let facing = lines(&[Some(&[1]), Some(&[0]), Some(&[0])]);
        assert_eq!(facing, ["rank 0 waits for rank 1, which waits for rank 0"]);
        // Rank 0 only leads to the cycle, and rank 4 waits for itself.
        let behind = lines(&[Some(&[3]), Some(&[2]), Some(&[3]), Some(&[1, 2]), Some(&[4])]);
        assert_eq!(
            behind,
            [
                "rank 2 waits for rank 3, which waits for rank 2",
                "rank 4 waits for itself"
            ]
        );
    }

    #[test]
    fn the_shortest_circle_through_a_rank_is_named() {
        let ranks = lines(&[Some(&[1]), Some(&[2, 3]), Some(&[3]), Some(&[0])]);
        assert_eq!(
            ranks,
            ["rank 0 waits for rank 1, which waits for rank 3, which waits for rank 0"]
        );
    }

    #[test]
    fn long_circles_are_cut_short() {
        let awaited: Awaited = (0..20u32).map(|rank| Some(vec![(rank + 1) % 20])).collect();
        let line = wait_cycles(&awaited).remove(0);
        assert!(
            line.starts_with("rank 0 waits for rank 1, which waits for rank 2, "),
            "{line}"
        );
        assert!(
            line.ends_with("rank 7, and so on by 12 more to one that waits for rank 0"),
            "{line}"
        );
        let pairs: Awaited = (0..20u32).map(|rank| Some(vec![rank ^ 1])).collect();
        assert_eq!(wait_cycles(&pairs).len(), NAMED);
    }

    #[test]
    fn ended_ranks_are_named_and_others_are_not_taken_for_circles() {
        assert_eq!(
            lines(&[Some(&[1, 2]), Some(&[2]), None]),
            [
                "rank 0 waits for rank 2, which has ended",
                "rank 1 waits for rank 2, which has ended"
            ]
        );
        assert_eq!(lines(&[Some(&[1]), Some(&[])]), [""; 0]);
    }
}
