//! The judge without a model, which compares words, numbers and dates.
//!
//! It is strict: an answer is right only if it states the expected value as one
//! that holds. An answer in other words is graded wrong; the judge's error
//! against human labels is measured in `tests/suite/judge_real.rs`.

mod page;
mod question;
mod reading;
mod sought;

use async_trait::async_trait;

pub use sought::Sought;

use super::{Grading, Judge};
use page::{Page, Share};
use question::ParsedQuestion;
use reading::Term;
use recap_core::model::{Expectation, Judgement, NoGrade, QuestionKind, Source, Verdict};
use recap_core::text::language::is_in;
use sought::{polarity, sign};

/// The judge without a model. It applies these rules, in this order:
///
/// 1. A rubric, a tone or a shared concept needs a model: unscored.
/// 2. An empty answer is wrong.
/// 3. If the answer cannot be known, only saying so is right.
/// 4. Yes or no must be at the beginning.
/// 5. Any other answer is right if it states one alternative: every number,
///    every date at least as exactly, all of one or two words and most of more,
///    near each other in a long text. None of them may be denied, or called
///    former beside a current value (`it used to be X, now it is Y`) unless the
///    question asks for the past. A negation that the question quotes (“Do not
///    commit”) does not deny what the answer goes on with. Words of the question need not be repeated. A
///    value without a letter or digit (`→`) must appear as it is.
/// 6. An answer that also states a stale value is right only if the nearest cue
///    says that the stale value is past (`it was X, now Y`, `from X to Y`) or
///    that the expected value holds now; else the answer is stale.
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
        JudgedAnswer::new(grading, values).verdict(values, grading.stale)
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

/// One answer with its question and the parsed values.
struct JudgedAnswer<'a> {
    answer: &'a str,
    page: Page,
    question: ParsedQuestion,
}

impl<'a> JudgedAnswer<'a> {
    fn new(grading: &Grading<'a>, values: &[String]) -> JudgedAnswer<'a> {
        let (mut page, question) =
            (Page::new(grading.answer), ParsedQuestion::new(grading.question));
        page.state_continuations(&question);
        page.deny_whole(values);
        page.deny_whole(grading.stale);
        page.mark_former(&question);
        JudgedAnswer { answer: grading.answer, page, question }
    }

    fn verdict(&self, values: &[String], stale: &[String]) -> Judgement {
        let expected = self.first(values);
        let outdated = stale.iter().find_map(|value| {
            let places = self.find(value).ok()?;
            Some((value, places))
        });
        match (expected, outdated) {
            (Ok((value, places)), Some((old, old_places)))
                if !old_places.iter().all(|place| places.contains(place)) =>
            {
                self.both(value, &places, old, &old_places)
            }
            (Ok((value, _)), _) => judged(Verdict::Correct, 1.0, format!("it says `{value}`")),
            (Err(_), Some((old, places))) if tense(&self.page, &places) != Some(Tense::Past) => {
                judged(Verdict::Stale, 0.0, format!("it asserts `{old}`, which no longer holds"))
            }
            (Err(_), _) if abstains(self.answer) => {
                judged(Verdict::Abstained, 0.0, "the answer says that it does not know".to_owned())
            }
            (Err(why), _) => wrong(why),
        }
    }

    /// The first alternative that the answer states, or else the missing part
    /// of the first one.
    fn first<'v>(&self, values: &'v [String]) -> Result<(&'v str, Vec<usize>), String> {
        let mut lacks = None;
        for value in values {
            match self.find(value) {
                Ok(places) => return Ok((value, places)),
                Err(why) => lacks = lacks.or(Some(format!("`{value}` is not said: {why}"))),
            }
        }
        Err(lacks.unwrap_or_else(|| "no value is expected".to_owned()))
    }

