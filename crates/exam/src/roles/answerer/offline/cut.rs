//! Finds the sentences of a text: in prose, in logs, in JSON, and in calls of
//! tools.

use std::ops::Range;

/// Length in bytes of the longest sentence; a longer one is cut into windows.
pub(super) const SENTENCE: usize = 360;

/// The byte ranges of the sentences of a text, without surrounding space:
/// lines, split after the marks that end a sentence.
pub(super) fn pieces(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut out = Vec::new();
    for line in text.split_inclusive(['\n', '\r']) {
        sentences(text, start..start + line.len(), &mut out);
        start += line.len();
    }
    out
}

fn sentences(text: &str, line: Range<usize>, out: &mut Vec<Range<usize>>) {
    let listed = text[line.clone()].trim_start().starts_with(['[', '{']);
    let mut start = line.start;
    let mut before = ' ';
    let mut chars =
        text[line.clone()].char_indices().map(|(at, c)| (line.start + at, c)).peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let next = chars.peek().map(|(_, c)| *c);
        let ends = match c {
            '\n' | '\r' => true,
            '。' | '！' | '？' => true,
            '.' | '!' | '?' | '…' => next.is_none_or(char::is_whitespace),
            ',' if listed && before == '}' => true,
            // A long line of JSON or of a list has no full stops.
            ',' | ';' | '{' | '[' | '，' | '；' => {
                at - start > SENTENCE / 2 && next.is_none_or(|c| c.is_whitespace() || c == '"')
            }
            c if c.is_whitespace() => at - start > SENTENCE,
            _ => at - start > 2 * SENTENCE,
        };
        if ends {
            push(text, start..end, out);
            start = end;
        }
        before = c;
    }
    push(text, start..line.end, out);
}

fn push(text: &str, place: Range<usize>, out: &mut Vec<Range<usize>>) {
    let spelt = &text[place.clone()];
    let kept = spelt.trim();
    if !kept.is_empty() {
        let start = place.start + (spelt.len() - spelt.trim_start().len());
        let mut rest = start..start + kept.len();
        // A string in a call may be long and contain no space.
        while rest.end - rest.start > 2 * SENTENCE {
            let mut end = rest.start + 2 * SENTENCE;
            while !text.is_char_boundary(end) {
                end += 1;
            }
            out.push(rest.start..end);
            rest.start = end;
        }
        out.push(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        pieces(text).into_iter().map(|place| &text[place]).collect()
    }

    #[test]
    fn sentences_end_at_stops_and_lines() {
        assert_eq!(cut("Ann left. Why?\nv2.5 ran!"), ["Ann left.", "Why?", "v2.5 ran!"]);
        assert_eq!(cut("我在。你呢？"), ["我在。", "你呢？"]);
        assert_eq!(cut(" \n\n "), [""; 0]);
        let rows = r#"[{"id":1,"state":"open"},{"id":2}]"#;
        assert_eq!(cut(rows), [r#"[{"id":1,"state":"open"},"#, r#"{"id":2}]"#]);
    }

    #[test]
    fn a_line_without_stops_is_cut_into_windows() {
        let json = format!("{{{}}}", r#""key": 12, "#.repeat(400));
        assert!(cut(&json).iter().all(|window| window.len() <= SENTENCE));
        assert!(cut(&"x".repeat(5000)).iter().all(|w| w.len() <= 2 * SENTENCE + 2));
        let call = format!(r#"{{"name":"put","arguments":{{"text":"{}"}}}}"#, "鲸".repeat(3000));
        assert!(cut(&call).iter().all(|w| w.len() <= 2 * SENTENCE + 2));
    }
}
