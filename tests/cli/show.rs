//! `recap show`: the exact context of one request.

use crate::desk::{Desk, session};

/// What `show` prints below its last headline.
fn differences(out: &str) -> &str {
    out.split_once("--- differs from the whole conversation\n").expect("the headline is there").1
}

fn show(arguments: &[&str]) -> String {
    Desk::with_sessions().good(&[&["show"], arguments].concat()).out
}

#[test]
fn the_context_of_a_request_is_printed_message_by_message() {
    let out = show(&["pi.jsonl", "--strategy", "full", "--request", "1"]);
    // Its model has no limit in the price list.
    assert!(out.contains("pi · full · window native (200000 tokens)"), "{out}");
    assert!(out.contains("request 1 of 4"), "{out}");
    for text in ["Which port does the label printer use?", "grep -rn port", "port = 9137"] {
        assert!(out.contains(text), "{text}\n{out}");
    }
    assert!(!out.contains("Restart that queue"), "what came later is not sent\n{out}");
    assert_eq!(differences(&out), "nothing: every message is sent as recorded\n");
}

#[test]
fn the_last_request_is_the_default() {
    let last = show(&["pi.jsonl", "--strategy", "full"]);
    assert_eq!(last, show(&["pi.jsonl", "--strategy", "full", "--request", "3"]));
    assert!(last.contains("request 3 of 4"), "{last}");
}

#[test]
fn edited_folded_and_gone_messages_are_told_apart() {
    for (strategy, word) in [("prune", "edited"), ("chunked-summary", "folded"), ("fifo", "gone")] {
        let out = show(&[&session(), "--strategy", strategy, "--request", "44", "--diff"]);
        let lines: Vec<&str> = differences(&out).lines().collect();
        assert!(lines.len() > 20, "{strategy}: {out}");
        let first: Vec<&str> = lines.iter().filter_map(|l| l.split_whitespace().next()).collect();
        assert!(first.iter().all(|w| *w == word), "{strategy}: {first:?}");
    }
}

#[test]
fn a_diff_leaves_out_what_is_sent_as_recorded() {
    let session = session();
    let options = [session.as_str(), "--strategy", "prune", "--request", "44"];
    let whole = show(&options);
    let diff = show(&[&options[..], &["--diff"]].concat());
    assert!(whole.len() > 3 * diff.len());
    assert_eq!(differences(&whole), differences(&diff));
    assert!(whole.contains("[Old tool result cleared]") && !diff.contains("\n=== "));
}

#[test]
fn a_request_that_is_not_there_is_refused() {
    let desk = Desk::with_sessions();
    let error = desk.refused(&["show", "pi.jsonl", "--strategy", "full", "--request", "4"]);
    assert!(error.contains("request 4 is not there: the session has 4, from 0"), "{error}");
}

#[test]
fn one_of_several_transcripts_must_be_named() {
    let desk = Desk::with_sessions();
    let error = desk.refused(&["show", ".", "--strategy", "full"]);
    assert!(error.contains("--transcript") && error.contains("pi"), "{error}");
    let wrong = ["show", ".", "--strategy", "full", "--transcript", "p2"];
    assert!(desk.refused(&wrong).contains("`p2`"));
    let named = desk.good(&["show", ".", "--strategy", "full", "--transcript", "pi"]);
    assert!(named.out.contains("label printer"));
}

#[test]
fn an_unknown_strategy_is_refused() {
    let error = Desk::with_sessions().refused(&["show", "pi.jsonl", "--strategy", "nothing"]);
    assert!(error.contains("`nothing`") && error.contains("prune"), "{error}");
}
