//! `recap compare`: two runs on the same data.

use std::sync::LazyLock;

use serde_json::{Value as Json, json};

use crate::desk::Desk;

/// Runs of the quickstart data with the newest 8 messages and with 40, made
/// once for all tests.
static TWO_RUNS: LazyLock<Desk> = LazyLock::new(|| {
    let desk = Desk::new();
    for (out, last) in [("a", 8), ("b", 40)] {
        let strategy = format!(
            "version = 1\nname = \"mine|<b>\"\nsummary = \"s\"\nsource = \"mine\"\n\n[[stage]]\n\
             mechanism = \"sliding-window\"\nat = \"request\"\nwhen = \"always\"\nlast = {last}\n\
             keep_pairs = true\n"
        );
        desk.file("mine.toml", strategy);
        let only = if out == "a" { "fifo" } else { "prune" };
        desk.good(&format!("bench --quiet --strategy mine.toml,{only} --out {out}"));
    }
    desk
});

/// Their comparison as JSON.
fn compared(line: &str) -> Json {
    let json = TWO_RUNS.good(&format!("compare {line} --format json")).out;
    serde_json::from_str(&json).unwrap()
}

/// A figure of the strategy of both in one of them.
fn summary(run: &str, column: &str) -> f64 {
    let rows = TWO_RUNS.csv(&format!("{run}/summary.csv"));
    rows.iter().find(|row| row["strategy"].contains("mine")).unwrap()[column].parse().unwrap()
}

#[test]
fn two_runs_are_compared_session_by_session() {
    let json = compared("a b");
    assert_eq!((&json["only_a"], &json["only_b"]), (&json!(["fifo"]), &json!(["prune"])));
    assert_eq!((json["sessions"].as_u64(), json["family"].as_u64()), (Some(6), Some(1)));
    let row = &json["rows"][0];
    let measure = |id: &str| {
        let all = row["measures"].as_array().unwrap();
        all.iter().find(|measure| measure["measure"] == id).unwrap().clone()
    };
    for id in ["continuity", "tokens_sent", "cost_usd", "facts_kept", "tokens_at_cut"] {
        let (a, b) = (measure(id)["a"].as_f64().unwrap(), measure(id)["b"].as_f64().unwrap());
        let close = |x: f64, y: f64| (x - y).abs() <= 1e-5 * y.abs().max(1.0);
        assert!(close(a, summary("a", id)) && close(b, summary("b", id)), "{id}: {a} {b}");
    }
    let continuity = measure("continuity");
    // Six sessions of four projects: described, not tested.
    assert_eq!((continuity["clusters"].as_u64(), &continuity["p_holm"]), (Some(4), &Json::Null));
    assert_eq!(continuity["outcome"], "descriptive");
}

#[test]
fn table_and_markdown_agree_and_names_are_escaped() {
    let table = TWO_RUNS.good("compare a b").out;
    assert!(table.contains("A = a · B = b · quickstart · 6 sessions"), "{table}");
    assert!(table.contains("Only A has fifo."), "{table}");
    let md = TWO_RUNS.good("compare a b --format md").out;
    assert!(md.contains("mine&#124;&lt;b&gt;") && !md.contains("<b>"), "{md}");
    // Row by row, and every measure of the only row.
    let tables: Vec<&str> = md.split("\n\n").filter(|part| part.starts_with("| ")).collect();
    assert_eq!(tables.len(), 2, "{md}");
    for table in tables {
        let cells: Vec<usize> = table.lines().map(|line| line.matches('|').count()).collect();
        assert!(cells.iter().all(|count| *count == cells[0]), "{table}");
    }
}

#[test]
fn run_ties_with_itself_and_pairs_its_strategies() {
    let itself = compared("a a");
    let rows = itself["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let continuity = &row["measures"][0];
        assert_eq!(continuity["outcome"], "tie", "{continuity}");
    }
    // Two rows of one run, which is read once and need not be named twice.
    let twice = compared("a a --strategy fifo=mine|<b>");
    let once = compared("a --strategy fifo=mine|<b>");
    assert_eq!((&once["a"], &once["b"]), (&"fifo".into(), &"mine|<b>".into()));
    assert_eq!(&once["rows"], &twice["rows"]);
    let row = &once["rows"][0];
    assert_eq!((&row["strategy_a"], &row["strategy_b"]), (&"fifo".into(), &"mine|<b>".into()));
    assert!(TWO_RUNS.refused("compare a").contains("nothing to compare this run with"));
}

#[test]
fn page_escapes_names_and_has_no_script() {
    let page = TWO_RUNS.good("compare a b --format html").out;
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    assert!(page.contains("default-src 'none'") && !page.contains("<script"));
    assert!(!page.contains("mine|<b>") && page.contains("mine|&#60;b&#62;"));
    assert!(page.contains("No row could be tested on continuity"), "{page}");
}
