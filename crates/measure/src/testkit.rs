//! Small sessions and cells for tests, built by hand.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;

use crate::ALL;
use crate::figures::by_session::{BySession, Figure, SessionFingerprint, UnitRow};
use crate::figures::exams::Exams;
use crate::figures::rows::Entry;
use crate::figures::spec::CellInput;
use crate::measure;
use recap_billing::pricing::PriceList;
use recap_core::model::{
    Answer, Bill, Buckets, Calibration, Cell, CellKey, CellOutcome, CellRows, CompactionRow, Cut,
    CutExam, CutOutcome, CutRow, Expectation, Fact, Fit, GradedAnswer, IdentifierClass, Judgement,
    LatencySource, LedgerState, Manifest, MessageFacts, NoGrade, Prices, PromptBill, Question,
    QuestionFacts, QuestionKind, QuestionRow, RECORDED, Recommendation, Recovered, Reference,
    ReferenceOutcome, ReferenceState, Repeated, ReplyFacts, Report, RequestBill, RequestFacts,
    RequestRow, Role, RowKind, RunResults, SessionFacts, Severity, Snapshot, Source, StrategyRow,
    TimeProfile, TokensSource, Unusable, UnusableReplies, Value, Verdict, Vote,
};

#[path = "tests/cells.rs"]
mod cells;
#[path = "tests/facts.rs"]
mod facts;

pub use cells::*;
pub use facts::*;

/// A time profile of round figures.
pub const PROFILE: TimeProfile = TimeProfile {
    user_ms: 60_000.0,
    tool_ms: 1_000.0,
    first_token_ms: 1_000.0,
    prefill_per_s: 10_000.0,
    decode_per_s: 50.0,
};

/// A cell as measures see it, without `full` beside it.
pub fn input<'a>(facts: &'a SessionFacts, cell: &'a Cell) -> CellInput<'a> {
    static NO_KINDS: BTreeSet<QuestionKind> = BTreeSet::new();
    static NO_EXAMS: LazyLock<Exams<'static>> = LazyLock::new(Exams::default);
    static NONE_REPEATED: LazyLock<Repeated> = LazyLock::new(Repeated::default);
    static PRICES: LazyLock<PriceList> = LazyLock::new(|| PriceList::from(&prices()));
    let rows = cell.rows().unwrap();
    CellInput {
        facts,
        cell,
        rows,
        full: None,
        recorded: None,
        billing_model: RECORDED,
        prices: &PRICES,
        kind: None,
        kinds: &NO_KINDS,
        exams: &NO_EXAMS,
        repeated: &NONE_REPEATED,
    }
}

/// A valid reply of a hundred tokens for an input of a thousand.
pub fn reply(input: u64, text: u64) -> ReplyFacts {
    let (replaced, written, bound) = (1_000, 100, 500);
    ReplyFacts { input, text: Some(text), replaced, written, bound, unusable: None }
}

/// A reply that is unusable by itself.
pub fn unusable(input: u64, why: Unusable) -> ReplyFacts {
    ReplyFacts { text: None, written: 0, unusable: Some(why), ..reply(input, 0) }
}

/// The manifest of a run over these windows.
pub fn manifest(windows: &[&str]) -> Manifest {
    Manifest {
        title: "sessions".into(),
        version: "0.0.0".into(),
        instrument: 1,
        seed: 7,
        tokens: "o200k".into(),
        windows: windows.iter().map(|w| (*w).to_owned()).collect(),
        scaled: true,
        cuts: "none".into(),
        questions: "none".to_owned(),
        depth: 0,
        replicates: 1,
        sessions: Vec::new(),
        strategies: Vec::new(),
        savers: Vec::new(),
        compactor: "offline".into(),
        answerer: "offline".into(),
        judge: "offline".into(),
        embedder: None,
        source: Source::Lexical,
        agent_models: vec![RECORDED.into()],
        prices: prices(),
        profile: PROFILE,
        named: Vec::new(),
        comparator: None,
        margin: recap_core::model::MARGIN,
        no_text: false,
        shard: None,
        compact_at: Vec::new(),
        grid: None,
        agent: None,
        planned: recap_core::model::Planned::default(),
        warnings: Vec::new(),
    }
}

/// Two models, in USD per million tokens: `dear` at 4 (read 0.4, write 5, output
/// 20), above 1,000 tokens of prompt at 8; `cheap` at 1 (0.1, 1.25, 5).
fn prices() -> Prices {
    let entry = |input: f64| {
        serde_json::json!({
            "input_cost_per_token": input / 1e6,
            "cache_read_input_token_cost": input / 1e7,
            "cache_creation_input_token_cost": input * 1.25 / 1e6,
            "output_cost_per_token": input * 5.0 / 1e6,
        })
    };
    let mut dear = entry(4.0);
    dear["input_cost_per_token_above_1k_tokens"] = 8e-6.into();
    let models = [("dear".to_owned(), dear), ("cheap".to_owned(), entry(1.0))].into();
    let (name, date) = ("a list".to_owned(), Some("2026-11-21".to_owned()));
    Prices { name, date, hash: "0123456789abcdef".into(), models }
}

