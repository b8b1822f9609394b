//! Secrets that are recognisable by their place alone: base64 of credentials and
//! private keys, signatures of URLs, the secret beside an access key of AWS.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Match, Regex};

use super::tokens::varied;
use super::values::{case_changes, is_filler};

/// Finds secrets that have neither a form nor a name of their own.
pub(super) fn placed(text: &str, spans: &mut Vec<Range<usize>>) {
    encoded(text, spans);
    signatures(text, spans);
    beside_access_keys(text, spans);
}

/// Base64 of a private key (kubeconfig, Kubernetes) or of a name and a password
/// (`auth` of Docker, `_auth` of npm). Certificates have the same names and stay.
fn encoded(text: &str, spans: &mut Vec<Range<usize>>) {
    static ENCODED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r#"\b(?:client-key-data|_?auth)[\\"']{0,4}\s{0,3}[:=]\s{0,3}[\\"']{0,4}([A-Za-z0-9+/]{12,}={0,2})"#,
            r"|\b(?:LS0tLS1CRUdJTi|eyJhdXRocyI6)[A-Za-z0-9+/]{24,}={0,2}",
        ))
        .expect("it is valid")
    });
    for hit in ENCODED.captures_iter(text) {
        let whole = hit.get(0).expect("the whole match");
        let value = hit.get(1).unwrap_or(whole);
        let plain = decoded(value.as_str());
        let pair = plain.split_once(':').is_some_and(|(name, password)| {
            let printable = plain.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
            printable && !name.is_empty() && password.len() >= 3 && !is_filler(password)
        });
        let named = whole.as_str().starts_with("client") && is_mixed(value.as_str());
        let secret = match plain.starts_with("-----BEGIN ") {
            true => plain.contains("PRIVATE KEY"),
            false => pair || named || plain.starts_with("{\"auths\":"),
        };
        if secret {
            spans.push(value.range());
        }
    }
}

/// The beginning of what base64 stands for.
fn decoded(text: &str) -> String {
    let mut plain = String::new();
    let (mut bits, mut held) = (0_u32, 0);
    for byte in text.bytes().take(512) {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = (bits << 6 | u32::from(six)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            plain.extend(char::from_u32(bits >> held & 0xff));
        }
    }
    plain
}

/// Signatures of URLs that give access (Azure, AWS, Google, CloudFront).
fn signatures(text: &str, spans: &mut Vec<Range<usize>>) {
    static SIGNED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)(?:(?:[?&;]|\\u0026)(?:sig|signature|X-Amz-Security-Token|X-(?:Amz|Goog)-Signature)",
            r"|\bX-(?:Amz|Goog)-Signature|,\s?Signature)=([A-Za-z0-9%+/_~=-]{16,})",
        ))
        .expect("it is valid")
    });
    for hit in SIGNED.captures_iter(text) {
        spans.extend(hit.get(1).filter(is_made).map(|value| value.range()));
    }
}

/// The 40 characters of base64 that follow the identifier of an access key.
fn beside_access_keys(text: &str, spans: &mut Vec<Range<usize>>) {
    static PAIR: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"\bA[KS]IA[A-Z0-9]{16}\b(?:[^A-Za-z0-9+/][ -~\n\r]{0,64}?)?[^A-Za-z0-9+/]([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=]|$)",
        )
        .expect("it is valid")
    });
    if text.contains("AKIA") || text.contains("ASIA") {
        let values = PAIR.captures_iter(text).filter_map(|hit| hit.get(1));
        let values = values.filter(|value| is_mixed(value.as_str()));
        spans.extend(values.filter(is_made).map(|value| value.range()));
    }
}

/// Whether it was computed: digits, and no example.
pub(super) fn is_made(value: &Match<'_>) -> bool {
    let digits = value.as_str().bytes().filter(u8::is_ascii_digit).count();
    digits >= 3 && varied(value.as_str()) && !is_filler(value.as_str())
}

/// Whether small letters, capitals and digits mix as in base64.
pub(super) fn is_mixed(value: &str) -> bool {
    case_changes(value) >= 2 && value.bytes().any(|byte| byte.is_ascii_digit())
}
