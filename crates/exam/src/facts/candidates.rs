//! The identifiers that requests use, before the messages before them are considered.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;

use super::copies::{Copies, Side, Sides};
use super::declared::{Declared, Packages, defined};
use super::rarity::Rarity;
use recap_core::model::{Block, IdentifierClass, Message, MessageIndex, Session};
use recap_core::text::bounded::last_component;
use recap_core::text::{
    Identifier, IdentifierOptions, Needle, Paths, identifiers, is_generic, is_usual_file,
    recompiled, restyled,
};

/// Longest value that counts as a habit (a mode, a kind), in bytes, if the same tool argument held
/// it before.
const HABIT: usize = 40;

/// The identifiers that the requests use, before the messages before them are considered.
pub(super) struct Candidates {
    pub(super) texts: Vec<(String, IdentifierClass)>,
    pub(super) needles: Vec<Needle>,
    /// The position of each text.
    pub(super) numbers: FxHashMap<String, u32>,
    /// For each identifier, others from which it follows, in groups of which all have to be seen:
    /// the same words in another style, the folder of a file and its name.
    pub(super) hints: Vec<Vec<Vec<u32>>>,
    /// Ordinal of the request, its message, number of the identifier.
    pub(super) uses: Vec<(u32, MessageIndex, u32)>,
}

impl Candidates {
    pub(super) fn collect(session: &Session, paths: &Paths<'_>, rarity: &Rarity) -> Candidates {
        let mut all = Candidates {
            texts: Vec::new(),
            needles: Vec::new(),
            numbers: FxHashMap::default(),
            hints: Vec::new(),
            uses: Vec::new(),
        };
        let declared = Declared::new(session);
        let packages = Packages::new(session);
        let mut habits = Habits::default();
        let mut ordinals = 0u32..;
        let mut copies = Copies::default();
        let mut read = 0;
        for request in session.responses() {
            let before = &session.messages[read as usize..request as usize];
            before.iter().for_each(|message| copies.read(message));
            read = request;
            let mut used = used(session, request, &mut habits, &copies);
            if session.copied.contains(&request) {
                continue;
            }
            let Some(ordinal) = ordinals.next() else { break };
            let is_current = |word: &str| rarity.is_current(word);
            used.retain(|Used { text, class, .. }| {
                !packages.knows(text, *class)
                    && !is_generic(text, *class, &is_current, &|name| declared.declares(name))
            });
            // The sort is stable: of several occurrences of one name the first counts.
            used.sort_by(|a, b| (&a.text, a.class).cmp(&(&b.text, b.class)));
            let mut spelled: FxHashSet<&str> = FxHashSet::default();
            for Used { text, class, .. } in &used {
                if !spelled.insert(relative(text, *class, paths.roots())) {
                    continue;
                }
                let number = all.number(text, *class, paths);
                all.hint(number, paths);
                all.uses.push((ordinal, request, number));
            }
        }
        all
    }

    /// Numbers the hints of an identifier, once.
    fn hint(&mut self, number: u32, paths: &Paths<'_>) {
        let (text, class) = self.texts[number as usize].clone();
        if self.hints[number as usize].is_empty() {
            let groups = hints(&text, class);
            let mut numbered =
                |(hint, class): &(String, IdentifierClass)| self.number(hint, *class, paths);
            let groups = groups.iter().map(|all| all.iter().map(&mut numbered).collect()).collect();
            self.hints[number as usize] = groups;
        }
    }

    fn number(&mut self, text: &str, class: IdentifierClass, paths: &Paths<'_>) -> u32 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        let number = self.texts.len() as u32;
        self.numbers.insert(text.to_owned(), number);
        self.texts.push((text.to_owned(), class));
        self.needles.push(Needle::new(text, class, paths));
        self.hints.push(Vec::new());
        number
    }
}

/// Names with the class by which they are searched for.
type Names = Vec<(String, IdentifierClass)>;

/// The identifiers from which another follows, in groups of which all are needed.
fn hints(text: &str, class: IdentifierClass) -> Vec<Names> {
    let name = match class {
        IdentifierClass::Path => return path_hints(text),
        IdentifierClass::Quoted => return quote_hints(text),
        IdentifierClass::Identifier | IdentifierClass::Kebab => text,
        IdentifierClass::Dotted => last_component(text, class).unwrap_or(text),
        _ => return Vec::new(),
    };
    let own = (name != text).then(|| name.to_owned());
    // `app.net.pool` is imported from `app/net/pool.py`.
    let file = (text.matches('.').count() >= 2).then(|| text.replace('.', "/"));
    let all = restyled(name).into_iter().chain(own).chain(file);
    all.map(|hint| vec![(hint, IdentifierClass::Identifier)]).collect()
}

