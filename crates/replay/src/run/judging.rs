//! Grades answers with a judge beside a run: the stored answers of a run with another judge, and
//! answers whose correct grade is known.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};

use recap_core::division::apportioned;
use recap_core::model::{
    Answer, Cell, Cut, Judgement, LabelledCase, QuestionFacts, QuestionRow, SessionFacts,
};
use recap_exam::roles::judge::{Grading, Judge};

/// An answer to a question: position of the session, position of the question,
/// text of the answer.
type AnswerKey = (usize, u32, String);

/// Grades every answer again; the same answer to a question is graded once. At
/// most `at_once` answers are graded at a time. A row without an answer, or of
/// a session that is not listed, stays as it is.
pub async fn judge_again(
    sessions: &[SessionFacts],
    (cells, cuts): (&mut [Cell], &mut [Cut]),
    judge: &dyn Judge,
    at_once: usize,
) {
    let known: BTreeMap<(&str, &str), usize> = (sessions.iter().enumerate())
        .map(|(at, facts)| ((facts.dataset.as_str(), facts.session.as_str()), at))
        .collect();
    let mut rows: Vec<(usize, &mut QuestionRow)> = Vec::new();
    for cell in cells {
        let at = known.get(&(cell.key.dataset.as_str(), cell.key.session.as_str()));
        if let (Some(at), Some(done)) = (at, cell.outcome.done_mut()) {
            rows.extend(done.questions.iter_mut().map(|row| (*at, row)));
        }
    }
    for cut in cuts {
        let at = known.get(&(cut.dataset.as_str(), cut.session.as_str()));
        let done = cut.rows.iter_mut().filter_map(|row| row.outcome.done_mut());
        if let Some(at) = at {
            rows.extend(done.flat_map(|exam| &mut exam.questions).map(|row| (*at, row)));
        }
    }
    let distinct: BTreeSet<AnswerKey> =
        rows.iter().flat_map(|(at, row)| places(*at, row)).collect();
    let asked = distinct.into_iter().filter_map(|place| {
        let facts = sessions[place.0].question(place.1)?;
        Some(regrade(judge, facts, place))
    });
    let graded: BTreeMap<AnswerKey, Judgement> =
        stream::iter(asked).buffer_unordered(at_once.max(1)).collect().await;
    for (at, row) in rows {
        let question = row.question;
        for answered in row.graded_mut() {
            let known = place(at, question, &answered.answer);
            if let Some(judgement) = known.and_then(|key| graded.get(&key)) {
                answered.judgement = judgement.clone();
            }
        }
    }
}

/// The answers to a question, with and without a recovery channel.
fn places(session: usize, row: &QuestionRow) -> impl Iterator<Item = AnswerKey> {
    row.graded().filter_map(move |answered| place(session, row.question, &answered.answer))
}

fn place(session: usize, question: u32, answer: &Answer) -> Option<AnswerKey> {
    match answer {
        Answer::Said(text) => Some((session, question, text.clone())),
        Answer::Nothing(_) => None,
    }
}

async fn regrade(
    judge: &dyn Judge,
    facts: &QuestionFacts,
    place: AnswerKey,
) -> (AnswerKey, Judgement) {
    let judgement = judge.grade(&Grading::of(&facts.question, &place.2)).await;
    (place, judgement)
}

// Lets a judge grade answers whose correct grade is known.

/// The judgement of every case, in the order of the cases; at most `at_once`
/// are graded at a time.
pub async fn grade(judge: &dyn Judge, cases: &[LabelledCase], at_once: usize) -> Vec<Judgement> {
    // Results are taken in any order, so that a slow one delays no other.
    let asked = stream::iter(cases.iter().enumerate().map(|(at, case)| grade_one(judge, at, case)))
        .buffer_unordered(at_once.max(1));
    let mut graded: Vec<(usize, Judgement)> = asked.collect().await;
    graded.sort_unstable_by_key(|(at, _)| *at);
    graded.into_iter().map(|(_, judgement)| judgement).collect()
}

async fn grade_one(judge: &dyn Judge, at: usize, case: &LabelledCase) -> (usize, Judgement) {
    let asked = &case.asked;
    let grading = Grading {
        question: &asked.question,
        kind: asked.kind,
        expect: &asked.expect,
        stale: &asked.stale,
        answer: &case.answer,
    };
    (at, judge.grade(&grading).await)
}

