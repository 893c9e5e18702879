//! The HTTP server: access checks, routes, answers.
//!
//! Any page in any browser on this machine can send requests to the loopback interface. Requests whose `Host` is not
//! a name of this server are refused, which stops DNS rebinding. Other pages cannot read answers, because no answer
//! allows other origins. Only GET is answered. Each connection carries one request and has its own thread.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::folder::{OpenError, ResultFolder};
use crate::page::ASSETS;
use crate::slice::{self, ColumnValues, RowFilter, Slice, SliceError, TimeRange};
use crate::timeline::{self, RankSample};
use crate::wire;

/// Read timeout of a connection. Browsers open connections before they need them.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time for which a client may keep sending after its answer.
const FAREWELL: Duration = Duration::from_secs(1);
/// Maximum size of a request in bytes.
const LONGEST_REQUEST: usize = 16 * 1024;
const MOST_HEADERS: usize = 100;
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
    listener: TcpListener,
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    shared: Arc<ServerState>,
}

struct ServerState {
    folders: Vec<ResultFolder>,
    /// Accepted values of the header `Host`.
    hosts: [String; 2],
}

/// Stops a running server.
#[derive(Clone)]
pub struct StopSignal {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
}

impl StopSignal {
    /// Stops the server.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        // A connection wakes up the accepting thread.
        let _ = TcpStream::connect(self.address);
    }
}

/// The outcome of a request.
struct Answer {
    status: u16,
    kind: &'static str,
    body: Vec<u8>,
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const BINARY: &str = "application/octet-stream";

/// Headers of every answer.
const HEADERS: &[(&str, &str)] = &[
    ("Connection", "close"),
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

impl Answer {
    fn refused(status: u16, why: impl ToString) -> Answer {
        Answer {
            status,
            kind: TEXT,
            body: why.to_string().into_bytes(),
        }
    }

    fn write(&self, stream: &mut TcpStream) -> io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed",
            421 => "Misdirected Request",
            431 => "Request Header Fields Too Large",
            _ => "Internal Server Error",
        };
        let mut head = format!("HTTP/1.1 {} {reason}\r\n", self.status);
        let length = self.body.len().to_string();
        for (name, value) in [("Content-Type", self.kind), ("Content-Length", &length)]
            .iter()
            .chain(HEADERS)
        {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        stream.write_all(head.as_bytes())?;
        stream.write_all(&self.body)?;
        stream.flush()
    }

    fn json(value: &serde_json::Value) -> Answer {
        Answer {
            status: 200,
            kind: JSON,
            body: value.to_string().into_bytes(),
        }
    }

    fn slice(slice: Result<Slice, SliceError>) -> Answer {
        match slice {
            Ok(slice) => Answer {
                status: 200,
                kind: BINARY,
                body: wire::encode(&slice),
            },
            Err(error @ SliceError::Unreadable(_)) => Answer::refused(500, error),
            Err(error) => Answer::refused(400, error),
        }
    }
}

impl View {
    /// Opens result folders.
    ///
    /// # Errors
    /// One of them is no result, finished or not.
    pub fn open(folders: &[PathBuf]) -> Result<Opened, OpenError> {
        let folders = folders.iter().map(|path| ResultFolder::open(Path::new(path)));
        Ok(Opened(folders.collect::<Result<_, _>>()?))
    }

    /// URL of the page.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// A handle that stops [`View::serve`] from another thread.
    pub fn stop(&self) -> StopSignal {
        StopSignal {
            address: self.address,
            stopped: self.stopped.clone(),
        }
    }

    /// Answers requests until it is stopped. Does not wait for answers in progress.
    pub fn serve(&self) {
        for stream in self.listener.incoming() {
            if self.stopped.load(Ordering::SeqCst) {
                return;
            }
            // This client is dropped if no descriptor or thread is free. Later clients may succeed.
            let Ok(stream) = stream else { continue };
            let shared = self.shared.clone();
            // The client may disconnect at any time.
            let answer = move || drop(shared.converse(stream));
            let _ = std::thread::Builder::new().spawn(answer);
        }
    }
}

/// Result folders, ready to be served.
pub struct Opened(Vec<ResultFolder>);

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
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", address.port()));
        Ok(View {
            listener,
            address,
            stopped: Arc::new(AtomicBool::new(false)),
            shared: Arc::new(ServerState {
                folders: self.0,
                hosts,
            }),
        })
    }
}

impl ServerState {
    /// Reads one request and sends its answer.
    fn converse(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let (mut head, mut piece) = (Vec::new(), [0; 4096]);
        let answer = loop {
            let read = stream.read(&mut piece)?;
            if read == 0 {
                return Ok(());
            }
            head.extend_from_slice(&piece[..read]);
            if let Some(answer) = self.answer(&head) {
                break answer;
            }
            if head.len() > LONGEST_REQUEST {
                break Answer::refused(431, "the request is too long");
            }
        };
        answer.write(&mut stream)?;
        stream.shutdown(Shutdown::Write)?;
        // Unread input would make the system reset the connection before the client has the answer.
        stream.set_read_timeout(Some(FAREWELL))?;
        while stream.read(&mut piece)? > 0 {}
        Ok(())
    }

