//! Counts on real recordings, which are not part of the repository.

use std::path::PathBuf;

use recap::dataset::{Dataset, LoadOptions, load};
use recap::model::{RecordedTrigger, Transcript};

fn data(name: &str) -> Option<Dataset> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(name);
    if !path.exists() {
        eprintln!("skipped: ../shared/data is absent");
        return None;
    }
    match load(&path, &LoadOptions::default()) {
        Ok(dataset) => Some(dataset),
        Err(e) => panic!("{e}\nhelp: {}", e.help()),
    }
}

fn results(transcript: &Transcript) -> usize {
    let messages = transcript.messages.iter();
    messages.filter(|m| m.tool_result().is_some()).count()
}

#[test]
fn claude_code_sessions_keep_every_result_and_compaction() {
    let Some(dataset) = data("claude-code-sessions") else {
        return;
    };
    use RecordedTrigger::{Auto, Manual};
    // One response of 1e0816ef was rewound (its text is not in the file), and
    // vibecodingtracker holds one result twice: a resumed session copied it.
    // File, tool results, requests, compactions (trigger, tokens before).
    type Row = (&'static str, usize, usize, Vec<(RecordedTrigger, u64)>);
    let expected: Vec<Row> = vec![
        ("1284c080", 248, 258, vec![(Auto, 167_471), (Auto, 167_448)]),
        ("1e0816ef", 207, 203, vec![(Auto, 167_979), (Manual, 149_025)]),
        ("67d765b5", 61, 61, vec![(Manual, 163_509)]),
        ("53ea1606", 85, 50, vec![(Auto, 174_247)]),
        ("3ae3ab59", 87, 76, vec![(Auto, 171_646)]),
        ("4f8c1176", 72, 58, vec![(Auto, 167_361)]),
        ("e37675fd", 40, 21, vec![]),
        ("0cd9edf7", 55, 57, vec![(Auto, 58_573)]),
        ("cde341db", 66, 66, vec![]),
        ("ae68c513", 41, 30, vec![]),
        ("6da7d497", 3, 6, vec![]),
        ("agentcmd-full-session-four", 27, 30, vec![]),
        ("agentcmd-full-session-two", 10, 11, vec![]),
        ("vibecodingtracker", 31, 32, vec![]),
    ];
    for (id, tool_results, requests, compactions) in expected {
        let found = dataset.transcripts.iter().find(|t| t.id.starts_with(id));
        let transcript = found.unwrap_or_else(|| panic!("no transcript {id}"));
        assert_eq!(results(transcript), tool_results, "results of {id}");
        assert_eq!(transcript.requests().count(), requests, "requests of {id}");
        let made: Vec<_> = transcript
            .compactions
            .iter()
            .map(|c| (c.trigger, c.tokens_before.unwrap_or(0)))
            .collect();
        assert_eq!(made, compactions, "compactions of {id}");
    }
}
