//! The operations that Python programs yield, and their translation for the MPI layer.
//!
//! Creating an operation checks its numbers, so that the error names the line of the user's program. Yielding it
//! checks everything that depends on the rank and the communicator.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use workload::{Call, Collective, Counts, Takes, WORLD};

/// Largest tag: the maximum of a signed 32-bit integer.
const LAST_TAG: u64 = i32::MAX as u64;

/// Longest computation: 100 days, the limit of a job's start too.
const LONGEST_PS: u64 = 8_640_000_000_000_000_000;

/// An operation of a rank. The functions of ``fabricsim.mpi`` make it, and a program yields it.
#[pyclass(frozen, subclass, module = "fabricsim._core")]
pub(crate) struct Operation {
    what: OperationKind,
    call: Call,
    /// Name of the communicator; `None` for all ranks.
    communicator: Option<Py<PyAny>>,
}

/// A nonblocking operation. Yield it to start it, and wait for it later.
#[pyclass(frozen, extends = Operation, module = "fabricsim._core")]
pub(crate) struct Request;

/// A message that :func:`~fabricsim.mpi.mprobe` or :func:`~fabricsim.mpi.improbe` has taken, for
/// :func:`~fabricsim.mpi.mrecv` and :func:`~fabricsim.mpi.imrecv` of the same rank.
#[pyclass(frozen, name = "Message", module = "fabricsim._core")]
pub(crate) struct TakenMessage {
    rank: u32,
    number: u64,
}

enum OperationKind {
    Compute {
        ps: u64,
        region: Option<String>,
    },
    Send(MessageArguments),
    Receive(MessageArguments),
    SendReceive {
        send: MessageArguments,
        receive: MessageArguments,
    },
    Wait(Vec<Py<Request>>),
    /// Requests, which of them, and whether it waits.
    Select(Vec<Py<Request>>, Takes, bool),
    Probe(MessageArguments),
    Iprobe(MessageArguments),
    /// A message to take, and whether it waits for one.
    MatchedProbe(MessageArguments, bool),
    /// A message that was taken, and the bytes of the buffer.
    ReceiveMatched(Py<TakenMessage>, u64),
    Cancel(Py<Request>),
    /// Name and members of a new communicator.
    NewCommunicator(Py<PyAny>, Vec<u32>),
    Collective {
        collective: Collective,
        root: u32,
        contribution: CollectiveBytes,
    },
    Put(MessageArguments),
    Get(MessageArguments),
    Fence,
}

/// Peer, tag and size of a message; `None` matches any.
struct MessageArguments {
    peer: Option<u32>,
    tag: Option<u32>,
    bytes: u64,
}

/// Contribution of the ranks to a collective.
enum CollectiveBytes {
    /// Bytes of the operation, as the MPI layer counts them.
    Bytes(u64),
    /// Bytes for each rank of the communicator, of a vector that all ranks have.
    Block(u64),
    /// Bytes of each rank; the same list in all ranks.
    Parts(Vec<u64>),
    /// Bytes to and from each rank.
    Exchange { sends: Vec<u64>, receives: Vec<u64> },
}

/// A whole number from 0 to `most`.
fn whole(value: &Bound<'_, PyAny>, what: &str, most: u64) -> PyResult<u64> {
    match value.extract::<u64>() {
        Ok(number) if number <= most => Ok(number),
        _ if value.hasattr("__index__")? => Err(PyValueError::new_err(format!(
            "{what} is {value}; expected 0 to {most}"
        ))),
        _ => Err(PyTypeError::new_err(format!(
            "{what} is {}; expected a whole number",
            value.repr()?
        ))),
    }
}

fn rank(value: &Bound<'_, PyAny>, what: &str) -> PyResult<u32> {
    whole(value, what, u64::from(u32::MAX)).map(|rank| rank as u32)
}

fn tag(value: &Bound<'_, PyAny>) -> PyResult<u32> {
    whole(value, "tag", LAST_TAG).map(|tag| tag as u32)
}

/// A number of bytes, or a text such as `"64 KiB"`.
fn size(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    match value.cast::<PyString>() {
        Ok(text) => config::Bytes::parse(&text.to_cow()?)
            .map(|size| size.bytes)
            .map_err(PyValueError::new_err),
        Err(_) => whole(value, "bytes", i64::MAX as u64),
    }
}

fn sizes(values: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    values.try_iter()?.map(|value| size(&value?)).collect()
}

