//! The questions: what was asked, expected, answered before and after, how it
//! was graded, and where its evidence went.
//!
//! A run asks a thousand questions of a dozen strategies at several windows, and
//! most strategies give most questions the same answer. So each answer stands
//! once per question, rows refer to it, and the page's script makes a list of
//! what the reader asks for.
//!
//! Invariant: the packed data keep their size whatever the run; what has to be
//! cut or left out for it is whole in `questions.csv`, and the page says so.

pub(super) mod answers;

use askama::Template;
use serde::Serialize;

use crate::html::cells::{Cells, cell};
use crate::html::{Keys, Names};
use crate::packed::packed;
use crate::questions_csv::{agreement, expected};
use crate::{RenderInput, block, number, plain};
use recap_core::model::{
    Agreement, Answer, Cell, FULL, GradedAnswer, LedgerState, QuestionFacts, QuestionRow,
    SessionResults, Source, Verdict,
};

/// Strategies that stand open.
const OPEN: usize = 12;
/// Bytes of the packed data, at most.
const BUDGET: usize = 900_000;
/// Characters of an answer or a reason, the first that fits the budget.
const LIMITS: [usize; 7] = [1_200, 500, 250, 150, 100, 80, 60];
/// Characters of what was asked and expected, at least: it stands once.
const ASKED: usize = 400;
/// The section.
#[derive(Template)]
#[template(path = "questions/questions.html")]
pub(super) struct Questions {
    pieces: [(&'static str, &'static str); 2],
    tables: Vec<Table>,
    /// For the script; see [`Packed`].
    data: String,
    /// What had to be cut.
    cut: Option<String>,
    with_texts: bool,
    /// Whether a model answered.
    answered: bool,
    replicates: u32,
}

/// The answers of one table.
struct Table {
    keys: Keys,
    heading: Option<String>,
    is_open: bool,
    answers: answers::Answers,
}

impl Table {
    /// Strategies that stand open, and those that are folded away. Yardsticks
    /// stand in the full table.
    fn open(&self, open: bool) -> Vec<&answers::Row> {
        let choices = self.answers.rows.iter().filter(|row| row.class != "control");
        let (skipped, taken) = if open { (0, OPEN) } else { (OPEN, usize::MAX) };
        choices.skip(skipped).take(taken).collect()
    }
}

