use std::collections::BTreeMap;

use super::*;
use crate::model::{Basis, Because, Limits, SizeFigures};
use crate::report::html::advice_html;
use crate::report::testkit::Kit;

fn estimate(value: f64, lo: f64, hi: f64) -> Estimate {
    Estimate { value, lo, hi, tested: true, clusters: 8 }
}

fn at(from: u64, usd: [f64; 3]) -> SizeFigures {
    SizeFigures {
        from,
        to: 2 * from,
        tokens: from + from / 2,
        cuts: 40,
        compacted: 38,
        sessions: 8,
        requests_left: 61.5,
        extrapolated: 12,
        saving_usd: Some(estimate(usd[0], usd[1], usd[2])),
        paid_back: Some(0.875),
        break_even_requests: Some(7.0),
        facts: 120,
        kept: Some(estimate(0.912, 0.85, 0.97)),
        missing: BTreeMap::from([("path", (9, 80)), ("number", (2, 40))]),
        wait_ms: None,
    }
}

fn preset(strategy: &str, standing: Standing, sizes: Vec<SizeFigures>) -> PresetAdvice {
    let from_tokens = Some(32_000);
    PresetAdvice { strategy: strategy.into(), standing, from_tokens, sizes }
}

/// Prune pays from 32k on, most at 64k to 128k; a stand-in seems to save more.
fn made() -> Advice {
    let sizes = || vec![at(32_000, [0.1, 0.02, 0.18]), at(64_000, [0.42, 0.1, 0.74])];
    Advice {
        pays: Pays::Yes,
        because: Because::Saves,
        choice: Some((1, 1)),
        presets: vec![
            preset("codex", Standing::StandIn, vec![at(64_000, [0.9, 0.5, 1.3])]),
            preset("prune", Standing::Ranked, sizes()),
        ],
        basis: Basis {
            sessions: 9,
            cut_sessions: 8,
            clusters: 8,
            noun: "session",
            cuts: 80,
            largest_tokens: 161_000,
            limits: Some(Limits { least: 200_000, most: 200_000 }),
            compactor: "offline".into(),
            not_cut: vec![("it has 3 requests".into(), 1)],
        },
    }
}

#[test]
fn the_paragraph_says_what_the_figures_do() {
    let (answer, reasons) = told(&Kit::default().report(), &made());
    assert_eq!(
        answer,
        "Compacting pays in sessions like these once the context has 32k tokens. Let prune compact \
         at about 96k tokens, 48 % of the window of 200k: of the sizes tried, most is saved at 64k \
         to 128k tokens, where compacting saves $0.420 (95 % interval $0.100 to $0.740) by the end \
         of the session, in the mean over 8 sessions."
    );
    assert_eq!(
        reasons,
        [
            "It has saved what it cost after 7 requests, and 62 were still to come (medians); at 88 % \
             of the cuts it had paid back when the session ended.",
            "Behind it the context still holds 0.91 of the 120 facts that were needed afterwards \
             (95 % interval 0.85 to 0.97); by class: path (9 of 80 missing) and number (2 of 40 \
             missing).",
            "No session comes to the context limit (200k tokens), at which a context has to \
             shrink whatever it costs: the largest one has 161k.",
            "By dollars alone compacting would pay with codex from 32k tokens on; what its \
             summaries keep is not known before a model writes them (`--compactor MODEL`).",
            "This rests on 80 cuts in 8 of 9 sessions (8 sessions). 1 session has no place for a \
             cut: it has 3 requests.",
        ]
    );
}

#[test]
fn agents_read_a_choice_only_where_it_is_advised() {
    let report = Kit::default().report();
    let json = |advice: &Advice| -> Value {
        serde_json::from_str(&advice_json(&report, advice)).expect("it is JSON")
    };
    let yes = json(&made());
    assert_eq!(yes["pays"], "yes");
    assert_eq!(yes["seen"], Value::Null);
    assert_eq!(yes["advised"]["preset"], "prune");
    assert_eq!(yes["advised"]["threshold"], json!({"tokens": 96_000, "share_of_window": 0.48}));
    let undecided = Advice { pays: Pays::Undecided, because: Because::FewClusters, ..made() };
    let seen = json(&undecided);
    assert_eq!((&seen["advised"], &seen["seen"]["preset"]), (&Value::Null, &json!("prune")));
}

#[test]
fn a_loss_is_told_as_a_loss() {
    let closest = |usd: [f64; 3]| {
        let presets = vec![preset("prune", Standing::Ranked, vec![at(64_000, usd)])];
        let (pays, because) = (Pays::No, Because::NoSaving);
        told(&Kit::default().report(), &Advice { pays, because, choice: None, presets, ..made() }).0
    };
    assert_eq!(
        closest([-0.5, -0.9, -0.1]),
        "Do not compact sessions like these to save money: no preset saves at any size up to 161k \
         tokens. Closest comes prune at 64k to 128k tokens, where compacting loses $0.500 (95 % \
         interval of the saving −$0.900 to −$0.100) by the end of the session, in the mean over 8 \
         sessions."
    );
}

#[test]
fn the_tables_fit_the_terminal_and_a_narrow_one_gets_blocks() {
    let report = Kit::default().report();
    for width in [60, 80, 140] {
        let text = advice_table(&report, &made(), width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        assert!(text.contains("codex (stand-in)") && text.contains("$0.420 [0.100 to 0.740]"));
    }
    // What a stand-in keeps says nothing about the preset.
    let kept: Vec<String> = by_preset(&made()).into_iter().map(|mut row| row.remove(4)).collect();
    assert_eq!(kept, ["0.91 [0.85 to 0.97]", "–"]);
}

#[test]
fn the_page_has_the_picture_twice_and_needs_no_script() {
    let page = advice_html(&Kit::default().report(), &made());
    assert!(page.contains("<h1>Compacting pays here</h1>") && !page.contains("<script"));
    assert_eq!(page.matches("role=\"img\"").count(), 2, "for a screen and for a telephone");
    assert_eq!(page.matches("USD saved by compacting").count(), 2);
    assert!(page.contains("64k+") && page.contains("currentColor"));
    let empty = Advice { choice: None, presets: Vec::new(), because: Because::NoPlace, ..made() };
    let page = advice_html(&Kit::default().report(), &empty);
    assert!(!page.contains("role=\"img\"") && page.contains("none of 9 sessions has a place"));
}
