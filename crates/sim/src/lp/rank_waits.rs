//! Waits of the messages of ranks for the links of a router, by job and link class. They divide the time that messages
//! spent in queues among the classes of links.

use des::Time;
use serde::{Deserialize, Serialize};
use topology::LinkClass;

/// Waits at one router. A router meets few jobs, so the search is linear.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RankWaits(Vec<RankWait>);

/// Waits of the packets of one job for the links of one class.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct RankWait {
    job: u16,
    class: u8,
    wait: Time,
}

/// The undo step of [`RankWaits::add`].
#[derive(Clone, Copy, Debug)]
pub struct RankWaitUndo {
    /// Its place in the list.
    place: u16,
    /// Whether it opened the place.
    opened: bool,
    wait: Time,
}

impl RankWaits {
    /// Adds the wait of a packet.
    pub fn add(&mut self, job: u16, class: LinkClass, wait: Time) -> RankWaitUndo {
        for (place, entry) in self.0.iter_mut().enumerate() {
            if entry.job == job && entry.class == class.0 {
                entry.wait += wait;
                return RankWaitUndo {
                    place: place as u16,
                    opened: false,
                    wait,
                };
            }
        }
        self.open(job, class, wait)
    }

    #[cold]
    #[inline(never)]
    fn open(&mut self, job: u16, class: LinkClass, wait: Time) -> RankWaitUndo {
        let place = self.0.len() as u16;
        let class = class.0;
        self.0.push(RankWait { job, class, wait });
        RankWaitUndo {
            place,
            opened: true,
            wait,
        }
    }

    /// Undoes the latest addition.
    pub fn undo(&mut self, step: RankWaitUndo) {
        if step.opened {
            self.0.pop();
        } else {
            let sum = &mut self.0[usize::from(step.place)].wait;
            *sum = *sum - step.wait;
        }
    }

    /// Waits of a job, by link class.
    pub fn of_job(&self, job: usize) -> impl Iterator<Item = (LinkClass, Time)> {
        let of = move |entry: &&RankWait| usize::from(entry.job) == job;
        self.0
            .iter()
            .filter(of)
            .map(|entry| (LinkClass(entry.class), entry.wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_add_up_by_job_and_class_and_can_be_undone() {
        let mut waits = RankWaits::default();
        let mut steps = Vec::new();
        for (job, class, ps) in [(3, 1, 10), (3, 2, 5), (3, 1, 7), (4, 1, 1)] {
            steps.push(waits.add(job, LinkClass(class), Time(ps)));
        }
        let of = |waits: &RankWaits, job| waits.of_job(job).collect::<Vec<_>>();
        assert_eq!(of(&waits, 3), [(LinkClass(1), Time(17)), (LinkClass(2), Time(5))]);
        assert_eq!(of(&waits, 4), [(LinkClass(1), Time(1))]);
        assert!(of(&waits, 0).is_empty());
        for step in steps.into_iter().rev() {
            waits.undo(step);
        }
        assert!(waits.0.is_empty());
    }
}
