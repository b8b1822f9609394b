//! `recap judge RUN`: stored answers before another judge. `recap judge
//! calibrate`: a judge measured on labelled answers.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::desk::{Desk, Row};
use crate::reader::reads;
use crate::server::{Act, Received, Server, chat};

/// Eight questions, each with a right answer of one model and a wrong one of
/// another.
fn cases() -> String {
    let case = |n: usize, answered_by: &str, answer: usize| {
        let (value, label) = (1_000 + n, answer == n);
        format!(
            r#"{{"id":"{n}-{answered_by}","question":"Which port does service {n} use?","expect":{{"any_of":["{value}"]}},"answer":"=It is {}.","label":{label},"answered_by":"{answered_by}"}}"#,
            1_000 + answer,
        ) + "\n"
    };
    (1..=8).map(|n| case(n, "good", n) + &case(n, "bad", n + 1)).collect()
}

#[test]
fn agreeing_judge_is_reported_by_group_with_every_answer() {
    let desk = Desk::new();
    desk.file("cases.jsonl", cases());
    let ran = desk.good("judge calibrate cases.jsonl --out out");
    for part in ["cases.jsonl · 8 questions", "good", "bad"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert_eq!(ran.err, "");
    assert_eq!(desk.list("out"), ["calibration.csv", "verdicts.csv"]);
    desk.row("out/calibration.csv", &["group=", "kappa=1", "graded=16"]);
    desk.row("out/calibration.csv", &["group=bad", "graded=8", "agreement=1"]);
    let rows = desk.csv("out/verdicts.csv");
    assert_eq!(rows.len(), 16);
    assert!(rows.iter().all(|row| row["outcome"] == "agrees" && !row["rationale"].is_empty()));
}

#[test]
fn same_seed_gives_same_bytes_others_differ() {
    let desk = Desk::new();
    desk.file("cases.jsonl", cases());
    let run = |seed: &str, out: &str, concurrency: &str| {
        let more = format!("--seed {seed} --out {out} --concurrency {concurrency}");
        let ran = desk.good(&format!("judge calibrate cases.jsonl --sample 6 {more}"));
        (ran.out, desk.read(&format!("{out}/verdicts.csv")))
    };
    let (table, verdicts) = run("1", "a", "64");
    assert_eq!((table, verdicts.clone()), run("1", "b", "1"));
    assert_ne!(verdicts, run("2", "c", "64").1);
    let rows = desk.csv("a/verdicts.csv");
    let labelled = |group: &str| rows.iter().filter(|row| row["group"] == group).count();
    assert_eq!((labelled("good"), labelled("bad")), (3, 3));
}

/// A desk with a run of one session, with questions, in `run`.
fn asked(more: &str) -> Desk {
    let desk = Desk::new();
    let bench = "bench quickstart --limit 1 --strategy full,fifo --answerer openai/reader --quiet";
    let line = format!("{bench} --out run {more}");
    let ran = desk.recap_at(&Server::start(reads).base(), &line);
    assert!([0, 3].contains(&ran.code), "{ran:?}");
    desk
}

/// What a judge is asked to grade.
fn graded(request: &Received) -> Json {
    // What comes behind it asks for another form.
    serde_json::from_str(request.body["messages"][1]["content"].as_str().unwrap()).unwrap()
}

/// Finds everything right, in the form that the prompt asks for.
fn generous(request: &Received) -> Act {
    let reply = match &graded(request)["expected"] {
        Json::Object(points) => {
            let points: serde_json::Map<String, Json> =
                points.keys().map(|point| (point.clone(), json!("yes"))).collect();
            json!({"reason": "It does.", "abstained": "no", "points": points})
        }
        Json::Array(_) => json!({"reason": "It says so.", "verdict": "correct"}),
        _ => json!({"reason": "It does not know.", "verdict": "abstained"}),
    };
    Act::chat(&reply.to_string())
}

#[test]
fn rejudging_gives_same_cells_and_leaves_run_unchanged() {
    let desk = asked("");
    let own = ["cells.jsonl", "manifest.json", "report.html", "questions.csv"];
    let read = || own.map(|name| desk.read(&format!("run/{name}")));
    let before = read();
    let ran = desk.good("judge run");
    assert!(ran.out.contains("the answers of a run that offline had graded"), "{}", ran.out);
    assert_eq!(ran.last(), " page     run-judged/report.html");
    // Nothing was replayed, which takes time.
    let mut files = desk.list("run");
    files.retain(|name| name != "times.jsonl");
    assert_eq!(desk.list("run-judged"), files);
    for name in ["cells.jsonl", "texts.jsonl", "questions.csv", "summary.csv", "references.csv"] {
        let (again, first) = (format!("run-judged/{name}"), format!("run/{name}"));
        assert_eq!(desk.read(&again), desk.read(&first), "{name}");
    }
    assert!(read() == before, "the run stays as it is");
    // A second time it takes another folder.
    assert_eq!(desk.good("judge run/").last(), " page     run-judged-2/report.html");
    // What was judged again is a run like any other.
    assert_eq!(desk.good("report run-judged").last(), " page     run-judged/report.html");
}

#[test]
fn model_only_regrades_each_distinct_answer_once() {
    let desk = asked("--cuts none");
    let server = Server::start(generous);
    let ran = desk.recap_at(&server.base(), "judge run --judge openai/m --out new");
    assert_eq!(ran.code, 0, "{ran:?}");
    let (old, new) = (desk.csv("run/questions.csv"), desk.csv("new/questions.csv"));
    assert_eq!(old.len(), new.len());
    let mut distinct = BTreeSet::new();
    for (old, new) in old.iter().zip(&new) {
        for same in ["question_id", "strategy", "question", "expected", "answer", "evidence_state"]
        {
            assert_eq!(old[same], new[same]);
        }
        assert_eq!((&*new["judge"], &*new["votes"]), ("openai/m", ""));
        distinct.insert((new["question_id"].clone(), new["answer"].clone()));
        let verdict = if new["kind"] == "abstain" { "abstained" } else { "correct" };
        assert_eq!(new["verdict"], verdict, "{new:?}");
    }
    assert_eq!(server.requests(), distinct.len());
    let calls = desk.rows("new/calls.csv", &["role=judge", "model=openai/m"]);
    assert_eq!(calls.len(), server.requests(), "beside those of the run itself");
    let manifest = desk.json("new/manifest.json");
    let roles = ["judge", "answerer"].map(|role| manifest[role].as_str().unwrap());
    assert_eq!(roles, ["openai/m", "openai/reader"]);
    let summary = desk.read("new/summary.json");
    assert!(summary.contains("recap judge calibrate FILE --judge openai/m"), "{summary}");
    assert!(!desk.read("new/cells.jsonl").contains("sk-canary"));
}

#[test]
fn panel_of_offline_judge_and_model_reports_agreement() {
    let desk = asked("");
    let server = Server::start(generous);
    let judge = "judge run --judge offline --judge openai/m --out new";
    let ran = desk.recap_at(&server.base(), judge);
    // The two contradict each other over whatever is wrong: many have no grade.
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("not answered or not graded"), "{}", ran.err);
    assert!(ran.out.contains("Panel: offline and openai/m agree on"), "{}", ran.out);
    assert!(ran.out.contains("the judges disagree: kappa 0.00"), "{}", ran.out);
    desk.row("new/questions.csv", &["votes=offline=correct; openai/m=correct"]);
    desk.row("new/questions.csv", &["votes=offline=incorrect; openai/m=correct"]);
    let summary = desk.json("new/summary.json");
    let offline = desk.csv("run/questions.csv");
    // The model finds all of it right, so that they agree where the other does.
    let score = |row: &Row| row["score"].parse::<f64>().ok();
    let scores: Vec<f64> = offline.iter().filter_map(score).collect();
    assert_eq!(summary["panel"]["both"], scores.len());
    assert_eq!(summary["panel"]["agreed"], scores.iter().filter(|score| **score >= 0.5).count());
    // What a run holds, the page that is rendered from it tells too.
    desk.good("report new");
    assert!(desk.read("new/report.html").contains("offline and openai/m agree on"));
}

