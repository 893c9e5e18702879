//! Several processes, possibly on several machines, that carry out one run together.

/// How the processes of a run talk. All methods but [`Processes::index`] and [`Processes::count`] are
/// collective: every process calls them in the same order, each from the thread that called
/// [`crate::run`]. A process that fails ends the others, so that none waits for ever.
pub trait Processes: Sync {
    /// This process, from 0.
    fn index(&self) -> usize;

    /// Number of processes, at least 1.
    fn count(&self) -> usize;

    /// Replaces each value by the least that any process has given in its place. All give equally many.
    fn least(&self, values: &mut [u64]);

    /// Gives `parcels[to]` to each process `to`, and returns what each process has given to this one, by
    /// process. There is one parcel for each process, of any length, itself included.
    fn exchange(&self, parcels: Vec<Vec<u8>>) -> Vec<Vec<u8>>;
}

/// One process by itself.
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
