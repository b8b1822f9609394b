//! A simulated repository: files, what was committed, and what the tools say
//! about both.

use std::collections::BTreeMap;

use super::diff::{Diff, diff};

/// A commit as `git log` shows it.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Short hash.
    pub hash: String,
    /// Day in ISO form.
    pub day: String,
    /// First line of its message.
    pub subject: String,
}

/// Files by path, and the state that was committed last.
#[derive(Clone, Debug, Default)]
pub struct Repo {
    files: BTreeMap<String, String>,
    committed: BTreeMap<String, String>,
    log: Vec<Commit>,
}

impl Repo {
    /// A clean checkout of `files`.
    pub fn new(files: BTreeMap<String, String>, log: Vec<Commit>) -> Repo {
        Repo { committed: files.clone(), files, log }
    }

    /// Reads a bundle: a line `=== path` before each file's text.
    pub fn unpack(bundle: &str) -> BTreeMap<String, String> {
        let parts = bundle.split("=== ").filter(|part| !part.is_empty());
        let file = |part: &str| {
            let (path, text) = part.split_once('\n').expect("a path stands on its own line");
            (path.to_owned(), text.to_owned())
        };
        parts.map(file).collect()
    }

    /// Paths in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Paths that begin with `folder`, one a line.
    pub fn below(&self, folder: &str) -> String {
        self.paths().filter(|path| path.starts_with(folder)).collect::<Vec<_>>().join("\n")
    }

    /// The text of a file.
    ///
    /// # Panics
    /// A file that there is not.
    pub fn file(&self, path: &str) -> &str {
        self.files.get(path).unwrap_or_else(|| panic!("no file {path}"))
    }

    /// Whether a file holds `text`.
    pub fn holds(&self, path: &str, text: &str) -> bool {
        self.files.get(path).is_some_and(|file| file.contains(text))
    }

    /// Lines of a file.
    pub fn lines(&self, path: &str) -> usize {
        self.file(path).lines().count()
    }

    /// `limit` lines from line `first` (from 1), each with its number.
    pub fn read(&self, path: &str, first: usize, limit: usize) -> String {
        let lines = self.file(path).lines().enumerate().skip(first.saturating_sub(1)).take(limit);
        lines
            .map(|(at, line)| format!("{:>5}\t{line}\n", at + 1))
            .collect::<String>()
            .trim_end()
            .to_owned()
    }

    /// The line (from 1) in which `text` first stands.
    pub fn line_of(&self, path: &str, text: &str) -> usize {
        let at = self.file(path).find(text).unwrap_or(0);
        self.file(path)[..at].matches('\n').count() + 1
    }

    /// Replaces `old`, which must stand exactly once, and shows the place.
    ///
    /// # Panics
    /// Text that does not stand there, or more than once.
    pub fn edit(&mut self, path: &str, old: &str, new: &str) -> usize {
        let file = self.files.get_mut(path).unwrap_or_else(|| panic!("no file {path}"));
        assert_eq!(file.matches(old).count(), 1, "in {path}: {old}");
        let line = file[..file.find(old).expect("counted above")].matches('\n').count() + 1;
        *file = file.replacen(old, new, 1);
        line
    }

    /// Writes a file.
    pub fn write(&mut self, path: &str, text: &str) {
        self.files.insert(path.to_owned(), text.to_owned());
    }

    /// `path:line:text` for each line that holds `needle`, below `folder`;
    /// paths begin with `root`.
    pub fn grep(&self, needle: &str, folder: &str, root: &str) -> String {
        let mut found = String::new();
        for (path, text) in self.files.iter().filter(|(path, _)| path.starts_with(folder)) {
            for (at, line) in text.lines().enumerate().filter(|(_, line)| line.contains(needle)) {
                found.push_str(&format!("{root}{path}:{}:{line}\n", at + 1));
            }
        }
        if found.is_empty() { "No matches found".to_owned() } else { found.trim_end().to_owned() }
    }

    /// Files that differ from the last commit.
    pub fn changed(&self) -> Vec<&str> {
        let differs = |path: &&str| self.committed.get(*path) != self.files.get(*path);
        self.paths().filter(differs).collect()
    }

    /// `git status --short`.
    pub fn status(&self) -> String {
        let line = |path: &&str| {
            let mark = if self.committed.contains_key(*path) { " M" } else { "??" };
            format!("{mark} {path}")
        };
        self.changed().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn change(&self, path: &str) -> Diff {
        let before = self.committed.get(path).map_or("", String::as_str);
        diff(before, self.file(path))
    }

    /// `git diff`; new files are shown whole.
    pub fn diff(&self) -> String {
        let shown = |path: &&str| {
            let before = if self.committed.contains_key(*path) {
                format!("a/{path}")
            } else {
                "/dev/null".to_owned()
            };
            format!(
                "diff --git a/{path} b/{path}\n--- {before}\n+++ b/{path}\n{}",
                self.change(path).text
            )
        };
        self.changed().iter().map(shown).collect::<String>().trim_end().to_owned()
    }

    /// Commits everything; what `git log -1 --shortstat --summary` then prints,
    /// with hash, day and subject in its first line.
    pub fn commit(&mut self, commit: Commit) -> String {
        let changed: Vec<String> = self.changed().into_iter().map(str::to_owned).collect();
        let (mut added, mut removed) = (0, 0);
        for path in &changed {
            let change = self.change(path);
            added += change.added;
            removed += change.removed;
        }
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        let files = changed.len();
        let mut text = format!(
            "{} {} {}\n\n {files} file{} changed, {added} insertion{}(+), {removed} deletion{}(-)",
            commit.hash,
            commit.day,
            commit.subject,
            plural(files),
            plural(added),
            plural(removed)
        );
        for path in changed.iter().filter(|path| !self.committed.contains_key(*path)) {
            text.push_str(&format!("\n create mode 100644 {path}"));
        }
        self.committed = self.files.clone();
        self.log.push(commit);
        text
    }

    /// `git log --oneline` with days, newest first.
    pub fn log(&self, n: usize) -> String {
        let newest = self.log.iter().rev().take(n);
        newest.map(|c| format!("{} {} {}", c.hash, c.day, c.subject)).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo() -> Repo {
        let files = Repo::unpack("=== a.py\none\ntwo\nthree\n=== b/c.py\nfrom a import two\n");
        Repo::new(files, Vec::new())
    }

    #[test]
    fn a_read_after_an_edit_shows_the_edit() {
        let mut repo = repo();
        assert_eq!(repo.read("a.py", 2, 1), "    2\ttwo");
        assert_eq!(repo.edit("a.py", "two", "2\n2b"), 2);
        assert_eq!(repo.read("a.py", 2, 2), "    2\t2\n    3\t2b");
        assert_eq!(repo.grep("2b", "", "/r/"), "/r/a.py:3:2b");
    }

    #[test]
    fn commit_counts_lines_and_leaves_clean_tree() {
        let mut repo = repo();
        repo.edit("a.py", "two\n", "2\n2b\n");
        repo.write("d.py", "new\n");
        assert_eq!(repo.status(), " M a.py\n?? d.py");
        assert!(repo.diff().contains("@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n"));
        let commit =
            Commit { hash: "b96a83f".into(), day: "2025-01-07".into(), subject: "S".into() };
        let said = repo.commit(commit);
        assert_eq!(
            said,
            "b96a83f 2025-01-07 S\n\n 2 files changed, 3 insertions(+), 1 deletion(-)\n create mode 100644 d.py"
        );
        assert_eq!(repo.status(), "");
        assert_eq!(repo.log(5), "b96a83f 2025-01-07 S");
    }
}
