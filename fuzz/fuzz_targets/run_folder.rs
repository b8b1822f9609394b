//! What a run left in its folder: manifest, journal, texts, what the gate found
//! and the baseline; and the report that is made of it.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use recap_core::model::Report;
use recap_fuzz::{files, home, put, text, told, told_text};
use recap_measure::gate::{self, Baseline};
use recap_measure::measure;
use recap_replay::run::{Folder, RunRecord};
use recap_report::{self as report, RenderInput, Texts};

struct Stored<'a>(&'a BTreeMap<String, String>);

impl Texts for Stored<'_> {
    fn get(&self, hash: &str) -> Option<std::borrow::Cow<'_, str>> {
        self.0.get(hash).map(|text| text.as_str().into())
    }
}

/// The journal with the checksum that each line needs: else no input would get
/// behind it. A line that begins with `!` stays as it is without that.
fn summed(journal: &[u8]) -> Vec<u8> {
    let mut summed = Vec::new();
    for line in journal.split_inclusive(|byte| *byte == b'\n') {
        let content = line.strip_suffix(b"\n").unwrap_or(line);
        let open = content.strip_suffix(b"}");
        match (content.strip_prefix(b"!"), open) {
            (Some(raw), _) => summed.extend_from_slice(raw),
            (None, Some(open)) => {
                let sum = blake3::hash(open).to_hex();
                summed.extend_from_slice(open);
                summed.extend_from_slice(format!(",\"sum\":\"{}\"}}", &sum[..16]).as_bytes());
            }
            (None, None) => summed.extend_from_slice(content),
        }
        summed.extend_from_slice(&line[content.len()..]);
    }
    summed
}

fn baseline(bytes: &[u8]) {
    let Some(text) = text(bytes).filter(|text| !text.is_empty()) else { return };
    match Baseline::parse("baseline.json".to_owned(), text) {
        Ok(_) => {}
        Err(problem) => told_text(&problem.to_string()),
    }
}

/// That the baseline of a run is read as it was written.
fn same_again(report: &Report) {
    let mut bytes = Vec::new();
    gate::write_baseline(report, &mut bytes).expect("memory takes every write");
    let text = std::str::from_utf8(&bytes).expect("a baseline is text");
    let again = Baseline::parse(String::new(), text).expect("what was written can be read");
    assert_eq!(again, Baseline::of(String::new(), report));
}

fuzz_target!(|input: &[u8]| {
    let [manifest, journal, texts, found, other] = files(input);
    baseline(other);
    let home = home();
    put(&home.join("manifest.json"), manifest);
    put(&home.join("cells.jsonl"), &summed(journal));
    if !texts.is_empty() {
        put(&home.join("texts.jsonl"), texts);
    }
    if !found.is_empty() {
        put(&home.join("gate.json"), found);
    }
    let run = match RunRecord::read(home) {
        Ok(run) => run,
        Err(error) => return told(error),
    };
    let manifest = run.manifest.clone();
    if let Err(error) = Folder::resume(home, manifest) {
        panic!("a run goes on with itself: {error}");
    }
    let run = if input.len().is_multiple_of(2) { run } else { run.concealed() };
    if run.results.cells().next().is_none() {
        return;
    }
    let RunRecord { manifest, sessions, results, calls, gate, texts, .. } = run;
    let title = manifest.title.clone();
    let mut measured = measure(manifest, title, sessions, results);
    measured.calls = calls;
    measured.gate = gate;
    for texts in [None, Some(&Stored(&texts) as &dyn Texts)] {
        for format in report::formats(&[]) {
            let mut bytes = Vec::new();
            let source = RenderInput { report: &measured, texts };
            (format.render)(&source, &mut bytes).expect("memory takes every write");
            assert!(std::str::from_utf8(&bytes).is_ok(), "{} is text", format.file);
        }
    }
    report::table(&measured, report::Screen { width: 80, color: false, wide: true });
    same_again(&measured);
});
