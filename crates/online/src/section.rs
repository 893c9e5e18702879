//! The keys of a job whose ranks are processes: `command`, `ranks`, `compute`.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use config::Section;
use rank_channel::SharedMemory;
use workload::{Interpreter, Program, TraceError, Workload};

use crate::RankStatus;
use crate::exchange::Exchange;
use crate::launch::Launched;
use crate::program::RankProgram;

/// File name of our MPI library, as cargo builds it.
const LIBRARY: &str = "libfabricsim_libmpi.so";

/// Maximum ranks of a program: processes of one machine.
const MAX_RANKS: u32 = 1 << 15;

/// How computation between calls counts.
const COMPUTE: [&str; 2] = ["measured", "none"];

/// Reads the key `command` of a job's workload, and has the programs that it has read.
#[derive(Debug, Default)]
pub struct OnlinePrograms {
    /// Our MPI library, where it is not beside the program.
    library: Option<PathBuf>,
    jobs: Jobs,
}

/// The runs of all programs that were read.
type Jobs = Arc<Mutex<Vec<Arc<OnlineJob>>>>;

impl OnlinePrograms {
    /// With our MPI library at a path, or else beside the program that runs.
    pub fn new(library: Option<PathBuf>) -> OnlinePrograms {
        OnlinePrograms {
            library,
            jobs: Jobs::default(),
        }
    }

    /// Ends the processes of all jobs: those of jobs whose ranks have all called `MPI_Finalize` end by themselves, and
    /// are waited for. How, by rank, of the latter.
    pub fn end(&self) -> Vec<RankStatus> {
        let jobs = std::mem::take(&mut *self.jobs.lock().unwrap_or_else(PoisonError::into_inner));
        jobs.iter().flat_map(|job| job.end()).collect()
    }

    /// The exit status that a rank gave with `MPI_Abort`.
    pub fn aborted(&self) -> Option<i32> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.iter().find_map(|job| *job.locked_aborted())
    }

    fn find_library(&self) -> Result<PathBuf, String> {
        if let Some(library) = &self.library {
            return Ok(library.clone());
        }
        let program = env::current_exe().map_err(|error| error.to_string())?;
        let folders = program.ancestors().skip(1).take(2);
        let found = folders.map(|folder| folder.join(LIBRARY)).find(|file| file.is_file());
        found.ok_or_else(|| {
            let beside = program.parent().unwrap_or(Path::new("")).display();
            format!(
                "there is no {LIBRARY} in {beside}, FabricSim's MPI library; `cargo build --release --package \
                 fabricsim-libmpi` makes it"
            )
        })
    }
}

impl Interpreter for OnlinePrograms {
    fn key(&self) -> &'static str {
        "command"
    }

    fn read(&self, section: &Section, _: &Path) -> Result<Arc<dyn Workload>, config::Error> {
        let command: Vec<String> = section.required("command")?;
        if command.first().is_none_or(String::is_empty) {
            let message = "is empty; expected a program and its arguments, such as [\"python3\", \"app.py\"]";
            return Err(section.error("command", message));
        }
        let ranks: u32 = section.required("ranks")?;
        if !(1..=MAX_RANKS).contains(&ranks) {
            let message = format!("{ranks} is out of range; expected 1 to {MAX_RANKS}");
            return Err(section.error("ranks", message));
        }
        let compute = section.choice_or("compute", COMPUTE[0], &COMPUTE)?;
        let library = self
            .find_library()
            .map_err(|message| section.error("command", message))?;
        Ok(Arc::new(OnlineWorkload {
            what: Arc::new(OnlineProgram {
                command,
                ranks,
                measures: compute == COMPUTE[0],
                library,
                hosts: OnceLock::new(),
            }),
            current: Mutex::new(None),
            jobs: self.jobs.clone(),
        }))
    }
}

/// What a job executes.
#[derive(Debug)]
struct OnlineProgram {
    command: Vec<String>,
    ranks: u32,
    measures: bool,
    library: PathBuf,
    /// The host of each rank.
    hosts: OnceLock<Vec<u32>>,
}

