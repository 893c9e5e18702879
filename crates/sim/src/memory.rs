//! Whether an experiment fits into the memory that this process may still take.

use std::fs;
use std::path::Path;

use experiment::Experiment;

use crate::Error;
use crate::check::memory_bytes;

/// Memory that this process may take, and what limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MemoryLimit {
    bytes: u64,
    /// For messages: `the machine`.
    of: &'static str,
}

/// Refuses an experiment whose idle network, divided among so many processes, does not fit into the free memory of the
/// machine, the limit of the container, or that of `ulimit -v`. A run takes more than its idle network. Where the
/// system does not tell (other systems than Linux), everything is accepted.
///
/// # Errors
/// [`Error::Memory`].
pub fn refuse_too_large(experiment: &Experiment, processes: usize) -> Result<(), Error> {
    let needed = memory_bytes(experiment) / processes.max(1) as u64;
    match least_limit(Path::new("/")) {
        Some(limit) if needed > limit.bytes => Err(Error::Memory {
            needed_mb: needed.div_ceil(1_000_000),
            free_mb: limit.bytes / 1_000_000,
            of: limit.of,
        }),
        _ => Ok(()),
    }
}

/// The least of the limits, of a system with this root.
fn least_limit(root: &Path) -> Option<MemoryLimit> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let machine = field(&read("proc/meminfo"), "MemAvailable:").map(|kib| MemoryLimit {
        bytes: kib * 1024,
        of: "the free memory of the machine",
    });
    let used = field(&read("proc/self/status"), "VmSize:").unwrap_or(0) * 1024;
    let process = field(&read("proc/self/limits"), "Max address space").map(|limit| MemoryLimit {
        bytes: limit.saturating_sub(used),
        of: "the limit of this process (ulimit -v)",
    });
    [machine, container(&read), process]
        .into_iter()
        .flatten()
        .min_by_key(|limit| limit.bytes)
}

/// The limit of the control group (version 2) of this process. Files in memory are given back where memory is short,
/// so that they are free.
fn container(read: &dyn Fn(&str) -> String) -> Option<MemoryLimit> {
    let groups = read("proc/self/cgroup");
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let of_group = |file: &str| read(&format!("sys/fs/cgroup/{}/{file}", group.trim_matches('/')));
    let most: u64 = of_group("memory.max").trim().parse().ok()?;
    let taken: u64 = of_group("memory.current").trim().parse().ok()?;
    let files = field(&of_group("memory.stat"), "file ").unwrap_or(0);
    Some(MemoryLimit {
        bytes: most.saturating_sub(taken.saturating_sub(files)),
        of: "the limit of the container",
    })
}

/// The first number behind the beginning of a line.
fn field(text: &str, begins: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(begins))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_holds() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(least_limit(root.path()), None);
        write("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:   8000 kB\n");
        write("proc/self/status", "Name:\tx\nVmSize:\t    1000 kB\n");
        write(
            "proc/self/limits",
            "Limit Soft Limit Hard Limit Units\nMax address space         unlimited    unlimited    bytes\n",
        );
        let of = |bytes| {
            least_limit(root.path())
                .filter(|limit| limit.bytes == bytes)
                .map(|limit| limit.of)
        };
        assert_eq!(of(8_192_000), Some("the free memory of the machine"));
        write(
            "proc/self/limits",
            "Max address space         5000000    unlimited    bytes\n",
        );
        assert_eq!(of(3_976_000), Some("the limit of this process (ulimit -v)"));
        write("proc/self/cgroup", "0::/a/b\n");
        write("sys/fs/cgroup/a/b/memory.max", "max\n");
        assert_eq!(of(3_976_000), Some("the limit of this process (ulimit -v)"));
        write("sys/fs/cgroup/a/b/memory.max", "2000000\n");
        write("sys/fs/cgroup/a/b/memory.current", "1500000\n");
        write("sys/fs/cgroup/a/b/memory.stat", "anon 1\nfile 400000\n");
        assert_eq!(of(900_000), Some("the limit of the container"));
    }
}
