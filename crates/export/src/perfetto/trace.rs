//! Writes a Perfetto trace packet by packet. Names receive numbers at their first use.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use prost::Message;

use super::packets::{
    CounterDescriptor, DebugAnnotation, EXPLICIT_CHILDREN, EXPLICIT_THREADS, EventType, InternedData,
    InternedName, NEEDS_STATE, PACKET_KEY, ProcessDescriptor, STATE_CLEARED, ThreadDescriptor, TracePacket,
    TrackDescriptor, TrackEvent,
};
use crate::Error;

/// All packets have one writer.
const SEQUENCE: u32 = 1;

/// Perfetto's nanoseconds. Begins and ends are rounded down alike, so that order and nesting are kept.
pub(crate) fn nanoseconds(ps: u64) -> u64 {
    ps / 1000
}

/// A trace that is being written.
pub(crate) struct Trace {
    path: PathBuf,
    out: BufWriter<File>,
    packet: Vec<u8>,
    tracks: u64,
    begun: bool,
    names: Numbered,
    categories: Numbered,
    keys: Numbered,
    texts: Numbered,
}

/// A row of the display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Track(u64);

/// Annotations of an event.
#[derive(Clone, Copy)]
pub(crate) enum AnnotationValue<'a> {
    Text(&'a str),
    Whole(u64),
    Signed(i64),
}

/// An arrow.
#[derive(Clone, Copy)]
pub(crate) enum Arrow {
    From(u64),
    To(u64),
}

/// An event with a name.
pub(crate) struct Named<'a> {
    pub category: &'static str,
    pub name: &'a str,
    pub annotations: &'a [(&'static str, AnnotationValue<'a>)],
}

/// Texts by number, and new texts.
#[derive(Default)]
struct Numbered {
    numbers: HashMap<String, u64>,
    new: Vec<InternedName>,
}

impl Numbered {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        // Number 0 means no text.
        let number = self.numbers.len() as u64 + 1;
        self.numbers.insert(text.into(), number);
        self.new.push(InternedName {
            iid: Some(number),
            name: Some(text.into()),
        });
        number
    }

    fn take_new(&mut self) -> Vec<InternedName> {
        std::mem::take(&mut self.new)
    }
}

