//! Programs in Python as a [`Workload`]: a generator function that is called once per rank.
//!
//! Executors request operations from any thread, without the interpreter's lock. A program takes the lock for several
//! operations at a time. It may run ahead, because nothing in the simulation returns to a generator, unless the program
//! reads answers: then it takes one operation at a time, when the one before has ended.
//! `python/fabricsim/program.py` reads files and describes exceptions.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use config::Section;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::iterator::PySendResult;
use pyo3::types::{PyDict, PyIterator, PyList};
use workload::{Answer, Operation, Program, TraceError, Workload};

use crate::operation::{Declarations, Request, TakenMessage, Translation};
use crate::{error, json};

/// Operations that a program generates per acquisition of the interpreter's lock.
const AHEAD: usize = 32;

/// Maximum ranks of a program; the lists of its communicators fit into memory.
const MAX_RANKS: u32 = 1 << 24;

/// Reads the key `python` of a job's workload.
pub(crate) struct PythonInterpreter {
    /// Function objects by the path of their table.
    given: BTreeMap<String, FunctionArguments>,
}

/// A function object, its `communicators` function, its regions, and the file name in its table.
#[derive(FromPyObject)]
pub(crate) struct FunctionArguments(Py<PyAny>, Option<Py<PyAny>>, Vec<String>, String);

impl PythonInterpreter {
    /// For programs in files only.
    pub(crate) fn new() -> PythonInterpreter {
        PythonInterpreter::with(BTreeMap::new())
    }

    pub(crate) fn with(given: BTreeMap<String, FunctionArguments>) -> PythonInterpreter {
        PythonInterpreter { given }
    }
}

impl workload::Interpreter for PythonInterpreter {
    fn key(&self) -> &'static str {
        "python"
    }

    fn read(&self, section: &Section, folder: &Path) -> Result<Arc<dyn Workload>, config::Error> {
        let file: String = section.required("python")?;
        let function: String = section.or("function", "program".into())?;
        let ranks: u32 = section.required("ranks")?;
        if !(1..=MAX_RANKS).contains(&ranks) {
            let message = format!("{ranks} is out of range; expected 1 to {MAX_RANKS}");
            return Err(section.error("ranks", message));
        }
        // Results of programs without answers do not mention it.
        let reacts: Option<bool> = section.optional("reacts")?;
        let reacts = reacts.unwrap_or(false);
        let arguments = section.section("arguments")?.everything()?;
        Python::attach(|py| {
            let given = self.given.get(section.path());
            let source = match given.filter(|given| given.3 == file) {
                Some(FunctionArguments(function, communicators, regions, file)) => ProgramSource {
                    function: function.clone_ref(py),
                    communicators: communicators.as_ref().map(|c| c.clone_ref(py)),
                    regions: regions.clone(),
                    file: file.clone(),
                    reopens: false,
                },
                None => {
                    let path = folder.join(&file);
                    let file = path.display().to_string();
                    let module = support(py, "load", (&file,))
                        .map_err(|e| section.error("python", format!("{file}: {}", described(py, &e))))?;
                    let Ok(found) = module.getattr(&*function) else {
                        let known: Vec<String> = support(py, "functions", (&module,))
                            .and_then(|names| names.extract())
                            .unwrap_or_default();
                        let known = known.iter().map(String::as_str);
                        return Err(section.unknown_name("function", &function, known));
                    };
                    let regions = match module.getattr_opt("regions") {
                        Ok(Some(regions)) => regions.extract().map_err(|_| {
                            let message = format!("{file}: regions is no list of names");
                            section.error("python", message)
                        })?,
                        _ => Vec::new(),
                    };
                    ProgramSource {
                        function: found.unbind(),
                        communicators: module.getattr("communicators").ok().map(Bound::unbind),
                        regions,
                        file,
                        reopens: true,
                    }
                }
            };
            let file = source.file.clone();
            let wrong = |e: PyErr| {
                let key = if section.has("function") {
                    "function"
                } else {
                    "python"
                };
                section.error(key, format!("{file}: {}", described(py, &e)))
            };
            let arguments = support(py, "arguments", (json(&arguments),)).map_err(wrong)?;
            let arguments = arguments.cast_into().map_err(|e| wrong(e.into()))?;
            let programs = PythonWorkload::new(&source, ranks, &arguments, reacts).map_err(wrong)?;
            Ok(Arc::new(programs) as Arc<dyn Workload>)
        })
    }
}

