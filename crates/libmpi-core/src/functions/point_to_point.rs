//! Sends, receives and probes.

use std::ffi::{c_int, c_void};

use super::{counted_functions, functions, put};
use crate::abi::MpiStatus;
use crate::failure::Outcome;
use crate::message::{Elements, MessageEnvelope};
use crate::point_to_point::{Mode, Probed};
use crate::process;

fn send(elements: Outcome<Elements>, envelope: MessageEnvelope, mode: Mode) -> Outcome<()> {
    let sent = elements.and_then(|elements| process::with(|p| p.send(envelope, elements, mode)));
    sent.map_err(|failure| failure.on(envelope.communicator))
}

fn isend(elements: Outcome<Elements>, envelope: MessageEnvelope, mode: Mode) -> Outcome<c_int> {
    let sent = elements.and_then(|elements| process::with(|p| p.isend(envelope, elements, mode)));
    sent.map_err(|failure| failure.on(envelope.communicator))
}

fn send_init(elements: Outcome<Elements>, envelope: MessageEnvelope, mode: Mode) -> Outcome<c_int> {
    let made = elements.and_then(|elements| process::with(|p| p.send_init(envelope, elements, mode)));
    made.map_err(|failure| failure.on(envelope.communicator))
}

macro_rules! sends {
    ($($blocking:ident $nonblocking:ident $persistent:ident $mode:ident;)*) => { counted_functions! { $(
        fn $blocking(
            buffer: *const c_void, count: Count, datatype: c_int, peer: c_int, tag: c_int, communicator: c_int,
        ) {
            send(Elements::new(buffer, count, datatype), MessageEnvelope { peer, tag, communicator }, Mode::$mode)
        }

        fn $nonblocking(
            buffer: *const c_void, count: Count, datatype: c_int, peer: c_int, tag: c_int, communicator: c_int,
            request: *mut c_int,
        ) {
            let envelope = MessageEnvelope { peer, tag, communicator };
            put(request, isend(Elements::new(buffer, count, datatype), envelope, Mode::$mode)?)
        }

        fn $persistent(
            buffer: *const c_void, count: Count, datatype: c_int, peer: c_int, tag: c_int, communicator: c_int,
            request: *mut c_int,
        ) {
            let envelope = MessageEnvelope { peer, tag, communicator };
            put(request, send_init(Elements::new(buffer, count, datatype), envelope, Mode::$mode)?)
        }
    )* } };
}

sends! {
    MPI_Send MPI_Isend MPI_Send_init Standard;
    MPI_Ssend MPI_Issend MPI_Ssend_init Synchronous;
    MPI_Bsend MPI_Ibsend MPI_Bsend_init Buffered;
    MPI_Rsend MPI_Irsend MPI_Rsend_init Ready;
}

/// Writes the status of a probe: whether there is a message.
///
/// # Safety
/// As of [`MpiStatus::write`].
unsafe fn put_probed(probed: &Probed, status: *mut MpiStatus) -> bool {
    let found = match probed {
        Probed::Nothing => return false,
        Probed::NoProcess => MpiStatus::of_proc_null(),
        Probed::Message(status) => *status,
    };
    // Safety: as the caller says.
    unsafe { found.write(status) };
    true
}

