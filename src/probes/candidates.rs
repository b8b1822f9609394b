//! The identifiers that requests use, before the messages before them are considered.

use rustc_hash::{FxHashMap, FxHashSet};

use super::declared::{Declared, binding, is_old, patch};
use super::occurrences::{Place, texts};
use super::support::Rarity;
use crate::model::{IdentifierClass, MessageIndex, Transcript};
use crate::text::bounded::last_component;
use crate::text::{
    Identifier, IdentifierOptions, Needle, identifiers, is_generic, recompiled, restyled,
};

/// What makes an identifier a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MiningRules {
    /// Smallest number of tokens between the end of the message that last held
    /// it and the request (measures §4: 4,000, whatever the window).
    pub min_distance: u64,
    /// Longest value that counts as a habit (a mode, a kind), in characters, if
    /// the same tool argument held it before.
    pub habit_length: usize,
}

impl Default for MiningRules {
    fn default() -> MiningRules {
        MiningRules { min_distance: 4_000, habit_length: 40 }
    }
}

/// The identifiers that the requests use, before the messages before them are considered.
pub(super) struct Candidates {
    pub(super) texts: Vec<(String, IdentifierClass)>,
    pub(super) needles: Vec<Needle>,
    /// For each identifier, others from which it can be guessed: the last
    /// segment of a dotted one, the same words in another style.
    pub(super) hints: Vec<Vec<u32>>,
    /// Ordinal of the request, its message, number of the identifier.
    pub(super) uses: Vec<(u32, MessageIndex, u32)>,
    /// The line that defines an identifier where a request first uses it: a
    /// name of its own, unless an earlier message has the line.
    pub(super) bound: FxHashMap<(u32, u32), String>,
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
            bound: FxHashMap::default(),
        };
        let declared = Declared::new(transcript);
        let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
        let mut habits = Habits::new(rules.habit_length);
        for (ordinal, request) in (0u32..).zip(transcript.requests()) {
            let mut used = used(transcript, request, &mut habits);
            let is_current = |word: &str| rarity.is_current(word);
            used.retain(|u| {
                let declares = |name: &str| u.is_old || declared.declares(name);
                !is_generic(&u.text, u.class, &is_current, &declares)
            });
            // The sort is stable: of several occurrences of one name the first counts.
            used.sort_by(|a, b| (&a.text, a.class).cmp(&(&b.text, b.class)));
            let mut spelled: FxHashSet<&str> = FxHashSet::default();
            for Used { text, class, bound, .. } in &used {
                if !spelled.insert(relative(text, *class, roots)) {
                    continue;
                }
                let number = all.number(text, *class, roots, &mut numbers);
                all.hint(number, roots, &mut numbers);
                all.uses.push((ordinal, request, number));
                if let Some(line) = bound {
                    all.bound.insert((ordinal, number), line.clone());
                }
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

/// The identifiers from which another can be guessed.
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

/// An identifier at its first occurrence in a message.
struct Used {
    text: String,
    class: IdentifierClass,
    /// The line that defines it there.
    bound: Option<String>,
    /// Whether it is in the text that an edit removes or keeps.
    is_old: bool,
}

/// The specific identifiers of one assistant message.
fn used<'a>(
    transcript: &'a Transcript,
    request: MessageIndex,
    habits: &mut Habits<'a>,
) -> Vec<Used> {
    let mut used: Vec<Used> = Vec::new();
    let mut habitual: FxHashSet<&str> = FxHashSet::default();
    let mut arguments = Vec::new();
    texts(&transcript.messages[request as usize], &mut |place, text| {
        if let Place::Argument { tool, key, listed } = place {
            let again = habits.holds(tool, key, text);
            arguments.push((tool, key, text, listed));
            // An entry of a list that was sent before is sent again.
            if is_measure(key) || is_attached(tool, key) || listed && again {
                return;
            }
            if again {
                habitual.insert(text.trim());
            }
        }
        let key = if let Place::Argument { key, .. } = place { Some(key) } else { None };
        let patch = patch(text);
        let options = IdentifierOptions { code: is_code(place, text) };
        for Identifier { text: name, class, range } in identifiers(text, options) {
            let binds = key.is_some() && class == IdentifierClass::Identifier;
            let line = binds.then(|| binding(text, range.start, range.end)).flatten();
            let is_old = key.is_some_and(|key| is_old(key, text, patch, range.start));
            let (text, bound) = (name.to_owned(), line.map(str::to_owned));
            used.push(Used { text, class, bound, is_old });
        }
    });
    for (tool, key, text, listed) in arguments {
        habits.learn(tool, key, text, listed);
    }
    used.retain(|u| u.class == IdentifierClass::Path || !habitual.contains(u.text.as_str()));
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

/// Arguments that a harness adds to a call from a file: Claude Code's plan.
fn is_attached(tool: &str, key: &str) -> bool {
    tool == "ExitPlanMode" && key == "plan"
}

/// Arguments that state an amount.
fn is_measure(key: &str) -> bool {
    const MEASURES: &[&str] = &["offset", "limit", "timeout", "line", "head_limit", "depth"];
    MEASURES.contains(&key.to_ascii_lowercase().as_str())
}

/// Short values that a tool argument held before, and entries of lists.
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

    fn learn(&mut self, tool: &'a str, key: &'a str, value: &'a str, listed: bool) {
        let value = value.trim();
        if listed || value.len() <= self.length && !value.contains('/') {
            self.values.insert((tool, key, value));
        }
    }
}

/// A path relative to the working directory, so that two spellings of it in one
/// request are one identifier.
fn relative<'a>(text: &'a str, class: IdentifierClass, roots: &[&str]) -> &'a str {
    if class != IdentifierClass::Path {
        return text;
    }
    roots
        .iter()
        .find_map(|root| text.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/'))
        .unwrap_or(text)
}