#[test]
fn ungraded_answers_are_left_out_with_reason() {
    let desk = asked("");
    let server = Server::start(|request| match graded(request)["answer"].as_str() {
        Some(answer) if answer.len() % 2 == 0 => Act::json(200, &chat("", "content_filter")),
        _ => generous(request),
    });
    let ran = desk.recap_at(&server.base(), "judge run --judge openai/m");
    assert_eq!(ran.code, 3, "{ran:?}");
    let mut rows = desk.csv("run-judged/questions.csv");
    rows.retain(|row| row["answer"].trim_start_matches('\'').len() % 2 == 0);
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!((&*row["verdict"], &*row["score"]), ("unscored", ""), "{row:?}");
        assert_eq!(row["unscored_reason"], "not graded: the provider withheld the reply");
    }
}

#[test]
fn run_without_words_cannot_be_rejudged() {
    let error = asked("--no-text").refused("judge run");
    assert!(error.contains("--no-text"), "{error}");
}

#[test]
fn model_that_cannot_be_asked_leaves_nothing_behind() {
    let desk = asked("");
    let server = Server::playing(vec![Act::fault(401, "invalid_api_key", "no")]);
    let ran = desk.recap_at(&server.base(), "judge run --judge openai/m");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(desk.list("."), ["run"]);
}

#[test]
fn a_recorded_judging_costs_nothing_the_second_time() {
    let desk = asked("");
    let server = Server::start(generous);
    let judge = "judge run --judge openai/m --cassette tape";
    assert_eq!(desk.recap_at(&server.base(), &format!("{judge} --record")).code, 0);
    let requests = server.requests();
    assert_eq!(
        desk.good(&format!("{judge} --replay")).last(),
        " page     run-judged-2/report.html"
    );
    assert_eq!(server.requests(), requests);
    assert_eq!(desk.read("run-judged/questions.csv"), desk.read("run-judged-2/questions.csv"));
}
