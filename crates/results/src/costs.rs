//! Cost tables: prices of switches, cables, NICs, hosts and electricity, and the bill of a network.
//! docs/formats/costs.md has the keys. FabricSim has no prices.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use config::{
    Bandwidth, Duration, EXPERIMENT_BYTES, Error, Length, Location, Section, Setting, Value, nearest,
    read_text,
};
use serde::{Deserialize, Serialize};

use crate::show::{commas, general};

/// Kinds of cables, for the bill.
const CABLE_KINDS: [&str; 2] = ["electrical", "optical"];

const HOURS_PER_YEAR: f64 = 8760.0;

/// Beyond it no cost, time or factor has a meaning, and products of several such numbers are still finite.
const LARGEST: f64 = 1e30;

/// Most ports of a switch.
const MOST_PORTS: i64 = 1_000_000_000;

/// What the parts of a network cost.
#[derive(Clone, Debug)]
pub struct CostTable {
    file: Arc<str>,
    /// Printed after sums; empty for none.
    pub currency: String,
    /// Printed beside sums; empty for none.
    pub note: String,
    switches: Vec<SwitchPrice>,
    cables: Vec<CablePrice>,
    /// Millimetres of a cable by its class.
    lengths_mm: BTreeMap<String, f64>,
    /// Where given, classes without a length have that of their latency.
    latency_per_metre_ps: Option<f64>,
    nic: f64,
    nic_per_gbps: f64,
    host: f64,
    electricity: Option<Electricity>,
}

/// An entry `[[switch]]`.
#[derive(Clone, Debug)]
struct SwitchPrice {
    name: String,
    kind: Option<String>,
    /// Any number, if it is not given.
    ports: Option<u64>,
    /// Greatest bandwidth of a port.
    bits_per_s: Option<u64>,
    cost: f64,
    per_port: f64,
}

/// An entry `[[cable]]`.
#[derive(Clone, Debug)]
struct CablePrice {
    name: String,
    classes: Option<Vec<String>>,
    up_to_mm: Option<f64>,
    bits_per_s: Option<u64>,
    cost: f64,
    per_metre: f64,
    per_gbps: f64,
    per_gbps_metre: f64,
}

/// The table `[electricity]`.
#[derive(Clone, Copy, Debug)]
struct Electricity {
    price_per_kwh: f64,
    hours: f64,
    /// Power of the building divided by that of the machine.
    pue: f64,
}

/// The parts of a network, counted.
#[derive(Clone, Debug, Deserialize)]
pub struct Inventory {
    /// Number of hosts.
    pub hosts: u64,
    /// Cables by class and bandwidth.
    pub cables: Vec<CableCount>,
    /// Routers by kind and ports.
    pub routers: Vec<RouterCount>,
}

/// Equal cables.
#[derive(Clone, Debug, Deserialize)]
pub struct CableCount {
    /// Link class; `host` for cables between hosts and routers.
    pub class: String,
    /// Bits per second of one direction.
    pub bandwidth_bits_per_s: u64,
    /// Latency of the class.
    pub latency_ps: u64,
    /// Number of cables; a half, where a link has no way back.
    pub count: f64,
}

/// Equal routers.
#[derive(Clone, Debug, Deserialize)]
pub struct RouterCount {
    /// As [`router_kind`] says.
    pub kind: String,
    /// Ports with a cable.
    pub ports: u64,
    /// Bits per second of the fastest port. Without it, no entry with a bandwidth fits.
    #[serde(default)]
    pub bandwidth_bits_per_s: Option<u64>,
    /// Number of routers.
    pub count: f64,
}

/// A line of a bill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BillItem {
    /// What it is.
    pub name: String,
    /// How many.
    pub count: f64,
    /// The cost of one.
    pub each: f64,
}

impl BillItem {
    /// The cost of all items of the line.
    pub fn cost(&self) -> f64 {
        self.count * self.each
    }
}

/// The kind of a router by its coordinates: `leaf` of `pod 0, leaf 3`; `router` for all whose coordinates end with no
/// name and number.
pub fn router_kind(coordinates: &str) -> &str {
    let is_of_name = |c: char| c.is_ascii_lowercase() || c == '-';
    let before = coordinates.trim_end_matches(|c: char| c.is_ascii_digit());
    let named = before
        .strip_suffix(' ')
        .filter(|_| before.len() < coordinates.len());
    let kind = named.map_or("", |named| &named[named.trim_end_matches(is_of_name).len()..]);
    match kind.trim_start_matches('-') {
        "" => "router",
        kind => kind,
    }
}

