//! How communicators are made: an exchange among the members of another one (MPI 4.1, section 7.4).

use std::cell::Cell;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use operation::{Call, Collective, Communicator as Number, Operation, Reduction};
use rank_channel::{Needs, PostedData};

use crate::abi::{self, class};
use crate::collective::Member;
use crate::communicator::{Communicator, compare_groups};
use crate::failure::{Failure, Outcome};
use crate::grouped_messages::MessagePlan;
use crate::process::{self, Process};

/// Bytes of the mask in which MPICH's ranks agree on a context id, and of a colour and key, as recordings are replayed.
const CONTEXT_BYTES: u64 = 256;
const COLOR_BYTES: u64 = 8;

/// Tags of the library's messages that make communicators, apart from those of collectives.
pub(crate) const CREATION_TAGS: u32 = 1 << 30;

/// What a member brings to the exchange that makes communicators.
#[derive(Clone, Copy)]
pub(crate) struct Wish {
    pub color: i32,
    pub key: i32,
    pub offered: Number,
}

impl Wish {
    pub fn to_bytes(self) -> Vec<u8> {
        [
            self.color.to_le_bytes(),
            self.key.to_le_bytes(),
            self.offered.to_le_bytes(),
        ]
        .concat()
    }

    pub fn from_bytes(said: &[u8]) -> Wish {
        let word = |index: usize| -> [u8; 4] {
            let bytes = said.get(4 * index..4 * index + 4);
            bytes.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default()
        };
        Wish {
            color: i32::from_le_bytes(word(0)),
            key: i32::from_le_bytes(word(1)),
            offered: u32::from_le_bytes(word(2)),
        }
    }
}

impl Process {
    /// Takes part in the exchange in which all members of a communicator say a wish. It takes the time of these
    /// collectives.
    fn exchange_wishes(
        &mut self,
        parent: c_int,
        wish: Wish,
        steps: &[(Collective, u64)],
        call: Call,
    ) -> Outcome<Vec<Wish>> {
        if self.communicators.get(parent)?.size() == 1 {
            return Ok(vec![wish]);
        }
        let number = self.simulated(parent)?;
        let payload = self.store(&[&wish.to_bytes()])?;
        let mut wishes = Vec::new();
        for (step, (collective, bytes)) in steps.iter().enumerate() {
            let operation = Operation::Collective {
                collective: *collective,
                communicator: number,
                root: 0,
                bytes: *bytes,
                counts: None,
                request: None,
                reduction: (*collective == Collective::Allreduce).then_some(Reduction::Band),
                call,
            };
            let contribution = match step {
                0 => PostedData {
                    payload,
                    needs: Needs::All,
                },
                _ => PostedData::default(),
            };
            let reply = self.ask(operation, contribution);
            for payload in reply.contributions.into_iter().flat_map(|(_, all)| all) {
                let said = self.load(payload)?;
                wishes.push(Wish::from_bytes(&said));
            }
        }
        Ok(wishes)
    }

    /// The communicator of these members of a parent, by rank there, in this order. The first gives it its number.
    fn make(&mut self, parent: c_int, members: &[usize], wishes: &[Wish], call: Call) -> Outcome<c_int> {
        let from = self.communicators.get(parent)?;
        let error_handler = from.error_handler;
        let world: Arc<[u32]> = members.iter().map(|member| from.members[*member]).collect();
        let own = self.communicators.own();
        let number = wishes[members[0]].offered;
        if world[0] == own {
            self.communicators.give();
        }
        self.add_communicator(Communicator::new(number, world, own, call), error_handler)
    }

    /// Adds a communicator that has the error handler of another one.
    pub fn add_communicator(
        &mut self,
        mut communicator: Communicator,
        error_handler: c_int,
    ) -> Outcome<c_int> {
        if communicator.number >= 1 << 29 {
            return Err(Failure::new(class::OTHER, "too many communicators were made"));
        }
        communicator.error_handler = error_handler;
        Ok(self.communicators.add(communicator))
    }

    /// A communicator of some members of a parent, made by those alone: the first one tells the others its number.
    pub fn create_among(&mut self, parent: c_int, members: &[usize], tag: u32) -> Outcome<c_int> {
        let from = self.communicators.get(parent)?;
        let (rank, error_handler) = (from.rank, from.error_handler);
        let world: Arc<[u32]> = members.iter().map(|member| from.members[*member]).collect();
        let own = self.communicators.own();
        let heard: Rc<Cell<Number>> = Rc::default();
        let hears = heard.clone();
        let mut plan = MessagePlan::new(Box::new(move |said| {
            said.iter()
                .for_each(|said| hears.set(Wish::from_bytes(said).offered));
            Ok(())
        }));
        let offered = self.communicators.offered();
        let tag = CREATION_TAGS | tag;
        match members[0] == rank {
            true => {
                let wish = Wish {
                    color: 0,
                    key: 0,
                    offered,
                };
                let others = members[1..]
                    .iter()
                    .map(|member| (*member as u32, tag, wish.to_bytes()));
                plan.sends = others.collect();
                heard.set(offered);
                self.communicators.give();
            }
            false => plan.receives = vec![(members[0] as u32, tag)],
        }
        self.exchange_messages(parent, plan)?()?;
        self.add_communicator(
            Communicator::new(heard.get(), world, own, Call::CommCreate),
            error_handler,
        )
    }

