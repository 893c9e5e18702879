//! The data volume of a recorded collective.

use super::RecordedCalls;
use crate::{Call, Counts};

/// A buffer of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The send buffer.
    Send,
    /// The receive buffer.
    Receive,
}

/// Bytes of a collective, and the bytes that each rank sends and receives where they vary, for rank `own` of
/// `ranks`.
pub(super) fn amounts<R: RecordedCalls + ?Sized>(
    calls: &R,
    record: &R::Record,
    call: Call,
    (own, ranks): (usize, usize),
    is_root: bool,
) -> Result<(u64, Option<Counts>), String> {
    use Side::{Receive, Send};
    let bytes = |side| calls.buffer_bytes(record, side);
    // One of the two may be MPI_IN_PLACE.
    let either = |first, second| bytes(first).or_else(|_| bytes(second));
    let by_rank = |side| {
        let bytes = calls.bytes_by_rank(record, side)?;
        if bytes.len() != ranks {
            return Err(format!(
                "{} counts on a communicator of {ranks} ranks",
                bytes.len()
            ));
        }
        Ok(bytes)
    };
    let at_root = |side| if is_root { by_rank(side) } else { Ok(Vec::new()) };
    let varying = |bytes, sends, receives| Ok((bytes, Some(Counts::new(sends, receives))));
    let equal = |bytes: Result<u64, String>| Ok((bytes?, None));
    let in_place = calls.in_place(record);
    // A rank that is not in place sends a part to itself.
    let is_separate = in_place == Some(false);
    match call {
        Call::Barrier | Call::Ibarrier => Ok((0, None)),
        Call::Allgather | Call::Iallgather | Call::Alltoall | Call::Ialltoall => {
            if is_separate {
                check_own_part(own, bytes(Send)?, bytes(Receive)?)?;
            }
            equal(either(Receive, Send))
        }
        Call::Gather | Call::Igather | Call::Scatter | Call::Iscatter if is_root => {
            if is_separate {
                check_own_part(own, bytes(Send)?, bytes(Receive)?)?;
            }
            match call {
                Call::Gather | Call::Igather => equal(either(Receive, Send)),
                _ => equal(either(Send, Receive)),
            }
        }
        Call::Scatter | Call::Iscatter => equal(bytes(Receive)),
        Call::Gatherv | Call::Igatherv => {
            let receives = at_root(Receive)?;
            let sent = receives
                .get(own)
                .map_or_else(|| bytes(Send), |bytes| Ok(*bytes))?;
            if is_separate {
                check_own_part(own, bytes(Send)?, sent)?;
            }
            varying(sent, vec![sent], receives)
        }
        Call::Scatterv | Call::Iscatterv => {
            let sends = at_root(Send)?;
            let received = sends
                .get(own)
                .map_or_else(|| bytes(Receive), |bytes| Ok(*bytes))?;
            if is_separate {
                check_own_part(own, received, bytes(Receive)?)?;
            }
            varying(received, sends, vec![received])
        }
        Call::Allgatherv | Call::Iallgatherv => {
            let receives = by_rank(Receive)?;
            let own_part = receives.get(own).copied();
            if let Some(part) = own_part.filter(|_| is_separate) {
                check_own_part(own, bytes(Send)?, part)?;
            }
            varying(mean(&receives), own_part.into_iter().collect(), receives)
        }
        // `Other` is MPI_Alltoallw.
        Call::Alltoallv | Call::Ialltoallv | Call::Other => {
            let receives = by_rank(Receive)?;
            let sends = match in_place {
                Some(true) => receives.clone(),
                Some(false) => by_rank(Send)?,
                // The record does not tell. A call that is not in place sends to itself what it expects from
                // itself.
                None => by_rank(Send).map(|sends| match sends.get(own) == receives.get(own) {
                    true => sends,
                    false => receives.clone(),
                })?,
            };
            if let (Some(sent), Some(received)) = (sends.get(own), receives.get(own)) {
                check_own_part(own, *sent, *received)?;
            }
            varying(mean(&sends), sends, receives)
        }
        Call::ReduceScatter | Call::IreduceScatter => {
            let receives = by_rank(Receive)?;
            varying(sum(&receives), Vec::new(), receives)
        }
        Call::ReduceScatterBlock | Call::IreduceScatterBlock => {
            let part = bytes(Send)?;
            let total = part.checked_mul(ranks as u64);
            equal(total.ok_or_else(|| format!("{part} bytes for each of {ranks} ranks")))
        }
        _ => equal(bytes(Send)),
    }
}

/// Checks the part that rank `own` of the communicator sends to itself.
fn check_own_part(own: usize, sent: u64, received: u64) -> Result<(), String> {
    if sent == received {
        return Ok(());
    }
    Err(unequal_own_parts(own as u64, sent, received))
}

/// Message of a rank whose send and receive buffers differ in size.
pub fn unequal_own_parts(own: u64, sent: u64, received: u64) -> String {
    format!(
        "rank {own} of the communicator sends {sent} B to itself and expects {received} B from itself; MPI requires \
         equal sizes"
    )
}

fn sum(bytes: &[u64]) -> u64 {
    bytes.iter().copied().fold(0, u64::saturating_add)
}

fn mean(bytes: &[u64]) -> u64 {
    sum(bytes).div_ceil(bytes.len().max(1) as u64)
}
