use std::collections::BTreeMap;

use super::*;
use crate::measure::findings::Evidence;
use crate::measure::names::ALL;
use crate::measure::testkit::manifest;
use crate::model::{Finding, Sessions, VoidReplies};

const PRIMARY: &str = "reference_recall";

/// A row over all transcripts.
fn row(strategy: &str, rank: Option<u32>, values: &[(&str, f64)]) -> Entry {
    row_at("25%", 10_000.0, strategy, rank, values)
}

fn row_at(
    window: &str,
    window_tokens: f64,
    strategy: &str,
    rank: Option<u32>,
    values: &[(&str, f64)],
) -> Entry {
    let row = PresetRow {
        agent_model: "recorded".into(),
        dataset: ALL.into(),
        strategy: strategy.into(),
        window: window.into(),
        standing: if rank.is_some() { Standing::Ranked } else { Standing::Control },
        rank,
        values: values.iter().map(|(id, v)| ((*id).into(), Value::Known(*v))).collect(),
        intervals: BTreeMap::new(),
        verdict: None,
        failed: Vec::new(),
    };
    let (scores, facts) = (BTreeMap::new(), BTreeMap::new());
    let (variance, replies) = (Vec::new(), VoidReplies::default());
    Entry { row, scores, facts, asked: 20, variance, window_tokens, acted: true, replies }
}

fn said(table: &[Entry]) -> Vec<String> {
    let manifest = manifest(&["25%"]);
    let none = Sessions::default();
    let run = Evidence::of(&manifest, Primary::ReferenceRecall, table, (&[], &none), None, None);
    choose(&run).into_iter().map(|found| Finding::from(found).to_string()).collect()
}

#[test]
fn presets_over_the_window_are_listed_worst_first() {
    let over = |overflows| vec![(PRIMARY, 0.4), ("overflows", overflows), ("requests", 400.0)];
    let table = [
        row("prune", Some(1), &over(1.0)),
        row("fifo", Some(2), &over(300.0)),
        row("window", Some(3), &over(0.0)),
    ];
    assert_eq!(
        said(&table),
        [
            "at 25 % some requests are over the window (fifo 75 %, prune under 1 %); a provider would \
             have refused them, so nothing counts as kept there"
        ]
    );
}

#[test]
fn losses_without_a_tool_result_are_reported_for_the_preset_with_most_of_them() {
    let losses = |irrecoverable, lost| {
        vec![("irrecoverable", irrecoverable), ("reference_lost", lost), (PRIMARY, 1.0 - lost)]
    };
    let table =
        [row("prune", Some(1), &losses(0.0, 0.2)), row("fifo", Some(2), &losses(0.31, 0.6))];
    let said = said(&table);
    assert!(
        said[0].starts_with("31 % of what fifo at 25 % loses was said by the user"),
        "{said:?}"
    );
    let none = [row("prune", Some(1), &losses(0.0, 0.2))];
    assert!(self::said(&none).is_empty(), "nothing is said where nothing is lost");
}

#[test]
fn a_preset_that_is_no_better_than_recency_is_named() {
    let table = [
        row("prune", Some(1), &[(PRIMARY, 0.8), ("recency_gain", 0.27)]),
        row("fifo", Some(2), &[(PRIMARY, 0.3), ("recency_gain", -0.012)]),
    ];
    assert_eq!(
        said(&table),
        ["at 25 % fifo does no better than sending the newest messages of the same size (−0.01); \
          prune does (+0.27)"]
    );
}

#[test]
fn an_order_that_holds_in_some_transcripts_only_is_reported() {
    let mut first = row("prune", Some(1), &[(PRIMARY, 0.6)]);
    first.scores = BTreeMap::from([(0, 0.9), (1, 0.3), (2, 0.6), (3, 0.6)]);
    let mut second = row("fifo", Some(2), &[(PRIMARY, 0.5)]);
    second.scores = BTreeMap::from([(0, 0.2), (1, 0.7), (2, 0.6), (3, 0.5)]);
    assert_eq!(
        said(&[first, second]),
        ["at 25 % prune keeps more than fifo in 2 of 4 sessions and less in 1: which is better \
          depends on the session"]
    );
}

