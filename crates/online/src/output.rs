//! What ranks print, line by line with a label: no line is cut by another rank's.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::Child;
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};

/// Bytes of a line without an end that are written nevertheless.
const LONGEST_LINE: usize = 1 << 20;

/// What a rank prints on one of its outputs.
struct Printed<R> {
    rank: u32,
    from: R,
    /// The start of a line.
    line: Vec<u8>,
}

impl<R: Read + AsFd> Printed<R> {
    fn new(rank: u32, from: R) -> Printed<R> {
        let line = Vec::new();
        Printed { rank, from, line }
    }

    /// Reads once, and writes the lines that are whole. False at the end.
    fn read(&mut self, into: &mut impl Write) -> bool {
        let mut chunk = [0; 1 << 13];
        let bytes = self.from.read(&mut chunk).unwrap_or(0);
        self.line.extend_from_slice(&chunk[..bytes]);
        let ends = bytes == 0 || self.line.len() > LONGEST_LINE;
        if ends && self.line.last().is_some_and(|last| *last != b'\n') {
            self.line.push(b'\n');
        }
        let whole = self
            .line
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |last| last + 1);
        let mut labelled = Vec::with_capacity(whole + 8);
        for line in self
            .line
            .drain(..whole)
            .as_slice()
            .split_inclusive(|byte| *byte == b'\n')
        {
            labelled.extend_from_slice(format!("[{}] ", self.rank).as_bytes());
            labelled.extend_from_slice(line);
        }
        // There is no reader to tell.
        let _ = into.write_all(&labelled).and_then(|()| into.flush());
        bytes > 0
    }
}

/// Prints what the ranks print on one output until the last of them has closed it.
fn print_all<R: Read + AsFd>(mut all: Vec<Printed<R>>, mut into: impl Write) {
    while !all.is_empty() {
        let mut ready: Vec<PollFd<'_>> = all
            .iter()
            .map(|one| PollFd::from_borrowed_fd(one.from.as_fd(), PollFlags::IN))
            .collect();
        let _ = poll(&mut ready, None);
        let mut ready: Vec<bool> = ready.iter().map(|one| !one.revents().is_empty()).collect();
        let mut ready = ready.drain(..);
        all.retain_mut(|one| !ready.next().unwrap_or(false) || one.read(&mut into));
    }
}

/// The threads that print what processes print, which were started with pipes.
pub(crate) fn label(children: &mut [(u32, &mut Child)]) -> [JoinHandle<()>; 2] {
    let outputs = children
        .iter_mut()
        .filter_map(|(rank, child)| Some(Printed::new(*rank, child.stdout.take()?)));
    let outputs: Vec<_> = outputs.collect();
    let errors = children
        .iter_mut()
        .filter_map(|(rank, child)| Some(Printed::new(*rank, child.stderr.take()?)));
    let errors: Vec<_> = errors.collect();
    [
        thread::spawn(move || print_all(outputs, io::stdout())),
        thread::spawn(move || print_all(errors, io::stderr())),
    ]
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn lines_are_whole_and_labelled() {
        let mut children: Vec<Child> = (0..3)
            .map(|rank| {
                let text = format!("printf 'a{rank}\\nb'; sleep 0.0{rank}; printf 'c\\n\\n'; printf rest");
                Command::new("sh")
                    .args(["-c", &text])
                    .stdout(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let all = (0..)
            .zip(&mut children)
            .map(|(rank, child)| Printed::new(rank, child.stdout.take().unwrap()));
        let mut printed = Vec::new();
        print_all(all.collect(), &mut printed);
        let printed = String::from_utf8(printed).unwrap();
        for rank in 0..3 {
            let own: Vec<&str> = printed
                .lines()
                .filter(|line| line.starts_with(&format!("[{rank}]")))
                .collect();
            let expected = [format!("a{rank}"), "bc".into(), String::new(), "rest".into()];
            assert_eq!(own, expected.map(|line| format!("[{rank}] {line}")));
        }
        children.iter_mut().for_each(|child| drop(child.wait()));
    }
}
