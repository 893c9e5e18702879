//! Traffic classes: which class sends the next packet on a link.
//!
//! A link has virtual channels (VCs) of each class for each of the `V` VCs that routing needs: `C` copies, one unless
//! an experiment says otherwise. Copy `c` of VC `v` is VC `(class * V + v) * C + c`. So packets of two classes share
//! the wire, and nothing that waits for credits. Copies are alike for routing and for its deadlock proof: a channel of
//! the proof is all copies together. Among the classes that have a packet that can leave, the highest priority goes
//! first. Classes of one priority take turns by deficit round robin.
//!
//! Source: M. Shreedhar, G. Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995. A turn adds
//! `weight` times the largest packet to the deficit of a class. The class sends as long as its deficit is positive, so
//! the size of its next packet need not be known before the turn. The last packet of a turn may exceed the deficit, and
//! the next turn has so many bytes less (H. Adiseshu, G. Parulkar, G. Varghese, "A reliable and scalable striping
//! protocol", SIGCOMM 1996: surplus round robin).

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Greatest number of traffic classes.
pub const MAX_TRAFFIC_CLASSES: usize = 8;

/// The traffic classes of a network, numbered from 0: weights, priorities, VCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficClasses {
    count: u8,
    /// VCs of each class: the copies of those that routing needs.
    vcs: u8,
    /// Copies of each VC that routing needs.
    copies: u8,
    /// By class, without the common factor of the classes of its priority, so that turns are short.
    weights: [u8; MAX_TRAFFIC_CLASSES],
    /// Classes of one priority, the highest first.
    groups: [ClassSet; MAX_TRAFFIC_CLASSES],
}

/// A set of traffic classes, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassSet(u8);

/// The turns of the classes on one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassTurns {
    /// By class, the bytes that it may send more in its turn. Negative: the bytes that it has sent too many.
    deficits: [i64; MAX_TRAFFIC_CLASSES],
    /// By group of one priority, the class whose turn it is.
    turns: [u8; MAX_TRAFFIC_CLASSES],
}

/// An undo step of [`ClassTurns`].
#[derive(Clone, Copy, Debug)]
pub struct ClassTurnUndo {
    class: u8,
    group: u8,
    /// The class of the group whose turn it was.
    turn: u8,
    /// The deficit of the class.
    deficit: i64,
}

impl ClassSet {
    /// Adds a class.
    #[inline]
    pub fn insert(&mut self, class: u8) {
        self.0 |= 1 << class;
    }

    /// Whether a class is in the set.
    #[inline]
    pub fn contains(self, class: u8) -> bool {
        self.0 & 1 << class != 0
    }

    /// The first member after a class, cyclically. The set is not empty.
    fn after(self, class: u8) -> u8 {
        let later = self.0 & (0xFE << class);
        let from = if later == 0 { self.0 } else { later };
        from.trailing_zeros() as u8
    }

    /// Whether the set has several members.
    fn is_shared(self) -> bool {
        self.0.count_ones() > 1
    }
}

impl TrafficClasses {
    /// One class, with so many VCs.
    pub fn one(vcs: u8) -> TrafficClasses {
        TrafficClasses::new((vcs, 1), &[(1, 0)]).expect("one class has the VCs of routing")
    }

    /// Classes with these weights and priorities, with so many copies of so many VCs each.
    ///
    /// # Errors
    /// There are no classes or too many, a weight or the number of copies is 0, or all classes together have more
    /// than 255 VCs.
    pub fn new((vcs, copies): (u8, u8), classes: &[(u8, u8)]) -> Result<TrafficClasses, String> {
        let count = classes.len();
        if !(1..=MAX_TRAFFIC_CLASSES).contains(&count) {
            return Err(format!(
                "{count} traffic classes; expected 1 to {MAX_TRAFFIC_CLASSES}"
            ));
        }
        if copies == 0 {
            return Err("0 copies of each virtual channel; expected at least 1".into());
        }
        let all_vcs = count * usize::from(vcs) * usize::from(copies);
        if all_vcs > usize::from(u8::MAX) {
            let classes = match count {
                1 => "one traffic class".to_string(),
                _ => format!("{count} traffic classes"),
            };
            let each = match copies {
                1 => String::new(),
                _ => format!("{copies} copies of "),
            };
            return Err(format!(
                "{classes} with {each}the {vcs} virtual channels that routing needs have {all_vcs} virtual channels; \
                 expected at most 255, with fewer classes, fewer copies or routing with fewer virtual channels"
            ));
        }
        let mut weights = [1; MAX_TRAFFIC_CLASSES];
        let mut groups = [ClassSet::default(); MAX_TRAFFIC_CLASSES];
        let mut priorities: Vec<u8> = classes.iter().map(|class| class.1).collect();
        priorities.sort_unstable_by(|one, other| other.cmp(one));
        priorities.dedup();
        for (class, (weight, priority)) in (0..).zip(classes) {
            if *weight == 0 {
                return Err("a weight of 0; expected at least 1".into());
            }
            let peers = classes.iter().filter(|peer| peer.1 == *priority);
            let divisor = peers.map(|peer| peer.0).fold(0, greatest_common_divisor);
            weights[usize::from(class)] = weight / divisor;
            let group = priorities.iter().position(|one| one == priority);
            groups[group.expect("a priority of a class")].insert(class);
        }
        Ok(TrafficClasses {
            count: count as u8,
            vcs: vcs * copies,
            copies,
            weights,
            groups,
        })
    }

