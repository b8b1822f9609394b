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
//! - `doubtful`: readers could disagree;
//! - `copied`: all it did in the request was to stand in the text that an edit
//!   replaces or leaves, which the agent reads again in any case: no fact, though
//!   it had been labelled `needed` or `doubtful` before that was told apart.
//!
//! The texts are the developers' own, so a label names its reference by the
//! first 16 hexadecimal digits of the blake3 hash of the identifier.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::shared;
use recap_core::model::{Exam, Message, Session};
use recap_exam::facts::{Cuts, LastComponents, Mining, Survival, mine, places};
use recap_formats::{LoadOptions, load};

/// Share of the labelled references that were needed, doubtful ones counted
/// half against: needed / (needed + coincidence + doubtful / 2).
const PRECISION: f64 = 0.9;

/// Labels other than `copied` whose reference the rules of today no longer mine, at most: since
/// they were made, what follows from parts that stood nearer is no reference (a file in a known
/// folder, the same file in another checkout), nor what
/// the request itself defines, nor a name in what is written at length.
const DRIFT: usize = 31;

#[derive(serde::Deserialize)]
struct Label {
    session: String,
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
fn sessions() -> Option<Vec<Session>> {
    let folder = shared("data/claude-code-sessions")?;
    let set = load(&folder, &LoadOptions::default()).unwrap();
    Some(set.sessions)
}

/// Tokens of a message as it is sent (how-it-works §9).
fn size(message: &Message) -> u64 {
    recap_vocabulary::count(&message.sent()) as u64
}

#[test]
fn nine_of_ten_mined_labelled_references_are_needed() {
    let Some(sessions) = sessions() else { return };
    let labels = labels();
    assert_eq!(labels.len(), 100);
    let labelled: BTreeSet<&str> = labels.iter().map(|l| l.session.as_str()).collect();
    let mut mined = BTreeSet::new();
    for session in sessions.iter().filter(|t| labelled.contains(t.id.as_str())) {
        let sizes: Vec<u64> = session.messages.iter().map(size).collect();
        for reference in mine(session, &sizes).references {
            let hash = blake3::hash(reference.text.as_bytes()).to_hex();
            mined.insert((
                session.id.clone(),
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
            label.session.clone(),
            label.request,
            label.reference_hash.clone(),
            label.class.as_str(),
        );
        if mined.contains(&key) {
            *counts.entry(label.label.as_str()).or_default() += 1.0;
        } else if label.label != "copied" {
            gone.push(key);
        }
    }
    assert!(gone.len() <= DRIFT, "no longer mined: {gone:#?}");
    let count = |label: &str| counts.get(label).copied().unwrap_or(0.0);
    let against = count("coincidence") + count("doubtful") / 2.0;
    let precision = count("needed") / (count("needed") + against);
    assert!(precision >= PRECISION, "{precision} from {counts:?}");
    println!("{counts:?}: {precision:.3}");
    assert!(counts.keys().all(|label| ["coincidence", "doubtful", "needed"].contains(label)));
    assert_eq!(labels.iter().filter(|label| label.label == "copied").count(), 19);
}

/// Folders of sessions of other projects and agents than those that the miner's
/// rules were first made with (the sessions above and one of pi).
const OTHERS: [&str; 3] = ["opencode", "codex-rollouts", "claude-code-sessions/other-sources"];

/// Labels made by reading in sessions of [`OTHERS`]:
///
/// - `mined`: 108 references of a seeded sample, as above;
/// - `used`: 79 identifiers that a request took from 4,000 tokens before or
///   more, marked among the words of a seeded sample of requests without
///   knowing what was mined; one that a longer reference holds stands as that.
///   Of them 23 are `copied`.
#[derive(serde::Deserialize)]
struct Unseen {
    sample: String,
    session: String,
    request: u32,
    reference_hash: String,
    label: String,
}

/// Share of the labelled references that were needed, doubtful ones counted
/// half against.
const PRECISION_ELSEWHERE: f64 = 0.94;
/// Share of the 56 marked identifiers that were needed as facts and are mined: those that follow
/// from parts seen nearer are not.
const RECALL_ELSEWHERE: f64 = 0.45;

#[test]
fn other_projects_references_reach_measured_precision_and_recall() {
    let Some(data) = shared("data") else { return };
    let mut mined = BTreeSet::new();
    for folder in OTHERS {
        for session in load(&data.join(folder), &LoadOptions::default()).unwrap().sessions {
            let sizes: Vec<u64> = session.messages.iter().map(size).collect();
            for reference in mine(&session, &sizes).references {
                let hash = blake3::hash(reference.text.as_bytes()).to_hex();
                mined.insert((session.id.clone(), reference.request, hash[..16].to_owned()));
            }
        }
    }
    let labels: Vec<Unseen> =
        csv::Reader::from_reader(include_str!("../fixtures/references_unseen.csv").as_bytes())
            .deserialize()
            .map(|row| row.unwrap())
            .collect();
    let count = |sample: &str, label: &str, still: bool| {
        let of = labels.iter().filter(|l| l.sample == sample && l.label == label);
        let is_mined =
            |l: &&Unseen| mined.contains(&(l.session.clone(), l.request, l.reference_hash.clone()));
        of.filter(|l| !still || is_mined(l)).count() as f64
    };
    let (needed, doubtful) = (count("mined", "needed", true), count("mined", "doubtful", true));
    let against = count("mined", "coincidence", true) + doubtful / 2.0;
    let precision = needed / (needed + against);
    let (found, used) = (count("used", "needed", true), count("used", "needed", false));
    println!("needed {needed}, doubtful {doubtful}: {precision:.3}; found {found} of {used}");
    assert_eq!((used, count("used", "copied", false)), (56.0, 23.0));
    let copied = count("mined", "copied", true) + count("used", "copied", true);
    assert_eq!(copied, 0.0, "what an edit copies is no fact");
    assert!(precision >= PRECISION_ELSEWHERE, "{precision}");
    assert!(found / used >= RECALL_ELSEWHERE, "{found} of {used}");
}

/// What a vendor's own summary says of the facts behind it, by reading:
///
/// - `told`: it says of the identifier what it is or what became of it;
/// - `doubtful`: it stands in a bare list, a quotation or another name.
#[derive(serde::Deserialize)]
struct Told {
    session: String,
    cut: u32,
    fact_hash: String,
    label: String,
}

/// Share of the told facts that count as carried, at least.
const TOLD: f64 = 0.95;
#[test]
fn vendor_summaries_carry_what_they_tell() {
    let Some(mut sessions) = sessions() else { return };
    let pi = shared("data/pi-sessions").expect("the folder is there");
    sessions.extend(load(&pi, &LoadOptions::default()).unwrap().sessions);
    let labels: Vec<Told> =
        csv::Reader::from_reader(include_str!("../fixtures/support_labels.csv").as_bytes())
            .deserialize()
            .map(|row| row.unwrap())
            .collect();
    let (mut actual, mut carried) = (0, 0);
    for session in &sessions {
        let sizes: Vec<u64> = session.messages.iter().map(size).collect();
        let mining = Mining::new(session, &sizes);
        for place in places(session, &sizes, Cuts::Recorded, 1).unwrap_or_default() {
            let summary = &session.compactions[place.recorded.unwrap()];
            let texts: Vec<&str> = summary.texts().map(|(_, text)| text).collect();
            let facts = mining.facts_at(&place);
            let exam = Exam { references: facts.clone(), did_without: 0 };
            let last = LastComponents::new(&exam.references, (0..).zip(&session.messages));
            let survival = Survival::new(session, &exam, &last);
            let stands = |at: usize| texts.iter().any(|text| survival.place_in(at, text).is_some());
            for (at, fact) in facts.iter().enumerate().filter(|(at, _)| stands(*at)) {
                let hash = blake3::hash(fact.text.as_bytes()).to_hex();
                let label = labels.iter().find(|label| {
                    label.session == session.id
                        && label.cut == place.request
                        && label.fact_hash == hash[..16]
                });
                let stated = texts.iter().any(|text| survival.stated_in(at, text).is_some());
                if label.is_some_and(|label| label.label == "told") {
                    actual += 1;
                    carried += u32::from(stated);
                }
            }
        }
    }
    // Of 37 that were labelled two are no facts any more: a prompt of the queue,
    // which was not read then, says them again behind the compaction.
    assert_eq!(actual, 35);
    println!("told: {carried} of {actual} carried");
    assert!(f64::from(carried) / f64::from(actual) >= TOLD, "{carried} of {actual}");
}
