//! Identifiers that anybody could write without having read them: names of
//! standard libraries, dictionary compounds, files that every project has.

use super::lists::{
    COMMON, FILES, FORMERS, FRAMEWORKS, PACKAGES, STANDARD, STYLE_VALUES, STYLES, SYSTEM,
};
use crate::text::IdentifierClass;
use crate::wording::{capital, uncapital};

/// Whether a file has a name that files of any project may have: `mod.rs`, `types.ts`.
pub fn is_usual_file(name: &str) -> bool {
    let name = name.to_lowercase();
    let stem = name.split('.').next().unwrap_or(&name);
    FILES.contains(name.as_str()) || is_common(stem)
}

/// Whether a package is that of a well-known framework.
pub fn is_framework(name: &str) -> bool {
    FRAMEWORKS.contains(name)
}

/// Whether an identifier could be written without having read it: from
/// general knowledge, or put together from words that `is_current` calls
/// current in the conversation (lower-case words, asked one by one). What the
/// project `declares` (a function, a type, a branch) is its own, if its words
/// are plain ones.
pub fn is_generic(
    text: &str,
    class: IdentifierClass,
    is_current: &dyn Fn(&str) -> bool,
    declares: &dyn Fn(&str) -> bool,
) -> bool {
    let lower = text.to_lowercase();
    if STANDARD.contains(lower.as_str()) {
        return true;
    }
    let judge = GenericTest { is_current };
    let own = || declares(text);
    match class {
        IdentifierClass::Path => judge.path(text, &lower),
        IdentifierClass::Url => generic_url(text),
        IdentifierClass::Dotted => judge.dotted(text, &own),
        IdentifierClass::Identifier => judge.name(text) && !own(),
        IdentifierClass::Kebab => judge.kebab(text) && !own(),
        IdentifierClass::Quoted => judge.quote(text),
        IdentifierClass::Email => generic_email(&lower),
        _ => false,
    }
}

struct GenericTest<'a> {
    is_current: &'a dyn Fn(&str) -> bool,
}

impl GenericTest<'_> {
    fn path(&self, path: &str, lower: &str) -> bool {
        let mut parts = lower.split('/').filter(|part| !matches!(*part, "" | "." | ".." | "~"));
        let Some(first) = parts.next() else {
            return true;
        };
        if parts.next().is_none() {
            let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
            let words = words(stem.trim_start_matches(['/', '~']));
            return FILES.contains(first)
                || words.len() <= 2 && words.iter().all(|word| is_common(word));
        }
        SYSTEM.iter().any(|system| lower.starts_with(system))
            || is_media_type(first, path)
            || is_style(path)
            || is_choice(path)
            || lower.contains("path/to/")
            || is_repository(first, lower)
            || lower.split('/').all(|part| part.is_empty() || PACKAGES.contains(part))
    }

    fn dotted(&self, text: &str, own: &dyn Fn() -> bool) -> bool {
        let first = text.split('.').next().unwrap_or(text);
        let last = text.rsplit('.').next().unwrap_or(text);
        // The object's name `teamMembersResult` shows whose `error` it is.
        let named = |part: &str| words(part).len() > 1 && !self.all_known(part, 2);
        let plain = last.chars().count() < 5
            || STANDARD.contains(last.to_lowercase().as_str())
            || self.all_known(last, 2) && !own();
        PACKAGES.contains(first) || is_framework(first) || plain && !named(first)
    }

    /// A compound of two plain words, one of which only turns the other into an
    /// adjective (`checkpoint-scoped`), is ordinary language, not a name.
    fn kebab(&self, text: &str) -> bool {
        let digit = text.bytes().any(|b| b.is_ascii_digit());
        let forms = |part: Option<&str>| part.is_some_and(|part| FORMERS.contains(part));
        let lower = text.to_lowercase();
        let adjective = forms(lower.split('-').next()) || forms(lower.rsplit('-').next());
        is_style(text) || self.all_known(text, 3) || adjective && !digit
    }

    /// A name of two known words; a setting of the environment has more, with the prefix by which
    /// a framework shows it to a browser; `HTMLInputElement` is of the web platform.
    fn name(&self, text: &str) -> bool {
        let setting = !text.contains(|c: char| c.is_lowercase());
        let prefixes = ["NEXT_PUBLIC_", "VITE_", "REACT_APP_", "PUBLIC_", "EXPO_PUBLIC_"];
        let bare = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
        let element = ["HTML", "SVG"].iter().any(|of| text.starts_with(of));
        self.all_known(bare, if setting { 4 } else { 2 }) || element && text.ends_with("Element")
    }

    /// Ordinary words in quotes are speech, the text between two strings of a
    /// program is not a string, and a message of up to three plain words
    /// (`failed to init repo: %v`) occurs in any program.
    fn quote(&self, text: &str) -> bool {
        let program = text.contains(['(', ')', '{', '}', ';', '=', '+', '`'])
            && !text.contains(['%', ':', ',']);
        let words = text.split_whitespace();
        let heavy = |word: &String| word.chars().count() > 3;
        let plain = |word: &String| is_common(word) || (self.is_current)(word);
        let own: Vec<String> = self::words(text).into_iter().filter(heavy).collect();
        let idiom = own.len() <= 3 && own.iter().all(plain);
        program || words.clone().count() < 3 || idiom || self.all_known(text, 4)
    }

    /// Whether a compound is put together from at most `limit` words that are
    /// common or current.
    fn all_known(&self, text: &str, limit: usize) -> bool {
        let words = words(text);
        words.len() <= limit && words.iter().all(|word| is_common(word) || (self.is_current)(word))
    }
}

