//! References mined from real sessions, against labels made by reading.
//!
//! `fixtures/references_labels.csv` holds a seeded sample of 100 references, stratified
//! over the eleven sessions by their number of references, drawn after the
//! rules were settled on two other samples (113 references, none of them here:
//! one short session has none left, another never had any). Each was read where
//! the agent used it and where it last stood before:
//!
//! - `needed`: the agent could reasonably have it only from that earlier place;
//! - `coincidence`: it could have written it without ever having read it;
//! - `doubtful`: readers could disagree.
//!
//! The texts are the developers' own, so a label names its reference by the
//! first 16 hexadecimal digits of the blake3 hash of the identifier.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use recap::dataset::{LoadOptions, load};
use recap::model::{Message, Transcript};
use recap::probes::{MiningRules, mine};

/// Share of the labelled references that were needed, doubtful ones counted
/// half against: needed / (needed + coincidence + doubtful / 2).
const PRECISION: f64 = 0.9;

/// Labels whose reference the rules of today no longer mine, at most.
const DRIFT: usize = 4;

#[derive(serde::Deserialize)]
struct Label {
    transcript: String,
    request: u32,
    reference_hash: String,
    class: String,
    label: String,
}

fn labels() -> Vec<Label> {
    csv::Reader::from_reader(include_str!("../fixtures/references_labels.csv").as_bytes())
        .deserialize()
        .map(|row| row.unwrap())
        .collect()
}

/// The sessions, or `None` where the data is not at hand.
fn sessions() -> Option<Vec<Transcript>> {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data/claude-code-sessions");
    if !folder.is_dir() {
        eprintln!("skipped: ../shared/data is absent");
        return None;
    }
    let set = load(&folder, &LoadOptions::default()).unwrap();
    Some(set.transcripts)
}

/// Tokens of a message as it is sent (`semantics` 9).
fn size(message: &Message) -> u64 {
    bpe_openai::o200k_base().count(&message.sent()) as u64
}

#[test]
fn nine_of_ten_labelled_references_were_needed_and_are_still_mined() {
    let Some(transcripts) = sessions() else {
        return;
    };
    let labels = labels();
    assert_eq!(labels.len(), 100);
    let labelled: BTreeSet<&str> = labels.iter().map(|l| l.transcript.as_str()).collect();
    let mut mined = BTreeSet::new();
    for transcript in transcripts.iter().filter(|t| labelled.contains(t.id.as_str())) {
        let sizes: Vec<u64> = transcript.messages.iter().map(size).collect();
        for reference in mine(transcript, &sizes, &MiningRules::default()).references {
            let hash = blake3::hash(reference.text.as_bytes()).to_hex();
            mined.insert((
                transcript.id.clone(),
                reference.request,
                hash[..16].to_owned(),
                reference.class.as_str(),
            ));
        }
    }
    let mut gone = Vec::new();
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    for label in &labels {
        let key = (
            label.transcript.clone(),
            label.request,
            label.reference_hash.clone(),
            label.class.as_str(),
        );
        if mined.contains(&key) {
            *counts.entry(label.label.as_str()).or_default() += 1.0;
        } else {
            gone.push(key);
        }
    }
    assert!(gone.len() <= DRIFT, "no longer mined: {gone:#?}");
    let count = |label: &str| counts.get(label).copied().unwrap_or(0.0);
    let against = count("coincidence") + count("doubtful") / 2.0;
    let precision = count("needed") / (count("needed") + against);
    assert!(precision >= PRECISION, "{precision} from {counts:?}");
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), ["coincidence", "doubtful", "needed"]);
}
