//! The judge without a model, which compares words and numbers.
//!
//! It is strict: an answer is right only if it states the expected value. An answer in
//! other words is graded wrong; the judge's error against human labels is measured in
//! `tests/suite/judge_real.rs`.

use async_trait::async_trait;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Grading, Judge};
use recap_core::model::{Expectation, Judgement, NoGrade, QuestionKind, Source, Verdict};
use recap_core::text::language::{
    cardinal, folded, is_in, is_stop, is_unspaced, ordinal, plain, stem,
};
use recap_core::text::normal::runs_into_name;

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
            let kind = grading.kind.as_str();
            let why = format!("a model has to judge the kind {kind}");
            return Judgement::unscored(NoGrade::Other(why));
        }
        let values = match grading.expect {
            Expectation::Rubric(_) => {
                return Judgement::unscored(NoGrade::Other("a model has to judge a rubric".into()));
            }
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

fn wrong(rationale: String) -> Judgement {
    Judgement::scored(Verdict::Incorrect, 0.0, rationale)
}

fn unanswerable(answer: &str) -> Judgement {
    if is_blank(answer) {
        wrong("the answer is empty".to_owned())
    } else if abstains(answer) {
        Judgement::scored(
            Verdict::Abstained,
            1.0,
            "the answer says that it is not known".to_owned(),
        )
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
        (Some((value, _)), None) => {
            Judgement::scored(Verdict::Correct, 1.0, format!("it says `{value}`"))
        }
        (Some((value, _)), Some(old)) => {
            Judgement::scored(Verdict::Stale, 0.0, format!("it asserts `{old}` beside `{value}`"))
        }
        (None, Some(old)) => Judgement::scored(
            Verdict::Stale,
            0.0,
            format!("it asserts `{old}`, which no longer holds"),
        ),
        (None, None) if abstains(grading.answer) => Judgement::scored(
            Verdict::Abstained,
            0.0,
            "the answer says that it does not know".to_owned(),
        ),
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

// Reads a text for the offline judge: words by their stems, numbers by their values,
// and what is denied or called former.

/// Number of words in its clause that a negation or a word for the past covers.
const REACH: usize = 8;

const DENIES: &str = "cannot instead neither never no none nor not unlike without";
const PAST: &str = "was were used previously previous former formerly originally original initially \
    initial earlier from old before until past replaced had";

/// A word, a number, or a sign that is neither.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    /// The stem of a word, `#` and the value of a number, or the sign.
    pub key: String,
    /// The word in lower case and without marks; empty for a number and a sign.
    pub word: String,
    pub is_capital: bool,
    /// Whether a negation earlier in its clause denies it.
    pub is_denied: bool,
    /// Whether its clause calls it past: `it was X`, `X (formerly Y)`.
    pub is_past: bool,
    clause: u32,
}

impl Term {
    fn is_number(&self) -> bool {
        self.key.starts_with('#')
    }
}

/// The terms of a text, in order.
fn read(text: &str) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    let mut clause = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = piece(rest, first);
        let (raw, after) = rest.split_at(end);
        rest = after;
        if first.is_ascii_digit() {
            // A list of numbers has commas too: `1, 2,3`.
            let values = plain(raw).map_or_else(
                || raw.split(',').map(|part| plain(part).unwrap_or_default()).collect(),
                |value| vec![value],
            );
            terms.extend(
                values
                    .into_iter()
                    .map(|value| term(format!("#{value}"), String::new(), raw, clause)),
            );
            rest = ["st", "nd", "rd", "th"]
                .iter()
                .find_map(|end| rest.strip_prefix(end))
                .unwrap_or(rest);
        } else if first.is_alphabetic() {
            let word = bare(folded(raw));
            let key = value(&word, raw).map_or_else(|| stem(&word), |value| format!("#{value}"));
            terms.push(term(key, word, raw, clause));
        } else if is_sign(first) {
            terms.push(term(first.to_string(), String::new(), raw, clause));
        } else if ends_clause(first, &terms, rest) {
            clause += 1;
        }
    }
    mark(&mut terms);
    terms
}

