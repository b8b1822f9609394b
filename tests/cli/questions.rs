//! Questions that are made from recordings, in files.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use crate::desk::{Desk, session};
use crate::server::{Act, Received, Server};

/// A desk with the questions of [`session`] in `made.jsonl`.
fn with_questions() -> Desk {
    let desk = Desk::new();
    desk.good(&["questions", "generate", &session(), "--out", "made.jsonl"]);
    desk
}

#[test]
fn questions_are_written_once_never_over_file() {
    let desk = with_questions();
    let before = desk.read("made.jsonl");
    let twice = desk.refused(&["questions", "generate", &session(), "--out", "made.jsonl"]);
    assert!(twice.contains("made.jsonl exists already"), "{twice}");
    assert_eq!(desk.read("made.jsonl"), before);
    let printed = desk.good(&["questions", "generate", &session()]).out;
    assert_eq!(printed, before, "the same recording gives the same questions");
    let discard = desk.refused(&["questions", "generate", &session(), "--out", "gone/made.jsonl"]);
    assert!(discard.contains("cannot write gone/made.jsonl"), "{discard}");
}

#[test]
fn unaskable_question_file_is_refused() {
    let desk = with_questions();
    let made = desk.read("made.jsonl");
    let lines: Vec<&str> = made.lines().collect();
    let elsewhere = made.replace("\"session\":\"invoice-export\"", "\"session\":\"other\"");
    let torn = format!("{}\n{}\n", lines[0], &lines[1][..40]);
    let late = lines[0].replace("\"evidence\":[\"", "\"evidence\":[\"no-such-");
    desk.file("empty.jsonl", "")
        .file("elsewhere.jsonl", elsewhere)
        .file("torn.jsonl", torn)
        .file("late.jsonl", late + "\n");
    for (file, says) in [
        ("gone.jsonl", "no such file"),
        ("empty.jsonl", "empty.jsonl holds no question"),
        ("elsewhere.jsonl", "none of its questions is about a session of this run"),
        ("torn.jsonl", "torn.jsonl:2"),
        ("late.jsonl", "late.jsonl:1"),
    ] {
        let said = desk.refused(&["bench", &session(), "--questions", file, "--out", "run"]);
        assert!(said.contains(says), "{file}: {said}");
    }
    let replayed = desk.refused(&["replay", &session(), "--questions", "made.jsonl"]);
    assert!(replayed.contains("asks no questions"), "{replayed}");
}

#[test]
fn question_file_gives_same_result_as_making_them() {
    let desk = with_questions();
    let run = |out: &str, questions: &str| {
        let what = ["bench", &session(), "--strategy", "fifo", "--quiet"];
        let how = ["--questions", questions, "--out", out];
        desk.good(&[&what[..], &how].concat());
        let rows = desk.csv(&format!("{out}/summary.csv"));
        let all = rows.into_iter().find(|row| row["strategy"] == "fifo").unwrap();
        (all["questions_at_cut"].clone(), all["continuity_at_cut"].clone())
    };
    let (questions, continuity) = run("made", "auto");
    assert!(questions.parse::<f64>().unwrap() >= 1.0);
    assert!((0.0..=100.0).contains(&continuity.parse::<f64>().unwrap()));
    assert_eq!(run("given", "made.jsonl"), (questions, continuity));
    let (none, absent) = run("none", "none");
    assert_eq!((none.as_str(), absent.as_str()), ("", ""), "nothing was asked");
}

/// At depth 3 the window is so small that requests of strategies that summarise
/// nothing are refused.
#[test]
fn refused_request_keeps_no_facts_or_answers() {
    let desk = Desk::new();
    let how = ["--strategy", "prune,codex", "--depth", "3", "--out", "run"];
    desk.good(&[&["bench", &session()][..], &how].concat());
    let cuts = desk.csv("run/cuts.csv");
    let refused = |row: &&BTreeMap<String, String>| {
        row["over_window"] == row["facts"] && row["facts"] != "0" && row["strategy"] != "full"
    };
    let over: BTreeSet<&str> = cuts.iter().filter(refused).map(|row| &*row["strategy"]).collect();
    assert!(over.contains("prune"), "{over:?}");
    let summary = desk.json("run/summary.json");
    let rows = desk.csv("run/summary.csv");
    for counted in summary["questions"].as_array().unwrap() {
        let name = counted["strategy"].as_str().unwrap();
        let kinds =
            counted["kinds"].as_object().unwrap().iter().filter(|(kind, _)| *kind != "abstain");
        let sum = |what: &str| kinds.clone().map(|(_, of)| of[what].as_f64().unwrap()).sum::<f64>();
        let row =
            rows.iter().find(|row| row["dataset"] == "ALL" && row["strategy"] == name).unwrap();
        let share: f64 = row["continuity_at_cut"].parse().unwrap();
        assert!((share - 100.0 * sum("kept") / sum("full")).abs() < 1e-6, "{name}: {counted}");
    }
    // Nothing is kept, though each was right in the context that was refused.
    let prune =
        summary["questions"].as_array().unwrap().iter().find(|of| of["strategy"] == "prune");
    let of = &prune.unwrap()["kinds"]["artifact"];
    assert!(of["kept"] == 0.0 && of["full"].as_f64().unwrap() > 0.0, "{of}");
}

