//! How often the offline reader is right about dates in sessions that no rule
//! was made with. The strict offline judge grades.

use recap::model::ProbeKind;
use recap_generator::Recipe;

use crate::reading::measured;

/// Dates asked of six sessions of each kind, with seeds that no rule was made
/// with, and how many the reader gets right of the whole conversation.
#[test]
fn unseen_dates_are_read_as_often_as_the_readme_says() {
    let readme = include_str!("../../../../README.md");
    let (mut all, mut right_of_all) = (0.0, 0.0);
    for (kind, n, right) in
        [("coding-agent", 25.0, 23.0), ("assistant", 36.0, 26.0), ("game-agent", 30.0, 22.0)]
    {
        let session = |seed: u32| {
            format!(
                "[[session]]\nid = \"{seed}\"\nkind = \"{kind}\"\nseed = {seed}\ntokens = 40000\n"
            )
        };
        let sessions: String = (9_001..9_007).map(session).collect();
        let recipe = Recipe::read(&format!("name = \"fresh\"\n{sessions}")).unwrap();
        let mut dataset = recipe.dataset().unwrap();
        dataset.probes.retain(|probe| probe.kind == ProbeKind::Temporal);
        let rows = measured(&dataset);
        let full = rows.iter().filter(|((full, ..), _)| *full).map(|(_, row)| row);
        let found = full.fold((0.0, 0.0), |(n, right), row| (n + row.n, right + row.score));
        assert_eq!(found, (n, right), "{kind}");
        all += n;
        right_of_all += right;
    }
    let said = format!("{right_of_all} of {all} dates");
    assert!(readme.contains(&said), "the README does not say {said}");
}
