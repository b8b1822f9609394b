//! A package's own source files, as tests of layers and of style read them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A file under `src`.
pub struct Source {
    /// From `src`.
    pub path: PathBuf,
    /// As written.
    pub text: String,
    /// Whether it is compiled for tests only.
    pub is_test: bool,
}

impl Source {
    /// Lines of code outside tests, without comments and literals, each with
    /// its number from 1. None in a file for tests only.
    pub fn lines_outside_tests(&self) -> Vec<(usize, String)> {
        if self.is_test { Vec::new() } else { outside_tests(&self.text) }
    }
}

/// Every Rust file under `src`, by path.
pub fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(&root).unwrap().to_owned();
                found.push(Source { path, text, is_test: false });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let tests: Vec<PathBuf> = found.iter().flat_map(|s| test_modules(&s.path, &s.text)).collect();
    for source in &mut found {
        source.is_test =
            tests.iter().any(|module| source.path.with_extension("").starts_with(module));
    }
    found
}

/// Files with more lines than that, their tests aside.
pub fn longer_than(longest: usize) -> Vec<String> {
    sources()
        .iter()
        .map(|source| (source.path.display(), source.lines_outside_tests().len()))
        .filter(|(_, lines)| *lines > longest)
        .map(|(path, lines)| format!("{path}: {lines} lines; split it"))
        .collect()
}

/// Where `unwrap` stands outside tests.
pub fn unwraps() -> Vec<String> {
    sources()
        .iter()
        .flat_map(|source| {
            let lines = source.lines_outside_tests().into_iter();
            let unwraps = lines.filter(|(_, line)| line.contains(".unwrap()"));
            let path = source.path.display();
            unwraps.map(move |(at, _)| format!("{path}:{at}: `expect` states the invariant"))
        })
        .collect()
}

/// A word that only some files may use outside their tests.
pub fn only_in(words: &[&str], allowed: &[&str]) {
    let mut problems = String::new();
    for source in sources() {
        let shown = source.path.display().to_string();
        if allowed.iter().any(|place| shown.starts_with(place)) {
            continue;
        }
        for (number, line) in source.lines_outside_tests() {
            if let Some(word) = words.iter().find(|w| line.contains(**w)) {
                let _ = writeln!(problems, "{shown}:{number}: {word}");
            }
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

/// Paths, without an ending, of the modules in files of their own that a file
/// declares for tests only.
pub fn test_modules(file: &Path, text: &str) -> Vec<PathBuf> {
    let folder = file.parent().unwrap();
    let own = match file.file_stem().unwrap().to_str().unwrap() {
        "mod" | "lib" | "main" => folder.to_owned(),
        stem => folder.join(stem),
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut modules = Vec::new();
    for (from, to) in test_items(&lines) {
        let named = lines[from..=to].iter().find_map(|line| {
            let line = line.trim().strip_prefix("#[path = \"")?;
            Some(folder.join(line.split('"').next()?).with_extension(""))
        });
        let declared = lines[to].split_once("mod ").and_then(|(_, name)| name.strip_suffix(';'));
        modules.extend(declared.map(|name| named.unwrap_or_else(|| own.join(name))));
    }
    modules
}

/// Lines of a file outside the items that are for tests only, with their
/// numbers from 1, without comments and literals.
pub fn outside_tests(text: &str) -> Vec<(usize, String)> {
    let code = code(text);
    let lines: Vec<&str> = code.lines().collect();
    let tests = test_items(&lines);
    let is_test = |at: usize| tests.iter().any(|&(from, to)| (from..=to).contains(&at));
    let outside = lines.iter().enumerate().filter(|(at, _)| !is_test(*at));
    outside.map(|(at, line)| (at + 1, (*line).to_owned())).collect()
}

/// First and last line, from 0, of each item behind `#[cfg(test)]`. The last
/// line of an item is found by the indentation that rustfmt gives it.
fn test_items(lines: &[&str]) -> Vec<(usize, usize)> {
    let mut items = Vec::new();
    for (from, line) in lines.iter().enumerate().filter(|(_, l)| l.trim() == "#[cfg(test)]") {
        let close = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        let head = (from + 1..lines.len())
            .find(|&at| !lines[at].trim_start().starts_with("#["))
            .expect("an attribute stands before an item");
        let whole = lines[head].trim_end();
        let to = if whole.ends_with([';', '}']) {
            head
        } else {
            let last = (head + 1..lines.len()).find(|&at| lines[at].starts_with(&close));
            last.expect("an item that is opened is closed")
        };
        items.push((from, to));
    }
    items
}

/// Code without comments and without strings and characters; line ends stay.
pub fn code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if c == '"' {
            string(rest)
        } else if c == 'r'
            && !out.ends_with(|b: char| (b.is_alphanumeric() && b != 'b') || b == '_')
        {
            raw_string(rest)
        } else if c == '\'' {
            character(rest)
        } else {
            0
        };
        if skipped == 0 {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            out.extend(rest[..skipped].chars().filter(|&c| c == '\n'));
            rest = &rest[skipped..];
        }
    }
    out
}

/// Length of the string that a text begins with.
fn string(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of the raw string that a text begins with; 0 if it is none.
fn raw_string(text: &str) -> usize {
    let hashes = text[1..].len() - text[1..].trim_start_matches('#').len();
    let open = 1 + hashes;
    if !text[open..].starts_with('"') {
        return 0;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    text[open + 1..].find(&close).map_or(text.len(), |end| open + 1 + end + close.len())
}

/// Length of the character that a text begins with; 0 if it is a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            chars.next();
            chars.find(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1)
        }
        Some(_) => chars.next().filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}
