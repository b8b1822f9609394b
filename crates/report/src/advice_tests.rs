use std::collections::BTreeMap;

use super::*;
use crate::document::{Screen, terminal};
use crate::html::tests::page;
use crate::testkit::{Kit, narrow, recommended};
use crate::{RenderInput, formats};
use recap_core::model::{Basis, CostlySession, Limits, Reason, Setting, SizeFigures, Through};

fn estimate(value: f64, lo: f64, hi: f64) -> Estimate {
    Estimate { value, lo, hi, tested: true, clusters: 8 }
}

fn at(from: u64, usd: [f64; 3]) -> SizeFigures {
    SizeFigures {
        from,
        to: 2 * from,
        tokens: from + from / 2,
        window: Some(2 * from),
        cuts: 40,
        compacted: 38,
        sessions: 8,
        freed: Some(0.46),
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

fn strategy(strategy: &str, row_kind: RowKind, sizes: Vec<SizeFigures>) -> StrategyAdvice {
    let from_tokens = Some(32_000);
    StrategyAdvice { strategy: strategy.into(), row_kind, from_tokens, sizes }
}

/// Prune pays from 32k on, most at 64k to 128k; an offline summary seems to save more.
fn made() -> Advice {
    let sizes = || vec![at(32_000, [0.1, 0.02, 0.18]), at(64_000, [0.42, 0.1, 0.74])];
    Advice {
        pays: Payback::Yes,
        because: Reason::Saves,
        choice: Some((1, 1)),
        strategies: vec![
            strategy("codex", RowKind::OfflineSummary, vec![at(64_000, [0.9, 0.5, 1.3])]),
            strategy("prune", RowKind::Ranked, sizes()),
        ],
        through: Some(through(70.0)),
        apply: None,
        basis: Basis {
            sessions: 9,
            cut_sessions: 8,
            fit: 3,
            recorded_compactions: 7,
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

/// Nine sessions that cost $75.16 today, and so much as advised.
fn through(usd: f64) -> Through {
    let most = CostlySession { session: "s7".into(), difference_usd: 65.0, compactions: 85 };
    Through {
        usd,
        today_usd: 75.16,
        as_recorded: true,
        window: 192_000,
        sessions: 9,
        most: Some(most),
    }
}

#[test]
fn advice_states_its_cost_through_whole_sessions() {
    let advised =
        |through: Option<Through>| wording::before_the_limit(&Advice { through, ..made() });
    assert_eq!(
        advised(Some(through(70.0))),
        "Compact early: prune at about 96k tokens costs $70.00 through all 9 sessions, 7 % less than \
         today ($75.16), frees 46 % and keeps 91 % of the facts needed afterwards."
    );
    assert_eq!(
        advised(None),
        "Compact early: prune at about 96k tokens would save $0.42 a session (95 % interval $0.10 to \
         $0.74) by single compactions, frees 46 % and keeps 91 % of the facts needed afterwards."
    );
    let dearer = Advice { because: Reason::DearerInTheWhole, pays: Payback::No, ..made() };
    let dearer = Advice { through: Some(through(110.09)), ..dearer };
    assert_eq!(
        wording::before_the_limit(&dearer),
        "Do not compact before the limit: single compactions by prune at about 96k tokens save $0.42 \
         a session (95 % interval $0.10 to $0.74), but through all 9 sessions it costs $110.09, 46 % \
         more than today ($75.16); $65.00 of that in one session (s7), compacted 85 times."
    );
}

#[test]
fn sessions_below_limit_are_told_to_change_nothing() {
    let actual = |fit: u64, actual: &str| {
        let basis = Basis { fit, ..made().basis };
        let open = Advice { because: Reason::Open, choice: None, ..made() };
        wording::at_the_limit(&Advice { basis, ..open }, actual)
    };
    assert_eq!(
        actual(3, "Send the whole conversation."),
        "3 of 9 sessions stay below the limit: change nothing there. At the limit: send the whole \
         conversation."
    );
    assert_eq!(actual(0, "At the limit prune loses least."), "At the limit prune loses least.");
    assert_eq!(
        actual(9, "Use prune."),
        "No session comes to the limit (200k tokens): the largest context has 161k tokens, so \
         nothing has to be compacted."
    );
    // Compacting early changes the sessions that fit, too.
    let early = Advice { basis: Basis { fit: 3, ..made().basis }, ..made() };
    assert_eq!(wording::at_the_limit(&early, "At the limit use prune."), "At the limit use prune.");
}

#[test]
fn the_reasons_say_what_the_figures_do() {
    assert_eq!(
        reasons(&Kit::default().report(), &made()),
        [
            "It has saved what it cost after 7 requests, and 62 were still to come (medians); at 88 % \
             of the cuts it had paid back when the session ended.",
            "Behind it the context still holds 91 % of the 120 facts that were needed afterwards \
             (95 % interval 85 to 97 %); by class: path (9 of 80 missing) and number (2 of 40 \
             missing).",
            "This rests on 80 cuts in 8 of 9 sessions (8 sessions). 1 session has no place for a \
             cut: it has 3 requests.",
        ]
    );
    assert_eq!(
        wording::summaries(&made()).unwrap(),
        "Also cheaper, quality unknown without a model: compacting with codex from 32k tokens on."
    );
}

#[test]
fn json_has_advised_choice_only_when_advised() {
    let report = Kit::default().report();
    let json = |advice: &Advice| advice_json(&report, advice);
    let yes = json(&made());
    assert_eq!(yes["pays"], "yes");
    assert_eq!(yes["seen"], Value::Null);
    assert_eq!(yes["advised"]["strategy"], "prune");
    assert_eq!(yes["advised"]["threshold"], json!({"tokens": 96_000, "share_of_window": 0.48}));
    let undecided = Advice { pays: Payback::Undecided, because: Reason::FewClusters, ..made() };
    let seen = json(&undecided);
    assert_eq!((&seen["advised"], &seen["seen"]["strategy"]), (&Value::Null, &json!("prune")));
}

#[test]
fn a_loss_is_told_as_a_loss() {
    let strategies = vec![strategy("prune", RowKind::Ranked, vec![at(64_000, [-0.5, -0.9, -0.1])])];
    let (pays, because) = (Payback::No, Reason::NoSaving);
    let advice = Advice { pays, because, choice: None, strategies, ..made() };
    assert_eq!(
        wording::before_the_limit(&advice),
        "Do not compact before the limit: no strategy that needs no model saves at any size up to \
         161k tokens."
    );
    assert_eq!(
        wording::reasons(&advice)[0],
        "Closest is prune at 64k to 128k tokens: single compactions lose $0.50 a session (95 % \
         interval of the saving −$0.90 to −$0.10)."
    );
}

#[test]
fn tables_fit_terminal_and_narrow_ones_become_blocks() {
    for width in [60, 80, 140] {
        let text = terminal(&tables(&made()), Screen { width, color: false, wide: true });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        assert!(text.contains("codex (offline)") && text.contains("$0.420 [0.100 to 0.740]"));
    }
    // What an offline summary keeps says nothing about the strategy.
    let kept: Vec<String> = by_strategy(&made()).into_iter().map(|mut row| row.remove(4)).collect();
    assert_eq!(kept, ["91 % [85 to 97]", "–"]);
}

#[test]
fn the_page_has_the_picture_twice() {
    let advised = |advice: Advice| {
        let mut report = Kit::default().report();
        report.advice = Some(advice);
        let page = page(&report, None);
        let section = page.split_once("<section id=\"when\">").unwrap().1;
        section.split_once("</section>").unwrap().0.to_owned()
    };
    let section = advised(made());
    assert!(section.contains("<h2>Compacting before the limit pays</h2>"), "{section}");
    assert_eq!(section.matches("role=\"img\"").count(), 2, "for a screen and for a telephone");
    assert_eq!(section.matches("USD saved by compacting").count(), 2);
    assert!(section.contains("64k+") && section.contains("currentColor"));
    let empty = Advice { choice: None, strategies: Vec::new(), because: Reason::NoPlace, ..made() };
    assert!(!advised(empty).contains("role=\"img\""));
    assert!(!page(&Kit::default().report(), None).contains("id=\"when\""));
}

fn setting() -> Setting {
    Setting {
        agent: "codex".into(),
        name: "limit".into(),
        line: "limit = 96000".into(),
        file: "~/.codex/config.toml".into(),
        note: Some("It stands above the tables.".into()),
        source: "https://example.com/config".into(),
        version: "commit 00e9f06".into(),
        checked: "2026-11-27".into(),
    }
}

#[test]
fn setting_line_appears_everywhere_only_if_it_exists() {
    let mut report = Kit::default().report();
    report.recommendation = Some(recommended("prune"));
    report.advice = Some(Advice { apply: Some(setting()), ..made() });
    let actual = "To apply it, set for codex, in ~/.codex/config.toml: limit = 96000 – It stands \
                above the tables. recap changes no settings itself. Read on 2026-11-27 in \
                https://example.com/config (commit 00e9f06).";
    assert_eq!(wording::apply(&report).unwrap(), actual);
    let json = advice_json(&report, report.advice.as_ref().unwrap());
    assert_eq!(json["apply"]["line"], "limit = 96000");
    assert_eq!(json["apply"]["file"], "~/.codex/config.toml");
    let shown = |report: &Report| {
        let markdown = formats(&[]).find(|format| format.file == "report.md").unwrap();
        let markdown = markdown.bytes(&RenderInput { report, texts: None });
        (narrow(report, 100), String::from_utf8(markdown).unwrap(), page(report, None))
    };
    let (terminal, markdown, page) = shown(&report);
    assert!(terminal.contains("\n apply    To apply it, set for codex"), "{terminal}");
    assert!(markdown.contains("To apply it, set for codex"), "{markdown}");
    assert!(page.contains("<code>limit = 96000</code> It stands above"), "{page}");
    report.advice = Some(made());
    let (terminal, markdown, page) = shown(&report);
    assert!(![terminal, markdown, page].iter().any(|text| text.contains("To apply it")));
    assert_eq!(advice_json(&report, &made())["apply"], Value::Null);
}