/// What a path follows from: its compiled name, its module, the same end in another checkout, its
/// folder and its own name.
fn path_hints(path: &str) -> Vec<Names> {
    let mut groups: Vec<Names> = Vec::new();
    groups.extend(recompiled(path).map(|path| vec![(path, IdentifierClass::Path)]));
    let Some((folder, name)) = path.trim_end_matches('/').rsplit_once('/') else {
        return groups;
    };
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let word = IdentifierClass::Identifier;
    if let [.., above, parent, _] = parts[..] {
        // An import writes the file without its extension, or with dots.
        let module = [above, parent, stem];
        groups.push(vec![(module.join("/"), word)]);
        groups.push(vec![(module.join("."), word)]);
        groups.push(vec![(format!("/{}", [above, parent, name].join("/")), word)]);
    }
    if folder.trim_start_matches('/').contains('/') {
        let mut both = vec![(folder.to_owned(), IdentifierClass::Path)];
        if !is_usual_file(name) {
            both.push((name.to_owned(), word));
        }
        groups.push(both);
    }
    groups
}

/// A quotation that is broken over two lines has one of its halves whole.
fn quote_hints(quote: &str) -> Vec<Names> {
    let blanks: Vec<usize> = quote.match_indices(' ').map(|(at, _)| at).collect();
    let Some(&middle) = blanks.get(blanks.len() / 2) else { return Vec::new() };
    let halves = [&quote[..middle], &quote[middle + 1..]];
    let long = halves.into_iter().filter(|half| half.len() >= LEAST_HALF);
    long.map(|half| vec![(half.to_owned(), IdentifierClass::Quoted)]).collect()
}

/// Fewest bytes of half a quotation that stand for the whole.
const LEAST_HALF: usize = 12;

/// An identifier at its first occurrence in a message.
struct Used {
    text: String,
    class: IdentifierClass,
    /// The side of an edit that it stands on.
    side: Option<Side>,
}

/// The specific identifiers of one assistant message.
fn used<'a>(
    session: &'a Session,
    request: MessageIndex,
    habits: &mut Habits<'a>,
    copies: &Copies,
) -> Vec<Used> {
    let mut used: Vec<Used> = Vec::new();
    let mut definitions: FxHashSet<&str> = FxHashSet::default();
    let mut habitual: FxHashSet<&str> = FxHashSet::default();
    let mut arguments = Vec::new();
    for block in &session.messages[request as usize].blocks {
        let first = used.len();
        block_texts(block, &mut |place, text| {
            if let TextKind::Argument { tool, key, listed } = place {
                let again = habits.holds(tool, key, text);
                arguments.push((tool, key, text, listed));
                // An entry of a list that was sent before is sent again.
                if has_word(key, AMOUNTS) || listed && again {
                    return;
                }
                if again {
                    habitual.insert(text.trim());
                }
            }
            named(place, text, copies, (&mut used, &mut definitions));
        });
        drop_copied(&mut used, first);
    }
    for (tool, key, text, listed) in arguments {
        habits.learn(tool, key, text, listed);
    }
    used.retain(|u| u.class == IdentifierClass::Path || !habitual.contains(u.text.as_str()));
    // What a request defines it knows, with its members, wherever else it names it.
    used.retain(|u| {
        let is_dotted = u.class == IdentifierClass::Dotted;
        let mut parts = u.text.split('.').take(if is_dotted { usize::MAX } else { 1 });
        !parts.any(|part| definitions.contains(part)) && !definitions.contains(u.text.as_str())
    });
    used
}

/// Adds the identifiers of a text that name something by themselves, and those that it defines.
fn named<'a>(
    place: TextKind<'_>,
    text: &'a str,
    copies: &Copies,
    (used, definitions): (&mut Vec<Used>, &mut FxHashSet<&'a str>),
) {
    let sides = Sides::of(place, text);
    let copied = copies.of(text);
    let options = IdentifierOptions { code: is_code(place, text) };
    let at_length =
        matches!(place, TextKind::Argument { .. }) && text.lines().nth(AT_LENGTH - 1).is_some();
    for Identifier { text: name, class, range } in identifiers(text, options) {
        let (before, after) = (&text[..range.start], &text[range.end..]);
        // An option of a program, and what a publisher put in the place of a secret.
        let option = before.ends_with("--") && class != IdentifierClass::Path;
        let next = copied.partition_point(|copy| copy.end <= range.start);
        let is_copied = copied.get(next).is_some_and(|copy| copy.start <= range.start);
        let side = sides.at(range.start);
        // What an edit takes away counts below, as what the new text repeats.
        let is_copied = is_copied && side != Some(Side::Old);
        let is_composed = at_length && !names_a_place(class) && side != Some(Side::Old);
        if option
            || is_copied
            || is_composed
            || is_mark(before, name, after)
            || is_drawn(class, before, after)
        {
            continue;
        }
        used.push(Used { text: name.to_owned(), class, side });
    }
    if place != TextKind::Said {
        definitions.extend(defined(text));
    }
}

