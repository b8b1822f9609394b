//! The self-check panel: what proves the instrument on the reader's own
//! recording (measures §6). Each line says what was found, what it means and
//! whether it is fine. Whether it is fine is decided by the findings of the
//! report alone, so that the panel never contradicts them.

mod bill;
mod seats;

use std::collections::BTreeMap;

use crate::model::{
    Cell, Finding, Place, PresetRow, Primary, Problem, Report, Standing, Value, Verdict, catalogue,
};
use crate::report::{block, number, plain};

/// Whether a line is fine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Fine,
    /// Something to know before trusting the figures.
    Look,
    /// A yardstick: neither good nor bad.
    Scale,
    /// It cannot be checked on this run.
    Absent,
}

/// One line of the panel.
pub(in crate::report::html) struct Check {
    pub(in crate::report::html) name: &'static str,
    pub(in crate::report::html) found: Vec<String>,
    pub(in crate::report::html) means: &'static str,
    state: State,
}

impl Check {
    /// Its state in words.
    pub(in crate::report::html) fn word(&self) -> &'static str {
        match self.state {
            State::Fine => "✓ fine",
            State::Look => "! look",
            State::Scale => "= scale",
            State::Absent => "– absent",
        }
    }

    /// Its state for the style sheet.
    pub(in crate::report::html) fn class(&self) -> &'static str {
        match self.state {
            State::Fine => "fine",
            State::Look => "look",
            State::Scale | State::Absent => "neutral",
        }
    }
}

/// The panel in one line, with the names of what has to be looked at.
pub(in crate::report::html) fn summary(checks: &[Check]) -> String {
    let of = |state| checks.iter().filter(move |check| check.state == state);
    let look: Vec<&str> = of(State::Look).map(|check| check.name).collect();
    match (of(State::Fine).count(), look.len()) {
        (0, 0) => "nothing could be checked".to_owned(),
        (fine, 0) => format!("{fine} fine, 0 to look at"),
        (fine, n) => format!("{fine} fine, {n} to look at ({})", look.join(", ")),
    }
}

/// What every line may rest on.
struct Run<'a> {
    report: &'a Report,
    /// Rows over all data sets.
    rows: Vec<&'a PresetRow>,
}

/// Every line that says something about this run.
pub(in crate::report::html) fn checks(report: &Report) -> Vec<Check> {
    let shown = || report.rows.iter().filter(|row| !block::is_null(&row.strategy));
    let all: Vec<&PresetRow> = shown().filter(|row| row.dataset == block::ALL).collect();
    let rows = if all.is_empty() { shown().collect() } else { all };
    let run = Run { report, rows };
    let probed = report.transcripts.iter().any(|t| !t.probes.is_empty());
    let mut checks = vec![bill::bill(&run), did_without(&run), id_list(&run)];
    if probed {
        let more = [empty, seats::a_a, verbatim, unscored, seats::judge];
        checks.extend(more.iter().map(|check| check(&run)));
        checks.extend(seats::panel(&run));
        checks.push(seats::leaks(&run));
    }
    checks.push(estimators(&run));
    checks
}

impl<'a> Run<'a> {
    /// Rows of a preset, one per window.
    fn of(&self, name: &'a str) -> impl Iterator<Item = &'a PresetRow> {
        self.rows.iter().copied().filter(move |row| row.strategy == name)
    }

    /// Rows that are judged.
    fn judged(&self) -> impl Iterator<Item = &'a PresetRow> {
        self.rows.iter().copied().filter(|row| row.standing != Standing::Control)
    }

    /// The problems of the run.
    fn problems(&self) -> impl Iterator<Item = &'a Problem> {
        self.report.findings.iter().filter_map(|finding| match finding {
            Finding::Problem(problem) => Some(problem),
            Finding::Observation(_) | Finding::Limit(_) => None,
        })
    }

    /// The state of a line, by whether the run has such a problem.
    fn state(&self, is: impl Fn(&Problem) -> bool) -> State {
        if self.problems().any(is) { State::Look } else { State::Fine }
    }

    /// Why a measure of a preset is absent.
    fn reason(&self, name: &'a str, id: &str) -> String {
        let reason = self.of(name).find_map(|row| match row.values.get(id) {
            Some(Value::Absent(reason)) => Some(plain::line(&reason.to_string())),
            _ => None,
        });
        reason.unwrap_or_else(|| format!("{name} was not run"))
    }
}

