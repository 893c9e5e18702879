//! The tables of a run: what a row holds, column by column, with the unit in every name.
//!
//! One definition gives the row type that the simulation fills, the builder of the table and the
//! column names; `docs/formats/tables.md` says the same to users, and a test compares the two.

use std::borrow::Cow;
use std::sync::Arc;

use crate::table::{Cell, Table};

/// What a row of a table holds, and how its columns are collected.
pub trait Row: Sized {
    /// Name of the table.
    const TABLE: &'static str;
    /// Cells of all columns.
    type Columns: Send;

    /// No rows yet.
    fn columns() -> Self::Columns;
    /// Puts a row at the end.
    fn push(self, columns: &mut Self::Columns);
    /// The table of all rows, which are taken out.
    fn table(columns: &mut Self::Columns) -> Table;
    /// The columns of a table again; none if it is another one.
    fn restore(table: &Table) -> Option<Self::Columns>;
}

macro_rules! table {
    (
        $(#[$doc:meta])* $row:ident, $table:ident {
            $( $(#[$column_doc:meta])* $column:ident: $type:ty, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $row {
            $( $(#[$column_doc])* pub $column: $type, )*
        }

        impl Row for $row {
            const TABLE: &'static str = stringify!($table);
            type Columns = ( $( <$type as Cell>::Cells, )* );

            fn columns() -> Self::Columns {
                ( $( <$type as Cell>::Cells::default(), )* )
            }

            #[inline]
            fn push(self, columns: &mut Self::Columns) {
                let ( $( $column, )* ) = columns;
                $( <$type as Cell>::push(self.$column, $column); )*
            }

            fn table(columns: &mut Self::Columns) -> Table {
                let ( $( $column, )* ) = columns;
                Table::new(
                    stringify!($table),
                    vec![$( (stringify!($column), <$type>::NULLABLE, <$type as Cell>::array($column)) ),*],
                )
            }

            fn restore(table: &Table) -> Option<Self::Columns> {
                let batch = table.batch();
                Some(( $( <$type as Cell>::restore(batch.column_by_name(stringify!($column))?)?, )* ))
            }
        }

        #[doc = concat!("The table `", stringify!($table), "` of these rows, in the order given.")]
        pub fn $table(rows: impl IntoIterator<Item = $row>) -> Table {
            let mut columns = $row::columns();
            for row in rows {
                row.push(&mut columns);
            }
            $row::table(&mut columns)
        }
    };
}

table! {
    /// What one MPI rank did. Computation and MPI calls fill its time without gap or overlap, but for what it was
    /// doing when it was cut off.
    RankRow, ranks {
        /// Job that the rank belongs to.
        job: Arc<str>,
        /// Rank in the job's MPI_COMM_WORLD.
        rank: u32,
        /// Host that it runs on.
        host: u32,
        /// Whether the rank reached the end of its program before the run ended.
        finished: bool,
        /// Time from its start to its end, or to the end of the run, in picoseconds.
        time_ps: u64,
        /// Time in computation, in picoseconds.
        compute_ps: u64,
        /// Time in MPI calls, in picoseconds.
        mpi_ps: u64,
        /// Point-to-point messages sent.
        messages_sent: u64,
        /// Their payload in bytes.
        bytes_sent: u64,
        /// Point-to-point messages received.
        messages_received: u64,
        /// Their payload in bytes.
        bytes_received: u64,
        /// Messages sent by the algorithms of collectives.
        collective_messages_sent: u64,
        /// Their payload in bytes.
        collective_bytes_sent: u64,
        /// Messages received by the algorithms of collectives.
        collective_messages_received: u64,
        /// Their payload in bytes.
        collective_bytes_received: u64,
    }
}

table! {
    /// Time that one rank spent in one MPI call.
    CallRow, calls {
        /// Job that the rank belongs to.
        job: Arc<str>,
        /// Rank in the job's MPI_COMM_WORLD.
        rank: u32,
        /// Name of the call, for example `MPI_Waitall`.
        call: Cow<'static, str>,
        /// How often it was called.
        count: u64,
        /// Time in it, overhead and waiting, in picoseconds.
        time_ps: u64,
    }
}

table! {
    /// One job.
    JobRow, jobs {
        /// Name of the job.
        job: Arc<str>,
        /// `trace`, `motif`, `program` or `traffic`.
        kind: Cow<'static, str>,
        /// MPI ranks; 0 for synthetic traffic.
        ranks: u64,
        /// Hosts.
        hosts: u64,
        /// Whether all its ranks reached their end before the run ended; always true for traffic.
        finished: bool,
        /// Time from the job's start to the end of its last rank, or to the end of the run, in picoseconds.
        time_ps: u64,
        /// Computation per rank, mean over the ranks, rounded down, in picoseconds.
        compute_ps: u64,
        /// MPI calls per rank, mean over the ranks, rounded down, in picoseconds.
        mpi_ps: u64,
        /// Messages sent, those of collectives included.
        messages: u64,
        /// Their payload in bytes.
        bytes: u64,
        /// Packets delivered to the job's hosts.
        packets: u64,
    }
}

table! {
    /// One link, that is one direction of a cable.
    LinkRow, links {
        /// Number of the link.
        link: u32,
        /// Kind of link, for example `injection`, `ejection`, `local`, `global`, `up`, `down`.
        class: Cow<'static, str>,
        /// Where it begins: host, or router with coordinates and port.
        from: String,
        /// Where it ends.
        to: String,
        /// `host` or `router`: what it begins at.
        from_kind: Cow<'static, str>,
        /// Number of that host or router.
        from_id: u32,
        /// Port of the router, or rail of the host.
        from_port: u32,
        /// `host` or `router`: what it ends at.
        to_kind: Cow<'static, str>,
        /// Number of that host or router.
        to_id: u32,
        /// Port of the router, or rail of the host.
        to_port: u32,
        /// Bandwidth in bits per second.
        bandwidth_bits_per_s: u64,
        /// Bytes carried.
        bytes: u64,
        /// Packets carried.
        packets: u64,
        /// Time that it was carrying packets, in picoseconds.
        busy_ps: u64,
        /// `busy_ps` over the span that was measured, 0 to 1.
        busy_fraction: f64,
        /// Time that a packet was ready to be sent and the buffer downstream was full, in picoseconds.
        buffer_full_ps: u64,
    }
}

/// Columns of `links` that say as numbers what `from` and `to` say in words. They are no part of the digest, which
/// has the words.
pub const LINK_ENDS: &[&str] = &["from_kind", "from_id", "from_port", "to_kind", "to_id", "to_port"];

/// Columns of `links` that a run under way does not have yet: what was measured, and the words for what the ends are.
pub const LINK_LATER: &[&str] = &[
    "from",
    "to",
    "bytes",
    "packets",
    "busy_ps",
    "busy_fraction",
    "buffer_full_ps",
];

table! {
    /// One router, and where it is in a drawing of the network. No part of the digest: it describes the network and
    /// not what happened in it, and positions are floats.
    RouterRow, routers {
        /// Number of the router.
        router: u32,
        /// Its coordinates as people of the field write them.
        label: String,
        /// The group that it belongs to, if the network has groups.
        group: Option<u32>,
        /// From left to right, 0 to 1.
        x: f32,
        /// Downwards, 0 to 1.
        y: f32,
        /// Hosts whose first rail is plugged into it.
        hosts: u32,
    }
}

table! {
    /// One host, and where it is in a drawing of the network. No part of the digest, as `routers`.
    HostRow, hosts {
        /// Number of the host.
        host: u32,
        /// Router that its first rail is plugged into.
        router: u32,
        /// From left to right, 0 to 1.
        x: f32,
        /// Downwards, 0 to 1.
        y: f32,
    }
}

table! {
    /// Packets by latency: from the first byte's entry into the injection queue to the last byte's
    /// arrival. Buckets are at most 1/64 of their value wide.
    LatencyRow, latency_histogram {
        /// Job whose hosts received the packets; empty: all packets of the network.
        job: Option<Arc<str>>,
        /// Smallest latency in the bucket, in picoseconds.
        low_ps: u64,
        /// Largest latency in the bucket, in picoseconds.
        high_ps: u64,
        /// Packets in the bucket.
        packets: u64,
    }
}

table! {
    /// Packets by the links that they crossed, injection and ejection included.
    HopsRow, hops_histogram {
        /// Job whose hosts received the packets; empty: all packets of the network.
        job: Option<Arc<str>>,
        /// Fewest hops in the bucket; below 64 hops every bucket is one number of hops.
        low_hops: u64,
        /// Most hops in the bucket.
        high_hops: u64,
        /// Packets in the bucket.
        packets: u64,
    }
}

table! {
    /// What the links of one class did in one bin of time. Of a bin in which none of them did anything there is
    /// no row, nor in the other tables of series.
    ClassSeriesRow, class_series {
        /// Begin of the bin, in picoseconds.
        begin_ps: u64,
        /// Its end, or that of the run, in picoseconds.
        end_ps: u64,
        /// Class of the links, as in the table `links`.
        class: Arc<str>,
        /// Links of this class, also those that did nothing.
        links: u64,
        /// Bytes of the packets begun in the bin, all links together.
        bytes: u64,
        /// Those packets.
        packets: u64,
        /// Time in which bits were on the wire, all links together, in picoseconds.
        busy_ps: u64,
        /// Time in which a packet waited, the wire was free and the buffer downstream had no room, all links
        /// together, in picoseconds.
        buffer_full_ps: u64,
    }
}

table! {
    /// What one link did in one bin of time.
    LinkSeriesRow, link_series {
        /// Begin of the bin, in picoseconds.
        begin_ps: u64,
        /// Its end, or that of the run, in picoseconds.
        end_ps: u64,
        /// Number of the link, as in the table `links`.
        link: u32,
        /// Bytes of the packets begun in the bin.
        bytes: u64,
        /// Those packets.
        packets: u64,
        /// Time in which bits were on the wire, in picoseconds.
        busy_ps: u64,
        /// Time in which a packet waited, the wire was free and the buffer downstream had no room, in picoseconds.
        buffer_full_ps: u64,
        /// Packets that wait for the link at the end of the bin; of an injection link, as many as the bytes in the
        /// queue of the NIC make at least.
        waiting_packets: u32,
        /// Bytes that wait for the link at the end of the bin.
        waiting_bytes: u64,
    }
}

table! {
    /// Room taken in a buffer at the end of a bin of time, where it has changed.
    VcSeriesRow, vc_series {
        /// Begin of the bin, in picoseconds.
        begin_ps: u64,
        /// Its end, or that of the run, in picoseconds.
        end_ps: u64,
        /// Number of the link that leads to the buffer, as in the table `links`.
        link: u32,
        /// Virtual channel.
        vc: u8,
        /// Bytes taken, as the sender knows it: until the credit for them is back.
        used_bytes: u32,
        /// Bytes of the buffer.
        capacity_bytes: u32,
    }
}

table! {
    /// What one host did in one bin of time.
    HostSeriesRow, host_series {
        /// Begin of the bin, in picoseconds.
        begin_ps: u64,
        /// Its end, or that of the run, in picoseconds.
        end_ps: u64,
        /// Host.
        host: u32,
        /// Packets begun in the bin.
        packets_sent: u64,
        /// Packets that came in whole in the bin.
        packets_received: u64,
        /// Bytes of the packets begun.
        bytes_sent: u64,
        /// Bytes of the packets that came in.
        bytes_received: u64,
        /// Bytes that wait in the queues of its NIC at the end of the bin.
        nic_queue_bytes: u64,
    }
}

table! {
    /// What one router did in one bin of time.
    RouterSeriesRow, router_series {
        /// Begin of the bin, in picoseconds.
        begin_ps: u64,
        /// Its end, or that of the run, in picoseconds.
        end_ps: u64,
        /// Router.
        router: u32,
        /// Packets that began to leave it in the bin.
        packets_sent: u64,
        /// Packets whose head came in, and through the pipeline, in the bin.
        packets_received: u64,
    }
}

table! {
    /// What one job did in one bin of time.
    JobSeriesRow, job_series {
        /// Begin of the bin, in picoseconds.
        begin_ps: u64,
        /// Its end, or that of the run, in picoseconds.
        end_ps: u64,
        /// Name of the job.
        job: Arc<str>,
        /// Messages handed to NICs or to memory, those of protocols included.
        messages_sent: u64,
        /// Their bytes on the wire.
        bytes_sent: u64,
        /// Messages that came in whole; of synthetic traffic, which nobody waits for, 0.
        messages_received: u64,
        /// Bytes of those; of synthetic traffic, of the packets.
        bytes_received: u64,
        /// Packets that came in whole.
        packets_delivered: u64,
        /// Ranks that reached the end of their programs.
        ranks_finished: u64,
    }
}

table! {
    /// What one rank did, from one operation of its program to the next; a call in which it waited, from one begin or
    /// end of a wait to the next.
    TimelineRow, timeline {
        /// Name of the job.
        job: Arc<str>,
        /// Rank.
        rank: u32,
        /// Begin, in picoseconds.
        begin_ps: u64,
        /// End, in picoseconds.
        end_ps: u64,
        /// `compute`, or the MPI call.
        state: Cow<'static, str>,
        /// Whether it waited in the call, its CPU idle, until a message let it go on.
        blocked: bool,
        /// Part of the application's code that it computed in, if that is known.
        region: Option<Arc<str>>,
    }
}

table! {
    /// One message between two ranks, those of protocols included, that has come to its end.
    MessageRow, messages {
        /// Name of the job.
        job: Arc<str>,
        /// Sending rank.
        from_rank: u32,
        /// Receiving rank.
        to_rank: u32,
        /// What the messages about one MPI message have in common: its place in the order of sender and receiver;
        /// of one-sided communication, the request of who began it.
        sequence: u32,
        /// Number that its packets carry, among the messages of the sending host; none: it went through memory.
        number: Option<u32>,
        /// Host of the sending rank.
        from_host: u32,
        /// Host of the receiving rank.
        to_host: u32,
        /// Payload of the MPI message in bytes.
        bytes: u64,
        /// Tag; none of collectives and one-sided communication.
        tag: Option<i32>,
        /// The collective that it is a message of, and its algorithm.
        collective: Option<Cow<'static, str>>,
        /// Its part in its protocol.
        protocol: Cow<'static, str>,
        /// When the sender's call, or the round of its collective, came to it, in picoseconds; of an answer that
        /// its protocol gives, when that was given.
        posted_ps: u64,
        /// When it was handed to the NIC or to memory, in picoseconds.
        sent_ps: u64,
        /// When its last byte had left the NIC, in picoseconds; none: it went through memory.
        injected_ps: Option<u64>,
        /// When its last byte had come in, in picoseconds.
        arrived_ps: u64,
        /// When a receive had taken it, in picoseconds; where none has to, when it came in.
        matched_ps: u64,
    }
}

table! {
    /// A wait of one packet for a link, as far as one job held the link.
    WaitRow, waits {
        /// Name of the packet's job.
        job: Arc<str>,
        /// Host that it comes from.
        from_host: u32,
        /// Number of its message among those of that host.
        number: u32,
        /// Link that it waited for, as in the table `links`.
        link: u32,
        /// Virtual channel at the far end of the link.
        vc: u8,
        /// Begin, in picoseconds.
        begin_ps: u64,
        /// End, in picoseconds.
        end_ps: u64,
        /// What for: `wire`, `room`, `nic` and so on.
        reason: Cow<'static, str>,
        /// Name of the job that held the link; none: not known.
        holder: Option<Arc<str>>,
        /// Number of the row, from 0, among those of one wait: that of one packet at one link until it starts.
        part: u8,
        /// Bytes of the packet.
        bytes: u32,
    }
}

table! {
    /// A step of a job's critical path: what took the time from its begin to its end. The steps of a job follow
    /// each other without gap from its start to its end.
    CriticalPathRow, critical_path {
        /// Job.
        job: Arc<str>,
        /// Number of the step, from the start.
        step: u32,
        /// `compute`, `overhead`, `network`, `wait` or `unknown`.
        kind: Cow<'static, str>,
        /// Rank that it happens on; of a message the one that sends it.
        rank: u32,
        /// Rank that a message goes to.
        to_rank: Option<u32>,
        /// Begin, in picoseconds.
        begin_ps: u64,
        /// End, in picoseconds.
        end_ps: u64,
        /// Region of computation, MPI call, or what a message is for, as in the other tables.
        activity: Option<Arc<str>>,
        /// Link that packets of the message waited for.
        link: Option<u32>,
        /// What they waited for.
        reason: Option<Arc<str>>,
        /// Job whose packets held it.
        holder: Option<Arc<str>>,
        /// Number of the message at its sending host; empty through memory.
        message: Option<u32>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_documented_and_no_other() {
        let page = include_str!("../../../docs/formats/tables.md");
        for table in [
            ranks([]),
            calls([]),
            jobs([]),
            links([]),
            routers([]),
            hosts([]),
            latency_histogram([]),
            hops_histogram([]),
            class_series([]),
            link_series([]),
            vc_series([]),
            host_series([]),
            router_series([]),
            job_series([]),
            timeline([]),
            messages([]),
            waits([]),
            critical_path([]),
        ] {
            let heading = format!("## `{}`", table.name());
            let section = page
                .split(&heading)
                .nth(1)
                .unwrap_or_else(|| panic!("{heading} is missing"));
            let section = section.split("\n## ").next().unwrap();
            let documented: Vec<&str> = section
                .lines()
                .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
                .collect();
            let schema = table.batch().schema();
            let columns: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            assert_eq!(documented, columns, "table {}", table.name());
        }
    }
}
