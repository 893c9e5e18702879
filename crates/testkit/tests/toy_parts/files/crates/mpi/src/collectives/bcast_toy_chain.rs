//! Toy broadcast: from the root to the next rank, from that to the next, and so on. n - 1 messages of the whole
//! vector, one after the other.

use workload::Collective;

use super::{CollectiveAlgorithm, CollectiveArgs, HostLayout, Round};

pub(super) static ALGORITHM: CollectiveAlgorithm = CollectiveAlgorithm {
    collective: Collective::Bcast,
    name: "toy-chain",
    summary: "from rank to rank; n - 1 rounds of the whole vector",
    source: "this file",
    varying: false,
    layout: HostLayout::Any,
    round,
};

/// The rank at distance d behind the root receives in round d - 1 and sends in round d.
fn round(call: &CollectiveArgs, k: u32, out: &mut Round) -> bool {
    let distance = (call.rank + call.ranks - call.root) % call.ranks;
    if k + 1 == distance {
        out.receive(call.rank_before(1), call.bytes);
    }
    if k == distance && distance + 1 < call.ranks {
        out.send(call.rank_after(1), call.bytes);
    }
    k <= distance
}