fn term(key: String, word: String, raw: &str, clause: u32) -> Term {
    let is_capital = raw.starts_with(char::is_uppercase);
    Term { key, word, is_capital, is_denied: false, is_past: false, clause }
}

/// Length in bytes of the word, the number or the mark that a text begins with.
/// `onMarch` is two words, as in text copied from a page.
fn piece(text: &str, first: char) -> usize {
    let mut end = first.len_utf8();
    if !first.is_alphanumeric() || is_unspaced(first) {
        return end;
    }
    let mut before = first;
    let mut chars = text[end..].chars().peekable();
    while let Some(c) = chars.next() {
        let after = chars.peek().copied().unwrap_or(' ');
        let joins = match c {
            '.' | ',' => before.is_ascii_digit() && after.is_ascii_digit(),
            '\'' | '’' => before.is_alphabetic() && after.is_alphabetic(),
            '\u{300}'..='\u{36f}' => true,
            c => {
                c.is_alphanumeric()
                    && c.is_ascii_digit() == first.is_ascii_digit()
                    && !is_unspaced(c)
                    && !runs_into_name(&text[..end], c, after)
            }
        };
        if !joins {
            break;
        }
        end += c.len_utf8();
        before = c;
    }
    end
}

/// Whether a character is a sign that a value may consist of: `→`.
fn is_sign(c: char) -> bool {
    !c.is_ascii()
        && !c.is_whitespace()
        && !matches!(c, '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{fe00}'..='\u{fe0f}' | '\u{ff00}'..='\u{ff65}')
}

/// Whether a mark ends a clause: not the full stop of an initial (`J. Lund`), nor what
/// stands between two numbers (`20:20`, `May 4, 2008`), nor a hyphen.
fn ends_clause(mark: char, terms: &[Term], rest: &str) -> bool {
    let last = terms.last();
    let is_between = last.is_some_and(Term::is_number)
        && rest.trim_start().starts_with(|c: char| c.is_ascii_digit());
    match mark {
        '.' => !last.is_some_and(|last| last.is_capital && last.word.len() == 1),
        ',' | ':' | '–' if is_between => false,
        mark => ",;:!?()–—\"“”\n，。！？；：".contains(mark),
    }
}

/// A word without the part after an apostrophe; `isn't` becomes `not`.
fn bare(word: String) -> String {
    let Some(at) = word.find(['\'', '’']) else { return word };
    if word.ends_with("n't") || word.ends_with("n’t") {
        "not".to_owned()
    } else if at > 1 {
        word[..at].to_owned()
    } else {
        word.replace(['\'', '’'], "")
    }
}

/// The value of a number word, and the number of a month: dates compare by their
/// numbers, `7 May 2023` with `2023-05-07`.
fn value(word: &str, raw: &str) -> Option<u64> {
    let is_number =
        !matches!(word, "may" | "march" | "august") || raw.starts_with(char::is_uppercase);
    cardinal(word).or_else(|| ordinal(word)).filter(|_| is_number)
}

/// Marks what negations deny and what words for the past call former.
fn mark(terms: &mut [Term]) {
    for at in 0..terms.len() {
        let clause = terms[at].clause;
        let (denies, past) = (is_in(DENIES, &terms[at].word), is_in(PAST, &terms[at].word));
        if denies || past {
            let rest = terms[at + 1..].iter_mut().take(REACH);
            rest.take_while(|term| term.clause == clause).for_each(|term| {
                term.is_denied |= denies;
                term.is_past |= past;
            });
        }
    }
}

// Searches a text for values.

/// Number of terms from which a text is long: then the words of a value must be
/// near each other, within at least this many terms and three for each word.
const LONG: usize = 40;
const WINDOW: usize = 12;

