//! A mapping from a file: each line gives, from rank 0 on, the number of the rank's host among the job's. Empty lines,
//! and what follows a `#`, are skipped.

use config::{Error, Section, Type, parameters};

use super::{MAX_RANKS_PER_HOST, Mapping, MappingRequest, RankMapping};
use crate::setup::named::numbers;

pub(super) const KIND: Mapping = Mapping {
    name: "file",
    summary: "the host that a file gives for each rank, by its number among the job's",
    parameters: parameters! {
        required("file", Type::Path, "path, relative to the experiment's file");
    },
    map,
};

fn map(section: &Section, request: &mut MappingRequest<'_>) -> Result<RankMapping, Error> {
    let file: String = section.required("file")?;
    let wrong = |message: String| section.error("file", message);
    let numbers = numbers(request.folder, &file).map_err(wrong)?;
    if numbers.len() != request.ranks as usize {
        let message = format!(
            "{file}: lists {} hosts; expected one for each of {} ranks",
            numbers.len(),
            request.ranks
        );
        return Err(wrong(message));
    }
    let most = match request.job.has("ranks_per_host") {
        true => request.per_host(1)?,
        false => MAX_RANKS_PER_HOST,
    };
    // A job has no more hosts than ranks, and so the counts are no more either.
    let mut counts = vec![0u32; numbers.len()];
    for (line, host) in &numbers {
        let Some(count) = counts.get_mut(*host as usize) else {
            let message = format!(
                "{file}:{line}: host {host} of {} ranks; expected 0 to {}",
                request.ranks,
                request.ranks - 1
            );
            return Err(wrong(message));
        };
        *count += 1;
        if *count > most {
            return Err(wrong(format!(
                "{file}:{line}: more than {most} ranks on host {host} of the job"
            )));
        }
    }
    let hosts: Vec<u32> = numbers.into_iter().map(|(_, host)| host).collect();
    let needed = hosts.iter().max().map_or(0, |last| last + 1);
    if let Some(empty) = counts[..needed as usize].iter().position(|count| *count == 0) {
        return Err(wrong(format!(
            "{file}: no rank is on host {empty}, but some are on host {}",
            needed - 1
        )));
    }
    Ok(RankMapping {
        hosts,
        per_host: counts.into_iter().max().unwrap_or(0),
    })
}
