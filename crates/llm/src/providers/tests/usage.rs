//! Token usage in replies.

use super::*;

#[test]
fn openai_counts_cached_tokens_within_the_prompt() {
    // 1,000 = 300 uncached + 600 read + 100 written; 1,000 + 50 = 1,050.
    let reply = openai_usage(json!({
        "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
        "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 100},
        "completion_tokens_details": {"reasoning_tokens": 30},
    }));
    assert_eq!(reply.usage, tokens([300, 600, 100, 0, 50], Some(30)));
    let deepseek = openai_usage(json!({
        "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
        "prompt_cache_hit_tokens": 640, "prompt_cache_miss_tokens": 360,
    }));
    assert_eq!(deepseek.usage, tokens([360, 640, 0, 0, 50], None));
}

#[test]
fn reasoning_beside_completion_is_output_if_total_agrees() {
    // 100 + 20 + 80 = 200: the reasoning is not within the completion.
    let beside = openai_usage(json!({
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 200,
        "completion_tokens_details": {"reasoning_tokens": 80},
    }));
    assert_eq!(beside.usage, tokens([100, 0, 0, 0, 100], Some(80)));
}

#[test]
fn anthropic_counts_cached_tokens_beside_the_input() {
    // 20 + 600 + 100 + 300 = 1,020 prompt tokens.
    let reply = anthropic_usage(json!({
        "input_tokens": 20, "output_tokens": 50,
        "cache_read_input_tokens": 600, "cache_creation_input_tokens": 400,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 300},
    }));
    assert_eq!(reply.usage, tokens([20, 600, 100, 300, 50], None));
    assert_eq!(reply.usage.unwrap().usage.prompt(), 1020);
    let unsplit = anthropic_usage(json!({
        "input_tokens": 20, "output_tokens": 50, "cache_creation_input_tokens": 400,
    }));
    assert_eq!(unsplit.usage, tokens([20, 0, 400, 0, 50], None));
}

#[test]
fn gemini_prompt_includes_cached_and_answer_excludes_thoughts() {
    // 1,000 = 400 uncached + 600 read; 20 answer + 70 thoughts; total 1,090.
    let reply = gemini_usage(json!({
        "promptTokenCount": 1000, "cachedContentTokenCount": 600,
        "candidatesTokenCount": 20, "thoughtsTokenCount": 70, "totalTokenCount": 1090,
    }));
    assert_eq!(reply.usage, tokens([400, 600, 0, 0, 90], Some(70)));
    // 5 of a tool's tokens stand beside the prompt's 10.
    let tool = gemini_usage(json!({
        "promptTokenCount": 10, "toolUsePromptTokenCount": 5, "totalTokenCount": 15,
    }));
    assert_eq!(tool.usage, tokens([15, 0, 0, 0, 0], None));
}

#[test]
fn impossible_usage_keeps_the_reply_and_states_reason() {
    let base = json!({"prompt_tokens": 10, "completion_tokens": 5});
    for (field, value, why) in [
        (
            "prompt_tokens_details",
            json!({"cached_tokens": 11}),
            "11 cached_tokens of 10 prompt_tokens",
        ),
        (
            "prompt_tokens_details",
            json!({"cached_tokens": 8, "cache_write_tokens": 3}),
            "3 cache_write_tokens of 2 uncached prompt_tokens",
        ),
        (
            "completion_tokens_details",
            json!({"reasoning_tokens": 6}),
            "6 reasoning_tokens of 5 completion_tokens",
        ),
        ("prompt_tokens", json!(-10), "prompt_tokens is -10"),
        ("prompt_tokens", json!(u64::MAX), "prompt_tokens is 18446744073709551615"),
        ("completion_tokens", json!(null), "completion_tokens is missing"),
        ("total_tokens", json!(16), "total_tokens is 16, its parts sum to 15"),
    ] {
        let mut usage = base.clone();
        usage[field] = value;
        let reply = openai_usage(usage);
        assert_eq!((reply.text.as_str(), contradiction(&reply)), ("ok", why));
    }
    let split = anthropic_usage(json!({
        "input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 10,
        "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 5},
    }));
    assert_eq!(contradiction(&split), "cache_creation_input_tokens is 10, its parts sum to 9");
    let cached = gemini_usage(json!({"promptTokenCount": 3, "cachedContentTokenCount": 4}));
    assert_eq!(contradiction(&cached), "4 cachedContentTokenCount of 3 promptTokenCount");
}

#[test]
fn the_largest_figures_do_not_overflow() {
    let most = 9_007_199_254_740_991_u64;
    let reply = gemini_usage(json!({
        "promptTokenCount": most, "toolUsePromptTokenCount": most,
        "candidatesTokenCount": most, "thoughtsTokenCount": most,
    }));
    assert_eq!(reply.usage, tokens([2 * most, 0, 0, 0, 2 * most], Some(most)));
}

#[test]
fn a_reply_without_usage_has_no_cost() {
    assert_eq!(openai_usage(Value::Null).usage, Err(NoUsage::Missing));
    assert_eq!(anthropic_usage(Value::Null).usage, Err(NoUsage::Missing));
    assert_eq!(gemini_usage(Value::Null).usage, Err(NoUsage::Missing));
}

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
