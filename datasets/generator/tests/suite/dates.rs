//! How often the offline reader is right about dates in sessions that no rule
//! was made with. The strict offline judge grades.

use recap_core::model::QuestionKind;
use recap_generator::Recipe;

use crate::reading::measured;

/// Dates asked of six sessions of each kind, with seeds that no rule was made
/// with, and how many the reader gets right of the whole conversation.
#[test]
fn unseen_dates_are_read_as_often_as_documented() {
    let page = include_str!("../../../../docs/questions.md");
    let mut found = Vec::new();
    for kind in ["coding-agent", "assistant", "game-agent"] {
        let session = |seed: u32| {
            format!(
                "[[session]]\nid = \"{seed}\"\nkind = \"{kind}\"\nseed = {seed}\ntokens = 40000\n"
            )
        };
        let sessions: String = (9_001..9_007).map(session).collect();
        let recipe = Recipe::read(&format!("name = \"fresh\"\n{sessions}")).unwrap();
        let mut dataset = recipe.dataset().unwrap();
        dataset.questions.retain(|question| question.kind == QuestionKind::Temporal);
        let rows = measured(&dataset);
        let full = rows.iter().filter(|((full, ..), _)| *full).map(|(_, row)| row);
        found.push(full.fold((0.0, 0.0), |(n, right), row| (n + row.n, right + row.score)));
    }
    assert_eq!(found, [(25.0, 24.0), (36.0, 27.0), (30.0, 26.0)]);
    let (all, right_of_all) =
        found.iter().fold((0.0, 0.0), |(n, right), kind| (n + kind.0, right + kind.1));
    let said = format!("{right_of_all} of {all} dates");
    assert!(page.contains(&said), "docs/questions.md does not say {said}");
}
