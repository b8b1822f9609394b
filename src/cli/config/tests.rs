use super::*;

/// What is parsed when this is typed, with these variables and this file.
fn line(typed: &[&str], variables: &[(&str, &str)], text: &str) -> Result<Vec<String>, String> {
    let root = root();
    let typed: Vec<OsString> = ["recap"].iter().chain(typed).map(OsString::from).collect();
    let said = TypedOptions::in_line(&root, &typed).expect("a subcommand that settings apply to");
    let variable = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let file = File { name: FILE.to_owned(), text: text.to_owned() };
    let line = said.completed(&variable, Some(&file)).map_err(|failure| failure.to_string())?;
    Ok(line.into_iter().skip(1).map(|word| word.into_string().unwrap()).collect())
}

#[track_caller]
fn completed(typed: &[&str], variables: &[(&str, &str)], text: &str) -> String {
    line(typed, variables, text).unwrap().join(" ")
}

#[track_caller]
fn error(text: &str) -> String {
    line(&["bench"], &[], text).unwrap_err()
}

#[test]
fn the_shape_of_the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn scalar_comes_from_flag_then_environment_then_file() {
    let (file, variable) = ("seed = 3\n", ("RECAP_SEED", "2"));
    assert_eq!(completed(&["bench"], &[], file), "bench --seed=3");
    assert_eq!(completed(&["bench"], &[variable], file), "bench --seed=2");
    assert_eq!(completed(&["bench", "--seed", "1"], &[variable], file), "bench --seed 1");
}

#[test]
fn list_is_replaced_whole_and_never_joined() {
    let file = "strategy = [\"fifo\", \"prune\"]\n";
    let variable = ("RECAP_STRATEGY", " zoea\n\nlis\n");
    assert_eq!(completed(&["bench"], &[], file), "bench --strategy=fifo --strategy=prune");
    assert_eq!(completed(&["bench"], &[variable], file), "bench --strategy=zoea --strategy=lis");
    let typed = ["bench", "--strategy", "gsv"];
    assert_eq!(completed(&typed, &[variable], file), "bench --strategy gsv");
}

#[test]
fn switch_follows_the_strongest_source() {
    assert_eq!(completed(&["bench"], &[], "no-text = true"), "bench --no-text");
    assert_eq!(completed(&["bench"], &[], "no-text = false"), "bench");
    assert_eq!(completed(&["bench"], &[("RECAP_NO_TEXT", "false")], "no-text = true"), "bench");
    assert_eq!(completed(&["bench", "--no-text"], &[], "no-text = false"), "bench --no-text");
}

#[test]
fn inputs_come_last_and_cannot_become_options() {
    let file = "inputs = [\"--json\", \"a b.jsonl\"]";
    assert_eq!(completed(&["bench", "-q"], &[], file), "bench -q -- --json a b.jsonl");
    assert_eq!(completed(&["bench", "mine.jsonl"], &[], file), "bench mine.jsonl");
}

#[test]
fn typed_option_replaces_conflicting_file_setting() {
    let file = "cassette = \"calls.jsonl\"\nrecord = true";
    assert_eq!(
        completed(&["bench", "--replay"], &[], file),
        "bench --cassette=calls.jsonl --replay"
    );
    assert_eq!(completed(&["bench"], &[], file), "bench --cassette=calls.jsonl --record");
}

#[test]
fn subcommand_receives_only_settings_it_has_options_for() {
    let file = "window = \"25%\"\nformat = \"csv\"\njudge = \"openai/x\"";
    assert_eq!(completed(&["report", "run"], &[], file), "report --format=csv run");
    assert_eq!(completed(&["replay"], &[], file), "replay --window=25% --format=csv");
    let root = root();
    let typed = ["recap", "models", "list"].map(OsString::from);
    assert!(TypedOptions::in_line(&root, &typed).is_none());
}

#[test]
fn unknown_key_is_refused_with_line_and_nearest() {
    let shown = error("seed = 1\n\nwindws = \"25%\"\n");
    assert_eq!(
        shown,
        "error: recap.toml:3: `windws` is not known\nhelp: did you mean `window`, `wide`?\n"
    );
    assert!(error("no_text = true").contains("did you mean `no-text`?"));
    let listed = error("xyzzyxyzzy = 1");
    assert!(listed.contains("help: known are `inputs`, `") && listed.contains(" more"), "{listed}");
    assert!(error("config = \"other.toml\"").contains("`config` is not known"));
    assert!(error("[bench]\nseed = 1").contains("recap.toml:1: `bench` is not known"));
}

#[test]
fn value_of_wrong_type_is_refused_with_line() {
    assert_eq!(
        error("\nquiet = \"yes\""),
        "error: recap.toml:2: `quiet` takes true or false\nhelp: for example `quiet = true`\n"
    );
    assert!(error("seed = [1, 2]").contains("recap.toml:1: `seed` takes one text or number"));
    assert!(error("window = true").contains("`window` takes text, or a list of texts"));
    let shown = error("limit = 2\nseed = \"many\"");
    assert!(shown.contains("recap.toml:2: invalid value 'many' for '--seed <N>'"), "{shown}");
    assert!(shown.contains("help: `recap bench --help` says what seed takes"), "{shown}");
    let shown = error("redact = \"maybe\"");
    assert!(shown.contains("[possible values: yes, no]"), "{shown}");
}

#[test]
fn broken_toml_is_refused_with_its_line() {
    let shown = error("seed = 1\nwindow = \n");
    assert!(shown.starts_with("error: recap.toml:2: "), "{shown}");
    let shown = error("seed = 1\nseed = 2\n");
    assert!(shown.starts_with("error: recap.toml:2: "), "{shown}");
}

#[test]
fn a_variable_that_is_no_value_is_named() {
    let shown = line(&["bench"], &[("RECAP_QUIET", "perhaps")], "").unwrap_err();
    assert!(shown.contains("RECAP_QUIET: `perhaps` is neither true nor false"), "{shown}");
    let shown = line(&["bench"], &[("RECAP_SEED", "x")], "").unwrap_err();
    assert!(shown.contains("RECAP_SEED: invalid value 'x' for '--seed <N>'"), "{shown}");
}
