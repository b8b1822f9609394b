use super::*;
use crate::pricing::PriceList;

/// Names of recordings, and what the price data say of them by hand: USD per
/// million tokens of input and output; `None` where no seller is named and
/// sellers differ, or no list has the model.
const NAMES: &[(&str, Option<(f64, f64)>)] = &[
    // Claude, as Claude Code and others write it; retired models as they were.
    ("claude-opus-4-1-20250805", Some((15.0, 75.0))),
    ("claude-opus-4-1", Some((15.0, 75.0))),
    ("claude-opus-4.1", Some((15.0, 75.0))),
    ("claude-opus-4-20250514", Some((15.0, 75.0))),
    ("claude-opus-4", Some((15.0, 75.0))),
    ("claude-opus-4-0", Some((15.0, 75.0))),
    ("claude-sonnet-4-0", Some((3.0, 15.0))),
    ("claude-sonnet-4-20250514", Some((3.0, 15.0))),
    ("claude-sonnet-4-20250514[1m]", Some((3.0, 15.0))),
    ("claude-sonnet-4", Some((3.0, 15.0))),
    ("claude-4-sonnet", Some((3.0, 15.0))),
    ("anthropic/claude-sonnet-4", Some((3.0, 15.0))),
    ("openrouter/anthropic/claude-sonnet-4", Some((3.0, 15.0))),
    ("claude-3-7-sonnet", Some((3.0, 15.0))),
    ("claude-3-7-sonnet-20250219", Some((3.0, 15.0))),
    ("claude-3-7-sonnet-latest", Some((3.0, 15.0))),
    ("claude-3.7-sonnet", Some((3.0, 15.0))),
    ("claude-3.7-sonnet-thinking", Some((3.0, 15.0))),
    ("claude-3-5-sonnet-20241022", Some((3.0, 15.0))),
    ("claude-3-5-sonnet-latest", Some((3.0, 15.0))),
    ("anthropic:claude-3-5-sonnet-latest", Some((3.0, 15.0))),
    ("claude-3-5-haiku-20241022", Some((0.8, 4.0))),
    ("claude-3-opus-20240229", Some((15.0, 75.0))),
    ("claude-3-haiku-20240307", Some((0.25, 1.25))),
    ("claude-sonnet-4-5-20250929", Some((3.0, 15.0))),
    ("claude-sonnet-4.5", Some((3.0, 15.0))),
    ("claude-4.5-sonnet", Some((3.0, 15.0))),
    ("claude-4.5-sonnet-thinking", Some((3.0, 15.0))),
    ("anthropic/claude-sonnet-4.5", Some((3.0, 15.0))),
    ("openrouter/anthropic/claude-sonnet-4.5:thinking", Some((3.0, 15.0))),
    ("anthropic.claude-sonnet-4-5-20250929-v1:0", Some((3.0, 15.0))),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Some((3.3, 16.5))),
    ("vertex_ai/claude-sonnet-4-5@20250929", Some((3.0, 15.0))),
    ("claude-sonnet-4-5@20250929", Some((3.0, 15.0))),
    ("claude-haiku-4-5-20251001", Some((1.0, 5.0))),
    ("claude-haiku-4.5", Some((1.0, 5.0))),
    ("claude-haiku-4-5", Some((1.0, 5.0))),
    ("anthropic.claude-haiku-4-5-20251001-v1:0", Some((1.0, 5.0))),
    ("claude-opus-4-5", Some((5.0, 25.0))),
    ("claude-opus-4-5-20251101", Some((5.0, 25.0))),
    ("claude-opus-4.5", Some((5.0, 25.0))),
    ("claude-4.5-opus-high-thinking", Some((5.0, 25.0))),
    ("claude-opus-4-6", Some((5.0, 25.0))),
    ("anthropic.claude-opus-4-6-v1", Some((5.0, 25.0))),
    ("claude-opus-5-5", Some((4.0, 20.0))),
    ("global.anthropic.claude-opus-5-5", Some((4.0, 20.0))),
    ("claude-sonnet-5-5", Some((2.0, 10.0))),
    ("Claude-Haiku-5.5", Some((0.1, 0.5))),
    (
        "arn:aws:bedrock:us-west-2:1:inference-profile/global.anthropic.claude-opus-4-6-v1",
        Some((5.0, 25.0)),
    ),
    // OpenAI.
    ("gpt-5-codex", Some((1.25, 10.0))),
    ("gpt-5-codex-high", Some((1.25, 10.0))),
    ("gpt-5.3-codex", Some((1.75, 14.0))),
    ("openai/gpt-5.3-codex", Some((1.75, 14.0))),
    ("gpt-5.3-codex-xhigh", Some((1.75, 14.0))),
    ("gpt-5.4", Some((2.5, 15.0))),
    ("openrouter/openai/gpt-5.4", Some((2.5, 15.0))),
    ("gpt-4o-mini", Some((0.15, 0.6))),
    ("openai/gpt-4o-mini", Some((0.15, 0.6))),
    ("openai:gpt-4o-mini", Some((0.15, 0.6))),
    ("gpt-4o-mini-2024-07-18", Some((0.15, 0.6))),
    ("gpt-4o-2024-05-13", Some((5.0, 15.0))),
    ("gpt-4o", Some((2.5, 10.0))),
    ("azure/gpt-4o", Some((2.5, 10.0))),
    ("gpt-4.1-2025-04-14", Some((2.0, 8.0))),
    ("o4-mini-high", Some((1.1, 4.4))),
    ("o1-mini", Some((1.1, 4.4))),
    ("gpt-4.5-preview", Some((75.0, 150.0))),
    ("ft:gpt-4o-mini-2024-07-18:acme::abc123", Some((0.3, 1.2))),
    // Google.
    ("gemini-3-pro-preview", Some((2.0, 12.0))),
    ("google/gemini-3-pro-preview", Some((2.0, 12.0))),
    ("gemini-3-pro", Some((2.0, 12.0))),
    ("models/gemini-2.5-pro", Some((1.25, 10.0))),
    ("gemini-2.5-pro", Some((1.25, 10.0))),
    ("google-gla:gemini-2.5-flash", Some((0.3, 2.5))),
    ("gemini-3-flash-preview", Some((0.5, 3.0))),
    ("gemini-3.1-pro-preview", Some((2.0, 12.0))),
    ("gemini-2.0-flash", Some((0.1, 0.4))),
    ("gemini-1.5-pro-002", Some((1.25, 5.0))),
    // Others, at their makers' prices.
    ("grok-code-fast-1", Some((1.0, 2.0))),
    ("x-ai/grok-code-fast-1", Some((1.0, 2.0))),
    ("grok-4", Some((3.0, 15.0))),
    ("kimi-k2", Some((0.55, 2.2))),
    ("moonshotai/kimi-k2", Some((0.55, 2.2))),
    ("kimi-k2-0711-preview", Some((0.6, 2.5))),
    ("kimi-k2-thinking", Some((0.6, 2.5))),
    ("kimi-k2.5", Some((0.6, 3.0))),
    ("glm-4.6", Some((0.6, 2.2))),
    ("z-ai/glm-4.6", Some((0.6, 2.2))),
    ("glm-4-6", Some((0.6, 2.2))),
    ("glm-4.5-air", Some((0.2, 1.1))),
    ("qwen3-coder", Some((0.4, 1.6))),
    ("qwen/qwen3-coder", Some((0.4, 1.6))),
    ("deepseek-chat", Some((0.28, 0.42))),
    ("deepseek/deepseek-v3.2", Some((0.28, 0.4))),
    ("MiniMax-M2", Some((0.3, 1.2))),
    ("devstral-medium-2507", Some((0.4, 2.0))),
    // Open weights that sellers price as they like, and no seller named.
    ("gpt-oss-120b", None),
    ("openai/gpt-oss-120b", None),
    ("meta-llama/llama-4-maverick", None),
    ("qwen3-coder-480b-a35b-instruct", None),
    ("deepinfra/openai/gpt-oss-120b", Some((0.037, 0.17))),
    // Names of nothing that is listed.
    ("claude-opus-9", None),
    ("claude-opus-4-55", None),
    ("claude", None),
    ("sonnet", None),
    ("haiku", None),
    ("opus", None),
    ("default", None),
    ("auto", None),
    ("<synthetic>", None),
    ("aide-gpt-5", None),
    ("my-gpt-5", None),
    ("openai/openrouter-llama-4-maverick", None),
    ("gpt-5.4-nightly", None),
    ("kimi-k2:free", None),
    ("claude-3-5-sonnet-20241022-tuned", None),
    ("gpt-4o-mini-20240718-2", None),
];

