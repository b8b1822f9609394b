//! Answers that say they do not know.

/// Words of an answer that does not know, in lower case, spaces single.
const REFUSALS: &[&str] = &[
    "i don't know",
    "i do not know",
    "don't know",
    "do not know",
    "doesn't know",
    "not known",
    "unknown",
    "no idea",
    "not sure",
    "unsure",
    "no information",
    "no mention",
    "no record",
    "no evidence",
    "no details",
    "no specific",
    "not mention",
    "n't mention",
    "never mention",
    "not specif",
    "n't specif",
    "not provid",
    "n't provid",
    "not state",
    "n't state",
    "not discuss",
    "n't discuss",
    "not includ",
    "n't includ",
    "not given",
    "not available",
    "not contain",
    "n't contain",
    "not indicat",
    "n't indicat",
    "not enough information",
    "insufficient information",
    "cannot determine",
    "can't determine",
    "cannot be determined",
    "can't tell",
    "cannot tell",
    "can't say",
    "cannot say",
    "can't find",
    "cannot find",
    "couldn't find",
    "could not find",
    "cannot answer",
    "can't answer",
    "unable to",
    "don't have",
    "do not have",
    "don't recall",
    "do not recall",
    "can't recall",
    "cannot recall",
    "don't remember",
    "do not remember",
    "can't remember",
    "don't see",
    "do not see",
    "never said",
    "never told",
    "wasn't said",
    "was not said",
    "n/a",
    "unanswerable",
];

/// Words that lead from not knowing to a guess.
const GUESSES: &[&str] = &[
    "but it ",
    "but i think",
    "but i believe",
    "but probably",
    "but likely",
    "but she ",
    "but he ",
    "but they ",
    "probably",
    "most likely",
    "it is likely",
    "it's likely",
    "my guess",
    "i guess",
    "i'd guess",
    "i would guess",
    "best guess",
    "if i had to",
    "i think it",
    "i believe it",
    "perhaps",
    "however, it ",
    "however, she ",
    "however, he ",
    "however, they ",
];

/// Whether an answer says that it does not know, and asserts nothing beside.
/// A guess after it is an assertion.
pub(super) fn abstains(answer: &str) -> bool {
    let text = plain(answer);
    refuses(&text) && !GUESSES.iter().any(|guess| text.contains(guess)) && !asserts(&text)
}

fn plain(answer: &str) -> String {
    let lower = answer.to_lowercase().replace('’', "'");
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn refuses(text: &str) -> bool {
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    matches!(bare, "none" | "nothing" | "idk")
        || REFUSALS.iter().any(|refusal| text.contains(refusal))
}

/// Whether it asserts first and doubts later: what stands before the first
/// refusal is a sentence of its own without any doubt.
fn asserts(text: &str) -> bool {
    let first = REFUSALS.iter().filter_map(|refusal| text.find(refusal)).min().unwrap_or(0);
    let before = &text[..first];
    let Some(end) = before.rfind(['.', '!', '?', ';']) else { return false };
    let sentence = before[..end].trim();
    let fillers = [
        "sorry",
        "i'm sorry",
        "thank",
        "good question",
        "great question",
        "hello",
        "hmm",
        "no",
        "well",
        "unfortunately",
    ];
    sentence.contains(char::is_alphanumeric)
        && !fillers.iter().any(|filler| sentence.starts_with(filler))
}
