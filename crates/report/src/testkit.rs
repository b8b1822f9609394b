//! A comparison made by hand: three sessions, two windows, six strategies with a
//! offline summary, controls, overflows, absent values and a failed cell.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::{RenderInput, Screen, Texts, formats, table};
use recap_core::model::{
    Absent, AgainstFull, Answer, Bill, Buckets, CallBill, Cell, CellKey, CellOutcome, CellRows,
    Check, CheckOutcome, CompactionRow, Cut, CutExam, CutOutcome, CutRow, Exam, Expectation, Fact,
    Finding, GradedAnswer, IdentifierClass, Interval, Judgement, LatencySource, LedgerState,
    LossRow, Manifest, MessageFacts, PanelAgreement, Prices, Primary, PromptBill, Provenance,
    Question, QuestionFacts, QuestionKind, QuestionRow, RECORDED, Receipt, Recommendation,
    Reference, ReferenceOutcome, ReferenceState, Report, RequestBill, RequestFacts, RequestRow,
    Role, RowKind, RowName, RunResults, SESSION_MEASURES, SaverRecovery, SaverRow, SaverSavings,
    SessionFacts, SessionRow, Snapshot, SnapshotPart, Source, StrategyRow, TimeProfile, ToolCut,
    Validation, Value, Verdict, catalogue,
};

#[path = "tests/cells.rs"]
mod cells;
#[path = "tests/cuts.rs"]
mod cuts;
#[path = "tests/sizes.rs"]
mod sizes;

pub(super) use cells::validation;
use cells::*;
pub(super) use cuts::cut;
pub(super) use sizes::sized;

/// Bills every session, at $3 a million tokens, $0.30 read, $3.75 written and
/// $15 of output.
pub(super) const AGENT_MODEL: &str = "claude-sonnet-5-5";

fn prices() -> Prices {
    let entry = serde_json::json!({
        "input_cost_per_token": 3e-6,
        "cache_read_input_token_cost": 3e-7,
        "cache_creation_input_token_cost": 3.75e-6,
        "output_cost_per_token": 1.5e-5,
    });
    let models = [(AGENT_MODEL.to_owned(), entry)].into();
    Prices { name: "a list".to_owned(), date: None, hash: "00ff".repeat(16), models }
}

/// A row of each cell, without figures.
fn session_rows(cells: &[Cell]) -> Vec<SessionRow> {
    let row = |cell: &Cell| SessionRow {
        unit: cell.key.session.rsplit('-').next().unwrap().parse().unwrap(),
        strategy: cell.key.strategy.clone(),
        window: cell.key.window.clone(),
        billed_as: AGENT_MODEL.to_owned(),
        figures: vec![None; SESSION_MEASURES.len()],
    };
    cells.iter().map(row).collect()
}

/// What a report is made of.
pub(super) struct Kit {
    pub(super) sessions: usize,
    pub(super) requests: usize,
    pub(super) windows: Vec<&'static str>,
    pub(super) strategies: Vec<(&'static str, RowKind)>,
}

impl Default for Kit {
    fn default() -> Self {
        Kit {
            sessions: 3,
            requests: 12,
            windows: vec!["25%", "200k"],
            strategies: vec![
                ("full", RowKind::Control),
                ("empty", RowKind::Control),
                ("prune", RowKind::Ranked),
                ("sliding-window", RowKind::Ranked),
                ("fifo", RowKind::Ranked),
                ("continuation", RowKind::OfflineSummary),
            ],
        }
    }
}

/// Every hash answers with a text made from it.
pub(super) struct Echo(pub(super) BTreeMap<String, String>);

/// What a rule came to on a row.
pub(super) fn check(strategy: &str, finding: CheckOutcome, reason: &str) -> Check {
    Check {
        dataset: "ALL".to_owned(),
        strategy: strategy.to_owned(),
        window: "25%".to_owned(),
        agent_model: AGENT_MODEL.to_owned(),
        measure: "reference_recall".to_owned(),
        value: Some(0.5),
        baseline: Some(0.625),
        interval: Some((-0.25, -0.125)),
        sessions: 6,
        finding,
        reason: reason.to_owned(),
    }
}

/// Twelve answers that both graded, agreed on in nine.
pub(super) fn panel() -> PanelAgreement {
    PanelAgreement {
        judges: ["openai/a", "offline", "openai/c"].map(str::to_owned).to_vec(),
        answers: 13,
        both: 12,
        agreed: 9,
        kappa: Some(0.48),
        third: 2,
        nobody: 1,
    }
}

impl Texts for Echo {
    fn get(&self, hash: &str) -> Option<std::borrow::Cow<'_, str>> {
        self.0.get(hash).map(|text| text.as_str().into())
    }
}

