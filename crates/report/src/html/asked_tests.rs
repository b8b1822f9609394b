//! The page of a run that asks questions.

use std::collections::BTreeMap;

use super::tests::{DATA, HOSTILE, page, tags};
use super::*;
use crate::packed::unpacked;
use crate::testkit::{Echo, Kit, asked};
use crate::{Texts, questions_csv};
use recap_core::model::{
    Absent, Answer, Cell, CellOutcome, CellRows, Expectation, GradedAnswer, Interval, Judgement,
    LedgerState, NoGrade, NoReply, Primary, QuestionFacts, QuestionKind, QuestionRow, RowKind,
    Value, Verdict, Vote,
};
use recap_core::text::harmless_data;

/// Words of the recording.
const TEXTS: Echo = Echo(BTreeMap::new());

pub(super) fn rows(cell: &mut Cell) -> Option<&mut CellRows> {
    match &mut cell.outcome {
        CellOutcome::Done(rows) => Some(rows),
        CellOutcome::Failed { .. } => None,
    }
}

/// The row of a strategy in the table that follows a heading.
fn row_of<'a>(page: &'a str, section: &str, strategy: &str) -> &'a str {
    let section = page.split_once(section).unwrap().1;
    let name = format!("<bdi>{strategy}</bdi>");
    section.split("<tr ").find(|row| row.contains(&name)).unwrap().split("</tr>").next().unwrap()
}

/// What the script would read.
fn data(page: &str) -> serde_json::Value {
    let block = page.split_once("id=\"question-data\">").unwrap().1;
    unpacked(block.split_once("</script>").unwrap().0)
}

#[test]
fn continuity_leads_table_with_interval_and_basis() {
    let page = page(&asked(), None);
    let heads =
        page.split("class=\"sortable compared\"").nth(1).unwrap().split("</thead>").next().unwrap();
    let order = ["continuity", "recall", "evidence gone", "needed facts kept", "tokens sent"];
    let at = order.map(|head| heads.find(&format!(">{head}</th>")).expect(head));
    assert!(at.is_sorted(), "{heads}");
    let row = row_of(&page, "id=\"comparison\"", "prune");
    for words in [
        // 4 + 61.4; hatched from 4 + 50.2 on.
        "class=\"point\" cx=\"65.4\"",
        "class=\"alone\" x=\"54.2\"",
        "<b>61</b>",
        "<small>50–72, this session only</small>",
        "data-sort=\"61.4\"",
    ] {
        assert!(row.contains(words), "{words} is not in {row}");
    }
    assert!(page.contains("Where a row says nothing else: 3 questions, 3 sessions, 88 % exposed."));
    assert!(row_of(&page, "id=\"comparison\"", "full").contains("<b>100</b>"), "A/A");
    assert!(row_of(&page, "id=\"comparison\"", "empty").contains("<b>0</b>"));
}

#[test]
fn a_row_without_continuity_says_why() {
    let mut report = asked();
    let reason = Value::Absent(Absent::NoCompaction);
    report.rows[2].values.insert("continuity".to_owned(), reason);
    report.rows[2].intervals.clear();
    let page = page(&report, None);
    let row = row_of(&page, "id=\"comparison\"", "prune");
    assert!(row.contains("<b>–</b> <small>nothing was compacted</small>"), "{row}");
}

#[test]
fn the_bars_are_the_shares_of_the_summary() {
    let page = page(&asked(), None);
    let first = row_of(&page, "Questions: what can still be answered", "prune");
    let others = row_of(&page, "worst kind: continuity", "prune");
    let row = format!("{first}{others}").replace('\u{A0}', " ");
    for words in [
        "kept 49 %, lost 31 %, gained 5 %, neither 15 %",
        "class=\"piece-kept\" style=\"width:49.1%\"",
        "class=\"piece-lost\" style=\"width:30.9%\"",
        "verbatim 25 %, edited 50 %, gone 25 %",
        "lost 30 %, garbled &#60;1 %, unused 10 %",
        "class=\"piece-garbled\" style=\"width:0.4%\"",
    ] {
        assert!(row.contains(words), "{words} is not in {row}");
    }
}

#[test]
fn only_kind_with_ten_questions_can_be_worst() {
    let mut report = asked();
    let worst = |report: &Report| {
        let page = page(report, None);
        let row = row_of(&page, "worst kind: continuity", "prune").to_owned();
        row.rsplit("<td>").next().unwrap().split("</td>").next().unwrap().to_owned()
    };
    assert_eq!(worst(&report), "–", "three questions say nothing");
    let asked = report.sessions[0].questions[0].clone();
    report.sessions[0].questions.extend(vec![asked; 7]);
    assert_eq!(worst(&report), "fact: 61");
}

