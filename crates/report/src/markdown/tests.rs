use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use regex::Regex;

use super::*;
use crate::plain;
use crate::testkit::{Kit, check, recommended};
use recap_core::model::{
    Absent, Check, CheckOutcome, Finding, Gate, RuleFindings, UndecidedPolicy, Value,
};

/// What a name, a rule or an error of a stranger may hold.
const HOSTILE: [&str; 47] = [
    "[click](https://evil.example/a)",
    "![x](https://evil.example/p.png)",
    "[x]: https://evil.example",
    "[^1] [x][y] [x]",
    "[^1]: note",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<!-- hidden -->",
    "</details></summary><h1>",
    "<https://evil.example>",
    "<a@evil.example>",
    "@octocat and @org/team,@x",
    "a@octocat",
    "#123 GH-42 gh-7 owner/repo#7 owner/repo@0123456789",
    "deadbeefcafe 0123456789abcdef0123456789abcdef01234567",
    "https://evil.example/a?b=c&d",
    "http&#58;//evil.example",
    "www.evil.example wwww.evil.example (WWW.EVIL.example)",
    "evil@example.com",
    "mailto:evil@example.com xmpp:a@b.example ftp://evil.example",
    "a | b | c",
    "|",
    "|||",
    "\\|",
    "a\\|b\\\\|c",
    "`",
    "``` x ``",
    "~~~",
    "\\",
    "ends with \\",
    "**bold** *em* _em_ __init__ ~~gone~~ ~x~",
    "\n# heading\n\n- list\n1. x\n> quote\n---\n===",
    "\n\n    code\n",
    "- item",
    "+ item",
    "1. item",
    "1) item",
    "= x",
    "> [!WARNING]",
    "- [ ] task",
    "$x^2$ $$y$$ $`z`$ $ $5 and $6",
    ":tada: :octocat: :+1:",
    "&lt;b&gt; &#64;octocat &copy; &",
    "\u{0}\u{1b}[31mred \u{202e}evil\u{2028}x\r\ty",
    "w\u{200b}ww.evil.example",
    "日本 𝒳 e\u{301}",
    "   ",
];

fn gated(checks: Vec<Check>) -> Report {
    let mut report = Kit::default().report();
    let rule = RuleFindings { rule: "reference_recall < 0.9".to_owned(), checks };
    report.gate =
        Some(Gate { baseline: None, undecided: UndecidedPolicy::Incomplete, rules: vec![rule] });
    report
}

#[test]
fn several_data_sets_show_table_of_all() {
    let mut report = Kit::default().report();
    for name in ["others", "ALL"] {
        let rows = report.rows.iter().filter(|row| row.dataset == "my-sessions").cloned();
        let rows: Vec<StrategyRow> = rows.collect();
        report.rows.extend(rows.into_iter().map(|row| StrategyRow { dataset: name.into(), ..row }));
    }
    let text = page(&report);
    assert_eq!(text.matches("### all data sets:").count(), 2, "{text}");
    assert_eq!(text.matches("### ").count(), 2, "{text}");
}

#[test]
fn tables_of_a_long_comment_have_their_first_rows() {
    let names: Vec<String> = (0..39).map(|n| format!("strategy-number-{n}")).collect();
    let names: Vec<&'static str> = names.into_iter().map(|n| &*n.leak()).collect();
    let row_kind = |n| if n < 18 { RowKind::Ranked } else { RowKind::OfflineSummary };
    let strategies = names.into_iter().enumerate().map(|(n, name)| (name, row_kind(n))).collect();
    let kit = Kit { windows: vec!["8k", "16k", "25%"], strategies, ..Kit::default() };
    let text = page(&kit.report());
    assert!(text.contains("### my-sessions") && text.contains("| strategy-number-15 |"));
    assert!(text.contains("… and 2 rows more in summary.csv."), "{text}");
    assert!(!text.contains("Left out here"));
}

/// A report in which every text of a stranger is this one.
fn infested(text: &str) -> Report {
    let reason = |finding| Check {
        dataset: text.to_owned(),
        window: text.to_owned(),
        agent_model: text.to_owned(),
        measure: text.to_owned(),
        value: None,
        baseline: None,
        interval: None,
        ..check(text, finding, text)
    };
    let findings = [CheckOutcome::Failed, CheckOutcome::Missing, CheckOutcome::Undecided];
    let mut report = gated(findings.map(reason).to_vec());
    let gate = report.gate.as_mut().unwrap();
    gate.baseline = Some(text.to_owned());
    gate.rules[0].rule = text.to_owned();
    report.title = text.to_owned();
    report.recommendation = Some(recommended(text));
    report.findings = vec![
        Finding::problem("notice", text),
        Finding::observation("adds_nothing", 0.55, text),
        Finding::limit("small_windows", text),
    ];
    report.manifest.compactor = text.to_owned();
    for row in &mut report.rows {
        row.dataset = text.to_owned();
        row.window = format!("{text}{}", row.window);
        row.agent_model = text.to_owned();
        row.failed = vec![text.to_owned()];
        row.values.insert("cost_usd".to_owned(), Value::Absent(Absent::Price(text.to_owned())));
        if row.strategy != "full" {
            row.strategy = text.to_owned();
        }
    }
    report.sessions.iter_mut().for_each(|t| t.dataset = text.to_owned());
    report
}

