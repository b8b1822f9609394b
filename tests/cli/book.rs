//! Every `recap` command of the README and the book runs as it stands, with the files that its
//! page has made by then.

use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::desk::{Desk, fixture, session};
use crate::questions;
use crate::roles::talk;
use crate::server::{Act, Received, Server};

/// Commands of tables that are a form with a word to fill in, and no command.
const FORMS: [&str; 6] = [
    "recap bench SESSIONS --fail-on RULE",
    "recap strategies show NAME",
    "recap models show NAME",
    "recap strategies check FILE",
    // Programs that have to be installed, or to run.
    "recap bench SESSIONS --strategy savers",
    "recap bench SESSIONS --strategy proxy:http://127.0.0.1:8787",
];
/// The figures, beside the script that takes them.
const FIGURES: &str = "reports/figures.md";
/// The command whose page shows how it fails, and its code.
const FAILS: (&str, i32) = ("recap strategies check mine.toml", 3);
/// The table of contents, the one page without a command.
const CONTENTS: &str = "SUMMARY.md";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A page of the book, or a document by its path.
fn read(page: &str) -> String {
    let page = match page {
        "README.md" | FIGURES => root().join(page),
        page => root().join("docs").join(page),
    };
    std::fs::read_to_string(page).unwrap()
}

/// The fenced blocks of a page, each with its language.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(language) => {
                open = true;
                blocks.push((language, String::new()));
            }
            None if open => {
                let (_, block) = blocks.last_mut().unwrap();
                *block += line;
                block.push('\n');
            }
            None => {}
        }
    }
    blocks
}

/// The first block of a page in a language that holds a text.
fn block(page: &str, language: &str, holds: &str) -> String {
    let text = read(page);
    let mut found = blocks(&text).into_iter();
    let found = found.find(|(own, block)| *own == language && block.contains(holds));
    found.unwrap_or_else(|| panic!("{page} has no {language} with {holds}")).1
}

/// The commands of a page, in their order: those of its blocks, and those of tables that name
/// one for each thing to know.
fn commands(page: &str) -> Vec<String> {
    let text = read(page);
    let mut found = Vec::new();
    for (_, block) in
        blocks(&text).iter().filter(|(language, _)| ["sh", "console"].contains(language))
    {
        for line in block.replace("\\\n", " ").lines() {
            let line = line.strip_prefix("$ ").unwrap_or(line);
            let line = line.split("  #").next().unwrap().trim();
            let program = line.split(' ').find(|word| !word.contains('='));
            if matches!(program, Some("recap" | "mkdir")) {
                found.push(line.to_owned());
            }
        }
    }
    let mut in_table = false;
    for line in text.lines() {
        in_table = line.starts_with('|') && (in_table || line.contains("| command |"));
        let spans = line.split('`').skip(1).step_by(2).filter(|_| in_table);
        found.extend(spans.filter(|span| span.starts_with("recap ")).map(str::to_owned));
    }
    found.retain(|line| !FORMS.contains(&line.as_str()));
    found
}

/// What a model replies: the author's, the judge's and the answerer's part as elsewhere, and
/// nothing of use as a compactor.
fn reply(context: &str, text: &str, schema: Option<&str>) -> String {
    let grades = serde_json::from_str::<Json>(text).is_ok_and(|asked| asked["answer"].is_string());
    match schema {
        Some(name) if name != "questions" && !grades => "{}".to_owned(),
        _ => questions::author_of(context, text, schema),
    }
}

/// A model for every role and dialect.
fn model(request: &Received) -> Act {
    let body = &request.body;
    if request.path.ends_with("/embeddings") {
        let data = json!([{"object": "embedding", "index": 0, "embedding": [1.0, 0.5]}]);
        let usage = json!({"prompt_tokens": 7, "total_tokens": 7});
        return Act::json(
            200,
            &json!({"object": "list", "model": "m", "data": data, "usage": usage}),
        );
    }
    let usage = json!({"input_tokens": 10, "output_tokens": 5});
    if request.path.ends_with("/messages") {
        let context = body["system"][0]["text"].as_str().unwrap_or_default();
        let schema = &body["output_config"]["format"]["schema"]["properties"];
        let schema = schema
            .get("questions")
            .map(|_| "questions")
            .or(schema.get("verdict").map(|_| "verdict"));
        let content = json!([{"type": "text", "text": reply(context, &request.text(), schema)}]);
        return Act::json(
            200,
            &json!({"model": "m", "content": content, "stop_reason": "end_turn", "usage": usage}),
        );
    }
    let schema = body["response_format"]["json_schema"]["name"].as_str();
    let context = body["messages"][0]["content"].as_str().unwrap_or_default();
    Act::chat(&reply(context, &request.text(), schema))
}

