//! Limits of times in experiments.

use config::{Duration, Section};
use des::Time;

/// Longest delay of a cable or router: with it, no event is beyond the end of simulated time (213 days).
pub const LONGEST_DELAY: Duration = Duration {
    ps: 1_000_000_000_000,
};

/// Latest start of a job and end of a run: 100 days, and traffic may then wait another 36 for its next message.
pub const LATEST: Duration = Duration {
    ps: 8_640_000_000_000_000_000,
};

/// Refuses a time that is longer than `most`.
pub fn at_most(section: &Section, key: &str, time: Duration, most: Duration) -> Result<(), config::Error> {
    if time > most {
        return Err(section.error(key, format!("{time} is out of range; expected at most {most}")));
    }
    Ok(())
}

/// The start of a job.
pub fn read_start(section: &Section) -> Result<Time, config::Error> {
    let start: Duration = section.get("start")?;
    at_most(section, "start", start, LATEST)?;
    Ok(Time(start.ps))
}
