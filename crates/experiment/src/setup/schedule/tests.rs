//! Properties of all schedulers, schedules drawn by hand, and comparisons with naive references.

use std::collections::BTreeSet;

use proptest::prelude::*;
use topology::HostId;

use super::*;

const fn job(arrival: u64, hosts: u32, duration: u64, estimate: u64) -> JobRequest {
    JobRequest {
        arrival,
        hosts,
        duration,
        estimate,
    }
}

fn scheduler(name: &str) -> &'static SchedulerKind {
    SCHEDULERS.iter().find(|kind| kind.name == name).unwrap()
}

fn starts(name: &str, jobs: &[JobRequest], hosts: u32) -> Vec<u64> {
    schedule(scheduler(name), jobs, hosts).unwrap()
}

/// One row per host and one letter per unit of time: the job that runs on it, `.` for none.
fn picture(name: &str, jobs: &[JobRequest], hosts: u32) -> String {
    let starts = starts(name, jobs, hosts);
    let machine: Vec<HostId> = (0..hosts).map(HostId).collect();
    let linear = |_, free: Vec<HostId>| Ok::<_, ()>(free);
    let taken = allocation::allocate(jobs, &starts, &machine, linear).unwrap();
    let end = (0..jobs.len())
        .map(|job| starts[job] + jobs[job].duration)
        .max()
        .unwrap();
    let mut rows = vec![vec!['.'; end as usize]; hosts as usize];
    for (number, hosts) in taken.iter().enumerate() {
        let letter = char::from(b'A' + number as u8);
        for host in hosts {
            for time in starts[number]..starts[number] + jobs[number].duration {
                let cell = &mut rows[host.0 as usize][time as usize];
                assert_eq!(*cell, '.', "{name}: two jobs on {host:?} at {time}");
                *cell = letter;
            }
        }
    }
    let rows = rows.into_iter().map(|row| row.into_iter().collect::<String>());
    rows.collect::<Vec<_>>().join("\n")
}

fn drawn(rows: &[&str]) -> String {
    rows.join("\n")
}

/// The example of backfilling in Mu'alem and Feitelson (2001), with sizes chosen here: A runs, B waits for it, C is
/// short and D is long and narrow.
const BACKFILL: [JobRequest; 4] = [job(0, 3, 4, 4), job(1, 4, 3, 3), job(2, 1, 2, 2), job(2, 1, 5, 5)];

#[test]
fn schedules_drawn_by_hand() {
    assert_eq!(
        picture("fcfs", &BACKFILL, 4),
        drawn(&["AAAABBBCC...", "AAAABBBDDDDD", "AAAABBB.....", "....BBB....."])
    );
    // C ends when A does. D would delay B.
    assert_eq!(
        picture("easy-backfill", &BACKFILL, 4),
        drawn(&["AAAABBBDDDDD", "AAAABBB.....", "AAAABBB.....", "..CCBBB....."])
    );
    assert_eq!(
        picture("conservative-backfill", &BACKFILL, 4),
        drawn(&["AAAABBBDDDDD", "AAAABBB.....", "AAAABBB.....", "..CCBBB....."])
    );
}

/// D does not delay B, the first job that waits, but C, the second one.
#[test]
fn conservative_backfill_protects_every_waiting_job() {
    let jobs = [job(0, 2, 2, 2), job(0, 3, 3, 3), job(0, 4, 2, 2), job(0, 1, 6, 6)];
    assert_eq!(
        picture("easy-backfill", &jobs, 4),
        drawn(&["AABBB.CC", "AABBB.CC", "DDDDDDCC", "..BBB.CC"])
    );
    assert_eq!(
        picture("conservative-backfill", &jobs, 4),
        drawn(&["AABBBCCDDDDDD", "AABBBCC......", "..BBBCC......", ".....CC......"])
    );
}

