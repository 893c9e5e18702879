//! The traffic classes of a NIC port: each has its own sources, messages and credits.
//!
//! [`QueuedNic`] works with the queues of one class at a time, the loaded one. So a port of a network with one class
//! pays nothing. [`ClassQueues`] holds those of all others. Which class is loaded has no effect: each input first
//! loads the class that it concerns, and [`TrafficClasses`] say which class sends next.

use super::*;
use crate::{ClassSet, TrafficClasses};

/// What each traffic class has of its own.
#[derive(Clone, Debug)]
pub struct ClassQueue<T> {
    source: u16,
    queue: VecDeque<Queued<T>>,
    sources: OtherSources<Queued<T>>,
    credits: u32,
    backlog: u64,
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
    fn new(credits: u32) -> ClassQueue<T> {
        ClassQueue {
            source: 0,
            queue: VecDeque::new(),
            sources: OtherSources::default(),
            credits,
            backlog: 0,
        }
    }
}

impl<T> ClassQueues<T> {
    /// Empty queues; each class has these credits.
    pub fn new(classes: TrafficClasses, credits: u32) -> ClassQueues<T> {
        let queues = (0..classes.count()).map(|_| ClassQueue::new(credits));
        ClassQueues {
            classes,
            turns: ClassTurns::new(&classes),
            loaded: 0,
            queues: queues.collect(),
        }
    }

    /// Memory of the queues of this number of classes, in bytes.
    pub fn bytes(classes: u8) -> u64 {
        (usize::from(classes) * size_of::<ClassQueue<T>>()) as u64
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

    /// Whether a message of any class waits.
    #[inline]
    pub(super) fn has_messages(&self) -> bool {
        !self.queue.is_empty() || self.other_classes().is_some_and(ClassQueues::have_messages)
    }

    /// Credits left of a class, in bytes.
    pub(super) fn credits_of(&self, class: u8) -> u32 {
        match self.other_classes() {
            Some(classes) if classes.loaded != class => classes.queues[usize::from(class)].credits,
            _ => self.credits,
        }
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
        let Others { sources, classes } = self.others.as_deref_mut()?;
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
        let (queue, source, sources, credits) = match self.other_classes() {
            Some(classes) if classes.loaded != class => {
                let of = &classes.queues[usize::from(class)];
                (&of.queue, of.source, Some(&of.sources), of.credits)
            }
            _ => {
                let sources = self.others.as_ref().map(|others| &others.sources);
                (&self.queue, self.source, sources, self.credits)
            }
        };
        let others = sources.filter(|others| !others.queues.is_empty());
        let has_source = !queue.is_empty() && self.arbiter != NicArbiter::ByMessage;
        NicClassState {
            queue: queue.iter().copied().collect(),
            source: if has_source { source } else { 0 },
            deficit: others.map_or(0, |others| others.deficit),
            others: others.map_or(Vec::new(), |others| others.queues.iter().cloned().collect()),
            credits,
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
        self.credits = state.credits;
        let sources = OtherSources::saved(state.others, state.deficit);
        match (&mut self.others, sources) {
            (Some(others), sources) => others.sources = sources.unwrap_or_default(),
            (None, Some(sources)) => self.others.get_or_insert_default().sources = sources,
            (None, None) => {}
        }
    }
}
