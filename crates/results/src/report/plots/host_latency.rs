//! Latency and hops of the packets that each host received, from the columns of `hosts` that `collect.host_latency`
//! fills: hosts sorted by their means.
//!
//! SOURCE: curves of latency and of hops over sorted ranks, as papers on networks of supercomputers show them. Such a
//! curve shows how uneven the hosts are and how many of them are slow.

use plotly::Plot;

use super::{Figure, Height, MOST_JOBS, SeriesColour, curve, plot, rounded, x_axis, y_axis};
use crate::report::html::{details, numbers, table, words};
use crate::report::source::TableSource;
use crate::{ReadError, Summary, show};

/// Maximum number of points of a curve, without its end.
const MOST_POINTS: usize = 400;

/// What a host received.
#[derive(Clone, Copy)]
struct Received {
    host: u64,
    packets: u64,
    latency_sum_ps: u64,
    latency_max_ps: u64,
    hops_sum: u64,
}

impl Received {
    fn mean_latency_ns(&self) -> f64 {
        self.latency_sum_ps as f64 / (1000.0 * self.packets as f64)
    }

    fn mean_hops(&self) -> f64 {
        self.hops_sum as f64 / self.packets as f64
    }
}

/// Hosts of one curve. All of them received packets.
struct HostCurve {
    name: String,
    series: SeriesColour,
    hosts: Vec<Received>,
}

/// Sorted latencies and hops of hosts. `None` if they were not collected, or if no packet was measured.
pub(super) fn sorted(summary: &Summary, source: TableSource) -> Result<Option<Figure>, ReadError> {
    let Some(hosts) = received(source)? else {
        return Ok(None);
    };
    let all = hosts.len();
    let hosts: Vec<Received> = hosts.into_iter().filter(|host| host.packets > 0).collect();
    if hosts.is_empty() {
        return Ok(None);
    }
    let silent = all - hosts.len();
    let (curves, left_out) = curves(summary, hosts_of_jobs(source)?, hosts);
    Ok(Some(figure(&curves, silent, left_out)))
}

/// Each host, in ascending order. `None` without the columns or their values.
fn received(source: TableSource) -> Result<Option<Vec<Received>>, ReadError> {
    let columns = [
        "host",
        "packets_received",
        "latency_sum_ps",
        "latency_max_ps",
        "hops_sum",
    ];
    let mut hosts = Vec::new();
    let read = source.each("hosts", &columns, |rows| {
        let host = rows.integers("host")?;
        let [packets, sums, most, hops] = [columns[1], columns[2], columns[3], columns[4]].map(|name| {
            rows.maybe_integers(name)?
                .into_iter()
                .collect::<Option<Vec<u64>>>()
        });
        let (packets, sums, most, hops) = (packets?, sums?, most?, hops?);
        hosts.extend((0..host.len()).map(|row| Received {
            host: host[row],
            packets: packets[row],
            latency_sum_ps: sums[row],
            latency_max_ps: most[row],
            hops_sum: hops[row],
        }));
        Some(())
    })?;
    hosts.sort_by_key(|host| host.host);
    Ok(read.map(|()| hosts))
}

/// All hosts, and the hosts of each job of ranks; the number of jobs beyond the maximum.
fn curves(summary: &Summary, jobs: Vec<(String, Vec<u64>)>, hosts: Vec<Received>) -> (Vec<HostCurve>, usize) {
    let mut of_jobs = Vec::new();
    let mut left_out = 0;
    for (name, members) in jobs {
        let its: Vec<Received> = members
            .iter()
            .filter_map(|host| {
                let place = hosts.binary_search_by_key(host, |received| received.host).ok()?;
                Some(hosts[place])
            })
            .collect();
        if its.is_empty() {
            continue;
        }
        if of_jobs.len() == MOST_JOBS {
            left_out += 1;
            continue;
        }
        of_jobs.push(HostCurve {
            series: SeriesColour::of_job(summary, &name),
            name,
            hosts: its,
        });
    }
    // The curve of one job with all hosts would coincide with that of all hosts.
    if let [only] = &of_jobs[..]
        && only.hosts.len() == hosts.len()
    {
        return (of_jobs, left_out);
    }
    let mut curves = vec![HostCurve {
        name: "all hosts".into(),
        series: SeriesColour::Whole,
        hosts,
    }];
    curves.extend(of_jobs);
    (curves, left_out)
}

