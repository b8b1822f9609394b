use super::*;
use crate::html::tests::{block, page, tags};
use crate::packed::unpacked;
use crate::testkit::{Kit, cut};
use recap_core::model::{Answered, NoCut, RowKind, Value};

fn of(report: &Report, texts: bool) -> Cuts {
    let echo = Kit::default().texts(report);
    let texts = texts.then_some(&echo as &dyn crate::Texts);
    cuts(&RenderInput { report, texts }, &Cells::new(report)).unwrap()
}

fn made(texts: bool) -> Cuts {
    of(&cut(Kit::default().report()), texts)
}

/// The section of a page.
fn section(page: &str) -> &str {
    page.split_once("<section id=\"cuts\">").unwrap().1.split_once("</section>").unwrap().0
}

#[test]
fn rows_have_the_measures_as_words_and_as_dots() {
    let mut report = cut(Kit::default().report());
    let fifo = report.rows.iter_mut().find(|row| row.strategy == "fifo").unwrap();
    for (id, x) in [
        ("facts_kept", 0.5),
        ("tokens_at_cut", 0.75),
        ("questions_at_cut", 20.0),
        ("continuity_at_cut", 40.0),
        ("blocking_ms_p95", 0.0),
    ] {
        fifo.values.insert(id.to_owned(), Value::Known(x));
    }
    let mut twin = fifo.clone();
    twin.values.insert("cuts".to_owned(), Value::Known(2.0));
    (twin.strategy, report.twin) = ("continuation".to_owned(), None);
    let mut recorded = twin.clone();
    (recorded.strategy, recorded.row_kind) = (RECORDED.to_owned(), RowKind::Control);
    report.rows.push(recorded);
    report.twin = Some(twin);
    report.manifest.agent = Some("codex".to_owned());
    let cuts = of(&report, false);
    assert_eq!(cuts.basis, "4 facts at 3 cuts, in 2 of 3 sessions.");
    assert!(cuts.depth.starts_with("in a session 3 times the window"), "{}", cuts.depth);
    assert!(cuts.basis.starts_with("4 facts at 3 cuts, "), "{}", cuts.basis);
    let names: Vec<Vec<(&str, &str)>> = (cuts.groups.iter())
        .map(|group| group.rows.iter().map(|row| (&*row.name, &*row.places)).collect())
        .collect();
    let own =
        [("codex, as recorded", "at 2 places"), ("continuation", "offline, at the same 2 places")];
    let ranked = ["prune", "sliding-window", "fifo"].map(|name| (name, ""));
    assert_eq!(names, [&own[..], &ranked], "the twin stands beside what it repeats");
    let row = &cuts.groups[1].rows[2];
    assert_eq!(row.cells, ["25 %", "50 %", "40 %", "none"]);
    assert_eq!((row.facts, row.answers), (Some(50.0), Some(40.0)));
    let (left, width) = row.range.unwrap();
    assert!((left - 10.0).abs() < 1e-9 && (width - 20.0).abs() < 1e-9, "0.1 to 0.3");
    assert_eq!(cuts.spread, Some("95 % interval"));
}

#[test]
fn cuts_with_nothing_examined_have_no_section() {
    let mut report = cut(Kit::default().report());
    report.manifest.depth = 1;
    assert_eq!(of(&report, false).depth, "the first one of the strategy");
    for row in &mut report.rows {
        row.values.remove("facts_kept");
    }
    let source = RenderInput { report: &report, texts: None };
    assert!(cuts(&source, &Cells::new(&report)).is_none());
}

#[test]
fn questions_by_kind_count_only_those_full_answers() {
    let kinds = |plan, artifact: Option<u64>| {
        let of = |after| Answered { before: 5, after: after as f64 };
        let artifact = artifact.map(|after| (QuestionKind::Artifact, of(after)));
        [(QuestionKind::Plan, of(plan))].into_iter().chain(artifact).collect()
    };
    let strategy = |strategy: &str, kinds| AnsweredAtCuts {
        strategy: strategy.to_owned(),
        row_kind: RowKind::Ranked,
        kinds,
    };
    let table =
        questions(&[strategy("a", kinds(1, Some(5))), strategy("b", kinds(5, None))]).unwrap();
    let heads: Vec<&str> = table.heads.iter().map(|(name, _)| name.as_str()).collect();
    let cells = |row: usize| {
        let cells = table.rows[row].cells.iter();
        cells.map(|cell| (cell.share.as_str(), cell.counts.as_str())).collect::<Vec<_>>()
    };
    let plan = heads.iter().position(|head| *head == "what is still to be done").unwrap();
    assert_eq!(table.heads[plan].1, "5 questions");
    assert_eq!(cells(0)[plan], ("20 %", "1 of 5"));
    assert_eq!(cells(1)[1 - plan], ("–", ""), "it was asked nothing of the kind");
    assert!(questions(&[]).is_none());
}