counted_functions! {
    fn MPI_Recv(
        buffer: *mut c_void, count: Count, datatype: c_int, peer: c_int, tag: c_int, communicator: c_int,
        status: *mut MpiStatus,
    ) {
        let envelope = MessageEnvelope { peer, tag, communicator };
        let received = Elements::new(buffer, count, datatype)
            .and_then(|elements| process::with(|p| p.receive(envelope, elements)));
        received.map_err(|failure| failure.on(communicator))?.write(status);
        Ok(())
    }

    fn MPI_Irecv(
        buffer: *mut c_void, count: Count, datatype: c_int, peer: c_int, tag: c_int, communicator: c_int,
        request: *mut c_int,
    ) {
        let envelope = MessageEnvelope { peer, tag, communicator };
        let elements = Elements::new(buffer, count, datatype)?;
        put(request, process::with(|p| p.ireceive(envelope, elements))?)
    }

    fn MPI_Recv_init(
        buffer: *mut c_void, count: Count, datatype: c_int, peer: c_int, tag: c_int, communicator: c_int,
        request: *mut c_int,
    ) {
        let envelope = MessageEnvelope { peer, tag, communicator };
        let elements = Elements::new(buffer, count, datatype)?;
        put(request, process::with(|p| p.receive_init(envelope, elements))?)
    }

    fn MPI_Sendrecv(
        sent: *const c_void, send_count: Count, send_type: c_int, to: c_int, send_tag: c_int,
        received: *mut c_void, receive_count: Count, receive_type: c_int, from: c_int, receive_tag: c_int,
        communicator: c_int, status: *mut MpiStatus,
    ) {
        let destination = MessageEnvelope { peer: to, tag: send_tag, communicator };
        let source = MessageEnvelope { peer: from, tag: receive_tag, communicator };
        let sent = Elements::new(sent, send_count, send_type)?;
        let received = Elements::new(received, receive_count, receive_type)?;
        process::with(|p| p.exchange((destination, sent), (source, received)))?.write(status);
        Ok(())
    }

    fn MPI_Sendrecv_replace(
        buffer: *mut c_void, count: Count, datatype: c_int, to: c_int, send_tag: c_int, from: c_int,
        receive_tag: c_int, communicator: c_int, status: *mut MpiStatus,
    ) {
        let destination = MessageEnvelope { peer: to, tag: send_tag, communicator };
        let source = MessageEnvelope { peer: from, tag: receive_tag, communicator };
        let elements = Elements::new(buffer, count, datatype)?;
        process::with(|p| p.exchange((destination, elements), (source, elements)))?.write(status);
        Ok(())
    }

    fn MPI_Isendrecv(
        sent: *const c_void, send_count: Count, send_type: c_int, to: c_int, send_tag: c_int,
        received: *mut c_void, receive_count: Count, receive_type: c_int, from: c_int, receive_tag: c_int,
        communicator: c_int, request: *mut c_int,
    ) {
        let destination = MessageEnvelope { peer: to, tag: send_tag, communicator };
        let source = MessageEnvelope { peer: from, tag: receive_tag, communicator };
        let sent = Elements::new(sent, send_count, send_type)?;
        let received = Elements::new(received, receive_count, receive_type)?;
        put(request, process::with(|p| p.iexchange((destination, sent), (source, received)))?)
    }

    fn MPI_Isendrecv_replace(
        buffer: *mut c_void, count: Count, datatype: c_int, to: c_int, send_tag: c_int, from: c_int,
        receive_tag: c_int, communicator: c_int, request: *mut c_int,
    ) {
        let destination = MessageEnvelope { peer: to, tag: send_tag, communicator };
        let source = MessageEnvelope { peer: from, tag: receive_tag, communicator };
        let elements = Elements::new(buffer, count, datatype)?;
        put(request, process::with(|p| p.iexchange((destination, elements), (source, elements)))?)
    }

    fn MPI_Mrecv(buffer: *mut c_void, count: Count, datatype: c_int, message: *mut c_int, status: *mut MpiStatus) {
        let elements = Elements::new(buffer, count, datatype)?;
        process::with(|p| p.receive_matched(elements, &mut *message))?.write(status);
        Ok(())
    }

    fn MPI_Imrecv(buffer: *mut c_void, count: Count, datatype: c_int, message: *mut c_int, request: *mut c_int) {
        let elements = Elements::new(buffer, count, datatype)?;
        put(request, process::with(|p| p.ireceive_matched(elements, &mut *message))?)
    }
}

functions! {
    fn MPI_Probe(peer: c_int, tag: c_int, communicator: c_int, status: *mut MpiStatus) {
        let envelope = MessageEnvelope { peer, tag, communicator };
        put_probed(&process::with(|p| p.probe(envelope, true))?, status);
        Ok(())
    }

    fn MPI_Iprobe(peer: c_int, tag: c_int, communicator: c_int, flag: *mut c_int, status: *mut MpiStatus) {
        let envelope = MessageEnvelope { peer, tag, communicator };
        let found = put_probed(&process::with(|p| p.probe(envelope, false))?, status);
        put(flag, found.into())
    }

    fn MPI_Mprobe(peer: c_int, tag: c_int, communicator: c_int, message: *mut c_int, status: *mut MpiStatus) {
        let envelope = MessageEnvelope { peer, tag, communicator };
        let (probed, handle) = process::with(|p| p.matched_probe(envelope, true))?;
        put_probed(&probed, status);
        put(message, handle)
    }

    fn MPI_Improbe(
        peer: c_int, tag: c_int, communicator: c_int, flag: *mut c_int, message: *mut c_int, status: *mut MpiStatus,
    ) {
        let envelope = MessageEnvelope { peer, tag, communicator };
        let (probed, handle) = process::with(|p| p.matched_probe(envelope, false))?;
        put(flag, put_probed(&probed, status).into())?;
        put(message, handle)
    }
}