/// Seconds, or a text such as `"10 us"`.
fn span(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(text) = value.cast::<PyString>() {
        let time = config::Duration::parse(&text.to_cow()?).map_err(PyValueError::new_err)?;
        if time.ps <= LONGEST_PS {
            return Ok(time.ps);
        }
    } else {
        let seconds: f64 = value.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "time is {value}; expected seconds, or a text such as \"10 us\""
            ))
        })?;
        // Rounded here once; everything after it uses whole picoseconds.
        let ps = (seconds * 1e12).round();
        if (0.0..=LONGEST_PS as f64).contains(&ps) {
            return Ok(ps as u64);
        }
    }
    Err(PyValueError::new_err(format!(
        "time is {value}; expected 0 to 8640000 seconds (100 days)"
    )))
}

fn sent(
    dest: &Bound<'_, PyAny>,
    bytes: &Bound<'_, PyAny>,
    of: &Bound<'_, PyAny>,
) -> PyResult<MessageArguments> {
    Ok(MessageArguments {
        peer: Some(rank(dest, "dest")?),
        tag: Some(tag(of)?),
        bytes: size(bytes)?,
    })
}

fn received(
    source: Option<&Bound<'_, PyAny>>,
    bytes: &Bound<'_, PyAny>,
    of: Option<&Bound<'_, PyAny>>,
) -> PyResult<MessageArguments> {
    Ok(MessageArguments {
        peer: source.map(|source| rank(source, "source")).transpose()?,
        tag: of.map(tag).transpose()?,
        bytes: size(bytes)?,
    })
}

/// The call with this number in the list of all calls.
fn call_of(number: usize) -> PyResult<Call> {
    let call = Call::ALL.get(number).copied();
    call.ok_or_else(|| PyValueError::new_err(format!("there is no call {number}")))
}

impl Operation {
    /// The operation as a request.
    fn request(self, py: Python<'_>) -> PyResult<Py<Request>> {
        Py::new(py, PyClassInitializer::from(self).add_subclass(Request))
    }
}

#[pymethods]
impl Operation {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut inner = String::new();
        let mut say = |name: &str, value: &dyn std::fmt::Display| {
            let comma = if inner.is_empty() { "" } else { ", " };
            let _ = write!(inner, "{comma}{name}={value}");
        };
        match &self.what {
            OperationKind::Compute { ps, region } => {
                let region = region.as_ref().map(|name| format!(", region={name:?}"));
                let time = config::Duration { ps: *ps };
                return Ok(format!("compute(\"{time}\"{})", region.unwrap_or_default()));
            }
            OperationKind::Send(e) | OperationKind::Put(e) => {
                say("dest", &e.peer.unwrap_or_default());
                say("bytes", &e.bytes);
                if let Some(tag) = e.tag {
                    say("tag", &tag);
                }
            }
            OperationKind::Receive(e)
            | OperationKind::Probe(e)
            | OperationKind::Iprobe(e)
            | OperationKind::MatchedProbe(e, _)
            | OperationKind::Get(e) => {
                match e.peer {
                    Some(source) => say("source", &source),
                    None => say("source", &"ANY_SOURCE"),
                }
                if matches!(self.what, OperationKind::Receive(_) | OperationKind::Get(_)) {
                    say("bytes", &e.bytes);
                }
                if let Some(tag) = e.tag {
                    say("tag", &tag);
                }
            }
            OperationKind::SendReceive { send, receive } => {
                say("dest", &send.peer.unwrap_or_default());
                say("bytes", &send.bytes);
                if let Some(source) = receive.peer {
                    say("source", &source);
                }
                say("receive_bytes", &receive.bytes);
            }
            OperationKind::Wait(requests) | OperationKind::Select(requests, ..) => {
                let several = requests
                    .iter()
                    .map(|r| r.bind(py).as_super().get().__repr__(py))
                    .collect::<PyResult<Vec<_>>>()?;
                say("requests", &format!("[{}]", several.join(", ")));
            }
            OperationKind::Collective {
                root, contribution, ..
            } => {
                match contribution {
                    CollectiveBytes::Bytes(bytes) | CollectiveBytes::Block(bytes) => say("bytes", bytes),
                    CollectiveBytes::Parts(parts) => say("counts", &format!("{parts:?}")),
                    CollectiveBytes::Exchange { sends, receives } => {
                        say("sends", &format!("{sends:?}"));
                        say("receives", &format!("{receives:?}"));
                    }
                }
                if *root > 0 {
                    say("root", root);
                }
            }
            OperationKind::ReceiveMatched(message, bytes) => {
                say("source", &message.bind(py).repr()?);
                say("bytes", bytes);
            }
            OperationKind::Cancel(request) => {
                say("request", &request.bind(py).as_super().get().__repr__(py)?);
            }
            OperationKind::NewCommunicator(name, members) => {
                say("name", &name.bind(py).repr()?);
                say("members", &format!("{members:?}"));
            }
            OperationKind::Fence => {}
        }
        if let Some(name) = &self.communicator {
            say("communicator", &name.bind(py).repr()?);
        }
        Ok(format!("{}({inner})", self.call.name()))
    }
}

