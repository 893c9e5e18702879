//! The processes of a job's ranks: started together, watched, and ended with the run.

#![allow(unsafe_code)] // a call between fork and exec; its use gives its reason

use std::collections::HashMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::output;
use rank_channel::{CHANNEL, RANK, SharedMemory, SimulatorEnd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, set_parent_process_death_signal,
};
use tempfile::TempDir;

/// Names under which programs ask for a library with the ABI of MPICH.
const LIBRARY_NAMES: [&str; 3] = ["libmpi.so.12", "libmpich.so.12", "libmpi.so"];

/// Names under which they ask for one with the standard ABI. MPICH 5.0.1 built the second one by mistake; the last one
/// is of programs that ask for the profiling interface apart.
const STANDARD_NAMES: [&str; 4] = [
    "libmpi_abi.so.1",
    "libmpi_abi.so.0",
    "libmpi_abi.so",
    "libpmpi_abi.so.1",
];

/// Whether all runs of this process are to end now.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Ends the processes of all ranks, also those that compute without an end: for Ctrl-C.
pub fn interrupt() {
    INTERRUPTED.store(true, Ordering::Release);
}

/// What the processes of a job execute.
#[derive(Clone, Debug)]
pub(crate) struct LaunchCommand {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Our MPI library with the ABI of MPICH.
    pub library: PathBuf,
    /// That with the standard ABI.
    pub standard_library: PathBuf,
    /// The library that replaces the clocks of the C library; `None` leaves them real.
    pub clocks: Option<PathBuf>,
    /// Whether each line that a rank prints begins with its number.
    pub labels: bool,
}

/// What tells a program that another MPI library's launcher has started it. Such a library, loaded by mistake, would
/// wait for that launcher.
const OTHER_LAUNCHERS: [&str; 4] = ["PMI_", "PMIX_", "OMPI_", "HYDI_"];

/// How a rank's process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankStatus {
    /// It has returned this status.
    Exited(i32),
    /// A signal has ended it.
    Killed(i32),
}

impl RankStatus {
    fn of(status: ExitStatus) -> RankStatus {
        match status.signal() {
            Some(signal) => RankStatus::Killed(signal),
            None => RankStatus::Exited(status.code().unwrap_or_default()),
        }
    }

    /// The status as shells give it: 128 and the number of the signal.
    pub fn code(self) -> i32 {
        match self {
            RankStatus::Exited(code) => code,
            RankStatus::Killed(signal) => 128 + signal,
        }
    }
}

/// What is watched of a rank.
#[derive(Debug)]
struct Watched {
    lives: Arc<AtomicBool>,
    status: Mutex<Option<RankStatus>>,
}

/// What the threads of the simulator and the one that watches share.
#[derive(Debug)]
struct ProcessWatch {
    memory: Arc<SharedMemory>,
    ranks: Vec<Watched>,
    /// Whether what still runs is to be ended.
    ends: AtomicBool,
}

/// The processes of a job. What still runs ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Launched {
    watch: Arc<ProcessWatch>,
    watcher: Mutex<Option<JoinHandle<()>>>,
    /// The folder with our library under the names that programs ask for.
    _folder: TempDir,
}

impl Launched {
    /// Starts a process for each rank of the memory.
    ///
    /// # Errors
    /// In one sentence: the program cannot be started.
    pub fn start(command: &LaunchCommand, memory: SharedMemory) -> Result<Launched, String> {
        INTERRUPTED.store(false, Ordering::Release);
        let folder = library_folder(command).map_err(|error| {
            format!(
                "no folder for the MPI library {}: {error}",
                command.library.display()
            )
        })?;
        let memory = Arc::new(memory);
        let watched = |_| Watched {
            lives: Arc::new(AtomicBool::new(true)),
            status: Mutex::new(None),
        };
        let watch = Arc::new(ProcessWatch {
            ranks: (0..memory.ranks()).map(watched).collect(),
            memory,
            ends: AtomicBool::new(false),
        });
        let (started, result) = channel();
        let (command, folder_path, own) = (command.clone(), folder.path().to_path_buf(), watch.clone());
        // The processes die with the thread that has started them, which therefore watches them until they end.
        let watcher = thread::spawn(move || own.run(&command, &folder_path, &started));
        let launched = Launched {
            watch,
            watcher: Mutex::new(Some(watcher)),
            _folder: folder,
        };
        match result.recv() {
            Ok(Ok(())) => Ok(launched),
            Ok(Err(message)) => Err(message),
            Err(_) => Err("the thread that starts the processes has failed".into()),
        }
    }

