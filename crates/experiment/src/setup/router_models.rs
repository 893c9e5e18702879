//! The router models of a network: `[network.router]` for all routers, and the tables `[[network.routers]]` for those
//! of some groups, levels or numbers. Models that meet at a link must understand what the other one sends there.

use config::{Parameter, Section, Setting, Type, Value, parameters};
use des::Time;
use fabric::router::RouterParameters;
use fabric::{FlitFlow, NicCapabilities, NicParameters, Rate, RouterCapabilities, Switching, nic};
use topology::{RouterId, Shape, Topology};

/// The table of `[network]` for some routers.
pub const ROUTERS_TABLE: &str = "routers";

/// The keys that select routers.
const SELECTORS: [&str; 3] = ["groups", "levels", "routers"];

/// What selects numbers.
const SELECTION: Type = Type::Either(&[Type::Integer, Type::Text, Type::INTEGERS]);

/// Keys of `[[network.routers]]`, beside those of the router model.
pub const ROUTERS: &[Parameter] = parameters! {
    required("model", Type::Text, "router model of these routers, with its own parameters beside it");
    computed("groups", SELECTION, "no groups", "routers of these groups of a dragonfly, a number, a list, or a text such as \"0-3, 8\"");
    computed("levels", SELECTION, "no levels", "routers of these levels of a tree, leaves are level 0");
    computed("routers", SELECTION, "no routers", "routers with these numbers, in each plane");
};

/// Numbers from 0 on that an experiment selects.
struct Numbers(Vec<(u32, u32)>);

impl Setting for Numbers {
    const EXPECTED: &'static str =
        "a whole number, a list of whole numbers, or numbers and ranges such as \"0-3, 8\"";

    fn read(value: &Value) -> Result<Numbers, String> {
        let unexpected = || format!("{} is not {}", value.quoted(), Numbers::EXPECTED);
        match value {
            Value::Integer(_) => u32::read(value).map(|number| Numbers(vec![(number, number)])),
            Value::List(_) => {
                let numbers = Vec::<u32>::read(value)?;
                Ok(Numbers(
                    numbers.into_iter().map(|number| (number, number)).collect(),
                ))
            }
            Value::String(text) => {
                let number = |text: &str| text.trim().parse::<u32>().ok();
                let range = |part: &str| match part.split_once('-') {
                    None => number(part).map(|number| (number, number)),
                    Some((first, last)) => Some((number(first)?, number(last)?)).filter(|(a, b)| a <= b),
                };
                let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
                ranges.map(Numbers).ok_or_else(unexpected)
            }
            _ => Err(unexpected()),
        }
    }

    fn show(&self) -> serde_json::Value {
        let shown = |(first, last): &(u32, u32)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        let ranges: Vec<String> = self.0.iter().map(shown).collect();
        serde_json::Value::from(ranges.join(", "))
    }
}

/// The models of the routers of a network, and of the NICs beside them.
#[derive(Clone, Debug)]
pub struct RouterModels {
    /// Each model that a router has, once, with the model of its NICs.
    models: Vec<(RouterParameters, NicParameters)>,
    /// By router of a plane the index of its model; empty if there is one.
    of_router: Vec<u8>,
    /// What all of them declare.
    capabilities: RouterCapabilities,
}

/// The router models that an experiment gives: sections, and which one applies to which router.
pub(super) struct GivenModels<'a> {
    /// Each model that a router has, once, with a table that gives it.
    pub of: Vec<(&'a Section, RouterParameters)>,
    /// By router of a plane the index of its model; empty if there is one.
    of_router: Vec<u8>,
}

