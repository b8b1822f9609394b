//! Questions made from a recording: what each kind asks, and what it leaves.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use recap_core::model::{Block, Expectation, Message, Question, QuestionKind, Role, Session};
use recap_exam::facts::{CompactableMessage, CutPlace};
use recap_exam::questions::generate;
use serde_json::{Value as Json, json};

/// A session that is put together message by message.
#[derive(Default)]
struct Conversation(Session);

impl Conversation {
    fn push(&mut self, role: Role, blocks: Vec<Block>) -> String {
        let id = format!("m{}", self.0.messages.len());
        let message = Message::new(id.clone(), role, None, blocks);
        self.0.messages.push(message);
        id
    }

    fn user(mut self, text: &str) -> Self {
        self.push(Role::User, vec![Block::Text { text: text.to_owned() }]);
        self
    }

    fn agent(mut self, text: &str) -> Self {
        self.push(Role::Assistant, vec![Block::Text { text: text.to_owned() }]);
        self
    }

    fn call(self, tool: &str, arguments: Json, result: &str) -> Self {
        self.called(tool, arguments, result, false)
    }

    fn called(mut self, tool: &str, arguments: Json, result: &str, is_error: bool) -> Self {
        let id = format!("c{}", self.0.messages.len());
        let call = Block::ToolCall { id: id.clone(), name: tool.to_owned(), arguments };
        self.push(Role::Assistant, vec![call]);
        let text = result.to_owned();
        self.push(Role::Tool, vec![Block::ToolResult { call: id, text, images: 0, is_error }]);
        self
    }

    /// The questions behind the last message, all of which may be compacted.
    fn asked(&self) -> Vec<Question> {
        self.asked_without(0)
    }

    /// The questions where the first messages are no longer there.
    fn asked_without(&self, first: u32) -> Vec<Question> {
        let end = self.0.messages.len() as u32;
        let kept = (first..end).map(|message| CompactableMessage { message, cleared: false });
        let place = CutPlace {
            request: 9,
            requests: 5,
            left: 5,
            from: end,
            last: end,
            material: kept.collect(),
            recorded: None,
        };
        generate(&self.0, &[place])
    }
}

/// The question that begins like this, with its answers and stale values.
fn find<'a>(asked: &'a [Question], begins: &str) -> (&'a Question, Vec<&'a str>, Vec<&'a str>) {
    let found: Vec<&Question> = asked.iter().filter(|p| p.question.starts_with(begins)).collect();
    let questions: Vec<&str> = asked.iter().map(|p| p.question.as_str()).collect();
    assert_eq!(found.len(), 1, "`{begins}` in {questions:#?}");
    let answers = match &found[0].expect {
        Expectation::AnyOf(values) | Expectation::Rubric(values) => values.as_slice(),
        Expectation::Unanswerable => &[],
    };
    let texts = |texts: &'a [String]| texts.iter().map(String::as_str).collect();
    (found[0], texts(answers), texts(&found[0].stale))
}

fn no_question(asked: &[Question], part: &str) {
    let with: Vec<&Question> = asked.iter().filter(|p| p.question.contains(part)).collect();
    assert!(with.is_empty(), "{with:#?}");
}

fn edit(path: &str, old: &str, new: &str) -> Json {
    json!({"file_path": path, "old_string": old, "new_string": new})
}

