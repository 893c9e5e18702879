//! The HTTP server: access checks, routes, answers.
//!
//! Any page in any browser on this machine can send requests to the loopback interface. Requests whose `Host` is not
//! a name of this server are refused, which stops DNS rebinding. Other pages cannot read answers, because no answer
//! allows other origins. Only GET is answered.
//!
//! The library hyper speaks HTTP, on one thread. Tables are read on other threads, since a file makes its reader wait.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{self, Runtime};
use tokio::sync::Notify;

use crate::catalogue::Catalogue;
use crate::communication::communication;
use crate::folder::{OpenError, ResultFolder};
use crate::page::asset;
use crate::slice::{self, ColumnValues, RowFilter, Slice, SliceError, TimeRange};
use crate::timeline::{self, RankSample};
use crate::wire;

/// Maximum time until a request is complete. Browsers open connections before they need them.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause after a connection that could not be accepted, for example because no file descriptor is free.
const PAUSE: Duration = Duration::from_millis(50);
/// Maximum size of a request in bytes.
const LONGEST_REQUEST: usize = 16 * 1024;
/// Maximum number of rows in one answer.
const MOST_ROWS: usize = 4_000_000;

/// The server cannot start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on 127.0.0.1, port {port}: {why}")]
pub struct BindError {
    port: u16,
    why: String,
}

/// A running server of result folders.
pub struct View {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    stopped: Arc<Notify>,
    shared: Arc<ServerState>,
}

struct ServerState {
    results: Catalogue,
    /// Accepted values of the header `Host`.
    hosts: [String; 2],
}

/// Stops a running server.
#[derive(Clone)]
pub struct StopSignal(Arc<Notify>);

impl StopSignal {
    /// Stops the server.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

/// The outcome of a request.
struct HttpAnswer {
    status: u16,
    kind: &'static str,
    body: Bytes,
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const BINARY: &str = "application/octet-stream";

/// Headers of every answer.
const HEADERS: &[(&str, &str)] = &[
    ("Allow", "GET"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
];

impl HttpAnswer {
    fn refused(status: u16, why: impl ToString) -> HttpAnswer {
        HttpAnswer {
            status,
            kind: TEXT,
            body: why.to_string().into(),
        }
    }

    fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::builder()
            .status(self.status)
            .header(header::CONTENT_TYPE, self.kind);
        for (name, value) in HEADERS {
            response = response.header(*name, *value);
        }
        response
            .body(Full::new(self.body))
            .expect("constant headers are valid")
    }

    fn json(value: &serde_json::Value) -> HttpAnswer {
        HttpAnswer {
            status: 200,
            kind: JSON,
            body: value.to_string().into(),
        }
    }

    fn slice(slice: Result<Slice, SliceError>) -> HttpAnswer {
        match slice {
            Ok(slice) => HttpAnswer {
                status: 200,
                kind: BINARY,
                body: wire::encode(&slice).into(),
            },
            Err(error @ SliceError::Unreadable(_)) => HttpAnswer::refused(500, error),
            Err(error) => HttpAnswer::refused(400, error),
        }
    }
}

impl View {
    /// Opens result folders. A single folder may have results inside instead; the page lists them.
    ///
    /// # Errors
    /// One of them is no result, finished or not; a single one has no results inside either.
    pub fn open(folders: &[PathBuf]) -> Result<Opened, OpenError> {
        Catalogue::open(folders).map(Opened)
    }

    /// URL of the page.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// A handle that stops [`View::serve`] from another thread.
    pub fn stop(&self) -> StopSignal {
        StopSignal(self.stopped.clone())
    }

    /// Answers requests until it is stopped. Does not wait for answers in progress.
    pub fn serve(self) {
        self.runtime.spawn(accept(self.listener, self.shared));
        self.runtime.block_on(self.stopped.notified());
        self.runtime.shutdown_background();
    }
}

async fn accept(listener: TcpListener, shared: Arc<ServerState>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(converse(stream, shared.clone()))),
            // Later clients may succeed.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Answers the requests of a connection.
async fn converse(stream: TcpStream, shared: Arc<ServerState>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = shared.clone();
        async move {
            let request = request.into_parts().0;
            let answer = tokio::task::spawn_blocking(move || shared.answer(&request)).await;
            let answer = answer.unwrap_or_else(|error| HttpAnswer::refused(500, error));
            Ok::<_, Infallible>(answer.into_response())
        }
    });
    // The client may disconnect at any time.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(LONGEST_REQUEST)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// Result folders, ready to be served.
pub struct Opened(Catalogue);

impl Opened {
    /// Listens on the loopback interface. Port 0 selects any free port.
    ///
    /// # Errors
    /// The port is taken, or the system refuses.
    pub fn listen(self, port: u16) -> Result<View, BindError> {
        let failed = |why: io::Error| BindError {
            port,
            why: why.to_string(),
        };
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(failed)?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, port)));
        let listener = listener.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", address.port()));
        Ok(View {
            runtime,
            listener,
            address,
            stopped: Arc::new(Notify::new()),
            shared: Arc::new(ServerState {
                results: self.0,
                hosts,
            }),
        })
    }
}

