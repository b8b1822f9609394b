//! Drops reported usage that cannot be right, so that no bill depends on it and
//! none is $0.00.

use crate::model::Transcript;

/// The reason for dropping usage.
const ABSURD: &str = "reported usage beyond any context window";
const ZERO: &str = "reported usage of zero tokens in a session that reports no other";

/// Drops figures that cannot be counts of tokens, and zeros where the session
/// reports nothing else. A single request of zero tokens was aborted and not
/// billed (measures §0): it stays.
pub(super) fn settle(transcript: &mut Transcript) {
    let all = |transcript: &Transcript| transcript.messages.iter().filter_map(|m| m.usage).count();
    let before = all(transcript);
    for message in &mut transcript.messages {
        message.usage = message.usage.filter(|usage| usage.is_believable());
    }
    let believable = all(transcript);
    let mut usages = transcript.messages.iter().filter_map(|m| m.usage);
    let zero = usages.all(|usage| usage.prompt() == 0);
    if zero {
        transcript.messages.iter_mut().for_each(|message| message.usage = None);
    }
    let asides = transcript.sidechains.len();
    transcript.sidechains.retain(|request| request.usage.is_believable());
    let absurd = before - believable + asides - transcript.sidechains.len();
    for (reason, n) in [(ABSURD, absurd), (ZERO, if zero { believable } else { 0 })] {
        if n > 0 {
            *transcript.left_out.entry(reason.to_owned()).or_default() += n as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Message, Role, SidechainRequest, Usage};

    /// Responses with these prompts, all of them read from a cache.
    fn reads(prompts: &[u64]) -> Transcript {
        let message = |(at, &cache_read): (usize, &u64)| Message {
            id: at.to_string(),
            role: Role::Assistant,
            at: None,
            blocks: Vec::new(),
            usage: Some(Usage { cache_read, ..Usage::default() }),
            synthetic: false,
            broadcast: false,
        };
        let messages = prompts.iter().enumerate().map(message).collect();
        Transcript { messages, ..Transcript::default() }
    }

    fn settled(mut transcript: Transcript) -> (Vec<Option<u64>>, Vec<(String, u64)>) {
        settle(&mut transcript);
        let left = transcript.messages.iter().map(|m| m.usage.map(|usage| usage.cache_read));
        (left.collect(), transcript.left_out.into_iter().collect())
    }

    #[test]
    fn usage_that_is_all_zero_is_absent_with_its_reason() {
        assert_eq!(settled(reads(&[0, 0])), (vec![None, None], vec![(ZERO.to_owned(), 2)]));
        // One that was aborted among others is no reason to doubt them.
        assert_eq!(settled(reads(&[0, 9])), (vec![Some(0), Some(9)], Vec::new()));
        assert_eq!(settled(reads(&[])), (Vec::new(), Vec::new()));
    }

    #[test]
    fn reads_beyond_any_window_are_absent_with_their_reason() {
        let most = crate::model::MOST_TOKENS;
        let absurd = |n| (ABSURD.to_owned(), n);
        let found = settled(reads(&[most, most + 1, u64::MAX]));
        assert_eq!(found, (vec![Some(most), None, None], vec![absurd(2)]));
        // Nothing is left but a zero.
        let found = settled(reads(&[0, u64::MAX]));
        assert_eq!(found, (vec![None, None], vec![absurd(1), (ZERO.to_owned(), 1)]));
        let mut aside = reads(&[5]);
        let usage = Usage { output: u64::MAX, ..Usage::default() };
        aside.sidechains = vec![SidechainRequest { at: None, model: None, usage }];
        assert_eq!(settled(aside), (vec![Some(5)], vec![absurd(1)]));
    }
}