#[test]
fn recall_by_kind_says_how_many_were_asked() {
    let page = page(&asked(), None);
    let table = page.split_once("worst kind: continuity").unwrap().1;
    assert!(table.contains("recall, fact <small>n&nbsp;3</small>"));
    assert!(!table.contains("recall, temporal "), "only kinds that occur");
    let row = table.split("<tr ").find(|row| row.contains("<bdi>prune</bdi>")).unwrap();
    assert!(row.contains("<td class=\"number\">12 %</td>"), "{row}");
}

/// Takes a row's number apart, as `questions.js` does.
fn decoded(mut code: i64) -> (bool, i64, i64, i64, usize) {
    let mut take = |base: i64| {
        let rest = code % base;
        code /= base;
        rest
    };
    let (refused, there, evidence, outcome) = (take(2) == 1, take(3), take(5), take(5));
    (refused, there, evidence, outcome, code as usize)
}

#[test]
fn question_list_agrees_with_questions_csv() {
    let mut report = asked();
    for cell in report.results.cells_mut() {
        if cell.key.strategy == "fifo" {
            let rows = rows(cell).unwrap();
            rows.snapshots[0].overflow = true;
        }
    }
    let source = RenderInput { report: &report, texts: Some(&TEXTS) };
    let csv = questions_csv::FORMAT.bytes(&source);
    let mut csv = csv::Reader::from_reader(&csv[..]);
    let csv: Vec<BTreeMap<String, String>> = csv.deserialize().map(Result::unwrap).collect();
    let data = data(&page(&report, Some(&TEXTS)));
    let (states, outcomes) =
        (["", "verbatim", "edited", "folded", "gone"], ["", "kept", "lost", "gained", "neither"]);
    let mut seen = 0;
    for question in data["questions"].as_array().unwrap() {
        for (at, code) in question["rows"].as_array().unwrap().iter().enumerate() {
            let (refused, there, evidence, outcome, answer) = decoded(code.as_i64().unwrap());
            let given = &question["answers"][answer];
            let strategy = data["strategies"][at][0].as_str().unwrap();
            let same = |row: &&BTreeMap<String, String>| {
                row["strategy"] == strategy
                    && row["question_id"] == question["id"].as_str().unwrap()
            };
            let row = csv.iter().find(same).unwrap();
            assert_eq!(row["evidence_state"], states[evidence as usize]);
            assert_eq!(row["agreement"], outcomes[outcome as usize]);
            assert_eq!(row["findable"], ["", "false", "true"][there as usize]);
            assert_eq!(row["answer"], given[0].as_str().unwrap());
            assert_eq!(row["verdict"], given[1].as_str().unwrap());
            assert_eq!(row["rationale"], given[3].as_str().unwrap());
            let score = if refused { 0.0 } else { given[2].as_f64().unwrap() };
            assert_eq!(row["score"].parse::<f64>().unwrap(), score);
            assert_eq!(refused, strategy == "fifo");
            seen += 1;
        }
        assert_eq!(question["question"], "Where does the cache live?");
        assert_eq!(question["expected"], "src/cache/store.rs");
    }
    assert_eq!(seen, csv.len(), "every row is there once");
}

#[test]
fn an_answer_that_many_give_stands_once() {
    let data = data(&page(&asked(), Some(&TEXTS)));
    for question in data["questions"].as_array().unwrap() {
        assert_eq!(question["rows"].as_array().unwrap().len(), 6);
        assert_eq!(question["answers"].as_array().unwrap().len(), 2, "right, and not known");
    }
}

#[test]
fn a_failed_cell_has_no_row() {
    let mut report = asked();
    let cell = report.results.cells_mut().find(|c| c.key.strategy == "prune").unwrap();
    cell.outcome = CellOutcome::Failed { error: "stopped".to_owned() };
    let data = data(&page(&report, None));
    assert_eq!(data["strategies"][2][0], "prune");
    assert_eq!(data["questions"][0]["rows"][2], -1);
    assert_ne!(data["questions"][1]["rows"][2], -1);
}

