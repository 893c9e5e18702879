//! The tables of a run: rows and columns, with the unit in each column name.
//!
//! One definition gives the row type that the simulation fills, the builder of the table, and the column names.
//! `docs/formats/tables.md` documents the columns, and a test compares both.

use std::borrow::Cow;
use std::sync::Arc;

use crate::Histogram;
use crate::table::{Cell, Table};

/// The row type of a table, and the collection of its columns.
pub trait ResultRow: Sized {
    /// Name of the table.
    const TABLE: &'static str;
    /// Collected cells of all columns.
    type Columns: Send;

    /// Empty columns.
    fn columns() -> Self::Columns;
    /// Appends a row.
    fn push(self, columns: &mut Self::Columns);
    /// The table of all rows. Empties the columns.
    fn table(columns: &mut Self::Columns) -> Table;
    /// The columns of a table. `None` if it is another table.
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

        impl ResultRow for $row {
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
    /// The totals of one MPI rank. Computation and MPI calls cover its time without gap or overlap, except for the
    /// activity in which it was interrupted.
    RankRow, ranks {
        /// Job of the rank.
        job: Arc<str>,
        /// Rank in the job's MPI_COMM_WORLD.
        rank: u32,
        /// Host of the rank.
        host: u32,
        /// Whether the rank reached the end of its program before the run ended.
        finished: bool,
        /// Time from its start to its end, or to the end of the run, in picoseconds.
        time_ps: u64,
        /// Time in computation, in picoseconds.
        compute_ps: u64,
        /// Time in MPI calls, in picoseconds: the sum of the next seven columns.
        mpi_ps: u64,
        /// CPU time in these calls: overheads, copies, searches of queues.
        overhead_ps: u64,
        /// Idle time in them until another rank handed over the point-to-point message that ended the wait.
        partner_ps: u64,
        /// Idle time until its bytes had arrived, if they had found all links free.
        transfer_ps: u64,
        /// The rest of this idle time: waits of the message for links and buffers.
        link_wait_ps: u64,
        /// `partner_ps` of messages of collectives.
        collective_partner_ps: u64,
        /// `transfer_ps` of messages of collectives.
        collective_transfer_ps: u64,
        /// `link_wait_ps` of messages of collectives.
        collective_link_wait_ps: u64,
        /// Point-to-point messages sent.
        messages_sent: u64,
        /// Payload of the sent messages in bytes.
        bytes_sent: u64,
        /// Point-to-point messages received.
        messages_received: u64,
        /// Payload of the received messages in bytes.
        bytes_received: u64,
        /// Messages sent by the algorithms of collectives.
        collective_messages_sent: u64,
        /// Payload of these messages in bytes.
        collective_bytes_sent: u64,
        /// Messages received by the algorithms of collectives.
        collective_messages_received: u64,
        /// Payload of these messages in bytes.
        collective_bytes_received: u64,
    }
}

table! {
    /// Time of one rank in one MPI call.
    CallRow, calls {
        /// Job of the rank.
        job: Arc<str>,
        /// Rank in the job's MPI_COMM_WORLD.
        rank: u32,
        /// Name of the call, for example `MPI_Waitall`.
        call: Cow<'static, str>,
        /// Number of calls.
        count: u64,
        /// Time in the call, overhead and waiting, in picoseconds.
        time_ps: u64,
    }
}

table! {
    /// One scheduled job of a job trace. Times with `_ns` are those of the trace.
    ScheduleRow, schedule {
        /// Name of the job.
        job: Arc<str>,
        /// Its application in the trace; empty if the trace does not tell.
        application: Arc<str>,
        /// Hosts.
        hosts: u32,
        /// When it was submitted, in nanoseconds.
        arrival_ns: u64,
        /// When it starts, in nanoseconds.
        start_ns: u64,
        /// When it ends, in nanoseconds.
        end_ns: u64,
        /// How long its user expected it to run, in nanoseconds.
        estimate_ns: u64,
        /// From its arrival to its start, in nanoseconds.
        wait_ns: u64,
        /// Wait and duration, as a multiple of the duration, of at least 10 s; at least 1.
        bounded_slowdown: f64,
        /// Start in the simulation, in picoseconds. Empty if it does not run in the simulated part.
        simulated_start_ps: Option<u64>,
        /// End in the simulation, in picoseconds. Empty if it does not run in the simulated part.
        simulated_end_ps: Option<u64>,
    }
}

table! {
    /// Packets that one router or host dropped for one reason.
    DropRow, drops {
        /// `router` or `host`.
        kind: Cow<'static, str>,
        /// Its number.
        id: u32,
        /// Why, for example `buffer-full`.
        reason: Cow<'static, str>,
        /// Packets.
        packets: u64,
        /// Their bytes with headers.
        bytes: u64,
    }
}

table! {
    /// One unit of the network: a group, a part of a level, a slice, a column or a router.
    UnitRow, units {
        /// Unit number.
        unit: u32,
        /// Its name, for example `group 3`.
        name: String,
        /// `group`, `level`, `slice`, `column` or `router`.
        kind: Cow<'static, str>,
        /// The router with the smallest number.
        first_router: u32,
        /// Number of routers.
        routers: u32,
        /// Number of its block in `pair_series`: that of the unit, unless there are more than 128 units.
        block: u32,
    }
}

table! {
    /// The links of one class from one unit to another one, or inside a unit, over the measured time.
    PairRow, pairs {
        /// Kind of link, as in `links`.
        class: Arc<str>,
        /// Unit at the start; of an injection link that of its router.
        from_unit: u32,
        /// Unit at the end; of an ejection link that of its router.
        to_unit: u32,
        /// Number of links.
        links: u32,
        /// Bytes carried.
        bytes: u64,
        /// Sum of the times for which the links carried packets, in picoseconds.
        busy_ps: u64,
        /// The greatest of these times, in picoseconds.
        busy_ps_max: u64,
        /// Sum of the times for which a link was free, but no packet had credits, in picoseconds.
        buffer_full_ps: u64,
        /// Links that carried packets for at least 95 % of the measured time.
        full_links: u32,
        /// Links that were free, but had no packet with credits, for at least 10 % of the measured time.
        blocked_links: u32,
    }
}

table! {
    /// Totals of one job.
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
        /// Payload of these messages in bytes.
        bytes: u64,
        /// Packets delivered to the job's hosts.
        packets: u64,
    }
}

