//! Sampled computation: sections of a program that repeat, of which only the first executions run. Each later one is
//! skipped, and takes the mean CPU time of those that ran (A. Degomme et al., "Simulating MPI applications: the SMPI
//! approach", IEEE Trans. Parallel and Distributed Systems 28(8), 2017, section 4.4: `SMPI_SAMPLE_LOCAL`).
//!
//! The results of the program are then not those that it would compute.

use std::collections::HashMap;
use std::ffi::c_int;

/// Address of the name of a file in the program, and a line.
pub(crate) type SampledSection = (usize, c_int);

/// The measured executions of a section.
#[derive(Default)]
struct Samples {
    count: u64,
    total_ns: u64,
}

/// The sampled sections of a rank.
#[derive(Default)]
pub(crate) struct SamplingTable {
    sections: HashMap<SampledSection, Samples>,
    /// Sections that are being executed, the outermost first, and the CPU time in ns at which each began.
    open: Vec<(SampledSection, u64)>,
}

impl SamplingTable {
    /// The mean time in ps of a section that has run `most` times, which is then skipped. `None` if it has to run.
    pub fn mean_ps(&self, section: SampledSection, most: u64) -> Option<u64> {
        // What is inside of a section that runs belongs to its time.
        if !self.open.is_empty() {
            return None;
        }
        let samples = self
            .sections
            .get(&section)
            .filter(|samples| samples.count >= most)?;
        let mean = u128::from(samples.total_ns) * 1000 / u128::from(samples.count.max(1));
        Some(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// A section begins to run.
    pub fn begin(&mut self, section: SampledSection, cpu_ns: u64) {
        self.open.push((section, cpu_ns));
    }

    /// The innermost section that runs has ended.
    pub fn end(&mut self, cpu_ns: u64) {
        if let Some((section, began)) = self.open.pop()
            && self.open.is_empty()
        {
            let samples = self.sections.entry(section).or_default();
            samples.count += 1;
            samples.total_ns = samples.total_ns.saturating_add(cpu_ns.saturating_sub(began));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_executions_take_the_mean_of_the_first() {
        let mut table = SamplingTable::default();
        let (one, other) = ((1, 1), (1, 2));
        for (began, ended) in [(0, 10), (100, 130)] {
            assert_eq!(table.mean_ps(one, 2), None);
            table.begin(one, began);
            // A section inside is part of it.
            assert_eq!(table.mean_ps(other, 0), None);
            table.begin(other, began + 1);
            table.end(began + 2);
            table.end(ended);
        }
        assert_eq!(table.mean_ps(one, 2), Some(20_000));
        assert_eq!(table.mean_ps(one, 3), None);
        assert_eq!(table.mean_ps(other, 1), None);
        // An end without a beginning is none.
        table.end(7);
        assert_eq!(table.mean_ps(one, 2), Some(20_000));
    }
}
