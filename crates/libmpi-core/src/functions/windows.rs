//! Windows and their synchronization (MPI 4.1, sections 12.2 and 12.5).

use std::ffi::{c_char, c_int, c_void};

use operation::{Call, Operation};

use super::{CountArgument, counted_functions, functions, put, put_count, put_text, text_of};
use crate::abi::{self, class};
use crate::attribute_calls::{self, AttributeOwner};
use crate::callbacks::ErrorHandler;
use crate::error;
use crate::error_handlers;
use crate::failure::{Failure, Outcome};
use crate::info;
use crate::info::set_entry;
use crate::process;
use crate::request::Found;
use crate::window::{MemoryWindow, WindowMemory, flavor};

const LOCK_EXCLUSIVE: c_int = 234;
const LOCK_SHARED: c_int = 235;
/// Predefined attributes.
const BASE: c_int = 0x6600_0001;
const SIZE: c_int = 0x6600_0003;
const UNIT: c_int = 0x6600_0005;
const FLAVOR: c_int = 0x6600_0007;
const MODEL: c_int = 0x6600_0009;

/// Makes a window, with the hints of an info object.
fn make(
    communicator: c_int,
    kind: c_int,
    (base, size, unit): (Option<*mut c_void>, i64, i64),
    info: c_int,
) -> Outcome<(c_int, *mut c_void)> {
    let made = process::with(|p| {
        p.communicators.get(communicator)?;
        let hints = info::table().hints(info)?;
        let bytes = usize::try_from(size).map_err(|_| Failure::new(class::SIZE, size.to_string()))?;
        let unit = usize::try_from(unit).ok().filter(|unit| *unit > 0);
        let unit =
            unit.ok_or_else(|| Failure::new(class::DISP, "a displacement unit that is not positive"))?;
        let (handle, base) = p.make_window(communicator, kind, (base, bytes, unit))?;
        p.windows.get_mut(handle)?.hints = hints;
        Ok((handle, base))
    });
    made.map_err(|failure| failure.on(communicator))
}

/// Ranks of several processes cannot have the same memory at the addresses that a window gives them.
fn check_shared(communicator: c_int) -> Outcome<()> {
    let (_, size) = process::with(|p| p.place(communicator))?;
    match size {
        1 => Ok(()),
        _ => {
            let text = "only windows of one rank are shared";
            Err(Failure::new(class::RMA_SHARED, text).on(communicator))
        }
    }
}

fn with_window<T>(window: c_int, act: impl FnOnce(&mut MemoryWindow) -> Outcome<T>) -> Outcome<T> {
    process::with(|p| act(p.windows.get_mut(window)?)).map_err(|failure| failure.on(window))
}

/// Does what remains of messages of the library.
fn finished(found: Option<Found>) -> Outcome<bool> {
    let Some(found) = found else { return Ok(false) };
    found
        .finish()
        .into_iter()
        .try_for_each(|(_, outcome)| outcome.map(|_| ()))?;
    Ok(true)
}

/// How long a rank waits until it looks again whether a lock is free, at first and at most. It doubles each time, so
/// that the ranks that wait do not look too often, and wait at most twice as long as they must.
const FIRST_WAIT_PS: u64 = 100_000;
const LONGEST_WAIT_PS: u64 = 6_400_000;

/// Takes the lock of a rank, which another one may have.
fn lock(window: c_int, rank: usize, exclusive: bool) -> Outcome<()> {
    let mut wait = FIRST_WAIT_PS;
    while !process::with(|p| p.try_lock(window, rank, exclusive))? {
        process::with(|p| {
            p.post(
                Operation::Compute {
                    ps: wait,
                    region: None,
                },
                None,
            );
            Ok(())
        })?;
        wait = (2 * wait).min(LONGEST_WAIT_PS);
    }
    Ok(())
}

