//! Where a collective reads and writes a member's data: blocks of a buffer.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use crate::abi::class;
use crate::datatype::{Datatype, element};
use crate::failure::{Failure, Outcome};
use crate::message::Elements;
use crate::process::Process;

/// Copies into a buffer what one member has brought.
pub(crate) fn unpack(datatype: &Datatype, buffer: *mut c_void, count: usize, bytes: &[u8]) -> Outcome<()> {
    if bytes.len() > datatype.bytes(count) {
        let text = format!(
            "{} bytes for a buffer of {} bytes",
            bytes.len(),
            datatype.bytes(count)
        );
        return Err(Failure::new(class::TRUNCATE, text));
    }
    // Safety: the program gave the buffer with this count.
    unsafe { datatype.unpack(bytes, buffer) };
    Ok(())
}

/// The block of one member.
#[derive(Clone)]
struct MemberBlock {
    start: *mut c_void,
    count: usize,
    datatype: Rc<Datatype>,
}

impl MemberBlock {
    fn bytes(&self) -> u64 {
        self.datatype.bytes(self.count) as u64
    }
}

/// The blocks of a buffer that has one for each member.
#[derive(Clone)]
pub(crate) struct MemberBlocks(Vec<MemberBlock>);

fn count_of(count: i64) -> Outcome<usize> {
    usize::try_from(count).map_err(|_| Failure::new(class::COUNT, count.to_string()))
}

impl MemberBlocks {
    /// Equal blocks, one after the other.
    ///
    /// # Errors
    /// There is no such datatype.
    pub fn equal(process: &Process, elements: Elements, members: usize) -> Outcome<MemberBlocks> {
        let datatype = process.datatypes.get(elements.datatype)?;
        let blocks = (0..members).map(|member| MemberBlock {
            start: element(
                elements.buffer,
                datatype.extent,
                (member * elements.count) as isize,
            ),
            count: elements.count,
            datatype: datatype.clone(),
        });
        Ok(MemberBlocks(blocks.collect()))
    }

    /// The same elements for each member.
    ///
    /// # Errors
    /// There is no such datatype.
    pub fn same(process: &Process, elements: Elements, members: usize) -> Outcome<MemberBlocks> {
        let block = MemberBlock {
            start: elements.buffer,
            count: elements.count,
            datatype: process.datatypes.get(elements.datatype)?.clone(),
        };
        Ok(MemberBlocks(vec![block; members]))
    }

    /// Blocks with counts and displacements of their own, in extents.
    ///
    /// # Errors
    /// There is no such datatype, or a count is negative.
    pub fn varying(
        process: &Process,
        (buffer, datatype): (*const c_void, c_int),
        counts: &[i64],
        displacements: &[i64],
    ) -> Outcome<MemberBlocks> {
        let datatype = process.datatypes.get(datatype)?;
        let blocks = counts.iter().zip(displacements).map(|(count, displacement)| {
            Ok(MemberBlock {
                start: element(buffer.cast_mut(), datatype.extent, *displacement as isize),
                count: count_of(*count)?,
                datatype: datatype.clone(),
            })
        });
        Ok(MemberBlocks(blocks.collect::<Outcome<_>>()?))
    }

    /// Blocks with counts, displacements in bytes and datatypes of their own.
    ///
    /// # Errors
    /// There is no such datatype, or a count is negative.
    pub fn mixed(
        process: &Process,
        (buffer, datatypes): (*const c_void, &[c_int]),
        counts: &[i64],
        displacements: &[i64],
    ) -> Outcome<MemberBlocks> {
        let places = counts.iter().zip(displacements).zip(datatypes);
        let blocks = places.map(|((count, displacement), datatype)| {
            Ok(MemberBlock {
                start: buffer.cast_mut().wrapping_byte_offset(*displacement as isize),
                count: count_of(*count)?,
                datatype: process.datatypes.get(*datatype)?.clone(),
            })
        });
        Ok(MemberBlocks(blocks.collect::<Outcome<_>>()?))
    }

    pub fn pack(&self, member: usize) -> Vec<u8> {
        let block = &self.0[member];
        // Safety: the program gave the buffer with these blocks.
        unsafe { block.datatype.pack(block.start, block.count) }
    }

    pub fn pack_all(&self) -> Vec<Vec<u8>> {
        (0..self.0.len()).map(|member| self.pack(member)).collect()
    }

    pub fn unpack(&self, member: usize, bytes: &[u8]) -> Outcome<()> {
        let block = &self.0[member];
        unpack(&block.datatype, block.start, block.count, bytes)
    }

    /// Copies what all have brought, but for one that is in place.
    pub fn fill(&self, contributions: &[Vec<u8>], in_place: Option<usize>) -> Outcome<()> {
        let others = contributions
            .iter()
            .enumerate()
            .filter(|(member, _)| Some(*member) != in_place);
        others
            .into_iter()
            .try_for_each(|(member, bytes)| self.unpack(member, bytes))
    }

    pub fn bytes(&self) -> Vec<u64> {
        self.0.iter().map(MemberBlock::bytes).collect()
    }

    /// Of a rank that neither reads nor writes.
    pub fn none() -> MemberBlocks {
        MemberBlocks(Vec::new())
    }
}
