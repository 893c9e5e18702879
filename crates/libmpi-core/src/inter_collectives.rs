//! Collectives on intercommunicators (MPI 4.1, section 6.2.3): what one group brings goes to the other one. Each member
//! sends its messages at once; the simulator has no algorithms for them.

use std::ffi::{c_int, c_void};

use crate::abi::{self, class};
use crate::collective::{CollectiveWork, brought};
use crate::failure::{Failure, Outcome};
use crate::grouped_messages::MessagePlan;
use crate::member_blocks::{MemberBlocks, unpack};
use crate::message::Elements;
use crate::process::Process;
use crate::request::Delivery;

/// The tag of all messages of collectives.
const TAG: u32 = 0;

/// What a rank is in a collective with a root.
#[derive(Clone, Copy, Debug)]
enum InterRole {
    Root,
    /// In the group of the root.
    Beside,
    /// In the other group; the root as the simulator counts it.
    Other(u32),
}

/// What a rank beside the root does; its other arguments mean nothing.
fn nothing(communicator: c_int) -> CollectiveWork {
    CollectiveWork::Messages(communicator, MessagePlan::new(Box::new(|_| Ok(()))))
}

impl Process {
    /// Whether a communicator has two groups.
    pub fn is_inter(&self, communicator: c_int) -> Outcome<bool> {
        Ok(self.communicators.get(communicator)?.remote.is_some())
    }

    /// Number of blocks of a buffer with one for each peer.
    pub fn block_count(&self, communicator: c_int) -> Outcome<usize> {
        Ok(self.communicators.get(communicator)?.peers().len())
    }

    /// Whether this rank is the root that a call names.
    pub fn is_root(&self, communicator: c_int, root: c_int) -> Outcome<bool> {
        let communicator = self.communicators.get(communicator)?;
        Ok(match communicator.remote {
            Some(_) => root == abi::ROOT,
            None => communicator.rank as c_int == root,
        })
    }

    fn role(&self, communicator: c_int, root: c_int) -> Outcome<InterRole> {
        match root {
            abi::ROOT => return Ok(InterRole::Root),
            abi::PROC_NULL => return Ok(InterRole::Beside),
            _ => {}
        }
        let peer = self.communicators.get(communicator)?.peer(root);
        match peer {
            Ok(Some(peer)) => Ok(InterRole::Other(peer)),
            _ => Err(Failure::new(class::ROOT, root.to_string()).on(communicator)),
        }
    }

    /// All peers as the simulator counts them.
    fn all_peers(&self, communicator: c_int) -> Outcome<Vec<u32>> {
        let communicator = self.communicators.get(communicator)?;
        let first = communicator.peer_offset();
        Ok((first..first + communicator.peers().len() as u32).collect())
    }

    /// A message to each peer, and one from each.
    fn with_all(
        &self,
        communicator: c_int,
        brings: Vec<Vec<u8>>,
        delivery: Delivery,
    ) -> Outcome<CollectiveWork> {
        let peers = self.all_peers(communicator)?;
        let mut plan = MessagePlan::new(delivery);
        plan.receives = peers.iter().map(|peer| (*peer, TAG)).collect();
        plan.sends = peers
            .into_iter()
            .zip(brings)
            .map(|(peer, bytes)| (peer, TAG, bytes))
            .collect();
        Ok(CollectiveWork::Messages(communicator, plan))
    }

    /// A message from the root to each of the other group.
    fn message_from_root(
        &self,
        (communicator, role): (c_int, InterRole),
        brings: impl FnOnce() -> Outcome<Vec<Vec<u8>>>,
        delivery: Delivery,
    ) -> Outcome<CollectiveWork> {
        let mut plan = MessagePlan::new(match role {
            InterRole::Other(_) => delivery,
            _ => Box::new(|_| Ok(())),
        });
        match role {
            InterRole::Root => {
                let peers = self.all_peers(communicator)?.into_iter().zip(brings()?);
                plan.sends = peers.map(|(peer, bytes)| (peer, TAG, bytes)).collect();
            }
            InterRole::Beside => {}
            InterRole::Other(root) => plan.receives = vec![(root, TAG)],
        }
        Ok(CollectiveWork::Messages(communicator, plan))
    }

    /// A message to the root from each of the other group.
    fn messages_to_root(
        &self,
        (communicator, role): (c_int, InterRole),
        brings: impl FnOnce() -> Outcome<Vec<u8>>,
        delivery: Delivery,
    ) -> Outcome<CollectiveWork> {
        let mut plan = MessagePlan::new(match role {
            InterRole::Root => delivery,
            _ => Box::new(|_| Ok(())),
        });
        match role {
            InterRole::Root => {
                let peers = self.all_peers(communicator)?.into_iter();
                plan.receives = peers.map(|peer| (peer, TAG)).collect();
            }
            InterRole::Beside => {}
            InterRole::Other(root) => plan.sends = vec![(root, TAG, brings()?)],
        }
        Ok(CollectiveWork::Messages(communicator, plan))
    }

