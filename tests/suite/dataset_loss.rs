//! One rule for all formats: every text of a recording is part of what was read, or
//! its loss is told, by a count under a reason or by an error.
//!
//! Marks stand in all texts of each format's sample that are read. Then one place
//! after the other is made odd: what is marked must be there still, or told.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use recap_core::model::{Block, Piece, Session};
use recap_formats::{DatasetError, FORMATS, LoadOptions, load_reader};
use serde_json::{Value as Json, json};

use crate::dataset_errors;

/// How a sample is written.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    Lines,
    Document,
    /// Lines that are no JSON.
    Text,
}

struct Sample {
    format: &'static str,
    file: String,
    layout: Layout,
    whole: Json,
}

/// What was read: texts, how often something was left out, and the warnings.
struct Found {
    said: String,
    left_out: BTreeMap<String, u64>,
    warnings: BTreeSet<String>,
}

type Steps = Vec<Step>;

#[derive(Clone, Debug)]
enum Step {
    Key(String),
    At(usize),
}

/// A name for JSON that stands in a string, while it is changed.
const WITHIN: &str = "(JSON)";

fn sample((format, file): (&'static str, String)) -> Sample {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dataset").join(&file);
    let text = std::fs::read_to_string(path).unwrap().replace("NaN", "null");
    let layout = match file.rsplit('.').next() {
        Some("jsonl") => Layout::Lines,
        Some("json") => Layout::Document,
        _ => Layout::Text,
    };
    let whole = match layout {
        Layout::Document => serde_json::from_str(&text).unwrap(),
        Layout::Lines => {
            text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()).collect()
        }
        Layout::Text => text.lines().map(Json::from).collect(),
    };
    let whole = if format == "otel" { unfolded(whole) } else { whole };
    Sample { format, file, layout, whole }
}

/// Requests beside their responses, as LiteLLM logs them.
fn logged() -> Sample {
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let calls = json!({"role": "assistant", "content": "I look.", "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "It is 4210."});
    let messages = [said("system", "Be terse."), said("user", "Which?"), calls.clone(), result];
    let answer = |message: &Json| json!({"model": "m", "choices": [{"message": message}]});
    let log = json!([
        {"messages": messages[..2], "response": answer(&calls)},
        {"messages": messages, "response": answer(&said("assistant", "4210."))},
    ]);
    let (format, file, layout) = ("openai-chat", "log.jsonl".to_owned(), Layout::Lines);
    Sample { format, file, layout, whole: log }
}

fn samples() -> Vec<Sample> {
    let mut all: Vec<Sample> = dataset_errors::samples().into_iter().map(sample).collect();
    all.push(logged());
    all
}

/// JSON with that in its strings, and the other way round.
fn unfolded(value: Json) -> Json {
    match value {
        Json::String(text) if text.starts_with("[{") => {
            json!({WITHIN: serde_json::from_str::<Json>(&text).unwrap()})
        }
        other => each(other, unfolded),
    }
}

fn folded(value: Json) -> Json {
    match value.get(WITHIN) {
        Some(within) => Json::String(folded(within.clone()).to_string()),
        None => each(value, folded),
    }
}

fn each(value: Json, change: fn(Json) -> Json) -> Json {
    match value {
        Json::Array(items) => items.into_iter().map(change).collect(),
        Json::Object(fields) => fields.into_iter().map(|(key, own)| (key, change(own))).collect(),
        other => other,
    }
}

impl Sample {
    fn read(&self, whole: &Json) -> Result<Found, DatasetError> {
        let whole = folded(whole.clone());
        let lines = || whole.as_array().unwrap().iter();
        let text: String = match self.layout {
            Layout::Document => whole.to_string(),
            Layout::Lines => lines().map(|line| format!("{line}\n")).collect(),
            Layout::Text => lines().map(|line| format!("{}\n", line.as_str().unwrap())).collect(),
        };
        let options = LoadOptions { only: Some(self.format), ..LoadOptions::default() };
        let name = self.file.rsplit('/').next().unwrap();
        let dataset = load_reader(name, text.as_bytes(), &options)?;
        let mut left_out = BTreeMap::new();
        for (reason, n) in dataset.sessions.iter().flat_map(|session| &session.left_out) {
            *left_out.entry(reason.clone()).or_default() += n;
        }
        let said = dataset.sessions.iter().map(said).collect();
        Ok(Found { said, left_out, warnings: dataset.warnings.into_iter().collect() })
    }
}

impl Found {
    fn has(&self, mark: &str) -> bool {
        self.said.contains(mark)
    }

    /// Whether it tells of more than another one does.
    fn tells_more(&self, than: &Found) -> bool {
        let before = |reason| than.left_out.get(reason).copied().unwrap_or(0);
        self.left_out.iter().any(|(reason, n)| *n > before(reason))
            || !self.warnings.is_subset(&than.warnings)
    }
}

/// All texts of a session.
fn said(session: &Session) -> String {
    let changes = session.preamble_changes.iter().flat_map(|change| &change.system);
    let tools = session.preamble.tools.iter().map(|tool| &tool.description);
    let mut all: Vec<String> =
        session.preamble.system.iter().chain(changes).chain(tools).cloned().collect();
    for block in session.messages.iter().flat_map(|message| &message.blocks) {
        all.push(match block {
            Block::Text { text } | Block::Reasoning { text } => text.clone(),
            Block::ToolResult { text, .. } => text.clone(),
            Block::ToolCall { name, arguments, .. } => format!("{name} {arguments}"),
            _ => String::new(),
        });
    }
    for compaction in &session.compactions {
        all.extend(compaction.summary.clone());
        all.extend(compaction.pieces.iter().filter_map(|piece| match piece {
            Piece::Text { text, .. } => Some(text.clone()),
            Piece::Message(_) => None,
        }));
    }
    all.push(String::new());
    all.join("\n")
}

fn at<'a>(whole: &'a mut Json, steps: &[Step]) -> &'a mut Json {
    steps.iter().fold(whole, |value, step| match step {
        Step::Key(key) => &mut value[key],
        Step::At(index) => &mut value[index],
    })
}