/// Calls a function of `fabricsim.program`.
fn support<'py>(
    py: Python<'py>,
    function: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("fabricsim.program")?
        .getattr(format!("_{function}"))?
        .call1(arguments)
}

/// An exception in one line, with its location in the user's program.
fn described(py: Python<'_>, exception: &PyErr) -> String {
    let described = support(py, "described", (exception.value(py), exception.traceback(py)))
        .and_then(|text| text.extract());
    described.unwrap_or_else(|_| exception.to_string())
}

/// A program before it is called.
struct ProgramSource {
    function: Py<PyAny>,
    communicators: Option<Py<PyAny>>,
    regions: Vec<String>,
    file: String,
    reopens: bool,
}

/// The data that the programs of all ranks share.
struct SharedProgram {
    function: Py<PyAny>,
    arguments: Py<PyDict>,
    ranks: u32,
    declared: Declarations,
    file: String,
    /// Whether generators get answers.
    reacts: bool,
}

/// The programs of all ranks.
struct PythonWorkload {
    shared: Arc<SharedProgram>,
    reopens: bool,
}

impl PythonWorkload {
    /// Calls `communicators`, and starts the program of rank 0 once to report wrong arguments at once.
    fn new(
        source: &ProgramSource,
        ranks: u32,
        arguments: &Bound<'_, PyDict>,
        reacts: bool,
    ) -> PyResult<PythonWorkload> {
        let py = arguments.py();
        let asked = support(
            py,
            "communicators",
            (source.communicators.as_ref(), ranks, arguments),
        )?;
        let (names, lists): (Bound<'_, PyDict>, Vec<Vec<u32>>) = asked.extract()?;
        let members = std::iter::once((0..ranks).collect()).chain(lists).collect();
        support(py, "start", (&source.function, 0, ranks, arguments))?;
        let shared = SharedProgram {
            function: source.function.clone_ref(py),
            arguments: arguments.clone().unbind(),
            ranks,
            declared: Declarations {
                members,
                names: names.unbind(),
                made: PyDict::new(py).unbind(),
                regions: source.regions.clone().into(),
            },
            file: source.file.clone(),
            reacts,
        };
        Ok(PythonWorkload {
            shared: Arc::new(shared),
            reopens: source.reopens,
        })
    }
}

impl Workload for PythonWorkload {
    fn ranks(&self) -> u32 {
        self.shared.ranks
    }

    fn communicators(&self) -> Arc<[Vec<u32>]> {
        self.shared.declared.members.clone()
    }

    fn regions(&self) -> Arc<[String]> {
        self.shared.declared.regions.clone()
    }

    fn program(&self, rank: u32) -> Result<Box<dyn Program>, TraceError> {
        Ok(Box::new(RankProgram::new(self.shared.clone(), rank)))
    }

    fn reopens(&self) -> bool {
        self.reopens
    }

    fn reacts(&self) -> bool {
        self.shared.reacts
    }
}

/// The program of one rank.
struct RankProgram {
    shared: Arc<SharedProgram>,
    rank: u32,
    state: ProgramState,
    translation: Translation,
    /// Operations that were yielded and not requested yet.
    ready: VecDeque<Operation>,
    /// What the last operation brought, for a generator that gets answers.
    answer: Option<Answer>,
}

enum ProgramState {
    /// Not yet called.
    NotStarted,
    /// The generator, and the value that its next step receives.
    Running(Py<PyIterator>, Py<PyAny>),
    Ended(Result<(), TraceError>),
}

/// Why a program cannot continue, and the exception behind it.
struct ProgramFailure {
    message: String,
    exception: Option<PyErr>,
}

impl RankProgram {
    fn new(shared: Arc<SharedProgram>, rank: u32) -> RankProgram {
        RankProgram {
            shared,
            rank,
            state: ProgramState::NotStarted,
            translation: Translation::new(rank),
            ready: VecDeque::new(),
            answer: None,
        }
    }

