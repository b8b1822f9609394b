//! Reads dates: splits the text into pieces, and combines them.

use std::ops::Range;

use super::date::{DateSpan, MONTHS, PartialDate, month};
use recap_core::text::normal::{is_word, runs_into_name};

/// Most days that are read for one month: `3rd, 4th and 9th of May`.
const MOST_DAYS: usize = 8;

/// Words before a month that is also an ordinary word.
const BEFORE_MONTH: &[&str] = &[
    "in", "of", "last", "next", "this", "since", "until", "till", "by", "early", "mid", "late",
    "during", "around", "from", "before", "after", "through", "between", "each", "every",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PieceKind {
    Word,
    Number,
    /// A number with an ending, such as `7th`.
    Ordinal,
}

#[derive(Clone, Debug)]
struct Piece {
    kind: PieceKind,
    span: Range<usize>,
}

/// Runs of letters and runs of ASCII digits; the ending of an ordinal belongs
/// to its number.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let kind = match c {
            '0'..='9' => PieceKind::Number,
            c if is_word(c) => PieceKind::Word,
            _ => continue,
        };
        let end = at + c.len_utf8();
        let after = chars.peek().map_or(' ', |(_, c)| *c);
        match pieces.last_mut() {
            Some(last)
                if last.span.end == at
                    && last.kind == kind
                    && !runs_into_name(&text[last.span.clone()], c, after) =>
            {
                last.span.end = end;
            }
            _ => {
                fuse_ordinal(text, &mut pieces);
                pieces.push(Piece { kind, span: at..end });
            }
        }
    }
    fuse_ordinal(text, &mut pieces);
    pieces
}

fn fuse_ordinal(text: &str, pieces: &mut Vec<Piece>) {
    let [.., number, ending] = pieces.as_mut_slice() else { return };
    let is_ending = |s: &str| matches!(s, "st" | "nd" | "rd" | "th" | "ST" | "ND" | "RD" | "TH");
    if number.kind == PieceKind::Number
        && number.span.end == ending.span.start
        && is_ending(&text[ending.span.clone()])
    {
        number.kind = PieceKind::Ordinal;
        number.span.end = ending.span.end;
        pieces.pop();
    }
}

