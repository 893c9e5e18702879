//! The virtual channels of links: the tables `[[network.traffic_class]]`, the key `job.traffic_class`, and
//! `network.router.vc_copies`.

use config::{Parameter, PrintableName, Section, parameters};
use fabric::TrafficClasses;
use fabric::router::RouterParameters;
use routing::Routing;

use crate::setup::model_needs::require;

/// The key of `[network.router]` for copies of virtual channels.
pub const VC_COPIES: &str = "vc_copies";

/// Keys of `[[network.traffic_class]]`.
pub const TRAFFIC_CLASS: &[Parameter] = parameters! {
    required("name", config::Type::Text, "name of the traffic class, for `job.traffic_class`");
    integer("weight", 1, "share of a link among the classes of one priority that have packets for it, 1 to 255");
    integer("priority", 0, "packets of a higher priority always go first, 0 to 255");
};

/// Reads the traffic classes with their names. Without a table all packets have one class, which has no name.
///
/// # Errors
/// Two classes have one name, a number is out of range, there are too many classes or virtual channels, or the router
/// model has none.
pub fn read(
    network: &Section,
    routing: &dyn Routing,
    models: &[(&Section, RouterParameters)],
) -> Result<(Vec<String>, TrafficClasses), config::Error> {
    let router = network.section("router")?;
    let vcs = (routing.vcs(), read_copies(router, routing, models)?);
    if !network.has("traffic_class") {
        let classes = TrafficClasses::new(vcs, &[(1, 0)]);
        return Ok((
            Vec::new(),
            classes.map_err(|message| router.error(VC_COPIES, message))?,
        ));
    }
    let sections = network.sections("traffic_class")?;
    let (mut names, mut classes) = (Vec::new(), Vec::new());
    for section in sections {
        section.declare(TRAFFIC_CLASS);
        let PrintableName(name) = section.required("name")?;
        if names.contains(&name) {
            let message = format!("two traffic classes have the name '{name}'; expected different names");
            return Err(section.error("name", message));
        }
        let number = |key: &str, least: i64| -> Result<u8, config::Error> {
            let value: i64 = section.get(key)?;
            match u8::try_from(value) {
                Ok(number) if value >= least => Ok(number),
                _ => {
                    let message =
                        format!("{value} is out of range; expected a whole number from {least} to 255");
                    Err(section.error(key, message))
                }
            }
        };
        classes.push((number("weight", 1)?, number("priority", 0)?));
        names.push(name);
    }
    let classes =
        TrafficClasses::new(vcs, &classes).map_err(|message| network.error("traffic_class", message))?;
    if !classes.is_one() {
        for (section, model) in models {
            require(
                section,
                *model,
                |has| has.traffic_classes,
                "cannot let one traffic class go before another",
                "at most one table [[network.traffic_class]]",
            )?;
        }
    }
    Ok((names, classes))
}

/// Reads the number of copies of each virtual channel that routing needs.
///
/// # Errors
/// The number is out of range, or there are copies and the router model or the routing cannot have any.
fn read_copies(
    router: &Section,
    routing: &dyn Routing,
    models: &[(&Section, RouterParameters)],
) -> Result<u8, config::Error> {
    let copies: i64 = router.get(VC_COPIES)?;
    let in_range = u8::try_from(copies).ok().filter(|copies| *copies >= 1);
    let Some(copies) = in_range else {
        let message = format!("{copies} is out of range; expected a whole number from 1 to 255");
        return Err(router.error(VC_COPIES, message));
    };
    if copies == 1 {
        return Ok(1);
    }
    if routing.packets_per_vc() > 1 {
        let message = "routing with bubbles counts the free space of one virtual channel; expected vc_copies = 1, or \
                       routing without bubbles";
        return Err(router.error(VC_COPIES, message));
    }
    for (section, model) in models {
        require(
            section,
            *model,
            |has| has.vc_copies,
            "makes no choice among copies of virtual channels",
            "vc_copies = 1",
        )?;
    }
    Ok(copies)
}

/// The number of a job's traffic class.
///
/// # Errors
/// No class has the name.
pub fn of_job(job: &Section, names: &[String]) -> Result<u8, config::Error> {
    let Some(name) = job.optional::<String>("traffic_class")? else {
        return Ok(0);
    };
    if let Some(class) = names.iter().position(|one| *one == name) {
        return Ok(class as u8);
    }
    let known = match names {
        [] => "the network has no table [[network.traffic_class]]; expected the job without this key, or such a table"
            .to_string(),
        names => format!("expected one of {}", names.join(", ")),
    };
    Err(job.error(
        "traffic_class",
        format!("unknown traffic class '{name}'; {known}"),
    ))
}
