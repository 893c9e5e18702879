//! Info objects (MPI 4.1, chapter 10).

use std::ffi::{c_char, c_int};

use super::{functions, put, put_text, text_of};
use crate::abi::{self, class};
use crate::failure::{Failure, Outcome};
use crate::info::{self, set_entry};
use crate::process;

/// A key of the program.
///
/// # Safety
/// It ends with a zero.
unsafe fn key_of(key: *const c_char) -> Outcome<String> {
    // Safety: as the caller says.
    let key = unsafe { text_of(key) };
    match key.len() {
        1..=abi::MAX_INFO_KEY => Ok(key),
        length => Err(Failure::new(class::INFO_KEY, format!("a key of {length} bytes"))),
    }
}

fn value_of(info: c_int, key: &str) -> Outcome<Option<String>> {
    info::with(|infos| {
        let entries = infos.get(info)?;
        Ok(entries
            .iter()
            .find(|(own, _)| own == key)
            .map(|(_, value)| value.clone()))
    })
}

functions! {
    fn MPI_Info_create(info: *mut c_int) {
        put(info, info::with(|infos| Ok(infos.add(Vec::new())))?)
    }

    fn MPI_Info_create_env(_count: c_int, _arguments: *mut *mut c_char, info: *mut c_int) {
        put(info, info::with(|infos| Ok(infos.add(Vec::new())))?)
    }

    fn MPI_Info_dup(info: c_int, made: *mut c_int) {
        put(made, info::with(|infos| {
            let entries = infos.get(info)?.clone();
            Ok(infos.add(entries))
        })?)
    }

    fn MPI_Info_free(info: *mut c_int) {
        info::with(|infos| infos.remove(*info))?;
        put(info, abi::INFO_NULL)
    }

    fn MPI_Info_set(info: c_int, key: *const c_char, value: *const c_char) {
        let (key, value) = (key_of(key)?, text_of(value));
        if value.is_empty() || value.len() > abi::MAX_INFO_VALUE {
            return Err(Failure::new(class::INFO_VALUE, format!("a value of {} bytes", value.len())));
        }
        info::with(|infos| {
            set_entry(infos.get_mut(info)?, &key, &value);
            Ok(())
        })
    }

    fn MPI_Info_delete(info: c_int, key: *const c_char) {
        let key = key_of(key)?;
        info::with(|infos| {
            let entries = infos.get_mut(info)?;
            let before = entries.len();
            entries.retain(|(own, _)| *own != key);
            match entries.len() < before {
                true => Ok(()),
                false => Err(Failure::new(class::INFO_NOKEY, key)),
            }
        })
    }

    fn MPI_Info_get_nkeys(info: c_int, keys: *mut c_int) {
        put(keys, info::with(|infos| Ok(infos.get(info)?.len()))? as c_int)
    }

    fn MPI_Info_get_nthkey(info: c_int, index: c_int, key: *mut c_char) {
        let own = info::with(|infos| {
            let entries = infos.get(info)?;
            let entry = usize::try_from(index).ok().and_then(|index| entries.get(index));
            entry.map(|(key, _)| key.clone()).ok_or_else(|| {
                Failure::new(class::ARG, format!("key {index} of {}", entries.len()))
            })
        })?;
        let mut length = 0;
        put_text(&own, key, abi::MAX_INFO_KEY + 1, &mut length)
    }

    fn MPI_Info_get(info: c_int, key: *const c_char, greatest: c_int, value: *mut c_char, flag: *mut c_int) {
        let found = value_of(info, &key_of(key)?)?;
        if greatest < 0 {
            return Err(Failure::new(class::ARG, format!("{greatest} as the length of a value")));
        }
        if let Some(found) = &found {
            let mut length = 0;
            put_text(found, value, greatest as usize + 1, &mut length)?;
        }
        put(flag, found.is_some().into())
    }

    fn MPI_Info_get_string(
        info: c_int, key: *const c_char, length: *mut c_int, value: *mut c_char, flag: *mut c_int,
    ) {
        let found = value_of(info, &key_of(key)?)?;
        if let Some(found) = &found {
            let space = *length;
            if space > 0 {
                let mut written = 0;
                put_text(found, value, space as usize, &mut written)?;
            }
            put(length, found.len() as c_int + 1)?;
        }
        put(flag, found.is_some().into())
    }

    fn MPI_Info_get_valuelen(info: c_int, key: *const c_char, length: *mut c_int, flag: *mut c_int) {
        let found = value_of(info, &key_of(key)?)?;
        if let Some(found) = &found {
            put(length, found.len() as c_int)?;
        }
        put(flag, found.is_some().into())
    }

    fn MPI_Comm_set_info(communicator: c_int, info: c_int) {
        process::with(|p| {
            let hints = info::table().hints(info)?;
            let own = &mut p.communicators.get_mut(communicator)?.hints;
            hints.iter().for_each(|(key, value)| set_entry(own, key, value));
            Ok(())
        })
    }

    fn MPI_Comm_get_info(communicator: c_int, info: *mut c_int) {
        put(info, process::with(|p| {
            let hints = p.communicators.get(communicator)?.hints.clone();
            Ok(info::table().add(hints))
        })?)
    }

    // There is nothing to say about the hardware that a network simulates.
    fn MPI_Get_hw_resource_info(info: *mut c_int) {
        put(info, info::with(|infos| Ok(infos.add(Vec::new())))?)
    }
}
