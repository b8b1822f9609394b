//! What is to be done at the context limit, in a sentence.

use super::number::tokens;
use super::uncapital;
use crate::model::{Headroom, Limits};
use crate::text::{counted, form_for, grouped};

/// What is to be done at the context limit, where `answer` is what the replay at the
/// window tells: nothing in sessions that never come there.
pub(super) fn at_the_limit(of: &Headroom, answer: &str) -> String {
    let Headroom { sessions, fit, limits, largest_tokens } = *of;
    if of.is_whole() {
        let limits = limits.map(|limits| format!(" ({})", limit_words(limits)));
        return format!(
            "No session comes to the limit{}: the largest context has {} tokens, so nothing has to \
             be compacted.",
            limits.unwrap_or_default(),
            tokens(largest_tokens as f64)
        );
    }
    let rest = match fit {
        0 => String::new(),
        fit => format!(
            "{} of {} {} below the limit: change nothing there. ",
            grouped(fit),
            counted(sessions, "session"),
            form_for(fit, "stays", "stay")
        ),
    };
    match answer.starts_with("At ") {
        true => format!("{rest}{answer}"),
        false => format!("{rest}At the limit: {}", uncapital(answer)),
    }
}

fn limit_words(limits: Limits) -> String {
    let (least, most) = (tokens(limits.least as f64), tokens(limits.most as f64));
    match limits.least == limits.most {
        true => format!("{least} tokens"),
        false => format!("{least} to {most} tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_below_limit_are_told_to_change_nothing() {
        let at = |fit: u64, most: u64, answer: &str| {
            let limits = Some(Limits { least: 200_000, most });
            at_the_limit(&Headroom { sessions: 9, fit, largest_tokens: 161_000, limits }, answer)
        };
        assert_eq!(
            at(3, 200_000, "Send the whole conversation."),
            "3 of 9 sessions stay below the limit: change nothing there. At the limit: send the \
             whole conversation."
        );
        assert_eq!(at(0, 200_000, "At the limit use prune."), "At the limit use prune.");
        let whole = |limits: &str| {
            format!(
                "No session comes to the limit ({limits}): the largest context has 161k tokens, so \
                 nothing has to be compacted."
            )
        };
        assert_eq!(at(9, 200_000, "Use prune."), whole("200k tokens"));
        assert_eq!(at(9, 400_000, "Use prune."), whole("200k to 400k tokens"));
    }
}
