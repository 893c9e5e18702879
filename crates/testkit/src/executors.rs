//! The executors and thread counts that tests compare. All must give the same results.

use des::Executor;

/// Executors and threads; the first is the reference. The reverse check is left out, since it compares a whole LP
/// at each event.
pub const EXECUTORS: [(Executor, usize); 7] = [
    (Executor::Sequential, 1),
    (Executor::Conservative, 1),
    (Executor::Conservative, 2),
    (Executor::Conservative, 3),
    (Executor::Optimistic, 1),
    (Executor::Optimistic, 2),
    (Executor::Optimistic, 3),
];

/// Executors, processes, and threads of each process.
pub const DISTRIBUTED: [(Executor, usize, usize); 6] = [
    (Executor::Conservative, 2, 1),
    (Executor::Conservative, 3, 2),
    (Executor::Conservative, 4, 1),
    (Executor::Optimistic, 2, 1),
    (Executor::Optimistic, 3, 2),
    (Executor::Optimistic, 4, 1),
];

/// As [`EXECUTORS`], for whole simulations: one thread, and enough threads that one has two neighbours. On one thread,
/// the optimistic executor is the conservative one.
pub const OF_SIMULATIONS: [(Executor, usize); 5] = [
    (Executor::Sequential, 1),
    (Executor::Conservative, 1),
    (Executor::Conservative, 3),
    (Executor::Optimistic, 3),
    (Executor::Auto, 3),
];

/// As [`DISTRIBUTED`], for whole simulations. The total number of threads is small, since threads wait for each
/// other at every window: six threads on two cores took four times as long as all other executors together.
pub const OF_DISTRIBUTED_SIMULATIONS: [(Executor, usize, usize); 4] = [
    (Executor::Conservative, 2, 2),
    (Executor::Conservative, 3, 1),
    (Executor::Optimistic, 2, 2),
    (Executor::Optimistic, 4, 1),
];
