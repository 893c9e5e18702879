//! How intercommunicators are made, split and merged (MPI 4.1, section 7.6).

use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use operation::{Call, Collective, Communicator as Number, Operation};
use rank_channel::{Needs, PostedData};

use crate::abi::class;
use crate::communicator::{Communicator, RemoteGroup};
use crate::failure::{Failure, Outcome};
use crate::grouped_messages::MessagePlan;
use crate::new_communicators::{CREATION_TAGS, Wish};
use crate::process::Process;
use crate::request::parted;

/// Bytes that the leader of a group tells its members, as the simulator counts them.
const LEADER_BYTES: u64 = 256;

/// The parts of [`parted`] bytes.
fn parts_of(bytes: &[u8], parts: usize) -> Vec<&[u8]> {
    let end = |index: usize| -> usize {
        let end = bytes
            .get(8 * index..8 * index + 8)
            .and_then(|end| end.try_into().ok());
        8 * parts + u64::from_ne_bytes(end.unwrap_or_default()) as usize
    };
    let start = |index: usize| if index == 0 { 8 * parts } else { end(index - 1) };
    (0..parts)
        .map(|index| bytes.get(start(index)..end(index)).unwrap_or_default())
        .collect()
}

/// What the leader of a group tells the other one: the number that it offers, and the world ranks of its group.
fn leader_words(offered: Number, members: &[u32]) -> Vec<u8> {
    let words = std::iter::once(offered).chain(members.iter().copied());
    words.flat_map(u32::to_le_bytes).collect()
}

fn read_words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|word| u32::from_le_bytes(word.try_into().unwrap_or_default()))
        .collect()
}

impl Process {
    /// The messages that these peers send in the library's space, one each; to each of them goes one, too.
    fn swap_with(
        &mut self,
        communicator: c_int,
        (peers, tag): (&[u32], u32),
        bytes: &[u8],
    ) -> Outcome<Vec<Vec<u8>>> {
        let heard: Rc<RefCell<Vec<Vec<u8>>>> = Rc::default();
        let hears = heard.clone();
        let mut plan = MessagePlan::new(Box::new(move |received| {
            *hears.borrow_mut() = received;
            Ok(())
        }));
        plan.receives = peers.iter().map(|peer| (*peer, tag)).collect();
        plan.sends = peers.iter().map(|peer| (*peer, tag, bytes.to_vec())).collect();
        self.exchange_messages(communicator, plan)?()?;
        Ok(heard.take())
    }

    /// The wishes of both groups of an intercommunicator: this rank's, and the other one.
    fn exchange_inter_wishes(&mut self, parent: c_int, wish: Wish) -> Outcome<(Vec<Wish>, Vec<Wish>)> {
        let from = self.communicators.get(parent)?;
        let (first, peers, own) = (from.peer_offset(), from.peers().len(), from.size());
        let all: Vec<u32> = (first..first + peers as u32).collect();
        let of_others = self.swap_with(parent, (&all, CREATION_TAGS), &wish.to_bytes())?;
        // What the others have heard is what this group has said.
        let heard = self.swap_with(parent, (&all, CREATION_TAGS), &parted(&of_others))?;
        let of_own = parts_of(heard.first().map_or(&[], Vec::as_slice), own);
        let read = |said: &[u8]| Wish::from_bytes(said);
        Ok((
            of_own.into_iter().map(read).collect(),
            of_others.iter().map(|said| read(said)).collect(),
        ))
    }

    /// The intercommunicator of two groups. The one whose first member has the lower world rank counts first, and that
    /// member's offer is its number.
    fn add_inter(
        &mut self,
        (local, remote): (Arc<[u32]>, Arc<[u32]>),
        (local_offer, remote_offer): (Number, Number),
        error_handler: c_int,
        call: Call,
    ) -> Outcome<c_int> {
        let local_first = local[0] < remote[0];
        let number = if local_first { local_offer } else { remote_offer };
        let own = self.communicators.own();
        if local_first && local[0] == own {
            self.communicators.give();
        }
        let mut communicator = Communicator::new(number, local, own, call);
        communicator.remote = Some(RemoteGroup {
            members: remote,
            local_first,
        });
        self.add_communicator(communicator, error_handler)
    }

