//! Parses GSV's two sections ("Three-Tier Summarization").

use crate::roles::ask::ReplyText;
use recap_strategy::Digest;

/// What models write if there is no memory to store.
const NOTHING: [&str; 4] = ["none", "none.", "(none)", "n/a"];

/// The sections of a reply. The summary is required; memories may be missing. A
/// section without an end tag ends at the next section, or at the end of the
/// reply. A memory that was cut off is removed, because half a fact would be
/// stored permanently.
pub(super) fn read(said: ReplyText<'_>) -> Result<Digest, String> {
    let summary = section(said.text, "summary").unwrap_or_default().text.trim();
    if summary.is_empty() {
        return Err("its <summary> section is missing or empty".to_owned());
    }
    let listed = section(said.text, "memories").unwrap_or_default();
    let mut memories = lines(listed.text);
    if said.cut && !listed.closed {
        memories.pop();
    }
    memories.retain(|memory| !NOTHING.contains(&memory.to_ascii_lowercase().as_str()));
    Ok(Digest { summary: summary.to_owned(), memories })
}

#[derive(Clone, Copy, Default)]
struct Section<'a> {
    text: &'a str,
    /// Whether the section has an end tag.
    closed: bool,
}

/// The first section with a name. The case of tags does not matter.
fn section<'a>(text: &'a str, name: &str) -> Option<Section<'a>> {
    // The lower-case text has the same length in bytes.
    let lower = text.to_ascii_lowercase();
    let open = format!("<{name}>");
    let start = lower.find(&open)? + open.len();
    if let Some(end) = lower[start..].find(&format!("</{name}>")) {
        return Some(Section { text: &text[start..start + end], closed: true });
    }
    let next = ["<summary>", "<memories>"].into_iter().filter_map(|tag| lower[start..].find(tag));
    let end = next.min().map_or(text.len(), |next| start + next);
    Some(Section { text: &text[start..end], closed: false })
}

/// The entries of a list. If any line has a bullet, a line without one
/// continues the entry above it; otherwise each line is an entry.
fn lines(text: &str) -> Vec<String> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let bulleted = lines().any(|line| entry(line).is_some());
    let mut entries: Vec<String> = Vec::new();
    for line in lines() {
        match (entry(line), entries.last_mut()) {
            (Some(text), _) => entries.push(text.to_owned()),
            (None, Some(last)) if bulleted => last.extend([" ", line]),
            (None, _) => entries.push(line.to_owned()),
        }
    }
    entries.retain(|entry| !entry.is_empty());
    entries
}

/// The text of a line after its bullet or number.
fn entry(line: &str) -> Option<&str> {
    let marked = ["-", "*", "•"].into_iter().find_map(|bullet| line.strip_prefix(bullet));
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(['.', ')']);
        rest.filter(|_| line.starts_with(|c: char| c.is_ascii_digit()))
    };
    let text = marked.or_else(numbered)?;
    (text.is_empty() || text.starts_with(' ')).then(|| text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> Result<(String, Vec<String>), String> {
        read(ReplyText { text, cut: false }).map(|digest| (digest.summary, digest.memories))
    }

    fn of(summary: &str, memories: &[&str]) -> Result<(String, Vec<String>), String> {
        Ok((summary.to_owned(), memories.iter().map(|m| (*m).to_owned()).collect()))
    }

    #[test]
    fn sections_are_parsed_despite_tag_case_and_ending() {
        for text in [
            "<summary>\nThey talked.\n</summary>\n\n<memories>\n- Likes tea.\n- Uses pnpm.\n</memories>",
            "Here it is.\n<Summary>They talked.</SUMMARY><MEMORIES>* Likes tea.\n* Uses pnpm.",
            "<summary>They talked.\n<memories>1. Likes tea.\n2) Uses pnpm.</memories>",
            "<memories>Likes tea.\nUses pnpm.</memories><summary>They talked.</summary> Bye!",
        ] {
            assert_eq!(digest(text), of("They talked.", &["Likes tea.", "Uses pnpm."]), "{text}");
        }
    }

    #[test]
    fn summary_is_required_and_memories_are_optional() {
        assert_eq!(digest("<summary>They talked.</summary>"), of("They talked.", &[]));
        for nothing in ["", "- None.", "(none)", "- "] {
            let text = format!("<summary>x</summary><memories>\n{nothing}\n</memories>");
            assert_eq!(digest(&text), of("x", &[]), "{nothing}");
        }
        for text in ["They talked.", "<summary> </summary>", "<memories>- x</memories>", ""] {
            let wrong = "its <summary> section is missing or empty";
            assert_eq!(digest(text), Err(wrong.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_line_without_a_bullet_continues_its_memory() {
        let text = "<summary>x</summary><memories>- Born in 1990\n  in Bern.\n- -5 degrees\n-7 is no bullet";
        assert_eq!(digest(text), of("x", &["Born in 1990 in Bern.", "-5 degrees -7 is no bullet"]));
        let text = "<summary>x</summary><memories>1990 in Bern.\n3.5 kg</memories>";
        assert_eq!(digest(text), of("x", &["1990 in Bern.", "3.5 kg"]));
    }

    #[test]
    fn a_memory_that_was_cut_off_is_removed() {
        let cut = |text| read(ReplyText { text, cut: true }).map(|digest| digest.memories);
        let memories = |list: &[&str]| Ok(list.iter().map(|m| (*m).to_owned()).collect());
        assert_eq!(
            cut("<summary>x</summary><memories>- Likes tea.\n- The"),
            memories(&["Likes tea."])
        );
        assert_eq!(cut("<summary>They tal"), memories(&[]));
        assert_eq!(cut("<summary>x</summary><memories>- a\n</memories> I ho"), memories(&["a"]));
    }

    #[test]
    fn non_ascii_letters_do_not_shift_the_tags() {
        assert_eq!(digest("İÄß <SUMMARY>Straße İ</SUMMARY>"), of("Straße İ", &[]));
    }
}
