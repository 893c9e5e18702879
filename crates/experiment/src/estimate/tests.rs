//! The text, rounding, and what an estimate does with limits.

use super::*;

fn experiment(text: &str) -> Experiment {
    Experiment::from_toml(text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

const TORUS: &str = "network.topology = { kind = \"torus\", sizes = [8, 8] }\n";

#[test]
fn the_text_has_two_digits() {
    let estimate = WorkEstimate {
        packet_hops: 12_345_678,
        messages: 3,
        cpu_s: 3.1,
        packet_hops_per_s: 4e6,
        is_lower_limit: false,
    };
    assert_eq!(
        estimate.to_string(),
        "about 12 million packet-hops, about 3.1 s of one core (assumed: 4 million packet-hops per second)"
    );
    let most = WorkEstimate {
        packet_hops: 999_999_999,
        cpu_s: 72_000.0,
        is_lower_limit: true,
        ..estimate
    };
    assert_eq!(
        most.to_string(),
        "at least 1 billion packet-hops, at least 20 hours of one core (assumed: 4 million packet-hops per second)"
    );
    for (value, text) in [
        (0.0, "0"),
        (849.9, "850"),
        (9_999.0, "10 thousand"),
        (34_567.0, "35 thousand"),
    ] {
        assert_eq!(shown(value), text);
    }
    for (seconds, text) in [(0.0416, "42 ms"), (119.0, "120 s"), (600.0, "10 minutes")] {
        assert_eq!(shown_s(seconds), text);
    }
}

/// Uniform traffic on a torus of 8 x 8: 64 hosts, 4 hops in the mean, and two more.
#[test]
fn traffic_is_what_hosts_offer() {
    let traffic = "[[job]]\ntraffic = { pattern = \"uniform\", load = 0.1, include_self = true }\n[run]\nuntil = \"10 us\"\n";
    let estimate = work(&experiment(&format!("{TORUS}{traffic}"))).unwrap();
    // 100 Gbps, a tenth of them, for 10 us, in messages of 256 B.
    let messages: f64 = 64.0 * 0.1 * 100e9 / 8.0 * 10e-6 / 256.0;
    assert_eq!(estimate.messages, messages.round() as u64);
    let hops = estimate.packet_hops as f64 / messages;
    assert!((hops - 6.0).abs() < 0.2, "{hops}");
    assert!(!estimate.is_lower_limit);
}

#[test]
fn a_silent_host_has_no_work() {
    let incast =
        "[[job]]\ntraffic = { pattern = \"incast\", load = 0.1, targets = [5] }\n[run]\nuntil = \"10 us\"\n";
    let estimate = work(&experiment(&format!("{TORUS}{incast}"))).unwrap();
    let messages: f64 = 63.0 * 0.1 * 100e9 / 8.0 * 10e-6 / 256.0;
    assert_eq!(estimate.messages, messages.round() as u64);
}

/// The job of ranks says how long the traffic lasts at least.
#[test]
fn traffic_beside_ranks_is_a_lower_limit() {
    let ranks =
        "[[job]]\nworkload = { motif = \"allreduce\", ranks = 4, iterations = 3, compute = \"10 us\" }\n";
    let traffic = "[[job]]\ntraffic = { pattern = \"uniform\", load = 0.1 }\nhosts = \"free\"\n";
    let of = |text: &str| work(&experiment(&format!("{TORUS}{text}"))).unwrap();
    let (alone, both) = (of(ranks), of(&format!("{ranks}{traffic}")));
    assert!(!alone.is_lower_limit && both.is_lower_limit);
    let messages = (both.messages - alone.messages) as f64;
    let least = 60.0 * 0.1 * 100e9 / 8.0 * 30e-6 / 256.0;
    assert!((1.0..1.2).contains(&(messages / least)), "{messages} {least}");
    let cut = of(&format!("{ranks}{traffic}[run]\nuntil = \"15 us\"\n"));
    assert!(!cut.is_lower_limit);
    assert!(cut.messages < both.messages && cut.packet_hops < both.packet_hops);
}

/// Operations after the end of the run are not counted: computation alone takes longer.
#[test]
fn operations_after_the_end_are_not_counted() {
    let ranks =
        "[[job]]\nworkload = { motif = \"allreduce\", ranks = 4, iterations = 1000, compute = \"10 us\" }\n";
    let of = |run: &str| work(&experiment(&format!("{TORUS}{ranks}{run}"))).unwrap();
    let whole = of("");
    assert_eq!(of("[run]\nuntil = \"105 us\"\n").messages * 100, whole.messages);
}

#[test]
fn repetitions_count_and_unknown_ones_are_a_lower_limit() {
    let of = |keys: &str| {
        let job = format!("[[job]]\nworkload = {{ motif = \"allreduce\", ranks = 4 }}\n{keys}");
        work(&experiment(&format!("{TORUS}{job}"))).unwrap()
    };
    let (once, often) = (of(""), of("repetitions = 1000000"));
    assert_eq!(often.messages, 1_000_000 * once.messages);
    assert_eq!(often.packet_hops, 1_000_000 * once.packet_hops);
    assert!(!often.is_lower_limit);
    let endless = of("end = \"1 ms\"");
    assert!(endless.is_lower_limit && endless.messages == once.messages);
}

/// A program that is too long to read has a lower limit, within the number of steps.
#[test]
fn a_long_program_is_cut() {
    let of = |iterations: u32| {
        let job = format!(
            "[[job]]\nworkload = {{ motif = \"halo3d\", pex = 4, pey = 4, pez = 4, nx = 4, ny = 4, nz = 4, iterations = \
             {iterations} }}\n"
        );
        work(&experiment(&format!("{TORUS}{job}"))).unwrap()
    };
    let (short, long) = (of(10), of(1_000_000_000));
    assert!(!short.is_lower_limit && long.is_lower_limit);
    assert!(long.packet_hops > 10 * short.packet_hops);
    assert!(long.messages <= MOST_STEPS, "{}", long.messages);
}
