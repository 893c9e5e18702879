//! The traffic classes of a NIC port: each has its own sources, messages and credits, these for each copy of the VC
//! into which it injects.
//!
//! [`QueuedNic`] works with the queues of one class and the credits of one copy at a time, the loaded ones. So a port
//! of a network with one class and no copies pays nothing. [`ClassQueues`] holds those of all others. Which class is
//! loaded has no effect: each input first loads the class that it concerns, and [`TrafficClasses`] say which class
//! sends next. Of each class, the copy with most credits is loaded, the first one of several.

use std::cmp::Reverse;

use super::*;
use crate::ClassSet;

/// What each traffic class has of its own.
#[derive(Clone, Debug)]
pub struct ClassQueue<T> {
    source: u16,
    queue: VecDeque<Queued<T>>,
    sources: OtherSources<Queued<T>>,
    /// Of the loaded copy.
    credits: u32,
    backlog: u64,
    /// The loaded copy of the VC.
    copy: u8,
    /// By copy of the VC; that of the loaded copy is unused. The loaded class has them here too.
    copies: Vec<u32>,
}

/// The queues of all traffic classes but the loaded one.
#[derive(Clone, Debug)]
pub struct ClassQueues<T> {
    classes: TrafficClasses,
    pub turns: ClassTurns,
    loaded: u8,
    /// By class. That of the loaded class is unused.
    queues: Vec<ClassQueue<T>>,
}

impl<T> ClassQueue<T> {
    fn new(credits: u32, copies: u8) -> ClassQueue<T> {
        ClassQueue {
            source: 0,
            queue: VecDeque::new(),
            sources: OtherSources::default(),
            credits,
            backlog: 0,
            copy: 0,
            copies: vec![credits; usize::from(copies)],
        }
    }

    /// The credits of all copies, where those of the loaded copy are `loaded`.
    fn credits(&self, loaded: u32) -> impl Iterator<Item = u32> {
        let copies = (0..).zip(&self.copies);
        copies.map(move |(copy, credits): (u8, _)| if copy == self.copy { loaded } else { *credits })
    }
}

/// The copy with most credits, the first one of several.
fn best_copy(credits: impl Iterator<Item = u32>) -> u8 {
    let best = (0..)
        .zip(credits)
        .max_by_key(|(copy, credits)| (*credits, Reverse(*copy)));
    best.map_or(0, |(copy, _)| copy)
}

impl<T> ClassQueues<T> {
    /// Empty queues; each copy of a VC has these credits.
    pub fn new(classes: TrafficClasses, credits: u32) -> ClassQueues<T> {
        let queues = (0..classes.count()).map(|_| ClassQueue::new(credits, classes.copies()));
        ClassQueues {
            classes,
            turns: ClassTurns::new(&classes),
            loaded: 0,
            queues: queues.collect(),
        }
    }

    /// Memory of the queues of these classes, in bytes.
    pub fn bytes(classes: &TrafficClasses) -> u64 {
        let each = size_of::<ClassQueue<T>>() + usize::from(classes.copies()) * size_of::<u32>();
        (usize::from(classes.count()) * each) as u64
    }

    /// Number of copies of each VC.
    pub fn copies(&self) -> usize {
        usize::from(self.classes.copies())
    }

    /// Class and copy of a VC into which the port injects.
    pub fn place(&self, vc: u8) -> (u8, u8) {
        let class = self.classes.of_vc(vc);
        (class, vc - self.classes.first_vc(class))
    }

    /// Number of classes, with the loaded one.
    pub fn count(&self) -> u8 {
        self.classes.count()
    }

    /// Whether saved turns can be those of these classes.
    pub fn allow(&self, turns: &ClassTurns, largest: u32) -> bool {
        self.classes.allows(turns, largest)
    }

    fn others(&self) -> impl Iterator<Item = (u8, &ClassQueue<T>)> {
        let queues = (0..).zip(&self.queues);
        queues.filter(|(class, _)| *class != self.loaded)
    }

    /// Bytes in the queues, without headers.
    pub fn backlog(&self) -> u64 {
        self.others().map(|(_, queue)| queue.backlog).sum()
    }

    /// Whether a class has messages.
    pub fn have_messages(&self) -> bool {
        self.others().any(|(_, queue)| !queue.queue.is_empty())
    }

    /// A packet of the loaded class leaves.
    pub fn sent(&mut self, bytes: u32) -> Option<ClassTurnUndo> {
        self.classes.sent(&mut self.turns, self.loaded, bytes)
    }
}