#[test]
fn a_wrong_estimate_and_a_grown_context_are_reported() {
    let table = [row(
        "gencode",
        Some(1),
        &[("estimator_error", -0.25), ("inflated", 3.0), ("compactions", 4.0)],
    )];
    let said = said(&table);
    assert!(
        said[0].contains("3 of 4 compactions of gencode at 25 % made the context longer"),
        "{said:?}"
    );
    assert!(said[1].contains("25 % below what it really sends"), "{said:?}");
}

#[test]
fn the_gain_of_a_larger_window_is_reported_for_the_best_of_the_smallest() {
    let table = [
        row_at("200k", 200_000.0, "fifo", Some(1), &[(PRIMARY, 0.95)]),
        row_at("200k", 200_000.0, "prune", Some(2), &[(PRIMARY, 0.9)]),
        row_at("25%", 20_000.0, "prune", Some(1), &[(PRIMARY, 0.6)]),
    ];
    assert_eq!(
        said(&table),
        ["from 25 % to 200k prune goes from 0.60 to 0.90, and fifo leads there (0.95)"]
    );
    // A larger window that changes nothing is not reported.
    let same = ["25%", "200k"].map(|window| {
        let tokens = if window == "25%" { 10_000.0 } else { 200_000.0 };
        row_at(window, tokens, "prune", Some(1), &[(PRIMARY, 0.6)])
    });
    assert!(!said(&same).join(" ").contains("goes from"), "{:?}", said(&same));
}

#[test]
fn at_most_three_observations_are_kept_and_the_most_relevant_first() {
    let table = [
        row("prune", Some(1), &[(PRIMARY, 0.9), ("token_savings", 0.3), ("recency_gain", 0.3)]),
        row(
            "fifo",
            Some(2),
            &[
                (PRIMARY, 0.2),
                ("token_savings", 0.7),
                ("recency_gain", 0.0),
                ("irrecoverable", 0.5),
                ("reference_lost", 0.8),
                ("overflows", 1.0),
                ("requests", 100.0),
            ],
        ),
        row("id-list", None, &[(PRIMARY, 0.3)]),
    ];
    let said = said(&table);
    assert_eq!(said.len(), MOST);
    assert!(said[0].contains("was said by the user"), "{said:?}");
}

#[test]
fn rows_of_single_data_sets_are_not_observed() {
    let mut one = row("prune", Some(1), &[(PRIMARY, 0.86), ("token_savings", 0.54)]);
    one.row.dataset = "d".into();
    assert!(said(&[one]).is_empty());
}

/// Half of the tokens at this saving, as billed and with all losses fetched
/// again.
fn billed(savings: f64, refetched: f64) -> Vec<(&'static str, f64)> {
    vec![
        ("token_savings", 0.79),
        ("cost_savings", savings),
        ("cost_usd", 1.0 - savings),
        ("cost_usd_refetch", 1.0 - refetched),
        ("compaction_cost_usd", 0.0),
        ("cache_breaks", 2_398.0),
        ("requests", 2_412.0),
        ("overflows", 0.0),
        (PRIMARY, 0.9),
    ]
}

fn whole(overflows: f64) -> Entry {
    row("full", None, &[("overflows", overflows), ("cost_usd", 1.0)])
}

fn of_money(table: &[Entry]) -> Vec<String> {
    let sentences = said(table).into_iter();
    sentences.filter(|s| s.contains("costs") || s.contains("bill")).collect()
}

#[test]
fn fewer_tokens_for_more_money_are_explained() {
    let table = [whole(0.0), row("sliding-window", Some(1), &billed(-0.22, -0.3))];
    assert_eq!(
        of_money(&table),
        ["sliding-window at 25 % sends 79 % fewer tokens and costs 22 % more than the whole \
          conversation: it breaks the prompt cache at 2,398 of 2,412 requests"]
    );
}

#[test]
fn a_bill_above_that_of_a_hypothetical_conversation_is_reported_so() {
    let table = [whole(37.0), row("sliding-window", Some(1), &billed(-0.22, -0.3))];
    assert_eq!(
        of_money(&table),
        ["sliding-window at 25 % sends 79 % fewer tokens and costs 22 % more than the whole \
          conversation would if its requests over the window were taken: it breaks the prompt \
          cache at 2,398 of 2,412 requests"]
    );
}

