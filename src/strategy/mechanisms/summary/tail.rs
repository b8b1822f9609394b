//! Which newest messages a summary leaves as they are.

use serde::Deserialize;

use super::super::folding::Cuts;
use crate::model::{MessageIndex, Role};
use crate::strategy::context::{Context, EntryId};
use crate::strategy::host::Host;

/// The tail as written: one of the sizes, or nothing for no tail.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tail {
    /// At most so many tokens.
    tokens: Option<u64>,
    /// At most this share of something.
    share: Option<f64>,
    /// Of what.
    of: Option<Of>,
    /// Bounds of the share, in tokens.
    at_least: Option<u64>,
    at_most: Option<u64>,
    /// What the target of the stage leaves beside preamble and summary.
    to: Option<To>,
    /// So many messages.
    messages: Option<usize>,
    /// So many responses of the agent, with what came between them.
    responses: Option<usize>,
    /// So many turns of the user.
    turns: Option<usize>,
    /// Where a tail within tokens may begin.
    #[serde(default)]
    from: From,
}

/// What a share is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    Window,
    Budget,
    /// All messages that are stored.
    Messages,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum To {
    Target,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum From {
    /// Wherever no call is parted from its result.
    #[default]
    Pair,
    /// At a message of the user's.
    UserTurn,
}

impl Tail {
    /// Refuses what makes no sense together.
    pub(super) fn check(self) -> Result<(), String> {
        let counts = [self.messages, self.responses, self.turns];
        let sizes = [self.tokens.is_some(), self.share.is_some(), self.to.is_some()];
        let sizes = sizes.into_iter().filter(|given| *given).count();
        if sizes + counts.iter().flatten().count() > 1 {
            return Err(
                "keep: give one of tokens, share, to, messages, responses, turns".to_owned()
            );
        }
        if counts.contains(&Some(0)) {
            return Err("keep: a count must be at least 1".to_owned());
        }
        let is_share = |share: f64| share > 0.0 && share < 1.0;
        if self.share.is_some() != self.of.is_some() || !self.share.is_none_or(is_share) {
            return Err("keep: `share`, such as 0.3, and `of` go together".to_owned());
        }
        let bounded = self.at_least.is_some() || self.at_most.is_some();
        if bounded && self.share.is_none() || self.at_least > self.at_most.or(self.at_least) {
            return Err("keep: `at_least` and `at_most` are bounds of a `share`".to_owned());
        }
        if self.from == From::UserTurn && sizes == 0 {
            return Err("keep: `from` belongs to `tokens`, `share` or `to`".to_owned());
        }
        Ok(())
    }

    /// The recorded message that the tail begins with; no call of the tail or
    /// before it is parted from its result.
    ///
    /// `summary` is the size that the summary may come to.
    pub(super) fn cut(self, context: &Context, host: &Host<'_>, summary: u64) -> MessageIndex {
        let cuts = Cuts::of(context);
        let recorded = || context.stored().filter_map(EntryId::index);
        let nth_newest = |keep: usize, counts: &dyn Fn(Role) -> bool| {
            let role = |index: &MessageIndex| {
                context.original(EntryId::message(*index)).map(|message| message.role)
            };
            let counted = recorded().rev().filter(|index| role(index).is_some_and(counts));
            // Where there are fewer, all of them stay.
            cuts.back_to_whole(counted.into_iter().nth(keep - 1).unwrap_or(0))
        };
        if let Some(keep) = self.messages {
            return nth_newest(keep, &|_| true);
        }
        if let Some(keep) = self.responses {
            return nth_newest(keep, &|role| role == Role::Assistant);
        }
        if let Some(keep) = self.turns {
            return nth_newest(keep, &|role| role == Role::User);
        }
        let all = cuts.back_to_whole(context.seen_count());
        match self.limit(context, host, summary) {
            Some(limit) => self.within(limit, context, host, &cuts).min(all),
            None => all,
        }
    }

    /// Responses that the tail holds at least, where it is counted in them.
    pub(super) fn counted_responses(self) -> usize {
        self.responses.unwrap_or(0)
    }

    /// Tokens of the tail at most.
    fn limit(self, context: &Context, host: &Host<'_>, summary: u64) -> Option<u64> {
        let share = self.share.zip(self.of).map(|(share, of)| {
            let whole = match of {
                Of::Window => host.window,
                Of::Budget => host.budget,
                Of::Messages => host.size(context.messages_weight()),
            };
            let limit = (whole as f64 * share) as u64;
            limit.max(self.at_least.unwrap_or(0)).min(self.at_most.unwrap_or(u64::MAX))
        });
        let target = self.to.map(|To::Target| {
            host.target.saturating_sub(host.size(context.preamble_weight()) + summary)
        });
        self.tokens.or(share).or(target)
    }

    /// The longest tail within a limit. At user turns: where none is that
    /// short, nothing stays if the agent has just had the last word, and else
    /// the newest turn.
    fn within(self, limit: u64, context: &Context, host: &Host<'_>, cuts: &Cuts) -> MessageIndex {
        let mut sum = 0;
        let mut from = context.seen_count();
        for index in context.stored().rev().filter_map(EntryId::index) {
            sum += host.size(context.weight_of(EntryId::message(index)));
            if sum > limit {
                break;
            }
            from = index;
        }
        let mut later = from..context.seen_count();
        let is_turn = |index: MessageIndex| context.exchanges().binary_search(&index).is_ok();
        match self.from {
            From::Pair => later.find(|&at| cuts.is_whole(at)).unwrap_or(context.seen_count()),
            From::UserTurn => {
                later.find(|&at| cuts.is_whole(at) && is_turn(at)).unwrap_or_else(|| {
                    last_word(context).unwrap_or_else(|| newest_turn(context, cuts))
                })
            }
        }
    }
}

/// The end, if the newest message is the agent's and calls nothing.
fn last_word(context: &Context) -> Option<MessageIndex> {
    let newest = context.seen_count().checked_sub(1)?;
    let message = context.original(EntryId::message(newest))?;
    let calls = !context.recording().calls_in(newest).is_empty();
    (message.role == Role::Assistant && !calls).then_some(newest + 1)
}

fn newest_turn(context: &Context, cuts: &Cuts) -> MessageIndex {
    let stored = |index: &&MessageIndex| context.contains(EntryId::message(**index));
    let newest = context.exchanges().iter().rev().find(stored).copied();
    cuts.back_to_whole(newest.unwrap_or(0))
}
