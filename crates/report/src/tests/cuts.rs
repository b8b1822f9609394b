//! Cuts for the reports of tests.

use super::*;

/// The same report with three cuts at depth 3: two facts in session-0, two
/// in session-1, none at the third. `fifo` is over the window at the first and
/// fails at the second; `no-summary:prune` keeps nothing.
pub(crate) fn cut(mut report: Report) -> Report {
    use IdentifierClass::{Identifier, Number, Path};
    use ReferenceState::{Bare, Carried, Lost, Partial, Recovered, Verbatim};
    report.primary = Primary::FactsKept;
    (report.manifest.cuts, report.manifest.depth) = ("5".to_owned(), 3);
    let mut first = place("session-0", 4, 9_000);
    first.facts = vec![fact(4, "src/cache/store.rs", Path), fact(9, "48151623", Number)];
    let mut over = exam("fifo", RowKind::Ranked, &[Recovered, Lost]);
    if let CutOutcome::Done(exam) = &mut over.outcome {
        exam.refused = vec![1];
    }
    first.rows = vec![
        over,
        exam("full", RowKind::Control, &[Verbatim, Verbatim]),
        exam("no-summary:prune", RowKind::Control, &[Lost, Lost]),
        exam("prune", RowKind::Ranked, &[Carried, Lost]),
    ];
    let mut second = place("session-1", 5, 23_000);
    second.facts = vec![fact(5, "src/main.rs", Path), fact(30, "open_cache", Identifier)];
    let error = "result `call-9` has no call".to_owned();
    let failed =
        CutRow { outcome: CutOutcome::Failed { error }, ..exam("fifo", RowKind::Ranked, &[]) };
    second.rows = vec![
        failed,
        exam("full", RowKind::Control, &[Verbatim, Verbatim]),
        exam("no-summary:prune", RowKind::Control, &[Lost, Lost]),
        exam("prune", RowKind::Ranked, &[Bare, Partial]),
    ];
    let mut third = place("session-1", 8, 40_000);
    third.rows = vec![exam("prune", RowKind::Ranked, &[])];
    report.results = std::mem::take(&mut report.results).with_cuts([first, second, third]);
    report.sessions[2].no_cut =
        Some("the recorded agent never compacted before a request".to_owned());
    for row in &mut report.rows {
        let kept = row.number(catalogue::REFERENCE_RECALL).unwrap_or(0.0);
        for (id, x) in [
            ("facts_kept", kept),
            ("exposed_share", 1.0 - kept / 2.0),
            ("bare_at_cut", (1.0 - kept) / 2.0),
            ("recovered_at_cut", 0.0),
            ("depth", 3.0),
            ("cuts", 3.0),
            ("facts_needed", 4.0),
            ("sessions_with_facts", 2.0),
            ("carried_share", 0.25),
            ("added_at_cut", 0.125),
            ("gain_at_cut", -0.1),
            ("tokens_at_cut", 0.4),
        ] {
            row.values.insert(id.to_owned(), Value::Known(x));
        }
        row.intervals.insert("added_at_cut".to_owned(), Interval::Bounds { lo: -0.02, hi: 0.27 });
        row.intervals.insert("facts_kept".to_owned(), Interval::Bounds { lo: 0.1, hi: 0.3 });
    }
    let prune = report.rows.iter().find(|row| row.strategy == "prune").expect("it is a strategy");
    let strategy = "no-summary:prune".to_owned();
    let without_summary =
        StrategyRow { strategy, row_kind: RowKind::Control, rank: None, ..prune.clone() };
    report.rows.push(without_summary);
    report
}

pub(super) fn place(results: &str, request: u32, tokens_before: u64) -> Cut {
    Cut {
        dataset: "my-sessions".to_owned(),
        session: results.to_owned(),
        request,
        recorded: false,
        requests: 40,
        left: Some(100),
        messages: 2 * request,
        tokens_before,
        preamble_tokens: 3_000,
        facts: Vec::new(),
        rows: Vec::new(),
    }
}

pub(super) fn fact(request: u32, text: &str, class: IdentifierClass) -> Fact {
    Fact {
        request,
        text: text.to_owned(),
        class,
        last_seen: 1,
        newest_tokens: 5_200,
        refetch: None,
        reread: false,
    }
}

pub(super) fn exam(strategy: &str, row_kind: RowKind, states: &[ReferenceState]) -> CutRow {
    let exam = CutExam::of_states(9_000, 5_000, states.to_vec());
    let outcome = CutOutcome::Done(Box::new(exam));
    CutRow { strategy: strategy.to_owned(), replicate: 0, row_kind, outcome }
}
