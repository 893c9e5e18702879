//! The state of this rank's process, and how it speaks with the simulator.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use operation::{Communicator, Operation};
use rank_channel::{CHANNEL, Payload, Post, PostedData, RankEnd, Reply};
use rustix::time::{ClockId, clock_gettime};

use crate::abi::{self, class};
use crate::attributes::AttributeKeys;
use crate::clock;
use crate::communicator::{CommunicatorTable, MessageSpace};
use crate::datatype_table::DatatypeTable;
use crate::error_codes::ErrorCodes;
use crate::error_handlers;
use crate::failure::{Failure, Outcome, Reaction};
use crate::file::FileTable;
use crate::reduction::ReductionTable;
use crate::request::{ActiveRequest, RequestTable};
use crate::sampling::{SampledSection, SamplingTable};
use crate::session::SessionTable;
use crate::window::{WindowTable, is_window};

/// Where the process is.
enum ProcessStage {
    Before,
    Running(Box<Process>),
    After,
}

static STAGE: Mutex<ProcessStage> = Mutex::new(ProcessStage::Before);

/// Simulated time that a clock of the C library has shown last, in ps.
static LAST_CLOCK_PS: AtomicU64 = AtomicU64::new(0);

/// Readings of the clock in a row that take no time: programs with timers read it a few times between calls. More of
/// them wait for a time, and have to see it pass.
const FREE_READINGS: u32 = 64;

/// What starts a persistent request, under its number.
pub(crate) type Starter = Box<dyn Fn(&mut Process, u64) -> Outcome<ActiveRequest>>;

/// A rank between `MPI_Init` and `MPI_Finalize`.
pub(crate) struct Process {
    pub end: RankEnd,
    pub communicators: CommunicatorTable,
    pub datatypes: DatatypeTable,
    pub operations: ReductionTable,
    pub requests: RequestTable,
    /// By handle of a persistent request.
    pub starters: HashMap<c_int, Starter>,
    pub attributes: AttributeKeys,
    pub sessions: SessionTable,
    pub windows: WindowTable,
    pub files: FileTable,
    sampling: SamplingTable,
    /// Address and bytes of the buffer for buffered sends.
    pub send_buffer: Option<(usize, i64)>,
    pub error_codes: ErrorCodes,
    /// CPU time of this thread at the end of the last call that the simulator was told, in ns; `None` if computation
    /// does not count.
    mark: Option<u64>,
    /// How often the clock was read since the last other call.
    readings: u32,
    /// What it has shown last, in ps.
    clock_ps: u64,
}

// Safety: its addresses are the program's, and one thread at a time calls the library (`MPI_THREAD_SERIALIZED`).
unsafe impl Send for Process {}

/// CPU time of this thread in ns.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Does something with the process.
///
/// # Errors
/// It is not between `MPI_Init` and `MPI_Finalize`.
pub(crate) fn with<T>(act: impl FnOnce(&mut Process) -> Outcome<T>) -> Outcome<T> {
    match &mut *STAGE.lock().unwrap_or_else(PoisonError::into_inner) {
        ProcessStage::Running(process) => act(process),
        ProcessStage::Before => Err(Failure::new(class::OTHER, "called before MPI_Init")),
        ProcessStage::After => Err(Failure::new(class::OTHER, "called after MPI_Finalize")),
    }
}

/// The process, if no function of this library works on it now.
fn idle<T>(act: impl FnOnce(&mut Process) -> T) -> Option<T> {
    match STAGE.try_lock() {
        Ok(mut stage) => match &mut *stage {
            ProcessStage::Running(process) => Some(act(process)),
            _ => None,
        },
        Err(_) => None,
    }
}

/// Simulated time in ns for a clock of the C library. Inside of a call of MPI it stands.
extern "C" fn clock_ns() -> u64 {
    let now = idle(Process::clock_ps);
    if let Some(now) = now {
        LAST_CLOCK_PS.store(now, Ordering::Relaxed);
    }
    now.unwrap_or_else(|| LAST_CLOCK_PS.load(Ordering::Relaxed)) / 1000
}

/// Lets simulated time pass, for a sleep of the C library.
extern "C" fn sleep_ns(ns: u64) {
    idle(|process| process.sleep(ns.saturating_mul(1000)));
}

