//! The loop over the strips of a window, with the schedule of the LPs of each strip and prefetching.

use super::calendar::Window;
use super::lp_schedule::{LpSchedule, ScheduleSorter, ScheduledLp};
use crate::lps::LpEntry;
use crate::prefetch::{prefetch_begin, prefetch_front};
use crate::{Event, Model, Time};

/// From this number of LPs per thread on, an LP's memory leaves the caches between two windows, so that a second
/// prefetch of each event pays off.
const MANY: usize = 4096;

/// Prefetch distances in LPs: for an LP itself, for the memory it points to, and (in models of many LPs only) for the
/// memory that its events will touch.
const NEAR: [usize; 3] = [4, 2, 0];

/// The same distances in models of many LPs.
const FAR: [usize; 3] = [6, 4, 2];

/// Number of cache lines of an LP that are always prefetched. A model may prefetch others.
const FRONT: usize = 4;

/// The LPs of a worker, which execute their events of a window.
pub(crate) trait ExecuteLp<M: Model> {
    /// The LPs by local number.
    fn entries(&self) -> &[LpEntry<M::Lp>];

    /// Executes events of an LP, and those that it sends itself for the window.
    fn execute_lp(&mut self, local: usize, planned: PlannedEvents<'_, M::Payload>);

    /// Whether the next strip of the window executes now.
    fn goes_on(&self) -> bool {
        true
    }
}

/// Events of one LP in a window, in the total order; at least one.
pub(crate) struct PlannedEvents<'a, P> {
    entries: &'a [u64],
    events: &'a [Event<P>],
}

impl<'a, P> PlannedEvents<'a, P> {
    /// The first event.
    pub(crate) fn first(&self) -> &'a Event<P> {
        &self.events[self.entries[0] as u32 as usize]
    }

    /// All events.
    #[inline(always)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a Event<P>> + use<'a, P> {
        let (entries, events) = (self.entries, self.events);
        entries.iter().map(|entry| &events[*entry as u32 as usize])
    }
}

/// An LP that is about to execute: its schedule, its place in it, and the events of its strip.
type Upcoming<'a, P> = (&'a LpSchedule, ScheduledLp, &'a [Event<P>]);

/// Events that are about to execute.
struct UpcomingEvents<'a, P> {
    /// Events of the current strip.
    events: &'a [Event<P>],
    /// Events of the next strip.
    following: &'a [Event<P>],
    /// Time before which they all are.
    until: Time,
}

/// The schedules of the current strip and of the next one.
pub(crate) struct StripLoop<'a, M> {
    model: &'a M,
    /// First LP of the worker.
    origin: u32,
    /// LPs per strip.
    strip: usize,
    sorter: ScheduleSorter,
    /// Schedule of the current strip.
    schedule: LpSchedule,
    /// Schedule of the next strip.
    following: LpSchedule,
}

impl<'a, M: Model> StripLoop<'a, M> {
    /// For strips of this many LPs, from `origin` on.
    pub(crate) fn new(model: &'a M, origin: u32, strip: usize) -> Self {
        StripLoop {
            model,
            origin,
            strip,
            sorter: ScheduleSorter::new(strip, model.lookahead()),
            schedule: LpSchedule::default(),
            following: LpSchedule::default(),
        }
    }

    /// Executes the strips of a window that begins at `begin`, in order, as long as the LPs go on. Executed strips are
    /// empty afterwards. Returns whether all were executed.
    #[inline(always)]
    pub(crate) fn execute(
        &mut self,
        window: &mut Window<M::Payload>,
        start: Time,
        lps: &mut impl ExecuteLp<M>,
    ) -> bool {
        if let [strip] = window.active[..]
            && let events = &mut window.strips[strip as usize]
            && let [event] = &events[..]
        {
            // Nothing to schedule: many windows of models with a short lookahead are like this.
            let local = (event.target.0 - self.origin) as usize;
            lps.execute_lp(
                local,
                PlannedEvents {
                    entries: &[0],
                    events,
                },
            );
            events.clear();
            return true;
        }
        window.active.sort_unstable();
        let strips = window.active.len();
        for place in 0..strips {
            let strip = window.active[place];
            if place == 0 {
                self.plan(strip, start, &window.strips);
            }
            std::mem::swap(&mut self.schedule, &mut self.following);
            let next = window.active.get(place + 1);
            match next {
                Some(next) => self.plan(*next, start, &window.strips),
                None => self.following.clear(),
            }
            let ahead = UpcomingEvents {
                events: &window.strips[strip as usize],
                following: next.map_or(&[], |next| &window.strips[*next as usize]),
                until: start.saturating_add(self.model.lookahead()),
            };
            for index in 0..self.schedule.lps().len() {
                self.prefetch_ahead(index, &ahead, lps.entries());
                let lp = self.schedule.lps()[index];
                let entries = self.schedule.entries(lp);
                self.sorter.time_sorter().sort(entries, ahead.events);
                let events = ahead.events;
                lps.execute_lp(lp.local as usize, PlannedEvents { entries, events });
            }
            window.strips[strip as usize].clear();
            if place + 1 < strips && !lps.goes_on() {
                window.active.drain(..=place);
                return false;
            }
        }
        true
    }

    /// Schedules the strip after the current one.
    fn plan(&mut self, strip: u32, start: Time, strips: &[Vec<Event<M::Payload>>]) {
        let first = self.origin + strip * self.strip as u32;
        let events = &strips[strip as usize];
        self.following
            .fill(&mut self.sorter, (self.origin, first), start, events);
    }

    /// Prefetches the memory of the next LPs: first the LP itself, then the memory it points to and, in large models,
    /// the memory that its events will touch.
    #[inline]
    fn prefetch_ahead(
        &self,
        index: usize,
        ahead: &UpcomingEvents<'_, M::Payload>,
        entries: &[LpEntry<M::Lp>],
    ) {
        let many = entries.len() >= MANY;
        let [own, theirs, each] = if many { FAR } else { NEAR };
        let find = |index: usize| -> Option<Upcoming<'_, M::Payload>> {
            let here = self.schedule.lps();
            match here.get(index) {
                Some(lp) => Some((&self.schedule, *lp, ahead.events)),
                None => {
                    let lp = self.following.lps().get(index - here.len())?;
                    Some((&self.following, *lp, ahead.following))
                }
            }
        };
        if let Some((schedule, lp, events)) = find(index + own) {
            prefetch_front(&entries[lp.local as usize], FRONT);
            // These lines were prefetched with the schedule, but others have replaced them since.
            schedule
                .events(lp)
                .for_each(|event| prefetch_begin(events, event as usize));
        }
        if let Some((_, lp, _)) = find(index + theirs) {
            self.model.prefetch(&entries[lp.local as usize].lp, ahead.until);
        }
        if many && let Some((schedule, lp, events)) = find(index + each) {
            let state = &entries[lp.local as usize].lp;
            for event in schedule.events(lp) {
                self.model.prefetch_for(state, &events[event as usize]);
            }
        }
    }
}
