//! Small transcripts and cells for tests, built by hand.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;

use super::exams::Exams;
use super::measure;
use super::money::Terms;
use super::spec::Sample;
use crate::model::{
    Answer, Bill, Buckets, Calibration, Cell, CellKey, CellOutcome, CellRows, CompactionRow, Exam,
    Expectation, Finding, Fit, IdentifierClass, Judgement, LatencySource, LedgerState, Manifest,
    MessageFacts, PresetRow, Prices, Probe, ProbeFacts, ProbeKind, ProbeRow, PromptBill, RECORDED,
    Recovered, Reference, ReferenceOutcome, ReferenceState, Repeated, ReplyFacts, Report,
    RequestBill, RequestFacts, RequestRow, Role, Snapshot, Source, Standing, TimeProfile,
    TokensSource, TranscriptFacts, Value, Verdict, Void, Vote,
};
use crate::wording;

/// Round figures.
pub const PROFILE: TimeProfile = TimeProfile {
    user_ms: 60_000.0,
    tool_ms: 1_000.0,
    first_token_ms: 1_000.0,
    prefill_per_s: 10_000.0,
    decode_per_s: 50.0,
};

/// A transcript of data set `d` with alternating user and assistant messages.
pub fn facts(id: &str) -> FactsBuilder {
    FactsBuilder(TranscriptFacts {
        dataset: "d".into(),
        transcript: id.into(),
        cluster: None,
        preamble_tokens: 0,
        hidden_tokens: 0,
        messages: Vec::new(),
        requests: Vec::new(),
        exam: Exam::default(),
        probes: Vec::new(),
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
    })
}

/// A cell as measures see it, without `full` beside it.
pub fn sample<'a>(facts: &'a TranscriptFacts, cell: &'a Cell) -> Sample<'a> {
    static NO_KINDS: BTreeSet<ProbeKind> = BTreeSet::new();
    static NO_EXAMS: LazyLock<Exams<'static>> = LazyLock::new(Exams::default);
    static NONE_REPEATED: LazyLock<Repeated> = LazyLock::new(Repeated::default);
    static TERMS: LazyLock<Terms> = LazyLock::new(|| Terms::of(&manifest(&[])));
    let rows = cell.rows().unwrap();
    Sample {
        facts,
        cell,
        rows,
        full: None,
        recorded: None,
        payer: RECORDED,
        terms: &TERMS,
        kinds: &NO_KINDS,
        answered_by: Source::Lexical,
        exams: &NO_EXAMS,
        repeated: &NONE_REPEATED,
    }
}

/// A sound reply of a hundred tokens in place of a thousand.
pub fn reply(input: u64, text: u64) -> ReplyFacts {
    let (replaced, written, bound) = (1_000, 100, 500);
    ReplyFacts { input, text: Some(text), replaced, written, bound, void: None }
}

/// A reply that is void by itself.
pub fn void(input: u64, why: Void) -> ReplyFacts {
    ReplyFacts { text: None, written: 0, void: Some(why), ..reply(input, 0) }
}

pub struct FactsBuilder(TranscriptFacts);

impl FactsBuilder {
    pub fn dataset(mut self, name: &str) -> Self {
        self.0.dataset = name.into();
        self
    }

    pub fn cluster(mut self, name: &str) -> Self {
        self.0.cluster = Some(name.into());
        self
    }

    pub fn preamble(mut self, tokens: u64) -> Self {
        self.0.preamble_tokens = tokens;
        self
    }

    /// Request j stands before message 2j + 1 and sends `full[j]` tokens.
    pub fn requests(mut self, full: &[u64]) -> Self {
        for (at, tokens_full) in (0u32..).zip(full) {
            self.0.requests.push(RequestFacts {
                message: 2 * at + 1,
                tokens_full: *tokens_full,
                output: 10,
                output_recorded: false,
                at: Timestamp::UNIX_EPOCH,
                recorded: None,
                billed: true,
                exogenous: None,
                model: 0,
            });
        }
        for at in 0..2 * full.len() {
            let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
            let tokens = 10 * (at as u64 + 1);
            let (id, text) = (format!("m{at}"), format!("hash-{at}"));
            self.0.messages.push(MessageFacts { id, role, tokens, at: None, tool: None, text });
        }
        self
    }

    /// One reference, last seen `distance` tokens before `request`, standing in
    /// the tool result `refetch`. Call it in the order of the requests.
    pub fn reference(mut self, request: u32, distance: u64, refetch: Option<u32>) -> Self {
        let at = self.0.exam.references.len();
        self.0.exam.references.push(Reference {
            request,
            text: format!("identifier_{at}"),
            class: IdentifierClass::Identifier,
            last_seen: 0,
            distance_tokens: distance,
            sources: vec![0],
            refetch,
            reread: false,
            support: Vec::new(),
        });
        self
    }

