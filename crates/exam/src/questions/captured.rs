//! Matches whose parts are not too long.
//!
//! A bound like `\w{4,60}` in a pattern makes sixty copies of a class with all
//! letters there are, which take longer to build than most sessions take to read.

use regex::{Captures, Regex};

/// The matches of a pattern that are accepted, in order. Like a part of the
/// pattern, `fits` decides whether the text matches at a place at all: behind a
/// place where it does not, the search goes on.
pub(super) fn captures_that<'t>(
    pattern: &'static Regex,
    text: &'t str,
    fits: impl Fn(&Captures<'t>) -> bool,
) -> impl Iterator<Item = Captures<'t>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let found = pattern.captures_at(text, from)?;
            let whole = found.get(0).expect("group 0 is the match").range();
            if fits(&found) {
                from = whole.end;
                return Some(found);
            }
            from = text.ceil_char_boundary(whole.start + 1);
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"é?fn (fn )?(\w+)").unwrap());

    #[test]
    fn refused_match_does_not_hide_inner_match() {
        let found = |text| {
            let short = captures_that(&NAME, text, |found| found[0].len() < 6);
            short.map(|found| found[2].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found("fn a fn fn b fn toolong éfn fn c"), ["a", "b", "c"]);
        assert_eq!(found("nothing"), [""; 0]);
    }
}
