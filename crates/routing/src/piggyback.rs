//! Piggyback routing: UGAL that avoids links to other groups that are reported as congested.
//!
//! Source: N. Jiang, J. Kim, W. J. Dally, "Indirect adaptive routing on large scale interconnection networks", ISCA
//! 2009 (PB). There every router tells its group whether each of its global channels is congested, with one bit per
//! channel piggybacked on packets. Here separate reports with a report period carry loads
//! ([`Reports`](crate::Reports)), and the receiver computes the bit: a link is congested if
//!
//! ```text
//! load(link) > 2 * mean load of all links of its router to other groups + threshold
//! ```
//!
//! If the minimal path's first link to another group is congested and the random path's is not, the random path is
//! taken. In the opposite case the minimal path is taken. Otherwise the decision is that of `ugal`, by the loads of
//! the source router's own ports.

use config::{Bytes, parameters};

use crate::Algorithm;
use crate::registry::is_groups;
use crate::segments::{self, INTERMEDIATES};
use crate::ugal::{LoadReportUse, PARAMETERS, REPORT_PERIOD, UgalRule, read_report_period};

pub(crate) const ALGORITHM: Algorithm = Algorithm {
    name: "piggyback",
    works_on: "dragonfly, dragonfly-2d, dragonfly-plus",
    summary: "as ugal, but avoids links to other groups that are reported as congested (PB, Jiang et al. 2009)",
    parameters: parameters! {
        ..PARAMETERS;
        size("threshold", "1280 B",
            "bytes above twice the mean of its router's links from which on a link is congested (five packets of \
             256 B)");
        REPORT_PERIOD;
    },
    routes: is_groups,
    build: |section, topology| {
        let rule = UgalRule::read(section, &*topology)?;
        let threshold = section.get::<Bytes>("threshold")?.bytes;
        let rule = rule.informed(LoadReportUse::Congestion(threshold), read_report_period(section)?);
        segments::build::<false>(section, topology, INTERMEDIATES, rule)
    },
};
