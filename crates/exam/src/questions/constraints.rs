//! Standing instructions: what the user said must always or never be done. The
//! rules of files such as CLAUDE.md and AGENTS.md are not asked: agents send
//! these files with every request, so that they need not be remembered.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::draft::Draft;
use super::sentences::own;
use super::view::View;
use recap_core::model::{MessageIndex, QuestionKind, Role};
use recap_core::text::language::{is_stop, is_unspaced};

/// A sentence that tells somebody what must always or never be done.
static RULE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi) ^ (?: (?: please | also | and | but | so | then | ok(?:ay)? | just ) [\s,]+ )*
            (?: always | never | don['’]?t | do\ not | make\ sure | ensure | avoid | only
              | prefer | remember\ to | be\ sure\ to | be\ careful | no\ need\ to | under\ no
              | from\ now\ on ) \b
          | \b (?: you\ must | must\ (?: not | always | never | be | only ) | mustn['’]t
              | should\ (?: always | never | only | not ) | shouldn['’]t | from\ now\ on
              | i\ want\ you\ to\ (?: always | never ) | under\ no\ circumstances ) \b
          | 不要 | 必须 | 务必 | 一定要 | 禁止 | 请勿 | 必ず | しないで | 禁止",
    )
    .expect("the pattern is constant and valid")
});

/// What such a sentence often is when it is no rule.
static NO_RULE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:don['’]?t (?:worry|know|think|mind|see|understand|have|need|care|feel|get|like)|never ?mind|do not (?:know|think|see|have))\b|\?$",
    )
    .expect("the pattern is constant and valid")
});

/// The beginnings of messages that Claude Code adds: to local commands, and with
/// the text of a skill.
const ADDED: [&str; 2] = ["Caveat: The messages below", "Base directory for this skill:"];

/// Words of a rule: fewest and most.
const WORDS: (usize, usize) = (6, 45);
/// Most rules in the question about all of them.
const LISTED: usize = 12;

/// A rule and the message that states it.
struct Rule<'a> {
    text: &'a str,
    at: MessageIndex,
}

/// The questions about standing instructions.
pub(super) fn questions(view: &View<'_>) -> Vec<Vec<Draft>> {
    // Where nothing is done, an imperative is talk.
    if view.acts.is_empty() {
        return Vec::new();
    }
    let rules = rules(view);
    let continued = rules.iter().filter_map(|rule| continued(rule, &rules)).collect();
    let mut all = Vec::new();
    let newest = &rules[rules.len().saturating_sub(LISTED)..];
    if !newest.is_empty() {
        let parts = newest.iter().map(|rule| format!("It keeps to: {}", rule.text)).collect();
        let question = "Continue with the task: what do you do next, and which standing instructions do you keep to?";
        let evidence = newest.iter().map(|rule| rule.at);
        all.push(Draft::rubric(QuestionKind::Constraint, question.to_owned(), parts, evidence));
    }
    vec![continued, all]
}

fn rules<'a>(view: &View<'a>) -> Vec<Rule<'a>> {
    let mut rules: Vec<Rule<'a>> = Vec::new();
    let is_added = |text: &str| ADDED.iter().any(|added| text.trim_start().starts_with(added));
    for (at, text) in view.said(Role::User).filter(|(_, text)| !is_added(text)) {
        let found = own(text).into_iter().filter(|sentence| is_rule(sentence));
        rules.extend(found.map(|text| Rule { text, at }));
    }
    let mut seen = std::collections::BTreeSet::new();
    rules.retain(|rule| seen.insert(rule.text) && !view.states_any(&[rule.text.to_owned()]));
    rules
}

fn is_rule(sentence: &str) -> bool {
    let words = words(sentence).len();
    (WORDS.0..=WORDS.1).contains(&words)
        && RULE.is_match(sentence)
        && !NO_RULE.is_match(sentence)
        && !sentence.contains(['{', '}', '→'])
}

/// The words of a sentence by their places; of scripts without spaces each
/// character is one.
fn words(text: &str) -> Vec<Range<usize>> {
    if text.contains(is_unspaced) {
        return text.char_indices().map(|(at, c)| at..at + c.len_utf8()).collect();
    }
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match start {
            Some(from) if c.is_whitespace() => {
                words.push(from..at);
                start = None;
            }
            None if !c.is_whitespace() => start = Some(at),
            _ => {}
        }
    }
    words
}

/// Asks how a rule goes on: the rest of it is the answer.
fn continued(rule: &Rule<'_>, rules: &[Rule<'_>]) -> Option<Draft> {
    let words = words(rule.text);
    let opening = (words.len() * 2 / 5).max(3).max(past_cue(rule.text, &words));
    let (begins, rest) = rule.text.split_at(words.get(opening)?.start);
    let begins = begins.trim_end();
    let same = |other: &&Rule<'_>| other.text.to_lowercase().contains(&begins.to_lowercase());
    if rules.iter().filter(same).count() > 1 {
        return None;
    }
    let rest = rest.trim().trim_end_matches(['.', '!', '。', '！']).trim_matches('"');
    let telling = rest.split_whitespace().filter(|word| !is_stop(&word.to_lowercase())).count();
    let question = format!("One standing instruction begins with “{begins}”: how does it go on?");
    let unspaced = rest.contains(is_unspaced);
    (telling > 2 || unspaced)
        .then(|| Draft::new(QuestionKind::Constraint, question, [rest.to_owned()], [rule.at]))
}

/// Words up to two behind the cue of a rule and to the first that tells
/// something, if the cue is among the first words: `You should always` or `Make
/// sure all these` could go on in any way.
fn past_cue(text: &str, words: &[Range<usize>]) -> usize {
    let cue = RULE.find(text).map_or(0..0, |cue| cue.range());
    let behind = |at: usize| words.iter().filter(|word| word.start < at).count();
    if behind(cue.start) > 2 {
        return 0;
    }
    let from = behind(cue.end);
    let tells = |word: &Range<usize>| !is_stop(&text[word.clone()].to_lowercase());
    let first = words[from.min(words.len())..].iter().position(tells).unwrap_or(words.len());
    from + (first + 1).max(2)
}
