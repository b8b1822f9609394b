//! Questions that are made from recordings, in files.

use serde_json::{Value as Json, json};

use crate::desk::{Desk, Row};
use crate::server::{Act, Received, Server};

/// A desk with the questions of [`session`] in `made.jsonl`.
fn with_questions() -> Desk {
    let desk = Desk::new();
    desk.good("questions generate SESSION --out made.jsonl");
    desk
}

#[test]
fn question_file_gives_same_result_as_making_them() {
    let desk = with_questions();
    let run = |out: &str, questions: &str| {
        let bench = "bench SESSION --strategy fifo --quiet";
        desk.good(&format!("{bench} --questions {questions} --out {out}"));
        let all = desk.row(&format!("{out}/summary.csv"), &["strategy=fifo"]);
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
    desk.good("bench SESSION --strategy prune,codex --depth 3 --out run");
    let cuts = desk.rows("run/cuts.csv", &["strategy=prune"]);
    let refused = |row: &Row| row["over_window"] == row["facts"] && row["facts"] != "0";
    assert!(cuts.iter().any(refused), "{cuts:?}");
    let summary = desk.json("run/summary.json");
    for counted in summary["questions"].as_array().unwrap() {
        let name = counted["strategy"].as_str().unwrap();
        let kinds =
            counted["kinds"].as_object().unwrap().iter().filter(|(kind, _)| *kind != "abstain");
        let sum = |what: &str| kinds.clone().map(|(_, of)| of[what].as_f64().unwrap()).sum::<f64>();
        let key = ["dataset=ALL", &format!("strategy={name}")];
        let row = desk.row("run/summary.csv", &key);
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
    desk.good("bench SESSION --strategy fifo --quiet --out run");
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
        let is_same = |other: &&Row| {
            let is_key = |key| other[key] == row[key];
            other["strategy"] == "full" && ["cut", "question"].into_iter().all(is_key)
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
    let row = desk.row("run/summary.csv", &["strategy=fifo"]);
    let continuity: f64 = row["continuity_at_cut"].parse().unwrap();
    assert!((continuity - 100.0 * kept / (kept + lost)).abs() < 1e-6, "{continuity} {kept} {lost}");
    // The page lists them, and without text neither has the words.
    let page = desk.read("run/report.html");
    assert!(page.contains("those that it lost first"), "the page lists them");
    desk.good("bench SESSION --strategy fifo --no-text --out bare");
    let bare = desk.csv("bare/cut_questions.csv");
    let words = ["question", "expected", "answer", "pre_answer", "rationale"];
    assert!(!bare.is_empty());
    assert!(bare.iter().all(|row| words.iter().all(|word| row[*word].is_empty())), "{:?}", bare[0]);
    assert!(!desk.read("bare/report.html").contains("those that it lost first"));
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
    let base = server.base();
    let what = "bench SESSION --strategy fifo --questions openai/m --answerer openai/m \
                --judge openai/m --depth 1";
    let bench = |how: &str| desk.recap_at(&base, &format!("{what} {how}"));

    let unkept = bench("--out none");
    assert_eq!(unkept.code, 2, "{unkept:?}");
    assert!(unkept.err.contains("--cassette FILE --record"), "{unkept:?}");
    let planned = bench("--dry-run --cassette tape.jsonl --record");
    assert!(planned.code == 0 && planned.out.contains("author openai/m: "), "{planned:?}");
    assert_eq!(server.requests(), 0, "until now nothing was sent");

    let ran = bench("--out a --cassette tape.jsonl --record");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("author openai/m: "), "the cost is told first: {ran:?}");
    let asked = |run: &str| {
        let row = desk.row(&format!("{run}/summary.csv"), &["strategy=fifo"]);
        (row["questions_at_cut"].clone(), row["continuity_at_cut"].clone())
    };
    assert_ne!(asked("a").0, "", "its question was asked: {ran:?}");
    let calls = desk.csv("a/calls.csv");
    assert!(calls.iter().any(|call| call["role"] == "author"), "its calls are billed");
    assert_eq!(calls.len(), server.requests(), "every request is one row");

    drop(server);
    let again = bench("--out b --cassette tape.jsonl --replay");
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(asked("b"), asked("a"));
}

#[test]
fn questions_above_cost_limit_are_not_requested() {
    let desk = Desk::new();
    let server = Server::start(author);
    let generate = "questions generate SESSION --model openai/gpt-5.4 --max-cost 0.01";
    let ran = desk.recap_at(&server.base(), generate);
    ran.is_refused();
    assert!(ran.err.contains("expected to cost $"), "{}", ran.err);
    assert!(ran.err.contains("--max-cost allows $0.01") && ran.err.contains("raise --max-cost"));
    assert_eq!(server.requests(), 0);
}

#[test]
fn model_without_usable_question_stops_run_before_start() {
    let desk = Desk::new();
    let server = Server::start(|_| Act::chat("{\"questions\": []}"));
    let bench = "bench SESSION --questions openai/m --out run --cassette tape.jsonl --record";
    let ran = desk.recap_at(&server.base(), bench);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("openai/m wrote no usable question"), "{ran:?}");
    assert!(!desk.path("run").exists());
    let replayed = desk.refused("replay SESSION --questions openai/m");
    assert!(replayed.contains("asks no questions"), "{replayed}");
}

/// The bytes of a Claude Code session: requests that read something else, a call with its
/// result, and as many requests again, so that cuts fall behind it.
fn log(tool: &str, input: &Json, output: &str) -> String {
    let tides = |n: u32| format!("The tide of berth {n} comes in slowly and goes out. ").repeat(60);
    let filler = |n: u32| ("Read", json!({"file_path": format!("n{n}.txt")}), tides(n));
    let own = (tool, input.clone(), output.to_owned());
    let steps = (0..7).map(filler).chain([own]).chain((7..24).map(filler));
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
    for (n, (tool, input, output)) in steps.enumerate() {
        let id = format!("t{n}");
        add("assistant", json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]));
        add("user", json!([{"type": "tool_result", "tool_use_id": id, "content": output}]));
    }
    lines.concat()
}

