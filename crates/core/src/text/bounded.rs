//! Bounded occurrence: an identifier occurs in a text only where it is not part
//! of a longer one.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use memchr::memmem;

use crate::text::{IdentifierClass, Paths};

/// Whether `needle` stands in `haystack` bounded on both sides; paths are
/// equal when one is a component suffix of the other, by at least two
/// components.
pub fn contains_bounded(haystack: &str, needle: &str, class: IdentifierClass) -> bool {
    Needle::new(needle, class, &Paths::default()).find(haystack).is_some()
}

/// What may precede an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Anything that does not make the identifier longer; a path may have more components.
    Open,
    /// Only the beginning of the path: the text names it by a suffix.
    Whole,
}

/// One identifier, in every spelling that counts as the same.
#[derive(Clone, Debug)]
pub struct Needle {
    class: IdentifierClass,
    spellings: Vec<(String, Left)>,
}

impl Needle {
    /// The spellings of `text`. A path under a working directory is also known by
    /// its place there; the end of a path stands for it unless other `paths` of the
    /// session have the same end.
    pub fn new(text: &str, class: IdentifierClass, paths: &Paths<'_>) -> Needle {
        let is_shared = class == IdentifierClass::Path && paths.shares(text);
        let left = if is_shared { Left::Whole } else { Left::Open };
        let mut spellings = vec![(text.to_owned(), left)];
        if class == IdentifierClass::Path {
            let below = paths.roots().iter().find_map(|root| below(text, root));
            if let Some(rest) = below {
                spellings.push((rest.to_owned(), Left::Whole));
            }
            let starts: Vec<usize> = components(text).map(|part| part.start).collect();
            for &start in starts.iter().skip(1).take(starts.len().saturating_sub(2)) {
                let suffix = &text[start..];
                if Some(suffix) != below && !paths.shares(suffix) {
                    spellings.push((suffix.to_owned(), Left::Whole));
                }
            }
        }
        Needle { class, spellings }
    }

    /// The first place in `haystack` that names the identifier, spelling by spelling.
    pub fn find(&self, haystack: &str) -> Option<Range<usize>> {
        self.places(haystack).next()
    }

    /// The last place in `haystack` that names the identifier.
    pub fn find_last(&self, haystack: &str) -> Option<Range<usize>> {
        self.places(haystack).max_by_key(|place| place.start)
    }

    /// Every place in `haystack` that names the identifier, spelling by spelling.
    pub fn places<'a>(&'a self, haystack: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        self.spellings.iter().flat_map(move |(spelling, left)| {
            memmem::find_iter(haystack.as_bytes(), spelling.as_bytes())
                .map(|start| start..start + spelling.len())
                .filter(|place| is_whole(haystack, place, self.class, *left))
        })
    }
}

/// Many identifiers, searched in one pass.
#[derive(Clone, Debug)]
pub struct NeedleSet {
    automaton: Option<AhoCorasick>,
    /// Owner, class and left side of each pattern of the automaton.
    patterns: Vec<(u32, IdentifierClass, Left)>,
}

impl NeedleSet {
    /// An automaton over the spellings of `needles`, numbered in order.
    pub fn new<'a>(needles: impl IntoIterator<Item = &'a Needle>) -> NeedleSet {
        let mut spellings = Vec::new();
        let mut patterns = Vec::new();
        for (owner, needle) in (0u32..).zip(needles) {
            for (spelling, left) in &needle.spellings {
                if !spelling.is_empty() {
                    spellings.push(spelling.as_str());
                    patterns.push((owner, needle.class, *left));
                }
            }
        }
        let automaton = (!spellings.is_empty()).then(|| {
            AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .build(&spellings)
                .expect("fewer than 2^31 short patterns fit an automaton")
        });
        NeedleSet { automaton, patterns }
    }

    /// Calls `found` with the number of each needle that occurs in `text`, once per place.
    pub fn scan(&self, text: &str, mut found: impl FnMut(u32, Range<usize>)) {
        let Some(automaton) = &self.automaton else {
            return;
        };
        for hit in automaton.find_overlapping_iter(text) {
            let (owner, class, left) = self.patterns[hit.pattern().as_usize()];
            if is_whole(text, &hit.range(), class, left) {
                found(owner, hit.range());
            }
        }
    }
}

