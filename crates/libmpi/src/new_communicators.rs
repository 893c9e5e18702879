//! How communicators are made: an exchange among the members of another one (MPI 4.1, section 7.4).

use std::ffi::c_int;
use std::sync::Arc;

use operation::{Call, Collective, Communicator as Number, Operation, Reduction};
use rank_channel::{Needs, PostedData};

use crate::abi::{self, class};
use crate::communicator::{Communicator, compare_groups};
use crate::failure::{Failure, Outcome};
use crate::process::Process;

/// Bytes of the mask in which MPICH's ranks agree on a context id, and of a colour and key, as recordings are replayed.
const CONTEXT_BYTES: u64 = 256;
const COLOR_BYTES: u64 = 8;

/// What a member brings to the exchange that makes communicators.
#[derive(Clone, Copy)]
struct Wish {
    color: i32,
    key: i32,
    offered: Number,
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
        let said = [
            wish.color.to_le_bytes(),
            wish.key.to_le_bytes(),
            wish.offered.to_le_bytes(),
        ];
        let payload = self.store(&[said.as_flattened()])?;
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
                let word = |index: usize| -> [u8; 4] {
                    let bytes = said.get(4 * index..4 * index + 4);
                    bytes.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default()
                };
                wishes.push(Wish {
                    color: i32::from_le_bytes(word(0)),
                    key: i32::from_le_bytes(word(1)),
                    offered: u32::from_le_bytes(word(2)),
                });
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
        if number >= 1 << 30 {
            return Err(Failure::new(class::OTHER, "too many communicators were made"));
        }
        if world[0] == own {
            self.communicators.give();
        }
        let mut communicator = Communicator::new(number, world, own, call);
        communicator.error_handler = error_handler;
        Ok(self.communicators.add(communicator))
    }

    /// `MPI_Comm_split`. No communicator for a colour that is undefined.
    pub fn split(&mut self, parent: c_int, color: Option<i32>, key: i32) -> Outcome<Option<c_int>> {
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
        Ok(match one == other {
            true => abi::IDENT,
            false => match compare_groups(&first.members, &second.members) {
                abi::IDENT => abi::CONGRUENT,
                differ => differ,
            },
        })
    }
}
