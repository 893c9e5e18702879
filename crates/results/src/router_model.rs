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
