//! The kinds of identifiers.

use serde::{Deserialize, Serialize};

/// What kind of identifier a reference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum IdentifierClass {
    /// File or folder path.
    Path,
    /// Address of a web page (URL).
    Url,
    /// E-mail address of a person or service.
    Email,
    /// Universally unique identifier (UUID).
    Uuid,
    /// Hexadecimal string of at least 7 digits (a commit, a hash).
    Hex,
    /// Number with at least 5 digits, a decimal point or a unit.
    Number,
    /// Calendar date, in any common notation.
    Date,
    /// Identifier with dots, such as `config.timeout`.
    Dotted,
    /// snake_case, camelCase, PascalCase or CONSTANT_CASE identifier.
    Identifier,
    /// kebab-case word with a digit or in code.
    Kebab,
    /// Key of an issue tracker, such as `ABC-123`.
    Ticket,
    /// Text between quotation marks.
    Quoted,
}

impl IdentifierClass {
    /// The kebab-case name used in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
