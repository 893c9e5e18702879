//! The settings of collection: the table `[collect]` and the bins of time that follow from it.

mod bins;
mod setting;

pub use bins::{Bins, Periods};
pub use setting::{CollectSetting, MOST_TALLIED, PARAMETERS, Series};
