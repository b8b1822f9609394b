//! Figures of token usage.

use super::*;

#[test]
fn only_integers_json_keeps_exactly_are_counts() {
    let usage = json!({
        "a": 7, "none": null, "negative": -1, "part": 1.5, "text": "7",
        "large": 9_007_199_254_740_991_u64, "too_large": 9_007_199_254_740_992_u64,
    });
    assert_eq!(figure(&usage, "a"), Ok(Some(7)));
    assert_eq!(figure(&usage, "none"), Ok(None));
    assert_eq!(figure(&usage, "absent"), Ok(None));
    assert_eq!(figure(&usage, "large"), Ok(Some(LARGEST)));
    for name in ["negative", "part", "text", "too_large"] {
        assert!(figure(&usage, name).is_err(), "{name}");
    }
    let error = figure(&usage, "negative").unwrap_err();
    assert_eq!(error.to_string(), "the provider's usage cannot be right: negative is -1");
}

#[test]
fn report_lacking_required_count_is_contradictory() {
    assert_eq!(required(&json!(null), "a"), Err(NoUsage::Missing));
    let actual = NoUsage::Contradictory("a is missing".to_owned());
    assert_eq!(required(&json!({}), "a"), Err(actual));
}

#[test]
fn part_larger_than_its_whole_is_a_contradiction() {
    assert_eq!(rest(("whole", 5), ("part", 5)), Ok(0));
    let error = rest(("whole", 5), ("part", 6)).unwrap_err();
    assert_eq!(error, NoUsage::Contradictory("6 part of 5 whole".to_owned()));
}
