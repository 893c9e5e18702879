//! The critical path of each job as a track of its own, with a slice for each step.

use std::collections::{BTreeMap, BTreeSet};

use super::jobs::JobTracks;
use super::trace::{AnnotationValue, Named, Trace, Track};
use crate::Error;
use crate::folder::ExportSource;
use crate::folder::ReadStop;

/// The links on all paths.
pub(crate) fn links(folder: &ExportSource) -> Result<BTreeSet<u32>, Error> {
    let mut links = BTreeSet::new();
    folder.each("critical_path", &["link"], |rows| {
        let numbers = rows.maybe_integers("link")?.into_iter().flatten();
        links.extend(numbers.filter_map(|link| u32::try_from(link).ok()));
        Ok::<(), ReadStop>(())
    })?;
    Ok(links)
}

/// Writes all paths.
pub(crate) fn paths(
    folder: &ExportSource,
    jobs: &mut JobTracks,
    trace: &mut Trace,
    names: &BTreeMap<u32, String>,
) -> Result<(), Error> {
    let columns = [
        "job", "kind", "rank", "to_rank", "begin_ps", "end_ps", "activity", "link", "reason", "holder",
    ];
    let mut tracks = BTreeMap::<usize, Track>::new();
    folder.each("critical_path", &columns, |rows| {
        let (of, kinds) = (rows.texts("job")?, rows.texts("kind")?);
        let (ranks, to_ranks) = (rows.integers("rank")?, rows.maybe_integers("to_rank")?);
        let (starts, ends) = (rows.integers("begin_ps")?, rows.integers("end_ps")?);
        let (activities, links) = (rows.texts("activity")?, rows.maybe_integers("link")?);
        let (reasons, holders) = (rows.texts("reason")?, rows.texts("holder")?);
        for row in 0..rows.rows() {
            let job = jobs.number(trace, of.or_empty(row))?;
            let track = match tracks.get(&job) {
                Some(track) => *track,
                None => {
                    let track = trace.track(Some(jobs.track(job)), "critical path")?;
                    tracks.insert(job, track);
                    track
                }
            };
            let place = match to_ranks[row] {
                Some(to) => format!("rank {} to {to}", ranks[row]),
                None => format!("rank {}", ranks[row]),
            };
            let link = links[row].map(|link| {
                let name = u32::try_from(link).ok().and_then(|link| names.get(&link));
                name.cloned().unwrap_or_else(|| format!("link {link}"))
            });
            let annotations: Vec<(&'static str, AnnotationValue<'_>)> = [
                ("activity", activities.get(row)),
                ("link", link.as_deref()),
                ("reason", reasons.get(row)),
                ("holder", holders.get(row)),
            ]
            .into_iter()
            .filter_map(|(key, text)| Some((key, AnnotationValue::Text(text?))))
            .collect();
            let kind = kinds.or_empty(row);
            let step = Named {
                category: "critical path",
                name: &format!("{kind}, {place}"),
                annotations: &annotations,
            };
            trace.begin(track, starts[row], &step)?;
            trace.end(track, ends[row])?;
        }
        Ok::<(), ReadStop>(())
    })
}
