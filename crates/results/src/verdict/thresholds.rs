//! The thresholds of all rules, in one place. `docs/methods/verdict.md` lists them, and a test compares.

/// A link is full if it carries bits for at least this share of the measured time.
pub(super) const FULL: f64 = 0.95;
/// A link is blocked if a packet waits for buffer space behind it for at least this share of the measured time.
pub(super) const BLOCKED: f64 = 0.10;
/// Traffic is delivered if at least this share of the offered traffic arrives in the measured time.
pub const DELIVERED: f64 = 0.95;
/// Few links of a class are full: at most this share.
pub(super) const FEW_FULL: f64 = 0.20;
/// Many links of a class are full: at least this share.
pub(super) const MANY_FULL: f64 = 0.50;
/// Links are free if at least half of their class carry at most this.
pub(super) const FREE: f64 = 0.50;
/// A class is busy as a whole if its mean load is at least this.
pub(super) const BUSY_CLASS: f64 = 0.80;
/// Least ratio of the loads of pairs of groups with fewer and with more cables, per cable.
pub(super) const UNEVEN_CABLES: f64 = 1.3;
/// Overloaded hosts are few if they are less than this share of all.
pub(super) const HOT_HOSTS: f64 = 0.05;
/// Queues delay packets if their mean latency is at least this many times that of an idle network.
pub(super) const SLOW: f64 = 2.0;
/// A link is nearly full above this load.
pub(super) const NEARLY_FULL: f64 = 0.90;
/// Another class is named with the worst one if its share of full links is at least this part of that of the worst.
pub(super) const NAMED_CLASS: f64 = 0.5;
/// A computed bound is reached if at least this part of it is delivered.
pub(super) const BOUND_REACHED: f64 = 0.95;
/// The network bounds a job of ranks if it has at least this share of its critical path.
pub(super) const NETWORK: f64 = 0.25;
/// Waits for buffer space grow if they are this many times as many in the last quarter as in the second.
pub(super) const GROWTH: f64 = 1.5;
/// Delivered load is not stationary if it changes by more than this from the third quarter to the last.
pub(super) const CHANGE: f64 = 0.05;
/// Shortest interval of time in which a load is judged, in packet times.
pub(super) const PACKET_TIMES: f64 = 50.0;

/// Name and value of each threshold, as the page has them.
pub const VERDICT_THRESHOLDS: &[(&str, f64)] = &[
    ("FULL", FULL),
    ("BLOCKED", BLOCKED),
    ("DELIVERED", DELIVERED),
    ("FEW_FULL", FEW_FULL),
    ("MANY_FULL", MANY_FULL),
    ("FREE", FREE),
    ("BUSY_CLASS", BUSY_CLASS),
    ("UNEVEN_CABLES", UNEVEN_CABLES),
    ("HOT_HOSTS", HOT_HOSTS),
    ("SLOW", SLOW),
    ("NEARLY_FULL", NEARLY_FULL),
    ("NAMED_CLASS", NAMED_CLASS),
    ("BOUND_REACHED", BOUND_REACHED),
    ("NETWORK", NETWORK),
    ("GROWTH", GROWTH),
    ("CHANGE", CHANGE),
    ("PACKET_TIMES", PACKET_TIMES),
];
