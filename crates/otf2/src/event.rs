//! Conversion of events between C and Rust.

use crate::{CollectiveRecord, EventRecord, MessageRecord, RmaRecord, TimedEvent};

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
    /// Converts to Rust.
    pub fn event(&self) -> TimedEvent {
        let raw = self;
        let message = MessageRecord {
            peer: raw.peer,
            communicator: raw.communicator,
            tag: raw.tag,
            bytes: raw.bytes,
        };
        let collective = CollectiveRecord {
            operation: raw.tag,
            communicator: raw.communicator,
            root: raw.peer,
            sent: raw.bytes,
            received: raw.received,
        };
        let transfer = RmaRecord {
            window: raw.communicator,
            peer: raw.peer,
            bytes: raw.bytes,
            received: raw.received,
            matching: raw.request,
        };
        let request = raw.request;
        let record = match raw.kind {
            1 => EventRecord::Enter { region: raw.peer },
            2 => EventRecord::Leave { region: raw.peer },
            3 => EventRecord::Send(message),
            4 => EventRecord::Isend { message, request },
            5 => EventRecord::IsendComplete { request },
            6 => EventRecord::IrecvRequest { request },
            7 => EventRecord::Irecv { message, request },
            8 => EventRecord::Recv(message),
            9 => EventRecord::RequestTest { request },
            10 => EventRecord::RequestCancelled { request },
            11 => EventRecord::Collective(collective),
            12 => EventRecord::CollectiveRequest { request },
            13 => EventRecord::CollectiveComplete { collective, request },
            14 => EventRecord::BufferFlush { until: raw.bytes },
            15 => EventRecord::Measurement { on: raw.peer != 0 },
            16 => EventRecord::Put(transfer),
            17 => EventRecord::Get(transfer),
            18 => EventRecord::Atomic(transfer),
            19 => EventRecord::RmaCollective {
                window: raw.communicator,
                operation: raw.tag,
            },
            20 => EventRecord::RmaLock {
                window: raw.communicator,
            },
            21 => EventRecord::TransferComplete {
                window: raw.communicator,
                matching: raw.request,
            },
            _ => EventRecord::Mark,
        };
        TimedEvent {
            time: raw.time,
            record,
        }
    }

    /// Converts to C; `None` for records that can only be read.
    pub fn new(event: &TimedEvent) -> Option<RawEvent> {
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
        let message = |kind, message: MessageRecord, request| RawEvent {
            bytes: message.bytes,
            communicator: message.communicator,
            tag: message.tag,
            request,
            ..plain(kind, message.peer)
        };
        let transfer = |kind, transfer: RmaRecord| RawEvent {
            bytes: transfer.bytes,
            communicator: transfer.window,
            request: transfer.matching,
            ..plain(kind, transfer.peer)
        };
        Some(match event.record {
            EventRecord::Enter { region } => plain(1, region),
            EventRecord::Leave { region } => plain(2, region),
            EventRecord::Send(it) => message(3, it, 0),
            EventRecord::Isend { message: it, request } => message(4, it, request),
            EventRecord::IsendComplete { request: of } => request(5, of),
            EventRecord::IrecvRequest { request: of } => request(6, of),
            EventRecord::Irecv { message: it, request } => message(7, it, request),
            EventRecord::Recv(it) => message(8, it, 0),
            EventRecord::Put(it) => transfer(16, it),
            EventRecord::Get(it) => transfer(17, it),
            EventRecord::TransferComplete { window, matching } => RawEvent {
                communicator: window,
                ..request(21, matching)
            },
            _ => return None,
        })
    }
}
