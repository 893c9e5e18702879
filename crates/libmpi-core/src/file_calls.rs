//! What the ranks of a file do together: opening, closing, sizes, views (MPI 4.1, sections 14.2 and 14.3).

use std::ffi::c_int;
use std::path::PathBuf;

use operation::{Call, Collective, Operation};
use rank_channel::PostedData;

use crate::abi::{self, class};
use crate::failure::{Failure, Outcome};
use crate::file::{self, OpenFile, SeekOrigin, check_mode, mode};
use crate::file_view::{DataRepresentation, FileView};
use crate::info;
use crate::info::{InfoEntries, set_entry};
use crate::process::Process;
use crate::shared_pointer::{SETTLING_PS, SharedPointer};

/// The displacement of a view that begins where the shared pointer is.
const DISPLACEMENT_CURRENT: i64 = -54_278_278;

/// `MPI_BYTE`, of which the first view of a file is.
const BYTE: c_int = 0x4c00_010d;

impl Process {
    /// Waits until all ranks of a communicator have come.
    pub fn synchronize(&mut self, communicator: c_int) -> Outcome<()> {
        if self.communicators.get(communicator)?.size() == 1 {
            return Ok(());
        }
        let operation = Operation::Collective {
            collective: Collective::Barrier,
            communicator: self.simulated(communicator)?,
            root: 0,
            bytes: 0,
            counts: None,
            request: None,
            reduction: None,
            call: Call::Other,
        };
        self.ask(operation, PostedData::default());
        Ok(())
    }

    /// The words of all ranks of a communicator. If one has failed, all fail.
    pub fn exchange_words<const N: usize>(
        &mut self,
        communicator: c_int,
        own: Outcome<[u64; N]>,
    ) -> Outcome<Vec<[u64; N]>> {
        let (class, words) = match &own {
            Ok(words) => (class::SUCCESS, *words),
            Err(failure) => (failure.class, [0; N]),
        };
        let said = [&[class as u64][..], &words].concat();
        let bytes = said.into_iter().flat_map(u64::to_ne_bytes).collect();
        let all = self.gather_from_all(communicator, bytes)?;
        own?;
        let mut found = Vec::with_capacity(all.len());
        for (rank, said) in all.iter().enumerate() {
            let (said, _) = said.as_chunks();
            let mut said = said.iter().copied().map(u64::from_ne_bytes);
            match said.next().map(|class| class as c_int) {
                Some(class::SUCCESS) => {}
                Some(class) => {
                    return Err(Failure::new(class, format!("on rank {rank} of the communicator")));
                }
                None => return Err(Failure::new(class::INTERN, "a rank has said nothing")),
            }
            found.push(std::array::from_fn(|_| said.next().unwrap_or_default()));
        }
        Ok(found)
    }

    /// Whether all ranks give the same words.
    fn agree<const N: usize>(&mut self, communicator: c_int, own: Outcome<[u64; N]>) -> Outcome<()> {
        let all = self.exchange_words(communicator, own)?;
        match all.iter().all(|words| *words == all[0]) {
            true => Ok(()),
            false => Err(Failure::new(
                class::NOT_SAME,
                "all ranks of a file must give the same arguments",
            )),
        }
    }

    /// The view that files have when they are opened.
    fn first_view(&self) -> Outcome<FileView> {
        let byte = self.datatypes.get(BYTE)?;
        let part = || self.datatypes.part(BYTE);
        FileView::new(
            0,
            (byte, part()?),
            (byte, part()?),
            DataRepresentation::Native,
            false,
        )
    }

    /// `MPI_File_open`.
    pub fn open_file(&mut self, parent: c_int, path: PathBuf, amode: c_int, info: c_int) -> Outcome<c_int> {
        if self.is_inter(parent)? {
            return Err(Failure::new(class::COMM, "an intercommunicator has no files"));
        }
        let made = self.duplicate(parent, None, Call::Other)?;
        let communicator = made.ok_or_else(|| Failure::new(class::INTERN, "a file without this rank"))?;
        let opened = self.open_together(communicator, path, amode, info);
        if opened.is_err() {
            self.communicators.remove(communicator)?;
        }
        opened
    }

