use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const NAMES: DefinitionNames = DefinitionNames {
    world: 0,
    collectives: 1,
    window: 0,
};

/// Rows of one rank from time 0: state, whether it is blocked, duration.
fn input(rows: &[(&str, bool, u64)], ends: &[MessageEnd]) -> (RankInput, Vec<CallActivity>) {
    let mut states: Vec<&str> = Vec::new();
    let mut now = 0;
    let mut spans = Vec::new();
    for (state, blocked, length) in rows {
        let known = states.iter().position(|of| of == state);
        let activity = known.unwrap_or_else(|| {
            states.push(state);
            states.len() - 1
        });
        now += length;
        spans.push(CallSpan {
            start: now - length,
            end: now,
            activity: activity as u32,
            blocked: *blocked,
        });
    }
    let activities = states
        .iter()
        .map(|state| CallActivity::new(state, None))
        .collect();
    let ends = ends.to_vec();
    (RankInput { spans, ends }, activities)
}

fn end(side: MessageSide, peer: u32, sequence: u32, tag: Option<u32>, begun: u64, done: u64) -> MessageEnd {
    MessageEnd {
        side,
        peer,
        sequence,
        bytes: 100 + u64::from(sequence),
        tag,
        begun,
        done,
        order: 0,
        found: false,
        busy: 1,
    }
}

/// The events as text: time, then the event with peers and requests.
fn shown(rows: &[(&str, bool, u64)], ends: &[MessageEnd]) -> Vec<String> {
    let (input, activities) = input(rows, ends);
    let text = |event: &TimedEvent| {
        let of = |message: &MessageRecord| {
            format!(
                "{} tag {} {} B in {}",
                message.peer, message.tag, message.bytes, message.communicator
            )
        };
        let what = match &event.record {
            EventRecord::Enter { region } => format!("{} {{", activities[*region as usize].name),
            EventRecord::Leave { .. } => "}".into(),
            EventRecord::Send(message) => format!("send to {}", of(message)),
            EventRecord::Recv(message) => format!("receive from {}", of(message)),
            EventRecord::Isend { message, request } => format!("#{request} isend to {}", of(message)),
            EventRecord::IrecvRequest { request } => format!("#{request} irecv"),
            EventRecord::Irecv { message, request } => format!("#{request} received from {}", of(message)),
            EventRecord::IsendComplete { request } => format!("#{request} sent"),
            EventRecord::Put(t) => format!("#{} put to {} {} B", t.matching, t.peer, t.bytes),
            EventRecord::Get(t) => format!("#{} get from {} {} B", t.matching, t.peer, t.bytes),
            EventRecord::TransferComplete { matching, .. } => format!("#{matching} done"),
            other => format!("{other:?}"),
        };
        format!("{} {what}", event.time)
    };
    events(input, &activities, NAMES).iter().map(text).collect()
}

#[test]
fn blocking_sends_and_receives_stand_at_the_begin_and_the_end_of_their_calls() {
    let rows = [
        ("MPI_Send", false, 1),
        ("MPI_Recv", true, 5),
        ("MPI_Recv", false, 1),
        // A message that was already there.
        ("MPI_Recv", false, 1),
    ];
    let ends = [
        end(MessageSide::Out, 1, 0, Some(7), 0, 0),
        end(MessageSide::In, 1, 0, Some(8), 6, 6),
        end(MessageSide::In, 2, 0, Some(9), 7, 7),
    ];
    let expected = [
        "0 MPI_Send {",
        "0 send to 1 tag 7 100 B in 0",
        "1 }",
        "1 MPI_Recv {",
        "7 receive from 1 tag 8 100 B in 0",
        "7 }",
        "7 MPI_Recv {",
        "8 receive from 2 tag 9 100 B in 0",
        "8 }",
    ];
    assert_eq!(shown(&rows, &ends), expected);
}

