//! The keys of a job whose ranks are processes: `command`, `ranks`, `compute`, `clocks`.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use config::{FreeText, Section};
use workload::{Interpreter, Program, TraceError, Workload};

use crate::RankStatus;
use crate::job::{OnlineJob, OnlineProgram};
use crate::launch::LaunchCommand;
use crate::program::OnlineRank;
use crate::symbols::{self, ProgramNeeds};

/// File name of our MPI library, as cargo builds it.
const LIBRARY: &str = "libfabricsim_libmpi.so";

/// File name of that with the standard ABI, beside it.
const STANDARD_LIBRARY: &str = "libfabricsim_libmpi_abi.so";

/// File name of the library that shows simulated time on the clocks of the C library, beside it.
const CLOCK_LIBRARY: &str = "libfabricsim_rank_clock.so";

/// Maximum ranks of a program: processes of one machine.
const MAX_RANKS: u32 = 1 << 15;

/// How computation between calls counts.
const COMPUTE: [&str; 2] = ["measured", "none"];

/// What the clocks of the C library show.
const CLOCKS: [&str; 2] = ["simulated", "real"];

/// Reads the key `command` of a job's workload, and has the programs that it has read.
#[derive(Debug, Default)]
pub struct OnlinePrograms {
    /// Our MPI library, where it is not beside the program.
    library: Option<PathBuf>,
    /// Whether each line that a rank prints begins with its number.
    labels: AtomicBool,
    jobs: Jobs,
}

/// The runs of all programs that were read.
type Jobs = Arc<Mutex<Vec<Arc<OnlineJob>>>>;

impl OnlinePrograms {
    /// With our MPI library at a path, or else beside the program that runs.
    pub fn new(library: Option<PathBuf>) -> OnlinePrograms {
        OnlinePrograms {
            library,
            ..OnlinePrograms::default()
        }
    }

    /// From now on each line that a rank of a job prints begins with its number.
    pub fn label_output(&self) {
        self.labels.store(true, Ordering::Relaxed);
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

    /// What a compiled program needs of MPI.
    ///
    /// # Errors
    /// In one sentence: it, or our library, cannot be read.
    pub fn needs(&self, program: &Path) -> Result<ProgramNeeds, String> {
        let library = self.find_library()?;
        symbols::program_needs(program, &library, &library.with_file_name(STANDARD_LIBRARY))
    }

    fn find_library(&self) -> Result<PathBuf, String> {
        if let Some(library) = self.library.as_ref().filter(|library| library.is_file()) {
            return Ok(library.clone());
        }
        let program = env::current_exe().map_err(|error| error.to_string())?;
        let folders = program.ancestors().skip(1).take(2);
        let found = folders
            .map(|folder| folder.join(LIBRARY))
            .find(|file| file.is_file());
        found.ok_or_else(|| {
            let beside = program.parent().unwrap_or(Path::new("")).display();
            format!(
                "there is no {LIBRARY}, FabricSim's MPI library, in {beside}; `make build` and `make python` make it"
            )
        })
    }
}

impl Interpreter for OnlinePrograms {
    fn key(&self) -> &'static str {
        "command"
    }

    fn read(&self, section: &Section, _: &Path) -> Result<Arc<dyn Workload>, config::Error> {
        let command: Vec<FreeText> = section.required("command")?;
        let command: Vec<String> = command.into_iter().map(|word| word.0).collect();
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
        let clocks = section.choice_or("clocks", CLOCKS[0], &CLOCKS)?;
        let library = self
            .find_library()
            .map_err(|message| section.error("command", message))?;
        let [standard_library, clock_library] =
            [STANDARD_LIBRARY, CLOCK_LIBRARY].map(|name| library.with_file_name(name));
        for beside in [&standard_library, &clock_library] {
            if !beside.is_file() {
                let message = format!(
                    "{}, which belongs to FabricSim's MPI library, is not there",
                    beside.display()
                );
                return Err(section.error("command", message));
            }
        }
        Ok(Arc::new(OnlineWorkload {
            what: Arc::new(OnlineProgram {
                command: LaunchCommand {
                    words: command,
                    clocks: (clocks == CLOCKS[0]).then_some(clock_library),
                    library,
                    standard_library,
                    labels: self.labels.load(Ordering::Relaxed),
                },
                ranks,
                measures: compute == COMPUTE[0],
                hosts: OnceLock::new(),
            }),
            current: Mutex::new(None),
            leaves: Mutex::new(None),
            jobs: self.jobs.clone(),
        }))
    }
}

struct OnlineWorkload {
    what: Arc<OnlineProgram>,
    /// The run that began last, and whether each rank of it was asked for.
    current: Mutex<Option<(Arc<OnlineJob>, Vec<bool>)>>,
    jobs: Jobs,
    /// Where the next run leaves its operations.
    leaves: Mutex<Option<PathBuf>>,
}

impl OnlineWorkload {
    /// The run of a rank's program: a rank that is asked for again is in a new run.
    fn run_of(&self, rank: u32) -> io::Result<Arc<OnlineJob>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((job, asked)) = &mut *current
            && !std::mem::replace(&mut asked[rank as usize], true)
        {
            return Ok(job.clone());
        }
        let leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner).take();
        let job = Arc::new(OnlineJob::new(self.what.clone(), leaves.as_deref())?);
        self.jobs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(job.clone());
        let mut asked = vec![false; self.what.ranks as usize];
        asked[rank as usize] = true;
        *current = Some((job.clone(), asked));
        Ok(job)
    }
}

impl Workload for OnlineWorkload {
    fn ranks(&self) -> u32 {
        self.what.ranks
    }

    fn leaves_operations(&self, file: &Path) -> bool {
        *self.leaves.lock().unwrap_or_else(PoisonError::into_inner) = Some(file.into());
        true
    }

    fn placed(&self, hosts: &[u32]) {
        let _ = self.what.hosts.set(hosts.to_vec());
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        Arc::new([(0..self.what.ranks).collect()])
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        let run = self.run_of(rank).map_err(|error| TraceError {
            file: self.what.command.words.join(" "),
            rank: Some(rank),
            message: format!("the file of its operations cannot be written: {error}"),
        })?;
        Ok(Box::new(OnlineRank::new(run, rank)))
    }

    fn reacts(&self) -> bool {
        true
    }
}
