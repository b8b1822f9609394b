//! `recap show`: the exact context of one request, and that after a cut.

use crate::desk::{Desk, flat, message};

/// What `show` prints below its last headline.
fn differences(out: &str) -> &str {
    out.split_once(" differences from the whole conversation\n").expect("the headline is there").1
}

/// A session of the bundled data, cut at five places.
const CUT: &str = "show quickstart --session parcel-service --cut";

fn show_cut(arguments: &str) -> String {
    Desk::new().good(&format!("{CUT} {arguments}")).out
}

/// What it prints of the facts that the agent needed.
fn stakes(out: &str) -> &str {
    out.split_once(" facts that the agent needed\n").expect("the headline is there").1
}

/// Facts in a state, as printed.
fn in_state(out: &str, state: &str) -> usize {
    let head = format!(" {state} (");
    let line = stakes(out).lines().find_map(|line| line.strip_prefix(&head));
    line.map_or(0, |rest| rest.split_once(')').unwrap().0.parse().unwrap())
}

#[test]
fn cut_shows_context_and_facts_as_bench_does() {
    let desk = Desk::new();
    desk.good("replay quickstart --quiet --limit 1 --depth 1 --strategy claude-code --out run");
    let rows = desk.rows("run/cuts.csv", &["strategy=claude-code"]);
    assert_eq!(rows.len(), 5);
    let out = show_cut("4 --strategy claude-code");
    let row = &rows[3];
    let head = format!("claude-code · cut 4 of 5, depth 1 · request {} of 169", row["cut"]);
    assert!(out.contains(&head), "{out}");
    let sent = row["tokens_after"].to_owned() + " tokens in 1 message at a window of";
    assert!(out.replace(',', "").contains(&format!("sent right after the cut: {sent}")), "{out}");
    assert!(out.contains("written by the strategy · "), "{out}");
    assert!(!differences(&out).starts_with(" none"), "{out}");
    for state in ["verbatim", "carried", "bare", "partial", "lost", "recovered"] {
        assert_eq!(in_state(&out, state).to_string(), row[state], "{state}\n{out}");
    }
    let own = desk.rows("run/facts.csv", &["strategy=claude-code", &format!("cut={}", row["cut"])]);
    assert_eq!(own.len().to_string(), row["facts"]);
    for fact in own {
        let (name, request) = (&fact["fact"], &fact["request"]);
        let line = format!(" - {name} · {} · used by request {request}, number", fact["class"]);
        assert!(flat(stakes(&out)).contains(&line), "{line}\n{out}");
    }
}

#[test]
fn long_session_is_cut_at_smaller_window() {
    let window = |depth: &str| -> u64 {
        let out = show_cut(&format!("3 --strategy fifo --diff --depth {depth}"));
        let out = out.replace(',', "");
        let rest = out.split_once("at a window of ").unwrap().1;
        rest.split_once(' ').unwrap().0.parse().unwrap()
    };
    assert!(window("3") < window("1") / 2);
}

#[test]
fn context_of_request_that_uses_a_fact_is_shown() {
    let context = |more: &str| {
        let out = show_cut(&format!("4 --strategy fifo {more}"));
        let (facts, context) = out.split_once(" the context of request ").unwrap();
        let first = facts.split_once("· request ").unwrap().1.split_once(' ').unwrap().0;
        (first.parse::<u32>().unwrap(), context.to_owned())
    };
    let (first, right_after) = context("");
    assert!(right_after.starts_with(&format!("{first}\n")), "{right_after}");
    let later = first + 5;
    let (_, behind) = context(&format!("--request {later}"));
    assert!(behind.starts_with(&format!("{later}\n")) && behind.len() != right_after.len());
    let desk = Desk::new();
    let refused =
        |request: u32| desk.refused(&format!("{CUT} 4 --strategy fifo --request {request}"));
    let before = format!("request {} is not looked at after this cut", first - 1);
    assert!(refused(first - 1).contains(&before));
    assert!(refused(first + 40).contains(&format!("--request takes {first} to ")));
}

/// Seed 002: LIS_COMPACTION_NOTIFY, notify user on compaction events
#[test]
fn what_a_strategy_told_the_user_is_shown_from_then_on() {
    let desk = Desk::new();
    let said = |(at, tokens): (usize, usize)| {
        let text = vec!["a"; tokens].join(" ");
        message(&format!("m{at}"), ["user", "assistant"][at % 2], &text)
    };
    let messages: Vec<_> = (0..).zip([9_000, 10, 10, 10]).map(said).collect();
    desk.file("talk.jsonl", format!("{}\n", serde_json::json!({"id": "t", "messages": messages})));
    let show = "show talk.jsonl --strategy lis --window 10000 --no-scale --request";
    let at = |request: u32| desk.good(&format!("{show} {request}")).out;
    // The first request is above 80 % of the budget; the user is back after 75 seconds.
    assert!(!at(0).contains("told to the user"), "{}", at(0));
    let told = at(1);
    let (_, notices) = told.split_once("told to the user by then").expect(&told);
    assert!(notices.contains("⚙️ Compacted (9k → ") && notices.contains("/10k ("), "{notices}");
}