/// Whether the bytes at `place`, which spell an identifier of `class`, are
/// not part of a longer one.
pub(super) fn is_bounded(text: &str, place: &Range<usize>, class: IdentifierClass) -> bool {
    is_whole(text, place, class, Left::Open)
}

fn is_whole(text: &str, place: &Range<usize>, class: IdentifierClass, left: Left) -> bool {
    let before = without_escape(&text[..place.start]);
    let after = &text[place.end..];
    let needle = &text[place.clone()];
    let opens_as_word = needle.chars().next().is_some_and(is_word);
    let ends_as_word = needle.chars().next_back().is_some_and(is_word);
    if opens_as_word && before.chars().next_back().is_some_and(is_word) {
        return false;
    }
    if ends_as_word && after.chars().next().is_some_and(is_word) && !is_clock(class, after) {
        return false;
    }
    left_side(before, class, left) && right_side(after, class)
}

/// Source code and JSON inside a text write line ends and tabs as two
/// characters, the second of which belongs to no word: `\nfoo` names `foo`,
/// with nothing on its left.
fn without_escape(before: &str) -> &str {
    let escaped = ["\\n", "\\t", "\\r"];
    let is_escape = escaped.iter().any(|escape| before.ends_with(escape))
        && !is_in_windows_path(&before[..before.len() - 2]);
    if is_escape { "" } else { before }
}

/// Whether a text ends within a path of Windows, `C:\app` or `app\web`, in which `\t` begins a
/// name: a backslash stands in its last word that no escape explains.
pub(super) fn is_in_windows_path(before: &str) -> bool {
    const LONGEST: usize = 260;
    let floor = before.floor_char_boundary(before.len().saturating_sub(LONGEST));
    let near = &before[floor..];
    let start = near.rfind(|c: char| !(is_path_char(c) || matches!(c, '\\' | ':')));
    let word =
        &near[start.map_or(0, |at| at + near[at..].chars().next().map_or(1, char::len_utf8))..];
    let mut pieces = word.split('\\');
    let drive = pieces.next().is_some_and(|first| first.len() == 2 && first.ends_with(':'));
    let own = |piece: &str| {
        !piece.is_empty() && !piece.starts_with(['n', 't', 'r', 'u', 'x', 'b', 'f', '0', 'e'])
    };
    word.contains('\\') && (drive || pieces.any(own)) || word.len() == 2 && word.ends_with(':')
}

/// A date may be followed by a time of day: `2026-01-16T00:14`.
fn is_clock(class: IdentifierClass, after: &str) -> bool {
    let mut next = after.chars();
    class == IdentifierClass::Date
        && next.next() == Some('T')
        && next.next().is_some_and(|c| c.is_ascii_digit())
}

fn left_side(before: &str, class: IdentifierClass, left: Left) -> bool {
    let mut back = before.chars().rev();
    let previous = back.next();
    match class {
        IdentifierClass::Path => match previous {
            Some('/') => left == Left::Open || is_path_prefix(before),
            Some('.') => is_range(
                before.trim_end_matches('.'),
                &before[before.trim_end_matches('.').len()..],
            ),
            Some('-' | '~' | '@') => false,
            _ => true,
        },
        IdentifierClass::Email => !matches!(previous, Some('.' | '-' | '+' | '%')),
        IdentifierClass::Uuid | IdentifierClass::Date => {
            !matches!(previous, Some('-')) || !back.next().is_some_and(is_word)
        }
        IdentifierClass::Kebab | IdentifierClass::Ticket => {
            let undashed = before.trim_end_matches('-');
            undashed.len() == before.len() || !undashed.chars().next_back().is_some_and(is_word)
        }
        IdentifierClass::Number => {
            !matches!(previous, Some('.' | ',')) || !back.next().is_some_and(|c| c.is_ascii_digit())
        }
        _ => true,
    }
}

