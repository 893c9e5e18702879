//! Segments of long vectors, for pipelined algorithms.

/// Bytes of a segment.
pub(super) const SEGMENT: u64 = 64 << 10;

/// Number of segments of a vector. An empty vector has one segment.
pub(super) fn segments(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(SEGMENT).max(1)).unwrap_or(u32::MAX)
}

/// Bytes of one segment; all but the last are full. `None` beyond the last.
pub(super) fn segment(bytes: u64, index: u32) -> Option<u64> {
    let last = segments(bytes) - 1;
    match index {
        _ if index < last => Some(SEGMENT),
        _ if index == last => Some(bytes - u64::from(last) * SEGMENT),
        _ => None,
    }
}

/// The segment of a round in a pipeline whose first segment passes in round `first`.
pub(super) fn passing(bytes: u64, k: u32, first: u32) -> Option<u64> {
    segment(bytes, k.checked_sub(first)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_add_up() {
        for bytes in [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 10 * SEGMENT + 7] {
            let sizes: Vec<u64> = (0..).map_while(|index| segment(bytes, index)).collect();
            assert_eq!(sizes.iter().sum::<u64>(), bytes);
            assert_eq!(sizes.len() as u64, bytes.div_ceil(SEGMENT).max(1));
            assert!(sizes[..sizes.len() - 1].iter().all(|size| *size == SEGMENT));
        }
        assert_eq!(passing(2 * SEGMENT, 3, 4), None);
        assert_eq!((passing(5, 4, 4), passing(5, 5, 4)), (Some(5), None));
    }
}
