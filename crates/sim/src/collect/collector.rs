//! From records, in the total order, to the rows of tables.

use std::io;
use std::time::{Duration, Instant};

use des::Time;
use results::rows::Row;
use results::{Chain, Collected, Shelf, Stream, StreamState};
use serde::{Deserialize, Serialize};

use super::CollectSetting;
use crate::Error;
use crate::fact::Record;
use crate::model::{Process, Simulation};

/// Records between two looks at the clock.
const UNSEEN: u32 = 4096;

/// Wall-clock time after which readers of a run under way first see rows that fill no group yet; then it doubles,
/// up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

macro_rules! tables {
    ($( $field:ident: $row:ident, )*) => {
        /// The tables that grow.
        struct Tables {
            $( $field: Stream<results::rows::$row>, )*
        }

        /// Their names.
        pub const COLLECTED: &[&str] = &[ $( <results::rows::$row as Row>::TABLE, )* ];

        impl Tables {
            fn new(shelf: &Shelf) -> Tables {
                Tables { $( $field: Stream::new(shelf), )* }
            }

            fn restored(shelf: &Shelf, states: Vec<StreamState>) -> io::Result<Tables> {
                let mut states = states.into_iter();
                let mut next = || states.next().ok_or_else(|| io::Error::other("the saved tables are not all there"));
                Ok(Tables { $( $field: Stream::restored(shelf, next()?)?, )* })
            }

            fn states(&mut self) -> Vec<StreamState> {
                vec![ $( self.$field.state(), )* ]
            }

            fn write_tails(&mut self) -> io::Result<()> {
                $( self.$field.write_tail()?; )*
                Ok(())
            }

            fn finish(self) -> io::Result<Vec<Collected>> {
                let all = [ $( self.$field.finish()?, )* ];
                Ok(all.into_iter().flatten().collect())
            }
        }
    };
}

tables! {
    class_series: ClassSeriesRow,
    host_series: HostSeriesRow,
    job_series: JobSeriesRow,
    link_series: LinkSeriesRow,
    router_series: RouterSeriesRow,
    vc_series: VcSeriesRow,
}

/// Takes the records of a run.
pub struct Collector {
    setting: CollectSetting,
    /// The digest of the records that belong to the results, whatever is collected.
    records: Chain,
    tables: Tables,
    /// Records since the clock was looked at.
    unseen: u32,
    shown: Instant,
    pause: Duration,
}

/// What is needed to go on collecting.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CollectorState {
    /// What is collected, to be compared.
    setting: String,
    records: Chain,
    tables: Vec<StreamState>,
}

impl Collector {
    /// Before the run.
    pub fn new(simulation: &Simulation, setting: &CollectSetting, shelf: Shelf) -> Collector {
        let _ = simulation;
        Collector {
            setting: setting.clone(),
            records: Chain::new(),
            tables: Tables::new(&shelf),
            unseen: 0,
            shown: Instant::now(),
            pause: FIRST_PAUSE,
        }
    }

    /// Goes on from a state that [`Collector::state`] gave.
    ///
    /// # Errors
    /// Something else was collected before, or what was collected is not there any more.
    pub fn restored(
        simulation: &Simulation,
        setting: &CollectSetting,
        shelf: Shelf,
        state: CollectorState,
    ) -> Result<Collector, Error> {
        if state.setting != format!("{setting:?}") {
            let message = "the run that was broken off has collected something else; expected the same [collect] as \
                           before";
            return Err(Error::Collect(io::Error::other(message)));
        }
        let tables = Tables::restored(&shelf, state.tables).map_err(Error::Collect)?;
        Ok(Collector {
            records: state.records,
            tables,
            ..Collector::new(simulation, setting, shelf)
        })
    }

    /// What is needed to go on.
    pub fn state(&mut self) -> CollectorState {
        CollectorState {
            setting: format!("{:?}", self.setting),
            records: self.records,
            tables: self.tables.states(),
        }
    }

    /// Takes a record that is certain, in the total order.
    ///
    /// # Errors
    /// Rows cannot be written.
    pub fn take(&mut self, time: Time, record: Record) -> io::Result<()> {
        match record {
            Record::RankDone { job, rank } => {
                let numbers = [time.ps(), u64::from(job), u64::from(rank)];
                self.records.integers("rank done", &numbers);
            }
        }
        self.unseen += 1;
        if self.unseen >= UNSEEN {
            self.look_at_the_clock()?;
        }
        Ok(())
    }

    #[cold]
    fn look_at_the_clock(&mut self) -> io::Result<()> {
        self.unseen = 0;
        if self.shown.elapsed() >= self.pause {
            self.tables.write_tails()?;
            self.shown = Instant::now();
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        }
        Ok(())
    }

    /// The digest of the records that belong to the results.
    pub fn records(&self) -> Chain {
        self.records
    }

    /// All tables, at the end of the run.
    ///
    /// # Errors
    /// Rows cannot be written.
    pub fn finish(self, processes: &[Process], end: Time) -> io::Result<Vec<Collected>> {
        let _ = (processes, end);
        self.tables.finish()
    }
}
