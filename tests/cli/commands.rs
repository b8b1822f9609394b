//! What people type, and what comes of it: the cases of `tests/fixtures/commands`, by subject.
//!
//! A case is a title (`#`) and lines that are done in their order on a desk of its own, where the
//! fixtures lie. `$ recap …` runs the program, which ends well; `$3` with that code; `$refused` as
//! every error of the input, with nothing written. Of the last run `> TEXT` is printed, `2> TEXT`
//! is on standard error, `! TEXT` on neither; the ends of lines count as spaces. What stands
//! behind `;` is a remark, and the other lines are in [`Case::step`].

use std::path::Path;

use serde_json::Value as Json;

use crate::desk::{Desk, Line, Ran, Row, flat, pairs};

struct Case {
    desk: Desk,
    ran: Ran,
}

impl Case {
    fn new() -> Self {
        let ran = Ran { code: 0, out: String::new(), err: String::new() };
        Self { desk: Desk::with_sessions(), ran }
    }

    fn run(&mut self, words: &[&str]) {
        let at = words.iter().position(|word| *word == "recap").expect("`recap`");
        self.ran = self.desk.recap_with(&pairs(&words[..at]), &words[at + 1..]);
    }

    fn refused(&mut self, words: &[&str]) -> bool {
        let before = self.desk.list(".");
        self.run(words);
        self.ran.is_refused();
        self.desk.list(".") == before
    }

    /// Whether what a line says is so.
    fn step(&mut self, line: &str) -> bool {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words = rest.words();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let desk = &self.desk;
        let is_told = |told: &str| flat(told).contains(&flat(rest));
        match (verb, &words[..]) {
            ("$refused", words) => return self.refused(words),
            (verb, words) if verb.starts_with('$') => {
                self.run(words);
                let code = if verb == "$" { "0" } else { &verb[1..] };
                return self.ran.code == code.parse::<i32>().expect("an exit code");
            }
            (">", _) => return is_told(&self.ran.out),
            ("2>", _) => return is_told(&self.ran.err),
            ("!", _) => return !is_told(&self.ran.out) && !is_told(&self.ran.err),
            ("silent", []) => return self.ran.out.is_empty(),
            // A run of `invoice-export` with these options, in place of the desk.
            ("run", options) => self.desk = Desk::with_run(options),
            // What was printed, as a file.
            ("keep", [file]) => drop(desk.file(file, &self.ran.out)),
            ("copy", [from, to]) => {
                let bytes = std::fs::read(desk.path(from)).unwrap();
                desk.file(to, bytes);
            }
            ("edit", [file, from, to]) => {
                let (from, to) = (from.replace("\\n", "\n"), to.replace("\\n", "\n"));
                let before = desk.read(file);
                desk.file(file, before.replace(&from, &to));
                return before.contains(&from);
            }
            ("append", [file, text]) => {
                let before = desk.read(file);
                desk.file(file, before + text);
            }
            ("remove", [file]) => std::fs::remove_file(desk.path(file)).unwrap(),
            ("has", [file, text]) => return flat(&desk.read(file)).contains(text),
            ("lacks", [file, text]) => return !flat(&desk.read(file)).contains(text),
            ("there", files) => return files.iter().all(|file| desk.path(file).exists()),
            ("gone", files) => return !files.iter().any(|file| desk.path(file).exists()),
            ("same", [one, other]) => return desk.read(one) == desk.read(other),
            // A value of a JSON file, by its pointer.
            ("json", [file, pointer, value]) => {
                let value: Json = serde_json::from_str(value).unwrap();
                return *desk.json(file).pointer(pointer).unwrap_or(&Json::Null) == value;
            }
            // How many rows of a CSV file have these fields.
            ("rows", [file, count, fields @ ..]) => {
                return desk.rows(file, fields).len() == count.parse::<usize>().unwrap();
            }
            // A column in all rows that have these fields, without repetition.
            ("column", [file, column, fields @ .., values]) => {
                let rows: Vec<Row> = desk.rows(file, fields);
                let mut known: Vec<&str> = rows.iter().map(|row| row[*column].as_str()).collect();
                known.dedup();
                return known.join(" ") == *values;
            }
            _ => panic!("no such line"),
        }
        true
    }
}

fn cases(subject: &str) {
    let file = format!("tests/fixtures/commands/{subject}.txt");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file)).unwrap();
    let mut case = Case::new();
    let mut lines = (1..).zip(text.lines()).peekable();
    while let Some((number, line)) = lines.next() {
        if line.starts_with('#') {
            case = Case::new();
        } else if let Some(name) = line.strip_prefix("file ") {
            let mut content = String::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with('|')) {
                content += line.strip_prefix("| ").unwrap_or_default();
                content.push('\n');
            }
            case.desk.file(name, content);
        } else if !line.is_empty() && !line.starts_with(';') {
            let is_so = case.step(line);
            assert!(is_so, "{file}:{number}: {line}\n{:#?}", case.ran);
        }
    }
}

macro_rules! subjects {
    ($($subject:ident),*) => {
        $(#[test] fn $subject() { cases(stringify!($subject)); })*

        #[test]
        fn every_subject_is_tried() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/commands");
            let files = std::fs::read_dir(folder).unwrap().count();
            assert_eq!(files, [$(stringify!($subject)),*].len());
        }
    };
}

subjects! { gate, init, inputs, models, names, questions, refusals, reports, settings, show, strategies, roles }
