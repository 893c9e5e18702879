//! Thresholds of presets: the numbers as their sources have them, and the messages of two ranks around each threshold.

use des::Time;
use mpi::{MessageKind, MpiSettings, PRESETS, Preset};

use super::network::*;

/// Name, largest eager payload, and largest payload of a rendezvous that the sender copies, in bytes.
const NUMBERS: [(&str, u64, u64); 23] = [
    ("none", 8_192, 0),
    ("psm2", 64_000, 0),
    ("openmpi-tcp", 65_536, 0),
    ("mpich-ch3", 131_072, 0),
    ("psm3", 64_000, 0),
    ("opx", 16_384, 0),
    ("cxi", 18_433, 0),
    ("rxm", 131_072, 0),
    ("cray-mpich-rxm", 262_144, 0),
    ("mvapich2", 16_384, 0),
    ("mvapich2-xeon-8280-edr", 17_408, 0),
    ("mvapich2-epyc-7551", 17_408, 0),
    ("mvapich2-epyc-7763-edr", 12_288, 0),
    ("mvapich2-epyc-7763-hdr", 32_768, 0),
    ("mvapich2-epyc-7v12-hdr", 24_576, 0),
    ("mvapich2-power9", 32_768, 0),
    ("openmpi-openib", 12_288, 0),
    ("openmpi-ugni", 8_192, 0),
    ("sst-macro", 512, 8_192),
    ("sst-macro-opa", 16_000, 64_000),
    ("sst-firefly", 12_000, 0),
    ("codes", 8_191, 0),
    ("tracer", 8_192, 0),
];

fn preset(name: &str) -> &'static Preset {
    let found = PRESETS.iter().find(|preset| preset.name == name);
    found.unwrap_or_else(|| panic!("no preset {name}"))
}

/// One message to a receive that waits: the kinds of the messages on the network in order, and the ends of sender and
/// receiver in nanoseconds.
fn exchange(settings: &MpiSettings, bytes: u64) -> (Vec<MessageKind>, u64, u64) {
    let programs = vec![vec![send(1, 0, bytes)], vec![receive(Some(0), Some(0), bytes)]];
    let outcome = run(settings.clone(), fixed(), programs).unwrap();
    outcome.assert_clean();
    let kinds = outcome.sent.iter().map(|message| message.kind).collect();
    (kinds, outcome.end_ns(0), outcome.end_ns(1))
}

#[test]
fn presets_have_the_numbers_of_their_sources() {
    for (name, eager, copied) in NUMBERS {
        let preset = preset(name);
        assert_eq!(
            (preset.eager_threshold, preset.copy_threshold),
            (eager, copied),
            "{name}"
        );
    }
}

#[test]
fn a_message_of_the_threshold_is_eager_and_one_more_byte_is_a_rendezvous() {
    const EAGER: [MessageKind; 1] = [MessageKind::Eager];
    const RENDEZVOUS: [MessageKind; 3] = [
        MessageKind::RequestToSend,
        MessageKind::ClearToSend,
        MessageKind::Data,
    ];
    for (name, eager, copied) in NUMBERS {
        let settings = MpiSettings {
            send_overhead: Time::from_ns(10),
            receive_overhead: Time::from_ns(20),
            control_bytes: 4,
            header_bytes: 2,
            ..preset(name).settings()
        };
        // Of `fixed()`: 1000 ns and 1 ns per byte.
        let data = |bytes: u64| 1000 + bytes + 2;
        let asking = 2 * (1000 + 4);

        let all_at_once = (EAGER.to_vec(), 10, 10 + data(eager) + 20);
        assert_eq!(exchange(&settings, eager), all_at_once, "{name}");
        let beyond = eager.max(copied) + 1;
        let sent = 10 + asking + beyond + 2;
        let asked = (RENDEZVOUS.to_vec(), sent, 10 + asking + data(beyond) + 20);
        assert_eq!(exchange(&settings, beyond), asked, "{name}");
        // Where the sender copies the message, it goes on at once.
        for bytes in [eager + 1, copied] {
            if (eager + 1..=copied).contains(&bytes) {
                let fetched = (RENDEZVOUS.to_vec(), 10, 10 + asking + data(bytes) + 20);
                assert_eq!(exchange(&settings, bytes), fetched, "{name}");
            }
        }
    }
}
