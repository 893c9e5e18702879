//! Keys of events and random numbers of the current LP, the same in all executors.
//!
//! Independent of the current time and of the destination of an event.

use crate::event::Head;
use crate::lps::LpEntry;
use crate::{Event, LpId, RandomStream, Settings, Time};

/// Signs the events of the current LP and draws its random numbers.
pub(crate) struct EventSigner {
    seed: u64,
    lookahead: Time,
    /// End of the run. Later events are not executed, so the lookahead does not apply to them.
    until: Time,
    /// Least delay of an LP to itself: zero during the model's start.
    least: Time,
    lp: LpId,
    draws: u64,
    /// Draws of the LP when it was opened.
    opened: u64,
    /// The next number, if the LP has drawn [`MANY`] since it was opened.
    ahead: u64,
    sequence: u32,
}

/// From so many draws on since an LP was opened, its next number is computed ahead. A number takes some 60 cycles, one
/// multiplication after the other. What draws it waits for all of them, as the next branch mostly depends on it. Ahead,
/// they pass while other instructions execute. An LP with fewer draws would compute numbers in vain.
const MANY: u64 = 2;

impl EventSigner {
    /// A signer for the model's start.
    pub(crate) fn new(lookahead: Time, settings: &Settings) -> EventSigner {
        EventSigner {
            seed: settings.seed,
            lookahead,
            until: settings.until,
            least: Time::ZERO,
            lp: LpId(0),
            draws: 0,
            opened: 0,
            ahead: 0,
            sequence: 0,
        }
    }

    /// Ends the model's start. From now on, actions of an LP belong to an event.
    pub(crate) fn begin_events(&mut self) {
        self.least = Time(1);
    }

    /// Whether an event is executing, rather than an LP's start.
    #[inline(always)]
    pub(crate) fn is_in_event(&self) -> bool {
        self.least > Time::ZERO
    }

    /// Loads the counters of an LP before its handler runs.
    #[inline(always)]
    pub(crate) fn open<L>(&mut self, lp: LpId, entry: &LpEntry<L>) {
        self.lp = lp;
        self.draws = entry.draws;
        self.opened = entry.draws;
        self.sequence = entry.sequence;
    }

    /// Stores the counters after the handler.
    #[inline(always)]
    pub(crate) fn close<L>(&self, entry: &mut LpEntry<L>) {
        entry.draws = self.draws;
        entry.sequence = self.sequence;
    }

    /// The current LP.
    #[inline(always)]
    pub(crate) fn lp(&self) -> LpId {
        self.lp
    }

    /// Random numbers drawn and events sent by the LP so far.
    #[inline(always)]
    pub(crate) fn counters(&self) -> (u64, u32) {
        (self.draws, self.sequence)
    }

    /// The LP's next event, sent `now`.
    ///
    /// # Panics
    /// If it comes sooner than [`Context::send`](crate::Context::send) allows.
    #[inline(always)]
    pub(crate) fn write<P>(&mut self, now: Time, target: LpId, delay: Time, payload: P) -> Event<P> {
        self.sign(now, target, delay).event(payload)
    }

    /// The head of the LP's next event, sent `now`.
    ///
    /// # Panics
    /// As [`EventSigner::write`].
    #[inline(always)]
    pub(crate) fn sign(&mut self, now: Time, target: LpId, delay: Time) -> Head {
        let least = if target == self.lp {
            self.least
        } else {
            self.lookahead
        };
        if delay < least && now + delay < self.until {
            too_soon(self.lp, target, delay, least);
        }
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        Head {
            time: now + delay,
            source: self.lp,
            sequence,
            target,
        }
    }

    /// The LP's next random number.
    #[inline(always)]
    pub(crate) fn draw(&mut self) -> u64 {
        let number = match self.has_many_draws() {
            true => self.ahead,
            false => self.compute(),
        };
        self.draws += 1;
        if self.has_many_draws() {
            self.ahead = self.compute();
        }
        number
    }

    /// Whether the next number is computed ahead. Nothing takes back draws of an open LP.
    #[inline(always)]
    fn has_many_draws(&self) -> bool {
        self.draws - self.opened >= MANY
    }

    #[inline(always)]
    fn compute(&self) -> u64 {
        RandomStream::new(self.seed, self.lp.0, self.draws).next_u64()
    }

    /// The end of a run that the LP stops `now`.
    pub(crate) fn stop(&self, now: Time) -> Time {
        now + self.lookahead
    }

