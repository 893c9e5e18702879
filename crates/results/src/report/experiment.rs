//! The experiment with every default, to be copied and run again.

use super::html::{HtmlSection, details, escape, paragraph};
use super::toml::toml;
use crate::Summary;

/// Experiments that are longer, because they list every host, say, are cut off here.
const MOST_BYTES: usize = 400_000;

/// The experiment as a file.
pub(super) fn experiment(summary: &Summary) -> HtmlSection {
    let mut text = toml(&summary.experiment);
    let mut note = String::new();
    if text.len() > MOST_BYTES {
        note = paragraph(&format!(
            "It has {} bytes, of which the first {MOST_BYTES} follow, so that this cannot be run; all of it is under \
             'experiment' in summary.json.",
            text.len()
        ));
        let end = (0..=MOST_BYTES).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
    }
    let body = paragraph(
        "What was asked, with the defaults of this version, as a file that can be run and gives the same digest. Paths \
         in it are those of the original file.",
    ) + &note
        + "<button type=\"button\" class=\"copy\" data-copies=\"experiment-text\">Copy the experiment</button>\n"
        + &details(
            "The experiment with every default",
            &format!(
                "<pre id=\"experiment-text\" tabindex=\"0\">{}</pre>\n",
                escape(&text)
            ),
        );
    HtmlSection {
        id: "experiment".into(),
        heading: "Experiment".into(),
        body,
    }
}