impl<T> Others<T> {
    /// Whether a message of a class that is not loaded waits, or an acknowledgement.
    fn have_packets(&self) -> bool {
        self.classes.as_ref().is_some_and(ClassQueues::have_messages)
            || (self.pairs.as_ref()).is_some_and(|pairs| !pairs.acknowledgements.is_empty())
    }
}

impl<T: NicReport> QueuedNic<T> {
    /// The queues of all traffic classes but the loaded one; `None` with one class.
    #[inline]
    pub(super) fn other_classes(&self) -> Option<&ClassQueues<T>> {
        self.others.as_ref()?.classes.as_ref()
    }

    #[inline]
    pub(super) fn other_classes_mut(&mut self) -> Option<&mut ClassQueues<T>> {
        self.others.as_mut()?.classes.as_mut()
    }

    /// The loaded class.
    #[inline]
    pub(super) fn loaded_class(&self) -> u8 {
        self.other_classes().map_or(0, |classes| classes.loaded)
    }

    /// Whether a message of any class waits, or an acknowledgement.
    #[inline]
    pub(super) fn has_packets(&self) -> bool {
        !self.queue.is_empty() || self.others.as_deref().is_some_and(Others::have_packets)
    }

    /// The VC into which the next packet goes.
    #[inline]
    pub(super) fn loaded_vc(&self) -> u8 {
        self.other_classes().map_or(0, |classes| {
            classes.classes.first_vc(classes.loaded) + classes.queues[usize::from(classes.loaded)].copy
        })
    }

    /// Credits left of the loaded copy of a class, in bytes.
    fn loaded_credits_of(&self, class: u8) -> u32 {
        match self.other_classes() {
            Some(classes) if classes.loaded != class => classes.queues[usize::from(class)].credits,
            _ => self.credits,
        }
    }

    /// Credits left of each copy of the VC of a class, in bytes.
    fn credits_by_copy(&self, class: u8) -> Vec<u32> {
        let loaded = self.loaded_credits_of(class);
        match self.other_classes() {
            Some(classes) => classes.queues[usize::from(class)].credits(loaded).collect(),
            None => vec![loaded],
        }
    }

    /// Credits left of a copy of the VC of a class, in bytes; 0 without such a copy.
    pub(super) fn credits_of(&self, class: u8, copy: u8) -> u32 {
        self.credits_by_copy(class)
            .get(usize::from(copy))
            .copied()
            .unwrap_or(0)
    }

    /// Credits left of all copies of the VC of a class together, in bytes.
    pub(super) fn all_credits_of(&self, class: u8) -> u32 {
        self.credits_by_copy(class).into_iter().fold(0, u32::wrapping_add)
    }

    /// Bytes of a class that wait to be sent, without headers.
    pub(super) fn backlog_of(&self, class: u8) -> u64 {
        match self.other_classes() {
            Some(classes) if classes.loaded != class => classes.queues[usize::from(class)].backlog,
            _ => self.backlog,
        }
    }

    /// Loads a class. Returns the one that was loaded before, if it was another.
    pub(super) fn swap_class(&mut self, class: u8) -> Option<u8> {
        let Others { sources, classes, .. } = self.others.as_deref_mut()?;
        let classes = classes.as_mut()?;
        let before = std::mem::replace(&mut classes.loaded, class);
        if before == class {
            return None;
        }
        for class in [before, class] {
            // The first swap stores what was loaded, the second one loads.
            let place = &mut classes.queues[usize::from(class)];
            std::mem::swap(&mut place.source, &mut self.source);
            std::mem::swap(&mut place.queue, &mut self.queue);
            std::mem::swap(&mut place.sources, sources);
            std::mem::swap(&mut place.credits, &mut self.credits);
            std::mem::swap(&mut place.backlog, &mut self.backlog);
        }
        Some(before)
    }

    /// Loads the credits of a copy of the loaded class. Returns the copy that was loaded before, if it was another.
    pub(super) fn swap_copy(&mut self, copy: u8) -> Option<u8> {
        let Others { classes, .. } = self.others.as_deref_mut()?;
        let classes = classes.as_mut()?;
        let queue = &mut classes.queues[usize::from(classes.loaded)];
        let before = std::mem::replace(&mut queue.copy, copy);
        if before == copy {
            return None;
        }
        queue.copies[usize::from(before)] = self.credits;
        self.credits = queue.copies[usize::from(copy)];
        Some(before)
    }

