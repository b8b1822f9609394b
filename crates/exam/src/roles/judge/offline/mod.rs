//! The judge without a model, which compares words and numbers.
//!
//! It is strict: an answer is right only if it states the expected value. An answer in
//! other words is graded wrong; the judge's error against human labels is measured in
//! `tests/suite/judge_real.rs`.

mod reading;
mod search;

use async_trait::async_trait;

pub use search::{Haystack, Sought};

use super::{Grading, Judge};
use reading::read;
use recap_core::model::{Expectation, Judgement, NoGrade, QuestionKind, Source, Verdict};
use recap_core::text::language::is_in;
use search::{Question, Search, Share, polarity};

/// The judge without a model. It applies these rules, in this order:
///
/// 1. A rubric, a tone or a shared concept needs a model: unscored.
/// 2. An empty answer is wrong.
/// 3. If the answer cannot be known, only saying so is right.
/// 4. Yes or no must be at the beginning.
/// 5. Any other answer is right if it states one alternative: every number (dates by
///    the numbers of day, month and year), all of one or two words and most of more,
///    near each other in a long text, or the first name and the surname of a person.
///    Words of the question need not be repeated, and text in parentheses is not
///    required. What its clause denies does not count, but what the answer repeats of a
///    rule that the question quotes (“Do not commit”) denies nothing.
/// 6. An answer that states a stale value is stale, unless its clause denies it or calls
///    it past (`it was X, now Y`, `from X to Y`).
/// 7. An answer that says it does not know, and asserts nothing, abstains.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

impl Offline {
    /// Grades one answer without a model.
    pub fn judge(&self, grading: &Grading<'_>) -> Judgement {
        if let QuestionKind::Tone | QuestionKind::SharedConcept = grading.kind {
            return Judgement::unscored(NoGrade::Kind(grading.kind));
        }
        let values = match grading.expect {
            Expectation::Rubric(_) => return Judgement::unscored(NoGrade::Rubric),
            Expectation::Unanswerable => return unanswerable(grading.answer),
            Expectation::AnyOf(values) => values,
        };
        if is_blank(grading.answer) {
            return wrong("the answer is empty".to_owned());
        }
        by_values(grading, values)
    }
}

#[async_trait]
impl Judge for Offline {
    async fn grade(&self, grading: &Grading<'_>) -> Judgement {
        self.judge(grading)
    }

    fn name(&self) -> &str {
        "offline"
    }

    fn source(&self) -> Source {
        Source::Lexical
    }
}

fn judged(verdict: Verdict, score: f64, rationale: String) -> Judgement {
    Judgement::scored(verdict, score, rationale)
}

fn wrong(rationale: String) -> Judgement {
    judged(Verdict::Incorrect, 0.0, rationale)
}

fn unanswerable(answer: &str) -> Judgement {
    if is_blank(answer) {
        wrong("the answer is empty".to_owned())
    } else if abstains(answer) {
        judged(Verdict::Abstained, 1.0, "the answer says that it is not known".to_owned())
    } else {
        wrong("the answer asserts something that was never said".to_owned())
    }
}

/// Grades an answer by values.
fn by_values(grading: &Grading<'_>, values: &[String]) -> Judgement {
    let answer = without_quoted_denials(grading.answer, grading.question);
    let (text, question) = (Haystack::new(&answer), Question::new(grading.question));
    let find = |value: &str, past| {
        let search = Search { question: &question, share: Share::Main, past };
        match polarity(value) {
            None => text.find(&Sought::new(value), &search),
            Some(expected) => match says(&text) {
                Some(said) if said == expected => Ok(usize::MAX),
                Some(_) => Err("the opposite of what it says".to_owned()),
                None => Err("yes or no".to_owned()),
            },
        }
    };
    let stated = values.iter().find_map(|value| Some((value, find(value, true).ok()?)));
    // A former value that is part of the expected one is not asserted.
    let asserted = grading.stale.iter().find(|old| {
        let within =
            stated.is_some_and(|(value, _)| Sought::new(old).is_part_of(&Sought::new(value)));
        !within && find(old, false).is_ok()
    });
    match (stated, asserted) {
        (Some((value, _)), None) => judged(Verdict::Correct, 1.0, format!("it says `{value}`")),
        (Some((value, _)), Some(old)) => {
            judged(Verdict::Stale, 0.0, format!("it asserts `{old}` beside `{value}`"))
        }
        (None, Some(old)) => {
            judged(Verdict::Stale, 0.0, format!("it asserts `{old}`, which no longer holds"))
        }
        (None, None) if abstains(grading.answer) => {
            judged(Verdict::Abstained, 0.0, "the answer says that it does not know".to_owned())
        }
        (None, None) => wrong(match values.first().map(|value| (value, find(value, true))) {
            Some((value, Err(why))) => format!("`{value}` is not said: it lacks {why}"),
            _ => "no value is expected".to_owned(),
        }),
    }
}

/// The answer without what the question quotes with a negation: who goes on from “Do
/// not commit” with `secret files` states the secret files.
fn without_quoted_denials(answer: &str, question: &str) -> String {
    let quoted = question.split('“').skip(1).filter_map(|rest| Some(rest.split_once('”')?.0));
    let denials = quoted.filter(|text| read(text).iter().any(|term| term.is_denied));
    denials.fold(answer.to_owned(), |answer, denial| answer.replace(denial, " "))
}

/// Whether an answer contains no letter, digit or sign.
fn is_blank(answer: &str) -> bool {
    read(answer).is_empty()
}

/// The yes (`true`) or no at the beginning of an answer.
fn says(text: &Haystack) -> Option<bool> {
    const FILLERS: &str = "well oh hmm likely probably most very so";
    const YES: &str = "yes yeah yep yup sure definitely absolutely indeed correct true certainly";
    const NO: &str = "no nope nah false not unlikely incorrect";
    let first = text.terms.iter().map(|term| &term.word).find(|word| !is_in(FILLERS, word))?;
    if is_in(YES, first) { Some(true) } else { is_in(NO, first).then_some(false) }
}

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
fn abstains(answer: &str) -> bool {
    let lower = answer.to_lowercase().replace('’', "'");
    let text = lower.split_whitespace().collect::<Vec<_>>().join(" ");
    let has = |list: &str| list.split('|').any(|words| text.contains(words));
    let bare = text.trim_matches(|c: char| !c.is_alphanumeric());
    (matches!(bare, "none" | "nothing" | "idk") || has(REFUSALS)) && !has(GUESSES)
}

#[cfg(test)]
mod tests;