/// Where a figure was found.
fn at(row: &PresetRow) -> String {
    block::place(&row.window)
}

fn did_without(run: &Run<'_>) -> Check {
    // It rests on the recording alone, so any row tells.
    let share = run.rows.iter().find_map(|row| row.number(catalogue::DID_WITHOUT));
    let found =
        share.map_or_else(|| run.reason("full", catalogue::DID_WITHOUT.id), number::percent);
    Check {
        name: "needed, and done without",
        found: vec![found],
        means: "the instrument’s own error: facts that the recorded agent used again after its own \
                compaction had removed them, so that “used later” did not mean “needed from the \
                context”; doubtful from 10 % on",
        state: match share {
            None => State::Absent,
            Some(_) => run.state(|problem| matches!(problem, Problem::ExamInDoubt { .. })),
        },
    }
}

fn id_list(run: &Run<'_>) -> Check {
    // Questions cannot be answered by a list of names alone.
    let at_cuts = run.report.primary == Primary::KeptAtCut;
    let measure = if at_cuts { catalogue::KEPT_AT_CUT } else { catalogue::REFERENCE_RECALL };
    let figures: Vec<(&PresetRow, f64)> =
        run.of("id-list").filter_map(|row| Some((row, row.number(measure)?))).collect();
    let found = figures.iter().map(|(list, floor)| {
        let ranked = run.rows.iter().filter(|r| r.standing == Standing::Ranked);
        let below: Vec<String> = ranked
            .filter(|r| r.window == list.window && r.agent_model == list.agent_model)
            .filter(|r| r.number(measure).is_some_and(|x| x <= *floor))
            .map(|r| plain::line(&r.strategy))
            .collect();
        let below = match below.is_empty() {
            true => "every ranked strategy keeps more".to_owned(),
            false => format!("no more is kept by {}", below.join(", ")),
        };
        match at_cuts {
            // A cut has a window of its own.
            true => format!("{} at cuts; {below}", number::share(*floor)),
            false => format!("{} at {}; {below}", number::share(*floor), at(list)),
        }
    });
    let mut found: Vec<String> = found.collect();
    found.dedup();
    let state = if found.is_empty() { State::Absent } else { State::Scale };
    if found.is_empty() {
        found.push(run.reason("id-list", measure.id));
    }
    Check {
        name: "what a bare list of names keeps",
        found,
        means: match at_cuts {
            true => {
                "facts kept at cuts by the control id-list: the last 20 messages and a list of all \
                 identifiers without a word of meaning; so much of that figure can be had by a trick"
            }
            false => {
                "needed facts kept by the control id-list: the last 20 messages and a list of all \
                 identifiers without a word of meaning; so much of that figure can be had by a trick"
            }
        },
        state,
    }
}

fn empty(run: &Run<'_>) -> Check {
    let mut found = Vec::new();
    for row in run.of("empty") {
        let full = run.of("full").find(|full| full.window == row.window);
        let recall = |row: &PresetRow| row.number(catalogue::RECALL);
        let (Some(floor), Some(ceiling)) = (recall(row), full.and_then(recall)) else { continue };
        found.push(format!(
            "recall {} against {} with the whole conversation, at {}",
            number::share(floor),
            number::share(ceiling),
            at(row)
        ));
    }
    let state = match found.is_empty() {
        true => State::Absent,
        false => run.state(|problem| matches!(problem, Problem::NarrowScale { .. })),
    };
    if found.is_empty() {
        found.push(run.reason("empty", catalogue::RECALL.id));
    }
    Check {
        name: "what can be guessed",
        found,
        means: "an empty memory answers the same questions: what it gets right needs no memory. \
                Less than 0.20 between it and the whole conversation leaves too little room to tell \
                strategies apart",
        state,
    }
}

