use super::*;

#[test]
fn size_is_written_in_whole_thousands_that_the_agent_takes() {
    for (agent, tokens, expected) in [
        ("codex", 96_412, Some("model_auto_compact_token_limit = 96000")),
        ("codex", 96_500, Some("model_auto_compact_token_limit = 97000")),
        // No agent takes 0.
        ("codex", 499, None),
        // 96,000 + 33,000; it takes 100,000 to 1,000,000.
        ("claude-code", 96_412, Some("\"autoCompactWindow\": 129000")),
        ("claude-code", 67_000, Some("\"autoCompactWindow\": 100000")),
        ("claude-code", 66_000, None),
        ("claude-code", 967_000, Some("\"autoCompactWindow\": 1000000")),
        ("claude-code", 968_000, None),
        // A share of a window that nobody knows.
        ("gemini-cli", 96_000, None),
    ] {
        let line = threshold(agent).unwrap().setting(tokens).map(|setting| setting.line);
        assert_eq!(line.as_deref(), expected, "{agent} {tokens}");
    }
}

#[test]
fn every_setting_has_its_number_once_and_one_strategy() {
    let mut strategies = std::collections::BTreeSet::new();
    for one in agent_settings() {
        let setting = &one.setting;
        let numbers = [TOKENS, "{fraction}", "{reserve}"].map(|known| setting.line.matches(known));
        let numbers: usize = numbers.map(Iterator::count).into_iter().sum();
        assert!(numbers == 1 || numbers == 0 && one.purpose == Purpose::Strategy, "{setting:?}");
        assert!(one.at_most.is_none_or(|most| one.at_least <= most), "{}", setting.name);
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
        "early",
        "at_least",
        "at_most",
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
