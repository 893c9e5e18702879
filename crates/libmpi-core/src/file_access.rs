//! Reading and writing of files (MPI 4.1, section 14.4). The data is there when the call returns.

use std::ffi::c_int;

use crate::abi::{self, MpiStatus, class};
use crate::failure::{Failure, Outcome};
use crate::file::{FileAccess, FilePlace, SplitAccess, mode};
use crate::file_calls::no_sequential;
use crate::message::Elements;
use crate::process::Process;
use crate::request::ActiveRequest;

impl Process {
    /// Number of elementary types that an access reads or writes.
    ///
    /// # Errors
    /// The file does not allow it.
    fn check_access(&self, handle: c_int, access: FileAccess, elements: Elements) -> Outcome<i64> {
        let file = self.files.get(handle)?;
        if access.writes && file.has(mode::RDONLY) {
            return Err(Failure::new(class::READ_ONLY, "the file is open for reading"));
        }
        if !access.writes && file.has(mode::WRONLY) {
            return Err(Failure::new(class::ACCESS, "the file is open for writing"));
        }
        match access.place {
            FilePlace::Shared | FilePlace::Ordered => {}
            _ if file.has(mode::SEQUENTIAL) => return Err(no_sequential()),
            FilePlace::At(offset) if offset < 0 => {
                return Err(Failure::new(
                    class::ARG,
                    format!("an offset of {offset} in a file"),
                ));
            }
            _ => {}
        }
        let (bytes, unit) = (elements.bytes(self)?, file.view.etype_bytes);
        match bytes.is_multiple_of(unit) {
            true => Ok((bytes / unit) as i64),
            false => {
                let text = format!("{bytes} bytes, of a view whose elementary type has {unit} bytes");
                Err(Failure::new(class::IO, text))
            }
        }
    }

    /// Reads or writes elements: the status.
    pub fn access_file(
        &mut self,
        handle: c_int,
        access: FileAccess,
        elements: Outcome<Elements>,
    ) -> Outcome<MpiStatus> {
        let communicator = self.files.get(handle)?.communicator;
        let checked = elements.and_then(|own| Ok((own, self.check_access(handle, access, own)?)));
        if access.place == FilePlace::Ordered {
            let said = checked
                .as_ref()
                .map(|(_, etypes)| [*etypes as u64])
                .map_err(Clone::clone);
            let all = self.exchange_words(communicator, said)?;
            let rank = self.communicators.get(communicator)?.rank;
            let sum = |some: &[[u64; 1]]| some.iter().map(|[etypes]| *etypes as i64).sum::<i64>();
            let file = self.files.get(handle)?;
            let start = file.shared.change_once(|pointer| Ok(pointer + sum(&all)))?;
            return self.transfer(handle, access.writes, start + sum(&all[..rank]), checked?.0);
        }
        // What all ranks wrote in the calls before is there.
        if access.is_collective {
            self.synchronize(communicator)?;
        }
        let (elements, etypes) = checked?;
        let start = match access.place {
            FilePlace::At(offset) => offset,
            FilePlace::Shared => self.move_shared(handle, etypes)?,
            _ => {
                let file = self.files.get_mut(handle)?;
                let start = file.position;
                file.position += etypes;
                start
            }
        };
        self.transfer(handle, access.writes, start, elements)
    }

    fn transfer(&self, handle: c_int, writes: bool, start: i64, elements: Elements) -> Outcome<MpiStatus> {
        let file = self.files.get(handle)?;
        let datatype = self.datatypes.get(elements.datatype)?;
        let representation = file.view.representation;
        let bytes = match writes {
            true => {
                let mut packed = elements.pack(self)?;
                representation.convert(datatype, &mut packed);
                file.write(start, &packed)?;
                packed.len()
            }
            false => {
                let mut packed = file.read(start, elements.bytes(self)?)?;
                representation.convert(datatype, &mut packed);
                // Safety: the program gave the buffer with this count.
                unsafe { datatype.unpack(&packed, elements.buffer) };
                packed.len()
            }
        };
        Ok(MpiStatus::new(abi::PROC_NULL, abi::ANY_TAG, bytes as u64))
    }

    /// Reads or writes elements: a request that is complete.
    pub fn request_access(
        &mut self,
        handle: c_int,
        access: FileAccess,
        elements: Outcome<Elements>,
    ) -> Outcome<c_int> {
        let status = self.access_file(handle, access, elements)?;
        let complete = ActiveRequest::Complete(Ok(status), None);
        Ok(self.requests.add(Some(complete), false))
    }

    /// Begins a collective access of which a later call tells the status.
    pub fn begin_access(
        &mut self,
        handle: c_int,
        access: FileAccess,
        elements: Outcome<Elements>,
    ) -> Outcome<()> {
        if self.files.get(handle)?.split.is_some() {
            let text = "another split collective call of the file has not ended";
            return Err(Failure::new(class::IO, text));
        }
        let status = self.access_file(handle, access, elements)?;
        self.files.get_mut(handle)?.split = Some(SplitAccess { access, status });
        Ok(())
    }

    /// The status of an access that has begun, of the same kind.
    pub fn end_access(&mut self, handle: c_int, access: FileAccess) -> Outcome<MpiStatus> {
        let file = self.files.get_mut(handle)?;
        let is_same = |own: &SplitAccess| match (own.access.place, access.place) {
            (FilePlace::At(_), FilePlace::At(_)) => own.access.writes == access.writes,
            _ => own.access == access,
        };
        let ended = file.split.take_if(|own| is_same(own));
        let ended = ended.ok_or_else(|| {
            let text = "no split collective call of this kind has begun";
            Failure::new(class::IO, text)
        })?;
        Ok(ended.status)
    }
}