/// Largest number of words in a part of a list: longer parts are clauses of one
/// statement.
const MOST_WORDS: usize = 4;

/// The share of a value's words that a text must contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    /// All of up to two words, more than half of more: other words may express
    /// the rest, and words may change their endings.
    Main,
    /// All of up to four words, four fifths of more.
    Most,
}

/// The words that a question itself contains.
#[derive(Debug, Default)]
struct Question {
    stems: FxHashSet<String>,
    /// Whether it negates something, which a value then need not repeat.
    is_denied: bool,
}

impl Question {
    fn new(text: &str) -> Self {
        let terms = read(text);
        let is_denied = terms.iter().any(|term| term.is_denied);
        let content = terms.into_iter().filter(|t| !t.is_number() && !is_stop(&t.word));
        Self { stems: content.map(|term| term.key).collect(), is_denied }
    }
}

/// A parsed value, which can be searched for in several texts.
#[derive(Clone, Debug)]
pub struct Sought {
    value: String,
    words: Vec<String>,
    numbers: Vec<String>,
    /// Whether the value itself contains a negation.
    is_denied: bool,
    /// Whether its script has no spaces: its characters stand side by side.
    is_unspaced: bool,
    /// First and last word of a person's name.
    name: Option<(String, String)>,
    is_yes_no: bool,
}

impl Sought {
    /// Parses `value` for searches; text in parentheses is not required.
    pub fn new(value: &str) -> Sought {
        let short = without_parentheses(value);
        let text = short.as_deref().unwrap_or(value);
        let terms = read(text);
        let (numbers, others): (Vec<&Term>, Vec<&Term>) =
            terms.iter().partition(|term| term.is_number());
        let is_bare = numbers.is_empty() && others.iter().all(|term| is_stop(&term.word));
        let words = others.iter().filter(|term| is_bare || !is_stop(&term.word));
        Sought {
            value: value.to_owned(),
            words: once(words.map(|term| &term.key)),
            numbers: once(numbers.iter().map(|term| &term.key)),
            is_denied: terms.iter().any(|term| term.is_denied),
            is_unspaced: text.contains(is_unspaced),
            name: name(text, &terms),
            is_yes_no: polarity(value).is_some(),
        }
    }

    /// Whether the value is only yes or no, which no text states.
    pub fn is_yes_no(&self) -> bool {
        self.is_yes_no
    }

    /// The values to search for one by one: the parts of a list, or the value
    /// as a whole.
    pub fn parts(&self) -> Vec<Sought> {
        let marks = [", and ", ", ", "; ", " & ", " and ", "\n"];
        let marked = marks.iter().fold(self.value.clone(), |text, mark| text.replace(mark, "\0"));
        let parts: Vec<Sought> =
            marked.split('\0').map(Sought::new).filter(|part| !part.is_empty()).collect();
        // `7 May, 2023` is no list.
        let is_part = |part: &Sought| part.words.len() <= MOST_WORDS && !part.words.is_empty();
        if parts.len() > 1 && parts.iter().all(is_part) { parts } else { vec![self.clone()] }
    }

    /// The number of parts that must be stated: both of two, two thirds of
    /// more.
    pub fn needed(parts: usize) -> usize {
        if parts <= 2 { parts } else { (2 * parts).div_ceil(3) }
    }

    /// Whether another value has everything that this one has.
    fn is_part_of(&self, other: &Sought) -> bool {
        self.words.iter().all(|word| other.words.contains(word))
            && self.numbers.iter().all(|number| other.numbers.contains(number))
    }

    /// Whether there is nothing to search for: the value is punctuation.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.numbers.is_empty()
    }
}

/// Each text once, in order: a repetition in a value requires nothing more.
fn once<'a>(keys: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = FxHashSet::default();
    keys.filter(|key| seen.insert(*key)).cloned().collect()
}