    /// Number of classes.
    #[inline]
    pub fn count(&self) -> u8 {
        self.count
    }

    /// Whether all packets have one class.
    #[inline]
    pub fn is_one(&self) -> bool {
        self.count == 1
    }

    /// VCs of all classes together.
    pub fn all_vcs(&self) -> u8 {
        self.count * self.vcs
    }

    /// The class to which a VC belongs.
    #[inline]
    pub fn of_vc(&self, vc: u8) -> u8 {
        if self.is_one() { 0 } else { vc / self.vcs.max(1) }
    }

    /// The first VC of a class.
    #[inline]
    pub fn first_vc(&self, class: u8) -> u8 {
        class * self.vcs
    }

    /// The VCs of a class.
    #[inline]
    pub fn vcs_of(&self, class: u8) -> Range<u8> {
        let first = self.first_vc(class);
        first..first + self.vcs
    }

    /// Copies of each VC that routing needs.
    #[inline]
    pub fn copies(&self) -> u8 {
        self.copies
    }

    /// The number that routing knows of a VC, without class and copy.
    #[inline]
    pub fn routing_vc(&self, vc: u8) -> u8 {
        let of_class = vc - self.first_vc(self.of_vc(vc));
        match self.copies {
            1 => of_class,
            copies => of_class / copies,
        }
    }

    /// The copies of one VC that routing needs, of one class.
    #[inline]
    pub fn copies_of(&self, class: u8, routing_vc: u8) -> Range<u8> {
        let first = self.first_vc(class) + routing_vc * self.copies;
        first..first + self.copies
    }

    /// Whether every link has the VCs of routing and no others.
    #[inline]
    pub fn has_routing_vcs_only(&self) -> bool {
        self.is_one() && self.copies == 1
    }

    /// Bytes that a turn adds to the deficit of a class; `largest` are those of the largest packet.
    fn turn(&self, class: u8, largest: u32) -> i64 {
        i64::from(largest) * i64::from(self.weights[usize::from(class)])
    }

    /// Selects the class that sends next among those that are `able` to. `waiting` are those that have packets for the
    /// link, able or not. `largest` is the size of the largest packet in bytes.
    ///
    /// The turn passes over a class that is not able to send. What is left of its turn adds to the next one, up to one
    /// turn; a class without packets loses it.
    pub(crate) fn choose(
        &self,
        turns: &mut ClassTurns,
        (waiting, able): (ClassSet, ClassSet),
        largest: u32,
        mut note: impl FnMut(ClassTurnUndo),
    ) -> Option<u8> {
        let group = self.groups.iter().position(|group| group.0 & able.0 != 0)?;
        let members = self.groups[group];
        let turn = turns.turns[group];
        if !members.is_shared() {
            return Some(members.after(turn));
        }
        if able.contains(turn) && turns.deficits[usize::from(turn)] > 0 {
            return Some(turn);
        }
        let mut class = turn;
        loop {
            let deficit = turns.deficits[usize::from(class)];
            let step = |class, deficit| ClassTurnUndo {
                class,
                group: group as u8,
                turn,
                deficit,
            };
            if deficit > 0 && !waiting.contains(class) {
                note(step(class, deficit));
                turns.deficits[usize::from(class)] = 0;
            }
            class = members.after(class);
            if able.contains(class) {
                let deficit = turns.deficits[usize::from(class)];
                note(step(class, deficit));
                let added = self.turn(class, largest);
                turns.deficits[usize::from(class)] = deficit.min(added) + added;
                turns.turns[group] = class;
                return Some(class);
            }
        }
    }

