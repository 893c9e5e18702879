//! Arbiters: which of several packets takes an output of a crossbar.

/// The arbitration among packets that could be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arbiter {
    /// Round robin: the first after the one that has won last.
    #[default]
    RoundRobin,
    /// In each cycle another input is asked first, whichever has won last. An input can win each time where the cycles
    /// between two turns are a multiple of the inputs.
    Rotating,
    /// Uniformly random.
    Random,
    /// The input and virtual channel that has won least recently.
    LeastRecentlyUsed,
    /// The packet whose message was handed over first.
    Age,
    /// iSLIP: outputs grant and inputs accept, each round robin, in several iterations (N. McKeown, "The iSLIP
    /// scheduling algorithm for input-queued switches", IEEE/ACM Transactions on Networking 7(2), 1999).
    Islip,
    /// The packet that has asked first. Packets never wait behind others that need another output.
    FirstCome,
}

impl Arbiter {
    /// The arbiter with this name in experiments.
    pub fn named(name: &str) -> Option<Arbiter> {
        Some(match name {
            "round-robin" => Arbiter::RoundRobin,
            "rotating" => Arbiter::Rotating,
            "random" => Arbiter::Random,
            "least-recently-used" => Arbiter::LeastRecentlyUsed,
            "age" => Arbiter::Age,
            "islip" => Arbiter::Islip,
            "first-come" => Arbiter::FirstCome,
            _ => return None,
        })
    }
}
