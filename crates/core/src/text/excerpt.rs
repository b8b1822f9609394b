//! Shortens the values that an error quotes; what remains is enough to recognise them.

use std::borrow::Cow;

/// Characters of a value that an error quotes at most.
const QUOTED: usize = 200;

/// Characters of a message between two quotations: more are part of a value that
/// has backticks of its own.
const SAID: usize = 400;

/// Most characters of a line, whatever it quotes.
const LINE: usize = 1_200;

/// Most lines of a message: more than any list of violations has, and a value
/// may contain any number of line feeds.
const LINES: usize = 120;

/// The text of a parser after a value that it quotes.
const BEHIND: [&str; 2] = ["\", expected ", "`, expected "];

/// The beginning of a value, with an ellipsis where there is more.
pub fn excerpt(value: &str) -> Cow<'_, str> {
    beginning(value, QUOTED)
}

/// A message, line by line, with every quoted value shortened: between
/// backticks, as this program quotes, and where a parser quotes. Only the first
/// of very many lines are kept.
pub fn brief(message: &str) -> Cow<'_, str> {
    if message.len() <= QUOTED {
        return Cow::Borrowed(message);
    }
    let mut lines: Vec<String> = message.split('\n').take(LINES).map(brief_line).collect();
    let more = message.split('\n').count() - lines.len();
    if more > 0 {
        lines.push(format!("… and {more} more lines"));
    }
    Cow::Owned(lines.join("\n"))
}

fn brief_line(line: &str) -> String {
    for behind in BEHIND {
        let (quote, end) = (&behind[..1], line.rfind(behind));
        if let (Some(start), Some(end)) = (line.find(quote), end)
            && start < end
        {
            let value = excerpt(&line[start + 1..end]);
            return beginning(&format!("{}{value}{}", &line[..=start], &line[end..]), LINE).into();
        }
    }
    let most = |at: usize| if at.is_multiple_of(2) { SAID } else { QUOTED };
    let parts = line.split('`').enumerate();
    let parts: Vec<Cow<'_, str>> = parts.map(|(at, part)| beginning(part, most(at))).collect();
    beginning(&parts.join("`"), LINE).into()
}

/// At most so many characters of a text, with an ellipsis where there is more.
pub fn beginning(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_counts_characters_and_marks_cut_ends() {
        assert_eq!(excerpt(&"é".repeat(200)), "é".repeat(200));
        assert_eq!(excerpt(&"é".repeat(100_000)), "é".repeat(200) + "…");
    }

    #[test]
    fn quoted_values_are_cut_and_own_text_kept() {
        let (long, short) = ("x".repeat(5_000), "x".repeat(200) + "…");
        for (shown, quoted) in [
            (format!("strategy `{long}` is not known"), format!("strategy `{short}` is not known")),
            (
                format!("invalid type: string \"{long}\", expected u64"),
                format!("invalid type: string \"{short}\", expected u64"),
            ),
            (
                format!("unknown field `{long}`, expected `a` or `b`"),
                format!("unknown field `{short}`, expected `a` or `b`"),
            ),
            (format!("one\n`{long}`\nthree"), format!("one\n`{short}`\nthree")),
        ] {
            assert_eq!(brief(&shown), quoted);
        }
        let list: Vec<String> = (0..100).map(|n| format!("`name-{n}`")).collect();
        let list = format!("known are {}", list.join(", "));
        assert!(list.len() > 1_000 && list.chars().count() <= LINE, "{}", list.len());
        assert_eq!(brief(&list), list);
    }

    #[test]
    fn line_feeds_within_value_do_not_prevent_cutting() {
        let shown = format!("unknown role `{}`", "x\n".repeat(100_000));
        let shown = brief(&shown);
        assert_eq!(shown.lines().count(), LINES + 1);
        assert!(shown.ends_with("\n… and 99881 more lines"), "{shown}");
        let list = "x\n".repeat(LINES - 1) + &"x".repeat(QUOTED);
        assert_eq!(brief(&list), list);
    }

    #[test]
    fn quotes_within_value_do_not_prevent_cutting() {
        for value in ["`".repeat(9_000), "a`".repeat(9_000), "a\", expected ".repeat(900)] {
            let shown = brief(&format!("unknown role `{value}`")).chars().count();
            assert!(shown <= LINE + 1, "{shown}");
        }
    }
}