/// One run of a job whose ranks are processes. They start when the first of them is asked for an operation.
#[derive(Debug)]
pub(crate) struct OnlineJob {
    what: Arc<OnlineProgram>,
    exchange: Exchange,
    launched: Mutex<Option<Result<Arc<Launched>, String>>>,
    /// Ranks that have called `MPI_Finalize`.
    finished: AtomicU32,
    /// What a rank has given to `MPI_Abort`.
    aborted: Mutex<Option<i32>>,
}

impl OnlineJob {
    fn new(what: Arc<OnlineProgram>) -> OnlineJob {
        OnlineJob {
            exchange: Exchange::new(what.ranks),
            what,
            launched: Mutex::new(None),
            finished: AtomicU32::new(0),
            aborted: Mutex::new(None),
        }
    }

    pub fn ranks(&self) -> u32 {
        self.what.ranks
    }

    /// The command in one line.
    pub fn command(&self) -> String {
        self.what.command.join(" ")
    }

    /// A rank has called `MPI_Finalize`.
    pub fn finish(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// The processes.
    ///
    /// # Errors
    /// They cannot be started.
    pub fn launched(&self) -> Result<Arc<Launched>, String> {
        let mut launched = self.launched.lock().unwrap_or_else(PoisonError::into_inner);
        let start = || {
            let OnlineProgram { ranks, measures, .. } = *self.what;
            let memory = SharedMemory::create(ranks, measures)
                .map_err(|error| format!("no memory for {ranks} ranks: {error}"))?;
            let hosts = self.what.hosts.get().map_or(&[][..], Vec::as_slice);
            (0..).zip(hosts).for_each(|(rank, host)| memory.place(rank, *host));
            Launched::start(&self.what.command, memory, &self.what.library).map(Arc::new)
        };
        launched.get_or_insert_with(start).clone()
    }

    /// A rank has called `MPI_Abort`. An aborted run must not look good.
    pub fn aborted(&self, status: i32) {
        let status = match status & 0xff {
            0 => 1,
            status => status,
        };
        self.locked_aborted().get_or_insert(status);
    }

    fn locked_aborted(&self) -> std::sync::MutexGuard<'_, Option<i32>> {
        self.aborted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> Option<Arc<Launched>> {
        let launched = self.launched.lock().unwrap_or_else(PoisonError::into_inner);
        launched.as_ref().and_then(|launched| launched.clone().ok())
    }

    fn end(&self) -> Vec<RankStatus> {
        match self.running() {
            Some(launched) if self.finished.load(Ordering::Relaxed) == self.ranks() => launched.wait(),
            Some(launched) => {
                launched.end_all();
                Vec::new()
            }
            None => Vec::new(),
        }
    }
}

struct OnlineWorkload {
    what: Arc<OnlineProgram>,
    /// The run that began last, and whether each rank of it was asked for.
    current: Mutex<Option<(Arc<OnlineJob>, Vec<bool>)>>,
    jobs: Jobs,
}

impl OnlineWorkload {
    /// The run of a rank's program: a rank that is asked for again is in a new run.
    fn run_of(&self, rank: u32) -> Arc<OnlineJob> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((job, asked)) = &mut *current
            && !std::mem::replace(&mut asked[rank as usize], true)
        {
            return job.clone();
        }
        let job = Arc::new(OnlineJob::new(self.what.clone()));
        self.jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(job.clone());
        let mut asked = vec![false; self.what.ranks as usize];
        asked[rank as usize] = true;
        *current = Some((job.clone(), asked));
        job
    }
}

impl Workload for OnlineWorkload {
    fn ranks(&self) -> u32 {
        self.what.ranks
    }

    fn placed(&self, hosts: &[u32]) {
        let _ = self.what.hosts.set(hosts.to_vec());
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        Arc::new([(0..self.what.ranks).collect()])
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        Ok(Box::new(RankProgram::new(self.run_of(rank), rank)))
    }

    fn reacts(&self) -> bool {
        true
    }
}
