//! Views of files (MPI 4.1, section 14.3): which bytes of a file a rank sees, as one line of elementary types.

use std::rc::Rc;

use crate::abi::class;
use crate::datatype::{Datatype, PartType};
use crate::failure::{Failure, Outcome};

/// How values are in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataRepresentation {
    /// As in memory.
    Native,
    /// The same, as all ranks are processes of one machine.
    Internal,
    /// With the most significant byte first.
    External32,
}

impl DataRepresentation {
    /// The representation of a name; `None` for another one.
    pub fn named(name: &str) -> Option<DataRepresentation> {
        let all = [
            DataRepresentation::Native,
            DataRepresentation::Internal,
            DataRepresentation::External32,
        ];
        all.into_iter().find(|one| one.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            DataRepresentation::Native => "native",
            DataRepresentation::Internal => "internal",
            DataRepresentation::External32 => "external32",
        }
    }

    /// Turns packed elements from the order of this machine into that of the file, or back.
    pub fn convert(self, datatype: &Datatype, packed: &mut [u8]) {
        if self == DataRepresentation::External32 && cfg!(target_endian = "little") {
            datatype.swap_bytes(packed);
        }
    }
}

/// Neighbouring bytes of a file type.
#[derive(Clone, Copy, Debug)]
struct ViewPiece {
    /// From the start of the file type.
    offset: u64,
    bytes: u64,
    /// Bytes of the file type before these.
    before: u64,
}

/// A view.
#[derive(Clone, Debug)]
pub(crate) struct FileView {
    pub displacement: u64,
    /// What the program has given, for `MPI_File_get_view`.
    pub etype: PartType,
    pub file_type: PartType,
    pub representation: DataRepresentation,
    pub etype_bytes: u64,
    /// Bytes of data in a file type, and from one to the next.
    size: u64,
    extent: u64,
    pieces: Rc<[ViewPiece]>,
}

/// The pieces of a file type, neighbours joined.
///
/// # Errors
/// Its type map goes back, or overlaps where that is not allowed (MPI 4.1, section 14.1.1). The class is that of MPICH.
fn pieces_of(datatype: &Datatype, overlaps: bool) -> Outcome<Vec<ViewPiece>> {
    let mut pieces: Vec<ViewPiece> = Vec::new();
    let (mut before, mut last_start) = (0, 0);
    for run in datatype.runs.iter() {
        let end = pieces.last().map_or(0, |last| last.offset + last.bytes);
        let least = if overlaps { last_start } else { end };
        let offset = u64::try_from(run.offset).ok();
        let Some(offset) = offset.filter(|offset| *offset >= least) else {
            let text =
                "the displacements of a file type must not be negative, decrease, or overlap for writing";
            return Err(Failure::new(class::IO, text));
        };
        let bytes = run.bytes as u64;
        match pieces.last_mut() {
            Some(last) if offset == end => last.bytes += bytes,
            _ => pieces.push(ViewPiece {
                offset,
                bytes,
                before,
            }),
        }
        (before, last_start) = (before + bytes, offset);
    }
    Ok(pieces)
}

impl FileView {
    /// A view of elementary types in a file type, which may overlap in a file that is only read.
    ///
    /// # Errors
    /// They make no view.
    pub fn new(
        displacement: u64,
        (etype, etype_part): (&Datatype, PartType),
        (file_type, file_part): (&Datatype, PartType),
        representation: DataRepresentation,
        overlaps: bool,
    ) -> Outcome<FileView> {
        let pieces = pieces_of(file_type, overlaps)?;
        pieces_of(etype, overlaps)?;
        let (size, etype_bytes) = (file_type.size as u64, etype.size as u64);
        if etype_bytes == 0 || !size.is_multiple_of(etype_bytes) {
            let text = format!("a file type of {size} bytes, of elementary types of {etype_bytes} bytes");
            return Err(Failure::new(class::ARG, text));
        }
        let extent = u64::try_from(file_type.extent).ok();
        let extent = extent.filter(|extent| *extent > 0 || size == 0);
        let extent =
            extent.ok_or_else(|| Failure::new(class::IO, "the extent of a file type is not positive"))?;
        Ok(FileView {
            displacement,
            etype: etype_part,
            file_type: file_part,
            representation,
            etype_bytes,
            size,
            extent,
            pieces: pieces.into(),
        })
    }

    /// Where the file types that have the bytes from `start` of the view are, and the piece with the first one.
    fn locate(&self, start: u64) -> (u64, usize, u64) {
        let (element, within) = (start / self.size, start % self.size);
        let piece = self.pieces.partition_point(|piece| piece.before <= within) - 1;
        (element, piece, within - self.pieces[piece].before)
    }

