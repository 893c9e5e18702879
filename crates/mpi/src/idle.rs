//! Idle time of a rank in its calls, by cause.
//!
//! A rank that is blocked and has nothing to do is idle until an arrival ends the wait. The arrival says how long its
//! message waited for links and buffers, and how long its bytes and bits were under way. Had the message not waited for
//! links, the idle time would have been shorter by that wait, or would have been nothing: this part waited for links.
//! Had the message then taken no time at all, it would have been shorter by the transfer. The rest waited for the other
//! rank to hand the message over. So the three parts add up to the idle time, to the picosecond.

use des::Time;
use serde::{Deserialize, Serialize};

use crate::path::Transit;

/// Idle time by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleTime {
    /// Until another rank handed over the message that ended the wait.
    pub partner: Time,
    /// Until its bytes had arrived, if they had found all links free.
    pub transfer: Time,
    /// The rest: its waits for links and buffers.
    pub links: Time,
}

impl IdleTime {
    /// Divides an idle time that a message ended.
    pub(crate) fn ended_by(transit: &Transit, idle: Time) -> IdleTime {
        let Transit {
            latency,
            serialization,
            memory,
            queueing,
        } = *transit;
        let links = queueing.min(idle);
        let under_way = latency.ps().saturating_add(serialization.ps());
        let under_way = Time(under_way.saturating_add(memory.ps()));
        let transfer = under_way.min(idle.saturating_sub(links));
        IdleTime {
            partner: idle.saturating_sub(links).saturating_sub(transfer),
            transfer,
            links,
        }
    }

    /// All idle time.
    pub fn total(&self) -> Time {
        let [partner, transfer, links] = [self.partner, self.transfer, self.links].map(Time::ps);
        Time(partner.wrapping_add(transfer).wrapping_add(links))
    }

    /// Adds or removes idle time. Sums wrap, so that speculation cannot overflow them and undo is exact.
    pub(crate) fn count(&mut self, up: bool, by: &IdleTime) {
        let count = |sum: &mut Time, by: Time| {
            *sum = Time(match up {
                true => sum.ps().wrapping_add(by.ps()),
                false => sum.ps().wrapping_sub(by.ps()),
            });
        };
        count(&mut self.partner, by.partner);
        count(&mut self.transfer, by.transfer);
        count(&mut self.links, by.links);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(idle: u64) -> [u64; 3] {
        let transit = Transit {
            latency: Time(5),
            serialization: Time(10),
            memory: Time(1),
            queueing: Time(20),
        };
        let IdleTime {
            partner,
            transfer,
            links,
        } = IdleTime::ended_by(&transit, Time(idle));
        [partner, transfer, links].map(Time::ps)
    }

    #[test]
    fn what_would_have_been_shorter_comes_first() {
        assert_eq!(parts(0), [0, 0, 0]);
        assert_eq!(parts(15), [0, 0, 15]);
        assert_eq!(parts(30), [0, 10, 20]);
        assert_eq!(parts(36), [0, 16, 20]);
        assert_eq!(parts(100), [64, 16, 20]);
    }
}
