//! Writes the answer: the sentences that fit best, with their dates resolved.

use super::doubt::is_unknown;
use super::index::Index;
use super::question::{Ask, ParsedQuestion};
use super::rank::{Ranked, rank};
use super::states;
use crate::calendar::relative::{relative, written};
use crate::roles::answerer::ANSWER_TOKENS;
use recap_core::model::Role;
use recap_core::tokens::Counter;

/// The answer if the context does not contain one.
pub(super) const UNKNOWN: &str = "I don't know.";

/// Number of sentences that an answer is chosen from.
const CANDIDATES: usize = 24;

/// Largest length of an answer in tokens. Longer answers contain more of the
/// expected values, but are also right about other questions more often; see
/// the table in `tests/suite/reader_real.rs`.
const BUDGET: u64 = 100;

/// Bonus of the sentence after a chosen one: it may continue the same subject.
const GOES_ON: f64 = 0.4;

/// The number of a sentence, and its line in the answer.
type Line = (usize, String);

/// The answer to a question from a context.
pub(super) fn answer(
    index: &Index,
    text: &str,
    question: &ParsedQuestion,
    counter: &Counter,
) -> String {
    let mut ranked = rank(index, question);
    let best = ranked.iter().min_by(|a, b| question.order(a, b));
    if best.is_none_or(|best| is_unknown(best, &ranked)) {
        return UNKNOWN.to_owned();
    }
    states::keep(index, text, &mut ranked);
    keep_quoted(question, &mut ranked);
    keep_best(question, &mut ranked);
    let holds = !question.first && (question.now || !question.past);
    if index.speakers.is_empty() && holds && question.sought != 0 {
        keep_newest(index, question, &mut ranked);
    }
    if question.wants_newest() {
        drop_superseded(index, question, &mut ranked);
    }
    let mut lines = chosen(index, question, ranked, counter);
    lines.sort();
    let mut lines: Vec<String> = lines.into_iter().map(|line| line.1).collect();
    while counter.count(&lines.join("\n")) > ANSWER_TOKENS {
        lines.pop();
    }
    if lines.is_empty() { UNKNOWN.to_owned() } else { lines.join("\n") }
}

/// Keeps as many sentences as an answer is chosen from, the best first.
fn keep_best(question: &ParsedQuestion, ranked: &mut Vec<Ranked>) {
    let order = |a: &Ranked, b: &Ranked| question.order(a, b);
    if ranked.len() > CANDIDATES {
        ranked.select_nth_unstable_by(CANDIDATES, order);
        ranked.truncate(CANDIDATES);
    }
    ranked.sort_unstable_by(order);
}

/// For a question about the value or the state of a name that it quotes, keeps
/// the sentences with that name if there are any: those around them are about
/// other names.
fn keep_quoted(question: &ParsedQuestion, ranked: &mut Vec<Ranked>) {
    let most = ranked.iter().map(|one| one.signs.quoted).fold(0.0, f64::max);
    if question.of_name && most > 0.0 {
        ranked.retain(|one| one.signs.quoted >= most);
    }
}

/// The best sentences whose lines fit the budget.
fn chosen(
    index: &Index,
    question: &ParsedQuestion,
    mut open: Vec<Ranked>,
    counter: &Counter,
) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let (mut reply, mut spent) = (String::new(), 0);
    while let Some(at) = best(index, &lines, &open) {
        let one = open.remove(at);
        let sentence = one.sentence;
        let line = line(index, question, sentence, &reply);
        if line.is_empty() || lines.iter().any(|(_, other)| *other == line) {
            continue;
        }
        // Most lines are too long for what is left, and need not be counted.
        if !lines.is_empty() && spent + counter.least(&line) + 1 > BUDGET {
            continue;
        }
        // The newline at the end of a line is one token.
        let cost = counter.count(&line) + 1;
        if spent + cost <= BUDGET {
            spent += cost;
            reply.push_str(&line);
            lines.push((sentence, line));
        } else if lines.is_empty() {
            lines.push((sentence, cut(&line, BUDGET.saturating_sub(spent), counter)));
            break;
        }
    }
    lines.retain(|(_, line)| !line.is_empty());
    lines
}

/// The position of the best sentence, given those that are already chosen.
fn best(index: &Index, lines: &[Line], open: &[Ranked]) -> Option<usize> {
    let goes_on = |one: &Ranked| {
        let before = one.sentence.checked_sub(1);
        before.is_some_and(|before| {
            index.block_of(before) == index.block_of(one.sentence)
                && lines.iter().any(|(at, _)| *at == before)
        })
    };
    let value = |one: &Ranked| one.score + if goes_on(one) { GOES_ON } else { 0.0 };
    let values = open.iter().map(value).enumerate();
    values.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(at, _)| at)
}

