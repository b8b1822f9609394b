//! A document as Markdown. Every text passes [`escaped`].

use super::{Column, Part, Table};

mod escaped;

/// Characters of a cell, a sentence or an item.
const LONGEST: usize = 500;

/// The parts in order, with empty lines between them.
pub(crate) fn markdown(parts: &[Part]) -> String {
    let parts: Vec<String> = parts.iter().map(part).filter(|text| !text.is_empty()).collect();
    parts.join("\n")
}

fn part(part: &Part) -> String {
    let prose = |text: &str| escaped::prose(text, LONGEST);
    match part {
        Part::Title(text) => format!("## {}\n", prose(text)),
        Part::Heading(text) => format!("### {}\n", prose(text)),
        Part::Text(text) => format!("{}\n", prose(text)),
        Part::Labelled(label, text) => format!("**{label}** {}\n", prose(text)),
        Part::List(items) => items.iter().map(|item| format!("- {}\n", prose(item))).collect(),
        Part::Table(table) => rows(table),
        Part::Quoted(head, text) => format!("#### {}\n\n{}\n", prose(head), prose(text)),
        Part::Folded(summary, inside) => folded(&prose(summary), &markdown(inside)),
        Part::Copied(label, line, note) => {
            format!("**{label}** {}\n", prose(&format!("{line} {note}")))
        }
        Part::Drawing(_) => String::new(),
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
        let cells = row.cells.iter().map(|cell| escaped::prose(&cell.whole(), LONGEST));
        text += &line(&cells.collect::<Vec<_>>());
    }
    text
}
