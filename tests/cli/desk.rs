//! A kit that makes each test a few lines: a desk with files, on which the
//! binary is run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// A program that runs longer hangs. It is ended, so that its test fails by
/// name and the others go on.
const LONGEST: Duration = Duration::from_secs(900);

/// An empty folder in which the program runs.
pub struct Desk(TempDir);

/// Runs by their options.
static RUNS: Mutex<BTreeMap<String, Arc<OnceLock<Desk>>>> = Mutex::new(BTreeMap::new());

/// A key that no text may ever hold.
pub const KEY: &str = "sk-canary-4471";

/// The variables of a server that stands in the place of OpenAI's.
pub fn at(base: &str) -> [(&str, &str); 2] {
    [("OPENAI_BASE_URL", base), ("OPENAI_API_KEY", KEY)]
}

/// A row of a CSV file, by column.
pub type Row = BTreeMap<String, String>;

/// Arguments of the program, one by one or in the line that is typed.
pub trait Line {
    fn words(&self) -> Vec<String>;
}

/// The words of a line as a shell tells them apart, without escapes; `SESSION` stands for
/// [`session`] and `FIXTURES` for their folder.
impl Line for str {
    fn words(&self) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for c in self.chars() {
            match c {
                '\'' | '"' if quote.is_none() => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                _ if quote == Some(c) => quote = None,
                ' ' if quote.is_none() => words.extend(word.take()),
                _ => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
        let place = |word: String| match word.as_str() {
            "SESSION" => session(),
            _ => word.replace("FIXTURES", fixtures),
        };
        words.into_iter().map(place).collect()
    }
}

impl Line for String {
    fn words(&self) -> Vec<String> {
        self.as_str().words()
    }
}

impl<S: AsRef<str>> Line for [S] {
    fn words(&self) -> Vec<String> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<S: AsRef<str>, const N: usize> Line for [S; N] {
    fn words(&self) -> Vec<String> {
        self[..].words()
    }
}

impl<S: AsRef<str>> Line for Vec<S> {
    fn words(&self) -> Vec<String> {
        self[..].words()
    }
}

/// Each `NAME=VALUE` in two.
pub fn pairs<'a>(words: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    words.iter().map(|word| word.split_once('=').expect("NAME=VALUE")).collect()
}

/// A text in one line.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a run of the program left.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A file of `tests/fixtures/cli`.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cli").join(name)
}

/// A native data set of one session: 130 messages, 46 requests.
pub fn session() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/invoice-export");
    folder.to_str().unwrap().to_owned()
}

impl Desk {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A desk with one run of [`session`] in `run`, which is made once and copied.
    pub fn with_run(more: &[&str]) -> Self {
        let run = Arc::clone(RUNS.lock().unwrap().entry(more.join(" ")).or_default());
        let made = run.get_or_init(|| {
            let desk = Self::new();
            desk.good(&[&["bench", &session(), "--quiet", "--out", "run"], more].concat());
            desk
        });
        let desk = Self::new();
        for name in made.list("run") {
            let file = format!("run/{name}");
            desk.file(&file, std::fs::read(made.path(&file)).unwrap());
        }
        desk
    }

    /// A desk on which the fixtures lie.
    pub fn with_sessions() -> Self {
        let desk = Self::new();
        for name in
            ["claude-code.jsonl", "pi.jsonl", "codex.jsonl", "opencode.json", "openai-chat.json"]
        {
            std::fs::copy(fixture(name), desk.path(name)).unwrap();
        }
        desk
    }

    /// Puts a data set of one session on the desk, in a folder of its name.
    pub fn data_set(&self, name: &str, session: &Json, questions: &[Json]) -> &Self {
        let about = format!("name = \"{name}\"\nversion = \"1\"\nlicence = \"CC0-1.0\"\n");
        self.file(&format!("{name}/dataset.toml"), about);
        self.file(&format!("{name}/sessions.jsonl"), format!("{session}\n"));
        let questions: String = questions.iter().map(|question| format!("{question}\n")).collect();
        if !questions.is_empty() {
            self.file(&format!("{name}/questions.jsonl"), questions);
        }
        self
    }

