//! A simulation that is stepped from outside: a [`Session`] sends messages between hosts, advances to a time, and tells
//! which messages have been delivered until then.
//!
//! The session is a job of the run, with two ranks on each host, whose programs read answers
//! ([`Workload::reacts`]). One sends the messages of its host and computes until the next one. At the time to
//! which the session advances it waits, inside the handler of its event, for the caller. All events before that time
//! have then been executed, as the executor is the sequential one. The other rank receives from anybody, forever.
//! Neither takes CPU time, and messages have no header and no handshake. So a message is what the network makes of it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use des::Time;
use experiment::{Experiment, ExperimentSource, Job, JobKind, NetworkModel, RankJob};
use mpi::MpiSettings;
use results::RunResult;
use topology::HostId;
use workload::{Answer, Call, Interpreters, Operation, Program, TraceError, WORLD, Workload};

use crate::error::SessionError;
use crate::{Error, RunControl, run};

/// Interval between two questions whether the caller still waits.
const STEP: Duration = Duration::from_millis(50);

/// Name of the job of a session.
const JOB: &str = "session";

/// The tag of the message that ends the receiver of a host. Other messages have their numbers as tags.
const LAST: u32 = i32::MAX as u32;

/// A message of a session has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveredMessage {
    /// The number that [`Session::send`] gave it.
    pub message: u32,
    /// The time at which its last byte was at its destination, in ps.
    pub time_ps: u64,
}

/// A simulation that is stepped from outside. Other jobs of its experiment run beside it.
///
/// It runs in a thread of its own, with the sequential executor. Dropping it ends the run without a result.
pub struct Session {
    shared: Arc<Shared>,
    control: Arc<RunControl>,
    run: Option<JoinHandle<Result<RunResult, Error>>>,
    /// The hosts that send and receive, ascending.
    hosts: Vec<HostId>,
    now_ps: u64,
    messages: u32,
}

/// What the caller and the programs share.
struct Shared {
    state: Mutex<SessionState>,
    changed: Condvar,
}

struct SessionState {
    /// The time to which programs may go on.
    until_ps: u64,
    /// The greatest such time that a program has reached.
    reached_ps: Option<u64>,
    /// By position of the host, messages that are not sent yet, in the order of their times.
    waiting: Vec<VecDeque<Waiting>>,
    /// By position of the host, number of messages to it.
    expected: Vec<u32>,
    /// In the order in which they happened.
    deliveries: VecDeque<DeliveredMessage>,
    /// No message is added any more.
    closed: bool,
    /// The caller has left.
    abandoned: bool,
    /// The run has ended.
    ended: bool,
}

#[derive(Clone, Copy)]
struct Waiting {
    at_ps: u64,
    number: u32,
    /// Position of the destination among the hosts.
    to: u32,
    bytes: u64,
}

impl Session {
    /// Starts the simulation of an experiment, which may have no job of its own, at time 0. `hosts` are those that send
    /// and receive; `None`: all on which no job has ranks.
    ///
    /// # Errors
    /// The experiment is wrong; a host does not exist, is given twice or has ranks of a job, or none is left.
    pub fn open(
        source: &ExperimentSource,
        interpreters: Interpreters<'_>,
        hosts: Option<&[u32]>,
    ) -> Result<Session, Error> {
        let (mut of_session, mut shared) = (Vec::new(), None);
        let experiment = Experiment::for_session(source, interpreters, |network, jobs| {
            of_session = free_hosts(network, jobs, hosts)?;
            let (job, of_job) = job(&of_session)?;
            shared = Some(of_job);
            Ok::<_, Error>(job)
        })?;
        let shared = shared.expect("the job was made");
        let control = Arc::new(RunControl::new());
        let run = {
            let (shared, control) = (shared.clone(), control.clone());
            std::thread::spawn(move || {
                // Also after a panic, so that no caller waits forever.
                let _end = End(&shared);
                run(&experiment, &control)
            })
        };
        Ok(Session {
            shared,
            control,
            run: Some(run),
            hosts: of_session,
            now_ps: 0,
            messages: 0,
        })
    }