/// Extra hosts: C needs more time than the shadow time leaves, and a host that B leaves free.
#[test]
fn extra_hosts_are_backfilled_for_any_time() {
    let jobs = [job(0, 3, 3, 3), job(0, 2, 2, 2), job(0, 1, 6, 6), job(0, 1, 6, 6)];
    assert_eq!(
        picture("easy-backfill", &jobs, 4),
        drawn(&["AAABB....", "AAABB....", "AAADDDDDD", "CCCCCC..."])
    );
}

/// A ends at 2, but is expected at 4. C would be expected after 4. Both reservations move to the early end.
#[test]
fn estimates_decide_and_durations_end() {
    let jobs = [job(0, 3, 2, 4), job(0, 4, 2, 2), job(0, 1, 1, 5)];
    for name in ["easy-backfill", "conservative-backfill"] {
        assert_eq!(
            picture(name, &jobs, 4),
            drawn(&["AABBC", "AABB.", "AABB.", "..BB."]),
            "{name}"
        );
    }
    // With an estimate of 4, C delays no other job.
    let jobs = [jobs[0], jobs[1], job(0, 1, 1, 4)];
    for name in ["easy-backfill", "conservative-backfill"] {
        assert_eq!(starts(name, &jobs, 4), [0, 2, 0], "{name}");
    }
}

/// A job that runs longer than its user expected: schedulers count with its duration.
#[test]
fn estimates_below_the_duration_do_not_break_reservations() {
    let jobs = [job(0, 3, 4, 1), job(0, 4, 2, 2), job(0, 1, 3, 3)];
    assert_eq!(starts("easy-backfill", &jobs, 4), [0, 4, 0]);
    assert_eq!(starts("conservative-backfill", &jobs, 4), [0, 4, 0]);
}

#[test]
fn impossible_requests_are_refused() {
    for kind in SCHEDULERS {
        let refused = |jobs: &[JobRequest]| schedule(kind, jobs, 4).unwrap_err();
        assert_eq!(
            refused(&[job(0, 1, 1, 1), job(0, 5, 1, 1)]),
            ScheduleError::Hosts(1)
        );
        assert_eq!(refused(&[job(0, 0, 1, 1)]), ScheduleError::Hosts(0));
        assert_eq!(
            refused(&[job(3, 1, 1, 1), job(2, 1, 1, 1)]),
            ScheduleError::Order(1)
        );
        assert_eq!(refused(&[job(3, 1, u64::MAX - 2, 1)]), ScheduleError::Overflow);
        assert_eq!(
            refused(&[job(0, 1, 1, u64::MAX), job(0, 1, 1, 1)]),
            ScheduleError::Overflow
        );
        assert_eq!(schedule(kind, &[job(3, 4, u64::MAX - 3, 1)], 4), Ok(vec![3]));
        assert_eq!(schedule(kind, &[], 4), Ok(vec![]));
    }
}

/// Backfill with 20,000 jobs that all wait at once ends, or is refused; it does not hang.
#[test]
fn long_queues_end() {
    let jobs: Vec<JobRequest> = (0..20_000).map(|n| job(0, 1 + n % 7, 5, 5)).collect();
    for kind in SCHEDULERS {
        let mut steps = Steps::default();
        assert!(steps.take(MAX_STEPS as usize) && !steps.take(1));
        let few = match kind.name {
            "conservative-backfill" => &jobs[..2_000],
            _ => &jobs[..],
        };
        let starts = schedule(kind, few, 8).unwrap();
        assert_eq!(starts.len(), few.len(), "{}", kind.name);
    }
}

/// Hosts in use at a time by jobs that have a start, if each runs for `time` of it.
fn used(jobs: &[JobRequest], starts: &[Option<u64>], at: u64, time: fn(&JobRequest) -> u64) -> u32 {
    let running = jobs
        .iter()
        .zip(starts)
        .filter_map(|(job, start)| start.map(|start| (job, start)));
    let running = running.filter(|(job, start)| (*start..start + time(job)).contains(&at));
    running.map(|(job, _)| job.hosts).sum()
}

