//! Where the sentences of a text stand: in prose, in logs, in JSON, and in the
//! calls of tools.

use std::ops::Range;

/// Longest sentence in bytes; a longer one is cut into windows.
pub(super) const SENTENCE: usize = 360;

/// Longest line that opens an object and still belongs to its fields.
const OPENING: usize = 48;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Bytes of the text, without surrounding space.
    pub place: Range<usize>,
    /// Whether it stands in the arguments of a tool call, as JSON spells it.
    pub called: bool,
}

/// The pieces of a text: lines, cut after what ends a sentence; the fields of
/// a small object of JSON together; the lines of a call's arguments. What tools
/// a model may call is said to the model alone and gives no pieces.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let lines = lines(text);
    let mut out = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].clone();
        at += 1;
        let spelt = &text[line.clone()];
        if is_schema(spelt) {
            continue;
        }
        if is_call(spelt) {
            called(text, line, &mut out);
        } else if let Some(more) = object(text, &lines[at - 1..]) {
            push(text, line.start..lines[at - 1 + more].end, false, &mut out);
            at += more;
        } else {
            sentences(text, line, &mut out);
        }
    }
    out
}

fn lines(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut out = Vec::new();
    for line in text.split_inclusive(['\n', '\r']) {
        out.push(start..start + line.len());
        start += line.len();
    }
    out
}

/// Whether a line is the description of a tool: the shapes of Anthropic, OpenAI
/// and MCP.
fn is_schema(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('{')
        && line.ends_with('}')
        && ["\"parameters\":", "\"input_schema\":", "\"inputSchema\":"]
            .iter()
            .any(|key| line.contains(key))
        && line.contains("\"name\":")
        && line.contains("\"description\":")
        && !line.contains("\"arguments\":")
}

/// Whether a line is a tool call: an object that opens with a name and has
/// arguments.
fn is_call(line: &str) -> bool {
    let line = line.trim();
    (line.starts_with("{\"name\":") || line.starts_with("{\"arguments\":"))
        && line.ends_with('}')
        && line.contains("\"arguments\":")
        && line.contains("\"name\":")
}

/// How many lines after the first make a small object with it: it opens on the
/// first, nothing else opens in between, and all of it fits a sentence.
fn object(text: &str, lines: &[Range<usize>]) -> Option<usize> {
    let first = lines.first()?;
    let opening = text[first.clone()].trim();
    if !opening.ends_with('{') || opening.len() > OPENING {
        return None;
    }
    // Code opens blocks too; the fields of an object begin with a quote.
    for (more, line) in lines.iter().enumerate().skip(1) {
        let spelt = text[line.clone()].trim();
        if line.end - first.start > SENTENCE || spelt.ends_with(['{', '[']) {
            return None;
        }
        if spelt.starts_with('}') {
            return Some(more);
        }
        if !spelt.starts_with('"') {
            return None;
        }
    }
    None
}

/// The lines and the strings of a call's arguments.
fn called(text: &str, line: Range<usize>, out: &mut Vec<Piece>) {
    let mut start = line.start;
    let bytes = text.as_bytes();
    let mut at = line.start;
    while at < line.end {
        let (ends, width) = match bytes[at] {
            b'\\' if bytes.get(at + 1) == Some(&b'n') => (true, 2),
            b'\\' => (false, 2),
            b',' if bytes[at - 1] == b'}' || bytes[at - 1] == b'"' => (true, 1),
            b' ' if at - start > SENTENCE => (true, 1),
            _ => (false, 1),
        };
        if ends {
            push(text, start..at, true, out);
            start = at + width;
        }
        at += width;
    }
    if start < line.end {
        push(text, start..line.end, true, out);
    }
}

/// What a piece of a call says, without JSON's escapes.
pub(super) fn unescaped(piece: &str) -> String {
    let mut out = String::with_capacity(piece.len());
    let mut chars = piece.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('t' | 'n' | 'r') => out.push(' '),
                Some(other) => out.push(other),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

fn sentences(text: &str, line: Range<usize>, out: &mut Vec<Piece>) {
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
            '.' | '!' | '?' | '…' => {
                next.is_none_or(char::is_whitespace)
                    && !(c == '.' && is_abbreviation(&text[start..at]))
            }
            ',' if listed && before == '}' => true,
            // A long line of JSON or of a list has no full stops.
            ',' | ';' | '{' | '[' | '，' | '；' => {
                at - start > SENTENCE / 2 && next.is_none_or(|c| c.is_whitespace() || c == '"')
            }
            c if c.is_whitespace() => at - start > SENTENCE,
            _ => at - start > 2 * SENTENCE,
        };
        if ends {
            push(text, start..end, false, out);
            start = end;
        }
        before = c;
    }
    push(text, start..line.end, false, out);
}

