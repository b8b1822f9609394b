//! A document as Markdown. Every text passes [`prose`], such that a reader sees it and neither
//! Markdown nor GitHub obeys it.
//!
//! Escaping is not enough: mentions (`@name`), references (`#12`, `GH-12`,
//! `owner/repo#12`), emoji (`:name:`) and formulas (`$…$`) are looked for in the
//! finished text, so nothing but an invisible break or an element of its own
//! keeps them apart. In code nothing at all is looked for.

use super::{Column, Part, Table};
use crate::plain;

/// Characters of a cell, a sentence or an item.
const LONGEST: usize = 500;

/// The parts in order, with empty lines between them.
pub(crate) fn markdown(parts: &[Part]) -> String {
    let parts: Vec<String> = parts.iter().map(part).filter(|text| !text.is_empty()).collect();
    parts.join("\n")
}

fn part(part: &Part) -> String {
    let prose = |text: &str| prose(text, LONGEST);
    match part {
        Part::Title(text) => format!("## {}\n", prose(text)),
        Part::Heading(text) => format!("### {}\n", prose(text)),
        Part::Text(text) => format!("{}\n", prose(text)),
        Part::Labelled(label, text) => format!("**{label}** {}\n", prose(text)),
        Part::List(items) => items.iter().map(|item| format!("- {}\n", prose(item))).collect(),
        Part::Table(table) => rows(table),
        Part::Quoted(head, text) => format!("#### {}\n\n{}\n", prose(head), prose(text)),
        Part::Folded(summary, inside) => folded(&prose(summary), &markdown(inside)),
        Part::Drawn(_) => String::new(),
    }
}

/// What GitHub shows when a reader opens it.
fn folded(summary: &str, inside: &str) -> String {
    let inside = inside.trim_end();
    format!("<details>\n<summary>{summary}</summary>\n\n{inside}\n\n</details>\n")
}

fn rows(table: &Table) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let heads: Vec<String> = table.columns.iter().map(Column::label).collect();
    let rule = table.columns.iter().map(|head| if head.right { "--:" } else { "---" });
    let mut text = line(&heads) + &line(&rule.map(str::to_owned).collect::<Vec<_>>());
    for row in table.rows() {
        let cells = row.cells.iter().map(|cell| prose(&cell.whole(), LONGEST));
        text += &line(&cells.collect::<Vec<_>>());
    }
    text
}

/// A space without width, written such that readers of the source see it.
const BREAK: &str = "&#8203;";

/// Words of at most `limit` characters, after which nothing may stand that
/// they could be joined with.
fn prose(text: &str, limit: usize) -> String {
    escaped(&plain::shortened(plain::line(text).trim(), limit))
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut before = None;
    let numbered = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let opening = (numbered.len() < text.len()).then(|| text.len() - numbered.len());
    for (at, c) in text.char_indices() {
        let next = text[at + c.len_utf8()..].chars().next();
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' => out.push_str("&#124;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '#' => out.extend(['\\', c]),
            // What would begin a list or a heading.
            '-' | '=' if at == 0 => out.extend(['\\', c]),
            '+' if at == 0 && next.is_none_or(char::is_whitespace) => out.extend(['\\', c]),
            '.' | ')' if Some(at) == opening && next.is_none_or(char::is_whitespace) => {
                out.extend(['\\', c])
            }
            // Before a digit none can end a formula.
            '$' if next.is_some_and(|c| c.is_ascii_digit()) => out.push_str("&#36;"),
            '$' => out.push_str("<span>&#36;</span>"),
            c => out.push(c),
        }
        if is_breaking(c, before, next, &text[..at]) {
            out.push_str(BREAK);
        }
        before = Some(c);
    }
    out
}

/// Whether what follows would be taken together with this character.
fn is_breaking(c: char, before: Option<char>, next: Option<char>, text: &str) -> bool {
    let Some(next) = next.filter(|next| !next.is_whitespace()) else { return false };
    let ends = |word: &str| {
        text.len()
            .checked_sub(word.len())
            .and_then(|at| text.get(at..))
            .is_some_and(|end| end.eq_ignore_ascii_case(word))
    };
    match c {
        '@' | '#' | ':' => true,
        // A bare address: `www.example.com`.
        'w' | 'W' => next == '.' && ends("ww"),
        '-' => next.is_ascii_digit() && ends("gh"),
        c => is_part_of_a_hash(c, before, text),
    }
}

/// Whether six more hexadecimal digits in a row end here: seven name a commit.
fn is_part_of_a_hash(c: char, before: Option<char>, text: &str) -> bool {
    let hex = |c: char| c.is_ascii_hexdigit();
    if !hex(c) || !before.is_some_and(hex) {
        return false;
    }
    let run = text.chars().rev().take_while(|c| hex(*c)).count() + 1;
    run % 6 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_keeps_words_and_loses_markup_meaning() {
        let prose = |text| prose(text, 200);
        assert_eq!(prose("fifo keeps 35 % at 25 %."), "fifo keeps 35 % at 25 %.");
        assert_eq!(prose("*a* _b_ `c` [d](e)"), r"\*a\* \_b\_ \`c\` \[d\](e)");
        assert_eq!(prose("<!-- & -->"), "&lt;!-- &amp; --&gt;");
        assert_eq!(prose("cc @all, a@b.de"), "cc @&#8203;all, a@&#8203;b.de");
        assert_eq!(prose("o/r#1 GH-2 gh-x"), r"o/r\#&#8203;1 GH-&#8203;2 gh-x");
        assert_eq!(prose("http://a.b WWW.a.b"), "http:&#8203;//a.b WWW&#8203;.a.b");
        assert_eq!(prose(":tada: 10:30"), ":&#8203;tada: 10:&#8203;30");
        assert_eq!(prose("$41.20 and $x$"), "&#36;41.20 and <span>&#36;</span>x<span>&#36;</span>");
        assert_eq!(prose("1. one"), r"1\. one");
        assert_eq!(prose("0.86 of 1) 2."), "0.86 of 1) 2.");
        assert_eq!(prose("- one"), r"\- one");
        assert_eq!(prose("+ one"), r"\+ one");
        assert_eq!(prose("deadbeef1234567"), "deadbe&#8203;ef1234&#8203;567");
        assert_eq!(prose("a\r\nb\u{202e}"), "a  b\u{FFFD}");
    }
}
