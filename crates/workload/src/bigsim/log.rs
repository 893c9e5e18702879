//! One log of a timeline: an entry method that a PE has executed.

use super::cursor::BigsimCursor;
use crate::TraceError;

/// The newest version of the layout.
pub const NEWEST: u32 = 6;

/// Bytes of a name.
const NAME: usize = 20;

/// Longest time that is read, in seconds: its picoseconds fit into 64 bits.
const MOST_SECONDS: f64 = 1e7;

/// What a machine was, by the file `bgTrace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BigsimMachine {
    /// Worker threads of all nodes.
    pub pes: u32,
    /// Nodes in each dimension.
    pub grid: [u32; 3],
    /// Worker threads of a node.
    pub threads: u32,
    /// Files with timelines.
    pub files: u32,
    /// Version of the layout of logs, 0 to [`NEWEST`].
    pub version: u32,
}

impl BigsimMachine {
    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.pes / self.threads.max(1)
    }
}

/// Which message: its sender and the sender's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BigsimMessage {
    /// The PE that sends it.
    pub from: u32,
    /// Its number there.
    pub id: u32,
}

/// A message that leaves when a log starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BigsimSend {
    /// Its number on this PE.
    pub id: u32,
    /// Where it goes.
    pub to: Destination,
    /// Bytes with the envelopes of Charm++ and AMPI.
    pub bytes: u32,
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A PE.
    Pe(u32),
    /// All threads of a node.
    Node(u32),
    /// All PEs, the sender too.
    All,
    /// All PEs but this one.
    AllButPe(u32),
    /// All PEs but those of a node.
    AllButNode(u32),
}

impl Destination {
    /// Whether one send is several messages for the whole machine.
    pub fn is_broadcast(self) -> bool {
        matches!(
            self,
            Destination::All | Destination::AllButPe(_) | Destination::AllButNode(_)
        )
    }

    /// The destination of a node and a thread as recorded. Otherwise what was expected in the place of the node, or of
    /// the thread.
    fn of(machine: &BigsimMachine, node: i32, thread: i16) -> Result<Destination, String> {
        let (nodes, threads) = (machine.nodes(), machine.threads);
        let number = match node {
            0.. => node.unsigned_abs(),
            -1 => return Ok(Destination::All),
            // The number of the node that is left out, from -100 downwards.
            ..=-100 => (-100_i64 - i64::from(node)) as u32,
            _ => {
                return Err(format!(
                    "expected the destination, a node, -1, or -100 downwards; found {node}"
                ));
            }
        };
        if number >= nodes {
            return Err(format!(
                "expected one of the nodes 0 to {} as destination, found {number}",
                nodes - 1
            ));
        }
        let is_left_out = node < 0;
        let pe = |thread: u32| number * threads + thread;
        match u32::try_from(thread) {
            Ok(thread) if thread < threads && is_left_out => Ok(Destination::AllButPe(pe(thread))),
            Ok(thread) if thread < threads => Ok(Destination::Pe(pe(thread))),
            Err(_) if thread == -1 && is_left_out => Ok(Destination::AllButNode(number)),
            Err(_) if thread == -1 => Ok(Destination::Node(number)),
            _ => Err(format!(
                "expected a thread from 0 to {} of the destination, or -1; found {thread}",
                threads - 1
            )),
        }
    }

    /// The PEs, in rising order.
    pub fn pes(self, machine: &BigsimMachine) -> impl Iterator<Item = u32> + use<> {
        let threads = machine.threads;
        let of_node = |node: u32| node * threads..(node + 1) * threads;
        let (range, left_out) = match self {
            Destination::Pe(pe) => (pe..pe + 1, 0..0),
            Destination::Node(node) => (of_node(node), 0..0),
            Destination::All => (0..machine.pes, 0..0),
            Destination::AllButPe(pe) => (0..machine.pes, pe..pe + 1),
            Destination::AllButNode(node) => (0..machine.pes, of_node(node)),
        };
        range.filter(move |pe| !left_out.contains(pe))
    }
}

/// A log as recorded, with what is used of it.
#[derive(Clone, Debug, PartialEq)]
pub struct BigsimLog {
    /// The message that starts it.
    pub started_by: Option<BigsimMessage>,
    /// A collective of MPI that is no messages: 1 barrier, 2 allreduce, 3 alltoall; 0 none.
    pub collective: u16,
    /// How long it took, in picoseconds.
    pub exec_ps: u64,
    /// When it ended, in picoseconds.
    pub end_ps: u64,
    /// Whether the simulation starts with its first message.
    pub is_start: bool,
    /// Name of the entry method.
    pub name: String,
    /// Messages.
    pub sends: Vec<BigsimSend>,
    /// Number of its events.
    pub events: u64,
    /// Logs of this PE that must have ended.
    pub before: Vec<u32>,
    /// Logs of this PE that wait for it.
    pub after: Vec<u32>,
}

/// The least bytes of a log.
pub fn least_bytes(version: u32) -> u64 {
    let fixed = 4 * 4 + 5 * 8 + 1 + NAME as u64 + 4 * 4;
    let operation = if version >= 6 { 2 + 4 } else { 0 };
    let entry = if version >= 4 { 2 } else { 0 };
    fixed + operation + entry + object_bytes(version)
}

fn object_bytes(version: u32) -> u64 {
    match version {
        0 | 1 => 0,
        2 => 3 * 4,
        _ => 4 * 4,
    }
}

