//! Embeds every preset and prompt under `strategies/`, so that adding one is
//! adding a file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=strategies");
    // A new data set is seen when it is told of there: the whole folder holds a package, too, whose
    // sources change nothing here.
    println!("cargo::rerun-if-changed=datasets/README.md");
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    let mut code = String::new();
    table(&mut code, "PRESET_FILES", &root, "strategies", "toml", |stem, _| stem.to_owned());
    table(&mut code, "PROMPT_FILES", &root, "strategies/prompts", "md", |_, file| {
        format!("prompts/{file}")
    });
    std::fs::write(out.join("builtin_presets.rs"), code).expect("the output folder is writable");
    let datasets = datasets(&root.join("datasets"));
    std::fs::write(out.join("bundled_datasets.rs"), datasets)
        .expect("the output folder is writable");
}

/// Code that embeds a file of the checkout. The checkout's own path is left to
/// the compiler: one build folder may serve several checkouts.
fn embedded(path: &str) -> String {
    format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?}))", format!("/{path}"))
}

/// Every folder under `datasets` with a card: name, card, transcripts, probes
/// (empty where there are none).
fn datasets(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("dataset.toml").is_file())
        .collect();
    folders.sort();
    let mut code = String::from("static BUNDLED: &[(&str, &str, &str, &str)] = &[\n");
    for folder in folders {
        let name = folder.file_name().and_then(|s| s.to_str()).expect("folder names are ASCII");
        println!("cargo::rerun-if-changed=datasets/{name}");
        let file = |file: &str| embedded(&format!("datasets/{name}/{file}"));
        let (card, transcripts) = (file("dataset.toml"), file("transcripts.jsonl"));
        let probes = if folder.join("probes.jsonl").is_file() {
            file("probes.jsonl")
        } else {
            "\"\"".to_owned()
        };
        writeln!(code, "    ({name:?}, {card}, {transcripts}, {probes}),")
            .expect("a string takes everything");
    }
    code.push_str("];\n");
    code
}

fn table(
    code: &mut String,
    name: &str,
    root: &Path,
    folder: &str,
    ending: &str,
    key: fn(&str, &str) -> String,
) {
    let mut files: Vec<PathBuf> = std::fs::read_dir(root.join(folder))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    // By name: a longer one behind the one that it begins with.
    files.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    writeln!(code, "static {name}: &[(&str, &str)] = &[").expect("a string takes everything");
    for path in files {
        let stem = path.file_stem().and_then(|s| s.to_str()).expect("file names are ASCII");
        let file = path.file_name().and_then(|s| s.to_str()).expect("file names are ASCII");
        let text = embedded(&format!("{folder}/{file}"));
        writeln!(code, "    ({:?}, {text}),", key(stem, file)).expect("a string takes everything");
    }
    code.push_str("];\n");
}
