//! `recap advise`: when to compact, for people and for agents.

use std::path::Path;

use serde_json::Value as Json;

use crate::desk::{Desk, session};

/// The advice on a session, as JSON and as it lies in the run folder.
fn advised(desk: &Desk, more: &[&str]) -> (Json, String) {
    let input = session();
    let fixed = ["advise", &input, "--cuts", "4", "--questions", "none", "--out", "run", "--json"];
    let ran = desk.good(&[&fixed, more].concat());
    assert_eq!(ran.out, desk.read("run/advice.json"));
    (serde_json::from_str(&ran.out).unwrap(), ran.out)
}

#[track_caller]
fn assert_valid(advice: &Json) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/advice.schema.json");
    let schema: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    if let Err(error) = schema.validate(advice) {
        panic!("{error} at {}", error.instance_path());
    }
}

#[test]
fn advice_on_one_session_is_described_valid_and_the_same_bytes_again() {
    let desk = Desk::new();
    let (advice, text) = advised(&desk, &["--strategy", "prune,continuation"]);
    assert_valid(&advice);
    assert_eq!(
        (&advice["pays"], &advice["because"]),
        (&"undecided".into(), &"few-clusters".into())
    );
    assert_eq!(advice["advised"], Json::Null);
    let basis = &advice["basis"];
    assert_eq!((&basis["sessions"], &basis["cuts"]), (&1.into(), &4.into()));
    assert_eq!(advised(&desk, &["--strategy", "prune,continuation"]).1, text);
    assert_saving_is_that_of_the_cuts(&desk, &advice);
}

/// The saving at each size is the mean over its rows in `cuts.csv`.
#[track_caller]
fn assert_saving_is_that_of_the_cuts(desk: &Desk, advice: &Json) {
    let presets = advice["presets"].as_array().unwrap();
    let names: Vec<&str> = presets.iter().map(|one| one["strategy"].as_str().unwrap()).collect();
    assert_eq!(names, ["continuation", "prune"]);
    let rows = desk.csv("run/cuts.csv");
    for size in presets[1]["sizes"].as_array().unwrap() {
        let inside = |tokens: f64| {
            (size["from"].as_f64().unwrap()..size["to"].as_f64().unwrap()).contains(&tokens)
        };
        let savings: Vec<f64> = rows
            .iter()
            .filter(|row| row["strategy"] == "prune")
            .filter(|row| inside(row["tokens_before"].parse().unwrap()))
            .map(|row| {
                let of = |column: &str| row[column].parse::<f64>().unwrap_or(0.0);
                let replayed = of("bill_without") - of("bill_with") - of("cost_usd");
                let later = of("requests_left") - of("requests");
                let acted = if of("compactions") > 0.0 { 1.0 } else { 0.0 };
                acted * (replayed + of("saved_per_request_usd") * later)
            })
            .collect();
        assert!(!savings.is_empty(), "{size}");
        let mean = savings.iter().sum::<f64>() / savings.len() as f64;
        assert!((size["saving_usd"]["value"].as_f64().unwrap() - mean).abs() < 1e-6, "{size}");
    }
}

#[test]
fn people_get_a_paragraph_two_tables_and_a_page() {
    let desk = Desk::new();
    let fixed = ["advise", &session(), "--cuts", "3", "--strategy", "prune", "--out", "run"];
    let ran = desk.good(&[&fixed[..], &["--questions", "none", "--quiet"]].concat());
    assert!(ran.out.starts_with("Too few sessions or projects"), "{}", ran.out);
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in ["prune by size of the context", "even after", "This rests on 3 cuts"] {
        assert!(words.contains(said), "{said} is missing in\n{}", ran.out);
    }
    assert_eq!(ran.last(), "advice: run/advice.html");
    let page = desk.read("run/advice.html");
    assert!(page.contains("Whether compacting pays here stays open") && page.contains("<svg"));
    // Another run in the folder takes the advice away with the rest.
    desk.good(&[
        "bench",
        &session(),
        "--strategy",
        "prune",
        "--cuts",
        "none",
        "--out",
        "run",
        "-q",
    ]);
    assert!(!desk.path("run/advice.html").exists() && !desk.path("run/advice.json").exists());
}

#[test]
fn sessions_too_short_for_a_compaction_need_none_and_are_no_error() {
    let desk = Desk::with_sessions();
    let ran = desk.good(&["advise", "openai-chat.json", "--strategy", "prune", "--json"]);
    let advice: Json = serde_json::from_str(&ran.out).unwrap();
    assert_valid(&advice);
    assert_eq!((&advice["pays"], &advice["because"]), (&"no".into(), &"no-place".into()));
    let answer = advice["answer"].as_str().unwrap();
    assert!(answer.starts_with("Nothing here calls for compacting: none of 1 session"), "{answer}");
    let why = advice["basis"]["not_cut"][0][0].as_str().unwrap();
    assert!(why.contains("a cut needs 5 requests"), "{why}");
}

#[test]
fn stand_ins_alone_decide_nothing() {
    let desk = Desk::new();
    let (advice, _) = advised(&desk, &["--strategy", "continuation"]);
    assert_valid(&advice);
    assert_eq!(advice["because"], "only-stand-ins");
    let answer = advice["answer"].as_str().unwrap();
    assert!(answer.contains("an offline stand-in wrote them"), "{answer}");
}

#[test]
fn advice_needs_compactions_at_every_size() {
    let desk = Desk::new();
    for cuts in ["none", "recorded", "0"] {
        let error = desk.refused(&["advise", &session(), "--cuts", cuts]);
        assert!(error.contains("contexts of every size"), "{error}");
    }
    let refused = desk.refused(&["advise", &session(), "--questions", "openai/gpt-5.4"]);
    assert!(refused.contains("recap probes generate"), "{refused}");
}