fn verbatim(run: &Run<'_>) -> Check {
    let figures = run.judged().filter_map(|row| {
        let own = row.number(catalogue::RECALL_VERBATIM)?;
        Some((row, own, row.number(catalogue::RECALL_VERBATIM_FULL)?))
    });
    let mut figures: Vec<(&PresetRow, f64, f64)> = figures.collect();
    // The farthest apart first.
    figures.sort_by(|a, b| (b.1 - b.2).abs().total_cmp(&(a.1 - a.2).abs()));
    let apart: Vec<&Place> = run
        .problems()
        .filter_map(|problem| match problem {
            Problem::SizeMatters { rows } => Some(rows.iter().map(|(place, ..)| place)),
            _ => None,
        })
        .flatten()
        .collect();
    let is_apart = |row: &PresetRow| {
        apart.iter().any(|place| place.strategy == row.strategy && place.window == row.window)
    };
    let words = figures.iter().map(|(row, own, full)| {
        let mark = if is_apart(row) { "! " } else { "" };
        let (own, full) = (number::share(*own), number::share(*full));
        format!("{mark}{} {own} against {full}, at {}", block::label(row), at(row))
    });
    let mut found: Vec<String> = words.collect();
    let state = match figures.is_empty() {
        true => State::Absent,
        false => run.state(|problem| matches!(problem, Problem::SizeMatters { .. })),
    };
    if found.is_empty() {
        found.push("no strategy leaves all of the evidence of a graded question".to_owned());
    }
    Check {
        name: "right where all the evidence is there",
        found,
        means: "mean score of the questions whose evidence is all sent as recorded, against the \
                same questions with the whole conversation: more than 0.05 apart (marked “!”), and \
                the strategy’s scores owe something to the size of its context alone",
        state,
    }
}

fn unscored(run: &Run<'_>) -> Check {
    let mut all = 0;
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for session in run.report.sessions.iter() {
        let rows = session.cells().iter().filter_map(Cell::rows).flat_map(|rows| &rows.probes);
        for row in rows {
            all += 1;
            if let Verdict::Unscored(reason) = &row.judgement.verdict {
                *reasons.entry(reason.to_string()).or_default() += 1;
            }
        }
    }
    let missing: usize = reasons.values().sum();
    let share = number::percent(missing as f64 / all.max(1) as f64);
    let mut found = vec![format!(
        "{share}: {} of {}",
        number::grouped(missing as u64),
        block::counted(all, "answer")
    )];
    let reason = |(reason, n): (&String, &usize)| {
        format!("{}× {}", number::grouped(*n as u64), plain::line(reason))
    };
    found.extend(reasons.iter().map(reason));
    Check {
        name: "answers without a grade",
        found,
        means: "they are left out of every score, with the reason; none counts as wrong",
        state: if missing == 0 { State::Fine } else { State::Look },
    }
}

fn estimators(run: &Run<'_>) -> Check {
    let figures =
        run.judged().filter_map(|row| Some((row, row.number(catalogue::ESTIMATOR_ERROR)?)));
    let mut figures: Vec<(&PresetRow, f64)> = figures.collect();
    // The farthest off first.
    figures.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let words = |(row, error): &(&PresetRow, f64)| {
        format!("{} {}, at {}", block::label(row), number::gain(*error), at(row))
    };
    let mut found: Vec<String> = figures.iter().map(words).collect();
    let state = if found.is_empty() { State::Absent } else { State::Scale };
    if found.is_empty() {
        found.push("no strategy makes an estimate of its own".to_owned());
    }
    Check {
        name: "the strategies’ own counts",
        found,
        means: "a strategy’s own estimate of its tokens / the count of this report − 1, in the \
                median: below 0 it compacts later than it means to, above 0 earlier",
        state,
    }
}

#[cfg(test)]
mod tests;
