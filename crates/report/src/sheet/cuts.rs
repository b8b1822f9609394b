//! `cuts.csv` and `facts.csv`: every strategy at every cut: what it kept of the facts, how large
//! it is after the cut, and how long that takes.

use std::io::{Result, Write};

use super::{Columns, Field, Sheet};
use crate::RenderInput;
use recap_core::model::{
    Cut, CutExam, CutRow, Fact, ReferenceState, Repeated, RepeatedTexts, SessionResults,
    UnusableReplies,
};

/// Columns that stand first in the tables of cuts.
pub(super) const KEY: &str = "dataset,session,strategy,replicate,cut";

/// The fields of [`KEY`].
pub(super) fn key(cut: &Cut, row: &CutRow) -> Vec<Field> {
    let [dataset, session, strategy] =
        [&cut.dataset, &cut.session, &row.strategy].map(|name| name.as_str().into());
    vec![dataset, session, strategy, row.replicate.into(), cut.request.into()]
}

/// Every strategy at every cut of a session, in the order of the keys.
pub(crate) fn rows<'a>(
    session: &'a SessionResults<'_>,
) -> impl Iterator<Item = (&'a Cut, &'a CutRow)> {
    let cuts = session.cuts().iter();
    let mut rows: Vec<(&Cut, &CutRow)> =
        cuts.flat_map(|cut| cut.rows.iter().map(move |row| (cut, row))).collect();
    rows.sort_by_key(|(cut, row)| (&row.strategy, row.replicate, cut.request));
    rows.into_iter()
}

/// A strategy at a cut; without an exam it failed there.
struct AtCut<'a> {
    cut: &'a Cut,
    row: &'a CutRow,
    exam: Option<&'a CutExam>,
    repeated: &'a Repeated,
}

impl AtCut<'_> {
    /// Facts of a state.
    fn count(&self, state: ReferenceState) -> Field {
        self.exam.map(|exam| exam.count(|own| own == state)).into()
    }

    /// Share of the facts that the newest messages of the same size would have kept.
    fn recency(&self) -> Option<f64> {
        let (near, all) = (self.cut.recency(self.exam?), self.cut.facts.len());
        (all > 0).then(|| near as f64 / all as f64)
    }

    /// Unusable replies of the compactor.
    fn unusable(&self) -> Option<u64> {
        let mut found = UnusableReplies::default();
        self.exam?.replies.iter().for_each(|reply| found.add(reply, self.repeated));
        Some(found.unusable)
    }
}

const OF_CUTS: &Columns<fn(&AtCut<'_>) -> Field> = &[
    ("tokens_before", |at| at.cut.tokens_before.into()),
    ("tokens_after", |at| at.exam.map(|exam| exam.tokens_after).into()),
    ("window", |at| at.exam.map(|exam| exam.window).into()),
    ("facts", |at| at.exam.map(|_| at.cut.facts.len()).into()),
    ("verbatim", |at| at.count(ReferenceState::Verbatim)),
    ("carried", |at| at.count(ReferenceState::Carried)),
    ("bare", |at| at.count(ReferenceState::Bare)),
    ("partial", |at| at.count(ReferenceState::Partial)),
    ("lost", |at| at.count(ReferenceState::Lost)),
    ("recovered", |at| at.count(ReferenceState::Recovered)),
    ("recency", |at| at.recency().into()),
    ("blocking_ms", |at| at.exam.and_then(|exam| exam.blocking_ms).into()),
    ("compactions", |at| at.exam.map(|exam| exam.compactions).into()),
    ("over_window", |at| at.exam.map(|exam| exam.refused.len()).into()),
    ("recorded", |at| at.exam.map(|_| at.cut.recorded).into()),
    ("error", |at| at.row.outcome.error().into()),
    ("unusable", |at| at.unusable().into()),
    // Requests after the cut that are looked at, and all that were still to come.
    ("requests", |at| at.cut.requests.into()),
    ("requests_left", |at| at.cut.left.into()),
];

pub(crate) fn cuts(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let repeated = RepeatedTexts::of(&source.report.results);
    let mut sheet = Sheet::new(KEY, OF_CUTS, out)?;
    for session in source.report.results.iter() {
        for (cut, row) in rows(&session) {
            let repeated = repeated.at_cuts(&row.strategy);
            let at = AtCut { cut, row, exam: row.exam(), repeated };
            sheet.push(&key(cut, row), OF_CUTS, &at)?;
        }
    }
    sheet.finish()
}

/// A fact, and what became of it under a strategy.
struct Kept<'a> {
    cut: &'a Cut,
    fact: &'a Fact,
    last_seen: Option<&'a str>,
    state: ReferenceState,
    is_refused: bool,
}

const OF_FACTS: &Columns<fn(&Kept<'_>) -> Field> = &[
    ("request", |row| row.fact.request.into()),
    ("requests_after", |row| (row.fact.request - row.cut.request + 1).into()),
    ("fact", |row| row.fact.text.as_str().into()),
    ("class", |row| row.fact.class.as_str().into()),
    ("last_seen", |row| row.last_seen.into()),
    ("state", |row| row.state.as_str().into()),
    ("over_window", |row| row.is_refused.into()),
];

pub(crate) fn facts(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let mut sheet = Sheet::new(KEY, OF_FACTS, out)?;
    for session in source.report.results.iter() {
        let facts = source.report.facts_of(session.dataset, session.id);
        for (cut, row) in rows(&session) {
            let Some(exam) = row.exam() else { continue };
            let key = key(cut, row);
            for (number, (fact, state)) in (0u32..).zip(cut.facts.iter().zip(&exam.states)) {
                let message = facts.and_then(|all| all.messages.get(fact.last_seen as usize));
                let kept = Kept {
                    cut,
                    fact,
                    last_seen: message.map(|message| message.id.as_str()),
                    state: *state,
                    is_refused: exam.refused.contains(&number),
                };
                sheet.push(&key, OF_FACTS, &kept)?;
            }
        }
    }
    sheet.finish()
}
