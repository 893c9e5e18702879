//! The notes `saturated` and `not-steady` of generated cases, against long runs.

#[path = "../../benches/saturation/cases.rs"]
mod cases;

use cases::{CASES, Verdict, judge};

/// Every how many-th case is run. The bench `saturation` runs all of them.
const STEP: usize = 13;

#[test]
fn notes_agree_with_long_runs() {
    let mut sum = Verdict::default();
    for number in (0..CASES).step_by(STEP) {
        sum.add(judge(number));
    }
    println!("{sum:?}");
    assert!(sum.wrong.is_empty(), "{}", sum.wrong.join("\n"));
    assert!(sum.saturated >= 50 && sum.unsaturated >= 30, "{sum:?}");
    assert!(sum.noted >= sum.saturated * 4 / 5, "{sum:?}");
}