    fn open_together(
        &mut self,
        communicator: c_int,
        path: PathBuf,
        amode: c_int,
        info: c_int,
    ) -> Outcome<c_int> {
        let hints = info::table().hints(info);
        let checked = hints.and_then(|hints| check_mode(amode).map(|()| hints));
        let said = checked.as_ref().map(|_| [amode as u64]).map_err(Clone::clone);
        self.agree(communicator, said)?;
        let hints: InfoEntries = checked?;
        // The first rank makes the file, so that the others find it, and its shared pointer.
        let (rank, ranks) = self.place(communicator)?;
        let first = match rank == 0 {
            true => {
                file::open(&path, amode, true).and_then(|file| Ok(Some((file, SharedPointer::new(ranks)?))))
            }
            false => Ok(None),
        };
        let said = first.as_ref().map_err(Clone::clone);
        let said = said.map(|first| first.as_ref().map_or([0; 2], |(_, shared)| shared.place()));
        let places = self.exchange_words(communicator, said)?;
        let opened = match first? {
            Some(both) => Ok(both),
            None => file::open(&path, amode, false)
                .and_then(|file| Ok((file, SharedPointer::open(places[0], ranks)?))),
        };
        let said = opened.as_ref().map(|_| []).map_err(Clone::clone);
        self.exchange_words(communicator, said)?;
        let (file, shared) = opened?;
        let mut made = OpenFile {
            file,
            path,
            amode,
            communicator,
            view: self.first_view()?,
            position: 0,
            shared,
            is_atomic: false,
            split: None,
            error_handler: self.files.error_handler(abi::FILE_NULL),
            hints,
        };
        if amode & mode::APPEND != 0 {
            made.position = made.target(0, SeekOrigin::End, 0)?;
            made.shared.change_once(|_| Ok(made.position))?;
        }
        Ok(self.files.add(made))
    }

    /// `MPI_File_close`.
    pub fn close_file(&mut self, handle: c_int) -> Outcome<()> {
        let communicator = self.files.get(handle)?.communicator;
        self.synchronize(communicator)?;
        let file = self.files.get(handle)?;
        let deleted = file
            .shared
            .change_once(|pointer| match file.has(mode::DELETE_ON_CLOSE) {
                true => file::delete(&file.path).map(|()| pointer),
                false => Ok(pointer),
            });
        self.files.remove(handle)?;
        self.communicators.remove(communicator)?;
        deleted.map(|_| ())
    }

    /// Changes a file once, after all ranks have come with the same words.
    fn change_file<const N: usize>(
        &mut self,
        handle: c_int,
        said: Outcome<[u64; N]>,
        change: impl FnOnce(&OpenFile, i64) -> Outcome<i64>,
    ) -> Outcome<i64> {
        let communicator = self.files.get(handle)?.communicator;
        self.agree(communicator, said)?;
        let file = self.files.get(handle)?;
        file.shared.change_once(|pointer| change(file, pointer))
    }

    /// `MPI_File_set_size`, or `MPI_File_preallocate` if it only grows.
    pub fn resize_file(&mut self, handle: c_int, size: i64, only_grows: bool) -> Outcome<()> {
        let file = self.files.get(handle)?;
        let said = match u64::try_from(size) {
            _ if file.has(mode::RDONLY) => {
                Err(Failure::new(class::READ_ONLY, "the file is open for reading"))
            }
            _ if file.has(mode::SEQUENTIAL) => Err(no_sequential()),
            Ok(size) => Ok([size]),
            Err(_) => Err(Failure::new(class::ARG, format!("a file of {size} bytes"))),
        };
        self.change_file(handle, said, |file, pointer| {
            match only_grows {
                true => file.preallocate(size as u64)?,
                false => file.set_size(size as u64)?,
            }
            Ok(pointer)
        })?;
        Ok(())
    }

    /// `MPI_File_set_view`.
    pub fn set_view(
        &mut self,
        handle: c_int,
        displacement: i64,
        (etype, file_type): (c_int, c_int),
        representation: &str,
        info: c_int,
    ) -> Outcome<()> {
        let made = self.view_of(handle, displacement, (etype, file_type), representation);
        let made = made.and_then(|view| Ok((view, info::table().hints(info)?)));
        let said = made
            .as_ref()
            .map(|(view, _)| [view.etype_bytes])
            .map_err(Clone::clone);
        let before = self.change_file(handle, said, |_, _| Ok(0))?;
        let (mut view, hints) = made?;
        let file = self.files.get_mut(handle)?;
        if displacement == DISPLACEMENT_CURRENT {
            view.displacement = file.byte_offset(before)?;
        }
        (file.view, file.position) = (view, 0);
        hints
            .iter()
            .for_each(|(key, value)| set_entry(&mut file.hints, key, value));
        Ok(())
    }