impl ServerState {
    /// The answer to a request.
    fn answer(&self, request: &Parts) -> HttpAnswer {
        let host = request.headers.get(header::HOST);
        let host = host.map(|host| host.as_bytes().to_ascii_lowercase());
        let is_ours = |host: Vec<u8>| self.hosts.iter().any(|own| own.as_bytes() == host);
        if !host.is_some_and(is_ours) {
            let why = format!("this server is http://{}/ and nothing else", self.hosts[0]);
            HttpAnswer::refused(421, why)
        } else if request.method != Method::GET {
            HttpAnswer::refused(405, "only GET is answered")
        } else {
            self.get(request.uri.path(), request.uri.query().unwrap_or(""))
        }
    }

    fn get(&self, path: &str, query: &str) -> HttpAnswer {
        if let Some(asset) = asset(path) {
            return HttpAnswer {
                status: 200,
                kind: asset.media_type(),
                body: Bytes::from_static((asset.text)().as_bytes()),
            };
        }
        let query = Query::read(query);
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match parts[..] {
            ["data", "results"] => self
                .describe(query.get("results"))
                .unwrap_or_else(|refused| refused),
            ["data", "comparison"] => match self.shown(query.get("results")) {
                Ok(Some(shown)) => HttpAnswer::json(&comparison(&shown)),
                Ok(None) => HttpAnswer::refused(400, "no results are named"),
                Err(refused) => refused,
            },
            ["data", result, "bins"] => match self.folder(result) {
                Ok(folder) => HttpAnswer::slice(bins(folder)),
                Err(refused) => refused,
            },
            ["data", result, "verdict"] => match self.folder(result) {
                Ok(folder) => HttpAnswer::json(&verdict(folder)),
                Err(refused) => refused,
            },
            ["data", result, "table", name] => self.table(result, name, |files, time| {
                let rows = query.rows(time)?;
                slice::cut(files, &query.columns(), &rows)
            }),
            ["data", result, "communication"] => self.table(result, "messages", |files, time| {
                communication(
                    files,
                    &query.rows(time)?,
                    query.small("ranks"),
                    query.small("most"),
                )
            }),
            ["data", result, "shares"] => self.table(result, "timeline", |files, time| {
                let sample = RankSample::new(query.small("sample"), query.small("of"));
                timeline::shares(files, &query.rows(time)?, sample, query.small("parts"))
            }),
            ["data", result, "timeline"] => self.table(result, "timeline", |files, time| {
                let rows = query.rows(time)?;
                let pixel_ps = query.get("pixel_ps").and_then(|v| v.parse().ok());
                timeline::reduced(files, &rows, query.small("every"), pixel_ps.unwrap_or(0))
            }),
            _ => HttpAnswer::refused(404, "there is nothing here"),
        }
    }

    fn folder(&self, number: &str) -> Result<&ResultFolder, HttpAnswer> {
        let found = number.parse().ok().and_then(|number| self.results.result(number));
        match found {
            Some(Ok(folder)) => Ok(folder),
            Some(Err(why)) => Err(HttpAnswer::refused(500, why)),
            None => Err(HttpAnswer::refused(404, "there is no such result")),
        }
    }

    /// The results of a page, by what its query says. `None` if it has to choose first.
    fn shown(&self, asked: Option<&str>) -> Result<Option<Vec<(usize, &ResultFolder)>>, HttpAnswer> {
        let Some(numbers) = self.results.chosen(asked) else {
            return Ok(None);
        };
        if numbers.is_empty() {
            return Err(HttpAnswer::refused(400, "results= names no result by its number"));
        }
        let shown = numbers
            .iter()
            .map(|&number| Ok((number, self.folder(&number.to_string())?)));
        shown.collect::<Result<Vec<_>, HttpAnswer>>().map(Some)
    }

    /// What a page receives first: its results, or the list from which it chooses.
    fn describe(&self, asked: Option<&str>) -> Result<HttpAnswer, HttpAnswer> {
        let Some(shown) = self.shown(asked)? else {
            return Ok(HttpAnswer::json(
                &json!({ "catalogue": self.results.list(), "results": [] }),
            ));
        };
        let results = shown.iter().map(|(number, folder)| {
            let mut described = folder.describe();
            described["index"] = (*number).into();
            described
        });
        let results: Vec<_> = results.collect();
        let limits: BTreeMap<&str, f64> = results::VERDICT_THRESHOLDS.iter().copied().collect();
        let version = env!("CARGO_PKG_VERSION");
        Ok(HttpAnswer::json(
            &json!({ "version": version, "limits": limits, "results": results }),
        ))
    }

