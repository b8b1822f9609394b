//! The formats that a task may request, filled from a pool of units.
//!
//! Invariant: the result is at most as long as requested, counted exactly;
//! `None` if not even the empty format fits.

use super::pool::{Pool, Words, alike, words};
use super::units::{Kind, Unit};
use super::units::{cut, distilled, read};
use recap_core::tokens::Counter;
use recap_strategy::{Digest, Produced, SessionState, TaskMessage};

/// Length in bytes of the longest part of a narrative sentence.
const CLAUSE: usize = 160;

/// Largest number of entries in one list, however large the bound is.
const MOST_MEMORIES: usize = 12;

/// A reply as text, as a model would have written it.
pub(super) fn text(produced: &Produced) -> String {
    match produced {
        Produced::SessionState(state) => {
            serde_json::to_string(state).expect("plain data serialises")
        }
        Produced::Continuation(text) => text.clone(),
        Produced::Digest(digest) => digest_text(digest),
    }
}

fn digest_text(digest: &Digest) -> String {
    let memories: String = digest.memories.iter().map(|m| format!("- {m}\n")).collect();
    format!("<summary>\n{}\n</summary>\n\n<memories>\n{memories}</memories>", digest.summary)
}

/// Facts, manner, concepts and a narrative of 2–3 sentences, merged into the
/// previous state.
pub(super) fn session_state(
    messages: &[TaskMessage],
    previous: Option<&SessionState>,
    max_tokens: u64,
    counter: &Counter,
) -> Option<SessionState> {
    let count = |state: &SessionState| {
        counter.count(&serde_json::to_string(state).expect("plain data serialises"))
    };
    let spare = max_tokens.checked_sub(count(&SessionState::default()))?;
    let units = read(messages);
    let previous = previous.map(|state| without_contradicted(state, &units)).unwrap_or_default();
    let summary = narrative(&units, &previous.conversation_summary);
    let mut pool = Pool::new(units, messages.len(), counter);
    // The narrative and the quotes around each entry count towards the same
    // bound.
    let spare = spare.saturating_sub(counter.count(&summary));
    let manner = |unit: &Unit| unit.user && unit.kind == Kind::Preference;
    let concept = |unit: &Unit| unit.kind == Kind::Definition;
    let fact = |unit: &Unit| unit.kind != Kind::Action;
    let pathos = merged(&mut pool, &previous.pathos, spare * 15 / 100, manner);
    let abstract_ = merged(&mut pool, &previous.abstract_, spare * 15 / 100, concept);
    let taken: u64 = pathos.iter().chain(&abstract_).map(|text| pool.cost(text)).sum();
    let logos = merged(&mut pool, &previous.logos, spare.saturating_sub(taken), fact);
    let mut state = SessionState { logos, pathos, abstract_, conversation_summary: summary };
    while count(&state) > max_tokens {
        let lists = [&mut state.logos, &mut state.abstract_, &mut state.pathos];
        let longest = lists.into_iter().max_by_key(|list| list.len());
        match longest.filter(|list| !list.is_empty()) {
            // Newer entries are at the end; the middle contains neither the
            // oldest entries nor the newest ones.
            Some(list) => {
                list.remove(list.len() / 2);
            }
            None => state.conversation_summary = shortened(&state.conversation_summary)?,
        }
    }
    Some(state)
}

/// Previous entries first, then new ones: each side may use half of the budget
/// and what the other side does not need.
fn merged(
    pool: &mut Pool<'_>,
    previous: &[String],
    budget: u64,
    wanted: impl Fn(&Unit) -> bool,
) -> Vec<String> {
    let costs: Vec<u64> = previous.iter().map(|text| pool.cost(text)).collect();
    let all: u64 = costs.iter().sum();
    for text in previous {
        pool.say(text);
    }
    let (taken, spent) = pool.take(budget - all.min(budget / 2), wanted);
    let mut room = budget.saturating_sub(spent);
    let mut kept: Vec<String> = Vec::new();
    for (text, cost) in previous.iter().zip(costs) {
        if cost <= room {
            room -= cost;
            kept.push(text.clone());
        }
    }
    kept.extend(taken.into_iter().map(|at| pool.units[at].text.clone()));
    kept
}

/// The previous state without duplicates and without entries that a newer
/// statement on the same subject contradicts.
fn without_contradicted(state: &SessionState, units: &[Unit]) -> SessionState {
    let newer: Vec<(String, String)> =
        units.iter().filter_map(|unit| subject(&unit.text)).collect();
    let stands = |text: &String| match subject(text) {
        Some((key, value)) => match newer.iter().rev().find(|(known, _)| *known == key) {
            Some((_, now)) => *now == value,
            None => true,
        },
        None => true,
    };
    let filtered = |list: &[String]| {
        let mut kept: Vec<(String, Words)> = Vec::new();
        for text in list.iter().filter(|text| stands(text)) {
            let own = words(text);
            if !kept.iter().any(|(_, other)| alike(&own, other)) {
                kept.push((text.clone(), own));
            }
        }
        kept.into_iter().map(|(text, _)| text).collect()
    };
    SessionState {
        logos: filtered(&state.logos),
        pathos: filtered(&state.pathos),
        abstract_: filtered(&state.abstract_),
        conversation_summary: state.conversation_summary.clone(),
    }
}

