//! Critical paths of small constructed histories with known answers.

use std::convert::Infallible;

use super::*;
use crate::backwards::in_memory::Listed;
use crate::columns::NameColumn;

/// A history of job A.
struct TestHistory {
    names: NameColumn,
    own: Name,
    spans: Vec<TimelineSpan>,
    messages: Vec<MessageSpan>,
    waits: Vec<PacketWait>,
}

/// A message that is sent and arrives. Its network time is filled in.
const MESSAGE: MessageSpan = MessageSpan {
    role: MessageRole::Eager,
    from: 0,
    to: 0,
    from_host: 0,
    number: Some(0),
    of_collective: false,
    posted: 0,
    sent: 0,
    sequence: 0,
    injected: None,
    arrived: 0,
};

impl TestHistory {
    fn new() -> TestHistory {
        let mut names = NameColumn::default();
        let own = names.number("A");
        TestHistory {
            names,
            own,
            spans: Vec::new(),
            messages: Vec::new(),
            waits: Vec::new(),
        }
    }

    /// States of a rank, one after the other, from time 0: `compute`, `overhead`, or the call in which it is blocked,
    /// each with its end.
    fn rank(mut self, rank: u32, did: &[(&str, u64)]) -> TestHistory {
        let mut start = 0;
        for (what, end) in did {
            let activity = Some(self.names.number(what));
            let state = match *what {
                "compute" => State::Compute,
                "overhead" => State::Overhead,
                _ => State::Blocked,
            };
            self.spans.push(TimelineSpan {
                rank,
                start,
                end: *end,
                state,
                activity,
            });
            start = *end;
        }
        self
    }

    /// A message over the network, from host to host of the same numbers as the ranks.
    fn message(self, role: MessageRole, (from, to): (u32, u32), posted: u64, arrived: u64) -> TestHistory {
        let number = Some(self.messages.len() as u32);
        self.any(MessageSpan {
            role,
            from,
            to,
            from_host: from,
            number,
            posted,
            sent: posted,
            injected: Some((posted + arrived) / 2),
            arrived,
            ..MESSAGE
        })
    }

    fn any(mut self, message: MessageSpan) -> TestHistory {
        self.messages.push(message);
        self
    }

    /// A packet of the last message waited at a link.
    fn waited(mut self, link: u32, (start, end): (u64, u64), reason: &str, holder: &str) -> TestHistory {
        let message = self.messages.last().unwrap();
        let (from_host, number) = (message.from_host, message.number.unwrap());
        self.waits.push(PacketWait {
            from_host,
            number,
            link,
            start,
            end,
            vc: 0,
            part: 0,
            reason: self.names.number(reason),
            holder: Some(self.names.number(holder)),
            bytes: 10,
        });
        self
    }

    /// The path from the start, one line per step. It has no gap.
    fn path(mut self) -> Vec<String> {
        // Rows of a run come in the order of their ends, with ranks mixed.
        self.spans.sort_by_key(|span| (span.end, span.rank));
        self.messages.sort_by_key(|message| message.arrived);
        self.waits.sort_by_key(|wait| wait.end);
        // Row groups that do not match the order of time.
        let path = walk::<_, _, _, Infallible>(History {
            spans: Backwards::new(Listed(self.spans.chunks(3).map(<[_]>::to_vec).collect())),
            messages: Backwards::new(Listed(self.messages.chunks(2).map(<[_]>::to_vec).collect())),
            waits: Backwards::new(Listed(self.waits.chunks(2).map(<[_]>::to_vec).collect())),
            serialization: &|_, bytes| u64::from(bytes),
            own: self.own,
        })
        .unwrap();
        let mut now = 0;
        let mut lines = Vec::new();
        for step in path.steps.iter().rev() {
            assert_eq!(step.start, now, "a gap before {step:?}");
            assert!(step.start < step.end);
            now = step.end;
            lines.push(format!(
                "{}-{} {}",
                step.start,
                step.end,
                shown(step.what, &self.names)
            ));
        }
        lines
    }
}

