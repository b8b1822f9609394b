//! Standing instructions: what the user said must always or never be done. The
//! rules of files such as CLAUDE.md and AGENTS.md are not asked: agents send
//! these files with every request, so that they need not be remembered.

use std::ops::Range;

use super::draft::Draft;
use super::sentences::own;
use super::view::View;
use recap_core::model::{MessageIndex, QuestionKind, Role};
use recap_core::text::language::{is_stop, is_unspaced};
use recap_core::text::{Pattern, pattern};

/// A sentence that tells the agent what must always or never be done.
static RULE: Pattern = pattern!(
    r"(?xi) ^ (?: (?: please | also | and | but | so | remember (?:\ to)? | make\ sure\ to
              | you\ (?: must | should ) | i\ want\ you\ to ) [\s,]+ )*
            (?: always | never | do\ not | don['’]t | avoid | prefer | must\ not
              | must\ (?: always | never ) ) \b
          | ^ (?: from\ now\ on | going\ forward | under\ no\ circumstances
              | (?: whenever | (?: every | each ) \ time ) \ you ) \b
          | 务必 | 禁止 | 请勿 | 始终 | 今后 | 每次都 | 必ず | 常に | 毎回 | 今後"
);

/// What such a sentence often is when it does not stand: talk, or a wish about
/// what is at hand, which ends with it.
static PASSING: Pattern = pattern!(
    r"(?xi) \b(?: (?: don['’]t | do\ not ) \s (?: worry | know | think | mind | see | understand
              | have | need | care | feel | get | like | want | believe | remember )
            | it | its | this | these | that['’]s | here | above | below | yet | now | until | first
            | today | again | instead | anymore | so\ far | for\ the\ moment | the\ (?: current | following ) )\b"
);

/// Words that make a wish stand, whatever it is about.
static STANDS: Pattern =
    pattern!(r"(?i)\b(?:always|n?ever|from now on|going forward|(?:every|each) time|whenever)\b");

/// The beginnings of messages that Claude Code adds: to local commands, with the
/// text of a skill, and for a conversation that it compacted.
const ADDED: [&str; 3] = [
    "Caveat: The messages below",
    "Base directory for this skill:",
    "This session is being continued",
];

/// Words of a rule: fewest and most.
const WORDS: (usize, usize) = (6, 45);
/// Most rules in the question about all of them.
const LISTED: usize = 12;

/// A rule and the message that states it.
struct Rule {
    text: String,
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
        let question = "Which standing instructions of the user must you keep to from here on?";
        let evidence = newest.iter().map(|rule| rule.at);
        all.push(Draft::rubric(QuestionKind::Constraint, question.to_owned(), parts, evidence));
    }
    vec![continued, all]
}

fn rules(view: &View<'_>) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    let is_added = |text: &str| ADDED.iter().any(|added| text.trim_start().starts_with(added));
    for (at, text) in view.said(Role::User).filter(|(_, text)| !is_added(text)) {
        let found = own(text).into_iter().filter(|sentence| is_rule(sentence));
        rules.extend(found.map(|text| Rule { text, at }));
    }
    let mut seen = std::collections::BTreeSet::new();
    rules.retain(|rule| {
        seen.insert(rule.text.clone()) && !view.states_any(std::slice::from_ref(&rule.text))
    });
    rules
}

fn is_rule(sentence: &str) -> bool {
    (WORDS.0..=WORDS.1).contains(&words(sentence).len())
        && RULE.is_match(sentence)
        && (!PASSING.is_match(sentence) || STANDS.is_match(sentence))
        && !sentence.contains(['{', '}', '→', '?', '？'])
        // What leads to a list, or leaves something out, is no whole sentence.
        && !sentence.ends_with(':')
        && !sentence.contains("...")
        && !["do that", "do this", "do it"].iter().any(|vague| sentence.contains(vague))
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
fn continued(rule: &Rule, rules: &[Rule]) -> Option<Draft> {
    let words = words(&rule.text);
    let opening = (words.len() * 2 / 5).max(3).max(past_cue(&rule.text, &words));
    let (begins, rest) = rule.text.split_at(words.get(opening)?.start);
    let begins = begins.trim_end();
    let same = |other: &&Rule| other.text.to_lowercase().contains(&begins.to_lowercase());
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

/// Words up to two after the cue of a rule and to the first that tells
/// something, if the cue is among the first words: `You should always` or `Make
/// sure all these` could go on in any way.
fn past_cue(text: &str, words: &[Range<usize>]) -> usize {
    let cue = RULE.find(text).map_or(0..0, |cue| cue.range());
    let words_before = |at: usize| words.iter().filter(|word| word.start < at).count();
    if words_before(cue.start) > 2 {
        return 0;
    }
    let from = words_before(cue.end);
    let tells = |word: &Range<usize>| !is_stop(&text[word.clone()].to_lowercase());
    let first = words[from.min(words.len())..].iter().position(tells).unwrap_or(words.len());
    from + (first + 1).max(2)
}
