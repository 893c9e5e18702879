//! Detects from the environment whether an MPI launcher started this process, and among how many.
//!
//! | launcher | variables |
//! | --- | --- |
//! | Open MPI's `mpirun` | `OMPI_COMM_WORLD_SIZE` (and the variables of PMIx) |
//! | Hydra, the `mpirun` of MPICH and Intel MPI; `srun --mpi=pmi2`; Flux | `PMI_SIZE` |
//! | `srun --mpi=pmix` | `PMIX_RANK`, and like every `srun` `SLURM_STEP_NUM_TASKS` |
//! | other launchers of PMIx, such as `prterun` | `PMIX_RANK`; the size is known to MPI only |
//!
//! The table is in order of priority, so that the innermost launcher counts: `mpirun` uses `srun` to start its own
//! processes on the nodes of a Slurm allocation. `srun` without MPI (`--mpi=none`) starts independent processes, such
//! as the runs of a parameter sweep. `SLURM_STEP_NUM_TASKS` alone therefore means nothing. `SLURM_NTASKS` never does,
//! because batch scripts have it too.

/// How this process was started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Launch {
    /// Without an MPI launcher, or as the only process.
    SingleProcess,
    /// As one of this many processes.
    Several(usize),
    /// By an MPI launcher that does not report the number of processes.
    Unknown,
}

impl Launch {
    /// Evaluates environment variables, which `variable` returns by name.
    pub(crate) fn of(variable: impl Fn(&str) -> Option<String>) -> Launch {
        let size = |name| variable(name)?.trim().parse().ok();
        let reported = size("OMPI_COMM_WORLD_SIZE").or_else(|| size("PMI_SIZE"));
        let by_pmix = variable("PMIX_RANK").is_some();
        match reported.or_else(|| size("SLURM_STEP_NUM_TASKS").filter(|_| by_pmix)) {
            Some(0 | 1) => Launch::SingleProcess,
            Some(size) => Launch::Several(size),
            None if by_pmix => Launch::Unknown,
            None => Launch::SingleProcess,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(environment: &[(&str, &str)]) -> Launch {
        Launch::of(|name| {
            let found = environment.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn what_is_no_number_says_nothing() {
        assert_eq!(launch(&[("OMPI_COMM_WORLD_SIZE", "")]), Launch::SingleProcess);
        assert_eq!(
            launch(&[("OMPI_COMM_WORLD_SIZE", "many"), ("PMI_SIZE", "2")]),
            Launch::Several(2)
        );
        assert_eq!(launch(&[("PMI_SIZE", "-3")]), Launch::SingleProcess);
        assert_eq!(launch(&[("PMI_SIZE", "0")]), Launch::SingleProcess);
    }

    #[test]
    fn without_a_launcher_a_process_is_alone() {
        assert_eq!(launch(&[]), Launch::SingleProcess);
        assert_eq!(launch(&[("HOME", "/root")]), Launch::SingleProcess);
    }

    #[test]
    fn open_mpi() {
        let variables = |size| [("OMPI_COMM_WORLD_SIZE", size), ("PMIX_RANK", "0")];
        assert_eq!(launch(&variables("4")), Launch::Several(4));
        assert_eq!(launch(&variables("1")), Launch::SingleProcess);
    }

    #[test]
    fn hydra_and_pmi2() {
        assert_eq!(
            launch(&[("PMI_SIZE", "3"), ("PMI_RANK", "2"), ("PMI_FD", "9")]),
            Launch::Several(3)
        );
        assert_eq!(
            launch(&[("PMI_SIZE", "1"), ("PMI_RANK", "0")]),
            Launch::SingleProcess
        );
    }

    #[test]
    fn slurm_with_pmix() {
        let step = |size| [("PMIX_RANK", "0"), ("SLURM_STEP_NUM_TASKS", size)];
        assert_eq!(launch(&step("8")), Launch::Several(8));
        assert_eq!(launch(&step("1")), Launch::SingleProcess);
    }

    #[test]
    fn slurm_without_mpi() {
        assert_eq!(
            launch(&[("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "3")]),
            Launch::SingleProcess
        );
        assert_eq!(
            launch(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")]),
            Launch::SingleProcess
        );
    }

    #[test]
    fn a_launcher_inside_slurm_counts_more_than_slurm() {
        let inside = [("SLURM_STEP_NUM_TASKS", "2"), ("PMIX_RANK", "1")];
        assert_eq!(
            launch(&[&inside[..], &[("OMPI_COMM_WORLD_SIZE", "16")]].concat()),
            Launch::Several(16)
        );
        assert_eq!(
            launch(&[&inside[..], &[("PMI_SIZE", "1")]].concat()),
            Launch::SingleProcess
        );
    }

    #[test]
    fn pmix_alone_does_not_tell_the_size() {
        assert_eq!(launch(&[("PMIX_RANK", "0")]), Launch::Unknown);
    }
}
