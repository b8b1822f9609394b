//! What the user answered when the agent asked by a tool, and choices of one
//! named thing over another, by the phrases that people and agents write them
//! with: in English, Chinese and Japanese.

use serde_json::Value as Json;

use super::draft::Draft;
use super::sentences::{own, sentences};
use super::view::View;
use recap_core::model::call::text_argument;
use recap_core::model::{MessageIndex, QuestionKind, Role};
use recap_core::text::language::is_unspaced;
use recap_core::text::{Pattern, pattern};

/// A choice of one thing over another.
static CHOSEN: Pattern = pattern!(
    r"(?xi) \b (?: use[sd]? | using | chose | choose | chosen | pick(?:ed)? | prefer(?:red)?
            | go(?:ing)?\ with | went\ with | keep | kept | opt(?:ed)?\ for | adopt(?:ed)? ) \s+
          (?<new> `[^`\n]{2,60}` | (?: [\w./@-]+ \s+ ){0,3}? [\w./@-]+ ) ,? \s+
          (?: instead\ of | rather\ than ) \s+
          (?<old> `[^`\n]{2,60}` | (?: [\w./@-]+ \s+ ){0,2}? [\w./@-]*[\w@-] )
          (?: \s* (?: [.,;:)!—–] | $ | \s (?: because | since | so\ that | as | to | for | in | when | on ) \b ) )"
);

/// What makes such a sentence no choice.
static OPEN: Pattern = pattern!(
    r"(?i)\b(?:not|if|could|can|might|would|should we|option|alternatively|or)\b|n['’]t\b"
);

/// The same in Chinese.
static CHOSEN_ZH: Pattern = pattern!(
    r"(?:改用|使用|选择了?|采用|换成)(?P<new>[^，。,；;、\s]{2,20})[，,]?(?:而不是|而非|不用|代替)(?P<old>[^，。,；;、\s]{2,20})"
);

/// The same in Japanese.
static CHOSEN_JA: Pattern = pattern!(
    r"(?P<old>[^、。\s「」]{2,15})(?:ではなく|じゃなくて|の代わりに)、?(?P<new>[^、。\s「」]{2,20}?)(?:を|に|が|で)(?:使|選|し|決)"
);

/// A question and its answer in the result of such a tool.
static ANSWERED: Pattern = pattern!(r#""([^"\n]{8,200})"="([^"\n]{2,120})""#);

/// Answers that leave it to the agent, or that are one of two and guessed easily.
static UNDECIDED: Pattern = pattern!(
    r"(?i)^(?:yes|no|ok|okay|sure)\b|\b(?:you decide|up to you|your (?:call|choice)|no preference|either)\b"
);

/// The questions about decisions.
pub(super) fn questions(view: &View<'_>) -> Vec<Vec<Draft>> {
    let mut drafts = Vec::new();
    for (at, text) in view.said(Role::User) {
        own(text).iter().for_each(|sentence| read(sentence, at, &mut drafts));
    }
    for (at, text) in view.said(Role::Assistant) {
        sentences(text).iter().for_each(|sentence| read(sentence, at, &mut drafts));
    }
    vec![answered(view), drafts]
}

/// What the user answered when the agent asked by a tool (`AskUserQuestion` of
/// Claude Code and its like). The call only offers the answer: the result alone
/// gives it, and what else was offered is wrong.
fn answered(view: &View<'_>) -> Vec<Draft> {
    let asks = |tool: &str| ["ask", "question"].iter().any(|part| tool.contains(part));
    let asked = view.acts.iter().filter(|act| act.is_done() && asks(&act.tool.to_lowercase()));
    let each = asked.flat_map(|act| {
        ANSWERED.captures_iter(act.output).filter_map(move |found| {
            let (asked, answer) = (&found[1], advised(&found[2]));
            if UNDECIDED.is_match(answer) {
                return None;
            }
            let question = format!("The agent asked the user “{asked}”: what was the answer?");
            let mut others = offered(act.arguments, asked);
            others.retain(|other| !answer.contains(other) && !other.contains(answer));
            let answer = [answer.to_owned()];
            let draft = Draft::new(QuestionKind::Decision, question, answer, act.result);
            Some(draft.with_stale(others))
        })
    });
    each.collect()
}

/// The labels that were offered as answers to a question.
fn offered(arguments: &Json, asked: &str) -> Vec<String> {
    let questions = arguments.get("questions").and_then(Json::as_array).into_iter().flatten();
    let own = questions
        .filter(|one| text_argument(one, &["question"]).is_some_and(|said| said.trim() == asked));
    let options = own.filter_map(|one| one.get("options")?.as_array()).flatten();
    options
        .filter_map(|option| Some(advised(text_argument(option, &["label"])?).to_owned()))
        .collect()
}

/// An option without what the agent adds to the one that it advises.
fn advised(option: &str) -> &str {
    option.trim().trim_end_matches("(Recommended)").trim()
}

/// Adds the question that a sentence answers; what was decided again is asked
/// by its last decision alone.
fn read(sentence: &str, at: MessageIndex, drafts: &mut Vec<Draft>) {
    if sentence.ends_with(['?', '？']) || OPEN.is_match(sentence) {
        return;
    }
    let found = [
        (&CHOSEN, "What is used instead of {old}?"),
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
            drafts.retain(|other| other.question != question);
            drafts.push(Draft::new(QuestionKind::Decision, question, [answer], [at]));
        }
    }
}

/// Whether a phrase is the name of a thing: it is in quotes of code, of a script
/// without spaces, or one word that is spelled as names are.
fn names_something(phrase: &str) -> bool {
    let is_sign = |c: char| c.is_uppercase() || c.is_ascii_digit() || "_./@".contains(c);
    phrase.starts_with('`')
        || phrase.contains(is_unspaced)
        || !phrase.contains(' ') && phrase.contains(is_sign)
}