    /// A packet of a class leaves. A class that shares its priority with no other has no turns.
    pub(crate) fn sent(&self, turns: &mut ClassTurns, class: u8, bytes: u32) -> Option<ClassTurnUndo> {
        let group = self.groups.iter().position(|group| group.contains(class))?;
        if !self.groups[group].is_shared() {
            return None;
        }
        let deficit = &mut turns.deficits[usize::from(class)];
        let step = ClassTurnUndo {
            class,
            group: group as u8,
            turn: turns.turns[group],
            deficit: *deficit,
        };
        *deficit -= i64::from(bytes);
        Some(step)
    }

    /// Whether saved turns can be those of these classes.
    pub(crate) fn allows(&self, turns: &ClassTurns, largest: u32) -> bool {
        let mut groups = self.groups.iter().zip(turns.turns);
        let mut deficits = (0..).zip(turns.deficits);
        groups.all(|(group, turn)| {
            let exists = usize::from(turn) < MAX_TRAFFIC_CLASSES;
            exists && (group.0 == 0 || group.contains(turn))
        }) && deficits
            .all(|(class, deficit)| (-i64::from(largest)..=2 * self.turn(class, largest)).contains(&deficit))
    }
}

fn greatest_common_divisor(one: u8, other: u8) -> u8 {
    match other {
        0 => one,
        _ => greatest_common_divisor(other, one % other),
    }
}

impl ClassTurns {
    /// Turns on an idle link: the first class of each priority is the next.
    pub(crate) fn new(classes: &TrafficClasses) -> ClassTurns {
        let last = |group: ClassSet| 7u32.saturating_sub(group.0.leading_zeros()) as u8;
        ClassTurns {
            deficits: [0; MAX_TRAFFIC_CLASSES],
            turns: classes.groups.map(last),
        }
    }

    /// Undoes one step; steps are undone in reverse order.
    pub(crate) fn undo(&mut self, step: ClassTurnUndo) {
        self.deficits[usize::from(step.class)] = step.deficit;
        self.turns[usize::from(step.group)] = step.turn;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A set with these classes.
    fn set(classes: &[u8]) -> ClassSet {
        let mut set = ClassSet::default();
        classes.iter().for_each(|class| set.insert(*class));
        set
    }

    /// Sends so many packets of the classes in `able`, which have `bytes` of each class. Returns the bytes by class.
    fn shares(classes: &TrafficClasses, able: &[u8], bytes: [u32; 3], packets: u32) -> [u64; 3] {
        let (mut turns, mut sent) = (ClassTurns::new(classes), [0; 3]);
        for _ in 0..packets {
            let set = set(able);
            let class = classes.choose(&mut turns, (set, set), 200, |_| {});
            let class = class.expect("some class is able");
            let bytes = bytes[usize::from(class)];
            classes.sent(&mut turns, class, bytes);
            sent[usize::from(class)] += u64::from(bytes);
            assert!(classes.allows(&turns, 200), "{turns:?}");
        }
        sent
    }

    #[test]
    fn classes_of_one_priority_share_bytes_by_weight_whatever_the_sizes() {
        let classes = TrafficClasses::new((2, 1), &[(3, 0), (1, 0)]).unwrap();
        assert_eq!(shares(&classes, &[0, 1], [200, 200, 0], 400), [60_000, 20_000, 0]);
        // Packets of 30 B against packets of 200 B: the shares differ by less than a turn and a packet.
        let [heavy, light, _] = shares(&classes, &[0, 1], [30, 200, 0], 9000);
        assert!(heavy.abs_diff(3 * light) <= 800, "{heavy} and {light}");
        // A class that is alone has all packets.
        assert_eq!(shares(&classes, &[1], [200, 200, 0], 100), [0, 20_000, 0]);
        // A common factor of the weights changes nothing.
        assert_eq!(TrafficClasses::new((2, 1), &[(60, 0), (20, 0)]).unwrap(), classes);
    }

    #[test]
    fn a_higher_priority_goes_first_whatever_the_weights() {
        let classes = TrafficClasses::new((1, 1), &[(255, 1), (1, 7), (1, 1)]).unwrap();
        assert_eq!(shares(&classes, &[0, 1, 2], [200; 3], 100), [0, 20_000, 0]);
        assert_eq!(shares(&classes, &[0, 2], [200; 3], 256), [51_000, 0, 200]);
    }

    #[test]
    fn what_is_left_of_a_turn_is_kept_while_packets_wait() {
        let classes = TrafficClasses::new((1, 1), &[(3, 0), (1, 0)]).unwrap();
        let mut turns = ClassTurns::new(&classes);
        let mut send = |waiting: &[u8], able: &[u8]| {
            let sets = (set(waiting), set(able));
            let class = classes.choose(&mut turns, sets, 200, |_| {});
            classes.sent(&mut turns, class.unwrap(), 200);
            class.unwrap()
        };
        // Class 0 has no credits after its first packet. It has two packets more in the next turn.
        assert_eq!(send(&[0, 1], &[0, 1]), 0);
        assert_eq!(send(&[0, 1], &[1]), 1);
        let next: Vec<u8> = (0..6).map(|_| send(&[0, 1], &[0, 1])).collect();
        assert_eq!(next, [0, 0, 0, 0, 0, 1]);
        // Without packets it loses them.
        assert_eq!(send(&[0, 1], &[0, 1]), 0);
        assert_eq!(send(&[1], &[1]), 1);
        let next: Vec<u8> = (0..4).map(|_| send(&[0, 1], &[0, 1])).collect();
        assert_eq!(next, [0, 0, 0, 1]);
    }

    #[test]
    fn every_vc_belongs_to_one_class() {
        let classes = TrafficClasses::new((3, 1), &[(1, 0), (1, 0)]).unwrap();
        assert_eq!(classes.all_vcs(), 6);
        let of: Vec<u8> = (0..6).map(|vc| classes.of_vc(vc)).collect();
        assert_eq!(of, [0, 0, 0, 1, 1, 1]);
        assert_eq!((classes.first_vc(0), classes.first_vc(1)), (0, 3));
        let wrong = |vcs, count: usize| TrafficClasses::new((vcs, 1), &vec![(1, 0); count]).unwrap_err();
        assert!(wrong(1, 9).contains("expected 1 to 8"));
        assert!(wrong(1, 0).contains("expected 1 to 8"));
        assert!(wrong(40, 8).contains("320 virtual channels"));
        assert!(TrafficClasses::new((1, 1), &[(0, 0)]).is_err());
    }

    #[test]
    fn copies_of_a_vc_belong_to_its_class_and_have_its_number_for_routing() {
        let classes = TrafficClasses::new((3, 2), &[(1, 0), (1, 0)]).unwrap();
        assert_eq!((classes.all_vcs(), classes.copies()), (12, 2));
        assert_eq!((classes.copies_of(0, 2), classes.copies_of(1, 1)), (4..6, 8..10));
        for (class, vc) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
            for copy in classes.copies_of(class, vc) {
                assert_eq!((classes.of_vc(copy), classes.routing_vc(copy)), (class, vc));
            }
        }
        assert!(TrafficClasses::new((3, 0), &[(1, 0)]).is_err());
        let many = TrafficClasses::new((8, 32), &[(1, 0)]).unwrap_err();
        assert!(
            many.starts_with("one traffic class with 32 copies of the 8 virtual channels"),
            "{many}"
        );
    }

