//! Checks the numbers in a strategy.

use toml::Value;

/// Largest number in a strategy: no window has as many tokens, and none of a
/// session's counts or silences is as large.
const LARGEST: i64 = 1_000_000_000;

/// The parameters of a user's own program, which are passed on unchanged.
const HANDED_ON: &str = "parameters";

/// Refuses numbers that are invalid for every key; the sentence begins with the
/// key. The range of a particular key is checked where it is read.
pub(super) fn check(key: &str, value: &Value) -> Result<(), String> {
    let is_number = match value {
        _ if key == HANDED_ON => true,
        Value::Integer(number) => (0..=LARGEST).contains(number),
        Value::Float(number) => (0.0..=LARGEST as f64).contains(number),
        Value::Array(items) => return items.iter().try_for_each(|item| check(key, item)),
        Value::Table(table) => {
            let inner = |(own, value): (&String, &Value)| check(&format!("{key}.{own}"), value);
            return table.iter().try_for_each(inner);
        }
        _ => true,
    };
    if is_number { Ok(()) } else { Err(format!("{key}: {value} is not between 0 and {LARGEST}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<(), String> {
        let table: toml::Table = text.parse().unwrap();
        table.iter().try_for_each(|(key, value)| check(key, value))
    }

    #[test]
    fn out_of_range_number_is_refused_with_key() {
        for number in ["-1", "1_000_000_001", "nan", "inf", "-inf", "-0.1", "1e300"] {
            let refused = checked(&format!("keep = {{ share = {number} }}")).unwrap_err();
            assert!(refused.starts_with("keep.share: "), "{refused}");
            assert!(refused.ends_with(" is not between 0 and 1000000000"), "{refused}");
            assert!(checked(&format!("list = [1, {number}]")).is_err());
        }
        for number in ["0", "1_000_000_000", "0.0", "0.5"] {
            assert_eq!(checked(&format!("keep = {{ share = {number} }}")), Ok(()));
        }
    }

    #[test]
    fn program_parameters_are_not_validated() {
        assert_eq!(checked("parameters = { cold = -40 }"), Ok(()));
    }
}