/// What the script reads. Names are short because they are said often.
#[derive(Serialize)]
struct Packed {
    /// Whether questions and answers may be shown.
    words: bool,
    /// Name and class, in the order of the table.
    strategies: Vec<(String, &'static str)>,
    windows: Vec<String>,
    sessions: Vec<String>,
    /// Position of `full`, the answer before.
    before: Option<usize>,
    /// Position of the strategy that the list opens with.
    first: usize,
    questions: Vec<PackedQuestion>,
}

#[derive(Serialize)]
struct PackedQuestion {
    id: String,
    kind: &'static str,
    /// Position among the sessions.
    session: usize,
    /// Message after which it is asked, from 1.
    at: u32,
    /// Tokens since its evidence was last said.
    age: Option<u64>,
    /// Ordinal of the request whose context it was put to.
    request: u32,
    /// Messages that answer it.
    evidence: Vec<u32>,
    question: String,
    expected: String,
    stale: Vec<String>,
    answers: Vec<Given>,
    /// One number per strategy and window, strategies outermost; see [`code`].
    rows: Vec<i64>,
}

/// An answer as it was graded: text, verdict, score, the judge's reason.
#[derive(Clone, PartialEq, Serialize)]
struct Given(String, &'static str, Option<f64>, String);

/// Everything that stays the same from question to question.
struct Board<'a> {
    source: &'a RenderInput<'a>,
    cells: &'a Cells<'a>,
}

/// Nothing where no question was asked.
pub(super) fn questions(
    source: &RenderInput<'_>,
    cells: &Cells<'_>,
    blocks: &[block::Block<'_>],
    open: usize,
) -> Option<Questions> {
    let report = source.report;
    let all: usize = report.sessions.iter().map(|t| t.questions.len()).sum();
    if all == 0 {
        return None;
    }
    let (data, cut) = listed(&Board { source, cells }, all);
    Some(Questions {
        pieces: answers::PIECES,
        tables: tables(source, blocks, open),
        data,
        cut,
        with_texts: source.texts.is_some(),
        answered: report.manifest.answered_by() == Source::Model,
        replicates: report.manifest.replicates,
    })
}

/// What became of the answers; the same whoever pays.
fn tables(source: &RenderInput<'_>, blocks: &[block::Block<'_>], open: usize) -> Vec<Table> {
    let names = Names::new(blocks);
    let is_same =
        |a: &block::Block<'_>, b: &block::Block<'_>| (a.dataset, a.window) == (b.dataset, b.window);
    let each = blocks.iter().enumerate().filter_map(|(at, block)| {
        if blocks[..at].iter().any(|other| is_same(other, block)) {
            return None;
        }
        Some(Table {
            keys: names.keys(block),
            heading: (blocks.len() > 1).then(|| {
                format!("{}, {}", plain::line(block.dataset), block::titled(block.window))
            }),
            is_open: is_same(&blocks[open], block),
            answers: answers::answers(source.report, block)?,
        })
    });
    each.collect()
}

/// The packed questions within their bytes, and what had to be cut for it.
fn listed(board: &Board<'_>, all: usize) -> (String, Option<String>) {
    let mut shown = all;
    let mut limits = LIMITS.into_iter();
    let mut limit = limits.next().expect("there are limits");
    loop {
        let data = packed(&board.packed(limit, shown));
        if data.len() <= BUDGET || shown == 0 {
            return (data, cut(all, shown, limit, board.longest() > limit));
        }
        match limits.next() {
            Some(next) => limit = next,
            None => shown /= 2,
        }
    }
}

fn cut(all: usize, shown: usize, limit: usize, shortened: bool) -> Option<String> {
    let mut parts = Vec::new();
    if shown < all {
        let (shown, all) = (number::grouped(shown as u64), number::grouped(all as u64));
        parts.push(format!("only the first {shown} of {all} questions are listed"));
    }
    if shortened {
        let limit = number::grouped(limit as u64);
        parts.push(format!("answers and reasons are cut after {limit} characters"));
    }
    (!parts.is_empty()).then(|| format!("{}; all is in questions.csv", parts.join(", ")))
}

impl<'a> Board<'a> {
    /// Characters of the longest answer.
    fn longest(&self) -> usize {
        let said = |row: &QuestionRow| match row.answered.as_ref().map(|own| &own.answer) {
            Some(Answer::Said(text)) if self.source.texts.is_some() => text.chars().count(),
            _ => 0,
        };
        let of_session = |session: SessionResults<'_>| {
            let rows =
                session.cells().iter().filter_map(Cell::rows).flat_map(|rows| &rows.questions);
            rows.map(said).max().unwrap_or(0)
        };
        self.source.report.results.iter().map(of_session).max().unwrap_or(0)
    }

    fn packed(&self, limit: usize, shown: usize) -> Packed {
        let sessions = &self.source.report.sessions;
        let mut questions: Vec<PackedQuestion> = Vec::new();
        for (at, facts) in sessions.iter().enumerate() {
            let room = shown - questions.len();
            if room == 0 {
                break;
            }
            let session = self.cells.session(facts);
            let rows = Rows::of(self.cells, session.as_ref());
            let own = facts.questions.iter().enumerate().take(room);
            questions
                .extend(own.map(|(number, asked)| self.question(at, number, asked, &rows, limit)));
        }
        Packed {
            words: self.source.texts.is_some(),
            strategies: self.cells.strategy_names(),
            windows: self.cells.window_names(),
            sessions: self.cells.session_names(),
            before: self.cells.strategies.iter().position(|(name, _)| *name == FULL),
            first: self.cells.first(),
            questions,
        }
    }

    /// A text of the recording, where texts are shown at all.
    fn words(&self, text: &str, limit: usize) -> String {
        match self.source.texts {
            Some(_) => plain::lines(&plain::shortened(text.trim(), limit)),
            None => String::new(),
        }
    }

