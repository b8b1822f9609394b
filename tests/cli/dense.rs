//! What inputs of very many tiny values take: at most three times their unpacked
//! bytes and 100 MB, or they are refused with the reason.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};

use crate::desk::Desk;

/// Runs a program on each file of a folder; prints name, exit code, kilobytes of
/// the largest resident set, and what it said on standard error.
const MEASURE: &str = r#"
import json, os, sys
program, folder, out = sys.argv[1:]
for name in sorted(os.listdir(folder)):
    said = os.path.join(out, "said")
    actions = [(os.POSIX_SPAWN_OPEN, fd, said + str(fd), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644) for fd in (1, 2)]
    arguments = [program, "import", "auto", os.path.join(folder, name), "-o", os.path.join(out, name)]
    pid = os.posix_spawn(program, arguments, os.environ, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    print(json.dumps([name, os.waitstatus_to_exitcode(status), usage.ru_maxrss, open(said + "2").read()]))
"#;

/// About three megabytes of tiny values, some hundred bytes of memory each.
fn tiny() -> [(&'static str, Json); 3] {
    let many = |value: Json, n| Json::Array(vec![value; n]);
    [
        ("objects", many(json!({"a": 1}), 340_000)),
        ("lists", many(json!([]), 1_000_000)),
        ("numbers", many(json!(1), 1_500_000)),
    ]
}

/// Names of the arguments of a call.
const ARGUMENTS: [&str; 5] = ["arguments", "input", "args", "parameters", "tool_input"];

/// Puts a value into the first arguments that there are, as JSON in a string where
/// they are that.
fn put(into: &mut Json, value: &Json) -> bool {
    match into {
        Json::Array(items) => items.iter_mut().any(|item| put(item, value)),
        Json::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match field {
                    Json::Object(_) if ARGUMENTS.contains(&name.as_str()) => {
                        *field = json!({ "a": value });
                    }
                    Json::String(text) if name == "arguments" && text.starts_with('{') => {
                        *text = json!({ "a": value }).to_string();
                    }
                    field => {
                        if !put(field, value) {
                            continue;
                        }
                    }
                }
                return true;
            }
            false
        }
        _ => false,
    }
}

/// Every sample with arguments, with these in the place of the first.
fn samples(what: &str, value: &Json, folder: &Path) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dataset");
    for file in std::fs::read_dir(fixtures).unwrap().map(Result::unwrap) {
        let name = file.file_name().into_string().unwrap();
        if !name.ends_with(".json") && !name.ends_with(".jsonl") {
            continue;
        }
        let text = std::fs::read_to_string(file.path()).unwrap();
        let dense = match serde_json::from_str::<Json>(&text) {
            Ok(mut document) => put(&mut document, value).then(|| document.to_string()),
            Err(_) => {
                // Some samples have lines that are broken.
                let lines = text.lines().map(serde_json::from_str);
                let mut lines: Vec<Json> = lines.filter_map(Result::ok).collect();
                let is_put = lines.iter_mut().any(|line| put(line, value));
                is_put.then(|| lines.iter().map(|line| format!("{line}\n")).collect())
            }
        };
        if let Some(dense) = dense {
            std::fs::write(folder.join(format!("{what}-{name}")), dense).unwrap();
        }
    }
}

/// About so many bytes of records or messages.
const MANY: usize = 1_800_000;

/// The lists of objects in a document, the shortest items that they have.
fn lists(value: &mut Json, into: &mut Vec<(usize, String)>) {
    if let Json::Array(items) = value {
        let shortest = items.iter().filter(|item| item.is_object()).map(Json::to_string);
        into.extend(shortest.min_by_key(String::len).map(|text| (items.len(), text)));
    }
    match value {
        Json::Array(items) => items.iter_mut().for_each(|item| lists(item, into)),
        Json::Object(fields) => fields.values_mut().for_each(|field| lists(field, into)),
        _ => {}
    }
}