counted_functions! {
    fn MPI_Win_create(
        base: *mut c_void, size: Place, unit: Count, info: c_int, communicator: c_int, window: *mut c_int,
    ) {
        put(window, make(communicator, flavor::CREATE, (Some(base), size.wide(), unit.wide()), info)?.0)
    }

    fn MPI_Win_allocate(
        size: Place, unit: Count, info: c_int, communicator: c_int, base: *mut *mut c_void, window: *mut c_int,
    ) {
        let (made, start) = make(communicator, flavor::ALLOCATE, (None, size.wide(), unit.wide()), info)?;
        put(base, start)?;
        put(window, made)
    }

    fn MPI_Win_allocate_shared(
        size: Place, unit: Count, info: c_int, communicator: c_int, base: *mut *mut c_void, window: *mut c_int,
    ) {
        check_shared(communicator)?;
        let (made, start) = make(communicator, flavor::SHARED, (None, size.wide(), unit.wide()), info)?;
        put(base, start)?;
        put(window, made)
    }

    // This rank shares memory with no other one.
    fn MPI_Win_shared_query(
        window: c_int, rank: c_int, size: *mut Place, unit: *mut Count, base: *mut *mut c_void,
    ) {
        let queried = process::with(|p| p.window_rank(window, rank))?;
        let own = process::with(|p| {
            let found = p.windows.get(window)?;
            let (own, ranks) = p.place(found.communicator)?;
            let is_own = queried.map_or(ranks == 1, |queried| queried == own);
            Ok(if is_own { found.own } else { WindowMemory { unit: 1, ..WindowMemory::default() } })
        })?;
        put_count(size, Some(own.size as u64))?;
        put_count(unit, Some(own.unit as u64))?;
        put(base, own.base as *mut c_void)
    }
}