/// A desk that is the home of somebody with sessions, and the program on its path.
struct Home {
    desk: Desk,
    server: Server,
}

impl Home {
    fn new() -> Self {
        let desk = Desk::new();
        let session = session();
        let read = |file: &str| std::fs::read_to_string(format!("{session}/{file}")).unwrap();
        let (card, whole) = (read("dataset.toml"), read("sessions.jsonl"));
        // A part of it, so that a model's summaries cost less than two dollars.
        let mut part: Json = serde_json::from_str(whole.lines().next().unwrap()).unwrap();
        part["messages"].as_array_mut().unwrap().truncate(60);
        for (name, text) in [("SESSION", whole), ("SESSIONS/one", part.to_string() + "\n")] {
            desk.file(&format!("{name}/dataset.toml"), &card);
            desk.file(&format!("{name}/sessions.jsonl"), text);
        }
        for (name, to) in [
            ("claude-code.jsonl", ".claude/projects/my-project/0f3a….jsonl"),
            ("codex.jsonl", ".codex/sessions/rollout.jsonl"),
            ("openai-chat.json", "chat.json"),
            ("openai-chat.json", "LOGS/chat.json"),
            ("pi.jsonl", "session.jsonl"),
        ] {
            let text = std::fs::read_to_string(fixture(name)).unwrap();
            desk.file(
                to,
                text.replace("claude-x", "claude-opus-4-5").replace("gpt-x-codex", "gpt-5.4"),
            );
        }
        talk(&desk);
        std::fs::rename(desk.path("talk"), desk.path("DATA")).unwrap();
        let questions = desk.read("DATA/questions.jsonl");
        desk.file("DATA/questions.jsonl", questions.replace("\"Thursday\"", "\"Thursdays\""));
        let case =
            r#"{"id":"1","question":"q","expect":{"any_of":["v"]},"answer":"v","label":true}"#;
        desk.file("my-labels.jsonl", case).file("LABELS", case);
        desk.file("mine.toml", "version = 1\nname = \"mine\"\nsummary = \"x\"\nsource = \"x\"\n[[stage]]\n\
            mechanism = \"sliding-window\"\nat = \"request\"\nwhen = \"always\"\nlast = 20\nkeep_pairs = true\n");
        std::fs::create_dir_all(desk.path("bin")).unwrap();
        std::os::unix::fs::symlink(assert_cmd::cargo::cargo_bin!("recap"), desk.path("bin/recap"))
            .unwrap();
        // Nothing opens a window.
        for opener in ["xdg-open", "open", "gio", "gnome-open", "kde-open", "wslview"] {
            std::os::unix::fs::symlink("/bin/true", desk.path(&format!("bin/{opener}"))).unwrap();
        }
        Self { desk, server: Server::start(model) }
    }

    /// Runs a line in a shell; its code and what it said.
    fn shell(&self, line: &str) -> (Option<i32>, String) {
        let base = self.server.base();
        let line = line.replace("http://127.0.0.1:8080/v1", &base);
        let path =
            format!("{}:{}", self.desk.path("bin").display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(&line).current_dir(self.desk.path(".")).env("PATH", path);
        shell.env("HOME", self.desk.path(".")).env_remove("XDG_CONFIG_HOME");
        for provider in ["OPENAI", "ANTHROPIC"] {
            shell.env(format!("{provider}_API_KEY"), "sk-canary");
            shell.env(format!("{provider}_BASE_URL"), &base);
        }
        let done = shell.output().unwrap();
        let said = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8_lossy(&said).into_owned())
    }