    /// The simulator's end of the channel of a rank.
    pub fn end(&self, rank: u32) -> SimulatorEnd {
        let lives = self.watch.ranks[rank as usize].lives.clone();
        SimulatorEnd::new(self.watch.memory.clone(), rank, lives)
    }

    /// How a rank's process has ended before its time, in one sentence.
    pub fn how_ended(&self, rank: u32) -> String {
        let how = match self.watch.status(rank) {
            Some(RankStatus::Exited(code)) => format!("its process ended with exit status {code}"),
            Some(RankStatus::Killed(signal)) => format!("signal {signal} ended its process"),
            None => "its process said what cannot be understood".into(),
        };
        if self.watch.memory.is_initialized(rank) {
            return format!("{how} before MPI_Finalize");
        }
        format!(
            "{how} without MPI_Init of FabricSim's library; a program of Open MPI before 6.0 has another ABI, and must be \
             compiled with MPICH or with FabricSim's mpi.h"
        )
    }

    /// Waits until all processes have ended by themselves. How, by rank.
    pub fn wait(&self) -> Vec<RankStatus> {
        self.join();
        let ranks = 0..self.watch.ranks.len() as u32;
        ranks.filter_map(|rank| self.watch.status(rank)).collect()
    }

    /// Ends what still runs.
    pub fn end_all(&self) {
        self.watch.ends.store(true, Ordering::Release);
        self.join();
    }

    fn join(&self) {
        let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(watcher) = watcher {
            let _ = watcher.join();
        }
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.end_all();
    }
}

/// Number of each rank among those of its host, and how many these are.
fn local_ranks(hosts: &[u32]) -> Vec<(u32, u32)> {
    let mut on_host: HashMap<u32, u32> = HashMap::new();
    let count = |host: &u32| {
        let count = on_host.entry(*host).or_default();
        *count += 1;
        *count - 1
    };
    let ranks: Vec<u32> = hosts.iter().map(count).collect();
    ranks
        .into_iter()
        .zip(hosts.iter().map(|host| on_host[host]))
        .collect()
}

/// A folder with the libraries under all their names.
fn library_folder(command: &LaunchCommand) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("fabricsim-mpi-").tempdir()?;
    let libraries: [(&Path, &[&str]); 2] = [
        (&command.library, &LIBRARY_NAMES),
        (&command.standard_library, &STANDARD_NAMES),
    ];
    for (library, names) in libraries {
        let library = library.canonicalize()?;
        for name in names {
            symlink(&library, folder.path().join(name))?;
        }
    }
    Ok(folder)
}

/// A path, before those of a list as `LD_LIBRARY_PATH` has.
fn before(path: &Path, others: Option<OsString>) -> OsString {
    let others = others.filter(|others| !others.is_empty());
    let list: Vec<OsString> = std::iter::once(path.into()).chain(others).collect();
    list.join(OsStr::new(":"))
}