#[test]
fn files_are_asked_by_what_was_added() {
    let written = json!({"file_path": "/home/u/app/src/lexer.rs", "content": "fn scan_token() {}"});
    let mut session = Conversation::default()
        .call("Read", json!({"file_path": "src/main.rs"}), "fn run_main() {}\nfn old_name() {}")
        .call(
            "Edit",
            edit("src/main.rs", "fn run_main() {", "fn load_config() {}\nfn run_main() {"),
            "ok",
        )
        .call("Edit", edit("src/main.rs", "fn old_name() {}", "fn old_name() { 1 }"), "ok")
        .call("Write", written, "ok")
        .called("Edit", edit("src/gone.rs", "x", "fn never_applied() {}"), "no such text", true);
    session.0.metadata = vec!["/home/u/app".to_owned()];
    let asked = session.asked();
    let (question, answers, _) = find(&asked, "Which file did the agent add `load_config` to?");
    assert_eq!(answers, ["main.rs", "src/main.rs"]);
    assert_eq!((question.kind, question.asked_at), (QuestionKind::Artifact, 9));
    assert_eq!(question.evidence, ["m2"]);
    let (_, answers, _) = find(&asked, "Which file did the agent add `scan_token` to?");
    assert_eq!(answers, ["lexer.rs", "src/lexer.rs"]);
    let (_, answers, _) = find(&asked, "Which new file did the agent create in `src/`?");
    assert_eq!(answers, ["lexer.rs"]);
    let (question, parts, _) = find(&asked, "Which files has the agent changed or created so far?");
    assert_eq!(parts, ["It names the file src/lexer.rs", "It names the file src/main.rs"]);
    assert!(matches!(question.expect, Expectation::Rubric(_)));
    // A name that stood there before was not added, nor one of a failed edit.
    no_question(&asked, "run_main");
    no_question(&asked, "old_name");
    no_question(&asked, "never_applied");
}

#[test]
fn removed_or_duplicated_names_are_not_asked() {
    let asked = Conversation::default()
        .call("Edit", edit("a.rs", "", "fn first_try() {}"), "ok")
        .call("Edit", edit("a.rs", "fn first_try() {}", "fn second_try() {}"), "ok")
        .call("Edit", edit("b.rs", "", "fn shared_name() {}"), "ok")
        .call("Edit", edit("c.rs", "", "fn shared_name() {}"), "ok")
        .call("Write", json!({"path": "plan.md", "content": "fn only_planned() {}"}), "ok")
        .asked();
    no_question(&asked, "first_try");
    no_question(&asked, "shared_name");
    no_question(&asked, "only_planned");
    find(&asked, "Which file did the agent add `second_try` to?");
}

#[test]
fn moved_file_is_asked_by_its_new_path() {
    let patch = "*** Begin Patch\n*** Update File: src/old_parser.ts\n*** Move to: lib/reader.ts\n@@\n-a\n+b\n*** End Patch";
    let asked =
        Conversation::default().call("apply_patch", json!({"input": patch}), "Done").asked();
    let (_, answers, stale) =
        find(&asked, "Where did the agent move the file `src/old_parser.ts`?");
    assert_eq!((answers, stale), (vec!["reader.ts", "lib/reader.ts"], vec!["src/old_parser.ts"]));
}

#[test]
fn commands_are_asked_by_their_last_result() {
    let run = |command: &str| json!({"command": command});
    let commit = "[main 1a2b3c4d] Close the writer on errors\n 1 file changed";
    let nothing = "Exit code 1\nnothing to commit";
    let asked = Conversation::default()
        .called("Bash", run("go test ./codec"), "--- FAIL: TestRoundTrip (0.00s)\nFAIL", true)
        .call("Bash", run("go test ./codec"), "ok  codec 0.1s")
        .called(
            "Bash",
            run("cd /x && go test ./net 2>&1 | tail -5"),
            "--- FAIL: TestDial (0.1s)",
            true,
        )
        .call("Bash", run("git commit -m \"Close the reader\""), "1 file changed")
        .call("Bash", run("git commit --amend -F note"), commit)
        .call("Bash", run("git commit -m 'Hold the lease'"), nothing)
        .call("Bash", run("cd /tmp/try && git commit -m 'Only a trial'"), "")
        .call("Bash", run("git checkout -b fix/writer-close"), "Switched")
        .asked();
    let all: Vec<(&str, &[String])> =
        asked.iter().map(|p| (p.question.as_str(), p.expect.alternatives())).collect();
    assert_eq!(all.len(), 3, "{all:#?}");
    for (question, answers) in all {
        let expected = match question {
            "Which test failed when `go test ./net` was last run?" => "TestDial",
            "What is the subject of the last commit that the agent made with `git commit`?" => {
                "Close the writer on errors"
            }
            "Which git branch did the agent create last with `git checkout -b`?" => {
                "fix/writer-close"
            }
            other => panic!("{other}"),
        };
        assert_eq!(answers, [expected]);
    }
    // What a quiet commit says is what its command says; of another nothing is known.
    let last = |line: &str, said: &str| {
        let asked = Conversation::default().call("Bash", run(line), said).asked();
        asked.first().map(|one| one.expect.alternatives()[0].clone())
    };
    assert_eq!(last("git commit -qm 'Hold the lease'", "").as_deref(), Some("Hold the lease"));
    assert_eq!(last("git commit -qF note", ""), None);
}