/// A prompt of this many uncached, read and written tokens.
pub fn buckets(uncached: u64, read: u64, write: u64) -> Buckets {
    Buckets { uncached, read, write, ..Buckets::default() }
}

/// A prompt as a bill contains it.
pub fn prompt(uncached: u64, read: u64, write: u64) -> PromptBill {
    let billed = buckets(uncached, read, write);
    PromptBill { billed }
}

/// Judges `a`, `b` and `c` vote: `r`ight, `w`rong, `u`nscored. The majority of
/// the grades holds.
pub fn vote(judgement: &mut Judgement, votes: &str) {
    let verdict = |vote| match vote {
        'r' => (Verdict::Correct, Some(1.0)),
        'w' => (Verdict::Incorrect, Some(0.0)),
        'u' => (Verdict::Unscored(NoGrade::from("silent".to_owned())), None),
        other => panic!("no vote is called `{other}`"),
    };
    let cast = |(judge, cast): (&str, char)| {
        let (verdict, score) = verdict(cast);
        Vote { judge: judge.into(), verdict, score }
    };
    judgement.votes = ["a", "b", "c"].into_iter().zip(votes.chars()).map(cast).collect();
    let count = |vote: char| votes.chars().filter(|other| *other == vote).count();
    let majority = match count('r').cmp(&count('w')) {
        Ordering::Greater => 'r',
        Ordering::Less => 'w',
        Ordering::Equal => 'u',
    };
    (judgement.verdict, judgement.score) = verdict(majority);
}

/// The result of a question by a letter that `CellBuilder::answers` explains.
pub fn answered(question: u32, outcome: char) -> QuestionRow {
    let there = outcome.is_ascii_uppercase() || outcome == '+';
    let graded =
        || GradedAnswer { answer: Answer::Said("it".into()), judgement: judgement(outcome) };
    QuestionRow {
        question,
        snapshot: 0,
        evidence: Some(if there { LedgerState::Verbatim } else { LedgerState::Gone }),
        age_compactions: None,
        findable: (outcome != '?').then_some(there),
        answered: (!"+-?".contains(outcome)).then(graded),
        recovered: None,
    }
}

/// A judgement by a letter that `CellBuilder::answers` explains.
fn judgement(outcome: char) -> Judgement {
    let (verdict, score) = match outcome.to_ascii_lowercase() {
        'r' => (Verdict::Correct, Some(1.0)),
        'h' => (Verdict::Partial(0.5), Some(0.5)),
        'w' => (Verdict::Incorrect, Some(0.0)),
        'd' => (Verdict::Abstained, Some(0.0)),
        'u' => (Verdict::Unscored(NoGrade::from("no judge".to_owned())), None),
        other => panic!("no outcome is called `{other}`"),
    };
    Judgement { verdict, score, rationale: String::new(), votes: Vec::new() }
}

/// A measured run at the window `25%`.
pub fn run(facts: Vec<SessionFacts>, cells: Vec<Cell>) -> Report {
    run_at(&["25%"], facts, cells)
}

/// A measured run over these windows.
pub fn run_at(windows: &[&str], facts: Vec<SessionFacts>, cells: Vec<Cell>) -> Report {
    measure(manifest(windows), "d".into(), facts, RunResults::new(cells, []))
}

#[track_caller]
pub fn close(row: &StrategyRow, id: &str, expected: f64) {
    let found = row.number_of(id).unwrap_or_else(|| panic!("{id}: {:?}", row.values.get(id)));
    assert!((found - expected).abs() < 1e-9, "{id} is {found}, expected {expected}");
}

#[track_caller]
pub fn absent(row: &StrategyRow, id: &str, because: &str) {
    match row.values.get(id) {
        Some(Value::Absent(reason)) => {
            assert!(reason.to_string().contains(because), "{id}: {reason}");
        }
        other => panic!("{id} is {other:?}"),
    }
}

/// A session of ten requests of 100 tokens, each with two references.
pub(super) fn twenty_references(id: &str) -> SessionFacts {
    let mut builder = facts(id).requests(&[100; 10]);
    for request in 0..10 {
        builder = builder.reference(request, 5_000, None).reference(request, 5_000, None);
    }
    builder.build()
}

/// A cell that keeps this many of [`twenty_references`].
pub(super) fn keeps(id: &str, strategy: &str, kept: usize) -> CellBuilder {
    let states = "k".repeat(kept) + &"l".repeat(20 - kept);
    cell(id, strategy).sent(&[100; 10]).states(&states)
}

/// `full` of 300 and 600 tokens writes 300, then reads them and writes 300:
/// 1.5 + 0.2 and 0.12 + 1.5 + 0.2 thousandths of a dollar, 3.52 in all.
pub(super) fn full(id: &str) -> CellBuilder {
    let requests = [(0, 0, 300), (0, 300, 300)];
    cell(id, "full").control().sent(&[300, 600]).bill(RECORDED, "dear", &requests)
}