    #[test]
    fn turns_of_other_classes_are_refused() {
        let classes = TrafficClasses::new((1, 1), &[(1, 0), (1, 3), (1, 3)]).unwrap();
        let turns = ClassTurns::new(&classes);
        assert!(classes.allows(&turns, 200));
        let changes: [fn(&mut ClassTurns); 4] = [
            |turns| turns.turns[0] = 0,
            |turns| turns.turns[7] = 8,
            |turns| turns.deficits[1] = 401,
            |turns| turns.deficits[2] = -201,
        ];
        for change in changes {
            let mut wrong = turns;
            change(&mut wrong);
            assert!(!classes.allows(&wrong, 200), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn every_choice_can_be_undone(
            classes in prop::collection::vec((1u8.., 0u8..3), 1..=8),
            choices in prop::collection::vec((any::<u8>(), any::<u8>(), 1u32..=200), 0..60),
        ) {
            let of = classes;
            let classes = TrafficClasses::new((1, 1), &of).unwrap();
            let all = 0xFF >> (8 - classes.count());
            let first = ClassTurns::new(&classes);
            let (mut turns, mut steps) = (first, Vec::new());
            for (able, also, bytes) in choices {
                let (able, waiting) = (ClassSet(able & all), ClassSet((able | also) & all));
                let before = (turns, steps.len());
                let class = classes.choose(&mut turns, (waiting, able), 200, |step| steps.push(step));
                prop_assert_eq!(class.is_some(), able.0 != 0);
                if let Some(class) = class {
                    prop_assert!(able.contains(class));
                    let priority = of[usize::from(class)].1;
                    prop_assert!((0..).zip(&of).all(|(peer, (_, of))| !able.contains(peer) || *of <= priority));
                    steps.extend(classes.sent(&mut turns, class, bytes));
                }
                prop_assert!(classes.allows(&turns, 200));
                let mut undone = turns;
                steps[before.1..].iter().rev().for_each(|step| undone.undo(*step));
                prop_assert_eq!(undone, before.0);
            }
            steps.into_iter().rev().for_each(|step| turns.undo(step));
            prop_assert_eq!(turns, first);
        }
    }
}
