//! What became of the answers: continuity, over all questions and by their kind, and whether
//! their evidence is still sent (reference §4 and §5).

use crate::html::table;
use crate::{block, number, plain};
use recap_core::model::{QuestionKind, Report, StrategyRow, catalogue};

/// Fewest questions of a kind before it can be called the worst (reference §5).
const KIND_QUESTIONS: usize = 10;

/// A part of a bar.
pub(in crate::html) struct Piece {
    /// How the style sheet calls it.
    pub(in crate::html) class: &'static str,
    /// Percent of the bar.
    pub(in crate::html) width: String,
}

/// Shares side by side, and the same in words.
pub(in crate::html) struct Bar {
    pub(in crate::html) pieces: Vec<Piece>,
    pub(in crate::html) words: String,
    /// How much of it is kept, where that is told apart.
    pub(in crate::html) kept: String,
}

/// One strategy.
pub(in crate::html) struct Row {
    pub(in crate::html) name: String,
    pub(in crate::html) class: &'static str,
    pub(in crate::html) bar: Option<Bar>,
    /// Share of the questions with evidence that is not sent in any form.
    pub(in crate::html) gone: String,
    pub(in crate::html) worst: String,
    /// Continuity by kind, as the heads stand.
    pub(in crate::html) kinds: Vec<String>,
}

/// One data set at one window.
pub(in crate::html) struct Answers {
    pub(in crate::html) kinds: Vec<(&'static str, String)>,
    pub(in crate::html) rows: Vec<Row>,
}

/// Class and name of each piece of a bar.
pub(in crate::html) const PIECES: [(&str, &str); 2] =
    [("kept", "kept: right before and after"), ("lost", "lost: right before, wrong after")];

/// Nothing where no question was asked.
pub(in crate::html) fn answers(report: &Report, block: &block::Block<'_>) -> Option<Answers> {
    let kinds = kinds(report, block.dataset);
    if kinds.is_empty() {
        return None;
    }
    let heads = kinds.iter().map(|(kind, n)| (kind.as_str(), number::grouped(*n as u64)));
    let rows = block.rows.iter().map(|row| self::row(row, &kinds));
    Some(Answers { kinds: heads.collect(), rows: rows.collect() })
}

/// Kinds that occur, with how many questions there are.
pub(in crate::html) fn kinds(report: &Report, dataset: &str) -> Vec<(QuestionKind, usize)> {
    let mine = |name: &str| dataset == block::ALL || name == dataset;
    let facts = report.sessions.iter().filter(|t| mine(&t.dataset));
    let questions: Vec<QuestionKind> =
        facts.flat_map(|t| t.questions.iter().map(|p| p.question.kind)).collect();
    let count = |kind: QuestionKind| questions.iter().filter(|k| **k == kind).count();
    QuestionKind::ALL.into_iter().map(|k| (k, count(k))).filter(|(_, n)| *n > 0).collect()
}

fn row(row: &StrategyRow, kinds: &[(QuestionKind, usize)]) -> Row {
    let shown =
        |figure: Option<f64>, show: fn(f64) -> String| figure.map_or_else(|| "–".to_owned(), show);
    let by_kind = kinds.iter().map(|(kind, _)| row.number(catalogue::continuity_of(*kind)?));
    Row {
        name: plain::line(&row.strategy),
        class: table::class(row.row_kind),
        bar: bar(row),
        gone: shown(row.number(catalogue::EVIDENCE_GONE), number::percent),
        worst: worst(row, kinds),
        kinds: by_kind.map(|points| shown(points, |points| format!("{points:.0}"))).collect(),
    }
}

/// Continuity: the parts of what is right before that are right and wrong after.
fn bar(row: &StrategyRow) -> Option<Bar> {
    let kept = row.number(catalogue::CONTINUITY)? / 100.0;
    let shares = [kept, 1.0 - kept];
    let piece = |((class, _), share): (&(&'static str, _), &f64)| Piece {
        class,
        width: format!("{:.1}", share.clamp(0.0, 1.0) * 100.0),
    };
    let pieces = PIECES.iter().zip(&shares).map(piece).collect();
    let words = PIECES.iter().zip(&shares).filter(|(_, share)| **share > 0.0);
    let words: Vec<String> =
        words.map(|((class, _), share)| format!("{class} {}", part(*share))).collect();
    Some(Bar { pieces, words: words.join(", "), kept: part(kept) })
}

/// A share that is there, never `0 %`, on one line.
pub(in crate::html) fn part(share: f64) -> String {
    let words = if share < 0.005 { "<1 %".to_owned() } else { number::percent(share) };
    words.replace(' ', "\u{A0}")
}

/// The kind with the least continuity, of those with enough questions to say so.
fn worst(row: &StrategyRow, kinds: &[(QuestionKind, usize)]) -> String {
    let figures = kinds.iter().filter(|(_, n)| *n >= KIND_QUESTIONS).filter_map(|(kind, _)| {
        Some((kind.as_str(), row.number(catalogue::continuity_of(*kind)?)?))
    });
    let least = figures.min_by(|a, b| a.1.total_cmp(&b.1));
    least.map_or_else(|| "–".to_owned(), |(kind, points)| format!("{kind}: {points:.0}"))
}