    fn load_copy<O: NicOutputs<Self>>(&mut self, copy: u8, out: &mut O) {
        if let Some(copy) = self.swap_copy(copy) {
            out.note(|| QueuedNicUndo::CopyLoaded { copy });
        }
    }

    /// Loads the copy with most credits of the loaded class.
    #[inline(never)]
    pub(super) fn load_best_copy<O: NicOutputs<Self>>(&mut self, out: &mut O) {
        let Some(classes) = self.other_classes().filter(|classes| classes.copies() > 1) else {
            return;
        };
        let best = best_copy(classes.queues[usize::from(classes.loaded)].credits(self.credits));
        self.load_copy(best, out);
    }

    /// Loads class and copy of a VC.
    #[inline(never)]
    pub(super) fn load_vc<O: NicOutputs<Self>>(&mut self, vc: u8, out: &mut O) {
        if let Some(classes) = self.other_classes() {
            let (class, copy) = classes.place(vc);
            self.load_class(class, out);
            self.load_copy(copy, out);
        }
    }

    /// Loads a class, if there are several.
    #[inline(never)]
    pub(super) fn load_class<O: NicOutputs<Self>>(&mut self, class: u8, out: &mut O) {
        if let Some(class) = self.swap_class(class) {
            out.note(|| QueuedNicUndo::ClassLoaded { class });
        }
    }

    /// Loads the class that sends next. Returns whether there is one.
    #[inline(never)]
    pub(super) fn load_next_class<O: NicOutputs<Self>>(&mut self, out: &mut O) -> bool {
        let format = self.format;
        let Some(classes) = self.other_classes() else {
            return true;
        };
        let (mut waiting, mut able) = (ClassSet::default(), ClassSet::default());
        let mut see = |class, front: Option<&Queued<T>>, credits| {
            if let Some(front) = front {
                waiting.insert(class);
                if front.next_payload(format) + format.header <= credits {
                    able.insert(class);
                }
            }
        };
        see(classes.loaded, self.queue.front(), self.credits);
        for (class, queue) in classes.others() {
            see(class, queue.queue.front(), queue.credits);
        }
        let Some(ClassQueues { classes, turns, .. }) = self.other_classes_mut() else {
            return true;
        };
        let note = |step| out.note(|| QueuedNicUndo::ClassTurn(step));
        let Some(class) = classes.choose(turns, (waiting, able), format.largest(), note) else {
            return false;
        };
        self.load_class(class, out);
        true
    }

    /// The mutable state of one class.
    pub(super) fn class_state(&self, class: u8) -> NicClassState<T> {
        let (queue, source, sources) = match self.other_classes() {
            Some(classes) if classes.loaded != class => {
                let of = &classes.queues[usize::from(class)];
                (&of.queue, of.source, Some(&of.sources))
            }
            _ => {
                let sources = self.others.as_ref().map(|others| &others.sources);
                (&self.queue, self.source, sources)
            }
        };
        let others = sources.filter(|others| !others.queues.is_empty());
        let has_source = !queue.is_empty() && self.arbiter != NicArbiter::ByMessage;
        NicClassState {
            queue: queue.iter().copied().collect(),
            source: if has_source { source } else { 0 },
            deficit: others.map_or(0, |others| others.deficit),
            others: others.map_or(Vec::new(), |others| others.queues.iter().cloned().collect()),
            credits: self.credits_by_copy(class),
        }
    }

    /// Restores a saved state of one class.
    pub(super) fn restore_class(&mut self, class: u8, state: NicClassState<T>) {
        self.swap_class(class);
        let queued = state
            .others
            .iter()
            .flat_map(|of| &of.messages)
            .chain(&state.queue);
        self.backlog = queued.map(|queued| queued.left).sum();
        self.queue = state.queue.into();
        self.source = state.source;
        self.restore_credits(state.credits);
        let sources = OtherSources::saved(state.others, state.deficit);
        match (&mut self.others, sources) {
            (Some(others), sources) => others.sources = sources.unwrap_or_default(),
            (None, Some(sources)) => self.others.get_or_insert_default().sources = sources,
            (None, None) => {}
        }
    }
    /// Restores the credits of the loaded class, by copy.
    fn restore_credits(&mut self, credits: Vec<u32>) {
        let copy = best_copy(credits.iter().copied());
        self.credits = credits.get(usize::from(copy)).copied().unwrap_or(0);
        if let Some(classes) = self.other_classes_mut() {
            let queue = &mut classes.queues[usize::from(classes.loaded)];
            queue.copy = copy;
            queue.copies = credits;
        }
    }
}