    /// Does something with the place and length of each part of the file, in the order of the view, while it says so.
    ///
    /// # Errors
    /// As that, or the view has no such bytes.
    pub fn for_each_part(
        &self,
        start: u64,
        bytes: u64,
        mut act: impl FnMut(u64, usize) -> Outcome<bool>,
    ) -> Outcome<()> {
        if bytes == 0 {
            return Ok(());
        }
        if self.size == 0 {
            return Err(Failure::new(class::IO, "the file type of the view has no data"));
        }
        // File types without gaps are one part, however many.
        if self.size == self.extent
            && let [piece] = *self.pieces
        {
            act(self.displacement + piece.offset + start, bytes as usize)?;
            return Ok(());
        }
        let (mut element, mut index, mut skipped) = self.locate(start);
        let mut rest = bytes;
        while rest > 0 {
            let piece = self.pieces[index];
            let now = rest.min(piece.bytes - skipped);
            let at = self.displacement + element * self.extent + piece.offset + skipped;
            if !act(at, now as usize)? {
                return Ok(());
            }
            rest -= now;
            (index, skipped) = (index + 1, 0);
            if index == self.pieces.len() {
                (index, element) = (0, element + 1);
            }
        }
        Ok(())
    }

    /// Where a byte of the view is in the file.
    ///
    /// # Errors
    /// The view has no bytes.
    pub fn byte_offset(&self, start: u64) -> Outcome<u64> {
        let mut found = self.displacement;
        self.for_each_part(start, 1, |at, _| {
            found = at;
            Ok(false)
        })?;
        Ok(found)
    }

    /// Number of elementary types up to the end of a file of this length, with the last one if it is partial.
    pub fn etypes_in(&self, length: u64) -> u64 {
        let length = length.saturating_sub(self.displacement);
        let ends = self.pieces.iter().map(|piece| {
            let reach = length.saturating_sub(piece.offset);
            match reach.div_ceil(self.extent.max(1)) {
                0 => 0,
                elements => {
                    let last = elements - 1;
                    last * self.size + piece.before + piece.bytes.min(reach - last * self.extent)
                }
            }
        });
        ends.max().unwrap_or(0).div_ceil(self.etype_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Basic;

    /// `MPI_INT`.
    const INT: std::ffi::c_int = 0x4c00_0405;

    fn parts(view: &FileView, start: u64, bytes: u64) -> Vec<(u64, usize)> {
        let mut parts = Vec::new();
        let done = view.for_each_part(start, bytes, |at, bytes| {
            parts.push((at, bytes));
            Ok(true)
        });
        assert!(done.is_ok());
        parts
    }

    fn view_that(overlaps: bool, file_type: &Datatype) -> Outcome<FileView> {
        let int = Datatype::predefined(4, 4, Basic::I32);
        let part = || PartType::Predefined(INT);
        let native = DataRepresentation::Native;
        FileView::new(100, (&int, part()), (file_type, part()), native, overlaps)
    }

    fn view(file_type: &Datatype) -> Outcome<FileView> {
        view_that(false, file_type)
    }

    #[test]
    fn a_view_with_gaps_has_its_bytes_in_order() {
        let int = Datatype::predefined(4, 4, Basic::I32);
        // Two neighbours and a third one after a gap, every 24 bytes.
        let gaps = Datatype::of_parts(&[(0, 1, &int), (4, 1, &int), (12, 1, &int)]).resized(0, 24);
        let view = view(&gaps).unwrap_or_else(|failure| panic!("{}", failure.text));
        assert_eq!(parts(&view, 0, 12), [(100, 8), (112, 4)]);
        assert_eq!(parts(&view, 6, 8), [(106, 2), (112, 4), (124, 2)]);
        assert_eq!(view.byte_offset(20).ok(), Some(136));
        assert_eq!(parts(&view, 3, 0), []);
        // Bytes 100 to 108, 112 to 116, 124 to 132, 136 to 140.
        let ends = [
            (0, 0),
            (100, 0),
            (101, 1),
            (108, 2),
            (112, 2),
            (113, 3),
            (124, 3),
            (125, 4),
            (400, 38),
        ];
        for (length, etypes) in ends {
            assert_eq!(view.etypes_in(length), etypes, "{length} bytes");
        }
    }

    #[test]
    fn file_types_do_not_go_back() {
        let int = Datatype::predefined(4, 4, Basic::I32);
        assert!(view(&Datatype::of_parts(&[(8, 1, &int), (0, 1, &int)])).is_err());
        assert!(view(&Datatype::of_parts(&[(-4, 1, &int)])).is_err());
        let twice = Datatype::of_parts(&[(0, 2, &int), (4, 1, &int)]);
        assert!(view(&twice).is_err());
        let twice = view_that(true, &twice).unwrap_or_else(|failure| panic!("{}", failure.text));
        assert_eq!(parts(&twice, 0, 16), [(100, 8), (104, 4), (108, 4)]);
        let byte = Datatype::predefined(1, 1, Basic::Byte);
        assert!(view(&byte).is_err(), "less than an elementary type");
    }
}