impl Trace {
    /// Begins an empty trace in this file.
    pub fn create(path: &Path) -> Result<Trace, Error> {
        let file = File::create(path).map_err(|source| Error::Write {
            path: path.into(),
            source,
        })?;
        Ok(Trace {
            path: path.into(),
            out: BufWriter::new(file),
            packet: Vec::new(),
            tracks: 0,
            begun: false,
            names: Numbered::default(),
            categories: Numbered::default(),
            keys: Numbered::default(),
            texts: Numbered::default(),
        })
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<(), Error> {
        let flushed = self.out.flush();
        flushed.map_err(|source| self.failed(source))
    }

    /// Adds a process. Its threads and children are displayed in the order in which they are added.
    pub fn process(&mut self, pid: i32, name: &str) -> Result<Track, Error> {
        self.describe(TrackDescriptor {
            process: Some(ProcessDescriptor {
                pid: Some(pid),
                process_name: Some(name.into()),
            }),
            child_ordering: Some(EXPLICIT_CHILDREN),
            thread_ordering: Some(EXPLICIT_THREADS),
            ..TrackDescriptor::default()
        })
    }

    /// Adds a thread of a process.
    pub fn thread(&mut self, pid: i32, tid: i64, name: &str, place: i32) -> Result<Track, Error> {
        self.describe(TrackDescriptor {
            thread: Some(ThreadDescriptor {
                pid: Some(pid),
                tid: Some(tid),
                thread_name: Some(name.into()),
            }),
            sibling_order_rank: Some(place),
            ..TrackDescriptor::default()
        })
    }

    /// Adds a track of slices, or a group of tracks, whose children are displayed in the order in which they are
    /// added.
    pub fn track(&mut self, parent: Option<Track>, name: &str) -> Result<Track, Error> {
        let place = self.place();
        self.describe(TrackDescriptor {
            name: Some(name.into()),
            parent_uuid: parent.map(|Track(parent)| parent),
            child_ordering: Some(EXPLICIT_CHILDREN),
            sibling_order_rank: Some(place),
            ..TrackDescriptor::default()
        })
    }

    /// Adds a curve. Curves that share a scale are drawn to it.
    pub fn curve(
        &mut self,
        parent: Track,
        name: &str,
        unit: &str,
        scale: Option<&str>,
    ) -> Result<Track, Error> {
        let place = self.place();
        self.describe(TrackDescriptor {
            name: Some(format!("{name} ({unit})")),
            parent_uuid: Some(parent.0),
            counter: Some(CounterDescriptor {
                unit_name: Some(unit.into()),
                y_axis_share_key: scale.map(|scale| format!("{scale} ({unit})")),
            }),
            sibling_order_rank: Some(place),
            ..TrackDescriptor::default()
        })
    }

    /// Rank of the next sibling track: in the order in which they are added.
    fn place(&self) -> i32 {
        i32::try_from(self.tracks).unwrap_or(i32::MAX)
    }

    fn describe(&mut self, track: TrackDescriptor) -> Result<Track, Error> {
        self.tracks += 1;
        let uuid = self.tracks;
        self.write(TracePacket {
            track_descriptor: Some(TrackDescriptor {
                uuid: Some(uuid),
                ..track
            }),
            ..TracePacket::default()
        })?;
        Ok(Track(uuid))
    }

    /// Begins a slice.
    pub fn begin(&mut self, track: Track, at_ps: u64, named: &Named<'_>) -> Result<(), Error> {
        let event = self.named(named);
        self.event(track, at_ps, EventType::SliceBegin, event)
    }

    /// Ends the slice that began last.
    pub fn end(&mut self, track: Track, at_ps: u64) -> Result<(), Error> {
        self.event(track, at_ps, EventType::SliceEnd, TrackEvent::default())
    }

    /// Adds a slice without duration, with an arrow. Perfetto's instant events of the same time would nest, and
    /// deeply nested ones are dropped.
    pub fn point(&mut self, track: Track, at_ps: u64, named: &Named<'_>, arrow: Arrow) -> Result<(), Error> {
        let mut event = self.named(named);
        match arrow {
            Arrow::From(id) => event.flow_ids.push(id),
            Arrow::To(id) => event.terminating_flow_ids.push(id),
        }
        self.event(track, at_ps, EventType::SliceBegin, event)?;
        self.end(track, at_ps)
    }

    /// Sets the value of a curve from this time on.
    pub fn value(&mut self, track: Track, at_ps: u64, value: f64) -> Result<(), Error> {
        let event = TrackEvent {
            double_counter_value: Some(value),
            ..TrackEvent::default()
        };
        self.event(track, at_ps, EventType::Counter, event)
    }

    fn named(&mut self, named: &Named<'_>) -> TrackEvent {
        let annotation = |(key, value): &(&'static str, AnnotationValue<'_>)| {
            let mut annotation = DebugAnnotation {
                name_iid: Some(self.keys.number(key)),
                ..DebugAnnotation::default()
            };
            match value {
                AnnotationValue::Text(text) => annotation.string_value_iid = Some(self.texts.number(text)),
                AnnotationValue::Whole(number) => annotation.uint_value = Some(*number),
                AnnotationValue::Signed(number) => annotation.int_value = Some(*number),
            }
            annotation
        };
        TrackEvent {
            debug_annotations: named.annotations.iter().map(annotation).collect(),
            category_iids: vec![self.categories.number(named.category)],
            name_iid: Some(self.names.number(named.name)),
            ..TrackEvent::default()
        }
    }

    fn event(
        &mut self,
        Track(track): Track,
        at_ps: u64,
        kind: EventType,
        event: TrackEvent,
    ) -> Result<(), Error> {
        let interned = InternedData {
            event_categories: self.categories.take_new(),
            event_names: self.names.take_new(),
            debug_annotation_names: self.keys.take_new(),
            debug_annotation_string_values: self.texts.take_new(),
        };
        self.write(TracePacket {
            timestamp: Some(nanoseconds(at_ps)),
            track_event: Some(TrackEvent {
                r#type: Some(kind.into()),
                track_uuid: Some(track),
                ..event
            }),
            interned_data: (interned != InternedData::default()).then_some(interned),
            ..TracePacket::default()
        })
    }

    fn write(&mut self, packet: TracePacket) -> Result<(), Error> {
        let first = !std::mem::replace(&mut self.begun, true);
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(if first { STATE_CLEARED } else { NEEDS_STATE }),
            first_packet_on_sequence: first.then_some(true),
            ..packet
        };
        self.packet.clear();
        self.packet.push(PACKET_KEY);
        let encoded = packet.encode_length_delimited(&mut self.packet);
        encoded.expect("a vector grows");
        let written = self.out.write_all(&self.packet);
        written.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Write {
            path: self.path.clone(),
            source,
        }
    }
}
