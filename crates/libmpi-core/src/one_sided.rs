//! One-sided communication and its synchronization (MPI 4.1, sections 12.3 and 12.5).

use std::ffi::{c_int, c_void};

use operation::{Call, Operation, Takes};
use rank_channel::PostedData;
use rustix::process::{PTracer, set_ptracer};

use crate::abi::{self, class};
use crate::communicator::translate;
use crate::failure::{Failure, Outcome};
use crate::grouped_messages::MessagePlan;
use crate::message::Elements;
use crate::process::Process;
use crate::request::{Found, Rest};
use crate::window::{MemoryWindow, RemoteMemory, WindowMemory, allocate, descriptors, new_locks};

/// Tags of messages that begin and end accesses, among those of the window's communicator.
const POST_TAG: u32 = 1;
const COMPLETE_TAG: u32 = 2;

/// Elements in the window of a target.
#[derive(Clone, Copy)]
pub(crate) struct WindowTarget {
    pub rank: c_int,
    pub displacement: i64,
    pub count: usize,
    pub datatype: c_int,
}

impl Process {
    /// Makes a window, with all ranks of a communicator: over memory of the program, or with new memory.
    pub fn make_window(
        &mut self,
        parent: c_int,
        flavor: c_int,
        memory: (Option<*mut c_void>, usize, usize),
    ) -> Outcome<(c_int, *mut c_void)> {
        if self.is_inter(parent)? {
            return Err(Failure::new(class::COMM, "an intercommunicator has no windows").on(parent));
        }
        let (base, size, unit) = memory;
        let made = self.duplicate(parent, None, Call::WinCreate)?;
        let communicator = made.ok_or_else(|| Failure::new(class::INTERN, "a window without this rank"))?;
        let locks = new_locks()?;
        // Where only ancestors may reach the memory of a process; fails where there is no such rule.
        let _ = set_ptracer(PTracer::Any);
        let (allocated, base) = match base {
            Some(base) => (None, base),
            None => {
                let (memory, start) = allocate(size);
                (Some(memory), start)
            }
        };
        let own = WindowMemory {
            process: std::process::id(),
            locks: descriptors(&locks),
            base: base as usize,
            size,
            unit,
        };
        let all = self.gather_from_all(communicator, own.to_words())?;
        let parts = all
            .iter()
            .map(|words| RemoteMemory::open(WindowMemory::from_words(words)));
        let parts = parts.collect::<Outcome<Vec<_>>>()?;
        let window = MemoryWindow::new((communicator, flavor), own, parts, locks, allocated);
        Ok((self.windows.add(window), base))
    }

    /// Completes all accesses of all ranks.
    pub fn fence(&mut self, window: c_int, call: Call) -> Outcome<()> {
        let communicator = self.windows.get(window)?.communicator;
        let communicator = self.simulated(communicator)?;
        self.ask(Operation::Fence { communicator, call }, PostedData::default());
        Ok(())
    }

    /// Lets other ranks go on: what this one does next is at its time.
    pub fn poll(&mut self) {
        let select = Operation::Select {
            requests: Vec::new(),
            takes: Takes::All,
            blocks: false,
            call: Call::Other,
        };
        self.ask(select, PostedData::default());
    }

    /// A rank of a window; `None` for `MPI_PROC_NULL`.
    pub fn window_rank(&self, window: c_int, rank: c_int) -> Outcome<Option<usize>> {
        let ranks = self.windows.get(window)?.parts.len();
        match usize::try_from(rank) {
            Ok(rank) if rank < ranks => Ok(Some(rank)),
            _ if rank == abi::PROC_NULL => Ok(None),
            _ => Err(Failure::new(class::RANK, format!("{rank} of a window of {ranks} ranks")).on(window)),
        }
    }

