//! Small recordings as they are read: tests/fixtures/cases, by subject. A case is a title
//! (`#`), the lines of a recording (`<`), and what is read of it (`>`), reviewed. The lines of a
//! database are SQL. `RECAP_UPDATE_DOCS=1 cargo test --test suite -- dataset_cases` writes that of
//! new cases; then it has to be read.

use std::path::Path;

use recap_formats::{FORMATS, LoadOptions, load, load_reader};
use rusqlite::Connection;

use crate::dataset_fixtures::{UPDATE, shown};

/// The tables of OpenCode 1 and Kilo, as their public source has them.
pub const OPENCODE: &str = "CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, \
    parent_id text, slug text NOT NULL, directory text NOT NULL, title text NOT NULL, \
    version text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
  CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, \
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
  CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, \
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);";

/// The tables that OpenCode 2 keeps beside them.
const OPENCODE_2: &str = "CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text NOT NULL, \
    parent_id text, fork_session_id text, slug text NOT NULL, directory text NOT NULL, \
    version text NOT NULL, time_created integer NOT NULL);
  CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, \
    type text NOT NULL, seq integer NOT NULL, time_created integer NOT NULL, data text NOT NULL);";

/// What is read of a recording with this name and options, or why it is refused.
fn read(name: &str, recording: &str, has: impl Fn(&str) -> bool) -> String {
    let options = LoadOptions { sidechains: has("sidechains"), ..LoadOptions::default() };
    let folder = tempfile::tempdir().unwrap();
    let read = if name.ends_with(".db") {
        let path = folder.path().join(name);
        let db = Connection::open(&path).unwrap();
        for (option, tables) in [("opencode-1", OPENCODE), ("opencode-2", OPENCODE_2)] {
            db.execute_batch(if has(option) { tables } else { "" }).unwrap();
        }
        db.execute_batch(recording).unwrap();
        load(&path, &options)
    } else {
        load_reader(name, recording.as_bytes(), &options)
    };
    let read = match read {
        Ok(dataset) => shown(&dataset),
        Err(error) => format!("error: {error}\nhelp: {}", error.help()),
    };
    // A new format changes no case.
    let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let read = read.replace(&known.join(", "), "ALL FORMATS");
    read.replace(&format!("{}/", folder.path().display()), "")
}

/// The cases of a file with what is read of each. Behind `#!` stand the name of the recording,
/// whether sidechains are sessions, whether its last line is torn, and the tables that are there.
fn reviewed(file: &str) -> String {
    let mut out = String::new();
    let (mut name, mut recording) = (String::new(), String::new());
    let mut lines = file.lines().filter(|line| !line.starts_with('>')).peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        if let Some(options) = line.strip_prefix("#!") {
            name = options.to_owned();
        }
        if let Some(text) = line.strip_prefix('<') {
            recording.push_str(text);
            recording.push('\n');
            if !lines.peek().is_some_and(|next| next.starts_with('<')) {
                let mut options = name.split_whitespace();
                let named = options.next().unwrap_or("log.jsonl");
                let has = |option: &str| options.clone().any(|own| own == option);
                if has("torn") {
                    recording.pop();
                }
                let read = read(named, &std::mem::take(&mut recording), has);
                read.lines().for_each(|line| out.push_str(&format!(">{line}\n")));
                name.clear();
            }
        }
    }
    out
}

#[test]
fn each_case_is_read_as_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cases");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let known = std::fs::read_to_string(&path).unwrap();
        let read = reviewed(&known);
        if std::env::var_os("RECAP_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &read).unwrap();
            continue;
        }
        let title =
            |at: usize| known.lines().take(at + 1).filter(|line| line.starts_with("# ")).last();
        let mut both = read.lines().zip(known.lines()).enumerate();
        let differs = both.find(|(_, (read, known))| read != known);
        let differs = differs.map(|(at, lines)| (title(at), lines));
        assert!(read == known, "{}: see {differs:?}; {UPDATE}", path.display());
    }
}
