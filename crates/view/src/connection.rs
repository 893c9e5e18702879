//! Connections of clients, with bounds: on their number, on the time that they wait, and on answers in memory.
//!
//! An idle connection gives way to a new one if there are too many. An answer is sent in pieces, and a client that
//! takes no piece for some time is disconnected.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::Request;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

use crate::answer::HttpAnswer;

/// Maximum size of a request in bytes.
const LONGEST_REQUEST: usize = 16 * 1024;
/// Size of a piece of an answer in bytes.
const PIECE: usize = 64 * 1024;

/// Bounds of what clients take.
#[derive(Clone, Copy)]
pub(crate) struct ConnectionBounds {
    /// Time until a request is complete.
    request: Duration,
    /// Time in which a client takes no piece of its answer.
    piece: Duration,
    connections: usize,
    /// Answers with data in memory, being made or sent.
    answers: usize,
}

/// Browsers open connections before they need them, up to six for each page.
pub(crate) const BOUNDS: ConnectionBounds = ConnectionBounds {
    request: Duration::from_secs(60),
    piece: Duration::from_secs(20),
    connections: 128,
    answers: 4,
};

/// What the server does with requests.
pub(crate) trait RequestHandler: Send + Sync + 'static {
    fn answer(&self, request: &Parts) -> HttpAnswer;

    /// Whether the answer needs memory of its own.
    fn is_for_data(&self, request: &Parts) -> bool;
}

/// What a connection does.
#[derive(Clone, Copy)]
enum ConnectionStage {
    /// It waits for a request.
    Idle,
    /// The answer is being made.
    Working,
    /// The client has taken a piece of the answer at this time.
    Sending(Instant),
}

/// What a connection does, seen from outside of its task.
#[derive(Clone)]
struct Progress(Arc<Mutex<ConnectionStage>>);

impl Progress {
    fn set(&self, stage: ConnectionStage) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }

    fn get(&self) -> ConnectionStage {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends when the client has taken nothing of its answer for too long.
    async fn stalled(&self, patience: Duration) {
        loop {
            tokio::time::sleep(patience / 10).await;
            if let ConnectionStage::Sending(since) = self.get()
                && since.elapsed() > patience
            {
                return;
            }
        }
    }
}

/// The body of an answer. The bytes of its last piece may be in the socket when it ends.
pub(crate) struct AnswerBody {
    rest: Bytes,
    progress: Progress,
    /// Free when the answer has been sent.
    _place: Option<OwnedSemaphorePermit>,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        self.progress.set(ConnectionStage::Sending(Instant::now()));
        let size = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(size);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.progress.set(ConnectionStage::Idle);
    }
}

/// All connections.
pub(crate) struct Connections<R> {
    requests: Arc<R>,
    bounds: ConnectionBounds,
    answers: Arc<Semaphore>,
    /// The oldest first.
    open: Vec<(AbortHandle, Progress)>,
}

impl<R: RequestHandler> Connections<R> {
    pub fn new(requests: Arc<R>, bounds: ConnectionBounds) -> Connections<R> {
        Connections {
            requests,
            bounds,
            answers: Arc::new(Semaphore::new(bounds.answers)),
            open: Vec::new(),
        }
    }

    /// Answers the requests of a new connection. If there are too many, the oldest idle one is closed; if none is
    /// idle, the new one.
    pub fn converse(&mut self, stream: TcpStream) {
        self.open.retain(|(task, _)| !task.is_finished());
        if self.open.len() >= self.bounds.connections {
            let idle =
                |(_, progress): &(AbortHandle, Progress)| matches!(progress.get(), ConnectionStage::Idle);
            match self.open.iter().position(idle) {
                Some(oldest) => self.open.remove(oldest).0.abort(),
                None => return,
            }
        }
        let progress = Progress(Arc::new(Mutex::new(ConnectionStage::Idle)));
        let (requests, answers) = (self.requests.clone(), self.answers.clone());
        let task = answer_requests(stream, requests, answers, self.bounds, progress.clone());
        self.open.push((tokio::spawn(task).abort_handle(), progress));
    }
}