table! {
    /// One link: one direction of a cable.
    LinkRow, links {
        /// Link number.
        link: u32,
        /// Kind of link, for example `injection`, `ejection`, `local`, `global`, `up`, `down`.
        class: Cow<'static, str>,
        /// Start of the link in words: host, or router with coordinates and port.
        from: String,
        /// End of the link in words.
        to: String,
        /// Kind of the start: `host` or `router`.
        from_kind: Cow<'static, str>,
        /// Number of the host or router at the start.
        from_id: u32,
        /// Port of the router, or rail of the host, at the start.
        from_port: u32,
        /// Kind of the end: `host` or `router`.
        to_kind: Cow<'static, str>,
        /// Number of the host or router at the end.
        to_id: u32,
        /// Port of the router, or rail of the host, at the end.
        to_port: u32,
        /// Bandwidth in bits per second.
        bandwidth_bits_per_s: u64,
        /// Propagation delay of the cable, in picoseconds.
        latency_ps: u64,
        /// Bytes carried.
        bytes: u64,
        /// Packets carried.
        packets: u64,
        /// Time for which it carried packets, in picoseconds.
        busy_ps: u64,
        /// `busy_ps` divided by the measured time, 0 to 1.
        busy_fraction: f64,
        /// Time for which a packet was ready and the downstream buffer was full, in picoseconds.
        buffer_full_ps: u64,
    }
}

/// Columns of `links` that the digest omits: `from` and `to` as numbers, since it covers the words, and the latency,
/// since it covers the times that follow from it.
pub const LINK_UNDIGESTED: &[&str] = &[
    "from_kind",
    "from_id",
    "from_port",
    "to_kind",
    "to_id",
    "to_port",
    "latency_ps",
];

/// Columns of `ranks` that the digest omits: the parts of `mpi_ps`, since it covers the sum and all times that decide
/// them.
pub const RANK_UNDIGESTED: &[&str] = &[
    "overhead_ps",
    "partner_ps",
    "transfer_ps",
    "link_wait_ps",
    "collective_partner_ps",
    "collective_transfer_ps",
    "collective_link_wait_ps",
];

