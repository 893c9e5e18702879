//! The progress bar of a run: simulated time, rate, time left. It appears on terminals only.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use sim::RunControl;

/// A progress bar in a background thread.
pub(crate) struct RunProgress {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Shows the progress of a run until simulated time `end_ps`; `None` if the end is unknown.
pub(crate) fn show(control: &Arc<RunControl>, end_ps: Option<u64>) -> RunProgress {
    let done = Arc::new(AtomicBool::new(false));
    let thread = std::io::stderr().is_terminal().then(|| {
        let (control, done) = (control.clone(), done.clone());
        std::thread::spawn(move || follow(&control, end_ps, &done))
    });
    RunProgress { done, thread }
}

impl RunProgress {
    /// Removes the bar.
    pub(crate) fn finish(self) {
        self.done.store(true, Relaxed);
        if let Some(thread) = self.thread {
            let _ = thread.join();
        }
    }
}

fn follow(control: &RunControl, end_ps: Option<u64>, done: &AtomicBool) {
    let bar = match end_ps {
        Some(end) => ProgressBar::new(end).with_style(style("{bar:30} {percent:>3} %  {msg}  {eta} left")),
        None => ProgressBar::new_spinner().with_style(style("{spinner} {elapsed}  {msg}")),
    };
    let start = Instant::now();
    while !done.load(Relaxed) {
        let now = control.now_ps();
        let rate = now as f64 / 1e6 / start.elapsed().as_secs_f64().max(1e-3);
        bar.set_position(now);
        bar.set_message(format!("{:.1} us simulated, {rate:.1} us/s", now as f64 / 1e6));
        std::thread::sleep(Duration::from_millis(100));
    }
    bar.finish_and_clear();
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a fixed template")
}
