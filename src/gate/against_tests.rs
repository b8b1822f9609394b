use super::*;

/// Every combination of what a difference can be, with its finding.
#[test]
fn only_what_is_large_and_sure_fails_and_only_what_is_ruled_out_passes() {
    use CheckOutcome::{Failed, Passed, Undecided};
    let finding = |beyond, sure, reaches| {
        Worse { beyond, sure: Some(sure), reaches, somewhere: true }.finding()
    };
    for (beyond, sure, reaches, expected) in [
        (true, true, true, Failed),
        (true, false, true, Undecided),
        (false, true, true, Undecided),
        (false, false, true, Undecided),
        (false, true, false, Passed),
        (false, false, false, Passed),
        // A mean outside of its own interval, as a skewed bootstrap can have it.
        (true, true, false, Failed),
        (true, false, false, Passed),
    ] {
        assert_eq!(finding(beyond, sure, reaches), expected, "{beyond} {sure} {reaches}");
    }
    let without =
        |beyond, somewhere| Worse { beyond, sure: None, reaches: true, somewhere }.finding();
    assert_eq!(without(false, false), Passed);
    assert_eq!(without(false, true), Undecided);
    assert_eq!(without(true, true), Undecided);
    assert_eq!(without(true, false), Undecided);
}