/// A cell that sends 300 and 400 tokens, and reads nothing at the second
/// request: 1.7 + 2.0 + 0.2 thousandths, 3.9 in all.
pub(super) fn breaking(id: &str) -> CellBuilder {
    let requests = [(0, 0, 300), (0, 0, 400)];
    cell(id, "x").sent(&[300, 400]).bill(RECORDED, "dear", &requests).breaks(1)
}

/// A session that is asked so many questions about facts at its second request.
pub(super) fn asking(id: &str, questions: usize) -> SessionFacts {
    let session = facts(id).requests(&[1_000, 2_000]);
    (0..questions).fold(session, |s, _| s.question(QuestionKind::Fact, 1, 3_000)).build()
}

/// A path that is used at request 10 + `later` − 1, the `later`-th after a cut, and was last
/// mentioned `newest_tokens` tokens before the cut.
pub fn fact(later: u32, newest_tokens: u64) -> Fact {
    Fact {
        request: 10 + later - 1,
        text: format!("src/{later}-{newest_tokens}.rs"),
        class: IdentifierClass::Path,
        last_seen: 0,
        newest_tokens,
        refetch: None,
        reread: false,
    }
}

/// The exam of a strategy at a cut.
pub fn examined(strategy: &str, exam: CutExam) -> CutRow {
    let outcome = CutOutcome::Done(Box::new(exam));
    CutRow { strategy: strategy.into(), replicate: 0, row_kind: RowKind::Ranked, outcome }
}

/// The rows of a cell that reached its end.
pub fn rows_of(cell: &mut Cell) -> &mut CellRows {
    let CellOutcome::Done(rows) = &mut cell.outcome else { panic!("it failed") };
    rows
}

/// A figure of each of the sessions `t0`, `t1`, … in a row at window `25%`.
pub fn unit_row(dataset: &str, strategy: &str, figures: &[(&str, &[f64])]) -> UnitRow {
    let ones = |each: &[f64]| each.iter().map(|x| Some(Figure::One(*x))).collect();
    UnitRow {
        dataset: dataset.into(),
        strategy: strategy.into(),
        window: "25%".into(),
        billed_as: RECORDED.into(),
        row_kind: RowKind::Ranked,
        failed: 0,
        figures: figures.iter().map(|(id, each)| ((*id).to_owned(), ones(each))).collect(),
    }
}

/// A run of these rows and as many sessions as they have figures of.
pub fn by_rows(rows: Vec<UnitRow>) -> BySession {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &rows {
        let figures = row.figures.values().map(Vec::len).max().unwrap_or(0);
        let known = sizes.entry(&row.dataset).or_default();
        *known = figures.max(*known);
    }
    let session = |dataset: &str, at: usize| SessionFingerprint {
        dataset: dataset.into(),
        session: format!("t{at}"),
        cluster: None,
        content: String::new(),
        questions: String::new(),
        words: None,
        tokens: "exact 1".into(),
    };
    let sessions = sizes.iter().flat_map(|(set, n)| (0..*n).map(move |at| session(set, at)));
    BySession { sessions: sessions.collect(), rows }
}

/// A row over all sessions with these figures: of a control if it has no rank.
pub(super) fn entry_at(
    (window, window_tokens): (&str, f64),
    strategy: &str,
    rank: Option<u32>,
    values: &[(&str, f64)],
) -> Entry {
    let row = StrategyRow {
        agent_model: RECORDED.into(),
        dataset: ALL.into(),
        strategy: strategy.into(),
        window: window.into(),
        row_kind: if rank.is_some() { RowKind::Ranked } else { RowKind::Control },
        rank,
        values: values.iter().map(|(id, v)| ((*id).into(), Value::Known(*v))).collect(),
        intervals: BTreeMap::new(),
        verdict: None,
        failed: Vec::new(),
    };
    let (scores, replies) = (BTreeMap::new(), UnusableReplies::default());
    Entry { row, scores, asked: 20, window_tokens, acted: true, replies }
}

/// Problems and limits of a report as text, in their order.
pub fn warnings(report: &Report) -> Vec<String> {
    let findings = report.findings.iter().filter(|f| f.severity != Severity::Observation);
    findings.map(|found| found.text.clone()).collect()
}

/// The whole recommendation of a report as text.
pub fn answer(report: &Report) -> String {
    paragraph(report.recommendation.as_ref().expect("there are rows"))
}

/// What a replay at the windows of a run comes to, in one paragraph.
pub fn paragraph(of: &Recommendation) -> String {
    let first = of.harness.as_ref().unwrap_or(&of.answer);
    let parts = [first].into_iter().chain(&of.also).chain([&of.how_sure]).chain(&of.doubt);
    parts.map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// A cut before request 10, with 10,000 tokens before it, of which 2,000 are
/// the preamble, and 40 requests after it.
pub(super) fn cut(session: &str, facts: Vec<Fact>, rows: Vec<CutRow>) -> Cut {
    Cut {
        dataset: "d".into(),
        session: session.into(),
        request: 10,
        recorded: false,
        requests: 40,
        left: Some(40),
        messages: 20,
        tokens_before: 10_000,
        preamble_tokens: 2_000,
        facts,
        rows,
    }
}
