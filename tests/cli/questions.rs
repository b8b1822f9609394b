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
    // The sentence tells the same counts: that of nothing, though each was right in
    // the context that was refused.
    let actual = desk.good(&["report", "run", "--wide"]).out;
    let said = actual.split_whitespace().collect::<Vec<_>>().join(" ");
    let prune =
        summary["questions"].as_array().unwrap().iter().find(|of| of["strategy"] == "prune");
    let of = &prune.unwrap()["kinds"]["artifact"];
    let sentence = format!("{} of {} questions about files and commands", of["kept"], of["full"]);
    assert!(of["kept"] == 0 && said.contains(&sentence), "{sentence}: {said}");
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
        assert!(!row["expected"].is_empty() && !row["pre_answer"].is_empty(), "{row:?}");
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
    let listed = page.split("id=\"cut-questions\"").nth(1).expect("the section");
    assert!(listed.contains("cut_questions.csv") && listed.contains("<td>"), "{}", &listed[..200]);
    desk.good(&["bench", &session(), "--strategy", "fifo", "--no-text", "--out", "bare"]);
    let bare = desk.csv("bare/cut_questions.csv");
    let words = ["question", "expected", "answer", "pre_answer", "rationale"];
    assert!(!bare.is_empty());
    assert!(bare.iter().all(|row| words.iter().all(|word| row[*word].is_empty())), "{:?}", bare[0]);
    assert!(!desk.read("bare/report.html").contains("id=\"cut-questions\""));
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
    let variables = [("OPENAI_BASE_URL", base.as_str()), ("OPENAI_API_KEY", "sk-canary-4471")];
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
    let bench = |how: &[&str]| desk.recap_with(&variables, &[&what[..], how].concat());

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
    let variables = [("OPENAI_BASE_URL", base.as_str()), ("OPENAI_API_KEY", "sk-canary-4471")];
    let generate = ["questions", "generate", &session, "--model", "openai/gpt-5.4"];
    let ran = desk.recap_with(&variables, &[&generate[..], &["--max-cost", "0.01"]].concat());
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
    let variables = [("OPENAI_BASE_URL", base.as_str()), ("OPENAI_API_KEY", "sk-canary-4471")];
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
    let ran = desk.recap_with(&variables, &arguments);
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
    let row = |kind: &str| {
        let line = checked.out.lines().rfind(|line| line.starts_with(kind));
        line.unwrap_or_else(|| panic!("{kind}: {checked:?}")).to_owned()
    };
    let figures = |kind| row(kind).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(row("abstain").split_whitespace().nth(2), Some("–"), "to know nothing is right");
    assert_eq!(figures("all but abstain")[3..7], ["12", "0.00", "0.92", "0.92"]);
}
