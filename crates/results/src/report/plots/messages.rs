//! Phases of messages from the sender's call to the receiver's match, from `messages`.

use std::collections::BTreeMap;

use plotly::Bar;
use plotly::common::{Marker, Orientation};
use plotly::layout::{Axis, BarMode};

use super::{Figure, Height, escape, named, plot, rounded, unit_of, x_axis};
use crate::report::html::{numbers, table, words};
use crate::report::source::TableSource;
use crate::{Histogram, ReadError, carries_data, colours, show};

/// Maximum number of jobs with a bar.
const MOST_BARS: usize = 16;

/// Phases, and their causes in the table of colours.
const PHASES: [(&str, &str); 4] = [
    ("protocol, before the NIC", "overhead"),
    ("NIC, until its last byte has left", "link_wait"),
    ("network", "transfer"),
    ("until the receiver matches it", "partner"),
];

/// Messages of one job and protocol.
#[derive(Default)]
struct MessageSizes {
    bytes: u64,
    /// Sums over messages through the network. Messages through memory count in the last one only.
    phases_ps: [u128; 4],
    whole_ps: Histogram,
}

/// Sums by job and protocol.
type Jobs = BTreeMap<String, BTreeMap<String, MessageSizes>>;

/// Phases of messages by job, with a table by job and protocol.
pub(super) fn phases(source: TableSource) -> Result<Option<Figure>, ReadError> {
    Ok(collect(source)?
        .filter(|messages| !messages.is_empty())
        .and_then(|messages| figure(&messages)))
}

fn collect(source: TableSource) -> Result<Option<Jobs>, ReadError> {
    let mut jobs = Jobs::new();
    let columns = [
        "job",
        "protocol",
        "bytes",
        "posted_ps",
        "sent_ps",
        "injected_ps",
        "arrived_ps",
        "matched_ps",
    ];
    let read = source.each("messages", &columns, |rows| {
        let (job, protocol) = (rows.texts("job")?, rows.texts("protocol")?);
        let (bytes, posted) = (rows.integers("bytes")?, rows.maybe_integers("posted_ps")?);
        let (sent, injected) = (
            rows.maybe_integers("sent_ps")?,
            rows.maybe_integers("injected_ps")?,
        );
        let (arrived, matched) = (
            rows.maybe_integers("arrived_ps")?,
            rows.maybe_integers("matched_ps")?,
        );
        for i in 0..bytes.len() {
            // Messages that the end of the run interrupted have no complete time.
            let (Some(posted), Some(arrived), Some(matched)) = (posted[i], arrived[i], matched[i]) else {
                continue;
            };
            let protocols = named(&mut jobs, job[i].unwrap_or_default());
            let messages = named(protocols, protocol[i].unwrap_or_default());
            messages.bytes += bytes[i];
            messages.whole_ps.record(matched.saturating_sub(posted));
            // Unknown phases count as network.
            let sent = sent[i].unwrap_or(posted);
            let steps = [posted, sent, injected[i].unwrap_or(sent), arrived, matched];
            for (phase, step) in messages.phases_ps.iter_mut().zip(steps.windows(2)) {
                *phase += u128::from(step[1].saturating_sub(step[0]));
            }
        }
        Some(())
    })?;
    Ok(read.map(|()| jobs))
}

fn figure(messages: &Jobs) -> Option<Figure> {
    // A bar is a job with all its protocols. The time of control messages is included in that of messages with data.
    let jobs: Vec<(&str, [u128; 4], u64)> = messages
        .iter()
        .map(|(job, protocols)| {
            let (mut phases, mut count) = ([0; 4], 0);
            for (_, messages) in protocols.iter().filter(|(protocol, _)| carries_data(protocol)) {
                phases
                    .iter_mut()
                    .zip(messages.phases_ps)
                    .for_each(|(sum, ps)| *sum += ps);
                count += messages.whole_ps.count();
            }
            (job.as_str(), phases, count)
        })
        .collect();
    let mean = |phases: &[u128; 4], count: u64, phase: usize| phases[phase] as f64 / count.max(1) as f64;
    let shown = &jobs[..jobs.len().min(MOST_BARS)];
    let longest = shown
        .iter()
        .map(|(_, phases, count)| (0..4).map(|phase| mean(phases, *count, phase)).sum::<f64>())
        .fold(0.0, f64::max);
    let unit = unit_of(longest as u64);
    let names: Vec<String> = shown.iter().map(|(name, _, _)| escape(name)).collect();
    let y = Axis::new()
        .auto_margin(true)
        .range(vec![shown.len() as f64 - 0.5, -0.5]);
    let mut plot = plot(x_axis(&format!("mean time of a message ({})", unit.name)), y);
    for (phase, (name, cause)) in PHASES.iter().enumerate() {
        let values = shown
            .iter()
            .map(|(_, phases, count)| rounded(mean(phases, *count, phase) / (1000.0 * unit.ns)));
        plot.add_trace(
            Bar::new(values.collect(), names.clone())
                .orientation(Orientation::Horizontal)
                .name(*name)
                .show_legend(true)
                .marker(Marker::new().color(colours::time(cause))),
        );
    }
    let layout = plot.layout().clone().bar_mode(BarMode::Stack);
    plot.set_layout(layout);
    let left_out = match jobs.len() - shown.len() {
        0 => String::new(),
        n => format!(" {n} more jobs are in the table only."),
    };
    let mut figure = Figure::new(
        "messages",
        "Phases of messages",
        format!(
            "Time from the sender's call until the message is matched and complete at the receiving rank: the protocol \
             (a rendezvous waits for the receiver), the sender's NIC, the network, and the wait for the matching \
             receive. Messages of collectives included; control messages of a rendezvous are part of its protocol \
             here, and have rows of their own in the table.{left_out}"
        ),
    );
    figure.table = numbers_of(messages);
    let (name, phases, count) = shown.first()?;
    let described: Vec<String> = PHASES
        .iter()
        .enumerate()
        .map(|(phase, (what, _))| format!("{what} {}", show::time(mean(phases, *count, phase) / 1000.0)))
        .collect();
    let alt = format!(
        "Stacked bars of the mean time of messages, one per job. {name}: {}.",
        described.join(", ")
    );
    let height = if shown.len() <= 3 {
        Height::Low
    } else {
        Height::Usual
    };
    Some(figure.with(height, alt, plot))
}

