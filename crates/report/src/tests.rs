use std::sync::Arc;

use super::testkit::{Kit, cut, narrow, saver_row, validation, wide};
use super::*;
use recap_core::model::{
    Absent, Admission, Amount, Bill, Calibration, CellOutcome, Family, Finding, Primary, Receipt,
    RowKind, Sender, Spent, StrategyRow, TestOutcome, Tested, TokenKind, Tuned, TunedHalf,
    TunedSessions, TunedSetting, Value,
};
use unicode_width::UnicodeWidthStr;

mod shown;
mod table;

fn file(report: &Report, name: &str) -> String {
    testkit::file(report, None, name)
}

fn small() -> Kit {
    Kit { sessions: 1, requests: 6, windows: vec!["25%"], ..Kit::default() }
}

/// What a session cost.
fn paid(usd: f64) -> Receipt {
    let kinds = [(TokenKind::Output, Amount::new(1_000, Ok(usd)))].into();
    let spent = Spent { reported: 1, kinds, ..Spent::default() };
    Receipt { spent: [((Sender::Main, None), spent)].into(), ..Receipt::default() }
}

#[test]
fn sessions_csv_has_dearest_first_and_unbilled_last() {
    let mut report = Kit::default().report();
    report.receipts = vec![paid(1.0), Receipt::default(), paid(2.5)];
    let text = file(&report, "sessions.csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
    let mut order: Vec<(&str, &str)> = rows.iter().map(|row| (&row[1], &row[7])).collect();
    order.dedup();
    assert_eq!(order, [("session-2", "2.5"), ("session-0", "1"), ("session-1", "")]);
    let strategies = rows.iter().filter(|row| &row[1] == "session-2" && &row[4] == "25%").count();
    assert!(strategies > 3, "{text}");
}

#[test]
fn csv_rows_carry_ids_states_and_empty_fields() {
    let report = small().report();
    let row = |name: &str, start: &str| {
        let text = file(&report, name);
        text.lines().find(|line| line.starts_with(start)).unwrap().to_owned()
    };
    // 6,950 read at $0.30 a million, 1,503 written at $3.75, 120 of output at $15.
    assert_eq!(
        row("requests.csv", "my-sessions,session-0,fifo,25%,0,5,"),
        "my-sessions,session-0,fifo,25%,0,5,s0-m11,9435,8453,6950,1503,0,120,0.00952125,\
         true,1,0,11,true,7607,claude-sonnet-5-5"
    );
    assert_eq!(
        row("references.csv", "my-sessions,session-0,full"),
        "my-sessions,session-0,full,25%,0,5,src/cache/store.rs,path,s0-m1,5200,kept,true"
    );
    assert_eq!(
        row("compactions.csv", "my-sessions,session-0,prune"),
        "my-sessions,session-0,prune,25%,0,4,0,summary,tokens > 80%,7932,6950,3,0,0,1,7932,200,\
         0.006,4200,modelled,false,,,false,claude-sonnet-5-5,4,0,"
    );
    let summary = row("summary.csv", "my-sessions,continuation,25%,claude-sonnet-5-5,3,39,,,,");
    assert!(summary.contains(",0.64,") && summary.contains(",true,"), "{summary}");
}

#[test]
fn refused_requests_keep_nothing_except_for_controls() {
    let mut report = small().report();
    for cell in report.results.cells_mut() {
        if let CellOutcome::Done(rows) = &mut cell.outcome {
            rows.references[0].state = recap_core::model::ReferenceState::Verbatim;
            Arc::make_mut(&mut rows.requests)[5].overflow = true;
        }
    }
    let field = |name: &str, start: &str, at: usize| {
        let text = file(&report, name);
        let row = text.lines().find(|line| line.starts_with(start)).unwrap();
        row.split(',').nth(at).unwrap().to_owned()
    };
    for (strategy, state, kept) in [("full", "kept", "1"), ("prune", "refused", "0")] {
        let start = format!("my-sessions,session-0,{strategy},25%,0,5,");
        assert_eq!(field("references.csv", &start, 10), state, "{strategy}");
        assert_eq!(
            (field("requests.csv", &start, 15), field("requests.csv", &start, 16)),
            ("1".into(), kept.into())
        );
    }
}

#[test]
fn summary_json_gives_values_reasons_and_intervals() {
    let report = small().report();
    let json: serde_json::Value = serde_json::from_str(&file(&report, "summary.json")).unwrap();
    let row = &json["rows"][0];
    assert_eq!(row["strategy"], "full");
    assert_eq!(row["values"]["reference_recall"], 1);
    assert_eq!(row["agent_model"], "claude-sonnet-5-5");
    assert_eq!(row["absent"]["cost_usd_refetch"], "a price is unknown");
    assert_eq!(row["row_kind"], "control");
    assert_eq!(json["rows"][2]["intervals"]["reference_recall"]["kind"], "dots");
    assert_eq!(json["rows"][4]["values"]["recency_gain"], -0.004);
    assert_eq!(json["manifest"]["seed"], 7);
}

#[test]
fn cuts_csv_and_facts_csv_state_fact_outcomes() {
    let report = cut(Kit::default().report());
    let row = |name: &str, start: &str| {
        let text = file(&report, name);
        text.lines().find(|line| line.starts_with(start)).unwrap().to_owned()
    };
    // 2,000 tokens of messages after the cut: too few for what was said 5,200 ago.
    assert_eq!(
        row("cuts.csv", "my-sessions,session-1,prune,0,5,"),
        "my-sessions,session-1,prune,0,5,23000,5000,9000,2,0,0,1,1,0,0,0,,1,0,false,,0,40,100"
    );
    let failed = row("cuts.csv", "my-sessions,session-1,fifo,");
    assert!(failed.ends_with(",result `call-9` has no call,,40,100"), "{failed}");
    assert_eq!(
        row("facts.csv", "my-sessions,session-1,prune,0,5,30,"),
        "my-sessions,session-1,prune,0,5,30,26,open_cache,identifier,s1-m1,partial,false"
    );
}

#[test]
fn strategy_named_like_formula_is_defused_in_csv() {
    let mut report = cut(Kit::default().report());
    for row in &mut report.rows {
        row.strategy = format!("=cmd|{}", row.strategy);
    }
    for row in report.results.cuts_mut().flat_map(|cut| &mut cut.rows) {
        row.strategy = format!("=cmd|{}", row.strategy);
    }
    for cell in report.results.cells_mut() {
        cell.key.strategy = format!("=cmd|{}", cell.key.strategy);
    }
    for row in &mut report.session_rows {
        row.strategy = format!("=cmd|{}", row.strategy);
    }
    report.savers = vec![saver_row("=cmd|prune")];
    report.tuned = Some(author_alone("=cmd|prune"));
    let mut sessions = report.results.iter();
    let question = sessions.find_map(|session| {
        session.cells().iter().find_map(|cell| cell.rows()?.questions.first().cloned())
    });
    drop(sessions);
    for row in report.results.cuts_mut().flat_map(|cut| &mut cut.rows) {
        if let recap_core::model::CutOutcome::Done(exam) = &mut row.outcome {
            exam.questions.extend(question.clone());
        }
    }
    // Validation, receipt, sizes and calls are of sessions and models, whatever the strategy.
    let without_strategies =
        ["validation.csv", "receipt.csv", "calls.csv", "sizes.csv", "recorded_compactions.csv"];
    for format in
        FORMATS.iter().filter(|f| f.name == "csv" && !without_strategies.contains(&f.file))
    {
        let text = file(&report, format.file);
        let defused = [",'=cmd|prune,", "\n'=cmd|prune,"].iter().any(|name| text.contains(name));
        assert!(defused, "{}: {text}", format.file);
        assert!(!text.contains(",=cmd") && !text.contains("\n=cmd"), "{}", format.file);
    }
}

/// A search of the author's setting alone.
fn author_alone(strategy: &str) -> Tuned {
    let half = TunedHalf {
        admission: Admission::Admissible,
        usd: Some(2.0),
        saving: None,
        refused: 0.0,
        facts: 0.0,
        kept: None,
        kept_difference: None,
        answers: None,
        answers_difference: None,
    };
    Tuned {
        strategy: strategy.to_owned(),
        typed: strategy.to_owned(),
        unit: "session",
        choosing: TunedSessions::default(),
        held_back: TunedSessions::default(),
        settings: vec![TunedSetting {
            changes: String::new(),
            strategy: strategy.to_owned(),
            frontier: true,
            choosing: half.clone(),
            held_back: half,
        }],
        refused: Vec::new(),
        recommended: 0,
        because: String::new(),
    }
}

/// A session with validation per error.
fn validated(errors: &[f64]) -> Report {
    let mut report = Kit { sessions: errors.len(), requests: 6, ..small() }.report();
    for (facts, off) in report.sessions.iter_mut().zip(errors) {
        facts.validation = Some(validation(*off));
        facts.calibration = Some(Calibration {
            fits: Vec::new(),
            unseen: Vec::new(),
            global: None,
            in_sample: Some(0.004),
            forward: Some(0.021),
            after_boundary: None,
        });
    }
    report
}

#[test]
fn validation_csv_has_sums_errors_and_counts() {
    let text = file(&validated(&[0.1]), "validation.csv");
    let mut lines = text.lines();
    assert_eq!(
        lines.next().unwrap(),
        "dataset,session,model,requests,recorded_uncached,recorded_read,recorded_write,\
         recorded_write_1h,simulated_uncached,simulated_read,simulated_write,simulated_write_1h,\
         recorded_usd,simulated_usd,tokens_error,reads_error,writes_error,usd_error,\
         count_error_in_sample,count_error_forward,count_error_after_boundary,tokens_source,\
         cold_starts,expired,renewed"
    );
    assert_eq!(
        lines.next().unwrap(),
        "my-sessions,session-0,claude-sonnet-5-5,100,100,1000000,100000,0,100,1100000,110000,0,\
         2,2.2,0.099991,0.1,0.1,0.1,0.004,0.021,,exact,2,1,0"
    );
    assert_eq!(file(&small().report(), "validation.csv").lines().count(), 1, "no usage, no row");
}
