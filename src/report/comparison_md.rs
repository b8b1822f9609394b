//! Two runs beside each other as Markdown, for pull requests.

use super::comparison::{HEADS, cells, headline, notes, probes, title};
use crate::model::Comparison;

/// Renders a comparison as Markdown.
pub fn comparison_md(comparison: &Comparison) -> String {
    let mut out = format!("## recap compare\n\n{}\n", escaped(&headline(comparison)));
    for row in &comparison.rows {
        out += &format!("\n### {}\n\n", escaped(&title(row)));
        out += &line(&HEADS.map(str::to_owned));
        out += "| --- | ---: | ---: | ---: | --- | --- | --- |\n";
        for measure in &row.measures {
            out += &line(&cells(measure));
        }
        if let Some(probes) = probes(row) {
            out += &format!("\n{}\n", escaped(&probes));
        }
    }
    for note in notes(comparison) {
        out += &format!("\n{}\n", escaped(&note));
    }
    out
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Text that is text in Markdown, whatever it is called: every character that
/// could begin a link, an image, code, a table cell, markup, a mention or a
/// reference to an issue is written as an entity or behind a backslash.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '(' | ')' | '!' | '|' | '#' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            // An address would become a link by itself.
            ':' => out.push_str("&#58;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_can_be_markup_a_link_a_mention_or_a_cell() {
        let hostile = "a|b <img src=x> [x](https://e.org) @you `c` **d** #1 ![i](u) \\";
        assert_eq!(
            escaped(hostile),
            "a\\|b &lt;img src=x&gt; \\[x\\]\\(https&#58;//e.org\\) &#64;you \\`c\\` \\*\\*d\\*\\* \\#1 \
             \\!\\[i\\]\\(u\\) \\\\"
        );
    }
}