    /// A probe of a kind about message 0, asked at `request`, `age` tokens later.
    pub fn probe(mut self, kind: ProbeKind, request: u32, age: u64) -> Self {
        let id = format!("p{:03}", self.0.probes.len());
        let expect = match kind {
            ProbeKind::Abstain => Expectation::Unanswerable,
            _ => Expectation::AnyOf(vec!["it".into()]),
        };
        let probe = Probe {
            id,
            transcript: self.0.transcript.clone(),
            asked_at: 0,
            kind,
            question: "Which?".into(),
            expect,
            evidence: vec!["m0".into()],
            stale: Vec::new(),
        };
        let evidence = vec![0];
        self.0.probes.push(ProbeFacts { probe, request, evidence, age_tokens: Some(age) });
        self
    }

    /// The last reference was read again by the recording itself.
    pub fn reread(mut self) -> Self {
        self.0.exam.references.last_mut().unwrap().reread = true;
        self
    }

    pub fn boundary(mut self, did_without: u32) -> Self {
        self.0.recorded_compactions = 1;
        self.0.exam.did_without = did_without;
        self
    }

    /// Changes anything else.
    pub fn with(mut self, change: impl FnOnce(&mut TranscriptFacts)) -> Self {
        change(&mut self.0);
        self
    }

    /// Its tokens are scaled by a factor, with this error of forecasting.
    pub fn calibrated(self, factor: f64, forward: Option<f64>) -> Self {
        let mut scaled = self.reported(forward);
        scaled.0.tokens_source = TokensSource::Calibrated;
        scaled.0.calibration.as_mut().unwrap().fits[0].factor = factor;
        scaled
    }

    /// The recording has usage, with this error of forecasting it.
    pub fn reported(mut self, forward: Option<f64>) -> Self {
        let fit = Fit { from: 0, hidden: 0.0, factor: 1.0, requests: 10 };
        self.0.calibration = Some(Calibration {
            fits: vec![fit],
            unseen: Vec::new(),
            global: None,
            in_sample: forward,
            forward,
            after_boundary: None,
        });
        self
    }

    pub fn left_out(mut self, reason: &str, n: u64) -> Self {
        self.0.left_out.push((reason.into(), n));
        self
    }

    pub fn build(self) -> TranscriptFacts {
        self.0
    }
}

/// A cell of that transcript at window `25%`, by default a ranked preset that
/// has done nothing.
pub fn cell(id: &str, strategy: &str) -> CellBuilder {
    CellBuilder {
        key: CellKey {
            dataset: "d".into(),
            transcript: id.into(),
            strategy: strategy.into(),
            window: "25%".into(),
            replicate: 0,
        },
        standing: Standing::Ranked,
        rows: CellRows {
            window: 10_000,
            preamble_added: 0,
            requests: Arc::default(),
            compactions: Vec::new(),
            references: Vec::new(),
            snapshots: Vec::new(),
            probes: Vec::new(),
            loss: Vec::new(),
            cpu_ms: 1.5,
            notices: Vec::new(),
            bills: Vec::new(),
        },
    }
}

pub struct CellBuilder {
    key: CellKey,
    standing: Standing,
    rows: CellRows,
}

impl CellBuilder {
    pub fn dataset(mut self, name: &str) -> Self {
        self.key.dataset = name.into();
        self
    }

    pub fn window(mut self, label: &str, tokens: u64) -> Self {
        self.key.window = label.into();
        self.rows.window = tokens;
        self
    }

    pub fn replicate(mut self, replicate: u32) -> Self {
        self.key.replicate = replicate;
        self
    }

    pub fn control(mut self) -> Self {
        self.standing = Standing::Control;
        self
    }

    pub fn stand_in(mut self) -> Self {
        self.standing = Standing::StandIn;
        self
    }

    /// Tokens sent at each request, in a context of two messages.
    pub fn sent(mut self, tokens: &[u64]) -> Self {
        Arc::make_mut(&mut self.rows.requests).extend(tokens.iter().map(|tokens| RequestRow {
            tokens_sent: *tokens,
            estimated: None,
            messages: 2,
            overflow: false,
            valid: true,
            common_prefix: 0,
            cache_break: false,
        }));
        self
    }

    pub fn estimates(mut self, estimates: &[Option<u64>]) -> Self {
        for (row, estimate) in Arc::make_mut(&mut self.rows.requests).iter_mut().zip(estimates) {
            row.estimated = *estimate;
        }
        self
    }

    pub fn overflow(mut self, request: usize) -> Self {
        Arc::make_mut(&mut self.rows.requests)[request].overflow = true;
        self
    }