#[test]
fn changed_value_is_asked_with_older_ones_stale() {
    let asked = Conversation::default()
        .call(
            "Edit",
            edit("app.toml", "retries = 3\nname = \"x\"", "retries = 5\nname = \"x\""),
            "ok",
        )
        .call("Edit", edit("app.toml", "retries = 5", "retries = 12"), "ok")
        .call("Edit", edit("a.ts", "const limit = true;", "const limit = false;"), "ok")
        .call("Edit", edit("a.ts", "const MAX_WAIT = 30;", "const MAX_WAIT = 45;"), "ok")
        .call("Edit", edit("a.ts", "MOST_SENT = 11", "MOST_SENT = 12"), "ok")
        .call("Edit", edit("a.ts", "MOST_SENT = 12", ""), "ok")
        .call("Edit", edit("a.test.ts", "MAX_TRIED = 30", "MAX_TRIED = 45"), "ok")
        .asked();
    let (question, answers, stale) =
        find(&asked, "What is the value of `retries` in `app.toml` now?");
    assert_eq!((answers, stale), (vec!["12"], vec!["3", "5"]));
    assert_eq!(question.evidence, ["m2"]);
    let (_, answers, stale) = find(&asked, "What is the value of `MAX_WAIT` in `a.ts` now?");
    assert_eq!((answers, stale), (vec!["45"], vec!["30"]));
    // A flag is guessed, one is gone, and the values of tests are examples.
    for part in ["limit", "MOST_SENT", "MAX_TRIED"] {
        no_question(&asked, part);
    }
    no_question(&asked, "`name`");
}

#[test]
fn plans_are_asked_from_list_at_the_cut() {
    let todos = |first: &str, second: &str| {
        json!({"todos": [
            {"content": "Write the lexer", "status": first},
            {"content": "Test the lexer", "status": second},
            {"content": "Publish it", "status": "pending"},
        ]})
    };
    let asked = Conversation::default()
        .call("TodoWrite", todos("in_progress", "pending"), "ok")
        .call("TodoWrite", todos("completed", "in_progress"), "ok")
        .asked();
    let (_, answers, stale) = find(&asked, "Which item of the to-do list is in progress?");
    assert_eq!((answers, stale), (vec!["Test the lexer"], vec!["Write the lexer"]));
    let (_, answers, _) = find(&asked, "Which item of the to-do list comes next");
    assert_eq!(answers, ["Publish it"]);
    let (_, parts, _) = find(&asked, "What is still to be done?");
    assert_eq!(parts, ["It names: Test the lexer", "It names: Publish it"]);
    // Most items are completed: their state is guessed.
    no_question(&asked, "state");

    // Codex's and Claude Code's newer tools.
    let plan = json!({"plan": [{"step": "Port it", "status": "in_progress"}, {"step": "Ship it", "status": "pending"}]});
    let asked = Conversation::default().call("update_plan", plan, "Plan updated").asked();
    assert_eq!(find(&asked, "Which item of the to-do list is in progress?").1, ["Port it"]);
    let asked = Conversation::default()
        .call(
            "TaskCreate",
            json!({"subject": "Draw the map", "description": "x"}),
            "Task #1 created",
        )
        .call("TaskUpdate", json!({"taskId": "1", "status": "in_progress"}), "Updated task #1")
        .asked();
    let (question, answers, _) = find(&asked, "Which item of the to-do list is in progress?");
    assert_eq!(question.expect, Expectation::AnyOf(vec!["Draw the map".into()]));
    assert_eq!(
        (answers, &question.evidence),
        (vec!["Draw the map"], &vec!["m0".into(), "m2".into()])
    );
}