    /// Starts a duplicate of a communicator with one group: its handle, which is of use once the request is complete.
    pub fn start_duplicate(&mut self, parent: c_int) -> Outcome<(c_int, c_int)> {
        let from = self.communicators.get(parent)?;
        let (members, error_handler) = (from.members.clone(), from.error_handler);
        let own = self.communicators.own();
        let wish = Wish {
            color: 0,
            key: 0,
            offered: self.communicators.offered(),
        };
        // The next one offers another number, whether or not this one is taken.
        self.communicators.give();
        let communicator = Communicator::new(wish.offered, members, own, Call::CommDup);
        let made = self.add_communicator(communicator, error_handler)?;
        let member = Member {
            bytes: CONTEXT_BYTES,
            reduction: Some(Reduction::Band),
            brings: Some(wish.to_bytes()),
            needs: Needs::Of(0),
            delivery: Box::new(move |said| {
                let offered = said.first().map(|said| Wish::from_bytes(said).offered);
                process::with(|p| {
                    let made = p.communicators.get_mut(made)?;
                    made.number = offered.unwrap_or(made.number);
                    Ok(())
                })
            }),
            ..Member::new(parent, Collective::Allreduce, (Call::CommDup, Call::CommDup))
        };
        let request = self.numbered(|p, number| p.start_work(member.into(), number))?;
        Ok((made, request))
    }

    /// What each member brings, of any length.
    pub fn gather_from_all(&mut self, communicator: c_int, bytes: Vec<u8>) -> Outcome<Vec<Vec<u8>>> {
        if self.communicators.get(communicator)?.size() == 1 {
            return Ok(vec![bytes]);
        }
        let operation = Operation::Collective {
            collective: Collective::Allgather,
            communicator: self.simulated(communicator)?,
            root: 0,
            bytes: bytes.len() as u64,
            counts: None,
            request: None,
            reduction: None,
            call: Call::Allgatherv,
        };
        let contribution = PostedData {
            payload: self.store(&[&bytes])?,
            needs: Needs::All,
        };
        let reply = self.ask(operation, contribution);
        let payloads = reply.contributions.into_iter().flat_map(|(_, all)| all);
        payloads.map(|payload| self.load(payload)).collect()
    }

    /// `MPI_Comm_split`. No communicator for a colour that is undefined.
    pub fn split(&mut self, parent: c_int, color: Option<i32>, key: i32) -> Outcome<Option<c_int>> {
        if self.is_inter(parent)? {
            return self.split_inter(parent, color, key, Call::CommSplit);
        }
        let wish = Wish {
            color: color.unwrap_or(-1),
            key,
            offered: self.communicators.offered(),
        };
        let steps = [
            (Collective::Allgather, COLOR_BYTES),
            (Collective::Allreduce, CONTEXT_BYTES),
        ];
        let wishes = self.exchange_wishes(parent, wish, &steps, Call::CommSplit)?;
        let Some(color) = color else { return Ok(None) };
        let same = (0..wishes.len()).filter(|member| wishes[*member].color == color);
        let mut members: Vec<usize> = same.collect();
        // Equal keys keep their order.
        members.sort_by_key(|member| wishes[*member].key);
        self.make(parent, &members, &wishes, Call::CommSplit).map(Some)
    }

    /// `MPI_Comm_dup` without attributes, and what else makes communicators of the same cost: of all members, or of
    /// those of a group.
    pub fn duplicate(
        &mut self,
        parent: c_int,
        members: Option<&[usize]>,
        call: Call,
    ) -> Outcome<Option<c_int>> {
        if self.is_inter(parent)? {
            let own = self.communicators.get(parent)?.rank;
            let place = match members {
                None => Some(own),
                Some(members) => members.iter().position(|member| *member == own),
            };
            return self.split_inter(parent, place.map(|_| 0), place.unwrap_or(0) as i32, call);
        }
        let wish = Wish {
            color: 0,
            key: 0,
            offered: self.communicators.offered(),
        };
        let steps = [(Collective::Allreduce, CONTEXT_BYTES)];
        let wishes = self.exchange_wishes(parent, wish, &steps, call)?;
        let all: Vec<usize> = (0..wishes.len()).collect();
        let members = members.unwrap_or(&all);
        let own = self.communicators.get(parent)?.rank;
        match members.contains(&own) {
            true => self.make(parent, members, &wishes, call).map(Some),
            false => Ok(None),
        }
    }

    /// How two communicators compare.
    pub fn compare(&self, one: c_int, other: c_int) -> Outcome<c_int> {
        let (first, second) = (self.communicators.get(one)?, self.communicators.get(other)?);
        let of_remote = match (&first.remote, &second.remote) {
            (None, None) => abi::IDENT,
            (Some(first), Some(second)) => compare_groups(&first.members, &second.members),
            _ => abi::UNEQUAL,
        };
        Ok(match one == other {
            true => abi::IDENT,
            // The less alike of both groups decides.
            false => match compare_groups(&first.members, &second.members).max(of_remote) {
                abi::IDENT => abi::CONGRUENT,
                differ => differ,
            },
        })
    }
}
