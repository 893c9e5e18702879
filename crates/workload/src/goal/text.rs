//! GOAL schedules as text.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: calc 1500 cpu 0
//! l2: send 10b to 1 tag 5 cpu 0 nic 0
//! l2 requires l1
//! }
//! ```
//!
//! The grammar is that of `txt2bin` (<https://github.com/spcl/LogGOPSim>), with two extensions: ranks may come
//! in any order, and a dependency may name a later operation. A duplicate label, of which `txt2bin` takes the
//! first, is an error.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::balance::MessageCounts;
use super::graph::{ANY, DependencyList, GoalBlock, GoalNode, NodeKind};
use super::program::check;
use crate::TraceError;

/// Position of a rank's operations.
#[derive(Clone, Copy, Debug)]
pub struct TextPosition {
    /// First byte after the brace.
    offset: u64,
    /// Line of the brace.
    line: u64,
}

/// Whether a file with these first bytes is a text schedule.
pub fn recognise(head: &[u8]) -> bool {
    let mut rest = head.trim_ascii_start();
    loop {
        let end: &[u8] = match rest {
            [b'/', b'/', ..] => b"\n",
            [b'/', b'*', ..] => b"*/",
            _ => return rest.starts_with(b"num_ranks"),
        };
        match rest.windows(end.len()).position(|w| w == end) {
            Some(at) => rest = rest[at + end.len()..].trim_ascii_start(),
            // The comment is longer than the inspected bytes.
            None => return head.len() >= 256,
        }
    }
}

/// Finds the ranks of a schedule and checks all of them, one at a time in memory.
///
/// # Errors
/// The first error, with file, line and rank.
pub fn index(file: &Path) -> Result<Vec<TextPosition>, TraceError> {
    let mut parser = Parser::open(file, TextPosition { offset: 0, line: 1 })?;
    let ranks = parser.header()?;
    let mut places: BTreeMap<u32, TextPosition> = BTreeMap::new();
    let mut balance = MessageCounts::default();
    while let Some((rank, place)) = parser.rank(ranks)? {
        if let Some(first) = places.insert(rank, place) {
            let line = first.line;
            return Err(parser.error(format!(
                "rank {rank} is a duplicate; the first one is in line {line}"
            )));
        }
        parser.rank = Some(rank);
        let schedule = parser.schedule(ranks)?;
        schedule.nodes.iter().for_each(|node| balance.count(rank, *node));
        parser.rank = None;
    }
    for rank in 0..ranks {
        if !places.contains_key(&rank) {
            return Err(parser.fault(Some(rank), format!("is missing; expected {ranks} ranks, from 0")));
        }
    }
    balance
        .check()
        .map_err(|(rank, message)| parser.fault(Some(rank), message))?;
    Ok(places.into_values().collect())
}

/// Reads the schedule of a rank that [`index`] found.
///
/// # Errors
/// The file cannot be read, or has changed.
pub fn block(file: &Path, rank: u32, ranks: u32, place: TextPosition) -> Result<GoalBlock, TraceError> {
    let mut parser = Parser::open(file, place)?;
    parser.rank = Some(rank);
    let schedule = parser.schedule(ranks)?;
    Ok(GoalBlock::new(schedule.nodes, schedule.edges))
}

/// The schedule of the first rank in a file.
#[cfg(test)]
pub fn first_block(file: &Path) -> Result<GoalBlock, TraceError> {
    let mut parser = Parser::open(file, TextPosition { offset: 0, line: 1 })?;
    let ranks = parser.header()?;
    parser.rank(ranks)?;
    let schedule = parser.schedule(ranks)?;
    Ok(GoalBlock::new(schedule.nodes, schedule.edges))
}

struct ParsedSchedule {
    nodes: Vec<GoalNode>,
    /// Earlier, later, whether the later one depends on the start only.
    edges: Vec<(u32, u32, bool)>,
}

struct Parser<'a, R> {
    file: &'a Path,
    input: R,
    /// The current line, of which `taken` bytes are consumed.
    rest: Vec<u8>,
    taken: usize,
    /// Offset after the line.
    offset: u64,
    line: u64,
    rank: Option<u32>,
}

impl<'a> Parser<'a, BufReader<std::fs::File>> {
    fn open(file: &'a Path, place: TextPosition) -> Result<Self, TraceError> {
        let opened = config::open_input(file, u64::MAX).and_then(|mut f| {
            f.seek(SeekFrom::Start(place.offset))?;
            Ok(f)
        });
        let input = opened.map_err(|e| TraceError {
            file: file.display().to_string(),
            rank: None,
            message: format!("cannot be opened: {e}"),
        })?;
        Ok(Parser {
            file,
            input: BufReader::new(input),
            rest: Vec::new(),
            taken: 0,
            offset: place.offset,
            line: place.line.saturating_sub(1),
            rank: None,
        })
    }
}

