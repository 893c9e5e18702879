//! Several processes, possibly on several machines, that execute one run together.

/// Communication between the processes of a run. All methods except [`Processes::index`] and [`Processes::count`] are
/// collective: every process calls them in the same order, from the thread that called [`crate::run`]. A process that
/// fails ends the others, so that none waits forever.
pub trait Processes: Sync {
    /// Number of this process, from 0.
    fn index(&self) -> usize;

    /// Number of processes, at least 1.
    fn count(&self) -> usize;

    /// Replaces each value by the minimum over all processes. All processes pass the same number of values.
    fn least(&self, values: &mut [u64]);

    /// Sends `parcels[to]` to each process `to`, and returns the parcel of each process for this one. There is one
    /// parcel for each process, itself included, of any length.
    fn exchange(&self, parcels: Vec<Vec<u8>>) -> Vec<Vec<u8>>;
}

/// A single process.
pub struct SingleProcess;

impl Processes for SingleProcess {
    fn index(&self) -> usize {
        0
    }
    fn count(&self) -> usize {
        1
    }
    fn least(&self, _: &mut [u64]) {}
    fn exchange(&self, parcels: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        parcels
    }
}