impl BigsimLog {
    /// Reads the log of this index in a timeline of `logs`.
    ///
    /// # Errors
    /// A value is impossible, or the file ends before.
    pub fn read(
        cursor: &mut BigsimCursor,
        machine: &BigsimMachine,
        (index, logs): (u32, u32),
    ) -> Result<BigsimLog, TraceError> {
        let version = machine.version;
        cursor.int("the entry point of a log")?;
        let at = cursor.at();
        let number = cursor.int("the number of a log")?;
        if i64::from(number) != i64::from(index) {
            let message = format!("expected {index} as number of the log, found {number}");
            return Err(cursor.error(at, message));
        }
        let started_by = read_message(cursor, machine)?;
        let collective = match version {
            6.. => cursor.short("the MPI operation")?.cast_unsigned(),
            _ => 0,
        };
        if version >= 6 {
            cursor.skip(4, "the size of the MPI operation")?;
        }
        if version >= 4 {
            cursor.short("the entry of Charm++")?;
        }
        for what in [
            "the time of reception",
            "the effective time of reception",
            "the start",
        ] {
            cursor.double(what)?;
        }
        let exec_ps = read_time(cursor, "the time of execution", 0.0)?;
        // -1 of a log that the end of the program interrupts.
        let end_ps = read_time(cursor, "the end", -1.0)?;
        let flag = cursor.char("the flag")?;
        let name = read_name(cursor)?;
        cursor.skip(object_bytes(version), "the object")?;
        let least_of_send = if version > 0 { 34 } else { 30 };
        let sends = cursor.count("the number of messages", least_of_send)?;
        let sends = (0..sends)
            .map(|_| read_send(cursor, machine))
            .collect::<Result<_, _>>()?;
        let events = cursor.count("the number of events", 13)?;
        (0..events).try_for_each(|_| skip_event(cursor))?;
        Ok(BigsimLog {
            started_by,
            collective,
            exec_ps,
            end_ps,
            is_start: flag & 1 != 0,
            name,
            sends,
            events: events as u64,
            before: read_logs(cursor, "a log before it", logs)?,
            after: read_logs(cursor, "a log after it", logs)?,
        })
    }
}

/// The message that starts a log.
fn read_message(
    cursor: &mut BigsimCursor,
    machine: &BigsimMachine,
) -> Result<Option<BigsimMessage>, TraceError> {
    let at = cursor.at();
    let from = cursor.int("the sender of the message that starts the log")?;
    let id = cursor.int("the number of this message")?;
    match (u32::try_from(from), u32::try_from(id)) {
        (Ok(from), Ok(id)) if from < machine.pes => Ok(Some(BigsimMessage { from, id })),
        _ if from == -1 => Ok(None),
        _ => {
            let most = machine.pes - 1;
            let message = format!(
                "expected the message that starts the log, a PE from 0 to {most} and a number, or -1; found {from} and \
                 {id}"
            );
            Err(cursor.error(at, message))
        }
    }
}

/// A time in picoseconds, of at least this many seconds; 0 if it is negative.
fn read_time(cursor: &mut BigsimCursor, what: &str, least: f64) -> Result<u64, TraceError> {
    let at = cursor.at();
    let seconds = cursor.double(what)?;
    if !(least..=MOST_SECONDS).contains(&seconds) {
        let message = format!("expected {what}, from {least} to {MOST_SECONDS} s; found {seconds}");
        return Err(cursor.error(at, message));
    }
    Ok((seconds * 1e12).round() as u64)
}

/// A name up to its zero byte. Bytes that are no ASCII are those of Latin-1.
fn read_name(cursor: &mut BigsimCursor) -> Result<String, TraceError> {
    let at = cursor.at();
    let bytes: [u8; NAME] = cursor.bytes("the name")?;
    let Some(end) = bytes.iter().position(|byte| *byte == 0) else {
        return Err(cursor.error(at, "expected a name that ends with a zero byte within 20 B"));
    };
    let printed = |byte: &u8| match char::from(*byte) {
        control if control.is_control() => char::REPLACEMENT_CHARACTER,
        other => other,
    };
    Ok(bytes[..end].iter().map(printed).collect())
}

fn read_send(cursor: &mut BigsimCursor, machine: &BigsimMachine) -> Result<BigsimSend, TraceError> {
    let id = cursor.natural("the number of a message")?;
    let at = cursor.at();
    let node = cursor.int("the destination of a message")?;
    cursor.double("the time of a message")?;
    cursor.double("the arrival of a message")?;
    let thread = cursor.short("the thread of a destination")?;
    let bytes = cursor.natural("the bytes of a message")?;
    if machine.version > 0 {
        cursor.int("the group of a message")?;
    }
    let to = Destination::of(machine, node, thread).map_err(|message| cursor.error(at, message))?;
    Ok(BigsimSend { id, to, bytes })
}

fn skip_event(cursor: &mut BigsimCursor) -> Result<(), TraceError> {
    let at = cursor.at();
    let kind = cursor.char("the kind of an event")?;
    cursor.double("the time of an event")?;
    match kind {
        1 => cursor.skip(4, "the number of an event"),
        2 | 3 => {
            let length = cursor.count("the length of a text", 1)?;
            cursor.skip(length as u64, "a text")
        }
        other => Err(cursor.error(
            at,
            format_args!("expected an event of kind 1, 2 or 3, found {other}"),
        )),
    }
}

/// Logs of the same timeline. Negative numbers stand for their absolute value.
fn read_logs(cursor: &mut BigsimCursor, what: &str, logs: u32) -> Result<Vec<u32>, TraceError> {
    let at = cursor.at();
    let numbers: Vec<u32> = cursor.ints(what)?.into_iter().map(i32::unsigned_abs).collect();
    match numbers.iter().position(|number| *number >= logs) {
        None => Ok(numbers),
        Some(place) => {
            let found = numbers[place];
            let message = format!(
                "expected {what}, at most {}; found {found}",
                logs.saturating_sub(1)
            );
            Err(cursor.error(at + 4 + 4 * place as u64, message))
        }
    }
}