/// Fewest lines of an argument that is written at length: of the names in such files and patches
/// readers found four in ten remembered, the others coined, copied or conventional; of what names a
/// place, and in shorter texts, seven (240 labels in eight projects).
const AT_LENGTH: usize = 12;

/// Whether identifiers of a class say where something is.
fn names_a_place(class: IdentifierClass) -> bool {
    use IdentifierClass::{Email, Hex, Path, Ticket, Url, Uuid};
    matches!(class, Path | Url | Email | Uuid | Hex | Ticket)
}

/// Whether a name stands for a text that was taken out before the recording was
/// published: `[REDACTED]`, `<EMAIL_ADDRESS>`.
fn is_mark(before: &str, name: &str, after: &str) -> bool {
    let bracketed = before.ends_with(['<', '[']) && after.starts_with(['>', ']']);
    let capitals = !name.contains(|c: char| c.is_lowercase() || matches!(c, '/' | '.'));
    let open = before.rfind(['<', '[']).map_or("", |at| &before[at + 1..]);
    let within = open.len() < 80 && !open.contains(['>', ']']) && is_redacted(open);
    bracketed && capitals || within || is_redacted(name)
}

/// Whether a name is one of very many figures on its line, as of a drawing, or in
/// the list of a page's styles.
fn is_drawn(class: IdentifierClass, before: &str, after: &str) -> bool {
    match class {
        IdentifierClass::Number | IdentifierClass::Hex => {
            let ahead = &before[before.ceil_char_boundary(before.len().saturating_sub(NEAR))..];
            let behind = &after[..after.floor_char_boundary(NEAR)];
            let (ahead, behind) = (ahead.rsplit('\n').next(), behind.split('\n').next());
            let pieces =
                [ahead, behind].into_iter().flatten().flat_map(|text| text.split([' ', ',']));
            pieces.filter(|piece| piece.contains(|c: char| c.is_ascii_digit())).count() >= FIGURES
        }
        IdentifierClass::Kebab | IdentifierClass::Quoted => {
            let open = before.rfind("class=\"").max(before.rfind("className=\""));
            open.is_some_and(|at| before.len() - at < 400 && before[at..].matches('"').count() == 1)
        }
        _ => false,
    }
}

/// Bytes on either side in which a drawing shows, and fewest figures in them.
const NEAR: usize = 200;
const FIGURES: usize = 8;

fn is_redacted(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word.eq_ignore_ascii_case("redacted"))
}

/// Drops what stands, of this block, in the old text of an edit or is copied from
/// there to the new one.
fn drop_copied(used: &mut Vec<Used>, first: usize) {
    let old = used[first..].iter().filter(|u| u.side == Some(Side::Old));
    let old: FxHashSet<String> = old.map(|u| u.text.clone()).collect();
    let mut at = 0;
    used.retain(|u| {
        at += 1;
        at <= first || u.side.is_none() || !old.contains(&u.text)
    });
}

/// A one-line argument is code or a command, unless its key or its form says
/// that it is prose; a longer one may be prose.
fn is_code(place: TextKind<'_>, text: &str) -> bool {
    let TextKind::Argument { key, .. } = place else {
        return false;
    };
    let text = text.trim();
    !text.contains('\n') && !has_word(key, PROSE) && !is_sentence(text)
}

/// Words in the keys of arguments that hold prose.
const PROSE: &[&str] = &["description", "prompt", "subject", "query", "content", "message"];

/// Words in the keys of arguments that state an amount.
const AMOUNTS: &[&str] = &["offset", "limit", "timeout", "line", "lines", "depth"];

/// Whether a key (`head_limit`, `headLimit`, `head-limit`) has one of these words.
fn has_word(key: &str, words: &[&str]) -> bool {
    let mut start = 0;
    let mut lower = false;
    let mut found = false;
    let mut word = |range: &str| found |= words.iter().any(|word| range.eq_ignore_ascii_case(word));
    for (at, c) in key.char_indices() {
        if c.is_uppercase() && lower || !c.is_alphanumeric() {
            word(&key[start..at]);
            start = if c.is_alphanumeric() { at } else { at + c.len_utf8() };
        }
        lower = c.is_lowercase();
    }
    word(&key[start..]);
    found
}

