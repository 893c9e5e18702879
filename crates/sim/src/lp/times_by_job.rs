//! Times of the packets of each job at one LP, by link class.
//!
//! Two sums have this form. The waits of the messages of ranks for the links of a router divide the time that messages
//! spent in queues among the classes of links. The times that links took to transmit the packets of each job divide the
//! load-dependent energy among jobs.

use des::Time;
use serde::{Deserialize, Serialize};
use topology::LinkClass;

/// Sums of times at one LP. An LP meets few jobs, so the search is linear.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TimesByJob(Vec<TimeOfJob>);

/// The sum for one job and the links of one class.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct TimeOfJob {
    job: u16,
    class: u8,
    sum: Time,
}

/// The undo step of [`TimesByJob::add`].
#[derive(Clone, Copy, Debug)]
pub struct TimesByJobUndo {
    /// Its place in the list.
    place: u16,
    /// Whether it opened the place.
    opened: bool,
    time: Time,
}

impl TimesByJob {
    /// Adds the time of a packet.
    pub fn add(&mut self, job: u16, class: LinkClass, time: Time) -> TimesByJobUndo {
        for (place, entry) in self.0.iter_mut().enumerate() {
            if entry.job == job && entry.class == class.0 {
                entry.sum += time;
                return TimesByJobUndo {
                    place: place as u16,
                    opened: false,
                    time,
                };
            }
        }
        self.open(job, class, time)
    }

    #[cold]
    #[inline(never)]
    fn open(&mut self, job: u16, class: LinkClass, time: Time) -> TimesByJobUndo {
        let place = self.0.len() as u16;
        let class = class.0;
        self.0.push(TimeOfJob {
            job,
            class,
            sum: time,
        });
        TimesByJobUndo {
            place,
            opened: true,
            time,
        }
    }

    /// Undoes the latest addition.
    pub fn undo(&mut self, step: TimesByJobUndo) {
        if step.opened {
            self.0.pop();
        } else {
            let sum = &mut self.0[usize::from(step.place)].sum;
            *sum = *sum - step.time;
        }
    }

    /// Sums of a job, by link class.
    pub fn of_job(&self, job: usize) -> impl Iterator<Item = (LinkClass, Time)> {
        let of = move |(of, _, _): &(u16, LinkClass, Time)| usize::from(*of) == job;
        self.all().filter(of).map(|(_, class, time)| (class, time))
    }

    /// All sums: job, link class, time.
    pub fn all(&self) -> impl Iterator<Item = (u16, LinkClass, Time)> {
        self.0
            .iter()
            .map(|entry| (entry.job, LinkClass(entry.class), entry.sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_by_job_and_class_and_can_be_undone() {
        let mut times = TimesByJob::default();
        let mut steps = Vec::new();
        for (job, class, ps) in [(3, 1, 10), (3, 2, 5), (3, 1, 7), (4, 1, 1)] {
            steps.push(times.add(job, LinkClass(class), Time(ps)));
        }
        let of = |times: &TimesByJob, job| times.of_job(job).collect::<Vec<_>>();
        assert_eq!(of(&times, 3), [(LinkClass(1), Time(17)), (LinkClass(2), Time(5))]);
        assert_eq!(of(&times, 4), [(LinkClass(1), Time(1))]);
        assert!(of(&times, 0).is_empty());
        for step in steps.into_iter().rev() {
            times.undo(step);
        }
        assert!(times.0.is_empty());
    }
}
