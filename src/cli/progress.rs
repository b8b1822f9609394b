//! The progress display: bars on a terminal, plain lines otherwise, always on
//! standard error.

#![allow(clippy::disallowed_methods, reason = "shows what has passed")]

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::wire;
use recap_core::model::{CallOutcome, CallRow};
use recap_core::text::{brief, counted, harmless};
use recap_replay::run::{Event, Observer};

/// Shortest time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Displays the progress of a run.
pub(super) struct Progress {
    quiet: bool,
    /// It counts the cells, also where nothing draws it.
    bar: ProgressBar,
    state: Mutex<State>,
}

struct State {
    failed: usize,
    calls: usize,
    /// `None` if a price is unknown.
    usd: Option<f64>,
    last_line: Instant,
}

impl Progress {
    /// Nothing is shown if it is `quiet`.
    pub fn new(quiet: bool) -> Self {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(0) };
        let (last_line, usd) = (Instant::now(), Some(0.0));
        let state = Mutex::new(State { failed: 0, calls: 0, usd, last_line });
        Self { quiet, bar: bar.with_style(style()), state }
    }

    /// Clears the bar before the table is printed.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        if self.bar.is_hidden() {
            wire::say(text);
        } else {
            self.bar.println(harmless(&brief(text)));
        }
    }

    fn calls(&self, calls: &[CallRow]) {
        let mut state = self.state.lock().expect("showing does not panic");
        state.calls += calls.len();
        // A rejected call is not billed.
        let free = [CallOutcome::Unavailable, CallOutcome::Rejected];
        for call in calls.iter().filter(|call| !free.contains(&call.outcome)) {
            state.usd = state.usd.zip(call.usd).map(|(sum, usd)| sum + usd);
        }
        self.bar.set_message(state.spent().trim_start_matches(", ").to_owned());
    }

    fn done(&self, name: &str, error: Option<&str>) {
        let mut state = self.state.lock().expect("showing does not panic");
        state.failed += usize::from(error.is_some());
        self.bar.inc(1);
        if let Some(error) = error {
            self.line(&format!("failed: {name}: {error}"));
        }
        if self.bar.is_hidden() && state.last_line.elapsed() >= LINE_EVERY {
            state.last_line = Instant::now();
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let (failed, spent) = (state.failed, state.spent());
            let of = counted(all, "cell or cut");
            wire::say(&format!("{done} of {of}, {failed} failed{spent}"));
        }
    }
}

impl State {
    /// The calls and dollars so far; empty where every role is offline.
    fn spent(&self) -> String {
        match (self.calls, self.usd) {
            (0, _) => String::new(),
            (calls, Some(usd)) => format!(", {}, ${usd:.4}", counted(calls, "call")),
            (calls, None) => format!(", {}", counted(calls, "call")),
        }
    }
}

fn style() -> ProgressStyle {
    // Whole numbers: decimals would change at every step.
    let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{:.0}/s", state.per_sec());
    };
    ProgressStyle::with_template("{bar:30} {pos}/{len} cells or cuts  {rate}  eta {eta}  {msg}")
        .expect("the template is fixed")
        .with_key("rate", rate)
}

impl Observer for Progress {
    fn event(&self, event: &Event<'_>) {
        if self.quiet {
            return;
        }
        match event {
            Event::Planned { sessions, cells, cuts } => {
                let cells = cells + cuts;
                self.bar.set_length(cells as u64);
                if self.bar.is_hidden() {
                    let sessions = counted(*sessions, "session");
                    wire::say(&format!("{sessions}, {}", counted(cells, "cell or cut")));
                }
            }
            Event::Cell { key, error } => {
                let name = format!("{} × {} × {}", key.session, key.strategy, key.window);
                self.done(&name, *error);
            }
            Event::Cut { cut } => {
                self.done(&format!("{} × request {}", cut.session, cut.request), None);
            }
            Event::Calls(calls) => self.calls(calls),
        }
    }
}
