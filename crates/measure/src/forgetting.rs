//! Forgetting curves: recall by the compactions or tokens since something was
//! last mentioned (reference §5).

use std::collections::BTreeMap;

use recap_core::model::FULL;
use recap_core::model::{
    AgeBin, AgeUnit, Cell, CellKey, CellRows, Forgetting, QuestionKind, RowKind, RunResults,
    SessionFacts,
};

/// First values of the bins of compactions.
const COMPACTIONS: [u64; 7] = [0, 1, 2, 3, 5, 9, 17];
/// First values of the bins of tokens; from 4,000 on they are those of the
/// reference bands (reference §4).
const TOKENS: [u64; 7] = [0, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000];

/// Number of questions at one age, and number of right answers.
#[derive(Clone, Copy, Default)]
struct Tally {
    questions: u64,
    score: f64,
    references: u64,
    kept: u64,
}

/// The tallies of one strategy at one window, by age.
#[derive(Default)]
struct Curve {
    compactions: [Tally; COMPACTIONS.len()],
    tokens: [Tally; TOKENS.len()],
}

/// The curves of every replayed strategy, by window as typed, then by name.
/// Questions and references are pooled over sessions, because a curve depends
/// on age and not on the session.
pub fn curves(windows: &[String], facts: &[SessionFacts], results: &RunResults) -> Vec<Forgetting> {
    let known: BTreeMap<(&str, &str), &SessionFacts> =
        facts.iter().map(|f| ((f.dataset.as_str(), f.session.as_str()), f)).collect();
    let mut curves: BTreeMap<(usize, String, String), Curve> = BTreeMap::new();
    for session in results.iter() {
        let Some(facts) = known.get(&(session.dataset, session.id)) else { continue };
        for cell in session.cells() {
            let fits = |rows: &&CellRows| rows.requests.len() == facts.requests.len();
            let Some(rows) = cell.rows().filter(fits) else { continue };
            let CellKey { strategy, window, .. } = &cell.key;
            let at = windows.iter().position(|w| w == window).unwrap_or(windows.len());
            let key = (at, window.clone(), strategy.clone());
            curves.entry(key).or_default().take(facts, cell, rows);
        }
    }
    curves
        .into_iter()
        .flat_map(|((_, window, strategy), curve)| curve.rows(&window, &strategy))
        .collect()
}

impl Curve {
    fn take(&mut self, facts: &SessionFacts, cell: &Cell, rows: &CellRows) {
        for row in &rows.questions {
            let Some(asked) = facts.questions.get(row.question as usize) else { continue };
            let Some(score) = cell.score(row) else { continue };
            if asked.question.kind == QuestionKind::Abstain {
                continue;
            }
            let count = |tally: &mut Tally| {
                tally.questions += 1;
                tally.score += score;
            };
            if let (Some(compactions), Some(tokens)) = (row.age_compactions, asked.age_tokens) {
                count(self.since_compactions(u64::from(compactions)));
                count(self.since_tokens(tokens));
            }
        }
        for outcome in &rows.references {
            let Some(reference) = facts.exam.references.get(outcome.reference as usize) else {
                continue;
            };
            // A refused request keeps nothing, except for controls (reference
            // §1).
            let refused = cell.row_kind != RowKind::Control
                && rows.requests.get(reference.request as usize).is_some_and(|r| r.overflow);
            let kept = u64::from(outcome.state.is_kept() && !refused);
            let count = |tally: &mut Tally| {
                tally.references += 1;
                tally.kept += kept;
            };
            let age = compactions_between(rows, reference.last_seen, reference.request);
            count(self.since_compactions(age));
            count(self.since_tokens(reference.distance_tokens));
        }
    }

    fn since_compactions(&mut self, age: u64) -> &mut Tally {
        &mut self.compactions[COMPACTIONS.partition_point(|from| *from <= age) - 1]
    }

    fn since_tokens(&mut self, age: u64) -> &mut Tally {
        &mut self.tokens[TOKENS.partition_point(|from| *from <= age) - 1]
    }

    fn rows(&self, window: &str, strategy: &str) -> Vec<Forgetting> {
        let curve = |age, bins: Vec<AgeBin>| Forgetting {
            strategy: strategy.to_owned(),
            window: window.to_owned(),
            age,
            bins,
        };
        let compactions = bins(&COMPACTIONS, &self.compactions);
        // A strategy that never compacts has only one age in compactions, and no
        // curve.
        let never = strategy == FULL;
        let by_compactions = (!never).then(|| curve(AgeUnit::Compactions, compactions));
        let by_tokens = curve(AgeUnit::Tokens, bins(&TOKENS, &self.tokens));
        by_compactions.into_iter().chain([by_tokens]).filter(|c| !c.bins.is_empty()).collect()
    }
}

