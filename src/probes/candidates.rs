//! The identifiers that requests use, before anything is known of their past.

use rustc_hash::{FxHashMap, FxHashSet};

use super::mining::MiningRules;
use super::occurrences::{Place, texts};
use super::support::Rarity;
use crate::model::{IdentifierClass, MessageIndex, Transcript};
use crate::text::bounded::last_component;
use crate::text::{IdentifierOptions, Needle, identifiers, is_generic, recompiled, restyled};

/// Identifiers that the requests use, before anything is known of their past.
pub(super) struct Candidates {
    pub(super) texts: Vec<(String, IdentifierClass)>,
    pub(super) needles: Vec<Needle>,
    /// Identifiers that give each one away while they stand near: the last
    /// segment of a dotted one, the same words in another style.
    pub(super) hints: Vec<Vec<u32>>,
    /// Request's ordinal, its message, the identifier's number.
    pub(super) uses: Vec<(u32, MessageIndex, u32)>,
}

impl Candidates {
    pub(super) fn collect(
        transcript: &Transcript,
        roots: &[&str],
        rules: &MiningRules,
        rarity: &Rarity,
    ) -> Candidates {
        let mut all = Candidates {
            texts: Vec::new(),
            needles: Vec::new(),
            hints: Vec::new(),
            uses: Vec::new(),
        };
        let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
        let mut habits = Habits::new(rules.habit_length);
        for (ordinal, request) in (0u32..).zip(transcript.requests()) {
            let mut used = used(transcript, request, &mut habits);
            used.retain(|(text, class)| !is_generic(text, *class, &|word| rarity.is_current(word)));
            used.sort();
            let mut spelled: FxHashSet<&str> = FxHashSet::default();
            for (text, class) in &used {
                if !spelled.insert(relative(text, *class, roots)) {
                    continue;
                }
                let number = all.number(text, *class, roots, &mut numbers);
                all.hint(number, roots, &mut numbers);
                all.uses.push((ordinal, request, number));
            }
        }
        all
    }

    /// Numbers the hints of an identifier, once.
    fn hint(&mut self, number: u32, roots: &[&str], numbers: &mut FxHashMap<String, u32>) {
        let (text, class) = self.texts[number as usize].clone();
        if self.hints[number as usize].is_empty() {
            self.hints[number as usize] = hints(&text, class)
                .iter()
                .map(|(hint, class)| self.number(hint, *class, roots, numbers))
                .collect();
        }
    }

    fn number(
        &mut self,
        text: &str,
        class: IdentifierClass,
        roots: &[&str],
        numbers: &mut FxHashMap<String, u32>,
    ) -> u32 {
        if let Some(&known) = numbers.get(text) {
            return known;
        }
        let number = self.texts.len() as u32;
        numbers.insert(text.to_owned(), number);
        self.texts.push((text.to_owned(), class));
        self.needles.push(Needle::new(text, class, roots));
        self.hints.push(Vec::new());
        number
    }
}

/// What gives an identifier away.
fn hints(text: &str, class: IdentifierClass) -> Vec<(String, IdentifierClass)> {
    let name = match class {
        IdentifierClass::Path => {
            return recompiled(text).map(|path| (path, class)).into_iter().collect();
        }
        IdentifierClass::Identifier => text,
        IdentifierClass::Dotted => last_component(text, class).unwrap_or(text),
        _ => return Vec::new(),
    };
    let own = (name != text).then(|| name.to_owned());
    restyled(name).into_iter().chain(own).map(|hint| (hint, IdentifierClass::Identifier)).collect()
}

/// The specific identifiers of one assistant message.
fn used<'a>(
    transcript: &'a Transcript,
    request: MessageIndex,
    habits: &mut Habits<'a>,
) -> Vec<(String, IdentifierClass)> {
    let mut used: Vec<(String, IdentifierClass)> = Vec::new();
    let mut habitual: FxHashSet<&str> = FxHashSet::default();
    let mut arguments = Vec::new();
    texts(&transcript.messages[request as usize], &mut |place, text| {
        if let Place::Argument { tool, key } = place {
            if is_measure(key) {
                return;
            }
            if habits.holds(tool, key, text) {
                habitual.insert(text.trim());
            }
            arguments.push((tool, key, text));
        }
        let options = IdentifierOptions { code: is_code(place, text) };
        for found in identifiers(text, options) {
            used.push((found.text.to_owned(), found.class));
        }
    });
    for (tool, key, text) in arguments {
        habits.learn(tool, key, text);
    }
    used.retain(|(text, class)| {
        *class == IdentifierClass::Path || !habitual.contains(text.as_str())
    });
    used
}

/// A one-line argument is code or a command; a longer one may be prose.
fn is_code(place: Place<'_>, text: &str) -> bool {
    const PROSE: &[&str] = &["description", "prompt", "subject", "query", "content", "activeForm"];
    let Place::Argument { key, .. } = place else {
        return false;
    };
    !text.trim().contains('\n') && !PROSE.contains(&key)
}

/// Arguments that say how much, not what.
fn is_measure(key: &str) -> bool {
    const MEASURES: &[&str] = &["offset", "limit", "timeout", "line", "head_limit", "depth"];
    MEASURES.contains(&key.to_ascii_lowercase().as_str())
}

/// Short values that a tool argument held before.
struct Habits<'a> {
    length: usize,
    values: FxHashSet<(&'a str, &'a str, &'a str)>,
}

impl<'a> Habits<'a> {
    fn new(length: usize) -> Habits<'a> {
        Habits { length, values: FxHashSet::default() }
    }

    fn holds(&self, tool: &'a str, key: &'a str, value: &'a str) -> bool {
        self.values.contains(&(tool, key, value.trim()))
    }

    fn learn(&mut self, tool: &'a str, key: &'a str, value: &'a str) {
        let value = value.trim();
        if value.len() <= self.length && !value.contains('/') {
            self.values.insert((tool, key, value));
        }
    }
}

/// A path by its place below the working directory, so that one request's two
/// spellings are one identifier.
fn relative<'a>(text: &'a str, class: IdentifierClass, roots: &[&str]) -> &'a str {
    if class != IdentifierClass::Path {
        return text;
    }
    roots
        .iter()
        .find_map(|root| text.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/'))
        .unwrap_or(text)
}