impl ProcessWatch {
    fn status(&self, rank: u32) -> Option<RankStatus> {
        let status = &self.ranks[rank as usize].status;
        *status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the processes, says whether that has worked, and watches them until the last one has ended.
    fn run(&self, command: &LaunchCommand, folder: &Path, started: &Sender<Result<(), String>>) {
        let mut children = Vec::new();
        let hosts: Vec<u32> = (0..self.memory.ranks())
            .map(|rank| self.memory.host(rank))
            .collect();
        for (rank, local) in (0..).zip(local_ranks(&hosts)) {
            match self.start(command, folder, rank, local) {
                Ok(child) => children.push(child),
                Err(error) => {
                    let _ = started.send(Err(format!("{} cannot be started: {error}", command.words[0])));
                    self.ends.store(true, Ordering::Release);
                    break;
                }
            }
        }
        let mut printing = Vec::new();
        if command.labels {
            let mut pipes: Vec<_> = children
                .iter_mut()
                .map(|child| (child.rank, &mut child.child))
                .collect();
            printing.extend(output::label(&mut pipes));
        }
        let _ = started.send(Ok(()));
        self.watch(children);
        for thread in printing {
            let _ = thread.join();
        }
    }

    fn start(
        &self,
        command: &LaunchCommand,
        folder: &Path,
        rank: u32,
        local: (u32, u32),
    ) -> io::Result<WatchedChild> {
        let mut process = Command::new(&command.words[0]);
        if let Some(clocks) = &command.clocks {
            process.env("LD_PRELOAD", before(clocks, env::var_os("LD_PRELOAD")));
        }
        for (name, _) in env::vars_os() {
            if OTHER_LAUNCHERS
                .iter()
                .any(|prefix| name.to_string_lossy().starts_with(prefix))
            {
                process.env_remove(name);
            }
        }
        let ranks = self.memory.ranks();
        // What programs read to find their place.
        for (name, value) in [
            ("PMI_RANK", rank),
            ("PMI_SIZE", ranks),
            ("MPI_LOCALRANKID", local.0),
            ("MPI_LOCALNRANKS", local.1),
            ("OMPI_COMM_WORLD_RANK", rank),
            ("OMPI_COMM_WORLD_SIZE", ranks),
            ("OMPI_COMM_WORLD_LOCAL_RANK", local.0),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", local.1),
        ] {
            process.env(name, value.to_string());
        }
        process
            .args(&command.words[1..])
            .env(CHANNEL, self.memory.path())
            .env(RANK, rank.to_string())
            .env("LD_LIBRARY_PATH", before(folder, env::var_os("LD_LIBRARY_PATH")))
            // The wheel of mpi4py would look for the library of its own environment first.
            .env("MPI4PY_MPIABI", "mpich")
            // Of its own, so that what the program starts ends with it, and Ctrl-C reaches the simulator only.
            .process_group(0);
        if rank > 0 {
            process.stdin(Stdio::null());
        }
        if command.labels {
            process.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        // Safety: one system call, which allocates nothing.
        unsafe {
            process.pre_exec(|| {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                Ok(())
            });
        }
        let child = process.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("no process number"))?;
        Ok(WatchedChild {
            end: pidfd_open(pid, PidfdFlags::empty())?,
            child,
            group: pid,
            rank,
        })
    }

    fn watch(&self, mut children: Vec<WatchedChild>) {
        // Long enough to cost nothing, short enough that the end of a run is not waited for.
        let patience = Timespec {
            tv_sec: 0,
            tv_nsec: 20_000_000,
        };
        let mut signalled = false;
        while !children.is_empty() {
            let mut ends: Vec<PollFd<'_>> = children
                .iter()
                .map(|child| PollFd::from_borrowed_fd(child.end.as_fd(), PollFlags::IN))
                .collect();
            let _ = poll(&mut ends, Some(&patience));
            let ended: Vec<bool> = ends.iter().map(|end| !end.revents().is_empty()).collect();
            let mut ended = ended.into_iter();
            children.retain_mut(|child| !(ended.next().unwrap_or(false) && self.note_end(child)));
            let ends = self.ends.load(Ordering::Acquire) || INTERRUPTED.load(Ordering::Acquire);
            if ends && !signalled {
                signalled = true;
                for child in &children {
                    let _ = kill_process_group(child.group, Signal::KILL);
                }
            }
        }
    }

    /// Notes the end of a process; false if it has not ended.
    fn note_end(&self, child: &mut WatchedChild) -> bool {
        let Ok(Some(status)) = child.child.try_wait() else {
            return false;
        };
        // What the program has started and left.
        let _ = kill_process_group(child.group, Signal::KILL);
        let watched = &self.ranks[child.rank as usize];
        *watched.status.lock().unwrap_or_else(PoisonError::into_inner) = Some(RankStatus::of(status));
        watched.lives.store(false, Ordering::Release);
        SimulatorEnd::rouse(&self.memory, child.rank);
        true
    }
}

/// A process and what tells its end.
struct WatchedChild {
    child: Child,
    end: OwnedFd,
    group: Pid,
    rank: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_host_are_counted() {
        assert_eq!(
            local_ranks(&[4, 4, 9, 4, 9]),
            [(0, 3), (1, 3), (0, 2), (2, 3), (1, 2)]
        );
    }
}