impl Kit {
    pub(super) fn report(&self) -> Report {
        let sessions: Vec<SessionFacts> = (0..self.sessions).map(|n| self.facts(n)).collect();
        let mut cells = Vec::new();
        for facts in &sessions {
            for window in &self.windows {
                for (name, row_kind) in &self.strategies {
                    cells.push(cell(facts, name, window, *row_kind));
                }
            }
        }
        Report {
            manifest: self.manifest(),
            title: "my-sessions".to_owned(),
            primary: Primary::ReferenceRecall,
            rows: self.rows(),
            answered_at_cuts: Vec::new(),
            family: None,
            gate: None,
            recommendation: None,
            curve: None,
            twin: None,
            recorded_compactions: Vec::new(),
            missing: None,
            findings: vec![
                Finding::problem("notice", "2 lines of session-1 were left out: torn last line"),
                Finding::observation(
                    "adds_nothing",
                    0.55,
                    "what is written in the place of the history keeps no more at the cuts than an \
                     empty text would: continuation −0.01",
                ),
                Finding::limit(
                    "open_loop",
                    "replay is open loop: the recorded agent does not react to what was forgotten, \
                     so this measures memory and size, not task success",
                ),
            ],
            receipt: Receipt::default(),
            receipts: vec![Receipt::default(); sessions.len()],
            savers: Vec::new(),
            tuned: None,
            session_rows: session_rows(&cells),
            sessions,
            results: RunResults::new(cells, []),
            calls: Vec::new(),
            panel: None,
        }
    }

    /// Texts of every message and summary.
    pub(super) fn texts(&self, report: &Report) -> Echo {
        let messages = report.sessions.iter().flat_map(|t| &t.messages);
        let mut texts: BTreeMap<String, String> = messages
            .map(|m| (m.text.clone(), format!("Text of {} about src/cache/store.rs", m.id)))
            .collect();
        for cell in report.results.cells() {
            let Some(rows) = cell.rows() else { continue };
            for hash in rows.compactions.iter().flat_map(|c| &c.texts) {
                texts.insert(hash.clone(), format!("Summary {hash}: the user wants a cache."));
            }
        }
        Echo(texts)
    }

    fn rows(&self) -> Vec<StrategyRow> {
        let mut rows = Vec::new();
        for (at, window) in self.windows.iter().enumerate() {
            let mut rank = 0;
            for (name, row_kind) in &self.strategies {
                let ranked = *row_kind == RowKind::Ranked;
                rank += u32::from(ranked);
                rows.push(strategy_row(name, window, at, *row_kind, ranked.then_some(rank)));
            }
        }
        rows
    }

