use super::*;

fn parsed(text: &str) -> Result<Space, String> {
    Space::parse("space.toml", text, Path::new("")).map_err(|e| e.to_string())
}

fn refused(text: &str) -> String {
    parsed(text).unwrap_err()
}

/// The values of the only axis.
fn values(value: &str) -> String {
    let text = format!("version = 1\nbase = \"prune\"\n[vary]\nprotect = {value}\n");
    match parsed(&text) {
        Ok(space) => Value::Array(space.axes[0].values.clone()).to_string(),
        Err(why) => why,
    }
}

#[test]
fn space_has_base_and_values_for_keys() {
    let text = "version = 1\nbase = \"gencode\"\nsettings = 9\nwindows = [\"native\", \"64k\"]\n\
                compactors = [\"offline\", \"openai/m\"]\n[vary]\n\"2.when.share\" = [0.7, 0.9]\n\
                keep_last = { from = 5, to = 20, steps = 4 }\n";
    let space = parsed(text).unwrap();
    assert_eq!((space.base.as_str(), space.most, space.size()), ("gencode", Some(9), 32));
    let keys: Vec<&str> = space.axes.iter().map(|axis| axis.key.as_str()).collect();
    assert_eq!(keys, ["2.when.share", "keep_last"]);
    assert_eq!(Value::Array(space.axes[1].values.clone()).to_string(), "[5, 10, 15, 20]");
}

#[test]
fn range_has_both_ends_and_even_spacing() {
    assert_eq!(values("{ from = 10, to = 20, steps = 3 }"), "[10, 15, 20]");
    assert_eq!(values("{ from = 10, to = 1000, steps = 3, scale = \"log\" }"), "[10, 100, 1000]");
    assert_eq!(values("{ from = 0.5, to = 1.0, steps = 3 }"), "[0.5, 0.75, 1.0]");
    assert_eq!(values("{ from = 0.1, to = 0.4, steps = 4 }"), "[0.1, 0.2, 0.3, 0.4]");
    assert_eq!(values("{ from = 1, to = 3, steps = 9 }"), "[1, 2, 3]", "each once");
}

#[test]
fn every_mistake_is_named_with_its_line() {
    for (value, why) in [
        ("[]", "protect: the list is empty"),
        ("[1, 2, 1]", "protect: 1 is listed twice"),
        ("7", "protect: `7` is neither a list such as [1, 2] nor a range"),
        ("{ from = 2, to = 2, steps = 3 }", "protect: from 2 is not below to 2"),
        ("{ from = 1, to = 2, steps = 1 }", "protect: steps: 1 is not between 2 and 100"),
        ("{ from = 1, to = 2, steps = 101 }", "protect: steps: 101 is not"),
        ("{ from = 0, to = 2, steps = 3, scale = \"log\" }", "begins above 0, not at 0"),
        ("{ from = \"a\", to = 2, steps = 3 }", "protect: from: \"a\" is no number"),
        ("{ from = nan, to = 2, steps = 3 }", "protect: from: nan is no number"),
        ("{ from = 1, to = 2 }", "protect: missing field `steps`"),
        ("{ from = 1, to = 2, steps = 2, by = 3 }", "protect: unknown field `by`"),
        ("{ from = 1, to = 2, steps = 2, scale = \"cubic\" }", "unknown variant `cubic`"),
    ] {
        let told = values(value);
        assert!(told.starts_with("space.toml, line 4: ") && told.contains(why), "{value}: {told}");
    }
    let many: Vec<String> = (0..101).map(|n| n.to_string()).collect();
    assert!(values(&format!("[{}]", many.join(","))).contains("at most 100 values"));
}