/// At most `most` of the cases, in their order; the same seed gives the same
/// sample. Each group of a file is represented in proportion to its size, and
/// all groups by the same questions where possible.
pub fn sample(cases: Vec<LabelledCase>, most: usize, seed: u64) -> Vec<LabelledCase> {
    if cases.len() <= most {
        return cases;
    }
    let mut groups = BTreeMap::<(&str, &str), Vec<(u64, u64, usize)>>::new();
    for (at, case) in cases.iter().enumerate() {
        let file = &*case.asked.file;
        let group = case.group.as_deref().unwrap_or("");
        let question = draw(seed, &["sample", file, &case.asked.question]);
        let own = draw(seed, &["sample", file, &case.asked.question, &case.id]);
        groups.entry((file, group)).or_default().push((question, own, at));
    }
    let sizes: Vec<u64> = groups.values().map(|group| group.len() as u64).collect();
    let mut chosen = BTreeSet::new();
    for (mut group, share) in groups.into_values().zip(apportioned(most as u64, &sizes)) {
        group.sort_unstable();
        chosen.extend(group.into_iter().take(share as usize).map(|(.., at)| at));
    }
    let numbered = cases.into_iter().enumerate().filter(|(at, _)| chosen.contains(at));
    numbered.map(|(_, case)| case).collect()
}

/// A uniformly distributed number that is determined by seed and words.
fn draw(seed: u64, words: &[&str]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    for word in words {
        hasher.update(&(word.len() as u64).to_le_bytes()).update(word.as_bytes());
    }
    let bytes = hasher.finalize();
    let first = bytes.as_bytes()[..8].try_into().expect("a hash has 32 bytes");
    u64::from_le_bytes(first)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use async_trait::async_trait;

    use super::*;
    use recap_core::model::{Expectation, Label, LabelledQuestion, QuestionKind, Source, Verdict};

    fn case(question: usize, group: &str) -> LabelledCase {
        let asked = LabelledQuestion {
            file: "f".into(),
            id: question.to_string(),
            question: format!("Question {question}?"),
            kind: QuestionKind::Fact,
            expect: Expectation::AnyOf(vec!["x".to_owned()]),
            stale: Vec::new(),
        };
        let id = format!("{question}/{group}");
        let answer = id.clone();
        LabelledCase {
            asked: asked.into(),
            id,
            line: 1,
            answer,
            label: Label::Correct,
            group: Some(group.into()),
        }
    }

    /// A judge that answers the first questions last and counts how many wait
    /// at a time.
    #[derive(Default)]
    struct Slow {
        waiting: AtomicUsize,
        most: AtomicUsize,
    }

    #[async_trait]
    impl Judge for Slow {
        async fn grade(&self, grading: &Grading<'_>) -> Judgement {
            let waiting = self.waiting.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(waiting, Ordering::SeqCst);
            let late = 20_u64.saturating_sub(grading.answer.len() as u64);
            tokio::time::sleep(Duration::from_millis(late)).await;
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            let rationale = grading.answer.to_owned();
            Judgement { verdict: Verdict::Correct, score: Some(1.0), rationale, votes: Vec::new() }
        }

        fn name(&self) -> &str {
            "slow"
        }

        fn source(&self) -> Source {
            Source::Model
        }
    }

    #[test]
    fn judgements_keep_case_order_with_limited_concurrency() {
        let cases: Vec<LabelledCase> =
            (0..12).map(|n| case(n, &"m".repeat(if n % 3 == 0 { 1 } else { 15 }))).collect();
        let judge = Slow::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let graded = runtime.block_on(grade(&judge, &cases, 4));
        let said: Vec<&str> = graded.iter().map(|judgement| judgement.rationale.as_str()).collect();
        let answers: Vec<&str> = cases.iter().map(|case| case.answer.as_str()).collect();
        assert_eq!(said, answers);
        assert_eq!(judge.most.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn sample_represents_groups_proportionally_with_same_questions() {
        let mut cases: Vec<LabelledCase> = (0..60).map(|n| case(n, "many")).collect();
        cases.extend((0..30).map(|n| case(n, "few")));
        let taken = sample(cases.clone(), 15, 3);
        let of = |group: &str| -> Vec<&str> {
            let own = taken.iter().filter(|case| case.id.ends_with(group));
            own.map(|case| case.asked.question.as_str()).collect()
        };
        assert_eq!((of("many").len(), of("few").len()), (10, 5));
        let below_30 = of("many")
            .iter()
            .filter(|q| cases[60..].iter().any(|c| c.asked.question == ***q))
            .count();
        assert_eq!(of("few").iter().filter(|q| of("many").contains(q)).count(), below_30.min(5));
        assert_eq!(taken, sample(cases.clone(), 15, 3));
        assert_ne!(taken, sample(cases.clone(), 15, 4));
        assert_eq!(sample(cases.clone(), 90, 3), cases);
    }
}
