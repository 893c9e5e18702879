//! The energy of a run and of its jobs. `docs/methods/energy.md` has the model.
//!
//! Energies are whole attojoules (10^-18 J), the product of microwatts and picoseconds, so that sums are exact.

use serde::{Deserialize, Serialize};

use crate::nanoseconds::nanoseconds;

/// The energy of a run from time 0 to its end. Not part of the digest.
#[derive(Clone, Debug, Default)]
pub struct EnergyTotals {
    /// From time 0 to the end of the run, in picoseconds.
    pub time_ps: u64,
    /// The components of the network that draw power.
    pub parts: Vec<ComponentTotals>,
    /// What is attributed to no job.
    pub unallocated: JobEnergyTotals,
}

/// The energy of the components of one kind.
#[derive(Clone, Debug, Default)]
pub struct ComponentTotals {
    /// `routers`, `links`, `nics` or `hosts`.
    pub part: &'static str,
    /// Kind of the routers, or class of the links; empty for other components.
    pub kind: String,
    /// Number of routers, ends of cables, NIC ports or hosts.
    pub count: u64,
    /// Energy that they draw whatever the load, in attojoules.
    pub idle_aj: u128,
    /// Energy that the load adds, in attojoules.
    pub dynamic_aj: u128,
}

/// The energy that is attributed to a job, or to none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobEnergyTotals {
    /// Share of the energy that the network draws whatever the load, in attojoules.
    pub idle_aj: u128,
    /// Energy that its packets added, in attojoules.
    pub dynamic_aj: u128,
}

/// The energy of a run from time 0 to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnergySummary {
    /// From time 0 to the end of the run, in nanoseconds.
    pub time_ns: f64,
    /// All energy, in joules.
    pub total_j: f64,
    /// Energy that is drawn whatever the load, in joules.
    pub idle_j: f64,
    /// Energy that the load adds, in joules.
    pub dynamic_j: f64,
    /// All energy divided by the time, in watts. `None` for a run of no time.
    pub mean_power_w: Option<f64>,
    /// All energy divided by the delivered payload, in picojoules per bit. `None` if nothing was delivered.
    pub pj_per_bit: Option<f64>,
    /// The energy by component.
    pub parts: Vec<ComponentEnergy>,
    /// Idle energy of hosts while no job has them, in joules.
    pub unallocated_j: f64,
}

/// The energy of the components of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComponentEnergy {
    /// `routers`, `links`, `nics` or `hosts`.
    pub part: String,
    /// Kind of the routers, or class of the links. `None` for other components.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Number of routers, ends of cables, NIC ports or hosts.
    pub count: u64,
    /// Energy that they draw whatever the load, in joules.
    pub idle_j: f64,
    /// Energy that the load adds, in joules.
    pub dynamic_j: f64,
}

/// The energy that is attributed to a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobEnergy {
    /// Sum of both parts, in joules.
    pub total_j: f64,
    /// Share of the energy that the network draws whatever the load, in joules.
    pub idle_j: f64,
    /// Energy that its packets added, in joules.
    pub dynamic_j: f64,
}

impl EnergyTotals {
    /// The summary, for a network that delivered this payload.
    pub(crate) fn summary(&self, bytes_delivered: u64) -> EnergySummary {
        let idle: u128 = self.parts.iter().map(|part| part.idle_aj).sum();
        let dynamic: u128 = self.parts.iter().map(|part| part.dynamic_aj).sum();
        let total = idle + dynamic;
        // An attojoule per picosecond is a microwatt.
        let per = |amount: f64| (amount > 0.0).then(|| total as f64 / amount / 1e6);
        EnergySummary {
            time_ns: nanoseconds(self.time_ps),
            total_j: joules(total),
            idle_j: joules(idle),
            dynamic_j: joules(dynamic),
            mean_power_w: per(self.time_ps as f64),
            pj_per_bit: per(bytes_delivered as f64 * 8.0),
            parts: self.parts.iter().map(ComponentTotals::summary).collect(),
            unallocated_j: joules(self.unallocated.idle_aj + self.unallocated.dynamic_aj),
        }
    }
}

impl ComponentTotals {
    fn summary(&self) -> ComponentEnergy {
        ComponentEnergy {
            part: self.part.into(),
            kind: (!self.kind.is_empty()).then(|| self.kind.clone()),
            count: self.count,
            idle_j: joules(self.idle_aj),
            dynamic_j: joules(self.dynamic_aj),
        }
    }
}

impl JobEnergyTotals {
    pub(crate) fn summary(self) -> JobEnergy {
        JobEnergy {
            total_j: joules(self.idle_aj + self.dynamic_aj),
            idle_j: joules(self.idle_aj),
            dynamic_j: joules(self.dynamic_aj),
        }
    }
}

impl ComponentEnergy {
    /// The component in words, with the kind of its routers or the class of its links.
    pub(crate) fn name(&self) -> String {
        let part = match self.part.as_str() {
            "nics" => "NIC ports",
            "links" => "ends of cables",
            other => other,
        };
        match &self.kind {
            Some(kind) => format!("{part}, {kind}"),
            None => part.into(),
        }
    }
}

fn joules(aj: u128) -> f64 {
    aj as f64 / 1e18
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_quotients_are_those_of_the_parts() {
        let part = |part, kind: &str, idle_aj, dynamic_aj| ComponentTotals {
            part,
            kind: kind.into(),
            count: 2,
            idle_aj,
            dynamic_aj,
        };
        let totals = EnergyTotals {
            time_ps: 2_000_000,
            parts: vec![
                part("routers", "leaf", 3_000_000_000_000_000, 0),
                part("nics", "", 0, 1_000_000_000_000_000),
            ],
            unallocated: JobEnergyTotals {
                idle_aj: 500_000_000_000_000,
                dynamic_aj: 0,
            },
        };
        let summary = totals.summary(1000);
        assert_eq!(
            (
                summary.time_ns,
                summary.total_j,
                summary.idle_j,
                summary.dynamic_j
            ),
            (2000.0, 0.004, 0.003, 0.001)
        );
        assert_eq!(summary.mean_power_w, Some(2000.0));
        // 4 mJ for 8000 bits.
        assert_eq!(summary.pj_per_bit, Some(500_000.0));
        assert_eq!(summary.unallocated_j, 0.0005);
        let names: Vec<String> = summary.parts.iter().map(ComponentEnergy::name).collect();
        assert_eq!(names, ["routers, leaf", "NIC ports"]);
        let nothing = EnergyTotals::default().summary(0);
        assert_eq!((nothing.mean_power_w, nothing.pj_per_bit), (None, None));
    }
}