impl GivenModels<'_> {
    /// Reads `[network.router]` and `[[network.routers]]`, of a network with planes of this topology.
    ///
    /// # Errors
    /// A wrong value, a selection without routers or of routers that are selected already, or models that do not
    /// understand each other.
    pub fn read<'a>(network: &'a Section, plane: &dyn Topology) -> Result<GivenModels<'a>, config::Error> {
        let router = network.section("router")?;
        let common = RouterParameters::read(router)?;
        // Results without such tables do not mention them.
        if !network.has(ROUTERS_TABLE) {
            return Ok(GivenModels {
                of: vec![(router, common)],
                of_router: Vec::new(),
            });
        }
        let mut given: Vec<(&Section, RouterParameters)> = vec![(router, common)];
        let mut of_router: Vec<u8> = vec![0; plane.routers() as usize];
        // By router the number of the table that selects it, from 1 on.
        let mut selected_by = vec![0; of_router.len()];
        for (table, section) in (1..).zip(network.sections(ROUTERS_TABLE)?) {
            section.declare(ROUTERS);
            section.required::<String>("model")?;
            let model = RouterParameters::read(section)?;
            let index = match given.iter().position(|(_, other)| *other == model) {
                Some(index) => index,
                None => {
                    given.push((section, model));
                    given.len() - 1
                }
            };
            let Ok(index) = u8::try_from(index) else {
                return Err(section.error("", "more than 255 different router models; expected fewer"));
            };
            let (key, routers) = selected(section, plane)?;
            for router in routers {
                let place = router.0 as usize;
                if selected_by[place] != 0 {
                    let message = format!(
                        "router {} ({}) is in table {} of [[network.{ROUTERS_TABLE}]], too; expected tables without \
                         common routers",
                        router.0,
                        plane.coordinates(router),
                        selected_by[place]
                    );
                    return Err(section.error(key, message));
                }
                (selected_by[place], of_router[place]) = (table, index);
            }
        }
        Ok(GivenModels::without_unused(given, of_router))
    }

    /// Leaves out models that no router has.
    fn without_unused<'a>(
        given: Vec<(&'a Section, RouterParameters)>,
        mut of_router: Vec<u8>,
    ) -> GivenModels<'a> {
        let mut of = Vec::new();
        let mut number_of = vec![0; given.len()];
        for (index, model) in given.into_iter().enumerate() {
            if of_router.iter().any(|of| usize::from(*of) == index) {
                number_of[index] = of.len() as u8;
                of.push(model);
            }
        }
        match of.len() {
            1 => of_router.clear(),
            _ => of_router
                .iter_mut()
                .for_each(|of| *of = number_of[usize::from(*of)]),
        }
        GivenModels { of, of_router }
    }

    /// Requires models that understand what the others send over links.
    ///
    /// # Errors
    /// Two models cannot meet at a link.
    pub fn check_links(&self) -> Result<(), config::Error> {
        let (first, others) = self.of.split_first().expect("each router has a model");
        for (section, model) in others {
            for (_, other) in [first].into_iter().chain(others) {
                if let Some(why) = refusal(model, other).or_else(|| refusal(other, model)) {
                    let message = format!(
                        "{why}; expected one router model for all routers, or models that can meet at a link \
                         (docs/methods/router-models.md)"
                    );
                    return Err(section.error("model", message));
                }
            }
        }
        Ok(())
    }

    /// The models, with those of NICs.
    ///
    /// # Errors
    /// No NIC model fits, or one is given where several are needed.
    pub fn with_nics(&self, nic: &Section) -> Result<RouterModels, config::Error> {
        let capabilities = self
            .of
            .iter()
            .map(|(_, model)| model.capabilities())
            .reduce(RouterCapabilities::joint)
            .expect("each router has a model");
        let names: Vec<&str> = self.of.iter().map(|(_, model)| default_nic(*model)).collect();
        let needs_several = names.iter().any(|name| *name != names[0]);
        if needs_several && nic.has("model") {
            let message = "the hosts of these routers need NICs of several models, each that of its router; expected no \
                           model";
            return Err(nic.error("model", message));
        }
        let mut models = Vec::new();
        for ((_, model), name) in self.of.iter().zip(names) {
            let own = match needs_several {
                true => NicParameters::read_named(nic, name)?,
                false => NicParameters::read(nic, name)?,
            };
            models.push((*model, own));
        }
        Ok(RouterModels {
            models,
            of_router: self.of_router.clone(),
            capabilities,
        })
    }
}

