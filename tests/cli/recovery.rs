//! Presets whose answerer may search what was dropped.

use crate::desk::Desk;

#[test]
fn a_search_of_what_was_dropped_brings_back_answers_and_says_what_it_takes() {
    let desk = Desk::new();
    let ran = desk.good(&["bench", "--strategy", "sliding-window-search", "--out", "run"]);
    let rows = desk.csv("run/summary.csv");
    let row = |strategy: &str| {
        let mut own = rows.iter().filter(|r| r["dataset"] == "ALL" && r["strategy"] == strategy);
        own.next().unwrap_or_else(|| panic!("no row of {strategy}")).clone()
    };
    let figure = |column: &str| -> f64 { row("sliding-window-search")[column].parse().unwrap() };
    assert!(figure("recall_recovery") > figure("recall"), "the window drops most of a session");
    assert!((1.0..=5.0).contains(&figure("recovery_calls")));
    assert!(figure("recovery_tokens") > 0.0);
    for column in ["recall_recovery", "recovery_calls", "recovery_tokens"] {
        assert_eq!(row("full")[column], "", "{column}");
    }
    let note = "recall without and with the recovery channel: sliding-window-search 0.";
    assert!(ran.out.contains(note), "{}", ran.out);

    let probes = desk.csv("run/probes.csv");
    let (own, others): (Vec<_>, Vec<_>) =
        probes.iter().partition(|row| row["strategy"] == "sliding-window-search");
    assert!(own.iter().all(|row| !row["recovered_answer"].is_empty()));
    assert!(others.iter().all(|row| row["recovered_answer"].is_empty()));
    let mean = |column: &str| {
        let figures = own.iter().map(|row| row[column].parse::<f64>().unwrap());
        figures.sum::<f64>() / own.len() as f64
    };
    assert!((mean("recovery_calls") - figure("recovery_calls")).abs() < 0.5);
}
