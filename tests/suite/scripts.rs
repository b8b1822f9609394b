//! Sessions in a few words, with what is mined and asked of them: the cases of
//! `tests/fixtures/scripts`, reviewed. A case is a title (`#`), the lines of a session, and what
//! comes of it (`>`). `RECAP_UPDATE_DOCS=1` writes that of new cases; then it has to be read.
//!
//! A line is what somebody says, or a call with its result: `TOOL {…} => TEXT`, or `=!` if it is
//! an error. Behind a compaction, or a cleared result, stands the message that follows it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use recap_core::model::{
    Block, Expectation, Message, Question, QuestionKind, RecordedCompaction, Role, Session,
};
use recap_exam::facts::{CompactableMessage, CutPlace, mine};
use recap_exam::questions::generate;
use serde_json::{Value as Json, json};

#[derive(Default)]
struct Script {
    session: Session,
    /// Ten tokens a message, and 5,000 a filler.
    sizes: Vec<u64>,
    /// The first message that may be compacted.
    from: u32,
}

impl Script {
    fn push(&mut self, role: Role, block: Block) {
        let id = format!("m{}", self.sizes.len());
        self.session.messages.push(Message::new(id, role, None, vec![block]));
        self.sizes.push(10);
    }

    fn says(&mut self, role: Role, text: &str) {
        self.push(role, Block::Text { text: text.to_owned() });
    }

    fn calls(&mut self, tool: &str, rest: &str) {
        let mut json = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
        let arguments = json.next().unwrap().unwrap();
        let result = rest[json.byte_offset()..].trim_start();
        let id = format!("c{}", self.sizes.len());
        let call = Block::ToolCall { id: id.clone(), name: tool.to_owned(), arguments };
        self.push(Role::Assistant, call);
        for (arrow, is_error) in [("=>", false), ("=!", true)] {
            if let Some(text) = result.strip_prefix(arrow) {
                let (call, text) = (id.clone(), unescaped(text.trim_start()));
                self.push(Role::Tool, Block::ToolResult { call, text, images: 0, is_error });
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: Json, result: &str) {
        self.calls(tool, &arguments.to_string());
        let call = format!("c{}", self.sizes.len() - 1);
        let text = result.to_owned();
        self.push(Role::Tool, Block::ToolResult { call, text, images: 0, is_error: false });
    }

    fn line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let text = unescaped(rest);
        let mut words = rest.splitn(3, ' ');
        let mut number = || words.next().unwrap().parse().unwrap();
        match word {
            "user" => self.says(Role::User, &text),
            "agent" => self.says(Role::Assistant, &text),
            "thought" => self.push(Role::Assistant, Block::Reasoning { text }),
            "system" => self.session.preamble.system.push(text),
            "pinned" => self.session.preamble.pinned.push(text),
            "root" => self.session.metadata.push(text),
            "filler" => {
                self.says(Role::User, "and so it went on");
                *self.sizes.last_mut().unwrap() = 5_000;
            }
            "sized" => *self.sizes.last_mut().unwrap() = rest.parse().unwrap(),
            "from" => self.from = rest.parse().unwrap(),
            "compacted" | "cleared" => {
                let after = number();
                let mut made =
                    RecordedCompaction { after, kept_from: after, ..RecordedCompaction::default() };
                if word == "compacted" {
                    made.kept_from = number();
                    made.summary = words.next().map(str::to_owned);
                } else {
                    made.cleared = words.map(str::to_owned).collect();
                }
                self.session.compactions.push(made);
            }
            tool => self.calls(tool, rest),
        }
    }

    /// Each reference: request, class, name, where it was last, and what it takes to have it again.
    fn references(&self) -> String {
        let exam = mine(&self.session, &self.sizes);
        let mut told = String::new();
        for one in exam.references {
            let refetch = one.refetch.map_or("none".to_owned(), |tokens| tokens.to_string());
            let read = if one.reread { ", read again" } else { "" };
            let (class, sources) = (one.class.as_str(), one.sources);
            writeln!(
                told,
                "request {} {class} {}: {} tokens behind message {}, in {sources:?}, refetch \
                 {refetch}{read}, near [{}]",
                one.request,
                one.text,
                one.distance_tokens,
                one.last_seen,
                one.near.join(" ")
            )
            .unwrap();
        }
        if exam.did_without > 0 {
            writeln!(told, "did without {}", exam.did_without).unwrap();
        }
        told
    }

    /// The questions behind the last message.
    fn asked(&self) -> Vec<Question> {
        let end = self.sizes.len() as u32;
        let kept = (self.from..end).map(|message| CompactableMessage { message, cleared: false });
        let place = CutPlace {
            request: 9,
            requests: 5,
            left: 5,
            from: end,
            last: end,
            material: kept.collect(),
            recorded: None,
        };
        generate(&self.session, &[place])
    }

    /// Each question with what is expected.
    fn questions(&self) -> String {
        let mut told = String::new();
        for one in self.asked() {
            let expected = match &one.expect {
                Expectation::AnyOf(values) => values.join(" or "),
                Expectation::Rubric(parts) => format!("all of {}", parts.join(" and ")),
                Expectation::Unanswerable => "nothing".to_owned(),
            };
            let stale = one.stale.iter().map(|value| format!(", not {value}"));
            let stale: String = stale.collect();
            let (kind, evidence) = (one.kind.as_str(), one.evidence.join(" "));
            let at = one.asked_at;
            writeln!(told, "{kind} at {at}, in {evidence}: {} {expected}{stale}", one.question)
                .unwrap();
        }
        told
    }
}

fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t")
}