/// The hosts with ranks of each job, in the order of the table, each host once.
fn hosts_of_jobs(source: TableSource) -> Result<Vec<(String, Vec<u64>)>, ReadError> {
    let mut jobs: Vec<(String, Vec<u64>)> = Vec::new();
    let read = source.each("ranks", &["job", "host"], |rows| {
        let (names, hosts) = (rows.texts("job")?, rows.integers("host")?);
        for (name, host) in names.into_iter().zip(hosts) {
            let name = name.unwrap_or_default();
            if jobs.last().is_none_or(|(last, _)| last != name) {
                jobs.push((name.into(), Vec::new()));
            }
            jobs.last_mut()?.1.push(host);
        }
        Some(())
    })?;
    if read.is_none() {
        return Ok(Vec::new());
    }
    for (_, hosts) in &mut jobs {
        hosts.sort_unstable();
        hosts.dedup();
    }
    Ok(jobs)
}

fn figure(curves: &[HostCurve], silent: usize, left_out: usize) -> Figure {
    let hosts: &[Received] = &curves[0].hosts;
    let mut explanation = String::from(
        "Each host has the mean of the measured packets that it received, from all jobs. The hosts of each curve are \
         sorted by this mean, for latency and for hops separately: half of the hosts lie left of 50 %. The latency of \
         a packet is from its place in the sender's queue to the arrival of its last byte.",
    );
    if curves.len() > 1 || curves[0].name != "all hosts" {
        explanation += " The curve of a job has the hosts of its ranks.";
    }
    if silent > 0 {
        explanation += &format!(
            " {} of {} hosts received no measured packet and are left out.",
            show::count(silent as u64),
            show::count((silent + hosts.len()) as u64)
        );
    }
    if left_out > 0 {
        explanation += &format!(
            " The curves of {} further jobs are left out.",
            show::count(left_out as u64)
        );
    }
    let slowest = most(hosts, Received::mean_latency_ns);
    let unit = show::time_unit(slowest.mean_latency_ns());
    let latency = lines(curves, &format!("mean latency ({})", unit.name), |host| {
        host.mean_latency_ns() / unit.ns
    });
    let latency_alt = format!(
        "Mean packet latency of the hosts, sorted. It lies between {} and {}, which is that of host {}.",
        show::time(least(hosts, Received::mean_latency_ns).mean_latency_ns()),
        show::time(slowest.mean_latency_ns()),
        slowest.host
    );
    let hops = lines(curves, "mean hops (links crossed)", Received::mean_hops);
    let hops_alt = format!(
        "Mean hops of the packets of the hosts, sorted. They lie between {:.2} and {:.2}.",
        least(hosts, Received::mean_hops).mean_hops(),
        most(hosts, Received::mean_hops).mean_hops()
    );
    let mut figure = Figure::new("host-latency", "Latency and hops by host", explanation)
        .captioned(
            "mean latency of the packets that each host received",
            Height::Usual,
            latency_alt,
            latency,
        )
        .captioned(
            "mean hops of the packets that each host received, injection and ejection included",
            Height::Usual,
            hops_alt,
            hops,
        );
    figure.table = details("The same in numbers", &in_numbers(curves));
    figure
}

fn most(hosts: &[Received], value: fn(&Received) -> f64) -> &Received {
    let ordered = |a: &&Received, b: &&Received| value(a).total_cmp(&value(b)).then(b.host.cmp(&a.host));
    hosts.iter().max_by(ordered).expect("a curve has hosts")
}

fn least(hosts: &[Received], value: fn(&Received) -> f64) -> &Received {
    let ordered = |a: &&Received, b: &&Received| value(a).total_cmp(&value(b));
    hosts.iter().min_by(ordered).expect("a curve has hosts")
}

fn lines(curves: &[HostCurve], title: &str, value: impl Fn(&Received) -> f64) -> Plot {
    let x = x_axis("sorted hosts of the curve (%)").range(vec![0.0, 100.0]);
    let mut plot = plot(x, y_axis(title));
    for one in curves {
        let (x, y) = steps(one.hosts.iter().map(&value).collect());
        plot.add_trace(curve(&one.name, one.series, x, y));
    }
    plot
}

