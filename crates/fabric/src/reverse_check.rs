//! Checks that a state machine can be rolled back: run, undo, compare, run again.

use std::fmt::Debug;

use des::{Journal, Time};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Records outputs and, if `KEPT`, undo steps.
pub(crate) struct UndoRecorder<Step, Output, const KEPT: bool> {
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Vec<Output>,
}

impl<Step, Output, const KEPT: bool> Default for UndoRecorder<Step, Output, KEPT> {
    fn default() -> Self {
        UndoRecorder {
            steps: Vec::new(),
            outputs: Vec::new(),
        }
    }
}

impl<Step, Output, const KEPT: bool> Journal<Step> for UndoRecorder<Step, Output, KEPT> {
    const KEPT: bool = KEPT;
    fn keep(&mut self, step: Step) {
        self.steps.push(step);
    }
}

/// A state machine under the check.
pub(crate) trait Reversible: Sized {
    type Op: Clone + Debug;
    type Step;
    type Output: PartialEq + Debug;
    type State: PartialEq + Debug + Serialize + DeserializeOwned;

    /// A state machine in its initial state, which is always the same.
    fn fresh() -> Self;
    fn apply<const KEPT: bool>(
        &mut self,
        now: Time,
        op: &Self::Op,
        out: &mut UndoRecorder<Self::Step, Self::Output, KEPT>,
    );
    fn undo(&mut self, step: Self::Step);
    fn state(&self) -> Self::State;
    fn restore(&mut self, state: Self::State) -> Result<(), String>;
}

/// Operations with ascending times.
pub(crate) fn script<Op: Debug>(
    op: impl Strategy<Value = Op>,
    step_ps: u64,
) -> impl Strategy<Value = Vec<(Time, Op)>> {
    // Some operations have the same time.
    let gap = prop_oneof![2 => Just(0), 3 => 0..step_ps];
    prop::collection::vec((gap, op), 0..60).prop_map(|script| {
        let mut now = 0;
        let timed = script.into_iter().map(|(gap, op)| {
            now += gap;
            (Time(now), op)
        });
        timed.collect()
    })
}

/// The effects of one operation.
struct Done<R: Reversible> {
    before: R::State,
    after: R::State,
    steps: Vec<R::Step>,
    outputs: Vec<R::Output>,
}

fn run<R: Reversible>(subject: &mut R, (now, op): &(Time, R::Op)) -> Done<R> {
    let before = subject.state();
    let mut recorder = UndoRecorder::<_, _, true>::default();
    subject.apply(*now, op, &mut recorder);
    Done {
        before,
        after: subject.state(),
        steps: recorder.steps,
        outputs: recorder.outputs,
    }
}

/// Undoes the last operations of a history and executes them again.
fn rewind<R: Reversible>(
    subject: &mut R,
    script: &[(Time, R::Op)],
    history: &mut [Done<R>],
    depth: usize,
) -> Result<(), TestCaseError> {
    let from = history.len().saturating_sub(depth);
    for (done, op) in history[from..].iter_mut().zip(&script[from..]).rev() {
        for step in std::mem::take(&mut done.steps).into_iter().rev() {
            subject.undo(step);
        }
        prop_assert_eq!(&subject.state(), &done.before, "{:?} undone", op);
    }
    for (done, op) in history[from..].iter_mut().zip(&script[from..]) {
        let again = run(subject, op);
        prop_assert_eq!(&again.after, &done.after, "{:?} executed again", op);
        prop_assert_eq!(&again.outputs, &done.outputs, "{:?} executed again", op);
        done.steps = again.steps;
    }
    Ok(())
}

/// Executes a script with rollbacks over one, some and all operations. Beside it, executes the script without a
/// journal on copies that are saved and restored repeatedly.
pub(crate) fn check<R: Reversible>(script: &[(Time, R::Op)]) -> Result<(), TestCaseError> {
    let (mut subject, mut copy) = (R::fresh(), R::fresh());
    let first = subject.state();
    let mut history: Vec<Done<R>> = Vec::new();
    for (index, (now, op)) in script.iter().enumerate() {
        history.push(run(&mut subject, &script[index]));
        rewind(&mut subject, script, &mut history, 1)?;
        rewind(&mut subject, script, &mut history, index % 11)?;

        if index % 3 == 0 {
            let bytes = postcard::to_stdvec(&copy.state()).expect("no more than memory");
            copy = R::fresh();
            copy.restore(postcard::from_bytes(&bytes).expect("just written"))
                .map_err(TestCaseError::fail)?;
            prop_assert_eq!(&copy.state(), &history[index].before, "restored");
        }
        let mut plain = UndoRecorder::<_, _, false>::default();
        copy.apply(*now, op, &mut plain);
        prop_assert_eq!(&copy.state(), &history[index].after, "{:?} of the copy", op);
        prop_assert_eq!(&plain.outputs, &history[index].outputs, "{:?} of the copy", op);
    }
    rewind(&mut subject, script, &mut history, script.len())?;
    for step in history
        .into_iter()
        .rev()
        .flat_map(|done| done.steps.into_iter().rev())
    {
        subject.undo(step);
    }
    prop_assert_eq!(&subject.state(), &first, "all undone");
    Ok(())
}
