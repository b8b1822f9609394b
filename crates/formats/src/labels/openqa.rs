//! OpenQA-eval (Kamalloo et al. 2023, "Evaluating Open-Domain Question
//! Answering in the Era of Large Language Models"): a table of answers with
//! people's verdicts. The correct answers are in the table of another
//! evaluation of the same answers, in the same folder.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use csv::StringRecord;
use rustc_hash::FxHashMap;

use super::{LabelFormat, Reader};
use crate::error::{DatasetError, Problem};
use crate::source::Source;
use recap_core::model::{Expectation, Label, LabelledCase, LabelledQuestion, QuestionKind};

pub(super) const FORMAT: LabelFormat = LabelFormat {
    name: "OpenQA-eval",
    about: "the human table of OpenQA-eval (tab-separated, gold answers beside it)",
    sniff: |head| {
        let first = head.lines().next().unwrap_or("");
        first.contains('\t') && first.contains(QUESTION) && first.contains(ANSWER)
    },
    read,
};

const QUESTION: &str = "Question";
const ANSWER: &str = "Model answer";
const VERDICT: &str = "Acceptable?";
const GOLD: &str = "Gold answers";
/// A column of people's verdicts that tables of programs do not have.
const ANNOTATOR: &str = "annotator1";

/// Gold answers by question and answer.
type Gold = FxHashMap<(String, String), String>;

fn read(source: &mut Source<'_>, reader: &mut Reader) -> Result<(), DatasetError> {
    let name = source.name().to_owned();
    let table = Table::new(source)?;
    let [question, answer, verdict] = table.columns([QUESTION, ANSWER, VERDICT])?;
    if table.column(ANNOTATOR).is_none() {
        return Err(table.error(1, Problem::ByProgram { column: ANNOTATOR }));
    }
    let gold = gold_of(Path::new(&name))?;
    for (line, row) in table.rows() {
        let row = match row {
            Ok(row) => row,
            Err(problem) => {
                reader.problem(line, problem);
                continue;
            }
        };
        let label = match row[verdict].trim() {
            "" => {
                reader.leave_out("answer without a verdict", 1);
                continue;
            }
            yes if yes.eq_ignore_ascii_case("yes") => Label::Correct,
            no if no.eq_ignore_ascii_case("no") => Label::Incorrect,
            other => {
                let message = format!("expected Yes or No, found `{other}`");
                reader.problem(line, Problem::Shape { at: VERDICT.to_owned(), message });
                continue;
            }
        };
        let key = (row[question].to_owned(), row[answer].to_owned());
        let Some(values) = gold.get(&key) else {
            reader.leave_out("answer that is not in the table of gold answers", 1);
            continue;
        };
        let values = values.split(" | ").map(|value| value.trim().trim_matches('"').to_owned());
        let expect = Expectation::AnyOf(values.collect());
        let (question, answer) = key;
        let (file, id) = (Arc::clone(&reader.file), line.to_string());
        let (kind, stale) = (QuestionKind::Fact, Vec::new());
        let asked = LabelledQuestion { file, id: id.clone(), question, kind, expect, stale };
        let Some(asked) = reader.question(line, asked) else { continue };
        reader.labels.cases.push(LabelledCase { asked, id, line, answer, label, group: None });
    }
    Ok(())
}

/// Reads the gold answers that belong to a table of verdicts.
fn gold_of(path: &Path) -> Result<Gold, DatasetError> {
    let beside = beside(path);
    let shown = beside.display().to_string();
    let Ok(file) = File::open(&beside) else {
        let (file, line) = (path.display().to_string(), None);
        return Err(DatasetError { file, line, problem: Problem::NoGold { file: shown } });
    };
    let table = Table::new(&mut Source::new(&shown, &shown, Box::new(file)))?;
    let [question, answer, gold] = table.columns([QUESTION, ANSWER, GOLD])?;
    let mut golds = Gold::default();
    for (line, row) in table.rows() {
        let row = row.map_err(|problem| table.error(line, problem))?;
        golds.insert((row[question].to_owned(), row[answer].to_owned()), row[gold].to_owned());
    }
    Ok(golds)
}

/// `NQ301_BEM.tsv` for `NQ301_human.tsv`: that evaluation was given the gold
/// answers, and its table contains them.
fn beside(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix("human").map_or_else(|| format!("{stem}_"), str::to_owned);
    path.with_file_name(format!("{stem}BEM.tsv"))
}

/// A table of tab-separated columns.
struct Table {
    file: String,
    header: StringRecord,
    text: String,
}

impl Table {
    fn new(source: &mut Source<'_>) -> Result<Table, DatasetError> {
        let text = source.text()?.trim_start_matches('\u{feff}').to_owned();
        let mut table = Table { file: source.name().to_owned(), header: StringRecord::new(), text };
        table.header = match table.reader().headers() {
            Ok(header) => header.clone(),
            Err(error) => return Err(table.error(1, problem(&error))),
        };
        Ok(table)
    }

    fn reader(&self) -> csv::Reader<&[u8]> {
        csv::ReaderBuilder::new().delimiter(b'\t').from_reader(self.text.as_bytes())
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column.trim() == name)
    }

    fn columns<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N], DatasetError> {
        let mut columns = [0; N];
        for (column, name) in columns.iter_mut().zip(names) {
            *column = self.column(name).ok_or_else(|| {
                let message = format!("the table has no column `{name}`");
                self.error(1, Problem::Inconsistent(message))
            })?;
        }
        Ok(columns)
    }

    /// The rows after the header, each with its line.
    fn rows(&self) -> impl Iterator<Item = (u64, Result<StringRecord, Problem>)> + '_ {
        self.reader().into_records().map(|row| {
            let position = match &row {
                Ok(row) => row.position(),
                Err(error) => error.position(),
            };
            let line = position.map_or(1, csv::Position::line);
            (line, row.map_err(|error| problem(&error)))
        })
    }

    fn error(&self, line: u64, problem: Problem) -> DatasetError {
        DatasetError { file: self.file.clone(), line: Some(line), problem }
    }
}

fn problem(error: &csv::Error) -> Problem {
    Problem::Inconsistent(match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("the row has {len} columns, the header {expected_len}")
        }
        _ => format!("broken table: {error}"),
    })
}
