//! The table `[collect]` of an experiment.

use config::{DefaultValue, Duration, Error, NameOrSome, Parameter, Section, Type, parameters};
use des::Time;
use results::Collect;
use serde::{Deserialize, Serialize};
use topology::{Peer, Port, RouterId};

use super::bins::{Bins, PER_WIDTH, Periods};
use crate::setup::limits::at_most;
use crate::setup::network::{LinkSetting, NetworkModel};

/// Number of links up to which each link has a series by default. Such networks have some hundred hosts at most, and
/// 128 bins of them at most 65,536 rows. Single links take 40 % of the speed of synthetic traffic
/// (`benches/README.md`), at any size: in small networks this is little time.
const FEW_LINKS: u64 = 512;

/// Most bins of a run whose end is known, if their width is not given.
const BINS: u64 = 128;

/// Bins are shorter than the times of so many packets only if there would be fewer than [`FEW_BINS`]. A load that is
/// a share of few packets has large steps, and a sample costs as much as some packets.
const PACKETS_OF_BIN: u64 = 100;

/// See [`PACKETS_OF_BIN`].
const FEW_BINS: u64 = 8;

/// Periods are at least as long as so many packets take, unless a run would have fewer than [`FEW_PERIODS`]. A sum
/// over single links costs as much as some packets for each link and row.
const PACKETS_OF_PERIOD: u64 = 400;

/// See [`PACKETS_OF_PERIOD`].
const FEW_PERIODS: u64 = 2;

/// Width of the first bins of other runs, in ps: 1 us.
const FIRST_PS: u64 = 1_000_000;

/// Longest bin: a day.
const LONGEST: Duration = Duration {
    ps: 86_400_000_000_000_000,
};

/// Greatest number of samples. Those of single links are rows of some hundred GB, and an hour of writing them.
const MOST_SAMPLES: u64 = 10_000_000_000;

/// Most bins whose sums are tallied. They are kept until the end of the run.
pub const MOST_TALLIED: u64 = 1 << 20;

/// What is sampled. Each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Series {
    /// Nothing.
    Off,
    /// Sums by link class, and jobs.
    Classes,
    /// Each link, host and router.
    Links,
    /// Each virtual channel.
    Vcs,
}

/// What is collected while an experiment runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectSetting {
    /// What is sampled.
    pub series: Series,
    /// The bins.
    pub bins: Bins,
    /// Periods of bins, for sums over single links.
    pub periods: Periods,
    /// Routers with series of their own, in ascending order; `None` for all.
    pub(crate) routers: Option<Vec<u32>>,
    /// Whether timelines of ranks and their messages are recorded.
    pub timeline: bool,
    /// Whether waits of packets are recorded.
    pub waits: bool,
    /// Whether the table `hosts` has the latencies and hops of the packets that each host received.
    pub host_latency: bool,
    /// Whether the latency of synthetic traffic is divided into the wait at the source and the latency in the network.
    pub network_latency: bool,
}

/// Keys of `[collect]`.
pub const PARAMETERS: &[Parameter] = parameters! {
    choice("series", &["auto", "off", "classes", "links", "vcs"],
        "samples per time bin; auto: links up to 512 links, otherwise classes");
    new("bin", Type::Either(&[Type::Time, Type::Choice(&["auto"])]), DefaultValue::Text("auto"),
        "width of a time bin");
    new("routers", Type::Either(&[Type::Choice(&["all"]), Type::INTEGERS]), DefaultValue::Text("all"),
        "routers whose links, virtual channels and hosts are sampled singly");
    flag("timeline", false, "timelines of ranks, and all messages");
    flag("waits", false, "waits of packets and their causes");
    flag("host_latency", false, "number, latency and hops of the packets that each host received");
    flag("network_latency", false,
        "latency of the packets of synthetic traffic in the network, and their wait at the source");
};

impl Series {
    /// Names in experiments.
    pub const NAMES: [&'static str; 4] = ["off", "classes", "links", "vcs"];

    /// Name in experiments.
    pub fn name(self) -> &'static str {
        Series::NAMES[self as usize]
    }

