//! Embeds every strategy and prompt of this folder, so that adding one is adding a file.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::restriction)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=.");
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    let mut code = String::new();
    table(&mut code, "STRATEGIES", (&root, ""), "toml", |stem, _| stem.to_owned());
    table(&mut code, "SAVERS", (&root, "savers/"), "toml", |stem, _| stem.to_owned());
    table(&mut code, "PROMPTS", (&root, "prompts/"), "md", |_, file| format!("prompts/{file}"));
    std::fs::write(out.join("files.rs"), code).expect("the output folder is writable");
}

/// Code that embeds a file of the checkout. The checkout's own path is left to
/// the compiler: one build folder may serve several checkouts.
fn embedded(path: &str) -> String {
    format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?}))", format!("/{path}"))
}

/// Writes a table of the files of a folder with an ending: name and text.
fn table(
    code: &mut String,
    name: &str,
    (root, folder): (&Path, &str),
    ending: &str,
    key: fn(&str, &str) -> String,
) {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root.join(folder))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .filter(|path| !path.ends_with("Cargo.toml"))
        .collect();
    // By name: a longer one behind the one that it begins with.
    files.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    writeln!(code, "/// Name and text of each, by name.\npub static {name}: &[(&str, &str)] = &[")
        .expect("a string takes everything");
    for path in files {
        let stem = path.file_stem().and_then(|s| s.to_str()).expect("file names are ASCII");
        let file = path.file_name().and_then(|s| s.to_str()).expect("file names are ASCII");
        let text = embedded(&format!("{folder}{file}"));
        writeln!(code, "    ({:?}, {text}),", key(stem, file)).expect("a string takes everything");
    }
    code.push_str("];\n");
}