fn fcfs_reference(jobs: &[JobRequest], hosts: u32) -> Vec<u64> {
    let mut starts = vec![None; jobs.len()];
    let mut now = 0;
    for (number, job) in jobs.iter().enumerate() {
        now = now.max(job.arrival);
        while used(jobs, &starts, now, |job| job.duration) + job.hosts > hosts {
            now += 1;
        }
        starts[number] = Some(now);
    }
    starts.into_iter().flatten().collect()
}

/// With exact estimates: each job, in the order of arrival, at the earliest time at which it fits as a whole.
fn conservative_reference(jobs: &[JobRequest], hosts: u32) -> Vec<u64> {
    let mut starts = vec![None; jobs.len()];
    for (number, job) in jobs.iter().enumerate() {
        let fits = |at: u64| used(jobs, &starts, at, |job| job.duration) + job.hosts <= hosts;
        let start = (job.arrival..).find(|start| (*start..start + job.duration).all(fits));
        starts[number] = start;
    }
    starts.into_iter().flatten().collect()
}

/// EASY backfill by its definition: a job is started tentatively, and stays if the first waiting job is expected no
/// later than without it.
fn easy_reference(jobs: &[JobRequest], hosts: u32) -> Vec<u64> {
    let mut starts: Vec<Option<u64>> = vec![None; jobs.len()];
    let mut now = 0;
    while starts.contains(&None) {
        let fits = |starts: &[Option<u64>], number: usize| {
            used(jobs, starts, now, |job| job.duration) + jobs[number].hosts <= hosts
        };
        let waiting: Vec<usize> = (0..jobs.len())
            .filter(|job| starts[*job].is_none() && jobs[*job].arrival <= now)
            .collect();
        let mut waiting = waiting.into_iter().peekable();
        while let Some(number) = waiting.next_if(|number| fits(&starts, *number)) {
            starts[number] = Some(now);
        }
        if let Some(first) = waiting.next() {
            // Jobs that have ended do not count as planned.
            let expected = |starts: &[Option<u64>]| {
                let alive: Vec<Option<u64>> = starts
                    .iter()
                    .zip(jobs)
                    .map(|(start, job)| start.filter(|start| start + job.duration > now))
                    .collect();
                (now..).find(|at| used(jobs, &alive, *at, JobRequest::planned) + jobs[first].hosts <= hosts)
            };
            for number in waiting {
                let before = expected(&starts);
                if fits(&starts, number) {
                    starts[number] = Some(now);
                    if expected(&starts) > before {
                        starts[number] = None;
                    }
                }
            }
        }
        now += 1;
    }
    starts.into_iter().flatten().collect()
}

prop_compose! {
    fn requests()(
        hosts in 8u32..11,
        jobs in prop::collection::vec((0u64..6, 1u32..9, 1u64..12, 0u64..16), 1..30),
    ) -> (u32, Vec<JobRequest>) {
        let mut now = 0;
        let arriving = |(gap, hosts, duration, estimate)| {
            now += gap;
            job(now, hosts, duration, estimate)
        };
        (hosts, jobs.into_iter().map(arriving).collect())
    }
}

fn exact(jobs: &[JobRequest]) -> Vec<JobRequest> {
    let exact = |job: &JobRequest| JobRequest {
        estimate: job.duration,
        ..*job
    };
    jobs.iter().map(exact).collect()
}

