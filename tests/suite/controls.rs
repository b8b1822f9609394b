//! The controls `id-list` and `recorded` as they ship.

use crate::common;
use crate::common::talk::{Talk, at_last, at_request, real, shown};
use recap_core::model::{Block, RecordedCompaction, RecordedTrigger};
use recap_strategy::EntryId;

#[test]
fn id_list_sends_last_20_messages_and_identifiers() {
    // 25 rows, paths in row 0 (outside the window), in row 23 and in the last.
    let mut talk =
        (0..12).fold(Talk::new(""), |talk, _| talk.user(1).says(1)).user(1).says(1).end();
    for (row, path) in [(0, "src/lost.rs"), (23, "src/kept.rs"), (25, "src/later.rs")] {
        talk.messages[row].blocks = vec![Block::Text { text: format!("See {path} for it.") }];
    }
    at_last(&talk, &real("id-list", 200_000, &[]), |session| {
        assert_eq!(shown(session), (5..25).collect::<Vec<_>>());
        let notes: Vec<&str> = session.context().notes().map(|(_, text)| text).collect();
        assert_eq!(notes, ["src/lost.rs", "src/kept.rs"]);
    });
}

#[test]
fn id_list_omits_results_with_calls_outside() {
    let talk = Talk::new("").user(1).uses("read", &[1; 10]).says(1).end();
    // 21 rows; the window would begin with row 1, a call. With 19 it begins
    // with row 2, its result.
    let plan = real("id-list", 200_000, &[("last", "19")]);
    assert_eq!(at_last(&talk, &plan, shown), (3..21).collect::<Vec<_>>());
}

/// The list of `id-list-words` at the last request, a line for each identifier.
fn listed(talk: &recap_core::model::Session, overrides: &[(&str, &str)]) -> Vec<String> {
    at_last(talk, &real("id-list-words", 200_000, overrides), |session| {
        let notes = session.context().notes();
        notes.flat_map(|(_, text)| text.lines()).map(str::to_owned).collect()
    })
}

#[test]
fn id_list_words_lists_three_rarest_identifier_neighbours() {
    let talk = Talk::new("").asks("the owner likes tea").says(1);
    let talk =
        talk.asks("the Owner moved src/lost.rs there, says Rosa, it is 42 or so").says(1).end();
    // `owner` stands in two messages and `the` in the agent's too, the others in
    // one; `it`, `is`, `or` and `so` are too short and 42 has no letter.
    assert_eq!(listed(&talk, &[]), ["src/lost.rs moved there says"]);
    let all = "src/lost.rs moved there says Rosa Owner the";
    assert_eq!(listed(&talk, &[("neighbours", "9")]), [all]);
    assert_eq!(listed(&talk, &[("neighbours", "0")]), ["src/lost.rs"]);
}

#[test]
fn id_list_words_takes_whole_words_within_150() {
    let near = |distance: usize| {
        let words = format!("outside{}src/lost.rs lost inside", " ".repeat(distance));
        listed(&Talk::new("").asks(&words).says(1).end(), &[("neighbours", "9")])
    };
    // Seven letters and 143 blanks are 150 characters.
    assert_eq!(near(143), ["src/lost.rs outside inside"]);
    assert_eq!(near(144), ["src/lost.rs inside"]);
}

#[test]
fn id_list_words_counts_past_without_repeating_lines() {
    let talk = Talk::new("").asks("a common word by src/lost.rs").says(1);
    let later = ["common common", "src/lost.rs and src/kept.rs by a common word"];
    let talk = later.iter().fold(talk, |talk, words| talk.asks(words).says(1)).end();
    // At the first message all words are equally rare. By the last, `common` is
    // in three messages, `lost` and `word` in two and `and` in one.
    let lines = listed(&talk, &[("neighbours", "2")]);
    assert_eq!(lines, ["src/lost.rs common word", "src/kept.rs and lost"]);
}

#[test]
fn id_list_words_reads_unescaped_call_arguments() {
    let mut talk = Talk::new("").user(1).uses("edit", &[1]).close();
    let Block::ToolCall { arguments, .. } = &mut talk.messages[1].blocks[0] else { panic!() };
    *arguments = serde_json::json!({ "text": "src/lost.rs\nimport\tnumpy" });
    let line = &listed(&talk, &[("neighbours", "9")])[0];
    assert!(line.contains(" import") && line.contains(" numpy"), "{line}");
    assert!(!line.contains("nimport") && !line.contains("tnumpy"), "{line}");
}

#[test]
fn recorded_clears_and_keeps_as_the_vendor_did() {
    let mut talk = Talk::new("").user(1).uses("read", &[50, 50]).close();
    let compaction = |after, kept_from, summary: Option<&str>, cleared: &[&str]| {
        let cleared = cleared.iter().map(|c| (*c).to_owned()).collect();
        let (summary, trigger) = (summary.map(str::to_owned), RecordedTrigger::Auto);
        RecordedCompaction {
            after,
            kept_from,
            summary,
            cleared,
            trigger,
            ..RecordedCompaction::default()
        }
    };
    talk.compactions =
        vec![compaction(3, 0, None, &["c1"]), compaction(6, 5, Some("They read."), &[])];
    let plan = real("recorded", 200_000, &[]);
    at_request(&talk, &plan, 2, |session| {
        let cleared = session.context().entry(EntryId::message(2)).unwrap();
        assert_eq!(cleared.text, "[Old tool result content cleared]");
        assert_eq!(common::ledger(session), "VVEVV");
    });
    at_last(&talk, &plan, |session| {
        assert_eq!(common::ledger(session), "FFFFFVV");
        let context = session.context();
        let first = context.visible().next().unwrap();
        assert_eq!(context.entry(first).unwrap().text, "They read.");
    });
}