/// Largest difference in score to the best statement at which another statement
/// counts as being about the same subject.
const SAME: f64 = 3.0;

/// Share of the best statement's terms that such a statement must contain.
const SHARED: f64 = 0.6;

/// Of the statements that name a value of the requested form, keeps the newest:
/// a question about the present is not answered by an old value.
fn keep_newest(index: &Index, question: &ParsedQuestion, ranked: &mut Vec<Ranked>) {
    // A value outside of a user's prose was measured: only a question about the
    // current state asks for the newest one.
    let stated = |one: &&Ranked| {
        let by_user =
            index.sentence(one.sentence).prose && index.entry(one.sentence).role == Role::User;
        one.signs.formed && (by_user || question.now)
    };
    let Some(best) = ranked.iter().find(stated).copied() else { return };
    let same = |one: &&Ranked| {
        stated(one) && one.score >= best.score - SAME && one.signs.own >= SHARED * best.signs.own
    };
    let newest = ranked.iter().filter(same).map(|one| one.sentence).max().unwrap_or(best.sentence);
    let dropped: Vec<usize> =
        ranked.iter().filter(same).map(|one| one.sentence).filter(|at| *at < newest).collect();
    ranked.retain(|one| !dropped.contains(&one.sentence));
}

/// Removes sentences that a later one replaces: a sentence with a number or a
/// name and at least two terms of the question is removed if a later candidate
/// contains the same terms and another value.
fn drop_superseded(index: &Index, question: &ParsedQuestion, ranked: &mut Vec<Ranked>) {
    let terms = |at: usize| {
        let own = &index.sentence(at).terms;
        let stands = |term| own.binary_search_by_key(term, |one| one.term).is_ok();
        let held = question.terms.iter().enumerate().filter(|(_, term)| stands(term));
        held.fold(0u64, |mask, (number, _)| mask | 1 << number.min(63))
    };
    let valued = |at: usize| index.sentence(at).has_number || index.sentence(at).has_name;
    let known: Vec<(usize, u64)> = ranked
        .iter()
        .map(|one| one.sentence)
        .filter(|&at| valued(at) && !index.sentence(at).asks)
        .map(|at| (at, terms(at)))
        .collect();
    ranked.retain(|one| {
        let own = terms(one.sentence);
        let anew = |&(at, mask): &(usize, u64)| {
            at > one.sentence && mask & own == own && index.text(at) != index.text(one.sentence)
        };
        own.count_ones() < 2 || !known.iter().any(anew)
    });
}

/// A sentence as a line of the answer, with its relative dates resolved. For a
/// question about a date, the day on which the sentence was said is added,
/// unless the answer already contains that day.
fn line(index: &Index, question: &ParsedQuestion, at: usize, reply: &str) -> String {
    let text = index.text(at);
    let label = index.entry(at).speaker.map(|speaker| index.speakers[speaker].as_str());
    let spoken = label.filter(|_| question.ask != Ask::Who).and_then(|l| text.strip_prefix(l));
    let spoken = spoken.map_or(text, |spoken| spoken.trim_start_matches([':', '：', ' ']));
    let text = spaced(spoken);
    let asks_date = matches!(question.ask, Ask::When | Ask::HowLong);
    let Some(said) = index.entry(at).date.filter(|_| asks_date && !text.is_empty()) else {
        return text;
    };
    let mut means: Vec<String> = relative(&text, said).into_iter().map(|one| one.means).collect();
    if means.is_empty() && question.ask == Ask::When {
        means.push(written(said));
    }
    means.retain(|means| !reply.contains(means));
    means.dedup();
    if means.is_empty() { text } else { format!("{}: {text}", means.join("; ")) }
}

/// A text with one space in place of all white space between two words.
fn spaced(text: &str) -> String {
    let single = |pair: &[u8]| pair != b"  ";
    if text.bytes().all(|b| matches!(b, b' '..=b'~')) && text.as_bytes().windows(2).all(single) {
        return text.trim_matches(' ').to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The longest beginning of a line that fits a budget; whole words only, if the
/// script has spaces.
fn cut(line: &str, budget: u64, counter: &Counter) -> String {
    let ends: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
    let fit = ends.partition_point(|&end| counter.count(&line[..end]) <= budget);
    let kept = &line[..ends[fit.saturating_sub(1)]];
    let whole = if kept.len() == line.len() { None } else { kept.rfind(' ') };
    kept[..whole.unwrap_or(kept.len())].to_owned()
}