fn numbers_of(messages: &Jobs) -> String {
    let columns = [
        words("job"),
        words("protocol"),
        numbers("messages"),
        numbers("data"),
        numbers("mean time"),
        numbers("median"),
        numbers("99 %"),
        numbers("longest"),
        numbers("protocol"),
        numbers("NIC"),
        numbers("network"),
        numbers("matching"),
    ];
    let row = |job: &String, protocol: &String, messages: &MessageSizes| {
        let whole = &messages.whole_ps;
        let ns = |ps: u64| show::time(ps as f64 / 1000.0);
        let mut row = vec![
            job.clone(),
            protocol.clone(),
            show::count(whole.count()),
            if carries_data(protocol) {
                show::bytes(messages.bytes)
            } else {
                "–".into()
            },
            show::time(whole.mean() / 1000.0),
            ns(whole.quantile(0.5)),
            ns(whole.quantile(0.99)),
            ns(whole.max()),
        ];
        let mean = |sum: u128| show::time(sum as f64 / whole.count().max(1) as f64 / 1000.0);
        row.extend(messages.phases_ps.iter().map(|sum| mean(*sum)));
        row
    };
    let mut rows = Vec::new();
    for (job, protocols) in messages {
        rows.extend(
            protocols
                .iter()
                .map(|(protocol, messages)| row(job, protocol, messages)),
        );
    }
    table(&columns, &rows, "messages.parquet")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::source::tests::{ColumnCells, made};

    #[test]
    fn phases_of_a_message_add_up_and_unfinished_ones_do_not_count() {
        let tables = [made(
            "messages",
            vec![
                ("job", ColumnCells::Words(vec![Some("a"); 3])),
                ("protocol", ColumnCells::Text(vec!["eager", "memory", "eager"])),
                ("bytes", ColumnCells::U64(vec![8, 4, 1])),
                ("posted_ps", ColumnCells::U64(vec![10, 0, 5])),
                ("sent_ps", ColumnCells::U64(vec![15, 2, 6])),
                ("injected_ps", ColumnCells::MaybeU64(vec![Some(35), None, None])),
                (
                    "arrived_ps",
                    ColumnCells::MaybeU64(vec![Some(100), Some(7), None]),
                ),
                (
                    "matched_ps",
                    ColumnCells::MaybeU64(vec![Some(110), Some(7), None]),
                ),
            ],
        )];
        let messages = collect(TableSource::new(&tables, None)).unwrap().unwrap();
        let eager = &messages["a"]["eager"];
        assert_eq!((eager.phases_ps, eager.bytes), ([5, 20, 65, 10], 8));
        assert_eq!((eager.whole_ps.count(), eager.whole_ps.max()), (1, 100));
        assert_eq!(messages["a"]["memory"].phases_ps, [2, 0, 5, 0]);
        let mut messages = messages;
        let control = MessageSizes {
            phases_ps: [1_000_000; 4],
            ..MessageSizes::default()
        };
        named(&mut messages, "a").insert("clear-to-send".into(), control);
        let figure = figure(&messages).unwrap();
        let alt = &figure.panels[0].alt;
        assert!(alt.contains("network 0.035 ns"), "the mean of 65 and 5 ps: {alt}");
        assert!(figure.table.contains("<td>memory</td>"));
    }
}
