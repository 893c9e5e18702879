//! The expected work of a job, or of a part of it.

/// The expected work of a job.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobWork {
    /// Links that packets cross.
    pub packet_hops: f64,
    /// Messages.
    pub messages: f64,
    /// Whether there is more.
    pub is_lower_limit: bool,
}

impl JobWork {
    /// Adds the work of `times` ranks, hosts or repetitions like this one.
    pub fn add(&mut self, work: JobWork, times: f64) {
        self.packet_hops += work.packet_hops * times;
        self.messages += work.messages * times;
        self.is_lower_limit |= work.is_lower_limit;
    }
}
