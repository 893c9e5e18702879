//! Limits of times in experiments.

use config::{Duration, Section};

/// Longest delay of a cable or router. With it, no event exceeds the largest simulated time (213 days).
pub const LONGEST_DELAY: Duration = Duration {
    ps: 1_000_000_000_000,
};

/// Latest start of a job and end of a run: 100 days. Traffic may then wait another 36 days for its next message.
pub const LATEST: Duration = Duration {
    ps: 8_640_000_000_000_000_000,
};

/// Rejects a time that is longer than `most`.
pub fn at_most(section: &Section, key: &str, time: Duration, most: Duration) -> Result<(), config::Error> {
    if time > most {
        return Err(section.error(key, format!("{time} is out of range; expected at most {most}")));
    }
    Ok(())
}