functions! {
    fn MPI_Win_create_dynamic(info: c_int, communicator: c_int, window: *mut c_int) {
        put(window, make(communicator, flavor::DYNAMIC, (Some(std::ptr::null_mut()), 0, 1), info)?.0)
    }

    // The target's memory is reached by its address, whether or not it is attached.
    fn MPI_Win_attach(window: c_int, _base: *mut c_void, _size: isize) {
        with_window(window, |own| match own.flavor {
            flavor::DYNAMIC => Ok(()),
            _ => Err(Failure::new(class::RMA_FLAVOR, "the window is not dynamic")),
        })
    }

    fn MPI_Win_detach(window: c_int, _base: *const c_void) {
        with_window(window, |own| match own.flavor {
            flavor::DYNAMIC => Ok(()),
            _ => Err(Failure::new(class::RMA_FLAVOR, "the window is not dynamic")),
        })
    }

    fn MPI_Win_free(window: *mut c_int) {
        let handle = *window;
        process::with(|p| p.windows.get(handle).map(|_| ()))?;
        attribute_calls::delete_attributes(AttributeOwner::Window(handle))?;
        process::with(|p| {
            p.fence(handle, Call::WinFree)?;
            let communicator = p.windows.get(handle)?.communicator;
            p.windows.remove(handle)?;
            p.communicators.remove(communicator)
        })?;
        put(window, abi::WIN_NULL)
    }

    fn MPI_Win_fence(_assert: c_int, window: c_int) {
        process::with(|p| p.fence(window, Call::WinFence))
    }

    fn MPI_Win_lock(kind: c_int, rank: c_int, _assert: c_int, window: c_int) {
        let Some(rank) = process::with(|p| p.window_rank(window, rank))? else { return Ok(()) };
        if kind != LOCK_EXCLUSIVE && kind != LOCK_SHARED {
            return Err(Failure::new(class::LOCKTYPE, kind.to_string()).on(window));
        }
        with_window(window, |own| match own.is_all_locked || own.locked.contains(&rank) {
            false => Ok(()),
            true => Err(Failure::new(class::RMA_SYNC, format!("rank {rank} is locked already"))),
        })?;
        lock(window, rank, kind == LOCK_EXCLUSIVE)?;
        with_window(window, |own| {
            own.locked.push(rank);
            Ok(())
        })
    }

    fn MPI_Win_unlock(rank: c_int, window: c_int) {
        let Some(rank) = process::with(|p| p.window_rank(window, rank))? else { return Ok(()) };
        process::with(|p| {
            p.windows.get(window)?;
            p.poll();
            Ok(())
        })?;
        with_window(window, |own| {
            let place = own.locked.iter().position(|locked| *locked == rank);
            let place = place.ok_or_else(|| Failure::new(class::RMA_SYNC, format!("rank {rank} is not locked")))?;
            own.locked.swap_remove(place);
            own.parts[rank].unlock();
            Ok(())
        })
    }

    fn MPI_Win_lock_all(_assert: c_int, window: c_int) {
        let ranks = with_window(window, |own| match own.is_all_locked || !own.locked.is_empty() {
            false => Ok(own.parts.len()),
            true => Err(Failure::new(class::RMA_SYNC, "the window is locked already")),
        })?;
        (0..ranks).try_for_each(|rank| lock(window, rank, false))?;
        with_window(window, |own| {
            own.is_all_locked = true;
            Ok(())
        })
    }

    fn MPI_Win_unlock_all(window: c_int) {
        with_window(window, |own| {
            if !std::mem::replace(&mut own.is_all_locked, false) {
                return Err(Failure::new(class::RMA_SYNC, "the window is not locked"));
            }
            own.parts.iter().for_each(|part| part.unlock());
            Ok(())
        })
    }

    fn MPI_Win_post(group: c_int, _assert: c_int, window: c_int) {
        process::with(|p| p.post_window(window, group))
    }

    fn MPI_Win_start(group: c_int, _assert: c_int, window: c_int) {
        process::with(|p| p.start_window(window, group))?().map(|_| ())
    }

    fn MPI_Win_complete(window: c_int) {
        process::with(|p| p.complete_window(window))?().map(|_| ())
    }

    fn MPI_Win_wait(window: c_int) {
        finished(process::with(|p| p.posted_ends(window, true))?).map(|_| ())
    }

    fn MPI_Win_test(window: c_int, flag: *mut c_int) {
        put(flag, finished(process::with(|p| p.posted_ends(window, false))?)?.into())
    }

    fn MPI_Win_get_group(window: c_int, group: *mut c_int) {
        put(group, process::with(|p| {
            let communicator = p.windows.get(window)?.communicator;
            let members = p.communicators.get(communicator)?.members.clone();
            Ok(p.communicators.add_group(members))
        })?)
    }

    fn MPI_Win_set_name(window: c_int, name: *const c_char) {
        let name = text_of(name);
        with_window(window, |own| {
            own.name = name;
            Ok(())
        })
    }

    fn MPI_Win_get_name(window: c_int, name: *mut c_char, length: *mut c_int) {
        let own = match window {
            abi::WIN_NULL => "MPI_WIN_NULL".into(),
            _ => with_window(window, |own| Ok(own.name.clone()))?,
        };
        put_text(&own, name, abi::MAX_OBJECT_NAME, length)
    }

    fn MPI_Win_set_info(window: c_int, info: c_int) {
        let hints = info::table().hints(info)?;
        with_window(window, |own| {
            hints.iter().for_each(|(key, value)| set_entry(&mut own.hints, key, value));
            Ok(())
        })
    }

    fn MPI_Win_get_info(window: c_int, info: *mut c_int) {
        let hints = with_window(window, |own| Ok(own.hints.clone()))?;
        put(info, info::table().add(hints))
    }

    fn MPI_Win_create_errhandler(function: ErrorHandler, handler: *mut c_int) {
        put(handler, error_handlers::add_handler(function))
    }

    fn MPI_Win_get_errhandler(window: c_int, handler: *mut c_int) {
        put(handler, with_window(window, |own| Ok(own.error_handler))?)
    }

    fn MPI_Win_set_errhandler(window: c_int, handler: c_int) {
        error_handlers::check_handler(handler)?;
        with_window(window, |own| {
            own.error_handler = handler;
            Ok(())
        })
    }

    fn MPI_Win_call_errhandler(window: c_int, code: c_int) {
        with_window(window, |_| Ok(()))?;
        let failure = Failure::new(code, "the program called the error handler");
        error::react(&failure.on(window), "MPI_Win_call_errhandler");
        Ok(())
    }

    fn MPI_Win_get_attr(window: c_int, key: c_int, value: *mut c_void, flag: *mut c_int) {
        let predefined = with_window(window, |own| Ok(match key {
            BASE if own.flavor == flavor::DYNAMIC => Some(0),
            BASE => Some(own.own.base),
            SIZE => Some(&raw const own.size as usize),
            UNIT => Some(&raw const own.unit as usize),
            FLAVOR => Some(&raw const own.flavor as usize),
            MODEL => Some(&raw const own.model as usize),
            _ => None,
        }))?;
        let found = match predefined {
            Some(predefined) => Some(predefined),
            None => attribute_calls::get(AttributeOwner::Window(window), key)?,
        };
        if let Some(found) = found {
            put(value.cast::<usize>(), found)?;
        }
        put(flag, found.is_some().into())
    }
}

/// Defines the calls that complete accesses under a lock. Those are complete at once, and a program that looks again
/// and again for what others write goes on in time.
macro_rules! flushes {
    ($($name:ident($($rank:ident)?);)*) => { functions! { $(
        fn $name($($rank: c_int,)? window: c_int) {
            process::with(|p| {
                p.windows.get(window)?;
                $(p.window_rank(window, $rank)?;)?
                p.poll();
                Ok(())
            })
        }
    )* } };
}

flushes! {
    MPI_Win_flush(rank);
    MPI_Win_flush_local(rank);
    MPI_Win_flush_all();
    MPI_Win_flush_local_all();
    MPI_Win_sync();
}