#[test]
fn standing_instructions_are_asked_verbatim_and_as_behaviour() {
    let rules = "# Rules\n- Never commit keys of customers to the main branch\n- Build with make";
    let asked = Conversation::default()
        .user("Add a lexer. Always run the linter before you commit anything. Don't worry about speed.")
        .call("Read", json!({"file_path": "/r/AGENTS.md"}), rules)
        .user("Never commit generated files to the main branch.")
        .user("<reminder>\nYou must always reply in rhymes here.\n</reminder>")
        .user("Caveat: The messages below are local. Do not respond to these messages in any way.")
        .asked();
    let (question, answers, _) =
        find(&asked, "One standing instruction begins with “Always run the”");
    assert_eq!(
        (question.kind, answers),
        (QuestionKind::Constraint, vec!["linter before you commit anything"])
    );
    let (question, answers, _) =
        find(&asked, "One standing instruction begins with “Never commit generated”");
    assert_eq!(answers, ["files to the main branch"]);
    assert_eq!(question.evidence, ["m3"]);
    let (_, parts, _) = find(&asked, "Which standing instructions of the user");
    assert_eq!(parts.len(), 2, "{parts:?}");
    // The agent is sent AGENTS.md with every request.
    for part in ["worry", "rhymes", "respond", "customers"] {
        no_question(&asked, part);
    }
}

#[test]
fn rule_in_the_preamble_is_not_asked() {
    let rule = "Always run the linter before you commit anything.";
    let asked = |pinned: &[&str]| {
        let mut session = Conversation::default();
        session.0.preamble.pinned = pinned.iter().map(|text| (*text).to_owned()).collect();
        session.user(rule).call("Bash", json!({"command": "ls"}), "a").asked()
    };
    assert_eq!(asked(&[]).len(), 2);
    assert_eq!(asked(&["# Rules\n- Always run the linter before you commit anything."]), []);
}

#[test]
fn instruction_beginning_must_identify_only_that_instruction() {
    let asked = Conversation::default()
        .user("You should always wait for feedback after every single command.")
        .user("Please do not run commands in python through the flag.")
        .user("Also do not run commands in python through sockets either, ever.")
        .call("Bash", json!({"command": "ls"}), "a")
        .asked();
    let (_, answers, _) =
        find(&asked, "One standing instruction begins with “You should always wait for”");
    assert_eq!(answers, ["feedback after every single command"]);
    // Both others go on from the same words, so neither is asked.
    no_question(&asked, "run commands in");
}

#[test]
fn what_the_system_prompt_says_is_not_asked() {
    let build = |system: &[&str]| {
        let mut session = Conversation::default();
        session.0.preamble.system = system.iter().map(|text| (*text).to_owned()).collect();
        let change = edit("app.toml", "cabin = \"coach\"", "cabin = \"economy\"");
        session.call("Edit", change, "ok").asked()
    };
    let is_cabin = |question: &Question| question.question.contains("`cabin`");
    assert!(build(&[]).iter().any(is_cabin));
    assert!(!build(&["Cabins are economy and business."]).iter().any(is_cabin));
}

#[test]
fn decisions_are_asked_by_alternative_and_reply() {
    let result = "User has answered: \"Which store do we use?\"=\"SQLite with WAL\".";
    let asked = Conversation::default()
        .agent("We will use `serde_json` instead of `simd-json`.")
        .agent("Use a plain list instead of the tree here, and drop it rather than keep it.")
        .agent("You could use `hyper` instead of `curl`.")
        .agent("Should we use tabs instead of spaces?")
        .agent("我们改用PostgreSQL而不是MySQL。")
        .agent("タブではなくスペースを使います。")
        .call("AskUserQuestion", json!({"questions": []}), result)
        .asked();
    let all: Vec<(&str, &[String])> =
        asked.iter().map(|p| (p.question.as_str(), p.expect.alternatives())).collect();
    assert_eq!(asked.len(), 4, "{all:#?}");
    for (question, answers) in all {
        let expected = match question {
            "What is used instead of `simd-json`?" => "serde_json",
            "不用MySQL，选了什么？" => "PostgreSQL",
            "タブの代わりに何を選びましたか。" => "スペース",
            "The agent asked the user “Which store do we use?”: what was the answer?" => {
                "SQLite with WAL"
            }
            other => panic!("{other}"),
        };
        assert_eq!(answers, [expected]);
    }
}

