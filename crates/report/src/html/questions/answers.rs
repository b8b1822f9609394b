//! What became of the answers: the four outcomes of continuity, where the
//! evidence went, why wrong answers are wrong, and recall by kind of question
//! (reference §4 and §5).

use crate::html::table;
use crate::{block, number, plain};
use recap_core::model::{Measure, QuestionKind, Report, StrategyRow, catalogue};

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
    pub(in crate::html) bars: Vec<Option<Bar>>,
    pub(in crate::html) worst: String,
    /// Recall by kind, as the heads stand.
    pub(in crate::html) kinds: Vec<String>,
}

/// What the bars show, in the order of [`Row::bars`].
pub(in crate::html) struct Head {
    pub(in crate::html) label: &'static str,
    pub(in crate::html) about: &'static str,
    /// Class and name of each piece.
    pub(in crate::html) pieces: &'static [(&'static str, &'static str)],
    measures: &'static [&'static Measure],
}

/// One data set at one window.
pub(in crate::html) struct Answers {
    pub(in crate::html) kinds: Vec<(&'static str, String)>,
    pub(in crate::html) rows: Vec<Row>,
}

/// Every bar.
pub(in crate::html) static HEADS: [Head; 3] = [
    Head {
        label: "before and after",
        about: "exposed questions: right with the whole conversation (before) and with the strategy (after)",
        pieces: &[
            ("kept", "kept: right before and after"),
            ("lost", "lost: right before, wrong after"),
            ("gained", "gained: wrong before, right after"),
            ("neither", "neither: wrong both times"),
        ],
        measures: &[
            catalogue::KEPT,
            catalogue::CONTINUITY_LOST,
            catalogue::GAINED,
            catalogue::NEITHER,
        ],
    },
    Head {
        label: "where the evidence went",
        about: "the messages that hold the answer, by the worst that happened to any of them",
        pieces: &[
            ("verbatim", "verbatim: all sent as recorded"),
            ("edited", "edited: part of it replaced"),
            ("folded", "folded into a summary"),
            ("gone", "gone: not sent in any form"),
        ],
        measures: &[
            catalogue::EVIDENCE_VERBATIM,
            catalogue::EVIDENCE_EDITED,
            catalogue::EVIDENCE_FOLDED,
            catalogue::EVIDENCE_GONE,
        ],
    },
    Head {
        label: "why wrong answers are wrong",
        about: "of the questions that expect a value; what is left of the bar is right",
        pieces: &[
            (
                "lost",
                "lost: the answer is not findable in the context, or the provider would have refused it",
            ),
            ("garbled", "garbled: it is findable, and the whole conversation gets it right"),
            ("unused", "unused: it is findable, and the whole conversation gets it wrong too"),
        ],
        measures: &[catalogue::LOST, catalogue::GARBLED, catalogue::UNUSED],
    },
];

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
    let recall = |kind: QuestionKind| row.number(catalogue::recall_of(kind));
    let by_kind = kinds.iter().map(|(kind, _)| recall(*kind));
    Row {
        name: plain::line(&row.strategy),
        class: table::class(row.row_kind),
        bars: HEADS.iter().map(|head| bar(row, head)).collect(),
        worst: worst(row, kinds),
        kinds: by_kind.map(|r| r.map_or_else(|| "–".to_owned(), number::percent)).collect(),
    }
}

fn bar(row: &StrategyRow, head: &Head) -> Option<Bar> {
    let shares: Vec<f64> =
        head.measures.iter().map(|measure| row.number(measure)).collect::<Option<_>>()?;
    let piece = |((class, _), share): (&(&'static str, _), &f64)| Piece {
        class,
        width: format!("{:.1}", share.clamp(0.0, 1.0) * 100.0),
    };
    let pieces = head.pieces.iter().zip(&shares).map(piece).collect();
    let words = head.pieces.iter().zip(&shares).filter(|(_, share)| **share > 0.0);
    let words: Vec<String> =
        words.map(|((class, _), share)| format!("{class} {}", part(*share))).collect();
    let kept = part(shares[0]);
    Some(Bar { pieces, words: words.join(", "), kept })
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
