//! Piggyback routing: UGAL that keeps away from links to other groups of which it has been told that they are
//! congested.
//!
//! Source: N. Jiang, J. Kim, W. J. Dally, "Indirect adaptive routing on large scale interconnection networks",
//! ISCA 2009 (PB): every router tells its group whether each of its global channels is congested, one bit per
//! channel, piggybacked on packets. Here loads are told, by reports of their own and with a stated period
//! ([`Reports`](crate::Reports)), and who is told finds out the bit: a link is congested if
//!
//! ```text
//! load(link) > 2 * mean load of all links of its router to other groups + threshold
//! ```
//!
//! If the minimal path's first link to another group is congested and the random path's is not, the random path
//! is taken; if it is the other way round, the minimal one; otherwise it is decided as in `ugal`, by the loads of
//! the source router's own ports.

use config::Bytes;

use crate::Algorithm;
use crate::registry::is_groups;
use crate::segments::{self, ROUTER_OR_GROUP};
use crate::ugal::{PARAMETERS, PERIOD, Remote, Rule, read_period};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "piggyback",
    works_on: "dragonfly, dragonfly-2d, dragonfly-plus",
    summary: "as ugal, but away from links to other groups that are told to be congested (PB, Jiang et al. 2009)",
    parameters: &[
        PARAMETERS[0],
        PARAMETERS[1],
        PARAMETERS[2],
        PARAMETERS[3],
        PARAMETERS[4],
        (
            "threshold",
            "bytes above twice the mean of its router's links from which on a link is congested (default: 1280 B, \
             five packets of 256 B)",
        ),
        PERIOD,
    ],
    routes: is_groups,
    build: |section, topology| {
        let rule = Rule::read(section, &*topology)?;
        let threshold = section.or("threshold", Bytes { bytes: 1280 })?.bytes;
        let rule = rule.informed(Remote::Congestion(threshold), read_period(section)?);
        segments::build::<false>(section, topology, ROUTER_OR_GROUP, rule)
    },
};
