//! A text as the judge reads it: words by their stems, numbers by their
//! values, clauses, and what is denied.

use std::ops::Range;

use super::lexicon::{NEGATIONS, TURNS, fold, is_small_word, is_stop, is_title, stem};
use super::numbers;
use crate::text::normal::{is_unspaced, is_word, runs_into_name};

/// How far a negation reaches within its clause, in words.
pub(super) const REACH: usize = 8;

/// Up to so many words in capitals are codes and no shouting.
const SHORT: usize = 3;
/// What follows a `no` that is an answer by itself, or that doubts nothing.
const AFTER_NO: &[&str] = &["doubt", "he", "i", "it", "she", "they", "we", "wonder", "you"];

/// A word or a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// The stem of a word, the value of a number.
    pub text: String,
    /// The word as it stands, in lower case and without marks; a code of two
    /// capitals that would else be a common word (`IT`) in capitals.
    pub word: String,
    pub is_number: bool,
    pub is_capital: bool,
    /// How many negations before it in its clause deny it.
    pub denials: u8,
    /// Whether the text tells it as what held before something else.
    pub is_former: bool,
    pub clause: u32,
    pub sentence: u32,
    pub span: Range<usize>,
}

impl Term {
    /// Whether a negation before it in its clause denies it.
    pub fn is_denied(&self) -> bool {
        self.denials > 0
    }
}

/// The terms of `text`, in order.
pub(super) fn read(text: &str) -> Vec<Term> {
    let pieces = pieces(text);
    let mut terms = Vec::with_capacity(pieces.len());
    let mut at = 0;
    // In `IT WAS PARIS` and `who left us` capitals tell nothing.
    let is_mixed = text.contains(char::is_uppercase)
        && (text.contains(char::is_lowercase) || pieces.len() <= SHORT);
    while at < pieces.len() {
        at = push(text, &pieces, at, &mut terms);
        if let Some(term) = terms.last_mut().filter(|_| is_mixed) {
            code(text, term);
        }
    }
    for at in 0..terms.len() {
        // `Told us` names no country.
        let is_pronoun = terms[at].word == "us" && (at == 0 || terms[at - 1].word != "the");
        if is_mixed && is_pronoun {
            terms[at].text = "us".to_owned();
        }
    }
    deny(&mut terms);
    terms
}

/// Reads two capitals that would be a common word in small letters as a code:
/// `US-DE` is not said by `República de Guatemala`.
fn code(text: &str, term: &mut Term) {
    let raw = &text[term.span.clone()];
    let is_two = raw.len() == 2 && raw.bytes().all(|b| b.is_ascii_uppercase());
    if is_two && !term.is_number && is_small_word(&term.word) {
        raw.clone_into(&mut term.word);
        if term.text != "america" {
            raw.clone_into(&mut term.text);
        }
    }
}

#[derive(Clone, Debug)]
struct Piece {
    span: Range<usize>,
    is_number: bool,
    clause: u32,
    sentence: u32,
}

/// Runs of letters and runs of digits, with the clause and sentence they
/// stand in. Marks inside a number and an apostrophe inside a word belong to
/// them; `onMarch` is two words, and so is `2016by`.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut clause, mut sentence) = (0, 0);
    let (mut before, mut open) = (' ', false);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map_or(' ', |(_, c)| *c);
        let end = at + c.len_utf8();
        let word = open.then(|| pieces.last_mut()).flatten();
        if is_word(c) || ('\u{300}'..='\u{36f}').contains(&c) {
            let is_number = c.is_ascii_digit();
            match word {
                Some(word)
                    if word.is_number == is_number
                        && !is_unspaced(c)
                        && !is_unspaced(before)
                        && !runs_into_name(&text[word.span.clone()], c, after) =>
                {
                    word.span.end = end;
                }
                _ => pieces.push(Piece { span: at..end, is_number, clause, sentence }),
            }
            open = true;
        } else {
            let joins = match c {
                '.' | ',' => before.is_ascii_digit() && after.is_ascii_digit(),
                '\'' | '’' => before.is_alphabetic() && after.is_alphabetic(),
                _ => false,
            };
            match word {
                Some(word) if joins => word.span.end = end,
                _ => open = false,
            }
            if !joins {
                let initial = before.is_uppercase() && is_initial(text, at);
                let titled = || {
                    pieces.last().is_some_and(|last| {
                        last.span.end == at && is_title(&text[last.span.clone()])
                    })
                };
                match c {
                    '.' if initial || titled() => {}
                    // `depot.test`, `7 a.m.`
                    '.' if is_word(before) && (after.is_lowercase() || after.is_ascii_digit()) => {}
                    '.' | '!' | '?' | ';' | '\n' | '。' | '！' | '？' => {
                        sentence += 1;
                        clause += 1;
                    }
                    // `20:20`, `1961–62`.
                    ':' | '–' if before.is_ascii_digit() && after.is_ascii_digit() => {}
                    ',' | ':' | '(' | ')' | '–' | '—' | '"' | '“' | '”' | '，' => {
                        clause += 1
                    }
                    _ => {}
                }
            }
        }
        before = c;
    }
    pieces.retain(|piece| !is_footnote(text, piece));
    pieces
}