#[test]
fn requests_are_started_in_the_order_of_matching_and_completed_by_the_next_wait() {
    let rows = [
        ("MPI_Irecv", false, 0),
        ("MPI_Irecv", false, 0),
        ("MPI_Isend", false, 1),
        ("compute", false, 9),
        ("MPI_Waitall", true, 5),
        ("compute", false, 5),
    ];
    // A large message, whose request to send was matched before the small one, and whose data are later.
    let ends = [
        end(MessageSide::Out, 3, 4, Some(7), 0, 0),
        end(MessageSide::Asked, 1, 0, Some(8), 2, 2),
        end(MessageSide::In, 1, 0, Some(8), 15, 15),
        end(MessageSide::In, 2, 0, Some(9), 5, 5),
    ];
    let expected = [
        "0 MPI_Irecv {",
        "0 #1 irecv",
        "0 }",
        "0 MPI_Irecv {",
        "0 #2 irecv",
        "0 }",
        "0 MPI_Isend {",
        "0 #0 isend to 3 tag 7 104 B in 0",
        "1 }",
        "1 compute {",
        "10 }",
        "10 MPI_Waitall {",
        "15 #0 sent",
        "15 #2 received from 2 tag 9 100 B in 0",
        "15 #1 received from 1 tag 8 100 B in 0",
        "15 }",
        "15 compute {",
        "20 }",
    ];
    assert_eq!(shown(&rows, &ends), expected);
}

#[test]
fn a_wait_for_one_request_is_for_the_one_that_woke_it_or_by_what_it_cost() {
    let rows = [
        ("MPI_Irecv", false, 0),
        ("MPI_Irecv", false, 0),
        ("MPI_Isend", false, 1),
        ("compute", false, 9),
        // Events of the completed receive, of the send, and of the incomplete receive.
        ("MPI_Wait", false, 1),
        ("MPI_Wait", false, 0),
        ("MPI_Wait", true, 4),
        ("MPI_Wait", false, 1),
    ];
    let ends = [
        end(MessageSide::Out, 3, 0, Some(7), 0, 0),
        end(MessageSide::In, 1, 0, Some(8), 5, 5),
        end(MessageSide::In, 2, 0, Some(9), 15, 15),
    ];
    let waits: Vec<String> = shown(&rows, &ends).split_off(11);
    let expected = [
        "10 MPI_Wait {",
        "11 #1 received from 1 tag 8 100 B in 0",
        "11 }",
        "11 MPI_Wait {",
        "11 #0 sent",
        "11 }",
        "11 MPI_Wait {",
        "16 #2 received from 2 tag 9 100 B in 0",
        "16 }",
    ];
    assert_eq!(waits, expected);
}

#[test]
fn rounds_of_collectives_keep_their_order() {
    let rows = [
        ("MPI_Allreduce", true, 5),
        ("MPI_Allreduce", true, 5),
        ("MPI_Barrier", true, 2),
    ];
    let ends = [
        end(MessageSide::Out, 1, 0, None, 0, 0),
        end(MessageSide::In, 1, 0, None, 5, 5),
        end(MessageSide::Out, 2, 0, None, 5, 5),
        end(MessageSide::In, 2, 0, None, 10, 10),
        end(MessageSide::Out, 2, 1, None, 10, 10),
    ];
    let expected = [
        "0 MPI_Allreduce {",
        "0 #3 irecv",
        "0 #4 irecv",
        "0 #0 isend to 1 tag 0 100 B in 1",
        "5 #3 received from 1 tag 0 100 B in 1",
        "5 #1 isend to 2 tag 0 100 B in 1",
        "10 #4 received from 2 tag 0 100 B in 1",
        "10 #0 sent",
        "10 #1 sent",
        "10 }",
        "10 MPI_Barrier {",
        "10 #2 isend to 2 tag 1 101 B in 1",
        "12 #2 sent",
        "12 }",
    ];
    assert_eq!(shown(&rows, &ends), expected);
}