/// The places of all values, each with it.
fn places<'a>(value: &'a Json, steps: Steps, into: &mut Vec<(Steps, &'a Json)>) {
    let below = |step| steps.iter().cloned().chain([step]).collect::<Steps>();
    match value {
        Json::Array(items) => {
            (0..).zip(items).for_each(|(index, item)| places(item, below(Step::At(index)), into))
        }
        Json::Object(fields) => {
            fields.iter().for_each(|(key, own)| places(own, below(Step::Key(key.clone())), into))
        }
        _ => {}
    }
    into.push((steps, value));
}

fn all_places(value: &Json) -> Vec<(Steps, &Json)> {
    let mut found = Vec::new();
    places(value, Vec::new(), &mut found);
    found
}

fn mark(number: usize) -> String {
    format!("Qz{number}x")
}

/// The marks in a value.
fn marks(value: &Json) -> BTreeSet<String> {
    let text = value.to_string();
    let found = text.match_indices("Qz").map(|(start, _)| {
        let end = start + text[start..].find('x').unwrap();
        text[start..=end].to_owned()
    });
    found.collect()
}

/// The sample with a mark in every text of it that is read.
fn marked(sample: &Sample) -> (Json, Found) {
    let first = sample.read(&sample.whole).unwrap();
    let mut whole = sample.whole.clone();
    for (number, (steps, value)) in all_places(&sample.whole).into_iter().enumerate() {
        let Some(text) = value.as_str() else { continue };
        if matches!(steps.last(), Some(Step::Key(key)) if key == "type") {
            continue;
        }
        let mark = mark(number);
        let before = whole.clone();
        *at(&mut whole, &steps) = Json::String(format!("{text} {mark}"));
        let read = sample.read(&whole);
        let all = marks(&whole);
        let kept = |found: &Found| {
            found.left_out == first.left_out && all.iter().all(|mark| found.has(mark))
        };
        if !read.is_ok_and(|found| kept(&found)) {
            whole = before;
        }
    }
    let found = sample.read(&whole).unwrap();
    (whole, found)
}