#[test]
fn errors_outside_values_are_named_with_line_too() {
    let vary = "[vary]\nprotect = [1, 2]\n";
    for (text, why) in [
        ("version = 2\nbase = \"prune\"\n", "line 1: version 2 is not known; write 1"),
        ("version = 1\n\nbase = \"pruen\"\n", "line 3: strategy `pruen` is not known"),
        ("version = 1\nbase = \"prune\"\nbudget = 3\n", "line 3: unknown field `budget`"),
        ("version = 1\nbase = \"prune\"\nsettings = 1\n", "line 3: settings: 1 is not between 2"),
        ("version = 1\nbase = \"prune\"\nsettings = -4\n", "line 3: settings: -4 is not"),
        ("version = 1\nbase = \"prune\"\nwindows = [\"x\"]\n", "line 3: "),
        (
            "version = 1\nbase = \"prune\"\nwindows = [\"9k\", \"9k\"]\n",
            "line 3: window 9k is listed twice",
        ),
        ("version = 1\nbase = \"lis\"\ncompactors = [\"m\"]\n", "line 3: `m` is no model"),
        (
            "version = 1\nbase = \"lis\"\ncompactors = [\"a/b\", \"a/b\"]\n",
            "line 3: compactor a/b is listed twice",
        ),
        (
            "version = 1\nbase = \"prune\"\ncompactors = [\"a/b\"]\n",
            "line 3: `prune` calls no compactor",
        ),
        ("base = \"prune\"\n", "missing field `version`"),
        ("version = 1\nbase = \n", "line 2: "),
    ] {
        let vary = if text.contains("lis") { "[vary]\nwithin = [0.5, 0.6]\n" } else { vary };
        let told = refused(&format!("{text}{vary}"));
        assert!(told.starts_with("space.toml, ") && told.contains(why), "{text}: {told}");
    }
    let key = refused("version = 1\nbase = \"prune\"\n[vary]\n\nprotekt = [1, 2]\n");
    assert!(key.starts_with("space.toml, line 5: protekt: no such key"), "{key}");
    let nested = refused("version = 1\nbase = \"prune\"\n[vary]\n\"1.protect.x\" = [1, 2]\n");
    assert!(nested.contains("line 4: 1.protect.x: `protect` has no keys"), "{nested}");
    let nothing = refused("version = 1\nbase = \"prune\"\nwindows = [\"9k\"]\n");
    assert!(nothing.contains("nothing varies"), "{nothing}");
}

#[test]
fn prompts_are_beside_space_or_come_from_base() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.md"), "Sum up {{messages}}.").unwrap();
    let own = "prompts/continuation.md";
    let text = |name: &str| {
        format!("version = 1\nbase = \"gencode\"\n[vary]\nprompt = [\"{own}\", \"{name}\"]\n")
    };
    let read = |name: &str| Space::parse("space.toml", &text(name), folder.path());
    let space = read("mine.md").unwrap();
    assert_eq!(space.prompts["mine.md"], "Sum up {{messages}}.");
    assert_eq!(space.prompts.len(), 1, "the base's own is not read again");
    let absent = read("absent.md").unwrap_err().to_string();
    assert!(absent.contains("line 4: prompt: prompt `absent.md` cannot be read"), "{absent}");
    std::fs::create_dir(folder.path().join("prompts")).unwrap();
    std::fs::write(folder.path().join(own), "Another text.").unwrap();
    let same = read("mine.md").unwrap_err().to_string();
    assert!(same.contains("is also the name of a prompt of the base"), "{same}");
}

#[test]
fn search_space_comes_from_strategy_numbers() {
    let space = Space::find("arachne").unwrap();
    assert!(space.derived && space.axes.iter().any(|axis| axis.key == "1.target.share"));
    let none = Space::find("full").unwrap_err().to_string();
    assert!(none.contains("full: no stage of this strategy has a number"), "{none}");
    let unknown = Space::find("nothing-like-it").unwrap_err().to_string();
    assert!(unknown.contains("`nothing-like-it` is not known"), "{unknown}");
    let absent = Space::find("absent.toml").unwrap_err().to_string();
    assert!(absent.starts_with("absent.toml: cannot be read"), "{absent}");
}