    /// Does something with the elements of a target at an address, and says it to the simulator.
    fn access<T>(
        &mut self,
        window: c_int,
        target: WindowTarget,
        writes: bool,
        act: impl FnOnce(&Process, &RemoteMemory, usize) -> Outcome<T>,
    ) -> Outcome<Option<T>> {
        let Some(rank) = self.window_rank(window, target.rank)? else {
            return Ok(None);
        };
        let datatype = self.datatypes.get(target.datatype)?.clone();
        let communicator = self.simulated(self.windows.get(window)?.communicator)?;
        let found = self.windows.get(window)?;
        let part = &found.parts[rank];
        let start = part.locate(target.displacement, target.count, &datatype, found.flavor);
        let start = start.map_err(|failure| failure.on(window))?;
        let done = act(self, part, start).map_err(|failure| failure.on(window))?;
        let bytes = datatype.bytes(target.count) as u64;
        let operation = match writes {
            true => Operation::Put {
                to: rank as u32,
                communicator,
                bytes,
                call: Call::Put,
            },
            false => Operation::Get {
                from: rank as u32,
                communicator,
                bytes,
                call: Call::Get,
            },
        };
        self.post(operation, None);
        Ok(Some(done))
    }

    /// Writes elements into a window.
    pub fn put(&mut self, window: c_int, origin: Elements, target: WindowTarget) -> Outcome<()> {
        self.access(window, target, true, |process, part, start| {
            let packed = origin.pack(process)?;
            part.write(
                start,
                target.count,
                process.datatypes.get(target.datatype)?,
                &packed,
            )
        })?;
        Ok(())
    }

    /// Reads elements from a window.
    pub fn get(&mut self, window: c_int, origin: Elements, target: WindowTarget) -> Outcome<()> {
        self.access(window, target, false, |process, part, start| {
            let packed = part.read(start, target.count, process.datatypes.get(target.datatype)?)?;
            let datatype = process.datatypes.get(origin.datatype)?;
            // Safety: the program gave the buffer with this count.
            unsafe { datatype.unpack(&packed, origin.buffer) };
            Ok(())
        })?;
        Ok(())
    }

