//! What the records of a session say about it.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::wire::{Body, Record};
use crate::dataset::formats::content::{Tally, home_of, project_of};
use crate::model::Transcript;

/// Model, project and the values that the records carry about themselves.
pub(super) fn facts(records: &[Record], chain: &[usize], transcript: &mut Transcript) {
    let mut models = Tally::default();
    let mut counted = FxHashSet::default();
    let mut values = BTreeSet::new();
    for &at in chain {
        let header = &records[at].header;
        let own =
            [&header.session_id, &header.cwd, &header.version, &header.git_branch, &header.slug];
        values.extend(own.into_iter().flatten().filter(|v| !v.is_empty()).cloned());
        if let Some(cwd) = &header.cwd {
            values.extend(home_of(cwd));
            let project = &mut transcript.project;
            *project = project.take().or_else(|| project_of(cwd));
        }
        if let Body::Assistant(response) = &records[at].body
            && !is_synthetic(&records[at])
            && counted.insert(response.id.clone())
            && let Some(model) = &response.model
        {
            models.add(model);
            values.insert(model.clone());
        }
    }
    transcript.model = models.most_frequent();
    transcript.metadata = values.into_iter().collect();
}

/// Whether the harness wrote the message in the agent's name (`semantics` 4).
pub(super) fn is_synthetic(record: &Record) -> bool {
    let model = match &record.body {
        Body::Assistant(response) => response.model.as_deref(),
        _ => None,
    };
    model == Some("<synthetic>") || record.header.is_api_error_message == Some(true)
}
