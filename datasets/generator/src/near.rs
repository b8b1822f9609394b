//! Near misses: other values that a session says and that look like the answer.

use std::collections::BTreeSet;

use regex::Regex;

/// Near misses that an answer must have, so that its form gives nothing away.
pub const FEWEST_NEAR_MISSES: usize = 3;

/// A pattern for values that look like `value`: as many digits give or take
/// one, letters where it has letters, the same signs between them. `None` for
/// plain words, which look like any other word.
pub fn pattern(value: &str) -> Option<Regex> {
    if !value.contains(|c: char| !c.is_alphabetic()) {
        return None;
    }
    let is_hash = value.len() >= 7
        && value.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        && value.contains(|c: char| c.is_ascii_lowercase());
    let body = if is_hash { format!("[0-9a-f]{{{}}}", value.len()) } else { runs(value) };
    // A sign at an edge is its own boundary.
    let bound = |c: Option<char>| if c.is_some_and(char::is_alphanumeric) { r"\b" } else { "" };
    let (before, after) = (bound(value.chars().next()), bound(value.chars().next_back()));
    let pattern = format!("{before}{body}{after}");
    Some(Regex::new(&pattern).expect("built from escaped runs"))
}

fn runs(value: &str) -> String {
    let class = |c: char| match c {
        '0'..='9' => 0,
        _ if c.is_lowercase() => 1,
        _ if c.is_uppercase() => 2,
        _ => 3,
    };
    let mut out = String::new();
    let chars: Vec<char> = value.chars().collect();
    let mut at = 0;
    for run in chars.chunk_by(|a, b| class(*a) == class(*b) && class(*a) != 3) {
        // "340 ms" looks like "120 ms" and not like "120 rows".
        let after_number = at >= 2 && chars[at - 1] == ' ' && chars[at - 2].is_ascii_digit();
        at += run.len();
        match class(run[0]) {
            0 => {
                let fewest = (run.len() - 1).max(1);
                out.push_str(&format!("[0-9]{{{fewest},{}}}", run.len() + 1));
            }
            1 if after_number => out.extend(run),
            1 => out.push_str(r"\p{Ll}+"),
            2 => out.push_str(r"\p{Lu}+"),
            _ => out.push_str(&regex::escape(&run.iter().collect::<String>())),
        }
    }
    out
}

/// Values in `texts` that look like `value` and are none of `right`.
pub fn same_shape<'t>(
    value: &str,
    right: &[String],
    texts: impl IntoIterator<Item = &'t str>,
) -> BTreeSet<&'t str> {
    let Some(pattern) = pattern(value) else { return BTreeSet::new() };
    let texts = texts.into_iter();
    let found = texts.flat_map(|text| pattern.find_iter(text).map(|found| found.as_str()));
    found.filter(|found| right.iter().all(|right| right != found)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_of_one_type_look_alike() {
        for (value, text, expected) in [
            ("7431", "ports 8080, 443 and 990210", vec!["443", "8080"]),
            ("KX-2291", "KX-229, AB-17 and kx-2292", vec!["KX-229"]),
            ("b96a83f", "commits 61ee8aa b9dd52e0", vec!["61ee8aa"]),
            ("2025-03-28", "on 2025-04-01 at 10:00", vec!["2025-04-01"]),
            ("stg-otter-4.test", "stg-vole-12.test, db-otter.test", vec!["stg-vole-12.test"]),
            ("340 ms", "120 ms, 340 s", vec!["120 ms"]),
            ("[dp-4471]", "marks: [dp-980], [dp-4471]", vec!["[dp-980]"]),
            ("otter", "vole", vec![]),
        ] {
            let found = same_shape(value, &[value.to_owned()], [text]);
            assert_eq!(found.into_iter().collect::<Vec<_>>(), expected, "{value}");
        }
    }
}