    /// The answer for the generator; `None` without one.
    fn answered(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let Some(answer) = self.answer.take() else {
            return Ok(None);
        };
        let answer = GivenAnswer::new(py, &answer, &mut self.translation)?;
        Ok(Some(Py::new(py, answer)?.into_any()))
    }

    /// Runs the program until some operations are ready, or to its end.
    fn fill(&mut self, py: Python<'_>) -> Result<(), ProgramFailure> {
        let raised = |e: PyErr| ProgramFailure {
            message: described(py, &e),
            exception: Some(e),
        };
        // Also closes the requests that are complete.
        let answer = self.answered(py).map_err(raised)?;
        let (generator, mut given) = match &self.state {
            ProgramState::NotStarted => {
                let SharedProgram {
                    function,
                    arguments,
                    ranks,
                    ..
                } = &*self.shared;
                let started = support(py, "start", (function, self.rank, *ranks, arguments));
                let started = started.map_err(raised)?.cast_into::<PyIterator>();
                (started.map_err(|e| raised(e.into()))?, py.None().into_bound(py))
            }
            ProgramState::Running(generator, given) => {
                let (generator, given) = (generator.bind(py).clone(), given.bind(py).clone());
                let takes = given.is_none() && accepts_values(&generator).map_err(raised)?;
                match answer {
                    Some(answer) if takes => (generator, answer.into_bound(py)),
                    _ => (generator, given),
                }
            }
            ProgramState::Ended(_) => return Ok(()),
        };
        let ahead = if self.shared.reacts { 1 } else { AHEAD };
        while self.ready.len() < ahead {
            match generator.send(&given).map_err(raised)? {
                PySendResult::Return(_) => {
                    self.state = ProgramState::Ended(Ok(()));
                    return Ok(());
                }
                PySendResult::Next(yielded) => {
                    let declared = &self.shared.declared;
                    let done = self.translation.translate(&yielded, declared, &mut self.ready);
                    done.map_err(|message| {
                        let line = support(py, "line", (&generator,)).and_then(|l| l.extract());
                        let line: String = line.unwrap_or_default();
                        ProgramFailure {
                            message: format!("{line}{message}"),
                            exception: None,
                        }
                    })?;
                    given = match yielded.is_instance_of::<Request>()
                        && accepts_values(&generator).map_err(raised)?
                    {
                        true => yielded,
                        false => py.None().into_bound(py),
                    };
                }
            }
        }
        self.state = ProgramState::Running(generator.unbind(), given.unbind());
        Ok(())
    }

    fn error(&self, message: String) -> TraceError {
        TraceError {
            file: self.shared.file.clone(),
            rank: Some(self.rank),
            message,
        }
    }
}

impl Program for RankProgram {
    fn answer(&mut self, answer: Answer) {
        // One operation of the generator may stand for several, of which the last completes.
        if self.ready.is_empty() {
            self.answer = Some(answer);
        }
    }

