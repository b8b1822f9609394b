use super::*;

/// Every combination of the properties of a difference, with its finding.
#[test]
fn a_large_and_sure_change_fails_and_a_change_that_is_ruled_out_passes() {
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
        // The mean is outside its own interval; a skewed bootstrap can give
        // this.
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