/// The value without text in parentheses, if a word is left.
fn without_parentheses(value: &str) -> Option<String> {
    let (before, rest) = value.split_once('(')?;
    let (_, after) = rest.split_once(')')?;
    let short = format!("{before} {after}");
    short.contains(char::is_alphanumeric).then_some(short)
}

/// First and last word of a person's name: two to five capitalised words, none of
/// them a common word.
fn name(value: &str, terms: &[Term]) -> Option<(String, String)> {
    let is_part =
        |t: &Term| t.is_capital && !is_stop(&t.word) || is_in("de da der la van von", &t.word);
    let is_name = (2..=5).contains(&terms.len())
        && !value.contains([',', ';', '&', '(', ':'])
        && terms.iter().all(|term| !term.is_number() && is_part(term));
    let (first, last) = (terms.first()?, terms.last()?);
    is_name.then(|| (first.key.clone(), last.key.clone()))
}

/// Whether a value means yes (`true`) or no, also with "likely" or an
/// explanation: `Likely no, since …`. `No Doubt` and `True Blood` mean neither.
fn polarity(value: &str) -> Option<bool> {
    let value = value.trim().to_lowercase();
    let short =
        ["likely ", "probably ", "most likely "].iter().find_map(|lead| value.strip_prefix(lead));
    let text = short.unwrap_or(&value);
    let says = ["yes", "true", "no", "false"].into_iter().find(|word| {
        let rest = text.strip_prefix(word).map(str::trim_start);
        rest.is_some_and(|rest| {
            rest.is_empty()
                || rest.starts_with(|c: char| c.is_ascii_punctuation() || c == '–')
                || short.is_some() && text[word.len()..].starts_with(' ')
        })
    });
    says.map(|word| matches!(word, "yes" | "true"))
}

/// A text that is searched for values: read once, in time linear in its length.
#[derive(Debug)]
pub struct Haystack {
    terms: Vec<Term>,
    places: FxHashMap<String, Vec<u32>>,
}

/// How a value is looked for.
struct Search<'a> {
    pub question: &'a Question,
    pub share: Share,
    /// Whether a place that the text calls past counts.
    pub past: bool,
}

impl Haystack {
    /// Reads a text.
    pub fn new(text: &str) -> Haystack {
        let terms = read(text);
        let mut places: FxHashMap<String, Vec<u32>> = FxHashMap::default();
        for (at, term) in (0..).zip(&terms) {
            places.entry(term.key.clone()).or_default().push(at);
        }
        Haystack { terms, places }
    }

    /// The position of the last word by which the text states a value and does not
    /// deny it in the same clause; with `past` false, nor call it past. All numbers
    /// are required, and the words near each other: all of up to four, four fifths of
    /// more. Yes and no are never stated ([`Sought::is_yes_no`]).
    pub fn last(&self, sought: &Sought, past: bool) -> Option<usize> {
        let search = Search { question: &Question::default(), share: Share::Most, past };
        self.find(sought, &search).ok().filter(|_| !sought.is_yes_no())
    }

    /// The position of the last word of a value, or the missing part in words.
    fn find(&self, sought: &Sought, search: &Search<'_>) -> Result<usize, String> {
        if sought.is_empty() {
            return Err("a word to look for".to_owned());
        }
        let counts = |at: &usize| {
            let term = &self.terms[*at];
            (!term.is_denied || sought.is_denied) && (!term.is_past || search.past)
        };
        if let Some(at) = self.name(sought, counts) {
            return Ok(at);
        }
        if sought.is_denied && !search.question.is_denied && self.terms.iter().all(|t| !t.is_denied)
        {
            return Err("its negation".to_owned());
        }
        let mut last = 0;
        for number in &sought.numbers {
            let at = self.at(number).filter(counts).last();
            last = last.max(at.ok_or_else(|| format!("the number {}", &number[1..]))?);
        }
        let is_new = |word: &&String| !search.question.stems.contains(*word);
        let mut words: Vec<&String> = sought.words.iter().filter(is_new).collect();
        let says_nothing_new = words.is_empty() && sought.numbers.is_empty();
        if says_nothing_new {
            words = sought.words.iter().collect();
        }
        let needed = match (search.share, words.len()) {
            (_, all) if says_nothing_new || sought.is_unspaced => all,
            (Share::Main, few @ 0..=2) | (Share::Most, few @ 0..=4) => few,
            (Share::Main, many) => many / 2 + 1,
            (Share::Most, many) => (many * 4).div_ceil(5),
        };
        let width = if sought.is_unspaced {
            words.len()
        } else if self.terms.len() > LONG {
            WINDOW.max(3 * words.len())
        } else {
            usize::MAX
        };
        let near = search.share == Share::Main;
        let found: Vec<Vec<usize>> =
            words.iter().map(|word| self.word(word, near).filter(counts).collect()).collect();
        match together(&found, needed, width) {
            Some(end) => Ok(last.max(end)),
            None => Err(missing(&words, &found)),
        }
    }

