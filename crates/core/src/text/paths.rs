//! The paths that stand in the texts of a session, to tell whether the end of a
//! path names it or others as well.

use rustc_hash::FxHashMap;

use super::bounded::is_path_char;

/// Most paths with the same end that are told apart: with so many it names none.
const MOST: usize = 64;

/// The paths of a session.
#[derive(Clone, Debug, Default)]
pub struct Paths<'a> {
    /// Working directories: paths below one are also known by their place there.
    roots: Vec<&'a str>,
    /// All that were read, by their last two components.
    by_end: FxHashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Paths<'a> {
    /// No path yet, but these working directories.
    pub fn below(roots: Vec<&'a str>) -> Paths<'a> {
        Paths { roots, by_end: FxHashMap::default() }
    }

    /// The working directories.
    pub fn roots(&self) -> &[&'a str] {
        &self.roots
    }

    /// Adds every path in a text.
    pub fn read(&mut self, text: &'a str) {
        let is_part = |c: char| c == '/' || is_path_char(c);
        let mut from = 0;
        while let Some(slash) = memchr::memchr(b'/', &text.as_bytes()[from..]) {
            let slash = from + slash;
            let start = from + text[from..slash].trim_end_matches(is_part).len();
            from = text[slash..].find(|c| !is_part(c)).map_or(text.len(), |end| slash + end);
            let run = &text[start..from];
            // What follows the scheme of a URL is no path here.
            if !run.starts_with("//") {
                self.add(run.trim_end_matches(['/', '.']));
            }
        }
    }

    fn add(&mut self, path: &'a str) {
        let path = without_signs(path);
        // Of a diff.
        let path = ["a/", "b/"].iter().find_map(|own| path.strip_prefix(own)).unwrap_or(path);
        let Some(end) = last_two(path) else { return };
        let known = self.by_end.entry(end).or_default();
        if known.len() < MOST && !known.contains(&path) {
            known.push(path);
        }
    }

    /// Whether `end` is the end of several paths that are not the same one, written
    /// from different folders.
    pub(super) fn shares(&self, end: &str) -> bool {
        let end = without_signs(end);
        let known =
            last_two(end).and_then(|two| self.by_end.get(two)).map_or(&[][..], Vec::as_slice);
        let mut whole = known.iter().filter(|path| is_end(end, path));
        let longest = whole.clone().max_by_key(|path| path.len());
        longest.is_some_and(|longest| !whole.all(|path| is_end(path, longest)))
    }
}

/// A path without what does not change what it names: `./`, `../`, `~/`, `@`.
fn without_signs(path: &str) -> &str {
    let mut path = path.trim_start_matches('@');
    let is_sign = |part: &str| !part.is_empty() && part.chars().all(|c| matches!(c, '.' | '~'));
    while let Some((_, rest)) = path.split_once('/').filter(|(part, _)| is_sign(part)) {
        path = rest;
    }
    path
}

/// The last two components of a path.
fn last_two(path: &str) -> Option<&str> {
    let (folder, _) = path.rsplit_once('/')?;
    let two = folder.rfind('/').map_or(path, |at| &path[at + 1..]);
    (!two.starts_with('/')).then_some(two)
}

/// Whether the components of `end` are the last of `path`.
fn is_end(end: &str, path: &str) -> bool {
    let end = end.trim_start_matches('/');
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_differing_before_common_end_share_it() {
        let mut paths = Paths::default();
        paths.read("cat packages/a/src/index.ts ./packages/b/src/index.ts, src/index.ts.");
        paths.read("/home/u/p/src/net/pool.rs and src/net/pool.rs --- a/src/net/pool.rs");
        paths.read("https://example.com/x/net/pool.rs");
        assert!(paths.shares("src/index.ts"));
        assert!(!paths.shares("a/src/index.ts") && !paths.shares("packages/a/src/index.ts"));
        assert!(!paths.shares("net/pool.rs") && !paths.shares("src/net/pool.rs"));
        assert!(!paths.shares("never/read.rs") && !paths.shares("name") && !paths.shares(""));
    }

    #[test]
    fn many_paths_with_one_end_take_linear_time() {
        let all: Vec<String> = (0..50_000).map(|n| format!("p{n}/src/index.ts")).collect();
        let text = all.join(" ");
        let mut paths = Paths::default();
        paths.read(&text);
        assert!(paths.shares("src/index.ts") && paths.by_end.len() == 1);
        paths.read("/ // /// ./ ../ a/ b/ //a/b");
    }
}
