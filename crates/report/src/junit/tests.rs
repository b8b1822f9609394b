use std::collections::BTreeMap;

use roxmltree::{Document, Node};

use super::*;
use crate::testkit::{AGENT_MODEL, Kit, check};
use recap_core::model::{Report, RuleFindings};

/// Everything that XML, its attributes or a parser could trip over.
const HOSTILE: &str = "]]><x a='\"'>&amp;&#0;\u{0}\u{1}\u{8}\u{b}\u{1b}[31m\u{7f}\u{85}\u{fffe}\
                       \u{ffff}\u{2028}\u{202e}\r\n\t-->日本𝒳";

/// Two rules on two and three rows.
fn ruled(undecided: UndecidedPolicy) -> Report {
    let mut report = Kit::default().report();
    let about = |rule: &str, checks: Vec<(&str, CheckOutcome, &str)>| RuleFindings {
        rule: rule.to_owned(),
        checks: checks.into_iter().map(|(s, f, why)| check(s, f, why)).collect(),
    };
    let recall = vec![
        ("prune", CheckOutcome::Failed, "0.86 is below 0.9"),
        ("fifo", CheckOutcome::Undecided, "0.40, between 0.36 and 0.44"),
    ];
    let fact = vec![
        ("prune", CheckOutcome::Passed, "0.71"),
        ("fifo", CheckOutcome::Failed, "0.71 is below 0.8"),
        ("sliding-window", CheckOutcome::Missing, "no such row"),
    ];
    report.gate = Some(Gate {
        baseline: None,
        undecided,
        rules: vec![about("reference_recall < 0.9", recall), about("recall < 0.8", fact)],
    });
    report
}

fn xml(report: &Report) -> String {
    let mut bytes = Vec::new();
    render(&RenderInput { report, texts: None }, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Suite, case and what came of it.
fn outcomes(xml: &str) -> BTreeMap<(String, String), String> {
    let document = Document::parse(xml).unwrap();
    let cases = document.descendants().filter(|n| n.has_tag_name("testcase"));
    cases
        .map(|case| {
            let own = |name: &str| case.attribute(name).unwrap().to_owned();
            let found = case.children().find(|n| n.is_element() && !n.has_tag_name("system-out"));
            let found = found.map_or_else(
                || "passed".to_owned(),
                |n| format!("{}: {}", n.tag_name().name(), n.attribute("message").unwrap()),
            );
            ((own("classname"), own("name")), found)
        })
        .collect()
}

fn attribute(node: Node<'_, '_>, name: &str) -> usize {
    node.attribute(name).unwrap_or_else(|| panic!("{name} is missing")).parse().unwrap()
}

/// Elements, attributes and counts as Surefire's and Jenkins' schemas have them.
#[track_caller]
fn assert_is_junit(xml: &str) {
    let document = Document::parse(xml).unwrap();
    let root = document.root_element();
    assert!(root.has_tag_name("testsuites"));
    let elements = |node: Node<'_, '_>| -> Vec<String> {
        let children = node.children().filter(Node::is_element);
        children.map(|n| n.tag_name().name().to_owned()).collect()
    };
    let counted = |node: Node<'_, '_>, name: &str| {
        node.descendants().filter(|n| n.has_tag_name(name)).count()
    };
    let mut names = Vec::new();
    for suite in root.children().filter(Node::is_element) {
        assert!(suite.has_tag_name("testsuite"));
        assert_eq!(suite.attribute("time"), Some("0.000"));
        for (total, element) in [
            ("tests", "testcase"),
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ] {
            assert_eq!(attribute(suite, total), counted(suite, element), "{total}");
        }
        for case in suite.children().filter(Node::is_element) {
            assert!(case.has_tag_name("testcase"));
            let mut inside = elements(case);
            if inside.last().is_some_and(|name| name == "system-out") {
                inside.pop();
            }
            assert!(inside.len() <= 1, "{inside:?}");
            assert!(inside.iter().all(|n| ["failure", "error", "skipped"].contains(&&**n)));
            names.push((case.attribute("classname").unwrap(), case.attribute("name").unwrap()));
            assert_eq!(case.attribute("time"), Some("0.000"));
        }
    }
    for (total, element) in [("tests", "testcase"), ("failures", "failure"), ("errors", "error")] {
        assert_eq!(attribute(root, total), counted(root, element), "{total}");
    }
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "two cases of one name cannot be told apart");
}

#[test]
fn each_rule_has_a_case_for_each_row() {
    let xml = xml(&ruled(UndecidedPolicy::Incomplete));
    assert_is_junit(&xml);
    let all = outcomes(&xml);
    let on = |suite: &str, name: &str| all[&(suite.to_owned(), name.to_owned())].clone();
    let row = |rule: &str, strategy: &str| {
        on("gate", &format!("{rule}: {strategy} at 25 % on ALL, billed as {AGENT_MODEL}"))
    };
    assert_eq!(row("reference_recall < 0.9", "prune"), "failure: 0.86 is below 0.9");
    assert_eq!(
        row("reference_recall < 0.9", "fifo"),
        "skipped: undecided: 0.40, between 0.36 and 0.44"
    );
    assert_eq!(row("recall < 0.8", "prune"), "passed");
    assert_eq!(row("recall < 0.8", "sliding-window"), "error: no such row");
    assert_eq!(all.len(), 5);
}

#[test]
fn undecided_is_skipped_unless_policy_fails_it() {
    for (policy, expected) in [
        (UndecidedPolicy::Incomplete, "skipped: undecided: 0.40"),
        (UndecidedPolicy::Pass, "skipped: undecided, which counts as passed: 0.40"),
        (UndecidedPolicy::Fail, "failure: 0.40"),
    ] {
        let xml = xml(&ruled(policy));
        assert_is_junit(&xml);
        let all = outcomes(&xml);
        let (_, found) = all.iter().find(|((_, name), _)| name.contains("0.9: fifo")).unwrap();
        assert!(found.starts_with(expected), "{policy:?}: {found}");
    }
}

#[test]
fn any_text_at_all_makes_well_formed_xml() {
    let mut report = ruled(UndecidedPolicy::Incomplete);
    report.title = HOSTILE.to_owned();
    for row in &mut report.rows {
        row.strategy = format!("{HOSTILE}{}", row.strategy);
        row.dataset = HOSTILE.to_owned();
        row.failed = vec![HOSTILE.to_owned()];
    }
    report.sessions.iter_mut().for_each(|t| t.dataset = HOSTILE.to_owned());
    for rule in &mut report.gate.as_mut().unwrap().rules {
        rule.rule = format!("{HOSTILE}{}", rule.rule);
        rule.checks.iter_mut().for_each(|check| check.reason = HOSTILE.to_owned());
    }
    let xml = xml(&report);
    assert_is_junit(&xml);
    assert!(!xml.chars().any(|c| c.is_control() && c != '\n'), "{xml:?}");
    let document = Document::parse(&xml).unwrap();
    let name = document.root_element().attribute("name").unwrap();
    assert!(name.contains("]]><x a='\"'>&amp;&#0;   ") && name.ends_with("-->日本𝒳"), "{name}");
    assert_eq!(document.descendants().filter(|n| n.has_tag_name("x")).count(), 0);
}
