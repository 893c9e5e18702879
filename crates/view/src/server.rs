//! The HTTP side: who may ask, what can be asked, and how it is answered.
//!
//! Any page in any browser of this machine can send requests to the loopback interface. Those whose `Host` is not
//! a name of this server are refused, which is what a page has that made its own name point here (DNS rebinding);
//! other pages cannot read answers, as none allows other origins to. Only GET is answered. A connection carries
//! one request, and has a thread.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::folder::{Folder, OpenError};
use crate::page::ASSETS;
use crate::slice::{self, Cells, Rows, Slice, SliceError, TimeRange};
use crate::{timeline, wire};

/// How long a client may say nothing. Browsers open connections before they need them.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a client may go on after its answer.
const FAREWELL: Duration = Duration::from_secs(1);
/// Bytes of a request, at most.
const LONGEST_REQUEST: usize = 16 * 1024;
const MOST_HEADERS: usize = 100;
/// Rows in one answer, at most.
const MOST_ROWS: usize = 4_000_000;

/// Nothing can be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on 127.0.0.1, port {port}: {why}")]
pub struct BindError {
    port: u16,
    why: String,
}

/// Result folders, being served.
pub struct View {
    listener: TcpListener,
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    shared: Arc<ServerState>,
}

struct ServerState {
    folders: Vec<Folder>,
    /// What `Host` may say.
    hosts: [String; 2],
}

/// Ends the serving of a view.
#[derive(Clone)]
pub struct StopSignal {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
}

impl StopSignal {
    /// Ends it.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes up who waits for a connection.
        let _ = TcpStream::connect(self.address);
    }
}

/// What becomes of a request.
struct Answer {
    status: u16,
    kind: &'static str,
    body: Vec<u8>,
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const BINARY: &str = "application/octet-stream";

/// What every answer says.
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
        let folders = folders.iter().map(|path| Folder::open(Path::new(path)));
        Ok(Opened(folders.collect::<Result<_, _>>()?))
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// What ends [`View::serve`], from another thread.
    pub fn stop(&self) -> StopSignal {
        StopSignal {
            address: self.address,
            stopped: self.stopped.clone(),
        }
    }

    /// Answers until it is stopped. What is being answered then is not waited for.
    pub fn serve(&self) {
        for stream in self.listener.incoming() {
            if self.stopped.load(Ordering::SeqCst) {
                return;
            }
            // Without a free descriptor or thread this client is not served; the next one may be.
            let Ok(stream) = stream else { continue };
            let shared = self.shared.clone();
            // The client may go away at any time, which is its affair.
            let answer = move || drop(shared.converse(stream));
            let _ = std::thread::Builder::new().spawn(answer);
        }
    }
}

/// Result folders that can be served.
pub struct Opened(Vec<Folder>);

impl Opened {
    /// Listens on the loopback interface; port 0 is any that is free.
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
    /// One request and its answer.
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
        // What is still unread would make the system cut off the answer.
        stream.set_read_timeout(Some(FAREWELL))?;
        while stream.read(&mut piece)? > 0 {}
        Ok(())
    }

    /// The answer to a request, if it is there as a whole.
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
                let results: Vec<_> = self.folders.iter().map(Folder::describe).collect();
                Answer::json(&json!({ "version": env!("CARGO_PKG_VERSION"), "results": results }))
            }
            ["data", result, "bins"] => match self.folder(result) {
                Some(folder) => Answer::slice(bins(folder)),
                None => Answer::refused(404, "there is no such result"),
            },
            ["data", result, "table", name] => self.table(result, name, |files, time| {
                let rows = query.rows(time)?;
                slice::cut(files, &query.columns(), &rows)
            }),
            ["data", result, "timeline"] => self.table(result, "timeline", |files, time| {
                let rows = query.rows(time)?;
                let number = |name: &str| query.get(name).and_then(|v| v.parse().ok()).unwrap_or(0);
                let every = u32::try_from(number("every")).unwrap_or(u32::MAX);
                timeline::reduced(files, &rows, every, number("pixel_ps"))
            }),
            _ => Answer::refused(404, "there is nothing here"),
        }
    }

    fn folder(&self, number: &str) -> Option<&Folder> {
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

fn bins(folder: &Folder) -> Result<Slice, SliceError> {
    let bins = folder.bins()?;
    let of = |pick: fn(&(u64, u64)) -> u64| Cells::F64(bins.iter().map(|bin| pick(bin) as f64).collect());
    Ok(Slice {
        columns: vec![
            ("begin_ps".into(), of(|bin| bin.0)),
            ("end_ps".into(), of(|bin| bin.1)),
        ],
        rows: bins.len(),
        matching: bins.len(),
    })
}

/// Keys and values behind the question mark.
struct Query(Vec<(String, String)>);

/// Keys that are not names of columns.
const RESERVED: [&str; 6] = ["columns", "from_ps", "to_ps", "limit", "every", "pixel_ps"];

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

    fn columns(&self) -> Vec<String> {
        let columns = self.get("columns").unwrap_or("");
        columns.split(',').map(String::from).collect()
    }

    /// Rows within `from_ps` and `to_ps`, whose columns have the values of all other keys; a key that is given
    /// several times has several values.
    fn rows(&self, time: Option<(&str, &str)>) -> Result<Rows, SliceError> {
        let number = |key: &str| self.get(key).and_then(|value| value.parse::<u64>().ok());
        let (from_ps, to_ps) = (number("from_ps"), number("to_ps"));
        let span = match (from_ps.is_some() || to_ps.is_some(), time) {
            (false, _) => None,
            (true, None) => return Err(SliceError::NoColumn("begin_ps".into())),
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
        Ok(Rows {
            span,
            equal,
            limit: limit.min(MOST_ROWS),
        })
    }
}

/// Text of a query with its escapes undone; none if they are wrong.
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
