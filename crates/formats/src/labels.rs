//! Answers that people graded, used to measure a judge: JSON lines, described by
//! `datasets/labelled.schema.json`.
//!
//! Invariant: every line becomes a case or is an error with its place; all
//! errors of a file are found at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

use super::LoadOptions;
use super::error::{DatasetError, Problem};
use super::load::empty;
use super::questions::{WireExpectation, repeated_id, wording};
use super::source::{Source, parse};
use recap_core::model::{Expectation, Label, LabelledCase, LabelledQuestion, QuestionKind};
use recap_core::text::excerpt;

/// Reads a file of labelled answers, in the order of its lines.
///
/// # Errors
///
/// Everything that is wrong with the file, in the order of its lines; the first
/// alone where no line is a labelled answer.
pub fn load_labels(path: &Path) -> Result<Vec<LabelledCase>, Vec<DatasetError>> {
    let mut source = Source::open(path, LoadOptions::default()).map_err(|error| vec![error])?;
    let mut reader = Reader { file: Arc::from(source.name()), ..Reader::default() };
    if let Err(error) = reader.read(&mut source) {
        reader.problems.push(error);
    }
    if reader.cases.is_empty() {
        // Another kind of file: one error, not one a line.
        let first = reader.problems.into_iter().next();
        return Err(vec![first.map_or_else(|| source.error(None, empty()), no_labels)]);
    }
    if reader.problems.is_empty() { Ok(reader.cases) } else { Err(reader.problems) }
}

/// No line of a file is a labelled answer.
fn no_labels(first: DatasetError) -> DatasetError {
    let what =
        format!("no line is a labelled answer; the first one has this problem: {}", first.problem);
    let remedy = "give answers that people graded, as JSON lines with `id`, `question`, `expect`, \
                  `answer` and `label`";
    DatasetError { problem: Problem::other(what, remedy), ..first }
}

/// A case as it is written in a line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCase {
    id: String,
    question: String,
    kind: Option<QuestionKind>,
    #[serde(with = "WireExpectation")]
    expect: Expectation,
    #[serde(default)]
    stale: Vec<String>,
    answer: String,
    label: Json,
    answered_by: Option<String>,
}

/// Collects what a file holds.
#[derive(Default)]
struct Reader {
    file: Arc<str>,
    cases: Vec<LabelledCase>,
    ids: BTreeSet<String>,
    questions: BTreeMap<String, Arc<LabelledQuestion>>,
    problems: Vec<DatasetError>,
}

impl Reader {
    fn read(&mut self, source: &mut Source<'_>) -> Result<(), DatasetError> {
        while let Some((line, text)) = source.next_line()? {
            if let Err(problem) = parse(text).and_then(|wire| self.case(line, wire)) {
                self.problem(line, problem);
            }
        }
        source.torn_error().map_or(Ok(()), Err)
    }

    fn case(&mut self, line: u64, wire: WireCase) -> Result<(), Problem> {
        let WireCase { id, question, kind, expect, stale, answer, label, answered_by } = wire;
        let label = label_of(&label, &expect)?;
        let kind = kind.unwrap_or(match expect {
            Expectation::Unanswerable => QuestionKind::Abstain,
            _ => QuestionKind::Fact,
        });
        let mut flaws = wording(&question, kind, &expect, &stale);
        let is_gradable = flaws.is_empty();
        if !self.ids.insert(id.clone()) {
            flaws.insert(0, repeated_id());
        }
        for (flaw, remedy) in flaws {
            let what = format!("case `{}` {flaw}", excerpt(&id));
            self.problem(line, Problem::other(what, remedy));
        }
        if is_gradable {
            let key = serde_json::to_string(&(&question, kind, &expect, &stale))
                .expect("strings and names are JSON");
            let file = Arc::clone(&self.file);
            let new = LabelledQuestion { file, id: id.clone(), question, kind, expect, stale };
            // All answers to a question share it.
            let asked = Arc::clone(self.questions.entry(key).or_insert_with(|| Arc::new(new)));
            let group = answered_by.map(Into::into);
            self.cases.push(LabelledCase { asked, id, line, answer, label, group });
        }
        Ok(())
    }

    fn problem(&mut self, line: u64, problem: Problem) {
        let (file, line) = (self.file.to_string(), Some(line));
        self.problems.push(DatasetError { file, line, problem });
    }
}

