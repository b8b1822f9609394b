//! What is to be known of native windows: their sizes, odd limits, and those that sessions of
//! one agent and model share.

use std::collections::BTreeMap;

use recap_billing::pricing::BillingModels;
use recap_core::model::Session;
use recap_core::text::counted;
use recap_core::wording::first_few;
use recap_formats::Dataset;
use recap_replay::run::{NamedSession, Windows};
use recap_replay::{NativeFrom, NativeWindow, SharedLimit, WindowSpec, share_limits};

/// Gives sessions that do not show their agent's limit the one that other sessions of the
/// agent and model show. Returns what is to be told of data sets that are replayed at it.
pub fn share_native_windows(
    datasets: &mut [Dataset],
    windows: &Windows,
    billing_models: &BillingModels,
) -> Vec<String> {
    let mut groups: BTreeMap<(Option<String>, String), Vec<&mut Session>> = BTreeMap::new();
    let at_native =
        |dataset: &&mut Dataset| windows.of(&dataset.name).iter().any(WindowSpec::is_native);
    for dataset in datasets.iter_mut().filter(at_native) {
        for session in &mut dataset.sessions {
            let Some(model) = &session.model else { continue };
            let key = (dataset.agent.clone(), billing_models.named(model).model);
            groups.entry(key).or_default().push(session);
        }
    }
    let notices = groups.into_iter().filter_map(|((agent, model), mut sessions)| {
        let all = sessions.len();
        let limits = share_limits(&mut sessions, billing_models);
        let given: usize = limits.iter().map(|limit| limit.given).sum();
        let who = agent.map_or_else(String::new, |agent| format!(" of {agent}"));
        (given > 0).then(|| {
            format!(
                "{given} of {}{who} with {model} do not show the agent's limit and have that of \
                 the others: {}",
                counted(all, "session"),
                first_few(&limits.iter().map(shared).collect::<Vec<_>>(), limits.len())
            )
        })
    });
    notices.collect()
}

/// A limit with what shows it.
fn shared(SharedLimit { tokens, session, shown, given }: &SharedLimit) -> String {
    format!("{tokens} tokens in {given}, since {session} {shown}")
}

/// Warnings about native windows: sessions whose prompts were larger than their
/// model's limit is said to be.
pub(super) fn warnings(
    windows: &Windows,
    sessions: &[NamedSession],
    billing_models: &BillingModels,
) -> Vec<String> {
    let found = native(windows, sessions, billing_models);
    let all = found.len();
    let over = found.into_iter().filter_map(|(session, window)| match window.from {
        NativeFrom::Exceeded { limit, largest } => Some((largest, limit, window.tokens, session)),
        _ => None,
    });
    let over: Vec<(u64, u64, u64, &Session)> = over.collect();
    let Some((largest, limit, tokens, session)) = over.iter().max_by_key(|(n, ..)| *n) else {
        return Vec::new();
    };
    vec![format!(
        "{} of {} at the native window sent prompts over their model's limit in the \
         price list (the largest is {largest} tokens, over a limit of {limit}, in {}): their \
         native window is the next larger one that holds them, there {tokens} tokens",
        over.len(),
        counted(all, "session"),
        session.id
    )]
}

/// How large the native windows are: "200000 tokens in 12 sessions, …"; `None`
/// where no session is replayed at one.
pub fn native_sizes(
    windows: &Windows,
    sessions: &[NamedSession],
    billing_models: &BillingModels,
) -> Option<String> {
    let mut sizes: BTreeMap<u64, usize> = BTreeMap::new();
    for (_, window) in native(windows, sessions, billing_models) {
        *sizes.entry(window.tokens).or_default() += 1;
    }
    let each =
        sizes.iter().map(|(tokens, n)| format!("{tokens} tokens in {}", counted(*n, "session")));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| each.join(", "))
}

/// The sessions that are replayed at their native window, with that window.
fn native<'a>(
    windows: &Windows,
    sessions: &'a [NamedSession],
    billing_models: &BillingModels,
) -> Vec<(&'a Session, NativeWindow)> {
    let at_native = |s: &&NamedSession| windows.of(&s.dataset).iter().any(WindowSpec::is_native);
    let found = sessions.iter().filter(at_native);
    found.map(|s| (&s.session, NativeWindow::of(&s.session, billing_models))).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use recap_billing::pricing::PriceList;
    use recap_core::model::{Message, Role, Usage};

    /// A session of a model with a limit of 200,000, and its only prompt.
    fn session(dataset: &str, id: &str, input: u64) -> NamedSession {
        let usage = Some(Usage { input, ..Usage::default() });
        let message = Message { usage, ..Message::new("a", Role::Assistant, None, Vec::new()) };
        let session = Session {
            id: id.to_owned(),
            model: Some("claude-opus-4-5".to_owned()),
            messages: vec![message],
            ..Session::default()
        };
        NamedSession { dataset: dataset.to_owned(), session, questions: Vec::new() }
    }

    fn billing_models() -> BillingModels {
        BillingModels::new(Arc::new(PriceList::bundled()), Vec::new())
    }

    #[test]
    fn prompts_over_listed_limit_are_reported_with_largest() {
        let sessions = [
            session("d", "small", 90_000),
            session("d", "over", 250_000),
            session("d", "far-over", 300_000),
        ];
        let at = |typed: &str| Windows::Same(vec![typed.parse().unwrap()]);
        let warned = warnings(&at("native"), &sessions, &billing_models());
        assert_eq!(
            warned,
            ["2 of 3 sessions at the native window sent prompts over their model's limit in the \
              price list (the largest is 300000 tokens, over a limit of 200000, in far-over): \
              their native window is the next larger one that holds them, there 1000000 tokens"]
        );
        assert_eq!(
            warnings(&at("native"), &sessions[..1], &billing_models()),
            Vec::<String>::new()
        );
        assert_eq!(warnings(&at("200k"), &sessions, &billing_models()), Vec::<String>::new());
        let sizes = |typed| native_sizes(&at(typed), &sessions, &billing_models());
        let told = "200000 tokens in 1 session, 1000000 tokens in 2 sessions";
        assert_eq!(sizes("native").as_deref(), Some(told));
        assert_eq!(sizes("25%"), None);
    }
}
