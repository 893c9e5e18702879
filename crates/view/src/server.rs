//! The HTTP server: access checks, routes, answers.
//!
//! Any page in any browser on this machine can send requests to the loopback interface. Requests whose `Host` is not
//! a name of this server are refused, which stops DNS rebinding. Other pages cannot read answers, because no answer
//! allows other origins, and they receive no data (`Sec-Fetch-Site`), so that they cannot make the server work. Only
//! GET is answered. Connections, answers at the same time and the size of an answer are bounded: `connection.rs`.
//!
//! The library hyper speaks HTTP, on one thread. Tables are read on other threads, since a file makes its reader wait.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::http::request::Parts;
use hyper::{Method, header};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};
use tokio::sync::Notify;

use crate::answer::HttpAnswer;
use crate::catalogue::Catalogue;
use crate::communication::communication;
use crate::connection::{BOUNDS, Connections, RequestHandler};
use crate::folder::{OpenError, ResultFolder};
use crate::page::asset;
use crate::query::Query;
use crate::slice::{self, ColumnValues, Slice, SliceError};
use crate::timeline::{self, RankSample};

/// Pause after a connection that could not be accepted, for example because no file descriptor is free.
const PAUSE: Duration = Duration::from_millis(50);

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
    /// Accepted values of the header `Host`. Browsers leave out port 80.
    hosts: Vec<String>,
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
    let mut connections = Connections::new(shared, BOUNDS);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => connections.converse(stream),
            // Later clients may succeed.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
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
        let names = ["127.0.0.1", "localhost"];
        let mut hosts: Vec<String> = names.map(|name| format!("{name}:{}", address.port())).into();
        if address.port() == 80 {
            hosts.extend(names.map(String::from));
        }
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

/// Whether the browser says that another page has sent the request. A client that says nothing is no browser of today.
fn is_foreign(request: &Parts) -> bool {
    let site = request.headers.get("sec-fetch-site");
    site.is_some_and(|site| {
        !["same-origin", "none"]
            .iter()
            .any(|own| site.as_bytes() == own.as_bytes())
    })
}

impl RequestHandler for ServerState {
    /// Results, not files of the page, which are in the program.
    fn is_for_data(&self, request: &Parts) -> bool {
        request.uri.path().starts_with("/data/")
    }

    fn answer(&self, request: &Parts) -> HttpAnswer {
        let host = request.headers.get(header::HOST);
        let host = host.map(|host| host.as_bytes().to_ascii_lowercase());
        let is_ours = |host: Vec<u8>| self.hosts.iter().any(|own| own.as_bytes() == host);
        if !host.is_some_and(is_ours) {
            let why = format!("this server is http://{}/ and nothing else", self.hosts[0]);
            HttpAnswer::refused(421, why)
        } else if request.method != Method::GET {
            HttpAnswer::refused(405, "only GET is answered")
        } else if self.is_for_data(request) && is_foreign(request) {
            HttpAnswer::refused(403, "only the page of this server receives data")
        } else {
            self.get(request.uri.path(), request.uri.query().unwrap_or(""))
        }
    }
}

impl ServerState {
    fn get(&self, path: &str, query: &str) -> HttpAnswer {
        if let Some(asset) = asset(path) {
            return HttpAnswer {
                status: 200,
                kind: asset.media_type(),
                body: Bytes::from_static((asset.text)().as_bytes()),
            };
        }
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let answer = match parts[..] {
            ["data", "results"] => {
                Query::read(query, &["results"]).map(|query| self.describe(query.get("results")))
            }
            ["data", "comparison"] => {
                Query::read(query, &["results"]).map(|query| self.compare(query.get("results")))
            }
            ["data", result, "bins"] => {
                Query::nothing(query).map(|()| Ok(HttpAnswer::slice(bins(self.folder(result)?))))
            }
            ["data", result, "verdict"] => {
                Query::nothing(query).map(|()| Ok(HttpAnswer::json(&verdict(self.folder(result)?))))
            }
            ["data", result, "table", name] => Query::read_rows(query, &["columns", "limit"]).map(|query| {
                self.table(result, name, |files, time| {
                    slice::cut(files, &query.columns()?, &query.rows(time)?)
                })
            }),
            ["data", result, "communication"] => Query::read_rows(query, &["ranks", "most"]).map(|query| {
                self.table(result, "messages", |files, time| {
                    communication(
                        files,
                        &query.rows(time)?,
                        query.small("ranks")?,
                        query.small("most")?,
                    )
                })
            }),
            ["data", result, "shares"] => Query::read_rows(query, &["sample", "of", "parts"]).map(|query| {
                self.table(result, "timeline", |files, time| {
                    let sample = RankSample::new(query.small("sample")?, query.small("of")?);
                    timeline::shares(files, &query.rows(time)?, sample, query.small("parts")?)
                })
            }),
            ["data", result, "timeline"] => Query::read_rows(query, &["pixel_ps", "every"]).map(|query| {
                self.table(result, "timeline", |files, time| {
                    let pixel_ps = query.number("pixel_ps")?.unwrap_or(0);
                    timeline::reduced(files, &query.rows(time)?, query.small("every")?, pixel_ps)
                })
            }),
            _ => return HttpAnswer::refused(404, "there is nothing here"),
        };
        match answer {
            Ok(answer) => answer.unwrap_or_else(|refused| refused),
            Err(why) => HttpAnswer::refused(400, why),
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
        let numbers = numbers.map_err(|why| HttpAnswer::refused(400, why))?;
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

    /// What differs between results.
    fn compare(&self, asked: Option<&str>) -> Result<HttpAnswer, HttpAnswer> {
        match self.shown(asked)? {
            Some(shown) => Ok(HttpAnswer::json(&comparison(&shown))),
            None => Err(HttpAnswer::refused(400, "no results are named")),
        }
    }

    fn table(
        &self,
        result: &str,
        name: &str,
        read: impl Fn(&[PathBuf], Option<(&'static str, &'static str)>) -> Result<Slice, SliceError>,
    ) -> Result<HttpAnswer, HttpAnswer> {
        match self.folder(result)?.table(name) {
            Some((files, known)) => Ok(HttpAnswer::slice(read(files, known.time))),
            None => Err(HttpAnswer::refused(404, "the result has no such table")),
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
