//! One-way time of a message between two hosts of an otherwise idle network.
//!
//! `cargo run --release -p fabricsim-sim --example one_way -- EXPERIMENT.toml SOURCE DESTINATION BYTES...`
//! prints a line `hops,bytes,time_ps` for each size: the links between routers, and the time from the call
//! of the send to the end of the receive. The network and the MPI layer are those of the experiment; its
//! jobs are not run.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use config::Section;
use des::Time;
use fabricsim_sim::{Experiment, Job, JobKind, RankJob, RunControl, run};
use topology::HostId;
use workload::{Call, Operation, Program, TraceError, Workload};

/// Rank 0 sends one message to rank 1.
struct OneMessage {
    bytes: u64,
}

/// An operation, then none.
struct Once(Option<Operation>);

impl Program for Once {
    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        Ok(self.0.take())
    }
}

impl Workload for OneMessage {
    fn ranks(&self) -> u32 {
        2
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        Arc::new([vec![0, 1]])
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        let operation = match rank {
            0 => Operation::Send {
                to: 1,
                tag: 0,
                communicator: 0,
                bytes: self.bytes,
                request: None,
                call: Call::Send,
            },
            _ => Operation::Receive {
                from: Some(0),
                tag: Some(0),
                communicator: 0,
                bytes: self.bytes,
                request: None,
                call: Call::Recv,
            },
        };
        Ok(Box::new(Once(Some(operation))))
    }
}

/// Picoseconds until the message is there.
fn one_way(file: &str, hosts: [HostId; 2], bytes: u64) -> Result<(u32, u64), Box<dyn std::error::Error>> {
    let mut experiment = Experiment::load(Path::new(file), &[])?;
    let network = experiment.network.clone();
    let there = network.hosts();
    if let Some(absent) = hosts.iter().find(|host| host.0 >= there) {
        return Err(format!("there is no host {}; expected 0 to {}", absent.0, there - 1).into());
    }
    let [from, to] = hosts.map(|host| network.attachment(host, 0).0);
    let table = Section::from_toml(&fs::read_to_string(file)?, file)?;
    let settings = mpi::MpiSettings::read(table.section("mpi")?)?;
    let job = RankJob::new(Arc::new(OneMessage { bytes }), settings, hosts.to_vec())?;
    experiment.jobs = Arc::new([Job {
        name: "message".into(),
        start: Time::ZERO,
        end: None,
        kind: JobKind::Ranks(job),
    }]);
    experiment.run.until = None;
    let result = run(&experiment, &RunControl::default())?;
    let time_ps = (result.summary.jobs[0].time_ns * 1000.0).round() as u64;
    Ok((network.topology.distance(from, to), time_ps))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Option<Vec<u64>> = arguments.iter().skip(1).map(|text| text.parse().ok()).collect();
    let Some([source, destination, sizes @ ..]) = numbers.as_deref() else {
        eprintln!("expected: one_way EXPERIMENT.toml SOURCE DESTINATION BYTES...");
        return ExitCode::from(2);
    };
    println!("hops,bytes,time_ps");
    for bytes in sizes {
        let hosts = [source, destination].map(|host| HostId(*host as u32));
        match one_way(&arguments[0], hosts, *bytes) {
            Ok((hops, time_ps)) => println!("{hops},{bytes},{time_ps}"),
            Err(error) => {
                eprintln!("one_way: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
