//! Traces of constructed tables, read as a viewer reads them: sorted by time, equal times in file order; slices of a
//! track are a stack.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use prost::Message;
use serde_json::{Value, json};

use super::packets::{self, EventType, TrackDescriptor};
use super::*;
use crate::folder::tests::{finished, killed, maybe_texts, maybe_u32s, table, texts, u32s, u64s};

/// A slice with everything inside it.
#[derive(Clone, Debug, PartialEq)]
struct Slice {
    track: String,
    /// Names of the enclosing slices, and its own name.
    name: String,
    category: String,
    ns: (u64, u64),
    annotations: BTreeMap<String, String>,
}

/// The content that a viewer shows.
#[derive(Default)]
struct Seen {
    tracks: Vec<String>,
    slices: Vec<Slice>,
    /// Names of the slices at both ends of each arrow.
    arrows: Vec<(String, String)>,
    curves: BTreeMap<String, Vec<(u64, f64)>>,
}

impl Seen {
    fn on(&self, track: &str) -> Vec<(&str, (u64, u64))> {
        let on = self.slices.iter().filter(|slice| slice.track == track);
        on.map(|slice| (slice.name.as_str(), slice.ns)).collect()
    }
}

fn name_of(track: &TrackDescriptor, known: &BTreeMap<u64, (String, Option<i32>)>) -> String {
    if let Some(process) = &track.process {
        return process.process_name.clone().unwrap();
    }
    if let Some(thread) = &track.thread {
        let process = known
            .values()
            .find(|(_, pid)| *pid == thread.pid)
            .expect("described before");
        return format!("{} / {}", process.0, thread.thread_name.as_ref().unwrap());
    }
    let name = track.name.as_ref().expect("a name");
    match track.parent_uuid {
        Some(parent) => format!("{} / {name}", known[&parent].0),
        None => name.clone(),
    }
}

fn see(bytes: &[u8]) -> Seen {
    let mut packets = packets::WholeTrace::decode(bytes).unwrap().packet;
    let first = packets.first().map(|packet| packet.sequence_flags);
    assert!(first.is_none_or(|flags| flags == Some(packets::STATE_CLEARED)));
    let mut seen = Seen::default();
    let mut tracks = BTreeMap::new();
    let mut names: [BTreeMap<u64, String>; 4] = Default::default();
    for packet in &packets {
        if let Some(track) = &packet.track_descriptor {
            let name = name_of(track, &tracks);
            seen.tracks.push(name.clone());
            let pid = track.process.as_ref().and_then(|process| process.pid);
            assert!(tracks.insert(track.uuid.unwrap(), (name, pid)).is_none());
        }
        let Some(interned) = &packet.interned_data else {
            continue;
        };
        let new = [
            &interned.event_categories,
            &interned.event_names,
            &interned.debug_annotation_names,
            &interned.debug_annotation_string_values,
        ];
        for (names, new) in names.iter_mut().zip(new) {
            for name in new {
                assert!(
                    names
                        .insert(name.iid.unwrap(), name.name.clone().unwrap())
                        .is_none()
                );
            }
        }
    }
    let [categories, names, keys, words] = names;
    // The sort is stable.
    packets.sort_by_key(|packet| packet.timestamp);
    let mut open = BTreeMap::<u64, Vec<Slice>>::new();
    let mut arrows = BTreeMap::<u64, String>::new();
    for packet in &packets {
        let Some(event) = &packet.track_event else {
            continue;
        };
        let (at, uuid) = (packet.timestamp.unwrap(), event.track_uuid.unwrap());
        let track = tracks[&uuid].0.clone();
        let stack = open.entry(uuid).or_default();
        let annotations = event.debug_annotations.iter().map(|annotations| {
            let word = annotations.string_value_iid.map(|iid| words[&iid].clone());
            let whole = annotations.uint_value.map(|number| number.to_string());
            let value = word
                .or(whole)
                .or(annotations.int_value.map(|number| number.to_string()));
            (keys[&annotations.name_iid.unwrap()].clone(), value.unwrap())
        });
        let around = stack
            .last()
            .map(|slice| slice.name.clone() + " / ")
            .unwrap_or_default();
        let new = event.name_iid.map(|iid| Slice {
            track: track.clone(),
            name: around + &names[&iid],
            category: categories[&event.category_iids[0]].clone(),
            ns: (at, at),
            annotations: annotations.collect(),
        });
        match EventType::try_from(event.r#type.unwrap()).unwrap() {
            EventType::SliceBegin => {
                let slice = new.unwrap();
                let place = format!("{}: {}", track, slice.name);
                for id in &event.flow_ids {
                    assert!(arrows.insert(*id, place.clone()).is_none());
                }
                for id in &event.terminating_flow_ids {
                    seen.arrows
                        .push((arrows.remove(id).expect("it has begun"), place.clone()));
                }
                stack.push(slice);
            }
            EventType::SliceEnd => {
                let mut slice = stack.pop().expect("what ends has begun");
                slice.ns.1 = at;
                seen.slices.push(slice);
            }
            EventType::Counter => {
                let curve = seen.curves.entry(track).or_default();
                curve.push((at, event.double_counter_value.unwrap()));
            }
            EventType::Instant | EventType::Unspecified => panic!("an event of another kind"),
        }
    }
    assert!(
        open.values().all(Vec::is_empty) && arrows.is_empty(),
        "all that begins ends"
    );
    seen
}

