//! Traffic: the sources of synthetic traffic on a host.

use des::{Context, Time};
use experiment::{JobKind, TrafficJob};
use fabric::Outgoing;
use smallvec::SmallVec;

use super::rails::HostNic;
use super::undo::HostUndo;
use crate::lp::collection::MadeMessage;
use crate::lp::lp_random::LpRandom;
use crate::lp::net_event::NetEvent;
use crate::lp::sampling::SentSum;
use crate::lp::simulation::Simulation;

/// The sources of a host.
pub struct Sources(SmallVec<[TrafficSource; 1]>);

/// A source of synthetic traffic on this host.
struct TrafficSource {
    job: u16,
    /// Index of this host among those of the job.
    index: u32,
    /// Messages so far.
    sent: u64,
}

impl Sources {
    /// Sources before the run, by job and index of the host in it.
    pub fn new(sources: impl Iterator<Item = (u16, u32)>) -> Sources {
        Sources(
            sources
                .map(|(job, index)| TrafficSource { job, index, sent: 0 })
                .collect(),
        )
    }

    /// Schedules the first message of each source.
    pub fn start(&self, simulation: &Simulation, context: &mut impl Context<Simulation>) {
        for (source, of) in self.0.iter().enumerate() {
            let job = &simulation.jobs[usize::from(of.job)];
            let first = of.traffic(simulation).gap(0, &mut LpRandom(context));
            let source = source as u16;
            context.send(context.lp(), job.start + first, NetEvent::TrafficDue { source });
        }
    }

    /// The next message of a source is due: sends it, and all that follow it without a gap. A source that its
    /// pattern keeps silent is never due again.
    pub fn send_due<C: Context<Simulation>>(
        &mut self,
        nic: &mut HostNic,
        simulation: &Simulation,
        source: u16,
        context: &mut C,
    ) {
        let now = context.now();
        let mut due = now;
        let mut sent = SentSum::new(self.0[usize::from(source)].job);
        loop {
            let of = &mut self.0[usize::from(source)];
            let (job, index, traffic) = (of.job, of.index, of.traffic(simulation));
            let Some(destination) = traffic.destination(index, of.sent, &mut LpRandom(context)) else {
                return sent.finish(context);
            };
            of.sent += 1;
            let number = nic.next_message;
            nic.next_message = number.wrapping_add(1);
            if C::REVERSIBLE {
                context.undo(HostUndo::SourceSent { source }.into());
            }
            let bytes = traffic.bytes(&mut LpRandom(context));
            let gap = traffic.gap(of.sent, &mut LpRandom(context));
            let message = Outgoing {
                destination,
                number,
                bytes,
                job,
                source: 0,
                traffic_class: simulation.traffic_class_of(job),
                standalone: true,
                report: None,
            };
            let made = MadeMessage {
                job,
                bytes,
                at: due,
                leaves: true,
            };
            let sum = nic.collection.made_in_event(simulation, made, &mut sent, context);
            nic.inject(simulation, due, (message, None), sum, context);
            due += gap;
            // What may be undone is made at its time.
            if due > now && (C::REVERSIBLE || !self.sends_ahead(nic, simulation, now, due)) {
                break;
            }
        }
        sent.finish(context);
        context.send(context.lp(), due - now, NetEvent::TrafficDue { source });
    }

    /// Whether the next message of its only source may be made before it is due.
    #[inline]
    fn sends_ahead(&self, nic: &HostNic, simulation: &Simulation, now: Time, due: Time) -> bool {
        simulation.shortcuts.send_ahead.reaches(now, due) && self.0.len() == 1 && nic.is_clear()
    }

    /// Undoes that a source has sent a message.
    pub fn undo_sent(&mut self, source: u16) {
        self.0[usize::from(source)].sent -= 1;
    }

    /// Messages of each source so far.
    pub fn state(&self) -> Vec<u64> {
        self.0.iter().map(|source| source.sent).collect()
    }

    /// Replaces the state by a saved one.
    ///
    /// # Errors
    /// The saved state is that of another host or experiment.
    pub fn restore(&mut self, state: Vec<u64>) -> Result<(), String> {
        if state.len() != self.0.len() {
            return Err("it has other sources of traffic".into());
        }
        for (source, sent) in self.0.iter_mut().zip(state) {
            source.sent = sent;
        }
        Ok(())
    }
}

impl TrafficSource {
    fn traffic<'a>(&self, simulation: &'a Simulation) -> &'a TrafficJob {
        match &simulation.jobs[usize::from(self.job)].kind {
            JobKind::Traffic(traffic) => traffic,
            JobKind::Ranks(_) => unreachable!("only synthetic traffic has sources"),
        }
    }
}
