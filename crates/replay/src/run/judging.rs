//! Grades answers with a judge beside a run: the stored answers of a run with another judge, and
//! answers whose correct grade is known.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};

use recap_core::model::{
    Answer, Cell, Cut, Judgement, LabelledCase, LabelledQuestion, QuestionRow, SessionFacts,
};
use recap_exam::roles::judge::{Grading, Judge};

/// Grades every answer again; the same answer to a question is graded once. At
/// most `at_once` answers are graded at a time. A row without an answer, or of
/// a session that is not listed, stays as it is. `told` is called at each answer with
/// the number of all.
pub async fn judge_again(
    sessions: &[SessionFacts],
    (cells, cuts): (&mut [Cell], &mut [Cut]),
    judge: &dyn Judge,
    at_once: usize,
    told: &(dyn Fn(usize) + Sync),
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
    // The position of the session, the question and the text.
    let distinct: BTreeSet<(usize, u32, String)> = (rows.iter())
        .flat_map(|(at, row)| row.graded().map(move |graded| (*at, row.question, &graded.answer)))
        .filter_map(|(at, question, answer)| Some((at, question, said(answer)?.to_owned())))
        .collect();
    let all = distinct.len();
    let asked = distinct.into_iter().filter_map(|key| {
        let facts = sessions[key.0].question(key.1)?;
        Some(async move {
            let judgement = judge.grade(&Grading::of(&facts.question, &key.2)).await;
            told(all);
            (key, judgement)
        })
    });
    let graded: BTreeMap<(usize, u32, String), Judgement> =
        stream::iter(asked).buffer_unordered(at_once.max(1)).collect().await;
    for (at, row) in rows {
        let question = row.question;
        for answered in row.graded_mut() {
            let key = said(&answered.answer).map(|text| (at, question, text.to_owned()));
            if let Some(judgement) = key.and_then(|key| graded.get(&key)) {
                answered.judgement = judgement.clone();
            }
        }
    }
}

fn said(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Said(text) => Some(text),
        Answer::Nothing(_) => None,
    }
}

// Lets a judge grade answers whose correct grade is known.

/// The judgement of every case, in the order of the cases; at most `at_once`
/// are graded at a time. `told` is called at each of them with the number of all.
pub async fn grade(
    judge: &dyn Judge,
    cases: &[LabelledCase],
    at_once: usize,
    told: &(dyn Fn(usize) + Sync),
) -> Vec<Judgement> {
    let asked = cases.iter().enumerate().map(async |(at, case)| {
        let LabelledQuestion { question, kind, expect, stale, .. } = &*case.asked;
        let grading = Grading { question, kind: *kind, expect, stale, answer: &case.answer };
        let judgement = judge.grade(&grading).await;
        told(cases.len());
        (at, judgement)
    });
    // Results are taken in any order, so that a slow one delays no other.
    let asked = stream::iter(asked).buffer_unordered(at_once.max(1));
    let mut graded: Vec<(usize, Judgement)> = asked.collect().await;
    graded.sort_unstable_by_key(|(at, _)| *at);
    graded.into_iter().map(|(_, judgement)| judgement).collect()
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

/// A whole divided by weights into whole numbers that add up to it: each gets its
/// share rounded down, and what is left goes to the largest remainders, of equal
/// ones to the first (Hamilton's method). Nothing is divided where all weights
/// are 0.
fn apportioned(whole: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let exact = weights.iter().map(|weight| u128::from(whole) * u128::from(*weight));
    let (mut parts, remainders): (Vec<u64>, Vec<u128>) =
        exact.map(|exact| ((exact / sum) as u64, exact % sum)).unzip();
    let left = whole - parts.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(remainders[at]), at));
    order.into_iter().take(left as usize).for_each(|at| parts[at] += 1);
    parts
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use async_trait::async_trait;

    use super::*;
    use recap_core::model::{Expectation, Label, QuestionKind, Source, Verdict};

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
        let graded = runtime.block_on(grade(&judge, &cases, 4, &|_| ()));
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

    #[test]
    fn shares_add_up_and_largest_remainder_comes_first() {
        assert_eq!(apportioned(15, &[60, 30]), [10, 5]);
        // By hand, of 10 by 3 : 2 : 2: 4.29, 2.86 and 2.86; 2 are left.
        assert_eq!(apportioned(10, &[3, 2, 2]), [4, 3, 3]);
        // The exact shares of 5 are 0.5 and 4.5.
        assert_eq!(apportioned(5, &[1, 9]), [1, 4]);
        assert_eq!(apportioned(1, &[5, 0, 5]), [1, 0, 0]);
        assert_eq!(apportioned(7, &[0, 0]), [0, 0]);
        assert_eq!(apportioned(u64::MAX, &[u64::MAX, 0, u64::MAX])[1], 0);
    }
}