fn exported(path: &Path, options: &Options) -> (Seen, Vec<String>) {
    let folder = ExportSource::open(path).unwrap();
    let out = path.join("out");
    let notes = write(&folder, options, &out).unwrap();
    (see(&fs::read(&out).unwrap()), notes)
}

fn flags(cells: &[bool]) -> ArrayRef {
    Arc::new(BooleanArray::from(cells.to_vec()))
}

/// Two ranks: one sends to the other, which waits for it; then both send to themselves at once.
fn rank_states(folder: &Path) {
    let timeline = vec![
        ("job", texts(&["a"; 7])),
        ("rank", u32s(&[0, 10, 10, 0, 10, 0, 0])),
        ("begin_ps", u64s(&[0, 0, 999, 1000, 4999, 2500, 6000])),
        ("end_ps", u64s(&[1000, 999, 4999, 2500, 6000, 6000, 6000])),
        (
            "state",
            texts(&[
                "compute",
                "MPI_Recv",
                "MPI_Recv",
                "MPI_Send",
                "MPI_Recv",
                "compute",
                "MPI_Iprobe",
            ]),
        ),
        (
            "blocked",
            flags(&[false, false, true, false, false, false, false]),
        ),
        (
            "region",
            maybe_texts(&[Some("main"), None, None, None, None, None, None]),
        ),
    ];
    table(&folder.join("timeline.parquet"), timeline);
    let messages = vec![
        ("job", texts(&["a"; 3])),
        ("from_rank", u32s(&[0, 0, 10])),
        ("to_rank", u32s(&[10, 0, 0])),
        ("from_host", u32s(&[7, 7, 8])),
        ("to_host", u32s(&[8, 7, 7])),
        ("bytes", u64s(&[4096, 8, 0])),
        (
            "tag",
            Arc::new(arrow_array::Int32Array::from(vec![Some(-7), None, None])) as ArrayRef,
        ),
        ("collective", maybe_texts(&[None, Some("bcast binomial"), None])),
        ("protocol", texts(&["eager", "eager", "clear-to-send"])),
        ("posted_ps", u64s(&[1000, 5100, 3000])),
        ("sent_ps", u64s(&[2500, 5100, 3000])),
        ("arrived_ps", u64s(&[4999, 5200, 6000])),
        ("matched_ps", u64s(&[4999, 5200, 6000])),
    ];
    table(&folder.join("messages.parquet"), messages);
}

const SENT: &str = "a / rank 00 on host 7";
const RECEIVED: &str = "a / rank 10 on host 8";