    /// Combines elements with those of a window, which it gives back as they were.
    pub fn accumulate(
        &mut self,
        window: c_int,
        origin: Elements,
        result: Option<Elements>,
        target: WindowTarget,
        operation: c_int,
    ) -> Outcome<()> {
        // Nothing of any type is no error.
        if target.count == 0 {
            return self.window_rank(window, target.rank).map(|_| ());
        }
        let elements = Elements {
            buffer: std::ptr::null_mut(),
            count: target.count,
            datatype: target.datatype,
        };
        let combination = self.combination(elements, operation)?;
        self.access(window, target, true, |process, part, start| {
            let datatype = &combination.datatype;
            let before = part.atomically(|part| {
                let before = part.read(start, target.count, datatype)?;
                // Nothing of the origin counts where it is not combined.
                if operation != abi::OP_NO_OP {
                    let mut after = origin.pack(process)?;
                    if after.len() != before.len() {
                        return Err(Failure::new(
                            class::COUNT,
                            "origin and target have different numbers of bytes",
                        ));
                    }
                    combination.combine(&before, &mut after)?;
                    part.write(start, target.count, datatype, &after)?;
                }
                Ok(before)
            })?;
            if let Some(result) = result {
                let datatype = process.datatypes.get(result.datatype)?;
                // Safety: the program gave the buffer with this count.
                unsafe { datatype.unpack(&before, result.buffer) };
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Replaces an element by another if it is equal to a third one, and gives back what it was.
    pub fn compare_and_swap(
        &mut self,
        window: c_int,
        (new, expected, result): (Elements, Elements, Elements),
        target: WindowTarget,
    ) -> Outcome<()> {
        self.access(window, target, true, |process, part, start| {
            let datatype = process.datatypes.get(target.datatype)?;
            let (new, expected) = (new.pack(process)?, expected.pack(process)?);
            let before = part.atomically(|part| {
                let before = part.read(start, 1, datatype)?;
                if before == expected {
                    part.write(start, 1, datatype, &new)?;
                }
                Ok(before)
            })?;
            // Safety: the program gave the buffer of one element.
            unsafe { datatype.unpack(&before, result.buffer) };
            Ok(())
        })?;
        Ok(())
    }

    /// Tries to take the lock of a rank.
    pub fn try_lock(&mut self, window: c_int, rank: usize, exclusive: bool) -> Outcome<bool> {
        self.poll();
        Ok(self.windows.get(window)?.parts[rank].try_lock(exclusive))
    }

    /// The members of a group by rank in a window.
    fn window_members(&self, window: c_int, group: c_int) -> Outcome<Vec<u32>> {
        let members = self.communicators.group(group)?;
        let own = self.communicators.get(self.windows.get(window)?.communicator)?;
        let ranks: Vec<c_int> = (0..members.len() as c_int).collect();
        let found = translate(&ranks, &members, &own.members)?
            .into_iter()
            .map(|rank| {
                let rank = u32::try_from(rank);
                rank.map_err(|_| {
                    Failure::new(class::GROUP, "a member of the group is not in the window").on(window)
                })
            });
        found.collect()
    }

    /// Lets the ranks of a group access this rank's memory.
    pub fn post_window(&mut self, window: c_int, group: c_int) -> Outcome<()> {
        let members = self.window_members(window, group)?;
        if self.windows.get(window)?.posted.is_some() {
            return Err(Failure::new(class::RMA_SYNC, "the window is posted already").on(window));
        }
        let communicator = self.windows.get(window)?.communicator;
        let mut plan = MessagePlan::new(Box::new(|_| Ok(())));
        plan.sends = members
            .iter()
            .map(|member| (*member, POST_TAG, Vec::new()))
            .collect();
        plan.receives = members.iter().map(|member| (*member, COMPLETE_TAG)).collect();
        let posted = self.numbered(|p, _| p.start_messages(communicator, plan))?;
        self.windows.get_mut(window)?.posted = Some(posted);
        Ok(())
    }

    /// Waits for the posts of the ranks of a group, whose memory this rank accesses then.
    pub fn start_window(&mut self, window: c_int, group: c_int) -> Outcome<Rest> {
        let members = self.window_members(window, group)?;
        if self.windows.get(window)?.started.is_some() {
            return Err(Failure::new(class::RMA_SYNC, "the window is started already").on(window));
        }
        let communicator = self.windows.get(window)?.communicator;
        let mut plan = MessagePlan::new(Box::new(|_| Ok(())));
        plan.receives = members.iter().map(|member| (*member, POST_TAG)).collect();
        let rest = self.exchange_messages(communicator, plan)?;
        self.windows.get_mut(window)?.started = Some(members);
        Ok(rest)
    }

    /// Ends the accesses of [`Process::start_window`].
    pub fn complete_window(&mut self, window: c_int) -> Outcome<Rest> {
        let found = self.windows.get_mut(window)?;
        let (communicator, started) = (found.communicator, found.started.take());
        let members =
            started.ok_or_else(|| Failure::new(class::RMA_SYNC, "the window is not started").on(window))?;
        let mut plan = MessagePlan::new(Box::new(|_| Ok(())));
        plan.sends = members
            .into_iter()
            .map(|member| (member, COMPLETE_TAG, Vec::new()))
            .collect();
        self.exchange_messages(communicator, plan)
    }

    /// Whether the ranks to whom this one has posted have ended their accesses; waits for it if it blocks.
    pub fn posted_ends(&mut self, window: c_int, blocks: bool) -> Outcome<Option<Found>> {
        let posted = self.windows.get(window)?.posted;
        let handle =
            posted.ok_or_else(|| Failure::new(class::RMA_SYNC, "the window is not posted").on(window))?;
        if !blocks && self.peek(&[handle])?.is_none() {
            return Ok(None);
        }
        let found = self.wait_all(&mut [handle], Call::Other)?;
        self.windows.get_mut(window)?.posted = None;
        Ok(Some(found))
    }
}