/// Whether dots join two revisions of git (`main..topic`, `main...topic`); `other` is what stands
/// beyond them.
fn is_range(other: &str, dots: &str) -> bool {
    matches!(dots, ".." | "...") && other.starts_with(is_word) | other.ends_with(is_word)
}

/// Whether `before` ends in a prefix that does not change what a path names:
/// `./`, `../`, or the `a/` and `b/` of a diff. `packages/a/` is none.
fn is_path_prefix(before: &str) -> bool {
    let is_part = |c: char| c == '/' || is_path_char(c);
    let start = before.char_indices().rev().take_while(|(_, c)| is_part(*c)).last();
    let prefix = start.map_or("", |(at, _)| &before[at..]).trim_end_matches('/');
    matches!(prefix, "a" | "b")
        || (!prefix.is_empty() && prefix.split('/').all(|part| matches!(part, "." | "..")))
}

fn right_side(after: &str, class: IdentifierClass) -> bool {
    let mut forward = after.chars();
    let next = forward.next();
    let then_word = forward.next().is_some_and(is_word);
    let dots = &after[..after.len() - after.trim_start_matches('.').len()];
    let is_range = is_range(&after[dots.len()..], dots);
    let cut_off = next == Some('…') || after.starts_with("...");
    match class {
        IdentifierClass::Path if is_range => true,
        // What was cut off is not the whole path.
        IdentifierClass::Path | IdentifierClass::Url if cut_off => false,
        IdentifierClass::Path => match next {
            Some('-' | '~') => false,
            Some('.') => !then_word,
            _ => true,
        },
        IdentifierClass::Url => match next {
            Some('-' | '%' | '~') => false,
            Some('/' | '?' | '#' | '=' | '&' | '.' | ':' | '@' | '+') => !then_word,
            _ => true,
        },
        IdentifierClass::Email => !matches!(next, Some('-' | '.')) || !then_word,
        IdentifierClass::Uuid
        | IdentifierClass::Kebab
        | IdentifierClass::Ticket
        | IdentifierClass::Date => next != Some('-') || !then_word,
        IdentifierClass::Number => !matches!(next, Some('.' | ',')) || !then_word,
        _ => true,
    }
}

/// The rest of `path` below the folder `root`.
fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let root = root.trim_end_matches('/');
    if root.is_empty() || !root.starts_with('/') {
        return None;
    }
    let rest = path.strip_prefix(root)?.strip_prefix('/')?;
    (!rest.is_empty()).then_some(rest)
}

/// Byte ranges of the non-empty components of a path.
fn components(path: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    path.split('/')
        .map(move |part| {
            let start = part.as_ptr() as usize - path.as_ptr() as usize;
            start..start + part.len()
        })
        .filter(|part| !part.is_empty())
}

/// The last path component or the last dotted segment, if it is specific enough
/// to be searched for: at least five characters.
pub fn last_component(text: &str, class: IdentifierClass) -> Option<&str> {
    let cut = match class {
        IdentifierClass::Path => '/',
        IdentifierClass::Dotted => '.',
        _ => return None,
    };
    let (_, last) = text.trim_end_matches(cut).rsplit_once(cut)?;
    (last.chars().count() >= 5).then_some(last)
}

/// Letters of scripts without case (Chinese, Japanese …) write their words
/// without spaces, so there they end an identifier instead of lengthening it.
#[inline]
pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii() && (c.is_lowercase() || c.is_uppercase())
}

#[inline]
pub(super) fn is_path_char(c: char) -> bool {
    is_word(c) || matches!(c, '-' | '.' | '~' | '@' | '+')
}