/// `[4]`.
fn is_footnote(text: &str, piece: &Piece) -> bool {
    let (before, after) = (&text[..piece.span.start], &text[piece.span.end..]);
    piece.is_number && before.ends_with('[') && after.starts_with(']')
}

/// Whether the letter before `at` stands alone: `J.`, `U.S.`.
fn is_initial(text: &str, at: usize) -> bool {
    let mut back = text[..at].chars().rev();
    back.next();
    back.next().is_none_or(|c| !c.is_alphanumeric())
}

/// Reads the term at a piece; where the next begins.
fn push(text: &str, pieces: &[Piece], at: usize, terms: &mut Vec<Term>) -> usize {
    let piece = &pieces[at];
    let raw = &text[piece.span.clone()];
    let lower = |at: usize| {
        let mut word = String::new();
        if let Some(piece) = pieces.get(at) {
            text[piece.span.clone()].chars().for_each(|c| fold(c, &mut word));
        }
        word
    };
    let gap = |at: usize| -> &str {
        pieces.get(at).map_or("\n", |piece| &text[pieces[at - 1].span.end..piece.span.start])
    };
    let mut term = Term {
        text: String::new(),
        word: String::new(),
        is_number: true,
        is_capital: raw.starts_with(char::is_uppercase),
        denials: 0,
        is_former: false,
        clause: piece.clause,
        sentence: piece.sentence,
        span: piece.span.clone(),
    };
    if piece.is_number {
        let next = lower(at + 1);
        let ending = matches!(next.as_str(), "st" | "nd" | "rd" | "th") && gap(at + 1).is_empty();
        let spaced =
            matches!(gap(at + 1), "" | " " | "-") && (next != "k" || gap(at + 1).is_empty());
        let scale = numbers::scale(&next).filter(|_| spaced);
        let end = at + 1 + usize::from(ending || scale.is_some());
        let century = || {
            let year = &text[pieces[at.checked_sub(1)?].span.clone()];
            let ranged = matches!(&text[pieces[at - 1].span.end..piece.span.start], "-" | "–");
            let fits = year.len() == 4 && raw.len() == 2 && ranged && pieces[at - 1].is_number;
            (fits && year.is_char_boundary(2) && year[2..] < *raw)
                .then(|| format!("{}{raw}", &year[..2]))
        };
        match century().or_else(|| numbers::digits(raw, scale.unwrap_or(1))) {
            Some(value) => terms.push(Term { text: value, ..term }),
            None => terms.extend(raw.split(',').map(|part| Term {
                text: numbers::digits(part, 1).unwrap_or_default(),
                ..term.clone()
            })),
        }
        return end;
    }
    let word = lower(at);
    if let Some((value, end)) = spelled(at, &lower, &gap) {
        let text = value.to_string();
        terms.push(Term { text, word, ..term });
        return end;
    }
    let next = lower(at + 1);
    // `a week` is one.
    if matches!(word.as_str(), "a" | "an") && gap(at + 1) == " " && numbers::is_duration(&next) {
        terms.push(Term { text: "1".to_owned(), word, ..term });
        return at + 1;
    }
    let ordinal = word == "second" && gap(at + 1) == " " && !next.is_empty() && !is_stop(&next);
    let named = numbers::named(raw, &word).or_else(|| ordinal.then_some(2));
    if let Some(value) = named {
        terms.push(Term { text: value.to_string(), word, ..term });
        return at + 1;
    }
    term.is_number = false;
    let (mut word, mut end) = (word, at + 1);
    // `U.S.` is one word.
    if raw.chars().count() == 1 && gap(end).starts_with('.') {
        let letter = |at: usize| {
            let piece: Option<&Piece> = pieces.get(at);
            piece.is_some_and(|p| !p.is_number && text[p.span.clone()].chars().count() == 1)
        };
        while gap(end) == "." && letter(end) {
            word.push_str(&lower(end));
            term.span.end = pieces[end].span.end;
            end += 1;
        }
    }
    // Two words for what one is short for.
    let pair = match (word.as_str(), lower(end).as_str()) {
        ("united", "kingdom") | ("great", "britain") => Some("britain"),
        ("united", "states") => Some("america"),
        _ => None,
    };
    if let Some(name) = pair.filter(|_| gap(end) == " ") {
        term.span.end = pieces[end].span.end;
        terms.push(Term { text: name.to_owned(), word: name.to_owned(), ..term });
        return end + 1;
    }
    let word = bare(&word);
    let text = if word == "not" { word.clone() } else { stem(&word) };
    terms.push(Term { text, word, ..term });
    end
}

