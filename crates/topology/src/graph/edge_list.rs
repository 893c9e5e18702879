//! Edge lists: a line for each pair of routers, `a b` or `a b cables`, and attributes after them, `bandwidth="200
//! Gbps"`; `#` begins a comment.
//!
//! Names are any words. networkx (`write_edgelist`) ends lines with `{}` if edges have no data, which means one
//! cable. `attributes` has the meaning of the attributes.

use std::borrow::Cow;

use super::attributes::{Attributes, Element};
use super::plan::{NetworkPlan, PlanError, Position, ROUTER};

const EXPECTED: &str =
    "expected two routers, their cables if not 1, and attributes such as bandwidth=\"200 Gbps\"";

pub(super) fn read(text: &str) -> Result<NetworkPlan, PlanError> {
    let mut plan = NetworkPlan::default();
    for (index, line) in text.lines().enumerate() {
        let place = Position::Line(index as u32 + 1);
        let mut words = Words { rest: line, place };
        let Some(a) = words.next() else {
            continue;
        };
        let Some(b) = words.next() else {
            let message = format!("'{a}' stands alone; {EXPECTED}");
            return Err(PlanError::new(place, message));
        };
        let mut attributes = Attributes::new(Element::Edge, place);
        let mut is_third = true;
        while let Some(word) = words.next_attribute()? {
            match word {
                Word::Attribute(name, value) => attributes.add(name, Some(Cow::Borrowed(value)))?,
                Word::Plain("{}") if is_third => {}
                Word::Plain(count) if is_third => {
                    if count.parse::<u32>().is_err() {
                        let message = format!(
                            "'{count}' is not a number of cables; expected a whole number, or attributes such as \
                             bandwidth=\"200 Gbps\""
                        );
                        return Err(PlanError::new(place, message));
                    }
                    attributes.add("count", Some(Cow::Borrowed(count)))?;
                }
                Word::Plain(more) => {
                    let message = format!("'{more}' is too much; {EXPECTED}");
                    return Err(PlanError::new(place, message));
                }
            }
            is_third = false;
        }
        let ends = [a, b].map(|name| plan.mention(name, ROUTER, place));
        plan.connect(ends, false, attributes.edge()?, place)?;
    }
    Ok(plan)
}

/// A word after the two routers.
enum Word<'a> {
    Plain(&'a str),
    /// Name and value of `name=value`, without the quotes of the value.
    Attribute(&'a str, &'a str),
}

/// The words of a line up to its comment.
struct Words<'a> {
    rest: &'a str,
    place: Position,
}

impl<'a> Words<'a> {
    /// The next word, which blanks or a comment end.
    fn next(&mut self) -> Option<&'a str> {
        self.until(|c| c.is_whitespace() || c == '#')
    }

    fn until(&mut self, ends: impl Fn(char) -> bool) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let (word, rest) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// The next word after the two routers. A value in double quotes may contain blanks and `#`.
    fn next_attribute(&mut self) -> Result<Option<Word<'a>>, PlanError> {
        let Some(name) = self.until(|c| c.is_whitespace() || c == '#' || c == '=') else {
            return match self.rest.starts_with('=') {
                true => Err(self.fail("'=' without a name before it")),
                false => Ok(None),
            };
        };
        let Some(value) = self.rest.strip_prefix('=') else {
            return Ok(Some(Word::Plain(name)));
        };
        let Some(quoted) = value.strip_prefix('"') else {
            self.rest = value;
            let starts = !value.starts_with(|c: char| c.is_whitespace() || c == '#');
            let value = starts.then(|| self.next()).flatten().unwrap_or_default();
            return Ok(Some(Word::Attribute(name, value)));
        };
        let Some((value, rest)) = quoted.split_once('"') else {
            return Err(self.fail(&format!("the value of {name} has no closing quote")));
        };
        if !rest.is_empty() && !rest.starts_with(|c: char| c.is_whitespace() || c == '#') {
            return Err(self.fail(&format!("no blank after the closing quote of {name}")));
        }
        self.rest = rest;
        Ok(Some(Word::Attribute(name, value)))
    }

    fn fail(&self, what: &str) -> PlanError {
        PlanError::new(self.place, format!("{what}; {EXPECTED}"))
    }
}