/// `MPI_Init`.
///
/// # Errors
/// It was called before, or the process was not started by the simulator.
pub(crate) fn initialize() -> Outcome<()> {
    let mut stage = STAGE.lock().unwrap_or_else(PoisonError::into_inner);
    if !matches!(*stage, ProcessStage::Before) {
        return Err(Failure::new(class::OTHER, "called a second time"));
    }
    let end = match RankEnd::of_environment() {
        Ok(Some(end)) => end,
        Ok(None) => {
            eprintln!(
                "This program runs with FabricSim's MPI library, and {CHANNEL} is not set: start it with `fabricsim \
                 mpirun -n RANKS --on network.toml -- PROGRAM`."
            );
            std::process::exit(1)
        }
        Err(error) => {
            eprintln!("FabricSim's MPI library does not reach the simulator: {error}");
            std::process::exit(1)
        }
    };
    let (rank, ranks) = (end.rank(), end.ranks());
    *stage = ProcessStage::Running(Box::new(Process {
        mark: end.measures().then(cpu_ns),
        end,
        communicators: CommunicatorTable::new(rank, ranks),
        datatypes: DatatypeTable::default(),
        operations: ReductionTable::default(),
        requests: RequestTable::default(),
        starters: HashMap::new(),
        attributes: AttributeKeys::new(ranks),
        sessions: SessionTable::default(),
        windows: WindowTable::default(),
        files: FileTable::default(),
        sampling: SamplingTable::default(),
        send_buffer: None,
        error_codes: ErrorCodes::default(),
        readings: 0,
        clock_ps: 0,
    }));
    drop(stage);
    clock::begin(clock_ns, sleep_ns);
    Ok(())
}

/// `MPI_Finalize`, once nothing is left to do.
pub(crate) fn finalize() -> Outcome<()> {
    with(|process| {
        process.compute();
        process.end.end(&Post::Finished);
        Ok(())
    })?;
    *STAGE.lock().unwrap_or_else(PoisonError::into_inner) = ProcessStage::After;
    clock::end();
    Ok(())
}

/// Calls [`finalize`] when the process exits, of a program that has sessions and no `MPI_Finalize`.
pub(crate) fn finalize_at_exit() {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> c_int;
    }
    extern "C" fn end() {
        if stage() == (true, false) {
            // An error has no one left to go to.
            let _ = finalize();
        }
    }
    // Safety: a function of C that keeps the function for the end of the process.
    unsafe { atexit(end) };
}

/// Whether `MPI_Init` was called, and `MPI_Finalize`.
pub(crate) fn stage() -> (bool, bool) {
    match *STAGE.lock().unwrap_or_else(PoisonError::into_inner) {
        ProcessStage::Before => (false, false),
        ProcessStage::Running(_) => (true, false),
        ProcessStage::After => (true, true),
    }
}

impl Process {
    /// What the error handler of a communicator, window or file does.
    pub fn reaction(&self, handle: c_int) -> Reaction {
        if abi::is_file(handle) {
            return error_handlers::reaction_of(self.files.error_handler(handle));
        }
        match self.windows.get(handle) {
            Ok(window) => error_handlers::reaction_of(window.error_handler),
            Err(_) if is_window(handle) => self.communicators.reaction(abi::COMM_SELF),
            Err(_) => self.communicators.reaction(handle),
        }
    }

    /// Posts the computation since the last call.
    fn compute(&mut self) {
        if let Some(mark) = self.mark {
            self.end.compute(cpu_ns().saturating_sub(mark) * 1000);
        }
    }

    /// Computation begins.
    fn begin_computing(&mut self) {
        if let Some(mark) = &mut self.mark {
            *mark = cpu_ns();
        }
    }

    /// Posts an operation whose end the program need not see.
    pub fn post(&mut self, operation: Operation, payload: Option<Payload>) {
        let contribution = PostedData {
            payload,
            ..PostedData::default()
        };
        self.post_collective(operation, contribution);
    }

    /// Posts a collective whose end the program need not see now.
    pub fn post_collective(&mut self, operation: Operation, contribution: PostedData) {
        self.compute();
        self.readings = 0;
        self.end.post(&Post::Operation {
            operation,
            contribution,
        });
        self.begin_computing();
    }

