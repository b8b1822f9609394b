//! Questions of the same form whose answer the session never holds: the right
//! answer is that it is not known.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::draft::Draft;
use super::view::View;
use recap_core::model::QuestionKind;

/// Most names that are put together anew.
const TRIED: usize = 24;

/// Questions about names that are put together from two names of the session
/// and stand nowhere in it.
pub(super) fn questions(view: &View<'_>, forms: &[Vec<Draft>]) -> Vec<Draft> {
    let drafts = forms.iter().flatten();
    let named: Vec<(&str, &str, &str)> = drafts.filter_map(named).take(TRIED).collect();
    let said = LazyCell::new(|| said(view));
    let mut found = Vec::new();
    for (at, (before, name, after)) in named.iter().enumerate() {
        let (_, other, _) = named[(at + 1) % named.len()];
        let is_free = |new: &String| {
            !named.iter().any(|(_, real, _)| is_short_for(new, real))
                && !said.iter().any(|text| text.contains(&new.to_lowercase()))
        };
        let Some(invented) = crossed(name, other).filter(is_free) else { continue };
        found.push(Draft::unanswerable(format!("{before}`{invented}`{after}")));
    }
    found
}

/// The name that a question of these forms asks about, with the words around
/// it.
fn named(draft: &Draft) -> Option<(&str, &str, &str)> {
    let question = draft.question.as_str();
    let forms = ["Which file did the agent add `", "What is the value of `"];
    let before = forms.into_iter().find(|form| question.starts_with(form))?;
    let rest = &question[before.len()..];
    let end = rest.find('`')?;
    let asks = matches!(draft.kind, QuestionKind::Artifact | QuestionKind::Update);
    let before = &question[..before.len() - 1];
    asks.then_some((before, &rest[..end], &rest[end + 1..]))
}

/// The first word of one name with the last words of another.
fn crossed(name: &str, other: &str) -> Option<String> {
    let joint = |text: &str| {
        let found = text.char_indices().skip(1).find(|(at, c)| {
            *c == '_' || c.is_uppercase() && text[..*at].ends_with(|c: char| c.is_lowercase())
        });
        found.map(|(at, _)| at)
    };
    let last = |text: &str| {
        let found = text.char_indices().skip(1).filter(|(at, c)| {
            *c == '_' || c.is_uppercase() && text[..*at].ends_with(|c: char| c.is_lowercase())
        });
        found.last().map(|(at, _)| at)
    };
    let invented = format!("{}{}", &name[..joint(name)?], &other[last(other)?..]);
    (invented != name && invented != other && invented.len() > 5).then_some(invented)
}

/// Whether every word of a name is one of another: `getStats` may be meant to
/// be `getTeamsWithStats`.
fn is_short_for(name: &str, real: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        let spaced: String = text
            .chars()
            .flat_map(|c| c.is_uppercase().then_some(' ').into_iter().chain([c]))
            .collect();
        spaced.to_lowercase().split([' ', '_']).map(str::to_owned).collect()
    };
    words(name).is_subset(&words(real))
}

/// All that is said in the session, in lower case.
fn said(view: &View<'_>) -> Vec<String> {
    view.session.messages.iter().map(|message| message.sent().to_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_put_together_from_two() {
        assert_eq!(crossed("parseHeader", "closeAllFiles").as_deref(), Some("parseFiles"));
        assert_eq!(crossed("read_file", "write_state").as_deref(), Some("read_state"));
        assert_eq!(crossed("parseHeader", "openHeader"), None);
        assert_eq!(crossed("plain", "openHeader"), None);
    }

    #[test]
    fn name_reusing_real_name_words_may_mean_it() {
        assert!(is_short_for("getStats", "getTeamsWithStats"));
        assert!(
            is_short_for("read_state", "state_to_read") && !is_short_for("getStats", "getTeams")
        );
    }
}