    fn question(
        &self,
        session: usize,
        number: usize,
        asked: &QuestionFacts,
        rows: &Rows<'_>,
        limit: usize,
    ) -> PackedQuestion {
        let question = &asked.question;
        let mut answers: Vec<Given> = Vec::new();
        let codes = rows.cells.iter().map(|pair| {
            let Some((cell, row)) = pair.and_then(|cell| Some((cell, row(cell, number)?))) else {
                return -1;
            };
            let given = self.given(row, limit);
            let at = answers.iter().position(|a| *a == given).unwrap_or_else(|| {
                answers.push(given);
                answers.len() - 1
            });
            code(at, cell, row, rows.agreement(cell, row))
        });
        let codes = codes.collect();
        PackedQuestion {
            id: plain::line(&question.id),
            kind: question.kind.as_str(),
            session,
            at: question.asked_at + 1,
            age: asked.age_tokens,
            request: asked.request,
            evidence: asked.evidence.clone(),
            question: self.words(&question.question, limit.max(ASKED)),
            expected: self.words(&expected(&question.expect), limit.max(ASKED)),
            stale: match self.source.texts {
                Some(_) => question.stale.iter().map(|s| self.words(s, limit.max(ASKED))).collect(),
                None => Vec::new(),
            },
            answers,
            rows: codes,
        }
    }

    fn given(&self, row: &QuestionRow, limit: usize) -> Given {
        let Some(GradedAnswer { answer, judgement }) = &row.answered else {
            return Given(String::new(), found(row), row.score(), String::new());
        };
        let said = match answer {
            Answer::Said(text) => self.words(text, limit),
            // Nobody could grade it, so that the judge is not to blame.
            Answer::Nothing(why) => {
                return Given(String::new(), "no answer", None, plain::line(&why.to_string()));
            }
        };
        let why = match &judgement.verdict {
            Verdict::Unscored(reason) => plain::line(&reason.to_string()),
            _ => self.words(&judgement.rationale, limit),
        };
        Given(said, judgement.verdict.as_str(), judgement.score, why)
    }
}

/// Whether an answer is findable, in words.
pub(super) fn found(row: &QuestionRow) -> &'static str {
    match row.findable {
        Some(true) => "findable",
        Some(false) => "not findable",
        None => "no value to find",
    }
}

/// The cells of one session, strategies outermost, with what `full` answered.
struct Rows<'a> {
    cells: Vec<Option<&'a Cell>>,
    full: Vec<Option<&'a Cell>>,
}

impl<'a> Rows<'a> {
    fn of(cells: &Cells<'_>, session: Option<&'a SessionResults<'_>>) -> Self {
        let full = cells.windows.iter().map(|window| cell(session?, FULL, window));
        Rows { cells: cells.of(session), full: full.collect() }
    }

    fn agreement(&self, cell: &Cell, after: &QuestionRow) -> Option<Agreement> {
        let full = self.full.iter().flatten().find(|full| full.key.window == cell.key.window)?;
        let pre = row(full, after.question as usize)?;
        agreement(cell, after, Some((full, pre)))
    }
}

/// Rows stand in the order of the questions.
fn row(cell: &Cell, number: usize) -> Option<&QuestionRow> {
    cell.rows()?.questions.get(number)
}

/// Position of the answer, outcome, state of the evidence, whether the answer is
/// findable and whether the provider would have refused, in one number
/// that `questions.js` takes apart.
fn code(answer: usize, cell: &Cell, row: &QuestionRow, agreement: Option<Agreement>) -> i64 {
    let agreement = agreement.map_or(0, |a| a as i64 + 1);
    let evidence = match row.evidence {
        None => 0,
        Some(LedgerState::Verbatim) => 1,
        Some(LedgerState::Edited) => 2,
        Some(LedgerState::Folded) => 3,
        Some(LedgerState::Gone) => 4,
    };
    let there = row.findable.map_or(0, |there| 1 + i64::from(there));
    let refused = i64::from(cell.refuses(row));
    (((answer as i64 * 5 + agreement) * 5 + evidence) * 3 + there) * 2 + refused
}
