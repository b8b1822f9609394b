use super::*;

/// The setting by which an agent is told to use a strategy.
fn setting_of(agent: &str, strategy: &str) -> Option<&'static AgentSetting> {
    let is_for = |one: &&AgentSetting| {
        one.setting.agent == agent && one.strategies.iter().any(|s| s == strategy)
    };
    SETTINGS.setting.iter().find(is_for)
}

fn lines(agent: &str, strategy: &str, tokens: u64, window: Option<u64>) -> Option<Setting> {
    setting_of(agent, strategy)?.setting(tokens, window)
}

fn line(agent: &str, strategy: &str, tokens: u64, window: Option<u64>) -> Option<String> {
    lines(agent, strategy, tokens, window).map(|setting| setting.line)
}

#[test]
fn token_size_is_written_in_whole_thousands() {
    let codex = |tokens| line("codex", "codex", tokens, Some(272_000));
    assert_eq!(codex(96_412).unwrap(), "model_auto_compact_token_limit = 96000");
    assert_eq!(codex(96_500).unwrap(), "model_auto_compact_token_limit = 97000");
    // Nine tenths are 244,800: from there on Codex compacts anyway.
    assert_eq!(codex(244_000).unwrap(), "model_auto_compact_token_limit = 244000");
    assert_eq!(codex(245_000), None);
    assert_eq!(codex(499), None, "no agent takes 0");
    let unknown = line("codex", "codex", 245_000, None);
    assert!(unknown.is_some(), "tokens need no window");
}

#[test]
fn claude_code_gets_window_that_compacts_at_size() {
    let claude = |tokens, window| line("claude-code", "claude-code", tokens, window);
    // 96,000 + 33,000.
    assert_eq!(claude(96_412, Some(200_000)).unwrap(), "\"autoCompactWindow\": 129000");
    // 166,000 + 33,000 is below the window; 167,000 + 33,000 is what it does anyway.
    assert_eq!(claude(166_000, Some(200_000)).unwrap(), "\"autoCompactWindow\": 199000");
    assert_eq!(claude(167_000, Some(200_000)), None);
    // It takes 100,000 to 1,000,000.
    assert_eq!(claude(67_000, Some(200_000)).unwrap(), "\"autoCompactWindow\": 100000");
    assert_eq!(claude(66_000, Some(200_000)), None);
    assert_eq!(claude(968_000, None), None);
}

#[test]
fn window_share_is_rounded_to_hundredths_below_one() {
    let gemini = |tokens, window| line("gemini-cli", "gemini-cli", tokens, window);
    // 96,000 of 1,048,576 are 0.0916; 350,000 are 0.3338.
    let said = |share: &str| Some(format!("\"model\": {{\"compressionThreshold\": {share}}}"));
    assert_eq!(gemini(96_000, Some(1_048_576)), said("0.09"));
    assert_eq!(gemini(350_000, Some(1_048_576)), said("0.33"));
    assert_eq!(gemini(994, Some(1_000)), said("0.99"));
    assert_eq!(gemini(995, Some(1_000)), None, "1.00 is the limit itself");
    assert_eq!(gemini(1_200, Some(1_000)), None, "above 100 %");
    assert_eq!(gemini(4, Some(1_000)), None, "0 is read as unset");
    assert_eq!(gemini(5, Some(0)), None);
    assert_eq!(gemini(96_000, None), None, "a share needs the window");
}

#[test]
fn reserve_is_the_window_minus_the_size() {
    let reserve = SETTINGS.setting.iter().find(|one| one.setting.name == "compaction.reserved");
    let filled = |tokens, window| reserve.unwrap().filled(tokens, window);
    let said = Some("\"compaction\": {\"reserved\": 104000}".to_owned());
    assert_eq!(filled(96_412, Some(200_000)), said);
    assert_eq!(filled(200_000, Some(200_000)), None, "nothing is left");
    assert_eq!(filled(201_000, Some(200_000)), None);
    assert_eq!(filled(96_412, None), None);
}

#[test]
fn api_edit_respects_its_lowest_trigger() {
    let edit = line("anthropic", "anthropic-context-editing", 64_000, None).unwrap();
    let value: serde_json::Value = serde_json::from_str(&format!("{{{edit}}}")).unwrap();
    assert_eq!(value["context_management"]["edits"][0]["trigger"]["value"], 64_000);
    assert_eq!(line("anthropic", "anthropic-compaction", 49_000, None), None);
    assert!(line("anthropic", "anthropic-compaction", 50_000, None).is_some());
}

#[test]
fn a_switch_without_a_size_says_so() {
    let prune = lines("opencode", "prune", 96_000, None).unwrap();
    assert_eq!(prune.line, "\"compaction\": {\"prune\": true}");
    assert!(prune.note.unwrap().starts_with("It has no size"));
}

#[test]
fn no_setting_is_offered_for_unsupported_agent_behavior() {
    let window = Some(200_000);
    for (agent, strategy) in [
        ("claude-code", "prune"),
        ("claude-code", "codex"),
        ("codex", "anthropic-context-editing"),
        ("opencode", "opencode"),
        ("opencode", "prune@protect=20000"),
        ("pi", "prune"),
        ("copilot-cli", "prune"),
        ("native", "prune"),
    ] {
        assert_eq!(lines(agent, strategy, 96_000, window), None, "{agent}, {strategy}");
    }
}

#[test]
fn every_setting_has_its_number_once_and_one_strategy() {
    let mut strategies = std::collections::BTreeSet::new();
    for one in agent_settings() {
        let AgentSetting { setting, unit, .. } = one;
        for known in [Unit::Tokens, Unit::Fraction, Unit::Reserve] {
            let count = setting.line.matches(known.placeholder()).count();
            assert_eq!(count, usize::from(*unit == Some(known)), "{}", setting.name);
        }
        assert!(one.purpose == Purpose::Strategy || unit.is_some(), "{}", setting.name);
        assert!(one.at_least <= one.at_most, "{}", setting.name);
        assert!(one.at_most_share.is_none_or(|share| share > 0.0 && share <= 1.0));
        assert!(!setting.line.contains('\n') && setting.source.starts_with("https://"));
        assert!(setting.checked.parse::<jiff::civil::Date>().is_ok(), "{}", setting.checked);
        for strategy in &one.strategies {
            assert!(strategies.insert((&setting.agent, strategy)), "{strategy} twice");
        }
    }
    // A key that is not known is a spelling mistake.
    let file: toml::Value = toml::from_str(recap_strategies::AGENT_SETTINGS).unwrap();
    let known = [
        "agent",
        "name",
        "purpose",
        "strategies",
        "unit",
        "early",
        "at_least",
        "at_most",
        "at_most_share",
        "file",
        "line",
        "note",
        "source",
        "version",
        "checked",
    ];
    for setting in file["setting"].as_array().unwrap() {
        let mut keys = setting.as_table().unwrap().keys();
        assert!(keys.all(|key| known.contains(&key.as_str())), "{setting}");
    }
}

#[test]
fn quantities_of_agents_have_their_value_within_their_range() {
    for agent in ["claude-code", "codex"] {
        let known = public_quantities(agent).unwrap();
        let all = [known.added, known.cached, known.output, known.read_again, known.calls];
        for one in all {
            assert!(one.lo <= one.value && one.value <= one.hi && one.n > 0 && !one.own);
        }
        assert!(threshold(agent).is_some(), "{agent}");
    }
    assert_eq!(public_quantities("opencode"), None);
    assert_eq!(threshold("opencode").map(|one| &one.setting.name), None, "no dependable size");
}