/// The number of a call such as ``MPI_Send``.
#[pyfunction]
pub(crate) fn call_number(name: &str) -> PyResult<usize> {
    let number = Call::ALL.iter().position(|call| call.name() == name);
    number.ok_or_else(|| PyValueError::new_err(format!("there is no call {name}")))
}

#[pyfunction]
pub(crate) fn compute(time: &Bound<'_, PyAny>, region: Option<String>) -> PyResult<Operation> {
    let ps = span(time)?;
    Ok(Operation {
        what: OperationKind::Compute { ps, region },
        call: Call::Other,
        communicator: None,
    })
}

#[pyfunction]
pub(crate) fn send(
    call: usize,
    dest: &Bound<'_, PyAny>,
    bytes: &Bound<'_, PyAny>,
    tag: &Bound<'_, PyAny>,
    communicator: Option<Py<PyAny>>,
) -> PyResult<Operation> {
    Ok(Operation {
        what: OperationKind::Send(sent(dest, bytes, tag)?),
        call: call_of(call)?,
        communicator,
    })
}

#[pyfunction]
pub(crate) fn begin_send(
    py: Python<'_>,
    call: usize,
    dest: &Bound<'_, PyAny>,
    bytes: &Bound<'_, PyAny>,
    tag: &Bound<'_, PyAny>,
    communicator: Option<Py<PyAny>>,
) -> PyResult<Py<Request>> {
    send(call, dest, bytes, tag, communicator)?.request(py)
}

#[pyfunction]
pub(crate) fn receive(
    call: usize,
    source: Option<&Bound<'_, PyAny>>,
    bytes: &Bound<'_, PyAny>,
    tag: Option<&Bound<'_, PyAny>>,
    communicator: Option<Py<PyAny>>,
) -> PyResult<Operation> {
    Ok(Operation {
        what: OperationKind::Receive(received(source, bytes, tag)?),
        call: call_of(call)?,
        communicator,
    })
}

#[pyfunction]
pub(crate) fn begin_receive(
    py: Python<'_>,
    call: usize,
    source: Option<&Bound<'_, PyAny>>,
    bytes: &Bound<'_, PyAny>,
    tag: Option<&Bound<'_, PyAny>>,
    communicator: Option<Py<PyAny>>,
) -> PyResult<Py<Request>> {
    receive(call, source, bytes, tag, communicator)?.request(py)
}

/// `MPI_Probe`, or another call that looks for a message and goes on.
#[pyfunction]
pub(crate) fn probe(
    py: Python<'_>,
    call: usize,
    source: Option<&Bound<'_, PyAny>>,
    tag: Option<&Bound<'_, PyAny>>,
    communicator: Option<Py<PyAny>>,
) -> PyResult<Operation> {
    let nothing = 0u32.into_pyobject(py)?;
    let (call, message) = (call_of(call)?, received(source, nothing.as_any(), tag)?);
    Ok(Operation {
        what: match call {
            Call::Probe => OperationKind::Probe(message),
            Call::Mprobe => OperationKind::MatchedProbe(message, true),
            Call::Improbe => OperationKind::MatchedProbe(message, false),
            _ => OperationKind::Iprobe(message),
        },
        call,
        communicator,
    })
}

/// `MPI_Mrecv`.
#[pyfunction]
pub(crate) fn receive_matched(message: Py<TakenMessage>, bytes: &Bound<'_, PyAny>) -> PyResult<Operation> {
    Ok(Operation {
        what: OperationKind::ReceiveMatched(message, size(bytes)?),
        call: Call::Mrecv,
        communicator: None,
    })
}

/// `MPI_Imrecv`.
#[pyfunction]
pub(crate) fn begin_receive_matched(
    py: Python<'_>,
    message: Py<TakenMessage>,
    bytes: &Bound<'_, PyAny>,
) -> PyResult<Py<Request>> {
    let receive = receive_matched(message, bytes)?;
    let call = Call::Imrecv;
    Operation { call, ..receive }.request(py)
}

#[pyfunction]
pub(crate) fn cancel(request: Py<Request>) -> Operation {
    Operation {
        what: OperationKind::Cancel(request),
        call: Call::Cancel,
        communicator: None,
    }
}

