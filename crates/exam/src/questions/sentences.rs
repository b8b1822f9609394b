//! The sentences that somebody wrote, without code and what a harness added.

use regex::{Captures, Regex};

/// Longest message whose every part counts as the user's own words: the middle
/// of a longer one was pasted.
const OWN: usize = 3_000;
/// Bytes at either end of a longer message that do.
const ENDS: usize = 1_000;

/// The sentences of a text outside of code and of tags that a harness wrote. A
/// line that breaks off goes on in the next one.
pub(super) fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut fenced, mut tag, mut held) = (false, None, String::new());
    for line in text.lines() {
        let line = line.trim();
        let is_fence = line.starts_with("```");
        fenced ^= is_fence;
        if let Some(open) = tag {
            if line.contains(&format!("</{open}>")) {
                tag = None;
            }
            continue;
        }
        let opens = opened(line);
        tag = opens.filter(|name| !line.contains(&format!("</{name}>")));
        // A heading only names what follows.
        let is_prose = !is_fence && !fenced && opens.is_none() && !line.starts_with(['|', '#']);
        let goes_on = is_prose
            && !held.is_empty()
            && (line.starts_with(char::is_lowercase) || held.ends_with(','))
            && !held.ends_with(['.', '!', '?', ':']);
        if goes_on {
            held.push(' ');
        } else {
            split(&std::mem::take(&mut held), &mut found);
        }
        if is_prose {
            let is_mark = |c: char| matches!(c, '-' | '*' | '>' | '|' | '•' | ' ');
            held.push_str(line.trim_start_matches(is_mark));
        }
    }
    split(&held, &mut found);
    found
}

/// The sentences of a user's message in their own words.
pub(super) fn own(text: &str) -> Vec<String> {
    if text.len() <= OWN {
        return sentences(text);
    }
    let head = text.floor_char_boundary(ENDS);
    let tail = text.ceil_char_boundary(text.len() - ENDS);
    let (mut found, last) = (sentences(&text[..head]), sentences(&text[tail..]));
    // The first and the last piece are cut somewhere within a sentence.
    found.pop();
    found.extend(last.into_iter().skip(1));
    found
}

/// The name of a tag that a line begins with.
fn opened(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('<')?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'))?;
    let name = &rest[..end];
    (!name.is_empty() && rest[end..].starts_with(['>', ' '])).then_some(name)
}

/// A full stop ends a sentence if a space follows it, so that `src/auth.ts` and
/// `0.70` stay whole; one of Chinese and Japanese always does.
fn split(line: &str, found: &mut Vec<String>) {
    let mut start = 0;
    for (at, c) in line.char_indices() {
        let end = at + c.len_utf8();
        let wide = matches!(c, '。' | '！' | '？');
        let narrow = matches!(c, '.' | '!' | '?') && line[end..].starts_with(' ');
        if wide || narrow {
            found.push(line[start..end].trim().to_owned());
            start = end;
        }
    }
    found.push(line[start..].trim().to_owned());
    found.retain(|sentence| !sentence.is_empty());
}

// Matches whose parts are not too long.
//
// A bound like `\w{4,60}` in a pattern makes sixty copies of a class with all
// letters there are, which take longer to build than most sessions take to read.

/// The matches of a pattern that are accepted, in order. Like a part of the
/// pattern, `fits` decides whether the text matches at a place at all: after a
/// place where it does not, the search goes on.
pub(super) fn captures_that<'t>(
    pattern: &'static Regex,
    text: &'t str,
    fits: impl Fn(&Captures<'t>) -> bool,
) -> impl Iterator<Item = Captures<'t>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let found = pattern.captures_at(text, from)?;
            let whole = found.get(0).expect("group 0 is the match").range();
            if fits(&found) {
                from = whole.end;
                return Some(found);
            }
            from = text.ceil_char_boundary(whole.start + 1);
        }
    })
}

#[cfg(test)]
mod tests {

    use super::*;
    use recap_core::text::{Pattern, pattern};

    #[test]
    fn code_and_tags_are_no_sentences() {
        let text = "Use x.rs. Never push!\n```sh\nrm -rf a\n```\n<reminder>\nDo not.\n</reminder>\n- A list";
        assert_eq!(sentences(text), ["Use x.rs.", "Never push!", "A list"]);
        assert_eq!(
            sentences("# Never a heading\n- Never log keys or\n  secrets\nNever\n\nagain"),
            ["Never log keys or secrets", "Never", "again"]
        );
        assert_eq!(sentences("<a>b</a>\n必须测试。不要提交"), ["必须测试。", "不要提交"]);
    }

    #[test]
    fn long_message_keeps_only_its_ends_as_own() {
        let text = format!("First. Second.\n{}\nLast but one. Last.", "pasted. ".repeat(1_000));
        let found = own(&text);
        assert_eq!((found[0].as_str(), found[1].as_str()), ("First.", "Second."));
        assert_eq!(found.last().map(String::as_str), Some("Last."));
        assert!(found.len() < 300);
    }

    static NAME: Pattern = pattern!(r"é?fn (fn )?(\w+)");

    #[test]
    fn refused_match_does_not_hide_inner_match() {
        let found = |text| {
            let short = captures_that(&NAME, text, |found| found[0].len() < 6);
            short.map(|found| found[2].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found("fn a fn fn b fn toolong éfn fn c"), ["a", "b", "c"]);
        assert_eq!(found("nothing"), [""; 0]);
    }
}