/// Longest line. A file without line ends is not a schedule.
const LINE: u64 = 1 << 16;

impl<R: BufRead> Parser<'_, R> {
    fn fault(&self, rank: Option<u32>, message: impl Into<String>) -> TraceError {
        TraceError {
            file: self.file.display().to_string(),
            rank,
            message: message.into(),
        }
    }

    fn error(&self, message: impl AsRef<str>) -> TraceError {
        self.at(self.line, message)
    }

    fn at(&self, line: u64, message: impl AsRef<str>) -> TraceError {
        self.fault(self.rank, format!("line {line}: {}", message.as_ref()))
    }

    /// Reads the next line. Returns false at the end of the file.
    fn next_line(&mut self) -> Result<bool, TraceError> {
        self.rest.clear();
        self.taken = 0;
        self.line += 1;
        let read = (&mut self.input).take(LINE).read_until(b'\n', &mut self.rest);
        let read = read.map_err(|e| self.error(format!("cannot be read: {e}")))?;
        self.offset += read as u64;
        if read as u64 == LINE {
            return Err(self.error(format!("is longer than {LINE} bytes: this is not a schedule")));
        }
        Ok(read > 0)
    }

    /// Skips spaces and comments, which may span lines.
    fn skip(&mut self) -> Result<(), TraceError> {
        loop {
            let rest = &self.rest[self.taken..];
            let blank = rest
                .iter()
                .take_while(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
                .count();
            self.taken += blank;
            match &rest[blank..] {
                [b'/', b'/', ..] => self.taken = self.rest.len(),
                [b'/', b'*', ..] => {
                    self.taken += 2;
                    let start = self.line;
                    loop {
                        let rest = &self.rest[self.taken..];
                        if let Some(end) = rest.windows(2).position(|w| w == b"*/") {
                            self.taken += end + 2;
                            break;
                        }
                        if !self.next_line()? {
                            return Err(self.at(start, "this comment has no end (*/)"));
                        }
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// Whether the line has further words.
    fn has_more(&mut self) -> Result<bool, TraceError> {
        self.skip()?;
        Ok(self.taken < self.rest.len())
    }

    /// Skips to the next statement. Returns false at the end of the file.
    fn next_statement(&mut self) -> Result<bool, TraceError> {
        while !self.has_more()? {
            if !self.next_line()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next word: letters, digits and underscores after a letter, or digits, or another single character.
    fn word(&mut self) -> Result<&str, TraceError> {
        self.skip()?;
        let rest = &self.rest[self.taken..];
        let letters = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let length = match rest {
            [] => 0,
            [first, ..] if first.is_ascii_alphabetic() => rest.iter().take_while(|b| letters(b)).count(),
            [b'-', tail @ ..] => 1 + tail.iter().take_while(|b| b.is_ascii_digit()).count(),
            [b'0'..=b'9', ..] => rest.iter().take_while(|b| b.is_ascii_digit()).count(),
            _ => 1,
        };
        let word = &rest[..length];
        self.taken += length;
        // A byte other than ASCII is a word of its own, which no rule expects.
        Ok(std::str::from_utf8(word).unwrap_or("\u{fffd}"))
    }

    /// Expects a word.
    fn expect(&mut self, expected: &str) -> Result<(), TraceError> {
        let found = self.word()?;
        if found == expected {
            return Ok(());
        }
        let found = shown(found);
        Err(self.error(format!("expected '{expected}', found {found}")))
    }

    fn number<N: TryFrom<u64>>(&mut self, what: &str) -> Result<N, TraceError> {
        let word = self.word()?;
        let fits = |n: &u64| size_of::<N>() != 4 || *n < u64::from(ANY);
        let number = word.parse::<u64>().ok().filter(fits);
        let number = number.and_then(|n| N::try_from(n).ok());
        let found = shown(word);
        number.ok_or_else(|| {
            let largest = match size_of::<N>() {
                1 => u64::from(u8::MAX),
                // The largest 32-bit number is the wildcard.
                4 => u64::from(u32::MAX - 1),
                _ => u64::MAX,
            };
            self.error(format!(
                "expected {what}, a number from 0 to {largest}, found {found}"
            ))
        })
    }

    /// A number, or -1 as wildcard.
    fn or_any(&mut self, what: &str) -> Result<u32, TraceError> {
        self.skip()?;
        if self.rest[self.taken..].starts_with(b"-1") {
            self.word()?;
            return Ok(ANY);
        }
        self.number(what)
    }

    fn line_end(&mut self) -> Result<(), TraceError> {
        if !self.has_more()? {
            return Ok(());
        }
        let found = shown(self.word()?);
        Err(self.error(format!("expected the end of the line, found {found}")))
    }

    /// The number of ranks.
    fn header(&mut self) -> Result<u32, TraceError> {
        if !self.next_statement()? {
            return Err(self.error("expected 'num_ranks', found the end of the file"));
        }
        self.expect("num_ranks")?;
        let ranks: u32 = self.number("the number of ranks")?;
        if ranks == 0 {
            return Err(self.error("a schedule of no ranks; expected at least 1"));
        }
        Ok(ranks)
    }

    /// The start of the next rank's operations; `None` at the end of the file.
    fn rank(&mut self, ranks: u32) -> Result<Option<(u32, TextPosition)>, TraceError> {
        if !self.next_statement()? {
            return Ok(None);
        }
        self.expect("rank")?;
        let rank: u32 = self.number("a rank")?;
        if rank >= ranks {
            return Err(self.error(format!("rank {rank}, but num_ranks is {ranks}")));
        }
        self.expect("{")?;
        let offset = self.offset - (self.rest.len() - self.taken) as u64;
        let line = self.line;
        Ok(Some((rank, TextPosition { offset, line })))
    }

    /// The operations up to the closing brace.
    fn schedule(&mut self, ranks: u32) -> Result<ParsedSchedule, TraceError> {
        let mut building = RankParser::default();
        loop {
            if !self.next_statement()? {
                return Err(self.error("expected '}' at the end of the rank, found the end of the file"));
            }
            let word = self.word()?.to_string();
            match word.as_str() {
                "}" => break,
                "send" | "recv" | "calc" => self.operation(&word, None, ranks, &mut building)?,
                label if label.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                    let next = self.word()?.to_string();
                    match next.as_str() {
                        ":" => {
                            let word = self.word()?.to_string();
                            self.operation(&word, Some(label), ranks, &mut building)?;
                        }
                        "requires" | "irequires" => {
                            let earlier = self.word()?.to_string();
                            if !earlier.starts_with(|c: char| c.is_ascii_alphabetic()) {
                                let found = shown(&earlier);
                                return Err(
                                    self.error(format!("expected a label after '{next}', found {found}"))
                                );
                            }
                            self.line_end()?;
                            building.edges.push(NamedDependency {
                                earlier,
                                later: word,
                                start: next == "irequires",
                                line: self.line,
                            });
                        }
                        other => {
                            let expected = format!("':', 'requires' or 'irequires' after '{label}'");
                            return Err(self.error(format!("expected {expected}, found {}", shown(other))));
                        }
                    }
                }
                other => {
                    let found = shown(other);
                    return Err(self.error(format!("expected an operation, a label or '}}', found {found}")));
                }
            }
        }
        building
            .finish()
            .map_err(|(line, message)| self.at(line, message))
    }

    /// One operation, after its first word.
    fn operation(
        &mut self,
        word: &str,
        label: Option<&str>,
        ranks: u32,
        building: &mut RankParser,
    ) -> Result<(), TraceError> {
        let mut node = GoalNode {
            prerequisites: 0,
            kind: NodeKind::Calc,
            peer: 0,
            size: 0,
            tag: 0,
            cpu: 0,
            nic: 0,
            ended: DependencyList::default(),
            started: DependencyList::default(),
        };
        match word {
            "calc" => node.size = self.number("nanoseconds")?,
            "send" | "recv" => {
                node.size = self.number("bytes")?;
                self.expect("b")?;
                if word == "send" {
                    node.kind = NodeKind::Send;
                    self.expect("to")?;
                    node.peer = self.number("a rank")?;
                } else {
                    node.kind = NodeKind::Receive;
                    self.expect("from")?;
                    node.peer = self.or_any("a rank or -1")?;
                }
            }
            other => {
                let found = shown(other);
                return Err(self.error(format!("expected 'send', 'recv' or 'calc', found {found}")));
            }
        }
        while self.has_more()? {
            let word = self.word()?.to_string();
            match (word.as_str(), node.kind) {
                ("tag", NodeKind::Send | NodeKind::Receive) => node.tag = self.or_any("a tag")?,
                ("nic", NodeKind::Send | NodeKind::Receive) => node.nic = self.number("a NIC")?,
                ("cpu", _) => node.cpu = self.number("a CPU")?,
                (other, NodeKind::Calc) => {
                    let found = shown(other);
                    return Err(self.error(format!("expected 'cpu' or the end of the line, found {found}")));
                }
                (other, _) => {
                    let found = shown(other);
                    let expected = "'tag', 'cpu', 'nic' or the end of the line";
                    return Err(self.error(format!("expected {expected}, found {found}")));
                }
            }
        }
        check(node, ranks).map_err(|e| self.error(e))?;
        building.add(node, label, self.line).map_err(|e| self.error(e))
    }
}

/// A word in a message.
fn shown(word: &str) -> String {
    match word {
        "" => "the end of the line".into(),
        word => format!("'{word}'"),
    }
}

/// A dependency between labels.
struct NamedDependency {
    earlier: String,
    later: String,
    start: bool,
    line: u64,
}

/// The schedule of one rank while it is parsed.
#[derive(Default)]
struct RankParser {
    nodes: Vec<GoalNode>,
    lines: Vec<u64>,
    labels: HashMap<String, u32>,
    edges: Vec<NamedDependency>,
}

impl RankParser {
    fn add(&mut self, node: GoalNode, label: Option<&str>, line: u64) -> Result<(), String> {
        let number = u32::try_from(self.nodes.len()).map_err(|_| "more than 2^32 operations".to_string())?;
        if let Some(label) = label
            && let Some(first) = self.labels.insert(label.into(), number)
        {
            let first = self.lines[first as usize];
            return Err(format!(
                "the label '{label}' is taken by the operation in line {first}"
            ));
        }
        self.nodes.push(node);
        self.lines.push(line);
        Ok(())
    }

    /// The schedule, or the invalid line and the reason.
    fn finish(self) -> Result<ParsedSchedule, (u64, String)> {
        let place = |label: &String, line| {
            let unknown = || {
                (
                    line,
                    format!("there is no operation with the label '{label}' in this rank"),
                )
            };
            self.labels.get(label).copied().ok_or_else(unknown)
        };
        let mut edges = Vec::with_capacity(self.edges.len());
        for edge in &self.edges {
            edges.push((
                place(&edge.earlier, edge.line)?,
                place(&edge.later, edge.line)?,
                edge.start,
            ));
        }
        if let Some(circle) = circle(self.nodes.len(), &edges) {
            let lines: Vec<String> = circle
                .iter()
                .take(10)
                .map(|n| self.lines[*n as usize].to_string())
                .collect();
            let first = self.lines[circle[0] as usize];
            let lines = lines.join(", ");
            return Err((
                first,
                format!("operations depend on each other in a cycle; they are in the lines {lines}"),
            ));
        }
        Ok(ParsedSchedule {
            nodes: self.nodes,
            edges,
        })
    }
}

/// A cycle of operations, each of which depends on the next.
fn circle(operations: usize, edges: &[(u32, u32, bool)]) -> Option<Vec<u32>> {
    let mut follows = vec![0u32; operations];
    let mut by_earlier: Vec<(u32, u32)> = edges
        .iter()
        .map(|(earlier, later, _)| (*earlier, *later))
        .collect();
    by_earlier.sort_unstable();
    by_earlier
        .iter()
        .for_each(|(_, later)| follows[*later as usize] += 1);
    let mut free: Vec<u32> = (0..operations as u32)
        .filter(|n| follows[*n as usize] == 0)
        .collect();
    let mut left = operations;
    while let Some(number) = free.pop() {
        left -= 1;
        let first = by_earlier.partition_point(|(earlier, _)| *earlier < number);
        for (_, later) in by_earlier[first..].iter().take_while(|(e, _)| *e == number) {
            follows[*later as usize] -= 1;
            if follows[*later as usize] == 0 {
                free.push(*later);
            }
        }
    }
    if left == 0 {
        return None;
    }
    // Every remaining operation depends on another remaining one, so following dependencies ends in a cycle.
    let mut before: HashMap<u32, u32> = HashMap::new();
    for (earlier, later) in by_earlier.iter().rev() {
        if follows[*earlier as usize] > 0 && follows[*later as usize] > 0 {
            before.insert(*later, *earlier);
        }
    }
    let mut path: Vec<u32> = Vec::new();
    let mut place: HashMap<u32, usize> = HashMap::new();
    let mut at = (0..operations as u32).find(|n| follows[*n as usize] > 0)?;
    loop {
        if let Some(start) = place.insert(at, path.len()) {
            return Some(path.split_off(start));
        }
        path.push(at);
        at = *before.get(&at)?;
    }
}
