//! The core on which the simulator and a rank take turns. Waking a process that sleeps on another core costs several
//! times as much as the turn itself, and only one of the two works at a time.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The core of this thread, as [`OnCore::stay`] takes it. Never 0.
pub(crate) fn this_core() -> u32 {
    sched_getcpu() as u32 + 1
}

/// This thread is on one core until this is dropped. Then it has the cores of before, which the threads that it starts
/// inherit.
pub(crate) struct OnCore(Option<CpuSet>);

impl OnCore {
    /// Moves this thread to a core; 0 is none. Where the system refuses, it stays where it is.
    pub fn stay(core: u32) -> OnCore {
        OnCore(move_to(core))
    }
}

/// Moves this thread to a core. The cores of before, if there were others.
fn move_to(core: u32) -> Option<CpuSet> {
    let core = core
        .checked_sub(1)
        .filter(|core| (*core as usize) < CpuSet::MAX_CPU)? as usize;
    let before = sched_getaffinity(None).ok()?;
    if before.count() <= 1 || !before.is_set(core) {
        return None;
    }
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only).ok()?;
    Some(before)
}

impl Drop for OnCore {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // It has had them.
            let _ = sched_setaffinity(None, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_on_the_core_and_has_all_again() {
        let before = sched_getaffinity(None).unwrap();
        for core in (0..CpuSet::MAX_CPU).filter(|core| before.is_set(*core)) {
            let stays = OnCore::stay(core as u32 + 1);
            assert_eq!(this_core(), core as u32 + 1);
            drop(stays);
            assert!(sched_getaffinity(None).unwrap() == before);
        }
        let none = OnCore::stay(0);
        assert!(sched_getaffinity(None).unwrap() == before);
        drop(none);
        drop(OnCore::stay(u32::MAX));
        assert!(sched_getaffinity(None).unwrap() == before);
    }
}
