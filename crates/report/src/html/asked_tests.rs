//! The page of a run that asks questions.

use std::collections::BTreeMap;

use super::tests::{HOSTILE, assert_harmless, page};
use super::*;
use crate::Texts;
use crate::testkit::{Echo, asked, file};
use recap_core::model::{Answer, Cell, CellOutcome, CellRows, Expectation, NoGrade, Verdict, Vote};
use recap_core::text::harmless_data;

/// Words of the recording.
const TEXTS: Echo = Echo(BTreeMap::new());

fn rows(cell: &mut Cell) -> Option<&mut CellRows> {
    match &mut cell.outcome {
        CellOutcome::Done(rows) => Some(rows),
        CellOutcome::Failed { .. } => None,
    }
}

#[test]
fn page_without_texts_holds_no_questions_or_answers() {
    let report = asked();
    let (with, without) = (page(&report, Some(&TEXTS)), page(&report, None));
    for words in ["Where does the cache", "src/cache/store.rs", "I don"] {
        assert!(with.contains(words), "{words}");
        assert!(!without.contains(words), "{words}");
    }
    assert!(without.contains("The words are left out of this report."));
}

/// Every word of a question, replaced.
fn hostile() -> Report {
    let mut report = asked();
    let bad = |name: &str| format!("{name}</script>{HOSTILE}");
    for asked in report.sessions.iter_mut().flat_map(|t| &mut t.questions) {
        let question = &mut asked.question;
        (question.id, question.question) = (bad("=id"), bad("question"));
        question.expect = Expectation::AnyOf(vec![bad("expected")]);
        question.stale = vec![bad("stale")];
    }
    for row in report.results.cells_mut().filter_map(rows).flat_map(|rows| &mut rows.questions) {
        let answered = row.answered.as_mut().unwrap();
        answered.answer = Answer::Said(bad("answer"));
        answered.judgement.rationale = bad("rationale");
        if answered.judgement.verdict == Verdict::Abstained {
            answered.judgement.verdict = Verdict::Incorrect;
        }
    }
    let empty = report.results.cells_mut().filter(|c| c.key.strategy == "empty");
    for row in empty.filter_map(rows).flat_map(|rows| &mut rows.questions) {
        let judgement = &mut row.answered.as_mut().unwrap().judgement;
        judgement.verdict = Verdict::Unscored(NoGrade::Other(bad("reason")));
        judgement.score = None;
    }
    report.manifest.answerer = bad("answerer");
    report.manifest.judge = bad("judge");
    report
}

#[test]
fn questions_and_answers_never_become_markup() {
    let report = hostile();
    let page = page(&report, Some(&TEXTS));
    assert_harmless(&page);
    assert!(page.contains("judge&#60;/script&#62;"), "the judge is not on the page");
    for place in ["question", "expected", "answer"] {
        assert!(page.contains(&format!("{place}&#60;/script&#62;")), "{place} is not in the list");
    }
}

#[test]
fn hostile_words_are_harmless_in_questions_csv() {
    let report = hostile();
    let csv = file(&report, Some(&TEXTS), "questions.csv");
    let mut csv = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<BTreeMap<String, String>> = csv.deserialize().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 18, "no word breaks a row");
    for row in rows {
        for (column, name) in
            [("question", "question"), ("answer", "answer"), ("question_id", "'=id")]
        {
            assert_eq!(row[column], harmless_data(&format!("{name}</script>{HOSTILE}")));
            assert!(!row[column].contains(['\0', '\u{1b}', '\u{202E}']), "{column}");
        }
    }
}

#[test]
fn votes_in_questions_csv_omit_judge_texts() {
    let mut report = asked();
    let cell = report.results.cells_mut().find(|c| c.key.strategy == "prune").unwrap();
    let vote = |judge: &str, verdict| Vote { judge: judge.to_owned(), verdict, score: None };
    let silent =
        Verdict::Unscored(NoGrade::Other("the reply quotes src/cache/store.rs".to_owned()));
    rows(cell).unwrap().questions[0].answered.as_mut().unwrap().judgement.votes =
        vec![vote("=openai/a", Verdict::Correct), vote("offline", silent)];
    for texts in [Some(&TEXTS as &dyn Texts), None] {
        let csv = file(&report, texts, "questions.csv");
        let mut csv = csv::Reader::from_reader(csv.as_bytes());
        let rows: Vec<BTreeMap<String, String>> = csv.deserialize().map(Result::unwrap).collect();
        let votes: Vec<&str> = rows
            .iter()
            .map(|row| row["votes"].as_str())
            .filter(|votes| !votes.is_empty())
            .collect();
        assert_eq!(votes, ["'=openai/a=correct; offline=unscored"]);
    }
}