    /// What became of each reference: `k`ept, `p`artial, `b`are, `l`ost.
    pub fn states(mut self, states: &str) -> Self {
        for (at, state) in (0u32..).zip(states.chars()) {
            let state = match state {
                'k' => ReferenceState::Carried,
                'v' => ReferenceState::Verbatim,
                'p' => ReferenceState::Partial,
                'b' => ReferenceState::Bare,
                'l' => ReferenceState::Lost,
                other => panic!("no state is called `{other}`"),
            };
            self.rows.references.push(ReferenceOutcome { reference: at, state });
        }
        self
    }

    /// The context that probes from here on are put to, after so many compactions.
    pub fn snapshot(mut self, request: u32, compactions: u32) -> Self {
        let (tokens, overflow, parts) = (100, false, Vec::new());
        self.rows.snapshots.push(Snapshot { request, tokens, overflow, compactions, parts });
        self
    }

    /// The last snapshot is over the window.
    pub fn over(mut self) -> Self {
        self.rows.snapshots.last_mut().unwrap().overflow = true;
        self
    }

    /// What came of each probe put to the last snapshot: `r`ight, `h`alf
    /// right, `w`rong, `d`oes not know, `u`nscored. In capitals the value is in the
    /// context and the evidence is verbatim; else the value is not and the
    /// evidence is gone.
    pub fn answers(mut self, outcomes: &str) -> Self {
        let snapshot = self.rows.snapshots.len() as u32 - 1;
        let compactions = self.rows.snapshots[snapshot as usize].compactions;
        for outcome in outcomes.chars() {
            let there = outcome.is_ascii_uppercase();
            self.rows.probes.push(ProbeRow {
                probe: self.rows.probes.len() as u32,
                snapshot,
                evidence: Some(if there { LedgerState::Verbatim } else { LedgerState::Gone }),
                age_compactions: Some(compactions),
                answerable: Some(there),
                answer: Answer::Said("it".into()),
                judgement: judgement(outcome),
                recovered: None,
            });
        }
        self
    }

    /// What came of every probe with a recovery channel, in the same letters,
    /// and each time the calls and tokens of its searches.
    pub fn recovers(mut self, outcomes: &str, searched: &[(u32, u64)]) -> Self {
        let rows = self.rows.probes.iter_mut().zip(outcomes.chars()).zip(searched);
        for ((row, outcome), &(calls, tokens)) in rows {
            let (answer, judgement) = (Answer::Said("it".into()), judgement(outcome));
            row.recovered = Some(Recovered { answer, judgement, calls, tokens });
        }
        self
    }

    pub fn compaction(mut self, before: u64, after: u64) -> Self {
        self.rows.compactions.push(CompactionRow {
            request: 1,
            begun: 1,
            messages_seen: 2,
            at_end: false,
            stage: 0,
            mechanism: "test".into(),
            trigger: "always".into(),
            tokens_before: before,
            tokens_after: after,
            messages_folded: 1,
            messages_evicted: 0,
            messages_edited: 0,
            model_calls: 0,
            input_tokens: 0,
            output_tokens: 0,
            cpu_ms: 0.1,
            latency_ms: None,
            latency_source: None,
            background: false,
            fallback: None,
            error: None,
            texts: Vec::new(),
            replies: Vec::new(),
            view: false,
        });
        self
    }

    /// Changes the last compaction.
    pub fn with_compaction(mut self, change: impl FnOnce(&mut CompactionRow)) -> Self {
        change(self.rows.compactions.last_mut().unwrap());
        self
    }

    /// What the compactor replied for the last compaction.
    pub fn replies(self, replies: &[ReplyFacts]) -> Self {
        self.with_compaction(|row| {
            row.replies = replies.to_vec();
            row.model_calls = replies.len() as u32;
        })
    }

    /// The last compaction called a model: for so long, and timed how.
    pub fn called(mut self, latency_ms: f64, source: LatencySource) -> Self {
        let compaction = self.rows.compactions.last_mut().unwrap();
        compaction.model_calls = 1;
        compaction.latency_ms = Some(latency_ms);
        compaction.latency_source = Some(source);
        self
    }

    /// The last compaction ran while the conversation went on.
    pub fn background(mut self) -> Self {
        self.rows.compactions.last_mut().unwrap().background = true;
        self
    }

    /// The last compaction ran before that request.
    pub fn before(mut self, request: u32) -> Self {
        let compaction = self.rows.compactions.last_mut().unwrap();
        (compaction.request, compaction.begun) = (request, request);
        self
    }

