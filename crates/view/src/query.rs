//! Queries of requests. What cannot be read is an error: ignored, it would select other rows.

use crate::slice::{MOST_ROWS, RowFilter, SliceError, TimeRange};

/// Keys that select rows by time.
const TIMES: [&str; 2] = ["from_ps", "to_ps"];

/// Keys and values of the query string of a request.
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
    /// Keys that are not names of columns. Each appears once.
    known: Vec<&'static str>,
}

impl Query {
    /// A query of no other than the known keys.
    pub fn read(text: &str, known: &[&'static str]) -> Result<Query, String> {
        let query = Query::read_keys(text, known.to_vec())?;
        if let Some((key, _)) = query.filters().next() {
            return Err(format!("the key '{key}' is unknown here"));
        }
        Ok(query)
    }

    /// A query that selects rows: the known keys, `from_ps`, `to_ps`, and columns.
    pub fn read_rows(text: &str, known: &[&'static str]) -> Result<Query, String> {
        Query::read_keys(text, [known, &TIMES].concat())
    }

    /// No query.
    pub fn nothing(text: &str) -> Result<(), String> {
        Query::read(text, &[]).map(drop)
    }

    fn read_keys(text: &str, known: Vec<&'static str>) -> Result<Query, String> {
        let pairs: Vec<_> = form_urlencoded::parse(text.as_bytes()).into_owned().collect();
        let repeated = |key: &&&str| pairs.iter().filter(|(k, _)| k == **key).count() > 1;
        match known.iter().find(repeated) {
            Some(key) => Err(format!("{key} appears more than once")),
            None => Ok(Query { pairs, known }),
        }
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.pairs.iter().find(|(k, _)| k == key);
        found.map(|(_, value)| value.as_str())
    }

    /// A number, if it is there.
    pub fn number(&self, key: &str) -> Result<Option<u64>, SliceError> {
        let number = |value: &str| {
            value
                .parse()
                .map_err(|_| SliceError::Query(format!("{key} is a whole number from 0 to 2^64 - 1")))
        };
        self.get(key).map(number).transpose()
    }

    /// A number of 32 bits, 0 if it is absent.
    pub fn small(&self, key: &str) -> Result<u32, SliceError> {
        let number = self.number(key)?.unwrap_or(0);
        u32::try_from(number).map_err(|_| SliceError::Query(format!("{key} is less than 2^32")))
    }

    /// Names of columns, each once.
    pub fn columns(&self) -> Result<Vec<String>, SliceError> {
        let columns = self.get("columns").unwrap_or("").split(',').map(String::from);
        let columns: Vec<_> = columns.collect();
        match (1..columns.len()).find(|&at| columns[..at].contains(&columns[at])) {
            Some(at) => Err(SliceError::Query(format!(
                "columns names '{}' more than once",
                columns[at]
            ))),
            None => Ok(columns),
        }
    }

    /// Keys and values that select rows by a column.
    fn filters(&self) -> impl Iterator<Item = &(String, String)> {
        self.pairs
            .iter()
            .filter(|(key, _)| !self.known.contains(&key.as_str()))
    }

    /// Rows within `from_ps` and `to_ps` whose columns have the values of all other keys. A repeated key lists
    /// several allowed values.
    pub fn rows(&self, time: Option<(&str, &str)>) -> Result<RowFilter, SliceError> {
        let (from_ps, to_ps) = (self.number("from_ps")?, self.number("to_ps")?);
        let span = match (from_ps.is_some() || to_ps.is_some(), time) {
            (false, _) => None,
            (true, None) => return Err(SliceError::Column("it has no bins of time".into())),
            (true, Some((begin, end))) => Some(TimeRange {
                from_ps: from_ps.unwrap_or(0),
                to_ps: to_ps.unwrap_or(u64::MAX),
                begin: begin.into(),
                end: end.into(),
            }),
        };
        let mut equal: Vec<(String, Vec<String>)> = Vec::new();
        for (key, value) in self.filters() {
            match equal.iter_mut().find(|(column, _)| column == key) {
                Some((_, values)) => values.push(value.clone()),
                None => equal.push((key.clone(), vec![value.clone()])),
            }
        }
        let limit = self
            .number("limit")?
            .map_or(MOST_ROWS, |n| usize::try_from(n).unwrap_or(MOST_ROWS));
        Ok(RowFilter {
            span,
            equal,
            limit: limit.min(MOST_ROWS),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_with_their_escapes() {
        let text = "columns=a,b&job=lammps%20%26%20co&link=3&link=4&from_ps=7";
        let query = Query::read_rows(text, &["columns"]).unwrap();
        assert_eq!(query.columns().unwrap(), ["a", "b"]);
        let rows = query.rows(Some(("begin_ps", "end_ps"))).unwrap();
        let span = rows.span.unwrap();
        assert_eq!((span.from_ps, span.to_ps), (7, u64::MAX));
        assert_eq!(rows.equal[0], ("job".into(), vec!["lammps & co".into()]));
        assert_eq!(rows.equal[1], ("link".into(), vec!["3".into(), "4".into()]));
        assert!(query.rows(None).is_err(), "a table without times");
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let rows = |text: &str| {
            let query = Query::read_rows(text, &["limit"]).map_err(SliceError::Query)?;
            query.rows(Some(("begin_ps", "end_ps")))
        };
        for wrong in [
            "from_ps=abc",
            "to_ps=",
            "limit=-5",
            "limit=1.5",
            "limit=1&limit=2",
            "from_ps=1e3",
        ] {
            assert!(matches!(rows(wrong), Err(SliceError::Query(_))), "{wrong}");
        }
        assert_eq!(rows("limit=18446744073709551615").unwrap().limit, MOST_ROWS);
        let columns = |text: &str| Query::read(text, &["columns"]).unwrap().columns();
        assert!(columns("columns=a,b,a").is_err());
        assert!(Query::read("sample=1", &["results"]).is_err());
        assert!(Query::nothing("").is_ok());
        let small = Query::read("most=4294967296", &["most"]).unwrap();
        assert!(small.small("most").is_err());
    }
}
