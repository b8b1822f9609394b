//! The table of the terminal.

use super::*;
use crate::document::absent;
use crate::table::all_columns;

#[test]
fn unusable_replies_are_noted_wherever_the_row_stands() {
    let mut report = Kit::default().report();
    for row in report.rows.iter_mut().filter(|row| row.strategy == "prune") {
        (row.row_kind, row.rank, row.verdict) = (RowKind::Unusable, None, None);
        row.values.insert("unusable_replies".into(), Value::Known(3.0));
    }
    let why = "not ranked: 3 unusable replies";
    assert!(wide(&report, 160).contains(why), "{}", wide(&report, 160));
    let text = file(&report, "report.md");
    let folded = text.find("of offline summaries").unwrap();
    assert!(text.find(why).unwrap() < folded, "it is not folded away: {text}");
    let page = file(&report, "report.html");
    assert!(page.contains(why), "{page}");
}

#[test]
fn table_width_is_measured_in_columns_not_bytes() {
    let mut report = small().report();
    report.rows[2].strategy = "圧縮・要約・圧縮・要約・圧縮・要約・圧縮・要約".to_owned();
    report.rows[3].strategy =
        "a-strategy-with-a-name-that-nobody-would-type-twice-in-a-day".to_owned();
    for width in [80, 100, 140] {
        for line in wide(&report, width).lines() {
            assert!(line.width() <= width, "{width}: {line:?} has {}", line.width());
        }
    }
}

#[test]
fn colour_changes_no_word_of_the_table() {
    let report = Kit::default().report();
    let mut plain = table(&report, Screen { width: 100, color: true, wide: false });
    for code in ["\u{1b}[1m", "\u{1b}[2m", "\u{1b}[33m", "\u{1b}[0m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, narrow(&report, 100));
    assert!(!narrow(&report, 100).contains('\u{1b}'));
}

#[test]
fn a_name_cannot_send_commands_to_the_terminal() {
    let mut report = small().report();
    report.rows[2].strategy = "\u{1b}[2Jprune\u{202E}".to_owned();
    report.findings = vec![Finding::problem("notice", "\u{1b}]0;title\u{7}")];
    let shown = wide(&report, 100);
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202E}']), "{shown}");
    assert!(shown.contains("[2Jprune\u{FFFD}"), "{shown}");
}

#[test]
fn wholly_absent_column_states_its_reason_once() {
    let mut report = small().report();
    for row in &mut report.rows {
        let reason = Value::Absent(Absent::NoReferences);
        row.values.insert("reference_recall".to_owned(), reason);
    }
    let shown = wide(&report, 100);
    let reason = "needed facts kept: no references.";
    assert_eq!(shown.matches(reason).count(), 1, "{shown}");
}

#[test]
fn each_data_set_and_all_have_own_table() {
    let mut report = small().report();
    let rows = report.rows.clone();
    for name in ["other", "ALL"] {
        report.rows.extend(rows.iter().cloned().map(|mut row| {
            row.dataset = name.to_owned();
            row
        }));
    }
    let shown = wide(&report, 100);
    assert_eq!(shown.matches("Facts needed next").count(), 3, "{shown}");
    report.rows.retain(|row| row.dataset != "other");
    let shown = wide(&report, 100);
    assert_eq!(shown.matches("Facts needed next").count(), 1, "ALL repeats the only one: {shown}");
}