pub(super) struct Reader<'a> {
    text: &'a str,
    pieces: Vec<Piece>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Reader<'a> {
        Reader { text, pieces: pieces(text) }
    }

    pub(super) fn dates(&self) -> Vec<DateSpan> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.pieces.len() {
            at = self.read(at, &mut found).unwrap_or(at + 1);
        }
        found
    }

    /// Reads the dates that begin at a piece; returns where the next may begin.
    fn read(&self, at: usize, found: &mut Vec<DateSpan>) -> Option<usize> {
        match self.pieces[at].kind {
            PieceKind::Word => self.month_first(at, found),
            PieceKind::Ordinal => self.day_first(at, found),
            PieceKind::Number => self
                .numeric(at, found)
                .or_else(|| self.day_first(at, found))
                .or_else(|| self.year_alone(at, found)),
        }
    }

    fn word(&self, at: usize) -> &'a str {
        self.pieces.get(at).map_or("", |piece| &self.text[piece.span.clone()])
    }

    /// The text between a piece and the one before it.
    fn gap(&self, at: usize) -> &'a str {
        let start = at.checked_sub(1).map_or(0, |before| self.pieces[before].span.end);
        self.pieces.get(at).map_or("\n", |piece| &self.text[start..piece.span.start])
    }

    /// The value and the count of digits of a plain number.
    fn number(&self, at: usize) -> Option<(i16, usize)> {
        let plain = self.pieces.get(at)?.kind == PieceKind::Number;
        let digits = self.word(at);
        (plain && digits.len() <= 4).then(|| Some((digits.parse().ok()?, digits.len())))?
    }

    fn day(&self, at: usize) -> Option<i8> {
        let digits = self.word(at).trim_end_matches(|c: char| c.is_alphabetic());
        let day = (1..=2).contains(&digits.len()).then(|| digits.parse().ok())??;
        (1..=31).contains(&day).then_some(day)
    }

    fn month(&self, at: usize) -> Option<i8> {
        month(self.word(at))
    }

    fn push(&self, found: &mut Vec<DateSpan>, date: PartialDate, first: usize, last: usize) {
        if date.exists() {
            let span = self.pieces[first].span.start..self.pieces[last].span.end;
            found.push(DateSpan { date, span });
        }
    }

    /// `2023-05-07`, `2023/5/7`, `13/5/2023`, `5/13/23`, `15.08.2023`.
    fn numeric(&self, at: usize, found: &mut Vec<DateSpan>) -> Option<usize> {
        let ((a, long), (b, _), (c, last)) =
            (self.number(at)?, self.number(at + 1)?, self.number(at + 2)?);
        let mark = self.gap(at + 1);
        let joined = matches!(mark, "-" | "/" | ".") && self.gap(at + 2) == mark;
        let more = self.gap(at + 3) == mark && self.number(at + 3).is_some();
        if !joined || more || self.is_glued(at, mark) {
            return None;
        }
        let date = |year, month: i16, day: i16| {
            let (month, day) = (i8::try_from(month).ok(), i8::try_from(day).ok());
            let date = PartialDate { year: Some(year), month, day };
            (date.month.is_some() && date.day.is_some() && date.exists()).then_some(date)
        };
        let year = if last == 2 { c + if c < 70 { 2000 } else { 1900 } } else { c };
        let read = if long == 4 && last <= 2 {
            date(a, b, c)?
        } else if long > 2 || last == 3 || last == 1 || (mark == "." && last == 2) {
            return None;
        } else if mark == "." || a == b {
            date(year, b, a)?
        } else {
            match (date(year, b, a), date(year, a, b)) {
                (Some(one), None) | (None, Some(one)) => one,
                (Some(_), Some(_)) => PartialDate { year: Some(year), month: None, day: None },
                (None, None) => return None,
            }
        };
        self.push(found, read, at, at + 2);
        Some(at + 3)
    }

    /// Whether a number continues to the left with the mark that joins its parts.
    fn is_glued(&self, at: usize, mark: &str) -> bool {
        at > 0 && self.gap(at) == mark && self.pieces[at - 1].kind == PieceKind::Number
    }

    /// `7 May 2023`, `7th of May`, `3June, 2021`, `10-15 April`.
    fn day_first(&self, at: usize, found: &mut Vec<DateSpan>) -> Option<usize> {
        let days = self.days(at);
        let mut next = days.last()?.1 + 1;
        if self.word(next).eq_ignore_ascii_case("of") && self.gap(next) == " " {
            next += 1;
        }
        let name = next;
        let month = self.month(name).filter(|_| {
            let word = self.word(name);
            let capital = word.starts_with(char::is_uppercase);
            // `2 may go`: a month that is also an ordinary word needs a capital.
            matches!(self.gap(name), " " | "" | "-" | ". " | " '" | "`")
                && (capital || !matches!(word, "may" | "march" | "mar" | "sept" | "dec" | "jan"))
        })?;
        let year = self.year(name + 1);
        let end = if year.is_some() { name + 1 } else { name };
        self.push_days(found, &days, month, year, at, end);
        Some(end + 1)
    }

    /// `May 7, 2023`, `May 7th`, `May 2023`, `in May`.
    fn month_first(&self, at: usize, found: &mut Vec<DateSpan>) -> Option<usize> {
        let month = self.month(at)?;
        let close = |at| matches!(self.gap(at), " " | "-" | ". " | "." | "," | ", " | "" | " the ");
        let the = usize::from(self.word(at + 1) == "the" && self.gap(at + 1) == " ");
        let days = if close(at + 1) { self.days(at + 1 + the) } else { Vec::new() };
        if let Some(&(_, last)) = days.last()
            && self.gap(last + 1) != ":"
        {
            let year = self.year(last + 1);
            let end = if year.is_some() { last + 1 } else { last };
            self.push_days(found, &days, month, year, at, end);
            return Some(end + 1);
        }
        if let Some(year) = self.year(at + 1) {
            let date = PartialDate { year: Some(year), month: Some(month), day: None };
            let end = if self.word(at + 1) == "of" { at + 2 } else { at + 1 };
            self.push(found, date, at, end);
            return Some(end + 1);
        }
        if self.is_month_alone(at) {
            self.push(found, PartialDate { year: None, month: Some(month), day: None }, at, at);
        }
        Some(at + 1)
    }

    /// A month without day and year, which is not an ordinary word such as the verb `may`.
    fn is_month_alone(&self, at: usize) -> bool {
        let word = self.word(at);
        let lower = word.to_lowercase();
        let whole = self.pieces.len() == 1;
        let led = || {
            let before = at.checked_sub(1).map(|before| self.word(before).to_lowercase());
            matches!(self.gap(at), " " | "-" | " '")
                && before.is_some_and(|before| BEFORE_MONTH.contains(&before.as_str()))
        };
        let capital = word.starts_with(char::is_uppercase);
        let is_full = MONTHS.iter().any(|name| name.eq_ignore_ascii_case(&lower));
        let is_word = matches!(lower.as_str(), "may" | "march");
        whole || capital && led() || is_full && !is_word && (capital || lower != "august")
    }

    fn push_days(
        &self,
        found: &mut Vec<DateSpan>,
        days: &[(i8, usize)],
        month: i8,
        year: Option<i16>,
        first: usize,
        last: usize,
    ) {
        for &(day, _) in days {
            let date = PartialDate { year, month: Some(month), day: Some(day) };
            self.push(found, date, first, last);
        }
    }

    /// The days that begin at a piece, each with its piece: one, or several
    /// that share a month: `19-24`, `19 and 24`, `3rd to 9th`.
    fn days(&self, at: usize) -> Vec<(i8, usize)> {
        let mut days = Vec::new();
        let mut next = at;
        while let Some(day) = self.day(next).filter(|_| days.len() < MOST_DAYS) {
            days.push((day, next));
            let (word, gap) = (self.word(next + 1), self.gap(next + 1));
            let ranged = matches!(gap, "-" | "–" | "—" | " - " | " – " | " & " | ", ");
            let listed = gap == " " && matches!(word, "and" | "or" | "to" | "through" | "until");
            next = match (ranged, listed) {
                (true, _) => next + 1,
                (_, true) => next + 2,
                _ => break,
            };
        }
        // `May 5, 6 people came`: without a month, a year or an ending after
        // it, the second number need not be a day.
        let dated = |at: usize| self.year(at).is_some() || month(self.word(at)).is_some();
        while let [.., _, (_, last)] = days.as_slice() {
            let of = usize::from(self.word(last + 1) == "of");
            let ordinal = self.pieces[*last].kind == PieceKind::Ordinal;
            if ordinal || dated(last + 1 + of) || matches!(self.gap(*last), "-" | "–" | "—") {
                break;
            }
            days.pop();
        }
        days
    }

    /// The year after a date: `2023`, `, 2023`, ` of 2023`, ` '23`.
    fn year(&self, at: usize) -> Option<i16> {
        if self.word(at) == "of" && self.gap(at) == " " {
            return self.year(at + 1);
        }
        let (year, digits) = self.number(at).or_else(|| self.footnoted(at))?;
        let short = matches!(self.gap(at), " '" | " ’" | "-") && digits == 2;
        let long =
            matches!(self.gap(at), " " | ", " | "," | " ," | " , " | "-" | "/" | "." | ". " | "`")
                && digits == 4
                && (1000..=2199).contains(&year);
        let decimal = self.gap(at + 1) == ":" && self.number(at + 1).is_some();
        match (long, short) {
            _ if decimal => None,
            (true, _) => Some(year),
            (_, true) => Some(year + if year < 70 { 2000 } else { 1900 }),
            _ => None,
        }
    }

    /// A year followed directly by the mark of a footnote, as in text copied
    /// from a page: `May 2, 20211`. No year has five digits.
    fn footnoted(&self, at: usize) -> Option<(i16, usize)> {
        let plain = self.pieces.get(at)?.kind == PieceKind::Number;
        let digits = self.word(at);
        let year = plain && matches!(digits.len(), 5 | 6);
        let year = digits.get(..4).filter(|_| year && digits.starts_with(['1', '2']))?;
        Some((year.parse().ok()?, 4))
    }

    /// `2023`: four digits that are no part of a longer number or name.
    fn year_alone(&self, at: usize, found: &mut Vec<DateSpan>) -> Option<usize> {
        let (year, 4) = self.number(at)? else { return None };
        let is_year = |at: usize| matches!(self.number(at), Some((1700..=2199, 4)));
        let span = &self.pieces[at].span;
        let mark = self.text[..span.start].chars().next_back().unwrap_or(' ');
        let led = at > 0 && !self.gap(at).contains(char::is_whitespace);
        let before_fits = match self.gap(at) {
            _ if !led => true,
            "-" => is_year(at - 1) || matches!(self.word(at - 1), "mid" | "early" | "late" | "Mid"),
            "–" | "—" | "/" => is_year(at - 1),
            gap => gap.ends_with(['(', '"', '“', '*']),
        };
        let followed = at + 1 < self.pieces.len();
        let after_fits = match self.gap(at + 1) {
            _ if !followed => true,
            "-" => self.number(at + 1).is_none_or(|(_, digits)| digits != 3),
            "/" => self.number(at + 1).is_some_and(|(_, digits)| matches!(digits, 2 | 4)),
            "" | "_" | ":" | "." | "," => false,
            "'" | "’" => self.word(at + 1) == "s",
            _ => true,
        };
        let marked = "$€£¥#@_.+=".contains(mark) || self.text[span.end..].starts_with('%');
        if !is_year(at) || !before_fits || !after_fits || marked {
            return None;
        }
        self.push(found, PartialDate { year: Some(year), month: None, day: None }, at, at);
        Some(at + 1)
    }
}
