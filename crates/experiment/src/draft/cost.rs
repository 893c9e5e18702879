//! Costs of the networks of a draft, and the bandwidths with which none costs more than a budget.

use config::{Bandwidth, Error};
use results::CostTable;

use super::options::NetworkOptions;
use super::request::{DraftNetwork, Equal, refused};

/// Bandwidths are whole multiples of this, in bits per second, beside those that the cost table names.
const STEP: u64 = 1_000_000;

/// Greatest bandwidth that is tried, in bits per second.
const MOST: u64 = 1_000_000_000_000_000_000;

/// The sum that each network may cost.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    pub(super) sum: f64,
    /// Name of the topology that costs it; `None` if the request gives the budget.
    pub(super) of: Option<String>,
}

impl Budget {
    /// The sum, and where it comes from.
    pub(super) fn in_words(&self, table: &CostTable) -> String {
        let of = self
            .of
            .as_ref()
            .map(|topology| format!(", the cost of {topology}"));
        format!("{}{}", table.amount(self.sum), of.unwrap_or_default())
    }
}

/// Chooses the bandwidths, where the networks have equal cost, and gives each network its cost.
///
/// # Errors
/// A part has no price, or there is no such bandwidth.
pub(super) fn settle(
    networks: &mut [DraftNetwork],
    options: &NetworkOptions<'_>,
) -> Result<Option<Budget>, Error> {
    let Some(table) = options.costs.as_ref().map(|costs| &costs.table) else {
        return Ok(None);
    };
    let mut budget = None;
    if let (Equal::Cost, Some(bandwidth)) = (options.equal, options.bandwidth) {
        refuse_equal_prices(networks, table)?;
        let found = match options.budget {
            Some(sum) => Budget { sum, of: None },
            None => Budget {
                sum: cost(&networks[0], table)?,
                of: Some(networks[0].topology.clone()),
            },
        };
        if found.sum <= 0.0 {
            let message = format!("the budget is {}; expected more than 0", found.in_words(table));
            return Err(refused("--budget", message));
        }
        for network in networks.iter_mut() {
            network.router_link_bits_per_s = Some(affordable(network, table, &found, bandwidth)?);
        }
        budget = Some(found);
    }
    for network in networks.iter_mut() {
        let cost = cost(network, table)?;
        let each = cost / f64::from(network.hosts.max(1));
        let mut words = format!("{}, {} per host", table.amount(cost), table.amount(each));
        if let (Some(budget), Some(links)) = (&budget, network.router_links()) {
            let rest = 100.0 * (budget.sum - cost) / budget.sum;
            words += &format!(", {rest:.2} % under the budget, with {links} between routers");
        }
        network.cost = Some(cost);
        network.cost_in_words = Some(words);
    }
    Ok(budget)
}

/// The cost of a network with its present bandwidth.
fn cost(network: &DraftNetwork, table: &CostTable) -> Result<f64, Error> {
    cost_with(network, table, network.router_link_bits_per_s)
}

fn cost_with(network: &DraftNetwork, table: &CostTable, bits_per_s: Option<u64>) -> Result<f64, Error> {
    let parts = network.parts.as_ref().expect("counted for a cost table");
    table.cost(&parts.inventory(bits_per_s)).map_err(|mut error| {
        error.message += &format!(" (on topology {})", network.topology);
        error
    })
}

/// Prices without the bandwidth cannot give networks of a given size equal cost.
fn refuse_equal_prices(networks: &[DraftNetwork], table: &CostTable) -> Result<(), Error> {
    let classes = networks.iter().filter_map(|network| network.parts.as_ref());
    let classes = classes.flat_map(|parts| parts.classes_between_routers());
    if table.depends_on_bandwidth(classes) {
        return Ok(());
    }
    let costs = networks.iter().map(|network| -> Result<_, Error> {
        let cost = table.amount(cost(network, table)?);
        Ok(format!("{} costs {cost}", network.topology))
    });
    let costs = costs.collect::<Result<Vec<_>, Error>>()?.join(", ");
    let message = format!(
        "no price in {} depends on the bandwidth of links between routers, so that none makes the costs of networks of \
         these sizes equal: {costs}; expected cable.bandwidth, cable.per_gbps, cable.per_gbps_metre or \
         switch.bandwidth, or --equal hosts, with which the sweep shows these costs",
        table.file()
    );
    Err(refused("--costs", message))
}

