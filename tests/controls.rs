//! The controls `id-list` and `recorded` as they ship.

mod common;

use common::talk::{Talk, at_last, at_request, real, shown};
use recap::model::{Block, RecordedCompaction, RecordedTrigger};
use recap::strategy::EntryId;

#[test]
fn id_list_sends_the_last_20_messages_and_every_identifier_seen_so_far() {
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
fn id_list_leaves_out_results_whose_call_is_outside() {
    let talk = Talk::new("").user(1).uses("read", &[1; 10]).says(1).end();
    // 21 rows; the window would begin with row 1, a call. With 19 it begins
    // with row 2, its result.
    let plan = real("id-list", 200_000, &[("last", "19")]);
    assert_eq!(at_last(&talk, &plan, shown), (3..21).collect::<Vec<_>>());
}

#[test]
fn recorded_clears_as_the_vendor_did_and_keeps_what_its_boundary_kept() {
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

#[test]
fn recorded_drops_what_a_boundary_without_summary_leaves_behind() {
    let mut talk = Talk::new("").user(1).says(1).user(1).says(1).end();
    talk.compactions = vec![RecordedCompaction {
        after: 2,
        kept_from: 1,
        summary: None,
        cleared: Vec::new(),
        trigger: RecordedTrigger::Unknown,
        ..RecordedCompaction::default()
    }];
    assert_eq!(at_last(&talk, &real("recorded", 200_000, &[]), common::ledger), ".VV");
}