/// GitHub's Markdown, as far as there are words for it.
fn options() -> Options<'static> {
    let mut options = Options::default();
    let extension = &mut options.extension;
    extension.autolink = true;
    extension.table = true;
    extension.strikethrough = true;
    extension.tasklist = true;
    extension.footnotes = true;
    extension.alerts = true;
    extension.math_dollars = true;
    extension.math_code = true;
    options.parse.relaxed_autolinks = true;
    options
}

/// The text of a paragraph or cell; what no mention is looked for in, or
/// reaches over, is a mark.
fn words<'a>(node: &'a AstNode<'a>) -> String {
    let each = node.descendants().map(|n| match &n.data().value {
        NodeValue::Text(text) => text.to_string(),
        NodeValue::Code(_) | NodeValue::HtmlInline(_) => "\u{FFFC}".to_owned(),
        _ => String::new(),
    });
    each.collect()
}

#[test]
fn hostile_names_yield_only_their_words() {
    let obeyed = Regex::new(
        r"(?i)(^|[^a-z0-9_`])@[a-z0-9]|#[0-9]|\bgh-[0-9]|:[a-z0-9_+-]+:|\b[0-9a-f]{7,40}\b",
    )
    .unwrap();
    for hostile in HOSTILE {
        let text = page(&infested(hostile));
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{hostile:?}");
        let arena = Arena::new();
        let root = parse_document(&arena, &text, &options());
        let mut rows = 0;
        for node in root.descendants() {
            match &node.data().value {
                NodeValue::Document
                | NodeValue::Paragraph
                | NodeValue::List(_)
                | NodeValue::Item(_)
                | NodeValue::Table(_)
                | NodeValue::TableCell
                | NodeValue::Text(_)
                | NodeValue::Code(_)
                | NodeValue::Strong
                | NodeValue::SoftBreak => {}
                NodeValue::Heading(heading) => assert_eq!(heading.level, 3, "{hostile:?}\n{text}"),
                NodeValue::TableRow(head) => rows += usize::from(!head),
                NodeValue::HtmlInline(html) => {
                    assert!(["<span>", "</span>"].contains(&&**html), "{hostile:?} {html}");
                }
                NodeValue::HtmlBlock(html) => {
                    let ours = html.literal.lines().all(|line| {
                        ["<details>", "</details>"].contains(&line)
                            || line.starts_with("<summary>") && line.ends_with("</summary>")
                    });
                    assert!(ours, "{hostile:?} {}", html.literal);
                }
                other => panic!("{hostile:?} became {other:?} in\n{text}"),
            }
            let is_block = matches!(node.data().value, NodeValue::Paragraph | NodeValue::TableCell);
            if is_block {
                let words = words(node);
                let found = obeyed.find(&words).map(|found| found.as_str().to_owned());
                assert_eq!(found, None, "{hostile:?} in {words:?}");
            }
        }
        // Two windows with three ranked rows and three others each.
        assert_eq!(rows, 12, "{hostile:?}\n{text}");
    }
}

#[test]
fn reader_sees_every_hostile_name_unchanged() {
    for hostile in HOSTILE {
        let mut report = Kit::default().report();
        report.rows.iter_mut().for_each(|row| row.strategy = hostile.to_owned());
        let text = page(&report);
        let arena = Arena::new();
        let root = parse_document(&arena, &text, &options());
        let row =
            root.descendants().filter(|n| matches!(n.data().value, NodeValue::TableRow(false)));
        let name = row.map(|row| row.children().next().unwrap()).next().unwrap();
        let seen: String = (name.descendants())
            .map(|n| match &n.data().value {
                NodeValue::Text(text) => text.to_string(),
                NodeValue::Code(code) => code.literal.clone(),
                NodeValue::HtmlInline(_) | NodeValue::TableCell => String::new(),
                other => panic!("{other:?}"),
            })
            .collect();
        let known = |text: &str| text.replace('\u{200b}', "");
        let expected = plain::shortened(plain::line(hostile).trim(), 500);
        assert_eq!(known(&seen), known(&expected), "{hostile:?}\n{text}");
    }
}

#[test]
fn no_comment_is_too_long_for_any_texts() {
    let long = "#$@ ".repeat(20_000);
    let mut report = infested(&long);
    let gate = report.gate.as_mut().unwrap();
    let checks = gate.rules[0].checks.clone();
    gate.rules[0].checks = (0..400).flat_map(|_| checks.clone()).collect();
    report.findings = vec![Finding::problem("notice", &long); 50];
    let observed = Finding::observation("adds_nothing", 0.55, long);
    report.findings.extend(vec![observed; 50]);
    let text = page(&report);
    assert!(text.chars().count() < 65_536, "{}", text.chars().count());
    assert!(text.starts_with("**❌ the gate failed** · recap: "), "{}", &text[..200]);
    assert!(text.contains("Left out here for length"));
}