#[test]
fn page_without_texts_holds_no_questions_or_answers() {
    let report = asked();
    let actual = ["Where does the cache", "src/cache/store.rs", "I don", "the path is named"];
    let (with, without) = (page(&report, Some(&TEXTS)), page(&report, None));
    for words in actual {
        assert!(data(&with).to_string().contains(words), "{words}");
        assert!(!without.contains(words), "{words}");
        assert!(!data(&without).to_string().contains(words), "{words}");
    }
    let data = data(&without);
    assert_eq!(data["words"], false);
    assert_eq!(data["questions"][0]["id"], "p0");
    assert_eq!(data["questions"][0]["answers"][0][1], "correct");
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
    let tags = tags(&page);
    let scripts = || tags.iter().filter(|tag| tag.starts_with("script"));
    assert!(scripts().all(|tag| *tag == "script" || DATA.is_match(tag)));
    assert_eq!(scripts().filter(|tag| **tag == "script").count(), policy::SCRIPTS.len());
    let control = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!page.contains(control), "a control character is left");
    assert!(!page.contains(['\u{202E}', '\u{2066}']), "a direction override is left");
    assert!(page.contains("judge&#60;/script&#62;"), "the judge is not on the page");
    let data = data(&page).to_string();
    for place in ["=id", "question", "expected", "stale", "answer", "rationale", "reason"] {
        assert!(data.contains(&format!("{place}</script>")), "{place} is not in the list");
    }
    assert!(!data.contains(['\u{202E}', '\u{2066}', '\u{1b}']), "raw in the list");
    assert!(!data.contains("\\u001b"), "a terminal escape is in the list");
}