#[test]
fn an_expensive_compactor_explains_a_bill_that_breaks_do_not() {
    let mut figures = billed(-0.25, -0.3);
    figures.extend([("cache_breaks", 12.0), ("compaction_cost_usd", 0.5)]);
    let table = [whole(0.0), row("continuation", Some(1), &figures)];
    let said = of_money(&table);
    assert!(said[0].ends_with("the calls of its compactions are 40 % of its bill"), "{said:?}");
}

#[test]
fn several_payers_are_named_with_bills() {
    let table: Vec<Entry> = ["dear", "cheap"]
        .into_iter()
        .flat_map(|payer| {
            let figures = billed(if payer == "dear" { -0.4 } else { -0.1 }, -0.5);
            [whole(0.0), row("prune", Some(1), &figures)].map(|mut entry| {
                entry.row.agent_model = payer.to_owned();
                entry
            })
        })
        .collect();
    let said = said(&table);
    assert!(said[0].starts_with("prune at 25 % (billed as dear) sends 79 % fewer"), "{said:?}");
}

#[test]
fn a_preset_that_keeps_everything_is_not_reported_as_no_better() {
    let table = [
        row("prune", Some(1), &[(PRIMARY, 1.0), ("recency_gain", 0.0)]),
        row("window", Some(1), &[(PRIMARY, 1.0), ("recency_gain", 0.0)]),
    ];
    assert!(!said(&table).join(" ").contains("no better"), "{:?}", said(&table));
    // A preset with losses and the same score is named, without a figure of
    // 0.00.
    let table = [row("fifo", Some(1), &[(PRIMARY, 0.6), ("recency_gain", 0.001)])];
    let words = "at 25 % fifo does no better than sending the newest messages of the same size";
    assert_eq!(said(&table)[0], words);
}

#[test]
fn a_preset_that_leads_in_no_transcript_is_not_reported_as_leading() {
    let mut table =
        [row("prune", Some(1), &[(PRIMARY, 0.9)]), row("fifo", Some(1), &[(PRIMARY, 0.9)])];
    for entry in &mut table {
        entry.scores = (0..4).map(|unit| (unit, 0.9)).collect();
    }
    assert!(!said(&table).join(" ").contains("keeps more"), "{:?}", said(&table));
}

#[test]
fn an_order_is_reported_from_three_transcripts_on() {
    let scored = |strategy: &str, rank, scores: &[f64]| {
        let mut entry = row(strategy, Some(rank), &[(PRIMARY, 0.6)]);
        entry.scores = (0..).zip(scores.iter().copied()).collect();
        entry
    };
    let order = |first: &[f64], second: &[f64]| {
        said(&[scored("prune", 1, first), scored("fifo", 2, second)])
            .iter()
            .any(|said| said.contains("keeps more than fifo in 2 of 3 sessions and less in 1"))
    };
    assert!(order(&[0.9, 0.3, 0.6], &[0.2, 0.7, 0.5]), "more in two, less in one");
    assert!(!order(&[0.9, 0.3], &[0.2, 0.7]), "two transcripts are too few");
}

#[test]
fn what_the_best_preset_gets_wrong_is_told_by_whether_it_was_still_there() {
    let wrong = |lost, garbled, unused| {
        let values = [(PRIMARY, 0.5), ("lost", lost), ("garbled", garbled), ("unused", unused)];
        said(&[row("prune", Some(1), &values), row("fifo", Some(2), &[(PRIMARY, 0.3)])])
    };
    // 0.3 of 0.4, and 0.1 + 0.2 of 0.4.
    assert_eq!(
        wrong(0.3, 0.1, 0.0),
        ["75 % of what prune at 25 % gets wrong is no longer in its context"]
    );
    assert_eq!(
        wrong(0.1, 0.1, 0.2),
        [
            "75 % of what prune at 25 % gets wrong is still in its context: finding it is the problem, \
          not keeping it"
        ]
    );
    assert_eq!(wrong(0.2, 0.1, 0.1)[0].split(" is ").nth(1), Some("no longer in its context"));
    assert_eq!(wrong(0.0, 0.0, 0.0), [""; 0]);
}
