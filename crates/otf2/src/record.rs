//! Definitions and events of an archive that FabricSim uses, with OTF2's names.

/// A global definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition {
    /// The clock of all time stamps.
    Clock {
        /// Resolution.
        ticks_per_second: u64,
    },
    /// A text with an id.
    String {
        /// Id.
        id: u32,
        /// Text.
        text: String,
    },
    /// A stream of events: a thread.
    Location {
        /// Id.
        id: u64,
        /// Number of its events.
        events: u64,
    },
    /// A function or another region of the code.
    Region {
        /// Id.
        id: u32,
        /// String.
        name: u32,
    },
    /// A list of locations or ranks.
    Group {
        /// Id.
        id: u32,
        /// `OTF2_GroupType`.
        kind: u32,
        /// `OTF2_Paradigm`.
        paradigm: u32,
        /// `OTF2_GroupFlag`.
        flags: u32,
        /// Locations, or indices into the paradigm's group of locations.
        members: Vec<u64>,
    },
    /// A communicator.
    Communicator {
        /// Id.
        id: u32,
        /// String.
        name: u32,
        /// Group.
        group: u32,
    },
    /// An inter-communicator.
    InterCommunicator {
        /// Id.
        id: u32,
        /// Groups.
        groups: [u32; 2],
    },
    /// An RMA window.
    RmaWindow {
        /// Id.
        id: u32,
        /// Communicator.
        communicator: u32,
    },
}

/// Envelope of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRecord {
    /// Rank of the other side in the communicator.
    pub peer: u32,
    /// Id of the communicator.
    pub communicator: u32,
    /// Tag.
    pub tag: u32,
    /// Bytes.
    pub bytes: u64,
}

/// A one-sided transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RmaRecord {
    /// Id of the window.
    pub window: u32,
    /// Rank of the other side in the window's communicator.
    pub peer: u32,
    /// Bytes; of an atomic operation the bytes sent.
    pub bytes: u64,
    /// Bytes that an atomic operation receives.
    pub received: u64,
    /// Matching id of its completion.
    pub matching: u64,
}

/// End of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveRecord {
    /// `OTF2_CollectiveOp`.
    pub operation: u32,
    /// Id of the communicator.
    pub communicator: u32,
    /// Rank in the communicator, or an `OTF2_CollectiveRoot`.
    pub root: u32,
    /// Bytes sent, as Score-P counts.
    pub sent: u64,
    /// Bytes received, as Score-P counts.
    pub received: u64,
}

/// An event record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each is the record of that name in OTF2
pub enum EventRecord {
    /// A record of which only the time matters.
    Mark,
    Enter {
        region: u32,
    },
    Leave {
        region: u32,
    },
    Send(MessageRecord),
    Isend {
        message: MessageRecord,
        request: u64,
    },
    IsendComplete {
        request: u64,
    },
    IrecvRequest {
        request: u64,
    },
    Irecv {
        message: MessageRecord,
        request: u64,
    },
    Recv(MessageRecord),
    RequestTest {
        request: u64,
    },
    RequestCancelled {
        request: u64,
    },
    Collective(CollectiveRecord),
    CollectiveRequest {
        request: u64,
    },
    CollectiveComplete {
        collective: CollectiveRecord,
        request: u64,
    },
    /// The recording wrote its buffer to disk until this time in ticks.
    BufferFlush {
        until: u64,
    },
    Measurement {
        on: bool,
    },
    Put(RmaRecord),
    Get(RmaRecord),
    Atomic(RmaRecord),
    /// A put or get is complete. It is written, not read.
    TransferComplete {
        window: u32,
        matching: u64,
    },
    /// The end of a collective operation on an RMA window.
    RmaCollective {
        window: u32,
        operation: u32,
    },
    /// A lock on an RMA window, or a synchronisation of some of its ranks.
    RmaLock {
        window: u32,
    },
}

/// An event of one location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedEvent {
    /// Ticks.
    pub time: u64,
    /// What happened.
    pub record: EventRecord,
}
