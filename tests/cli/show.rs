//! `recap show`: the exact context of one request, and that after a cut.

use crate::desk::{Desk, message, session};

/// What `show` prints below its last headline.
fn differences(out: &str) -> &str {
    out.split_once(" differences from the whole conversation\n").expect("the headline is there").1
}

fn show(arguments: &[&str]) -> String {
    Desk::with_sessions().good(&[&["show"], arguments].concat()).out
}

#[test]
fn request_context_is_printed_message_by_message() {
    let out = show(&["pi.jsonl", "--strategy", "full", "--request", "1"]);
    // Its model has no limit in the price list.
    assert!(out.contains("pi · full · window native (200000 tokens)"), "{out}");
    assert!(out.contains("request 1 of 4"), "{out}");
    for text in ["Which port does the label printer use?", "grep -rn port", "port = 9137"] {
        assert!(out.contains(text), "{text}\n{out}");
    }
    assert!(!out.contains("Restart that queue"), "what came later is not sent\n{out}");
    assert_eq!(differences(&out), " none: every message is sent as recorded\n");
}

#[test]
fn the_last_request_is_the_default() {
    let last = show(&["pi.jsonl", "--strategy", "full"]);
    assert_eq!(last, show(&["pi.jsonl", "--strategy", "full", "--request", "3"]));
    assert!(last.contains("request 3 of 4"), "{last}");
}

#[test]
fn edited_folded_and_gone_messages_are_told_apart() {
    for (strategy, word) in
        [("prune", "edited"), ("chunked-summary", "summarised"), ("fifo", "gone")]
    {
        let out = show(&[&session(), "--strategy", strategy, "--request", "44", "--diff"]);
        let lines: Vec<&str> = differences(&out).lines().skip(1).collect();
        assert!(lines.len() > 20, "{strategy}: {out}");
        let first: Vec<&str> = lines.iter().filter_map(|l| l.split_whitespace().next()).collect();
        assert!(first.iter().all(|w| *w == word), "{strategy}: {first:?}");
    }
}

#[test]
fn diff_omits_what_is_sent_as_recorded() {
    let session = session();
    let options = [session.as_str(), "--strategy", "prune", "--request", "44"];
    let whole = show(&options);
    let diff = show(&[&options[..], &["--diff"]].concat());
    assert!(whole.len() > 3 * diff.len());
    assert_eq!(differences(&whole), differences(&diff));
    assert!(whole.contains("[Old tool result cleared]") && !diff.contains("\n=== "));
}

#[test]
fn one_of_several_sessions_must_be_named() {
    let desk = Desk::with_sessions();
    let error = desk.refused(&["show", ".", "--strategy", "full"]);
    assert!(error.contains("--session") && error.contains("pi"), "{error}");
    let wrong = ["show", ".", "--strategy", "full", "--session", "p2"];
    assert!(desk.refused(&wrong).contains("`p2`"));
    let named = desk.good(&["show", ".", "--strategy", "full", "--session", "pi"]);
    assert!(named.out.contains("label printer"));
}

/// A session of the bundled data, cut at five places.
const CUT: [&str; 5] = ["show", "quickstart", "--session", "parcel-service", "--cut"];

fn show_cut(arguments: &[&str]) -> String {
    Desk::new().good(&[&CUT, arguments].concat()).out
}

/// What it prints of the facts that the agent needed.
fn stakes(out: &str) -> &str {
    out.split_once(" facts that the agent needed\n").expect("the headline is there").1
}

/// Without the ends of lines that a width made.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
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
    let small = ["--limit", "1", "--depth", "1", "--strategy", "claude-code", "--out", "run"];
    desk.good(&[&["replay", "quickstart", "--quiet"], &small[..]].concat());
    let rows = desk.csv("run/cuts.csv");
    let rows: Vec<_> = rows.iter().filter(|row| row["strategy"] == "claude-code").collect();
    assert_eq!(rows.len(), 5);
    let out = desk.good(&[&CUT[..], &["4", "--strategy", "claude-code"]].concat()).out;
    let row = rows[3];
    let head = format!("claude-code · cut 4 of 5, depth 1 · request {} of 169", row["cut"]);
    assert!(out.contains(&head), "{out}");
    let sent = format!(
        "sent right after the cut: {} tokens in 1 message at a window of",
        row["tokens_after"]
    );
    assert!(
        out.replace(',', "").contains(&sent) && out.contains("written by the strategy · "),
        "{out}"
    );
    assert!(!differences(&out).starts_with(" none"), "{out}");
    for state in ["verbatim", "carried", "bare", "partial", "lost", "recovered"] {
        assert_eq!(in_state(&out, state).to_string(), row[state], "{state}\n{out}");
    }
    let facts = desk.csv("run/facts.csv");
    let own = facts.iter().filter(|fact| fact["strategy"] == "claude-code");
    let own: Vec<_> = own.filter(|fact| fact["cut"] == row["cut"]).collect();
    assert_eq!(own.len().to_string(), row["facts"]);
    for fact in own {
        let (name, request) = (&fact["fact"], &fact["request"]);
        let line = format!(" - {name} · {} · used by request {request}, number", fact["class"]);
        assert!(in_one_line(stakes(&out)).contains(&line), "{line}\n{out}");
    }
}

