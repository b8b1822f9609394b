//! EVOUNA (Wang et al. 2023, "Evaluating Open-QA Evaluation"): an array of
//! questions, each with the answers of several models and a person's verdict
//! on each of them.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{LabelFormat, Reader};
use crate::error::{DatasetError, Problem};
use crate::source::{Source, parse, without_nan};
use recap_core::model::{Expectation, Label, LabelledCase, LabelledQuestion, QuestionKind};

pub(super) const FORMAT: LabelFormat = LabelFormat {
    name: "EVOUNA",
    about: "EVOUNA (JSON, `golden_answer` with `/` between alternatives)",
    sniff: |head| head.starts_with('[') && head.contains("\"golden_answer\""),
    read,
};

fn read(source: &mut Source<'_>, reader: &mut Reader) -> Result<(), DatasetError> {
    let text = source.text()?;
    // Python writes `NaN` where a number is missing, which is no JSON.
    let text = without_nan(text.trim_start_matches('\u{feff}'), &["NaN"]);
    let entries = Entries::new(&text);
    for (number, (line, entry)) in (1..).zip(entries) {
        match entry.and_then(parse::<Map<String, Json>>) {
            Ok(entry) => question(number, line, &entry, reader),
            Err(problem) => reader.problem(line, problem),
        }
    }
    Ok(())
}

fn question(number: u64, line: u64, entry: &Map<String, Json>, reader: &mut Reader) {
    let judged =
        || entry.iter().filter_map(|(key, label)| Some((key.strip_prefix("judge_")?, label)));
    match entry.get("improper") {
        Some(Json::Bool(true)) => {
            return reader.leave_out("answer to an improper question", judged().count() as u64);
        }
        None | Some(Json::Null | Json::Bool(false)) => {}
        Some(_) => reader.problem(line, shape("improper", "expected true or false")),
    }
    let text = |key: &str| {
        let value = entry.get(key).and_then(Json::as_str);
        value.map(str::to_owned).ok_or_else(|| shape(key, "expected a text"))
    };
    let (question, gold) = match (text("question"), text("golden_answer")) {
        (Ok(question), Ok(gold)) => (question, gold),
        (question, gold) => {
            let problems = [question.err(), gold.err()].into_iter().flatten();
            return problems.for_each(|problem| reader.problem(line, problem));
        }
    };
    let values = gold.split('/').map(str::trim).filter(|value| !value.is_empty());
    let expect = Expectation::AnyOf(values.map(str::to_owned).collect());
    let (id, kind, stale) = (number.to_string(), QuestionKind::Fact, Vec::new());
    let file = Arc::clone(&reader.file);
    let asked = LabelledQuestion { file, id: id.clone(), question, kind, expect, stale };
    let Some(asked) = reader.question(line, asked) else { return };
    for (model, label) in judged() {
        let label = match label_of(label) {
            Ok(Some(true)) => Label::Correct,
            Ok(Some(false)) => Label::Incorrect,
            Ok(None) => {
                reader.leave_out("answer without a verdict", 1);
                continue;
            }
            Err(message) => {
                reader.problem(line, shape(&format!("judge_{model}"), message));
                continue;
            }
        };
        let key = format!("answer_{model}");
        let answer = match entry.get(&key) {
            Some(Json::String(answer)) => answer.clone(),
            // A model's empty answer has a verdict as well.
            Some(Json::Null) => String::new(),
            _ => {
                reader.problem(line, shape(&key, "expected a text"));
                continue;
            }
        };
        let (id, asked, group) = (format!("{id}/{model}"), asked.clone(), Some(model.into()));
        reader.labels.cases.push(LabelledCase { asked, id, line, answer, label, group });
    }
}

/// The verdict; `None` where there is none: null, or `NaN` as a text.
fn label_of(value: &Json) -> Result<Option<bool>, &'static str> {
    match value {
        Json::Bool(label) => Ok(Some(*label)),
        Json::Null => Ok(None),
        Json::String(text) if text.trim().eq_ignore_ascii_case("nan") => Ok(None),
        _ => Err("expected true, false or null"),
    }
}