    /// The hosts that send and receive, ascending.
    pub fn hosts(&self) -> impl Iterator<Item = u32> {
        self.hosts.iter().map(|host| host.0)
    }

    /// The time to which the simulation has advanced, in ps: all before it has happened.
    pub fn now_ps(&self) -> u64 {
        self.now_ps
    }

    /// Sends a message of so many bytes from one host to another at a time in ps. Returns its number: messages are
    /// numbered from 0. Messages of one host at one time leave in the order of their numbers.
    ///
    /// # Errors
    /// The time is past, a host has no part in the session, the message has no bytes, or there are 2^31 - 1 messages.
    pub fn send(&mut self, at_ps: u64, from: u32, to: u32, bytes: u64) -> Result<u32, Error> {
        if at_ps < self.now_ps {
            let now_ps = self.now_ps;
            return Err(SessionError::Past { at_ps, now_ps }.into());
        }
        let [from, to] = [self.position(from)?, self.position(to)?];
        if bytes == 0 {
            return Err(SessionError::Empty.into());
        }
        if self.messages == LAST {
            return Err(SessionError::TooMany.into());
        }
        let number = self.messages;
        self.messages += 1;
        let mut state = self.shared.lock();
        state.expected[to] += 1;
        let waiting = &mut state.waiting[from];
        let place = waiting.partition_point(|other| other.at_ps <= at_ps);
        let to = to as u32;
        waiting.insert(
            place,
            Waiting {
                at_ps,
                number,
                to,
                bytes,
            },
        );
        Ok(number)
    }

    /// Simulates all that happens before a time in ps. Returns the messages that have been delivered since the last
    /// call, in the order of their deliveries.
    ///
    /// # Errors
    /// The time is past; the run has failed, for example because a job cannot go on.
    pub fn advance(&mut self, until_ps: u64) -> Result<Vec<DeliveredMessage>, Error> {
        self.advance_while(until_ps, || true)
    }