    /// A view of a file. Its displacement is 0 if it is to be where the shared pointer is.
    fn view_of(
        &self,
        handle: c_int,
        displacement: i64,
        (etype, file_type): (c_int, c_int),
        name: &str,
    ) -> Outcome<FileView> {
        let file = self.files.get(handle)?;
        let (is_sequential, is_read) = (file.has(mode::SEQUENTIAL), file.has(mode::RDONLY));
        let start = match u64::try_from(displacement) {
            _ if is_sequential != (displacement == DISPLACEMENT_CURRENT) => {
                let text = "MPI_DISPLACEMENT_CURRENT goes with MPI_MODE_SEQUENTIAL, and nothing else does";
                return Err(Failure::new(class::ARG, text));
            }
            Ok(start) => start,
            Err(_) if is_sequential => 0,
            Err(_) => {
                return Err(Failure::new(
                    class::ARG,
                    format!("a displacement of {displacement}"),
                ));
            }
        };
        let representation = DataRepresentation::named(name).ok_or_else(|| {
            let is_registered = self.files.representations.iter().any(|own| own == name);
            let text = match is_registered {
                true => format!("the registered data representation {name:?} is not used for files"),
                false => format!("the data representation {name:?}"),
            };
            Failure::new(class::UNSUPPORTED_DATAREP, text)
        })?;
        let both = |handle| Ok((self.datatypes.get(handle)?, self.datatypes.part(handle)?));
        let (etype, etype_part) = both(etype)?;
        let (file_type, file_part) = both(file_type)?;
        FileView::new(
            start,
            (etype, etype_part),
            (file_type, file_part),
            representation,
            is_read,
        )
    }

    /// `MPI_File_seek`.
    pub fn seek(&mut self, handle: c_int, offset: i64, origin: Outcome<SeekOrigin>) -> Outcome<()> {
        let file = self.files.get_mut(handle)?;
        if file.has(mode::SEQUENTIAL) {
            return Err(no_sequential());
        }
        file.position = file.target(offset, origin?, file.position)?;
        Ok(())
    }

    /// `MPI_File_seek_shared`.
    pub fn seek_shared(&mut self, handle: c_int, offset: i64, origin: Outcome<SeekOrigin>) -> Outcome<()> {
        let is_sequential = self.files.get(handle)?.has(mode::SEQUENTIAL);
        let origin = match is_sequential {
            true => Err(no_sequential()),
            false => origin,
        };
        let said = origin.clone().map(|origin| [offset as u64, origin as u64]);
        self.change_file(handle, said, |file, pointer| {
            file.target(offset, origin?, pointer)
        })?;
        Ok(())
    }

    /// Moves the shared pointer of a file on: where it was at this time.
    pub fn move_shared(&mut self, handle: c_int, etypes: i64) -> Outcome<i64> {
        let communicator = self.files.get(handle)?.communicator;
        let (rank, size) = self.place(communicator)?;
        if size == 1 {
            return self
                .files
                .get(handle)?
                .shared
                .change_once(|pointer| Ok(pointer + etypes));
        }
        let now = self.clock_ps();
        self.files.get(handle)?.shared.announce(rank, now, etypes)?;
        let wait = Operation::Compute {
            ps: SETTLING_PS,
            region: None,
        };
        self.post(wait, None);
        self.poll();
        self.files.get(handle)?.shared.settle(rank)
    }

    /// `MPI_File_set_atomicity`.
    pub fn set_atomicity(&mut self, handle: c_int, is_atomic: bool) -> Outcome<()> {
        let communicator = self.files.get(handle)?.communicator;
        self.agree(communicator, Ok([u64::from(is_atomic)]))?;
        self.files.get_mut(handle)?.is_atomic = is_atomic;
        Ok(())
    }
}

/// Only the shared pointer leads through a file that is open in sequence.
pub(crate) fn no_sequential() -> Failure {
    Failure::new(
        class::UNSUPPORTED_OPERATION,
        "the file is open with MPI_MODE_SEQUENTIAL",
    )
}