#[test]
fn only_retained_content_is_asked_and_always_identically() {
    let session = Conversation::default()
        .call("Edit", edit("a.rs", "", "fn parse_header() {}"), "ok")
        .call("Edit", edit("b.rs", "", "fn close_all_files() {}"), "ok");
    let asked = session.asked_without(2);
    no_question(&asked, "parse_header");
    find(&asked, "Which file did the agent add `close_all_files` to?");
    assert_eq!(session.asked(), session.asked());
    let mut ids: Vec<String> = session.asked().into_iter().map(|question| question.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), session.asked().len());
}

#[test]
fn question_contains_neither_its_answer_nor_a_secret() {
    let key = format!("sk-ant-api03-{}", "a1B2".repeat(20));
    let asked = Conversation::default()
        .call(
            "Write",
            json!({"path": "src/header_parser.rs", "content": "fn parse_header() {}"}),
            "ok",
        )
        .call(
            "Edit",
            edit("app.toml", "api_key = \"old-value-1\"", &format!("api_key = \"{key}\"")),
            "ok",
        )
        .asked();
    // `parse_header` gives `header_parser.rs` away.
    no_question(&asked, "Which file did the agent add `parse_header` to?");
    assert!(!format!("{asked:?}").contains(&key));
}

#[test]
fn hostile_sessions_are_read_to_their_end() {
    let mut session = Conversation::default().user(&"Never do not always ".repeat(20_000));
    for n in 0..400 {
        let text = format!("fn name_of_{n}() {{}}\nLIMIT_{n} = {n}\n").repeat(20);
        session = session
            .call("Edit", edit("a.rs", &text, &text.replace(" = ", " = 1")), &"\"".repeat(2_000))
            .call("get_x", json!([1]), &"{".repeat(2_000))
            .call(
                "Bash",
                json!({"command": "git commit -m \"$(cat <<'EOF'"}),
                &"FAILED ".repeat(200),
            )
            .call("TodoWrite", json!({"todos": [{"content": "", "status": 3}]}), "");
    }
    let asked = session.asked();
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
        let mut session = Conversation::default();
        for (tool, one, two, three) in &turns {
            session = session.user(three);
            session = match tool {
                0 => session.call("Edit", edit(one, two, three), two),
                1 => session.call("apply_patch", json!({"input": one}), two),
                2 => session.call("shell", json!({"command": ["bash", "-lc", one]}), two),
                3 => session.call("Bash", json!({"command": one}), two),
                4 => session.call("Read", json!({"file_path": "/r/CLAUDE.md"}), one),
                5 => session.call("TodoWrite",
                    json!({"todos": [{"content": one, "status": "pending"}]}), two),
                6 => session.call("Write", json!({"file_path": one, "content": two}), three),
                _ => session.call(one, json!({two.clone(): three}), three),
            };
        }
        let asked = session.asked();
        prop_assert_eq!(&asked, &session.asked());
        let mut ids = BTreeSet::new();
        for question in &asked {
            prop_assert!(ids.insert(&question.id), "{:?} twice", question.id);
            prop_assert!(!question.evidence.is_empty());
            let known = |id: &String| session.0.messages.iter().any(|message| message.id == *id);
            prop_assert!(question.evidence.iter().all(known));
            if let Expectation::AnyOf(values) = &question.expect {
// A single letter stands in any question.
                let actual = |value: &String| value.len() > 3 && question.question.contains(value);
                prop_assert!(!values.iter().any(actual), "{question:?}");
            }
        }
    }
}