#[test]
fn every_fact_is_packed_with_state_per_strategy() {
    let data = unpacked(&made(true).data);
    let at = |name: &str| {
        let strategies = data["strategies"].as_array().unwrap();
        strategies.iter().position(|strategy| strategy[0] == name).unwrap()
    };
    let mut actual = Vec::new();
    for cut in data["cuts"].as_array().unwrap() {
        let Some(found) = cut["found"][at("prune")].as_str() else { continue };
        for (fact, state) in cut["facts"].as_array().unwrap().iter().zip(found.bytes()) {
            let state = &data["states"][usize::from(state - b'0')];
            actual.push((fact[0].as_str().unwrap(), state[0].as_str().unwrap(), state[1] == true));
        }
    }
    actual.sort_unstable();
    let expected = [
        ("48151623", "lost", false),
        ("open_cache", "partial", false),
        ("src/cache/store.rs", "carried", true),
        ("src/main.rs", "bare", false),
    ];
    assert_eq!(actual, expected);
    let without = unpacked(&made(false).data).to_string();
    assert!(!without.contains("48151623"), "a page without texts names none");
}

#[test]
fn page_explains_cuts_and_leads_with_facts_kept() {
    let page = page(&cut(Kit::default().report()), None);
    let section = section(&page);
    for words in [
        "At a <b>cut</b> a compaction is forced",
        "asks for identifiers that the agent used next",
        "only questions can tell",
        "<i>tokens after the cut</i>",
        "class=\"fa\" style=\"left:",
    ] {
        assert!(section.contains(words), "{words} is not in {section}");
    }
    assert!(!page.contains("no-summary:"), "a run without summary is shown nowhere");
    let heads = page.split("class=\"sortable compared\"").nth(1).unwrap();
    let heads = heads.split("</thead>").next().unwrap();
    let order = [
        "facts kept",
        "carried",
        "added by the summary",
        "tokens after the cut",
        "gain over recency",
        "bill at the window",
        "wait p95",
    ];
    let at = order.map(|head| heads.find(&format!(">{head}</th>")).expect(head));
    assert!(at.is_sorted(), "{heads}");
    assert!(page.contains("+0.12 <small class=\"below\">−0.02 to +0.27</small>"));
    assert!(page.contains("Where a row says nothing else: 4 facts at 3 cuts in 2 sessions."));
    // 4 + 10 of the scale to 4 + 30.
    assert!(page.contains("class=\"range\" x=\"14.0\" y=\"3.5\" width=\"20.0\""));
}

#[test]
fn a_session_without_a_cut_says_why() {
    let report = cut(Kit::default().report());
    let reason = "the recorded agent never compacted before a request";
    assert_eq!(uncut(&report), [(reason.to_owned(), vec!["session-2".to_owned()])]);
    assert!(page(&report, None).contains(&format!("{reason}: <bdi>session-2</bdi>")));
    assert!(!page(&Kit::default().report(), None).contains("id=\"cuts\""));
}

#[test]
fn identifiers_from_recordings_never_become_markup() {
    let mut report = cut(Kit::default().report());
    let bad = "<script>alert(1)</script>\" onmouseover=\"x\u{1b}[31m\u{202E}";
    for cut in report.results.cuts_mut() {
        for fact in &mut cut.facts {
            fact.text = format!("fact{bad}");
        }
        cut.session = format!("{}{bad}", cut.session);
        cut.dataset = format!("{}{bad}", cut.dataset);
        for row in &mut cut.rows {
            row.strategy = format!("{}{bad}", row.strategy);
        }
    }
    for row in &mut report.rows {
        row.strategy = format!("{}{bad}", row.strategy);
    }
    report.sessions[2].no_cut = Some(NoCut::Other(format!("reason{bad}")));
    let texts = Kit::default().texts(&report);
    let page = page(&report, Some(&texts));
    for tag in tags(&page) {
        assert!(tag.matches('"').count() % 2 == 0, "an attribute is torn: <{tag}>");
        let outside: String = tag.split('"').step_by(2).collect();
        assert!(!outside.contains("onmouseover"), "<{tag}>");
    }
    let section = section(&page);
    assert_eq!(section.matches("<script").count(), 1, "the packed facts alone: {section}");
    assert!(section.contains("prune&#60;script&#62;"), "it is shown");
    let data = block(&page, "fact-data").to_string();
    for place in ["fact", "session-0", "prune"] {
        assert!(data.contains(&format!("{place}<script>")), "{place} is not in the list");
    }
    assert!(page.contains("reason&#60;script&#62;"));
    assert!(!page.contains(['\u{202E}', '\u{1b}']));
}

#[test]
fn cuts_keep_the_page_small() {
    let mut kit = Kit { sessions: 3, ..Kit::default() };
    let names: Vec<String> = (0..36).map(|n| format!("a-strategy-of-usual-length-{n}")).collect();
    let names: Vec<&'static str> = names.into_iter().map(|name| &*name.leak()).collect();
    kit.strategies.extend(names.iter().map(|name| (*name, RowKind::Ranked)));
    let mut report = cut(kit.report());
    for cut in report.results.cuts_mut() {
        let prune: Vec<_> = cut.rows.iter().filter(|r| r.strategy == "prune").cloned().collect();
        for name in &names {
            let named = |row: &recap_core::model::CutRow| recap_core::model::CutRow {
                strategy: (*name).to_owned(),
                ..row.clone()
            };
            cut.rows.extend(prune.iter().map(named));
        }
    }
    let size = section(&page(&report, None)).len();
    assert!(size < 80_000, "{size} bytes");
}