fn push(text: &str, place: Range<usize>, called: bool, out: &mut Vec<Piece>) {
    let spelt = &text[place.clone()];
    let kept = spelt.trim();
    if !kept.is_empty() {
        let start = place.start + (spelt.len() - spelt.trim_start().len());
        let mut rest = start..start + kept.len();
        // A call's string may be long and without a space.
        while rest.end - rest.start > 2 * SENTENCE {
            let mut end = rest.start + 2 * SENTENCE;
            while !text.is_char_boundary(end) {
                end += 1;
            }
            out.push(Piece { place: rest.start..end, called });
            rest.start = end;
        }
        out.push(Piece { place: rest, called });
    }
}

/// Whether a full stop after this ends a short form or a list's number.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or("");
    let short = ["Mr", "Mrs", "Ms", "Dr", "Prof", "St", "vs", "e.g", "i.e", "etc", "No", "Jr"];
    short.contains(&word) || before.trim().len() <= 3 && word.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        pieces(text).into_iter().map(|piece| &text[piece.place]).collect()
    }

    #[test]
    fn sentences_end_at_stops_and_lines_but_not_at_short_forms() {
        assert_eq!(
            cut("Dr. Ann left. Why?\n1. v2.5 ran!"),
            ["Dr. Ann left.", "Why?", "1. v2.5 ran!"]
        );
        assert_eq!(cut("我在。你呢？"), ["我在。", "你呢？"]);
        assert_eq!(cut(" \n\n "), [""; 0]);
    }

    #[test]
    fn a_line_without_stops_is_cut_into_windows() {
        let json = format!("{{{}}}", r#""key": 12, "#.repeat(400));
        assert!(cut(&json).iter().all(|window| window.len() <= SENTENCE));
        assert!(cut(&"x".repeat(5000)).iter().all(|w| w.len() <= 2 * SENTENCE + 2));
        let call = format!(r#"{{"name":"put","arguments":{{"text":"{}"}}}}"#, "鲸".repeat(3000));
        assert!(cut(&call).iter().all(|w| w.len() <= 2 * SENTENCE + 2));
    }

    #[test]
    fn descriptions_of_tools_give_nothing() {
        let schema =
            r#"{"name":"fetch","description":"Fetch a page.","parameters":{"type":"object"}}"#;
        assert_eq!(cut(&format!("Be kind.\n{schema}")), ["Be kind."]);
        assert_eq!(cut(&schema.replace("parameters", "input_schema")), [""; 0]);
    }

    #[test]
    fn a_call_is_cut_at_the_lines_and_strings_of_its_arguments() {
        let call =
            r#"{"name":"write","arguments":{"path":"a.py","content":"x = 1\ny = \"two\"\n"}}"#;
        let found = pieces(call);
        assert!(found.iter().all(|piece| piece.called));
        let spelt: Vec<String> = found.iter().map(|p| unescaped(&call[p.place.clone()])).collect();
        let wanted = [
            r#"{"name":"write""#,
            r#""arguments":{"path":"a.py""#,
            r#""content":"x = 1"#,
            r#"y = "two""#,
            r#""}}"#,
        ];
        assert_eq!(spelt, wanted);
    }

    #[test]
    fn the_fields_of_a_small_object_stay_together() {
        let rows =
            "[\n  {\n    \"id\": 1,\n    \"state\": \"open\"\n  },\n  {\n    \"id\": 2\n  }\n]";
        assert_eq!(cut(rows).len(), 4);
        assert!(cut(rows)[1].contains("\"id\": 1") && cut(rows)[1].contains("open"));
        assert_eq!(
            cut(r#"[{"id":1,"state":"open"},{"id":2}]"#),
            [r#"[{"id":1,"state":"open"},"#, r#"{"id":2}]"#]
        );
        // Code keeps its lines.
        assert_eq!(cut("fn main() {\n  run();\n}").len(), 3);
    }
}