    /// `MPI_Intercomm_create`: of the group of a communicator, and that of the leader whom this group's leader reaches
    /// in another one.
    pub fn create_inter(
        &mut self,
        (local, leader): (c_int, c_int),
        (bridge, remote_leader, tag): (c_int, c_int, u32),
    ) -> Outcome<c_int> {
        let own = self.communicators.get(local)?;
        let (rank, members, error_handler) = (own.rank, own.members.clone(), own.error_handler);
        own.peer(leader).map_err(|failure| failure.on(local))?;
        let offers = self.gather_from_all(local, self.communicators.offered().to_le_bytes().to_vec())?;
        let own_offer = offers
            .first()
            .and_then(|offer| read_words(offer).first().copied())
            .unwrap_or_default();
        let mut heard = Vec::new();
        if rank as c_int == leader {
            let peer = self.communicators.get(bridge)?.peer(remote_leader);
            let peer = peer.map_err(|failure| failure.on(bridge))?;
            let peer = peer.ok_or_else(|| Failure::new(class::RANK, "MPI_PROC_NULL as the remote leader"))?;
            let said = leader_words(own_offer, &members);
            let answers = self.swap_with(bridge, (&[peer], CREATION_TAGS | tag), &said)?;
            heard = answers.into_iter().next().unwrap_or_default();
        }
        let heard = self.tell_group(local, leader as usize, heard)?;
        let mut words = read_words(&heard).into_iter();
        let remote_offer = words.next().unwrap_or_default();
        let remote: Arc<[u32]> = words.collect();
        if remote.is_empty() || remote.iter().any(|member| members.contains(member)) {
            return Err(Failure::new(class::COMM, "the groups are not disjoint").on(local));
        }
        self.add_inter(
            (members, remote),
            (own_offer, remote_offer),
            error_handler,
            Call::CommCreate,
        )
    }

    /// What a member tells all others of its group.
    fn tell_group(&mut self, communicator: c_int, teller: usize, bytes: Vec<u8>) -> Outcome<Vec<u8>> {
        let (rank, size) = self.place(communicator)?;
        if size == 1 {
            return Ok(bytes);
        }
        let is_teller = rank == teller;
        let payload = if is_teller { self.store(&[&bytes])? } else { None };
        let operation = Operation::Collective {
            collective: Collective::Bcast,
            communicator: self.simulated(communicator)?,
            root: teller as u32,
            bytes: LEADER_BYTES,
            counts: None,
            request: None,
            reduction: None,
            call: Call::Bcast,
        };
        let needs = if is_teller {
            Needs::Nothing
        } else {
            Needs::Of(teller as u32)
        };
        let reply = self.ask(operation, PostedData { payload, needs });
        if is_teller {
            return Ok(bytes);
        }
        let told = reply
            .contributions
            .into_iter()
            .flat_map(|(_, all)| all)
            .next()
            .flatten();
        self.load(told)
    }

    /// Split, duplicate and create of an intercommunicator. No communicator without a colour, or if the other group has
    /// no member of it.
    pub fn split_inter(
        &mut self,
        parent: c_int,
        color: Option<i32>,
        key: i32,
        call: Call,
    ) -> Outcome<Option<c_int>> {
        let wish = Wish {
            color: color.unwrap_or(-1),
            key,
            offered: self.communicators.offered(),
        };
        let (of_own, of_others) = self.exchange_inter_wishes(parent, wish)?;
        let Some(color) = color else { return Ok(None) };
        let from = self.communicators.get(parent)?;
        let error_handler = from.error_handler;
        let choose = |wishes: &[Wish], world: &[u32]| -> (Arc<[u32]>, Number) {
            let same = (0..wishes.len()).filter(|member| wishes[*member].color == color);
            let mut members: Vec<usize> = same.collect();
            members.sort_by_key(|member| wishes[*member].key);
            let offer = members.first().map_or(0, |first| wishes[*first].offered);
            (members.into_iter().map(|member| world[member]).collect(), offer)
        };
        let (local, local_offer) = choose(&of_own, &from.members);
        let (remote, remote_offer) = choose(&of_others, from.peers());
        if remote.is_empty() {
            return Ok(None);
        }
        self.add_inter((local, remote), (local_offer, remote_offer), error_handler, call)
            .map(Some)
    }

    /// `MPI_Intercomm_merge`: a communicator of both groups. The one that is not `high` counts first; if both say the
    /// same, the one whose first member has the lower world rank.
    pub fn merge(&mut self, parent: c_int, high: bool) -> Outcome<c_int> {
        let wish = Wish {
            color: i32::from(high),
            key: 0,
            offered: self.communicators.offered(),
        };
        let (of_own, of_others) = self.exchange_inter_wishes(parent, wish)?;
        let from = self.communicators.get(parent)?;
        let (local, remote) = (from.members.clone(), from.peers().clone());
        let error_handler = from.error_handler;
        let is_high = |wishes: &[Wish]| wishes.first().is_some_and(|wish| wish.color != 0);
        let local_first = match (is_high(&of_own), is_high(&of_others)) {
            (false, true) => true,
            (true, false) => false,
            _ => local[0] < remote[0],
        };
        let ((first, second), wishes) = match local_first {
            true => ((local, remote), of_own),
            false => ((remote, local), of_others),
        };
        let number = wishes.first().map_or(0, |wish| wish.offered);
        let own = self.communicators.own();
        if first[0] == own {
            self.communicators.give();
        }
        let members: Arc<[u32]> = first.iter().chain(second.iter()).copied().collect();
        self.add_communicator(
            Communicator::new(number, members, own, Call::CommCreate),
            error_handler,
        )
    }
}
