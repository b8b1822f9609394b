//! Recognises answers that say that the answer is unknown.

/// Phrases for not knowing, in lower case, with single spaces, separated by
/// bars.
const REFUSALS: &str = "don't know|do not know|doesn't know|not known|unknown|no idea|not sure|\
    unsure|no information|no mention|no record|no evidence|no details|no specific|not mention|\
    n't mention|never mention|not specif|n't specif|not provid|n't provid|not state|n't state|\
    not discuss|n't discuss|not includ|n't includ|not given|not available|not contain|n't contain|\
    not indicat|n't indicat|not enough information|insufficient information|cannot determine|\
    can't determine|cannot be determined|can't tell|cannot tell|can't say|cannot say|can't find|\
    cannot find|couldn't find|could not find|cannot answer|can't answer|unable to|don't have|\
    do not have|don't recall|do not recall|can't recall|cannot recall|don't remember|\
    do not remember|can't remember|don't see|do not see|never said|never told|wasn't said|\
    was not said|n/a|unanswerable";

/// Phrases between not knowing and a guess.
const GUESSES: &str = "but it |but she |but he |but they |probably|likely|guess|i think|\
    i believe|if i had to|perhaps|however, ";

/// Whether an answer says that it does not know, and makes no guess.
pub(super) fn abstains(answer: &str) -> bool {
    let lower = answer.to_lowercase().replace('’', "'");
    let text = lower.split_whitespace().collect::<Vec<_>>().join(" ");
    let has = |list: &str| list.split('|').any(|words| text.contains(words));
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    (matches!(bare, "none" | "nothing" | "idk") || has(REFUSALS)) && !has(GUESSES)
}