/// The values in ascending order, each over an equal share of 100 %. Of many values, the plot has some at equal
/// distances, always with the least and the greatest.
fn steps(mut values: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let Some(last) = count.checked_sub(1) else {
        return (Vec::new(), Vec::new());
    };
    let places = (0..last).step_by(count.div_ceil(MOST_POINTS)).chain([last]);
    let mut points: Vec<(f64, f64)> = places
        .map(|place| {
            (
                rounded(100.0 * place as f64 / count as f64),
                rounded(values[place]),
            )
        })
        .collect();
    points.push((100.0, rounded(values[last])));
    points.into_iter().unzip()
}

fn in_numbers(curves: &[HostCurve]) -> String {
    let columns = [
        words("hosts of"),
        numbers("hosts"),
        numbers("packets"),
        numbers("mean latency, least"),
        numbers("median"),
        numbers("greatest"),
        numbers("at host"),
        numbers("slowest packet"),
        numbers("mean hops, least"),
        numbers("greatest"),
    ];
    let row = |one: &HostCurve| {
        let hosts = &one.hosts;
        let mut means: Vec<f64> = hosts.iter().map(Received::mean_latency_ns).collect();
        means.sort_by(f64::total_cmp);
        let slowest = most(hosts, Received::mean_latency_ns);
        let slowest_packet = hosts.iter().map(|host| host.latency_max_ps).max().unwrap_or(0);
        vec![
            one.name.clone(),
            show::count(hosts.len() as u64),
            show::count(hosts.iter().map(|host| host.packets).sum()),
            show::time(means[0]),
            show::time(means[(means.len() - 1) / 2]),
            show::time(slowest.mean_latency_ns()),
            slowest.host.to_string(),
            show::time(slowest_packet as f64 / 1000.0),
            format!("{:.2}", least(hosts, Received::mean_hops).mean_hops()),
            format!("{:.2}", most(hosts, Received::mean_hops).mean_hops()),
        ]
    };
    let rows: Vec<_> = curves.iter().map(row).collect();
    table(&columns, &rows, "hosts.parquet")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;
    use crate::report::source::tests::{ColumnCells, made};
    use crate::summary::JobSummary;

    /// Rows of host, packets, sum of latencies, largest latency, sum of hops.
    fn hosts(rows: &[(u32, u64, u64, u64, u64)]) -> Table {
        let cells = |of: fn(&(u32, u64, u64, u64, u64)) -> u64| {
            ColumnCells::MaybeU64(rows.iter().map(|row| Some(of(row))).collect())
        };
        made(
            "hosts",
            vec![
                ("host", ColumnCells::U32(rows.iter().map(|row| row.0).collect())),
                ("packets_received", cells(|row| row.1)),
                ("latency_sum_ps", cells(|row| row.2)),
                ("latency_max_ps", cells(|row| row.3)),
                ("hops_sum", cells(|row| row.4)),
            ],
        )
    }

    fn ranks(rows: &[(&'static str, u32)]) -> Table {
        made(
            "ranks",
            vec![
                (
                    "job",
                    ColumnCells::Words(rows.iter().map(|row| Some(row.0)).collect()),
                ),
                ("host", ColumnCells::U32(rows.iter().map(|row| row.1).collect())),
            ],
        )
    }

    fn summary(jobs: &[&str]) -> Summary {
        let mut summary: Summary = crate::RunResult::new(
            serde_json::json!({}),
            crate::Outcome::default(),
            crate::RunSummary::default(),
        )
        .summary;
        summary.jobs = jobs
            .iter()
            .map(|name| JobSummary {
                name: (*name).into(),
                ..Default::default()
            })
            .collect();
        summary
    }

    const FOUR: [(u32, u64, u64, u64, u64); 4] = [
        (0, 2, 8_000, 5_000, 6),
        (1, 1, 1_000, 1_000, 2),
        (2, 0, 0, 0, 0),
        (3, 4, 8_000, 3_000, 20),
    ];

    /// Name, series and hosts of a curve.
    type Shown = (String, SeriesColour, Vec<u64>);

    fn drawn(summary: &Summary, tables: &[Table]) -> Option<(Figure, Vec<Shown>)> {
        let source = TableSource::new(tables, None);
        let figure = super::sorted(summary, source).unwrap()?;
        let hosts = received(source).unwrap().unwrap();
        let with_packets = hosts.into_iter().filter(|host| host.packets > 0).collect();
        let (curves, _) = curves(summary, hosts_of_jobs(source).unwrap(), with_packets);
        let curves = curves
            .iter()
            .map(|one| {
                let hosts = one.hosts.iter().map(|host| host.host).collect();
                (one.name.clone(), one.series, hosts)
            })
            .collect();
        Some((figure, curves))
    }

    #[test]
    fn a_job_has_the_hosts_of_its_ranks() {
        let jobs = ranks(&[("noise", 3), ("halo", 1), ("halo", 0), ("halo", 1), ("halo", 2)]);
        let (figure, curves) = drawn(&summary(&["halo", "noise"]), &[hosts(&FOUR), jobs]).unwrap();
        assert_eq!(
            curves,
            [
                ("all hosts".into(), SeriesColour::Whole, vec![0, 1, 3]),
                ("noise".into(), SeriesColour::Number(1), vec![3]),
                ("halo".into(), SeriesColour::Number(0), vec![0, 1]),
            ]
        );
        assert!(
            figure
                .explanation
                .contains("1 of 4 hosts received no measured packet")
        );
        let alts: Vec<&str> = figure.panels.iter().map(|panel| panel.alt.as_str()).collect();
        assert!(
            alts[0].contains("between 1 ns and 4 ns, which is that of host 0"),
            "{alts:?}"
        );
        assert!(alts[1].contains("between 2.00 and 5.00"), "{alts:?}");
        let row = figure.table.split("<tr>").nth(2).unwrap();
        let cells: Vec<&str> = row
            .split("</td>")
            .filter_map(|cell| cell.rsplit('>').next())
            .filter(|cell| !cell.trim().is_empty())
            .collect();
        assert_eq!(
            cells,
            [
                "all hosts",
                "3",
                "7",
                "1 ns",
                "2 ns",
                "4 ns",
                "0",
                "5 ns",
                "2.00",
                "5.00"
            ]
        );
    }

    #[test]
    fn one_job_with_all_hosts_has_the_only_curve() {
        let jobs = ranks(&[("halo", 0), ("halo", 1), ("halo", 3)]);
        let (_, curves) = drawn(&summary(&["halo"]), &[hosts(&FOUR), jobs]).unwrap();
        assert_eq!(curves, [("halo".into(), SeriesColour::Number(0), vec![0, 1, 3])]);
        // Traffic has no ranks.
        let (figure, curves) = drawn(&summary(&["noise"]), &[hosts(&FOUR)]).unwrap();
        assert_eq!(curves, [("all hosts".into(), SeriesColour::Whole, vec![0, 1, 3])]);
        assert!(!figure.explanation.contains("of its ranks"));
    }

    #[test]
    fn jobs_beyond_the_maximum_are_counted() {
        const NAMES: [&str; 9] = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        let jobs = ranks(&NAMES.map(|name| (name, 0)));
        let (figure, curves) = drawn(&summary(&NAMES), &[hosts(&FOUR), jobs]).unwrap();
        assert_eq!(curves.len(), 1 + MOST_JOBS);
        assert!(
            figure
                .explanation
                .contains("The curves of 2 further jobs are left out.")
        );
    }

    #[test]
    fn without_values_there_is_no_figure() {
        let none = made(
            "hosts",
            vec![
                ("host", ColumnCells::U32(vec![0])),
                ("packets_received", ColumnCells::MaybeU64(vec![None])),
                ("latency_sum_ps", ColumnCells::MaybeU64(vec![None])),
                ("latency_max_ps", ColumnCells::MaybeU64(vec![None])),
                ("hops_sum", ColumnCells::MaybeU64(vec![None])),
            ],
        );
        let older = made("hosts", vec![("host", ColumnCells::U32(vec![0]))]);
        for table in [none, older, hosts(&[(0, 0, 0, 0, 0)])] {
            let tables = [table];
            let figure = super::sorted(&summary(&[]), TableSource::new(&tables, None)).unwrap();
            assert!(figure.is_none());
        }
    }

    #[test]
    fn curves_ascend_and_keep_both_ends() {
        assert_eq!(
            steps(vec![3.0, 1.0, 2.0, 2.5]),
            (vec![0.0, 25.0, 50.0, 75.0, 100.0], vec![1.0, 2.0, 2.5, 3.0, 3.0])
        );
        assert_eq!(steps(vec![7.0]), (vec![0.0, 100.0], vec![7.0, 7.0]));
        let (x, y) = steps((0..100_003).rev().map(f64::from).collect());
        assert!(x.len() <= MOST_POINTS + 2 && x.is_sorted() && y.is_sorted());
        assert_eq!((y[0], y[y.len() - 1], x[x.len() - 1]), (0.0, 100_002.0, 100.0));
    }
}
