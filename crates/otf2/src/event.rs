//! Events as the C side has them.

use crate::{Collective, Event, Message, Record, Transfer};

/// `fs_event` of `event.h`; its size is asserted on both sides.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct RawEvent {
    time: u64,
    bytes: u64,
    received: u64,
    request: u64,
    kind: u32,
    peer: u32,
    communicator: u32,
    tag: u32,
}

const _: () = assert!(size_of::<RawEvent>() == 48);

impl RawEvent {
    /// As Rust has it.
    pub fn event(&self) -> Event {
        let raw = self;
        let message = Message {
            peer: raw.peer,
            communicator: raw.communicator,
            tag: raw.tag,
            bytes: raw.bytes,
        };
        let collective = Collective {
            operation: raw.tag,
            communicator: raw.communicator,
            root: raw.peer,
            sent: raw.bytes,
            received: raw.received,
        };
        let transfer = Transfer {
            window: raw.communicator,
            peer: raw.peer,
            bytes: raw.bytes,
            received: raw.received,
            matching: raw.request,
        };
        let request = raw.request;
        let record = match raw.kind {
            1 => Record::Enter { region: raw.peer },
            2 => Record::Leave { region: raw.peer },
            3 => Record::Send(message),
            4 => Record::Isend { message, request },
            5 => Record::IsendComplete { request },
            6 => Record::IrecvRequest { request },
            7 => Record::Irecv { message, request },
            8 => Record::Recv(message),
            9 => Record::RequestTest { request },
            10 => Record::RequestCancelled { request },
            11 => Record::Collective(collective),
            12 => Record::CollectiveRequest { request },
            13 => Record::CollectiveComplete { collective, request },
            14 => Record::BufferFlush { until: raw.bytes },
            15 => Record::Measurement { on: raw.peer != 0 },
            16 => Record::Put(transfer),
            17 => Record::Get(transfer),
            18 => Record::Atomic(transfer),
            19 => Record::WindowCollective {
                window: raw.communicator,
                operation: raw.tag,
            },
            20 => Record::WindowLock {
                window: raw.communicator,
            },
            21 => Record::TransferComplete {
                window: raw.communicator,
                matching: raw.request,
            },
            _ => Record::Mark,
        };
        Event {
            time: raw.time,
            record,
        }
    }

    /// The event for the C side; none for records that are only read.
    pub fn new(event: &Event) -> Option<RawEvent> {
        let time = event.time;
        let plain = |kind, peer| RawEvent {
            time,
            kind,
            peer,
            ..RawEvent::default()
        };
        let request = |kind, request| RawEvent {
            request,
            ..plain(kind, 0)
        };
        let message = |kind, message: Message, request| RawEvent {
            bytes: message.bytes,
            communicator: message.communicator,
            tag: message.tag,
            request,
            ..plain(kind, message.peer)
        };
        let transfer = |kind, transfer: Transfer| RawEvent {
            bytes: transfer.bytes,
            communicator: transfer.window,
            request: transfer.matching,
            ..plain(kind, transfer.peer)
        };
        Some(match event.record {
            Record::Enter { region } => plain(1, region),
            Record::Leave { region } => plain(2, region),
            Record::Send(it) => message(3, it, 0),
            Record::Isend { message: it, request } => message(4, it, request),
            Record::IsendComplete { request: of } => request(5, of),
            Record::IrecvRequest { request: of } => request(6, of),
            Record::Irecv { message: it, request } => message(7, it, request),
            Record::Recv(it) => message(8, it, 0),
            Record::Put(it) => transfer(16, it),
            Record::Get(it) => transfer(17, it),
            Record::TransferComplete { window, matching } => RawEvent {
                communicator: window,
                ..request(21, matching)
            },
            _ => return None,
        })
    }
}