fn shown(what: PathStepKind, names: &NameColumn) -> String {
    let of = |leg: Leg| format!("{} {} to {}", leg.role.name(), leg.from, leg.to);
    match what {
        PathStepKind::Compute { rank, .. } => format!("compute {rank}"),
        PathStepKind::Overhead { rank, .. } => format!("overhead {rank}"),
        PathStepKind::Unknown { rank, call } => format!("{} {rank}", names.text(call.unwrap())),
        PathStepKind::Transfer(leg) => of(leg),
        PathStepKind::PacketWait { leg, at: HeldBy::Gap } => format!("{}: gap", of(leg)),
        PathStepKind::PacketWait {
            leg,
            at: HeldBy::Link { link, cause },
        } => {
            let holder = names.text(cause.holder.unwrap());
            format!(
                "{}: {} of link {link}, {holder}",
                of(leg),
                names.text(cause.reason)
            )
        }
    }
}

#[test]
fn a_job_without_rows_has_no_path() {
    assert_eq!(TestHistory::new().path(), [""; 0]);
}

#[test]
fn a_rank_that_waits_for_no_other_is_its_own_path() {
    let history = TestHistory::new()
        .rank(0, &[("compute", 100)])
        .rank(1, &[("compute", 40), ("overhead", 50), ("compute", 120)]);
    assert_eq!(
        history.path(),
        ["0-40 compute 1", "40-50 overhead 1", "50-120 compute 1"]
    );
}

/// Rank 1 has to wait for rank 0, which computes before it sends.
#[test]
fn late_sender() {
    let history = TestHistory::new()
        .rank(0, &[("compute", 100), ("overhead", 110), ("compute", 120)])
        .rank(
            1,
            &[
                ("compute", 30),
                ("MPI_Recv", 150),
                ("overhead", 160),
                ("compute", 200),
            ],
        )
        .message(MessageRole::Eager, (0, 1), 110, 150);
    assert_eq!(
        history.path(),
        [
            "0-100 compute 0",
            "100-110 overhead 0",
            "110-150 eager 0 to 1",
            "150-160 overhead 1",
            "160-200 compute 1"
        ]
    );
}

/// The message arrives before it is received: the receiver determines the path.
#[test]
fn late_receiver_of_an_eager_message() {
    let history = TestHistory::new()
        .rank(0, &[("compute", 10), ("overhead", 20), ("compute", 30)])
        .rank(1, &[("compute", 100), ("overhead", 110)])
        .message(MessageRole::Eager, (0, 1), 20, 60);
    assert_eq!(history.path(), ["0-100 compute 1", "100-110 overhead 1"]);
}

/// The sender of a rendezvous is blocked until its data have left, which requires the receiver.
#[test]
fn late_receiver_of_a_rendezvous() {
    let history = TestHistory::new()
        .rank(
            0,
            &[
                ("compute", 10),
                ("overhead", 20),
                ("MPI_Send", 150),
                ("compute", 500),
            ],
        )
        .rank(1, &[("compute", 100), ("MPI_Recv", 180), ("overhead", 190)])
        .message(MessageRole::RequestToSend, (0, 1), 20, 40)
        .message(MessageRole::ClearToSend, (1, 0), 100, 120)
        .message(MessageRole::Data, (0, 1), 120, 180);
    assert_eq!(
        history.path(),
        [
            "0-100 compute 1",
            "100-120 clear-to-send 1 to 0",
            "120-150 rendezvous 0 to 1",
            "150-500 compute 0"
        ]
    );
}

