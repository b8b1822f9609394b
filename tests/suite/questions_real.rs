//! The questions made from real recordings, which are not part of the repository: what
//! the lists of changed files say.

use crate::common::shared;
use recap_core::model::Expectation;
use recap_exam::facts::{CompactableMessage, CutPlace};
use recap_exam::questions::generate;
use recap_formats::{Dataset, LoadOptions, load};

fn data(name: &str) -> Option<Dataset> {
    let path = shared(&format!("data/{name}"))?;
    Some(load(&path, &LoadOptions::default()).unwrap())
}

#[test]
fn changed_files_match_metadata_of_sessions() {
    let Some(folder) = shared("data/claude-code-sessions") else { return };
    let Some(dataset) = data("claude-code-sessions") else { return };
    let (mut listed, mut named) = (0, 0);
    for session in &dataset.sessions {
        let file = folder.join(format!("{}.metadata.json", session.id));
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        let metadata: serde_json::Value = serde_json::from_str(&text).unwrap();
        let end = session.messages.len() as u32;
        let kept = (0..end).map(|message| CompactableMessage { message, cleared: false }).collect();
        let whole = CutPlace {
            request: 0,
            requests: 5,
            left: 5,
            from: end,
            last: end,
            material: kept,
            recorded: None,
        };
        let asked = generate(session, &[whole]);
        let files = asked.iter().find(|p| p.question.starts_with("Which files has the agent"));
        let parts = files.map_or(Vec::new(), |question| match &question.expect {
            Expectation::Rubric(parts) => parts.clone(),
            _ => Vec::new(),
        });
        for touched in metadata["files_touched"].as_array().into_iter().flatten() {
            let touched = touched.as_str().unwrap();
            listed += u32::from(!parts.is_empty());
            named += u32::from(parts.iter().any(|part| part.ends_with(touched)));
        }
    }
    println!("{named} of {listed} files that the metadata list are named");
    assert!(named * 20 >= listed * 19, "{named} of {listed}");
}