    /// Runs what a page needs that no line of it makes.
    #[track_caller]
    fn prepare(&self, line: &str) {
        let (code, said) = self.shell(line);
        assert_eq!(code, Some(0), "{line}\n{said}");
    }

    /// Runs every command of a page.
    #[track_caller]
    fn runs(&self, page: &str) {
        let commands = commands(page);
        assert!(!commands.is_empty(), "{page}");
        for line in commands {
            let (code, said) = self.shell(&line);
            let expected = if line == FAILS.0 { FAILS.1 } else { 0 };
            assert_eq!(code, Some(expected), "{page}: {line}\n{said}");
        }
    }
}

#[test]
fn every_page_with_a_command_is_run() {
    let entries = std::fs::read_dir(root().join("docs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut pages: Vec<String> =
        names.filter(|name| name.ends_with(".md") && name != CONTENTS).collect();
    pages.sort();
    // Each has a test below.
    let known = [
        "ci.md",
        "cost.md",
        "files.md",
        "first-steps.md",
        "how-it-works.md",
        "models.md",
        "program.md",
        "questions.md",
        "reference.md",
        "result.md",
        "strategies.md",
    ];
    assert_eq!(pages, known);
    for page in known.into_iter().chain(["README.md", FIGURES]) {
        assert!(!commands(page).is_empty(), "{page}");
    }
}

#[test]
fn the_commands_of_the_readme_run() {
    let home = Home::new();
    for run in ["A", "B"] {
        home.prepare(&format!("recap replay SESSION --strategy fifo --out {run}"));
    }
    // A search needs a second session.
    home.prepare("cp -r DATA SESSIONS/two");
    home.runs("README.md");
}

#[test]
fn the_commands_of_the_first_steps_run() {
    let home = Home::new();
    for run in ["A", "B"] {
        home.prepare(&format!("recap replay SESSION --strategy fifo --out {run}"));
    }
    home.prepare("cp -r DATA SESSIONS/two");
    home.runs("first-steps.md");
}

#[test]
fn the_commands_about_bills_run() {
    let home = Home::new();
    let price = json!({"claude-opus-4-5": {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-5,
        "mode": "chat", "litellm_provider": "anthropic"}});
    home.desk.file("mine.json", price.to_string());
    home.runs("cost.md");
    home.runs(FIGURES);
}

#[test]
fn the_commands_about_shards_run() {
    let home = Home::new();
    home.prepare("rm -r SESSIONS && cp -r DATA SESSIONS");
    // The page has one of sixteen shards; the machines beside it run the others.
    for line in commands("ci.md") {
        let others = (1..=16).filter(|n| *n != 3 && line.contains("--shard 3/16"));
        for n in others {
            let of_n =
                line.replace("3/16", &format!("{n}/16")).replace("part-3", &format!("part-{n}"));
            home.prepare(&of_n.replace("tape-3", &format!("tape-{n}")));
        }
        let (code, said) = home.shell(&line);
        assert_eq!(code, Some(0), "{line}\n{said}");
    }
}

#[test]
fn the_commands_about_results_and_files_run() {
    let home = Home::new();
    for page in ["result.md", "how-it-works.md", "files.md", "reference.md"] {
        home.runs(page);
    }
}

#[test]
fn the_commands_about_models_run() {
    Home::new().runs("models.md");
}

#[test]
fn the_commands_about_questions_and_judges_run() {
    let home = Home::new();
    let data = root().join("tests/fixtures/dataset");
    home.prepare(&format!(
        "cp {0}/locomo.json locomo10.json && mkdir -p BEAM/chats && cp -r {0}/beam \
                           BEAM/chats/100K && cp -r DATA my-data-set",
        data.display()
    ));
    home.prepare("recap bench DATA --strategy fifo --answerer openai/gpt-5.4 --out reports/RUN");
    home.runs("questions.md");
}

#[test]
fn the_commands_about_programs_run() {
    let home = Home::new();
    home.desk.file("mine.toml", block("program.md", "toml", "command"));
    home.desk.file("mine.py", block("program.md", "python", "compact"));
    home.runs("program.md");
}

#[test]
fn the_commands_about_strategies_run() {
    let home = Home::new();
    home.runs("strategies.md");
}
