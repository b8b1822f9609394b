//! How often the offline reader is right about sessions of agents: the bundled
//! generated ones, asked of all that was said so far (`full`) and of the
//! messages around the evidence alone (`evidence`). The strict offline judge
//! grades. Every other question was looked at while the rules were made
//! ("fitted"); the rest was not ("held out").

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use recap::dataset::{Dataset, LoadOptions, load};
use recap::generate::Recipe;
use recap::model::{Probe, ProbeKind, Role, Transcript, Verdict};
use recap::seats::answerer::{Answerer, Offline, Passage, Shown};
use recap::seats::judge::{Grading, Offline as Judge};
use recap::tokens::Counter;

/// Messages on either side of the evidence.
const AROUND: usize = 2;

fn shown(transcript: &Transcript, probe: &Probe, full: bool) -> Shown {
    let until = transcript.messages.len().min(probe.asked_at as usize + 1);
    let place = |id: &String| transcript.messages.iter().position(|m| m.id == *id);
    let evidence: Vec<usize> = probe.evidence.iter().filter_map(place).collect();
    let near = |at: usize| evidence.iter().any(|place| at.abs_diff(*place) <= AROUND);
    let preamble =
        Passage { role: Role::System, at: None, text: transcript.preamble.sent().into() };
    let messages = transcript.messages[..until].iter().enumerate();
    let kept = messages.filter(|(at, _)| full || near(*at)).map(|(_, m)| m);
    let passage =
        |m: &recap::model::Message| Passage { role: m.role, at: m.at, text: m.sent().into() };
    let now = transcript.messages[..until].iter().rev().find_map(|m| m.at);
    Shown { passages: [preamble].into_iter().chain(kept.map(passage)).collect(), now }
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    n: f64,
    score: f64,
    silent: f64,
}

type Rows = BTreeMap<(bool, bool, ProbeKind), Row>;

fn measure(name: &str) -> Rows {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("datasets").join(name);
    measured(&load(&path, &LoadOptions::default()).unwrap())
}

fn measured(dataset: &Dataset) -> Rows {
    let reader = Offline::new(Arc::new(Counter::default()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut rows = Rows::new();
    for (number, probe) in dataset.probes.iter().enumerate() {
        let transcript = dataset.transcripts.iter().find(|t| t.id == probe.transcript).unwrap();
        for full in [true, false] {
            let shown = shown(transcript, probe, full);
            let answers = runtime.block_on(reader.answer(&shown, &[&probe.question]));
            let answer = answers.into_iter().next().unwrap().unwrap();
            let judged = Judge.judge(&Grading {
                question: &probe.question,
                kind: probe.kind,
                expect: &probe.expect,
                stale: &probe.stale,
                answer: &answer,
            });
            let Some(score) = judged.score else { continue };
            let row = rows.entry((full, number % 2 == 1, probe.kind)).or_default();
            row.n += 1.0;
            row.score += score;
            row.silent += f64::from(u8::from(judged.verdict == Verdict::Abstained));
        }
    }
    rows
}

fn mean(rows: &Rows, full: bool, held_out: Option<bool>) -> f64 {
    let of =
        rows.iter().filter(|((f, held, _), _)| *f == full && held_out.is_none_or(|h| h == *held));
    let (score, n) = of.fold((0.0, 0.0), |(s, n), (_, row)| (s + row.score, n + row.n));
    score / n
}

// Bounds lie a little below what was measured (0.61 and 0.80 held out; before
// the rules for agents 0.30 and 0.48).
#[test]
fn sessions_of_agents_are_read() {
    let rows = measure("quickstart");
    let mut kinds: BTreeMap<ProbeKind, [Row; 2]> = BTreeMap::new();
    for ((full, _, kind), row) in &rows {
        let sum = &mut kinds.entry(*kind).or_default()[usize::from(!full)];
        *sum =
            Row { n: sum.n + row.n, score: sum.score + row.score, silent: sum.silent + row.silent };
    }
    for (kind, [full, alone]) in kinds {
        let (a, b) = (full.score / full.n, alone.score / alone.n);
        println!(
            "{:13} {:3} full {a:.2} evidence {b:.2} silent {} {}",
            kind.as_str(),
            full.n,
            full.silent,
            alone.silent
        );
    }
    for full in [true, false] {
        println!(
            "full={full}: all {:.3} fitted {:.3} held out {:.3}",
            mean(&rows, full, None),
            mean(&rows, full, Some(false)),
            mean(&rows, full, Some(true))
        );
    }
    let held_out = |full| mean(&rows, full, Some(true));
    assert!(held_out(true) >= 0.55, "{}", held_out(true));
    assert!(held_out(false) >= 0.73, "{}", held_out(false));
}

/// Dates asked of six sessions of each kind, with seeds that no rule was made
/// with, and how many the reader gets right of the whole conversation.
#[test]
fn unseen_dates_are_read_as_often_as_the_readme_says() {
    let readme = include_str!("../../README.md");
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
