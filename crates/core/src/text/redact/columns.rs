//! Secrets in the columns of tables: of SQL clients, Markdown and CSV.

use std::ops::Range;

use super::values::{Makeup, is_filler, is_template};
use crate::text::{Pattern, pattern};

/// Longest line of names that is looked at, in bytes.
const LONGEST_LINE: usize = 2_000;

/// Names of columns that hold secrets; the first group are passwords, which people choose.
static NAME: Pattern = pattern!(
    r"(?i)^(?:[a-z0-9]{1,24}[_ ])?(?:(password|passwd|passwort|passphrase|pwd|pass|pw|senha|clave)",
    r"|api_?key|(?:access|auth|api|refresh|bot|session)?_?token|secret(?:_?key)?|private_?key)$"
);

/// Finds secrets below the names of columns.
pub(super) fn columns(text: &str, spans: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while let Some(hit) = NAMED.find_at(text, at) {
        let begun = memchr::memrchr(b'\n', &text.as_bytes()[at..hit.start()]);
        let begun = begun.map_or(at, |newline| at + newline + 1);
        let Some(line) = line_at(text, begun) else { break };
        at = (line.end + 1).min(text.len());
        if line.len() > LONGEST_LINE {
            continue;
        }
        let Some((cut, heads)) = heads(text, &line, line_at(text, at)) else { continue };
        // The places of columns that hold secrets, and whether these are passwords.
        let names = heads.iter().enumerate().filter_map(|(at, head)| {
            Some((at, NAME.captures(&text[head.clone()])?.get(1).is_some()))
        });
        let names: Vec<(usize, bool)> = names.collect();
        if names.is_empty() {
            continue;
        }
        // A row of another number of cells ends the table.
        while let Some(row) = line_at(text, at) {
            let next = (row.end + 1).min(text.len());
            let cells = cut.cells(text, &row);
            let rule = text[row].chars().all(|c| "-+|=: ─│├┼┤".contains(c));
            if cells.len() != heads.len() && !rule {
                break;
            }
            for &(at, password) in &names {
                let held = |cell: &&Range<usize>| is_secret(&text[(*cell).clone()], password);
                spans.extend(cells.get(at).filter(held).cloned());
            }
            at = next;
        }
    }
}

/// A word of a line that may name such a column.
static NAMED: Pattern = pattern!(
    r"(?i)(?:pass[a-z]{0,6}|pwd|pw|senha|clave|api_?key|token|secret|private_?key)(?-u:\b)"
);

/// Whether a cell of such a column holds a secret.
fn is_secret(value: &str, password: bool) -> bool {
    let Makeup { digits, letters, signs, changes } = Makeup::of(value);
    let made = value.len() >= 12 && letters >= 2 && (digits >= 2 || changes >= 3);
    let chosen = value.len() >= 6 && letters >= 2 && (digits > 0 || signs || changes >= 2);
    let stands_in = value.contains(' ') || is_filler(value) || is_template(value);
    !stands_in && (made || password && chosen)
}

/// How the cells of a row are told apart.
enum Cut {
    /// By a sign, with spaces around the cells.
    Sign(char),
    /// By the places of their columns, in bytes: those of the rule below the names.
    Places(Vec<Range<usize>>),
}

/// The cells of a line of names, and how rows below it are cut.
fn heads(
    text: &str,
    line: &Range<usize>,
    below: Option<Range<usize>>,
) -> Option<(Cut, Vec<Range<usize>>)> {
    for sign in ['|', '│', '\t', ';', ','] {
        let cut = Cut::Sign(sign);
        let cells = cut.cells(text, line);
        // Names have no spaces around signs of a sentence.
        let name = |cell: &Range<usize>| {
            let name = &text[cell.clone()];
            !name.is_empty()
                && name.len() <= 40
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-() ".contains(&byte))
        };
        let spaced = matches!(sign, ',' | ';') && text[line.clone()].contains(' ');
        if cells.len() >= 2 && cells.iter().all(name) && !spaced {
            return Some((cut, cells));
        }
    }
    let below = below?;
    let rule = &text[below.clone()];
    if rule.len() < 5 || !rule.contains("- ") || !rule.bytes().all(|byte| b"- ".contains(&byte)) {
        return None;
    }
    let mut places = Vec::new();
    let mut begun = None;
    for (at, byte) in rule.bytes().chain([b' ']).enumerate() {
        match (begun, byte) {
            (None, b'-') => begun = Some(at),
            (Some(start), b' ') => {
                places.push(start..at);
                begun = None;
            }
            _ => {}
        }
    }
    let cut = Cut::Places(places);
    let cells = cut.cells(text, line);
    Some((cut, cells))
}

impl Cut {
    /// The cells of a row, without spaces and quotes around them.
    fn cells(&self, text: &str, row: &Range<usize>) -> Vec<Range<usize>> {
        let line = &text[row.clone()];
        let trimmed = |start: usize, cell: &str| {
            let inside = cell.trim().trim_matches(['"', '\'']);
            let start = start + (inside.as_ptr() as usize - cell.as_ptr() as usize);
            row.start + start..row.start + start + inside.len()
        };
        match self {
            Cut::Sign(sign) => {
                let framed = line.trim().trim_matches(['|', '│']);
                let offset = framed.as_ptr() as usize - line.as_ptr() as usize;
                let mut cells = Vec::new();
                let (mut start, mut quoted) = (0, false);
                for (at, c) in framed.char_indices().chain([(framed.len(), *sign)]) {
                    quoted ^= c == '"';
                    if c == *sign && (!quoted || at == framed.len()) {
                        cells.push(trimmed(offset + start, &framed[start..at]));
                        start = at + c.len_utf8();
                    }
                }
                cells
            }
            Cut::Places(places) => {
                let cell = |place: &Range<usize>| {
                    Some(trimmed(place.start, line.get(place.start..place.end.min(line.len()))?))
                };
                places.iter().map_while(cell).collect()
            }
        }
    }
}

/// The line of a text that begins there; none at its end.
fn line_at(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
    let length = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
    Some(start..start + length)
}