fn shape(at: &str, message: &str) -> Problem {
    Problem::Shape { at: at.to_owned(), message: message.to_owned() }
}

/// Iterates over the entries of a JSON array one by one, each with its line.
struct Entries<'a> {
    text: &'a str,
    at: usize,
    line: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Before,
    Within,
    Behind,
}

/// An entry with the line on which it begins, or the problem there.
type Entry<'a> = (u64, Result<&'a str, Problem>);

impl<'a> Entries<'a> {
    fn new(text: &'a str) -> Entries<'a> {
        Entries { text, at: 0, line: 1, state: State::Before }
    }

    /// Skips white space and returns the next byte.
    fn next_byte(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !byte.is_ascii_whitespace() {
                return Some(byte);
            }
            self.line += u64::from(byte == b'\n');
            self.at += 1;
        }
    }

    fn end(&mut self, message: &str) -> Option<Entry<'a>> {
        self.state = State::Behind;
        self.at = self.text.len();
        Some((self.line, Err(Problem::Syntax { message: message.to_owned() })))
    }

    /// The entry that begins here, up to the comma or bracket after it.
    fn entry(&mut self) -> Option<Entry<'a>> {
        let (begin, line) = (self.at, self.line);
        let (mut depth, mut quoted, mut escaped) = (0_u32, false, false);
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            match byte {
                b'\n' => self.line += 1,
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                _ if quoted => {}
                b'[' | b'{' => depth += 1,
                b',' if depth == 0 => break,
                b']' if depth == 0 => {
                    self.state = State::Behind;
                    break;
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
        if self.at == self.text.len() {
            return self.end("the array has no end");
        }
        let entry = self.text[begin..self.at].trim_end();
        self.at += 1;
        Some((line, Ok(entry)))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let first = self.next_byte();
        match (self.state, first) {
            (State::Before, Some(b'[')) => {
                self.at += 1;
                self.state = State::Within;
                if self.next_byte() == Some(b']') {
                    self.at += 1;
                    self.state = State::Behind;
                    return self.next();
                }
                if self.next_byte().is_none() {
                    return self.end("the array has no end");
                }
                self.entry()
            }
            (State::Before, _) => self.end("expected an array"),
            (State::Within, Some(_)) => self.entry(),
            (State::Within, None) => self.end("the array has no end"),
            (State::Behind, None) => None,
            (State::Behind, Some(_)) => self.end("something follows the array"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(u64, Result<String, ()>)> {
        let entries = Entries::new(text);
        entries.map(|(line, entry)| (line, entry.map(str::to_owned).map_err(drop))).collect()
    }

    fn good(line: u64, text: &str) -> (u64, Result<String, ()>) {
        (line, Ok(text.to_owned()))
    }

    #[test]
    fn entries_stand_on_the_line_where_they_begin() {
        assert_eq!(
            all("[\n {\"a\": [1,\n2]},\n\n \"x,]\\\"\" ]\n"),
            [good(2, "{\"a\": [1,\n2]}"), good(5, "\"x,]\\\"\"")]
        );
        assert_eq!(all("[]"), []);
    }

    #[test]
    fn bare_nan_is_null_but_quoted_is_text() {
        let text = without_nan("[[NaN, \"NaN\",NaN]]", &["NaN"]);
        assert_eq!(text, "[[null, \"NaN\",null]]");
    }

    #[test]
    fn malformed_array_yields_one_error_and_ends() {
        for (text, line) in [
            ("", 1),
            ("{}", 1),
            ("[", 1),
            ("[\n{", 2),
            ("[\"", 1),
            ("[1,\n", 2),
            ("[[1]\n", 2),
            ("[\"\\", 1),
        ] {
            let found = all(text);
            let wrong = found.iter().filter(|(_, entry)| entry.is_err()).count();
            assert_eq!((wrong, found.last().map(|(line, _)| *line)), (1, Some(line)), "{text}");
        }
        assert_eq!(all("[1]\n2").last(), Some(&(2, Err(()))));
    }
}