/// The receiver of a rendezvous is ready before the sender.
#[test]
fn late_sender_of_a_rendezvous() {
    let history = TestHistory::new()
        .rank(
            0,
            &[
                ("compute", 90),
                ("overhead", 100),
                ("MPI_Send", 160),
                ("compute", 165),
            ],
        )
        .rank(1, &[("compute", 10), ("MPI_Recv", 180), ("overhead", 190)])
        .message(MessageRole::RequestToSend, (0, 1), 100, 120)
        .message(MessageRole::ClearToSend, (1, 0), 120, 140)
        .message(MessageRole::Data, (0, 1), 140, 180);
    assert_eq!(
        history.path(),
        [
            "0-90 compute 0",
            "90-100 overhead 0",
            "100-120 request-to-send 0 to 1",
            "120-140 clear-to-send 1 to 0",
            "140-180 rendezvous 0 to 1",
            "180-190 overhead 1",
        ]
    );
}

/// Of two messages the last one counts if the CPU was idle before it, otherwise the first: the CPU processes both.
#[test]
fn a_wait_for_two_messages() {
    let senders = |history: TestHistory| {
        history
            .rank(1, &[("compute", 30), ("overhead", 40)])
            .rank(2, &[("compute", 60), ("overhead", 65)])
            .message(MessageRole::Eager, (1, 0), 40, 70)
    };
    let idle_between = senders(TestHistory::new().rank(
        0,
        &[
            ("compute", 50),
            ("MPI_Waitall", 70),
            ("overhead", 80),
            ("MPI_Waitall", 90),
            ("overhead", 100),
        ],
    ))
    .message(MessageRole::Eager, (2, 0), 65, 90);
    assert_eq!(
        idle_between.path(),
        [
            "0-60 compute 2",
            "60-65 overhead 2",
            "65-90 eager 2 to 0",
            "90-100 overhead 0"
        ]
    );
    let busy_between =
        senders(TestHistory::new().rank(0, &[("compute", 50), ("MPI_Waitall", 70), ("overhead", 90)]))
            .message(MessageRole::Eager, (2, 0), 65, 75);
    assert_eq!(
        busy_between.path(),
        [
            "0-30 compute 1",
            "30-40 overhead 1",
            "40-70 eager 1 to 0",
            "70-90 overhead 0"
        ]
    );
}

/// A tree of three ranks: 2 sends to 1, 1 sends to 0, in the rounds of a call.
#[test]
fn a_collective_goes_through_its_messages() {
    let history = TestHistory::new()
        .rank(
            0,
            &[
                ("compute", 20),
                ("MPI_Reduce", 130),
                ("overhead", 140),
                ("compute", 150),
            ],
        )
        .rank(1, &[("compute", 5), ("MPI_Reduce", 90), ("overhead", 110)])
        .rank(2, &[("compute", 60), ("overhead", 70)])
        .message(MessageRole::Eager, (2, 1), 70, 90)
        .message(MessageRole::Eager, (1, 0), 110, 130);
    assert_eq!(
        history.path(),
        [
            "0-60 compute 2",
            "60-70 overhead 2",
            "70-90 eager 2 to 1",
            "90-110 overhead 1",
            "110-130 eager 1 to 0",
            "130-140 overhead 0",
            "140-150 compute 0",
        ]
    );
}

/// The same in a non-blocking collective: rank 1 forwards data while it computes.
#[test]
fn a_collective_beside_the_program_goes_on_without_the_cpu() {
    let history = TestHistory::new()
        .rank(0, &[("compute", 20), ("MPI_Wait", 120), ("overhead", 140)])
        .rank(1, &[("compute", 130)])
        .rank(2, &[("compute", 60), ("overhead", 70)])
        .message(MessageRole::Eager, (2, 1), 70, 90)
        .any(MessageSpan {
            from: 1,
            to: 0,
            from_host: 1,
            number: Some(7),
            of_collective: true,
            posted: 90,
            sent: 90,
            arrived: 120,
            ..MESSAGE
        });
    assert_eq!(
        history.path(),
        [
            "0-60 compute 2",
            "60-70 overhead 2",
            "70-90 eager 2 to 1",
            "90-120 eager 1 to 0",
            "120-140 overhead 0"
        ]
    );
}