    /// Checks that the LP may emit a record.
    ///
    /// # Panics
    /// During the model's start.
    #[inline(always)]
    pub(crate) fn may_emit(&self) {
        assert!(self.is_in_event(), "an LP emits records in events only");
    }
}

/// A function of its own with arguments by value: arguments of a message by reference would have to be in memory for
/// each event.
#[cold]
#[inline(never)]
fn too_soon(from: LpId, to: LpId, delay: Time, least: Time) -> ! {
    panic!("LP {} sends to LP {} in {delay}, less than {least}", from.0, to.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Executor, Optimism, Pace, Partition};

    const LP: LpId = LpId(7);
    const UNTIL: Time = Time(10_000);

    fn settings() -> Settings {
        Settings {
            executor: Executor::Sequential,
            partition: Partition::new(vec![0, 8]),
            seed: 5,
            until: UNTIL,
            optimism: Optimism::default(),
            pace: Pace::default(),
        }
    }

    fn signer(draws: u64, sequence: u32) -> EventSigner {
        let mut signer = EventSigner::new(Time(100), &settings());
        let lp = ();
        signer.open(LP, &LpEntry { lp, draws, sequence });
        signer
    }

    #[test]
    fn counters_go_on_where_the_lp_has_left_them() {
        let mut signer = signer(3, u32::MAX);
        let (first, second) = (
            signer.write(Time(20), LpId(8), Time(100), 'a'),
            signer.write(Time(20), LpId(8), Time(101), 'b'),
        );
        assert_eq!(
            (
                first.time,
                first.source,
                first.sequence,
                first.target,
                first.payload
            ),
            (Time(120), LP, u32::MAX, LpId(8), 'a')
        );
        assert_eq!((second.time, second.sequence), (Time(121), 0));
        let mut stream = RandomStream::new(5, 7, 3);
        assert_eq!(signer.draw(), stream.next_u64());
        assert_eq!(signer.draw(), stream.next_u64());
        let mut entry = LpEntry {
            lp: (),
            draws: 0,
            sequence: 9,
        };
        signer.close(&mut entry);
        assert_eq!((entry.draws, entry.sequence), (5, 1));
        assert_eq!(signer.counters(), (5, 1));
    }

    #[test]
    fn numbers_are_those_of_the_stream_whoever_drew_before() {
        let mut signer = signer(3, 0);
        let mut entries = [LpId(1), LpId(2)].map(|lp| {
            (
                lp,
                LpEntry {
                    lp: (),
                    draws: 0,
                    sequence: 0,
                },
            )
        });
        // Some LPs are opened where another one has left, with a number ahead.
        for (turn, draws) in [0, 1, 2, 3, 7, 2, 1, 4, 0, 5].into_iter().enumerate() {
            let (lp, entry) = &mut entries[turn % 2];
            signer.open(*lp, entry);
            let mut stream = RandomStream::new(5, lp.0, entry.draws);
            for _ in 0..draws {
                assert_eq!(signer.draw(), stream.next_u64());
            }
            signer.close(entry);
            assert_eq!(entry.draws, stream.draws());
        }
    }

    #[test]
    fn an_lp_may_send_itself_an_event_without_delay_at_its_start() {
        let event = signer(0, 0).write(Time::ZERO, LP, Time::ZERO, ());
        assert_eq!(event.time, Time::ZERO);
    }

    #[test]
    #[should_panic(expected = "LP 7 sends to LP 7 in 0 ps, less than 1 ps")]
    fn but_not_in_an_event() {
        let mut signer = signer(0, 0);
        signer.begin_events();
        signer.write(Time::ZERO, LP, Time::ZERO, ());
    }

    #[test]
    #[should_panic(expected = "LP 7 sends to LP 8 in 99 ps, less than 100 ps")]
    fn never_to_another_in_less_than_the_lookahead() {
        signer(0, 0).write(Time::ZERO, LpId(8), Time(99), ());
    }

    #[test]
    fn but_after_the_end_of_the_run_as_soon_as_it_likes() {
        let mut signer = signer(0, 0);
        signer.begin_events();
        let event = signer.write(UNTIL - Time(99), LpId(8), Time(99), ());
        assert_eq!(event.time, UNTIL);
    }

    #[test]
    #[should_panic(expected = "in events only")]
    fn the_start_emits_nothing() {
        signer(0, 0).may_emit();
    }
}
