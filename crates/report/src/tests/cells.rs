//! Cells and rows for the reports of tests.

use super::*;

pub(super) fn reference(request: u32) -> Reference {
    Reference {
        request,
        text: "src/cache/store.rs".to_owned(),
        class: IdentifierClass::Path,
        last_seen: 1,
        distance_tokens: 5_200,
        sources: vec![0, 1],
        refetch: Some(1),
        reread: false,
        near: Vec::new(),
    }
}

/// What the first message said, asked at the last request.
pub(super) fn question(n: usize, request: u32) -> QuestionFacts {
    QuestionFacts {
        question: Question {
            id: format!("p{n}"),
            session: format!("session-{n}"),
            asked_at: request * 2,
            kind: QuestionKind::Fact,
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

pub(super) fn snapshot(facts: &SessionFacts, compacted: bool) -> Snapshot {
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
pub(super) fn question_row(state: Option<LedgerState>, compacted: bool) -> QuestionRow {
    let evidence = state.filter(|_| compacted).unwrap_or(LedgerState::Verbatim);
    let right = evidence == LedgerState::Verbatim;
    let (answer, verdict) = if right {
        ("It lives in src/cache/store.rs.", Verdict::Correct)
    } else {
        ("I don't know.", Verdict::Abstained)
    };
    QuestionRow {
        question: 0,
        snapshot: 0,
        evidence: Some(evidence),
        age_compactions: Some(u32::from(compacted)),
        findable: Some(right),
        answered: Some(GradedAnswer {
            answer: Answer::Said(answer.to_owned()),
            judgement: Judgement {
                verdict,
                score: Some(if right { 1.0 } else { 0.0 }),
                rationale: "the path is named".to_owned(),
                votes: Vec::new(),
            },
        }),
        recovered: None,
    }
}

pub(super) fn cell(facts: &SessionFacts, name: &str, window: &str, row_kind: RowKind) -> Cell {
    let key = CellKey {
        dataset: facts.dataset.clone(),
        session: facts.session.clone(),
        strategy: name.to_owned(),
        window: window.to_owned(),
        replicate: 0,
    };
    let failed = name == "fifo" && facts.session == "session-0" && window == "200k";
    let outcome = if failed {
        CellOutcome::Failed { error: "result `call-9` has no call".to_owned() }
    } else {
        CellOutcome::Done(Box::new(rows(facts, name, window)))
    };
    Cell { key, row_kind, outcome }
}

/// From the fourth request on, every second request drops, edits or folds the
/// oldest three messages that are still whole.
pub(super) fn rows(facts: &SessionFacts, name: &str, window: &str) -> CellRows {
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
        requests: Arc::new(requests),
        compactions,
        references: vec![ReferenceOutcome { reference: 0, state: reference }],
        snapshots: vec![snapshot(facts, removed > 0)],
        questions: vec![question_row(state, removed > 0)],
        loss,
        cpu_ms: 1.25,
        bills,
        ..CellRows::default()
    }
}

/// Each request reads what the one before sent and writes the rest; after a
/// compaction, which sends 1,000 tokens anew and is answered with 200, it reads
/// the preamble only.
pub(super) fn bill(requests: &[RequestRow], compactions: &[CompactionRow]) -> Bill {
    let mut before = 0;
    let billed = (0u32..).zip(requests).map(|(at, row)| {
        let compacted = compactions.iter().any(|compaction| compaction.request == at);
        let read = if compacted { 3_000 } else { before };
        before = row.tokens_sent;
        let billed = Buckets { read, write: before - read, ..Buckets::default() };
        let prompt = PromptBill { billed };
        Some(RequestBill { prompt, model: 0 })
    });
    let billed = billed.collect();
    let call = |(compaction, _)| CallBill {
        compaction,
        prompt: PromptBill { billed: Buckets { uncached: 1_000, ..Buckets::default() } },
        output: 200,
    };
    Bill {
        billed_as: RECORDED.to_owned(),
        model: AGENT_MODEL.to_owned(),
        rules: recap_core::model::CacheRules::None,
        other_models: Vec::new(),
        compactor: None,
        requests: billed,
        calls: (0u32..).zip(compactions).map(call).collect(),
    }
}

/// A session of 100 requests whose simulation is off by this in reads, writes
/// and dollars.
pub(crate) fn validation(off: f64) -> Validation {
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

pub(super) fn compaction(request: u32, tokens_before: u64, tokens_after: u64) -> CompactionRow {
    CompactionRow {
        request,
        begun: request,
        messages_seen: request * 2 + 1,
        mechanism: "summary".into(),
        trigger: "tokens > 80%".into(),
        tokens_before,
        tokens_after,
        messages_folded: 3,
        model_calls: 1,
        input_tokens: tokens_before,
        output_tokens: 200,
        latency_ms: Some(4_200.0),
        latency_source: Some(LatencySource::Modelled),
        texts: vec![format!("summary-{request}")],
        ..CompactionRow::default()
    }
}

pub(super) fn strategy_row(
    name: &str,
    window: &str,
    at: usize,
    row_kind: RowKind,
    rank: Option<u32>,
) -> StrategyRow {
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
        ("sessions".to_owned(), known(3.0)),
        ("requests".to_owned(), known(39.0)),
        ("references".to_owned(), known(3.0)),
        ("reference_recall".to_owned(), known(recall)),
        ("tokens_full".to_owned(), known(360_000.0)),
        ("tokens_sent".to_owned(), known(360_000.0 * share)),
        ("token_savings".to_owned(), known(1.0 - share)),
        ("peak_tokens".to_owned(), known(18_230.0 * share)),
        ("compactions".to_owned(), known(if name == "full" { 0.0 } else { 12.0 })),
        ("overflows".to_owned(), known(if name == "full" && at == 0 { 37.0 } else { 0.0 })),
        ("cost_usd".to_owned(), known(41.2 * (1.0 - savings))),
        ("cost_savings".to_owned(), known(savings)),
        ("cost_usd_refetch".to_owned(), Value::Absent(Absent::SomePrice)),
    ]);
    let wait = match name {
        "full" | "empty" => Value::Absent(Absent::NoCompaction),
        "continuation" => known(4_200.0),
        _ => known(0.0),
    };
    values.insert("blocking_ms_p95".to_owned(), wait);
    let without = Value::Absent(Absent::NoReferences);
    values.insert("recency_gain".to_owned(), gain.map_or(without, known));
    StrategyRow {
        dataset: "my-sessions".to_owned(),
        strategy: name.to_owned(),
        window: window.to_owned(),
        agent_model: AGENT_MODEL.to_owned(),
        row_kind,
        rank,
        values,
        intervals: BTreeMap::from_iter((name != "full").then(|| {
            let values = vec![recall * 0.9, recall, (recall * 1.1).min(1.0)];
            ("reference_recall".to_owned(), Interval::Dots { values })
        })),
        verdict: (row_kind == RowKind::Ranked).then_some(AgainstFull::Descriptive),
        failed: if name == "fifo" && window == "200k" {
            vec!["session-0: result `call-9` has no call".to_owned()]
        } else {
            Vec::new()
        },
    }
}