/// Why a router of one model cannot send to one of the other; `None` if it can.
fn refusal(from: &RouterParameters, to: &RouterParameters) -> Option<String> {
    if from == to {
        return None;
    }
    let (sender, receiver) = (from.name(), to.name());
    let (sends, receives) = (from.capabilities(), to.capabilities());
    if sends.crosses_at_once {
        return Some(format!(
            "with the model \"{sender}\" packets cross the network without its routers"
        ));
    }
    if sends.takes_credits != receives.takes_credits {
        let (without, with) = match sends.takes_credits {
            true => (receiver, sender),
            false => (sender, receiver),
        };
        return Some(format!(
            "routers of the model \"{without}\" take no credits, and those of \"{with}\" wait for them"
        ));
    }
    if let Some(own) = sends.flits {
        return refusal_of_flits((sender, own), (receiver, receives));
    }
    if sends.sends_signals && !(sender == receiver && receives.sends_signals) {
        return Some(format!(
            "the model \"{sender}\", with these parameters, sends over links what the model \"{receiver}\" does not \
             understand"
        ));
    }
    None
}

/// Why a router that moves flits cannot send to another one.
fn refusal_of_flits(
    (sender, own): (&str, FlitFlow),
    (receiver, receives): (&str, RouterCapabilities),
) -> Option<String> {
    // Where a packet leaves the flits, all of it is in one buffer, and its virtual channel is any.
    if own.private_part.is_some() || own.vcs_by_next_output || own.host_vcs_by_routing {
        return Some(format!(
            "beside other models, the model \"{sender}\" needs buffers = \"private\", vc_assignment = \"any\" and \
             host_vcs = \"any\""
        ));
    }
    if receives.flits.is_some_and(|others| others.bytes != own.bytes) {
        return Some("routers with flits of different sizes cannot count each other's credits".into());
    }
    if receives.stores_packets {
        return Some(format!(
            "flits of the model \"{sender}\" cannot be stored by the model \"{receiver}\" with switching = \
             \"store-and-forward\""
        ));
    }
    None
}

/// The NIC model of experiments that name none: one that understands the signals of the router model, if there are any.
fn default_nic(model: RouterParameters) -> &'static str {
    let understands = |nic: &nic::NicModelKind| nic.capabilities.signals_of == Some(model.name());
    match nic::MODELS
        .iter()
        .find(|nic| model.capabilities().signals_to_hosts && understands(nic))
    {
        Some(nic) => nic.name,
        None => nic::DEFAULT_MODEL,
    }
}

/// The routers that a table selects, with the key that does.
fn selected(section: &Section, plane: &dyn Topology) -> Result<(&'static str, Vec<RouterId>), config::Error> {
    let mut given = SELECTORS.into_iter().filter(|key| section.has(key));
    let (Some(key), None) = (given.next(), given.next()) else {
        let message =
            "which routers have this model is not clear; expected exactly one of groups, levels and routers";
        return Err(section.error("", message));
    };
    let numbers: Numbers = section.required(key)?;
    let shape = plane.shape();
    type NumberOf<'a> = Box<dyn Fn(RouterId) -> u32 + 'a>;
    let (number_of, count, what): (NumberOf<'_>, u32, _) = match (key, shape) {
        ("routers", _) => (Box::new(|router: RouterId| router.0), plane.routers(), "routers"),
        ("groups", Shape::Groups(groups)) => {
            (Box::new(|router| groups.group(router)), groups.groups(), "groups")
        }
        ("levels", Shape::Tree(tree)) => (Box::new(|router| tree.level(router)), tree.levels(), "levels"),
        _ => {
            let message =
                format!("this topology has no {key}; expected routers = \"...\", the numbers of routers");
            return Err(section.error(key, message));
        }
    };
    if let Some((_, last)) = numbers.0.iter().find(|(_, last)| *last >= count) {
        let message = format!(
            "{last} is out of range: the network has {what} 0 to {}",
            count - 1
        );
        return Err(section.error(key, message));
    }
    let is_selected = |number: u32| {
        numbers
            .0
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&number))
    };
    let routers: Vec<RouterId> = (0..plane.routers())
        .map(RouterId)
        .filter(|router| is_selected(number_of(*router)))
        .collect();
    match routers.is_empty() {
        true => Err(section.error(key, format!("no {what}; expected at least one"))),
        false => Ok((key, routers)),
    }
}

