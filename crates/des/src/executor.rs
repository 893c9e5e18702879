//! The executors by name. Each executes the same run to the same result.

use crate::leg::RunLeg;
use crate::run::{Finished, Observer, Run};
use crate::{
    Control, Executor, Model, Settings, SingleProcess, Time, auto, conservative, fewer_threads, optimistic,
    reverse_check, sequential,
};

impl<M: Model> Run<'_, M> {
    /// Executes the run to its end.
    ///
    /// # Errors
    /// The snapshot is not one of this model.
    ///
    /// # Panics
    /// The model breaks its contract (see [`crate::Context::send`]) or panics, or a sequential executor gets several
    /// processes.
    pub fn execute(&self, observer: &mut dyn Observer<M>) -> Result<Finished<M>, String> {
        assert!(
            self.model.lookahead() >= Time(1),
            "a model's lookahead is at least 1 ps"
        );
        let executor = self.settings.executor;
        assert!(
            executor.is_parallel() || self.processes.count() == 1,
            "{} runs in one process",
            executor.name()
        );
        let lps = self.model.lps();
        if let Some(snapshot) = self.from
            && snapshot.lps.len() != lps as usize
        {
            let found = snapshot.lps.len();
            return Err(format!("it has {found} logical processes, the model has {lps}"));
        }
        let first = self
            .from
            .map_or((Time::ZERO, Time::MAX), |snapshot| (snapshot.time, snapshot.stop));
        self.control.begin(first.0);
        let leg = RunLeg::whole(first.0, first.1);
        match executor {
            Executor::Sequential => sequential::run(self, &leg, observer),
            // Processes would have to agree on each change.
            Executor::Auto if self.processes.count() == 1 => auto::run(self, leg, observer),
            Executor::Conservative | Executor::Optimistic
                if self.processes.count() == 1 && self.settings.partition.parts() > 1 =>
            {
                fewer_threads::run(self, leg, observer)
            }
            // All events before the first event of the only part have been executed, so no event can be late.
            Executor::Optimistic if self.settings.partition.parts() > 1 => {
                optimistic::run(self, &leg, observer)
            }
            Executor::Conservative | Executor::Optimistic | Executor::Auto => {
                conservative::run(self, &leg, observer)
            }
            Executor::ReverseCheck => reverse_check::run(self, observer),
        }
    }
}

/// Runs a model from its start to its end in one process. `commit` receives the records in the total order.
///
/// # Panics
/// As [`Run::execute`].
pub fn run<M: Model>(
    model: &M,
    settings: &Settings,
    control: &Control,
    commit: &mut dyn FnMut(Time, M::Record),
) -> Finished<M> {
    let run = Run {
        model,
        settings,
        control,
        processes: &SingleProcess,
        from: None,
    };
    run.execute(&mut |time, record| commit(time, record))
        .expect("there is no snapshot that could be wrong")
}