#[test]
fn questions_csv_lists_every_question_with_both_answers() {
    let desk = with_questions();
    let what = ["bench", &session(), "--strategy", "fifo", "--quiet", "--out", "run"];
    desk.good(&what);
    assert!(desk.csv("run/questions.csv").is_empty(), "the session brings none of its own");
    let made: Vec<Json> =
        desk.read("made.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rows = desk.csv("run/cut_questions.csv");
    assert!(rows.iter().any(|row| row["strategy"] == "fifo"));
    let right = |score: &str| score.parse::<f64>().is_ok_and(|score| score >= 0.5);
    for row in &rows {
        let question = made.iter().find(|question| question["question"] == *row["question"]);
        let question = question.unwrap_or_else(|| panic!("{row:?}"));
        assert_eq!(question["kind"], *row["kind"]);
        assert!(!row["expected"].is_empty() && row["pre_answer"].is_empty(), "{row:?}");
        let key = ["cut", "question"];
        let is_same = |other: &&std::collections::BTreeMap<String, String>| {
            other["strategy"] == "full" && key.iter().all(|key| other[*key] == row[*key])
        };
        let whole = rows.iter().find(is_same).unwrap();
        assert_eq!((&row["pre_answer"], &row["pre_score"]), (&whole["answer"], &whole["score"]));
        let graded = !row["score"].is_empty() && !row["pre_score"].is_empty();
        let became = match (graded, right(&row["pre_score"]), right(&row["score"])) {
            (false, ..) => "",
            (true, true, true) => "kept",
            (true, true, false) => "lost",
            (true, false, true) => "gained",
            (true, false, false) => "neither",
        };
        assert_eq!(row["agreement"], became, "{row:?}");
    }
    // The figure of the summary is that of these rows.
    let own = rows.iter().filter(|row| row["strategy"] == "fifo" && row["kind"] != "abstain");
    let count = |became: &str| own.clone().filter(|row| row["agreement"] == became).count() as f64;
    let (kept, lost) = (count("kept"), count("lost"));
    let summary = desk.csv("run/summary.csv");
    let row = summary.iter().find(|row| row["strategy"] == "fifo").unwrap();
    let continuity: f64 = row["continuity_at_cut"].parse().unwrap();
    assert!((continuity - 100.0 * kept / (kept + lost)).abs() < 1e-6, "{continuity} {kept} {lost}");
    // The page lists them, and without text neither has the words.
    let page = desk.read("run/report.html");
    assert!(page.contains("those that it lost first"), "the page lists them");
    desk.good(&["bench", &session(), "--strategy", "fifo", "--no-text", "--out", "bare"]);
    let bare = desk.csv("bare/cut_questions.csv");
    let words = ["question", "expected", "answer", "pre_answer", "rationale"];
    assert!(!bare.is_empty());
    assert!(bare.iter().all(|row| words.iter().all(|word| row[*word].is_empty())), "{:?}", bare[0]);
    assert!(!desk.read("bare/report.html").contains("those that it lost first"));
}

#[test]
fn questions_about_other_sessions_are_counted_but_omitted() {
    let desk = with_questions();
    let made = desk.read("made.jsonl");
    let first = made.lines().next().unwrap();
    let other = first.replace("\"invoice-export\"", "\"other\"");
    desk.file("mixed.jsonl", format!("{first}\n{other}\n"));
    let what = ["bench", &session(), "--strategy", "fifo", "--out", "run"];
    let ran = desk.good(&[&what[..], &["--questions", "mixed.jsonl"]].concat());
    assert!(ran.err.contains("1 question of mixed.jsonl left out: no such session"), "{ran:?}");
}

/// A model that asks for the host in the first message, answers it where its
/// context holds it, and grades by the words.
fn author(request: &Received) -> Act {
    let schema = request.body["response_format"]["json_schema"]["name"].as_str();
    let context = request.body["messages"][0]["content"].as_str().unwrap();
    Act::chat(&author_of(context, &request.text(), schema))
}

/// Its reply to a context and a message, by the name of the reply's schema.
pub fn author_of(context: &str, text: &str, schema: Option<&str>) -> String {
    match schema {
        Some("questions") => {
            let proposal = json!({"kind": "fact", "question": "On which host did the refused job run?",
                "answer": "exp-worker-03", "evidence": ["m0"], "stale": []});
            let first = text.contains("] m0 user").then_some(proposal);
            json!({"questions": first.into_iter().collect::<Vec<_>>()}).to_string()
        }
        None => {
            let knows = context.contains("exp-worker-03") && text.contains("host");
            if knows { "exp-worker-03" } else { "I don't know." }.to_owned()
        }
        Some("statements") => {
            let items: Json = serde_json::from_str(text).unwrap();
            let names = items.as_object().unwrap().keys();
            Json::Object(names.map(|name| (name.clone(), json!("yes"))).collect()).to_string()
        }
        Some(_) => {
            let grading: Json = serde_json::from_str(text).unwrap();
            let right = grading["answer"] == grading["expected"][0];
            let verdict = if right { "correct" } else { "incorrect" };
            json!({"reason": "by its words", "verdict": verdict}).to_string()
        }
    }
}

#[test]
fn model_writes_run_questions_and_cassette_keeps_them() {
    let desk = Desk::new();
    let server = Server::start(author);
    let (session, base) = (session(), server.base());
    let what = [
        "bench",
        &session,
        "--strategy",
        "fifo",
        "--questions",
        "openai/m",
        "--answerer",
        "openai/m",
        "--judge",
        "openai/m",
        "--depth",
        "1",
    ];
    let bench = |how: &[&str]| desk.recap_at(&base, &[&what[..], how].concat());

    let unkept = bench(&["--out", "none"]);
    assert_eq!(unkept.code, 2, "{unkept:?}");
    assert!(unkept.err.contains("--cassette FILE --record"), "{unkept:?}");
    let planned = bench(&["--dry-run", "--cassette", "tape.jsonl", "--record"]);
    assert!(planned.code == 0 && planned.out.contains("author openai/m: "), "{planned:?}");
    assert_eq!(server.requests(), 0, "until now nothing was sent");

    let ran = bench(&["--out", "a", "--cassette", "tape.jsonl", "--record"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("author openai/m: "), "the cost is told first: {ran:?}");
    let asked = |run: &str| {
        let rows = desk.csv(&format!("{run}/summary.csv"));
        let row = rows.into_iter().find(|row| row["strategy"] == "fifo").unwrap();
        (row["questions_at_cut"].clone(), row["continuity_at_cut"].clone())
    };
    assert_ne!(asked("a").0, "", "its question was asked: {ran:?}");
    let calls = desk.csv("a/calls.csv");
    assert!(calls.iter().any(|call| call["role"] == "author"), "its calls are billed");
    assert_eq!(calls.len(), server.requests(), "every request is one row");

    drop(server);
    let again = bench(&["--out", "b", "--cassette", "tape.jsonl", "--replay"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(asked("b"), asked("a"));
}

#[test]
fn questions_above_cost_limit_are_not_requested() {
    let desk = Desk::new();
    let server = Server::start(author);
    let (session, base) = (session(), server.base());
    let generate = ["questions", "generate", &session, "--model", "openai/gpt-5.4"];
    let ran = desk.recap_at(&base, &[&generate[..], &["--max-cost", "0.01"]].concat());
    ran.is_refused();
    assert!(ran.err.contains("expected to cost $"), "{}", ran.err);
    assert!(ran.err.contains("--max-cost allows $0.01") && ran.err.contains("raise --max-cost"));
    assert_eq!(server.requests(), 0);
}

#[test]
fn model_without_usable_question_stops_run_before_start() {
    let desk = Desk::new();
    let server = Server::start(|_| Act::chat("{\"questions\": []}"));
    let base = server.base();
    let session = session();
    let arguments = [
        "bench",
        &session,
        "--questions",
        "openai/m",
        "--out",
        "run",
        "--cassette",
        "tape.jsonl",
        "--record",
    ];
    let ran = desk.recap_at(&base, &arguments);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("openai/m wrote no usable question"), "{ran:?}");
    assert!(!desk.path("run").exists());
    let replayed = desk.refused(&["replay", &session, "--questions", "openai/m"]);
    assert!(replayed.contains("asks no questions"), "{replayed}");
}

#[test]
fn question_check_shows_controls_by_kind() {
    let desk = with_questions();
    let folder = session();
    for file in ["dataset.toml", "sessions.jsonl"] {
        let text = std::fs::read_to_string(std::path::Path::new(&folder).join(file)).unwrap();
        desk.file(&format!("own/{file}"), text);
    }
    desk.file("own/questions.jsonl", desk.read("made.jsonl"));
    let checked = desk.recap(&["questions", "check", "own"]);
    let all = checked.out.lines().find_map(|line| line.trim_start().strip_prefix("all "));
    let figures: Vec<&str> = all.unwrap_or(&checked.out).split_whitespace().collect();
    assert_eq!(figures[..4], ["8", "0.00", "0.50", "0.50"], "{checked:?}");
}

/// `check` reads the file of `generate`, with the sessions that it is about.
#[test]
fn generated_questions_are_checked_on_their_sessions() {
    let desk = Desk::new();
    let session = session();
    desk.good(&["questions", "generate", &session, "-o", "made.jsonl"]);
    let alone = desk.refused(&["questions", "check", "made.jsonl"]);
    assert!(alone.contains("made.jsonl holds questions without their sessions"), "{alone}");
    let help = "recap questions check SESSIONS --questions made.jsonl";
    assert!(alone.contains(help), "{alone}");
    let check = |file: &str| desk.recap(&["questions", "check", &session, "--questions", file]);
    let made = check("made.jsonl");
    let lines = desk.read("made.jsonl").lines().count();
    assert!(
        made.code == 0 && made.out.contains(&format!("{lines} questions, 0 violations")),
        "{made:?}"
    );
    assert!(made.out.contains("where the answers are findable"), "{}", made.out);
    // Every problem has file and line; sessions of others are one.
    let text = desk.read("made.jsonl");
    let foreign = text.lines().next().unwrap().replacen("\"session\":\"", "\"session\":\"no-", 1);
    desk.file("wrong.jsonl", format!("{text}{foreign}\n{{\n"));
    let wrong = check("wrong.jsonl");
    assert_eq!(wrong.code, 2, "{wrong:?}");
    for line in [lines + 1, lines + 2] {
        assert!(wrong.out.contains(&format!("wrong.jsonl:{line}: ")), "{wrong:?}");
    }
    desk.file("none.jsonl", "");
    assert_eq!(check("none.jsonl").code, 4, "nothing to check");
}

/// What happens in a Claude Code session: the user says something, or a tool is
/// called and answers.
enum Step<'a> {
    Says(&'a str),
    Calls(&'a str, Json, &'a str),
}
use Step::{Calls, Says};

/// The bytes of a Claude Code session: requests that read something else, these
/// steps, and as many requests again, so that cuts fall behind each step.
fn log(steps: Vec<Step<'_>>) -> String {
    let filler = |n: u32| Calls("Read", json!({"file_path": format!("n{n}.txt")}), "");
    let steps = (0..7).map(filler).chain(steps).chain((7..24).map(filler));
    let mut lines: Vec<String> = Vec::new();
    let mut add = |role: &str, content: Json| {
        let n = lines.len();
        let parent = n.checked_sub(1).map(|before| format!("u{before}"));
        let mut record = json!({"type": role, "uuid": format!("u{n}"), "parentUuid": parent,
            "isSidechain": false, "sessionId": "s", "version": "2.1.217", "cwd": "/w/app",
            "timestamp": format!("2026-10-05T09:{:02}:{:02}Z", n / 60, n % 60),
            "message": {"role": role, "content": content}});
        if role == "assistant" {
            let message = &mut record["message"];
            message["id"] = json!(format!("m{n}"));
            message["model"] = json!("claude-opus-4-6");
            message["usage"] = json!({"input_tokens": 10, "output_tokens": 10});
        }
        lines.push(record.to_string() + "\n");
    };
    add("user", json!("Carry on with the harbour office."));
    for (n, step) in steps.enumerate() {
        match step {
            Says(text) => add("user", json!(text)),
            Calls(tool, input, output) => {
                let id = format!("t{n}");
                let call = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
                add("assistant", json!([call]));
                let tides =
                    format!("The tide of berth {n} comes in slowly and goes out. ").repeat(60);
                let output = if output.is_empty() { tides.as_str() } else { output };
                let result = json!({"type": "tool_result", "tool_use_id": id, "content": output});
                add("user", json!([result]));
            }
        }
    }
    lines.concat()
}

/// The last row for each question about such a session: expected, stale, kind.
fn made(steps: Vec<Step<'_>>) -> BTreeMap<String, Json> {
    let desk = Desk::new();
    desk.file("s.jsonl", log(steps));
    let ran = desk.recap(&["questions", "generate", "s.jsonl", "--cuts", "all"]);
    let rows = ran.out.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    rows.map(|row| (row["question"].as_str().unwrap().to_owned(), row)).collect()
}

fn edit(path: &str, old: &str, new: &str) -> Step<'static> {
    let path = format!("/w/app/{path}");
    Calls(
        "Edit",
        json!({"file_path": path, "old_string": old, "new_string": new}),
        "The file was updated.",
    )
}

#[test]
fn reply_among_options_is_there_only_with_its_result() {
    let options = json!([{"label": "Granite quay (Recommended)"}, {"label": "Timber quay"}]);
    let input = json!({"questions": [
        {"question": "What is the quay built of?", "options": options},
        {"question": "Who picks the colour?", "options": [{"label": "You decide"}]}]});
    let result = "User has answered your questions: \"What is the quay built of?\"=\"Timber quay\", \
                  \"Who picks the colour?\"=\"You decide\". You can now continue.";
    let steps = || vec![Calls("AskUserQuestion", input.clone(), result)];
    let made = made(steps());
    let question = "The agent asked the user “What is the quay built of?”: what was the answer?";
    let row = &made[question];
    assert_eq!(row["expect"], json!({"any_of": ["Timber quay"]}));
    assert_eq!(row["stale"], json!(["Granite quay"]));
    assert_eq!(row["evidence"].as_array().unwrap().len(), 1, "the result alone: {row}");
    assert!(!made.keys().any(|question| question.contains("colour")), "{made:#?}");
    // Clearing the result leaves the call with its options, and no answer.
    let desk = Desk::new();
    desk.file("s.jsonl", log(steps()));
    let how = ["--strategy", "prune", "--cuts", "all", "--quiet", "--out", "run"];
    desk.good(&[&["bench", "s.jsonl"][..], &how].concat());
    let rows = desk.csv("run/cut_questions.csv");
    let there = |strategy: &str| -> Vec<String> {
        let own = rows.iter().filter(|row| row["strategy"] == strategy);
        own.filter(|row| row["question"] == question).map(|row| row["findable"].clone()).collect()
    };
    assert!(there("full").iter().all(|there| there == "true"), "{:?}", there("full"));
    let pruned = there("prune");
    assert!(!pruned.is_empty() && pruned.iter().all(|there| there == "false"), "{pruned:?}");
}

#[test]
fn only_wishes_that_stand_are_instructions() {
    let made = made(vec![
        Says(
            "## Never leave the harbour unlit at night\nAlways ring the bell before a ferry leaves \
             the\nnorthern pier.\nShould we always ring the bell before a ferry arrives?\nDo not \
             forget to open the gate for this ferry.\nMake sure the lamp at the pier is replaced \
             today.\nDon't moor yachts at the berths of the fishing fleet.\nNever use words like \
             \"ahoy ...\" in the log of the harbour.",
        ),
        Calls("Bash", json!({"command": "ls"}), "pier"),
    ]);
    let rules = &made["Which standing instructions of the user must you keep to from here on?"];
    let kept = [
        "Always ring the bell before a ferry leaves the northern pier.",
        "Don't moor yachts at the berths of the fishing fleet.",
    ];
    let kept = kept.map(|rule| format!("It keeps to: {rule}"));
    assert_eq!(rules["expect"], json!({"rubric": kept}));
    let bell =
        &made["One standing instruction begins with “Always ring the bell”: how does it go on?"];
    assert_eq!(bell["expect"], json!({"any_of": ["before a ferry leaves the northern pier"]}));
}

#[test]
fn name_is_asked_only_where_it_went_into_one_file() {
    let made = made(vec![
        edit("src/almanac.rs", "", "fn next_low_tide() {}"),
        edit("src/berths.rs", "", "fn free_berths_at() {}"),
        edit("src/boats.rs", "", "fn longest_boat() {}"),
        edit("src/berths.rs", "fn free_berths_at() {}", ""),
        edit("src/boats.rs", "", "fn free_berths_at() {}"),
        Calls("Bash", json!({"command": "cat >> x.rs <<E\nfn longest_boat() {}\nE"}), "ok"),
        // Two files have this name: it alone names neither.
        edit("web/src/index.ts", "", "function drawHarbour() {}"),
        Calls("Bash", json!({"command": "ls"}), "web/src/index.ts\nadmin/src/api/index.ts"),
    ]);
    let asked = |name: &str| made.get(&format!("Which file did the agent add `{name}` to?"));
    assert_eq!(
        asked("next_low_tide").unwrap()["expect"]["any_of"],
        json!(["almanac.rs", "src/almanac.rs"])
    );
    assert_eq!(asked("drawHarbour").unwrap()["expect"]["any_of"], json!(["web/src/index.ts"]));
    // It went into one file at first, and at last into two.
    let last = |name: &str| asked(name).map(|row| row["asked_at"].as_u64().unwrap());
    assert!(last("free_berths_at") < last("next_low_tide"), "{made:#?}");
    assert!(last("longest_boat") < last("next_low_tide"), "{made:#?}");
}

#[test]
fn moved_and_deleted_files_are_asked_where_they_are_now() {
    let run = |command: &str| Calls("Bash", json!({"command": command}), "ok");
    let made = made(vec![
        edit("src/lamp.rs", "", "fn light_the_lamp() {}"),
        edit("src/horn.rs", "", "fn sound_the_horn() {}"),
        edit("port.toml", "berths = 12", "berths = 14"),
        run("cd /w/app && git mv src/lamp.rs signals/beacon.rs && mv port.toml config/"),
        run("rm src/horn.rs"),
        edit("signals/beacon.rs", "old", "new"),
        run("mv signals lights"),
    ]);
    let row = |question: &str| &made[question];
    let lamp = row("Which file did the agent add `light_the_lamp` to?");
    assert_eq!(lamp["expect"]["any_of"], json!(["lights/beacon.rs"]));
    let moved = row("Where did the agent move the file `src/lamp.rs`?");
    assert_eq!(moved["expect"]["any_of"], json!(["lights/beacon.rs"]));
    assert_eq!(moved["stale"], json!(["src/lamp.rs"]));
    let berths = row("What is the value of `berths` in `config/port.toml` now?");
    assert_eq!((&berths["expect"]["any_of"], &berths["stale"]), (&json!(["14"]), &json!(["12"])));
    let files = row("Which files has the agent changed or created so far?");
    let named = ["config/port.toml", "lights/beacon.rs"];
    assert_eq!(
        files["expect"]["rubric"],
        json!(named.map(|file| format!("It names the file {file}")))
    );
}

#[test]
fn text_at_several_cuts_is_one_question_in_counts() {
    let desk = Desk::new();
    desk.file("s.jsonl", log(vec![edit("src/almanac.rs", "", "fn next_low_tide() {}")]));
    let ran = desk.recap(&["questions", "generate", "s.jsonl", "--cuts", "all"]);
    let times = ran.out.lines().count();
    assert!(times > 1, "{}", ran.err);
    assert!(
        ran.err.contains(&format!("1 question, asked {times} times at the cuts: artifact 1")),
        "{}",
        ran.err
    );
    let how = ["--strategy", "fifo", "--cuts", "all", "--quiet", "--out", "run"];
    desk.good(&[&["bench", "s.jsonl"][..], &how].concat());
    let rows = desk.csv("run/cut_questions.csv");
    let own = |strategy: &str| rows.iter().filter(|row| row["strategy"] == strategy).count();
    assert_eq!(own("fifo"), times);
    let summary = desk.csv("run/summary.csv");
    let row = summary.iter().find(|row| row["strategy"] == "fifo").unwrap();
    assert_eq!(row["questions_at_cut"], "1");
    let kept = rows.iter().filter(|row| row["strategy"] == "fifo" && row["agreement"] == "kept");
    let share = 100.0 * kept.count() as f64 / times as f64;
    let continuity: f64 = row["continuity_at_cut"].parse().unwrap();
    assert!((continuity - share).abs() < 1e-6, "{continuity} {share}");
}