/// Columns of `links` that exist only after a run: measurements, and the words for the ends.
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
    /// One router and its position in a drawing of the network. Not covered by the digest: it describes the network,
    /// and positions are floats.
    RouterRow, routers {
        /// Number of the router.
        router: u32,
        /// Its coordinates in the usual notation.
        label: String,
        /// Its group, if the network has groups.
        group: Option<u32>,
        /// Horizontal position from left to right, 0 to 1.
        x: f32,
        /// Vertical position downwards, 0 to 1.
        y: f32,
        /// Number of hosts whose first rail connects to it.
        hosts: u32,
    }
}

table! {
    /// One host and its position in a drawing of the network. Not covered by the digest, like `routers`.
    HostRow, hosts {
        /// Number of the host.
        host: u32,
        /// Router to which its first rail connects.
        router: u32,
        /// Horizontal position from left to right, 0 to 1.
        x: f32,
        /// Vertical position downwards, 0 to 1.
        y: f32,
        /// Measured packets that it received. Empty, like the following, unless they are collected.
        packets_received: Option<u64>,
        /// Sum of the latencies of these packets, in picoseconds, at most 2^64 - 1.
        latency_sum_ps: Option<u64>,
        /// Largest latency of these packets, in picoseconds.
        latency_max_ps: Option<u64>,
        /// Sum of the hops of these packets: crossed links, injection and ejection included.
        hops_sum: Option<u64>,
    }
}

/// Latencies and hops of the measured packets that one host received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedPackets {
    packets: u64,
    latency_sum_ps: u128,
    latency_max_ps: u64,
    hops_sum: u128,
}

impl ReceivedPackets {
    /// Adds packets with these latencies in picoseconds and these hops.
    pub fn add(&mut self, latency_ps: &Histogram, hops: &Histogram) {
        self.packets += latency_ps.count();
        self.latency_sum_ps += latency_ps.sum();
        self.latency_max_ps = self.latency_max_ps.max(latency_ps.max());
        self.hops_sum += hops.sum();
    }
}

/// The table `hosts` with what each host received, in the order of its rows.
///
/// # Panics
/// If it is another table, or if its rows are more or fewer than the hosts: a programming error.
pub fn with_received(hosts: &Table, received: impl IntoIterator<Item = ReceivedPackets>) -> Table {
    let mut columns = HostRow::restore(hosts).expect("it is the table hosts");
    let (.., packets, latency_sum, latency_max, hops) = &mut columns;
    packets.clear();
    latency_sum.clear();
    latency_max.clear();
    hops.clear();
    let saturated = |sum: u128| Some(u64::try_from(sum).unwrap_or(u64::MAX));
    for of_host in received {
        packets.push(Some(of_host.packets));
        latency_sum.push(saturated(of_host.latency_sum_ps));
        latency_max.push(Some(of_host.latency_max_ps));
        hops.push(saturated(of_host.hops_sum));
    }
    HostRow::table(&mut columns)
}

table! {
    /// Packets by latency: from the entry of the first byte into the injection queue to the arrival of the last byte.
    /// The width of a bucket is at most 1/64 of its values.
    LatencyRow, latency_histogram {
        /// Job whose hosts received the packets. Empty for all packets of the network.
        job: Option<Arc<str>>,
        /// Smallest latency in the bucket, in picoseconds.
        low_ps: u64,
        /// Largest latency in the bucket, in picoseconds.
        high_ps: u64,
        /// Number of packets in the bucket.
        packets: u64,
    }
}

table! {
    /// Packets by hops: crossed links, injection and ejection included.
    HopsRow, hops_histogram {
        /// Job whose hosts received the packets. Empty for all packets of the network.
        job: Option<Arc<str>>,
        /// Fewest hops in the bucket. Below 64 hops each bucket is one number of hops.
        low_hops: u64,
        /// Most hops in the bucket.
        high_hops: u64,
        /// Number of packets in the bucket.
        packets: u64,
    }
}

