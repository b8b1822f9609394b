//! What the records of a session say about it.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::parts::merge_usage;
use super::wire::{Body, Record};
use crate::dataset::formats::content::{Models, home_of, project_of};
use crate::model::{SidechainRequest, Transcript};

pub(super) fn record_id(record: &Record) -> String {
    let uuid = record.header.uuid.clone();
    uuid.unwrap_or_else(|| format!("line-{}", record.line))
}

/// Model, project and the values that the records carry about themselves.
pub(super) fn facts(records: &[Record], chain: &[usize], transcript: &mut Transcript) {
    let mut models = Models::default();
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
            models.add(model, &record_id(&records[at]));
            values.insert(model.clone());
        }
    }
    models.name_models(transcript);
    transcript.metadata = values.into_iter().collect();
}

/// What subagents asked their models, by merged response (semantics §2), in
/// the order of the file. Responses without usage were not billed.
pub(super) fn sidechain_requests(records: &[Record]) -> Vec<SidechainRequest> {
    let mut requests: Vec<(Option<SidechainRequest>, Option<&str>)> = Vec::new();
    let mut known: FxHashMap<&str, usize> = FxHashMap::default();
    for record in records.iter().filter(|r| r.is_sidechain() && !is_synthetic(r)) {
        let Body::Assistant(response) = &record.body else {
            continue;
        };
        let next = requests.len();
        let place = response.id.as_deref().map_or(next, |id| *known.entry(id).or_insert(next));
        if place == next {
            requests.push((None, response.model.as_deref()));
        }
        let (request, model) = &mut requests[place];
        let before = request.as_ref().map(|r| r.usage);
        if let Some(usage) = merge_usage(before, response) {
            let at = request.as_ref().map_or(record.header.timestamp, |r| r.at);
            *request = Some(SidechainRequest { at, model: model.map(str::to_owned), usage });
        }
    }
    let requests = requests.into_iter().filter_map(|(request, _)| request);
    requests.filter(|r| r.usage.prompt() > 0 || r.usage.output > 0).collect()
}

/// Whether the harness wrote the message in the agent's name (semantics §4).
pub(super) fn is_synthetic(record: &Record) -> bool {
    let model = match &record.body {
        Body::Assistant(response) => response.model.as_deref(),
        _ => None,
    };
    model == Some("<synthetic>") || record.header.is_api_error_message == Some(true)
}