/// The bandwidth of a network for the budget.
fn affordable(
    network: &DraftNetwork,
    table: &CostTable,
    budget: &Budget,
    bandwidth: Bandwidth,
) -> Result<u64, Error> {
    let mut steps = table.bandwidth_steps();
    steps.push(bandwidth.bits_per_s);
    let cost = |bits_per_s| cost_with(network, table, Some(bits_per_s));
    let topology = &network.topology;
    match greatest(steps, budget.sum, |bits_per_s| cost(bits_per_s).ok()) {
        Affordable::Bandwidth(bits_per_s) => Ok(bits_per_s),
        Affordable::Unlimited => {
            let most = table.amount(cost(MOST)?);
            let message = format!(
                "{topology} costs {most} however great the bandwidth between routers, and the budget is {}; expected a \
                 smaller --budget, or prices in {} that grow with the bandwidth",
                budget.in_words(table),
                table.file()
            );
            Err(refused("--costs", message))
        }
        Affordable::Nothing(Some((least, bits_per_s))) => {
            let message = format!(
                "{topology} costs at least {}, with {} between routers, and the budget is {}; expected a greater \
                 --budget",
                table.amount(least),
                Bandwidth { bits_per_s },
                budget.in_words(table)
            );
            Err(refused("--budget", message))
        }
        Affordable::Nothing(None) => {
            let error = cost(bandwidth.bits_per_s).err();
            Err(error.unwrap_or_else(|| refused("--bandwidth", format!("{bandwidth} is too large"))))
        }
    }
}

/// What a budget buys.
#[derive(Debug, PartialEq)]
enum Affordable {
    /// The greatest bandwidth, in bits per second.
    Bandwidth(u64),
    /// Any bandwidth.
    Unlimited,
    /// None; the least cost with its bandwidth, unless a part has no price with any.
    Nothing(Option<(f64, u64)>),
}

