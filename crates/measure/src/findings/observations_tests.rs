use std::collections::BTreeMap;

use super::*;
use crate::findings::Evidence;
use crate::testkit::{entry_at, manifest};
use recap_core::model::{Finding, RowName, RunResults};

const PRIMARY: &str = "reference_recall";

/// A row over all sessions.
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
    entry_at((window, window_tokens), strategy, rank, values)
}

fn said(table: &[Entry]) -> Vec<String> {
    let manifest = manifest(&["25%"]);
    let none = RunResults::default();
    let run = Evidence::of(&manifest, Primary::ReferenceRecall, table, &[], &none, None, None);
    choose(&run).into_iter().map(|found| Finding::from(found).to_string()).collect()
}

#[test]
fn strategies_over_the_window_are_listed_worst_first() {
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
fn worst_strategy_reports_its_losses_without_tool_result() {
    let losses = |irrecoverable, lost| {
        vec![
            ("irrecoverable", irrecoverable),
            ("reference_recall", 1.0 - lost),
            (PRIMARY, 1.0 - lost),
        ]
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
fn strategy_no_better_than_recency_is_named() {
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
fn order_holding_in_some_sessions_only_is_reported() {
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
fn larger_window_gain_concerns_best_at_smallest_window() {
    let table = [
        row_at("200k", 200_000.0, "fifo", Some(1), &[(PRIMARY, 0.95)]),
        row_at("200k", 200_000.0, "prune", Some(2), &[(PRIMARY, 0.9)]),
        row_at("25%", 20_000.0, "prune", Some(1), &[(PRIMARY, 0.6)]),
    ];
    assert_eq!(
        said(&table),
        ["from 25 % to 200k prune goes from 60 % to 90 %, and fifo leads there (95 %)"]
    );
    // A larger window that changes nothing is not reported.
    let same = ["25%", "200k"].map(|window| {
        let tokens = if window == "25%" { 10_000.0 } else { 200_000.0 };
        row_at(window, tokens, "prune", Some(1), &[(PRIMARY, 0.6)])
    });
    assert!(!said(&same).join(" ").contains("goes from"), "{:?}", said(&same));
}

#[test]
fn at_most_three_observations_remain_most_relevant_first() {
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
                ("reference_recall", 0.2),
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
fn bill_above_hypothetical_conversation_is_reported_as_such() {
    let table = [whole(37.0), row("sliding-window", Some(1), &billed(-0.22, -0.3))];
    assert_eq!(
        of_money(&table),
        ["sliding-window at 25 % sends 79 % fewer tokens and costs 22 % more than the whole \
          conversation would if its requests over the window were taken: it breaks the prompt \
          cache at 2,398 of 2,412 requests"]
    );
}

#[test]
fn expensive_compactor_explains_a_bill_without_many_breaks() {
    let mut figures = billed(-0.25, -0.3);
    figures.extend([("cache_breaks", 12.0), ("compaction_cost_usd", 0.5)]);
    let table = [whole(0.0), row("continuation", Some(1), &figures)];
    let said = of_money(&table);
    assert!(said[0].ends_with("the calls of its compactions are 40 % of its bill"), "{said:?}");
}

#[test]
fn several_billing_models_are_named_with_bills() {
    let table: Vec<Entry> = ["dear", "cheap"]
        .into_iter()
        .flat_map(|billing_model| {
            let figures = billed(if billing_model == "dear" { -0.4 } else { -0.1 }, -0.5);
            [whole(0.0), row("prune", Some(1), &figures)].map(|mut entry| {
                entry.row.agent_model = billing_model.to_owned();
                entry
            })
        })
        .collect();
    let said = said(&table);
    assert!(said[0].starts_with("prune at 25 % (billed as dear) sends 79 % fewer"), "{said:?}");
}

#[test]
fn strategy_keeping_everything_is_not_called_no_better() {
    let table = [
        row("prune", Some(1), &[(PRIMARY, 1.0), ("recency_gain", 0.0)]),
        row("window", Some(1), &[(PRIMARY, 1.0), ("recency_gain", 0.0)]),
    ];
    assert!(!said(&table).join(" ").contains("no better"), "{:?}", said(&table));
    // A strategy with losses and the same score is named, without a figure of
    // 0.00.
    let table = [row("fifo", Some(1), &[(PRIMARY, 0.6), ("recency_gain", 0.001)])];
    let words = "at 25 % fifo does no better than sending the newest messages of the same size";
    assert_eq!(said(&table)[0], words);
}

#[test]
fn strategy_leading_no_session_is_not_called_leading() {
    let mut table =
        [row("prune", Some(1), &[(PRIMARY, 0.9)]), row("fifo", Some(1), &[(PRIMARY, 0.9)])];
    for entry in &mut table {
        entry.scores = (0..4).map(|unit| (unit, 0.9)).collect();
    }
    assert!(!said(&table).join(" ").contains("keeps more"), "{:?}", said(&table));
}

#[test]
fn an_order_is_reported_from_three_sessions_on() {
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
    assert!(!order(&[0.9, 0.3], &[0.2, 0.7]), "two sessions are too few");
}

/// The rows at one window of a run that is ranked by this measure.
fn ranked_by(primary: Primary, table: &[Entry]) -> Window<'_> {
    Window { label: "25%", billed_as: None, rows: table.iter().collect(), primary }
}

fn by_recall(table: &[Entry]) -> Window<'_> {
    ranked_by(Primary::ReferenceRecall, table)
}

/// The observation, whose relevance must be this.
#[track_caller]
fn weighs(found: Option<Candidate>, relevance: f64) -> Observation {
    let (found, observation) = found.expect("it is observed");
    assert!((found - relevance).abs() < 1e-9, "{found}, expected {relevance}: {observation:?}");
    observation
}

#[test]
fn higher_bill_for_fewer_tokens_is_more_relevant() {
    let of = |fewer, saved| {
        let table = [row("prune", Some(1), &[("token_savings", fewer), ("cost_savings", saved)])];
        less_sent_more_billed(&by_recall(&table))
    };
    // 0.75 + 0.4 / 4, and 1 at most.
    weighs(of(0.3, -0.4), 0.85);
    weighs(of(0.3, -3.0), 1.0);
    // From 5 % fewer tokens and a bill higher by half a per cent on.
    assert!(of(0.05, -0.005).is_some());
    for (fewer, saved) in [(0.049, -0.4), (0.3, -0.004), (0.3, 0.004), (0.3, 0.4)] {
        assert_eq!(of(fewer, saved), None, "{fewer} fewer tokens, {saved} saved");
    }
}

#[test]
fn cache_breaks_or_compaction_calls_explain_a_bill() {
    let why = |breaks, compactions| {
        let values = [
            ("cache_breaks", breaks),
            ("requests", 100.0),
            ("compaction_cost_usd", compactions),
            ("cost_usd", 2.0),
        ];
        why_dear(&row("prune", Some(1), &values).row)
    };
    let breaks = DearBecause::CacheBreaks { breaks: 5.0, requests: 100.0 };
    assert_eq!(why(5.0, 0.0), Some(breaks), "at five of a hundred requests");
    assert_eq!(why(4.0, 0.1), Some(DearBecause::Compactions(0.05)));
    assert_eq!(why(4.0, 0.09), None);
}

#[test]
fn refused_request_relevance_rises_with_their_number() {
    let over = |share: f64| vec![("overflows", 50.0 * share), ("requests", 50.0)];
    let table = [row("prune", Some(1), &over(0.1)), row("fifo", Some(2), &over(0.4))];
    // 0.45 + 0.4 · 0.4.
    let Observation::Refused { rows, .. } = weighs(refused_requests(&by_recall(&table)), 0.61)
    else {
        panic!("another observation")
    };
    assert_eq!(rows, [("fifo".to_owned(), 0.4), ("prune".to_owned(), 0.1)]);
}

#[test]
fn recency_observation_relevance_rises_with_the_best_gain() {
    let of = |gains: [f64; 3], kept: f64| {
        let values = |gain| [("facts_kept", kept), ("gain_at_cut", gain), ("recency_gain", 0.5)];
        let table = [
            row("a", Some(1), &values(gains[0])),
            row("b", Some(2), &values(gains[1])),
            row("c", Some(3), &values(gains[2])),
        ];
        beyond_recency(&ranked_by(Primary::FactsKept, &table))
    };
    // At cuts it is the gain there; 0.35 + (0.3 + 0.1) / 2. A gain of 0.02 is none.
    let Observation::NoBetterThanRecency { rows, worst, best, .. } =
        weighs(of([0.3, 0.02, -0.1], 0.6), 0.55)
    else {
        panic!("another observation")
    };
    assert_eq!(rows, ["b", "c"]);
    assert_eq!((worst, best), (-0.1, Some(("a".to_owned(), 0.3))));
    let Observation::NoBetterThanRecency { rows, best, .. } =
        weighs(of([0.02, 0.01, 0.0], 0.6), 0.36)
    else {
        panic!("another observation")
    };
    assert_eq!((rows.len(), best), (3, None), "the best one gains nothing either");
    // What is printed as 1.00 counts as everything.
    assert_eq!(of([0.3, 0.0, 0.0], 0.995), None);
    assert!(of([0.3, 0.0, 0.0], 0.994).is_some());
}

#[test]
fn irrecoverable_loss_relevance_follows_share_of_everything() {
    let losses =
        |irrecoverable, lost| [("irrecoverable", irrecoverable), ("reference_recall", 1.0 - lost)];
    // 0.9 · 0.1 is less than 0.3 · 0.4; 0.2 + 1.5 · 0.12.
    let table = [row("prune", Some(1), &losses(0.9, 0.1)), row("fifo", Some(2), &losses(0.3, 0.4))];
    let found = weighs(cannot_be_fetched(&by_recall(&table)), 0.38);
    let row = RowName { strategy: "fifo".into(), window: "25%".into() };
    assert_eq!(found, Observation::CannotBeFetched { row, share: 0.3 });
}

#[test]
fn strategy_adds_nothing_if_upper_bound_gains_nothing() {
    let table = [
        row("alone", Some(1), &[("added_at_cut", 0.02)]),
        row("more", Some(2), &[("added_at_cut", 0.021)]),
        row(
            "sure",
            Some(3),
            &[("added_at_cut", 0.01), ("added_at_cut_lo", -0.1), ("added_at_cut_hi", 0.02)],
        ),
        row(
            "open",
            Some(4),
            &[("added_at_cut", 0.01), ("added_at_cut_lo", -0.1), ("added_at_cut_hi", 0.2)],
        ),
        row("control", None, &[("added_at_cut", 0.0)]),
    ];
    let found = weighs(adds_nothing(&by_recall(&table)), 0.55);
    let rows = vec![("alone".to_owned(), 0.02), ("sure".to_owned(), 0.01)];
    assert_eq!(found, Observation::AddsNothing { rows });
    assert_eq!(adds_nothing(&by_recall(&table[1..2])), None);
}

#[test]
fn order_relevance_follows_share_of_reversing_sessions() {
    let of = |first: &[f64], second: &[f64]| {
        let scored = |strategy: &str, rank, scores: &[f64]| {
            let mut entry = row(strategy, Some(rank), &[]);
            entry.scores = (0..).zip(scores.iter().copied()).collect();
            entry
        };
        let table = [scored("prune", 1, first), scored("fifo", 2, second)];
        order(&by_recall(&table))
    };
    // One of four: 0.3 + 0.6 / 4.
    let found = weighs(of(&[0.9, 0.3, 0.6, 0.6], &[0.2, 0.7, 0.6, 0.5]), 0.45);
    let Observation::Order { wins, losses, of: pairs, .. } = found else { panic!("{found:?}") };
    assert_eq!((wins, losses, pairs), (2, 1, 4));
    // Three of four count as half: 0.3 + 0.6 · 0.5.
    weighs(of(&[0.9, 0.1, 0.1, 0.1], &[0.2, 0.7, 0.6, 0.5]), 0.6);
}

#[test]
fn larger_window_relevance_follows_change_in_kept_share() {
    let of = |small: f64, large: f64, leader: Option<f64>| {
        let at = |window: &str, tokens, strategy: &str, rank, kept| {
            row_at(window, tokens, strategy, Some(rank), &[(PRIMARY, kept)])
        };
        let low = [at("25%", 10_000.0, "prune", 1, small)];
        let led = leader.map(|kept| at("200k", 200_000.0, "fifo", 1, kept));
        let high: Vec<Entry> =
            led.into_iter().chain([at("200k", 200_000.0, "prune", 2, large)]).collect();
        let at_large = Window { label: "200k", ..by_recall(&high) };
        more_room(vec![&at_large, &by_recall(&low)])
    };
    // 0.3 + 0.3 / 2.
    let found = weighs(of(0.6, 0.9, None), 0.45);
    let Observation::MoreRoom { kept, leader, .. } = found else { panic!("{found:?}") };
    assert_eq!((kept, leader), ((0.6, 0.9), None));
    // The smallest change that is told is half a point.
    assert!(of(0.0, 0.005, None).is_some());
    assert_eq!(of(0.0, 0.004, None), None);
    // Another leader is told whatever changes.
    let found = weighs(of(0.6, 0.6, Some(0.7)), 0.3);
    let Observation::MoreRoom { leader, .. } = found else { panic!("{found:?}") };
    assert_eq!(leader, Some(("fifo".to_owned(), 0.7)));
}
