//! What a terminal shows, at the width that the terminal has.

#![cfg(unix)]

use std::io::Read;
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};
use unicode_width::UnicodeWidthStr;

use crate::desk::{Desk, session};

/// What the program writes to a terminal of that many columns.
fn shown(desk: &Desk, columns: u16, arguments: &[&str]) -> String {
    shown_with(desk, columns, &[], arguments)
}

/// The same with these variables.
fn shown_with(
    desk: &Desk,
    columns: u16,
    variables: &[(&str, String)],
    arguments: &[&str],
) -> String {
    let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("recap"));
    command.current_dir(desk.path(".")).args(arguments);
    // Another terminal's width: what the terminal itself says holds.
    command.env("COLUMNS", "132").env("NO_COLOR", "1");
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(terminal.slave).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // The reader comes to an end when nobody holds the other side.
    drop(command);
    let (mut master, mut bytes) = (std::fs::File::from(terminal.master), Vec::new());
    let mut part = [0; 4096];
    while let Ok(n @ 1..) = master.read(&mut part) {
        bytes.extend_from_slice(&part[..n]);
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8(bytes).unwrap().replace('\r', "")
}

#[test]
fn table_width_follows_terminal_not_columns_variable() {
    let desk = Desk::new();
    let run = ["bench", &session(), "--quiet", "--strategy", "prune", "--out", "run"];
    desk.good(&run);
    // Without a terminal there is no width: it is 100, whatever COLUMNS says.
    let piped = desk.recap_with(&[("COLUMNS", "40")], &["report", "run"]).out;
    let widest = |text: &str| text.lines().map(|line| line.width()).max().unwrap();
    assert!((90..=100).contains(&widest(&piped)), "{piped}");
    let wide = shown(&desk, 120, &["report", "run"]);
    assert!((105..=120).contains(&widest(&wide)), "{wide}");
    let narrow = shown(&desk, 64, &["report", "run"]);
    assert!(widest(&narrow) <= 64, "{narrow}");
    let block = narrow.split("\n prune\n").nth(1).expect("a block for the strategy");
    let labels: Vec<&str> = block.lines().take(3).map(|line| line.trim_start()).collect();
    assert!(labels[0].starts_with("frees  "), "{narrow}");
    assert!(labels.iter().all(|line| line.contains("  ")), "{narrow}");
}

#[test]
fn recording_is_exact_when_piped_harmless_on_terminal() {
    let desk = Desk::new();
    let text = "a\u{1b}[2Jb\u{8}\u{202e}c\u{200b}d";
    let session = serde_json::json!([
        {"role": "user", "content": text},
        {"role": "assistant", "content": "ok"},
    ]);
    desk.file("s.json", session.to_string());
    let show = ["show", "s.json", "--strategy", "full", "--window", "8k"];
    assert!(desk.good(&show).out.contains(text));
    let actual = shown(&desk, 100, &show);
    assert!(actual.contains("a\u{fffd}[2Jb\u{fffd}\u{fffd}c\u{fffd}d"), "{actual:?}");
}

#[test]
fn bare_command_lists_found_sessions_and_next_command() {
    let desk = Desk::new();
    let home = |name: &str| desk.path(name).display().to_string();
    let variables = [
        ("CLAUDE_CONFIG_DIR", home("claude")),
        ("CODEX_HOME", home("codex")),
        ("PI_CODING_AGENT_DIR", home("pi")),
        ("HOME", home("home")),
    ];
    let actual = shown_with(&desk, 100, &variables, &[]);
    assert!(!actual.contains("--latest") && actual.contains("recap bench FILE|FOLDER"), "{actual}");
    desk.file("claude/projects/a/one.jsonl", "{}\n");
    desk.file("claude/projects/b/two.jsonl", "{}\n");
    let actual = shown_with(&desk, 100, &variables, &[]);
    assert!(actual.contains("Claude Code: 2 sessions in "), "{actual}");
    assert!(actual.contains("recap bench --latest --open"), "{actual}");
    assert!(!actual.contains("Codex CLI"), "{actual}");
}

#[test]
fn latest_names_where_it_looked() {
    let desk = Desk::new();
    let [home, kimi] = ["home", "moved"].map(|name| desk.path(name).display().to_string());
    let names = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "COPILOT_HOME"];
    let mut variables = vec![("HOME", home.as_str()), ("KIMI_CODE_HOME", kimi.as_str())];
    variables.extend(names.map(|name| (name, home.as_str())));
    variables.extend(["GEMINI_CLI_HOME", "XDG_DATA_HOME"].map(|name| (name, home.as_str())));
    let run = ["bench", "--latest", "--dry-run"];
    let none = desk.recap_with(&variables, &run);
    let places = ["projects", "session-state", ".gemini/tmp", "opencode"];
    let places = places.map(|place| format!("{home}/{place}"));
    assert_eq!(none.code, 4, "{none:?}");
    assert!(places.iter().all(|place| none.err.contains(place)), "{none:?}");
    assert!(none.err.contains(&format!("{kimi}/sessions")), "{none:?}");
    assert!(!none.err.contains(".kimi-code"), "{none:?}");
    let log = include_str!("../fixtures/dataset/kimi-code.jsonl");
    desk.file("moved/sessions/wd_a_1/session_1/agents/agent-0/wire.jsonl", log);
    desk.file("moved/sessions/wd_a_1/session_1/agents/main/wire.jsonl", log);
    let found = desk.recap_with(&variables, &run);
    let newest =
        format!("newest session (Kimi Code): {kimi}/sessions/wd_a_1/session_1/agents/main");
    assert!(found.err.contains(&newest), "{found:?}");
    assert!(found.err.contains("looked in"), "{found:?}");
}

/// The opener of Linux desktops is a program on the path.
#[cfg(target_os = "linux")]
#[test]
fn page_is_handed_to_desktop_opener() {
    use std::os::unix::fs::PermissionsExt;

    let desk = Desk::new();
    let (bin, opened) = (desk.path("bin"), desk.path("opened"));
    desk.file("bin/xdg-open", format!("#!/bin/sh\necho \"$1\" > {}\n", opened.display()));
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bin.join("xdg-open"), executable).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let line = ["bench", &session(), "--quiet", "--strategy", "prune", "--out", "run", "--open"];
    shown_with(&desk, 100, &[("PATH", path)], &line);
    // The opener runs on its own.
    let actual = (0..1_000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        std::fs::read_to_string(&opened).ok().filter(|text| text.ends_with('\n'))
    });
    assert!(actual.expect("the opener was called").ends_with("run/report.html\n"));
}