#[test]
fn every_agent_model_has_own_table_and_rows() {
    let mut report = small().report();
    let dearer: Vec<_> = report
        .rows
        .iter()
        .cloned()
        .map(|mut row| {
            row.agent_model = "another".to_owned();
            row.values
                .insert("cost_usd".to_owned(), Value::Absent(Absent::Price("another".to_owned())));
            row.values.remove("cost_savings");
            row
        })
        .collect();
    report.rows.extend(dearer);
    for cell in report.results.cells_mut() {
        if let CellOutcome::Done(rows) = &mut cell.outcome {
            // Both were asked for: what is billed as recorded has one bill.
            let asked = Arc::make_mut(&mut rows.bills[0]);
            asked.billed_as = asked.model.clone();
            let other = Bill {
                billed_as: "another".into(),
                model: "another".into(),
                ..rows.bills[0].as_ref().clone()
            };
            rows.bills.push(Arc::new(other));
        }
    }
    let shown = wide(&report, 100);
    assert_eq!(shown.matches("billed as claude-sonnet-5-5").count(), 1, "{shown}");
    assert_eq!(shown.matches("billed as another").count(), 1, "{shown}");
    assert!(shown.contains("+0.27  unknown "), "{shown}");
    let requests = file(&report, "requests.csv");
    let of: Vec<&str> = requests.lines().filter(|l| l.contains(",fifo,25%,0,5,")).collect();
    assert_eq!(of.len(), 2, "{of:?}");
    // Read and written alike; without a price there are no dollars.
    assert!(of[0].contains(",6950,1503,0,120,,true,") && of[0].ends_with(",another"), "{of:?}");
    assert!(of[1].ends_with(",claude-sonnet-5-5"), "{of:?}");
    let compactions = file(&report, "compactions.csv");
    assert_eq!(compactions.lines().filter(|l| l.contains(",prune,25%,0,4,")).count(), 2);
}

fn unpriced(model: &str) -> Finding {
    let text = format!(
        "no price is known for {model}, so no bill has what it answered, nor 1 of 3 sessions that it \
         leads: --prices takes a list that has one, --agent-model bills sessions as another model"
    );
    Finding::problem("unpriced", text).changing_figures(true)
}

#[test]
fn narrow_screen_has_answer_first_within_25_lines() {
    let kit = Kit { sessions: 3, windows: vec!["25%"], ..Kit::default() };
    let mut report = cut(kit.report());
    report.recommendation = Some(crate::testkit::recommended("prune"));
    let summaries = report.rows.iter().find(|row| row.row_kind == RowKind::OfflineSummary).cloned();
    for n in 0..9 {
        let strategy = format!("summary-{n}");
        report.rows.push(StrategyRow { strategy, ..summaries.clone().unwrap() });
    }
    let problems =
        ["a", "b", "c", "d"].map(|model| unpriced(&format!("{model}-{}", "x".repeat(30))));
    report.findings = problems.to_vec();
    let shown = narrow(&report, 80);
    assert!(shown.lines().count() < 25, "{shown}");
    assert!(shown.lines().nth(2).unwrap().starts_with("At a window of 25 % use prune"), "{shown}");
    // What is left out is counted: at least two rows of summaries stay, and one problem.
    assert!(shown.contains(" continuation ") && shown.contains(" summary-0 "), "{shown}");
    let problems = shown.matches(" problem ").count();
    assert!((1..=3).contains(&problems), "{shown}");
    let hidden = 10 - shown.lines().filter(|line| line.starts_with(" summary-")).count() - 1;
    let more = format!("{hidden} strategies, {} notes", 4 - problems);
    assert!(shown.contains(&more) || shown.contains(&more.replace("1 notes", "1 note")), "{shown}");
}

#[test]
fn problems_that_change_figures_precede_reading_notices() {
    let mut report = small().report();
    report.findings = vec![
        Finding::problem("notice", "2 lines were left out"),
        Finding::problem("ungraded", "scores rest on somewhat different questions"),
        unpriced("m"),
    ];
    let shown = narrow(&report, 80);
    let at = |words: &str| shown.find(words).unwrap_or_else(|| panic!("{words}: {shown}"));
    assert!(at("no price is known for m") < at("2 lines were left out"), "{shown}");
    assert!(shown.contains("1 note, "), "{shown}");
}

#[test]
fn narrow_terminal_cuts_and_loses_nothing() {
    let mut report = Kit::default().report();
    report.rows[2].strategy = "圧縮・要約・圧縮・要約".to_owned();
    for width in [40, 60, 79] {
        let text = wide(&report, width);
        for line in text.lines() {
            assert!(line.width() <= width, "{width}: {line:?} has {}", line.width());
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        for row in &report.rows {
            for column in all_columns(report.primary, &[]) {
                let cell = (column.cell)(row).text;
                let figure: Vec<&str> = cell.split_whitespace().collect();
                let is_there = words.windows(figure.len().max(1)).any(|part| part == figure);
                assert!(is_there || cell == absent(), "{width}: {} {cell:?}\n{text}", row.strategy);
            }
        }
    }
    // A line wider than its place is folded between words, and stays whole.
    let text = wide(&report, 30);
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains("offline summary"));
}