/// A value that was made odd: what was done, the value, and the marks that it has.
type Odd = (&'static str, Json, BTreeSet<String>);

/// Records and parts that no format knows, each with a text.
fn unknown(text: &str) -> [(&'static str, Json); 6] {
    [
        ("an unknown kind", json!({"type": "zz", "text": text, "content": text})),
        ("no kind", json!({"text": text})),
        ("content alone", json!({"content": text})),
        ("an unknown role", json!({"role": "zz", "content": text})),
        ("a bare text", json!(text)),
        ("a list", json!([{"text": text}])),
    ]
}

/// Every object with one field missing or odd.
fn odd_fields(object: &Json) -> Vec<Odd> {
    let mut odd = Vec::new();
    for (key, own) in object.as_object().into_iter().flatten() {
        let rest = |value: Json| {
            let mut changed = object.clone();
            changed[key] = value;
            changed
        };
        let mut without = object.clone();
        without.as_object_mut().unwrap().remove(key);
        odd.push(("a field is missing", without));
        odd.push(("a field is null", rest(Json::Null)));
        if !own.is_string() {
        } else if marks(own).is_empty() {
            odd.push(("a field is unknown", rest(json!("zz-unknown"))));
            odd.push(("a field is a number", rest(json!(7))));
            odd.push(("a field is empty", rest(json!(""))));
        } else {
            odd.push(("a text is in a list", rest(json!([own]))));
            odd.push(("a text is in an object", rest(json!({"zz": own}))));
            odd.push(("a text is a part", rest(json!([{"type": "text", "text": own}]))));
            odd.push(("a text is an unknown part", rest(json!([{"type": "zz", "text": own}]))));
        }
    }
    // What was taken away is no loss of the reader's.
    odd.into_iter().map(|(what, value)| (what, value.clone(), marks(&value))).collect()
}

/// Every list with one item more, at its beginning and at its end.
fn odd_items(list: &Json, next: &mut usize) -> Vec<Odd> {
    let Some(items) = list.as_array() else { return Vec::new() };
    let mut odd = Vec::new();
    let mut add = |what, index: usize, item: Json| {
        let mut more = items.clone();
        more.insert(index, item);
        let more = Json::Array(more);
        odd.push((what, more.clone(), marks(&more)));
    };
    for index in [0, items.len()] {
        for (what, item) in unknown(&format!("It says {}", mark(*next))) {
            add(what, index, item);
        }
        *next += 1;
    }
    for (index, item) in items.iter().enumerate().filter(|(_, item)| !marks(item).is_empty()) {
        let own = marks(item);
        let mut text = item.to_string();
        for mark in own {
            text = text.replace(&mark, &self::mark(*next));
            *next += 1;
        }
        let again: Json = serde_json::from_str(&text).unwrap();
        add("twice", index + 1, again.clone());
        add("twice, later", items.len(), again);
    }
    odd
}

/// The names of attributes in OTLP stand for fields: those of other programs are no
/// texts of a conversation.
fn is_name_of_attribute(steps: &[Step], before: &Json, odd: &Json) -> bool {
    matches!(steps, [.., Step::Key(list), Step::At(_)] if list == "attributes")
        && before.get("key") != odd.get("key")
}

/// What is neither there nor told of the sample that was made odd at each place, and
/// how often each change was one that is read.
fn losses(sample: &Sample, read: &mut BTreeMap<&'static str, usize>) -> Vec<String> {
    let (whole, first) = marked(sample);
    assert!(marks(&whole).len() >= 2, "{}: {:?}", sample.file, marks(&whole));
    let mut next = 1_000_000;
    let mut lost = Vec::new();
    for (steps, value) in all_places(&whole) {
        if marks(value).is_empty() || value.get(WITHIN).is_some() {
            continue;
        }
        let odd = odd_fields(value).into_iter().chain(odd_items(value, &mut next));
        for (what, odd, own) in odd {
            let is_text = |items: &Vec<Json>| items.iter().all(Json::is_string);
            if sample.layout == Layout::Text && !odd.as_array().is_some_and(is_text) {
                continue;
            }
            if is_name_of_attribute(&steps, value, &odd) {
                continue;
            }
            let mut changed = whole.clone();
            *at(&mut changed, &steps) = odd;
            let Ok(found) = sample.read(&changed) else { continue };
            *read.entry(what).or_default() += 1;
            let expected = marks(&changed).union(&own).cloned().collect::<Vec<_>>();
            let gone: Vec<&String> = expected.iter().filter(|mark| !found.has(mark)).collect();
            if !gone.is_empty() && !found.tells_more(&first) {
                lost.push(format!("{}: {what} at {steps:?}: {gone:?}", sample.file));
            }
        }
    }
    lost
}

#[test]
fn every_text_is_read_or_its_loss_told() {
    let mut all = BTreeMap::new();
    for format in FORMATS {
        assert!(samples().iter().any(|sample| sample.format == format.name), "{}", format.name);
    }
    let lost: Vec<String> = samples().iter().flat_map(|sample| losses(sample, &mut all)).collect();
    assert!(lost.is_empty(), "{} of {all:?}:\n{}", lost.len(), lost.join("\n"));
    // Each kind of change was one that readers take.
    let changes = [
        "a field is missing",
        "a field is null",
        "a field is a number",
        "a field is empty",
        "a field is unknown",
        "a text is in a list",
        "a text is in an object",
        "a text is a part",
        "a text is an unknown part",
        "twice",
        "twice, later",
    ];
    for what in changes.into_iter().chain(unknown("").map(|(what, _)| what)) {
        assert!(all.get(what).is_some_and(|n| *n >= 20), "{what}: {all:?}");
    }
}

/// The list of records of a sample: the longest one with objects that hold texts.
fn records(whole: &Json) -> Steps {
    let objects = |value: &Json| {
        let items = value.as_array().into_iter().flatten();
        items.filter(|item| item.is_object() && !marks(item).is_empty()).count()
    };
    let all = all_places(whole).into_iter().map(|(steps, value)| (objects(value), steps));
    all.max_by_key(|(count, steps)| (*count, std::cmp::Reverse(steps.len()))).unwrap().1
}

#[test]
fn a_record_of_an_unknown_kind_is_told_in_every_format() {
    let mut untold = Vec::new();
    for sample in samples().iter().filter(|sample| sample.layout != Layout::Text) {
        let (whole, first) = marked(sample);
        let steps = match sample.layout {
            Layout::Lines => Steps::new(),
            _ => records(&whole),
        };
        for kind in [
            json!({"type": "hologram", "id": "h", "timestamp": "2026-01-01T00:00:00Z"}),
            json!({"kind": "hologram", "role": "hologram"}),
        ] {
            let mut odd = whole.clone();
            at(&mut odd, &steps).as_array_mut().unwrap().push(kind.clone());
            let told = sample.read(&odd).map_or(true, |found| found.tells_more(&first));
            if !told {
                untold.push(format!("{}: {kind} in {steps:?}", sample.file));
            }
        }
    }
    assert!(untold.is_empty(), "{}", untold.join("\n"));
}
