//! Nothing that people read says "1 sessions".

use serde_json::json;

use crate::desk::{Desk, message};

/// Words that end in s behind a count of one and are no plurals.
const SINGULAR: &[&str] =
    &["is", "was", "has", "does", "this", "as", "asks", "rests", "names", "scores", "×"];

/// Every "1 sessions" of a text.
fn wrong(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(' ').flat_map(|part| part.split('\n')).collect();
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let pairs = words.windows(2).filter(|pair| pair[0].trim_start_matches('(') == "1");
    let pairs = pairs.map(|pair| bare(pair[1]));
    pairs.filter(|noun| noun.ends_with('s') && !SINGULAR.contains(&noun.as_str())).collect()
}

/// What a page shows: no scripts, no styles, and no tags.
fn shown(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = ["script", "style"].iter().find_map(|tag| {
            rest.starts_with(&format!("<{tag}")).then(|| rest.find(&format!("</{tag}>")))?
        });
        let end = end.unwrap_or(0);
        rest = &rest[end..];
        rest = &rest[rest.find('>').map_or(rest.len(), |at| at + 1)..];
        // Numbers and words of neighbouring cells are no phrase.
        text.push('|');
    }
    text + rest
}

/// A data set of one session with one request, asked one question.
fn one_of_everything(desk: &Desk) {
    let messages =
        [message("1", "user", "The port is 8443."), message("2", "assistant", "Noted: 8443.")];
    let session = json!({"id": "only", "system": ["Be brief."], "messages": messages});
    let question = json!({"id": "p", "session": "only", "asked_at": 1, "kind": "fact",
        "question": "Which port?", "expect": {"any_of": ["8443"]}, "evidence": ["1"]});
    desk.data_set("one", &session, &[question]);
}

#[test]
fn run_with_one_of_everything_prints_no_plural() {
    let desk = Desk::new();
    one_of_everything(&desk);
    let gate = "--fail-on 'tokens_sent@fifo > 9k' --strategy fifo --format md,html";
    let ran = desk.recap(&format!("bench one --out run {gate}"));
    let planned = desk.good("bench one --dry-run --strategy fifo").out;
    let imported = desk.good("import native one -o copy").out;
    let checked = desk.recap("questions check one").out;
    let texts = [
        ("terminal", ran.out),
        ("progress", ran.err),
        ("report.md", desk.read("run/report.md")),
        ("report.html", shown(&desk.read("run/report.html"))),
        ("dry run", planned),
        ("import", imported),
        ("questions check", checked),
    ];
    for (name, text) in &texts {
        assert!(text.contains("1 "), "{name} counts something: {text}");
        assert_eq!(wrong(text), Vec::<String>::new(), "{name}: {text}");
    }
}

#[test]
fn the_search_for_plurals_finds_them() {
    let found = wrong("a 1 sessions b; of 1 of 1 requests, 21 cuts, 1 session is (1 cells)");
    assert_eq!(found, ["sessions", "requests", "cells"]);
    assert_eq!(shown("a<script>1 cells</script>b <td>1</td><td>cuts</td>"), "a|b |1||cuts|");
}