    fn table(
        &self,
        result: &str,
        name: &str,
        read: impl Fn(&[PathBuf], Option<(&'static str, &'static str)>) -> Result<Slice, SliceError>,
    ) -> HttpAnswer {
        let folder = match self.folder(result) {
            Ok(folder) => folder,
            Err(refused) => return refused,
        };
        match folder.table(name) {
            Some((files, known)) => HttpAnswer::slice(read(files, known.time)),
            None => HttpAnswer::refused(404, "the result has no such table"),
        }
    }
}

/// The verdict of a result, or why there is none. Both are answers: browsers report refused requests as errors of the
/// page.
fn verdict(folder: &ResultFolder) -> serde_json::Value {
    match folder.verdict() {
        Ok(Some(verdict)) => json!({ "verdict": verdict }),
        Ok(None) => json!({ "missing": "This run has no verdict yet: it gets one when it ends." }),
        Err(error) => json!({ "missing": format!("The verdict cannot be computed: {error}") }),
    }
}

/// What differs in the experiments of the results, and in their values if all runs have ended. The results are called
/// by letters, as on the page.
fn comparison(shown: &[(usize, &ResultFolder)]) -> serde_json::Value {
    let names: Vec<String> = ('A'..='Z')
        .map(String::from)
        .chain((27..).map(|n| format!("#{n}")))
        .take(shown.len())
        .collect();
    let experiments: Vec<_> = shown.iter().map(|(_, folder)| folder.experiment()).collect();
    let differs = results::differing_keys(&experiments);
    let ended: Option<Vec<_>> = shown.iter().map(|(_, folder)| folder.ended()).collect();
    let found = ended.map(|runs| {
        let named: Vec<_> = names.iter().map(String::as_str).zip(runs).collect();
        results::compare_runs(&named)
    });
    json!({ "names": names, "differs": differs, "found": found })
}

fn bins(folder: &ResultFolder) -> Result<Slice, SliceError> {
    let bins = folder.bins()?;
    let of =
        |pick: fn(&(u64, u64)) -> u64| ColumnValues::F64(bins.iter().map(|bin| pick(bin) as f64).collect());
    Ok(Slice {
        columns: vec![
            ("begin_ps".into(), of(|bin| bin.0)),
            ("end_ps".into(), of(|bin| bin.1)),
        ],
        rows: bins.len(),
        matching: bins.len(),
    })
}

/// Keys and values of the query string.
struct Query(Vec<(String, String)>);

/// Keys that are not column names.
const RESERVED: [&str; 11] = [
    "columns", "from_ps", "to_ps", "limit", "every", "parts", "pixel_ps", "sample", "of", "ranks", "most",
];

impl Query {
    fn read(text: &str) -> Query {
        Query(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(k, _)| k == key);
        found.map(|(_, value)| value.as_str())
    }

    /// A number, 0 if it is absent or none.
    fn small(&self, key: &str) -> u32 {
        let number: u64 = self.get(key).and_then(|v| v.parse().ok()).unwrap_or(0);
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    fn columns(&self) -> Vec<String> {
        let columns = self.get("columns").unwrap_or("");
        columns.split(',').map(String::from).collect()
    }

    /// Rows within `from_ps` and `to_ps` whose columns have the values of all other keys. A repeated key lists
    /// several allowed values.
    fn rows(&self, time: Option<(&str, &str)>) -> Result<RowFilter, SliceError> {
        let number = |key: &str| self.get(key).and_then(|value| value.parse::<u64>().ok());
        let (from_ps, to_ps) = (number("from_ps"), number("to_ps"));
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
        for (key, value) in self.0.iter().filter(|(key, _)| !RESERVED.contains(&key.as_str())) {
            match equal.iter_mut().find(|(column, _)| column == key) {
                Some((_, values)) => values.push(value.clone()),
                None => equal.push((key.clone(), vec![value.clone()])),
            }
        }
        let limit = number("limit").map_or(MOST_ROWS, |n| usize::try_from(n).unwrap_or(MOST_ROWS));
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
        let query = Query::read("columns=a,b&job=lammps%20%26%20co&link=3&link=4&from_ps=7");
        assert_eq!(query.columns(), ["a", "b"]);
        let rows = query.rows(Some(("begin_ps", "end_ps"))).unwrap();
        let span = rows.span.unwrap();
        assert_eq!((span.from_ps, span.to_ps), (7, u64::MAX));
        assert_eq!(rows.equal[0], ("job".into(), vec!["lammps & co".into()]));
        assert_eq!(rows.equal[1], ("link".into(), vec!["3".into(), "4".into()]));
        assert!(query.rows(None).is_err(), "a table without times");
    }
}
