//! Embeds every data set of this folder, so that adding one is adding a folder with a card.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::restriction)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    // A new data set is seen when it is named there: the whole folder holds packages, too, whose
    // sources change nothing here.
    println!("cargo::rerun-if-changed=README.md");
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    std::fs::write(out.join("files.rs"), datasets(&root)).expect("the output folder is writable");
}

/// Code that embeds a file of the checkout. The checkout's own path is left to
/// the compiler: one build folder may serve several checkouts.
fn embedded(path: &str) -> String {
    format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?}))", format!("/{path}"))
}

/// Every folder with a card: name, card, sessions, questions
/// (empty where there are none).
fn datasets(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("dataset.toml").is_file())
        .collect();
    folders.sort();
    let mut code = String::from(
        "/// Name, card, sessions and questions of each data set, by name.\n\
         pub static BUNDLED: &[(&str, &str, &str, &str)] = &[\n",
    );
    for folder in folders {
        let name = folder.file_name().and_then(|s| s.to_str()).expect("folder names are ASCII");
        println!("cargo::rerun-if-changed={name}");
        let file = |file: &str| embedded(&format!("{name}/{file}"));
        let (card, sessions) = (file("dataset.toml"), file("sessions.jsonl"));
        let questions = if folder.join("questions.jsonl").is_file() {
            file("questions.jsonl")
        } else {
            "\"\"".to_owned()
        };
        writeln!(code, "    ({name:?}, {card}, {sessions}, {questions}),")
            .expect("a string takes everything");
    }
    code.push_str("];\n");
    code
}