/// An arrival while a rank computes has no effect on it.
#[test]
fn messages_that_no_rank_waits_for_are_not_on_the_path() {
    let history = TestHistory::new()
        .rank(0, &[("compute", 100), ("overhead", 110), ("compute", 200)])
        .rank(1, &[("compute", 10), ("overhead", 20)])
        .message(MessageRole::Eager, (1, 0), 20, 100)
        .message(MessageRole::Eager, (1, 0), 20, 105);
    assert_eq!(
        history.path(),
        ["0-100 compute 0", "100-110 overhead 0", "110-200 compute 0"]
    );
}

#[test]
fn waits_in_the_network_are_told_apart_from_transfer() {
    let history = TestHistory::new()
        .rank(0, &[("compute", 10), ("overhead", 20)])
        .rank(1, &[("MPI_Recv", 100), ("overhead", 110)])
        .message(MessageRole::Eager, (0, 1), 20, 100)
        .waited(4, (25, 35), "nic", "A")
        .waited(5, (50, 80), "wire", "B")
        // Packets of other messages of the host are not counted.
        .message(MessageRole::Eager, (0, 1), 20, 95)
        .waited(6, (30, 90), "wire", "C");
    assert_eq!(
        history.path(),
        [
            "0-10 compute 0",
            "10-20 overhead 0",
            "20-25 eager 0 to 1",
            "25-35 eager 0 to 1: nic of link 4, A",
            "35-50 eager 0 to 1",
            "50-80 eager 0 to 1: wire of link 5, B",
            "80-100 eager 0 to 1",
            "100-110 overhead 1",
        ]
    );
}

/// The tables have the start of the overhead of a send. After it, the message may wait for the NIC while the CPU
/// continues.
#[test]
fn the_gap_of_the_nic_is_a_wait() {
    let history = TestHistory::new()
        .rank(0, &[("compute", 10), ("overhead", 20), ("compute", 90)])
        .rank(1, &[("MPI_Recv", 100)])
        .any(MessageSpan {
            from: 0,
            to: 1,
            posted: 10,
            sent: 45,
            arrived: 100,
            ..MESSAGE
        });
    assert_eq!(
        history.path(),
        [
            "0-10 compute 0",
            "10-20 overhead 0",
            "20-45 eager 0 to 1: gap",
            "45-100 eager 0 to 1"
        ]
    );
}

/// The same for the messages of a rendezvous, each of which waits for the NIC.
#[test]
fn the_gap_holds_up_a_handshake_as_well() {
    let of = |role, (from, to), posted, sent, arrived| MessageSpan {
        role,
        from,
        to,
        from_host: from,
        posted,
        sent,
        arrived,
        ..MESSAGE
    };
    let history = TestHistory::new()
        .rank(0, &[("compute", 10), ("overhead", 20), ("MPI_Send", 100)])
        .rank(1, &[("compute", 5), ("MPI_Recv", 100), ("overhead", 110)])
        .any(of(MessageRole::RequestToSend, (0, 1), 10, 25, 30))
        .any(of(MessageRole::ClearToSend, (1, 0), 30, 35, 40))
        .any(of(MessageRole::Data, (0, 1), 10, 50, 100));
    assert_eq!(
        history.path(),
        [
            "0-10 compute 0",
            "10-20 overhead 0",
            "20-25 request-to-send 0 to 1: gap",
            "25-30 request-to-send 0 to 1",
            "30-35 clear-to-send 1 to 0: gap",
            "35-40 clear-to-send 1 to 0",
            "40-50 rendezvous 0 to 1: gap",
            "50-100 rendezvous 0 to 1",
            "100-110 overhead 1",
        ]
    );
}

