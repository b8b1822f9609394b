//! Questions about sessions that a file holds or a model writes, for `recap
//! questions generate --model` and `recap bench --questions`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::dry_run::Estimate;
use super::model_session::ModelSession;
use super::roles::CallOptions;
use super::wire;
use super::work::Work;
use crate::bench::Questions;
use crate::failure::{Failure, refused};
use recap_billing::pricing::PriceList;
use recap_core::model::{Question, Session};
use recap_core::text::counted;
use recap_core::tokens::{Counter, Sizes};
use recap_exam::facts::{CutPlace, Cuts, places};
use recap_exam::questions::Author;
use recap_formats::{Dataset, load_questions};
use recap_llm::{DryRunCalls, Llm};

/// A session, and the cuts at which its questions are asked.
pub(super) type CutSession<'a> = (&'a Session, Vec<CutPlace>);

/// Every session with its cuts; those without a cut are left out.
pub(super) fn with_cuts<'a>(
    sessions: impl Iterator<Item = &'a Session>,
    cuts: Cuts,
    depth: u32,
) -> Vec<CutSession<'a>> {
    let counter = Counter::default();
    let with_places = sessions.filter_map(|session| {
        let sizes = Sizes::of(session, &counter);
        let tokens: Vec<u64> = sizes.messages.iter().map(|weight| weight.tokens).collect();
        Some((session, places(session, &tokens, cuts, depth).ok()?))
    });
    with_places.collect()
}

/// Counts the calls that the model would get if all its questions were good.
pub(super) fn dry_run(llm: &Arc<dyn Llm>, sessions: &[CutSession<'_>]) -> Result<(), Failure> {
    let author = Author::new(llm);
    Work::new(1)?.run(async {
        for (session, places) in sessions {
            author.dry_run(session, places).await;
        }
    })?;
    Ok(())
}

/// What the model would cost.
pub(super) fn estimate(
    (options, model): (&CallOptions, &str),
    prices: &Arc<PriceList>,
    sessions: &[CutSession<'_>],
) -> Result<Estimate, Failure> {
    let (planned, counter) = (Arc::new(DryRunCalls::default()), Arc::new(Counter::default()));
    let mut model_session = ModelSession::dry_run(options, prices, &counter, &planned)?;
    if let Some(llm) = model_session.llm(model)? {
        dry_run(&llm, sessions)?;
    }
    Ok(Estimate::of(&planned, prices, wire::now(), model_session.has_cassette()))
}

/// The questions that the model writes; how many there are for each session,
/// and why others were left out, is told.
pub(super) fn write(
    (llm, model_session): (&Arc<dyn Llm>, &ModelSession),
    sessions: &[CutSession<'_>],
) -> Result<Vec<Question>, Failure> {
    let author = Author::new(llm);
    let mut questions = Vec::new();
    let mut left_out: BTreeMap<String, u64> = BTreeMap::new();
    let writing = async {
        for (session, places) in sessions {
            let written = author.write(session, places).await;
            wire::say(&format!("{}: {}", session.id, counted(written.questions.len(), "question")));
            questions.extend(written.questions);
            let reasons = written.left_out.into_iter();
            reasons.for_each(|(why, n)| *left_out.entry(why).or_default() += n);
        }
    };
    model_session.wait(writing)?;
    left_out.iter().for_each(|(why, n)| wire::say(&format!("left out: {n}: {why}")));
    Ok(questions)
}

/// The questions in a file about the sessions of the run.
pub(super) fn read(path: &Path, datasets: &[Dataset]) -> Result<Questions, Failure> {
    let questions = load_questions(path, datasets).map_err(|errors| refused(&errors))?;
    if questions.is_empty() {
        return Err(Failure::usage(format!("{} holds no question", path.display()))
            .help("make some with `recap questions generate INPUT`, or leave out --questions"));
    }
    let sessions = datasets.iter().flat_map(|dataset| &dataset.sessions);
    let known: BTreeSet<&str> = sessions.map(|session| session.id.as_str()).collect();
    let others = questions.iter().filter(|question| !known.contains(question.session.as_str()));
    let others = others.count();
    if others == questions.len() {
        return Err(Failure::usage(format!(
            "{}: none of its questions is about a session of this run",
            path.display()
        ))
        .help("make them anew: recap questions generate INPUT"));
    }
    if others > 0 {
        let left = counted(others, "question");
        let file = path.display();
        wire::say(&format!("warning: {left} of {file} left out: no such session in this run"));
    }
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    Ok(Questions::Given(questions, blake3::hash(&bytes).to_hex().to_string()))
}