impl CostTable {
    /// Its file, as messages name it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Reads the file.
    ///
    /// # Errors
    /// It cannot be read, or something in it is wrong.
    pub fn load(path: &Path) -> Result<CostTable, Error> {
        let file = path.display().to_string();
        let text = read_text(path, EXPERIMENT_BYTES).map_err(|error| Error {
            location: Some(whole(file.as_str().into())),
            key: String::new(),
            message: match error.kind() {
                io::ErrorKind::InvalidInput => format!("cannot be read: it {error}"),
                _ => format!("cannot be read: {error}"),
            },
        })?;
        CostTable::from_toml(&text, &file)
    }

    /// Reads a text; `file` is its name in messages.
    ///
    /// # Errors
    /// It is not TOML, or a key or value in it is wrong.
    pub fn from_toml(text: &str, file: &str) -> Result<CostTable, Error> {
        let given = Section::from_toml(text, file)?;
        let length = given.section("length")?;
        let latency_per_metre: Option<FractionOfTime> = length.optional("latency_per_metre")?;
        let mut lengths_mm = BTreeMap::new();
        for class in length.keys().into_iter().filter(|key| key != "latency_per_metre") {
            let length: Length = length.required(&class)?;
            lengths_mm.insert(class, length.mm);
        }
        if latency_per_metre.is_some_and(|latency| latency.ps <= 0.0) {
            return Err(length.error("latency_per_metre", "expected more than nothing"));
        }
        let (nic, host) = (given.section("nic")?, given.section("host")?);
        let electricity = given.section("electricity")?;
        let is_given = given.has("electricity");
        let table = CostTable {
            file: file.into(),
            currency: given.optional("currency")?.unwrap_or_default(),
            note: given.optional("note")?.unwrap_or_default(),
            switches: given
                .sections("switch")?
                .iter()
                .map(SwitchPrice::read)
                .collect::<Result<_, _>>()?,
            cables: given
                .sections("cable")?
                .iter()
                .map(CablePrice::read)
                .collect::<Result<_, _>>()?,
            lengths_mm,
            latency_per_metre_ps: latency_per_metre.map(|latency| latency.ps),
            nic: number(nic, "cost")?,
            nic_per_gbps: number(nic, "per_gbps")?,
            host: number(host, "cost")?,
            electricity: is_given.then(|| Electricity::read(electricity)).transpose()?,
        };
        for section in [nic, host, &given] {
            close(section)?;
        }
        for (key, is_missing) in [
            ("switch", table.switches.is_empty()),
            ("cable", table.cables.is_empty()),
        ] {
            if is_missing {
                let message = format!("missing; expected at least one [[{key}]]");
                return Err(table.error(key, message));
            }
        }
        Ok(table)
    }

    /// The cost of a network, line by line.
    ///
    /// # Errors
    /// A part has no entry.
    pub fn bill(&self, parts: &Inventory) -> Result<Vec<BillItem>, Error> {
        let mut items = vec![];
        for routers in &parts.routers {
            items.push(self.routers(routers)?);
        }
        for cables in &parts.cables {
            items.push(self.cables(cables)?);
        }
        for cables in parts.cables.iter().filter(|cables| cables.class == "host") {
            if self.nic != 0.0 || self.nic_per_gbps != 0.0 {
                items.push(BillItem {
                    name: "NIC".into(),
                    count: cables.count,
                    each: self.nic + self.nic_per_gbps * gbps(cables.bandwidth_bits_per_s),
                });
            }
        }
        if self.host != 0.0 {
            items.push(BillItem {
                name: "host".into(),
                count: parts.hosts as f64,
                each: self.host,
            });
        }
        Ok(items)
    }

    /// The cost of a network.
    ///
    /// # Errors
    /// A part has no entry.
    pub fn cost(&self, parts: &Inventory) -> Result<f64, Error> {
        Ok(self.bill(parts)?.iter().map(BillItem::cost).sum())
    }

    /// Whether the table has a price of electricity.
    pub fn has_electricity(&self) -> bool {
        self.electricity.is_some()
    }

    /// The line for electricity at a mean power in watts, if the table has a price of it.
    pub fn electricity(&self, watts: f64) -> Option<BillItem> {
        self.electricity.map(|electricity| electricity.item(watts))
    }