#[test]
fn hostile_words_are_harmless_in_questions_csv() {
    let report = hostile();
    let source = RenderInput { report: &report, texts: Some(&TEXTS) };
    let csv = questions_csv::FORMAT.bytes(&source);
    let mut csv = csv::Reader::from_reader(&csv[..]);
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
fn a_run_without_questions_says_nothing_of_them() {
    let mut report = asked();
    report.primary = Primary::ReferenceRecall;
    report.sessions.iter_mut().for_each(|t| t.questions.clear());
    report.results.cells_mut().filter_map(rows).for_each(|rows| rows.questions.clear());
    let page = page(&report, None);
    for words in ["id=\"question-data\"", "Questions: what", "guessed"] {
        assert!(!page.contains(words), "{words}");
    }
    assert!(page.contains("How far to trust it"));
}

/// The same run with these in the roles.
pub(super) fn seated(answerer: &str, judge: &str) -> Report {
    let mut report = asked();
    report.manifest.answerer = answerer.to_owned();
    report.manifest.judge = judge.to_owned();
    report
}

#[test]
fn question_list_states_missing_answer_with_reason() {
    let mut report = seated("openai/a", "openai/j");
    let cell = report.results.cells_mut().find(|c| c.key.strategy == "prune").unwrap();
    let row = &mut rows(cell).unwrap().questions[0];
    row.answered = Some(GradedAnswer {
        answer: Answer::Nothing(NoReply::Refused.into()),
        judgement: Judgement::unscored(NoGrade::NotAnswered(NoReply::Refused.into())),
    });
    for texts in [Some(&TEXTS as &dyn Texts), None] {
        let actual = data(&page(&report, texts));
        let answers = actual["questions"].as_array().unwrap().iter().map(|p| &p["answers"]);
        let given = serde_json::json!(["", "no answer", null, "the model refused"]);
        assert!(answers.into_iter().any(|a| a.as_array().unwrap().contains(&given)), "{actual}");
    }
}

#[test]
fn votes_in_questions_csv_omit_judge_texts() {
    let mut report = seated("openai/a", "openai/a + offline");
    let cell = report.results.cells_mut().find(|c| c.key.strategy == "prune").unwrap();
    let vote = |judge: &str, verdict| Vote { judge: judge.to_owned(), verdict, score: None };
    let silent =
        Verdict::Unscored(NoGrade::Other("the reply quotes src/cache/store.rs".to_owned()));
    rows(cell).unwrap().questions[0].answered.as_mut().unwrap().judgement.votes =
        vec![vote("=openai/a", Verdict::Correct), vote("offline", silent)];
    for texts in [Some(&TEXTS as &dyn Texts), None] {
        let csv = questions_csv::FORMAT.bytes(&RenderInput { report: &report, texts });
        let mut csv = csv::Reader::from_reader(&csv[..]);
        let rows: Vec<BTreeMap<String, String>> = csv.deserialize().map(Result::unwrap).collect();
        let votes: Vec<&str> = rows
            .iter()
            .map(|row| row["votes"].as_str())
            .filter(|votes| !votes.is_empty())
            .collect();
        assert_eq!(votes, ["'=openai/a=correct; offline=unscored"]);
    }
}

#[test]
fn headline_states_graded_questions_where_strategies_differ() {
    let mut report = asked();
    let graded = |report: &Report| crate::block::headline(report, "my-sessions", &["25%"]);
    assert!(graded(&report).contains(", 3 questions"), "{}", graded(&report));
    for row in &mut report.rows {
        row.values.insert("unscored".to_owned(), Value::Known(1.0));
    }
    assert!(graded(&report).contains("3 questions (2 graded)"), "{}", graded(&report));
    // Replicates of a strategy failed at two, two and one.
    report.rows[2].values.insert("unscored".to_owned(), Value::Known(5.0 / 3.0));
    assert!(graded(&report).contains("3 questions (1 to 2 graded)"), "{}", graded(&report));
    let page = page(&report, None);
    let full =
        row_of(&page, "id=\"comparison\"", "full").contains("3 questions (2 graded), 3 sessions");
    assert!(full || page.contains("says nothing else: 3 questions (2 graded), 3 sessions"));
}

/// Pseudo-words without any pattern that repeats.
struct Babble(u64);

impl Babble {
    fn text(&mut self, words: usize) -> String {
        let mut text = String::new();
        for _ in 0..words {
            // Knuth's MMIX generator.
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // One of 4,096 words, as rich as a long conversation.
            let word = (self.0 >> 52) as usize;
            text.push_str(&format!("{:x}ly ", word * 2_654_435_761 % 1_048_576));
        }
        text
    }
}

/// The largest data set that is shipped or known here: 1,157 questions of 13
/// strategies at three windows, each with eight answers of its own.
fn large() -> Report {
    let names = ["zoea", "gsv", "gencode", "lis", "id-list", "recorded", "session-state"];
    let mut kit = Kit { sessions: 13, requests: 200, ..Kit::default() };
    kit.windows = vec!["10%", "25%", "200k"];
    kit.strategies.extend(names.map(|name| (name, RowKind::OfflineSummary)));
    let mut report = kit.report();
    let mut babble = Babble(7);
    for facts in &mut report.sessions {
        let asked = facts.questions[0].clone();
        let question = |n: usize| {
            let mut asked: QuestionFacts = asked.clone();
            asked.question.id = format!("{}/qa{n}", facts.session);
            asked.question.kind = QuestionKind::ALL[n % 17];
            asked.question.question = babble.text(14);
            asked.question.expect = Expectation::AnyOf(vec![babble.text(5)]);
            asked
        };
        facts.questions = (0..89).map(question).collect();
    }
    for (at, cell) in report.results.cells_mut().enumerate() {
        let answers = Babble(at as u64 % 8 + 1);
        let Some(rows) = rows(cell) else { continue };
        let row = rows.questions[0].clone();
        let question = |n: usize| {
            let mut row: QuestionRow = row.clone();
            row.question = n as u32;
            let mut own = Babble(answers.0 * 1_000 + n as u64);
            let answered = row.answered.as_mut().unwrap();
            answered.answer = Answer::Said(own.text(24));
            answered.judgement.rationale = format!("{} is not in it", own.text(4));
            row.evidence = [LedgerState::Gone, LedgerState::Folded].get(n % 3).copied();
            row
        };
        rows.questions = (0..89).map(question).collect();
    }
    report
}

#[test]
fn page_of_thousand_questions_stays_under_three_megabytes() {
    let report = large();
    let asked: usize = report.sessions.iter().map(|t| t.questions.len()).sum();
    assert_eq!((asked, report.rows.len()), (1_157, 39));
    let texts = Kit::default().texts(&report);
    let page = page(&report, Some(&texts as &dyn Texts));
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    let data = data(&page);
    assert_eq!(data["questions"].as_array().unwrap().len(), 1_157, "no question is left out");
}

#[test]
fn what_was_cut_is_said() {
    let mut report = asked();
    let said = "all is in questions.csv";
    assert!(!page(&report, Some(&TEXTS)).contains(said));
    let cell = report.results.cells_mut().find(|c| c.key.strategy == "prune").unwrap();
    rows(cell).unwrap().questions[0].answered.as_mut().unwrap().answer =
        Answer::Said("x".repeat(1_201));
    let long = page(&report, Some(&TEXTS));
    assert!(long.contains(
        "Here answers and reasons are cut after 1,200 characters; all is in questions.csv"
    ));
    assert!(data(&long).to_string().contains(&format!("{}…", "x".repeat(1_200))));
}
