//! Load reports: the loads of other routers that a router knows, and the reports that it sends, for routing that needs
//! them ([`routing::Reports`]).
//!
//! A router schedules a report when one of its reported loads may have changed. It sends the report at the next
//! multiple of the report period, if the load has changed. Without changes there are no reports, so reports do not
//! prolong a run.

use des::{Context, Time};
use routing::Reports;
use serde::{Deserialize, Serialize};
use topology::{Port, RouterId};

use crate::lp::net_event::NetEvent;
use crate::lp::simulation::Simulation;

/// Number of loads in one event.
pub const LOADS_PER_EVENT: usize = 8;

/// Consecutive loads in units of [`Reports::UNIT`].
pub type Loads = [u16; LOADS_PER_EVENT];

/// The load reports of one router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadReports {
    /// Reported loads of the group. For the router itself, the loads that it reported last.
    loads: Vec<u16>,
    /// Whether a report is scheduled.
    due: bool,
}

/// One undo step.
pub enum LoadReportsUndo {
    /// A report was scheduled.
    Asked,
    /// A report was due.
    Due,
    /// Reported loads changed.
    Received {
        /// Index of the first of them.
        first: u16,
        /// These loads and the following ones before the change.
        before: Loads,
    },
}

/// A load in units of [`Reports::UNIT`].
fn in_units(bytes: u64) -> u16 {
    bytes.div_ceil(Reports::UNIT).min(u64::from(u16::MAX)) as u16
}

impl LoadReports {
    /// State without any report.
    pub fn new(reports: &Reports) -> LoadReports {
        LoadReports {
            loads: vec![0; reports.loads()],
            due: false,
        }
    }

    /// All loads in the group.
    pub fn loads(&self) -> &[u16] {
        &self.loads
    }

    /// Replaces the state by a saved one.
    ///
    /// # Errors
    /// The saved state belongs to another network.
    pub fn restore(&mut self, saved: LoadReports) -> Result<(), String> {
        if saved.loads.len() != self.loads.len() {
            let (here, there) = (self.loads.len(), saved.loads.len());
            return Err(format!(
                "a router has {here} reported loads, the saved state has {there}"
            ));
        }
        *self = saved;
        Ok(())
    }

    /// Schedules a report if the load of a reported port has changed.
    #[inline]
    pub fn look<C: Context<Simulation>>(
        &mut self,
        reports: &Reports,
        router: RouterId,
        load: impl Fn(Port) -> u64,
        context: &mut C,
    ) {
        let loads = &self.loads[reports.first_load(router)..];
        let mut ports = reports.ports(router).zip(loads);
        if self.due || ports.all(|(port, loads)| in_units(load(Port(port))) == *loads) {
            return;
        }
        self.due = true;
        if C::REVERSIBLE {
            context.undo(LoadReportsUndo::Asked.into());
        }
        let period = reports.period_ps();
        let wait = period - context.now().ps() % period;
        context.send(context.lp(), Time::from_ps(wait), NetEvent::LoadReportDue);
    }

    /// Sends the loads of a router's ports, if they have changed.
    pub fn report<C: Context<Simulation>>(
        &mut self,
        simulation: &Simulation,
        reports: &Reports,
        router: RouterId,
        load: impl Fn(Port) -> u64,
        context: &mut C,
    ) {
        self.due = false;
        if C::REVERSIBLE {
            context.undo(LoadReportsUndo::Due.into());
        }
        let ports = reports.ports(router);
        for (event, first_port) in ports.clone().step_by(LOADS_PER_EVENT).enumerate() {
            let mut loads = Loads::default();
            let event_ports = first_port..ports.end.min(first_port + LOADS_PER_EVENT as u16);
            let count = event_ports.len() as u8;
            for (loads, port) in loads.iter_mut().zip(event_ports) {
                *loads = in_units(load(Port(port)));
            }
            let first = (reports.first_load(router) + event * LOADS_PER_EVENT) as u16;
            if self.loads[usize::from(first)..][..usize::from(count)] == loads[..usize::from(count)] {
                continue;
            }
            self.received(first, count, loads, context);
            for listener in reports.listeners(router) {
                let delay = simulation.network.report_delay(router, listener);
                let event = NetEvent::LoadsReported { first, count, loads };
                context.send(simulation.numbering.router(listener), delay, event);
            }
        }
    }

    /// Stores reported loads.
    pub fn received<C: Context<Simulation>>(&mut self, first: u16, count: u8, loads: Loads, context: &mut C) {
        let known = &mut self.loads[usize::from(first)..];
        if C::REVERSIBLE {
            let (mut before, kept) = (Loads::default(), known.len().min(LOADS_PER_EVENT));
            before[..kept].copy_from_slice(&known[..kept]);
            context.undo(LoadReportsUndo::Received { first, before }.into());
        }
        known[..usize::from(count)].copy_from_slice(&loads[..usize::from(count)]);
    }

    /// Undoes one step.
    pub fn undo(&mut self, step: LoadReportsUndo) {
        match step {
            LoadReportsUndo::Asked => self.due = false,
            LoadReportsUndo::Due => self.due = true,
            LoadReportsUndo::Received { first, before } => {
                let known = &mut self.loads[usize::from(first)..];
                let kept = known.len().min(LOADS_PER_EVENT);
                known[..kept].copy_from_slice(&before[..kept]);
            }
        }
    }
}
