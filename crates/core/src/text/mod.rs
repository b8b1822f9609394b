//! Reading texts: specific identifiers and where they occur again;
//! secrets, excerpts, and counts in words.
//!
//! Invariant: every function here is a pure function of its arguments and takes
//! time linear in the text.

pub mod bounded;
mod counted;
pub mod density;
mod errors;
mod excerpt;
pub mod generic;
mod harmless;
pub mod identifiers;
pub mod language;
mod lists;
pub mod normal;
mod paths;
pub mod redact;
mod shapes;
pub mod words;

pub use bounded::{Needle, NeedleSet, contains_bounded};
pub use counted::{counted, form_for, grouped};
pub use errors::{io_remedy, json_error, json_place, read_json};
pub use excerpt::{beginning, brief, excerpt};
pub use generic::{is_framework, is_generic, is_usual_file, recompiled, restyled};
pub use harmless::{harmless, harmless_data, is_command, is_plain, one_line};
pub use identifiers::{
    Identifier, IdentifierClass, IdentifierOptions, identifiers, without_gutter,
};
pub use normal::Normal;
pub use paths::Paths;
pub use words::{around, words};

pub use crate::pattern;

/// A pattern that is built when it is first used.
pub type Pattern = std::sync::LazyLock<regex::Regex>;

/// The pattern that some literals are together.
#[macro_export]
macro_rules! pattern {
    ($($part:literal),+ $(,)?) => {
        std::sync::LazyLock::new(|| $crate::text::built(concat!($($part),+)))
    };
}

/// Builds a pattern of the program.
pub fn built(written: &str) -> regex::Regex {
    regex::Regex::new(written).expect("it is constant and valid")
}

/// The first cause of an error: those above it only say that there was one,
/// and may name an address.
pub fn first_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    cause.map_or_else(|| "no reason given".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests;

/// The tokens that a text means: `16000`, `16_000`, `16k`, `1.5m`; at least one.
pub fn number_of_tokens(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let (digits, factor) = match lower.strip_suffix('k') {
        Some(digits) => (digits, 1e3),
        None => lower.strip_suffix('m').map_or((lower.as_str(), 1.0), |digits| (digits, 1e6)),
    };
    let number: f64 = digits.replace('_', "").parse().ok()?;
    let tokens = number * factor;
    (tokens.is_finite() && (1.0..1e15).contains(&tokens)).then_some(tokens as u64)
}