    fn at(&self, key: &str) -> impl Iterator<Item = usize> + '_ {
        self.places.get(key).into_iter().flatten().map(|at| *at as usize)
    }

    /// The places of a word; if there are none and `near` holds, of words that
    /// differ only by their ending.
    fn word<'a>(&'a self, word: &'a str, near: bool) -> Box<dyn Iterator<Item = usize> + 'a> {
        if self.places.contains_key(word) || !near {
            return Box::new(self.at(word));
        }
        let keys = (0..self.terms.len()).filter(|at| is_near(word, &self.terms[*at].key));
        Box::new(keys)
    }

    /// The last place of the surname with the first name or its beginning right
    /// before it: `M. Lund`, `Dave Meyer` for `David Meyer`.
    fn name(&self, sought: &Sought, counts: impl Fn(&usize) -> bool) -> Option<usize> {
        let (first, last) = sought.name.as_ref()?;
        let opens = |term: &Term| {
            let alike = term.key.get(..2).unwrap_or(&term.key);
            term.key == *first
                || term.is_capital && (first.starts_with(alike) || alike.starts_with(&**first))
        };
        let is_led = |at: &usize| self.terms[at.saturating_sub(3)..*at].iter().any(opens);
        self.at(last).filter(|at| counts(at) && is_led(at)).last()
    }
}

/// The end of the last stretch of at most `width` terms with at least `needed` of the
/// words, whose places are given.
fn together(found: &[Vec<usize>], needed: usize, width: usize) -> Option<usize> {
    if needed == 0 {
        return Some(0);
    }
    let each = found.iter().enumerate();
    let mut spots: Vec<(usize, usize)> =
        each.flat_map(|(word, places)| places.iter().map(move |place| (*place, word))).collect();
    spots.sort_unstable();
    let mut held = vec![0_u32; found.len()];
    let (mut low, mut distinct, mut end) = (0, 0, None);
    for &(place, word) in &spots {
        distinct += usize::from(held[word] == 0);
        held[word] += 1;
        while place - spots[low].0 >= width {
            held[spots[low].1] -= 1;
            distinct -= usize::from(held[spots[low].1] == 0);
            low += 1;
        }
        if distinct >= needed {
            end = Some(place);
        }
    }
    end
}

/// The words that a text lacks, or has apart from each other.
fn missing(words: &[&String], found: &[Vec<usize>]) -> String {
    let quoted =
        |words: &[&&String]| words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ");
    let absent = words.iter().zip(found).filter(|(_, places)| places.is_empty());
    let absent: Vec<&&String> = absent.map(|(word, _)| word).collect();
    if absent.is_empty() {
        format!("{} together", quoted(&words.iter().collect::<Vec<_>>()))
    } else {
        quoted(&absent)
    }
}

/// Whether two stems differ only by an ending: `canada`, `canadian`.
fn is_near(a: &str, b: &str) -> bool {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
    same >= 5 && same + 1 >= short && long - same <= 4
}
