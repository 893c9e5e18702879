//! Cost tables of sweeps and comparisons.

use pyo3::prelude::*;

use crate::{error, json};

/// A cost table. Parts of networks and lines of bills are JSON.
#[pyclass(frozen, module = "fabricsim._core")]
pub(crate) struct CostTable {
    table: results::CostTable,
}

#[pymethods]
impl CostTable {
    /// Reads a text; `file` is its name in messages.
    #[staticmethod]
    fn from_toml(py: Python<'_>, text: &str, file: &str) -> PyResult<CostTable> {
        let table = results::CostTable::from_toml(text, file).map_err(|e| error::of_sweep(py, &e))?;
        Ok(CostTable { table })
    }

    #[getter]
    fn currency(&self) -> &str {
        &self.table.currency
    }

    #[getter]
    fn note(&self) -> &str {
        &self.table.note
    }

    #[getter]
    fn has_electricity(&self) -> bool {
        self.table.has_electricity()
    }

    /// The lines of the bill of a network with these parts.
    fn bill(&self, py: Python<'_>, parts: &str) -> PyResult<String> {
        let parts: results::Inventory = serde_json::from_str(parts)
            .map_err(|e| pyo3::exceptions::PyValueError::new_err(format!("these are no parts: {e}")))?;
        let items = self.table.bill(&parts).map_err(|e| error::of_sweep(py, &e))?;
        Ok(json(&items))
    }

    /// The line for electricity at a mean power; null if the table has no price of it.
    fn electricity(&self, watts: f64) -> String {
        json(&self.table.electricity(watts))
    }
}

/// The kind of a router by its coordinates.
#[pyfunction]
pub(crate) fn router_kind(coordinates: &str) -> &str {
    results::router_kind(coordinates)
}