    /// Bandwidths, in bits per second and in ascending order, at which other entries begin to fit. Between two of them
    /// the same entries fit, so that a cost is a sum of minima of linear functions of the bandwidth there: concave.
    pub fn bandwidth_steps(&self) -> Vec<u64> {
        let switches = self.switches.iter().filter_map(|switch| switch.bits_per_s);
        let cables = self.cables.iter().filter_map(|cable| cable.bits_per_s);
        let mut steps: Vec<u64> = switches.chain(cables).collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// Whether the cost of routers, or that of cables of one of the classes, depends on the bandwidth.
    pub fn depends_on_bandwidth<'a>(&self, classes: impl IntoIterator<Item = &'a str>) -> bool {
        let classes: Vec<&str> = classes.into_iter().collect();
        let is_meant = |cable: &CablePrice| match &cable.classes {
            Some(meant) => meant.iter().any(|class| classes.contains(&class.as_str())),
            None => true,
        };
        let by_bandwidth = |cable: &CablePrice| {
            cable.bits_per_s.is_some() || cable.per_gbps != 0.0 || cable.per_gbps_metre != 0.0
        };
        self.switches.iter().any(|switch| switch.bits_per_s.is_some())
            || self
                .cables
                .iter()
                .any(|cable| is_meant(cable) && by_bandwidth(cable))
    }

    /// An amount of money: `1,235 EUR`.
    pub fn amount(&self, cost: f64) -> String {
        let number = match (1000.0..1e15).contains(&cost.abs()) {
            true => commas(cost),
            false => general(cost, 4),
        };
        match self.currency.as_str() {
            "" => number,
            currency => format!("{number} {currency}"),
        }
    }

    fn routers(&self, routers: &RouterCount) -> Result<BillItem, Error> {
        let RouterCount {
            kind,
            ports,
            bandwidth_bits_per_s: fastest,
            count,
        } = routers;
        let fitting: Vec<&SwitchPrice> = self
            .switches
            .iter()
            .filter(|switch| switch.fits(routers))
            .collect();
        // An entry for exactly this kind.
        let meant = fitting.iter().filter(|switch| switch.kind.is_some());
        let Some(switch) = cheapest(meant, |switch| switch.cost_of(*ports))
            .or_else(|| cheapest(fitting.iter(), |switch| switch.cost_of(*ports)))
        else {
            let speed = fastest.filter(|_| self.switches.iter().any(|switch| switch.bits_per_s.is_some()));
            let speed = speed.map_or(String::new(), |speed| {
                format!(" of up to {} Gbps", general(gbps(speed), 6))
            });
            let message =
                format!("no [[switch]] for routers of kind '{kind}' with {ports} ports in use{speed}");
            return Err(self.error("", message));
        };
        Ok(BillItem {
            name: format!("{} as {kind} with {ports} ports", switch.name),
            count: *count,
            each: switch.cost_of(*ports),
        })
    }

    fn cables(&self, cables: &CableCount) -> Result<BillItem, Error> {
        let (class, bandwidth) = (&cables.class, cables.bandwidth_bits_per_s);
        let length = self.length_mm(class, cables.latency_ps);
        let metres = length.map(|length| general(length / 1000.0, 6));
        let fitting = self.cables.iter();
        let fitting: Vec<&CablePrice> = fitting
            .filter(|cable| cable.fits(class, length, bandwidth))
            .collect();
        let shown = || {
            let length = metres.as_ref().map(|metres| format!(" and {metres} m"));
            format!(
                "class '{class}' with {} Gbps{}",
                general(gbps(bandwidth), 6),
                length.as_deref().unwrap_or(" and no known length")
            )
        };
        if length.is_none() && fitting.iter().any(|cable| cable.needs_length()) {
            let message = format!(
                "a [[cable]] that costs by length, and links of {}: expected length.{class}",
                shown()
            );
            return Err(self.error("", message));
        }
        let cost = |cable: &CablePrice| cable.cost_of(length.unwrap_or(0.0), bandwidth);
        // An entry for exactly this class.
        let meant = fitting.iter().filter(|cable| cable.classes.is_some());
        let Some(cable) = cheapest(meant, cost).or_else(|| cheapest(fitting.iter(), cost)) else {
            return Err(self.error("", format!("no [[cable]] for links of {}", shown())));
        };
        let metres = metres.map_or(String::new(), |metres| format!(", {metres} m"));
        Ok(BillItem {
            name: format!("{}: {class}{metres}", cable.name),
            count: cables.count,
            each: cost(cable),
        })
    }

    fn length_mm(&self, class: &str, latency_ps: u64) -> Option<f64> {
        let given = self.lengths_mm.get(class).copied();
        let by_latency = || Some(latency_ps as f64 / self.latency_per_metre_ps? * 1000.0);
        given
            .or_else(by_latency)
            .or_else(|| self.lengths_mm.get("default").copied())
    }

