//! The names that a question quotes, and where a context has them.
//!
//! Who asks for `limit` in `app.toml` means these names exactly. In sessions of
//! agents a sentence with a quoted name fits best, then the other sentences of
//! its message and of the results that follow it, since an agent names what it
//! works on in the call and finds the answer in the result.

use memchr::memmem::Finder;

use super::index::Index;
use recap_core::model::Role;

/// Most names of a question that count.
const MOST: usize = 8;

/// A name that a question quotes, with what finds it.
#[derive(Clone, Debug)]
pub(super) struct Name {
    whole: Finder<'static>,
    /// The last part of a path or of a field.
    tail: Option<Finder<'static>>,
}

impl Name {
    fn new(name: &str) -> Self {
        let tail = tail(name).map(|tail| Finder::new(tail).into_owned());
        Self { whole: Finder::new(name).into_owned(), tail }
    }

    /// Whether a text has the name: as it is, or the last part of a path or of a
    /// field, which is all that a summary may keep.
    fn is_in(&self, text: &str) -> bool {
        self.whole.find(text.as_bytes()).is_some()
            || self.tail.as_ref().is_some_and(|tail| bounded(text, tail))
    }

    /// Whether a text has the name as the key of a value.
    fn is_key(&self, text: &str) -> bool {
        self.whole.find_iter(text.as_bytes()).any(|at| {
            let begins = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let rest = text[at + self.whole.needle().len()..].trim_start_matches(['"', '\'']);
            let rest = rest.trim_start();
            let assigns = rest.starts_with('=') && !rest.starts_with("==");
            begins && (assigns || rest.starts_with(':') && !rest.starts_with("::"))
        })
    }
}

/// The names that a question quotes.
pub(super) fn names(question: &str) -> Vec<Name> {
    quoted(question).iter().map(|name| Name::new(name)).collect()
}

/// The texts in backquotes, and those in curly quotes.
fn quoted(question: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = question;
    while let Some(open) = rest.find(['`', '“']) {
        let close = if rest[open..].starts_with('`') { '`' } else { '”' };
        let width = rest[open..].chars().next().map_or(1, char::len_utf8);
        let inner = &rest[open + width..];
        let Some(end) = inner.find(close) else { break };
        let name = inner[..end].trim();
        if name.chars().count() > 1 && names.len() < MOST {
            names.push(name.to_owned());
        }
        rest = &inner[end + close.len_utf8()..];
    }
    names
}

fn tail(name: &str) -> Option<&str> {
    if name.contains(char::is_whitespace) {
        return None;
    }
    let path = name.trim_end_matches('/').rsplit_once('/').map(|(_, tail)| tail);
    let field = || name.rsplit_once('.').filter(|(before, _)| !before.is_empty());
    // `app.toml` is a file, `order.status` a field: only the field has a longer end.
    path.or_else(|| field().map(|(_, tail)| tail).filter(|tail| tail.len() > 5))
        .filter(|tail| tail.len() > 3)
}

/// Whether a name stands in a text as a word of its own.
fn bounded(text: &str, name: &Finder<'_>) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let alone = |at: usize| {
        !text[..at].ends_with(word) && !text[at + name.needle().len()..].starts_with(word)
    };
    name.find_iter(text.as_bytes()).any(alone)
}

/// Where the names of a question stand in a context.
#[derive(Debug, Default)]
pub(super) struct Anchors<'a> {
    names: &'a [Name],
    /// For each passage, how many names its message or the call before it has.
    scopes: Vec<u32>,
    /// The passages of the scope that holds most names, the newest one.
    newest: usize,
    end: usize,
}

impl<'a> Anchors<'a> {
    /// Looks for the names that a question quotes.
    pub(super) fn new(index: &Index, names: &'a [Name]) -> Self {
        if names.is_empty() || !index.speakers.is_empty() {
            return Anchors::default();
        }
        let mut scopes: Vec<u32> = Vec::with_capacity(index.entries.len());
        let (mut call, mut started, mut newest) = (0u64, 0, (0, 0));
        for (at, entry) in index.entries.iter().enumerate() {
            let own = mask(names, &entry.analysed.text);
            if entry.role != Role::Tool {
                (call, started) = (own, at);
            }
            let held = (own | call).count_ones();
            // What an agent did stands in its calls, not in what it read.
            let acts = own > 0 && entry.analysed.calls;
            newest = newest.max((2 * held + u32::from(acts), started));
            scopes.push(held);
        }
        let newest = newest.1;
        let others = index.entries.iter().skip(newest + 1);
        let end = newest + 1 + others.take_while(|entry| entry.role == Role::Tool).count();
        Anchors { names, scopes, newest, end }
    }

    /// Whether the question quotes names.
    pub(super) fn any(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether the context has none of them, so that it cannot answer.
    pub(super) fn missing(&self) -> bool {
        self.any() && self.scopes.iter().all(|held| *held == 0)
    }

    /// The share of the names that a sentence has, and that its scope has; with
    /// `newest`, only of the newest scope with most names.
    pub(super) fn shares(&self, passage: usize, sentence: &str, newest: bool) -> (f64, f64) {
        if !self.any() || newest && !self.is_newest(passage) {
            return (0.0, 0.0);
        }
        let all = self.names.len() as f64;
        let own = f64::from(mask(self.names, sentence).count_ones());
        (own / all, f64::from(self.scopes[passage]) / all)
    }

    /// Whether a sentence has one of the names as the key of a value: `"limit": 3`,
    /// `limit = 3`.
    pub(super) fn keyed(&self, sentence: &str) -> bool {
        self.names.iter().any(|name| name.is_key(sentence))
    }

    /// The passages with most names, the newest first.
    pub(super) fn best_passages(&self, newest: bool) -> Vec<usize> {
        let most = self.scopes.iter().copied().max().unwrap_or(0);
        let best = (0..self.scopes.len()).rev().filter(|&at| self.scopes[at] == most && most > 0);
        best.filter(|&at| !newest || self.is_newest(at)).collect()
    }

    fn is_newest(&self, passage: usize) -> bool {
        passage >= self.newest && passage < self.end && self.scopes[passage] > 0
    }
}

fn mask(names: &[Name], text: &str) -> u64 {
    let held = names.iter().enumerate().filter(|(_, name)| name.is_in(text));
    held.fold(0, |mask, (at, _)| mask | 1 << at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_a_question_quotes() {
        assert_eq!(quoted("What is `a.b` in “the list” now, and `x`?"), ["a.b", "the list"]);
        assert_eq!(quoted("What is `unclosed"), [""; 0]);
    }

    #[test]
    fn name_followed_by_value_is_a_key() {
        for text in ["{\"limit\": 3}", "limit = 3", "limit: 3", "'limit' : 3"] {
            assert!(Name::new("limit").is_key(text), "{text}");
        }
        for text in ["the limit is 3", "limit == 3", "limit::new()", "\"rate_limit\": 3", ""] {
            assert!(!Name::new("limit").is_key(text), "{text}");
        }
    }

    #[test]
    fn path_shortens_to_file_and_field_to_end() {
        let has = |text: &str, name: &str| Name::new(name).is_in(text);
        assert!(has("changed lexer.rs", "src/lexer.rs") && has("\"status\": 1", "order.status"));
        assert!(!has("old_lexer.rs", "src/lexer.rs") && !has("toml", "app.toml"));
    }
}
