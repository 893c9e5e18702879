//! Rails: which of a host's NIC ports carry a message, and how much of it each. Plain functions; the ports are
//! [`Nic`](crate::Nic)s that know nothing of each other.
//!
//! A message is dealt out in units: packets, or the whole message as one unit. Units are of one size but for
//! the last, which is what remains. "Turn" is the rail that comes first in a circle over all rails.

/// Deals out units one by one in a circle. Writes the bytes of each rail to `shares`, and gives back whose turn
/// it is then.
pub fn in_turn(bytes: u64, unit: u64, turn: usize, shares: &mut [u64]) -> usize {
    let rails = shares.len() as u64;
    let units = bytes.div_ceil(unit);
    let (rounds, over) = (units / rails, units % rails);
    for (place, rail) in circle(turn, shares.len()).enumerate() {
        let units = rounds + u64::from((place as u64) < over);
        shares[rail] = units * unit;
    }
    let next = (turn as u64 + units) % rails;
    if units > 0 {
        // The last unit is what remains.
        let last = (next + rails - 1) % rails;
        shares[last as usize] -= units * unit - bytes;
    }
    next as usize
}

/// Deals out units one by one, each to the rail that then has the fewest bytes to send: `queued` from before
/// and what it was dealt. Among equals, the first in the circle. Writes the bytes of each rail to `shares`, and
/// gives back the rail behind the one that got the last unit, whose turn it is then.
pub fn to_the_least_loaded(bytes: u64, unit: u64, turn: usize, queued: &[u64], shares: &mut [u64]) -> usize {
    let rails = shares.len();
    let units = bytes.div_ceil(unit);
    shares.fill(0);
    // Units below this level are dealt: as many as there are, or not so many that those on it would be too few.
    let level = level(units, unit, queued);
    let below = |queued: u64| level.saturating_sub(queued).div_ceil(unit);
    let mut over = units - queued.iter().map(|queued| below(*queued)).sum::<u64>();
    let mut last = None;
    for rail in circle(turn, rails) {
        let mut units = below(queued[rail]);
        if over > 0 && queued[rail] + units * unit == level {
            (units, over) = (units + 1, over - 1);
        }
        shares[rail] = units * unit;
        if units > 0 {
            // Where the rail's last unit begins: the greatest is dealt last, the later one among equals.
            let begins = queued[rail] + (units - 1) * unit;
            if last.is_none_or(|(least, _)| begins >= least) {
                last = Some((begins, rail));
            }
        }
    }
    let Some((_, last)) = last else { return turn };
    shares[last] -= units * unit - bytes;
    (last + 1) % rails
}

/// Each rail once, from the one whose turn it is.
fn circle(turn: usize, rails: usize) -> impl Iterator<Item = usize> {
    (turn..rails).chain(0..turn)
}

/// The highest level such that no more than `units` units begin below it, if all rails are filled from what they
/// have `queued`.
fn level(units: u64, unit: u64, queued: &[u64]) -> u64 {
    let least = queued.iter().copied().min().unwrap_or(0);
    let begun = |level: u64| -> u64 {
        queued
            .iter()
            .map(|queued| level.saturating_sub(*queued).div_ceil(unit))
            .sum()
    };
    // Nothing begins below the least; one rail alone can begin one unit too many below the upper bound.
    let (mut low, mut high) = (least, least + units * unit + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if begun(middle) <= units {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Unit by unit, as the functions are documented.
    fn one_by_one(
        bytes: u64,
        unit: u64,
        turn: usize,
        loads: Option<&[u64]>,
        rails: usize,
    ) -> (Vec<u64>, usize) {
        let (mut left, mut turn, mut shares) = (bytes, turn, vec![0; rails]);
        // A unit counts whole, also the last.
        let mut load = loads.map(<[u64]>::to_vec);
        let first = turn;
        while left > 0 {
            let rail = match &load {
                None => turn,
                Some(load) => circle(first, rails).min_by_key(|rail| load[*rail]).unwrap(),
            };
            if let Some(load) = &mut load {
                load[rail] += unit;
            }
            shares[rail] += left.min(unit);
            left -= left.min(unit);
            turn = (rail + 1) % rails;
        }
        (shares, turn)
    }

    proptest! {
        #[test]
        fn in_turn_is_one_by_one(bytes in 1u64..3000, unit in 1u64..400, rails in 1usize..9, turn in 0usize..9) {
            let turn = turn % rails;
            let mut shares = vec![7; rails];
            let next = in_turn(bytes, unit, turn, &mut shares);
            prop_assert_eq!((shares.clone(), next), one_by_one(bytes, unit, turn, None, rails));
            prop_assert_eq!(shares.iter().sum::<u64>(), bytes);
            let whole = shares.iter().filter(|share| *share % unit != 0).count();
            prop_assert!(whole <= 1, "all but one are whole units: {:?}", shares);
        }

        #[test]
        fn least_loaded_is_one_by_one(
            bytes in 1u64..3000,
            unit in 1u64..400,
            queued in prop::collection::vec(prop_oneof![Just(0), Just(100), 0u64..1000], 1..9),
            turn in 0usize..9,
        ) {
            let turn = turn % queued.len();
            let mut shares = vec![7; queued.len()];
            let next = to_the_least_loaded(bytes, unit, turn, &queued, &mut shares);
            prop_assert_eq!(
                (shares.clone(), next),
                one_by_one(bytes, unit, turn, Some(&queued), queued.len())
            );
            prop_assert_eq!(shares.iter().sum::<u64>(), bytes);
        }
    }

    #[test]
    fn a_whole_message_is_one_unit() {
        let mut shares = [0; 3];
        assert_eq!(in_turn(500, 500, 1, &mut shares), 2);
        assert_eq!(shares, [0, 500, 0]);
        assert_eq!(to_the_least_loaded(500, 500, 0, &[9, 8, 8], &mut shares), 2);
        assert_eq!(shares, [0, 500, 0]);
        assert_eq!(to_the_least_loaded(500, 500, 2, &[9, 8, 8], &mut shares), 0);
        assert_eq!(shares, [0, 0, 500]);
    }

    #[test]
    fn a_message_of_a_tebibyte_takes_no_time_to_divide() {
        let mut shares = [0; 4];
        to_the_least_loaded(1 << 40, 256, 0, &[0, 1 << 30, 0, 512], &mut shares);
        assert_eq!(shares.iter().sum::<u64>(), 1 << 40);
        let filled = [shares[0], shares[1] + (1 << 30), shares[2], shares[3] + 512];
        assert!(
            filled.iter().max().unwrap() - filled.iter().min().unwrap() <= 256,
            "{filled:?}"
        );
    }
}