/// The subject of a statement and the rest of it: `the port is | 8080`.
fn subject(text: &str) -> Option<(String, String)> {
    const VERBS: [&str; 8] =
        [" is ", " are ", " uses ", " = ", ": ", " lives in ", " runs on ", " was "];
    const EMPTY: [&str; 12] = [
        "it", "this", "that", "there", "here", "what", "error", "warning", "note", "he", "she",
        "they",
    ];
    let mut begins = memchr::memchr2_iter(b' ', b':', text.as_bytes());
    let verb = |at: usize| VERBS.into_iter().find(|verb| text[at..].starts_with(verb));
    let (at, verb) = begins.find_map(|at| Some((at, verb(at)?)))?;
    let key = text[..at].trim().to_lowercase();
    let key = key.strip_prefix("the ").unwrap_or(&key).to_owned();
    let count = key.split_whitespace().count();
    if count == 0 || count > 6 || EMPTY.contains(&key.as_str()) {
        return None;
    }
    let value = text[at + verb.len()..].trim().trim_end_matches('.').to_lowercase();
    Some((format!("{key}{verb}"), value))
}

/// Two or three sentences: the earlier events or the first request, the
/// results, and the current state.
fn narrative(units: &[Unit], previous: &str) -> String {
    let clause = |unit: &Unit| {
        let text = unit.text.trim_end_matches(['.', '!', '?', '…', ' ', ':']);
        let text = text.replace(". ", "; ").replace("! ", "; ").replace("? ", "; ");
        cut(&text, CLAUSE).trim_end().to_owned()
    };
    let asked = |unit: &&Unit| unit.user;
    let first = match previous.split_inclusive(". ").next().map(str::trim) {
        Some(before) if !before.is_empty() => Some(before.to_owned()),
        _ => units.iter().find(asked).map(|u| format!("The user began with: {}.", clause(u))),
    };
    let settled = |unit: &&Unit| matches!(unit.kind, Kind::Decision | Kind::Done);
    let middle = units.iter().rev().find(settled);
    let middle = middle.map(|u| format!("Most recently settled: {}.", clause(u)));
    let last = units.iter().rev().find(asked).or(units.last());
    let last = last.map(|u| format!("It left off at: {}.", clause(u)));
    let sentences: Vec<String> = [first, middle, last].into_iter().flatten().collect();
    match sentences.as_slice() {
        [] => "Nothing of substance was said. The conversation goes on.".to_owned(),
        [only] => format!("{only} The conversation goes on from there."),
        several => several.join(" "),
    }
}

/// The first half of a text; `None` if nothing is left.
fn shortened(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| cut(text, text.len() / 2).trim_end().to_owned())
}

/// The subject of a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Topic {
    Accomplished,
    Current,
    Files,
    Next,
    Context,
}

impl Topic {
    fn of(heading: &str) -> Self {
        let heading = heading.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| heading.contains(word));
        if has(&["file", "modified"]) {
            Topic::Files
        } else if has(&["accomplish", "done", "did so far", "completed"]) {
            Topic::Accomplished
        } else if has(&["currently", "working on", "current"]) {
            Topic::Current
        } else if has(&["plan", "next", "todo", "remaining"]) {
            Topic::Next
        } else {
            Topic::Context
        }
    }

    fn wants(self, unit: &Unit, messages: usize) -> bool {
        let recent = unit.message * 4 >= messages * 3;
        match self {
            Topic::Accomplished => matches!(unit.kind, Kind::Done | Kind::Action),
            Topic::Current => {
                recent && (unit.user || matches!(unit.kind, Kind::Statement | Kind::Problem))
            }
            Topic::Files => unit.kind == Kind::Change,
            Topic::Next => unit.kind == Kind::Plan,
            Topic::Context => !matches!(unit.kind, Kind::Action | Kind::Change),
        }
    }

    /// Share of the bound in per cent.
    fn share(self) -> u64 {
        match self {
            Topic::Accomplished | Topic::Files => 20,
            Topic::Current | Topic::Next => 12,
            Topic::Context => 36,
        }
    }
}

