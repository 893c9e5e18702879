//! Edge lists: a line for each pair of routers, `a b` or `a b cables`; `#` begins a comment.
//!
//! Names are any words. networkx (`write_edgelist`) ends lines with `{}` if edges have no data, which means one
//! cable.

use super::plan::{NetworkPlan, PlanError, Position, ROUTER};

pub(super) fn read(text: &str) -> Result<NetworkPlan, PlanError> {
    let mut plan = NetworkPlan::default();
    for (index, line) in text.lines().enumerate() {
        let place = Position::Line(index as u32 + 1);
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let (Some(a), second, third) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let Some(b) = second else {
            let message = format!("'{a}' stands alone; expected two routers and, if not 1, their cables");
            return Err(PlanError::new(place, message));
        };
        let count = match third {
            None | Some("{}") => 1,
            Some(count) => count.parse().map_err(|_| {
                let message = format!("'{count}' is not a number of cables; expected a whole number");
                PlanError::new(place, message)
            })?,
        };
        if let Some(more) = words.next() {
            let message = format!("'{more}' is too much; expected two routers and, if not 1, their cables");
            return Err(PlanError::new(place, message));
        }
        let ends = [a, b].map(|name| plan.mention(name, ROUTER, place));
        plan.link(ends, count, place)?;
    }
    Ok(plan)
}