/// Number of compactions after a message had arrived and up to a request. The
/// rows are in chronological order.
fn compactions_between(rows: &CellRows, message: u32, request: u32) -> u64 {
    let until = rows.compactions.partition_point(|c| c.request <= request);
    let before = rows.compactions.partition_point(|c| c.messages_seen <= message);
    until.saturating_sub(before) as u64
}

fn bins(starts: &[u64], tallies: &[Tally]) -> Vec<AgeBin> {
    let bin = |(at, tally): (usize, &Tally)| AgeBin {
        from: starts[at],
        to: starts.get(at + 1).copied(),
        questions: tally.questions,
        recall: (tally.questions > 0).then(|| tally.score / tally.questions as f64),
        references: tally.references,
        reference_recall: (tally.references > 0)
            .then(|| tally.kept as f64 / tally.references as f64),
    };
    let asked = |tally: &Tally| tally.questions + tally.references > 0;
    tallies.iter().enumerate().filter(|(_, tally)| asked(tally)).map(bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{cell, facts, run_at};

    #[test]
    fn a_bin_begins_at_its_first_value() {
        let mut curve = Curve::default();
        for age in [0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 99] {
            curve.since_compactions(age).questions += 1;
        }
        assert_eq!(curve.compactions.map(|tally| tally.questions), [1, 1, 1, 2, 2, 2, 2]);
        for age in [0, 1_999, 2_000, 4_000, 7_999, 8_000, 16_000, 31_999, 63_999, 64_000] {
            curve.since_tokens(age).questions += 1;
        }
        assert_eq!(curve.tokens.map(|tally| tally.questions), [2, 1, 2, 1, 2, 1, 1]);
    }

    #[test]
    fn bin_averages_what_was_asked_at_its_age() {
        let tallies = [
            Tally { questions: 4, score: 3.0, references: 5, kept: 2 },
            Tally::default(),
            Tally { questions: 2, score: 0.5, references: 0, kept: 0 },
            Tally { questions: 0, score: 0.0, references: 3, kept: 3 },
        ];
        let bin = |from, to, (questions, recall), (references, reference_recall)| AgeBin {
            from,
            to,
            questions,
            recall,
            references,
            reference_recall,
        };
        assert_eq!(
            bins(&[0, 2, 5, 9], &tallies),
            [
                bin(0, Some(2), (4, Some(0.75)), (5, Some(0.4))),
                bin(5, Some(9), (2, Some(0.25)), (0, None)),
                bin(9, None, (0, None), (3, Some(1.0))),
            ]
        );
    }

    #[test]
    fn compactions_count_after_the_message_up_to_request() {
        let at = |made: crate::testkit::CellBuilder, (request, seen): (u32, u32)| {
            made.compaction(900, 300).with_compaction(|row| {
                (row.request, row.messages_seen) = (request, seen);
            })
        };
        let made = [(2, 4), (5, 9), (5, 9), (8, 15)].into_iter().fold(cell("s", "x"), at).build();
        let rows = made.rows().unwrap();
        for (message, request, expected) in [
            (9, 5, 0),
            (8, 5, 2),
            (8, 7, 2),
            (8, 8, 3),
            (3, 4, 1),
            (4, 2, 0),
            (3, 2, 1),
            (20, 5, 0),
        ] {
            let found = compactions_between(rows, message, request);
            assert_eq!(found, expected, "message {message}, request {request}");
        }
    }

    #[test]
    fn curves_follow_typed_windows_full_lacks_compaction_curve() {
        let mut one = facts("s").requests(&[1_000, 2_000]);
        for _ in 0..3 {
            one = one.reference(1, 5_000, None);
        }
        let of = |name: &str, window: &str| {
            cell("s", name).window(window, 9_000).sent(&[1_000, 500]).states("klk").build()
        };
        let cells = vec![of("x", "25%"), of("full", "25%"), of("x", "50%")];
        let report = run_at(&["50%", "25%"], vec![one.build()], cells);
        let actual: Vec<(&str, &str, AgeUnit)> =
            report.forgetting.iter().map(|c| (&*c.window, &*c.strategy, c.age)).collect();
        assert_eq!(
            actual,
            [
                ("50%", "x", AgeUnit::Compactions),
                ("50%", "x", AgeUnit::Tokens),
                ("25%", "full", AgeUnit::Tokens),
                ("25%", "x", AgeUnit::Compactions),
                ("25%", "x", AgeUnit::Tokens),
            ]
        );
        let [bin] = &report.forgetting[1].bins[..] else { panic!("{report:?}") };
        assert_eq!((bin.from, bin.references, bin.reference_recall), (4_000, 3, Some(2.0 / 3.0)));
    }
}
