//! A summary whose sections are kept and extended, but never rewritten.

use recap_core::tokens::Counter;

/// A heading and the lines below it.
struct Section {
    heading: String,
    lines: Vec<String>,
}

/// The sections of a text: `#` opens one; lines before the first have an empty
/// heading.
fn read(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        if line.starts_with('#') {
            let heading = line.trim_start_matches('#').trim().to_owned();
            sections.push(Section { heading, lines: Vec::new() });
        } else {
            if sections.is_empty() {
                sections.push(Section { heading: String::new(), lines: Vec::new() });
            }
            let last = sections.last_mut().expect("one was just made");
            last.lines.push(line.to_owned());
        }
    }
    sections
}

fn write(sections: &[Section]) -> String {
    let text = |section: &Section| {
        let heading = (!section.heading.is_empty()).then(|| format!("## {}", section.heading));
        heading.into_iter().chain(section.lines.iter().cloned()).collect::<Vec<_>>().join("\n")
    };
    sections.iter().map(text).collect::<Vec<_>>().join("\n\n")
}

/// The lines of `old`, each section followed by the lines of `new` under the
/// same heading, without repetitions. Above `max_tokens` the oldest line of the
/// longest section is removed, as often as needed.
pub(super) fn merged(old: &str, new: &str, max_tokens: u64, counter: &Counter) -> String {
    let mut sections = read(old);
    for section in read(new) {
        let same = |known: &&mut Section| known.heading.eq_ignore_ascii_case(&section.heading);
        match sections.iter_mut().find(same) {
            Some(known) => {
                let fresh = section.lines.into_iter();
                let fresh: Vec<String> = fresh.filter(|line| !known.lines.contains(line)).collect();
                known.lines.extend(fresh);
            }
            None => sections.push(section),
        }
    }
    shortened(&mut sections, max_tokens, counter);
    write(&sections)
}

fn shortened(sections: &mut [Section], max_tokens: u64, counter: &Counter) {
    let sizes = |section: &Section| -> Vec<u64> {
        section.lines.iter().map(|line| counter.count(line) + 1).collect()
    };
    let mut sizes: Vec<Vec<u64>> = sections.iter().map(sizes).collect();
    let mut excess = counter.count(&write(sections)).saturating_sub(max_tokens);
    let mut last = None;
    while excess > 0 {
        // Of equally long ones the section that was shortened last, or the first.
        let length = |at: &usize| (sizes[*at].iter().sum::<u64>(), last == Some(*at));
        let longest = (0..sizes.len()).rev().max_by_key(length);
        let Some(longest) = longest.filter(|&at| !sizes[at].is_empty()) else { return };
        last = Some(longest);
        sections[longest].lines.remove(0);
        excess = excess.saturating_sub(sizes[longest].remove(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(old: &str, new: &str, max_tokens: u64) -> String {
        merged(old, new, max_tokens, &Counter::default())
    }

    #[test]
    fn new_lines_follow_old_ones_in_their_section() {
        let old = "## Goal\n- ship\n\n## Files\n- a.rs";
        let new = "## files\n- b.rs\n- a.rs\n\n## Next\n- test";
        let text = "## Goal\n- ship\n\n## Files\n- a.rs\n- b.rs\n\n## Next\n- test";
        assert_eq!(merge(old, new, 100), text);
    }

    #[test]
    fn a_first_summary_stands_as_it_is() {
        assert_eq!(merge("", "plain\n## Goal\n- ship", 100), "plain\n\n## Goal\n- ship");
    }

    #[test]
    fn oldest_lines_of_longest_section_go_above_bound() {
        // Each line takes a token or two; the heading of `Goal` is never taken.
        let old = "## Goal\n- ship\n\n## Files\n- a\n- b\n- c\n- d\n- e\n- f";
        let counter = Counter::default();
        let whole = counter.count(old);
        let text = merge(old, "## Files\n- g", whole);
        assert!(counter.count(&text) <= whole);
        assert!(text.starts_with("## Goal\n- ship\n\n## Files\n- "), "{text}");
        assert!(!text.contains("- a\n") && text.ends_with("- g"), "{text}");
    }

    /// Sections of lines of so many words, which all differ.
    fn sections(sizes: &[&[usize]]) -> String {
        let mut number = 0;
        let mut line = |words: &usize| {
            number += 1;
            format!("{number}{}", " word".repeat(*words))
        };
        let mut section = |at: usize, sizes: &[usize]| {
            let lines: Vec<String> = sizes.iter().map(&mut line).collect();
            format!("## S{at}\n{}", lines.join("\n"))
        };
        let all: Vec<String> = (1..).zip(sizes).map(|(at, sizes)| section(at, sizes)).collect();
        all.join("\n\n")
    }

    /// The numbers of the lines that stay when so many tokens are too many. A
    /// line counts its number, its words and its end.
    #[test]
    fn longest_section_shrinks_to_length_of_the_next() {
        let left = |sizes: &[&[usize]], excess: u64| -> Vec<String> {
            let text = sections(sizes);
            let whole = Counter::default().count(&text);
            let text = merge("", &text, whole - excess);
            let number = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
            text.lines().filter(|line| line.starts_with(char::is_numeric)).map(number).collect()
        };
        let two: &[&[usize]] = &[&[3, 4, 2], &[4, 3, 2, 2]];
        // 5, 6 and 4 are 15 tokens, and 6, 5, 4 and 4 are 19.
        assert_eq!(left(two, 0), ["1", "2", "3", "4", "5", "6", "7"]);
        assert_eq!(left(two, 1), ["1", "2", "3", "5", "6", "7"]);
        assert_eq!(left(two, 6), ["1", "2", "3", "5", "6", "7"]);
        // At 13 the second one is the shorter: the next to go is of the first.
        assert_eq!(left(two, 7), ["2", "3", "5", "6", "7"]);
        // 10 against 16: at 10 both are equal, and the same one loses more.
        let even: &[&[usize]] = &[&[3, 3], &[4, 3, 3]];
        assert_eq!(left(even, 7), ["1", "2", "5"]);
        // 17, 15 and 13: a section that lost a line counts without it, so that all three lose one.
        let three: &[&[usize]] = &[&[6, 4, 1], &[5, 3, 1], &[4, 2, 1]];
        assert_eq!(left(three, 15), ["2", "3", "5", "6", "7", "8", "9"]);
        assert_eq!(left(three, 16), ["2", "3", "5", "6", "8", "9"]);
        // Nothing is left to take: the headings stay.
        assert_eq!(left(&[&[1]], 4), [""; 0]);
        assert_eq!(merge("", "## A\n1 word", 1), "## A");
    }
}