table! {
    /// The links of one class in one bin of time. This table and the other series have no row for a bin without
    /// activity.
    ClassSeriesRow, class_series {
        /// Start of the bin, in picoseconds.
        begin_ps: u64,
        /// End of the bin or of the run, in picoseconds.
        end_ps: u64,
        /// Class of the links, as in the table `links`.
        class: Arc<str>,
        /// Number of links of this class, idle ones included.
        links: u64,
        /// Bytes of the packets that began in the bin, summed over the links.
        bytes: u64,
        /// Number of these packets.
        packets: u64,
        /// Time for which bits were on a link, summed over the links, in picoseconds.
        busy_ps: u64,
        /// Time for which a packet waited at a free link because the downstream buffer was full, summed over the
        /// links, in picoseconds.
        buffer_full_ps: u64,
    }
}

table! {
    /// The links of routers of one class, from one block of units to another one or inside a block, in one period of
    /// bins.
    PairSeriesRow, pair_series {
        /// Start of the period, in picoseconds.
        begin_ps: u64,
        /// End of the period or of the run, in picoseconds.
        end_ps: u64,
        /// Class of the links, as in the table `links`.
        class: Arc<str>,
        /// Block at the start, as in the table `units`.
        from_block: u32,
        /// Block at the end; of an ejection link that of its router.
        to_block: u32,
        /// Number of links, idle ones included.
        links: u32,
        /// Time for which bits were on a link, summed over the links, in picoseconds.
        busy_ps: u64,
        /// The greatest of these times, in picoseconds.
        busy_ps_max: u64,
        /// Time for which a link was free, but no packet had credits, summed over the links, in picoseconds.
        buffer_full_ps: u64,
        /// Links with bits on them for at least 95 % of the period.
        full_links: u32,
        /// Links that were free, but had no packet with credits, for at least 10 % of the period.
        blocked_links: u32,
    }
}

table! {
    /// The links that a router, or several routers that follow each other, sends on, in one period of bins.
    RouterLoadSeriesRow, router_load_series {
        /// Start of the period, in picoseconds.
        begin_ps: u64,
        /// End of the period or of the run, in picoseconds.
        end_ps: u64,
        /// The router with the smallest number.
        first_router: u32,
        /// Number of routers.
        routers: u32,
        /// The greatest part of the period for which bits were on a link, in percent, rounded up.
        busy_percent_max: u8,
        /// The greatest part of the period for which a link was free, but no packet had credits, in percent, rounded
        /// up.
        buffer_full_percent_max: u8,
    }
}

table! {
    /// Links of routers with the same load in one period of bins.
    LoadHistogramSeriesRow, load_histogram_series {
        /// Start of the period, in picoseconds.
        begin_ps: u64,
        /// End of the period or of the run, in picoseconds.
        end_ps: u64,
        /// Class of the links, as in the table `links`.
        class: Arc<str>,
        /// Part of the period for which bits were on the link, in steps of 5 %, 0 to 19.
        busy_step: u8,
        /// Part of the period for which the link was free, but no packet had credits, in steps of 5 %, 0 to 19.
        buffer_full_step: u8,
        /// Number of links.
        links: u32,
    }
}

table! {
    /// One of the 32 busiest or 32 most blocked links of routers in one period of bins.
    TopLinkRow, top_links {
        /// Start of the period, in picoseconds.
        begin_ps: u64,
        /// End of the period or of the run, in picoseconds.
        end_ps: u64,
        /// Number of the link, as in the table `links`.
        link: u32,
        /// Its class.
        class: Arc<str>,
        /// Time for which bits were on the link, in picoseconds.
        busy_ps: u64,
        /// Time for which the link was free, but no packet had credits, in picoseconds.
        buffer_full_ps: u64,
    }
}

table! {
    /// One link in one bin of time.
    LinkSeriesRow, link_series {
        /// Start of the bin, in picoseconds.
        begin_ps: u64,
        /// End of the bin or of the run, in picoseconds.
        end_ps: u64,
        /// Number of the link, as in the table `links`.
        link: u32,
        /// Bytes of the packets that began in the bin.
        bytes: u64,
        /// Number of these packets.
        packets: u64,
        /// Time for which bits were on the link, in picoseconds.
        busy_ps: u64,
        /// Time for which a packet waited at the free link because the downstream buffer was full, in picoseconds.
        buffer_full_ps: u64,
        /// Packets that wait for the link at the end of the bin. For an injection link, the least number of packets
        /// that the bytes in the NIC queue make.
        waiting_packets: u32,
        /// Bytes that wait for the link at the end of the bin.
        waiting_bytes: u64,
    }
}