/// Every sample with very many records behind it: of no known kind, and as its
/// shortest one. Of a document the shortest item of its longest list is repeated.
fn repeated(folder: &Path) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dataset");
    for file in std::fs::read_dir(fixtures).unwrap().map(Result::unwrap) {
        let name = file.file_name().into_string().unwrap();
        let Ok(text) = std::fs::read_to_string(file.path()) else { continue };
        let repeat = |one: &str| one.repeat(MANY / one.len());
        let write = |what: &str, text: String| {
            std::fs::write(folder.join(format!("{what}-{name}")), text).unwrap();
        };
        if let Ok(mut document) = serde_json::from_str::<Json>(&text) {
            let mut all = Vec::new();
            lists(&mut document, &mut all);
            let (_, item) = all.into_iter().max().unwrap();
            let whole = document.to_string();
            assert!(whole.contains(&item), "{name}");
            write(
                "items",
                whole.replacen(&item, &format!("{}{item}", repeat(&format!("{item},"))), 1),
            );
        } else if name.ends_with(".md") {
            write("turns", format!("{text}\n{}", repeat("#### a\nb\n")));
        } else {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let shortest = lines.min_by_key(|line| line.len()).unwrap();
            write("unknown", format!("{text}\n{}", repeat("{\"type\":\"zz\"}\n")));
            write("records", format!("{text}\n{}", repeat(&format!("{shortest}\n"))));
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn memory_stays_within_triple_input_plus_100_megabytes() {
    let desk = Desk::new();
    let (inputs, out) = (desk.path("in"), desk.path("out"));
    for folder in [&inputs, &out] {
        std::fs::create_dir(folder).unwrap();
    }
    for (what, value) in &tiny() {
        samples(what, value, &inputs);
        // A document that is nothing else, and one that is packed.
        let messages = json!([{"role": "user", "content": "go", "x": value}]).to_string();
        std::fs::write(inputs.join(format!("{what}-extra.json")), &messages).unwrap();
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(messages.as_bytes()).unwrap();
        std::fs::write(inputs.join(format!("{what}-packed.json.gz")), packed.finish().unwrap())
            .unwrap();
        let lines = format!("{}\n", json!({"type": "user", "x": value})).repeat(2);
        std::fs::write(inputs.join(format!("{what}-unknown.jsonl")), lines).unwrap();
    }
    repeated(&inputs);
    let parts = vec![json!({}); 1_000_000];
    let empty = json!([{"role": "user", "content": parts}]).to_string();
    std::fs::write(inputs.join("parts.json"), empty).unwrap();
    let program = assert_cmd::cargo::cargo_bin!("recap");
    let measured = Command::new("python3")
        .args(["-c", MEASURE])
        .args([program, &inputs, &out])
        .output()
        .unwrap();
    let actual = String::from_utf8(measured.stdout).unwrap();
    let (mut seen, mut over) = ((0, 0, 0), Vec::new());
    for line in actual.lines() {
        let (name, code, kilobytes, said): (String, i32, u64, String) =
            serde_json::from_str(line).unwrap();
        let bytes = if name.ends_with(".gz") {
            3_000_000
        } else {
            std::fs::metadata(inputs.join(&name)).unwrap().len()
        };
        if kilobytes * 1024 > 3 * bytes + 100_000_000 {
            over.push(format!("{name}: {kilobytes} kB of {bytes}"));
        }
        // A refusal for its density says so; some samples are no sessions with it.
        let is_dense = said.contains("too many tiny values");
        assert!(code == 0 || (code == 2 && said.starts_with("error: ")), "{name}: {said}");
        seen = (seen.0 + 1, seen.1 + u32::from(code == 0), seen.2 + u32::from(is_dense));
    }
    assert!(over.is_empty(), "{over:?}");
    assert!(seen.0 >= 70 && seen.1 >= 20 && seen.2 >= 25, "{seen:?}: {actual}");
}
