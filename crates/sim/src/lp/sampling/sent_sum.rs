//! The messages that an event of a source makes, on their way to the tally of the worker.
//!
//! A source makes several messages in one event ([sending ahead](crate::lp::shortcuts::send_ahead)), mostly in one bin.
//! They are added up here, and reach the tally together.

use des::{Context, Time};
use fabric::Packet;

use super::{SentAtOnce, TallyStep};
use crate::lp::simulation::Simulation;

/// Messages of one packet each that were not queued, of one job, in one bin.
pub struct SentSum {
    /// End of the bin; zero before the first message.
    end: Time,
    sent: SentAtOnce,
}

impl SentSum {
    /// No messages of a job.
    #[inline]
    pub fn new(job: u16) -> SentSum {
        SentSum {
            end: Time::ZERO,
            sent: SentAtOnce {
                time: Time::ZERO,
                job,
                messages: 0,
                packet_bytes: 0,
                busy: Time::ZERO,
            },
        }
    }

    /// Adds a message that is one packet, which leaves after a wait and takes the second time. Messages come in the
    /// order in which they are made.
    #[inline]
    pub fn add<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        packet: &Packet,
        (wait, serialization): (Time, Time),
        context: &mut C,
    ) {
        let start = context.now() + wait;
        if start + serialization > self.end {
            return self.add_elsewhere(simulation, packet, (start, serialization), context);
        }
        self.sent.messages += 1;
        self.sent.packet_bytes += u64::from(packet.bytes);
        self.sent.busy += serialization;
    }

    /// Adds a message that ends in a later bin.
    // Not inlined, to keep the code of runs without series small.
    #[inline(never)]
    fn add_elsewhere<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        packet: &Packet,
        (start, serialization): (Time, Time),
        context: &mut C,
    ) {
        self.finish(context);
        let (time, job) = (packet.created_at(), packet.job);
        let end = match context.certain_tally() {
            Some(tally) => tally.end_of_bin(time),
            None => simulation.plan.bins().end_of_bin(time),
        };
        if start + serialization > end {
            let bytes = u64::from(simulation.payload(packet));
            context.tally(TallyStep::Sent { time, job, bytes });
            let bytes = packet.bytes;
            return context.tally(TallyStep::Injection {
                start,
                serialization,
                bytes,
            });
        }
        self.end = end;
        self.sent = SentAtOnce {
            time,
            job,
            messages: 1,
            packet_bytes: packet.bytes.into(),
            busy: serialization,
        };
    }

    /// Passes on the messages to the tally.
    #[inline]
    pub fn finish<C: Context<Simulation>>(&mut self, context: &mut C) {
        if self.sent.messages > 0 {
            tally(self.sent, context);
            *self = SentSum::new(self.sent.job);
        }
    }
}

#[inline(never)]
fn tally<C: Context<Simulation>>(sent: SentAtOnce, context: &mut C) {
    context.tally(TallyStep::SentAtOnce(sent));
}