    pub fn inter_barrier(&self, communicator: c_int) -> Outcome<CollectiveWork> {
        let peers = self.block_count(communicator)?;
        self.with_all(communicator, vec![Vec::new(); peers], Box::new(|_| Ok(())))
    }

    pub fn inter_broadcast(
        &self,
        elements: Elements,
        root: c_int,
        communicator: c_int,
    ) -> Outcome<CollectiveWork> {
        let role = self.role(communicator, root)?;
        if let InterRole::Beside = role {
            return Ok(nothing(communicator));
        }
        let peers = self.block_count(communicator)?;
        let datatype = self.datatypes.get(elements.datatype)?.clone();
        let delivery: Delivery =
            Box::new(move |received| unpack(&datatype, elements.buffer, elements.count, &received[0]));
        self.message_from_root(
            (communicator, role),
            || Ok(vec![elements.pack(self)?; peers]),
            delivery,
        )
    }

    pub fn inter_scatter(
        &self,
        sends: Option<MemberBlocks>,
        received: Elements,
        root: c_int,
        communicator: c_int,
    ) -> Outcome<CollectiveWork> {
        let role = self.role(communicator, root)?;
        let blocks = match role {
            InterRole::Other(_) => MemberBlocks::same(self, received, 1)?,
            _ => MemberBlocks::none(),
        };
        let delivery: Delivery = Box::new(move |parts| blocks.fill(&parts, None));
        let brings = || Ok(sends.map(|sends| sends.pack_all()).unwrap_or_default());
        self.message_from_root((communicator, role), brings, delivery)
    }

    pub fn inter_gather(
        &self,
        sent: Elements,
        receives: Option<MemberBlocks>,
        root: c_int,
        communicator: c_int,
    ) -> Outcome<CollectiveWork> {
        let role = self.role(communicator, root)?;
        let delivery: Delivery = Box::new(move |parts| match receives {
            Some(receives) => receives.fill(&parts, None),
            None => Ok(()),
        });
        self.messages_to_root((communicator, role), || sent.pack(self), delivery)
    }

    pub fn inter_allgather(
        &self,
        sent: Elements,
        receives: MemberBlocks,
        communicator: c_int,
    ) -> Outcome<CollectiveWork> {
        let brings = vec![sent.pack(self)?; self.block_count(communicator)?];
        self.with_all(
            communicator,
            brings,
            Box::new(move |parts| receives.fill(&parts, None)),
        )
    }

    pub fn inter_alltoall(
        &self,
        sends: Option<MemberBlocks>,
        receives: MemberBlocks,
        communicator: c_int,
    ) -> Outcome<CollectiveWork> {
        let sends = sends.ok_or_else(|| {
            Failure::new(class::BUFFER, "an intercommunicator has no MPI_IN_PLACE").on(communicator)
        })?;
        let delivery: Delivery = Box::new(move |parts| receives.fill(&parts, None));
        self.with_all(communicator, sends.pack_all(), delivery)
    }

    /// Reduce, or without a root allreduce.
    pub fn inter_reduce(
        &self,
        sent: *const c_void,
        received: Elements,
        operation: c_int,
        root: Option<c_int>,
        communicator: c_int,
    ) -> Outcome<CollectiveWork> {
        let role = root.map(|root| self.role(communicator, root)).transpose()?;
        if let Some(InterRole::Beside) = role {
            return Ok(nothing(communicator));
        }
        let combination = self.combination(received, operation)?;
        let delivery: Delivery = Box::new(move |parts| {
            let all = combination.of(parts)?;
            unpack(&combination.datatype, received.buffer, received.count, &all)
        });
        let own = brought(sent, received);
        match role {
            Some(role) => self.messages_to_root((communicator, role), || own.pack(self), delivery),
            None => {
                let brings = vec![own.pack(self)?; self.block_count(communicator)?];
                self.with_all(communicator, brings, delivery)
            }
        }
    }

    /// Reduce-scatter: the parts of this rank's group, of what the other one brings.
    pub fn inter_reduce_scatter(
        &self,
        sent: *const c_void,
        (received, counts): (Elements, Vec<usize>),
        operation: c_int,
        communicator: c_int,
    ) -> Outcome<CollectiveWork> {
        let (rank, _) = self.place(communicator)?;
        let total = Elements {
            count: counts.iter().sum(),
            ..received
        };
        let combination = self.combination(total, operation)?;
        let brings = vec![brought(sent, total).pack(self)?; self.block_count(communicator)?];
        let start = combination.datatype.bytes(counts[..rank].iter().sum());
        let end = start + combination.datatype.bytes(counts[rank]);
        let delivery: Delivery = Box::new(move |parts| {
            let all = combination.of(parts)?;
            let own = all.get(start..end).unwrap_or(&[]);
            unpack(&combination.datatype, received.buffer, counts[rank], own)
        });
        self.with_all(communicator, brings, delivery)
    }
}
