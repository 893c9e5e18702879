//! Elements of HTML: escaped text, tables, sections.

use std::fmt::Write;

/// Maximum number of rows of a table on the page. The Parquet files have the others.
pub(super) const MOST_ROWS: usize = 60;

/// Escapes text for elements and quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            c => escaped.push(c),
        }
    }
    escaped
}

/// A section of the page with its entry in the table of contents.
pub(super) struct HtmlSection {
    pub id: String,
    pub heading: String,
    /// HTML.
    pub body: String,
    /// Whether it shares a row with its neighbour where the page is wide.
    pub half: bool,
}

impl HtmlSection {
    /// A section over the whole width of the page.
    pub fn new(id: impl Into<String>, heading: impl Into<String>, body: String) -> HtmlSection {
        HtmlSection {
            id: id.into(),
            heading: heading.into(),
            body,
            half: false,
        }
    }

    pub fn html(&self) -> String {
        let id = escape(&self.id);
        let class = if self.half { " class=\"half\"" } else { "" };
        format!(
            "<section id=\"{id}\"{class} aria-labelledby=\"{id}-heading\">\n<h2 id=\"{id}-heading\">{}</h2>\n{}</section>\n",
            escape(&self.heading),
            self.body
        )
    }
}

/// A column of a table: its name, and whether it has numbers, which are right-aligned.
#[derive(Clone, Copy)]
pub(super) struct Column(pub &'static str, pub bool);

/// A column of words.
pub(super) const fn words(head: &'static str) -> Column {
    Column(head, false)
}

/// A column of numbers.
pub(super) const fn numbers(head: &'static str) -> Column {
    Column(head, true)
}

/// A table with escaped cells. Shows the first [`MOST_ROWS`] rows; `rest` says where the others are.
pub(super) fn table(columns: &[Column], rows: &[Vec<String>], rest: &str) -> String {
    let mut html = String::from("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>");
    let class = |number: bool| if number { " class=\"n\"" } else { "" };
    for Column(head, number) in columns {
        let _ = write!(html, "<th scope=\"col\"{}>{}</th>", class(*number), escape(head));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in rows.iter().take(MOST_ROWS) {
        html += "<tr>";
        for (cell, Column(_, number)) in row.iter().zip(columns) {
            let _ = write!(html, "<td{}>{}</td>", class(*number), escape(cell));
        }
        html += "</tr>\n";
    }
    html += "</tbody>\n</table></div>\n";
    if rows.len() > MOST_ROWS {
        let _ = writeln!(
            html,
            "<p class=\"left-out\">The first {MOST_ROWS} of {} rows; all of them are in <code>{}</code>.</p>",
            rows.len(),
            escape(rest)
        );
    }
    html
}

/// A paragraph of plain text.
pub(super) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

/// Content that is shown on demand, and always in print.
pub(super) fn details(summary: &str, body: &str) -> String {
    format!(
        "<details>\n<summary>{}</summary>\n{body}</details>\n",
        escape(summary)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped_and_rows_beyond_the_limit_are_counted() {
        let row = |n: usize| vec![format!("<{n}>"), n.to_string()];
        let columns = [words("name"), numbers("n & m")];
        let rows: Vec<_> = (0..MOST_ROWS).map(row).collect();
        let html = table(&columns, &rows, "jobs.parquet");
        assert!(html.contains("<td>&lt;3&gt;</td><td class=\"n\">3</td>") && html.contains("n &amp; m"));
        assert!(!html.contains("jobs.parquet"), "nothing is left out");
        let rows: Vec<_> = (0..MOST_ROWS + 7).map(row).collect();
        let html = table(&columns, &rows, "jobs.parquet");
        assert_eq!(html.matches("<tr>").count(), MOST_ROWS + 1);
        assert!(html.contains("The first 60 of 67 rows; all of them are in <code>jobs.parquet</code>"));
    }
}
