//! Counts with their nouns and verbs, as people write them.
//!
//! Every message, table and page takes them from here, so that none says
//! "1 sessions".

/// A whole number with its thousands apart: `12,345`.
pub fn grouped(n: impl TryInto<u64>) -> String {
    let digits = whole(n).to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun, which is given in the singular: `1 session`,
/// `2 queries`, `3 sessions or projects`.
pub fn counted(n: impl TryInto<u64>, noun: &str) -> String {
    let n = whole(n);
    let noun = match noun.split_once(" of ") {
        _ if n == 1 => noun.to_owned(),
        Some((head, rest)) => format!("{} of {rest}", plural(head)),
        None => noun.split(" or ").map(plural).collect::<Vec<_>>().join(" or "),
    };
    format!("{} {noun}", grouped(n))
}

/// The form of a verb or pronoun that goes with a count.
pub fn form_for<'a>(n: impl TryInto<u64>, one: &'a str, many: &'a str) -> &'a str {
    if whole(n) == 1 { one } else { many }
}

/// No count is larger than this.
fn whole(n: impl TryInto<u64>) -> u64 {
    n.try_into().unwrap_or(u64::MAX)
}

fn plural(noun: &str) -> String {
    const SIBILANTS: [&str; 5] = ["s", "x", "ch", "sh", "z"];
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if SIBILANTS.iter().any(|end| noun.ends_with(end)) => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let each = [0, 999, 1_000, 12_345, 1_234_567_u64].map(grouped);
        assert_eq!(each, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn nouns_and_verbs_agree_with_their_count() {
        let words = [
            ("session", "1 session", "2 sessions"),
            ("reply", "1 reply", "2 replies"),
            ("key", "1 key", "2 keys"),
            ("search", "1 search", "2 searches"),
            ("session or project", "1 session or project", "2 sessions or projects"),
            ("session of one project", "1 session of one project", "2 sessions of one project"),
        ];
        for (noun, one, two) in words {
            assert_eq!((counted(1_usize, noun), counted(2_u32, noun)), (one.into(), two.into()));
        }
        assert_eq!(counted(0_u64, "cut"), "0 cuts");
        assert_eq!((form_for(1_u64, "is", "are"), form_for(0_u64, "is", "are")), ("is", "are"));
    }
}
