//! End-to-end tests of the binary `recap-generator`.

use std::path::{Path, PathBuf};

use assert_cmd::cargo::cargo_bin_cmd;
use clap::Parser;
use recap::cli::{Cli, Exit, dispatch};
use recap_formats::{LoadOptions, audit_questions};
use tempfile::TempDir;

use crate::hiding::{HIDING, is_obeyed};

/// An empty folder in which the program runs.
struct Desk(TempDir);

/// What a run of the program left.
#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Desk {
    fn new() -> Desk {
        Desk(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Puts a file on the desk, with the folders above it.
    fn file(&self, name: &str, text: &str) -> &Desk {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Names of what lies there, sorted.
    fn list(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = cargo_bin_cmd!("recap-generator");
        let output = command.current_dir(self.0.path()).args(arguments).output().unwrap();
        Ran {
            code: output.status.code().expect("no signal ended it"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// A run that must be refused as recap refuses: exit 2, one error with a
    /// remedy, nothing on standard output, nothing written.
    #[track_caller]
    fn refused(&self, arguments: &[&str]) -> String {
        let before = self.list();
        let ran = self.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.starts_with("error: "), "{}", ran.err);
        assert_eq!(ran.err.matches("error: ").count(), 1, "{}", ran.err);
        assert_eq!(ran.err.matches("\nhelp: ").count(), 1, "{}", ran.err);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        assert_eq!(self.list(), before, "something was left behind");
        ran.err
    }
}

/// What recap itself makes of a command line.
fn recap(arguments: &[&str]) -> Exit {
    let typed = [&["recap"], arguments].concat();
    dispatch(Cli::try_parse_from(typed).unwrap()).unwrap_or_else(|e| panic!("{e}"))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn generated_sessions_are_benchable_and_reproduced_by_seed() {
    let desk = Desk::new();
    let options = ["coding-agent", "--seed", "7", "--tokens", "12000", "-o"];
    let ran = desk.run(&[&options[..], &["one"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let out = ran.out;
    assert!(out.contains("coding-agent-7: ") && out.ends_with("1 session in one\n"), "{out}");
    assert_eq!(desk.run(&[&options[..], &["two"]].concat()).code, 0);
    for name in ["sessions.jsonl", "questions.jsonl"] {
        assert_eq!(desk.read(&format!("one/{name}")), desk.read(&format!("two/{name}")));
    }
    let (one, run) = (desk.path("one"), desk.path("run"));
    let audit = audit_questions(&one, &LoadOptions::default()).unwrap();
    assert!(audit.questions() > 0 && audit.violations.is_empty(), "{:?}", audit.violations);
    let replay = ["replay", text(&one), "--strategy", "fifo", "--quiet", "--out", text(&run)];
    assert_eq!(recap(&replay), Exit::Done);
}

#[test]
fn impossible_session_orders_are_refused() {
    let desk = Desk::new();
    desk.file("full/notes.txt", "mine").file("bad.toml", "name = 1");
    for (arguments, said) in [
        (&["opera", "-o", "x"][..], "coding-agent"),
        (&["coding-agent", "--tokens", "11", "-o", "x"], "not 11"),
        (&["coding-agent", "--tokens", "18446744073709551615", "-o", "x"], "give --tokens within"),
        (
            &["coding-agent", "--seed", "18446744073709551615", "--sessions", "2", "-o", "x"],
            "--seed",
        ),
        (&["coding-agent", "-o", "full"], "not an empty folder"),
        (&["coding-agent", "-o", "bad.toml"], "not an empty folder"),
        (&["bad.toml", "-o", "x"], "not a recipe"),
        (&["absent.toml", "-o", "x"], "cannot read absent.toml"),
    ] {
        let error = desk.refused(arguments);
        assert!(error.contains(said), "{arguments:?}: {error}");
        assert!(!desk.path("x").exists());
    }
    assert_eq!(desk.read("full/notes.txt"), "mine");
}

#[test]
fn mistyped_kind_is_answered_with_intended_kind() {
    let desk = Desk::new();
    desk.file(
        "order.toml",
        "name = \"d\"\nversion = \"1\"\nlicence = \"MIT\"\norigin = \"own\"\ndescription = \"d\"\n[[session]]\nid = \"a\"\nkind = \"asistant\"\nseed = 1\ntokens = 9000\n",
    );
    for (typed, meant) in [("codingagent", "`coding-agent`"), ("order.toml", "`assistant`")] {
        let error = desk.refused(&[typed, "-o", "new"]);
        assert!(error.contains("did you mean") && error.contains(meant), "{typed}: {error}");
    }
}

#[test]
fn terminal_never_obeys_typed_text_quoted_only_briefly() {
    let desk = Desk::new();
    let name = format!("{HIDING}.txt").replace('/', "");
    let ran = desk.run(&[&name, "-o", "out"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains(is_obeyed), "{text:?}");
    }
    let ran = desk.run(&[&"x".repeat(20_000), "-o", "out"]);
    assert_eq!(ran.code, 2, "{}", &ran.err[..ran.err.len().min(2_000)]);
    let longest = ran.err.split(|c| c != 'x').map(str::len).max().unwrap();
    assert!((0..=200).contains(&longest), "{longest}");
}
