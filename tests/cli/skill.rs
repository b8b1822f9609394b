//! The skill for coding agents: its commands run as they stand, and what it names in their answer
//! is there.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use crate::desk::Desk;
use crate::growing::session;

fn skill() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/skill/SKILL.md");
    std::fs::read_to_string(path).unwrap()
}

/// The commands of each block, in order.
fn blocks(text: &str) -> Vec<&str> {
    text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// A home of somebody whose agent kept these sessions of one project.
fn home(names: &[&str], requests: u64) -> Desk {
    let desk = Desk::new();
    for name in names {
        let lines: Vec<String> = session(name, requests).iter().map(Json::to_string).collect();
        desk.file(&format!("home/.claude/projects/-p/{name}.jsonl"), lines.join("\n"));
    }
    desk
}

/// What a shell prints in that home.
fn run(desk: &Desk, commands: &str) -> String {
    let program = assert_cmd::cargo::cargo_bin!("recap");
    let folder = program.parent().unwrap().display();
    let home = desk.path("home");
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", commands]).current_dir(desk.path("")).env("HOME", &home);
    shell.env("PATH", format!("{folder}:/usr/bin:/bin"));
    for other in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "GEMINI_CLI_HOME"]
        .into_iter()
        .chain(["COPILOT_HOME", "KIMI_CODE_HOME", "XDG_DATA_HOME"])
    {
        shell.env_remove(other);
    }
    let ran = shell.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn skill_has_the_common_form() {
    let text = skill();
    let head = text.strip_prefix("---\n").unwrap().split("\n---\n").next().unwrap();
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    assert_eq!(field("name: "), "compaction-size");
    let about = field("description: ");
    assert!(about.len() <= 1_024 && about.contains("Use when"), "{about}");
    assert_eq!(head.lines().count(), 2, "{head}");
}

/// The bill at 200k is worked out by hand in `sizes.rs`: $48.38 of six sessions today.
#[test]
fn skill_commands_answer_from_the_sessions_of_the_newest_project() {
    let text = skill();
    let [measure, clean] = blocks(&text)[..] else { panic!("{text}") };
    let desk = home(&["a", "b", "c", "d", "e", "f"], 25);
    let shown = run(&desk, measure);
    let answer = desk.json("recap.json");
    for line in ["\"today_usd\": 48.375", "\"file\": \"~/.claude/settings.json\"", "\"how_sure\""] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    // Every field that the text names is there; the answer has a size, so two of them are not.
    let named: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let fields =
        named.iter().filter(|name| name.starts_with("answer.") || name.starts_with("sizes."));
    let mut found = 0;
    for field in fields.filter(|name| !["sizes.none", "sizes.text"].contains(name)) {
        let pointer = format!("/{}", field.replace('.', "/"));
        assert!(answer.pointer(&pointer).is_some(), "{field}: {shown}");
        found += 1;
    }
    assert_eq!(found, 7);
    assert_eq!(answer["sizes"]["sessions"], 6);
    run(&desk, clean);
    assert_eq!(desk.list("."), ["home"], "nothing is left behind");
    assert_eq!(desk.list("home"), [".claude"]);
    // One session is no answer, and says why.
    let alone = home(&["a"], 25);
    run(&alone, measure);
    let sizes = &alone.json("recap.json")["sizes"];
    assert_eq!((&sizes["none"]["reason"], sizes["text"].is_string()), (&"few".into(), true));
}