proptest! {
    /// No job starts before it arrives, and jobs never use more hosts than there are.
    #[test]
    fn schedules_are_possible((hosts, jobs) in requests()) {
        for kind in SCHEDULERS {
            let starts: Vec<Option<u64>> = starts(kind.name, &jobs, hosts).into_iter().map(Some).collect();
            for (job, start) in jobs.iter().zip(&starts) {
                prop_assert!(start.unwrap() >= job.arrival);
                prop_assert!(used(&jobs, &starts, start.unwrap(), |job| job.duration) <= hosts, "{}", kind.name);
            }
        }
    }

    #[test]
    fn fcfs_starts_in_order_and_as_its_reference((hosts, jobs) in requests()) {
        let starts = starts("fcfs", &jobs, hosts);
        prop_assert!(starts.is_sorted());
        prop_assert_eq!(starts, fcfs_reference(&jobs, hosts));
    }

    #[test]
    fn easy_backfill_is_as_its_definition((hosts, jobs) in requests()) {
        prop_assert_eq!(starts("easy-backfill", &jobs, hosts), easy_reference(&jobs, hosts));
    }

    /// The job that has waited longest starts no later than it was promised when it became the first one, whatever the
    /// estimates.
    #[test]
    fn easy_backfill_keeps_the_reservation((hosts, jobs) in requests()) {
        let starts = starts("easy-backfill", &jobs, hosts);
        for (number, job) in jobs.iter().enumerate() {
            // It is first when all earlier ones have started.
            let first = starts[..number].iter().copied().fold(job.arrival, u64::max);
            let running = |other: &usize| {
                starts[*other] <= first && first < starts[*other] + jobs[*other].duration && *other != number
            };
            let running: Vec<usize> = (0..jobs.len()).filter(running).collect();
            let promised = (first..)
                .find(|at| {
                    let alive = running.iter().filter(|other| starts[**other] + jobs[**other].planned() > *at);
                    alive.map(|other| jobs[*other].hosts).sum::<u32>() + job.hosts <= hosts
                })
                .unwrap();
            prop_assert!(starts[number] <= promised, "job {number}: {} > {promised}", starts[number]);
        }
    }

    #[test]
    fn conservative_backfill_is_as_its_reference((hosts, jobs) in requests()) {
        let jobs = exact(&jobs);
        prop_assert_eq!(starts("conservative-backfill", &jobs, hosts), conservative_reference(&jobs, hosts));
    }

    /// No job starts later than it was promised at its arrival, whatever the estimates and early ends. The promise is
    /// its start if nothing arrives after it and all jobs that have not ended by then take their planned time.
    #[test]
    fn conservative_backfill_keeps_every_reservation((hosts, jobs) in requests()) {
        let starts_of = |jobs: &[JobRequest]| starts("conservative-backfill", jobs, hosts);
        let starts = starts_of(&jobs);
        for (number, job) in jobs.iter().enumerate() {
            let as_planned = |(other, start): (&JobRequest, &u64)| match start + other.duration <= job.arrival {
                true => *other,
                false => JobRequest { duration: other.planned(), ..*other },
            };
            let known: Vec<JobRequest> = jobs[..=number].iter().zip(&starts).map(as_planned).collect();
            let promised = starts_of(&known)[number];
            prop_assert!(starts[number] <= promised, "job {number}: {} > {promised}", starts[number]);
        }
    }

    /// Each job has its number of hosts, and no other job has them while it runs.
    #[test]
    fn hosts_belong_to_one_job((hosts, jobs) in requests(), backwards in any::<bool>()) {
        // Hosts need not be numbered without gaps.
        let machine: Vec<HostId> = (0..hosts).map(|host| HostId(3 * host + 1)).collect();
        for kind in SCHEDULERS {
            let starts = starts(kind.name, &jobs, hosts);
            let order = |_, mut free: Vec<HostId>| {
                assert!(free.is_sorted());
                if backwards {
                    free.reverse();
                }
                Ok::<_, ()>(free)
            };
            let taken = allocation::allocate(&jobs, &starts, &machine, order).unwrap();
            for (number, job) in jobs.iter().enumerate() {
                let mine: BTreeSet<HostId> = taken[number].iter().copied().collect();
                prop_assert_eq!(mine.len(), job.hosts as usize);
                prop_assert!(mine.iter().all(|host| machine.contains(host)));
                for other in 0..number {
                    let apart = starts[other] + jobs[other].duration <= starts[number]
                        || starts[number] + job.duration <= starts[other];
                    prop_assert!(apart || taken[other].iter().all(|host| !mine.contains(host)));
                }
            }
        }
    }
}