#[test]
fn what_was_there_before_its_round_is_asked_for_when_the_round_begins() {
    let rows = [
        ("MPI_Allreduce", true, 5),
        ("MPI_Allreduce", false, 1),
        ("MPI_Allreduce", true, 4),
    ];
    let found = |end: MessageEnd| MessageEnd { found: true, ..end };
    let ends = [
        end(MessageSide::In, 1, 0, None, 5, 5),
        // The second round sends, and takes a small message and the request to send of a large one.
        end(MessageSide::Out, 2, 0, None, 6, 6),
        found(end(MessageSide::In, 2, 0, None, 6, 6)),
        found(end(MessageSide::Asked, 3, 0, None, 6, 6)),
        end(MessageSide::In, 3, 0, None, 10, 10),
    ];
    let expected = [
        "0 MPI_Allreduce {",
        "0 #1 irecv",
        "5 #1 received from 1 tag 0 100 B in 1",
        "6 #2 irecv",
        "6 #3 irecv",
        "6 #0 isend to 2 tag 0 100 B in 1",
        "6 #2 received from 2 tag 0 100 B in 1",
        "10 #3 received from 3 tag 0 100 B in 1",
        "10 #0 sent",
        "10 }",
    ];
    assert_eq!(shown(&rows, &ends), expected);
}

#[test]
fn sends_of_one_round_do_not_depend_on_what_comes_in_between() {
    let rows = [("MPI_Alltoall", false, 4)];
    let ends = [
        end(MessageSide::Out, 1, 0, None, 0, 0),
        end(MessageSide::In, 1, 0, None, 1, 1),
        MessageEnd {
            found: true,
            ..end(MessageSide::In, 2, 0, None, 0, 0)
        },
        end(MessageSide::Out, 2, 0, None, 1, 1),
        // The next round.
        end(MessageSide::Out, 3, 0, None, 3, 3),
    ];
    let expected = [
        "0 MPI_Alltoall {",
        "0 #3 irecv",
        "0 #4 irecv",
        "0 #0 isend to 1 tag 0 100 B in 1",
        "1 #1 isend to 2 tag 0 100 B in 1",
        "1 #3 received from 2 tag 0 100 B in 1",
        "1 #4 received from 1 tag 0 100 B in 1",
        "3 #2 isend to 3 tag 0 100 B in 1",
        "4 #0 sent",
        "4 #1 sent",
        "4 #2 sent",
        "4 }",
    ];
    assert_eq!(shown(&rows, &ends), expected);
}

#[test]
fn what_happens_beside_the_program_stands_in_calls_before_and_after() {
    let rows = [
        ("MPI_Iallreduce", false, 1),
        ("compute", false, 9),
        ("MPI_Wait", true, 5),
        ("compute", false, 5),
    ];
    let ends = [
        end(MessageSide::In, 1, 0, None, 4, 4),
        end(MessageSide::Out, 2, 0, None, 4, 4),
    ];
    let expected = [
        "0 MPI_Iallreduce {",
        "1 #1 irecv",
        "1 #0 isend to 2 tag 0 100 B in 1",
        "1 }",
        "1 compute {",
        "10 }",
        "10 MPI_Wait {",
        "15 #0 sent",
        "15 #1 received from 1 tag 0 100 B in 1",
        "15 }",
        "15 compute {",
        "20 }",
    ];
    assert_eq!(shown(&rows, &ends), expected);
}

#[test]
fn a_sendrecv_is_one_call_with_both_of_its_messages() {
    let rows = [
        ("MPI_Sendrecv", false, 1),
        ("MPI_Sendrecv", true, 5),
        ("MPI_Sendrecv", false, 1),
    ];
    let ends = [
        end(MessageSide::Out, 1, 0, Some(7), 0, 0),
        end(MessageSide::In, 2, 0, Some(7), 6, 6),
    ];
    let expected = [
        "0 MPI_Sendrecv {",
        "0 #1 irecv",
        "0 #0 isend to 1 tag 7 100 B in 0",
        "7 #1 received from 2 tag 7 100 B in 0",
        "7 #0 sent",
        "7 }",
    ];
    assert_eq!(shown(&rows, &ends), expected);
}

#[test]
fn transfers_are_complete_at_the_fence() {
    let rows = [
        ("MPI_Put", false, 1),
        ("MPI_Get", false, 1),
        ("MPI_Win_fence", true, 8),
    ];
    let ends = [
        end(MessageSide::Put, 1, 0, None, 0, 0),
        end(MessageSide::Get, 1, 1, None, 1, 1),
        end(MessageSide::Answer, 1, 0, None, 5, 5),
        end(MessageSide::Answer, 1, 1, None, 6, 6),
    ];
    let expected = [
        "0 MPI_Put {",
        "0 #0 put to 1 100 B",
        "1 }",
        "1 MPI_Get {",
        "1 #1 get from 1 101 B",
        "2 }",
        "2 MPI_Win_fence {",
        "10 #0 done",
        "10 #1 done",
        "10 }",
    ];
    assert_eq!(shown(&rows, &ends), expected);
}