impl RouterModels {
    /// The index of the model of a router, below [`RouterModels::count`].
    pub fn index_of(&self, router: RouterId) -> usize {
        match self.of_router.len() as u32 {
            0 => 0,
            // The planes are alike.
            routers => usize::from(self.of_router[(router.0 % routers) as usize]),
        }
    }

    /// Number of different models.
    pub fn count(&self) -> usize {
        self.models.len()
    }

    /// The model of a router with its parameters.
    pub fn of(&self, router: RouterId) -> RouterParameters {
        self.models[self.index_of(router)].0
    }

    /// The NIC model beside a router with its parameters.
    pub fn nic_of(&self, router: RouterId) -> NicParameters {
        self.models[self.index_of(router)].1
    }

    /// Each model once.
    pub fn all(&self) -> impl ExactSizeIterator<Item = RouterParameters> {
        self.models.iter().map(|(model, _)| *model)
    }

    /// Each NIC model once for each router model.
    pub fn nics(&self) -> impl ExactSizeIterator<Item = NicParameters> {
        self.models.iter().map(|(_, nic)| *nic)
    }

    /// What holds for all routers together.
    pub fn capabilities(&self) -> RouterCapabilities {
        self.capabilities
    }

    /// What holds for all NICs together.
    pub fn nic_capabilities(&self) -> NicCapabilities {
        let all = self.nics().map(|nic| nic.capabilities());
        all.reduce(NicCapabilities::joint)
            .expect("each router has a model")
    }

    /// Bandwidth at which NIC ports pass packets on into memory ([`NicParameters::memory_rate`]).
    pub fn memory_rate(&self) -> Option<Rate> {
        // The keys of all NICs are the same.
        self.models[0].1.memory_rate()
    }

    /// Wait for the link to a host beyond which packets are marked ([`NicParameters::mark_after`]).
    pub fn mark_after(&self) -> Option<Time> {
        self.nics().find_map(|nic| nic.mark_after())
    }

    /// When a packet may move into a buffer behind the links of routers, and of hosts: a model that needs space for all
    /// of it may be at any end.
    pub(super) fn needed_space(&self) -> (Switching, Switching) {
        let needed = |all: Vec<Switching>| match all.contains(&Switching::CutThrough) {
            true => Switching::CutThrough,
            false => Switching::Wormhole,
        };
        (
            needed(self.all().map(|model| model.capabilities().switching).collect()),
            needed(self.nics().map(|nic| nic.capabilities().switching).collect()),
        )
    }

    /// Each model with its number of routers in a plane and their numbers, such as `0-3, 8`; empty if there is one.
    pub fn shares(&self) -> Vec<(RouterParameters, u32, String)> {
        let share = |index: usize| {
            let is_own = |router: &usize| usize::from(self.of_router[*router]) == index;
            let own: Vec<usize> = (0..self.of_router.len()).filter(is_own).collect();
            let ranges = own.chunk_by(|one, next| one + 1 == *next);
            let shown = |range: &[usize]| match range {
                [first, .., last] => format!("{first}-{last}"),
                [one] => one.to_string(),
                [] => String::new(),
            };
            let numbers: Vec<String> = ranges.map(shown).collect();
            (self.models[index].0, own.len() as u32, numbers.join(", "))
        };
        match self.of_router.is_empty() {
            true => Vec::new(),
            false => (0..self.models.len()).map(share).collect(),
        }
    }

    /// Bytes of a flit, which are the same for all routers that have flits; `None` without such routers.
    pub fn flit(&self) -> Option<u32> {
        self.capabilities.flits.map(|flits| flits.bytes)
    }

    /// What a router declares.
    pub fn capabilities_of(&self, router: RouterId) -> RouterCapabilities {
        self.of(router).capabilities()
    }
}
