//! The searches of the reader where a channel allows them, and how it reads
//! their results (how-it-works §36).

use rustc_hash::FxHashSet;

use super::index::Index;
use super::words::{Term, Word, term, words};
use crate::roles::answerer::Passage;
use crate::roles::finder::Finder;
use recap_core::model::{NoAnswer, Role};
use recap_core::text::language::is_stop;
use recap_strategy::Archived;

/// Largest number of terms of a question that are searched for.
const TERMS: usize = 5;

/// The results of the searches for one question.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    /// The messages in their order, with a session's summary before its
    /// messages.
    messages: Vec<&'a Archived>,
    /// Number of searches that were made.
    pub calls: u32,
    /// Tokens of the results; a repeated result counts again.
    pub tokens: u64,
}

/// Searches the dropped messages: for each of the question's rarest terms, or
/// for all of its words if the channel ranks by words. If a search fails, the
/// results of the earlier ones are not used.
pub(super) async fn search<'a>(
    index: &Index,
    question: &str,
    finder: &Finder<'a>,
) -> Result<Found<'a>, NoAnswer> {
    let mut found = Found::default();
    let Some(tool) = finder.tools().first() else { return Ok(found) };
    let asked = match finder.takes_questions() {
        true => vec![question],
        false => queries(index, question),
    };
    for query in asked {
        let hits = finder.call(tool.name, query).await?;
        found.calls += 1;
        for hit in hits {
            found.tokens += hit.tokens;
            if !found.messages.iter().any(|known| std::ptr::eq(*known, hit)) {
                found.messages.push(hit);
            }
        }
    }
    found.messages.sort_by_key(|hit| hit.message);
    Ok(found)
}

/// The rarest terms of a question, in their original spelling. Rarity is
/// computed from the context; of terms with equal numbers of occurrences the
/// longest counts as the rarest (Zipf's law of abbreviation), then the first.
fn queries<'q>(index: &Index, question: &'q str) -> Vec<&'q str> {
    let mut terms: Vec<(Term, &str)> = Vec::new();
    let mut end = 0;
    for Word { place, lower } in words(question) {
        // The parts of an identifier follow the identifier itself.
        let is_part = place.end <= end;
        end = end.max(place.end);
        let term = term(&lower);
        if is_part || is_stop(&lower) || terms.iter().any(|(known, _)| *known == term) {
            continue;
        }
        let spelt = &question[place];
        let bare = spelt.strip_suffix("'s").or_else(|| spelt.strip_suffix("’s"));
        terms.push((term, bare.unwrap_or(spelt)));
    }
    let rarity = |(term, spelt)| (index.rarity(&index.posting(term)), spelt);
    let mut terms: Vec<(f64, &str)> = terms.into_iter().map(rarity).collect();
    terms.sort_by(|(a, one), (b, other)| {
        b.total_cmp(a).then_with(|| other.chars().count().cmp(&one.chars().count()))
    });
    terms.into_iter().take(TERMS).map(|(_, spelt)| spelt).collect()
}