table! {
    /// The buffer of one VC and the packets that wait for it, in a bin of time in which one of the two levels changed.
    /// A peak includes the level at the start of the bin.
    VcSeriesRow, vc_series {
        /// Start of the bin, in picoseconds.
        begin_ps: u64,
        /// End of the bin or of the run, in picoseconds.
        end_ps: u64,
        /// Number of the link that leads to the buffer, as in the table `links`.
        link: u32,
        /// Virtual channel.
        vc: u8,
        /// Occupied bytes as the sender knows them: until their credit returns.
        used_bytes: u32,
        /// Size of the buffer in bytes.
        capacity_bytes: u32,
        /// Peak of the occupied bytes in the bin.
        used_bytes_max: u32,
        /// Packets that wait for the link and this virtual channel at the end of the bin. Summed over the virtual
        /// channels, those of the table `link_series`.
        waiting_packets: u32,
        /// Peak of these packets in the bin.
        waiting_packets_max: u32,
    }
}

table! {
    /// One host in one bin of time.
    HostSeriesRow, host_series {
        /// Start of the bin, in picoseconds.
        begin_ps: u64,
        /// End of the bin or of the run, in picoseconds.
        end_ps: u64,
        /// Host.
        host: u32,
        /// Packets that began in the bin.
        packets_sent: u64,
        /// Packets that arrived completely in the bin.
        packets_received: u64,
        /// Bytes of the packets that began.
        bytes_sent: u64,
        /// Bytes of the packets that arrived.
        bytes_received: u64,
        /// Bytes that wait in its NIC queues at the end of the bin.
        nic_queue_bytes: u64,
    }
}

table! {
    /// One router in one bin of time.
    RouterSeriesRow, router_series {
        /// Start of the bin, in picoseconds.
        begin_ps: u64,
        /// End of the bin or of the run, in picoseconds.
        end_ps: u64,
        /// Router.
        router: u32,
        /// Packets that began to leave it in the bin.
        packets_sent: u64,
        /// Packets whose head passed the pipeline in the bin.
        packets_received: u64,
    }
}

table! {
    /// One job in one bin of time.
    JobSeriesRow, job_series {
        /// Start of the bin, in picoseconds.
        begin_ps: u64,
        /// End of the bin or of the run, in picoseconds.
        end_ps: u64,
        /// Name of the job.
        job: Arc<str>,
        /// Messages passed to NICs or memory, protocol messages included.
        messages_sent: u64,
        /// Bytes of these messages on the link.
        bytes_sent: u64,
        /// Messages that arrived completely; 0 for synthetic traffic.
        messages_received: u64,
        /// Bytes of these messages. For synthetic traffic, bytes of the packets.
        bytes_received: u64,
        /// Packets that arrived completely.
        packets_delivered: u64,
        /// Ranks that reached the end of their programs.
        ranks_finished: u64,
    }
}

table! {
    /// One repetition of a job that repeats its workload, which all ranks have ended.
    RepetitionRow, repetitions {
        /// Name of the job.
        job: Arc<str>,
        /// Number of the repetition, from 1.
        repetition: u64,
        /// When the first rank began it, in picoseconds.
        begin_ps: u64,
        /// When the last rank ended it, in picoseconds.
        end_ps: u64,
        /// From the end of the repetition before on its last rank, or the start of the job, in picoseconds.
        time_ps: u64,
        /// Time of a rank from the start to the end on the same rank, mean over ranks, in picoseconds.
        mean_rank_time_ps: u64,
    }
}

table! {
    /// A state of one rank, between two operations of its program. A call with waits has a row per change between
    /// working and waiting.
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
        /// Whether it waited in the call, with an idle CPU.
        blocked: bool,
        /// Region of the application in which it computed, if known.
        region: Option<Arc<str>>,
    }
}