#[test]
fn slices_are_rows_of_the_timeline_and_arrows_lead_from_call_to_call() {
    let here = tempfile::tempdir().unwrap();
    finished(here.path(), &Value::Null);
    rank_states(here.path());
    let ranks = vec![
        ("job", texts(&["a", "a"])),
        ("rank", u32s(&[0, 10])),
        ("host", u32s(&[7, 8])),
    ];
    table(&here.path().join("ranks.parquet"), ranks);
    let (seen, notes) = exported(here.path(), &Options::default());
    assert_eq!(seen.tracks, ["a", SENT, RECEIVED]);
    let calls = |track: &str| -> Vec<(String, (u64, u64))> {
        let slices = seen
            .slices
            .iter()
            .filter(|it| it.track == track && !it.name.contains("rank"));
        slices.map(|slice| (slice.name.clone(), slice.ns)).collect()
    };
    let slice = |name: &str, start, end| (name.to_string(), (start, end));
    assert_eq!(
        calls(SENT),
        [
            slice("compute", 0, 1),
            slice("MPI_Send", 1, 2),
            slice("compute", 2, 6),
            slice("MPI_Iprobe", 6, 6)
        ]
    );
    // Times are rounded down, and no slices overlap.
    assert_eq!(
        calls(RECEIVED),
        [
            slice("MPI_Recv", 0, 0),
            slice("MPI_Recv / waiting", 0, 4),
            slice("MPI_Recv", 0, 4),
            slice("MPI_Recv", 4, 6)
        ]
    );
    let arrow = |from: &str, to: &str| (from.to_string(), to.to_string());
    assert_eq!(
        seen.arrows,
        [
            // The wait ends with the message, and the overhead of the send ends when it is handed over.
            arrow(
                &format!("{SENT}: MPI_Send / to rank 10"),
                &format!("{RECEIVED}: MPI_Recv / waiting / from rank 0")
            ),
            // All in one nanosecond.
            arrow(
                &format!("{SENT}: compute / to rank 0"),
                &format!("{SENT}: compute / from rank 0")
            ),
            arrow(
                &format!("{RECEIVED}: MPI_Recv / waiting / clear-to-send to rank 0"),
                &format!("{SENT}: compute / clear-to-send from rank 10")
            ),
        ]
    );
    let annotations = |name: &str| {
        let slice = seen
            .slices
            .iter()
            .find(|slice| slice.name.ends_with(name))
            .unwrap();
        let annotations = slice
            .annotations
            .iter()
            .map(|(key, value)| format!("{key}={value}"));
        (slice.category.clone(), annotations.collect::<Vec<_>>().join(" "))
    };
    assert_eq!(
        annotations("from rank 0"),
        (
            "message".into(),
            "bytes=4096 in_network_ps=2499 protocol=eager tag=-7".into()
        )
    );
    assert_eq!(annotations("clear-to-send to rank 0").0, "control");
    assert_eq!(annotations("compute"), ("compute".into(), "region=main".into()));
    assert_eq!(annotations("MPI_Send"), ("mpi".into(), String::new()));
    assert_eq!(notes.len(), 4, "{notes:?}");
    assert!(
        notes[0].starts_with("without loads of the network: there is no table class_series: the run did not")
    );
}

#[test]
fn a_killed_run_shows_what_it_has() {
    let here = tempfile::tempdir().unwrap();
    killed(
        here.path(),
        &json!({"job": [{"name": "b"}, {"name": "a"}], "collect": {"timeline": true}}),
    );
    rank_states(&here.path().join("running"));
    for table in ["timeline", "messages"] {
        let parts = here.path().join("running");
        fs::rename(
            parts.join(format!("{table}.parquet")),
            parts.join(format!("{table}.tail.parquet")),
        )
        .unwrap();
    }
    let (seen, _) = exported(here.path(), &Options::default());
    assert_eq!(seen.tracks[..2], ["b", "a"]);
    // Hosts are known from messages.
    assert_eq!(
        seen.tracks[2..],
        ["a / rank 00 on host 7", "a / rank 10 on host 8"]
    );
    assert_eq!(seen.arrows.len(), 3);
}