    fn of_name(name: &str) -> Option<Series> {
        let all = [Series::Off, Series::Classes, Series::Links, Series::Vcs];
        all.into_iter().find(|series| series.name() == name)
    }
}

impl CollectSetting {
    /// Samples this series of all routers and collects nothing else. Bins begin with 1 us and grow. For programs
    /// without an experiment file.
    pub fn of(series: Series) -> CollectSetting {
        let bins = Bins::growing(Time(FIRST_PS));
        CollectSetting {
            series,
            bins,
            periods: Periods::new(bins, Time::ZERO, 1),
            routers: None,
            timeline: false,
            waits: false,
            host_latency: false,
            network_latency: false,
        }
    }

    /// Reads the table `[collect]` of a run that measures until the first time, and ends by the second one.
    ///
    /// # Errors
    /// Unknown names, routers that do not exist, a bin of width 0.
    pub(crate) fn read(
        section: &Section,
        network: &NetworkModel,
        (until, latest_end): (Option<Time>, Option<Time>),
    ) -> Result<CollectSetting, Error> {
        section.declare(PARAMETERS);
        let series = match Series::of_name(section.choice("series")?) {
            Some(series) => series,
            None if has_few_links(network) => Series::Links,
            None => Series::Classes,
        };
        let bins = read_bins(section, network, until, until < latest_end)?;
        let few_periods = until.map_or(u64::MAX, |until| (bins.of(until) + 1) / FEW_PERIODS);
        let setting = CollectSetting {
            series,
            bins,
            periods: Periods::new(bins, packets(network, PACKETS_OF_PERIOD), few_periods),
            routers: read_routers(section, network)?,
            timeline: section.get("timeline")?,
            waits: section.get("waits")?,
            host_latency: section.get("host_latency")?,
            network_latency: section.get("network_latency")?,
        };
        if let Some(end) = latest_end {
            setting.refuse_endless(section, network, end)?;
        }
        Ok(setting)
    }

    /// Whether anything beside the sums by class is sampled at a router.
    pub fn details(&self, router: RouterId) -> bool {
        let chosen = |routers: &Vec<u32>| routers.binary_search(&router.0).is_ok();
        self.series >= Series::Links && self.routers.as_ref().is_none_or(chosen)
    }

    /// Refuses bins so short that the run cannot end.
    fn refuse_endless(&self, section: &Section, network: &NetworkModel, until: Time) -> Result<(), Error> {
        let width = self.bins.first();
        let bins = until.ps().div_ceil(width.ps());
        let (sampled, of, instead) = match self.series {
            Series::Off => return Ok(()),
            Series::Classes => {
                let routers = u64::from(network.topology.routers()) * network.links.len() as u64;
                // Few bins are tallied, which needs no samples of hosts.
                let hosts = if bins > MOST_TALLIED { network.hosts() } else { 0 };
                (routers + u64::from(hosts), "flows of routers and hosts", "")
            }
            Series::Links | Series::Vcs => {
                let links = count_links(network, u64::MAX, self.routers.as_deref());
                (links, "links", ", or fewer routers")
            }
        };
        if self.bins.grow() || bins.saturating_mul(sampled) <= MOST_SAMPLES {
            return Ok(());
        }
        let [width, until, least] = [
            width.ps(),
            until.ps(),
            until.ps().div_ceil(MOST_SAMPLES / sampled.max(1)),
        ]
        .map(|ps| Duration { ps });
        let message = format!(
            "{width} is too short: until {until} there are {bins} bins, and {bins} x {sampled} {of} is more than \
             {MOST_SAMPLES} samples; expected {least} or longer, or \"auto\"{instead}"
        );
        Err(section.error("bin", message))
    }

    /// The settings as the result prints them.
    pub fn summary(&self) -> Collect {
        Collect {
            series: self.series.name().into(),
            first_bin_ps: self.bins.first().ps(),
            bins_per_width: self.bins.grow().then_some(PER_WIDTH),
            bins_per_period: Some(self.periods.first_length()),
            ..Collect::default()
        }
    }