    /// As [`Session::advance`]. `goes_on` is called about twenty times a second; the session ends once it is false.
    ///
    /// # Errors
    /// As [`Session::advance`]; [`Error::Interrupted`].
    pub fn advance_while(
        &mut self,
        until_ps: u64,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<Vec<DeliveredMessage>, Error> {
        if until_ps < self.now_ps {
            let (at_ps, now_ps) = (until_ps, self.now_ps);
            return Err(SessionError::Past { at_ps, now_ps }.into());
        }
        let has_arrived = |state: &SessionState| state.reached_ps.is_some_and(|reached| reached >= until_ps);
        let mut state = self.shared.lock();
        state.until_ps = until_ps;
        self.shared.changed.notify_all();
        while !has_arrived(&state) && !state.ended {
            state = self.shared.wait_a_little(state);
            if !goes_on() {
                drop(state);
                self.abandon();
                return Err(Error::Interrupted);
            }
        }
        let ended = state.ended;
        let due = state
            .deliveries
            .iter()
            .take_while(|delivery| delivery.time_ps < until_ps)
            .count();
        let deliveries = state.deliveries.drain(..due).collect();
        drop(state);
        if ended {
            return Err(self.failure());
        }
        self.now_ps = until_ps;
        Ok(deliveries)
    }

    /// Simulates until all messages have been delivered and all other jobs have ended. Returns the deliveries since
    /// the last [`Session::advance`], and the result of the run.
    ///
    /// # Errors
    /// The run has failed.
    pub fn finish(self) -> Result<(Vec<DeliveredMessage>, RunResult), Error> {
        self.finish_while(|| true)
    }

    /// As [`Session::finish`], with `goes_on` as in [`Session::advance_while`].
    ///
    /// # Errors
    /// As [`Session::finish`]; [`Error::Interrupted`].
    pub fn finish_while(
        mut self,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<(Vec<DeliveredMessage>, RunResult), Error> {
        let mut state = self.shared.lock();
        state.closed = true;
        state.until_ps = u64::MAX;
        self.shared.changed.notify_all();
        while !state.ended {
            state = self.shared.wait_a_little(state);
            if !goes_on() {
                drop(state);
                self.abandon();
                return Err(Error::Interrupted);
            }
        }
        drop(state);
        let result = self.join()?;
        let deliveries = self.shared.lock().deliveries.drain(..).collect();
        Ok((deliveries, result))
    }

    /// Position of a host among those of the session.
    fn position(&self, host: u32) -> Result<usize, Error> {
        self.hosts
            .binary_search(&HostId(host))
            .map_err(|_| SessionError::NoHost(host).into())
    }

    /// The end of the run, of which it is known that it comes.
    fn join(&mut self) -> Result<RunResult, Error> {
        let run = self.run.take().ok_or(SessionError::Ended)?;
        run.join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Ends the run without a result.
    fn abandon(&mut self) {
        if let Some(run) = self.run.take() {
            self.control.stop();
            self.shared.lock().abandoned = true;
            self.shared.changed.notify_all();
            // Whatever it says is of no interest to anyone.
            let _ = run.join();
        }
    }

    /// Why the run has ended before its time.
    fn failure(&mut self) -> Error {
        match self.join() {
            Ok(_) => SessionError::Ended.into(),
            Err(error) => error,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, SessionState> {
        // A panic of the other side leaves a valid state, and is reported by the end of its thread.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, SessionState>) -> MutexGuard<'a, SessionState> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_a_little<'a>(&self, state: MutexGuard<'a, SessionState>) -> MutexGuard<'a, SessionState> {
        let waited = self.changed.wait_timeout(state, STEP);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Says that the run has ended, when it is dropped.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_all();
    }
}

/// The job of a session on these hosts, and what its programs share.
fn job(hosts: &[HostId]) -> Result<(Job, Arc<Shared>), Error> {
    let state = SessionState {
        until_ps: 0,
        reached_ps: None,
        waiting: vec![VecDeque::new(); hosts.len()],
        expected: vec![0; hosts.len()],
        deliveries: VecDeque::new(),
        closed: false,
        abandoned: false,
        ended: false,
    };
    let shared = Arc::new(Shared {
        state: Mutex::new(state),
        changed: Condvar::new(),
    });
    let workload = SessionWorkload {
        shared: shared.clone(),
        hosts: hosts.len() as u32,
    };
    let of_ranks = hosts.iter().flat_map(|host| [*host, *host]).collect();
    let ranks = RankJob::new(Arc::new(workload), transparent(), of_ranks);
    let job = Job {
        name: JOB.into(),
        start: Time::ZERO,
        end: None,
        traffic_class: 0,
        kind: JobKind::Ranks(ranks.map_err(|error| SessionError::Hosts(error.to_string()))?),
    };
    Ok((job, shared))
}

/// The hosts of a session, ascending.
fn free_hosts(network: &NetworkModel, jobs: &[Job], asked: Option<&[u32]>) -> Result<Vec<HostId>, Error> {
    let mut is_taken = vec![false; network.hosts() as usize];
    for job in jobs {
        if let JobKind::Ranks(ranks) = &job.kind {
            ranks
                .hosts
                .iter()
                .for_each(|host| is_taken[host.0 as usize] = true);
        }
    }
    let all = is_taken.len() as u32;
    let hosts: Vec<u32> = match asked {
        None => (0..all).filter(|host| !is_taken[*host as usize]).collect(),
        Some(asked) => {
            let mut hosts = asked.to_vec();
            hosts.sort_unstable();
            hosts
        }
    };
    let why = if hosts.is_empty() {
        Some("no host is left for the session; expected at least one host without ranks of a job".to_string())
    } else if let Some(host) = hosts.iter().find(|host| **host >= all) {
        Some(format!(
            "the network has no host {host}; expected hosts from 0 to {}",
            all - 1
        ))
    } else if let Some(pair) = hosts.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(format!(
            "host {} is given twice; expected different hosts",
            pair[0]
        ))
    } else {
        let taken = hosts.iter().find(|host| is_taken[**host as usize]);
        taken.map(|host| format!("host {host} has ranks of a job; expected hosts without any"))
    };
    match why {
        Some(why) => Err(SessionError::Hosts(why).into()),
        None => Ok(hosts.into_iter().map(HostId).collect()),
    }
}

/// MPI that takes no time, adds no bytes, and holds no message back for another one.
fn transparent() -> MpiSettings {
    MpiSettings {
        eager_threshold: u64::MAX,
        send_overhead: Time::ZERO,
        receive_overhead: Time::ZERO,
        header_bytes: 0,
        keeps_order: false,
        ..MpiSettings::default()
    }
}

/// Two ranks on each host: the first sends, the second receives.
struct SessionWorkload {
    shared: Arc<Shared>,
    hosts: u32,
}

impl Workload for SessionWorkload {
    fn ranks(&self) -> u32 {
        2 * self.hosts
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        Arc::new([(0..self.ranks()).collect()])
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        let (shared, host) = (self.shared.clone(), (rank / 2) as usize);
        Ok(match rank % 2 {
            0 => Box::new(Sender {
                shared,
                host,
                now_ps: 0,
                is_last_sent: false,
            }),
            _ => Box::new(Receiver {
                shared,
                host,
                received: 0,
                is_last: false,
            }),
        })
    }

    fn reacts(&self) -> bool {
        true
    }
}

/// Sends the messages of a host.
struct Sender {
    shared: Arc<Shared>,
    host: usize,
    now_ps: u64,
    is_last_sent: bool,
}

impl Sender {
    /// The own receiver has nothing more to wait for than the messages on their way.
    fn end(&mut self) -> Option<Operation> {
        let is_last_sent = std::mem::replace(&mut self.is_last_sent, true);
        (!is_last_sent).then(|| send(self.host as u32, LAST, 0))
    }
}

fn send(to: u32, tag: u32, bytes: u64) -> Operation {
    Operation::Send {
        to: 2 * to + 1,
        tag,
        communicator: WORLD,
        bytes,
        request: None,
        call: Call::Send,
    }
}

impl Program for Sender {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        let shared = self.shared.clone();
        let mut state = shared.lock();
        loop {
            if state.abandoned {
                return Ok(None);
            }
            let first = state.waiting[self.host].front().copied();
            match first {
                Some(first) if first.at_ps <= self.now_ps => {
                    state.waiting[self.host].pop_front();
                    return Ok(Some(send(first.to, first.number, first.bytes)));
                }
                None if state.closed => return Ok(self.end()),
                _ => {}
            }
            let next = first.map_or(state.until_ps, |first| first.at_ps.min(state.until_ps));
            if next > self.now_ps {
                return Ok(Some(Operation::Compute {
                    ps: next - self.now_ps,
                    region: None,
                }));
            }
            state.reached_ps = state.reached_ps.max(Some(self.now_ps));
            shared.changed.notify_all();
            state = shared.wait(state);
        }
    }

    fn answer(&mut self, answer: Answer) {
        self.now_ps = answer.now_ps;
    }
}

/// Receives the messages to a host.
struct Receiver {
    shared: Arc<Shared>,
    host: usize,
    received: u32,
    is_last: bool,
}

impl Program for Receiver {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        if self.is_last && self.received == self.shared.lock().expected[self.host] {
            return Ok(None);
        }
        Ok(Some(Operation::Receive {
            from: None,
            tag: None,
            communicator: WORLD,
            bytes: u64::MAX,
            request: None,
            call: Call::Recv,
        }))
    }

    fn answer(&mut self, answer: Answer) {
        for message in answer.completed.iter().filter_map(|completed| completed.message) {
            if message.tag == LAST {
                self.is_last = true;
                continue;
            }
            self.received += 1;
            self.shared.lock().deliveries.push_back(DeliveredMessage {
                message: message.tag,
                time_ps: answer.now_ps,
            });
        }
    }
}