    fn find(&self, value: &str) -> Result<Vec<usize>, String> {
        if let Some(expected) = polarity(value) {
            return match says(&self.page) {
                Some(said) if said == expected => Ok(Vec::new()),
                Some(_) => Err("it says the opposite".to_owned()),
                None => Err("it says neither yes nor no".to_owned()),
            };
        }
        let sought = Sought::new(value);
        let missing = |what: String| format!("it lacks {what}");
        self.page.find(&sought, &self.question, Share::Main).map_err(missing)
    }

    /// Grades an answer that states an expected and a stale value.
    fn both(&self, value: &str, places: &[usize], old: &str, old_places: &[usize]) -> Judgement {
        let (new, before) = (tense(&self.page, places), tense(&self.page, old_places));
        let is_past = before == Some(Tense::Past) && new != Some(Tense::Past);
        let is_now = new == Some(Tense::Now) && before != Some(Tense::Now);
        if is_past || is_now {
            judged(Verdict::Correct, 1.0, format!("it says `{value}`, and `{old}` as past"))
        } else {
            judged(Verdict::Stale, 0.0, format!("it asserts `{old}` beside `{value}`"))
        }
    }
}

/// Whether an answer contains no letter, digit or sign.
fn is_blank(answer: &str) -> bool {
    !answer.contains(char::is_alphanumeric) && sign(answer).is_none()
}

/// The yes (`true`) or no at the beginning of an answer.
fn says(page: &Page) -> Option<bool> {
    const FILLERS: &str = "well oh hmm likely probably most very so";
    const YES: &str = "yes yeah yep yup sure definitely absolutely indeed correct true certainly";
    const NO: &str = "no nope nah false not unlikely incorrect";
    let mut words = page.terms.iter().map(|term| term.word.as_str());
    let first = words.find(|word| !is_in(FILLERS, word))?;
    if is_in(YES, first) { Some(true) } else { is_in(NO, first).then_some(false) }
}

/// The time at which a value holds according to a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tense {
    Past,
    Now,
}

/// Largest distance in terms between a value and a cue before it; two for a cue
/// after it.
const CUE: usize = 5;

const PAST: &str = "was were used previously previous former formerly originally original initially \
    initial earlier from old before until past replaced had ago";
const NOW: &str = "now currently current today latest newest new to is are updated nowadays became \
    becomes has with";

/// The nearest cue before the places of a value in its sentence, or right after
/// them in their clause: `it was X, now it is Y`, `moved from X to Y`, `X
/// before`.
fn tense(page: &Page, places: &[usize]) -> Option<Tense> {
    let (first, last) = (*places.iter().min()?, *places.iter().max()?);
    let (sentence, clause) = (page.terms[first].sentence, page.terms[last].clause);
    let cue = |term: &Term| {
        let is_past = is_in(PAST, &term.word).then_some(Tense::Past);
        is_past.or_else(|| is_in(NOW, &term.word).then_some(Tense::Now))
    };
    let before = page.terms[..first].iter().rev().take(CUE);
    let before = before.filter(|term| term.sentence == sentence).find_map(cue);
    let after = page.terms[last + 1..].iter().take(2);
    before.or_else(|| after.filter(|term| term.clause == clause).find_map(cue))
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

/// A text that is searched for many values: parsed once, in time linear in its
/// length. A search for an absent value costs one or two look-ups.
#[derive(Debug)]
pub struct Haystack {
    page: Page,
    nothing_asked: ParsedQuestion,
}

impl Haystack {
    /// Parses a text for searches.
    pub fn new(text: &str) -> Haystack {
        Haystack { page: Page::new(text), nothing_asked: ParsedQuestion::default() }
    }

    /// Whether the text states `sought` and does not deny it in the same
    /// clause. All numbers and dates are required, and the words near each
    /// other: all of up to four words, four fifths of more. Yes and no are
    /// never stated ([`Sought::is_yes_no`]).
    pub fn states(&self, sought: &Sought) -> bool {
        !sought.is_yes_no() && self.page.find(sought, &self.nothing_asked, Share::Most).is_ok()
    }
}

#[cfg(test)]
mod tests;
