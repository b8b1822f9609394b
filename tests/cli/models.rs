//! `recap models`: what the price list says.

use crate::desk::Desk;

#[test]
fn models_are_searched_by_words_of_their_names() {
    let desk = Desk::new();
    let listed = desk.good(&["models", "list", "haiku", "claude", "5-5"]).out;
    let line = listed.lines().find(|l| l.starts_with("claude-haiku-5-5 ")).unwrap();
    let figures: Vec<&str> = line.split_whitespace().skip(1).collect();
    assert_eq!(figures, ["0.10", "0.01", "0.125", "0.20", "0.50"]);
    assert!(listed.lines().skip(1).all(|l| l.contains("haiku")), "{listed}");
    assert!(desk.good(&["models"]).out.lines().count() > 3_000);
}

#[test]
fn model_is_shown_with_tiers_and_limits() {
    let desk = Desk::new();
    let shown = desk.good(&["models", "show", "anthropic/claude-haiku-5-5"]).out;
    assert!(shown.contains("prices: litellm 1.109.1, trimmed of 2026-11-21"), "{shown}");
    assert!(shown.contains("shortest cached prefix 512"), "{shown}");
    let tier = shown.lines().find(|l| l.starts_with("prompts above 100000")).unwrap();
    let figures: Vec<&str> = tier.split_whitespace().skip(3).collect();
    assert_eq!(figures, ["0.50", "0.05", "0.625", "1.00", "2.50"]);
}

#[test]
fn words_that_no_model_has_select_nothing() {
    let ran = Desk::new().recap(&["models", "list", "no-such-model-anywhere"]);
    assert_eq!(ran.code, 4, "{ran:?}");
}

#[test]
fn own_price_list_replaces_bundled_one() {
    let desk = Desk::new();
    let entry = r#"{"mine": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}}"#;
    desk.file("prices.json", entry);
    let listed = desk.good(&["models", "--prices", "prices.json"]).out;
    assert!(listed.lines().nth(1).is_some_and(|l| l.starts_with("mine ")), "{listed}");
    assert_eq!(listed.lines().count(), 2);
}

#[test]
fn storage_of_explicit_caches_is_shown_where_known() {
    let desk = Desk::new();
    let shown = desk.good(&["models", "show", "gemini-2.5-pro"]).out;
    let line = "explicit cache: storage 4.50 USD per million tokens and hour";
    assert!(shown.lines().any(|shown| shown == line), "{shown}");
    assert!(!desk.good(&["models", "show", "gpt-5.4"]).out.contains("storage"));
}
