//! What adds to a critical path: parts of it by cause, place in the program or network, and time.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::show;

/// A part of a critical path. All parts of a path add up to its length; the 50 largest are listed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathContribution {
    /// Cause, named as in [`BoundBy::causes`](crate::BoundBy::causes); `unknown` for time without a cause in the
    /// tables.
    pub cause: String,
    /// Time in nanoseconds.
    pub time_ns: f64,
    /// Share of the path, 0 to 1.
    pub share: f64,
    /// Rank: the one that computes longer than the mean, otherwise the one with the largest part of this time. `None`
    /// for the network.
    pub rank: Option<u32>,
    /// Time of this rank in nanoseconds.
    pub rank_ns: Option<f64>,
    /// MPI call: the one after the computation, or the one that takes the overhead. `None` at the end of a rank, and
    /// for the network.
    pub call: Option<String>,
    /// Function that computes. `None` if the workload names none.
    pub function: Option<String>,
    /// Links at which messages waited, in words. `None` for time that is no wait.
    pub place: Option<String>,
    /// Job whose packets occupied these links. `None` if not known.
    pub holder: Option<String>,
}

/// Contributions below this share of the path are not shown.
pub(crate) const SHOWN_SHARE: f64 = 0.02;

impl PathContribution {
    /// Whether it is large enough to be shown.
    pub fn is_large(&self) -> bool {
        self.share >= SHOWN_SHARE
    }

    /// Whether it is a wait of messages.
    pub(crate) fn is_wait(&self) -> bool {
        self.place.is_some()
    }

    /// `before MPI_Allreduce (function solve)`.
    fn program(&self) -> String {
        let call = match &self.call {
            Some(call) => format!(" before {call}"),
            None => " before its end".into(),
        };
        match &self.function {
            Some(function) => format!("{call} (function `{function}`)"),
            None => call,
        }
    }

    /// `, 1.2 ms of it on rank 3`.
    fn most(&self) -> String {
        match (self.rank, self.rank_ns) {
            (Some(rank), Some(ns)) => format!(", {} of it on rank {rank}", show::time(ns)),
            _ => String::new(),
        }
    }
}

impl fmt::Display for PathContribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cause, time, share) = (&self.cause, show::time(self.time_ns), show::percent(self.share));
        if let Some(place) = &self.place {
            write!(f, "{cause}: {time} ({share}) of waiting for {place}")?;
            return match &self.holder {
                Some(holder) => write!(f, ", held by job {holder}"),
                None => Ok(()),
            };
        }
        match (cause.as_str(), self.rank) {
            ("imbalance", Some(rank)) => write!(
                f,
                "imbalance: rank {rank} computes {time} ({share}) longer than the mean{}",
                self.program()
            ),
            ("imbalance", None) => write!(
                f,
                "imbalance: {time} ({share}) of computations beyond the mean of a rank"
            ),
            ("computation", _) => {
                write!(
                    f,
                    "computation: {time} ({share}){}{}",
                    self.program(),
                    self.most()
                )
            }
            ("MPI overhead", _) => {
                let call = self.call.as_deref().unwrap_or("calls without a name");
                write!(f, "MPI overhead: {time} ({share}) in {call}{}", self.most())
            }
            ("latency", _) => write!(f, "latency: {time} ({share}) of cables, routers and memory"),
            ("memory bandwidth", _) => {
                write!(f, "memory bandwidth: {time} ({share}) between ranks of one host")
            }
            ("unknown", _) => write!(f, "unknown: {time} ({share}), as the run ended before"),
            _ => write!(f, "{cause}: {time} ({share}) of bytes of messages on the path"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cause: &str) -> PathContribution {
        PathContribution {
            cause: cause.into(),
            time_ns: 3.2e6,
            share: 0.25,
            ..PathContribution::default()
        }
    }

    #[test]
    fn computation_and_imbalance_name_rank_call_and_function() {
        let late = PathContribution {
            rank: Some(17),
            rank_ns: Some(3.2e6),
            call: Some("MPI_Allreduce".into()),
            function: Some("solve".into()),
            ..of("imbalance")
        };
        assert_eq!(
            late.to_string(),
            "imbalance: rank 17 computes 3.2 ms (25.0 %) longer than the mean before MPI_Allreduce (function `solve`)"
        );
        let computation = PathContribution {
            cause: "computation".into(),
            function: None,
            rank_ns: Some(1e6),
            ..late.clone()
        };
        assert_eq!(
            computation.to_string(),
            "computation: 3.2 ms (25.0 %) before MPI_Allreduce, 1 ms of it on rank 17"
        );
        let overhead = PathContribution {
            cause: "MPI overhead".into(),
            ..computation
        };
        assert_eq!(
            overhead.to_string(),
            "MPI overhead: 3.2 ms (25.0 %) in MPI_Allreduce, 1 ms of it on rank 17"
        );
        let chain = of("imbalance").to_string();
        assert_eq!(
            chain,
            "imbalance: 3.2 ms (25.0 %) of computations beyond the mean of a rank"
        );
    }

    #[test]
    fn waits_name_their_place_and_bytes_their_links() {
        let wait = PathContribution {
            place: Some("global links of groups 3 to 7".into()),
            holder: Some("B".into()),
            ..of("global links")
        };
        assert_eq!(
            wait.to_string(),
            "global links: 3.2 ms (25.0 %) of waiting for global links of groups 3 to 7, held by job B"
        );
        let bytes = of("injection links").to_string();
        assert_eq!(
            bytes,
            "injection links: 3.2 ms (25.0 %) of bytes of messages on the path"
        );
    }

    #[test]
    fn small_ones_are_not_shown() {
        let small = PathContribution {
            share: 0.0199,
            ..of("latency")
        };
        assert!(!small.is_large() && of("latency").is_large());
    }
}
