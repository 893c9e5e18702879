//! Distribution of a message over the NIC ports (rails) of a host. The functions are pure; the ports are
//! independent [`Nic`](crate::Nic)s.
//!
//! A message is divided into units: packets, or the whole message as one unit. All units have the same size except
//! the last. Rails are visited cyclically from the rail `next`.

/// Assigns units to rails in cyclic order. Writes the bytes of each rail to `shares`, and returns the next rail.
pub fn round_robin(bytes: u64, unit: u64, next: usize, shares: &mut [u64]) -> usize {
    let rails = shares.len() as u64;
    let units = bytes.div_ceil(unit);
    let (rounds, over) = (units / rails, units % rails);
    for (place, rail) in cyclic(next, shares.len()).enumerate() {
        let units = rounds + u64::from((place as u64) < over);
        shares[rail] = units * unit;
    }
    let next = (next as u64 + units) % rails;
    if units > 0 {
        // The last unit may be shorter.
        let last = (next + rails - 1) % rails;
        shares[last as usize] -= units * unit - bytes;
    }
    next as usize
}

/// Assigns each unit to the rail with the fewest bytes to send, `queued` bytes included; ties go to the first rail
/// in cyclic order. Writes the bytes of each rail to `shares`, and returns the rail after that of the last unit.
pub fn least_loaded(bytes: u64, unit: u64, next: usize, queued: &[u64], shares: &mut [u64]) -> usize {
    let rails = shares.len();
    let units = bytes.div_ceil(unit);
    shares.fill(0);
    // All units that begin below this level are assigned. The level is the highest one for which the units suffice.
    let level = level(units, unit, queued);
    let below = |queued: u64| level.saturating_sub(queued).div_ceil(unit);
    let mut over = units - queued.iter().map(|queued| below(*queued)).sum::<u64>();
    let mut last = None;
    for rail in cyclic(next, rails) {
        let mut units = below(queued[rail]);
        if over > 0 && queued[rail] + units * unit == level {
            (units, over) = (units + 1, over - 1);
        }
        shares[rail] = units * unit;
        if units > 0 {
            // The last unit is the one that begins at the highest level; of several, the one of the last rail.
            let begins = queued[rail] + (units - 1) * unit;
            if last.is_none_or(|(least, _)| begins >= least) {
                last = Some((begins, rail));
            }
        }
    }
    let Some((_, last)) = last else { return next };
    shares[last] -= units * unit - bytes;
    (last + 1) % rails
}

/// Each rail once, in cyclic order from `next`.
fn cyclic(next: usize, rails: usize) -> impl Iterator<Item = usize> {
    (next..rails).chain(0..next)
}

/// The highest level below which at most `units` units begin, if all rails are filled from their `queued` bytes.
fn level(units: u64, unit: u64, queued: &[u64]) -> u64 {
    let least = queued.iter().copied().min().unwrap_or(0);
    let begun = |level: u64| -> u64 {
        queued
            .iter()
            .map(|queued| level.saturating_sub(*queued).div_ceil(unit))
            .sum()
    };
    // No unit begins below the least queue. Below the upper bound, a single rail begins one unit too many.
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

    /// The definition of both functions, unit by unit.
    fn one_by_one(
        bytes: u64,
        unit: u64,
        start: usize,
        loads: Option<&[u64]>,
        rails: usize,
    ) -> (Vec<u64>, usize) {
        let (mut left, mut start, mut shares) = (bytes, start, vec![0; rails]);
        // The last unit counts as a whole one.
        let mut load = loads.map(<[u64]>::to_vec);
        let first = start;
        while left > 0 {
            let rail = match &load {
                None => start,
                Some(load) => cyclic(first, rails).min_by_key(|rail| load[*rail]).unwrap(),
            };
            if let Some(load) = &mut load {
                load[rail] += unit;
            }
            shares[rail] += left.min(unit);
            left -= left.min(unit);
            start = (rail + 1) % rails;
        }
        (shares, start)
    }

    proptest! {
        #[test]
        fn round_robin_is_one_by_one(bytes in 1u64..3000, unit in 1u64..400, rails in 1usize..9, start in 0usize..9) {
            let start = start % rails;
            let mut shares = vec![7; rails];
            let next = round_robin(bytes, unit, start, &mut shares);
            prop_assert_eq!((shares.clone(), next), one_by_one(bytes, unit, start, None, rails));
            prop_assert_eq!(shares.iter().sum::<u64>(), bytes);
            let whole = shares.iter().filter(|share| *share % unit != 0).count();
            prop_assert!(whole <= 1, "all but one are whole units: {:?}", shares);
        }

        #[test]
        fn least_loaded_is_one_by_one(
            bytes in 1u64..3000,
            unit in 1u64..400,
            queued in prop::collection::vec(prop_oneof![Just(0), Just(100), 0u64..1000], 1..9),
            start in 0usize..9,
        ) {
            let start = start % queued.len();
            let mut shares = vec![7; queued.len()];
            let next = least_loaded(bytes, unit, start, &queued, &mut shares);
            prop_assert_eq!(
                (shares.clone(), next),
                one_by_one(bytes, unit, start, Some(&queued), queued.len())
            );
            prop_assert_eq!(shares.iter().sum::<u64>(), bytes);
        }
    }

    #[test]
    fn a_whole_message_is_one_unit() {
        let mut shares = [0; 3];
        assert_eq!(round_robin(500, 500, 1, &mut shares), 2);
        assert_eq!(shares, [0, 500, 0]);
        assert_eq!(least_loaded(500, 500, 0, &[9, 8, 8], &mut shares), 2);
        assert_eq!(shares, [0, 500, 0]);
        assert_eq!(least_loaded(500, 500, 2, &[9, 8, 8], &mut shares), 0);
        assert_eq!(shares, [0, 0, 500]);
    }

    #[test]
    fn a_message_of_a_tebibyte_takes_no_time_to_divide() {
        let mut shares = [0; 4];
        least_loaded(1 << 40, 256, 0, &[0, 1 << 30, 0, 512], &mut shares);
        assert_eq!(shares.iter().sum::<u64>(), 1 << 40);
        let filled = [shares[0], shares[1] + (1 << 30), shares[2], shares[3] + 512];
        assert!(
            filled.iter().max().unwrap() - filled.iter().min().unwrap() <= 256,
            "{filled:?}"
        );
    }
}
