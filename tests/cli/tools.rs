//! What no single command line shows: every strategy, every page, and a pack that is too large.

use std::collections::BTreeSet;

use crate::desk::Desk;

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
fn all_runs_every_built_in_strategy() {
    let desk = Desk::with_sessions();
    desk.good(&["bench", "pi.jsonl", "--strategy", "all", "--out", "run"]);
    let listed = desk.good(&["strategies", "list"]).out;
    // A token saver is a program, which has to be installed: it is named for itself.
    let lines = listed.lines().filter(|line| !line.contains("  token saver "));
    let mut names: BTreeSet<&str> = lines.filter_map(|l| l.split_whitespace().next()).collect();
    // The controls that questions and recorded compactions give a meaning.
    names.retain(|name| !["evidence", "recorded"].contains(name));
    let rows = desk.csv("run/summary.csv");
    assert_eq!(rows.iter().map(|row| &*row["strategy"]).collect::<BTreeSet<_>>(), names);
}

#[test]
fn oversized_pack_is_refused_until_allowed() {
    let desk = Desk::new();
    let chat = r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]"#;
    let text = chat.replace("},{", &format!("}},{}{{", "\n".repeat(33 << 20)));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    desk.file("chat.json.gz", packed.finish().unwrap());
    let show = "show chat.json.gz --strategy full --window 8k";
    let error = desk.refused(show);
    assert!(error.contains("unpacks to more than 33554432 bytes, 50 times"), "{error}");
    assert!(error.contains("help: ") && error.contains("--max-unpacked SIZE"), "{error}");
    desk.good(&format!("{show} --max-unpacked 40M"));
    let error = desk.recap(&format!("{show} --max-unpacked '10 MB'"));
    assert_eq!(error.code, 2);
    assert!(error.err.contains("a size is expected, such as 500M or 2G"), "{}", error.err);
}