    fn next(&mut self) -> Result<Option<Operation>, TraceError> {
        if self.ready.is_empty()
            && !matches!(self.state, ProgramState::Ended(_))
            && let Err(ProgramFailure { message, .. }) = Python::attach(|py| self.fill(py))
        {
            self.state = ProgramState::Ended(Err(self.error(message)));
        }
        match (self.ready.pop_front(), &self.state) {
            (Some(operation), _) => Ok(Some(operation)),
            (None, ProgramState::Ended(Err(error))) => Err(error.clone()),
            (None, _) => Ok(None),
        }
    }
}

/// What an operation has brought.
///
/// ``now``: time of the rank in seconds. ``flag``: whether a test or :func:`~fabricsim.mpi.iprobe` has found something.
/// ``completed``: what is complete, in this order.
#[pyclass(frozen, name = "Answer", module = "fabricsim._core")]
pub(crate) struct GivenAnswer {
    #[pyo3(get)]
    now: f64,
    #[pyo3(get)]
    flag: bool,
    #[pyo3(get)]
    completed: Py<PyList>,
}

/// A complete request, or the message of a receive or probe.
///
/// ``request``: None of a receive or probe without one. ``message``: what :func:`~fabricsim.mpi.mprobe` has taken; None
/// of others. ``source``, ``tag``, ``bytes``: of its message; None of sends, collectives and receives that were
/// cancelled.
#[pyclass(frozen, name = "Completed", module = "fabricsim._core")]
pub(crate) struct GivenCompleted {
    #[pyo3(get)]
    request: Option<Py<Request>>,
    #[pyo3(get)]
    message: Option<Py<TakenMessage>>,
    #[pyo3(get)]
    source: Option<u32>,
    #[pyo3(get)]
    tag: Option<u32>,
    #[pyo3(get)]
    bytes: Option<u64>,
}

impl GivenAnswer {
    fn new(py: Python<'_>, answer: &Answer, translation: &mut Translation) -> PyResult<GivenAnswer> {
        let completed = answer.completed.iter().map(|completed| {
            let message = completed.message;
            let taken = translation.taken_message();
            let completed = GivenCompleted {
                request: completed
                    .request
                    .and_then(|number| translation.completed(py, number)),
                message: taken.map(|taken| Py::new(py, taken)).transpose()?,
                source: message.map(|message| message.source),
                tag: message.map(|message| message.tag),
                bytes: message.map(|message| message.bytes),
            };
            Py::new(py, completed)
        });
        let completed = completed.collect::<PyResult<Vec<_>>>()?;
        Ok(GivenAnswer {
            now: answer.now_ps as f64 / 1e12,
            flag: answer.flag,
            completed: PyList::new(py, completed)?.unbind(),
        })
    }
}

/// Whether the generator accepts values; it does not while it yields from a list, for example.
fn accepts_values(generator: &Bound<'_, PyIterator>) -> PyResult<bool> {
    let py = generator.py();
    let mut innermost = generator.as_any().clone();
    while let Some(inner) = innermost.getattr_opt(intern!(py, "gi_yieldfrom"))? {
        if inner.is_none() {
            return Ok(true);
        }
        innermost = inner;
    }
    innermost.hasattr(intern!(py, "send"))
}

/// The operations of one rank as JSON, a list of tables; at most `limit`, if given.
#[pyfunction]
#[pyo3(signature = (given, rank, ranks, arguments, limit))]
pub(crate) fn program_operations(
    py: Python<'_>,
    given: FunctionArguments,
    rank: u32,
    ranks: u32,
    arguments: &Bound<'_, PyDict>,
    limit: Option<usize>,
) -> PyResult<String> {
    let FunctionArguments(function, communicators, regions, file) = given;
    let source = ProgramSource {
        function,
        communicators,
        regions,
        file,
        reopens: false,
    };
    let shared = PythonWorkload::new(&source, ranks, arguments, false)?.shared;
    let mut program = RankProgram::new(shared, rank);
    let mut all = Vec::new();
    while limit.is_none_or(|limit| all.len() < limit) {
        if program.ready.is_empty()
            && let Err(failure) = program.fill(py)
        {
            let message = program.error(failure.message).to_string();
            let raised = error::of_class(py, "ApplicationError", &message);
            raised.set_cause(py, failure.exception);
            return Err(raised);
        }
        let Some(operation) = program.ready.pop_front() else {
            break;
        };
        all.push(table(&operation));
    }
    Ok(json(&all))
}

/// An operation as one flat table, with MPI's names of calls.
fn table(operation: &Operation) -> serde_json::Value {
    let call = operation.call().map(workload::Call::name);
    let mut flat = serde_json::Map::new();
    if let Ok(serde_json::Value::Object(tagged)) = serde_json::to_value(operation) {
        for (kind, fields) in tagged {
            flat.insert("operation".into(), kind.to_lowercase().into());
            if let serde_json::Value::Object(fields) = fields {
                flat.extend(fields);
            }
        }
    }
    if let Some(call) = call {
        flat.insert("call".into(), call.into());
    }
    if let Operation::Collective { collective, .. } = operation {
        flat.insert("collective".into(), collective.name().into());
    }
    flat.into()
}