fn series(
    name: &str,
    things: &str,
    rows: &[(u64, u64, &str, [u64; 4])],
    values: [&'static str; 4],
    path: &Path,
) {
    let column = |value: usize| u64s(&rows.iter().map(|row| row.3[value]).collect::<Vec<_>>());
    let mut columns = vec![
        (
            "begin_ps",
            u64s(&rows.iter().map(|row| row.0).collect::<Vec<_>>()),
        ),
        ("end_ps", u64s(&rows.iter().map(|row| row.1).collect::<Vec<_>>())),
        (things, texts(&rows.iter().map(|row| row.2).collect::<Vec<_>>())),
    ];
    columns.extend(
        values
            .into_iter()
            .enumerate()
            .map(|(value, name)| (name, column(value))),
    );
    table(&path.join(format!("{name}.parquet")), columns);
}

#[test]
fn curves_are_the_bins_and_0_between_them() {
    let here = tempfile::tempdir().unwrap();
    finished(here.path(), &Value::Null);
    let classes = ["links", "bytes", "busy_ps", "buffer_full_ps"];
    series(
        "class_series",
        "class",
        &[
            (2000, 4000, "up", [2, 100, 1000, 0]),
            (4000, 6000, "up", [2, 100, 1000, 0]),
            (8000, 10_000, "up", [2, 25, 0, 0]),
            // Additions to earlier bins.
            (0, 2000, "up", [2, 50, 0, 0]),
            (4000, 6000, "up", [2, 100, 1000, 400]),
            (10_000, 11_000, "up", [2, 50, 0, 0]),
        ],
        classes,
        here.path(),
    );
    let jobs = [
        "bytes_sent",
        "bytes_received",
        "messages_received",
        "ranks_finished",
    ];
    series(
        "job_series",
        "job",
        &[(0, 1000, "a", [1, 0, 2, 0]), (3000, 4000, "a", [0, 0, 3, 1])],
        jobs,
        here.path(),
    );
    let (seen, notes) = exported(here.path(), &Options::default());
    let curve = |name: &str| seen.curves[name].clone();
    assert_eq!(
        curve("network / up links: throughput (Gb/s)"),
        [
            (0, 200.0),
            (2, 400.0),
            (4, 800.0),
            (6, 0.0),
            (8, 100.0),
            (10, 400.0),
            (11, 0.0)
        ]
    );
    assert_eq!(
        curve("network / up links: busy (%)"),
        [(0, 0.0), (2, 25.0), (4, 50.0), (6, 0.0)]
    );
    assert_eq!(
        curve("network / up links: stalled by full buffers (%)"),
        [(0, 0.0), (4, 10.0), (6, 0.0)]
    );
    assert_eq!(curve("a / sent (Gb/s)"), [(0, 8.0), (1, 0.0)]);
    assert_eq!(
        curve("a / messages received so far (messages)"),
        [(0, 0.0), (1, 2.0), (4, 5.0)]
    );
    assert_eq!(curve("a / ranks finished (ranks)"), [(0, 0.0), (4, 1.0)]);
    // A curve that is always 0 is absent.
    assert_eq!(seen.curves.len(), 6, "{:?}", seen.curves.keys());
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("without what ranks did: there is no table timeline"))
    );
}