/// Whether a line is a sentence or a title: three words or more, a capital at
/// the beginning, and none of the marks that commands and code are made with.
fn is_sentence(line: &str) -> bool {
    let mut first = line.chars();
    first.next().is_some_and(char::is_uppercase)
        && first.next().is_some_and(char::is_lowercase)
        && line.split_whitespace().nth(2).is_some()
        && !line.contains(['$', '|', '=', ';', '{', '}', '<', '>', '\\'])
        && !line.contains(" -")
}

/// Short values that a tool argument held before, and entries of lists.
#[derive(Default)]
struct Habits<'a>(FxHashSet<(&'a str, &'a str, &'a str)>);

impl<'a> Habits<'a> {
    fn holds(&self, tool: &'a str, key: &'a str, value: &'a str) -> bool {
        self.0.contains(&(tool, key, value.trim()))
    }

    fn learn(&mut self, tool: &'a str, key: &'a str, value: &'a str, listed: bool) {
        let value = value.trim();
        if listed || value.len() <= HABIT && !value.contains('/') {
            self.0.insert((tool, key, value));
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

// The texts of a message that a provider would send (how-it-works §34).

/// The kind of text within a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextKind<'a> {
    /// Text of the user or the assistant.
    Said,
    /// A string inside the arguments of a call.
    Argument {
        /// The tool that is called.
        tool: &'a str,
        /// The nearest object key above the string; empty for a bare string.
        key: &'a str,
        /// Whether it is an element of a list.
        listed: bool,
    },
    /// The result of a tool.
    Result,
}

/// Calls `each` with every text, decoded string argument and result of a
/// message, in order; without reasoning and the names of tools and arguments.
pub(crate) fn texts<'a>(message: &'a Message, each: &mut dyn FnMut(TextKind<'a>, &'a str)) {
    for block in &message.blocks {
        block_texts(block, each);
    }
}

/// The same of one block.
pub(super) fn block_texts<'a>(block: &'a Block, each: &mut dyn FnMut(TextKind<'a>, &'a str)) {
    match block {
        Block::Text { text } => each(TextKind::Said, text),
        Block::ToolResult { text, .. } => each(TextKind::Result, text),
        Block::ToolCall { name, arguments, .. } => strings(name, "", false, arguments, each),
        Block::Reasoning { .. } | Block::Image { .. } => {}
    }
}

impl TextKind<'_> {
    /// Whether the text at `from` is what the agent itself searched for: it may stand nowhere.
    pub(super) fn is_searched(self, text: &str, from: usize) -> bool {
        let TextKind::Argument { key, .. } = self else { return false };
        let key = key.to_ascii_lowercase();
        if ["pattern", "regex", "glob"].iter().any(|kind| key.contains(kind)) {
            return true;
        }
        if !matches!(key.as_str(), "command" | "cmd") && !key.is_empty() {
            return false;
        }
        // The command of a pipe or a list that the place belongs to.
        let start = text[..from].rfind(['|', ';', '&', '\n']).map_or(0, |at| at + 1);
        let command = text[start..].trim_start();
        let command = command.strip_prefix("git ").unwrap_or(command);
        let program = command.split_whitespace().next().unwrap_or_default();
        matches!(program, "grep" | "egrep" | "rg" | "ag" | "ack" | "find" | "fd" | "Select-String")
    }
}

/// Hands out the texts in the arguments of a call, each with the nearest key above it.
pub(super) fn strings<'a>(
    tool: &'a str,
    key: &'a str,
    listed: bool,
    value: &'a Json,
    each: &mut dyn FnMut(TextKind<'a>, &'a str),
) {
    match value {
        Json::String(text) => each(TextKind::Argument { tool, key, listed }, text),
        Json::Array(items) => {
            for item in items {
                strings(tool, key, true, item, each);
            }
        }
        Json::Object(fields) => {
            for (key, item) in fields {
                strings(tool, key, listed, item, each);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_read_by_words_however_joined() {
        for key in ["limit", "head_limit", "headLimit", "HEAD-LIMIT", "Limit", "limitHead"] {
            assert!(has_word(key, AMOUNTS), "{key}");
        }
        for key in ["", "limits", "limitation", "outline", "path", "off_set"] {
            assert!(!has_word(key, AMOUNTS), "{key}");
        }
    }

    #[test]
    fn sentence_is_told_from_command_by_form() {
        for line in ["Mending the well-known fault", "Run the tests again."] {
            assert!(is_sentence(line), "{line}");
        }
        for line in [
            "",
            "cargo test well-known",
            "Makefile all",
            "Get-Item -Path well-known there",
            "PATH=well-known make all now",
            "NAME one two",
            "Some | other | thing",
        ] {
            assert!(!is_sentence(line), "{line}");
        }
    }
}