    fn manifest(&self) -> Manifest {
        let provenance = |name: String| Provenance { hash: "00ff".repeat(16), name };
        Manifest {
            title: "sessions".to_owned(),
            version: "0.1.0".to_owned(),
            instrument: 1,
            seed: 7,
            tokens: "o200k".to_owned(),
            windows: self.windows.iter().map(|w| (*w).to_owned()).collect(),
            scaled: true,
            cuts: "none".into(),
            questions: "none".to_owned(),
            depth: 0,
            replicates: 1,
            sessions: (0..self.sessions).map(|n| provenance(format!("session-{n}"))).collect(),
            strategies: self.strategies.iter().map(|p| provenance(p.0.to_owned())).collect(),
            savers: Vec::new(),
            compactor: "offline".to_owned(),
            answerer: "offline".to_owned(),
            judge: "offline".to_owned(),
            embedder: None,
            source: Source::Lexical,
            agent_models: vec![RECORDED.to_owned()],
            prices: prices(),
            profile: TimeProfile {
                user_ms: 60_000.0,
                tool_ms: 1_000.0,
                first_token_ms: 1_000.0,
                prefill_per_s: 10_000.0,
                decode_per_s: 50.0,
            },
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

    fn facts(&self, n: usize) -> SessionFacts {
        // Later sessions are longer, so that the longest is not the first.
        let requests = self.requests + n;
        let messages: Vec<MessageFacts> = (0..requests * 2)
            .map(|m| MessageFacts {
                id: format!("s{n}-m{m}"),
                role: if m % 2 == 0 { Role::User } else { Role::Assistant },
                at: None,
                tokens: 400 + (m as u64 * 37) % 900,
                tool: None,
                text: format!("h{n}-{m}"),
            })
            .collect();
        let mut total = 3_000;
        let mut asked = Vec::new();
        for pair in messages.chunks(2) {
            total += pair[0].tokens;
            asked.push(total);
            total += pair[1].tokens;
        }
        SessionFacts {
            dataset: "my-sessions".to_owned(),
            session: format!("session-{n}"),
            preamble_tokens: 3_000,
            requests: asked
                .iter()
                .enumerate()
                .map(|(at, &tokens_full)| RequestFacts {
                    message: at as u32 * 2 + 1,
                    tokens_full,
                    output: 120,
                    at: Timestamp::UNIX_EPOCH,
                    recorded: None,
                    billed: true,
                    exogenous: None,
                    model: 0,
                })
                .collect(),
            messages,
            exam: Exam { references: vec![reference(requests as u32 - 1)], ..Exam::default() },
            questions: vec![question(n, requests as u32 - 1)],
            ..SessionFacts::default()
        }
    }
}

/// The comparison on a terminal of so many columns: what an answer needs.
pub(super) fn narrow(report: &Report, width: usize) -> String {
    table(report, Screen { width, color: false, wide: false })
}

/// A file of a run.
pub(super) fn file(report: &Report, texts: Option<&dyn Texts>, name: &str) -> String {
    let format = formats(&[]).find(|format| format.file == name).unwrap();
    String::from_utf8(format.bytes(&RenderInput { report, texts })).unwrap()
}

/// The same with everything.
pub(super) fn wide(report: &Report, width: usize) -> String {
    table(report, Screen { width, color: false, wide: true })
}

/// An answer that names this strategy.
pub(super) fn recommended(strategy: &str) -> Recommendation {
    Recommendation {
        row: Some(RowName { strategy: strategy.to_owned(), window: "25%".to_owned() }),
        answer: format!(
            "At a window of 25 % use {strategy}: it keeps 86 % of the facts needed next."
        ),
        how_sure: "The largest doubt: replay is open loop: the recorded agent does not react to \
                   what was forgotten, so this measures memory and size, not task success."
            .to_owned(),
        doubt: None,
        also: Vec::new(),
        next: None,
        harness: None,
    }
}

/// A token saver whose edits cost more than they save.
pub(super) fn saver_row(strategy: &str) -> SaverRow {
    let money = SaverSavings { full_usd: 5.05, usd: 12.49 };
    let cut = ToolCut { results: 15, cut: 14, tokens_before: 54_000, tokens_after: 11_000 };
    let whole = ToolCut { results: 3, cut: 0, tokens_before: 900, tokens_after: 900 };
    SaverRow {
        strategy: strategy.to_owned(),
        window: "native".to_owned(),
        agent_model: "m".to_owned(),
        sessions: 1,
        failed: 0,
        requests: 57,
        claimed_tokens: Some(1_731_514),
        claimed_usd: Some(5.1945),
        removed_tokens: 2_290_207,
        cache_breaks: 54,
        money: Ok(money),
        added_ms: Some((19.0, 48.0)),
        tools: vec![("Read".to_owned(), cut), ("Edit".to_owned(), whole)],
        recovery: Some(SaverRecovery { tried: 4, found: 2, tokens: 800 }),
    }
}

/// A comparison that continuity leads: `prune` keeps 61 of 100.
pub(super) fn asked() -> Report {
    let mut report = Kit { windows: vec!["25%"], ..Kit::default() }.report();
    report.primary = Primary::Continuity;
    for row in &mut report.rows {
        let points = match row.strategy.as_str() {
            "full" => 100.0,
            "empty" => 0.0,
            "prune" => 61.4,
            _ => 20.0,
        };
        let kept = points / 100.0 * 0.8;
        let known = [
            ("continuity", points),
            ("continuity_fact", points),
            ("recall", kept + 0.05),
            ("questions", 3.0),
            ("evidence_gone", 0.25),
        ];
        for (id, x) in known {
            row.values.insert(id.to_owned(), Value::Known(x));
        }
        let interval = Interval::Bounds { lo: 50.2, hi: 72.0 };
        row.intervals.insert("continuity".to_owned(), interval);
    }
    report
}