#[test]
fn the_busiest_links_have_curves_with_their_names() {
    let here = tempfile::tempdir().unwrap();
    finished(here.path(), &Value::Null);
    let series = vec![
        ("begin_ps", u64s(&[0, 0, 0, 2000, 4000])),
        ("end_ps", u64s(&[2000, 2000, 2000, 4000, 6000])),
        ("link", u32s(&[3, 1, 2, 3, 3])),
        ("busy_ps", u64s(&[500, 1500, 1000, 0, 500])),
        ("waiting_bytes", u64s(&[64, 0, 0, 32, 0])),
    ];
    table(&here.path().join("link_series.parquet"), series);
    let links = vec![
        ("link", u32s(&[1, 3])),
        ("class", texts(&["up", "down"])),
        ("from", texts(&["router 0 port 1", "router 1 port 0"])),
        ("to", texts(&["router 1 port 0", "host 5"])),
    ];
    table(&here.path().join("links.parquet"), links);
    let options = |links| Options {
        links,
        ..Options::default()
    };
    let (seen, _) = exported(here.path(), &options(Some(2)));
    let down = "network / busiest links / link 2";
    assert_eq!(
        seen.tracks,
        [
            "network",
            "network / busiest links",
            "network / busiest links / link 1 (up): router 0 port 1 to router 1 port 0",
            down,
            "network / busiest links / link 1 (up): router 0 port 1 to router 1 port 0 / busy (%)",
            "network / busiest links / link 2 / busy (%)"
        ]
    );
    let (seen, _) = exported(here.path(), &options(None));
    let third = "network / busiest links / link 3 (down): router 1 port 0 to host 5";
    let curve = |what: &str| seen.curves[&format!("{third} / {what}")].clone();
    assert_eq!(curve("busy (%)"), [(0, 25.0), (2, 0.0), (4, 25.0), (6, 0.0)]);
    assert_eq!(
        curve("waiting for it (bytes)"),
        [(0, 0.0), (2, 64.0), (4, 32.0), (6, 0.0)]
    );
    let (seen, notes) = exported(here.path(), &options(Some(0)));
    assert_eq!((seen.tracks.len(), seen.curves.len()), (0, 0));
    assert!(
        !notes.iter().any(|note| note.contains("single links")),
        "{notes:?}"
    );
}

#[test]
fn the_critical_path_is_a_track_of_its_job() {
    let here = tempfile::tempdir().unwrap();
    finished(here.path(), &Value::Null);
    let path = vec![
        ("job", texts(&["a"; 3])),
        ("kind", texts(&["compute", "wait", "network"])),
        ("rank", u32s(&[0, 0, 0])),
        ("to_rank", maybe_u32s(&[None, Some(3), Some(3)])),
        ("begin_ps", u64s(&[0, 1500, 1700])),
        ("end_ps", u64s(&[1500, 1700, 4000])),
        (
            "activity",
            maybe_texts(&[Some("solve"), Some("eager"), Some("eager")]),
        ),
        ("link", maybe_u32s(&[None, Some(9), None])),
        ("reason", maybe_texts(&[None, Some("wire"), None])),
        ("holder", maybe_texts(&[None, Some("noise"), None])),
    ];
    table(&here.path().join("critical_path.parquet"), path);
    let (seen, _) = exported(here.path(), &Options::default());
    assert_eq!(
        seen.on("a / critical path"),
        [
            ("compute, rank 0", (0, 1)),
            ("wait, rank 0 to 3", (1, 1)),
            ("network, rank 0 to 3", (1, 4))
        ]
    );
    let annotations: Vec<String> = seen.slices[1]
        .annotations
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(
        annotations,
        ["activity=eager", "holder=noise", "link=link 9", "reason=wire"]
    );
}

#[test]
fn nothing_to_show_is_told() {
    let here = tempfile::tempdir().unwrap();
    finished(here.path(), &Value::Null);
    let folder = ExportSource::open(here.path()).unwrap();
    let refused = |options: &Options| {
        write(&folder, options, &here.path().join("out"))
            .unwrap_err()
            .to_string()
    };
    let why = refused(&Options::default());
    assert!(
        why.contains("no table timeline") && why.contains("--set collect.timeline=true"),
        "{why}"
    );
    rank_states(here.path());
    let folder = ExportSource::open(here.path()).unwrap();
    let links = Options {
        links: Some(1),
        ..Options::default()
    };
    let why = write(&folder, &links, &here.path().join("out"))
        .unwrap_err()
        .to_string();
    assert!(
        why.contains("no table link_series") && why.contains("series = \"links\""),
        "{why}"
    );
}
