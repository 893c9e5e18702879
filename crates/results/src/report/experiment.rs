//! The experiment with all defaults, for copying.

use super::html::{HtmlSection, details, escape, paragraph};
use super::toml::toml;
use crate::Summary;

/// Maximum length. Longer experiments, for example with a list of all hosts, are truncated.
const MOST_BYTES: usize = 400_000;

/// The experiment as a file.
pub(super) fn experiment(summary: &Summary) -> HtmlSection {
    let mut text = toml(&summary.experiment);
    let mut note = String::new();
    if text.len() > MOST_BYTES {
        note = paragraph(&format!(
            "It has {} bytes, of which the first {MOST_BYTES} are shown, so that this text cannot be run. The key 'experiment' of summary.json has the complete experiment.",
            text.len()
        ));
        let end = (0..=MOST_BYTES).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
    }
    let body = paragraph(
        "The experiment with the defaults of this version. Running it gives the same digest. Its paths are those of the original file.",
    ) + &note
        + "<button type=\"button\" class=\"copy\" data-copies=\"experiment-text\">Copy the experiment</button>\n"
        + &details(
            "The experiment with every default",
            &format!(
                "<pre id=\"experiment-text\" tabindex=\"0\">{}</pre>\n",
                escape(&text)
            ),
        );
    HtmlSection::new("experiment", "Experiment", body)
}
