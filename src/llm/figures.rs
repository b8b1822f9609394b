//! Reads counts of tokens without trusting them.

use serde_json::Value;

use super::NoUsage;

/// Largest whole number that every JSON reader keeps exactly (RFC 8259 §6).
/// With it as bound, no sum of a few figures overflows.
const LARGEST: u64 = (1 << 53) - 1;

/// A count by its name; `None` if it is absent or null.
pub(super) fn figure(object: &Value, name: &str) -> Result<Option<u64>, NoUsage> {
    match &object[name] {
        Value::Null => Ok(None),
        value => match value.as_u64().filter(|count| *count <= LARGEST) {
            Some(count) => Ok(Some(count)),
            None => Err(NoUsage::Contradictory(format!("{name} is {value}"))),
        },
    }
}

/// A count that every usage report has.
pub(super) fn required(object: &Value, name: &str) -> Result<u64, NoUsage> {
    figure(object, name)?.ok_or_else(|| NoUsage::Contradictory(format!("{name} is missing")))
}

/// The difference of a whole and its part.
pub(super) fn rest(whole: (&str, u64), part: (&str, u64)) -> Result<u64, NoUsage> {
    whole.1.checked_sub(part.1).ok_or_else(|| {
        let (whole, part) = (format!("{} {}", whole.1, whole.0), format!("{} {}", part.1, part.0));
        NoUsage::Contradictory(format!("{part} of {whole}"))
    })
}

/// Checks that the buckets add up to the sum that the provider reports.
pub(super) fn sums_to(sum: u64, name: &str, reported: Option<u64>) -> Result<(), NoUsage> {
    match reported {
        Some(reported) if reported != sum => {
            Err(NoUsage::Contradictory(format!("{name} is {reported}, its parts sum to {sum}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_whole_numbers_that_json_keeps_exactly_are_counts() {
        let usage = json!({
            "a": 7, "none": null, "negative": -1, "part": 1.5, "text": "7",
            "large": 9_007_199_254_740_991_u64, "too_large": 9_007_199_254_740_992_u64,
        });
        assert_eq!(figure(&usage, "a"), Ok(Some(7)));
        assert_eq!(figure(&usage, "none"), Ok(None));
        assert_eq!(figure(&usage, "absent"), Ok(None));
        assert_eq!(figure(&usage, "large"), Ok(Some(LARGEST)));
        for name in ["negative", "part", "text", "too_large"] {
            assert!(figure(&usage, name).is_err(), "{name}");
        }
        let error = figure(&usage, "negative").unwrap_err();
        assert_eq!(error.to_string(), "the provider's usage cannot be right: negative is -1");
    }

    #[test]
    fn a_part_larger_than_its_whole_is_a_contradiction() {
        assert_eq!(rest(("whole", 5), ("part", 5)), Ok(0));
        let error = rest(("whole", 5), ("part", 6)).unwrap_err();
        assert_eq!(error, NoUsage::Contradictory("6 part of 5 whole".to_owned()));
    }
}
