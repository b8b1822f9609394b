//! Whether compacting before the limit pays, as `recap bench` tells it: from the
//! files of a run.

use serde_json::Value as Json;

use crate::desk::{Desk, session};
use crate::recordings::shared;

/// The advice of a run on a session, from `summary.json`.
fn advised(desk: &Desk, more: &[&str]) -> Json {
    let input = session();
    let fixed = ["bench", &input, "--cuts", "4", "--questions", "none", "--out", "run", "-q"];
    desk.good(&[&fixed, more].concat());
    desk.json("run/summary.json")["advice"].take()
}

#[test]
fn compaction_saving_at_size_matches_rows_in_file() {
    let desk = Desk::new();
    let advice = advised(&desk, &["--strategy", "prune,continuation"]);
    assert_eq!(
        (&advice["pays"], &advice["because"]),
        (&"undecided".into(), &"few-clusters".into())
    );
    assert_eq!((&advice["advised"], &advice["followed"]), (&Json::Null, &Json::Null));
    let basis = &advice["basis"];
    assert_eq!((&basis["sessions"], &basis["cuts"]), (&1.into(), &4.into()));
    assert_saving_is_that_of_the_cuts(&desk, &advice);
}

/// The saving at each size is the mean over its rows in `cuts.csv`.
#[track_caller]
fn assert_saving_is_that_of_the_cuts(desk: &Desk, advice: &Json) {
    let strategies = advice["strategies"].as_array().unwrap();
    let names: Vec<&str> = strategies.iter().map(|one| one["strategy"].as_str().unwrap()).collect();
    assert_eq!(names, ["continuation", "prune"]);
    let rows = desk.csv("run/cuts.csv");
    for size in strategies[1]["sizes"].as_array().unwrap() {
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

/// A session of another agent, whose own compactions are recorded.
#[test]
fn advised_strategy_is_followed_and_billed_like_replay() {
    let Some(input) = shared("data/pi-sessions") else { return };
    let input = input.to_str().unwrap();
    let desk = Desk::new();
    let strategy = "anthropic-context-editing";
    let named = ["--strategy", strategy, "--strategy", "recorded", "--questions", "none", "-q"];
    let ran = desk.good(&[&["bench", input, "--out", "run"][..], &named].concat());
    let advice = desk.json("run/summary.json")["advice"].take();
    let followed = &advice["followed"];
    let usd = |of: &Json| of.as_f64().unwrap();
    assert_eq!(advice["because"], "dearer-in-the-whole", "{advice}");
    assert!(ran.out.contains("Do not compact before the limit"), "{}", ran.out);

    // The same replay by itself, and what the recorded agent sent. The model has no
    // larger limit.
    let limit = advice["basis"]["limits"]["least"].as_u64().unwrap();
    let window = followed["window"].as_u64().unwrap().min(limit).to_string();
    let alone = ["--window", &window, "--cuts", "none", "--out", "alone"];
    desk.good(&[&["replay", input][..], &named[..4], &alone, &["-q"]].concat());
    let cost = |file: &str, strategy: &str| {
        let rows = desk.csv(file);
        let row = rows.iter().find(|row| row["strategy"] == strategy).unwrap();
        row["cost_usd"].parse::<f64>().unwrap()
    };
    assert!((usd(&followed["usd"]) - cost("alone/summary.csv", strategy)).abs() < 1e-6);
    assert!((usd(&followed["today_usd"]) - cost("run/summary.csv", "recorded")).abs() < 1e-6);

    // A report that is made again says the same.
    let again = desk.good(&["report", "run"]).out;
    assert!(again.contains("Do not compact before the limit"), "{again}");
    assert_eq!(desk.json("run/summary.json")["advice"]["followed"], *followed);
}

#[test]
fn too_short_sessions_need_no_compaction_without_error() {
    let desk = Desk::with_sessions();
    desk.good(&["bench", "openai-chat.json", "--strategy", "prune", "--out", "run", "-q"]);
    let summary = desk.json("run/summary.json");
    let answer = summary["answer"]["answer"].as_str().unwrap();
    assert_eq!(summary["advice"]["because"], "no-place", "nothing was cut");
    assert!(answer.contains("so nothing has to be compacted"), "{answer}");
}

#[test]
fn offline_summaries_alone_decide_nothing() {
    let desk = Desk::new();
    let advice = advised(&desk, &["--strategy", "continuation"]);
    assert_eq!(advice["because"], "only-offline-summaries");
    let answer = advice["before_the_limit"].as_str().unwrap();
    assert!(answer.contains("every strategy here needs a model"), "{answer}");
}

#[test]
fn longer_sessions_and_recorded_places_give_no_advice() {
    let desk = Desk::new();
    assert_eq!(advised(&desk, &["--strategy", "prune", "--depth", "3"]), Json::Null);
}
