//! Definitions of the archive: hosts and ranks, regions, communicators.

use std::collections::BTreeMap;

use ::otf2::{ArchiveWriter, Domain};

use super::rank::DefinitionNames;
use super::survey::Survey;
use crate::Error;
use crate::folder::ExportSource;

/// Clock ticks per second: one tick is a picosecond, as in the tables.
pub(super) const TICKS_PER_SECOND: u64 = 1_000_000_000_000;

/// The node of the whole machine.
const MACHINE: u32 = 0;

/// Definition numbers that the events of a job name.
pub(super) fn names(survey: &Survey, job: usize) -> DefinitionNames {
    let (job, jobs) = (job as u32, survey.jobs.iter().count() as u32);
    DefinitionNames {
        world: job,
        collectives: jobs + job,
        window: job,
    }
}

/// The group of each host with ranks, if the network has groups.
pub(super) fn groups(folder: &ExportSource, survey: &Survey) -> Result<BTreeMap<u32, u32>, Error> {
    let mut groups = BTreeMap::new();
    if !folder.has("routers") || !folder.has("hosts") {
        return Ok(groups);
    }
    let mut of_router = BTreeMap::new();
    folder.each("routers", &["router", "group"], |rows| {
        let (routers, of) = (rows.integers("router")?, rows.maybe_integers("group")?);
        of_router.extend(
            routers
                .into_iter()
                .zip(of)
                .filter_map(|(router, group)| Some((router, group?))),
        );
        Ok(())
    })?;
    let used = survey.hosts();
    folder.each("hosts", &["host", "router"], |rows| {
        let hosts = rows.integers("host")?.into_iter().zip(rows.integers("router")?);
        for (host, router) in hosts {
            let host = host as u32;
            if let Some(group) = of_router.get(&router).filter(|_| used.contains(&host)) {
                groups.insert(host, *group as u32);
            }
        }
        Ok(())
    })?;
    Ok(groups)
}

/// Writes all definitions. `events` are the numbers of events of each location.
pub(super) fn define(
    writer: &mut ArchiveWriter,
    survey: &Survey,
    groups: &BTreeMap<u32, u32>,
    events: &[u64],
    last: u64,
) -> Result<(), String> {
    writer.begin_definitions(events.len() as u64, TICKS_PER_SECOND, 0, last)?;
    let hosts = machine(writer, survey, groups)?;
    for (number, activity) in (0..).zip(&survey.activities.all) {
        writer.region(number, &activity.name, activity.role, activity.is_mpi())?;
    }
    for (job, first, ranks) in survey.jobs.iter() {
        for rank in 0..ranks {
            let location = first + u64::from(rank);
            let host = survey.locations[location as usize].host;
            let node = host.and_then(|host| hosts.get(&host)).copied().unwrap_or(MACHINE);
            let name = format!("job {job} rank {rank}");
            writer.process(location as u32, &name, node, events[location as usize])?;
        }
    }
    communicators(writer, survey)
}

/// Defines the machine, its groups and hosts. Returns the node of each host.
fn machine(
    writer: &mut ArchiveWriter,
    survey: &Survey,
    groups: &BTreeMap<u32, u32>,
) -> Result<BTreeMap<u32, u32>, String> {
    writer.node(
        MACHINE,
        "simulated by FabricSim",
        "machine",
        None,
        Domain::Machine,
    )?;
    let mut next = MACHINE;
    let mut node = || {
        next += 1;
        next
    };
    let mut nodes_of_groups = BTreeMap::new();
    for group in groups.values() {
        if !nodes_of_groups.contains_key(group) {
            let number = node();
            nodes_of_groups.insert(*group, number);
            writer.node(
                number,
                &format!("group {group}"),
                "group",
                Some(MACHINE),
                Domain::Other,
            )?;
        }
    }
    let mut nodes = BTreeMap::new();
    for host in survey.hosts() {
        let number = node();
        let above = groups.get(&host).map_or(MACHINE, |group| nodes_of_groups[group]);
        writer.node(
            number,
            &format!("host {host}"),
            "node",
            Some(above),
            Domain::SharedMemory,
        )?;
        nodes.insert(host, number);
    }
    Ok(nodes)
}

/// Defines one `MPI_COMM_WORLD` per job, and a communicator for the messages of collectives.
fn communicators(writer: &mut ArchiveWriter, survey: &Survey) -> Result<(), String> {
    let all: Vec<u64> = (0..survey.locations.len() as u64).collect();
    writer.locations(0, "MPI ranks", &all)?;
    let only = survey.jobs.iter().count() == 1;
    // Numbers of each kind, ascending.
    for (number, (job, first, ranks)) in survey.jobs.iter().enumerate() {
        let members: Vec<u64> = (first..first + u64::from(ranks)).collect();
        writer.group(group(number), &format!("ranks of job {job}"), &members)?;
    }
    for (number, (job, ..)) in survey.jobs.iter().enumerate() {
        // A replay takes the communicator of this name as that of all ranks.
        let world = match only {
            true => "MPI_COMM_WORLD".into(),
            false => format!("MPI_COMM_WORLD of job {job}"),
        };
        writer.communicator(names(survey, number).world, &world, group(number), None)?;
    }
    for (number, (job, ..)) in survey.jobs.iter().enumerate() {
        let names = names(survey, number);
        if survey.collectives {
            let name = format!("collectives of job {job}");
            writer.communicator(names.collectives, &name, group(number), Some(names.world))?;
        }
        if survey.one_sided {
            writer.window(names.window, &format!("windows of job {job}"), names.world)?;
        }
    }
    Ok(())
}

/// Defines the group of the ranks of a job.
fn group(job: usize) -> u32 {
    job as u32 + 1
}