#[test]
fn lost_facts_come_first_with_source_then_carried() {
    let out = show_cut(&["2", "--strategy", "claude-code", "--diff"]);
    assert!(!out.contains("\n=== "), "{out}");
    let (lost, carried) = stakes(&out).split_once("\n carried (").expect("both are there");
    assert!(lost.contains("\n lost (") && !carried.contains("\n lost ("), "{out}");
    let (lost, carried) = (in_one_line(lost), in_one_line(carried));
    assert!(lost.contains("; last stood in m0") && lost.contains(" tokens before the cut: \""));
    let (fact, written) = carried.split_once("; written: \"").expect("the words are there");
    let name = fact.split(" - ").nth(1).unwrap().split(" · ").next().unwrap();
    assert!(written.split("\" - ").next().unwrap().contains(name), "{name}: {written}");
}

#[test]
fn no_summary_variant_carries_nothing_model_would_write() {
    let out = show_cut(&["3", "--strategy", "no-summary:claude-code", "--diff"]);
    assert!(out.contains("parcel-service · no-summary:claude-code · cut 3 of 5"), "{out}");
    assert_eq!(in_state(&out, "carried"), 0, "{out}");
    assert!(in_state(&out, "lost") > 0, "{out}");
}

#[test]
fn long_session_is_cut_at_smaller_window() {
    let window = |depth: &str| -> u64 {
        let out = show_cut(&["3", "--strategy", "fifo", "--depth", depth, "--diff"]);
        let out = out.replace(',', "");
        let rest = out.split_once("at a window of ").unwrap().1;
        rest.split_once(' ').unwrap().0.parse().unwrap()
    };
    assert!(window("3") < window("1") / 2);
}

#[test]
fn context_of_request_that_uses_a_fact_is_shown() {
    let context = |more: &[&str]| {
        let out = show_cut(&[&["4", "--strategy", "fifo"], more].concat());
        let (facts, context) = out.split_once(" the context of request ").unwrap();
        let first = facts.split_once("· request ").unwrap().1.split_once(' ').unwrap().0;
        (first.parse::<u32>().unwrap(), context.to_owned())
    };
    let (first, right_after) = context(&[]);
    assert!(right_after.starts_with(&format!("{first}\n")), "{right_after}");
    let later = (first + 5).to_string();
    let (_, behind) = context(&["--request", &later]);
    assert!(behind.starts_with(&format!("{later}\n")) && behind.len() != right_after.len());
    let desk = Desk::new();
    let refused = |request: u32| {
        let request = request.to_string();
        desk.refused(&[&CUT[..], &["4", "--strategy", "fifo", "--request", &request]].concat())
    };
    let before = format!("request {} is not looked at after this cut", first - 1);
    assert!(refused(first - 1).contains(&before));
    assert!(refused(first + 40).contains(&format!("--request takes {first} to ")));
}

#[test]
fn absent_cut_is_refused_with_reason() {
    let desk = Desk::with_sessions();
    let refused = |more: &[&str]| desk.refused(&[&CUT[..], more, &["--strategy", "fifo"]].concat());
    for number in ["0", "6"] {
        let actual =
            format!("cut {number} is not there: the session has 5 cuts at depth 1, from 1");
        assert!(refused(&[number]).contains(&actual));
    }
    let recorded = refused(&["1", "--cuts", "recorded"]);
    assert!(recorded.contains("has no cut: the recorded agent never compacted"), "{recorded}");
    assert!(refused(&["1", "--cuts", "none"]).contains("`--cuts none` leaves no cut"));
    let small = desk.refused(&["show", "pi.jsonl", "--strategy", "fifo", "--cut", "1"]);
    assert!(small.contains("the session has no cut: ") && small.len() > 60, "{small}");
    let without_summary =
        desk.refused(&["show", "pi.jsonl", "--strategy", "no-summary:fifo", "--cut", "1"]);
    assert!(without_summary.contains("no model writes text for `fifo`"), "{without_summary}");
    let without_summary = desk.refused(&["show", "pi.jsonl", "--strategy", "no-summary:lis"]);
    assert!(
        without_summary.contains("can be shown after a cut only")
            && without_summary.contains("add --cut 1"),
        "{without_summary}"
    );
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
    let at = |request: &str| {
        let lis = ["show", "talk.jsonl", "--strategy", "lis", "--window", "10000", "--no-scale"];
        desk.good(&[&lis[..], &["--request", request]].concat()).out
    };
    // The first request is above 80 % of the budget; the user is back after 75 seconds.
    assert!(!at("0").contains("told to the user"), "{}", at("0"));
    let told = at("1");
    let (_, notices) = told.split_once("told to the user by then").expect(&told);
    assert!(notices.contains("⚙️ Compacted (9k → ") && notices.contains("/10k ("), "{notices}");
}
