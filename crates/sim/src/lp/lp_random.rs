//! The random stream of the LP that executes an event, for routing and for synthetic traffic.

use des::Context;
use routing::Random;
use workload::traffic::TrafficRandom;

use crate::lp::simulation::Simulation;

/// The random stream of the LP that executes an event.
pub struct LpRandom<'a, C>(pub &'a mut C);

impl<C: Context<Simulation>> Random for LpRandom<'_, C> {
    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        // Lemire's multiply-shift: the bias is below bound / 2^64.
        ((u128::from(self.0.random()) * u128::from(bound)) >> 64) as u32
    }
}

impl<C: Context<Simulation>> TrafficRandom for LpRandom<'_, C> {
    fn next_u64(&mut self) -> u64 {
        self.0.random()
    }
}