/// Makes a communicator of these ranks of the job.
#[pyfunction]
pub(crate) fn new_communicator(name: Py<PyAny>, members: &Bound<'_, PyAny>) -> PyResult<Operation> {
    let members = members.try_iter()?.map(|member| rank(&member?, "member"));
    Ok(Operation {
        what: OperationKind::NewCommunicator(name, members.collect::<PyResult<_>>()?),
        call: Call::CommCreate,
        communicator: None,
    })
}

type Object<'py> = Bound<'py, PyAny>;

/// `send` and `receive` are tuples of peer, bytes and tag.
#[pyfunction]
pub(crate) fn send_receive<'py>(
    send: (Object<'py>, Object<'py>, Object<'py>),
    receive: (Option<Object<'py>>, Object<'py>, Option<Object<'py>>),
    communicator: Option<Py<PyAny>>,
) -> PyResult<Operation> {
    let send = sent(&send.0, &send.1, &send.2)?;
    let receive = received(receive.0.as_ref(), &receive.1, receive.2.as_ref())?;
    Ok(Operation {
        what: OperationKind::SendReceive { send, receive },
        call: Call::Sendrecv,
        communicator,
    })
}

#[pyfunction]
pub(crate) fn wait(call: usize, requests: &Bound<'_, PyAny>) -> PyResult<Operation> {
    let several = list_of(requests)?;
    let call = call_of(call)?;
    let what = match call {
        Call::Waitany => OperationKind::Select(several, Takes::First, true),
        Call::Waitsome => OperationKind::Select(several, Takes::Complete, true),
        Call::Test | Call::Testall => OperationKind::Select(several, Takes::All, false),
        Call::Testany => OperationKind::Select(several, Takes::First, false),
        Call::Testsome => OperationKind::Select(several, Takes::Complete, false),
        _ => OperationKind::Wait(several),
    };
    Ok(Operation {
        what,
        call,
        communicator: None,
    })
}

/// A list of requests.
fn list_of(requests: &Bound<'_, PyAny>) -> PyResult<Vec<Py<Request>>> {
    let mut several = Vec::new();
    for request in requests.try_iter()? {
        let request = request?;
        let request = request.cast::<Request>().map_err(|_| {
            PyTypeError::new_err(format!(
                "found {}; expected a request, which isend, irecv, iallreduce, ... return",
                described(&request)
            ))
        })?;
        several.push(request.clone().unbind());
    }
    Ok(several)
}

fn collective_with(
    call: Call,
    root: u32,
    contribution: CollectiveBytes,
    communicator: Option<Py<PyAny>>,
) -> PyResult<Operation> {
    use Call::*;
    let collective = match call {
        Barrier | Ibarrier => Collective::Barrier,
        Bcast | Ibcast => Collective::Bcast,
        Reduce | Ireduce => Collective::Reduce,
        Allreduce | Iallreduce => Collective::Allreduce,
        Allgather | Iallgather | Allgatherv | Iallgatherv => Collective::Allgather,
        Alltoall | Ialltoall | Alltoallv | Ialltoallv => Collective::Alltoall,
        Gather | Igather | Gatherv | Igatherv => Collective::Gather,
        Scatter | Iscatter | Scatterv | Iscatterv => Collective::Scatter,
        ReduceScatter | IreduceScatter | ReduceScatterBlock | IreduceScatterBlock => {
            Collective::ReduceScatter
        }
        Scan | Iscan => Collective::Scan,
        Exscan | Iexscan => Collective::Exscan,
        other => {
            let message = format!("{} is no collective", other.name());
            return Err(PyValueError::new_err(message));
        }
    };
    Ok(Operation {
        what: OperationKind::Collective {
            collective,
            root,
            contribution,
        },
        call,
        communicator,
    })
}

/// A collective with the same contribution of all ranks.
#[pyfunction]
pub(crate) fn collective(
    call: usize,
    bytes: &Bound<'_, PyAny>,
    root: &Bound<'_, PyAny>,
    communicator: Option<Py<PyAny>>,
) -> PyResult<Operation> {
    let (call, bytes) = (call_of(call)?, size(bytes)?);
    let contribution = match call {
        Call::ReduceScatterBlock | Call::IreduceScatterBlock => CollectiveBytes::Block(bytes),
        _ => CollectiveBytes::Bytes(bytes),
    };
    collective_with(call, rank(root, "root")?, contribution, communicator)
}

#[pyfunction]
pub(crate) fn begin_collective(
    py: Python<'_>,
    call: usize,
    bytes: &Bound<'_, PyAny>,
    root: &Bound<'_, PyAny>,
    communicator: Option<Py<PyAny>>,
) -> PyResult<Py<Request>> {
    collective(call, bytes, root, communicator)?.request(py)
}

/// A collective with a contribution of a different size for each rank.
#[pyfunction]
pub(crate) fn collective_of_parts(
    call: usize,
    counts: &Bound<'_, PyAny>,
    root: &Bound<'_, PyAny>,
    communicator: Option<Py<PyAny>>,
) -> PyResult<Operation> {
    let contribution = CollectiveBytes::Parts(sizes(counts)?);
    collective_with(call_of(call)?, rank(root, "root")?, contribution, communicator)
}

#[pyfunction]
pub(crate) fn begin_collective_of_parts(
    py: Python<'_>,
    call: usize,
    counts: &Bound<'_, PyAny>,
    root: &Bound<'_, PyAny>,
    communicator: Option<Py<PyAny>>,
) -> PyResult<Py<Request>> {
    collective_of_parts(call, counts, root, communicator)?.request(py)
}

/// An all-to-all with a different size for each pair.
#[pyfunction]
pub(crate) fn exchange(
    call: usize,
    sends: &Bound<'_, PyAny>,
    receives: &Bound<'_, PyAny>,
    communicator: Option<Py<PyAny>>,
) -> PyResult<Operation> {
    let contribution = CollectiveBytes::Exchange {
        sends: sizes(sends)?,
        receives: sizes(receives)?,
    };
    collective_with(call_of(call)?, 0, contribution, communicator)
}

#[pyfunction]
pub(crate) fn begin_exchange(
    py: Python<'_>,
    call: usize,
    sends: &Bound<'_, PyAny>,
    receives: &Bound<'_, PyAny>,
    communicator: Option<Py<PyAny>>,
) -> PyResult<Py<Request>> {
    exchange(call, sends, receives, communicator)?.request(py)
}

/// A put, a get, or a fence. A fence ignores peer and bytes.
#[pyfunction]
pub(crate) fn one_sided(
    call: usize,
    peer: &Bound<'_, PyAny>,
    bytes: &Bound<'_, PyAny>,
    communicator: Option<Py<PyAny>>,
) -> PyResult<Operation> {
    let call = call_of(call)?;
    let message = |name: &str| -> PyResult<MessageArguments> {
        Ok(MessageArguments {
            peer: Some(rank(peer, name)?),
            tag: None,
            bytes: size(bytes)?,
        })
    };
    let what = match call {
        Call::Put => OperationKind::Put(message("dest")?),
        Call::Get => OperationKind::Get(message("source")?),
        _ => OperationKind::Fence,
    };
    Ok(Operation {
        what,
        call,
        communicator,
    })
}

/// Declarations of a program before it runs.
pub(crate) struct Declarations {
    /// Members of each communicator, by index.
    pub(crate) members: Arc<[Vec<u32>]>,
    /// Indices of communicators, by name.
    pub(crate) names: Py<PyDict>,
    /// Numbers of the communicators that ranks have made while they run, by name and members.
    pub(crate) made: Py<PyDict>,
    /// Names of the code regions of computations.
    pub(crate) regions: Arc<[String]>,
}

/// Translates the operations of one rank for the MPI layer.
pub(crate) struct Translation {
    rank: u32,
    /// Position of this rank in the communicators that it has used.
    positions: BTreeMap<u32, u32>,
    /// Size of the communicators that this rank has made, by number, and their numbers by name.
    made: BTreeMap<u32, u64>,
    made_names: Option<Py<PyDict>>,
    /// Numbers of the messages that it has taken and not received.
    taken: BTreeSet<u64>,
    /// Number of the message that the last operation takes.
    takes: Option<u64>,
    /// Open requests by address. Each is kept alive here, so that its address stays unique.
    open: BTreeMap<usize, (u64, Py<Request>)>,
    /// Number of the next request.
    next: u64,
    /// Requests that the last operation waits for, by number.
    awaited: Vec<(u64, Py<Request>)>,
}

impl Translation {
    pub(crate) fn new(rank: u32) -> Translation {
        Translation {
            rank,
            positions: BTreeMap::new(),
            made: BTreeMap::new(),
            made_names: None,
            taken: BTreeSet::new(),
            takes: None,
            open: BTreeMap::new(),
            next: 0,
            awaited: Vec::new(),
        }
    }

    /// Appends the operations that `yielded` stands for. The error says what is wrong with it.
    pub(crate) fn translate(
        &mut self,
        yielded: &Bound<'_, PyAny>,
        declared: &Declarations,
        out: &mut VecDeque<workload::Operation>,
    ) -> Result<(), String> {
        let Ok(operation) = yielded.cast::<Operation>() else {
            return Err(format!(
                "yields {}; expected an operation, which the functions of fabricsim.mpi make",
                described(yielded)
            ));
        };
        self.awaited.clear();
        self.takes = None;
        let py = yielded.py();
        let operation = operation.get();
        let call = operation.call;
        let communicator = self.communicator(py, operation, declared)?;
        let members = match declared.members.get(communicator as usize) {
            Some(members) => members.len() as u64,
            None => self.made.get(&communicator).copied().unwrap_or_default(),
        };
        let peer = |what: &str, peer: u32| match u64::from(peer) < members {
            true => Ok(peer),
            false => Err(format!(
                "{}: {what} is {peer}; {} has the ranks 0 to {}",
                call.name(),
                named(py, operation),
                members - 1
            )),
        };
        let request = match yielded.cast::<Request>() {
            Ok(request) => Some(self.begin(call, request)?),
            Err(_) => None,
        };
        match &operation.what {
            OperationKind::Compute { ps, region } => {
                let index = |name: &String| {
                    let index = declared.regions.iter().position(|region| region == name);
                    let known = &declared.regions;
                    index
                        .map(|index| index as u32)
                        .ok_or_else(|| format!("compute: there is no region {name:?}; there are {known:?}"))
                };
                out.push_back(workload::Operation::Compute {
                    ps: *ps,
                    region: region.as_ref().map(index).transpose()?,
                });
            }
            OperationKind::Send(e) => {
                let to = peer("dest", e.peer.unwrap_or_default())?;
                out.push_back(e.send(to, communicator, request, call));
            }
            OperationKind::Receive(e) => {
                let from = e.peer.map(|from| peer("source", from)).transpose()?;
                out.push_back(e.receive(from, communicator, request, call));
            }
            OperationKind::SendReceive { send, receive } => {
                let to = peer("dest", send.peer.unwrap_or_default())?;
                let from = receive.peer.map(|from| peer("source", from)).transpose()?;
                let (sending, receiving) = (self.number(), self.number());
                out.push_back(receive.receive(from, communicator, Some(receiving), call));
                out.push_back(send.send(to, communicator, Some(sending), call));
                out.push_back(workload::Operation::Wait {
                    requests: vec![sending, receiving],
                    call,
                });
            }
            OperationKind::Wait(requests) => {
                let requests = requests
                    .iter()
                    .map(|request| self.end(py, call, request))
                    .collect::<Result<_, _>>()?;
                out.push_back(workload::Operation::Wait { requests, call });
            }
            OperationKind::Select(requests, takes, blocks) => {
                let requests = requests
                    .iter()
                    .map(|request| self.active(py, call, request))
                    .collect::<Result<_, _>>()?;
                out.push_back(workload::Operation::Select {
                    requests,
                    takes: *takes,
                    blocks: *blocks,
                    call,
                });
            }
            OperationKind::Iprobe(e) => out.push_back(workload::Operation::Iprobe {
                from: e.peer.map(|from| peer("source", from)).transpose()?,
                tag: e.tag,
                communicator,
                call,
            }),
            OperationKind::MatchedProbe(e, blocks) => {
                let message = self.number();
                self.takes = Some(message);
                out.push_back(workload::Operation::MatchedProbe {
                    from: e.peer.map(|from| peer("source", from)).transpose()?,
                    tag: e.tag,
                    communicator,
                    message,
                    blocks: *blocks,
                    call,
                });
            }
            OperationKind::ReceiveMatched(message, bytes) => {
                let &TakenMessage { rank, number } = message.get();
                if rank != self.rank {
                    return Err(format!(
                        "{}: rank {rank} has taken this message; expected one that this rank has taken",
                        call.name()
                    ));
                }
                if !self.taken.remove(&number) {
                    return Err(format!("{}: this message was received before", call.name()));
                }
                out.push_back(workload::Operation::ReceiveMatched {
                    message: number,
                    bytes: *bytes,
                    request,
                    call,
                });
            }
            OperationKind::Cancel(request) => {
                let request = self.active(py, call, request)?;
                out.push_back(workload::Operation::Cancel { request, call });
            }
            OperationKind::NewCommunicator(name, members) => {
                let communicator = self.new_communicator(py, (call, name, members), declared)?;
                out.push_back(workload::Operation::NewCommunicator {
                    communicator,
                    members: members.clone(),
                    call,
                });
            }
            OperationKind::Probe(e) => out.push_back(workload::Operation::Probe {
                from: e.peer.map(|from| peer("source", from)).transpose()?,
                tag: e.tag,
                communicator,
                call,
            }),
            OperationKind::Collective {
                collective,
                root,
                contribution,
            } => {
                let root = peer("root", *root)?;
                let mine = self.positions.get(&communicator).copied().unwrap_or(self.rank);
                let (bytes, counts) = contribution
                    .of(*collective, mine, root, members)
                    .map_err(|message| format!("{}: {message}", call.name()))?;
                out.push_back(workload::Operation::Collective {
                    collective: *collective,
                    communicator,
                    root,
                    bytes,
                    counts: counts.map(Box::new),
                    request,
                    reduction: None,
                    call,
                });
            }
            OperationKind::Put(e) => out.push_back(workload::Operation::Put {
                to: peer("dest", e.peer.unwrap_or_default())?,
                communicator,
                bytes: e.bytes,
                call,
            }),
            OperationKind::Get(e) => out.push_back(workload::Operation::Get {
                from: peer("source", e.peer.unwrap_or_default())?,
                communicator,
                bytes: e.bytes,
                call,
            }),
            OperationKind::Fence => out.push_back(workload::Operation::Fence { communicator, call }),
        }
        Ok(())
    }

    /// The communicator of an operation; this rank must be a member.
    fn communicator(
        &mut self,
        py: Python<'_>,
        operation: &Operation,
        declared: &Declarations,
    ) -> Result<u32, String> {
        let Some(name) = &operation.communicator else {
            return Ok(WORLD);
        };
        let (call, names) = (operation.call.name(), declared.names.bind(py));
        let index = match names.get_item(name.bind(py)) {
            Ok(Some(index)) => index.extract::<u32>().map_err(|e| e.to_string())?,
            Ok(None) => {
                let made = self.made_names.as_ref();
                let made = made.and_then(|made| made.bind(py).get_item(name.bind(py)).ok().flatten());
                if let Some(number) = made.and_then(|number| number.extract().ok()) {
                    return Ok(number);
                }
                return Err(format!(
                    "{call}: there is no {}; there are {}",
                    named(py, operation),
                    names.keys()
                ));
            }
            Err(unhashable) => return Err(format!("{call}: communicator: {}", unhashable.value(py))),
        };
        if !self.positions.contains_key(&index) {
            let mut members = declared.members[index as usize].iter();
            let Some(position) = members.position(|member| *member == self.rank) else {
                let of = named(py, operation);
                return Err(format!("{call}: this rank is not a member of {of}"));
            };
            self.positions.insert(index, position as u32);
        }
        Ok(index)
    }

    /// The number of a communicator that this rank makes. All that give its name and members get the same one.
    fn new_communicator(
        &mut self,
        py: Python<'_>,
        (call, name, members): (Call, &Py<PyAny>, &[u32]),
        declared: &Declarations,
    ) -> Result<u32, String> {
        let (call, name) = (call.name(), name.bind(py));
        let wrong = |e: PyErr| format!("{call}: communicator: {}", e.value(py));
        let shown = || described(name);
        if name.is_none() || declared.names.bind(py).contains(name).map_err(wrong)? {
            return Err(format!(
                "{call}: the name of the new communicator is {}, which the program has from the start",
                shown()
            ));
        }
        let Some(position) = members.iter().position(|member| *member == self.rank) else {
            return Err(format!(
                "{call}: this rank is not among the members {members:?} of {}",
                shown()
            ));
        };
        let made = declared.made.bind(py);
        let key = (name, PyTuple::new(py, members).map_err(wrong)?);
        let number = match made.get_item(&key).map_err(wrong)? {
            Some(number) => number.extract::<u32>().map_err(wrong)?,
            None => {
                let number = (declared.members.len() + made.len()) as u32;
                made.set_item(&key, number).map_err(wrong)?;
                number
            }
        };
        let names = self.made_names.get_or_insert_with(|| PyDict::new(py).unbind());
        names.bind(py).set_item(name, number).map_err(wrong)?;
        self.positions.insert(number, position as u32);
        self.made.insert(number, members.len() as u64);
        Ok(number)
    }

    /// The message that the last operation has taken.
    pub(crate) fn taken_message(&mut self) -> Option<TakenMessage> {
        let number = self.takes.take()?;
        self.taken.insert(number);
        Some(TakenMessage {
            rank: self.rank,
            number,
        })
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn begin(&mut self, call: Call, request: &Bound<'_, Request>) -> Result<u64, String> {
        let address = request.as_ptr() as usize;
        if self.open.contains_key(&address) {
            let name = call.name();
            return Err(format!(
                "{name}: this request is already active; wait for it before yielding it again"
            ));
        }
        let number = self.number();
        self.open.insert(address, (number, request.clone().unbind()));
        Ok(number)
    }

    /// Ends a request. The last operation has it, for its answer.
    fn end(&mut self, py: Python<'_>, call: Call, request: &Py<Request>) -> Result<u64, String> {
        let number = self.active(py, call, request)?;
        self.open.remove(&(request.as_ptr() as usize));
        self.awaited.push((number, request.clone_ref(py)));
        Ok(number)
    }

    /// The request with this number that the last operation has completed, if the program knows it.
    pub(crate) fn completed(&mut self, py: Python<'_>, number: u64) -> Option<Py<Request>> {
        if let Some((_, request)) = self.awaited.iter().find(|(awaited, _)| *awaited == number) {
            return Some(request.clone_ref(py));
        }
        let found = self.open.iter().find(|(_, (open, _))| *open == number);
        let address = *found?.0;
        self.open.remove(&address).map(|(_, request)| request)
    }

    /// The number of a request that is open.
    fn active(&self, py: Python<'_>, call: Call, request: &Py<Request>) -> Result<u64, String> {
        match self.open.get(&(request.as_ptr() as usize)) {
            Some((number, _)) => Ok(*number),
            None => {
                let repr = request.bind(py).as_super().get().__repr__(py);
                Err(format!(
                    "{}: {} is not active: it was not yielded, or was waited for before",
                    call.name(),
                    repr.unwrap_or_default()
                ))
            }
        }
    }
}

impl MessageArguments {
    fn send(&self, to: u32, communicator: u32, request: Option<u64>, call: Call) -> workload::Operation {
        workload::Operation::Send {
            to,
            tag: self.tag.unwrap_or_default(),
            communicator,
            bytes: self.bytes,
            request,
            call,
        }
    }

    fn receive(
        &self,
        from: Option<u32>,
        communicator: u32,
        request: Option<u64>,
        call: Call,
    ) -> workload::Operation {
        workload::Operation::Receive {
            from,
            tag: self.tag,
            communicator,
            bytes: self.bytes,
            request,
            call,
        }
    }
}

impl CollectiveBytes {
    /// Bytes and counts of the operation, for rank `mine` of a communicator with `ranks` ranks.
    fn of(
        &self,
        collective: Collective,
        mine: u32,
        root: u32,
        ranks: u64,
    ) -> Result<(u64, Option<Counts>), String> {
        let check = |name: &str, list: &[u64]| match list.len() as u64 == ranks {
            true => Ok(()),
            false => Err(format!("{name} has {} entries for {ranks} ranks", list.len())),
        };
        let total = |list: &[u64]| {
            let sum = list.iter().try_fold(0u64, |sum, bytes| sum.checked_add(*bytes));
            sum.ok_or("these are more than 2^64 bytes")
        };
        Ok(match self {
            CollectiveBytes::Bytes(bytes) => (*bytes, None),
            CollectiveBytes::Block(bytes) => {
                let whole = bytes.checked_mul(ranks);
                (whole.ok_or("these are more than 2^64 bytes")?, None)
            }
            CollectiveBytes::Parts(parts) => {
                check("counts", parts)?;
                let own = parts[mine as usize];
                let at_root = |list: &[u64]| if mine == root { list.to_vec() } else { Vec::new() };
                let whole = total(parts)?;
                let mean = whole.div_ceil(ranks);
                let counts = |sends, receives| Some(Counts::new(sends, receives));
                match collective {
                    Collective::ReduceScatter => (whole, counts(Vec::new(), parts.clone())),
                    Collective::Gather => (mean, counts(vec![own], at_root(parts))),
                    Collective::Scatter => (mean, counts(at_root(parts), vec![own])),
                    _ => (mean, counts(vec![own], parts.clone())),
                }
            }
            CollectiveBytes::Exchange { sends, receives } => {
                check("sends", sends)?;
                check("receives", receives)?;
                total(receives)?;
                let counts = Counts {
                    sends: sends.clone(),
                    receives: receives.clone(),
                    ..Counts::default()
                };
                (total(sends)?.div_ceil(ranks), Some(counts))
            }
        })
    }
}

/// An object as messages describe it: its type, and its text if that is short.
fn described(object: &Bound<'_, PyAny>) -> String {
    let kind = object.get_type().name().map(|name| name.to_string());
    let kind = kind.unwrap_or_else(|_| "object".into());
    match object.repr() {
        _ if object.is_none() => "None".into(),
        // The default text is an address.
        Ok(repr) if !repr.to_string().starts_with('<') && repr.to_string().len() <= 60 => {
            format!("the {kind} {repr}")
        }
        _ => format!("an object of type {kind}"),
    }
}

/// The communicator of an operation, as messages name it.
fn named(py: Python<'_>, operation: &Operation) -> String {
    match &operation.communicator {
        None => "the job".into(),
        Some(name) => match name.bind(py).repr() {
            Ok(repr) => format!("communicator {repr}"),
            Err(_) => "this communicator".into(),
        },
    }
}