#[test]
fn what_was_under_way_when_the_run_ended_stands_after_all_calls() {
    let rows = [("MPI_Irecv", false, 0), ("compute", false, 10)];
    let ends = [
        end(MessageSide::In, 1, 0, Some(7), 12, 12),
        // The call was not complete.
        end(MessageSide::Out, 1, 0, Some(7), 10, 14),
    ];
    let expected = [
        "0 MPI_Irecv {",
        "0 #1 irecv",
        "0 }",
        "0 compute {",
        "10 }",
        "10 #0 isend to 1 tag 7 100 B in 0",
        "12 #1 received from 1 tag 7 100 B in 0",
        "14 #0 sent",
    ];
    assert_eq!(shown(&rows, &ends), expected);
}

proptest! {
    /// For any tables, the archive is well-formed and has every message.
    #[test]
    fn events_are_in_order_and_every_message_is_there(
        rows in prop::collection::vec((0usize..CALLED.len(), any::<bool>(), 0u64..20), 0..40),
        ends in prop::collection::vec((0usize..7, 0u32..3, prop::option::of(0u32..3), 0u64..400, 0u64..50), 0..40),
    ) {
        let rows: Vec<(&str, bool, u64)> = rows
            .iter()
            .map(|(state, blocked, length)| (CALLED[*state], *blocked && *state > 0 && *length > 0, *length))
            .collect();
        let ends: Vec<MessageEnd> = (0..)
            .zip(&ends)
            .map(|(sequence, (side, peer, tag, begun, lasts))| {
                let side = [
                    MessageSide::Out,
                    MessageSide::In,
                    MessageSide::Asked,
                    MessageSide::Asking,
                    MessageSide::Put,
                    MessageSide::Get,
                    MessageSide::Answer,
                ][*side];
                let tag = tag.filter(|_| matches!(side, MessageSide::Out | MessageSide::In));
                end(side, *peer, sequence, tag, *begun, begun + lasts)
            })
            .collect();
        let count = |of: MessageSide| ends.iter().filter(|end| end.side == of).count();
        let (input, activities) = input(&rows, &ends);
        let events = events(input, &activities, NAMES);
        prop_assert!(events.is_sorted_by_key(|event| event.time));
        let (mut inside, mut sent, mut received, mut transfers) = (None, 0, 0, 0);
        let mut open: BTreeMap<u64, bool> = BTreeMap::new();
        for event in &events {
            match event.record {
                EventRecord::Enter { region } => prop_assert_eq!(inside.replace(region), None),
                EventRecord::Leave { region } => prop_assert_eq!(inside.take(), Some(region)),
                EventRecord::Send(_) => sent += 1,
                EventRecord::Recv(_) => received += 1,
                EventRecord::Isend { request, .. } => {
                    sent += 1;
                    prop_assert_eq!(open.insert(request, true), None);
                }
                EventRecord::IrecvRequest { request } => prop_assert_eq!(open.insert(request, true), None),
                EventRecord::Irecv { request, .. } => {
                    received += 1;
                    prop_assert_eq!(open.insert(request, false), Some(true));
                }
                EventRecord::IsendComplete { request } => prop_assert_eq!(open.insert(request, false), Some(true)),
                EventRecord::Put(_) | EventRecord::Get(_) => transfers += 1,
                _ => {}
            }
        }
        prop_assert_eq!(inside, None);
        prop_assert_eq!(sent, count(MessageSide::Out));
        prop_assert_eq!(received, count(MessageSide::In));
        prop_assert_eq!(transfers, count(MessageSide::Put) + count(MessageSide::Get));
    }
}

const CALLED: [&str; 12] = [
    "compute",
    "MPI_Send",
    "MPI_Isend",
    "MPI_Recv",
    "MPI_Irecv",
    "MPI_Sendrecv",
    "MPI_Wait",
    "MPI_Waitall",
    "MPI_Allreduce",
    "MPI_Iallreduce",
    "MPI_Put",
    "MPI_Win_fence",
];
