//! What packets wait for in a router model, in words.

use crate::Summary;

/// The router model of a run and what a packet waits for in it, such as "packet: packets wait for links and credits".
/// Of a model without an explanation the name; `None` if the summary has no name.
pub fn router_model(summary: &Summary) -> Option<String> {
    let name = summary.experiment["network"]["router"]["model"].as_str()?;
    let told = match waits_for(name) {
        Some(waits) => format!("{name}: packets wait for {waits}"),
        None => name.into(),
    };
    let others = other_router_models(summary);
    Some(match others.is_empty() {
        true => told,
        false => format!("{told}; some routers: {}", others.join(", ")),
    })
}

/// The router models that tables `[[network.routers]]` give to some routers, each once.
pub fn other_router_models(summary: &Summary) -> Vec<&str> {
    let tables = summary.experiment["network"]["routers"].as_array();
    let mut models = Vec::new();
    for model in tables
        .into_iter()
        .flatten()
        .filter_map(|table| table["model"].as_str())
    {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    models
}

/// What a packet waits for in the router model of this name; `None` without an explanation.
pub fn waits_for(model: &str) -> Option<&'static str> {
    Some(match model {
        "analytic" => "ports of hosts only",
        "output-queued" => "links",
        "packet" => "links and credits",
        "input-queued" => "their queue, the crossbar, links and credits",
        "flit" => "virtual channels, the switch, links and credits, flit by flit",
        "crossbar" => "output buffers, the crossbar, links and credits",
        _ => return None,
    })
}

/// The router model of a run whose routers all have one; `None` if some have another one.
pub fn only_router_model(summary: &Summary) -> Option<&str> {
    let model = summary.experiment["network"]["router"]["model"].as_str()?;
    let others = other_router_models(summary);
    others.iter().all(|other| *other == model).then_some(model)
}

/// From which uniform load on a router model differs from the next finer one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffFrom {
    /// The model.
    pub model: &'static str,
    /// The next finer model.
    pub next: &'static str,
    /// The least load at which the mean latency, or the accepted load in saturation, differs by more than 5 %: the
    /// least and the greatest of the networks of `studies/router-models`.
    pub loads: [f64; 2],
}

/// The models that are off from some uniform load on: the table of `docs/methods/router-models.md`. `output-queued`
/// never is, against `packet`, and no finer model than `flit` was compared.
pub const OFF_FROM: [OffFrom; 4] = [
    off_from("analytic", "output-queued", [0.4, 0.6]),
    off_from("packet", "input-queued", [0.6, 0.7]),
    off_from("input-queued", "crossbar", [0.7, 0.8]),
    off_from("crossbar", "flit", [0.6, 0.7]),
];

const fn off_from(model: &'static str, next: &'static str, loads: [f64; 2]) -> OffFrom {
    OffFrom { model, next, loads }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loads_are_those_of_the_page() {
        let page = include_str!("../../../docs/methods/router-models.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| [`")).collect();
        for OffFrom { model, next, loads } in OFF_FROM {
            let place = rows
                .iter()
                .position(|row| row.starts_with(&format!("| [`{model}`]")));
            let place = place.unwrap_or_else(|| panic!("the page has no {model}"));
            let [least, greatest] = loads;
            assert!(
                rows[place].contains(&format!("uniform {least} to {greatest}")),
                "{model}: {}",
                rows[place]
            );
            assert!(rows[place + 1].starts_with(&format!("| [`{next}`]")), "{model}");
        }
        let others = rows.iter().filter(|row| row.contains("| uniform "));
        assert_eq!(others.count(), OFF_FROM.len());
    }
}
