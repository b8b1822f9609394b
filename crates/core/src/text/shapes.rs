//! The shapes by which a sequence of characters is recognised as an identifier.

use super::bounded::is_word;
use super::language::is_in;
use super::lists::EXTENSIONS;
use crate::text::IdentifierClass;

/// Class of a whole piece and how many of its bytes belong to it.
pub(super) fn classify(body: &str, code: bool) -> Option<(IdentifierClass, usize)> {
    type IsShaped = fn(&str) -> bool;
    const WHOLE: [(IsShaped, IdentifierClass); 6] = [
        (is_uuid, IdentifierClass::Uuid),
        (is_number, IdentifierClass::Number),
        (is_hex, IdentifierClass::Hex),
        (is_ticket, IdentifierClass::Ticket),
        (is_file_name, IdentifierClass::Path),
        (is_dotted, IdentifierClass::Dotted),
    ];
    // All other shapes have a mark or a digit.
    if body.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_') {
        return is_compound(body).then_some((IdentifierClass::Identifier, body.len()));
    }
    if let Some(length) = date(body) {
        return Some((IdentifierClass::Date, length));
    }
    let listed = || WHOLE.into_iter().find(|(is_shaped, _)| is_shaped(body));
    let (is_one, class) = if body.contains('@') {
        (is_email(body), IdentifierClass::Email)
    } else if body.contains('/') {
        (is_path(body), IdentifierClass::Path)
    } else if let Some((_, class)) = listed() {
        (true, class)
    } else if body.contains('-') {
        (is_kebab(body, code), IdentifierClass::Kebab)
    } else {
        (is_compound(body), IdentifierClass::Identifier)
    };
    is_one.then_some((class, body.len()))
}

fn date(body: &str) -> Option<usize> {
    let b = body.as_bytes();
    let shaped = b.len() >= 10
        && b[..10].iter().enumerate().all(|(at, &c)| match at {
            4 | 7 => matches!(c, b'-' | b'/') && c == b[4],
            _ => c.is_ascii_digit(),
        });
    let ends = shaped && (b.len() == 10 || b[10] == b'T');
    let year = ends && (b.starts_with(b"19") || b.starts_with(b"20"));
    let month = year && (1..=12).contains(&((b[5] - b'0') * 10 + b[6] - b'0'));
    month.then_some(10)
}

fn is_uuid(body: &str) -> bool {
    body.len() == 36
        && body.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

fn is_email(body: &str) -> bool {
    let Some((user, host)) = body.split_once('@') else {
        return false;
    };
    let host_ends = host.rsplit_once('.').is_some_and(|(name, top)| {
        !name.is_empty() && top.len() >= 2 && top.bytes().all(|b| b.is_ascii_alphabetic())
    });
    !user.is_empty() && host_ends && !host.contains(['@', '/']) && !user.contains('/')
}

/// A path is more than `and/or`: it is rooted, has three components or an
/// extension, or a component that is not a plain word.
fn is_path(body: &str) -> bool {
    let parts: Vec<&str> = body.split('/').filter(|part| !part.is_empty()).collect();
    let sound = parts.iter().all(|part| {
        part.chars().any(is_word) && !part.contains("...") || matches!(*part, "." | ".." | "~")
    });
    let lettered = parts.iter().any(|part| part.chars().any(char::is_alphabetic));
    if !sound || !lettered || body.contains("//") || parts.is_empty() {
        return false;
    }
    let rooted = body.starts_with(['/', '~', '.']);
    let plain = |part: &&str| part.chars().all(char::is_alphabetic);
    match parts.len() {
        1 => rooted && is_file_name(parts[0]),
        2 => rooted || !parts.iter().all(plain),
        _ => true,
    }
}

/// A specific number: at least five digits, a decimal point, or a unit; and
/// three significant digits, since round ones (`30s`, `1.5`, `10000`) occur
/// anywhere.
fn is_number(body: &str) -> bool {
    let bare = body.strip_prefix('v').unwrap_or(body);
    let digits_end =
        bare.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '_')).unwrap_or(bare.len());
    let (value, unit) = bare.split_at(digits_end);
    if !value.starts_with(|c: char| c.is_ascii_digit()) || value.ends_with(['.', '_']) {
        return false;
    }
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_matches('0').len();
    let decimal = value.contains('.') && !value.contains("..");
    (unit.is_empty() || is_unit(unit))
        && (digits.len() >= 5 || decimal || !unit.is_empty())
        && (significant >= 3 || value.matches('.').count() >= 2)
}

fn is_unit(word: &str) -> bool {
    const UNITS: &str = "ns us µs ms s sec min h d b kb mb gb tb kib mib gib k m bn px em rem kg g \
                         km cm mm hz khz mhz ghz usd eur";
    is_in(UNITS, &word.to_lowercase())
}

fn is_hex(body: &str) -> bool {
    (7..=128).contains(&body.len())
        && body.bytes().all(|b| b.is_ascii_hexdigit())
        && body.bytes().any(|b| b.is_ascii_digit())
        && body.bytes().any(|b| b.is_ascii_alphabetic())
        && !(body.bytes().any(|b| b.is_ascii_lowercase())
            && body.bytes().any(|b| b.is_ascii_uppercase()))
}

fn is_ticket(body: &str) -> bool {
    body.split_once('-').is_some_and(|(key, number)| {
        (2..=10).contains(&key.len())
            && key.bytes().all(|b| b.is_ascii_uppercase())
            && (1..=7).contains(&number.len())
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

fn is_file_name(body: &str) -> bool {
    body.rsplit_once('.').is_some_and(|(stem, extension)| {
        stem.chars().filter(|&c| is_word(c)).count() >= 2
            && stem.chars().all(|c| is_word(c) || matches!(c, '-' | '.'))
            && EXTENSIONS.contains(extension)
    })
}

fn is_dotted(body: &str) -> bool {
    body.contains('.')
        && body.split('.').all(|segment| {
            segment.chars().all(is_word)
                && segment.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
        })
}

fn is_kebab(body: &str, code: bool) -> bool {
    let digit = body.bytes().any(|b| b.is_ascii_digit());
    let mut parts = body.split('-');
    let first = parts.next().unwrap_or_default();
    body.len() >= 6
        && (code || digit)
        && first.chars().filter(|c| c.is_alphabetic()).count() >= 2
        && body
            .split('-')
            .all(|part| !part.is_empty() && part.chars().all(|c| is_word(c) || c == '.'))
}

/// snake_case, camelCase, PascalCase or CONSTANT_CASE, of at least two words.
fn is_compound(body: &str) -> bool {
    if body.len() < 6 || !body.chars().all(is_word) {
        return false;
    }
    let snake = body
        .trim_matches('_')
        .split('_')
        .filter(|part| part.chars().any(char::is_alphabetic))
        .count()
        >= 2;
    let camel =
        body.chars().zip(body.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let lettered = body.chars().next().is_some_and(|c| !c.is_ascii_digit());
    lettered && (snake || camel)
}
