//! What people read of a kit of reports: on a terminal, in `report.md`, on the page, and the first
//! rows of each file. A change of these words is reviewed in the snapshots.

use std::fmt::Write;

use super::*;
use crate::testkit::{asked, check, panel, recommended, sized};
use recap_core::model::{CheckOutcome, Gate, RuleFindings, SaverRow, UndecidedPolicy, Value};

/// Every report by its name.
fn kit() -> Vec<(&'static str, Report)> {
    let references = Kit::default().report();
    let cuts = Report {
        recommendation: Some(recommended("prune")),
        receipts: vec![paid(1.0), Receipt::default(), paid(2.5)],
        ..cut(Kit { windows: vec!["25%"], ..Kit::default() }.report())
    };
    let mut sizes = sized(cut(Kit { windows: vec!["25%"], ..Kit::default() }.report()));
    sizes.receipt = crate::receipt::tests::report().receipt;
    vec![
        ("references", references),
        ("cuts", cuts),
        ("questions", asked()),
        ("sizes", sizes),
        ("doubts", doubts()),
    ]
}

/// A run with a gate, a panel, token savers, tests, bills to check and failures.
fn doubts() -> Report {
    let mut report = validated(&[0.01, -0.124, 0.06]);
    let checks = vec![
        check("prune", CheckOutcome::Passed, "it fell by 0.125"),
        check("fifo", CheckOutcome::Undecided, "it fell by 0.125"),
        check("sliding-window", CheckOutcome::Failed, "it fell by 0.125"),
    ];
    report.gate = Some(Gate {
        baseline: Some("main".into()),
        undecided: UndecidedPolicy::Incomplete,
        rules: vec![RuleFindings { rule: "reference_recall drops > 0.1".into(), checks }],
    });
    report.panel = Some(panel());
    let unpriced = SaverRow {
        window: "200k".to_owned(),
        agent_model: "n".to_owned(),
        money: Err(Absent::SomePrice),
        claimed_tokens: None,
        claimed_usd: None,
        removed_tokens: -7_200,
        added_ms: None,
        ..saver_row("foveance")
    };
    report.savers = vec![saver_row("foveance"), unpriced];
    report.receipt = crate::receipt::tests::report().receipt;
    let test = |strategy: &str, outranks, p| Tested {
        strategy: strategy.into(),
        window: "25%".into(),
        clusters: 12,
        difference: -0.031,
        interval: Some((-0.1, 0.04)),
        p,
        p_holm: p,
        mde: Some(0.0914),
        outranks,
    };
    report.family = Some(Family {
        measure: Primary::ReferenceRecall,
        comparator: "fifo".into(),
        tests: vec![
            test("prune", TestOutcome::Undecided, Some(0.4)),
            // Without any spread no difference is named that would have been found.
            Tested { mde: Some(0.001), ..test("fold", TestOutcome::Undecided, Some(0.4)) },
            test("sliding-window", TestOutcome::Worse, Some(0.0004)),
            test("fifo", TestOutcome::Tie, None),
        ],
        limit: Some("nothing is tested".to_owned()),
    });
    for row in &mut report.rows {
        row.values.insert("cost_savings_vs_recorded".to_owned(), Value::Known(0.125));
    }
    report.rows[4].failed = vec!["session-0: result `call-9` has no call".to_owned()];
    report
}

/// The words of a page, a line for each element that has some; scripts, styles and drawings apart.
fn words(page: &str) -> String {
    let hidden =
        regex::Regex::new(r"(?s)<(style|script|svg|title)\b.*?</(style|script|svg|title)>");
    let rows = regex::Regex::new(r"</(tr|p|li|h1|h2|h3|h4|summary|figcaption|dd|thead|header)>");
    let tags = regex::Regex::new(r"<[^>]*>").unwrap();
    let page = hidden.unwrap().replace_all(page, " ").replace('\n', " ");
    let page = rows.unwrap().replace_all(&page, "\n");
    let page = tags.replace_all(&page, " ");
    let lines = page.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\n").replace("&#39;", "'").replace("&#34;", "\"").replace("&#38;", "&")
}

#[test]
fn terminal_says_what_its_snapshots_say() {
    for (name, report) in kit() {
        insta::assert_snapshot!(format!("{name}-narrow"), narrow(&report, 80));
        insta::assert_snapshot!(format!("{name}-wide"), wide(&report, 120));
    }
}

#[test]
fn markdown_says_what_its_snapshots_say() {
    for (name, report) in kit() {
        insta::assert_snapshot!(format!("{name}-markdown"), file(&report, "report.md"));
    }
}

#[test]
fn page_says_what_its_snapshots_say() {
    for (name, report) in kit() {
        let texts = Kit::default().texts(&report);
        let page = testkit::file(&report, Some(&texts), "report.html");
        insta::assert_snapshot!(format!("{name}-page"), words(&page));
    }
}

#[test]
fn files_hold_what_their_snapshots_hold() {
    for (name, report) in kit() {
        let texts = Kit::default().texts(&report);
        let mut all = String::new();
        for format in FORMATS.iter().filter(|format| format.name == "csv") {
            let text = testkit::file(&report, Some(&texts), format.file);
            writeln!(all, "{}: {} lines", format.file, text.lines().count()).unwrap();
            // Sorted rows of one strategy are alike; every eleventh is of another.
            for line in text.lines().step_by(11).take(9) {
                writeln!(all, "{}", line.trim_end()).unwrap();
            }
        }
        insta::assert_snapshot!(format!("{name}-files"), all);
    }
}
