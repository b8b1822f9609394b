//! A comparison made by hand: three sessions, two windows, six presets with a
//! stand-in, controls, overflows, absent values and a failed cell.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::{Screen, Texts, table};
use crate::model::{
    AgainstFull, Answer, AtStake, Bill, BreakEven, Buckets, CallBill, Cell, CellKey, CellOutcome,
    CellRows, Choice, Chosen, CompactionRow, Cut, CutExam, CutOutcome, CutRow, Exam, Expectation,
    FactAtStake, IdentifierClass, Interval, Judgement, LatencySource, LedgerState, Limit, LossRow,
    Manifest, MessageFacts, Observation, PanelAgreement, Place, PresetRow, Prices, Primary, Probe,
    ProbeFacts, ProbeKind, ProbeRow, Problem, PromptBill, Provenance, RECORDED, Recommendation,
    Reference, ReferenceOutcome, ReferenceState, Replayed, Report, RequestBill, RequestFacts,
    RequestRow, Role, Snapshot, SnapshotPart, Source, Standing, TimeProfile, TokensSource,
    TranscriptFacts, Validation, Value, Verdict, catalogue,
};

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

/// What a report is made of.
pub(super) struct Kit {
    pub(super) sessions: usize,
    pub(super) requests: usize,
    pub(super) windows: Vec<&'static str>,
    pub(super) presets: Vec<(&'static str, Standing)>,
}

impl Default for Kit {
    fn default() -> Self {
        Kit {
            sessions: 3,
            requests: 12,
            windows: vec!["25%", "200k"],
            presets: vec![
                ("full", Standing::Control),
                ("empty", Standing::Control),
                ("prune", Standing::Ranked),
                ("sliding-window", Standing::Ranked),
                ("fifo", Standing::Ranked),
                ("continuation", Standing::StandIn),
            ],
        }
    }
}

/// Every hash answers with a text made from it.
pub(super) struct Echo(pub(super) BTreeMap<String, String>);

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
    fn get(&self, hash: &str) -> Option<&str> {
        self.0.get(hash).map(String::as_str)
    }
}

impl Kit {
    pub(super) fn report(&self) -> Report {
        let transcripts: Vec<TranscriptFacts> = (0..self.sessions).map(|n| self.facts(n)).collect();
        let mut cells = Vec::new();
        for facts in &transcripts {
            for window in &self.windows {
                for (name, standing) in &self.presets {
                    cells.push(cell(facts, name, window, *standing));
                }
            }
        }
        cells.sort_by(|a, b| a.key.cmp(&b.key));
        Report {
            manifest: self.manifest(),
            title: "my-sessions".to_owned(),
            primary: Primary::ReferenceRecall,
            rows: self.rows(),
            forgetting: Vec::new(),
            family: None,
            recency: Vec::new(),
            equal_size: Vec::new(),
            variance: Vec::new(),
            gate: None,
            recommendation: None,
            missing: None,
            findings: vec![
                Problem::Notice("2 lines of session-1 were left out: torn last line".into()).into(),
                Observation::AddsNothing { rows: vec![("continuation".to_owned(), -0.01)] }.into(),
                Limit::OpenLoop.into(),
            ],
            transcripts,
            cells,
            cuts: Vec::new(),
            calls: Vec::new(),
            panel: None,
        }
    }

    /// Texts of every message and summary.
    pub(super) fn texts(&self, report: &Report) -> Echo {
        let messages = report.transcripts.iter().flat_map(|t| &t.messages);
        let mut texts: BTreeMap<String, String> = messages
            .map(|m| (m.text.clone(), format!("Text of {} about src/cache/store.rs", m.id)))
            .collect();
        for rows in report.cells.iter().filter_map(Cell::rows) {
            for hash in rows.compactions.iter().flat_map(|c| &c.texts) {
                texts.insert(hash.clone(), format!("Summary {hash}: the user wants a cache."));
            }
        }
        Echo(texts)
    }