#[test]
fn recorded_model_names_have_exact_prices_or_none() {
    let list = PriceList::bundled();
    let mut wrong = Vec::new();
    for (name, expected) in NAMES {
        let found = list.priced(name).map(|model| (model, asked(model)));
        let usd = found.map(|(_, (input, output))| (input * 1e6, output * 1e6));
        let right = match (usd, expected) {
            (Some(usd), Some(expected)) => alike(usd, *expected),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        if !right {
            wrong.push(format!("{name}: {usd:?} as {:?}", found.map(|(model, _)| &model.id)));
        }
    }
    assert!(NAMES.len() >= 110 && wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_listed_name_finds_its_own_model() {
    let list = PriceList::bundled();
    for model in list.models().filter(|model| model.is_priced()) {
        assert_eq!(list.priced(&model.id).unwrap().id, model.id);
    }
}

#[test]
fn model_priced_differently_by_sellers_is_unknown() {
    let unknown = PriceList::bundled().find("gpt-oss-120b").unwrap_err();
    let actual = unknown.suggestion().unwrap();
    assert!(actual.starts_with("prices differ by seller: name one, such as "), "{actual}");
    assert!(actual.contains("/gpt-oss-120b"), "{actual}");
}

#[test]
fn retired_model_has_prices_and_names_their_list() {
    let list = PriceList::bundled();
    let opus = list.find("claude-opus-4-1-20250805").unwrap();
    assert_eq!(opus.listed_until.as_deref(), Some("litellm 1.83.0, 2026-03-31"));
    // Writes for five minutes are 1.25 times the input, for an hour twice.
    for model in list.models().filter(|m| m.listed_until.is_some()) {
        let rates = model.rates(&Moment { prompt_tokens: 1, at: jiff::Timestamp::UNIX_EPOCH });
        assert!(model.is_priced(), "{}", model.id);
        if let (Some(input), Some(hour)) = (rates.input, rates.cache_write_1h) {
            assert!((hour / input - 2.0).abs() < 1e-9, "{}: {hour}", model.id);
        }
    }
}

#[test]
fn hostile_names_are_no_model() {
    let list = PriceList::bundled();
    let long = "claude-".repeat(20_000);
    for name in [
        "",
        "-",
        "[1m]",
        "/",
        ":",
        "@",
        "claude-",
        "-v1:0",
        "us.",
        "é-20250514",
        "ft:",
        "１２３４",
        &long,
    ] {
        assert!(list.priced(name).is_none(), "{name}");
    }
    // Dates and deployments are cut where they stand, and nowhere else.
    let core = |name: &str| Core::of(name).plain;
    assert_eq!(core("us.anthropic.claude-3-5-sonnet-20241022-v2:0"), "claude-sonnet-3-5");
    assert_eq!(core("deepseek-v3"), "deepseek-v3");
    assert_eq!(core("openai.gpt-oss-120b-1:0"), "gpt-oss-120b");
    assert_eq!(core("é-2025-05-14"), "é");
}
