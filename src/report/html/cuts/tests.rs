use super::*;
use crate::model::{NoCut, Standing};
use crate::report::html::tests::{block, page, tags};
use crate::report::packed::unpacked;
use crate::report::testkit::{Kit, cut};

fn made(texts: bool) -> Cuts {
    let report = cut(Kit::default().report());
    let echo = Kit::default().texts(&report);
    let texts = texts.then_some(&echo as &dyn crate::report::Texts);
    cuts(&Source { report: &report, texts }, &Cells::new(&report)).unwrap()
}

/// The section of a page.
fn section(page: &str) -> &str {
    page.split_once("<section id=\"cuts\">").unwrap().1.split_once("</section>").unwrap().0
}

#[test]
fn bars_are_counts_of_facts_by_state_at_each_depth() {
    let cuts = made(false);
    assert_eq!(
        cuts.basis,
        "4 facts at stake at 3 cuts, in 2 of 3 sessions. A depth is looked at where enough stands before the cut."
    );
    let told = |rows: &[Row]| -> Vec<(String, String)> {
        let words = |bar: &Option<Bar>| bar.as_ref().map(|bar| bar.words.replace('\u{A0}', " "));
        let each = rows.iter().map(|row| (row.name.clone(), words(&row.bar).unwrap_or_default()));
        each.collect()
    };
    let pair = |name: &str, words: &str| (name.to_owned(), words.to_owned());
    let refused = "1 recovered, 1 lost, 1 of these at requests over the window";
    let deep = [pair("prune", "1 carried, 1 bare, 1 partial, 1 lost"), pair("fifo", refused)];
    assert_eq!(told(&cuts.rows), deep, "a null and a control are no rows");
    let (first, rows) = &cuts.others[0];
    assert_eq!(first.label, "after the first compaction");
    let shallow = [pair("prune", "2 verbatim, 1 carried, 1 lost"), pair("fifo", "")];
    assert_eq!(told(rows), shallow, "fifo was not looked at there");
    let bar = rows[0].bar.as_ref().unwrap();
    let widths: Vec<(&str, &str)> =
        bar.pieces.iter().map(|piece| (piece.class, piece.width.as_str())).collect();
    assert_eq!(widths, [("verbatim", "50.0"), ("carried", "25.0"), ("lost", "25.0")]);
    assert_eq!(bar.kept, "3 of 4");
}

#[test]
fn where_no_session_is_long_enough_for_a_depth_the_one_before_it_is_shown() {
    let mut report = cut(Kit::default().report());
    for cut in report.sessions.cuts_mut() {
        cut.rows.retain(|row| row.depth == 1);
    }
    let cells = Cells::new(&report);
    let cuts = cuts(&Source { report: &report, texts: None }, &cells).unwrap();
    assert_eq!(cuts.depth.label, "after the first compaction");
    assert!(cuts.rows.iter().any(|row| row.bar.is_some()) && cuts.others.is_empty());
    assert!(unpacked(&cuts.data).to_string().contains("\"found\":[\"0"));
}

#[test]
fn tables_tell_the_share_kept_of_each_group_with_its_counts() {
    let cuts = made(false);
    let distance = &cuts.tables[0];
    let heads: Vec<(&str, &str)> =
        distance.heads.iter().map(|(name, facts)| (name.as_str(), facts.as_str())).collect();
    assert_eq!(heads, [("1-5", "2 facts"), ("6-20", "1 fact"), ("21-40", "1 fact")]);
    let told = |row: usize| -> Vec<(&str, &str)> {
        let cells = distance.rows[row].cells.iter();
        cells.map(|cell| (cell.share.as_str(), cell.counts.as_str())).collect()
    };
    assert_eq!(told(1), [("0.50", "1 of 2"), ("0.00", "0 of 1"), ("0.00", "0 of 1")]);
    // It failed where the third group is.
    assert_eq!(told(2), [("0.00", "0 of 1"), ("0.00", "0 of 1"), ("–", "")]);
}

#[test]
fn every_fact_is_packed_with_what_became_of_it_under_each_strategy() {
    let data = unpacked(&made(true).data);
    let at = |name: &str| {
        let presets = data["presets"].as_array().unwrap();
        presets.iter().position(|preset| preset[0] == name).unwrap()
    };
    let mut told = Vec::new();
    for cut in data["cuts"].as_array().unwrap() {
        let Some(found) = cut["found"][at("prune")].as_str() else { continue };
        for (fact, state) in cut["facts"].as_array().unwrap().iter().zip(found.bytes()) {
            let state = &data["states"][usize::from(state - b'0')];
            told.push((fact[0].as_str().unwrap(), state[0].as_str().unwrap(), state[1] == true));
        }
    }
    told.sort_unstable();
    let expected = [
        ("48151623", "lost", false),
        ("open_cache", "partial", false),
        ("src/cache/store.rs", "carried", true),
        ("src/main.rs", "bare", false),
    ];
    assert_eq!(told, expected);
    let without = unpacked(&made(false).data).to_string();
    assert!(!without.contains("48151623"), "a page without texts names none");
}

#[test]
fn the_page_explains_a_cut_says_its_limit_and_leads_with_what_is_kept_there() {
    let page = page(&cut(Kit::default().report()), None);
    let section = section(&page);
    for words in [
        "(<b>cuts</b>)",
        "asks for identifiers that the agent used next",
        "only questions can tell",
        "<i>tokens after the cut</i>",
        "1\u{A0}carried, 1\u{A0}bare, 1\u{A0}partial, 1\u{A0}lost",
        "By distance from the cut",
        "By class of identifier",
        "By size of the material",
    ] {
        assert!(section.contains(words), "{words} is not in {section}");
    }
    assert!(!page.contains("null:"), "a null is shown nowhere");
    let heads = page.split("class=\"sortable compared\"").nth(1).unwrap();
    let heads = heads.split("</thead>").next().unwrap();
    let order = [
        "kept at cuts",
        "after the first compac\u{AD}tion",
        "carried",
        "added over the null",
        "tokens after the cut",
        "gain over recency",
        "bill at the window",
        "wait p95",
    ];
    let at = order.map(|head| heads.find(&format!(">{head}</th>")).expect(head));
    assert!(at.is_sorted(), "{heads}");
    assert!(page.contains("+0.12 <small class=\"below\">−0.02 to +0.27</small>"));
    assert!(page.contains("Where a row says nothing else: 4 facts at 2 cuts in 2 sessions."));
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
    for cut in report.sessions.cuts_mut() {
        for fact in &mut cut.facts {
            fact.text = format!("fact{bad}");
        }
        cut.transcript = format!("{}{bad}", cut.transcript);
        cut.dataset = format!("{}{bad}", cut.dataset);
        for row in &mut cut.rows {
            row.strategy = format!("{}{bad}", row.strategy);
        }
    }
    for row in &mut report.rows {
        row.strategy = format!("{}{bad}", row.strategy);
    }
    report.transcripts[2].no_cut = Some(NoCut::Other(format!("reason{bad}")));
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
    kit.presets.extend(names.iter().map(|name| (*name, Standing::Ranked)));
    let mut report = cut(kit.report());
    for cut in report.sessions.cuts_mut() {
        let prune: Vec<_> = cut.rows.iter().filter(|r| r.strategy == "prune").cloned().collect();
        for name in &names {
            let named = |row: &crate::model::CutRow| crate::model::CutRow {
                strategy: (*name).to_owned(),
                ..row.clone()
            };
            cut.rows.extend(prune.iter().map(named));
        }
    }
    let size = section(&page(&report, None)).len();
    assert!(size < 80_000, "{size} bytes");
}