#[test]
fn reply_among_options_is_there_only_with_its_result() {
    let options = json!([{"label": "Granite quay (Recommended)"}, {"label": "Timber quay"}]);
    let input = json!({"questions": [
        {"question": "What is the quay built of?", "options": options},
        {"question": "Who picks the colour?", "options": [{"label": "You decide"}]}]});
    let result = "User has answered your questions: \"What is the quay built of?\"=\"Timber quay\", \
                  \"Who picks the colour?\"=\"You decide\". You can now continue.";
    // Clearing the result leaves the call with its options, and no answer.
    let question = "The agent asked the user “What is the quay built of?”: what was the answer?";
    let desk = Desk::new();
    desk.file("s.jsonl", log("AskUserQuestion", &input, result));
    desk.good("bench s.jsonl --strategy prune --cuts all --quiet --out run");
    let there = |strategy: &str| -> Vec<String> {
        let key = [&*format!("strategy={strategy}"), &*format!("question={question}")];
        let rows = desk.rows("run/cut_questions.csv", &key);
        rows.iter().map(|row| row["findable"].clone()).collect()
    };
    assert!(there("full").iter().all(|there| there == "true"), "{:?}", there("full"));
    let pruned = there("prune");
    assert!(!pruned.is_empty() && pruned.iter().all(|there| there == "false"), "{pruned:?}");
}

#[test]
fn text_at_several_cuts_is_one_question_in_counts() {
    let desk = Desk::new();
    let added = json!({"file_path": "/w/app/src/almanac.rs", "old_string": "",
        "new_string": "fn next_low_tide() {}"});
    desk.file("s.jsonl", log("Edit", &added, "The file was updated."));
    let ran = desk.recap("questions generate s.jsonl --cuts all");
    let times = ran.out.lines().count();
    assert!(times > 1, "{}", ran.err);
    let told = format!("1 question, asked {times} times at the cuts: artifact 1");
    assert!(ran.err.contains(&told), "{}", ran.err);
    desk.good("bench s.jsonl --strategy fifo --cuts all --quiet --out run");
    let rows = desk.rows("run/cut_questions.csv", &["strategy=fifo"]);
    assert_eq!(rows.len(), times);
    let row = desk.row("run/summary.csv", &["strategy=fifo"]);
    assert_eq!(row["questions_at_cut"], "1");
    let kept = rows.iter().filter(|row| row["agreement"] == "kept");
    let share = 100.0 * kept.count() as f64 / times as f64;
    let continuity: f64 = row["continuity_at_cut"].parse().unwrap();
    assert!((continuity - share).abs() < 1e-6, "{continuity} {share}");
}