/// Answers the requests of a connection.
async fn answer_requests<R: RequestHandler>(
    stream: TcpStream,
    requests: Arc<R>,
    answers: Arc<Semaphore>,
    bounds: ConnectionBounds,
    progress: Progress,
) {
    let watched = progress.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (requests, answers, progress) = (requests.clone(), answers.clone(), progress.clone());
        async move {
            progress.set(ConnectionStage::Working);
            let request = request.into_parts().0;
            let place = match requests.is_for_data(&request) {
                true => answers.acquire_owned().await.ok(),
                false => None,
            };
            let answer = tokio::task::spawn_blocking(move || requests.answer(&request)).await;
            let answer = answer.unwrap_or_else(|error| HttpAnswer::refused(500, error));
            Ok::<_, Infallible>(answer.into_response(|rest| AnswerBody {
                rest,
                progress,
                _place: place,
            }))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.request)
        .max_buf_size(LONGEST_REQUEST)
        .serve_connection(TokioIo::new(stream), service);
    let (mut connection, mut stalled) = (pin!(connection), pin!(watched.stalled(bounds.piece)));
    poll_fn(|context| match connection.as_mut().poll(context) {
        // The client may disconnect at any time.
        Poll::Ready(_) => Poll::Ready(()),
        Poll::Pending => stalled.as_mut().poll(context),
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpStream as Client};

    use tokio::net::TcpListener;

    use super::*;

    /// Answers everything with so many bytes.
    struct Zeros(usize);

    impl RequestHandler for Zeros {
        fn answer(&self, _: &Parts) -> HttpAnswer {
            HttpAnswer::refused(200, "0".repeat(self.0))
        }

        fn is_for_data(&self, _: &Parts) -> bool {
            true
        }
    }

    /// A server, and its address.
    fn served(size: usize, bounds: ConnectionBounds) -> std::net::SocketAddr {
        let (told, address) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
                told.send(listener.local_addr().unwrap()).unwrap();
                let mut connections = Connections::new(Arc::new(Zeros(size)), bounds);
                while let Ok((stream, _)) = listener.accept().await {
                    connections.converse(stream);
                }
            });
        });
        address.recv().unwrap()
    }

    fn asks(address: std::net::SocketAddr) -> Client {
        let mut client = Client::connect(address).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        client
    }

    /// Whether a client receives the whole answer of so many bytes, and its header.
    fn is_answered(mut client: Client, size: usize) -> bool {
        let (mut received, mut buffer) = (0, vec![0; 65_536]);
        while received <= size {
            match client.read(&mut buffer) {
                Ok(0) | Err(_) => return false,
                Ok(read) => received += read,
            }
        }
        true
    }

    #[test]
    fn idle_connections_give_way_to_new_ones() {
        let address = served(
            10,
            ConnectionBounds {
                connections: 4,
                ..BOUNDS
            },
        );
        let idle: Vec<_> = (0..40).map(|_| Client::connect(address).unwrap()).collect();
        assert!(is_answered(asks(address), 10));
        // The oldest ones are closed: a read ends.
        let mut oldest = &idle[0];
        assert!(matches!(oldest.read(&mut [0]), Ok(0) | Err(_)));
    }

    #[test]
    fn answers_that_nobody_reads_are_dropped() {
        // More than the sockets of both sides hold.
        let size = 32 << 20;
        let bounds = ConnectionBounds {
            answers: 1,
            piece: Duration::from_millis(200),
            ..BOUNDS
        };
        let address = served(size, bounds);
        let unread = asks(address);
        assert!(
            is_answered(asks(address), size),
            "the first answer keeps its place"
        );
        assert!(!is_answered(unread, size));
    }
}