table! {
    /// One completed message between two ranks, protocol messages included.
    MessageRow, messages {
        /// Name of the job.
        job: Arc<str>,
        /// Sending rank.
        from_rank: u32,
        /// Receiving rank.
        to_rank: u32,
        /// Number that the messages of one MPI message share: its position in the order of sender and receiver. For
        /// one-sided communication, the request of the origin.
        sequence: u32,
        /// Number in its packets, unique at the sending host. `None` for messages through memory.
        number: Option<u32>,
        /// Host of the sending rank.
        from_host: u32,
        /// Host of the receiving rank.
        to_host: u32,
        /// Payload of the MPI message in bytes.
        bytes: u64,
        /// Tag. `None` for collectives and one-sided communication.
        tag: Option<i32>,
        /// Its collective and the algorithm.
        collective: Option<Cow<'static, str>>,
        /// Its role in its protocol.
        protocol: Cow<'static, str>,
        /// Time at which the sender's call, or the round of its collective, came to it, in picoseconds. For an answer
        /// of its protocol, the time at which it was given.
        posted_ps: u64,
        /// Time at which it was passed to the NIC or memory, in picoseconds.
        sent_ps: u64,
        /// Time at which its last byte had left the NIC, in picoseconds. `None` for messages through memory.
        injected_ps: Option<u64>,
        /// Time at which its last byte had arrived, in picoseconds.
        arrived_ps: u64,
        /// Time at which a receive matched it, in picoseconds; its arrival, if it needs no receive.
        matched_ps: u64,
    }
}

table! {
    /// A wait of one packet at a link, or the part of it for which one job occupied the link.
    WaitRow, waits {
        /// Job of the packet.
        job: Arc<str>,
        /// Source host of the packet.
        from_host: u32,
        /// Number of its message at that host.
        number: u32,
        /// Awaited link, as in the table `links`.
        link: u32,
        /// Virtual channel at the far end of the link.
        vc: u8,
        /// Begin, in picoseconds.
        begin_ps: u64,
        /// End, in picoseconds.
        end_ps: u64,
        /// Cause of the wait: `wire`, `credits`, `nic` and so on.
        reason: Cow<'static, str>,
        /// Job that occupied the link. `None` if not known.
        holder: Option<Arc<str>>,
        /// Number of the row, from 0, among the rows of one wait of a packet at a link.
        part: u8,
        /// Size of the packet in bytes.
        bytes: u32,
    }
}

/// The name of a wait's cause, of one that is stored in a table. Results of older versions have `room` for `credits`.
pub fn wait_reason(stored: &str) -> &str {
    match stored {
        "room" => "credits",
        other => other,
    }
}

table! {
    /// A step of a job's critical path. The steps of a job follow each other without gap from its start to its end.
    CriticalPathRow, critical_path {
        /// Name of the job.
        job: Arc<str>,
        /// Number of the step from the start.
        step: u32,
        /// `compute`, `overhead`, `network`, `wait` or `unknown`.
        kind: Cow<'static, str>,
        /// Rank of the step. For a message, the sending rank.
        rank: u32,
        /// Destination rank of a message.
        to_rank: Option<u32>,
        /// Begin, in picoseconds.
        begin_ps: u64,
        /// End, in picoseconds.
        end_ps: u64,
        /// Region of computation, MPI call, or role of a message, as in the other tables.
        activity: Option<Arc<str>>,
        /// Link at which packets of the message waited.
        link: Option<u32>,
        /// Cause of the wait.
        reason: Option<Arc<str>>,
        /// Job whose packets occupied the link.
        holder: Option<Arc<str>>,
        /// Number of the message at its sending host; empty for messages through memory.
        message: Option<u32>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_name_of_a_cause_is_read() {
        assert_eq!(
            ["room", "credits", "wire"].map(wait_reason),
            ["credits", "credits", "wire"]
        );
    }

    #[test]
    fn every_column_is_documented_and_no_other() {
        let page = include_str!("../../../docs/formats/tables.md");
        for table in [
            ranks([]),
            calls([]),
            jobs([]),
            links([]),
            units([]),
            pairs([]),
            routers([]),
            hosts([]),
            latency_histogram([]),
            hops_histogram([]),
            class_series([]),
            pair_series([]),
            router_load_series([]),
            load_histogram_series([]),
            top_links([]),
            link_series([]),
            vc_series([]),
            host_series([]),
            router_series([]),
            job_series([]),
            repetitions([]),
            schedule([]),
            drops([]),
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
