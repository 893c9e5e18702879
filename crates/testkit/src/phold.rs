//! PHOLD, the standard synthetic benchmark of event engines: a fixed population of events that move between LPs at
//! random. Source: Fujimoto, *Performance of Time Warp under synthetic workloads* (1990).

use des::{Context, Event, LpId, Model, Purpose, Tally, Time};

/// The parameters of PHOLD.
#[derive(Clone, Debug)]
pub struct Phold {
    /// Number of LPs.
    pub lps: u32,
    /// Events per LP at the start.
    pub population: u32,
    /// Least delay between two LPs.
    pub lookahead: Time,
    /// Delays are uniform between the lookahead and the lookahead plus this. An LP may send to itself with any
    /// delay from 1 ps on.
    pub spread: Time,
    /// Probability that an event goes to another LP, in 65536ths.
    pub remote: u64,
    /// Whether every event emits a record.
    pub records: bool,
    /// Whether events are tallied, where the executor has tallies. Records of [`TALLIED`] have the number.
    pub tallies: bool,
}

/// What stands in the place of the LP in a record of tallied events.
pub const TALLIED: u32 = u32::MAX;

/// The number of tallied events.
#[derive(Default)]
pub struct Tallied(u64);

impl Tally<(u32, u64)> for Tallied {
    type Step = ();

    fn add(&mut self, _: Time, (): ()) {
        self.0 += 1;
    }

    fn drain(&mut self, emit: &mut dyn FnMut((u32, u64))) {
        if self.0 > 0 {
            emit((TALLIED, std::mem::take(&mut self.0)));
        }
    }
}

/// The state of one LP, which depends on the order of its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ball {
    /// Events handled.
    pub events: u64,
    /// A hash over times and payloads in the order of handling.
    pub history: u64,
}

/// Undo step of an event.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    history: u64,
}

impl Phold {
    fn throw(&self, payload: u64, context: &mut impl Context<Self>) {
        let me = context.lp();
        let mut draw = RandomFraction(context.random());
        if draw.below(1 << 16) < self.remote && self.lps > 1 {
            // Any LP except this one.
            let other = u64::from(me.0) + 1 + draw.below(u64::from(self.lps - 1));
            let target = match other.checked_sub(u64::from(self.lps)) {
                Some(around) => around,
                None => other,
            };
            let delay = self.lookahead + Time(draw.below(self.spread.0 + 1));
            context.send(LpId(target as u32), delay, payload);
        } else {
            let delay = 1 + draw.below((self.lookahead + self.spread).0);
            context.send(me, Time(delay), payload);
        }
    }
}

/// A random number as a fraction of 2^64, from which several smaller ones are taken without a division (D. Lemire,
/// *Fast random integer generation in an interval*, ACM TOMACS 29(1), 2019, without its rejection: the bias is below
/// the range over what remains of 2^64).
struct RandomFraction(u64);

impl RandomFraction {
    /// An integer from 0 to below `n`. The rest of the fraction is left for the next one.
    #[inline]
    fn below(&mut self, n: u64) -> u64 {
        let product = u128::from(self.0) * u128::from(n);
        self.0 = product as u64;
        (product >> 64) as u64
    }
}

impl Model for Phold {
    type Payload = u64;
    type Lp = Ball;
    type Record = (u32, u64);
    type Undo = Before;
    type Error = String;
    type Tally = Tallied;

    fn lps(&self) -> u32 {
        self.lps
    }
    fn lookahead(&self) -> Time {
        self.lookahead
    }
    fn tally(&self) -> Tallied {
        Tallied::default()
    }
    fn create(&self, _: LpId) -> Ball {
        Ball {
            events: 0,
            history: 0,
        }
    }
    fn start(&self, _: &mut Ball, context: &mut impl Context<Self>) {
        for i in 0..self.population {
            self.throw(u64::from(i), context);
        }
    }
    fn handle(&self, ball: &mut Ball, event: &Event<u64>, context: &mut impl Context<Self>) {
        context.undo(Before {
            history: ball.history,
        });
        ball.events += 1;
        let seen = event.payload ^ context.now().ps().rotate_left(32);
        ball.history = (ball.history.rotate_left(5) ^ seen).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        if self.records {
            context.emit((context.lp().0, ball.history));
        }
        if self.tallies {
            context.tally(());
        }
        self.throw(event.payload + 1, context);
    }
    fn undo(&self, ball: &mut Ball, step: Before) {
        ball.events -= 1;
        ball.history = step.history;
    }
    fn save(&self, ball: &Ball, bytes: &mut Vec<u8>) {
        bytes.extend(ball.events.to_le_bytes());
        bytes.extend(ball.history.to_le_bytes());
    }
    fn restore(&self, ball: &mut Ball, bytes: &[u8], _: Purpose) -> Result<(), String> {
        let (events, history) = bytes
            .split_first_chunk()
            .and_then(|(events, rest)| Some((events, rest.try_into().ok()?)))
            .ok_or("a ball has 16 bytes")?;
        ball.events = u64::from_le_bytes(*events);
        ball.history = u64::from_le_bytes(history);
        Ok(())
    }
}
