//! The smaller commands: import, strategies, datasets, completions, man pages, help.

use crate::desk::Desk;

#[test]
fn import_refuses_to_overwrite() {
    let desk = Desk::with_sessions();
    desk.good(&["import", "pi", "pi.jsonl", "-o", "native"]);
    let before = desk.read("native/sessions.jsonl");
    let error = desk.refused(&["import", "auto", "claude-code.jsonl", "-o", "native"]);
    assert!(error.contains("there is a data set already") && error.contains("native"), "{error}");
    assert_eq!(desk.read("native/sessions.jsonl"), before);
}

#[test]
fn import_counts_what_it_leaves_out() {
    let desk = Desk::with_sessions();
    let odd = "{\"type\":\"progress\",\"uuid\":\"x\",\"parentUuid\":null,\"sessionId\":\"c1\"}\n";
    desk.file("odd.jsonl", odd.to_owned() + &desk.read("claude-code.jsonl"));
    let ran = desk.good(&["import", "auto", "odd.jsonl", "-o", "native"]);
    assert!(ran.err.contains("left out 1 × "), "{}", ran.err);
}

#[test]
fn strategies_are_listed_one_a_line() {
    let out = Desk::new().good(&["strategies"]).out;
    assert_eq!(out, Desk::new().good(&["strategies", "list"]).out);
    for (name, kind) in
        [("full", "control"), ("prune", "model-free"), ("continuation", "compactor")]
    {
        let line = out.lines().find(|l| l.split_whitespace().next() == Some(name)).unwrap();
        assert_eq!(line.split_whitespace().nth(1), Some(kind), "{line}");
    }
}

#[test]
fn strategies_show_prints_window_numbers_and_prompts() {
    let desk = Desk::new();
    let at =
        |name: &str, window: &str| desk.good(&["strategies", "show", name, "--window", window]).out;
    // The numbers of prune are written for 200,000 tokens and those of prune-once for 150,000; they
    // scale with shares alone. Of chunked-summary those that it lists scale at a model's window too.
    for (name, window, says) in [
        ("prune", "50%", &["at a window of 100000", "and over 10000"][..]),
        ("prune", "50%", &["\nnumbers of tokens and characters: written for a window of 200000;"]),
        ("prune", "100000", &["and over 20000", "no number scales at a model's"]),
        ("prune-once", "50%", &["tool output over 4000", "protect = 1000  (written: 2000)"]),
        ("prune-once", "native", &["tool output over 8000", "  protect = 2000\n"]),
        ("prune-once", "75000", &["tool output over 8000", "  protect = 2000\n"]),
        ("chunked-summary", "100k", &["keep_recent = 10000"]),
        (
            "chunked-summary",
            "100k",
            &["\n1.keep_recent, 1.max_tokens, 1.when.reserve: written for a window of 200000;"],
        ),
        ("fifo", "100k", &["above 0.85 of window (85000 tokens)"]),
        ("continuation", "native", &["\n--- "]),
    ] {
        let out = at(name, window);
        assert!(says.iter().all(|part| out.contains(part)), "{name} at {window}: {says:?}\n{out}");
    }
    let plain = at("prune", "200000");
    assert_eq!([at("prune", "200k"), at("prune", "native")], [plain.clone(), plain]);
}

#[test]
fn every_built_in_strategy_shows_its_source() {
    let desk = Desk::new();
    for line in desk.good(&["strategies", "list"]).out.lines() {
        let name = line.split_whitespace().next().unwrap();
        let out = desk.good(&["strategies", "show", name]).out;
        assert!(out.starts_with(&format!("{name}\n")) && out.contains("\nsource: "), "{out}");
    }
}

#[test]
fn data_sets_are_listed_and_shown() {
    let desk = Desk::new();
    assert!(desk.good(&["datasets"]).out.starts_with("quickstart"));
    let out = desk.good(&["datasets", "show", "quickstart"]).out;
    assert!(out.contains("parcel-service: ") && out.contains(" requests"), "{out}");
    assert!(out.contains("licence: MIT OR Apache-2.0"), "{out}");
}

#[test]
fn completions_name_every_subcommand() {
    let desk = Desk::new();
    let out = desk.good(&["completions", "bash"]).out;
    let commands = "bench replay report import show strategies judge datasets completions";
    for command in commands.split(' ') {
        assert!(out.contains(&format!("recap__subcmd__{command}")), "{command}");
    }
    assert_eq!(desk.recap(&["completions", "tcsh"]).code, 2);
}

#[test]
fn man_pages_describe_every_command_with_its_options() {
    let desk = Desk::new();
    desk.good(&["man", "pages/man1"]);
    let read = |name| std::fs::read_to_string(desk.path(name)).unwrap();
    let page = read("pages/man1/recap.1");
    assert!(page.contains(".TH recap 1") && page.contains("recap\\-bench(1)"), "{page}");
    assert!(read("pages/man1/recap-bench.1").contains("\\-\\-max\\-cost"));
    assert!(read("pages/man1/recap-strategies-show.1").contains(".SH SYNOPSIS"));
    let error = desk.refused(&["man", "pages/man1/recap.1"]);
    assert!(error.contains("cannot write pages/man1/recap.1"), "{error}");
}

#[test]
fn help_describes_each_command_in_one_line() {
    let desk = Desk::new();
    let out = desk.good(&["--help"]).out;
    assert!(out.contains("what it costs") || out.contains("loses"), "{out}");
    for command in ["bench", "replay", "report", "import", "show", "strategies", "datasets"] {
        let line = out.lines().find(|l| l.trim_start().starts_with(command)).unwrap();
        assert!(line.chars().count() <= 100, "{line}");
        desk.good(&[command, "--help"]);
    }
}

#[test]
fn usage_errors_exit_2_with_empty_stdout() {
    let desk = Desk::new();
    for arguments in [
        &["bench", "--no-such-option"][..],
        &["bench", "--jobs", "many"],
        &["bench", "--jobs", "0"],
        &["bench", "--replicates", "0"],
        &["bench", "--tokens", "words"],
        &["bench", "--json", "--wide"],
        &["nothing"],
        &["import", "pi"],
        &["show", "quickstart"],
        &[],
    ] {
        let ran = desk.recap(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}: {ran:?}");
        assert!(!ran.err.is_empty() && !ran.err.contains("panicked"), "{}", ran.err);
        assert!(desk.list(".").is_empty());
    }
}
