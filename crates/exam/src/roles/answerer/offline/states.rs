//! The states of the items of a list, such as an agent's to-do list: a question
//! that names a state is answered by the items in that state alone, and by the
//! newest list.

use super::index::Index;
use super::rank::Ranked;

/// The state of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    InProgress,
    Done,
}

const WORDS: [(State, &[&str]); 3] = [
    (State::InProgress, &["in_progress", "in progress"]),
    (State::Open, &["pending", "still open", "not started"]),
    (State::Done, &["completed", "done", "finished"]),
];

/// The state that a question asks for: `which item is in progress?`
pub(super) fn asked(question: &str) -> Option<State> {
    let lower = question.to_lowercase();
    if !lower.contains("to-do") && !lower.contains("todo") && !lower.contains("task") {
        return None;
    }
    WORDS.iter().find(|(_, words)| words.iter().any(|w| lower.contains(w))).map(|(state, _)| *state)
}

/// The state of the item that a line of a list names (`…; status: pending`).
fn of_line(line: &str) -> Option<State> {
    let (_, rest) = line.split_once("status: ").or_else(|| line.split_once("state: "))?;
    WORDS
        .iter()
        .find(|(_, words)| words.iter().any(|w| rest.starts_with(w)))
        .map(|(state, _)| *state)
}

/// Of the lines of lists, keeps those of the newest list in the state that is
/// asked for.
pub(super) fn keep(index: &Index, question: &str, ranked: &mut Vec<Ranked>) {
    let Some(wanted) = asked(question) else { return };
    let state = |one: &Ranked| of_line(index.text(one.sentence));
    let passage = |one: &Ranked| index.blocks[index.block_of(one.sentence)].passage;
    let newest = ranked.iter().filter(|one| state(one).is_some()).map(passage).max();
    ranked.retain(|one| match state(one) {
        Some(state) => state == wanted && Some(passage(one)) == newest,
        None => newest.is_none(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_from_questions_and_lines() {
        assert_eq!(asked("Which to-do item is in progress?"), Some(State::InProgress));
        assert_eq!(asked("Which to-do item comes next of those still pending?"), Some(State::Open));
        assert_eq!(asked("Which port is in progress?"), None);
        assert_eq!(of_line("TodoWrite: content: done; status: pending"), Some(State::Open));
        assert_eq!(of_line("status unknown"), None);
    }
}
