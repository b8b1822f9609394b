//! Finds the exams at the cuts of a session by strategy.

use std::collections::BTreeMap;

use recap_core::model::{
    Cell, Cut, CutExam, CutOutcome, CutRow, Fallbacks, Manifest, NO_SUMMARY, ReferenceState,
    ReplyFacts,
};

/// Data set, session, and id of the strategy without markup.
type ExamKey<'a> = (&'a str, &'a str, &'a str);

/// The exams of a session.
#[derive(Debug, Default)]
pub struct Exams<'a> {
    rows: BTreeMap<ExamKey<'a>, Vec<(&'a Cut, &'a CutRow)>>,
    /// Depth of the cuts: [`Manifest::depth`].
    pub depth: u32,
}

/// The exam of a strategy at a cut.
#[derive(Clone, Copy, Debug)]
pub struct AtCut<'a> {
    /// The cut at which the strategy was examined.
    pub cut: &'a Cut,
    /// The result of the strategy.
    pub exam: &'a CutExam,
}

impl AtCut<'_> {
    /// Number of facts whose state `counts`.
    pub fn count(&self, counts: impl Fn(ReferenceState) -> bool) -> f64 {
        self.exam.states.iter().filter(|state| counts(**state)).count() as f64
    }

    /// Number of facts that the context still contains.
    pub fn kept(&self) -> f64 {
        self.count(ReferenceState::is_kept)
    }

    /// Tokens of messages directly after the cut: the size available to any
    /// other choice of messages.
    pub fn room(&self) -> u64 {
        self.exam.tokens_after.saturating_sub(self.cut.preamble_tokens)
    }

    /// Number of facts that the newest messages of the same size would have
    /// kept.
    pub fn recency(&self) -> f64 {
        let room = self.room();
        self.cut.facts.iter().filter(|fact| fact.newest_tokens <= room).count() as f64
    }
}

impl<'a> Exams<'a> {
    /// The exams at these cuts. A row that does not fit its cut is left out;
    /// [`Exams::failures`] names it.
    pub fn of(cuts: &'a [Cut], manifest: &Manifest) -> Self {
        let mut rows: BTreeMap<ExamKey<'a>, Vec<(&'a Cut, &'a CutRow)>> = BTreeMap::new();
        for cut in cuts {
            for row in &cut.rows {
                let place = (cut.dataset.as_str(), cut.session.as_str(), row.strategy.as_str());
                rows.entry(place).or_default().push((cut, row));
            }
        }
        Exams { rows, depth: manifest.depth }
    }

    /// The exams of a cell's strategy on its session, in the order of the
    /// cuts.
    pub fn at(&self, cell: &'a Cell) -> Vec<AtCut<'a>> {
        self.named(cell, &cell.key.strategy, cell.key.replicate)
    }

    /// The exams of a cell's strategy without its summaries, in the order of the cuts.
    pub fn without_summary(&self, cell: &'a Cell) -> Vec<AtCut<'a>> {
        let name = format!("{NO_SUMMARY}{}", cell.key.strategy);
        self.named(cell, &name, 0)
    }

    /// The exams of a control, by its name, on the session of a cell.
    pub fn beside(&self, cell: &'a Cell, strategy: &str) -> Vec<AtCut<'a>> {
        self.named(cell, strategy, 0)
    }

    fn named(&self, cell: &'a Cell, strategy: &str, replicate: u32) -> Vec<AtCut<'a>> {
        let own = self.rows(cell, strategy, replicate).into_iter();
        let fits = |(cut, row): (&'a Cut, &'a CutRow)| {
            let exam = row.exam()?;
            (exam.states.len() == cut.facts.len()).then_some(AtCut { cut, exam })
        };
        own.filter_map(fits).collect()
    }

    fn rows(&self, cell: &'a Cell, strategy: &str, replicate: u32) -> Vec<(&'a Cut, &'a CutRow)> {
        let key = &cell.key;
        let place = (key.dataset.as_str(), key.session.as_str(), strategy);
        let rows = self.rows.get(&place).map(Vec::as_slice).unwrap_or_default();
        rows.iter().copied().filter(|(_, row)| row.replicate == replicate).collect()
    }

    /// The replies of the compactor for the cell's strategy at all cuts.
    pub fn replies(&self, cell: &'a Cell) -> impl Iterator<Item = &'a ReplyFacts> + use<'a> {
        let rows = self.rows(cell, &cell.key.strategy, cell.key.replicate).into_iter();
        rows.filter_map(|(_, row)| row.exam()).flat_map(|exam| &exam.replies)
    }

    /// The compactions of the cell's strategy at all cuts, by whether they fell back.
    pub fn fallbacks(&self, cell: &'a Cell) -> impl Iterator<Item = Fallbacks> + use<'a> {
        let rows = self.rows(cell, &cell.key.strategy, cell.key.replicate).into_iter();
        rows.filter_map(|(_, row)| row.exam()).map(|exam| exam.fallbacks)
    }

    /// Why the cell's strategy has no exam at some cut, one sentence each.
    pub fn failures(&self, cell: &'a Cell) -> Vec<String> {
        let rows = self.rows(cell, &cell.key.strategy, cell.key.replicate);
        let why = |(cut, row): (&'a Cut, &'a CutRow)| match &row.outcome {
            CutOutcome::Failed { error } => Some(describe(cut, error)),
            CutOutcome::Done(exam) if exam.states.len() != cut.facts.len() => {
                Some(describe(cut, "its row is from another version of the data: run it again"))
            }
            CutOutcome::Done(_) => None,
        };
        rows.into_iter().filter_map(why).collect()
    }
}

fn describe(cut: &Cut, error: &str) -> String {
    format!("{}, cut at request {}: {error}", cut.session, cut.request)
}