    /// The answer to a request, if the request is complete.
    fn answer(&self, head: &[u8]) -> Option<Answer> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(head) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return None,
            Err(error) => return Some(Answer::refused(400, error)),
        }
        let host = request
            .headers
            .iter()
            .find(|h| h.name.eq_ignore_ascii_case("host"));
        let host = host.map(|h| h.value.to_ascii_lowercase());
        let is_ours = |host: Vec<u8>| self.hosts.iter().any(|own| own.as_bytes() == host);
        Some(if !host.is_some_and(is_ours) {
            Answer::refused(
                421,
                format!("this server is http://{}/ and nothing else", self.hosts[0]),
            )
        } else if request.method != Some("GET") {
            Answer::refused(405, "only GET is answered")
        } else {
            self.get(request.path.unwrap_or("/"))
        })
    }

    fn get(&self, url: &str) -> Answer {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        if let Some(asset) = ASSETS.iter().find(|asset| asset.path == path) {
            return Answer {
                status: 200,
                kind: asset.media_type(),
                body: asset.text.as_bytes().to_vec(),
            };
        }
        let Some(query) = Query::read(query) else {
            return Answer::refused(400, "the query cannot be read");
        };
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        match parts[..] {
            ["data", "results"] => {
                let folders: Vec<_> = self.folders.iter().map(ResultFolder::describe).collect();
                let limits: BTreeMap<&str, f64> = results::VERDICT_THRESHOLDS.iter().copied().collect();
                let version = env!("CARGO_PKG_VERSION");
                Answer::json(&json!({ "version": version, "limits": limits, "results": folders }))
            }
            ["data", "comparison"] => Answer::json(&comparison(&self.folders)),
            ["data", result, "bins"] => match self.folder(result) {
                Some(folder) => Answer::slice(bins(folder)),
                None => Answer::refused(404, "there is no such result"),
            },
            ["data", result, "verdict"] => match self.folder(result) {
                Some(folder) => Answer::json(&verdict(folder)),
                None => Answer::refused(404, "there is no such result"),
            },
            ["data", result, "table", name] => self.table(result, name, |files, time| {
                let rows = query.rows(time)?;
                slice::cut(files, &query.columns(), &rows)
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
            _ => Answer::refused(404, "there is nothing here"),
        }
    }

    fn folder(&self, number: &str) -> Option<&ResultFolder> {
        self.folders.get(number.parse::<usize>().ok()?)
    }

    fn table(
        &self,
        result: &str,
        name: &str,
        read: impl Fn(&[PathBuf], Option<(&'static str, &'static str)>) -> Result<Slice, SliceError>,
    ) -> Answer {
        let Some(folder) = self.folder(result) else {
            return Answer::refused(404, "there is no such result");
        };
        match folder.table(name) {
            Some((files, known)) => Answer::slice(read(files, known.time)),
            None => Answer::refused(404, "the result has no such table"),
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
fn comparison(folders: &[ResultFolder]) -> serde_json::Value {
    let names: Vec<String> = ('A'..='Z')
        .map(String::from)
        .chain((27..).map(|n| format!("#{n}")))
        .take(folders.len())
        .collect();
    let experiments: Vec<_> = folders.iter().map(ResultFolder::experiment).collect();
    let differs = results::differing_keys(&experiments);
    let ended: Option<Vec<_>> = folders.iter().map(ResultFolder::ended).collect();
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
const RESERVED: [&str; 9] = [
    "columns", "from_ps", "to_ps", "limit", "every", "parts", "pixel_ps", "sample", "of",
];

impl Query {
    fn read(text: &str) -> Option<Query> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (key, value) = pair.split_once('=')?;
            Some((decoded(key)?, decoded(value)?))
        });
        Some(Query(pairs.collect::<Option<_>>()?))
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

/// Percent-decoded text of a query, `None` if an escape is invalid.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        rest = others;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = &rest[2..];
            }
            other => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_with_their_escapes() {
        let query = Query::read("columns=a,b&job=lammps%20%26%20co&link=3&link=4&from_ps=7").unwrap();
        assert_eq!(query.columns(), ["a", "b"]);
        let rows = query.rows(Some(("begin_ps", "end_ps"))).unwrap();
        let span = rows.span.unwrap();
        assert_eq!((span.from_ps, span.to_ps), (7, u64::MAX));
        assert_eq!(rows.equal[0], ("job".into(), vec!["lammps & co".into()]));
        assert_eq!(rows.equal[1], ("link".into(), vec!["3".into(), "4".into()]));
        assert!(query.rows(None).is_err(), "a table without times");
        for wrong in ["a", "a=%", "a=%4", "a=%zz", "a=%ff"] {
            assert!(Query::read(wrong).is_none(), "{wrong}");
        }
    }
}