/// The greatest bandwidth that costs at most the budget: one of the steps, or a whole number of Mbps between two of
/// them. There the cost is concave or has no value ([`CostTable::bandwidth_steps`]), so that what the budget buys ends
/// at the end of an interval, or is found by bisection from its beginning.
fn greatest(mut steps: Vec<u64>, budget: f64, cost: impl Fn(u64) -> Option<f64>) -> Affordable {
    steps.retain(|step| (1..MOST).contains(step));
    steps.sort_unstable();
    steps.dedup();
    let is_affordable = |bits_per_s| cost(bits_per_s).is_some_and(|cost| cost <= budget);
    let mut least: Option<(f64, u64)> = None;
    let mut end = MOST;
    for step in steps.into_iter().rev().chain([0]) {
        // Whole steps above this one and at most at the end.
        let (mut low, mut high) = (step / STEP + 1, end / STEP);
        if low <= high {
            if is_affordable(high * STEP) {
                return match end {
                    MOST => Affordable::Unlimited,
                    _ => Affordable::Bandwidth(high * STEP),
                };
            }
            if is_affordable(low * STEP) {
                while low + 1 < high {
                    let middle = low + (high - low) / 2;
                    match is_affordable(middle * STEP) {
                        true => low = middle,
                        false => high = middle,
                    }
                }
                return Affordable::Bandwidth(low * STEP);
            }
        }
        if is_affordable(step) && step > 0 {
            return Affordable::Bandwidth(step);
        }
        let tried = [low.saturating_mul(STEP), high * STEP, step];
        for bits_per_s in tried.into_iter().filter(|bits| (1..=end).contains(bits)) {
            if let Some(cost) = cost(bits_per_s)
                && least.is_none_or(|(least, _)| cost <= least)
            {
                least = Some((cost, bits_per_s));
            }
        }
        end = step.saturating_sub(1);
    }
    Affordable::Nothing(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GBPS: u64 = 1_000_000_000;

    fn gbps(bits_per_s: u64) -> f64 {
        bits_per_s as f64 / 1e9
    }

    #[test]
    fn continuous_prices_give_the_last_mbps_of_the_budget() {
        let cost = |bits| Some(100.0 + 3.0 * gbps(bits));
        assert_eq!(greatest(vec![], 400.0, cost), Affordable::Bandwidth(100 * GBPS));
        assert_eq!(
            greatest(vec![], 400.01, cost),
            Affordable::Bandwidth(100_003_000_000)
        );
        // A step is taken as it is, though it is no whole number of Mbps.
        let odd = 100_000_000_500;
        let sum = cost(odd).unwrap();
        assert_eq!(greatest(vec![odd], sum, cost), Affordable::Bandwidth(odd));
        assert_eq!(
            greatest(vec![odd], 399.9, cost),
            Affordable::Bandwidth(99_966_000_000)
        );
    }

    #[test]
    fn stepped_prices_give_one_of_the_steps() {
        let steps = vec![200 * GBPS, 100 * GBPS, 400 * GBPS];
        let prices = [(100 * GBPS, 10.0), (200 * GBPS, 20.0), (400 * GBPS, 70.0)];
        let cost = |bits: u64| {
            prices
                .iter()
                .find(|(speed, _)| *speed == bits)
                .map(|(_, cost)| *cost)
        };
        for (budget, expected) in [(70.0, 400), (69.0, 200), (20.0, 200), (19.0, 100)] {
            let found = greatest(steps.clone(), budget, cost);
            assert_eq!(found, Affordable::Bandwidth(expected * GBPS), "{budget}");
        }
        let nothing = Affordable::Nothing(Some((10.0, 100 * GBPS)));
        assert_eq!(greatest(steps.clone(), 9.0, cost), nothing);
        assert_eq!(greatest(steps, 9.0, |_| None), Affordable::Nothing(None));
    }

    /// Routers whose price jumps at 100 and 400 Gbps, with cables by bandwidth.
    #[test]
    fn jumps_between_continuous_prices() {
        let steps = || vec![100 * GBPS, 400 * GBPS];
        let cost = |bits: u64| match bits {
            _ if bits <= 100 * GBPS => Some(100.0 + gbps(bits)),
            _ if bits <= 400 * GBPS => Some(500.0 + gbps(bits)),
            _ => None,
        };
        for (budget, expected) in [
            (2000.0, 400.0),
            (900.0, 400.0),
            (899.9995, 399.999),
            (650.0, 150.0),
            (600.5, 100.5),
            (600.0, 100.0),
            (150.25, 50.25),
            (100.001, 0.001),
        ] {
            let bits = (expected * 1e9_f64).round() as u64;
            assert_eq!(
                greatest(steps(), budget, cost),
                Affordable::Bandwidth(bits),
                "{budget}"
            );
        }
        let least = Affordable::Nothing(Some((100.001, STEP)));
        assert_eq!(greatest(steps(), 90.0, cost), least);
    }

    #[test]
    fn the_greatest_of_costs_that_fall_and_rise() {
        // Fast cables are cheaper than slow ones.
        let prices = [(100 * GBPS, 50.0), (200 * GBPS, 20.0), (400 * GBPS, 30.0)];
        let falling = |bits: u64| {
            prices
                .iter()
                .find(|(speed, _)| *speed == bits)
                .map(|(_, cost)| *cost)
        };
        let steps = || vec![100 * GBPS, 200 * GBPS, 400 * GBPS];
        assert_eq!(
            greatest(steps(), 30.0, falling),
            Affordable::Bandwidth(400 * GBPS)
        );
        assert_eq!(
            greatest(steps(), 29.0, falling),
            Affordable::Bandwidth(200 * GBPS)
        );
        let least = Affordable::Nothing(Some((20.0, 200 * GBPS)));
        assert_eq!(greatest(steps(), 19.0, falling), least);
        // Two kinds of cables, of which the cheaper one is taken: concave, and flat from 100 Gbps on.
        let flat = |bits| Some(gbps(bits).min(100.0));
        assert_eq!(greatest(vec![], 100.0, flat), Affordable::Unlimited);
        assert_eq!(
            greatest(vec![], 99.5, flat),
            Affordable::Bandwidth(99_500_000_000)
        );
        // Falling with the bandwidth up to a step, beyond which there is no price.
        let fall = |bits: u64| (bits <= 400 * GBPS).then(|| 500.0 - gbps(bits));
        assert_eq!(
            greatest(vec![400 * GBPS], 150.0, fall),
            Affordable::Bandwidth(400 * GBPS)
        );
        assert_eq!(
            greatest(vec![400 * GBPS], 99.0, fall),
            Affordable::Nothing(Some((100.0, 400 * GBPS)))
        );
    }

    /// Against a search of every candidate.
    #[test]
    fn no_candidate_above_the_found_one_is_affordable() {
        let steps = vec![3 * STEP, 7 * STEP + 10, 12 * STEP, 20 * STEP];
        let cost = |bits: u64| {
            let of = bits as f64 / STEP as f64;
            match bits {
                _ if bits == 12 * STEP => Some(4.0),
                _ if bits > 20 * STEP => None,
                _ if bits > 7 * STEP + 10 => Some((9.0 + of * 0.7).min(30.0 - of)),
                _ if bits > 3 * STEP => None,
                _ => Some(2.0 + of),
            }
        };
        let mut candidates: Vec<u64> = (1..40).map(|n| n * STEP).chain(steps.clone()).collect();
        candidates.sort_unstable();
        for tenths in 0..300 {
            let budget = f64::from(tenths) / 10.0;
            let fits = |bits: &&u64| cost(**bits).is_some_and(|cost| cost <= budget);
            let found = match greatest(steps.clone(), budget, cost) {
                Affordable::Bandwidth(bits) => Some(bits),
                Affordable::Nothing(_) => None,
                Affordable::Unlimited => panic!("no price beyond 20 Mbps"),
            };
            assert_eq!(found.as_ref(), candidates.iter().rev().find(fits), "{budget}");
        }
    }
}