#[test]
fn parts_of_a_wait_are_put_together() {
    let mut names = NameColumn::default();
    let mut part = |link, (start, end), reason: &str, part| PacketWait {
        from_host: 0,
        number: 0,
        link,
        vc: 0,
        start,
        end,
        part,
        reason: names.number(reason),
        holder: None,
        bytes: 10,
    };
    let waits = vec![
        part(1, (10, 20), "credits", 0),
        // Another packet arrived when that one left, and waits too.
        part(1, (30, 45), "wire", 0),
        part(1, (20, 25), "wire", 1),
        part(1, (25, 30), "wire", 2),
        part(2, (30, 35), "wire", 1),
    ];
    let stays = stays(waits, &|_, bytes| u64::from(bytes));
    let shown = stays
        .iter()
        .map(|stay| (stay.link, stay.start, stay.end, stay.parts.len()));
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [(1, 10, 30, 3), (1, 30, 45, 1), (2, 30, 35, 1)]
    );
}

/// Two ranks of one host: the data of the rendezvous arrive when they have left.
#[test]
fn messages_through_memory() {
    let of = |role, from, to, posted, arrived| MessageSpan {
        role,
        from,
        to,
        number: None,
        posted,
        sent: posted,
        arrived,
        ..MESSAGE
    };
    let history = TestHistory::new()
        .rank(
            0,
            &[
                ("compute", 10),
                ("overhead", 20),
                ("MPI_Send", 60),
                ("compute", 100),
            ],
        )
        .rank(1, &[("compute", 5), ("MPI_Recv", 60), ("overhead", 70)])
        .any(of(MessageRole::RequestToSend, 0, 1, 20, 30))
        .any(of(MessageRole::ClearToSend, 1, 0, 30, 40))
        .any(of(MessageRole::Data, 0, 1, 40, 60));
    assert_eq!(
        history.path(),
        [
            "0-10 compute 0",
            "10-20 overhead 0",
            "20-30 request-to-send 0 to 1",
            "30-40 clear-to-send 1 to 0",
            "40-60 rendezvous 0 to 1",
            "60-100 compute 0",
        ]
    );
}

/// A put completes with its acknowledgement, which needs no CPU at the target.
#[test]
fn one_sided_communication() {
    let history = TestHistory::new()
        .rank(
            0,
            &[
                ("compute", 10),
                ("overhead", 20),
                ("MPI_Win_fence", 80),
                ("compute", 90),
            ],
        )
        .rank(1, &[("compute", 50)])
        .message(MessageRole::Put, (0, 1), 20, 60)
        .message(MessageRole::PutDone, (1, 0), 60, 80);
    assert_eq!(
        history.path(),
        [
            "0-10 compute 0",
            "10-20 overhead 0",
            "20-60 put 0 to 1",
            "60-80 put-done 1 to 0",
            "80-90 compute 0"
        ]
    );
}

/// The cause of the wait of an interrupted rank is unknown.
#[test]
fn a_wait_without_an_end_is_unknown() {
    let history = TestHistory::new()
        .rank(0, &[("compute", 10), ("MPI_Recv", 100)])
        .rank(1, &[("compute", 60)]);
    assert_eq!(history.path(), ["0-10 compute 0", "10-100 MPI_Recv 0"]);
}

/// Many ranks and messages in a ring: each waits for the previous one, for many laps.
#[test]
fn a_token_goes_around_a_ring() {
    let (ranks, laps) = (7, 40);
    let mut did = vec![Vec::new(); ranks as usize];
    let mut history = TestHistory::new();
    let mut now = 0;
    for step in 0..ranks as u64 * laps {
        let rank = step as u32 % ranks;
        if step > 0 {
            did[rank as usize].push(("MPI_Recv", now));
        }
        did[rank as usize].push(("compute", now + 3));
        did[rank as usize].push(("overhead", now + 4));
        history = history.message(MessageRole::Eager, (rank, (rank + 1) % ranks), now + 4, now + 10);
        now += 10;
    }
    for (rank, did) in did.iter().enumerate() {
        history = history.rank(rank as u32, did);
    }
    let path = history.path();
    // Three steps for each holder of the token. Nothing waits for the last message.
    assert_eq!(path.len() as u64, 3 * u64::from(ranks) * laps - 1);
}
