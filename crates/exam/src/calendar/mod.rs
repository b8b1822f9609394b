//! Calendar dates in a text, complete or partial.

mod date;
mod reader;
pub mod relative;

pub use date::{DateSpan, PartialDate, month, weekday};
use reader::Reader;

/// The dates that `text` names, in order: `7 May 2023`, `May 7th, 2023`,
/// `the 7th of May`, `May 2023`, `2023-05-07`, `13/5/2023`, `2023`, `in May`.
///
/// `5/7/2023` is read as its year, since the month may be either number; of
/// `April 10 and 15, 2024` both days are found. A year on its own lies in
/// `1700..=2199`: elsewhere a count is as likely.
pub fn dates(text: &str) -> Vec<DateSpan> {
    Reader::new(text).dates()
}

#[cfg(test)]
mod tests;