fn are_as_reviewed(name: &str, told: impl Fn(&Script) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/scripts").join(name);
    let known = std::fs::read_to_string(&path).unwrap();
    let key = format!("sk-ant-api03-{}", "a1B2".repeat(20));
    let mut now = String::new();
    for case in known.trim_end().split("\n\n") {
        let mut script = Script::default();
        for line in case.lines().filter(|line| !line.starts_with('>')) {
            writeln!(now, "{line}").unwrap();
            if !line.starts_with('#') {
                script.line(&line.replace("SECRET", &key));
            }
        }
        let found = told(&script);
        assert!(found == told(&script) && !found.contains(&key), "{found}");
        found.lines().for_each(|line| writeln!(now, "> {line}").unwrap());
        now.push('\n');
    }
    let now = format!("{}\n", now.trim_end());
    if std::env::var_os("RECAP_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &now).unwrap();
        return;
    }
    let differs = now.lines().zip(known.lines()).find(|(now, known)| now != known);
    assert!(now == known, "{name}: see {differs:?}");
}

#[test]
fn references_are_those_that_were_reviewed() {
    are_as_reviewed("references.txt", Script::references);
}

#[test]
fn questions_are_those_that_were_reviewed() {
    are_as_reviewed("questions.txt", Script::questions);
}

fn edit(path: &str, old: &str, new: &str) -> Json {
    json!({"file_path": path, "old_string": old, "new_string": new})
}

#[test]
fn hostile_sessions_are_read_to_their_end() {
    let mut script = Script::default();
    script.says(Role::User, &"Never do not always ".repeat(20_000));
    for n in 0..400 {
        let text = format!("fn name_of_{n}() {{}}\nLIMIT_{n} = {n}\n").repeat(20);
        script.call("Edit", edit("a.rs", &text, &text.replace(" = ", " = 1")), &"\"".repeat(2_000));
        script.call("get_x", json!([1]), &"{".repeat(2_000));
        let commit = json!({"command": "git commit -m \"$(cat <<'EOF'"});
        script.call("Bash", commit, &"FAILED ".repeat(200));
        script.call("TodoWrite", json!({"todos": [{"content": "", "status": 3}]}), "");
    }
    let asked = script.asked();
    assert!(asked.iter().all(|question| question.question.chars().count() <= 320), "{asked:#?}");
    assert!(asked.iter().any(|question| question.kind == QuestionKind::Update), "{asked:#?}");
}

/// Text as a patch or an argument may hold it.
fn text() -> impl Strategy<Value = String> {
    const MARKS: [&str; 20] = [
        "*** Begin Patch\n",
        "*** Update File: ",
        "*** Add File: a.rs\n",
        "*** Move to: ",
        "*** End Patch",
        "+fn f() {}\n",
        "-limit = 3\n",
        "+limit = 4\n",
        "git commit -m ",
        "git mv a.rs ",
        "&& rm '",
        "<<'EOF'\n",
        "must not ",
        "\"",
        "`",
        "“",
        "。",
        "FAILED tests::a ",
        "\u{200b}",
        "é",
    ];
    let piece = prop_oneof![select(&MARKS[..]).prop_map(str::to_owned), "\\PC{0,12}"];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_the_calls_hold_questions_keep_their_rules(
        turns in vec((0..8usize, text(), text(), text()), 1..12),
    ) {
        let mut script = Script::default();
        for (tool, one, two, three) in &turns {
            script.says(Role::User, three);
            match tool {
                0 => script.call("Edit", edit(one, two, three), two),
                1 => script.call("apply_patch", json!({"input": one}), two),
                2 => script.call("shell", json!({"command": ["bash", "-lc", one]}), two),
                3 => script.call("Bash", json!({"command": one}), two),
                4 => script.call("Read", json!({"file_path": "/r/CLAUDE.md"}), one),
                5 => script.call("TodoWrite",
                    json!({"todos": [{"content": one, "status": "pending"}]}), two),
                6 => script.call("Write", json!({"file_path": one, "content": two}), three),
                _ => script.call(one, json!({two.clone(): three}), three),
            }
        }
        let asked = script.asked();
        prop_assert_eq!(&asked, &script.asked());
        let mut ids = BTreeSet::new();
        for question in &asked {
            prop_assert!(ids.insert(&question.id), "{:?} twice", question.id);
            prop_assert!(!question.evidence.is_empty());
            let known = |id: &String| script.session.messages.iter().any(|message| message.id == *id);
            prop_assert!(question.evidence.iter().all(known));
            if let Expectation::AnyOf(values) = &question.expect {
                // A single letter stands in any question.
                let actual = |value: &String| value.len() > 3 && question.question.contains(value);
                prop_assert!(!values.iter().any(actual), "{question:?}");
            }
        }
    }
}