/// A word without what an apostrophe joins to it; `isn't` is `not`.
fn bare(word: &str) -> String {
    let word = word.replace('’', "'");
    if word.ends_with("n't") {
        return "not".to_owned();
    }
    match word.split_once('\'') {
        Some((before, _)) if before.len() > 1 => before.to_owned(),
        Some(_) => word.replace('\'', ""),
        None => word,
    }
}

/// `twenty-five`, `two hundred and five thousand`.
fn spelled<'a>(
    at: usize,
    lower: &impl Fn(usize) -> String,
    gap: &impl Fn(usize) -> &'a str,
) -> Option<(u64, usize)> {
    let (mut total, mut current) = (0_u64, numbers::small(&lower(at))?);
    let mut end = at + 1;
    while matches!(gap(end), " " | "-") {
        let word = lower(end);
        let open = current % 100 == 0 && (current > 0 || total > 0);
        if word == "hundred" && current > 0 && current < 100 {
            current *= 100;
        } else if let Some(scale) = numbers::scale(&word) {
            total = total.saturating_add(current.saturating_mul(scale));
            current = 0;
        } else if let Some(value) = numbers::small(&word)
            .filter(|value| open || current >= 20 && current % 10 == 0 && (1..10).contains(value))
        {
            current += value;
        } else if !(word == "and" && open && numbers::small(&lower(end + 1)).is_some()) {
            break;
        }
        end += 1;
    }
    Some((total.saturating_add(current), end))
}

/// Marks what negations deny: the rest of the clause, up to a turn.
fn deny(terms: &mut [Term]) {
    for at in 0..terms.len() {
        if !is_negation(terms, at) {
            continue;
        }
        let clause = terms[at].clause;
        for term in terms.iter_mut().skip(at + 1).take(REACH) {
            if term.clause != clause || TURNS.contains(&term.word.as_str()) {
                break;
            }
            term.denials = term.denials.saturating_add(1);
        }
    }
}

/// Whether the word at a term denies what follows.
fn is_negation(terms: &[Term], at: usize) -> bool {
    let next = terms.get(at + 1);
    let next_is = |words: &[&str]| next.is_some_and(|n| words.contains(&n.word.as_str()));
    let word = terms[at].word.as_str();
    let denies = match word {
        "not" => !next_is(&["only", "just", "to", "sure"]),
        "no" => !next.is_some_and(|n| n.is_number) && !next_is(AFTER_NO),
        "instead" | "rather" => next_is(&["of", "than"]),
        _ => NEGATIONS.contains(&word),
    };
    denies && !terms[at].is_number
}

/// Whether a symbol right after the term would be denied.
pub(super) fn denies_next(terms: &[Term], at: usize) -> bool {
    terms[at].is_denied() || is_negation(terms, at)
}
