//! Choices with the alternative that was turned down and the reason, by the
//! phrases that people and agents write them with: in English, Chinese and
//! Japanese.

use std::sync::LazyLock;

use regex::Regex;

use super::draft::Draft;
use super::sentences::{own, sentences};
use super::view::View;
use recap_core::model::{MessageIndex, QuestionKind, Role};

/// A choice of one thing over another.
static CHOSEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi) \b (?: use[sd]? | using | chose | choose | chosen | pick(?:ed)? | prefer(?:red)?
            | go(?:ing)?\ with | went\ with | keep | kept | opt(?:ed)?\ for | adopt(?:ed)? ) \s+
          (?<new> `[^`\n]{2,60}` | (?: [\w./@-]+ \s+ ){0,3}? [\w./@-]+ ) ,? \s+
          (?: instead\ of | rather\ than ) \s+
          (?<old> `[^`\n]{2,60}` | (?: [\w./@-]+ \s+ ){0,2}? [\w./@-]*[\w@-] )
          (?: \s* (?: [.,;:)!—–] | $ | \s (?: because | since | so\ that | as | to | for | in | when | on ) \b ) )",
    )
    .expect("the pattern is constant and valid")
});

/// A choice with its reason.
static REASON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi) \b (?: decided | chose | opted ) \s+ (?<what> (?: to | not\ to | on | for ) \s [^.;]{8,120}? )
          ,? \s+ (?: because | since ) \s+ (?<why> [^.;]{12,160} )",
    )
    .expect("the pattern is constant and valid")
});

/// The same in Chinese.
static CHOSEN_ZH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?:改用|使用|选择了?|采用|换成)(?P<new>[^，。,；;、\s]{2,20})[，,]?(?:而不是|而非|不用|代替)(?P<old>[^，。,；;、\s]{2,20})",
    )
    .expect("the pattern is constant and valid")
});

/// The same in Japanese.
static CHOSEN_JA: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?P<old>[^、。\s「」]{2,15})(?:ではなく|じゃなくて|の代わりに)、?(?P<new>[^、。\s「」]{2,20}?)(?:を|に|が|で)(?:使|選|し|決)",
    )
    .expect("the pattern is constant and valid")
});

/// A question and its answer in the result of such a tool.
static ANSWERED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""([^"\n]{8,200})"="([^"\n]{2,120})""#).expect("it is valid"));

/// Pronouns and prepositions: a phrase behind them is no name.
const OPENINGS: [&str; 22] = [
    "it", "this", "that", "them", "these", "those", "you", "me", "us", "him", "her", "for", "to",
    "in", "on", "at", "by", "from", "with", "of", "as", "just",
];

/// Words that name nothing by themselves.
const NOTHING: [&str; 24] = [
    "it",
    "this",
    "that",
    "them",
    "these",
    "those",
    "one",
    "the",
    "a",
    "an",
    "something",
    "both",
    "here",
    "there",
    "time",
    "and",
    "more",
    "other",
    "just",
    "what",
    "which",
    "having",
    "being",
    "all",
];

/// The questions about decisions.
pub(super) fn questions(view: &View<'_>) -> Vec<Vec<Draft>> {
    let mut drafts = Vec::new();
    for (at, text) in view.said(Role::User) {
        own(text).into_iter().for_each(|sentence| read(sentence, at, &mut drafts));
    }
    for (at, text) in view.said(Role::Assistant) {
        sentences(text).into_iter().for_each(|sentence| read(sentence, at, &mut drafts));
    }
    vec![answered(view), drafts]
}

/// What the user answered when the agent asked by a tool (`AskUserQuestion` of
/// Claude Code and its like).
fn answered(view: &View<'_>) -> Vec<Draft> {
    let asked =
        view.acts.iter().filter(|act| !act.failed && act.tool.to_lowercase().contains("ask"));
    let each = asked.flat_map(|act| {
        let evidence = [Some(act.message), act.result].into_iter().flatten();
        ANSWERED.captures_iter(act.output).map(move |found| {
            let question =
                format!("The agent asked the user “{}”: what was the answer?", &found[1]);
            let answer = found[2].trim().to_owned();
            Draft::new(QuestionKind::Decision, question, [answer], evidence.clone())
        })
    });
    each.collect()
}

/// Adds the questions that a sentence answers; what was decided again is asked
/// by its last decision alone.
fn read(sentence: &str, at: MessageIndex, drafts: &mut Vec<Draft>) {
    // A question decides nothing.
    if sentence.ends_with(['?', '？']) {
        return;
    }
    let found = [
        (&CHOSEN, "What is chosen instead of {old}?"),
        (&CHOSEN_ZH, "不用{old}，选了什么？"),
        (&CHOSEN_JA, "{old}の代わりに何を選びましたか。"),
    ];
    for (pattern, form) in found {
        let Some(found) = pattern.captures(sentence) else { continue };
        let part = |name: &str| found.name(name).map_or("", |part| part.as_str().trim());
        let (new, old) = (part("new"), part("old"));
        if names_something(new) && names_something(old) {
            let question = form.replace("{old}", old);
            let answer = new.trim_matches('`').to_owned();
            push(drafts, Draft::new(QuestionKind::Decision, question, [answer], [at]));
        }
    }
    if let Some(found) = REASON.captures(sentence) {
        let question = format!("Why was it decided {}?", &found["what"]);
        let answer = found["why"].trim().to_owned();
        push(drafts, Draft::new(QuestionKind::Decision, question, [answer], [at]));
    }
}

fn push(drafts: &mut Vec<Draft>, draft: Draft) {
    drafts.retain(|other| other.question != draft.question);
    drafts.push(draft);
}

/// Whether a phrase names a thing: it is in quotes of code, of a script without
/// spaces, or begins with neither a pronoun nor a preposition and is no activity.
fn names_something(phrase: &str) -> bool {
    let lower = phrase.to_lowercase();
    let mut words = lower.split_whitespace();
    let first = words.next().unwrap_or_default();
    let activity = words.next().is_none() && first.ends_with("ing");
    phrase.starts_with('`')
        || phrase.contains(recap_core::text::language::is_unspaced)
        || !first.is_empty()
            && !activity
            && !OPENINGS.contains(&first)
            && !lower.split_whitespace().all(|word| NOTHING.contains(&word))
}
