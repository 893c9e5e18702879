//! The door from a sample to the collector: the tally of the worker, or an emitted record.

/// Evaluates an expression with the receiver of samples of the executing LP: with
/// [tallies](crate::lp::shortcuts::tallies) the tally of the worker, which adds at once if the event is certain,
/// otherwise a function that emits records.
macro_rules! sample_door {
    ($simulation:expr, $context:expr, $sink:ident => $sample:expr) => {{
        use crate::lp::sampling::TallyStep;
        if $simulation.shortcuts.tallies.is_on() {
            match $context.certain_tally() {
                Some($sink) => $sample,
                None => {
                    let $sink = &mut |record| $context.tally(TallyStep::Sample(record));
                    $sample
                }
            }
        } else {
            let $sink = &mut |record| $context.emit(record);
            $sample
        }
    }};
}

pub(super) use sample_door;