    fn rows(&self) -> Vec<PresetRow> {
        let mut rows = Vec::new();
        for (at, window) in self.windows.iter().enumerate() {
            let mut rank = 0;
            for (name, standing) in &self.presets {
                let ranked = *standing == Standing::Ranked;
                rank += u32::from(ranked);
                rows.push(preset_row(name, window, at, *standing, ranked.then_some(rank)));
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
            depths: Vec::new(),
            replicates: 1,
            transcripts: (0..self.sessions).map(|n| provenance(format!("session-{n}"))).collect(),
            presets: self.presets.iter().map(|p| provenance(p.0.to_owned())).collect(),
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
            margin: crate::model::MARGIN,
            no_text: false,
            planned: crate::model::Planned::default(),
            warnings: Vec::new(),
        }
    }

    fn facts(&self, n: usize) -> TranscriptFacts {
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
        TranscriptFacts {
            dataset: "my-sessions".to_owned(),
            transcript: format!("session-{n}"),
            cluster: None,
            preamble_tokens: 3_000,
            hidden_tokens: 0,
            requests: asked
                .iter()
                .enumerate()
                .map(|(at, &tokens_full)| RequestFacts {
                    message: at as u32 * 2 + 1,
                    tokens_full,
                    output: 120,
                    output_recorded: false,
                    at: Timestamp::UNIX_EPOCH,
                    recorded: None,
                    billed: true,
                    exogenous: None,
                    model: 0,
                })
                .collect(),
            messages,
            exam: Exam { references: vec![reference(requests as u32 - 1)], ..Exam::default() },
            probes: vec![probe(n, requests as u32 - 1)],
            recorded_compactions: 0,
            model: None,
            other_models: Vec::new(),
            tokens_source: TokensSource::Exact,
            calibration: None,
            validation: None,
            no_cut: None,
            as_recorded: None,
            clock_modelled: false,
            sidechains: Vec::new(),
            left_out: Vec::new(),
        }
    }
}

/// The same report with three cuts at depths 1 and 3: two facts at stake in
/// session-0, two in session-1, none at the third, which depth 3 leaves out.
/// `fifo` is over the window at the first and fails at the second; `null:prune` keeps nothing.
pub(super) fn cut(mut report: Report) -> Report {
    use IdentifierClass::{Identifier, Number, Path};
    use ReferenceState::{Bare, Carried, Lost, Partial, Recovered, Verbatim};
    report.primary = Primary::KeptAtCut;
    (report.manifest.cuts, report.manifest.depths) = ("5".to_owned(), vec![1, 3]);
    let mut first = place("session-0", 4, 9_000);
    first.facts = vec![at_stake(4, "src/cache/store.rs", Path), at_stake(9, "48151623", Number)];
    let mut over = exam("fifo", 3, Standing::Ranked, &[Recovered, Lost]);
    if let CutOutcome::Done(exam) = &mut over.outcome {
        exam.refused = vec![1];
    }
    first.rows = vec![
        over,
        exam("full", 1, Standing::Control, &[Verbatim, Verbatim]),
        exam("full", 3, Standing::Control, &[Verbatim, Verbatim]),
        exam("null:prune", 3, Standing::Control, &[Lost, Lost]),
        exam("prune", 1, Standing::Ranked, &[Verbatim, Carried]),
        exam("prune", 3, Standing::Ranked, &[Carried, Lost]),
    ];
    let mut second = place("session-1", 5, 23_000);
    second.facts = vec![at_stake(5, "src/main.rs", Path), at_stake(30, "open_cache", Identifier)];
    let error = "result `call-9` has no call".to_owned();
    let failed =
        CutRow { outcome: CutOutcome::Failed { error }, ..exam("fifo", 3, Standing::Ranked, &[]) };
    second.rows = vec![
        failed,
        exam("full", 1, Standing::Control, &[Verbatim, Verbatim]),
        exam("full", 3, Standing::Control, &[Verbatim, Verbatim]),
        exam("null:prune", 3, Standing::Control, &[Lost, Lost]),
        exam("prune", 1, Standing::Ranked, &[Verbatim, Lost]),
        exam("prune", 3, Standing::Ranked, &[Bare, Partial]),
    ];
    let mut third = place("session-1", 8, 40_000);
    third.rows = vec![exam("prune", 1, Standing::Ranked, &[])];
    report.cuts = vec![first, second, third];
    report.transcripts[2].no_cut = Some("it has 3 requests, and a cut needs 10".to_owned());
    for row in &mut report.rows {
        let kept = row.number(catalogue::REFERENCE_RECALL).unwrap_or(0.0);
        for (id, x) in [
            ("kept_at_cut", kept),
            ("kept_at_cut_first", kept),
            ("depth", 3.0),
            ("cuts", 2.0),
            ("facts_at_stake", 4.0),
            ("sessions_at_stake", 2.0),
            ("carried_share", 0.25),
            ("added_at_cut", 0.125),
            ("gain_at_cut", -0.1),
            ("tokens_at_cut", 0.4),
        ] {
            row.values.insert(id.to_owned(), Value::Known(x));
        }
        row.intervals.insert("added_at_cut".to_owned(), Interval::Student { lo: -0.02, hi: 0.27 });
        row.intervals.insert("kept_at_cut".to_owned(), Interval::Student { lo: 0.1, hi: 0.3 });
    }
    let prune = report.rows.iter().find(|row| row.strategy == "prune").expect("it is a preset");
    let strategy = "null:prune".to_owned();
    let null = PresetRow { strategy, standing: Standing::Control, rank: None, ..prune.clone() };
    report.rows.push(null);
    report
}

fn place(session: &str, request: u32, tokens_before: u64) -> Cut {
    Cut {
        dataset: "my-sessions".to_owned(),
        transcript: session.to_owned(),
        request,
        recorded: false,
        requests: 40,
        messages: 2 * request,
        tokens_before,
        preamble_tokens: 3_000,
        facts: Vec::new(),
        rows: Vec::new(),
    }
}

fn at_stake(request: u32, text: &str, class: IdentifierClass) -> FactAtStake {
    FactAtStake {
        request,
        text: text.to_owned(),
        class,
        last_seen: 1,
        newest_tokens: 5_200,
        refetch: None,
        reread: false,
    }
}

fn exam(strategy: &str, depth: u32, standing: Standing, states: &[ReferenceState]) -> CutRow {
    let exam = CutExam::of_states(9_000, 5_000, states.to_vec());
    let outcome = CutOutcome::Done(Box::new(exam));
    CutRow { strategy: strategy.to_owned(), replicate: 0, depth, standing, outcome }
}

fn reference(request: u32) -> Reference {
    Reference {
        request,
        text: "src/cache/store.rs".to_owned(),
        class: IdentifierClass::Path,
        last_seen: 1,
        distance_tokens: 5_200,
        sources: vec![0, 1],
        refetch: Some(1),
        reread: false,
        support: Vec::new(),
    }
}

/// What the first message said, asked at the last request.
fn probe(n: usize, request: u32) -> ProbeFacts {
    ProbeFacts {
        probe: Probe {
            id: format!("p{n}"),
            transcript: format!("session-{n}"),
            asked_at: request * 2,
            kind: ProbeKind::Fact,
            question: "Where does the cache live?".to_owned(),
            expect: Expectation::AnyOf(vec!["src/cache/store.rs".to_owned()]),
            evidence: vec![format!("s{n}-m0")],
            stale: Vec::new(),
        },
        request,
        evidence: vec![0],
        age_tokens: Some(9_000),
    }
}

fn snapshot(facts: &TranscriptFacts, compacted: bool) -> Snapshot {
    let request = facts.requests.len() as u32 - 1;
    let from = if compacted { 3 } else { 0 };
    Snapshot {
        request,
        tokens: 5_000,
        overflow: false,
        compactions: u32::from(compacted),
        parts: vec![SnapshotPart::Messages { from, to: request * 2 + 1 }],
    }
}

/// Right while the evidence is there.
fn probe_row(state: Option<LedgerState>, compacted: bool) -> ProbeRow {
    let evidence = state.filter(|_| compacted).unwrap_or(LedgerState::Verbatim);
    let right = evidence == LedgerState::Verbatim;
    let (answer, verdict) = if right {
        ("It lives in src/cache/store.rs.", Verdict::Correct)
    } else {
        ("I don't know.", Verdict::Abstained)
    };
    ProbeRow {
        probe: 0,
        snapshot: 0,
        evidence: Some(evidence),
        age_compactions: Some(u32::from(compacted)),
        answerable: Some(right),
        answer: Answer::Said(answer.to_owned()),
        judgement: Judgement {
            verdict,
            score: Some(if right { 1.0 } else { 0.0 }),
            rationale: "the path is named".to_owned(),
            votes: Vec::new(),
        },
        recovered: None,
    }
}

fn cell(facts: &TranscriptFacts, name: &str, window: &str, standing: Standing) -> Cell {
    let key = CellKey {
        dataset: facts.dataset.clone(),
        transcript: facts.transcript.clone(),
        strategy: name.to_owned(),
        window: window.to_owned(),
        replicate: 0,
    };
    let failed = name == "fifo" && facts.transcript == "session-0" && window == "200k";
    let outcome = if failed {
        CellOutcome::Failed { error: "result `call-9` has no call".to_owned() }
    } else {
        CellOutcome::Done(Box::new(rows(facts, name, window)))
    };
    Cell { key, standing, outcome }
}

/// From the fourth request on, every second request drops, edits or folds the
/// oldest three messages that are still whole.
fn rows(facts: &TranscriptFacts, name: &str, window: &str) -> CellRows {
    let state = match name {
        "prune" => Some(LedgerState::Edited),
        "continuation" => Some(LedgerState::Folded),
        "full" => None,
        _ => Some(LedgerState::Gone),
    };
    let limit = if window == "25%" { 8_000 } else { 200_000 };
    let (mut loss, mut compactions, mut requests) = (Vec::new(), Vec::new(), Vec::new());
    let (mut removed, mut lost) = (0, 0);
    for (at, request) in facts.requests.iter().enumerate() {
        if let (Some(state), true) = (state, at >= 4 && at % 2 == 0) {
            let tokens_before = request.tokens_full - removed;
            for message in lost..lost + 3 {
                removed += facts.messages[message].tokens * 3 / 4;
                loss.push(LossRow { message: message as u32, request: at as u32, state });
            }
            lost += 3;
            compactions.push(compaction(at as u32, tokens_before, request.tokens_full - removed));
        }
        let tokens_sent = request.tokens_full - removed;
        requests.push(RequestRow {
            tokens_sent,
            estimated: (name == "fifo").then_some(tokens_sent * 9 / 10),
            messages: request.message,
            overflow: tokens_sent + request.output > limit,
            valid: true,
            common_prefix: 0,
            cache_break: false,
        });
    }
    let reference = if name == "full" { ReferenceState::Verbatim } else { ReferenceState::Lost };
    let bills = vec![Arc::new(bill(&requests, &compactions))];
    CellRows {
        window: limit,
        preamble_added: 0,
        requests: Arc::new(requests),
        compactions,
        references: vec![ReferenceOutcome { reference: 0, state: reference }],
        snapshots: vec![snapshot(facts, removed > 0)],
        probes: vec![probe_row(state, removed > 0)],
        loss,
        cpu_ms: 1.25,
        notices: Vec::new(),
        bills,
    }
}

/// Each request reads what the one before sent and writes the rest; after a
/// compaction, which sends 1,000 tokens anew and is answered with 200, it reads
/// the preamble only.
fn bill(requests: &[RequestRow], compactions: &[CompactionRow]) -> Bill {
    let mut before = 0;
    let billed = (0u32..).zip(requests).map(|(at, row)| {
        let compacted = compactions.iter().any(|compaction| compaction.request == at);
        let read = if compacted { 3_000 } else { before };
        before = row.tokens_sent;
        let billed = Buckets { read, write: before - read, ..Buckets::default() };
        let prompt = PromptBill { billed, ideal_read: read, ..PromptBill::default() };
        Some(RequestBill { prompt, rewritten: 0, model: 0 })
    });
    let billed = billed.collect();
    let call = |(compaction, _)| CallBill {
        compaction,
        prompt: PromptBill {
            billed: Buckets { uncached: 1_000, ..Buckets::default() },
            ..PromptBill::default()
        },
        output: 200,
    };
    let even = |(compaction, row): (u32, &CompactionRow)| BreakEven {
        compaction,
        requests: (compaction == 0).then_some(3),
        formula: Some(2.5),
        left: requests.len() as u32 - row.request,
    };
    Bill {
        billed_as: RECORDED.to_owned(),
        model: AGENT_MODEL.to_owned(),
        rules: crate::model::CacheRules::None,
        other_models: Vec::new(),
        compactor: None,
        requests: billed,
        calls: (0u32..).zip(compactions).map(call).collect(),
        break_even: (0u32..).zip(compactions).map(even).collect(),
    }
}

/// A session of 100 requests whose simulation is off by this in reads, writes
/// and dollars.
pub(super) fn validation(off: f64) -> Validation {
    let buckets = |factor: f64| Buckets {
        uncached: 100,
        read: (1e6 * factor).round() as u64,
        write: (1e5 * factor).round() as u64,
        ..Buckets::default()
    };
    Validation {
        model: AGENT_MODEL.to_owned(),
        requests: 100,
        recorded: buckets(1.0),
        simulated: buckets(1.0 + off),
        recorded_usd: Some(2.0),
        simulated_usd: Some(2.0 * (1.0 + off)),
        cold_starts: 2,
        expired: 1,
        renewed: 0,
    }
}

fn compaction(request: u32, tokens_before: u64, tokens_after: u64) -> CompactionRow {
    CompactionRow {
        request,
        begun: request,
        messages_seen: request * 2 + 1,
        at_end: false,
        stage: 0,
        mechanism: "summary".to_owned(),
        trigger: "tokens > 80%".to_owned(),
        tokens_before,
        tokens_after,
        messages_folded: 3,
        messages_evicted: 0,
        messages_edited: 0,
        model_calls: 1,
        input_tokens: tokens_before,
        output_tokens: 200,
        cpu_ms: 0.5,
        latency_ms: Some(4_200.0),
        latency_source: Some(LatencySource::Modelled),
        background: false,
        fallback: None,
        error: None,
        texts: vec![format!("summary-{request}")],
        replies: Vec::new(),
        view: false,
    }
}

fn preset_row(
    name: &str,
    window: &str,
    at: usize,
    standing: Standing,
    rank: Option<u32>,
) -> PresetRow {
    let wide = at as f64 * 0.1;
    let (recall, gain, share, savings): (f64, Option<f64>, f64, f64) = match name {
        "full" => (1.0, None, 1.0, 0.0),
        "empty" => (0.0, Some(-0.02), 0.06, 0.91),
        "prune" => (0.86, Some(0.27), 0.46 + wide, 0.44),
        "sliding-window" => (0.21, Some(0.11), 0.21 + wide, -0.22),
        "continuation" => (0.64, Some(0.2), 0.3 + wide, 0.12),
        _ => (0.4 + wide, Some(-0.004), 0.5 + wide, -0.03),
    };
    let known = Value::Known;
    let mut values = BTreeMap::from([
        ("transcripts".to_owned(), known(3.0)),
        ("requests".to_owned(), known(39.0)),
        ("references".to_owned(), known(3.0)),
        ("reference_recall".to_owned(), known(recall)),
        ("tokens_full".to_owned(), known(360_000.0)),
        ("tokens_sent".to_owned(), known(360_000.0 * share)),
        ("token_savings".to_owned(), known(1.0 - share)),
        ("mean_tokens".to_owned(), known(9_000.0 * share)),
        ("peak_tokens".to_owned(), known(18_230.0 * share)),
        ("compactions".to_owned(), known(if name == "full" { 0.0 } else { 12.0 })),
        ("overflows".to_owned(), known(if name == "full" && at == 0 { 37.0 } else { 0.0 })),
        ("cost_usd".to_owned(), known(41.2 * (1.0 - savings))),
        ("cost_savings".to_owned(), known(savings)),
        ("cost_usd_refetch".to_owned(), Value::Absent("no price list was given".to_owned())),
        ("blocking_ms_sum".to_owned(), known(0.0)),
        ("reference_recall_4k_8k".to_owned(), known(recall)),
        ("cpu_ms".to_owned(), known(1.25)),
    ]);
    let wait = match name {
        "full" | "empty" => Value::Absent("nothing was compacted".to_owned()),
        "continuation" => known(4_200.0),
        _ => known(0.0),
    };
    values.insert("blocking_ms_p95".to_owned(), wait);
    let reason = "a control has no size of its own to compare at".to_owned();
    values.insert("recency_gain".to_owned(), gain.map_or(Value::Absent(reason), known));
    PresetRow {
        dataset: "my-sessions".to_owned(),
        strategy: name.to_owned(),
        window: window.to_owned(),
        agent_model: AGENT_MODEL.to_owned(),
        standing,
        rank,
        values,
        intervals: BTreeMap::from_iter((name != "full").then(|| {
            let values = vec![recall * 0.9, recall, (recall * 1.1).min(1.0)];
            ("reference_recall".to_owned(), Interval::Dots { values })
        })),
        verdict: (standing == Standing::Ranked).then_some(AgainstFull::Descriptive),
        failed: if name == "fifo" && window == "200k" {
            vec!["session-0: result `call-9` has no call".to_owned()]
        } else {
            Vec::new()
        },
    }
}

/// The comparison on a terminal of so many columns: what an answer needs.
pub(super) fn narrow(report: &Report, width: usize) -> String {
    table(report, Screen { width, color: false, wide: false })
}

/// The same with everything.
pub(super) fn wide(report: &Report, width: usize) -> String {
    table(report, Screen { width, color: false, wide: true })
}

/// An answer that names this preset.
pub(super) fn recommended(strategy: &str) -> Recommendation {
    Recommendation {
        replayed: Replayed {
            sessions: 1,
            requests: 6,
            asked: AtStake::NeededFacts(60),
            strategies: 4,
            windows: vec!["25%".to_owned()],
        },
        choice: Choice::Use(Box::new(Chosen {
            row: Place { strategy: strategy.to_owned(), window: "25%".to_owned() },
            by: Primary::ReferenceRecall,
            kept: 0.86,
            spread: None,
            loses_much: false,
            bill: None,
            over: None,
            alike: Vec::new(),
            keeps_more: None,
            refused: None,
            elsewhere: Vec::new(),
            none_at: Vec::new(),
            adds: None,
        })),
        sure: None,
        doubt: None,
        next: None,
    }
}
