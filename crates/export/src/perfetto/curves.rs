//! Curves over time: link classes, busiest links, jobs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::bins::{BinRow, Curve, sums};
use super::jobs::JobTracks;
use super::trace::{Trace, Track};
use crate::Error;
use crate::folder::ExportSource;
use crate::folder::ReadStop;

/// Curves of link classes, under `network`.
pub(crate) fn classes(folder: &ExportSource, trace: &mut Trace, network: Track) -> Result<(), Error> {
    let mut links = BTreeMap::<String, u64>::new();
    folder.each("class_series", &["class", "links"], |rows| {
        let (classes, counts) = (rows.texts("class")?, rows.integers("links")?);
        for (row, count) in counts.iter().enumerate() {
            let class = classes.or_empty(row);
            if links.get(class) != Some(count) {
                links.insert(class.into(), *count);
            }
        }
        Ok::<(), ReadStop>(())
    })?;
    let mut curves = BTreeMap::<String, [Curve; 3]>::new();
    for class in links.keys() {
        // Shares are comparable between classes. Throughputs of a hundred links and of ten thousand are not.
        let curve = |what, unit, scale| Curve::new(network, &format!("{class} links: {what}"), unit, scale);
        let of = [
            curve("throughput", "Gb/s", None),
            curve("busy", "%", Some("classes")),
            curve("stalled by full buffers", "%", Some("classes")),
        ];
        curves.insert(class.clone(), of);
    }
    sums(
        folder,
        "class_series",
        "class",
        &["bytes", "busy_ps", "buffer_full_ps"],
        |class, bin| {
            let Some([throughput, busy, full]) = curves.get_mut(class) else {
                return Ok(());
            };
            let things = links.get(class).copied().unwrap_or(1);
            throughput.flow(trace, bin, bin.gbps(bin.values[0]))?;
            busy.flow(trace, bin, bin.percent(bin.values[1], things))?;
            full.flow(trace, bin, bin.percent(bin.values[2], things))
        },
    )?;
    finish(trace, curves.values_mut().flatten())
}

fn finish<'c>(trace: &mut Trace, curves: impl Iterator<Item = &'c mut Curve>) -> Result<(), Error> {
    for curve in curves {
        curve.finish(trace)?;
    }
    Ok(())
}

/// The busiest links, at most `most`, the busiest first.
pub(crate) fn busiest(folder: &ExportSource, most: usize) -> Result<Vec<u32>, Error> {
    let mut busy = BTreeMap::<u32, u64>::new();
    folder.each("link_series", &["link", "busy_ps"], |rows| {
        let (links, times) = (rows.short_integers("link")?, rows.integers("busy_ps")?);
        for (link, time) in links.iter().zip(times) {
            *busy.entry(*link).or_default() += time;
        }
        Ok::<(), ReadStop>(())
    })?;
    let mut links: Vec<(u32, u64)> = busy.into_iter().filter(|(_, time)| *time > 0).collect();
    links.sort_by_key(|(link, time)| (Reverse(*time), *link));
    links.truncate(most);
    Ok(links.into_iter().map(|(link, _)| link).collect())
}

/// Curves of these links, under `network`, in this order.
pub(crate) fn links(
    folder: &ExportSource,
    trace: &mut Trace,
    network: Track,
    chosen: &[u32],
    names: &BTreeMap<u32, String>,
) -> Result<(), Error> {
    let mut curves = BTreeMap::<u32, (Curve, Curve)>::new();
    let group = trace.track(Some(network), "busiest links")?;
    for link in chosen {
        let name = names.get(link).cloned().unwrap_or_else(|| format!("link {link}"));
        let track = trace.track(Some(group), &name)?;
        let busy = Curve::new(track, "busy", "%", Some("links"));
        curves.insert(
            *link,
            (busy, Curve::new(track, "waiting for it", "bytes", Some("links"))),
        );
    }
    let columns = ["begin_ps", "end_ps", "link", "busy_ps", "waiting_bytes"];
    folder.each("link_series", &columns, |rows| {
        let (starts, ends) = (rows.integers("begin_ps")?, rows.integers("end_ps")?);
        let links = rows.short_integers("link")?;
        let (times, waiting) = (rows.integers("busy_ps")?, rows.integers("waiting_bytes")?);
        for (row, link) in links.iter().enumerate() {
            let Some((busy, queue)) = curves.get_mut(link) else {
                continue;
            };
            let bin = BinRow {
                start: starts[row],
                end: ends[row],
                values: Vec::new(),
            };
            busy.flow(trace, &bin, bin.percent(times[row], 1))?;
            queue.level(trace, &bin, waiting[row] as f64)?;
        }
        Ok::<(), ReadStop>(())
    })?;
    finish(trace, curves.values_mut().map(|(busy, _)| busy))
}

/// Curves of each job, under its process.
pub(crate) fn jobs(folder: &ExportSource, jobs: &mut JobTracks, trace: &mut Trace) -> Result<(), Error> {
    /// Values of a job: rates, then totals since its start.
    struct OfJob {
        sent: Curve,
        received: Curve,
        messages: (Curve, u64),
        finished: (Curve, u64),
    }
    let columns = [
        "bytes_sent",
        "bytes_received",
        "messages_received",
        "ranks_finished",
    ];
    let mut curves = BTreeMap::<usize, OfJob>::new();
    sums(folder, "job_series", "job", &columns, |name, bin| {
        let job = jobs.number(trace, name)?;
        let track = jobs.track(job);
        let curve = |name, unit, scale| Curve::new(track, name, unit, scale);
        let of = curves.entry(job).or_insert_with(|| OfJob {
            sent: curve("sent", "Gb/s", Some("job")),
            received: curve("received", "Gb/s", Some("job")),
            messages: (curve("messages received so far", "messages", None), 0),
            finished: (curve("ranks finished", "ranks", None), 0),
        });
        of.sent.flow(trace, bin, bin.gbps(bin.values[0]))?;
        of.received.flow(trace, bin, bin.gbps(bin.values[1]))?;
        let sums = [
            (&mut of.messages, bin.values[2]),
            (&mut of.finished, bin.values[3]),
        ];
        for ((curve, sum), more) in sums {
            *sum += more;
            curve.level(trace, bin, *sum as f64)?;
        }
        Ok(())
    })?;
    let flows = curves
        .values_mut()
        .flat_map(|of| [&mut of.sent, &mut of.received]);
    finish(trace, flows)
}