    /// A bill of each request's uncached, read and written tokens.
    pub fn bill(mut self, payer: &str, model: &str, requests: &[(u64, u64, u64)]) -> Self {
        let billed = |&(uncached, read, write): &(u64, u64, u64)| {
            Some(RequestBill { prompt: prompt(uncached, read, write), rewritten: 0, model: 0 })
        };
        self.rows.bills.push(Arc::new(Bill {
            billed_as: payer.into(),
            model: model.into(),
            rules: crate::model::CacheRules::None,
            other_models: Vec::new(),
            compactor: None,
            requests: requests.iter().map(billed).collect(),
            calls: Vec::new(),
            break_even: Vec::new(),
        }));
        self
    }

    /// Changes the last bill.
    pub fn with_bill(mut self, change: impl FnOnce(&mut Bill)) -> Self {
        change(Arc::make_mut(self.rows.bills.last_mut().unwrap()));
        self
    }

    /// Breaks the prompt cache at a request.
    pub fn breaks(mut self, request: usize) -> Self {
        Arc::make_mut(&mut self.rows.requests)[request].cache_break = true;
        self
    }

    pub fn build(self) -> Cell {
        let outcome = CellOutcome::Done(Box::new(self.rows));
        Cell { key: self.key, standing: self.standing, outcome }
    }

    pub fn failed(self, error: &str) -> Cell {
        let outcome = CellOutcome::Failed { error: error.into() };
        Cell { key: self.key, standing: self.standing, outcome }
    }
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
        depths: Vec::new(),
        replicates: 1,
        transcripts: Vec::new(),
        presets: Vec::new(),
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
        margin: crate::model::MARGIN,
        no_text: false,
        planned: crate::model::Planned::default(),
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

/// A prompt of so many uncached, read and written tokens.
pub fn buckets(uncached: u64, read: u64, write: u64) -> Buckets {
    Buckets { uncached, read, write, ..Buckets::default() }
}

/// The same as a bill has it; an ideal cache would read what this one does.
pub fn prompt(uncached: u64, read: u64, write: u64) -> PromptBill {
    let billed = buckets(uncached, read, write);
    PromptBill { billed, ideal_read: read, ..PromptBill::default() }
}

/// Judges `a`, `b` and `c` vote: `r`ight, `w`rong, `u`nscored. The majority of
/// the grades holds.
pub fn vote(judgement: &mut Judgement, votes: &str) {
    let verdict = |vote| match vote {
        'r' => (Verdict::Correct, Some(1.0)),
        'w' => (Verdict::Incorrect, Some(0.0)),
        'u' => (Verdict::Unscored("silent".into()), None),
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

/// What a judge made of an answer: `answers` explains the letters.
fn judgement(outcome: char) -> Judgement {
    let (verdict, score) = match outcome.to_ascii_lowercase() {
        'r' => (Verdict::Correct, Some(1.0)),
        'h' => (Verdict::Partial(0.5), Some(0.5)),
        'w' => (Verdict::Incorrect, Some(0.0)),
        'd' => (Verdict::Abstained, Some(0.0)),
        'u' => (Verdict::Unscored("no judge".into()), None),
        other => panic!("no outcome is called `{other}`"),
    };
    Judgement { verdict, score, rationale: String::new(), votes: Vec::new() }
}

/// A measured run at the window `25%`.
pub fn run(facts: Vec<TranscriptFacts>, cells: Vec<Cell>) -> Report {
    run_at(&["25%"], facts, cells)
}

/// A measured run over these windows.
pub fn run_at(windows: &[&str], facts: Vec<TranscriptFacts>, cells: Vec<Cell>) -> Report {
    measure(manifest(windows), "d".into(), facts, cells, Vec::new())
}

#[track_caller]
pub fn close(row: &PresetRow, id: &str, expected: f64) {
    let found = row.number_of(id).unwrap_or_else(|| panic!("{id}: {:?}", row.values.get(id)));
    assert!((found - expected).abs() < 1e-9, "{id} is {found}, expected {expected}");
}

#[track_caller]
pub fn absent(row: &PresetRow, id: &str, because: &str) {
    match row.values.get(id) {
        Some(Value::Absent(reason)) => assert!(reason.contains(because), "{id}: {reason}"),
        other => panic!("{id} is {other:?}"),
    }
}

/// A session of ten requests of 100 tokens, each with two references.
pub(super) fn twenty_references(id: &str) -> TranscriptFacts {
    let mut builder = facts(id).requests(&[100; 10]);
    for request in 0..10 {
        builder = builder.reference(request, 5_000, None).reference(request, 5_000, None);
    }
    builder.build()
}

/// Problems and limits of a report in words, in their order.
pub fn warnings(report: &Report) -> Vec<String> {
    let told = report.findings.iter().filter(|f| !matches!(f, Finding::Observation(_)));
    told.map(Finding::to_string).collect()
}

/// The whole answer of a report.
pub fn answer(report: &Report) -> String {
    wording::paragraph(report.recommendation.as_ref().expect("there are rows"))
}