    /// Sets whether timelines with messages, and waits, are recorded.
    pub fn set_traces(&mut self, timeline: bool, waits: bool) {
        (self.timeline, self.waits) = (timeline, waits);
    }

    /// Sets whether the table `hosts` has the latencies and hops of the packets that each host received.
    pub fn set_host_latency(&mut self, host_latency: bool) {
        self.host_latency = host_latency;
    }

    /// Sets whether the latency of synthetic traffic is divided into the wait at the source and the latency in the
    /// network.
    pub fn set_network_latency(&mut self, network_latency: bool) {
        self.network_latency = network_latency;
    }

    /// Sets what is sampled.
    pub fn set_series(&mut self, series: Series) {
        self.series = series;
    }
}

/// `goes_on`: the run may go on after `until`.
fn read_bins(
    section: &Section,
    network: &NetworkModel,
    until: Option<Time>,
    goes_on: bool,
) -> Result<Bins, Error> {
    let bin: String = section.get("bin")?;
    if bin == "auto" {
        return Ok(match until {
            // A drain phase may be many times longer than the time before it.
            Some(until) if goes_on => Bins::growing(default_width(network, until)),
            Some(until) => Bins::constant(default_width(network, until)),
            None => Bins::growing(Time(FIRST_PS)),
        });
    }
    let width =
        Duration::parse(&bin).map_err(|message| section.error("bin", format!("{message}, or \"auto\"")))?;
    if width.ps == 0 {
        let message = "0 is out of range; expected a time such as \"1 us\", or \"auto\"";
        return Err(section.error("bin", message));
    }
    at_most(section, "bin", width, LONGEST)?;
    Ok(Bins::constant(Time(width.ps)))
}

/// Width of the bins of a run until this time.
fn default_width(network: &NetworkModel, until: Time) -> Time {
    let packets = packets(network, PACKETS_OF_BIN).ps();
    let few = until.ps().div_ceil(FEW_BINS);
    Time(until.ps().div_ceil(BINS).max(packets.min(few)))
}

/// Time of this number of the largest packets on the fastest link.
fn packets(network: &NetworkModel, number: u64) -> Time {
    let packet = |link: &LinkSetting| link.rate.serialization(network.packet.largest());
    let fastest = network.links.iter().map(packet).min().unwrap_or(Time::ZERO);
    Time(fastest.ps().saturating_mul(number))
}

fn read_routers(section: &Section, network: &NetworkModel) -> Result<Option<Vec<u32>>, Error> {
    let mut routers = match section.get("routers")? {
        NameOrSome::Name(name) if name == "all" => return Ok(None),
        NameOrSome::Name(name) => return Err(section.unknown_name("routers", &name, ["all"])),
        NameOrSome::Some(routers) => routers,
    };
    let count = network.topology.routers();
    if let Some(router) = routers.iter().find(|router| **router >= count) {
        let message = format!("router {router} does not exist; expected 0 to {}", count - 1);
        return Err(section.error("routers", message));
    }
    routers.sort_unstable();
    routers.dedup();
    Ok(Some(routers))
}

fn has_few_links(network: &NetworkModel) -> bool {
    count_links(network, FEW_LINKS, None) <= FEW_LINKS
}

/// Number of links from hosts and from these routers (`None`: all), or a number above `enough`.
fn count_links(network: &NetworkModel, enough: u64, routers: Option<&[u32]>) -> u64 {
    let topology = network.topology.as_ref();
    let mut links = u64::from(network.hosts()) * u64::from(network.rails.count());
    let counted = |router: &u32| routers.is_none_or(|routers| routers.binary_search(router).is_ok());
    for router in (0..topology.routers()).filter(counted).map(RouterId) {
        if links > enough {
            break;
        }
        let wired = |port: &u16| !matches!(topology.peer(router, Port(*port)), Peer::Unwired);
        links += (0..topology.ports(router)).filter(wired).count() as u64;
    }
    links
}
