//! Words by which the offline compactor classifies sentences, such as decisions
//! and plans.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// The apparent purpose of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Cue {
    Preference,
    Decision,
    Problem,
    Done,
    Plan,
    Definition,
}

/// The words for each cue, separated by bars.
const CUES: [(Cue, &str); 6] = [
    (
        Cue::Preference,
        "prefer|prefers|please|don't|do not|always|never|i like|i want|i'd like|\
        i would like|make sure|must|must not|instead of|avoid|ensure",
    ),
    (
        Cue::Decision,
        "decided|decide|decision|chose|choose|will use|going with|let's use|agreed|\
        settled on|switch to|switched to|concluded|we use|should use",
    ),
    (
        Cue::Problem,
        "error|errors|failed|fails|failing|failure|panicked|exception|traceback|\
        cannot|can't|not found|denied|undefined|bug|broken|root cause|because|wrong|\
        missing|conflict|timeout",
    ),
    (
        Cue::Done,
        "done|fixed|added|implemented|created|updated|completed|removed|renamed|\
        moved|now works|passes|passed|finished|refactored|wrote|changed|merged|\
        committed|installed|resolved|pushed",
    ),
    (
        Cue::Plan,
        "next|todo|will|need to|needs to|plan to|going to|remaining|still have to|\
        i'll|let me|let's|should",
    ),
    (
        Cue::Definition,
        "is a|is an|is the|are the|means|is called|refers to|stands for|known as|\
        works by|consists of",
    ),
];

struct Finder {
    automaton: AhoCorasick,
    cues: Vec<Cue>,
}

static FINDER: LazyLock<Finder> = LazyLock::new(|| {
    let all = || CUES.iter().flat_map(|(cue, words)| words.split('|').map(|word| (*cue, word)));
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(all().map(|(_, word)| word))
        .expect("the cues are few and short");
    Finder { automaton, cues: all().map(|(cue, _)| cue).collect() }
});

/// A function that returns whether the text contains a cue as whole words.
pub(super) fn cues(text: &str) -> impl Fn(Cue) -> bool {
    let mut found = [false; CUES.len()];
    let bytes = text.as_bytes();
    let is_word = |at: Option<&u8>| at.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    for hit in FINDER.automaton.find_overlapping_iter(text) {
        let before = hit.start().checked_sub(1).and_then(|at| bytes.get(at));
        if !is_word(before) && !is_word(bytes.get(hit.end())) {
            found[FINDER.cues[hit.pattern().as_usize()] as usize] = true;
        }
    }
    move |cue| found[cue as usize]
}