fn label_of(value: &Json, expect: &Expectation) -> Result<Label, Problem> {
    let is_rubric = matches!(expect, Expectation::Rubric(_));
    let wrong = |message: &str| Err(Problem::shape("label", message));
    match value {
        Json::Bool(true) => Ok(Label::Correct),
        Json::Bool(false) => Ok(Label::Incorrect),
        Json::String(word) => {
            let known = [Label::Correct, Label::Incorrect, Label::Abstained, Label::Stale];
            let found = known.into_iter().find(|label| label.as_str() == word);
            found.map_or_else(|| wrong("expected correct, incorrect, abstained or stale"), Ok)
        }
        Json::Number(score) => match score.as_f64() {
            Some(score) if is_rubric && (0.0..=1.0).contains(&score) => Ok(Label::Score(score)),
            Some(_) if is_rubric => wrong("expected a score from 0 to 1"),
            _ => wrong("only answers to a rubric are labelled with a score"),
        },
        _ => wrong("expected true, false, a word, or a score from 0 to 1"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;
    use recap_core::model::{Expectation, Label, QuestionKind};

    /// A folder with one file.
    fn file(name: &str, bytes: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    #[track_caller]
    fn good(bytes: impl AsRef<[u8]>) -> Vec<LabelledCase> {
        let (_folder, path) = file("cases", bytes);
        load_labels(&path).unwrap_or_else(|errors| panic!("{errors:?}"))
    }

    /// Line and text of every error.
    #[track_caller]
    fn bad(bytes: impl AsRef<[u8]>) -> Vec<(Option<u64>, String)> {
        let (_folder, path) = file("cases", bytes);
        let errors = load_labels(&path).unwrap_err();
        errors.iter().map(|e| (e.line, e.problem.to_string())).collect()
    }

    fn any_of(values: &[&str]) -> Expectation {
        Expectation::AnyOf(values.iter().map(|v| (*v).to_owned()).collect())
    }

    const CASE: &str = r#"{"id":"1","question":"Which port?","expect":{"any_of":["80"]},"answer":"80","label":true}"#;

    #[test]
    fn native_case_keeps_everything_its_line_states() {
        let line = r#"{"id":"a","question":"Which port now?","kind":"update","expect":{"any_of":["81"]},"stale":["80"],"answer":"80","label":"stale","answered_by":"m"}"#;
        let labels = good(format!("\u{feff}{line}\n\n{CASE}\n"));
        let [first, second] = &labels[..] else { panic!("{labels:?}") };
        assert_eq!((first.id.as_str(), first.line), ("a", 1));
        assert_eq!(
            (first.asked.kind, &first.asked.expect),
            (QuestionKind::Update, &any_of(&["81"]))
        );
        assert_eq!(
            (first.asked.stale.as_slice(), first.label),
            (&["80".to_owned()][..], Label::Stale)
        );
        assert_eq!(first.group.as_deref(), Some("m"));
        assert_eq!((second.line, second.label), (3, Label::Correct));
        assert_eq!((second.asked.kind, &second.group), (QuestionKind::Fact, &None));
    }

    #[test]
    fn labels_are_flags_words_or_rubric_scores() {
        let case = |expect: &str, label: &str| {
            format!(r#"{{"id":"1","question":"q","expect":{expect},"answer":"a","label":{label}}}"#)
        };
        let value = r#"{"any_of":["v"]}"#;
        for (expect, label, expected) in [
            (value, "false", Label::Incorrect),
            (value, "\"correct\"", Label::Correct),
            (r#"{"unanswerable":true}"#, "\"abstained\"", Label::Abstained),
            (r#"{"rubric":["n"]}"#, "0.25", Label::Score(0.25)),
        ] {
            assert_eq!(good(case(expect, label))[0].label, expected);
        }
        for (expect, label) in [
            (value, "0.5"),
            (value, "\"right\""),
            (value, "null"),
            (r#"{"rubric":["n"]}"#, "1.5"),
            (r#"{"rubric":["n"]}"#, "-1"),
        ] {
            let errors = bad(case(expect, label));
            assert!(errors.len() == 1 && errors[0].1.contains("`label`"), "{label}: {errors:?}");
        }
    }

    #[test]
    fn every_violation_is_found_with_its_line() {
        let lines = [
            CASE,
            CASE,
            "{\"id\":",
            r#"{"id":"2","question":" ","expect":{"any_of":[]},"answer":"","label":true}"#,
            r#"{"id":"3","question":"q","expect":{"any_of":["v"]},"answer":"","label":true,"more":1}"#,
            r#"{"id":"4","question":"q","kind":"abstain","expect":{"any_of":["v"]},"stale":["V"],"answer":"","label":true}"#,
            r#"{"id":"5","question":"q","expect":{"unanswerable":false},"answer":"","label":true}"#,
        ];
        let found: Vec<Option<u64>> =
            bad(lines.join("\n")).into_iter().map(|(line, _)| line).collect();
        assert_eq!(found, [2, 3, 4, 4, 5, 6, 6, 7].map(Some));
    }

    #[test]
    fn answers_to_one_question_share_it() {
        let labels = good([CASE, &CASE.replace("\"1\"", "\"2\"")].join("\n"));
        assert!(Arc::ptr_eq(&labels[0].asked, &labels[1].asked));
    }

    #[test]
    fn file_without_labels_is_refused() {
        for bytes in ["", " \n\n"] {
            assert!(bad(bytes)[0].1.contains("empty"), "{bytes}");
        }
        for bytes in [
            "\u{feff}",
            "x",
            "42",
            "{}",
            "[]",
            "[1]",
            "null",
            "{\"id\":\"s\",\"messages\":[]}",
            "a\tb\n",
        ] {
            assert_eq!(bad(bytes).len(), 1, "{bytes}");
        }
        let missing = load_labels(Path::new("absent.jsonl")).unwrap_err();
        assert!(missing[0].to_string().contains("absent.jsonl"));
    }

    #[test]
    fn binary_and_truncated_files_fail_without_panic() {
        let sample = CASE.as_bytes();
        for end in 0..sample.len() {
            let (_folder, path) = file("cases", &sample[..end]);
            assert!(load_labels(&path).is_err(), "{}", String::from_utf8_lossy(&sample[..end]));
            let mut changed = sample.to_vec();
            changed[end] = 0xff;
            std::fs::write(&path, changed).unwrap();
            assert!(load_labels(&path).is_err());
        }
    }
}