    /// An error about the whole file.
    fn error(&self, key: &str, message: String) -> Error {
        Error {
            location: Some(whole(self.file.clone())),
            key: key.into(),
            message,
        }
    }
}

/// A file without a line.
fn whole(file: Arc<str>) -> Location {
    Location { file, line: 0 }
}

/// The first of the cheapest entries.
fn cheapest<'a, T>(entries: impl Iterator<Item = &'a &'a T>, cost: impl Fn(&T) -> f64) -> Option<&'a T> {
    entries.copied().min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

fn gbps(bits_per_s: u64) -> f64 {
    bits_per_s as f64 / 1e9
}

/// An error for a key that was not asked for. Short names of experiments mean nothing here.
fn close(section: &Section) -> Result<(), Error> {
    let asked = section.asked();
    match section.keys().into_iter().find(|key| !asked.contains(key)) {
        None => Ok(()),
        Some(key) => {
            let guess = nearest(&key, asked.iter().map(String::as_str));
            Err(section.error(&key, format!("unknown key '{key}'{guess}")))
        }
    }
}

/// A number from -1e30 to 1e30, which is 0 where it is left out.
fn number(section: &Section, key: &str) -> Result<f64, Error> {
    Ok(section
        .optional::<BoundedNumber>(key)?
        .map_or(0.0, |number| number.0))
}

impl SwitchPrice {
    fn read(section: &Section) -> Result<SwitchPrice, Error> {
        let ports: Option<i64> = section.optional("ports")?;
        if let Some(ports) = ports.filter(|ports| !(1..=MOST_PORTS).contains(ports)) {
            let message = format!("expected at least 1 and at most 1,000,000,000, found {ports}");
            return Err(section.error("ports", message));
        }
        let bandwidth: Option<Bandwidth> = section.optional("bandwidth")?;
        let name: Option<String> = section.optional("name")?;
        let by_ports = || ports.map_or("switch".into(), |ports| format!("switch of {ports} ports"));
        let switch = SwitchPrice {
            name: name.filter(|name| !name.is_empty()).unwrap_or_else(by_ports),
            kind: section.optional("kind")?,
            ports: ports.map(i64::unsigned_abs),
            bits_per_s: bandwidth.map(|bandwidth| bandwidth.bits_per_s),
            cost: number(section, "cost")?,
            per_port: number(section, "per_port")?,
        };
        close(section)?;
        Ok(switch)
    }

    fn fits(&self, routers: &RouterCount) -> bool {
        let fits_speed = |most: u64| {
            routers
                .bandwidth_bits_per_s
                .is_some_and(|fastest| fastest <= most)
        };
        self.kind.as_ref().is_none_or(|kind| *kind == routers.kind)
            && self.ports.is_none_or(|ports| ports >= routers.ports)
            && self.bits_per_s.is_none_or(fits_speed)
    }

    /// Cost of a switch with this many used ports.
    fn cost_of(&self, ports: u64) -> f64 {
        self.cost + self.per_port * self.ports.unwrap_or(ports) as f64
    }
}

impl CablePrice {
    fn read(section: &Section) -> Result<CablePrice, Error> {
        let kind: Option<String> = section.optional("kind")?;
        if let Some(kind) = kind.as_deref().filter(|kind| !CABLE_KINDS.contains(kind)) {
            return Err(section.unknown_name("kind", kind, CABLE_KINDS));
        }
        let bandwidth: Option<Bandwidth> = section.optional("bandwidth")?;
        let up_to: Option<Length> = section.optional("up_to")?;
        let classes: Option<LinkClassNames> = section.optional("class")?;
        let name: Option<String> = section.optional("name")?;
        let by_kind = || kind.map_or("cable".into(), |kind| format!("{kind} cable"));
        let cable = CablePrice {
            name: name.filter(|name| !name.is_empty()).unwrap_or_else(by_kind),
            classes: classes.map(|classes| classes.0),
            up_to_mm: up_to.map(|length| length.mm),
            bits_per_s: bandwidth.map(|bandwidth| bandwidth.bits_per_s),
            cost: number(section, "cost")?,
            per_metre: number(section, "per_metre")?,
            per_gbps: number(section, "per_gbps")?,
            per_gbps_metre: number(section, "per_gbps_metre")?,
        };
        close(section)?;
        Ok(cable)
    }

    fn fits(&self, class: &str, length_mm: Option<f64>, bandwidth: u64) -> bool {
        let is_listed = |classes: &Vec<String>| classes.iter().any(|listed| listed == class);
        self.classes.as_ref().is_none_or(is_listed)
            && self.bits_per_s.is_none_or(|bits_per_s| bits_per_s == bandwidth)
            && self
                .up_to_mm
                .is_none_or(|most| length_mm.is_some_and(|length| length <= most))
    }

    fn needs_length(&self) -> bool {
        self.per_metre != 0.0 || self.per_gbps_metre != 0.0
    }

    /// Cost of one cable.
    fn cost_of(&self, length_mm: f64, bandwidth: u64) -> f64 {
        let metres = length_mm / 1000.0;
        self.cost + self.per_metre * metres + (self.per_gbps + self.per_gbps_metre * metres) * gbps(bandwidth)
    }
}

impl Electricity {
    fn read(section: &Section) -> Result<Electricity, Error> {
        let read = |key: &str| section.optional::<BoundedNumber>(key);
        let (price, hours, years, pue) = (
            read("price_per_kwh")?,
            read("hours")?,
            read("years")?,
            read("pue")?,
        );
        close(section)?;
        let Some(BoundedNumber(price_per_kwh)) = price else {
            return Err(section.error("price_per_kwh", "missing; expected a number"));
        };
        if price_per_kwh < 0.0 {
            let message = format!("expected at least 0, found {}", general(price_per_kwh, 6));
            return Err(section.error("price_per_kwh", message));
        }
        let (key, hours) = match (hours, years) {
            (Some(hours), None) => ("hours", hours.0),
            (None, Some(years)) => ("years", years.0 * HOURS_PER_YEAR),
            _ => return Err(section.error("years", "expected one of the keys hours and years")),
        };
        if hours <= 0.0 {
            return Err(section.error(key, "expected more than 0"));
        }
        let pue = pue.map_or(1.0, |pue| pue.0);
        if pue < 1.0 {
            let message = format!("expected at least 1, found {}", general(pue, 6));
            return Err(section.error("pue", message));
        }
        Ok(Electricity {
            price_per_kwh,
            hours,
            pue,
        })
    }

    fn item(&self, watts: f64) -> BillItem {
        let pue = match self.pue {
            1.0 => String::new(),
            pue => format!(", PUE {}", general(pue, 6)),
        };
        BillItem {
            name: format!(
                "electricity (kWh): {} W for {} h{pue}",
                general_with_commas(watts),
                general_with_commas(self.hours)
            ),
            count: watts / 1000.0 * self.hours * self.pue,
            each: self.price_per_kwh,
        }
    }
}

/// Six significant digits, the whole part in groups of three.
fn general_with_commas(value: f64) -> String {
    let shown = general(value, 6);
    if shown.contains(['e', 'n']) {
        return shown;
    }
    match shown.split_once('.') {
        None => commas(value),
        Some((whole, fraction)) => format!("{}.{fraction}", commas(whole.parse().unwrap_or(0.0))),
    }
}

/// A number from -1e30 to 1e30.
#[derive(Clone, Copy)]
struct BoundedNumber(f64);

impl Setting for BoundedNumber {
    const EXPECTED: &'static str = "a number";
    fn read(value: &Value) -> Result<Self, String> {
        let number = match value {
            Value::Integer(number) => *number as f64,
            Value::Float(number) => *number,
            _ => return Err(format!("expected a number, found {}", value.quoted())),
        };
        match number.abs() <= LARGEST {
            true => Ok(BoundedNumber(number)),
            false => Err(format!(
                "expected a number from -1e+30 to 1e+30, found {}",
                general(number, 6)
            )),
        }
    }
    fn show(&self) -> serde_json::Value {
        self.0.into()
    }
}

/// A time that need not be a whole number of picoseconds.
#[derive(Clone, Copy)]
struct FractionOfTime {
    ps: f64,
}

impl Setting for FractionOfTime {
    const EXPECTED: &'static str = <Duration as Setting>::EXPECTED;
    fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Duration::parse_fraction(text).map(|ps| FractionOfTime { ps }),
            _ => Err(format!("{} is not {}", value.quoted(), Self::EXPECTED)),
        }
    }
    fn show(&self) -> serde_json::Value {
        format!("{} ps", self.ps).into()
    }
}

/// A link class, or a list of them.
struct LinkClassNames(Vec<String>);

impl Setting for LinkClassNames {
    const EXPECTED: &'static str = "a link class, or a list of them";
    fn read(value: &Value) -> Result<Self, String> {
        let names = match value {
            Value::String(name) => Ok(vec![name.clone()]),
            _ => Vec::read(value),
        };
        names
            .map(LinkClassNames)
            .map_err(|_| format!("{} is not {}", value.quoted(), Self::EXPECTED))
    }
    fn show(&self) -> serde_json::Value {
        self.0.show()
    }
}

#[cfg(test)]
mod tests;
