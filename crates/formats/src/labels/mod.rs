//! Files of answers that people graded, used to measure a judge.
//!
//! Invariant: every answer of a file becomes a case, is counted in
//! [`Labels::left_out`] with the reason, or is an error with its place; all
//! errors of a file are found at once.

mod evouna;
mod native;
mod openqa;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::error::{DatasetError, Problem};
use super::questions::{QuestionFlaw, wording};
use super::source::{HEAD, Source};
use super::walk;
use recap_core::model::{LabelledCase, LabelledQuestion};

/// The content of a file of labelled answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    /// The answers, in the order of the file.
    pub cases: Vec<LabelledCase>,
    /// The reasons why answers were left out, with their numbers.
    pub left_out: BTreeMap<String, u64>,
}

/// A known format of labelled answers.
pub struct LabelFormat {
    /// The name of the format in errors.
    pub name: &'static str,
    /// A description of the format in one line.
    pub about: &'static str,
    /// Whether the first bytes of a file, without leading white space, have this format.
    sniff: fn(&str) -> bool,
    /// Reads a file; problems are reported to the reader.
    read: fn(&mut Source<'_>, &mut Reader) -> Result<(), DatasetError>,
}

/// Every known format; a file matches at most one.
pub static LABEL_FORMATS: &[LabelFormat] = &[native::FORMAT, evouna::FORMAT, openqa::FORMAT];

/// Reads a file of labelled answers; its format is detected from its content.
///
/// # Errors
///
/// Everything that is wrong with the file, in the order of its lines.
pub fn load_labels(path: &Path) -> Result<Labels, Vec<DatasetError>> {
    let shown = path.display().to_string();
    let file = File::open(path).map_err(|e| vec![walk::unreadable(path, e)])?;
    let mut source = Source::new(&shown, &shown, Box::new(file));
    let head = source.head(HEAD).map_err(|e| vec![e])?;
    let head = String::from_utf8_lossy(head);
    let head = head.trim_start_matches('\u{feff}').trim_start();
    if head.is_empty() {
        return Err(vec![source.error(None, Problem::Empty)]);
    }
    let Some(format) = LABEL_FORMATS.iter().find(|format| (format.sniff)(head)) else {
        return Err(vec![source.error(None, Problem::NoLabels { known: known() })]);
    };
    let mut reader = Reader::new(&shown);
    if let Err(error) = (format.read)(&mut source, &mut reader) {
        reader.problems.push(error);
    }
    if reader.problems.is_empty() { Ok(reader.labels) } else { Err(reader.problems) }
}

fn known() -> String {
    let names: Vec<&str> = LABEL_FORMATS.iter().map(|format| format.name).collect();
    names.join(", ")
}

/// Collects what a format reads.
struct Reader {
    file: Arc<str>,
    labels: Labels,
    problems: Vec<DatasetError>,
    questions: BTreeMap<String, Arc<LabelledQuestion>>,
}

impl Reader {
    fn new(file: &str) -> Reader {
        let (labels, problems, questions) = <(Labels, Vec<_>, BTreeMap<_, _>)>::default();
        Reader { file: Arc::from(file), labels, problems, questions }
    }

    fn problem(&mut self, line: u64, problem: Problem) {
        let (file, line) = (self.file.to_string(), Some(line));
        self.problems.push(DatasetError { file, line, problem });
    }

    fn leave_out(&mut self, why: &str, n: u64) {
        *self.labels.left_out.entry(why.to_owned()).or_default() += n;
    }

    /// The question, shared by all answers to it; `None` where it cannot be
    /// asked or graded, which is reported.
    fn question(&mut self, line: u64, asked: LabelledQuestion) -> Option<Arc<LabelledQuestion>> {
        let LabelledQuestion { id, question, kind, expect, stale, .. } = &asked;
        let flaws = wording(question, *kind, expect, stale);
        if !flaws.is_empty() {
            flaws.into_iter().for_each(|flaw| self.flaw(line, id, flaw));
            return None;
        }
        let key = serde_json::to_string(&(question, kind, expect, stale))
            .expect("strings and names are JSON");
        Some(Arc::clone(self.questions.entry(key).or_insert_with(|| Arc::new(asked))))
    }

    fn flaw(&mut self, line: u64, id: &str, flaw: QuestionFlaw) {
        let id = id.to_owned();
        self.problem(line, Problem::Case { id, flaw });
    }
}