    /// Posts an operation and waits for its end.
    pub fn ask(&mut self, operation: Operation, contribution: PostedData) -> Reply {
        self.compute();
        self.readings = 0;
        let reply = self.end.ask(&Post::Operation {
            operation,
            contribution,
        });
        self.begin_computing();
        reply
    }

    /// Whether a sampled section has to run. Otherwise the time that it takes passes.
    pub fn begin_section(&mut self, section: SampledSection, most: u64) -> bool {
        match self.sampling.mean_ps(section, most) {
            Some(0) => false,
            Some(ps) => {
                self.sleep(ps);
                false
            }
            None => {
                let now = if self.mark.is_some() { cpu_ns() } else { 0 };
                self.sampling.begin(section, now);
                true
            }
        }
    }

    /// A sampled section has run.
    pub fn end_section(&mut self) {
        let now = if self.mark.is_some() { cpu_ns() } else { 0 };
        self.sampling.end(now);
    }

    /// Lets simulated time pass.
    fn sleep(&mut self, ps: u64) {
        self.compute();
        self.readings = 0;
        self.end.compute(ps);
        self.begin_computing();
    }

    /// Simulated time in ps.
    pub fn clock_ps(&mut self) -> u64 {
        self.compute();
        self.readings = self.readings.saturating_add(1);
        let waits = self.readings > FREE_READINGS;
        if self.mark.is_none() && self.readings > 1 && !waits {
            return self.clock_ps;
        }
        let reply = self.end.ask(&Post::Clock { again: waits });
        self.begin_computing();
        self.clock_ps = reply.answer.now_ps;
        self.clock_ps
    }

    /// Stores bytes that others will read; `None` for none.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn store(&mut self, parts: &[&[u8]]) -> Outcome<Option<Payload>> {
        if parts.iter().all(|part| part.is_empty()) {
            return Ok(None);
        }
        let stored = self.end.store(parts);
        stored
            .map(Some)
            .map_err(|error| Failure::new(class::NO_MEM, error.to_string()))
    }

    /// All bytes of a payload.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn load(&self, payload: Option<Payload>) -> Outcome<Vec<u8>> {
        let bytes = payload.map_or(0, |payload| payload.bytes);
        self.load_part(payload, 0, bytes)
    }

    /// Some bytes of a payload.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn load_part(&self, payload: Option<Payload>, start: u64, bytes: u64) -> Outcome<Vec<u8>> {
        let mut loaded = vec![0; bytes as usize];
        if let Some(payload) = payload.filter(|_| bytes > 0) {
            if start + bytes > payload.bytes {
                return Err(Failure::new(class::INTERN, "a payload is shorter than its parts"));
            }
            self.end
                .load_from(payload, start, &mut loaded)
                .map_err(|error| Failure::new(class::INTERN, error.to_string()))?;
        }
        Ok(loaded)
    }

    /// The number of a communicator for the simulator.
    ///
    /// # Errors
    /// There is no such communicator.
    pub fn simulated(&mut self, handle: c_int) -> Outcome<Communicator> {
        self.simulated_in(handle, MessageSpace::Program)
    }

    /// The number under which the simulator has some messages of a communicator.
    ///
    /// # Errors
    /// There is no such communicator.
    pub fn simulated_in(&mut self, handle: c_int, space: MessageSpace) -> Outcome<Communicator> {
        let ranks = self.communicators.ranks();
        let communicator = self.communicators.get_mut(handle)?;
        let (number, undeclared) = communicator.declare(space, ranks);
        if let Some(operation) = undeclared {
            self.post(operation, None);
        }
        Ok(number)
    }

    /// A new request of what starts under its number.
    ///
    /// # Errors
    /// As the start.
    pub fn numbered(
        &mut self,
        start: impl FnOnce(&mut Process, u64) -> Outcome<ActiveRequest>,
    ) -> Outcome<c_int> {
        let number = self.requests.take_number();
        match start(self, number) {
            Ok(pending) => Ok(self.requests.add_numbered(number, Some(pending), false)),
            Err(failure) => {
                self.requests.give_back(number);
                Err(failure)
            }
        }
    }
}