/// Words with a slash between them, as prose joins them: `read/write/execute`,
/// `GET/POST/PUT`, `Linux/macOS/Windows`.
fn is_choice(path: &str) -> bool {
    let word = |part: &str| {
        let capital = part.contains(char::is_uppercase) && part.chars().all(char::is_alphabetic);
        capital || is_common(part) || !part.contains(char::is_alphabetic)
    };
    !path.starts_with(['/', '.', '~']) && path.split('/').all(word)
}

/// Whether a name is a utility class of a style sheet (Tailwind's): `text-zinc-400`, `bg-black/10`.
fn is_style(name: &str) -> bool {
    let name = name.rsplit(':').next().unwrap_or(name).trim_start_matches('-');
    let (name, share) = name.split_once('/').unwrap_or((name, ""));
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let mut parts = name.split('-');
    let property = parts.next().is_some_and(|first| STYLES.contains(first));
    let value = |part: &str| STYLE_VALUES.contains(part) || is_number(part);
    let mut values = parts.clone();
    property && is_number(share) && parts.next().is_some() && values.all(value)
}

/// `application/vnd.api+json`: a name of the registry of media types (RFC 6838).
fn is_media_type(first: &str, path: &str) -> bool {
    let top = ["application", "audio", "font", "image", "model", "multipart", "text", "video"];
    path.matches('/').count() == 1 && top.contains(&first) && !path.contains('_')
}

/// `host/owner/name`: a public repository is known by its name.
fn is_repository(host: &str, path: &str) -> bool {
    matches!(host, "github.com" | "gitlab.com" | "golang.org" | "gopkg.in")
        && path.trim_end_matches('/').split('/').count() <= 4
        && path.split('/').nth(3).is_none_or(|part| part.starts_with('v'))
}

fn generic_url(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', ':', '?']).next().unwrap_or(rest);
    // A well-known host alone is no more specific than a brand.
    rest.trim_end_matches('/') == host || host == "localhost" || host.starts_with("example.")
}

fn generic_email(lower: &str) -> bool {
    let host = lower.rsplit('@').next().unwrap_or(lower);
    lower.starts_with("noreply@")
        || host.starts_with("example.")
        || matches!(host, "test.com" | "test.local")
}

fn is_common(word: &str) -> bool {
    word.chars().count() <= 2
        || word.bytes().all(|b| b.is_ascii_digit())
        || COMMON.contains(word)
        || word.strip_suffix('s').is_some_and(|one| COMMON.contains(one))
}

/// The words of a compound, lower-cased: `HTTPServerName2` is http, server,
/// name, 2.
pub fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    let mut previous: Option<char> = None;
    while let Some(c) = chars.next() {
        let next_lower = chars.peek().is_some_and(|n| n.is_lowercase());
        let starts = previous.is_some_and(|p| {
            (p.is_lowercase() && c.is_uppercase())
                || (p.is_uppercase() && c.is_uppercase() && next_lower)
                || (p.is_ascii_digit() != c.is_ascii_digit())
        });
        if (starts || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        previous = Some(c);
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// The same words joined in the other usual ways (`filesTouched` for
/// `files_touched`): each of them follows from the others.
pub fn restyled(text: &str) -> Vec<String> {
    let words = words(text);
    let pascal: String = words.iter().map(|word| capital(word)).collect();
    let camel = uncapital(&pascal);
    let snake = words.join("_");
    let constant = snake.to_uppercase();
    let mut styles = vec![pascal, camel, snake, constant];
    // `CheckpointID` keeps its initials in capitals; only its first letter changes.
    styles.extend([capital(text), uncapital(text)]);
    styles.sort();
    styles.dedup();
    styles.retain(|style| style != text && words.len() > 1);
    styles
}

/// The source file of a compiled name, and the other way round (`pool.js` in an
/// import, `pool.ts` on disk).
pub fn recompiled(path: &str) -> Option<String> {
    let (stem, extension) = path.rsplit_once('.')?;
    let other = match extension {
        "js" => "ts",
        "ts" => "js",
        "jsx" => "tsx",
        "tsx" => "jsx",
        _ => return None,
    };
    Some(format!("{stem}.{other}"))
}