/// Bullets under each of the headings; only bullets if the headings would take
/// more than half of the bound, as they do at small windows.
pub(super) fn continuation(
    messages: &[TaskMessage],
    headings: &[String],
    max_tokens: u64,
    counter: &Counter,
) -> Option<String> {
    let frame: u64 = headings.iter().map(|h| counter.count(&format!("## {h}\n\n"))).sum();
    let mut pool = Pool::new(read(messages), messages.len(), counter);
    if frame * 2 > max_tokens && (frame > max_tokens || !pool.units.is_empty()) {
        // A conversation without a sentence for a summary is represented by its
        // newest text: a failed reply would be requested again at every
        // message.
        let newest = pool.units.last().map_or_else(|| newest(messages), |unit| unit.text.clone());
        return bullets(pool, &newest, max_tokens, counter);
    }
    let spare = max_tokens.checked_sub(frame)?;
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); headings.len()];
    let topics: Vec<Topic> = headings.iter().map(|heading| Topic::of(heading)).collect();
    // Rare units are chosen first; decisions and context take the rest.
    let mut order: Vec<usize> = (0..headings.len()).collect();
    order.sort_by_key(|&at| (topics[at].share(), at));
    let mut spent = 0;
    for at in order {
        let topic = topics[at];
        let room = match topic {
            Topic::Context => spare - spent,
            _ => (spare * topic.share() / 100).min(spare - spent),
        };
        let (taken, cost) = pool.take(room, |unit| topic.wants(unit, messages.len()));
        parts[at] = taken;
        spent += cost;
    }
    let mut parts: Vec<Vec<String>> = parts
        .into_iter()
        .map(|part| part.into_iter().map(|at| pool.units[at].text.clone()).collect())
        .collect();
    loop {
        let text = sections(headings, &parts);
        if counter.count(&text) <= max_tokens {
            return Some(text);
        }
        let longest = parts.iter_mut().max_by_key(|part| part.len()).filter(|p| !p.is_empty())?;
        longest.remove(0);
    }
}

/// The first line of the newest message that has one.
fn newest(messages: &[TaskMessage]) -> String {
    let mut lines = messages.iter().rev().flat_map(|message| message.text.lines());
    lines.find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
}

/// The best units of a conversation without headings; if no sentence fits, the
/// beginning of the newest text.
fn bullets(mut pool: Pool<'_>, newest: &str, max_tokens: u64, counter: &Counter) -> Option<String> {
    let (taken, _) = pool.take(max_tokens, |_| true);
    let mut lines: Vec<String> =
        taken.iter().map(|&at| format!("- {}", pool.units[at].text)).collect();
    while counter.count(&lines.join("\n")) > max_tokens {
        lines.remove(0);
    }
    if !lines.is_empty() {
        return Some(lines.join("\n"));
    }
    let words: Vec<&str> = newest.split_whitespace().collect();
    let beginnings = (1..=words.len()).rev().map(|count| format!("- {}", words[..count].join(" ")));
    beginnings.into_iter().find(|line| counter.count(line) <= max_tokens)
}

fn sections(headings: &[String], parts: &[Vec<String>]) -> String {
    let section = |(heading, bullets): (&String, &Vec<String>)| {
        let lines: String = bullets.iter().map(|bullet| format!("\n- {bullet}")).collect();
        format!("## {heading}{lines}")
    };
    headings.iter().zip(parts).map(section).collect::<Vec<_>>().join("\n\n")
}

/// A summary that continues the rolling one, and memories that are not recorded
/// yet.
pub(super) fn digest(
    messages: &[TaskMessage],
    rolling: Option<&str>,
    known: &[String],
    max_tokens: u64,
    counter: &Counter,
) -> Option<Digest> {
    let frame = counter.count(&digest_text(&Digest::default()));
    let spare = max_tokens.checked_sub(frame)?;
    let mut units = rolling.map(distilled).unwrap_or_default();
    units.extend(read(messages));
    let mut pool = Pool::new(units, messages.len(), counter);
    for memory in known {
        pool.say(memory);
    }
    let durable = |unit: &Unit| {
        let settled = matches!(unit.kind, Kind::Decision | Kind::Definition);
        (unit.user && unit.kind == Kind::Preference) || (settled && !unit.distilled)
    };
    let (mut memories, spent) = pool.take(spare / 5, durable);
    memories.truncate(MOST_MEMORIES);
    let (old, carried) = pool.take((spare - spent) / 2, |unit| unit.distilled);
    let said = |unit: &Unit| !unit.distilled && unit.kind != Kind::Action;
    let (new, _) = pool.take(spare - spent - carried, said);
    let texts = |list: Vec<usize>| list.into_iter().map(|at| pool.units[at].text.clone());
    let mut lines: Vec<String> = texts(old).chain(texts(new)).map(|t| format!("- {t}")).collect();
    let mut digest = Digest { summary: String::new(), memories: texts(memories).collect() };
    loop {
        digest.summary = lines.join("\n");
        if counter.count(&digest_text(&digest)) <= max_tokens {
            return Some(digest);
        }
        if lines.is_empty() {
            digest.memories.pop()?;
        } else {
            lines.remove(lines.len() / 2);
        }
    }
}