    /// Puts a file on the desk, with the folders above it.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file as text; what is not, as of `results.parquet`, stands as U+FFFD.
    pub fn read(&self, name: &str) -> String {
        let bytes = std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn json(&self, name: &str) -> Json {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Rows of a CSV file, as maps from column to field.
    pub fn csv(&self, name: &str) -> Vec<Row> {
        csv::Reader::from_path(self.path(name)).unwrap().deserialize().map(Result::unwrap).collect()
    }

    /// Its rows that have these fields, each `COLUMN=FIELD`.
    pub fn rows(&self, name: &str, fields: &[&str]) -> Vec<Row> {
        let mut rows = self.csv(name);
        rows.retain(|row| pairs(fields).iter().all(|(column, field)| row[*column] == *field));
        rows
    }

    /// The first of them.
    #[track_caller]
    pub fn row(&self, name: &str, fields: &[&str]) -> Row {
        let rows = self.rows(name, fields).into_iter().next();
        rows.unwrap_or_else(|| panic!("{name}: no {fields:?}"))
    }

    /// Puts a recording on the desk, a record a line.
    pub fn log(&self, name: &str, records: &[Json]) -> &Self {
        let lines: Vec<String> = records.iter().map(Json::to_string).collect();
        self.file(name, lines.join("\n"))
    }

    /// Names of what lies in a folder of the desk, sorted.
    pub fn list(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    pub fn recap(&self, line: &(impl Line + ?Sized)) -> Ran {
        self.recap_on(line, b"")
    }

    /// Runs the program with something on standard input.
    pub fn recap_on(&self, line: &(impl Line + ?Sized), stdin: &[u8]) -> Ran {
        self.run(&[], line, stdin)
    }

    /// Runs the program with a server in the place of OpenAI's, and with [`KEY`] for it.
    pub fn recap_at(&self, base: &str, line: &(impl Line + ?Sized)) -> Ran {
        self.recap_with(&at(base), line)
    }

    /// Runs the program with variables in its environment.
    pub fn recap_with(&self, variables: &[(&str, &str)], line: &(impl Line + ?Sized)) -> Ran {
        self.run(variables, line, b"")
    }

    fn run(&self, variables: &[(&str, &str)], line: &(impl Line + ?Sized), stdin: &[u8]) -> Ran {
        let mut command = cargo_bin_cmd!("recap");
        command.current_dir(self.0.path()).args(line.words()).write_stdin(stdin);
        // No key, server or setting of whoever runs the tests, and no proxy before ours.
        for (name, _) in std::env::vars() {
            let name_of_ours = ["_API_KEY", "_BASE_URL", "_PROXY", "_proxy"];
            let of_stores = ["AWS_", "AZURE_", "GOOGLE_", "RECAP_", "CI", "GITHUB_ACTIONS"];
            if name_of_ours.iter().any(|end| name.ends_with(end))
                || of_stores.iter().any(|start| name.starts_with(start))
            {
                command.env_remove(name);
            }
        }
        Ran::of(command.envs(variables.iter().copied()).timeout(LONGEST).output().unwrap())
    }

    /// Runs the program with readers that hang up at once; its exit code.
    pub fn recap_unheard(&self, line: &str) -> i32 {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("recap"));
        command.current_dir(self.0.path()).args(line.words()).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        child.wait().unwrap().code().expect("no signal ended it")
    }

    /// A run that must succeed.
    #[track_caller]
    pub fn good(&self, line: &(impl Line + ?Sized)) -> Ran {
        let ran = self.recap(line);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran
    }

    /// A run that must be refused in the contracted way: exit 2, one error
    /// with a remedy, nothing on standard output, nothing written.
    #[track_caller]
    pub fn refused(&self, line: &(impl Line + ?Sized)) -> String {
        let before = self.list(".");
        let ran = self.recap(line);
        ran.is_refused();
        assert_eq!(self.list("."), before, "something was left behind");
        ran.err
    }
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().expect("no signal ended it"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub fn is_refused(&self) {
        assert_eq!(self.code, 2, "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        assert!(self.err.starts_with("error: "), "{}", self.err);
        assert_eq!(self.err.matches("error: ").count(), 1, "{}", self.err);
        assert_eq!(self.err.matches("\nhelp: ").count(), 1, "{}", self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }

    /// The last line of standard output.
    pub fn last(&self) -> &str {
        self.out.lines().last().unwrap_or("")
    }
}

/// A message of a session with a text.
pub fn message(id: &str, role: &str, text: &str) -> Json {
    json!({"id": id, "role": role, "blocks": [{"type": "text", "text": text}]})
}

/// The one file that two equal runs may differ in: own CPU times.
const TIMES: &str = "times.jsonl";

/// Every file of both runs, byte for byte, but for own CPU times.
#[track_caller]
pub fn assert_same(desk: &Desk, a: &str, b: &str) {
    let files = |run: &str| {
        let mut names = desk.list(run);
        names.retain(|name| name != TIMES);
        names
    };
    assert_eq!(files(a), files(b));
    for name in files(a) {
        let [a, b] = [a, b].map(|run| std::fs::read(desk.path(&format!("{run}/{name}"))).unwrap());
        assert!(a == b, "{name} differs");
    }
}