/// The context with the search results inserted: behind the preamble and before
/// the remaining messages, which are newer. Messages that the context already
/// contains are not added.
pub(super) fn widened(passages: &[Passage], found: &Found<'_>) -> Vec<Passage> {
    let known: FxHashSet<_> = passages.iter().map(|p| (p.at, &*p.text)).collect();
    let head = passages.iter().take_while(|p| p.role == Role::System).count();
    let mut wide = passages[..head].to_vec();
    for hit in &found.messages {
        let texts = hit.reasoning.iter().chain([&hit.content]);
        let new = texts.filter(|text| !text.is_empty() && !known.contains(&(hit.at, &***text)));
        wide.extend(new.map(|text| Passage { role: hit.role, at: hit.at, text: text.clone() }));
    }
    wide.extend_from_slice(&passages[head..]);
    wide
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::roles::answerer::offline::passage::Analysed;
    use crate::roles::answerer::offline::words::Numbers;
    use recap_strategy::{ArchivedSession, Channel, RECOVERIES};

    fn said(role: Role, text: &str) -> Passage {
        Passage { role, at: None, text: text.into() }
    }

    fn index(texts: &[&str]) -> Index {
        let passages: Vec<Passage> = texts.iter().map(|text| said(Role::User, text)).collect();
        let mut numbers = Numbers::default();
        let mut analysed = |passage: &Passage| {
            let mut analysed = Analysed::new(&passage.text);
            analysed.number(&mut numbers);
            Arc::new(analysed.collected())
        };
        let analysed = passages.iter().map(&mut analysed).collect();
        Index::new(&passages, analysed, numbers.len())
    }

    fn archived(message: u32, content: &str, reasoning: Option<&str>) -> Archived {
        Archived {
            message,
            role: Role::User,
            source: None,
            content: content.into(),
            reasoning: reasoning.map(Into::into),
            broadcast: false,
            at: None,
            tokens: 10 + u64::from(message),
            terms: std::sync::OnceLock::new(),
        }
    }

    #[test]
    fn five_rarest_terms_are_searched_as_spelt() {
        let index = index(&["The harbour is full.", "The harbour closes.", "A ship came."]);
        // Terms in no block: Tortuga, rum, barrels, price. In one block: ship.
        // In two: harbour.
        let question = "What price had Tortuga's rum barrels on the ship in the harbour?";
        assert_eq!(queries(&index, question), ["Tortuga", "barrels", "price", "rum", "ship"]);
    }

    #[test]
    fn identifier_and_inflections_each_form_one_term() {
        let index = index(&[]);
        let question = "Who changed retry_policy.rs, and why was it changing?";
        assert_eq!(queries(&index, question), ["retry_policy.rs", "changed"]);
        assert_eq!(queries(&index, "Who was it?"), [""; 0]);
    }

    #[tokio::test]
    async fn each_term_is_called_and_repeats_count_twice() {
        let past = [archived(0, "Rum is dear.", None), archived(1, "Tortuga has rum.", None)];
        let channel = Channel::new(RECOVERIES[0], &past);
        // `Tortuga` and `rum` find the second message: `Rum` has another
        // spelling.
        let (index, finder) = (index(&[]), Finder::new(channel));
        let found = search(&index, "Where is Tortuga with rum?", &finder).await.unwrap();
        assert_eq!((found.calls, found.tokens), (2, 22));
        assert_eq!(found.messages, [&past[1]]);
    }

    #[tokio::test]
    async fn ranking_channel_gets_the_whole_question_once() {
        let spec = RECOVERIES.iter().find(|spec| spec.name == "sessions").unwrap();
        let past = [archived(0, "Tortuga has rum.", None), archived(1, "Rum is dear.", None)];
        let summary = archived(0, "They looked for rum in Tortuga.", None);
        let sessions = [ArchivedSession { summary, spans: vec![(0, 2)] }];
        let channel = Channel::new(spec, &past).with_sessions(&sessions);
        let (index, finder) = (index(&[]), Finder::new(channel));
        let found = search(&index, "Where is Tortuga with rum?", &finder).await.unwrap();
        // The summary and message 0 have 10 tokens each, message 1 has 11.
        assert_eq!((found.calls, found.tokens), (1, 31));
        assert_eq!(found.messages, [&sessions[0].summary, &past[0], &past[1]]);
    }

    #[test]
    fn found_messages_follow_preamble_in_order_without_duplicates() {
        let past = [
            archived(0, "oldest", None),
            archived(1, "old", Some("thought")),
            archived(2, "still there", None),
        ];
        let found = Found { messages: past.iter().collect(), ..Found::default() };
        let shown = [said(Role::System, "Rules."), said(Role::User, "still there")];
        let wide = widened(&shown, &found);
        let texts: Vec<&str> = wide.iter().map(|p| &*p.text).collect();
        assert_eq!(texts, ["Rules.", "oldest", "thought", "old", "still there"]);
    }
}
