//! Sentences for what a session says, each in several wordings.

use std::collections::BTreeMap;

use super::random::Stream;

/// Wordings that a section must have, so that no fact has one fixed sentence.
pub const FEWEST_WORDINGS: usize = 3;

/// Wordings by section. A section gives each of its wordings once before it
/// gives one again.
///
/// The file has a heading `[name]` for every section and a wording a line;
/// `\n` breaks a line within a wording, `{key}` is filled in, and lines that
/// begin with `#` are comments.
#[derive(Clone, Debug)]
pub struct Phrases {
    sections: BTreeMap<&'static str, Section>,
}

#[derive(Clone, Debug, Default)]
struct Section {
    wordings: Vec<&'static str>,
    left: Vec<usize>,
}

impl Phrases {
    /// Reads a file of wordings that is part of the program.
    ///
    /// # Panics
    /// A wording before the first heading, a heading that stands twice, or a
    /// section of fewer than [`FEWEST_WORDINGS`] wordings.
    pub fn new(file: &'static str) -> Phrases {
        let mut sections: BTreeMap<&'static str, Section> = BTreeMap::new();
        let mut open = None;
        for line in file.lines().map(str::trim_end) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                let known = sections.insert(name, Section::default());
                assert!(known.is_none(), "section [{name}] stands twice");
                open = Some(name);
                continue;
            }
            let name = open.expect("a heading stands before the first wording");
            sections.get_mut(name).expect("opened above").wordings.push(line);
        }
        for (name, section) in &sections {
            let enough = section.wordings.len() >= FEWEST_WORDINGS;
            assert!(enough, "[{name}] has fewer than {FEWEST_WORDINGS} wordings");
        }
        Phrases { sections }
    }

    /// The wordings of `section` as they stand in the file.
    ///
    /// # Panics
    /// A section that there is not.
    pub fn wordings(&self, section: &str) -> Vec<&'static str> {
        let known = self.sections.get(section);
        known.unwrap_or_else(|| panic!("no section [{section}]")).wordings.clone()
    }

    /// A wording of `section` with its gaps filled.
    ///
    /// # Panics
    /// A section that there is not, or a gap without a value.
    pub fn say(&mut self, random: &mut Stream, section: &str, gaps: &[(&str, &str)]) -> String {
        let known = self.sections.get_mut(section);
        let section_named = known.unwrap_or_else(|| panic!("no section [{section}]"));
        if section_named.left.is_empty() {
            section_named.left = (0..section_named.wordings.len()).collect();
            random.shuffle(&mut section_named.left);
        }
        let at = section_named.left.pop().expect("filled above");
        let text = fill(section_named.wordings[at], gaps);
        if let Some(gap) = open_gap(&text) {
            panic!("[{section}]: nothing for {gap} in {text}");
        }
        text
    }

    /// Every wording of `section`, filled, in any order: the questions of a fact.
    ///
    /// # Panics
    /// As [`Phrases::say`].
    pub fn all(
        &mut self,
        random: &mut Stream,
        section: &str,
        gaps: &[(&str, &str)],
    ) -> Vec<String> {
        let wordings = self.wordings(section);
        let mut texts: Vec<String> = wordings.iter().map(|wording| fill(wording, gaps)).collect();
        random.shuffle(&mut texts);
        texts
    }
}

/// `text` with `{key}` replaced by its value and `\n` by a line break.
pub fn fill(text: &str, gaps: &[(&str, &str)]) -> String {
    let mut filled = text.replace("\\n", "\n");
    for (key, value) in gaps {
        filled = filled.replace(&format!("{{{key}}}"), value);
    }
    filled
}

/// The first `{word}` in `text`.
fn open_gap(text: &str) -> Option<&str> {
    text.match_indices('{').find_map(|(at, _)| {
        let end = at + text[at..].find('}')?;
        let name = &text[at + 1..end];
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        is_name.then(|| &text[at..=end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# greetings\n[hello]\nHi {name}.\nHello {name}.\nMorning,\\n{name}.\n";

    #[test]
    fn every_wording_comes_once_before_any_comes_again() {
        let mut phrases = Phrases::new(FILE);
        let mut random = Stream::new(1, "phrases");
        for _ in 0..3 {
            let mut said: Vec<String> =
                (0..3).map(|_| phrases.say(&mut random, "hello", &[("name", "Bo")])).collect();
            said.sort();
            assert_eq!(said, ["Hello Bo.", "Hi Bo.", "Morning,\nBo."]);
        }
    }

    #[test]
    #[should_panic(expected = "nothing for {name}")]
    fn an_unfilled_gap_is_a_bug_that_shows() {
        Phrases::new(FILE).say(&mut Stream::new(1, "phrases"), "hello", &[]);
    }

    #[test]
    #[should_panic(expected = "fewer than 3")]
    fn two_wordings_are_too_few() {
        Phrases::new("[hello]\nHi.\nHello.\n");
    }

    #[test]
    fn braces_of_code_are_no_gaps() {
        assert_eq!(open_gap("fn a() { b }"), None);
        assert_eq!(open_gap("use {Name} or {}"), None);
        assert_eq!(open_gap("see {name}"), Some("{name}"));
    }
}
